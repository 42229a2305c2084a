-- peer: what an analyst asks of the same Parquet to get TTFT quantiles and time per stage: marks and measures pivoted
-- by row, client, gateway and engine joined by trace and span, then groups. No clocks, no bounds, no retries, no findings.
CREATE TEMP TABLE exchange AS
WITH instant AS (
  SELECT row, MAX(t_ns) FILTER (name = 'send') AS send, MAX(t_ns) FILTER (name = 'first_token') AS first_token,
    MAX(t_ns) FILTER (name = 'start') AS start, MAX(t_ns) FILTER (name = 'end') AS end_ns
  FROM read_parquet('{tables}/mark/*/*.parquet') GROUP BY row),
stated AS (
  SELECT row, MAX(duration_ns) FILTER (definition = 'vllm.ttft') AS ttft, MAX(duration_ns) FILTER (definition = 'vllm.queue') AS queue,
    MAX(duration_ns) FILTER (definition = 'vllm.prefill') AS prefill, MAX(duration_ns) FILTER (definition = 'nginx.request') AS whole,
    MAX(duration_ns) FILTER (definition = 'nginx.upstream') AS upstream
  FROM read_parquet('{tables}/measure/*/*.parquet') GROUP BY row),
request AS (SELECT * FROM read_parquet('{tables}/request/*/*.parquet')),
joined AS (
  SELECT c.candidate, c.caller, c.input_tokens, e.instance, ci.first_token - ci.send AS ttft, gs.whole - gs.upstream AS gateway,
    es.ttft AS engine, es.queue, es.prefill, ci.send
  FROM request c
  JOIN instant ci ON ci.row = c.row
  LEFT JOIN request g ON g.hop = 'gateway' AND g.trace_id = c.trace_id AND g.parent_span_id = c.span_id
  LEFT JOIN stated gs ON gs.row = g.row
  LEFT JOIN request e ON e.hop = 'engine' AND e.trace_id = c.trace_id AND e.parent_span_id = c.span_id
  LEFT JOIN stated es ON es.row = e.row
  WHERE c.hop = 'client')
SELECT *, ttft - engine AS network, engine - queue - prefill AS rest, ttft > 2000000000 AS slow,
  CASE WHEN input_tokens <= 128 THEN 0 WHEN input_tokens <= 512 THEN 1 WHEN input_tokens <= 2048 THEN 2 WHEN input_tokens <= 8192 THEN 3 ELSE 4 END AS bucket
FROM joined;
