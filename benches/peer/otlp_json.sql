-- peer: OTLP/JSON lines of vLLM's spans as DuckDB reads them, to the same request, mark and measure rows.
-- Attributes are found by position in the list of their keys: of the ways tried (map, filter, unnest and group, JSON
-- paths) the fastest.
CREATE TEMP TABLE engine AS
WITH exports AS (
  SELECT row_number() OVER () AS line, unnest(resourceSpans) AS r
  FROM read_json('{file}', format = 'newline_delimited', columns = {
    resourceSpans: 'STRUCT(
      resource STRUCT(attributes STRUCT("key" VARCHAR, "value" STRUCT(stringValue VARCHAR))[]),
      scopeSpans STRUCT(spans STRUCT(
        traceId VARCHAR, spanId VARCHAR, parentSpanId VARCHAR, startTimeUnixNano BIGINT, endTimeUnixNano BIGINT,
        attributes STRUCT("key" VARCHAR, "value" STRUCT(doubleValue DOUBLE, intValue BIGINT, stringValue VARCHAR))[],
        status STRUCT(code BIGINT))[])[])[]'})),
scopes AS (
  SELECT line, unnest(r.scopeSpans) AS s,
    list_filter(r.resource.attributes, lambda a: a.key = 'service.instance.id')[1].value.stringValue AS instance
  FROM exports),
spans AS (SELECT line, instance, unnest(s.spans) AS span, generate_subscripts(s.spans, 1) - 1 AS item FROM scopes),
keyed AS (SELECT *, span.attributes AS a, list_transform(span.attributes, lambda a: a.key) AS k FROM spans)
SELECT line, item, instance, span.traceId AS trace_id, span.spanId AS span_id, span.parentSpanId AS parent_span_id,
  span.startTimeUnixNano AS start, span.endTimeUnixNano AS "end", span.status.code AS code,
  a[list_position(k, 'gen_ai.latency.time_to_first_token')].value.doubleValue AS ttft,
  a[list_position(k, 'gen_ai.latency.time_in_queue')].value.doubleValue AS queue,
  a[list_position(k, 'gen_ai.latency.time_in_model_prefill')].value.doubleValue AS prefill,
  a[list_position(k, 'gen_ai.latency.time_in_model_decode')].value.doubleValue AS decode,
  a[list_position(k, 'gen_ai.latency.time_in_model_inference')].value.doubleValue AS inference,
  a[list_position(k, 'gen_ai.latency.e2e')].value.doubleValue AS e2e,
  a[list_position(k, 'gen_ai.usage.prompt_tokens')].value.intValue AS input_tokens,
  a[list_position(k, 'gen_ai.usage.completion_tokens')].value.intValue AS output_tokens,
  a[list_position(k, 'gen_ai.request.id')].value.stringValue AS id
FROM keyed;
COPY (
  SELECT 'bench' AS candidate, 'engine' AS source, rowid AS row, line, item, 'engine' AS hop,
    regexp_replace(id, '^(chatcmpl|cmpl)-', '') AS request_id, trace_id, span_id, parent_span_id, id AS response_id,
    NULL::VARCHAR AS echo_id, NULL::BIGINT AS attempt, NULL::VARCHAR AS caller, NULL::VARCHAR AS model, instance,
    NULL::VARCHAR AS class, NULL::VARCHAR AS phase, NULL::VARCHAR AS sample_id, input_tokens, output_tokens,
    NULL::BIGINT AS cached_tokens, NULL::BIGINT AS status, CASE WHEN code = 2 THEN 'error' ELSE 'ok' END AS outcome,
    NULL::VARCHAR AS error, NULL::BOOLEAN AS streamed
  FROM engine
) TO '{out}.request.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
COPY (
  SELECT 'bench' AS candidate, 'engine' AS source, row, line, item, name, t_ns, 'epoch:otlp:' || instance AS clock, 1::BIGINT AS resolution_ns
  FROM (SELECT rowid AS row, line, item, instance, start, "end", start + ROUND(ttft * 1e9)::BIGINT AS first_token FROM engine)
  UNPIVOT (t_ns FOR name IN (start, "end", first_token))
) TO '{out}.mark.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
COPY (
  SELECT 'bench' AS candidate, 'engine' AS source, row, line, item, definition, ROUND(seconds * 1e9)::BIGINT AS duration_ns,
    's' AS unit, 1::BIGINT AS resolution_ns
  FROM (SELECT rowid AS row, line, item, ttft AS "vllm.ttft", queue AS "vllm.queue", prefill AS "vllm.prefill",
    decode AS "vllm.decode", inference AS "vllm.inference", e2e AS "vllm.e2e" FROM engine)
  UNPIVOT (seconds FOR definition IN ("vllm.ttft", "vllm.queue", "vllm.prefill", "vllm.decode", "vllm.inference", "vllm.e2e"))
) TO '{out}.measure.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
DROP TABLE engine;
