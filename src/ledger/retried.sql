-- retried: client requests with several rows: attempts of one exchange, under one number x.
SELECT candidate, source, request_id, MIN(row) AS x
FROM request
WHERE hop = 'client' AND request_id IS NOT NULL AND row NOT IN (SELECT row FROM repeated)
GROUP BY candidate, source, request_id
HAVING COUNT(*) > 1
