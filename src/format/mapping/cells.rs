//! One row of a mapped table into the one model.

use super::{Event, Instant, Mapping, Series, Time};
use crate::finding::{Code, Place};
use crate::format::Context;
use crate::format::civil::local_ns;
use crate::format::decimal::{NS, step_ns, to_ns};
use crate::format::load_tool::{Marks, cut, duration, error_text};
use crate::row::{self, Outcome, Request, Rows};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

/// The cells of one row, by the name of their column.
pub trait Cells {
    /// The text of a cell; `None` when the row has no such cell.
    fn get(&self, column: &str) -> Option<Cow<'_, str>>;
}

/// Longest text of an event, in characters.
const DETAIL: usize = 200;

/// A row being read: where it is, and what is needed to say so.
pub struct Row<'a> {
    pub mapping: &'a Mapping,
    pub cx: &'a Context,
    pub place: Place,
    pub cells: &'a dyn Cells,
    /// Whether it was said of this source that its times have no zone.
    pub unplaced: &'a Cell<bool>,
}

/// The words for "nothing here" in tables: they are never zero.
pub fn is_blank(text: &str) -> bool {
    matches!(text, "" | "-" | "null" | "NULL" | "None" | "NaN" | "nan" | "N/A" | "n/a" | "NA" | "<NA>")
}

