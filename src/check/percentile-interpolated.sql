-- percentile-interpolated: median, p90 and p99 of a server's metric lie on one straight line: they were interpolated inside a
-- single histogram bucket and say where the bucket lies, not where the requests do. The mean, from the exact sum, is what is left.
-- source: histogram_quantile of Prometheus assumes values spread evenly inside a bucket; measured percentiles of 30 requests or
-- more do not agree to 0.1 %. Clients have no buckets.
-- proof: {metric} median {median}, p90 {p90}, p99 {p99} lie on one straight line ({slope} a percent): interpolated inside one histogram bucket[; the mean is {mean}][; so do those of {more} other metrics][; stage {stage}]
WITH summary AS (
  SELECT candidate, source, cell, metric, definition, MIN(line) AS line, MIN(item) AS item,
    MAX(CASE WHEN statistic = 'mean' THEN value END) AS mean, MAX(CASE WHEN statistic IN ('median', 'p50') THEN value END) AS median,
    MAX(CASE WHEN statistic = 'p90' THEN value END) AS p90, MAX(CASE WHEN statistic = 'p99' THEN value END) AS p99
  FROM figure WHERE hop <> 'client'
  GROUP BY candidate, source, cell, metric, definition
),
straight AS (
  SELECT s.*, c.stage, (s.p90 - s.median) / 40 AS slope,
    CASE s.metric WHEN 'ttft' THEN '0' WHEN 'e2e' THEN '1' ELSE '2' END || s.metric || s.definition AS rank
  FROM summary s
  JOIN cell c ON c.candidate = s.candidate AND c.source = s.source AND c.cell = s.cell
  WHERE COALESCE(c.completed, 30) >= 30 AND s.p90 > s.median * 1.01 AND s.p99 > s.p90
    AND ABS((s.p99 - s.p90) / 9 - (s.p90 - s.median) / 40) < 0.001 * (s.p90 - s.median) / 40
)
SELECT candidate, source, min_by(line, rank) AS line, min_by(item, rank) AS item, min_by(metric, rank) AS metric,
  min_by(median, rank) AS median, min_by(p90, rank) AS p90, min_by(p99, rank) AS p99, min_by(mean, rank) AS mean,
  min_by(slope, rank) AS slope, NULLIF(COUNT(DISTINCT metric) - 1, 0) AS more, MAX(stage) AS stage
FROM straight
GROUP BY candidate, source, cell
