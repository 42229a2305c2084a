-- over-saturated: requests were offered faster than they were completed, so a backlog grew as long as the run lasted and TTFT is
-- a function of its length: not a property of the platform, and not to be compared.
-- source: queueing: at offered > served the wait never settles. The last answers also outlast the sending, so with only rates
-- stated the run must be 10 s and 30 requests long, and waits for the first token must grow (p99 over 1.5 medians) and fill a
-- fifth of the overrun; a healthy run's overrun is decoding. Where the tool states its schedule delay, a second of it and 5 % settle
-- it. Of single requests the backlog itself is counted: at the last send it holds a fifth of all, 1.5 times as many as half way, a
-- fifth is answered, and the first token of the last quarter comes a second late and twice as late as that of the first.
-- proof: offered {offered} requests/s > achieved {achieved} ({percent} %): over-saturated, TTFT is not in a steady state[; TTFT median {median_s} s, p99 {p99_s} s][; schedule delay median {delay_s} s, p99 {delay_p99_s} s][; sending takes {window_s} s, the run {duration_s} s][; stage {stage}][; {half} requests in flight half way, {full} of {n} at the last send][; TTFT median {first_ns} in the first quarter, {last_ns} in the last]
WITH rated AS (
  SELECT *, completed / offered AS window_s, duration - completed / offered AS overrun
  FROM cell WHERE hop = 'client' AND offered > 0 AND achieved > 0
),
sent AS (
  SELECT candidate, source, line, send, send + whole_ns AS gone, wait_ns FROM timed
  WHERE send IS NOT NULL AND whole_ns IS NOT NULL AND NOT is_warmup
),
span AS (
  SELECT candidate, source, MIN(line) AS line, COUNT(*) AS n, MIN(send) AS begun, MAX(send) AS last, MAX(send) - MIN(send) AS window_ns
  FROM sent GROUP BY candidate, source HAVING COUNT(*) >= 30
),
backlog AS (
  SELECT s.candidate, s.source, MAX(p.line) AS line, MAX(p.n) AS n, MAX(p.window_ns) AS window_ns,
    CAST(SUM(CASE WHEN s.send <= p.begun + p.window_ns / 2 AND s.gone > p.begun + p.window_ns / 2 THEN 1 ELSE 0 END) AS BIGINT) AS half,
    CAST(SUM(CASE WHEN s.gone > p.last THEN 1 ELSE 0 END) AS BIGINT) AS "full",
    CAST(quantile_disc(CASE WHEN s.send <= p.begun + p.window_ns / 4 THEN s.wait_ns END, 0.5) AS BIGINT) AS first_ns,
    CAST(quantile_disc(CASE WHEN s.send >= p.last - p.window_ns / 4 THEN s.wait_ns END, 0.5) AS BIGINT) AS last_ns
  FROM sent s
  JOIN span p ON p.candidate = s.candidate AND p.source = s.source AND p.window_ns >= 10000000000
  GROUP BY s.candidate, s.source
)
SELECT candidate, source, line, item, offered, achieved, 100 * achieved / offered AS percent, ttft_median AS median_s, ttft_p99 AS p99_s,
  delay_median AS delay_s, delay_p99 AS delay_p99_s, CASE WHEN duration IS NOT NULL THEN window_s END AS window_s, duration AS duration_s,
  stage, CAST(NULL AS BIGINT) AS half, CAST(NULL AS BIGINT) AS "full", CAST(NULL AS BIGINT) AS n, CAST(NULL AS BIGINT) AS first_ns,
  CAST(NULL AS BIGINT) AS last_ns
FROM rated
WHERE (delay_p99 >= 1 AND achieved < offered * 0.95)
  OR (achieved < offered * 0.9 AND completed >= 30 AND window_s >= 10
    AND ttft_p99 >= 1 AND ttft_p99 >= ttft_median * 1.5 AND ttft_p99 >= overrun * 0.2)
UNION ALL
SELECT candidate, source, line, CAST(0 AS BIGINT), n / (window_ns / 1e9), (n - "full") / (window_ns / 1e9), 100.0 * (n - "full") / n,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, half, "full", n, first_ns, last_ns
FROM backlog
WHERE "full" * 5 >= n AND (n - "full") * 5 >= n AND "full" >= half * 1.5 AND last_ns >= 1000000000 AND last_ns >= first_ns * 2
