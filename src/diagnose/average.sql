-- average: an engine's own histogram counters over the scraped window: sum and count grew by how much, per series.
-- Kept beside the ledger: such figures belong to no request, and may include requests of other callers.
WITH grown AS (
  SELECT candidate, metric, labels,
    max_by(value, t_ns) - min_by(value, t_ns) AS growth, MIN(t_ns) AS from_ns, MAX(t_ns) AS to_ns
  FROM series
  WHERE (metric LIKE '%time_to_first_token_seconds_sum' OR metric LIKE '%time_to_first_token_seconds_count'
    OR metric LIKE '%request_queue_time_seconds_sum' OR metric LIKE '%request_queue_time_seconds_count'
    OR metric LIKE '%request_prefill_time_seconds_sum' OR metric LIKE '%request_prefill_time_seconds_count')
    AND NOT EXISTS (SELECT 1 FROM void v WHERE v.candidate = series.candidate AND v.source = series.source)
  GROUP BY candidate, metric, labels
)
SELECT s.candidate, REPLACE(s.metric, '_sum', '') AS metric, s.labels,
  s.growth AS seconds, n.growth AS requests, s.from_ns, s.to_ns
FROM grown s
JOIN grown n ON n.candidate = s.candidate AND n.labels = s.labels AND n.metric = REPLACE(s.metric, '_sum', '_count')
WHERE s.metric LIKE '%_sum' AND n.growth > 0
ORDER BY s.candidate, metric, s.labels
