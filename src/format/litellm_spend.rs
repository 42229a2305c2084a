//! Rows of `LiteLLM`'s table `LiteLLM_SpendLogs`: JSON objects, in a list or one a line, or a CSV export.
//!
//! - Times without an offset are UTC. `startTime` is when the proxy took the request, `completionStartTime` its first
//!   chunk, unless it equals `endTime` (see `litellm`).
//! - `request_id` of an answered request is the id in its response body; `metadata` is JSON inside a string.
//! - "None" and "" stand for what is not known. An answer from `LiteLLM`'s own cache says `cache hit` in `error`.

use super::json::{self, Raw};
use super::litellm::{Metadata, Times, known, outcome};
use super::objects::{self, Objects};
use super::stamp::Stamps;
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, Rows};
use serde::Deserialize;
use std::sync::Arc;

/// Largest row of a CSV export that is spread over lines, in bytes.
const LIMIT: usize = 16 << 20;

/// The spend logs of `LiteLLM`.
pub struct LitellmSpend;

impl Format for LitellmSpend {
    fn id(&self) -> &'static str {
        "litellm_spend"
    }

    fn title(&self) -> &'static str {
        "LiteLLM spend logs (JSON, CSV)"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let row = |text: &str| json::record::<Row>(text).is_ok_and(|row| row.is_whole());
        let columns = |line: &str| {
            let names: Vec<_> = line.split(',').map(|name| name.trim().trim_matches('"')).collect();
            ["request_id", "startTime", "endTime", "spend"].iter().all(|name| names.contains(name))
        };
        let seen = head.lines().next().is_some_and(columns) || objects::any(head, row);
        Match::when(seen, "request_id, spend, startTime, endTime")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let reading = Arc::new(Reading { hop: cx.hop, stamps: Stamps::utc(cx) });
        let shared = Arc::clone(&reading);
        let objects = Objects::new(move |line: Line, rows: &mut Rows| match json::record(line.text) {
            Ok(row) => shared.row(&row, &line, rows),
            Err((code, detail)) => line.refuse(rows, code, &detail),
        });
        Reader::Stream(Box::new(Export { objects, table: None, reading }))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Row<'a> {
    #[serde(borrow)]
    request_id: Raw<'a>,
    #[serde(borrow)]
    spend: Raw<'a>,
    #[serde(borrow, rename = "startTime")]
    start: Raw<'a>,
    #[serde(borrow, rename = "completionStartTime")]
    first: Raw<'a>,
    #[serde(borrow, rename = "endTime")]
    end: Raw<'a>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow)]
    api_base: Raw<'a>,
    #[serde(borrow)]
    cache_hit: Raw<'a>,
    #[serde(borrow)]
    end_user: Raw<'a>,
    #[serde(borrow)]
    user: Raw<'a>,
    #[serde(borrow)]
    prompt_tokens: Raw<'a>,
    #[serde(borrow)]
    completion_tokens: Raw<'a>,
    #[serde(borrow)]
    metadata: Raw<'a>,
}

impl Row<'_> {
    fn is_whole(&self) -> bool {
        [self.request_id, self.spend, self.start, self.end].iter().all(|field| field.0.is_some())
    }
}

struct Reading {
    hop: Hop,
    stamps: Stamps,
}

