//! Real files of load tools and public workloads, read in place: what they are, and the identities that hold in them.

use crate::support::{Trial, corpora};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Loads files of the corpora and holds each to its format; none may be refused anything.
fn load(folder: &Path, files: &[(&str, &str)]) -> Trial {
    let trial = Trial::new();
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    let loaded = trial.load(&paths, &[]).exits(0).json();
    for (file, (name, format)) in loaded.as_array().unwrap().iter().zip(files) {
        assert_eq!(
            (&file["outcome"], &file["format"]),
            (&"loaded".into(), &(*format).into()),
            "{name}: {file}"
        );
        assert!(file["read"].as_i64() > Some(0) && file["refused"] == 0, "{name}: {file}");
    }
    trial
}

fn figure(trial: &Trial, file: &str, metric: &str, statistic: &str) -> f64 {
    let rows = trial.sql(&format!(
        "SELECT a.value FROM aggregate a JOIN source s ON s.source = a.source \
         WHERE s.name LIKE '%{file}' AND a.metric = '{metric}' AND a.statistic = '{statistic}'"
    ));
    let [row] = rows.as_slice() else { panic!("{} of {metric} {statistic} in {file}", rows.len()) };
    row["value"].as_f64().unwrap()
}

fn count(trial: &Trial, query: &str) -> i64 {
    trial.sql(&format!("SELECT COUNT(*) AS n FROM {query}"))[0]["n"].as_i64().unwrap()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} is not {b}");
}

#[test]
fn a_sweep_of_inference_perf_shows_the_wait_that_the_cap_hides() {
    let Some(cases) = corpora("cases") else { return };
    let mut files = vec![("config.yaml".to_owned(), "inference_perf_config")];
    for stage in 0..7 {
        files.push((format!("stage_{stage}_lifecycle_metrics.json"), "inference_perf"));
        files.push((format!("stage_{stage}_prometheus_metrics.json"), "inference_perf_prometheus"));
    }
    let files: Vec<_> = files.iter().map(|(name, format)| (name.as_str(), *format)).collect();
    let trial = load(&cases.join("35-sweep-knee-client-cap"), &files);
    let client = |metric, statistic| figure(&trial, "stage_6_lifecycle_metrics.json", metric, statistic);
    near(client("request_rate_offered", "value"), 183.38);
    near(client("request_rate", "value"), 106.547_596_731_285_57);
    near(client("schedule_delay", "median"), 19.452_082_212_490_495);
    near(client("schedule_delay", "p99"), 42.714_756_896_392_21);
    near(client("requests", "completed"), 11002.0);
    near(figure(&trial, "stage_6_prometheus_metrics.json", "requests", "completed"), 21904.0);
    near(figure(&trial, "stage_6_prometheus_metrics.json", "queue_length", "mean"), 217.0);
    assert_eq!(count(&trial, "run WHERE key = 'load.worker_max_concurrency' AND value = '10'"), 1);
    assert_eq!(count(&trial, "run WHERE key = 'stage' AND value = '6'"), 2);
    assert_eq!(count(&trial, "request"), 0);
}

#[test]
fn summaries_of_llmperf_are_over_the_good_individual_responses() {
    let Some(formats) = corpora("formats/llmperf") else { return };
    for service in ["groq", "bedrock", "anyscale"] {
        let [each, summary] = ["individual", "summary"].map(|part| format!("{service}_70b_{part}.json"));
        let trial = load(&formats, &[(&each, "llmperf_individual"), (&summary, "llmperf_summary")]);
        for (definition, metric) in [("llmperf.ttft", "ttft"), ("llmperf.latency", "e2e")] {
            let rows = trial.sql(&format!(
                "SELECT COUNT(*) AS n, AVG(duration_ns) / 1e9 AS mean, MAX(duration_ns) / 1e9 AS most \
                 FROM measure WHERE definition = '{definition}'"
            ));
            let of = |key: &str| rows[0][key].as_f64().unwrap();
            near(of("n"), figure(&trial, &summary, "requests", "completed"));
            assert!(
                (of("mean") - figure(&trial, &summary, metric, "mean")).abs() < 1e-9,
                "{service} {metric}"
            );
            assert!(
                (of("most") - figure(&trial, &summary, metric, "max")).abs() < 1e-9,
                "{service} {metric}"
            );
        }
        let failed = trial.sql("SELECT COUNT(*) AS n FROM request WHERE outcome = 'error'");
        near(failed[0]["n"].as_f64().unwrap(), figure(&trial, &summary, "requests", "failed"));
        // What it calls inter-token latency is the latency over the tokens, first token included.
        let latency = figure(&trial, &summary, "e2e", "mean");
        let tokens = figure(&trial, &summary, "output_tokens", "mean");
        let each = figure(&trial, &summary, "normalized_time_per_output_token", "mean") * tokens;
        assert!((each / latency - 1.0).abs() < 0.05, "{service}: {each} {latency}");
    }
}

