-- cold: exchanges that met an instance just started: they waited until it was ready, or they are among the first
-- {k} that an instance served, where the candidate's start-up was recorded at all. Without start-up evidence
-- cold or warm is unknown, not warm.
WITH ranked AS (
  SELECT j.row, j.candidate, j.ready_wait,
    CAST(ROW_NUMBER() OVER (PARTITION BY j.candidate, j.instance ORDER BY j.engine_start, j.row) AS BIGINT) AS nth
  FROM joined j
  WHERE j.engine_start IS NOT NULL
    AND j.candidate IN (SELECT candidate FROM event WHERE kind IN ('start', 'ready', 'engine-ready', 'health-fail'))
)
SELECT row, nth <= {k} OR ready_wait > 0 AS cold FROM ranked
