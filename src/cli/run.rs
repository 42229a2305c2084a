//! `probity run`: everything trial.toml says: load, ledger, diagnosis, report.

use super::limits::LimitArguments;
use super::progress::Bar;
use super::{
    Exit, Session, answer, diagnose as diagnose_cli, load as load_cli, received_at, report as report_cli,
};
use crate::diagnose::diagnose;
use crate::error::{Error, Result};
use crate::input::{Limits, walk};
use crate::ledger;
use crate::store::{LoadOptions, Outcome, Store, load};
use crate::trial::{Candidate, SourceSpec, Trial};
use clap::Args;

#[derive(Debug, Default, Args)]
pub struct Arguments {
    /// When the files were received (default: now)
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<String>,
    #[command(flatten)]
    pub limits: LimitArguments,
}

pub fn run(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    let trial = match Trial::load(session.root())? {
        Ok(trial) => trial,
        Err(findings) => {
            for finding in &findings {
                session.out.finding(&session.words, finding);
            }
            return Err(Error::input("trial.toml cannot be used").hint("mend the lines above and run again"));
        }
    };
    if trial.candidates.iter().all(|c| c.sources.is_empty()) {
        return Err(Error::input("trial.toml names no sources")
            .hint("add [[candidate]] and [[candidate.source]] entries; the comments in the file show how"));
    }
    let store = Store::new(session.root());
    let received = received_at(arguments.as_of.as_deref())?;
    let mut refused = false;
    for candidate in &trial.candidates {
        for source in &candidate.sources {
            refused |= take_in(session, &store, candidate, source, received, arguments.limits.limits())?;
        }
    }
    let ledger = ledger::open(&store, trial.cold_first)?;
    let diagnosis = diagnose(&ledger, &trial, &trial.slow, &trial.groups, None)?;
    let written = report_cli::write(session, &ledger, &trial, &diagnosis)?;
    if session.out.json {
        session.out.value(&diagnosis)?;
    } else {
        answer::print(session, &diagnosis)?;
        session.out.line("")?;
        for path in written {
            let text = format!("{} {}", session.words.get("ui.report-at"), path.display());
            session.out.line(&text)?;
        }
    }
    Ok(if refused { Exit::BadInput } else { diagnose_cli::exit(&diagnosis) })
}

/// Loads one source of trial.toml; whether a file named in it was refused.
fn take_in(
    session: &mut Session,
    store: &Store,
    candidate: &Candidate,
    source: &SourceSpec,
    received_at: i64,
    limits: Limits,
) -> Result<bool> {
    let files = walk(&[session.root().join(&source.path)])?;
    let map = source.map.as_ref().map(|path| load_cli::read_map(session, &session.root().join(path)));
    let options = LoadOptions {
        candidate: candidate.id.clone(),
        format: source.format.clone(),
        map: map.transpose()?,
        hop: source.hop,
        clock: source.clock.clone(),
        zone: source.zone.clone(),
        received_at,
        limits,
    };
    let paths: Vec<_> = files.iter().map(|(path, _)| path.clone()).collect();
    let mut bar = Bar::new(&session.out);
    let loaded = load(store, &paths, &options, &mut bar)?;
    bar.clear();
    load_cli::note(session, &loaded, &files);
    Ok(loaded.iter().any(|l| l.outcome == Outcome::Refused && !load_cli::is_bystander(l, &files)))
}
