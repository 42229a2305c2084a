//! The report: one self-contained HTML file a language, answer first, every figure with its way back.
//!
//! `context` makes plain structs of text from the diagnosis, `figure` the drawings, and `template` fills both
//! into `reports/`. Nothing here looks at the clock, the machine or the place it runs in.

mod context;
mod figure;
mod template;
pub mod text;
mod words;

pub use words::{Lang, Words};

use crate::diagnose::Diagnosis;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::trial::Trial;

/// Renders the report of a trial.
///
/// # Errors
/// The engine cannot give the evidence of a request, or a template asks for what is not there.
pub fn html(trial: &Trial, ledger: &Ledger, diagnosis: &Diagnosis, lang: Lang) -> Result<String> {
    let words = Words::new(lang);
    template::render(&context::Page::new(trial, ledger, diagnosis, &words, lang)?)
}
