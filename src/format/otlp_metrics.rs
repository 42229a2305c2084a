//! OTLP/JSON metrics: export requests one a line, one over many lines, or an array of them, as series.
//!
//! Histograms become the cumulative `_bucket`, `_count` and `_sum` of Prometheus; what is exported as a difference keeps a
//! label `temporality="delta"`. The unit stands in a label, the writer in `job` and `instance`, as in Prometheus.

use super::elements;
use super::json::{self, Raw};
use super::otlp::json::{Folded, ResourceRecord, begins};
use super::otlp::{Attributed, Value};
use super::{Context, Format, Match, Reader, decimal};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Write;

/// OTLP metrics.
pub struct OtlpMetrics;

impl Format for OtlpMetrics {
    fn id(&self) -> &'static str {
        "otlp_metrics"
    }

    fn title(&self) -> &'static str {
        "OpenTelemetry metrics (OTLP/JSON)"
    }

    fn hop(&self) -> Hop {
        Hop::Engine
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let starts = [r#"{"resourceMetrics":"#, r#"[{"resourceMetrics":"#];
        Match::when(starts.iter().any(|start| begins(&head.bytes, start)), "resourceMetrics")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let cx = cx.clone();
        Reader::Document(Box::new(move |bytes, rows| read(&cx, bytes, rows)))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Export<'a> {
    #[serde(borrow)]
    resource_metrics: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OfResource<'a> {
    #[serde(borrow)]
    resource: ResourceRecord<'a>,
    #[serde(borrow, alias = "instrumentationLibraryMetrics")]
    scope_metrics: Vec<OfScope<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfScope<'a> {
    #[serde(borrow)]
    metrics: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metric<'a> {
    #[serde(borrow)]
    name: json::Text<'a>,
    #[serde(borrow)]
    unit: json::Text<'a>,
    #[serde(borrow)]
    gauge: Option<Data<'a>>,
    #[serde(borrow)]
    sum: Option<Data<'a>>,
    #[serde(borrow)]
    histogram: Option<Data<'a>>,
    #[serde(borrow)]
    exponential_histogram: Option<Data<'a>>,
    #[serde(borrow)]
    summary: Option<Data<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Data<'a> {
    #[serde(borrow)]
    data_points: Vec<Point<'a>>,
    #[serde(borrow)]
    aggregation_temporality: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Point<'a> {
    attributes: Folded<Labels>,
    #[serde(borrow)]
    time_unix_nano: Raw<'a>,
    #[serde(borrow)]
    as_double: Raw<'a>,
    #[serde(borrow)]
    as_int: Raw<'a>,
    #[serde(borrow)]
    count: Raw<'a>,
    #[serde(borrow)]
    sum: Raw<'a>,
    #[serde(borrow)]
    bucket_counts: Vec<Raw<'a>>,
    #[serde(borrow)]
    explicit_bounds: Vec<Raw<'a>>,
    #[serde(borrow)]
    quantile_values: Vec<Quantile<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Quantile<'a> {
    #[serde(borrow)]
    quantile: Raw<'a>,
    #[serde(borrow)]
    value: Raw<'a>,
}

/// The attributes of a point.
#[derive(Clone, Debug, Default)]
struct Labels(BTreeMap<String, String>);

impl<'v> Attributed<'v> for Labels {
    fn attribute(&mut self, key: &str, value: &impl Value<'v>) {
        if let Some(text) = value.text().map(Into::into).or_else(|| Some(value.int()?.to_string())) {
            self.0.insert(key.to_owned(), text);
        }
    }
}

impl Labels {
    fn with(&self, key: &str, value: &str) -> Labels {
        let mut labels = self.clone();
        labels.0.insert(key.to_owned(), value.to_owned());
        labels
    }

    /// `k="v",…` sorted by key.
    fn text(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.0 {
            let comma = if text.is_empty() { "" } else { "," };
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(text, "{comma}{key}=\"{value}\"");
        }
        text
    }
}

fn read(cx: &Context, bytes: &[u8], rows: &mut Rows) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return rows.refuse(Code::TextInvalid, Place::FILE, "not UTF-8");
    };
    let mut place = Place::item(1, 0);
    let done = elements::objects(text, |one| match json::record::<Export>(one.get()) {
        Ok(export) => {
            for one in export.resource_metrics {
                match json::record::<OfResource>(one.get()) {
                    Ok(group) => resource(cx, &group, &mut place, rows),
                    Err((code, detail)) => refuse(rows, &mut place, code, &detail),
                }
            }
        }
        Err((code, detail)) => refuse(rows, &mut place, code, &detail),
    });
    if let Err(error) = done {
        let (code, detail) = json::complaint(&error);
        refuse(rows, &mut place, if error.is_eof() { Code::Truncated } else { code }, &detail);
    }
}

