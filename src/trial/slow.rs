//! Where slow begins, and durations as people write them.

use crate::format::decimal::{self, MS, NS, S, US};
use std::fmt;

/// A second, in nanoseconds.
pub const SECOND: i64 = 1_000_000_000;
/// An hour, in nanoseconds.
pub const HOUR: i64 = 3600 * SECOND;

/// What [`Slow::parse`] takes, for messages.
pub const WANT: &str = "a duration up to \"1h\" such as \"800ms\" or \"2s\", or a percentile above p50 and below p100 such as \"p95\"";

/// From where on an exchange belongs to the slow tail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slow {
    /// Time to first token above this many nanoseconds.
    Over(i64),
    /// Time to first token above this quantile of the same candidate, between 0.5 and 1.
    Percentile(f64),
}

impl Default for Slow {
    /// Two seconds.
    fn default() -> Self {
        Slow::Over(2 * SECOND)
    }
}

impl Slow {
    /// A threshold as written: a duration above 0 up to an hour (`2s`, `800ms`) or a percentile between
    /// 50 and 100 with at most three decimals (`p95`, `p99.9`). `None` for anything else.
    ///
    /// ```
    /// use probity::trial::Slow;
    /// assert_eq!(Slow::parse("800ms"), Some(Slow::Over(800_000_000)));
    /// assert_eq!(Slow::parse("p99.9"), Some(Slow::Percentile(0.999)));
    /// assert_eq!(Slow::parse("fast"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Slow> {
        let Some(percent) = text.strip_prefix('p') else {
            return parse_duration(text).filter(|ns| *ns <= HOUR).map(Slow::Over);
        };
        // The digits are moved as text: 99.9 / 100 in floating point is not 0.999.
        let (whole, decimals) = percent.split_once('.').unwrap_or((percent, "0"));
        let digits = whole.bytes().chain(decimals.bytes()).all(|b| b.is_ascii_digit());
        if whole.len() != 2 || !(1..=3).contains(&decimals.len()) || !digits {
            return None;
        }
        let quantile = format!("0.{whole}{decimals}").parse().ok()?;
        (quantile > 0.5).then_some(Slow::Percentile(quantile))
    }
}

impl fmt::Display for Slow {
    /// As [`Slow::parse`] takes it: `2s`, `800ms`, `p95`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slow::Over(ns) => {
                let units = [(SECOND, "s"), (1_000_000, "ms"), (1000, "us")];
                let (step, unit) = units.into_iter().find(|(step, _)| ns % step == 0).unwrap_or((1, "ns"));
                write!(f, "{}{unit}", ns / step)
            }
            Slow::Percentile(quantile) => {
                let shortest = quantile.to_string();
                let digits = shortest.trim_start_matches("0.");
                match digits.split_at_checked(2) {
                    Some((whole, "")) => write!(f, "p{whole}"),
                    Some((whole, decimals)) => write!(f, "p{whole}.{decimals}"),
                    None => write!(f, "p{digits:0<2}"),
                }
            }
        }
    }
}

/// A duration as written, in nanoseconds: a plain decimal number above 0 and `ns`, `us`, `ms`, `s`, `m` or
/// `h`, without a space. `None` for anything else, and when it does not fit.
#[must_use]
pub fn parse_duration(text: &str) -> Option<i64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(at);
    let (scale, times) = match unit {
        "ns" => (NS, 1),
        "us" => (US, 1),
        "ms" => (MS, 1),
        "s" => (S, 1),
        "m" => (S, 60),
        "h" => (S, 3600),
        _ => return None,
    };
    if !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    decimal::to_ns(number, scale)?.checked_mul(times).filter(|ns| *ns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_exact() {
        assert_eq!(parse_duration("1.5s"), Some(1_500_000_000));
        assert_eq!(parse_duration("250us"), Some(250_000));
        assert_eq!(parse_duration("7ns"), Some(7));
        assert_eq!(parse_duration("1m"), Some(60 * SECOND));
        assert_eq!(parse_duration("24h"), Some(24 * HOUR));
        for bad in
            ["", "2", "s", "0s", "-1s", "+1s", "2 s", "2S", "2sec", "1e3s", "1.2.3s", "9999999999h", "½s"]
        {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn thresholds_are_read_and_written_alike() {
        for text in [
            "2s", "800ms", "1500ms", "90s", "3600s", "15us", "1ns", "p95", "p90", "p99.9", "p50.001",
            "p99.999",
        ] {
            assert_eq!(Slow::parse(text).map(|slow| slow.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Slow::parse("p95"), Some(Slow::Percentile(0.95)));
        assert_eq!(Slow::parse("p90.00").map(|slow| slow.to_string()).as_deref(), Some("p90"));
        for bad in [
            "p50", "p49.9", "p5", "p100", "p", "p95.", "p95.1234", "p-5", "p+9", "P95", "95", "61m", "2h",
            "pé1",
        ] {
            assert_eq!(Slow::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_threshold_comes_back(ns in 1..=HOUR, milli in 50_001_u32..100_000) {
            let over = Slow::Over(ns);
            prop_assert_eq!(Slow::parse(&over.to_string()), Some(over));
            let text = format!("p{}.{:03}", milli / 1000, milli % 1000);
            let percentile = Slow::parse(&text);
            prop_assert!(percentile.is_some());
            prop_assert_eq!(percentile.and_then(|p| Slow::parse(&p.to_string())), percentile);
        }

        #[test]
        fn any_text_is_taken_or_refused_without_panic(text in ".{0,20}") {
            let _ = Slow::parse(&text);
        }
    }
}
