-- unlinked: request rows of the other hops that no id has tied to an attempt yet.
SELECT r.row, r.candidate, r.hop, r.request_id, r.attempt, r.trace_id, r.parent_span_id, r.response_id, r.echo_id
FROM request r
WHERE r.hop <> 'client'
