//! Trace spans, from any encoding, to rows: what the readers of OTLP, Tempo, Jaeger and Zipkin share.
//!
//! - A span with `gen_ai.latency.*` is one request of an engine. First token = span start + time to first token.
//! - Any other SERVER span is one request at a gateway; one process may write several for one request.
//! - A CLIENT span of a `gen_ai.operation.name` that generates is one request as its caller saw it.
//! - Every other span is an event `span`, by service and span name.
//!
//! Spans of different processes do not share a clock, not even in one file.
//!
//! Only the attributes named here are read: the others hold prompts, answers and keys.

mod dialect;
pub mod json;
mod nesting;

use super::{Context, decimal};
use crate::finding::{Code, Place};
use crate::row::{Event, Hop, Outcome, Request, RequestKey, Rows};
use dialect::{Attributes, Dialect};
pub use nesting::Kind;
use nesting::{Nesting, Node};
use std::borrow::Cow;

/// Queue and prefill may exceed the time to first token by this much, for the engine takes them on another clock.
const SLACK_NS: i64 = 1_000_000;

/// Longest span name kept, in bytes.
const NAME_BYTES: usize = 160;

/// The value of an attribute, in either encoding; looked into only when its key is one that is used.
pub trait Value<'a> {
    /// The string.
    fn text(&self) -> Option<Cow<'a, str>>;
    /// The integer.
    fn int(&self) -> Option<i64>;
    /// A number of seconds, as nanoseconds.
    fn seconds(&self) -> Option<i64>;
}

/// A value written as plain text, without a type.
pub struct Plain<'a>(pub Cow<'a, str>);

impl<'a> Value<'a> for Plain<'a> {
    fn text(&self) -> Option<Cow<'a, str>> {
        Some(self.0.clone()).filter(|text| !text.is_empty())
    }

    fn int(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    fn seconds(&self) -> Option<i64> {
        decimal::to_ns(&self.0, decimal::S)
    }
}

/// What has attributes.
pub trait Attributed<'a>: Default {
    /// Takes one attribute; passes over those that are not used.
    fn attribute(&mut self, key: &str, value: &impl Value<'a>);
}

/// Who wrote spans.
#[derive(Debug, Default)]
pub struct Resource<'a> {
    service: Option<Cow<'a, str>>,
    instance: Option<Cow<'a, str>>,
    pod: Option<Cow<'a, str>>,
    host: Option<Cow<'a, str>>,
}

impl<'v: 'a, 'a> Attributed<'v> for Resource<'a> {
    fn attribute(&mut self, key: &str, value: &impl Value<'v>) {
        match key {
            "service.name" => self.service = value.text(),
            "service.instance.id" => self.instance = value.text(),
            "k8s.pod.name" => self.pod = value.text(),
            "host.name" | "hostname" | "ip" if self.host.is_none() => self.host = value.text(),
            _ => {}
        }
    }
}

impl Resource<'_> {
    /// The name of the service.
    pub fn service(&self) -> Option<&str> {
        self.service.as_deref()
    }

    /// The most telling name of the instance: its pod, its id, its host.
    pub fn instance(&self) -> Option<&str> {
        self.pod.as_deref().or(self.instance.as_deref()).or(self.host.as_deref())
    }

    /// The clock of its times: one process has one clock, however many files its spans were exported to. A service
    /// of several instances is told apart by instance, pod or host where they are named.
    pub fn clock(&self, cx: &Context) -> String {
        if cx.clock.is_some() {
            return cx.epoch();
        }
        // What SDKs call a service that was given no name, with or without the program's.
        let service = self.service.as_deref().filter(|name| !name.starts_with("unknown_service"));
        match (self.instance.as_deref().or(self.pod.as_deref()), service, self.host.as_deref()) {
            (Some(instance), ..) => format!("epoch:span:{instance}"),
            (None, Some(service), Some(host)) => format!("epoch:span:{service}@{host}"),
            (None, Some(service), None) => format!("epoch:span:{service}"),
            (None, None, host) => format!("epoch:span:{}@{}", cx.source, host.unwrap_or_default()),
        }
    }
}

/// One span. Ids are lower-case hex, checked by [`id`].
#[derive(Debug, Default)]
pub struct Span<'a> {
    /// The trace it belongs to.
    pub trace_id: Option<Cow<'a, str>>,
    /// Its own id.
    pub id: Option<Cow<'a, str>>,
    /// The span that called it.
    pub parent_id: Option<Cow<'a, str>>,
    /// What was done.
    pub name: Option<Cow<'a, str>>,
    /// On which side of a call it stands.
    pub kind: Kind,
    /// Whether its status is ERROR.
    pub failed: bool,
    /// When it began, in ns since the epoch.
    pub start_ns: Option<i64>,
    /// When it ended, in ns since the epoch.
    pub end_ns: Option<i64>,
    /// The attributes that are used.
    pub attributes: Attributes<'a>,
}

