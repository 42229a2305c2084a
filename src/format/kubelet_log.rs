//! The kubelet's log, of which the line that sums up a pod's start is read: `"Observed pod startup duration"`.
//!
//! Lines are those of klog, with or without the journal's prefix. All instants read are whole and carry their offset; the
//! prefixes do not and are not used. The year 1 says that it never happened. Releases before 1.27 could state a duration
//! of minus 292 years, and newer ones the time of all pulls instead of their first and last instant.

use super::kubernetes::{Happened, duration, instant};
use super::{Context, Format, Line, Match, Reader};
use crate::finding::Code;
use crate::input::Head;
use crate::row::{Hop, Rows};

const OBSERVED: &str = "\"Observed pod startup duration\"";

/// The format; see the module.
pub struct KubeletLog;

impl Format for KubeletLog {
    fn id(&self) -> &'static str {
        "kubelet_log"
    }

    fn title(&self) -> &'static str {
        "kubelet log"
    }

    fn hop(&self) -> Hop {
        Hop::Cluster
    }

    fn informs(&self) -> &'static [&'static str] {
        &["ready"]
    }

    fn recognise(&self, head: &Head) -> Match {
        let ours = |line: &str| {
            klog(line)
                && (line.contains(OBSERVED) || line.contains(" kubelet.go:") || line.contains(" kubelet["))
        };
        Match::when(head.lines().any(ours), "klog header, kubelet, Observed pod startup duration")
    }

    fn reader(&self, cx: &Context) -> Reader {
        let (hop, clock) = (cx.hop, cx.epoch());
        Reader::Lines(Box::new(move |line, rows| read(line, rows, hop, &clock)))
    }
}

/// Whether a line holds the header of klog: `I1129 18:13:11.940322    2775 file.go:102] `.
fn klog(line: &str) -> bool {
    let header = line.split_once("] ").map_or("", |(header, _)| header);
    header.contains(".go:")
        && header.split(' ').any(|word| {
            word.len() == 5
                && word.starts_with(['I', 'W', 'E', 'F'])
                && word.bytes().skip(1).all(|b| b.is_ascii_digit())
        })
}

/// The value of a key: quoted, or up to the next space.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!(" {key}="))?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(value, _)| value),
        None => rest.split(' ').next(),
    }
}

fn read(line: Line, rows: &mut Rows, hop: Hop, clock: &str) {
    let Some((_, text)) = line.text.split_once(OBSERVED) else { return };
    let Some(pod) = value(text, "pod") else {
        return line.refuse(rows, Code::RecordShape, "no `pod`");
    };
    let instance = pod.rsplit('/').next().unwrap_or(pod);
    let time = |keys: &[&str]| keys.iter().find_map(|key| value(text, key)).and_then(instant);
    let created = time(&["podCreationTimestamp", "pod.CreationTimestamp"]);
    let (pulling, pulled) = (time(&["firstStartedPulling"]), time(&["lastFinishedPulling"]));
    let seen = time(&["watchObservedRunningTime"]);
    let stated = value(text, "podStartE2EDuration").and_then(duration);
    let Some(created) = created else {
        return line.refuse(rows, Code::RecordShape, "no instant of the pod's creation");
    };
    let pull_ns = match (pulling, pulled) {
        (Some((from, _)), Some((to, _))) if to >= from => Some(to - from),
        (Some((from, _)), Some((to, _))) => {
            let detail = format!("lastFinishedPulling {to} < firstStartedPulling {from}: duration left out");
            rows.finding(Code::ValueImpossible, line.place, &detail);
            None
        }
        _ => value(text, "totalImagesPullingTime").and_then(duration).filter(|ns| *ns > 0),
    };
    let mut add = |kind: &str, at: Option<(i64, i64)>, duration_ns: Option<i64>| {
        if at.is_some() || duration_ns.is_some() {
            let happened = Happened { kind, at, duration_ns, instance, detail: pod };
            happened.add(rows, hop, line.place, clock);
        }
    };
    add("pod-created", Some(created), None);
    add("image-pull-begin", pulling, None);
    add("image-pulled", pulled, pull_ns);
    add("pod-running", time(&["observedRunningTime"]), None);
    add("pod-startup", seen, stated);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{read, recognises};
    use crate::row::Table;

    const SAMPLE: &str = include_str!("../../samples/kubelet_log/kubelet.log");

    #[test]
    fn the_line_is_the_pods_way_from_creation_to_running() {
        let read = read(&KubeletLog, SAMPLE);
        assert_eq!((read.counts(), read.findings()), ((13, 0), vec![]));
        let rows = read.rows(Table::Event, &["line", "kind", "t_ns", "duration_ns", "instance"]);
        assert_eq!(
            rows[..5],
            [
                "2|pod-created|1732896790000000000|~|engine-0",
                "2|image-pull-begin|1732896790765063108|~|engine-0",
                "2|image-pulled|1732896791651945187|886882079|engine-0",
                "2|pod-running|1732896791940258918|~|engine-0",
                "2|pod-startup|1732896791940293018|1940293018|engine-0",
            ]
        );
        // The old release: no pull, and a duration of minus 292 years that nobody needs.
        assert_eq!(
            rows[5..9].iter().map(|row| row.split('|').nth(1).unwrap()).collect::<Vec<_>>(),
            ["pod-created", "image-pull-begin", "pod-running", "pod-startup"]
        );
        // The new one: the sum of all pulls.
        assert_eq!(rows[10], "4|image-pulled|~|62500000000|engine-1");
    }

    #[test]
    fn lines_without_a_pod_or_an_order_are_told() {
        let line = SAMPLE.lines().nth(1).unwrap();
        let swapped = line.replace("16:13:11.651945187", "16:13:10.651945187");
        assert_eq!(
            read(&KubeletLog, &format!("{swapped}\n")).findings(),
            [
                "1 value-impossible lastFinishedPulling 1732896790651945187 < firstStartedPulling 1732896790765063108: \
              duration left out"
            ]
        );
        let text =
            format!("{}\n{}", line.replace(" pod=", " pad="), &line[..line.find("podCreation").unwrap()]);
        assert_eq!(
            read(&KubeletLog, &text).rows(Table::Finding, &["line", "code"]),
            ["1|record-shape", "2|truncated"]
        );
    }

    #[test]
    fn the_log_is_recognised_and_others_are_not() {
        assert!(recognises(&KubeletLog, SAMPLE));
        for text in [
            "",
            "garbage",
            "I1129 18:13:11.9 1 scheduler.go:1] x",
            "kubelet[1]: \"Observed pod startup duration\"",
        ] {
            assert!(!recognises(&KubeletLog, text), "{text}");
        }
    }
}
