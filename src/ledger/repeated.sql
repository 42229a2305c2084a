-- repeated: client rows that state an attempt once more. With the same times it is the same record, exported twice or
-- in two files: it counts once, the lowest row. With other times in one source the two contradict each other: an id
-- and attempt can stand there once, and again the lowest row is taken.
WITH several AS (
  SELECT candidate, request_id FROM request
  WHERE hop = 'client' AND request_id IS NOT NULL
  GROUP BY candidate, request_id
  HAVING COUNT(*) > 1
),
stated AS (
  SELECT r.row, r.candidate, r.source, r.request_id, r.attempt,
    ROW_NUMBER() OVER (
      PARTITION BY r.candidate, r.request_id, r.attempt, i.send, i.first_token, i.end_ns ORDER BY r.row) AS nth
  FROM request r
  JOIN several o ON o.candidate = r.candidate AND o.request_id = r.request_id
  JOIN instant i ON i.row = r.row
  WHERE r.hop = 'client' AND r.request_id IS NOT NULL AND i.send IS NOT NULL
),
told AS (
  SELECT s.*, ROW_NUMBER() OVER (PARTITION BY candidate, source, request_id, attempt ORDER BY row) AS version
  FROM stated s
  WHERE nth = 1
)
SELECT row, candidate, request_id, true AS same FROM stated WHERE nth > 1
UNION ALL
SELECT row, candidate, request_id, false FROM told WHERE version > 1 AND attempt IS NOT NULL
