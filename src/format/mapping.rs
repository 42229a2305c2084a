//! A mapping file: what the columns of a table mean that no format knows (CSV, TSV, JSON records, workbooks).
//!
//! The person who holds the table says which column is which field, in which unit, on which clock; a duration names
//! one of the known definitions. Nothing is guessed while loading: `--sketch-map` guesses once, into a file to be read.

mod cells;
mod delimited;
mod records;
mod sheet;
mod sketch;

pub use sketch::{Table, sketch, table};

use super::decimal::{MS, NS, S, US};
use super::{Context, Reader};
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::input::{self, Head, Limits};
use crate::row::{DEFINITIONS, Definition, Hop};
use crate::settings::{self, value};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Largest mapping that is read, in bytes.
const LIMIT: u64 = 256 << 10;

/// Fields of a request that a column can hold.
const FIELDS: [&str; 19] = [
    "request_id",
    "trace_id",
    "span_id",
    "parent_span_id",
    "response_id",
    "attempt",
    "caller",
    "model",
    "instance",
    "class",
    "phase",
    "sample_id",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "status",
    "outcome",
    "error",
    "streamed",
];

/// Instants of a request that a column can hold.
const MARKS: [&str; 8] =
    ["scheduled", "start", "send", "headers", "first_chunk", "first_token", "last_token", "end"];

/// How a column tells time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    /// A number since 1970, in a unit of 10^n ns.
    Epoch(u32),
    /// A number since an arbitrary zero.
    Monotonic(u32),
    /// A date and time; without an offset it is local.
    Text,
}

const TIMES: [(&str, Time); 9] = [
    ("epoch-s", Time::Epoch(S)),
    ("epoch-ms", Time::Epoch(MS)),
    ("epoch-us", Time::Epoch(US)),
    ("epoch-ns", Time::Epoch(NS)),
    ("monotonic-s", Time::Monotonic(S)),
    ("monotonic-ms", Time::Monotonic(MS)),
    ("monotonic-us", Time::Monotonic(US)),
    ("monotonic-ns", Time::Monotonic(NS)),
    ("text", Time::Text),
];

const UNITS: [(&str, u32); 4] = [("s", S), ("ms", MS), ("us", US), ("ns", NS)];

/// A column that holds an instant.
#[derive(Clone, Debug)]
struct Instant {
    column: String,
    time: Time,
    /// Clock domain, when it is not the source's.
    clock: Option<String>,
}

#[derive(Clone, Debug)]
struct Measure {
    definition: &'static Definition,
    column: String,
    unit: (&'static str, u32),
}

#[derive(Clone, Debug)]
struct Event {
    kind: String,
    at: Instant,
    duration: Option<String>,
    unit: (&'static str, u32),
    instance: Option<String>,
    trace_id: Option<String>,
    detail: Vec<String>,
}

#[derive(Clone, Debug)]
struct Series {
    metric: String,
    column: String,
    at: Instant,
    labels: Vec<String>,
}

/// What the columns of a table mean.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The file as it was written, which is kept as evidence.
    pub text: String,
    /// Hop that observed.
    pub hop: Hop,
    zone: Option<String>,
    delimiter: Option<u8>,
    decimal_comma: bool,
    sheet: Option<String>,
    header: i64,
    fields: Vec<(&'static str, String)>,
    marks: Vec<(&'static str, Instant)>,
    measures: Vec<Measure>,
    events: Vec<Event>,
    series: Vec<Series>,
}

/// How the bytes of a table are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Delimited,
    Records,
    Sheet,
}

fn layout(head: &Head) -> Layout {
    match head.bytes.as_slice() {
        [b'P', b'K', 3, 4, ..] | [0xd0, 0xcf, 0x11, 0xe0, ..] => Layout::Sheet,
        _ if matches!(head.first_byte(), Some(b'{' | b'[')) => Layout::Records,
        _ => Layout::Delimited,
    }
}

impl Mapping {
    /// Id of the format of a source read by a mapping.
    pub const FORMAT: &'static str = "mapped";

