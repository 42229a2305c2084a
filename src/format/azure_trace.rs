//! Azure's public LLM inference traces, 2023 and 2024: `TIMESTAMP,ContextTokens,GeneratedTokens`. A workload: no
//! latency is in it.
//!
//! Times have seven decimals (100 ns) or fewer and no zone; some releases write `+00:00`.

use super::civil::local_ns;
use super::workload::{self, Planned, cells, columns, count};
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use jiff::Timestamp;
use jiff::civil::DateTime;

/// The Azure LLM inference traces.
pub struct AzureTrace;

/// The columns, in the order they are read.
const COLUMNS: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

impl Format for AzureTrace {
    fn id(&self) -> &'static str {
        "azure_trace"
    }

    fn title(&self) -> &'static str {
        "Azure LLM inference trace (CSV)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["workload"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let header = head.lines().next().and_then(cells);
        let ours = header.is_some_and(|header| columns(&header, COLUMNS).is_some());
        Match::when(ours, "TIMESTAMP, ContextTokens, GeneratedTokens")
    }

    fn reader(&self, cx: &Context) -> Reader {
        Reader::Stream(Box::new(Trace { cx: cx.clone(), columns: None, naive: false }))
    }
}

struct Trace {
    cx: Context,
    columns: Option<[usize; 3]>,
    /// Whether a time without a zone was met.
    naive: bool,
}

impl Stream for Trace {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        let Some(record) = cells(line.text) else {
            return line.refuse(rows, Code::RecordShape, "not a CSV record");
        };
        let Some([time, input, output]) = self.columns else {
            self.columns = columns(&record, COLUMNS);
            if self.columns.is_none() {
                line.refuse(
                    rows,
                    Code::RecordShape,
                    "no header with TIMESTAMP, ContextTokens, GeneratedTokens",
                );
            }
            return;
        };
        let (input, output) = (count(record.get(input)), count(record.get(output)));
        let text = record.get(time).unwrap_or("");
        let Some((t_ns, placed)) = instant(text, &self.cx) else {
            return line.refuse(rows, Code::RecordShape, "TIMESTAMP is not a time");
        };
        if input.is_none() || output.is_none() {
            return line.refuse(rows, Code::RecordShape, "ContextTokens or GeneratedTokens is not a count");
        }
        let planned = Planned { input_tokens: input, output_tokens: output, ..Planned::default() };
        let key = workload::add(rows, self.cx.hop, line.place, &planned);
        let clock = if placed { self.cx.epoch() } else { self.cx.local() };
        rows.mark(key, "scheduled", t_ns, &clock, step(text));
        self.naive |= !placed;
    }

    fn end(&mut self, rows: &mut Rows) {
        if self.naive && self.cx.zone.is_none() {
            rows.finding(Code::TimeUnplaced, Place::FILE, "TIMESTAMP has no zone: differences only");
        }
    }
}

/// Nanoseconds of a time, and whether it says its own offset.
fn instant(text: &str, cx: &Context) -> Option<(i64, bool)> {
    if let Ok(stamp) = text.parse::<Timestamp>() {
        return Some((i64::try_from(stamp.as_nanosecond()).ok()?, true));
    }
    let civil: DateTime = text.parse().ok()?;
    Some((local_ns(civil, cx.zone.as_ref())?, false))
}

/// The step of the decimals of a second.
fn step(text: &str) -> i64 {
    let digits =
        text.split_once('.').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    10_i64.pow(9_u32.saturating_sub(u32::try_from(digits).unwrap_or(9)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{context, read, read_as, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/azure_trace/trace.csv");

    #[test]
    fn a_workload_keeps_tokens_and_times_to_100_ns() {
        let read = read(&AzureTrace, SAMPLE);
        assert_eq!(read.counts(), (4, 0));
        assert_eq!(
            read.rows(Table::Request, &["line", "input_tokens", "output_tokens", "phase", "outcome"])[0],
            "2|374|44|workload|unknown"
        );
        assert_eq!(
            read.rows(Table::Mark, &["name", "t_ns", "clock", "resolution_ns"])[0],
            "scheduled|1796026546680590000|local:0123456789ab|100"
        );
        assert_eq!(read.findings(), ["0 time-unplaced TIMESTAMP has no zone: differences only"]);
    }

    #[test]
    fn a_declared_or_written_zone_places_the_times() {
        let cx = Context { zone: crate::input::zone("+08:00"), ..context(&AzureTrace) };
        let declared = read_as(&AzureTrace, &cx, SAMPLE);
        assert_eq!(
            (declared.rows(Table::Mark, &["t_ns", "clock"])[0].as_str(), declared.findings()),
            ("1795997746680590000|epoch:0123456789ab", vec![])
        );
        let written =
            read(&AzureTrace, "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-11-30 08:15:46.68+00:00,1,2\n");
        assert_eq!(
            written.rows(Table::Mark, &["t_ns", "clock", "resolution_ns"]),
            ["1796026546680000000|epoch:0123456789ab|10000000"]
        );
    }

    #[test]
    fn bad_rows_are_refused_one_by_one() {
        let read = read(
            &AzureTrace,
            "\u{feff}TIMESTAMP,ContextTokens,GeneratedTokens\r\nx,1,2\r\n2026-11-30 08:15:46,-1,2\r\n2026-11-30 08:15:46,1\r\n2026-11-30 08:15:47,1,2\r\n",
        );
        assert_eq!(read.counts(), (1, 3));
        assert_eq!(
            read.rows(Table::Finding, &["line", "code"]),
            ["2|record-shape", "3|record-shape", "4|record-shape", "0|time-unplaced"]
        );
    }

    #[test]
    fn recognised_by_its_header() {
        assert!(recognises(&AzureTrace, SAMPLE));
        assert!(!recognises(&AzureTrace, "TIMESTAMP,ContextTokens\n") && !recognises(&AzureTrace, ""));
    }
}
