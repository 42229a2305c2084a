//! `probity load`: files into the store.

use super::limits::LimitArguments;
use super::progress::Bar;
use super::{Exit, Session, received_at};
use crate::check::check;
use crate::error::{Error, Result};
use crate::finding::Code;
use crate::format::mapping::{Mapping, sketch};
use crate::input::{Head, walk};
use crate::row::Hop;
use crate::store::{LoadOptions, Loaded, Outcome, Store, load};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Files or folders; a folder is searched, and what is not recognised in it is skipped
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Candidate the files speak about
    #[arg(long, value_name = "NAME", required_unless_present = "sketch_map")]
    candidate: Option<String>,
    /// Format id, when recognising fails (`probity formats` lists them)
    #[arg(long, value_name = "ID")]
    format: Option<String>,
    /// Mapping: what the columns mean of a table (CSV, TSV, JSON records, .xlsx) that no format knows
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    map: Option<PathBuf>,
    /// Print a first mapping of the file, guessed from its header and first rows, and load nothing
    #[arg(long, conflicts_with_all = ["map", "format"])]
    sketch_map: bool,
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
    #[command(flatten)]
    limits: LimitArguments,
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

/// Files that are not the trial's own: a folder that holds the trial is no evidence of it.
fn outside(root: &Path, files: Vec<(PathBuf, bool)>) -> Vec<(PathBuf, bool)> {
    let own = ["evidence", "tables", "ledger", "report"].map(|folder| root.join(folder).canonicalize());
    let is_own = |path: &Path| {
        let path = path.canonicalize();
        path.is_ok_and(|path| own.iter().flatten().any(|folder| path.starts_with(folder)))
    };
    files.into_iter().filter(|(path, in_folder)| !(*in_folder && is_own(path))).collect()
}

pub fn run(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    let Some(candidate) = arguments.candidate.as_ref().filter(|_| !arguments.sketch_map) else {
        return sketch_map(session, arguments);
    };
    crate::trial::check_id(candidate)?;
    let files = outside(session.root(), walk(&arguments.files)?);
    let options = LoadOptions {
        candidate: candidate.clone(),
        format: arguments.format.clone(),
        map: arguments.map.as_deref().map(|path| read_map(session, path)).transpose()?,
        hop: arguments.hop,
        clock: arguments.clock.clone(),
        zone: arguments.tz.clone(),
        received_at: received_at(arguments.as_of.as_deref())?,
        limits: arguments.limits.limits(),
    };
    let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
    let mut bar = Bar::new(&session.out);
    let store = Store::new(session.root());
    let mut loaded = load(&store, &paths, &options, &mut bar)?;
    bar.clear();
    if loaded.iter().any(|l| l.outcome == Outcome::Loaded) {
        let checked = check(&store)?;
        for one in loaded.iter_mut().filter(|l| l.outcome == Outcome::Loaded) {
            let Some(source) = &one.source else { continue };
            one.findings.extend(checked.about(&source.candidate, &source.source).cloned());
        }
    }
    let lines: Vec<Line> = loaded.iter().map(|l| line(l, &files)).collect();
    note(session, &loaded, &files);
    if session.out.json {
        session.out.value(&lines)?;
    } else {
        print(session, &lines)?;
    }
    if loaded.iter().all(|l| l.outcome == Outcome::Refused) {
        return Err(Error::input("nothing could be loaded")
            .hint("see the findings above; `probity formats` lists what is read"));
    }
    Ok(if lines.iter().any(|l| l.outcome == "refused") { Exit::BadInput } else { Exit::Good })
}

/// The mapping at a path; its problems are printed.
pub fn read_map(session: &Session, path: &Path) -> Result<Mapping> {
    Mapping::load(path)?.map_err(|findings| {
        for finding in &findings {
            session.out.finding(&session.words, finding);
        }
        Error::input(format!("the mapping {} cannot be used", path.display()))
            .hint("mend the lines above and run again; --sketch-map prints a first mapping of a file")
    })
}

