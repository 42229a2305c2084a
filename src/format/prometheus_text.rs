//! Prometheus exposition text, and its successor `OpenMetrics`: one scrape of a `/metrics` address a file.
//!
//! A scrape seldom says when it was taken: the time is the sample's own, else the one in the file's name
//! (`metrics_<epoch ms>.prom`), else none: the samples are of one moment that stands on a clock of its own. Exemplars are passed over. A NaN says that nothing is known and gives no row.

use super::{Context, Format, Line, Match, Reader, Stream, decimal};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use std::borrow::Cow;

/// Prometheus exposition text.
pub struct PrometheusText;

impl Format for PrometheusText {
    fn id(&self) -> &'static str {
        "prometheus_text"
    }

    fn title(&self) -> &'static str {
        "Prometheus /metrics (exposition text)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate", "resources"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let (mut typed, mut samples, mut labelled, mut others) = (0, 0, 0, 0);
        for line in head.lines().take(40) {
            if line.starts_with('#') {
                typed += i32::from(is_type(line));
            } else if sample(line).is_ok() {
                samples += 1;
                labelled += i32::from(line.contains("=\""));
            } else {
                others += 1;
            }
        }
        Match::when(samples > others && typed + labelled > 0, "# TYPE, name{label=\"value\"} number")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let clock = cx.epoch();
        match time_in_name(&cx.name) {
            Some(t_ns) => Reader::Lines(Box::new(move |line, rows| {
                read(line, rows, &clock, &clock, t_ns);
            })),
            None => Reader::Stream(Box::new(Undated { clock, own: cx.undated(), samples: 0 })),
        }
    }
}

/// `# TYPE name kind`.
fn is_type(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next() == Some("#")
        && words.next() == Some("TYPE")
        && words.next().is_some_and(is_name)
        && matches!(
            words.next(),
            Some(
                "counter"
                    | "gauge"
                    | "histogram"
                    | "summary"
                    | "untyped"
                    | "unknown"
                    | "info"
                    | "stateset"
                    | "gaugehistogram"
            )
        )
}

/// The time a file's name holds: 13 digits are epoch milliseconds, 10 are epoch seconds.
pub(super) fn time_in_name(name: &str) -> Option<i64> {
    let runs = |digits: usize| {
        let mut runs = name.split(|c: char| !c.is_ascii_digit());
        runs.find(|run| run.len() == digits && run.starts_with('1'))
    };
    match runs(13) {
        Some(ms) => decimal::to_ns(ms, decimal::MS),
        None => decimal::to_ns(runs(10)?, decimal::S),
    }
}

/// A scrape whose name holds no time: samples without their own are of one moment, on a clock of its own.
struct Undated {
    clock: String,
    /// The clock of that moment, its zero.
    own: String,
    samples: i64,
}

impl Stream for Undated {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        self.samples += i64::from(read(line, rows, &self.clock, &self.own, 0));
    }

    fn end(&mut self, rows: &mut Rows) {
        if self.samples > 0 {
            let detail = format!(
                "{} samples without a time, and no epoch time in the file's name: of one unknown moment (call it metrics_<epoch ms>.prom)",
                self.samples
            );
            rows.finding(Code::TimeUnplaced, Place::FILE, &detail);
        }
    }
}

/// Reads a line; `true` when it is a sample without a time of its own, which was put at `at_ns` on the clock `at`.
fn read(line: Line, rows: &mut Rows, clock: &str, at: &str, at_ns: i64) -> bool {
    let text = line.text.trim_ascii();
    if text.is_empty() || text.starts_with('#') {
        return false;
    }
    match sample(text) {
        Ok(s) => {
            let (t_ns, clock) = s.t_ns.map_or((at_ns, at), |t_ns| (t_ns, clock));
            if s.value.is_nan() {
                rows.read += 1;
            } else {
                rows.sample(line.place, s.metric, &s.labels, t_ns, clock, s.value);
            }
            s.t_ns.is_none()
        }
        Err((code, detail)) => {
            line.refuse(rows, code, &detail);
            false
        }
    }
}

struct Sample<'a> {
    metric: &'a str,
    labels: Cow<'a, str>,
    value: f64,
    t_ns: Option<i64>,
}

