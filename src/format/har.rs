//! HTTP Archive (HAR 1.1, 1.2) of a browser or a recording proxy: a whole log, or one bare entry.
//!
//! - `timings` are milliseconds, one after another; -1 means that the stage does not apply; `ssl` lies within `connect`.
//! - `wait` ends with the first byte, the response HEADERS. Events of a stream are all inside `receive`: a HAR has no
//!   time of the first token, and a streamed entry says so in a finding.
//! - Of URLs only the host is kept; bodies, cookies and other headers than ids are not read.

use super::decimal::MS;
use super::elements::Elements;
use super::json::{self, Raw, Text, word};
use super::load_tool::{Marks, duration, error_text};
use super::stamp::Stamps;
use super::trace::traceparent;
use super::{Context, Format, Match, Reader};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Outcome, Request, Rows};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Versions of HAR whose fields are those read here.
const VERSIONS: [&str; 2] = ["1.1", "1.2"];

/// The HTTP Archive format.
pub struct Har;

impl Format for Har {
    fn id(&self) -> &'static str {
        "har"
    }

    fn title(&self) -> &'static str {
        "HTTP Archive (HAR)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["client_wait", "ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["\"startedDateTime\"", "\"request\"", "\"response\""];
        let log = head.contains("\"log\"") && head.contains("\"creator\"") && head.contains("\"entries\"");
        let ours = head.first_byte() == Some(b'{') && (log || keys.iter().all(|key| head.contains(key)));
        Match::when(ours, "log, creator, entries; or startedDateTime, request, response")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, stamps) = (cx.hop, Stamps::new(cx));
        Reader::Document(Box::new(move |bytes, rows| read(bytes, hop, &stamps, rows)))
    }
}

fn read(bytes: &[u8], hop: Hop, stamps: &Stamps, rows: &mut Rows) {
    let Some((text, _)) = line_text(bytes) else {
        return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
    };
    let mut item = 0;
    let mut log = Log { entries: 0, version: None, creator: None };
    let mut take = |entry: &RawValue| {
        let place = Place::item(1, item);
        item += 1;
        match json::record::<Entry>(entry.get()) {
            Ok(entry) => self::entry(&entry, place, hop, stamps, rows),
            Err((code, detail)) => rows.refuse(code, place, &detail),
        }
    };
    let mut document = serde_json::Deserializer::from_str(&text);
    let whole = Root(&mut log, &mut take).deserialize(&mut document).and_then(|()| document.end());
    if log.entries == 0 && log.version.is_none() && log.creator.is_none() && whole.is_ok() {
        if let Ok(bare) = serde_json::from_str::<&RawValue>(&text) {
            take(bare);
        }
        return;
    }
    if let Err(error) = whole {
        let code = if error.is_eof() { Code::Truncated } else { json::complaint(&error).0 };
        rows.refuse(code, Place::FILE, &error.to_string());
    }
    if let Some(version) = log.version.filter(|version| !VERSIONS.contains(&version.as_str())) {
        rows.finding(Code::VersionUnknown, Place::FILE, &format!("HAR version {}", error_text(&version)));
    }
    if let Some((name, version)) = log.creator {
        rows.run(Place::FILE, "tool", &name);
        rows.run(Place::FILE, "tool_version", &version);
    }
}

/// What stands beside the entries.
struct Log {
    entries: usize,
    version: Option<String>,
    creator: Option<(String, String)>,
}

#[derive(Deserialize)]
struct Creator {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
}

