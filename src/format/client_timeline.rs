//! Client timeline: one JSON object a line for each attempt of a request, with every instant the client saw.
//!
//! This is Probity's own format: any client can write it. Times are integers, nanoseconds since the Unix epoch,
//! all from one clock; null or an absent key means that it never happened or is not known. Other keys are ignored.
//!
//! | key | meaning |
//! |---|---|
//! | `request_id` | what the client sent as X-Request-Id; the same for all attempts (this or `trace_id` is needed) |
//! | `attempt` | 0 for the first try, 1 for the first retry, … |
//! | `trace_id`, `span_id` | ids the client sent as `traceparent`: 32 and 16 lower-case hex digits |
//! | `caller`, `model` | who asked (tenant, application, key alias) and for which model |
//! | `sample_id` | identity of the prompt across runs, such as the beginning of its SHA-256; never the prompt |
//! | `input_class` | class the plan gave the request: `short`, `long`, … |
//! | `scheduled_ns` | when it was due (open loop), or when the user asked |
//! | `send_ns` | write of the request begun (this or `scheduled_ns` is needed) |
//! | `headers_ns` | response headers received: not the first token |
//! | `first_chunk_ns` | first chunk of a streamed body; its presence says that the response was streamed |
//! | `first_token_ns`, `last_token_ns` | first and last chunk with text in it |
//! | `end_ns` | end of the response, or when the attempt failed |
//! | `input_tokens`, `output_tokens` | as the service counted them |
//! | `status` | HTTP status; null when none came |
//! | `error` | error text; null when all went well. 200 characters are kept |
//! | `server_timings` | llama.cpp's `timings` object: `cache_n`, `prompt_n`, `prompt_ms`, `predicted_n`, `predicted_ms` |

use super::decimal::MS;
use super::json::{self, Raw, Text, word};
use super::llama_timings::Timings;
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, RequestKey, Rows};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The client timeline format.
pub struct ClientTimeline;

impl Format for ClientTimeline {
    fn id(&self) -> &'static str {
        "client_timeline"
    }

    fn title(&self) -> &'static str {
        "Client timeline (JSON lines)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["client_wait", "ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let seen = head.lines().take(20).any(|line| json::record::<Keys>(line).is_ok());
        Match::when(seen, "request_id, send_ns, first_token_ns, end_ns")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| read(line, rows, hop, &clock)))
    }
}

/// Keys that decide: all must be there, whatever their values.
#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence is what counts")]
struct Keys {
    request_id: IgnoredAny,
    send_ns: IgnoredAny,
    first_token_ns: IgnoredAny,
    end_ns: IgnoredAny,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    request_id: Text<'a>,
    attempt: Option<i64>,
    #[serde(borrow)]
    trace_id: Text<'a>,
    #[serde(borrow)]
    span_id: Text<'a>,
    #[serde(borrow)]
    caller: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    sample_id: Text<'a>,
    #[serde(borrow)]
    input_class: Text<'a>,
    scheduled_ns: Option<i64>,
    send_ns: Option<i64>,
    headers_ns: Option<i64>,
    first_chunk_ns: Option<i64>,
    first_token_ns: Option<i64>,
    last_token_ns: Option<i64>,
    end_ns: Option<i64>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    status: Option<i64>,
    #[serde(borrow)]
    error: Text<'a>,
    #[serde(borrow)]
    server_timings: Option<Timings<'a>>,
}

