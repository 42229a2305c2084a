//! What the readers of public workloads share: requests as they were recorded elsewhere, to be replayed or described.
//!
//! They were never sent to the candidate, so their phase is [`PHASE`] and the ledger takes no exchange from them.

use super::load_tool::cut;
use crate::finding::Place;
use crate::row::{Hop, Request, RequestKey, Rows};
use csv::{ReaderBuilder, StringRecord};

/// The phase of a request that is part of a workload only.
pub const PHASE: &str = "workload";

/// Longest name of a model, session or class, in characters.
const NAME_CHARS: usize = 80;

/// One request of a workload. Names are cut short.
#[derive(Clone, Copy, Debug, Default)]
pub struct Planned<'a> {
    /// Its id in the workload.
    pub id: Option<&'a str>,
    /// The conversation it belongs to.
    pub session: Option<&'a str>,
    /// The model it was made for.
    pub model: Option<&'a str>,
    /// The kind the workload gives it.
    pub class: Option<&'a str>,
    /// Prompt tokens.
    pub input_tokens: Option<i64>,
    /// Generated tokens.
    pub output_tokens: Option<i64>,
}

/// Adds one request of a workload.
pub fn add(rows: &mut Rows, hop: Hop, place: Place, planned: &Planned) -> RequestKey {
    let name = |text: Option<&'_ str>| text.map(|text| cut(text, NAME_CHARS).to_owned());
    let [id, session, model, class] = [planned.id, planned.session, planned.model, planned.class].map(name);
    rows.request(
        hop,
        place,
        &Request {
            request_id: id.as_deref(),
            caller: session.as_deref(),
            model: model.as_deref(),
            class: class.as_deref(),
            phase: Some(PHASE),
            input_tokens: planned.input_tokens,
            output_tokens: planned.output_tokens,
            ..Request::default()
        },
    )
}

/// The cells of one CSV line; `None` when it is no record. Fields of these workloads hold no line ends.
pub fn cells(line: &str) -> Option<StringRecord> {
    let line = line.trim_start_matches('\u{feff}');
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .buffer_capacity(line.len().max(1))
        .from_reader(line.as_bytes());
    let mut record = StringRecord::new();
    if !reader.read_record(&mut record).ok()? {
        return None;
    }
    record.trim();
    Some(record)
}

/// Where each named column stands; `None` when one is missing.
pub fn columns<const N: usize>(header: &StringRecord, names: [&str; N]) -> Option<[usize; N]> {
    let found = names.map(|name| header.iter().position(|cell| cell.eq_ignore_ascii_case(name)));
    found.iter().all(Option::is_some).then(|| found.map(Option::unwrap_or_default))
}

/// A count as written: an integer, or one that a table tool wrote as `12.0`.
pub fn count(cell: Option<&str>) -> Option<i64> {
    let cell = cell?;
    cell.strip_suffix(".0").unwrap_or(cell).parse().ok().filter(|n| *n >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_record_with_or_without_quotes() {
        assert_eq!(cells("\u{feff}a,\"b,c\", 3 ").unwrap().iter().collect::<Vec<_>>(), ["a", "b,c", "3"]);
        assert!(cells("").is_none());
        let header = cells("Model,Request tokens").unwrap();
        assert_eq!(columns(&header, ["request tokens", "model"]), Some([1, 0]));
        assert_eq!(columns(&header, ["x"]), None);
    }

    #[test]
    fn counts_are_whole_and_not_negative() {
        let given = ["12", "12.0", "-1", "1.5", "", "nan"].map(|cell| count(Some(cell)));
        assert_eq!(given, [Some(12), Some(12), None, None, None, None]);
    }
}
