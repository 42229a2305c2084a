//! Health poll: one JSON object a line for each probe of a server's health address.
//!
//! `ns` is the time of the probe in nanoseconds since the epoch, `probe` its URL, `status` the HTTP status or the
//! error that came instead.

use super::json::{self, Raw, Text, word};
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Event, Hop, Rows};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The health poll format.
pub struct HealthPoll;

impl Format for HealthPoll {
    fn id(&self) -> &'static str {
        "health_poll"
    }

    fn title(&self) -> &'static str {
        "Health poll (JSON lines)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ready"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let seen = head.lines().take(20).any(|line| json::record::<Keys>(line).is_ok());
        Match::when(seen, "ns, probe, status")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| read(line, rows, hop, &clock)))
    }
}

/// Keys that decide.
#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence is what counts")]
struct Keys {
    ns: IgnoredAny,
    probe: IgnoredAny,
    status: IgnoredAny,
}

#[derive(Deserialize)]
struct Record<'a> {
    ns: i64,
    #[serde(borrow)]
    probe: Text<'a>,
    #[serde(borrow, default)]
    status: Raw<'a>,
}

fn read(line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let r: Record = match json::record(line.text) {
        Ok(record) => record,
        Err((code, detail)) => return line.refuse(rows, code, &detail),
    };
    let Some(status) = r.status.text() else {
        return line.refuse(rows, Code::RecordShape, "status is not stated");
    };
    let event = Event {
        kind: if status == "200" { "health-ok" } else { "health-fail" },
        t_ns: Some(r.ns),
        clock,
        resolution_ns: 1,
        instance: word(&r.probe).map(host),
        detail: &status[..status.floor_char_boundary(200)],
        ..Event::default()
    };
    rows.event(hop, line.place, &event);
}

/// `host:port` of a URL, without user and password.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/health_poll/health_poll.jsonl");

    #[test]
    fn probes_become_events() {
        let read = read(&HealthPoll, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((10, 0), vec![]));
        let columns = ["line", "hop", "kind", "t_ns", "clock", "instance", "detail"];
        assert_eq!(
            read.rows(Table::Event, &columns)[4..6],
            [
                "5|engine|health-fail|1796075880071365835|epoch:0123456789ab|127.0.0.1:8001|\
                 ConnectionRefusedError(111, 'Connection refused')",
                "6|engine|health-ok|1796075880571891235|epoch:0123456789ab|127.0.0.1:8001|200",
            ]
        );
    }

    #[test]
    fn bad_probes_are_refused() {
        let text = "{\"ns\":1,\"probe\":\"http://h/\"}\n{\"ns\":\"x\",\"status\":200}\n{\"ns\":1,\"status\":503}\n{\"ns";
        let read = read(&HealthPoll, text);
        assert_eq!(read.counts(), (1, 3));
        assert_eq!(
            read.rows(Table::Finding, &["line", "code"]),
            ["1|record-shape", "2|record-shape", "4|truncated"]
        );
        assert_eq!(read.rows(Table::Event, &["kind", "instance", "detail"]), ["health-fail|~|503"]);
    }

    #[test]
    fn the_instance_is_host_and_port_without_secrets() {
        assert_eq!(host("https://user:secret@[::1]:8001/health?x=1"), "[::1]:8001");
        assert_eq!(host("host"), "host");
        assert_eq!(host(""), "");
    }

    #[test]
    fn recognised_by_its_keys() {
        assert!(recognises(&HealthPoll, SAMPLE));
        for other in ["", "garbage", r#"{"ns":1,"status":200}"#] {
            assert!(!recognises(&HealthPoll, other), "{other}");
        }
    }
}
