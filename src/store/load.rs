//! Loading one file: hash, keep the original, recognise, read, publish, log.

use super::pipeline::{self, Owner};
use super::source::SourceRow;
use super::{Store, custody, part::Parts, publish};
use crate::error::{Error, Result};
use crate::finding::{Code, Finding, Place};
use crate::format::mapping::Mapping;
use crate::format::{self, Context, Reader, Recognised};
use crate::input::{Head, Limits, Unpacked, ZONES, hash_file, is_archive, sha256_hex, unpack, zone};
use crate::row::{Hop, Table};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::{Path, PathBuf};

/// What the user says about the files of one load.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Candidate they speak about.
    pub candidate: String,
    /// Format id, when the user insists.
    pub format: Option<String>,
    /// What the columns of a table mean that no format knows.
    pub map: Option<Mapping>,
    /// Hop, when it is not the format's usual one.
    pub hop: Option<Hop>,
    /// Clock domain shared with other sources.
    pub clock: Option<String>,
    /// Zone of naive local times: an IANA name, `UTC`, or an offset such as `+08:00`.
    pub zone: Option<String>,
    /// When the files were received, epoch ns.
    pub received_at: i64,
    /// What an input may cost.
    pub limits: Limits,
}

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Read into the store.
    Loaded,
    /// The same bytes were there already, read with the same options.
    Already,
    /// Not one format, or nothing in it could be used: nothing was stored.
    Refused,
}

/// One file after loading.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Path as given; `archive!member` for a member of an archive.
    pub path: PathBuf,
    /// Which of the files given it is, or is a member of.
    pub given: usize,
    /// Whether it is a member of an archive.
    pub member: bool,
    /// What became of it.
    pub outcome: Outcome,
    /// The source, when it is in the store.
    pub source: Option<SourceRow>,
    /// What reading found: all findings of a refused file, else the first of every code with the count.
    pub findings: Vec<Finding>,
}

/// Told how far a load is: file, bytes done, bytes in all.
pub trait Progress {
    /// Called often; must be cheap.
    fn advance(&mut self, file: &Path, done: u64, of: u64);
}

impl Progress for () {
    fn advance(&mut self, _: &Path, _: u64, _: u64) {}
}

/// Loads files into the store, one after the other; a file that cannot be used does not stop the rest. Every member
/// of an archive is a file of its own.
///
/// # Errors
/// The store cannot be written, or a file cannot be read at all.
pub fn load(
    store: &Store,
    files: &[PathBuf],
    options: &LoadOptions,
    progress: &mut dyn Progress,
) -> Result<Vec<Loaded>> {
    let zone = options.zone.as_deref().map(declared_zone).transpose()?;
    // Every path is tried before anything is written: a typing error in the last one costs nothing.
    for path in files {
        std::fs::File::open(path).map_err(|e| Error::io("read", path, e))?;
    }
    let lock = store.lock()?;
    let mut known = store.sources()?;
    let mut loaded = Vec::with_capacity(files.len());
    let mut take = |file: File, member: Option<Unpacked>, given: usize| -> Result<()> {
        let mut result = match member {
            Some(Err((code, detail))) => {
                file.refused(vec![Finding::new(code, file.name(), Place::FILE, detail)])
            }
            _ => file.load(&known, progress)?,
        };
        if let (Outcome::Loaded, Some(row)) = (&result.outcome, &result.source) {
            known.retain(|k| (&k.candidate, &k.source) != (&row.candidate, &row.source));
            known.push(row.clone());
        }
        result.given = given;
        result.member = files.get(given).is_some_and(|path| path != file.shown);
        loaded.push(result);
        Ok(())
    };
    for (given, path) in files.iter().enumerate() {
        let file =
            File { store, path, shown: path, options, zone: &zone, partial: &lock.partial, archive: "" };
        if !is_archive(path)? {
            take(file, None, given)?;
            continue;
        }
        let (archive, _) = hash_file(path, None, |_| {})?;
        unpack(path, &lock.partial, options.limits, &mut |name, member| {
            let shown = Path::new(name);
            let path = *member.as_ref().unwrap_or(&shown);
            take(File { path, shown, archive: &archive, ..file }, Some(member), given)
        })?;
    }
    Ok(loaded)
}

fn declared_zone(name: &str) -> Result<jiff::tz::TimeZone> {
    zone(name).ok_or_else(|| Error::input(format!("unknown time zone {name:?}")).hint(format!("use {ZONES}")))
}

/// How a file is read: as a format, or by a mapping.
enum Way<'a> {
    Format(Recognised),
    Map(&'a Mapping),
}

