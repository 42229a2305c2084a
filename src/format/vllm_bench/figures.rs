//! The figures over all requests of a run, and the facts about it.

use super::Run;
use crate::finding::Code;
use crate::format::load_tool::cut;
use crate::format::serving::{self, Figures};
use crate::row::Rows;
use serde::Deserialize;

/// Settings the tool itself writes as numbers or null; a text there is `--metadata` of the same name.
const NUMBERS: [&str; 3] = ["burstiness", "max_concurrency", "num_prompts"];

/// Longest value of a fact, in characters.
const FACT_CHARS: usize = 200;

impl Run<'_> {
    /// The scalars of the run that are figures.
    pub fn figures(&self) -> Figures<'_> {
        let mut figures = Figures::default();
        for (key, value) in &self.fields {
            if let Some(number) = number(value.get()) {
                figures.by_key(key, number);
            }
        }
        figures
    }

    /// Adds every other scalar of the run as a fact.
    pub fn facts(&self, streamed: Option<bool>, rows: &mut Rows) {
        rows.run(self.place, "tool", self.tool.name);
        if let Some(streamed) = streamed {
            rows.run(self.place, "stream", if streamed { "true" } else { "false" });
        }
        for (key, value) in &self.fields {
            let is_figure = number(value.get()).is_some_and(|number| Figures::default().by_key(key, number));
            if !is_figure {
                self.fact(key, value.get(), rows);
            }
        }
    }

    /// A string, number or flag is a fact as found; null states nothing, lists and objects are no facts.
    fn fact(&self, key: &str, json: &str, rows: &mut Rows) {
        match json.as_bytes().first() {
            Some(b'"') => {
                let Ok(text) = serde_json::from_str::<String>(json) else { return };
                let text = cut(&text, FACT_CHARS);
                if NUMBERS.contains(&key) {
                    let detail =
                        format!("{key} is a text: --metadata took the place of the tool's own value");
                    rows.finding(Code::ValueImpossible, self.place, &detail);
                    rows.run(self.place, &format!("metadata.{key}"), text);
                } else {
                    rows.run(self.place, serving::fact_key(key), text);
                }
            }
            Some(b'{') if key == "server_info" => {
                if let Ok(server) = serde_json::from_str::<Server>(json) {
                    let model = server.served_model_name.or(server.model_path);
                    for (key, value) in [("server_version", server.version), ("model", model)] {
                        if let Some(value) = value {
                            rows.run(self.place, key, cut(&value, FACT_CHARS));
                        }
                    }
                }
            }
            Some(b'{' | b'[' | b'n') | None => {}
            Some(_) => rows.run(self.place, serving::fact_key(key), cut(json, FACT_CHARS)),
        }
    }
}

/// What `SGLang`'s server says of itself, as far as it is kept.
#[derive(Deserialize)]
struct Server {
    version: Option<String>,
    served_model_name: Option<String>,
    model_path: Option<String>,
}

fn number(json: &str) -> Option<f64> {
    json.parse().ok().filter(|value: &f64| value.is_finite())
}
