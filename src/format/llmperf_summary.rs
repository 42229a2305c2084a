//! `LLMPerf` summary (`*_summary.json`): flat keys `results_<metric>_<statistic>`, seconds.
//!
//! `inter_token_latency_s` is the latency over the tokens, first token included: times the output tokens it is the
//! latency. It is kept as what it is, not as an inter-token latency. Statistics are over completed requests only.

use super::figures::{self, Of, fact};
use super::{Context, Format, Match, Reader, tree};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde_json::Value;

/// The summary of `LLMPerf`.
pub struct LlmperfSummary;

/// Versions of the summary that were read for this.
const VERSIONS: [&str; 1] = ["2023-08-31"];

/// The tool's metric, the metric, its unit and definition.
const METRICS: [(&str, &str, &str, &str); 6] = [
    ("ttft_s", "ttft", "s", "llmperf.ttft"),
    ("end_to_end_latency_s", "e2e", "s", "llmperf.latency"),
    ("inter_token_latency_s", "normalized_time_per_output_token", "s", ""),
    ("request_output_throughput_token_per_s", "request_output_throughput", "1/s", ""),
    ("number_input_tokens", "input_tokens", "1", ""),
    ("number_output_tokens", "output_tokens", "1", ""),
];

/// Figures without a statistic in their key: key, metric, statistic, unit.
const PLAIN: [(&str, &str, &str, &str); 6] = [
    ("num_concurrent_requests", "concurrency", "limit", "1"),
    ("results_num_requests_started", "requests", "total", "1"),
    ("results_num_completed_requests", "requests", "completed", "1"),
    ("results_number_errors", "requests", "failed", "1"),
    ("results_mean_output_throughput_token_per_s", "output_throughput", "mean", "1/s"),
    ("results_num_completed_requests_per_min", "request_throughput", "value", "1/min"),
];

/// Facts of the run: key, and name shared by all tools.
const FACTS: [(&str, &str); 8] = [
    ("version", "tool_version"),
    ("model", "model"),
    ("framework", "backend"),
    ("num_concurrent_requests", "max_concurrency"),
    ("mean_input_tokens", "mean_input_tokens"),
    ("mean_output_tokens", "mean_output_tokens"),
    ("results_error_code_frequency", "error_code_frequency"),
    ("timestamp", "timestamp"),
];

impl Format for LlmperfSummary {
    fn id(&self) -> &'static str {
        "llmperf_summary"
    }

    fn title(&self) -> &'static str {
        "LLMPerf summary"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys =
            ["results_ttft_s_mean", "results_num_requests_started", "results_end_to_end_latency_s_mean"];
        if head.first_byte() != Some(b'{') || !keys.iter().all(|key| tree::top(head, key)) {
            return Match::No;
        }
        let text = String::from_utf8_lossy(&head.bytes);
        let stated = text.split_once("\"version\"").and_then(|(_, rest)| rest.split('"').nth(1));
        let version = super::load_tool::cut(stated.unwrap_or(""), 40).to_owned();
        Match::Yes { version, because: "results_ttft_s_mean, results_num_requests_started" }
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Document(Box::new(|bytes, rows| {
            if let Some(summary) = tree::parse(bytes, rows) {
                read(&summary, rows);
            }
        }))
    }
}

/// A number, or the string that the tool writes for numpy integers.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|number| number.is_finite())
}

fn read(summary: &Value, rows: &mut Rows) {
    let place = Place::FILE;
    let Some(fields) = summary.as_object() else {
        return rows.refuse(Code::RecordShape, place, "not an object");
    };
    rows.read += 1;
    rows.run(place, "tool", "llmperf");
    for (key, name) in FACTS {
        tree::scalars(&summary[key], name, &mut |name, value| fact(rows, place, name, value));
    }
    if let Some(version) = summary["version"].as_str()
        && !VERSIONS.contains(&version)
    {
        rows.finding(Code::VersionUnknown, place, &format!("version {version}"));
    }
    for (key, metric, statistic, unit) in PLAIN {
        if let Some(value) = number(&summary[key]) {
            figures::one(rows, place, Of { metric, unit, ..Of::default() }, statistic, value);
        }
    }
    let completed = summary["results_num_completed_requests"].as_i64();
    for (name, metric, unit, definition) in METRICS {
        let prefix = format!("results_{name}_");
        let numbers: Vec<_> = fields
            .iter()
            .filter_map(|(key, value)| {
                let statistic = key.strip_prefix(&prefix)?;
                let statistic = statistic.strip_prefix("quantiles_").unwrap_or(statistic);
                Some((figures::statistic(statistic)?, number(value)?))
            })
            .collect();
        figures::add_all(rows, place, Of { metric, unit, n: completed, definition }, &numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/llmperf_summary/summary.json");

    #[test]
    fn figures_are_over_the_completed_requests() {
        let read = read(&LlmperfSummary, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
        let rows = read.rows(Table::Aggregate, &["metric", "statistic", "value", "unit", "n", "definition"]);
        for expected in [
            "concurrency|limit|5|1|~|",
            "requests|completed|2|1|~|",
            "requests|failed|2|1|~|",
            "request_throughput|value|80.5|1/min|~|",
            "ttft|mean|0.2739889007|s|2|llmperf.ttft",
            "ttft|p99|0.29749802|s|2|llmperf.ttft",
            "ttft|std|0.0339254281|s|2|llmperf.ttft",
            "normalized_time_per_output_token|mean|0.0079|s|2|",
            "input_tokens|max|550|1|2|",
        ] {
            assert!(rows.iter().any(|row| row == expected), "{expected} in {rows:#?}");
        }
        let run = read.rows(Table::Run, &["key", "value"]);
        assert!(
            run.contains(&"max_concurrency|5".to_owned()) && run.contains(&"model|example-70b".to_owned())
        );
    }

    #[test]
    fn another_version_is_read_with_a_warning() {
        let read = read(&LlmperfSummary, &SAMPLE.replace("2023-08-31", "2030-01-01"));
        assert_eq!(
            (read.counts(), read.findings()),
            ((1, 0), vec!["0 version-unknown version 2030-01-01".to_owned()])
        );
    }

    #[test]
    fn recognised_by_its_keys() {
        assert!(recognises(&LlmperfSummary, SAMPLE));
        assert!(!recognises(&LlmperfSummary, r#"{"results_ttft_s_mean": 1}"#));
    }
}
