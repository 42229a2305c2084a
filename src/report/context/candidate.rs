//! One candidate: percentiles, who is counted, the contrast, what is kept beside, and its slowest requests.

use super::Making;
use super::answer::Answer;
use super::beside::{self, Average, Clock, Stated};
use super::contrast::{self, GroupRow, StageRow};
use super::evidence::{self, Evidence, Slowest};
use crate::diagnose::{CandidateDiagnosis, Percentile};
use crate::error::Result;
use crate::report::figure;
use crate::report::text::{clipped, interval, ns, place, shown, void};
use serde::Serialize;
use std::collections::BTreeMap;

/// A candidate's part of the page.
#[derive(Debug, Serialize)]
pub struct Candidate {
    anchor: String,
    id: String,
    title: String,
    answer: Answer,
    percentiles: Vec<PercentileRow>,
    counts: Vec<(String, String)>,
    stages: Vec<StageRow>,
    /// Names of the stages without any recorded time.
    absent: String,
    baselines: Vec<(String, String)>,
    groups: Vec<GroupRow>,
    /// Groups that are not shown.
    more_groups: String,
    stands_out: bool,
    coverage: Vec<(String, String)>,
    clocks: Vec<Clock>,
    stated: Vec<Stated>,
    averages: Vec<Average>,
    /// Stages that any of the slowest requests spent time in.
    columns: Vec<String>,
    slowest: Vec<Slowest>,
    evidence: Vec<Evidence>,
    ecdf: String,
    shares: String,
    waterfall: String,
}

/// A percentile of client TTFT.
#[derive(Debug, Serialize)]
pub struct PercentileRow {
    name: String,
    value: String,
    interval: String,
    n: String,
    requests: Vec<Rank>,
}

/// A request at the rank of a percentile.
#[derive(Debug, Serialize)]
pub struct Rank {
    exchange: String,
    /// Anchor of its evidence, when the page holds it.
    anchor: Option<String>,
    place: String,
}

impl Candidate {
    pub fn new(making: &Making, at: usize, c: &CandidateDiagnosis) -> Result<Candidate> {
        let anchor = format!("c{}", at + 1);
        let evidence = evidence::all(making, &anchor, c)?;
        let anchors: BTreeMap<&str, &str> = evidence.iter().map(Evidence::link).collect();
        let (columns, slowest) = evidence::slowest(making, c, &anchors);
        let (groups, more_groups) = contrast::groups(making, c);
        Ok(Candidate {
            id: shown(&c.candidate),
            title: shown(&c.title),
            answer: Answer::new(making, c),
            percentiles: c.ttft.iter().map(|p| percentile(making, c, p, &anchors)).collect(),
            counts: counts(making, c),
            stages: contrast::stages(making, c),
            absent: contrast::absent(making, c),
            baselines: contrast::baselines(making, c),
            stands_out: groups.iter().any(GroupRow::stands_out),
            groups,
            more_groups,
            coverage: contrast::coverage(making, c),
            clocks: beside::clocks(&c.clocks),
            stated: beside::stated(making, c),
            averages: beside::averages(c),
            columns,
            slowest,
            ecdf: figure::ecdf(making.words, c),
            shares: figure::shares(making.words, c),
            waterfall: figure::waterfall(making.words, c),
            evidence,
            anchor,
        })
    }
}

fn percentile(
    making: &Making,
    c: &CandidateDiagnosis,
    p: &Percentile,
    anchors: &BTreeMap<&str, &str>,
) -> PercentileRow {
    let (have, need) = (p.n.to_string(), p.need.to_string());
    let none = || {
        if p.void {
            void(making.words, c)
        } else {
            making.words.fill("ui.need", &[("have", &have), ("need", &need)])
        }
    };
    PercentileRow {
        name: format!("p{}", p.percentile),
        value: p.value_ns.map_or_else(none, ns),
        interval: p
            .low_ns
            .zip(p.high_ns)
            .map_or("–".to_owned(), |(low, high)| interval(&ns(low), &ns(high))),
        n: have.clone(),
        requests: p
            .requests
            .iter()
            .map(|r| Rank {
                exchange: clipped(&r.exchange),
                anchor: anchors.get(r.exchange.as_str()).map(|&anchor| anchor.to_owned()),
                place: place(&r.file, r.place.line, r.place.item),
            })
            .collect(),
    }
}

fn counts(making: &Making, c: &CandidateDiagnosis) -> Vec<(String, String)> {
    let n = &c.counts;
    [
        ("report.count_exchanges", n.exchanges),
        ("report.count_with_ttft", n.with_ttft),
        ("report.count_failed", n.failed),
        ("report.count_unreachable", n.unreachable),
        ("report.count_no_token", n.no_token),
        ("report.count_warmup", n.warmup),
        ("report.count_retried", n.retried),
        ("report.count_attempts", n.attempts),
        ("report.count_cold", n.cold),
        ("report.count_cold_unknown", n.cold_unknown),
    ]
    .into_iter()
    .map(|(key, count)| (making.word(key), count.to_string()))
    .collect()
}
