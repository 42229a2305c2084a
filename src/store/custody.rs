//! The custody log: one line per load, each holding the hash of the line before it.

use crate::error::{Error, Result};
use crate::input::sha256_hex;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::Path;

const FILE: &str = "custody.jsonl";

/// One entry. `prev` is the SHA-256 of the previous line's bytes without its line end; empty on the first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Number from 1.
    pub seq: u64,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// What was done: `load`.
    pub action: String,
    /// Which bytes.
    pub sha256: String,
    /// How many.
    pub bytes: u64,
    /// Under which name they came.
    pub name: String,
    /// SHA-256 of the archive they were taken from, when they were.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub archive: String,
    /// SHA-256 of the mapping they were read with, when they were.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub map: String,
    /// For which candidate.
    pub candidate: String,
    /// Hash of the line before.
    pub prev: String,
}

/// Appends an entry unless the log already has this load (a run may have been killed between commit and log).
pub fn record(evidence: &Path, mut entry: Entry) -> Result<()> {
    let path = evidence.join(FILE);
    let text = read(&path)?;
    // A run killed while it appended leaves a line without its end: that line was never logged.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut seq = 0;
    let mut prev = String::new();
    for line in whole.lines() {
        if let Ok(old) = serde_json::from_str::<Entry>(line)
            && (old.sha256 == entry.sha256
                && old.candidate == entry.candidate
                && old.at == entry.at
                && old.map == entry.map)
        {
            return Ok(());
        }
        seq += 1;
        prev = sha256_hex(line.as_bytes());
    }
    entry.seq = seq + 1;
    entry.prev = prev;
    let line = serde_json::to_string(&entry)
        .map_err(|e| Error::run("a custody entry could not be written").because(e))?;
    let mut file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|e| Error::io("write", &path, e))?;
    file.set_len(whole.len() as u64)
        .and_then(|()| std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)))
        .and_then(|_| file.write_all(format!("{line}\n").as_bytes()))
        .and_then(|()| file.sync_all())
        .map_err(|e| Error::io("write", &path, e))
}

/// Checks the chain: the number of entries, or the first line whose number or hash does not follow.
///
/// # Errors
/// The log cannot be read, or the chain is broken at a line.
pub fn verify(evidence: &Path) -> Result<usize> {
    let path = evidence.join(FILE);
    let text = read(&path)?;
    let mut prev = String::new();
    for (at, line) in (1..).zip(text.lines()) {
        let entry = serde_json::from_str::<Entry>(line)
            .map_err(|e| Error::input(format!("{}:{at}: not a custody entry", path.display())).because(e))?;
        if entry.prev != prev || entry.seq != at {
            return Err(Error::input(format!("{}:{at}: does not follow the line before it", path.display()))
                .hint("the log was changed after it was written; restore it from the last sealed bundle"));
        }
        prev = sha256_hex(line.as_bytes());
    }
    Ok(text.lines().count())
}

fn read(path: &Path) -> Result<String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(e) => Err(Error::io("read", path, e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Entry {
        Entry {
            seq: 0,
            at: "2026-11-30T00:00:00Z".into(),
            action: "load".into(),
            sha256: sha256_hex(name.as_bytes()),
            bytes: 1,
            name: name.into(),
            archive: String::new(),
            map: String::new(),
            candidate: "a".into(),
            prev: String::new(),
        }
    }

    #[test]
    fn the_chain_holds_survives_a_torn_line_and_shows_tampering() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["x", "y", "x"] {
            record(dir.path(), entry(name)).unwrap();
        }
        assert_eq!(verify(dir.path()).unwrap(), 2, "the same load is logged once");
        let path = dir.path().join(FILE);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("{\"seq\":3,");
        std::fs::write(&path, &text).unwrap();
        record(dir.path(), entry("z")).unwrap();
        assert_eq!(verify(dir.path()).unwrap(), 3);
        let text = std::fs::read_to_string(&path).unwrap().replacen("\"y\"", "\"q\"", 1);
        std::fs::write(&path, text).unwrap();
        assert!(verify(dir.path()).unwrap_err().what.ends_with(":3: does not follow the line before it"));
    }
}
