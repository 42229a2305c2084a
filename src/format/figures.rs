//! Figures over many requests, as reports state them: sets of statistics checked against each other.

use super::load_tool::cut;
use crate::finding::{Code, Place};
use crate::row::{Aggregate, Rows};
use serde_json::{Map, Value};

/// Longest value of a fact, in characters.
const FACT_CHARS: usize = 200;

/// What a set of statistics is of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Of<'a> {
    /// The metric, in the spelling shared by all tools.
    pub metric: &'a str,
    /// Unit as found.
    pub unit: &'a str,
    /// Over how many, when stated.
    pub n: Option<i64>,
    /// Which definition, empty when none applies.
    pub definition: &'a str,
}

/// The shared spelling of a statistic: `std_dev` is `std`, `p99p9` is `p99.9`; `None` for what is no statistic.
#[must_use]
pub fn statistic(name: &str) -> Option<String> {
    match name {
        "mean" | "median" | "min" | "max" | "count" | "total" => Some(name.to_owned()),
        "std" | "stddev" | "std_dev" => Some("std".to_owned()),
        "sum" | "total_sum" => Some("sum".to_owned()),
        _ => {
            let level = name.strip_prefix('p')?.replacen('p', ".", 1);
            let given: f64 = level.parse().ok()?;
            (level.starts_with(|c: char| c.is_ascii_digit()) && given <= 100.0).then(|| format!("p{level}"))
        }
    }
}

/// Adds the statistics of an object as figures; how many numbers it held.
///
/// A set over no requests at all, or one whose statistics cannot stand beside each other (a percentile below the
/// least value), is left out with a finding.
pub fn add(rows: &mut Rows, place: Place, of: Of, object: &Map<String, Value>) -> usize {
    let numbers = object.iter().filter_map(|(name, value)| Some((statistic(name)?, value.as_f64()?)));
    add_all(rows, place, of, &numbers.collect::<Vec<_>>())
}

/// Adds statistics, named as shared by all tools, as [`add`] does.
pub fn add_all(rows: &mut Rows, place: Place, of: Of, numbers: &[(String, f64)]) -> usize {
    if let (Some(0), Some((name, value))) = (of.n, numbers.first()) {
        let detail = format!("{} {name} {value} over 0 requests: its figures are left out", of.metric);
        rows.finding(Code::ValueImpossible, place, &detail);
        return numbers.len();
    }
    if let Some(contradiction) = disorder(numbers) {
        let detail = format!("{} {contradiction}: its figures are left out", of.metric);
        rows.finding(Code::ValueImpossible, place, &detail);
        return numbers.len();
    }
    for (statistic, value) in numbers {
        one(rows, place, of, statistic, *value);
    }
    numbers.len()
}

/// Adds one figure.
pub fn one(rows: &mut Rows, place: Place, of: Of, statistic: &str, value: f64) {
    let Of { metric, unit, n, definition } = of;
    rows.aggregate(place, &Aggregate { metric, statistic, value, unit, n, definition });
}

/// Adds a fact, its value cut short.
pub fn fact(rows: &mut Rows, place: Place, key: &str, value: &str) {
    if !value.is_empty() {
        rows.run(place, key, cut(value, FACT_CHARS));
    }
}

/// Two statistics in an order that no set of values has, as the arithmetic.
fn disorder(numbers: &[(String, f64)]) -> Option<String> {
    let level = |name: &str| match name {
        "min" => Some(0.0),
        "median" => Some(50.0),
        "max" => Some(100.0),
        _ => name.strip_prefix('p')?.parse::<f64>().ok(),
    };
    let mut ranked: Vec<_> =
        numbers.iter().filter_map(|(name, value)| Some((level(name)?, name.as_str(), *value))).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    // What interpolation between doubles may be off by.
    let above = |a: f64, b: f64| a - b > 1e-9 * a.abs().max(b.abs());
    let pair = ranked.iter().zip(ranked.iter().skip(1)).find(|(low, high)| above(low.2, high.2));
    if let Some(((_, low, a), (_, high, b))) = pair {
        return Some(format!("{low} {a} > {high} {b}"));
    }
    let named = |word: &str| numbers.iter().find(|(name, _)| name == word).map(|(_, value)| *value);
    let mean = named("mean")?;
    match (named("min"), named("max")) {
        (Some(min), _) if above(min, mean) => Some(format!("mean {mean} < min {min}")),
        (_, Some(max)) if above(mean, max) => Some(format!("mean {mean} > max {max}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::Read;
    use crate::row::Table;

    fn figures(n: Option<i64>, json: &str) -> (Vec<String>, Vec<String>) {
        let mut rows = Rows::default();
        let of = Of { metric: "ttft", unit: "s", n, definition: "" };
        add(&mut rows, Place::FILE, of, serde_json::from_str::<Value>(json).unwrap().as_object().unwrap());
        let read = Read::of(&mut rows);
        (read.rows(Table::Aggregate, &["statistic", "value", "n"]), read.findings())
    }

    #[test]
    fn statistics_have_one_spelling() {
        let names =
            ["mean", "stddev", "std_dev", "p0.1", "p99p9", "p50", "median", "units", "p", "pp5", "p101"];
        let spelt: Vec<_> = names.into_iter().map(|name| statistic(name).unwrap_or("-".to_owned())).collect();
        assert_eq!(spelt, ["mean", "std", "std", "p0.1", "p99.9", "p50", "median", "-", "-", "-", "-"]);
    }

    #[test]
    fn null_and_words_are_no_figures() {
        let (rows, findings) = figures(Some(2), r#"{"mean": 0.5, "min": null, "max": "NaN", "units": "s"}"#);
        assert_eq!((rows, findings.len()), (vec!["mean|0.5|2".to_owned()], 0));
    }

    #[test]
    fn a_set_that_no_values_have_is_left_out() {
        for (json, says) in [
            (r#"{"mean": 5, "min": 19, "p10": 13, "max": 30}"#, "ttft min 19 > p10 13"),
            (r#"{"mean": 5, "min": 6}"#, "ttft mean 5 < min 6"),
            (r#"{"mean": 9, "max": 8}"#, "ttft mean 9 > max 8"),
            (r#"{"median": 9, "p90": 8}"#, "ttft median 9 > p90 8"),
        ] {
            let (rows, findings) = figures(None, json);
            assert_eq!(rows, Vec::<String>::new());
            assert_eq!(findings, [format!("0 value-impossible {says}: its figures are left out")]);
        }
        // A skewed set is no contradiction, nor is the last digit of a double.
        assert_eq!(
            figures(None, r#"{"mean": 5, "median": 7, "min": 0.03, "p1": 0.03, "max": 9}"#).1.len(),
            0
        );
        assert_eq!(figures(None, r#"{"p95": 0.20000000000000001, "max": 0.19999999999999998}"#).1.len(), 0);
    }

    #[test]
    fn figures_over_nothing_are_no_figures() {
        let (rows, findings) = figures(Some(0), r#"{"mean": 0.0, "median": 0.0}"#);
        assert_eq!(rows, Vec::<String>::new());
        assert_eq!(findings, ["0 value-impossible ttft mean 0 over 0 requests: its figures are left out"]);
    }
}
