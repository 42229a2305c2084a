//! The log of Text Generation Inference, router and launcher, as text or as JSON lines.
//!
//! A request ends with `Success` in a span that holds its durations as Rust prints them: `161.454300714s`, `5.669107ms`,
//! `73.176µs`. There is no first token in it: `time_per_token` is the whole inference over all tokens. Of the parameters
//! only is kept whether a grammar was asked for. Start-up steps and warnings become events; other lines are passed over.

use super::decimal::{self, MS, NS, S, US};
use super::json::{self, Text, word};
use super::load_tool::{cut, duration};
use super::vllm_log::plain;
use super::vllm_message::masked;
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Event, Hop, Outcome, Request, Rows};
use serde::Deserialize;

/// The log of Text Generation Inference.
pub struct TgiLog;

/// Stamps of the log.
const STAMP_STEP_NS: i64 = 1_000;

/// The last part of the wait is read a little after the total.
const SLACK_NS: i64 = 1_000_000;

/// Longest warning kept, in characters.
const WARNING_CHARS: usize = 160;

/// Durations of a request: name in the span, definition.
const DURATIONS: [(&str, &str); 5] = [
    ("validation_time", "tgi.validation"),
    ("queue_time", "tgi.queue"),
    ("inference_time", "tgi.inference"),
    ("time_per_token", "tgi.time_per_token"),
    ("total_time", "tgi.e2e"),
];

/// Beginnings of messages that tell of a start.
const STEPS: [(&str, &str); 6] = [
    ("Starting shard", "load-begin"),
    ("Shard ready in", "weights-loaded"),
    ("Warming up model", "warm-up"),
    ("Connected", "server-start"),
    ("Graceful shutdown", "shutdown"),
    ("Terminating", "shutdown"),
];

impl Format for TgiLog {
    fn id(&self) -> &'static str {
        "tgi_log"
    }

    fn title(&self) -> &'static str {
        "Text Generation Inference log"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["queue", "ready"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let of_tgi = head.lines().take(60).any(|line| entry(&plain(line)).is_some());
        Match::when(of_tgi, "target text_generation_router or text_generation_launcher")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| {
            let text = plain(line.text);
            match entry(&text) {
                Some(entry) => read(&entry, line, rows, hop, &clock),
                // The rest of a message over several lines, or another program's; JSON must be whole.
                None if text.starts_with('{') => {
                    if let Err((code, detail)) = json::record::<Entry>(&text) {
                        line.refuse(rows, code, &detail);
                    }
                }
                None => {}
            }
        }))
    }
}

/// One message, however it was written.
struct Message {
    t_ns: Option<i64>,
    level: String,
    text: String,
    /// The durations of [`DURATIONS`], as written.
    durations: [Option<String>; DURATIONS.len()],
    /// Whether a grammar was asked for.
    grammar: Option<bool>,
}

/// A line of the JSON log.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry<'a> {
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow)]
    level: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    fields: Option<Fields<'a>>,
    #[serde(borrow)]
    target: Text<'a>,
    #[serde(borrow)]
    span: Option<Span<'a>>,
    #[serde(borrow)]
    spans: Vec<Span<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields<'a> {
    #[serde(borrow)]
    message: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Span<'a> {
    #[serde(borrow)]
    parameters: Text<'a>,
    #[serde(borrow)]
    validation_time: Text<'a>,
    #[serde(borrow)]
    queue_time: Text<'a>,
    #[serde(borrow)]
    inference_time: Text<'a>,
    #[serde(borrow)]
    time_per_token: Text<'a>,
    #[serde(borrow)]
    total_time: Text<'a>,
}

impl Span<'_> {
    fn durations(&self) -> [Option<String>; DURATIONS.len()] {
        [
            &self.validation_time,
            &self.queue_time,
            &self.inference_time,
            &self.time_per_token,
            &self.total_time,
        ]
        .map(|text| word(text).map(str::to_owned))
    }
}

/// The message in a line; `None` unless the router or the launcher wrote it.
fn entry(line: &str) -> Option<Message> {
    if line.starts_with('{') { json_entry(line) } else { text_entry(line) }
}

fn of_tgi(target: &str) -> bool {
    target.starts_with("text_generation_router") || target.starts_with("text_generation_launcher")
}

fn json_entry(line: &str) -> Option<Message> {
    let entry: Entry = json::record(line).ok()?;
    if !of_tgi(word(&entry.target)?) {
        return None;
    }
    let fields = entry.fields.unwrap_or_default();
    let message = word(&entry.message).or(word(&fields.message)).unwrap_or_default();
    // The figures are put on the outermost span of the request, the message may be in an inner one.
    let spans = || entry.span.iter().chain(&entry.spans);
    let told = spans().find(|span| span.durations().iter().any(Option::is_some));
    let parameters = spans().find_map(|span| word(&span.parameters));
    Some(Message {
        t_ns: word(&entry.timestamp).and_then(instant),
        level: word(&entry.level).unwrap_or_default().to_owned(),
        text: message.to_owned(),
        durations: told.map(Span::durations).unwrap_or_default(),
        grammar: parameters.and_then(grammar),
    })
}

