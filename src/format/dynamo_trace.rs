//! NVIDIA Dynamo's request trace: one JSON record a line, `dynamo.request.trace.v1`, bare or in the envelope of its sink.
//!
//! `request_end` is one request as the frontend saw it: received in epoch ms, then durations in ms on the frontend's
//! own clock. Every figure is optional. "Prefill" runs from the hand-over to a worker, so that worker's queue is in it.
//! Tool events become events; `request_payload` holds prompts and is never read.

use super::decimal::MS;
use super::json::{self, Raw, Text, word};
use super::load_tool::{cut, duration};
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Event, Hop, Outcome, Request, RequestKey, Rows};
use serde::Deserialize;

/// NVIDIA Dynamo's request trace.
pub struct DynamoTrace;

/// Schemas this reader was made for. The second is the name of the same record before.
const SCHEMAS: [&str; 2] = ["dynamo.request.trace.v1", "dynamo.agent.trace.v1"];

/// Received in whole milliseconds; the durations after it are finer.
const RECEIVED_STEP_NS: i64 = 1_000_000;

/// Sums of durations rounded one by one may differ by this much.
const SLACK_NS: i64 = 1_000_000;

impl Format for DynamoTrace {
    fn id(&self) -> &'static str {
        "dynamo_trace"
    }

    fn title(&self) -> &'static str {
        "NVIDIA Dynamo request trace"
    }

    fn hop(&self) -> Hop {
        Hop::Router
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let schema = head.lines().take(20).find_map(|line| {
            let record = record(line).ok()?;
            word(&record.schema).filter(|schema| of_dynamo(schema)).map(str::to_owned)
        });
        match schema {
            Some(version) => Match::Yes { version, because: "schema, event_type" },
            None => Match::No,
        }
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| read(line, rows, hop, &clock)))
    }
}

/// Whether a schema is one of Dynamo's traces, of whatever version.
fn of_dynamo(schema: &str) -> bool {
    schema.starts_with("dynamo.request.trace.") || schema.starts_with("dynamo.agent.trace.")
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow)]
    schema: Text<'a>,
    #[serde(borrow)]
    event_type: Text<'a>,
    #[serde(borrow)]
    event_time_unix_ms: Raw<'a>,
    #[serde(borrow)]
    agent_context: Option<Agent<'a>>,
    #[serde(borrow)]
    request: Option<Figures<'a>>,
    #[serde(borrow)]
    tool: Option<Tool<'a>>,
    /// The record itself, where the sink put its own time around it.
    #[serde(borrow)]
    event: Option<Box<Record<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Agent<'a> {
    #[serde(borrow, alias = "program_id")]
    session_id: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Figures<'a> {
    #[serde(borrow)]
    request_id: Text<'a>,
    #[serde(borrow)]
    x_request_id: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    input_tokens: Raw<'a>,
    #[serde(borrow)]
    output_tokens: Raw<'a>,
    #[serde(borrow)]
    cached_tokens: Raw<'a>,
    #[serde(borrow)]
    request_received_ms: Raw<'a>,
    #[serde(borrow)]
    prefill_wait_time_ms: Raw<'a>,
    #[serde(borrow)]
    prefill_time_ms: Raw<'a>,
    #[serde(borrow)]
    ttft_ms: Raw<'a>,
    #[serde(borrow)]
    total_time_ms: Raw<'a>,
    #[serde(borrow)]
    kv_transfer_estimated_latency_ms: Raw<'a>,
    #[serde(borrow)]
    queue_depth: Raw<'a>,
    #[serde(borrow)]
    worker: Option<Worker<'a>>,
    #[serde(borrow)]
    replay: Option<Replay<'a>>,
    #[serde(borrow)]
    finish_reason_metadata: Option<Finish<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Worker<'a> {
    #[serde(borrow)]
    prefill_worker_id: Raw<'a>,
    #[serde(borrow)]
    decode_worker_id: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Replay<'a> {
    #[serde(borrow)]
    input_length: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Finish<'a> {
    #[serde(borrow)]
    finish_reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tool<'a> {
    #[serde(borrow, rename = "tool_class")]
    class: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    started_at_unix_ms: Raw<'a>,
    #[serde(borrow)]
    duration_ms: Raw<'a>,
}

/// The record of a line, out of its envelope.
fn record(line: &str) -> Result<Record<'_>, (Code, String)> {
    let record: Record = json::record(line)?;
    Ok(match record.event {
        Some(inner) if record.schema.is_none() => *inner,
        _ => record,
    })
}

