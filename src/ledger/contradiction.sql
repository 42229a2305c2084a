-- contradiction: what the join and the nesting could not reconcile, with the figures that show it.
SELECT 'nested-contradiction' AS code, candidate,
  CAST(COUNT(*) AS VARCHAR) || ' exchanges whose engine states a longer TTFT than their client waited, e.g. ' || MIN(exchange) AS detail
FROM staged WHERE kind = 'contradiction' GROUP BY candidate
UNION ALL
SELECT 'id-ambiguous', r.candidate,
  CAST(COUNT(*) AS VARCHAR) || ' ' || l.hop || ' rows fit several exchanges by ' || l.how || ', e.g. ' || MIN(COALESCE(r.request_id, r.trace_id, r.response_id, ''))
FROM link l JOIN request r ON r.row = l.row WHERE l.ambiguous GROUP BY r.candidate, l.hop, l.how
UNION ALL
SELECT 'duplicate-record', r.candidate,
  CAST(COUNT(*) AS VARCHAR) || ' exchanges with the same engine record in more than one place; each counts once'
FROM seen s JOIN request r ON r.row = s.engine_row WHERE s.engine_rows > 1 GROUP BY r.candidate
UNION ALL
SELECT CASE WHEN same THEN 'duplicate-record' ELSE 'record-contradiction' END, candidate,
  CAST(COUNT(*) AS VARCHAR) || CASE WHEN same
    THEN ' client records stand more than once, with the same times; each counts once, e.g. '
    ELSE ' client records state the same attempt again, with other times; the first is taken, e.g. ' END || MIN(request_id)
FROM repeated GROUP BY candidate, same
UNION ALL
SELECT 'join-gap', j.candidate,
  CAST(SUM(CASE WHEN j.engine_row IS NULL THEN 1 ELSE 0 END) AS VARCHAR) || ' of ' || CAST(COUNT(*) AS VARCHAR)
    || ' exchanges with a first token have no engine record'
FROM joined j
WHERE COALESCE(j.first_token, j.stated_ttft) IS NOT NULL AND j.candidate IN (SELECT candidate FROM request WHERE hop = 'engine')
GROUP BY j.candidate
HAVING SUM(CASE WHEN j.engine_row IS NULL THEN 1 ELSE 0 END) > 0
ORDER BY 1, 2, 3
