//! `probity sources`: what is loaded.

use super::{Exit, Session, table};
use crate::check::check;
use crate::error::Result;
use crate::finding::Finding;
use crate::store::{SourceRow, Store, verify_custody};
use serde::Serialize;

/// A source as it is printed with `--json`.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    source: SourceRow,
    /// Whether no figure rests on it.
    void: bool,
    /// What was found in it after loading.
    findings: Vec<Finding>,
}

pub fn run(session: &mut Session) -> Result<Exit> {
    let store = Store::new(session.root());
    let sources = store.sources()?;
    let checked = check(&store)?;
    if session.out.json {
        let line = |source: &SourceRow| {
            let findings = checked.about(&source.candidate, &source.source).cloned().collect();
            Line {
                void: checked.void(&source.candidate).contains(source.source.as_str()),
                findings,
                source: source.clone(),
            }
        };
        session.out.value(&sources.iter().map(line).collect::<Vec<_>>())?;
        return Ok(Exit::Good);
    }
    let heading = ["candidate", "source", "format", "hop", ">read", ">refused", ">bytes", "file"];
    let mut rows = vec![
        heading
            .map(|key| {
                let (right, key) = key.strip_prefix('>').map_or(("", key), |key| (">", key));
                format!("{right}{}", session.words.get(&format!("ui.{key}")))
            })
            .to_vec(),
    ];
    for s in &sources {
        rows.push(vec![
            s.candidate.clone(),
            s.source.clone(),
            s.format.clone(),
            session.words.get(&format!("hop.{}", s.hop)).to_owned(),
            s.read.to_string(),
            s.refused.to_string(),
            s.bytes.to_string(),
            s.name.clone(),
        ]);
    }
    for text in table::lines(&rows) {
        session.out.line(&text)?;
    }
    for found in &checked.found {
        session.out.finding(&session.words, &found.finding);
    }
    let entries = verify_custody(&store.evidence())?;
    session.out.note(&format!("{} {entries}", session.words.get("ui.custody")));
    Ok(Exit::Good)
}
