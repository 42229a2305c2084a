//! Grafana Tempo's answer for one trace: OTLP in JSON under Tempo's own names.
//!
//! v1 (`/api/traces/{id}`): `{"batches":[{"resource":…,"scopeSpans":[…]}]}`, in older releases with
//! `instrumentationLibrarySpans`; v2 (`/api/v2/traces/{id}`): `{"trace":{"resourceSpans":[…]}}`. Ids are in Base64.

use super::otlp::json::begins;
use super::{Context, Format, Match, Reader, otlp_json_document};
use crate::input::Head;
use crate::row::Hop;

/// A trace from Tempo.
pub struct Tempo;

impl Format for Tempo {
    fn id(&self) -> &'static str {
        "tempo"
    }

    fn title(&self) -> &'static str {
        "Grafana Tempo trace"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "queue", "prefill"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let version = |version: &str, because| Match::Yes { version: version.to_owned(), because };
        if begins(&head.bytes, r#"{"batches":["#) && head.contains("pans\"") {
            version("v1", "batches of spans")
        } else if [r#"{"trace":{"resourceSpans":"#, r#"{"trace":{"batches":"#]
            .iter()
            .any(|start| begins(&head.bytes, start))
        {
            version("v2", "trace.resourceSpans")
        } else {
            Match::No
        }
    }

    fn reader(&self, cx: &Context) -> Reader {
        let cx = cx.clone();
        Reader::Document(Box::new(move |bytes, rows| otlp_json_document::read(&cx, bytes, rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const V1: &str = include_str!("../../samples/tempo/v1.json");
    const V2: &str = include_str!("../../samples/tempo/v2.json");

    #[test]
    fn both_versions_give_the_rows_of_the_spans_they_were_made_from() {
        let lines = include_str!("../../samples/otlp_json/vllm.otlp.jsonl");
        let line = read(&super::super::otlp_json::OtlpJson, lines.lines().nth(1).unwrap());
        let columns = ["trace_id", "span_id", "parent_span_id", "response_id", "input_tokens"];
        for text in [V1, V2] {
            let tempo = read(&Tempo, text);
            assert_eq!((tempo.counts(), tempo.findings().len()), ((4, 0), 0));
            assert_eq!(tempo.rows(Table::Request, &columns), line.rows(Table::Request, &columns));
            assert_eq!(
                tempo.rows(Table::Mark, &["name", "t_ns", "clock"]),
                line.rows(Table::Mark, &["name", "t_ns", "clock"])
            );
            assert_eq!(
                tempo.rows(Table::Measure, &["definition", "duration_ns"]),
                line.rows(Table::Measure, &["definition", "duration_ns"])
            );
        }
    }

    #[test]
    fn the_version_follows_the_shape_and_other_json_is_not_tempo() {
        let version = |text: &str| match Tempo.recognise(&Head::of("", text.as_bytes())) {
            Match::Yes { version, .. } => version,
            Match::No => String::new(),
        };
        assert_eq!((version(V1).as_str(), version(V2).as_str()), ("v1", "v2"));
        for text in ["", "{}", r#"{"batches":[]}"#, r#"{"trace":{}}"#, r#"{"resourceSpans":[]}"#] {
            assert!(!recognises(&Tempo, text), "{text}");
        }
    }

    #[test]
    fn a_bad_id_is_refused_alone_and_a_cut_trace_keeps_its_whole_spans() {
        let span = V2.find("\"spanId\"").unwrap();
        let bad = format!("{}{}", &V2[..span], V2[span..].replacen("=\"", "!\"", 1));
        let read_bad = read(&Tempo, &bad);
        assert_eq!(read_bad.counts(), (3, 1));
        assert!(read_bad.findings()[0].starts_with("1 record-shape no traceId"));
        let cut = read(&Tempo, &V1[..V1.len() * 9 / 10]);
        assert_eq!(cut.counts(), (3, 1));
        assert!(cut.findings()[0].starts_with("1 truncated"));
    }
}
