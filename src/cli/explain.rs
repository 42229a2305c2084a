//! `probity explain`: a finding's code in words.

use super::{Exit, Session};
use crate::error::{Error, Result};
use crate::finding::Code;
use clap::Args;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Code of a finding, such as record-not-json; all codes when left out
    code: Option<String>,
}

pub fn run(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    let Some(id) = &arguments.code else {
        let all: Vec<_> = Code::ALL.iter().map(|code| entry(session, *code)).collect();
        if session.out.json {
            session.out.value(&all)?;
        } else {
            for [id, severity, title, ..] in &all {
                session.out.line(&format!("{id} ({severity}): {title}"))?;
            }
        }
        return Ok(Exit::Good);
    };
    let code = Code::parse(id).ok_or_else(|| {
        let near = Code::ALL
            .iter()
            .max_by(|a, b| strsim::jaro_winkler(a.id(), id).total_cmp(&strsim::jaro_winkler(b.id(), id)));
        let near = near.map_or_else(String::new, |code| format!("; the nearest is {code}"));
        Error::input(format!("no finding has the code {id:?}{near}"))
            .hint("`probity explain` lists all codes")
    })?;
    let [id, severity, title, cause, remedy] = entry(session, code);
    if session.out.json {
        let keys = ["code", "severity", "title", "cause", "remedy"];
        let map: std::collections::BTreeMap<_, _> =
            keys.into_iter().zip([id, severity, title, cause, remedy]).collect();
        session.out.value(&map)?;
    } else {
        for text in [format!("{id} ({severity}): {title}"), cause, format!("→ {remedy}")] {
            session.out.line(&text)?;
        }
    }
    Ok(Exit::Good)
}

fn entry(session: &Session, code: Code) -> [String; 5] {
    let id = code.id();
    let word = |part: &str| session.words.get(&format!("code.{id}.{part}")).to_owned();
    let severity = session.words.get(&format!("severity.{}", code.severity().as_str())).to_owned();
    [id.to_owned(), severity, word("title"), word("cause"), word("remedy")]
}
