-- value-impossible: single requests whose own figures contradict each other; the source as a whole stands.
-- source: order of a request's instants; a part is not longer than its whole.
-- proof: {broken} of {n} requests contradict themselves, e.g. {what}[: {more_ns} > {less_ns}]
SELECT i.candidate, i.source, MIN(i.line) AS line, min_by(i.item, i.row) AS item, COUNT(DISTINCT i.row) AS broken, MAX(t.n) AS n,
  min_by(i.what, i.row) AS what, min_by(i.more_ns, i.row) AS more_ns, min_by(i.less_ns, i.row) AS less_ns
FROM impossible i
JOIN (SELECT candidate, source, COUNT(*) AS n FROM request GROUP BY candidate, source) t
  ON t.candidate = i.candidate AND t.source = i.source
GROUP BY i.candidate, i.source
HAVING COUNT(DISTINCT i.row) * 20 <= MAX(t.n)
