//! Scales from values to places, their round ticks, and durations as people write them.

use super::svg::{Anchor, LABEL, Svg, WIDTH, text_width};

/// A scale from a range of values to a range of places.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    log: bool,
    values: (f64, f64),
    places: (f64, f64),
}

impl Scale {
    /// Equal steps for equal differences. An empty range of values is widened.
    #[must_use]
    pub fn linear(values: (f64, f64), places: (f64, f64)) -> Scale {
        let (low, high) = ordered(values);
        let high = if high > low { high } else { low + 1.0 };
        Scale { log: false, values: (low, high), places }
    }

    /// Equal steps for equal ratios. Values start above zero: what is not is moved to the low end.
    #[must_use]
    pub fn log(values: (f64, f64), places: (f64, f64)) -> Scale {
        let (low, high) = ordered(values);
        let low = if low > 0.0 { low } else { 1.0 };
        let high = if high > low { high } else { low * 10.0 };
        Scale { log: true, values: (low, high), places }
    }

    /// The place of a value; values outside the range are put at its ends.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let value = if value.is_nan() { low } else { value.clamp(low, high) };
        let share =
            if self.log { (value / low).ln() / (high / low).ln() } else { (value - low) / (high - low) };
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    /// Round values inside the range, at most `most` (at least 2) of them.
    #[must_use]
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let most = most.max(2);
        if self.log { self.log_ticks(most) } else { self.linear_ticks(most) }
    }

    fn linear_ticks(&self, most: usize) -> Vec<f64> {
        let (low, high) = self.values;
        let mut step = power(((high - low) / 1e3).log10().floor());
        for factor in [2.0, 2.5, 2.0].into_iter().cycle() {
            let ticks = multiples(low, high, step, most);
            if let Some(ticks) = ticks {
                return ticks;
            }
            step *= factor;
            if !step.is_finite() {
                break;
            }
        }
        vec![low, high]
    }

    fn log_ticks(&self, most: usize) -> Vec<f64> {
        let (low, high) = self.values;
        let (first, last) = (low.log10().floor(), high.log10().ceil());
        for digits in [&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0][..], &[1.0, 2.0, 5.0], &[1.0]] {
            let mut ticks = Vec::new();
            let mut decade = first;
            while decade <= last && ticks.len() <= most {
                ticks.extend(digits.iter().map(|d| d * power(decade)).filter(|t| *t >= low && *t <= high));
                decade += 1.0;
            }
            if (2..=most).contains(&ticks.len()) {
                return ticks;
            }
        }
        vec![low, high]
    }
}

fn ordered((a, b): (f64, f64)) -> (f64, f64) {
    let finite = |v: f64| if v.is_finite() { v } else { 0.0 };
    let (a, b) = (finite(a), finite(b));
    if a <= b { (a, b) } else { (b, a) }
}

/// A power of ten, exact where a double can hold it.
fn power(exponent: f64) -> f64 {
    format!("1e{exponent:.0}").parse().unwrap_or(1.0)
}

/// Multiples of `step` inside a range; `None` when there are more than `most`.
fn multiples(low: f64, high: f64, step: f64, most: usize) -> Option<Vec<f64>> {
    let mut ticks = Vec::new();
    let mut k = (low / step).ceil();
    // A range end that is a multiple but for rounding counts as one.
    while k * step <= high + step * 1e-9 {
        if ticks.len() == most {
            return None;
        }
        // Adding zero turns a negative zero into zero.
        ticks.push(k * step + 0.0);
        k += 1.0;
    }
    Some(ticks)
}

/// Labels durations in ns along a scale, leaving out those that would touch the one before.
pub(super) fn labels(svg: &mut Svg, scale: &Scale, most: usize, y: f64) {
    let mut free = f64::NEG_INFINITY;
    for tick in scale.ticks(most) {
        let text = duration(whole(tick));
        let half = text_width(&text, LABEL) / 2.0;
        let x = scale.at(tick).min(WIDTH - half);
        if x - half > free {
            svg.text(x, y, Anchor::Middle, &text);
            free = x + half + 4.0;
        }
    }
}

#[allow(clippy::cast_possible_truncation)]
fn whole(value: f64) -> i64 {
    value.round() as i64
}

