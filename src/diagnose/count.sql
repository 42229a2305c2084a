-- count: who is in the population and who is not, per candidate.
SELECT
  e.candidate,
  CAST(SUM(CASE WHEN COALESCE(e.phase, '') = 'warmup' THEN 1 ELSE 0 END) AS BIGINT) AS warmup,
  CAST(SUM(CASE WHEN COALESCE(e.phase, '') <> 'warmup' THEN 1 ELSE 0 END) AS BIGINT) AS exchanges,
  CAST(SUM(CASE WHEN COALESCE(e.phase, '') <> 'warmup' AND e.ttft_ns IS NOT NULL THEN 1 ELSE 0 END) AS BIGINT) AS with_ttft,
  CAST(SUM(CASE WHEN COALESCE(e.phase, '') <> 'warmup' AND e.ttft_ns IS NULL AND e.outcome = 'ok' THEN 1 ELSE 0 END) AS BIGINT) AS no_token,
  CAST(SUM(CASE WHEN COALESCE(e.phase, '') <> 'warmup' AND e.ttft_ns IS NULL AND e.outcome <> 'ok' THEN 1 ELSE 0 END) AS BIGINT) AS failed,
  CAST(SUM(CASE WHEN COALESCE(e.phase, '') <> 'warmup' AND e.ttft_ns IS NULL AND e.unreachable > 0 THEN 1 ELSE 0 END) AS BIGINT) AS unreachable,
  CAST(SUM(CASE WHEN COALESCE(e.phase, '') <> 'warmup' AND e.attempts > 1 THEN 1 ELSE 0 END) AS BIGINT) AS retried,
  CAST(SUM(e.attempts) AS BIGINT) AS attempts,
  (SELECT COUNT(*) FROM request r WHERE r.candidate = e.candidate AND r.hop = 'engine') AS engine_records,
  CAST(SUM(CASE WHEN e.cold THEN 1 ELSE 0 END) AS BIGINT) AS cold,
  CAST(SUM(CASE WHEN e.cold IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS cold_unknown
FROM exchange e
GROUP BY e.candidate
ORDER BY e.candidate
