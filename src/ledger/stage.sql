-- exchange: the stage ledger. Stages are exclusive and add up to the client's TTFT: what no evidence covers is
-- `unattributed`, the part of it inside the engine's own TTFT apart as `engine_rest`. Each stage has a low, a
-- point and a high bound; a stage without evidence is null, never zero (LEAST and GREATEST pass over nulls, so each is
-- guarded). `offset_*` bound engine minus client clock.
WITH waited AS (
  SELECT j.*,
    COALESCE(j.first_token - j.first_send, j.stated_ttft) AS ttft_ns,
    COALESCE(j.first_token - j.send, j.stated_ttft) AS attempt_ttft_ns
  FROM joined j
),
basis AS (
  SELECT j.*,
    o.low AS offset_low, o.high AS offset_high,
    CASE
      WHEN j.attempt_ttft_ns IS NULL OR j.attempt_ttft_ns < 0 THEN 'none'
      -- An engine that says its first token took longer than the client waited contradicts the client.
      WHEN j.engine_ttft IS NOT NULL AND j.engine_ttft <= j.attempt_ttft_ns + 1000000 THEN 'whole'
      WHEN j.engine_ttft IS NOT NULL THEN 'contradiction'
      WHEN COALESCE(j.engine_prefill, j.echo_prefill) IS NOT NULL THEN 'slot'
      WHEN j.gateway_row IS NOT NULL THEN 'gateway'
      ELSE 'client'
    END AS kind
  FROM waited j
  LEFT JOIN clock_offset o
    ON o.candidate = j.candidate AND o.a = j.client_clock AND o.b = j.engine_clock
),
nested AS (
  -- inside: what the engine measured on its own clock. around: both ways to it, measured without a common clock.
  SELECT b.*,
    CASE kind
      WHEN 'whole' THEN LEAST(engine_ttft, attempt_ttft_ns)
      WHEN 'slot' THEN LEAST(attempt_ttft_ns, GREATEST(
        COALESCE(engine_prefill, echo_prefill), COALESCE(engine_first - engine_launch, 0)))
    END AS inside,
    CASE kind WHEN 'whole' THEN engine_start WHEN 'slot' THEN engine_launch END - send AS lag
  FROM basis b
),
bounded AS (
  -- way_*: from the client's write to the engine's start (or slot), which contains `ingress`.
  SELECT n.*,
    attempt_ttft_ns - inside AS around,
    GREATEST(0, LEAST(attempt_ttft_ns - inside, COALESCE(lag - offset_high, 0))) AS way_low,
    GREATEST(0, LEAST(attempt_ttft_ns - inside, COALESCE(lag - offset_low, attempt_ttft_ns - inside))) AS way_high
  FROM nested n
),
pointed AS (
  SELECT b.*, way_low + CAST(FLOOR((way_high - way_low) / 2.0) AS BIGINT) AS way,
    -- llama-server writes its headers when a slot takes the request, so a gateway's wait for headers is the queue.
    CASE WHEN kind = 'slot' THEN gateway_response END AS slot_wait
  FROM bounded b
),
staged AS (
  SELECT p.*,
    CASE WHEN ready_wait > 0 THEN ready_wait END AS ready_ns,
    CASE kind
      WHEN 'whole' THEN way
      WHEN 'slot' THEN CASE
        WHEN engine_launch IS NOT NULL AND slot_wait IS NOT NULL THEN way - LEAST(slot_wait, way)
        WHEN engine_launch IS NULL AND slot_wait IS NOT NULL AND gateway_wait IS NOT NULL THEN LEAST(gateway_wait, around - LEAST(slot_wait, around)) END
      WHEN 'gateway' THEN CASE WHEN COALESCE(gateway_around, gateway_wait) IS NOT NULL
        THEN LEAST(attempt_ttft_ns, COALESCE(gateway_around, gateway_wait)) END
    END AS way_in,
    CASE kind
      WHEN 'whole' THEN CASE WHEN engine_queue IS NOT NULL THEN LEAST(engine_queue, inside) END
      WHEN 'slot' THEN CASE WHEN slot_wait IS NOT NULL
        THEN LEAST(slot_wait, CASE WHEN engine_launch IS NOT NULL THEN way ELSE around END) END
    END AS queue_ns,
    CASE WHEN kind = 'slot' AND engine_launch IS NOT NULL AND engine_first IS NOT NULL
      THEN GREATEST(0, inside - LEAST(inside, COALESCE(engine_prefill, echo_prefill))) END AS schedule_ns,
    CASE kind
      WHEN 'whole' THEN CASE WHEN engine_prefill IS NOT NULL
        THEN LEAST(engine_prefill, inside - LEAST(COALESCE(engine_queue, 0), inside)) END
      WHEN 'slot' THEN LEAST(inside, COALESCE(engine_prefill, echo_prefill))
    END AS prefill_ns,
    CASE WHEN kind = 'whole' OR (kind = 'slot' AND engine_launch IS NOT NULL) THEN around - way END AS transport_ns,
    CASE WHEN kind = 'whole' THEN inside - LEAST(COALESCE(engine_queue, 0), inside)
      - LEAST(COALESCE(engine_prefill, 0), inside - LEAST(COALESCE(engine_queue, 0), inside)) END AS engine_rest_ns
  FROM pointed p
),
added AS (
  SELECT s.*,
    CASE WHEN kind = 'none' THEN NULL
      WHEN way_in IS NULL AND retry_wait - ready_wait = 0 THEN NULL
      ELSE COALESCE(way_in, 0) + retry_wait - ready_wait END AS ingress_ns
  FROM staged s
)
SELECT
  candidate, exchange, row, source, line, item, kind, request_id, trace_id,
  caller, model, class, phase, instance, input_tokens, output_tokens, cached_tokens, status, outcome,
  attempts, unreachable, first_send, client_clock, gateway_row, engine_row,
  first_send - scheduled AS client_wait_ns, ttft_ns, attempt_ttft_ns, end_ns - first_send AS e2e_ns,
  ingress_ns,
  CASE WHEN ingress_ns IS NULL THEN 0
    ELSE ingress_ns - COALESCE(way_in, 0) + CASE kind
      WHEN 'whole' THEN way_low WHEN 'slot' THEN CASE WHEN way_in IS NULL THEN 0 ELSE LEAST(way_in, GREATEST(0, way_low - COALESCE(slot_wait, 0))) END
      WHEN 'gateway' THEN CASE WHEN gateway_around IS NOT NULL THEN 0 ELSE COALESCE(way_in, 0) END ELSE 0 END END AS ingress_low,
  CASE WHEN ingress_ns IS NULL THEN COALESCE(attempt_ttft_ns - inside, attempt_ttft_ns, 0)
    ELSE ingress_ns - COALESCE(way_in, 0) + CASE kind
      WHEN 'whole' THEN way_high WHEN 'slot' THEN GREATEST(way_in, way_high - COALESCE(slot_wait, 0)) WHEN 'gateway' THEN COALESCE(way_in, attempt_ttft_ns)
      ELSE COALESCE(attempt_ttft_ns, 0) END END AS ingress_high,
  queue_ns, schedule_ns, ready_ns, CAST(NULL AS BIGINT) AS model_load_ns, prefill_ns,
  transport_ns,
  CASE WHEN transport_ns IS NULL THEN 0 ELSE around - way_high END AS transport_low,
  CASE WHEN transport_ns IS NULL THEN COALESCE(attempt_ttft_ns - inside, attempt_ttft_ns, 0)
    ELSE around - way_low END AS transport_high,
  CASE WHEN kind <> 'none' THEN ttft_ns - COALESCE(ingress_ns, 0) - COALESCE(queue_ns, 0) - COALESCE(schedule_ns, 0)
    - COALESCE(ready_ns, 0) - COALESCE(prefill_ns, 0) - COALESCE(transport_ns, 0) END AS unattributed_ns,
  COALESCE(engine_rest_ns, 0) AS engine_rest_ns
FROM added
