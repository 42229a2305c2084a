//! OTLP trace spans, from either encoding, to rows: what `otlp_json` and `otlp_proto` share.
//!
//! - A span with `gen_ai.latency.*` is one request of an engine. First token = span start + time to first token.
//! - Any other SERVER span is one request at a gateway; one process may write several for one request.
//! - Every other span is an event `span`, by service and span name.
//!
//! Only the attributes named here are read: the others hold prompts, answers and keys.

pub mod json;

use super::Context;
use crate::finding::{Code, Place};
use crate::row::{Event, Hop, Outcome, Request, RequestKey, Rows};
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
            "host.name" => self.host = value.text(),
            _ => {}
        }
    }
}

impl Resource<'_> {
    /// The most telling name of the instance: its pod, its id, its host.
    fn instance(&self) -> Option<&str> {
        self.pod.as_deref().or(self.instance.as_deref()).or(self.host.as_deref())
    }

    /// The clock of its times: one process has one clock, however many files its spans were exported to.
    fn clock(&self, cx: &Context) -> String {
        if cx.clock.is_some() {
            return cx.epoch();
        }
        let process = self.instance.as_deref().or(self.service.as_deref()).unwrap_or(&cx.source);
        format!("epoch:otlp:{process}")
    }
}

/// The attributes of a span that are used.
#[derive(Debug, Default)]
pub struct Attributes<'a> {
    ttft: Option<i64>,
    queue: Option<i64>,
    prefill: Option<i64>,
    decode: Option<i64>,
    inference: Option<i64>,
    e2e: Option<i64>,
    id: Option<Cow<'a, str>>,
    model: Option<Cow<'a, str>>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    status: Option<i64>,
    engine: bool,
    /// The first field whose value is not what it should be.
    unread: Option<String>,
}

impl<'v: 'a, 'a> Attributed<'v> for Attributes<'a> {
    fn attribute(&mut self, key: &str, value: &impl Value<'v>) {
        let (field, number) = if let Some(latency) = key.strip_prefix("gen_ai.latency.") {
            self.engine = true;
            let field = match latency {
                "time_to_first_token" => &mut self.ttft,
                "time_in_queue" => &mut self.queue,
                "time_in_model_prefill" => &mut self.prefill,
                "time_in_model_decode" => &mut self.decode,
                "time_in_model_inference" => &mut self.inference,
                "e2e" => &mut self.e2e,
                _ => return,
            };
            (field, value.seconds())
        } else {
            let field = match key {
                "gen_ai.usage.prompt_tokens" | "gen_ai.usage.input_tokens" => &mut self.input_tokens,
                "gen_ai.usage.completion_tokens" | "gen_ai.usage.output_tokens" => &mut self.output_tokens,
                "http.response.status_code" => &mut self.status,
                "gen_ai.request.id" => return self.id = value.text(),
                "gen_ai.request.model" => return self.model = value.text(),
                "gen_ai.response.model" if self.model.is_none() => return self.model = value.text(),
                _ => return,
            };
            (field, value.int())
        };
        *field = number.filter(|n| *n >= 0);
        if field.is_none() {
            self.unread(key);
        }
    }
}

