//! One request's timeline: its stages, and every mark and measure behind them with the line it was read from.

use super::exchange::{Exchange, exchanges};
use super::{Ledger, Offset};
use crate::error::{Error, Result};
use crate::store::{Cells, quote};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One figure that a source states about a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Hop that observed it.
    pub hop: String,
    /// Attempt number, when the source tells.
    pub attempt: Option<i64>,
    /// Mark name (`send`, `first_token`, …) or definition id (`vllm.queue`, …).
    pub what: String,
    /// The instant on `clock`, for a mark.
    pub t_ns: Option<i64>,
    /// The duration, for a measure.
    pub duration_ns: Option<i64>,
    /// Clock of a mark; empty for a measure.
    pub clock: String,
    /// Step of the figure as written, in ns.
    pub resolution_ns: i64,
    /// File it stands in, as it was loaded.
    pub file: String,
    /// SHA-256 of that file.
    pub sha256: String,
    /// Line in the file.
    pub line: i64,
    /// Record within the line or document.
    pub item: i64,
}

/// A request's timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// The exchange and its stages.
    pub exchange: Exchange,
    /// Engine clock minus client clock, when both are known.
    pub offset: Option<Offset>,
    /// Every figure behind it.
    pub evidence: Vec<Evidence>,
}

/// Timelines of every exchange that `id` names: request id, trace id, response id, or the id in the ledger.
///
/// # Errors
/// No exchange has this id.
pub fn timelines(ledger: &Ledger, id: &str) -> Result<Vec<Timeline>> {
    let name = quote(id);
    let condition = format!(
        "exchange = {name} OR row IN (SELECT row FROM request WHERE {name} IN (request_id, trace_id, response_id)) \
         OR engine_row IN (SELECT row FROM request WHERE {name} IN (request_id, trace_id, response_id))"
    );
    let found = exchanges(&ledger.engine, &condition, "candidate, row")?;
    if found.is_empty() {
        return Err(Error::input(format!("no exchange has the id {id:?}"))
            .hint("ids are request ids, trace ids or response ids; `probity sql \"SELECT exchange FROM exchange\"` lists them"));
    }
    timelines_of(ledger, &found)
}

/// Timelines of exchanges in hand, in their order: the store is searched once for all of them.
///
/// # Errors
/// The engine cannot run.
pub fn timelines_of(ledger: &Ledger, exchanges: &[Exchange]) -> Result<Vec<Timeline>> {
    if exchanges.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for x in exchanges {
        rows.entry(x.row)
            .or_default()
            .extend([Some(x.row), x.gateway_row, x.engine_row].into_iter().flatten());
    }
    let sql = include_str!("sister.sql").replace("{rows}", &list(rows.keys()));
    for (x, sister) in ledger.engine.rows(&sql, |c| Ok((c.count("x")?, c.count("row")?)))? {
        rows.entry(x).or_default().insert(sister);
    }
    let sql = include_str!("evidence.sql").replace("{rows}", &list(rows.values().flatten()));
    let evidence = ledger.engine.rows(&sql, |c| Ok((c.count("row")?, figure(c)?)))?;
    let of = |x: &Exchange| {
        let mine = |row: &i64| rows.get(&x.row).is_some_and(|rows| rows.contains(row));
        evidence.iter().filter(|(row, _)| mine(row)).map(|(_, figure)| figure.clone()).collect()
    };
    Ok(exchanges.iter().map(|x| timeline(ledger, x.clone(), of(x))).collect())
}

/// A list of row numbers for SQL.
fn list<'a>(rows: impl Iterator<Item = &'a i64>) -> String {
    rows.map(i64::to_string).collect::<Vec<_>>().join(", ")
}

fn timeline(ledger: &Ledger, exchange: Exchange, evidence: Vec<Evidence>) -> Timeline {
    let clock =
        |hop: &str| evidence.iter().find(|e| e.hop == hop && !e.clock.is_empty()).map(|e| e.clock.as_str());
    let offset = match (clock("client"), clock("engine")) {
        (Some(a), Some(b)) => ledger
            .offsets
            .iter()
            .find(|o| (o.candidate.as_str(), o.a.as_str(), o.b.as_str()) == (&exchange.candidate, a, b))
            .cloned(),
        _ => None,
    };
    Timeline { exchange, offset, evidence }
}

/// One mark or measure with its place; they come attempt by attempt in the order of the hops.
fn figure(c: Cells) -> Result<Evidence> {
    Ok(Evidence {
        hop: c.text("hop")?,
        attempt: c.int("attempt")?,
        what: c.text("what")?,
        t_ns: c.int("t_ns")?,
        duration_ns: c.int("duration_ns")?,
        clock: c.text("clock")?,
        resolution_ns: c.count("resolution_ns")?,
        file: c.text("file")?,
        sha256: c.text("sha256")?,
        line: c.count("line")?,
        item: c.count("item")?,
    })
}
