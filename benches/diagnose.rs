//! `cargo bench --bench diagnose`: from a million loaded requests to a diagnosis and its report, against bare SQL.
//!
//! The peer is what a skilled analyst would ask DuckDB of the same Parquet (`peer/diagnose.sql`, `peer/figures.sql`):
//! pivot, join by ids, quantiles and sums by group. It bounds no clock, follows no retry and explains nothing.

mod generate;
mod measure;

use clap::Parser;
use measure::{Arguments, Result, Run, bar, load_files, median, mib, print, seconds};
use probity::diagnose::diagnose;
use probity::ledger;
use probity::report::{Lang, html};
use probity::store::Store;
use probity::trial::Trial;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Dimensions the peer groups by: as many as ours does by default with values in the generated trial.
const DIMENSIONS: [&str; 6] = ["''", "caller", "instance", "bucket", "send - send % 60000000000", "slow"];
const STARTS: usize = 20;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.is_child(|side, trial, run| match side {
        "ours" => ours(trial, run),
        _ => peer(trial, run),
    })? {
        return Ok(());
    }
    let data = arguments.data()?;
    let trial = arguments.scratch()?;
    let mut files = vec![data.client, data.gateway, data.spans, data.log];
    files.extend(data.metrics);
    load_files(trial.path(), &files)?;
    let (mut ours, mut peer) = (Vec::new(), Vec::new());
    for _ in 0..arguments.runs {
        ours.push(arguments.run("ours", trial.path())?);
        peer.push(arguments.run("peer", trial.path())?);
    }
    report(&ours, &peer, start()?)
}

fn ours(root: &Path, run: &mut Run) -> Result<()> {
    let store = Store::new(root);
    let trial = Trial::load_or_default(root)?;
    if store.ledger().exists() {
        std::fs::remove_dir_all(store.ledger())?;
    }
    run.step("ledger", || Ok(ledger::open(&store, trial.cold_first).map(drop)?))?;
    let ledger = run.step("open", || Ok(ledger::open(&store, trial.cold_first)?))?;
    let diagnosis =
        run.step("diagnose", || Ok(diagnose(&ledger, &trial, &trial.slow, &trial.groups, None)?))?;
    for (step, lang) in [("report en", Lang::En), ("report zh", Lang::Zh)] {
        run.step(step, || Ok(html(&trial, &ledger, &diagnosis, lang).map(drop)?))?;
    }
    Ok(())
}

fn peer(root: &Path, run: &mut Run) -> Result<()> {
    let connection = duckdb::Connection::open_in_memory()?;
    let tables = Store::new(root).tables();
    let sql = include_str!("peer/diagnose.sql").replace("{tables}", &tables.to_string_lossy());
    run.step("join", || Ok(connection.execute_batch(&sql)?))?;
    run.step("figures", || {
        for dimension in DIMENSIONS {
            let sql = include_str!("peer/figures.sql").replace("{dimension}", dimension);
            let rows: usize = connection.prepare(&sql)?.query_arrow([])?.map(|batch| batch.num_rows()).sum();
            assert!(rows > 0, "no figures by {dimension}");
        }
        Ok(())
    })
}

/// Median seconds that the program takes to say its version.
fn start() -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        Command::new(env!("CARGO_BIN_EXE_probity")).arg("--version").stdout(Stdio::null()).status()?;
        times.push(begun.elapsed().as_secs_f64());
    }
    Ok(median(times))
}

fn report(ours: &[Run], peer: &[Run], start: f64) -> Result<()> {
    let row = |name: &str, ours: Option<f64>, peer: Option<f64>| {
        let cell = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.2}"));
        vec![name.to_owned(), cell(ours), cell(peer), cell(ours.zip(peer).map(|(o, p)| o / p))]
    };
    let after = ["open", "diagnose", "report en", "report zh"];
    let (build, answer) = (seconds(ours, &["ledger"]), seconds(ours, &after));
    let (join, figures) = (seconds(peer, &["join"]), seconds(peer, &["figures"]));
    let sql = seconds(peer, &["join", "figures"]);
    let mut rows = vec![["", "ours s", "peer s", "ours/peer"].map(str::to_owned).to_vec()];
    rows.push(row("ledger built; pivot and join", Some(build), Some(join)));
    for step in after {
        let theirs = (step == "diagnose").then_some(figures);
        rows.push(row(step, Some(seconds(ours, &[step])), theirs));
    }
    rows.push(row("diagnose and report, ledger kept", Some(answer), Some(sql)));
    rows.push(row("everything", Some(build + answer), Some(sql)));
    rows.push(row("peak memory, MiB", Some(mib(ours)), Some(mib(peer))));
    print(&rows)?;
    let milliseconds = start * 1e3;
    print(&[
        bar("diagnose and report, s", answer, answer <= 10.0, "<= 10"),
        bar("diagnose and report over bare SQL", answer / sql, answer <= 2.0 * sql, "<= 2"),
        bar("everything over bare SQL", (build + answer) / sql, build + answer <= 2.0 * sql, "<= 2"),
        bar("probity --version, ms", milliseconds, milliseconds <= 30.0, "<= 30"),
    ])
}
