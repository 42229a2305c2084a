//! vLLM's log: `(Process pid=N) LEVEL MM-DD HH:MM:SS [file.py:N] message`, the process left out by older versions.
//!
//! Local time of day, whole seconds, no year: the latest year that is not after the file's receipt. Start-up steps,
//! arrivals and warnings become events, the engine's own statistics become samples. Lines of uvicorn have no time;
//! everything else (tracebacks, progress bars, other libraries) is passed over. Prompts are never kept.

use super::civil::local_ns;
use super::vllm_message::{Said, masked, said, samples};
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Event, Hop, Rows};
use jiff::civil::{Date, DateTime, Time};
use std::borrow::Cow;

const SECOND_NS: i64 = 1_000_000_000;
const DAY_NS: i64 = 86_400 * SECOND_NS;

/// The vLLM server log.
pub struct VllmLog;

impl Format for VllmLog {
    fn id(&self) -> &'static str {
        "vllm_log"
    }

    fn title(&self) -> &'static str {
        "vLLM server log"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ready", "model_load", "resources"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let because = "LEVEL MM-DD HH:MM:SS [file.py:N]";
        // The load generator of vLLM writes with the same logger.
        if head.contains("subparser='bench'") || head.contains("Serving Benchmark Result") {
            return Match::No;
        }
        let plain: Vec<_> = head.lines().take(60).map(plain).collect();
        let mut entries = plain.iter().filter_map(|line| entry(line));
        match entries.find_map(|e| version(e.message)) {
            Some(version) => Match::Yes { version: version.to_owned(), because },
            None => Match::when(plain.iter().any(|line| entry(line).is_some()), because),
        }
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (cx, clock) = (cx.clone(), cx.local());
        Reader::Stream(Box::new(Log { cx, clock, instance: None, last: None }))
    }
}

/// One message of vLLM's logger.
struct Entry<'a> {
    process: &'a str,
    level: &'a str,
    stamp: &'a str,
    message: &'a str,
}

/// The parts of a line; `None` unless vLLM's logger wrote it.
fn entry(line: &str) -> Option<Entry<'_>> {
    let (process, rest) = process(line);
    let (level, rest) = rest.split_once(' ')?;
    if !matches!(level, "DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL") {
        return None;
    }
    let (stamp, rest) = rest.trim_ascii_start().split_at_checked(14)?;
    let shape =
        stamp.bytes().zip(*b"00-00 00:00:00").all(|(b, s)| b == s || (s == b'0' && b.is_ascii_digit()));
    let rest = rest.strip_prefix(' ')?;
    let (source, message) = rest.strip_prefix('[').unwrap_or(rest).split_once(']')?;
    let (_, number) = source.split_once(".py:")?;
    let located = number.bytes().all(|b| b.is_ascii_digit());
    (shape && located).then_some(Entry {
        process,
        level,
        stamp,
        message: message.strip_prefix(' ').unwrap_or(message),
    })
}

/// `APIServer pid=1` of `(APIServer pid=1) …`, or "", and the rest of the line.
fn process(line: &str) -> (&str, &str) {
    let inside = line.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    inside.filter(|(process, _)| process.contains("pid=")).unwrap_or(("", line))
}

/// A line without terminal colours.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains('\x1b') {
        return line.into();
    }
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest)).into()
}

/// The version that the server's banner states.
fn version(message: &str) -> Option<&str> {
    match said(message) {
        Some(Said { kind: "start", detail, .. }) => detail.rsplit(' ').next(),
        _ => None,
    }
}

struct Log {
    cx: Context,
    clock: String,
    /// `pid=N` of the API server: every process below it is the same instance.
    instance: Option<String>,
    /// Stamp of the last message.
    last: Option<String>,
}

impl Stream for Log {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        let text = plain(line.text);
        match entry(&text) {
            Some(entry) => self.entry(&entry, line, rows),
            None => self.uvicorn(&text, line.place, rows),
        }
    }

    fn end(&mut self, _: &mut Rows) {}
}

impl Log {
    fn entry(&mut self, entry: &Entry, line: Line, rows: &mut Rows) {
        if self.last.is_none() && self.cx.zone.is_none() {
            rows.finding(Code::TimeUnplaced, line.place, "local time without a zone, nor a year");
        }
        if self.last.as_deref() != Some(entry.stamp) {
            self.last = Some(entry.stamp.to_owned());
        }
        if let Some((name, pid)) = entry.process.split_once(' ')
            && name.to_ascii_lowercase().starts_with("apiserver")
            && self.instance.as_deref() != Some(pid)
        {
            self.instance = Some(pid.to_owned());
        }
        let Some(t_ns) = self.time(entry.stamp) else {
            let detail = format!("`{}` is not one instant of the calendar or the declared zone", entry.stamp);
            return line.refuse(rows, Code::TimeUnplaced, &detail);
        };
        for (item, (metric, engine, value)) in (0..).zip(samples(entry.message)) {
            let labels = engine.map_or(String::new(), |engine| format!("engine=\"{engine}\""));
            rows.sample(Place::item(line.place.line, item), metric, &labels, t_ns, &self.clock, value);
        }
        match said(entry.message) {
            Some(said) => self.event(&said, Some(t_ns), line.place, rows),
            None => {
                if let Some(kind) = alarm(entry) {
                    let said = Said { kind, duration_ns: None, detail: entry.message };
                    self.event(&said, Some(t_ns), line.place, rows);
                }
            }
        }
    }

