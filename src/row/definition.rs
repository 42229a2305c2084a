//! What a stated duration means: where it starts, where it ends, and whether it includes the server's queue.
//!
//! Six different things are called TTFT. A measure without a definition is refused, and two definitions
//! are never put in one column. Facts are from the sources named with each entry.

use super::Hop;

/// A definition of a duration that some tool states.
#[derive(Debug)]
pub struct Definition {
    /// Stable id, `<tool>.<quantity>`.
    pub id: &'static str,
    /// Hop whose clock measured it.
    pub hop: Hop,
    /// What it is a figure of: `ttft`, `queue`, `prefill`, `decode`, `e2e`, `model_load`, `wait`, `connect`, `header`, `send`.
    pub quantity: &'static str,
    /// The instant it starts at.
    pub from: &'static str,
    /// The instant it ends at.
    pub to: &'static str,
    /// Whether waiting for the server's scheduler is inside it; `None` when it does not apply.
    pub includes_queue: Option<bool>,
}

macro_rules! definitions {
    ($($id:literal $hop:ident $quantity:literal: $from:literal => $to:literal, queue $queue:expr;)+) => {
        /// Every definition a reader may state.
        pub static DEFINITIONS: &[Definition] = &[$(Definition {
            id: $id, hop: Hop::$hop, quantity: $quantity, from: $from, to: $to, includes_queue: $queue,
        },)+];
    };
}

