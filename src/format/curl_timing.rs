//! What `curl --write-out` says of a transfer: `%{json}`, or text with the names of its variables.
//!
//! Text may hold one name and value a line, as the usual format file does, or several; `:` or `=` between them, `s`
//! behind the value. A transfer ends with `time_total`, or where a name comes again. Other lines are passed over.
//!
//! - Times are seconds, CUMULATIVE from the begin of the transfer, not stages one after another.
//! - 0 means that a step was not reached or not needed (no TLS, no redirect, no byte): absent, never zero.
//! - `time_starttransfer` is the first byte, the response HEADERS, not the first token.
//! - curl writes neither a date nor an id: durations are all there is.
//! - `time_redirect` spans earlier transfers and is not part of the order of the others.

use super::decimal::{S, step_ns, to_ns};
use super::json::{self, Raw};
use super::load_tool::{cut, duration, error_text};
use super::objects::{self, Objects};
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, Rows};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Times in the order in which they are reached, then the one outside of it.
const TIMES: [(&str, &str); 8] = [
    ("curl.dns", "time_namelookup"),
    ("curl.connect", "time_connect"),
    ("curl.tls", "time_appconnect"),
    ("curl.pretransfer", "time_pretransfer"),
    ("curl.posttransfer", "time_posttransfer"),
    ("curl.first_byte", "time_starttransfer"),
    ("curl.total", "time_total"),
    ("curl.redirect", "time_redirect"),
];

/// What else is read.
const OTHERS: [&str; 6] = ["http_code", "response_code", "exitcode", "errormsg", "remote_ip", "remote_port"];

/// curl's account of its transfers.
pub struct CurlTiming;

impl Format for CurlTiming {
    fn id(&self) -> &'static str {
        "curl_timing"
    }

    fn title(&self) -> &'static str {
        "curl --write-out (JSON, text)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["client_wait", "ingress"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let named =
            |line: &str| !line.starts_with('{') && pairs(line).iter().any(|(name, _)| is_deciding(name));
        let object = |text: &str| {
            serde_json::from_str::<BTreeMap<String, &RawValue>>(text)
                .is_ok_and(|keys| keys.contains_key("time_total") && keys.keys().any(|key| is_deciding(key)))
        };
        let seen = head.lines().take(200).any(named) || objects::any(head, object);
        Match::when(seen, "time_namelookup or time_starttransfer, time_total")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let hop = cx.hop;
        let objects = Objects::new(move |line: Line, rows: &mut Rows| object(&line, rows, hop));
        Reader::Stream(Box::new(Output { objects, hop, in_object: false, block: Block::default() }))
    }
}

/// Names that only curl gives to its times.
fn is_deciding(name: &str) -> bool {
    matches!(name, "time_namelookup" | "time_starttransfer" | "time_pretransfer" | "time_appconnect")
}

/// One transfer as read so far.
#[derive(Default)]
struct Block {
    place: Place,
    values: BTreeMap<String, String>,
}

struct Output<F> {
    objects: Objects<F>,
    hop: Hop,
    /// Whether an object is spread over these lines.
    in_object: bool,
    block: Block,
}

impl<F: FnMut(Line, &mut Rows) + Send> Stream for Output<F> {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        if self.in_object || line.text.trim_start().starts_with(['{', '[']) {
            // Once objects, always objects: text does not begin a line with a brace.
            self.in_object = true;
            return self.objects.line(line, rows);
        }
        for (name, value) in pairs(line.text) {
            if self.block.values.contains_key(name) {
                self.finish(rows);
            }
            if self.block.values.is_empty() {
                self.block.place = line.place;
            }
            self.block.values.insert(name.to_owned(), cut(value, 200).to_owned());
        }
    }

    fn end(&mut self, rows: &mut Rows) {
        self.objects.end(rows);
        self.finish(rows);
    }
}

impl<F> Output<F> {
    fn finish(&mut self, rows: &mut Rows) {
        let block = std::mem::take(&mut self.block);
        if block.values.keys().any(|name| name.starts_with("time_")) {
            let get = |name: &str| block.values.get(name).map(String::as_str);
            transfer(&get, block.place, rows, self.hop);
        }
    }
}

/// Names of curl's with their values, in a line of text.
fn pairs(line: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || c == ':' || c == '=' || c == '"' || c == ';' || c == '|')
        .filter(|word| !word.is_empty())
        .collect();
    let ours = |name: &str| TIMES.iter().any(|(_, time)| *time == name) || OTHERS.contains(&name);
    words
        .windows(2)
        .filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)))
        .filter(|(name, _)| ours(name))
        .collect()
}

fn object(line: &Line, rows: &mut Rows, hop: Hop) {
    match json::record::<BTreeMap<String, &RawValue>>(line.text) {
        Ok(keys) if keys.contains_key("time_total") => {
            let get = |name: &str| Raw(keys.get(name).copied()).text();
            transfer(&get, line.place, rows, hop);
        }
        Ok(_) => line.refuse(rows, Code::RecordShape, "time_total is missing"),
        Err((code, detail)) => line.refuse(rows, code, &detail),
    }
}

