//! A shell line that runs a known load tool: what load was asked for, and whether streaming was.
//!
//! Only what the line says, and defaults that the tool documents, become facts. Prompts, headers and keys are not kept.

use super::load_tool::cut;
use super::{Context, Format, Match, Reader};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Rows};

/// The command line of a load test.
pub struct BenchCommand;

/// Longest value of a fact, in characters.
const FACT_CHARS: usize = 200;

/// Longest file that can be a command: the longest line that Linux takes for one argument.
const COMMAND_BYTES: usize = 128 << 10;

/// A load tool: how its command begins, and what its flags mean.
struct Tool {
    name: &'static str,
    /// The words of the command, after an interpreter or path that is left out.
    words: &'static [&'static str],
    /// Flag and our key.
    flags: &'static [(&'static str, &'static str)],
    stream: Stream,
}

/// How streaming is asked for.
enum Stream {
    /// Only with this flag, off without it.
    With(&'static str),
    /// Always, unless this flag is given.
    Unless(&'static str),
}

const SERVING: &[(&str, &str)] = &[
    ("--backend", "backend"),
    ("--burstiness", "burstiness"),
    ("--dataset-name", "dataset"),
    ("--max-concurrency", "max_concurrency"),
    ("--model", "model"),
    ("--num-prompts", "num_prompts"),
    ("--num-warmups", "num_warmups"),
    ("--request-rate", "request_rate"),
    ("--warmup-requests", "num_warmups"),
];

const PERF: &[(&str, &str)] = &[
    ("--concurrency", "max_concurrency"),
    ("--model", "model"),
    ("--request-count", "num_prompts"),
    ("--request-rate", "request_rate"),
    ("--warmup-request-count", "num_warmups"),
    ("-m", "model"),
];

const TOOLS: &[Tool] = &[
    Tool {
        name: "vllm-bench",
        words: &["vllm", "bench", "serve"],
        flags: SERVING,
        stream: Stream::Unless("--no-stream"),
    },
    Tool {
        name: "vllm-bench",
        words: &["benchmark_serving.py"],
        flags: SERVING,
        stream: Stream::Unless("--no-stream"),
    },
    Tool {
        name: "sglang-bench",
        words: &["sglang.bench_serving"],
        flags: SERVING,
        stream: Stream::Unless("--disable-stream"),
    },
    Tool {
        name: "sglang-bench",
        words: &["bench_serving.py"],
        flags: SERVING,
        stream: Stream::Unless("--disable-stream"),
    },
    Tool { name: "aiperf", words: &["aiperf", "profile"], flags: PERF, stream: Stream::With("--streaming") },
    Tool {
        name: "genai-perf",
        words: &["genai-perf", "profile"],
        flags: PERF,
        stream: Stream::With("--streaming"),
    },
    Tool {
        name: "evalscope",
        words: &["evalscope", "perf"],
        flags: &[
            ("--api", "backend"),
            ("--dataset", "dataset"),
            ("--model", "model"),
            ("--number", "num_prompts"),
            ("--parallel", "max_concurrency"),
            ("--rate", "request_rate"),
            ("-n", "num_prompts"),
        ],
        stream: Stream::With("--stream"),
    },
];

impl Format for BenchCommand {
    fn id(&self) -> &'static str {
        "bench_command"
    }

    fn title(&self) -> &'static str {
        "Command line of a load test (vLLM, SGLang, AIPerf, GenAI-Perf, EvalScope)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["workload"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let text = String::from_utf8_lossy(&head.bytes);
        let commands: Vec<_> = commands(&text).into_iter().filter(|(_, words)| !words.is_empty()).collect();
        // Nothing but commands: prose, a script or a log that quotes one is something else.
        let ours = !commands.is_empty() && commands.iter().all(|(_, words)| command(words).is_some());
        Match::when(ours, "the command of a load tool and its flags, nothing else")
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Document(Box::new(|bytes, rows| {
            let text = bytes.get(..bytes.len().min(COMMAND_BYTES)).unwrap_or_default();
            if text.len() < bytes.len() {
                rows.finding(
                    Code::Truncated,
                    Place::FILE,
                    "longer than a command can be: the rest was not read",
                );
            }
            let Some((text, _)) = line_text(text) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            for (line, words) in commands(&text) {
                let place = Place::line(line);
                match command(&words) {
                    Some((tool, flags)) => tool.read(flags, place, rows),
                    None if words.is_empty() => {}
                    None => rows.refuse(Code::RecordShape, place, "not the command of a known load tool"),
                }
            }
        }))
    }
}

impl Tool {
    fn read(&self, words: &[String], place: Place, rows: &mut Rows) {
        rows.read += 1;
        rows.run(place, "tool", self.name);
        let given = |flag: &str| words.iter().any(|word| is_flag(word, flag));
        for (flag, key) in self.flags {
            if let Some(value) = value(words, flag) {
                rows.run(place, key, cut(value, FACT_CHARS));
            }
        }
        let streamed = match self.stream {
            // The flag takes a value in newer versions.
            Stream::With(flag) => given(flag) && value(words, flag) != Some("false"),
            Stream::Unless(flag) => {
                let backend = value(words, "--backend").unwrap_or_default();
                !given(flag) && !["embedding", "pooling", "rerank"].iter().any(|kind| backend.contains(kind))
            }
        };
        rows.run(place, "stream", if streamed { "true" } else { "false" });
    }
}

