//! Mapped JSON: records one a line, one after the other, in an array, or printed over many lines.

use super::Mapping;
use super::cells::{Cells, Row};
use crate::finding::Place;
use crate::format::json::complaint;
use crate::format::values::Values;
use crate::format::{Context, Line, Stream};
use crate::input::Limits;
use crate::row::Rows;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

pub struct Records {
    mapping: Arc<Mapping>,
    cx: Context,
    values: Values,
    unplaced: Cell<bool>,
}

impl Records {
    pub fn new(mapping: Arc<Mapping>, cx: Context, limits: Limits) -> Self {
        Records { mapping, cx, values: Values::new(limits.line), unplaced: Cell::new(false) }
    }
}

impl Stream for Records {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        let Records { mapping, cx, values, unplaced } = self;
        values.line(line, rows, &mut |place, text, rows| match serde_json::from_str::<Object>(text) {
            Ok(record) => Row { mapping, cx, place, cells: &record, unplaced }.add(rows),
            Err(error) => {
                let (code, detail) = complaint(&error);
                rows.refuse(code, place, &detail);
            }
        });
    }

    fn end(&mut self, rows: &mut Rows) {
        self.values.end(rows);
    }
}

/// The fields of a record with their values as written: a value of `serde_json` would round numbers.
struct Object(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut fields: Vec<(String, Box<RawValue>)> = Vec::new();
                let mut keys = BTreeSet::new();
                while let Some((key, value)) = map.next_entry::<String, _>()? {
                    if !keys.insert(key.clone()) {
                        return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
                    }
                    fields.push((key, value));
                }
                Ok(Object(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

impl Object {
    fn field(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// Every cell by its dotted name.
    fn cells(&self, path: &str, out: &mut Vec<(String, String)>) {
        for (key, value) in &self.0 {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            if let Ok(inner) = serde_json::from_str::<Object>(value.get()) {
                inner.cells(&path, out);
            } else if let Some(text) = scalar(value.get()) {
                out.push((path, text.into_owned()));
            }
        }
    }
}

impl Cells for Object {
    fn get(&self, column: &str) -> Option<Cow<'_, str>> {
        if let Some(raw) = self.field(column) {
            return scalar(raw.get());
        }
        let (outer, inner) = column.split_once('.')?;
        let object: Object = serde_json::from_str(self.field(outer)?.get()).ok()?;
        object.get(inner).map(|text| Cow::Owned(text.into_owned()))
    }
}

/// The text of a string, number or word of JSON; objects and lists are no cells.
fn scalar(json: &str) -> Option<Cow<'_, str>> {
    match json.as_bytes().first()? {
        b'"' => serde_json::from_str(json).ok().map(Cow::Owned),
        b'{' | b'[' => None,
        _ => Some(Cow::Borrowed(json)),
    }
}

/// The first `most` records of a text, each as its cells by dotted name.
pub fn flat(text: &str, most: usize) -> Vec<Vec<(String, String)>> {
    let (mut values, mut rows, mut records) = (Values::new(text.len()), Rows::default(), Vec::new());
    for (number, text) in (1..).zip(text.lines()) {
        let line = Line { text, place: Place::line(number), cut: false };
        values.line(line, &mut rows, &mut |_, text, _| {
            if let Ok(object) = serde_json::from_str::<Object>(text) {
                let mut cells = Vec::new();
                object.cells("", &mut cells);
                records.push(cells);
            }
        });
        if records.len() >= most {
            break;
        }
    }
    records
}
