-- retry: exchanges of several attempts: when the first was sent, which attempt got the first token, and how
-- long the failed ones took, back-off included. That wait counts as `ready` where the gateway could not reach
-- any instance, else as `ingress` (DESIGN section 4).
WITH stepped AS (
  SELECT
    a.x, a.row, a.attempt, a.send, a.first_token,
    LEAD(a.send) OVER (PARTITION BY a.x ORDER BY a.attempt, a.row) AS next_send,
    MIN(CASE WHEN a.first_token IS NOT NULL THEN a.attempt END) OVER (PARTITION BY a.x) AS won,
    COALESCE(g.error = 'upstream-unreachable', false) AS unreachable
  FROM attempt a
  LEFT JOIN seen s ON s.attempt_row = a.row
  LEFT JOIN request g ON g.row = s.gateway_row
  WHERE a.retried
)
SELECT
  x,
  MIN(send) AS first_send,
  COUNT(*) AS attempts,
  COALESCE(MIN(CASE WHEN attempt = won THEN row END), MAX(row)) AS won_row,
  CAST(COALESCE(SUM(CASE WHEN attempt < won THEN next_send - send END), 0) AS BIGINT) AS retry_wait,
  CAST(COALESCE(SUM(CASE WHEN attempt < won AND unreachable THEN next_send - send END), 0) AS BIGINT) AS ready_wait,
  CAST(SUM(CASE WHEN unreachable THEN 1 ELSE 0 END) AS BIGINT) AS unreachable
FROM stepped
GROUP BY x
