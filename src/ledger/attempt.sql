-- attempt: one row per attempt of a request as its client saw it; x is the exchange it belongs to. Requests of a
-- workload were never sent.
SELECT
  r.row, COALESCE(m.x, r.row) AS x, m.x IS NOT NULL AS retried, COALESCE(r.attempt, 0) AS attempt,
  r.candidate, r.source, r.line, r.item, r.request_id, r.trace_id, r.span_id, r.response_id, r.echo_id,
  r.caller, r.model, r.class, r.phase, r.instance, r.input_tokens, r.output_tokens, r.cached_tokens,
  r.status, r.outcome, i.scheduled, i.send, i.headers, i.first_token, i.end_ns, i.clock
FROM request r
LEFT JOIN retried m
  ON m.candidate = r.candidate AND m.source = r.source AND m.request_id = r.request_id
LEFT JOIN instant i ON i.row = r.row
WHERE r.hop = 'client' AND COALESCE(r.phase, '') <> 'workload' AND r.row NOT IN (SELECT row FROM repeated)
