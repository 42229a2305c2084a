//! `SGLang`'s `bench_serving` results: one JSON object a line and run, as vLLM's in shape.
//!
//! Rows (`--output-details`) have neither times nor ids, so nothing places them; a request rate without limit is
//! written `Infinity`, which is not JSON; with `--disable-stream` the TTFT is the latency.

use super::{Context, Format, Match, Reader, serving, vllm_bench};
use crate::input::Head;
use crate::row::Hop;

/// The result file of `SGLang`'s benchmark.
pub struct SglangBench;

impl Format for SglangBench {
    fn id(&self) -> &'static str {
        "sglang_bench"
    }

    fn title(&self) -> &'static str {
        "SGLang bench_serving result"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "transport", "aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["\"backend\"", "\"request_rate\""];
        // A server's description longer than the head stands before the figures.
        let further = ["\"mean_e2e_latency_ms\"", "\"server_info\"", "\"total_output_tokens_retokenized\""];
        let ours = head.first_byte() == Some(b'{')
            && keys.iter().all(|key| head.contains(key))
            && further.iter().any(|key| head.contains(key))
            && !head.contains("\"tokenizer_id\"");
        Match::when(ours, "backend, request_rate, mean_e2e_latency_ms")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.monotonic());
        Reader::Document(Box::new(move |bytes, rows| {
            vllm_bench::read(bytes, serving::SGLANG, hop, &clock, rows);
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/sglang_bench/results.jsonl");

    #[test]
    fn figures_facts_and_rows_are_read() {
        let read = read(&SglangBench, SAMPLE);
        assert_eq!(read.counts(), (5, 0));
        let facts = read.rows(Table::Run, &["line", "key", "value"]);
        for fact in [
            "1|tool|sglang-bench",
            "1|request_rate|inf",
            "1|max_concurrency|2",
            "1|server_version|0.5.6",
            "1|model|tiny-llama",
            "2|stream|false",
            "2|request_rate|4.0",
        ] {
            assert!(facts.contains(&fact.to_owned()), "{fact}: {facts:?}");
        }
        assert!(!facts.concat().contains("secret"), "a key was stored");
        assert_eq!(
            read.rows(Table::Request, &["item", "input_tokens", "output_tokens", "outcome", "error"])[..4],
            ["0|20|4|ok|~", "1|30|3|ok|~", "2|25|~|error|ServerDisconnectedError", "3|40|5|ok|~"]
        );
        assert_eq!(
            read.rows(Table::Measure, &["item", "definition", "duration_ns"]),
            ["0|sglang-bench.ttft|50000000", "1|sglang-bench.ttft|70000000", "3|sglang-bench.ttft|60000000"]
        );
        assert!(read.rows(Table::Mark, &["name"]).is_empty(), "there is no time in this file");
        let figures =
            read.rows(Table::Aggregate, &["line", "metric", "statistic", "value", "n", "definition"]);
        assert!(figures.contains(&"1|ttft|mean|60|3|sglang-bench.ttft".to_owned()), "{figures:?}");
        assert!(figures.contains(&"1|concurrency|mean|1.7|~|".to_owned()));
        assert!(figures.iter().all(|f| !f.starts_with("2|ttft")), "a TTFT that was none");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let findings = read(&SglangBench, SAMPLE).findings();
        assert!(findings[0].starts_with("0 record-not-strict"));
        assert!(findings[1].starts_with("2 no-first-token"), "{findings:?}");
        let broken = SAMPLE.replacen("\"itls\":[[", "\"itls\":[[1],[", 1);
        assert!(read(&SglangBench, &broken).findings().iter().any(|f| f.contains("record-shape")));
    }

    #[test]
    fn neither_vllm_nor_another_object_is_recognised() {
        assert!(recognises(&SglangBench, SAMPLE));
        assert!(!recognises(&vllm_bench::VllmBench, SAMPLE));
        assert!(!recognises(&SglangBench, "{\"backend\":\"x\",\"request_rate\":1}"));
    }
}
