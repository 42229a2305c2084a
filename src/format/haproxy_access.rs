//! `HAProxy` log written as JSON lines by a `log-format`: the gateway's view of each attempt.
//!
//! Timers are milliseconds; -1 means that the stage was never reached. `accept_epoch` + `accept_ms` is when the
//! connection was accepted, or, on a connection kept alive, when the request before it ended: it can lie seconds
//! before the request. A request therefore starts with its first byte, at accept + `time_total` − `time_active`,
//! and ends at accept + `time_total`.
//!
//! `%ms` is zero padded, so `"accept_ms":046` is not JSON: such a line is read all the same, and reported. Notices
//! of the process between the records are not records.

use super::decimal::{MS, S};
use super::json::{self, Raw, Text, word};
use super::trace::traceparent;
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, RequestKey, Rows};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// `HAProxy` counts whole milliseconds.
const STEP_NS: i64 = 1_000_000;

/// The `HAProxy` log as JSON lines.
pub struct HaproxyAccess;

impl Format for HaproxyAccess {
    fn id(&self) -> &'static str {
        "haproxy_access"
    }

    fn title(&self) -> &'static str {
        "HAProxy log (JSON lines)"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "queue", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let haproxy = |line: &str| {
            json::record::<Keys>(line).is_ok() || json::record::<Keys>(&without_leading_zeros(line)).is_ok()
        };
        let seen = head.lines().filter(|line| line.starts_with('{')).take(20).any(haproxy);
        Match::when(seen, "accept_epoch, time_total, termination_state")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| line_of_log(line, rows, hop, &clock)))
    }
}

/// Keys that decide.
#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence is what counts")]
struct Keys {
    accept_epoch: IgnoredAny,
    time_total: IgnoredAny,
    termination_state: IgnoredAny,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow, default)]
    accept_epoch: Raw<'a>,
    #[serde(borrow, default)]
    accept_ms: Raw<'a>,
    #[serde(borrow)]
    x_request_id: Text<'a>,
    #[serde(borrow, default)]
    traceparent: Raw<'a>,
    #[serde(borrow)]
    caller: Text<'a>,
    #[serde(borrow, default)]
    attempt: Raw<'a>,
    #[serde(borrow)]
    server: Text<'a>,
    #[serde(borrow, default)]
    time_request: Raw<'a>,
    #[serde(borrow, default)]
    time_wait: Raw<'a>,
    #[serde(borrow, default)]
    time_connect: Raw<'a>,
    #[serde(borrow, default)]
    time_response: Raw<'a>,
    #[serde(borrow, default)]
    time_active: Raw<'a>,
    #[serde(borrow, default)]
    time_total: Raw<'a>,
    #[serde(borrow, default)]
    status: Raw<'a>,
    #[serde(borrow)]
    termination_state: Text<'a>,
}

/// A timer, `None` when its stage was never reached.
fn timer(raw: Raw) -> Option<i64> {
    raw.ns(MS).filter(|ns| *ns >= 0)
}

fn line_of_log(line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    if is_notice(line.text) {
        return;
    }
    let repaired;
    let record = match json::record::<Record>(line.text) {
        Err((Code::RecordNotJson, detail)) => {
            repaired = without_leading_zeros(line.text);
            let record = json::record(&repaired).map_err(|_| (Code::RecordNotJson, detail));
            if record.is_ok() {
                rows.finding(Code::RecordNotStrict, line.place, "a number with leading zeros");
            }
            record
        }
        record => record,
    };
    match record {
        Ok(record) => read(&record, &line, rows, hop, clock),
        Err((code, detail)) => line.refuse(rows, code, &detail),
    }
}

/// What the process says of itself: `[NOTICE] (333) : …`, and its echo without the bracket.
pub(super) fn is_notice(line: &str) -> bool {
    ["[NOTICE]", "[WARNING]", "[ALERT]", "[DIAG]", "Proxy "].iter().any(|word| line.starts_with(word))
}

/// The line with `046` written as `46`, outside of strings.
fn without_leading_zeros(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut escaped, mut number) = (false, false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let padding = !quoted && !number && c == '0' && chars.peek().is_some_and(char::is_ascii_digit);
        if padding {
            continue;
        }
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        number = c.is_ascii_digit() || c == '.';
        out.push(c);
    }
    out
}

