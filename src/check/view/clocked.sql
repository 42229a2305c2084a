-- clocked: the clocks of a request's marks, only in sources that hold more than one clock: elsewhere there is one.
WITH mixed AS (
  SELECT candidate, source FROM (SELECT DISTINCT candidate, source, clock FROM mark) c
  GROUP BY candidate, source HAVING COUNT(*) > 1
)
SELECT m.row, MIN(m.clock) = MAX(m.clock) AS one_clock,
  MAX(CASE WHEN m.name = 'start' THEN m.t_ns END) AS start_ns, MAX(CASE WHEN m.name = 'start' THEN m.clock END) AS start_clock,
  MAX(CASE WHEN m.name = 'end' THEN m.t_ns END) AS end_ns, MAX(CASE WHEN m.name = 'end' THEN m.clock END) AS end_clock
FROM mark m
JOIN mixed x ON x.candidate = m.candidate AND x.source = m.source
GROUP BY m.row
