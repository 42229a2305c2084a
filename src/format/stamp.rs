//! Time stamps as gateways and clients write them: epoch numbers, ISO 8601, or the common log format.

use super::decimal::{MS, NS, S, US, step_ns, to_ns};
use super::{Context, civil};
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// Reads the stamps of one source.
pub struct Stamps {
    epoch: String,
    local: String,
    zone: Option<TimeZone>,
}

/// An instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp<'a> {
    /// Nanoseconds on `clock`.
    pub ns: i64,
    /// Smallest step of the stamp as written.
    pub step_ns: i64,
    /// Its clock.
    pub clock: &'a str,
    /// Whether the zone is known. If not, the instant is good for differences within the source only.
    pub placed: bool,
}

impl Stamps {
    /// For a source whose naive times are local.
    pub fn new(cx: &Context) -> Stamps {
        Stamps { epoch: cx.epoch(), local: cx.local(), zone: cx.zone.clone() }
    }

    /// For a source whose naive times are UTC, whatever zone was declared.
    pub fn utc(cx: &Context) -> Stamps {
        Stamps { epoch: cx.epoch(), local: cx.epoch(), zone: Some(TimeZone::UTC) }
    }

    /// The instant of a stamp.
    pub fn read(&self, text: &str) -> Option<Stamp<'_>> {
        let text = text.trim();
        if let Some((ns, step_ns)) = number(text) {
            return Some(Stamp { ns, step_ns, clock: &self.epoch, placed: true });
        }
        let step_ns = step(text);
        let instant = text.parse::<jiff::Timestamp>().ok().or_else(|| {
            strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).and_then(|time| time.to_timestamp()).ok()
        });
        if let Some(instant) = instant {
            let ns = i64::try_from(instant.as_nanosecond()).ok()?;
            return Some(Stamp { ns, step_ns, clock: &self.epoch, placed: true });
        }
        // A date alone is no instant.
        let naive = text.contains(':').then(|| text.parse::<DateTime>().ok()).flatten().or_else(|| {
            strtime::parse("%d/%b/%Y:%H:%M:%S%.f", text).and_then(|time| time.to_datetime()).ok()
        })?;
        let ns = civil::local_ns(naive, self.zone.as_ref())?;
        Some(Stamp { ns, step_ns, clock: &self.local, placed: self.zone.is_some() })
    }
}

/// An epoch number, its unit told from its magnitude: seconds, ms, µs or ns of this century.
fn number(text: &str) -> Option<(i64, i64)> {
    let whole = text.split('.').next()?;
    if !whole.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let unit = match whole.len() {
        9 | 10 => S,
        12 | 13 => MS,
        15 | 16 => US,
        18 | 19 => NS,
        _ => return None,
    };
    Some((to_ns(text, unit)?, step_ns(text, unit)))
}

/// The step of a stamp with seconds: its last digit.
fn step(text: &str) -> i64 {
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    10_i64.pow(9_u32.saturating_sub(u32::try_from(digits).unwrap_or(9)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::context;

    #[test]
    fn every_way_of_writing_one_instant_is_that_instant() {
        let cx = context(&crate::format::nginx_access::NginxAccess);
        let stamps = Stamps::new(&cx);
        let ns = 1_796_073_819_250_000_000;
        for (text, step_ns) in [
            ("2026-11-30T21:23:39.250Z", 1_000_000),
            ("2026-11-30 22:23:39.25+01:00", 10_000_000),
            ("1796073819.250", 1_000_000),
            ("1796073819250", 1_000_000),
            ("1796073819250000", 1_000),
            ("1796073819250000000", 1),
        ] {
            let stamp = Stamp { ns, step_ns, clock: "epoch:0123456789ab", placed: true };
            assert_eq!(stamps.read(text), Some(stamp), "{text}");
        }
        let second = stamps.read("30/Nov/2026:21:23:39 +0000").unwrap();
        assert_eq!((second.ns, second.step_ns), (1_796_073_819_000_000_000, 1_000_000_000));
        for bad in ["", "-", "yesterday", "17", "2026-11-30", "99/Nov/2026:21:23:39 +0000"] {
            assert_eq!(stamps.read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_naive_time_is_local_until_a_zone_is_declared() {
        let mut cx = context(&crate::format::nginx_access::NginxAccess);
        let local = |cx: &Context, text: &str| {
            let stamps = Stamps::new(cx);
            let stamp = stamps.read(text).unwrap();
            (stamp.ns, stamp.clock.to_owned(), stamp.placed)
        };
        let ns = 1_796_073_819_250_000_000;
        for text in ["2026-11-30 21:23:39.250", "30/Nov/2026:21:23:39.250"] {
            assert_eq!(local(&cx, text), (ns, "local:0123456789ab".to_owned(), false));
        }
        assert!(Stamps::utc(&cx).read("2026-11-30T21:23:39.250").unwrap().placed);
        cx.zone = crate::input::zone("Asia/Shanghai");
        let shanghai = (ns - 8 * 3_600_000_000_000, "epoch:0123456789ab".to_owned(), true);
        assert_eq!(local(&cx, "2026-11-30 21:23:39.250"), shanghai);
    }
}
