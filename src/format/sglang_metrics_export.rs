//! `SGLang`'s `--export-metrics-to-file`: one JSON object a line for each finished request, `meta_info` at top level.
//!
//! `request_parameters` is JSON in a string and may hold the prompt: only the id and the stream flag are taken from it.

use super::json::{self, Raw};
use super::sglang::{Known, Meta};
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The format; see the module.
pub struct SglangMetricsExport;

impl Format for SglangMetricsExport {
    fn id(&self) -> &'static str {
        "sglang_metrics_export"
    }

    fn title(&self) -> &'static str {
        "SGLang request metrics (--export-metrics-to-file)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["queue", "prefill"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |line: &str| {
            line.starts_with('{')
                && line.contains("\"request_parameters\":")
                && line.contains("\"e2e_latency\"")
        };
        Match::when(head.lines().take(20).any(ours), "request_parameters, e2e_latency")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| read(line, rows, hop, &clock)))
    }
}

/// What the parameters may be asked for.
#[derive(Default, Deserialize)]
struct Parameters {
    stream: Option<bool>,
}

/// Why a request ended: a word and its particulars, in which a stop string may stand.
#[derive(Deserialize)]
pub(super) struct Finish {
    /// `stop`, `length` or `abort`.
    pub r#type: String,
}

fn read(line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let fields: BTreeMap<String, Raw> = match json::record(line.text) {
        Ok(fields) => fields,
        Err((code, detail)) => return line.refuse(rows, code, &detail),
    };
    let meta = Meta::of(&fields);
    if !meta.is_known() {
        return line.refuse(rows, Code::RecordShape, "no time and no duration of a request");
    }
    let raw = |name| fields.get(name).and_then(|raw: &Raw| raw.0).map(serde_json::value::RawValue::get);
    let parameters = raw("request_parameters").and_then(|text| serde_json::from_str::<String>(text).ok());
    let parameters: Parameters =
        parameters.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let rid = raw("id").and_then(|text| serde_json::from_str::<String>(text).ok());
    let finish = raw("finish_reason").and_then(|text| serde_json::from_str::<Finish>(text).ok());
    let finish = finish.as_ref().map(|finish| finish.r#type.as_str());
    let known =
        Known { rid: rid.as_deref(), streamed: parameters.stream, finish, aborted: finish == Some("abort") };
    meta.add(rows, hop, line.place, clock, known);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str =
        include_str!("../../samples/sglang_metrics_export/sglang-request-metrics-20261130_22.log");

    #[test]
    fn figures_of_either_release_become_marks_and_measures() {
        let read = read(&SglangMetricsExport, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((3, 0), vec![]));
        let columns =
            ["line", "response_id", "input_tokens", "cached_tokens", "output_tokens", "outcome", "streamed"];
        assert_eq!(
            read.rows(Table::Request, &columns),
            ["1|a1|38|16|4|ok|true", "2|a2|38|0|9|ok|false", "3|a3|12|0|0|cancelled|true"]
        );
        assert_eq!(
            read.rows(Table::Mark, &["line", "name", "t_ns"])[..4],
            [
                "1|start|1796076000125000000",
                "1|launch|1796076000375500000",
                "1|first_token|1796076000500250000",
                "1|end|1796076001000000000",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["line", "definition", "duration_ns"])[..2],
            ["1|sglang.queue|240000000", "1|sglang.inference|624500000"]
        );
        assert!(read.rows(Table::Mark, &["line", "name"]).contains(&"2|launch".to_owned()));
    }

    #[test]
    fn instants_of_another_clock_and_ages_of_the_epoch_are_left_out() {
        let text = r#"{"request_parameters":"{}","id":"x","request_received_ts":1000.5,"forward_entry_time":20.25,"prefill_finished_time":0.0,"request_finished_ts":1002,"queue_time":-1.5,"inference_time":1759654443.4,"first_token_latency":0.5,"e2e_latency":1.5}"#;
        let read_text = read(&SglangMetricsExport, text);
        assert_eq!(
            read_text.findings(),
            [
                "1 value-impossible forward_entry_time 20250000000 < 1000500000000, outside the request: left out",
                "1 value-impossible queue_time -1500000000 ns < 0: left out",
                "1 value-impossible inference_time 1759654443400000000 ns > e2e_latency 1500000000 ns: inference_time left out",
            ]
        );
        assert_eq!(read_text.rows(Table::Mark, &["name"]), ["start", "end"]);
        assert_eq!(read_text.rows(Table::Measure, &["definition"]), ["sglang.ttft", "sglang.e2e"]);
        let whole = text.replace("\"{}\"", r#""{\"stream\": false}""#);
        assert_eq!(read(&SglangMetricsExport, &whole).rows(Table::Measure, &["definition"]), ["sglang.e2e"]);
        assert_eq!(read(&SglangMetricsExport, "{\"request_parameters\":\"{}\"}\n{\"req").counts(), (0, 2));
    }

    #[test]
    fn the_export_is_recognised_and_others_are_not() {
        assert!(recognises(&SglangMetricsExport, SAMPLE));
        for text in ["", "garbage", "{\"e2e_latency\":1}", "request_parameters\": e2e_latency\""] {
            assert!(!recognises(&SglangMetricsExport, text), "{text}");
        }
    }
}
