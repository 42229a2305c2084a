//! Flattened OpenTelemetry traces as load generators replay them: `{trace_id, spans[{start_time, attributes}]}` with
//! times without a zone. A workload: what the spans took is another service's and not read, nor are the messages.

use super::civil::local_ns;
use super::json::{self, Raw, Text, word};
use super::workload::{self, Planned, count};
use super::{Context, Format, Match, Reader, elements};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Rows};
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The flattened traces.
pub struct OtelFlattened;

/// The step of Python's `isoformat`.
const RESOLUTION_NS: i64 = 1_000;

impl Format for OtelFlattened {
    fn id(&self) -> &'static str {
        "otel_flattened"
    }

    fn title(&self) -> &'static str {
        "Flattened OpenTelemetry trace for replay"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["workload"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["\"trace_id\"", "\"spans\"", "\"start_time\"", "\"gen_ai."];
        let ours = head.first_byte() == Some(b'{') && keys.iter().all(|key| head.contains(key));
        let other = ["\"resourceSpans\"", "\"traceID\"", "\"start_time_unix_nano\""];
        Match::when(
            ours && !other.iter().any(|key| head.contains(key)),
            "trace_id, spans.start_time, gen_ai attributes",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let cx = cx.clone();
        Reader::Document(Box::new(move |bytes, rows| {
            let Some((text, _)) = line_text(bytes) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            match json::record::<Trace>(&text) {
                Ok(trace) => read(&trace, &cx, rows),
                Err((_, detail)) if detail.starts_with("EOF") => {
                    rows.refuse(Code::Truncated, Place::FILE, &detail);
                }
                Err((code, detail)) => rows.refuse(code, Place::FILE, &detail),
            }
        }))
    }
}

#[derive(Deserialize)]
struct Trace<'a> {
    #[serde(borrow)]
    trace_id: Text<'a>,
    #[serde(borrow)]
    spans: &'a RawValue,
}

#[derive(Deserialize)]
struct Span<'a> {
    #[serde(borrow, rename = "span_id")]
    id: Text<'a>,
    #[serde(borrow)]
    start_time: Text<'a>,
    #[serde(borrow)]
    attributes: Option<Attributes<'a>>,
}

/// The attributes that are read, under their names of now and of before.
#[derive(Deserialize)]
struct Attributes<'a> {
    #[serde(borrow, rename = "gen_ai.operation.name")]
    operation: Text<'a>,
    #[serde(borrow, rename = "gen_ai.request.model")]
    model: Text<'a>,
    #[serde(borrow, default, rename = "gen_ai.usage.input_tokens", alias = "gen_ai.usage.prompt_tokens")]
    input: Raw<'a>,
    #[serde(
        borrow,
        default,
        rename = "gen_ai.usage.output_tokens",
        alias = "gen_ai.usage.completion_tokens"
    )]
    output: Raw<'a>,
}

fn read(trace: &Trace, cx: &Context, rows: &mut Rows) {
    let (mut item, mut naive) = (0, false);
    let read = elements::each(trace.spans, |part: &RawValue| {
        let place = Place::item(1, item);
        item += 1;
        match json::record::<Span>(part.get()) {
            Ok(span) => naive |= request(&span, word(&trace.trace_id), place, cx, rows),
            Err((code, detail)) => rows.refuse(code, place, &detail),
        }
    });
    if read.is_err() {
        rows.refuse(Code::RecordShape, Place::item(1, item), "spans is not an array");
    }
    if naive && cx.zone.is_none() {
        rows.finding(Code::TimeUnplaced, Place::FILE, "start_time has no zone: differences only");
    }
}

/// Adds a span that is a call of a model; whether its time has no zone.
fn request(span: &Span, session: Option<&str>, place: Place, cx: &Context, rows: &mut Rows) -> bool {
    // Spans of tools and agents between the calls are no requests to a model.
    let Some(call) = span.attributes.as_ref().filter(|a| a.model.is_some() || a.operation.is_some()) else {
        return false;
    };
    let planned = Planned {
        id: word(&span.id),
        session,
        model: word(&call.model),
        class: word(&call.operation),
        input_tokens: count(call.input.text()),
        output_tokens: count(call.output.text()),
    };
    let key = workload::add(rows, cx.hop, place, &planned);
    let text = word(&span.start_time).unwrap_or("");
    if let Some(t_ns) = text.parse::<Timestamp>().ok().and_then(|t| i64::try_from(t.as_nanosecond()).ok()) {
        rows.mark(key, "scheduled", t_ns, &cx.epoch(), RESOLUTION_NS);
        return false;
    }
    let local = text.parse::<DateTime>().ok().and_then(|civil| local_ns(civil, cx.zone.as_ref()));
    match local {
        Some(t_ns) => rows.mark(key, "scheduled", t_ns, &cx.local(), RESOLUTION_NS),
        None => rows.finding(Code::TimeUnplaced, place, "start_time is no time that can be placed"),
    }
    local.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{context, read, read_as, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/otel_flattened/chain.json");

    #[test]
    fn calls_of_a_model_are_a_workload_and_messages_are_not_kept() {
        let read = read(&OtelFlattened, SAMPLE);
        assert_eq!(read.counts(), (2, 0));
        assert_eq!(
            read.rows(
                Table::Request,
                &["item", "request_id", "caller", "model", "class", "phase", "input_tokens", "output_tokens"]
            ),
            ["0|first|chain|example-4|chat|workload|120|48", "2|second|chain|example-4|chat|workload|~|~"]
        );
        assert_eq!(
            read.rows(Table::Mark, &["name", "t_ns", "clock", "resolution_ns"]),
            [
                "scheduled|1772013600000000000|local:0123456789ab|1000",
                "scheduled|1772013603250000000|local:0123456789ab|1000",
            ]
        );
        assert_eq!(read.findings(), ["0 time-unplaced start_time has no zone: differences only"]);
    }

    #[test]
    fn a_declared_zone_places_the_times() {
        let cx = Context { zone: crate::input::zone("UTC"), ..context(&OtelFlattened) };
        let read = read_as(&OtelFlattened, &cx, SAMPLE);
        assert_eq!(
            (read.findings(), read.rows(Table::Mark, &["clock"])[0].as_str()),
            (vec![], "epoch:0123456789ab")
        );
    }

    #[test]
    fn bad_documents_and_spans_are_refused() {
        let bad = |text: &str| read(&OtelFlattened, text).rows(Table::Finding, &["code"]);
        assert_eq!(bad(r#"{"trace_id":"a","spans":[{"start_time":5},"#), ["truncated"]);
        assert_eq!(bad(r#"{"trace_id":"a","spans":{}}"#), ["record-shape"]);
        assert_eq!(
            bad(
                r#"{"trace_id":"a","spans":[5, {"start_time": null, "attributes": {"gen_ai.request.model": "m"}}]}"#
            ),
            ["record-shape", "time-unplaced"]
        );
    }

    #[test]
    fn recognised_by_its_keys() {
        assert!(recognises(&OtelFlattened, SAMPLE));
        assert!(!recognises(&OtelFlattened, r#"{"trace_id":1,"spans":[]}"#));
    }
}
