//! OTLP traces as an exporter sends them: one protobuf `ExportTraceServiceRequest`, the body of a request.
//!
//! The wire format is read in place, field by field: nothing is copied and memory does not grow with the message.
//! Field numbers are those of opentelemetry-proto 1.x.

use super::otlp::{self, Attributed, Kind, Resource, Sink, Span, Value};
use super::{Context, Format, Match, Reader, decimal};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Rows};
use std::borrow::Cow;

/// OTLP protobuf.
pub struct OtlpProto;

impl Format for OtlpProto {
    fn id(&self) -> &'static str {
        "otlp_proto"
    }

    fn title(&self) -> &'static str {
        "OpenTelemetry traces (OTLP protobuf)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "queue", "schedule", "prefill", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        Match::when(is_export(head), "protobuf spans with 16-byte trace ids and 8-byte span ids")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let cx = cx.clone();
        Reader::Document(Box::new(move |bytes, rows| read(&cx, bytes, rows)))
    }
}

/// A field of a message, by its wire type.
enum Field<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

/// Why a message cannot be read further.
#[derive(Debug, PartialEq)]
enum Fault {
    /// It ends inside a field.
    Cut,
    /// It is not protobuf.
    Malformed,
}

/// The fields of a message with their numbers; ends after the first fault.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(Fault::Cut)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Fault::Malformed)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Fault> {
        let length = usize::try_from(length).map_err(|_| Fault::Cut)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Fault::Cut)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn field(&mut self) -> Result<(u64, Field<'a>), Fault> {
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed64(self.take(8)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))),
            2 => {
                let length = self.varint()?;
                Field::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Field::Fixed32)?,
            _ => return Err(Fault::Malformed),
        };
        if tag < 8 { Err(Fault::Malformed) } else { Ok((tag >> 3, field)) }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// The messages in field `number`, up to the first fault.
fn messages(bytes: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    Fields(bytes).flatten().filter_map(move |field| match field {
        (n, Field::Bytes(message)) if n == number => Some(message),
        _ => None,
    })
}

/// The first message in field `number`, as far as it is there: the head of a file may end inside it.
fn begun(bytes: &[u8], number: u64) -> Option<&[u8]> {
    let mut fields = Fields(bytes);
    loop {
        let mut here = Fields(fields.0);
        match fields.field() {
            Ok((n, Field::Bytes(message))) if n == number => return Some(message),
            Ok(_) => {}
            Err(_) => {
                let tag = here.varint().ok()?;
                here.varint().ok()?;
                return (tag == number << 3 | 2).then_some(here.0);
            }
        }
    }
}

/// Whether these bytes are resource spans, as far as they go, and begin with a span that can be read.
fn is_export(head: &Head) -> bool {
    let span = begun(&head.bytes, 1).and_then(|m| begun(m, 2)).and_then(|m| begun(m, 2));
    let readable =
        |m| span_of(m).is_ok_and(|s| s.trace_id.is_some() && s.id.is_some() && s.start_ns.is_some());
    let only_resource_spans = || Fields(&head.bytes).all(|f| matches!(f, Ok((1, Field::Bytes(_)))));
    span.is_some_and(readable) && (!head.whole || only_resource_spans())
}

fn read(cx: &Context, bytes: &[u8], rows: &mut Rows) {
    let mut sink = Sink::new(cx, 1, rows);
    for field in Fields(bytes) {
        match field {
            Ok((1, Field::Bytes(message))) => {
                if resource_spans(message, &mut sink).is_err() {
                    sink.refuse(Code::RecordShape, "resource spans are not protobuf from here on");
                }
            }
            Ok(_) => {}
            Err(Fault::Cut) => sink.refuse(Code::Truncated, "the file ends inside a message"),
            Err(Fault::Malformed) => sink.refuse(Code::RecordShape, "not protobuf from here on"),
        }
    }
}

fn resource_spans<'a>(bytes: &'a [u8], sink: &mut Sink<'a, '_>) -> Result<(), Fault> {
    let mut resource = Resource::default();
    for message in messages(bytes, 1) {
        resource = attributes(message, 1)?;
    }
    sink.resource(resource);
    for field in Fields(bytes) {
        if let (2, Field::Bytes(message)) = field? {
            scope_spans(message, sink)?;
        }
    }
    Ok(())
}

fn scope_spans<'a>(bytes: &'a [u8], sink: &mut Sink<'a, '_>) -> Result<(), Fault> {
    let name = messages(bytes, 1).flat_map(|scope| messages(scope, 1)).last();
    sink.scope(name.and_then(text));
    for field in Fields(bytes) {
        if let (2, Field::Bytes(message)) = field? {
            match span_of(message) {
                Ok(span) => sink.span(span),
                Err(_) => sink.refuse(Code::RecordShape, "a span that is not protobuf"),
            }
        }
    }
    Ok(())
}

fn span_of(bytes: &[u8]) -> Result<Span<'_>, Fault> {
    let mut span = Span { attributes: attributes(bytes, 9)?, ..Span::default() };
    for field in Fields(bytes) {
        match field? {
            (1, Field::Bytes(b)) => span.trace_id = id(b, 16),
            (2, Field::Bytes(b)) => span.id = id(b, 8),
            (4, Field::Bytes(b)) => span.parent_id = id(b, 8),
            (5, Field::Bytes(b)) => span.name = text(b),
            (6, Field::Varint(2)) => span.kind = Kind::Server,
            (6, Field::Varint(3)) => span.kind = Kind::Client,
            (7, Field::Fixed64(t)) => span.start_ns = instant(t),
            (8, Field::Fixed64(t)) => span.end_ns = instant(t),
            (15, Field::Bytes(status)) => {
                span.failed = Fields(status).flatten().any(|f| matches!(f, (3, Field::Varint(2))));
            }
            _ => {}
        }
    }
    Ok(span)
}

