//! The block that vLLM's, `SGLang`'s and `TensorRT-LLM`'s serving benchmarks print: figures over all requests.
//!
//! It stands alone or inside a log with other lines, once or several times. `SGLang` prints its backend and vLLM does
//! not; `TensorRT-LLM` prints a throughput per user. Figures are rounded to two decimals, and there are no requests.

use super::load_tool::cut;
use super::serving::{self, Figures};
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use std::mem::take;

/// The printed block of a serving benchmark.
pub struct VllmBenchText;

/// Longest value of a fact, in characters.
const FACT_CHARS: usize = 200;

/// Settings worth keeping from the arguments vLLM and `SGLang` print before they run: name there, our key.
const ARGUMENTS: [(&str, &str); 6] = [
    ("backend", "backend"),
    ("dataset_name", "dataset"),
    ("model", "model"),
    ("num_prompts", "num_prompts"),
    ("num_warmups", "num_warmups"),
    ("tokenizer", "tokenizer_id"),
];

impl Format for VllmBenchText {
    fn id(&self) -> &'static str {
        "vllm_bench_text"
    }

    fn title(&self) -> &'static str {
        "Serving Benchmark Result, printed (vLLM, SGLang, TensorRT-LLM)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        // A log longer than the head ends with the block; it begins with the arguments and the announced load.
        let announced =
            head.lines().any(|line| arguments(line).is_some()) && head.contains("Traffic request rate:");
        Match::when(
            announced || head.lines().any(|line| title(line).is_some()),
            "==== Serving Benchmark Result ====",
        )
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Stream(Box::<Block>::default())
    }
}

/// What is known of the run whose block comes or is open.
#[derive(Default)]
struct Block {
    /// Line of the title, once it was seen.
    title: Option<Place>,
    /// What stands before the title in its line, as before every line of a prefixed or commented log.
    prefix: String,
    facts: Vec<(&'static str, String)>,
    figures: Vec<(String, f64)>,
}

impl Stream for Block {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        // A progress bar that was not ended shares the line.
        let text = line.text.trim_end().rsplit('\r').next().unwrap_or_default();
        if let Some(prefix) = title(text) {
            self.close(rows, false);
            (self.title, self.prefix) = (Some(line.place), prefix.to_owned());
            return;
        }
        let text = text.strip_prefix(self.prefix.as_str()).unwrap_or(text).trim();
        if let Some(list) = arguments(text) {
            self.arguments(list);
        } else if self.title.is_some() && text.len() > 20 && text.bytes().all(|b| b == b'=') {
            self.close(rows, true);
        } else if let Some((label, value)) = text.rsplit_once(':') {
            self.field(label, value.trim());
        }
    }

    fn end(&mut self, rows: &mut Rows) {
        self.close(rows, false);
    }
}

impl Block {
    fn field(&mut self, label: &str, value: &str) {
        if let Some(key) = serving::fact_label(label) {
            // vLLM names the kind of arrivals behind the factor: `1.0 (Poisson process)`.
            let value = value.split(" (").next().unwrap_or(value);
            if !matches!(value, "None" | "not set") {
                self.fact(key, value);
            }
        } else if self.title.is_some()
            && let Some(value) = value.parse::<f64>().ok().filter(|v| v.is_finite())
        {
            self.figures.push((label.to_owned(), value));
        }
    }

    /// The later word for a setting wins: the block repeats what was announced before it.
    fn fact(&mut self, key: &'static str, value: &str) {
        self.facts.retain(|(known, _)| *known != key);
        self.facts.push((key, cut(value, FACT_CHARS).to_owned()));
    }

    fn arguments(&mut self, list: &str) {
        for (name, key) in ARGUMENTS {
            if let Some(value) = argument(list, name) {
                self.fact(key, value);
            }
        }
        let off = ["no_stream", "disable_stream"].into_iter().find_map(|name| argument(list, name));
        if let Some(off) = off {
            self.fact("stream", if off == "True" { "false" } else { "true" });
        }
    }

    fn close(&mut self, rows: &mut Rows, ended: bool) {
        let Some(place) = self.title.take() else { return };
        let (facts, stated) = (take(&mut self.facts), take(&mut self.figures));
        let mut figures = Figures::default();
        for (label, value) in &stated {
            figures.by_label(label, *value);
        }
        let known = |key: &str| facts.iter().any(|(name, _)| *name == key);
        let printed = |label: &str| stated.iter().any(|(name, _)| name == label);
        let sglang = printed("Total generated tokens (retokenized)") || printed("Total throughput (tok/s)");
        let tool = match () {
            () if sglang => serving::SGLANG,
            () if printed("User throughput (tok/s)") => serving::TRTLLM,
            () => serving::VLLM,
        };
        let declared = facts.iter().find(|(key, _)| *key == "stream").map(|(_, value)| value == "true");
        let streamed = if figures.in_one_piece() { Some(false) } else { declared };
        if figures.is_empty() {
            return rows.refuse(Code::RecordShape, place, "a block without figures");
        }
        rows.read += 1;
        rows.run(place, "tool", tool.name);
        for (key, value) in &facts {
            rows.run(place, key, value);
        }
        if streamed == Some(false) {
            if !known("stream") {
                rows.run(place, "stream", "false");
            }
            rows.finding(Code::NoFirstToken, place, serving::NOT_STREAMED);
        }
        figures.write(rows, place, tool.ids, streamed);
        if !ended {
            rows.finding(Code::Truncated, place, "the closing line of = is missing");
        }
    }
}

