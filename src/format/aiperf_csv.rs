//! `AIPerf`'s `profile_export_aiperf.csv`: up to three stacked tables with blank lines between and a header each; and
//! the tidy table of its time slices.

use super::perf_summary::{self, AIPERF};
use super::{Context, Format, Match, Reader};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Aggregate, Hop, Rows};

/// The tables of a run of `AIPerf`.
pub struct AiperfCsv;

const SLICES: &str = "Timeslice,Metric,Unit,Stat,Value";

impl Format for AiperfCsv {
    fn id(&self) -> &'static str {
        "aiperf_csv"
    }

    fn title(&self) -> &'static str {
        "AIPerf profile_export_aiperf.csv and its time slices"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let first = head.lines().next().unwrap_or_default().trim_start_matches('\u{feff}');
        // GenAI-Perf's header counts its percentiles down from p99.
        let table =
            first.starts_with("Metric,avg,min,max,") && first.contains(",p1,") && first.contains(",std");
        Match::when(
            table || first == SLICES,
            "header Metric,avg,min,max,…,p1,…,std or Timeslice,Metric,Unit,Stat,Value",
        )
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Document(Box::new(|bytes, rows| {
            let Some((text, _)) = line_text(bytes) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            let text = text.trim_start_matches('\u{feff}');
            if text.lines().next().is_some_and(|line| line.trim() == SLICES) {
                slices(text, rows);
            } else {
                perf_summary::tables(text, "aiperf", AIPERF, rows);
            }
        }))
    }
}

/// Figures of slices of the run. They have a number and no time, so they are no series; the number stands before the
/// metric, for they are not figures of the run.
fn slices(text: &str, rows: &mut Rows) {
    rows.run(Place::line(1), "tool", "aiperf");
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let mut lines = perf_summary::Lines::of(text);
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                rows.refuse(Code::RecordShape, Place::FILE, &error.to_string());
                continue;
            }
        };
        let place = lines.at(&record);
        let cells: Vec<&str> = record.iter().collect();
        let [slice, title, unit, statistic, value] = cells[..] else {
            rows.refuse(Code::RecordShape, place, "not five cells");
            continue;
        };
        let (Ok(slice), Some(value)) = (slice.parse::<u32>(), perf_summary::number(value)) else {
            rows.refuse(Code::RecordShape, place, "slice or value is no number");
            continue;
        };
        rows.read += 1;
        let (tag, _) = perf_summary::titled(title);
        let metric = perf_summary::Metric { tag: &tag, unit, statistics: &[] };
        let metric = format!("timeslice_{slice}.{}", metric.known().0);
        let statistic = if statistic == "avg" { "mean" } else { statistic };
        let unit = if unit.is_empty() { "1" } else { unit };
        rows.aggregate(
            place,
            &Aggregate { metric: &metric, statistic, value, unit, n: None, definition: "" },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{Read, read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/aiperf_csv/profile_export_aiperf.csv");

    fn figures(read: &Read) -> Vec<String> {
        read.rows(Table::Aggregate, &["line", "metric", "statistic", "value", "unit", "definition"])
    }

    #[test]
    fn stacked_tables_are_read_with_the_lines_of_their_rows() {
        let read = read(&AiperfCsv, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((65, 0), vec![]));
        let figures = figures(&read);
        for figure in [
            "43|ttft|mean|373.33|ms|aiperf.ttft",
            "43|ttft|p99|606.82|ms|aiperf.ttft",
            "42|ttfo|p50|354.7|ms|aiperf.ttfo",
            "41|e2e|max|1565.21|ms|aiperf.latency",
            "35|tpot|mean|27.85|ms|",
            "34|itl|mean|30.61|ms|",
            "53|duration|value|34.69|sec|",
            "54|requests|total|40|1|",
            "58|requests|completed|40|1|",
            "60|request_rate|value|1.15|requests/sec|",
        ] {
            assert!(figures.contains(&figure.to_owned()), "{figure}: {figures:#?}");
        }
    }

    #[test]
    fn rows_of_the_wrong_length_and_accelerators() {
        let text = "Metric,avg,min,max,sum,p1,p99,std\r\nRequest Latency (ms),1.0,2.0\r\n\r\n\r\n\
            Endpoint,GPU_Index,Metric,avg,std\r\nlocalhost,0,GPU Power Usage (W),250.5,1.0\r\n";
        let read = read(&AiperfCsv, text);
        assert_eq!(figures(&read)[0], "6|gpu:gpu_power_usage{gpu=\"0\"}|mean|250.5|W|");
        assert_eq!(read.findings(), ["2 record-shape 3 cells under a header of 8"]);
    }

    #[test]
    fn slices_are_kept_apart_from_the_run() {
        let read = read(&AiperfCsv, include_str!("../../samples/aiperf_csv/timeslices.csv"));
        assert_eq!(
            figures(&read)[..2],
            ["2|timeslice_0.ttft|mean|545.02|ms|", "3|timeslice_0.ttft|p99|901.4|ms|"]
        );
        assert!(recognises(&AiperfCsv, SAMPLE));
        assert!(!recognises(&AiperfCsv, "Metric,avg,min,max,p99,p95,p90,p75,p50,p25\n"));
    }
}
