-- finding: the findings of all sources by code, each with how many and the first place, in the order of file and line.
WITH placed AS (
  SELECT f.code, f.candidate, s.name AS file, f.line, f.item, f.detail,
    ROW_NUMBER() OVER (PARTITION BY f.code ORDER BY f.candidate, s.name, f.source, f.line, f.item, f.detail) AS rank,
    COUNT(*) OVER (PARTITION BY f.code) AS n
  FROM finding f
  JOIN source s ON s.candidate = f.candidate AND s.source = f.source
)
SELECT code, candidate, file, line, item, detail, CAST(n AS BIGINT) AS n
FROM placed
WHERE rank = 1
ORDER BY code
