//! `MLPerf` `LoadGen`'s detail log (`mlperf_log_detail.txt`): `:::MLLOG {json}` lines with settings, then results.
//!
//! Results are over all queries, in ns. `time_ms` counts from the start of the run and only tells settings from
//! results. Two results are known to mean nothing: the overlatency count when no latency target was set (every query
//! is over 0), and a token throughput orders of magnitude away from the tokens that were completed.

use super::figures::{self, Of, fact};
use super::json::{self, Raw, Text};
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The detail log of `LoadGen`.
pub struct MlperfDetail;

const PREFIX: &str = ":::MLLOG ";

/// More kinds of results than any version writes: the rest of a hostile file is refused.
const MAX_RESULTS: usize = 2_000;

/// Results without a statistic in their key: key, metric, statistic, unit.
const PLAIN: [(&str, &str, &str, &str); 8] = [
    ("result_query_count", "requests", "total", "1"),
    ("result_sample_count", "samples", "total", "1"),
    ("result_scheduled_samples_per_sec", "request_rate_offered", "value", "1/s"),
    ("result_completed_samples_per_sec", "request_rate", "value", "1/s"),
    ("result_samples_per_second", "request_rate", "value", "1/s"),
    ("result_completed_tokens_per_second", "output_throughput", "value", "1/s"),
    ("result_token_throughput_with_loadgen_overhead", "output_throughput_with_overhead", "value", "1/s"),
    ("result_token_throughput", "output_throughput_result", "value", "1/s"),
];

/// Latencies: what the key begins and ends with, metric and definition.
const LATENCY: [(&str, &str, &str, &str); 3] = [
    ("result_first_token_", "_latency_ns", "ttft", "mlperf.ttft"),
    ("result_time_per_output_token_", "_ns", "tpot", ""),
    ("result_", "_latency_ns", "e2e", "mlperf.latency"),
];

impl Format for MlperfDetail {
    fn id(&self) -> &'static str {
        "mlperf_detail"
    }

    fn title(&self) -> &'static str {
        "MLPerf LoadGen detail log"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = head.lines().take(20).any(|line| line.starts_with(":::MLLOG {"));
        Match::when(ours, ":::MLLOG lines")
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Stream(Box::new(Log::default()))
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow, default)]
    value: Raw<'a>,
}

/// Results wait for the end, where it is known over how many queries they are.
#[derive(Default)]
struct Log {
    place: Place,
    results: BTreeMap<String, f64>,
    no_target: bool,
}

impl Stream for Log {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        let Some(text) = line.text.trim_start_matches('\u{feff}').strip_prefix(PREFIX) else {
            return line.refuse(rows, Code::RecordShape, "not an :::MLLOG line");
        };
        let record: Record = match json::record(text) {
            Ok(record) => record,
            Err((code, detail)) => return line.refuse(rows, code, &detail),
        };
        let (Some(key), value) = (record.key.as_deref(), record.value.text()) else {
            return line.refuse(rows, Code::RecordShape, "no key");
        };
        rows.read += 1;
        let Some(value) = value else { return };
        match value.parse::<f64>() {
            Ok(number) if key.starts_with("result_") && number.is_finite() => {
                if self.results.len() == MAX_RESULTS {
                    rows.read -= 1;
                    return line.refuse(rows, Code::RecordShape, "too many kinds of results");
                }
                if self.results.is_empty() {
                    self.place = line.place;
                }
                if self
                    .results
                    .insert(key.to_owned(), number)
                    .is_some_and(|before| before.to_bits() != number.to_bits())
                {
                    let detail = format!("{key} stands twice with different values: the last one is read");
                    rows.finding(Code::RecordContradiction, line.place, &detail);
                }
            }
            // Versions, scenario, targets, times: as found. Objects and lists are no facts.
            _ if !value.starts_with(['{', '[']) => {
                self.no_target |= key == "requested_server_target_latency_ns" && value == "0";
                fact(rows, line.place, key, value);
            }
            _ => {}
        }
    }

    fn end(&mut self, rows: &mut Rows) {
        let (place, mut results) = (self.place, std::mem::take(&mut self.results));
        rows.run(place, "tool", "mlperf-loadgen");
        if let Some(over) = results.remove("result_overlatency_query_count") {
            if self.no_target {
                let detail = format!("result_overlatency_query_count {over} over a target of 0 ns: left out");
                rows.finding(Code::ValueImpossible, place, &detail);
            } else {
                let of = Of { metric: "requests", unit: "1", ..Of::default() };
                figures::one(rows, place, of, "over_latency", over);
            }
        }
        let tokens = |key: &str| results.get(key).copied();
        let pair = tokens("result_token_throughput").zip(tokens("result_completed_tokens_per_second"));
        if let Some((stated, done)) = pair.filter(|(stated, done)| stated * 10.0 < *done) {
            let detail = format!(
                "result_token_throughput {stated} < result_completed_tokens_per_second {done} / 10: left out"
            );
            rows.finding(Code::ValueImpossible, place, &detail);
            results.remove("result_token_throughput");
        }
        // More than 2^53 queries were never made.
        #[expect(clippy::cast_possible_truncation, reason = "a count that was written as an integer")]
        let n = results.get("result_query_count").map(|count| *count as i64);
        for (key, metric, statistic, unit) in PLAIN {
            if let Some(value) = results.remove(key) {
                figures::one(rows, place, Of { metric, unit, ..Of::default() }, statistic, value);
            }
        }
        for (begin, end, metric, definition) in LATENCY {
            let keys: Vec<String> = results.keys().filter(|key| key.starts_with(begin)).cloned().collect();
            let mut numbers = Vec::new();
            for key in keys {
                let name = key.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
                if let Some(statistic) = name.and_then(statistic)
                    && let Some(value) = results.remove(&key)
                {
                    numbers.push((statistic, value));
                }
            }
            figures::add_all(rows, place, Of { metric, unit: "ns", n, definition }, &numbers);
        }
        for (key, value) in results {
            let of = Of { metric: key.strip_prefix("result_").unwrap_or(&key), ..Of::default() };
            figures::one(rows, place, of, "value", value);
        }
    }
}

