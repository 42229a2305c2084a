//! The verdict: a word from a closed set, and why.
//!
//! A stage is named when the low end of its excess share lies above the high end of the next, engine evidence
//! joins at least 95 % of the slow exchanges, and no more than 10 % of their time is covered by nobody. Time
//! inside the engine's own TTFT that the engine does not explain (`engine_rest`) has an owner, so it does not
//! silence the verdict; it is added to the runner-up instead: `supported` if the order holds at
//! the ends of the intervals, `suggestive` if it holds at the points, else no stage is named.

use super::figure::Counts;
use super::tail::{PARTS, StageShare, Tail};
use crate::trial::Slow;
use serde::Serialize;

/// Fewest slow exchanges that can be contrasted.
pub const MIN_SLOW: i64 = 5;
/// Least share of slow exchanges with engine evidence.
pub const MIN_COVERAGE: f64 = 0.95;
/// Largest share of slow time that may be covered by nobody.
pub const MAX_UNATTRIBUTED: f64 = 0.10;

/// How much can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The stage stands apart from all others.
    Supported,
    /// The stage is largest, but an interval or the engine's unexplained time could change the order.
    Suggestive,
    /// No stage can be named.
    InsufficientEvidence,
    /// Too few exchanges are slow for there to be a tail.
    NothingSlow,
}

impl Word {
    /// The word as it stands in JSON and in `reports/words`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Word::Supported => "supported",
            Word::Suggestive => "suggestive",
            Word::InsufficientEvidence => "insufficient_evidence",
            Word::NothingSlow => "nothing_slow",
        }
    }
}

/// What keeps a verdict from being stronger; each is a gap with an owner in `advice.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// What it would rest on contradicts itself or cannot bear it.
    InvalidEvidence,
    /// No client timeline: the wait a user sees is not recorded.
    NoClient,
    /// Requests failed, and none got a first token.
    NoFirstToken,
    /// No engine record at all.
    NoEngine,
    /// Engine records exist, but too few slow exchanges join them.
    EngineNotJoined,
    /// Fewer slow exchanges than a contrast needs, yet more than chance.
    TooFewSlow,
    /// The intervals of the two largest stages overlap.
    Overlap,
    /// Time inside the engine that the engine does not explain could change the order.
    EngineRest,
}

impl Reason {
    /// Its id in `advice.toml`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::InvalidEvidence => "invalid-evidence",
            Reason::NoClient => "no-client",
            Reason::NoFirstToken => "no-first-token",
            Reason::NoEngine => "no-engine",
            Reason::EngineNotJoined => "engine-not-joined",
            Reason::TooFewSlow => "too-few-slow",
            Reason::Overlap => "overlap",
            Reason::EngineRest => "engine-rest",
        }
    }
}

/// The answer for one candidate.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// How much can be said.
    pub word: Word,
    /// The stage named; null unless `supported` or `suggestive`.
    pub stage: Option<&'static str>,
    /// Its share of the excess.
    pub share: Option<f64>,
    /// 95 % interval of that share.
    pub interval: Option<(f64, f64)>,
    /// The next stage and the high end of its share.
    pub runner_up: Option<(&'static str, f64)>,
    /// Slow exchanges.
    pub slow: i64,
    /// Exchanges with a TTFT.
    pub n: i64,
    /// What keeps it from being stronger.
    pub missing: Vec<Reason>,
}

/// Whether so many requests never got a first token that this needs an answer of its own, whatever the tail says.
#[must_use]
pub fn failing(counts: &Counts) -> bool {
    counts.failed >= MIN_SLOW
}

/// Judges one candidate's contrast. `slow_ns` is null when the sample is too small for the percentile asked for; with
/// `void` evidence nothing is judged.
pub fn verdict(counts: &Counts, tail: &Tail, slow: &Slow, slow_ns: Option<i64>, void: bool) -> Verdict {
    let bare = |word, missing: Vec<Reason>| Verdict {
        word,
        stage: None,
        share: None,
        interval: None,
        runner_up: None,
        slow: tail.slow,
        n: tail.n,
        missing,
    };
    let insufficient = |reason| bare(Word::InsufficientEvidence, vec![reason]);
    if void {
        return insufficient(Reason::InvalidEvidence);
    }
    if counts.exchanges == 0 {
        return insufficient(Reason::NoClient);
    }
    if tail.n == 0 {
        return insufficient(Reason::NoFirstToken);
    }
    if slow_ns.is_none() {
        return insufficient(Reason::TooFewSlow);
    }
    if tail.slow < MIN_SLOW {
        // Past a percentile there is always a tail: that it is thin is no good news.
        if matches!(slow, Slow::Percentile(_)) {
            return insufficient(Reason::TooFewSlow);
        }
        return bare(Word::NothingSlow, Vec::new());
    }
    let covered = tail.engine_coverage_tail.unwrap_or(0.0);
    let nobody = tail.stage("unattributed").and_then(|s| s.of_tail).unwrap_or(0.0);
    if covered < MIN_COVERAGE || nobody > MAX_UNATTRIBUTED {
        return insufficient(if counts.engine_records == 0 {
            Reason::NoEngine
        } else {
            Reason::EngineNotJoined
        });
    }
    let mut stages: Vec<(&StageShare, f64, f64, f64)> = tail
        .stages
        .iter()
        .filter(|s| !matches!(s.stage, "unattributed" | "engine_rest"))
        .filter_map(|s| {
            Some((s, s.of_excess?, s.excess_low.unwrap_or(f64::MIN), s.excess_high.unwrap_or(f64::MAX)))
        })
        .collect();
    stages.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| order(a.0.stage).cmp(&order(b.0.stage))));
    let [(first, share, low, _), (second, runner_share, _, next), ..] = stages.as_slice() else {
        return insufficient(Reason::TooFewSlow);
    };
    let rest = tail.stage("engine_rest").filter(|s| s.of_excess.is_some());
    let rest_point = rest.and_then(|s| s.of_excess).unwrap_or(0.0).max(0.0);
    let rest_high = rest.map_or(0.0, |s| s.excess_high.unwrap_or(f64::MAX)).max(0.0);
    let mut missing = Vec::new();
    if low <= next {
        missing.push(Reason::Overlap);
    }
    if *low <= next.max(0.0) + rest_high && rest_point > 0.0 {
        missing.push(Reason::EngineRest);
    }
    // Not even the points put the stage first once the engine's unexplained time goes to the runner-up.
    if !missing.is_empty() && *share <= runner_share.max(0.0) + rest_point {
        return bare(Word::InsufficientEvidence, missing);
    }
    Verdict {
        word: if missing.is_empty() { Word::Supported } else { Word::Suggestive },
        stage: Some(first.stage),
        share: Some(*share),
        interval: first.excess_low.zip(first.excess_high),
        runner_up: second.excess_high.map(|high| (second.stage, high)),
        slow: tail.slow,
        n: tail.n,
        missing,
    }
}

