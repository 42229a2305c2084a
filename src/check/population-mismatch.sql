-- population-mismatch: client and server count different requests over what is called the same run or stage: the windows
-- differ or others use the service, so the server's figures are not those of the client's requests.
-- source: inference-perf's stage files: Prometheus is scraped over a wider window than the stage. 5 % may be a request at the edge.
-- proof: the server counts {server} requests, the client completed {client}[ (stage {stage})]: ratio {ratio}, the windows or the callers differ
SELECT e.candidate, e.source, e.line, e.item, e.completed AS server, c.completed AS client, e.stage, e.completed / c.completed AS ratio
FROM cell e
JOIN cell c ON c.candidate = e.candidate AND c.hop = 'client' AND COALESCE(c.stage, '') = COALESCE(e.stage, '')
WHERE e.hop = 'engine' AND c.completed > 0 AND e.completed IS NOT NULL AND ABS(e.completed / c.completed - 1) > 0.05
  AND (e.stage IS NOT NULL OR 2 = (SELECT COUNT(*) FROM cell o WHERE o.candidate = e.candidate AND o.completed IS NOT NULL))
