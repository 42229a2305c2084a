//! `GuideLLM` `benchmarks.csv`: three header rows (group, name, unit or statistic), then one row a benchmark.
//!
//! The header is written of the first benchmark only: a later one with other columns (a status that the first did not
//! have) cannot be told apart cell by cell and is refused. Times are local and without a zone, of whole seconds: kept
//! as facts. Settings are read for names only: they can hold keys.

use super::figures::{self, Of, fact};
use super::{Context, Format, Match, Reader};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Rows};
use csv::StringRecord;
use serde_json::Value;

/// The table of `GuideLLM`.
pub struct GuidellmCsv;

/// Rows of the header.
const HEADER: usize = 3;

/// Group, what the name ends with, metric, unit and definition.
const METRICS: [(&str, &str, &str, &str, &str); 11] = [
    ("Time to First Token", "ms", "ttft", "ms", "guidellm.ttft"),
    ("Time to First Output Token", "ms", "ttfo", "ms", "guidellm.ttfo"),
    ("Request Latency", "Sec", "e2e", "s", "guidellm.latency"),
    ("Time per Output Token", "ms", "normalized_time_per_output_token", "ms", ""),
    ("Inter Token Latency", "ms", "itl", "ms", ""),
    ("Server Throughput", "Requests/Sec", "request_rate", "1/s", ""),
    ("Server Throughput", "Concurrency", "concurrency", "1", ""),
    ("Token Metrics", "Input Tokens", "input_tokens", "1", ""),
    ("Token Metrics", "Output Tokens", "output_tokens", "1", ""),
    ("Token Throughput", "Output Tokens/Sec", "output_throughput", "1/s", ""),
    ("Token Throughput", "Total Tokens/Sec", "total_token_throughput", "1/s", ""),
];

/// Single figures: group, name, metric, statistic, unit.
const PLAIN: [(&str, &str, &str, &str, &str); 6] = [
    ("Request Counts", "Total", "requests", "total", "1"),
    ("Request Counts", "Successful", "requests", "completed", "1"),
    ("Request Counts", "Errored", "requests", "failed", "1"),
    ("Request Counts", "Incomplete", "requests", "cancelled", "1"),
    ("Timings", "Duration", "duration", "value", "s"),
    ("Scheduler Metrics", "Queued Time Avg", "client_queue_time", "mean", "s"),
];

/// Single facts: group, name, key.
const FACTS: [(&str, &str, &str); 4] = [
    ("Run Info", "Run Index", "run_index"),
    ("Benchmark", "Strategy", "strategy"),
    ("Timings", "Start Time", "start_time"),
    ("Timings", "End Time", "end_time"),
];

/// What stands in a list of percentiles, in its order.
const PERCENTILES: [&str; 11] = ["min", "p0.1", "p1", "p5", "p10", "p25", "p75", "p90", "p95", "p99", "max"];

impl Format for GuidellmCsv {
    fn id(&self) -> &'static str {
        "guidellm_csv"
    }

    fn title(&self) -> &'static str {
        "GuideLLM benchmarks.csv"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["client_wait", "aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let mut lines = head.lines();
        let begins = |line: Option<&str>, word| {
            line.is_some_and(|l| l.trim_start_matches('\u{feff}').starts_with(word))
        };
        if !begins(lines.next(), "Run Info,") || !begins(lines.next(), "Run ID,") {
            return Match::No;
        }
        let text = String::from_utf8_lossy(&head.bytes);
        let stated =
            text.split_once("guidellm_version\"\":\"\"").and_then(|(_, rest)| rest.split('"').next());
        let version = super::load_tool::cut(stated.unwrap_or(""), 40).to_owned();
        Match::Yes { version, because: "header rows Run Info, Run ID" }
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Document(Box::new(|bytes, rows| {
            let Some((text, _)) = line_text(bytes) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            read(text.trim_start_matches('\u{feff}'), rows);
        }))
    }
}

fn read(text: &str, rows: &mut Rows) {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut header: Vec<StringRecord> = Vec::new();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => return rows.refuse(Code::RecordShape, Place::FILE, &error.to_string()),
        };
        let line = line_of(text, record.position().map_or(0, csv::Position::byte));
        if header.len() < HEADER {
            header.push(record);
            continue;
        }
        let [groups, names, stats] = header.as_slice() else { return };
        let columns = groups.len();
        if [names.len(), stats.len(), record.len()].iter().any(|len| *len != columns) {
            let detail = format!("{} cells under a header of {columns}", record.len());
            rows.refuse(Code::RecordShape, Place::line(line), &detail);
            continue;
        }
        rows.read += 1;
        benchmark(&Row { groups, names, stats, cells: &record }, Place::line(line), rows);
    }
    if header.len() < HEADER {
        rows.refuse(Code::Truncated, Place::FILE, "the file ends inside the header");
    }
}

/// The line of a record that begins at this byte, or at the end of the line end before it.
fn line_of(text: &str, byte: u64) -> i64 {
    let at = usize::try_from(byte).unwrap_or(0).min(text.len());
    let (before, rest) = text.as_bytes().split_at(at);
    let ends = memchr::memchr_iter(b'\n', before).count() + usize::from(rest.starts_with(b"\n"));
    i64::try_from(ends).map_or(0, |ends| ends + 1)
}

