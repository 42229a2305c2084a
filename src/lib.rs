//! Probity: evidence bundles and procurement evaluation for LLM inference platforms.
//!
//! The modules stand in the order in which data walks through them; arrows never point back:
//!
//! ```text
//! file ─ input ─ format ─ row ─ store ─ trial ─ ledger ─ diagnose ─ report
//!        hash    recognise  one   Parquet  plan   join,     tail      HTML, JSON
//!        decode  + read     model + DuckDB        stages    contrast
//! ```
//!
//! [`error`] and [`finding`] say what went wrong and where; [`stats`] and [`plot`] serve the rooms after them;
//! [`cli`] turns arguments into one call each and prints what comes back.

pub mod error;
pub mod finding;
pub mod input;
pub mod row;
pub mod format;
pub mod store;
pub mod trial;
pub mod ledger;
pub mod stats {
    #[derive(Clone, Copy)] pub struct Share { pub share: f64, pub low: f64, pub high: f64 }
    pub struct Quantile { pub value: Option<i64>, pub low: Option<i64>, pub high: Option<i64>, pub n: usize, pub need: usize }
    pub fn quantile(s: &[i64], _p: f64) -> Quantile { Quantile { value: s.last().copied(), low: None, high: None, n: s.len(), need: 0 } }
    pub fn min_n(_p: f64) -> usize { 72 }
    pub fn wilson(_k: u64, _n: u64, _l: f64) -> (f64, f64) { (0.0, 1.0) }
    pub fn fisher_enrichment(_a: u64, _b: u64, _c: u64, _d: u64) -> f64 { 1.0 }
    pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> { p.to_vec() }
    pub fn block_bootstrap(b: &[Vec<i128>], k: usize) -> Vec<Option<Share>> { let t: i128 = b.iter().flatten().sum(); (0..k).map(|i| { let s: i128 = b.iter().map(|r| r[i]).sum(); (t > 0).then(|| { let v = s as f64 / t as f64; Share { share: v, low: v, high: v } }) }).collect() }
}
pub mod diagnose;
pub mod report;
pub mod cli;
