//! `inference-perf` Prometheus reports (`stage_N_prometheus_metrics.json`): what the model server's own metrics say of
//! a load stage. Seconds.
//!
//! The window of the query is wider than the stage, so counts can be a multiple of the client's; a metric the server
//! does not have is written 0. Percentiles are interpolated inside buckets. Where the stage stands: see
//! [`super::inference_perf`].

use super::figures::{self, Of};
use super::inference_perf::{object, stage};
use super::{Context, Format, Match, Reader, tree};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde_json::{Map, Value};

/// The server side reports of inference-perf.
pub struct InferencePerfPrometheus;

/// Key, metric, unit and definition. What is not listed keeps the tool's own name, and its unit is not stated.
const METRICS: [(&str, &str, &str, &str); 13] = [
    ("request_latency", "e2e", "s", "inference-perf.server_latency"),
    ("time_to_first_token", "ttft", "s", "inference-perf.server_ttft"),
    ("time_per_output_token", "tpot", "s", ""),
    ("inter_token_latency", "itl", "s", ""),
    ("request_queue_time", "queue_time", "s", "inference-perf.server_queue"),
    ("request_prefill_time", "prefill_time", "s", "inference-perf.server_prefill"),
    ("request_inference_time", "inference_time", "s", ""),
    ("request_decode_time", "decode_time", "s", ""),
    ("prompt_len", "input_tokens", "1", ""),
    ("output_len", "output_tokens", "1", ""),
    ("queue_len", "queue_length", "1", ""),
    ("num_requests_running", "requests_running", "1", ""),
    ("kv_cache_usage_percentage", "kv_cache_usage", "", ""),
];

impl Format for InferencePerfPrometheus {
    fn id(&self) -> &'static str {
        "inference_perf_prometheus"
    }

    fn title(&self) -> &'static str {
        "inference-perf Prometheus report"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate", "resources"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["load_summary", "successes", "failures", "queue_len", "rate"];
        let json = head.first_byte() == Some(b'{') && keys.iter().all(|key| tree::top(head, key));
        Match::when(json && !head.contains("schedule_delay"), "successes.queue_len, successes.rate, failures")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let stage = stage(&cx.name);
        Reader::Document(Box::new(move |bytes, rows| {
            let Some(report) = tree::parse(bytes, rows) else { return };
            let done = object(&report, "successes");
            if done.is_empty() {
                return rows.refuse(
                    Code::RecordShape,
                    Place::FILE,
                    "successes is not an object with metrics",
                );
            }
            rows.run(Place::FILE, "tool", "inference-perf");
            if let Some(stage) = stage {
                rows.run(Place::FILE, "stage", &stage);
            }
            read(done, rows);
        }))
    }
}

fn read(done: &Map<String, Value>, rows: &mut Rows) {
    let place = Place::FILE;
    rows.read += 1;
    let n = done.get("count").and_then(Value::as_i64);
    for (key, value) in done {
        if let Some(number) = value.as_f64() {
            let (metric, statistic, unit) = match key.as_str() {
                "count" => ("requests", "completed", "1"),
                "rate" => ("request_rate", "value", "1/s"),
                other => (other, "value", ""),
            };
            figures::one(rows, place, Of { metric, unit, ..Of::default() }, statistic, number);
        }
        let Some(fields) = value.as_object() else { continue };
        let known = METRICS.iter().find(|(name, ..)| name == key);
        let (metric, unit, definition) = known.map_or((key.as_str(), "", ""), |(_, m, u, d)| (*m, *u, *d));
        let n = n.filter(|_| !definition.is_empty());
        figures::add(rows, place, Of { metric, unit, n, definition }, fields);
        if let Some(rate) = fields.get("rate").and_then(Value::as_f64) {
            figures::one(rows, place, Of { metric, unit: "1/s", ..Of::default() }, "rate", rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str =
        include_str!("../../samples/inference_perf_prometheus/stage_1_prometheus_metrics.json");

    #[test]
    fn the_servers_figures_have_the_servers_definitions() {
        let read = read(&InferencePerfPrometheus, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
        let rows = read.rows(Table::Aggregate, &["metric", "statistic", "value", "unit", "n", "definition"]);
        for expected in [
            "requests|completed|462|1|~|",
            "request_rate|value|7.25|1/s|~|",
            "ttft|mean|1.5|s|462|inference-perf.server_ttft",
            "queue_time|p99|2.5|s|462|inference-perf.server_queue",
            "queue_length|mean|17|1|~|",
            "input_tokens|rate|1640.5|1/s|~|",
            "kv_cache_usage|mean|0||~|",
            "request_success_count|value|462||~|",
        ] {
            assert!(rows.iter().any(|row| row == expected), "{expected} in {rows:#?}");
        }
    }

    #[test]
    fn recognised_apart_from_the_lifecycle_report() {
        assert!(recognises(&InferencePerfPrometheus, SAMPLE));
        let lifecycle = include_str!("../../samples/inference_perf/stage_1_lifecycle_metrics.json");
        assert!(!recognises(&InferencePerfPrometheus, lifecycle));
        let bad = r#"{"load_summary":{},"successes":[],"failures":{}}"#;
        assert_eq!(super::super::testing::read(&InferencePerfPrometheus, bad).counts(), (0, 1));
    }
}
