//! What of a candidate rests on evidence that the rules of [`crate::check`] found void.

use crate::check::Checked;
use crate::error::Result;
use crate::finding::{Code, Severity};
use crate::ledger::Ledger;
use crate::store::{Engine, quote};
use serde::Serialize;
use std::collections::BTreeSet;

/// A source that no figure rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VoidSource {
    /// Its id.
    pub source: String,
    /// Its name as loaded.
    pub file: String,
    /// Hop that it speaks of.
    pub hop: String,
    /// Why: codes of the findings.
    pub codes: Vec<Code>,
}

/// The void sources of a candidate, and what they take with them.
#[derive(Debug)]
pub struct Void {
    pub sources: Vec<VoidSource>,
    /// The waits that users saw: no percentile stands.
    pub waits: bool,
    /// What the verdict would rest on: no stage is named.
    pub verdict: bool,
}

/// Makes the table `void` of all void sources, which figures of single sources leave out.
pub fn table(engine: &Engine, checked: &Checked) -> Result<()> {
    engine.execute("CREATE OR REPLACE TABLE void (candidate VARCHAR, source VARCHAR)")?;
    let grave = |f: &&crate::check::Found| f.finding.code.severity() == Severity::Error;
    let all: BTreeSet<_> = checked.found.iter().filter(grave).map(|f| (&f.candidate, &f.source)).collect();
    for (candidate, source) in all {
        engine.execute(&format!("INSERT INTO void VALUES ({}, {})", quote(candidate), quote(source)))?;
    }
    Ok(())
}

impl Void {
    pub fn of(ledger: &Ledger, candidate: &str) -> Result<Void> {
        let void = ledger.checked.void(candidate);
        if void.is_empty() {
            return Ok(Void { sources: Vec::new(), waits: false, verdict: false });
        }
        let sql = format!(
            "SELECT DISTINCT source, hop FROM request WHERE candidate = {} ORDER BY source, hop",
            quote(candidate)
        );
        let holding = ledger.engine.rows(&sql, |c| Ok((c.text("source")?, c.text("hop")?)))?;
        let is_void = |source: &str| void.contains(source);
        let has_client = holding.iter().any(|(_, hop)| hop == "client");
        let waits = holding.iter().any(|(source, hop)| hop == "client" && is_void(source));
        // Where no client recorded requests, the void source is all there is.
        let verdict = !has_client || holding.iter().any(|(source, _)| is_void(source));
        let sources = ledger.sources.iter().filter(|s| s.candidate == candidate && is_void(&s.source));
        let sources = sources.map(|s| {
            let grave = |code: &Code| code.severity() == Severity::Error;
            let codes: BTreeSet<Code> =
                ledger.checked.about(candidate, &s.source).map(|f| f.code).filter(grave).collect();
            VoidSource {
                source: s.source.clone(),
                file: s.name.clone(),
                hop: s.hop.clone(),
                codes: codes.into_iter().collect(),
            }
        });
        Ok(Void { sources: sources.collect(), waits, verdict })
    }
}
