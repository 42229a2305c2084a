//! A list of metrics scrapes: when each was taken, and when the server did not answer.

use super::load_tool::cut;
use super::{Context, Format, Line, Match, Reader, json};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Event, Hop, Rows};
use serde::Deserialize;

/// The index of kept `/metrics` bodies.
pub struct ScrapeManifest;

/// Times are integers of nanoseconds.
const RESOLUTION_NS: i64 = 1;

/// Longest text of an event, in characters.
const DETAIL_CHARS: usize = 120;

impl Format for ScrapeManifest {
    fn id(&self) -> &'static str {
        "scrape_manifest"
    }

    fn title(&self) -> &'static str {
        "metrics scrape manifest"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["resources"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |line: &str| json::record::<Record>(line).is_ok();
        Match::when(head.lines().take(20).any(ours), "url, start_ns, end_ns, status, bytes")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| match json::record::<Record>(line.text) {
            Ok(record) => record.read(line, rows, hop, &clock),
            Err((code, detail)) => line.refuse(rows, code, &detail),
        }))
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    url: String,
    start_ns: i64,
    end_ns: i64,
    status: Status,
    #[serde(borrow)]
    file: json::Text<'a>,
    #[serde(rename = "bytes")]
    _bytes: u64,
}

/// What came of a scrape: an HTTP status, or the words of an error.
#[derive(Deserialize)]
#[serde(untagged)]
enum Status {
    Http(u16),
    Failed(String),
}

impl Record<'_> {
    fn read(&self, line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
        let duration_ns = self.end_ns.checked_sub(self.start_ns).filter(|ns| *ns >= 0);
        if duration_ns.is_none() {
            let detail = format!("end_ns {} < start_ns {}: duration left out", self.end_ns, self.start_ns);
            rows.finding(Code::ValueImpossible, line.place, &detail);
        }
        let (kind, detail) = match &self.status {
            Status::Http(200..=299) => ("scrape", self.file.as_deref().unwrap_or("").to_owned()),
            Status::Http(status) => ("scrape-failed", format!("status {status}")),
            Status::Failed(words) => ("scrape-failed", words.lines().next().unwrap_or("").to_owned()),
        };
        rows.event(
            hop,
            line.place,
            &Event {
                kind,
                t_ns: Some(self.start_ns),
                clock,
                resolution_ns: RESOLUTION_NS,
                duration_ns,
                instance: Some(authority(&self.url)),
                detail: cut(&detail, DETAIL_CHARS),
                ..Event::default()
            },
        );
    }
}

/// `host:port` of a URL, without what is secret in it.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    authority.rsplit('@').next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::super::load_tool::tests::read;
    use super::*;
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/scrape_manifest/scrapes.jsonl");

    const COLUMNS: [&str; 6] = ["kind", "t_ns", "clock", "duration_ns", "instance", "detail"];

    #[test]
    fn scrapes_and_failed_scrapes_are_events() {
        let given = read(&ScrapeManifest, SAMPLE);
        assert_eq!((given.1, given.2), (20, 0));
        let events = given.get(Table::Event, &COLUMNS);
        assert_eq!(
            [events[0].as_str(), events[19].as_str()],
            [
                "scrape-failed 1796075865475215123 epoch:s 348570 127.0.0.1:8001 \
                 URLError(ConnectionRefusedError(111, 'Connection refused'))",
                "scrape 1796075903426960952 epoch:s 12793603 127.0.0.1:8001 metrics_1796075903426.prom",
            ]
        );
        assert!(given.get(Table::Finding, &["code"]).is_empty());
    }

    #[test]
    fn odd_values_are_findings() {
        let line = |start: &str, end: &str, status: &str| {
            format!(
                r#"{{"url":"https://u:p@h:1/m?k=v","start_ns":{start},"end_ns":{end},"status":{status},"file":null,"bytes":0}}"#
            )
        };
        let given = read(&ScrapeManifest, &line("9", "5", "503"));
        assert_eq!(given.get(Table::Event, &COLUMNS), ["scrape-failed 9 epoch:s - h:1 status 503"]);
        assert_eq!(
            given.get(Table::Finding, &["code", "detail"]),
            ["value-impossible end_ns 5 < start_ns 9: duration left out"]
        );
        for (text, code) in [
            (line("9", "99999999999999999999", "200"), "record-shape"),
            (line("null", "5", "200"), "record-shape"),
            (line("1", "5", "[]"), "record-shape"),
            (line("1", "NaN", "200"), "record-not-json"),
            ("{".to_owned(), "record-not-json"),
            (r#"{"url":"a","url":"b"}"#.to_owned(), "duplicate-key"),
        ] {
            assert_eq!(read(&ScrapeManifest, &text).get(Table::Finding, &["code"]), [code], "{text}");
        }
        let far = read(&ScrapeManifest, &line("-9223372036854775808", "9223372036854775807", "200"));
        assert_eq!(far.get(Table::Event, &["duration_ns"]), ["-"]);
    }

    #[test]
    fn only_its_own_lines_are_recognised() {
        let says = |text: &str| ScrapeManifest.recognise(&Head::of("x", text.as_bytes())) != Match::No;
        assert!(says(SAMPLE) && says(&format!("{{\n{SAMPLE}")));
        assert!(!says("") && !says("{}") && !says(r#"{"url":"a","start_ns":1,"end_ns":2,"status":200}"#));
    }
}
