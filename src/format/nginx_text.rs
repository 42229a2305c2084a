//! nginx access logs as text with times in them: ingress-nginx's default, and the combined format with labelled times.
//!
//! Both begin as the combined format does: … `[time] "request" status bytes "referer" "agent"`. ingress-nginx goes on with
//! request length, request time, `[service]`, `[alternative]`, the upstream's address, length, time and status, and its own
//! request id. Others label what they add: `rt=0.012 uct="0.000" uht="0.004" urt="0.012"` or nginx's full names.
//! Times without labels are left out with a finding: whether they are the request's or the upstream's is not written.
//! What the values mean, lists of tries among it, stands in `nginx_access`.
//!
//! The text stamp is the END of the request, known to one second.

use super::fields::{Field, Kind, fields};
use super::json;
use super::nginx_access::{self, Record};
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Rows};
use std::collections::BTreeMap;

/// What labels stand for, by nginx's variable.
const LABELS: &[(&str, &[&str])] = &[
    ("request_time", &["rt", "request_time"]),
    ("upstream_connect_time", &["uct", "upstream_connect_time"]),
    ("upstream_header_time", &["uht", "upstream_header_time"]),
    ("upstream_response_time", &["urt", "upstream_response_time"]),
    ("upstream_addr", &["uaddr", "upstream_addr", "upstream"]),
    ("upstream_status", &["us", "ustatus", "upstream_status"]),
    ("x_request_id", &["x_request_id", "http_x_request_id"]),
    ("request_id", &["rid", "req_id", "request_id"]),
    ("traceparent", &["traceparent", "http_traceparent"]),
    ("msec", &["msec"]),
];

/// nginx access logs as text.
pub struct NginxText;

impl Format for NginxText {
    fn id(&self) -> &'static str {
        "nginx_text"
    }

    fn title(&self) -> &'static str {
        "nginx / ingress-nginx access log (text with times)"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "queue", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let timed = |line: &str| {
            let fields = fields(line);
            combined(&fields).is_some_and(|(_, added)| {
                ingress(added).is_some() || labelled(added).contains_key("request_time") || bare(added)
            })
        };
        Match::when(head.lines().take(20).any(timed), "[time] \"request\" status bytes, request_time")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| read(&line, rows, hop, &clock)))
    }
}

/// The combined format's fields from the stamp on, and what was added behind them.
fn combined<'f, 'a>(all: &'f [Field<'a>]) -> Option<(&'f [Field<'a>], &'f [Field<'a>])> {
    let dated =
        |f: &Field| f.kind == Kind::Bracketed && f.text.matches(':').count() >= 3 && f.text.contains('/');
    let from = all.get(all.iter().position(dated)?..)?;
    let [_, request, status, bytes, referer, agent, ..] = from else { return None };
    let quoted = [request, referer, agent].iter().all(|field| field.is_quoted());
    (quoted && status.is_count() && bytes.is_count()).then(|| from.split_at_checked(6))?
}

/// ingress-nginx's fields behind the combined format.
fn ingress<'f, 'a>(added: &'f [Field<'a>]) -> Option<&'f [Field<'a>]> {
    let [length, time, service, alternative, _, _, _, _, _, ..] = added else { return None };
    let bracketed = [service, alternative].iter().all(|field| field.kind == Kind::Bracketed);
    (length.is_count() && is_time(time) && bracketed).then_some(added)
}

fn is_time(field: &Field) -> bool {
    field.kind == Kind::Word && super::decimal::to_ns(field.text, super::decimal::S).is_some()
}

/// Whether seconds with their three decimals stand there without a label.
fn bare(added: &[Field]) -> bool {
    let ms = |text: &str| text.split_once('.').is_some_and(|(_, ms)| ms.len() == 3);
    added.iter().any(|field| field.text.split(", ").all(|t| ms(t) && super::decimal::to_ns(t, 9).is_some()))
}

/// Labelled values by nginx's variable.
fn labelled<'a>(added: &[Field<'a>]) -> BTreeMap<&'static str, &'a str> {
    let pairs = added.iter().filter_map(|field| field.text.split_once(['=', ':']));
    pairs
        .filter_map(|(label, value)| {
            let label = label.trim_start_matches('$');
            let (name, _) = LABELS.iter().find(|(_, labels)| labels.contains(&label))?;
            Some((*name, value.trim_matches('"')))
        })
        .collect()
}

