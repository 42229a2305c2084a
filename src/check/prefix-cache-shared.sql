-- prefix-cache-shared: a later run of a candidate sends prompts that an earlier one sent, and finds them in the prefix cache:
-- its prefill is shorter for that reason alone, so the two are not comparable.
-- source: prefix caches outlive a run; half of the prompts shared, and half of their tokens cached against a tenth before,
-- is taken as more than chance.
-- proof: {shared} of {n} prompts were sent before in another run; of their tokens {later} % come from the prefix cache, {earlier} % in the earlier run
WITH prompt AS (
  SELECT r.candidate, r.source, r.sample_id, MIN(r.line) AS line, MIN(t.send) AS first_send, SUM(r.cached_tokens) AS cached,
    SUM(r.input_tokens) AS tokens
  FROM request r
  JOIN timed t ON t.row = r.row
  WHERE r.sample_id IS NOT NULL AND r.cached_tokens IS NOT NULL AND r.input_tokens > 0
  GROUP BY r.candidate, r.source, r.sample_id
),
run_of AS (
  SELECT candidate, source, COUNT(*) AS n, MIN(first_send) AS begun, MIN(line) AS line FROM prompt GROUP BY candidate, source
)
SELECT r.candidate, r.source, MIN(r.line) AS line, CAST(0 AS BIGINT) AS item, COUNT(*) AS shared, MAX(r.n) AS n,
  CAST(100 * SUM(b.cached) AS DOUBLE) / SUM(b.tokens) AS later, CAST(100 * SUM(a.cached) AS DOUBLE) / SUM(a.tokens) AS earlier
FROM run_of r
JOIN prompt b ON b.candidate = r.candidate AND b.source = r.source
JOIN prompt a ON a.candidate = b.candidate AND a.sample_id = b.sample_id AND a.source <> b.source
JOIN run_of e ON e.candidate = a.candidate AND e.source = a.source AND e.begun < r.begun
GROUP BY r.candidate, r.source, a.source
HAVING COUNT(*) * 2 >= MAX(r.n) AND SUM(b.cached) * 2 >= SUM(b.tokens) AND SUM(a.cached) * 10 < SUM(a.tokens)
