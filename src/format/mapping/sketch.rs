//! A first mapping of a table, guessed from its column names and first rows. Every guess says why, and what cannot be
//! known is asked. Values other than ranges of numbers are never shown: a cell may hold a prompt.

use super::delimited::split;
use super::records::flat;
use super::sheet::{self, each_row};
use super::{Layout, layout};
use crate::error::{Error, Result};
use crate::format::decimal::{NS, to_ns};
use crate::input::{Head, Limits, open};
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

/// Rows that are looked at.
const ROWS: usize = 50;

/// The beginning of a table.
pub struct Table {
    /// The sign between its cells.
    pub delimiter: u8,
    /// The names of its columns.
    pub names: Vec<String>,
    /// The first rows.
    rows: Vec<Vec<String>>,
}

/// The table of delimited text that a file begins with: a line of names, and lines of as many cells.
#[must_use]
pub fn table(head: &Head) -> Option<Table> {
    if layout(head) != Layout::Delimited {
        return None;
    }
    let lines: Vec<&str> = head.lines().take(ROWS + 1).collect();
    let cells = |line: &str, delimiter| -> Vec<String> {
        split(line, delimiter).map(|r| r.iter().map(|c| c.trim().to_owned()).collect()).unwrap_or_default()
    };
    let tables = b",;\t|".iter().filter_map(|delimiter| {
        let (first, rest) = lines.split_first()?;
        let names = cells(first, *delimiter);
        let rows: Vec<_> = rest.iter().map(|line| cells(line, *delimiter)).collect();
        // A quoted cell may stretch over lines: most rows, not all, have as many cells as there are names.
        let fitting = rows.iter().filter(|row| row.len() == names.len()).count();
        let usable =
            names.iter().all(|name| !name.is_empty() && name.len() <= 80 && to_ns(name, NS).is_none());
        let fits = names.len() >= 2 && usable && fitting > 0 && fitting * 2 > rows.len();
        let rows = rows.into_iter().filter(|row| row.len() == names.len()).collect();
        fits.then_some(Table { delimiter: *delimiter, names, rows })
    });
    tables.max_by_key(|table| table.names.len())
}

/// The first mapping of the file at `path`, whose beginning is `head`.
///
/// # Errors
/// The file cannot be read, or is no table.
pub fn sketch(path: &Path, head: &Head, limits: Limits) -> Result<String> {
    let (table, sheet) = match layout(head) {
        Layout::Delimited => (table(head).ok_or("no line of column names with rows of as many cells"), None),
        Layout::Records => (records(head).ok_or("no JSON object with fields"), None),
        Layout::Sheet => {
            let (table, sheet) = workbook(path, limits)?;
            (Ok(table), sheet)
        }
    };
    let table = table.map_err(|why| no_table(path, why))?;
    Ok(Sketch { text: String::new(), table: &table }.write(&head.name, sheet.as_deref()))
}

fn no_table(path: &Path, why: &str) -> Error {
    Error::input(format!("{} is no table: {why}", path.display())).hint(
        "a mapping is for CSV, TSV, JSON records and .xlsx; `probity formats --of FILE` says what a file is",
    )
}

