//! Kong's log entries, as its log plugins (file-log, http-log and kin) write them: JSON objects, one a line or in a list.
//!
//! - `started_at` is epoch milliseconds; `latencies` are milliseconds: `request` is the whole, `proxy` ends with the
//!   response HEADERS, `kong` is a sum over plugins. -1 means not measured.
//! - `ai` holds one object a plugin (`proxy` since 3.9, the plugin's name before) with `meta` and `usage`, whose token
//!   counts are singular in older releases. `llm_latency` is the FULL response; the first token is in
//!   `time_to_first_token` since 3.12 only.
//! - The first AI plugin that names a model or times its call is the one that called it.
//! - Payloads, headers other than ids, and credentials are not read.

use super::decimal::MS;
use super::json::{self, Raw, Text, word};
use super::load_tool::duration;
use super::objects::{self, Objects};
use super::trace::traceparent;
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, Rows};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Kong's log entries.
pub struct KongLog;

impl Format for KongLog {
    fn id(&self) -> &'static str {
        "kong_log"
    }

    fn title(&self) -> &'static str {
        "Kong log (file-log, http-log; AI Gateway)"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |text: &str| json::record::<Entry>(text).is_ok_and(|entry| entry.is_whole());
        Match::when(objects::any(head, ours), "started_at, latencies, request, response")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Stream(Box::new(Objects::new(move |line: Line, rows: &mut Rows| {
            match json::record::<Entry>(line.text) {
                Ok(entry) if entry.is_whole() => read(&entry, &line, rows, hop, &clock),
                Ok(_) => line.refuse(rows, Code::RecordShape, "started_at, latencies or request is missing"),
                Err((code, detail)) => line.refuse(rows, code, &detail),
            }
        })))
    }
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, default)]
    started_at: Raw<'a>,
    #[serde(borrow)]
    latencies: Option<Latencies<'a>>,
    #[serde(borrow)]
    request: Option<Message<'a>>,
    #[serde(borrow)]
    response: Option<Message<'a>>,
    #[serde(borrow)]
    consumer: Option<Consumer<'a>>,
    #[serde(borrow, default)]
    tries: Option<Vec<Try<'a>>>,
    #[serde(borrow)]
    ai: Option<BTreeMap<String, &'a RawValue>>,
}

impl Entry<'_> {
    fn is_whole(&self) -> bool {
        self.started_at.0.is_some() && self.latencies.is_some() && self.request.is_some()
    }
}

#[derive(Default, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow, default)]
    status: Raw<'a>,
    #[serde(borrow)]
    headers: Option<Headers<'a>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Latencies<'a> {
    #[serde(borrow)]
    request: Raw<'a>,
    #[serde(borrow)]
    kong: Raw<'a>,
    #[serde(borrow)]
    proxy: Raw<'a>,
    #[serde(borrow)]
    receive: Raw<'a>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Headers<'a> {
    #[serde(borrow, rename = "x-request-id")]
    x_request_id: Raw<'a>,
    #[serde(borrow)]
    traceparent: Raw<'a>,
}

#[derive(Deserialize)]
struct Consumer<'a> {
    #[serde(borrow)]
    username: Text<'a>,
}

#[derive(Deserialize)]
struct Try<'a> {
    #[serde(borrow)]
    ip: Text<'a>,
    #[serde(borrow, default)]
    port: Raw<'a>,
}

