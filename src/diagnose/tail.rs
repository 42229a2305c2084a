//! The tail contrast: where the time of slow exchanges goes beyond what like exchanges need.
//!
//! The excess of a slow exchange in a stage is its time there minus the mean of the exchanges that were not slow
//! and have the same input and output bucket. Shares of the excess carry a 95 % interval from resampling blocks of
//! time, because neighbours in time are not independent ([`bootstrap`]), widened by what clocks leave open.

use crate::error::Result;
use crate::stats::wilson::wilson;
use crate::stats::{Interval, LEVEL, bootstrap};
use crate::store::Engine;
use serde::Serialize;
use std::collections::BTreeMap;

/// Stages as they are contrasted: what no hop covers apart from what lies inside the engine's own TTFT.
pub const PARTS: [&str; 9] = [
    "ingress",
    "queue",
    "schedule",
    "ready",
    "model_load",
    "prefill",
    "transport",
    "unattributed",
    "engine_rest",
];

/// Exchanges that were not slow and are like enough, at least, for a baseline.
const MIN_BASE: i64 = 5;

/// Sums over the exchanges of one block of time, bucket and side of the threshold.
#[derive(Clone, Debug)]
pub struct Cell {
    block: i64,
    bucket: (String, String),
    slow: bool,
    n: i64,
    ttft: i64,
    gateway: i64,
    engine: i64,
    spread: i64,
    parts: [i64; PARTS.len()],
}

/// What slow exchanges are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// Exchanges of the same input and output bucket.
    Matched,
    /// All exchanges that were not slow: too few alike.
    Pooled,
    /// Nothing: nearly all exchanges are slow, and their whole time counts as excess.
    None,
}

/// One stage in the contrast. Shares are of 1; null when there is nothing to share.
#[derive(Clone, Debug, Serialize)]
pub struct StageShare {
    /// Stage name; `engine_rest` is the part of `unattributed` inside the engine's own TTFT.
    pub stage: &'static str,
    /// Share of the TTFT of all exchanges.
    pub of_all: Option<f64>,
    /// Share of the TTFT of slow exchanges.
    pub of_tail: Option<f64>,
    /// Share of the excess of slow exchanges.
    pub of_excess: Option<f64>,
    /// Low end of its 95 % interval.
    pub excess_low: Option<f64>,
    /// High end.
    pub excess_high: Option<f64>,
    /// Mean time in the stage of a slow exchange, ns.
    pub tail_mean_ns: Option<i64>,
}

/// The contrast of one candidate.
#[derive(Clone, Debug, Serialize)]
pub struct Tail {
    /// Exchanges with a TTFT.
    pub n: i64,
    /// Slow ones.
    pub slow: i64,
    /// 95 % Wilson interval of the slow share.
    pub slow_rate: Option<Interval>,
    /// How many slow exchanges had which baseline: matched, pooled, none.
    pub baselines: BTreeMap<&'static str, i64>,
    /// Share of exchanges joined with a gateway record.
    pub gateway_coverage: Option<f64>,
    /// Share of exchanges joined with engine evidence.
    pub engine_coverage: Option<f64>,
    /// Share of slow exchanges joined with engine evidence.
    pub engine_coverage_tail: Option<f64>,
    /// Blocks of time the intervals rest on.
    pub blocks: usize,
    /// Stages, in order.
    pub stages: Vec<StageShare>,
}

/// Cells by candidate.
pub fn cells(engine: &Engine) -> Result<BTreeMap<String, Vec<Cell>>> {
    let mut out: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
    let all = engine.rows(include_str!("cell.sql"), |c| {
        let mut parts = [0; PARTS.len()];
        for (part, name) in parts.iter_mut().zip(PARTS) {
            *part = c.count(name)?;
        }
        let cell = Cell {
            block: c.count("block")?,
            bucket: (c.text("input")?, c.text("output")?),
            slow: c.flag("slow")?.unwrap_or(false),
            n: c.count("n")?,
            ttft: c.count("ttft")?,
            gateway: c.count("gateway")?,
            engine: c.count("engine")?,
            spread: c.count("spread")?,
            parts,
        };
        Ok((c.text("candidate")?, cell))
    })?;
    for (candidate, cell) in all {
        out.entry(candidate).or_default().push(cell);
    }
    Ok(out)
}

#[derive(Clone, Copy, Default)]
struct Sum {
    n: i128,
    parts: [i128; PARTS.len()],
}