fn read(line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let r: Record = match json::record(line.text) {
        Ok(record) => record,
        Err((code, detail)) => return line.refuse(rows, code, &detail),
    };
    let (request_id, trace_id) = (word(&r.request_id), word(&r.trace_id));
    if request_id.or(trace_id).is_none() {
        return line.refuse(rows, Code::RecordShape, "neither request_id nor trace_id");
    }
    if r.send_ns.or(r.scheduled_ns).is_none() {
        return line.refuse(rows, Code::RecordShape, "neither send_ns nor scheduled_ns");
    }
    let error = word(&r.error).map(|text| &text[..text.floor_char_boundary(200)]);
    let echo_id = r.server_timings.as_ref().and_then(Timings::echo_id);
    let count = |n: Option<i64>| n.filter(|n| *n >= 0);
    let request = Request {
        request_id,
        trace_id,
        span_id: word(&r.span_id),
        echo_id: echo_id.as_deref(),
        attempt: r.attempt,
        caller: word(&r.caller),
        model: word(&r.model),
        class: word(&r.input_class),
        sample_id: word(&r.sample_id),
        input_tokens: count(r.input_tokens),
        output_tokens: count(r.output_tokens),
        cached_tokens: r.server_timings.as_ref().and_then(|t| count(t.cache_n)),
        status: r.status,
        outcome: outcome(r.status, error),
        error,
        streamed: r.first_chunk_ns.map(|_| true),
        ..Request::default()
    };
    let key = rows.request(hop, line.place, &request);
    marks(&line, rows, key, &r, clock);
    if r.status == Some(200) && r.first_chunk_ns.is_some() && r.first_token_ns.is_none() {
        rows.finding(Code::NoFirstToken, line.place, "status 200, first_chunk_ns without first_token_ns");
    }
    if let Some(timings) = &r.server_timings {
        let wait = r.first_token_ns.zip(r.send_ns).and_then(|(token, send)| token.checked_sub(send));
        measure(&line, rows, key, "llama.prefill", ("prompt_ms", timings.prompt_ms), wait);
        measure(&line, rows, key, "llama.decode", ("predicted_ms", timings.predicted_ms), None);
    }
}

/// A 2xx answer with an error text broke off: an error. Without a status only the text can tell.
fn outcome(status: Option<i64>, error: Option<&str>) -> Outcome {
    match (status.map(Outcome::from_http), error) {
        (None | Some(Outcome::Ok), Some(_)) => Outcome::Error,
        (stated, _) => stated.unwrap_or_default(),
    }
}

/// The instants in the order they must have; one that lies before an earlier one is left out.
fn marks(line: &Line, rows: &mut Rows, key: RequestKey, r: &Record, clock: &str) {
    match (r.scheduled_ns, r.send_ns) {
        (Some(due), Some(send)) if send < due => {
            let detail = format!("send_ns {send} < scheduled_ns {due}; scheduled_ns left out");
            rows.finding(Code::ValueImpossible, line.place, &detail);
        }
        (Some(due), _) => rows.mark(key, "scheduled", due, clock, 1),
        (None, _) => {}
    }
    let mut before: Option<(&str, i64)> = None;
    for (name, at) in [
        ("send", r.send_ns),
        ("headers", r.headers_ns),
        ("first_chunk", r.first_chunk_ns),
        ("first_token", r.first_token_ns),
        ("last_token", r.last_token_ns),
        ("end", r.end_ns),
    ] {
        let Some(at) = at else { continue };
        if let Some((earlier, t)) = before.filter(|(_, t)| at < *t) {
            let detail = format!("{name}_ns {at} < {earlier}_ns {t}; {name}_ns left out");
            rows.finding(Code::ValueImpossible, line.place, &detail);
            continue;
        }
        rows.mark(key, name, at, clock, 1);
        before = Some((name, at));
    }
}

