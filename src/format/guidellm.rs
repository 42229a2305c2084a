//! `GuideLLM` `benchmarks.json` and `benchmarks.yaml`: every request of every benchmark, in epoch seconds written from
//! doubles, and the figures over all of them. YAML is turned into the same JSON: a double has one shortest text.
//!
//! The prompt is inside `request_args`, which is never read. The tool's own request id is not on the wire.

mod metrics;
mod shape;

use super::load_tool::{Marks, cut, duration, error_text};
use super::{Context, Format, Match, Reader, decimal, json, tree};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Outcome, Request, RequestKey, Rows};
use serde_json::value::RawValue;
use shape::{Benchmark, Config, Report, Stats};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The report of `GuideLLM`.
pub struct Guidellm;

/// A double keeps epoch seconds to about 0.2 us.
const RESOLUTION_NS: i64 = 1_000;

/// Versions of the report's schema that were read for this.
const VERSIONS: [&str; 2] = ["1", "2"];

/// Strategies that send when a slot is free: a target equal to the start of the run is then none.
const CLOSED_LOOP: [&str; 3] = ["concurrent", "synchronous", "throughput"];

/// Longest value of a fact, in characters.
const FACT_CHARS: usize = 200;

impl Format for Guidellm {
    fn id(&self) -> &'static str {
        "guidellm"
    }

    fn title(&self) -> &'static str {
        "GuideLLM benchmarks.json or .yaml"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["client_wait", "ingress", "transport", "aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let text = String::from_utf8_lossy(&head.bytes);
        if head.first_byte() != Some(b'{') {
            return yaml(head, &text);
        }
        let stated = text.split_once("\"guidellm_version\"").map(|(_, rest)| rest.split('"').nth(1));
        match stated {
            Some(version) if head.first_byte() == Some(b'{') && head.contains("\"benchmarks\"") => {
                Match::Yes {
                    version: cut(version.unwrap_or(""), 40).to_owned(),
                    because: "metadata.guidellm_version, benchmarks",
                }
            }
            _ => Match::No,
        }
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Document(Box::new(move |bytes, rows| {
            let Some((mut text, _)) = line_text(bytes) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            let is_yaml = !text.trim_start().starts_with(['{', '[']) && text.contains("benchmarks:");
            if is_yaml {
                match tree::yaml(&text) {
                    Ok(report) => text = Cow::Owned(report.to_string()),
                    Err((line, detail)) => {
                        let place = Place::line(i64::try_from(line).unwrap_or(0));
                        return rows.refuse(Code::RecordShape, place, &detail);
                    }
                }
            }
            match serde_json::from_str::<Report>(&text) {
                Ok(report) => {
                    let reading = Reading {
                        text: &text,
                        at: 0,
                        line: 1,
                        lines: !is_yaml,
                        item: 0,
                        hop,
                        clock: &clock,
                        rows,
                    };
                    reading.report(&report);
                }
                Err(error) if error.is_eof() => rows.refuse(Code::Truncated, Place::FILE, &error.to_string()),
                Err(error) => {
                    let (code, detail) = json::complaint(&error);
                    rows.refuse(code, Place::FILE, &detail);
                }
            }
        }))
    }
}

/// Whether a head is the YAML report. Its keys are sorted: `metadata` comes after all requests.
fn yaml(head: &Head, text: &str) -> Match {
    let stated = text.split_once("guidellm_version:").and_then(|(_, rest)| rest.split_whitespace().next());
    let marks = ["prefer_response_metrics:", "run_index:", "strategy:"];
    let ours = stated.is_some() || marks.iter().all(|key| head.contains(key));
    if !ours || !tree::top(head, "benchmarks") {
        return Match::No;
    }
    let version = cut(stated.unwrap_or("").trim_matches(['"', '\'']), 40).to_owned();
    Match::Yes { version, because: "benchmarks with strategy, run_index, prefer_response_metrics" }
}

