//! Envoy's and Istio's access log in their default text formats.
//!
//! Both begin with the start in brackets, the request in quotes, the status and the response flags, and share the run
//! of bytes received, bytes sent, duration, upstream service time and five quoted texts; Istio puts details before
//! that run and addresses after it. Fields are found by that run, so that older releases of Istio are read too.
//!
//! - The stamp is the START of the request; its end is start + duration. Both are milliseconds.
//! - The upstream service time ends with the response HEADERS, which engines may send before the first token.
//! - One id on two lines is one request seen by two proxies (outbound and inbound), not a repetition.
//! - Lines of TCP connections become events: they are no requests.

use super::decimal::MS;
use super::envoy::{Access, Reading};
use super::fields::{Field, Kind, fields};
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Rows};

/// The default text access logs of Envoy and Istio.
pub struct EnvoyAccessText;

impl Format for EnvoyAccessText {
    fn id(&self) -> &'static str {
        "envoy_access_text"
    }

    fn title(&self) -> &'static str {
        "Envoy / Istio access log (default text)"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let seen = head.lines().filter(|line| line.starts_with('[')).take(20).any(|line| {
            let fields = fields(line);
            stamped(&fields) && run(&fields).is_some()
        });
        Match::when(
            seen,
            "[start] \"request\" status flags, then bytes, duration, service time, five quoted texts",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let reading = Reading::new(cx);
        Reader::Lines(Box::new(move |line, rows| read(&line, rows, &reading)))
    }
}

/// Whether the line begins with a bracketed stamp with a date and a time.
fn stamped(fields: &[Field]) -> bool {
    fields.first().is_some_and(|f| {
        f.kind == Kind::Bracketed && f.text.contains('T') && f.text.matches(':').count() >= 2
    })
}

/// Bytes received, bytes sent, duration, service time, and the quoted forwarded-for, agent, id, authority and host.
fn run<'f, 'a>(fields: &'f [Field<'a>]) -> Option<&'f [Field<'a>]> {
    let counts_then_texts =
        |run: &&[Field]| run.iter().take(4).all(Field::is_count) && run.iter().skip(4).all(Field::is_quoted);
    fields.get(4..)?.windows(9).find(counts_then_texts)
}

fn read(line: &Line, rows: &mut Rows, reading: &Reading) {
    let fields = fields(line.text);
    let [start, request, status, flags, ..] = fields.as_slice() else {
        return line.refuse(rows, Code::RecordShape, "fewer than four fields");
    };
    if !stamped(&fields) || !request.is_quoted() || !status.is_count() {
        return line.refuse(rows, Code::RecordShape, "not [start] \"request\" status flags");
    }
    let Some([_, _, duration, service, _, _, id, _, host]) = run(&fields) else {
        return line.refuse(
            rows,
            Code::RecordShape,
            "bytes, duration, service time and quoted texts not found",
        );
    };
    let durations = [
        ("envoy.duration", "DURATION", duration),
        ("envoy.upstream_service", "X-ENVOY-UPSTREAM-SERVICE-TIME", service),
    ];
    let access = Access {
        start: start.stated(),
        status: status.stated(),
        flags: flags.stated(),
        request_id: id.stated(),
        host: host.stated(),
        durations: durations
            .into_iter()
            .filter_map(|(definition, name, field)| Some((definition, name, field.stated()?, MS)))
            .collect(),
        ..Access::default()
    };
    if request.text == "- - -" && status.text == "0" {
        reading.connection(&access, line, rows);
    } else {
        reading.request(&access, line, rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/envoy_access_text/istio.log");
    const ENVOY: &str = concat!(
        r#"[2026-11-30T20:17:00.310Z] "POST /v1/chat/completions HTTP/2" 200 - 154 2048 226 100 "10.0.35.28" "#,
        r#""a("b") c" "cc21d9b0" "llm" "tcp://10.0.2.1:80""#
    );
    const REQUEST: &[&str] = &["line", "request_id", "instance", "status", "outcome", "error"];

    #[test]
    fn envoys_own_format_is_read_exactly() {
        let read = read(&EnvoyAccessText, ENVOY);
        assert_eq!(read.rows(Table::Request, REQUEST), ["1|cc21d9b0|10.0.2.1:80|200|ok|~"]);
        assert_eq!(
            read.rows(Table::Mark, &["name", "t_ns", "clock", "resolution_ns"]),
            [
                "start|1796069820310000000|epoch:0123456789ab|1000000",
                "end|1796069820536000000|epoch:0123456789ab|1000000",
            ]
        );
        assert_eq!(
            read.rows(Table::Measure, &["definition", "duration_ns", "unit", "resolution_ns"]),
            ["envoy.duration|226000000|ms|1000000", "envoy.upstream_service|100000000|ms|1000000"]
        );
    }

    #[test]
    fn istios_lines_tell_hops_refusals_and_connections_apart() {
        let read = read(&EnvoyAccessText, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((8, 0), vec![]));
        assert_eq!(
            read.rows(Table::Request, REQUEST),
            [
                // The caller's proxy and the engine's proxy: one request, two hops.
                "1|5f0e1c52-7a55-4f0a-9b1e-0d3f4a2b6c01|10.244.3.12:8000|200|ok|~",
                "2|5f0e1c52-7a55-4f0a-9b1e-0d3f4a2b6c01|10.244.3.12:8000|200|ok|~",
                "3|5f0e1c52-7a55-4f0a-9b1e-0d3f4a2b6c02|~|429|rejected|RL: rate limit of the proxy",
                "4|5f0e1c52-7a55-4f0a-9b1e-0d3f4a2b6c03|~|503|error|upstream-unreachable",
                "5|~|~|400|error|DPE: protocol error of the caller",
                "6|5f0e1c52-7a55-4f0a-9b1e-0d3f4a2b6c04|10.244.3.12:8000|~|cancelled|DC: the caller closed the connection",
                "8|5f0e1c52-7a55-4f0a-9b1e-0d3f4a2b6c05|10.244.3.12:8000|200|ok|~",
            ]
        );
        assert_eq!(
            read.rows(Table::Event, &["line", "kind", "duration_ns", "instance"]),
            ["7|connection|60042000000|10.244.3.12:8000"]
        );
    }

    #[test]
    fn what_contradicts_or_is_cut_is_reported() {
        let long = read(&EnvoyAccessText, &ENVOY.replace("226 100", "226 228"));
        assert_eq!(long.rows(Table::Measure, &["definition"]), ["envoy.duration"]);
        assert_eq!(
            long.findings(),
            ["1 value-impossible X-ENVOY-UPSTREAM-SERVICE-TIME 228000000 ns > DURATION 226000000 ns: \
                 X-ENVOY-UPSTREAM-SERVICE-TIME left out"]
        );
        let bad =
            read(&EnvoyAccessText, &format!("{}\nnoise\n{}", ENVOY.replace("2026", "20x6"), &ENVOY[..90]));
        assert_eq!(
            bad.rows(Table::Finding, &["line", "code"]),
            ["1|time-unplaced", "2|record-shape", "3|truncated"]
        );
    }

    #[test]
    fn recognised_by_its_run_of_fields() {
        assert!(recognises(&EnvoyAccessText, ENVOY) && recognises(&EnvoyAccessText, SAMPLE));
        for other in
            ["", "[x] \"GET\" 200", "10.0.0.1 - - [30/Nov/2026:21:23:39 +0000] \"GET / HTTP/1.1\" 200 1"]
        {
            assert!(!recognises(&EnvoyAccessText, other), "{other}");
        }
    }
}
