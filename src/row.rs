//! The one model: normalised rows that every format is read into, column by column.
//!
//! Times and durations are integer nanoseconds, tokens and counts integers; a value that a source does not
//! state is null, never zero. Every row carries its place, and every time its clock and resolution.

mod column;
mod definition;
mod table;

pub use column::Column;
pub use definition::{DEFINITIONS, Definition, definition};
pub use table::{Table, Tables};

use crate::finding::{Code, Place};
use table::{aggregate, event, finding, mark, measure, request, run, series};

/// Where in the walk of a request a source observed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hop {
    /// The caller, or a load generator in its place.
    Client,
    /// The entry: proxy, API gateway, ingress.
    Gateway,
    /// What picks an instance.
    Router,
    /// The inference server.
    Engine,
    /// The orchestrator.
    Cluster,
    /// The machine and its accelerators.
    Host,
}

impl Hop {
    /// Every hop, in the order a request meets them.
    pub const ALL: [Hop; 6] = [Hop::Client, Hop::Gateway, Hop::Router, Hop::Engine, Hop::Cluster, Hop::Host];

    /// The word used in tables and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Hop::Client => "client",
            Hop::Gateway => "gateway",
            Hop::Router => "router",
            Hop::Engine => "engine",
            Hop::Cluster => "cluster",
            Hop::Host => "host",
        }
    }

    /// The hop of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Hop> {
        Hop::ALL.into_iter().find(|hop| hop.as_str() == name)
    }
}

/// How a request ended at the hop that reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Answered.
    Ok,
    /// Failed: connection, protocol or server error.
    Error,
    /// Turned away before work began: rate limit, admission, authentication.
    Rejected,
    /// Given up by the caller.
    Cancelled,
    /// The source does not say.
    #[default]
    Unknown,
}

impl Outcome {
    /// The word used in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Error => "error",
            Outcome::Rejected => "rejected",
            Outcome::Cancelled => "cancelled",
            Outcome::Unknown => "unknown",
        }
    }

    /// What an HTTP status means: 2xx ok; 401, 403, 429 rejected; 499 cancelled; other 4xx and 5xx error.
    #[must_use]
    pub fn from_http(status: i64) -> Outcome {
        match status {
            200..=299 => Outcome::Ok,
            401 | 403 | 429 => Outcome::Rejected,
            499 => Outcome::Cancelled,
            400..=599 => Outcome::Error,
            _ => Outcome::Unknown,
        }
    }
}

/// One request (one attempt of it) as one hop saw it. Empty strings count as absent.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// X-Request-Id, or what the client calls the request; shared by all attempts.
    pub request_id: Option<&'a str>,
    /// W3C trace id: 32 lower-case hex digits.
    pub trace_id: Option<&'a str>,
    /// This hop's own span id: 16 lower-case hex digits.
    pub span_id: Option<&'a str>,
    /// The span that called this hop.
    pub parent_span_id: Option<&'a str>,
    /// The id in the response body (`chatcmpl-…`).
    pub response_id: Option<&'a str>,
    /// An engine's own timing figures as they also appear in the response, written alike by both readers;
    /// joins where no id is shared.
    pub echo_id: Option<&'a str>,
    /// Attempt number from 0.
    pub attempt: Option<i64>,
    /// Who asked: tenant, API key alias, application.
    pub caller: Option<&'a str>,
    /// Model name as asked for or served.
    pub model: Option<&'a str>,
    /// Instance that served it: pod, host:port, server name.
    pub instance: Option<&'a str>,
    /// A class the plan gave the request.
    pub class: Option<&'a str>,
    /// Load phase the tool declares: `warmup`, `profiling`; `workload` for a request recorded elsewhere, never sent here.
    pub phase: Option<&'a str>,
    /// Identity of the prompt across runs (a hash prefix), never the prompt.
    pub sample_id: Option<&'a str>,
    /// Prompt tokens.
    pub input_tokens: Option<i64>,
    /// Generated tokens.
    pub output_tokens: Option<i64>,
    /// Prompt tokens served from a prefix cache.
    pub cached_tokens: Option<i64>,
    /// HTTP status; null when none was received.
    pub status: Option<i64>,
    /// How it ended.
    pub outcome: Outcome,
    /// Error text, finish reason or proxy flag as found.
    pub error: Option<&'a str>,
    /// Whether the response was streamed; null when the source does not say.
    pub streamed: Option<bool>,
}

