//! nginx access log written as JSON lines: the gateway's view of each attempt.
//!
//! The operator names the keys; those of nginx's own variables are read, with the usual variants for the headers
//! of the request (`x_request_id`, `http_x_request_id`, `req_id`, …). Values may be numbers or strings.
//!
//! - nginx stamps the END of a request; its start is `msec` − `request_time`. Without `msec`, the text stamp
//!   serves, with its resolution of one second.
//! - After retries the `upstream_*` values are lists (`a, b`; ` : ` after an internal redirect). `nginx.upstream`
//!   is the sum over all tries, absent if one of them is unknown; `nginx.upstream_connect`, `nginx.upstream_header`
//!   and the instance are those of the last try.
//! - `upstream_header_time` is about response headers, which engines send before the first token.
//! - `limit_req_status` and `limit_conn_status` other than PASSED stand in `error`, also of a delayed success.
//! - nginx's own `request_id` is used only where no id of the caller is logged.

use super::decimal::{S, step_ns, to_ns};
use super::json::{self, Raw, Text, word};
use super::trace::traceparent;
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Outcome, Request, RequestKey, Rows};
use serde::Deserialize;

/// nginx writes times in seconds with three decimals.
const STEP_NS: i64 = 1_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// The nginx access log as JSON lines.
pub struct NginxAccess;

impl Format for NginxAccess {
    fn id(&self) -> &'static str {
        "nginx_access"
    }

    fn title(&self) -> &'static str {
        "nginx access log (JSON lines)"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "queue", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let nginx = |line| {
            json::record::<Record>(line).is_ok_and(|r| {
                let stamped = [r.msec, r.time_iso8601, r.time_local, r.time, r.timestamp, r.at_timestamp];
                let upstream = [
                    r.upstream_addr,
                    r.upstream_status,
                    r.upstream_response_time,
                    r.upstream_header_time,
                    r.upstream_connect_time,
                ];
                let any = |keys: &[Raw]| keys.iter().any(|key| key.0.is_some());
                // ingress-nginx documents a JSON format without upstream_*, but with these two.
                let ingress = r.vhost.0.is_some() && r.request_proto.0.is_some();
                r.request_time.0.is_some() && any(&stamped) && (any(&upstream) || ingress)
            })
        };
        Match::when(
            head.lines().take(20).any(nginx),
            "request_time, msec or time, upstream_* or vhost and request_proto",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| line_of_log(line, rows, hop, &clock)))
    }
}

/// One request, by the names of nginx's variables.
#[derive(Deserialize)]
pub(super) struct Record<'a> {
    #[serde(borrow, default)]
    msec: Raw<'a>,
    #[serde(borrow, default)]
    time_iso8601: Raw<'a>,
    #[serde(borrow, default)]
    time_local: Raw<'a>,
    #[serde(borrow, default)]
    time: Raw<'a>,
    #[serde(borrow, default)]
    timestamp: Raw<'a>,
    #[serde(borrow, default, rename = "@timestamp")]
    at_timestamp: Raw<'a>,
    #[serde(borrow, default)]
    request_time: Raw<'a>,
    #[serde(borrow)]
    x_request_id: Text<'a>,
    #[serde(borrow)]
    http_x_request_id: Text<'a>,
    #[serde(borrow)]
    req_id: Text<'a>,
    #[serde(borrow)]
    request_id: Text<'a>,
    #[serde(borrow, default)]
    traceparent: Raw<'a>,
    #[serde(borrow, default)]
    http_traceparent: Raw<'a>,
    #[serde(borrow)]
    caller: Text<'a>,
    #[serde(borrow)]
    http_x_caller: Text<'a>,
    #[serde(borrow, default)]
    attempt: Raw<'a>,
    #[serde(borrow, default)]
    http_x_attempt: Raw<'a>,
    #[serde(borrow, default)]
    status: Raw<'a>,
    #[serde(borrow, default)]
    upstream_addr: Raw<'a>,
    #[serde(borrow, default)]
    upstream_status: Raw<'a>,
    #[serde(borrow, default)]
    upstream_connect_time: Raw<'a>,
    #[serde(borrow, default)]
    upstream_header_time: Raw<'a>,
    #[serde(borrow, default)]
    upstream_response_time: Raw<'a>,
    #[serde(borrow, default)]
    limit_req_status: Raw<'a>,
    #[serde(borrow, default)]
    limit_conn_status: Raw<'a>,
    #[serde(borrow, default)]
    vhost: Raw<'a>,
    #[serde(borrow, default)]
    request_proto: Raw<'a>,
}

