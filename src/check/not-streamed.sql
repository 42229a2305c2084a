-- not-streamed: a client that did not ask for a stream gets the whole answer at once, so its first byte is its last and what
-- it calls TTFT is the time of the whole request.
-- source: evalscope perf measures TTFT with --stream only; SGLang's benchmark and LiteLLM write the total in its place.
-- proof: {what}[ ({n} of {all} with a TTFT)]: TTFT is not measurable from this run
SELECT candidate, source, MIN(line) AS line, MIN(item) AS item, 'stream = false: the requests were not streamed' AS what,
  CAST(NULL AS BIGINT) AS n, CAST(NULL AS BIGINT) AS "all"
FROM setting
WHERE hop = 'client' AND key = 'stream' AND LOWER(value) = 'false'
GROUP BY candidate, source
UNION ALL
SELECT candidate, source, MIN(line), CAST(0 AS BIGINT), 'requests were not streamed, yet have a TTFT',
  CAST(SUM(CASE WHEN wait_ns IS NOT NULL AND NOT streamed THEN 1 ELSE 0 END) AS BIGINT),
  CAST(SUM(CASE WHEN wait_ns IS NOT NULL THEN 1 ELSE 0 END) AS BIGINT)
FROM timed
GROUP BY candidate, source
HAVING SUM(CASE WHEN wait_ns IS NOT NULL AND NOT streamed THEN 1 ELSE 0 END) > 0
