//! What the summaries of `GenAI-Perf` and `AIPerf` share, JSON and CSV: names of metrics, statistics and units.

use crate::finding::{Code, Place};
use crate::row::{Aggregate, Rows};

/// What a tool measures under the shared names.
#[derive(Clone, Copy)]
pub struct Definitions {
    /// TTFT.
    pub ttft: &'static str,
    /// Time to the first token that is not reasoning.
    pub ttfo: &'static str,
    /// The whole request.
    pub e2e: &'static str,
}

/// `AIPerf`'s.
pub const AIPERF: Definitions =
    Definitions { ttft: "aiperf.ttft", ttfo: "aiperf.ttfo", e2e: "aiperf.latency" };

/// `GenAI-Perf`'s.
pub const GENAI_PERF: Definitions =
    Definitions { ttft: "genai-perf.ttft", ttfo: "", e2e: "genai-perf.latency" };

/// The tools' names, our metric, and the statistic of one that is a single value; empty for `value`.
///
/// Their inter-token latency is a request's mean after its first token, which elsewhere is TPOT; the gaps are
/// their inter-chunk latency.
#[rustfmt::skip]
const METRICS: &[(&str, &str, &str)] = &[
    ("benchmark_duration", "duration", ""),
    ("completed_request_count", "requests", "total"),
    ("completed_requests", "requests", "total"),
    ("credit_to_start_latency", "schedule_delay", ""),
    ("effective_concurrency", "concurrency", ""),
    ("error_request_count", "requests", "failed"),
    ("input_sequence_length", "input_tokens", ""),
    ("inter_chunk_latency", "itl", ""),
    ("inter_token_latency", "tpot", ""),
    ("output_sequence_length", "output_tokens", ""),
    ("request_count", "requests", "completed"),
    ("request_latency", "e2e", ""),
    ("request_throughput", "request_rate", ""),
    ("time_to_first_output_token", "ttfo", ""),
    ("time_to_first_token", "ttft", ""),
    ("total_input_sequence_length", "input_tokens", "sum"),
    ("total_isl", "input_tokens", "sum"),
    ("total_osl", "output_tokens", "sum"),
    ("total_output_sequence_length", "output_tokens", "sum"),
];

/// One metric of a summary: its statistics as written.
pub struct Metric<'a> {
    /// The tool's name of it, lower case with underscores.
    pub tag: &'a str,
    /// Unit as found; empty counts.
    pub unit: &'a str,
    /// Statistic and value.
    pub statistics: &'a [(&'a str, f64)],
}

impl Metric<'_> {
    /// Our name of the metric, and the statistic of a single value.
    pub fn known(&self) -> (&str, &str) {
        let known = METRICS.iter().find(|(tag, ..)| *tag == self.tag);
        known.map_or((self.tag, "value"), |(_, metric, single)| {
            (*metric, if single.is_empty() { "value" } else { single })
        })
    }

    /// Adds its statistics, in the tool's words but for `avg`. A negative latency is left out with a finding.
    pub fn write(&self, rows: &mut Rows, place: Place, ids: Definitions) {
        let (metric, single) = self.known();
        let n = self.statistics.iter().find(|(name, _)| *name == "count").map(|(_, n)| *n);
        #[expect(clippy::cast_possible_truncation, reason = "a count of requests")]
        let n = n.map(|n| n as i64);
        let unit = if self.unit.is_empty() { "1" } else { self.unit };
        let definition = match metric {
            "ttft" => ids.ttft,
            "ttfo" => ids.ttfo,
            "e2e" => ids.e2e,
            _ => "",
        };
        for (name, value) in self.statistics.iter().filter(|(name, _)| *name != "count") {
            let statistic = match *name {
                "avg" if self.statistics.len() == 1 => single,
                "avg" => "mean",
                name => name,
            };
            if *value < 0.0 && !definition.is_empty() && statistic != "std" {
                let detail = format!("{statistic} {metric} {value} {unit} < 0: left out");
                rows.finding(Code::ValueImpossible, place, &detail);
                continue;
            }
            rows.aggregate(place, &Aggregate { metric, statistic, value: *value, unit, n, definition });
        }
    }
}