/// Something that happened at a time, to an instance or a request: start-up steps, health, log warnings, spans.
#[derive(Clone, Debug, Default)]
pub struct Event<'a> {
    /// Kind in kebab-case: `start`, `load-begin`, `weights-loaded`, `ready`, `health-ok`, `health-fail`, `span`, …; those of a
    /// cluster stand in `format/kubernetes.rs`.
    pub kind: &'a str,
    /// When, on `clock`; null if the source gives a duration only.
    pub t_ns: Option<i64>,
    /// The clock of `t_ns`.
    pub clock: &'a str,
    /// Smallest step of the clock as written.
    pub resolution_ns: i64,
    /// How long, when stated.
    pub duration_ns: Option<i64>,
    /// Whom it happened to.
    pub instance: Option<&'a str>,
    /// The request it belongs to, by trace id.
    pub trace_id: Option<&'a str>,
    /// What the source says, shortened to one line without prompt text.
    pub detail: &'a str,
}

/// A figure over many requests that a source states and that cannot be taken apart again.
#[derive(Clone, Debug)]
pub struct Aggregate<'a> {
    /// What is measured, as the source calls it: `ttft`, `itl`, `request_throughput`.
    pub metric: &'a str,
    /// Which statistic: `mean`, `p99`, `count`, `value`.
    pub statistic: &'a str,
    /// The figure in the unit as found.
    pub value: f64,
    /// Unit as found: `ms`, `s`, `1/s`, `1`.
    pub unit: &'a str,
    /// Over how many requests, when stated.
    pub n: Option<i64>,
    /// Which definition (`row/definition.rs`), empty when none applies.
    pub definition: &'a str,
}

/// Handle of a request row, to hang marks and measures on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestKey {
    row: i64,
    place: Place,
}

/// Rows and findings read from a stretch of one source, in the order of the source.
#[derive(Default)]
pub struct Rows {
    request: request::Builder,
    mark: mark::Builder,
    measure: measure::Builder,
    series: series::Builder,
    event: event::Builder,
    run: run::Builder,
    aggregate: aggregate::Builder,
    finding: finding::Builder,
    /// Requests added, which numbers the next one.
    requests: i64,
    /// Records read into rows.
    pub read: i64,
    /// Records refused, each with a finding.
    pub refused: i64,
    last: Option<(Code, Place)>,
}

/// Latest instant that is taken, ns on either side of a clock's zero (year 2096 since 1970): what two of them are apart,
/// and room to spare, still fits an integer.
const LATEST_NS: i64 = 4_000_000_000_000_000_000;

/// Longest duration that is taken: a year, ns.
const LONGEST_NS: i64 = 366 * 86_400 * 1_000_000_000;

/// Most tokens that one request can have.
const MOST_TOKENS: i64 = 1_000_000_000;

fn some(text: Option<&str>) -> Option<&str> {
    text.filter(|t| !t.is_empty())
}

impl Rows {
    /// Adds one request and counts one record read.
    pub fn request(&mut self, hop: Hop, place: Place, r: &Request) -> RequestKey {
        let row = self.requests;
        self.requests += 1;
        self.read += 1;
        let mut tokens = |name: &str, count: Option<i64>| {
            let count = count?;
            if (0..=MOST_TOKENS).contains(&count) {
                return Some(count);
            }
            let detail = format!("{name} {count}, not 0 to {MOST_TOKENS}: left out");
            self.finding(Code::ValueImpossible, place, &detail);
            None
        };
        let input_tokens = tokens("input_tokens", r.input_tokens);
        let output_tokens = tokens("output_tokens", r.output_tokens);
        let cached_tokens = tokens("cached_tokens", r.cached_tokens);
        self.request.push(request::Row {
            row,
            line: place.line,
            item: place.item,
            hop: hop.as_str(),
            request_id: some(r.request_id),
            trace_id: some(r.trace_id),
            span_id: some(r.span_id),
            parent_span_id: some(r.parent_span_id),
            response_id: some(r.response_id),
            echo_id: some(r.echo_id),
            attempt: r.attempt,
            caller: some(r.caller),
            model: some(r.model),
            instance: some(r.instance),
            class: some(r.class),
            phase: some(r.phase),
            sample_id: some(r.sample_id),
            input_tokens,
            output_tokens,
            cached_tokens,
            status: r.status,
            outcome: r.outcome.as_str(),
            error: some(r.error),
            streamed: r.streamed,
        });
        RequestKey { row, place }
    }

    /// Adds a named instant of a request: `t_ns` on `clock`, written with steps of `resolution_ns`.
    pub fn mark(&mut self, key: RequestKey, name: &'static str, t_ns: i64, clock: &str, resolution_ns: i64) {
        let RequestKey { row, place } = key;
        if !(-LATEST_NS..=LATEST_NS).contains(&t_ns) {
            let detail = format!("{name} {t_ns} ns is no time a clock shows: left out");
            return self.finding(Code::ValueImpossible, place, &detail);
        }
        self.mark.push(mark::Row {
            row,
            line: place.line,
            item: place.item,
            name,
            t_ns,
            clock,
            resolution_ns,
        });
    }

