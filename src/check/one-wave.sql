-- one-wave: no more requests than may run at once: all start together and none follows, so the figures describe one burst.
-- source: a closed loop reaches its steady state only after the first requests have been replaced.
-- proof: {n} requests at a concurrency of {cap} = one wave: all start at once and none follows
SELECT candidate, source, line, item, COALESCE(total, asked) AS n, COALESCE(cap, total, asked) AS cap
FROM cell
WHERE hop = 'client' AND offered IS NULL AND COALESCE(total, asked) >= 2
  AND (cap >= COALESCE(total, asked) OR (cap IS NULL AND unpaced))
