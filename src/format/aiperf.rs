//! `AIPerf` `profile_export.jsonl`: one line per request, epoch nanoseconds and metrics that name their unit.

use super::load_tool::{Marks, duration, error_text};
use super::{Context, Format, Line, Match, Reader, decimal, json};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, RequestKey, Rows};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// `AIPerf`'s record of each request.
pub struct Aiperf;

/// `AIPerf` counts in integer nanoseconds, whatever unit it writes.
const RESOLUTION_NS: i64 = 1;

/// How far TTFT plus the gaps between chunks may be from the latency: the rounding of doubles, with room.
const IDENTITY_NS: u64 = 1_000;

impl Format for Aiperf {
    fn id(&self) -> &'static str {
        "aiperf"
    }

    fn title(&self) -> &'static str {
        "AIPerf profile_export.jsonl"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["client_wait", "ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |line: &str| json::record::<Probe>(line).is_ok_and(|probe| probe.is_record());
        Match::when(
            head.lines().take(20).any(ours),
            "metadata.credit_issued_ns, metadata.benchmark_phase, metrics",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| match json::record::<Record>(line.text) {
            Ok(record) => record.read(line, rows, hop, &clock),
            Err((code, detail)) => line.refuse(rows, code, &detail),
        }))
    }
}

#[derive(Deserialize)]
struct Probe {
    metadata: ProbeMetadata,
    metrics: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ProbeMetadata {
    credit_issued_ns: Option<IgnoredAny>,
    benchmark_phase: Option<IgnoredAny>,
}

impl Probe {
    fn is_record(&self) -> bool {
        let ProbeMetadata { credit_issued_ns, benchmark_phase } = &self.metadata;
        let stamped = credit_issued_ns.is_some() && benchmark_phase.is_some();
        stamped && (self.metrics.is_some() || self.error.is_some())
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow)]
    metrics: Option<Metrics<'a>>,
    #[serde(borrow)]
    error: Option<Failure<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata<'a> {
    #[serde(borrow)]
    x_request_id: json::Text<'a>,
    #[serde(borrow)]
    benchmark_phase: json::Text<'a>,
    #[serde(borrow)]
    credit_issued_ns: json::Raw<'a>,
    #[serde(borrow)]
    request_start_ns: json::Raw<'a>,
    #[serde(borrow)]
    request_ack_ns: json::Raw<'a>,
    #[serde(borrow)]
    request_end_ns: json::Raw<'a>,
    was_cancelled: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metrics<'a> {
    #[serde(borrow)]
    time_to_first_token: Metric<'a>,
    #[serde(borrow)]
    time_to_first_output_token: Metric<'a>,
    #[serde(borrow)]
    request_latency: Metric<'a>,
    #[serde(borrow)]
    inter_chunk_latency: Metric<'a>,
    #[serde(borrow)]
    http_req_blocked: Metric<'a>,
    #[serde(borrow)]
    http_req_connecting: Metric<'a>,
    #[serde(borrow)]
    http_req_sending: Metric<'a>,
    #[serde(borrow)]
    http_req_waiting: Metric<'a>,
    #[serde(borrow)]
    usage_prompt_tokens: Metric<'a>,
    #[serde(borrow)]
    usage_completion_tokens: Metric<'a>,
    #[serde(borrow)]
    input_sequence_length: Metric<'a>,
    #[serde(borrow)]
    output_sequence_length: Metric<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metric<'a> {
    #[serde(borrow)]
    value: json::Raw<'a>,
    #[serde(borrow)]
    unit: json::Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure<'a> {
    #[serde(borrow)]
    code: json::Raw<'a>,
    #[serde(borrow, rename = "type")]
    kind: json::Text<'a>,
    #[serde(borrow)]
    message: json::Text<'a>,
}

impl Metric<'_> {
    /// The unit's word and its scale; `None` when it is not a time.
    fn unit(&self) -> Option<(&'static str, u32)> {
        match self.unit.as_deref()? {
            "ns" => Some(("ns", decimal::NS)),
            "us" => Some(("us", decimal::US)),
            "ms" => Some(("ms", decimal::MS)),
            "s" | "sec" => Some(("s", decimal::S)),
            _ => None,
        }
    }

    fn ns(&self) -> Option<i64> {
        self.value.ns(self.unit()?.1)
    }

    fn count(&self) -> Option<i64> {
        self.value.int().filter(|count| *count >= 0)
    }

    /// The sum of an array of durations; `None` unless every one can be read.
    fn sum_ns(&self) -> Option<i64> {
        let scale = self.unit()?.1;
        let list = self.value.text()?.strip_prefix('[')?.strip_suffix(']')?;
        if list.trim().is_empty() {
            return Some(0);
        }
        list.split(',').try_fold(0_i64, |sum, gap| sum.checked_add(decimal::to_ns(gap.trim(), scale)?))
    }
}

