//! `vllm bench serve` results: one JSON object per run, several in one file (`--append-result`), or the list of a
//! sweep's runs.
//!
//! Times are seconds of a monotonic clock and rows have no ids; a failed request keeps a TTFT of 0.0.

mod details;
mod figures;

use super::serving::{self, Tool};
use super::{Context, Format, Match, Reader, json};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Rows};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The result files of vLLM's benchmark.
pub struct VllmBench;

impl Format for VllmBench {
    fn id(&self) -> &'static str {
        "vllm_bench"
    }

    fn title(&self) -> &'static str {
        "vllm bench serve result"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["client_wait", "ingress", "transport", "aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["\"tokenizer_id\"", "\"num_prompts\"", "\"request_rate\"", "\"model_id\""];
        let ours =
            matches!(head.first_byte(), Some(b'{' | b'[')) && keys.iter().all(|key| head.contains(key));
        Match::when(ours, "model_id, tokenizer_id, num_prompts, request_rate")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.monotonic());
        Reader::Document(Box::new(move |bytes, rows| read(bytes, serving::VLLM, hop, &clock, rows)))
    }
}

/// One run: its fields as written, and where it stands.
struct Run<'a> {
    tool: Tool,
    fields: BTreeMap<String, &'a RawValue>,
    place: Place,
}

impl<'a> Run<'a> {
    /// A number or a quoted number of the run.
    fn raw(&self, key: &str) -> json::Raw<'a> {
        json::Raw(self.fields.get(key).copied())
    }
}

/// Reads the runs of a tool that writes its results as vLLM does.
pub(super) fn read(bytes: &[u8], tool: Tool, hop: Hop, clock: &str, rows: &mut Rows) {
    let Some((text, gbk)) = line_text(bytes) else {
        return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
    };
    if gbk {
        rows.finding(Code::TextEncoding, Place::FILE, "GBK / GB 18030");
    }
    let strict = without_nan(&text);
    if matches!(strict, Cow::Owned(_)) {
        rows.finding(
            Code::RecordNotStrict,
            Place::FILE,
            "NaN and Infinity are not JSON: read as not stated and as inf",
        );
    }
    let (mut at, mut line, mut counted) = (0, 1, 0);
    while let Some(rest) = strict.get(at..).filter(|rest| !rest.trim().is_empty()) {
        let start = at + rest.len() - rest.trim_start().len();
        line += newlines(&strict[counted..start]);
        counted = start;
        let place = Place::line(line);
        let mut objects = serde_json::Deserializer::from_str(&strict[start..]).into_iter::<&RawValue>();
        match objects.next() {
            Some(Ok(object)) => {
                at = start + objects.byte_offset();
                let mut run = |object: &RawValue, place| match json::record::<json::Fields>(object.get()) {
                    Ok(json::Fields(fields)) => Run { tool, fields, place }.read(hop, clock, rows),
                    Err((code, detail)) => rows.refuse(code, place, &detail),
                };
                // A sweep's summary lists its runs.
                let list = object.get().starts_with('[').then(|| serde_json::from_str(object.get()));
                let Some(Ok(list)) = list else {
                    run(object, place);
                    continue;
                };
                let list: Vec<&RawValue> = list;
                let mut seen = 0;
                for part in list {
                    let offset = part.get().as_ptr().addr().saturating_sub(object.get().as_ptr().addr());
                    line += newlines(object.get().get(seen..offset).unwrap_or_default());
                    seen = offset;
                    run(part, Place::line(line));
                }
                counted = start + seen;
            }
            Some(Err(error)) => {
                let code = if error.is_eof() { Code::Truncated } else { Code::RecordNotJson };
                rows.refuse(code, place, &error.to_string());
                // The next run begins on a line of its own.
                at = strict[start..].find("\n{").map_or(strict.len(), |end| start + end + 1);
            }
            None => break,
        }
    }
}

fn newlines(text: &str) -> i64 {
    i64::try_from(memchr::memchr_iter(b'\n', text.as_bytes()).count()).unwrap_or(i64::MAX)
}

impl Run<'_> {
    fn read(&self, hop: Hop, clock: &str, rows: &mut Rows) {
        let figures = self.figures();
        let streamed = if figures.in_one_piece() { Some(false) } else { self.streamed() };
        if streamed == Some(false) {
            rows.finding(Code::NoFirstToken, self.place, serving::NOT_STREAMED);
        }
        self.facts(streamed, rows);
        let figures = figures.write(rows, self.place, self.tool.ids, streamed);
        match self.details(streamed, hop, clock, rows) {
            Ok(0) if figures == 0 => {
                rows.refuse(Code::RecordShape, self.place, "neither figures nor details of a run");
            }
            // A run without details is a record too.
            Ok(0) => rows.read += 1,
            Ok(_) => {}
            Err(detail) => rows.refuse(Code::RecordShape, self.place, &detail),
        }
    }
}

/// The text with the bare words that Python writes for numbers that are none replaced: NaN by null, Infinity by the
/// word that vLLM writes for it.
fn without_nan(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];
    let mut out = String::new();
    let (mut copied, mut at, mut quoted) = (0, 0, false);
    let bytes = text.as_bytes();
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr3(b'"', b'N', b'I', rest)) {
        let mut here = at + found;
        at = here + 1;
        if bytes[here] == b'"' {
            let escapes = bytes[..here].iter().rev().take_while(|b| **b == b'\\').count();
            quoted ^= !quoted || escapes % 2 == 0;
        } else if !quoted {
            here -= usize::from(here > copied && bytes[here - 1] == b'-');
            if let Some(word) = WORDS.iter().find(|word| text[here..].starts_with(**word)) {
                out.push_str(&text[copied..here]);
                out.push_str(match *word {
                    "NaN" => "null",
                    "Infinity" => "\"inf\"",
                    _ => "\"-inf\"",
                });
                copied = here + word.len();
                at = copied;
            }
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
