//! One request's timeline: its stages, and every mark and measure behind them with the line it was read from.

use super::exchange::{Exchange, exchanges};
use super::{Ledger, Offset};
use crate::error::{Error, Result};
use crate::store::{Engine, quote};
use serde::Serialize;

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
    found.into_iter().map(|exchange| timeline(ledger, exchange)).collect()
}

fn timeline(ledger: &Ledger, exchange: Exchange) -> Result<Timeline> {
    let evidence = evidence(&ledger.engine, &exchange)?;
    let clock = |hop: &str| evidence.iter().find(|e| e.hop == hop && !e.clock.is_empty()).map(|e| e.clock.as_str());
    let offset = match (clock("client"), clock("engine")) {
        (Some(a), Some(b)) => ledger
            .offsets
            .iter()
            .find(|o| (o.candidate.as_str(), o.a.as_str(), o.b.as_str()) == (&exchange.candidate, a, b))
            .cloned(),
        _ => None,
    };
    Ok(Timeline { exchange, offset, evidence })
}

/// Marks and measures of the exchange's attempts and of what other hops recorded of it, attempt by attempt in the
/// order of the hops.
fn evidence(engine: &Engine, exchange: &Exchange) -> Result<Vec<Evidence>> {
    let others: Vec<String> =
        [exchange.gateway_row, exchange.engine_row].into_iter().flatten().map(|row| row.to_string()).collect();
    let others = if others.is_empty() { "NULL".to_owned() } else { others.join(", ") };
    let sql = include_str!("evidence.sql").replace("{row}", &exchange.row.to_string()).replace("{others}", &others);
    engine.rows(&sql, |c| {
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
    })
}
