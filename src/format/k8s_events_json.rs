//! Events of Kubernetes as JSON: `kubectl get events -o json` (a List), single objects, one a line, or a watch.
//!
//! Old events know `firstTimestamp` and `lastTimestamp` to the second, new ones `eventTime` to the microsecond and a
//! `series`. An event with a count stands for many: its first and its last are known, those between are not.

use super::json::{self, Text, word};
use super::kubernetes::{Happened, instant, kind, object, pulled_in};
use super::{Context, Format, Match, Reader, bodies, elements};
use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The format; see the module.
pub struct K8sEventsJson;

impl Format for K8sEventsJson {
    fn id(&self) -> &'static str {
        "k8s_events_json"
    }

    fn title(&self) -> &'static str {
        "Kubernetes events (JSON)"
    }

    fn hop(&self) -> Hop {
        Hop::Cluster
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ready"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let about = head.contains("\"involvedObject\"") || head.contains("\"regarding\"");
        Match::when(
            bodies::begins(head) && about && head.contains("\"reason\""),
            "involvedObject or regarding, reason",
        )
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        bodies::reader(move |text: &str, place: Place, rows: &mut Rows| match json::record::<Holder>(text) {
            Ok(Holder { items: Some(items), .. }) => {
                let mut item = 0;
                let walked = elements::each(items, |event: &RawValue| {
                    read(event.get(), Place::item(place.line, item), rows, hop, &clock);
                    item += 1;
                });
                if let Err(error) = walked {
                    rows.refuse(Code::RecordShape, Place::item(place.line, item), &error.to_string());
                }
            }
            Ok(Holder { object: Some(event), .. }) => read(event.get(), place, rows, hop, &clock),
            Ok(_) => read(text, place, rows, hop, &clock),
            Err((code, detail)) => rows.refuse(code, place, &detail),
        })
    }
}

/// A list of events, or a change that a watch saw.
#[derive(Deserialize)]
struct Holder<'a> {
    #[serde(borrow)]
    items: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow, alias = "note")]
    message: Text<'a>,
    #[serde(borrow, alias = "regarding")]
    involved_object: Option<Object<'a>>,
    #[serde(borrow)]
    event_time: Text<'a>,
    #[serde(borrow, alias = "deprecatedFirstTimestamp")]
    first_timestamp: Text<'a>,
    #[serde(borrow, alias = "deprecatedLastTimestamp")]
    last_timestamp: Text<'a>,
    #[serde(alias = "deprecatedCount")]
    count: Option<i64>,
    #[serde(borrow)]
    series: Option<Series<'a>>,
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Series<'a> {
    count: Option<i64>,
    #[serde(borrow)]
    last_observed_time: Text<'a>,
}