    /// Reads the mapping at `path`; the inner error holds every problem of it.
    ///
    /// # Errors
    /// The file cannot be read, or is no mapping by its size.
    pub fn load(path: &Path) -> Result<std::result::Result<Mapping, Vec<Finding>>> {
        let file = std::fs::File::open(path).map_err(|e| Error::io("read", path, e))?;
        let mut text = String::new();
        file.take(LIMIT + 1).read_to_string(&mut text).map_err(|e| Error::io("read", path, e))?;
        if text.len() as u64 > LIMIT {
            return Err(Error::input(format!("{} is larger than 256 KiB", path.display()))
                .hint("a mapping is a page of settings: check that this is the right file"));
        }
        Ok(Mapping::parse(&text, &path.display().to_string()))
    }

    /// Reads a mapping from its text; `file` is what findings call it.
    ///
    /// # Errors
    /// All problems of the mapping, in the order of its lines.
    pub fn parse(text: &str, file: &str) -> std::result::Result<Mapping, Vec<Finding>> {
        settings::parse(text, file, |document| read(document, text))
    }

    /// A reader of the table whose beginning is `head`.
    #[must_use]
    pub fn reader(&self, head: &Head, cx: &Context, limits: Limits) -> Reader {
        let mapping = Arc::new(self.clone());
        let mut cx = cx.clone();
        cx.zone = cx.zone.or_else(|| self.zone.as_deref().and_then(input::zone));
        match layout(head) {
            Layout::Delimited => {
                let delimiter = self.delimiter.or_else(|| table(head).map(|t| t.delimiter)).unwrap_or(b',');
                Reader::Stream(Box::new(delimited::Delimited::new(mapping, cx, delimiter, limits)))
            }
            Layout::Records => Reader::Stream(Box::new(records::Records::new(mapping, cx, limits))),
            Layout::Sheet => {
                Reader::Document(Box::new(move |bytes, rows| sheet::read(bytes, &mapping, &cx, limits, rows)))
            }
        }
    }

    /// Every column it names, each once.
    fn columns(&self) -> Vec<&str> {
        let instants = self.marks.iter().map(|(_, at)| at);
        let instants =
            instants.chain(self.events.iter().map(|e| &e.at)).chain(self.series.iter().map(|s| &s.at));
        let events = self
            .events
            .iter()
            .flat_map(|e| e.duration.iter().chain(&e.instance).chain(&e.trace_id).chain(&e.detail));
        let mut all: Vec<&str> = self.fields.iter().map(|(_, column)| column.as_str()).collect();
        all.extend(instants.map(|at| at.column.as_str()));
        all.extend(self.measures.iter().map(|m| m.column.as_str()));
        all.extend(events.map(String::as_str));
        all.extend(self.series.iter().flat_map(|s| s.labels.iter().chain([&s.column])).map(String::as_str));
        all.sort_unstable();
        all.dedup();
        all
    }

