//! One exchange with its stages, as the ledger holds it.

use super::STAGES;
use crate::error::Result;
use crate::store::{Cells, Engine};
use serde::Serialize;

/// How a stage's value is known (DESIGN section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Known {
    /// Both ends on one clock.
    Measured,
    /// A duration that a source states, with its definition.
    Derived,
    /// Across clocks: between a low and a high.
    Bounded,
    /// No evidence.
    Missing,
}

/// One stage of one exchange, in ns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// Its name, one of [`STAGES`].
    pub stage: &'static str,
    /// Its value; null when no evidence covers it.
    pub ns: Option<i64>,
    /// Least it can be.
    pub low_ns: i64,
    /// Most it can be.
    pub high_ns: i64,
    /// How it is known.
    pub known: Known,
}

/// One user request on one candidate, after joining the hops that saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// Candidate.
    pub candidate: String,
    /// Id: the request id, else the response id, else source and place.
    pub exchange: String,
    /// Row of the attempt that got the first token, or of the last attempt.
    pub row: i64,
    /// What the ledger could nest: `whole` (engine TTFT), `slot` (engine timings without queue), `gateway`,
    /// `client`, `contradiction`, `none` (no first token).
    pub kind: String,
    /// Caller, when known.
    pub caller: Option<String>,
    /// Model, when known.
    pub model: Option<String>,
    /// Instance, when known.
    pub instance: Option<String>,
    /// Prompt tokens, when known.
    pub input_tokens: Option<i64>,
    /// Generated tokens, when known.
    pub output_tokens: Option<i64>,
    /// HTTP status, when known.
    pub status: Option<i64>,
    /// How it ended.
    pub outcome: String,
    /// Attempts made.
    pub attempts: i64,
    /// Cold start met; null when no start-up evidence was loaded.
    pub cold: Option<bool>,
    /// First write of the request, epoch ns on the client's clock.
    pub first_send: Option<i64>,
    /// The wait inside the client before that, outside TTFT.
    pub client_wait_ns: Option<i64>,
    /// Client TTFT, retries included; null when no first token came.
    pub ttft_ns: Option<i64>,
    /// TTFT of the successful attempt alone.
    pub attempt_ttft_ns: Option<i64>,
    /// Stages in order; they add up to `ttft_ns`.
    pub stages: Vec<Stage>,
    /// The part of `unattributed` that lies inside the engine's own TTFT.
    pub engine_rest_ns: i64,
    #[serde(skip)]
    pub(super) gateway_row: Option<i64>,
    #[serde(skip)]
    pub(super) engine_row: Option<i64>,
}

impl Exchange {
    fn from_cells(c: Cells) -> Result<Exchange> {
        let kind = c.text("kind")?;
        let stages = STAGES
            .into_iter()
            .map(|stage| {
                let ns = c.int(&format!("{stage}_ns"))?;
                let spread = matches!(stage, "ingress" | "transport");
                let (low_ns, high_ns) = match ns {
                    _ if spread => (c.count(&format!("{stage}_low"))?, c.count(&format!("{stage}_high"))?),
                    Some(ns) => (ns, ns),
                    // What has no evidence can be anything up to what nobody covers.
                    None => (0, c.count("unattributed_ns")?),
                };
                let known = match (stage, ns) {
                    (_, None) => Known::Missing,
                    // Stated by a source, or what is left of the client's TTFT.
                    ("queue" | "prefill" | "unattributed", _) => Known::Derived,
                    _ if low_ns < high_ns => Known::Bounded,
                    _ => Known::Measured,
                };
                Ok(Stage { stage, ns, low_ns, high_ns, known })
            })
            .collect::<Result<_>>()?;
        let word = |name| Ok::<_, crate::error::Error>(c.word(name)?.map(str::to_owned));
        Ok(Exchange {
            candidate: c.text("candidate")?,
            exchange: c.text("exchange")?,
            row: c.count("row")?,
            kind,
            caller: word("caller")?,
            model: word("model")?,
            instance: word("instance")?,
            input_tokens: c.int("input_tokens")?,
            output_tokens: c.int("output_tokens")?,
            status: c.int("status")?,
            outcome: c.text("outcome")?,
            attempts: c.count("attempts")?,
            cold: c.flag("cold")?,
            first_send: c.int("first_send")?,
            client_wait_ns: c.int("client_wait_ns")?,
            ttft_ns: c.int("ttft_ns")?,
            attempt_ttft_ns: c.int("attempt_ttft_ns")?,
            stages,
            engine_rest_ns: c.count("engine_rest_ns")?,
            gateway_row: c.int("gateway_row")?,
            engine_row: c.int("engine_row")?,
        })
    }
}

/// Exchanges that satisfy a condition on the `exchange` view, in the given order.
///
/// # Errors
/// The engine refuses the condition.
pub fn exchanges(engine: &Engine, condition: &str, order: &str) -> Result<Vec<Exchange>> {
    engine.rows(&format!("SELECT * FROM exchange WHERE {condition} ORDER BY {order}"), Exchange::from_cells)
}
