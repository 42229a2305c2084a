-- summary-contradiction: statistics of one summary that no set of values can have at once.
-- source: percentiles rise; |mean - median| <= standard deviation; at least 50, 10 and 1 % of the values reach the median, p90
-- and p99, and the rest is not below the minimum. 1 % is let go for rounding.
-- proof: {metric}: {what}: {left} > {right}
WITH summary AS (
  SELECT candidate, source, cell, metric, definition, MIN(line) AS line, MIN(item) AS item,
    MAX(CASE WHEN statistic = 'mean' THEN value END) AS mean, MAX(CASE WHEN statistic IN ('median', 'p50') THEN value END) AS median,
    MAX(CASE WHEN statistic = 'std' THEN value END) AS std, MAX(CASE WHEN statistic = 'min' THEN value END) AS low,
    MAX(CASE WHEN statistic = 'max' THEN value END) AS high, MAX(CASE WHEN statistic = 'p90' THEN value END) AS p90,
    MAX(CASE WHEN statistic = 'p99' THEN value END) AS p99
  FROM figure GROUP BY candidate, source, cell, metric, definition
)
SELECT candidate, source, line, item, metric, 'median above p90' AS what, median AS left, p90 AS right FROM summary WHERE median > p90 * 1.01
UNION ALL
SELECT candidate, source, line, item, metric, 'p90 above p99', p90, p99 FROM summary WHERE p90 > p99 * 1.01
UNION ALL
SELECT candidate, source, line, item, metric, 'p99 above the maximum', p99, high FROM summary WHERE p99 > high * 1.01
UNION ALL
SELECT candidate, source, line, item, metric, 'minimum above the median', low, median FROM summary WHERE low > median * 1.01 AND median >= 0
UNION ALL
SELECT candidate, source, line, item, metric, 'mean above the maximum', mean, high FROM summary WHERE mean > high * 1.01 AND high >= 0
UNION ALL
SELECT candidate, source, line, item, metric, 'median and mean further apart than the standard deviation', ABS(mean - median), std
FROM summary WHERE std >= 0 AND ABS(mean - median) > std * 1.01 + 0.01 * ABS(mean)
UNION ALL
SELECT candidate, source, line, item, metric, 'the percentiles alone make a larger mean than the one stated',
  0.5 * COALESCE(low, 0) + 0.4 * median + 0.09 * COALESCE(p90, median) + 0.01 * COALESCE(p99, p90, median), mean
FROM summary
WHERE COALESCE(low, 0) >= 0 AND median > 0
  AND 0.5 * COALESCE(low, 0) + 0.4 * median + 0.09 * COALESCE(p90, median) + 0.01 * COALESCE(p99, p90, median) > mean * 1.01