type Fault = (Code, Cow<'static, str>);

/// `name{label="value",…} value [time] [# exemplar]`.
fn sample(line: &str) -> Result<Sample<'_>, Fault> {
    const SHAPE: Fault = (Code::RecordShape, Cow::Borrowed("not `name{label=\"value\"} number [time]`"));
    let end = line.bytes().position(|b| !is_name_byte(b)).ok_or(SHAPE)?;
    let (metric, rest) = line.split_at(end);
    if !is_name(metric) {
        return Err(SHAPE);
    }
    let (labels, rest) = match rest.trim_ascii_start().strip_prefix('{') {
        Some(rest) => labels(rest).ok_or(SHAPE)?,
        None => (Labels::Plain(""), rest),
    };
    let labels = match labels {
        Labels::Plain(text) => Cow::Borrowed(text),
        Labels::Loose(mut labels) => {
            let twice = |name| (Code::DuplicateKey, format!("label `{name}` stands twice").into());
            Cow::Owned(join(&mut labels).map_err(twice)?)
        }
    };
    let mut words = rest.split('#').next().unwrap_or_default().split_ascii_whitespace();
    let value = words.next().and_then(|word| word.parse().ok()).ok_or(SHAPE)?;
    let t_ns = match words.next() {
        Some(word) => Some(time(word).ok_or(SHAPE)?),
        None => None,
    };
    if words.next().is_some() {
        return Err(SHAPE);
    }
    Ok(Sample { metric, labels, value, t_ns })
}

/// A sample's own time: milliseconds in Prometheus text; seconds, as a rule with a fraction, in `OpenMetrics`.
fn time(word: &str) -> Option<i64> {
    let seconds = word.contains('.') || word.len() < 12;
    decimal::to_ns(word, if seconds { decimal::S } else { decimal::MS })
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b':')
}

fn is_name(text: &str) -> bool {
    text.bytes().all(is_name_byte) && text.starts_with(|c: char| !c.is_ascii_digit())
}

/// Labels as found: in the form in which they are stored, or not.
enum Labels<'a> {
    Plain(&'a str),
    Loose(Vec<Label<'a>>),
}

/// A label's name and its value, with escapes as in the text.
pub type Label<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Labels up to the closing brace, and what follows it.
fn labels(text: &str) -> Option<(Labels<'_>, &str)> {
    let (mut rest, mut last, mut plain) = (text, "", true);
    loop {
        let next = rest.trim_start_matches([' ', '\t', ',']);
        let gap = rest.len() - next.len();
        if let Some(after) = next.strip_prefix('}') {
            let inside = &text[..text.len() - next.len()];
            plain &= gap == 0;
            return Some((if plain { Labels::Plain(inside) } else { Labels::Loose(loose(inside)) }, after));
        }
        let (name, value_end) = pair(next)?;
        plain &= name > last && if last.is_empty() { gap == 0 } else { gap == 1 && rest.starts_with(',') };
        plain &= next.as_bytes().get(name.len()..name.len() + 2) == Some(b"=\"");
        (rest, last) = (&next[value_end..], name);
    }
}

/// The name of the label that `text` begins with, and where its quoted value ends.
fn pair(text: &str) -> Option<(&str, usize)> {
    let equals = memchr::memchr(b'=', text.as_bytes())?;
    let name = text[..equals].trim_ascii_end();
    let open = memchr::memchr(b'"', &text.as_bytes()[equals..])? + equals;
    if name.is_empty() || !is_name(name) || !text[equals + 1..open].trim_ascii().is_empty() {
        return None;
    }
    let mut at = open + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.as_bytes().get(at..)?)?;
        if text.as_bytes()[at] == b'"' {
            return Some((name, at + 1));
        }
        at += 2;
    }
}

/// The labels one by one; `text` was walked before.
fn loose(text: &str) -> Vec<Label<'_>> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', ',']);
    while let Some((name, end)) = pair(rest) {
        let quoted = rest[name.len()..end].trim_start_matches([' ', '\t', '=']);
        pairs.push((name.into(), quoted[1..quoted.len() - 1].into()));
        rest = rest[end..].trim_start_matches([' ', '\t', ',']);
    }
    pairs
}

