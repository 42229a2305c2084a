//! Findings of all sources and of joining them, grouped by code, the gravest first.

use super::Making;
use crate::error::Result;
use crate::finding::{Code, Finding, Place};
use crate::report::text::{place, shown};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The findings of one code.
#[derive(Debug, Serialize)]
pub struct Found {
    code: &'static str,
    severity: String,
    /// CSS class.
    class: &'static str,
    title: String,
    remedy: String,
    n: String,
    /// Where each stands and what proves it: of records the first, of rules up to [`SHOWN`].
    proofs: Vec<Proof>,
}

/// One finding's place and proof.
#[derive(Debug, Serialize)]
pub struct Proof {
    place: String,
    detail: String,
}

/// Findings of one code that are shown with their proof; `n` says how many there are.
const SHOWN: usize = 12;

/// Every code that was found.
pub fn all(making: &Making) -> Result<Vec<Found>> {
    let stored = making.ledger.engine.rows(include_str!("finding.sql"), |c| {
        let at = Place::item(c.count("line")?, c.count("item")?);
        Ok((c.text("code")?, c.text("file")?, at, c.text("detail")?, c.count("n")?))
    })?;
    let mut by_code: BTreeMap<Code, (i64, Vec<Finding>)> = BTreeMap::new();
    for (code, file, at, detail, n) in stored {
        if let Some(code) = Code::parse(&code) {
            by_code.insert(code, (n, vec![Finding::new(code, file, at, detail)]));
        }
    }
    let checked = making.ledger.checked.found.iter().map(|f| &f.finding);
    for finding in checked.chain(&making.ledger.findings) {
        let (n, shown) = by_code.entry(finding.code).or_default();
        *n += 1;
        shown.push(finding.clone());
    }
    let mut found: Vec<_> = by_code.into_iter().collect();
    found.sort_by_key(|(code, _)| (Reverse(code.severity()), *code));
    let word = |code: Code, part: &str| making.word(&format!("code.{}.{part}", code.id()));
    let proof = |finding: &Finding| Proof {
        place: match finding.place {
            Place::FILE => shown(&finding.file),
            Place { line, item } => place(&finding.file, line, item),
        },
        // A rule's proof is one sentence and shown whole; a record's may quote what was sent.
        detail: shown(&finding.detail).chars().take(400).collect(),
    };
    let row = |(code, (n, findings)): (Code, (i64, Vec<Finding>))| Found {
        code: code.id(),
        severity: making.word(&format!("severity.{}", code.severity().as_str())),
        class: code.severity().as_str(),
        title: word(code, "title"),
        remedy: word(code, "remedy"),
        n: n.to_string(),
        proofs: findings.iter().take(SHOWN).map(proof).collect(),
    };
    Ok(found.into_iter().map(row).collect())
}
