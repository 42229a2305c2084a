//! The Prometheus HTTP API's answer to `query_range` or `query`: `{"status":"success","data":{"resultType":…}}`.
//!
//! Times are epoch seconds as written, values are strings. One series is one item; all its samples share the
//! place. A native histogram is stored as the classic one it stands for: `_count`, `_sum`, and a cumulative `_bucket`
//! for each of its own bounds. A scalar has neither name nor labels. A NaN says that nothing is known and gives no row.

mod native;

use self::native::Native;
use super::elements::each;
use super::json::{self, Raw};
use super::prometheus_text::{Label, join};
use super::{Context, Format, Match, Reader, decimal};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A Prometheus query result.
pub struct PrometheusRange;

impl Format for PrometheusRange {
    fn id(&self) -> &'static str {
        "prometheus_range"
    }

    fn title(&self) -> &'static str {
        "Prometheus query result (HTTP API)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate", "resources"]
    }

    fn recognise(&self, head: &Head) -> Match {
        if head.first_byte() != Some(b'{') {
            return Match::No;
        }
        let start =
            head.bytes.iter().take(4096).filter(|b| !b.is_ascii_whitespace()).copied().collect::<Vec<_>>();
        let has = |part: &str| memchr::memmem::find(&start, part.as_bytes()).is_some();
        let answer = has(r#""status":"success""#) && has(r#""resultType":""#);
        let sorted_by_key = start.starts_with(br#"{"data":{"result":[{"metric":{"#);
        let error = has(r#""status":"error""#) && has(r#""errorType":""#);
        Match::when(answer || sorted_by_key || error, "status, data.resultType")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let clock = cx.epoch();
        Reader::Document(Box::new(move |bytes, rows| read(bytes, rows, &clock)))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(borrow, default)]
    status: Raw<'a>,
    #[serde(borrow)]
    data: Option<Data<'a>>,
    #[serde(borrow, default)]
    error_type: Raw<'a>,
    #[serde(borrow, default)]
    error: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow, default)]
    result_type: Raw<'a>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Series<'a> {
    #[serde(borrow)]
    metric: Metric<'a>,
    #[serde(borrow)]
    values: Option<&'a RawValue>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(borrow)]
    histograms: Option<&'a RawValue>,
    #[serde(borrow)]
    histogram: Option<&'a RawValue>,
}

fn read(bytes: &[u8], rows: &mut Rows, clock: &str) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return rows.refuse(Code::TextInvalid, Place::FILE, "not UTF-8");
    };
    let answer: Answer = match serde_json::from_str(text) {
        Ok(answer) => answer,
        Err(error) => {
            let (code, detail) = json::complaint(&error);
            return rows.refuse(if error.is_eof() { Code::Truncated } else { code }, Place::FILE, &detail);
        }
    };
    let Some((result_type, result)) = answer.data.and_then(|d| Some((d.result_type.text()?, d.result?)))
    else {
        let [status, kind, error] =
            [answer.status, answer.error_type, answer.error].map(|raw| raw.text().unwrap_or("none"));
        let detail = format!("no data: status {status}, {kind}: {error}");
        return rows.refuse(Code::RecordShape, Place::FILE, &detail);
    };
    if result_type == "scalar" {
        return match serde_json::from_str::<Point>(result.get()).ok().and_then(|point| point.read()) {
            Some((_, value)) if value.is_nan() => rows.read += 1,
            Some((t_ns, value)) => rows.sample(Place::line(1), "", "", t_ns, clock, value),
            None => rows.refuse(Code::RecordShape, Place::line(1), POINT),
        };
    }
    if !matches!(result_type, "matrix" | "vector") {
        let detail = format!("resultType `{result_type}` holds no series");
        return rows.refuse(Code::RecordShape, Place::FILE, &detail);
    }
    let mut item = 0;
    let outcome = each(result, |series: Series| {
        series.read(Place::item(1, item), rows, clock);
        item += 1;
    });
    refuse(outcome, Place::item(1, item), rows);
}

/// Reports what stopped a walk over an array.
fn refuse(outcome: serde_json::Result<()>, place: Place, rows: &mut Rows) {
    if let Err(error) = outcome {
        let (code, detail) = json::complaint(&error);
        // The column is one within this array, which a person cannot find.
        rows.refuse(code, place, detail.split(" at line ").next().unwrap_or_default());
    }
}

impl Series<'_> {
    fn read(mut self, place: Place, rows: &mut Rows, clock: &str) {
        let labels = match join(&mut self.metric.labels) {
            Ok(labels) => labels,
            Err(name) => {
                return rows.refuse(Code::DuplicateKey, place, &format!("label `{name}` stands twice"));
            }
        };
        let metric = self.metric.name.as_deref().unwrap_or_default();
        let mut point = |point: Point| match point.read() {
            Some((_, value)) if value.is_nan() => rows.read += 1,
            Some((t_ns, value)) => rows.sample(place, metric, &labels, t_ns, clock, value),
            None => rows.refuse(Code::RecordShape, place, POINT),
        };
        let outcome = match (self.values, self.value) {
            (Some(values), _) => each(values, point),
            (None, Some(value)) => serde_json::from_str(value.get()).map(&mut point),
            (None, None) => Ok(()),
        };
        refuse(outcome, place, rows);
        let mut histogram = |point: Native| {
            if point.add(place, metric, &self.metric.labels, rows, clock).is_none() {
                rows.refuse(
                    Code::RecordShape,
                    place,
                    "a histogram that is not [epoch seconds, {count, sum, buckets}]",
                );
            }
        };
        let outcome = match (self.histograms, self.histogram) {
            (Some(histograms), _) => each(histograms, histogram),
            (None, Some(one)) => serde_json::from_str(one.get()).map(&mut histogram),
            (None, None) => Ok(()),
        };
        refuse(outcome, place, rows);
    }
}

