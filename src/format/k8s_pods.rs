//! Pods of Kubernetes: `kubectl get pods -o json` (a List) or single objects.
//!
//! A condition keeps only its latest change, to the second: what came before it is gone. The start of a container to
//! `ready` is the load of the model, plus up to a period of the probe. Nothing of the specification is read.

use super::json::{self, Text, word};
use super::kubernetes::{Happened, instant};
use super::{Context, Format, Match, Reader, bodies, elements};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The format; see the module.
pub struct K8sPods;

impl Format for K8sPods {
    fn id(&self) -> &'static str {
        "k8s_pods"
    }

    fn title(&self) -> &'static str {
        "Kubernetes pods (JSON)"
    }

    fn hop(&self) -> Hop {
        Hop::Cluster
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ready"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let pod = ["\"kind\": \"Pod\"", "\"kind\":\"Pod\"", "\"kind\": \"PodList\"", "\"kind\":\"PodList\""];
        // An event is about a pod.
        let event = head.contains("\"involvedObject\"") || head.contains("\"regarding\"");
        let ours = pod.iter().any(|kind| head.contains(kind)) && head.contains("\"containers\"") && !event;
        Match::when(bodies::begins(head) && ours, "kind: Pod, spec.containers")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        bodies::reader(move |text: &str, place: Place, rows: &mut Rows| match json::record::<List>(text) {
            Ok(List { items: Some(items) }) => {
                let mut item = 0;
                let walked = elements::each(items, |pod: &RawValue| {
                    read(pod.get(), Place::item(place.line, item), rows, hop, &clock);
                    item += 1;
                });
                if let Err(error) = walked {
                    rows.refuse(Code::RecordShape, Place::item(place.line, item), &error.to_string());
                }
            }
            Ok(_) => read(text, place, rows, hop, &clock),
            Err((code, detail)) => rows.refuse(code, place, &detail),
        })
    }
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    items: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Pod<'a> {
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    status: Option<Status<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    creation_timestamp: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow, default)]
    conditions: Vec<Condition<'a>>,
    #[serde(borrow, default)]
    init_container_statuses: Vec<Container<'a>>,
    #[serde(borrow, default)]
    container_statuses: Vec<Container<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    last_transition_time: Text<'a>,
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    restart_count: Option<i64>,
    #[serde(borrow)]
    state: Option<State<'a>>,
    #[serde(borrow)]
    last_state: Option<State<'a>>,
}

/// At most one of them is there.
#[derive(Deserialize)]
struct State<'a> {
    #[serde(borrow)]
    waiting: Option<Phase<'a>>,
    #[serde(borrow)]
    running: Option<Phase<'a>>,
    #[serde(borrow)]
    terminated: Option<Phase<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Phase<'a> {
    #[serde(borrow)]
    started_at: Text<'a>,
    #[serde(borrow)]
    finished_at: Text<'a>,
    #[serde(borrow)]
    reason: Text<'a>,
    exit_code: Option<i64>,
}

