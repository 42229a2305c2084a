-- percentile-too-few: below 1 / (1 - p) values, no value lies beyond the percentile: it is the largest, or a point just below.
-- source: order statistics; the rank of a percentile is n * p.
-- proof: p{percentile} of {n} requests: at least {need} are needed for one to lie beyond it, so it is the slowest request
WITH tailed AS (
  SELECT f.candidate, f.source, f.cell, f.line, f.item, TRY_CAST(SUBSTR(f.statistic, 2) AS DOUBLE) AS p, COALESCE(f.n, c.completed) AS n
  FROM figure f
  JOIN cell c ON c.candidate = f.candidate AND c.source = f.source AND c.cell = f.cell
  WHERE f.statistic LIKE 'p%' AND f.metric IN ('ttft', 'ttfo', 'tpot', 'e2e', 'schedule_delay')
)
SELECT candidate, source, MIN(line) AS line, MIN(item) AS item, MIN(p) AS percentile, MIN(n) AS n, CEIL(100 / (100 - MIN(p)) - 0.000001) AS need
FROM tailed
WHERE p > 50 AND p < 100 AND n > 0 AND n * (100 - p) < 99.999999
GROUP BY candidate, source, cell
