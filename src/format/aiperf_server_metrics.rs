//! `AIPerf`'s `server_metrics_export.jsonl`: what it scraped from the server's Prometheus endpoint, one line a scrape,
//! stamped with the wall clock of the load generator.
//!
//! Values are as the server gave them, counters and buckets cumulative. Names are as in the file: `AIPerf` takes `_total` off
//! the names of counters.

use super::{Context, Format, Match, Reader, json};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The scrapes of `AIPerf`.
pub struct AiperfServerMetrics;

impl Format for AiperfServerMetrics {
    fn id(&self) -> &'static str {
        "aiperf_server_metrics"
    }

    fn title(&self) -> &'static str {
        "AIPerf server_metrics_export.jsonl"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["resources"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours =
            |line: &str| json::record::<Scrape>(line).is_ok_and(|scrape| scrape.timestamp_ns.int().is_some());
        // One scrape of a large server can be longer than the head.
        let cut = head.lines().next().is_some_and(|line| {
            ["{\"endpoint_url\":", "\"timestamp_ns\":", "\"metrics\":{"].iter().all(|key| line.contains(key))
        });
        Match::when(cut || head.lines().take(5).any(ours), "endpoint_url, timestamp_ns, metrics")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let clock = cx.epoch();
        Reader::Lines(Box::new(move |line, rows| match json::record::<Scrape>(line.text) {
            Ok(scrape) => scrape.read(line.place, &clock, rows),
            Err((code, detail)) => line.refuse(rows, code, &detail),
        }))
    }
}

#[derive(Deserialize)]
struct Scrape<'a> {
    #[serde(borrow)]
    endpoint_url: json::Borrowed<'a>,
    #[serde(borrow)]
    timestamp_ns: json::Raw<'a>,
    #[serde(borrow)]
    metrics: BTreeMap<String, Vec<&'a RawValue>>,
}

/// A sample of a family: a value, or a histogram under either name of its buckets.
#[derive(Deserialize)]
struct Sample<'a> {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(borrow, default)]
    value: json::Raw<'a>,
    #[serde(borrow, default, alias = "histogram")]
    buckets: BTreeMap<String, json::Raw<'a>>,
    #[serde(borrow, default)]
    sum: json::Raw<'a>,
    #[serde(borrow, default)]
    count: json::Raw<'a>,
}

impl Scrape<'_> {
    fn read(&self, place: Place, clock: &str, rows: &mut Rows) {
        let Some(t_ns) = self.timestamp_ns.int().filter(|t| *t > 0) else {
            return rows.refuse(Code::RecordShape, place, "timestamp_ns is no time");
        };
        let mut item = 0;
        for (name, samples) in &self.metrics {
            for sample in samples {
                let place = Place::item(place.line, item);
                item += 1;
                match json::record::<Sample>(sample.get()) {
                    Ok(sample) => self.sample(name, sample, t_ns, clock, place, rows),
                    Err((code, detail)) => rows.refuse(code, place, &detail),
                }
            }
        }
    }

    fn sample(&self, name: &str, sample: Sample, t_ns: i64, clock: &str, place: Place, rows: &mut Rows) {
        let Sample { mut labels, value, buckets, sum, count } = sample;
        labels.entry("instance".to_owned()).or_insert_with(|| self.endpoint_url.to_string());
        let number =
            |raw: json::Raw| raw.text().and_then(|text| text.parse::<f64>().ok()).filter(|v| !v.is_nan());
        let mut add = |name: &str, labels: &BTreeMap<String, String>, raw: json::Raw| {
            if let Some(value) = number(raw) {
                rows.sample(place, name, &joined(labels), t_ns, clock, value);
            }
        };
        add(name, &labels, value);
        add(&format!("{name}_sum"), &labels, sum);
        add(&format!("{name}_count"), &labels, count);
        for (le, raw) in buckets {
            labels.insert("le".to_owned(), le);
            add(&format!("{name}_bucket"), &labels, raw);
        }
    }
}

/// Labels as every series has them: `k="v",…` by key, escaped as in the exposition format.
fn joined(labels: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (name, value) in labels {
        let comma = if text.is_empty() { "" } else { "," };
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(text, "{comma}{name}=\"{value}\"");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/aiperf_server_metrics/server_metrics_export.jsonl");

    #[test]
    fn values_and_histograms_become_series() {
        let read = read(&AiperfServerMetrics, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((16, 0), vec![]));
        let series =
            read.rows(Table::Series, &["line", "item", "metric", "labels", "t_ns", "clock", "value"]);
        let clock = "epoch:0123456789ab";
        for sample in [
            format!(
                "1|0|vllm:num_requests_running|instance=\"http://127.0.0.1:8080/metrics\",model_name=\"tiny-llama\"|\
                 1796076430000000001|{clock}|1"
            ),
            format!(
                "1|2|vllm:time_to_first_token_seconds_bucket|\
                 instance=\"http://127.0.0.1:8080/metrics\",le=\"+Inf\",model_name=\"tiny-llama\"|\
                 1796076430000000001|{clock}|3"
            ),
        ] {
            assert!(series.contains(&sample), "{sample}: {series:#?}");
        }
        assert!(series.iter().any(|s| s.contains("time_to_first_token_seconds_sum") && s.ends_with("|0.91")));
        assert!(
            series.iter().any(|s| s.starts_with("2|") && s.contains("le=\"0.5\"")),
            "the older name of buckets"
        );
    }

    #[test]
    fn bad_scrapes_are_refused_one_by_one() {
        let line = r#"{"endpoint_url":"u","timestamp_ns":0,"metrics":{}}"#;
        let text = format!(
            "{line}\n{{\"a\":\n{}",
            line.replace(":0,", ":5,").replace("{}", r#"{"m":[3,{"value":2}]}"#)
        );
        let read = read(&AiperfServerMetrics, &text);
        assert_eq!(read.counts(), (1, 3));
        assert!(recognises(&AiperfServerMetrics, SAMPLE));
        assert!(!recognises(&AiperfServerMetrics, "{\"timestamp_ns\":1,\"metrics\":{}}\n"));
    }
}
