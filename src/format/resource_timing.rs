//! The browser's own timings (W3C Resource Timing, Navigation Timing) as JSON: the list that
//! `performance.getEntriesByType("resource")` gives, or an object with that list and `timeOrigin`; one or many a file.
//!
//! - Times are milliseconds since the page's `timeOrigin` (epoch milliseconds). Without it they have no date.
//! - 0 is what a browser shows of another origin that does not allow it (`Timing-Allow-Origin`): unknown, not zero.
//! - `responseStart` is the first byte, the response HEADERS, not the first token; the events of a stream have no times.
//! - Browsers round times to 0.1 ms, or 5 µs for isolated pages. Of URLs only the host is kept.

use super::decimal::{MS, to_ns};
use super::har::authority;
use super::json::{self, Raw, Text, word};
use super::load_tool::{Marks, duration};
use super::{Context, Format, Match, Reader};
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::{Hop, Outcome, Request, Rows};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What browsers round to unless a page is isolated.
const STEP_NS: i64 = 100_000;

/// Resource Timing of browsers.
pub struct ResourceTiming;

impl Format for ResourceTiming {
    fn id(&self) -> &'static str {
        "resource_timing"
    }

    fn title(&self) -> &'static str {
        "Browser Resource Timing (JSON)"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["client_wait", "ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let keys = ["\"fetchStart\"", "\"requestStart\"", "\"responseStart\"", "\"responseEnd\""];
        let ours =
            matches!(head.first_byte(), Some(b'{' | b'[')) && keys.iter().all(|key| head.contains(key));
        Match::when(ours, "fetchStart, requestStart, responseStart, responseEnd")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, epoch, monotonic) = (cx.hop, cx.epoch(), cx.monotonic());
        Reader::Document(Box::new(move |bytes, rows| {
            let Some((text, _)) = line_text(bytes) else {
                return rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
            };
            let mut page = Page { hop, epoch, monotonic, origin: None, item: 0 };
            for value in serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>() {
                match value {
                    Ok(value) => page.value(value, rows),
                    Err(error) => {
                        let code = if error.is_eof() { Code::Truncated } else { Code::RecordNotJson };
                        return rows.refuse(code, Place::FILE, &error.to_string());
                    }
                }
            }
        }))
    }
}

/// The list with its origin.
#[derive(Deserialize)]
struct Wrapper<'a> {
    #[serde(borrow, default, rename = "timeOrigin")]
    origin: Raw<'a>,
    #[serde(borrow, alias = "resources", alias = "resource", alias = "timings")]
    entries: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow, rename = "entryType")]
    kind: Text<'a>,
    #[serde(borrow)]
    start_time: Raw<'a>,
    #[serde(borrow)]
    duration: Raw<'a>,
    #[serde(borrow)]
    fetch_start: Raw<'a>,
    #[serde(borrow)]
    domain_lookup_start: Raw<'a>,
    #[serde(borrow)]
    domain_lookup_end: Raw<'a>,
    #[serde(borrow)]
    connect_start: Raw<'a>,
    #[serde(borrow)]
    secure_connection_start: Raw<'a>,
    #[serde(borrow)]
    connect_end: Raw<'a>,
    #[serde(borrow)]
    request_start: Raw<'a>,
    #[serde(borrow)]
    response_start: Raw<'a>,
    #[serde(borrow)]
    response_end: Raw<'a>,
    #[serde(borrow)]
    response_status: Raw<'a>,
}

struct Page {
    hop: Hop,
    epoch: String,
    monotonic: String,
    /// Epoch ns of the page's zero.
    origin: Option<i64>,
    item: i64,
}

impl Page {
    /// A list of entries, a list with its origin, or one entry.
    fn value(&mut self, value: &RawValue, rows: &mut Rows) {
        let text = value.get();
        self.origin = None;
        if text.starts_with('[') {
            return match serde_json::from_str::<Vec<&RawValue>>(text) {
                Ok(entries) => entries.into_iter().for_each(|entry| self.entry(entry.get(), rows)),
                Err(error) => rows.refuse(json::complaint(&error).0, Place::FILE, &error.to_string()),
            };
        }
        match json::record::<Wrapper>(text) {
            Ok(wrapper) => {
                self.origin = wrapper.origin.ns(MS);
                match wrapper.entries {
                    Some(entries) => entries.into_iter().for_each(|entry| self.entry(entry.get(), rows)),
                    None => self.entry(text, rows),
                }
            }
            Err((code, detail)) => rows.refuse(code, Place::item(1, self.item), &detail),
        }
    }

