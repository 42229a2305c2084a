//! The plan of a trial: `trial.toml`, read strictly, with every problem reported at its line.
//!
//! A key that nothing reads is a finding, so a misspelt setting is never silently ignored.

mod dimension;
mod slow;

pub use dimension::Dimension;
pub use slow::{Slow, parse_duration};

use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::input;
use crate::row::Hop;
use crate::settings::{self, Table, value};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Name of the plan in the trial's folder.
pub const FILE: &str = "trial.toml";

/// The commented plan that a new trial begins with: every key, in English and Chinese.
pub const TEMPLATE: &str = include_str!("trial/template.toml");

/// Largest plan that is read, in bytes: more settings than this are another file by mistake.
const LIMIT: u64 = 256 << 10;

/// One evaluation: a folder, what is in it, and how its figures are grouped.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The trial's folder.
    pub root: PathBuf,
    /// What the trial is called in reports.
    pub name: String,
    /// From where on an exchange belongs to the slow tail.
    pub slow: Slow,
    /// How many first exchanges of an instance count as cold.
    pub cold_first: i64,
    /// Width of a time window, in nanoseconds.
    pub window: i64,
    /// Largest prompt of each input bucket, in tokens, rising; longer prompts form one more bucket.
    pub input_buckets: Vec<i64>,
    /// Largest answer of each output bucket, in tokens, rising; longer answers form one more bucket.
    pub output_buckets: Vec<i64>,
    /// By what exchanges are grouped.
    pub groups: Vec<Dimension>,
    /// The platforms under trial, in the order of the plan.
    pub candidates: Vec<Candidate>,
}

/// A platform under trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Short id; it names folders.
    pub id: String,
    /// What reports call it.
    pub title: String,
    /// Its files.
    pub sources: Vec<SourceSpec>,
}

/// A file or folder to load, and what the file itself does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSpec {
    /// Where it is: relative to the trial, or absolute.
    pub path: PathBuf,
    /// Format id, when it shall not be recognised by content.
    pub format: Option<String>,
    /// Mapping of a table that no format knows: relative to the trial, or absolute.
    pub map: Option<PathBuf>,
    /// Hop, when it is not the format's own.
    pub hop: Option<Hop>,
    /// Clock domain, the same word for all sources that one clock stamps.
    pub clock: Option<String>,
    /// Zone of local times, as [`input::zone`] takes it.
    pub zone: Option<String>,
}

impl Trial {
    /// Reads the plan of the trial in `root`; the inner error holds every problem of the plan.
    ///
    /// # Errors
    /// When there is no plan, or it cannot be read as text.
    pub fn load(root: &Path) -> Result<std::result::Result<Trial, Vec<Finding>>> {
        let path = root.join(FILE);
        let file = std::fs::File::open(&path).map_err(|e| {
            if e.kind() == std::io::ErrorKind::NotFound {
                Error::input(format!("there is no {FILE} in {}", root.display())).hint(format!(
                    "run `probity init {}` to write one, or name the trial's folder with -C DIR",
                    root.display()
                ))
            } else {
                Error::io("read", &path, e)
            }
        })?;
        let mut bytes = Vec::new();
        file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(|e| Error::io("read", &path, e))?;
        if bytes.len() as u64 > LIMIT {
            return Err(Error::input(format!("{} is larger than 256 KiB", path.display()))
                .hint("a plan is a few pages of settings: check that this is the right file"));
        }
        let text = str::from_utf8(&bytes).map_err(|e| {
            let line = 1 + bytes.iter().take(e.valid_up_to()).filter(|b| **b == b'\n').count();
            Error::input(format!("{} is not UTF-8 text: see line {line}", path.display()))
                .hint("save the file with the encoding UTF-8")
        })?;
        Ok(Trial::parse(text, &path.display().to_string(), root))
    }

    /// Reads a plan from its text. `file` is what findings call it, `root` the trial's folder.
    ///
    /// # Errors
    /// All problems of the plan, in the order of its lines.
    pub fn parse(text: &str, file: &str, root: &Path) -> std::result::Result<Trial, Vec<Finding>> {
        settings::parse(text, file, |document| read(document, root))
    }

    /// The plan of the trial in `root`, or the defaults where there is none: commands that only look do not need one.
    ///
    /// # Errors
    /// When there is a plan and it cannot be used; the first problem stands in the error.
    pub fn load_or_default(root: &Path) -> Result<Trial> {
        let plan = if root.join(FILE).exists() { Trial::load(root)? } else { Trial::parse("", FILE, root) };
        plan.map_err(|findings| {
            let first =
                findings.first().map(|f| format!("{}: {}", f.location(), f.detail)).unwrap_or_default();
            Error::input(format!("{FILE} cannot be used: {first}"))
                .hint("`probity run` lists every problem in it")
        })
    }