fn records(head: &Head) -> Option<Table> {
    let text = head.lines().collect::<Vec<_>>().join("\n");
    let objects = flat(&text, ROWS);
    let mut names: Vec<String> = Vec::new();
    for (name, _) in objects.iter().flatten() {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let cell = |object: &[(String, String)], name: &String| {
        object.iter().find(|(n, _)| n == name).map(|(_, text)| text.clone()).unwrap_or_default()
    };
    let rows = objects.iter().map(|object| names.iter().map(|name| cell(object, name)).collect()).collect();
    (!names.is_empty()).then_some(Table { delimiter: b',', names, rows })
}

fn workbook(path: &Path, limits: Limits) -> Result<(Table, Option<String>)> {
    let mut bytes = Vec::new();
    let read = open(path, limits)?.take(limits.document as u64).read_to_end(&mut bytes);
    read.map_err(|e| Error::io("read", path, e))?;
    let names = sheet::names(&bytes, limits).map_err(|why| no_table(path, &why))?;
    let sheet = if names.len() > 1 { names.into_iter().next() } else { None };
    let mut rows = Vec::new();
    each_row(&bytes, sheet.as_deref(), limits, &mut |_, cells| {
        rows.push(cells);
        rows.len() <= ROWS
    })
    .map_err(|(_, _, why)| no_table(path, &why))?;
    let mut rows = rows.into_iter();
    let header = rows.next().ok_or_else(|| no_table(path, "the sheet is empty"))?;
    let cells =
        |row: sheet::SheetRow| header.keys().map(|at| row.get(at).cloned().unwrap_or_default()).collect();
    let rows = rows.map(cells).collect();
    Ok((Table { delimiter: b',', names: header.into_values().collect(), rows }, sheet))
}

struct Sketch<'a> {
    text: String,
    table: &'a Table,
}

/// What a column of this name usually holds.
const FIELDS: [(&str, &[&str]); 14] = [
    ("request_id", &["request_id", "req_id", "requestid", "x_request_id", "rid", "id", "uuid", "请求id"]),
    ("trace_id", &["trace_id", "traceid"]),
    ("response_id", &["response_id", "completion_id"]),
    ("attempt", &["attempt", "retry", "try"]),
    ("caller", &["caller", "user", "user_id", "tenant", "team", "app", "key_alias", "api_key_alias"]),
    ("model", &["model", "model_name", "model_id", "模型"]),
    (
        "instance",
        &["instance", "pod", "host", "server", "node", "worker", "backend", "upstream", "upstream_addr"],
    ),
    (
        "input_tokens",
        &[
            "input_tokens",
            "prompt_tokens",
            "input_len",
            "prompt_len",
            "input_length",
            "isl",
            "num_prompt_tokens",
        ],
    ),
    (
        "output_tokens",
        &[
            "output_tokens",
            "completion_tokens",
            "output_len",
            "output_length",
            "osl",
            "generated_tokens",
            "num_output_tokens",
        ],
    ),
    ("cached_tokens", &["cached_tokens", "cached_prompt_tokens", "prompt_cached_tokens"]),
    ("status", &["status", "status_code", "http_status", "code", "状态码"]),
    ("outcome", &["outcome", "result", "success", "succeeded", "ok"]),
    ("error", &["error", "error_message", "err", "finish_reason"]),
    ("streamed", &["stream", "streamed", "streaming", "is_stream"]),
];

const MARKS: [(&str, &[&str]); 5] = [
    ("scheduled", &["scheduled", "scheduled_at", "scheduled_time", "intended_start"]),
    (
        "send",
        &[
            "send",
            "sent",
            "sent_at",
            "send_time",
            "start",
            "start_time",
            "started_at",
            "request_start",
            "timestamp",
            "ts",
            "time",
            "datetime",
            "created_at",
            "requested_at",
        ],
    ),
    ("first_token", &["first_token", "first_token_at", "first_token_time"]),
    ("last_token", &["last_token", "last_token_at", "last_token_time"]),
    (
        "end",
        &[
            "end",
            "end_time",
            "ended_at",
            "finished_at",
            "completed_at",
            "finish_time",
            "request_end",
            "done_at",
        ],
    ),
];

const MEASURES: [(&str, &[&str]); 4] = [
    ("mapped.ttft", &["ttft", "time_to_first_token", "first_token_latency", "首字延迟", "首token延迟"]),
    (
        "mapped.e2e",
        &[
            "latency",
            "e2e",
            "e2e_latency",
            "duration",
            "total_time",
            "elapsed",
            "response_time",
            "total",
            "总耗时",
        ],
    ),
    ("mapped.queue", &["queue", "queue_time", "queued", "waiting_time", "queue_wait"]),
    ("mapped.prefill", &["prefill", "prefill_time"]),
];

