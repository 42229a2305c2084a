-- warm-up-counted: cold requests stand in the measured set. By request: the first one sent took longest of all and three times
-- the median of the rest. By summary: a few requests whose gaps between tokens jump while their mean pace is even.
-- source: first use compiles, captures graphs and picks kernels (vllm-project/vllm#16858: the second run is faster). Of 20 requests
-- the first is the slowest by chance once in 20; the factor makes it rarer.
-- proof: {what}: {cold_ns} against a median of {warm_ns}, {ratio} times, over {n} requests: keep the cold run apart from the warm and repeat it on the warm server
WITH sent AS (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY candidate, source ORDER BY send, row) AS nth
  FROM timed
  WHERE send IS NOT NULL AND wait_ns IS NOT NULL AND NOT is_warmup
),
split AS (
  SELECT candidate, source, COUNT(*) AS n,
    MAX(CASE WHEN nth = 1 THEN line END) AS line, MAX(CASE WHEN nth = 1 THEN item END) AS item,
    MAX(CASE WHEN nth = 1 THEN wait_ns END) AS first_ns,
    MAX(CASE WHEN nth > 1 THEN wait_ns END) AS rest_most,
    CAST(quantile_disc(CASE WHEN nth > 1 THEN wait_ns END, 0.5) AS BIGINT) AS rest_median
  FROM sent GROUP BY candidate, source
)
SELECT candidate, source, line, item, 'the first request took longest' AS what, first_ns AS cold_ns, rest_median AS warm_ns,
  first_ns / CAST(rest_median AS DOUBLE) AS ratio, CAST(n AS DOUBLE) AS n
FROM split WHERE n >= 20 AND first_ns > rest_most AND first_ns > 3 * rest_median AND rest_median > 0
UNION ALL
SELECT candidate, source, line, item, 'p99 inter-token latency, stalls as of a cold run',
  CAST(itl_p99 * 1e9 AS BIGINT), CAST(itl_median * 1e9 AS BIGINT), itl_p99 / itl_median, completed
FROM cell
WHERE hop = 'client' AND completed < 30 AND itl_median > 0 AND itl_p99 > 5 * itl_median
