-- figures: TTFT quantiles and time per stage, of everything and by each dimension.
SELECT candidate, {dimension} AS value, slow, COUNT(*) AS n, quantile_disc(ttft, [0.5, 0.9, 0.95, 0.99]) AS quantiles,
  SUM(ttft) AS ttft, SUM(gateway) AS gateway, SUM(queue) AS queue, SUM(prefill) AS prefill, SUM(network) AS network, SUM(rest) AS rest
FROM exchange WHERE ttft IS NOT NULL GROUP BY ALL ORDER BY ALL