/// The document: hands every entry of `log` on as it comes, so that those before a fault are read.
struct Root<'l, 'de>(&'l mut Log, &'l mut dyn FnMut(&'de RawValue));

impl<'de> DeserializeSeed<'de> for Root<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Root<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "log" => map.next_value_seed(Root(&mut *self.0, &mut *self.1))?,
                "version" => self.0.version = map.next_value::<Option<String>>()?,
                "creator" => {
                    let creator = map.next_value::<Option<Creator>>()?;
                    self.0.creator = creator.map(|creator| (creator.name, creator.version));
                }
                "entries" => {
                    let (log, each) = (&mut *self.0, &mut *self.1);
                    map.next_value_seed(Entries(|entry| {
                        log.entries += 1;
                        each(entry);
                    }))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Entries<F>(F);

impl<'de, F: FnMut(&'de RawValue)> DeserializeSeed<'de> for Entries<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(Elements::new(self.0))
    }
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, rename = "startedDateTime")]
    started: Text<'a>,
    #[serde(borrow, default)]
    time: Raw<'a>,
    #[serde(borrow)]
    request: Message<'a>,
    #[serde(borrow)]
    response: Message<'a>,
    #[serde(borrow, default)]
    timings: Timings<'a>,
    #[serde(borrow, rename = "serverIPAddress")]
    server: Text<'a>,
    #[serde(borrow, rename = "_error")]
    error: Text<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    url: Text<'a>,
    #[serde(borrow, default)]
    status: Raw<'a>,
    #[serde(borrow, default)]
    headers: Vec<Header<'a>>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    value: Text<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, rename = "mimeType")]
    mime: Text<'a>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Timings<'a> {
    #[serde(borrow)]
    blocked: Raw<'a>,
    #[serde(borrow)]
    dns: Raw<'a>,
    #[serde(borrow)]
    connect: Raw<'a>,
    #[serde(borrow)]
    ssl: Raw<'a>,
    #[serde(borrow)]
    send: Raw<'a>,
    #[serde(borrow)]
    wait: Raw<'a>,
    #[serde(borrow)]
    receive: Raw<'a>,
}

impl Message<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        let found =
            self.headers.iter().find(|h| word(&h.name).is_some_and(|n| n.eq_ignore_ascii_case(name)))?;
        word(&found.value)
    }
}

/// The host and port of a URL, without what may be secret in it.
pub(super) fn authority(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit('@').next().filter(|host| !host.is_empty())
}

