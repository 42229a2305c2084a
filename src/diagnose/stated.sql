-- stated: what each source calls TTFT, one row a definition: never in one column, never averaged together.
SELECT m.candidate, m.definition, COUNT(*) AS n,
  CAST(quantile_disc(m.duration_ns, 0.5) AS BIGINT) AS p50, CAST(quantile_disc(m.duration_ns, 0.95) AS BIGINT) AS p95
FROM measure m
WHERE m.definition LIKE '%.ttft'
  AND NOT EXISTS (SELECT 1 FROM void v WHERE v.candidate = m.candidate AND v.source = m.source)
  -- a record exported twice counts once: only rows that the ledger took
  AND (m.row IN (SELECT row FROM exchange) OR m.row IN (SELECT engine_row FROM exchange))
GROUP BY m.candidate, m.definition
ORDER BY m.candidate, m.definition
