//! Fisher's exact test, one-sided: do the hits crowd into one group more than chance would put there?

use super::binomial::Unimodal;

/// Probability of at least `hits` hits among `group` rows, when `all_hits` of `all` rows are hits and the group
/// was drawn at random. 1 when the table cannot exist.
///
/// As a 2x2 table: `hits`, `group - hits` / `all_hits - hits`, the rest.
#[must_use]
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
pub fn enrichment(hits: u64, group: u64, all_hits: u64, all: u64) -> f64 {
    if group > all || all_hits > all || hits > group.min(all_hits) {
        return 1.0;
    }
    let low = group.saturating_sub(all - all_hits);
    let high = group.min(all_hits);
    let wide = u128::from;
    let mode = (wide(group) + 1) * (wide(all_hits) + 1) / (wide(all) + 2);
    let mode = u64::try_from(mode).unwrap_or(u64::MAX).clamp(low, high);
    // P(k + 1) / P(k) of the hypergeometric distribution; all - all_hits - group + k cannot be negative here.
    let misses_outside = |k: u64| (wide(all) + wide(k) + 1 - wide(all_hits) - wide(group)) as f64;
    let ratio = |k: u64| (all_hits - k) as f64 / (k + 1) as f64 * ((group - k) as f64 / misses_outside(k));
    Unimodal::around(low, mode, high, ratio).at_least(hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, exact: f64) -> bool {
        (got - exact).abs() <= 1e-12 + 1e-9 * exact
    }

    #[test]
    fn the_lady_tasting_tea() {
        // Fisher 1935: 8 cups, 4 with milk first. All right: 1/70; three of four right or better: 17/70.
        assert!(near(enrichment(4, 4, 4, 8), 1.0 / 70.0));
        assert!(near(enrichment(3, 4, 4, 8), 17.0 / 70.0));
        assert!(near(enrichment(0, 4, 4, 8), 1.0));
    }

    #[test]
    fn fishers_twins() {
        // Fisher's criminal twins: convicted 10 of 13 and 2 of 17. R's fisher.test, one-sided: 0.0004652.
        assert!(near(enrichment(10, 13, 12, 30), 40_235.0 / 86_493_225.0));
    }

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn it_agrees_with_counting() {
        let choose = |n: u64, k: u64| (0..k).fold(1_u128, |c, i| c * u128::from(n - i) / u128::from(i + 1));
        let (group, all_hits, all) = (30, 25, 90);
        for hits in 0..=25 {
            let ways: u128 =
                (hits..=25).map(|k| choose(all_hits, k) * choose(all - all_hits, group - k)).sum();
            let exact = ways as f64 / choose(all, group) as f64;
            let got = enrichment(hits, group, all_hits, all);
            assert!((got - exact).abs() <= 1e-11 * exact, "{hits}: {got} {exact}");
        }
    }

    #[test]
    fn edges_and_large_tables() {
        assert!(near(enrichment(5, 5, 5, 5), 1.0));
        assert!(near(enrichment(0, 0, 0, 0), 1.0));
        assert!(near(enrichment(3, 2, 5, 9), 1.0), "no such table");
        // Ten million rows: expected 50 000 hits in the group, 51 000 seen is 4.7 sd away.
        let p = enrichment(51_000, 1_000_000, 500_000, 10_000_000);
        assert!(p > 1e-7 && p < 1e-5, "{p}");
        assert!(enrichment(100_000, 1_000_000, 500_000, 10_000_000) < 1e-290);
    }
}
