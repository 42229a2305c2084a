//! `BurstGPT` traces: `Timestamp[,Session ID,Elapsed time],Model,Request tokens,Response tokens,Total tokens,Log Type`.
//! A workload: what it calls elapsed time is another service's and not read.
//!
//! Times are seconds from the start of the trace. A request without response tokens had failed where it was recorded.

use super::decimal::{S, step_ns, to_ns};
use super::workload::{self, Planned, cells, columns, count};
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Rows};

/// The `BurstGPT` traces.
pub struct Burstgpt;

/// The columns both releases have.
const COLUMNS: [&str; 6] =
    ["Timestamp", "Model", "Request tokens", "Response tokens", "Total tokens", "Log Type"];

impl Format for Burstgpt {
    fn id(&self) -> &'static str {
        "burstgpt"
    }

    fn title(&self) -> &'static str {
        "BurstGPT trace (CSV)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["workload"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let header = head.lines().next().and_then(cells);
        let ours = header.is_some_and(|header| columns(&header, COLUMNS).is_some());
        Match::when(ours, "Timestamp, Model, Request tokens, Response tokens, Total tokens, Log Type")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.monotonic());
        Reader::Stream(Box::new(Trace { hop, clock, columns: None, session: None }))
    }
}

struct Trace {
    hop: Hop,
    clock: String,
    columns: Option<[usize; 6]>,
    session: Option<usize>,
}

impl Stream for Trace {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        let Some(record) = cells(line.text) else {
            return line.refuse(rows, Code::RecordShape, "not a CSV record");
        };
        let Some([time, model, input, output, total, kind]) = self.columns else {
            self.columns = columns(&record, COLUMNS);
            self.session = columns(&record, ["Session ID"]).map(|[at]| at);
            if self.columns.is_none() {
                line.refuse(rows, Code::RecordShape, "no BurstGPT header");
            }
            return;
        };
        let cell = |at: usize| record.get(at).filter(|cell| !cell.is_empty());
        let [input, output, total] = [input, output, total].map(|at| count(cell(at)));
        let text = cell(time).unwrap_or("");
        let (Some(t_ns), Some(input), Some(output)) = (to_ns(text, S), input, output) else {
            return line.refuse(rows, Code::RecordShape, "Timestamp or a token count is not a number");
        };
        if let Some(total) = total.filter(|total| input.checked_add(output) != Some(*total)) {
            let detail = format!("Request tokens {input} + Response tokens {output} != Total tokens {total}");
            rows.finding(Code::ValueImpossible, line.place, &detail);
        }
        let planned = Planned {
            session: self.session.and_then(cell),
            model: cell(model),
            class: cell(kind),
            input_tokens: Some(input),
            // 0 stands for a failure where it was recorded: how long the answer would be is unknown.
            output_tokens: Some(output).filter(|n| *n > 0),
            ..Planned::default()
        };
        let key = workload::add(rows, self.hop, line.place, &planned);
        rows.mark(key, "scheduled", t_ns, &self.clock, step_ns(text, S));
    }

    fn end(&mut self, _: &mut Rows) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const OLD: &str = include_str!("../../samples/burstgpt/six_columns.csv");
    const NEW: &str = include_str!("../../samples/burstgpt/eight_columns.csv");

    #[test]
    fn both_releases_give_the_same_fields() {
        let old = read(&Burstgpt, OLD);
        assert_eq!((old.counts(), old.findings()), ((3, 0), vec![]));
        let columns = ["caller", "model", "class", "phase", "input_tokens", "output_tokens"];
        assert_eq!(
            old.rows(Table::Request, &columns),
            [
                "~|ChatGPT|Conversation log|workload|472|18",
                "~|ChatGPT|API log|workload|1087|~",
                "~|GPT-4|Conversation log|workload|417|276",
            ]
        );
        assert_eq!(
            old.rows(Table::Mark, &["name", "t_ns", "clock", "resolution_ns"])[2],
            "scheduled|118000000000|monotonic:0123456789ab|1000000000"
        );
        let new = read(&Burstgpt, NEW);
        assert_eq!((new.counts(), new.findings()), ((2, 0), vec![]));
        assert_eq!(new.rows(Table::Request, &columns)[1], "7|GPT-4|Conversation log|workload|800|120");
        assert_eq!(new.rows(Table::Mark, &["t_ns", "resolution_ns"])[1], "10250000000|10000000");
        assert_eq!(new.rows(Table::Measure, &["row"]), Vec::<String>::new());
    }

    #[test]
    fn sums_that_do_not_hold_and_bad_rows_are_reported() {
        let head = OLD.lines().next().unwrap();
        let read = read(&Burstgpt, &format!("{head}\n1,M,2,3,6,L\nx,M,2,3,5,L\n2,M\n"));
        assert_eq!(read.counts(), (1, 2));
        assert_eq!(
            read.findings()[0],
            "2 value-impossible Request tokens 2 + Response tokens 3 != Total tokens 6"
        );
    }

    #[test]
    fn recognised_by_its_header() {
        assert!(recognises(&Burstgpt, OLD) && recognises(&Burstgpt, NEW));
        assert!(!recognises(&Burstgpt, "Timestamp,Model\n1,2\n"));
    }
}
