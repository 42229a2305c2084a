-- peer: an nginx access log as DuckDB reads it, to the same request, mark and measure rows. Lists of several upstream
-- tries, which the generated log does not have, are not taken apart: less work than ours.
CREATE TEMP TABLE gateway AS SELECT * FROM read_json('{file}', format = 'newline_delimited', columns = {
  msec: 'DECIMAL(16,3)', request_time: 'DECIMAL(16,3)', x_request_id: 'VARCHAR', traceparent: 'VARCHAR', caller: 'VARCHAR',
  attempt: 'BIGINT', status: 'BIGINT', upstream_addr: 'VARCHAR', upstream_status: 'VARCHAR', upstream_connect_time: 'VARCHAR',
  upstream_header_time: 'VARCHAR', upstream_response_time: 'VARCHAR', limit_req_status: 'VARCHAR', limit_conn_status: 'VARCHAR'});
COPY (
  SELECT 'bench' AS candidate, 'gateway' AS source, rowid AS row, rowid + 1 AS line, 0::BIGINT AS item, 'gateway' AS hop,
    x_request_id AS request_id, split_part(traceparent, '-', 2) AS trace_id, NULL::VARCHAR AS span_id,
    split_part(traceparent, '-', 3) AS parent_span_id, NULL::VARCHAR AS response_id, NULL::VARCHAR AS echo_id,
    attempt, caller, NULL::VARCHAR AS model, NULLIF(upstream_addr, '') AS instance, NULL::VARCHAR AS class,
    NULL::VARCHAR AS phase, NULL::VARCHAR AS sample_id, NULL::BIGINT AS input_tokens, NULL::BIGINT AS output_tokens,
    NULL::BIGINT AS cached_tokens, status,
    CASE WHEN limit_conn_status = 'REJECTED' OR status IN (401, 403, 429) THEN 'rejected'
      WHEN status BETWEEN 200 AND 299 THEN 'ok' WHEN status = 499 THEN 'cancelled' ELSE 'error' END AS outcome,
    CASE WHEN limit_conn_status = 'REJECTED' THEN 'REJECTED' END AS error, NULL::BOOLEAN AS streamed
  FROM gateway
) TO '{out}.request.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
COPY (
  SELECT 'bench' AS candidate, 'gateway' AS source, row, row + 1 AS line, 0::BIGINT AS item, name, t_ns,
    'epoch:gateway' AS clock, 1000000::BIGINT AS resolution_ns
  FROM (SELECT rowid AS row, ((msec - request_time) * 1000)::BIGINT * 1000000 AS start, (msec * 1000)::BIGINT * 1000000 AS "end" FROM gateway)
  UNPIVOT (t_ns FOR name IN (start, "end"))
) TO '{out}.mark.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
COPY (
  SELECT 'bench' AS candidate, 'gateway' AS source, row, row + 1 AS line, 0::BIGINT AS item, definition,
    (seconds * 1000)::BIGINT * 1000000 AS duration_ns, 's' AS unit, 1000000::BIGINT AS resolution_ns
  FROM (
    SELECT rowid AS row, request_time AS "nginx.request", TRY_CAST(upstream_response_time AS DECIMAL(16,3)) AS "nginx.upstream",
      TRY_CAST(upstream_connect_time AS DECIMAL(16,3)) AS "nginx.upstream_connect",
      TRY_CAST(upstream_header_time AS DECIMAL(16,3)) AS "nginx.upstream_header"
    FROM gateway)
  UNPIVOT (seconds FOR definition IN ("nginx.request", "nginx.upstream", "nginx.upstream_connect", "nginx.upstream_header"))
) TO '{out}.measure.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
DROP TABLE gateway;
