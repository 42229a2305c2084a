-- response-buffered: chunks that the server sent one after the other reach the client in bursts, or all at once: a hop between
-- the two holds the stream back until a buffer is full. The wait for the first is not prefill.
-- source: dstackai/dstack#4269: nginx with proxy_buffering on passes an event stream on by 16 KiB. Three chunks or more, sent over
-- at least 100 ms and received within 1 ms, in most of the stream, are no accident of the network.
-- proof: {stream}{n} chunks sent {gap_ns} apart, the first at {sent_ns}, reach the client in {bursts} bursts of up to {most} chunks, the first at {received_ns}: a hop between server and client (gateway) buffers the response
WITH chunk AS (
  SELECT s.candidate, s.source, s.line, COALESCE(s.trace_id || ': ', s.instance || ': ', '') AS stream,
    s.t_ns AS sent, r.t_ns AS received
  FROM event s
  JOIN event r ON r.candidate = s.candidate AND r.source = s.source AND r.line = s.line AND r.item = s.item
    AND r.kind = 'chunk-received'
  WHERE s.kind = 'chunk-sent'
),
burst AS (
  SELECT candidate, source, stream, CAST(FLOOR(received / 1000000) AS BIGINT) AS at, COUNT(*) AS n, MIN(line) AS line,
    MIN(sent) AS sent, MAX(sent) - MIN(sent) AS sent_over, MIN(received) AS received
  FROM chunk GROUP BY candidate, source, stream, CAST(FLOOR(received / 1000000) AS BIGINT)
)
SELECT candidate, source, MIN(line) AS line, CAST(0 AS BIGINT) AS item, stream, CAST(SUM(n) AS BIGINT) AS n,
  CAST(FLOOR((MAX(sent + sent_over) - MIN(sent)) / (SUM(n) - 1)) AS BIGINT) AS gap_ns, MIN(sent) AS sent_ns,
  MIN(received) AS received_ns, COUNT(*) AS bursts, MAX(n) AS most
FROM burst
GROUP BY candidate, source, stream
HAVING SUM(CASE WHEN n >= 3 AND sent_over >= 100000000 THEN n ELSE 0 END) * 2 > SUM(n)
