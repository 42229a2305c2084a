//! The tables of the store: their columns, declared once.

use super::column::{Column, FlagNull, Int, IntNull, Real, Text, TextNull, constant};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// A table of the store, filled from one source at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// One request (attempt) as one hop saw it.
    Request,
    /// Named instants of requests.
    Mark,
    /// Stated durations of requests, each with its definition.
    Measure,
    /// Time series samples.
    Series,
    /// Start-up steps, health probes, warnings, spans.
    Event,
    /// Facts about runs and configurations.
    Run,
    /// Figures over many requests.
    Aggregate,
    /// What reading found.
    Finding,
}

impl Table {
    /// Every table a source can fill.
    pub const ALL: [Table; 8] = [
        Table::Request,
        Table::Mark,
        Table::Measure,
        Table::Series,
        Table::Event,
        Table::Run,
        Table::Aggregate,
        Table::Finding,
    ];

    /// Folder and view name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Table::Request => "request",
            Table::Mark => "mark",
            Table::Measure => "measure",
            Table::Series => "series",
            Table::Event => "event",
            Table::Run => "run",
            Table::Aggregate => "aggregate",
            Table::Finding => "finding",
        }
    }

    /// Columns, in order.
    #[must_use]
    pub fn schema(self) -> SchemaRef {
        match self {
            Table::Request => request::schema(),
            Table::Mark => mark::schema(),
            Table::Measure => measure::schema(),
            Table::Series => series::schema(),
            Table::Event => event::schema(),
            Table::Run => run::schema(),
            Table::Aggregate => aggregate::schema(),
            Table::Finding => finding::schema(),
        }
    }
}

/// What one stretch of a source became.
pub struct Tables {
    /// Requests in it: how far the next stretch's numbers are shifted.
    pub requests: i64,
    /// Records read.
    pub read: i64,
    /// Records refused.
    pub refused: i64,
    /// One batch a table; batches may be empty.
    pub parts: Vec<(Table, RecordBatch)>,
}

/// Declares one table: its row as the readers fill it, its growing columns, its schema.
macro_rules! table {
    ($table:ident { $($name:ident: $kind:ident),+ $(,)? }) => {
        pub mod $table {
            use super::*;

            /// One row, as a reader fills it.
            #[derive(Clone, Copy)]
            pub struct Row<'a> {
                $(pub $name: <$kind as Column>::Value<'a>,)+
            }

            /// Growing columns.
            #[derive(Default)]
            pub struct Builder { len: usize, $($name: $kind,)+ }

            impl Builder {
                pub fn push(&mut self, row: Row<'_>) {
                    self.len += 1;
                    $(self.$name.push(row.$name);)+
                }

                pub fn finish(
                    self,
                    candidate: &str,
                    source: &str,
                ) -> crate::error::Result<RecordBatch> {
                    let columns: Vec<ArrayRef> = vec![
                        constant(candidate, self.len),
                        constant(source, self.len),
                        $(self.$name.finish(),)+
                    ];
                    Ok(RecordBatch::try_new(schema(), columns)?)
                }
            }

            pub fn schema() -> SchemaRef {
                let word = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                Arc::new(Schema::new(vec![
                    Field::new("candidate", word.clone(), false),
                    Field::new("source", word, false),
                    $(Field::new(stringify!($name), $kind::TYPE, $kind::NULLABLE),)+
                ]))
            }
        }
    };
}

table!(request {
    row: Int,
    line: Int,
    item: Int,
    hop: Text,
    request_id: TextNull,
    trace_id: TextNull,
    span_id: TextNull,
    parent_span_id: TextNull,
    response_id: TextNull,
    echo_id: TextNull,
    attempt: IntNull,
    caller: TextNull,
    model: TextNull,
    instance: TextNull,
    class: TextNull,
    phase: TextNull,
    sample_id: TextNull,
    input_tokens: IntNull,
    output_tokens: IntNull,
    cached_tokens: IntNull,
    status: IntNull,
    outcome: Text,
    error: TextNull,
    streamed: FlagNull,
});
table!(mark { row: Int, line: Int, item: Int, name: Text, t_ns: Int, clock: Text, resolution_ns: Int });
table!(measure {
    row: Int,
    line: Int,
    item: Int,
    definition: Text,
    duration_ns: Int,
    unit: Text,
    resolution_ns: Int,
});
table!(series { line: Int, item: Int, metric: Text, labels: Text, t_ns: Int, clock: Text, value: Real });
table!(event {
    line: Int,
    item: Int,
    hop: Text,
    kind: Text,
    t_ns: IntNull,
    clock: Text,
    resolution_ns: Int,
    duration_ns: IntNull,
    instance: TextNull,
    trace_id: TextNull,
    detail: Text,
});
table!(run { line: Int, item: Int, key: Text, value: Text });
table!(aggregate {
    line: Int,
    item: Int,
    metric: Text,
    statistic: Text,
    value: Real,
    unit: Text,
    n: IntNull,
    definition: Text,
});
table!(finding { line: Int, item: Int, code: Text, severity: Text, detail: Text });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_portable_and_every_row_has_candidate_source_and_place() {
        let word = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let portable = [DataType::Int64, DataType::Float64, DataType::Utf8, DataType::Boolean, word];
        for table in Table::ALL {
            let schema = table.schema();
            for name in ["candidate", "source", "line", "item"] {
                assert!(schema.field_with_name(name).is_ok(), "{} lacks {name}", table.as_str());
            }
            for field in schema.fields() {
                assert!(portable.contains(field.data_type()), "{}.{}", table.as_str(), field.name());
            }
        }
    }
}