fn read(line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let record = match record(line.text) {
        Ok(record) => record,
        Err((code, detail)) => return line.refuse(rows, code, &detail),
    };
    let schema = word(&record.schema).unwrap_or_default();
    if !of_dynamo(schema) {
        return line.refuse(rows, Code::RecordShape, "no schema of a Dynamo trace");
    }
    if !SCHEMAS.contains(&schema) {
        let detail = format!("schema {}: read as {}", cut(schema, 60), SCHEMAS[0]);
        rows.finding(Code::VersionUnknown, line.place, &detail);
    }
    match (word(&record.event_type), &record.request, &record.tool) {
        (Some("request_end"), Some(figures), _) => request(&record, figures, line, rows, hop, clock),
        (Some("request_end"), None, _) => line.refuse(rows, Code::RecordShape, "request_end without request"),
        (Some(kind), _, Some(tool)) if kind.starts_with("tool_") => {
            let detail = [Some(kind), word(&tool.class), word(&tool.status)];
            let detail = detail.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let event = Event {
                kind: "tool",
                t_ns: tool.started_at_unix_ms.ns(MS).or_else(|| record.event_time_unix_ms.ns(MS)),
                clock,
                resolution_ns: RECEIVED_STEP_NS,
                duration_ns: duration(rows, line.place, "duration_ms", tool.duration_ms.ns(MS)),
                detail: cut(&detail, 120),
                ..Event::default()
            };
            rows.event(Hop::Client, line.place, &event);
        }
        _ => {}
    }
}

fn request(record: &Record, figures: &Figures, line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let count = |raw: Raw| raw.int().filter(|n| *n >= 0);
    let replay = figures.replay.as_ref().and_then(|replay| count(replay.input_length));
    let worker = figures.worker.as_ref().and_then(|worker| {
        // The wait for the first token is the prefill worker's; one worker may do both.
        let id = worker.prefill_worker_id.text().or(worker.decode_worker_id.text())?;
        Some(format!("worker-{}", cut(id, 40)))
    });
    let finish = figures.finish_reason_metadata.as_ref().and_then(|finish| word(&finish.finish_reason));
    let request = Request {
        request_id: word(&figures.x_request_id).or(word(&figures.request_id)),
        // What the frontend calls the request, with the prefix that its answers put before.
        response_id: word(&figures.request_id),
        caller: record.agent_context.as_ref().and_then(|agent| word(&agent.session_id)),
        model: word(&figures.model),
        instance: worker.as_deref(),
        input_tokens: count(figures.input_tokens).or(replay),
        output_tokens: count(figures.output_tokens),
        cached_tokens: count(figures.cached_tokens),
        // The record also ends a stream that was dropped: without a reason the ending is not known.
        outcome: if finish.is_some() { Outcome::Ok } else { Outcome::Unknown },
        error: finish,
        ..Request::default()
    };
    let key = rows.request(hop, line.place, &request);
    let received = figures.request_received_ms.ns(MS).filter(|t| *t > 0);
    durations(figures, received, key, line, rows, clock);
    if let (Some(t_ns), Some(depth)) = (received, count(figures.queue_depth)) {
        #[expect(clippy::cast_precision_loss, reason = "a queue is not that long")]
        rows.sample(line.place, "dynamo:queue_depth", "", t_ns, clock, depth as f64);
    }
}

