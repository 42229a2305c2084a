//! Request plan: the workload a load test is to send, one planned request a JSON line. No latency is in it.
//!
//! The prompts stand in the file; only their length is kept.

use super::json::{self, Text, word};
use super::{Context, Format, Line, Match, Reader};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The request plan format.
pub struct RequestPlan;

impl Format for RequestPlan {
    fn id(&self) -> &'static str {
        "request_plan"
    }

    fn title(&self) -> &'static str {
        "Request plan (JSON lines)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["workload"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let seen = head.lines().take(20).any(|line| json::record::<Keys>(line).is_ok());
        Match::when(seen, "i, at_s, sample_id, max_tokens, prompt")
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Lines(Box::new(read))
    }
}

/// Keys that decide.
#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence is what counts")]
struct Keys {
    i: IgnoredAny,
    at_s: IgnoredAny,
    sample_id: IgnoredAny,
    max_tokens: IgnoredAny,
    prompt: IgnoredAny,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    sample_id: Text<'a>,
    #[serde(borrow)]
    caller: Text<'a>,
    #[serde(borrow)]
    input_class: Text<'a>,
    max_tokens: Option<i64>,
    #[serde(borrow)]
    prompt: Text<'a>,
}

fn read(line: Line, rows: &mut Rows) {
    let r: Record = match json::record(line.text) {
        Ok(record) => record,
        Err((code, detail)) => return line.refuse(rows, code, &detail),
    };
    let name = |text| word(text).unwrap_or("-");
    let number = |n: Option<i64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let chars = r.prompt.as_deref().map(|prompt| i64::try_from(prompt.chars().count()).unwrap_or(i64::MAX));
    let value = format!(
        "{} {} {} max_tokens={} prompt_chars={}",
        name(&r.sample_id),
        name(&r.caller),
        name(&r.input_class),
        number(r.max_tokens),
        number(chars),
    );
    rows.run(line.place, "planned_request", &value);
    rows.read += 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/request_plan/plan.jsonl");

    #[test]
    fn a_planned_request_is_a_fact_and_its_prompt_is_not_kept() {
        let read = read(&RequestPlan, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((4, 0), vec![]));
        assert_eq!(
            read.rows(Table::Run, &["line", "key", "value"])[0],
            "1|planned_request|6d8bd5b6ed8ea822 web-chat short max_tokens=12 prompt_chars=132"
        );
        assert_eq!(read.rows(Table::Request, &["row"]), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_stated_is_a_dash_and_bad_lines_are_refused() {
        let read = read(&RequestPlan, "{\"at_s\":null,\"prompt\":\"é\\n\"}\n{\"prompt\":5}\nx\n{\"prompt\"");
        assert_eq!(read.rows(Table::Run, &["value"]), ["- - - max_tokens=- prompt_chars=2"]);
        assert_eq!(
            read.rows(Table::Finding, &["line", "code"]),
            ["2|record-shape", "3|record-not-json", "4|truncated"]
        );
        assert_eq!(read.counts(), (1, 3));
    }

    #[test]
    fn recognised_by_its_keys() {
        assert!(recognises(&RequestPlan, SAMPLE));
        for other in ["", "garbage", r#"{"sample_id":"a","prompt":"b"}"#] {
            assert!(!recognises(&RequestPlan, other), "{other}");
        }
    }
}
