//! `probity formats`: what is read, and what a file is.

use super::{Exit, Session, table};
use crate::error::{Error, Result};
use crate::finding::Code;
use crate::format::{FORMATS, USES, clocks, describe, recognise};
use crate::input::{Head, Limits, is_archive, open, unpack, walk};
use crate::ledger::STAGES;
use clap::Args;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

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
    /// Why it is not exactly one.
    why: Option<String>,
}

#[derive(Serialize)]
struct Guess {
    format: &'static str,
    version: String,
    hop: &'static str,
    clocks: BTreeSet<String>,
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
    let limits = Limits::default();
    let mut all = Vec::new();
    for (path, _) in walk(paths)? {
        if !is_archive(&path)? {
            all.push(look(&path, path.display().to_string(), limits)?);
            continue;
        }
        let scratch = tempfile::tempdir().map_err(|e| Error::run("no folder for unpacking").because(e))?;
        unpack(&path, scratch.path(), limits, &mut |name, member| {
            all.push(match member {
                Ok(member) => look(member, name.to_owned(), limits)?,
                Err((code, detail)) => Seen {
                    file: name.to_owned(),
                    formats: Vec::new(),
                    why: Some(format!("[{code}] {detail}")),
                },
            });
            Ok(())
        })?;
    }
    let one_each = all.iter().all(|seen| seen.formats.len() == 1);
    if session.out.json {
        session.out.value(&all)?;
    } else {
        for seen in &all {
            let text = told(session, seen);
            session.out.line(&text)?;
        }
    }
    Ok(if one_each { Exit::Good } else { Exit::BadInput })
}

/// What the file at `path`, called `file`, is.
fn look(path: &Path, file: String, limits: Limits) -> Result<Seen> {
    let mut head = Head::read(path, limits)?;
    let name = file.rsplit(['!', '/']).next().unwrap_or_default();
    name.clone_into(&mut head.name);
    let whole = || {
        let mut bytes = Vec::new();
        // What cannot be read to its end has no more clocks to show.
        let _ = open(path, limits).map(|file| file.take(limits.document as u64).read_to_end(&mut bytes));
        bytes
    };
    let formats: Vec<Guess> = recognise(&head)
        .into_iter()
        .map(|r| Guess {
            format: r.format.id(),
            version: r.version,
            hop: r.format.hop().as_str(),
            clocks: clocks(r.format, &head, whole),
            because: r.because,
        })
        .collect();
    let why = match (formats.len(), &head.broken) {
        (1, _) => None,
        (0, Some(broken)) => Some(broken.clone()),
        (0, None) => Some(describe(&head)),
        _ => Some(Code::FormatAmbiguous.id().to_owned()),
    };
    Ok(Seen { file, formats, why })
}

/// One line on a file for people.
fn told(session: &Session, seen: &Seen) -> String {
    let word = |key: String| session.words.get(&key).to_owned();
    let formats: Vec<String> = seen
        .formats
        .iter()
        .map(|guess| {
            let mut parts = vec![guess.format.to_owned()];
            parts.extend((!guess.version.is_empty()).then(|| guess.version.clone()));
            parts.push(format!("({})", guess.because));
            let clocks = guess.clocks.iter().map(|kind| word(format!("clock.{kind}")));
            let rest: Vec<String> =
                std::iter::once(word(format!("hop.{}", guess.hop))).chain(clocks).collect();
            format!("{}; {}", parts.join(" "), rest.join(", "))
        })
        .collect();
    match (&seen.why, formats.as_slice()) {
        (Some(why), []) => format!("{}: {}: {why}", seen.file, word("code.format-unknown.title".to_owned())),
        (Some(_), many) => {
            format!("{}: {}: {}", seen.file, word("code.format-ambiguous.title".to_owned()), many.join(" | "))
        }
        (None, one) => format!("{}: {}", seen.file, one.join("")),
    }
}
