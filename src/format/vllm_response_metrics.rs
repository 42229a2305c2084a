//! Response bodies of vLLM with `metrics` (`--enable-per-request-metrics`): whole answers, or the chunks of a stream.
//!
//! `time_to_first_token_ms` begins when the request is scheduled: the queue is not in it but in `queue_time_ms`, so it is
//! what others call prefill, and no TTFT. `metrics` is null where one generation cannot be told from others (`n` > 1).

use super::decimal::MS;
use super::json::{self, Raw, Text, word};
use super::load_tool::{duration, error_text};
use super::{Context, Format, Match, Reader, bodies};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, Rows};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The format; see the module.
pub struct VllmResponseMetrics;

impl Format for VllmResponseMetrics {
    fn id(&self) -> &'static str {
        "vllm_response_metrics"
    }

    fn title(&self) -> &'static str {
        "vLLM response with metrics"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["queue", "prefill"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["\"metrics\"", "\"time_to_first_token_ms\"", "\"queue_time_ms\"", "\"usage\"", "\"id\""];
        // A load generator's report may quote this object.
        let ours = keys.iter().all(|key| head.contains(key)) && !head.contains("\"benchmarks\"");
        Match::when(bodies::begins(head) && ours, "metrics.time_to_first_token_ms, queue_time_ms, usage")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let hop = cx.hop;
        bodies::reader(move |text: &str, place: Place, rows: &mut Rows| match body(text) {
            Ok(body) => body.read(place, rows, hop),
            Err((code, detail)) => rows.refuse(code, place, &detail),
        })
    }
}

/// A body, or the one that an event of the responses API carries.
fn body(text: &str) -> Result<Body<'_>, (Code, String)> {
    let body: Body = json::record(text)?;
    match body.response {
        Some(response) => json::record(response.get()),
        None => Ok(body),
    }
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    object: Text<'a>,
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    usage: Option<Usage>,
    #[serde(borrow)]
    metrics: Option<Metrics<'a>>,
    #[serde(borrow)]
    error: Option<Failure<'a>>,
}

/// Counts under the names of the chat API, or of the responses API.
#[derive(Deserialize)]
struct Usage {
    #[serde(alias = "input_tokens")]
    prompt_tokens: Option<i64>,
    #[serde(alias = "output_tokens")]
    completion_tokens: Option<i64>,
    #[serde(alias = "input_tokens_details")]
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<i64>,
}

#[derive(Deserialize)]
struct Metrics<'a> {
    #[serde(borrow, default, rename = "time_to_first_token_ms")]
    first_token: Raw<'a>,
    #[serde(borrow, default, rename = "generation_time_ms")]
    generation: Raw<'a>,
    #[serde(borrow, default, rename = "queue_time_ms")]
    queue: Raw<'a>,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(borrow, default)]
    code: Raw<'a>,
    #[serde(borrow)]
    message: Text<'a>,
}

impl Body<'_> {
    fn read(&self, place: Place, rows: &mut Rows, hop: Hop) {
        if let Some(failure) = &self.error {
            let status = failure.code.int();
            let outcome = status.map_or(Outcome::Error, Outcome::from_http);
            let error = word(&failure.message).map(error_text);
            rows.request(hop, place, &Request { status, outcome, error, ..Request::default() });
            return;
        }
        let chunk = self.object.as_deref().is_some_and(|object| object == "chat.completion.chunk");
        if self.usage.is_none() && self.metrics.is_none() {
            // Only the last chunk or event of a stream has either.
            if !chunk && self.r#type.is_none() {
                rows.refuse(Code::RecordShape, place, "neither `usage` nor `metrics`");
            }
            return;
        }
        let usage = self.usage.as_ref();
        let request = Request {
            response_id: word(&self.id),
            model: word(&self.model),
            input_tokens: usage.and_then(|u| u.prompt_tokens),
            output_tokens: usage.and_then(|u| u.completion_tokens),
            cached_tokens: usage.and_then(|u| u.prompt_tokens_details.as_ref()?.cached_tokens),
            outcome: Outcome::Ok,
            streamed: chunk.then_some(true),
            ..Request::default()
        };
        let key = rows.request(hop, place, &request);
        let Some(metrics) = &self.metrics else { return };
        let measures = [
            ("vllm-response.queue", "queue_time_ms", metrics.queue),
            ("vllm-response.prefill", "time_to_first_token_ms", metrics.first_token),
            ("vllm-response.decode", "generation_time_ms", metrics.generation),
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

    const BODIES: &str = include_str!("../../samples/vllm_response_metrics/bodies.jsonl");
    const STREAM: &str = include_str!("../../samples/vllm_response_metrics/stream.txt");
    const REQUEST: [&str; 6] =
        ["line", "response_id", "input_tokens", "cached_tokens", "output_tokens", "streamed"];
    const MEASURE: [&str; 4] = ["line", "definition", "duration_ns", "resolution_ns"];

    #[test]
    fn the_time_from_scheduling_is_prefill_and_never_ttft() {
        let read = read(&VllmResponseMetrics, BODIES);
        assert_eq!((read.counts(), read.findings()), ((4, 0), vec![]));
        assert_eq!(
            read.rows(Table::Request, &REQUEST),
            ["1|chatcmpl-abc|42|16|128|~", "2|chatcmpl-n2|42|~|60|~", "3|resp_1|7|0|1|~", "4|~|~|~|~|~"]
        );
        assert_eq!(
            read.rows(Table::Measure, &MEASURE),
            [
                "1|vllm-response.queue|12300000|100000",
                "1|vllm-response.prefill|85200000|100000",
                "1|vllm-response.decode|1240500000|100000",
                "3|vllm-response.queue|0|100000",
                "3|vllm-response.prefill|20000000|100000",
            ]
        );
        assert_eq!(
            read.rows(Table::Request, &["outcome", "status", "error"])[3],
            "error|500|EngineCore died"
        );
    }

    #[test]
    fn the_last_chunk_of_a_stream_has_the_figures() {
        let read = read(&VllmResponseMetrics, STREAM);
        assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
        assert_eq!(read.rows(Table::Request, &REQUEST), ["3|chatcmpl-s|5|~|2|true"]);
        assert_eq!(read.rows(Table::Measure, &MEASURE).len(), 3);
    }

    #[test]
    fn negative_and_missing_figures_are_told() {
        let text = r#"{"id":"a","usage":{},"metrics":{"queue_time_ms":-3,"time_to_first_token_ms":null}}
{"object":"list"}"#;
        let read = read(&VllmResponseMetrics, text);
        assert_eq!(read.counts(), (1, 1));
        assert_eq!(
            read.findings(),
            [
                "1 value-impossible queue_time_ms -3000000 ns < 0: left out",
                "2 record-shape neither `usage` nor `metrics`"
            ]
        );
        assert_eq!(read.rows(Table::Measure, &MEASURE), [""; 0]);
    }

    #[test]
    fn bodies_are_recognised_and_others_are_not() {
        assert!(recognises(&VllmResponseMetrics, BODIES) && recognises(&VllmResponseMetrics, STREAM));
        for text in ["", "garbage", r#"{"id":"a","metrics":null,"usage":{}}"#] {
            assert!(!recognises(&VllmResponseMetrics, text), "{text}");
        }
    }
}
