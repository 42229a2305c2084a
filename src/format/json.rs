//! Reading JSON records: typed fields, numbers as written, and clear words when a record is not what it should be.

use crate::finding::Code;
use crate::format::decimal;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A number, a number in a string, or a word such as "-": kept as written.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Raw<'a>(#[serde(borrow)] pub Option<&'a RawValue>);

impl<'a> Raw<'a> {
    /// The text without quotes; `None` for null, an absent field, and "" or "-".
    #[must_use]
    pub fn text(&self) -> Option<&'a str> {
        let text = self.0?.get();
        let text = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
        (!matches!(text, "null" | "" | "-")).then_some(text)
    }

    /// The number in a unit of 10^`scale` ns, as nanoseconds.
    #[must_use]
    pub fn ns(&self, scale: u32) -> Option<i64> {
        decimal::to_ns(self.text()?, scale)
    }

    /// The step of the number as written.
    #[must_use]
    pub fn step_ns(&self, scale: u32) -> i64 {
        self.text().map_or(1, |text| decimal::step_ns(text, scale))
    }

    /// The integer.
    #[must_use]
    pub fn int(&self) -> Option<i64> {
        self.text()?.parse().ok()
    }
}

/// A string, borrowed unless it holds escapes. (Serde borrows a `Cow` only where it stands alone.)
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

impl std::ops::Deref for Borrowed<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A string field.
pub type Text<'a> = Option<Borrowed<'a>>;

/// The text of a field, `None` when absent, "" or "-".
#[must_use]
pub fn word<'a>(text: &'a Text<'_>) -> Option<&'a str> {
    text.as_deref().filter(|t| !matches!(*t, "" | "-"))
}

/// One JSON object as a typed record, or what is wrong with it: a code, and the words for a person.
///
/// Arrays are refused although serde could fill a record from one by position.
///
/// # Errors
/// The finding's code and detail.
pub fn record<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, (Code, String)> {
    if text.trim_start().starts_with('[') {
        return Err((Code::RecordShape, "an array where an object is expected".to_owned()));
    }
    serde_json::from_str(text).map_err(|error| complaint(&error))
}

/// What is wrong with a record that did not parse: its code, and the words for a person.
#[must_use]
pub fn complaint(error: &serde_json::Error) -> (Code, String) {
    let text = error.to_string();
    let code = if text.starts_with("duplicate field") {
        Code::DuplicateKey
    } else if error.is_data() {
        Code::RecordShape
    } else {
        Code::RecordNotJson
    };
    (code, text)
}

/// An object with every value as written; the same key twice is an error.
#[derive(Debug, Default)]
pub struct Fields<'a>(pub BTreeMap<String, &'a RawValue>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if fields.contains_key(&key) {
                        return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
                    }
                    fields.insert(key, value);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Record<'a> {
        #[serde(borrow, default)]
        a: Raw<'a>,
    }

    fn a(json: &str) -> Option<i64> {
        serde_json::from_str::<Record>(json).unwrap().a.ns(decimal::S)
    }

    #[test]
    fn absent_null_dash_and_empty_are_not_zero() {
        for json in ["{}", r#"{"a":null}"#, r#"{"a":"-"}"#, r#"{"a":""}"#, r#"{"a":"x"}"#] {
            assert_eq!(a(json), None, "{json}");
        }
        assert_eq!(a(r#"{"a":"0.000"}"#), Some(0));
        assert_eq!(a(r#"{"a":1.5}"#), Some(1_500_000_000));
    }

    #[test]
    fn complaints_tell_shape_from_syntax() {
        let code = |json| record::<Record>(json).err().unwrap().0;
        assert_eq!(code("{"), Code::RecordNotJson);
        assert_eq!(code("[1]"), Code::RecordShape);
        assert_eq!(code(r#"{"a":1,"a":2}"#), Code::DuplicateKey);
    }
}
