-- over-saturated: requests were offered faster than they were completed, so a backlog grew as long as the run lasted and TTFT is
-- a function of its length: not a property of the platform, and not to be compared.
-- source: queueing: at offered > served the wait never settles. The last answers also outlast the sending, so with only rates
-- stated the run must be 10 s and 30 requests long, and waits for the first token must grow (p99 over 1.5 medians) and fill a
-- fifth of the overrun; a healthy run's overrun is decoding. Where the tool states its schedule delay, a second of it and 5 % settle it.
-- proof: offered {offered} requests/s > achieved {achieved} ({percent} %): over-saturated, TTFT is not in a steady state[; TTFT median {median_s} s, p99 {p99_s} s][; schedule delay median {delay_s} s, p99 {delay_p99_s} s][; sending takes {window_s} s, the run {duration_s} s][; stage {stage}]
WITH rated AS (
  SELECT *, completed / offered AS window_s, duration - completed / offered AS overrun
  FROM cell WHERE hop = 'client' AND offered > 0 AND achieved > 0
)
SELECT candidate, source, line, item, offered, achieved, 100 * achieved / offered AS percent, ttft_median AS median_s, ttft_p99 AS p99_s,
  delay_median AS delay_s, delay_p99 AS delay_p99_s, CASE WHEN duration IS NOT NULL THEN window_s END AS window_s, duration AS duration_s, stage
FROM rated
WHERE (delay_p99 >= 1 AND achieved < offered * 0.95)
  OR (achieved < offered * 0.9 AND completed >= 30 AND window_s >= 10
    AND ttft_p99 >= 1 AND ttft_p99 >= ttft_median * 1.5 AND ttft_p99 >= overrun * 0.2)
