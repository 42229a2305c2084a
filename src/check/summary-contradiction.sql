-- summary-contradiction: statistics of one summary that no set of values can have at once.
-- source: percentiles rise; |mean - median| <= standard deviation; at least 50, 10 and 1 % of the values reach the median, p90
-- and p99, and the rest is not below the minimum. 1 % is let go for rounding.
-- proof: {metric}: {what}: {left} > {right}[; contradictions in {more} other metrics of the summary]
WITH summary AS (
  SELECT candidate, source, cell, metric, definition, MIN(line) AS line, MIN(item) AS item,
    MAX(CASE WHEN statistic = 'mean' THEN value END) AS mean, MAX(CASE WHEN statistic IN ('median', 'p50') THEN value END) AS median,
    MAX(CASE WHEN statistic = 'std' THEN value END) AS std, MAX(CASE WHEN statistic = 'min' THEN value END) AS low,
    MAX(CASE WHEN statistic = 'max' THEN value END) AS high, MAX(CASE WHEN statistic = 'p90' THEN value END) AS p90,
    MAX(CASE WHEN statistic = 'p99' THEN value END) AS p99
  FROM figure GROUP BY candidate, source, cell, metric, definition
),
bounded AS (
  SELECT *, 0.5 * COALESCE(low, 0) + 0.4 * median + 0.09 * COALESCE(p90, median) + 0.01 * COALESCE(p99, p90, median) AS least_mean
  FROM summary
),
contradiction AS (
  SELECT *, 'median above p90' AS what, median AS a, p90 AS b FROM bounded WHERE median > p90 * 1.01
  UNION ALL
  SELECT *, 'p90 above p99', p90, p99 FROM bounded WHERE p90 > p99 * 1.01
  UNION ALL
  SELECT *, 'p99 above the maximum', p99, high FROM bounded WHERE p99 > high * 1.01
  UNION ALL
  SELECT *, 'minimum above the median', low, median FROM bounded WHERE low > median * 1.01 AND median >= 0
  UNION ALL
  SELECT *, 'mean above the maximum', mean, high FROM bounded WHERE mean > high * 1.01 AND high >= 0
  UNION ALL
  SELECT *, 'median and mean further apart than the standard deviation', ABS(mean - median), std
  FROM bounded WHERE std >= 0 AND ABS(mean - median) > std * 1.01 + 0.01 * ABS(mean)
  UNION ALL
  SELECT *, 'the percentiles alone make a larger mean than the one stated', least_mean, mean
  FROM bounded WHERE COALESCE(low, 0) >= 0 AND median > 0 AND least_mean > mean * 1.01
),
ranked AS (
  -- The figure that decides comes first.
  SELECT *, CASE metric WHEN 'ttft' THEN '0' WHEN 'e2e' THEN '1' ELSE '2' END || metric || definition || what AS rank FROM contradiction
)
SELECT candidate, source, min_by(line, rank) AS line, min_by(item, rank) AS item, min_by(metric, rank) AS metric,
  min_by(what, rank) AS what, min_by(a, rank) AS left, min_by(b, rank) AS right, NULLIF(COUNT(DISTINCT metric) - 1, 0) AS more
FROM ranked
GROUP BY candidate, source, cell
