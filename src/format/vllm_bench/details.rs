//! The rows of a run: parallel arrays, one entry a request (`--save-detailed`).

use super::Run;
use crate::finding::{Code, Place};
use crate::format::decimal::S;
use crate::format::json::Raw;
use crate::format::load_tool::{Marks, duration, error_text};
use crate::format::serving::{Definitions, VLLM};
use crate::row::{Hop, Outcome, Request, Rows};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Arrays with one entry a request. The texts are never read.
const ARRAYS: [&str; 9] = [
    "cached_tokens",
    "errors",
    "input_lens",
    "itls",
    "latencies",
    "output_lens",
    "queue_times",
    "start_times",
    "ttfts",
];

/// Backends whose requests vLLM's benchmark streams; the rest report their latency as TTFT. `SGLang`'s streams any
/// unless told not to, which its file does not say.
const STREAMED: [&str; 4] = ["vllm", "openai", "openai-chat", "openai-audio"];

/// `perf_counter` counts nanoseconds.
const RESOLUTION_NS: i64 = 1;

/// By how much TTFT and the gaps between chunks may miss the latency, beyond 1 % of it: the tools take the time of a
/// last chunk without tokens too.
const GAPS_NS: u64 = 1_000_000;

impl Run<'_> {
    /// Adds one row a request; how many there were. An error when the arrays cannot be put side by side.
    pub fn details(
        &self,
        streamed: Option<bool>,
        hop: Hop,
        clock: &str,
        rows: &mut Rows,
    ) -> Result<usize, String> {
        let arrays = self.arrays()?;
        let Some(len) = arrays.values().next().map(Vec::len) else { return Ok(0) };
        let mut answered = 0;
        for index in 0..len {
            let place = Place::item(self.place.line, i64::try_from(index).unwrap_or(i64::MAX));
            let row = Row { arrays: &arrays, ids: self.tool.ids, index, place, streamed };
            answered += i64::from(row.read(hop, clock, rows) == Outcome::Ok);
        }
        if let Some(completed) = self.raw("completed").int()
            && arrays.contains_key("errors")
            && completed != answered
        {
            let detail = format!("completed {completed} != {answered} rows without an error");
            rows.finding(Code::ValueImpossible, self.place, &detail);
        }
        Ok(len)
    }

    fn arrays(&self) -> Result<Arrays<'_>, String> {
        let mut arrays = Arrays::new();
        for name in ARRAYS {
            let Some(array) = self.fields.get(name).filter(|value| value.get() != "null") else { continue };
            let array: Vec<&RawValue> =
                serde_json::from_str(array.get()).map_err(|_| format!("{name} is not an array"))?;
            if let Some((other, first)) = arrays.first_key_value()
                && first.len() != array.len()
            {
                return Err(format!("{other} has {} entries, {name} has {}", first.len(), array.len()));
            }
            arrays.insert(name, array);
        }
        Ok(arrays)
    }

    /// Whether the backend asked for is one that is streamed.
    pub fn streamed(&self) -> Option<bool> {
        let backend = self.raw("endpoint_type").text().or(self.raw("backend").text())?;
        if self.tool.name == VLLM.name && STREAMED.contains(&backend) {
            return Some(true);
        }
        ["embedding", "pooling", "rerank"].iter().any(|word| backend.contains(word)).then_some(false)
    }
}

type Arrays<'a> = BTreeMap<&'static str, Vec<&'a RawValue>>;

struct Row<'a> {
    arrays: &'a Arrays<'a>,
    ids: Definitions,
    index: usize,
    place: Place,
    streamed: Option<bool>,
}

