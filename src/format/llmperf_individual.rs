//! `LLMPerf` individual responses (`*_individual_responses.json`): one array with an object a request.
//!
//! Only durations in seconds stand in it: no times, ids or model, in the order requests ended. Answers (`GEN_TEXT`)
//! may stand in it and are never read. A request that `LLMPerf` counts as failed, for instance for a short answer
//! (-100), keeps its durations in the file; a failed request has none here, as in `LLMPerf`'s own summary.

use super::json::{Raw, Text, word};
use super::load_tool::{duration, error_text};
use super::{Context, Format, Match, Reader, decimal, elements, json};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Outcome, Request, Rows};
use serde::{Deserialize, Deserializer as _};
use serde_json::value::RawValue;

/// The individual responses of `LLMPerf`.
pub struct LlmperfIndividual;

impl Format for LlmperfIndividual {
    fn id(&self) -> &'static str {
        "llmperf_individual"
    }

    fn title(&self) -> &'static str {
        "LLMPerf individual responses"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["\"ttft_s\"", "\"end_to_end_latency_s\"", "\"error_code\""];
        let ours = head.first_byte() == Some(b'[') && keys.iter().all(|key| head.contains(key));
        Match::when(ours, "an array of ttft_s, end_to_end_latency_s, error_code")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let hop = cx.hop;
        Reader::Document(Box::new(move |bytes, rows| {
            let Some((text, _)) = line_text(bytes) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            let mut item = 0;
            let each = elements::Elements::new(|part: &RawValue| {
                let place = Place::item(1, item);
                item += 1;
                match json::record::<Response>(part.get()) {
                    Ok(response) => request(&response, place, hop, rows),
                    Err((code, detail)) => rows.refuse(code, place, &detail),
                }
            });
            if let Err(error) = serde_json::Deserializer::from_str(&text).deserialize_seq(each) {
                let code = if error.is_eof() { Code::Truncated } else { json::complaint(&error).0 };
                rows.refuse(code, Place::item(1, item), &error.to_string());
            }
        }))
    }
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    error_code: Raw<'a>,
    #[serde(borrow)]
    error_msg: Text<'a>,
    #[serde(borrow)]
    ttft_s: Raw<'a>,
    #[serde(borrow)]
    end_to_end_latency_s: Raw<'a>,
    #[serde(borrow, default)]
    number_input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    number_output_tokens: Raw<'a>,
}

fn request(response: &Response, place: Place, hop: Hop, rows: &mut Rows) {
    let code = response.error_code.text();
    let ok = code.is_none();
    // HTTP statuses are positive; the tool's own codes are negative.
    let status =
        code.and_then(|code| code.split('.').next()?.parse().ok()).filter(|s| (100..600).contains(s));
    let key = rows.request(
        hop,
        place,
        &Request {
            input_tokens: response.number_input_tokens.int(),
            output_tokens: response.number_output_tokens.int().filter(|n| *n > 0 || ok),
            status,
            outcome: match status {
                _ if ok => Outcome::Ok,
                Some(status) => Outcome::from_http(status),
                None => Outcome::Error,
            },
            error: code.map(|code| word(&response.error_msg).map_or(code, error_text)),
            ..Request::default()
        },
    );
    if !ok {
        return;
    }
    let latency = duration(rows, place, "end_to_end_latency_s", response.end_to_end_latency_s.ns(decimal::S));
    let ttft = duration(rows, place, "ttft_s", response.ttft_s.ns(decimal::S));
    let mut add = |definition, ns, raw: Raw| rows.measure(key, definition, ns, "s", raw.step_ns(decimal::S));
    if let Some(latency) = latency {
        add("llmperf.latency", latency, response.end_to_end_latency_s);
    }
    match (ttft, latency) {
        // What was never filled in, because no chunk came.
        (Some(0), _) => rows.finding(Code::NoFirstToken, place, "ttft_s 0"),
        (Some(ttft), Some(latency)) if ttft > latency => {
            let detail = format!("ttft_s {ttft} ns > end_to_end_latency_s {latency} ns: ttft_s left out");
            rows.finding(Code::ValueImpossible, place, &detail);
        }
        (Some(ttft), _) => add("llmperf.ttft", ttft, response.ttft_s),
        (None, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/llmperf_individual/individual_responses.json");

    #[test]
    fn durations_of_good_requests_only() {
        let read = read(&LlmperfIndividual, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((4, 0), vec![]));
        assert_eq!(
            read.rows(
                Table::Request,
                &["item", "input_tokens", "output_tokens", "outcome", "status", "error"]
            ),
            [
                "0|550|150|ok|~|~",
                "1|550|102|error|~|Output too few tokens 102",
                "2|550|~|rejected|429|Rate limit reached",
                "3|550|150|ok|~|~",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["item", "definition", "duration_ns", "unit", "resolution_ns"]),
            [
                "0|llmperf.latency|890009040|s|1",
                "0|llmperf.ttft|297977801|s|1",
                "3|llmperf.latency|1500000000|s|100000000",
                "3|llmperf.ttft|250000000|s|10000000",
            ]
        );
        assert_eq!(read.rows(Table::Mark, &["name"]), Vec::<String>::new());
    }

    #[test]
    fn impossible_and_missing_values_are_left_out() {
        let text = r#"[{"error_code":null,"ttft_s":2,"end_to_end_latency_s":1},
            {"error_code":null,"ttft_s":0,"end_to_end_latency_s":1},
            {"error_code":null,"ttft_s":NaN"#;
        let read = read(&LlmperfIndividual, text);
        assert_eq!(
            read.rows(Table::Finding, &["item", "code"]),
            ["0|value-impossible", "1|no-first-token", "2|record-not-json"]
        );
        assert_eq!(read.rows(Table::Measure, &["definition"]), ["llmperf.latency", "llmperf.latency"]);
        assert_eq!(read.counts(), (2, 1));
    }

    #[test]
    fn recognised_by_its_keys() {
        assert!(recognises(&LlmperfIndividual, SAMPLE));
        assert!(!recognises(&LlmperfIndividual, "{\"ttft_s\": 1}") && !recognises(&LlmperfIndividual, "[]"));
    }
}