fn durations(
    figures: &Figures,
    received: Option<i64>,
    key: RequestKey,
    line: Line,
    rows: &mut Rows,
    clock: &str,
) {
    let place = line.place;
    let mut stated = |name, raw: Raw| duration(rows, place, name, raw.ns(MS));
    let wait = stated("prefill_wait_time_ms", figures.prefill_wait_time_ms);
    let prefill = stated("prefill_time_ms", figures.prefill_time_ms);
    let total = stated("total_time_ms", figures.total_time_ms);
    let moved = stated("kv_transfer_estimated_latency_ms", figures.kv_transfer_estimated_latency_ms);
    let mut ttft = stated("ttft_ms", figures.ttft_ms);
    if let (Some(first), Some(whole)) = (ttft, total)
        && first > whole.saturating_add(SLACK_NS)
    {
        let detail = format!("ttft_ms {first} ns > total_time_ms {whole} ns: ttft left out");
        rows.finding(Code::ValueImpossible, place, &detail);
        ttft = None;
    }
    if let (Some(wait), Some(prefill), Some(ttft)) = (wait, prefill, ttft)
        && wait.saturating_add(prefill).abs_diff(ttft) > SLACK_NS.unsigned_abs()
    {
        let detail =
            format!("prefill_wait_time_ms {wait} + prefill_time_ms {prefill} != ttft_ms {ttft} ns; all kept");
        rows.finding(Code::ValueImpossible, place, &detail);
    }
    for (definition, raw, ns) in [
        ("dynamo.wait", figures.prefill_wait_time_ms, wait),
        ("dynamo.dispatched_ttft", figures.prefill_time_ms, prefill),
        ("dynamo.ttft", figures.ttft_ms, ttft),
        ("dynamo.e2e", figures.total_time_ms, total),
        ("dynamo.kv_transfer", figures.kv_transfer_estimated_latency_ms, moved),
    ] {
        if let Some(ns) = ns {
            rows.measure(key, definition, ns, "ms", raw.step_ns(MS));
        }
    }
    let after = |ns: Option<i64>| received?.checked_add(ns?);
    for (name, t_ns) in [("start", received), ("first_token", after(ttft)), ("end", after(total))] {
        if let Some(t_ns) = t_ns {
            rows.mark(key, name, t_ns, clock, RECEIVED_STEP_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/dynamo_trace/request-trace.jsonl");

    fn line(figures: &str) -> String {
        let head =
            r#"{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":2000,"#;
        format!("{head}\"request\":{{{figures}}}}}\n")
    }

    #[test]
    fn a_request_is_read_to_the_last_digit_and_the_rest_is_no_request() {
        let read = read(&DynamoTrace, SAMPLE);
        assert_eq!(read.findings(), [""; 0]);
        let columns = [
            "line",
            "hop",
            "request_id",
            "response_id",
            "caller",
            "instance",
            "input_tokens",
            "cached_tokens",
            "outcome",
        ];
        assert_eq!(
            read.rows(Table::Request, &columns),
            [
                "1|router|trial-0001|6f1c2f0e-0001|run-7:planner|worker-3|4096|3584|ok",
                "2|router|6f1c2f0e-0002|6f1c2f0e-0002|~|~|128|~|unknown",
                "4|router|trial-0003|6f1c2f0e-0003|~|worker-5|512|0|ok",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["line", "definition", "duration_ns", "unit", "resolution_ns"])[..5],
            [
                "1|dynamo.wait|12125000|ms|1000",
                "1|dynamo.dispatched_ttft|70300250|ms|10",
                "1|dynamo.ttft|82425250|ms|10",
                "1|dynamo.e2e|1000100000|ms|100000",
                "1|dynamo.kv_transfer|4200000|ms|100000",
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["line", "name", "t_ns", "clock", "resolution_ns"])[..4],
            [
                "1|start|1796073818600000000|epoch:0123456789ab|1000000",
                "1|first_token|1796073818682425250|epoch:0123456789ab|1000000",
                "1|end|1796073819600100000|epoch:0123456789ab|1000000",
                "2|start|1796073820000000000|epoch:0123456789ab|1000000",
            ]
        );
        assert_eq!(
            read.rows(Table::Event, &["line", "hop", "kind", "t_ns", "duration_ns", "detail"]),
            ["3|client|tool|1796073821080000000|420500000|tool_end web_search succeeded"]
        );
        assert_eq!(read.rows(Table::Series, &["metric", "value"]), ["dynamo:queue_depth|3"]);
    }

    #[test]
    fn figures_that_contradict_are_said_with_the_arithmetic() {
        let late = line(r#""request_received_ms":1000,"ttft_ms":90,"total_time_ms":80.5"#);
        let sum = line(r#""prefill_wait_time_ms":10,"prefill_time_ms":20,"ttft_ms":82.4"#);
        let negative = line(r#""ttft_ms":-1,"total_time_ms":null"#);
        let read = read(&DynamoTrace, &[late, sum, negative].concat());
        assert_eq!(
            read.findings(),
            [
                "1 value-impossible ttft_ms 90000000 ns > total_time_ms 80500000 ns: ttft left out",
                "2 value-impossible prefill_wait_time_ms 10000000 + prefill_time_ms 20000000 != ttft_ms 82400000 ns; all kept",
                "3 value-impossible ttft_ms -1000000 ns < 0: left out",
            ]
        );
        assert_eq!(read.rows(Table::Mark, &["line", "name"]), ["1|start", "1|end"]);
    }

    #[test]
    fn another_version_is_read_with_a_warning_and_other_records_are_refused() {
        let next = line("\"ttft_ms\":1").replace(".v1", ".v2");
        assert!(recognises(&DynamoTrace, &next));
        assert_eq!(
            read(&DynamoTrace, &next).findings(),
            ["1 version-unknown schema dynamo.request.trace.v2: read as dynamo.request.trace.v1"]
        );
        let bad = read(
            &DynamoTrace,
            "{}\n{\n{\"schema\":\"dynamo.request.trace.v1\",\"event_type\":\"request_end\"}\n",
        );
        assert_eq!(bad.counts(), (0, 3));
        for text in ["", "{}", r#"{"schema":"x"}"#, r#"{"timestamp":0,"input_length":1,"hash_ids":[1]}"#] {
            assert!(!recognises(&DynamoTrace, text), "{text}");
        }
    }
}
