//! Writing Parquet parts: each table of a source goes to a temporary file, by a thread of its own so that encoding
//! keeps up with reading, and is published when all are whole. The bytes depend on the rows alone, never on threads.

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
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Rows a row group holds at most: bounds both the writer's memory and what a reader must take at once.
const ROW_GROUP: usize = 1 << 17;

/// Batches that wait for a writing thread: enough to keep it busy, few enough to bound memory.
const WAITING: usize = 2;

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
            continue;
        }
        if field.name().ends_with("_id") && field.name() != "sample_id" {
            // Ids are all different and as good as random.
            builder = builder.set_column_dictionary_enabled(path.clone(), false);
        }
        if field.name() != "hop" {
            // Bounds cost two comparisons a value; of all words only a hop's ever exclude a part from a query.
            builder = builder.set_column_statistics_enabled(path, EnabledStatistics::None);
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

/// One growing part: batches with what to add to their request numbers, and the thread that writes them.
struct Part {
    batches: SyncSender<(RecordBatch, i64)>,
    thread: Ending,
}

/// Earliest and latest epoch time.
type Observed = Option<(i64, i64)>;

/// A part that gets no more batches, until it is whole.
type Ending = JoinHandle<Result<Observed>>;

impl Part {
    fn start(path: &Path, schema: SchemaRef) -> Result<Part> {
        let mut out = writer(path, schema)?;
        let (batches, waiting) = sync_channel::<(RecordBatch, i64)>(WAITING);
        let thread = std::thread::spawn(move || {
            let mut observed = None;
            for (batch, by) in waiting {
                observed = union(observed, observe(&batch));
                out.write(&shifted(batch, by)?)?;
            }
            out.close()?;
            Ok(observed)
        });
        Ok(Part { batches, thread })
    }

    fn end(self) -> Ending {
        self.thread
    }
}

fn finish(part: Ending) -> Result<Observed> {
    part.join().unwrap_or_else(|_| Err(Error::run("a writing thread stopped early")))
}

/// The growing parts of one source.
pub struct Parts {
    folder: PathBuf,
    open: BTreeMap<Table, Part>,
    next_row: i64,
    /// Records read so far.
    pub read: i64,
    /// Records refused so far.
    pub refused: i64,
    /// Earliest and latest epoch time in the parts published.
    pub observed: Observed,
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
            let part = match self.open.remove(&table) {
                Some(part) => part,
                None => Part::start(&self.temporary(table), batch.schema())?,
            };
            if part.batches.send((batch, self.next_row)).is_err() {
                // The thread gave up: what it says is why.
                finish(part.end())?;
            } else {
                self.open.insert(table, part);
            }
        }
        self.next_row += tables.requests;
        self.read += tables.read;
        self.refused += tables.refused;
        Ok(())
    }

    /// Closes every part and moves it to `tables/<table>/<candidate>/<source>.parquet`.
    pub fn publish(&mut self, tables: &Path, candidate: &str, source: &str) -> Result<()> {
        // All end at once, and every part is whole before the first is moved.
        let open = std::mem::take(&mut self.open).into_iter();
        let ending: Vec<(Table, Ending)> = open.map(|(table, part)| (table, part.end())).collect();
        let mut whole = BTreeSet::new();
        for (table, ending) in ending {
            self.observed = union(self.observed, finish(ending)?);
            whole.insert(table);
        }
        for table in Table::ALL {
            let to = tables.join(table.as_str()).join(candidate).join(format!("{source}.parquet"));
            if whole.contains(&table) {
                publish(&self.temporary(table), &to)?;
            } else if to.exists() {
                // Read again with other options, a source may fill other tables than before.
                std::fs::remove_file(&to).map_err(|e| Error::io("replace", &to, e))?;
            }
        }
        Ok(())
    }
}

fn observe(batch: &RecordBatch) -> Observed {
    let times = batch.column_by_name("t_ns")?.as_primitive_opt::<Int64Type>()?;
    let clocks = batch.column_by_name("clock")?.as_string_opt::<i32>()?;
    let epoch = times
        .iter()
        .zip(clocks)
        .filter(|(_, clock)| clock.is_some_and(|clock| clock.starts_with("epoch:")))
        .filter_map(|(time, _)| time);
    epoch.fold(None, |observed, t| union(observed, Some((t, t))))
}

fn union(a: Observed, b: Observed) -> Observed {
    match (a, b) {
        (Some((a_from, a_to)), Some((b_from, b_to))) => Some((a_from.min(b_from), a_to.max(b_to))),
        _ => a.or(b),
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