fn read(text: &str, place: Place, rows: &mut Rows, hop: Hop, clock: &str) {
    let pod: Pod = match json::record(text) {
        Ok(pod) => pod,
        Err((code, detail)) => return rows.refuse(code, place, &detail),
    };
    let metadata = pod.metadata.as_ref();
    let (Some(instance), Some(status)) = (metadata.and_then(|m| word(&m.name)), &pod.status) else {
        return rows.refuse(Code::RecordShape, place, "no `metadata.name`, or no `status`");
    };
    let mut add = |kind: &str, time: Option<&str>, detail: &str| {
        let at = time.and_then(instant);
        let happened = Happened { kind, at, duration_ns: None, instance, detail };
        happened.add(rows, hop, place, clock);
    };
    add("pod-created", metadata.and_then(|m| word(&m.creation_timestamp)), "");
    for condition in &status.conditions {
        let (name, yes) =
            (word(&condition.r#type).unwrap_or_default(), condition.status.as_deref() == Some("True"));
        let kind = match (name, yes) {
            ("PodScheduled", true) => "scheduled",
            ("PodScheduled", false) => "schedule-failed",
            ("Initialized", true) => "initialized",
            ("ContainersReady", true) => "containers-ready",
            ("Ready", true) => "ready",
            ("Ready", false) => "not-ready",
            _ => continue,
        };
        let words = [word(&condition.reason), word(&condition.message)];
        let detail = words.into_iter().flatten().collect::<Vec<_>>().join(": ");
        add(kind, word(&condition.last_transition_time), &detail);
    }
    for container in status.init_container_statuses.iter().chain(&status.container_statuses) {
        let name = word(&container.name).unwrap_or_default();
        let restarts = container.restart_count.unwrap_or(0);
        for state in [&container.last_state, &container.state].into_iter().flatten() {
            if let Some(phase) = &state.terminated {
                let reason = word(&phase.reason).unwrap_or_default();
                let code = phase.exit_code.map_or(String::new(), |code| format!(", exit code {code}"));
                add("container-started", word(&phase.started_at), &format!("{name}, terminated since"));
                add("container-terminated", word(&phase.finished_at), &format!("{name}: {reason}{code}"));
            }
            if let Some(phase) = &state.running {
                add("container-started", word(&phase.started_at), &format!("{name}, restarts {restarts}"));
            }
            if let Some(phase) = &state.waiting {
                let reason = word(&phase.reason).unwrap_or_default();
                add("container-waiting", None, &format!("{name}: {reason}, restarts {restarts}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const PODS: &str = include_str!("../../samples/k8s_pods/pods.json");
    const EVENT: [&str; 5] = ["item", "kind", "t_ns", "instance", "detail"];

    #[test]
    fn conditions_and_containers_are_events() {
        let read = read(&K8sPods, PODS);
        assert_eq!((read.counts(), read.findings()), ((11, 0), vec![]));
        assert_eq!(
            read.rows(Table::Event, &EVENT),
            [
                "0|pod-created|1796076000000000000|engine-0|",
                "0|initialized|1796076181000000000|engine-0|",
                "0|ready|1796076440000000000|engine-0|",
                "0|containers-ready|1796076440000000000|engine-0|",
                "0|scheduled|1796076180000000000|engine-0|",
                "0|container-started|1796076200000000000|engine-0|engine, terminated since",
                "0|container-terminated|1796076300000000000|engine-0|engine: OOMKilled, exit code 137",
                "0|container-started|1796076305000000000|engine-0|engine, restarts 1",
                "1|pod-created|1796076000000000000|engine-1|",
                "1|schedule-failed|1796076000000000000|engine-1|Unschedulable: 0/7 nodes are available",
                "1|container-waiting|~|engine-1|engine: ContainerCreating, restarts 0",
            ]
        );
        assert!(read.rows(Table::Event, &["detail"]).iter().all(|detail| !detail.contains("sk-")));
    }

    #[test]
    fn what_is_not_a_pod_is_refused_alone() {
        let text =
            "{\"items\":[{\"kind\":\"Pod\"},{\"metadata\":{\"name\":\"a\"},\"status\":{}}]}\n{\"metadata\"";
        let read = read(&K8sPods, text);
        assert_eq!(
            read.rows(Table::Finding, &["line", "item", "code"]),
            ["1|0|record-shape", "2|0|truncated"]
        );
        assert_eq!(read.rows(Table::Event, &EVENT), ["1|pod-created|~|a|"]);
    }

    #[test]
    fn pods_are_recognised_and_others_are_not() {
        assert!(recognises(&K8sPods, PODS));
        let event = r#"{"kind":"Event","involvedObject":{"kind":"Pod"},"message":"\"containers\""}"#;
        for text in ["", "garbage", event, r#"{"kind":"Pod"}"#] {
            assert!(!recognises(&K8sPods, text), "{text}");
        }
    }
}
