//! `AIPerf`'s `profile_export_aiperf.json`: figures of a run with their units, and what was asked for; and the list of
//! its time slices, which have a start on the wall clock.

use super::load_tool::cut;
use super::perf_summary::{AIPERF, Metric, is_percentile};
use super::{Context, Format, Match, Reader, json};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Rows};
use serde_json::Value;
use serde_json::value::RawValue;

/// The summary of a run of `AIPerf`.
pub struct AiperfSummary;

/// Versions of the schema whose fields are known.
const SCHEMAS: [&str; 5] = ["1.0", "1.1", "1.2", "1.3", "1.4"];

/// Longest value of a fact, in characters.
const FACT_CHARS: usize = 200;

/// Facts of the run by their path, in the configuration of newer and older versions; our key.
const FACTS: [(&str, &str); 14] = [
    ("/endpoint/model_names/0", "model"),
    ("/endpoint/streaming", "stream"),
    ("/endpoint/type", "backend"),
    ("/loadgen/concurrency", "max_concurrency"),
    ("/loadgen/request_count", "num_prompts"),
    ("/loadgen/request_rate", "request_rate"),
    ("/loadgen/warmup_request_count", "num_warmups"),
    ("/models/items/0/name", "model"),
    ("/datasets/0/type", "dataset"),
    ("/phases/-/concurrency", "max_concurrency"),
    ("/phases/-/rate", "request_rate"),
    ("/phases/-/request_rate", "request_rate"),
    ("/phases/-/requests", "num_prompts"),
    ("/phases/-/type", "load"),
];

impl Format for AiperfSummary {
    fn id(&self) -> &'static str {
        "aiperf_summary"
    }

    fn title(&self) -> &'static str {
        "AIPerf profile_export_aiperf.json and its time slices"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        if head.first_byte() != Some(b'{') || head.contains("\"endpoint_info\"") {
            return Match::No;
        }
        let text = String::from_utf8_lossy(&head.bytes);
        let version = text.split_once("\"aiperf_version\"").and_then(|(_, rest)| rest.split('"').nth(1));
        let figures = ["\"request_latency\"", "\"request_count\""].iter().any(|key| head.contains(key));
        match version {
            Some(version) if figures => Match::Yes {
                version: cut(version, 40).to_owned(),
                because: "aiperf_version, request_latency or request_count",
            },
            None if head.contains("\"timeslices\"") && figures => Match::yes("timeslices, request_latency"),
            _ => Match::No,
        }
    }

    fn reader(&self, cx: &Context) -> Reader {
        let clock = cx.epoch();
        Reader::Document(Box::new(move |bytes, rows| {
            let Some((text, _)) = line_text(bytes) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            match json::record::<json::Fields>(&text) {
                Ok(fields) => read(&fields, &clock, rows),
                Err((code, detail)) => rows.refuse(code, Place::FILE, &detail),
            }
        }))
    }
}

fn read(fields: &json::Fields, clock: &str, rows: &mut Rows) {
    let place = Place::line(1);
    rows.run(place, "tool", "aiperf");
    for (key, value) in &fields.0 {
        match key.as_str() {
            "aiperf_version" => fact(rows, "tool_version", value),
            "benchmark_id" | "was_cancelled" | "is_complete" | "start_time" | "end_time" => {
                fact(rows, key, value);
            }
            "schema_version" => {
                fact(rows, key, value);
                let stated = json::Raw(Some(value)).text().unwrap_or_default();
                if !SCHEMAS.contains(&stated) {
                    let detail = format!("schema_version {}: read as {}", cut(stated, 40), SCHEMAS[4]);
                    rows.finding(Code::VersionUnknown, place, &detail);
                }
            }
            "input_config" => config(rows, value),
            "timeslices" => slices(rows, value, clock),
            _ => {
                if let Some((unit, statistics)) = metric(value) {
                    rows.read += 1;
                    let statistics: Vec<_> = statistics.iter().map(|(name, v)| (name.as_str(), *v)).collect();
                    Metric { tag: key, unit: &unit, statistics: &statistics }.write(rows, place, AIPERF);
                }
            }
        }
    }
    if rows.read == 0 {
        rows.refuse(Code::RecordShape, place, "no metric with a unit");
    }
}

fn fact(rows: &mut Rows, key: &str, value: &RawValue) {
    if let Some(text) = json::Raw(Some(value)).text() {
        rows.run(Place::line(1), key, cut(text, FACT_CHARS));
    }
}

fn config(rows: &mut Rows, value: &RawValue) {
    let Ok(config) = serde_json::from_str::<Value>(value.get()) else { return };
    let phases = config.pointer("/phases").and_then(Value::as_array);
    // Warm-up and measurement are phases; the one that is measured describes the run.
    let measured = phases.and_then(|all| all.iter().find(|p| p.get("kind").is_none_or(|k| k == "profiling")));
    for (path, key) in FACTS {
        let found = match path.strip_prefix("/phases/-") {
            Some(rest) => measured.and_then(|phase| phase.pointer(rest)),
            None => config.pointer(path),
        };
        match found {
            Some(Value::String(text)) => rows.run(Place::line(1), key, cut(text, FACT_CHARS)),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                rows.run(Place::line(1), key, &value.to_string());
            }
            _ => {}
        }
    }
}

