-- index: rows tied by the number at the end of their request id to a run whose records carry no ids at all.
-- `vllm bench serve` sends <prefix><index> as X-Request-Id and writes its result in the order of that index, but
-- not the id. Taken only where it is exact: one prefix whose numbers are 0 to n-1, and one run of n records.
WITH bench AS (
  SELECT candidate, source, row, x, item FROM attempt
  WHERE request_id IS NULL AND trace_id IS NULL AND response_id IS NULL AND echo_id IS NULL
),
run AS (
  SELECT candidate, source, COUNT(*) AS n, COUNT(DISTINCT item) AS items, MIN(item) AS low, MAX(item) AS high
  FROM bench GROUP BY candidate, source
),
numbered AS (
  SELECT row, candidate, hop,
    regexp_extract(request_id, '^(.*[^0-9])[0-9]{1,9}$', 1) AS prefix,
    TRY_CAST(regexp_extract(request_id, '([0-9]{1,9})$', 1) AS BIGINT) AS nth
  FROM unlinked WHERE request_id IS NOT NULL
),
series_of AS (
  SELECT candidate, hop, prefix, COUNT(DISTINCT nth) AS n, MIN(nth) AS low, MAX(nth) AS high
  FROM numbered WHERE nth IS NOT NULL GROUP BY candidate, hop, prefix
),
pair AS (
  SELECT r.candidate, r.source, s.hop, MIN(s.prefix) AS prefix
  FROM run r
  JOIN series_of s ON s.candidate = r.candidate AND s.n = r.n AND s.low = 0 AND s.high = r.n - 1
  WHERE r.items = r.n AND r.low = 0 AND r.high = r.n - 1
  GROUP BY r.candidate, r.source, s.hop
  HAVING COUNT(*) = 1
)
SELECT o.row, o.hop, 'index' AS how, MIN(b.row) AS attempt_row, MIN(b.x) <> MAX(b.x) AS ambiguous
FROM pair p
JOIN numbered o ON o.candidate = p.candidate AND o.hop = p.hop AND o.prefix = p.prefix
JOIN bench b ON b.candidate = p.candidate AND b.source = p.source AND b.item = o.nth
GROUP BY o.row, o.hop
