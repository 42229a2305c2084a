-- failed-counted: statistics over more requests than were answered contain values of requests that have none (mostly 0).
-- source: GuideLLM lists incomplete requests with 0.0 under `total`; a failed request has no time to first token.
-- proof: {metric} is over {n} requests, {completed} completed[; its minimum is {least} s]: {extra} requests without an answer are counted
SELECT f.candidate, f.source, MIN(f.line) AS line, MIN(f.item) AS item, f.metric, MAX(f.n) AS n, MAX(c.completed) AS completed,
  MAX(f.n) - MAX(c.completed) AS extra, MIN(CASE WHEN f.statistic = 'min' THEN f.value END) AS least
FROM figure f
JOIN cell c ON c.candidate = f.candidate AND c.source = f.source AND c.cell = f.cell
WHERE f.metric IN ('ttft', 'e2e') AND f.n > c.completed
GROUP BY f.candidate, f.source, f.cell, f.metric
