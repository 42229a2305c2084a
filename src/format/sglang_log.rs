//! `SGLang`'s server log: `[YYYY-MM-DD HH:MM:SS RANK] message`, where RANK (`TP0`, `DP1 TP3`) may be missing.
//!
//! Local time, whole seconds unless the server was asked for more. Start-up steps become events, the scheduler's batch
//! lines samples, `Finish:` and `Req Time Stats` lines requests; JSON events of the request log may stand in between.
//! There is no level: only what is known to be bad is told. Prompts are never kept.

use super::civil::local_ns;
use super::decimal::{MS, to_ns};
use super::load_tool::{cut, duration};
use super::sglang::{Known, python};
use super::sglang_message::{Said, batch, said};
use super::sglang_request_log::{RequestLog, is_event};
use super::vllm_message::masked;
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Event, Hop, Outcome, Request, Rows};
use jiff::civil::DateTime;
use std::collections::BTreeMap;

const SECOND_NS: i64 = 1_000_000_000;

/// `Req Time Stats` are hundredths of a millisecond.
const STATS_STEP_NS: i64 = 10_000;

/// The format; see the module.
pub struct SglangLog;

impl Format for SglangLog {
    fn id(&self) -> &'static str {
        "sglang_log"
    }

    fn title(&self) -> &'static str {
        "SGLang server log"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ready", "model_load", "queue", "prefill", "resources"]
    }

    fn recognise(&self, head: &Head) -> Match {
        Match::when(
            head.lines().take(400).any(is_line),
            "[YYYY-MM-DD HH:MM:SS], server_args, Prefill batch, #queue-req",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let events = RequestLog::new(cx);
        Reader::Stream(Box::new(Log {
            cx: cx.clone(),
            clock: cx.local(),
            events,
            warned: false,
            stats: BTreeMap::new(),
        }))
    }
}

/// Whether a line is one that only `SGLang` writes.
pub(super) fn is_line(line: &str) -> bool {
    entry(line).is_some_and(|entry| {
        let message = entry.message;
        message.starts_with("server_args=ServerArgs(")
            || message.starts_with("Receive: obj=")
            || message.starts_with("Finish: obj=")
            || time_stats(message).is_some()
            || message.starts_with("Load weight ")
            || batch(message).next().is_some()
            || message.starts_with("The server is fired up and ready to roll!")
    })
}

/// One line of the log.
struct Entry<'a> {
    stamp: &'a str,
    rank: &'a str,
    message: &'a str,
}

/// The parts of a line; `None` unless it begins with a stamp in brackets.
fn entry(line: &str) -> Option<Entry<'_>> {
    let (inside, message) = line.strip_prefix('[')?.split_once("] ")?;
    let (day, rest) = inside.split_once(' ')?;
    let (time, rank) = rest.split_once(' ').unwrap_or((rest, ""));
    let stamp = &inside[..day.len() + 1 + time.len()];
    let shaped = stamp.len() >= 19
        && stamp
            .bytes()
            .zip(*b"0000-00-00 00:00:00")
            .all(|(b, s)| b == s || (s == b'0' && b.is_ascii_digit()));
    shaped.then_some(Entry { stamp, rank, message })
}

/// `Req Time Stats(rid=…, input len=N, output len=N, type=T): durations`: what stands in the brackets, and after them.
fn time_stats(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("Req Time Stats(").or_else(|| message.strip_prefix("ReqTimeStats("))?;
    rest.starts_with("rid=").then(|| rest.split_once("): "))?
}

struct Log {
    cx: Context,
    clock: String,
    /// Events of the request log that stand between the lines.
    events: RequestLog,
    warned: bool,
    /// What the scheduler said of requests whose `Finish:` line may follow: one row tells both.
    stats: BTreeMap<String, Stats>,
}

/// How many requests may wait for their `Finish:` line; where there is none, they are not kept longer.
const WAITING: usize = 4_096;

