-- histogram-inconsistent: a latency histogram that contradicts itself: a cumulative bucket smaller than one below it, a last
-- bucket that is not the count, or a sum below what the buckets' lower bounds add up to.
-- source: Prometheus exposition format: buckets are cumulative and le="+Inf" equals the count. A scrape is not one instant, so
-- 1 % (and 5 observations) may differ.
-- proof: {family}: {what}: {left} < {right}
WITH bucket AS (
  SELECT s.candidate, s.source, s.line, s.t_ns, s.value, REPLACE(s.metric, '_bucket', '') AS family,
    LTRIM(regexp_replace(s.labels, '(^|,)le="[^"]*"', ''), ',') AS series,
    CASE regexp_extract(s.labels, '(^|,)le="([^"]*)"', 2) WHEN '+Inf' THEN 1e308
      ELSE TRY_CAST(regexp_extract(s.labels, '(^|,)le="([^"]*)"', 2) AS DOUBLE) END AS bound
  FROM series s
  JOIN (SELECT candidate, metric, MAX(t_ns) AS t_ns FROM series WHERE metric LIKE '%seconds_bucket' GROUP BY candidate, metric) m
    ON m.candidate = s.candidate AND m.metric = s.metric AND m.t_ns = s.t_ns
),
stepped AS (
  SELECT *, LAG(value) OVER (PARTITION BY candidate, source, family, series ORDER BY bound, line) AS below,
    COALESCE(LAG(bound) OVER (PARTITION BY candidate, source, family, series ORDER BY bound, line), 0) AS low
  FROM bucket WHERE bound IS NOT NULL
),
whole AS (
  SELECT candidate, source, t_ns, family, series, MIN(line) AS line, MAX(value) AS n,
    MAX(CASE WHEN bound = 1e308 THEN value END) AS last,
    SUM((value - COALESCE(below, 0)) * low) AS least_sum
  FROM stepped GROUP BY candidate, source, t_ns, family, series
),
stated AS (
  SELECT w.*,
    (SELECT MAX(s.value) FROM series s WHERE s.candidate = w.candidate AND s.source = w.source AND s.t_ns = w.t_ns
      AND s.metric = w.family || '_count' AND s.labels = w.series) AS count_stated,
    (SELECT MAX(s.value) FROM series s WHERE s.candidate = w.candidate AND s.source = w.source AND s.t_ns = w.t_ns
      AND s.metric = w.family || '_sum' AND s.labels = w.series) AS sum_stated
  FROM whole w
)
SELECT candidate, source, MIN(line) AS line, CAST(0 AS BIGINT) AS item, family, 'a cumulative bucket falls' AS what, MIN(value) AS left, MAX(below) AS right
FROM stepped WHERE value < below GROUP BY candidate, source, family
UNION ALL
SELECT candidate, source, line, CAST(0 AS BIGINT), family, 'the last bucket and the count differ', LEAST(last, count_stated), GREATEST(last, count_stated)
FROM stated WHERE ABS(last - count_stated) > GREATEST(5, count_stated * 0.01)
UNION ALL
SELECT candidate, source, line, CAST(0 AS BIGINT), family, 'the sum is less than the buckets hold at least', sum_stated, least_sum
FROM stated WHERE sum_stated < least_sum * 0.99
