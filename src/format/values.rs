//! JSON values of any layout as a stream: one a line, one after the other on a line, printed over many lines, or the
//! elements of one array. Every value keeps the number of the line it begins on.

use super::Line;
use crate::finding::{Code, Place};
use crate::row::Rows;

/// Cuts lines into JSON objects. Memory is bounded by the longest object allowed.
pub struct Values {
    limit: usize,
    /// The object that is open: its text, place, and how deep the end of the text lies in it.
    text: String,
    place: Place,
    depth: u32,
    /// Whether the end of the text lies in a string, and right behind a backslash there.
    string: bool,
    escaped: bool,
}

/// Told of every object with its place.
pub type Visit<'a> = dyn FnMut(Place, &str, &mut Rows) + 'a;

impl Values {
    /// Objects longer than `limit` bytes are refused.
    #[must_use]
    pub fn new(limit: usize) -> Values {
        Values { limit, text: String::new(), place: Place::FILE, depth: 0, string: false, escaped: false }
    }

    /// Takes one line; `visit` is told of every object that ends on it.
    pub fn line(&mut self, line: Line, rows: &mut Rows, visit: &mut Visit) {
        // An object that begins a line in a file of one a line leaves the one before it broken.
        if self.depth > 0 && line.text.starts_with('{') && self.place.line < line.place.line && self.flat() {
            self.refuse(rows, Code::RecordNotJson, "the object is not closed on its line");
        }
        let (mut from, mut item) = (0, 0);
        for (at, byte) in line.text.bytes().enumerate() {
            if self.depth == 0 {
                match byte {
                    b'{' => {
                        (from, self.depth) = (at, 1);
                        self.place = Place::item(line.place.line, item);
                        item += 1;
                    }
                    b'[' | b']' | b',' | b' ' | b'\t' | b'\r' => {}
                    _ => {
                        return rows.refuse(Code::RecordNotJson, line.place, "text between JSON objects");
                    }
                }
                continue;
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.string => self.escaped = true,
                b'"' => self.string = !self.string,
                _ if self.string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        let end = line.text.get(from..=at).unwrap_or_default();
                        if self.text.is_empty() {
                            visit(self.place, end, rows);
                        } else {
                            self.text.push_str(end);
                            visit(self.place, &std::mem::take(&mut self.text), rows);
                        }
                    }
                }
                _ => {}
            }
        }
        if self.depth > 0 {
            self.text.push_str(line.text.get(from..).unwrap_or_default());
            self.text.push('\n');
            if self.text.len() > self.limit {
                self.refuse(rows, Code::LineTooLong, "one JSON object is longer than a line may be");
            }
        }
    }

    /// The end of the file: an open object is refused.
    pub fn end(&mut self, rows: &mut Rows) {
        if self.depth > 0 {
            self.refuse(rows, Code::Truncated, "the object is not closed");
        }
    }

    /// Whether the open object has its first field on its first line: it is not printed over many.
    fn flat(&self) -> bool {
        self.text.lines().next().is_some_and(|line| line.trim_end().len() > 1)
    }

    fn refuse(&mut self, rows: &mut Rows, code: Code, detail: &str) {
        rows.refuse(code, self.place, detail);
        *self = Values::new(self.limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `line#item text` of every object, and the findings.
    fn values(text: &str) -> (Vec<String>, i64) {
        let (mut values, mut rows, mut seen) = (Values::new(1000), Rows::default(), Vec::new());
        let mut visit = |place: Place, text: &str, _: &mut Rows| {
            seen.push(format!("{}#{} {}", place.line, place.item, text.replace('\n', "")));
        };
        for (number, text) in (1..).zip(text.lines()) {
            values.line(Line { text, place: Place::line(number), cut: false }, &mut rows, &mut visit);
        }
        values.end(&mut rows);
        (seen, rows.refused)
    }

    #[test]
    fn every_layout_gives_the_same_objects() {
        let want = |places: [&str; 2]| {
            (vec![format!("{} {{\"a\":1}}", places[0]), format!("{} {{\"a\":[{{}}]}}", places[1])], 0)
        };
        assert_eq!(values("{\"a\":1}\n{\"a\":[{}]}"), want(["1#0", "2#0"]));
        assert_eq!(values("{\"a\":1}{\"a\":[{}]}"), want(["1#0", "1#1"]));
        assert_eq!(values("[\n{\"a\":1},\n{\"a\":[{}]}\n]"), want(["2#0", "3#0"]));
        assert_eq!(values("[{\"a\":1}, {\"a\":[{}]}]"), want(["1#0", "1#1"]));
        assert_eq!(values("{\n\"a\":1\n}\n{\n\"a\":[\n{}\n]\n}"), want(["1#0", "4#0"]));
    }

    #[test]
    fn brackets_and_quotes_inside_strings_do_not_count() {
        let text = r#"{"a":"}{\"]\\"}"#;
        assert_eq!(values(text), (vec![format!("1#0 {text}")], 0));
    }

    #[test]
    fn what_is_broken_is_refused_and_the_next_is_read() {
        assert_eq!(values("{\"a\":\n{\"a\":2}"), (vec!["2#0 {\"a\":2}".to_owned()], 1));
        assert_eq!(values("hello\n{\"a\":2}"), (vec!["2#0 {\"a\":2}".to_owned()], 1));
        assert_eq!(values("{\"a\":2"), (vec![], 1));
        assert_eq!(values(&format!("{{\n\"a\":\"{}\"\n}}", "x".repeat(2000))).0.len(), 0);
    }
}
