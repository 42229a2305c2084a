//! The words of reports and messages in both languages, from `reports/words/`.

use std::collections::BTreeMap;
use toml::{Table, Value};

/// A language that people read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Simplified Chinese.
    Zh,
}

impl Lang {
    /// The language of `en`, `zh` or `zh-CN`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Lang> {
        match name {
            "en" => Some(Lang::En),
            "zh" | "zh-CN" => Some(Lang::Zh),
            _ => None,
        }
    }

    /// The language tag, as in HTML's `lang`.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Lang::En => "en",
            Lang::Zh => "zh-CN",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Lang::En => include_str!("../../reports/words/en.toml"),
            Lang::Zh => include_str!("../../reports/words/zh-CN.toml"),
        }
    }
}

/// The words of one language by dotted key: `code.file-empty.title`, `stage.queue`, `definition.nginx.request`.
#[derive(Debug)]
pub struct Words(BTreeMap<String, String>);

impl Words {
    /// The words of a language.
    #[must_use]
    pub fn new(lang: Lang) -> Words {
        let mut words = BTreeMap::new();
        flatten("", toml::from_str(lang.file()).unwrap_or_default(), &mut words);
        Words(words)
    }

    /// The words at a key; the key itself where there are none, which is a bug that readers can report.
    #[must_use]
    pub fn get<'a>(&'a self, key: &'a str) -> &'a str {
        self.0.get(key).map_or(key, String::as_str)
    }

    /// The words at a key with its `{names}` filled in, each once and none inside what was filled in.
    #[must_use]
    pub fn fill(&self, key: &str, values: &[(&str, &str)]) -> String {
        let mut out = String::new();
        let mut rest = self.get(key);
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let filled = after.split_once('}').and_then(|(name, tail)| {
                let (_, value) = values.iter().find(|(known, _)| *known == name)?;
                Some((value, tail))
            });
            if let Some((value, tail)) = filled {
                out.push_str(value);
                rest = tail;
            } else {
                out.push('{');
                rest = after;
            }
        }
        out + rest
    }

    /// The words of one section by their name in it, for templates.
    #[must_use]
    pub fn section(&self, name: &str) -> BTreeMap<&str, &str> {
        let inside = |key: &'_ str| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let words = self.0.iter().filter(|(key, _)| inside(key));
        words.filter_map(|(key, words)| Some((key.get(name.len() + 1..)?, words.as_str()))).collect()
    }
}

