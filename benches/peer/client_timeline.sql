-- peer: a client timeline as DuckDB reads it, to the same request and mark rows.
CREATE TEMP TABLE client AS SELECT * FROM read_json('{file}', format = 'newline_delimited', columns = {
  request_id: 'VARCHAR', attempt: 'BIGINT', trace_id: 'VARCHAR', span_id: 'VARCHAR', caller: 'VARCHAR', model: 'VARCHAR',
  sample_id: 'VARCHAR', input_class: 'VARCHAR', scheduled_ns: 'BIGINT', send_ns: 'BIGINT', headers_ns: 'BIGINT',
  first_chunk_ns: 'BIGINT', first_token_ns: 'BIGINT', last_token_ns: 'BIGINT', end_ns: 'BIGINT', input_tokens: 'BIGINT',
  output_tokens: 'BIGINT', status: 'BIGINT', error: 'VARCHAR'});
COPY (
  SELECT 'bench' AS candidate, 'client' AS source, rowid AS row, rowid + 1 AS line, 0::BIGINT AS item, 'client' AS hop,
    request_id, trace_id, span_id, NULL::VARCHAR AS parent_span_id, NULL::VARCHAR AS response_id, NULL::VARCHAR AS echo_id,
    attempt, caller, model, NULL::VARCHAR AS instance, input_class AS class, NULL::VARCHAR AS phase, sample_id,
    input_tokens, output_tokens, NULL::BIGINT AS cached_tokens, status,
    CASE WHEN status BETWEEN 200 AND 299 AND error IS NULL THEN 'ok' WHEN status IN (401, 403, 429) THEN 'rejected'
      WHEN status = 499 THEN 'cancelled' ELSE 'error' END AS outcome,
    error[:200] AS error, CASE WHEN first_chunk_ns IS NOT NULL THEN true END AS streamed
  FROM client
) TO '{out}.request.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
COPY (
  SELECT 'bench' AS candidate, 'client' AS source, row, row + 1 AS line, 0::BIGINT AS item, replace(name, '_ns', '') AS name,
    t_ns, 'epoch:client' AS clock, 1::BIGINT AS resolution_ns
  FROM (SELECT rowid AS row, scheduled_ns, send_ns, headers_ns, first_chunk_ns, first_token_ns, last_token_ns, end_ns FROM client)
  UNPIVOT (t_ns FOR name IN (scheduled_ns, send_ns, headers_ns, first_chunk_ns, first_token_ns, last_token_ns, end_ns))
) TO '{out}.mark.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
DROP TABLE client;
