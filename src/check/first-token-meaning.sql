-- first-token-meaning: what the client takes for the first token is not yet an answer: a chunk with a role only, or the start of
-- a reasoning part that users do not see.
-- source: vLLM's benchmark stops its clock at the first chunk with `choices`, even an empty one (vllm-project/vllm#15106); AIPerf
-- and GuideLLM state the first token of any kind and the first of the output apart.
-- proof: {what}[: the first token after {ttft_ns} on average, the first token of the output after {output_ns}, in {n} requests]
SELECT candidate, source, MIN(line) AS line, CAST(0 AS BIGINT) AS item, 'reasoning tokens come first' AS what,
  CAST(FLOOR(AVG(ttft)) AS BIGINT) AS ttft_ns, CAST(FLOOR(AVG(ttfo)) AS BIGINT) AS output_ns, COUNT(*) AS n
FROM timed
WHERE ttft IS NOT NULL AND ttfo IS NOT NULL
GROUP BY candidate, source
HAVING AVG(ttfo) > AVG(ttft) * 1.1
UNION ALL
SELECT s.candidate, s.source, MIN(s.line), CAST(0 AS BIGINT),
  'backend openai-chat: the clock of TTFT stops at the first chunk with choices, even one that only names the role', NULL, NULL, NULL
FROM setting s
JOIN source f ON f.candidate = s.candidate AND f.source = s.source AND f.format LIKE 'vllm_bench%'
WHERE s.key IN ('backend', 'endpoint_type') AND s.value = 'openai-chat'
GROUP BY s.candidate, s.source