fn refuse(rows: &mut Rows, place: &mut Place, code: Code, detail: &str) {
    rows.refuse(code, *place, detail);
    place.item += 1;
}

fn resource(cx: &Context, group: &OfResource, place: &mut Place, rows: &mut Rows) {
    let writer = group.resource.get();
    let clock = writer.clock(cx);
    for one in group.scope_metrics.iter().flat_map(|scope| &scope.metrics) {
        match json::record::<Metric>(one.get()) {
            Ok(metric) => {
                let mut common = Labels::default();
                let unit = json::word(&metric.unit).filter(|unit| *unit != "1");
                for (key, value) in
                    [("job", writer.service()), ("instance", writer.instance()), ("unit", unit)]
                {
                    if let Some(value) = value {
                        common.0.insert(key.to_owned(), value.to_owned());
                    }
                }
                Series {
                    metric: json::word(&metric.name).unwrap_or_default(),
                    clock: &clock,
                    place: *place,
                    rows,
                }
                .metric(&metric, &common);
            }
            Err((code, detail)) => rows.refuse(code, *place, &detail),
        }
        place.item += 1;
    }
}

/// Where the points of one metric go.
struct Series<'s> {
    metric: &'s str,
    clock: &'s str,
    place: Place,
    rows: &'s mut Rows,
}

