//! One next change for a slow stage, and whom to ask for what is missing: data in `advice.toml`, both languages.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A text in both languages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Both {
    /// English.
    pub en: String,
    /// Chinese.
    pub zh: String,
}

impl Both {
    /// The text in one language.
    #[must_use]
    pub fn get(&self, chinese: bool) -> &str {
        if chinese { &self.zh } else { &self.en }
    }
}

/// Whether more accelerators would help.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpus {
    /// `no` or `not shown`.
    pub answer: String,
    /// Why.
    pub why: Both,
}

/// The one next change for a stage.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// Who can make it.
    pub owner: Both,
    /// What to change: one variable.
    pub change: Both,
    /// What must not get worse.
    pub guardrails: Both,
    /// How to see that it helped.
    pub verify: Both,
    /// How to take it back.
    pub undo: Both,
    /// Would more accelerators help?
    pub gpus: Gpus,
}

/// Evidence that is missing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// Who has it.
    pub owner: Both,
    /// What to ask for: the cheapest measurement that would settle it.
    pub ask: Both,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    stage: BTreeMap<String, Advice>,
    gap: BTreeMap<String, Gap>,
}

static FILE: LazyLock<Option<File>> = LazyLock::new(|| toml::from_str(include_str!("advice.toml")).ok());

/// Advice for a stage; `None` for `unattributed`, which asks for evidence instead.
#[must_use]
pub fn advice(stage: &str) -> Option<&'static Advice> {
    FILE.as_ref()?.stage.get(stage)
}

/// What to ask for, by [`super::Reason`].
#[must_use]
pub fn gap(reason: super::Reason) -> Option<&'static Gap> {
    FILE.as_ref()?.gap.get(reason.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Reason;

    #[test]
    fn every_stage_has_advice_and_every_reason_has_a_gap() {
        toml::from_str::<File>(include_str!("advice.toml")).expect("advice.toml is valid");
        for stage in crate::ledger::STAGES.iter().filter(|s| **s != "unattributed") {
            assert!(advice(stage).is_some(), "{stage}");
        }
        for reason in [
            Reason::InvalidEvidence,
            Reason::NoClient,
            Reason::NoFirstToken,
            Reason::NoEngine,
            Reason::EngineNotJoined,
            Reason::TooFewSlow,
            Reason::Overlap,
            Reason::EngineRest,
        ] {
            assert!(gap(reason).is_some(), "{}", reason.as_str());
        }
    }
}