impl<'a> Row<'a> {
    fn cell(&self, name: &str) -> Raw<'a> {
        Raw(self.arrays.get(name).and_then(|array| array.get(self.index)).copied())
    }

    fn count(&self, name: &str) -> Option<i64> {
        self.cell(name).int().filter(|count| *count >= 0)
    }

    fn is_zero(&self, name: &str) -> bool {
        self.cell(name).ns(S) == Some(0)
    }

    fn seconds(&self, name: &str, rows: &mut Rows) -> Option<i64> {
        let name_here = format!("{name}[{}]", self.index);
        duration(rows, self.place, &name_here, self.cell(name).ns(S))
    }

    fn read(&self, hop: Hop, clock: &str, rows: &mut Rows) -> Outcome {
        let error = self.cell("errors").0.map(|cell| serde_json::from_str::<Option<String>>(cell.get()));
        let error = match error {
            Some(Err(_)) => {
                let detail = format!("errors[{}] is not a text", self.index);
                rows.refuse(Code::RecordShape, self.place, &detail);
                return Outcome::Unknown;
            }
            Some(Ok(error)) => Some(error.unwrap_or_default()),
            None => None,
        };
        let outcome = match error.as_deref() {
            None => Outcome::Unknown,
            // A refusal without a reason phrase leaves no error text, only the zeros of a failed request.
            Some("") if self.is_zero("ttfts") && self.is_zero("output_lens") => Outcome::Error,
            Some("") => Outcome::Ok,
            Some(_) => Outcome::Error,
        };
        let failed = outcome == Outcome::Error;
        let key = rows.request(
            hop,
            self.place,
            &Request {
                input_tokens: self.count("input_lens"),
                // Of a failed request it is the 0 the list was filled up with.
                output_tokens: self.count("output_lens").filter(|_| !failed),
                cached_tokens: self.count("cached_tokens").filter(|_| !failed),
                outcome,
                error: error.as_deref().map(error_text),
                streamed: self.streamed,
                ..Request::default()
            },
        );
        let start = self.cell("start_times").ns(S).filter(|t| *t > 0);
        let queue = self.seconds("queue_times", rows);
        let (ttft, latency) = if failed { (None, None) } else { self.timings(rows) };
        let after_start = |ns: Option<i64>| start.zip(ns).and_then(|(start, ns)| start.checked_add(ns));
        let whole = latency.or_else(|| ttft?.checked_add(self.gaps()?));
        let marks = Marks {
            send: start,
            first_token: after_start(ttft),
            end: after_start(whole),
            ..Marks::default()
        };
        marks.add(rows, key, self.place, clock, RESOLUTION_NS);
        for (definition, ns) in [(self.ids.ttft, ttft), (self.ids.e2e, latency), (self.ids.queue, queue)] {
            if let Some(ns) = ns.filter(|_| !definition.is_empty()) {
                rows.measure(key, definition, ns, "s", RESOLUTION_NS);
            }
        }
        outcome
    }

    /// TTFT and latency of an answered request, as far as they are stated and agree.
    fn timings(&self, rows: &mut Rows) -> (Option<i64>, Option<i64>) {
        let latency = self.seconds("latencies", rows).filter(|ns| *ns > 0);
        if self.streamed == Some(false) {
            return (None, latency);
        }
        match (self.seconds("ttfts", rows), latency) {
            (Some(0), latency) => {
                let detail = format!("ttfts[{}] 0.0: no chunk was seen", self.index);
                rows.finding(Code::NoFirstToken, self.place, &detail);
                (None, latency)
            }
            (Some(ttft), Some(latency)) if latency < ttft => {
                let detail = format!("latency {latency} ns < ttft {ttft} ns: latency left out");
                rows.finding(Code::ValueImpossible, self.place, &detail);
                (Some(ttft), None)
            }
            (Some(ttft), Some(latency)) => {
                let sum = self.gaps().filter(|gaps| *gaps > 0).and_then(|gaps| ttft.checked_add(gaps));
                match sum.filter(|sum| sum.abs_diff(latency) > GAPS_NS.max(latency.unsigned_abs() / 100)) {
                    None => (Some(ttft), Some(latency)),
                    Some(sum) => {
                        let detail = format!(
                            "ttft {ttft} ns + gaps of {} ns = {sum} ns != latency {latency} ns: latency left out",
                            sum - ttft
                        );
                        rows.finding(Code::ValueImpossible, self.place, &detail);
                        (Some(ttft), None)
                    }
                }
            }
            timings => timings,
        }
    }

    /// The sum of the gaps between chunks: with TTFT, the latency of files that do not state it.
    fn gaps(&self) -> Option<i64> {
        let gaps: Vec<&RawValue> = serde_json::from_str(self.cell("itls").0?.get()).ok()?;
        gaps.into_iter().try_fold(0_i64, |sum, gap| sum.checked_add(Raw(Some(gap)).ns(S)?))
    }
}
