//! Small documents, JSON or YAML, as one tree: reports and settings of load tools.
//!
//! Figures in them are over many requests and are kept as doubles; marks are never read from here.

use super::json;
use crate::finding::{Code, Place};
use crate::input::{Head, line_text};
use crate::row::Rows;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// A document as a tree; what is wrong with it is reported, and nothing given.
pub fn parse(bytes: &[u8], rows: &mut Rows) -> Option<Value> {
    let Some((text, gbk)) = line_text(bytes) else {
        rows.refuse(Code::TextInvalid, Place::FILE, "neither UTF-8 nor GBK");
        return None;
    };
    if gbk {
        rows.finding(Code::TextEncoding, Place::FILE, "GBK / GB 18030");
    }
    let text = text.trim_start_matches('\u{feff}');
    let (code, line, detail) = if text.trim_start().starts_with(['{', '[']) {
        match serde_json::from_str::<Tree>(text) {
            Ok(Tree(value)) => return Some(value),
            Err(error) if error.is_eof() => (Code::Truncated, error.line(), error.to_string()),
            Err(error) => {
                let (code, detail) = json::complaint(&error);
                (code, error.line(), detail)
            }
        }
    } else {
        match yaml(text) {
            Ok(value) => return Some(value),
            Err((line, detail)) => (Code::RecordShape, line, detail),
        }
    };
    rows.refuse(code, Place::line(i64::try_from(line).unwrap_or(0)), &detail);
    None
}

/// A YAML document as a tree, or the line of what is wrong and the words for it.
///
/// # Errors
/// When it is no YAML, holds a key twice, or goes beyond the limits on nesting, aliases and size.
pub fn yaml(text: &str) -> Result<Value, (usize, String)> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        // `concurrency: .inf` is a setting, no fault of the file.
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
    };
    serde_saphyr::from_str_with_options::<Tree>(text, options).map(|Tree(value)| value).map_err(|error| {
        let line = error.location().map_or(0, |at| usize::try_from(at.line()).unwrap_or(0));
        (line, format!("not YAML: {error}"))
    })
}

/// Whether a key stands at the top of a YAML document, or anywhere in a JSON document that begins with `{`.
pub fn top(head: &Head, key: &str) -> bool {
    if head.first_byte() == Some(b'{') {
        return head.contains(&format!("\"{key}\""));
    }
    let line = format!("{key}:");
    head.bytes.starts_with(line.as_bytes()) || head.contains(&format!("\n{line}"))
}

/// The scalars below a node as `path.to.key` and text, in the order of keys; null states nothing.
pub fn scalars(node: &Value, path: &str, give: &mut impl FnMut(&str, &str)) {
    let mut below = |key: &str, child| {
        scalars(child, &if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }, give);
    };
    match node {
        Value::Object(fields) => fields.iter().for_each(|(key, child)| below(key, child)),
        Value::Array(items) => {
            (0..).zip(items).for_each(|(n, child): (usize, _)| below(&n.to_string(), child));
        }
        Value::String(text) => give(path, text),
        Value::Number(number) => give(path, &number.to_string()),
        Value::Bool(flag) => give(path, if *flag { "true" } else { "false" }),
        Value::Null => {}
    }
}

/// A tree in which no key stands twice.
struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Nodes).map(Tree)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Tree(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let Tree(value) = map.next_value()?;
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
            }
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Table;

    fn refused(text: &str) -> Vec<String> {
        let mut rows = Rows::default();
        assert_eq!(parse(text.as_bytes(), &mut rows), None);
        crate::format::testing::Read::of(&mut rows).rows(Table::Finding, &["line", "code"])
    }

    #[test]
    fn json_and_yaml_give_one_tree() {
        let mut rows = Rows::default();
        let json = parse(br#"{"a": {"b": [1, 2.5, null, "x", true]}, "p": 1749570583.5714512}"#, &mut rows);
        let yaml = parse(b"a:\n  b: [1, 2.5, null, 'x', true] # note\np: 1749570583.5714512\n", &mut rows);
        assert_eq!(json, yaml);
        let mut seen = Vec::new();
        scalars(&yaml.unwrap(), "", &mut |key, value| seen.push(format!("{key}={value}")));
        assert_eq!(seen, ["a.b.0=1", "a.b.1=2.5", "a.b.3=x", "a.b.4=true", "p=1749570583.5714512"]);
        assert_eq!(parse(b"c: .inf\nq: '0.2'\n", &mut rows).unwrap()["q"], "0.2");
    }

    #[test]
    fn what_is_no_document_is_refused_at_its_line() {
        assert_eq!(refused("{\"a\": 1,\n\"a\": 2}"), ["2|duplicate-key"]);
        assert_eq!(refused("{\"a\":\n {\"b\": 1"), ["2|truncated"]);
        assert_eq!(refused("{\"a\": x}"), ["1|record-not-json"]);
        assert_eq!(refused("a: 1\nb: [1\n").len(), 1);
        assert_eq!(refused("a: 1\na: 2\n").len(), 1);
        assert!(parse(b"a: &a [x]\nb: [*a, *a]\n", &mut Rows::default()).is_some());
    }

    #[test]
    fn deep_and_multiplied_documents_end_in_a_finding() {
        assert_eq!(refused(&"[".repeat(100_000)).len(), 1);
        let mut bomb = vec!["a: &a [x,x,x,x,x,x,x,x,x,x]".to_owned()];
        for (name, from) in ('b'..='j').zip('a'..) {
            bomb.push(format!("{name}: &{name} [{}]", vec![format!("*{from}"); 10].join(",")));
        }
        assert_eq!(refused(&bomb.join("\n")).len(), 1);
    }
}
