//! Diagnosis: which stage is slow for which requests, in words that can be defended, or what is missing.
//!
//! The slow tail is contrasted with requests of the same input and output size (`tail`), a stage is named only
//! when its share of the excess stands apart (`verdict`), and groups are tested with a correction for looking
//! at all of them (`group`). It is an association until an experiment moves it.

mod advice;
mod figure;
mod group;
mod tail;
mod verdict;
mod void;

pub use advice::{Advice, Both, Gap, advice, gap};
pub use figure::{Average, Counts, Percentile, Request, Stated};
pub use group::Group;
pub use tail::{Baseline, StageShare, Tail};
pub use verdict::{Reason, Verdict, Word, failing};
pub use void::VoidSource;

use crate::error::Result;
use crate::finding::Finding;
use crate::ledger::{Exchange, Ledger, Offset, exchanges};
use crate::stats::quantile::quantile;
use crate::store::{Engine, quote};
use crate::trial::{Dimension, Slow, Trial};
use serde::Serialize;
use void::Void;

/// The diagnosis of a trial; its JSON form is what `probity diagnose --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// Version of this shape.
    pub schema: &'static str,
    /// Trial name.
    pub trial: String,
    /// The slow threshold as given: `2s`, `p95`.
    pub slow: String,
    /// One entry a candidate, in the order of ids.
    pub candidates: Vec<CandidateDiagnosis>,
}

/// What can be said of one candidate.
#[derive(Clone, Debug, Serialize)]
pub struct CandidateDiagnosis {
    /// Candidate id.
    pub candidate: String,
    /// Its name in `trial.toml`, else the id.
    pub title: String,
    /// Slow threshold in ns; null when a percentile was asked for and the sample is too small for it.
    pub slow_ns: Option<i64>,
    /// Who is in the population and who is not.
    pub counts: Counts,
    /// The answer.
    pub verdict: Verdict,
    /// Sources that no figure rests on, and why.
    pub void: Vec<VoidSource>,
    /// Client TTFT, retries included: percentiles with n, interval, and requests at that rank.
    pub ttft: Vec<Percentile>,
    /// The contrast behind the verdict.
    pub tail: Tail,
    /// Groups looked at, the most enriched first.
    pub groups: Vec<Group>,
    /// What each source itself calls TTFT, one row a definition.
    pub stated: Vec<Stated>,
    /// The engine's own averages over the scraped window, kept beside.
    pub averages: Vec<Average>,
    /// Offsets between clocks, as causality bounds them.
    pub clocks: Vec<Offset>,
    /// The slowest exchanges with their stages.
    pub slowest: Vec<Exchange>,
    /// Findings in and across this candidate's sources.
    pub findings: Vec<Finding>,
    /// Sorted client TTFTs: what the distribution is drawn from.
    #[serde(skip)]
    pub sorted_ttft: Vec<i64>,
}

/// How many of the slowest exchanges are shown with their stages.
const SLOWEST: usize = 8;

