-- ttft-implausible: a mean time to first token below a millisecond: less than one step of the scheduler, let alone a prefill.
-- source: the lowest bucket of vLLM's own histogram is 1 ms; vllm-project/vllm#8115 shows the defect.
-- proof: {n} requests in {sum_s} s: mean TTFT {mean_ms} ms[; {lowest} of {n} observations ({share} %) lie in the lowest bucket, up to {bound_s} s][; {success} requests were counted as successful]
WITH ttft AS (
  SELECT candidate, source, line, item, metric, labels, t_ns, value,
    REPLACE(REPLACE(REPLACE(metric, '_sum', ''), '_count', ''), '_bucket', '') AS family,
    LTRIM(regexp_replace(labels, '(^|,)le="[^"]*"', ''), ',') AS series,
    CASE regexp_extract(labels, '(^|,)le="([^"]*)"', 2) WHEN '' THEN NULL WHEN '+Inf' THEN 1e308
      ELSE TRY_CAST(regexp_extract(labels, '(^|,)le="([^"]*)"', 2) AS DOUBLE) END AS bound
  FROM series
  WHERE metric LIKE '%time_to_first_token_seconds%'
),
last AS (
  SELECT t.* FROM ttft t
  JOIN (SELECT candidate, MAX(t_ns) AS t_ns FROM ttft GROUP BY candidate) m ON m.candidate = t.candidate AND m.t_ns = t.t_ns
),
histogram AS (
  SELECT candidate, source, family, series,
    MIN(line) AS line, MIN(bound) AS bound_s,
    MAX(CASE WHEN metric = family || '_sum' THEN value END) AS sum_s,
    MAX(CASE WHEN metric = family || '_count' THEN value END) AS n,
    min_by(value, bound) AS lowest
  FROM last GROUP BY candidate, source, family, series
),
success AS (
  SELECT s.candidate, s.source, SUM(s.value) AS n FROM series s
  JOIN (SELECT DISTINCT candidate, source, t_ns FROM last) l ON l.candidate = s.candidate AND l.source = s.source AND l.t_ns = s.t_ns
  WHERE s.metric LIKE '%request_success_total'
  GROUP BY s.candidate, s.source
)
SELECT h.candidate, h.source, h.line, CAST(0 AS BIGINT) AS item, h.n, h.sum_s, h.sum_s / h.n * 1000 AS mean_ms, h.lowest, h.bound_s,
  100 * h.lowest / h.n AS share, s.n AS success
FROM histogram h
LEFT JOIN success s ON s.candidate = h.candidate AND s.source = h.source
WHERE h.n > 0 AND h.sum_s < h.n * 0.001
UNION ALL
SELECT f.candidate, f.source, f.line, f.item, COALESCE(f.n, c.completed), f.value * COALESCE(f.n, c.completed), f.value * 1000,
  NULL, NULL, NULL, NULL
FROM figure f
JOIN cell c ON c.candidate = f.candidate AND c.source = f.source AND c.cell = f.cell
WHERE f.metric = 'ttft' AND f.statistic = 'mean' AND f.value < 0.001 AND COALESCE(f.n, c.completed) > 0
