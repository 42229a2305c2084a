-- timed: one row a client's request with what users waited for, clocks untouched. A definition's id is <tool>.<quantity>; one
-- row comes from one tool.
WITH client AS (
  SELECT candidate, source, row, line, item, outcome, phase, streamed, output_tokens FROM request WHERE hop = 'client'
),
instants AS (
  SELECT m.row,
    MAX(CASE WHEN m.name = 'send' THEN m.t_ns END) AS send,
    MAX(CASE WHEN m.name = 'first_token' THEN m.t_ns END) AS first_token,
    MAX(CASE WHEN m.name = 'end' THEN m.t_ns END) AS end_ns,
    MAX(CASE WHEN m.name = 'send' AND m.clock LIKE 'epoch:%' THEN 1 ELSE 0 END) = 1 AS is_epoch
  FROM mark m
  WHERE m.name IN ('send', 'first_token', 'end') AND m.row IN (SELECT row FROM client)
  GROUP BY m.row
),
durations AS (
  SELECT d.row,
    MAX(CASE WHEN d.definition LIKE '%.ttft' THEN d.duration_ns END) AS ttft,
    MAX(CASE WHEN d.definition LIKE '%.ttfo' THEN d.duration_ns END) AS ttfo,
    MAX(CASE WHEN d.definition LIKE '%.latency' OR d.definition LIKE '%.e2e' THEN d.duration_ns END) AS e2e
  FROM measure d
  WHERE d.row IN (SELECT row FROM client)
  GROUP BY d.row
)
SELECT r.candidate, r.source, r.row, r.line, r.item, r.outcome, COALESCE(r.phase, '') = 'warmup' AS is_warmup, r.streamed, r.output_tokens,
  i.send, COALESCE(i.is_epoch, false) AS is_epoch, d.ttft, d.ttfo,
  COALESCE(d.ttft, CASE WHEN COALESCE(c.one_clock, true) THEN i.first_token - i.send END) AS wait_ns,
  COALESCE(d.e2e, CASE WHEN COALESCE(c.one_clock, true) THEN i.end_ns - i.send END) AS whole_ns
FROM client r
LEFT JOIN instants i ON i.row = r.row
LEFT JOIN durations d ON d.row = r.row
LEFT JOIN clocked c ON c.row = r.row
