//! The figures over all requests of a benchmark, those of the successful ones only.

use super::super::figures::{self, Of};
use super::shape::Benchmark;
use crate::finding::Place;
use crate::row::Rows;
use serde_json::{Map, Value};

/// The tool's metric, the metric, its unit and definition. Its time per output token is the latency over the tokens,
/// so the first token's wait is in it.
const METRICS: [(&str, &str, &str, &str); 11] = [
    ("time_to_first_token_ms", "ttft", "ms", "guidellm.ttft"),
    ("time_to_first_output_token_ms", "ttfo", "ms", "guidellm.ttfo"),
    ("request_latency", "e2e", "s", "guidellm.latency"),
    ("time_per_output_token_ms", "normalized_time_per_output_token", "ms", ""),
    ("inter_token_latency_ms", "itl", "ms", ""),
    ("requests_per_second", "request_rate", "1/s", ""),
    ("request_concurrency", "concurrency", "1", ""),
    ("prompt_token_count", "input_tokens", "1", ""),
    ("output_token_count", "output_tokens", "1", ""),
    ("output_tokens_per_second", "output_throughput", "1/s", ""),
    ("tokens_per_second", "total_token_throughput", "1/s", ""),
];

/// How the tool names the counts of requests.
const TOTALS: [(&str, &str); 4] =
    [("total", "total"), ("successful", "completed"), ("errored", "failed"), ("incomplete", "cancelled")];

/// Percentiles whose digits stand for a fraction: `p999` is the 99.9th.
const PERCENTILES: [(&str, &str); 4] = [("p001", "p0.1"), ("p01", "p1"), ("p05", "p5"), ("p999", "p99.9")];

/// Adds the figures of a benchmark.
pub fn add(benchmark: &Benchmark, place: Place, rows: &mut Rows) {
    let Some(metrics) = benchmark.metrics else { return };
    // A report that could be read holds objects that can be read; anything else is no figures.
    let metrics: Map<String, Value> = serde_json::from_str(metrics.get()).unwrap_or_default();
    let totals = &metrics.get("request_totals").unwrap_or(&Value::Null);
    for (key, statistic) in TOTALS {
        if let Some(count) = totals[key].as_f64() {
            figures::one(
                rows,
                place,
                Of { metric: "requests", unit: "1", ..Of::default() },
                statistic,
                count,
            );
        }
    }
    if let Some(seconds) = benchmark.duration.text().and_then(|text| text.parse().ok()) {
        figures::one(rows, place, Of { metric: "duration", unit: "s", ..Of::default() }, "value", seconds);
    }
    for (key, metric, unit, definition) in METRICS {
        let set = metrics.get(key).map_or(&Value::Null, |statuses| &statuses["successful"]);
        let Some(fields) = set.as_object() else { continue };
        let count = fields.get("count").and_then(Value::as_i64);
        // Over no request every metric is zeros: said once, of the first.
        if count == Some(0) && metric != "ttft" {
            continue;
        }
        let n = count.filter(|n| *n == 0 || !definition.is_empty());
        let own = fields.iter().filter(|(key, _)| *key != "count" && *key != "total_sum");
        let percentiles = set["percentiles"].as_object().into_iter().flatten();
        let numbers: Vec<_> = own
            .chain(percentiles)
            .filter_map(|(key, value)| {
                let spelt =
                    PERCENTILES.iter().find(|(name, _)| name == key).map_or(key.as_str(), |(_, name)| name);
                Some((figures::statistic(spelt)?, value.as_f64()?))
            })
            .collect();
        figures::add_all(rows, place, Of { metric, unit, n, definition }, &numbers);
    }
}
