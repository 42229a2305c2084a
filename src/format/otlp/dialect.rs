//! Attributes of spans that are used, and what each tool means by them: one name, several meanings.
//!
//! `gen_ai.latency.*` began in vLLM. `SGLang` writes the same names for other stretches, RTP-LLM in other units. Whose
//! they are is decided by the instrumentation scope, the service or the span's name; else they have no definition.

use super::{Attributed, Value};
use crate::format::decimal::{MS, NS, S};
use std::borrow::Cow;

/// The last part of `gen_ai.latency.*`, in the order of every [`Dialect::meaning`].
const LATENCIES: [&str; 6] = [
    "time_to_first_token",
    "time_in_queue",
    "time_in_model_prefill",
    "time_in_model_decode",
    "time_in_model_inference",
    "e2e",
];

/// What one tool means by `gen_ai.latency.*`.
#[derive(Debug)]
pub struct Dialect {
    /// Beginnings of the names of its instrumentation scopes.
    scopes: &'static [&'static str],
    /// Beginnings of its usual service names.
    services: &'static [&'static str],
    /// Names of its spans.
    spans: &'static [&'static str],
    /// For each of [`LATENCIES`]: its definition and its unit, where the tool writes it.
    meaning: [Option<(&'static str, u32)>; 6],
}

/// Every tool whose meaning is known.
static DIALECTS: [Dialect; 3] = [
    Dialect {
        scopes: &["vllm"],
        services: &[],
        spans: &["llm_request"],
        meaning: [
            Some(("vllm.ttft", S)),
            Some(("vllm.queue", S)),
            Some(("vllm.prefill", S)),
            Some(("vllm.decode", S)),
            Some(("vllm.inference", S)),
            Some(("vllm.e2e", S)),
        ],
    },
    // Its "prefill" and "inference" begin when the request left the API server: the queue is inside.
    Dialect {
        scopes: &["sglang"],
        services: &[],
        spans: &[],
        meaning: [
            Some(("sglang-span.ttft", S)),
            None,
            Some(("sglang-span.dispatched_ttft", S)),
            Some(("sglang-span.decode", S)),
            Some(("sglang-span.dispatched_e2e", S)),
            Some(("sglang-span.e2e", S)),
        ],
    },
    Dialect {
        scopes: &["rtp_llm", "rtp-llm"],
        services: &["rtp_llm", "rtp-llm"],
        spans: &[],
        meaning: [
            Some(("rtp-llm.ttft", MS)),
            None,
            Some(("rtp-llm.prefill", NS)),
            Some(("rtp-llm.decode", NS)),
            None,
            None,
        ],
    },
];

impl Dialect {
    /// Whose span this is.
    pub fn of(scope: &str, service: &str, span: &str) -> Option<&'static Dialect> {
        let begins = |starts: &[&str], name: &str| starts.iter().any(|start| name.starts_with(start));
        DIALECTS
            .iter()
            .find(|d| begins(d.scopes, scope) || begins(d.services, service) || d.spans.contains(&span))
    }
}

/// A number as found: its unit is known only once the writer is.
#[derive(Clone, Copy, Debug)]
struct Latency {
    /// Taken as seconds, in ns.
    seconds: Option<i64>,
    whole: Option<i64>,
}

impl Latency {
    fn ns(self, scale: u32) -> Option<i64> {
        match scale {
            S => self.seconds,
            MS => self.seconds.map(|ns| ns / 1_000),
            _ => self.whole.or_else(|| self.seconds.map(|ns| ns / 1_000_000_000)),
        }
    }
}

/// The attributes of a span that are used, under their names of today and of before.
#[derive(Debug, Default)]
pub struct Attributes<'a> {
    latencies: [Option<Latency>; 6],
    /// First chunk, or first token, of the response as a caller saw it, from its span's start.
    pub first_chunk: Option<i64>,
    pub first_token: Option<i64>,
    pub id: Option<Cow<'a, str>>,
    pub response_id: Option<Cow<'a, str>>,
    pub model: Option<Cow<'a, str>>,
    pub operation: Option<Cow<'a, str>>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub cached_tokens: Option<i64>,
    pub status: Option<i64>,
    /// The first field whose value is not what it should be.
    pub unread: Option<String>,
}