fn text_entry(line: &str) -> Option<Message> {
    let mut rest = line.trim_start();
    let stamp = rest.split(' ').next().and_then(instant);
    if stamp.is_some() {
        rest = rest.split_once(' ')?.1.trim_start();
    }
    let (level, rest) = rest.split_once(' ')?;
    if !matches!(level, "TRACE" | "DEBUG" | "INFO" | "WARN" | "ERROR") {
        return None;
    }
    let rest = rest.trim_start();
    // What stands in the spans may look like anything: the last target is the line's own.
    let (span, said) = match rest.rfind(": text_generation_") {
        Some(at) => rest.split_at_checked(at).map(|(span, said)| (span, said.trim_start_matches(": ")))?,
        None => ("", rest),
    };
    let (target, message) = said.split_once(": ")?;
    if !of_tgi(target) {
        return None;
    }
    // `router/src/server.rs:322: Success`
    let message = match message.split_once(": ") {
        Some((source, message)) if source.contains(".rs:") => message,
        _ => message,
    };
    let field = |name: &str| {
        let at = span.rfind(&format!("{name}=\""))?;
        span.get(at + name.len() + 2..)?.split('"').next().map(str::to_owned)
    };
    Some(Message {
        t_ns: stamp,
        level: level.to_owned(),
        text: message.to_owned(),
        durations: DURATIONS.map(|(name, _)| field(name)),
        grammar: grammar(span),
    })
}

/// Whether a grammar is among the parameters, where they say so.
fn grammar(parameters: &str) -> Option<bool> {
    let at = parameters.find("grammar: ")?;
    Some(parameters.get(at..)?.starts_with("grammar: Some("))
}

fn instant(text: &str) -> Option<i64> {
    let timestamp: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(timestamp.as_nanosecond()).ok()
}

/// A duration as Rust prints it: in ns, its unit, its step.
fn printed(text: &str) -> Option<(i64, &'static str, i64)> {
    let units = [("ns", NS, "ns"), ("µs", US, "us"), ("us", US, "us"), ("ms", MS, "ms"), ("s", S, "s")];
    units.iter().find_map(|(suffix, scale, unit)| {
        let number = text.strip_suffix(suffix)?;
        Some((decimal::to_ns(number, *scale)?, *unit, decimal::step_ns(number, *scale)))
    })
}

fn read(said: &Message, line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    if said.text == "Success" && said.durations.iter().any(Option::is_some) {
        return request(said, line, rows, hop, clock);
    }
    let step = STEPS.iter().find(|(start, _)| said.text.starts_with(start));
    let (kind, detail) = match (step, said.level.as_str()) {
        (Some((_, kind)), _) => (*kind, said.text.clone()),
        (None, "WARN") => ("log-warning", masked(&said.text)),
        (None, "ERROR") => ("log-error", masked(&said.text)),
        _ => return,
    };
    let last = said.text.trim_end().rsplit(' ').next().unwrap_or_default();
    let event = Event {
        kind,
        t_ns: said.t_ns,
        clock,
        resolution_ns: STAMP_STEP_NS,
        duration_ns: step.and_then(|_| printed(last)).map(|(ns, ..)| ns),
        detail: cut(detail.lines().next().unwrap_or_default(), WARNING_CHARS),
        ..Event::default()
    };
    rows.event(hop, line.place, &event);
}

