//! `GenAI-Perf`'s `profile_export.json`, written by Perf Analyzer: requests and the times of their responses, in
//! nanoseconds of its steady clock, by experiment.
//!
//! Requests have no id, no status and no token counts. The texts sent and received stand beside the times; of an answer it
//! is only looked at whether it holds text, for an empty first response is no first token.

use super::load_tool::Marks;
use super::{Context, Format, Match, Reader, elements, json};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Outcome, Request, Rows};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The requests of a run of `GenAI-Perf`.
pub struct GenaiPerf;

/// Perf Analyzer counts in integer nanoseconds.
const RESOLUTION_NS: i64 = 1;

impl Format for GenaiPerf {
    fn id(&self) -> &'static str {
        "genai_perf"
    }

    fn title(&self) -> &'static str {
        "GenAI-Perf / Perf Analyzer profile_export.json"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["\"experiments\"", "\"requests\"", "\"timestamp\"", "\"response_timestamps\""];
        let ours = head.first_byte() == Some(b'{') && keys.iter().all(|key| head.contains(key));
        Match::when(ours, "experiments, requests, timestamp, response_timestamps")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.monotonic());
        Reader::Document(Box::new(move |bytes, rows| {
            let Some((text, _)) = line_text(bytes) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            let export = match json::record::<Export>(&text) {
                Ok(export) => export,
                Err((code, detail)) => return rows.refuse(code, Place::FILE, &detail),
            };
            let mut item = 0;
            rows.run(Place::line(1), "tool", "genai-perf");
            for (key, value) in [
                ("backend", json::word(&export.service_kind)),
                ("endpoint", json::word(&export.endpoint)),
                ("tool_version", json::word(&export.version)),
            ] {
                if let Some(value) = value {
                    rows.run(Place::line(1), key, super::load_tool::cut(value, 200));
                }
            }
            for experiment in &export.experiments {
                experiment.read(&mut item, hop, &clock, rows);
            }
        }))
    }
}

#[derive(Deserialize)]
struct Export<'a> {
    #[serde(borrow, default)]
    service_kind: json::Text<'a>,
    #[serde(borrow, default)]
    endpoint: json::Text<'a>,
    #[serde(borrow, default)]
    version: json::Text<'a>,
    #[serde(borrow)]
    experiments: Vec<Experiment<'a>>,
}

#[derive(Deserialize)]
struct Experiment<'a> {
    #[serde(borrow)]
    experiment: Load<'a>,
    #[serde(borrow)]
    requests: &'a RawValue,
}

#[derive(Deserialize)]
struct Load<'a> {
    #[serde(borrow, default)]
    mode: json::Text<'a>,
    #[serde(borrow, default)]
    value: json::Raw<'a>,
}

#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow, default)]
    timestamp: json::Raw<'a>,
    #[serde(borrow, default)]
    response_timestamps: Vec<json::Raw<'a>>,
    #[serde(borrow, default)]
    response_outputs: Vec<&'a RawValue>,
}

impl Experiment<'_> {
    fn read(&self, item: &mut i64, hop: Hop, clock: &str, rows: &mut Rows) {
        let place = Place::item(1, *item);
        if let (Some(mode), Some(value)) = (json::word(&self.experiment.mode), self.experiment.value.text()) {
            let key = match mode {
                "concurrency" => "max_concurrency",
                "request_rate" => "request_rate",
                other => other,
            };
            rows.run(place, key, super::load_tool::cut(value, 200));
        }
        let read = elements::each(self.requests, |sent: &RawValue| {
            let place = Place::item(1, *item);
            *item += 1;
            match json::record::<Sent>(sent.get()) {
                Ok(sent) => sent.read(place, hop, clock, rows),
                Err((code, detail)) => rows.refuse(code, place, &detail),
            }
        });
        if let Err(error) = read {
            let (code, detail) = json::complaint(&error);
            rows.refuse(code, place, &detail);
        }
    }
}

impl Sent<'_> {
    fn read(&self, place: Place, hop: Hop, clock: &str, rows: &mut Rows) {
        let at = |raw: &json::Raw| raw.int().filter(|t| *t > 0);
        let Some(send) = at(&self.timestamp) else {
            return rows.refuse(Code::RecordShape, place, "no timestamp");
        };
        let (times, outputs) = (&self.response_timestamps, &self.response_outputs);
        if !outputs.is_empty() && outputs.len() != times.len() {
            let detail = format!("{} response_timestamps, {} response_outputs", times.len(), outputs.len());
            return rows.refuse(Code::RecordShape, place, &detail);
        }
        let failed = outputs.iter().any(|output| output.get().contains("event: error"));
        let outcome = match () {
            () if failed => Outcome::Error,
            // A request without a response is one that Perf Analyzer gave up or that failed: it does not say.
            () if times.is_empty() => Outcome::Unknown,
            () => Outcome::Ok,
        };
        let texts = outputs.iter().map(|output| holds_text(output.get()));
        let first = match outputs.len() {
            // Without the answers nobody can tell an empty first response from a token.
            0 => None,
            _ => texts.zip(times).find(|(text, _)| *text).and_then(|(_, time)| at(time)),
        };
        let streamed = (times.len() > 1).then_some(true);
        let key = rows.request(hop, place, &Request { outcome, streamed, ..Request::default() });
        let first_chunk = times.first().and_then(at);
        let end = times.last().and_then(at);
        // A single response with the whole answer is no first token, and a failed request has none.
        let first = first.filter(|_| !failed && times.len() > 1);
        if outcome == Outcome::Ok && first.is_none() {
            let detail =
                if times.len() == 1 { "a single response" } else { "no response is known to hold text" };
            rows.finding(Code::NoFirstToken, place, detail);
        }
        let marks = Marks { send: Some(send), first_chunk, first_token: first, end, ..Marks::default() };
        marks.add(rows, key, place, clock, RESOLUTION_NS);
        let since = |t: Option<i64>| t.and_then(|t| t.checked_sub(send)).filter(|ns| *ns >= 0);
        let latency = since(end).filter(|_| !failed);
        for (definition, ns) in [("genai-perf.ttft", since(first)), ("genai-perf.latency", latency)] {
            if let Some(ns) = ns {
                rows.measure(key, definition, ns, "ns", RESOLUTION_NS);
            }
        }
    }
}

