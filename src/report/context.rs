//! What the templates are given: plain structs whose every field is text, ready to be shown.

mod answer;
mod beside;
mod candidate;
mod contrast;
mod evidence;
mod finding;
mod source;
#[cfg(test)]
mod tests;

use super::text::{date, ns, shown};
use super::{Lang, Words};
use crate::diagnose::Diagnosis;
use crate::error::Result;
use crate::input::sha256_hex;
use crate::ledger::{Ledger, STAGES};
use crate::store::SourceRow;
use crate::trial::Trial;
pub use contrast::is_recorded;

use candidate::Candidate;
use finding::Found;
use serde::Serialize;
use source::Source;
use std::collections::BTreeMap;

/// The whole page.
#[derive(Debug, Serialize)]
pub struct Page<'a> {
    lang: &'static str,
    style: &'static str,
    /// Words of the templates: the section `[report]`.
    w: BTreeMap<&'a str, &'a str>,
    mark: Marks,
    trial: String,
    /// When the latest source was received: the page's time.
    received: String,
    version: &'static str,
    /// SHA-256 over the sorted hashes of the sources.
    digest: String,
    slow: String,
    candidates: Vec<Candidate>,
    sources: Vec<Source>,
    findings: Vec<Found>,
    stages: Vec<Term>,
    known: Vec<Term>,
    settings: Vec<Term>,
    commands: Vec<Term>,
}

/// A name and what it is or means.
#[derive(Debug, Serialize)]
pub struct Term {
    name: String,
    text: String,
}

impl Term {
    fn new(name: impl Into<String>, text: impl Into<String>) -> Term {
        Term { name: name.into(), text: text.into() }
    }
}

/// Punctuation of the language.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Marks {
    stop: &'static str,
    semicolon: &'static str,
    #[serde(skip)]
    list: &'static str,
}

impl Marks {
    fn of(lang: Lang) -> Marks {
        match lang {
            Lang::En => Marks { stop: ".", semicolon: ";", list: ", " },
            Lang::Zh => Marks { stop: "。", semicolon: "；", list: "、" },
        }
    }
}

/// What the parts of the page are made with.
pub struct Making<'a> {
    words: &'a Words,
    lang: Lang,
    ledger: &'a Ledger,
}

impl Making<'_> {
    fn word(&self, key: &str) -> String {
        self.words.get(key).to_owned()
    }

    fn stage(&self, stage: &str) -> String {
        self.word(&format!("stage.{stage}"))
    }
}

impl<'a> Page<'a> {
    /// Everything the page shows.
    pub fn new(
        trial: &Trial,
        ledger: &Ledger,
        diagnosis: &Diagnosis,
        words: &'a Words,
        lang: Lang,
    ) -> Result<Page<'a>> {
        let making = Making { words, lang, ledger };
        let candidates = diagnosis.candidates.iter().enumerate();
        let received = ledger.sources.iter().map(|s| s.received_at).max();
        let terms = |section: &str, names: &[&str]| {
            let term = |name: &&str| {
                let help = making.word(&format!("{section}_help.{name}"));
                Term::new(making.word(&format!("{section}.{name}")), help)
            };
            names.iter().map(term).collect::<Vec<_>>()
        };
        let stages = [&["client_wait"], STAGES.as_slice(), &["engine_rest"]].concat();
        Ok(Page {
            lang: lang.tag(),
            style: include_str!("../../reports/style.css"),
            w: words.section("report"),
            mark: Marks::of(lang),
            trial: shown(&diagnosis.trial),
            received: received.map_or_else(String::new, date),
            version: env!("CARGO_PKG_VERSION"),
            digest: digest(&ledger.sources),
            slow: diagnosis.slow.clone(),
            candidates: candidates.map(|(at, c)| Candidate::new(&making, at, c)).collect::<Result<_>>()?,
            sources: ledger.sources.iter().map(|s| Source::new(&making, s)).collect(),
            findings: finding::all(&making)?,
            stages: terms("stage", &stages),
            known: terms("known", &["measured", "derived", "bounded", "missing"]),
            settings: settings(&making, trial, diagnosis),
            commands: commands(&making),
        })
    }
}

/// SHA-256 of the sources' SHA-256 in hexadecimal, sorted, one a line.
fn digest(sources: &[SourceRow]) -> String {
    let mut hashes: Vec<&str> = sources.iter().map(|s| s.sha256.as_str()).collect();
    hashes.sort_unstable();
    let lines: String = hashes.into_iter().flat_map(|hash| [hash, "\n"]).collect();
    sha256_hex(lines.as_bytes())
}

fn settings(making: &Making, trial: &Trial, diagnosis: &Diagnosis) -> Vec<Term> {
    let buckets = |bounds: &[i64]| bounds.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let groups: Vec<String> =
        trial.groups.iter().map(|d| making.word(&format!("dimension.{}", d.as_str()))).collect();
    [
        ("report.set_slow", diagnosis.slow.clone()),
        ("report.set_window", ns(trial.window)),
        ("report.set_input", buckets(&trial.input_buckets)),
        ("report.set_output", buckets(&trial.output_buckets)),
        ("report.set_cold", trial.cold_first.to_string()),
        ("report.set_groups", groups.join(Marks::of(making.lang).list)),
    ]
    .into_iter()
    .map(|(key, text)| Term::new(making.word(key), text))
    .collect()
}

/// How a reader gets to the same figures.
fn commands(making: &Making) -> Vec<Term> {
    [
        ("probity sources", "report.do_sources"),
        ("probity sources --json | jq -r '.[].sha256' | sort | sha256sum", "report.do_digest"),
        ("probity diagnose --json", "report.do_diagnose"),
        ("probity timeline ID", "report.do_timeline"),
        ("probity sql \"SELECT * FROM exchange ORDER BY ttft_ns DESC LIMIT 10\"", "report.do_sql"),
        ("probity report", "report.do_report"),
    ]
    .into_iter()
    .map(|(command, key)| Term::new(command, making.word(key)))
    .collect()
}
