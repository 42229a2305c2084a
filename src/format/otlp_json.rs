//! OTLP/JSON traces, one export request a line: what the OpenTelemetry collector's file exporter writes.
//!
//! `{"resourceSpans":[{"resource":…,"scopeSpans":[{"scope":…,"spans":[…]}]}]}`; ids in hex of either case, 64-bit
//! integers as strings or numbers, enums as integers or names. `otlp_json_document` is the same over many lines.

use super::otlp::json::is_lines;
use super::otlp::{self, Sink};
use super::{Context, Format, Line, Match, Reader, json};
use crate::input::Head;
use crate::row::{Hop, Rows};

/// OTLP/JSON lines.
pub struct OtlpJson;

impl Format for OtlpJson {
    fn id(&self) -> &'static str {
        "otlp_json"
    }

    fn title(&self) -> &'static str {
        "OpenTelemetry traces (OTLP/JSON lines)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "queue", "schedule", "prefill", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        Match::when(is_lines(head), "resourceSpans in each line")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let cx = cx.clone();
        Reader::Lines(Box::new(move |line, rows| read(&cx, line, rows)))
    }
}

fn read(cx: &Context, line: Line, rows: &mut Rows) {
    let mut text = serde_json::Deserializer::from_str(line.text);
    let mut sink = Sink::new(cx, line.place.line, rows);
    if let Err(error) = otlp::json::read(&mut text, &mut sink).and_then(|()| text.end()) {
        let (code, detail) = json::complaint(&error);
        let place = sink.place();
        Line { place, ..line }.refuse(rows, code, &detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{Read, context, read, read_as, recognises};
    use crate::row::Table;

    const VLLM: &str = include_str!("../../samples/otlp_json/vllm.otlp.jsonl");
    const LITELLM: &str = include_str!("../../samples/otlp_json/litellm.otlp.jsonl");
    const STARTUP: &str = include_str!("../../samples/otlp_json/startup.otlp.jsonl");

    /// A line of one span of vLLM, 1 s long, with `fields` put in.
    fn line(fields: &str) -> String {
        let ids = r#""traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174""#;
        let times = r#""startTimeUnixNano":1000000000000000000,"endTimeUnixNano":"1000000001000000000""#;
        let spans = format!(r#"[{{{ids},{times},"name":"llm_request"{fields}}}]"#);
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":{spans}}}]}}]}}"#) + "\n"
    }

    fn latencies(pairs: &[(&str, &str)]) -> String {
        let attribute = |(key, value): &(&str, &str)| {
            format!(r#"{{"key":"gen_ai.latency.{key}","value":{{"doubleValue":{value}}}}}"#)
        };
        let attributes: Vec<_> = pairs.iter().map(attribute).collect();
        format!(r#","attributes":[{}]"#, attributes.join(","))
    }

    fn marks(read: &Read) -> Vec<String> {
        read.rows(Table::Mark, &["line", "item", "name", "t_ns"])
    }

    #[test]
    fn a_span_of_vllm_is_a_request_with_its_durations_to_the_nanosecond() {
        let read = read(&OtlpJson, VLLM);
        assert_eq!((read.counts(), read.findings().len()), ((7, 0), 0));
        let columns = [
            "hop",
            "trace_id",
            "span_id",
            "parent_span_id",
            "request_id",
            "response_id",
            "model",
            "instance",
            "input_tokens",
            "output_tokens",
            "status",
            "outcome",
        ];
        assert_eq!(
            read.rows(Table::Request, &columns)[1],
            "engine|60f1766bf51ca7cdf358d20ed77fd5d6|46640d912fe94fcc|59d63e5049a2e079|s0a-web-0000|\
             chatcmpl-s0a-web-0000|~|60c4513a-d955-4358-b1a3-24c556fd447b|49|12|~|ok"
        );
        assert_eq!(read.rows(Table::Request, &["parent_span_id"])[0], "~");
        assert_eq!(
            marks(&read)[3..6],
            [
                "2|0|start|1796073818682594048",
                "2|0|end|1796073819202984523",
                "2|0|first_token|1796073818769435870"
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["line", "definition", "duration_ns", "unit"])[6..9],
            ["2|vllm.ttft|86841822|s", "2|vllm.queue|35516|s", "2|vllm.prefill|76259492|s"]
        );
        let clock = "epoch:span:60c4513a-d955-4358-b1a3-24c556fd447b";
        assert!(read.rows(Table::Mark, &["clock"]).iter().all(|c| c == clock));
        let cx = Context { clock: Some("node-1".to_owned()), ..context(&OtlpJson) };
        let declared = read_as(&OtlpJson, &cx, VLLM);
        assert!(declared.rows(Table::Mark, &["clock"]).iter().all(|c| c == "epoch:node-1"));
    }

    #[test]
    fn server_spans_of_a_proxy_are_requests_at_the_gateway_and_no_prompt_is_kept() {
        let read = read(&OtlpJson, LITELLM);
        assert_eq!(
            read.rows(
                Table::Request,
                &["item", "hop", "span_id", "parent_span_id", "instance", "status", "outcome"]
            )[..2],
            [
                "3|gateway|77572ece5b019525|0fc7be6696ed5703|litellm-gateway|200|ok",
                "9|gateway|c2e991ff73dee0b8|0fc7be6696ed5703|litellm-gateway|200|ok"
            ]
        );
        assert_eq!(read.rows(Table::Measure, &["definition", "duration_ns"])[0], "span.server|1155362816");
        let events = read.rows(Table::Event, &["hop", "kind", "detail", "duration_ns"]);
        assert_eq!(events[1], "gateway|span|litellm-gateway litellm_request|1120447744");
        assert_eq!(events.len(), 9);
        let details = read.rows(Table::Event, &["detail"]).concat();
        assert!(details.len() < 300 && !details.contains("License"));
    }

    #[test]
    fn steps_of_a_start_are_events_of_the_engine() {
        let read = read(&OtlpJson, STARTUP);
        let events = read.rows(Table::Event, &["hop", "detail", "t_ns", "duration_ns"]);
        assert_eq!(events[0], "engine|vllm-tiny-llama Worker init|1796073805890474978|2797457808");
        assert!(events.iter().any(|e| e.starts_with("engine|vllm-tiny-llama Load weights|")));
        assert_eq!(read.rows(Table::Request, &["line"]), ["9"]);
    }

    #[test]
    fn ids_come_in_either_case_enums_by_name_and_integers_either_way() {
        let fields = r#","kind":"SPAN_KIND_SERVER","status":{"code":"STATUS_CODE_ERROR"},"attributes":[
            {"key":"http.response.status_code","value":{"intValue":503}}]"#
            .replace('\n', "");
        let read = read(&OtlpJson, &line(&fields));
        assert_eq!(
            read.rows(Table::Request, &["hop", "trace_id", "span_id", "status", "outcome"]),
            ["gateway|5b8efff798038103d269b633813fc60c|eee19b7ec3c1b174|503|error"]
        );
        assert_eq!(marks(&read), ["1|0|start|1000000000000000000", "1|0|end|1000000001000000000"]);
    }

    #[test]
    fn impossible_values_are_said_and_left_out() {
        let backwards = r#","endTimeUnixNano":"1""#;
        let twice = read(&OtlpJson, &line(backwards));
        assert_eq!(
            twice.findings()[0],
            "1 duplicate-key duplicate field `endTimeUnixNano` at line 1 column 193"
        );
        let backwards = line("").replace("1000000001000000000", "999999999999999999");
        let read = |text: &str| read(&OtlpJson, text);
        let detail = "1 value-impossible end 999999999999999999 < start 1000000000000000000; end left out";
        assert_eq!(read(&backwards).findings(), [detail]);
        let parts =
            [("time_to_first_token", "0.5"), ("time_in_queue", "0.2"), ("time_in_model_prefill", "0.302")];
        let over = read(&line(&latencies(&parts)));
        let detail = "1 value-impossible queue 200000000 + prefill 302000000 > ttft 500000000 ns; all kept";
        assert_eq!(over.findings(), [detail]);
        assert_eq!((over.rows(Table::Measure, &["line"]).len(), marks(&over).len()), (3, 3));
        let late = read(&line(&latencies(&[("time_to_first_token", "1.5")])));
        assert!(late.findings()[0].ends_with("> end 1000000001000000000; first_token left out"));
        assert_eq!(marks(&late).len(), 2);
        for bad in ["-0.1", "\"NaN\"", "1e300", "{}"] {
            let read = read(&line(&latencies(&[("e2e", bad)])));
            assert_eq!(
                read.findings(),
                ["1 record-shape gen_ai.latency.e2e does not hold what it should; left out"]
            );
            assert_eq!((read.counts(), read.rows(Table::Measure, &["line"]).len()), ((1, 0), 0), "{bad}");
        }
    }

    #[test]
    fn latencies_of_another_engine_have_no_definition_here() {
        let other = line(&latencies(&[("time_in_model_prefill", "0.2")])).replace("llm_request", "Req 1");
        let read = read(&OtlpJson, &other);
        assert_eq!(read.findings(), ["1 definition-unknown gen_ai.latency.* of scope ``; left out"]);
        assert_eq!((read.rows(Table::Measure, &["line"]).len(), marks(&read).len()), (0, 2));
    }

    #[test]
    fn sglang_means_other_stretches_by_the_same_names() {
        let parts = [
            ("time_to_first_token", "0.5"),
            ("time_in_model_prefill", "0.45"),
            ("time_in_model_inference", "0.9"),
        ];
        let sglang = line(&latencies(&parts))
            .replace("llm_request", " Req 1")
            .replace(r#"{"spans""#, r#"{"scope":{"name":"sglang server"},"spans""#);
        let read = read(&OtlpJson, &sglang);
        assert_eq!(read.findings(), [""; 0]);
        assert_eq!(
            read.rows(Table::Measure, &["definition", "duration_ns"]),
            [
                "sglang-span.ttft|500000000",
                "sglang-span.dispatched_ttft|450000000",
                "sglang-span.dispatched_e2e|900000000"
            ]
        );
        assert_eq!(marks(&read)[2], "1|0|first_token|1000000000500000000");
    }

    #[test]
    fn a_call_of_a_model_is_a_request_as_its_caller_saw_it() {
        let attribute = |key: &str, value: &str| format!(r#"{{"key":"{key}","value":{value}}}"#);
        let attributes = [
            attribute("gen_ai.operation.name", r#"{"stringValue":"chat"}"#),
            attribute("gen_ai.response.id", r#"{"stringValue":"chatcmpl-1"}"#),
            attribute("gen_ai.usage.input_tokens", r#"{"intValue":49}"#),
            attribute("gen_ai.usage.cache_read.input_tokens", r#"{"intValue":"16"}"#),
            attribute("gen_ai.response.time_to_first_chunk", r#"{"doubleValue":0.25}"#),
        ];
        let text = line(&format!(r#","kind":3,"attributes":[{}]"#, attributes.join(",")));
        let ok = read(&OtlpJson, &text);
        assert_eq!(
            ok.rows(Table::Request, &["hop", "response_id", "input_tokens", "cached_tokens", "outcome"]),
            ["client|chatcmpl-1|49|16|ok"]
        );
        assert_eq!(
            marks(&ok),
            [
                "1|0|send|1000000000000000000",
                "1|0|end|1000000001000000000",
                "1|0|first_chunk|1000000000250000000"
            ]
        );
        assert_eq!(ok.rows(Table::Measure, &["definition", "duration_ns"]), ["gen-ai.ttfc|250000000"]);
        // Of a call that failed no first chunk is believed.
        let failed = read(&OtlpJson, &text.replace(r#""kind":3"#, r#""kind":3,"status":{"code":2}"#));
        assert_eq!((failed.rows(Table::Measure, &["line"]).len(), marks(&failed).len()), (0, 2));
    }

    #[test]
    fn processes_do_not_share_a_clock_unless_they_are_the_same() {
        let clock = |attributes: &[(&str, &str)]| {
            let pair = |(key, value): &(&str, &str)| {
                format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#)
            };
            let attributes = attributes.iter().map(pair).collect::<Vec<_>>().join(",");
            let resource = format!(r#"{{"resource":{{"attributes":[{attributes}]}},"scopeSpans""#);
            let text = line(&latencies(&[("e2e", "0.5")])).replace(r#"{"scopeSpans""#, &resource);
            read(&OtlpJson, &text).rows(Table::Mark, &["clock"]).swap_remove(0)
        };
        let engine = ("service.name", "engine");
        assert_eq!(clock(&[engine]), "epoch:span:engine");
        assert_eq!(clock(&[engine, ("host.name", "a")]), "epoch:span:engine@a");
        assert_eq!(clock(&[engine, ("k8s.pod.name", "engine-0"), ("host.name", "a")]), "epoch:span:engine-0");
        assert_eq!(clock(&[engine, ("service.instance.id", "i"), ("k8s.pod.name", "p")]), "epoch:span:i");
        // A service without a name of its own is not the same as another of them.
        assert_eq!(clock(&[("service.name", "unknown_service:python")]), "epoch:span:0123456789ab@");
    }

    #[test]
    fn ids_come_in_base64_too() {
        let text = line("")
            .replace("5B8EFFF798038103D269B633813FC60C", "W47/95gDgQPSabYzgT/GDA==")
            .replace("EEE19B7EC3C1B174", "7uGbfsPBsXQ=");
        assert_eq!(read(&OtlpJson, &text.replacen("/95", "\\/95", 1)).findings(), [""; 0], "{text}");
        let server = text.replace("\"name\"", "\"kind\":2,\"name\"");
        assert_eq!(
            read(&OtlpJson, &server).rows(Table::Request, &["trace_id", "span_id"]),
            ["5b8efff798038103d269b633813fc60c|eee19b7ec3c1b174"]
        );
        let short = text.replace("7uGbfsPBsXQ=", "7uGbfsPBsQ==");
        assert_eq!(read(&OtlpJson, &short).counts(), (0, 1));
    }

    #[test]
    fn whose_spans_they_are_may_stand_after_them() {
        let resource = r#"{"attributes":[{"key":"service.instance.id","value":{"stringValue":"a\u0062"}}]}"#;
        let scope = r#""scope":{"name":"vllm.tracing.otel"}"#;
        let text = line(&latencies(&[("e2e", "0.5")])).replace("llm_request", "x");
        let spans = text.trim_end().strip_suffix("}]}]}]}").unwrap();
        let text = format!(r#"{spans}}}],{scope}}}],"resource":{resource}}}]}}"#);
        let read = read(&OtlpJson, &text);
        assert_eq!(read.findings(), [""; 0]);
        assert_eq!(read.rows(Table::Request, &["instance"]), ["ab"]);
        assert_eq!(read.rows(Table::Mark, &["clock"])[0], "epoch:span:ab");
        assert_eq!(read.rows(Table::Measure, &["definition", "duration_ns"]), ["vllm.e2e|500000000"]);
    }

    #[test]
    fn a_cut_line_keeps_its_whole_spans() {
        let second = VLLM.lines().nth(1).unwrap();
        let read = read(&OtlpJson, &second[..second.len() / 2]);
        assert_eq!(read.counts(), (1, 1));
        assert!(read.findings()[0].starts_with("1 truncated EOF while parsing"));
        assert_eq!(read.rows(Table::Finding, &["item"]), ["1"]);
    }

    #[test]
    fn a_bad_span_or_line_is_refused_alone() {
        let no_id = line("").replace("EEE19B7EC3C1B174", "0000000000000000");
        let scalar = line("").replace(r#""spans":[{"#, r#""spans":[7,{"#);
        let text = [&no_id, "{\n", "{}\n", "[]\n", &scalar, &line(""), r#"{"resourceSpans":[{"#].concat();
        let read = read(&OtlpJson, &text);
        let codes: Vec<_> = read.findings().iter().map(|f| f.split(' ').nth(1).unwrap().to_owned()).collect();
        assert_eq!(
            codes,
            ["record-shape", "record-not-json", "record-shape", "record-shape", "record-shape", "truncated"]
        );
        assert_eq!(read.counts(), (1, 6));
    }

    #[test]
    fn lines_are_recognised_and_documents_and_garbage_are_not() {
        for text in [
            VLLM,
            LITELLM,
            STARTUP,
            &format!("garbage\n{VLLM}"),
            &"x".repeat(70_000).replacen('x', "{\"resourceSpans\":[", 1),
        ] {
            assert!(recognises(&OtlpJson, text), "{}", &text[..40]);
        }
        let document = include_str!("../../samples/otlp_json_document/vllm.json");
        for text in ["", "garbage", "{}\n{}", r#"{"resourceMetrics":[]}"#, document] {
            assert!(!recognises(&OtlpJson, text), "{text}");
        }
    }
}
