//! Statistics that verdicts rest on. Nothing here assumes a shape of latency: proportions, ranks, exact
//! counts and seeded resampling only.
//!
//! Every method is tested against published values. The same input gives the same bits: sums run in a
//! fixed order, and random draws are seeded from the data.

pub mod bh;
pub mod binomial;
pub mod bootstrap;
pub mod fisher;
pub mod quantile;
pub mod wilson;

/// The confidence of every interval unless a plan says otherwise.
pub const LEVEL: f64 = 0.95;

/// A closed interval of a share or a rate.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// Low end.
    pub low: f64,
    /// High end.
    pub high: f64,
}

/// A published table of the test corpora (`$PROBITY_CORPORA`, or beside the checkout); `None` without them.
#[cfg(test)]
#[allow(clippy::print_stderr)]
fn oracle(path: &str) -> Option<String> {
    let beside = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let corpora = std::env::var_os("PROBITY_CORPORA").map_or_else(beside, std::path::PathBuf::from);
    let text = std::fs::read_to_string(corpora.join("oracles").join(path)).ok();
    if text.is_none() {
        eprintln!("skipped: no corpora");
    }
    text
}

/// A published table as JSON.
#[cfg(test)]
fn oracle_json(path: &str) -> Option<serde_json::Value> {
    oracle(path).map(|text| serde_json::from_str(&text).expect("an oracle is JSON"))
}
