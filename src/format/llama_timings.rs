//! Response bodies of llama.cpp's server, which hold `timings`: `/completion`, `/v1/chat/completions` and their streams.
//!
//! `prompt_n` counts only the tokens that were not cached, and `prompt_per_second` is a rate over those alone. Neither the
//! queue, nor the wait for a slot, nor the way to the client is in these figures: a TTFT cannot be made of them.

use super::decimal::MS;
use super::json::{self, Raw, Text, word};
use super::load_tool::{duration, error_text};
use super::{Context, Format, Match, Reader, bodies};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, Rows};
use serde::Deserialize;

/// The format; see the module.
pub struct LlamaTimings;

impl Format for LlamaTimings {
    fn id(&self) -> &'static str {
        "llama_timings"
    }

    fn title(&self) -> &'static str {
        "llama.cpp response with timings"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["prefill"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["\"timings\"", "\"prompt_ms\"", "\"predicted_ms\""];
        Match::when(
            bodies::begins(head) && keys.iter().all(|key| head.contains(key)),
            "timings.prompt_ms, predicted_ms",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let hop = cx.hop;
        bodies::reader(move |text: &str, place: Place, rows: &mut Rows| match json::record::<Body>(text) {
            Ok(body) => body.read(place, rows, hop),
            Err((code, detail)) => rows.refuse(code, place, &detail),
        })
    }
}

/// What llama.cpp's server says of a request in its answer, or in the last chunk of it.
#[derive(Deserialize)]
pub(super) struct Timings<'a> {
    /// Prompt tokens that came from the cache.
    pub cache_n: Option<i64>,
    /// Prompt tokens that did not.
    pub prompt_n: Option<i64>,
    /// Time spent on those.
    #[serde(borrow, default)]
    pub prompt_ms: Raw<'a>,
    /// Generated tokens.
    pub predicted_n: Option<i64>,
    /// Time spent on them.
    #[serde(borrow, default)]
    pub predicted_ms: Raw<'a>,
}

impl Timings<'_> {
    /// `<prompt_n>/<prompt_ms>/<predicted_n>/<predicted_ms>`, with the two decimals of the server's own log.
    pub fn echo_id(&self) -> Option<String> {
        let ms = |raw: &Raw| raw.ns(MS).and(raw.text()?.parse::<f64>().ok());
        let (prompt_ms, predicted_ms) = (ms(&self.prompt_ms)?, ms(&self.predicted_ms)?);
        Some(format!("{}/{prompt_ms:.2}/{}/{predicted_ms:.2}", self.prompt_n?, self.predicted_n?))
    }
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    object: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    id_slot: Option<i64>,
    /// All tokens of the prompt, as the server's own API says it.
    tokens_evaluated: Option<i64>,
    usage: Option<Usage>,
    #[serde(borrow)]
    timings: Option<Timings<'a>>,
    #[serde(borrow)]
    error: Option<Error<'a>>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<i64>,
}

#[derive(Deserialize)]
struct Error<'a> {
    #[serde(borrow, default)]
    code: Raw<'a>,
    #[serde(borrow)]
    message: Text<'a>,
}

