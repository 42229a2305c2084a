-- ledger: exchange x stage in long form, for people's own SQL. `low_ns` and `high_ns` bound a stage across clocks.
SELECT candidate, exchange, row, 'ingress' AS stage, ingress_ns AS ns, ingress_low AS low_ns, ingress_high AS high_ns FROM exchange
UNION ALL SELECT candidate, exchange, row, 'queue', queue_ns, queue_ns, queue_ns FROM exchange
UNION ALL SELECT candidate, exchange, row, 'schedule', schedule_ns, schedule_ns, schedule_ns FROM exchange
UNION ALL SELECT candidate, exchange, row, 'ready', ready_ns, ready_ns, ready_ns FROM exchange
UNION ALL SELECT candidate, exchange, row, 'model_load', model_load_ns, model_load_ns, model_load_ns FROM exchange
UNION ALL SELECT candidate, exchange, row, 'prefill', prefill_ns, prefill_ns, prefill_ns FROM exchange
UNION ALL SELECT candidate, exchange, row, 'transport', transport_ns, transport_low, transport_high FROM exchange
UNION ALL SELECT candidate, exchange, row, 'unattributed', unattributed_ns, unattributed_ns, unattributed_ns FROM exchange
