//! Jaeger's traces in JSON: the answer of its query API, the download of its page, or one bare trace.
//!
//! `{"data":[{"traceID":…,"spans":[…],"processes":{…}}]}`, or the inner object alone. Times are microseconds since the
//! epoch; ids may lack leading zeros; an integer tag may be a string. Two spans may share an id: both are kept.
//! The query service can move times to hide skewed clocks; the warnings in which it says so become findings.

use super::elements;
use super::json::{self, Raw};
use super::load_tool::cut;
use super::otlp::{Attributed, Kind, Plain, Resource, Sink, Span, padded};
use super::{Context, Format, Match, Reader, decimal};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Jaeger's steps.
const MICROSECOND: i64 = 1_000;

/// Longest warning kept, in characters.
const WARNING_CHARS: usize = 160;

/// Jaeger JSON.
pub struct Jaeger;

impl Format for Jaeger {
    fn id(&self) -> &'static str {
        "jaeger"
    }

    fn title(&self) -> &'static str {
        "Jaeger traces (JSON)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "queue", "prefill"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let object = matches!(head.first_byte(), Some(b'{' | b'['));
        let span = ["\"traceID\"", "\"spanID\"", "\"operationName\""].iter().all(|key| head.contains(key));
        Match::when(object && span, "traceID, spanID, operationName")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let cx = cx.clone();
        Reader::Document(Box::new(move |bytes, rows| read(&cx, bytes, rows)))
    }
}

/// Walks a document: traces in `data` of an answer or in an array, or one trace.
struct Walk<'s, 'a, 'r>(&'s mut Sink<'a, 'r>);

impl<'de> DeserializeSeed<'de> for Walk<'_, 'de, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, 'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a trace or an array of them")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut traces: A) -> Result<(), A::Error> {
        while traces.next_element_seed(Walk(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut spans, mut processes) = (None, BTreeMap::new());
        while let Some(key) = map.next_key::<Cow<str>>()? {
            match key.as_ref() {
                "data" => map.next_value_seed(Walk(&mut *self.0))?,
                // The spans stand before the processes they name: they wait.
                "spans" => spans = map.next_value::<Option<&RawValue>>()?,
                "processes" => processes = map.next_value::<Option<_>>()?.unwrap_or_default(),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let Some(spans) = spans else { return Ok(()) };
        let each = elements::each(spans, |one: &RawValue| match json::record::<Record>(one.get()) {
            Ok(record) => span(&record, &processes, self.0),
            Err((code, detail)) => self.0.refuse(code, &detail),
        });
        each.map_err(A::Error::custom)
    }
}

/// The processes of a trace by the ids that its spans name them with.
type Processes<'a> = BTreeMap<Cow<'a, str>, Process<'a>>;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Process<'a> {
    #[serde(borrow)]
    service_name: json::Text<'a>,
    #[serde(borrow)]
    tags: Option<Vec<Tag<'a>>>,
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow, default)]
    key: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Raw<'a>,
}

impl<'a> Tag<'a> {
    /// The value whatever its type, without quotes and escapes.
    fn plain(&self) -> Plain<'a> {
        let text = self.value.text().unwrap_or_default();
        let string = self.value.0.and_then(|raw| serde_json::from_str(raw.get()).ok());
        Plain(if text.contains('\\') { string.map_or(text.into(), Cow::Owned) } else { text.into() })
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Record<'a> {
    #[serde(borrow, rename = "traceID")]
    trace_id: Raw<'a>,
    #[serde(borrow, rename = "spanID")]
    span_id: Raw<'a>,
    #[serde(borrow, rename = "parentSpanID")]
    parent_span_id: Raw<'a>,
    #[serde(borrow)]
    operation_name: json::Text<'a>,
    #[serde(borrow)]
    references: Option<Vec<Reference<'a>>>,
    #[serde(borrow)]
    start_time: Raw<'a>,
    #[serde(borrow)]
    duration: Raw<'a>,
    #[serde(borrow)]
    tags: Option<Vec<Tag<'a>>>,
    #[serde(borrow, rename = "processID")]
    process_id: json::Text<'a>,
    #[serde(borrow)]
    process: Option<Process<'a>>,
    #[serde(borrow)]
    warnings: Option<Vec<Cow<'a, str>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Reference<'a> {
    #[serde(borrow)]
    ref_type: json::Text<'a>,
    #[serde(borrow, rename = "traceID")]
    trace_id: Raw<'a>,
    #[serde(borrow, rename = "spanID")]
    span_id: Raw<'a>,
}

fn read(cx: &Context, bytes: &[u8], rows: &mut Rows) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return rows.refuse(Code::TextInvalid, Place::FILE, "not UTF-8");
    };
    let mut sink = Sink::new(cx, 1, rows).in_steps_of(MICROSECOND).of_document();
    let mut text = serde_json::Deserializer::from_str(text);
    loop {
        if let Err(error) = Walk(&mut sink).deserialize(&mut text) {
            let (code, detail) = json::complaint(&error);
            sink.refuse(if error.is_eof() { Code::Truncated } else { code }, &detail);
            break;
        }
        if text.end().is_ok() {
            break;
        }
    }
    sink.end();
}

