//! OTLP/JSON: export requests as text, walked span by span in one pass.
//!
//! Read alike: names of before (`instrumentationLibrarySpans`), Tempo's (`batches`, `trace` around all), and ids in
//! Base64, as the general JSON mapping of protobuf writes them.

use super::{Attributed, Attributes, Kind, Resource, Sink, Span, Value, id};
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
use std::fmt::{self, Write};

/// Whether each line is an export request: one of the first is, or the first is longer than the head.
pub fn is_lines(head: &Head) -> bool {
    let export = |line: &str| json::record::<Export>(line).is_ok();
    let text = head.bytes.trim_ascii();
    head.lines().take(20).any(export) || (opens(text) && !text.contains(&b'\n'))
}

/// Whether `text` begins as an export request does.
pub fn opens(text: &[u8]) -> bool {
    begins(text, r#"{"resourceSpans":"#)
}

/// Whether JSON begins with these tokens, white space between them passed over.
pub fn begins(text: &[u8], tokens: &str) -> bool {
    let mut bytes = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    tokens.bytes().all(|token| bytes.next() == Some(&token))
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

/// Reads one export request, an array of them, or one inside `trace`.
///
/// # Errors
/// What ended it early; the spans before were read.
pub fn read_document<'a>(
    text: &mut serde_json::Deserializer<StrRead<'a>>,
    sink: &mut Sink<'a, '_>,
) -> serde_json::Result<()> {
    Walk { sink, level: Level::Document }.deserialize(text)
}

/// What tells an export request from other records.
#[derive(Deserialize)]
struct Export<'a> {
    #[serde(borrow, rename = "resourceSpans")]
    _spans: &'a RawValue,
}

/// How deep in a request: a document of requests, the request, then the spans of one resource, then those of one scope, then one span.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Document,
    Export,
    Resource,
    Scope,
    Span,
}

impl Level {
    /// What a key of an object of this level stands for.
    fn part(self, key: &str) -> Part {
        match (self, key) {
            (Level::Document, "trace") => Part::Holds(Level::Export),
            (Level::Document | Level::Export, "resourceSpans" | "batches") => Part::Holds(Level::Resource),
            (Level::Resource, "scopeSpans" | "instrumentationLibrarySpans") => Part::Holds(Level::Scope),
            (Level::Scope, "spans") => Part::Holds(Level::Span),
            (Level::Resource, "resource") | (Level::Scope, "scope" | "instrumentationLibrary") => Part::Whose,
            _ => Part::Other,
        }
    }
}

/// What a key stands for.
enum Part {
    /// It holds objects of this level, or one.
    Holds(Level),
    /// It says whose the spans are.
    Whose,
    Other,
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
        let level = if level == Level::Document { Level::Export } else { level };
        while elements.next_element_seed(Walk { sink: &mut *sink, level })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Walk { sink, level } = self;
        if level == Level::Span {
            sink.span(SpanRecord::deserialize(MapAccessDeserializer::new(map))?.view());
            return Ok(());
        }
        let whole = matches!(level, Level::Document | Level::Export);
        let (mut told, mut seen, mut early) = (whole, false, None);
        if level == Level::Resource {
            sink.resource(Resource::default());
        }
        sink.scope(None);
        while let Some(Key(key)) = map.next_key()? {
            match level.part(&key) {
                Part::Holds(inner) if told => {
                    seen = true;
                    map.next_value_seed(Walk { sink: &mut *sink, level: inner })?;
                }
                // The spans stand before whose they are: they wait.
                Part::Holds(inner) => {
                    early = map.next_value::<Option<&RawValue>>()?.map(|spans| (spans, inner));
                }
                Part::Whose if level == Level::Resource => {
                    told = true;
                    sink.resource(
                        map.next_value::<Option<ResourceRecord>>()?.unwrap_or_default().attributes.0,
                    );
                }
                Part::Whose => {
                    told = true;
                    sink.scope(map.next_value::<Option<Scope>>()?.and_then(|scope| string(scope.name.0)));
                }
                Part::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if let Some((spans, level)) = early {
            let walk = Walk { sink, level };
            walk.deserialize(&mut serde_json::Deserializer::from_str(spans.get()))
                .map_err(A::Error::custom)?;
        } else if whole && !seen {
            return Err(A::Error::missing_field("resourceSpans"));
        }
        Ok(())
    }
}

/// A key, borrowed unless it holds escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Who wrote what follows.
#[derive(Default, Deserialize)]
pub struct ResourceRecord<'a> {
    #[serde(borrow, default)]
    attributes: Folded<Resource<'a>>,
}

impl<'a> ResourceRecord<'a> {
    /// What is known of it.
    pub fn get(&self) -> &Resource<'a> {
        &self.attributes.0
    }
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
            trace_id: id_of(self.trace_id, 32),
            id: id_of(self.span_id, 16),
            parent_id: id_of(self.parent_span_id, 16),
            name: string(self.name.0),
            kind: match self.kind.text() {
                Some("2" | "SPAN_KIND_SERVER") => Kind::Server,
                Some("3" | "SPAN_KIND_CLIENT") => Kind::Client,
                _ => Kind::Other,
            },
            failed: matches!(self.status.and_then(|s| s.code.text()), Some("2" | "STATUS_CODE_ERROR")),
            attributes,
        }
    }
}

/// An id in hex or in Base64: their lengths tell them apart.
fn id_of(raw: Raw<'_>, digits: usize) -> Option<Cow<'_, str>> {
    let text = raw.text()?;
    if text.len() == digits {
        return id(text, digits);
    }
    // A solidus may be escaped in JSON.
    let hex = base64_hex(&text.replace("\\/", "/"))?;
    id(&hex, digits).map(|id| Cow::Owned(id.into_owned()))
}

/// Base64 with padding, as hex digits.
fn base64_hex(text: &str) -> Option<String> {
    let digits = text.trim_end_matches('=');
    if digits.is_empty() || !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 || text.len() > 32
    {
        return None;
    }
    let (mut bits, mut held, mut hex) = (0_u32, 0, String::new());
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            write!(hex, "{:02x}", bits >> held & 0xff).ok()?;
        }
    }
    Some(hex)
}

/// What an array of attributes comes to.
#[derive(Default)]
pub struct Folded<T>(pub T);

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
