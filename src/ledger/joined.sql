-- joined: one row per exchange with everything its hops recorded, clocks untouched.
SELECT
  a.row, a.candidate, a.source, a.line, a.item,
  COALESCE(a.request_id, a.response_id, a.source || ':' || CAST(a.line AS VARCHAR) || '#' || CAST(a.item AS VARCHAR)) AS exchange,
  a.request_id, a.trace_id,
  COALESCE(a.caller, g.caller) AS caller, COALESCE(a.model, e.model) AS model, a.class, a.phase,
  COALESCE(e.instance, g.instance, a.instance) AS instance,
  COALESCE(a.input_tokens, e.input_tokens) AS input_tokens,
  COALESCE(a.output_tokens, e.output_tokens) AS output_tokens,
  COALESCE(a.cached_tokens, e.cached_tokens) AS cached_tokens,
  COALESCE(a.status, g.status) AS status, a.outcome,
  COALESCE(t.attempts, 1) AS attempts, COALESCE(t.unreachable, 0) AS unreachable,
  COALESCE(t.retry_wait, 0) AS retry_wait, COALESCE(t.ready_wait, 0) AS ready_wait,
  a.scheduled, COALESCE(t.first_send, a.send) AS first_send, a.send, a.headers, a.first_token, a.end_ns,
  a.clock AS client_clock, c.prefill AS echo_prefill,
  -- A client that keeps no instants, only how long it waited, has a TTFT all the same.
  c.ttft AS stated_ttft,
  s.gateway_row, g.start_ns AS gateway_start, g.end_ns AS gateway_end, g.step_ns AS gateway_step,
  g.clock AS gateway_clock,
  -- A gateway that states none of its waits has an unknown one, not one of zero.
  CASE WHEN COALESCE(g.handshake, g.wait, g.connect) IS NOT NULL
    THEN COALESCE(g.handshake, 0) + COALESCE(g.wait, 0) + COALESCE(g.connect, 0) END AS gateway_wait,
  -- A proxy rounds both figures by itself, so the inner one can come out a step longer than the outer.
  g.response AS gateway_response,
  CASE WHEN g.whole < g.upstream THEN 0 ELSE g.whole - g.upstream END AS gateway_around,
  s.engine_row, e.start_ns AS engine_start, e.first_token AS engine_first, e.launch AS engine_launch,
  e.end_ns AS engine_end, e.clock AS engine_clock,
  e.ttft AS engine_ttft, e.queue AS engine_queue, e.prefill AS engine_prefill
FROM attempt a
LEFT JOIN retry t ON t.x = a.x
LEFT JOIN stated c ON c.row = a.row
LEFT JOIN seen s ON s.attempt_row = a.row
LEFT JOIN record g ON g.row = s.gateway_row
LEFT JOIN record e ON e.row = s.engine_row
WHERE t.x IS NULL OR a.row = t.won_row