/// Tag and unit of a title in a table: `Time to First Token (ms)`.
pub fn titled(title: &str) -> (String, &str) {
    let (name, unit) = match title.trim().strip_suffix(')').and_then(|title| title.rsplit_once(" (")) {
        Some((name, unit)) => (name, if unit.contains('+') { "" } else { unit }),
        None => (title.trim(), ""),
    };
    let mut tag = String::with_capacity(name.len());
    for word in name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if !tag.is_empty() {
            tag.push('_');
        }
        tag.push_str(&word.to_ascii_lowercase());
    }
    (tag, unit)
}

/// A number of a table, with or without commas between thousands; `None` for an empty cell and NaN.
pub fn number(cell: &str) -> Option<f64> {
    cell.replace(',', "").trim().parse().ok().filter(|value: &f64| value.is_finite())
}

/// Reads stacked tables: `Metric` with statistics, `Metric,Value`, and with `Endpoint,GPU_Index,…` those of
/// accelerators. What stands before the first header is refused.
pub fn tables(text: &str, tool: &str, ids: Definitions, rows: &mut Rows) {
    rows.run(Place::line(1), "tool", tool);
    let mut header: Vec<String> = Vec::new();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    let mut lines = Lines::of(text);
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                rows.refuse(Code::RecordShape, lines.at(&record), &error.to_string());
                continue;
            }
        }
        let place = lines.at(&record);
        let cells: Vec<&str> = record.iter().collect();
        let Some(&first) = cells.first() else { continue };
        if matches!(first, "Metric" | "Endpoint") {
            header = cells.iter().map(|&cell| cell.to_owned()).collect();
            continue;
        }
        if cells.len() != header.len() {
            let detail = format!("{} cells under a header of {}", cells.len(), header.len());
            rows.refuse(Code::RecordShape, place, &detail);
            continue;
        }
        let cell = |name: &str| header.iter().position(|h| h == name).and_then(|at| cells.get(at)).copied();
        let Some(title) = cell("Metric") else {
            rows.refuse(Code::RecordShape, place, "no column Metric");
            continue;
        };
        let (mut tag, unit) = titled(title);
        if let Some(index) = cell("GPU_Index") {
            tag = format!("gpu:{tag}{{gpu=\"{index}\"}}");
        }
        let words = ["Value", "avg", "min", "max", "sum", "std"];
        let statistics: Vec<(&str, f64)> = header
            .iter()
            .zip(&cells)
            .filter(|(name, _)| words.contains(&name.as_str()) || is_percentile(name))
            .filter_map(|(name, cell)| Some((if name == "Value" { "avg" } else { name }, number(cell)?)))
            .collect();
        if statistics.is_empty() {
            rows.refuse(Code::RecordShape, place, "no number in the row");
            continue;
        }
        rows.read += 1;
        Metric { tag: &tag, unit, statistics: &statistics }.write(rows, place, ids);
    }
}

/// Lines of the records of a table: the reader's own count stops before the line ends that a record follows.
pub struct Lines<'a> {
    text: &'a str,
    counted: usize,
    line: i64,
}

impl<'a> Lines<'a> {
    /// Of a table of this text.
    pub fn of(text: &'a str) -> Self {
        Lines { text, counted: 0, line: 1 }
    }

    /// Where a record stands that comes after those asked for before.
    pub fn at(&mut self, record: &csv::StringRecord) -> Place {
        let from = record.position().and_then(|p| usize::try_from(p.byte()).ok()).unwrap_or(self.counted);
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        let start = from + rest.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        let between = self.text.as_bytes().get(self.counted..start).unwrap_or_default();
        self.line += i64::try_from(memchr::memchr_iter(b'\n', between).count()).unwrap_or(0);
        self.counted = self.counted.max(start);
        Place::line(self.line)
    }
}

/// Whether a name is `p50`, `p99.9`, ….
pub fn is_percentile(name: &str) -> bool {
    name.strip_prefix('p').is_some_and(|p| p.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_give_tag_and_unit() {
        assert_eq!(titled("Time To First Token (ms)"), ("time_to_first_token".to_owned(), "ms"));
        assert_eq!(titled("HTTP Waiting (TTFB) (ms)"), ("http_waiting_ttfb".to_owned(), "ms"));
        assert_eq!(titled("Credit-to-Start Latency (ms)").0, "credit_to_start_latency");
        assert_eq!(titled("Completed Requests (Success + Error)"), ("completed_requests".to_owned(), ""));
        assert_eq!(titled("Effective Concurrency"), ("effective_concurrency".to_owned(), ""));
        assert_eq!((number("1,146.31"), number(""), number("nan")), (Some(1146.31), None, None));
    }
}
