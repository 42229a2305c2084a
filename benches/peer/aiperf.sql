-- peer: AIPerf's records as DuckDB reads them, to the same request, mark and measure rows. Every metric is in ms in the
-- generated file and is taken as such, where ours reads each unit; the gaps are not added up: less work than ours.
CREATE TEMP TABLE record AS SELECT metadata, metrics FROM read_json('{file}', format = 'newline_delimited', columns = {
  metadata: 'STRUCT(x_request_id VARCHAR, benchmark_phase VARCHAR, credit_issued_ns BIGINT, request_start_ns BIGINT,
    request_ack_ns BIGINT, request_end_ns BIGINT, was_cancelled BOOLEAN)',
  metrics: 'STRUCT(request_latency STRUCT("value" DECIMAL(18,6)), time_to_first_token STRUCT("value" DECIMAL(18,6)),
    time_to_first_output_token STRUCT("value" DECIMAL(18,6)), usage_prompt_tokens STRUCT("value" BIGINT),
    usage_completion_tokens STRUCT("value" BIGINT), http_req_blocked STRUCT("value" DECIMAL(18,6)),
    http_req_connecting STRUCT("value" DECIMAL(18,6)), http_req_sending STRUCT("value" DECIMAL(18,6)),
    http_req_waiting STRUCT("value" DECIMAL(18,6)))'});
COPY (
  SELECT 'bench' AS candidate, 'aiperf' AS source, rowid AS row, rowid + 1 AS line, 0::BIGINT AS item, 'client' AS hop,
    metadata.x_request_id AS request_id, NULL::VARCHAR AS trace_id, NULL::VARCHAR AS span_id, NULL::VARCHAR AS parent_span_id,
    NULL::VARCHAR AS response_id, NULL::VARCHAR AS echo_id, NULL::BIGINT AS attempt, NULL::VARCHAR AS caller,
    NULL::VARCHAR AS model, NULL::VARCHAR AS instance, NULL::VARCHAR AS class, metadata.benchmark_phase AS phase,
    NULL::VARCHAR AS sample_id, metrics.usage_prompt_tokens."value" AS input_tokens,
    metrics.usage_completion_tokens."value" AS output_tokens, NULL::BIGINT AS cached_tokens, NULL::BIGINT AS status,
    CASE WHEN metadata.was_cancelled THEN 'cancelled' ELSE 'ok' END AS outcome, NULL::VARCHAR AS error,
    metrics.time_to_first_token IS NOT NULL AS streamed
  FROM record
) TO '{out}.request.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
COPY (
  SELECT 'bench' AS candidate, 'aiperf' AS source, row, row + 1 AS line, 0::BIGINT AS item, name, t_ns, 'epoch:client' AS clock,
    1::BIGINT AS resolution_ns
  FROM (SELECT rowid AS row, metadata.credit_issued_ns AS scheduled, metadata.request_start_ns AS send,
      metadata.request_ack_ns AS headers, metadata.request_end_ns AS "end",
      metadata.request_start_ns + (metrics.time_to_first_token."value" * 1000000)::BIGINT AS first_token FROM record)
  UNPIVOT (t_ns FOR name IN (scheduled, send, headers, first_token, "end"))
) TO '{out}.mark.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
COPY (
  SELECT 'bench' AS candidate, 'aiperf' AS source, row, row + 1 AS line, 0::BIGINT AS item, definition,
    (millis * 1000000)::BIGINT AS duration_ns, 'ms' AS unit, 1::BIGINT AS resolution_ns
  FROM (SELECT rowid AS row, metrics.time_to_first_token."value" AS "aiperf.ttft", metrics.request_latency."value" AS "aiperf.latency",
      metrics.time_to_first_output_token."value" AS "aiperf.ttfo", metrics.http_req_blocked."value" AS "aiperf.blocked",
      metrics.http_req_connecting."value" AS "aiperf.connecting", metrics.http_req_sending."value" AS "aiperf.sending",
      metrics.http_req_waiting."value" AS "aiperf.waiting" FROM record)
  UNPIVOT (millis FOR definition IN ("aiperf.ttft", "aiperf.latency", "aiperf.ttfo", "aiperf.blocked", "aiperf.connecting",
    "aiperf.sending", "aiperf.waiting"))
) TO '{out}.measure.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
DROP TABLE record;
