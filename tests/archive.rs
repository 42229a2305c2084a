//! Zip archives: every member is a source of its own, its bytes are kept, and the archive is named in custody.

use crate::support::{Trial, sample};
use probity::input::sha256_hex;
use std::io::{Cursor, Write};
use zip::write::{SimpleFileOptions, ZipWriter};

pub fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn members_are_sources_and_custody_names_the_archive() {
    let poll = sample("health_poll/health_poll.jsonl");
    let client = sample("client_timeline/retries.jsonl");
    let inner = zip(&[("b/client.zst", &zstd::encode_all(&*client, 1).unwrap())]);
    let bytes = zip(&[("logs/poll.jsonl", &poll), ("in.zip", &inner), ("letter.txt", b"Dear all,\n")]);
    let trial = Trial::new();
    let file = trial.file("handed.zip", &bytes);
    let loaded = trial.load(std::slice::from_ref(&file), &[]).exits(0).json();
    let outcomes: Vec<_> =
        loaded.as_array().unwrap().iter().map(|l| l["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["loaded", "loaded", "skipped"]);
    let rows = trial.sql("SELECT name, sha256, evidence FROM source ORDER BY name");
    let names: Vec<_> = rows.iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["handed.zip!in.zip!b/client.zst", "handed.zip!logs/poll.jsonl"]);
    assert_eq!(rows[1]["sha256"], sha256_hex(&poll));
    let kept = trial.path().join("evidence").join(rows[1]["evidence"].as_str().unwrap());
    assert_eq!(std::fs::read(kept).unwrap(), poll);
    let custody = std::fs::read_to_string(trial.path().join("evidence/custody.jsonl")).unwrap();
    assert_eq!(custody.matches(&format!("\"archive\":\"{}\"", sha256_hex(&bytes))).count(), 2, "{custody}");
    // Loading again, or a member on its own, changes nothing but the log.
    let again = trial.load(&[file, trial.file("poll.jsonl", &poll)], &[]).exits(0).json();
    assert_eq!((&again[0]["outcome"], &again[3]["outcome"]), (&"already".into(), &"already".into()));
    assert!(trial.run(["sources"]).exits(0).err.contains("custody chain intact"));
}

#[test]
fn an_archive_in_a_folder_is_searched_too() {
    let trial = Trial::new();
    let folder = trial.path().join("handed");
    std::fs::create_dir(&folder).unwrap();
    let poll = sample("health_poll/health_poll.jsonl");
    std::fs::write(folder.join("a.zip"), zip(&[("poll.jsonl", &poll), ("note", b"hello\n")])).unwrap();
    std::fs::write(folder.join("b.zip"), b"PK\x03\x04 cut").unwrap();
    let ran = trial.load(&[folder], &[]).exits(2);
    assert!(ran.err.contains("b.zip") && ran.err.contains("[archive-bad]"), "{}", ran.err);
    assert_eq!(ran.json()[0]["outcome"], "loaded");
}

#[test]
fn every_limit_is_a_flag_with_a_finding() {
    let client = sample("client_timeline/retries.jsonl");
    let bench = sample("vllm_bench/result.json");
    let two = zip(&[("a", &client), ("b", &client)]);
    let deep = zip(&[("in.zip", &zip(&[("a", &client)])), ("a", &client)]);
    let dense = zip(&[("a", &client), ("zero", &vec![b' '; 65 << 20])]);
    let cases: [(&str, &[u8], &[&str], &str); 5] = [
        ("a.jsonl", &client, &["--max-line", "100"], "line-too-long"),
        ("a.json", &bench, &["--max-document", "1K"], "file-too-large"),
        ("a.zip", &two, &["--max-members", "1"], "archive-limit"),
        ("a.zip", &deep, &["--max-depth", "1"], "archive-limit"),
        ("a.zip", &dense, &["--max-ratio", "10"], "compression-bad"),
    ];
    for (name, bytes, flag, code) in cases {
        let trial = Trial::new();
        let ran = trial.load(&[trial.file(name, bytes)], flag);
        assert!(ran.code == 2 && ran.err.contains(&format!("[{code}]")), "{flag:?}: {ran:?}");
    }
}

#[test]
fn nul_bytes_joined_marks_and_lone_returns_are_read() {
    let lines = sample("health_poll/health_poll.jsonl");
    let whole = Trial::new();
    let count = |trial: &Trial, bytes: &[u8]| {
        let loaded = trial.load(&[trial.file("poll.jsonl", bytes)], &[]).exits(0).json();
        (loaded[0]["read"].clone(), loaded[0]["findings"].as_array().unwrap().len())
    };
    let (read, none) = count(&whole, &lines);
    assert_eq!(none, 0);
    let text = String::from_utf8(lines.clone()).unwrap();
    let cut = text.lines().next().unwrap().len() + 1;
    let marked = [b"\xef\xbb\xbf", &lines[..cut], b"\xef\xbb\xbf", &lines[cut..]].concat();
    assert_eq!(count(&Trial::new(), &marked), (read.clone(), 0));
    let old = text.replace('\n', "\r");
    assert_eq!(count(&Trial::new(), old.as_bytes()), (read.clone(), 0));
    let nuls = [&lines[..cut], &[0; 300], &lines[cut..]].concat();
    assert_eq!(count(&Trial::new(), &nuls), (read, 1));
}