fn transfer<'a>(get: &dyn Fn(&str) -> Option<&'a str>, place: Place, rows: &mut Rows, hop: Hop) {
    let status = get("http_code").or(get("response_code")).and_then(|code| code.parse().ok());
    let status = status.filter(|status: &i64| *status > 0);
    let failed = get("exitcode").is_some_and(|code| code != "0");
    let outcome = match status.map(Outcome::from_http) {
        Some(Outcome::Ok) | None if failed => Outcome::Error,
        None if get("http_code").is_some() => Outcome::Error,
        stated => stated.unwrap_or_default(),
    };
    let address = get("remote_ip").zip(get("remote_port")).map(|(ip, port)| format!("{ip}:{port}"));
    let error = get("errormsg").map(error_text);
    let request = Request { instance: address.as_deref(), status, outcome, error, ..Request::default() };
    let key = rows.request(hop, place, &request);
    // The whole is trusted most; then every time must not lie before one already reached.
    let whole = get("time_total").and_then(seconds);
    let mut reached: Option<(&str, i64)> = None;
    for (definition, name) in TIMES {
        let Some(text) = get(name) else { continue };
        let Some((ns, step)) = seconds(text) else {
            rows.finding(Code::RecordShape, place, &format!("{name} is not a number of seconds"));
            continue;
        };
        let Some(ns) = duration(rows, place, name, Some(ns)) else { continue };
        if ns == 0 && name != "time_total" {
            continue;
        }
        let beyond = whole.filter(|(whole, _)| ns > *whole).map(|(whole, _)| ('>', "time_total", whole));
        // An answer can begin before a request with a body is wholly written.
        let in_order = !matches!(name, "time_redirect" | "time_posttransfer");
        let before = reached.filter(|(_, t)| in_order && ns < *t).map(|(earlier, t)| ('<', earlier, t));
        if let Some((sign, other, t)) = beyond.or(before) {
            let detail = format!("{name} {ns} ns {sign} {other} {t} ns: {name} left out");
            rows.finding(Code::ValueImpossible, place, &detail);
            continue;
        }
        rows.measure(key, definition, ns, "s", step);
        if in_order {
            reached = Some((name, ns));
        }
    }
}

/// Seconds and their step; some locales write a decimal comma, format files an `s`.
fn seconds(text: &str) -> Option<(i64, i64)> {
    let text = text.trim_end_matches('s').replace(',', ".");
    Some((to_ns(&text, S)?, step_ns(&text, S)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const JSON: &str = include_str!("../../samples/curl_timing/transfers.jsonl");
    const TEXT: &str = include_str!("../../samples/curl_timing/format_file.txt");
    const MEASURE: &[&str] = &["line", "definition", "duration_ns", "resolution_ns"];

    #[test]
    fn json_is_read_exactly_and_zero_is_not_reached() {
        let read = read(&CurlTiming, JSON);
        assert_eq!((read.counts(), read.findings()), ((3, 0), vec![]));
        assert_eq!(
            read.rows(Table::Request, &["line", "instance", "status", "outcome", "error"])[..2],
            ["1|127.0.0.1:18790|200|ok|~", "2|127.0.0.1:18790|429|rejected|~"]
        );
        assert_eq!(
            read.rows(Table::Request, &["status", "outcome", "error"])[2]
                .split('|')
                .take(2)
                .collect::<Vec<_>>(),
            ["~", "error"]
        );
        let first: Vec<_> =
            read.rows(Table::Measure, MEASURE).into_iter().filter(|m| m.starts_with("1|")).collect();
        assert!(first.iter().all(|m| m.ends_with("|1000")), "{first:?}");
        let names: Vec<_> = first.iter().filter_map(|m| m.split('|').nth(1)).collect();
        // No TLS, no redirect.
        assert_eq!(names, ["curl.dns", "curl.connect", "curl.pretransfer", "curl.first_byte", "curl.total"]);
    }

    #[test]
    fn text_blocks_are_transfers() {
        let read = read(&CurlTiming, TEXT);
        assert_eq!((read.counts(), read.findings()), ((2, 0), vec![]));
        let lines: Vec<_> = read.rows(Table::Request, &["line"]);
        assert_eq!(lines, ["1", "9"]);
        let row = "time_namelookup=0,004 time_connect=0.005 time_appconnect: 0.020s time_starttransfer: 0.100 time_total=0.900";
        let one = super::super::testing::read(&CurlTiming, row);
        assert_eq!(
            one.rows(Table::Measure, &["definition", "duration_ns"]),
            [
                "curl.dns|4000000",
                "curl.connect|5000000",
                "curl.tls|20000000",
                "curl.first_byte|100000000",
                "curl.total|900000000",
            ]
        );
    }

    #[test]
    fn contradictions_and_other_text_are_reported() {
        let odd = read(
            &CurlTiming,
            "time_connect: 0.5\ntime_pretransfer: 0.2\ntime_starttransfer: 7\ntime_total: 1\n",
        );
        assert_eq!(odd.rows(Table::Measure, &["definition"]), ["curl.connect", "curl.total"]);
        assert_eq!(
            odd.findings(),
            [
                "1 value-impossible time_pretransfer 200000000 ns < time_connect 500000000 ns: time_pretransfer left out",
                "1 value-impossible time_starttransfer 7000000000 ns > time_total 1000000000 ns: time_starttransfer left out",
            ]
        );
        let bad = read(&CurlTiming, "time_total: soon");
        assert_eq!(bad.findings(), ["1 record-shape time_total is not a number of seconds"]);
        let body = read(&CurlTiming, "{\"id\":\"x\"}\n{\"time_total\":");
        assert_eq!(body.rows(Table::Finding, &["code"]), ["record-shape", "truncated"]);
    }

    #[test]
    fn recognised_by_curls_own_names() {
        assert!(recognises(&CurlTiming, JSON) && recognises(&CurlTiming, TEXT));
        for other in ["", "{}", "time_total: 1", r#"{"time_total":1,"x":2}"#] {
            assert!(!recognises(&CurlTiming, other), "{other}");
        }
    }
}
