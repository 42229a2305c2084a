//! `nvidia-smi --query-gpu=… --format=csv`: a line of titles with units, then one line a GPU for each look.
//!
//! `timestamp` is local time; without it a file is of one unknown moment. Units stand in the titles, and again in the cells
//! unless `nounits` was asked for. `[N/A]` and the like say that nothing is known. Only numbers become samples.

use super::civil::local_ns;
use super::prometheus_text::{Label, join, time_in_name};
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use jiff::civil::DateTime;

/// The format; see the module.
pub struct NvidiaSmiCsv;

impl Format for NvidiaSmiCsv {
    fn id(&self) -> &'static str {
        "nvidia_smi_csv"
    }

    fn title(&self) -> &'static str {
        "nvidia-smi query (CSV)"
    }

    fn hop(&self) -> Hop {
        Hop::Host
    }

    fn informs(&self) -> &'static [&'static str] {
        &["resources"]
    }

    fn recognise(&self, head: &Head) -> Match {
        Match::when(
            head.lines().next().is_some_and(|line| titles(line).is_some()),
            "columns as utilization.gpu [%]",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (at, local) = match time_in_name(&cx.name) {
            Some(t_ns) => ((t_ns, cx.epoch()), cx.local()),
            None => ((0, cx.undated()), cx.local()),
        };
        Reader::Stream(Box::new(Table {
            cx: cx.clone(),
            local,
            at,
            columns: Vec::new(),
            warned: false,
            undated: 0,
        }))
    }
}

/// A column: the field's name and its unit, where it has one.
struct Column {
    field: String,
    unit: String,
}

/// The columns of a line of titles; `None` for any other line. Two names that only this tool has must be there.
fn titles(line: &str) -> Option<Vec<Column>> {
    let columns = line.trim().split(',').map(|title| {
        let title = title.trim();
        let (field, unit) = title.split_once(" [").map_or((title, ""), |(f, u)| (f, u.trim_end_matches(']')));
        let named =
            !field.is_empty() && field.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'));
        named.then(|| Column { field: field.to_owned(), unit: unit.to_owned() })
    });
    let columns: Vec<Column> = columns.collect::<Option<_>>()?;
    let own = |column: &&Column| {
        let families = [
            "utilization.",
            "memory.",
            "temperature.",
            "power.",
            "clocks.",
            "fan.",
            "pci.",
            "pcie.",
            "ecc.",
            "clocks_throttle_reasons.",
            "clocks_event_reasons.",
            "driver_",
            "vbios_",
            "encoder.",
            "enforced.",
        ];
        column.field == "pstate" || families.iter().any(|family| column.field.starts_with(family))
    };
    (columns.iter().filter(own).count() >= 2).then_some(columns)
}

struct Table {
    cx: Context,
    /// The clock of the tool's own times.
    local: String,
    /// When, and on which clock, a line without a time is.
    at: (i64, String),
    columns: Vec<Column>,
    warned: bool,
    undated: i64,
}

impl Stream for Table {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        // A loop that was started again writes its titles again.
        if let Some(columns) = titles(line.text) {
            self.columns = columns;
            return;
        }
        let cells: Vec<&str> = line.text.split(',').map(str::trim).collect();
        if cells.len() != self.columns.len() {
            let detail = format!("{} cells under {} titles", cells.len(), self.columns.len());
            return line.refuse(rows, Code::RecordShape, &detail);
        }
        let pairs = || self.columns.iter().zip(&cells).map(|(column, cell)| (column, *cell));
        let find = |field: &str| pairs().find(|(column, _)| column.field == field).map(|(_, cell)| cell);
        let (t_ns, clock) = if let Some(stamp) = find("timestamp") {
            let stamp = stamp.replace('/', "-").parse::<DateTime>().ok();
            let Some(t_ns) = stamp.and_then(|stamp| local_ns(stamp, self.cx.zone.as_ref())) else {
                let detail = "timestamp is not one instant of the calendar or the declared zone";
                return line.refuse(rows, Code::TimeUnplaced, detail);
            };
            if self.cx.zone.is_none() && !std::mem::replace(&mut self.warned, true) {
                rows.finding(Code::TimeUnplaced, line.place, "local time without a zone");
            }
            (t_ns, &self.local)
        } else {
            self.undated += i64::from(self.at.1 == self.cx.undated());
            (self.at.0, &self.at.1)
        };
        let labels: Vec<Label> = [
            ("index", "gpu"),
            ("uuid", "uuid"),
            ("gpu_uuid", "uuid"),
            ("pci.bus_id", "bus"),
            ("name", "model"),
        ]
        .into_iter()
        .filter_map(|(field, label)| Some((label.into(), escaped(find(field)?).into())))
        .collect();
        let mut item = 0;
        for (column, cell) in
            pairs().filter(|(column, _)| !matches!(column.field.as_str(), "index" | "count" | "timestamp"))
        {
            let Some((value, unit)) = number(cell) else { continue };
            let unit = if column.unit.is_empty() { unit } else { &column.unit };
            let mut labels = labels.clone();
            labels.push(("unit".into(), escaped(unit).into()));
            let metric = format!("nvidia_smi:{}", column.field);
            match join(&mut labels) {
                Ok(labels) => {
                    rows.sample(Place::item(line.place.line, item), &metric, &labels, t_ns, clock, value);
                    item += 1;
                }
                Err(label) => return line.refuse(rows, Code::DuplicateKey, &format!("{label} stands twice")),
            }
        }
        if item == 0 {
            // A line of words and unknowns was read too.
            rows.read += 1;
        }
    }

    fn end(&mut self, rows: &mut Rows) {
        if self.undated > 0 {
            let detail = format!(
                "{} lines without a timestamp, and no epoch time in the file's name: of one unknown moment (query timestamp too)",
                self.undated
            );
            rows.finding(Code::TimeUnplaced, Place::FILE, &detail);
        }
    }
}

