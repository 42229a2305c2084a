//! One row a source: what was loaded, what it is, and how much of it could be read.

use super::part;
use crate::error::{Error, Result};
use arrow::array::{ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// A loaded source, as `probity sources` shows it and the `source` view holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceRow {
    /// Candidate it speaks about.
    pub candidate: String,
    /// First 12 hex digits of `sha256`: the id used in every row.
    pub source: String,
    /// SHA-256 of the file's bytes.
    pub sha256: String,
    /// Path it was loaded from: within the trial's folder where it lies there, else as given.
    pub name: String,
    /// File name in `evidence/`.
    pub evidence: String,
    /// Length in bytes.
    pub bytes: i64,
    /// Format id.
    pub format: String,
    /// Version the file states, or empty.
    pub version: String,
    /// SHA-256 of the mapping it was read with, which is kept in `evidence/`; or empty.
    pub map: String,
    /// Hop.
    pub hop: String,
    /// Clock domain the user declared, or empty.
    pub clock: String,
    /// Zone the user declared, or empty.
    pub zone: String,
    /// Earliest time in it, epoch ns on its own clock, when it has epoch times.
    pub observed_from: Option<i64>,
    /// Latest time in it.
    pub observed_to: Option<i64>,
    /// When it was loaded, epoch ns.
    pub received_at: i64,
    /// Records read.
    pub read: i64,
    /// Records refused.
    pub refused: i64,
}

const WORDS: [&str; 11] =
    ["candidate", "source", "sha256", "name", "evidence", "format", "version", "map", "hop", "clock", "zone"];
const NUMBERS: [&str; 6] = ["bytes", "observed_from", "observed_to", "received_at", "read", "refused"];

/// Columns of the `source` view.
pub fn schema() -> SchemaRef {
    let words = WORDS.iter().map(|name| Field::new(*name, DataType::Utf8, false));
    let numbers = NUMBERS.iter().map(|name| Field::new(*name, DataType::Int64, name.starts_with("observed")));
    Arc::new(Schema::new(words.chain(numbers).collect::<Vec<_>>()))
}

impl SourceRow {
    /// Number of this source's first request row: 31 bits of the hash of candidate and content, then room for
    /// 2^32 rows. Row numbers are thus unique in a trial and the same wherever the bytes are loaded.
    #[must_use]
    pub fn first_row(&self) -> i64 {
        let digest = crate::input::sha256_hex(format!("{}\0{}", self.candidate, self.sha256).as_bytes());
        i64::from_str_radix(&digest[..8], 16).map_or(0, |bits| (bits >> 1) << 32)
    }

    fn words(&mut self) -> [&mut String; 11] {
        [
            &mut self.candidate,
            &mut self.source,
            &mut self.sha256,
            &mut self.name,
            &mut self.evidence,
            &mut self.format,
            &mut self.version,
            &mut self.map,
            &mut self.hop,
            &mut self.clock,
            &mut self.zone,
        ]
    }

    /// Writes the row as a Parquet part.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut row = self.clone();
        let numbers = [
            Some(row.bytes),
            row.observed_from,
            row.observed_to,
            Some(row.received_at),
            Some(row.read),
            Some(row.refused),
        ];
        let words =
            row.words().map(|word| Arc::new(StringArray::from(vec![word.as_str()])) as ArrayRef).into_iter();
        let numbers = numbers.into_iter().map(|n| Arc::new(Int64Array::from(vec![n])) as ArrayRef);
        let batch = RecordBatch::try_new(schema(), words.chain(numbers).collect())?;
        part::write_batch(path, &batch)
    }

    fn read(path: &Path) -> Result<SourceRow> {
        let damaged = || {
            Error::input(format!("{} is not a source part", path.display()))
                .hint("delete it and load the file again")
        };
        let file = std::fs::File::open(path).map_err(|e| Error::io("read", path, e))?;
        let mut batches = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(ParquetRecordBatchReaderBuilder::build)
            .map_err(|e| damaged().because(e))?;
        let batch = batches.next().ok_or_else(damaged)??;
        let mut row = SourceRow::default();
        for (word, name) in row.words().into_iter().zip(WORDS) {
            let column =
                batch.column_by_name(name).and_then(|c| c.as_string_opt::<i32>()).ok_or_else(damaged)?;
            column.value(0).clone_into(word);
        }
        let number = |name| {
            let column = batch.column_by_name(name).and_then(|c| c.as_primitive_opt::<Int64Type>());
            column.ok_or_else(damaged).map(|c| c.iter().next().flatten())
        };
        row.bytes = number("bytes")?.unwrap_or_default();
        row.observed_from = number("observed_from")?;
        row.observed_to = number("observed_to")?;
        row.received_at = number("received_at")?.unwrap_or_default();
        row.read = number("read")?.unwrap_or_default();
        row.refused = number("refused")?.unwrap_or_default();
        Ok(row)
    }
}

/// Every source part below `folder`, ordered by candidate and source id.
pub fn read_all(folder: &Path) -> Result<Vec<SourceRow>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let files = crate::input::walk(&[folder.to_path_buf()])?;
    files
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|e| e == "parquet"))
        .map(|(path, _)| SourceRow::read(path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let row = SourceRow {
            candidate: "a".into(),
            source: "0123456789ab".into(),
            observed_from: Some(-1),
            received_at: 7,
            read: 3,
            ..SourceRow::default()
        };
        row.write(&dir.path().join("x.parquet")).unwrap();
        std::fs::write(dir.path().join("x.tmp"), "not one").unwrap();
        assert_eq!(read_all(dir.path()).unwrap(), [row]);
        std::fs::write(dir.path().join("y.parquet"), "garbage").unwrap();
        assert!(read_all(dir.path()).unwrap_err().what.ends_with("y.parquet is not a source part"));
    }
}
