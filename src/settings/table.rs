//! Reading tables strictly: keys are taken one by one, and what is left over is unknown.

use super::value::{quoted, short, shown};
use crate::finding::{Code, Finding, Place};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most findings worth showing: a file with more of them is another file by mistake.
const MOST: usize = 100;

/// A file while it is read: its lines, and the findings so far.
pub struct Reading<'a> {
    file: &'a str,
    line_starts: Vec<usize>,
    findings: RefCell<Vec<Finding>>,
}

impl<'a> Reading<'a> {
    /// Begins reading `text`, which findings call `file`.
    pub fn new(text: &str, file: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Reading { file, line_starts: std::iter::once(0).chain(ends).collect(), findings: RefCell::default() }
    }

    /// Adds a finding at the line of the byte `at`.
    pub fn report(&self, code: Code, at: usize, detail: String) {
        let line = self.line_starts.partition_point(|start| *start <= at);
        let place = Place::line(i64::try_from(line).unwrap_or(i64::MAX));
        self.findings.borrow_mut().push(Finding::new(code, self.file, place, detail));
    }

    /// The findings, in the order of lines: of syntax errors the first of each line, and not more than [`MOST`].
    pub fn finish(self) -> Vec<Finding> {
        let mut findings = self.findings.into_inner();
        findings.sort_by_key(|finding| finding.place);
        findings.dedup_by(|next, first| first.code == Code::ConfigSyntax && next.place == first.place);
        let more = findings.len().saturating_sub(MOST);
        findings.truncate(MOST);
        if let (1.., Some(last)) = (more, findings.last_mut()) {
            let _ = write!(last.detail, " (and {more} more problems)");
        }
        findings
    }
}

/// A table of the file. Every key must be taken before [`Table::finish`].
pub struct Table<'a> {
    reading: &'a Reading<'a>,
    path: String,
    at: usize,
    rest: BTreeMap<&'a str, (usize, &'a Spanned<DeValue<'a>>)>,
    known: Vec<&'static str>,
}

impl<'a> Table<'a> {
    /// The table at a dotted `path` (empty for the whole file), whose header is at byte `at`.
    pub fn new(
        reading: &'a Reading<'a>,
        path: impl Into<String>,
        at: usize,
        entries: &'a DeTable<'a>,
    ) -> Self {
        let rest = entries.iter().map(|(key, value)| (key.get_ref().as_ref(), (key.span().start, value)));
        Table { reading, path: path.into(), at, rest: rest.collect(), known: Vec::new() }
    }

    /// The value of `key` as `read` takes it. One that cannot be read is reported, with what is wanted.
    pub fn take<T>(
        &mut self,
        key: &'static str,
        want: &str,
        read: impl FnOnce(&DeValue) -> Option<T>,
    ) -> Option<T> {
        let (at, value) = self.pull(key)?;
        let value = value.get_ref();
        read(value).or_else(|| self.bad(at, &format!("{key} = {}", shown(value)), want))
    }

    /// Like [`Table::take`], for a key that must be there.
    pub fn need<T>(
        &mut self,
        key: &'static str,
        want: &str,
        read: impl FnOnce(&DeValue) -> Option<T>,
    ) -> Option<T> {
        if self.rest.contains_key(key) {
            return self.take(key, want, read);
        }
        self.known.push(key);
        let whose = if self.path.is_empty() { "the file".to_owned() } else { format!("[[{}]]", self.path) };
        self.bad(self.at, &format!("{whose} has no \"{key}\""), want)
    }

    /// The list at `key`, each element as `read` takes it. Bad elements are reported at their own lines.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        want: &str,
        mut read: impl FnMut(&DeValue) -> Option<T>,
    ) -> Option<Vec<T>> {
        let (at, value) = self.pull(key)?;
        let Some(elements) = value.get_ref().as_array() else {
            return self.bad(
                at,
                &format!("{key} = {}", shown(value.get_ref())),
                &format!("a list [ ]: {want}"),
            );
        };
        let mut list = Vec::with_capacity(elements.len());
        for element in elements {
            let (at, value) = (element.span().start, element.get_ref());
            let read = read(value).or_else(|| self.bad(at, &format!("{key} holds {}", shown(value)), want));
            list.extend(read);
        }
        Some(list)
    }

    /// The table `[key]`; an absent one is empty.
    #[must_use]
    pub fn table(&mut self, key: &'static str) -> Table<'a> {
        let found = self.pull(key);
        let path = self.inner(key);
        if let Some((at, value)) = found {
            if let DeValue::Table(entries) = value.get_ref() {
                return Table::new(self.reading, path, at, entries);
            }
            let want = format!("one table [{path}], with single brackets");
            self.bad::<()>(at, &format!("{key} = {}", shown(value.get_ref())), &want);
        }
        Table { reading: self.reading, path, at: self.at, rest: BTreeMap::new(), known: Vec::new() }
    }

    /// Reports that the settings of this table together cannot be used.
    pub fn refuse(&self, detail: String) {
        self.reading.report(Code::ConfigBadValue, self.at, detail);
    }

    /// The tables `[[key]]`, in the order of the file.
    pub fn tables(&mut self, key: &'static str) -> Vec<Table<'a>> {
        let Some((at, value)) = self.pull(key) else { return Vec::new() };
        let path = self.inner(key);
        let want = format!("[[{path}]], with double brackets, once for each");
        let Some(elements) = value.get_ref().as_array() else {
            self.bad::<()>(at, &format!("{key} = {}", shown(value.get_ref())), &want);
            return Vec::new();
        };
        let tables = elements.iter().filter_map(|element| match element.get_ref() {
            DeValue::Table(entries) => Some(Table::new(self.reading, &*path, element.span().start, entries)),
            other => self.bad(element.span().start, &format!("{key} holds {}", shown(other)), &want),
        });
        tables.collect()
    }

    /// Reports every key that was not taken, with the known key it may have been meant to be.
    pub fn finish(self) {
        for (key, (at, _)) in self.rest {
            let key = short(key);
            let distance = |known: &str| strsim::damerau_levenshtein(known, &key);
            let help = match self.known.iter().min_by_key(|known| distance(known)) {
                Some(known) if distance(known) <= 1 + known.len() / 4 => format!("did you mean \"{known}\"?"),
                _ => format!("known here: {}", quoted(self.known.iter().copied())),
            };
            let place =
                if self.path.is_empty() { "at the top".to_owned() } else { format!("in [{}]", self.path) };
            let detail = format!("unknown key {key:?} {place}; {help}");
            self.reading.report(Code::ConfigUnknownKey, at, detail);
        }
    }

    fn pull(&mut self, key: &'static str) -> Option<(usize, &'a Spanned<DeValue<'a>>)> {
        self.known.push(key);
        self.rest.remove(key)
    }

    fn inner(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn bad<T>(&self, at: usize, found: &str, want: &str) -> Option<T> {
        self.reading.report(Code::ConfigBadValue, at, format!("{found}: want {want}"));
        None
    }
}