impl Way<'_> {
    fn id(&self) -> &'static str {
        match self {
            Way::Format(recognised) => recognised.format.id(),
            Way::Map(_) => Mapping::FORMAT,
        }
    }

    fn version(&self) -> &str {
        match self {
            Way::Format(recognised) => &recognised.version,
            Way::Map(_) => "",
        }
    }

    fn hop(&self) -> Hop {
        match self {
            Way::Format(recognised) => recognised.format.hop(),
            Way::Map(map) => map.hop,
        }
    }

    fn map(&self) -> Option<&Mapping> {
        match self {
            Way::Format(_) => None,
            Way::Map(map) => Some(map),
        }
    }

    fn reader(&self, head: &Head, cx: &Context, limits: Limits) -> Reader {
        match self {
            Way::Format(recognised) => recognised.format.reader(cx),
            Way::Map(map) => map.reader(head, cx, limits),
        }
    }
}

/// The bytes of a file being loaded: where they are now, and where they stay.
struct Original {
    sha256: String,
    now: PathBuf,
    kept: PathBuf,
}

impl Original {
    /// Brings the copy to the disk.
    fn flush(&self) -> Result<()> {
        let flushed = std::fs::File::open(&self.now).and_then(|file| file.sync_all());
        flushed.map_err(|e| Error::io("write", &self.now, e))
    }

    /// Moves the copy into `evidence/`, where it is whole or not at all.
    fn keep(&self) -> Result<()> {
        if self.now == self.kept { Ok(()) } else { publish(&self.now, &self.kept) }
    }
}

#[derive(Clone, Copy)]
struct File<'a> {
    store: &'a Store,
    /// Where its bytes are.
    path: &'a Path,
    /// What people call it: the path as given, or the archive's and the member's name.
    shown: &'a Path,
    /// SHA-256 of the archive it is a member of, or empty.
    archive: &'a str,
    options: &'a LoadOptions,
    zone: &'a Option<jiff::tz::TimeZone>,
    partial: &'a Path,
}

