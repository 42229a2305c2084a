//! `probity sources`: what is loaded.

use super::{Exit, Session, table};
use crate::error::Result;
use crate::store::{Store, verify_custody};

pub fn run(session: &mut Session) -> Result<Exit> {
    let store = Store::new(session.root());
    let sources = store.sources()?;
    if session.out.json {
        session.out.value(&sources)?;
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
    let entries = verify_custody(&store.evidence())?;
    session.out.note(&format!("{} {entries}", session.words.get("ui.custody")));
    Ok(Exit::Good)
}
