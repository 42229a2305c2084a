//! The arithmetic of a finding as text: a template filled from the columns of a rule's query.

use crate::error::Result;
use crate::store::{Cell, Cells};

/// Fills `{column}`s in. A part in `[…]` is left out when a column in it is null.
pub fn fill(template: &str, c: Cells) -> Result<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('[') {
        let (part, tail) = after.split_once(']').unwrap_or((after, ""));
        out.push_str(&filled(before, c)?.unwrap_or_default());
        out.push_str(&filled(part, c)?.unwrap_or_default());
        rest = tail;
    }
    out.push_str(&filled(rest, c)?.unwrap_or_default());
    Ok(out)
}

/// A part with its columns; `None` when one of them is null.
fn filled(part: &str, c: Cells) -> Result<Option<String>> {
    let mut out = String::new();
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        match c.cell(name)? {
            Cell::Null => return Ok(None),
            Cell::Word(word) => out.push_str(word),
            Cell::Int(ns) if name.ends_with("_ns") => out.push_str(&duration(ns)),
            Cell::Int(int) => out.push_str(&int.to_string()),
            Cell::Real(real) => out.push_str(&number(real)),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(Some(out))
}

/// A number as people check it by hand: whole ones in full, others with four significant digits.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    if !value.is_finite() {
        return value.to_string();
    }
    #[expect(clippy::cast_possible_truncation, reason = "an exponent of ten")]
    let digits = 3 - value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", usize::try_from(digits).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A duration in the largest unit that it reaches.
#[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
fn duration(ns: i64) -> String {
    let (size, unit) = match ns.unsigned_abs() {
        0 => return "0 s".to_owned(),
        1..1_000 => (1.0, "ns"),
        1_000..1_000_000 => (1e3, "µs"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", number(ns as f64 / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_what_is_needed_to_check_them() {
        let shown: Vec<_> =
            [12.0, 5.8, 0.072_850, 21904.0, 106.547_6, 42.714_76, 12_345.6, -0.001_133_33, 9.9996]
                .map(number)
                .to_vec();
        assert_eq!(shown, ["12", "5.8", "0.07285", "21904", "106.5", "42.71", "12346", "-0.001133", "10"]);
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(
            [237_500_000_000, 27_440_000, 1_500, -7, 0].map(duration),
            ["237.5 s", "27.44 ms", "1.5 µs", "-7 ns", "0 s"]
        );
    }
}
