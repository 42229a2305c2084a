//! Ollama's answers: the final object of `/api/generate` or `/api/chat`, or the whole stream of objects, one a line.
//!
//! Durations are nanoseconds. `load_duration` is the wait for a runner that has the model: milliseconds when it is
//! loaded, the model's load otherwise. There is no id and no queue time; `prompt_eval_*` is left out by the server when
//! the whole prompt was cached. `created_at` is the time of its own object. Answers are never kept.

use super::bodies::{self, Body};
use super::decimal::NS;
use super::json::{self, Raw, Text, word};
use super::load_tool::{Marks, duration, error_text};
use super::{Context, Format, Match, Reader};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, Rows};
use serde::Deserialize;

/// The format; see the module.
pub struct OllamaResponse;

impl Format for OllamaResponse {
    fn id(&self) -> &'static str {
        "ollama_response"
    }

    fn title(&self) -> &'static str {
        "Ollama response"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["model_load", "prefill"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["\"model\"", "\"created_at\"", "\"done\""];
        Match::when(
            bodies::begins(head) && keys.iter().all(|key| head.contains(key)),
            "model, created_at, done",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        bodies::reader(Answers { hop, clock, begun: None, marks: Marks::default() })
    }
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    created_at: Text<'a>,
    done: Option<bool>,
    #[serde(borrow)]
    done_reason: Text<'a>,
    #[serde(borrow)]
    error: Text<'a>,
    #[serde(borrow)]
    response: Text<'a>,
    #[serde(borrow)]
    thinking: Text<'a>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    total_duration: Raw<'a>,
    #[serde(borrow, default)]
    load_duration: Raw<'a>,
    prompt_eval_count: Option<i64>,
    #[serde(borrow, default)]
    prompt_eval_duration: Raw<'a>,
    eval_count: Option<i64>,
    #[serde(borrow, default)]
    eval_duration: Raw<'a>,
}

/// What a chat answer says, in either of its two voices.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(borrow)]
    thinking: Text<'a>,
}

impl Answer<'_> {
    fn has_token(&self) -> bool {
        let said = |text: &Text| text.as_deref().is_some_and(|text| !text.is_empty());
        let message = self.message.as_ref().is_some_and(|m| said(&m.content) || said(&m.thinking));
        said(&self.response) || said(&self.thinking) || message
    }

    fn time(&self) -> Option<i64> {
        let stamp: jiff::Timestamp = word(&self.created_at)?.parse().ok()?;
        i64::try_from(stamp.as_nanosecond()).ok()
    }
}

/// The answer whose objects are being read.
struct Answers {
    hop: Hop,
    clock: String,
    /// Where its first object stands, and its model.
    begun: Option<(Place, Option<String>)>,
    marks: Marks,
}

impl Body for Answers {
    fn object(&mut self, text: &str, place: Place, rows: &mut Rows) {
        match json::record::<Answer>(text) {
            Ok(answer) => self.answer(&answer, place, rows),
            Err((code, detail)) => rows.refuse(code, place, &detail),
        }
    }

    /// A stream that broke off is a request whose end nobody saw.
    fn end(&mut self, rows: &mut Rows) {
        let Some((place, model)) = self.begun.take() else { return };
        let request = Request { model: model.as_deref(), streamed: Some(true), ..Request::default() };
        let key = rows.request(self.hop, place, &request);
        self.marks.add(rows, key, place, &self.clock, 1);
        rows.finding(Code::Truncated, place, "the stream that begins here has no object with `done` true");
    }
}