/// Whether a response holds text: the content of a chunk, a completion's or Triton's text, not the role, the usage or
/// the end of the stream. The response is a JSON string of server-sent events, or an object of Triton's outputs.
fn holds_text(output: &str) -> bool {
    let marks = [
        "\\\"content\\\":",
        "\\\"text\\\":",
        "\\\"reasoning_content\\\":",
        "\\\"text_output\\\":",
        "\"text_output\":",
    ];
    marks.iter().any(|mark| {
        output.match_indices(mark).any(|(at, _)| {
            let value = output.get(at + mark.len()..).unwrap_or_default().trim_start();
            let value = value.strip_prefix('\\').unwrap_or(value);
            value
                .strip_prefix('"')
                .is_some_and(|text| !text.starts_with(['"', '\\']) || text.starts_with("\\\\"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/genai_perf/profile_export.json");

    #[test]
    fn the_first_response_with_text_is_the_first_token() {
        let read = read(&GenaiPerf, SAMPLE);
        assert_eq!(read.counts(), (4, 0));
        assert_eq!(
            read.rows(Table::Measure, &["item", "definition", "duration_ns"]),
            [
                "0|genai-perf.ttft|250000000",
                "0|genai-perf.latency|400000000",
                "1|genai-perf.latency|900000000",
                "3|genai-perf.ttft|2000000",
                "3|genai-perf.latency|7000000",
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["item", "name", "t_ns", "clock"])[..4],
            [
                "0|send|5487001146269|monotonic:0123456789ab",
                "0|first_token|5487251146269|monotonic:0123456789ab",
                "0|end|5487401146269|monotonic:0123456789ab",
                "0|first_chunk|5487011146269|monotonic:0123456789ab",
            ]
        );
        assert_eq!(read.rows(Table::Request, &["outcome", "streamed"])[1..3], ["ok|~", "unknown|~"]);
        let facts = read.rows(Table::Run, &["item", "key", "value"]);
        assert!(facts.contains(&"0|max_concurrency|4".to_owned()), "{facts:?}");
        assert!(facts.contains(&"3|request_rate|2.0".to_owned()), "{facts:?}");
        assert_eq!(read.findings(), ["1 no-first-token a single response"]);
    }

    #[test]
    fn responses_before_the_request_and_lists_of_unequal_length() {
        let requests = r#"{"timestamp":9,"response_timestamps":[5,12],"response_outputs":["a","b"]},
            {"timestamp":9,"response_timestamps":[10],"response_outputs":[]},{"timestamp":9,"response_timestamps":[10],
            "response_outputs":["a","b"]},{"response_timestamps":[]}"#;
        let text = format!("{{\"experiments\":[{{\"experiment\":{{}},\"requests\":[{requests}]}}]}}");
        let read = read(&GenaiPerf, &text);
        assert_eq!(read.counts(), (2, 2));
        let findings = read.findings();
        assert!(findings.iter().any(|f| f.contains("first_chunk_ns 5 < send_ns 9")), "{findings:?}");
        assert!(findings.iter().any(|f| f.contains("1 response_timestamps, 2 response_outputs")));
    }

    #[test]
    fn text_is_told_from_role_usage_and_end() {
        let sse = |data: &str| serde_json::to_string(&format!("data: {data}\n\n")).unwrap();
        assert!(holds_text(&sse(r#"{"choices":[{"delta":{"content":"dogs"}}]}"#)));
        assert!(holds_text(&sse(r#"{"choices":[{"delta":{"content":"\n"}}]}"#)));
        assert!(holds_text(r#"{"text_output": " a"}"#));
        for empty in
            [r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, r#"{"usage":{}}"#, "[DONE]"]
        {
            assert!(!holds_text(&sse(empty)), "{empty}");
        }
        assert!(!holds_text(&sse(r#"{"choices":[{"delta":{"content":null}}]}"#)));
        assert!(recognises(&GenaiPerf, SAMPLE));
    }
}
