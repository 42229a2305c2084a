//! What a file is that no format recognises, so that a person sees why: its shape, never its values.

use super::mapping::table;
use crate::input::Head;
use crate::settings::value::{quoted, short};

/// Most names that are shown.
const NAMES: usize = 12;

/// One line on the beginning of a file.
#[must_use]
pub fn describe(head: &Head) -> String {
    match head.bytes.as_slice() {
        [b'P', b'K', 3, 4, ..] => {
            return "a workbook: write a mapping with --sketch-map and load it with --map".to_owned();
        }
        bytes if bytes.iter().take(4096).any(|b| *b == 0) => return "binary content".to_owned(),
        _ => {}
    }
    if let Some(table) = table(head) {
        let names = quoted(
            table
                .names
                .iter()
                .take(NAMES)
                .map(|name| short(name))
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str),
        );
        let sign = match table.delimiter {
            b'\t' => "tab".to_owned(),
            sign => format!("{:?}", char::from(sign)),
        };
        return format!(
            "a table of {} columns cut by {sign}: {names}; no format has this header: write a mapping with --sketch-map \
             and load it with --map",
            table.names.len()
        );
    }
    if let Some(b'{' | b'[') = head.first_byte() {
        let keys = keys(head);
        return if keys.is_empty() {
            "JSON without keys".to_owned()
        } else {
            format!(
                "JSON with keys {}; no format is decided by these: if its records are rows of a table, write a \
                     mapping with --sketch-map",
                keys.join(", ")
            )
        };
    }
    let lines = head.lines().count();
    if lines == 0 {
        return "binary content".to_owned();
    }
    let words = head.lines().map(|line| line.split_whitespace().count()).sum::<usize>() / lines;
    format!(
        "text of {lines} lines, about {words} words each: neither log lines of a known tool, nor records, nor a table"
    )
}

/// The first keys of JSON text, each once, outermost or not.
fn keys(head: &Head) -> Vec<String> {
    let text = head.lines().collect::<Vec<_>>().join("\n");
    let quoted: Vec<&str> = text.split('"').collect();
    let mut keys: Vec<String> = Vec::new();
    for pair in quoted.windows(2) {
        let [key, after] = pair else { continue };
        let named = !key.is_empty() && key.len() < 40 && !key.contains(['\n', ':', ',', '{', '}']);
        if named && after.trim_start().starts_with(':') && !keys.iter().any(|k| k == key) {
            keys.push((*key).to_owned());
        }
        if keys.len() == NAMES {
            break;
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe_text(text: &str) -> String {
        describe(&Head::of("", text.as_bytes()))
    }

    #[test]
    fn shapes_are_named_and_values_are_not() {
        let table = describe_text("id;ttft\n1;0,5\n2;0,7\n");
        assert!(table.starts_with("a table of 2 columns cut by ';': \"id\", \"ttft\"; "), "{table}");
        let json = describe_text("{\"a\": \"secret\", \"b\": {\"c\": 1}}\n");
        assert!(json.starts_with("JSON with keys a, b, c; "), "{json}");
        let prose = describe_text("Dear all,\n\nthe page stays blank for a minute.\n");
        assert!(prose.starts_with("text of 2 lines, about 4 words each: "), "{prose}");
        assert_eq!(describe_text("[1, 2]"), "JSON without keys");
        assert_eq!(describe(&Head::of("", &[1, 0, 2])), "binary content");
    }
}
