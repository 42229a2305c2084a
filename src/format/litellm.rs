//! What `LiteLLM`'s records of a request share: its three instants, and when the middle one is no first token.
//!
//! `LiteLLM` writes `completionStartTime` = `endTime` where it never saw a first chunk (no streaming, pass-through and
//! some routes), also with `stream` true: then the time to first token is unknown, not the whole latency.

use super::Line;
use super::json::Raw;
use super::load_tool::duration;
use super::stamp::{Stamp, Stamps};
use crate::finding::Code;
use crate::row::{Outcome, RequestKey, Rows};
use serde::Deserialize;

/// The instants of a request as written; "" counts as absent.
#[derive(Clone, Copy, Default)]
pub struct Times<'a> {
    pub start: Option<&'a str>,
    pub first: Option<&'a str>,
    pub end: Option<&'a str>,
}

impl Times<'_> {
    /// Adds start, first chunk and end to a request, and the durations between them.
    pub fn add(&self, stamps: &Stamps, line: &Line, rows: &mut Rows, key: RequestKey, outcome: Outcome) {
        let read = |text: Option<&str>| text.and_then(|text| stamps.read(text));
        let (start, first, end) = (read(self.start), read(self.first), read(self.end));
        let Some(start) = start else {
            return rows.finding(Code::TimeUnplaced, line.place, "startTime is not a time");
        };
        if !start.placed {
            rows.finding(Code::TimeUnplaced, line.place, "startTime has no zone");
        }
        rows.mark(key, "start", start.ns, start.clock, start.step_ns);
        if let Some(end) = end {
            let name = "endTime - startTime";
            let between = end.ns.checked_sub(start.ns);
            if let Some(ns) = duration(rows, line.place, name, between) {
                rows.mark(key, "end", end.ns, end.clock, end.step_ns);
                rows.measure(key, "litellm.request", ns, "s", end.step_ns);
            }
        }
        // What stands there for a failed request is no first chunk.
        if let Some(first) = first.filter(|_| matches!(outcome, Outcome::Ok | Outcome::Unknown)) {
            first_chunk(start, first, end, line, rows, key);
        }
    }
}

fn first_chunk(
    start: Stamp,
    first: Stamp,
    end: Option<Stamp>,
    line: &Line,
    rows: &mut Rows,
    key: RequestKey,
) {
    match end {
        Some(end) if end.ns == first.ns => {
            let detail = "completionStartTime = endTime: LiteLLM saw no first chunk, TTFT is unknown";
            return rows.finding(Code::NoFirstToken, line.place, detail);
        }
        Some(end) if first.ns > end.ns => {
            let late = first.ns - end.ns;
            let detail = format!("completionStartTime - endTime {late} ns > 0: completionStartTime left out");
            return rows.finding(Code::ValueImpossible, line.place, &detail);
        }
        _ => {}
    }
    let between = first.ns.checked_sub(start.ns);
    if let Some(ns) = duration(rows, line.place, "completionStartTime - startTime", between) {
        rows.mark(key, "first_chunk", first.ns, first.clock, first.step_ns);
        rows.measure(key, "litellm.ttft", ns, "s", first.step_ns);
    }
}

/// `LiteLLM`'s status word: success or failure, refined by the HTTP code of the error where there is one.
pub fn outcome(status: Option<&str>, code: Option<i64>) -> Outcome {
    match (status, code.map(Outcome::from_http)) {
        (Some("success"), _) => Outcome::Ok,
        (Some("failure"), Some(stated)) if !matches!(stated, Outcome::Ok | Outcome::Unknown) => stated,
        (Some("failure"), _) => Outcome::Error,
        _ => Outcome::Unknown,
    }
}

/// A word that is stated: `LiteLLM` writes "None" and "" for what it does not know.
pub fn known(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !matches!(*text, "" | "-" | "None" | "null"))
}

/// Who asked, how much of the prompt was cached, and what went wrong; the texts of errors may quote prompts.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Metadata<'a> {
    #[serde(borrow)]
    pub user_api_key_alias: Raw<'a>,
    #[serde(borrow)]
    pub user_api_key_team_alias: Raw<'a>,
    #[serde(borrow)]
    pub status: Raw<'a>,
    #[serde(borrow)]
    pub error_information: Option<ErrorInformation<'a>>,
    #[serde(borrow)]
    pub usage_object: Option<Usage<'a>>,
}

/// The error as a class and a code.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct ErrorInformation<'a> {
    #[serde(borrow)]
    pub error_code: Raw<'a>,
    #[serde(borrow)]
    pub error_class: Raw<'a>,
}

/// Token counts as the provider gave them.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Usage<'a> {
    #[serde(borrow)]
    pub prompt_tokens_details: Option<Details<'a>>,
}

/// The cached part of a prompt.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Details<'a> {
    #[serde(borrow)]
    pub cached_tokens: Raw<'a>,
}

impl<'a> Metadata<'a> {
    /// The alias of the key, else of the team.
    pub fn caller(&self) -> Option<&'a str> {
        known(self.user_api_key_alias.text()).or(known(self.user_api_key_team_alias.text()))
    }

    /// Prompt tokens served from the provider's cache.
    pub fn cached(&self) -> Option<i64> {
        self.usage_object.as_ref()?.prompt_tokens_details.as_ref()?.cached_tokens.int()
    }
}