fn read(text: &str, place: Place, rows: &mut Rows, hop: Hop, clock: &str) {
    let entry: Entry = match json::record(text) {
        Ok(entry) => entry,
        Err((code, detail)) => return rows.refuse(code, place, &detail),
    };
    let (Some(reason), Some(about)) = (word(&entry.reason), &entry.involved_object) else {
        return rows.refuse(Code::RecordShape, place, "no `reason`, or no `involvedObject`");
    };
    let at = |text: &Text| word(text).and_then(instant);
    let series = entry.series.as_ref();
    let first = at(&entry.event_time).or_else(|| at(&entry.first_timestamp));
    let last = series.and_then(|s| at(&s.last_observed_time)).or_else(|| at(&entry.last_timestamp));
    let Some(first) = first.or(last) else {
        return rows.refuse(Code::TimeUnplaced, place, "neither eventTime, firstTimestamp nor lastTimestamp");
    };
    let count = series.and_then(|s| s.count).or(entry.count).unwrap_or(1);
    let message = word(&entry.message).unwrap_or_default();
    let instance = object(word(&about.kind).unwrap_or_default(), word(&about.name).unwrap_or_default());
    let kind = kind(reason, message);
    let mut add = |at, which: &str| {
        let detail = format!("{reason}{which}: {message}");
        let duration_ns = (kind == "image-pulled").then(|| pulled_in(message)).flatten();
        let happened = Happened { kind, at: Some(at), duration_ns, instance: &instance, detail: &detail };
        happened.add(rows, hop, place, clock);
    };
    let Some(last) = last.filter(|last| count > 1 && last.0 != first.0) else {
        return add(first, &if count > 1 { format!(" (×{count})") } else { String::new() });
    };
    add(first, &format!(" (first of {count})"));
    add(last, &format!(" (last of {count})"));
    if last.0 < first.0 {
        let detail = format!("last {} < first {} of {count} events", last.0, first.0);
        rows.finding(Code::ValueImpossible, place, &detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const LIST: &str = include_str!("../../samples/k8s_events_json/events.json");
    const WATCH: &str = include_str!("../../samples/k8s_events_json/watch.jsonl");
    const EVENT: [&str; 6] = ["item", "kind", "t_ns", "resolution_ns", "duration_ns", "instance"];

    #[test]
    fn a_list_is_the_chain_of_a_start() {
        let read = read(&K8sEventsJson, LIST);
        assert_eq!((read.counts(), read.findings()), ((9, 0), vec![]));
        assert_eq!(
            read.rows(Table::Event, &EVENT),
            [
                "0|schedule-failed|1796076000000000000|1000000000|~|engine-0",
                "1|scale-up|1796076047000000000|1000000000|~|engine-0",
                "2|scheduled|1796076180250001000|1000|~|engine-0",
                "3|image-pull-begin|1796076181000000000|1000000000|~|engine-0",
                "4|image-pulled|1796076304000000000|1000000000|123500000000|engine-0",
                "5|container-started|1796076305000000000|1000000000|~|engine-0",
                "6|probe-failed|1796076315000000000|1000000000|~|engine-0",
                "6|probe-failed|1796076435000000000|1000000000|~|engine-0",
                "7|cluster-event|1796076436000000000|1000000000|~|node/gpu-1",
            ]
        );
        let details = read.rows(Table::Event, &["detail"]);
        assert!(details[6].starts_with("Unhealthy (first of 13): Startup probe failed"), "{details:?}");
    }

    #[test]
    fn a_watch_and_events_of_the_new_kind_are_read() {
        let read = read(&K8sEventsJson, WATCH);
        assert_eq!((read.counts(), read.findings()), ((3, 0), vec![]));
        assert_eq!(
            read.rows(Table::Event, &["line", "kind", "t_ns", "instance"]),
            [
                "1|scheduled|1796076000123456000|engine-0",
                "2|container-backoff|1796076010000000000|engine-1",
                "2|container-backoff|1796076040500000000|engine-1",
            ]
        );
    }

    #[test]
    fn events_without_a_time_or_about_nothing_are_refused() {
        let text = "{\"reason\":\"Pulled\",\"involvedObject\":{\"name\":\"a\"}}\n{\"reason\":\"Pulled\"}\n\
            {\"items\":[{\"reason\":1},7]}\n{\"items\":";
        assert_eq!(
            read(&K8sEventsJson, text).rows(Table::Finding, &["line", "item", "code"]),
            [
                "1|0|time-unplaced",
                "2|0|record-shape",
                "3|0|record-shape",
                "3|1|record-shape",
                "4|0|truncated"
            ]
        );
    }

    #[test]
    fn events_are_recognised_and_pods_are_not() {
        assert!(recognises(&K8sEventsJson, LIST) && recognises(&K8sEventsJson, WATCH));
        for text in
            ["", "garbage", r#"{"kind":"Pod","status":{"reason":"Evicted"}}"#, "involvedObject reason"]
        {
            assert!(!recognises(&K8sEventsJson, text), "{text}");
        }
    }
}
