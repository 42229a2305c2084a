//! The ledger: exchanges joined over their hops by ids, and the time to first token of each split into stages.
//!
//! Everything here is derived from the store's rows by the `.sql` files beside this module, in the order of
//! `build`; clocks are compared only as intervals that causality allows ([`clock`]).

pub mod clock;
mod exchange;
mod timeline;

pub use clock::Offset;
pub use exchange::{Exchange, Known, Stage, exchanges};
pub use timeline::{Evidence, Timeline, timelines, timelines_of};

use crate::check::{Checked, check};
use crate::error::{Error, Result};
use crate::finding::{Code, Finding, Place};
use crate::input::sha256_hex;
use crate::store::{Engine, SourceRow, Store};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use std::path::PathBuf;

/// The stages of the time to first token, in the order a request meets them.
pub const STAGES: [&str; 8] =
    ["ingress", "queue", "schedule", "ready", "model_load", "prefill", "transport", "unattributed"];

/// Ids that tie a row of another hop to a client's attempt, strongest first.
const LINKS: [(&str, &str); 6] = [
    ("span", "o.trace_id = a.trace_id AND o.parent_span_id = a.span_id"),
    ("request-id+attempt", "o.request_id = a.request_id AND o.attempt = a.attempt"),
    ("request-id", "o.request_id = a.request_id AND o.attempt IS NULL"),
    ("trace", "o.trace_id = a.trace_id"),
    ("response-id", "o.response_id = a.response_id"),
    ("timings", "o.echo_id = a.echo_id"),
];

/// A ledger that can be queried: the view `exchange` and what was found on the way.
pub struct Ledger {
    /// Session with the store's views and `exchange`.
    pub engine: Engine,
    /// Offsets between the clocks of each candidate.
    pub offsets: Vec<Offset>,
    /// What the sources' own rows contradict, and which sources are void.
    pub checked: Checked,
    /// Contradictions and gaps across sources.
    pub findings: Vec<Finding>,
    /// Sources it was derived from.
    pub sources: Vec<SourceRow>,
}

/// Opens the trial's ledger, deriving it anew when its inputs changed.
///
/// `cold_first` is how many requests after an instance's start count as cold.
///
/// # Errors
/// Nothing is loaded, or the engine cannot run.
pub fn open(store: &Store, cold_first: i64) -> Result<Ledger> {
    let sources = store.sources()?;
    if sources.is_empty() {
        return Err(Error::input(format!("nothing is loaded in {}", store.root().display()))
            .hint("load files with `probity load FILE… --candidate NAME`, or run `probity run`"));
    }
    let folder = store.ledger();
    std::fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, e))?;
    let digest = inputs_digest(&sources, cold_first);
    let kept = Kept::at(&folder, &digest);
    let engine = Engine::open(store)?;
    if !kept.complete() || engine.view_file("exchange", &kept.exchange).is_err() || kept.read().is_err() {
        clear(&folder)?;
        // In a session of its own: what it holds in memory goes with it.
        build(&Engine::open(store)?, cold_first, &kept)?;
        engine.view_file("exchange", &kept.exchange)?;
    }
    engine.execute(concat!("CREATE VIEW ledger AS ", include_str!("ledger/ledger.sql")))?;
    let (offsets, findings) = kept.read()?;
    Ok(Ledger { engine, offsets, checked: check(store)?, findings, sources })
}

/// Files of a derived ledger, named by the digest of what they were derived from.
struct Kept {
    exchange: PathBuf,
    notes: PathBuf,
}

impl Kept {
    fn at(folder: &std::path::Path, digest: &str) -> Kept {
        Kept {
            exchange: folder.join(format!("exchange-{digest}.parquet")),
            notes: folder.join(format!("notes-{digest}.json")),
        }
    }

    /// The notes are written last.
    fn complete(&self) -> bool {
        self.exchange.exists() && self.notes.exists()
    }

    fn read(&self) -> Result<(Vec<Offset>, Vec<Finding>)> {
        let text = std::fs::read(&self.notes).map_err(|e| Error::io("read", &self.notes, e))?;
        let (offsets, notes): (Vec<Offset>, Vec<(String, String, String)>) = serde_json::from_slice(&text)
            .map_err(|e| {
                Error::run(format!("{} is damaged", self.notes.display()))
                    .hint("delete the ledger folder: it is rebuilt from the tables")
                    .because(e)
            })?;
        let findings = notes
            .into_iter()
            .filter_map(|(code, file, detail)| {
                Some(Finding::new(Code::parse(&code)?, file, Place::FILE, detail))
            })
            .collect();
        Ok((offsets, findings))
    }

    fn write(&self, offsets: &[Offset], findings: &[Finding]) -> Result<()> {
        let notes: Vec<_> = findings.iter().map(|f| (f.code.id(), &f.file, &f.detail)).collect();
        let text = serde_json::to_vec(&(offsets, notes))
            .map_err(|e| Error::run("the ledger's notes could not be written").because(e))?;
        let temporary = self.notes.with_extension("tmp");
        std::fs::write(&temporary, text)
            .and_then(|()| std::fs::rename(&temporary, &self.notes))
            .map_err(|e| Error::io("write", &self.notes, e))
    }
}

/// Ledgers of other inputs: rebuildable, so they go.
fn clear(folder: &std::path::Path) -> Result<()> {
    for entry in std::fs::read_dir(folder).map_err(|e| Error::io("read", folder, e))?.flatten() {
        let path = entry.path();
        if path.is_file() {
            std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
        }
    }
    Ok(())
}