/// A duration the server stated, in ms; left out when negative or longer than the wait it is part of.
fn measure(
    line: &Line,
    rows: &mut Rows,
    key: RequestKey,
    definition: &'static str,
    (name, raw): (&str, Raw),
    within: Option<i64>,
) {
    let Some(ns) = raw.ns(MS) else { return };
    if ns < 0 {
        let detail = format!("{name} {ns} ns < 0; left out");
        rows.finding(Code::ValueImpossible, line.place, &detail);
    } else if let Some(wait) = within.filter(|wait| ns > *wait) {
        let detail = format!("{name} {ns} ns > first_token_ns - send_ns {wait} ns; {name} left out");
        rows.finding(Code::ValueImpossible, line.place, &detail);
    } else {
        rows.measure(key, definition, ns, "ms", raw.step_ns(MS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const LLAMA: &str = include_str!("../../samples/client_timeline/llama_timings.jsonl");
    const RETRIES: &str = include_str!("../../samples/client_timeline/retries.jsonl");
    const LIMITED: &str = include_str!("../../samples/client_timeline/rate_limited.jsonl");
    const MARKS: &[&str] = &["line", "name", "t_ns", "clock", "resolution_ns"];

    /// What is read from one line with these keys in it.
    fn line(keys: &str) -> crate::format::testing::Read {
        read(&ClientTimeline, &format!("{{\"request_id\":\"r\",{keys}}}\n"))
    }

    #[test]
    fn a_line_is_read_exactly_and_its_echo_is_that_of_the_server_log() {
        let read = read(&ClientTimeline, LLAMA);
        assert_eq!(read.counts(), (5, 0));
        let columns =
            ["request_id", "attempt", "trace_id", "span_id", "caller", "model", "class", "sample_id"];
        assert_eq!(
            read.rows(Table::Request, &columns)[2],
            "b0a-bat-0049|0|56011fab25acc62fe6701977928f8232|45ce8cd389bd0488|batch-reports|tiny-llama-b|medium|\
             a523352645f83d2c"
        );
        let columns =
            ["echo_id", "input_tokens", "output_tokens", "cached_tokens", "status", "outcome", "error"];
        assert_eq!(read.rows(Table::Request, &columns)[2], "341/498.34/12/133.79|341|12|0|200|ok|~");
        let columns = ["line", "definition", "duration_ns", "unit", "resolution_ns"];
        let measures = read.rows(Table::Measure, &columns);
        assert_eq!(measures[4..6], ["3|llama.prefill|498339000|ms|1000", "3|llama.decode|133787000|ms|1000"]);
        let marks: Vec<_> =
            read.rows(Table::Mark, MARKS).into_iter().filter(|m| m.starts_with("3|")).collect();
        assert_eq!(
            marks,
            [
                "3|scheduled|1796077015356804864|epoch:0123456789ab|1",
                "3|send|1796077015363258354|epoch:0123456789ab|1",
                "3|headers|1796077015583247777|epoch:0123456789ab|1",
                "3|first_chunk|1796077016004406950|epoch:0123456789ab|1",
                "3|end|1796077016004577037|epoch:0123456789ab|1",
            ]
        );
        assert_eq!(read.findings(), ["3 no-first-token status 200, first_chunk_ns without first_token_ns"]);
    }

    #[test]
    fn failed_attempts_keep_their_words_and_never_have_a_first_token() {
        let columns = ["attempt", "status", "outcome", "streamed"];
        let retries = read(&ClientTimeline, RETRIES);
        assert_eq!(retries.rows(Table::Request, &columns)[4], "4|502|error|~");
        assert!(retries.rows(Table::Request, &["error"])[0].contains("<title>502 Bad Gateway</title>"));
        assert!(!retries.rows(Table::Mark, &["name"]).contains(&"first_token".to_owned()));
        let limited = read(&ClientTimeline, LIMITED);
        let columns = ["request_id", "status", "outcome", "streamed"];
        assert!(limited.rows(Table::Request, &columns).contains(&"s8t-web-0003|429|rejected|~".to_owned()));
        let broken = line(r#""send_ns":1,"status":200,"error":"connection reset""#);
        assert_eq!(broken.rows(Table::Request, &["outcome", "error"]), ["error|connection reset"]);
        let unanswered = line(r#""send_ns":1,"status":null,"error":"ConnectionRefusedError""#);
        assert_eq!(unanswered.rows(Table::Request, &["status", "outcome"]), ["~|error"]);
        let long = line(&format!(r#""send_ns":1,"error":"{}é""#, "x".repeat(199)));
        assert_eq!(long.rows(Table::Request, &["error"]), ["x".repeat(199)]);
    }

    #[test]
    fn impossible_orders_are_reported_and_the_later_entry_is_left_out() {
        let read = line(r#""scheduled_ns":10,"send_ns":9,"headers_ns":9,"first_token_ns":5,"end_ns":12"#);
        assert_eq!(read.rows(Table::Mark, &["name", "t_ns"]), ["send|9", "headers|9", "end|12"]);
        assert_eq!(
            read.findings(),
            [
                "1 value-impossible send_ns 9 < scheduled_ns 10; scheduled_ns left out",
                "1 value-impossible first_token_ns 5 < headers_ns 9; first_token_ns left out",
            ]
        );
        let timings = r#""server_timings":{"prompt_ms":2.5,"predicted_ms":-1}"#;
        let read = line(&format!(r#""send_ns":0,"first_token_ns":2000000,"input_tokens":-1,{timings}"#));
        assert_eq!(read.rows(Table::Measure, &["definition"]), Vec::<String>::new());
        assert_eq!(read.rows(Table::Request, &["input_tokens", "echo_id"]), ["~|~"]);
        assert_eq!(
            read.findings(),
            [
                "1 value-impossible prompt_ms 2500000 ns > first_token_ns - send_ns 2000000 ns; prompt_ms left out",
                "1 value-impossible predicted_ms -1000000 ns < 0; left out",
            ]
        );
    }

    #[test]
    fn the_echo_rounds_as_the_server_prints() {
        let echo = |prompt_ms: &str| {
            let timings =
                format!(r#"{{"prompt_n":1,"prompt_ms":{prompt_ms},"predicted_n":2,"predicted_ms":3}}"#);
            line(&format!(r#""send_ns":1,"server_timings":{timings}"#)).rows(Table::Request, &["echo_id"])
        };
        // 0.125 is a double and a tie: to even. 1.005 is a double just below the tie.
        assert_eq!(echo("0.125"), ["1/0.12/2/3.00"]);
        assert_eq!(echo("0.375"), ["1/0.38/2/3.00"]);
        assert_eq!(echo("1.005"), ["1/1.00/2/3.00"]);
        assert_eq!(echo("1e300"), ["~"]);
        assert_eq!(echo("null"), ["~"]);
    }

    #[test]
    fn bad_lines_are_refused_each_with_its_reason_and_the_rest_is_read() {
        let good = r#"{"trace_id":"t","scheduled_ns":1,"max_tokens":5}"#;
        let text = [
            r#"{"request_id":"r"}"#,
            r#"{"send_ns":1}"#,
            r#"{"request_id":"r","send_ns":1.5}"#,
            r#"{"request_id":"r","send_ns":99999999999999999999}"#,
            r#"{"request_id":"r","send_ns":1,"send_ns":2}"#,
            r#"{"request_id":"r","send_ns":NaN}"#,
            "[1,2]",
            good,
            r#"{"request_id":"r","send"#,
        ];
        let read = read(&ClientTimeline, &text.join("\n"));
        assert_eq!(read.counts(), (1, 8));
        let codes: Vec<_> = read.rows(Table::Finding, &["line", "code"]);
        assert_eq!(
            codes,
            [
                "1|record-shape",
                "2|record-shape",
                "3|record-shape",
                "4|record-shape",
                "5|duplicate-key",
                "6|record-not-json",
                "7|record-shape",
                "9|truncated",
            ]
        );
    }

    #[test]
    fn recognised_by_its_keys_even_after_a_bad_line() {
        for sample in [LLAMA, RETRIES, LIMITED] {
            assert!(recognises(&ClientTimeline, sample));
            assert!(recognises(&ClientTimeline, &format!("garbage\n{sample}")));
        }
        for other in ["", "garbage", "{}", r#"{"request_id":"r","send_ns":1,"end_ns":2}"#] {
            assert!(!recognises(&ClientTimeline, other), "{other}");
        }
    }
}
