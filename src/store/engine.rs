//! The embedded engine: `DuckDB` in memory, looking at the store's parts through views.

use super::{SourceRow, Store, source};
use crate::error::{Error, Result};
use crate::row::Table;
use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::RecordBatch;
use duckdb::{Config, Connection};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fmt::Write;
use std::path::Path;

impl From<duckdb::Error> for Error {
    fn from(error: duckdb::Error) -> Self {
        let cause: Box<dyn std::error::Error + Send + Sync> = match error {
            duckdb::Error::DuckDBFailure(_, Some(message)) => message.into(),
            other => other.into(),
        };
        Error::run("the embedded engine refused a query").because(cause)
    }
}

/// What the engine's parser says of a query.
#[derive(Deserialize)]
struct Parsed {
    error: bool,
    error_type: Option<String>,
    #[serde(default)]
    error_message: String,
    #[serde(default)]
    statements: Vec<IgnoredAny>,
}

/// A session over one trial's rows.
pub struct Engine {
    connection: Connection,
}

impl Engine {
    /// Opens a session with a view for every table of the store (`source`, `request`, `mark`, …).
    ///
    /// # Errors
    /// The engine cannot start, or a part cannot be read.
    pub fn open(store: &Store) -> Result<Engine> {
        let sources = store.sources()?;
        let config = Config::default()
            .enable_autoload_extension(false)?
            .with("temp_directory", store.ledger().join(".spill").to_string_lossy())?;
        let engine = Engine { connection: Connection::open_in_memory_with_flags(config)? };
        let tables = store.tables();
        engine.view("source", &source::schema(), &paths(&tables, "source", &sources))?;
        for table in Table::ALL {
            engine.view(table.as_str(), &table.schema(), &paths(&tables, table.as_str(), &sources))?;
        }
        Ok(engine)
    }

    /// Takes away every way to the outside but the trial's own rows: what a user's SQL may do.
    ///
    /// # Errors
    /// The engine refuses the settings.
    pub fn fence(&self, store: &Store) -> Result<()> {
        let folders = [store.tables(), store.ledger()].map(|f| quote(&format!("{}/", f.to_string_lossy())));
        self.execute(&format!(
            "SET allowed_directories = [{}]; SET enable_external_access = false; SET lock_configuration = true",
            folders.join(", ")
        ))
    }

    fn view(&self, name: &str, schema: &Schema, files: &[String]) -> Result<()> {
        let body = if files.is_empty() {
            let columns: Vec<String> = schema
                .fields()
                .iter()
                .map(|f| format!("CAST(NULL AS {}) AS {}", sql_type(f.data_type()), f.name()))
                .collect();
            format!("SELECT {} WHERE false", columns.join(", "))
        } else {
            let list: Vec<String> = files.iter().map(|f| quote(f)).collect();
            format!("SELECT * FROM read_parquet([{}])", list.join(", "))
        };
        self.execute(&format!("CREATE VIEW {name} AS {body}"))
    }

    /// Adds a view over one Parquet file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn view_file(&self, name: &str, file: &Path) -> Result<()> {
        let file = quote(&file.to_string_lossy());
        self.execute(&format!("CREATE OR REPLACE VIEW {name} AS SELECT * FROM read_parquet({file})"))
    }

    /// Runs statements for their effect.
    ///
    /// # Errors
    /// The engine refuses one.
    pub fn execute(&self, sql: &str) -> Result<()> {
        Ok(self.connection.execute_batch(sql)?)
    }

    /// Runs one query and takes all of its result.
    ///
    /// # Errors
    /// The engine refuses it.
    pub fn query(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        let mut statement = self.connection.prepare(sql)?;
        Ok(statement.query_arrow([])?.collect())
    }

    /// Runs a person's own question: one SELECT. What writes, attaches or sets is refused, as the engine's own parser
    /// tells; a fence alone would let it write into the trial.
    ///
    /// # Errors
    /// It is not one SELECT, or the engine refuses it.
    pub fn ask(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        let parse = format!("SELECT CAST(json_serialize_sql({}) AS VARCHAR) AS tree", quote(sql));
        let tree = self.rows(&parse, |c| c.text("tree"))?.concat();
        let parsed: Parsed = serde_json::from_str(&tree)
            .map_err(|e| Error::run("the embedded engine's parse could not be read").because(e))?;
        match (parsed.error, parsed.error_type.as_deref(), parsed.statements.len()) {
            (false, _, 1) => self.query(sql),
            (true, Some("parser"), _) => Err(Error::input(parsed.error_message)),
            _ => Err(Error::input("only one SELECT, DESCRIBE or SHOW is run")),
        }
    }

    /// Writes a query's result as one Parquet file, whole or not at all.
    ///
    /// # Errors
    /// The engine refuses the query or the file cannot be written.
    pub fn copy_to(&self, sql: &str, to: &Path) -> Result<()> {
        let temporary = to.with_extension("tmp");
        let target = quote(&temporary.to_string_lossy());
        self.execute(&format!("COPY ({sql}) TO {target} (FORMAT parquet, COMPRESSION zstd)"))?;
        super::publish(&temporary, to)
    }
}

fn paths(tables: &Path, table: &str, sources: &[SourceRow]) -> Vec<String> {
    sources
        .iter()
        .map(|s| tables.join(table).join(&s.candidate).join(format!("{}.parquet", s.source)))
        .filter(|path| path.exists())
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

fn sql_type(data: &DataType) -> &'static str {
    match data {
        DataType::Int64 => "BIGINT",
        DataType::Float64 => "DOUBLE",
        DataType::Boolean => "BOOLEAN",
        _ => "VARCHAR",
    }
}

/// A string literal.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    let _ = write!(out, "'{}'", text.replace('\'', "''"));
    out
}
