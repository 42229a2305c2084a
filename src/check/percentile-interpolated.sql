-- percentile-interpolated: median, p90 and p99 lie on one straight line: they were interpolated inside a single histogram bucket
-- and say where the bucket lies, not where the requests do. The mean, from the exact sum, is the only figure left.
-- source: histogram_quantile of Prometheus assumes values spread evenly inside a bucket; measured percentiles do not agree to 0.1 %.
-- proof: {metric} median {median}, p90 {p90}, p99 {p99} lie on one straight line ({slope} a percent): interpolated inside one histogram bucket[; the mean is {mean}]
WITH summary AS (
  SELECT candidate, source, cell, metric, definition, MIN(line) AS line, MIN(item) AS item,
    MAX(CASE WHEN statistic = 'mean' THEN value END) AS mean, MAX(CASE WHEN statistic IN ('median', 'p50') THEN value END) AS median,
    MAX(CASE WHEN statistic = 'p90' THEN value END) AS p90, MAX(CASE WHEN statistic = 'p99' THEN value END) AS p99
  FROM figure GROUP BY candidate, source, cell, metric, definition
)
SELECT candidate, source, line, item, metric, median, p90, p99, mean, (p90 - median) / 40 AS slope
FROM summary
WHERE p90 > median * 1.01 AND p99 > p90 AND ABS((p99 - p90) / 9 - (p90 - median) / 40) < 0.001 * (p90 - median) / 40
