//! `cargo bench --bench load`: reading a million requests into the store, against DuckDB's own readers.
//!
//! Ours: hash, keep the original, recognise, read, write Parquet. The peer: `read_json` or `read_csv` with every column and type
//! given, and the SQL that yields the same rows (`peer/*.sql`), written as Parquet with the same compression; it
//! neither hashes nor keeps anything, and reports no findings.

mod generate;
mod measure;

use clap::Parser;
use measure::{Arguments, Result, Run, bar, load_files, mib, print, seconds};
use std::path::{Path, PathBuf};

/// The files both sides read, with the peer's SQL.
const FORMATS: [(&str, &str); 5] = [
    ("aiperf", include_str!("peer/aiperf.sql")),
    ("client_timeline", include_str!("peer/client_timeline.sql")),
    ("nginx_access", include_str!("peer/nginx_access.sql")),
    ("otlp_json", include_str!("peer/otlp_json.sql")),
    ("prometheus_text", include_str!("peer/prometheus_text.sql")),
];
/// Only ours reads these.
const OURS: [&str; 2] = ["vllm_log", "scrapes"];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let data = arguments.data()?;
    let files = |format: &str| -> Vec<PathBuf> {
        match format {
            "aiperf" => vec![data.aiperf.clone()],
            "prometheus_text" => vec![data.dump.clone()],
            "client_timeline" => vec![data.client.clone()],
            "nginx_access" => vec![data.gateway.clone()],
            "otlp_json" => vec![data.spans.clone()],
            "vllm_log" => vec![data.log.clone()],
            _ => data.metrics.clone(),
        }
    };
    if arguments.is_child(|side, trial, run| match side {
        "ours" => ours(trial, files, run),
        _ => peer(trial, files, run),
    })? {
        return Ok(());
    }
    let (mut ours, mut peer) = (Vec::new(), Vec::new());
    for _ in 0..arguments.runs {
        ours.push(arguments.run("ours", arguments.scratch()?.path())?);
        peer.push(arguments.run("peer", arguments.scratch()?.path())?);
    }
    report(&ours, &peer, |format| files(format).iter().map(|f| size(f)).sum())
}

fn ours(trial: &Path, files: impl Fn(&str) -> Vec<PathBuf>, run: &mut Run) -> Result<()> {
    for format in FORMATS.map(|(format, _)| format).into_iter().chain(OURS) {
        run.step(format, || load_files(trial, &files(format)))?;
    }
    Ok(())
}

fn peer(folder: &Path, files: impl Fn(&str) -> Vec<PathBuf>, run: &mut Run) -> Result<()> {
    let connection = duckdb::Connection::open_in_memory()?;
    for (format, sql) in FORMATS {
        let sql = files(format)
            .iter()
            .fold(sql.to_owned(), |sql, file| sql.replace("{file}", &file.to_string_lossy()));
        let sql = sql.replace("{out}", &folder.join(format).to_string_lossy());
        run.step(format, || Ok(connection.execute_batch(&sql)?))?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a figure to print")]
fn size(file: &Path) -> f64 {
    file.metadata().map_or(0.0, |m| m.len() as f64 / 1e6)
}

fn report(ours: &[Run], peer: &[Run], megabytes: impl Fn(&str) -> f64) -> Result<()> {
    let both = FORMATS.map(|(format, _)| format);
    let row = |name: &str, formats: &[&str], peer: Option<&[Run]>| {
        let mb: f64 = formats.iter().map(|f| megabytes(f)).sum();
        let mine = seconds(ours, formats);
        let mut row =
            vec![name.to_owned(), format!("{mb:.1}"), format!("{mine:.2}"), format!("{:.0}", mb / mine)];
        if let Some(peer) = peer {
            let theirs = seconds(peer, formats);
            row.extend([theirs, mb / theirs, theirs / mine].map(|f| format!("{f:.2}")));
        }
        row
    };
    let head = ["", "MB", "ours s", "MB/s", "peer s", "MB/s", "peer/ours"].map(str::to_owned).to_vec();
    let mut rows = vec![head];
    rows.extend(both.iter().map(|format| row(format, &[*format], Some(peer))));
    rows.push(row("these together", &both, Some(peer)));
    rows.extend(OURS.iter().map(|format| row(format, &[*format], None)));
    rows.push(vec!["peak memory, MiB".into(), String::new(), format!("{:.0}", mib(ours)), String::new()]);
    if let Some(last) = rows.last_mut() {
        last.push(format!("{:.0}", mib(peer)));
    }
    print(&rows)?;
    let ratio = seconds(peer, &both) / seconds(ours, &both);
    print(&[
        bar("peer/ours", ratio, ratio >= 2.0, ">= 2"),
        bar("peak memory, MiB", mib(ours), mib(ours) <= 512.0, "<= 512"),
    ])
}
