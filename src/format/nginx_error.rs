//! nginx error log: `YYYY/MM/DD HH:MM:SS [level] pid#tid: *connection message`, local time, whole seconds.
//!
//! Each message becomes an event `gateway-<level>`. A line without a stamp continues the message before it and
//! is passed over; so is everything from `, request:` on, which may quote what a user sent.

use super::civil::local_ns;
use super::{Context, Format, Line, Match, Reader};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Event, Hop, Rows};
use jiff::civil::DateTime;

const SECOND_NS: i64 = 1_000_000_000;

/// The nginx error log.
pub struct NginxError;

impl Format for NginxError {
    fn id(&self) -> &'static str {
        "nginx_error"
    }

    fn title(&self) -> &'static str {
        "nginx error log"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "ready"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let messages = || head.lines().take(20).filter_map(message);
        match messages().find_map(|m| version(m.text)) {
            Some(version) => Match::Yes { version: version.to_owned(), because: "stamp, level, pid#tid" },
            None => Match::when(messages().next().is_some(), "stamp, level, pid#tid"),
        }
    }

    fn reader(&self, cx: &Context) -> Reader {
        let cx = cx.clone();
        let clock = cx.local();
        Reader::Lines(Box::new(move |line, rows| read(line, rows, &cx, &clock)))
    }
}

struct Message<'a> {
    time: DateTime,
    kind: &'static str,
    text: &'a str,
}

/// The parts of a line that begins a message.
fn message(line: &str) -> Option<Message<'_>> {
    let (stamp, rest) = line.split_at_checked(19)?;
    let (level, rest) = rest.strip_prefix(" [")?.split_once("] ")?;
    let (process, text) = rest.split_once(": ")?;
    let (pid, tid) = process.split_once('#')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !(digits(pid) && digits(tid)) {
        return None;
    }
    let time = DateTime::strptime("%Y/%m/%d %H:%M:%S", stamp).ok()?;
    Some(Message { time, kind: kind(level)?, text })
}

fn kind(level: &str) -> Option<&'static str> {
    Some(match level {
        "debug" => "gateway-debug",
        "info" => "gateway-info",
        "notice" => "gateway-notice",
        "warn" => "gateway-warn",
        "error" => "gateway-error",
        "crit" => "gateway-crit",
        "alert" => "gateway-alert",
        "emerg" => "gateway-emerg",
        _ => return None,
    })
}

/// `1.22.1` of the start message `nginx/1.22.1`.
fn version(text: &str) -> Option<&str> {
    text.strip_prefix("nginx/").filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a line begins like a message: `2026/`.
fn stamped(line: &str) -> bool {
    line.split_once('/').is_some_and(|(year, _)| year.len() == 4 && year.bytes().all(|b| b.is_ascii_digit()))
}

fn read(line: Line, rows: &mut Rows, cx: &Context, clock: &str) {
    if line.place.line == 1 && cx.zone.is_none() {
        rows.finding(Code::TimeUnplaced, Place::FILE, "local time of day without a zone");
    }
    let Some(message) = message(line.text) else {
        if stamped(line.text) {
            line.refuse(rows, Code::RecordShape, "not `YYYY/MM/DD HH:MM:SS [level] pid#tid: message`");
        }
        return;
    };
    let t_ns = local_ns(message.time, cx.zone.as_ref());
    if t_ns.is_none() {
        let detail = format!("{} is not one instant in the declared zone", message.time);
        rows.finding(Code::TimeUnplaced, line.place, &detail);
    }
    if let Some(version) = version(message.text) {
        rows.run(line.place, "nginx", version);
    }
    let text = message.text.split(", request:").next().unwrap_or_default();
    let event = Event {
        kind: message.kind,
        t_ns,
        clock,
        resolution_ns: SECOND_NS,
        detail: &text[..text.floor_char_boundary(200)],
        ..Event::default()
    };
    rows.event(cx.hop, line.place, &event);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{context, read, read_as, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/nginx_error/error.log");
    const COLUMNS: &[&str] = &["line", "kind", "t_ns", "clock", "resolution_ns", "detail"];

    #[test]
    fn messages_become_events_without_the_request() {
        let read = read(&NginxError, SAMPLE);
        assert_eq!(read.counts(), (16, 0));
        assert_eq!(
            read.rows(Table::Event, COLUMNS)[6],
            "7|gateway-error|1796076302000000000|local:0123456789ab|1000000000|*6 limiting connections by zone \
             \"perhost\", client: 127.0.0.1, server: "
        );
        assert_eq!(read.rows(Table::Run, &["line", "key", "value"]), ["2|nginx|1.22.1"]);
        assert_eq!(read.findings(), ["0 time-unplaced local time of day without a zone"]);
    }

    #[test]
    fn a_declared_zone_places_all_but_the_hour_shown_twice() {
        let zone = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
        let cx = Context { zone: Some(zone), ..context(&NginxError) };
        let text = "2026/10/25 02:30:00 [warn] 7#7: *1 twice\n2026/11/30 22:05:02 [warn] 7#7: once\n";
        let read = read_as(&NginxError, &cx, text);
        assert_eq!(
            read.rows(Table::Event, COLUMNS),
            [
                "1|gateway-warn|~|epoch:0123456789ab|1000000000|*1 twice",
                "2|gateway-warn|1796072702000000000|epoch:0123456789ab|1000000000|once",
            ]
        );
        assert_eq!(
            read.findings(),
            ["1 time-unplaced 2026-10-25T02:30:00 is not one instant in the declared zone"]
        );
    }

    #[test]
    fn continuations_are_passed_over_and_broken_stamps_refused() {
        let text = "2026/11/30 22:05:02 [crit] 1#1: a\n  stack of a\n2026/13/30 22:05:02 [crit] 1#1: b\n\
                    2026/11/30 22:05:02 [odd] 1#1: c\n2026/11/3";
        let read = read(&NginxError, text);
        assert_eq!(read.counts(), (1, 3));
        assert_eq!(
            read.rows(Table::Finding, &["line", "code"])[1..],
            ["3|record-shape", "4|record-shape", "5|truncated"]
        );
    }

    #[test]
    fn recognised_by_its_shape_with_the_version_it_states() {
        let matched = NginxError.recognise(&Head::of("", SAMPLE.as_bytes()));
        assert!(matches!(matched, Match::Yes { version, .. } if version == "1.22.1"));
        assert!(recognises(&NginxError, "cut line\n2026/11/30 22:05:02 [info] 1#1: *2 closed\n"));
        for other in ["", "garbage", "2026/11/30 22:05:02 [info] main: text", "2026/11/30 22:05:02 text"] {
            assert!(!recognises(&NginxError, other), "{other}");
        }
    }
}