    /// Adds a duration that the source states for a request.
    ///
    /// `definition` is an id of [`DEFINITIONS`]; `unit` is the unit as found, `resolution_ns` its step.
    pub fn measure(
        &mut self,
        key: RequestKey,
        definition: &'static str,
        duration_ns: i64,
        unit: &'static str,
        resolution_ns: i64,
    ) {
        debug_assert!(definition::definition(definition).is_some(), "{definition} is not defined");
        let RequestKey { row, place } = key;
        if !(-LONGEST_NS..=LONGEST_NS).contains(&duration_ns) {
            let detail = format!("{definition} {duration_ns} ns is longer than a year: left out");
            return self.finding(Code::ValueImpossible, place, &detail);
        }
        self.measure.push(measure::Row {
            row,
            line: place.line,
            item: place.item,
            definition,
            duration_ns,
            unit,
            resolution_ns,
        });
    }

    /// Adds one sample of a time series. `labels` is `k="v",…` sorted by key, without braces.
    pub fn sample(&mut self, place: Place, metric: &str, labels: &str, t_ns: i64, clock: &str, value: f64) {
        if !(-LATEST_NS..=LATEST_NS).contains(&t_ns) {
            return self.refuse(
                Code::ValueImpossible,
                place,
                &format!("{metric} at {t_ns} ns: no time a clock shows"),
            );
        }
        self.read += 1;
        self.series.push(series::Row {
            line: place.line,
            item: place.item,
            metric,
            labels,
            t_ns,
            clock,
            value,
        });
    }

    /// Adds an event seen at `hop` and counts one record read.
    pub fn event(&mut self, hop: Hop, place: Place, e: &Event) {
        self.read += 1;
        let t_ns = e.t_ns.filter(|t| (-LATEST_NS..=LATEST_NS).contains(t));
        let duration_ns = e.duration_ns.filter(|d| (-LONGEST_NS..=LONGEST_NS).contains(d));
        if (t_ns, duration_ns) != (e.t_ns, e.duration_ns) {
            let detail = format!("{}: a time or a duration out of range is left out", e.kind);
            self.finding(Code::ValueImpossible, place, &detail);
        }
        self.event.push(event::Row {
            line: place.line,
            item: place.item,
            hop: hop.as_str(),
            kind: e.kind,
            t_ns,
            clock: e.clock,
            resolution_ns: e.resolution_ns,
            duration_ns,
            instance: some(e.instance),
            trace_id: some(e.trace_id),
            detail: e.detail,
        });
    }

    /// Adds one fact about a run of a tool or the configuration of a server (`key` = `value`, both as found).
    pub fn run(&mut self, place: Place, key: &str, value: &str) {
        self.run.push(run::Row { line: place.line, item: place.item, key, value });
    }

    /// Adds a figure over many requests.
    pub fn aggregate(&mut self, place: Place, a: &Aggregate) {
        self.aggregate.push(aggregate::Row {
            line: place.line,
            item: place.item,
            metric: a.metric,
            statistic: a.statistic,
            value: a.value,
            unit: a.unit,
            n: a.n,
            definition: a.definition,
        });
    }

    /// Reports something about what was read; nothing was lost.
    pub fn finding(&mut self, code: Code, place: Place, detail: &str) {
        self.last = Some((code, place));
        self.finding.push(finding::Row {
            line: place.line,
            item: place.item,
            code: code.id(),
            severity: code.severity().as_str(),
            detail,
        });
    }

    /// Reports a record that could not be read and counts it as refused.
    pub fn refuse(&mut self, code: Code, place: Place, detail: &str) {
        self.refused += 1;
        self.finding(code, place, detail);
    }

    /// The tables as columns, with the source's constant columns; empties this. Request numbers count from 0.
    ///
    /// # Errors
    /// When columns cannot be built, which means a bug.
    pub fn take(&mut self, candidate: &str, source: &str) -> crate::error::Result<Tables> {
        let rows = std::mem::take(self);
        Ok(Tables {
            requests: rows.requests,
            read: rows.read,
            refused: rows.refused,
            parts: vec![
                (Table::Request, rows.request.finish(candidate, source)?),
                (Table::Mark, rows.mark.finish(candidate, source)?),
                (Table::Measure, rows.measure.finish(candidate, source)?),
                (Table::Series, rows.series.finish(candidate, source)?),
                (Table::Event, rows.event.finish(candidate, source)?),
                (Table::Run, rows.run.finish(candidate, source)?),
                (Table::Aggregate, rows.aggregate.finish(candidate, source)?),
                (Table::Finding, rows.finding.finish(candidate, source)?),
            ],
        })
    }
}
