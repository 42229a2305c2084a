//! Findings of all sources and of joining them, grouped by code, the gravest first.

use super::Making;
use crate::error::Result;
use crate::finding::{Code, Finding, Place};
use crate::report::text::{clipped, place, shown};
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
    /// The first of them.
    first: String,
    detail: String,
}

/// Every code that was found.
pub fn all(making: &Making) -> Result<Vec<Found>> {
    let stored = making.ledger.engine.rows(include_str!("finding.sql"), |c| {
        let at = Place::item(c.count("line")?, c.count("item")?);
        Ok((c.text("code")?, c.text("file")?, at, c.text("detail")?, c.count("n")?))
    })?;
    let mut by_code: BTreeMap<Code, (i64, Finding)> = BTreeMap::new();
    for (code, file, at, detail, n) in stored {
        if let Some(code) = Code::parse(&code) {
            by_code.insert(code, (n, Finding::new(code, file, at, detail)));
        }
    }
    let checked = making.ledger.checked.found.iter().map(|f| &f.finding);
    for finding in checked.chain(&making.ledger.findings) {
        by_code.entry(finding.code).or_insert_with(|| (0, finding.clone())).0 += 1;
    }
    let mut found: Vec<(Code, i64, Finding)> =
        by_code.into_iter().map(|(code, (n, first))| (code, n, first)).collect();
    found.sort_by_key(|(code, ..)| (Reverse(code.severity()), *code));
    let word = |code: Code, part: &str| making.word(&format!("code.{}.{part}", code.id()));
    let row = |(code, n, first): (Code, i64, Finding)| Found {
        code: code.id(),
        severity: making.word(&format!("severity.{}", code.severity().as_str())),
        class: code.severity().as_str(),
        title: word(code, "title"),
        remedy: word(code, "remedy"),
        n: n.to_string(),
        first: if first.place == Place::FILE {
            shown(&first.file)
        } else {
            place(&first.file, first.place.line, first.place.item)
        },
        detail: clipped(&first.detail),
    };
    Ok(found.into_iter().map(row).collect())
}