fn read(r: &Record, line: &Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let Some(accept) = r.accept_epoch.ns(S).and_then(|s| s.checked_add(timer(r.accept_ms)?)) else {
        return line.refuse(rows, Code::RecordShape, "accept_epoch or accept_ms is not stated");
    };
    let ids = r.traceparent.text().and_then(traceparent);
    let state = word(&r.termination_state).filter(|state| *state != "--");
    let status = r.status.int().filter(|status| *status >= 0);
    let request = Request {
        request_id: word(&r.x_request_id),
        trace_id: ids.map(|(trace, _)| trace),
        parent_span_id: ids.map(|(_, span)| span),
        attempt: r.attempt.int(),
        caller: word(&r.caller),
        instance: word(&r.server).filter(|server| *server != "<NOSRV>"),
        status,
        outcome: outcome(status, state),
        error: state,
        ..Request::default()
    };
    let key = rows.request(hop, line.place, &request);
    let (active, total) = (timer(r.time_active), timer(r.time_total));
    let active = active.filter(|active| possible(r, *active, line, rows));
    if let Some(end) = total.and_then(|total| accept.checked_add(total)) {
        if let Some(start) = active.and_then(|active| end.checked_sub(active)) {
            rows.mark(key, "start", start, clock, STEP_NS);
        }
        rows.mark(key, "end", end, clock, STEP_NS);
    }
    measures(r, active, total, rows, key);
}

fn measures(r: &Record, active: Option<i64>, total: Option<i64>, rows: &mut Rows, key: RequestKey) {
    for (definition, ns) in [
        ("haproxy.request", timer(r.time_request)),
        ("haproxy.wait", timer(r.time_wait)),
        ("haproxy.connect", timer(r.time_connect)),
        ("haproxy.response", timer(r.time_response)),
        ("haproxy.active", active),
        ("haproxy.total", total),
    ] {
        if let Some(ns) = ns {
            rows.measure(key, definition, ns, "ms", STEP_NS);
        }
    }
}

/// Whether the active time lies between its parts and the total; reported when it does not.
fn possible(r: &Record, active: i64, line: &Line, rows: &mut Rows) -> bool {
    let parts = [r.time_request, r.time_wait, r.time_connect, r.time_response];
    let sum = parts.into_iter().filter_map(timer).fold(0_i64, i64::saturating_add);
    let detail = match timer(r.time_total) {
        Some(total) if active > total => format!("time_active {active} ns > time_total {total} ns"),
        _ if active < sum => {
            format!(
                "time_active {active} ns < time_request + time_wait + time_connect + time_response {sum} ns"
            )
        }
        _ => return true,
    };
    rows.finding(Code::ValueImpossible, line.place, &format!("{detail}; time_active and the start left out"));
    false
}

