-- clock-jump: one span has its start from one clock and its end from another, and ends before it starts: the clocks differ by at
-- least that much. Durations across the two are void; a span clamped to zero hides the same fault.
-- source: astaxie/TokenHub#103: start from the database's clock, end from the process's, four minutes apart.
-- proof: {n} spans start on clock {start_clock} and end on clock {end_clock}, {skew_ns} before they start: the clocks are at least that far apart, durations across them are void and are not clamped
SELECT candidate, source, MIN(line) AS line, CAST(0 AS BIGINT) AS item, COUNT(*) AS n, start_clock, end_clock, MAX(start_ns - end_ns) AS skew_ns
FROM (SELECT candidate, source, line, COALESCE(start_ns, send) AS start_ns, end_ns, COALESCE(start_clock, clock) AS start_clock, end_clock
  FROM timed WHERE end_ns IS NOT NULL) t
WHERE start_clock <> end_clock AND start_clock LIKE 'epoch:%' AND end_clock LIKE 'epoch:%' AND start_ns > end_ns
GROUP BY candidate, source, start_clock, end_clock
