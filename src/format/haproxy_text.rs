//! `HAProxy`'s own text formats: `option httplog`, `option tcplog`, and its connection errors, with or without a
//! syslog prefix (configuration manual, section 8.2).
//!
//! - The date is local time without a zone. For HTTP it is the first byte of the request (%tr), and Ta runs from there
//!   to the last byte sent; before version 1.7 it was the accept, with Tq and Tt in the same places.
//! - Timers are milliseconds; -1 means that the stage was never reached; `+` (option logasap) that the log was written
//!   before the response ended: such a total is no total.
//! - A line of `tcplog` is a connection, not a request, and becomes an event; so does a connection error.
//! - Captured headers stand without names, so no id is taken from them.

use super::decimal::{MS, to_ns};
use super::fields::{Field, Kind, fields};
use super::haproxy_access::{is_notice, outcome};
use super::load_tool::cut;
use super::stamp::{Stamp, Stamps};
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Event, Hop, Request, Rows};

/// `HAProxy` counts whole milliseconds.
const STEP_NS: i64 = 1_000_000;

/// The default logs of `HAProxy`.
pub struct HaproxyText;

impl Format for HaproxyText {
    fn id(&self) -> &'static str {
        "haproxy_text"
    }

    fn title(&self) -> &'static str {
        "HAProxy log (httplog, tcplog)"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "queue", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |line: &str| {
            let fields = fields(line);
            from_date(&fields).is_some_and(|[_, _, _, timers, ..]| {
                matches!(timers.text.split('/').count(), 3 | 5) && timers.text.split('/').all(is_timer)
            })
        };
        Match::when(head.lines().take(50).any(ours), "client [date] frontend backend/server timers")
    }

    fn reader(&self, cx: &Context) -> Reader {
        Reader::Stream(Box::new(Log { hop: cx.hop, stamps: Stamps::new(cx), unplaced: false }))
    }
}

/// A number, with a sign where it is never reached or not final.
fn is_timer(part: &str) -> bool {
    part.trim_start_matches(['+', '-']).parse::<u32>().is_ok()
}

/// The fields from the date on: date, frontend, backend/server, timers, and what follows.
fn from_date<'f, 'a>(all: &'f [Field<'a>]) -> Option<&'f [Field<'a>; 5]> {
    all.get(all.iter().position(is_date)?..)?.first_chunk()
}

fn is_date(field: &Field) -> bool {
    field.kind == Kind::Bracketed
        && field.text.matches('/').count() == 2
        && field.text.matches(':').count() == 3
}

struct Log {
    hop: Hop,
    stamps: Stamps,
    /// Whether the lack of a zone was reported.
    unplaced: bool,
}

impl Stream for Log {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        if is_notice(line.text) {
            return;
        }
        let all = fields(line.text);
        let rest = all.iter().position(is_date).and_then(|at| all.get(at..)).unwrap_or(&[]);
        let [date, name, rest @ ..] = rest else {
            return line.refuse(rows, Code::RecordShape, "no [date] and frontend");
        };
        let Some(at) = self.stamps.read(date.text) else {
            return line.refuse(rows, Code::RecordShape, "the date is not a date");
        };
        if !at.placed && !self.unplaced {
            rows.finding(Code::TimeUnplaced, line.place, "dates are local times without a zone");
        }
        let hop = self.hop;
        let read = match rest {
            [server, timers, after @ ..] if timers.text.split('/').count() == 5 => {
                request(hop, at, server, timers, after, &line, rows)
            }
            [server, timers, after @ ..] if timers.text.split('/').count() == 3 => {
                connection(hop, at, server, timers, after, &line, rows)
            }
            _ if name.text.ends_with(':') => {
                let said = line.text.split_once(name.text).map_or("", |(_, said)| said.trim());
                event(hop, at, "connection-error", None, None, said, &line, rows);
                true
            }
            _ => false,
        };
        self.unplaced |= !at.placed;
        if !read {
            line.refuse(rows, Code::RecordShape, "neither the timers of httplog nor of tcplog");
        }
    }

    fn end(&mut self, _rows: &mut Rows) {}
}

/// A timer in ns, `None` when its stage was never reached or its value is not final.
fn timer(text: &str) -> Option<i64> {
    to_ns(text, MS).filter(|ns| *ns >= 0 && !text.starts_with('+'))
}

/// The server of `backend/server`.
fn server_of<'a>(field: &Field<'a>) -> Option<&'a str> {
    let server = field.text.split_once('/').map(|(_, server)| server)?;
    (!matches!(server, "" | "<NOSRV>")).then_some(server)
}