fn flatten(path: &str, table: Table, words: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let key = if path.is_empty() { key } else { format!("{path}.{key}") };
        match value {
            Value::Table(inner) => flatten(&key, inner, words),
            Value::String(text) => {
                words.insert(key, text);
            }
            // Words are text; the tests find a key that holds anything else.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::{Reason, Word};
    use crate::finding::{Code, Severity};
    use crate::row::{DEFINITIONS, Hop, Outcome};
    use crate::trial::Dimension;
    use std::collections::BTreeSet;

    /// Every key that the program asks for.
    fn wanted() -> BTreeSet<String> {
        let stages = [
            "client_wait",
            "ingress",
            "queue",
            "schedule",
            "ready",
            "model_load",
            "prefill",
            "transport",
            "unattributed",
            "engine_rest",
        ];
        let known = ["measured", "derived", "bounded", "missing"];
        let severities = [Severity::Info, Severity::Warning, Severity::Error].map(Severity::as_str);
        let outcomes = [Outcome::Ok, Outcome::Error, Outcome::Rejected, Outcome::Cancelled, Outcome::Unknown]
            .map(Outcome::as_str);
        let words = [Word::Supported, Word::Suggestive, Word::InsufficientEvidence, Word::NothingSlow]
            .map(Word::as_str);
        let reasons = [
            Reason::InvalidEvidence,
            Reason::NoClient,
            Reason::NoFirstToken,
            Reason::NoEngine,
            Reason::EngineNotJoined,
            Reason::TooFewSlow,
            Reason::Overlap,
            Reason::EngineRest,
        ]
        .map(Reason::as_str);
        let sections: [(&str, &[&str]); 16] = [
            ("stage", &stages),
            ("stage_help", &stages),
            ("known", &known),
            ("known_help", &known),
            ("severity", &severities),
            ("outcome", &outcomes),
            ("hop", &Hop::ALL.map(Hop::as_str)),
            ("dimension", &Dimension::ALL.map(Dimension::as_str)),
            ("verdict", &words),
            ("verdict", &["failed", "no-interval"]),
            ("reason", &reasons),
            ("baseline", &["matched", "pooled", "none"]),
            ("ui", &HEADINGS),
            ("use", &crate::format::USES),
            ("clock", &["undated", "epoch", "local", "monotonic"]),
            ("badge", &words),
        ];
        let codes = Code::ALL
            .iter()
            .flat_map(|code| ["title", "cause", "remedy"].map(|part| format!("code.{}.{part}", code.id())));
        let definitions = DEFINITIONS.iter().map(|definition| format!("definition.{}", definition.id));
        let sections =
            sections.iter().flat_map(|(section, ids)| ids.iter().map(move |id| format!("{section}.{id}")));
        codes
            .chain(definitions)
            .chain(sections)
            .chain(asked("src", "\"(ui\\.[a-z-]+)\""))
            .chain(asked("src/report", "\"(report\\.[a-z0-9_]+)\""))
            .chain(asked("reports", "\\bw\\.([a-z0-9_]+)").into_iter().map(|key| format!("report.{key}")))
            .collect()
    }

    /// Words of the command line that tables ask for by column, without a key in the source.
    const HEADINGS: [&str; 14] = [
        "already",
        "bytes",
        "candidate",
        "file",
        "format",
        "hop",
        "loaded",
        "outcome",
        "read",
        "refused",
        "skipped",
        "skipped",
        "source",
        "title",
    ];

    /// What a pattern finds in the files of a folder of this crate.
    fn asked(folder: &str, pattern: &str) -> BTreeSet<String> {
        let pattern = regex::Regex::new(pattern).unwrap();
        let files = walkdir::WalkDir::new(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
        let texts = files.into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file());
        texts
            .flat_map(|entry| {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                pattern.captures_iter(&text).map(|found| found[1].to_owned()).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn both_languages_fill_in_the_same_values() {
        let pattern = regex::Regex::new(r"\{[a-z_]+\}").unwrap();
        let (en, zh) = (Words::new(Lang::En), Words::new(Lang::Zh));
        for (key, words) in &en.0 {
            let names =
                |text: &str| pattern.find_iter(text).map(|m| m.as_str().to_owned()).collect::<BTreeSet<_>>();
            assert_eq!(names(words), names(zh.get(key)), "{key}");
        }
    }

    #[test]
    fn values_are_filled_in_once() {
        let words = Words(BTreeMap::from([("k".to_owned(), "{a} of {b}, {c} {".to_owned())]));
        assert_eq!(words.fill("k", &[("a", "{b}"), ("b", "2")]), "{b} of 2, {c} {");
        assert_eq!(words.section("k").len(), 0);
        assert_eq!(Words::new(Lang::En).section("baseline").len(), 3);
    }

    #[test]
    fn both_languages_have_words_for_everything_and_none_left_over() {
        let keys = |lang| Words::new(lang).0.into_keys().collect::<BTreeSet<_>>();
        let (en, zh, wanted) = (keys(Lang::En), keys(Lang::Zh), wanted());
        assert_eq!(
            en.symmetric_difference(&zh).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "in one language only"
        );
        assert_eq!(wanted.difference(&en).collect::<Vec<_>>(), Vec::<&String>::new(), "without words");
        let section = |key: &str| key.split('.').next().map(str::to_owned);
        let sections: BTreeSet<_> = wanted.iter().map(|key| section(key)).collect();
        let left_over = en.difference(&wanted).filter(|key| sections.contains(&section(key)));
        assert_eq!(left_over.collect::<Vec<_>>(), Vec::<&String>::new(), "words for nothing");
    }

    #[test]
    fn words_are_one_line_in_their_language() {
        let han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
        for (key, words) in &Words::new(Lang::En).0 {
            assert!(!words.is_empty() && words.trim() == words && !words.contains(['\n', '\r']), "{key}");
            assert!(!words.contains(han), "{key}: {words}");
        }
        for (key, words) in &Words::new(Lang::Zh).0 {
            assert!(!words.is_empty() && words.trim() == words && !words.contains(['\n', '\r']), "{key}");
            assert!(words.contains(han) || key == "stage.prefill", "{key}: {words}");
        }
    }

    #[test]
    fn definitions_say_in_english_what_the_code_says() {
        let words = Words::new(Lang::En);
        for definition in DEFINITIONS {
            let key = format!("definition.{}", definition.id);
            assert_eq!(words.get(&key), format!("{} → {}", definition.from, definition.to), "{key}");
        }
    }

    #[test]
    fn a_missing_key_shows_itself() {
        let words = Words::new(Lang::Zh);
        assert_eq!(words.get("stage.queue"), "排队");
        assert_eq!(words.get("stage.lunch"), "stage.lunch");
        assert_eq!(Lang::parse("zh").map(Lang::tag), Some("zh-CN"));
        assert_eq!(Lang::parse("zh-CN"), Some(Lang::Zh));
        assert_eq!(Lang::parse("en"), Some(Lang::En));
        assert_eq!(Lang::parse("de"), None);
    }
}
