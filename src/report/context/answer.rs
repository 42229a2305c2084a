//! The answer for a candidate: the verdict, the one next change, and what is missing.

use super::Making;
use crate::diagnose::{CandidateDiagnosis, Reason, Word, advice, failing, gap};
use crate::report::Lang;
use crate::report::text::{interval, ns, percent, sentence, verdict_sentence, void};
use serde::Serialize;

/// The verdict and what follows from it.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// CSS class of the badge: the verdict's word as in JSON.
    class: &'static str,
    /// The sign that is not a colour.
    symbol: &'static str,
    badge: String,
    sentence: String,
    /// Stage named, or a dash.
    stage: String,
    /// Its share of the excess, with the interval.
    share: String,
    /// `54 of 96`.
    slow: String,
    /// Slow share with its interval.
    rate: String,
    threshold: String,
    /// Who can act next.
    owner: String,
    /// The one change: label and text of each line; empty when no stage is named.
    next: Vec<(String, String)>,
    /// Evidence to ask for: why, what, whom.
    missing: Vec<Ask>,
    gpus: String,
}

/// Evidence to ask for.
#[derive(Debug, Serialize)]
pub struct Ask {
    why: String,
    what: String,
    #[serde(skip)]
    owner: String,
}

impl Answer {
    pub fn new(making: &Making, c: &CandidateDiagnosis) -> Answer {
        let v = &c.verdict;
        let say = |both: &crate::diagnose::Both| both.get(making.lang == Lang::Zh).to_owned();
        let advice = v.stage.and_then(advice);
        let mut reasons = v.missing.clone();
        if failing(&c.counts) && !reasons.contains(&Reason::NoFirstToken) {
            reasons.push(Reason::NoFirstToken);
        }
        let missing: Vec<Ask> = reasons
            .into_iter()
            .filter_map(|reason| {
                let gap = gap(reason)?;
                let why = match reason {
                    // The sentence says how many; only when none got one is that the whole story.
                    Reason::NoFirstToken if c.counts.with_ttft > 0 => making.word("report.some_failed"),
                    Reason::InvalidEvidence => {
                        let why = making.word(&format!("reason.{}", reason.as_str()));
                        format!("{why} ({})", void(making.words, c))
                    }
                    _ => making.word(&format!("reason.{}", reason.as_str())),
                };
                let (ask, owner) = (say(&gap.ask), say(&gap.owner));
                let what = making.words.fill("report.ask", &[("ask", &ask), ("owner", &owner)]);
                Some(Ask { why: sentence(&why), what, owner })
            })
            .collect();
        let gpus = match (advice, v.word) {
            (Some(a), _) => say(&a.gpus.why),
            (None, Word::NothingSlow) => making.word("report.gpus_nothing_slow"),
            (None, _) => making.word("ui.gpus-unknown"),
        };
        let lines = advice.map_or(Vec::new(), |a| {
            vec![
                ("report.next", &a.change),
                ("report.owner", &a.owner),
                ("report.guardrails", &a.guardrails),
                ("report.verify", &a.verify),
                ("report.undo", &a.undo),
            ]
        });
        let owner = advice.map(|a| say(&a.owner)).or_else(|| missing.first().map(|m| m.owner.clone()));
        let share = v.share.map(|share| match v.interval {
            Some((low, high)) => format!("{} {}", percent(share), interval(&percent(low), &percent(high))),
            None => percent(share),
        });
        let rate = c.tail.slow_rate.map(|i| interval(&percent(i.low), &percent(i.high)));
        let (slow, n) = (v.slow.to_string(), v.n.to_string());
        let dash = || "–".to_owned();
        Answer {
            class: v.word.as_str(),
            symbol: match v.word {
                Word::Supported => "●",
                Word::Suggestive => "◐",
                Word::InsufficientEvidence => "?",
                Word::NothingSlow => "✓",
            },
            badge: making.word(&format!("badge.{}", v.word.as_str())),
            sentence: sentence(&verdict_sentence(making.words, c)),
            stage: v.stage.map_or_else(dash, |stage| making.stage(stage)),
            share: share.unwrap_or_else(dash),
            slow: making.words.fill("report.k_of_n", &[("k", &slow), ("n", &n)]),
            rate: rate.unwrap_or_else(dash),
            threshold: c.slow_ns.map_or_else(|| making.word("report.no_threshold"), ns),
            owner: owner.unwrap_or_else(dash),
            next: lines.into_iter().map(|(key, text)| (making.word(key), say(text))).collect(),
            missing,
            gpus,
        }
    }
}