fn request(
    hop: Hop,
    at: Stamp,
    server: &Field,
    timers: &Field,
    after: &[Field],
    line: &Line,
    rows: &mut Rows,
) -> bool {
    let [status, _bytes, _, _, state, ..] = after else { return false };
    let parts: Vec<_> = timers.text.split('/').collect();
    let [tr, tw, tc, tresp, ta] = parts.as_slice() else { return false };
    if !parts.iter().all(|part| is_timer(part)) || state.text.len() < 2 {
        return false;
    }
    let status = status.text.parse().ok().filter(|status| *status >= 0_i64);
    let state = state.text.get(..2).filter(|state| *state != "--");
    let request = Request {
        instance: server_of(server),
        status,
        outcome: outcome(status, state),
        error: state,
        ..Request::default()
    };
    let key = rows.request(hop, line.place, &request);
    let stages = [
        ("haproxy.request", timer(tr)),
        ("haproxy.wait", timer(tw)),
        ("haproxy.connect", timer(tc)),
        ("haproxy.response", timer(tresp)),
    ];
    let sum = stages.iter().filter_map(|(_, ns)| *ns).fold(0_i64, i64::saturating_add);
    let active = timer(ta).filter(|active| {
        if *active < sum {
            let detail = format!("Ta {active} ns < TR + Tw + Tc + Tr {sum} ns: Ta left out");
            rows.finding(Code::ValueImpossible, line.place, &detail);
        }
        *active >= sum
    });
    rows.mark(key, "start", at.ns, at.clock, at.step_ns);
    if let Some(end) = active.and_then(|active| at.ns.checked_add(active)) {
        rows.mark(key, "end", end, at.clock, at.step_ns);
    }
    for (definition, ns) in stages.into_iter().chain([("haproxy.active", active)]) {
        if let Some(ns) = ns {
            rows.measure(key, definition, ns, "ms", STEP_NS);
        }
    }
    true
}

fn connection(
    hop: Hop,
    at: Stamp,
    server: &Field,
    timers: &Field,
    after: &[Field],
    line: &Line,
    rows: &mut Rows,
) -> bool {
    let [_bytes, state, ..] = after else { return false };
    let total = timers.text.split('/').next_back().and_then(timer);
    let state = if state.text == "--" { "" } else { state.text };
    event(hop, at, "connection", total, server_of(server), state, line, rows);
    true
}

#[expect(clippy::too_many_arguments, reason = "the parts of one event")]
fn event(
    hop: Hop,
    at: Stamp,
    kind: &str,
    duration_ns: Option<i64>,
    instance: Option<&str>,
    detail: &str,
    line: &Line,
    rows: &mut Rows,
) {
    let (clock, detail) = (at.clock, cut(detail, 120));
    let (t_ns, resolution_ns) = (Some(at.ns), at.step_ns);
    let event = Event { kind, t_ns, clock, resolution_ns, duration_ns, instance, detail, ..Event::default() };
    rows.event(hop, line.place, &event);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{context, read, read_as, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/haproxy_text/haproxy.log");
    const MEASURE: &[&str] = &["line", "definition", "duration_ns"];

    #[test]
    fn requests_connections_and_errors_are_told_apart() {
        let read = read(&HaproxyText, SAMPLE);
        assert_eq!(read.counts(), (6, 0));
        assert_eq!(
            read.rows(Table::Request, &["line", "instance", "status", "outcome", "error"]),
            ["1|srv1|200|ok|~", "2|~|503|error|SC", "3|srv1|~|cancelled|CH", "6|srv1|200|ok|~"]
        );
        assert_eq!(
            read.rows(Table::Event, &["line", "kind", "duration_ns", "instance", "detail"]),
            ["4|connection|60042000000|srv2|", "5|connection-error|~|~|SSL handshake failure"]
        );
        assert_eq!(read.findings(), ["1 time-unplaced dates are local times without a zone"]);
    }

    #[test]
    fn timers_are_exact_and_never_reached_is_absent() {
        let read = read(&HaproxyText, SAMPLE);
        assert_eq!(
            read.rows(Table::Measure, MEASURE)[..7],
            [
                "1|haproxy.request|2000000",
                "1|haproxy.wait|30000000",
                "1|haproxy.connect|1000000",
                "1|haproxy.response|41000000",
                "1|haproxy.active|1526000000",
                "2|haproxy.request|0",
                "2|haproxy.wait|5001000000",
            ]
        );
        // Logged as soon as the headers were there: the total is not one.
        let last = read.rows(Table::Measure, MEASURE).pop().unwrap();
        assert_eq!(last, "6|haproxy.response|44000000");
        assert_eq!(
            read.rows(Table::Mark, &["line", "name", "t_ns", "clock"])[..2],
            [
                "1|start|1796073819250000000|local:0123456789ab",
                "1|end|1796073820776000000|local:0123456789ab"
            ]
        );
        let mut cx = context(&HaproxyText);
        cx.zone = crate::input::zone("UTC");
        let placed = read_as(&HaproxyText, &cx, SAMPLE);
        assert_eq!(
            (placed.findings(), placed.rows(Table::Mark, &["clock"])[0].as_str()),
            (vec![], "epoch:0123456789ab")
        );
    }

    #[test]
    fn contradictions_and_other_lines_are_reported() {
        let line = "1.2.3.4:5 [30/Nov/2026:21:23:39.250] fe be/s 2/30/1/41/50 200 9 - - ---- 1/1/1/1/0 0/0 \"GET / HTTP/1.1\"\n";
        let read = read(
            &HaproxyText,
            &format!("{line}noise\n[30/Nov/2026:21:23:39.250] fe be/s 1/2 3\n1.2.3.4:5 [30/N"),
        );
        assert_eq!(
            read.findings(),
            [
                "1 time-unplaced dates are local times without a zone",
                "1 value-impossible Ta 50000000 ns < TR + Tw + Tc + Tr 74000000 ns: Ta left out",
                "2 record-shape no [date] and frontend",
                "3 record-shape neither the timers of httplog nor of tcplog",
                "4 truncated no [date] and frontend",
            ]
        );
    }

    #[test]
    fn recognised_by_date_and_timers() {
        assert!(recognises(&HaproxyText, SAMPLE));
        let nginx = "10.0.0.1 - - [30/Nov/2026:21:23:39 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"";
        for other in ["", "noise", nginx] {
            assert!(!recognises(&HaproxyText, other), "{other}");
        }
    }
}