/// What a `Req Time Stats` line says.
struct Stats {
    place: Place,
    input: Option<i64>,
    cached: Option<i64>,
    output: Option<i64>,
    durations: Vec<(&'static str, i64)>,
}

impl Stream for Log {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        if is_event(line.text) {
            return self.events.line(line, rows);
        }
        let Some(entry) = entry(line.text) else { return };
        if self.cx.zone.is_none() && !std::mem::replace(&mut self.warned, true) {
            rows.finding(Code::TimeUnplaced, line.place, "local time without a zone");
        }
        let stamp = entry.stamp.replace(',', ".").parse::<DateTime>().ok();
        let Some(t_ns) = stamp.and_then(|stamp| local_ns(stamp, self.cx.zone.as_ref())) else {
            let detail = format!("`{}` is not one instant of the calendar or the declared zone", entry.stamp);
            return line.refuse(rows, Code::TimeUnplaced, &detail);
        };
        let labels =
            if entry.rank.is_empty() { String::new() } else { format!("rank=\"{}\"", label(entry.rank)) };
        for (item, (metric, value)) in (0..).zip(batch(entry.message)) {
            rows.sample(Place::item(line.place.line, item), metric, &labels, t_ns, &self.clock, value);
        }
        self.message(&entry, t_ns, line, rows);
    }

    fn end(&mut self, rows: &mut Rows) {
        self.flush(rows);
    }
}

impl Log {
    /// Adds the requests that the scheduler alone told of.
    fn flush(&mut self, rows: &mut Rows) {
        let mut waiting: Vec<_> = std::mem::take(&mut self.stats).into_iter().collect();
        waiting.sort_by_key(|(_, stats)| stats.place);
        for (rid, stats) in waiting {
            let request = Request {
                request_id: Some(&rid),
                response_id: Some(&rid),
                input_tokens: stats.input,
                cached_tokens: stats.cached,
                output_tokens: stats.output,
                outcome: Outcome::Ok,
                ..Request::default()
            };
            let key = rows.request(self.cx.hop, stats.place, &request);
            for (definition, ns) in stats.durations {
                rows.measure(key, definition, ns, "ms", STATS_STEP_NS);
            }
        }
    }

    fn message(&mut self, entry: &Entry, t_ns: i64, line: Line, rows: &mut Rows) {
        let message = entry.message;
        let mut event = |said: Said, detail: &str| {
            let event = Event {
                kind: said.kind,
                t_ns: Some(t_ns),
                clock: &self.clock,
                resolution_ns: if entry.stamp.len() > 19 { 1_000_000 } else { SECOND_NS },
                duration_ns: said.duration_ns,
                instance: (!entry.rank.is_empty()).then_some(entry.rank),
                detail,
                ..Event::default()
            };
            rows.event(self.cx.hop, line.place, &event);
        };
        if let Some(said) = said(message) {
            event(said, cut(message, 160));
        } else if let Some(args) = message.strip_prefix("server_args=") {
            event(Said { kind: "args", duration_ns: None }, "");
            rows.run(line.place, "sglang.server_args", &masked(args));
            for (key, name) in [("model", "model_path="), ("tool_version", "version=")] {
                if let Some(value) = argument(args, name) {
                    rows.run(line.place, key, value);
                }
            }
        } else if let Some(rest) = message.strip_prefix("Receive: obj=") {
            event(Said { kind: "request-received", duration_ns: None }, rid(rest).unwrap_or_default());
        } else if message.starts_with("Finish: obj=") {
            self.finish(message, line, rows);
        } else if let Some((head, durations)) = time_stats(message) {
            self.time_stats(head, durations, line, rows);
        }
    }