    /// The candidate with this id.
    #[must_use]
    pub fn find_candidate(&self, id: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.id == id)
    }
}

/// Refuses what cannot be the id of a candidate, which names folders.
///
/// # Errors
/// The id has other characters than allowed.
pub fn check_id(id: &str) -> Result<()> {
    if value::is_id(id) {
        return Ok(());
    }
    Err(Error::input(format!("{id:?} cannot be the id of a candidate")).hint(
        "1 to 64 of a-z, 0-9, \".\", \"_\" and \"-\", beginning with a letter or digit: it names folders",
    ))
}

fn read(mut document: Table, root: &Path) -> Trial {
    let mut plan = document.table("trial");
    let name = plan.take("name", value::LINE, value::line);
    let slow = plan.take("slow", slow::WANT, |v| Slow::parse(v.as_str()?));
    let cold_first =
        plan.take("cold_first", "a whole number from 0 to 100000", |v| value::int(v, 0, 100_000));
    let window = plan.take("window", "a duration from \"1s\" to \"24h\"", |v| {
        parse_duration(v.as_str()?).filter(|ns| (slow::SECOND..=24 * slow::HOUR).contains(ns))
    });
    let input_buckets = buckets(&mut plan, "input_buckets");
    let output_buckets = buckets(&mut plan, "output_buckets");
    let mut seen = BTreeSet::new();
    let want = format!("each once, of {}", value::quoted(Dimension::ALL.map(Dimension::as_str)));
    let groups =
        plan.list("groups", &want, |v| Dimension::parse(v.as_str()?).filter(|group| seen.insert(*group)));
    plan.finish();

    let mut ids = BTreeSet::new();
    let candidates =
        document.tables("candidate").into_iter().map(|table| candidate(table, &mut ids)).collect();
    document.finish();
    Trial {
        root: root.to_path_buf(),
        name: name.unwrap_or_else(|| "trial".to_owned()),
        slow: slow.unwrap_or_default(),
        cold_first: cold_first.unwrap_or(1),
        window: window.unwrap_or(60 * slow::SECOND),
        input_buckets: input_buckets.unwrap_or_else(|| vec![128, 512, 2048, 8192]),
        output_buckets: output_buckets.unwrap_or_else(|| vec![64, 256, 1024]),
        groups: groups.unwrap_or_else(|| Dimension::ALL.to_vec()),
        candidates,
    }
}

fn buckets(plan: &mut Table, key: &'static str) -> Option<Vec<i64>> {
    let mut last = 0;
    plan.list(key, "whole numbers of tokens from 1 to 1000000000, each larger than the one before", |v| {
        let tokens = value::int(v, last + 1, 1_000_000_000)?;
        last = tokens;
        Some(tokens)
    })
}

fn candidate(mut table: Table, ids: &mut BTreeSet<String>) -> Candidate {
    let want = "an id that no other candidate has, 1 to 64 of a-z, 0-9, \".\", \"_\" and \"-\", beginning with a \
                letter or digit, because it names folders";
    let id = table.need("id", want, |v| value::id(v).filter(|id| ids.insert(id.clone()))).unwrap_or_default();
    let title = table.take("title", value::LINE, value::line).unwrap_or_else(|| id.clone());
    let sources = table.tables("source").into_iter().map(source).collect();
    table.finish();
    Candidate { id, title, sources }
}

fn source(mut table: Table) -> SourceSpec {
    let spec = SourceSpec {
        path: table
            .need("path", "the path of a file or folder, relative to the trial or absolute", value::path)
            .unwrap_or_default(),
        format: table.take(
            "format",
            "an id that `probity formats` lists, of a-z, 0-9 and \"_\"",
            value::format_id,
        ),
        map: table.take("map", "the path of a mapping, relative to the trial or absolute", value::path),
        hop: table.take("hop", &format!("one of {}", value::quoted(Hop::ALL.map(Hop::as_str))), |v| {
            Hop::parse(v.as_str()?)
        }),
        clock: table.take("clock", "a name, 1 to 64 letters, digits, \".\", \"_\" and \"-\"", value::clock),
        zone: table.take("zone", input::ZONES, |v| {
            v.as_str().filter(|name| input::zone(name).is_some()).map(str::to_owned)
        }),
    };
    table.finish();
    spec
}

#[cfg(test)]
mod tests;
