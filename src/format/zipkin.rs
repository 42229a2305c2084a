//! Zipkin v2 spans: an array of them, or an array of traces, as Zipkin's API and reporters write it.
//!
//! Times are microseconds since the epoch. The two sides of a call may share one id (`shared`); either may lack its
//! timestamp or duration. Every value of `tags` is a string. A host's times are on that host's clock.

use super::elements;
use super::json::{self, Raw};
use super::otlp::{Attributed, Kind, Plain, Resource, Sink, Span, padded};
use super::{Context, Format, Match, Reader, decimal};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Zipkin's steps.
const MICROSECOND: i64 = 1_000;

/// Zipkin JSON, version 2.
pub struct Zipkin;

impl Format for Zipkin {
    fn id(&self) -> &'static str {
        "zipkin"
    }

    fn title(&self) -> &'static str {
        "Zipkin spans (JSON v2)"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "queue", "prefill"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let has = |keys: &[&str]| keys.iter().any(|key| head.contains(key));
        let span = head.first_byte() == Some(b'[')
            && has(&["\"traceId\""])
            && has(&["\"id\""])
            && has(&["\"localEndpoint\"", "\"remoteEndpoint\""])
            && !has(&["\"spanId\"", "\"resourceSpans\""]);
        if span {
            Match::Yes { version: "v2".to_owned(), because: "traceId, id, localEndpoint" }
        } else {
            Match::No
        }
    }

    fn reader(&self, cx: &Context) -> Reader {
        let cx = cx.clone();
        Reader::Document(Box::new(move |bytes, rows| read(&cx, bytes, rows)))
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Record<'a> {
    #[serde(borrow)]
    trace_id: Raw<'a>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    parent_id: Raw<'a>,
    #[serde(borrow)]
    kind: Raw<'a>,
    #[serde(borrow)]
    name: json::Text<'a>,
    #[serde(borrow)]
    timestamp: Raw<'a>,
    #[serde(borrow)]
    duration: Raw<'a>,
    #[serde(borrow)]
    local_endpoint: Option<Endpoint<'a>>,
    #[serde(borrow)]
    tags: BTreeMap<Cow<'a, str>, Raw<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Endpoint<'a> {
    #[serde(borrow)]
    service_name: json::Text<'a>,
    #[serde(borrow)]
    ipv4: json::Text<'a>,
    #[serde(borrow)]
    ipv6: json::Text<'a>,
}

fn read(cx: &Context, bytes: &[u8], rows: &mut Rows) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return rows.refuse(Code::TextInvalid, Place::FILE, "not UTF-8");
    };
    let mut sink = Sink::new(cx, 1, rows).in_steps_of(MICROSECOND).of_document();
    let done = elements::objects(text, |one| {
        // An array within is a trace.
        if !one.get().starts_with('[') {
            return span(one, &mut sink);
        }
        if let Err(error) = elements::each(one, |one: &RawValue| span(one, &mut sink)) {
            sink.refuse(json::complaint(&error).0, &error.to_string());
        }
    });
    if let Err(error) = done {
        let (code, detail) = json::complaint(&error);
        sink.refuse(if error.is_eof() { Code::Truncated } else { code }, &detail);
    }
    sink.end();
}

