//! The `probity` command: parse, run, exit code.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    probity::cli::main(probity::cli::Cli::parse())
}
