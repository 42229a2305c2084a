-- cold: exchanges that met an instance just started: they waited until it was ready, or they are among the first
-- {k} that an instance served within five minutes of a recorded readiness (clocks taken as they are: minutes, not
-- milliseconds, matter here). Without placed start-up evidence cold or warm is unknown, not warm.
WITH readiness AS (
  SELECT candidate, t_ns
  FROM event
  WHERE kind IN ('server-start', 'engine-ready', 'ready', 'health-ok', 'health-fail') AND clock LIKE 'epoch:%' AND t_ns IS NOT NULL
),
ranked AS (
  SELECT j.row, j.candidate, j.ready_wait, j.engine_start,
    CAST(ROW_NUMBER() OVER (PARTITION BY j.candidate, j.instance ORDER BY j.engine_start, j.row) AS BIGINT) AS nth
  FROM joined j
  WHERE j.engine_start IS NOT NULL AND j.candidate IN (SELECT candidate FROM readiness)
),
first AS (
  SELECT r.row
  FROM ranked r
  JOIN readiness s ON s.candidate = r.candidate AND s.t_ns > r.engine_start - 300000000000 AND s.t_ns < r.engine_start + 5000000000
  WHERE r.nth <= {k}
  GROUP BY r.row
)
SELECT r.row, f.row IS NOT NULL OR r.ready_wait > 0 AS cold
FROM ranked r
LEFT JOIN first f ON f.row = r.row