impl<'v: 'a, 'a> Attributed<'v> for Attributes<'a> {
    fn attribute(&mut self, key: &str, value: &impl Value<'v>) {
        let (field, number) = match key {
            "gen_ai.request.id" => return self.id = value.text(),
            "gen_ai.response.id" => return self.response_id = value.text(),
            "gen_ai.operation.name" => return self.operation = value.text(),
            "gen_ai.request.model" => return self.model = value.text(),
            "gen_ai.response.model" if self.model.is_none() => return self.model = value.text(),
            "gen_ai.response.time_to_first_chunk" => (&mut self.first_chunk, value.seconds()),
            // Not in the conventions; a load generator writes it.
            "gen_ai.response.time_to_first_token" => (&mut self.first_token, value.seconds()),
            "gen_ai.usage.prompt_tokens" | "gen_ai.usage.input_tokens" => {
                (&mut self.input_tokens, value.int())
            }
            "gen_ai.usage.completion_tokens" | "gen_ai.usage.output_tokens" => {
                (&mut self.output_tokens, value.int())
            }
            "gen_ai.usage.cache_read.input_tokens" | "gen_ai.usage.cached_tokens" => {
                (&mut self.cached_tokens, value.int())
            }
            "http.response.status_code" | "http.status_code" => (&mut self.status, value.int()),
            _ => return self.latency(key, value),
        };
        *field = number.filter(|n| *n >= 0);
        if field.is_none() {
            self.unread(key);
        }
    }
}

impl Attributes<'_> {
    fn latency<'v>(&mut self, key: &str, value: &impl Value<'v>) {
        let name = key.strip_prefix("gen_ai.latency.");
        let at = name.and_then(|name| LATENCIES.iter().position(|latency| *latency == name));
        if let Some(slot) = at.and_then(|at| self.latencies.get_mut(at)) {
            let not_negative = |n: Option<i64>| n.filter(|n| *n >= 0);
            let latency =
                Latency { seconds: not_negative(value.seconds()), whole: not_negative(value.int()) };
            *slot = Some(latency);
            if latency.seconds.or(latency.whole).is_none() {
                self.unread(key);
            }
        }
    }

    /// Remembers that a field does not hold what it should, for a finding.
    pub fn unread(&mut self, field: &str) {
        self.unread.get_or_insert_with(|| field.to_owned());
    }

    /// Whether an engine wrote the span.
    pub fn of_engine(&self) -> bool {
        self.latencies.iter().any(Option::is_some)
    }

    /// Whether the span is a call of a model.
    pub fn of_call(&self) -> bool {
        matches!(self.operation.as_deref(), Some("chat" | "text_completion" | "generate_content"))
    }

    /// What is stated as durations: definition, ns, unit as found.
    pub fn stated(
        &self,
        dialect: &'static Dialect,
    ) -> impl Iterator<Item = (&'static str, i64, &'static str)> {
        dialect.meaning.iter().zip(self.latencies).filter_map(|(meaning, latency)| {
            let (definition, scale) = (*meaning)?;
            let unit = match scale {
                S => "s",
                MS => "ms",
                _ => "ns",
            };
            Some((definition, latency?.ns(scale)?, unit))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::otlp::Plain;
    use crate::row::definition;

    #[test]
    fn every_meaning_is_defined() {
        for (definition_id, _) in DIALECTS.iter().flat_map(|d| d.meaning).flatten() {
            assert!(definition(definition_id).is_some(), "{definition_id}");
        }
    }

    #[test]
    fn one_name_means_another_stretch_or_unit_to_another_tool() {
        let mut a = Attributes::default();
        a.attribute("gen_ai.latency.time_to_first_token", &Plain("120.5".into()));
        a.attribute("gen_ai.latency.time_in_model_prefill", &Plain("86000000000".into()));
        let stated = |scope, span| a.stated(Dialect::of(scope, "", span).unwrap()).collect::<Vec<_>>();
        assert_eq!(
            stated("rtp_llm.tracing", "x"),
            [("rtp-llm.ttft", 120_500_000, "ms"), ("rtp-llm.prefill", 86_000_000_000, "ns")]
        );
        // 86000000000 s are beyond any time: left out.
        assert_eq!(stated("sglang server", ""), [("sglang-span.ttft", 120_500_000_000, "s")]);
        assert_eq!(stated("", "llm_request"), [("vllm.ttft", 120_500_000_000, "s")]);
        assert!(Dialect::of("", "my-engine", "Req 1").is_none());
    }
}