impl Record<'_> {
    fn read(&self, line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
        let (metadata, place) = (&self.metadata, line.place);
        let at = |raw: &json::Raw| raw.int().filter(|t| *t > 0);
        let (id, send) = (json::word(&metadata.x_request_id), at(&metadata.request_start_ns));
        if id.is_none() && send.is_none() {
            return line.refuse(
                rows,
                Code::RecordShape,
                "neither metadata.x_request_id nor request_start_ns",
            );
        }
        let nothing = Metrics::default();
        let metrics = self.metrics.as_ref().unwrap_or(&nothing);
        let message = self.error.as_ref().map(|failure| {
            let kind = json::word(&failure.kind).unwrap_or("error");
            format!("{kind}: {}", failure.message.as_deref().unwrap_or(""))
        });
        let outcome = match (metadata.was_cancelled, &message) {
            (Some(true), _) => Outcome::Cancelled,
            (_, Some(_)) => Outcome::Error,
            (_, None) => Outcome::Ok,
        };
        let ttft = duration(rows, place, "time_to_first_token", metrics.time_to_first_token.ns());
        let key = rows.request(
            hop,
            place,
            &Request {
                request_id: id,
                phase: json::word(&metadata.benchmark_phase),
                input_tokens: metrics.usage_prompt_tokens.count().or(metrics.input_sequence_length.count()),
                output_tokens: metrics
                    .usage_completion_tokens
                    .count()
                    .or(metrics.output_sequence_length.count()),
                status: self.error.as_ref().and_then(|e| e.code.int()).filter(|c| (100..600).contains(c)),
                outcome,
                error: message.as_deref().map(error_text),
                streamed: ttft.map(|_| true),
                ..Request::default()
            },
        );
        let marks = Marks {
            scheduled: at(&metadata.credit_issued_ns),
            send,
            headers: at(&metadata.request_ack_ns),
            first_token: send.zip(ttft).and_then(|(send, ttft)| send.checked_add(ttft)),
            end: at(&metadata.request_end_ns),
            ..Marks::default()
        };
        marks.add(rows, key, place, clock, RESOLUTION_NS);
        metrics.measures(rows, key, line, ttft);
    }
}

impl Metrics<'_> {
    fn measures(&self, rows: &mut Rows, key: RequestKey, line: Line, ttft: Option<i64>) {
        let place = line.place;
        let mut latency = duration(rows, place, "request_latency", self.request_latency.ns());
        if let (Some(first), Some(last)) = (ttft, latency) {
            if let Some(gaps) = self.inter_chunk_latency.sum_ns()
                && let Some(sum) = first.checked_add(gaps)
                && sum.abs_diff(last) > IDENTITY_NS
            {
                let detail = format!(
                    "time_to_first_token + sum(inter_chunk_latency) {sum} ns != request_latency {last} ns"
                );
                rows.finding(Code::ValueImpossible, place, &detail);
            }
            if last < first {
                let detail =
                    format!("request_latency {last} ns < time_to_first_token {first} ns: latency left out");
                rows.finding(Code::ValueImpossible, place, &detail);
                latency = None;
            }
        }
        if let (Some(ns), Some((unit, _))) = (ttft, self.time_to_first_token.unit()) {
            rows.measure(key, "aiperf.ttft", ns, unit, RESOLUTION_NS);
        }
        if let (Some(ns), Some((unit, _))) = (latency, self.request_latency.unit()) {
            rows.measure(key, "aiperf.latency", ns, unit, RESOLUTION_NS);
        }
        for (definition, name, metric) in [
            ("aiperf.ttfo", "time_to_first_output_token", &self.time_to_first_output_token),
            ("aiperf.blocked", "http_req_blocked", &self.http_req_blocked),
            ("aiperf.connecting", "http_req_connecting", &self.http_req_connecting),
            ("aiperf.sending", "http_req_sending", &self.http_req_sending),
            ("aiperf.waiting", "http_req_waiting", &self.http_req_waiting),
        ] {
            if let Some(ns) = duration(rows, place, name, metric.ns())
                && let Some((unit, _)) = metric.unit()
            {
                rows.measure(key, definition, ns, unit, RESOLUTION_NS);
            }
        }
    }
}

#[cfg(test)]
mod tests;
