//! Single values of the plan: each reader gives the value, or `None` when it cannot be used.

use std::path::PathBuf;
use toml::de::DeValue;

/// What [`line()`] takes, for messages.
pub const LINE: &str = "a line of text, 1 to 200 characters";

/// A line of text that can be printed anywhere.
pub fn line(value: &DeValue) -> Option<String> {
    let text = value.as_str()?;
    let fits = !text.trim().is_empty() && text.chars().count() <= 200 && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

/// A whole number between two limits, both allowed.
pub fn int(value: &DeValue, low: i64, high: i64) -> Option<i64> {
    let digits = value.as_integer()?;
    i64::from_str_radix(digits.as_str(), digits.radix()).ok().filter(|n| (low..=high).contains(n))
}

/// The id of a candidate: it names folders on every system, so nothing else is allowed.
pub fn id(value: &DeValue) -> Option<String> {
    value.as_str().filter(|text| is_id(text)).map(str::to_owned)
}

/// Whether a text can be the id of a candidate.
pub fn is_id(text: &str) -> bool {
    is_word(text, |c| c.is_ascii_lowercase() || c.is_ascii_digit(), ".-_")
}

/// The id of a format.
pub fn format_id(value: &DeValue) -> Option<String> {
    word(value, |c| c.is_ascii_lowercase() || c.is_ascii_digit(), "_")
}

/// The name of a clock domain.
pub fn clock(value: &DeValue) -> Option<String> {
    word(value, char::is_alphanumeric, ".-_")
}

/// A path as written.
pub fn path(value: &DeValue) -> Option<PathBuf> {
    let text = value.as_str()?;
    let fits = !text.trim().is_empty() && text.len() <= 4096 && !text.chars().any(char::is_control);
    fits.then(|| PathBuf::from(text))
}

/// 1 to 64 characters, the first a letter as `letter` says, the others letters or marks.
fn word(value: &DeValue, letter: impl Fn(char) -> bool, marks: &str) -> Option<String> {
    value.as_str().filter(|text| is_word(text, letter, marks)).map(str::to_owned)
}

fn is_word(text: &str, letter: impl Fn(char) -> bool, marks: &str) -> bool {
    text.starts_with(&letter)
        && text.chars().count() <= 64
        && text.chars().all(|c| letter(c) || marks.contains(c))
}

/// Names for a message: `"a", "b", "c"`.
pub fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// A value as found, for a message: text quoted and shortened, lists and tables by their kind.
pub fn shown(value: &DeValue) -> String {
    match value {
        DeValue::String(text) => format!("{:?}", short(text)),
        DeValue::Integer(number) => short(&number.to_string()),
        DeValue::Float(number) => short(number.as_str()),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(_) => "[…]".to_owned(),
        DeValue::Table(_) => "{…}".to_owned(),
    }
}

/// At most 40 characters of a text.
pub fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(text: &str, read: impl Fn(&DeValue) -> T) -> T {
        read(DeValue::parse(text).unwrap().get_ref())
    }

    #[test]
    fn ids_are_safe_folder_names() {
        assert_eq!(with(r#""vllm-0.32_a""#, id).as_deref(), Some("vllm-0.32_a"));
        for bad in
            [r#""""#, r#"".""#, r#""..""#, r#""-a""#, r#""A""#, r#""a/b""#, r#""a b""#, r#""平台""#, "1"]
        {
            assert_eq!(with(bad, id), None, "{bad}");
        }
        assert!(with(&format!("\"{}\"", "a".repeat(64)), id).is_some());
        assert!(with(&format!("\"{}\"", "a".repeat(65)), id).is_none());
        assert_eq!(with(r#""压测机-1""#, clock).as_deref(), Some("压测机-1"));
        assert_eq!(with(r#""epoch:x""#, clock), None);
    }

    #[test]
    fn integers_take_every_notation_of_toml_and_no_other_type() {
        let small = |text| with(text, |v| int(v, 1, 9000));
        assert_eq!(small("8_192"), Some(8192));
        assert_eq!(small("0x80"), Some(128));
        assert_eq!(small("0b1000_0000"), Some(128));
        for bad in ["0", "-1", "9001", "99999999999999999999", "1.0", "\"1\"", "true", "nan"] {
            assert_eq!(small(bad), None, "{bad}");
        }
    }

    #[test]
    fn lines_and_paths_hold_no_control_characters() {
        assert_eq!(with(r#""网关 A""#, line).as_deref(), Some("网关 A"));
        assert_eq!(with(r#""a\u001b[2J""#, line), None);
        assert_eq!(with(r#""  ""#, line), None);
        assert_eq!(with(r#""a\u0000b""#, path), None);
        assert_eq!(with("'raw/a b.jsonl'", path), Some(PathBuf::from("raw/a b.jsonl")));
    }

    #[test]
    fn found_values_are_short() {
        let long = format!("\"{}\"", "é".repeat(100));
        assert_eq!(with(&long, shown), format!("\"{}…\"", "é".repeat(40)));
        assert_eq!(with("\"a\\nb\"", shown), r#""a\nb""#);
        assert_eq!(with("0x1F", shown), "0x1F");
        assert_eq!(with("[1]", shown), "[…]");
        assert_eq!(with("2026-07-01", shown), "2026-07-01");
    }
}
