//! llama.cpp's server log: `M.SS.mmm.uuu L slot function: id S | task T | message`, times since the process began.
//!
//! Minutes, seconds, milliseconds, microseconds. A task is one request: launched on a slot, its timings printed, the
//! slot released. The log has no request id; the timings also stand in the response, which is what joins the two.
//! Without `--log-timestamps` there are no marks; older builds print the timings on lines of their own.

use super::{Context, Format, Line, Match, Reader, Stream, decimal};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Event, Hop, Outcome, Request, Rows};
use std::collections::BTreeMap;

const MICROSECOND_NS: i64 = 1_000;

/// llama-server's log.
pub struct LlamaLog;

impl Format for LlamaLog {
    fn id(&self) -> &'static str {
        "llama_log"
    }

    fn title(&self) -> &'static str {
        "llama.cpp server log"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["schedule", "ready", "model_load", "prefill"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |line| {
            let (t_ns, text) = stamped(line);
            slot_line(text).is_some() || (t_ns.is_some() && text.starts_with("srv "))
        };
        Match::when(head.lines().any(ours), "slot function: id, task")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let tasks = BTreeMap::new();
        Reader::Stream(Box::new(Log { hop: cx.hop, clock: cx.monotonic(), tasks, printing: None }))
    }
}

/// `n` tokens in `ms`, as printed.
struct Timing {
    ms: String,
    tokens: i64,
}

impl Timing {
    /// From `… = 89.65 ms / 49 tokens (…)`.
    fn parse(text: &str) -> Option<Timing> {
        let (ms, rest) = text.split_once('=')?.1.split_once("ms /")?;
        let tokens = rest.split_ascii_whitespace().next()?.parse().ok()?;
        let ms = ms.trim_ascii();
        decimal::to_ns(ms, decimal::MS)?;
        Some(Timing { ms: ms.to_owned(), tokens })
    }

    fn ns(&self) -> Option<i64> {
        decimal::to_ns(&self.ms, decimal::MS)
    }
}

/// What is known of a task so far.
#[derive(Default)]
struct Task {
    place: Place,
    number: i64,
    launch_ns: Option<i64>,
    /// When the timings were printed: when the last token was out.
    printed_ns: Option<i64>,
    prompt: Option<Timing>,
    eval: Option<Timing>,
    end_ns: Option<i64>,
    /// Tokens in the slot at the end: all of the prompt, and what was generated but for the last one.
    held: Option<i64>,
    outcome: Outcome,
}

impl Task {
    /// When the first token was out: the printed time less the time spent on all further tokens.
    fn first_token_ns(&self) -> Option<i64> {
        self.printed_ns?.checked_sub(self.eval.as_ref()?.ns()?)
    }

    /// Prompt tokens in all, and how many of them came from the cache. The printed count has only the others, so
    /// that without the count in the slot the prompt's length is not known.
    fn prompt_tokens(&self) -> Option<(i64, i64)> {
        let (prompt, eval) = (self.prompt.as_ref()?, self.eval.as_ref()?);
        let all = self.held?.checked_sub(eval.tokens.checked_sub(1)?)?;
        let cached = all.checked_sub(prompt.tokens)?;
        (cached >= 0).then_some((all, cached))
    }
}

struct Log {
    hop: Hop,
    clock: String,
    /// The task of each slot.
    tasks: BTreeMap<i64, Task>,
    /// The slot and task whose timings follow without their names.
    printing: Option<(i64, i64)>,
}

impl Stream for Log {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        let (t_ns, text) = stamped(line.text);
        if let Some(s) = slot_line(text) {
            self.slot(&s, t_ns, line, rows);
        } else if ["slot launch_slot_:", "slot print_timing:", "slot release:"]
            .iter()
            .any(|f| text.starts_with(f))
        {
            line.refuse(rows, Code::RecordShape, "not `slot function: id S | task T | message`");
        } else if let Some((slot, task)) = self.printing.filter(|_| text.contains("eval time =")) {
            self.timing(slot, task, text, t_ns, line, rows);
        } else if let Some((_, task)) = text.split_once("cancel task, id_task = ") {
            let number = task.trim_ascii().parse::<i64>().ok();
            if let Some(task) = self.tasks.values_mut().find(|t| Some(t.number) == number) {
                task.outcome = Outcome::Cancelled;
            }
        } else if let Some(kind) = server_event(text) {
            let detail = &text[..text.floor_char_boundary(160)];
            let (clock, resolution_ns) = (&*self.clock, MICROSECOND_NS);
            let event = Event { kind, t_ns, clock, resolution_ns, detail, ..Event::default() };
            rows.event(self.hop, line.place, &event);
        }
    }

    fn end(&mut self, rows: &mut Rows) {
        for (slot, task) in std::mem::take(&mut self.tasks) {
            self.emit(slot, &task, rows);
        }
    }
}

