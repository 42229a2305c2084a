-- token-count-mismatch: the server states prompts of quite another length than the client sent: a query that adds up what it
-- should average, or another population.
-- source: tokenizers differ by tens of percent, not by a factor of two.
-- proof: mean prompt {server} tokens at the server, {client} at the client[ (stage {stage})]: ratio {ratio}
SELECT e.candidate, e.source, e.line, e.item, e.input_mean AS server, c.input_mean AS client, e.stage, e.input_mean / c.input_mean AS ratio
FROM cell e
JOIN cell c ON c.candidate = e.candidate AND c.hop = 'client' AND COALESCE(c.stage, '') = COALESCE(e.stage, '')
WHERE e.hop = 'engine' AND c.input_mean > 0 AND (e.input_mean > c.input_mean * 2 OR e.input_mean * 2 < c.input_mean)
  AND (e.stage IS NOT NULL OR 2 = (SELECT COUNT(*) FROM cell o WHERE o.candidate = e.candidate AND o.input_mean IS NOT NULL))