/// A number and its unit; `None` for words, `[N/A]`, and numbers of versions or buses.
fn number(cell: &str) -> Option<(f64, &str)> {
    let (number, unit) = cell.split_once(' ').unwrap_or((cell, ""));
    let plain = number.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'));
    let unit_like = unit.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'%' | b'/'));
    number.parse().ok().filter(|_| plain && unit_like).map(|value| (value, unit))
}

/// A label's value with the escapes in which labels are stored.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{context, read, read_as, recognises};
    use crate::row::Table as T;

    const SAMPLE: &str = include_str!("../../samples/nvidia_smi_csv/gpu.csv");
    const SERIES: [&str; 5] = ["line", "metric", "labels", "t_ns", "value"];

    #[test]
    fn cells_become_samples_with_their_unit_and_gpu() {
        let cx = Context { zone: jiff::tz::TimeZone::get("Asia/Shanghai").ok(), ..context(&NvidiaSmiCsv) };
        let read = read_as(&NvidiaSmiCsv, &cx, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((14, 0), vec![]));
        let rows = read.rows(T::Series, &SERIES);
        assert_eq!(
            rows[..4],
            [
                "2|nvidia_smi:temperature.gpu|bus=\"00000000:5D:00.0\",gpu=\"0\",model=\"NVIDIA H200\",unit=\"\"|1796047200110000000|56",
                "2|nvidia_smi:utilization.gpu|bus=\"00000000:5D:00.0\",gpu=\"0\",model=\"NVIDIA H200\",unit=\"%\"|1796047200110000000|6",
                "2|nvidia_smi:memory.used|bus=\"00000000:5D:00.0\",gpu=\"0\",model=\"NVIDIA H200\",unit=\"MiB\"|1796047200110000000|20747",
                "2|nvidia_smi:power.draw|bus=\"00000000:5D:00.0\",gpu=\"0\",model=\"NVIDIA H200\",unit=\"W\"|1796047200110000000|120.55",
            ]
        );
        // The second GPU does not tell its power.
        assert_eq!(rows.iter().filter(|row| row.starts_with("3|")).count(), 3);
    }

    #[test]
    fn times_without_a_zone_are_an_island_and_no_times_one_moment() {
        assert_eq!(read(&NvidiaSmiCsv, SAMPLE).findings(), ["2 time-unplaced local time without a zone"]);
        let text = "uuid, name, vbios_version, fan.speed [%], memory.used [MiB]\nGPU-1, A, 90.04.7a, [N/A], 575 MiB\n";
        let undated = read(&NvidiaSmiCsv, text);
        assert_eq!(
            undated.rows(T::Series, &["metric", "labels", "t_ns", "clock", "value"]),
            ["nvidia_smi:memory.used|model=\"A\",unit=\"MiB\",uuid=\"GPU-1\"|0|undated:0123456789ab|575"]
        );
        assert!(undated.findings()[0].starts_with("0 time-unplaced 1 lines without a timestamp"));
        let named = Context { name: "gpu_1796073822065.csv".into(), ..context(&NvidiaSmiCsv) };
        let named = read_as(&NvidiaSmiCsv, &named, text);
        assert_eq!(
            (named.findings().len(), named.rows(T::Series, &["t_ns"]).concat()),
            (0, "1796073822065000000".into())
        );
    }

    #[test]
    fn lines_that_do_not_fit_are_refused() {
        let text =
            "timestamp, utilization.gpu [%], memory.used [MiB]\n2026/13/01 00:00:00.000, 1 %, 2 MiB\n1 %\n";
        assert_eq!(
            read(&NvidiaSmiCsv, text).rows(T::Finding, &["line", "code"]),
            ["2|time-unplaced", "3|record-shape"]
        );
    }

    #[test]
    fn queries_are_recognised_and_other_tables_are_not() {
        assert!(recognises(&NvidiaSmiCsv, SAMPLE));
        for text in
            ["", "garbage", "timestamp,name,index\n1,2,3\n", "2026/11/30 22:00:00.110, NVIDIA H200, 6 %\n"]
        {
            assert!(!recognises(&NvidiaSmiCsv, text), "{text}");
        }
    }
}
