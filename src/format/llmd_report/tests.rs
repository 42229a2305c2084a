use super::*;
use crate::format::testing::{Read, read, recognises};
use crate::row::Table;

const OLD: &str = include_str!("../../../samples/llmd_report/report_0_1.yaml");
const NEW: &str = include_str!("../../../samples/llmd_report/report_0_2_1.yaml");
const JSON: &str = include_str!("../../../samples/llmd_report/report_0_2.json");

fn figures(read: &Read) -> Vec<String> {
    read.rows(Table::Aggregate, &["metric", "statistic", "value", "unit", "n", "definition"])
}

#[track_caller]
fn has(rows: &[String], expected: &[&str]) {
    for row in expected {
        assert!(rows.iter().any(|given| given == row), "{row} in {rows:#?}");
    }
}

#[test]
fn figures_of_0_1_keep_their_units() {
    let read = read(&LlmdReport, OLD);
    assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
    has(
        &figures(&read),
        &[
            "requests|total|33|1|~|",
            "requests|cancelled|1|1|~|",
            "ttft|mean|800.5|ms|32|inference-perf.ttft",
            "ttft|p90|2250|ms|32|inference-perf.ttft",
            "e2e|max|6250|ms|32|inference-perf.latency",
            "tpot|mean|83.5|ms/token|~|",
            "request_rate|value|2.5|1/s|~|",
            "duration|value|12.5|s|~|",
            "service.queue_size|max|7|count|~|",
            "resources.accelerator.0.power|mean|410.02|Watts|~|",
        ],
    );
    has(
        &read.rows(Table::Run, &["key", "value"]),
        &["tool|inference-perf", "model|example/tiny-8b", "engine.0.version|0.9.0"],
    );
}

#[test]
fn figures_of_0_2_1_and_its_components() {
    let read = read(&LlmdReport, NEW);
    assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
    has(
        &figures(&read),
        &[
            "ttft|p99.9|0.75|s|500|vllm-bench.ttft",
            "request_rate|mean|10.25|queries/s|~|",
            "observability.components.engine-0.aggregate.waiting_requests|max|25|count|~|",
            "observability.epp_dispatch_latency.statistics|p99|0.0035|seconds|~|",
        ],
    );
    let facts = read.rows(Table::Run, &["key", "value"]);
    has(
        &facts,
        &["stream|true", "request_rate|10.0", "max_concurrency|.inf", "stage|3", "stack.engine-0.replicas|2"],
    );
    assert!(!facts.iter().any(|fact| fact.contains("hush")), "{facts:#?}");
}

#[test]
fn json_reads_alike_and_unknown_tools_and_versions_are_said() {
    let known = read(&LlmdReport, JSON);
    assert_eq!(known.findings(), Vec::<String>::new());
    has(&figures(&known), &["ttft|mean|0.25|s|8|guidellm.ttft", "duration|value|49.5|s|~|"]);
    let other = read(&LlmdReport, &JSON.replace("guidellm", "homemade").replace("\"0.2\"", "\"9.0\""));
    assert!(!figures(&other).iter().any(|figure| figure.starts_with("ttft") || figure.starts_with("e2e")));
    assert_eq!(
        other.findings(),
        [
            "0 version-unknown version 9.0",
            "0 definition-unknown what time_to_first_token of \"homemade\" means is not known: left out",
        ]
    );
}

#[test]
fn contradictions_are_reported() {
    let text = OLD.replace("stop: 1796073405.0", "stop: 1796073391.0").replace("p10: 72.5", "p10: 2.5");
    assert_eq!(
        read(&LlmdReport, &text).findings(),
        [
            "0 value-impossible the run ends at 1796073391 s, before it starts at 1796073392.5 s",
            "0 value-impossible ttft min 62.5 > p10 2.5: its figures are left out",
        ]
    );
    assert_eq!(read(&LlmdReport, "results: 1\n").counts(), (0, 1));
}

#[test]
fn recognised_with_its_version() {
    for (text, stated) in [(OLD, "0.1"), (NEW, "0.2.1"), (JSON, "0.2")] {
        let Match::Yes { version, .. } = LlmdReport.recognise(&Head::of("", text.as_bytes())) else {
            panic!()
        };
        assert_eq!(version, stated);
    }
    assert!(!recognises(&LlmdReport, "results: 1\nunits: s\n") && !recognises(&LlmdReport, ""));
}
