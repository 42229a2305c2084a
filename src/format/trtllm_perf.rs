//! TensorRT-LLM's `/perf_metrics`: the instants of the last requests, in seconds on a steady clock.
//!
//! One server: `[{"request_id":…,"perf_metrics":{"timing_metrics":{…}}}]`. Prefill and decode apart: records of
//! `ctx_perf_metrics`, `gen_perf_metrics` and the instants of the server before them. Clocks of different servers have
//! nothing to do with each other: instants are only ever compared within one. Each GET empties the list.

use super::elements;
use super::json::{self, Raw};
use super::load_tool::between;
use super::{Context, Format, Match, Reader, decimal};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, RequestKey, Rows};
use serde::Deserialize;

/// Performance metrics of TensorRT-LLM.
pub struct TrtllmPerf;

/// Doubles of seconds since the start of a machine keep about a nanosecond.
const STEP_NS: i64 = 1;

impl Format for TrtllmPerf {
    fn id(&self) -> &'static str {
        "trtllm_perf"
    }

    fn title(&self) -> &'static str {
        "TensorRT-LLM /perf_metrics"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["queue", "prefill"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let json = matches!(head.first_byte(), Some(b'[' | b'{'));
        let timing = head.contains("\"timing_metrics\"") && head.contains("perf_metrics\"");
        Match::when(json && timing, "perf_metrics.timing_metrics")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.monotonic());
        Reader::Document(Box::new(move |bytes, rows| read(bytes, rows, hop, &clock)))
    }
}

/// A request as one server, or as the server before prefill and decode, saw it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow)]
    request_id: Raw<'a>,
    #[serde(borrow)]
    ctx_request_id: Raw<'a>,
    #[serde(borrow)]
    disagg_request_id: Raw<'a>,
    #[serde(borrow)]
    perf_metrics: Option<Perf<'a>>,
    #[serde(borrow)]
    status: json::Text<'a>,
    #[serde(borrow)]
    ctx_server: json::Text<'a>,
    #[serde(borrow)]
    gen_server: json::Text<'a>,
    #[serde(borrow)]
    disagg_server_arrival_time: Raw<'a>,
    #[serde(borrow)]
    disagg_server_first_token_time: Raw<'a>,
    #[serde(borrow)]
    ctx_perf_metrics: Option<Box<Record<'a>>>,
    #[serde(borrow)]
    gen_perf_metrics: Option<Box<Record<'a>>>,
}

#[derive(Deserialize)]
struct Perf<'a> {
    #[serde(borrow)]
    timing_metrics: Timing<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Timing<'a> {
    #[serde(borrow)]
    server_arrival_time: Raw<'a>,
    #[serde(borrow)]
    arrival_time: Raw<'a>,
    #[serde(borrow)]
    first_scheduled_time: Raw<'a>,
    #[serde(borrow)]
    first_token_time: Raw<'a>,
    #[serde(borrow)]
    server_first_token_time: Raw<'a>,
    #[serde(borrow)]
    last_token_time: Raw<'a>,
    #[serde(borrow)]
    kv_cache_transfer_start: Raw<'a>,
    #[serde(borrow)]
    kv_cache_transfer_end: Raw<'a>,
}

/// What a server does.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// Prefill and decode.
    Both,
    Prefill,
    Decode,
}

fn read(bytes: &[u8], rows: &mut Rows, hop: Hop, clock: &str) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return rows.refuse(Code::TextInvalid, Place::FILE, "not UTF-8");
    };
    let mut place = Place::item(1, 0);
    let done = elements::objects(text, |one| {
        match json::record::<Record>(one.get()) {
            Ok(record) => request(&record, place, rows, hop, clock),
            Err((code, detail)) => rows.refuse(code, place, &detail),
        }
        place.item += 1;
    });
    if let Err(error) = done {
        let (code, detail) = json::complaint(&error);
        rows.refuse(if error.is_eof() { Code::Truncated } else { code }, place, &detail);
    }
}

/// A number is the server's own count and no id that a client knows: it is kept apart from those.
fn id(record: &Record, whole: &Record) -> Option<String> {
    let raw = [whole.disagg_request_id, record.ctx_request_id, record.request_id];
    let text = raw.iter().find_map(Raw::text)?;
    Some(if text.bytes().all(|b| b.is_ascii_digit()) { format!("{text}@trtllm") } else { text.to_owned() })
}

fn outcome(record: &Record, answered: bool) -> Outcome {
    match json::word(&record.status) {
        Some("completed" | "success" | "ok") => Outcome::Ok,
        Some("cancelled" | "client_disconnected") => Outcome::Cancelled,
        Some("error" | "failed") => Outcome::Error,
        None if answered => Outcome::Ok,
        Some(_) | None => Outcome::Unknown,
    }
}

