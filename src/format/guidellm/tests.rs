use super::super::load_tool::tests::{Given, read};
use super::*;
use crate::row::Table;

const SAMPLE: &str = include_str!("../../../samples/guidellm/benchmarks.json");

fn given(text: &str) -> Given {
    read(&Guidellm, text)
}

/// A report of one benchmark with these request lists.
fn report(requests: &str) -> String {
    format!(
        r#"{{"metadata":{{"version":1,"guidellm_version":"0.5.0"}},
"benchmarks":[{{"config":{{"strategy":{{"type_":"constant","rate":2.0}}}},"requests":{requests}}}]}}"#
    )
}

fn request(timings: &str, rest: &str) -> String {
    format!(r#"{{"info":{{"timings":{{{timings}}}{rest}}}}}"#)
}

#[test]
fn the_sample_is_read_to_the_written_digit() {
    let given = given(SAMPLE);
    assert_eq!((given.1, given.2), (6, 0));
    let columns =
        ["line", "item", "response_id", "request_id", "model", "input_tokens", "output_tokens", "streamed"];
    assert_eq!(
        given.get(Table::Request, &columns)[0],
        "1 0 chatcmpl-91d30e89a2e9dc66 - tiny-llama 307 16 true"
    );
    assert_eq!(
        given.get(Table::Mark, &["item", "name", "t_ns", "clock", "resolution_ns"])[..5],
        [
            "0 send 1796075214776433200 epoch:s 1000",
            "0 first_token 1796075215121894100 epoch:s 1000",
            "0 end 1796075215631112300 epoch:s 1000",
            "0 first_chunk 1796075215121790200 epoch:s 1000",
            "0 last_token 1796075215607073000 epoch:s 1000",
        ]
    );
    assert_eq!(
        given.get(Table::Measure, &["definition", "duration_ns", "unit"])[..3],
        ["guidellm.ttft 345460892 ms", "guidellm.ttfo 345460892 ms", "guidellm.latency 854679108 s"]
    );
    let facts = given.get(Table::Run, &["key", "value"]);
    for fact in [
        "tool guidellm",
        "tool_version 0.8.1",
        "stream true",
        "max_concurrency 8",
        "schema_version 2",
        "strategy.type_ concurrent",
        "strategy.max_concurrency 8",
        "profile.kind concurrent",
        "requests_made.successful 40",
        "requests_listed.successful 6",
    ] {
        assert!(facts.contains(&fact.to_owned()), "{fact} is not in {facts:?}");
    }
    assert!(given.get(Table::Finding, &["detail"]).is_empty());
    assert!(!facts.concat().contains("Finish medical"), "a prompt was stored");
}

#[test]
fn a_target_equal_to_the_start_of_a_closed_loop_is_none() {
    let timings = r#""targeted_start":10.0,"request_start":12.0"#;
    let open =
        report(&format!(r#"{{"successful":[{}]}}"#, request(timings, r#","scheduler_start_time":10.0"#)));
    assert_eq!(given(&open).get(Table::Mark, &["name"]), ["send", "scheduled"]);
    assert_eq!(given(&open.replace("constant", "throughput")).get(Table::Mark, &["name"]), ["send"]);
}

#[test]
fn failed_and_incomplete_requests_have_no_zeros() {
    let zeros = r#""request_start":12.5,"first_token_iteration":0.0,"request_end":13.0"#;
    let one = |rest: &str| {
        request(zeros, rest).replacen(
            '{',
            r#"{"output_tokens":0,"time_to_first_token_ms":0.0,"request_latency":0.5,"#,
            1,
        )
    };
    let text = report(&format!(
        r#"{{"successful":null,"errored":[{}],"incomplete":[{}]}}"#,
        one(r#","error":"ReadTimeout""#),
        one("")
    ));
    let given = given(&text);
    assert_eq!(
        given.get(Table::Request, &["line", "item", "outcome", "error", "output_tokens"]),
        ["2 0 error ReadTimeout -", "2 1 cancelled - -"]
    );
    assert_eq!(given.get(Table::Mark, &["name"]), ["send", "end", "send", "end"]);
    assert!(given.get(Table::Measure, &["definition"]).is_empty());
}

#[test]
fn a_benchmark_without_requests_still_counts() {
    let given = given(&report(r#"{"successful":[],"errored":null}"#));
    assert_eq!((given.1, given.2), (1, 0));
    assert!(given.get(Table::Run, &["key", "value"]).contains(&"strategy.rate 2.0".to_owned()));
}

#[test]
fn contradictions_are_findings_with_the_arithmetic() {
    let early = report(&format!(
        r#"{{"successful":[{}]}}"#,
        request(r#""request_start":12.5,"first_token_iteration":12.25,"request_end":13.0"#, "")
    ));
    assert_eq!(
        given(&early).get(Table::Finding, &["code", "detail"]),
        ["value-impossible first_token_ns 12250000000 < send_ns 12500000000: first_token left out"]
    );
    let ttft =
        early.replace("12.25", "12.75").replace(r#"{"info""#, r#"{"time_to_first_token_ms":260,"info""#);
    assert_eq!(
        given(&ttft).get(Table::Finding, &["detail"]),
        ["time_to_first_token_ms 260000000 ns != first_token_iteration - request_start 250000000 ns"]
    );
}

#[test]
fn hostile_files_are_findings_and_the_rest_is_read() {
    let good = request(r#""request_start":12.5"#, "");
    let mixed = report(&format!(
        r#"{{"successful":[7,{good},{{"info":{{"timings":{{"request_end":1e300}}}}}},{{"info":1}}]}}"#
    ));
    let mixed = given(&mixed);
    assert_eq!((mixed.1, mixed.2), (2, 2));
    assert_eq!(mixed.get(Table::Finding, &["item", "code"]), ["0 record-shape", "3 record-shape"]);
    for (text, code) in [
        ("", "truncated"),
        ("{", "truncated"),
        ("{}", "record-shape"),
        ("nonsense", "record-not-json"),
        (r#"{"metadata":{},"metadata":{}}"#, "duplicate-key"),
        (r#"{"metadata":{},"benchmarks":[{}]}"#, "record-shape"),
    ] {
        assert_eq!(given(text).get(Table::Finding, &["code"]), [code], "{text}");
    }
}

const YAML: &str = include_str!("../../../samples/guidellm/benchmarks.yaml");

#[test]
fn yaml_gives_the_rows_of_the_same_json() {
    let (json, yaml) = (given(SAMPLE), given(YAML));
    assert_eq!((yaml.1, yaml.2), (2, 0));
    let columns = ["item", "name", "t_ns", "clock", "resolution_ns"];
    assert_eq!(yaml.get(Table::Mark, &columns)[..], json.get(Table::Mark, &columns)[..10]);
    let columns = ["item", "response_id", "input_tokens", "output_tokens", "streamed"];
    assert_eq!(yaml.get(Table::Request, &columns)[..], json.get(Table::Request, &columns)[..2]);
    assert_eq!(yaml.get(Table::Request, &["line"]), ["0", "0"]);
    for text in ["benchmarks:\n- a: 1\n  a: 2\n", "benchmarks:\n- [\n"] {
        let bad = given(text).get(Table::Finding, &["line", "code"]);
        assert!(bad.len() == 1 && bad[0].ends_with("record-shape"), "{bad:?}");
    }
}

#[test]
fn figures_are_of_the_successful_requests() {
    let figures =
        given(YAML).get(Table::Aggregate, &["metric", "statistic", "value", "unit", "n", "definition"]);
    for expected in [
        "requests completed 40.0 1 - ",
        "requests failed 0.0 1 - ",
        "duration value 15.579418659210205 s - ",
        "ttft mean 2324.2458045482635 ms 40 guidellm.ttft",
        "ttft p99.9 2943.2101249694824 ms 40 guidellm.ttft",
        "ttft p5 601.9573211669922 ms 40 guidellm.ttft",
        "normalized_time_per_output_token mean 177.58058048784733 ms - ",
    ] {
        assert!(figures.iter().any(|figure| figure == expected), "{expected} in {figures:#?}");
    }
    assert!(
        !figures.iter().any(|figure| figure.starts_with("ttft min 0")),
        "zeros of a status without requests"
    );
}

#[test]
fn a_benchmark_where_nothing_succeeded_has_no_score() {
    let zeros = r#"{"successful":{"mean":0.0,"min":0.0,"count":0,"percentiles":{"p50":0.0}}}"#;
    let text = report("{}").replace(
        r#""requests""#,
        &format!(
            r#""metrics":{{"request_totals":{{"successful":0,"errored":5}},"time_to_first_token_ms":{zeros},
            "request_latency":{zeros}}},"requests""#
        ),
    );
    let given = given(&text);
    assert_eq!(
        given.get(Table::Aggregate, &["metric", "statistic"]),
        ["requests completed", "requests failed"]
    );
    assert_eq!(
        given.get(Table::Finding, &["code", "detail"]),
        ["value-impossible ttft mean 0 over 0 requests: its figures are left out"]
    );
}

#[test]
fn an_unknown_schema_is_read_with_a_warning() {
    let text = report("{}").replace(r#""version":1"#, r#""version":9"#);
    assert_eq!(given(&text).get(Table::Finding, &["code"]), ["version-unknown"]);
}

#[test]
fn the_version_is_stated_and_other_files_are_not_recognised() {
    let says = |text: &str| Guidellm.recognise(&Head::of("x", text.as_bytes()));
    let because = "metadata.guidellm_version, benchmarks";
    assert_eq!(says(SAMPLE), Match::Yes { version: "0.8.1".into(), because });
    let sorted = Match::Yes {
        version: "0.8.1".into(),
        because: "benchmarks with strategy, run_index, prefer_response_metrics",
    };
    assert_eq!(says(YAML), sorted);
    assert_eq!(says(&report("{}")), Match::Yes { version: "0.5.0".into(), because });
    for other in ["", "{}", "garbage", r#"["guidellm_version","benchmarks"]"#] {
        assert_eq!(says(other), Match::No, "{other}");
    }
}
