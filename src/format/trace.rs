//! The W3C trace context header, as gateways log it.

/// Trace id and calling span id of a `traceparent`; `None` unless it is valid by the W3C recommendation.
#[must_use]
pub fn traceparent(text: &str) -> Option<(&str, &str)> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    // Version 00 ends here; later versions may go on.
    let ends = version != "00" || parts.next().is_none();
    let valid = hex(version, 2) && version != "ff" && id(trace, 32) && id(span, 16) && hex(flags, 2) && ends;
    valid.then_some((trace, span))
}

fn id(text: &str, digits: usize) -> bool {
    hex(text, digits) && text.bytes().any(|b| b != b'0')
}

fn hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_headers_give_no_ids() {
        let (trace, span) = ("60f1766bf51ca7cdf358d20ed77fd5d6", "59d63e5049a2e079");
        assert_eq!(traceparent(&format!("cc-{trace}-{span}-01-what-comes")), Some((trace, span)));
        for bad in [
            String::new(),
            "-".to_owned(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-more"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}-0000000000000000-01"),
            format!("00-{trace}é-{span}-01"),
        ] {
            assert_eq!(traceparent(&bad), None, "{bad}");
        }
    }
}
