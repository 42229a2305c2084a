-- seen: what the other hops recorded of each attempt. A record exported twice counts once, the lowest row.
SELECT
  attempt_row,
  MIN(CASE WHEN hop = 'gateway' THEN row END) AS gateway_row,
  MIN(CASE WHEN hop = 'engine' THEN row END) AS engine_row,
  CAST(SUM(CASE WHEN hop = 'engine' THEN 1 ELSE 0 END) AS BIGINT) AS engine_rows
FROM link
WHERE NOT ambiguous
GROUP BY attempt_row
