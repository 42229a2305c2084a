//! `inference-perf` settings (`config.yaml`): what load was to be offered, and the caps that bound it.
//!
//! Keys that may hold secrets (headers, tokens, storage) are in sections that are not read.

use super::figures::fact;
use super::inference_perf::object;
use super::{Context, Format, Match, Reader, tree};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde_json::Value;

/// The settings file of inference-perf.
pub struct InferencePerfConfig;

/// Single settings that are facts of the run under a name shared by all tools.
const FACTS: [(&str, &str, &str); 6] = [
    ("api", "streaming", "stream"),
    ("api", "type", "endpoint_type"),
    ("data", "type", "dataset"),
    ("server", "model_name", "model"),
    ("server", "type", "backend"),
    ("server", "ignore_eos", "ignore_eos"),
];

impl Format for InferencePerfConfig {
    fn id(&self) -> &'static str {
        "inference_perf_config"
    }

    fn title(&self) -> &'static str {
        "inference-perf config.yaml"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["workload"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let yaml = head.first_byte() != Some(b'{');
        let keys = ["load", "data", "server"].iter().all(|key| tree::top(head, key));
        let load = ["num_workers", "stages", "sweep"].iter().any(|key| head.contains(&format!(" {key}:")));
        Match::when(yaml && keys && load, "load (num_workers, stages or sweep), data, server")
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Document(Box::new(|bytes, rows| {
            if let Some(config) = tree::parse(bytes, rows) {
                read(&config, rows);
            }
        }))
    }
}

fn read(config: &Value, rows: &mut Rows) {
    if object(config, "load").is_empty() {
        return rows.refuse(Code::RecordShape, Place::FILE, "load holds no settings");
    }
    rows.read += 1;
    rows.run(Place::FILE, "tool", "inference-perf");
    for (section, key, name) in FACTS {
        tree::scalars(&config[section][key], name, &mut |name, value| fact(rows, Place::FILE, name, value));
    }
    for section in ["load", "data"] {
        tree::scalars(&config[section], section, &mut |path, value| fact(rows, Place::FILE, path, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/inference_perf_config/config.yaml");

    #[test]
    fn load_caps_and_model_are_facts_and_secrets_are_not() {
        let read = read(&InferencePerfConfig, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((1, 0), vec![]));
        let rows = read.rows(Table::Run, &["key", "value"]);
        for expected in [
            "stream|true",
            "model|example/tiny-8b",
            "backend|vllm",
            "dataset|shared_prefix",
            "load.stages.1.rate|8",
            "load.stages.1.duration|30",
            "load.num_workers|4",
            "load.worker_max_concurrency|3",
        ] {
            assert!(rows.iter().any(|row| row == expected), "{expected} in {rows:#?}");
        }
        assert!(!rows.iter().any(|row| row.contains("hush")), "{rows:#?}");
    }

    #[test]
    fn recognised_by_its_sections() {
        assert!(recognises(&InferencePerfConfig, SAMPLE));
        for other in ["", "load: 1\nserver: 2\n", "data: x\nload:\n  a: 1\nserver: b\n"] {
            assert!(!recognises(&InferencePerfConfig, other), "{other}");
        }
        for bad in ["load: 3\ndata: 1\nserver: 2\n", "load: [\n"] {
            assert_eq!(super::super::testing::read(&InferencePerfConfig, bad).counts(), (0, 1), "{bad}");
        }
    }
}
