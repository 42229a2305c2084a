//! Public cases of invalid evidence, in place: each yields what its `expected.json` asks for, and the controls nothing.

use crate::support::{Trial, checkout, corpora};
use serde_json::Value;
use std::path::PathBuf;

/// A trial with the files of a case loaded, `case.md` and `expected.json` aside.
struct Case {
    trial: Trial,
}

impl Case {
    /// The case of this number, with a mapping for its tables where they are of no tool.
    fn open(number: &str, map: Option<&str>) -> Option<Case> {
        let cases = corpora("cases")?;
        let mut folders: Vec<PathBuf> =
            std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()).collect();
        folders.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with(number));
        let [folder] = folders.as_slice() else { panic!("{folders:?}") };
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| !path.ends_with("case.md") && !path.ends_with("expected.json"));
        files.retain(|path| map.is_none() || path.extension() == Some("jsonl".as_ref()));
        files.sort();
        let map = map.map(|name| checkout("tests/mapping").join(name).display().to_string());
        let options: Vec<&str> = map.iter().flat_map(|map| ["--map", map]).collect();
        let trial = Trial::new();
        trial.load(&files, &options).exits(0);
        Some(Case { trial })
    }

    /// `code: detail` of every finding of the diagnosis.
    fn findings(&self) -> Vec<String> {
        let diagnosis = self.trial.diagnosis();
        let text = |f: &Value, key: &str| f[key].as_str().unwrap().to_owned();
        let findings = diagnosis["findings"].as_array().unwrap().iter();
        findings.map(|f| format!("{}: {}", text(f, "code"), text(f, "detail"))).collect()
    }

    /// Some finding of the code holds every part.
    #[track_caller]
    fn says(&self, code: &str, parts: &[&str]) {
        let all = self.findings();
        let fits =
            |f: &&String| f.starts_with(&format!("{code}: ")) && parts.iter().all(|part| f.contains(part));
        assert!(all.iter().any(|f| fits(&f)), "{code} with {parts:?} in {all:#?}");
    }

    /// No finding holds any of the parts, and the verdict names no stage and shows no percentile.
    #[track_caller]
    fn is_judged_on_nothing(&self, reason: &str) {
        let diagnosis = self.trial.diagnosis();
        assert_eq!(diagnosis["verdict"]["word"], "insufficient_evidence");
        assert!(diagnosis["verdict"]["stage"].is_null());
        assert_eq!(diagnosis["verdict"]["missing"][0], reason);
        assert!(diagnosis["ttft"].as_array().unwrap().iter().all(|p| p["value_ns"].is_null()), "{diagnosis}");
        assert_eq!(self.trial.run(["diagnose"]).code, 1);
    }
}

#[test]
fn an_offered_rate_twice_the_achieved_is_saturation() {
    let Some(case) = Case::open("01", None) else { return };
    case.says(
        "over-saturated",
        &["offered 12 requests/s > achieved 5.8", "not in a steady state", "12.58 s", "54.38 s"],
    );
    // No per-request record: nothing is split into queue and prefill.
    case.is_judged_on_nothing("no-client");
}

#[test]
fn ten_requests_of_a_cold_run_give_no_p99() {
    let Some(case) = Case::open("02", None) else { return };
    case.says("percentile-too-few", &["p99 of 10 requests", "at least 100"]);
    case.says("warm-up-counted", &["231.4 ms", "27.44 ms", "10 requests", "repeat it on the warm server"]);
    case.is_judged_on_nothing("no-client");
}

#[test]
fn a_gateway_that_buffers_is_not_slow_prefill() {
    let Some(case) = Case::open("05", Some("chunks.toml")) else { return };
    case.says(
        "response-buffered",
        &[
            "gateway: 60 chunks",
            "250 ms apart",
            "the first at 500 ms",
            "bursts of up to 60",
            "(gateway) buffers",
        ],
    );
    assert!(!case.findings().iter().any(|f| f.contains("direct: ")), "the direct path streams");
    case.is_judged_on_nothing("no-client");
}

#[test]
fn a_histogram_below_a_step_of_the_scheduler_is_void() {
    let Some(case) = Case::open("23", None) else { return };
    case.says(
        "ttft-implausible",
        &["0.07285 ms", "8060 of 8060 observations (100 %) lie in the lowest bucket", "0.1 s"],
    );
    case.is_judged_on_nothing("invalid-evidence");
    let diagnosis = case.trial.diagnosis();
    assert_eq!(diagnosis["averages"], Value::Array(Vec::new()), "no figure rests on it");
    assert_eq!(diagnosis["void"][0]["codes"][0], "ttft-implausible");
}

#[test]
fn a_span_between_two_clocks_is_void_and_not_clamped() {
    let Some(case) = Case::open("29", Some("spans.toml")) else { return };
    case.says(
        "clock-jump",
        &[
            "237.5 s",
            "at least 4 minutes",
            "epoch:database",
            "epoch:process",
            "void",
            "1 spans are written as 0 long: clamped",
        ],
    );
    case.is_judged_on_nothing("invalid-evidence");
}