#[test]
fn reports_of_other_tools_are_read() {
    let Some(formats) = corpora("formats") else { return };
    let trial = load(
        &formats,
        &[
            ("guidellm/guidellm_report_v2.json", "guidellm"),
            ("inference-perf/config.yaml", "inference_perf_config"),
            ("inference-perf/inference_perf_lifecycle.yaml", "inference_perf"),
            ("inference-perf/vllm_summary_lifecycle_metrics.json", "inference_perf"),
            ("llm-d-benchmark-report/br_v0_1_example.yaml", "llmd_report"),
            ("llm-d-benchmark-report/br_v0_2_example.yaml", "llmd_report"),
            ("llm-d-benchmark-report/br_v0_2_1_example.yaml", "llmd_report"),
            ("mlperf/mlperf_log_detail_excerpt.txt", "mlperf_detail"),
        ],
    );
    near(figure(&trial, "mlperf_log_detail_excerpt.txt", "ttft", "p99"), 1_936_541_021.0);
    near(figure(&trial, "br_v0_1_example.yaml", "ttft", "p90"), 2.269_595_491_350_63);
    near(figure(&trial, "br_v0_2_1_example.yaml", "ttft", "p99.9"), 0.057_014_757_215_045_425);
    let found = trial.sql("SELECT detail FROM finding WHERE code = 'value-impossible' ORDER BY detail");
    let found: Vec<_> = found.iter().map(|row| row["detail"].as_str().unwrap()).collect();
    for said in [
        "result_overlatency_query_count 761856 over a target of 0 ns",
        "result_token_throughput 0.00000000620121 <",
        "the run ends at 1749570580.1030924 s, before it starts at 1749570583.5714512 s",
        "bandwidth min 19445.2347 > p10 13456.5367",
    ] {
        assert!(found.iter().any(|detail| detail.contains(said)), "{said} in {found:#?}");
    }
}

#[test]
fn a_run_in_json_and_in_csv_states_the_same_figures() {
    let Some(tool) = corpora("lab/vllm/tool_guidellm_queue/tool") else { return };
    let trial = load(&tool, &[("benchmarks.json", "guidellm"), ("benchmarks.csv", "guidellm_csv")]);
    let figures = |file: &str| -> Vec<Value> {
        trial.sql(&format!(
            "SELECT metric, statistic, value, unit, definition FROM aggregate a JOIN source s ON s.source = a.source \
             WHERE s.name LIKE '%{file}' AND metric <> 'client_queue_time' AND statistic NOT IN ('p50', 'p99.9') \
             ORDER BY metric, statistic"
        ))
    };
    let (json, csv) = (figures("benchmarks.json"), figures("benchmarks.csv"));
    assert!(csv.len() > 100, "{}", csv.len());
    assert_eq!(json, csv);
}

#[test]
fn workloads_are_request_sets_and_no_exchanges() {
    let Some(formats) = corpora("formats") else { return };
    let trial = load(
        &formats,
        &[
            ("public-traces/azure_format_trace.csv", "azure_trace"),
            ("public-traces/burstgpt_rows.csv", "burstgpt"),
            ("public-traces/mooncake_conversation_prefix.jsonl", "mooncake_trace"),
            ("dynamo/mooncake.jsonl", "mooncake_trace"),
            ("dynamo/mooncake_tiny.jsonl", "mooncake_trace"),
            ("otel-flattened/simple_chain.json", "otel_flattened"),
            ("otel-flattened/parallel_requests.json", "otel_flattened"),
        ],
    );
    assert_eq!(count(&trial, "request WHERE phase = 'workload'"), count(&trial, "request"));
    assert!(count(&trial, "request") > 40);
    assert_eq!(count(&trial, "exchange"), 0);
    assert_eq!(count(&trial, "measure"), 0);
}
