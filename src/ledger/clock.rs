//! Offsets between clocks, as the interval that causality allows over all exchanges. Timestamps are never moved.
//!
//! If instant *a* cannot come after instant *b*, then `offset(b) − offset(a) ≤ t_b − t_a`, where a clock's offset
//! is what it shows minus true time. The tightest exchange of every pair gives a system of difference
//! constraints; shortest paths close it over clocks that never met directly, and a negative cycle proves that
//! no offsets can be right (Cristian 1989; the closure is Floyd–Warshall).

use crate::finding::{Code, Finding, Place};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of clock `b` minus clock `a`, in ns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Offset {
    /// Candidate whose exchanges tie them.
    pub candidate: String,
    /// The clock compared to.
    pub a: String,
    /// The clock compared.
    pub b: String,
    /// Least that `b` can be ahead of `a`; `None` when nothing bounds it.
    pub low: Option<i64>,
    /// Most that `b` can be ahead of `a`.
    pub high: Option<i64>,
    /// Exchanges that tie the two directly.
    pub n: i64,
}

/// One constraint: `offset(b) − offset(a) ≤ gap`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Constraint {
    a: usize,
    b: usize,
    gap: i64,
    n: i64,
}

/// Closes the constraints of every candidate (rows of `order.sql`) into offset intervals.
///
/// A contradiction becomes a finding, and the clocks it involves are left without bounds.
#[must_use]
pub fn offsets(batches: &[RecordBatch]) -> (Vec<Offset>, Vec<Finding>) {
    let mut by_candidate: BTreeMap<String, (Vec<String>, Vec<Constraint>)> = BTreeMap::new();
    for batch in batches {
        let word = |at: usize| batch.column(at).as_string::<i32>();
        let int = |at: usize| batch.column(at).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let (clocks, constraints) = by_candidate.entry(word(0).value(row).to_owned()).or_default();
            let mut index = |name: &str| {
                clocks.iter().position(|c| c == name).unwrap_or_else(|| {
                    clocks.push(name.to_owned());
                    clocks.len() - 1
                })
            };
            let (a, b) = (index(word(1).value(row)), index(word(2).value(row)));
            constraints.push(Constraint { a, b, gap: int(3).value(row), n: int(4).value(row) });
        }
    }
    let mut offsets = Vec::new();
    let mut findings = Vec::new();
    for (candidate, (clocks, constraints)) in by_candidate {
        let closed = close(clocks.len(), &constraints);
        for a in 0..clocks.len() {
            for b in 0..clocks.len() {
                if a == b {
                    continue;
                }
                let (mut low, mut high) = (closed[b][a].map(|gap| -gap), closed[a][b]);
                if let (Some(l), Some(h)) = (low, high)
                    && l > h
                {
                    if a < b {
                        let detail =
                            format!("{} minus {}: at least {l} ns and at most {h} ns", clocks[b], clocks[a]);
                        findings.push(Finding::new(
                            Code::ClockContradiction,
                            candidate.as_str(),
                            Place::FILE,
                            detail,
                        ));
                    }
                    (low, high) = (None, None);
                }
                let tied = |c: &&Constraint| (c.a, c.b) == (a, b) || (c.a, c.b) == (b, a);
                let n = constraints.iter().filter(tied).map(|c| c.n).max().unwrap_or(0);
                if low.is_some() || high.is_some() {
                    let (a, b) = (clocks[a].clone(), clocks[b].clone());
                    offsets.push(Offset { candidate: candidate.clone(), a, b, low, high, n });
                }
            }
        }
    }
    offsets.sort();
    (offsets, findings)
}

/// All-pairs tightest gaps; an entry below zero on the diagonal would be a contradiction and is left out of paths.
fn close(n: usize, constraints: &[Constraint]) -> Vec<Vec<Option<i64>>> {
    let mut gaps: Vec<Vec<Option<i64>>> = vec![vec![None; n]; n];
    for c in constraints {
        let known = gaps[c.a][c.b];
        gaps[c.a][c.b] = Some(known.map_or(c.gap, |gap| gap.min(c.gap)));
    }
    for via in 0..n {
        for a in 0..n {
            for b in 0..n {
                if a == b || a == via || b == via {
                    continue;
                }
                if let (Some(first), Some(second)) = (gaps[a][via], gaps[via][b])
                    && let Some(path) = first.checked_add(second)
                    && gaps[a][b].is_none_or(|gap| path < gap)
                {
                    gaps[a][b] = Some(path);
                }
            }
        }
    }
    gaps
}

/// The offsets as a table the stage query can join: `clock_offset(candidate, a, b, low, high)`, with zero for a
/// clock and itself.
#[must_use]
pub fn table(offsets: &[Offset]) -> String {
    let cell = |value: Option<i64>| value.map_or("NULL".to_owned(), |v| v.to_string());
    let quote = crate::store::quote;
    let mut sql =
        "CREATE TABLE clock_offset (candidate VARCHAR, a VARCHAR, b VARCHAR, low BIGINT, high BIGINT); \
         INSERT INTO clock_offset SELECT DISTINCT candidate, client_clock, client_clock, 0, 0 FROM joined \
         WHERE client_clock IS NOT NULL;"
            .to_owned();
    for o in offsets {
        let row = [quote(&o.candidate), quote(&o.a), quote(&o.b), cell(o.low), cell(o.high)].join(", ");
        sql.push_str(" INSERT INTO clock_offset VALUES (");
        sql.push_str(&row);
        sql.push_str(");");
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constraint(a: usize, b: usize, gap: i64) -> Constraint {
        Constraint { a, b, gap, n: 1 }
    }

    #[test]
    fn two_clocks_are_bounded_by_the_tightest_exchange_each_way() {
        // Client 1700 ahead of engine: send 5 before, first token 2 after, on the true line.
        let gaps =
            close(2, &[constraint(0, 1, 5 - 1700), constraint(1, 0, 2 + 1700), constraint(1, 0, 9 + 1700)]);
        assert_eq!(gaps[0][1], Some(-1695));
        assert_eq!(gaps[1][0], Some(1702));
    }

    #[test]
    fn a_third_clock_ties_two_that_never_met() {
        let gaps = close(3, &[constraint(0, 1, 4), constraint(1, 2, 6)]);
        assert_eq!((gaps[0][2], gaps[2][0]), (Some(10), None));
    }

    #[test]
    fn a_contradiction_stays_visible() {
        let gaps = close(2, &[constraint(0, 1, -5), constraint(1, 0, 3)]);
        assert!(-gaps[1][0].unwrap() > gaps[0][1].unwrap());
    }
}
