-- clock-jump: a span has its start from one clock and its end from another, and ends before it starts: the clocks differ by at
-- least that much. Durations across the two are void; a span clamped to zero hides the same fault.
-- source: astaxie/TokenHub#103: start from the database's clock, end from the process's, four minutes apart.
-- proof: {n} spans start on clock {start_clock} and end on clock {end_clock}, {skew_ns} before they start: clock skew of at least {minutes} minutes, durations across the two are void[; {clamped} spans are written as 0 long: clamped, not instantaneous]
WITH ends AS (
  SELECT r.candidate, r.source, r.row, r.line, COALESCE(r.request_id, r.trace_id) AS id,
    c.start_ns, c.start_clock, c.end_ns, c.end_clock
  FROM clocked c
  JOIN request r ON r.row = c.row
),
spoken AS (
  SELECT candidate, source, line, kind, t_ns, clock, COALESCE(trace_id, instance, detail) AS id
  FROM event WHERE t_ns IS NOT NULL AND (kind LIKE 'span%-start' OR kind LIKE 'span%-end')
),
pair AS (
  SELECT candidate, source, line, start_ns, start_clock, end_ns, end_clock FROM ends
  UNION ALL
  -- A start and an end in records of their own that share an id.
  SELECT a.candidate, a.source, a.line, a.start_ns, a.start_clock, b.end_ns, b.end_clock
  FROM ends a
  JOIN ends b ON b.candidate = a.candidate AND b.source = a.source AND b.id = a.id AND b.row <> a.row
  WHERE a.end_ns IS NULL AND b.start_ns IS NULL
  UNION ALL
  SELECT a.candidate, a.source, a.line, a.t_ns, a.clock, b.t_ns, b.clock
  FROM spoken a
  JOIN spoken b ON b.candidate = a.candidate AND b.source = a.source AND b.id = a.id AND b.kind = REPLACE(a.kind, '-start', '-end')
  WHERE a.kind LIKE '%-start'
),
jump AS (
  SELECT candidate, source, MIN(line) AS line, COUNT(*) AS n, start_clock, end_clock, MAX(start_ns - end_ns) AS skew_ns
  FROM pair
  WHERE start_clock <> end_clock AND start_clock LIKE 'epoch:%' AND end_clock LIKE 'epoch:%' AND start_ns > end_ns
  GROUP BY candidate, source, start_clock, end_clock
)
SELECT j.candidate, j.source, j.line, CAST(0 AS BIGINT) AS item, j.n, j.start_clock, j.end_clock, j.skew_ns,
  ROUND(j.skew_ns / 60000000000.0, 1) AS minutes,
  (SELECT NULLIF(COUNT(*), 0) FROM pair z WHERE z.candidate = j.candidate AND z.source = j.source AND z.start_ns = z.end_ns) AS clamped
FROM jump j