impl Sum {
    fn add(&mut self, cell: &Cell) {
        self.n += i128::from(cell.n);
        for (sum, part) in self.parts.iter_mut().zip(cell.parts) {
            *sum += i128::from(part);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
fn share(part: i128, whole: i128) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Tail {
    /// Contrasts slow with other exchanges.
    pub fn of(cells: &[Cell]) -> Tail {
        let count = |pick: &dyn Fn(&Cell) -> i64| cells.iter().map(pick).sum::<i64>();
        let (n, slow) = (count(&|c| c.n), count(&|c| if c.slow { c.n } else { 0 }));
        let (mut all, mut tail, mut pooled) = (Sum::default(), Sum::default(), Sum::default());
        let mut matched: BTreeMap<&(String, String), Sum> = BTreeMap::new();
        for cell in cells {
            all.add(cell);
            if cell.slow {
                tail.add(cell);
            } else {
                pooled.add(cell);
                matched.entry(&cell.bucket).or_default().add(cell);
            }
        }
        let mut baselines: BTreeMap<&'static str, i64> = BTreeMap::new();
        let mut blocks: BTreeMap<i64, [i128; PARTS.len()]> = BTreeMap::new();
        for cell in cells.iter().filter(|c| c.slow) {
            let like = matched.get(&cell.bucket).filter(|base| base.n >= i128::from(MIN_BASE));
            let (name, base) = match like {
                Some(base) => ("matched", *base),
                None if pooled.n >= i128::from(MIN_BASE) => ("pooled", pooled),
                None => ("none", Sum::default()),
            };
            *baselines.entry(name).or_default() += cell.n;
            let block = blocks.entry(cell.block).or_default();
            for ((excess, part), usual) in block.iter_mut().zip(cell.parts).zip(base.parts) {
                let expected = if base.n > 0 { usual * i128::from(cell.n) / base.n } else { 0 };
                *excess += i128::from(part) - expected;
            }
        }
        let excess: i128 = blocks.values().flatten().sum();
        let blocks: Vec<Vec<i64>> = blocks
            .into_values()
            .map(|block| block.iter().map(|ns| i64::try_from(*ns).unwrap_or(i64::MAX)).collect())
            .collect();
        let shares = bootstrap::shares(&blocks).unwrap_or_default();
        let spread: i64 = cells.iter().filter(|c| c.slow).map(|c| c.spread).sum();
        let loose = share(i128::from(spread), excess).unwrap_or(0.0) / 2.0;
        let (ttft_all, ttft_tail) = (count(&|c| c.ttft), count(&|c| if c.slow { c.ttft } else { 0 }));
        let stages = PARTS
            .iter()
            .enumerate()
            .map(|(at, stage)| {
                let clock = if matches!(*stage, "ingress" | "transport") { loose } else { 0.0 };
                let excess = shares.get(at);
                let interval = excess.and_then(|share| share.interval);
                StageShare {
                    stage,
                    of_all: share(all.parts[at], i128::from(ttft_all)),
                    of_tail: share(tail.parts[at], i128::from(ttft_tail)),
                    of_excess: excess.map(|share| share.point),
                    excess_low: interval.map(|i| i.low - clock),
                    excess_high: interval.map(|i| i.high + clock),
                    tail_mean_ns: (tail.n > 0)
                        .then(|| i64::try_from(tail.parts[at] / tail.n).unwrap_or(i64::MAX)),
                }
            })
            .collect();
        let part = |k: i64, of: i64| share(i128::from(k), i128::from(of));
        Tail {
            n,
            slow,
            slow_rate: wilson(slow.unsigned_abs(), n.unsigned_abs(), LEVEL),
            baselines,
            gateway_coverage: part(count(&|c| c.gateway), n),
            engine_coverage: part(count(&|c| c.engine), n),
            engine_coverage_tail: part(count(&|c| if c.slow { c.engine } else { 0 }), slow),
            blocks: blocks.len(),
            stages,
        }
    }

    /// A stage's row.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<&StageShare> {
        self.stages.iter().find(|s| s.stage == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(block: i64, input: &str, slow: bool, n: i64, queue: i64, prefill: i64) -> Cell {
        let mut parts = [0; PARTS.len()];
        (parts[1], parts[5]) = (queue, prefill);
        let ttft = queue + prefill;
        Cell {
            block,
            bucket: (input.into(), String::new()),
            slow,
            n,
            ttft,
            gateway: 0,
            engine: n,
            spread: 0,
            parts,
        }
    }

    #[test]
    fn long_prompts_alone_are_no_excess_when_like_is_compared_with_like() {
        // 10 fast short ones, 10 fast long ones; 6 slow long ones whose prefill is as usual and whose queue is not.
        let cells = [
            cell(0, "short", false, 10, 0, 100),
            cell(0, "long", false, 10, 0, 5_000),
            cell(1, "long", true, 3, 900, 1_500),
            cell(2, "long", true, 3, 900, 1_500),
        ];
        let tail = Tail::of(&cells);
        assert_eq!((tail.n, tail.slow, tail.baselines.get("matched")), (26, 6, Some(&6)));
        let excess = |name| tail.stage(name).and_then(|s| s.of_excess).unwrap();
        assert!((excess("queue") - 1.0).abs() < 1e-9 && excess("prefill").abs() < 1e-9);
        assert!((tail.stage("prefill").unwrap().of_tail.unwrap() - 0.625).abs() < 1e-9);
    }

    #[test]
    fn nothing_to_compare_with_is_said() {
        let tail = Tail::of(&[cell(0, "x", true, 9, 90, 10)]);
        assert_eq!(tail.baselines.get("none"), Some(&9));
        assert_eq!(Tail::of(&[]).engine_coverage, None);
    }
}