/// The document being read, and where its rows go.
struct Reading<'a, 'r> {
    text: &'a str,
    /// How far lines were counted, and which line that is.
    at: usize,
    line: i64,
    /// Whether the text is the file's own, so that its lines are the file's.
    lines: bool,
    /// Number of the next request in the file.
    item: i64,
    hop: Hop,
    clock: &'a str,
    rows: &'r mut Rows,
}

impl Reading<'_, '_> {
    /// The line that a piece of the document begins on.
    fn line_of(&mut self, part: &RawValue) -> i64 {
        if !self.lines {
            return 0;
        }
        let offset = part.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        if offset < self.at {
            (self.at, self.line) = (0, 1);
        }
        let between = self.text.as_bytes().get(self.at..offset).unwrap_or_default();
        self.line += i64::try_from(memchr::memchr_iter(b'\n', between).count()).unwrap_or(0);
        self.at = offset;
        self.line
    }

    fn report(mut self, report: &Report) {
        let (metadata, place) = (&report.metadata, Place::line(i64::from(self.lines)));
        self.rows.run(place, "tool", "guidellm");
        for (key, value) in
            [("schema_version", metadata.version), ("tool_version", metadata.guidellm_version)]
        {
            if let Some(value) = value.text() {
                self.rows.run(place, key, cut(value, FACT_CHARS));
            }
        }
        if let Some(version) = metadata.version.text().filter(|version| !VERSIONS.contains(version)) {
            let detail = format!("metadata.version {}", cut(version, FACT_CHARS));
            self.rows.finding(Code::VersionUnknown, place, &detail);
        }
        for (number, part) in (0..).zip(&report.benchmarks) {
            let place = Place::item(self.line_of(part), number);
            match json::record::<Benchmark>(part.get()) {
                Ok(benchmark) => self.benchmark(&benchmark, place),
                Err((code, detail)) => self.rows.refuse(code, place, &detail),
            }
        }
    }

    fn benchmark(&mut self, benchmark: &Benchmark, place: Place) {
        let (config, lists) = (&benchmark.config, &benchmark.requests);
        let strategy = scalars(config.strategy);
        for (key, value) in &strategy {
            self.rows.run(place, &format!("strategy.{key}"), value);
        }
        for (key, value) in scalars(config.profile) {
            self.rows.run(place, &format!("profile.{key}"), &value);
        }
        if let Some(model) = config.backend.as_ref().and_then(|backend| json::word(&backend.model)) {
            self.rows.run(place, "model", cut(model, FACT_CHARS));
        }
        if let Some(stream) = config.backend.as_ref().and_then(|backend| backend.stream) {
            self.rows.run(place, "stream", if stream { "true" } else { "false" });
        }
        for (key, name) in [("max_concurrency", "max_concurrency"), ("rate", "request_rate")] {
            if let Some(value) = strategy.get(key) {
                self.rows.run(place, name, value);
            }
        }
        metrics::add(benchmark, place, self.rows);
        if let Some(size) = config.sample_size.text() {
            self.rows.run(place, "sample_size", cut(size, FACT_CHARS));
        }
        // The file may hold a sample of the requests only: both counts are kept.
        for (key, value) in scalars(benchmark.scheduler_metrics.as_ref().and_then(|s| s.requests_made)) {
            self.rows.run(place, &format!("requests_made.{key}"), &value);
        }
        let listed = [&lists.successful, &lists.errored, &lists.incomplete];
        if listed.into_iter().flatten().all(Vec::is_empty) {
            // A benchmark that kept no request is a record too.
            self.rows.read += 1;
        }
        let closed = strategy.get("type_").is_some_and(|kind| CLOSED_LOOP.contains(&kind.as_str()));
        for (name, list, outcome) in [
            ("successful", &lists.successful, Outcome::Ok),
            ("errored", &lists.errored, Outcome::Error),
            ("incomplete", &lists.incomplete, Outcome::Cancelled),
        ] {
            let Some(list) = list else { continue };
            self.rows.run(place, &format!("requests_listed.{name}"), &list.len().to_string());
            for part in list {
                let place = Place::item(self.line_of(part), self.item);
                self.item += 1;
                match json::record::<Stats>(part.get()) {
                    Ok(stats) => self.request(&stats, place, outcome, config, closed),
                    Err((code, detail)) => self.rows.refuse(code, place, &detail),
                }
            }
        }
    }