impl Reading {
    fn row(&self, row: &Row, line: &Line, rows: &mut Rows) {
        if !row.is_whole() {
            return line.refuse(
                rows,
                Code::RecordShape,
                "request_id, spend, startTime or endTime is missing",
            );
        }
        // JSON inside a string; a database client may have unpacked it.
        let written = row.metadata.0.map_or("", |raw| raw.get());
        let unpacked = serde_json::from_str::<String>(written).ok();
        let metadata = json::record::<Metadata>(unpacked.as_deref().unwrap_or(written)).unwrap_or_default();
        let error = metadata.error_information.unwrap_or_default();
        let status = known(row.status.text()).or(known(metadata.status.text()));
        let code = error.error_code.int();
        let ended = outcome(status, code);
        let id = known(row.request_id.text());
        let answered = matches!(ended, Outcome::Ok | Outcome::Unknown);
        let times = Times {
            start: known(row.start.text()),
            first: known(row.first.text()),
            end: known(row.end.text()),
        };
        let cached = matches!(row.cache_hit.text(), Some("True" | "true"));
        let request = Request {
            request_id: id.filter(|_| !answered),
            response_id: id.filter(|_| answered),
            caller: metadata.caller().or(known(row.end_user.text())).or(known(row.user.text())),
            model: known(row.model.text()),
            instance: known(row.api_base.text()).and_then(|base| base.split('?').next()),
            input_tokens: row.prompt_tokens.int(),
            output_tokens: row.completion_tokens.int(),
            cached_tokens: metadata.cached(),
            status: code,
            outcome: ended,
            error: known(error.error_class.text()).or(cached.then_some("cache hit")),
            streamed: times
                .first
                .is_some_and(|first| times.end.is_some_and(|end| first != end))
                .then_some(true),
            ..Request::default()
        };
        let key = rows.request(self.hop, line.place, &request);
        times.add(&self.stamps, line, rows, key, ended);
    }
}

/// An export as it comes: the first line tells JSON from CSV.
struct Export<F> {
    objects: Objects<F>,
    table: Option<Table>,
    reading: Arc<Reading>,
}

/// A CSV export: its columns, and what is there of a row spread over lines.
struct Table {
    columns: Vec<String>,
    text: String,
    place: Place,
    objects: bool,
}

impl<F: FnMut(Line, &mut Rows) + Send> Stream for Export<F> {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        let Some(table) = &mut self.table else {
            let objects = line.text.trim_start().starts_with(['{', '[']);
            let columns = if objects { Vec::new() } else { cells(line.text) };
            self.table = Some(Table { columns, text: String::new(), place: line.place, objects });
            if objects {
                self.objects.line(line, rows);
            }
            return;
        };
        if table.objects {
            return self.objects.line(line, rows);
        }
        if table.text.is_empty() {
            table.place = line.place;
        }
        table.text.push_str(line.text);
        // A quoted cell goes on in the next line.
        if table.text.bytes().filter(|b| *b == b'"').count() % 2 == 1 {
            table.text.push('\n');
            if table.text.len() > LIMIT {
                table.text.clear();
                rows.refuse(Code::LineTooLong, table.place, "a row larger than 16 MiB");
            }
            return;
        }
        let text = std::mem::take(&mut table.text);
        let line = Line { place: table.place, ..line };
        row_of_table(&table.columns, &text, line, rows, &self.reading);
    }

    fn end(&mut self, rows: &mut Rows) {
        self.objects.end(rows);
        if let Some(table) = self.table.take().filter(|table| !table.text.is_empty()) {
            rows.refuse(Code::Truncated, table.place, "the file ends within a quoted cell");
        }
    }
}

fn row_of_table(columns: &[String], text: &str, line: Line, rows: &mut Rows, reading: &Reading) {
    let cells = cells(text);
    if cells.len() != columns.len() {
        let detail = format!("{} cells under {} columns", cells.len(), columns.len());
        return line.refuse(rows, Code::RecordShape, &detail);
    }
    // A row is the object its columns name, every cell a string.
    let object: serde_json::Map<_, _> =
        columns.iter().cloned().zip(cells.into_iter().map(Into::into)).collect();
    let object = serde_json::Value::Object(object).to_string();
    match json::record(&object) {
        Ok(row) => reading.row(&row, &line, rows),
        Err((code, detail)) => line.refuse(rows, code, &detail),
    }
}

