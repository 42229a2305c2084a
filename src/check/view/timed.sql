-- timed: one row a request of a hop with its marks and stated durations side by side, clocks untouched. A definition's id is
-- <tool>.<quantity>; one row comes from one tool.
WITH instants AS (
  SELECT row,
    MAX(CASE WHEN name = 'send' THEN t_ns END) AS send,
    MAX(CASE WHEN name = 'headers' THEN t_ns END) AS headers,
    MAX(CASE WHEN name = 'first_token' THEN t_ns END) AS first_token,
    MAX(CASE WHEN name = 'start' THEN t_ns END) AS start_ns,
    MAX(CASE WHEN name = 'end' THEN t_ns END) AS end_ns,
    MAX(CASE WHEN name = 'start' THEN clock END) AS start_clock,
    MAX(CASE WHEN name = 'end' THEN clock END) AS end_clock,
    MIN(clock) AS clock, MAX(clock) AS last_clock
  FROM mark GROUP BY row
),
durations AS (
  SELECT row,
    MAX(CASE WHEN definition LIKE '%.ttft' THEN duration_ns END) AS ttft,
    MAX(CASE WHEN definition LIKE '%.ttfo' THEN duration_ns END) AS ttfo,
    MAX(CASE WHEN definition LIKE '%.queue' THEN duration_ns END) AS queue,
    MAX(CASE WHEN definition LIKE '%.prefill' THEN duration_ns END) AS prefill,
    MAX(CASE WHEN definition LIKE '%.latency' OR definition LIKE '%.e2e' THEN duration_ns END) AS e2e,
    MAX(definition) AS definition
  FROM measure GROUP BY row
)
SELECT r.candidate, r.source, r.row, r.line, r.item, r.hop, r.outcome, COALESCE(r.phase, '') = 'warmup' AS is_warmup,
  r.streamed, i.clock, r.sample_id, r.input_tokens, r.output_tokens, r.cached_tokens,
  i.send, i.headers, i.first_token, i.start_ns, i.end_ns, i.start_clock, i.end_clock, i.clock = i.last_clock AS one_clock,
  d.ttft, d.ttfo, d.queue, d.prefill, d.e2e, d.definition,
  COALESCE(d.ttft, CASE WHEN i.clock = i.last_clock THEN i.first_token - i.send END) AS wait_ns,
  COALESCE(d.e2e, CASE WHEN i.clock = i.last_clock THEN i.end_ns - i.send END) AS whole_ns
FROM request r
LEFT JOIN instants i ON i.row = r.row
LEFT JOIN durations d ON d.row = r.row
