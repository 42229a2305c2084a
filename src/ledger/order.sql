-- order: what causality allows between two clocks. Instant a cannot be after instant b, so on their own clocks
-- offset(b) - offset(a) <= t_b - t_a; the tightest exchange decides. `slack` is the step of coarse clocks.
WITH pair AS (
  -- the request leaves the client before the gateway or the engine has it
  SELECT candidate, client_clock AS a, gateway_clock AS b, gateway_start - send + 2 * gateway_step AS gap
  FROM joined WHERE gateway_start IS NOT NULL AND send IS NOT NULL
  UNION ALL
  SELECT candidate, client_clock, engine_clock, engine_start - send
  FROM joined WHERE engine_start IS NOT NULL AND send IS NOT NULL
  UNION ALL
  SELECT candidate, client_clock, engine_clock, engine_launch - send
  FROM joined WHERE engine_launch IS NOT NULL AND send IS NOT NULL
  UNION ALL
  SELECT candidate, gateway_clock, engine_clock, engine_start - gateway_start + 2 * gateway_step
  FROM joined WHERE engine_start IS NOT NULL AND gateway_start IS NOT NULL
  UNION ALL
  -- the first token leaves the engine before the client has it
  SELECT candidate, engine_clock, client_clock, first_token - engine_first
  FROM joined WHERE engine_first IS NOT NULL AND first_token IS NOT NULL
)
SELECT candidate, a, b, MIN(gap) AS gap, COUNT(*) AS n
FROM pair
WHERE a <> b
GROUP BY candidate, a, b
ORDER BY candidate, a, b
