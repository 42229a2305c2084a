use super::super::load_tool::tests::{Given, read};
use super::*;
use crate::row::Table;

const SAMPLE: &str = include_str!("../../../samples/aiperf/profile_export.jsonl");

fn given(text: &str) -> Given {
    read(&Aiperf, text)
}

/// The first line of the sample with one piece of its text replaced.
fn with(from: &str, to: &str) -> Given {
    let line = SAMPLE.lines().next().unwrap();
    assert!(line.contains(from), "{from}");
    given(&line.replacen(from, to, 1))
}

#[test]
fn a_real_line_is_read_to_the_nanosecond() {
    let all = given(SAMPLE);
    assert_eq!((all.1, all.2, SAMPLE.lines().count()), (12, 0, 12));
    let first = given(SAMPLE.lines().next().unwrap());
    assert_eq!(
        first.get(
            Table::Request,
            &["request_id", "phase", "input_tokens", "output_tokens", "status", "outcome", "streamed"]
        ),
        ["3d53520e-350b-451a-b1a6-1f16ff6b12c2 profiling 335 16 - ok true"]
    );
    assert_eq!(
        first.get(Table::Mark, &["name", "t_ns", "clock"]),
        [
            "send 1796076429387634468 epoch:s",
            "first_token 1796076429740655890 epoch:s",
            "end 1796076430149010352 epoch:s",
            "headers 1796076429409706991 epoch:s",
            "scheduled 1796076429381593512 epoch:s",
        ]
    );
    assert_eq!(
        first.get(Table::Measure, &["definition", "duration_ns", "unit"]),
        [
            "aiperf.ttft 353021422 ms",
            "aiperf.latency 760928420 ms",
            "aiperf.ttfo 353021422 ms",
            "aiperf.blocked 0 ms",
            "aiperf.connecting 7969377 ms",
            "aiperf.sending 9461340 ms",
            "aiperf.waiting 343076640 ms",
        ]
    );
    assert!(all.get(Table::Finding, &["detail"]).is_empty());
}

#[test]
fn the_unit_is_read_and_not_assumed() {
    let ttft = r#""time_to_first_token":{"value":353.021422,"unit":"ms"}"#;
    for (value, unit, ns) in [("353021.422", "us", 353_021_422), ("0.353021422", "sec", 353_021_422)] {
        let given = with(ttft, &format!(r#""time_to_first_token":{{"value":{value},"unit":"{unit}"}}"#));
        let measures = given.get(Table::Measure, &["definition", "duration_ns"]);
        assert!(measures.contains(&format!("aiperf.ttft {ns}")), "{measures:?}");
    }
    let unknown = with(ttft, r#""time_to_first_token":{"value":353.0,"unit":"jiffies"}"#);
    assert!(!unknown.get(Table::Mark, &["name"]).contains(&"first_token".to_owned()));
}

#[test]
fn failures_have_their_reason_and_no_first_token() {
    let failed = given(
        r#"{"metadata":{"x_request_id":"r","benchmark_phase":"warmup","credit_issued_ns":4,"request_start_ns":5,
        "request_end_ns":9,"was_cancelled":false},"metrics":{"error_isl":{"value":1,"unit":"tokens"}},
        "error":{"code":503,"type":"HTTPError","message":"overloaded"}}"#
            .replace('\n', "")
            .as_str(),
    );
    assert_eq!(
        failed.get(Table::Request, &["phase", "status", "outcome", "error", "streamed"]),
        ["warmup 503 error HTTPError: overloaded -"]
    );
    assert_eq!(failed.get(Table::Mark, &["name"]), ["send", "end", "scheduled"]);
    let cancelled = with(r#""was_cancelled":false"#, r#""was_cancelled":true"#);
    assert_eq!(cancelled.get(Table::Request, &["outcome"]), ["cancelled"]);
}

#[test]
fn contradictions_are_findings_with_the_arithmetic() {
    let identity = with(r#""request_latency":{"value":760.92842"#, r#""request_latency":{"value":760.93042"#);
    assert_eq!(
        identity.get(Table::Finding, &["code", "detail"]),
        ["value-impossible time_to_first_token + sum(inter_chunk_latency) 760928420 ns \
          != request_latency 760930420 ns"]
    );
    let negative = with(r#""http_req_waiting":{"value":343"#, r#""http_req_waiting":{"value":-343"#);
    assert_eq!(negative.get(Table::Finding, &["detail"]), ["http_req_waiting -343076640 ns < 0: left out"]);
    let late = with("\"request_end_ns\":1796076430149010352", "\"request_end_ns\":1796076429387634469");
    assert!(late.get(Table::Finding, &["detail"]).iter().any(|d| d.ends_with("end left out")));
}

#[test]
fn what_is_not_a_record_is_refused_with_a_code() {
    for (text, code) in [
        ("{", "record-not-json"),
        ("[]", "record-shape"),
        ("{}", "record-shape"),
        (r#"{"metadata":{},"metrics":{}}"#, "record-shape"),
        (r#"{"metadata":{},"metadata":{}}"#, "duplicate-key"),
        (r#"{"metadata":{"was_cancelled":"no"}}"#, "record-shape"),
        (r#"{"metadata":{"credit_issued_ns":NaN}}"#, "record-not-json"),
    ] {
        let given = given(text);
        assert_eq!((given.1, given.2), (0, 1), "{text}");
        assert_eq!(given.get(Table::Finding, &["code"]), [code], "{text}");
    }
    let huge = given(
        r#"{"metadata":{"x_request_id":"r","request_start_ns":1e300,"request_end_ns":99999999999999999999}}"#,
    );
    assert!(huge.get(Table::Mark, &["name"]).is_empty());
}

#[test]
fn only_its_own_lines_are_recognised() {
    let says = |text: &str| Aiperf.recognise(&Head::of("x", text.as_bytes())) != Match::No;
    assert!(says(SAMPLE) && says(&format!("garbage\n{SAMPLE}")));
    assert!(!says("") && !says("{}") && !says(r#"{"metadata":{"x_request_id":"a"},"metrics":{}}"#));
}