impl Log {
    fn slot(&mut self, s: &SlotLine, t_ns: Option<i64>, line: Line, rows: &mut Rows) {
        self.printing = None;
        match s.function {
            "launch_slot_" if s.message.starts_with("processing task") => {
                if let Some(open) = self.tasks.remove(&s.slot) {
                    self.emit(s.slot, &open, rows);
                }
                self.task(s.slot, s.task, line.place, rows).launch_ns = t_ns;
            }
            "print_timing" if s.message.is_empty() => self.printing = Some((s.slot, s.task)),
            "print_timing" => self.timing(s.slot, s.task, s.message, t_ns, line, rows),
            "release" => {
                let mut task = std::mem::take(self.task(s.slot, s.task, line.place, rows));
                self.tasks.remove(&s.slot);
                task.end_ns = t_ns;
                let whole = s.message.contains("truncated = 0");
                task.held = count(s.message, "n_tokens = ")
                    .or_else(|| count(s.message, "n_past = "))
                    .filter(|_| whole);
                if task.eval.is_some() {
                    task.outcome = Outcome::Ok;
                }
                self.emit(s.slot, &task, rows);
            }
            _ => {}
        }
    }

    fn timing(&mut self, slot: i64, task: i64, text: &str, t_ns: Option<i64>, line: Line, rows: &mut Rows) {
        let prompt = text.trim_ascii_start().starts_with("prompt eval time");
        if !prompt && !text.trim_ascii_start().starts_with("eval time") {
            return;
        }
        let Some(timing) = Timing::parse(text) else {
            return line.refuse(rows, Code::RecordShape, "not `eval time = N ms / N tokens`");
        };
        let task = self.task(slot, task, line.place, rows);
        task.printed_ns = task.printed_ns.or(t_ns);
        *(if prompt { &mut task.prompt } else { &mut task.eval }) = Some(timing);
    }

    /// The task of a slot. Another one that is still there lost its end: it becomes a row as it is.
    fn task(&mut self, slot: i64, number: i64, place: Place, rows: &mut Rows) -> &mut Task {
        if self.tasks.get(&slot).is_some_and(|task| task.number != number)
            && let Some(open) = self.tasks.remove(&slot)
        {
            self.emit(slot, &open, rows);
        }
        self.tasks.entry(slot).or_insert_with(|| Task { place, number, ..Task::default() })
    }

    fn emit(&self, slot: i64, task: &Task, rows: &mut Rows) {
        let echo = match (&task.prompt, &task.eval) {
            (Some(p), Some(e)) => Some(format!("{}/{}/{}/{}", p.tokens, p.ms, e.tokens, e.ms)),
            _ => None,
        };
        let tokens = task.prompt_tokens();
        let instance = format!("slot {slot}");
        let request = Request {
            echo_id: echo.as_deref(),
            instance: Some(&instance),
            input_tokens: tokens.map(|(all, _)| all),
            cached_tokens: tokens.map(|(_, cached)| cached),
            output_tokens: task.eval.as_ref().map(|eval| eval.tokens),
            outcome: task.outcome,
            ..Request::default()
        };
        let key = rows.request(self.hop, task.place, &request);
        let mut first_token_ns = task.first_token_ns();
        if let (Some(launch), Some(first)) = (task.launch_ns, first_token_ns)
            && first < launch
        {
            let detail = format!("printed − eval time {first} < launch {launch}; first_token left out");
            rows.finding(Code::ValueImpossible, task.place, &detail);
            first_token_ns = None;
        }
        let marks = [
            ("launch", task.launch_ns, MICROSECOND_NS),
            ("first_token", first_token_ns, 10 * MICROSECOND_NS),
            ("end", task.end_ns, MICROSECOND_NS),
        ];
        for (name, t_ns, resolution) in marks {
            if let Some(t_ns) = t_ns {
                rows.mark(key, name, t_ns, &self.clock, resolution);
            }
        }
        for (definition, timing) in [("llama.prefill", &task.prompt), ("llama.decode", &task.eval)] {
            if let Some((timing, ns)) = timing.as_ref().and_then(|t| Some((t, t.ns()?))) {
                rows.measure(key, definition, ns, "ms", decimal::step_ns(&timing.ms, decimal::MS));
            }
        }
    }
}

