//! `probity demo`: the sample trial, unpacked and run.

use super::{Exit, Session, run};
use crate::error::{Error, Result};
use clap::Args;
use std::path::PathBuf;

/// The files of `samples/trial/`, packed by `build.rs` as zstd-compressed frames of name and bytes.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/demo.rs"));

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder to make
    #[arg(default_value = "probity-demo")]
    folder: PathBuf,
    /// When the files were received (default: now)
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
}

pub fn run(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    let root = session.root().join(&arguments.folder);
    for (name, bytes) in FILES {
        let path = root.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
        }
        std::fs::write(&path, bytes).map_err(|e| Error::io("write", &path, e))?;
    }
    session.out.note(&session.words.get("ui.demo-copied").replace("{folder}", &root.display().to_string()));
    session.root = root;
    // The sample is slow on purpose: an adverse answer is what the demo is there to show.
    match run::run(session, &run::Arguments { as_of: arguments.as_of.clone(), ..run::Arguments::default() })?
    {
        Exit::Adverse => Ok(Exit::Good),
        other => Ok(other),
    }
}
