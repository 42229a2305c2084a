//! `LiteLLM` proxy JSON log: what the gateway said and when. Its lines have no request id, caller or latency.

use super::load_tool::cut;
use super::{Context, Format, Line, Match, Reader, civil, json};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Event, Hop, Rows};
use serde::Deserialize;
use std::borrow::Cow;

/// The JSON log of the `LiteLLM` proxy.
pub struct LitellmLog;

/// Python writes microseconds, and leaves them out when they are zero.
const RESOLUTION_NS: i64 = 1_000;

/// Longest text of an event, in characters.
const DETAIL_CHARS: usize = 120;

/// Words after which a line may hold what a user wrote, what a model answered, or a key.
const SENSITIVE: [&str; 6] = ["messages", "prompt", "content", "input", "authorization", "api_key"];

impl Format for LitellmLog {
    fn id(&self) -> &'static str {
        "litellm_log"
    }

    fn title(&self) -> &'static str {
        "LiteLLM proxy JSON log"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |line: &str| json::record::<Record>(line).is_ok_and(|record| record.is_whole());
        Match::when(head.lines().take(20).any(ours), "message, level, timestamp, component, logger")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let reading = Reading { hop: cx.hop, local: cx.local(), epoch: cx.epoch(), zone: cx.zone.clone() };
        Reader::Lines(Box::new(move |line, rows| match json::record::<Record>(line.text) {
            Ok(record) if record.is_whole() => reading.event(&record, line, rows),
            Ok(_) => line.refuse(
                rows,
                Code::RecordShape,
                "message, level, timestamp, component or logger is missing",
            ),
            Err((code, detail)) => line.refuse(rows, code, &detail),
        }))
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    message: json::Text<'a>,
    #[serde(borrow)]
    level: json::Text<'a>,
    #[serde(borrow)]
    timestamp: json::Text<'a>,
    #[serde(borrow)]
    component: json::Text<'a>,
    #[serde(borrow)]
    logger: json::Text<'a>,
}

impl Record<'_> {
    fn is_whole(&self) -> bool {
        [&self.message, &self.level, &self.timestamp, &self.component, &self.logger]
            .iter()
            .all(|f| f.is_some())
    }
}

struct Reading {
    hop: Hop,
    local: String,
    epoch: String,
    zone: Option<jiff::tz::TimeZone>,
}

impl Reading {
    fn event(&self, record: &Record, line: Line, rows: &mut Rows) {
        let stamp = record.timestamp.as_deref().unwrap_or("");
        let (t_ns, clock) = self.instant(stamp);
        if t_ns.is_none() {
            rows.finding(Code::TimeUnplaced, line.place, &format!("timestamp {}", cut(stamp, 40)));
        }
        let kind = kind(record.level.as_deref().unwrap_or(""));
        let detail = detail(record.message.as_deref().unwrap_or(""));
        let (kind, detail, resolution_ns) = (kind.as_ref(), detail.as_str(), RESOLUTION_NS);
        rows.event(
            self.hop,
            line.place,
            &Event { kind, t_ns, clock, resolution_ns, detail, ..Event::default() },
        );
    }

    /// The instant of a timestamp and its clock: local unless an offset is written.
    fn instant(&self, stamp: &str) -> (Option<i64>, &str) {
        if let Ok(instant) = stamp.parse::<jiff::Timestamp>() {
            return (i64::try_from(instant.as_nanosecond()).ok(), &self.epoch);
        }
        let local = stamp.parse::<jiff::civil::DateTime>().ok();
        (local.and_then(|local| civil::local_ns(local, self.zone.as_ref())), &self.local)
    }
}

/// `gateway-` and the level in lower case.
fn kind(level: &str) -> Cow<'static, str> {
    match level {
        "DEBUG" => "gateway-debug".into(),
        "INFO" => "gateway-info".into(),
        "WARNING" => "gateway-warning".into(),
        "ERROR" => "gateway-error".into(),
        "CRITICAL" => "gateway-critical".into(),
        other => {
            let word: String = other.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
            format!("gateway-{}", word.to_ascii_lowercase()).into()
        }
    }
}

