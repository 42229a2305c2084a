//! Triton's trace file: an array of records, several for one request, in no order.
//!
//! `{"id":1,"model_name":…,"model_version":…,"request_id":…}` names a request, `{"id":1,"timestamps":[{"name":…,"ns":…}]}`
//! gives its instants, in ns on the server's monotonic clock. Steps of an ensemble have a `parent_id`. The trace is sampled, and no
//! instant in it is the first token's: a model that streams answers many times between the same two.

use super::elements;
use super::json::{self, Raw};
use super::load_tool::between;
use super::{Context, Format, Match, Reader, decimal};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Event, Hop, Request, Rows};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The trace of Triton Inference Server.
pub struct TritonTrace;

impl Format for TritonTrace {
    fn id(&self) -> &'static str {
        "triton_trace"
    }

    fn title(&self) -> &'static str {
        "Triton Inference Server trace"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["queue"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let named = ["\"id\"", "\"timestamps\"", "\"ns\""].iter().all(|key| head.contains(key));
        let point = ["REQUEST_START", "QUEUE_START", "HTTP_RECV_START", "GRPC_WAITREAD_START"];
        let instants = named && point.iter().any(|name| head.contains(name));
        Match::when(head.first_byte() == Some(b'[') && instants, "id, timestamps of name and ns")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.monotonic());
        Reader::Document(Box::new(move |bytes, rows| read(bytes, rows, hop, &clock)))
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow, default)]
    model_name: json::Text<'a>,
    #[serde(borrow, default)]
    request_id: json::Text<'a>,
    #[serde(borrow, default)]
    parent_id: Raw<'a>,
    #[serde(borrow, default)]
    timestamps: Vec<Stamp<'a>>,
}

#[derive(Deserialize)]
struct Stamp<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    ns: Raw<'a>,
}

/// What the records of one id say.
#[derive(Default)]
struct Trace<'a> {
    place: Place,
    model: Option<String>,
    request_id: Option<String>,
    parent: Option<i64>,
    instants: BTreeMap<Cow<'a, str>, i64>,
}

impl Trace<'_> {
    /// The first of these instants that is there.
    fn first<'n>(&self, names: &[&'n str]) -> (&'n str, Option<i64>) {
        let found = names.iter().find_map(|name| Some((*name, self.instants.get(*name)?)));
        found.map_or((names.first().copied().unwrap_or_default(), None), |(name, ns)| (name, Some(*ns)))
    }
}

fn read(bytes: &[u8], rows: &mut Rows, hop: Hop, clock: &str) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return rows.refuse(Code::TextInvalid, Place::FILE, "not UTF-8");
    };
    let mut traces: BTreeMap<i64, Trace> = BTreeMap::new();
    let mut place = Place::item(1, 0);
    let done = elements::objects(text, |one| {
        match json::record::<Record>(one.get()) {
            Ok(record) => match record.id.int() {
                Some(id) => {
                    let trace = traces.entry(id).or_insert(Trace { place, ..Trace::default() });
                    take(trace, record, place, rows);
                }
                None => rows.refuse(Code::RecordShape, place, "id is not an integer"),
            },
            Err((code, detail)) => rows.refuse(code, place, &detail),
        }
        place.item += 1;
    });
    if let Err(error) = done {
        let (code, detail) = json::complaint(&error);
        rows.refuse(if error.is_eof() { Code::Truncated } else { code }, place, &detail);
    }
    for trace in traces.values() {
        match trace.parent {
            Some(parent) => step(trace, parent, rows, hop, clock),
            None => request(trace, rows, hop, clock),
        }
    }
}

/// Adds what one record says to the trace of its id.
fn take<'a>(trace: &mut Trace<'a>, record: Record<'a>, place: Place, rows: &mut Rows) {
    if let Some(model) = json::word(&record.model_name) {
        trace.model = Some(model.to_owned());
    }
    if let Some(id) = json::word(&record.request_id) {
        trace.request_id = Some(id.to_owned());
    }
    trace.parent = record.parent_id.int().filter(|id| *id > 0).or(trace.parent);
    for Stamp { name, ns } in record.timestamps {
        let Some(t_ns) = ns.ns(decimal::NS).filter(|t| *t > 0) else {
            rows.finding(Code::RecordShape, place, "ns is not a time; left out");
            continue;
        };
        // A model that streams answers several times: the first is kept.
        match trace.instants.get(&name) {
            Some(first) if *first <= t_ns => {}
            _ => drop(trace.instants.insert(name, t_ns)),
        }
    }
}

