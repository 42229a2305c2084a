//! OTLP/JSON logs: export requests one a line, one over many lines, or an array of them.
//!
//! Warnings and errors become events, by service, scope and event name. Bodies and attributes hold prompts and answers
//! (the conventions for models log them): they are never read.

use super::elements;
use super::json::{self, Raw};
use super::load_tool::cut;
use super::otlp::json::{ResourceRecord, begins};
use super::otlp::{Resource, id};
use super::{Context, Format, Match, Reader, decimal};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Event, Hop, Rows};
use serde::Deserialize;
use serde_json::value::RawValue;

/// OTLP logs.
pub struct OtlpLogs;

/// Severity numbers from which a record is a warning, and an error.
const WARNING: i64 = 13;
const ERROR: i64 = 17;

impl Format for OtlpLogs {
    fn id(&self) -> &'static str {
        "otlp_logs"
    }

    fn title(&self) -> &'static str {
        "OpenTelemetry logs (OTLP/JSON)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ready"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let starts = [r#"{"resourceLogs":"#, r#"[{"resourceLogs":"#];
        Match::when(starts.iter().any(|start| begins(&head.bytes, start)), "resourceLogs")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let cx = cx.clone();
        Reader::Document(Box::new(move |bytes, rows| read(&cx, bytes, rows)))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Export<'a> {
    #[serde(borrow)]
    resource_logs: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OfResource<'a> {
    #[serde(borrow)]
    resource: ResourceRecord<'a>,
    #[serde(borrow)]
    scope_logs: Vec<OfScope<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OfScope<'a> {
    #[serde(borrow)]
    scope: Option<Scope<'a>>,
    #[serde(borrow)]
    log_records: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Scope<'a> {
    #[serde(borrow)]
    name: json::Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Record<'a> {
    #[serde(borrow)]
    time_unix_nano: Raw<'a>,
    #[serde(borrow)]
    observed_time_unix_nano: Raw<'a>,
    #[serde(borrow)]
    severity_number: Raw<'a>,
    #[serde(borrow)]
    event_name: json::Text<'a>,
    #[serde(borrow)]
    trace_id: Raw<'a>,
}

impl Record<'_> {
    /// The severity, as a number or by its name in the protocol.
    fn severity(&self) -> i64 {
        let names = [
            ("SEVERITY_NUMBER_WARN", WARNING),
            ("SEVERITY_NUMBER_ERROR", ERROR),
            ("SEVERITY_NUMBER_FATAL", 21),
        ];
        let by_name =
            |text: &str| names.iter().find(|(name, _)| text.starts_with(name)).map(|(_, number)| *number);
        self.severity_number.int().or_else(|| by_name(self.severity_number.text()?)).unwrap_or(0)
    }
}

fn read(cx: &Context, bytes: &[u8], rows: &mut Rows) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return rows.refuse(Code::TextInvalid, Place::FILE, "not UTF-8");
    };
    let mut place = Place::item(1, 0);
    let refuse = |rows: &mut Rows, place: &mut Place, (code, detail): (Code, String)| {
        rows.refuse(code, *place, &detail);
        place.item += 1;
    };
    let done = elements::objects(text, |one| match json::record::<Export>(one.get()) {
        Ok(export) => {
            for one in export.resource_logs {
                match json::record::<OfResource>(one.get()) {
                    Ok(group) => resource(cx, &group, &mut place, rows),
                    Err(why) => refuse(rows, &mut place, why),
                }
            }
        }
        Err(why) => refuse(rows, &mut place, why),
    });
    if let Err(error) = done {
        let (code, detail) = json::complaint(&error);
        refuse(rows, &mut place, (if error.is_eof() { Code::Truncated } else { code }, detail));
    }
}

fn resource(cx: &Context, group: &OfResource, place: &mut Place, rows: &mut Rows) {
    let writer = group.resource.get();
    let clock = writer.clock(cx);
    for scope in &group.scope_logs {
        let name = scope.scope.as_ref().and_then(|scope| json::word(&scope.name)).unwrap_or_default();
        for one in &scope.log_records {
            match json::record::<Record>(one.get()) {
                Ok(record) => log(&record, name, writer, &clock, *place, cx.hop, rows),
                Err((code, detail)) => rows.refuse(code, *place, &detail),
            }
            place.item += 1;
        }
    }
}

fn log(
    record: &Record,
    scope: &str,
    writer: &Resource,
    clock: &str,
    place: Place,
    hop: Hop,
    rows: &mut Rows,
) {
    let kind = match record.severity() {
        ..WARNING => {
            // Nothing of it is kept, but it was read.
            rows.read += 1;
            return;
        }
        WARNING..ERROR => "log-warning",
        _ => "log-error",
    };
    let time = |raw: Raw| raw.ns(decimal::NS).filter(|t| *t > 0);
    let said =
        [writer.service().unwrap_or_default(), scope, json::word(&record.event_name).unwrap_or_default()];
    let detail = said.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let trace_id = record.trace_id.text().and_then(|text| id(text, 32));
    let event = Event {
        kind,
        t_ns: time(record.time_unix_nano).or_else(|| time(record.observed_time_unix_nano)),
        clock,
        resolution_ns: 1,
        instance: writer.instance(),
        trace_id: trace_id.as_deref(),
        detail: cut(&detail, 160),
        ..Event::default()
    };
    rows.event(hop, place, &event);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/otlp_logs/logs.jsonl");

    #[test]
    fn warnings_are_events_without_what_was_said() {
        let read = read(&OtlpLogs, SAMPLE);
        assert_eq!((read.counts(), read.findings().len()), ((3, 0), 0));
        assert_eq!(
            read.rows(Table::Event, &["item", "kind", "t_ns", "clock", "trace_id", "detail"]),
            [
                "1|log-warning|1796073820000000002|epoch:span:engine@node-1|5b8efff798038103d269b633813fc60c|engine vllm.engine kv_cache.full",
                "2|log-error|1796073821000000000|epoch:span:engine@node-1|~|engine vllm.engine",
            ]
        );
        assert!(!read.rows(Table::Event, &["detail"]).concat().contains("secret"));
    }

    #[test]
    fn a_bad_record_costs_itself_alone_and_other_signals_are_not_recognised() {
        let bad = SAMPLE.replacen("\"logRecords\":[", "\"logRecords\":[7,", 1);
        assert_eq!(read(&OtlpLogs, &bad).counts(), (3, 1));
        assert!(recognises(&OtlpLogs, SAMPLE));
        for text in ["", "{}", r#"{"resourceMetrics":[]}"#, r#"{"resourceSpans":[]}"#] {
            assert!(!recognises(&OtlpLogs, text), "{text}");
        }
    }
}