    fn event(&self, said: &Said, t_ns: Option<i64>, place: Place, rows: &mut Rows) {
        match said.kind {
            "start" => rows.run(place, "vllm.version", said.detail.rsplit(' ').next().unwrap_or_default()),
            "args" => rows.run(place, "vllm.non_default_args", &masked(said.detail)),
            _ => {}
        }
        let event = Event {
            kind: said.kind,
            t_ns,
            clock: &self.clock,
            resolution_ns: SECOND_NS,
            duration_ns: said.duration_ns,
            instance: self.instance.as_deref(),
            detail: if said.kind == "args" { "" } else { shown(said.detail) },
            ..Event::default()
        };
        rows.event(self.cx.hop, place, &event);
    }

    /// uvicorn's lines have no time: the last one seen is a bound, which is said in words and not as a time.
    fn uvicorn(&self, text: &str, place: Place, rows: &mut Rows) {
        let Some(message) = process(text).1.strip_prefix("INFO:").map(str::trim_ascii) else { return };
        let kind = match message {
            "Application startup complete." => "ready",
            "Shutting down" | "Application shutdown complete." => "shutdown",
            _ => return,
        };
        let after = self.last.as_deref().map_or(String::new(), |last| format!("; not before {last}"));
        self.event(
            &Said { kind, duration_ns: None, detail: &format!("{}{after}", message.trim_end_matches('.')) },
            None,
            place,
            rows,
        );
    }

    /// The latest year in which the stamp is not after the file's receipt, by a day for the zones.
    fn time(&self, stamp: &str) -> Option<i64> {
        let number = |at: usize| stamp.get(at..at + 2)?.parse::<i8>().ok();
        let time = Time::new(number(6)?, number(9)?, number(12)?, 0).ok()?;
        let limit = self.cx.received_ns.saturating_add(DAY_NS);
        let received = jiff::Timestamp::from_nanosecond(limit.into()).ok()?;
        let year = jiff::tz::TimeZone::UTC.to_datetime(received).year();
        let in_year = |year| {
            let date = Date::new(year, number(0)?, number(3)?).ok()?;
            let datetime = DateTime::from_parts(date, time);
            (local_ns(datetime, None)? <= limit).then_some(datetime)
        };
        // Nine years hold a 29 February, whatever the century.
        let datetime = (0..9).find_map(|back| in_year(year.checked_sub(back)?))?;
        local_ns(datetime, self.cx.zone.as_ref())
    }
}

/// The kind of a warning or an error; `None` for other levels and for the lines of a traceback.
fn alarm(entry: &Entry) -> Option<&'static str> {
    let message = entry.message;
    if message.is_empty() || message.starts_with([' ', '\t']) || message.starts_with("Traceback (") {
        return None;
    }
    match entry.level {
        "WARNING" => Some("log-warning"),
        "ERROR" | "CRITICAL" => Some("log-error"),
        _ => None,
    }
}

