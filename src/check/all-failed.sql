-- all-failed: a run in which no request was answered has no latency; tools that divide by nothing print 0, the best score.
-- source: vLLM and SGLang benchmark code; both write mean_ttft_ms 0.0 for a run whose requests all failed.
-- proof: 0 of {asked} requests completed[, yet a mean TTFT of {ttft_ms} ms is stated]: nothing was measured
SELECT candidate, source, line, item, COALESCE(NULLIF(failed, 0), NULLIF(total, 0), asked) AS asked, ttft_mean * 1000 AS ttft_ms
FROM cell
WHERE hop = 'client' AND completed = 0 AND COALESCE(NULLIF(failed, 0), NULLIF(total, 0), asked) > 0
