-- stated: the durations that sources state for a request row, by the quantity their definition names
-- (definition ids are <tool>.<quantity>). One row comes from one tool, so two definitions never meet here.
SELECT
  row,
  MAX(CASE WHEN definition LIKE '%.ttft' THEN duration_ns END) AS ttft,
  MAX(CASE WHEN definition LIKE '%.queue' THEN duration_ns END) AS queue,
  MAX(CASE WHEN definition LIKE '%.prefill' THEN duration_ns END) AS prefill,
  MAX(CASE WHEN definition = 'haproxy.request' THEN duration_ns END) AS handshake,
  MAX(CASE WHEN definition LIKE '%.wait' OR definition = 'envoy.request_tx' THEN duration_ns END) AS wait,
  MAX(CASE WHEN definition = 'haproxy.connect' THEN duration_ns END) AS connect,
  MAX(CASE WHEN definition = 'haproxy.response' THEN duration_ns END) AS response,
  MAX(CASE WHEN definition = 'nginx.request' THEN duration_ns END) AS whole,
  MAX(CASE WHEN definition = 'nginx.upstream' THEN duration_ns END) AS upstream
FROM measure
GROUP BY row
