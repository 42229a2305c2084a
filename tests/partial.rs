//! Evidence that is there in part: what a gateway or an engine does not state stays unknown.

use crate::support::Trial;

/// A client that waited 3 s, and the gateway in front of it.
fn ingress(gateway: &str) -> (Option<i64>, Option<i64>) {
    let client = r#"{"request_id": "a-1", "attempt": 0, "scheduled_ns": 1796077007000000000, "send_ns": 1796077007000000000, "headers_ns": 1796077009900000000, "first_chunk_ns": 1796077010000000000, "first_token_ns": 1796077010000000000, "last_token_ns": 1796077010500000000, "end_ns": 1796077010500000000, "status": 200, "error": null}"#;
    let trial = Trial::new();
    let files = [
        trial.file("client.jsonl", format!("{client}\n").as_bytes()),
        trial.file("gateway.log", gateway.as_bytes()),
    ];
    trial.load(&files, &["--tz", "UTC"]).exits(0);
    let rows = trial.sql("SELECT ingress_ns, unattributed_ns FROM exchange");
    (rows[0]["ingress_ns"].as_i64(), rows[0]["unattributed_ns"].as_i64())
}

#[test]
fn envoy_states_its_hold_only_where_the_operator_logs_it() {
    let line = |extra: &str| {
        format!(
            "{{\"start_time\":\"2026-12-01T00:50:07.000Z\",\"method\":\"POST\",\"path\":\"/v1/chat/completions\",\
             \"protocol\":\"HTTP/1.1\",\"response_code\":200,\"response_flags\":\"-\",\"bytes_received\":10,\
             \"bytes_sent\":20,\"duration\":3500,{extra}\"upstream_service_time\":\"400\",\"request_id\":\"a-1\"}}\n"
        )
    };
    assert_eq!(ingress(&line("\"request_tx_duration\":2500,")), (Some(2_500_000_000), Some(500_000_000)));
    // The time to the response's headers is no time at the gateway: unknown, not zero.
    assert_eq!(ingress(&line("")), (None, Some(3_000_000_000)));
}

#[test]
fn an_engine_that_states_no_queue_has_an_unknown_one() {
    let span = |attributes: &str| {
        format!(
            "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{{\"key\":\"service.name\",\"value\":{{\"stringValue\":\"vllm\"}}}}]}},\
             \"scopeSpans\":[{{\"scope\":{{\"name\":\"vllm.tracing.otel\"}},\"spans\":[{{\"traceId\":\"50ba7237bdd86bdd446b50d2da2f9acd\",\
             \"spanId\":\"7e2fd91b9f972856\",\"parentSpanId\":\"\",\"name\":\"llm_request\",\"kind\":2,\
             \"startTimeUnixNano\":\"1796077007100000000\",\"endTimeUnixNano\":\"1796077010400000000\",\"attributes\":[\
             {{\"key\":\"gen_ai.request.id\",\"value\":{{\"stringValue\":\"a-1\"}}}},\
             {{\"key\":\"gen_ai.latency.time_to_first_token\",\"value\":{{\"doubleValue\":2.5}}}}{attributes}]}}]}}]}}]}}\n"
        )
    };
    let client = r#"{"request_id": "a-1", "attempt": 0, "trace_id": "50ba7237bdd86bdd446b50d2da2f9acd", "scheduled_ns": 1796077007000000000, "send_ns": 1796077007000000000, "first_chunk_ns": 1796077010000000000, "first_token_ns": 1796077010000000000, "end_ns": 1796077010500000000, "status": 200}"#;
    let prefill = r#",{"key":"gen_ai.latency.time_in_model_prefill","value":{"doubleValue":0.5}}"#;
    for (attributes, prefill_ns, rest) in
        [("", None, 2_500_000_000_i64), (prefill, Some(500_000_000_i64), 2_000_000_000)]
    {
        let trial = Trial::new();
        let files = [
            trial.file("client.jsonl", format!("{client}\n").as_bytes()),
            trial.file("spans.jsonl", span(attributes).as_bytes()),
        ];
        trial.load(&files, &[]).exits(0);
        let rows = trial.sql("SELECT queue_ns, prefill_ns, unattributed_ns, engine_rest_ns FROM exchange");
        assert_eq!(rows[0]["queue_ns"].as_i64(), None, "{attributes}");
        assert_eq!(rows[0]["prefill_ns"].as_i64(), prefill_ns, "{attributes}");
        assert_eq!(rows[0]["unattributed_ns"].as_i64(), Some(rest), "{attributes}");
        assert_eq!(rows[0]["engine_rest_ns"].as_i64(), Some(rest), "{attributes}");
    }
}