/// Unit and statistics of a metric; `None` for an object that is none.
fn metric(value: &RawValue) -> Option<(String, Vec<(String, f64)>)> {
    let json::Fields(fields) = json::record(value.get()).ok()?;
    let unit = serde_json::from_str::<String>(fields.get("unit")?.get()).ok()?;
    let words = ["avg", "min", "max", "sum", "std", "count"];
    let statistics: Vec<_> = fields
        .iter()
        .filter(|(name, _)| words.contains(&name.as_str()) || is_percentile(name))
        .filter_map(|(name, value)| Some((name.clone(), value.get().parse().ok()?)))
        .collect();
    (!statistics.is_empty()).then_some((unit, statistics))
}

/// Slices of the run as a series, at their start.
fn slices(rows: &mut Rows, list: &RawValue, clock: &str) {
    let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(list.get()) else {
        return rows.refuse(Code::RecordShape, Place::line(1), "timeslices is not a list");
    };
    for (item, slice) in (0..).zip(list) {
        let place = Place::item(1, item);
        let fields = match json::record::<json::Fields>(slice.get()) {
            Ok(json::Fields(fields)) => fields,
            Err((code, detail)) => {
                rows.refuse(code, place, &detail);
                continue;
            }
        };
        let Some(start) = json::Raw(fields.get("start_ns").copied()).int() else {
            rows.refuse(Code::TimeUnplaced, place, "a slice without start_ns");
            continue;
        };
        for (tag, value) in &fields {
            let Some((unit, statistics)) = metric(value) else { continue };
            let named = Metric { tag, unit: &unit, statistics: &[] };
            let name = format!("aiperf:{}", named.known().0);
            for (statistic, value) in &statistics {
                let statistic = if statistic == "avg" { "mean" } else { statistic };
                let labels = format!("statistic=\"{statistic}\",unit=\"{unit}\"");
                rows.sample(place, &name, &labels, start, clock, *value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/aiperf_summary/profile_export_aiperf.json");

    #[test]
    fn figures_and_what_was_asked_for_are_read() {
        let read = read(&AiperfSummary, SAMPLE);
        assert!(read.counts().0 > 40 && read.counts().1 == 0 && read.findings().is_empty());
        let facts = read.rows(Table::Run, &["key", "value"]);
        for fact in [
            "tool|aiperf",
            "tool_version|0.13.0",
            "schema_version|1.4",
            "model|tiny-llama",
            "stream|true",
            "max_concurrency|1",
            "num_prompts|40",
            "was_cancelled|false",
        ] {
            assert!(facts.contains(&fact.to_owned()), "{fact}: {facts:?}");
        }
        let figures =
            read.rows(Table::Aggregate, &["metric", "statistic", "value", "unit", "n", "definition"]);
        for figure in [
            "ttft|mean|373.33286462499996|ms|40|aiperf.ttft",
            "ttft|p99|606.8193923299999|ms|40|aiperf.ttft",
            "e2e|max|1565.211243|ms|40|aiperf.latency",
            "itl|mean|30.605798238421954|ms|583|",
            "requests|completed|40|requests|~|",
            "requests|total|40|requests|~|",
            "request_rate|value|1.1525571151397878|requests/sec|~|",
            "schedule_delay|max|476.24704|ms|40|",
            "input_tokens|sum|11995|tokens|~|",
        ] {
            assert!(figures.contains(&figure.to_owned()), "{figure}: {figures:?}");
        }
    }

    #[test]
    fn slices_are_a_series() {
        let read = read(&AiperfSummary, include_str!("../../samples/aiperf_summary/timeslices.json"));
        let series = read.rows(Table::Series, &["item", "metric", "labels", "t_ns", "clock", "value"]);
        let first =
            "0|aiperf:ttft|statistic=\"mean\",unit=\"ms\"|1796076429376113190|epoch:0123456789ab|545.02";
        assert!(series.contains(&first.to_owned()), "{series:?}");
        assert_eq!(read.rows(Table::Aggregate, &["metric"]).len(), 0);
    }

    #[test]
    fn an_unknown_schema_is_said_and_other_documents_are_refused() {
        let newer = SAMPLE.replacen("\"1.4\"", "\"9.0\"", 1);
        assert_eq!(
            read(&AiperfSummary, &newer).findings(),
            ["1 version-unknown schema_version 9.0: read as 1.4"]
        );
        assert_eq!(read(&AiperfSummary, "{\"aiperf_version\":\"1\"}").counts(), (0, 1));
        assert!(recognises(&AiperfSummary, SAMPLE));
        assert!(!recognises(
            &AiperfSummary,
            "{\"aiperf_version\":\"1\",\"endpoint_info\":{},\"request_count\":1}"
        ));
    }
}
