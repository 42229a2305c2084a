//! Envoy access logs as JSON: Istio's default keys, Envoy AI Gateway, Higress, and keys that an operator named alike.
//!
//! Keys are compared in lower case with `_` for every other sign, against `FIELDS`, `DURATIONS` and `POINTS`
//! (`COMMON_DURATION(DS_RX_BEG:US_RX_BODY_BEG:ms)`, with or without its operator's name); others are ignored. Values
//! may be numbers or strings.
//!
//! - `start_time` is the START of the request; its end is start + `duration`. Durations are milliseconds unless a
//!   `COMMON_DURATION` names its unit.
//! - `response_duration` and the upstream service time end with the response HEADERS, which engines may send before
//!   the first token; `US_RX_BODY_BEG`, the first byte of the body, is the best stand-in a proxy has.
//! - Higress' `ai_log` is JSON inside a string; its first token is the first chunk of a streamed response.

use super::decimal::{MS, NS, US};
use super::envoy::{Access, Reading};
use super::json::{self, Raw};
use super::objects::{self, Objects};
use super::trace::traceparent;
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What a key may be called, in the order of preference.
const FIELDS: &[(&str, &[&str])] = &[
    ("start", &["start_time", "timestamp", "time"]),
    ("status", &["response_code", "status", "status_code", "code"]),
    ("flags", &["response_flags", "response_flags_long", "flags"]),
    ("id", &["x_request_id", "req_x_request_id", "request_id"]),
    ("caller", &["caller", "consumer", "x_mse_consumer"]),
    ("host", &["upstream_host"]),
    ("model", &["genai_model_name", "genai_request_model", "gen_ai_request_model", "model"]),
    ("input", &["genai_tokens_input", "gen_ai_usage_input_tokens", "input_token"]),
    ("output", &["genai_tokens_output", "gen_ai_usage_output_tokens", "output_token"]),
    ("cached", &["genai_tokens_cached", "genai_tokens_cached_input", "cached_tokens"]),
];

/// Durations in milliseconds by key.
const DURATIONS: &[(&str, &[&str])] = &[
    ("envoy.duration", &["duration", "duration_ms", "total_duration"]),
    ("envoy.request", &["request_duration", "request_duration_ms"]),
    ("envoy.request_tx", &["request_tx_duration", "request_tx_duration_ms"]),
    ("envoy.response", &["response_duration", "response_duration_ms"]),
    ("envoy.response_tx", &["response_tx_duration", "response_tx_duration_ms"]),
    ("envoy.pool_ready", &["upstream_connection_pool_ready_duration"]),
    ("envoy.upstream_service", &["x_envoy_upstream_service_time", "upstream_service_time"]),
    ("higress.ttft", &["llm_first_token_duration"]),
    ("higress.service", &["llm_service_duration"]),
];

/// Durations by the two points of a `COMMON_DURATION`.
const POINTS: &[(&str, &str)] = &[
    ("envoy.duration", "ds_rx_beg_ds_tx_end"),
    ("envoy.request", "ds_rx_beg_ds_rx_end"),
    ("envoy.request_tx", "ds_rx_beg_us_tx_end"),
    ("envoy.response", "ds_rx_beg_us_rx_beg"),
    ("envoy.first_body", "ds_rx_beg_us_rx_body_beg"),
    ("envoy.first_sent", "ds_rx_beg_ds_tx_beg"),
    ("envoy.upstream_first_body", "us_tx_end_us_rx_body_beg"),
    ("envoy.upstream_connect", "us_cx_beg_us_cx_end"),
];

/// The JSON access logs of Envoy and what is built on it.
pub struct EnvoyAccessJson;

impl Format for EnvoyAccessJson {
    fn id(&self) -> &'static str {
        "envoy_access_json"
    }

    fn title(&self) -> &'static str {
        "Envoy / Istio / Envoy AI Gateway / Higress access log (JSON)"
    }

    fn hop(&self) -> Hop {
        Hop::Gateway
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ingress", "transport"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |object: &str| {
            json::record::<Fields>(object).is_ok_and(|f| {
                f.has("flags") && f.has("start") && f.has("status") && !f.durations().is_empty()
            })
        };
        Match::when(objects::any(head, ours), "start_time, response_code, response_flags, duration")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let reading = Reading::new(cx);
        Reader::Stream(Box::new(Objects::new(move |line: Line, rows: &mut Rows| read(&line, rows, &reading))))
    }
}

