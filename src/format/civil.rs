//! Times of day as logs write them, without a zone: to nanoseconds once a zone is declared.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Epoch nanoseconds of a local time in `zone`; without a zone, the digits read as if they were UTC, which is
/// good for differences within one source only (its clock is then `Context::local`).
///
/// `None` when the zone's clock skipped this time or showed it twice: which instant was meant is unknown.
#[must_use]
pub fn local_ns(datetime: DateTime, zone: Option<&TimeZone>) -> Option<i64> {
    let timestamp = match zone {
        Some(zone) => zone.to_ambiguous_timestamp(datetime).unambiguous().ok()?,
        None => TimeZone::UTC.to_timestamp(datetime).ok()?,
    };
    i64::try_from(timestamp.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn a_zone_moves_the_instant_and_no_zone_keeps_the_digits() {
        let noon = date(2026, 11, 30).at(12, 0, 0, 500_000_000);
        let shanghai = TimeZone::get("Asia/Shanghai").unwrap();
        assert_eq!(local_ns(noon, None), Some(1_796_040_000_500_000_000));
        assert_eq!(local_ns(noon, Some(&shanghai)), Some(1_796_040_000_500_000_000 - 8 * 3_600_000_000_000));
    }

    #[test]
    fn a_time_shown_twice_or_never_or_beyond_the_range_is_not_placed() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        assert_eq!(local_ns(date(2026, 10, 25).at(2, 30, 0, 0), Some(&berlin)), None);
        assert_eq!(local_ns(date(2026, 3, 29).at(2, 30, 0, 0), Some(&berlin)), None);
        assert_eq!(local_ns(date(9999, 1, 1).at(0, 0, 0, 0), None), None);
    }
}
