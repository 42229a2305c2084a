-- ttft-is-total: the first token of an answer of several tokens comes with its last: the stream was off, or a hop held the
-- whole answer back. Either way the figure says nothing of the server's first token.
-- source: an answer of k tokens takes k - 1 decoding steps after its first. Less than 0.1 ms a step (10 000 tokens/s for one
-- stream; the fastest services reach a third) is no decoding, unless most of the time
-- lies after the first token and the units are in doubt; 95 % of at least 5 requests (or the mean of a run) is all of them.
-- proof: TTFT {ttft_ns} of {whole_ns} in all, with {tokens} tokens an answer[, in {n} of {all} requests]: the first token came with the last
SELECT candidate, source, MIN(line) AS line, CAST(0 AS BIGINT) AS item,
  CAST(FLOOR(AVG(wait_ns)) AS BIGINT) AS ttft_ns, CAST(FLOOR(AVG(whole_ns)) AS BIGINT) AS whole_ns, AVG(output_tokens) AS tokens,
  CAST(SUM(CASE WHEN whole_ns - wait_ns < (output_tokens - 1) * 100000 AND wait_ns > whole_ns * 0.5 THEN 1 ELSE 0 END) AS BIGINT) AS n, COUNT(*) AS "all"
FROM timed
WHERE wait_ns IS NOT NULL AND whole_ns > 0 AND output_tokens > 1
GROUP BY candidate, source
HAVING COUNT(*) >= 5 AND SUM(CASE WHEN whole_ns - wait_ns < (output_tokens - 1) * 100000 AND wait_ns > whole_ns * 0.5 THEN 1 ELSE 0 END) >= COUNT(*) * 0.95
UNION ALL
SELECT candidate, source, line, item, CAST(ttft_mean * 1e9 AS BIGINT), CAST(e2e_mean * 1e9 AS BIGINT), output_mean, NULL, NULL
FROM cell
WHERE hop = 'client' AND output_mean >= 2 AND e2e_mean > 0 AND e2e_mean - ttft_mean < (output_mean - 1) * 0.0001 AND ttft_mean > e2e_mean * 0.5