/// The values of one object by normalised key, in the order of keys.
struct Fields<'a>(Vec<(String, Raw<'a>)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = std::collections::BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<Cow<'de, str>, &RawValue>()? {
                    if fields.contains_key(&key) {
                        return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
                    }
                    fields.insert(key, value);
                }
                let named = fields.into_iter().map(|(key, value)| (normal(&key), Raw(Some(value))));
                Ok(Fields(named.collect()))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// What the keys of a field may be called.
fn names(field: &str) -> &'static [&'static str] {
    FIELDS.iter().find(|(name, _)| *name == field).map_or(&[], |(_, names)| names)
}

/// A key in lower case, other signs than letters and digits as `_`, none at the ends.
fn normal(key: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let key: String = key.chars().map(sign).collect();
    key.trim_matches('_').to_owned()
}

impl<'a> Fields<'a> {
    fn raw(&self, names: &[&str]) -> Option<Raw<'a>> {
        names.iter().find_map(|name| self.0.iter().find(|(key, _)| key == name)).map(|(_, value)| *value)
    }

    fn has(&self, field: &str) -> bool {
        self.raw(names(field)).is_some()
    }

    /// The first stated value under the names of a field.
    fn text(&self, field: &str) -> Option<&'a str> {
        names(field).iter().find_map(|name| self.raw(&[name])?.text())
    }

    /// Every duration stated: definition, key, value, and scale of its unit.
    fn durations(&self) -> Vec<(&'static str, &str, &'a str, u32)> {
        let mut found: Vec<(&'static str, &str, &'a str, u32)> = Vec::new();
        for (key, value) in &self.0 {
            let Some(text) = value.text() else { continue };
            let named = DURATIONS.iter().find(|(_, names)| names.contains(&key.as_str()));
            let Some((definition, scale)) =
                named.map(|(definition, _)| (*definition, MS)).or_else(|| points(key))
            else {
                continue;
            };
            // Two keys for one definition are one figure.
            if found.iter().all(|(known, ..)| *known != definition) {
                found.push((definition, key, text, scale));
            }
        }
        found
    }
}

/// The definition and scale of a `COMMON_DURATION` by its key.
fn points(key: &str) -> Option<(&'static str, u32)> {
    let (points, unit) = key.strip_prefix("common_duration_").unwrap_or(key).rsplit_once('_')?;
    let scale = match unit {
        "ms" => MS,
        "us" => US,
        "ns" => NS,
        _ => return None,
    };
    POINTS.iter().find(|(_, both)| *both == points).map(|(definition, _)| (*definition, scale))
}