/// What one AI plugin says.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Plugin<'a> {
    #[serde(borrow)]
    meta: Option<Meta<'a>>,
    #[serde(borrow)]
    usage: Option<Usage<'a>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Meta<'a> {
    #[serde(borrow)]
    request_model: Raw<'a>,
    #[serde(borrow)]
    response_model: Raw<'a>,
    #[serde(borrow)]
    llm_latency: Raw<'a>,
    #[serde(borrow)]
    request_mode: Raw<'a>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Usage<'a> {
    #[serde(borrow)]
    prompt_tokens: Raw<'a>,
    #[serde(borrow)]
    prompt_token: Raw<'a>,
    #[serde(borrow)]
    completion_tokens: Raw<'a>,
    #[serde(borrow)]
    completion_token: Raw<'a>,
    #[serde(borrow)]
    time_to_first_token: Raw<'a>,
    #[serde(borrow)]
    prompt_tokens_details: Option<Details<'a>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Details<'a> {
    #[serde(borrow)]
    cached_tokens: Raw<'a>,
}

/// The plugin that called the model.
fn called<'a>(ai: Option<&BTreeMap<String, &'a RawValue>>) -> (Meta<'a>, Usage<'a>) {
    let plugins =
        ai.into_iter().flatten().filter_map(|(_, value)| serde_json::from_str::<Plugin>(value.get()).ok());
    let mut calls = plugins.map(|plugin| (plugin.meta.unwrap_or_default(), plugin.usage.unwrap_or_default()));
    let calls_model =
        |(meta, _): &(Meta, Usage)| [meta.request_model, meta.llm_latency].iter().any(|f| f.text().is_some());
    calls.find(calls_model).unwrap_or_default()
}

fn read(entry: &Entry, line: &Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let (none, request) = (Message::default(), entry.request.as_ref());
    let (request, response) = (request.unwrap_or(&none), entry.response.as_ref().unwrap_or(&none));
    let (meta, usage) = called(entry.ai.as_ref());
    let headers = request.headers.unwrap_or_default();
    let ids = headers.traceparent.text().and_then(traceparent);
    let last = entry.tries.as_ref().and_then(|tries| tries.last());
    let instance = last.and_then(|t| Some(format!("{}:{}", word(&t.ip)?, t.port.text()?)));
    let status = response.status.int();
    let answer = Request {
        // The caller's own id goes before Kong's.
        request_id: headers.x_request_id.text().or(word(&request.id)),
        trace_id: ids.map(|(trace, _)| trace),
        parent_span_id: ids.map(|(_, span)| span),
        caller: entry.consumer.as_ref().and_then(|consumer| word(&consumer.username)),
        model: meta.response_model.text().or(meta.request_model.text()),
        instance: instance.as_deref(),
        input_tokens: usage.prompt_tokens.int().or(usage.prompt_token.int()),
        output_tokens: usage.completion_tokens.int().or(usage.completion_token.int()),
        cached_tokens: usage.prompt_tokens_details.and_then(|details| details.cached_tokens.int()),
        status,
        outcome: status.map_or(Outcome::Unknown, Outcome::from_http),
        streamed: meta.request_mode.text().map(|mode| mode == "stream"),
        ..Request::default()
    };
    let key = rows.request(hop, line.place, &answer);
    let latencies = entry.latencies.unwrap_or_default();
    let unmeasured = |raw: &Raw| raw.text() == Some("-1");
    let whole = latencies.request.ns(MS).filter(|ns| *ns >= 0);
    match entry.started_at.ns(MS) {
        None => rows.finding(Code::TimeUnplaced, line.place, "started_at is not a number of milliseconds"),
        Some(start) => {
            rows.mark(key, "start", start, clock, entry.started_at.step_ns(MS));
            if let Some(end) = whole.and_then(|whole| start.checked_add(whole)) {
                rows.mark(key, "end", end, clock, entry.started_at.step_ns(MS));
            }
        }
    }
    for (definition, name, raw) in [
        ("kong.request", "latencies.request", latencies.request),
        ("kong.kong", "latencies.kong", latencies.kong),
        ("kong.proxy", "latencies.proxy", latencies.proxy),
        ("kong.receive", "latencies.receive", latencies.receive),
        ("kong.llm", "llm_latency", meta.llm_latency),
        ("kong.ttft", "time_to_first_token", usage.time_to_first_token),
    ] {
        if unmeasured(&raw) {
            continue;
        }
        let Some(ns) = duration(rows, line.place, name, raw.ns(MS)) else { continue };
        // Every figure is rounded by itself.
        match whole.filter(|whole| ns - whole > 1_000_000) {
            Some(whole) => {
                let detail = format!("{name} {ns} ns > latencies.request {whole} ns: {name} left out");
                rows.finding(Code::ValueImpossible, line.place, &detail);
            }
            None => rows.measure(key, definition, ns, "ms", raw.step_ns(MS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/kong_log/kong.jsonl");

    #[test]
    fn old_and_new_names_are_the_same_figures() {
        let read = read(&KongLog, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((3, 0), vec![]));
        let columns = [
            "request_id",
            "caller",
            "model",
            "instance",
            "input_tokens",
            "output_tokens",
            "cached_tokens",
            "status",
            "outcome",
            "streamed",
        ];
        assert_eq!(
            read.rows(Table::Request, &columns),
            [
                "web-0001|web-chat|tiny-llama|10.0.0.5:8000|28|20|16|200|ok|true",
                "9ec9264afbbbad5fe5c64877d92eeb05|web-chat|tiny-llama|10.0.0.5:8000|28|20|~|200|ok|~",
                "9ec9264afbbbad5fe5c64877d92eeb06|~|~|~|~|~|~|429|rejected|~",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["line", "definition", "duration_ns"]),
            [
                "1|kong.request|2700000000",
                "1|kong.kong|4000000",
                "1|kong.proxy|41000000",
                "1|kong.receive|2655000000",
                "1|kong.llm|2670000000",
                "1|kong.ttft|212000000",
                "2|kong.request|2700000000",
                "2|kong.kong|4000000",
                "2|kong.proxy|41000000",
                "2|kong.llm|2670000000",
                "3|kong.request|2000000",
                "3|kong.kong|2000000",
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["name", "t_ns", "clock"])[..2],
            ["start|1796073819250000000|epoch:0123456789ab", "end|1796073821950000000|epoch:0123456789ab"]
        );
    }

    #[test]
    fn contradictions_and_other_records_are_reported() {
        let entry = r#"{"started_at":1796073819250,"latencies":{"request":10,"proxy":50,"kong":-5},"request":{"id":"a"},"response":{"status":200}}"#;
        assert_eq!(
            read(&KongLog, entry).findings(),
            [
                "1 value-impossible latencies.kong -5000000 ns < 0: left out",
                "1 value-impossible latencies.proxy 50000000 ns > latencies.request 10000000 ns: latencies.proxy left out",
            ]
        );
        let bad = read(&KongLog, "{\"started_at\":1}\nnoise\n{\"sta");
        assert_eq!(bad.rows(Table::Finding, &["code"]), ["record-shape", "record-not-json", "truncated"]);
        assert!(recognises(&KongLog, SAMPLE) && recognises(&KongLog, &format!("[{entry},{entry}]")));
        assert!(!recognises(&KongLog, "{}") && !recognises(&KongLog, ""));
    }
}
