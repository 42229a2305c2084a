//! OTLP/JSON: export requests as text, walked span by span in one pass.

use super::{Attributed, Attributes, Resource, Sink, Span, Value, id};
use crate::format::decimal;
use crate::format::elements::Elements;
use crate::format::json::{self, Raw};
use crate::input::Head;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::de::StrRead;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Whether each line is an export request: one of the first is, or the first is longer than the head.
pub fn is_lines(head: &Head) -> bool {
    let export = |line: &str| json::record::<Export>(line).is_ok();
    let text = head.bytes.trim_ascii();
    head.lines().take(20).any(export) || (opens(text) && !text.contains(&b'\n'))
}

/// Whether `text` begins as an export request does.
pub fn opens(text: &[u8]) -> bool {
    let inner = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    inner.is_some_and(|inner| inner.starts_with(br#""resourceSpans""#))
}

/// Reads one export request, handing every span to `sink` as soon as it is whole: memory does not grow with it.
///
/// # Errors
/// What ended it early; the spans before were read.
pub fn read<'a>(
    text: &mut serde_json::Deserializer<StrRead<'a>>,
    sink: &mut Sink<'a, '_>,
) -> serde_json::Result<()> {
    Walk { sink, level: Level::Export }.deserialize(text)
}

/// What tells an export request from other records.
#[derive(Deserialize)]
struct Export<'a> {
    #[serde(borrow, rename = "resourceSpans")]
    _spans: &'a RawValue,
}

/// How deep in a request: the request, then the spans of one resource, then those of one scope, then one span.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Export,
    Resource,
    Scope,
    Span,
}

impl Level {
    /// The key that says whose the spans are, the key that holds them, and what it holds.
    fn keys(self) -> (&'static str, &'static str, Level) {
        match self {
            Level::Export => ("", "resourceSpans", Level::Resource),
            Level::Resource => ("resource", "scopeSpans", Level::Scope),
            Level::Scope | Level::Span => ("scope", "spans", Level::Span),
        }
    }
}

/// Walks an object of a level, or an array of them.
struct Walk<'s, 'a, 'r> {
    sink: &'s mut Sink<'a, 'r>,
    level: Level,
}

impl<'de> DeserializeSeed<'de> for Walk<'_, 'de, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.level {
            Level::Export => deserializer.deserialize_map(self),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_, 'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.level == Level::Export { "an object" } else { "an object or an array of them" })
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Walk { sink, level } = self;
        while elements.next_element_seed(Walk { sink: &mut *sink, level })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Walk { sink, level } = self;
        if level == Level::Span {
            sink.span(SpanRecord::deserialize(MapAccessDeserializer::new(map))?.view());
            return Ok(());
        }
        let (whose, holds, inner) = level.keys();
        let (mut told, mut seen, mut early) = (level == Level::Export, false, None);
        if level == Level::Resource {
            sink.resource(Resource::default());
        }
        sink.scope(None);
        while let Some(Key(key)) = map.next_key()? {
            if key == holds && told {
                seen = true;
                map.next_value_seed(Walk { sink: &mut *sink, level: inner })?;
            } else if key == holds {
                // The spans stand before whose they are: they wait.
                early = map.next_value::<Option<&RawValue>>()?;
            } else if key == whose && level == Level::Resource {
                told = true;
                sink.resource(map.next_value::<Option<ResourceRecord>>()?.unwrap_or_default().attributes.0);
            } else if key == whose {
                told = true;
                sink.scope(map.next_value::<Option<Scope>>()?.and_then(|scope| string(scope.name.0)));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if let Some(spans) = early {
            let walk = Walk { sink, level: inner };
            walk.deserialize(&mut serde_json::Deserializer::from_str(spans.get()))
                .map_err(A::Error::custom)?;
        } else if level == Level::Export && !seen {
            return Err(A::Error::missing_field(holds));
        }
        Ok(())
    }
}

/// A key, borrowed unless it holds escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Default, Deserialize)]
struct ResourceRecord<'a> {
    #[serde(borrow, default)]
    attributes: Folded<Resource<'a>>,
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
            id: self.span_id.text().and_then(|text| id(text, 16)),
            parent_id: self.parent_span_id.text().and_then(|text| id(text, 16)),
            name: string(self.name.0),
            server: matches!(self.kind.text(), Some("2" | "SPAN_KIND_SERVER")),
            failed: matches!(self.status.and_then(|s| s.code.text()), Some("2" | "STATUS_CODE_ERROR")),
            attributes,
        }
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
