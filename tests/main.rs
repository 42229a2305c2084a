//! What a person meets: the built command on real and on hostile files. One binary, one module a subject.
//!
//! Tests that need the recorded corpora look in `$PROBITY_CORPORA`, else in `../shared/data`, and say so where there
//! are none. Snapshots are written anew with `INSTA_UPDATE=always cargo test --release --test main`.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]

mod archive;
mod check;
mod cli;
mod formats;
mod input;
mod lab;
mod layers;
mod mapping;
mod load_tools;
mod partial;
mod reproducible;
mod store;
mod support;
mod traces;