fn request(record: &Record, place: Place, rows: &mut Rows, hop: Hop, clock: &str) {
    let parts = [
        (record.ctx_perf_metrics.as_deref(), Role::Prefill, &record.ctx_server, "prefill"),
        (record.gen_perf_metrics.as_deref(), Role::Decode, &record.gen_server, "decode"),
    ];
    if let Some(perf) = &record.perf_metrics {
        return server(record, record, perf, Role::Both, None, (place, rows, hop, clock));
    }
    if parts.iter().all(|(part, ..)| part.is_none()) && at(record.disagg_server_arrival_time).is_none() {
        return rows.refuse(Code::RecordShape, place, "no timing_metrics");
    }
    before(record, place, rows, clock);
    for (part, role, instance, name) in parts {
        let Some((part, perf)) = part.and_then(|part| Some((part, part.perf_metrics.as_ref()?))) else {
            continue;
        };
        let instance = json::word(instance);
        let own = format!("{clock}:{}", instance.unwrap_or(name));
        server(part, record, perf, role, instance, (place, rows, hop, &own));
    }
}

/// A time; zero is an instant that never came.
fn at(raw: Raw) -> Option<i64> {
    raw.ns(decimal::S).filter(|t| *t > 0)
}

/// The request at the server that stands before prefill and decode.
fn before(record: &Record, place: Place, rows: &mut Rows, clock: &str) {
    let arrival = at(record.disagg_server_arrival_time);
    let first = at(record.disagg_server_first_token_time);
    let part = record.ctx_perf_metrics.as_deref().unwrap_or(record);
    let id = id(part, record);
    let request = Request {
        request_id: id.as_deref(),
        outcome: outcome(record, first.is_some()),
        ..Request::default()
    };
    let key = rows.request(Hop::Router, place, &request);
    let names = ("disagg_server_arrival_time", "disagg_server_first_token_time");
    let ttft = between(rows, place, (names.0, arrival), (names.1, first));
    let first = first.filter(|_| arrival.is_none() || ttft.is_some());
    marks(rows, key, clock, [("start", arrival), ("first_token", first), ("end", None)]);
    if let Some(ns) = ttft {
        rows.measure(key, "trtllm-disagg.ttft", ns, "s", STEP_NS);
    }
}