/// The first line of a message that says something, without control characters, up to the first word after
/// which it may be sensitive.
fn detail(message: &str) -> String {
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    let lower = line.to_ascii_lowercase();
    let end = SENSITIVE.iter().filter_map(|word| lower.find(word)).min().unwrap_or(line.len());
    let mut plain = String::new();
    let mut escape = false;
    for c in line.get(..end).unwrap_or("").chars() {
        match c {
            '\u{1b}' => escape = true,
            // A colour sequence ends with its letter.
            _ if escape => escape = !c.is_ascii_alphabetic(),
            _ if c.is_control() => {}
            _ => plain.push(c),
        }
    }
    cut(plain.trim(), DETAIL_CHARS).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::load_tool::tests::read;
    use super::*;
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/litellm_log/litellm.log");

    fn line(message: &str, timestamp: &str) -> String {
        let message = serde_json::to_string(message).unwrap();
        format!(
            r#"{{"message":{message},"level":"ERROR","timestamp":"{timestamp}","component":"LiteLLM","logger":"a.py:1"}}"#
        )
    }

    #[test]
    fn the_sample_becomes_events_on_a_local_clock() {
        let given = read(&LitellmLog, SAMPLE);
        assert_eq!((given.1, given.2), (100, 0));
        let events =
            given.get(Table::Event, &["line", "hop", "kind", "t_ns", "clock", "resolution_ns", "detail"]);
        assert_eq!(
            events[2],
            "3 gateway gateway-info 1796077637700171000 local:s 1000 \
             LiteLLM completion() model= tiny-llama; provider = hosted_vllm"
        );
        assert!(given.get(Table::Finding, &["code"]).is_empty());
    }

    #[test]
    fn nothing_after_a_sensitive_word_is_kept() {
        let secret = "POST Request {'model': 'm', 'Messages': [{'content': 'my secret'}]}";
        let text = [
            line(secret, "2026-11-30T22:27:17.690351"),
            line("my secret\n", "2026-11-30T22:27:17.690351").replace("my secret", "Prompt: my secret"),
            line(&"x".repeat(500), "2026-11-30T22:27:17.690351"),
            line("a\u{1b}[32m 200 OK\u{1b}[0m", "2026-11-30T22:27:17.690351"),
        ]
        .join("\n");
        let details = read(&LitellmLog, &text).get(Table::Event, &["detail"]);
        assert_eq!(details[..2], ["POST Request {'model': 'm', '", ""]);
        assert_eq!((details[2].len(), details[3].as_str()), (120, "a 200 OK"));
    }

    #[test]
    fn times_that_cannot_be_placed_are_findings_and_offsets_are_believed() {
        let text = [line("m", "yesterday"), line("m", "2026-11-30T22:27:17.69Z")].join("\n");
        let given = read(&LitellmLog, &text);
        assert_eq!(
            given.get(Table::Event, &["kind", "t_ns", "clock"]),
            ["gateway-error - local:s", "gateway-error 1796077637690000000 epoch:s"]
        );
        assert_eq!(given.get(Table::Finding, &["line", "code"]), ["1 time-unplaced"]);
    }

    #[test]
    fn other_lines_are_refused_with_a_code() {
        for (text, code) in [
            ("\u{1b}[32mLiteLLM: Proxy initialized\u{1b}[0m", "record-not-json"),
            ("{}", "record-shape"),
            (r#"{"message":1}"#, "record-shape"),
            (r#"{"level":"INFO","level":"INFO"}"#, "duplicate-key"),
        ] {
            assert_eq!(read(&LitellmLog, text).get(Table::Finding, &["code"]), [code], "{text}");
        }
    }

    #[test]
    fn only_its_own_lines_are_recognised() {
        let says = |text: &str| LitellmLog.recognise(&Head::of("x", text.as_bytes())) != Match::No;
        assert!(says(SAMPLE) && says(&format!("banner\n{SAMPLE}")));
        assert!(!says("") && !says("{}") && !says(r#"{"message":"m","level":"INFO","timestamp":"t"}"#));
    }
}
