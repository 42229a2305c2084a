//! OTLP/JSON: export requests as text, walked span by span.

use super::{Attributed, Attributes, Resource, Sink, Span, Value, id};
use crate::finding::Code;
use crate::format::decimal;
use crate::format::elements::{Elements, each};
use crate::format::json::{self, Raw};
use crate::input::Head;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Whether each line is an export request: one of the first is, or the first is longer than the head.
pub fn is_lines(head: &Head) -> bool {
    let export = |line: &str| json::record::<Export>(line).is_ok_and(|e| e.resource_spans.is_some());
    let text = head.bytes.trim_ascii();
    head.lines().take(20).any(export) || (opens(text) && !text.contains(&b'\n'))
}

/// Whether `text` begins as an export request does.
pub fn opens(text: &[u8]) -> bool {
    let inner = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    inner.is_some_and(|inner| inner.starts_with(br#""resourceSpans""#))
}

/// One export request. Its arrays are kept as text and walked element by element: memory does not grow with them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Export<'a> {
    #[serde(borrow)]
    resource_spans: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    #[serde(borrow)]
    resource: Option<ResourceRecord<'a>>,
    #[serde(borrow)]
    scope_spans: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ResourceRecord<'a> {
    #[serde(borrow, default)]
    attributes: Folded<Resource<'a>>,
}

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(borrow)]
    scope: Option<Scope<'a>>,
    #[serde(borrow)]
    spans: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Scope<'a> {
    #[serde(borrow, default)]
    name: Raw<'a>,
}

/// A span; its fields are taken as written, so that a wrong type costs the field and not the line.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SpanRecord<'a> {
    #[serde(borrow)]
    trace_id: Raw<'a>,
    #[serde(borrow)]
    span_id: Raw<'a>,
    #[serde(borrow)]
    parent_span_id: Raw<'a>,
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    kind: Raw<'a>,
    #[serde(borrow)]
    start_time_unix_nano: Raw<'a>,
    #[serde(borrow)]
    end_time_unix_nano: Raw<'a>,
    #[serde(borrow)]
    attributes: Folded<Attributes<'a>>,
    #[serde(borrow)]
    status: Option<Status<'a>>,
}

#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow, default)]
    code: Raw<'a>,
}

#[derive(Deserialize)]
struct Attribute<'a> {
    #[serde(borrow, default)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

impl<'a> Export<'a> {
    /// Hands every span to `sink`. What is not as it should be is refused there, and the rest is read.
    pub fn read(&self, sink: &mut Sink<'a, '_>) {
        let Some(resource_spans) = self.resource_spans else {
            return sink.refuse(Code::RecordShape, "no resourceSpans: not an export of traces");
        };
        walk(resource_spans, sink, |sink, of: ResourceSpans| {
            sink.resource(of.resource.map(|r| r.attributes.0).unwrap_or_default());
            let Some(scope_spans) = of.scope_spans else { return };
            walk(scope_spans, sink, |sink, of: ScopeSpans| {
                sink.scope(of.scope.and_then(|scope| string(scope.name.0)));
                let Some(spans) = of.spans else { return };
                walk(spans, sink, |sink, span: SpanRecord| sink.span(span.view()));
            });
        });
    }
}

impl<'a> SpanRecord<'a> {
    fn view(self) -> Span<'a> {
        let mut attributes = self.attributes.0;
        let mut instant = |raw: Raw, field| {
            let t_ns = raw.ns(decimal::NS);
            if raw.text().is_some() && t_ns.is_none_or(|t| t < 0) {
                attributes.unread(field);
            }
            // Zero is how OTLP says that a time is not known.
            t_ns.filter(|t| *t > 0)
        };
        Span {
            start_ns: instant(self.start_time_unix_nano, "startTimeUnixNano"),
            end_ns: instant(self.end_time_unix_nano, "endTimeUnixNano"),
            trace_id: self.trace_id.text().and_then(|text| id(text, 32)),
            span_id: self.span_id.text().and_then(|text| id(text, 16)),
            parent_span_id: self.parent_span_id.text().and_then(|text| id(text, 16)),
            name: string(self.name.0),
            server: matches!(self.kind.text(), Some("2" | "SPAN_KIND_SERVER")),
            failed: matches!(self.status.and_then(|s| s.code.text()), Some("2" | "STATUS_CODE_ERROR")),
            attributes,
        }
    }
}

/// Reads an array element by element; refuses the rest of it in `sink` where an element is not a `T`.
fn walk<'a, 's, T: Deserialize<'a>>(
    array: &'a RawValue,
    sink: &mut Sink<'a, 's>,
    mut read: impl FnMut(&mut Sink<'a, 's>, T),
) {
    if let Err(error) = each(array, |element| read(sink, element)) {
        let (code, detail) = json::complaint(&error);
        // The column is one within this array, which a person cannot find.
        sink.refuse(code, detail.split(" at line ").next().unwrap_or_default());
    }
}

/// What an array of attributes comes to.
#[derive(Default)]
struct Folded<T>(T);

impl<'de, T: Attributed<'de>> Deserialize<'de> for Folded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut attributed = T::default();
        let take = |a: Attribute<'de>| {
            if let Some(value) = a.value {
                attributed.attribute(&a.key, &AnyValue(value));
            }
        };
        deserializer.deserialize_seq(Elements::new(take))?;
        Ok(Folded(attributed))
    }
}

/// `{"stringValue":…}`, `{"intValue":…}`, `{"doubleValue":…}` or another, unparsed.
struct AnyValue<'a>(&'a RawValue);

#[derive(Default, Deserialize)]
#[serde(default)]
struct Parsed<'a> {
    #[serde(borrow, rename = "stringValue")]
    string: Raw<'a>,
    #[serde(borrow, rename = "intValue")]
    int: Raw<'a>,
    #[serde(borrow, rename = "doubleValue")]
    double: Raw<'a>,
}

impl<'a> AnyValue<'a> {
    fn parsed(&self) -> Parsed<'a> {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }
}

impl<'a> Value<'a> for AnyValue<'a> {
    fn text(&self) -> Option<Cow<'a, str>> {
        string(self.parsed().string.0)
    }

    fn int(&self) -> Option<i64> {
        self.parsed().int.int()
    }

    fn seconds(&self) -> Option<i64> {
        let Parsed { int, double, .. } = self.parsed();
        double.ns(decimal::S).or_else(|| int.ns(decimal::S))
    }
}

/// The text of a JSON string, borrowed unless it holds escapes; `None` for other values and for "".
fn string(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let json = raw?.get();
    let plain = json.strip_prefix('"')?.strip_suffix('"')?;
    let text = if memchr::memchr(b'\\', plain.as_bytes()).is_none() {
        Cow::Borrowed(plain)
    } else {
        Cow::Owned(serde_json::from_str(json).ok()?)
    };
    Some(text).filter(|t| !t.is_empty())
}