    fn is_request(&self) -> bool {
        !(self.fields.is_empty() && self.marks.is_empty() && self.measures.is_empty())
    }
}

fn read(mut document: settings::Table, text: &str) -> Mapping {
    let hop = document.need("hop", &format!("one of {}", value::quoted(Hop::ALL.map(Hop::as_str))), |v| {
        Hop::parse(v.as_str()?)
    });
    let zone = document.take("zone", input::ZONES, |v| {
        v.as_str().filter(|name| input::zone(name).is_some()).map(str::to_owned)
    });
    let delimiter = document.take("delimiter", "one of \",\", \";\", \"\\t\" and \"|\"", |v| {
        v.as_str().and_then(|d| [",", ";", "\t", "|"].iter().find(|known| **known == d)?.bytes().next())
    });
    let decimal = document.take("decimal", "\".\" or \",\"", |v| match v.as_str()? {
        "." => Some(false),
        "," => Some(true),
        _ => None,
    });
    let sheet = document.take("sheet", value::LINE, value::line);
    let header =
        document.take("header", "the line of the column names, from 1", |v| value::int(v, 1, 100_000));

    let mut request = document.table("request");
    let fields: Vec<_> = FIELDS
        .into_iter()
        .filter_map(|field| Some((field, request.take(field, COLUMN, value::line)?)))
        .collect();
    request.finish();
    let marks: Vec<_> = document.tables("mark").into_iter().filter_map(mark).collect();
    let measures: Vec<_> = document.tables("measure").into_iter().filter_map(measure).collect();
    let events: Vec<_> = document.tables("event").into_iter().filter_map(event).collect();
    let series: Vec<_> = document.tables("series").into_iter().filter_map(one_series).collect();
    let mapping = Mapping {
        text: text.to_owned(),
        hop: hop.unwrap_or(Hop::Client),
        zone,
        delimiter,
        decimal_comma: decimal.unwrap_or(false),
        sheet,
        header: header.unwrap_or(1),
        fields,
        marks,
        measures,
        events,
        series,
    };
    if mapping.columns().is_empty() {
        document.refuse(
            "no column is mapped: want [request], [[mark]], [[measure]], [[event]] or [[series]]".into(),
        );
    }
    document.finish();
    mapping
}

const COLUMN: &str =
    "the name of a column, as the table's header or a record's key has it (a.b for b inside a)";
const NAME: &str = "a name, 1 to 64 letters, digits, \".\", \"_\" and \"-\"";

fn mark(mut table: settings::Table) -> Option<(&'static str, Instant)> {
    let name = table.need("name", &format!("one of {}", value::quoted(MARKS)), |v| {
        let name = v.as_str()?;
        MARKS.into_iter().find(|mark| *mark == name)
    });
    let at = instant(&mut table, "column");
    table.finish();
    Some((name?, at?))
}

fn instant(table: &mut settings::Table, column: &'static str) -> Option<Instant> {
    let column = table.need(column, COLUMN, value::line);
    let time = table.need("time", &format!("one of {}", value::quoted(TIMES.map(|(name, _)| name))), |v| {
        let name = v.as_str()?;
        TIMES.into_iter().find(|(known, _)| *known == name).map(|(_, time)| time)
    });
    let clock = table.take("clock", NAME, value::clock);
    Some(Instant { column: column?, time: time?, clock })
}

fn unit(v: &toml::de::DeValue) -> Option<(&'static str, u32)> {
    let name = v.as_str()?;
    UNITS.into_iter().find(|(known, _)| *known == name)
}

const UNIT: &str = "one of \"s\", \"ms\", \"us\", \"ns\"";

fn measure(mut table: settings::Table) -> Option<Measure> {
    let known = value::quoted(DEFINITIONS.iter().map(|d| d.id));
    let want = format!("the id of a definition, where it starts, ends and includes the queue: {known}");
    let definition = table.need("definition", &want, |v| crate::row::definition(v.as_str()?));
    let column = table.need("column", COLUMN, value::line);
    let unit = table.need("unit", UNIT, unit);
    table.finish();
    Some(Measure { definition: definition?, column: column?, unit: unit? })
}

fn event(mut table: settings::Table) -> Option<Event> {
    let kind = table.need("kind", NAME, value::clock);
    let at = instant(&mut table, "column");
    let duration = table.take("duration", COLUMN, value::line);
    let unit = if duration.is_some() { table.need("unit", UNIT, unit) } else { Some(("ns", NS)) };
    let instance = table.take("instance", COLUMN, value::line);
    let trace_id = table.take("trace_id", COLUMN, value::line);
    let detail = table.list("detail", COLUMN, value::line).unwrap_or_default();
    table.finish();
    Some(Event { kind: kind?, at: at?, duration, unit: unit?, instance, trace_id, detail })
}

fn one_series(mut table: settings::Table) -> Option<Series> {
    let metric = table.need("metric", value::LINE, value::line);
    let column = table.need("column", COLUMN, value::line);
    let at = instant(&mut table, "at");
    let mut labels = table.list("labels", COLUMN, value::line).unwrap_or_default();
    labels.sort_unstable();
    table.finish();
    Some(Series { metric: metric?, column: column?, at: at?, labels })
}

#[cfg(test)]
mod tests;