fn read(line: &Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let fields = fields(line.text);
    let Some((from, added)) = combined(&fields) else {
        return line.refuse(
            rows,
            Code::RecordShape,
            "not [time] \"request\" status bytes \"referer\" \"agent\"",
        );
    };
    let mut values = labelled(added);
    if let Some([_, time, _, _, addr, _, upstream, status, id, ..]) = ingress(added) {
        let named = ["request_time", "upstream_addr", "upstream_response_time", "upstream_status", "req_id"];
        values.extend(named.into_iter().zip([time, addr, upstream, status, id].map(|field| field.text)));
    }
    if let [stamp, _, status, ..] = from {
        values.extend([("time_local", stamp.text), ("status", status.text)]);
    }
    if !values.contains_key("request_time") && bare(added) {
        let detail = "times without a label: whether of the request or the upstream is not written";
        rows.finding(Code::DefinitionUnknown, line.place, detail);
    }
    // The record is the object that nginx's own names would have made.
    let object = serde_json::to_string(&values).unwrap_or_default();
    match json::record::<Record>(&object) {
        Ok(record) => nginx_access::read(&record, line, rows, hop, clock),
        Err((code, detail)) => line.refuse(rows, code, &detail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const INGRESS: &str = include_str!("../../samples/nginx_text/ingress.log");
    const LABELLED: &str = include_str!("../../samples/nginx_text/labelled.log");
    const REQUEST: &[&str] = &["line", "request_id", "instance", "status", "outcome"];
    const MEASURE: &[&str] = &["line", "definition", "duration_ns"];

    #[test]
    fn ingress_lines_are_read_with_their_tries() {
        let read = read(&NginxText, INGRESS);
        assert_eq!((read.counts(), read.findings()), ((4, 0), vec![]));
        assert_eq!(
            read.rows(Table::Request, REQUEST),
            [
                "1|7f3c0d9a5b1e4c2d8a6f0e1b2c3d4e5f|10.244.0.98:8000|200|ok",
                "2|8a1b0d9a5b1e4c2d8a6f0e1b2c3d4e5f|10.244.0.99:8000|200|ok",
                "3|9c2e0d9a5b1e4c2d8a6f0e1b2c3d4e5f|~|503|error",
                "4|0d4f0d9a5b1e4c2d8a6f0e1b2c3d4e5f|10.244.0.98:8000|499|cancelled",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, MEASURE),
            [
                "1|nginx.request|1526000000",
                "1|nginx.upstream|1526000000",
                "2|nginx.request|2104000000",
                "2|nginx.upstream|2105000000",
                "3|nginx.request|0",
                "4|nginx.request|9874000000",
                "4|nginx.upstream|9874000000",
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["name", "t_ns", "resolution_ns"])[..2],
            ["start|1796073817474000000|1000000000", "end|1796073819000000000|1000000000"]
        );
    }

    #[test]
    fn labels_name_the_times() {
        let read = read(&NginxText, LABELLED);
        assert_eq!((read.counts(), read.findings()), ((2, 0), vec![]));
        assert_eq!(
            read.rows(Table::Measure, MEASURE),
            [
                "1|nginx.request|1526000000",
                "1|nginx.upstream|1525000000",
                "1|nginx.upstream_connect|1000000",
                "1|nginx.upstream_header|41000000",
                "2|nginx.request|3000000",
            ]
        );
    }

    #[test]
    fn times_without_a_label_are_left_out() {
        let line =
            r#"10.0.0.1 - - [30/Nov/2026:21:23:39 +0000] "POST / HTTP/1.1" 200 4096 "-" "curl" 1.526 1.525"#;
        assert!(recognises(&NginxText, line));
        let read = read(&NginxText, line);
        assert_eq!(read.rows(Table::Measure, MEASURE), Vec::<String>::new());
        assert_eq!(read.rows(Table::Mark, &["name"]), ["end"]);
        assert_eq!(
            read.findings(),
            [
                "1 definition-unknown times without a label: whether of the request or the upstream is not written"
            ]
        );
    }

    #[test]
    fn other_lines_are_refused_and_not_recognised() {
        let bad = read(&NginxText, "noise\n10.0.0.1 - - [30/Nov/2026:21:2");
        assert_eq!(bad.rows(Table::Finding, &["code"]), ["record-shape", "truncated"]);
        // Without times there is nothing to read in it.
        let plain = r#"10.0.0.1 - - [30/Nov/2026:21:23:39 +0000] "GET / HTTP/1.1" 200 1 "-" "curl/8.7.1""#;
        for other in ["", "noise", plain] {
            assert!(!recognises(&NginxText, other), "{other}");
        }
    }
}
