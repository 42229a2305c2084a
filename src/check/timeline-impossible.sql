-- timeline-impossible: so many requests of a source contradict themselves that the rest cannot be trusted either: its clock or
-- the meaning of its fields is wrong. Below that share each is a value-impossible.
-- source: 5 % is what a verdict lets go without evidence (join coverage of 95 %).
-- proof: {broken} of {n} requests contradict themselves, e.g. {what}[: {more_ns} > {less_ns}]
SELECT i.candidate, i.source, MIN(i.line) AS line, min_by(i.item, i.row) AS item, COUNT(DISTINCT i.row) AS broken, MAX(t.n) AS n,
  min_by(i.what, i.row) AS what, min_by(i.more_ns, i.row) AS more_ns, min_by(i.less_ns, i.row) AS less_ns
FROM impossible i
JOIN (SELECT candidate, source, COUNT(*) AS n FROM request GROUP BY candidate, source) t
  ON t.candidate = i.candidate AND t.source = i.source
GROUP BY i.candidate, i.source
HAVING COUNT(DISTINCT i.row) * 20 > MAX(t.n)
