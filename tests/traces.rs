//! Public traces of other tools, read where they stand: what their figures come to, and what in them cannot be.

use crate::support::{Trial, corpora};
use serde_json::Value;

/// What a query of one column gives.
fn ask(trial: &Trial, query: &str) -> Vec<String> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    trial.sql(query).iter().map(|row| row.as_object().unwrap().values().map(word).collect()).collect()
}

/// A trial with one public file in it.
fn loaded(folder: &str, file: &str, format: &str) -> Option<Trial> {
    let path = corpora(folder)?.join(file);
    let trial = Trial::new();
    let files = trial.load(&[path], &[]).exits(0).json();
    assert_eq!((&files[0]["format"], &files[0]["refused"]), (&format.into(), &0.into()), "{files}");
    Some(trial)
}

const MEASURES: &str =
    "SELECT concat_ws(' ', definition, duration_ns) AS row FROM measure ORDER BY line, item, definition";
const FINDINGS: &str = "SELECT concat_ws(' ', code, item, detail) AS row FROM finding ORDER BY code, detail";

#[test]
fn a_server_that_starts_before_its_client_tells_of_two_clocks_and_nothing_is_moved() {
    let Some(trial) = loaded("formats", "zipkin/skew.json", "zipkin") else { return };
    assert_eq!(
        ask(&trial, FINDINGS),
        [
            "clock-skew 1 a span of serviceb@192.0.0.0 starts 65441000 ns before the span of servicea@127.0.0.0 that calls \
             it: the clock of serviceb@192.0.0.0 is behind by 65441000 to 66403000 ns; times kept as written"
        ]
    );
    assert_eq!(
        ask(
            &trial,
            "SELECT concat_ws(' ', item, name, t_ns, clock, resolution_ns) AS row FROM mark ORDER BY item, t_ns"
        ),
        [
            "1 start 1470150004008761000 epoch:span:serviceb@192.0.0.0 1000",
            "1 end 1470150004102338000 epoch:span:serviceb@192.0.0.0 1000",
            "2 start 1470150004071068000 epoch:span:servicea@127.0.0.0 1000",
            "2 end 1470150004170479000 epoch:span:servicea@127.0.0.0 1000",
        ]
    );
}

#[test]
fn spans_of_jaeger_that_share_an_id_are_all_kept() {
    let Some(trial) = loaded("formats", "jaeger/ui_01.json", "jaeger") else { return };
    assert_eq!(
        ask(&trial, "SELECT concat_ws(' ', item, t_ns, duration_ns, detail) AS row FROM event ORDER BY item"),
        [
            "0 1485467191639875000 5000 service-x test-general-conversion",
            "1 1485467191639875000 5000 service-x some-operation",
            "2 1485467191639875000 5000 service-y some-operation",
            "3 1485467191639875000 5000 service-y reference-test",
            "4 1485467191639875000 4000 service-y preserveParentID-test",
        ]
    );
    assert_eq!(ask(&trial, FINDINGS), [""; 0]);
}

#[test]
fn instants_of_triton_and_tensorrt_llm_become_their_queue_and_compute() {
    if let Some(trial) = loaded("formats", "triton/trace_timestamps_example.json", "triton_trace") {
        assert_eq!(
            ask(&trial, MEASURES),
            ["triton.compute 2653791", "triton.e2e 2857301", "triton.queue 95681"]
        );
    }
    if let Some(trial) = loaded("formats", "tensorrt-llm/perf_metrics_agg_example.json", "trtllm_perf") {
        assert_eq!(
            ask(&trial, MEASURES),
            [
                "trtllm.prefill 20000000",
                "trtllm.preprocess 2000000",
                "trtllm.queue 3000000",
                "trtllm.ttft 27000000",
            ]
        );
    }
}

#[test]
fn the_example_of_the_protocol_is_a_request_at_the_gateway() {
    let Some(trial) = loaded("formats", "otlp-json/otel_proto_example_trace.json", "otlp_json_document")
    else {
        return;
    };
    assert_eq!(
        ask(
            &trial,
            "SELECT concat_ws(' ', hop, trace_id, span_id, parent_span_id, instance) AS row FROM request"
        ),
        ["gateway 5b8efff798038103d269b633813fc60c eee19b7ec3c1b174 eee19b7ec3c1b173 my.service"]
    );
    assert_eq!(ask(&trial, MEASURES), ["span.server 1000000000"]);
}

#[test]
fn the_wait_behind_a_grammar_is_queue_and_only_with_a_grammar() {
    let Some(trial) = loaded("cases", "12-tgi-grammar-queue/tgi.log", "tgi_log") else { return };
    assert_eq!(
        ask(
            &trial,
            "SELECT concat_ws(' ', r.class, m.definition, m.duration_ns) AS row FROM request r JOIN measure m ON m.row = r.row ORDER BY 1"
        ),
        [
            "grammar tgi.queue 161454300714",
            "grammar tgi.validation 5669107",
            "no-grammar tgi.validation 5188854"
        ]
    );
}

#[test]
fn bare_spans_without_a_tool_are_no_trace_format() {
    let Some(cases) = corpora("cases") else { return };
    let trial = Trial::new();
    let files =
        trial.load(&[cases.join("29-negative-latency-clock-skew/spans_derived.jsonl")], &[]).exits(2).json();
    let findings = files[0]["findings"].to_string();
    assert!(findings.contains("format-unknown"), "{files}");
}