const UNITS: [(&str, &str); 9] = [
    ("_milliseconds", "ms"),
    ("_microseconds", "us"),
    ("_nanoseconds", "ns"),
    ("_seconds", "s"),
    ("_sec", "s"),
    ("_ms", "ms"),
    ("_us", "us"),
    ("_ns", "ns"),
    ("_s", "s"),
];

fn find<'a>(known: &[(&'a str, &[&str])], names: [&str; 2]) -> Option<&'a str> {
    known
        .iter()
        .find(|(_, aliases)| names.iter().any(|name| aliases.contains(name)))
        .map(|(target, _)| *target)
}

/// A name in lower case with `_` between words, and the unit it ends with.
fn normal(name: &str) -> (String, Option<&'static str>) {
    let mut out = String::new();
    for c in name.trim().chars() {
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        } else if !out.ends_with('_') {
            out.push('_');
        }
    }
    let out = out.trim_matches('_').to_owned();
    let unit = UNITS.iter().find(|(ending, _)| out.ends_with(ending)).map(|(_, unit)| *unit);
    (out, unit)
}

/// What the cells of a column hold.
enum Kind {
    Numbers { low: f64, high: f64, fraction: bool },
    Dates { naive: bool },
    Words,
}

impl Sketch<'_> {
    fn write(mut self, name: &str, sheet: Option<&str>) -> String {
        self.line(&format!(
            "# A first mapping of {name:?}, from its column names and first {} rows.",
            self.table.rows.len()
        ));
        self.line("# Every guess says why: check each one, then load the file with --map and this file.");
        self.line("");
        self.line("# Where was this observed: client, gateway, router, engine, cluster or host? A guess cannot know.");
        self.line("hop = \"client\"");
        let delimiter = match self.table.delimiter {
            b';' => Some("\";\""),
            b'\t' => Some("\"\\t\""),
            b'|' => Some("\"|\""),
            _ => None,
        };
        if let Some(delimiter) = delimiter {
            self.line(&format!(
                "delimiter = {delimiter} # it cuts every row into as many cells as there are names"
            ));
        }
        if let Some(sheet) = sheet {
            self.line(&format!("sheet = {} # the first of several; is it the right one?", quote(sheet)));
        }
        let columns: Vec<(String, Kind)> =
            self.table.names.iter().enumerate().map(|(at, name)| (name.clone(), self.kind(at))).collect();
        if columns.iter().any(|(_, kind)| matches!(kind, Kind::Dates { naive: true })) {
            self.line("# Times without an offset: in which zone were they written? Until it is said they stay apart.");
            self.line("# zone = \"Asia/Shanghai\"");
        }
        let mut rest = Vec::new();
        let mut taken = Vec::new();
        let (mut request, mut others) = (String::new(), String::new());
        for (column, kind) in &columns {
            let (name, unit) = normal(column);
            let bare = UNITS.iter().find_map(|(ending, _)| name.strip_suffix(ending)).unwrap_or(&name);
            let names = [name.as_str(), bare];
            let mut fresh = |target: Option<&'static str>| {
                target.filter(|t| !taken.contains(t)).inspect(|t| taken.push(*t))
            };
            if let Kind::Numbers { .. } = kind
                && let Some(definition) = fresh(find(&MEASURES, names))
            {
                others.push_str(&measure(definition, column, unit, kind));
            } else if !matches!(kind, Kind::Words)
                && let Some(mark) = fresh(find(&MARKS, names))
            {
                others.push_str(&instant(mark, column, unit, kind));
            } else if let Some(field) = fresh(find(&FIELDS, names)) {
                let _ = writeln!(request, "{field} = {} # by its name", quote(column));
            } else {
                rest.push((column, kind));
            }
        }
        self.line("\n# What each row says of a request.\n[request]");
        self.text.push_str(&request);
        self.text.push_str(&others);
        if !rest.is_empty() {
            self.line("\n# Not mapped:");
        }
        for (column, kind) in rest {
            let holds = match kind {
                Kind::Numbers { low, high, .. } => format!("numbers from {low} to {high}"),
                Kind::Dates { .. } => "dates".to_owned(),
                Kind::Words => "words".to_owned(),
            };
            self.line(&format!("# {} holds {holds}", quote(column)));
        }
        self.line("\n# An instant of the request is a mark, a duration a measure; a TTFT needs one of them:");
        self.line(
            "#   [[mark]] name (scheduled, send, first_token, last_token, end, …), column, time, clock",
        );
        self.line("#   [[measure]] definition (mapped.ttft, mapped.e2e, mapped.queue, …), column, unit");
        self.line("# Rows can be events or samples of a series too:");
        self.line("#   [[event]] kind, column, time, clock, duration with unit, instance, trace_id, detail");
        self.line("#   [[series]] metric, column, at, time, clock, labels");
        self.text
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn kind(&self, at: usize) -> Kind {
        let cells = self
            .table
            .rows
            .iter()
            .filter_map(|row| row.get(at))
            .map(|c| c.trim())
            .filter(|c| !super::cells::is_blank(c));
        let cells: Vec<&str> = cells.collect();
        let numbers: Vec<f64> =
            cells.iter().filter_map(|c| c.parse().ok()).filter(|n: &f64| n.is_finite()).collect();
        let date = |c: &&str| {
            c.parse::<jiff::Timestamp>().is_ok()
                || c.replace('/', "-").parse::<jiff::civil::DateTime>().is_ok()
        };
        if !cells.is_empty() && numbers.len() == cells.len() {
            let (low, high) = numbers.iter().fold((f64::MAX, f64::MIN), |(l, h), n| (l.min(*n), h.max(*n)));
            Kind::Numbers { low, high, fraction: cells.iter().any(|c| c.contains('.')) }
        } else if !cells.is_empty() && cells.iter().all(date) {
            Kind::Dates { naive: cells.iter().any(|c| c.parse::<jiff::Timestamp>().is_err()) }
        } else {
            Kind::Words
        }
    }
}