struct SlotLine<'a> {
    function: &'a str,
    slot: i64,
    task: i64,
    message: &'a str,
}

/// `slot function: id S | task T | message`.
fn slot_line(text: &str) -> Option<SlotLine<'_>> {
    let (function, rest) = text.strip_prefix("slot ")?.split_once(':')?;
    let mut parts = rest.splitn(3, '|');
    let mut number = |name| parts.next()?.trim_ascii().strip_prefix(name)?.trim_ascii().parse().ok();
    let (slot, task) = (number("id")?, number("task")?);
    Some(SlotLine { function: function.trim_ascii(), slot, task, message: parts.next()?.trim_ascii() })
}

/// The time since the process began, when the line has one, and what follows it and the level.
fn stamped(text: &str) -> (Option<i64>, &str) {
    let split = || {
        let (stamp, rest) = text.split_once(' ')?;
        let mut parts = stamp.split('.');
        let mut part = |digits: usize| {
            let part = parts.next()?;
            let fits = part.bytes().all(|b| b.is_ascii_digit()) && (digits == 0 || part.len() == digits);
            part.parse::<i64>().ok().filter(|_| fits)
        };
        let (minutes, seconds, ms, us) = (part(0)?, part(2)?, part(3)?, part(3)?);
        let rest = rest.trim_ascii_start();
        let text = rest.strip_prefix(['D', 'I', 'W', 'E']).and_then(|r| r.strip_prefix(' ')).unwrap_or(rest);
        let us = minutes.checked_mul(60_000_000)?.checked_add(seconds * 1_000_000 + ms * 1_000 + us)?;
        Some((us.checked_mul(MICROSECOND_NS)?, text))
    };
    split().map_or((None, text), |(t_ns, text)| (Some(t_ns), text))
}

