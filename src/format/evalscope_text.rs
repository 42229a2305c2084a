//! The tables that `evalscope perf` prints: `Key | Value` of a run, and its percentiles.
//!
//! They stand alone or inside the tool's log, once for every level of a sweep; long keys and values may be wrapped over
//! several lines. Without `--stream` the time to first token is the latency: nothing else says so in the table.

use super::serving::{NOT_STREAMED, came_in_one_piece};
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Aggregate, Hop, Rows};
use std::mem::take;

/// The printed summary of `EvalScope`'s load test.
pub struct EvalscopeText;

/// The keys of the table: metric, statistic and unit, and the definition of a duration. Older names stand beside newer.
#[rustfmt::skip]
const KEYS: &[(&str, &str, &str, &str, &str)] = &[
    ("Average QPS", "request_rate", "value", "1/s", ""),
    ("Average decoded tokens per iter", "decoded_tokens_per_iter", "mean", "1", ""),
    ("Average input tokens per request", "input_tokens", "mean", "1", ""),
    ("Average inter-token latency (s)", "itl", "mean", "s", ""),
    ("Average latency (s)", "e2e", "mean", "s", "evalscope.latency"),
    ("Average output tokens per request", "output_tokens", "mean", "1", ""),
    ("Average package latency (s)", "package_latency", "mean", "s", ""),
    ("Average package per request", "packages", "mean", "1", ""),
    ("Average time per output token (s)", "tpot", "mean", "s", ""),
    ("Average time to first token (s)", "ttft", "mean", "s", "evalscope.ttft"),
    ("Failed requests", "requests", "failed", "1", ""),
    ("Number of concurrency", "concurrency", "limit", "1", ""),
    ("Output token throughput (tok/s)", "output_throughput", "value", "1/s", ""),
    ("Request throughput (req/s)", "request_rate", "value", "1/s", ""),
    ("Succeed requests", "requests", "completed", "1", ""),
    ("Throughput(average tokens/s)", "output_throughput", "value", "1/s", ""),
    ("Time taken for tests (s)", "duration", "value", "s", ""),
    ("Total requests", "requests", "total", "1", ""),
    ("Total token throughput (tok/s)", "total_throughput", "value", "1/s", ""),
];

/// Columns of the table of percentiles that are latencies or lengths.
#[rustfmt::skip]
const COLUMNS: &[(&str, &str, &str, &str)] = &[
    ("ITL (s)", "itl", "s", ""),
    ("Input tokens", "input_tokens", "1", ""),
    ("Latency (s)", "e2e", "s", "evalscope.latency"),
    ("Output tokens", "output_tokens", "1", ""),
    ("TPOT (s)", "tpot", "s", ""),
    ("TTFT (s)", "ttft", "s", "evalscope.ttft"),
];

impl Format for EvalscopeText {
    fn id(&self) -> &'static str {
        "evalscope_text"
    }

    fn title(&self) -> &'static str {
        "EvalScope perf summary, printed"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let row = |line: &str, first: &str| cells(line).is_some_and(|cells| cells.first() == Some(&first));
        let ours = head.lines().any(|line| row(line, "Time taken for tests (s)"))
            && head.lines().any(|line| row(line, "Number of concurrency"));
        Match::when(ours, "| Time taken for tests (s) |, | Number of concurrency |")
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Stream(Box::<Tables>::default())
    }
}

/// A figure waiting for the end of its run.
struct Figure {
    metric: &'static str,
    statistic: String,
    value: f64,
    unit: &'static str,
    definition: &'static str,
}

/// What is known of the run whose tables are being read.
#[derive(Default)]
struct Tables {
    /// Line of the first key of the run.
    place: Option<Place>,
    figures: Vec<Figure>,
    /// Columns of the table of percentiles, once its header was seen.
    columns: Vec<String>,
}

impl Stream for Tables {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        let Some(cells) = cells(line.text.trim()) else { return };
        if let [key, value] = cells[..] {
            self.pair(key, value, line.place, rows);
        } else if cells.first() == Some(&"Percentiles") {
            self.columns = cells.iter().map(|&cell| cell.to_owned()).collect();
        } else if cells.len() == self.columns.len() {
            self.percentiles(&cells);
        }
    }

    fn end(&mut self, rows: &mut Rows) {
        self.close(rows);
    }
}

impl Tables {
    fn pair(&mut self, key: &str, value: &str, place: Place, rows: &mut Rows) {
        let Some((name, metric, statistic, unit, definition)) = KEYS.iter().find(|(name, ..)| *name == key)
        else {
            return;
        };
        if *name == "Time taken for tests (s)" {
            self.close(rows);
            self.place = Some(place);
        }
        let Some(value) = number(value) else { return };
        self.place.get_or_insert(place);
        self.figures.push(Figure { metric, statistic: (*statistic).to_owned(), value, unit, definition });
    }

