//! `probity sql`: a person's own question to the trial's tables, read-only and fenced in.

use super::{Exit, Session, table};
use crate::error::{Error, Result};
use crate::ledger;
use crate::store::{Engine, Store};
use crate::trial::Trial;
use arrow::array::Array;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use clap::Args;
use serde_json::{Map, Value};

#[derive(Debug, Args)]
pub struct Arguments {
    /// One query over source, request, mark, measure, series, event, run, aggregate, finding, exchange, ledger
    query: String,
}

pub fn run(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    let store = Store::new(session.root());
    let cold_first = Trial::load_or_default(session.root())?.cold_first;
    let engine = match ledger::open(&store, cold_first) {
        Ok(ledger) => ledger.engine,
        Err(_) if store.sources()?.is_empty() => Engine::open(&store)?,
        Err(error) => return Err(error),
    };
    engine.fence(&store)?;
    let batches = engine.ask(&arguments.query).map_err(|e| {
        Error::input("the query was refused")
            .hint("`DESCRIBE exchange` shows the columns of a table")
            .because(e)
    })?;
    let options = FormatOptions::default();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut objects: Vec<Value> = Vec::new();
    for batch in &batches {
        let schema = batch.schema();
        let columns = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
            .collect::<std::result::Result<Vec<_>, _>>()?;
        if rows.is_empty() {
            rows.push(schema.fields().iter().map(|f| f.name().clone()).collect());
        }
        for at in 0..batch.num_rows() {
            if session.out.json {
                let cells = schema.fields().iter().zip(batch.columns()).zip(&columns).map(
                    |((field, column), shown)| {
                        (field.name().clone(), json(column.as_ref(), at, &shown.value(at).to_string()))
                    },
                );
                objects.push(Value::Object(cells.collect::<Map<_, _>>()));
            } else {
                rows.push(columns.iter().map(|c| c.value(at).to_string()).collect());
            }
        }
    }
    if session.out.json {
        session.out.value(&objects)?;
    } else {
        for text in table::lines(&rows) {
            session.out.line(&text)?;
        }
    }
    Ok(Exit::Good)
}

/// A cell as JSON: numbers and flags as such, null as null, all else as text.
fn json(column: &dyn Array, at: usize, shown: &str) -> Value {
    if column.is_null(at) {
        return Value::Null;
    }
    let plain = column.data_type().is_numeric() || *column.data_type() == arrow::datatypes::DataType::Boolean;
    match serde_json::from_str(shown) {
        Ok(value) if plain => value,
        _ => Value::String(shown.to_owned()),
    }
}
