-- rank: the exchanges whose TTFT is a given value: the way from a percentile to request ids and raw lines.
SELECT e.exchange, e.row, s.name AS file, s.source, e.line, e.item
FROM exchange e
JOIN source s ON s.candidate = e.candidate AND s.source = e.source
WHERE e.candidate = {candidate} AND e.ttft_ns = {value} AND COALESCE(e.phase, '') <> 'warmup'
ORDER BY e.row
LIMIT 3
