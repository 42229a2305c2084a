//! `probity init`: a new trial folder.

use super::{Exit, Session};
use crate::error::{Error, Result};
use crate::trial;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder to make
    folder: PathBuf,
}

pub fn run(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
    let path = folder.join(trial::FILE);
    let mut file = std::fs::File::options().write(true).create_new(true).open(&path).map_err(|e| {
        if e.kind() == std::io::ErrorKind::AlreadyExists {
            return Error::input(format!("{} is there already", path.display()))
                .hint("name another folder, or edit the one that is there");
        }
        Error::io("write", &path, e)
    })?;
    file.write_all(trial::TEMPLATE.as_bytes()).map_err(|e| Error::io("write", &path, e))?;
    if session.out.json {
        session.out.value(&std::collections::BTreeMap::from([("created", path.display().to_string())]))?;
    } else {
        session.out.line(&path.display().to_string())?;
        session.out.note(session.words.get("ui.init-next"));
    }
    Ok(Exit::Good)
}