#[test]
fn without_a_stream_ttft_was_not_measured() {
    let Some(case) = Case::open("33", None) else { return };
    case.says("not-streamed", &["the requests were not streamed", "TTFT is not measurable from this run"]);
    case.says("one-wave", &["50 requests at a concurrency of 50 = one wave"]);
    case.is_judged_on_nothing("invalid-evidence");
}

#[test]
fn a_sweep_past_its_knee_with_a_capped_client() {
    let Some(case) = Case::open("35", None) else { return };
    case.says("sweep-knee", &["between 92.19 and 122.6", "105.6 to 106.5"]);
    case.says(
        "over-saturated",
        &["offered 183.4", "achieved 106.5", "schedule delay median 19.45 s, p99 42.71 s", "stage 6"],
    );
    case.says(
        "cap-hides-wait",
        &["limit of 440 in flight / 106.5 requests/s = 4.13 s", "mean latency is 4.143 s", "stage 6"],
    );
    case.says("population-mismatch", &["21904", "11002", "stage 6", "ratio 1.991"]);
    case.says("token-count-mismatch", &["18190", "204.1", "stage 6"]);
    case.says("percentile-interpolated", &["ttft", "median 3.684", "mean is 2.948"]);
    case.says("zero-not-measured", &["kv_cache_usage", "217 requests wait", "stage 6"]);
    // Stages that keep up are not accused.
    let saturated: Vec<_> = case.findings().into_iter().filter(|f| f.starts_with("over-saturated")).collect();
    assert_eq!(saturated.len(), 3, "{saturated:?}");
    case.is_judged_on_nothing("no-client");
}

#[test]
fn controls_yield_nothing() {
    for number in ["43", "44"] {
        let Some(case) = Case::open(number, None) else { return };
        assert_eq!(case.findings(), Vec::<String>::new(), "case {number}");
        let sources = case.trial.run(["sources", "--json"]).exits(0).json();
        let sources = sources.as_array().unwrap();
        assert!(
            !sources.is_empty()
                && sources.iter().all(|s| s["void"] == false && s["findings"] == Value::Array(Vec::new()))
        );
    }
}

/// A client timeline of 40 requests whose first token comes `decode_ns` before the end.
fn timeline(decode_ns: i64) -> String {
    let line = |i: i64| {
        let send = 1_796_077_007_000_000_000 + i * 1_000_000_000;
        let end = send + 900_000_000 + i;
        serde_json::json!({
            "request_id": format!("r{i}"), "attempt": 0, "model": "m", "scheduled_ns": send, "send_ns": send,
            "headers_ns": send + 1, "first_chunk_ns": end - decode_ns, "first_token_ns": end - decode_ns,
            "last_token_ns": end, "end_ns": end, "input_tokens": 5, "output_tokens": 20, "status": 200,
        })
        .to_string()
    };
    (1..=40).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn void_evidence_is_never_a_pass_and_gives_no_percentile() {
    let trial = Trial::new();
    let good = trial.file("good.jsonl", timeline(300_000_000).as_bytes());
    trial.load(&[good], &[]).exits(0);
    assert_eq!(trial.diagnosis()["verdict"]["word"], "nothing_slow");

    let trial = Trial::new();
    let file = trial.file("whole.jsonl", timeline(0).as_bytes());
    let loaded = trial.load(&[file], &[]).exits(0).json();
    assert!(
        loaded[0]["findings"][0].as_str().unwrap().contains("[ttft-is-total] TTFT 900 ms of 900 ms"),
        "{loaded}"
    );
    let c = trial.diagnosis();
    assert_eq!(
        (&c["verdict"]["word"], &c["verdict"]["missing"][0]),
        (&"insufficient_evidence".into(), &"invalid-evidence".into())
    );
    assert!(c["ttft"].as_array().unwrap().iter().all(|p| p["void"] == true && p["value_ns"].is_null()));
    assert_eq!(
        (&c["stated"], &c["slowest"], &c["groups"]),
        (&Value::Array(vec![]), &Value::Array(vec![]), &Value::Array(vec![]))
    );
    let sources = trial.run(["sources", "--json"]).exits(0).json();
    assert_eq!(
        (&sources[0]["void"], &sources[0]["findings"][0]["code"]),
        (&true.into(), &"ttft-is-total".into())
    );
    for (lang, void, asks) in [
        ("en", "void: ttft-is-total", "probity explain CODE"),
        ("zh", "无效：ttft-is-total", "probity explain CODE"),
    ] {
        let told = trial.run(["--lang", lang, "diagnose"]);
        assert_eq!(told.code, 1);
        assert!(
            told.out.contains(void) && told.out.contains(asks) && !told.out.contains("900 ms"),
            "{}",
            told.out
        );
        let explained = trial.run(["--lang", lang, "explain", "ttft-is-total"]).exits(0);
        assert!(explained.out.contains("text/event-stream"), "{}", explained.out);
    }
    trial.run(["report"]).exits(0);
    let page = std::fs::read_to_string(trial.path().join("report/report.en.html")).unwrap();
    assert!(page.contains("void: ttft-is-total") && page.contains("the first token came with the last"));
    // What was found is derived, and derived again when it is lost.
    std::fs::remove_dir_all(trial.path().join("ledger")).unwrap();
    assert_eq!(trial.diagnosis()["verdict"]["missing"][0], "invalid-evidence");
}