fn span<'a>(record: &Record<'a>, processes: &Processes<'a>, sink: &mut Sink<'a, '_>) {
    let named = json::word(&record.process_id).and_then(|id| processes.get(id));
    let mut resource = Resource::default();
    if let Some(process) = record.process.as_ref().or(named) {
        if let Some(name) = json::word(&process.service_name) {
            resource.attribute("service.name", &Plain(name.to_owned().into()));
        }
        for tag in process.tags.iter().flatten() {
            resource.attribute(&tag.key, &tag.plain());
        }
    }
    sink.resource(resource);
    let mut span = Span { start_ns: record.start_time.ns(decimal::US), ..Span::default() };
    let mut scope = None;
    for tag in record.tags.iter().flatten() {
        let value = tag.plain();
        match (tag.key.as_ref(), value.0.as_ref()) {
            ("span.kind", "server") => span.kind = Kind::Server,
            ("span.kind", "client") => span.kind = Kind::Client,
            ("error", "true") | ("otel.status_code", "ERROR") => span.failed = true,
            ("otel.scope.name" | "otel.library.name", _) => scope = Some(value.0),
            (key, _) => span.attributes.attribute(key, &value),
        }
    }
    sink.scope(scope);
    if record.start_time.text().is_some() && span.start_ns.is_none() {
        span.attributes.unread("startTime");
    }
    let duration = record.duration.ns(decimal::US);
    if record.duration.text().is_some() && duration.is_none() {
        span.attributes.unread("duration");
    }
    // A negative duration comes out as an end before the start, which is reported.
    span.end_ns = span.start_ns.zip(duration).and_then(|(start, duration)| start.checked_add(duration));
    span.trace_id = record.trace_id.text().and_then(|id| padded(id, 32));
    span.id = record.span_id.text().and_then(|id| padded(id, 16));
    let parent = record.references.iter().flatten().find(|reference| {
        json::word(&reference.ref_type) == Some("CHILD_OF")
            && reference.trace_id.text().and_then(|id| padded(id, 32)) == span.trace_id
    });
    let parent = parent.map_or(record.parent_span_id, |reference| reference.span_id);
    span.parent_id = parent.text().and_then(|id| padded(id, 16));
    span.name = json::word(&record.operation_name).map(|name| name.to_owned().into());
    for warning in
        record.warnings.iter().flatten().filter(|text| text.contains("skew") || text.contains("adjust"))
    {
        sink.finding(Code::ClockSkew, &format!("Jaeger says: {}", cut(warning, WARNING_CHARS)));
    }
    sink.span(span);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const API: &str = include_str!("../../samples/jaeger/api.json");

    fn bare(spans: &str) -> String {
        let processes = r#"{"p1":{"serviceName":"front","tags":[{"key":"hostname","type":"string","value":"a"}]},
            "p2":{"serviceName":"engine","tags":[{"key":"ip","type":"string","value":"10.0.0.2"}]}}"#;
        format!(r#"{{"traceID":"1f","spans":[{spans}],"processes":{processes}}}"#)
    }

    const CALLER: &str = r#"{"traceID":"1f","spanID":"a","operationName":"POST","startTime":1000,"duration":100,
        "tags":[{"key":"span.kind","value":"client"}],"processID":"p1"}"#;
    const CALLED: &str = r#"{"traceID":"1f","spanID":"b","operationName":"serve","startTime":900,"duration":"90",
        "references":[{"refType":"CHILD_OF","traceID":"1f","spanID":"a"}],"processID":"p2",
        "tags":[{"key":"span.kind","value":"server"},{"key":"http.status_code","type":"int64","value":"429"}]}"#;

    #[test]
    fn microseconds_short_ids_and_integers_in_strings() {
        let read = read(&Jaeger, &bare(CALLED));
        assert_eq!(
            read.rows(Table::Request, &["trace_id", "span_id", "parent_span_id", "status", "outcome"]),
            ["0000000000000000000000000000001f|000000000000000b|000000000000000a|429|rejected"]
        );
        assert_eq!(
            read.rows(Table::Mark, &["name", "t_ns", "clock", "resolution_ns"]),
            ["start|900000|epoch:span:engine@10.0.0.2|1000", "end|990000|epoch:span:engine@10.0.0.2|1000"]
        );
        assert_eq!(read.rows(Table::Measure, &["duration_ns", "unit"]), ["90000|us"]);
    }

    #[test]
    fn a_span_before_its_caller_tells_of_two_clocks() {
        let read = read(&Jaeger, &bare(&format!("{CALLER},{CALLED}")));
        assert_eq!(
            read.findings(),
            [
                "1 clock-skew a span of engine@10.0.0.2 starts 100000 ns before the span of front@a that calls it: \
              the clock of engine@10.0.0.2 is behind by 100000 to 110000 ns; times kept as written"
            ]
        );
    }

    #[test]
    fn what_the_query_service_did_to_the_times_is_said() {
        let moved = CALLER.replacen('{', r#"{"warnings":["clock skew adjustment of 65ms applied"],"#, 1);
        assert_eq!(
            read(&Jaeger, &bare(&moved)).findings(),
            ["1 clock-skew Jaeger says: clock skew adjustment of 65ms applied"]
        );
    }

    #[test]
    fn an_engine_in_an_api_answer_is_a_request_with_its_durations() {
        let read = read(&Jaeger, API);
        assert_eq!((read.counts(), read.findings().len()), ((4, 0), 0));
        assert_eq!(
            read.rows(Table::Request, &["trace_id", "response_id", "input_tokens", "instance"])[0],
            "60f1766bf51ca7cdf358d20ed77fd5d6|chatcmpl-s0a-web-0000|49|60c4513a-d955-4358-b1a3-24c556fd447b"
        );
        // The span is in microseconds, its attributes keep their digits.
        assert_eq!(read.rows(Table::Mark, &["name", "t_ns"])[0], "start|1796073818682594000");
        assert_eq!(read.rows(Table::Measure, &["definition", "duration_ns"])[0], "vllm.ttft|86841822");
    }

    #[test]
    fn a_bad_span_is_refused_alone_and_times_that_cannot_be_are_left_out() {
        let negative = CALLER.replace("\"duration\":100", "\"duration\":-5");
        let text = bare(&format!("7,{{\"spanID\":\"0\"}},{negative}"));
        let read = read(&Jaeger, &text);
        assert_eq!(read.counts(), (1, 2));
        assert_eq!(read.findings()[2], "1 value-impossible end 995000 < start 1000000; end left out");
    }

    #[test]
    fn answers_bare_traces_and_lists_are_recognised_and_a_cut_answer_keeps_its_whole_traces() {
        let one = bare(CALLER);
        assert!(recognises(&Jaeger, API) && recognises(&Jaeger, &one));
        for text in ["", "{}", r#"{"data":[]}"#, include_str!("../../samples/zipkin/spans.json")] {
            assert!(!recognises(&Jaeger, text), "{text}");
        }
        assert_eq!(read(&Jaeger, &format!("[{one},{one}]")).counts(), (2, 0));
        let cut = read(&Jaeger, &format!(r#"{{"data":[{one},{{"traceID""#));
        assert_eq!(cut.counts(), (1, 1));
        assert!(cut.findings()[0].starts_with("1 truncated"));
    }
}
