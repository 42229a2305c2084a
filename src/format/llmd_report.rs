//! llm-d Benchmark Report 0.1, 0.2 and 0.2.1, YAML or JSON: a load test's result in one shape, whichever tool ran it.
//!
//! Every set of statistics states its `units`, which are kept. What TTFT means is the meaning of the tool that ran:
//! figures of a tool that is not known here are left out. Time series and native settings, which may hold secrets,
//! are not read.

mod name;

use super::figures::{self, Of, fact};
use super::inference_perf::object;
use super::load_tool::cut;
use super::{Context, Format, Match, Reader, tree};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The Benchmark Report of llm-d.
pub struct LlmdReport;

/// Versions of the schema that were read for this.
const VERSIONS: [&str; 3] = ["0.1", "0.2", "0.2.1"];

impl Format for LlmdReport {
    fn id(&self) -> &'static str {
        "llmd_report"
    }

    fn title(&self) -> &'static str {
        "llm-d Benchmark Report"
    }

    fn hop(&self) -> Hop {
        Hop::Client
    }

    fn informs(&self) -> &'static [&'static str] {
        &["aggregate", "resources"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let has = |keys: &[&str]| keys.iter().all(|key| head.contains(key));
        let top = |key| tree::top(head, key);
        // The head may end before the scenario, or before the latencies, of a long report.
        let old = top("scenario") && top("metrics") && has(&["request_latency", "units"]);
        let parts = ["request_performance", "component_health", "observability"];
        let new = top("results") && parts.iter().any(|part| head.contains(part)) && has(&["units"]);
        if !old && !new {
            return Match::No;
        }
        let text = String::from_utf8_lossy(&head.bytes);
        let yaml = text.lines().find_map(|line| line.strip_prefix("version:"));
        let json = || text.split_once("\"version\":").map(|(_, rest)| rest);
        let stated =
            yaml.or_else(json).map_or("", |rest| rest.split([',', '}', '\n', '#']).next().unwrap_or(""));
        let version = cut(stated.trim().trim_matches(['"', '\'']), 20).to_owned();
        Match::Yes { version, because: "units of every metric, in metrics (0.1) or results (0.2)" }
    }

    fn reader(&self, _: &Context) -> Reader {
        Reader::Document(Box::new(|bytes, rows| {
            if let Some(report) = tree::parse(bytes, rows) {
                read(&report, rows);
            }
        }))
    }
}

fn read(report: &Value, rows: &mut Rows) {
    let old = report["metrics"].is_object();
    let (results, performance) = if old {
        (&report["metrics"], &report["metrics"])
    } else {
        (&report["results"], &report["results"]["request_performance"]["aggregate"])
    };
    if !results.is_object() {
        return rows.refuse(Code::RecordShape, Place::FILE, "neither metrics nor results is an object");
    }
    rows.read += 1;
    let mut version = String::new();
    tree::scalars(&report["version"], "", &mut |_, value| value.clone_into(&mut version));
    fact(rows, Place::FILE, "schema_version", &version);
    if !VERSIONS.contains(&version.as_str()) {
        rows.finding(Code::VersionUnknown, Place::FILE, &format!("version {}", cut(&version, 20)));
    }
    let tool = scenario(&report["scenario"], old, rows);
    let time = if old { &results["time"] } else { &report["run"]["time"] };
    window(time, rows);
    let completed = requests(&performance["requests"], rows);
    if old {
        // 0.1 has the unit in the key.
        for (key, value) in object(results, "throughput") {
            if let (Some(value), Some(quantity)) = (value.as_f64(), key.strip_suffix("_per_sec")) {
                let metric = format!("{quantity}_rate");
                let metric = name::metric(&format!("throughput.{metric}")).unwrap_or(&metric).to_owned();
                figures::one(
                    rows,
                    Place::FILE,
                    Of { metric: &metric, unit: "1/s", ..Of::default() },
                    "value",
                    value,
                );
            }
        }
    }
    let mut walk = Walk { rows, tool: &tool, completed, undefined: false };
    walk.node(results, "");
    if walk.undefined {
        let detail = format!("what time_to_first_token of {tool:?} means is not known: left out");
        rows.finding(Code::DefinitionUnknown, Place::FILE, &detail);
    }
}

