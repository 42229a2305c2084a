//! What an input may at most cost, as flags of every command that reads files.

use crate::input::Limits;
use clap::Args;

#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Limits (beyond one there is a finding, and the rest is read)")]
pub struct LimitArguments {
    /// Longest line [default: 16M]
    #[arg(long = "max-line", value_name = "SIZE", value_parser = parse_size)]
    line: Option<usize>,
    /// Largest decompressed file of a format that must be read whole [default: 256M]
    #[arg(long = "max-document", value_name = "SIZE", value_parser = parse_size)]
    document: Option<usize>,
    /// Largest ratio of decompressed to compressed bytes, beyond 64M [default: 200]
    #[arg(long = "max-ratio", value_name = "N")]
    ratio: Option<u64>,
    /// Most members of an archive [default: 10000]
    #[arg(long = "max-members", value_name = "N")]
    members: Option<usize>,
    /// How deep archives may lie inside archives [default: 3]
    #[arg(long = "max-depth", value_name = "N")]
    depth: Option<usize>,
}

impl LimitArguments {
    /// The limits given, the others as by default.
    pub fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits {
            line: self.line.unwrap_or(default.line),
            document: self.document.unwrap_or(default.document),
            ratio: self.ratio.unwrap_or(default.ratio),
            members: self.members.unwrap_or(default.members),
            depth: self.depth.unwrap_or(default.depth),
        }
    }
}

/// Bytes, or with K, M or G the binary multiples of them.
fn parse_size(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let size = digits.parse::<usize>().ok().and_then(|n| n.checked_mul(1 << shift)).filter(|n| *n > 0);
    size.ok_or_else(|| "use bytes, or a number with K, M or G, such as 64M".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_multiples_and_defaults_are_those_printed() {
        assert_eq!(parse_size("64M"), Ok(64 << 20));
        assert_eq!(parse_size("100"), Ok(100));
        for bad in ["", "M", "0", "-1", "1T", "1.5M", "99999999999G", "万"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        let Limits { line, document, ratio, members, depth } = LimitArguments::default().limits();
        assert_eq!((line, document, ratio, members, depth), (16 << 20, 256 << 20, 200, 10_000, 3));
    }
}