fn request(trace: &Trace, rows: &mut Rows, hop: Hop, clock: &str) {
    let request = Request {
        request_id: trace.request_id.as_deref(),
        model: trace.model.as_deref(),
        ..Request::default()
    };
    let key = rows.request(hop, trace.place, &request);
    // The server begins to wait for a gRPC call before the call is made: its end is the arrival.
    let (from, start) = trace.first(&["HTTP_RECV_START", "GRPC_WAITREAD_END", "REQUEST_START"]);
    let (to, end) = trace.first(&["HTTP_SEND_END", "GRPC_SEND_END", "REQUEST_END"]);
    let whole = between(rows, trace.place, (from, start), (to, end));
    let end = end.filter(|_| start.is_none() || whole.is_some());
    for (name, t_ns) in [("start", start), ("end", end)] {
        if let Some(t_ns) = t_ns {
            rows.mark(key, name, t_ns, clock, 1);
        }
    }
    for (definition, from, to) in [
        ("triton.queue", "QUEUE_START", "COMPUTE_START"),
        ("triton.compute", "COMPUTE_START", "COMPUTE_END"),
        ("triton.e2e", "REQUEST_START", "REQUEST_END"),
    ] {
        if let Some(ns) = between(rows, trace.place, trace.first(&[from]), trace.first(&[to])) {
            rows.measure(key, definition, ns, "ns", 1);
        }
    }
}

/// A step of an ensemble: part of another request, not one of its own.
fn step(trace: &Trace, parent: i64, rows: &mut Rows, hop: Hop, clock: &str) {
    let (begun, ended) = (trace.first(&["REQUEST_START"]), trace.first(&["REQUEST_END"]));
    let duration_ns = between(rows, trace.place, begun, ended);
    let detail = format!("{} step of request {parent}", trace.model.as_deref().unwrap_or_default());
    let event = Event {
        kind: "span",
        t_ns: begun.1,
        clock,
        resolution_ns: 1,
        duration_ns,
        detail: detail.trim_start(),
        ..Event::default()
    };
    rows.event(hop, trace.place, &event);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/triton_trace/trace.json");

    #[test]
    fn records_in_any_order_make_one_request_on_the_servers_own_clock() {
        let read = read(&TritonTrace, SAMPLE);
        assert_eq!((read.counts(), read.findings().len()), ((3, 0), 0));
        assert_eq!(
            read.rows(Table::Request, &["item", "hop", "request_id", "model", "outcome"]),
            ["0|engine|req-0001|ensemble|unknown", "6|engine|~|simple|unknown"]
        );
        assert_eq!(
            read.rows(Table::Mark, &["item", "name", "t_ns", "clock"]),
            [
                "0|start|903125054587444|monotonic:0123456789ab",
                "0|end|903125057712991|monotonic:0123456789ab",
                "6|start|903125060000000|monotonic:0123456789ab",
                "6|end|903125066300000|monotonic:0123456789ab",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["item", "definition", "duration_ns", "unit"]),
            [
                "0|triton.e2e|2857301|ns",
                "6|triton.queue|4000000|ns",
                "6|triton.compute|2000000|ns",
                "6|triton.e2e|6250000|ns",
            ]
        );
        assert_eq!(
            read.rows(Table::Event, &["kind", "t_ns", "duration_ns", "detail"]),
            ["span|903125054900000|2500000|preprocess step of request 1"]
        );
    }

    #[test]
    fn instants_against_their_order_are_said_and_a_bad_record_costs_itself_alone() {
        let text = r#"[{"id":1,"timestamps":[{"name":"QUEUE_START","ns":20}]},{"id":"x"},7,
            {"id":1,"timestamps":[{"name":"COMPUTE_START","ns":"10"},{"name":"COMPUTE_END","ns":-4}]}"#;
        let read = read(&TritonTrace, text);
        assert_eq!(read.counts(), (1, 3));
        assert_eq!(
            read.findings()[2..],
            [
                "1 record-shape ns is not a time; left out",
                "1 truncated EOF while parsing a list at line 2 column 101",
                "1 value-impossible COMPUTE_START 10 ns < QUEUE_START 20 ns: what lies between is left out",
            ]
        );
    }

    #[test]
    fn only_triton_is_recognised() {
        assert!(recognises(&TritonTrace, SAMPLE) && recognises(&TritonTrace, &SAMPLE[..400]));
        for text in
            ["", "[]", r#"[{"id":1,"timestamps":[{"name":"X","ns":1}]}]"#, r#"{"id":"REQUEST_START"}"#]
        {
            assert!(!recognises(&TritonTrace, text), "{text}");
        }
    }
}
