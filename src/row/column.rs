//! Growable columns of the four portable types, and how each becomes an Arrow array.

use arrow::array::{ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow::datatypes::DataType;
use std::sync::Arc;

/// A column that grows value by value and is finished once.
pub trait Column: Default {
    /// What one cell is.
    type Value<'a>;
    /// Arrow type of the column: one of BIGINT, DOUBLE, VARCHAR, BOOLEAN.
    const TYPE: DataType;
    /// Whether a cell may be null.
    const NULLABLE: bool;
    /// Adds a cell.
    fn push(&mut self, value: Self::Value<'_>);
    /// The column so far.
    fn finish(self) -> ArrayRef;
}

macro_rules! column {
    ($(#[doc = $doc:literal])+ $name:ident($builder:ty): $value:ty, $type:expr, null $nullable:literal,
     |$this:ident, $v:ident| $push:expr) => {
        $(#[doc = $doc])+
        #[derive(Default)]
        pub struct $name($builder);

        impl Column for $name {
            type Value<'a> = $value;
            const TYPE: DataType = $type;
            const NULLABLE: bool = $nullable;
            fn push(&mut self, $v: Self::Value<'_>) {
                let $this = &mut self.0;
                $push
            }
            fn finish(mut self) -> ArrayRef {
                Arc::new(self.0.finish())
            }
        }
    };
}

column! {
    /// Integers: nanoseconds, tokens, counts, line numbers.
    Int(Int64Builder): i64, DataType::Int64, null false, |b, v| b.append_value(v)
}
column! {
    /// Integers that a source may leave out.
    IntNull(Int64Builder): Option<i64>, DataType::Int64, null true, |b, v| b.append_option(v)
}
column! {
    /// Real figures as the source states them.
    Real(Float64Builder): f64, DataType::Float64, null false, |b, v| b.append_value(v)
}
column! {
    /// Words.
    Text(StringBuilder): &'a str, DataType::Utf8, null false, |b, v| b.append_value(v)
}
column! {
    /// Words that a source may leave out.
    TextNull(StringBuilder): Option<&'a str>, DataType::Utf8, null true, |b, v| b.append_option(v)
}
column! {
    /// Yes, no, or not stated.
    FlagNull(BooleanBuilder): Option<bool>, DataType::Boolean, null true, |b, v| b.append_option(v)
}

/// A constant column: the same word on every row, kept as one dictionary entry.
#[must_use]
pub fn constant(word: &str, len: usize) -> ArrayRef {
    let keys = arrow::array::Int32Array::from(vec![0; len]);
    let words = Arc::new(arrow::array::StringArray::from(vec![word]));
    Arc::new(arrow::array::DictionaryArray::new(keys, words))
}
