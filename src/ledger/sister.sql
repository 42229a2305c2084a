-- sister: the rows of all attempts and hops that share the request id of an exchange. {rows}: the rows that the
-- ledger knows exchanges by.
WITH asked AS (
  SELECT row AS x, candidate, source, request_id FROM request WHERE row IN ({rows})
)
SELECT a.x, o.row
FROM asked a
JOIN request o
  ON o.candidate = a.candidate AND o.request_id = a.request_id AND (o.source = a.source OR o.hop <> 'client')
