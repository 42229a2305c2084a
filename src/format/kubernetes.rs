//! What the sources of Kubernetes share: kinds of events, instants and durations as its tools write them.
//!
//! | kind | what happened to the pod (its name is the instance) |
//! |---|---|
//! | `pod-created` | the object was created |
//! | `schedule-failed`, `scheduled` | no node fits; a node was found |
//! | `scale-up`, `scale-up-refused` | the autoscaler asked for a node, or could not |
//! | `image-pull-begin`, `image-pulled`, `image-pull-failed` | the container's image |
//! | `container-created`, `container-started`, `container-terminated`, `container-waiting`, `container-backoff` | the container |
//! | `initialized`, `containers-ready`, `ready`, `not-ready` | the pod's conditions; `ready` is when traffic may come |
//! | `pod-running` | the kubelet saw all containers run |
//! | `pod-startup` | from creation to that, as the kubelet measured it |
//! | `probe-failed` | a startup, readiness or liveness probe |
//! | `pod-killed`, `preempted`, `evicted` | the pod's end |
//! | `cluster-event` | anything else, told in the detail |

use super::decimal::{S, to_ns};
use crate::finding::Place;
use crate::row::{Event, Hop, Rows};
use jiff::Timestamp;

/// Kind of an event of Kubernetes, from its reason and message.
#[must_use]
pub fn kind(reason: &str, message: &str) -> &'static str {
    match reason {
        "Scheduled" => "scheduled",
        "FailedScheduling" => "schedule-failed",
        "TriggeredScaleUp" | "NodeClaimCreated" | "Nominated" => "scale-up",
        "NotTriggerScaleUp" | "FailedScaleUp" => "scale-up-refused",
        "Pulling" => "image-pull-begin",
        "Pulled" => "image-pulled",
        "ErrImagePull" | "ImagePullBackOff" | "ErrImageNeverPull" | "InspectFailed" => "image-pull-failed",
        "Failed" | "BackOff" if message.contains("image") || message.contains("ImagePull") => {
            "image-pull-failed"
        }
        "BackOff" | "CrashLoopBackOff" => "container-backoff",
        "Created" => "container-created",
        "Started" => "container-started",
        "Unhealthy" | "ProbeWarning" => "probe-failed",
        "Killing" => "pod-killed",
        "Preempted" | "Preempting" => "preempted",
        "Evicted" | "TaintManagerEviction" => "evicted",
        _ => "cluster-event",
    }
}

/// How long a pull took: `… in 2m3s (2m5s including waiting). …` tells both, and the second holds the first.
#[must_use]
pub fn pulled_in(message: &str) -> Option<i64> {
    let rest = message.rsplit_once(" in ")?.1;
    let stated = rest.split(' ').next()?.trim_end_matches('.');
    let waited = rest.split_once('(').and_then(|(_, inside)| inside.split_once(" including waiting"));
    duration(waited.map_or(stated, |(waited, _)| waited))
}

/// A duration as Go's tools write it: `2m3s`, `1.94s`, `828.30ms`, `3d4h`; ages round it down.
#[must_use]
pub fn duration(text: &str) -> Option<i64> {
    let mut rest = text.trim();
    let mut sum = 0_i64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let letters = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        let (number, unit) = (&rest[..digits], &rest[digits..letters]);
        let (scale, times) = match unit {
            "ns" => (0, 1),
            "us" | "µs" | "μs" => (3, 1),
            "ms" => (6, 1),
            "s" => (S, 1),
            "m" => (S, 60),
            "h" => (S, 3_600),
            "d" => (S, 86_400),
            "y" => (S, 365 * 86_400),
            _ => return None,
        };
        sum = sum.checked_add(to_ns(number, scale)?.checked_mul(times)?)?;
        rest = &rest[letters..];
    }
    Some(sum)
}

/// Step of a duration as written: that of its last unit.
#[must_use]
pub fn step(text: &str) -> i64 {
    let unit = text.trim().trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    match unit.rsplit(|c: char| !c.is_alphabetic()).next() {
        Some("y") => 365 * 86_400 * 1_000_000_000,
        Some("d") => 86_400_000_000_000,
        Some("h") => 3_600_000_000_000,
        Some("m") => 60_000_000_000,
        _ => 1_000_000_000,
    }
}