/// `mean`, `min` and `max`, or `99.00_percentile` as `p99`.
fn statistic(name: &str) -> Option<String> {
    match name.strip_suffix("_percentile") {
        Some(level) if level.contains('.') => {
            figures::statistic(&format!("p{}", level.trim_end_matches('0').trim_end_matches('.')))
        }
        Some(level) => figures::statistic(&format!("p{level}")),
        None => figures::statistic(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/mlperf_detail/mlperf_log_detail.txt");

    #[test]
    fn results_are_figures_over_all_queries_and_settings_facts() {
        let read = read(&MlperfDetail, SAMPLE);
        assert_eq!(read.counts(), (20, 0));
        assert_eq!(
            read.rows(Table::Aggregate, &["line", "metric", "statistic", "value", "unit", "n", "definition"]),
            [
                "7|requests|total|2400|1|~|",
                "7|request_rate_offered|value|8.125|1/s|~|",
                "7|request_rate|value|8|1/s|~|",
                "7|output_throughput|value|512.5|1/s|~|",
                "7|ttft|p50|250000000|ns|2400|mlperf.ttft",
                "7|ttft|p99|875000000|ns|2400|mlperf.ttft",
                "7|ttft|p99.9|900000001|ns|2400|mlperf.ttft",
                "7|ttft|max|900000002|ns|2400|mlperf.ttft",
                "7|ttft|mean|312500000|ns|2400|mlperf.ttft",
                "7|ttft|min|36971614|ns|2400|mlperf.ttft",
                "7|tpot|p99|31250000|ns|2400|",
                "7|e2e|mean|2000000000|ns|2400|mlperf.latency",
            ]
        );
        let facts = read.rows(Table::Run, &["key", "value"]);
        for expected in
            ["requested_scenario|Server", "requested_server_ttft_latency|2000000000", "tool|mlperf-loadgen"]
        {
            assert!(facts.iter().any(|fact| fact == expected), "{expected} in {facts:?}");
        }
    }

    #[test]
    fn results_that_mean_nothing_are_left_out() {
        assert_eq!(
            read(&MlperfDetail, SAMPLE).findings(),
            [
                "7 value-impossible result_overlatency_query_count 2400 over a target of 0 ns: left out",
                "7 value-impossible result_token_throughput 0.00000000620121 < \
                 result_completed_tokens_per_second 512.5 / 10: left out",
            ]
        );
    }

    #[test]
    fn bad_lines_are_refused_one_by_one() {
        let read = read(
            &MlperfDetail,
            ":::MLLOG {\"key\": \"a\", \"value\": 1}\nnoise\n:::MLLOG {\"key\": 1}\n:::MLLOG {\"k",
        );
        assert_eq!(read.counts(), (1, 3));
        assert_eq!(
            read.rows(Table::Finding, &["line", "code"]),
            ["2|record-shape", "3|record-shape", "4|truncated"]
        );
    }

    #[test]
    fn recognised_by_its_lines() {
        assert!(recognises(&MlperfDetail, SAMPLE));
        assert!(!recognises(&MlperfDetail, "MLLOG {}") && !recognises(&MlperfDetail, ""));
    }
}