definitions! {
    // Load generators: the clock starts at the write of the request, after any queue inside the client.
    "aiperf.ttft" Client "ttft": "request written" => "first token of any kind", queue Some(true);
    "aiperf.ttfo" Client "ttft_output": "request written" => "first output token that is not reasoning", queue Some(true);
    "aiperf.latency" Client "e2e": "request written" => "last chunk", queue Some(true);
    "aiperf.blocked" Client "pool": "request handed to the HTTP client" => "connection obtained", queue None;
    "aiperf.connecting" Client "connect": "connect begun" => "TCP and TLS established", queue None;
    "aiperf.sending" Client "send": "first byte written" => "last byte written", queue None;
    "aiperf.waiting" Client "header": "last byte written" => "first response byte", queue Some(true);
    "vllm-bench.ttft" Client "ttft": "request written, after the client's own semaphore" => "first chunk with choices", queue Some(true);
    "vllm-bench.latency" Client "e2e": "request written, after the client's own semaphore" => "last chunk", queue Some(true);
    "vllm-bench.queue" Client "client_wait": "request due" => "client's semaphore obtained", queue Some(false);
    "sglang-bench.ttft" Client "ttft": "request written, after the client's own semaphore" => "first chunk with text", queue Some(true);
    "sglang-bench.latency" Client "e2e": "request written, after the client's own semaphore" => "last chunk", queue Some(true);
    "genai-perf.ttft" Client "ttft": "request written" => "first response that is not empty", queue Some(true);
    "genai-perf.latency" Client "e2e": "request written" => "last response", queue Some(true);
    "evalscope.ttft" Client "ttft": "request written" => "first chunk", queue Some(true);
    "evalscope.latency" Client "e2e": "request written" => "last chunk", queue Some(true);
    "guidellm.ttft" Client "ttft": "request written" => "first token iteration", queue Some(true);
    "guidellm.ttfo" Client "ttft_output": "request written" => "first output token that is not reasoning", queue Some(true);
    "guidellm.latency" Client "e2e": "request written" => "request end", queue Some(true);
    "inference-perf.ttft" Client "ttft": "dispatched by a worker, retries included" => "first chunk whose text counts as a token", queue Some(true);
    "inference-perf.latency" Client "e2e": "dispatched by a worker, retries included" => "response end", queue Some(true);
    "inference-perf.schedule_delay" Client "client_wait": "request due" => "dispatched by a worker", queue Some(false);
    "llmperf.ttft" Client "ttft": "request written" => "first chunk with content", queue Some(true);
    "llmperf.latency" Client "e2e": "request written" => "response end", queue Some(true);
    // LoadGen's server scenario times a query from when it was due, so that its own lag counts too.
    "mlperf.ttft" Client "ttft": "query due" => "first token reported to LoadGen", queue Some(true);
    "mlperf.latency" Client "e2e": "query due" => "last token reported to LoadGen", queue Some(true);
    // nginx: $request_time and $upstream_*_time, seconds with ms, from ngx_http_log and ngx_http_upstream modules.
    "nginx.request" Gateway "e2e": "first byte from the client" => "last byte sent to the client", queue Some(true);
    "nginx.upstream" Gateway "upstream": "connect to the upstream begun" => "last byte from the upstream", queue Some(true);
    "nginx.upstream_connect" Gateway "connect": "connect to the upstream begun" => "connected", queue None;
    "nginx.upstream_header" Gateway "header": "connect to the upstream begun" => "response header received (not the first token)", queue None;
    // HAProxy timers, ms: configuration manual section 8.4.
    "haproxy.request" Gateway "request": "first byte of the request" => "request headers complete", queue None;
    "haproxy.wait" Gateway "wait": "request complete" => "left the proxy's queues", queue Some(false);
    "haproxy.connect" Gateway "connect": "connect to the server begun" => "connected", queue None;
    "haproxy.response" Gateway "header": "connected to the server" => "response header received (not the first token)", queue None;
    "haproxy.active" Gateway "e2e": "first byte of the request" => "last byte sent", queue Some(true);
    "haproxy.total" Gateway "connection": "connection accepted, idle time of a kept connection included" => "last byte sent", queue Some(true);
    // Envoy's durations, ms unless a COMMON_DURATION names its unit: access log command operators.
    "envoy.duration" Gateway "e2e": "request received by the proxy" => "last byte sent to the caller", queue Some(true);
    "envoy.request" Gateway "request": "request received by the proxy" => "last byte of the request received", queue None;
    "envoy.request_tx" Gateway "request_tx": "request received by the proxy" => "last byte of the request sent to the upstream", queue Some(false);
    "envoy.response" Gateway "header": "request received by the proxy" => "first byte of the upstream's response (headers, not the first token)", queue Some(true);
    "envoy.response_tx" Gateway "response_tx": "first byte of the upstream's response (headers)" => "last byte sent to the caller", queue Some(true);
    "envoy.pool_ready" Gateway "pool": "request received by the proxy" => "connection to the upstream ready", queue Some(false);
    "envoy.upstream_service" Gateway "header": "request sent to the upstream" => "response header received (not the first token)", queue Some(true);
    "envoy.upstream_connect" Gateway "connect": "connect to the upstream begun" => "connected", queue None;
    "envoy.first_body" Gateway "first_body": "first byte of the request received" => "first byte of the response body received from the upstream", queue Some(true);
    "envoy.upstream_first_body" Gateway "first_body": "last byte of the request sent to the upstream" => "first byte of the response body received from the upstream", queue Some(true);
    "envoy.first_sent" Gateway "header": "first byte of the request received" => "first byte of the response sent to the caller (headers, not the first token)", queue Some(true);
    "higress.ttft" Gateway "ttft": "request headers received by the gateway's statistics plugin" => "first chunk of the streamed response", queue Some(true);
    "higress.service" Gateway "e2e": "request headers received by the gateway's statistics plugin" => "end of the response", queue Some(true);
    // Kong: latencies of the log serializer, ms; ai-proxy's meta and usage.
    "kong.request" Gateway "e2e": "first byte of the request read" => "last byte sent to the caller", queue Some(true);
    "kong.kong" Gateway "plugins": "work of the gateway's own plugins begun" => "ended, all phases added up", queue Some(false);
    "kong.proxy" Gateway "header": "request handed to the upstream" => "response header received (not the first token)", queue Some(true);
    "kong.receive" Gateway "receive": "response header received from the upstream" => "response read and processed", queue None;
    "kong.llm" Gateway "e2e": "request sent to the model's provider" => "full response received (not the first token)", queue Some(true);
    "kong.ttft" Gateway "ttft": "request sent to the model's provider" => "first output token received", queue Some(true);
    "litellm.ttft" Gateway "ttft": "request received by the proxy" => "first chunk of the response (completionStartTime)", queue Some(true);
    "litellm.request" Gateway "e2e": "request received by the proxy" => "end of the response", queue Some(true);
    "litellm.overhead" Gateway "overhead": "request received by the proxy" => "end of the response, less the call of the model", queue Some(false);
    // HTTP clients: HAR 1.2 timings (ms, exclusive), curl -w (s, cumulative from the start), W3C Resource Timing.
    "har.blocked" Client "pool": "request made" => "connection obtained, or begun", queue None;
    "har.dns" Client "dns": "look-up of the name begun" => "address known", queue None;
    "har.connect" Client "connect": "connect begun" => "TCP and TLS established", queue None;
    "har.ssl" Client "tls": "TLS begun" => "TLS established", queue None;
    "har.send" Client "send": "first byte written" => "last byte written", queue None;
    "har.waiting" Client "header": "last byte written" => "first response byte (headers, not the first token)", queue Some(true);
    "har.receive" Client "receive": "first response byte" => "last response byte", queue None;
    "har.total" Client "e2e": "request made" => "last response byte", queue Some(true);
    "curl.dns" Client "dns": "transfer begun" => "address known", queue None;
    "curl.connect" Client "connect": "transfer begun" => "TCP established", queue None;
    "curl.tls" Client "tls": "transfer begun" => "TLS established", queue None;
    "curl.pretransfer" Client "pool": "transfer begun" => "request about to be written", queue None;
    "curl.posttransfer" Client "send": "transfer begun" => "last byte of the request written", queue None;
    "curl.redirect" Client "redirect": "transfer begun" => "final request begun, after redirects", queue None;
    "curl.first_byte" Client "header": "transfer begun" => "first response byte (headers, not the first token)", queue Some(true);
    "curl.total" Client "e2e": "transfer begun" => "transfer over", queue Some(true);
    "resource.dns" Client "dns": "look-up of the name begun" => "address known", queue None;
    "resource.connect" Client "connect": "connect begun" => "TCP and TLS established", queue None;
    "resource.tls" Client "tls": "TLS begun" => "TLS established", queue None;
    "resource.waiting" Client "header": "request about to be written" => "first response byte (headers, not the first token)", queue Some(true);
    "resource.total" Client "e2e": "fetch begun" => "last response byte", queue Some(true);
    // vLLM span llm_request, seconds; vllm/v1/metrics and design/metrics.
    "vllm.ttft" Engine "ttft": "arrival at the API server" => "first token seen by the API server", queue Some(true);
    "vllm.queue" Engine "queue": "request taken in by the engine core" => "most recent scheduling", queue Some(true);
    "vllm.prefill" Engine "prefill": "most recent scheduling" => "first new token", queue Some(false);
    "vllm.decode" Engine "decode": "first new token" => "last new token", queue Some(false);
    "vllm.inference" Engine "inference": "most recent scheduling" => "last new token", queue Some(false);
    "vllm.e2e" Engine "e2e": "arrival at the API server" => "finished", queue Some(true);
    // SGLang's span of a request, seconds; srt/observability/req_time_stats.py. Its "prefill" holds the queue.
    "sglang-span.ttft" Engine "ttft": "request created in the API server" => "first token seen by the API server", queue Some(true);
    "sglang-span.dispatched_ttft" Engine "dispatched_ttft": "request handed to the scheduler by the API server" => "first token seen by the API server", queue Some(true);
    "sglang-span.decode" Engine "decode": "first token seen by the API server" => "finished", queue Some(false);
    "sglang-span.dispatched_e2e" Engine "dispatched_e2e": "request handed to the scheduler by the API server" => "finished", queue Some(true);
    "sglang-span.e2e" Engine "e2e": "request created in the API server" => "finished", queue Some(true);
    // RTP-LLM's span, from the response's aux_info: TTFT in ms, the other two in ns and without the wait.
    "rtp-llm.ttft" Engine "ttft": "request taken in by the engine" => "first token", queue Some(true);
    "rtp-llm.prefill" Engine "prefill": "end of the engine's wait" => "first token", queue Some(false);
    "rtp-llm.decode" Engine "decode": "first token" => "finished", queue Some(false);
    // Text Generation Inference, router/src/server.rs: one process, from the request's handler on.
    "tgi.validation" Engine "validation": "request taken in by the router" => "validated and queued", queue Some(false);
    "tgi.queue" Engine "queue": "validated and queued" => "taken into a batch", queue Some(true);
    "tgi.inference" Engine "inference": "taken into a batch" => "last token", queue Some(false);
    "tgi.time_per_token" Engine "tpot": "taken into a batch" => "last token, divided by the tokens; prefill inside", queue Some(false);
    "tgi.e2e" Engine "e2e": "request taken in by the router" => "last token", queue Some(true);
    // TensorRT-LLM `/perf_metrics`: instants on the steady clock of one server each.
    "trtllm.preprocess" Engine "preprocess": "arrival at the HTTP server" => "arrival at the executor", queue Some(false);
    "trtllm.queue" Engine "queue": "arrival at the executor" => "first scheduled", queue Some(true);
    "trtllm.prefill" Engine "prefill": "first scheduled" => "first token", queue Some(false);
    "trtllm.ttft" Engine "ttft": "arrival at the HTTP server" => "first token handed out by the HTTP server", queue Some(true);
    "trtllm-executor.ttft" Engine "ttft": "arrival at the executor" => "first token", queue Some(true);
    "trtllm.e2e" Engine "e2e": "arrival at the HTTP server, else at the executor" => "last token", queue Some(true);
    "trtllm-decode.admission" Engine "admission": "arrival at the decode server's executor" => "first scheduled, KV transfer inside", queue Some(true);
    "trtllm-decode.kv_transfer" Engine "kv_transfer": "transfer of the KV cache begun" => "transfer ended", queue None;
    "trtllm-disagg.ttft" Router "ttft": "arrival at the server before prefill and decode" => "first token handed out by it", queue Some(true);
    // Triton's trace of a request, ns; docs/user_guide/trace.md.
    "triton.queue" Engine "queue": "request put into the model's queue" => "taken up by an instance of the model", queue Some(true);
    "triton.compute" Engine "compute": "taken up by an instance of the model" => "outputs ready", queue Some(false);
    "triton.e2e" Engine "e2e": "request taken in by the server's core" => "request released", queue Some(true);
    // NVIDIA Dynamo's frontend, ms; lib/llm/src/protocols/common/timing.rs. Its "prefill" holds the worker's queue.
    "dynamo.wait" Router "wait": "request received by the frontend" => "sent to a worker for prefill", queue Some(true);
    "dynamo.dispatched_ttft" Router "dispatched_ttft": "sent to a worker for prefill" => "first token seen by the frontend", queue Some(true);
    "dynamo.ttft" Router "ttft": "request received by the frontend" => "first token seen by the frontend", queue Some(true);
    "dynamo.e2e" Router "e2e": "request received by the frontend" => "response ended", queue Some(true);
    "dynamo.kv_transfer" Router "kv_transfer": "prefill done" => "KV cache at the decode worker, as estimated", queue None;
    // OpenTelemetry's conventions for callers of models; the second is written by load generators only.
    "gen-ai.ttfc" Client "first_chunk": "call begun" => "first chunk of the response", queue Some(true);
    "gen-ai.ttft" Client "ttft": "call begun" => "first token as the instrumentation counts it", queue Some(true);
    // What inference-perf reads from the model server's own histograms, whichever server it is.
    "inference-perf.server_ttft" Engine "ttft": "arrival at the model server" => "first token, by the server's histogram", queue Some(true);
    "inference-perf.server_latency" Engine "e2e": "arrival at the model server" => "finished, by the server's histogram", queue Some(true);
    "inference-perf.server_queue" Engine "queue": "arrival at the model server" => "scheduled, by the server's histogram", queue Some(true);
    "inference-perf.server_prefill" Engine "prefill": "scheduled" => "first token, by the server's histogram", queue Some(false);
    // llama.cpp server `timings` and print_timing, ms: no queue or slot wait in them.
    "llama.prefill" Engine "prefill": "prompt processing begun" => "prompt processed, uncached tokens only", queue Some(false);
    "llama.decode" Engine "decode": "prompt processed" => "last token", queue Some(false);
    // What the author of a mapping says that a column of a table holds.
    "mapped.ttft" Client "ttft": "request written" => "first token of any kind at the client", queue Some(true);
    "mapped.e2e" Client "e2e": "request written" => "last chunk at the client", queue Some(true);
    "mapped.wait" Gateway "wait": "request complete at the gateway" => "forwarded to the service", queue Some(false);
    "mapped.queue" Engine "queue": "request accepted by the engine" => "taken up by its scheduler", queue Some(true);
    "mapped.prefill" Engine "prefill": "taken up by the scheduler" => "first token produced", queue Some(false);
    // vLLM response bodies, ms: docs/features/per_request_metrics.md. Its "time to first token" begins at scheduling.
    "vllm-response.queue" Engine "queue": "request taken in by the engine core" => "scheduled", queue Some(true);
    "vllm-response.prefill" Engine "prefill": "scheduled" => "first token", queue Some(false);
    "vllm-response.decode" Engine "decode": "first token" => "last token", queue Some(false);
    // SGLang's meta_info, s, and its log's Req Time Stats, ms: srt/observability/req_time_stats.py.
    "sglang.ttft" Engine "ttft": "request taken in by the tokenizer manager" => "first token seen by it", queue Some(true);
    "sglang.queue" Engine "queue": "entered the scheduler's waiting queue" => "first forward pass begun", queue Some(true);
    "sglang.prefill" Engine "prefill": "first forward pass begun" => "prefill finished, the first token produced", queue Some(false);
    "sglang-scheduler.ttft" Engine "ttft": "request taken in by the tokenizer manager" => "prefill finished, the first token produced", queue Some(true);
    "sglang.inference" Engine "inference": "first forward pass begun" => "finished", queue Some(false);
    "sglang.e2e" Engine "e2e": "request taken in by the tokenizer manager" => "finished", queue Some(true);
    // Ollama's answers, ns: the wait for a runner, its start included, is all in the load.
    "ollama.load" Engine "model_load": "request received by the handler" => "runner with the model at hand", queue Some(true);
    "ollama.prefill" Engine "prefill": "prompt processing begun" => "prompt processed", queue Some(false);
    "ollama.decode" Engine "decode": "prompt processed" => "last token", queue Some(false);
    "ollama.e2e" Engine "e2e": "request received by the handler" => "answer complete", queue Some(true);
    // A proxy that states its own overhead or spans.
    "litellm.proxy" Gateway "e2e": "request received by the proxy" => "end of the response", queue Some(true);
    "span.server" Gateway "e2e": "server span start" => "server span end", queue Some(true);
}

/// The definition with this id.
#[must_use]
pub fn definition(id: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|d| d.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_name_their_tool() {
        let mut ids: Vec<_> = DEFINITIONS.iter().map(|d| d.id).collect();
        assert!(ids.iter().all(|id| id.split_once('.').is_some()));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), DEFINITIONS.len());
        assert!(definition("vllm.ttft").is_some_and(|d| d.includes_queue == Some(true)));
    }
}
