-- cell: one row a run with stated figures: its settings, its counts, its rates (1/s) and its latencies (s). A setting is the
-- run's own, else the only one of its file, else the only one in files that hold settings alone (a command, a configuration).
WITH run_of AS (
  SELECT candidate, source, cell, MIN(hop) AS hop, MIN(line) AS line,
    MIN(CASE WHEN line = first_line THEN item END) AS item
  FROM (SELECT *, MIN(line) OVER (PARTITION BY candidate, source, cell) AS first_line FROM figure) f
  GROUP BY candidate, source, cell
),
own AS (
  SELECT candidate, source, cell, key, MAX(value) AS value FROM setting GROUP BY candidate, source, cell, key
),
sole AS (
  SELECT candidate, source, key, MAX(value) AS value FROM setting GROUP BY candidate, source, key
  HAVING COUNT(DISTINCT value) = 1
),
beside AS (
  SELECT s.candidate, s.key, MAX(s.value) AS value
  FROM setting s
  LEFT JOIN (SELECT DISTINCT candidate, source FROM figure) f ON f.candidate = s.candidate AND f.source = s.source
  WHERE f.source IS NULL
  GROUP BY s.candidate, s.key
  HAVING COUNT(DISTINCT s.value) = 1
),
resolved AS (
  SELECT r.candidate, r.source, r.cell, k.key, COALESCE(o.value, w.value, b.value) AS value
  FROM run_of r
  CROSS JOIN (SELECT DISTINCT key FROM setting) k
  LEFT JOIN own o ON o.candidate = r.candidate AND o.source = r.source AND o.cell = r.cell AND o.key = k.key
  LEFT JOIN sole w ON w.candidate = r.candidate AND w.source = r.source AND w.key = k.key
  LEFT JOIN beside b ON b.candidate = r.candidate AND b.key = k.key
),
told AS (
  SELECT candidate, source, cell,
    MAX(CASE WHEN key = 'stage' THEN value END) AS stage,
    MAX(CASE WHEN key = 'request_rate' THEN value END) AS rate,
    MAX(CASE WHEN key = 'num_prompts' THEN TRY_CAST(value AS DOUBLE) END) AS asked,
    MAX(CASE WHEN key = 'max_concurrency' THEN TRY_CAST(value AS DOUBLE) END) AS max_concurrency,
    MAX(CASE WHEN key IN ('num_workers', 'load.num_workers') THEN TRY_CAST(value AS DOUBLE) END)
      * MAX(CASE WHEN key IN ('worker_max_concurrency', 'load.worker_max_concurrency') THEN TRY_CAST(value AS DOUBLE) END) AS workers
  FROM resolved GROUP BY candidate, source, cell
),
said AS (
  SELECT candidate, source, cell,
    MAX(CASE WHEN metric = 'requests' AND statistic = 'completed' THEN value END) AS completed,
    MAX(CASE WHEN metric = 'requests' AND statistic = 'failed' THEN value END) AS failed,
    MAX(CASE WHEN metric = 'requests' AND statistic IN ('total', 'count') THEN value END) AS total,
    MAX(CASE WHEN metric = 'request_rate_offered' THEN value END) AS offered,
    MAX(CASE WHEN metric = 'request_rate' AND statistic IN ('value', 'mean') THEN value END) AS achieved,
    MAX(CASE WHEN metric = 'duration' THEN value END) AS duration,
    MAX(CASE WHEN metric = 'concurrency' AND statistic = 'limit' THEN value END) AS cap,
    MAX(CASE WHEN metric = 'ttft' AND statistic = 'mean' THEN value END) AS ttft_mean,
    MAX(CASE WHEN metric = 'ttft' AND statistic IN ('median', 'p50') THEN value END) AS ttft_median,
    MAX(CASE WHEN metric = 'ttft' AND statistic = 'p99' THEN value END) AS ttft_p99,
    MAX(CASE WHEN metric = 'ttft' AND statistic = 'min' THEN value END) AS ttft_min,
    MAX(CASE WHEN metric = 'e2e' AND statistic = 'mean' THEN value END) AS e2e_mean,
    MAX(CASE WHEN metric = 'itl' AND statistic IN ('median', 'p50') THEN value END) AS itl_median,
    MAX(CASE WHEN metric = 'itl' AND statistic = 'p99' THEN value END) AS itl_p99,
    MAX(CASE WHEN metric = 'schedule_delay' AND statistic IN ('median', 'p50') THEN value END) AS delay_median,
    MAX(CASE WHEN metric = 'schedule_delay' AND statistic = 'p99' THEN value END) AS delay_p99,
    MAX(CASE WHEN metric = 'input_tokens' AND statistic = 'mean' THEN value END) AS input_mean,
    MAX(CASE WHEN metric = 'output_tokens' AND statistic = 'mean' THEN value END) AS output_mean,
    MAX(CASE WHEN metric = 'output_tokens' AND statistic IN ('total', 'sum', 'count') THEN value END) AS output_total
  FROM figure GROUP BY candidate, source, cell
)
SELECT r.candidate, r.source, r.cell, r.hop, r.line, r.item, t.stage, t.asked,
  s.completed, s.failed, COALESCE(s.total, s.completed + s.failed, s.completed) AS total, s.duration,
  COALESCE(s.offered, CASE WHEN TRY_CAST(t.rate AS DOUBLE) < 1e300 THEN TRY_CAST(t.rate AS DOUBLE) END) AS offered,
  LOWER(t.rate) IN ('inf', '-1') AND s.offered IS NULL AS unpaced,
  COALESCE(s.achieved, s.completed / NULLIF(s.duration, 0)) AS achieved,
  COALESCE(s.cap, t.max_concurrency, t.workers) AS cap,
  s.ttft_mean, s.ttft_median, s.ttft_p99, s.ttft_min, s.e2e_mean, s.itl_median, s.itl_p99, s.delay_median, s.delay_p99,
  s.input_mean, COALESCE(s.output_mean, s.output_total / NULLIF(s.completed, 0)) AS output_mean
FROM run_of r
JOIN said s ON s.candidate = r.candidate AND s.source = r.source AND s.cell = r.cell
LEFT JOIN told t ON t.candidate = r.candidate AND t.source = r.source AND t.cell = r.cell