    fn percentiles(&mut self, cells: &[&str]) {
        let Some(percentile) = cells.first().and_then(|cell| cell.strip_suffix('%')) else { return };
        for (name, cell) in self.columns.iter().zip(cells) {
            let column = COLUMNS.iter().find(|(known, ..)| known == name);
            if let Some(((_, metric, unit, definition), value)) = column.zip(number(cell)) {
                let statistic = format!("p{percentile}");
                self.figures.push(Figure { metric, statistic, value, unit, definition });
            }
        }
    }

    fn value(&self, metric: &str, statistic: &str) -> Option<f64> {
        self.figures.iter().find(|f| f.metric == metric && f.statistic == statistic).map(|f| f.value)
    }

    fn close(&mut self, rows: &mut Rows) {
        let (Some(place), run) = (self.place, take(self)) else { return };
        let mean = |metric| run.value(metric, "mean");
        let times = mean("ttft").zip(mean("e2e")).zip(mean("output_tokens"));
        let whole =
            times.is_some_and(|((ttft, e2e), tokens)| came_in_one_piece(ttft * 1e3, e2e * 1e3, tokens));
        rows.read += 1;
        rows.run(place, "tool", "evalscope");
        if whole {
            rows.run(place, "stream", "false");
            rows.finding(Code::NoFirstToken, place, NOT_STREAMED);
        }
        if let Some(limit) = run.value("concurrency", "limit") {
            rows.run(place, "max_concurrency", &limit.to_string());
        }
        if let Some(total) = run.value("requests", "total") {
            rows.run(place, "num_prompts", &total.to_string());
        }
        let completed = run.value("requests", "completed");
        for Figure { metric, statistic, value, unit, definition } in &run.figures {
            if whole && *metric == "ttft" {
                continue;
            }
            // Over no answered request every mean is printed as 0 or -1.
            let empty = completed == Some(0.0) || *value < 0.0 || (*value == 0.0 && statistic == "mean");
            if empty && matches!(*metric, "ttft" | "e2e" | "tpot" | "itl") {
                let n = completed.map_or("not stated".to_owned(), |n| n.to_string());
                let detail = format!("{statistic} {metric} {value} s with {n} requests succeeded: left out");
                rows.finding(Code::ValueImpossible, place, &detail);
                continue;
            }
            #[expect(clippy::cast_possible_truncation, reason = "a count of requests")]
            let n = completed.filter(|_| matches!(*metric, "ttft" | "e2e")).map(|n| n as i64);
            rows.aggregate(place, &Aggregate { metric, statistic, value: *value, unit, n, definition });
        }
    }
}

/// The cells of a row of a printed table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix(['|', '│'])?.strip_suffix(['|', '│'])?;
    Some(inner.split(['|', '│']).map(str::trim).collect())
}

fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/evalscope_text/perf.log");

    #[test]
    fn both_tables_of_every_level_are_read() {
        let read = read(&EvalscopeText, SAMPLE);
        assert_eq!(read.counts(), (2, 0));
        let facts = read.rows(Table::Run, &["key", "value"]);
        assert_eq!(
            facts,
            [
                "tool|evalscope",
                "max_concurrency|4",
                "num_prompts|40",
                "tool|evalscope",
                "stream|false",
                "max_concurrency|8",
                "num_prompts|40",
            ]
        );
        let figures =
            read.rows(Table::Aggregate, &["metric", "statistic", "value", "unit", "n", "definition"]);
        for figure in [
            "duration|value|12.5|s|~|",
            "requests|total|40|1|~|",
            "requests|completed|38|1|~|",
            "requests|failed|2|1|~|",
            "request_rate|value|3.04|1/s|~|",
            "ttft|mean|0.25|s|38|evalscope.ttft",
            "ttft|p99|0.91|s|38|evalscope.ttft",
            "e2e|p50|1.2|s|38|evalscope.latency",
            "itl|mean|0.0182|s|~|",
        ] {
            assert!(figures.contains(&figure.to_owned()), "{figure}: {figures:?}");
        }
        assert_eq!(figures.iter().filter(|f| f.starts_with("ttft|mean")).count(), 1);
        let findings = read.findings();
        assert!(findings.len() == 1 && findings[0].contains("no-first-token"), "{findings:?}");
    }

    #[test]
    fn zeros_over_nothing_are_left_out() {
        let text = "| Time taken for tests (s) | 3.0 |\n| Number of concurrency | 2 |\n| Succeed requests | 0 |\n\
            | Average time to first token (s) | 0.0 |\n| Average latency (s) | nan |\n";
        let read = read(&EvalscopeText, text);
        assert_eq!(
            read.rows(Table::Aggregate, &["metric", "value"]),
            ["duration|3", "concurrency|2", "requests|0"]
        );
        assert_eq!(read.findings(), ["1 value-impossible mean ttft 0 s with 0 requests succeeded: left out"]);
    }

    #[test]
    fn another_table_is_not_recognised() {
        assert!(recognises(&EvalscopeText, SAMPLE));
        assert!(!recognises(&EvalscopeText, "| Key | Value |\n| Total requests | 50 |\n"));
        assert!(!recognises(&EvalscopeText, "Time taken for tests (s), Number of concurrency\n"));
    }
}
