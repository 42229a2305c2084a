//! Recorded scenarios with known injected causes: the verdict names the cause, and the ledger adds up.

use crate::support::{Trial, corpora};
use probity::input::walk;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What must be said of a scenario.
enum Said {
    /// `supported`, this stage.
    Supported(&'static str),
    /// This stage, `supported` or `suggestive`.
    Named(&'static str),
    /// No tail.
    NothingSlow,
    /// No stage, because this is missing.
    Missing(&'static str),
    /// Two causes at once, neither of which may be ruled out: no stage but this, and never as `supported`.
    AtMost(&'static str),
}
use Said::{AtMost, Missing, Named, NothingSlow, Supported};

macro_rules! scenarios {
    ($($name:ident: $folder:literal => $said:expr;)+) => { $(
        #[test]
        fn $name() {
            if let Some(lab) = corpora("lab") {
                scenario(&lab.join($folder), &$said);
            }
        }
    )+ };
}

scenarios! {
    vllm_healthy: "vllm/s0_healthy_a" => NothingSlow;
    gateway_wait: "vllm/s1_gateway_wait" => Supported("ingress");
    server_queue: "vllm/s2_server_queue" => Supported("queue");
    queue_behind_litellm: "vllm/s2_queue_litellm" => Supported("queue");
    cold_start: "vllm/s3_cold_start_cached" => Supported("ready");
    prefill: "vllm/s4_prefill" => Supported("prefill");
    experiment_baseline_1: "vllm/s7_experiment/baseline_r1" => Supported("queue");
    experiment_baseline_2: "vllm/s7_experiment/baseline_r2" => Supported("queue");
    experiment_baseline_3: "vllm/s7_experiment/baseline_r3" => Supported("queue");
    experiment_trial_1: "vllm/s7_experiment/trial_r1" => AtMost("prefill");
    experiment_trial_2: "vllm/s7_experiment/trial_r2" => AtMost("prefill");
    experiment_trial_3: "vllm/s7_experiment/trial_r3" => AtMost("prefill");
    experiment_rollback_1: "vllm/s7_experiment/rollback_r1" => Supported("queue");
    experiment_rollback_2: "vllm/s7_experiment/rollback_r2" => Supported("queue");
    experiment_rollback_3: "vllm/s7_experiment/rollback_r3" => Supported("queue");
    guardrail_baseline: "vllm/s8_guardrail/baseline" => Named("queue");
    guardrail_trial: "vllm/s8_guardrail/trial" => NothingSlow;
    clock_skew: "vllm/s10_clock_skew" => Supported("queue");
    no_traces: "vllm/s11_no_traces" => Missing("no-engine");
    aiperf_healthy: "vllm/tool_aiperf_healthy" => NothingSlow;
    guidellm_queue: "vllm/tool_guidellm_queue" => Supported("queue");
    vllm_bench_queue: "vllm/tool_vllm_bench_queue" => Supported("queue");
    llama_queue: "llamacpp/s2_server_queue" => Supported("queue");
    llama_prefill: "llamacpp/s4_prefill" => Supported("prefill");
}

fn scenario(folder: &Path, said: &Said) {
    let trial = Trial::new();
    trial.load(&[folder.to_path_buf()], &[]).exits(0);
    let verdict = &trial.diagnosis()["verdict"];
    let (word, stage) = (verdict["word"].as_str().unwrap(), verdict["stage"].as_str());
    let fits = match said {
        Supported(true_stage) => (word, stage) == ("supported", Some(true_stage)),
        Named(true_stage) => word != "insufficient_evidence" && stage == Some(true_stage),
        NothingSlow => (word, stage) == ("nothing_slow", None),
        Missing(reason) => {
            let missing = verdict["missing"].as_array().unwrap();
            (word, stage) == ("insufficient_evidence", None) && missing.iter().any(|m| m == reason)
        }
        AtMost(one) => word != "supported" && stage.is_none_or(|stage| stage == *one),
    };
    assert!(fits, "{verdict}");
    stages_add_up(&trial);
    let truth = std::fs::read(folder.join("truth.json")).unwrap();
    means_agree(&trial, &serde_json::from_slice::<Value>(&truth).unwrap()["measured"]);
}

/// Stages add up to the time to first token to the nanosecond, and their bounds hold it.
fn stages_add_up(trial: &Trial) {
    let rows = trial.sql(
        "SELECT exchange, any_value(x.ttft_ns) AS ttft, CAST(SUM(l.ns) AS BIGINT) AS ns,
           CAST(SUM(l.low_ns) AS BIGINT) AS low, CAST(SUM(l.high_ns) AS BIGINT) AS high,
           CAST(COUNT(*) FILTER (l.ns IS NOT NULL AND NOT (l.low_ns <= l.ns AND l.ns <= l.high_ns)) AS BIGINT) AS outside
         FROM exchange x JOIN ledger l USING (candidate, exchange, row) WHERE x.ttft_ns IS NOT NULL
         GROUP BY candidate, exchange, row ORDER BY exchange",
    );
    assert!(!rows.is_empty());
    for row in rows {
        let ns = |key: &str| row[key].as_i64().unwrap();
        assert_eq!((ns("ns"), ns("outside")), (ns("ttft"), 0), "{row}");
        assert!(ns("low") <= ns("ttft") && ns("ttft") <= ns("high"), "{row}");
    }
}

/// Means and joins agree with those that another program computed from the same files, rounded to 0.1 ms.
fn means_agree(trial: &Trial, truth: &Value) {
    let ours = trial.sql(
        "SELECT AVG(attempt_ttft_ns) / 1e6 AS ttft, AVG(queue_ns) / 1e6 AS queue, AVG(prefill_ns) / 1e6 AS prefill,
           CAST(COUNT(*) FILTER (gateway_row IS NOT NULL AND engine_row IS NOT NULL) AS BIGINT) AS gateway_and_engine,
           CAST(COUNT(*) FILTER (gateway_row IS NOT NULL) AS BIGINT) AS gateway
         FROM exchange WHERE ttft_ns IS NOT NULL",
    );
    let ours = &ours[0];
    let stages = &truth["stage_mean_ms"];
    let means = [
        ("ttft", &truth["ttft_mean_ms"]),
        ("queue", &stages["server_queue"]),
        ("prefill", &stages["server_prefill"]),
        ("prefill", &stages["server_prefill_prompt_ms"]),
        ("queue", &truth["server_mean_ms"]["time_in_queue"]),
        ("prefill", &truth["server_mean_ms"]["time_in_model_prefill"]),
    ];
    let mut compared = 0;
    for (name, theirs) in means {
        if let Some(theirs) = theirs.as_f64() {
            let mean = ours[name].as_f64().unwrap();
            assert!((mean - theirs).abs() <= 1.05, "{name}: {mean} and {theirs} ms");
            compared += 1;
        }
    }
    assert!(compared > 0, "{truth} has nothing to compare with");
    for (name, key) in
        [("gateway_and_engine", "ok_joined_client_gateway_span"), ("gateway", "ok_joined_client_gateway")]
    {
        if let Some(joined) = truth[key].as_i64() {
            assert_eq!(ours[name].as_i64(), Some(joined), "{key}");
        }
    }
}

#[test]
fn a_shifted_clock_is_found_between_bounds() {
    let Some(lab) = corpora("lab/vllm/s10_clock_skew") else { return };
    let trial = Trial::new();
    trial.load(&[lab], &[]).exits(0);
    let rows = trial.sql(
        "SELECT DISTINCT r.hop, m.clock FROM request r JOIN mark m ON m.row = r.row WHERE m.clock LIKE 'epoch:%'",
    );
    let clock = |hop: &str| {
        let mine: Vec<_> =
            rows.iter().filter(|r| r["hop"] == hop).map(|r| r["clock"].as_str().unwrap()).collect();
        assert_eq!(mine.len(), 1, "one {hop} clock in {rows:?}");
        mine[0]
    };
    let diagnosis = trial.diagnosis();
    for other in ["gateway", "engine"] {
        let (client, other) = (clock("client"), clock(other));
        let (sign, offset) = diagnosis["clocks"]
            .as_array()
            .unwrap()
            .iter()
            .find_map(|o| match (o["a"].as_str()?, o["b"].as_str()?) {
                (a, b) if (a, b) == (other, client) => Some((1, o)),
                (a, b) if (a, b) == (client, other) => Some((-1, o)),
                _ => None,
            })
            .unwrap();
        let skew = sign * 1_700_000_000;
        assert!(
            offset["low"].as_i64().unwrap() <= skew && skew <= offset["high"].as_i64().unwrap(),
            "{offset}"
        );
        let width = offset["high"].as_i64().unwrap() - offset["low"].as_i64().unwrap();
        assert!(width < 20_000_000, "the interval says little: {offset}");
    }
}

/// Whatever file is missing, no other stage is blamed.
fn never_another_stage(folder: &str, stage: &str) {
    let Some(folder) = corpora("lab").map(|lab| lab.join(folder)) else { return };
    // Scrapes are many, and hold no requests.
    let files: Vec<PathBuf> = walk(std::slice::from_ref(&folder))
        .unwrap()
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| !path.components().any(|c| c.as_os_str() == "snapshots" || c.as_os_str() == "config"))
        .collect();
    let all_of = |part: &str| files.iter().filter(|f| f.starts_with(folder.join(part))).cloned().collect();
    let mut dropped: Vec<Vec<PathBuf>> = files.iter().map(|file| vec![file.clone()]).collect();
    dropped.extend(["client", "gateway", "server", "traces"].map(all_of));
    // A part of what the exporter sent is dropped with its whole: one of eight is as good as another.
    let a_part = |drop: &[PathBuf]| drop.len() == 1 && drop[0].extension() == Some("pb".as_ref());
    let mut named = 0;
    for drop in dropped.iter().filter(|drop| !a_part(drop) && !drop.is_empty()) {
        let rest: Vec<_> = files.iter().filter(|file| !drop.contains(file)).cloned().collect();
        let trial = Trial::new();
        let code = trial.load(&rest, &[]).code;
        assert!(code == 0 || code == 2, "some of these files are of no format");
        let verdict = &trial.diagnosis()["verdict"];
        let blamed = (verdict["word"].as_str(), verdict["stage"].as_str());
        assert!(blamed.0 != Some("supported") || blamed.1 == Some(stage), "without {drop:?}: {verdict}");
        named += u32::from(blamed.1 == Some(stage));
    }
    assert!(named > 0, "some file is not needed");
}

#[test]
fn a_missing_file_never_moves_the_blame_vllm() {
    never_another_stage("vllm/s2_server_queue", "queue");
}

#[test]
fn a_missing_file_never_moves_the_blame_behind_haproxy() {
    never_another_stage("llamacpp/s2_server_queue", "queue");
}

#[test]
fn a_missing_file_never_moves_the_blame_from_the_gateway() {
    never_another_stage("vllm/s1_gateway_wait", "ingress");
}
