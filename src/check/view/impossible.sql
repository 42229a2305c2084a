-- impossible: requests whose own figures contradict each other: `before` lies after `after` although it cannot, or a part is
-- longer than its whole. What differs by less than a millisecond is rounding (proxies write whole milliseconds). A vLLM
-- client's `queue` is outside its TTFT; only an engine's is inside.
SELECT candidate, source, line, item, row, 'first token before the request was sent' AS what, send AS more_ns, first_token AS less_ns
FROM timed WHERE one_clock AND send > first_token + 1000000
UNION ALL
SELECT candidate, source, line, item, row, 'response headers after the first token', headers, first_token
FROM timed WHERE one_clock AND headers > first_token + 1000000
UNION ALL
SELECT candidate, source, line, item, row, 'first token after the end', first_token, end_ns
FROM timed WHERE one_clock AND first_token > end_ns + 1000000
UNION ALL
SELECT candidate, source, line, item, row, 'start after the end', COALESCE(start_ns, send), end_ns
FROM timed WHERE one_clock AND COALESCE(start_ns, send) > end_ns + 1000000
UNION ALL
SELECT candidate, source, line, item, row, 'queue + prefill longer than the TTFT they are parts of', queue + prefill, ttft
FROM timed WHERE hop = 'engine' AND queue + prefill > ttft + 1000000
UNION ALL
SELECT candidate, source, line, item, row, 'TTFT longer than the whole request', ttft, e2e
FROM timed WHERE ttft > e2e + 1000000
UNION ALL
SELECT candidate, source, line, item, row, 'negative duration', CAST(0 AS BIGINT), LEAST(ttft, queue, prefill, e2e)
FROM timed WHERE LEAST(ttft, queue, prefill, e2e) < 0