fn span<'a>(one: &'a RawValue, sink: &mut Sink<'a, '_>) {
    let record = match json::record::<Record>(one.get()) {
        Ok(record) => record,
        Err((code, detail)) => return sink.refuse(code, &detail),
    };
    let mut resource = Resource::default();
    if let Some(endpoint) = &record.local_endpoint {
        for (key, text) in
            [("service.name", &endpoint.service_name), ("ip", &endpoint.ipv4), ("ip", &endpoint.ipv6)]
        {
            if let Some(text) = json::word(text) {
                resource.attribute(key, &Plain(text.to_owned().into()));
            }
        }
    }
    let mut span = Span {
        trace_id: record.trace_id.text().and_then(|id| padded(id, 32)),
        id: record.id.text().and_then(|id| padded(id, 16)),
        parent_id: record.parent_id.text().and_then(|id| padded(id, 16)),
        name: json::word(&record.name).map(|name| name.to_owned().into()),
        kind: match record.kind.text() {
            Some("SERVER") => Kind::Server,
            Some("CLIENT") => Kind::Client,
            _ => Kind::Other,
        },
        start_ns: record.timestamp.ns(decimal::US),
        // An error tag fails a span even when it is empty.
        failed: record.tags.contains_key("error"),
        ..Span::default()
    };
    let mut scope = None;
    for (key, value) in &record.tags {
        let value = Plain(value.text().unwrap_or_default().into());
        match key.as_ref() {
            "otel.scope.name" | "otel.library.name" => scope = Some(value.0),
            "service.instance.id" | "k8s.pod.name" => resource.attribute(key, &value),
            key => span.attributes.attribute(key, &value),
        }
    }
    sink.resource(resource);
    sink.scope(scope);
    let duration = record.duration.ns(decimal::US);
    for (raw, value, field) in
        [(record.timestamp, span.start_ns, "timestamp"), (record.duration, duration, "duration")]
    {
        if raw.text().is_some() && value.is_none() {
            span.attributes.unread(field);
        }
    }
    // A negative duration comes out as an end before the start, which is reported.
    span.end_ns = span.start_ns.zip(duration).and_then(|(start, duration)| start.checked_add(duration));
    sink.span(span);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/zipkin/spans.json");

    #[test]
    fn sides_that_share_an_id_are_two_records_on_two_clocks_and_the_skew_is_said() {
        let read = read(&Zipkin, SAMPLE);
        assert_eq!(read.counts(), (5, 0));
        assert_eq!(
            read.findings(),
            [
                "1 clock-skew a span of engine@10.0.0.7 starts 41250000 ns before the span of gateway@10.0.0.5 that calls it: \
              the clock of engine@10.0.0.7 is behind by 41250000 to 43000000 ns; times kept as written"
            ]
        );
        assert_eq!(read.rows(Table::Finding, &["item"]), ["1"]);
        assert_eq!(
            read.rows(
                Table::Request,
                &["item", "hop", "trace_id", "span_id", "parent_span_id", "status", "outcome"]
            ),
            [
                "0|gateway|00000000000000005a3bd1e20c44f7a9|5a3bd1e20c44f7a9|~|200|ok",
                "1|gateway|00000000000000005a3bd1e20c44f7a9|77b0c9d2a1e34f56|5a3bd1e20c44f7a9|200|ok",
                "4|gateway|00000000000000005a3bd1e20c44f7aa|5a3bd1e20c44f7aa|~|503|error",
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["item", "name", "t_ns", "clock", "resolution_ns"]),
            [
                "0|start|1796073818600000000|epoch:span:gateway@10.0.0.5|1000",
                "0|end|1796073818900000000|epoch:span:gateway@10.0.0.5|1000",
                "1|start|1796073818563000000|epoch:span:engine@10.0.0.7|1000",
                "1|end|1796073818847000000|epoch:span:engine@10.0.0.7|1000",
                // Without a duration there is no end.
                "4|start|1796073820000000000|epoch:span:gateway@10.0.0.5|1000",
            ]
        );
    }

    #[test]
    fn traces_within_are_read_and_a_cut_or_a_bad_span_costs_itself_alone() {
        let nested = format!("[{SAMPLE},{SAMPLE}]");
        assert!(recognises(&Zipkin, &nested));
        assert_eq!(read(&Zipkin, &nested).counts(), (10, 0));
        let cut = read(&Zipkin, &SAMPLE[..SAMPLE.len() - 40]);
        assert_eq!(cut.counts(), (4, 1));
        assert!(cut.findings()[0].starts_with("1 truncated"));
        let bad = SAMPLE.replacen("\"5a3bd1e20c44f7a9\"", "\"xyz\"", 1).replacen(":300000", ":\"x\"", 1);
        let bad = read(&Zipkin, &bad);
        assert_eq!(bad.counts(), (4, 1));
        assert_eq!(
            read(&Zipkin, &SAMPLE.replacen(":300000", ":\"x\"", 1)).findings()[0],
            "1 record-shape duration does not hold what it should; left out"
        );
    }

    #[test]
    fn other_json_is_not_zipkin() {
        assert!(recognises(&Zipkin, SAMPLE));
        let jaeger = include_str!("../../samples/jaeger/api.json");
        for text in ["", "[]", "{}", "[1]", r#"[{"traceId":"1","spanId":"2"}]"#, jaeger] {
            assert!(!recognises(&Zipkin, text), "{text}");
        }
    }
}
