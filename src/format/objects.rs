//! JSON objects however they stand in a file: one a line, spread over lines, one after another, or in an array.
//!
//! Memory holds one object at a time. An object that never ends is refused where the next one begins: at a brace that
//! the grammar forbids there, or, in a file with one object a line, at the next line.

use super::{Line, Stream};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::Rows;

/// Largest object spread over lines, in bytes.
const LIMIT: usize = 16 << 20;

/// Hands every object, with the line it begins on, to a function.
pub struct Objects<F> {
    read: F,
    /// What is there of an object that began on an earlier line.
    text: String,
    place: Place,
    /// The open braces and brackets.
    open: Vec<u8>,
    /// The last sign that is not white space, outside of strings.
    last: u8,
    quoted: bool,
    escaped: bool,
    /// Whether the object before stood on one line.
    lined: bool,
}

impl<F: FnMut(Line, &mut Rows) + Send> Objects<F> {
    /// Hands every object to `read`.
    pub fn new(read: F) -> Self {
        Objects {
            read,
            text: String::new(),
            place: Place::FILE,
            open: Vec::new(),
            last: 0,
            quoted: false,
            escaped: false,
            lined: false,
        }
    }

    fn give_up(&mut self, rows: &mut Rows, code: Code, detail: &str) {
        rows.refuse(code, self.place, detail);
        self.text.clear();
        self.open.clear();
        (self.quoted, self.escaped) = (false, false);
    }

    /// Whether an object may begin here, within another one.
    fn may_nest(&self) -> bool {
        !self.lined
            && (self.last == b':' || self.open.last() == Some(&b'[') && matches!(self.last, b'[' | b','))
    }

    /// Takes one byte; `true` when it ends an object.
    fn step(&mut self, byte: u8) -> bool {
        if self.quoted {
            self.quoted = byte != b'"' || self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            return false;
        }
        match byte {
            b'"' => self.quoted = true,
            b'{' | b'[' => self.open.push(byte),
            b'}' | b']' => drop(self.open.pop()),
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            self.last = byte;
        }
        self.open.is_empty()
    }
}

impl<F: FnMut(Line, &mut Rows) + Send> Stream for Objects<F> {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        if !self.open.is_empty() && line.text.trim_start().starts_with('{') && !self.may_nest() {
            self.give_up(rows, Code::RecordNotJson, "an object that does not end");
        }
        let (mut from, mut item) = (0, 0);
        for (at, byte) in line.text.bytes().enumerate() {
            if !self.open.is_empty() {
                if self.step(byte) {
                    self.lined = self.text.is_empty();
                    self.text.push_str(line.text.get(from..=at).unwrap_or(""));
                    let object = std::mem::take(&mut self.text);
                    (self.read)(Line { text: &object, place: self.place, cut: false }, rows);
                }
            } else if byte == b'{' {
                (from, self.place) = (at, Place::item(line.place.line, item));
                self.open.push(byte);
                (self.last, item) = (byte, item + 1);
            } else if !matches!(byte, b'[' | b']' | b',' | b' ' | b'\t') {
                return line.refuse(rows, Code::RecordNotJson, "not a JSON object");
            }
        }
        if self.open.is_empty() {
            return;
        }
        self.text.push_str(line.text.get(from..).unwrap_or(""));
        self.text.push('\n');
        if self.quoted && !line.cut {
            self.give_up(rows, Code::RecordNotJson, "a string that does not end on its line");
        } else if self.text.len() > LIMIT {
            self.give_up(rows, Code::LineTooLong, "an object larger than 16 MiB");
        }
    }

    fn end(&mut self, rows: &mut Rows) {
        if !self.open.is_empty() {
            self.give_up(rows, Code::Truncated, "the file ends within an object");
        }
    }
}

/// Whether one of the first objects of a file is `ours`.
pub fn any(head: &Head, ours: impl Fn(&str) -> bool + Sync) -> bool {
    if !matches!(head.first_byte(), Some(b'{' | b'[')) {
        // Banners of a process may stand before the first record.
        return head.lines().filter(|line| line.starts_with('{')).take(20).any(ours);
    }
    let (mut seen, mut found) = (0, false);
    let mut objects = Objects::new(|line: Line, _: &mut Rows| {
        seen += 1;
        found |= seen <= 20 && ours(line.text);
    });
    let mut rows = Rows::default();
    for text in head.lines() {
        objects.line(Line { text, place: Place::FILE, cut: false }, &mut rows);
    }
    drop(objects);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Table;

    /// Objects as `line#item text`, then the findings.
    fn read_all(text: &str) -> (Vec<String>, Vec<String>) {
        let mut found = Vec::new();
        let mut rows = Rows::default();
        let mut objects = Objects::new(|line: Line, _: &mut Rows| {
            found.push(format!("{}#{} {}", line.place.line, line.place.item, line.text));
        });
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let cut = !line.ends_with('\n');
            let text = line.trim_end_matches('\n');
            objects.line(Line { text, place: Place::line(number), cut }, &mut rows);
        }
        objects.end(&mut rows);
        drop(objects);
        let tables = rows.take("c", "s").unwrap();
        let (_, findings) = tables.parts.into_iter().find(|(table, _)| *table == Table::Finding).unwrap();
        let codes = arrow::array::AsArray::as_string::<i32>(findings.column_by_name("code").unwrap());
        (found, codes.iter().flatten().map(str::to_owned).collect())
    }

    #[test]
    fn lines_arrays_and_spread_objects_are_the_same_to_it() {
        let lines = read_all("{\"a\":\"}\\\"{\"}\n{\"b\":[{}]}\n");
        assert_eq!(lines.0, [r#"1#0 {"a":"}\"{"}"#, r#"2#0 {"b":[{}]}"#]);
        let array = read_all("[{\"a\":1},{\"a\":2}]");
        assert_eq!(array.0, [r#"1#0 {"a":1}"#, r#"1#1 {"a":2}"#]);
        let spread = read_all("[\n  {\n    \"a\": 1\n  },\n  {\"a\": 2}\n]\n");
        assert_eq!(spread.0, ["2#0 {\n    \"a\": 1\n  }", "5#0 {\"a\": 2}"]);
        assert!(lines.1.is_empty() && array.1.is_empty() && spread.1.is_empty());
    }

    #[test]
    fn lists_of_objects_within_one_are_no_new_ones() {
        let head = Head::of("", b"{\n  \"a\": [\n    {\n    }\n  ],\n  \"b\": 2\n}");
        assert!(any(&head, |object| object.contains("\"a\"") && object.contains("\"b\"")));
        assert!(!any(&Head::of("", b"{\"a\": 1"), |_| true));
    }

    #[test]
    fn what_does_not_end_costs_one_record() {
        let read = read_all("{\"a\": 1\n{\"b\": 2}\nnoise\n{\"c\": \"x\n{\"d\": 4}\n{\"e\"");
        assert_eq!(read.0, [r#"2#0 {"b": 2}"#, r#"5#0 {"d": 4}"#]);
        assert_eq!(read.1, ["record-not-json", "record-not-json", "record-not-json", "truncated"]);
        let cut_in_a_list = read_all("{\"a\": 1}\n{\"b\": [1,\n{\"c\": 3}\n");
        assert_eq!(cut_in_a_list.0, [r#"1#0 {"a": 1}"#, r#"3#0 {"c": 3}"#]);
        assert_eq!(cut_in_a_list.1, ["record-not-json"]);
    }
}
