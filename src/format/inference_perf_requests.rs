//! `inference-perf` per-request report (`per_request_lifecycle_metrics.json`): one array with an object a request.
//!
//! Times are seconds of a monotonic clock. A request is timed from its dispatch (`start_time`), retries included;
//! before that it waits in the load generator since `scheduled_time`. Prompts and answers stand in the file and are
//! never read. Which fields are written is the user's choice: without `info` there is no first token in it.

use super::json::{Raw, Text, word};
use super::load_tool::{Marks, cut, duration};
use super::{Context, Format, Match, Reader, decimal, elements, json};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Outcome, Request, Rows};
use serde::{Deserialize, Deserializer as _};
use serde_json::value::RawValue;

/// The per-request report of inference-perf.
pub struct InferencePerfRequests;

/// The step of `perf_counter` as a double: a nanosecond.
const RESOLUTION_NS: i64 = 1;

/// A worker sleeps until a request is due and may wake a little early: no contradiction.
const EARLY_NS: i64 = 10_000_000;

/// Times that a tool computes from doubles twice may differ in the last digits.
const SLACK_NS: u64 = 1_000;

impl Format for InferencePerfRequests {
    fn id(&self) -> &'static str {
        "inference_perf_requests"
    }

    fn title(&self) -> &'static str {
        "inference-perf per-request report"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["client_wait", "ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        // Times come before the prompt, which can be longer than the head.
        let text = String::from_utf8_lossy(&head.bytes);
        let object =
            text.trim_start().strip_prefix('[').map(str::trim_start).and_then(|t| t.strip_prefix('{'));
        let first = object.and_then(|fields| fields.trim_start().strip_prefix('"')?.split('"').next());
        let ours = matches!(first, Some("start_time" | "scheduled_time" | "stage_id" | "session_id"));
        let times = ["\"start_time\"", "\"end_time\""].iter().all(|key| text.contains(key));
        let rest =
            ["\"request\"", "\"request_data\"", "\"info\"", "\"error\""].iter().any(|key| text.contains(key));
        Match::when(ours && times && rest, "an array of start_time, end_time, and request, info or error")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.monotonic());
        Reader::Document(Box::new(move |bytes, rows| {
            let Some((text, _)) = line_text(bytes) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            let mut item = 0;
            let each = elements::Elements::new(|part: &RawValue| {
                let place = Place::item(1, item);
                item += 1;
                match json::record::<Entry>(part.get()) {
                    Ok(entry) => request(&entry, place, hop, &clock, rows),
                    Err((code, detail)) => rows.refuse(code, place, &detail),
                }
            });
            let read = serde_json::Deserializer::from_str(&text).deserialize_seq(each);
            if let Err(error) = read {
                let code = if error.is_eof() { Code::Truncated } else { json::complaint(&error).0 };
                rows.refuse(code, Place::item(1, item), &error.to_string());
            }
        }))
    }
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, default)]
    stage_id: Raw<'a>,
    #[serde(borrow, default)]
    scheduled_time: Raw<'a>,
    #[serde(borrow)]
    start_time: Raw<'a>,
    #[serde(borrow)]
    end_time: Raw<'a>,
    #[serde(borrow)]
    info: Option<Info<'a>>,
    #[serde(borrow)]
    computed_metrics: Option<Computed<'a>>,
    #[serde(borrow)]
    error: Option<Failure<'a>>,
}

#[derive(Deserialize)]
struct Info<'a> {
    #[serde(borrow, default)]
    input_tokens: Raw<'a>,
    /// Before the tool told kinds of input apart.
    #[serde(borrow, default)]
    output_tokens: Raw<'a>,
    #[serde(borrow, default)]
    output_token_times: Option<Vec<Raw<'a>>>,
    #[serde(borrow)]
    response_metrics: Option<Response<'a>>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    output_tokens: Raw<'a>,
    #[serde(borrow)]
    server_usage: Option<Usage<'a>>,
    #[serde(borrow)]
    chunk_times: Option<Vec<Raw<'a>>>,
    #[serde(borrow)]
    output_token_times: Option<Vec<Raw<'a>>>,
}

