//! Wilson score interval of a proportion: right for small counts and for none at all.

use super::Interval;

/// The interval of a share seen as `hits` of `n`, at confidence `level` (0.95 for 95 %); `None` without
/// trials, or when the counts or the level make no sense.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn wilson(hits: u64, n: u64, level: f64) -> Option<Interval> {
    if n == 0 || hits > n || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let (x, n) = (hits as f64, n as f64);
    let z2 = two_sided_z(level).powi(2);
    let middle = (x + z2 / 2.0) / (n + z2);
    let half = (z2 * (x * (n - x) / n + z2 / 4.0)).sqrt() / (n + z2);
    // At the ends the formula is exactly 0 or 1 but for rounding.
    let low = if hits == 0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if x >= n { 1.0 } else { (middle + half).min(1.0) };
    Some(Interval { low, high })
}

/// The z between whose negative and itself a normal variable lies with probability `level`: 1.96 for 0.95.
#[must_use]
pub fn two_sided_z(level: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    // Halved until the ends are neighbouring doubles.
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if within(middle) < level { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Probability that a standard normal variable lies in -z..=z: 2 phi(z) (z + z^3/3 + z^5/15 + ...), where
/// every term is positive, so nothing cancels.
fn within(z: f64) -> f64 {
    if z > 9.0 {
        return 1.0;
    }
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let (mut term, mut sum, mut odd) = (z, 0.0, 1.0);
    while term > sum * f64::EPSILON / 4.0 {
        sum += term;
        odd += 2.0;
        term *= z * z / odd;
    }
    (2.0 * density * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::oracle_json;
    use super::*;

    #[test]
    fn z_has_the_tabled_values() {
        for (level, z) in [
            (0.5, 0.674_489_750_196),
            (0.9, 1.644_853_626_951),
            (0.95, 1.959_963_984_540),
            (0.99, 2.575_829_303_549),
        ] {
            assert!((two_sided_z(level) - z).abs() < 1e-11, "{level}: {}", two_sided_z(level));
        }
    }

    #[test]
    fn published_intervals_are_met() {
        let Some(newcombe) = oracle_json("proportions/newcombe_1998.json") else { return };
        let level = newcombe["confidence"].as_f64().unwrap();
        let cases = newcombe["single_wilson_score"].as_array().unwrap();
        assert!(cases.len() >= 4);
        for case in cases {
            let number = |key: &str| case[key].as_f64().unwrap();
            let got = wilson(case["x"].as_u64().unwrap(), case["n"].as_u64().unwrap(), level).unwrap();
            assert!((got.low - number("lo")).abs() < 5.1e-5, "{case}: {got:?}");
            assert!((got.high - number("hi")).abs() < 5.1e-5, "{case}: {got:?}");
        }
    }

    #[test]
    fn ends_are_exact_and_nonsense_is_none() {
        assert_eq!(wilson(0, 20, 0.95).map(|i| i.low), Some(0.0));
        assert_eq!(wilson(20, 20, 0.95).map(|i| i.high), Some(1.0));
        let (none, all) = (wilson(0, 9, 0.9).unwrap(), wilson(9, 9, 0.9).unwrap());
        assert!((none.high + all.low - 1.0).abs() < 1e-12);
        for (hits, n, level) in [(0, 0, 0.95), (3, 2, 0.95), (1, 2, 0.0), (1, 2, 1.0), (1, 2, f64::NAN)] {
            assert_eq!(wilson(hits, n, level), None);
        }
    }
}
