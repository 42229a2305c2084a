//! Numbers and instants as text. Everything that is printed is made here, never in a template.

use super::Words;
use crate::diagnose::CandidateDiagnosis;

/// A duration of `value` ns with three significant digits: `431 ms`, `7.25 s`, `−12.0 µs`.
#[must_use]
pub fn ns(value: i64) -> String {
    let sign = if value < 0 { "−" } else { "" };
    let abs = value.unsigned_abs();
    if abs == 0 {
        return "0 ms".to_owned();
    }
    for (unit, scale) in [("s", 1_000_000_000_u64), ("ms", 1_000_000), ("µs", 1_000)] {
        // Round to three digits in integers, so that no machine rounds another way.
        for decimals in [2_u32, 1, 0] {
            let step = scale / 10_u64.pow(decimals);
            let rounded = (abs + step / 2) / step;
            if rounded >= 100 && (rounded < 1_000 || decimals == 0) {
                let whole = rounded / 10_u64.pow(decimals);
                let fraction = rounded % 10_u64.pow(decimals);
                let digits = decimals as usize;
                let point = if decimals > 0 { format!(".{fraction:0digits$}") } else { String::new() };
                return format!("{sign}{whole}{point} {unit}");
            }
        }
    }
    format!("{sign}{abs} ns")
}

/// A share of 1 as a percentage with one decimal; `<0.1 %` is not zero.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value > 0.0 && value < 0.05 {
        return "<0.1 %".to_owned();
    }
    let text = format!("{value:.1}");
    let text = if text == "-0.0" { "0.0" } else { &text };
    format!("{} %", text.replace('-', "−"))
}

/// An interval.
#[must_use]
pub fn interval(low: &str, high: &str) -> String {
    format!("[{low}, {high}]")
}

/// An instant on its clock: UTC time of day with nanoseconds for epoch clocks, bare nanoseconds for others.
#[must_use]
pub fn instant(t_ns: i64, clock: &str) -> String {
    match jiff::Timestamp::from_nanosecond(i128::from(t_ns)) {
        Ok(time) if clock.starts_with("epoch:") => format!("{time:.9}"),
        _ => format!("{t_ns} ns"),
    }
}

/// The verdict on a candidate in one sentence.
#[must_use]
pub fn verdict_sentence(words: &Words, c: &CandidateDiagnosis) -> String {
    let v = &c.verdict;
    let name = |stage| words.get(&format!("stage.{stage}")).to_owned();
    let stage = v.stage.map(name).unwrap_or_default();
    let runner_up = v.runner_up.map(|(stage, _)| name(stage)).unwrap_or_default();
    let reason = v.missing.first().map(|reason| format!("reason.{}", reason.as_str())).unwrap_or_default();
    let share = v.share.map(percent).unwrap_or_default();
    let range = v.interval.map(|(l, h)| interval(&percent(l), &percent(h))).unwrap_or_default();
    let values = [
        ("stage", stage.as_str()),
        ("share", &share),
        ("interval", &range),
        ("runner_up", &runner_up),
        ("reason", words.get(&reason)),
        ("slow", &v.slow.to_string()),
        ("n", &v.n.to_string()),
        ("threshold", &c.slow_ns.map(ns).unwrap_or_default()),
    ];
    words.fill(&format!("verdict.{}", v.word.as_str()), &values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_and_their_unit() {
        let cases = [
            (7_251_300_000, "7.25 s"),
            (12_712_700_000, "12.7 s"),
            (431_400_000, "431 ms"),
            (999_600_000, "1.00 s"),
            (26_910, "26.9 µs"),
            (1_800_000, "1.80 ms"),
            (99, "99 ns"),
            (0, "0 ms"),
            (-12_000, "−12.0 µs"),
            (3_600_000_000_000, "3600 s"),
        ];
        for (value, text) in cases {
            assert_eq!(ns(value), text);
        }
    }

    #[test]
    fn small_shares_are_not_zero_and_minus_zero_is() {
        assert_eq!(percent(0.0004), "<0.1 %");
        assert_eq!(percent(-0.000_01), "0.0 %");
        assert_eq!(percent(0.9136), "91.4 %");
    }

    #[test]
    fn instants_name_their_clock_kind() {
        assert_eq!(instant(1_796_073_393_610_422_937, "epoch:x"), "2026-11-30T21:16:33.610422937Z");
        assert_eq!(instant(5, "monotonic:x"), "5 ns");
    }
}
