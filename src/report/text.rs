//! Numbers and instants as text. Everything that is printed is made here, never in a template.

use super::Words;
use crate::diagnose::{CandidateDiagnosis, failing};

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

/// A place in a file as editors take it: `file:line`, and `#item` where a line holds several records.
#[must_use]
pub fn place(file: &str, line: i64, item: i64) -> String {
    let item = if item > 0 { format!("#{item}") } else { String::new() };
    format!("{}:{line}{item}", shown(file))
}

/// A size in bytes with thin groups of three digits.
#[must_use]
pub fn bytes(value: i64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digit.is_ascii_digit() && (digits.len() - at).is_multiple_of(3) && !out.ends_with('-') {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A p value after correction; below a thousandth it is only said that it is.
#[must_use]
pub fn q_value(q: f64) -> String {
    if q < 0.001 { "<0.001".to_owned() } else { format!("{q:.3}") }
}

/// A name from evidence without characters that steer a terminal or turn the direction of text.
#[must_use]
pub fn shown(text: &str) -> String {
    let bidi = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() || bidi(c) { '\u{fffd}' } else { c }).collect()
}

/// Such a name, cut in the middle when it is longer than anyone reads.
#[must_use]
pub fn clipped(text: &str) -> String {
    const HEAD: usize = 96;
    const TAIL: usize = 24;
    let text = shown(text);
    let length = text.chars().count();
    if length <= HEAD + TAIL + 1 {
        return text;
    }
    let head = text.chars().take(HEAD);
    let tail = text.chars().skip(length - TAIL);
    head.chain(['…']).chain(tail).collect()
}

/// An instant of UTC without the fractions nobody reads, as epoch ns.
#[must_use]
pub fn date(t_ns: i64) -> String {
    let time = jiff::Timestamp::from_nanosecond(i128::from(t_ns));
    time.map_or_else(|_| format!("{t_ns} ns"), |time| format!("{time:.0}"))
}

/// A sentence with its first letter set large, where the script has such letters.
#[must_use]
pub fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// What stands in place of a figure that would rest on void evidence.
#[must_use]
pub fn void(words: &Words, c: &CandidateDiagnosis) -> String {
    let codes: std::collections::BTreeSet<&str> =
        c.void.iter().flat_map(|v| &v.codes).map(|code| code.id()).collect();
    words.fill("ui.void", &[("codes", &codes.into_iter().collect::<Vec<_>>().join(", "))])
}

/// The verdict on a candidate in one sentence.
#[must_use]
pub fn verdict_sentence(words: &Words, c: &CandidateDiagnosis) -> String {
    let v = &c.verdict;
    let stage = v.stage.map(|stage| words.get(&format!("stage.{stage}")).to_owned()).unwrap_or_default();
    let reason = v.missing.first().map(|reason| format!("reason.{}", reason.as_str())).unwrap_or_default();
    let share = v.share.map(percent).unwrap_or_default();
    let range = v.interval.map(|(l, h)| interval(&percent(l), &percent(h)));
    let range = range.unwrap_or_else(|| words.get("verdict.no-interval").to_owned());
    let values = [
        ("stage", stage.as_str()),
        ("share", &share),
        ("interval", &range),
        ("reason", words.get(&reason)),
        ("slow", &v.slow.to_string()),
        ("n", &v.n.to_string()),
        ("threshold", &c.slow_ns.map(ns).unwrap_or_default()),
    ];
    let sentence = words.fill(&format!("verdict.{}", v.word.as_str()), &values);
    if !failing(&c.counts) {
        return sentence;
    }
    let (failed, exchanges) = (c.counts.failed.to_string(), c.counts.exchanges.to_string());
    sentence + &words.fill("verdict.failed", &[("failed", &failed), ("exchanges", &exchanges)])
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
        assert_eq!(date(1_796_073_393_610_422_937), "2026-11-30T21:16:33Z");
    }

    #[test]
    fn sentences_begin_large() {
        assert_eq!(
            [sentence("queue explains"), sentence("排队"), sentence("")],
            ["Queue explains", "排队", ""]
        );
    }

    #[test]
    fn names_from_evidence_are_disarmed_and_cut() {
        assert_eq!(shown("a\u{1b}[1m\u{202e}b"), "a\u{fffd}[1m\u{fffd}b");
        assert_eq!(clipped("web-0001"), "web-0001");
        let cut = clipped(&format!("first{}last", "排".repeat(10_000)));
        assert!(cut.starts_with("first排") && cut.ends_with("排last") && cut.chars().count() == 121);
        assert_eq!(place("a b.jsonl", 3, 0), "a b.jsonl:3");
        assert_eq!(place("a\n.pb", 1, 7), "a\u{fffd}.pb:1#7");
    }

    #[test]
    fn sizes_are_grouped_and_small_q_is_not_zero() {
        let plain = |value| bytes(value).replace('\u{202f}', " ");
        assert_eq!(
            [plain(0), plain(999), plain(1_234_567), plain(-123_456)],
            ["0", "999", "1 234 567", "-123 456"]
        );
        assert_eq!([q_value(0.0), q_value(0.0123), q_value(1.0)], ["<0.001", "0.012", "1.000"]);
    }
}