/// An id of so many hex digits, in lower case; `None` for anything else and for all zeros, which means none.
#[must_use]
pub fn id(text: &str, digits: usize) -> Option<Cow<'_, str>> {
    if text.len() != digits || !text.bytes().all(|b| b.is_ascii_hexdigit()) || text.bytes().all(|b| b == b'0')
    {
        return None;
    }
    let upper = text.bytes().any(|b| b.is_ascii_uppercase());
    Some(if upper { text.to_ascii_lowercase().into() } else { text.into() })
}

/// An id of fewer digits, with its leading zeros.
#[must_use]
pub fn padded(text: &str, digits: usize) -> Option<Cow<'_, str>> {
    if text.is_empty() || text.len() >= digits {
        return id(text, digits);
    }
    id(&format!("{text:0>digits$}"), digits).map(|id| Cow::Owned(id.into_owned()))
}

/// Turns spans into rows, in the order of one line or document.
pub struct Sink<'a, 'r> {
    cx: &'r Context,
    rows: &'r mut Rows,
    /// The place of the next span.
    place: Place,
    resource: Resource<'a>,
    clock: String,
    scope: Cow<'a, str>,
    undefined: bool,
    /// The step of its times.
    step_ns: i64,
    /// The spans seen, where their clocks are to be compared, and the number of the clock.
    nesting: Option<(Nesting, usize)>,
}

impl<'a, 'r> Sink<'a, 'r> {
    /// A sink for the spans of the line or document at `line`.
    pub fn new(cx: &'r Context, line: i64, rows: &'r mut Rows) -> Self {
        let place = Place::item(line, 0);
        let resource = Resource::default();
        let (clock, scope) = (resource.clock(cx), Cow::Borrowed(""));
        Sink { cx, rows, place, resource, clock, scope, undefined: false, step_ns: 1, nesting: None }
    }

    /// The same for times written in steps of `step_ns`.
    #[must_use]
    pub fn in_steps_of(self, step_ns: i64) -> Self {
        Sink { step_ns, ..self }
    }

    /// The same for a document that is kept in mind whole: at its end, [`Sink::end`] compares the clocks in it.
    #[must_use]
    pub fn of_document(self) -> Self {
        Sink { nesting: Some((Nesting::default(), 0)), ..self }
    }

    /// The end of the document.
    pub fn end(self) {
        if let Some((nesting, _)) = self.nesting {
            nesting.report(self.rows);
        }
    }

    /// The place of the span that comes next.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// Whose spans come next.
    pub fn resource(&mut self, resource: Resource<'a>) {
        self.clock = resource.clock(self.cx);
        self.resource = resource;
        if let Some((nesting, clock)) = &mut self.nesting {
            *clock = nesting.clock(&self.clock);
        }
    }

    /// The instrumentation that wrote the spans that come next.
    pub fn scope(&mut self, name: Option<Cow<'a, str>>) {
        self.scope = name.unwrap_or_default();
    }

    /// Refuses the span, or the stretch of spans, that comes next.
    pub fn refuse(&mut self, code: Code, detail: &str) {
        self.rows.refuse(code, self.place, detail);
        self.place.item += 1;
    }

    /// Reports something about the span that comes next.
    pub fn finding(&mut self, code: Code, detail: &str) {
        self.rows.finding(code, self.place, detail);
    }

    /// Adds one span.
    pub fn span(&mut self, mut span: Span) {
        if span.trace_id.is_none() || span.id.is_none() {
            return self.refuse(Code::RecordShape, "no traceId of 32 hex digits, or no spanId of 16");
        }
        if let (Some(start), Some(end)) = (span.start_ns, span.end_ns)
            && end < start
        {
            self.impossible(&format!("end {end} < start {start}; end left out"));
            span.end_ns = None;
        }
        self.nest(&span);
        if span.attributes.of_engine() {
            self.engine(&span);
        } else if span.kind == Kind::Server {
            self.gateway(&span);
        } else if span.kind == Kind::Client && span.attributes.of_call() && !self.is_proxy() {
            self.caller(&span);
        } else {
            self.event(&span);
        }
        if let Some(field) = &span.attributes.unread {
            let detail = format!("{field} does not hold what it should; left out");
            self.rows.finding(Code::RecordShape, self.place, &detail);
        }
        self.place.item += 1;
    }

