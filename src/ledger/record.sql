-- record: what the other hops say of a request, one row each with its instants and stated durations.
SELECT
  r.row, r.caller, r.model, r.instance, r.input_tokens, r.output_tokens, r.cached_tokens, r.status,
  i.start_ns, i.launch, i.first_token, i.end_ns, i.step_ns, i.clock,
  d.ttft, d.queue, d.prefill, d.handshake, d.wait, d.connect, d.response, d.whole, d.upstream
FROM request r
LEFT JOIN instant i ON i.row = r.row
LEFT JOIN stated d ON d.row = r.row
WHERE r.hop <> 'client'
