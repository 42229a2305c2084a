//! The figures over all requests of a run, and the facts about it.

use super::Run;
use crate::finding::Code;
use crate::format::load_tool::cut;
use crate::row::{Aggregate, Rows};

/// Scalars that are figures although they have no statistic in their name: key, statistic, unit.
const PLAIN: [(&str, &str, &str); 11] = [
    ("completed", "count", "1"),
    ("duration", "value", "s"),
    ("failed", "count", "1"),
    ("max_concurrent_requests", "max", "1"),
    ("max_output_tokens_per_s", "max", "1/s"),
    ("output_throughput", "value", "1/s"),
    ("request_goodput", "value", "1/s"),
    ("request_throughput", "value", "1/s"),
    ("total_input_tokens", "count", "1"),
    ("total_output_tokens", "count", "1"),
    ("total_token_throughput", "value", "1/s"),
];

/// Latencies that cannot be zero once a request was answered.
const NEVER_ZERO: [&str; 4] = ["ttft", "tpot", "itl", "e2el"];

/// Longest value of a fact, in characters.
const FACT_CHARS: usize = 200;

impl Run<'_> {
    /// Adds every scalar of the run as a figure or as a fact; how many figures there were.
    pub fn figures(&self, rows: &mut Rows) -> usize {
        let completed = self.raw("completed").int();
        let mut figures = 0;
        for (key, value) in &self.fields {
            let number = value.get().parse::<f64>().ok().filter(|v| v.is_finite());
            match (latency(key), plain(key), number) {
                (Some((statistic, metric)), _, Some(value)) => {
                    figures += 1;
                    if self.is_hollow(metric, completed) {
                        continue;
                    }
                    let (definition, n) = population(metric, completed);
                    let unit = "ms";
                    rows.aggregate(self.place, &Aggregate { metric, statistic, value, unit, n, definition });
                }
                (_, Some((statistic, unit)), Some(value)) => {
                    figures += 1;
                    let n = if key == "request_throughput" { completed } else { None };
                    let (metric, definition) = (key.as_str(), "");
                    rows.aggregate(self.place, &Aggregate { metric, statistic, value, unit, n, definition });
                }
                _ => self.fact(key, value.get(), rows),
            }
        }
        for metric in NEVER_ZERO {
            if self.is_hollow(metric, completed) {
                let mean = self.raw(&format!("mean_{metric}_ms")).text().unwrap_or("not stated");
                let n = completed.map_or("not stated".to_owned(), |n| n.to_string());
                let detail = format!("mean_{metric}_ms {mean} with completed {n}: its figures are left out");
                rows.finding(Code::ValueImpossible, self.place, &detail);
            }
        }
        figures
    }

    /// Whether the figures of a latency were computed over nothing: vLLM then writes 0.0, the best score.
    fn is_hollow(&self, metric: &str, completed: Option<i64>) -> bool {
        let mean = self.raw(&format!("mean_{metric}_ms")).text().and_then(|t| t.parse::<f64>().ok());
        NEVER_ZERO.contains(&metric) && mean.is_some() && (completed == Some(0) || mean == Some(0.0))
    }

    /// A string, number or flag is a fact as found; null states nothing, lists and objects are no facts.
    fn fact(&self, key: &str, json: &str, rows: &mut Rows) {
        match json.as_bytes().first() {
            Some(b'"') => {
                if let Ok(text) = serde_json::from_str::<String>(json) {
                    rows.run(self.place, key, cut(&text, FACT_CHARS));
                }
            }
            Some(b'{' | b'[' | b'n') | None => {}
            Some(_) => rows.run(self.place, key, cut(json, FACT_CHARS)),
        }
    }
}

/// Statistic and metric of `<statistic>_<metric>_ms`.
fn latency(key: &str) -> Option<(&str, &str)> {
    let (statistic, metric) = key.strip_suffix("_ms")?.split_once('_')?;
    let percentile = statistic.strip_prefix('p').is_some_and(|p| p.parse::<f64>().is_ok());
    (percentile || matches!(statistic, "mean" | "median" | "std")).then_some((statistic, metric))
}

fn plain(key: &str) -> Option<(&'static str, &'static str)> {
    PLAIN.iter().find(|(name, ..)| *name == key).map(|(_, statistic, unit)| (*statistic, *unit))
}

/// The definition of a latency, and over how many requests it is. TPOT leaves out answers of one token and
/// ITL counts gaps, so the number of requests is not theirs.
fn population(metric: &str, completed: Option<i64>) -> (&'static str, Option<i64>) {
    match metric {
        "ttft" => ("vllm-bench.ttft", completed),
        "e2el" => ("vllm-bench.latency", completed),
        "client_queue_time" => ("vllm-bench.queue", completed),
        _ => ("", None),
    }
}
