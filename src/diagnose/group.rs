//! Groups: in which part of the population slow exchanges gather.

use crate::error::Result;
use crate::stats::wilson::wilson;
use crate::stats::{Interval, LEVEL, bh, fisher};
use crate::store::Engine;
use crate::trial::Dimension;
use serde::Serialize;

/// Least size of a group that is tested, and least slow exchanges in it.
const MIN_N: i64 = 30;
const MIN_SLOW: i64 = 5;

/// One value of one dimension.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Dimension, as in `trial.toml`.
    pub dimension: &'static str,
    /// Its value; empty when the evidence does not say.
    pub value: String,
    /// Exchanges in the group.
    pub n: i64,
    /// Slow ones.
    pub slow: i64,
    /// 95 % Wilson interval of the slow share.
    pub slow_rate: Option<Interval>,
    /// Share of all slow exchanges that are in the group.
    pub of_slow: f64,
    /// Slow share of the group over that of the whole.
    pub lift: f64,
    /// Benjamini–Hochberg adjusted p of Fisher's one-sided test over every group tested; null below the support
    /// floor (30 exchanges, 5 of them slow) or when the group is everything.
    pub q: Option<f64>,
}

/// Every group of the dimensions, the most enriched first.
#[expect(clippy::cast_precision_loss, reason = "shares")]
pub fn groups(engine: &Engine, candidate: &str, dimensions: &[Dimension]) -> Result<Vec<Group>> {
    let mut groups = Vec::new();
    for dimension in dimensions {
        let sql = include_str!("group.sql").replace("{dimension}", column(*dimension));
        let rows = engine.rows(&sql, |c| {
            let value = match dimension {
                Dimension::Window => c.int("value")?.map(instant).unwrap_or_default(),
                _ => c.text("value")?,
            };
            Ok((c.text("candidate")?, value, c.count("n")?, c.count("slow")?))
        })?;
        let rows: Vec<_> = rows.into_iter().filter(|(id, ..)| id == candidate).collect();
        let (all, all_slow) = rows.iter().fold((0, 0), |(n, s), (_, _, rn, rs)| (n + rn, s + rs));
        for (_, value, n, slow) in rows {
            let ratio = |k: i64, of: i64| if of > 0 { k as f64 / of as f64 } else { 0.0 };
            let tested = n >= MIN_N && slow >= MIN_SLOW && n < all;
            let p = tested.then(|| {
                let u = i64::unsigned_abs;
                fisher::enrichment(u(slow), u(n), u(all_slow), u(all))
            });
            groups.push(Group {
                dimension: dimension.as_str(),
                value,
                n,
                slow,
                slow_rate: wilson(slow.unsigned_abs(), n.unsigned_abs(), LEVEL),
                of_slow: ratio(slow, all_slow),
                lift: if all_slow > 0 { ratio(slow, n) / ratio(all_slow, all) } else { 0.0 },
                q: p,
            });
        }
    }
    let tested: Vec<f64> = groups.iter().filter_map(|g| g.q).collect();
    let mut adjusted = bh::adjusted(&tested).into_iter();
    for group in groups.iter_mut().filter(|g| g.q.is_some()) {
        group.q = adjusted.next();
    }
    groups.sort_by(|a, b| {
        let rank = |g: &Group| (g.q.unwrap_or(2.0), -g.lift);
        let ((qa, la), (qb, lb)) = (rank(a), rank(b));
        let order = qa.total_cmp(&qb).then(la.total_cmp(&lb));
        order.then_with(|| (a.dimension, &a.value).cmp(&(b.dimension, &b.value)))
    });
    Ok(groups)
}

fn column(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Window => "time_window",
        other => other.as_str(),
    }
}

fn instant(ns: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(ns)).map(|t| t.to_string()).unwrap_or_default()
}
