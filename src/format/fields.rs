//! The fields of a line of a text access log: words, "quoted texts" and [bracketed texts].
//!
//! Lists of nginx's retries, `a, b : c`, are one field. A quote ends only before a space or the end of the line,
//! because proxies write the caller's own quotes as they are.

/// How a field is set off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By spaces.
    Word,
    /// By double quotes.
    Quoted,
    /// By square brackets.
    Bracketed,
}

/// One field without what sets it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its text.
    pub text: &'a str,
    /// How it is set off.
    pub kind: Kind,
}

impl<'a> Field<'a> {
    /// The text; `None` for "" and "-".
    pub fn stated(&self) -> Option<&'a str> {
        (!matches!(self.text, "" | "-")).then_some(self.text)
    }

    /// Whether it is a word: a whole number or "-".
    pub fn is_count(&self) -> bool {
        self.kind == Kind::Word && (self.text == "-" || self.text.bytes().all(|b| b.is_ascii_digit()))
    }

    /// Whether it is in quotes.
    pub fn is_quoted(&self) -> bool {
        self.kind == Kind::Quoted
    }
}

/// The fields of a line, in order; a quote or bracket that never ends runs to the end of the line.
pub fn fields(line: &str) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (kind, inner, close) = match rest.as_bytes() {
            [b'"', ..] => (Kind::Quoted, rest.get(1..).unwrap_or(""), '"'),
            [b'[', ..] => (Kind::Bracketed, rest.get(1..).unwrap_or(""), ']'),
            _ => (Kind::Word, rest, ' '),
        };
        let end = if kind == Kind::Word { word_end(inner) } else { closing(inner, close) };
        let (text, after) = inner.split_at_checked(end).unwrap_or((inner, ""));
        fields.push(Field { text, kind });
        rest = after.strip_prefix(close).unwrap_or(after).trim_start();
    }
    fields
}

/// Where a quoted or bracketed text ends.
fn closing(text: &str, close: char) -> usize {
    text.match_indices(close)
        .map(|(at, _)| at)
        .find(|at| text.get(at + 1..).is_some_and(|after| after.is_empty() || after.starts_with(' ')))
        .unwrap_or(text.len())
}

/// Where a word ends, a list of tries being one word.
fn word_end(text: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = text.get(end..).unwrap_or("");
        let length = rest.find(' ').unwrap_or(rest.len());
        end += length;
        let after = text.get(end..).unwrap_or("");
        if after.starts_with(" : ") {
            end += " : ".len();
        } else if after.starts_with(' ') && rest.get(..length).is_some_and(|word| word.ends_with(',')) {
            end += 1;
        } else {
            return end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(line: &str) -> Vec<&str> {
        fields(line).iter().map(|field| field.text).collect()
    }

    #[test]
    fn quotes_brackets_and_lists_of_tries_are_one_field_each() {
        assert_eq!(
            texts(r#"1.2.3.4 - [30/Nov/2026:21:23:39 +0000] "POST / HTTP/1.1" 0.1, 0.2 : - [] "#),
            ["1.2.3.4", "-", "30/Nov/2026:21:23:39 +0000", "POST / HTTP/1.1", "0.1, 0.2 : -", ""]
        );
        assert_eq!(texts(r#""a("quoted") agent" 200"#), [r#"a("quoted") agent"#, "200"]);
        assert_eq!(texts(r#"200 "never ends"#), ["200", "never ends"]);
        assert_eq!(texts("a,"), ["a,"]);
    }

    proptest! {
        #[test]
        fn any_line_is_split(line in ".{0,80}") {
            let _ = fields(&line);
        }
    }
}