    /// Keeps what [`Sink::end`] needs of a span.
    fn nest(&mut self, span: &Span) {
        let Some((nesting, clock)) = &mut self.nesting else { return };
        let number = |id: &Option<Cow<str>>| u64::from_str_radix(id.as_deref()?, 16).ok();
        let trace = span.trace_id.as_deref().and_then(|id| u128::from_str_radix(id, 16).ok());
        if let (Some(trace), Some(id), Some(start_ns)) = (trace, number(&span.id), span.start_ns) {
            nesting.add(Node {
                id: (trace, id),
                parent: number(&span.parent_id),
                kind: span.kind,
                clock: *clock,
                start_ns,
                end_ns: span.end_ns,
                place: self.place,
            });
        }
    }

    fn engine(&mut self, span: &Span) {
        let a = &span.attributes;
        let id = a.id.as_deref();
        let request = Request {
            request_id: id
                .map(|id| id.strip_prefix("chatcmpl-").or_else(|| id.strip_prefix("cmpl-")).unwrap_or(id)),
            response_id: id.or(a.response_id.as_deref()),
            model: a.model.as_deref(),
            instance: self.resource.instance(),
            input_tokens: a.input_tokens,
            output_tokens: a.output_tokens,
            cached_tokens: a.cached_tokens,
            outcome: if span.failed { Outcome::Error } else { Outcome::Ok },
            ..ids(span)
        };
        let key = self.rows.request(self.cx.hop, self.place, &request);
        self.instants(key, span, "start");
        let service = self.resource.service.as_deref().unwrap_or_default();
        let Some(dialect) = Dialect::of(&self.scope, service, span.name.as_deref().unwrap_or_default())
        else {
            if !std::mem::replace(&mut self.undefined, true) {
                let detail = format!("gen_ai.latency.* of scope `{}`; left out", cut(&self.scope));
                self.rows.finding(Code::DefinitionUnknown, self.place, &detail);
            }
            return;
        };
        let (mut ttft, mut queue, mut prefill) = (None, None, None);
        for (definition, ns, unit) in a.stated(dialect) {
            match definition.split_once('.') {
                Some((_, "ttft")) => ttft = Some(ns),
                Some((_, "queue")) => queue = Some(ns),
                Some((_, "prefill")) => prefill = Some(ns),
                _ => {}
            }
            self.rows.measure(key, definition, ns, unit, 1);
        }
        let Some(ttft) = ttft else { return };
        self.first(key, span, "first_token", "ttft", ttft);
        if let (Some(queue), Some(prefill)) = (queue, prefill)
            && queue.saturating_add(prefill) > ttft.saturating_add(SLACK_NS)
        {
            self.impossible(&format!("queue {queue} + prefill {prefill} > ttft {ttft} ns; all kept"));
        }
    }

    /// A call as the one who made it saw it.
    fn caller(&mut self, span: &Span) {
        let a = &span.attributes;
        let request = Request {
            response_id: a.response_id.as_deref(),
            caller: self.resource.service.as_deref(),
            model: a.model.as_deref(),
            input_tokens: a.input_tokens,
            output_tokens: a.output_tokens,
            cached_tokens: a.cached_tokens,
            status: a.status,
            outcome: if span.failed { Outcome::Error } else { Outcome::Ok },
            ..ids(span)
        };
        let hop = if self.cx.hop == Hop::Engine { Hop::Client } else { self.cx.hop };
        let key = self.rows.request(hop, self.place, &request);
        self.instants(key, span, "send");
        for (definition, ns, mark, word) in [
            ("gen-ai.ttfc", a.first_chunk, "first_chunk", "time_to_first_chunk"),
            ("gen-ai.ttft", a.first_token, "first_token", "time_to_first_token"),
        ] {
            // Of a call that failed, no time to a token is known.
            let Some(ns) = ns.filter(|_| !span.failed) else { continue };
            self.rows.measure(key, definition, ns, "s", 1);
            self.first(key, span, mark, word, ns);
        }
    }

    /// The mark of the first token, at a stated duration after the start; `word` is that duration's name.
    fn first(&mut self, key: RequestKey, span: &Span, mark: &'static str, word: &str, after: i64) {
        let Some(t_ns) = span.start_ns.and_then(|start| start.checked_add(after)) else { return };
        match span.end_ns {
            Some(end) if end < t_ns => {
                self.impossible(&format!("start + {word} {t_ns} > end {end}; {mark} left out"));
            }
            _ => self.rows.mark(key, mark, t_ns, &self.clock, self.step_ns),
        }
    }

