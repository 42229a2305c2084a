//! What the benches share: arguments, runs in processes of their own, medians, and tables.
//!
//! A side is measured in a child (this binary, called with `--child NAME`), so that its peak memory is its own.

#![allow(dead_code, reason = "each bench uses what it needs")]

use super::generate::{Data, generate};
use clap::Parser;
use probity::store::{LoadOptions, Outcome, Store, load};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// What goes wrong in a bench ends it.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Arguments after `cargo bench --bench NAME --`.
#[derive(Clone, Debug, Parser)]
pub struct Arguments {
    /// Requests of the generated trial
    #[arg(long, default_value_t = 1_000_000)]
    pub requests: u64,
    /// Seed of the generated trial
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How often each side runs, by turns
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    /// Folder for what is generated and written (default: in cargo's target folder)
    #[arg(long, default_value = env!("CARGO_TARGET_TMPDIR"))]
    pub folder: PathBuf,
    /// One side, in its own process
    #[arg(long, hide = true)]
    child: Option<String>,
    /// Folder of the trial a child works in
    #[arg(long, hide = true)]
    trial: Option<PathBuf>,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// Seconds of each step of a side, and its peak memory in bytes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Run {
    pub seconds: BTreeMap<String, f64>,
    pub peak: u64,
}

impl Run {
    /// Does a step and notes how long it took.
    pub fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        let out = work()?;
        self.seconds.insert(name.to_owned(), begun.elapsed().as_secs_f64());
        Ok(out)
    }
}

impl Arguments {
    /// The generated trial.
    pub fn data(&self) -> Result<Data> {
        std::fs::create_dir_all(&self.folder)?;
        Ok(generate(&self.folder, self.requests, self.seed)?)
    }

    /// Runs `side` when this process is the child of that; whether it was a child.
    pub fn is_child(&self, side: impl FnOnce(&str, &Path, &mut Run) -> Result<()>) -> Result<bool> {
        let (Some(name), Some(trial)) = (&self.child, &self.trial) else { return Ok(false) };
        let mut run = Run::default();
        side(name, trial, &mut run)?;
        run.peak = peak()?;
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&run)?)?;
        Ok(true)
    }

    /// Runs one side in its own process, on the trial in a folder.
    pub fn run(&self, child: &str, trial: &Path) -> Result<Run> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--child", child, "--trial"]).arg(trial).arg("--folder").arg(&self.folder);
        command.args(["--requests", &self.requests.to_string(), "--seed", &self.seed.to_string()]);
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("{child} ended with {}", output.status).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// A new folder that goes away when dropped.
    pub fn scratch(&self) -> Result<tempfile::TempDir> {
        Ok(tempfile::tempdir_in(&self.folder)?)
    }
}

/// Loads files into the trial as one candidate; each must be recognised and read.
pub fn load_files(trial: &Path, files: &[PathBuf]) -> Result<()> {
    let options = LoadOptions {
        candidate: "bench".to_owned(),
        format: None,
        map: None,
        hop: None,
        clock: None,
        zone: Some("UTC".to_owned()),
        received_at: 1_798_761_600_000_000_000,
        limits: probity::input::Limits::default(),
    };
    for loaded in load(&Store::new(trial), files, &options, &mut ())? {
        if loaded.outcome != Outcome::Loaded {
            return Err(format!("{}: {:?}", loaded.path.display(), loaded.findings).into());
        }
    }
    Ok(())
}

/// Most memory this process held, in bytes.
fn peak() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}

/// The middle one of several figures.
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    match figures.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => figures[n / 2],
        n => f64::midpoint(figures[n / 2 - 1], figures[n / 2]),
    }
}

/// Median seconds of the steps named, together.
pub fn seconds(runs: &[Run], steps: &[&str]) -> f64 {
    median(runs.iter().map(|run| steps.iter().filter_map(|step| run.seconds.get(*step)).sum()))
}

/// Median peak memory in MiB.
#[expect(clippy::cast_precision_loss, reason = "a figure to print")]
pub fn mib(runs: &[Run]) -> f64 {
    median(runs.iter().map(|run| run.peak as f64 / f64::from(1 << 20)))
}

/// Prints rows in columns, the first to the left and the others to the right.
pub fn print(rows: &[Vec<String>]) -> Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let mut out = std::io::stdout().lock();
    for row in rows {
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if at == 0 {
                write!(out, "{cell:width$}")?;
            } else {
                write!(out, "  {cell:>width$}")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A bar: the figure, what it must be, and whether it is.
pub fn bar(what: &str, figure: f64, met: bool, must: &str) -> Vec<String> {
    let word = if met { "met" } else { "MISSED" };
    vec![format!("bar: {what} {must}"), format!("{figure:.2}"), word.to_owned()]
}
