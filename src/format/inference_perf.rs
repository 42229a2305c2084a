//! `inference-perf` lifecycle reports (`stage_N_lifecycle_metrics`, `summary_lifecycle_metrics`): figures over all
//! requests of a load stage as the load generator's workers saw them, JSON or YAML, in seconds.
//!
//! TTFT runs from the dispatch by a worker, so a cap on requests in flight hides waiting in `schedule_delay`, which
//! is negative when a request went out a little early. Which stage a report is about stands in the file's name only:
//! it is kept as a label (`stage`) and decides nothing.

use super::figures::{self, Of};
use super::{Context, Format, Match, Reader, tree};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde_json::{Map, Value};

/// The lifecycle reports of inference-perf.
pub struct InferencePerf;

/// A latency's key, metric and definition. Tokens are the tool's own count of the text, so metrics a token have no n.
const LATENCY: [(&str, &str, &str); 5] = [
    ("request_latency", "e2e", "inference-perf.latency"),
    ("time_to_first_token", "ttft", "inference-perf.ttft"),
    ("time_per_output_token", "tpot", ""),
    ("inter_token_latency", "itl", ""),
    ("normalized_time_per_output_token", "normalized_time_per_output_token", ""),
];

/// A rate's key and metric; all are per second.
const THROUGHPUT: [(&str, &str); 4] = [
    ("requests_per_sec", "request_throughput"),
    ("input_tokens_per_sec", "input_throughput"),
    ("output_tokens_per_sec", "output_throughput"),
    ("total_tokens_per_sec", "total_token_throughput"),
];

/// Token counts of requests; `prompt_len` became `prompt_tokens`, which also has totals.
const TOKENS: [(&str, &str); 4] = [
    ("prompt_len", "input_tokens"),
    ("prompt_tokens", "input_tokens"),
    ("output_len", "output_tokens"),
    ("output_tokens", "server_output_tokens"),
];

impl Format for InferencePerf {
    fn id(&self) -> &'static str {
        "inference_perf"
    }

    fn title(&self) -> &'static str {
        "inference-perf lifecycle report"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["client_wait", "aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["load_summary", "successes", "failures"];
        let ours = keys.iter().all(|key| tree::top(head, key)) && head.contains("schedule_delay");
        Match::when(ours, "load_summary.schedule_delay, successes, failures")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let stage = stage(&cx.name);
        Reader::Document(Box::new(move |bytes, rows| {
            if let Some(report) = tree::parse(bytes, rows) {
                read(&report, stage.as_deref(), rows);
            }
        }))
    }
}

/// The stage a file name tells: `stage_3_lifecycle_metrics.json` is 3, `summary_…` is `summary`.
pub(super) fn stage(name: &str) -> Option<String> {
    if name.contains("summary_") {
        return Some("summary".to_owned());
    }
    let rest = name.split_once("stage_")?.1;
    let digits = rest.split('_').next()?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.to_owned())
}

/// An object below an object, empty where there is none.
pub(super) fn object<'a>(parent: &'a Value, key: &str) -> &'a Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    parent.get(key).and_then(Value::as_object).unwrap_or(&EMPTY)
}