/// What stands before the title of a block, when the line is one.
fn title(line: &str) -> Option<&str> {
    let (before, after) = line.trim_end().split_once("= Serving Benchmark Result =")?;
    let prefix = before.trim_end_matches('=');
    (before.len() - prefix.len() > 5 && after.bytes().all(|b| b == b'=')).then_some(prefix)
}

/// The arguments inside `Namespace(…)` or `benchmark_args=Namespace(…)`.
fn arguments(line: &str) -> Option<&str> {
    let (_, list) = line.split_once("Namespace(")?;
    ["num_prompts=", "request_rate="].iter().all(|name| list.contains(name)).then_some(list)
}

/// One argument of the list, without quotes; `None` when it is Python's `None`.
fn argument<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    let after = |(at, _)| {
        let before = list.get(..at)?;
        (before.is_empty() || before.ends_with(", ")).then(|| list.get(at + name.len() + 1..))?
    };
    let key = format!("{name}=");
    let rest = list.match_indices(&key).find_map(after)?;
    let value = match rest.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next()?,
        None => rest.split([',', ')']).next()?,
    };
    (value != "None").then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{Read, read, recognises};
    use crate::row::Table;

    const LAB: &str = include_str!("../../samples/vllm_bench_text/stdout.log");
    const SGLANG: &str = include_str!("../../samples/vllm_bench_text/sglang.txt");

    fn facts(read: &Read) -> Vec<String> {
        read.rows(Table::Run, &["line", "key", "value"])
    }

    fn figures(read: &Read) -> Vec<String> {
        read.rows(Table::Aggregate, &["metric", "statistic", "value", "unit", "n", "definition"])
    }

    fn block(lines: &str) -> String {
        format!("============ Serving Benchmark Result ============\n{lines}\n{}\n", "=".repeat(50))
    }

    #[test]
    fn the_block_of_a_log_is_read_with_the_settings_announced_before_it() {
        let read = read(&VllmBenchText, LAB);
        assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
        let facts = facts(&read);
        for fact in [
            "tool|vllm-bench",
            "backend|openai-chat",
            "model|tiny-llama",
            "stream|true",
            "request_rate|inf",
            "max_concurrency|8",
            "num_prompts|40",
            "burstiness|1.0",
        ] {
            assert!(facts.iter().any(|f| f.ends_with(fact)), "{fact}: {facts:?}");
        }
        let figures = figures(&read);
        assert_eq!(figures[..2], ["requests|completed|40|1|~|", "requests|failed|0|1|~|"]);
        for figure in [
            "ttft|p99|3344.52|ms|40|vllm-bench.ttft",
            "e2e|mean|3045.13|ms|40|vllm-bench.latency",
            "request_rate|value|2.46|1/s|40|",
            "concurrency|max|13|1|~|",
            "total_throughput|value|788.93|1/s|~|",
        ] {
            assert!(figures.contains(&figure.to_owned()), "{figure}: {figures:?}");
        }
        assert!(!facts.concat().contains("127.0.0.1"), "an address was stored");
    }

    #[test]
    fn sglang_is_told_by_its_lines_and_what_came_in_one_piece_has_no_ttft() {
        let read = read(&VllmBenchText, SGLANG);
        assert_eq!(read.counts(), (2, 0));
        assert_eq!(facts(&read).iter().filter(|f| f.contains("tool|sglang-bench")).count(), 2);
        assert!(facts(&read).contains(&"1|max_concurrency|64".to_owned()));
        let figures = figures(&read);
        assert!(figures.contains(&"ttft|p99|13928.62|ms|200|sglang-bench.ttft".to_owned()));
        assert_eq!(figures.iter().filter(|f| f.starts_with("ttft|mean")).count(), 1);
        let findings = read.findings();
        assert!(findings.iter().any(|f| f.starts_with("34 no-first-token")), "{findings:?}");
        assert!(findings.iter().any(|f| f.starts_with("34 value-impossible mean itl 0 ms")), "{findings:?}");
    }

    #[test]
    fn zeros_over_nothing_and_negatives_are_left_out() {
        let text = block(
            "Successful requests: 0\nMean TTFT (ms): 0.00\nP99 TTFT (ms): 0.00\nMedian ITL (ms): -3.00",
        );
        let read = read(&VllmBenchText, &text);
        assert_eq!(figures(&read), ["requests|completed|0|1|~|"]);
        assert_eq!(
            read.findings(),
            [
                "1 value-impossible median itl -3 ms < 0: left out",
                "1 value-impossible mean ttft 0 ms with completed 0: its figures are left out",
            ]
        );
    }

    #[test]
    fn windows_lines_prefixes_and_a_missing_end_are_read() {
        let one = block("Successful requests:   7").replace('\n', "\r\n# ");
        let read = read(&VllmBenchText, &format!("# {one}{}", &block("Failed requests: 1")[..70]));
        assert_eq!(figures(&read)[0], "requests|completed|7|1|~|");
        assert_eq!(read.findings(), ["4 truncated the closing line of = is missing"]);
    }

    #[test]
    fn prose_about_the_block_is_not_one() {
        assert!(!recognises(&VllmBenchText, "The Serving Benchmark Result was good.\nMean TTFT (ms): 5\n"));
        assert!(recognises(&VllmBenchText, &block("")));
        assert_eq!(read(&VllmBenchText, &block("")).counts(), (0, 1));
    }
}
