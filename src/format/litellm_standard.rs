//! `LiteLLM`'s `StandardLoggingPayload`, as its logging callbacks write it: JSON objects, in a list or one a line.
//!
//! - Times are epoch seconds; some sinks write text without an offset, which is local to the proxy.
//! - `completionStartTime` is the first chunk, unless it equals `endTime` (see `litellm`), whatever `stream` says.
//! - `id` is the id in the response body. `response_time` is left out: it agrees with neither difference of the times.
//! - `error_str` and `error_message` are left out: they can quote the prompt.

use super::decimal::MS;
use super::json::{self, Raw};
use super::litellm::{ErrorInformation, Metadata, Times, known, outcome};
use super::load_tool::duration;
use super::objects::{self, Objects};
use super::stamp::Stamps;
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Request, Rows};
use serde::Deserialize;

/// The standard logging payload of `LiteLLM`.
pub struct LitellmStandard;

impl Format for LitellmStandard {
    fn id(&self) -> &'static str {
        "litellm_standard"
    }

    fn title(&self) -> &'static str {
        "LiteLLM StandardLoggingPayload"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |text: &str| json::record::<Payload>(text).is_ok_and(|payload| payload.is_whole());
        Match::when(objects::any(head, ours), "id, startTime, endTime, response_cost, hidden_params")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, stamps) = (cx.hop, Stamps::new(cx));
        Reader::Stream(Box::new(Objects::new(move |line: Line, rows: &mut Rows| {
            match json::record::<Payload>(line.text) {
                Ok(payload) if payload.is_whole() => read(&payload, &line, rows, hop, &stamps),
                Ok(_) => line.refuse(
                    rows,
                    Code::RecordShape,
                    "id, startTime, endTime, response_cost or hidden_params is missing",
                ),
                Err((code, detail)) => line.refuse(rows, code, &detail),
            }
        })))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    litellm_call_id: Raw<'a>,
    #[serde(borrow)]
    call_id: Raw<'a>,
    #[serde(borrow)]
    response_cost: Raw<'a>,
    stream: Option<bool>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow, rename = "startTime")]
    start: Raw<'a>,
    #[serde(borrow, rename = "completionStartTime")]
    first: Raw<'a>,
    #[serde(borrow, rename = "endTime")]
    end: Raw<'a>,
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow)]
    api_base: Raw<'a>,
    cache_hit: Option<bool>,
    #[serde(borrow)]
    end_user: Raw<'a>,
    #[serde(borrow)]
    prompt_tokens: Raw<'a>,
    #[serde(borrow)]
    completion_tokens: Raw<'a>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    hidden_params: Option<Hidden<'a>>,
    #[serde(borrow)]
    error_information: Option<ErrorInformation<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Hidden<'a> {
    #[serde(borrow)]
    api_base: Raw<'a>,
    #[serde(borrow)]
    litellm_overhead_time_ms: Raw<'a>,
}

impl Payload<'_> {
    fn is_whole(&self) -> bool {
        let fields = [self.id, self.start, self.end, self.response_cost];
        fields.iter().all(|field| field.0.is_some()) && self.hidden_params.is_some()
    }
}

fn read(p: &Payload, line: &Line, rows: &mut Rows, hop: Hop, stamps: &Stamps) {
    let error = p.error_information.unwrap_or_default();
    let code = error.error_code.int();
    let ended = outcome(p.status.text(), code);
    let (metadata, hidden) = (p.metadata.as_ref(), p.hidden_params.as_ref());
    let base = known(p.api_base.text()).or(hidden.and_then(|hidden| known(hidden.api_base.text())));
    let request = Request {
        request_id: known(p.litellm_call_id.text()).or(known(p.call_id.text())),
        response_id: known(p.id.text()),
        caller: metadata.and_then(Metadata::caller).or(known(p.end_user.text())),
        model: known(p.model.text()),
        instance: base.and_then(|base| base.split('?').next()),
        input_tokens: p.prompt_tokens.int(),
        output_tokens: p.completion_tokens.int(),
        cached_tokens: metadata.and_then(Metadata::cached),
        status: code,
        outcome: ended,
        error: known(error.error_class.text()).or((p.cache_hit == Some(true)).then_some("cache hit")),
        streamed: p.stream,
        ..Request::default()
    };
    let key = rows.request(hop, line.place, &request);
    let times =
        Times { start: known(p.start.text()), first: known(p.first.text()), end: known(p.end.text()) };
    times.add(stamps, line, rows, key, ended);
    let overhead = hidden.map(|hidden| hidden.litellm_overhead_time_ms).unwrap_or_default();
    if let Some(ns) = duration(rows, line.place, "litellm_overhead_time_ms", overhead.ns(MS)) {
        rows.measure(key, "litellm.overhead", ns, "ms", overhead.step_ns(MS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{context, read, read_as, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/litellm_standard/payloads.jsonl");

    #[test]
    fn payloads_are_read_exactly() {
        let read = read(&LitellmStandard, SAMPLE);
        assert_eq!(read.counts(), (3, 0));
        let columns =
            ["request_id", "response_id", "caller", "instance", "status", "outcome", "error", "streamed"];
        assert_eq!(
            read.rows(Table::Request, &columns),
            [
                "c-01|chatcmpl-0a1b|web-chat|http://10.0.0.5:8000/v1|~|ok|~|true",
                "c-02|chatcmpl-0a1c|web-chat|http://10.0.0.5:8000/v1|~|ok|~|true",
                "c-03|c-03|~|http://10.0.0.5:8000/v1|503|error|ServiceUnavailableError|true",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["line", "definition", "duration_ns", "unit"]),
            [
                "1|litellm.request|2004583000|s",
                "1|litellm.ttft|312500000|s",
                "1|litellm.overhead|4218000|ms",
                "2|litellm.request|804583000|s",
                "3|litellm.request|20000000|s",
            ]
        );
        // stream says true, yet no first chunk was seen; what stands there for a failure is none at all.
        assert_eq!(
            read.findings(),
            ["2 no-first-token completionStartTime = endTime: LiteLLM saw no first chunk, TTFT is unknown"]
        );
    }

    #[test]
    fn naive_text_is_local_until_a_zone_is_declared() {
        let line = r#"{"id":"a","response_cost":0,"hidden_params":{},"status":"success","startTime":"2026-11-30 21:20:46.847371","endTime":"2026-11-30 21:20:47.847371"}"#;
        let naive = read(&LitellmStandard, line);
        assert_eq!(naive.rows(Table::Mark, &["name", "clock"])[0], "start|local:0123456789ab");
        assert_eq!(naive.findings(), ["1 time-unplaced startTime has no zone"]);
        let mut cx = context(&LitellmStandard);
        cx.zone = crate::input::zone("+08:00");
        let placed = read_as(&LitellmStandard, &cx, line);
        assert_eq!(
            placed.rows(Table::Mark, &["t_ns", "clock"])[0],
            format!("{}|epoch:0123456789ab", 1_796_073_646_847_371_000_i64 - 28_800_000_000_000)
        );
    }

    #[test]
    fn only_whole_payloads_are_taken() {
        assert!(recognises(&LitellmStandard, SAMPLE));
        assert!(!recognises(&LitellmStandard, r#"{"id":1,"startTime":1,"endTime":2}"#));
        let bad = read(&LitellmStandard, "{\"id\":1}\n{\"id\":1,\"id\":2}\n{\"i");
        assert_eq!(bad.rows(Table::Finding, &["code"]), ["record-shape", "duplicate-key", "truncated"]);
    }
}