impl<'a> Record<'a> {
    /// End of the request and the resolution of its stamp.
    fn end(&self) -> Option<(i64, i64)> {
        if let Some(ns) = self.msec.ns(S) {
            return Some((ns, STEP_NS));
        }
        [self.time_iso8601, self.time_local, self.time, self.timestamp, self.at_timestamp]
            .iter()
            .filter_map(Raw::text)
            .find_map(stamp)
    }

    fn request_id(&self) -> Option<&str> {
        let logged = self.x_request_id.is_some() || self.http_x_request_id.is_some() || self.req_id.is_some();
        word(&self.x_request_id)
            .or_else(|| word(&self.http_x_request_id))
            .or_else(|| word(&self.req_id))
            .or_else(|| word(&self.request_id).filter(|_| !logged))
    }

    /// No connection to any upstream came about: nothing listened, or it was not up yet.
    fn unreachable(&self) -> bool {
        let never = |times: Raw| times.0.is_some() && last(times).is_none();
        matches!(self.status.int(), Some(502..=504))
            && matches!(last(self.upstream_status), Some("502" | "504"))
            && never(self.upstream_connect_time)
            && never(self.upstream_header_time)
    }

    /// How it ended, and the words for it.
    fn ending(&self) -> (Outcome, Option<&'a str>) {
        let limits = [self.limit_req_status.text(), self.limit_conn_status.text()];
        if self.unreachable() {
            (Outcome::Error, Some("upstream-unreachable"))
        } else if limits.contains(&Some("REJECTED")) {
            (Outcome::Rejected, Some("REJECTED"))
        } else {
            let outcome = self.status.int().map_or(Outcome::Unknown, Outcome::from_http);
            (outcome, limits.into_iter().flatten().find(|limit| *limit != "PASSED"))
        }
    }
}

/// A text stamp: ISO 8601 or the common log format, both with an offset, or epoch seconds.
fn stamp(text: &str) -> Option<(i64, i64)> {
    if let Some(ns) = to_ns(text, S) {
        return Some((ns, step_ns(text, S)));
    }
    let timestamp = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        jiff::fmt::strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).and_then(|time| time.to_timestamp()).ok()
    })?;
    Some((i64::try_from(timestamp.as_nanosecond()).ok()?, SECOND_NS))
}

/// The values of an upstream list, one a try.
fn tries(list: Raw<'_>) -> impl DoubleEndedIterator<Item = &str> {
    list.text().unwrap_or_default().split([',', ' ']).filter(|part| !matches!(*part, "" | ":"))
}

/// The value of the last try, `None` when it is "-".
fn last(list: Raw<'_>) -> Option<&str> {
    tries(list).next_back().filter(|value| *value != "-")
}

/// All tries together; `None` when there was none or one of them is unknown.
fn sum(list: Raw) -> Option<i64> {
    tries(list)
        .map(|value| to_ns(value, S))
        .try_fold(None, |sum: Option<i64>, next| sum.unwrap_or_default().checked_add(next?).map(Some))?
}

fn line_of_log(line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let repaired;
    let record = match json::record::<Record>(line.text) {
        // A log_format without escape=json writes \x22 for a quote: JSON spells it \u0022.
        Err((Code::RecordNotJson, detail)) if line.text.contains("\\x") => {
            repaired = line.text.replace("\\x", "\\u00");
            let record = json::record(&repaired).map_err(|_| (Code::RecordNotJson, detail));
            if record.is_ok() {
                rows.finding(Code::RecordNotStrict, line.place, "escapes of the form \\x22");
            }
            record
        }
        record => record,
    };
    match record {
        Ok(record) if record.request_time.text().is_none() => {
            line.refuse(rows, Code::RecordShape, "request_time is not stated");
        }
        Ok(record) => read(&record, &line, rows, hop, clock),
        Err((code, detail)) => line.refuse(rows, code, &detail),
    }
}

/// Adds one request.
pub(super) fn read(r: &Record, line: &Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let ids = r.traceparent.text().or(r.http_traceparent.text()).and_then(traceparent);
    let (outcome, error) = r.ending();
    let request = Request {
        request_id: r.request_id(),
        trace_id: ids.map(|(trace, _)| trace),
        parent_span_id: ids.map(|(_, span)| span),
        attempt: r.attempt.int().or(r.http_x_attempt.int()),
        caller: word(&r.caller).or(word(&r.http_x_caller)),
        instance: last(r.upstream_addr),
        status: r.status.int(),
        outcome,
        error,
        ..Request::default()
    };
    let key = rows.request(hop, line.place, &request);
    let request_time = r.request_time.ns(S);
    if let Some((end, resolution)) = r.end() {
        if let Some(start) = request_time.filter(|ns| *ns >= 0).and_then(|ns| end.checked_sub(ns)) {
            rows.mark(key, "start", start, clock, resolution);
        }
        rows.mark(key, "end", end, clock, resolution);
    } else {
        rows.finding(Code::TimeUnplaced, line.place, "neither msec nor a stamp with a zone");
    }
    let connect = last(r.upstream_connect_time).and_then(|text| to_ns(text, S));
    let header = last(r.upstream_header_time).and_then(|text| to_ns(text, S));
    for (definition, name, ns) in [
        ("nginx.request", "request_time", request_time),
        ("nginx.upstream", "upstream_response_time", sum(r.upstream_response_time)),
        ("nginx.upstream_connect", "upstream_connect_time", connect),
        ("nginx.upstream_header", "upstream_header_time", header),
    ] {
        if let Some(ns) = ns {
            measure(line, rows, key, definition, name, ns);
        }
    }
}