fn marks(rows: &mut Rows, key: RequestKey, clock: &str, marks: [(&'static str, Option<i64>); 3]) {
    for (name, t_ns) in marks {
        if let Some(t_ns) = t_ns {
            rows.mark(key, name, t_ns, clock, STEP_NS);
        }
    }
}

/// The request at a server that computes.
fn server(
    record: &Record,
    whole: &Record,
    perf: &Perf,
    role: Role,
    instance: Option<&str>,
    (place, rows, hop, clock): (Place, &mut Rows, Hop, &str),
) {
    let timing = &perf.timing_metrics;
    let first = ("first_token_time", at(timing.first_token_time));
    let id = id(record, whole);
    let request = Request {
        request_id: id.as_deref(),
        instance,
        outcome: outcome(if role == Role::Both { record } else { whole }, first.1.is_some()),
        ..Request::default()
    };
    let key = rows.request(hop, place, &request);
    let came = ("server_arrival_time", at(timing.server_arrival_time));
    let arrived = ("arrival_time", at(timing.arrival_time));
    let scheduled = ("first_scheduled_time", at(timing.first_scheduled_time));
    let sent = ("server_first_token_time", at(timing.server_first_token_time));
    let last = ("last_token_time", at(timing.last_token_time));
    let moved = [
        ("kv_cache_transfer_start", at(timing.kv_cache_transfer_start)),
        ("kv_cache_transfer_end", at(timing.kv_cache_transfer_end)),
    ];
    let start = if came.1.is_some() { came } else { arrived };
    let out = if sent.1.is_some() { sent } else { first };
    // A decode server's first token is the second of the answer.
    let steps: &[_] = match role {
        Role::Decode => &[
            ("trtllm-decode.admission", arrived, scheduled),
            ("trtllm-decode.kv_transfer", moved[0], moved[1]),
        ],
        _ => &[
            ("trtllm.preprocess", came, arrived),
            ("trtllm.queue", arrived, scheduled),
            ("trtllm.prefill", scheduled, first),
            if came.1.is_some() && sent.1.is_some() {
                ("trtllm.ttft", came, sent)
            } else {
                ("trtllm-executor.ttft", arrived, first)
            },
            ("trtllm.e2e", start, if role == Role::Both { last } else { ("", None) }),
        ],
    };
    for (definition, from, to) in steps {
        if let Some(ns) = between(rows, place, *from, *to) {
            rows.measure(key, definition, ns, "s", STEP_NS);
        }
    }
    let after = |(_, t_ns): (&str, Option<i64>)| t_ns.filter(|t| start.1.is_none_or(|start| *t >= start));
    let token = if role == Role::Decode { None } else { after(out) };
    marks(rows, key, clock, [("start", start.1), ("first_token", token), ("end", after(last))]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const ONE: &str = include_str!("../../samples/trtllm_perf/aggregated.json");
    const APART: &str = include_str!("../../samples/trtllm_perf/disaggregated.json");

    #[test]
    fn one_server_gives_queue_prefill_and_ttft_to_the_nanosecond() {
        let read = read(&TrtllmPerf, ONE);
        assert_eq!((read.counts(), read.findings().len()), ((2, 0), 0));
        assert_eq!(
            read.rows(Table::Request, &["item", "hop", "request_id", "outcome"]),
            ["0|engine|7@trtllm|ok", "1|engine|8@trtllm|unknown"]
        );
        assert_eq!(
            read.rows(Table::Measure, &["item", "definition", "duration_ns", "unit"]),
            [
                "0|trtllm.preprocess|2000000|s",
                "0|trtllm.queue|3250001|s",
                "0|trtllm.prefill|19999999|s",
                "0|trtllm.ttft|27250000|s",
                "0|trtllm.e2e|150000000|s",
                "1|trtllm.queue|40000000|s",
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["item", "name", "t_ns", "clock"]),
            [
                "0|start|81234500000000|monotonic:0123456789ab",
                "0|first_token|81234527250000|monotonic:0123456789ab",
                "0|end|81234650000000|monotonic:0123456789ab",
                // Never given a token: 0.0 and null are no instants.
                "1|start|81234600000000|monotonic:0123456789ab",
            ]
        );
    }

    #[test]
    fn servers_apart_are_records_apart_on_clocks_apart() {
        let read = read(&TrtllmPerf, APART);
        assert_eq!((read.counts(), read.findings().len()), ((3, 0), 0));
        assert_eq!(
            read.rows(Table::Request, &["hop", "request_id", "instance"]),
            ["router|9007@trtllm|~", "engine|9007@trtllm|ctx-0:8001", "engine|9007@trtllm|gen-0:8002"]
        );
        assert_eq!(
            read.rows(Table::Mark, &["name", "t_ns", "clock"]),
            [
                "start|5000000000000|monotonic:0123456789ab",
                "first_token|5000120000000|monotonic:0123456789ab",
                "start|700004000000|monotonic:0123456789ab:ctx-0:8001",
                "first_token|700071000000|monotonic:0123456789ab:ctx-0:8001",
                "start|31000000000|monotonic:0123456789ab:gen-0:8002",
                "end|31900000000|monotonic:0123456789ab:gen-0:8002",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["definition", "duration_ns"]),
            [
                "trtllm-disagg.ttft|120000000",
                "trtllm.preprocess|1000000",
                "trtllm.queue|15000000",
                "trtllm.prefill|50000000",
                "trtllm.ttft|67000000",
                "trtllm-decode.admission|29000000",
                "trtllm-decode.kv_transfer|12000000",
            ]
        );
    }

    #[test]
    fn instants_against_their_order_and_records_without_any() {
        let text = r#"[{"request_id":1,"perf_metrics":{"timing_metrics":{"arrival_time":5.0,"first_scheduled_time":4.5,
            "first_token_time":6.0}}},{"request_id":2},{"ctx_perf_metrics":null,"gen_perf_metrics":null},"#;
        let read = read(&TrtllmPerf, text);
        assert_eq!(read.counts(), (1, 3));
        assert_eq!(
            read.findings()[..2],
            [
                "1 value-impossible first_scheduled_time 4500000000 ns < arrival_time 5000000000 ns: what lies between \
                 is left out",
                "1 record-shape no timing_metrics",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["definition", "duration_ns"]),
            ["trtllm.prefill|1500000000", "trtllm-executor.ttft|1000000000"]
        );
    }

    #[test]
    fn only_perf_metrics_are_recognised() {
        assert!(recognises(&TrtllmPerf, ONE) && recognises(&TrtllmPerf, APART));
        for text in ["", "[]", r#"[{"iterLatencyMS":1}]"#, r#"{"perf_metrics":[]}"#] {
            assert!(!recognises(&TrtllmPerf, text), "{text}");
        }
    }
}
