//! Events of Kubernetes as a table: `kubectl get events`, `kubectl events`, the end of `kubectl describe`, and tables of
//! older tools with whole times.
//!
//! Ages count back from when the table was printed, which it does not say: they are placed on a clock of their own with
//! its zero there. Columns begin where their titles do; a table whose columns moved is cut at wide gaps.

use super::kubernetes::{Happened, duration, instant, kind, object, pulled_in, step};
use super::{Context, Format, Line, Match, Reader, Stream};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Rows};

/// The format; see the module.
pub struct K8sEventsTable;

impl Format for K8sEventsTable {
    fn id(&self) -> &'static str {
        "k8s_events_table"
    }

    fn title(&self) -> &'static str {
        "Kubernetes events (table)"
    }

    fn hop(&self) -> Hop {
        Hop::Cluster
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ready"]
    }

    fn recognise(&self, head: &Head) -> Match {
        Match::when(
            head.lines().take(20).any(|line| titles(line).is_some()),
            "columns REASON, MESSAGE and LAST SEEN or AGE",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let ages = format!("monotonic:{}", cx.source);
        Reader::Stream(Box::new(Table { hop: cx.hop, epoch: cx.epoch(), ages, columns: None, warned: false }))
    }
}

/// A column: its title in small letters without spaces, and the character it begins at.
type Column = (String, usize);

/// The columns of a line of titles; `None` for any other line.
fn titles(line: &str) -> Option<Vec<Column>> {
    let columns: Vec<Column> = cells(line)
        .into_iter()
        .map(|(at, title)| (title.to_ascii_lowercase().replace([' ', '-', '_'], ""), at))
        .collect();
    let has = |name: &str| columns.iter().any(|(title, _)| title == name);
    let time =
        ["lastseen", "firstseen", "age", "lasttimestamp", "firsttimestamp"].iter().any(|name| has(name));
    (has("reason") && has("message") && time && columns.len() <= 16).then_some(columns)
}

/// What stands between gaps of two or more spaces or a tab, with the character it begins at.
fn cells(line: &str) -> Vec<(usize, &str)> {
    let (mut cells, mut begun, mut gap) = (Vec::new(), None, 2);
    let mut end = 0;
    for (count, (at, c)) in line.char_indices().enumerate() {
        if c.is_whitespace() {
            gap += if c == '\t' { 2 } else { 1 };
            continue;
        }
        if gap >= 2
            && let Some((column, from)) = begun.replace((count, at))
        {
            cells.push((column, &line[from..end]));
        }
        gap = 0;
        end = at + c.len_utf8();
    }
    if let Some((column, from)) = begun {
        cells.push((column, &line[from..end]));
    }
    cells
}

/// The cells of a row, one a column, empty where nothing stands; `None` when it does not fit the titles.
fn row<'a>(line: &'a str, columns: &[Column]) -> Option<Vec<&'a str>> {
    let starts: Vec<Option<usize>> =
        columns.iter().map(|(_, at)| line.char_indices().nth(*at).map(|(byte, _)| byte)).collect();
    let aligned = starts.iter().flatten().all(|at| *at == 0 || line[..*at].ends_with(char::is_whitespace));
    if aligned && starts.first() == Some(&Some(0)) {
        let ends = starts.iter().skip(1).map(|at| at.unwrap_or(line.len())).chain([line.len()]);
        return Some(
            starts.iter().zip(ends).map(|(at, end)| at.map_or("", |at| line[at..end].trim())).collect(),
        );
    }
    let mut loose: Vec<&str> = cells(line).into_iter().map(|(_, cell)| cell).collect();
    if loose.len() > columns.len() {
        // A message may hold wide gaps of its own.
        let last = loose.get(columns.len() - 1)?;
        let from = last.as_ptr() as usize - line.as_ptr() as usize;
        loose.truncate(columns.len() - 1);
        loose.push(line[from..].trim());
    }
    (loose.len() == columns.len()).then_some(loose)
}

struct Table {
    hop: Hop,
    epoch: String,
    /// The clock of ages.
    ages: String,
    columns: Option<Vec<Column>>,
    warned: bool,
}

