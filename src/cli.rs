//! The command line: what can be typed. Each subcommand is one file in `cli/`: arguments, one call, print.

mod answer;
mod demo;
mod diagnose;
mod explain;
mod formats;
mod init;
mod limits;
mod load;
mod output;
mod progress;
mod report;
mod run;
mod sources;
mod sql;
mod table;
mod timeline;

use crate::error::{Error, Result};
use crate::report::{Lang, Words};
use clap::{Parser, Subcommand};
use output::Output;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Which part of the wait before the first token is slow, for which requests, and what proves it.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 110, after_help = EXIT_CODES)]
pub struct Cli {
    /// Trial folder
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".", global = true)]
    dir: PathBuf,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
    /// Language of the words printed: en or zh
    #[arg(long, value_name = "LANG", default_value = "en", value_parser = parse_lang, global = true)]
    lang: Lang,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 good; 1 done, and the answer is adverse; 2 the input or the request is bad; \
                          3 could not run";

#[derive(Debug, Subcommand)]
enum Command {
    /// Copy the sample trial, run all of it, say where the report is
    Demo(demo::Arguments),
    /// Make a new trial folder with a commented trial.toml
    Init(init::Arguments),
    /// Load files into the trial
    Load(load::Arguments),
    /// Do everything trial.toml says, up to the report
    Run(run::Arguments),
    /// List what is loaded, with hashes and counts
    Sources,
    /// Explain a finding's code: cause, and what to do
    Explain(explain::Arguments),
    /// Query the trial's tables with SQL, read-only
    Sql(sql::Arguments),
    /// List the formats that are read, or say what a file is
    Formats(formats::Arguments),
    /// One request: its stages, and every number with its source line
    Timeline(timeline::Arguments),
    /// Which stage is slow, for which requests, what next, or what is missing
    Diagnose(diagnose::Arguments),
    /// Write the report
    Report(report::Arguments),
}

/// What a command that ran has to say by its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// 0
    Good,
    /// 1: done, and the answer is adverse.
    Adverse,
    /// 2: done as far as it went, but some input was bad.
    BadInput,
}

/// What every subcommand is given.
struct Session {
    root: PathBuf,
    lang: Lang,
    words: Words,
    out: Output,
}

impl Session {
    fn root(&self) -> &Path {
        &self.root
    }
}

fn parse_lang(name: &str) -> std::result::Result<Lang, String> {
    Lang::parse(name).ok_or_else(|| "use en or zh".to_owned())
}

/// Runs a parsed command line and gives the process's exit code.
#[must_use]
pub fn main(cli: Cli) -> ExitCode {
    let mut session =
        Session { root: cli.dir, lang: cli.lang, words: Words::new(cli.lang), out: Output::new(cli.json) };
    let result = dispatch(&mut session, cli.command).and_then(|exit| {
        session.out.flush()?;
        Ok(exit)
    });
    match result {
        Ok(Exit::Good) => ExitCode::SUCCESS,
        Ok(Exit::Adverse) => ExitCode::from(1),
        Ok(Exit::BadInput) => ExitCode::from(2),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            session.out.error(&session.words, &error);
            ExitCode::from(error.kind.exit_code())
        }
    }
}

fn dispatch(session: &mut Session, command: Command) -> Result<Exit> {
    let makes_folder = matches!(command, Command::Demo(_) | Command::Init(_) | Command::Load(_));
    if !makes_folder && !session.root().is_dir() {
        return Err(Error::input(format!("there is no folder {}", session.root().display()))
            .hint("name the trial's folder with -C DIR, or make one with `probity init DIR`"));
    }
    match command {
        Command::Demo(arguments) => demo::run(session, &arguments),
        Command::Init(arguments) => init::run(session, &arguments),
        Command::Load(arguments) => load::run(session, &arguments),
        Command::Run(arguments) => run::run(session, &arguments),
        Command::Sources => sources::run(session),
        Command::Explain(arguments) => explain::run(session, &arguments),
        Command::Sql(arguments) => sql::run(session, &arguments),
        Command::Formats(arguments) => formats::run(session, &arguments),
        Command::Timeline(arguments) => timeline::run(session, &arguments),
        Command::Diagnose(arguments) => diagnose::run(session, &arguments),
        Command::Report(arguments) => report::run(session, &arguments),
    }
}

/// Nanoseconds since 1970 from `--as-of`, or now.
fn received_at(as_of: Option<&str>) -> Result<i64> {
    let time = match as_of {
        None => jiff::Timestamp::now(),
        Some(text) => text.parse().map_err(|e| {
            Error::input(format!("--as-of {text:?} is not a time"))
                .hint("write it as 2026-11-30T12:00:00Z")
                .because(e)
        })?,
    };
    i64::try_from(time.as_nanosecond()).map_err(|_| Error::input("--as-of is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
