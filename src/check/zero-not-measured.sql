-- zero-not-measured: KV-cache use stated as exactly 0 while requests wait or run: the metric was not found, and its absence
-- was written as a number.
-- source: every running sequence holds KV blocks; inference-perf writes 0.0 for a metric its query did not find.
-- proof: {metric} is 0 while {load} {what}: not measured, not idle[ (stage {stage})]
WITH used AS (
  SELECT candidate, source, cell, metric, MIN(line) AS line, MIN(item) AS item
  FROM figure WHERE metric LIKE '%cache_usage%'
  GROUP BY candidate, source, cell, metric HAVING MAX(ABS(value)) = 0
),
waiting AS (
  SELECT candidate, source, cell, MAX(value) AS load
  FROM figure WHERE metric IN ('queue_len', 'num_requests_waiting', 'queue_length')
  GROUP BY candidate, source, cell HAVING MAX(value) >= 1
)
SELECT u.candidate, u.source, u.line, u.item, u.metric, w.load, 'requests wait in the queue' AS what, c.stage
FROM used u
JOIN waiting w ON w.candidate = u.candidate AND w.source = u.source AND w.cell = u.cell
JOIN cell c ON c.candidate = u.candidate AND c.source = u.source AND c.cell = u.cell
UNION ALL
SELECT candidate, MIN(source), MIN(line), MIN(item), 'kv_cache_usage over all scrapes',
  MAX(CASE WHEN metric LIKE '%num_requests_waiting' THEN value END), 'requests wait in the queue', NULL
FROM series
WHERE metric LIKE '%cache_usage_perc' OR metric LIKE '%num_requests_waiting'
GROUP BY candidate
HAVING MAX(CASE WHEN metric LIKE '%cache_usage_perc' THEN value END) = 0
  AND MAX(CASE WHEN metric LIKE '%num_requests_waiting' THEN value END) >= 1