fn request(said: &Message, line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let request = Request {
        class: said.grammar.map(|grammar| if grammar { "grammar" } else { "no-grammar" }),
        outcome: Outcome::Ok,
        ..Request::default()
    };
    let key = rows.request(hop, line.place, &request);
    let mut stated = [None; DURATIONS.len()];
    for (((name, definition), text), slot) in DURATIONS.iter().zip(&said.durations).zip(&mut stated) {
        let Some(text) = text else { continue };
        let Some((ns, unit, step)) = printed(text) else {
            let detail = format!("{name} is no duration; left out");
            rows.finding(Code::RecordShape, line.place, &detail);
            continue;
        };
        if let Some(ns) = duration(rows, line.place, name, Some(ns)) {
            rows.measure(key, definition, ns, unit, step);
            *slot = Some(ns);
        }
    }
    let [validation, queue, inference, _, total] = stated;
    if let (Some(validation), Some(queue), Some(inference), Some(total)) =
        (validation, queue, inference, total)
        && validation.saturating_add(queue).saturating_add(inference) > total.saturating_add(SLACK_NS)
    {
        let detail = format!(
            "validation {validation} + queue {queue} + inference {inference} > total {total} ns; all kept"
        );
        rows.finding(Code::ValueImpossible, line.place, &detail);
    }
    // The line is written when the answer is done.
    let start = said.t_ns.zip(total).and_then(|(end, total)| end.checked_sub(total));
    for (name, t_ns) in [("start", start), ("end", said.t_ns)] {
        if let Some(t_ns) = t_ns {
            rows.mark(key, name, t_ns, clock, STAMP_STEP_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const TEXT: &str = include_str!("../../samples/tgi_log/tgi.log");
    const JSON: &str = include_str!("../../samples/tgi_log/tgi.jsonl");

    #[test]
    fn a_line_of_text_gives_its_durations_whatever_their_unit() {
        let read = read(&TgiLog, TEXT);
        assert_eq!(read.findings(), [""; 0]);
        assert_eq!(
            read.rows(Table::Request, &["line", "class", "outcome"]),
            ["5|no-grammar|ok", "6|grammar|ok"]
        );
        assert_eq!(
            read.rows(Table::Measure, &["line", "definition", "duration_ns", "unit", "resolution_ns"]),
            [
                "5|tgi.validation|955594|us|1",
                "5|tgi.queue|73176|us|1",
                "5|tgi.inference|734172108|ms|1",
                "5|tgi.time_per_token|36708605|ms|1",
                "5|tgi.e2e|735200735|ms|1",
                "6|tgi.validation|5669107|ms|1",
                "6|tgi.queue|161454300714|s|1",
                "6|tgi.inference|1500000000|s|100000000",
                "6|tgi.time_per_token|30000000|ms|1000000",
                "6|tgi.e2e|162960000000|s|10000000",
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["line", "name", "t_ns", "clock", "resolution_ns"])[..2],
            [
                "5|start|1796073818300000265|epoch:0123456789ab|1000",
                "5|end|1796073819035201000|epoch:0123456789ab|1000",
            ]
        );
    }

    #[test]
    fn a_start_and_its_warnings_are_events_without_secrets() {
        let text = read(&TgiLog, TEXT).rows(Table::Event, &["line", "kind", "duration_ns", "detail"]);
        assert_eq!(
            text,
            [
                "1|weights-loaded|5607799614|Shard ready in 5.607799614s",
                "2|warm-up|~|Warming up model",
                "3|log-warning|~|`--revision` is not set, api_key: ***",
                "4|server-start|~|Connected",
                "7|log-error|~|Request failed during generation: Server error: out of memory",
            ]
        );
    }

    #[test]
    fn json_lines_say_the_same() {
        let json = read(&TgiLog, JSON);
        assert_eq!((json.counts(), json.findings().len()), ((4, 0), 0));
        assert_eq!(json.rows(Table::Request, &["line", "class"]), ["3|no-grammar", "4|~"]);
        assert_eq!(
            json.rows(Table::Measure, &["line", "definition", "duration_ns"]),
            [
                "3|tgi.validation|754500",
                "3|tgi.queue|127337",
                "3|tgi.inference|610405028",
                "3|tgi.time_per_token|43600359",
                "3|tgi.e2e|611286748",
                "4|tgi.queue|2000000000",
            ]
        );
    }

    #[test]
    fn a_span_that_imitates_fields_and_figures_that_contradict() {
        let fields = r#"parameters="GenerateParameters { stop: [\"queue_time=\\\"9s\\\"}: text_generation_router: x\"] }""#;
        let times = r#"total_time="1s" validation_time="0ns" queue_time="900ms" inference_time="200ms""#;
        let line = |times: &str| {
            format!(
                "INFO generate{{{fields} {times}}}: text_generation_router::server: router/src/server.rs:1: Success\n"
            )
        };
        let read = read(&TgiLog, &format!("{}{}", line(times), line(&times.replace("900ms", "soon"))));
        assert_eq!(
            read.rows(Table::Measure, &["line", "definition", "duration_ns"])[..2],
            ["1|tgi.validation|0", "1|tgi.queue|900000000"]
        );
        assert_eq!(
            read.findings(),
            [
                "1 value-impossible validation 0 + queue 900000000 + inference 200000000 > total 1000000000 ns; all kept",
                "2 record-shape queue_time is no duration; left out",
            ]
        );
    }

    #[test]
    fn a_cut_json_line_is_refused_and_only_tgi_is_recognised() {
        let cut = read(&TgiLog, &JSON[..JSON.len() - 30]);
        assert_eq!(cut.counts(), (3, 1));
        assert!(cut.findings()[0].starts_with("4 truncated"));
        assert!(recognises(&TgiLog, TEXT) && recognises(&TgiLog, JSON));
        for text in ["", "garbage", "INFO x: y: Success", r#"{"target":"other","level":"INFO"}"#] {
            assert!(!recognises(&TgiLog, text), "{text}");
        }
    }
}
