//! The slowest requests: their stages in one table, and for each every figure with the line it was read from.

use super::Making;
use crate::diagnose::CandidateDiagnosis;
use crate::error::Result;
use crate::ledger::{self, Exchange, Known, STAGES, Stage, timelines_of};
use crate::report::text::{clipped, instant, interval, ns, shown};
use serde::Serialize;
use std::collections::BTreeMap;

/// A row of the table of the slowest.
#[derive(Debug, Serialize)]
pub struct Slowest {
    exchange: String,
    anchor: Option<String>,
    ttft: String,
    tokens: String,
    attempts: String,
    cold: String,
    /// Time in each of the columns' stages.
    stages: Vec<String>,
}

/// Everything known of one request.
#[derive(Debug, Serialize)]
pub struct Evidence {
    anchor: String,
    exchange: String,
    /// The id in full, to find it by.
    #[serde(skip)]
    id: String,
    ttft: String,
    about: Vec<(String, String)>,
    stages: Vec<StageRow>,
    files: Vec<File>,
}

/// A stage of the request.
#[derive(Debug, Serialize)]
struct StageRow {
    name: String,
    value: String,
    bounds: String,
    known: String,
}

/// Figures of one hop and attempt that stand in one file.
#[derive(Debug, Serialize)]
struct File {
    hop: String,
    name: String,
    source: String,
    figures: Vec<Figure>,
}

/// A mark or measure.
#[derive(Debug, Serialize)]
struct Figure {
    what: String,
    /// From where to where, for a measure.
    meaning: String,
    value: String,
    clock: String,
    line: String,
    item: String,
}

impl Evidence {
    /// Id and anchor.
    pub fn link(&self) -> (&str, &str) {
        (&self.id, &self.anchor)
    }
}

/// Evidence of the slowest requests of a candidate.
pub fn all(making: &Making, prefix: &str, c: &CandidateDiagnosis) -> Result<Vec<Evidence>> {
    let timelines = timelines_of(making.ledger, &c.slowest)?;
    let evidence = |(n, ledger::Timeline { exchange, evidence, .. }): (i32, &ledger::Timeline)| Evidence {
        anchor: format!("{prefix}-r{n}"),
        exchange: clipped(&exchange.exchange),
        id: exchange.exchange.clone(),
        ttft: ttft(making, exchange),
        about: about(making, exchange),
        stages: exchange.stages.iter().map(|s| stage(making, exchange, s)).collect(),
        files: files(making, evidence),
    };
    Ok((1..).zip(&timelines).map(evidence).collect())
}

fn ttft(making: &Making, exchange: &Exchange) -> String {
    exchange.ttft_ns.map_or_else(|| making.word("ui.no-first-token"), ns)
}

fn cold(making: &Making, exchange: &Exchange) -> String {
    match exchange.cold {
        Some(true) => making.word("report.cold"),
        Some(false) => making.word("report.warm"),
        None => making.word("report.not_stated"),
    }
}

fn tokens(exchange: &Exchange) -> String {
    let count = |n: Option<i64>| n.map_or("?".to_owned(), |n| n.to_string());
    format!("{} → {}", count(exchange.input_tokens), count(exchange.output_tokens))
}

fn about(making: &Making, x: &Exchange) -> Vec<(String, String)> {
    let not_stated = || making.word("report.not_stated");
    let word = |value: &Option<String>| value.as_deref().map_or_else(not_stated, clipped);
    [
        ("dimension.caller", word(&x.caller)),
        ("dimension.model", word(&x.model)),
        ("dimension.instance", word(&x.instance)),
        ("report.tokens", tokens(x)),
        ("report.attempts", x.attempts.to_string()),
        ("report.attempt_ttft", x.attempt_ttft_ns.map_or_else(not_stated, ns)),
        ("stage.client_wait", x.client_wait_ns.map_or_else(not_stated, ns)),
        ("dimension.status", x.status.map_or_else(not_stated, |status| status.to_string())),
        ("dimension.cold", cold(making, x)),
    ]
    .into_iter()
    .map(|(key, text)| (making.word(key), text))
    .collect()
}

fn stage(making: &Making, exchange: &Exchange, s: &Stage) -> StageRow {
    let known = match s.known {
        Known::Measured => "measured",
        Known::Derived => "derived",
        Known::Bounded => "bounded",
        Known::Missing => "missing",
    };
    let mut value = s.ns.map_or("–".to_owned(), ns);
    if s.stage == "unattributed" && exchange.engine_rest_ns > 0 {
        let inside = ns(exchange.engine_rest_ns);
        value = format!("{value} {}", making.words.fill("report.inside_engine", &[("ns", &inside)]));
    }
    StageRow {
        name: making.stage(s.stage),
        value,
        bounds: if s.low_ns == s.high_ns { String::new() } else { interval(&ns(s.low_ns), &ns(s.high_ns)) },
        known: making.word(&format!("known.{known}")),
    }
}

fn files(making: &Making, evidence: &[ledger::Evidence]) -> Vec<File> {
    let key = |e: &ledger::Evidence| (e.hop.clone(), e.attempt, e.file.clone());
    evidence
        .chunk_by(|a, b| key(a) == key(b))
        .filter_map(|figures| {
            let first = figures.first()?;
            let hop = making.word(&format!("hop.{}", first.hop));
            let number = |n: i64| making.words.fill("report.attempt_n", &[("n", &n.to_string())]);
            Some(File {
                hop: first.attempt.map_or_else(|| hop.clone(), |n| format!("{hop} · {}", number(n))),
                name: shown(&first.file),
                source: first.sha256.get(..12).unwrap_or_default().to_owned(),
                figures: figures.iter().map(|e| figure(making, e)).collect(),
            })
        })
        .collect()
}

fn figure(making: &Making, e: &ledger::Evidence) -> Figure {
    let meaning = crate::row::definition(&e.what).map(|d| making.word(&format!("definition.{}", d.id)));
    Figure {
        what: clipped(&e.what),
        meaning: meaning.unwrap_or_default(),
        value: match (e.t_ns, e.duration_ns) {
            (Some(t), _) => instant(t, &e.clock),
            (None, Some(duration)) => format!("{} ({duration} ns)", ns(duration)),
            (None, None) => "–".to_owned(),
        },
        clock: clipped(&e.clock),
        line: e.line.to_string(),
        item: e.item.to_string(),
    }
}

/// The stages any of the slowest spent time in, and a row a request.
pub fn slowest(
    making: &Making,
    c: &CandidateDiagnosis,
    anchors: &BTreeMap<&str, &str>,
) -> (Vec<String>, Vec<Slowest>) {
    let spent = |x: &Exchange, stage: &str| {
        x.stages.iter().find(|s| s.stage == stage).and_then(|s| s.ns).filter(|ns| *ns != 0)
    };
    let used: Vec<&str> =
        STAGES.into_iter().filter(|stage| c.slowest.iter().any(|x| spent(x, stage).is_some())).collect();
    let rows = c.slowest.iter().map(|x| Slowest {
        exchange: clipped(&x.exchange),
        anchor: anchors.get(x.exchange.as_str()).map(|&anchor| anchor.to_owned()),
        ttft: ttft(making, x),
        tokens: tokens(x),
        attempts: x.attempts.to_string(),
        cold: cold(making, x),
        stages: used
            .iter()
            .map(|stage| {
                let value = x.stages.iter().find(|s| s.stage == *stage).and_then(|s| s.ns);
                value.map_or("–".to_owned(), ns)
            })
            .collect(),
    });
    (used.iter().map(|stage| making.stage(stage)).collect(), rows.collect())
}
