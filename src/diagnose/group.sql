-- group: how many of each group's exchanges were slow. {dimension} is a column of `population`.
SELECT candidate, {dimension} AS value, COUNT(*) AS n, CAST(SUM(CASE WHEN slow THEN 1 ELSE 0 END) AS BIGINT) AS slow
FROM population
WHERE ttft_ns IS NOT NULL
GROUP BY candidate, {dimension}
ORDER BY candidate, value
