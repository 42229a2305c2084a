//! What is kept beside the ledger: clocks, what each source calls TTFT, and the engine's own averages.

use super::Making;
use crate::diagnose::{self, CandidateDiagnosis};
use crate::ledger::Offset;
use crate::report::text::{clipped, date, ns};
use crate::row::definition;
use serde::Serialize;

/// An offset between two clocks.
#[derive(Debug, Serialize)]
pub struct Clock {
    a: String,
    b: String,
    low: String,
    high: String,
    n: String,
}

/// What one definition of TTFT says.
#[derive(Debug, Serialize)]
pub struct Stated {
    definition: String,
    hop: String,
    meaning: String,
    queue: String,
    n: String,
    p50: String,
    p95: String,
}

/// An average of the engine over the scraped window.
#[derive(Debug, Serialize)]
pub struct Average {
    metric: String,
    labels: String,
    seconds: String,
    requests: String,
    mean: String,
    from: String,
    to: String,
}

/// Clock offsets; an end that nothing bounds is a question mark.
pub fn clocks(offsets: &[Offset]) -> Vec<Clock> {
    let side = |value: Option<i64>| value.map_or("?".to_owned(), ns);
    offsets
        .iter()
        .map(|o| Clock {
            a: clipped(&o.a),
            b: clipped(&o.b),
            low: side(o.low),
            high: side(o.high),
            n: o.n.to_string(),
        })
        .collect()
}

/// One row a definition.
pub fn stated(making: &Making, c: &CandidateDiagnosis) -> Vec<Stated> {
    c.stated
        .iter()
        .map(|s| {
            let known = definition(&s.definition);
            let queue = match known.and_then(|d| d.includes_queue) {
                Some(true) => making.word("report.yes"),
                Some(false) => making.word("report.no"),
                None => "–".to_owned(),
            };
            Stated {
                definition: clipped(&s.definition),
                hop: known.map_or_else(String::new, |d| making.word(&format!("hop.{}", d.hop.as_str()))),
                meaning: known.map_or_else(String::new, |d| making.word(&format!("definition.{}", d.id))),
                queue,
                n: s.n.to_string(),
                p50: ns(s.p50_ns),
                p95: s.p95_ns.map_or_else(|| making.word("report.too_few"), ns),
            }
        })
        .collect()
}

/// One row a histogram.
pub fn averages(c: &CandidateDiagnosis) -> Vec<Average> {
    let row = |a: &diagnose::Average| Average {
        metric: clipped(&a.metric),
        labels: clipped(&a.labels),
        seconds: format!("{:.3} s", a.seconds),
        requests: format!("{:.0}", a.requests),
        mean: if a.requests > 0.0 { format!("{:.3} s", a.seconds / a.requests) } else { "–".to_owned() },
        from: date(a.from_ns),
        to: date(a.to_ns),
    };
    c.averages.iter().map(row).collect()
}