fn entry(e: &Entry, place: Place, hop: Hop, stamps: &Stamps, rows: &mut Rows) {
    let ids = e.request.header("traceparent").and_then(traceparent);
    let status = e.response.status.int().filter(|status| *status > 0);
    let error = word(&e.error);
    let mime = e.response.content.as_ref().and_then(|content| word(&content.mime));
    let streamed = mime.is_some_and(|mime| mime.starts_with("text/event-stream"));
    let outcome = match (status.map(Outcome::from_http), error) {
        (None, _) | (Some(Outcome::Ok), Some(_)) => Outcome::Error,
        (Some(outcome), _) => outcome,
    };
    let request = Request {
        request_id: e.request.header("x-request-id").or(e.response.header("x-request-id")),
        trace_id: ids.map(|(trace, _)| trace),
        span_id: ids.map(|(_, span)| span),
        instance: word(&e.request.url).and_then(authority).or(word(&e.server)),
        status,
        outcome,
        error: error.map(error_text),
        streamed: streamed.then_some(true),
        ..Request::default()
    };
    let key = rows.request(hop, place, &request);
    let t = e.timings;
    let mut stage = |name: &str, raw: Raw| {
        // -1 does not apply.
        let ns = raw.ns(MS).filter(|_| raw.text().is_none_or(|text| !matches!(text, "-1" | "-1.0")));
        duration(rows, place, name, ns)
    };
    let stages = [
        ("har.blocked", stage("blocked", t.blocked), t.blocked),
        ("har.dns", stage("dns", t.dns), t.dns),
        ("har.connect", stage("connect", t.connect), t.connect),
        ("har.send", stage("send", t.send), t.send),
        ("har.waiting", stage("wait", t.wait), t.wait),
        ("har.receive", stage("receive", t.receive), t.receive),
    ];
    let (ssl, total) = (stage("ssl", t.ssl), stage("time", e.time));
    let sum = |n: usize| stages.iter().take(n).filter_map(|(_, ns, _)| *ns).fold(0_i64, i64::saturating_add);
    for (definition, ns, raw) in stages {
        if let Some(ns) = ns {
            rows.measure(key, definition, ns, "ms", raw.step_ns(MS));
        }
    }
    let (all, [_, _, (_, connect, _), ..]) = (sum(6), stages);
    // Every stage is rounded by itself, to a millisecond at worst.
    let total = total.filter(|total| {
        let impossible = all - total > 6_000_000;
        if impossible {
            let detail = format!("sum of timings {all} ns > time {total} ns: time left out");
            rows.finding(Code::ValueImpossible, place, &detail);
        }
        !impossible
    });
    match (ssl, connect) {
        (Some(ssl), Some(connect)) if ssl - connect > 1_000_000 => {
            let detail = format!("ssl {ssl} ns > connect {connect} ns: ssl left out");
            rows.finding(Code::ValueImpossible, place, &detail);
        }
        (Some(ssl), _) => rows.measure(key, "har.ssl", ssl, "ms", t.ssl.step_ns(MS)),
        _ => {}
    }
    if let Some(total) = total {
        rows.measure(key, "har.total", total, "ms", e.time.step_ns(MS));
    }
    let waited = stages.iter().any(|(name, ns, _)| *name == "har.waiting" && ns.is_some());
    let Some(start) = word(&e.started).and_then(|started| stamps.read(started)) else {
        return rows.finding(Code::TimeUnplaced, place, "startedDateTime is not a time with a zone");
    };
    let after = |ns: i64| start.ns.checked_add(ns);
    let marks = Marks {
        scheduled: Some(start.ns),
        send: after(sum(3)),
        headers: status.filter(|_| waited).and_then(|_| after(sum(5))),
        end: total.and_then(after),
        ..Marks::default()
    };
    marks.add(rows, key, place, start.clock, start.step_ns);
    if streamed && outcome == Outcome::Ok {
        rows.finding(Code::NoFirstToken, place, "text/event-stream: a HAR has no time of the first event");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/har/chat.har");

    #[test]
    fn stages_follow_each_other_and_minus_one_is_absent() {
        let read = read(&Har, SAMPLE);
        assert_eq!(read.counts(), (3, 0));
        let columns = ["item", "request_id", "instance", "status", "outcome", "error", "streamed"];
        assert_eq!(
            read.rows(Table::Request, &columns),
            [
                "0|web-0001|llm.example:8443|200|ok|~|true",
                "1|~|llm.example:8443|429|rejected|~|~",
                "2|~|llm.example:8443|~|error|net::ERR_CONNECTION_REFUSED|~",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["item", "definition", "duration_ns"])[..8],
            [
                "0|har.blocked|2500000",
                "0|har.dns|1000000",
                "0|har.connect|24250000",
                "0|har.send|250000",
                "0|har.waiting|44000000",
                "0|har.receive|1482000000",
                "0|har.ssl|16000000",
                "0|har.total|1554000000",
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["item", "name", "t_ns"])[..4],
            [
                "0|send|1796073819277750000",
                "0|end|1796073820804000000",
                "0|headers|1796073819322000000",
                "0|scheduled|1796073819250000000",
            ]
        );
        assert_eq!(read.rows(Table::Run, &["key", "value"]), ["tool|WebInspector", "tool_version|537.36"]);
        assert_eq!(
            read.findings(),
            ["1 no-first-token text/event-stream: a HAR has no time of the first event"]
        );
    }

    #[test]
    fn a_bare_entry_is_an_entry() {
        let bare = r#"{"startedDateTime":"2026-11-30T13:23:39.250-08:00","time":153,"request":{"url":"http://u:p@a.b/?key=1","headers":[]},"response":{"status":200},"timings":{"blocked":77,"dns":0,"connect":0,"send":0,"wait":76,"receive":0}}"#;
        assert!(recognises(&Har, bare) && recognises(&Har, SAMPLE));
        let read = read(&Har, bare);
        assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
        assert_eq!(read.rows(Table::Request, &["instance"]), ["a.b"]);
        assert_eq!(read.rows(Table::Measure, &["definition", "duration_ns"])[1], "har.dns|0");
    }

    #[test]
    fn faults_cost_one_entry() {
        let entry = |timings: &str| {
            format!(
                r#"{{"startedDateTime":"2026-11-30T21:23:39Z","time":10,"request":{{}},"response":{{"status":200}},"timings":{{{timings}}}}}"#
            )
        };
        let log = format!(
            r#"{{"log":{{"version":"9","creator":{{"name":"t"}},"entries":[{},{{"time":1}},{}"#,
            entry(r#""connect":1,"ssl":5,"wait":40"#),
            entry(r#""dns":-3"#)
        );
        assert_eq!(
            read(&Har, &log).rows(Table::Finding, &["item", "code"]),
            [
                "0|value-impossible",
                "0|value-impossible",
                "1|record-shape",
                "2|value-impossible",
                "0|truncated",
                "0|version-unknown"
            ]
        );
        assert_eq!(read(&Har, "{}").counts(), (0, 1));
        assert!(!recognises(&Har, "") && !recognises(&Har, "[]") && !recognises(&Har, "{}"));
    }
}