impl Row<'_> {
    /// Puts the row into the tables, all that can be read of it.
    pub fn add(&self, rows: &mut Rows) {
        if self.mapping.is_request() {
            self.request(rows);
        }
        for event in &self.mapping.events {
            self.event(rows, event);
        }
        for series in &self.mapping.series {
            self.series(rows, series);
        }
    }

    fn text(&self, column: &str) -> Option<Cow<'_, str>> {
        let text = self.cells.get(column)?;
        let text = match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        };
        (!is_blank(&text)).then_some(text)
    }

    /// A number as written with a decimal point; what is none is reported and left out.
    fn number(&self, rows: &mut Rows, column: &str) -> Option<String> {
        let text = self.text(column)?;
        let comma = text.contains(',');
        let plain = if self.mapping.decimal_comma {
            text.replace('.', "").replace(',', ".")
        } else {
            text.into_owned()
        };
        if to_ns(&plain, NS).is_some() || plain.parse::<f64>().is_ok_and(f64::is_finite) {
            return Some(plain);
        }
        let why = if comma && !self.mapping.decimal_comma {
            "holds a comma: say decimal = \",\" in the mapping if it is the decimal sign"
        } else {
            "holds no number"
        };
        rows.finding(Code::RecordShape, self.place, &format!("column {column:?} {why}: left out"));
        None
    }

    /// A whole number; `12.0` is one, as tools write that have only floats.
    fn int(&self, rows: &mut Rows, column: Option<&String>) -> Option<i64> {
        let column = column?;
        let number = self.number(rows, column)?;
        let whole = match number.split_once('.') {
            Some((whole, fraction)) if fraction.bytes().all(|b| b == b'0') => whole,
            _ => number.as_str(),
        };
        let value = whole.parse().ok();
        if value.is_none() {
            let detail = format!("column {column:?} holds no whole number: left out");
            rows.finding(Code::RecordShape, self.place, &detail);
        }
        value
    }

    fn request(&self, rows: &mut Rows) {
        let column = |field: &str| self.mapping.fields.iter().find(|(f, _)| *f == field).map(|(_, c)| c);
        let word = |field: &str| self.text(column(field)?);
        let status = self.int(rows, column("status"));
        let outcome = match (word("outcome"), status) {
            (Some(word), _) => outcome(&word),
            (None, Some(status)) => Outcome::from_http(status),
            (None, None) => Outcome::Unknown,
        };
        let error = word("error");
        let attempt = self.int(rows, column("attempt"));
        let input_tokens = self.int(rows, column("input_tokens"));
        let output_tokens = self.int(rows, column("output_tokens"));
        let cached_tokens = self.int(rows, column("cached_tokens"));
        let key = rows.request(
            self.cx.hop,
            self.place,
            &Request {
                request_id: word("request_id").as_deref(),
                trace_id: word("trace_id").map(|id| id.to_ascii_lowercase()).as_deref(),
                span_id: word("span_id").map(|id| id.to_ascii_lowercase()).as_deref(),
                parent_span_id: word("parent_span_id").map(|id| id.to_ascii_lowercase()).as_deref(),
                response_id: word("response_id").as_deref(),
                echo_id: None,
                attempt,
                caller: word("caller").as_deref(),
                model: word("model").as_deref(),
                instance: word("instance").as_deref(),
                class: word("class").as_deref(),
                phase: word("phase").as_deref(),
                sample_id: word("sample_id").as_deref(),
                input_tokens,
                output_tokens,
                cached_tokens,
                status,
                outcome,
                error: error.as_deref().map(error_text),
                streamed: word("streamed").and_then(|word| flag(&word)),
            },
        );
        self.marks(rows, key, outcome);
        for measure in &self.mapping.measures {
            let (unit, scale) = measure.unit;
            let Some(number) = self.number(rows, &measure.column) else { continue };
            let ns = duration(rows, self.place, &measure.column, to_ns(&number, scale));
            let first_token = measure.definition.quantity.starts_with("ttft");
            match ns {
                Some(ns) if first_token && matches!(outcome, Outcome::Error | Outcome::Rejected) => {
                    let detail = format!("{} {ns} ns of a failed request: left out", measure.column);
                    rows.finding(Code::ValueImpossible, self.place, &detail);
                }
                Some(ns) => rows.measure(key, measure.definition.id, ns, unit, step_ns(&number, scale)),
                None => {}
            }
        }
    }

    /// Marks of one clock are checked against each other; those of two clocks cannot be.
    fn marks(&self, rows: &mut Rows, key: row::RequestKey, outcome: Outcome) {
        let mut clocks: BTreeMap<String, (Marks, i64)> = BTreeMap::new();
        for (name, at) in &self.mapping.marks {
            let Some((t, clock, step)) = self.instant(rows, at) else { continue };
            if *name == "first_token" && outcome == Outcome::Rejected {
                let detail = format!("{} of a rejected request: left out", at.column);
                rows.finding(Code::ValueImpossible, self.place, &detail);
                continue;
            }
            if *name == "start" {
                rows.mark(key, "start", t, &clock, step);
                continue;
            }
            let (marks, resolution) = clocks.entry(clock).or_default();
            *resolution = step.max(*resolution);
            match *name {
                "scheduled" => marks.scheduled = Some(t),
                "send" => marks.send = Some(t),
                "headers" => marks.headers = Some(t),
                "first_chunk" => marks.first_chunk = Some(t),
                "first_token" => marks.first_token = Some(t),
                "last_token" => marks.last_token = Some(t),
                _ => marks.end = Some(t),
            }
        }
        for (clock, (marks, resolution)) in clocks {
            marks.add(rows, key, self.place, &clock, resolution);
        }
    }

    fn event(&self, rows: &mut Rows, event: &Event) {
        let Some((t, clock, step)) = self.instant(rows, &event.at) else { return };
        let (_, scale) = event.unit;
        let stated = event.duration.as_ref().and_then(|column| {
            let number = self.number(rows, column)?;
            duration(rows, self.place, column, to_ns(&number, scale))
        });
        let detail: Vec<String> = event
            .detail
            .iter()
            .filter_map(|column| Some(format!("{column}={}", self.text(column)?.replace(['\n', '\r'], " "))))
            .collect();
        let word = |column: &Option<String>| self.text(column.as_deref()?);
        rows.event(
            self.cx.hop,
            self.place,
            &row::Event {
                kind: &event.kind,
                t_ns: Some(t),
                clock: &clock,
                resolution_ns: step,
                duration_ns: stated,
                instance: word(&event.instance).as_deref(),
                trace_id: word(&event.trace_id).map(|id| id.to_ascii_lowercase()).as_deref(),
                detail: cut(&detail.join(" "), DETAIL),
            },
        );
    }

    fn series(&self, rows: &mut Rows, series: &Series) {
        let Some(value) = self.number(rows, &series.column).and_then(|n| n.parse::<f64>().ok()) else {
            return;
        };
        let Some((t, clock, _)) = self.instant(rows, &series.at) else { return };
        let labels: Vec<String> = series
            .labels
            .iter()
            .filter_map(|column| Some(format!("{column}={:?}", self.text(column)?)))
            .collect();
        rows.sample(self.place, &series.metric, &labels.join(","), t, &clock, value);
    }

    /// An instant, its clock and the step it is written with.
    fn instant(&self, rows: &mut Rows, at: &Instant) -> Option<(i64, String, i64)> {
        let cx = Context { clock: at.clock.clone().or_else(|| self.cx.clock.clone()), ..self.cx.clone() };
        let (clock, scale) = match at.time {
            Time::Epoch(scale) => (cx.epoch(), scale),
            Time::Monotonic(scale) => (cx.monotonic(), scale),
            Time::Text => return self.date(rows, at, &cx),
        };
        let number = self.number(rows, &at.column)?;
        Some((to_ns(&number, scale)?, clock, step_ns(&number, scale)))
    }

    fn date(&self, rows: &mut Rows, at: &Instant, cx: &Context) -> Option<(i64, String, i64)> {
        let text = self.text(&at.column)?.replace('/', "-").replace(',', ".");
        let digits =
            text.split_once('.').map_or(0, |(_, f)| f.bytes().take_while(u8::is_ascii_digit).count());
        let step = 10_i64.pow(9 - u32::try_from(digits).unwrap_or(9).min(9));
        if let Ok(time) = text.parse::<jiff::Timestamp>() {
            return Some((i64::try_from(time.as_nanosecond()).ok()?, cx.epoch(), step));
        }
        let Ok(time) = text.parse::<jiff::civil::DateTime>() else {
            let detail = format!("column {:?} holds no date and time: left out", at.column);
            rows.finding(Code::RecordShape, self.place, &detail);
            return None;
        };
        if cx.zone.is_none() && !self.unplaced.replace(true) {
            let detail = format!("column {:?}: no offset and no zone declared", at.column);
            rows.finding(Code::TimeUnplaced, self.place, &detail);
        }
        let ns = local_ns(time, cx.zone.as_ref());
        if ns.is_none() {
            let detail =
                format!("column {:?}: the zone's clock skipped this time or showed it twice", at.column);
            rows.finding(Code::TimeUnplaced, self.place, &detail);
        }
        Some((ns?, cx.local(), step))
    }
}

fn flag(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "y" => Some(true),
        "false" | "0" | "no" | "n" => Some(false),
        _ => None,
    }
}

fn outcome(word: &str) -> Outcome {
    match word.to_ascii_lowercase().as_str() {
        "ok" | "success" | "succeeded" | "completed" | "true" | "1" | "成功" => Outcome::Ok,
        "error" | "failed" | "failure" | "fail" | "false" | "0" | "timeout" | "失败" => Outcome::Error,
        "rejected" | "limited" | "throttled" | "拒绝" => Outcome::Rejected,
        "cancelled" | "canceled" | "aborted" | "取消" => Outcome::Cancelled,
        _ => Outcome::Unknown,
    }
}