impl Body<'_> {
    fn read(&self, place: Place, rows: &mut Rows, hop: Hop) {
        if let Some(error) = &self.error {
            let status = error.code.int();
            let outcome = status.map_or(Outcome::Error, Outcome::from_http);
            let error = word(&error.message).map(error_text);
            rows.request(hop, place, &Request { status, outcome, error, ..Request::default() });
            return;
        }
        let Some(timings) = &self.timings else {
            // Every chunk of a stream but the last has none.
            if self.object.as_deref() != Some("chat.completion.chunk") {
                rows.refuse(Code::RecordShape, place, "no `timings`");
            }
            return;
        };
        let counted = timings.cache_n.zip(timings.prompt_n).and_then(|(cached, new)| cached.checked_add(new));
        let stated = self.usage.as_ref().and_then(|usage| usage.prompt_tokens).or(self.tokens_evaluated);
        let mut input_tokens = stated.or(counted);
        if let (Some(stated), Some(counted)) = (stated, counted)
            && stated != counted
        {
            let detail = format!("cache_n + prompt_n {counted} ≠ prompt tokens {stated}: both left out");
            rows.finding(Code::ValueImpossible, place, &detail);
            input_tokens = None;
        }
        let instance = self.id_slot.filter(|slot| *slot >= 0).map(|slot| format!("slot {slot}"));
        let echo_id = timings.echo_id();
        let request = Request {
            response_id: word(&self.id),
            echo_id: echo_id.as_deref(),
            model: word(&self.model),
            instance: instance.as_deref(),
            input_tokens,
            cached_tokens: timings.cache_n.filter(|_| input_tokens.is_some()),
            output_tokens: timings.predicted_n,
            outcome: Outcome::Ok,
            ..Request::default()
        };
        let key = rows.request(hop, place, &request);
        let measures = [
            ("llama.prefill", "prompt_ms", timings.prompt_ms),
            ("llama.decode", "predicted_ms", timings.predicted_ms),
        ];
        for (definition, name, raw) in measures {
            if let Some(ns) = duration(rows, place, name, raw.ns(MS)) {
                rows.measure(key, definition, ns, "ms", raw.step_ns(MS));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const WARM: &str = include_str!("../../samples/llama_timings/response.json");
    const BODIES: &str = include_str!("../../samples/llama_timings/bodies.jsonl");
    const REQUEST: [&str; 6] =
        ["line", "response_id", "echo_id", "input_tokens", "cached_tokens", "output_tokens"];

    #[test]
    fn a_prefix_hit_counts_all_of_the_prompt_and_times_only_the_rest() {
        let read = read(&LlamaTimings, WARM);
        assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
        assert_eq!(read.rows(Table::Request, &REQUEST), ["1|chatcmpl-1|8/43.24/25/238.74|68|60|25"]);
        assert_eq!(
            read.rows(Table::Measure, &["definition", "duration_ns", "unit", "resolution_ns"]),
            ["llama.prefill|43237000|ms|1000", "llama.decode|238740000|ms|10000"]
        );
        assert_eq!(read.rows(Table::Mark, &["name"]), [""; 0]);
    }

    #[test]
    fn bodies_of_both_apis_and_streams_are_read_and_errors_have_no_times() {
        let read = read(&LlamaTimings, BODIES);
        assert_eq!((read.counts(), read.findings()), ((3, 0), vec![]));
        assert_eq!(
            read.rows(Table::Request, &REQUEST),
            ["1|~|49/89.65/12/1530.43|49|0|12", "3|chatcmpl-a|5/10.00/2/40.00|5|0|2", "4|~|~|~|~|~"]
        );
        let columns = ["instance", "outcome", "status", "error"];
        assert_eq!(
            read.rows(Table::Request, &columns),
            ["slot 6|ok|~|~", "~|ok|~|~", "~|error|503|Loading model"]
        );
    }

    #[test]
    fn contradictions_are_left_out_with_their_arithmetic() {
        let read = |text: String| read(&LlamaTimings, &text);
        let counts = read(WARM.replace("\"prompt_tokens\": 68", "\"prompt_tokens\": 8"));
        assert_eq!(
            counts.findings(),
            ["1 value-impossible cache_n + prompt_n 68 ≠ prompt tokens 8: both left out"]
        );
        assert_eq!(counts.rows(Table::Request, &["input_tokens", "cached_tokens"]), ["~|~"]);
        let negative = read(WARM.replace("43.237", "-1"));
        assert_eq!(negative.findings(), ["1 value-impossible prompt_ms -1000000 ns < 0: left out"]);
        let other = read(r#"{"object":"chat.completion"}"#.to_owned());
        assert_eq!(other.findings(), ["1 record-shape no `timings`"]);
    }

    #[test]
    fn bodies_are_recognised_and_others_are_not() {
        assert!(recognises(&LlamaTimings, WARM) && recognises(&LlamaTimings, BODIES));
        for text in
            ["", "garbage", r#"{"server_timings":{"prompt_ms":1,"predicted_ms":2}}"#, r#"{"timings":{}}"#]
        {
            assert!(!recognises(&LlamaTimings, text), "{text}");
        }
    }
}