impl Answers {
    fn answer(&mut self, answer: &Answer, place: Place, rows: &mut Rows) {
        let (hop, clock) = (self.hop, &*self.clock);
        if let Some(error) = word(&answer.error) {
            let (place, model) = self.begun.take().unwrap_or((place, None));
            let (outcome, error) = (Outcome::Error, Some(error_text(error)));
            let request = Request { model: model.as_deref(), outcome, error, ..Request::default() };
            let key = rows.request(hop, place, &request);
            return std::mem::take(&mut self.marks).add(rows, key, place, clock, 1);
        }
        let Some(done) = answer.done else {
            return rows.refuse(Code::RecordShape, place, "neither `done` nor `error`");
        };
        let t_ns = answer.time();
        if !done {
            self.begun.get_or_insert_with(|| (place, word(&answer.model).map(str::to_owned)));
            self.marks.first_chunk = self.marks.first_chunk.or(t_ns);
            if answer.has_token() {
                self.marks.first_token = self.marks.first_token.or(t_ns);
                self.marks.last_token = t_ns;
            }
            return;
        }
        let streamed = self.begun.take().map(|_| true);
        let request = Request {
            model: word(&answer.model),
            input_tokens: answer.prompt_eval_count,
            output_tokens: answer.eval_count,
            outcome: Outcome::Ok,
            error: word(&answer.done_reason),
            streamed,
            ..Request::default()
        };
        let key = rows.request(hop, place, &request);
        // Without the stream's earlier objects, a final one tells when the answer ended and nothing else.
        Marks { end: t_ns, ..std::mem::take(&mut self.marks) }.add(rows, key, place, clock, 1);
        let parts = [
            ("ollama.load", "load_duration", answer.load_duration),
            ("ollama.prefill", "prompt_eval_duration", answer.prompt_eval_duration),
            ("ollama.decode", "eval_duration", answer.eval_duration),
        ];
        let mut sum = 0_i64;
        for (definition, name, raw) in parts {
            if let Some(ns) = duration(rows, place, name, raw.ns(NS)) {
                sum = sum.saturating_add(ns);
                rows.measure(key, definition, ns, "ns", 1);
            }
        }
        if let Some(total) = duration(rows, place, "total_duration", answer.total_duration.ns(NS)) {
            if sum > total {
                let detail = format!(
                    "load + prompt_eval + eval {sum} ns > total_duration {total} ns: total_duration left out"
                );
                rows.finding(Code::ValueImpossible, place, &detail);
            } else {
                rows.measure(key, "ollama.e2e", total, "ns", 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const COLD: &str = include_str!("../../samples/ollama_response/final.json");
    const STREAM: &str = include_str!("../../samples/ollama_response/stream.jsonl");
    const MEASURE: [&str; 3] = ["definition", "duration_ns", "unit"];

    #[test]
    fn a_final_object_tells_load_prefill_and_decode_apart() {
        let read = read(&OllamaResponse, COLD);
        assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
        assert_eq!(
            read.rows(Table::Measure, &MEASURE),
            [
                "ollama.load|1102959851|ns",
                "ollama.prefill|122206000|ns",
                "ollama.decode|370584000|ns",
                "ollama.e2e|1596398280|ns"
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["name", "t_ns", "clock"]),
            ["end|1710342070874304486|epoch:0123456789ab"]
        );
        let columns = ["model", "input_tokens", "output_tokens", "outcome", "streamed"];
        assert_eq!(read.rows(Table::Request, &columns), ["llama2|48|40|ok|~"]);
    }

    #[test]
    fn a_stream_tells_the_first_token_and_a_cached_prompt_is_unknown_not_zero() {
        let read = read(&OllamaResponse, STREAM);
        assert_eq!((read.counts(), read.findings()), ((3, 0), vec![]));
        let columns = ["line", "input_tokens", "output_tokens", "outcome", "error", "streamed"];
        assert_eq!(
            read.rows(Table::Request, &columns),
            ["4|26|3|ok|stop|true", "7|~|2|ok|length|true", "8|~|~|error|model runner has stopped|~"]
        );
        assert_eq!(
            read.rows(Table::Mark, &["line", "name", "t_ns"])[..4],
            [
                "4|first_token|1796076000300000000",
                "4|end|1796076000400000000",
                "4|first_chunk|1796076000250000000",
                "4|last_token|1796076000350000001",
            ]
        );
        assert!(!read.rows(Table::Measure, &["line", "definition"]).contains(&"7|ollama.prefill".to_owned()));
    }

    #[test]
    fn contradictions_and_broken_streams_are_told() {
        let total = COLD.replace("1596398280", "1596398");
        assert_eq!(
            read(&OllamaResponse, &total).findings(),
            ["1 value-impossible load + prompt_eval + eval 1595749851 ns > total_duration 1596398 ns: \
              total_duration left out"]
        );
        let cut = read(&OllamaResponse, STREAM.lines().next().unwrap());
        assert_eq!(cut.counts(), (1, 0));
        assert!(cut.findings()[0].starts_with("1 truncated the stream that begins here"));
        assert_eq!(read(&OllamaResponse, "{\"model\":\"m\"}\n{\"done\":true").counts(), (0, 2));
    }

    #[test]
    fn answers_are_recognised_and_others_are_not() {
        assert!(recognises(&OllamaResponse, COLD) && recognises(&OllamaResponse, STREAM));
        for text in ["", "garbage", "{\"model\":\"m\",\"created\":1}", "model created_at done"] {
            assert!(!recognises(&OllamaResponse, text), "{text}");
        }
    }
}
