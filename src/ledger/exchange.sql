-- exchange: the ledger with its cold label, in a fixed order, so that the same rows give the same file.
SELECT s.*, c.cold
FROM staged s
LEFT JOIN cold c ON c.row = s.row
ORDER BY s.candidate, s.row
