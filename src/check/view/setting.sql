-- setting: facts about runs, each with the run of its source that it belongs to: the one at the same place, else the
-- nth time a key is stated belongs to the nth run.
WITH placed AS (
  SELECT DISTINCT candidate, source, line, item, cell FROM figure
),
numbered AS (
  SELECT r.candidate, r.source, s.hop, r.line, r.item, r.key, r.value,
    ROW_NUMBER() OVER (PARTITION BY r.candidate, r.source, r.key ORDER BY r.line, r.item) AS nth
  FROM run r
  JOIN source s ON s.candidate = r.candidate AND s.source = r.source
)
SELECT n.candidate, n.source, n.hop, n.line, n.item, n.key, n.value, COALESCE(p.cell, n.nth) AS cell
FROM numbered n
LEFT JOIN placed p ON p.candidate = n.candidate AND p.source = n.source AND p.line = n.line AND p.item = n.item
