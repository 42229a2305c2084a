//! `probity load`: files into the store.

use super::progress::Bar;
use super::{Exit, Session, received_at};
use crate::error::{Error, Result};
use crate::input::{Limits, walk};
use crate::row::Hop;
use crate::store::{LoadOptions, Loaded, Outcome, Store, load};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Files or folders; a folder is searched, and what is not recognised in it is skipped
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Candidate the files speak about
    #[arg(long, value_name = "NAME")]
    candidate: String,
    /// Format id, when recognising fails (`probity formats` lists them)
    #[arg(long, value_name = "ID")]
    format: Option<String>,
    /// Hop that observed: client, gateway, router, engine, cluster, host
    #[arg(long, value_name = "HOP", value_parser = parse_hop)]
    hop: Option<Hop>,
    /// Name of the clock, shared by sources that one clock stamps
    #[arg(long, value_name = "NAME")]
    clock: Option<String>,
    /// Zone of naive local times: Asia/Shanghai, UTC, +08:00
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// When the files were received (default: now)
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
}

fn parse_hop(name: &str) -> std::result::Result<Hop, String> {
    Hop::parse(name).ok_or_else(|| "use client, gateway, router, engine, cluster or host".to_owned())
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct Line<'a> {
    file: String,
    outcome: &'static str,
    format: Option<&'a str>,
    hop: Option<&'a str>,
    sha256: Option<&'a str>,
    read: Option<i64>,
    refused: Option<i64>,
    findings: Vec<String>,
}

pub fn run(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    crate::trial::check_id(&arguments.candidate)?;
    let files = walk(&arguments.files)?;
    let options = LoadOptions {
        candidate: arguments.candidate.clone(),
        format: arguments.format.clone(),
        hop: arguments.hop,
        clock: arguments.clock.clone(),
        zone: arguments.tz.clone(),
        received_at: received_at(arguments.as_of.as_deref())?,
        limits: Limits::default(),
    };
    let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
    let mut bar = Bar::new(&session.out);
    let loaded = load(&Store::new(session.root()), &paths, &options, &mut bar)?;
    bar.clear();
    print(session, &loaded)?;
    let named_and_refused =
        loaded.iter().zip(&files).any(|(l, (_, in_folder))| l.outcome == Outcome::Refused && !in_folder);
    if loaded.iter().all(|l| l.outcome == Outcome::Refused) {
        return Err(Error::input("nothing could be loaded")
            .hint("see the findings above; `probity formats` lists what is read"));
    }
    Ok(if named_and_refused { Exit::BadInput } else { Exit::Good })
}

/// Prints the findings of a load, on stderr.
pub fn note(session: &Session, loaded: &[Loaded]) {
    for finding in loaded.iter().flat_map(|l| &l.findings) {
        session.out.finding(&session.words, finding);
    }
}

/// Prints what became of each file: findings to stderr, one line a file to stdout.
fn print(session: &mut Session, loaded: &[Loaded]) -> Result<()> {
    note(session, loaded);
    if session.out.json {
        let lines: Vec<Line> = loaded.iter().map(line).collect();
        return session.out.value(&lines);
    }
    let mut rows = vec![
        ["file", "outcome", "format", "hop", ">read", ">refused"]
            .map(|key| {
                let (right, key) = key.strip_prefix('>').map_or(("", key), |key| (">", key));
                format!("{right}{}", session.words.get(&format!("ui.{key}")))
            })
            .to_vec(),
    ];
    for one in loaded.iter().map(line) {
        let number = |n: Option<i64>| n.map_or("-".to_owned(), |n| n.to_string());
        rows.push(vec![
            one.file.clone(),
            session.words.get(&format!("ui.{}", one.outcome)).to_owned(),
            one.format.unwrap_or("-").to_owned(),
            one.hop.map_or("-".to_owned(), |hop| session.words.get(&format!("hop.{hop}")).to_owned()),
            number(one.read),
            number(one.refused),
        ]);
    }
    for text in super::table::lines(&rows) {
        session.out.line(&text)?;
    }
    Ok(())
}

fn line(loaded: &Loaded) -> Line<'_> {
    let source = loaded.source.as_ref();
    Line {
        file: loaded.path.display().to_string(),
        outcome: match loaded.outcome {
            Outcome::Loaded => "loaded",
            Outcome::Already => "already",
            Outcome::Refused => "refused",
        },
        format: source.map(|s| s.format.as_str()),
        hop: source.map(|s| s.hop.as_str()),
        sha256: source.map(|s| s.sha256.as_str()),
        read: source.map(|s| s.read),
        refused: source.map(|s| s.refused),
        findings: loaded
            .findings
            .iter()
            .map(|f| format!("{} [{}] {}", f.location(), f.code, f.detail))
            .collect(),
    }
}
