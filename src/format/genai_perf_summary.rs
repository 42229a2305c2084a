//! `GenAI-Perf`'s `profile_export_genai_perf.json` and `.csv`: figures of a run with their units, and what was asked for.

use super::load_tool::cut;
use super::perf_summary::{self, GENAI_PERF, Metric, is_percentile};
use super::{Context, Format, Match, Reader, json};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The summary of a run of `GenAI-Perf`.
pub struct GenaiPerfSummary;

/// Longest value of a fact, in characters.
const FACT_CHARS: usize = 200;

/// Facts of the run by their path, in the configuration of newer and older versions; our key.
const FACTS: [(&str, &str); 10] = [
    ("/concurrency", "max_concurrency"),
    ("/endpoint/streaming", "stream"),
    ("/endpoint_type", "backend"),
    ("/formatted_model_name", "model"),
    ("/model_names/0", "model"),
    ("/perf_analyzer/stimulus/concurrency", "max_concurrency"),
    ("/perf_analyzer/stimulus/request_rate", "request_rate"),
    ("/request_count", "num_prompts"),
    ("/request_rate", "request_rate"),
    ("/streaming", "stream"),
];

impl Format for GenaiPerfSummary {
    fn id(&self) -> &'static str {
        "genai_perf_summary"
    }

    fn title(&self) -> &'static str {
        "GenAI-Perf profile_export_genai_perf.json and .csv"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let first = head.lines().next().unwrap_or_default().trim_start_matches('\u{feff}');
        if first.starts_with("Metric,avg,min,max,p99,") {
            return Match::yes("header Metric,avg,min,max,p99,\u{2026}");
        }
        let keys = ["\"request_latency\"", "\"input_config\"", "\"unit\""];
        let others = ["\"aiperf_version\"", "\"timeslices\"", "\"schema_version\"", "\"credit_issued_ns\""];
        let ours = head.first_byte() == Some(b'{')
            && keys.iter().all(|key| head.contains(key))
            && !others.iter().any(|key| head.contains(key));
        Match::when(ours, "request_latency with unit, input_config")
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Document(Box::new(|bytes, rows| {
            let Some((text, _)) = line_text(bytes) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            let text = text.trim_start_matches('\u{feff}');
            if !text.trim_start().starts_with('{') {
                return perf_summary::tables(text, "genai-perf", GENAI_PERF, rows);
            }
            match json::record::<json::Fields>(text) {
                Ok(fields) => summary(&fields, rows),
                Err((code, detail)) => rows.refuse(code, Place::FILE, &detail),
            }
        }))
    }
}

/// A metric with everything it states.
#[derive(Deserialize)]
struct Stated {
    unit: String,
    #[serde(flatten)]
    statistics: BTreeMap<String, Value>,
}

fn summary(fields: &json::Fields, rows: &mut Rows) {
    let place = Place::line(1);
    rows.run(place, "tool", "genai-perf");
    for (tag, value) in &fields.0 {
        if tag == "input_config" {
            config(value.get(), rows);
        } else if let Ok(Stated { unit, statistics }) = json::record::<Stated>(value.get()) {
            let words = ["avg", "min", "max", "std"];
            let statistics: Vec<_> = statistics
                .iter()
                .filter(|(name, _)| words.contains(&name.as_str()) || is_percentile(name))
                .filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?)))
                .collect();
            rows.read += 1;
            Metric { tag, unit: &unit, statistics: &statistics }.write(rows, place, GENAI_PERF);
        }
    }
    if rows.read == 0 {
        rows.refuse(Code::RecordShape, place, "no metric with a unit");
    }
}

fn config(json: &str, rows: &mut Rows) {
    let Ok(config) = serde_json::from_str::<Value>(json) else { return };
    for (path, key) in FACTS {
        match config.pointer(path) {
            Some(Value::String(text)) => rows.run(Place::line(1), key, cut(text, FACT_CHARS)),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                rows.run(Place::line(1), key, &value.to_string());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const COLUMNS: [&str; 5] = ["metric", "statistic", "value", "unit", "definition"];

    #[test]
    fn the_json_gives_figures_and_facts() {
        let read = read(&GenaiPerfSummary, include_str!("../../samples/genai_perf_summary/summary.json"));
        assert_eq!((read.counts(), read.findings()), ((5, 0), vec![]));
        let facts = read.rows(Table::Run, &["key", "value"]);
        assert_eq!(facts, ["tool|genai-perf", "stream|true", "model|tiny-llama", "max_concurrency|4"]);
        let figures = read.rows(Table::Aggregate, &COLUMNS);
        for figure in [
            "request_rate|value|2.5|requests/sec|",
            "ttft|mean|250.5|ms|genai-perf.ttft",
            "ttft|p99|900.25|ms|genai-perf.ttft",
            "e2e|std|210.5|ms|genai-perf.latency",
            "tpot|mean|30.35|ms|",
        ] {
            assert!(figures.contains(&figure.to_owned()), "{figure}: {figures:?}");
        }
    }

    #[test]
    fn the_table_has_commas_between_thousands() {
        let read = read(&GenaiPerfSummary, include_str!("../../samples/genai_perf_summary/summary.csv"));
        assert_eq!((read.counts(), read.findings()), ((7, 0), vec![]));
        let figures = read.rows(Table::Aggregate, &COLUMNS);
        assert!(figures.contains(&"ttft|mean|1146.31|ms|genai-perf.ttft".to_owned()), "{figures:?}");
        assert!(figures.contains(&"e2e|max|9608.72|ms|genai-perf.latency".to_owned()));
        assert!(figures.contains(&"requests|completed|40|count|".to_owned()));
        assert!(figures.contains(&"request_rate|value|0.62|per sec|".to_owned()));
    }

    #[test]
    fn a_summary_of_aiperf_is_not_ours() {
        let aiperf = include_str!("../../samples/aiperf_summary/profile_export_aiperf.json");
        assert!(!recognises(&GenaiPerfSummary, aiperf));
        assert!(recognises(&GenaiPerfSummary, include_str!("../../samples/genai_perf_summary/summary.json")));
    }
}