/// A duration as people write it: three digits and a unit (`1.25 s`, `345 ms`), `0` for none.
#[must_use]
pub fn duration(ns: i64) -> String {
    const UNITS: [(&str, i128); 4] = [("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let sign = if ns < 0 { "−" } else { "" };
    let size = i128::from(ns).abs();
    if size == 0 {
        return "0".to_owned();
    }
    let mut text = String::new();
    for (unit, one) in UNITS {
        let decimals = if size < 10 * one { 2 } else { usize::from(size < 100 * one) };
        let scale = [1, 10, 100][decimals];
        let rounded = (size * scale + one / 2) / one;
        let (whole, rest) = (rounded / scale, rounded % scale);
        text = if decimals == 0 { whole.to_string() } else { format!("{whole}.{rest:0decimals$}") };
        if decimals > 0 {
            text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
        }
        text.insert_str(0, sign);
        text.push(' ');
        text.push_str(unit);
        if whole < 1_000 {
            break;
        }
    }
    text
}

/// A share as a percentage with one decimal.
#[must_use]
pub fn percent(share: f64) -> String {
    let text = format!("{:.1} %", share * 100.0);
    if text == "-0.0 %" { "0.0 %".to_owned() } else { text.replace('-', "−") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well_at_every_size() {
        for (ns, text) in [
            (0, "0"),
            (7, "7 ns"),
            (1_500, "1.5 µs"),
            (345_460_892, "345 ms"),
            (999_400_000, "999 ms"),
            (999_600_000, "1 s"),
            (1_250_000_000, "1.25 s"),
            (16_284_148_566, "16.3 s"),
            (9_999_000_000, "10 s"),
            (1_234_000_000_000, "1234 s"),
            (-2_000_000, "−2 ms"),
            (i64::MIN, "−9223372037 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
        assert_eq!(
            (percent(0.1234), percent(-0.5), percent(-0.0001)),
            ("12.3 %".into(), "−50.0 %".into(), "0.0 %".into())
        );
    }

    #[test]
    fn linear_ticks_are_round_and_inside() {
        assert_eq!(Scale::linear((0.0, 1.0), (0.0, 1.0)).ticks(6), [0.0, 0.2, 0.4, 3.0 * 0.2, 0.8, 1.0]);
        assert_eq!(Scale::linear((0.0, 4.7e9), (0.0, 1.0)).ticks(6), [0.0, 1e9, 2e9, 3e9, 4e9]);
        assert_eq!(Scale::linear((-0.3, 1.2), (0.0, 1.0)).ticks(5), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn log_ticks_are_decades_or_their_round_parts() {
        let ticks = |low, high, most| Scale::log((low, high), (0.0, 1.0)).ticks(most);
        assert_eq!(ticks(1e6, 1e9, 8), [1e6, 1e7, 1e8, 1e9]);
        assert_eq!(ticks(1.5e8, 2.2e9, 8), [2e8, 5e8, 1e9, 2e9]);
        assert_eq!(ticks(1.0, 1e15, 8), [1.0, 1e15]);
        assert_eq!(ticks(3.1e8, 3.2e8, 8), [3.1e8, 3.2e8]);
    }

    #[test]
    fn places_are_inside_whatever_the_value() {
        for scale in [
            Scale::linear((0.0, 10.0), (100.0, 200.0)),
            Scale::log((1.0, 100.0), (100.0, 200.0)),
            Scale::linear((5.0, 5.0), (100.0, 200.0)),
            Scale::log((0.0, 0.0), (100.0, 200.0)),
            Scale::log((f64::NAN, f64::INFINITY), (100.0, 200.0)),
        ] {
            for value in [-1.0, 0.0, 5.0, 1e300, f64::NAN, f64::INFINITY] {
                let place = scale.at(value);
                assert!((100.0..=200.0).contains(&place), "{scale:?} {value} {place}");
            }
            assert!(scale.ticks(6).len() >= 2 && scale.ticks(6).len() <= 6);
        }
        assert!((Scale::log((1.0, 100.0), (0.0, 1.0)).at(10.0) - 0.5).abs() < 1e-12);
    }
}
