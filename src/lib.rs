//! Probity: evidence bundles and procurement evaluation for LLM inference platforms.
//!
//! The modules stand in the order in which data walks through them; arrows never point back:
//!
//! ```text
//! file ─ input ─ format ─ row ─ store ─ check ─ trial ─ ledger ─ diagnose ─ report
//!        hash    recognise  one   Parquet  what   plan    join,    tail       HTML, JSON
//!        decode  + read     model + DuckDB is void        stages   contrast
//! ```
//!
//! [`error`] and [`finding`] say what went wrong and where; [`settings`] reads what people write; [`stats`] and [`plot`] serve the rooms after them;
//! [`cli`] turns arguments into one call each and prints what comes back.

pub mod error;
pub mod finding;
pub mod settings;
pub mod input;
pub mod row;
pub mod format;
pub mod store;
pub mod check;
pub mod trial;
pub mod ledger;
pub mod stats;
pub mod diagnose;
pub mod plot;
pub mod report;
pub mod cli;