/// The facts of the run; gives the tool that ran the load.
fn scenario(scenario: &Value, old: bool, rows: &mut Rows) -> String {
    let mut tool = String::new();
    let mut keep = |key: &str, value: &str| {
        if key == "tool" {
            cut(value, 40).clone_into(&mut tool);
        }
        fact(rows, Place::FILE, key, value);
    };
    if old {
        tree::scalars(&scenario["load"]["name"], "tool", &mut keep);
        tree::scalars(&scenario["load"]["type"], "load.type", &mut keep);
        tree::scalars(&scenario["model"]["name"], "model", &mut keep);
        for (n, engine) in (0..).zip(scenario["platform"]["engine"].as_array().into_iter().flatten()) {
            for key in ["name", "version"] {
                let path = format!("engine.{n}.{key}");
                tree::scalars(&engine[key], &path, &mut keep);
            }
        }
        tree::scalars(&scenario["host"]["accelerator"], "accelerator", &mut keep);
        return tool;
    }
    let load = &scenario["load"];
    for (key, value) in object(load, "standardized") {
        let name = match key.as_str() {
            "rate_qps" => "request_rate",
            "concurrency" => "max_concurrency",
            "tool" | "tool_version" | "stage" => key,
            other => &format!("load.{other}"),
        };
        tree::scalars(value, name, &mut keep);
    }
    tree::scalars(&load["native"]["config"]["api"]["streaming"], "stream", &mut keep);
    for (n, part) in (0..).zip(scenario["stack"].as_array().into_iter().flatten()) {
        let numbered = n.to_string();
        let label = part["metadata"]["label"].as_str().map_or(numbered.as_str(), |label| cut(label, 60));
        let standard = &part["standardized"];
        tree::scalars(&standard["model"]["name"], "model", &mut keep);
        for key in ["kind", "role", "replicas", "tool", "tool_version", "accelerator"] {
            tree::scalars(&standard[key], &format!("stack.{label}.{key}"), &mut keep);
        }
    }
    tool
}

/// The window of the run: epoch seconds in 0.1, ISO 8601 since.
fn window(time: &Value, rows: &mut Rows) {
    let seconds = |value: &Value| {
        let stamp = |text: &str| {
            text.parse::<Timestamp>().ok().map(|t| SignedDuration::from_nanos_i128(t.as_nanosecond()))
        };
        value.as_f64().or_else(|| stamp(value.as_str()?).map(|since| since.as_secs_f64()))
    };
    for key in ["start", "stop", "end", "duration"] {
        tree::scalars(&time[key], &format!("time.{key}"), &mut |key, value| {
            fact(rows, Place::FILE, key, value);
        });
    }
    let last = if time["stop"].is_null() { &time["end"] } else { &time["stop"] };
    if let (Some(start), Some(end)) = (seconds(&time["start"]), seconds(last))
        && end < start
    {
        let detail = format!("the run ends at {end} s, before it starts at {start} s");
        rows.finding(Code::ValueImpossible, Place::FILE, &detail);
    }
    let stated = &time["duration"];
    let iso = || Some(stated.as_str()?.parse::<SignedDuration>().ok()?.as_secs_f64());
    if let Some(duration) = stated.as_f64().or_else(iso) {
        figures::one(
            rows,
            Place::FILE,
            Of { metric: "duration", unit: "s", ..Of::default() },
            "value",
            duration,
        );
    }
}

/// The counts of requests; gives how many completed.
fn requests(requests: &Value, rows: &mut Rows) -> Option<i64> {
    for (key, statistic) in [("total", "total"), ("failures", "failed"), ("incomplete", "cancelled")] {
        if let Some(count) = requests[key].as_f64() {
            figures::one(
                rows,
                Place::FILE,
                Of { metric: "requests", unit: "1", ..Of::default() },
                statistic,
                count,
            );
        }
    }
    let lost = requests["failures"].as_i64()?.checked_add(requests["incomplete"].as_i64().unwrap_or(0))?;
    requests["total"].as_i64()?.checked_sub(lost)
}

/// Every object with `units` is a set of statistics; its path is its name where no shared name is known.
struct Walk<'a> {
    rows: &'a mut Rows,
    tool: &'a str,
    completed: Option<i64>,
    /// Whether a TTFT or latency was left out because nobody knows what the tool means by it.
    undefined: bool,
}

impl Walk<'_> {
    fn node(&mut self, node: &Value, path: &str) {
        match node {
            Value::Object(fields) => {
                if let Some(unit) = fields.get("units").and_then(Value::as_str) {
                    self.set(fields, path, unit);
                }
                for (key, child) in fields.iter().filter(|(key, _)| *key != "time_series" && *key != "series")
                {
                    self.node(child, &if path.is_empty() { key.clone() } else { format!("{path}.{key}") });
                }
            }
            Value::Array(items) => {
                for (n, item) in (0..).zip(items) {
                    let named =
                        ["component_label", "component_id", "name"].iter().find_map(|key| item[key].as_str());
                    let numbered = n.to_string();
                    let label = named.map_or(numbered.as_str(), |label| cut(label, 60));
                    self.node(item, &format!("{path}.{label}"));
                }
            }
            _ => {}
        }
    }

    fn set(&mut self, fields: &serde_json::Map<String, Value>, path: &str, unit: &str) {
        let of_requests = path.strip_prefix("request_performance.aggregate.").unwrap_or(path);
        let metric = name::metric(of_requests);
        let definition = match metric {
            Some(timed @ ("ttft" | "e2e")) => match name::definition(self.tool, timed) {
                Some(definition) => definition,
                None => return self.undefined = true,
            },
            _ => "",
        };
        let n = self.completed.filter(|_| !definition.is_empty());
        let of = Of { metric: metric.unwrap_or(path), unit: cut(unit, 20), n, definition };
        figures::add(self.rows, Place::FILE, of, fields);
    }
}

#[cfg(test)]
mod tests;
