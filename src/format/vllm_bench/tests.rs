use super::super::load_tool::tests::{Given, read};
use super::*;
use crate::row::Table;

const SAMPLE: &str = include_str!("../../../samples/vllm_bench/result.json");

const HEAD: &str =
    r#""model_id":"m","tokenizer_id":"t","num_prompts":2,"request_rate":"inf","backend":"openai-chat""#;

fn given(text: &str) -> Given {
    read(&VllmBench, text)
}

/// A run of two requests with these further fields.
fn run(fields: &str) -> String {
    format!("{{{HEAD},{fields}}}")
}

fn findings(given: &Given) -> Vec<String> {
    given.get(Table::Finding, &["line", "item", "code", "detail"])
}

#[test]
fn the_sample_is_read_to_the_nanosecond() {
    let given = given(SAMPLE);
    assert_eq!((given.1, given.2), (40, 0));
    let requests =
        given.get(Table::Request, &["line", "item", "input_tokens", "output_tokens", "outcome", "streamed"]);
    assert_eq!(requests[0], "1 0 413 14 ok true");
    assert_eq!(
        given.get(Table::Mark, &["name", "t_ns", "clock"])[..3],
        [
            "send 5487001146269 monotonic:s",
            "first_token 5487414315960 monotonic:s",
            "end 5488170226363 monotonic:s"
        ]
    );
    assert_eq!(
        given.get(Table::Measure, &["definition", "duration_ns", "unit"])[..3],
        ["vllm-bench.ttft 413169691 s", "vllm-bench.latency 1169080094 s", "vllm-bench.queue 395948 s"]
    );
    let facts = given.get(Table::Run, &["key", "value"]);
    assert!(
        facts.contains(&"request_rate inf".to_owned()) && facts.contains(&"max_concurrency 8".to_owned())
    );
    let figures = given.get(Table::Aggregate, &["metric", "statistic", "value", "unit", "n", "definition"]);
    assert!(figures.contains(&"ttft p99 3344.516043529802 ms 40 vllm-bench.ttft".to_owned()), "{figures:?}");
    assert!(figures.iter().any(|f| f.starts_with("itl mean 33.10953928167121 ms - ")));
    assert!(findings(&given).is_empty());
    let texts = given.get(Table::Run, &["value"]).concat() + &given.get(Table::Request, &["error"]).concat();
    assert!(!texts.contains("granted"), "an answer was stored");
}