    /// `Finish: obj=…, out={…, 'meta_info': {…}}`: the last `meta_info` is `SGLang`'s own, whatever a prompt may quote.
    fn finish(&mut self, message: &str, line: Line, rows: &mut Rows) {
        let Some((before, meta)) = message.rsplit_once("'meta_info': {") else {
            return line.refuse(rows, Code::RecordShape, "no `meta_info`");
        };
        let figures = python(meta);
        if !figures.is_known() {
            return line.refuse(rows, Code::RecordShape, "no time and no duration of a request");
        }
        let quoted = |name: &str| meta.split_once(name)?.1.split('\'').next();
        let finish = quoted("'finish_reason': {'type': '");
        let stream = |word: &str| before.contains(word);
        let streamed = match (stream("stream=True, "), stream("stream=False, ")) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        };
        let known = Known { rid: quoted("'id': '"), streamed, finish, aborted: finish == Some("abort") };
        let key = figures.add(rows, self.cx.hop, line.place, &self.cx.epoch(), known);
        let stats = known.rid.and_then(|rid| self.stats.remove(rid));
        for (definition, ns) in stats.map(|stats| stats.durations).unwrap_or_default() {
            if !figures.states(definition) {
                rows.measure(key, definition, ns, "ms", STATS_STEP_NS);
            }
        }
    }

    /// Durations of the scheduler. A start of 0.0 says that its clock was never set, and the durations mean nothing.
    fn time_stats(&mut self, head: &str, durations: &str, line: Line, rows: &mut Rows) {
        let field = |name: &str| {
            let value = head
                .split(", ")
                .find_map(|pair| pair.replace('_', " ").strip_prefix(name).map(str::to_owned));
            value.and_then(|value| value.parse::<i64>().ok())
        };
        let rid =
            head.strip_prefix("rid=").and_then(|rest| rest.split(", ").next()).unwrap_or_default().to_owned();
        let (input, cached, output) = (field("input len="), field("cached input len="), field("output len="));
        let mut stats = Stats { place: line.place, input, cached, output, durations: Vec::new() };
        let figure = |name: &str| durations.split([',', ';', ' ']).find_map(|word| word.strip_prefix(name));
        let unset = ["start_time=", "start=", "entry_time="].iter().find_map(|name| figure(name));
        if unset.is_some_and(|start| to_ns(start, MS) == Some(0)) {
            let detail =
                "start_time 0: the scheduler's clock was not set; queue and forward durations left out";
            rows.finding(Code::ValueImpossible, line.place, detail);
        } else {
            for (definition, name) in
                [("sglang.queue", "queue_duration="), ("sglang.inference", "forward_duration=")]
            {
                let ms = figure(name).and_then(|value| value.strip_suffix("ms")).and_then(|ms| to_ns(ms, MS));
                let stated = duration(rows, line.place, name.trim_end_matches('='), ms);
                stats.durations.extend(stated.map(|ns| (definition, ns)));
            }
        }
        if self.stats.len() >= WAITING {
            self.flush(rows);
        }
        self.stats.insert(rid, stats);
    }
}

/// A rank as a label's value.
fn label(rank: &str) -> String {
    rank.replace(['\\', '"'], "_")
}

/// The quoted value of an argument.
fn argument<'a>(args: &'a str, name: &str) -> Option<&'a str> {
    let (before, rest) = args.split_once(name)?;
    before.ends_with(['(', ' ']).then(|| rest.strip_prefix('\'')?.split('\'').next())?
}