fn measure(line: &Line, rows: &mut Rows, key: RequestKey, definition: &'static str, name: &str, ns: i64) {
    if ns < 0 {
        let detail = format!("{name} {ns} ns < 0; left out");
        rows.finding(Code::ValueImpossible, line.place, &detail);
    } else {
        rows.measure(key, definition, ns, "s", STEP_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{Read, read, recognises};
    use crate::row::Table;

    const DELAYED: &str = include_str!("../../samples/nginx_access/delayed.jsonl");
    const REJECTED: &str = include_str!("../../samples/nginx_access/rejected.jsonl");
    const UNREACHABLE: &str = include_str!("../../samples/nginx_access/unreachable.jsonl");
    const MARKS: &[&str] = &["name", "t_ns", "clock", "resolution_ns"];
    const MEASURES: &[&str] = &["definition", "duration_ns"];

    fn line(keys: &str) -> Read {
        read(&NginxAccess, &format!("{{{keys}}}\n"))
    }

    #[test]
    fn a_line_is_read_exactly() {
        let read = read(&NginxAccess, DELAYED);
        assert_eq!((read.counts(), read.findings()), ((7, 0), vec![]));
        let columns =
            ["line", "hop", "request_id", "trace_id", "span_id", "parent_span_id", "attempt", "caller"];
        assert_eq!(
            read.rows(Table::Request, &columns)[0],
            "1|gateway|s1-bat-0016|c0535db32e4e663dba84e9686b338e7f|~|114da43c4b7161f2|0|batch-reports"
        );
        let columns = ["instance", "status", "outcome", "error", "streamed"];
        assert_eq!(read.rows(Table::Request, &columns)[0], "127.0.0.1:8001|200|ok|DELAYED|~");
        assert_eq!(
            read.rows(Table::Mark, MARKS)[..2],
            [
                "start|1796074186456000000|epoch:0123456789ab|1000000",
                "end|1796074189770000000|epoch:0123456789ab|1000000",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["definition", "duration_ns", "unit", "resolution_ns"])[..4],
            [
                "nginx.request|3314000000|s|1000000",
                "nginx.upstream|2110000000|s|1000000",
                "nginx.upstream_connect|0|s|1000000",
                "nginx.upstream_header|7000000|s|1000000",
            ]
        );
    }

    #[test]
    fn refusals_of_the_gateway_are_told_from_failures_behind_it() {
        let columns = ["status", "outcome", "error", "instance"];
        let rejected = read(&NginxAccess, REJECTED);
        assert_eq!(rejected.rows(Table::Request, &columns)[1], "429|rejected|REJECTED|~");
        let unreachable = read(&NginxAccess, UNREACHABLE);
        assert_eq!(
            unreachable.rows(Table::Request, &columns)[0],
            "502|error|upstream-unreachable|127.0.0.1:8001"
        );
        assert_eq!(
            unreachable.rows(Table::Measure, MEASURES)[..2],
            ["nginx.request|0", "nginx.upstream|1000000"]
        );
        let ending = |keys: &str| line(&format!(r#""request_time":1,"msec":9,{keys}"#));
        // The engine itself said 503; a gateway that does not log connect times; a client that left.
        for (keys, expected) in [
            (r#""status":503,"upstream_status":"503","upstream_connect_time":"0.001""#, "503|error|~|~"),
            (r#""status":502,"upstream_status":"502""#, "502|error|~|~"),
            (r#""status":503,"limit_req_status":"REJECTED""#, "503|rejected|REJECTED|~"),
            (r#""status":"499","limit_req_status":"PASSED""#, "499|cancelled|~|~"),
            (r#""status":"-""#, "~|unknown|~|~"),
        ] {
            assert_eq!(ending(keys).rows(Table::Request, &columns), [expected], "{keys}");
        }
    }

    #[test]
    fn retries_are_summed_and_the_last_try_counts() {
        let times = r#""upstream_connect_time":"-, 0.002 : 0.003","upstream_header_time":"-, 0.020 : 0.030""#;
        let tries =
            r#""upstream_addr":"10.0.0.1:80, 10.0.0.2:80 : [::1]:80","upstream_status":"502, 200 : 200""#;
        let read = line(&format!(
            r#""msec":"10.000","request_time":"1.000","upstream_response_time":"0.100, 0.200 : 0.300",{times},{tries}"#
        ));
        assert_eq!(read.rows(Table::Request, &["instance"]), ["[::1]:80"]);
        assert_eq!(
            read.rows(Table::Measure, MEASURES),
            [
                "nginx.request|1000000000",
                "nginx.upstream|600000000",
                "nginx.upstream_connect|3000000",
                "nginx.upstream_header|30000000",
            ]
        );
        let unknown = line(r#""msec":1,"request_time":1,"upstream_response_time":"0.100, -""#);
        assert_eq!(unknown.rows(Table::Measure, MEASURES), ["nginx.request|1000000000"]);
    }

    #[test]
    fn text_stamps_are_known_to_one_second() {
        let end = |stamp: &str| line(&format!(r#""request_time":2.500,{stamp}"#)).rows(Table::Mark, MARKS);
        let expected = [
            "start|1796073816500000000|epoch:0123456789ab|1000000000",
            "end|1796073819000000000|epoch:0123456789ab|1000000000",
        ];
        assert_eq!(end(r#""time_iso8601":"2026-11-30T22:23:39+01:00""#), expected);
        assert_eq!(end(r#""time_local":"30/Nov/2026:21:23:39 +0000""#), expected);
        let unplaced = line(r#""request_time":1,"time":"yesterday""#);
        assert_eq!(unplaced.rows(Table::Mark, MARKS), Vec::<String>::new());
        assert_eq!(unplaced.findings(), ["1 time-unplaced neither msec nor a stamp with a zone"]);
    }

    #[test]
    fn the_callers_id_goes_before_nginx_own() {
        let id = |keys: &str| {
            line(&format!(r#""request_time":1,"msec":1,{keys}"#)).rows(Table::Request, &["request_id"])
        };
        assert_eq!(id(r#""request_id":"own","http_x_request_id":"his""#), ["his"]);
        assert_eq!(id(r#""request_id":"own","x_request_id":"-""#), ["~"]);
        assert_eq!(id(r#""request_id":"own""#), ["own"]);
    }

    #[test]
    fn bad_values_and_lines_are_reported() {
        let impossible = line(r#""request_time":-1,"msec":5,"upstream_response_time":"x""#);
        assert_eq!(impossible.rows(Table::Mark, &["name"]), ["end"]);
        assert_eq!(impossible.findings(), ["1 value-impossible request_time -1000000000 ns < 0; left out"]);
        let escaped = line(r#""request_time":1,"msec":1,"user_agent":"a\x22b","caller":"\x41pp""#);
        assert_eq!(escaped.findings(), [r"1 record-not-strict escapes of the form \x22"]);
        assert_eq!(escaped.rows(Table::Request, &["caller"]), ["App"]);
        let text = [
            r#"{"msec":1}"#,
            r#"{"msec":1,"msec":2}"#,
            r#"{"request_time":1,"caller":7}"#,
            r#"{"request_time":NaN,"user_agent":"\x22"}"#,
            r#"{"request_time":1e99,"msec":"9999999999999999999"}"#,
            r#"{"requ"#,
        ];
        let read = read(&NginxAccess, &text.join("\n"));
        assert_eq!(read.counts(), (1, 5));
        assert_eq!(
            read.rows(Table::Finding, &["line", "code"]),
            [
                "1|record-shape",
                "2|duplicate-key",
                "3|record-shape",
                "4|record-not-json",
                "5|time-unplaced",
                "6|truncated",
            ]
        );
    }

    #[test]
    fn recognised_by_its_keys_even_after_a_bad_line() {
        for sample in [DELAYED, REJECTED, UNREACHABLE] {
            assert!(recognises(&NginxAccess, &format!("garbage\n{sample}")));
        }
        let ingress = r#"{"time":"2026-11-30T21:23:39+00:00","request_id":"a","request_time":1.5,"status":200,"vhost":"llm","request_proto":"HTTP/1.1","duration":1.5}"#;
        assert!(recognises(&NginxAccess, ingress));
        assert_eq!(read(&NginxAccess, ingress).rows(Table::Request, &["request_id", "status"]), ["a|200"]);
        for other in ["", "garbage", r#"{"request_time":1,"msec":1}"#, r#"{"msec":1,"upstream_addr":"a"}"#] {
            assert!(!recognises(&NginxAccess, other), "{other}");
        }
    }
}
