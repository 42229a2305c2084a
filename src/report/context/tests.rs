//! The page as a whole: hostile names stay text, both languages render, the same input gives the same bytes.

use super::digest;
use crate::diagnose::diagnose;
use crate::input::sha256_hex;
use crate::ledger;
use crate::report::{Lang, html};
use crate::store::{LoadOptions, SourceRow, Store, load};
use crate::trial::Trial;
use std::path::Path;

/// A page from one client timeline of 40 requests with the given ids and callers, TTFT rising by 0.1 s.
fn page(root: &Path, lang: Lang, id: impl Fn(i64) -> String, caller: &str) -> String {
    let line = |i: i64| {
        let send = 1_796_077_007_000_000_000 + i * 1_000_000_000;
        let first = send + i * 100_000_000;
        serde_json::json!({
            "request_id": id(i), "attempt": 0, "caller": caller, "model": "m", "scheduled_ns": send, "send_ns": send,
            "headers_ns": send + 1, "first_chunk_ns": first, "first_token_ns": first, "last_token_ns": first + 20_000_000,
            "end_ns": first + 20_000_001, "input_tokens": 5, "output_tokens": 2, "status": 200,
        })
    };
    let file = root.join("timeline.jsonl");
    let lines = (1..=40).map(|i| line(i).to_string()).collect::<Vec<_>>().join("\n");
    std::fs::write(&file, lines).unwrap();
    let store = Store::new(root);
    let options = LoadOptions {
        candidate: "a".to_owned(),
        format: None,
        map: None,
        hop: None,
        clock: None,
        zone: None,
        received_at: 1_796_100_000_000_000_000,
        limits: crate::input::Limits::default(),
    };
    load(&store, &[file], &options, &mut ()).unwrap();
    let mut trial = Trial::load_or_default(root).unwrap();
    "<b onload=\"x\">trial".clone_into(&mut trial.name);
    let ledger = ledger::open(&store, trial.cold_first).unwrap();
    let diagnosis = diagnose(&ledger, &trial, &trial.slow, &trial.groups, None).unwrap();
    html(&trial, &ledger, &diagnosis, lang).unwrap()
}

#[test]
fn hostile_names_stay_text_and_long_ones_are_cut() {
    let dir = tempfile::tempdir().unwrap();
    let caller = "<script>alert('1')</script>\"\u{202e}gnp.exe";
    let long = |i| format!("<img src=x>{i:02}{}", "x".repeat(10_000));
    let page = page(dir.path(), Lang::En, long, caller);
    for raw in ["<script", "<img", "<b onload", "\u{202e}", &"x".repeat(200)] {
        assert!(!page.contains(raw), "{}", &raw[..raw.len().min(20)]);
    }
    for escaped in ["&lt;script&gt;", "&lt;img src=x&gt;40xx", "&lt;b onload=&quot;x&quot;&gt;trial"] {
        assert!(page.contains(escaped), "{escaped}");
    }
}

#[test]
fn every_link_leads_somewhere_and_no_id_stands_twice() {
    let dir = tempfile::tempdir().unwrap();
    let page = page(dir.path(), Lang::En, |i| format!("r{i}"), "web");
    let all = |pattern: &str| -> Vec<String> {
        let pattern = regex::Regex::new(pattern).unwrap();
        pattern.captures_iter(&page).map(|found| found[1].to_owned()).collect()
    };
    let mut ids = all(" id=\"([^\"]+)\"");
    let links = all("href=\"([^\"]+)\"");
    assert!(links.iter().all(|link| link.strip_prefix('#').is_some_and(|id| ids.iter().any(|i| i == id))));
    assert!(links.iter().any(|link| link == "#c1-r1"));
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn both_languages_render_and_the_same_input_gives_the_same_bytes() {
    let (first, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let render = |dir: &Path, lang| page(dir, lang, |i| format!("r{i}"), "web");
    let en = render(first.path(), Lang::En);
    let at = |dir: &Path| dir.display().to_string();
    assert_eq!(
        en.replace(&at(first.path()), ""),
        render(again.path(), Lang::En).replace(&at(again.path()), "")
    );
    let zh = render(first.path(), Lang::Zh);
    for (page, lang, words) in [(&en, "en", "insufficient evidence"), (&zh, "zh-CN", "证据不足")] {
        assert!(page.contains(&format!("<html lang=\"{lang}\">")) && page.contains(words));
        assert!(page.contains("2026-12-01T"), "the time of receipt");
        assert!(page.contains("p99") && page.contains("need 3") || lang == "zh-CN");
        for asset in ["<script", "src=", "@import", "url("] {
            assert!(!page.contains(asset), "{asset}");
        }
    }
}

#[test]
fn the_digest_is_what_sort_and_sha256sum_give() {
    let source = |sha256: &str| SourceRow { sha256: sha256.to_owned(), ..SourceRow::default() };
    assert_eq!(digest(&[source("b"), source("a")]), sha256_hex(b"a\nb\n"));
}