/// The number after `name`.
fn count(text: &str, name: &str) -> Option<i64> {
    let digits = text.split_once(name)?.1;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// What a line outside any slot says of the server's start.
fn server_event(text: &str) -> Option<&'static str> {
    if text.contains("load_model: loading model") {
        Some("load-begin")
    } else if text.trim_ascii_end().ends_with(": model loaded") {
        Some("model-loaded")
    } else if text.contains("listening on http") {
        Some("ready")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{Read, read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/llama_log/llama-server.log");
    const REQUEST: [&str; 6] = ["line", "instance", "echo_id", "input_tokens", "output_tokens", "outcome"];

    fn marks(read: &Read) -> Vec<String> {
        read.rows(Table::Mark, &["line", "name", "t_ns", "resolution_ns"])
    }

    #[test]
    fn a_task_is_a_request_that_joins_by_the_figures_of_its_response() {
        let read = read(&LlamaLog, SAMPLE);
        assert_eq!(read.findings(), [""; 0]);
        let requests = read.rows(Table::Request, &REQUEST);
        assert_eq!(requests[0], "2|slot 6|49/89.65/12/1530.43|49|12|ok");
        assert_eq!(requests.last().unwrap(), "100|slot 0|~|~|~|unknown");
        assert_eq!(
            marks(&read)[..3],
            ["2|launch|5085747000|1000", "2|first_token|5175431000|10000", "2|end|6706158000|1000"]
        );
        assert_eq!(
            read.rows(Table::Measure, &["line", "definition", "duration_ns", "unit", "resolution_ns"])[..2],
            ["2|llama.prefill|89650000|ms|10000", "2|llama.decode|1530430000|ms|10000"]
        );
        assert!(read.rows(Table::Mark, &["clock"]).iter().all(|clock| clock == "monotonic:0123456789ab"));
    }

    #[test]
    fn minutes_go_on_beyond_an_hour_and_what_does_not_fit_is_not_a_time() {
        assert_eq!(stamped("107.53.131.684 I srv x"), (Some(6_473_131_684_000), "srv x"));
        for text in
            ["1.2.3.4 x", "1.03.891 x", "-1.03.891.508 x", "99999999999999999.00.000.000 x", "1.03.891.508"]
        {
            assert_eq!(stamped(text), (None, text));
        }
    }

    #[test]
    fn a_cached_prompt_is_told_from_what_the_slot_holds() {
        let text = "0.01.000.000 I slot launch_slot_: id  0 | task 4 | processing task\n\
            0.01.500.000 I slot print_timing: id  0 | task 4 | prompt eval time =      43.20 ms /     8 tokens\n\
            0.01.500.000 I slot print_timing: id  0 | task 4 |        eval time =     239.00 ms /    25 tokens\n\
            0.01.500.010 I slot      release: id  0 | task 4 | stop processing: n_tokens = 92, truncated = 0\n";
        let columns = ["input_tokens", "cached_tokens", "output_tokens", "echo_id"];
        let tokens = |text: &str| read(&LlamaLog, text).rows(Table::Request, &columns).concat();
        assert_eq!(tokens(text), "68|60|25|8/43.20/25/239.00");
        assert_eq!(tokens(&text.replace("truncated = 0", "truncated = 1")), "~|~|25|8/43.20/25/239.00");
        assert_eq!(tokens(&text.replace("= 92", "= 10")), "~|~|25|8/43.20/25/239.00");
        let late = read(&LlamaLog, &text.replace("239.00", "900.00"));
        assert_eq!(
            late.findings(),
            ["1 value-impossible printed − eval time 600000000 < launch 1000000000; first_token left out"]
        );
        assert_eq!(marks(&late).len(), 2);
    }

    #[test]
    fn lost_and_cancelled_ends_and_older_builds_are_read() {
        let text = "slot launch_slot_: id  0 | task 1 | processing task\n\
            slot launch_slot_: id  0 | task 2 | processing task\n\
            slot print_timing: id  0 | task 2 | \n\
            prompt eval time =     171.55 ms /    16 tokens (   10.72 ms per token,    93.27 tokens per second)\n\
            \x20      eval time =    4013.38 ms /    76 runs   (   52.81 ms per token,    18.94 tokens per second)\n\
            \x20     total time =    4184.93 ms /    92 tokens\n\
            slot release: id  0 | task 2 | stop processing: n_past = 91, truncated = 0\n\
            slot launch_slot_: id  1 | task 3 | processing task\n\
            srv          stop: cancel task, id_task = 3\n\
            slot      release: id  1 | task 3 | stop processing: n_tokens = 9, truncated = 0\n";
        let read = read(&LlamaLog, text);
        assert_eq!(
            read.rows(Table::Request, &REQUEST),
            ["1|slot 0|~|~|~|unknown", "2|slot 0|16/171.55/76/4013.38|16|76|ok", "8|slot 1|~|~|~|cancelled"]
        );
        assert_eq!((read.counts(), marks(&read).len(), read.findings().len()), ((3, 0), 0, 0));
    }

    #[test]
    fn broken_lines_are_refused_and_a_start_is_told() {
        let text = "0.00.100.000 I srv    load_model: loading model 'm.gguf'\n\
            0.08.526.738 I srv  llama_server: model loaded\n\
            0.08.526.747 I srv  llama_server: listening on http://127.0.0.1:8080\n\
            0.09.000.000 I slot print_timing: id  0 | task 1 | prompt eval time = x ms / 2 tokens\n\
            0.09.000.000 I slot release: id  0 | tas";
        let read = read(&LlamaLog, text);
        assert_eq!(
            read.rows(Table::Event, &["kind", "t_ns"]),
            ["load-begin|100000000", "model-loaded|8526738000", "ready|8526747000"]
        );
        assert_eq!(
            read.findings(),
            [
                "4 record-shape not `eval time = N ms / N tokens`",
                "5 truncated not `slot function: id S | task T | message`"
            ]
        );
    }

    #[test]
    fn llama_is_recognised_and_garbage_is_not() {
        for text in [SAMPLE, "noise\nslot launch_slot_: id  0 | task 0 | processing task\n"] {
            assert!(recognises(&LlamaLog, text));
        }
        for text in ["", "garbage", "slot 1 | task 2", "srv is up", "1.2.3.4 I srv x"] {
            assert!(!recognises(&LlamaLog, text), "{text}");
        }
    }
}
