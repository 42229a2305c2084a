//! JSON bodies as people keep them: one alone, one a line, pretty-printed ones in a row, an array of them, or the `data:`
//! lines of a recorded stream.

use super::values::Values;
use super::{Line, Reader, Stream};
use crate::finding::Place;
use crate::input::{Head, Limits};
use crate::row::Rows;

/// Reads one object after the other.
pub trait Body: Send {
    /// One object.
    fn object(&mut self, text: &str, place: Place, rows: &mut Rows);
    /// The end of the file.
    fn end(&mut self, _: &mut Rows) {}
}

impl<F: FnMut(&str, Place, &mut Rows) + Send> Body for F {
    fn object(&mut self, text: &str, place: Place, rows: &mut Rows) {
        self(text, place, rows);
    }
}

/// A reader of objects in any layout.
pub fn reader(body: impl Body + 'static) -> Reader {
    Reader::Stream(Box::new(Bodies { values: Values::new(Limits::default().document), body }))
}

struct Bodies<B> {
    values: Values,
    body: B,
}

impl<B: Body> Stream for Bodies<B> {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        let body = &mut self.body;
        let text = unframed(line.text);
        self.values
            .line(Line { text, ..line }, rows, &mut |place, text, rows| body.object(text, place, rows));
    }

    fn end(&mut self, rows: &mut Rows) {
        self.values.end(rows);
        self.body.end(rows);
    }
}

/// A line without the framing of server-sent events.
fn unframed(text: &str) -> &str {
    match text.strip_prefix("data:").map(str::trim_start) {
        Some("[DONE]") => "",
        Some(data) => data,
        None if ["event:", "id:", "retry:", ":"].iter().any(|field| text.starts_with(field)) => "",
        None => text,
    }
}

/// Whether a file begins with a JSON object, an array, or an event of a recorded stream.
#[must_use]
pub fn begins(head: &Head) -> bool {
    let event = |line: &str| ["data:", "event:", ":"].iter().any(|field| line.starts_with(field));
    matches!(head.first_byte(), Some(b'{' | b'[')) || head.lines().next().is_some_and(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_framing_of_events_is_taken_off_and_nothing_else() {
        let stream =
            [": ping", "event: message", "data: {\"a\":1}", "data:{\"a\":2}", "data: [DONE]", "  \"id\": 1"];
        assert_eq!(stream.map(unframed), ["", "", "{\"a\":1}", "{\"a\":2}", "", "  \"id\": 1"]);
        assert!(begins(&Head::of("", b": ping\ndata: {}\n")) && begins(&Head::of("", b"\n [{}]")));
        assert!(!begins(&Head::of("", b"")) && !begins(&Head::of("", b"garbage")));
    }
}