fn read(report: &Value, stage: Option<&str>, rows: &mut Rows) {
    let place = Place::FILE;
    let [load, done, failed] = ["load_summary", "successes", "failures"].map(|key| &report[key]);
    if !(load.is_object() && done.is_object()) {
        return rows.refuse(Code::RecordShape, place, "load_summary and successes are not both objects");
    }
    rows.read += 1;
    rows.run(place, "tool", "inference-perf");
    if let Some(stage) = stage {
        rows.run(place, "stage", stage);
    }
    let completed = done["count"].as_i64();
    let scalars = [
        ("requests", "total", "1", &load["count"]),
        ("requests", "completed", "1", &done["count"]),
        // The older report has no count of failures: it then is all the requests less the good ones.
        ("requests", "failed", "1", &failed["count"]),
        ("request_rate_offered", "value", "1/s", &load["requested_rate"]),
        ("request_rate", "value", "1/s", &load["achieved_rate"]),
        ("concurrency", "limit", "1", &load["concurrency"]),
        ("send_duration", "value", "s", &load["send_duration"]),
        ("duration", "value", "s", &report["benchmark_time_seconds"]),
        ("token_count_mismatches", "count", "1", &done["token_count_mismatches"]),
    ];
    for (metric, statistic, unit, value) in scalars {
        if let Some(value) = value.as_f64() {
            figures::one(rows, place, Of { metric, unit, ..Of::default() }, statistic, value);
        }
    }
    let delay = Of {
        metric: "schedule_delay",
        unit: "s",
        n: load["count"].as_i64(),
        definition: "inference-perf.schedule_delay",
    };
    figures::add(rows, place, delay, object(load, "schedule_delay"));
    for (key, metric, definition) in LATENCY {
        let n = completed.filter(|_| !definition.is_empty());
        figures::add(rows, place, Of { metric, unit: "s", n, definition }, object(&done["latency"], key));
    }
    for (key, metric) in THROUGHPUT {
        if let Some(value) = done["throughput"][key].as_f64() {
            figures::one(rows, place, Of { metric, unit: "1/s", ..Of::default() }, "value", value);
        }
    }
    for (key, metric) in TOKENS {
        figures::add(rows, place, Of { metric, unit: "1", n: completed, definition: "" }, object(done, key));
    }
    if let Some(cached) = done["prompt_tokens"]["cached"].as_f64() {
        figures::one(
            rows,
            place,
            Of { metric: "cached_tokens", unit: "1", ..Of::default() },
            "total",
            cached,
        );
    }
    // The time to a failure says nothing of the time to an answer: a metric of its own.
    let of = Of { metric: "failed_latency", unit: "s", n: failed["count"].as_i64(), definition: "" };
    figures::add(rows, place, of, object(failed, "request_latency"));
    for (label, error) in object(failed, "by_label") {
        if let Some(count) = error["count"].as_f64() {
            let metric = format!("failed: {}", super::load_tool::cut(label, 80));
            figures::one(rows, place, Of { metric: &metric, unit: "1", ..Of::default() }, "count", count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{context, read, read_as, recognises};
    use crate::row::Table;

    const STAGE: &str = include_str!("../../samples/inference_perf/stage_1_lifecycle_metrics.json");
    const YAML: &str = include_str!("../../samples/inference_perf/summary_lifecycle_metrics.yaml");

    fn figures(text: &str, metric: &str) -> Vec<String> {
        let rows = read(&InferencePerf, text)
            .rows(Table::Aggregate, &["metric", "statistic", "value", "unit", "n", "definition"]);
        rows.into_iter().filter(|row| row.starts_with(&format!("{metric}|"))).collect()
    }

    #[test]
    fn a_stage_gives_rates_delays_and_latencies_with_their_definitions() {
        assert_eq!(
            figures(STAGE, "requests"),
            ["requests|total|240|1|~|", "requests|completed|236|1|~|", "requests|failed|4|1|~|"]
        );
        assert_eq!(figures(STAGE, "request_rate_offered"), ["request_rate_offered|value|8|1/s|~|"]);
        assert_eq!(figures(STAGE, "request_rate"), ["request_rate|value|5.5|1/s|~|"]);
        assert_eq!(
            figures(STAGE, "schedule_delay")[1],
            "schedule_delay|mean|6.25|s|240|inference-perf.schedule_delay"
        );
        assert_eq!(figures(STAGE, "ttft")[1], "ttft|mean|1.875|s|236|inference-perf.ttft");
        assert_eq!(figures(STAGE, "tpot")[0], "tpot|max|0.0625|s|~|");
        assert_eq!(figures(STAGE, "failed_latency")[1], "failed_latency|mean|30.5|s|4|");
        assert_eq!(figures(STAGE, "failed: 504 - Gateway Timeout").len(), 1);
        let all = read(&InferencePerf, STAGE).rows(Table::Finding, &["detail"]);
        assert_eq!(all, Vec::<String>::new());
    }

    #[test]
    fn a_delay_may_be_negative_and_yaml_reads_alike() {
        assert_eq!(
            figures(YAML, "schedule_delay")[3],
            "schedule_delay|min|-0.001|s|12|inference-perf.schedule_delay"
        );
        assert_eq!(figures(YAML, "cached_tokens"), ["cached_tokens|total|640|1|~|"]);
    }

    #[test]
    fn the_stage_is_a_label_from_the_name() {
        let cx = Context { name: "stage_12_lifecycle_metrics.json".to_owned(), ..context(&InferencePerf) };
        let rows = read_as(&InferencePerf, &cx, STAGE).rows(Table::Run, &["key", "value"]);
        assert_eq!(rows, ["tool|inference-perf", "stage|12"]);
        assert_eq!(stage("run-summary_lifecycle_metrics.json").as_deref(), Some("summary"));
        assert_eq!((stage("a.json"), stage("stage_x_a.json"), stage("stage_")), (None, None, None));
    }

    #[test]
    fn nothing_good_is_no_score() {
        let text = r#"{"load_summary":{"count":9,"schedule_delay":null},"failures":{"count":9},
            "successes":{"count":0,"latency":{"time_to_first_token":{"mean":0.0,"max":0.0}}}}"#;
        assert_eq!(figures(text, "ttft"), Vec::<String>::new());
        assert_eq!(
            read(&InferencePerf, text).findings(),
            ["0 value-impossible ttft max 0 over 0 requests: its figures are left out"]
        );
        assert_eq!(read(&InferencePerf, r#"{"load_summary":[],"successes":1}"#).counts(), (0, 1));
    }

    #[test]
    fn recognised_by_its_sections() {
        assert!(recognises(&InferencePerf, STAGE) && recognises(&InferencePerf, YAML));
        for other in ["", r#"{"load_summary":{},"successes":{},"failures":{}}"#, "load_summary: 1\n"] {
            assert!(!recognises(&InferencePerf, other), "{other}");
        }
    }
}
