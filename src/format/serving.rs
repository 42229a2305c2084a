//! What the serving benchmarks of one lineage share (vLLM, `SGLang`, `TensorRT-LLM`): the figures of a run under the
//! names of their JSON and of their printed block, and which of them cannot be true.

use crate::finding::{Code, Place};
use crate::row::{Aggregate, Rows};

/// Figures that are no latencies: JSON key, printed label, and what they are.
#[rustfmt::skip]
const SCALARS: &[(&str, &str, &str, &str, &str)] = &[
    ("accept_length", "Accept length", "accept_length", "mean", "1"),
    ("completed", "Successful requests", "requests", "completed", "1"),
    ("concurrency", "Concurrency", "concurrency", "mean", "1"),
    ("duration", "Benchmark duration (s)", "duration", "value", "s"),
    ("failed", "Failed requests", "requests", "failed", "1"),
    ("input_throughput", "Input token throughput (tok/s)", "input_throughput", "value", "1/s"),
    ("max_concurrent_requests", "Peak concurrent requests", "concurrency", "max", "1"),
    ("max_output_tokens_per_s", "Peak output token throughput (tok/s)", "output_throughput", "max", "1/s"),
    ("output_throughput", "Output token throughput (tok/s)", "output_throughput", "value", "1/s"),
    ("request_goodput", "Request goodput (req/s)", "request_goodput", "value", "1/s"),
    ("request_throughput", "Request throughput (req/s)", "request_rate", "value", "1/s"),
    ("total_input_tokens", "Total input tokens", "input_tokens", "sum", "1"),
    ("total_output_tokens", "Total generated tokens", "output_tokens", "sum", "1"),
    ("total_output_tokens_retokenized", "Total generated tokens (retokenized)", "output_tokens_retokenized", "sum", "1"),
    ("total_throughput", "Total throughput (tok/s)", "total_throughput", "value", "1/s"),
    ("total_token_throughput", "Total token throughput (tok/s)", "total_throughput", "value", "1/s"),
    ("tput_user", "User throughput (tok/s)", "user_throughput", "value", "1/s"),
];

/// Facts that several tools state under different names: JSON key, printed label, our key.
#[rustfmt::skip]
const FACTS: &[(&str, &str, &str)] = &[
    ("backend", "Backend", "backend"),
    ("burstiness", "Burstiness factor", "burstiness"),
    ("dataset_name", "", "dataset"),
    ("max_concurrency", "Max request concurrency", "max_concurrency"),
    ("max_concurrency", "Maximum request concurrency", "max_concurrency"),
    ("model_id", "", "model"),
    ("request_rate", "Request rate configured (RPS)", "request_rate"),
    ("request_rate", "Traffic request rate", "request_rate"),
];

/// Less than any engine takes for a token: 20 000 of them a second for one request.
const FASTEST_TOKEN_MS: f64 = 0.05;

/// Latencies that cannot be zero once a request was answered.
const NEVER_ZERO: [&str; 4] = ["ttft", "tpot", "itl", "e2e"];

/// Why the TTFT of a run is no TTFT.
pub const NOT_STREAMED: &str =
    "responses were not streamed: TTFT is the latency of the whole response, left out";

/// The figures of one run, in the order of its file.
#[derive(Default)]
pub struct Figures<'a>(Vec<Figure<'a>>);

struct Figure<'a> {
    metric: &'a str,
    statistic: std::borrow::Cow<'a, str>,
    value: f64,
    unit: &'a str,
}

/// A tool of the lineage.
#[derive(Clone, Copy)]
pub struct Tool {
    /// Its name in the rows of a run.
    pub name: &'static str,
    /// What it measures.
    pub ids: Definitions,
}

/// Definitions of the latencies of a tool: TTFT, latency, and waiting inside the client.
#[derive(Clone, Copy)]
pub struct Definitions {
    /// Of TTFT.
    pub ttft: &'static str,
    /// Of the whole request.
    pub e2e: &'static str,
    /// Of the wait for the client's own semaphore.
    pub queue: &'static str,
}

/// vLLM's.
pub const VLLM: Tool = Tool {
    name: "vllm-bench",
    ids: Definitions { ttft: "vllm-bench.ttft", e2e: "vllm-bench.latency", queue: "vllm-bench.queue" },
};

/// `TensorRT-LLM`'s: vLLM's client, copied.
pub const TRTLLM: Tool = Tool { name: "trtllm-bench", ids: VLLM.ids };

/// `SGLang`'s.
pub const SGLANG: Tool = Tool {
    name: "sglang-bench",
    ids: Definitions { ttft: "sglang-bench.ttft", e2e: "sglang-bench.latency", queue: "" },
};

impl<'a> Figures<'a> {
    /// Takes a value stated under a JSON key; whether the key is a figure's.
    pub fn by_key(&mut self, key: &'a str, value: f64) -> bool {
        if let Some((.., metric, statistic, unit)) = SCALARS.iter().find(|(name, ..)| *name == key) {
            return self.push(metric, *statistic, value, unit);
        }
        let Some((statistic, name)) = key.strip_suffix("_ms").and_then(|key| key.split_once('_')) else {
            return false;
        };
        is_statistic(statistic) && self.push(latency(name), statistic, value, "ms")
    }

