//! What Envoy's access logs share, whatever their layout: response flags, durations, and what they make of a request.

use super::decimal::{MS, NS, US, step_ns, to_ns};
use super::load_tool::{cut, duration};
use super::stamp::Stamps;
use super::{Context, Line};
use crate::finding::Code;
use crate::row::{Event, Hop, Outcome, Request, Rows};

/// What a response flag makes of the outcome that the status states.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spoils {
    /// Nothing.
    No,
    /// The request failed, also after a status of 200 was sent.
    Failed,
    /// Turned away by the proxy before it reached an engine.
    Rejected,
    /// Nothing at the upstream took the request.
    Unreachable,
    /// The caller left.
    Cancelled,
}
use Spoils::{Cancelled, Failed, No, Rejected, Unreachable};

/// `%RESPONSE_FLAGS%`, `%RESPONSE_FLAGS_LONG%`, what it means, and what it makes of the outcome.
const FLAGS: &[(&str, &str, &str, Spoils)] = &[
    ("DC", "DownstreamConnectionTermination", "the caller closed the connection", Cancelled),
    ("DF", "DnsResolutionFailed", "name of the upstream not resolved", Failed),
    ("DI", "DelayInjected", "delay injected by a fault filter", No),
    ("DO", "DropOverload", "dropped: overload reported by the control plane", Rejected),
    ("DPE", "DownstreamProtocolError", "protocol error of the caller", Failed),
    ("DR", "DownstreamRemoteReset", "the caller reset the stream", Cancelled),
    ("DT", "DurationTimeout", "longest duration of the request or connection exceeded", Failed),
    ("FI", "FaultInjected", "abort injected by a fault filter", Failed),
    ("IH", "InvalidEnvoyRequestHeaders", "a strictly checked header is invalid", Failed),
    ("LH", "FailedLocalHealthCheck", "local health check failed", Unreachable),
    ("LR", "LocalReset", "reset by the proxy", Failed),
    ("NC", "NoClusterFound", "no such upstream cluster", Failed),
    ("NFCF", "NoFilterConfigFound", "filter configuration did not arrive in time", Failed),
    ("NR", "NoRouteFound", "no route", Failed),
    ("OM", "OverloadManagerTerminated", "ended by the overload manager", Rejected),
    ("RFCF", "ResponseFromCacheFilter", "answered from the proxy's cache", No),
    ("RL", "RateLimited", "rate limit of the proxy", Rejected),
    ("RLSE", "RateLimitServiceError", "rate limit service failed", Rejected),
    ("SI", "StreamIdleTimeout", "stream idle too long", Failed),
    ("UAEX", "UnauthorizedExternalService", "denied by external authorization", Rejected),
    ("UC", "UpstreamConnectionTermination", "upstream closed the connection", Failed),
    ("UF", "UpstreamConnectionFailure", "no connection to the upstream", Unreachable),
    ("UH", "NoHealthyUpstream", "no healthy upstream host", Unreachable),
    ("UMSDR", "UpstreamMaxStreamDurationReached", "longest duration of an upstream stream reached", Failed),
    ("UO", "UpstreamOverflow", "circuit breaker open: too many requests", Rejected),
    ("UPE", "UpstreamProtocolError", "protocol error of the upstream", Failed),
    ("UR", "UpstreamRemoteReset", "upstream reset the stream", Failed),
    ("URX", "UpstreamRetryLimitExceeded", "retries used up", Failed),
    ("UT", "UpstreamRequestTimeout", "upstream took longer than the timeout", Failed),
];

/// One record of a log, as written: "-" and absent are `None`.
#[derive(Default)]
pub struct Access<'a> {
    pub start: Option<&'a str>,
    pub status: Option<&'a str>,
    pub flags: Option<&'a str>,
    pub request_id: Option<&'a str>,
    pub trace: Option<(&'a str, Option<&'a str>)>,
    pub caller: Option<&'a str>,
    pub host: Option<&'a str>,
    pub model: Option<&'a str>,
    pub input_tokens: Option<&'a str>,
    pub output_tokens: Option<&'a str>,
    pub cached_tokens: Option<&'a str>,
    pub streamed: Option<bool>,
    /// Definition, name in the log, value, and scale of its unit.
    pub durations: Vec<(&'static str, &'a str, &'a str, u32)>,
}

/// Reads records of one source.
pub struct Reading {
    hop: Hop,
    stamps: Stamps,
}

impl Reading {
    /// For a source.
    pub fn new(cx: &Context) -> Reading {
        Reading { hop: cx.hop, stamps: Stamps::new(cx) }
    }