    fn entry(&mut self, text: &str, rows: &mut Rows) {
        let place = Place::item(1, self.item);
        self.item += 1;
        let e = match json::record::<Entry>(text) {
            Ok(entry) => entry,
            Err((code, detail)) => return rows.refuse(code, place, &detail),
        };
        // Marks, paints and other entries of the timeline are no requests.
        if word(&e.kind).is_some_and(|kind| !matches!(kind, "resource" | "navigation")) {
            return;
        }
        if e.fetch_start.0.is_none() || e.response_end.0.is_none() {
            return rows.refuse(Code::RecordShape, place, "fetchStart or responseEnd is missing");
        }
        let status = e.response_status.int().filter(|status| *status > 0);
        let request = Request {
            instance: word(&e.name).and_then(authority),
            status,
            outcome: status.map_or(Outcome::Unknown, Outcome::from_http),
            ..Request::default()
        };
        let key = rows.request(self.hop, place, &request);
        // 0 is withheld or did not happen, except where the page itself is fetched.
        let at = |raw: Raw| raw.text().and_then(|text| to_ns(text, MS)).filter(|ns| *ns != 0);
        let between = |from: Raw, to: Raw| at(to)?.checked_sub(at(from)?);
        for (definition, name, ns) in [
            ("resource.dns", "domainLookup", between(e.domain_lookup_start, e.domain_lookup_end)),
            ("resource.connect", "connect", between(e.connect_start, e.connect_end)),
            (
                "resource.tls",
                "connectEnd - secureConnectionStart",
                between(e.secure_connection_start, e.connect_end),
            ),
            ("resource.waiting", "responseStart - requestStart", between(e.request_start, e.response_start)),
            ("resource.total", "duration", e.duration.ns(MS).filter(|ns| *ns != 0)),
        ] {
            if let Some(ns) = duration(rows, place, name, ns) {
                rows.measure(key, definition, ns, "ms", STEP_NS);
            }
        }
        let placed = |ns: Option<i64>| ns.and_then(|ns| ns.checked_add(self.origin.unwrap_or(0)));
        let clock = if self.origin.is_some() { &self.epoch } else { &self.monotonic };
        let marks = Marks {
            scheduled: placed(e.start_time.ns(MS).or(e.fetch_start.ns(MS))),
            send: placed(at(e.request_start)),
            headers: placed(at(e.response_start)),
            end: placed(at(e.response_end)),
            ..Marks::default()
        };
        marks.add(rows, key, place, clock, STEP_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/resource_timing/page.json");
    const MEASURE: &[&str] = &["item", "definition", "duration_ns"];

    #[test]
    fn times_count_from_the_origin_and_withheld_ones_are_unknown() {
        let read = read(&ResourceTiming, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((2, 0), vec![]));
        assert_eq!(
            read.rows(Table::Request, &["item", "instance", "status", "outcome"]),
            ["0|llm.example:8443|200|ok", "1|other.example|~|unknown"]
        );
        assert_eq!(
            read.rows(Table::Measure, MEASURE),
            [
                "0|resource.dns|1000000",
                "0|resource.connect|24200000",
                "0|resource.tls|16100000",
                "0|resource.waiting|44300000",
                "0|resource.total|1554100000",
                "1|resource.total|903500000",
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["item", "name", "t_ns", "clock"]),
            [
                "0|send|1796073819278400000|epoch:0123456789ab",
                "0|end|1796073820804600000|epoch:0123456789ab",
                "0|headers|1796073819322700000|epoch:0123456789ab",
                "0|scheduled|1796073819250500000|epoch:0123456789ab",
                "1|end|1796073822154000000|epoch:0123456789ab",
                "1|scheduled|1796073821250500000|epoch:0123456789ab",
            ]
        );
    }

    #[test]
    fn a_bare_list_has_no_date_and_impossible_times_are_left_out() {
        let list = r#"[{"name":"https://a/b","entryType":"resource","startTime":5,"fetchStart":5,"requestStart":9,"responseStart":8,"responseEnd":20,"duration":15},{"entryType":"paint","startTime":1}]"#;
        assert!(recognises(&ResourceTiming, list) && recognises(&ResourceTiming, SAMPLE));
        let read = read(&ResourceTiming, list);
        assert_eq!(read.rows(Table::Mark, &["name", "clock"])[0], "send|monotonic:0123456789ab");
        assert_eq!(read.rows(Table::Measure, &["definition"]), ["resource.total"]);
        assert_eq!(
            read.findings(),
            [
                "1 value-impossible responseStart - requestStart -1000000 ns < 0: left out",
                "1 value-impossible headers_ns 8000000 < send_ns 9000000: headers left out",
            ]
        );
    }

    #[test]
    fn other_documents_are_refused() {
        for (text, code) in
            [("[1]", "record-shape"), ("{}", "record-shape"), ("[{", "truncated"), ("x", "record-not-json")]
        {
            assert_eq!(read(&ResourceTiming, text).rows(Table::Finding, &["code"]), [code], "{text}");
        }
        assert!(!recognises(&ResourceTiming, "") && !recognises(&ResourceTiming, "[]"));
    }
}
