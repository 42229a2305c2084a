//! The contrast of the slow tail as rows: stages, baselines, groups, and how far the records join.

use super::{Making, Marks};
use crate::diagnose::{CandidateDiagnosis, Group, StageShare};
use crate::report::text::{clipped, interval, ns, percent, q_value};
use serde::Serialize;

/// Groups shown at most: the rest is in the diagnosis as JSON.
const GROUPS: usize = 20;
/// A group stands out when its adjusted p lies below this.
const STANDS_OUT: f64 = 0.05;

/// A stage's shares.
#[derive(Debug, Serialize)]
pub struct StageRow {
    name: String,
    of_all: String,
    of_tail: String,
    of_excess: String,
    interval: String,
    mean: String,
    /// Whether the verdict names it.
    named: bool,
}

/// A group of requests.
#[derive(Debug, Serialize)]
pub struct GroupRow {
    dimension: String,
    value: String,
    n: String,
    slow: String,
    rate: String,
    lift: String,
    q: String,
    stands_out: bool,
}

impl GroupRow {
    pub fn stands_out(&self) -> bool {
        self.stands_out
    }
}

/// Whether any time was recorded in a stage.
pub fn is_recorded(share: &StageShare) -> bool {
    [share.of_all, share.of_tail, share.of_excess].into_iter().flatten().any(|share| share != 0.0)
}

/// The stages in which time was recorded.
pub fn stages(making: &Making, c: &CandidateDiagnosis) -> Vec<StageRow> {
    let text = |share: Option<f64>| share.map_or("–".to_owned(), percent);
    c.tail
        .stages
        .iter()
        .filter(|s| is_recorded(s))
        .map(|s| StageRow {
            name: making.stage(s.stage),
            of_all: text(s.of_all),
            of_tail: text(s.of_tail),
            of_excess: text(s.of_excess),
            interval: s
                .excess_low
                .zip(s.excess_high)
                .map_or("–".to_owned(), |(low, high)| interval(&percent(low), &percent(high))),
            mean: s.tail_mean_ns.map_or("–".to_owned(), ns),
            named: c.verdict.stage == Some(s.stage),
        })
        .collect()
}

/// The other stages by name: nothing recorded is not the same as no time.
pub fn absent(making: &Making, c: &CandidateDiagnosis) -> String {
    let unrecorded = |s: &&StageShare| !is_recorded(s) && !matches!(s.stage, "unattributed" | "engine_rest");
    let names: Vec<String> = c.tail.stages.iter().filter(unrecorded).map(|s| making.stage(s.stage)).collect();
    names.join(Marks::of(making.lang).list)
}

/// How many slow requests were compared with what.
pub fn baselines(making: &Making, c: &CandidateDiagnosis) -> Vec<(String, String)> {
    let row = |(name, n): (&&str, &i64)| (making.word(&format!("baseline.{name}")), n.to_string());
    c.tail.baselines.iter().map(row).collect()
}

/// The first groups, and the number of those left out as a text.
pub fn groups(making: &Making, c: &CandidateDiagnosis) -> (Vec<GroupRow>, String) {
    let rows = c.groups.iter().take(GROUPS).map(|g| group(making, g)).collect();
    let more = c.groups.len().saturating_sub(GROUPS);
    let text = if more == 0 {
        String::new()
    } else {
        making.words.fill("report.more_groups", &[("n", &more.to_string())])
    };
    (rows, text)
}

fn group(making: &Making, g: &Group) -> GroupRow {
    let stands_out = g.q.is_some_and(|q| q < STANDS_OUT) && g.lift > 1.0;
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let rate = (g.n > 0).then(|| percent(g.slow as f64 / g.n as f64));
    let range = g.slow_rate.map(|i| interval(&percent(i.low), &percent(i.high)));
    GroupRow {
        dimension: making.word(&format!("dimension.{}", g.dimension)),
        value: if g.value.is_empty() { making.word("report.not_stated") } else { clipped(&g.value) },
        n: g.n.to_string(),
        slow: g.slow.to_string(),
        rate: rate.into_iter().chain(range).collect::<Vec<_>>().join(" "),
        lift: format!("{:.2}", g.lift),
        q: g.q.map_or_else(|| making.word("report.not_tested"), q_value),
        stands_out,
    }
}

/// How far the records of the hops join.
pub fn coverage(making: &Making, c: &CandidateDiagnosis) -> Vec<(String, String)> {
    let t = &c.tail;
    [
        ("report.join_gateway", t.gateway_coverage),
        ("report.join_engine", t.engine_coverage),
        ("report.join_engine_slow", t.engine_coverage_tail),
    ]
    .into_iter()
    .map(|(key, share)| (making.word(key), share.map_or("–".to_owned(), percent)))
    .collect()
}
