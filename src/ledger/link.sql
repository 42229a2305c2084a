-- link: rows of other hops tied to the one client attempt that shares an id. {on} is the id, {how} its name.
-- A retried exchange shares its id over all attempts: the attempt that got the first token is meant.
-- An id that fits several exchanges ties to none (ambiguous): never a silent guess.
SELECT
  o.row, o.hop, '{how}' AS how,
  COALESCE(MIN(CASE WHEN a.first_token IS NOT NULL THEN a.row END), MAX(a.row)) AS attempt_row,
  MIN(a.x) <> MAX(a.x) AS ambiguous
FROM unlinked o
JOIN attempt a ON a.candidate = o.candidate AND {on}
GROUP BY o.row, o.hop