#[test]
fn older_files_without_latencies_end_after_their_gaps() {
    let given = given(&run(r#""start_times":[10.5],"ttfts":[0.25],"itls":[[0.125,0.125]],"errors":[""]"#));
    let marks = given.get(Table::Mark, &["name", "t_ns"]);
    assert_eq!(marks, ["send 10500000000", "first_token 10750000000", "end 11000000000"]);
}

#[test]
fn a_failed_request_has_no_ttft_and_an_all_failed_run_no_latency() {
    let given = given(&run(
        r#""completed":0,"failed":2,"request_throughput":0.0,"mean_ttft_ms":0.0,"p99_ttft_ms":0.0,
        "start_times":[1.0,2.0],"ttfts":[0.0,0.0],"latencies":[0.0,0.0],"output_lens":[0,0],
        "errors":["Traceback:\n  x\nTimeoutError: late","refused"]"#,
    ));
    assert_eq!(
        given.get(Table::Request, &["outcome", "output_tokens", "error"]),
        ["error - TimeoutError: late", "error - refused"]
    );
    let unexplained = super::tests::given(&run(r#""ttfts":[0.0],"output_lens":[0],"errors":[""]"#));
    assert_eq!(unexplained.get(Table::Request, &["outcome", "error"]), ["error -"]);
    assert_eq!(given.get(Table::Mark, &["name"]), ["send", "send"]);
    assert!(given.get(Table::Measure, &["definition"]).is_empty());
    assert_eq!(
        given.get(Table::Aggregate, &["metric", "value"]),
        ["requests 0.0", "requests 2.0", "request_rate 0.0"]
    );
    assert_eq!(
        findings(&given),
        ["1 0 value-impossible mean ttft 0 ms with completed 0: its figures are left out"]
    );
}

#[test]
fn an_answer_without_a_chunk_and_a_contradiction_are_findings() {
    let given =
        given(&run(r#""completed":1,"ttfts":[0.0,0.5,-1.0],"latencies":[1.0,0.25,1.0],"errors":["","",""]"#));
    assert_eq!(
        findings(&given),
        [
            "1 0 no-first-token ttfts[0] 0.0: no chunk was seen",
            "1 1 value-impossible latency 250000000 ns < ttft 500000000 ns: latency left out",
            "1 2 value-impossible ttfts[2] -1000000000 ns < 0: left out",
            "1 0 value-impossible completed 1 != 3 rows without an error",
        ]
    );
    assert_eq!(
        given.get(Table::Measure, &["item", "definition"]),
        ["0 vllm-bench.latency", "1 vllm-bench.ttft", "2 vllm-bench.latency"]
    );
}

#[test]
fn arrays_of_unequal_length_refuse_the_details_and_keep_the_figures() {
    let given = given(&run(r#""mean_ttft_ms":5.5,"completed":2,"ttfts":[1.0,1.0],"errors":[""]"#));
    assert_eq!((given.1, given.2), (0, 1));
    assert_eq!(findings(&given), ["1 0 record-shape errors has 1 entries, ttfts has 2"]);
    assert_eq!(given.get(Table::Aggregate, &["metric", "value"]), ["requests 2.0", "ttft 5.5"]);
}

#[test]
fn what_is_not_streamed_has_no_first_token() {
    let text =
        run(r#""ttfts":[1.0],"latencies":[1.0],"errors":[""]"#).replace("openai-chat", "openai-embeddings");
    let given = given(&text);
    assert_eq!(given.get(Table::Request, &["streamed"]), ["false"]);
    assert_eq!(given.get(Table::Measure, &["definition"]), ["vllm-bench.latency"]);
    assert_eq!(given.get(Table::Finding, &["code"]), ["no-first-token"]);
}

#[test]
fn appended_and_pretty_printed_runs_keep_their_lines_and_survive_a_broken_one() {
    let detail = run(r#""ttfts":[1.0],"errors":[""]"#);
    let pretty = detail.replace(',', ",\n ");
    let given = given(&format!("{pretty}\n{{\"a\":\n{detail}\n{{}}\n{detail}"));
    let lines = 1 + i64::try_from(pretty.matches('\n').count()).unwrap();
    assert_eq!(
        given.get(Table::Request, &["line", "item"]),
        ["1 0".to_owned(), format!("{} 0", lines + 2), format!("{} 0", lines + 4)]
    );
    let codes = given.get(Table::Finding, &["line", "code"]);
    assert_eq!(codes, [format!("{} record-not-json", lines + 1), format!("{} record-shape", lines + 3)]);
}

#[test]
fn hostile_files_are_findings() {
    for (text, code) in [
        ("", None),
        ("{\"a\":", Some("truncated")),
        ("[1]", Some("record-shape")),
        ("{}", Some("record-shape")),
        (r#"{"a":1,"a":2}"#, Some("duplicate-key")),
        (r#"{"completed":2,"ttfts":3}"#, Some("record-shape")),
        (r#"{"ttfts":[1.0],"errors":[7]}"#, Some("record-shape")),
    ] {
        let codes = given(text).get(Table::Finding, &["code"]);
        assert_eq!(codes, code.map(str::to_owned).into_iter().collect::<Vec<_>>(), "{text}");
    }
    let huge = given(&run(
        r#""start_times":[9e9],"ttfts":[9e9],"latencies":[1e300],"errors":[""],"mean_ttft_ms":1e999"#,
    ));
    assert!(huge.get(Table::Mark, &["name"]).is_empty(), "no clock shows such times");
    assert!(huge.get(Table::Finding, &["code"]).contains(&"value-impossible".to_owned()));
    let nan = given(&run(r#""mean_ttft_ms":NaN,"x":"NaN \" NaN","duration":-Infinity,"completed":1"#));
    assert_eq!(nan.get(Table::Finding, &["code"]), ["record-not-strict"]);
    assert_eq!(nan.get(Table::Aggregate, &["metric"]), ["requests"]);
    assert!(nan.get(Table::Run, &["value"]).contains(&"NaN \" NaN".to_owned()));
}

#[test]
fn only_its_own_files_are_recognised() {
    let says = |text: &str| VllmBench.recognise(&Head::of("x", text.as_bytes())) != Match::No;
    assert!(says(SAMPLE) && says(&run("\"a\":1")));
    assert!(!says("") && !says("{}") && !says("[1]") && !says("garbage"));
}

#[test]
fn a_sweep_lists_its_runs_and_metadata_does_not_pass_for_a_setting() {
    let given = given(include_str!("../../../samples/vllm_bench/sweep_summary.json"));
    assert_eq!((given.1, given.2), (2, 0));
    let facts = given.get(Table::Run, &["line", "key", "value"]);
    for fact in
        ["2 tool vllm-bench", "2 model tiny-llama", "2 stream true", "2 num_prompts 40", "2 max_num_seqs 2"]
    {
        assert!(facts.contains(&fact.to_owned()), "{fact}: {facts:?}");
    }
    for fact in ["34 run_number 1", "34 max_num_seqs 8", "34 metadata.num_prompts forty"] {
        assert!(facts.contains(&fact.to_owned()), "{fact}: {facts:?}");
    }
    assert_eq!(
        findings(&given),
        ["34 0 value-impossible num_prompts is a text: --metadata took the place of the tool's own value"]
    );
    let figures = given.get(Table::Aggregate, &["line", "metric", "statistic", "value"]);
    assert!(figures.contains(&"34 ttft mean 700.25".to_owned()));
    assert!(figures.contains(&"2 e2el_including_client_queue mean 8100.5".to_owned()));
}

#[test]
fn gaps_that_do_not_add_up_to_the_latency_leave_it_out() {
    let one = |latency: &str| {
        given(&run(&format!(
            r#""ttfts":[0.5],"itls":[[0.1,0.2]],"latencies":[{latency}],"output_lens":[3],"errors":[""]"#
        )))
    };
    assert_eq!(one("0.8").get(Table::Measure, &["definition"]), ["vllm-bench.ttft", "vllm-bench.latency"]);
    let wrong = one("1.8");
    assert_eq!(wrong.get(Table::Measure, &["definition"]), ["vllm-bench.ttft"]);
    assert_eq!(
        findings(&wrong),
        [
            "1 0 value-impossible ttft 500000000 ns + gaps of 300000000 ns = 800000000 ns != latency 1800000000 ns: latency left out"
        ]
    );
}