    fn gateway(&mut self, span: &Span) {
        let status = span.attributes.status;
        // The HTTP status says more than the span's: a request turned away is not a failure of the server.
        let outcome = match status.map(Outcome::from_http) {
            Some(Outcome::Ok) | None if span.failed => Outcome::Error,
            Some(outcome) => outcome,
            None => Outcome::Ok,
        };
        let request = Request { instance: self.resource.service.as_deref(), status, outcome, ..ids(span) };
        let key = self.rows.request(self.beside(), self.place, &request);
        self.instants(key, span, "start");
        if let Some(duration) = duration(span) {
            let unit = if self.step_ns == 1 { "ns" } else { "us" };
            self.rows.measure(key, "span.server", duration, unit, self.step_ns);
        }
    }

    fn event(&mut self, span: &Span) {
        let service = self.resource.service.as_deref().unwrap_or_default();
        let name = cut(span.name.as_deref().unwrap_or_default());
        let detail = format!("{service} {name}");
        let event = Event {
            kind: "span",
            t_ns: span.start_ns,
            clock: &self.clock,
            resolution_ns: self.step_ns,
            duration_ns: duration(span),
            instance: self.resource.instance(),
            trace_id: span.trace_id.as_deref(),
            detail: detail.trim(),
        };
        self.rows.event(if self.is_proxy() { self.beside() } else { self.cx.hop }, self.place, &event);
    }

    fn instants(&mut self, key: RequestKey, span: &Span, start: &'static str) {
        for (name, t_ns) in [(start, span.start_ns), ("end", span.end_ns)] {
            if let Some(t_ns) = t_ns {
                self.rows.mark(key, name, t_ns, &self.clock, self.step_ns);
            }
        }
    }

    /// Whether a proxy wrote the spans that come next.
    fn is_proxy(&self) -> bool {
        self.scope == "litellm" || self.resource.service.as_deref().is_some_and(|s| s.starts_with("litellm"))
    }

    /// The hop of a proxy whose spans stand among an engine's.
    fn beside(&self) -> Hop {
        if self.cx.hop == Hop::Engine { Hop::Gateway } else { self.cx.hop }
    }

    fn impossible(&mut self, detail: &str) {
        self.finding(Code::ValueImpossible, detail);
    }
}

fn ids<'s>(span: &'s Span) -> Request<'s> {
    Request {
        trace_id: span.trace_id.as_deref(),
        span_id: span.id.as_deref(),
        parent_span_id: span.parent_id.as_deref(),
        ..Request::default()
    }
}

fn duration(span: &Span) -> Option<i64> {
    span.end_ns?.checked_sub(span.start_ns?)
}

fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::otlp_json::OtlpJson;
    use crate::format::testing::context;
    use crate::row::Table;

    #[test]
    fn ids_are_lower_case_hex_of_their_length_and_not_all_zero() {
        assert_eq!(id("EEE19b7ec3c1b174", 16).as_deref(), Some("eee19b7ec3c1b174"));
        assert!(matches!(id("eee19b7ec3c1b174", 16), Some(Cow::Borrowed(_))));
        for bad in ["", "eee19b7ec3c1b17", "eee19b7ec3c1b17g", "0000000000000000", "7uGbfsPBsXQ="] {
            assert_eq!(id(bad, 16), None, "{bad}");
        }
    }

    #[test]
    fn a_request_turned_away_at_the_gateway_is_rejected_whatever_the_span_says() {
        let outcome = |status, failed, hop| {
            let (mut rows, cx) = (Rows::default(), Context { hop, ..context(&OtlpJson) });
            let mut attributes = Attributes::default();
            attributes.status = status;
            let (trace_id, id) = (id("5b8efff798038103d269b633813fc60c", 32), id("eee19b7ec3c1b174", 16));
            let span = Span { trace_id, id, kind: Kind::Server, failed, attributes, ..Span::default() };
            Sink::new(&cx, 1, &mut rows).span(span);
            let tables = rows.take("c", "s").unwrap();
            let (_, batch) = tables.parts.into_iter().find(|(table, _)| *table == Table::Request).unwrap();
            let cell = |name| {
                let column = batch.column_by_name(name).unwrap();
                arrow::array::AsArray::as_string::<i32>(column).value(0).to_owned()
            };
            (cell("hop"), cell("outcome"))
        };
        let is = |hop: &str, outcome: &str| (hop.to_owned(), outcome.to_owned());
        assert_eq!(outcome(Some(429), true, Hop::Engine), is("gateway", "rejected"));
        assert_eq!(outcome(Some(200), true, Hop::Engine), is("gateway", "error"));
        assert_eq!(outcome(None, true, Hop::Router), is("router", "error"));
        assert_eq!(outcome(None, false, Hop::Router), is("router", "ok"));
    }
}