fn order(stage: &str) -> usize {
    PARTS.iter().position(|p| *p == stage).unwrap_or(PARTS.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn tail(shares: &[(&'static str, f64, f64)], covered: f64) -> Tail {
        let stages = shares
            .iter()
            .map(|&(stage, share, half)| StageShare {
                stage,
                of_all: Some(share),
                of_tail: Some(share),
                of_excess: Some(share),
                excess_low: Some(share - half),
                excess_high: Some(share + half),
                tail_mean_ns: Some(1),
            })
            .collect();
        Tail {
            n: 100,
            slow: 20,
            slow_rate: None,
            baselines: BTreeMap::new(),
            gateway_coverage: Some(1.0),
            engine_coverage: Some(covered),
            engine_coverage_tail: Some(covered),
            blocks: 10,
            stages,
        }
    }

    fn judge(tail: &Tail) -> (Word, Option<&'static str>, Vec<Reason>) {
        let counts = Counts {
            exchanges: 100,
            with_ttft: 100,
            engine_records: i64::from(tail.engine_coverage > Some(0.0)),
            ..Counts::default()
        };
        let v = verdict(&counts, tail, &Slow::Over(1), Some(1), false);
        (v.word, v.stage, v.missing)
    }

    #[test]
    fn a_stage_is_named_only_when_it_stands_apart() {
        let clear = tail(&[("queue", 0.9, 0.02), ("prefill", 0.06, 0.02), ("engine_rest", 0.04, 0.01)], 1.0);
        assert_eq!(judge(&clear), (Word::Supported, Some("queue"), vec![]));
        let close = tail(&[("queue", 0.5, 0.1), ("prefill", 0.45, 0.1)], 1.0);
        assert_eq!(judge(&close), (Word::Suggestive, Some("queue"), vec![Reason::Overlap]));
        let rest = tail(&[("queue", 0.58, 0.06), ("prefill", 0.25, 0.02), ("engine_rest", 0.27, 0.01)], 1.0);
        assert_eq!(judge(&rest), (Word::Suggestive, Some("queue"), vec![Reason::EngineRest]));
        let tie = tail(&[("queue", 0.38, 0.02), ("prefill", 0.32, 0.02), ("engine_rest", 0.3, 0.01)], 1.0);
        assert_eq!(judge(&tie), (Word::InsufficientEvidence, None, vec![Reason::EngineRest]));
    }

    #[test]
    fn missing_evidence_names_no_stage() {
        let unjoined = tail(&[("queue", 0.9, 0.0), ("prefill", 0.1, 0.0)], 0.9);
        assert_eq!(judge(&unjoined), (Word::InsufficientEvidence, None, vec![Reason::EngineNotJoined]));
        let dark = tail(&[("ingress", 0.1, 0.0), ("queue", 0.0, 0.0), ("unattributed", 0.9, 0.0)], 0.0);
        assert_eq!(judge(&dark), (Word::InsufficientEvidence, None, vec![Reason::NoEngine]));
        let none = verdict(&Counts::default(), &dark, &Slow::Over(1), Some(1), false);
        assert_eq!(none.missing, [Reason::NoClient]);
    }

    #[test]
    fn a_thin_tail_past_a_percentile_is_no_good_news() {
        let mut thin = tail(&[("queue", 0.9, 0.0), ("prefill", 0.1, 0.0)], 1.0);
        thin.slow = MIN_SLOW - 1;
        let counts = Counts { exchanges: 95, with_ttft: 95, engine_records: 95, ..Counts::default() };
        let word = |slow: Slow| verdict(&counts, &thin, &slow, Some(1), false).word;
        assert_eq!(word(Slow::Over(1)), Word::NothingSlow);
        assert_eq!(word(Slow::Percentile(0.95)), Word::InsufficientEvidence);
    }

    #[test]
    fn void_evidence_is_never_a_pass() {
        let few = tail(&[("prefill", 1.0, 0.0)], 1.0);
        let v = verdict(&Counts { exchanges: 100, ..Counts::default() }, &few, &Slow::Over(1), Some(1), true);
        assert_eq!(
            (v.word, v.stage, v.missing),
            (Word::InsufficientEvidence, None, vec![Reason::InvalidEvidence])
        );
    }

    #[test]
    fn few_slow_exchanges_are_no_tail() {
        let mut few = tail(&[("prefill", 1.0, 0.0), ("queue", 0.0, 0.0)], 1.0);
        few.slow = MIN_SLOW - 1;
        assert_eq!(judge(&few), (Word::NothingSlow, None, vec![]));
    }
}
