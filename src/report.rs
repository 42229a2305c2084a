//! The report: one self-contained HTML file a language, answer first, every figure with its way back.

pub mod text;
mod words;

pub use words::{Lang, Words};

use crate::diagnose::Diagnosis;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::trial::Trial;

/// Renders the report of a trial.
pub fn html(trial: &Trial, ledger: &Ledger, diagnosis: &Diagnosis, lang: Lang) -> Result<String> {
    let _ = (trial, ledger, diagnosis, lang);
    Ok(String::new())
}
