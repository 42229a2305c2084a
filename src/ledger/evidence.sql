-- evidence: marks and measures of one exchange with the file and line they were read from. {row} is the client's
-- attempt, whose sister attempts share request id and source; {others} are the joined rows of other hops.
WITH mine AS (
  SELECT row FROM request WHERE row = {row} OR row IN ({others})
  UNION
  SELECT o.row FROM request o JOIN request a
    ON a.row = {row} AND o.candidate = a.candidate AND o.request_id = a.request_id
    AND (o.source = a.source OR o.hop <> 'client')
),
figure AS (
  SELECT row, line, item, name AS what, t_ns, CAST(NULL AS BIGINT) AS duration_ns, clock, resolution_ns
  FROM mark WHERE row IN (SELECT row FROM mine)
  UNION ALL
  SELECT row, line, item, definition, NULL, duration_ns, '', resolution_ns
  FROM measure WHERE row IN (SELECT row FROM mine)
)
SELECT r.hop, r.attempt, f.what, f.t_ns, f.duration_ns, f.clock, f.resolution_ns, s.name AS file, s.sha256, f.line, f.item
FROM figure f
JOIN request r ON r.row = f.row
JOIN source s ON s.candidate = r.candidate AND s.source = r.source
ORDER BY
  CASE r.hop WHEN 'client' THEN 0 WHEN 'gateway' THEN 1 WHEN 'router' THEN 2 ELSE 3 END NULLS LAST,
  r.attempt NULLS LAST, f.row, f.t_ns NULLS LAST, f.what
