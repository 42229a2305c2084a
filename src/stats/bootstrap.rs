//! How sure the shares of stages are: resampling whole blocks of time, because requests next to each other
//! wait for the same reasons.

use super::quantile::{min_n, rank};
use super::{Interval, LEVEL};
use serde::Serialize;

/// Resamples drawn.
const DRAWS: usize = 2000;

/// A stage's share of a total, with its 95 % percentile interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Share over all blocks. A stage that was faster in the tail has a negative share of the excess.
    pub point: f64,
    /// `None` when the blocks cannot bound it: fewer than six, or the total is not surely above zero.
    pub interval: Option<Interval>,
}

/// Shares of `blocks`: per block of time, the sum of each stage in ns. `None` when there is no stage, the
/// blocks differ in their number of stages, or the total is not above zero: then there is nothing to share.
#[must_use]
pub fn shares(blocks: &[Vec<i64>]) -> Option<Vec<Share>> {
    let stages = blocks.first()?.len();
    if blocks.iter().any(|block| block.len() != stages) {
        return None;
    }
    let points = of(blocks.iter(), stages)?;
    let mut draws: Vec<Vec<f64>> = vec![Vec::with_capacity(DRAWS); stages];
    let mut random = Random::seeded(blocks);
    let mut empty = 0_usize;
    if blocks.len() >= min_n(0.5, LEVEL) {
        for _ in 0..DRAWS {
            let resample = (0..blocks.len()).filter_map(|_| blocks.get(random.below(blocks.len())));
            match of(resample, stages) {
                Some(shares) => draws.iter_mut().zip(shares).for_each(|(draws, share)| draws.push(share)),
                None => empty += 1,
            }
        }
    }
    // A total below zero as often as the interval may be wrong on one side: its own interval reaches zero.
    let risk = (1.0 - LEVEL) / 2.0;
    let bounded = rank(DRAWS, risk) > empty;
    let interval = |mut draws: Vec<f64>| {
        draws.sort_by(f64::total_cmp);
        let at = |p: f64| draws.get(rank(draws.len(), p).checked_sub(1)?).copied();
        let (low, high) = (at(risk)?, at(1.0 - risk)?);
        bounded.then_some(Interval { low, high })
    };
    Some(
        points
            .into_iter()
            .zip(draws)
            .map(|(point, draws)| Share { point, interval: interval(draws) })
            .collect(),
    )
}

/// Each stage's share of the total of some blocks; `None` unless the total is above zero.
#[allow(clippy::cast_precision_loss)]
fn of<'a>(blocks: impl Iterator<Item = &'a Vec<i64>>, stages: usize) -> Option<Vec<f64>> {
    let mut sums = vec![0_i128; stages];
    for block in blocks {
        for (sum, stage) in sums.iter_mut().zip(block) {
            *sum += i128::from(*stage);
        }
    }
    let total: i128 = sums.iter().sum();
    (total > 0).then(|| sums.iter().map(|sum| *sum as f64 / total as f64).collect())
}

/// A small generator (Steele, Lea and Flood's `SplitMix64`), seeded from the data: the same blocks give the same
/// interval anywhere.
struct Random(u64);

impl Random {
    fn seeded(blocks: &[Vec<i64>]) -> Random {
        let mut random = Random(u64::try_from(blocks.len()).unwrap_or(u64::MAX));
        for value in blocks.iter().flatten() {
            random.0 ^= value.cast_unsigned();
            random.0 = random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is far below 2^64: the bias is below n / 2^64.
    fn below(&mut self, n: usize) -> usize {
        let scaled = u128::from(self.next()) * (n as u128);
        usize::try_from(scaled >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of two stages: the first about `share` of 100, moving up and down by `swing`.
    fn blocks(n: i64, share: i64, swing: i64) -> Vec<Vec<i64>> {
        (0..n).map(|i| share + if i % 2 == 0 { swing } else { -swing }).map(|s| vec![s, 100 - s]).collect()
    }

    #[test]
    fn the_generator_gives_the_published_sequence() {
        // From seed 1234567, as published with the reference implementation.
        let mut random = Random(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn shares_add_up_and_intervals_narrow_with_more_blocks() {
        let few = shares(&blocks(10, 70, 20)).unwrap();
        let many = shares(&blocks(400, 70, 20)).unwrap();
        let width = |s: &Share| s.interval.map(|i| i.high - i.low).unwrap();
        assert!((few[0].point - 0.7).abs() < 1e-12 && (few[0].point + few[1].point - 1.0).abs() < 1e-12);
        assert!(width(&few[0]) > 2.0 * width(&many[0]));
        // The mean of 400 blocks that swing by 0.2 has a standard error of 0.01.
        assert!((width(&many[0]) - 2.0 * 1.96 * 0.01).abs() < 0.004, "{}", width(&many[0]));
        assert_eq!(shares(&blocks(10, 70, 20)), Some(few), "not the same twice");
    }

    #[test]
    fn equal_blocks_have_a_point_for_an_interval_and_few_blocks_none() {
        let equal = shares(&blocks(6, 25, 0)).unwrap();
        assert_eq!(equal[0].interval, Some(Interval { low: 0.25, high: 0.25 }));
        let few = shares(&blocks(5, 25, 0)).unwrap();
        assert_eq!(few[0], Share { point: 0.25, interval: None });
    }

    #[test]
    fn no_positive_total_is_no_share_and_an_unsure_total_no_interval() {
        assert_eq!(shares(&[]), None);
        assert_eq!(shares(&[vec![]]), None);
        assert_eq!(shares(&[vec![1, 2], vec![1]]), None);
        assert_eq!(shares(&vec![vec![5, -5]; 9]), None);
        let unsure: Vec<Vec<i64>> = (0..20).map(|i| vec![if i == 0 { 100 } else { -5 }, 0]).collect();
        let got = shares(&unsure).unwrap();
        assert_eq!(got[0].interval, None);
        let faster = shares(&vec![vec![150, -50]; 8]).unwrap();
        assert!((faster[1].point + 0.5).abs() < 1e-12, "a share can be negative");
    }

    #[test]
    fn extremes_do_not_overflow() {
        let got = shares(&vec![vec![i64::MAX, i64::MAX]; 50]).unwrap();
        assert_eq!(got[0].interval, Some(Interval { low: 0.5, high: 0.5 }));
    }
}