impl Series<'_> {
    fn metric(mut self, metric: &Metric, common: &Labels) {
        let kinds =
            [&metric.gauge, &metric.sum, &metric.histogram, &metric.exponential_histogram, &metric.summary];
        if self.metric.is_empty() || kinds.iter().all(|kind| kind.is_none()) {
            return self.rows.refuse(Code::RecordShape, self.place, "a metric without a name or data");
        }
        for data in kinds.into_iter().flatten() {
            let delta =
                matches!(data.aggregation_temporality.text(), Some("1" | "AGGREGATION_TEMPORALITY_DELTA"));
            for point in &data.data_points {
                let mut labels = common.clone();
                labels.0.extend(point.attributes.0.0.clone());
                if delta {
                    labels = labels.with("temporality", "delta");
                }
                // Zero is how OTLP says that a time is not known.
                match point.time_unix_nano.ns(decimal::NS).filter(|t| *t > 0) {
                    Some(t_ns) => self.point(point, &labels, t_ns),
                    None => self.rows.refuse(Code::RecordShape, self.place, "timeUnixNano is not a time"),
                }
            }
        }
    }

    fn point(&mut self, point: &Point, labels: &Labels, t_ns: i64) {
        self.add("", point.as_double, labels, t_ns);
        self.add("", point.as_int, labels, t_ns);
        self.add("_count", point.count, labels, t_ns);
        self.add("_sum", point.sum, labels, t_ns);
        for Quantile { quantile, value } in &point.quantile_values {
            self.add("", *value, &labels.with("quantile", quantile.text().unwrap_or_default()), t_ns);
        }
        if point.bucket_counts.is_empty() {
            return;
        }
        let counts: Option<Vec<i64>> = point.bucket_counts.iter().map(Raw::int).collect();
        let Some(counts) = counts.filter(|counts| counts.len() == point.explicit_bounds.len() + 1) else {
            let detail = "bucketCounts and explicitBounds do not fit; buckets left out";
            return self.rows.finding(Code::RecordShape, self.place, detail);
        };
        let bounds = point.explicit_bounds.iter().map(|bound| bound.text().unwrap_or_default());
        let mut below = 0_i64;
        for (count, bound) in counts.into_iter().zip(bounds.chain(["+Inf"])) {
            below = below.saturating_add(count);
            #[expect(clippy::cast_precision_loss, reason = "the column is of doubles")]
            self.sample("_bucket", below as f64, &labels.with("le", bound), t_ns);
        }
    }

    /// Adds a stated number, if there is one.
    fn add(&mut self, suffix: &str, raw: Raw, labels: &Labels, t_ns: i64) {
        if let Some(value) = raw.text().and_then(|text| text.parse().ok()) {
            self.sample(suffix, value, labels, t_ns);
        }
    }

    fn sample(&mut self, suffix: &str, value: f64, labels: &Labels, t_ns: i64) {
        let name = format!("{}{suffix}", self.metric);
        self.rows.sample(self.place, &name, &labels.text(), t_ns, self.clock, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/otlp_metrics/metrics.jsonl");

    #[test]
    fn gauges_sums_and_histograms_are_series_with_their_writer_and_unit() {
        let read = read(&OtlpMetrics, SAMPLE);
        assert_eq!(read.findings(), [""; 0]);
        assert_eq!(
            read.rows(Table::Series, &["item", "metric", "labels", "t_ns", "value"]),
            [
                "0|vllm.num_requests_waiting|instance=\"pod-1\",job=\"engine\"|1796073820000000001|13",
                "1|vllm.prompt_tokens|instance=\"pod-1\",job=\"engine\",model_name=\"a\\\"b\",temporality=\"delta\",unit=\"{token}\"|1796073820000000001|463",
                "2|gen_ai.server.time_to_first_token_count|instance=\"pod-1\",job=\"engine\",unit=\"s\"|1796073820000000001|3",
                "2|gen_ai.server.time_to_first_token_sum|instance=\"pod-1\",job=\"engine\",unit=\"s\"|1796073820000000001|0.5",
                "2|gen_ai.server.time_to_first_token_bucket|instance=\"pod-1\",job=\"engine\",le=\"0.1\",unit=\"s\"|1796073820000000001|2",
                "2|gen_ai.server.time_to_first_token_bucket|instance=\"pod-1\",job=\"engine\",le=\"+Inf\",unit=\"s\"|1796073820000000001|3",
                "3|vllm.num_requests_waiting|instance=\"pod-1\",job=\"engine\"|1796073821000000000|0",
            ]
        );
        assert_eq!(read.rows(Table::Series, &["clock"])[0], "epoch:span:pod-1");
    }

    #[test]
    fn a_point_that_does_not_fit_costs_itself_alone() {
        let bad = SAMPLE.replacen("\"bucketCounts\":[\"2\",", "\"bucketCounts\":[", 1).replacen(
            "\"timeUnixNano\":\"1796073821000000000\"",
            "\"timeUnixNano\":0",
            1,
        );
        let read_bad = read(&OtlpMetrics, &bad);
        assert_eq!(read_bad.counts(), (4, 1));
        assert_eq!(
            read_bad.findings(),
            [
                "1 record-shape bucketCounts and explicitBounds do not fit; buckets left out",
                "1 record-shape timeUnixNano is not a time",
            ]
        );
        let cut = read(&OtlpMetrics, &SAMPLE[..SAMPLE.len() - 9]);
        assert_eq!(cut.counts(), (6, 1));
        assert!(cut.findings()[0].starts_with("1 truncated"));
    }

    #[test]
    fn metrics_are_recognised_in_every_layout_and_other_signals_are_not() {
        let line = SAMPLE.lines().next().unwrap();
        assert!(recognises(&OtlpMetrics, SAMPLE) && recognises(&OtlpMetrics, &format!("[\n {line}]")));
        for text in ["", "{}", "[]", r#"{"resourceLogs":[]}"#, r#"{"resourceSpans":[]}"#] {
            assert!(!recognises(&OtlpMetrics, text), "{text}");
        }
    }
}