fn sketch_map(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    let [path] = arguments.files.as_slice() else {
        return Err(Error::input("--sketch-map takes one file").hint("run it once for each table"));
    };
    let limits = arguments.limits.limits();
    let head = Head::read(path, limits)?;
    let text = sketch(path, &head, limits)?;
    if session.out.json {
        session.out.value(&BTreeMap::from([("map", text)]))?;
    } else {
        for line in text.lines() {
            session.out.line(line)?;
        }
    }
    Ok(Exit::Good)
}

/// Whether a file came along with its folder or archive and is simply of no format: worth a line, not an alarm.
pub fn is_bystander(loaded: &Loaded, files: &[(PathBuf, bool)]) -> bool {
    let along = loaded.member || files.get(loaded.given).is_some_and(|(_, in_folder)| *in_folder);
    along
        && loaded.outcome == Outcome::Refused
        && loaded.findings.iter().all(|f| matches!(f.code, Code::FormatUnknown | Code::FileEmpty))
}

/// Prints the findings of a load, on stderr; files of no format that came with a folder share one line.
pub fn note(session: &Session, loaded: &[Loaded], files: &[(PathBuf, bool)]) {
    let mut bystanders = Vec::new();
    for one in loaded {
        if is_bystander(one, files) {
            bystanders
                .push(one.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default());
            continue;
        }
        for finding in &one.findings {
            session.out.finding(&session.words, finding);
        }
    }
    if !bystanders.is_empty() {
        session.out.note(&format!("· {} {}", session.words.get("ui.bystanders"), bystanders.join(", ")));
    }
}

/// Prints one line a file; files of one folder, format and outcome share a line when there are many.
fn print(session: &mut Session, lines: &[Line]) -> Result<()> {
    const MANY: usize = 4;
    let mut rows = vec![
        ["file", "outcome", "format", "hop", ">read", ">refused"]
            .map(|key| {
                let (right, key) = key.strip_prefix('>').map_or(("", key), |key| (">", key));
                format!("{right}{}", session.words.get(&format!("ui.{key}")))
            })
            .to_vec(),
    ];
    let folder = |l: &Line| PathBuf::from(&l.file).parent().map(PathBuf::from);
    let alike = |a: &Line, b: &Line| {
        (folder(a), a.outcome, a.format, a.hop) == (folder(b), b.outcome, b.format, b.hop)
    };
    for group in lines.chunk_by(alike) {
        let shown = if group.len() < MANY { group.chunks(1).collect() } else { vec![group] };
        for same in shown {
            let Some(first) = same.first() else { continue };
            let sum = |pick: fn(&Line) -> Option<i64>| {
                let sum: Option<i64> = same.iter().map(pick).sum();
                sum.map_or("-".to_owned(), |n| n.to_string())
            };
            let file = match (same.len(), folder(first)) {
                (1, _) | (_, None) => first.file.clone(),
                (n, Some(folder)) => format!("{} ({n} {})", folder.display(), session.words.get("ui.files")),
            };
            rows.push(vec![
                file,
                session.words.get(&format!("ui.{}", first.outcome)).to_owned(),
                first.format.unwrap_or("-").to_owned(),
                first.hop.map_or("-".to_owned(), |hop| session.words.get(&format!("hop.{hop}")).to_owned()),
                sum(|l| l.read),
                sum(|l| l.refused),
            ]);
        }
    }
    for text in super::table::lines(&rows) {
        session.out.line(&text)?;
    }
    Ok(())
}

fn line<'a>(loaded: &'a Loaded, files: &[(PathBuf, bool)]) -> Line<'a> {
    let source = loaded.source.as_ref();
    Line {
        file: loaded.path.display().to_string(),
        outcome: match loaded.outcome {
            Outcome::Loaded => "loaded",
            Outcome::Already => "already",
            Outcome::Refused if is_bystander(loaded, files) => "skipped",
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
