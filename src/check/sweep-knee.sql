-- sweep-knee: over the runs of a sweep, the offered rate from which on the achieved rate no longer follows.
-- source: 95 % of the offered rate counts as following it.
-- proof: knee between {below} and {above} requests/s offered; beyond it {least} to {most} are achieved
WITH rated AS (
  SELECT * FROM cell WHERE hop = 'client' AND offered > 0 AND achieved > 0
),
followed AS (
  SELECT candidate, MAX(offered) AS below FROM rated WHERE achieved >= offered * 0.95 GROUP BY candidate
),
beyond AS (
  SELECT r.candidate, MAX(f.below) AS below, MIN(r.offered) AS above, MIN(r.achieved) AS least, MAX(r.achieved) AS most,
    min_by(r.source, r.offered) AS source, min_by(r.line, r.offered) AS line, min_by(r.item, r.offered) AS item, COUNT(*) AS n
  FROM rated r
  JOIN followed f ON f.candidate = r.candidate AND r.offered > f.below
  GROUP BY r.candidate
)
SELECT candidate, source, line, item, below, above, least, most FROM beyond WHERE n >= 2
