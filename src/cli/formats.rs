//! `probity formats`: what is read, and what a file is.

use super::{Exit, Session, table};
use crate::error::Result;
use crate::format::{FORMATS, USES, recognise};
use crate::input::{Head, Limits, walk};
use crate::ledger::STAGES;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Say what these files are instead
    #[arg(long, value_name = "FILE", num_args = 1..)]
    of: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Known {
    id: &'static str,
    title: &'static str,
    hop: &'static str,
    informs: &'static [&'static str],
}

#[derive(Serialize)]
struct Seen {
    file: String,
    formats: Vec<Guess>,
}

#[derive(Serialize)]
struct Guess {
    format: &'static str,
    version: String,
    hop: &'static str,
    because: &'static str,
}

pub fn run(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    if !arguments.of.is_empty() {
        return of(session, &arguments.of);
    }
    let known: Vec<Known> = FORMATS
        .iter()
        .map(|f| Known { id: f.id(), title: f.title(), hop: f.hop().as_str(), informs: f.informs() })
        .collect();
    if session.out.json {
        session.out.value(&known)?;
        return Ok(Exit::Good);
    }
    let hop = |hop: &str| session.words.get(&format!("hop.{hop}")).to_owned();
    let mut rows =
        vec![["format", "hop", "title"].map(|k| session.words.get(&format!("ui.{k}")).to_owned()).to_vec()];
    rows.extend(known.iter().map(|f| vec![f.id.to_owned(), hop(f.hop), f.title.to_owned()]));
    let mut text = table::lines(&rows);
    text.push(String::new());
    text.push(session.words.get("ui.informs").to_owned());
    text.extend(table::lines(&by_use(session, &known)));
    for line in text {
        session.out.line(&line)?;
    }
    Ok(Exit::Good)
}

/// For every stage, and every other use, the formats that are evidence for it; two columns, no heading.
fn by_use(session: &Session, known: &[Known]) -> Vec<Vec<String>> {
    const WIDTH: usize = 80;
    let stages = std::iter::once("client_wait").chain(STAGES).map(|id| (id, format!("stage.{id}")));
    let uses = USES.into_iter().map(|id| (id, format!("use.{id}")));
    let mut rows = Vec::new();
    for (id, key) in stages.chain(uses) {
        let mut lines = vec![String::new()];
        for format in known.iter().filter(|f| f.informs.contains(&id)) {
            let line = lines.last().map_or(0, String::len);
            if line > 0 && line + 1 + format.id.len() > WIDTH {
                lines.push(String::new());
            }
            if let Some(last) = lines.last_mut() {
                last.push_str(if last.is_empty() { "" } else { " " });
                last.push_str(format.id);
            }
        }
        if lines.iter().all(String::is_empty) {
            continue;
        }
        for (at, line) in lines.into_iter().enumerate() {
            rows.push(vec![if at == 0 { session.words.get(&key).to_owned() } else { String::new() }, line]);
        }
    }
    rows
}

fn of(session: &mut Session, paths: &[PathBuf]) -> Result<Exit> {
    let mut all = Vec::new();
    for (path, _) in walk(paths)? {
        let head = Head::read(&path, Limits::default())?;
        let formats = recognise(&head)
            .into_iter()
            .map(|r| Guess {
                format: r.format.id(),
                version: r.version,
                hop: r.format.hop().as_str(),
                because: r.because,
            })
            .collect();
        all.push(Seen { file: path.display().to_string(), formats });
    }
    let one_each = all.iter().all(|seen| seen.formats.len() == 1);
    if session.out.json {
        session.out.value(&all)?;
    } else {
        for seen in &all {
            let none = session.words.get("code.format-unknown.title").to_owned();
            let formats: Vec<String> = seen
                .formats
                .iter()
                .map(|g| format!("{} {} ({})", g.format, g.version, g.because).replace("  ", " "))
                .collect();
            let what = if formats.is_empty() { none } else { formats.join("; ") };
            session.out.line(&format!("{}: {what}", seen.file))?;
        }
    }
    Ok(if one_each { Exit::Good } else { Exit::BadInput })
}