impl Attributes<'_> {
    /// Remembers that a field does not hold what it should, for a finding.
    pub fn unread(&mut self, field: &str) {
        self.unread.get_or_insert_with(|| field.to_owned());
    }

    /// What it states as durations, each under the definition of vLLM's span.
    fn measures(&self) -> [(&'static str, Option<i64>); 6] {
        [
            ("vllm.ttft", self.ttft),
            ("vllm.queue", self.queue),
            ("vllm.prefill", self.prefill),
            ("vllm.decode", self.decode),
            ("vllm.inference", self.inference),
            ("vllm.e2e", self.e2e),
        ]
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
    /// Whether its kind is SERVER.
    pub server: bool,
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
}

impl<'a, 'r> Sink<'a, 'r> {
    /// A sink for the spans of the line or document at `line`.
    pub fn new(cx: &'r Context, line: i64, rows: &'r mut Rows) -> Self {
        let place = Place::item(line, 0);
        let (resource, clock) = (Resource::default(), String::new());
        Sink { cx, rows, place, resource, clock, scope: Cow::Borrowed(""), undefined: false }
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
        if span.attributes.engine {
            self.engine(&span);
        } else if span.server {
            self.gateway(&span);
        } else {
            self.event(&span);
        }
        if let Some(field) = &span.attributes.unread {
            let detail = format!("{field} does not hold what it should; left out");
            self.rows.finding(Code::RecordShape, self.place, &detail);
        }
        self.place.item += 1;
    }

    fn engine(&mut self, span: &Span) {
        let a = &span.attributes;
        let id = a.id.as_deref();
        let request = Request {
            request_id: id
                .map(|id| id.strip_prefix("chatcmpl-").or_else(|| id.strip_prefix("cmpl-")).unwrap_or(id)),
            response_id: id,
            model: a.model.as_deref(),
            instance: self.resource.instance(),
            input_tokens: a.input_tokens,
            output_tokens: a.output_tokens,
            outcome: if span.failed { Outcome::Error } else { Outcome::Ok },
            ..ids(span)
        };
        let key = self.rows.request(self.cx.hop, self.place, &request);
        self.instants(key, span);
        if !(self.scope.starts_with("vllm") || span.name.as_deref() == Some("llm_request")) {
            if !std::mem::replace(&mut self.undefined, true) {
                let detail = format!("gen_ai.latency.* of scope `{}`; left out", cut(&self.scope));
                self.rows.finding(Code::DefinitionUnknown, self.place, &detail);
            }
            return;
        }
        for (definition, ns) in a.measures() {
            if let Some(ns) = ns {
                self.rows.measure(key, definition, ns, "s", 1);
            }
        }
        let Some(ttft) = a.ttft else { return };
        if let Some(first_token) = span.start_ns.and_then(|start| start.checked_add(ttft)) {
            match span.end_ns {
                Some(end) if end < first_token => {
                    self.impossible(&format!("start + ttft {first_token} > end {end}; first_token left out"));
                }
                _ => self.rows.mark(key, "first_token", first_token, &self.clock, 1),
            }
        }
        if let (Some(queue), Some(prefill)) = (a.queue, a.prefill)
            && queue.saturating_add(prefill) > ttft.saturating_add(SLACK_NS)
        {
            self.impossible(&format!("queue {queue} + prefill {prefill} > ttft {ttft} ns; all kept"));
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
        self.instants(key, span);
        if let Some(duration) = duration(span) {
            self.rows.measure(key, "span.server", duration, "ns", 1);
        }
    }

    fn event(&mut self, span: &Span) {
        let service = self.resource.service.as_deref().unwrap_or_default();
        let name = cut(span.name.as_deref().unwrap_or_default());
        let detail = format!("{service} {name}");
        let proxy = service.starts_with("litellm") || self.scope == "litellm";
        let event = Event {
            kind: "span",
            t_ns: span.start_ns,
            clock: &self.clock,
            resolution_ns: 1,
            duration_ns: duration(span),
            instance: self.resource.instance(),
            trace_id: span.trace_id.as_deref(),
            detail: detail.trim(),
        };
        self.rows.event(if proxy { self.beside() } else { self.cx.hop }, self.place, &event);
    }

    fn instants(&mut self, key: RequestKey, span: &Span) {
        for (name, t_ns) in [("start", span.start_ns), ("end", span.end_ns)] {
            if let Some(t_ns) = t_ns {
                self.rows.mark(key, name, t_ns, &self.clock, 1);
            }
        }
    }

    /// The hop of a proxy whose spans stand among an engine's.
    fn beside(&self) -> Hop {
        if self.cx.hop == Hop::Engine { Hop::Gateway } else { self.cx.hop }
    }

    fn impossible(&mut self, detail: &str) {
        self.rows.finding(Code::ValueImpossible, self.place, detail);
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
            let attributes = Attributes { status, ..Attributes::default() };
            let (trace_id, id) = (id("5b8efff798038103d269b633813fc60c", 32), id("eee19b7ec3c1b174", 16));
            let span = Span { trace_id, id, server: true, failed, attributes, ..Span::default() };
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