/// `C…` means that the client gave up; any state but `--` and `L…` (answered by `HAProxy` itself) spoils a 2xx.
pub(super) fn outcome(status: Option<i64>, state: Option<&str>) -> Outcome {
    let by = state.and_then(|state| state.chars().next());
    match (status.map_or(Outcome::Error, Outcome::from_http), by) {
        (Outcome::Ok | Outcome::Error, Some('C')) => Outcome::Cancelled,
        (Outcome::Ok, Some(by)) if !matches!(by, '-' | 'L') => Outcome::Error,
        (outcome, _) => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{Read, read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/haproxy_access/haproxy.stdout.log");
    const MARKS: &[&str] = &["line", "name", "t_ns", "clock", "resolution_ns"];
    const MEASURES: &[&str] = &["definition", "duration_ns"];

    fn line(keys: &str) -> Read {
        read(&HaproxyAccess, &format!(r#"{{"accept_epoch":100,"accept_ms":7,{keys}}}"#))
    }

    #[test]
    fn a_line_is_read_exactly_and_starts_with_its_first_byte() {
        let read = read(&HaproxyAccess, SAMPLE);
        assert_eq!(read.counts(), (16, 0));
        let columns = ["line", "hop", "request_id", "trace_id", "parent_span_id", "attempt", "caller"];
        let requests = read.rows(Table::Request, &columns);
        assert_eq!(
            requests[4],
            "5|gateway|b0a-bat-0004|fe52932bbcb9be4c9fb98c50b7f2950e|395e93419acf510d|0|batch-reports"
        );
        let columns = ["instance", "status", "outcome", "error"];
        assert_eq!(read.rows(Table::Request, &columns)[4], "b1|200|ok|~");
        // Kept alive since 22:15:16.200; the request itself took the last 643 ms of 5422.
        assert_eq!(
            read.rows(Table::Mark, MARKS)[8..10],
            [
                "5|start|1796076920979000000|epoch:0123456789ab|1000000",
                "5|end|1796076921622000000|epoch:0123456789ab|1000000",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, MEASURES)[24..30],
            [
                "haproxy.request|0",
                "haproxy.wait|0",
                "haproxy.connect|1000000",
                "haproxy.response|4000000",
                "haproxy.active|643000000",
                "haproxy.total|5422000000",
            ]
        );
    }

    #[test]
    fn padded_milliseconds_are_read_and_reported() {
        let read = read(&HaproxyAccess, SAMPLE);
        assert_eq!(read.findings(), ["15 record-not-strict a number with leading zeros"]);
        let ends = read.rows(Table::Mark, MARKS);
        assert!(ends.contains(&"15|end|1796077020941000000|epoch:0123456789ab|1000000".to_owned()));
        let repaired = without_leading_zeros(r#"{"a":007,"b":"00\"01","c":0.05,"d":000,"e":100,"f":-1}"#);
        assert_eq!(repaired, r#"{"a":7,"b":"00\"01","c":0.05,"d":0,"e":100,"f":-1}"#);
    }

    #[test]
    fn stages_never_reached_are_absent_not_zero() {
        let timers = r#""time_request":3,"time_wait":-1,"time_connect":-1,"time_response":-1"#;
        let read = line(&format!(
            r#"{timers},"time_active":5,"time_total":5,"status":503,"termination_state":"SC","server":"<NOSRV>""#
        ));
        assert_eq!(
            read.rows(Table::Measure, MEASURES),
            ["haproxy.request|3000000", "haproxy.active|5000000", "haproxy.total|5000000"]
        );
        assert_eq!(read.rows(Table::Request, &["instance", "status", "error"]), ["~|503|SC"]);
        let bare = line(r#""status":-1,"time_total":-1"#);
        assert_eq!(bare.rows(Table::Request, &["status", "outcome", "error"]), ["~|error|~"]);
        assert_eq!(bare.rows(Table::Mark, MARKS), Vec::<String>::new());
    }

    #[test]
    fn the_termination_state_tells_who_broke_off() {
        for (status, state, expected) in [
            (200, "--", Outcome::Ok),
            (200, "CD", Outcome::Cancelled),
            (200, "SD", Outcome::Error),
            (200, "LR", Outcome::Ok),
            (429, "PR", Outcome::Rejected),
            (504, "sH", Outcome::Error),
            (-1, "CR", Outcome::Cancelled),
            (-1, "--", Outcome::Error),
        ] {
            let read = line(&format!(r#""status":{status},"termination_state":"{state}""#));
            assert_eq!(read.rows(Table::Request, &["outcome"]), [expected.as_str()], "{status} {state}");
        }
    }

    #[test]
    fn impossible_times_and_bad_lines_are_reported() {
        let long = line(r#""time_active":9,"time_total":5"#);
        assert_eq!(long.rows(Table::Mark, &["name"]), ["end"]);
        assert_eq!(long.rows(Table::Measure, MEASURES), ["haproxy.total|5000000"]);
        let short = line(r#""time_wait":4,"time_response":6,"time_active":9,"time_total":9"#);
        let impossible = |read: Read| read.rows(Table::Finding, &["code"]);
        assert_eq!(
            (impossible(long), impossible(short)),
            (vec!["value-impossible".to_owned()], vec!["value-impossible".to_owned()])
        );
        let text = [
            "[NOTICE]   (1) : haproxy version is 2.6.12",
            r#"{"accept_epoch":1}"#,
            r#"{"accept_epoch":1e30,"accept_ms":1}"#,
            r#"{"accept_epoch":1,"accept_ms":1,"accept_ms":2}"#,
            "garbage",
            r#"{"accept_epoch":1,"accept_ms":01,"time_total":+5}"#,
            r#"{"accept_ep"#,
        ];
        let read = read(&HaproxyAccess, &text.join("\n"));
        assert_eq!(read.counts(), (0, 6));
        assert_eq!(
            read.rows(Table::Finding, &["line", "code"]),
            [
                "2|record-shape",
                "3|record-shape",
                "4|duplicate-key",
                "5|record-not-json",
                "6|record-not-json",
                "7|truncated",
            ]
        );
    }

    #[test]
    fn recognised_by_its_keys_behind_any_number_of_notices() {
        assert!(recognises(&HaproxyAccess, SAMPLE));
        let padded = SAMPLE.lines().find(|line| line.contains(r#""accept_ms":004"#)).unwrap();
        assert!(recognises(&HaproxyAccess, &format!("{}{padded}\n", "[NOTICE] starting\n".repeat(50))));
        for other in ["", "garbage", "{}", r#"{"accept_epoch":1,"time_total":1}"#] {
            assert!(!recognises(&HaproxyAccess, other), "{other}");
        }
    }
}
