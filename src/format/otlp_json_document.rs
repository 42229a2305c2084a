//! OTLP/JSON traces in one pretty-printed object, an array of them, or several after each other: `otlp_json` over many
//! lines.

use super::otlp::json::{begins, is_lines, opens};
use super::otlp::{self, Sink};
use super::{Context, Format, Match, Reader, json};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};

/// An OTLP/JSON document.
pub struct OtlpJsonDocument;

impl Format for OtlpJsonDocument {
    fn id(&self) -> &'static str {
        "otlp_json_document"
    }

    fn title(&self) -> &'static str {
        "OpenTelemetry traces (OTLP/JSON document)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "queue", "schedule", "prefill", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let array = begins(&head.bytes, r#"[{"resourceSpans":"#);
        let here = array || (opens(head.bytes.trim_ascii_start()) && !is_lines(head));
        Match::when(here, "resourceSpans over several lines, or in an array")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let cx = cx.clone();
        Reader::Document(Box::new(move |bytes, rows| read(&cx, bytes, rows)))
    }
}

/// Reads export requests until the end of a document.
pub fn read(cx: &Context, bytes: &[u8], rows: &mut Rows) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return rows.refuse(Code::TextInvalid, Place::FILE, "not UTF-8");
    };
    let mut text = serde_json::Deserializer::from_str(text);
    let mut sink = Sink::new(cx, 1, rows).of_document();
    loop {
        if let Err(error) = otlp::json::read_document(&mut text, &mut sink) {
            let (code, detail) = json::complaint(&error);
            sink.refuse(if error.is_eof() { Code::Truncated } else { code }, &detail);
            break;
        }
        if text.end().is_ok() {
            break;
        }
    }
    sink.end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/otlp_json_document/vllm.json");

    #[test]
    fn a_document_gives_the_rows_of_its_line_and_several_are_counted_on() {
        let lines = include_str!("../../samples/otlp_json/vllm.otlp.jsonl");
        let line = read(&super::super::otlp_json::OtlpJson, lines.lines().nth(1).unwrap());
        let columns = ["trace_id", "span_id", "input_tokens"];
        let document = read(&OtlpJsonDocument, SAMPLE);
        assert_eq!(document.rows(Table::Request, &columns), line.rows(Table::Request, &columns));
        assert_eq!(document.rows(Table::Mark, &["name", "t_ns"]), line.rows(Table::Mark, &["name", "t_ns"]));
        let two = read(&OtlpJsonDocument, &format!("{SAMPLE}{SAMPLE}"));
        assert_eq!(two.rows(Table::Request, &["line", "item"])[3..5], ["1|3", "1|4"]);
    }

    #[test]
    fn a_cut_document_and_bytes_that_are_not_text_are_refused() {
        assert!(
            read(&OtlpJsonDocument, &SAMPLE[..SAMPLE.len() / 2]).findings()[0].starts_with("1 truncated EOF")
        );
        assert!(read(&OtlpJsonDocument, "[7]").findings()[0].starts_with("1 record-shape"));
        let array = format!("[{SAMPLE},{SAMPLE}]");
        assert!(recognises(&OtlpJsonDocument, &array));
        assert_eq!(read(&OtlpJsonDocument, &array).counts(), (8, 0));
        let mut rows = Rows::default();
        let cx = crate::format::testing::context(&OtlpJsonDocument);
        super::read(&cx, b"{\xff}", &mut rows);
        assert_eq!((rows.read, rows.refused), (0, 1));
    }

    #[test]
    fn documents_are_recognised_and_lines_and_garbage_are_not() {
        assert!(recognises(&OtlpJsonDocument, SAMPLE));
        assert!(recognises(&OtlpJsonDocument, &SAMPLE[..300]));
        for text in ["", "{", "garbage", "{}", include_str!("../../samples/otlp_json/vllm.otlp.jsonl")] {
            assert!(!recognises(&OtlpJsonDocument, text));
        }
    }
}
