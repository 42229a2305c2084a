-- cap-hides-wait: the client may keep only so many requests in flight and is at that limit: what is offered beyond it waits in
-- the client, before the clock of TTFT starts, so TTFT looks flat however much is offered (coordinated omission).
-- source: Little's law: in flight = rate * time. The limit is reached where limit / rate is the mean latency (10 % let go).
-- proof: limit of {cap} in flight / {achieved} requests/s = {little} s, and the mean latency is {e2e} s: the client pins requests in flight at {cap}, so TTFT leaves out the wait beyond it[; schedule delay median {delay_s} s, p99 {delay_p99_s} s][; stage {stage}]
SELECT candidate, source, line, item, cap, achieved, cap / achieved AS little, e2e_mean AS e2e, delay_median AS delay_s,
  delay_p99 AS delay_p99_s, stage
FROM cell
WHERE hop = 'client' AND achieved < offered * 0.95 AND ABS(cap / achieved - e2e_mean) <= e2e_mean * 0.1
