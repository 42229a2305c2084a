//! Figures with their n, interval and definition, each leading back to requests.

use crate::error::Result;
use crate::finding::Place;
use crate::stats::LEVEL;
use crate::stats::quantile::{min_n, quantile};
use crate::store::{Engine, quote};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use serde::Serialize;

/// The percentiles that are shown.
const PERCENTILES: [f64; 4] = [0.50, 0.90, 0.95, 0.99];

/// Who is in the population and who is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Exchanges, declared warm-up left out.
    pub exchanges: i64,
    /// Of these, with a first token.
    pub with_ttft: i64,
    /// Answered, but no token text was seen: they have no TTFT.
    pub no_token: i64,
    /// Failed, rejected or cancelled before a first token: they have no TTFT.
    pub failed: i64,
    /// Of the failed, those that met no reachable instance.
    pub unreachable: i64,
    /// Exchanges that took more than one attempt.
    pub retried: i64,
    /// Attempts in all.
    pub attempts: i64,
    /// Records of single requests that the engine gave, joined or not.
    pub engine_records: i64,
    /// Exchanges that met an instance just started.
    pub cold: i64,
    /// Exchanges of which cold or warm is unknown.
    pub cold_unknown: i64,
    /// Exchanges of a declared warm-up, left out.
    pub warmup: i64,
}

/// A request as a way to its raw line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Request {
    /// Exchange id.
    pub exchange: String,
    /// File it was read from, as it was loaded.
    pub file: String,
    /// Source id of that file.
    pub source: String,
    /// Where in the file.
    pub place: Place,
}

/// A percentile of client TTFT: nearest rank, with its order-statistic interval, or what is missing.
#[derive(Clone, Debug, Serialize)]
pub struct Percentile {
    /// 50, 90, 95, 99.
    pub percentile: u32,
    /// Whether the requests are void evidence: there is no value then, however many there are.
    pub void: bool,
    /// Value, or null below the minimum sample.
    pub value_ns: Option<i64>,
    /// Low end of the 95 % interval.
    pub low_ns: Option<i64>,
    /// High end of the 95 % interval.
    pub high_ns: Option<i64>,
    /// Sample size.
    pub n: usize,
    /// Least sample size at which it is printed.
    pub need: usize,
    /// Requests at that rank.
    pub requests: Vec<Request>,
}

/// What one definition of TTFT says: never to be compared with another.
#[derive(Clone, Debug, Serialize)]
pub struct Stated {
    /// Definition id.
    pub definition: String,
    /// Requests that state it.
    pub n: i64,
    /// Median, nearest rank.
    pub p50_ns: i64,
    /// 95th percentile, nearest rank; null below the minimum sample.
    pub p95_ns: Option<i64>,
}

/// Growth of an engine's histogram over the scraped window: a mean without requests behind it.
#[derive(Clone, Debug, Serialize)]
pub struct Average {
    /// Metric without `_sum` and `_count`.
    pub metric: String,
    /// Its labels.
    pub labels: String,
    /// Seconds added.
    pub seconds: f64,
    /// Requests added.
    pub requests: f64,
    /// First scrape, epoch ns.
    pub from_ns: i64,
    /// Last scrape, epoch ns.
    pub to_ns: i64,
}

pub fn sorted_ttft(engine: &Engine, candidate: &str) -> Result<Vec<i64>> {
    let sql = format!(
        "SELECT ttft_ns FROM exchange WHERE candidate = {} AND ttft_ns IS NOT NULL AND COALESCE(phase, '') <> 'warmup' \
         ORDER BY ttft_ns",
        quote(candidate)
    );
    let batches = engine.query(&sql)?;
    Ok(batches
        .iter()
        .flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().iter().copied())
        .collect())
}

/// Time from the first to the last send of a candidate, ns; 0 when there is none.
pub fn span(engine: &Engine, candidate: &str) -> Result<i64> {
    let sql = format!(
        "SELECT MAX(first_send) - MIN(first_send) AS span FROM exchange WHERE candidate = {}",
        quote(candidate)
    );
    Ok(engine.rows(&sql, |c| c.count("span"))?.first().copied().unwrap_or(0))
}

pub fn counts(engine: &Engine, candidate: &str) -> Result<Counts> {
    let rows = engine.rows(include_str!("count.sql"), |c| {
        let counts = Counts {
            exchanges: c.count("exchanges")?,
            with_ttft: c.count("with_ttft")?,
            no_token: c.count("no_token")?,
            failed: c.count("failed")?,
            unreachable: c.count("unreachable")?,
            retried: c.count("retried")?,
            attempts: c.count("attempts")?,
            engine_records: c.count("engine_records")?,
            cold: c.count("cold")?,
            cold_unknown: c.count("cold_unknown")?,
            warmup: c.count("warmup")?,
        };
        Ok((c.text("candidate")?, counts))
    })?;
    Ok(rows.into_iter().find(|(id, _)| id == candidate).map(|(_, counts)| counts).unwrap_or_default())
}

pub fn percentiles(engine: &Engine, candidate: &str, sorted: &[i64], void: bool) -> Result<Vec<Percentile>> {
    PERCENTILES
        .into_iter()
        .map(|p| {
            let q = quantile(sorted, p);
            let requests = q.value.map_or(Ok(Vec::new()), |value| at_rank(engine, candidate, value))?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
            let percentile = (p * 100.0).round() as u32;
            Ok(Percentile {
                percentile,
                void,
                value_ns: q.value,
                low_ns: q.low,
                high_ns: q.high,
                n: q.n,
                need: q.need,
                requests,
            })
        })
        .collect()
}

fn at_rank(engine: &Engine, candidate: &str, value: i64) -> Result<Vec<Request>> {
    let sql = include_str!("rank.sql")
        .replace("{candidate}", &quote(candidate))
        .replace("{value}", &value.to_string());
    engine.rows(&sql, |c| {
        Ok(Request {
            exchange: c.text("exchange")?,
            file: c.text("file")?,
            source: c.text("source")?,
            place: Place::item(c.count("line")?, c.count("item")?),
        })
    })
}

pub fn stated(engine: &Engine, candidate: &str) -> Result<Vec<Stated>> {
    let all = engine.rows(include_str!("stated.sql"), |c| {
        let n = c.count("n")?;
        let enough = usize::try_from(n).unwrap_or(0) >= min_n(0.95, LEVEL);
        let row = Stated {
            definition: c.text("definition")?,
            n,
            p50_ns: c.count("p50")?,
            p95_ns: c.int("p95")?.filter(|_| enough),
        };
        Ok((c.text("candidate")?, row))
    })?;
    Ok(all.into_iter().filter(|(id, _)| id == candidate).map(|(_, row)| row).collect())
}

pub fn averages(engine: &Engine, candidate: &str) -> Result<Vec<Average>> {
    let all = engine.rows(include_str!("average.sql"), |c| {
        let row = Average {
            metric: c.text("metric")?,
            labels: c.text("labels")?,
            seconds: c.real("seconds")?.unwrap_or_default(),
            requests: c.real("requests")?.unwrap_or_default(),
            from_ns: c.count("from_ns")?,
            to_ns: c.count("to_ns")?,
        };
        Ok((c.text("candidate")?, row))
    })?;
    Ok(all.into_iter().filter(|(id, _)| id == candidate).map(|(_, row)| row).collect())
}
