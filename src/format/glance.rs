//! On which clocks a file tells time: its beginning is read, and what it gave is looked at.

use super::{Context, Format, Line, Reader};
use crate::finding::Place;
use crate::input::Head;
use crate::row::Rows;
use arrow::array::AsArray;
use std::collections::BTreeSet;

/// Lines that are read.
const LINES: usize = 1000;

/// The kinds of clock (`epoch`, `monotonic`, `local`) met in the beginning of a file; `whole` gives the file, for a
/// format that must be read whole.
pub fn clocks(format: &dyn Format, head: &Head, whole: impl FnOnce() -> Vec<u8>) -> BTreeSet<String> {
    let cx = Context {
        name: head.name.clone(),
        source: String::new(),
        hop: format.hop(),
        clock: None,
        zone: None,
        received_ns: 0,
    };
    let mut rows = Rows::default();
    let mut each = |read: &mut dyn FnMut(Line, &mut Rows)| {
        for (number, text) in (1..).zip(head.lines()).take(LINES) {
            read(Line { text, place: Place::line(number), cut: false }, &mut rows);
        }
    };
    match format.reader(&cx) {
        Reader::Lines(line) => each(&mut |at, rows| line(at, rows)),
        Reader::Stream(mut stream) => {
            each(&mut |at, rows| stream.line(at, rows));
            stream.end(&mut rows);
        }
        Reader::Document(document) if head.whole => document(&head.bytes, &mut rows),
        Reader::Document(document) => document(&whole(), &mut rows),
    }
    let Ok(tables) = rows.take("", "") else { return BTreeSet::new() };
    let columns =
        tables.parts.iter().filter_map(|(_, batch)| batch.column_by_name("clock")?.as_string_opt::<i32>());
    let ids = columns.flat_map(|column| column.iter().flatten());
    ids.filter_map(|id| Some(id.split_once(':')?.0.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(id: &str, text: &str) -> Vec<String> {
        let format = crate::format::format(id).unwrap();
        clocks(format, &Head::of("", text.as_bytes()), || unreachable!()).into_iter().collect()
    }

    #[test]
    fn clocks_are_those_of_the_times_read() {
        let error = "2026/11/30 08:00:00 [error] 1#1: *1 connect() failed (111: Connection refused) while connecting to \
                     upstream, client: 10.0.0.1, server: , request: \"POST / HTTP/1.1\", upstream: \"http://10.0.0.2/\"\n";
        assert_eq!(of("nginx_error", error), ["local"]);
        assert_eq!(of("nginx_error", "nothing\n"), Vec::<String>::new());
    }
}