/// Diagnoses every candidate, or the one named.
///
/// # Errors
/// The engine cannot run, or the candidate is not in the trial.
pub fn diagnose(
    ledger: &Ledger,
    trial: &Trial,
    slow: &Slow,
    dimensions: &[Dimension],
    only: Option<&str>,
) -> Result<Diagnosis> {
    let engine = &ledger.engine;
    let mut ids: Vec<String> = ledger.sources.iter().map(|s| s.candidate.clone()).collect();
    ids.sort();
    ids.dedup();
    if let Some(id) = only {
        if !ids.iter().any(|known| known == id) {
            return Err(crate::error::Error::input(format!("nothing is loaded for the candidate {id:?}"))
                .hint(format!("loaded candidates: {}", ids.join(", "))));
        }
        ids.retain(|known| known == id);
    }
    void::table(engine, &ledger.checked)?;
    let void: Vec<Void> = ids.iter().map(|id| Void::of(ledger, id)).collect::<Result<_>>()?;
    let waits = |(id, void): (&String, &Void)| {
        if void.waits { Ok(Vec::new()) } else { figure::sorted_ttft(engine, id) }
    };
    let sorted: Vec<Vec<i64>> = ids.iter().zip(&void).map(waits).collect::<Result<_>>()?;
    let thresholds: Vec<Option<i64>> = sorted.iter().map(|ttft| threshold(slow, ttft)).collect();
    populate(engine, trial, &ids, &thresholds)?;
    let cells = tail::cells(engine)?;
    let mut candidates = Vec::new();
    for (((id, void), sorted_ttft), slow_ns) in ids.into_iter().zip(void).zip(sorted).zip(thresholds) {
        let counts = figure::counts(engine, &id)?;
        // Stages rest on every hop's records, groups on the client's waits alone.
        let tail = Tail::of(cells.get(&id).filter(|_| !void.verdict).map_or(&[], Vec::as_slice));
        let groups = if void.waits { Vec::new() } else { group::groups(engine, &id, dimensions)? };
        let verdict = verdict::verdict(&counts, &tail, slow, slow_ns, void.verdict);
        let across = ledger.findings.iter().filter(|f| f.file == id);
        candidates.push(CandidateDiagnosis {
            title: trial.find_candidate(&id).map_or_else(|| id.clone(), |c| c.title.clone()),
            slow_ns,
            verdict,
            ttft: figure::percentiles(engine, &id, &sorted_ttft, void.waits)?,
            stated: figure::stated(engine, &id)?,
            averages: figure::averages(engine, &id)?,
            clocks: ledger.offsets.iter().filter(|o| o.candidate == id && o.a < o.b).cloned().collect(),
            slowest: if void.verdict { Vec::new() } else { slowest(engine, &id)? },
            findings: ledger.checked.of(&id).map(|f| &f.finding).chain(across).cloned().collect(),
            void: void.sources,
            counts,
            tail,
            groups,
            sorted_ttft,
            candidate: id,
        });
    }
    Ok(Diagnosis {
        schema: "probity.diagnosis/1",
        trial: trial.name.clone(),
        slow: slow.to_string(),
        candidates,
    })
}

fn slowest(engine: &Engine, id: &str) -> Result<Vec<Exchange>> {
    let id = quote(id);
    let condition = format!("candidate = {id} AND ttft_ns IS NOT NULL AND COALESCE(phase, '') <> 'warmup'");
    exchanges(engine, &condition, &format!("ttft_ns DESC, row LIMIT {SLOWEST}"))
}

fn threshold(slow: &Slow, sorted: &[i64]) -> Option<i64> {
    match slow {
        Slow::Over(ns) => Some(*ns),
        Slow::Percentile(p) => quantile(sorted, *p).value,
    }
}

/// Makes the `population` the other queries look at.
fn populate(engine: &Engine, trial: &Trial, ids: &[String], thresholds: &[Option<i64>]) -> Result<()> {
    engine
        .execute("CREATE OR REPLACE TABLE threshold (candidate VARCHAR, slow_ns BIGINT, block_ns BIGINT)")?;
    for (id, slow_ns) in ids.iter().zip(thresholds) {
        let slow_ns = slow_ns.map_or("NULL".to_owned(), |ns| ns.to_string());
        let block_ns = block(figure::span(engine, id)?, trial.window);
        engine.execute(&format!("INSERT INTO threshold VALUES ({}, {slow_ns}, {block_ns})", quote(id)))?;
    }
    let sql = include_str!("diagnose/population.sql")
        .replace("{window}", &trial.window.to_string())
        .replace("{input}", &buckets("e.input_tokens", &trial.input_buckets))
        .replace("{output}", &buckets("e.output_tokens", &trial.output_buckets));
    engine.execute(&format!("CREATE OR REPLACE TABLE population AS {sql}"))
}

/// Length of the blocks of time that are resampled: the trial's window, or a twentieth of a shorter run, so that
/// there are blocks enough to resample.
fn block(span: i64, window: i64) -> i64 {
    window.min(span / 20).max(1)
}

/// A CASE that names the bucket of a token count: `≤128`, `129–512`, …, `>8192`; empty when unknown.
fn buckets(column: &str, bounds: &[i64]) -> String {
    let mut from: Option<i64> = None;
    let mut cases = vec![format!("CASE WHEN {column} IS NULL THEN ''")];
    for bound in bounds {
        let name = from.map_or(format!("≤{bound}"), |from| format!("{}–{bound}", from + 1));
        cases.push(format!("WHEN {column} <= {bound} THEN '{name}'"));
        from = Some(*bound);
    }
    let last = from.map_or("all".to_owned(), |last| format!(">{last}"));
    cases.push(format!("ELSE '{last}' END"));
    cases.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_named_by_their_bounds() {
        assert_eq!(
            buckets("n", &[128, 512]),
            "CASE WHEN n IS NULL THEN '' WHEN n <= 128 THEN '≤128' WHEN n <= 512 THEN '129–512' ELSE '>512' END"
        );
    }
}