    fn request(&mut self, stats: &Stats, place: Place, outcome: Outcome, config: &Config, closed: bool) {
        let (info, timings, rows) = (&stats.info, &stats.info.timings, &mut *self.rows);
        // Of a request that did not end well, zeros are what was never filled in.
        let count = |raw: json::Raw| raw.int().filter(|n| *n > 0 || (*n == 0 && outcome == Outcome::Ok));
        let key = rows.request(
            self.hop,
            place,
            &Request {
                response_id: json::word(&stats.response_id),
                model: config.backend.as_ref().and_then(|backend| json::word(&backend.model)),
                input_tokens: count(stats.prompt_tokens),
                output_tokens: count(stats.output_tokens),
                cached_tokens: count(stats.cached_tokens),
                outcome,
                error: json::word(&info.error).map(error_text),
                streamed: config.backend.as_ref().and_then(|backend| backend.stream),
                ..Request::default()
            },
        );
        let at = |raw: json::Raw| raw.ns(decimal::S).filter(|t| *t > 0);
        let no_target = closed && timings.targeted_start.text() == info.scheduler_start_time.text();
        let marks = Marks {
            scheduled: at(timings.targeted_start).filter(|_| !no_target),
            send: at(timings.request_start),
            first_chunk: at(timings.first_request_iteration),
            first_token: at(timings.first_token_iteration),
            last_token: at(timings.last_token_iteration),
            end: at(timings.request_end),
            ..Marks::default()
        };
        marks.add(rows, key, place, self.clock, RESOLUTION_NS);
        if outcome != Outcome::Error {
            measures(rows, key, place, stats, outcome, &marks);
        }
    }
}

fn measures(rows: &mut Rows, key: RequestKey, place: Place, stats: &Stats, outcome: Outcome, marks: &Marks) {
    let mut stated = |name: &str, raw: json::Raw, scale: u32| {
        duration(rows, place, name, raw.ns(scale)).filter(|ns| *ns > 0)
    };
    let ttft = stated("time_to_first_token_ms", stats.time_to_first_token_ms, decimal::MS);
    let output = stated("time_to_first_output_token_ms", stats.time_to_first_output_token_ms, decimal::MS);
    // The latency of a request that was cut off is not the time an answer takes.
    let whole = outcome == Outcome::Ok;
    let latency = stated("request_latency", stats.request_latency, decimal::S).filter(|_| whole);
    if let (Some(ttft), Some(send), Some(first)) = (ttft, marks.send, marks.first_token)
        && first.saturating_sub(send).abs_diff(ttft) > 2 * RESOLUTION_NS.unsigned_abs()
    {
        let detail = format!(
            "time_to_first_token_ms {ttft} ns != first_token_iteration - request_start {} ns",
            first.saturating_sub(send)
        );
        rows.finding(Code::ValueImpossible, place, &detail);
    }
    for (definition, ns, unit) in
        [("guidellm.ttft", ttft, "ms"), ("guidellm.ttfo", output, "ms"), ("guidellm.latency", latency, "s")]
    {
        if let Some(ns) = ns {
            rows.measure(key, definition, ns, unit, RESOLUTION_NS);
        }
    }
}

/// The strings, numbers and flags of an object, as text.
fn scalars(object: Option<&RawValue>) -> BTreeMap<String, String> {
    let fields: BTreeMap<String, serde_json::Value> =
        object.and_then(|object| serde_json::from_str(object.get()).ok()).unwrap_or_default();
    let text = |value| match value {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Number(number) => Some(number.to_string()),
        serde_json::Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    };
    fields
        .into_iter()
        .filter_map(|(key, value)| Some((key, cut(&text(value)?, FACT_CHARS).to_owned())))
        .collect()
}

#[cfg(test)]
mod tests;
