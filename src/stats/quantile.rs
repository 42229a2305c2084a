//! Percentiles as order statistics: the value at a rank, with an interval of ranks that holds whatever the
//! distribution is. Too few values give no percentile, and say how many are needed.

use super::LEVEL;
use super::binomial::binomial;
use serde::Serialize;

/// A percentile of a sample, or how many values it lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Quantile {
    /// Nearest-rank value (type 1); `None` below the floor of `need` values.
    pub value: Option<i64>,
    /// Low end of the 95 % interval, an order statistic; with `value`.
    pub low: Option<i64>,
    /// High end of the 95 % interval, an order statistic; with `value`.
    pub high: Option<i64>,
    /// Values there are.
    pub n: usize,
    /// Values needed for a two-sided 95 % interval to exist.
    pub need: usize,
}

/// The `p` quantile (0 < p < 1) of values sorted from small to large.
#[must_use]
pub fn quantile(sorted: &[i64], p: f64) -> Quantile {
    debug_assert!(sorted.is_sorted());
    let (n, need) = (sorted.len(), min_n(p, LEVEL));
    let at = |rank: usize| sorted.get(rank.checked_sub(1)?).copied();
    match interval(n, p, LEVEL) {
        (Some(low), Some(high)) => Quantile { value: at(rank(n, p)), low: at(low), high: at(high), n, need },
        _ => Quantile { value: None, low: None, high: None, n, need },
    }
}

/// The nearest rank, from 1: the least k with k / n >= p.
#[must_use]
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn rank(n: usize, p: f64) -> usize {
    let share = |k: usize| k as f64 / n as f64;
    // n * p can round to either side of a whole number: 0.07 * 100 is 7.000000000000001.
    let near = (n as f64 * p).round() as usize;
    (near.saturating_sub(1)..=n).find(|k| *k >= 1 && share(*k) >= p).unwrap_or(n)
}

/// Ranks, from 1, between which the `p` quantile lies with confidence `level`, half of the risk on each side;
/// `None` for a side that `n` values cannot bound.
#[must_use]
pub fn interval(n: usize, p: f64, level: f64) -> (Option<usize>, Option<usize>) {
    let risk = (1.0 - level) / 2.0;
    let below = binomial(u64::try_from(n).unwrap_or(u64::MAX), p);
    // The k-th smallest lies above the quantile when fewer than k values lie below it.
    let low = usize::try_from(below.first_above(risk)).ok().filter(|k| *k >= 1);
    let high = usize::try_from(below.last_above(risk)).ok().map(|k| k.saturating_add(1)).filter(|k| *k <= n);
    (low, high)
}

/// The least number of values for which both ends of the interval exist: 6 for the median, 72 for p95 and
/// 368 for p99 at 95 %.
#[must_use]
pub fn min_n(p: f64, level: f64) -> usize {
    let risk = (1.0 - level) / 2.0;
    let rarer = p.max(1.0 - p);
    if !(risk > 0.0 && rarer < 1.0) {
        return usize::MAX;
    }
    // All n values on one side: p^n, or (1 - p)^n on the other.
    let mut tail = 1.0;
    let mut n = 0_usize;
    while tail > risk {
        tail *= rarer;
        n = n.saturating_add(1);
    }
    n
}

#[cfg(test)]
mod tests {
    use super::super::{oracle, oracle_json};
    use super::*;

    #[test]
    fn below_the_floor_there_is_no_percentile_but_a_need() {
        let values: Vec<i64> = (1..=72).collect();
        let short = quantile(&values[..71], 0.95);
        assert_eq!(short, Quantile { value: None, low: None, high: None, n: 71, need: 72 });
        let enough = quantile(&values, 0.95);
        assert_eq!((enough.value, enough.high, enough.need), (Some(69), Some(72), 72));
        assert_eq!((min_n(0.5, 0.95), min_n(0.99, 0.95), min_n(0.999, 0.95)), (6, 368, 3688));
        assert_eq!(quantile(&[], 0.5).value, None);
        assert_eq!(
            quantile(&[7; 6], 0.5),
            Quantile { value: Some(7), low: Some(7), high: Some(7), n: 6, need: 6 }
        );
    }

    #[test]
    fn ranks_are_nearest_ranks_whatever_floating_point_does() {
        assert_eq!((rank(100, 0.07), rank(100, 0.95), rank(20, 0.95), rank(21, 0.95)), (7, 95, 19, 20));
        assert_eq!((rank(1, 0.5), rank(2, 0.5), rank(3, 0.5), rank(1000, 0.29)), (1, 1, 2, 290));
        assert_eq!((rank(5, 1.0), rank(5, 0.0)), (5, 1));
    }

    #[test]
    fn published_intervals_and_floors_are_met() {
        let Some(table) = oracle("quantile_ci/order_statistic_intervals.tsv") else { return };
        let mut rows = 0;
        for row in table.lines().skip(1) {
            let cells: Vec<&str> = row.split('\t').collect();
            let (n, p, level) =
                (cells[0].parse().unwrap(), cells[1].parse().unwrap(), cells[2].parse().unwrap());
            let expected = (cells[3].parse().ok(), cells[4].parse().ok());
            assert_eq!(interval(n, p, level), expected, "{row}");
            rows += 1;
        }
        assert!(rows > 100, "{rows} rows");
        let floors = oracle("quantile_ci/min_samples.tsv").unwrap();
        for row in floors.lines().skip(1) {
            let cells: Vec<&str> = row.split('\t').collect();
            let floor = min_n(cells[0].parse().unwrap(), cells[1].parse().unwrap());
            assert_eq!(floor.to_string(), cells[4], "{row}");
        }
    }

    #[test]
    #[allow(clippy::cast_possible_truncation)]
    fn published_type_1_quantile_is_met() {
        let Some(nist) = oracle_json("quantile_ci/percentile_definitions.json") else { return };
        let scaled = |value: &serde_json::Value| (value.as_f64().unwrap() * 1e4).round() as i64;
        let mut data: Vec<i64> = nist["data"].as_array().unwrap().iter().map(scaled).collect();
        data.sort_unstable();
        let p = nist["p"].as_f64().unwrap();
        assert_eq!(data[rank(data.len(), p) - 1], scaled(&nist["by_hyndman_fan_type"]["1"]));
    }

    #[test]
    fn the_median_needs_as_many_values_as_benchstat_says() {
        let Some(rules) = oracle_json("benchstat/small_sample_rules.json") else { return };
        for rule in rules["median_ci_min_samples"].as_array().unwrap() {
            let (level, n) = (rule["confidence"].as_f64().unwrap(), rule["n"].to_string());
            if (0.5..1.0).contains(&level) {
                assert_eq!(min_n(0.5, level).to_string(), n, "{rule}");
            }
        }
        let median = interval(6, 0.5, 0.95);
        assert_eq!(median, (Some(1), Some(6)));
    }

    #[test]
    fn large_samples_are_no_trouble() {
        let (low, high) = interval(10_000_000, 0.99, 0.95);
        // Rank 9 900 000, sd 314.6.
        assert!(low.is_some_and(|k| k.abs_diff(9_900_000 - 617) <= 2), "{low:?}");
        assert!(high.is_some_and(|k| k.abs_diff(9_900_000 + 618) <= 2), "{high:?}");
    }
}