impl File<'_> {
    /// The path within the trial where the file is part of it, so that a trial can move; else as given.
    fn name(&self) -> String {
        let within = || {
            let (root, path) = (std::path::absolute(self.store.root()), std::path::absolute(self.shown));
            path.ok()?.strip_prefix(root.ok()?).map(|p| p.display().to_string()).ok()
        };
        within().unwrap_or_else(|| self.shown.display().to_string())
    }

    /// Its name without folders, archives among them.
    fn file_name(&self) -> String {
        let name = self.shown.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if self.archive.is_empty() { name } else { name.rsplit('!').next().unwrap_or_default().to_owned() }
    }

    fn load(&self, known: &[SourceRow], progress: &mut dyn Progress) -> Result<Loaded> {
        let bytes = std::fs::metadata(self.path).map_err(|e| Error::io("read", self.path, e))?.len();
        let mut head = Head::read(self.path, self.options.limits)?;
        head.name = self.file_name();
        let way = match self.recognise(&head) {
            Ok(way) => way,
            Err(finding) => return Ok(self.refused(vec![finding])),
        };
        let original = self.take_in(bytes, known, progress)?;
        let sha256 = original.sha256.clone();
        let source = sha256[..12].to_owned();
        let row = SourceRow {
            candidate: self.options.candidate.clone(),
            evidence: format!("{sha256}.{}", extension(self.shown)),
            name: self.name(),
            bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
            format: way.id().to_owned(),
            version: way.version().to_owned(),
            map: way.map().map(|map| sha256_hex(map.text.as_bytes())).unwrap_or_default(),
            hop: self.options.hop.unwrap_or(way.hop()).as_str().to_owned(),
            clock: self.options.clock.clone().unwrap_or_default(),
            zone: self.options.zone.clone().unwrap_or_default(),
            received_at: self.options.received_at,
            sha256,
            source,
            ..SourceRow::default()
        };
        if let Some(twin) = known.iter().find(|k| k.first_row() == row.first_row() && k.sha256 != row.sha256)
        {
            let what = format!("{} and {} share the first digits of their hashes", twin.name, row.name);
            return Err(Error::run(what).hint("load one of them into another trial"));
        }
        if let Some(old) = known.iter().find(|k| (&k.candidate, &k.source) == (&row.candidate, &row.source)) {
            let same = |a: &SourceRow| [&a.format, &a.map, &a.hop, &a.clock, &a.zone].map(String::clone);
            if same(old) == same(&row) {
                original.keep()?;
                self.log(old)?;
                return Ok(Loaded {
                    path: self.shown.to_path_buf(),
                    given: 0,
                    member: false,
                    outcome: Outcome::Already,
                    source: Some(old.clone()),
                    findings: Vec::new(),
                });
            }
        }
        self.read(row, &way, &head, &original, progress)
    }

    fn recognise(&self, head: &Head) -> std::result::Result<Way<'_>, Finding> {
        let refuse = |code, detail: &str| Finding::new(code, self.name(), Place::FILE, detail);
        if head.whole && head.broken.is_none() && head.bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(refuse(Code::FileEmpty, "0 records"));
        }
        if let Some(map) = &self.options.map {
            return Ok(Way::Map(map));
        }
        let mut all = format::recognise(head);
        if let Some(id) = &self.options.format {
            let Some(format) = format::format(id) else {
                return Err(refuse(Code::FormatUnknown, &format!("no format is called {id:?}")));
            };
            let version =
                all.into_iter().find(|r| r.format.id() == id).map(|r| r.version).unwrap_or_default();
            return Ok(Way::Format(Recognised { format, version, because: "named by the user" }));
        }
        match all.len() {
            1 => Ok(Way::Format(all.remove(0))),
            0 => Err(match &head.broken {
                Some(why) => refuse(Code::CompressionBad, why),
                None => refuse(Code::FormatUnknown, &format::describe(head)),
            }),
            _ => {
                let list: Vec<_> = all.iter().map(|r| format!("{} ({})", r.format.id(), r.because)).collect();
                Err(refuse(Code::FormatAmbiguous, &list.join(", ")))
            }
        }
    }

    /// Hashes the file and copies it on the way, unless `evidence/` has it. Reading then uses that copy, which
    /// cannot change.
    fn take_in(&self, bytes: u64, known: &[SourceRow], progress: &mut dyn Progress) -> Result<Original> {
        // A file of a new length is new: one pass does both. Else the hash decides whether a copy is needed.
        let maybe_known = known.iter().any(|k| u64::try_from(k.bytes) == Ok(bytes));
        let evidence = self.store.evidence();
        let place = |sha256: &str| evidence.join(format!("{sha256}.{}", extension(self.shown)));
        if maybe_known {
            let (sha256, _) = hash_file(self.path, None, |_| {})?;
            let kept = place(&sha256);
            if kept.exists() {
                return Ok(Original { sha256, now: kept.clone(), kept });
            }
        }
        let now = self.partial.join("original");
        let mut copy = std::fs::File::create(&now).map_err(|e| Error::io("write", &now, e))?;
        // Taking in is about a quarter of the work of a load.
        let (sha256, _) = hash_file(self.path, Some((&mut copy, &now)), |done| {
            progress.advance(self.shown, done / 4, bytes);
        })?;
        Ok(Original { kept: place(&sha256), now, sha256 })
    }

    fn read(
        &self,
        mut row: SourceRow,
        way: &Way,
        head: &Head,
        original: &Original,
        progress: &mut dyn Progress,
    ) -> Result<Loaded> {
        let context = self.context(&row, way.hop());
        let folder = self.partial.join("parts");
        super::create_dir(&folder)?;
        let mut parts = Parts::new(folder, row.first_row());
        let total = u64::try_from(row.bytes).unwrap_or(0);
        std::thread::scope(|scope| {
            // The disk is the slowest: it takes the copy while the rows are read from memory.
            let flushed = scope.spawn(|| original.flush());
            pipeline::read(
                &original.now,
                way.reader(head, &context, self.options.limits),
                self.options.limits,
                Owner { candidate: &row.candidate, source: &row.source },
                &mut parts,
                &mut |done| progress.advance(self.shown, total / 4 + done.min(total) / 4 * 3, total),
            )?;
            flushed.join().unwrap_or_else(|_| Err(Error::run("a writing thread stopped early")))
        })?;
        original.keep()?;
        (row.read, row.refused) = (parts.read, parts.refused);
        let tables = self.store.tables();
        parts.publish(&tables, &row.candidate, &row.source)?;
        (row.observed_from, row.observed_to) = parts.observed.unzip();
        let findings = self.findings(&row)?;
        if row.read == 0 {
            self.discard(&row, &original.kept)?;
            let mut refused = self.refused(findings);
            if refused.findings.is_empty() {
                refused.findings.push(Finding::new(Code::FileEmpty, self.name(), Place::FILE, "0 records"));
            }
            return Ok(refused);
        }
        if let Some(map) = way.map() {
            self.keep_map(map, &row.map)?;
        }
        let temporary = self.partial.join("source.parquet");
        row.write(&temporary)?;
        let to = tables.join("source").join(&row.candidate).join(format!("{}.parquet", row.source));
        publish(&temporary, &to)?;
        self.log(&row)?;
        Ok(Loaded { outcome: Outcome::Loaded, source: Some(row), ..self.refused(findings) })
    }

    /// Keeps the mapping beside the original that was read with it.
    fn keep_map(&self, map: &Mapping, sha256: &str) -> Result<()> {
        let temporary = self.partial.join("map.toml");
        std::fs::write(&temporary, &map.text).map_err(|e| Error::io("write", &temporary, e))?;
        publish(&temporary, &self.store.evidence().join(format!("{sha256}.toml")))
    }

    fn context(&self, row: &SourceRow, hop: Hop) -> Context {
        Context {
            name: self.file_name(),
            source: row.source.clone(),
            hop: self.options.hop.unwrap_or(hop),
            clock: self.options.clock.clone(),
            zone: self.zone.clone(),
            received_ns: self.options.received_at,
        }
    }

    /// The first finding of every code in this source's part, with how many there are.
    fn findings(&self, row: &SourceRow) -> Result<Vec<Finding>> {
        let folder = self.store.tables().join(Table::Finding.as_str());
        let path = folder.join(&row.candidate).join(format!("{}.parquet", row.source));
        let Ok(file) = std::fs::File::open(&path) else { return Ok(Vec::new()) };
        let mut first: std::collections::BTreeMap<Code, (u64, Finding)> = std::collections::BTreeMap::new();
        for batch in ParquetRecordBatchReaderBuilder::try_new(file)?.build()? {
            let batch = batch?;
            let int = |name| batch.column_by_name(name).and_then(|c| c.as_primitive_opt::<Int64Type>());
            let word = |name| batch.column_by_name(name).and_then(|c| c.as_string_opt::<i32>());
            let (Some(lines), Some(items)) = (int("line"), int("item")) else { continue };
            let (Some(codes), Some(details)) = (word("code"), word("detail")) else { continue };
            for at in 0..batch.num_rows() {
                let Some(code) = Code::parse(codes.value(at)) else { continue };
                let place = Place::item(lines.value(at), items.value(at));
                first
                    .entry(code)
                    .or_insert_with(|| (0, Finding::new(code, self.name(), place, details.value(at))))
                    .0 += 1;
            }
        }
        Ok(first
            .into_values()
            .map(|(n, mut finding)| {
                if n > 1 {
                    finding.detail = format!("{} (+{} more)", finding.detail, n - 1);
                }
                finding
            })
            .collect())
    }

    fn refused(&self, findings: Vec<Finding>) -> Loaded {
        Loaded {
            path: self.shown.to_path_buf(),
            given: 0,
            member: false,
            outcome: Outcome::Refused,
            source: None,
            findings,
        }
    }

    /// Removes the parts of a source in which nothing could be used, and its original unless others need it.
    fn discard(&self, row: &SourceRow, original: &Path) -> Result<()> {
        for table in Table::ALL {
            let folder = self.store.tables().join(table.as_str()).join(&row.candidate);
            let path = folder.join(format!("{}.parquet", row.source));
            if path.exists() {
                std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
            }
        }
        if !self.store.sources()?.iter().any(|s| s.sha256 == row.sha256) {
            std::fs::remove_file(original).map_err(|e| Error::io("remove", original, e))?;
        }
        Ok(())
    }

    fn log(&self, row: &SourceRow) -> Result<()> {
        let at = jiff::Timestamp::from_nanosecond(i128::from(row.received_at))
            .map_err(|e| Error::input("the time of receipt is out of range").because(e))?;
        custody::record(
            &self.store.evidence(),
            custody::Entry {
                seq: 0,
                at: at.to_string(),
                action: "load".to_owned(),
                sha256: row.sha256.clone(),
                bytes: u64::try_from(row.bytes).unwrap_or(0),
                name: row.name.clone(),
                archive: self.archive.to_owned(),
                map: row.map.clone(),
                candidate: row.candidate.clone(),
                prev: String::new(),
            },
        )
    }
}

/// Extension of the original in `evidence/`: short and harmless, for people and their viewers only.
fn extension(path: &Path) -> String {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let plain =
        !extension.is_empty() && extension.len() <= 8 && extension.bytes().all(|b| b.is_ascii_alphanumeric());
    if plain { extension } else { "bin".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_harmless() {
        assert_eq!(extension(Path::new("a/b.JSONL")), "jsonl");
        assert_eq!(extension(Path::new("a/b.p/../x")), "bin");
        assert_eq!(extension(Path::new("a.ex=e")), "bin");
    }
}
