# the three runs of the day
vllm bench serve --backend openai-chat \
  --base-url http://127.0.0.1:8080 --model tiny-llama \
  --dataset-name random --num-prompts 40 \
  --request-rate 4 --max-concurrency 8 \
  --header "Authorization=Bearer sk-not-a-key"

/opt/tools/bin/aiperf profile -m tiny-llama --url http://127.0.0.1:8080 --endpoint-type chat --streaming \
  --request-count 40 --concurrency 1 --extra-inputs ignore_eos:true

evalscope perf --parallel 50 --url http://127.0.0.1:8080/v1/chat/completions --model tiny-llama --api openai --api-key sk-not-a-key --prompt 'Why is it slow?' -n 50
