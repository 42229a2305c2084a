-- cell: sums per block of time, bucket and slow or not: all that the tail contrast needs. Integers only.
SELECT
  candidate, block, input, output, slow,
  COUNT(*) AS n,
  CAST(SUM(ttft_ns) AS BIGINT) AS ttft,
  CAST(SUM(CASE WHEN has_gateway THEN 1 ELSE 0 END) AS BIGINT) AS gateway,
  CAST(SUM(CASE WHEN has_engine THEN 1 ELSE 0 END) AS BIGINT) AS engine,
  CAST(SUM(COALESCE(ingress_ns, 0)) AS BIGINT) AS ingress,
  CAST(SUM(COALESCE(queue_ns, 0)) AS BIGINT) AS queue,
  CAST(SUM(COALESCE(schedule_ns, 0)) AS BIGINT) AS schedule,
  CAST(SUM(COALESCE(ready_ns, 0)) AS BIGINT) AS ready,
  CAST(SUM(COALESCE(model_load_ns, 0)) AS BIGINT) AS model_load,
  CAST(SUM(COALESCE(prefill_ns, 0)) AS BIGINT) AS prefill,
  CAST(SUM(COALESCE(transport_ns, 0)) AS BIGINT) AS transport,
  CAST(SUM(unattributed_ns - engine_rest_ns) AS BIGINT) AS unattributed,
  CAST(SUM(engine_rest_ns) AS BIGINT) AS engine_rest,
  CAST(SUM(CASE WHEN transport_ns IS NOT NULL THEN transport_high - transport_low ELSE 0 END) AS BIGINT) AS spread
FROM population
WHERE ttft_ns IS NOT NULL
GROUP BY candidate, block, input, output, slow
ORDER BY candidate, block, input, output, slow