/// An instant: RFC 3339, or Go's `2006-01-02 15:04:05.9 +0000 UTC m=+1.5`, with its step. The year 1 says never.
#[must_use]
pub fn instant(text: &str) -> Option<(i64, i64)> {
    let go = || {
        let mut words = text.split(' ');
        let (day, time, zone) = (words.next()?, words.next()?, words.next()?);
        let (hours, minutes) = zone.split_at_checked(3)?;
        Some(format!("{day}T{time}{hours}:{minutes}"))
    };
    let stamp: Timestamp = text.parse().ok().or_else(|| go()?.parse().ok())?;
    let t_ns = i64::try_from(stamp.as_nanosecond()).ok()?;
    let decimals =
        text.split_once('.').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    let step = 10_i64.pow(9 - u32::try_from(decimals.min(9)).unwrap_or(9));
    (!text.starts_with("0001-")).then_some((t_ns, step))
}

/// An event on an instance.
pub struct Happened<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// When, and the step of the clock.
    pub at: Option<(i64, i64)>,
    /// How long, when stated.
    pub duration_ns: Option<i64>,
    /// The pod, or `kind/name` of another object.
    pub instance: &'a str,
    /// What the source says.
    pub detail: &'a str,
}

impl Happened<'_> {
    /// Adds it.
    pub fn add(&self, rows: &mut Rows, hop: Hop, place: Place, clock: &str) {
        let event = Event {
            kind: self.kind,
            t_ns: self.at.map(|(t_ns, _)| t_ns),
            clock,
            resolution_ns: self.at.map_or(0, |(_, step)| step),
            duration_ns: self.duration_ns,
            instance: Some(self.instance),
            trace_id: None,
            detail: super::load_tool::cut(self.detail.trim(), 200),
        };
        rows.event(hop, place, &event);
    }
}

/// What an event is about: a pod by its name alone, as other sources know it, anything else as `kind/name`.
#[must_use]
pub fn object(kind: &str, name: &str) -> String {
    if matches!(kind, "Pod" | "pod" | "pods" | "po") {
        name.to_owned()
    } else {
        format!("{}/{name}", kind.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_to_the_nanosecond() {
        for (text, ns) in [
            ("2m3s", 123_000_000_000),
            ("1.940293018s", 1_940_293_018),
            ("828.30ms", 828_300_000),
            ("3d4h", 273_600_000_000_000),
            ("1h0m0.5s", 3_600_500_000_000),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Some(ns), "{text}");
        }
        for text in ["", "<unknown>", "5", "s", "1.2.3s", "5x", "99999999999y", "-3s"] {
            assert_eq!(duration(text), None, "{text}");
        }
        assert_eq!(
            (step("3m20s"), step("36m"), step("3d4h"), step("2d")),
            (1_000_000_000, 60_000_000_000, 3_600_000_000_000, 86_400_000_000_000)
        );
    }

    #[test]
    fn instants_of_go_and_rfc_3339_are_read_and_the_year_one_is_never() {
        assert_eq!(instant("2024-03-14T18:05:46Z"), Some((1_710_439_546_000_000_000, 1_000_000_000)));
        assert_eq!(instant("2026-11-30T22:00:00.000123Z"), Some((1_796_076_000_000_123_000, 1_000)));
        assert_eq!(
            instant("2024-11-29 16:13:10.765063108 +0000 UTC m=+21817.014756659"),
            Some((1_732_896_790_765_063_108, 1))
        );
        assert_eq!(
            instant("2024-11-29 18:13:10 +0200 EET"),
            Some((1_732_896_790_000_000_000, 1_000_000_000))
        );
        for text in [
            "0001-01-01 00:00:00 +0000 UTC",
            "",
            "yesterday",
            "2024-11-29 16:13:10",
            "2024-11-29 16:13:10 é00",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }

    #[test]
    fn pulls_tell_their_time_with_the_wait_for_other_pulls() {
        let text =
            "Successfully pulled image \"a/in b:1\" in 2m3.5s (2m5s including waiting). Image size: 9 bytes.";
        assert_eq!(pulled_in(text), Some(125_000_000_000));
        assert_eq!(pulled_in("Successfully pulled image \"a\" in 1.94s"), Some(1_940_000_000));
        assert_eq!(pulled_in("Container image \"a\" already present on machine"), None);
    }
}