    /// A request, its start and end, and its durations.
    pub fn request(&self, a: &Access, line: &Line, rows: &mut Rows) {
        let int = |text: Option<&str>| text.and_then(|text| text.parse().ok()).filter(|n| *n >= 0_i64);
        let status = int(a.status).filter(|status| *status > 0);
        let (outcome, error) = ending(status, a.flags);
        let key = rows.request(
            self.hop,
            line.place,
            &Request {
                request_id: a.request_id,
                trace_id: a.trace.map(|(trace, _)| trace),
                parent_span_id: a.trace.and_then(|(_, span)| span),
                caller: a.caller,
                model: a.model,
                instance: a.host.map(|host| host.strip_prefix("tcp://").unwrap_or(host)),
                input_tokens: int(a.input_tokens),
                output_tokens: int(a.output_tokens),
                cached_tokens: int(a.cached_tokens),
                status,
                outcome,
                error: error.as_deref(),
                streamed: a.streamed,
                ..Request::default()
            },
        );
        let mut durations = Vec::new();
        for &(definition, name, text, scale) in &a.durations {
            if let Some(ns) = duration(rows, line.place, name, to_ns(text, scale)) {
                durations.push((definition, name, ns, (unit(scale), step_ns(text, scale))));
            }
        }
        let whole = durations.iter().find(|d| d.0 == "envoy.duration").copied();
        match a.start.and_then(|start| self.stamps.read(start)) {
            None => rows.finding(Code::TimeUnplaced, line.place, "the start is not a time"),
            Some(start) => {
                rows.mark(key, "start", start.ns, start.clock, start.step_ns);
                if let Some(end) = whole.and_then(|(_, _, ns, _)| start.ns.checked_add(ns)) {
                    rows.mark(key, "end", end, start.clock, start.step_ns);
                }
                if !start.placed {
                    rows.finding(Code::TimeUnplaced, line.place, "the start has no zone");
                }
            }
        }
        for (definition, name, ns, (unit, step)) in durations {
            // Each figure is cut to its step by itself, so an inner one can come out a step longer.
            match whole.filter(|(_, _, whole, (_, coarse))| ns - whole > (*coarse).max(step)) {
                Some((_, outer, whole, _)) => {
                    let detail = format!("{name} {ns} ns > {outer} {whole} ns: {name} left out");
                    rows.finding(Code::ValueImpossible, line.place, &detail);
                }
                None => rows.measure(key, definition, ns, unit, step),
            }
        }
    }

    /// A TCP connection, which is no request: an event with its duration.
    pub fn connection(&self, a: &Access, line: &Line, rows: &mut Rows) {
        let start = a.start.and_then(|start| self.stamps.read(start));
        let whole = a.durations.iter().find(|d| d.0 == "envoy.duration").and_then(|d| to_ns(d.2, MS));
        let whole = duration(rows, line.place, "DURATION", whole);
        rows.event(
            self.hop,
            line.place,
            &Event {
                kind: "connection",
                t_ns: start.map(|start| start.ns),
                clock: start.map_or("", |start| start.clock),
                resolution_ns: start.map_or(0, |start| start.step_ns),
                duration_ns: whole,
                instance: a.host,
                detail: &ending(None, a.flags).1.unwrap_or_default(),
                ..Event::default()
            },
        );
    }
}

/// The word for a scale.
fn unit(scale: u32) -> &'static str {
    match scale {
        US => "us",
        NS => "ns",
        _ => "ms",
    }
}

/// How a request ended by its status and response flags, and the flags in words.
///
/// `upstream-unreachable` is the word by which a service that is not up yet is told from one that failed.
fn ending(status: Option<i64>, flags: Option<&str>) -> (Outcome, Option<String>) {
    let mut outcome = status.map_or(Outcome::Unknown, Outcome::from_http);
    let Some(flags) = flags else { return (outcome, None) };
    let mut words = Vec::new();
    let mut seen = Vec::new();
    for flag in flags.split(',').map(str::trim).filter(|flag| !flag.is_empty()).take(8) {
        match FLAGS.iter().find(|(short, long, ..)| [*short, *long].contains(&flag)) {
            Some((short, _, meaning, spoils)) => {
                words.push(format!("{short}: {meaning}"));
                seen.push(*spoils);
            }
            None => words.push(cut(flag, 40).to_owned()),
        }
    }
    if seen.contains(&Unreachable) && !matches!(outcome, Outcome::Ok) {
        return (Outcome::Error, Some("upstream-unreachable".to_owned()));
    }
    for (spoils, means) in
        [(Failed, Outcome::Error), (Rejected, Outcome::Rejected), (Cancelled, Outcome::Cancelled)]
    {
        if seen.contains(&spoils) {
            outcome = means;
        }
    }
    (outcome, (!words.is_empty()).then(|| words.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_words_and_tell_who_ended_a_request() {
        let said = |status, flags| {
            let (outcome, words) = ending(Some(status).filter(|s| *s > 0), Some(flags));
            format!("{} {}", outcome.as_str(), words.unwrap_or_default())
        };
        assert_eq!(said(429, "RL"), "rejected RL: rate limit of the proxy");
        assert_eq!(said(503, "UO"), "rejected UO: circuit breaker open: too many requests");
        assert_eq!(said(503, "UF,URX"), "error upstream-unreachable");
        assert_eq!(said(200, "UC"), "error UC: upstream closed the connection");
        assert_eq!(
            said(0, "DownstreamConnectionTermination"),
            "cancelled DC: the caller closed the connection"
        );
        assert_eq!(said(200, "DI"), "ok DI: delay injected by a fault filter");
        assert_eq!(said(200, "XYZ"), "ok XYZ");
    }

    #[test]
    fn every_flag_stands_once() {
        let mut names: Vec<_> = FLAGS.iter().flat_map(|(short, long, ..)| [*short, *long]).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * FLAGS.len());
    }
}
