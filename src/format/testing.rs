//! For the tests of formats: text through a reader, and its rows as text.

use super::{Context, Format, Line, Match, Reader};
use crate::finding::Place;
use crate::input::Head;
use crate::row::{Rows, Table, Tables};
use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};

/// A source of this format, with nothing declared.
pub fn context(format: &dyn Format) -> Context {
    Context {
        name: String::new(),
        source: "0123456789ab".to_owned(),
        hop: format.hop(),
        clock: None,
        zone: None,
        received_ns: 0,
    }
}

/// Whether the format says yes to a file of this text.
pub fn recognises(format: &dyn Format, text: &str) -> bool {
    matches!(format.recognise(&Head::of("", text.as_bytes())), Match::Yes { .. })
}

/// What the format reads from this text.
pub fn read(format: &dyn Format, text: &str) -> Read {
    read_as(format, &context(format), text)
}

/// What the format reads from this text, with declarations.
pub fn read_as(format: &dyn Format, cx: &Context, text: &str) -> Read {
    let mut rows = Rows::default();
    match format.reader(cx) {
        Reader::Lines(line) => each_line(text, |at| line(at, &mut rows)),
        Reader::Stream(mut stream) => {
            each_line(text, |at| stream.line(at, &mut rows));
            stream.end(&mut rows);
        }
        Reader::Document(document) => document(text.as_bytes(), &mut rows),
    }
    Read(rows.take("c", "s").unwrap())
}

fn each_line(text: &str, mut read: impl FnMut(Line)) {
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let cut = !line.ends_with('\n');
        let line = line.trim_end_matches(['\n', '\r']);
        if !line.trim().is_empty() {
            read(Line { text: line, place: Place::line(number), cut });
        }
    }
}

/// Rows read.
pub struct Read(pub Tables);

impl Read {
    /// What was read into these rows.
    pub fn of(rows: &mut Rows) -> Read {
        Read(rows.take("c", "s").unwrap())
    }

    /// Records read and refused.
    pub fn counts(&self) -> (i64, i64) {
        (self.0.read, self.0.refused)
    }

    /// The rows of a table, each as the named columns joined by `|`; null is `~`.
    pub fn rows(&self, table: Table, columns: &[&str]) -> Vec<String> {
        let (_, batch) = self.0.parts.iter().find(|(t, _)| *t == table).unwrap();
        let cells = |row| columns.iter().map(move |name| cell(batch.column_by_name(name).unwrap(), row));
        (0..batch.num_rows()).map(|row| cells(row).collect::<Vec<_>>().join("|")).collect()
    }

    /// `line code detail` of every finding.
    pub fn findings(&self) -> Vec<String> {
        let rows = self.rows(Table::Finding, &["line", "code", "detail"]);
        rows.into_iter().map(|row| row.replacen('|', " ", 2)).collect()
    }
}

fn cell(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return "~".to_owned();
    }
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        _ => column.as_string::<i32>().value(row).to_owned(),
    }
}
