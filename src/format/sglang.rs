//! What `SGLang`'s sources share: the figures of a finished request (`meta_info`), under the names of every release.
//!
//! Instants are epoch seconds as doubles. The scheduler's two (`forward_entry_time`, `prefill_finished_time`) were
//! written on a clock of their own by older releases: what does not lie inside the request is left out. 0.0 is an
//! instant that never came. `response_sent_to_client_ts` is the end, not the first token, of an answer that is not
//! streamed: it is not used.

use super::decimal::S;
use super::json::Raw;
use super::load_tool::duration;
use crate::finding::{Code, Place};
use crate::row::{Hop, Outcome, Request, RequestKey, Rows};
use std::collections::BTreeMap;

/// Names of one figure, the newest first. Releases before 0.5.6 say `…_ts` of the scheduler's instants.
const RECEIVED: &[&str] = &["request_received_ts", "request_received_time"];
const FORWARD: &[&str] = &["forward_entry_time", "request_scheduled_ts"];
const PREFILLED: &[&str] = &["prefill_finished_time", "prefill_finished_ts"];
const FINISHED: &[&str] = &["request_finished_ts", "request_finished_time"];
const QUEUE: &[&str] = &["queue_time"];
const FIRST_TOKEN: &[&str] = &["first_token_latency"];
const INFERENCE: &[&str] = &["inference_time"];
const E2E: &[&str] = &["e2e_latency"];

/// Every name above: whether a record holds any tells whether it is one of these.
const NAMES: [&[&str]; 8] = [RECEIVED, FORWARD, PREFILLED, FINISHED, QUEUE, FIRST_TOKEN, INFERENCE, E2E];

/// Figures of a finished request by their names, as written.
#[derive(Default)]
pub struct Meta<'a>(pub BTreeMap<&'a str, &'a str>);

/// What is known of a request besides its `meta_info`.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// `SGLang`'s id of the request, which is also the answer's id.
    pub rid: Option<&'a str>,
    /// Whether the answer was streamed.
    pub streamed: Option<bool>,
    /// Why it ended, as found.
    pub finish: Option<&'a str>,
    /// Whether it was aborted.
    pub aborted: bool,
}

