//! Writing Parquet parts: each table of a source goes to a temporary file and is published when all are whole.

use super::publish;
use crate::error::{Error, Result};
use crate::row::{Table, Tables};
use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{Int64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows a row group holds at most: bounds both the writer's memory and what a reader must take at once.
const ROW_GROUP: usize = 1 << 17;

fn properties(schema: &SchemaRef) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // The crate's version alone: the bytes of a part must not depend on who built the binary.
        .set_created_by(concat!("probity ", env!("CARGO_PKG_VERSION")).to_owned());
    for field in schema.fields() {
        let path = ColumnPath::from(field.name().as_str());
        if *field.data_type() == arrow::datatypes::DataType::Int64 {
            // Places, request numbers and times grow in small steps.
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        } else if field.name().ends_with("_id") && field.name() != "sample_id" {
            // Ids are all different and as good as random.
            builder = builder.set_column_dictionary_enabled(path, false);
        }
    }
    builder.build()
}

fn writer(path: &Path, schema: SchemaRef) -> Result<ArrowWriter<File>> {
    let file = File::create(path).map_err(|e| Error::io("write", path, e))?;
    let properties = properties(&schema);
    // Only portable Parquet types: no Arrow schema in the metadata, so every engine sees plain VARCHAR.
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    Ok(ArrowWriter::try_new_with_options(file, schema, options)?)
}

/// Writes one batch as a whole part.
pub fn write_batch(path: &Path, batch: &RecordBatch) -> Result<()> {
    let mut out = writer(path, batch.schema())?;
    out.write(batch)?;
    out.close()?;
    Ok(())
}

/// The growing parts of one source.
pub struct Parts {
    folder: PathBuf,
    open: BTreeMap<Table, ArrowWriter<File>>,
    next_row: i64,
    /// Records read so far.
    pub read: i64,
    /// Records refused so far.
    pub refused: i64,
    /// Earliest and latest epoch time seen so far.
    pub observed: Option<(i64, i64)>,
}

impl Parts {
    /// Starts in an empty temporary folder; request numbers count from `first_row`.
    pub fn new(folder: PathBuf, first_row: i64) -> Parts {
        Parts { folder, open: BTreeMap::new(), next_row: first_row, read: 0, refused: 0, observed: None }
    }

    fn temporary(&self, table: Table) -> PathBuf {
        self.folder.join(format!("{}.parquet", table.as_str()))
    }

    /// Appends one stretch, shifting its request numbers behind those already written.
    pub fn write(&mut self, tables: Tables) -> Result<()> {
        for (table, batch) in tables.parts {
            if batch.num_rows() == 0 {
                continue;
            }
            self.observe(&batch);
            let batch = shifted(batch, self.next_row)?;
            if !self.open.contains_key(&table) {
                self.open.insert(table, writer(&self.temporary(table), batch.schema())?);
            }
            if let Some(out) = self.open.get_mut(&table) {
                out.write(&batch)?;
            }
        }
        self.next_row += tables.requests;
        self.read += tables.read;
        self.refused += tables.refused;
        Ok(())
    }

    fn observe(&mut self, batch: &RecordBatch) {
        let (Some(times), Some(clocks)) = (
            batch.column_by_name("t_ns").and_then(|c| c.as_primitive_opt::<Int64Type>()),
            batch.column_by_name("clock").and_then(|c| c.as_string_opt::<i32>()),
        ) else {
            return;
        };
        for (time, clock) in times.iter().zip(clocks.iter()) {
            if let (Some(t), Some(clock)) = (time, clock)
                && clock.starts_with("epoch:")
            {
                let (from, to) = self.observed.unwrap_or((t, t));
                self.observed = Some((from.min(t), to.max(t)));
            }
        }
    }

    /// Closes every part and moves it to `tables/<table>/<candidate>/<source>.parquet`.
    pub fn publish(&mut self, tables: &Path, candidate: &str, source: &str) -> Result<()> {
        for table in Table::ALL {
            let to = tables.join(table.as_str()).join(candidate).join(format!("{source}.parquet"));
            match self.open.remove(&table) {
                Some(out) => {
                    out.close()?;
                    publish(&self.temporary(table), &to)?;
                }
                // Read again with other options, a source may fill other tables than before.
                None if to.exists() => {
                    std::fs::remove_file(&to).map_err(|e| Error::io("replace", &to, e))?;
                }
                None => {}
            }
        }
        Ok(())
    }
}

fn shifted(batch: RecordBatch, by: i64) -> Result<RecordBatch> {
    let Ok(at) = batch.schema().index_of("row") else { return Ok(batch) };
    let Some(rows) = batch.column(at).as_primitive_opt::<Int64Type>() else { return Ok(batch) };
    let rows: Int64Array = rows.values().iter().map(|row| row + by).collect::<Vec<_>>().into();
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    columns[at] = Arc::new(rows);
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}
