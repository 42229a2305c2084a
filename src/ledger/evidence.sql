-- evidence: marks and measures of the request rows in {rows}, with the file and line they were read from. The rows
-- are named one by one, so that parts of the store without any of them are not read.
WITH figure AS (
  SELECT row, line, item, name AS what, t_ns, CAST(NULL AS BIGINT) AS duration_ns, clock, resolution_ns
  FROM mark WHERE row IN ({rows})
  UNION ALL
  SELECT row, line, item, definition, NULL, duration_ns, '', resolution_ns
  FROM measure WHERE row IN ({rows})
)
SELECT f.row, r.hop, r.attempt, f.what, f.t_ns, f.duration_ns, f.clock, f.resolution_ns, s.name AS file, s.sha256,
  f.line, f.item
FROM figure f
JOIN request r ON r.row = f.row
JOIN source s ON s.candidate = r.candidate AND s.source = r.source
WHERE r.row IN ({rows})
ORDER BY
  CASE r.hop WHEN 'client' THEN 0 WHEN 'gateway' THEN 1 WHEN 'router' THEN 2 ELSE 3 END NULLS LAST,
  r.attempt NULLS LAST, f.row, f.t_ns NULLS LAST, f.what
