-- impossible: requests whose own figures contradict each other: an instant lies after one that it cannot follow, or a part is
-- longer than its whole. What differs by less than a millisecond is rounding (proxies write whole milliseconds). A client's
-- `queue` is outside its TTFT; only an engine's is inside.
WITH instants AS (
  SELECT row,
    MAX(CASE WHEN name = 'send' THEN t_ns END) AS send,
    MAX(CASE WHEN name = 'headers' THEN t_ns END) AS headers,
    MAX(CASE WHEN name = 'first_token' THEN t_ns END) AS first_token,
    MAX(CASE WHEN name IN ('start', 'send') THEN t_ns END) AS start_ns,
    MAX(CASE WHEN name = 'end' THEN t_ns END) AS end_ns
  FROM mark
  WHERE name IN ('send', 'headers', 'first_token', 'start', 'end')
  GROUP BY row
  HAVING MAX(CASE WHEN name = 'send' THEN t_ns END) > MAX(CASE WHEN name = 'first_token' THEN t_ns END) + 1000000
    OR MAX(CASE WHEN name = 'headers' THEN t_ns END) > MAX(CASE WHEN name = 'first_token' THEN t_ns END) + 1000000
    OR MAX(CASE WHEN name IN ('start', 'send', 'first_token') THEN t_ns END) > MAX(CASE WHEN name = 'end' THEN t_ns END) + 1000000
),
durations AS (
  SELECT row,
    MAX(CASE WHEN definition LIKE '%.ttft' THEN duration_ns END) AS ttft,
    MAX(CASE WHEN definition LIKE '%.queue' THEN duration_ns END) AS queue,
    MAX(CASE WHEN definition LIKE '%.prefill' THEN duration_ns END) AS prefill,
    MAX(CASE WHEN definition LIKE '%.latency' OR definition LIKE '%.e2e' THEN duration_ns END) AS e2e,
    MIN(duration_ns) AS least
  FROM measure
  GROUP BY row
  HAVING MAX(CASE WHEN definition LIKE '%.queue' THEN duration_ns END) + MAX(CASE WHEN definition LIKE '%.prefill' THEN duration_ns END)
      > MAX(CASE WHEN definition LIKE '%.ttft' THEN duration_ns END) + 1000000
    OR MAX(CASE WHEN definition LIKE '%.ttft' THEN duration_ns END)
      > MAX(CASE WHEN definition LIKE '%.latency' OR definition LIKE '%.e2e' THEN duration_ns END) + 1000000
    OR MIN(duration_ns) < 0
),
contradiction AS (
  SELECT row, 'first token before the request was sent' AS what, send AS more_ns, first_token AS less_ns
  FROM instants WHERE send > first_token + 1000000
  UNION ALL
  SELECT row, 'response headers after the first token', headers, first_token FROM instants WHERE headers > first_token + 1000000
  UNION ALL
  SELECT row, 'first token after the end', first_token, end_ns FROM instants WHERE first_token > end_ns + 1000000
  UNION ALL
  SELECT row, 'start after the end', start_ns, end_ns FROM instants WHERE start_ns > end_ns + 1000000
  UNION ALL
  SELECT d.row, 'queue + prefill longer than the TTFT they are parts of', d.queue + d.prefill, d.ttft
  FROM durations d JOIN request r ON r.row = d.row AND r.hop = 'engine'
  WHERE d.queue + d.prefill > d.ttft + 1000000
  UNION ALL
  SELECT row, 'TTFT longer than the whole request', ttft, e2e FROM durations WHERE ttft > e2e + 1000000
  UNION ALL
  SELECT row, 'negative duration', CAST(0 AS BIGINT), least FROM durations WHERE least < 0
)
SELECT r.candidate, r.source, r.line, r.item, r.row, x.what, x.more_ns, x.less_ns
FROM contradiction x
JOIN request r ON r.row = x.row
LEFT JOIN clocked c ON c.row = x.row
WHERE COALESCE(c.one_clock, true) OR x.what IN
  ('queue + prefill longer than the TTFT they are parts of', 'TTFT longer than the whole request', 'negative duration')
UNION ALL
-- What a reader saw and left out of a record contradicts it as much as what it kept.
SELECT r.candidate, r.source, r.line, r.item, r.row, MIN(f.detail), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)
FROM finding f
JOIN request r ON r.candidate = f.candidate AND r.source = f.source AND r.line = f.line AND r.item = f.item
WHERE f.code = 'value-impossible'
GROUP BY r.candidate, r.source, r.line, r.item, r.row