fn quote(text: &str) -> String {
    // A string of JSON is one of TOML too.
    serde_json::to_string(text).unwrap_or_default()
}

fn measure(definition: &str, column: &str, unit: Option<&str>, kind: &Kind) -> String {
    let (unit, why) = match (unit, kind) {
        (Some(unit), _) => (unit, "the column's name says so".to_owned()),
        (None, Kind::Numbers { low, high, fraction }) => {
            let unit = match *high {
                high if high >= 1e10 => "ns",
                high if high >= 1e7 => "us",
                high if high < 300.0 && *fraction => "s",
                _ => "ms",
            };
            (unit, format!("a guess from values of {low} to {high}: ask"))
        }
        (None, _) => ("ms", "a guess: ask".to_owned()),
    };
    let meaning =
        crate::row::definition(definition).map(|d| format!("{} to {}", d.from, d.to)).unwrap_or_default();
    format!(
        "\n[[measure]]\n# By its name. Does it run from {meaning}?\n\
         # If not: put \"?\" here, and the load will list all definitions.\n\
         definition = {}\ncolumn = {}\nunit = {} # {why}\n",
        quote(definition),
        quote(column),
        quote(unit)
    )
}

fn instant(mark: &str, column: &str, unit: Option<&str>, kind: &Kind) -> String {
    let (time, why) = match kind {
        Kind::Numbers { high, .. } => {
            let epoch = [(1e18, "epoch-ns"), (1e15, "epoch-us"), (1e12, "epoch-ms"), (1e9, "epoch-s")];
            if let Some((_, time)) = epoch.into_iter().find(|(least, _)| high >= least) {
                (time.to_owned(), "values of this size are times since 1970".to_owned())
            } else {
                {
                    let time = format!("monotonic-{}", unit.unwrap_or("s"));
                    (
                        time,
                        format!(
                            "values up to {high} are no times since 1970: from which zero, in which unit?"
                        ),
                    )
                }
            }
        }
        _ => ("text".to_owned(), "dates".to_owned()),
    };
    format!(
        "\n[[mark]]\nname = {} # by its name\ncolumn = {}\ntime = {} # {why}\n",
        quote(mark),
        quote(column),
        quote(&time)
    )
}
