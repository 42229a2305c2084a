//! The store: Parquet parts by table, candidate and source are the truth; `DuckDB` looks at them through views.
//!
//! `tables/source/<candidate>/<source12>.parquet` is written last: a source exists once it is there, and parts
//! without it are invisible. Loading is therefore atomic, and loading the same bytes again changes nothing.

mod cells;
mod custody;
mod engine;
mod load;
mod part;
mod pipeline;
mod source;

pub use cells::{Cell, Cells};
pub use custody::verify as verify_custody;
pub use engine::{Engine, quote};
pub use load::{LoadOptions, Loaded, Outcome, Progress, load};
pub use source::SourceRow;

use crate::error::{Error, Result};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// The folders of one trial that hold data.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store of the trial in `root`. Nothing is created before something is loaded.
    #[must_use]
    pub fn new(root: &Path) -> Store {
        Store { root: root.to_path_buf() }
    }

    /// The trial's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Originals by content, and the custody log.
    #[must_use]
    pub fn evidence(&self) -> PathBuf {
        self.root.join("evidence")
    }

    /// Normalised rows.
    #[must_use]
    pub fn tables(&self) -> PathBuf {
        self.root.join("tables")
    }

    /// What is derived and can be rebuilt.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger")
    }

    /// Sources loaded so far, in the order of candidate and source id.
    ///
    /// # Errors
    /// When a source part cannot be read.
    pub fn sources(&self) -> Result<Vec<SourceRow>> {
        source::read_all(&self.tables().join("source"))
    }

    /// Takes the store for writing and clears what a killed run left half-done.
    ///
    /// # Errors
    /// When another process holds it, or a folder cannot be created.
    fn lock(&self) -> Result<Lock> {
        let path = self.tables().join(".lock");
        create_dir(&self.tables())?;
        create_dir(&self.evidence())?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| Error::io("write", &path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::run(format!("another probity is loading into {}", self.root.display()))
                    .hint("wait until it is done, then run the command again"));
            }
            Err(TryLockError::Error(e)) => return Err(Error::io("lock", &path, e)),
        }
        let partial = self.partial();
        if partial.exists() {
            std::fs::remove_dir_all(&partial).map_err(|e| Error::io("clear", &partial, e))?;
        }
        create_dir(&partial)?;
        Ok(Lock { _file: file, partial })
    }

    fn partial(&self) -> PathBuf {
        self.tables().join(".partial")
    }
}

/// Held while writing; released when the process ends, however it ends.
struct Lock {
    _file: File,
    partial: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // What is left here was never committed; the next run would clear it too.
        let _ = std::fs::remove_dir_all(&self.partial);
    }
}

fn create_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|e| Error::io("create", path, e))
}

/// Moves a finished file to its place so that it is there whole or not at all, even after a power cut.
fn publish(from: &Path, to: &Path) -> Result<()> {
    let file = File::open(from).map_err(|e| Error::io("write", from, e))?;
    file.sync_all().map_err(|e| Error::io("write", from, e))?;
    if let Some(folder) = to.parent() {
        create_dir(folder)?;
    }
    std::fs::rename(from, to).map_err(|e| Error::io("write", to, e))?;
    #[cfg(unix)]
    if let Some(folder) = to.parent() {
        File::open(folder).and_then(|d| d.sync_all()).map_err(|e| Error::io("write", folder, e))?;
    }
    Ok(())
}