/// A benchmark's cells under their header.
struct Row<'a> {
    groups: &'a StringRecord,
    names: &'a StringRecord,
    stats: &'a StringRecord,
    cells: &'a StringRecord,
}

impl<'a> Row<'a> {
    /// The cell of a group, a name, and a statistic or unit.
    fn cell(&self, group: &str, name: &str, stat: Option<&str>) -> Option<&'a str> {
        let head = self.groups.iter().zip(self.names).zip(self.stats);
        let at = head
            .into_iter()
            .position(|((g, n), s)| g == group && n == name && stat.is_none_or(|stat| s == stat))?;
        self.cells.get(at).filter(|cell| !cell.is_empty())
    }

    fn number(&self, group: &str, name: &str, stat: Option<&str>) -> Option<f64> {
        self.cell(group, name, stat)?.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

fn benchmark(row: &Row, place: Place, rows: &mut Rows) {
    rows.run(place, "tool", "guidellm");
    let json = |group, name| {
        row.cell(group, name, None).and_then(|cell| serde_json::from_str(cell).ok()).unwrap_or(Value::Null)
    };
    let (metadata, backend, profile) =
        (json("Runtime Info", "Metadata"), json("Run Info", "Backend"), json("Run Info", "Profile"));
    for (value, key) in [
        (&metadata["version"], "schema_version"),
        (&metadata["guidellm_version"], "tool_version"),
        (&backend["model"], "model"),
        (&backend["stream"], "stream"),
        (&profile["kind"], "profile.kind"),
    ] {
        super::tree::scalars(value, key, &mut |key, value| fact(rows, place, key, value));
    }
    for (group, name, key) in FACTS {
        fact(rows, place, key, row.cell(group, name, None).unwrap_or(""));
    }
    for (group, name, metric, statistic, unit) in PLAIN {
        if let Some(value) = row.number(group, name, None) {
            figures::one(rows, place, Of { metric, unit, ..Of::default() }, statistic, value);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "a count that was written as an integer")]
    let completed = row.number("Request Counts", "Successful", None).map(|count| count as i64);
    for (group, suffix, metric, unit, definition) in METRICS {
        let name = format!("Successful {suffix}");
        let mut numbers = Vec::new();
        for (stat, statistic) in [("Mean", "mean"), ("Median", "median"), ("Std Dev", "std")] {
            numbers.extend(row.number(group, &name, Some(stat)).map(|value| (statistic.to_owned(), value)));
        }
        let list = row.cell(group, &name, Some("Percentiles"));
        let list: Vec<f64> = list.and_then(|cell| serde_json::from_str(cell).ok()).unwrap_or_default();
        if list.len() == PERCENTILES.len() {
            numbers.extend(PERCENTILES.iter().map(|name| (*name).to_owned()).zip(list));
        }
        let n = completed.filter(|_| !definition.is_empty());
        figures::add_all(rows, place, Of { metric, unit, n, definition }, &numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/guidellm_csv/benchmarks.csv");

    #[test]
    fn a_row_is_a_benchmark_with_its_figures() {
        let read = read(&GuidellmCsv, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
        let rows =
            read.rows(Table::Aggregate, &["line", "metric", "statistic", "value", "unit", "n", "definition"]);
        for expected in [
            "4|requests|completed|40|1|~|",
            "4|duration|value|15.579418659210205|s|~|",
            "4|client_queue_time|mean|1.6076569139957428|s|~|",
            "4|ttft|mean|2324.2458045482635|ms|40|guidellm.ttft",
            "4|ttft|p5|601.9573211669922|ms|40|guidellm.ttft",
            "4|ttft|p75|2629.087209701538|ms|40|guidellm.ttft",
            "4|e2e|median|2.903005361557007|s|40|guidellm.latency",
            "4|concurrency|mean|7.304416931729765|1|~|",
        ] {
            assert!(rows.iter().any(|row| row == expected), "{expected} in {rows:#?}");
        }
        let facts = read.rows(Table::Run, &["key", "value"]);
        for expected in ["tool_version|0.8.1", "model|tiny-llama", "stream|true", "strategy|concurrent@8"] {
            assert!(facts.iter().any(|fact| fact == expected), "{expected} in {facts:#?}");
        }
    }

    #[test]
    fn a_row_of_other_columns_is_refused() {
        let longer = format!("{SAMPLE}a,b,c\n");
        let read = read(&GuidellmCsv, &longer);
        assert_eq!(read.counts(), (1, 1));
        assert_eq!(read.rows(Table::Finding, &["code"]), ["record-shape"]);
        let header = SAMPLE.lines().next().unwrap();
        let cut = super::super::testing::read(&GuidellmCsv, header);
        assert_eq!(cut.rows(Table::Finding, &["code"]), ["truncated"]);
    }

    #[test]
    fn recognised_by_its_header_rows_with_the_version() {
        let Match::Yes { version, .. } = GuidellmCsv.recognise(&Head::of("", SAMPLE.as_bytes())) else {
            panic!()
        };
        assert_eq!(version, "0.8.1");
        assert!(!recognises(&GuidellmCsv, "Run Info,x\nother\n") && !recognises(&GuidellmCsv, ""));
    }
}