/// The id in Python's way of writing a request; older releases write the prompt before it.
fn rid(request: &str) -> Option<&str> {
    let (_, rest) = match request.split_once("(rid='") {
        Some((class, rest)) if class.bytes().all(|b| b.is_ascii_alphanumeric()) => (class, rest),
        _ => request.rsplit_once("rid='")?,
    };
    rest.split('\'').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{context, read, read_as, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/sglang_log/server.log");

    #[test]
    fn a_start_is_a_chain_of_steps() {
        let cx = Context { zone: jiff::tz::TimeZone::get("UTC").ok(), ..context(&SglangLog) };
        let read = read_as(&SglangLog, &cx, SAMPLE);
        assert_eq!(read.rows(Table::Finding, &["line", "code"]), ["17|value-impossible"]);
        assert_eq!(
            read.rows(Table::Event, &["line", "kind", "t_ns", "duration_ns", "instance"]),
            [
                "1|args|1796075990000000000|~|~",
                "2|engine-init|1796075995000000000|~|TP0",
                "3|load-begin|1796075996000000000|~|TP0",
                "5|weights-loaded|1796075998000000000|1970000000|TP0",
                "6|kv-cache-allocated|1796075998000000000|~|TP0",
                "7|graph-capture-begin|1796075999000000000|~|TP0",
                "8|graph-capture|1796076003000000000|3740000000|TP0",
                "9|server-start|1796076004000000000|~|~",
                "11|ready|1796076005000000000|~|~",
                "12|request-received|1796076010000000000|~|~",
                "18|retracted|1796076021000000000|~|TP0",
                "19|request-received|1796076021500000000|~|~",
            ]
        );
        let runs = read.rows(Table::Run, &["key", "value"]);
        assert_eq!(runs[1..], ["model|tiny/llama"]);
        assert!(runs[0].ends_with("api_key=***, stream_interval=1)"), "{}", runs[0]);
    }

    #[test]
    fn batches_are_samples_and_finished_requests_are_requests() {
        let read = read(&SglangLog, SAMPLE);
        assert_eq!(
            read.findings(),
            [
                "1 time-unplaced local time without a zone",
                "17 value-impossible start_time 0: the scheduler's clock was not set; queue and forward durations left out",
                "19 time-unplaced `timestamp` is local time without a zone",
            ]
        );
        let samples = read.rows(Table::Series, &["line", "metric", "labels", "value"]);
        assert!(samples.contains(&"13|sglang_log:waiting|rank=\"TP0\"|3".to_owned()), "{samples:?}");
        assert!(samples.contains(&"13|sglang_log:kv_cache_usage|rank=\"TP0\"|0.05".to_owned()));
        let columns =
            ["line", "request_id", "input_tokens", "cached_tokens", "output_tokens", "error", "streamed"];
        assert_eq!(
            read.rows(Table::Request, &columns),
            ["15|q1|38|0|484|length|true", "16|q2|4096|16|1|~|~", "17|q3|38|~|484|~|~"]
        );
        assert_eq!(
            read.rows(Table::Measure, &["line", "definition", "duration_ns"]),
            [
                "15|sglang.queue|250000000",
                "15|sglang.e2e|9875000000",
                "15|sglang.inference|9620000000",
                "16|sglang.queue|828300000",
                "16|sglang.inference|1773630000",
            ]
        );
        let all = read.rows(Table::Event, &["detail"]).join(" ")
            + &read.rows(Table::Request, &["request_id", "error"]).join(" ");
        assert!(!all.contains("secret") && !all.contains("e2e_latency"), "{all}");
    }

    #[test]
    fn bad_stamps_and_unfinished_lines_are_refused() {
        let text = "[2026-13-01 00:00:00] Load weight begin.\n[2026-11-30 22:00:00] Finish: obj=GenerateReqInput(rid='a'\n\
            [2026-11-30 22:00:00] Finish: obj=G(), out={'meta_info': {'id': 'a'}}\nTraceback\n";
        assert_eq!(
            read(&SglangLog, text).rows(Table::Finding, &["line", "code"]),
            ["1|time-unplaced", "1|time-unplaced", "2|record-shape", "3|record-shape"]
        );
    }

    #[test]
    fn sglang_is_recognised_and_others_are_not() {
        assert!(recognises(&SglangLog, SAMPLE));
        for text in
            ["", "garbage", "[2026-11-30 22:00:00] started", "[2026-11-30T22:00:00] Load weight begin."]
        {
            assert!(!recognises(&SglangLog, text), "{text}");
        }
    }
}