#[test]
fn a_stated_wait_without_instants_is_a_ttft() {
    let trial = Trial::new();
    let rows: Vec<String> = (0..100).map(|n| format!("r{n},{}\n", 100 + n * 30)).collect();
    let table = trial.file("waits.csv", format!("id,ttft_ms\n{}", rows.concat()).as_bytes());
    let map = trial.file(
        "map.toml",
        b"hop = \"client\"\n[request]\nrequest_id = \"id\"\n[[measure]]\ndefinition = \"mapped.ttft\"\ncolumn = \"ttft_ms\"\nunit = \"ms\"\n",
    );
    trial.load(&[table], &["--map", map.to_str().unwrap()]).exits(0);
    let candidate = trial.diagnosis();
    assert_eq!(candidate["counts"]["with_ttft"], 100);
    assert_eq!(
        candidate["ttft"][0]["value_ns"], 1_570_000_000_i64,
        "the 50th of 100, 30 ms apart from 100 ms"
    );
    assert_eq!(candidate["verdict"]["missing"][0], "no-engine");
}

#[test]
fn numbers_beyond_reason_cost_themselves_and_nothing_else() {
    let line = |id: &str, send: &str, tokens: &str| {
        format!(
            "{{\"request_id\":\"{id}\",\"send_ns\":{send},\"first_chunk_ns\":1796077007100000000,\
             \"first_token_ns\":1796077007100000000,\"end_ns\":1796077008000000000,\"output_tokens\":{tokens},\"status\":200}}\n"
        )
    };
    let good = "1796077007000000000";
    let text = [
        line("a", good, "93000000000000"),
        line("b", "-9223372036854775808", "1"),
        line("c", good, "9223372036854775807"),
        line("d", good, "12"),
    ];
    let trial = Trial::new();
    let file = trial.file("odd.jsonl", text.concat().as_bytes());
    trial.load(&[file], &[]).exits(0);
    for command in ["sources", "diagnose", "report"] {
        assert!(trial.run([command]).code <= 1, "{command}");
    }
    assert_eq!(
        trial.sql("SELECT output_tokens AS n FROM request WHERE output_tokens IS NOT NULL ORDER BY n").len(),
        2
    );
}

#[test]
fn an_ordered_answer_of_many_rows_is_ordered() {
    let lines: Vec<String> =
        (0..130_000_i64).map(|n| n * 7919 % 130_000).map(|n| format!("r{n},{}", n + 1)).collect();
    let rows = format!("id,ttft_us\n{}\n", lines.join("\n"));
    let trial = Trial::new();
    let (table, map) = (
        trial.file("waits.csv", rows.as_bytes()),
        trial.file(
            "map.toml",
            b"hop = \"client\"\n[request]\nrequest_id = \"id\"\n[[measure]]\ndefinition = \"mapped.ttft\"\ncolumn = \"ttft_us\"\nunit = \"us\"\n",
        ),
    );
    trial.load(&[table], &["--map", map.to_str().unwrap()]).exits(0);
    for _ in 0..3 {
        let diagnosis = trial.diagnosis();
        assert_eq!(diagnosis["ttft"][0]["value_ns"], 65_000_000, "the 65 000th of 1 to 130 000 µs");
    }
    let first = trial.sql("SELECT ttft_ns FROM exchange ORDER BY ttft_ns");
    assert!(first.windows(2).all(|pair| pair[0]["ttft_ns"].as_i64() < pair[1]["ttft_ns"].as_i64()));
}
