//! The rooms of Probity through which a file comes in, linked from ../../src. Arrows never point back, so they stand
//! alone.

#![allow(dead_code, unused_imports, reason = "the rooms behind these are not here")]

pub mod error;
pub mod finding;
pub mod settings;
pub mod input;
pub mod row;
pub mod format;

use finding::Place;
use format::{Context, Line, Reader};
use input::{Chunks, Limits, line_text};
use row::{Hop, Rows};

/// A source as it comes from a file of no particular name.
#[must_use]
pub fn context(hop: Hop) -> Context {
    Context {
        name: "metrics_1796073822065.prom".to_owned(),
        source: "0123456789ab".to_owned(),
        hop,
        clock: None,
        zone: input::zone("Asia/Shanghai"),
        received_ns: 1_796_100_000_000_000_000,
    }
}

/// Reads bytes through a reader as the pipeline does; whatever they are, nothing may fall over, and what is refused
/// has a finding.
pub fn read(reader: Reader, bytes: &[u8]) {
    let mut rows = Rows::default();
    match reader {
        Reader::Lines(line) => each_line(bytes, |at| line(at, &mut rows)),
        Reader::Stream(mut stream) => {
            each_line(bytes, |at| stream.line(at, &mut rows));
            stream.end(&mut rows);
        }
        Reader::Document(document) => document(bytes, &mut rows),
    }
    let tables = rows.take("c", "s").expect("rows become columns");
    let findings: usize = tables.parts.iter().filter(|(t, _)| t.as_str() == "finding").map(|(_, b)| b.num_rows()).sum();
    assert!(tables.refused == 0 || findings > 0, "refused without a finding");
}

fn each_line(bytes: &[u8], mut read: impl FnMut(Line)) {
    for chunk in Chunks::new(bytes, Limits::default()).flatten() {
        let last = chunk.lines().last().map(|(number, _)| number);
        for (number, line) in chunk.lines() {
            if let Some((text, _)) = line_text(line).filter(|(text, _)| !text.trim().is_empty()) {
                let cut = chunk.unended && last == Some(number);
                read(Line { text: &text, place: Place::line(number), cut });
            }
        }
    }
}
