//! Hostile files: whatever is wrong with a line is said with its code and place, and the rest is read.

use crate::support::{Ran, Trial, checkout, sample};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

/// Line formats whose every line is a JSON record, with a sample.
const JSON_LINES: [&str; 9] = [
    "aiperf/profile_export.jsonl",
    "client_timeline/retries.jsonl",
    "haproxy_access/haproxy.stdout.log",
    "health_poll/health_poll.jsonl",
    "litellm_log/litellm.log",
    "nginx_access/delayed.jsonl",
    "otlp_json/vllm.otlp.jsonl",
    "request_plan/plan.jsonl",
    "scrape_manifest/scrapes.jsonl",
];
/// Logs with free text between their records.
const LOGS: [&str; 3] = ["llama_log/llama-server.log", "nginx_error/error.log", "vllm_log/vllm.log"];
/// An exposition; its time stands in the file's name.
const METRICS: &str = "prometheus_text/metrics_1796073822065.prom";

fn all() -> Vec<&'static str> {
    JSON_LINES.into_iter().chain(LOGS).chain([METRICS]).collect()
}

/// A way to change a file's bytes.
type Damage<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

/// Loads the damaged samples in one go: what became of each, by the sample's path.
fn load_all(samples: &[&'static str], damage: impl Fn(&[u8]) -> Vec<u8>) -> BTreeMap<&'static str, Value> {
    let trial = Trial::new();
    let put = |path: &&str| -> PathBuf {
        let (format, name) = path.split_once('/').unwrap();
        std::fs::create_dir_all(trial.path().join(format)).unwrap();
        trial.file(&format!("{format}/{name}"), &damage(&sample(path)))
    };
    let files: Vec<PathBuf> = samples.iter().map(put).collect();
    let Value::Array(loaded) = trial.load(&files, &[]).exits(0).json() else { panic!("no list") };
    samples.iter().copied().zip(loaded).collect()
}

fn counts(loaded: &Value) -> (i64, i64) {
    (loaded["read"].as_i64().unwrap(), loaded["refused"].as_i64().unwrap())
}

fn has(loaded: &Value, line: usize, code: &str) -> bool {
    let here = format!(":{line} [{code}]");
    loaded["findings"].as_array().unwrap().iter().any(|f| f.as_str().unwrap().contains(&here))
}

/// Puts a line of these bytes behind the second line, as the third.
fn third(bytes: &[u8], line: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    let line = [line, b"\n"].concat();
    lines.insert(2, &line);
    lines.concat()
}

#[test]
fn other_encodings_line_ends_and_compressions_read_the_same() {
    let whole = load_all(&all(), <[u8]>::to_vec);
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let utf16 = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xff, 0xfe].into_iter().chain(units).collect()
    };
    let crlf = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace('\n', "\r\n").into_bytes();
    let ways: [(&str, Damage); 5] = [
        ("byte-order mark", &|bytes| [b"\xef\xbb\xbf", bytes].concat()),
        ("CRLF", &crlf),
        ("UTF-16", &utf16),
        ("gzip", &gzip),
        ("zstd", &|bytes| zstd::encode_all(bytes, 1).unwrap()),
    ];
    for (way, damage) in ways {
        for (path, loaded) in load_all(&all(), damage) {
            for key in ["outcome", "format", "hop", "read", "refused", "findings"] {
                assert_eq!(loaded[key], whole[path][key], "{path} as {way}: {key}");
            }
        }
    }
}

#[test]
fn a_cut_last_line_is_called_truncated() {
    let whole = load_all(&JSON_LINES, <[u8]>::to_vec);
    let cut = |bytes: &[u8]| bytes[..bytes.len() - 3].to_vec();
    for (path, loaded) in load_all(&JSON_LINES, cut) {
        // HAProxy's last line is a notice, which may end anywhere.
        if path.starts_with("haproxy") {
            continue;
        }
        let lines = String::from_utf8(sample(path)).unwrap().lines().count();
        let (read, refused) = counts(&loaded);
        assert_eq!(refused, 1, "{loaded}");
        if path.starts_with("otlp") {
            // One line holds many spans: those before the cut are read.
            assert!(read <= counts(&whole[path]).0 && loaded["findings"].to_string().contains("[truncated]"));
        } else {
            assert!(has(&loaded, lines, "truncated"), "{loaded}");
            assert_eq!(read, counts(&whole[path]).0 - 1);
        }
    }
}