/// Digest of everything the ledger is derived from: sources, how they were read, and the code that derives.
fn inputs_digest(sources: &[SourceRow], cold_first: i64) -> String {
    let mut text = format!("{} {cold_first}\n", env!("CARGO_PKG_VERSION"));
    for sql in [
        include_str!("ledger/instant.sql"),
        include_str!("ledger/stated.sql"),
        include_str!("ledger/repeated.sql"),
        include_str!("ledger/retried.sql"),
        include_str!("ledger/attempt.sql"),
        include_str!("ledger/unlinked.sql"),
        include_str!("ledger/link.sql"),
        include_str!("ledger/index.sql"),
        include_str!("ledger/seen.sql"),
        include_str!("ledger/retry.sql"),
        include_str!("ledger/record.sql"),
        include_str!("ledger/joined.sql"),
        include_str!("ledger/order.sql"),
        include_str!("ledger/stage.sql"),
        include_str!("ledger/cold.sql"),
        include_str!("ledger/exchange.sql"),
        include_str!("ledger/contradiction.sql"),
    ] {
        text.push_str(sql);
    }
    for s in sources {
        let line = [&s.candidate, &s.sha256, &s.format, &s.hop, &s.clock, &s.zone, &s.map]
            .map(String::as_str)
            .join("\t");
        text.push_str(&line);
        text.push('\n');
    }
    sha256_hex(text.as_bytes())[..16].to_owned()
}

fn build(engine: &Engine, cold_first: i64, kept: &Kept) -> Result<()> {
    // The tables on the way need no order. What is asked or written does, and with this setting the engine hands even an
    // ordered result of several row groups over in the order in which its threads finish.
    engine.execute("SET preserve_insertion_order = false")?;
    let table = |name: &str, sql: &str| engine.execute(&format!("CREATE TABLE {name} AS {sql}"));
    // What no later step reads makes room for what comes.
    let drop = |name: &str| engine.execute(&format!("DROP TABLE {name}"));
    table("instant", include_str!("ledger/instant.sql"))?;
    table("stated", include_str!("ledger/stated.sql"))?;
    table("repeated", include_str!("ledger/repeated.sql"))?;
    table("retried", include_str!("ledger/retried.sql"))?;
    table("attempt", include_str!("ledger/attempt.sql"))?;
    link(engine)?;
    table("seen", include_str!("ledger/seen.sql"))?;
    table("retry", include_str!("ledger/retry.sql"))?;
    table("record", include_str!("ledger/record.sql"))?;
    drop("instant")?;
    table("joined", include_str!("ledger/joined.sql"))?;
    for done in ["stated", "attempt", "record", "retried", "retry"] {
        drop(done)?;
    }
    engine.execute("SET preserve_insertion_order = true")?;
    let (offsets, mut findings) = clock::offsets(&engine.query(include_str!("ledger/order.sql"))?);
    engine.execute(&clock::table(&offsets))?;
    table("staged", include_str!("ledger/stage.sql"))?;
    table("cold", &include_str!("ledger/cold.sql").replace("{k}", &cold_first.to_string()))?;
    engine.copy_to(include_str!("ledger/exchange.sql"), &kept.exchange)?;
    findings.extend(contradictions(engine)?);
    kept.write(&offsets, &findings)
}

/// Ties rows of other hops to attempts by one id after the other; each id only sees what is still untied.
fn link(engine: &Engine) -> Result<()> {
    // The strongest id ties most rows: only what it leaves is worth a table.
    engine.execute(concat!("CREATE VIEW unlinked AS ", include_str!("ledger/unlinked.sql")))?;
    let sql = |how: &str, on: &str| include_str!("ledger/link.sql").replace("{how}", how).replace("{on}", on);
    let (how, on) = LINKS[0];
    engine.execute(&format!("CREATE TABLE link AS {}", sql(how, on)))?;
    engine.execute("DROP VIEW unlinked")?;
    let rest = concat!(include_str!("ledger/unlinked.sql"), " AND r.row NOT IN (SELECT row FROM link)");
    engine.execute(&format!("CREATE TABLE unlinked AS {rest}"))?;
    for (how, on) in &LINKS[1..] {
        if none_left(engine)? {
            return Ok(());
        }
        engine.execute(&format!("INSERT INTO link {}", sql(how, on)))?;
    }
    if none_left(engine)? {
        return Ok(());
    }
    engine.execute(concat!("INSERT INTO link ", include_str!("ledger/index.sql")))
}

/// Takes the rows tied so far out of `unlinked`; whether that was all.
fn none_left(engine: &Engine) -> Result<bool> {
    engine.execute("DELETE FROM unlinked WHERE row IN (SELECT row FROM link)")?;
    Ok(count(engine, "SELECT COUNT(*) FROM unlinked")? == 0)
}

/// What joining and nesting contradicted, as findings with their arithmetic.
fn contradictions(engine: &Engine) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for batch in engine.query(include_str!("ledger/contradiction.sql"))? {
        let (codes, candidates) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
        let details = batch.column(2).as_string::<i32>();
        for at in 0..batch.num_rows() {
            if let Some(code) = Code::parse(codes.value(at)) {
                findings.push(Finding::new(code, candidates.value(at), Place::FILE, details.value(at)));
            }
        }
    }
    Ok(findings)
}

/// First cell of a query that gives one integer.
fn count(engine: &Engine, sql: &str) -> Result<i64> {
    let batches = engine.query(sql)?;
    let cell = batches.first().and_then(|b| b.column(0).as_primitive_opt::<Int64Type>().map(|c| c.value(0)));
    cell.ok_or_else(|| Error::run(format!("a count came back empty: {sql}")))
}