#[derive(Deserialize)]
struct Usage<'a> {
    #[serde(borrow)]
    prompt_tokens_details: Option<Details<'a>>,
}

#[derive(Deserialize)]
struct Details<'a> {
    #[serde(borrow, default)]
    cached_tokens: Raw<'a>,
}

#[derive(Deserialize)]
struct Computed<'a> {
    #[serde(borrow, default)]
    time_to_first_token: Raw<'a>,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(borrow)]
    error_type: Text<'a>,
}

fn request(entry: &Entry, place: Place, hop: Hop, clock: &str, rows: &mut Rows) {
    let [scheduled, send, end] =
        [entry.scheduled_time, entry.start_time, entry.end_time].map(|time| time.ns(decimal::S));
    if send.is_none() {
        return rows.refuse(Code::RecordShape, place, "start_time is not a number");
    }
    let info = entry.info.as_ref();
    let response = info.and_then(|info| info.response_metrics.as_ref());
    let tokens = response
        .and_then(|r| r.output_token_times.as_deref())
        .or_else(|| info.and_then(|info| info.output_token_times.as_deref()));
    let ends = |times: Option<&[Raw]>| {
        let ns = |time: Option<&Raw>| time.and_then(|time| time.ns(decimal::S));
        (ns(times.and_then(<[Raw]>::first)), ns(times.and_then(<[Raw]>::last)))
    };
    let (first_token, last_token) = ends(tokens);
    // The kind of failure is kept, its message is not: servers put the request into it.
    let error = entry.error.as_ref().map(|e| word(&e.error_type).unwrap_or("error"));
    let status = error.and_then(|e| e.strip_prefix("HTTP Error ")?.parse().ok());
    let outcome = match (error, status) {
        (None, _) => Outcome::Ok,
        (Some(_), Some(status)) => Outcome::from_http(status),
        (Some(kind), None) if kind.contains("Cancelled") => Outcome::Cancelled,
        (Some(_), None) => Outcome::Error,
    };
    let key = rows.request(
        hop,
        place,
        &Request {
            input_tokens: info.and_then(|info| info.input_tokens.int()),
            output_tokens: response
                .and_then(|r| r.output_tokens.int())
                .or_else(|| info.and_then(|info| info.output_tokens.int()))
                .filter(|n| *n > 0 || error.is_none()),
            cached_tokens: response
                .and_then(|r| r.server_usage.as_ref()?.prompt_tokens_details.as_ref()?.cached_tokens.int()),
            class: entry.stage_id.text().map(|stage| cut(stage, 20)),
            status,
            outcome,
            error: error.map(|kind| cut(kind, 80)),
            streamed: response.map(|r| r.output_token_times.is_some()),
            ..Request::default()
        },
    );
    let early = scheduled.zip(send).filter(|(due, send)| (1..=EARLY_NS).contains(&due.saturating_sub(*send)));
    if let Some((due, _)) = early {
        rows.mark(key, "scheduled", due, clock, RESOLUTION_NS);
    }
    let answered = |t: Option<i64>| t.filter(|_| error.is_none());
    let marks = Marks {
        scheduled: scheduled.filter(|_| early.is_none()),
        send,
        first_chunk: answered(ends(response.and_then(|r| r.chunk_times.as_deref())).0),
        first_token: answered(first_token),
        last_token: answered(last_token),
        end,
        ..Marks::default()
    };
    marks.add(rows, key, place, clock, RESOLUTION_NS);
    let stated = entry.computed_metrics.as_ref().and_then(|c| c.time_to_first_token.ns(decimal::S));
    let Some(ttft) = answered(duration(rows, place, "time_to_first_token", stated)) else { return };
    match (marks.first_token, send) {
        (Some(first), Some(send)) if first.saturating_sub(send).abs_diff(ttft) > SLACK_NS => {
            let measured = first.saturating_sub(send);
            let detail = format!(
                "time_to_first_token {ttft} ns != output_token_times[0] - start_time {measured} ns: left out"
            );
            rows.finding(Code::ValueImpossible, place, &detail);
        }
        _ => rows.measure(key, "inference-perf.ttft", ttft, "s", RESOLUTION_NS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str =
        include_str!("../../samples/inference_perf_requests/per_request_lifecycle_metrics.json");

    #[test]
    fn requests_are_timed_from_their_dispatch() {
        let read = read(&InferencePerfRequests, SAMPLE);
        assert_eq!(read.counts(), (5, 0));
        let columns =
            ["item", "input_tokens", "output_tokens", "cached_tokens", "outcome", "status", "streamed"];
        assert_eq!(
            read.rows(Table::Request, &columns),
            [
                "0|200|4|128|ok|~|true",
                "1|200|4|128|ok|~|true",
                "2|200|~|~|error|504|~",
                "3|200|3|~|ok|~|true",
                "4|200|3|~|ok|~|false",
            ]
        );
        let marks = read.rows(Table::Mark, &["item", "name", "t_ns", "clock"]);
        assert_eq!(
            marks.iter().filter(|m| m.starts_with("1|")).collect::<Vec<_>>(),
            [
                "1|send|4215125000000|monotonic:0123456789ab",
                "1|first_token|4216875000000|monotonic:0123456789ab",
                "1|end|4217064500000|monotonic:0123456789ab",
                "1|scheduled|4211625000000|monotonic:0123456789ab",
                "1|first_chunk|4216875000000|monotonic:0123456789ab",
                "1|last_token|4217062500000|monotonic:0123456789ab",
            ]
            .each_ref()
        );
        // A failed request and one that was not streamed have no first token.
        assert!(!marks.iter().any(|m| m.starts_with("2|first") || m.starts_with("4|first")), "{marks:?}");
        assert_eq!(
            read.rows(Table::Measure, &["item", "definition", "duration_ns", "unit"]),
            ["0|inference-perf.ttft|250000000|s"]
        );
    }

    #[test]
    fn a_request_sent_a_little_early_is_no_contradiction_and_a_second_early_is() {
        let sample = read(&InferencePerfRequests, SAMPLE);
        assert_eq!(sample.findings(), Vec::<String>::new());
        let marks = sample.rows(Table::Mark, &["item", "name", "t_ns"]);
        for mark in ["3|scheduled|4211875000000", "3|send|4211874023438"] {
            assert!(marks.iter().any(|m| m == mark), "{mark}");
        }
        let early = r#"[{"scheduled_time": 5, "start_time": 4, "end_time": 6, "info": null, "error": null}]"#;
        assert_eq!(
            read(&InferencePerfRequests, early).findings(),
            ["1 value-impossible scheduled_ns 5000000000 > send_ns 4000000000: scheduled left out"]
        );
    }

    #[test]
    fn prompts_and_messages_are_not_kept() {
        let read = read(&InferencePerfRequests, SAMPLE);
        assert_eq!(read.rows(Table::Request, &["error"])[2], "HTTP Error 504");
    }

    #[test]
    fn what_contradicts_itself_or_is_cut_is_reported_and_the_rest_read() {
        let text = r#"[{"start_time": 1.5, "end_time": 2, "error": null, "computed_metrics": {"time_to_first_token": 0.1},
             "info": {"response_metrics": {"output_token_times": [1.75, 1.9]}}},
            {"start_time": "x", "end_time": 2}, 7,
            {"start_time": 5, "end_time": 4, "info": null, "error": {"error_type": "CancelledError"}}, {"start_ti"#;
        let read = read(&InferencePerfRequests, text);
        assert_eq!(read.counts(), (2, 3));
        assert_eq!(
            read.rows(Table::Finding, &["item", "code"]),
            ["0|value-impossible", "1|record-shape", "2|record-shape", "3|value-impossible", "4|truncated"]
        );
        assert_eq!(read.rows(Table::Request, &["outcome"]), ["ok", "cancelled"]);
        assert_eq!(read.rows(Table::Measure, &["row"]), Vec::<String>::new());
    }

    #[test]
    fn recognised_by_its_first_fields() {
        assert!(recognises(&InferencePerfRequests, SAMPLE));
        for other in ["", "[]", "[{}]", r#"[{"ttft_s":1,"start_time":1,"end_time":2,"error":3}]"#] {
            assert!(!recognises(&InferencePerfRequests, other), "{other}");
        }
    }
}