#[test]
fn a_garbage_line_is_refused_and_the_rest_is_read() {
    let whole = load_all(&all(), <[u8]>::to_vec);
    let garbage = load_all(&all(), |bytes| third(bytes, b"%%% not a record {"));
    for path in JSON_LINES {
        assert!(has(&garbage[path], 3, "record-not-json"), "{}", garbage[path]);
        assert_eq!(counts(&garbage[path]), (counts(&whole[path]).0, 1));
    }
    for path in LOGS {
        assert_eq!(counts(&garbage[path]), counts(&whole[path]), "{path} has free text between records");
    }
    assert!(has(&garbage[METRICS], 3, "record-shape"), "{}", garbage[METRICS]);
    let shape = load_all(&JSON_LINES, |bytes| third(bytes, b"[1, null]"));
    for (path, loaded) in shape {
        assert!(has(&loaded, 3, "record-shape"), "{loaded}");
        assert_eq!(counts(&loaded), (counts(&whole[path]).0, 1));
    }
}

#[test]
fn a_line_that_is_no_text_is_refused_and_gbk_is_read() {
    let whole = load_all(&all(), <[u8]>::to_vec);
    for (path, loaded) in load_all(&all(), |bytes| third(bytes, b"\xff\x00\xff\xfe")) {
        assert!(has(&loaded, 3, "text-invalid"), "{loaded}");
        assert_eq!(counts(&loaded), (counts(&whole[path]).0, counts(&whole[path]).1 + 1));
    }
    // A caller's name in GBK, as a Chinese Windows writes it.
    let trial = Trial::new();
    let text = String::from_utf8(sample("client_timeline/retries.jsonl")).unwrap();
    let caller = text.split("\"caller\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let named = text.replace(&caller, "客服系统");
    let (gbk, _, _) = encoding_rs::GBK.encode(&named);
    let loaded = trial.load(&[trial.file("gbk.jsonl", &gbk)], &[]).exits(0).json();
    assert!(has(&loaded[0], 1, "text-encoding"), "{loaded}");
    assert_eq!(counts(&loaded[0]), counts(&whole["client_timeline/retries.jsonl"]));
    let callers = trial.sql("SELECT DISTINCT caller FROM request ORDER BY caller");
    assert!(callers.iter().any(|row| row["caller"] == "客服系统"), "{callers:?}");
}

#[test]
fn a_line_of_seventeen_mib_is_skipped() {
    for path in ["client_timeline/retries.jsonl", "vllm_log/vllm.log"] {
        let whole = load_all(&[path], <[u8]>::to_vec);
        let huge = load_all(&[path], |bytes| third(bytes, &vec![b'x'; 17 << 20]));
        assert!(has(&huge[path], 3, "line-too-long"), "{}", huge[path]);
        assert_eq!(counts(&huge[path]), (counts(&whole[path]).0, 1));
    }
}

fn refused(file: &str, bytes: &[u8], options: &[&str]) -> Ran {
    let trial = Trial::new();
    trial.load(&[small()], &[]).exits(0);
    let before = trial.digest();
    let ran = trial.load(&[trial.file(file, bytes)], options).exits(2);
    assert_eq!(trial.digest(), before, "a refused file leaves nothing behind");
    ran
}

fn small() -> PathBuf {
    checkout("samples/health_poll/health_poll.jsonl")
}

#[test]
fn a_file_of_no_use_is_refused_as_a_whole() {
    let lines = sample("client_timeline/retries.jsonl");
    let whole = zstd::encode_all(&*lines, 1).unwrap();
    let cases: [(&str, Vec<u8>, &[&str], &str); 7] = [
        ("empty.jsonl", Vec::new(), &[], "file-empty"),
        ("blank.jsonl", b"\n \r\n\n".to_vec(), &[], "file-empty"),
        ("letter.txt", b"Dear all, the page stays blank.\n".to_vec(), &[], "format-unknown"),
        ("binary.dat", (0..=255).cycle().take(5000).collect(), &[], "format-unknown"),
        ("wrong.jsonl", lines, &["--format", "nginx_access"], "record-shape"),
        ("cut.zst", whole[..whole.len() / 3].to_vec(), &[], "compression-bad"),
        ("cut.zst", whole[..whole.len() / 3].to_vec(), &["--format", "client_timeline"], "compression-bad"),
    ];
    for (file, bytes, options, code) in cases {
        let ran = refused(file, &bytes, options);
        assert!(ran.err.contains(file) && ran.err.contains(&format!("[{code}]")), "{file}: {}", ran.err);
        assert!(ran.err.contains("  → "), "{file} has a remedy: {}", ran.err);
    }
}

#[test]
fn findings_name_file_line_and_remedy_on_stderr() {
    let trial = Trial::new();
    let file =
        trial.file("client.jsonl", &third(&sample("client_timeline/retries.jsonl"), b"{\"request_id\": "));
    let ran = trial.load(&[file], &[]).exits(0);
    let said = "✗ client.jsonl:3: ";
    assert!(ran.err.starts_with(said) && ran.err.contains("[record-not-json]"), "{}", ran.err);
    assert!(ran.err.lines().nth(1).is_some_and(|line| line.starts_with("  → ")), "{}", ran.err);
}

#[test]
fn a_misspelt_key_is_named_at_its_line() {
    let trial = Trial::new();
    trial.file("trial.toml", b"[trial]\nname = \"x\"\n\n[[candidate]]\nid = \"a\"\ntitel = \"A\"\n");
    let ran = trial.run(["run"]).exits(2);
    assert!(ran.err.contains("trial.toml:6") && ran.err.contains("[config-unknown-key]"), "{}", ran.err);
    assert!(
        ran.err.contains("did you mean \"title\"") || ran.err.contains("did you mean `title`"),
        "{}",
        ran.err
    );
}

#[test]
fn a_record_twice_counts_once_and_a_contradiction_is_said() {
    let text = String::from_utf8(sample("trial/raw/vllm/client.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().take(20).collect();
    let plain = lines.join("\n") + "\n";
    // Another first token for the same attempt, a hundred seconds later.
    let other = plain.replace("\"first_token_ns\": 17960741", "\"first_token_ns\": 17960742");
    assert_ne!(plain, other);
    let ledger = |files: &[(&str, &str)]| {
        let trial = Trial::new();
        let mut paths: Vec<_> = files.iter().map(|(name, text)| trial.file(name, text.as_bytes())).collect();
        paths.extend(
            ["gateway.jsonl", "spans.otlp.jsonl"].map(|f| checkout("samples/trial/raw/vllm").join(f)),
        );
        trial.load(&paths, &[]).exits(0);
        let rows = trial.sql(
            "SELECT exchange, attempts, ttft_ns, queue_ns, gateway_row, engine_row FROM exchange ORDER BY exchange",
        );
        let findings: Vec<_> = trial.diagnosis()["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| (f["code"].as_str().unwrap().to_owned(), f["detail"].as_str().unwrap().to_owned()))
            .filter(|(code, _)| code != "join-gap")
            .collect();
        (rows, findings)
    };
    let (want, nothing) = ledger(&[("a.jsonl", &plain)]);
    assert_eq!((want.len(), nothing), (20, vec![]));
    let twice = plain.clone() + &plain;
    let (rows, found) = ledger(&[("a.jsonl", &twice)]);
    assert_eq!((&rows, found[0].0.as_str(), found.len()), (&want, "duplicate-record", 1));
    let overlapping = lines[10..].join("\n") + "\n";
    let (rows, found) = ledger(&[("a.jsonl", &plain), ("b.jsonl", &overlapping)]);
    assert_eq!((&rows, found[0].0.as_str(), found.len()), (&want, "duplicate-record", 1));
    assert!(found[0].1.starts_with("10 client records"), "{found:?}");
    let (rows, found) = ledger(&[("a.jsonl", &(plain.clone() + &other))]);
    assert_eq!(rows, want);
    let codes: Vec<&str> = found.iter().map(|(code, _)| code.as_str()).collect();
    // The other first token lies after the request's end, so the reader's doubt counts too.
    assert_eq!(codes, ["timeline-impossible", "record-contradiction"]);
}
