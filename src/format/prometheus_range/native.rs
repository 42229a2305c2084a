//! Native histograms in a query's answer, stored as the classic ones they stand for.

use crate::finding::Place;
use crate::format::decimal;
use crate::format::json::Raw;
use crate::format::prometheus_text::{Label, join};
use crate::row::Rows;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// `[epoch seconds, histogram]`.
#[derive(Deserialize)]
pub struct Native<'a>(#[serde(borrow)] Raw<'a>, #[serde(borrow)] Histogram<'a>);

/// Its figures.
#[derive(Deserialize)]
pub struct Histogram<'a> {
    #[serde(borrow, default)]
    count: Raw<'a>,
    #[serde(borrow, default)]
    sum: Raw<'a>,
    /// Which of the bounds belong to the bucket, the bounds, and how many are in it: in rising order.
    #[serde(borrow, default)]
    buckets: Vec<(IgnoredAny, Raw<'a>, Raw<'a>, Raw<'a>)>,
}

impl Native<'_> {
    /// Adds its samples; `None`, and none added, when a figure is not a number.
    pub fn add(
        &self,
        place: Place,
        metric: &str,
        labels: &[Label],
        rows: &mut Rows,
        clock: &str,
    ) -> Option<()> {
        let number = |raw: &Raw| raw.text()?.parse::<f64>().ok();
        let t_ns = self.0.ns(decimal::S)?;
        let (count, sum) = (number(&self.1.count)?, number(&self.1.sum)?);
        let mut total = 0.0;
        let mut bounds = Vec::with_capacity(self.1.buckets.len() + 1);
        for (_, _, upper, count) in &self.1.buckets {
            total += number(count)?;
            number(upper)?;
            bounds.push((upper.text()?, total));
        }
        if bounds.last().is_none_or(|(upper, _)| *upper != "+Inf") {
            bounds.push(("+Inf", count));
        }
        let mut sample = |suffix: &str, le: Option<&str>, value: f64| {
            let mut labels = labels.to_vec();
            labels.extend(le.map(|le| ("le".into(), le.into())));
            if let Some(labels) = join(&mut labels).ok().filter(|_| !value.is_nan()) {
                rows.sample(place, &format!("{metric}{suffix}"), &labels, t_ns, clock, value);
            }
        };
        sample("_count", None, count);
        sample("_sum", None, sum);
        for (upper, value) in bounds {
            sample("_bucket", Some(upper), value);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::PrometheusRange;
    use crate::format::testing::read;
    use crate::row::Table;

    const POINT: &str =
        r#"[1700000000,{"count":"5","sum":"1.5","buckets":[[3,"-0.001","0.001","1"],[0,"0.25","0.5","3"]]}]"#;

    fn answer(result_type: &str, value: &str) -> String {
        format!(
            r#"{{"status":"success","data":{{"resultType":"{result_type}","result":[{{"metric":{{"__name__":"ttft","z":"1"}},{value}}}]}}}}"#
        )
    }

    #[test]
    fn a_native_histogram_is_its_classic_form() {
        for text in [
            answer("matrix", &format!("\"histograms\":[{POINT}]")),
            answer("vector", &format!("\"histogram\":{POINT}")),
        ] {
            let read = read(&PrometheusRange, &text);
            assert_eq!(read.findings(), [""; 0]);
            assert_eq!(
                read.rows(Table::Series, &["metric", "labels", "t_ns", "value"]),
                [
                    "ttft_count|z=\"1\"|1700000000000000000|5",
                    "ttft_sum|z=\"1\"|1700000000000000000|1.5",
                    "ttft_bucket|le=\"0.001\",z=\"1\"|1700000000000000000|1",
                    "ttft_bucket|le=\"0.5\",z=\"1\"|1700000000000000000|4",
                    "ttft_bucket|le=\"+Inf\",z=\"1\"|1700000000000000000|5",
                ]
            );
        }
    }

    #[test]
    fn a_histogram_with_a_figure_that_is_none_is_refused_whole() {
        let text =
            answer("matrix", &format!("\"histograms\":[{},{POINT}]", POINT.replace("\"3\"]", "\"x\"]")));
        let read = read(&PrometheusRange, &text);
        assert_eq!(read.counts(), (5, 1));
        assert!(read.findings()[0].contains("a histogram that is not"), "{:?}", read.findings());
    }
}