    /// Takes a value printed behind a label; whether the label is a figure's.
    pub fn by_label(&mut self, label: &'a str, value: f64) -> bool {
        let scalar = SCALARS.iter().find(|(_, name, ..)| name.eq_ignore_ascii_case(label));
        if let Some((.., metric, statistic, unit)) = scalar {
            return self.push(metric, *statistic, value, unit);
        }
        let Some((statistic, name)) = label.strip_suffix(" (ms)").and_then(|label| label.split_once(' '))
        else {
            return false;
        };
        let statistic = statistic.to_ascii_lowercase();
        is_statistic(&statistic) && self.push(printed(name), statistic, value, "ms")
    }

    fn push(
        &mut self,
        metric: &'a str,
        statistic: impl Into<std::borrow::Cow<'a, str>>,
        value: f64,
        unit: &'a str,
    ) -> bool {
        self.0.push(Figure { metric, statistic: statistic.into(), value, unit });
        true
    }

    /// Whether nothing was stated.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn value(&self, metric: &str, statistic: &str) -> Option<f64> {
        self.0.iter().find(|f| f.metric == metric && f.statistic == statistic).map(|f| f.value)
    }

    /// Whether the figures themselves prove that responses came in one piece.
    pub fn in_one_piece(&self) -> bool {
        let tokens = self.value("output_tokens", "sum").zip(self.value("requests", "completed"));
        let times = self.value("ttft", "mean").zip(self.value("e2e", "mean"));
        times.zip(tokens).is_some_and(|((ttft, e2e), (sum, n))| came_in_one_piece(ttft, e2e, sum / n))
    }

    /// Adds the figures that can be true as rows, and a finding for each kind that cannot; how many were stated.
    ///
    /// `streamed` says that TTFT is not one.
    pub fn write(&self, rows: &mut Rows, place: Place, ids: Definitions, streamed: Option<bool>) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "a count of requests")]
        let completed = self.value("requests", "completed").map(|n| n as i64);
        for Figure { metric, statistic, value, unit } in &self.0 {
            if self.is_hollow(metric) || (streamed == Some(false) && *metric == "ttft") {
                continue;
            }
            if *value < 0.0 && *unit == "ms" {
                let detail = format!("{statistic} {metric} {value} ms < 0: left out");
                rows.finding(Code::ValueImpossible, place, &detail);
                continue;
            }
            // TPOT leaves out answers of one token and ITL counts gaps: the number of requests is not theirs.
            let (definition, n) = match *metric {
                "ttft" => (ids.ttft, completed),
                "e2e" => (ids.e2e, completed),
                "client_queue_time" => (ids.queue, completed),
                "request_rate" => ("", completed),
                _ => ("", None),
            };
            rows.aggregate(place, &Aggregate { metric, statistic, value: *value, unit, n, definition });
        }
        for metric in NEVER_ZERO.into_iter().filter(|metric| self.is_hollow(metric)) {
            let mean = self.value(metric, "mean").unwrap_or_default();
            let n = completed.map_or("not stated".to_owned(), |n| n.to_string());
            let detail = format!("mean {metric} {mean} ms with completed {n}: its figures are left out");
            rows.finding(Code::ValueImpossible, place, &detail);
        }
        self.0.len()
    }

    /// Whether the figures of a latency were computed over nothing: these tools then write 0.0, the best score.
    fn is_hollow(&self, metric: &str) -> bool {
        let Some(mean) = self.value(metric, "mean").filter(|_| NEVER_ZERO.contains(&metric)) else {
            return false;
        };
        self.value("requests", "completed") == Some(0.0) || mean == 0.0
    }
}

/// Whether a mean TTFT is the latency of the whole answer under another name: what is left for each further token
/// is shorter than any engine takes for one.
pub fn came_in_one_piece(ttft_ms: f64, e2e_ms: f64, tokens: f64) -> bool {
    ttft_ms > 0.0 && tokens >= 2.0 && (0.0..FASTEST_TOKEN_MS * (tokens - 1.0)).contains(&(e2e_ms - ttft_ms))
}

/// Our key of a fact stated under a JSON key.
pub fn fact_key(key: &str) -> &str {
    FACTS.iter().find(|(name, ..)| *name == key).map_or(key, |(.., ours)| ours)
}

/// Our key of a fact printed behind a label.
pub fn fact_label(label: &str) -> Option<&'static str> {
    FACTS.iter().find(|(_, name, _)| *name == label).map(|(.., ours)| *ours)
}

fn is_statistic(word: &str) -> bool {
    let percentile = word.strip_prefix('p').is_some_and(|p| p.parse::<f64>().is_ok());
    percentile || matches!(word, "mean" | "median" | "std" | "min" | "max")
}

fn latency(name: &str) -> &str {
    if matches!(name, "e2el" | "e2e_latency") { "e2e" } else { name }
}

fn printed(name: &str) -> &str {
    match name {
        "TTFT" => "ttft",
        "TPOT" => "tpot",
        "ITL" => "itl",
        "E2EL" | "E2E Latency" => "e2e",
        other => other,
    }
}
