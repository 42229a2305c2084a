//! What the readers of load generators share: marks checked against each other, and error texts cut short.

use crate::finding::{Code, Place};
use crate::row::{RequestKey, Rows};

/// Longest error text that is kept, in characters.
const ERROR_CHARS: usize = 200;

/// Instants of one request at the client, in ns on one clock, in the order they must happen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// When the request was due.
    pub scheduled: Option<i64>,
    /// Its write began.
    pub send: Option<i64>,
    /// The response headers came.
    pub headers: Option<i64>,
    /// The first chunk came, with or without a token.
    pub first_chunk: Option<i64>,
    /// The first token came.
    pub first_token: Option<i64>,
    /// The last token came.
    pub last_token: Option<i64>,
    /// It was over.
    pub end: Option<i64>,
}

/// Positions in [`Marks`] from the most to the least trusted: what TTFT and latency rest on comes first.
const TRUST: [usize; 7] = [1, 4, 6, 2, 0, 3, 5];

impl Marks {
    /// Adds the marks that are given to a request read at `place`. One that contradicts a more trusted one is
    /// left out with a finding.
    pub fn add(&self, rows: &mut Rows, key: RequestKey, place: Place, clock: &str, resolution_ns: i64) {
        let all = [
            ("scheduled", self.scheduled),
            ("send", self.send),
            ("headers", self.headers),
            ("first_chunk", self.first_chunk),
            ("first_token", self.first_token),
            ("last_token", self.last_token),
            ("end", self.end),
        ];
        let mut kept = [None; TRUST.len()];
        for at in TRUST {
            let (name, Some(t_ns)) = all[at] else { continue };
            let contradiction = all.iter().zip(kept).enumerate().find_map(|(other, ((word, _), t))| {
                let wrong = |t: &i64| if other < at { t_ns < *t } else { t_ns > *t };
                t.filter(wrong).map(|t| (*word, t))
            });
            if let Some((word, t)) = contradiction {
                let sign = if t_ns < t { '<' } else { '>' };
                let detail = format!("{name}_ns {t_ns} {sign} {word}_ns {t}: {name} left out");
                rows.finding(Code::ValueImpossible, place, &detail);
            } else {
                kept[at] = Some(t_ns);
                rows.mark(key, name, t_ns, clock, resolution_ns);
            }
        }
    }
}

/// A stated duration that can be one. A negative one is reported and left out.
pub fn duration(rows: &mut Rows, place: Place, name: &str, ns: Option<i64>) -> Option<i64> {
    let ns = ns?;
    if ns >= 0 {
        return Some(ns);
    }
    rows.finding(Code::ValueImpossible, place, &format!("{name} {ns} ns < 0: left out"));
    None
}

/// How long it took from one stated instant to a later one. A later one that is earlier is reported, and nothing given.
pub fn between(
    rows: &mut Rows,
    place: Place,
    (from, from_ns): (&str, Option<i64>),
    (to, to_ns): (&str, Option<i64>),
) -> Option<i64> {
    let (begun, done) = (from_ns?, to_ns?);
    if done >= begun {
        return done.checked_sub(begun);
    }
    let detail = format!("{to} {done} ns < {from} {begun} ns: what lies between is left out");
    rows.finding(Code::ValueImpossible, place, &detail);
    None
}

/// The last line of an error text that says something (a traceback ends with its cause), cut short.
#[must_use]
pub fn error_text(text: &str) -> &str {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("");
    cut(line, ERROR_CHARS)
}

/// The first `chars` characters of a text.
#[must_use]
pub fn cut(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::format::{Context, Format, Line, Reader};
    use crate::row::{Hop, Table};
    use arrow::array::{Array, RecordBatch};
    use arrow::util::display::{ArrayFormatter, FormatOptions};

    /// What reading a text gave: every table as rows of `column=value` words, nulls left out.
    pub struct Given(Vec<(Table, RecordBatch)>, pub i64, pub i64);

    impl Given {
        /// The cells named, one row a line; a null is `-`.
        pub fn get(&self, table: Table, columns: &[&str]) -> Vec<String> {
            let batch = &self.0.iter().find(|(t, _)| *t == table).unwrap().1;
            let options = FormatOptions::default().with_null("-");
            let columns: Vec<_> = columns
                .iter()
                .map(|name| {
                    let array: &dyn Array = batch.column_by_name(name).unwrap();
                    ArrayFormatter::try_new(array, &options).unwrap()
                })
                .collect();
            (0..batch.num_rows())
                .map(|row| columns.iter().map(|c| c.value(row).to_string()).collect::<Vec<_>>().join(" "))
                .collect()
        }
    }

    /// Reads a text in a format's own hop, from a source called `s`.
    pub fn read(format: &dyn Format, text: &str) -> Given {
        let cx = Context {
            name: "file".into(),
            source: "s".into(),
            hop: format.hop(),
            clock: None,
            zone: None,
            received_ns: 0,
        };
        let mut rows = Rows::default();
        match format.reader(&cx) {
            Reader::Lines(line) => {
                for (number, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
                    line(Line { text, place: Place::line(number), cut: false }, &mut rows);
                }
            }
            Reader::Document(document) => document(text.as_bytes(), &mut rows),
            Reader::Stream(_) => unreachable!("no load tool is read as a stream"),
        }
        let tables = rows.take("c", "s").unwrap();
        Given(tables.parts, tables.read, tables.refused)
    }

    fn marks(given: Marks) -> Given {
        let mut rows = Rows::default();
        let key = rows.request(Hop::Client, Place::line(1), &crate::row::Request::default());
        given.add(&mut rows, key, Place::line(1), "epoch:s", 1);
        Given(rows.take("c", "s").unwrap().parts, 0, 0)
    }

    #[test]
    fn a_mark_that_contradicts_a_more_trusted_one_is_left_out() {
        let given = marks(Marks {
            scheduled: Some(6),
            send: Some(5),
            headers: Some(9),
            first_token: Some(8),
            end: Some(8),
            ..Marks::default()
        });
        assert_eq!(given.get(Table::Mark, &["name", "t_ns"]), ["send 5", "first_token 8", "end 8"]);
        assert_eq!(
            given.get(Table::Finding, &["code", "detail"]),
            [
                "value-impossible headers_ns 9 > first_token_ns 8: headers left out",
                "value-impossible scheduled_ns 6 > send_ns 5: scheduled left out",
            ]
        );
        let early = marks(Marks { send: Some(5), first_token: Some(4), ..Marks::default() });
        assert_eq!(early.get(Table::Mark, &["name"]), ["send"]);
        assert_eq!(
            early.get(Table::Finding, &["detail"]),
            ["first_token_ns 4 < send_ns 5: first_token left out"]
        );
    }

    #[test]
    fn errors_are_one_short_line() {
        assert_eq!(error_text("Traceback:\n  at x\nTimeoutError: late\n\n"), "TimeoutError: late");
        assert_eq!(error_text(&"误".repeat(300)), "误".repeat(200));
        assert_eq!(error_text(""), "");
    }
}
