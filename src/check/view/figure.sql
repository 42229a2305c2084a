-- figure: stated aggregates in base units (s, 1/s, 1), each with the run of its source that it belongs to (`cell`).
-- Readers that give a run one place have a cell a place; where every figure has a line of its own, the nth figure of
-- a kind belongs to the nth run.
WITH numbered AS (
  SELECT a.candidate, a.source, s.hop, a.line, a.item, a.metric, a.statistic, a.n, a.definition,
    CASE a.unit WHEN 'ms' THEN a.value / 1000.0 WHEN 'us' THEN a.value / 1000000.0 WHEN 'ns' THEN a.value / 1000000000.0
      ELSE a.value END AS value,
    ROW_NUMBER() OVER (PARTITION BY a.candidate, a.source, a.metric, a.statistic, a.definition ORDER BY a.line, a.item) AS nth,
    DENSE_RANK() OVER (PARTITION BY a.candidate, a.source ORDER BY a.line, a.item) AS place
  FROM aggregate a
  JOIN source s ON s.candidate = a.candidate AND s.source = a.source
),
counted AS (
  SELECT candidate, source, MAX(nth) AS runs, MAX(place) AS places FROM numbered GROUP BY candidate, source
)
SELECT n.candidate, n.source, n.hop, n.line, n.item, n.metric, n.statistic, n.n, n.definition, n.value,
  CASE WHEN c.places <= c.runs THEN n.place ELSE n.nth END AS cell
FROM numbered n
JOIN counted c ON c.candidate = n.candidate AND c.source = n.source
