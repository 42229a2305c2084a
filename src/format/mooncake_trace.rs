//! Mooncake traces and their kin (Dynamo, `AIPerf`, Qwen-Bailian): one request a JSON line with its lengths and the
//! hashes of its prompt blocks. A workload: no latency is in it.
//!
//! Times count from the start of the trace, in ms; in traces with a `chat_id` (Qwen-Bailian) in seconds. A later turn
//! of a session may give only a `delay` after the turn before: it has no time of its own. Prompts are not read.

use super::json::{self, Raw, Text, word};
use super::workload::{self, Planned, count};
use super::{Context, Format, Line, Match, Reader, decimal};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The Mooncake traces.
pub struct MooncakeTrace;

impl Format for MooncakeTrace {
    fn id(&self) -> &'static str {
        "mooncake_trace"
    }

    fn title(&self) -> &'static str {
        "Mooncake trace (JSON lines)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["workload"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |line| {
            json::record::<Record>(line).is_ok_and(|r| {
                let timed =
                    r.timestamp.text().is_some() || (r.delay.text().is_some() && r.session_id.0.is_some());
                timed
                    && r.input_length.int().is_some()
                    && (r.hash_ids.is_some() || r.output_length.int().is_some())
            })
        };
        let seen = head.lines().take(20).any(ours);
        Match::when(seen, "timestamp (or session_id, delay), input_length, hash_ids or output_length")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.monotonic());
        Reader::Lines(Box::new(move |line, rows| read(line, rows, hop, &clock)))
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow, default)]
    timestamp: Raw<'a>,
    #[serde(borrow, default)]
    delay: Raw<'a>,
    #[serde(borrow, default)]
    input_length: Raw<'a>,
    #[serde(borrow, default)]
    output_length: Raw<'a>,
    hash_ids: Option<IgnoredAny>,
    #[serde(borrow, default)]
    request_id: Raw<'a>,
    #[serde(borrow, default)]
    session_id: Raw<'a>,
    #[serde(borrow, default)]
    chat_id: Raw<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
}

fn read(line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let r: Record = match json::record(line.text) {
        Ok(record) => record,
        Err((code, detail)) => return line.refuse(rows, code, &detail),
    };
    if r.timestamp.text().is_none() && r.delay.text().is_none() && r.session_id.text().is_none() {
        return line.refuse(rows, Code::RecordShape, "neither timestamp nor delay nor session_id");
    }
    let planned = Planned {
        id: r.request_id.text().or(r.chat_id.text()),
        session: r.session_id.text(),
        model: word(&r.model),
        class: word(&r.kind),
        input_tokens: count(r.input_length.text()),
        output_tokens: count(r.output_length.text()),
    };
    let scale = if r.chat_id.text().is_some() { decimal::S } else { decimal::MS };
    let key = workload::add(rows, hop, line.place, &planned);
    match (r.timestamp.text(), r.timestamp.ns(scale)) {
        (Some(_), Some(t_ns)) => rows.mark(key, "scheduled", t_ns, clock, r.timestamp.step_ns(scale)),
        (Some(_), None) => rows.finding(Code::RecordShape, line.place, "timestamp is not a number: left out"),
        (None, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/mooncake_trace/conversation.jsonl");
    const KIN: &str = include_str!("../../samples/mooncake_trace/sessions.jsonl");

    #[test]
    fn lengths_and_times_are_kept_and_hashes_are_not() {
        let read = read(&MooncakeTrace, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((3, 0), vec![]));
        assert_eq!(
            read.rows(Table::Request, &["line", "phase", "input_tokens", "output_tokens"])[2],
            "3|workload|1536|12"
        );
        assert_eq!(
            read.rows(Table::Mark, &["name", "t_ns", "clock", "resolution_ns"])[2],
            "scheduled|3052000000|monotonic:0123456789ab|1000000"
        );
    }

    #[test]
    fn a_delay_is_no_time_and_a_chat_counts_seconds() {
        let read = read(&MooncakeTrace, KIN);
        assert_eq!((read.counts(), read.findings()), ((3, 0), vec![]));
        assert_eq!(
            read.rows(Table::Request, &["request_id", "caller", "model", "class", "input_tokens"]),
            ["m1|s1|~|~|32", "~|s1|~|~|64", "159|~|~|text|521"]
        );
        assert_eq!(read.rows(Table::Mark, &["line", "t_ns"]), ["1|20500000", "3|61114000000"]);
    }

    #[test]
    fn bad_lines_are_refused() {
        let read =
            read(&MooncakeTrace, "{\"timestamp\":\"x\",\"input_length\":1}\n{\"a\":1}\n[1]\n{\"timest");
        assert_eq!(
            read.rows(Table::Finding, &["line", "code"]),
            ["1|record-shape", "2|record-shape", "3|record-shape", "4|truncated"]
        );
        assert_eq!(read.counts(), (1, 3));
    }

    #[test]
    fn recognised_by_its_keys() {
        assert!(recognises(&MooncakeTrace, SAMPLE) && recognises(&MooncakeTrace, KIN));
        for other in ["", r#"{"timestamp":1}"#, r#"{"request_id":0,"input_length":1,"hash_ids":[]}"#] {
            assert!(!recognises(&MooncakeTrace, other), "{other}");
        }
    }
}