/// What the attributes in field `number` of a message come to.
fn attributes<'a, T: Attributed<'a>>(bytes: &'a [u8], number: u64) -> Result<T, Fault> {
    let mut attributed = T::default();
    for field in Fields(bytes) {
        match field? {
            (n, Field::Bytes(pair)) if n == number => {
                let key = messages(pair, 1).last().and_then(text);
                if let (Some(key), Some(value)) = (key, messages(pair, 2).last()) {
                    attributed.attribute(&key, &AnyValue(value));
                }
            }
            _ => {}
        }
    }
    Ok(attributed)
}

/// A value of one of several types, undecoded.
struct AnyValue<'a>(&'a [u8]);

impl<'a> AnyValue<'a> {
    fn last(&self) -> Option<(u64, Field<'a>)> {
        Fields(self.0).flatten().last()
    }
}

impl<'a> Value<'a> for AnyValue<'a> {
    fn text(&self) -> Option<Cow<'a, str>> {
        match self.last()? {
            (1, Field::Bytes(b)) => text(b),
            _ => None,
        }
    }

    fn int(&self) -> Option<i64> {
        match self.last()? {
            (3, Field::Varint(n)) => Some(n.cast_signed()),
            _ => None,
        }
    }

    fn seconds(&self) -> Option<i64> {
        match self.last()? {
            (4, Field::Fixed64(bits)) => decimal::seconds(f64::from_bits(bits)),
            _ => self.int()?.checked_mul(1_000_000_000),
        }
    }
}

fn text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    std::str::from_utf8(bytes).ok().filter(|t| !t.is_empty()).map(Cow::Borrowed)
}

fn id<'a>(bytes: &[u8], length: usize) -> Option<Cow<'a, str>> {
    if bytes.len() != length {
        return None;
    }
    let hex = bytes.iter().fold(String::with_capacity(length * 2), |hex, byte| format!("{hex}{byte:02x}"));
    otlp::id(&hex, length * 2).map(|id| Cow::Owned(id.into_owned()))
}

/// Zero is how OTLP says that a time is not known.
fn instant(t: u64) -> Option<i64> {
    i64::try_from(t).ok().filter(|t| *t > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::context;
    use proptest::prelude::*;

    const FIRST: &[u8] = include_bytes!("../../samples/otlp_proto/export_000_1796073816189458594.pb");
    const SECOND: &[u8] = include_bytes!("../../samples/otlp_proto/export_001_1796073820193188148.pb");

    fn rows_of(bytes: &[u8]) -> Rows {
        let mut rows = Rows::default();
        read(&context(&OtlpProto), bytes, &mut rows);
        rows
    }

    fn recognises(bytes: &[u8]) -> bool {
        OtlpProto.recognise(&Head::of("", bytes)) != Match::No
    }

    #[test]
    fn both_encodings_of_a_payload_give_the_same_rows() {
        let lines = include_str!("../../samples/otlp_json/vllm.otlp.jsonl");
        for (line, payload) in lines.lines().zip([FIRST, SECOND]) {
            let mut json = Rows::default();
            let mut text = serde_json::Deserializer::from_str(line);
            otlp::json::read(&mut text, &mut Sink::new(&context(&OtlpProto), 1, &mut json)).unwrap();
            let mut proto = rows_of(payload);
            assert!(proto.read > 0);
            assert_eq!(json.take("c", "s").unwrap().parts, proto.take("c", "s").unwrap().parts);
        }
    }

    #[test]
    fn a_cut_file_is_refused_and_what_follows_a_bad_span_is_read() {
        let cut = rows_of(&FIRST[..FIRST.len() - 1]);
        assert_eq!((cut.read, cut.refused), (0, 1));
        let both = rows_of(&[FIRST, SECOND].concat());
        assert_eq!((both.read, both.refused), (5, 0));
        // Field 2 of field 2 of field 1 is a span; 0x0f is no wire type.
        let bad = rows_of(&[&[0x0a, 5, 0x12, 3, 0x12, 1, 0x0f], SECOND].concat());
        assert_eq!((bad.read, bad.refused), (4, 1));
        assert_eq!(rows_of(b"").refused, 0);
    }

    #[test]
    fn payloads_are_recognised_whole_or_cut_by_the_head_and_garbage_is_not() {
        assert!(recognises(FIRST));
        let long = FIRST.repeat(100);
        assert!(long.len() > 1 << 16 && recognises(&long));
        let head = |bytes: &[u8], whole| Head { whole, ..Head::of("", bytes) };
        // One message longer than the head: its length says so, its first span is there.
        let mut begun = FIRST.to_vec();
        begun[1] += 1;
        assert!(is_export(&head(&begun, false)) && !is_export(&head(&begun, true)));
        for garbage in [&b""[..], b"\n", b"garbage", b"\n\n\n\n", &FIRST[..40], b"{\"resourceSpans\":[]}"] {
            assert!(!recognises(garbage), "{garbage:?}");
        }
    }

    proptest! {
        #[test]
        fn broken_bytes_are_read_or_refused_without_panic(at in 0..FIRST.len(), byte in any::<u8>(), cut in 0..FIRST.len()) {
            let mut bytes = FIRST.to_vec();
            bytes[at] = byte;
            rows_of(&bytes);
            rows_of(&bytes[cut..]);
            recognises(&bytes[cut..]);
        }
    }
}