/// The beginning of a message, up to where it may quote a prompt.
fn shown(message: &str) -> &str {
    let end = ["prompt:", "prompt=", "prompt'", "prompt\"", "prompt_token_ids", "messages"]
        .iter()
        .filter_map(|word| message.find(word))
        .min()
        .unwrap_or(message.len());
    message[..message[..end].floor_char_boundary(160)].trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{Read, context, read_as, recognises};
    use crate::row::Table;

    const STARTUP: &str = include_str!("../../samples/vllm_log/vllm_startup.log");
    const SERVING: &str = include_str!("../../samples/vllm_log/vllm.log");

    /// Received on 2026-12-01 00:00 UTC.
    fn read(zone: Option<&str>, text: &str) -> Read {
        let zone = zone.map(|name| jiff::tz::TimeZone::get(name).unwrap());
        let cx = Context { zone, received_ns: 1_796_083_200 * SECOND_NS, ..context(&VllmLog) };
        read_as(&VllmLog, &cx, text)
    }

    #[test]
    fn a_start_is_a_chain_of_steps() {
        let read = read(Some("UTC"), STARTUP);
        assert_eq!((read.counts(), read.findings().len()), ((18, 0), 0));
        let events = read.rows(Table::Event, &["line", "kind", "t_ns", "duration_ns", "instance", "detail"]);
        let steps: Vec<_> = events.iter().filter(|e| !e.contains("|log-warning|")).collect();
        assert_eq!(
            steps,
            [
                "4|start|1796073749000000000|~|pid=5461|version 0.32.0",
                "8|args|1796073749000000000|~|pid=5461|",
                "19|engine-init|1796073778000000000|~|pid=5461|Initializing a V1 LLM engine (v0.32.0)",
                "35|load-begin|1796073808000000000|~|pid=5461|Starting to load model /opt/bench/models/tiny-llama...",
                "43|weights-loaded|1796073809000000000|140000000|pid=5461|Loading weights took 0.14 seconds",
                "48|engine-ready|1796073811000000000|1210000000|pid=5461|init engine (profile, create kv cache, warmup model) took 1.21 s",
                "59|server-start|1796073813000000000|~|pid=5461|Starting vLLM server on http://127.0.0.1:8001",
                "98|ready|~|~|pid=5461|Application startup complete; not before 11-30 21:23:33",
            ]
        );
        let runs = read.rows(Table::Run, &["key", "value"]);
        assert_eq!(runs[0], "vllm.version|0.32.0");
        assert!(runs[1].starts_with("vllm.non_default_args|{'model_tag': '/opt/bench/models/tiny-llama',"));
    }

    #[test]
    fn arrivals_keep_the_id_alone_and_statistics_become_samples() {
        let read = read(None, SERVING);
        assert_eq!(read.findings(), ["1 time-unplaced local time without a zone, nor a year"]);
        assert_eq!(
            read.rows(Table::Event, &["line", "kind", "clock", "detail"])[0],
            "1|request-received|local:0123456789ab|chatcmpl-s2-web-0023"
        );
        let samples = read.rows(Table::Series, &["line", "item", "metric", "labels", "t_ns", "value"]);
        assert_eq!(
            samples,
            [
                "10|0|vllm_log:prompt_tokens_per_s|engine=\"000\"|1796073398000000000|463",
                "10|1|vllm_log:generation_tokens_per_s|engine=\"000\"|1796073398000000000|22.4",
                "10|2|vllm_log:running|engine=\"000\"|1796073398000000000|1",
                "10|3|vllm_log:waiting|engine=\"000\"|1796073398000000000|13",
                "10|4|vllm_log:kv_cache_usage|engine=\"000\"|1796073398000000000|0.011",
            ]
        );
    }

    #[test]
    fn the_year_is_the_latest_before_receipt_and_a_zone_moves_the_time() {
        let times = |zone, stamp| {
            let line = format!("WARNING {stamp} [a.py:1] x\n");
            read(zone, &line).rows(Table::Event, &["t_ns"]).concat()
        };
        assert_eq!(times(Some("UTC"), "12-01 23:59:59"), "1796169599000000000");
        assert_eq!(times(Some("UTC"), "12-02 00:00:01"), "1764633601000000000");
        assert_eq!(times(Some("Asia/Shanghai"), "11-30 08:00:00"), "1795996800000000000");
        assert_eq!(times(Some("UTC"), "02-29 00:00:00"), "1709164800000000000");
        for wrong in ["02-30 00:00:00", "13-01 00:00:00", "01-01 24:00:00"] {
            let read = read(Some("UTC"), &format!("INFO {wrong} [a.py:1] x\n"));
            assert_eq!((read.counts(), read.findings().len()), ((0, 1), 1), "{wrong}");
        }
    }

    #[test]
    fn warnings_are_short_without_prompts_and_tracebacks_are_passed_over() {
        let text = "\x1b[0;36m(EngineCore_DP0 pid=7)\x1b[0;0m ERROR 11-30 10:00:00 [core.py:9] Engine failed\n\
            (EngineCore_DP0 pid=7) ERROR 11-30 10:00:00 [core.py:9] Traceback (most recent call last):\n\
            (EngineCore_DP0 pid=7) ERROR 11-30 10:00:00 [core.py:9]   File \"core.py\", line 9\n\
            WARNING 11-30 10:00:01 llm.py:12] Bad request, prompt: 'secret words'\n\
            Traceback (most recent call last):\n\
            INFO:     Shutting down\n";
        let events =
            read(Some("UTC"), text).rows(Table::Event, &["line", "kind", "t_ns", "instance", "detail"]);
        assert_eq!(
            events,
            [
                "1|log-error|1796032800000000000|~|Engine failed",
                "4|log-warning|1796032801000000000|~|Bad request,",
                "6|shutdown|~|~|Shutting down; not before 11-30 10:00:01",
            ]
        );
    }

    #[test]
    fn vllm_is_recognised_with_its_version_and_others_are_not() {
        let head = Head::of("", STARTUP.as_bytes());
        assert!(matches!(VllmLog.recognise(&head), Match::Yes { version, .. } if version == "0.32.0"));
        assert!(recognises(&VllmLog, SERVING));
        let bench = format!("{SERVING}============ Serving Benchmark Result ============\n");
        for text in
            ["", "garbage", "INFO:     Started server process [1]", "INFO 11-30 10:00:00 started", &bench]
        {
            assert!(!recognises(&VllmLog, text), "{text}");
        }
    }
}
