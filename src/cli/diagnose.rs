//! `probity diagnose`: the answer, or what is missing.

use super::{Exit, Session, answer};
use crate::diagnose::{Diagnosis, Word, diagnose, failing};
use crate::error::{Error, Result};
use crate::ledger;
use crate::store::Store;
use crate::trial::{Dimension, Slow, Trial};
use clap::Args;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Only this candidate
    #[arg(long, value_name = "NAME")]
    candidate: Option<String>,
    /// Group dimensions: model, caller, input, output, class, instance, cold, window, status
    #[arg(long, value_name = "DIM,DIM", value_delimiter = ',')]
    by: Vec<String>,
    /// What counts as slow: a duration such as 2s, or a percentile such as p95 (default: trial.toml)
    #[arg(long, value_name = "SLOW")]
    slow: Option<String>,
}

pub fn run(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    let trial = Trial::load_or_default(session.root())?;
    let slow = match &arguments.slow {
        None => trial.slow,
        Some(text) => Slow::parse(text).ok_or_else(|| {
            Error::input(format!("--slow {text:?} is not a threshold"))
                .hint("a duration such as 800ms or 2s, or a percentile such as p95")
        })?,
    };
    let dimensions = if arguments.by.is_empty() { trial.groups.clone() } else { dimensions(&arguments.by)? };
    let ledger = ledger::open(&Store::new(session.root()), trial.cold_first)?;
    let diagnosis = diagnose(&ledger, &trial, &slow, &dimensions, arguments.candidate.as_deref())?;
    if session.out.json {
        session.out.value(&diagnosis)?;
    } else {
        answer::print(session, &diagnosis)?;
    }
    Ok(exit(&diagnosis))
}

fn dimensions(names: &[String]) -> Result<Vec<Dimension>> {
    names
        .iter()
        .map(|name| {
            Dimension::parse(name).ok_or_else(|| {
                let all: Vec<_> = Dimension::ALL.iter().map(|d| d.as_str()).collect();
                Error::input(format!("--by {name:?} is not a dimension"))
                    .hint(format!("use {}", all.join(", ")))
            })
        })
        .collect()
}

/// Good when nothing is slow and nothing fails anywhere; adverse when a candidate is slow, fails or cannot be judged.
pub fn exit(diagnosis: &Diagnosis) -> Exit {
    let fine =
        diagnosis.candidates.iter().all(|c| c.verdict.word == Word::NothingSlow && !failing(&c.counts));
    if fine { Exit::Good } else { Exit::Adverse }
}