/// Whether a word is this flag, alone or with `=value`; underscores count as hyphens, as argparse users mix them.
fn is_flag(word: &str, flag: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    name.len() == flag.len() && name.bytes().zip(flag.bytes()).all(|(a, b)| a == b || (a, b) == (b'_', b'-'))
}

/// The value of a flag; the last one wins, as the tools have it.
fn value<'a>(words: &'a [String], flag: &str) -> Option<&'a str> {
    let at = words.iter().rposition(|word| is_flag(word, flag))?;
    let word = words.get(at)?;
    let value = match word.split_once('=') {
        Some((_, value)) => value,
        None => words.get(at + 1).filter(|next| !next.starts_with("--"))?,
    };
    (!value.is_empty()).then_some(value)
}

/// The tool a command runs, and its arguments: every word before the tool's is an interpreter, a setting of the
/// environment or a wrapper's path, and the arguments begin with a flag.
fn command(words: &[String]) -> Option<(&'static Tool, &[String])> {
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    for tool in TOOLS {
        for at in 0..words.len().min(8) {
            let rest = words.get(at..)?;
            let same =
                rest.len() >= tool.words.len() && tool.words.iter().zip(rest).all(|(a, b)| *a == name(b));
            let Some(arguments) = rest.get(tool.words.len()..).filter(|_| same) else { continue };
            let before = words.get(..at)?;
            let launched = before.iter().all(|word| {
                let word = name(word);
                matches!(
                    word.as_str(),
                    "-m" | "-u" | "$" | "#" | "time" | "env" | "nohup" | "sudo" | "uv" | "run"
                ) || word.starts_with("python")
                    || (word.contains('=') && !word.starts_with('-'))
            });
            if launched && arguments.first().is_some_and(|word| word.starts_with('-')) {
                return Some((tool, arguments));
            }
        }
    }
    None
}

/// Commands with the line they begin on, split into words as a shell does: quotes, backslashes, joined lines.
/// Comments and blank lines give no words.
fn commands(text: &str) -> Vec<(i64, Vec<String>)> {
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let (mut line, mut began, mut quote) = (1, 1, None);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        line += i64::from(c == '\n');
        match (c, quote) {
            ('\\', None) if chars.peek() == Some(&'\r') || chars.peek() == Some(&'\n') => {
                while chars.next_if(|next| matches!(next, '\r' | '\n')).is_some_and(|next| next != '\n') {}
                line += 1;
                words.extend(word.take());
            }
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (_, Some(open)) if open == c => quote = None,
            ('\n', None) => {
                words.extend(word.take());
                all.push((began, std::mem::take(&mut words)));
                began = line;
            }
            (_, None) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    all.push((began, words));
    all.retain(|(_, words)| words.first().is_some_and(|word| word == "$" || !word.starts_with('#')));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    fn facts(text: &str) -> Vec<String> {
        read(&BenchCommand, text).rows(Table::Run, &["key", "value"])
    }

    #[test]
    fn the_load_asked_for_and_the_stream_are_read() {
        assert_eq!(
            facts(
                "python benchmark_serving.py --backend vllm --model Qwen2 --request-rate 12 --num_prompts=1000\n"
            ),
            [
                "tool|vllm-bench",
                "backend|vllm",
                "model|Qwen2",
                "num_prompts|1000",
                "request_rate|12",
                "stream|true"
            ]
        );
        assert_eq!(
            facts("evalscope perf --parallel 50 --model qwen --api openai --prompt '... -n 7' -n 50"),
            [
                "tool|evalscope",
                "backend|openai",
                "model|qwen",
                "max_concurrency|50",
                "num_prompts|50",
                "stream|false"
            ]
        );
        assert!(facts("evalscope perf --parallel 1 --stream").contains(&"stream|true".to_owned()));
        assert!(
            facts("python3 -m sglang.bench_serving --disable-stream").contains(&"stream|false".to_owned())
        );
    }

    #[test]
    fn lines_joined_by_backslashes_are_one_command_and_secrets_stay_out() {
        let text = include_str!("../../samples/bench_command/commands.sh");
        let read = read(&BenchCommand, text);
        assert_eq!((read.counts(), read.findings()), ((3, 0), vec![]));
        let facts = read.rows(Table::Run, &["line", "key", "value"]);
        assert!(facts.contains(&"2|request_rate|4".to_owned()), "{facts:?}");
        assert!(facts.contains(&"8|tool|aiperf".to_owned()) && facts.contains(&"8|stream|true".to_owned()));
        assert!(
            facts.contains(&"11|tool|evalscope".to_owned()) && facts.contains(&"11|stream|false".to_owned())
        );
        assert!(!facts.concat().contains("sk-") && !facts.concat().contains("Why"));
    }

    #[test]
    fn prose_scripts_and_servers_are_not_commands() {
        for text in [
            "We ran vllm bench serve --model x and it was slow.\n",
            "vllm bench serve is a tool\n",
            "evalscope perf\n",
            "for r in 1 2; do\n  vllm bench serve --request-rate $r\ndone\n",
            "vllm serve --model x\n",
            "",
            "# vllm bench serve --model x\n",
        ] {
            assert!(!recognises(&BenchCommand, text), "{text}");
        }
        assert!(recognises(&BenchCommand, "$ /opt/bin/vllm bench serve --model x\n"));
    }
}