/// Labels in the form in which they are stored: sorted by name, `a="1",b="2"`, values with `\\`, `\"` and `\n`.
///
/// # Errors
/// The name of a label that stands twice.
pub fn join(labels: &mut [Label]) -> Result<String, String> {
    labels.sort_unstable();
    if let Some([(name, _), _]) = labels.windows(2).find(|w| w[0].0 == w[1].0) {
        return Err(name.to_string());
    }
    let joined = labels.iter().fold(String::new(), |mut text, (name, value)| {
        let comma = if text.is_empty() { "" } else { "," };
        for part in [comma, name, "=\"", value, "\""] {
            text.push_str(part);
        }
        text
    });
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{Read, context, read_as, recognises};
    use crate::row::Table;

    const VLLM: &str = include_str!("../../samples/prometheus_text/metrics_1796073822065.prom");
    const LLAMA: &str = include_str!("../../samples/prometheus_text/metrics_1796076917730.prom");

    fn read(name: &str, text: &str) -> Read {
        read_as(&PrometheusText, &Context { name: name.to_owned(), ..context(&PrometheusText) }, text)
    }

    /// The rows of one line of a scrape at 1.7 s.
    fn one(line: &str) -> Vec<String> {
        let read = read("m_1700000000000.prom", &format!("{line}\n"));
        assert_eq!(read.findings(), [""; 0], "{line}");
        read.rows(Table::Series, &["metric", "labels", "t_ns", "value"])
    }

    #[test]
    fn samples_of_a_scrape_have_the_time_of_its_name() {
        let read = read("metrics_1796073822065.prom", VLLM);
        assert_eq!(read.counts(), (435, 0));
        let rows = read.rows(Table::Series, &["line", "metric", "labels", "t_ns", "clock", "value"]);
        assert_eq!(
            rows[0],
            "3|python_gc_objects_collected_total|generation=\"0\"|1796073822065000000|epoch:0123456789ab|14725"
        );
        assert!(rows.iter().any(|row| row.contains(
            "|vllm:request_prompt_tokens_bucket|engine=\"0\",le=\"1.0\",model_name=\"tiny-llama\"|1796073822065000000|"
        )));
    }

    #[test]
    fn labels_are_stored_sorted_and_with_their_escapes() {
        let stored = ["m|a=\"x\\\"},\\\\\",b=\"é # {\"|1700000000000000000|5"];
        for line in [
            r#"m{a="x\"},\\",b="é # {"} 5"#,
            r#"m{b="é # {",a="x\"},\\"} 5"#,
            r#"m { a = "x\"},\\" , b="é # {", } 5.0"#,
        ] {
            assert_eq!(one(line), stored);
        }
        assert_eq!(one("m{} +Inf"), ["m||1700000000000000000|inf"]);
        assert_eq!(one("m 1e3 1700000000123"), ["m||1700000000123000000|1000"]);
        assert_eq!(one("m 1 1700000000.5"), ["m||1700000000500000000|1"]);
        let exemplar = r#"m_bucket{le="1"} 3 1700000001.0 # {trace_id="a b"} 0.5 1700000000.1"#;
        assert_eq!(one(exemplar), ["m_bucket|le=\"1\"|1700000001000000000|3"]);
    }

    #[test]
    fn a_nan_is_read_and_gives_no_row() {
        let read = read("1700000000", "m NaN\nm 0\n# EOF\n");
        assert_eq!(read.counts(), (2, 0));
        assert_eq!(read.rows(Table::Series, &["t_ns", "value"]), ["1700000000000000000|0"]);
    }

    #[test]
    fn without_a_time_samples_are_of_one_moment_that_nothing_else_shares() {
        let read = read("metrics.prom", "m 1\nm 2\nm 3 1700000000000\n");
        assert_eq!(read.counts(), (3, 0));
        assert_eq!(
            read.rows(Table::Series, &["t_ns", "clock", "value"]),
            [
                "0|undated:0123456789ab|1",
                "0|undated:0123456789ab|2",
                "1700000000000000000|epoch:0123456789ab|3",
            ]
        );
        assert!(read.findings()[0].starts_with("0 time-unplaced 2 samples without a time"));
    }

    #[test]
    fn what_is_not_a_sample_is_refused_with_its_line() {
        let text = "m\nm x\n{a=\"1\"} 1\n9m 1\nm{a=1} 1\nm{a=\"1\" 1\nm 1 2 3\nm{a=\"1\",a=\"2\"} 1\nm{a=\"1";
        let read = read("m_1700000000000", text);
        assert_eq!(read.counts(), (0, 9));
        let findings = read.findings();
        assert!(findings[..7].iter().zip(1..).all(|(f, n)| f.starts_with(&format!("{n} record-shape "))));
        assert_eq!(findings[7], "8 duplicate-key label `a` stands twice");
        assert!(findings[8].starts_with("9 truncated "));
    }

    #[test]
    fn scrapes_are_recognised_and_lists_and_garbage_are_not() {
        for text in [VLLM, LLAMA, "x y z\n# TYPE m counter\nm 1\nn 2\n", "a{b=\"c\"} 1\n"] {
            assert!(recognises(&PrometheusText, text));
        }
        for text in
            ["", "garbage", "# a comment\n", "vllm:ttft histogram\nvllm:itl histogram\n", "load 1\ntime 2\n"]
        {
            assert!(!recognises(&PrometheusText, text), "{text}");
        }
    }
}