impl<'a> Meta<'a> {
    /// From the fields of a JSON object; texts and nested values are passed over, but for figures written as text.
    pub fn of(fields: &BTreeMap<String, Raw<'a>>) -> Meta<'a> {
        let wanted = |name: &str| {
            let counts = ["prompt_tokens", "completion_tokens", "cached_tokens"];
            NAMES.iter().copied().flatten().chain(&counts).find(|known| **known == name).copied()
        };
        Meta(fields.iter().filter_map(|(name, raw)| Some((wanted(name)?, raw.text()?))).collect())
    }

    /// Whether any figure is there.
    pub fn is_known(&self) -> bool {
        NAMES.iter().copied().flatten().any(|name| self.0.contains_key(name))
    }

    /// Whether the queue's or the inference's duration is among the figures.
    pub fn states(&self, definition: &str) -> bool {
        let names = if definition == "sglang.queue" { QUEUE } else { INFERENCE };
        self.find(names).is_some()
    }

    fn find(&self, names: &[&str]) -> Option<(&'a str, i64)> {
        let text = *names.iter().find_map(|name| self.0.get(name))?;
        Some((text, super::decimal::to_ns(text, S)?))
    }

    fn count(&self, name: &str) -> Option<i64> {
        self.0.get(name)?.parse().ok().filter(|n| *n >= 0)
    }

    /// An instant; 0.0 says that it never came.
    fn instant(&self, names: &[&str]) -> Option<i64> {
        self.find(names).map(|(_, ns)| ns).filter(|ns| *ns != 0)
    }

    /// Adds the request with all that its figures tell.
    pub fn add(&self, rows: &mut Rows, hop: Hop, place: Place, clock: &str, known: Known) -> RequestKey {
        let request = Request {
            request_id: known.rid,
            response_id: known.rid,
            input_tokens: self.count("prompt_tokens"),
            output_tokens: self.count("completion_tokens"),
            cached_tokens: self.count("cached_tokens"),
            outcome: if known.aborted { Outcome::Cancelled } else { Outcome::Ok },
            error: known.finish,
            streamed: known.streamed,
            ..Request::default()
        };
        let key = rows.request(hop, place, &request);
        let (start, end) = (self.instant(RECEIVED), self.instant(FINISHED));
        let end = end.filter(|end| match start {
            Some(start) if *end < start => {
                let detail =
                    format!("request_finished {end} < request_received {start}: request_finished left out");
                rows.finding(Code::ValueImpossible, place, &detail);
                false
            }
            _ => true,
        });
        let mut last = start;
        let mut marks = vec![("start", start)];
        for (mark, names) in [("launch", FORWARD), ("first_token", PREFILLED)] {
            let Some(t_ns) = self.instant(names) else { continue };
            let early = last.filter(|last| t_ns < *last);
            let late = end.filter(|end| t_ns > *end);
            if let Some(other) = early.or(late) {
                let sign = if t_ns < other { '<' } else { '>' };
                let detail = format!("{} {t_ns} {sign} {other}, outside the request: left out", names[0]);
                rows.finding(Code::ValueImpossible, place, &detail);
            } else {
                marks.push((mark, Some(t_ns)));
                last = Some(t_ns);
            }
        }
        let at = |name| marks.iter().find(|(mark, _)| *mark == name).and_then(|(_, t_ns)| *t_ns);
        let (launch, first_token) = (at("launch"), at("first_token"));
        let between = |from: Option<i64>| first_token.zip(from).and_then(|(to, from)| to.checked_sub(from));
        let (prefill, produced) = (between(launch), between(start));
        marks.push(("end", end));
        for (name, t_ns) in marks {
            if let Some(t_ns) = t_ns {
                rows.mark(key, name, t_ns, clock, 1);
            }
        }
        let mut ttft = false;
        let e2e = self.find(E2E).and_then(|(_, ns)| duration(rows, place, "e2e_latency", Some(ns)));
        let measures =
            [("sglang.ttft", FIRST_TOKEN), ("sglang.queue", QUEUE), ("sglang.inference", INFERENCE)];
        for (definition, names) in measures {
            let Some((text, ns)) = self.find(names) else { continue };
            let Some(ns) = duration(rows, place, names[0], Some(ns)) else { continue };
            // The time at which a request was queued may never have been set, which makes an age of the epoch of it.
            if let Some(e2e) = e2e.filter(|e2e| ns > *e2e) {
                let detail = format!("{} {ns} ns > e2e_latency {e2e} ns: {} left out", names[0], names[0]);
                rows.finding(Code::ValueImpossible, place, &detail);
            } else if known.streamed == Some(false) && definition == "sglang.ttft" {
                let detail = "first_token_latency of an answer that was not streamed: the whole answer's time, left out";
                rows.finding(Code::DefinitionUnknown, place, detail);
            } else {
                ttft |= definition == "sglang.ttft";
                rows.measure(key, definition, ns, "s", super::decimal::step_ns(text, S));
            }
        }
        if let Some(e2e) = e2e {
            rows.measure(key, "sglang.e2e", e2e, "s", 1);
        }
        // Differences of two stated instants of one clock are stated, too.
        if let Some(prefill) = prefill {
            rows.measure(key, "sglang.prefill", prefill, "s", 1);
        }
        if let Some(produced) = produced.filter(|_| !ttft) {
            rows.measure(key, "sglang-scheduler.ttft", produced, "s", 1);
        }
        key
    }
}

/// The figures in Python's way of writing a `meta_info`, up to its closing brace.
pub fn python(text: &str) -> Meta<'_> {
    let figures = text.split(", ").filter_map(|pair| {
        let (name, value) = pair.trim_start_matches('{').split_once("': ")?;
        let name = name.trim_start().strip_prefix('\'')?;
        let value = value.trim_end_matches(['}', ')']);
        value.starts_with(|c: char| c.is_ascii_digit() || c == '-').then_some((name, value))
    });
    Meta(figures.collect())
}