fn read(line: &Line, rows: &mut Rows, reading: &Reading) {
    let fields = match json::record::<Fields>(line.text) {
        Ok(fields) => fields,
        Err((code, detail)) => return line.refuse(rows, code, &detail),
    };
    if !fields.has("start") || !fields.has("flags") {
        return line.refuse(rows, Code::RecordShape, "start_time or response_flags is missing");
    }
    // Higress: JSON inside a string, or, by a typed template, an object.
    let inner = fields.raw(&["ai_log"]).and_then(|raw| raw.0).map(RawValue::get);
    let unpacked = inner.and_then(|text| serde_json::from_str::<Cow<str>>(text).ok());
    let ai = unpacked.as_deref().or(inner).and_then(|text| json::record::<Fields>(text).ok());
    let ai = ai.unwrap_or(Fields(Vec::new()));
    let id = fields.raw(&["trace_id"]).and_then(|raw| raw.text());
    let trace_id = id.filter(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()));
    let parent = fields.raw(&["traceparent"]).and_then(|raw| raw.text()).and_then(traceparent);
    let text = |field| fields.text(field).or_else(|| ai.text(field));
    let durations: Vec<_> = fields.durations().into_iter().chain(ai.durations()).collect();
    let access = Access {
        start: text("start"),
        status: text("status"),
        flags: text("flags"),
        request_id: text("id"),
        trace: parent.map(|(trace, span)| (trace, Some(span))).or(trace_id.map(|id| (id, None))),
        caller: text("caller"),
        host: text("host"),
        model: text("model"),
        input_tokens: text("input"),
        output_tokens: text("output"),
        cached_tokens: text("cached"),
        streamed: durations.iter().any(|d| d.0 == "higress.ttft").then_some(true),
        durations,
    };
    reading.request(&access, line, rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/envoy_access_json/access.jsonl");
    const MEASURE: &[&str] = &["line", "definition", "duration_ns", "resolution_ns"];

    fn measures(line: i64) -> Vec<String> {
        let all = read(&EnvoyAccessJson, SAMPLE).rows(Table::Measure, MEASURE);
        all.into_iter().filter(|m| m.starts_with(&format!("{line}|"))).collect()
    }

    #[test]
    fn keys_of_istio_the_ai_gateway_and_higress_are_read() {
        let read = read(&EnvoyAccessJson, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((4, 0), vec![]));
        let columns =
            ["line", "request_id", "model", "input_tokens", "output_tokens", "status", "outcome", "streamed"];
        assert_eq!(
            read.rows(Table::Request, &columns),
            [
                "1|5f0e1c52-7a55-4f0a-9b1e-0d3f4a2b6c01|~|~|~|200|ok|~",
                "2|83b63da3-0000-4196-98b8-1a7f697d6d8d|tiny-llama|15|7|200|ok|~",
                "3|5895f5a9-0000-425b-98db-6c6a926195b7|qwen-turbo|10|69|200|ok|true",
                "4|9d21aa10-0000-4c38-8a44-2f0b5c7e1a11|~|~|~|429|rejected|~",
            ]
        );
        assert_eq!(
            read.rows(Table::Mark, &["line", "name", "t_ns"])[..2],
            ["1|start|1796073819250000000", "1|end|1796073820776000000"]
        );
    }

    #[test]
    fn durations_keep_their_own_definitions_and_units() {
        assert_eq!(
            measures(1),
            [
                "1|envoy.first_body|212345000|1000",
                "1|envoy.duration|1526000000|1000000",
                "1|envoy.request|2000000|1000000",
                "1|envoy.request_tx|3000000|1000000",
                "1|envoy.response|44000000|1000000",
                "1|envoy.response_tx|1482000000|1000000",
                "1|envoy.upstream_service|41000000|1000000",
            ]
        );
        assert_eq!(
            measures(2),
            ["2|envoy.duration|1526000000|1000000", "2|envoy.upstream_service|451000000|1000000"]
        );
        assert_eq!(
            measures(3),
            [
                "3|envoy.duration|1961000000|1000000",
                "3|envoy.upstream_service|496000000|1000000",
                "3|higress.ttft|309000000|1000000",
                "3|higress.service|1955000000|1000000",
            ]
        );
    }

    #[test]
    fn negative_and_impossible_durations_are_left_out_with_their_arithmetic() {
        let keys = r#""start_time":"2026-11-30T21:23:39.250Z","response_code":200,"response_flags":"-""#;
        let read = read(
            &EnvoyAccessJson,
            &format!(r#"{{{keys},"duration":5,"response_duration":9,"DS_RX_BEG:US_RX_BODY_BEG:us":-7}}"#),
        );
        assert_eq!(read.rows(Table::Measure, &["definition"]), ["envoy.duration"]);
        assert_eq!(
            read.findings(),
            [
                "1 value-impossible ds_rx_beg_us_rx_body_beg_us -7000 ns < 0: left out",
                "1 value-impossible response_duration 9000000 ns > duration 5000000 ns: response_duration left out",
            ]
        );
    }

    #[test]
    fn pretty_printed_and_broken_records() {
        let pretty = "{\n  \"start_time\": \"2026-11-30T21:23:39.250Z\",\n  \"response_code\": 200,\n  \
                      \"response_flags\": \"-\",\n  \"duration\": 1526\n}\n";
        assert!(recognises(&EnvoyAccessJson, pretty) && recognises(&EnvoyAccessJson, SAMPLE));
        assert_eq!(read(&EnvoyAccessJson, pretty).counts(), (1, 0));
        let bad = "{\"start_time\":1,\"start_time\":2}\n{\"a\":1}\n{\"start_time\":[}\n{\"sta";
        assert_eq!(
            read(&EnvoyAccessJson, bad).rows(Table::Finding, &["code"]),
            ["duplicate-key", "record-shape", "record-not-json", "truncated"]
        );
        for other in ["", "{}", r#"{"start_time":1,"duration":2,"response_code":200}"#] {
            assert!(!recognises(&EnvoyAccessJson, other), "{other}");
        }
    }
}
