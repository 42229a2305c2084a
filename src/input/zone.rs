//! Time zones as people write them, from the database in the binary, so that every machine agrees.

use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

/// What [`zone`] takes, for messages.
pub const ZONES: &str = "\"UTC\", an offset such as \"+08:00\", or an IANA name such as \"Asia/Shanghai\"";

/// The zone of this name: `UTC`, an offset `±HH:MM` up to 14 hours, or an IANA name.
///
/// `None` for anything else, abbreviations such as `CST` among it: they mean different zones to different people.
#[must_use]
pub fn zone(name: &str) -> Option<TimeZone> {
    if let Some(offset) = offset(name) {
        return Some(TimeZone::fixed(offset));
    }
    let zone = TimeZoneDatabase::bundled().get(name).ok()?;
    (!zone.is_unknown()).then_some(zone)
}

fn offset(text: &str) -> Option<Offset> {
    let (sign, digits) = match text.as_bytes() {
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let &[h1, h2, b':', m1, m2] = digits else { return None };
    let number = |tens: u8, ones: u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit())
            .then(|| i32::from(tens - b'0') * 10 + i32::from(ones - b'0'))
    };
    let (hours, minutes) = (number(h1, h2)?, number(m1, m2)?);
    let seconds = hours * 3600 + minutes * 60;
    (minutes < 60 && seconds <= 14 * 3600).then(|| Offset::from_seconds(sign * seconds).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offset in force at 2026-07-01T00:00Z, in seconds.
    fn seconds(name: &str) -> Option<i32> {
        let at = jiff::Timestamp::from_second(1_782_864_000).ok()?;
        zone(name).map(|zone| zone.to_offset(at).seconds())
    }

    #[test]
    fn names_and_offsets_give_the_offset_in_force() {
        assert_eq!(seconds("UTC"), Some(0));
        assert_eq!(seconds("Asia/Shanghai"), Some(8 * 3600));
        assert_eq!(seconds("Europe/Berlin"), Some(2 * 3600));
        assert_eq!(seconds("+08:00"), Some(8 * 3600));
        assert_eq!(seconds("-03:30"), Some(-(3 * 3600 + 30 * 60)));
        assert_eq!(seconds("+14:00"), Some(14 * 3600));
    }

    #[test]
    fn what_is_ambiguous_or_no_zone_is_refused() {
        for bad in [
            "",
            "CST",
            "local",
            "Etc/Unknown",
            "+8",
            "+0800",
            "+14:01",
            "+05:60",
            "+1x:00",
            "Asia/Shangai",
            "../UTC",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
