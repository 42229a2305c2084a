//! The loaded files with their hashes and counts.

use super::Making;
use crate::finding::{Code, Severity};
use crate::report::text::{bytes, date, shown};
use crate::store::SourceRow;
use serde::Serialize;
use std::collections::BTreeSet;

/// A source.
#[derive(Debug, Serialize)]
pub struct Source {
    id: String,
    candidate: String,
    name: String,
    format: String,
    hop: String,
    read: String,
    refused: String,
    bytes: String,
    received: String,
    sha256: String,
    /// Codes of what makes it void; empty when it stands.
    void: String,
}

impl Source {
    pub fn new(making: &Making, s: &SourceRow) -> Source {
        let found = making.ledger.checked.about(&s.candidate, &s.source).map(|f| f.code);
        let codes: BTreeSet<Code> = found.filter(|code| code.severity() == Severity::Error).collect();
        Source {
            id: shown(&s.source),
            candidate: shown(&s.candidate),
            name: shown(&s.name),
            format: shown(format!("{} {}", s.format, s.version).trim()),
            hop: making.word(&format!("hop.{}", s.hop)),
            read: s.read.to_string(),
            refused: s.refused.to_string(),
            bytes: bytes(s.bytes),
            received: date(s.received_at),
            sha256: shown(&s.sha256),
            void: codes.into_iter().map(Code::id).collect::<Vec<_>>().join(", "),
        }
    }
}
