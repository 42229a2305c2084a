//! Invalid evidence, found before statistics: rules that hold the store's rows against each other.
//!
//! A rule is one file, `check/<code>.sql`, whose header says what it finds, why (`source:`) and how a finding proves it
//! (`proof:`, filled from the columns of its query). Findings of severity error **void** their source: no verdict and no
//! percentile rests on it. Rules look at rows, at views over them (`check/view/`), and at nothing else.

mod proof;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::finding::{Code, Finding, Place, Severity};
use crate::input::sha256_hex;
use crate::store::{Engine, SourceRow, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A rule: its code, and its file.
struct Rule {
    code: Code,
    sql: &'static str,
}

macro_rules! rules {
    ($($code:ident $file:literal,)+) => {
        /// Every rule, in the order of [`Code`].
        static RULES: &[Rule] =
            &[$(Rule { code: Code::$code, sql: include_str!(concat!("check/", $file, ".sql")) },)+];
    };
}

rules! {
    ValueImpossible "value-impossible",
    AllFailed "all-failed",
    FailedCounted "failed-counted",
    NotStreamed "not-streamed",
    TtftIsTotal "ttft-is-total",
    TtftImplausible "ttft-implausible",
    TimelineImpossible "timeline-impossible",
    ClockJump "clock-jump",
    HistogramInconsistent "histogram-inconsistent",
    OneWave "one-wave",
    OverSaturated "over-saturated",
    CapHidesWait "cap-hides-wait",
    PopulationMismatch "population-mismatch",
    TokenCountMismatch "token-count-mismatch",
    SummaryContradiction "summary-contradiction",
    PercentileInterpolated "percentile-interpolated",
    PercentileTooFew "percentile-too-few",
    WarmUpCounted "warm-up-counted",
    ResponseBuffered "response-buffered",
    ZeroNotMeasured "zero-not-measured",
    PrefixCacheShared "prefix-cache-shared",
    FirstTokenMeaning "first-token-meaning",
    SweepKnee "sweep-knee",
}

/// What the rules look at besides the store's own views, in the order in which one needs the other.
const VIEWS: [(&str, &str); 6] = [
    ("figure", include_str!("check/view/figure.sql")),
    ("setting", include_str!("check/view/setting.sql")),
    ("cell", include_str!("check/view/cell.sql")),
    ("clocked", include_str!("check/view/clocked.sql")),
    ("timed", include_str!("check/view/timed.sql")),
    ("impossible", include_str!("check/view/impossible.sql")),
];

/// A finding about a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Candidate the source speaks about.
    pub candidate: String,
    /// Id of the source.
    pub source: String,
    /// What was found in it.
    pub finding: Finding,
}

/// What the rules found in a trial.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Findings in the order of candidate, gravest first.
    pub found: Vec<Found>,
}

impl Checked {
    /// Findings about one candidate.
    pub fn of<'a>(&'a self, candidate: &'a str) -> impl Iterator<Item = &'a Found> {
        self.found.iter().filter(move |f| f.candidate == candidate)
    }

    /// Findings about one source of a candidate.
    pub fn about<'a>(&'a self, candidate: &'a str, source: &'a str) -> impl Iterator<Item = &'a Finding> {
        self.of(candidate).filter(move |f| f.source == source).map(|f| &f.finding)
    }

    /// Sources of a candidate that no figure may rest on.
    #[must_use]
    pub fn void(&self, candidate: &str) -> BTreeSet<&str> {
        let grave = |f: &&Found| f.finding.code.severity() == Severity::Error;
        self.found
            .iter()
            .filter(|f| f.candidate == candidate)
            .filter(grave)
            .map(|f| f.source.as_str())
            .collect()
    }
}

/// Runs the rules over all that is loaded, or takes what they found when the same was loaded.
///
/// # Errors
/// The engine cannot run, or what was found cannot be kept.
pub fn check(store: &Store) -> Result<Checked> {
    let sources = store.sources()?;
    if sources.is_empty() {
        return Ok(Checked::default());
    }
    let folder = store.ledger().join("check");
    let kept = folder.join(format!("{}.json", digest(&sources)));
    let found = if let Some(found) = read(&kept) {
        found
    } else {
        let found = run(&Engine::open(store)?)?;
        keep(&folder, &kept, &found)?;
        found
    };
    let named = |(candidate, source, code, line, item, detail): Row| {
        let row = sources.iter().find(|s| (&s.candidate, &s.source) == (&candidate, &source))?;
        let finding = Finding::new(Code::parse(&code)?, row.name.as_str(), Place::item(line, item), detail);
        Some(Found { candidate, source, finding })
    };
    let mut found: Vec<Found> = found.into_iter().filter_map(named).collect();
    found.sort_by_cached_key(|f| {
        let code = f.finding.code;
        (f.candidate.clone(), std::cmp::Reverse(code.severity()), code, f.finding.clone(), f.source.clone())
    });
    Ok(Checked { found })
}

/// A finding as it is kept: candidate, source, code, line, item, detail.
type Row = (String, String, String, i64, i64, String);

/// Runs every rule over the views of a session.
fn run(engine: &Engine) -> Result<Vec<Row>> {
    for (name, sql) in VIEWS {
        engine.execute(&format!("CREATE TABLE {name} AS {sql}"))?;
    }
    let mut rows = Vec::new();
    for rule in RULES {
        rows.extend(engine.rows(rule.sql, |c| {
            let detail = proof::fill(header(rule.sql, "proof").unwrap_or_default(), c)?;
            let at = (c.count("line")?, c.count("item")?);
            Ok((c.text("candidate")?, c.text("source")?, rule.code.id().to_owned(), at.0, at.1, detail))
        })?);
    }
    rows.sort();
    rows.dedup();
    Ok(rows)
}

/// A line of a rule's header: `-- name: text`.
fn header<'a>(sql: &'a str, name: &str) -> Option<&'a str> {
    let comments = sql.lines().map_while(|line| line.strip_prefix("-- "));
    comments.filter_map(|line| line.split_once(": ")).find_map(|(key, text)| (key == name).then_some(text))
}

/// Digest of everything the findings are derived from: sources, how they were read, and the rules.
fn digest(sources: &[SourceRow]) -> String {
    let mut text = env!("CARGO_PKG_VERSION").to_owned();
    for sql in VIEWS.iter().map(|(_, sql)| *sql).chain(RULES.iter().map(|rule| rule.sql)) {
        text.push_str(sql);
    }
    for s in sources {
        let line =
            [&s.candidate, &s.sha256, &s.format, &s.hop, &s.clock, &s.zone, &s.map].map(String::as_str);
        text.push_str(&line.join("\t"));
        text.push('\n');
    }
    sha256_hex(text.as_bytes())[..16].to_owned()
}

/// What was found before; `None` when there is nothing that can be read, as it is derived anew.
fn read(kept: &Path) -> Option<Vec<Row>> {
    serde_json::from_slice::<Kept>(&std::fs::read(kept).ok()?).ok().map(|kept| kept.found)
}

#[derive(Serialize, Deserialize)]
struct Kept {
    found: Vec<Row>,
}

/// Keeps what was found, in place of what was found in other sources.
fn keep(folder: &Path, kept: &PathBuf, found: &[Row]) -> Result<()> {
    let failed = |e| Error::io("write", kept, e);
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(failed)?;
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    let text = serde_json::to_vec(&Kept { found: found.to_vec() })
        .map_err(|e| Error::run("the findings could not be written").because(e))?;
    let temporary = kept.with_extension("tmp");
    std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, kept)).map_err(failed)
}
