//! `ServeGen`'s traces of offline batches: one request a JSON line, in the order of the batch. A workload: the batch was
//! handed in whole, so requests have no time, and the durations are another service's and not read.

use super::json::{self, Raw, Text, word};
use super::workload::{self, Planned, count};
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The offline traces of `ServeGen`.
pub struct ServegenTrace;

impl Format for ServegenTrace {
    fn id(&self) -> &'static str {
        "servegen_trace"
    }

    fn title(&self) -> &'static str {
        "ServeGen batch trace (JSON lines)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["workload"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |line| json::record::<Record>(line).is_ok_and(|record| record.is_ours());
        Match::when(
            head.lines().take(20).any(ours),
            "request_id, type, input_length, and duration or img_ids, without timestamp",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let hop = cx.hop;
        Reader::Lines(Box::new(move |line, rows| match json::record::<Record>(line.text) {
            Ok(record) => read(&record, line, rows, hop),
            Err((code, detail)) => line.refuse(rows, code, &detail),
        }))
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow, default)]
    request_id: Raw<'a>,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    input_length: Raw<'a>,
    #[serde(borrow, default)]
    output_length: Raw<'a>,
    duration: Option<IgnoredAny>,
    img_ids: Option<IgnoredAny>,
    timestamp: Option<IgnoredAny>,
}

impl Record<'_> {
    fn is_ours(&self) -> bool {
        let sort = self.duration.is_some() || self.img_ids.is_some();
        let id = self.request_id.int().is_some() && self.kind.is_some();
        id && sort && self.timestamp.is_none() && self.input_length.int().is_some()
    }
}

fn read(record: &Record, line: Line, rows: &mut Rows, hop: Hop) {
    let Some(input) = count(record.input_length.text()) else {
        return line.refuse(rows, Code::RecordShape, "input_length is not a count");
    };
    let planned = Planned {
        id: record.request_id.text(),
        class: word(&record.kind),
        input_tokens: Some(input),
        output_tokens: count(record.output_length.text()),
        ..Planned::default()
    };
    workload::add(rows, hop, line.place, &planned);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/servegen_trace/stat.jsonl");
    const HASHES: &str = include_str!("../../samples/servegen_trace/content_hash.jsonl");

    #[test]
    fn lengths_are_kept_and_durations_are_not() {
        let stat = read(&ServegenTrace, SAMPLE);
        assert_eq!((stat.counts(), stat.findings()), ((2, 0), vec![]));
        let columns = ["request_id", "class", "phase", "input_tokens", "output_tokens"];
        assert_eq!(
            stat.rows(Table::Request, &columns),
            ["0|text|workload|61|2370", "1|text|workload|54|2031"]
        );
        assert_eq!(
            read(&ServegenTrace, HASHES).rows(Table::Request, &columns)[0],
            "0|multimodal|workload|446|~"
        );
        for table in [Table::Mark, Table::Measure] {
            assert_eq!(stat.rows(table, &["row"]), Vec::<String>::new());
        }
    }

    #[test]
    fn bad_lines_are_refused_and_other_traces_are_not_ours() {
        assert_eq!(read(&ServegenTrace, "{\"input_length\":-1}\n7\n").counts(), (0, 2));
        assert!(recognises(&ServegenTrace, SAMPLE) && recognises(&ServegenTrace, HASHES));
        let mooncake = include_str!("../../samples/mooncake_trace/conversation.jsonl");
        assert!(!recognises(&ServegenTrace, mooncake));
    }
}
