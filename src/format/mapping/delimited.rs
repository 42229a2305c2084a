//! Mapped CSV and its kin: records that quotes may stretch over lines.

use super::Mapping;
use super::cells::{Cells, Row};
use crate::finding::{Code, Place};
use crate::format::{Context, Line, Stream};
use crate::input::Limits;
use crate::row::Rows;
use crate::settings::value::quoted;
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

/// Longest record, in lines: a quote that is never closed must not swallow the file.
const MOST_LINES: i64 = 1000;

/// The cells of one record of delimited text; `None` when it is not one.
pub fn split(text: &str, delimiter: u8) -> Option<csv::StringRecord> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(text.len().clamp(64, 1 << 16))
        .from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    matches!(reader.read_record(&mut record), Ok(true)).then_some(record)
}

/// Whether a quoted cell stays open at the end of the text.
fn is_open(text: &str) -> bool {
    memchr::memchr_iter(b'"', text.as_bytes()).count() % 2 == 1
}

pub struct Delimited {
    mapping: Arc<Mapping>,
    cx: Context,
    delimiter: u8,
    limits: Limits,
    /// Column names, once the header was read.
    header: Option<csv::StringRecord>,
    /// A record whose quotes are still open, and its first line.
    open: Option<(Place, i64, String)>,
    unplaced: Cell<bool>,
}

impl Delimited {
    pub fn new(mapping: Arc<Mapping>, cx: Context, delimiter: u8, limits: Limits) -> Self {
        Delimited { mapping, cx, delimiter, limits, header: None, open: None, unplaced: Cell::new(false) }
    }

    fn record(&mut self, place: Place, text: &str, rows: &mut Rows) {
        let Some(record) = split(text, self.delimiter) else {
            return rows.refuse(Code::RecordShape, place, "not a record of delimited text");
        };
        let Some(header) = &self.header else {
            let missing = missing(&self.mapping, record.iter());
            if let Some(detail) = missing {
                rows.finding(Code::RecordShape, place, &detail);
            }
            self.header = Some(record);
            return;
        };
        // A header again is what joining files leaves.
        if record == *header {
            return;
        }
        if record.len() != header.len() {
            let detail = format!("{} cells under {} column names", record.len(), header.len());
            return rows.refuse(Code::RecordShape, place, &detail);
        }
        let cells = Record { header, record: &record };
        Row { mapping: &self.mapping, cx: &self.cx, place, cells: &cells, unplaced: &self.unplaced }
            .add(rows);
    }
}

/// What to say where the mapping names columns that the header lacks.
pub fn missing<'a>(mapping: &Mapping, header: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
    let lacking =
        mapping.columns().into_iter().filter(|column| !header.clone().any(|name| name.trim() == *column));
    let lacking = quoted(lacking);
    (!lacking.is_empty()).then(|| format!("no column {lacking}; the header has {}", quoted(header)))
}

impl Stream for Delimited {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        if line.place.line < self.mapping.header {
            return;
        }
        let (place, first, text) = match self.open.take() {
            None => (line.place, line.place.line, Cow::Borrowed(line.text)),
            Some((place, first, text)) => (place, first, Cow::Owned(text + "\n" + line.text)),
        };
        if !is_open(&text) {
            return self.record(place, &text, rows);
        }
        if text.len() > self.limits.line || line.place.line - first > MOST_LINES {
            return rows.refuse(Code::RecordShape, place, "a quoted cell is never closed");
        }
        self.open = Some((place, first, text.into_owned()));
    }

    fn end(&mut self, rows: &mut Rows) {
        if let Some((place, ..)) = self.open.take() {
            rows.refuse(Code::Truncated, place, "a quoted cell is never closed");
        }
    }
}

struct Record<'a> {
    header: &'a csv::StringRecord,
    record: &'a csv::StringRecord,
}

impl Cells for Record<'_> {
    fn get(&self, column: &str) -> Option<Cow<'_, str>> {
        let at = self.header.iter().position(|name| name.trim() == column)?;
        self.record.get(at).map(Cow::Borrowed)
    }
}