/// What a point must be.
const POINT: &str = "a point that is not [epoch seconds, \"number\"]";

/// `[epoch seconds, "value"]`.
#[derive(Deserialize)]
struct Point<'a>(#[serde(borrow)] Raw<'a>, #[serde(borrow)] Raw<'a>);

impl Point<'_> {
    fn read(&self) -> Option<(i64, f64)> {
        Some((self.0.ns(decimal::S)?, self.1.text()?.parse().ok()?))
    }
}

/// What names a series.
#[derive(Default)]
struct Metric<'a> {
    name: Option<Cow<'a, str>>,
    labels: Vec<Label<'a>>,
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Metric<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Metric::default())
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Metric<'a> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object of labels")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut labels: A) -> Result<Self, A::Error> {
        while let Some((Text(name), Text(value))) = labels.next_entry()? {
            if name == "__name__" {
                self.name = Some(value);
            } else {
                self.labels.push((name, escaped(value)));
            }
        }
        Ok(self)
    }
}

/// A label's value with the escapes of exposition text, so that both formats store the same series alike.
fn escaped(value: Cow<'_, str>) -> Cow<'_, str> {
    if value.contains(['\\', '"', '\n']) {
        value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n").into()
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/prometheus_range/llama_query_range.json");

    fn answer(result_type: &str, result: &str) -> String {
        format!(r#"{{"status":"success","data":{{"resultType":"{result_type}","result":{result}}}}}"#)
    }

    #[test]
    fn samples_keep_their_time_and_value_as_written() {
        let read = read(&PrometheusRange, SAMPLE);
        assert_eq!(read.counts(), (1008, 0));
        let rows = read.rows(Table::Series, &["line", "item", "metric", "labels", "t_ns", "clock", "value"]);
        assert_eq!(
            rows[0],
            "1|0|llamacpp:n_busy_slots_per_decode|instance=\"127.0.0.1:18702\",job=\"llama\"|\
             1796076910555000000|epoch:0123456789ab|0"
        );
    }

    #[test]
    fn a_vector_is_read_and_labels_are_stored_as_from_text() {
        let metric = r#"{"metric":{"z":"1","__name__":"m","a":"\"\\\n"},"value":[1700000000.25,"+Inf"]}"#;
        let read = read(&PrometheusRange, &answer("vector", &format!("[{metric}]")));
        let rows = read.rows(Table::Series, &["metric", "labels", "t_ns", "value"]);
        assert_eq!(rows, [r#"m|a="\"\\\n",z="1"|1700000000250000000|inf"#]);
    }

    #[test]
    fn bad_points_and_series_are_refused_alone() {
        let result = r#"[{"metric":{},"values":[[1,"x"],[1,"NaN"],[2,"3"],[4]],"histograms":[]},
            {"metric":{"a":"1","a":"2"},"values":[[1,"1"]]},{"metric":{"b":"1"},"values":[[1,"2"]]},7]"#;
        let read = read(&PrometheusRange, &answer("matrix", result));
        assert_eq!(read.counts(), (3, 4));
        assert_eq!(
            read.findings(),
            [
                "1 record-shape a point that is not [epoch seconds, \"number\"]",
                "1 record-shape invalid length 1, expected tuple struct Point with 2 elements",
                "1 duplicate-key label `a` stands twice",
                "1 record-shape invalid type: integer `7`, expected struct Series",
            ]
        );
        assert_eq!(read.rows(Table::Series, &["item", "labels", "value"]), ["0||3", "2|b=\"1\"|2"]);
    }

    #[test]
    fn an_answer_without_series_is_refused_with_its_reason() {
        let error = r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#;
        let finding = |text: &str| read(&PrometheusRange, text).findings().concat();
        assert_eq!(finding(error), "0 record-shape no data: status error, bad_data: parse error");
        assert!(finding(&answer("string", "[1,\"2\"]")).contains("`string` holds no series"));
        assert!(finding(&answer("scalar", "[1,\"x\"]")).contains("a point that is not"));
        assert!(finding(&SAMPLE[..900]).starts_with("0 truncated EOF"));
        assert!(finding("{]").starts_with("0 record-not-json"));
    }

    #[test]
    fn a_scalar_is_a_sample_without_a_name() {
        let read = read(&PrometheusRange, &answer("scalar", r#"[1700000000.5,"0.25"]"#));
        assert_eq!(
            read.rows(Table::Series, &["metric", "labels", "t_ns", "value"]),
            ["||1700000000500000000|0.25"]
        );
    }

    #[test]
    fn answers_are_recognised_and_garbage_is_not() {
        let pretty = answer("matrix", "[]").replace('{', "{\n ").replace(':', ": ");
        for text in [SAMPLE, &pretty, r#"{"status":"error","errorType":"timeout","error":"x"}"#] {
            assert!(recognises(&PrometheusRange, text));
        }
        for text in ["", "garbage", "{}", r#"{"status":"success","data":[]}"#, r#"["status","error"]"#] {
            assert!(!recognises(&PrometheusRange, text), "{text}");
        }
    }
}