impl Stream for Table {
    fn line(&mut self, line: Line, rows: &mut Rows) {
        if let Some(columns) = titles(line.text) {
            self.columns = Some(columns);
            return;
        }
        // What stands above the table, and the rules under the titles of `kubectl describe`.
        let Some(columns) = &self.columns else { return };
        if line.text.bytes().all(|b| b == b'-' || b.is_ascii_whitespace()) {
            return;
        }
        let text = line.text.trim_start();
        let indent = line.text.len() - text.len();
        let shifted: Vec<Column>;
        let columns = if indent > 0 && columns.iter().all(|(_, at)| *at >= indent) {
            shifted = columns.iter().map(|(title, at)| (title.clone(), at - indent)).collect();
            &shifted
        } else {
            columns
        };
        let Some(cells) = row(text, columns) else {
            return line.refuse(rows, Code::RecordShape, "the row does not fit the table's titles");
        };
        let cell = |names: &[&str]| {
            let at = names.iter().find_map(|name| columns.iter().position(|(title, _)| title == name))?;
            cells.get(at).copied().filter(|cell| !cell.is_empty())
        };
        let (Some(reason), message) = (cell(&["reason"]), cell(&["message"]).unwrap_or_default()) else {
            return line.refuse(rows, Code::RecordShape, "no reason");
        };
        let last = cell(&["lastseen", "age", "lasttimestamp"]);
        let first = cell(&["firstseen", "firsttimestamp"]);
        // `5m (x3 over 10m)` tells the count and the first one's age.
        let (last, over) = match last.and_then(|last| last.split_once(" (x")) {
            Some((last, over)) => (Some(last), over.trim_end_matches(')').split_once(" over ")),
            None => (last, None),
        };
        let first = first.or(over.map(|(_, age)| age));
        let count =
            cell(&["count"]).or(over.map(|(count, _)| count)).and_then(|count| count.parse::<i64>().ok());
        let at = |text: &str| {
            let age = || Some((duration(text)?.checked_neg()?, step(text)));
            instant(text).map(|at| (at, false)).or_else(|| Some((age()?, true)))
        };
        let Some((at_last, aged)) = last.or(first).and_then(at) else {
            return line.refuse(
                rows,
                Code::TimeUnplaced,
                &format!("`{}` is neither a time nor an age", last.unwrap_or("")),
            );
        };
        if aged && !std::mem::replace(&mut self.warned, true) {
            rows.finding(
                Code::TimeUnplaced,
                line.place,
                "ages count back from when the table was printed, which it does not say",
            );
        }
        let clock = if aged { &self.ages } else { &self.epoch };
        let instance = match cell(&["object"]).map(|object| object.split_once('/').unwrap_or(("pod", object)))
        {
            Some((kind, name)) => object(kind, name),
            None => object(cell(&["kind"]).unwrap_or("pod"), cell(&["name"]).unwrap_or_default()),
        };
        let kind = kind(reason, message);
        let duration_ns = (kind == "image-pulled").then(|| pulled_in(message)).flatten();
        let mut add = |at, which: &str| {
            let detail = format!("{reason}{which}: {message}");
            let happened = Happened { kind, at: Some(at), duration_ns, instance: &instance, detail: &detail };
            happened.add(rows, self.hop, line.place, clock);
        };
        let first =
            first.and_then(at).filter(|(first, first_aged)| *first_aged == aged && first.0 < at_last.0);
        match (first, count) {
            (Some((first, _)), Some(count)) if count > 1 => {
                add(first, &format!(" (first of {count})"));
                add(at_last, &format!(" (last of {count})"));
            }
            _ => add(at_last, ""),
        }
    }

    fn end(&mut self, _: &mut Rows) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table as T;

    const WHOLE: &str = include_str!("../../samples/k8s_events_table/events.txt");
    const AGES: &str = include_str!("../../samples/k8s_events_table/get-events.txt");
    const DESCRIBE: &str = "  Type     Reason            Age                  From               Message\n\
        \x20 ----     ------            ----                 ----               -------\n\
        \x20 Warning  Unhealthy         8m (x12 over 10m)    kubelet            Startup probe failed: HTTP 503\n";
    const EVENT: [&str; 6] = ["line", "kind", "t_ns", "clock", "resolution_ns", "instance"];

    #[test]
    fn whole_times_are_placed() {
        let read = read(&K8sEventsTable, WHOLE);
        assert_eq!((read.counts(), read.findings()), ((2, 0), vec![]));
        assert_eq!(
            read.rows(T::Event, &EVENT[..5]),
            [
                "2|schedule-failed|1710439546000000000|epoch:0123456789ab|1000000000",
                "3|scale-up|1710439593000000000|epoch:0123456789ab|1000000000",
            ]
        );
    }

    #[test]
    fn ages_are_placed_on_a_clock_of_their_own() {
        let read = read(&K8sEventsTable, AGES);
        assert_eq!(read.counts(), (6, 0));
        assert_eq!(
            read.findings(),
            ["2 time-unplaced ages count back from when the table was printed, which it does not say"]
        );
        assert_eq!(
            read.rows(T::Event, &EVENT),
            [
                "2|schedule-failed|-780000000000|monotonic:0123456789ab|60000000000|engine-0",
                "3|scale-up|-733000000000|monotonic:0123456789ab|1000000000|engine-0",
                "4|image-pulled|-300000000000|monotonic:0123456789ab|60000000000|engine-0",
                "5|probe-failed|-290000000000|monotonic:0123456789ab|1000000000|engine-0",
                "5|probe-failed|-34000000000|monotonic:0123456789ab|1000000000|engine-0",
                "6|cluster-event|-2000000000|monotonic:0123456789ab|1000000000|node/gpu-1",
            ]
        );
        assert_eq!(read.rows(T::Event, &["duration_ns"])[2], "123000000000");
    }

    #[test]
    fn the_end_of_a_description_is_read() {
        let read = read(&K8sEventsTable, DESCRIBE);
        assert_eq!(
            read.rows(T::Event, &["kind", "t_ns", "detail"]),
            [
                "probe-failed|-600000000000|Unhealthy (first of 12): Startup probe failed: HTTP 503",
                "probe-failed|-480000000000|Unhealthy (last of 12): Startup probe failed: HTTP 503",
            ]
        );
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let text = "LAST SEEN   TYPE     REASON      OBJECT   MESSAGE\n<unknown>   Normal   Scheduled   pod/a    b\nno\n\
            5s  Normal  Pulled  pod/a  x  y\n";
        let read = read(&K8sEventsTable, text);
        assert_eq!(
            read.rows(T::Finding, &["line", "code"]),
            ["2|time-unplaced", "3|record-shape", "4|time-unplaced"]
        );
        assert_eq!(read.rows(T::Event, &["kind", "instance", "detail"]), ["image-pulled|a|Pulled: x  y"]);
    }

    #[test]
    fn tables_are_recognised_and_others_are_not() {
        for text in [WHOLE, AGES, DESCRIBE] {
            assert!(recognises(&K8sEventsTable, text));
        }
        for text in ["", "garbage", "NAME  READY  STATUS  RESTARTS  AGE\n", "the reason  the message\n"] {
            assert!(!recognises(&K8sEventsTable, text), "{text}");
        }
    }
}
