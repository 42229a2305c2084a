//! Reading a query's result cell by cell, by column name.

use super::Engine;
use crate::error::{Error, Result};
use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int64Type};
use arrow::record_batch::RecordBatch;

/// A value of a result whose type the asker does not know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Null.
    Null,
    /// BIGINT.
    Int(i64),
    /// DOUBLE.
    Real(f64),
    /// VARCHAR.
    Word(&'a str),
}

/// One row of a result.
#[derive(Clone, Copy)]
pub struct Cells<'a> {
    batch: &'a RecordBatch,
    row: usize,
}

impl<'a> Cells<'a> {
    fn column(&self, name: &str) -> Result<&'a dyn Array> {
        let batch: &'a RecordBatch = self.batch;
        let column = batch.column_by_name(name);
        column.map(AsRef::as_ref).ok_or_else(|| Error::run(format!("a query lacks its column {name}")))
    }

    fn typed<T>(&self, name: &str, cast: impl Fn(&'a dyn Array) -> Option<T>) -> Result<Option<T>> {
        let column = self.column(name)?;
        if column.is_null(self.row) {
            return Ok(None);
        }
        let wrong = || Error::run(format!("the column {name} came back as {}", column.data_type()));
        cast(column).ok_or_else(wrong).map(Some)
    }

    /// A value of any type.
    ///
    /// # Errors
    /// The column is missing, or neither BIGINT, DOUBLE nor VARCHAR.
    pub fn cell(&self, name: &str) -> Result<Cell<'a>> {
        let cast = |c: &'a dyn Array| {
            let int = || Some(Cell::Int(c.as_primitive_opt::<Int64Type>()?.value(self.row)));
            let real = || Some(Cell::Real(c.as_primitive_opt::<Float64Type>()?.value(self.row)));
            let word = || Some(Cell::Word(c.as_string_opt::<i32>()?.value(self.row)));
            int().or_else(real).or_else(word)
        };
        Ok(self.typed(name, cast)?.unwrap_or(Cell::Null))
    }

    /// An integer, or null.
    ///
    /// # Errors
    /// The column is missing or not BIGINT.
    pub fn int(&self, name: &str) -> Result<Option<i64>> {
        self.typed(name, |c| Some(c.as_primitive_opt::<Int64Type>()?.value(self.row)))
    }

    /// An integer that the query never leaves null; null reads as 0.
    ///
    /// # Errors
    /// The column is missing or not BIGINT.
    pub fn count(&self, name: &str) -> Result<i64> {
        Ok(self.int(name)?.unwrap_or(0))
    }

    /// A real number, or null.
    ///
    /// # Errors
    /// The column is missing or not DOUBLE.
    pub fn real(&self, name: &str) -> Result<Option<f64>> {
        self.typed(name, |c| Some(c.as_primitive_opt::<Float64Type>()?.value(self.row)))
    }

    /// A flag, or null.
    ///
    /// # Errors
    /// The column is missing or not BOOLEAN.
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.typed(name, |c| Some(c.as_boolean_opt()?.value(self.row)))
    }

    /// A word, or null.
    ///
    /// # Errors
    /// The column is missing or not VARCHAR.
    pub fn word(&self, name: &str) -> Result<Option<&'a str>> {
        self.typed(name, |c| Some(c.as_string_opt::<i32>()?.value(self.row)))
    }

    /// A word; null reads as empty.
    ///
    /// # Errors
    /// The column is missing or not VARCHAR.
    pub fn text(&self, name: &str) -> Result<String> {
        Ok(self.word(name)?.unwrap_or_default().to_owned())
    }
}

impl Engine {
    /// Runs a query and makes one value of every row.
    ///
    /// # Errors
    /// The engine refuses the query, or a row is not what is expected.
    pub fn rows<T>(&self, sql: &str, each: impl Fn(Cells) -> Result<T>) -> Result<Vec<T>> {
        let mut out = Vec::new();
        for batch in self.query(sql)? {
            for row in 0..batch.num_rows() {
                out.push(each(Cells { batch: &batch, row })?);
            }
        }
        Ok(out)
    }
}