/// The cells of one row of CSV.
fn cells(text: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let row = reader.records().next().and_then(Result::ok).unwrap_or_default();
    row.iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table as T;

    const ROWS: &str = include_str!("../../samples/litellm_spend/spend_logs.json");
    const EXPORT: &str = include_str!("../../samples/litellm_spend/spend_logs.csv");
    const REQUEST: &[&str] = &[
        "request_id",
        "response_id",
        "caller",
        "input_tokens",
        "cached_tokens",
        "status",
        "outcome",
        "error",
        "streamed",
    ];

    #[test]
    fn a_list_of_rows_is_read_exactly() {
        let read = read(&LitellmSpend, ROWS);
        assert_eq!(read.counts(), (4, 0));
        assert_eq!(
            read.rows(T::Request, REQUEST),
            [
                "~|chatcmpl-0a1b|web-chat|812|256|~|ok|~|true",
                "~|chatcmpl-0a1c|batch|64|~|~|ok|~|~",
                "5d0c7a52-0000-4d5e-9a51-1f1f6f0f7e01|~|web-chat|~|~|429|rejected|RateLimitError|~",
                "~|chatcmpl-0a1b|web-chat|812|~|~|ok|cache hit|~",
            ]
        );
        assert_eq!(
            read.rows(T::Measure, &["line", "definition", "duration_ns", "resolution_ns"])[..3],
            [
                "2|litellm.request|2004583000|1000",
                "2|litellm.ttft|312500000|1000",
                "3|litellm.request|804583000|1000",
            ]
        );
        assert_eq!(
            read.rows(T::Mark, &["line", "name", "t_ns", "clock"])[..3],
            [
                "2|start|1796073646847371000|epoch:0123456789ab",
                "2|end|1796073648851954000|epoch:0123456789ab",
                "2|first_chunk|1796073647159871000|epoch:0123456789ab",
            ]
        );
        let unknown =
            "no-first-token completionStartTime = endTime: LiteLLM saw no first chunk, TTFT is unknown";
        assert_eq!(read.findings(), [format!("3 {unknown}"), format!("5 {unknown}")]);
    }

    #[test]
    fn a_csv_export_is_the_same_rows() {
        let read = read(&LitellmSpend, EXPORT);
        assert_eq!(read.counts(), (2, 0));
        assert_eq!(
            read.rows(T::Request, REQUEST),
            ["~|chatcmpl-0a1b|web-chat|812|~|~|ok|~|true", "~|chatcmpl-0a1c|~|64|~|~|ok|~|~"]
        );
        assert_eq!(
            read.rows(T::Measure, &["line", "definition"])[..2],
            ["2|litellm.request", "2|litellm.ttft"]
        );
    }

    #[test]
    fn contradictions_and_broken_rows_are_reported() {
        let row = |times: &str| format!(r#"{{"request_id":"r","spend":0,"status":"success",{times}}}"#);
        let early = row(
            r#""startTime":"2026-11-30T21:00:01Z","completionStartTime":"2026-11-30T21:00:00Z","endTime":"2026-11-30T21:00:02Z""#,
        );
        let read_early = read(&LitellmSpend, &early);
        assert_eq!(read_early.rows(T::Measure, &["definition"]), ["litellm.request"]);
        assert_eq!(
            read_early.findings(),
            ["1 value-impossible completionStartTime - startTime -1000000000 ns < 0: left out"]
        );
        let never = read(&LitellmSpend, &row(r#""startTime":"None","endTime":"None""#));
        assert_eq!(never.findings(), ["1 time-unplaced startTime is not a time"]);
        let cut = &EXPORT[..EXPORT.rfind("metadata").unwrap_or(0).max(EXPORT.len() - 30)];
        assert_eq!(
            read(&LitellmSpend, cut).rows(T::Finding, &["code"]).last().map(String::as_str),
            Some("truncated")
        );
        assert_eq!(read(&LitellmSpend, "{\"request_id\":1}").findings().len(), 1);
    }

    #[test]
    fn recognised_as_json_and_as_csv() {
        assert!(recognises(&LitellmSpend, ROWS) && recognises(&LitellmSpend, EXPORT));
        for other in ["", "request_id,spend\n", r#"{"request_id":1,"spend":1}"#] {
            assert!(!recognises(&LitellmSpend, other), "{other}");
        }
    }
}
