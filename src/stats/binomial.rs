//! Exact probabilities of counts: the binomial, and any distribution whose neighbouring probabilities have a
//! known ratio.

/// Below this share of the mode's probability nothing can matter.
const NEGLIGIBLE: f64 = 1e-300;

/// A distribution over integers that rises to a mode and falls after it, held as the probabilities around it.
///
/// It is built from ratios of neighbours alone: no logarithm and no factorial loses digits. Ten million
/// trials take some 10^5 products, which together keep about eleven digits. Probabilities below 1e-300 of
/// the mode's count as zero.
#[derive(Clone, Debug)]
pub struct Unimodal {
    first: u64,
    mode: u64,
    mass: Vec<f64>,
}

impl Unimodal {
    /// A distribution over `low..=high` with its mode at `mode`; `ratio(k)` is P(k + 1) / P(k).
    pub fn around(low: u64, mode: u64, high: u64, ratio: impl Fn(u64) -> f64) -> Unimodal {
        let falling = |term: &f64| *term >= NEGLIGIBLE;
        let step = |term: &mut f64, by: f64| {
            *term *= by;
            Some(*term)
        };
        let mut mass: Vec<f64> =
            (low..mode).rev().scan(1.0, |term, k| step(term, 1.0 / ratio(k))).take_while(falling).collect();
        mass.reverse();
        let below = u64::try_from(mass.len()).unwrap_or(u64::MAX);
        mass.push(1.0);
        mass.extend((mode..high).scan(1.0, |term, k| step(term, ratio(k))).take_while(falling));
        let mut distribution = Unimodal { first: mode.saturating_sub(below), mode, mass };
        let total = distribution.lower(mode) + distribution.upper(mode.saturating_add(1));
        for term in &mut distribution.mass {
            *term /= total;
        }
        distribution
    }

    /// P(X <= k).
    #[must_use]
    pub fn at_most(&self, k: u64) -> f64 {
        if k < self.mode { self.lower(k) } else { (1.0 - self.upper(k.saturating_add(1))).max(0.0) }
    }

    /// P(X >= k).
    #[must_use]
    pub fn at_least(&self, k: u64) -> f64 {
        if k > self.mode {
            self.upper(k)
        } else {
            k.checked_sub(1).map_or(1.0, |below| (1.0 - self.lower(below)).max(0.0))
        }
    }

    /// The least k with P(X <= k) > `p`.
    #[must_use]
    pub fn first_above(&self, p: f64) -> u64 {
        let short = prefix_not_above(self.mass.iter(), p);
        self.first.saturating_add(short)
    }

    /// The greatest k with P(X >= k) > `p`.
    #[must_use]
    pub fn last_above(&self, p: f64) -> u64 {
        let short = prefix_not_above(self.mass.iter().rev(), p);
        self.end().saturating_sub(1).saturating_sub(short)
    }

    /// One past the last value held.
    fn end(&self) -> u64 {
        self.first.saturating_add(u64::try_from(self.mass.len()).unwrap_or(u64::MAX))
    }

    /// The sum up to `k`, from the far end of the tail: small terms first.
    fn lower(&self, k: u64) -> f64 {
        (self.first..=k).zip(&self.mass).map(|(_, term)| term).sum()
    }

    /// The sum from `k` on, from the far end of the tail: small terms first.
    fn upper(&self, k: u64) -> f64 {
        (k..self.end()).zip(self.mass.iter().rev()).map(|(_, term)| term).sum()
    }
}

/// How many leading terms add up to no more than `p`.
fn prefix_not_above<'a>(terms: impl Iterator<Item = &'a f64>, p: f64) -> u64 {
    let mut sum = 0.0;
    let count = terms
        .take_while(|term| {
            sum += *term;
            sum <= p
        })
        .count();
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The number of successes in `n` independent trials of probability `p` (taken into 0..=1).
#[must_use]
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn binomial(n: u64, p: f64) -> Unimodal {
    let p = p.clamp(0.0, 1.0);
    let odds = p / (1.0 - p);
    let mode = (((n as f64) + 1.0) * p) as u64;
    Unimodal::around(0, mode.min(n), n, |k| (n - k) as f64 / (k as f64 + 1.0) * odds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-10 * b.abs().max(1e-12)
    }

    #[test]
    fn small_cases_are_exact() {
        let coins = binomial(6, 0.5);
        assert!(near(coins.at_most(0), 1.0 / 64.0) && near(coins.at_most(1), 7.0 / 64.0));
        assert!(near(coins.at_least(5), 7.0 / 64.0) && near(coins.at_least(3), 42.0 / 64.0));
        assert!(near(coins.at_most(6), 1.0) && near(coins.at_least(0), 1.0));
        let rare = binomial(20, 0.1);
        assert!(near(rare.at_most(0), 0.9_f64.powi(20)));
        assert!(near(rare.at_least(20), 1e-20), "{}", rare.at_least(20));
    }

    #[test]
    fn edges_of_p_and_n_hold_one_value() {
        for (n, p, k) in [(9, 0.0, 0), (9, 1.0, 9), (0, 0.3, 0)] {
            let d = binomial(n, p);
            assert!(near(d.at_most(k), 1.0) && near(d.at_least(k), 1.0), "{n} {p}");
            assert_eq!((d.first_above(0.025), d.last_above(0.025)), (k, k));
        }
    }

    #[test]
    fn ten_million_trials_agree_with_the_normal_limit_and_are_quick() {
        let (n, p) = (10_000_000, 0.95);
        let d = binomial(n, p);
        assert!(near(d.at_most(n), 1.0));
        // Mean 9 500 000, sd 689.2: 1.96 sd either way, and half the mass on each side.
        assert!(d.first_above(0.025).abs_diff(9_500_000 - 1351) <= 1, "{}", d.first_above(0.025));
        assert!(d.last_above(0.025).abs_diff(9_500_000 + 1351) <= 1, "{}", d.last_above(0.025));
        assert!((d.at_most(9_500_000) - 0.5).abs() < 1e-3);
        // Both tails of every cut add up to one.
        for k in [9_498_000, 9_500_000, 9_501_999] {
            assert!((d.at_most(k) + d.at_least(k + 1) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn tails_agree_with_a_sum_of_exact_terms() {
        // Pascal's triangle in integers, p = 1/4: P = C(n, k) 3^(n-k) / 4^n.
        let n = 24_u32;
        let term = |k: u32| {
            let choose = (0..k).fold(1_u128, |c, i| c * u128::from(n - i) / u128::from(i + 1));
            choose * 3_u128.pow(n - k)
        };
        let d = binomial(u64::from(n), 0.25);
        for k in 0..=n {
            let exact = (0..=k).map(term).sum::<u128>() as f64 / 4_f64.powi(24);
            assert!((d.at_most(u64::from(k)) - exact).abs() < 1e-14, "{k}");
        }
    }
}
