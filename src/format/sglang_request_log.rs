//! `SGLang`'s request log as JSON (`--log-requests --log-requests-format json`): one event a line.
//!
//! `timestamp` is local time without a zone; the instants in `meta_info` are epoch seconds. A request that was received
//! and never finished leaves its arrival. `obj` and `out` may hold prompts and answers, which are never kept.

use super::civil::local_ns;
use super::json::{self, Raw, Text, word};
use super::sglang::{Known, Meta};
use super::sglang_metrics_export::Finish;
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Event, Hop, Rows};
use jiff::civil::DateTime;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The format; see the module.
pub struct SglangRequestLog;

impl Format for SglangRequestLog {
    fn id(&self) -> &'static str {
        "sglang_request_log"
    }

    fn title(&self) -> &'static str {
        "SGLang request log (JSON)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["queue", "prefill"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = head.lines().take(40).any(is_event);
        // Written to standard output, the events stand between the lines of the server's log.
        let server = head.lines().take(40).any(super::sglang_log::is_line);
        Match::when(ours && !server, "event: request.received, request.finished; rid")
    }

    fn reader(&self, cx: &Context) -> Reader {
        Reader::Stream(Box::new(RequestLog::new(cx)))
    }
}

/// Whether a line is an event of this log.
pub(super) fn is_event(line: &str) -> bool {
    let names = ["\"event\": \"request.", "\"event\":\"request."];
    line.starts_with('{') && line.contains("\"rid\"") && names.iter().any(|name| line.contains(name))
}

/// Reads the events of the log.
pub(super) struct RequestLog {
    cx: Context,
    local: String,
    epoch: String,
    warned: bool,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow)]
    event: Text<'a>,
    #[serde(borrow)]
    rid: Text<'a>,
    obj: Option<Parameters>,
    #[serde(borrow)]
    out: Option<Out<'a>>,
}

#[derive(Deserialize)]
struct Parameters {
    stream: Option<bool>,
}

#[derive(Deserialize)]
struct Out<'a> {
    #[serde(borrow)]
    meta_info: Option<BTreeMap<String, Raw<'a>>>,
}

impl RequestLog {
    /// For one source.
    pub fn new(cx: &Context) -> RequestLog {
        RequestLog { cx: cx.clone(), local: cx.local(), epoch: cx.epoch(), warned: false }
    }

    fn received(&mut self, entry: &Entry, line: Line, rows: &mut Rows) {
        let stamp = word(&entry.timestamp).and_then(|stamp| stamp.parse::<DateTime>().ok());
        let Some(t_ns) = stamp.and_then(|stamp| local_ns(stamp, self.cx.zone.as_ref())) else {
            return line.refuse(
                rows,
                Code::TimeUnplaced,
                "`timestamp` is not one instant of the calendar or the declared zone",
            );
        };
        if self.cx.zone.is_none() && !std::mem::replace(&mut self.warned, true) {
            rows.finding(Code::TimeUnplaced, line.place, "`timestamp` is local time without a zone");
        }
        let event = Event {
            kind: "request-received",
            t_ns: Some(t_ns),
            clock: &self.local,
            resolution_ns: 1_000,
            detail: word(&entry.rid).unwrap_or_default(),
            ..Event::default()
        };
        rows.event(self.cx.hop, line.place, &event);
    }
}

impl Stream for RequestLog {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        let entry: Entry = match json::record(line.text) {
            Ok(entry) => entry,
            Err((code, detail)) => return line.refuse(rows, code, &detail),
        };
        match entry.event.as_deref() {
            Some("request.received") => self.received(&entry, line, rows),
            Some("request.finished") => {
                let Some(fields) = entry.out.as_ref().and_then(|out| out.meta_info.as_ref()) else {
                    return line.refuse(rows, Code::RecordShape, "no `out.meta_info`");
                };
                let finish = fields.get("finish_reason").and_then(|raw| raw.0);
                let finish = finish.and_then(|raw| serde_json::from_str::<Finish>(raw.get()).ok());
                let finish = finish.as_ref().map(|finish| finish.r#type.as_str());
                let known = Known {
                    rid: word(&entry.rid),
                    streamed: entry.obj.as_ref().and_then(|obj| obj.stream),
                    finish,
                    aborted: finish == Some("abort"),
                };
                Meta::of(fields).add(rows, self.cx.hop, line.place, &self.epoch, known);
            }
            _ => line.refuse(
                rows,
                Code::RecordShape,
                "`event` is neither request.received nor request.finished",
            ),
        }
    }

    fn end(&mut self, _: &mut Rows) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{context, read, read_as, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/sglang_request_log/requests.jsonl");

    #[test]
    fn arrivals_are_events_and_finished_requests_are_requests() {
        let read = read(&SglangRequestLog, SAMPLE);
        assert_eq!(read.counts(), (5, 0));
        assert_eq!(read.findings(), ["1 time-unplaced `timestamp` is local time without a zone"]);
        assert_eq!(
            read.rows(Table::Event, &["line", "kind", "t_ns", "clock", "detail"]),
            [
                "1|request-received|1796076000125123000|local:0123456789ab|r1",
                "2|request-received|1796076000200000000|local:0123456789ab|r2",
                "4|request-received|1796076001000001000|local:0123456789ab|r3",
            ]
        );
        let columns = ["line", "request_id", "input_tokens", "output_tokens", "outcome", "error", "streamed"];
        assert_eq!(
            read.rows(Table::Request, &columns),
            ["3|r1|7|3|ok|length|true", "5|r2|9|0|cancelled|abort|false"]
        );
        assert_eq!(
            read.rows(Table::Mark, &["name", "t_ns", "clock"])[..2],
            ["start|1796047200125000000|epoch:0123456789ab", "launch|1796047200150000000|epoch:0123456789ab"]
        );
    }

    #[test]
    fn a_declared_zone_places_the_arrivals() {
        let cx =
            Context { zone: jiff::tz::TimeZone::get("Asia/Shanghai").ok(), ..context(&SglangRequestLog) };
        let read = read_as(&SglangRequestLog, &cx, SAMPLE);
        assert_eq!(read.findings(), [""; 0]);
        assert_eq!(read.rows(Table::Event, &["t_ns", "clock"])[0], "1796047200125123000|epoch:0123456789ab");
    }

    #[test]
    fn bad_events_are_refused() {
        let text = "{\"event\":\"request.received\",\"rid\":\"a\",\"timestamp\":\"noon\"}\n\
            {\"event\":\"request.finished\",\"rid\":\"a\"}\n{\"event\":\"other\"}\n{\"eve";
        assert_eq!(
            read(&SglangRequestLog, text).rows(Table::Finding, &["line", "code"]),
            ["1|time-unplaced", "2|record-shape", "3|record-shape", "4|truncated"]
        );
    }

    #[test]
    fn the_log_is_recognised_and_others_are_not() {
        assert!(recognises(&SglangRequestLog, SAMPLE));
        for text in ["", "garbage", r#"{"event":"request.received"}"#, r#"{"event":"x","rid":"a"}"#] {
            assert!(!recognises(&SglangRequestLog, text), "{text}");
        }
    }
}
