//! Decimal numbers as written, to integer nanoseconds, without losing a digit to floating point.

/// Powers of ten between a unit and nanoseconds.
pub const S: u32 = 9;
/// Milliseconds.
pub const MS: u32 = 6;
/// Microseconds.
pub const US: u32 = 3;
/// Nanoseconds.
pub const NS: u32 = 0;

/// A decimal number in a unit of 10^`scale` ns, as nanoseconds; digits below 1 ns are rounded half away
/// from zero. Takes an optional sign, fraction and exponent. `None` for anything else, and when it does not fit.
///
/// ```
/// use probity::format::decimal::{MS, S, to_ns};
/// assert_eq!(to_ns("1796073393.454", S), Some(1_796_073_393_454_000_000));
/// assert_eq!(to_ns("65.003", MS), Some(65_003_000));
/// assert_eq!(to_ns("2.691000008780975e-05", S), Some(26_910));
/// assert_eq!(to_ns("NaN", S), None);
/// ```
#[must_use]
pub fn to_ns(text: &str, scale: u32) -> Option<i64> {
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text).as_bytes();
    let mut value: i128 = 0;
    let mut any = false;
    let mut power = i32::try_from(scale).ok()?;
    let mut fraction = false;
    let mut dropped = 0;
    let mut at = 0;
    while let Some(&byte) = digits.get(at) {
        match byte {
            b'0'..=b'9' => {
                any = true;
                if value < 1 << 100 {
                    value = value * 10 + i128::from(byte - b'0');
                    power -= i32::from(fraction);
                } else {
                    // Beyond 30 digits nothing changes the nanosecond; only the magnitude counts.
                    dropped += i32::from(!fraction);
                }
            }
            b'.' if !fraction => fraction = true,
            b'e' | b'E' if any => {
                let exponent = std::str::from_utf8(&digits[at + 1..]).ok()?;
                let exponent = exponent.strip_prefix('+').unwrap_or(exponent).parse::<i32>().ok()?;
                power = power.checked_add(exponent)?;
                at = digits.len();
                continue;
            }
            _ => return None,
        }
        at += 1;
    }
    if !any {
        return None;
    }
    power = power.checked_add(dropped)?;
    let value = if value == 0 {
        0
    } else if power >= 0 {
        value.checked_mul(10_i128.checked_pow(u32::try_from(power).ok()?)?)?
    } else {
        match 10_i128.checked_pow(power.unsigned_abs()) {
            Some(divisor) => (value + divisor / 2) / divisor,
            None => 0,
        }
    };
    i64::try_from(if negative { -value } else { value }).ok()
}

/// The step of a number as written, in ns: `0.774` s is known to 1 ms, a 15-digit double to 1 ns.
#[must_use]
pub fn step_ns(text: &str, scale: u32) -> i64 {
    if text.contains(['e', 'E']) {
        return 1;
    }
    let decimals = text.split_once('.').map_or(0, |(_, f)| f.len());
    let power = scale.saturating_sub(u32::try_from(decimals).unwrap_or(u32::MAX));
    10_i64.pow(power.min(18))
}

/// Seconds as a double, to nanoseconds; `None` when not finite or out of range.
#[must_use]
pub fn seconds(value: f64) -> Option<i64> {
    to_ns(&value.to_string(), S)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn written_digits_survive() {
        assert_eq!(to_ns("1796073393610422937", NS), Some(1_796_073_393_610_422_937));
        assert_eq!(to_ns("-0.001", S), Some(-1_000_000));
        assert_eq!(to_ns("1e3", MS), Some(1_000_000_000));
        assert_eq!(to_ns("0.0000000005", S), Some(1));
        assert_eq!(to_ns(&"9".repeat(40), NS), None);
        assert_eq!(to_ns("1e-400", S), Some(0));
        assert_eq!(to_ns("0e999999", S), Some(0));
        assert_eq!((to_ns("1e2147483647", S), to_ns("1.5e-2147483648", S)), (None, Some(0)));
        for bad in ["", "-", ".", "1.2.3", "1e", "inf", "0x1", " 1"] {
            assert_eq!(to_ns(bad, S), None, "{bad}");
        }
    }

    #[test]
    fn steps_follow_the_digits() {
        assert_eq!(step_ns("0.774", S), 1_000_000);
        assert_eq!(step_ns("774", MS), 1_000_000);
        assert_eq!(step_ns("0.3444347381591797", S), 1);
        assert_eq!(step_ns("2.69e-05", S), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused_without_panic(text in ".{0,60}", scale in 0_u32..10) {
            let _ = (to_ns(&text, scale), step_ns(&text, scale));
        }

        #[test]
        fn integers_of_nanoseconds_come_back(ns in any::<i64>()) {
            prop_assert_eq!(to_ns(&ns.to_string(), NS), Some(ns));
        }
    }
}
