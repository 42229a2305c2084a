//! `probity report`: the page people forward.

use super::{Exit, Session};
use crate::diagnose::{Diagnosis, diagnose};
use crate::error::{Error, Result};
use crate::ledger::{self, Ledger};
use crate::report::{self, Lang};
use crate::store::Store;
use crate::trial::Trial;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Arguments {}

pub fn run(session: &mut Session, _: &Arguments) -> Result<Exit> {
    let trial = Trial::load_or_default(session.root())?;
    let ledger = ledger::open(&Store::new(session.root()), trial.cold_first)?;
    let diagnosis = diagnose(&ledger, &trial, &trial.slow, &trial.groups, None)?;
    let written = write(session, &ledger, &trial, &diagnosis)?;
    let names: Vec<String> = written.iter().map(|p| p.display().to_string()).collect();
    if session.out.json {
        session.out.value(&names)?;
    } else {
        for name in names {
            session.out.line(&name)?;
        }
    }
    Ok(Exit::Good)
}

/// Writes the report in both languages and the diagnosis as JSON, each whole or not at all.
pub fn write(
    session: &Session,
    ledger: &Ledger,
    trial: &Trial,
    diagnosis: &Diagnosis,
) -> Result<Vec<PathBuf>> {
    let folder = session.root().join("report");
    std::fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, e))?;
    let json = serde_json::to_string_pretty(diagnosis)
        .map_err(|e| Error::run("the diagnosis could not be written").because(e))?;
    let files = [
        ("report.en.html", report::html(trial, ledger, diagnosis, Lang::En)?),
        ("report.zh-CN.html", report::html(trial, ledger, diagnosis, Lang::Zh)?),
        ("diagnosis.json", json + "\n"),
    ];
    let mut written = Vec::new();
    for (name, text) in files {
        let (path, temporary) = (folder.join(name), folder.join(format!(".{name}.tmp")));
        std::fs::write(&temporary, text)
            .and_then(|()| std::fs::rename(&temporary, &path))
            .map_err(|e| Error::io("write", &path, e))?;
        written.push(path);
    }
    Ok(written)
}
