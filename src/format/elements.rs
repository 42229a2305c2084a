//! JSON arrays read element by element, so that memory does not grow with their length.

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

/// Hands every element of `array` to `read`.
///
/// # Errors
/// When it is not an array or an element is not a `T`; the elements before that one were read.
pub fn each<'a, T: Deserialize<'a>>(array: &'a RawValue, read: impl FnMut(T)) -> serde_json::Result<()> {
    serde_json::Deserializer::from_str(array.get()).deserialize_seq(Elements::new(read))
}

/// Hands every object of a document to `read`: of one array, or objects one after another.
///
/// # Errors
/// What ended it early; the objects before were read.
pub fn objects<'a>(text: &'a str, mut read: impl FnMut(&'a RawValue)) -> serde_json::Result<()> {
    let mut values = serde_json::Deserializer::from_str(text);
    if text.trim_ascii_start().starts_with('[') {
        values.deserialize_seq(Elements::new(read))?;
        return values.end();
    }
    for value in values.into_iter::<&RawValue>() {
        read(value?);
    }
    Ok(())
}

/// A visitor of a sequence that hands every element on.
pub struct Elements<T, F>(F, PhantomData<T>);

impl<T, F: FnMut(T)> Elements<T, F> {
    /// Hands every element to `read`.
    pub fn new(read: F) -> Self {
        Elements(read, PhantomData)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Elements<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element()? {
            (self.0)(element);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_stand_in_an_array_or_one_after_another() {
        for text in
            [r#"[{"a":1},{"a":2}]"#, "{\"a\":1}\n{\"a\":2}\n", r#" [{"a":1},{"a":2},{"#, r#"{"a":1}{"a":2}{"#]
        {
            let mut seen = 0;
            assert_eq!(objects(text, |_| seen += 1).is_ok(), !text.ends_with('{'), "{text}");
            assert_eq!(seen, 2, "{text}");
        }
    }

    #[test]
    fn elements_before_a_wrong_one_are_read() {
        let array = RawValue::from_string(r#"[1, 2, "x", 4]"#.to_owned()).unwrap();
        let mut seen = Vec::new();
        assert!(each(&array, |n: i64| seen.push(n)).is_err());
        assert_eq!(seen, [1, 2]);
        let object = RawValue::from_string("{}".to_owned()).unwrap();
        assert!(each(&object, |_: i64| ()).is_err());
    }
}
