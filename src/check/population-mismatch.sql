-- population-mismatch: client and server count different requests over what is called the same run or stage: the windows
-- differ or others use the service, so the server's figures are not those of the client's requests.
-- source: inference-perf's stage files: Prometheus is scraped over a wider window than the stage. 5 % may be a request at the edge.
-- Scrapes are held against a client's requests only where they frame them, within a minute at each end.
-- proof: the server counts {server} requests, the client completed {client}[ (stage {stage})]: ratio {ratio}, the windows or the callers differ
WITH counter AS (
  SELECT s.candidate, f.format, s.labels, MIN(s.t_ns) AS t0, MAX(s.t_ns) AS t1,
    max_by(s.value, s.t_ns) - min_by(s.value, s.t_ns) AS growth, max_by(s.source, s.t_ns) AS source, max_by(s.line, s.t_ns) AS line
  FROM series s
  JOIN source f ON f.candidate = s.candidate AND f.source = s.source
  WHERE s.metric LIKE '%request_success_total' AND s.labels NOT LIKE '%abort%' AND s.clock LIKE 'epoch:%'
  GROUP BY s.candidate, f.format, s.metric, s.labels
),
-- The same counters may be held as scrapes and as the answer of a query.
server AS (
  SELECT candidate, format, MIN(t0) AS t0, MAX(t1) AS t1, SUM(growth) AS n, MAX(source) AS source, MAX(line) AS line
  FROM counter GROUP BY candidate, format
),
client AS (
  SELECT candidate, MIN(send) AS t0, MAX(send + whole_ns) AS t1, CAST(SUM(CASE WHEN outcome = 'ok' THEN 1 ELSE 0 END) AS DOUBLE) AS n, COUNT(DISTINCT source) AS sources
  FROM timed WHERE is_epoch GROUP BY candidate
)
SELECT e.candidate, e.source, e.line, e.item, e.completed AS server, c.completed AS client, e.stage, e.completed / c.completed AS ratio
FROM cell e
JOIN cell c ON c.candidate = e.candidate AND c.hop = 'client' AND COALESCE(c.stage, '') = COALESCE(e.stage, '')
WHERE e.hop = 'engine' AND c.completed > 0 AND e.completed IS NOT NULL AND ABS(e.completed / c.completed - 1) > 0.05
  AND (e.stage IS NOT NULL OR 2 = (SELECT COUNT(*) FROM cell o WHERE o.candidate = e.candidate AND o.completed IS NOT NULL))
UNION ALL
SELECT s.candidate, s.source, s.line, CAST(0 AS BIGINT), s.n, c.n, NULL, s.n / c.n
FROM server s
JOIN client c ON c.candidate = s.candidate AND c.sources = 1
WHERE c.n >= 20 AND s.t0 <= c.t0 AND s.t1 >= c.t1 AND s.t0 >= c.t0 - 60000000000 AND s.t1 <= c.t1 + 60000000000
  AND s.n > 0 AND ABS(s.n / c.n - 1) > 0.05
