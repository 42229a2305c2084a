//! Helpers: the built command, a trial in a temporary folder, samples, and the recorded corpora.

use probity::input::{sha256_hex, walk};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The time of receipt in every test: nothing may depend on the clock.
pub const AS_OF: &str = "2026-12-01T00:00:00Z";

/// What a command left behind.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Holds the command to an exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Its output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e} in\n{}\n{}", self.out, self.err))
    }
}

/// The built command, with no terminal.
pub fn probity<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
    command.args(arguments).stdin(Stdio::null()).env_remove("COLUMNS");
    command
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ran {
    let done = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: done.status.code().unwrap_or(-1), out: text(done.stdout), err: text(done.stderr) }
}

/// A trial in a temporary folder.
pub struct Trial {
    folder: tempfile::TempDir,
}

impl Trial {
    pub fn new() -> Trial {
        Trial { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A file beside the trial's own, outside its folders.
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// A command in this trial, not yet run.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = probity(["-C".as_ref(), self.path().as_os_str()]);
        command.args(arguments);
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        run(&mut self.command(arguments))
    }

    /// `load`, at the tests' time of receipt, for the candidate `c`; JSON on stdout.
    pub fn load(&self, files: &[PathBuf], options: &[&str]) -> Ran {
        let fixed = ["load", "--json", "--candidate", "c", "--as-of", AS_OF].map(OsStr::new);
        let options = options.iter().map(OsStr::new);
        self.run(fixed.into_iter().chain(options).chain(files.iter().map(|f| f.as_os_str())))
    }

    /// The first candidate's diagnosis.
    pub fn diagnosis(&self) -> Value {
        let ran = self.run(["diagnose", "--json"]);
        assert!(ran.code <= 1, "{ran:?}");
        ran.json()["candidates"][0].take()
    }

    /// Rows of a query.
    #[track_caller]
    pub fn sql(&self, query: &str) -> Vec<Value> {
        let Value::Array(rows) = self.run(["sql", "--json", query]).exits(0).json() else {
            panic!("no rows")
        };
        rows
    }

    /// What must be the same however a load went: every file of `tables/` and `evidence/` with its hash.
    pub fn digest(&self) -> BTreeMap<String, String> {
        let mut files = digest(&self.path().join("tables"));
        files.extend(digest(&self.path().join("evidence")));
        files
    }
}

/// Every file of a folder, hidden ones except locks included, by its path within and the hash of its bytes.
pub fn digest(folder: &Path) -> BTreeMap<String, String> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    entries
        .filter(|entry| entry.file_type().is_file() && entry.file_name() != ".lock")
        .map(|entry| {
            let name = entry.path().strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            (name, sha256_hex(&std::fs::read(entry.path()).unwrap()))
        })
        .collect()
}

/// A path in the checkout.
pub fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The sample files of a format, without their notes of origin.
pub fn samples(format: &str) -> Vec<PathBuf> {
    let files = walk(&[checkout("samples").join(format)]).unwrap();
    files
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| path.file_name() != Some("README.md".as_ref()))
        .collect()
}

/// One sample's bytes.
pub fn sample(path: &str) -> Vec<u8> {
    std::fs::read(checkout("samples").join(path)).unwrap()
}

/// A folder of the recorded corpora; says so and gives none where they are not.
pub fn corpora(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PROBITY_CORPORA").map_or_else(|| checkout("../shared/data"), PathBuf::from);
    let path = root.join(folder);
    if path.is_dir() {
        return Some(path);
    }
    skip("no corpora");
    None
}

/// Says why a test did nothing.
pub fn skip(why: &str) {
    println!("skipped: {why}");
}
