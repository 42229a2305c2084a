-- population: the exchanges a candidate is judged on, each with its buckets, block of time and whether it was slow.
-- Declared warm-up is left out and counted apart. {input}, {output}: bucket cases; {window}: ns of a time window.
SELECT
  e.candidate, e.row, e.ttft_ns, e.kind, e.outcome, e.attempts,
  e.ttft_ns > t.slow_ns AS slow,
  -- Waits without an instant are one block: no interval can rest on their order.
  COALESCE(e.first_send - e.first_send % t.block_ns, 0) AS block, e.first_send - e.first_send % {window} AS time_window,
  {input} AS input, {output} AS output,
  COALESCE(e.model, '') AS model, COALESCE(e.caller, '') AS caller, COALESCE(e.class, '') AS class,
  COALESCE(e.instance, '') AS instance, COALESCE(CAST(e.status AS VARCHAR), '') AS status,
  CASE WHEN e.cold THEN 'cold' WHEN NOT e.cold THEN 'warm' ELSE '' END AS cold,
  e.gateway_row IS NOT NULL AS has_gateway,
  e.kind IN ('whole', 'slot') AS has_engine,
  e.ingress_ns, e.ingress_low, e.ingress_high, e.queue_ns, e.schedule_ns, e.ready_ns, e.model_load_ns, e.prefill_ns,
  e.transport_ns, e.transport_low, e.transport_high, e.unattributed_ns, e.engine_rest_ns
FROM exchange e
JOIN threshold t ON t.candidate = e.candidate
WHERE COALESCE(e.phase, '') <> 'warmup'
