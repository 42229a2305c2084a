//! Formats: each is registered, sampled, told apart from all others, and reads anything without falling over.

use crate::support::{Trial, checkout, samples};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use probity::finding::Place;
use probity::format::{Context, FORMATS, Format, Line, Match, Reader, USES, recognise};
use probity::input::{Chunks, Head, Limits, line_text};
use probity::ledger::STAGES;
use probity::row::{Rows, Tables};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// What a format reads from these bytes, as the pipeline hands them over.
fn read(format: &dyn Format, file: &str, bytes: &[u8]) -> Tables {
    let context = Context {
        name: file.to_owned(),
        source: "0123456789ab".to_owned(),
        hop: format.hop(),
        clock: None,
        zone: probity::input::zone("UTC"),
        received_ns: 1_796_100_000_000_000_000,
    };
    let mut rows = Rows::default();
    match format.reader(&context) {
        Reader::Lines(line) => each_line(bytes, |at| line(at, &mut rows)),
        Reader::Stream(mut stream) => {
            each_line(bytes, |at| stream.line(at, &mut rows));
            stream.end(&mut rows);
        }
        Reader::Document(document) => document(bytes, &mut rows),
    }
    rows.take("c", "s").unwrap()
}

fn each_line(bytes: &[u8], mut read: impl FnMut(Line)) {
    for chunk in Chunks::new(bytes, Limits::default()) {
        let chunk = chunk.unwrap();
        let last = chunk.lines().last().map(|(number, _)| number);
        for (number, line) in chunk.lines() {
            if let Some((text, _)) = line_text(line).filter(|(text, _)| !text.trim().is_empty()) {
                let cut = chunk.unended && last == Some(number);
                read(Line { text: &text, place: Place::line(number), cut });
            }
        }
    }
}

#[test]
fn files_samples_and_the_register_agree() {
    let registered: BTreeSet<String> = FORMATS.iter().map(|f| f.id().to_owned()).collect();
    assert_eq!(registered.len(), FORMATS.len(), "an id stands twice");
    let folders = std::fs::read_dir(checkout("samples")).unwrap().map(|e| name(&e.unwrap().path()));
    assert_eq!(folders.filter(|folder| folder != "trial").collect::<BTreeSet<_>>(), registered);
    let files = std::fs::read_dir(checkout("src/format")).unwrap().map(|e| e.unwrap().path());
    let implementing = files
        .filter(|path| path.is_file() && std::fs::read_to_string(path).unwrap().contains("impl Format for "))
        .map(|path| name(&path).trim_end_matches(".rs").to_owned());
    assert_eq!(implementing.collect::<BTreeSet<_>>(), registered);
}

#[test]
fn formats_say_what_they_inform() {
    let stages = STAGES.into_iter().filter(|stage| *stage != "unattributed");
    let known: BTreeSet<&str> = stages.chain(["client_wait"]).chain(USES).collect();
    for format in FORMATS {
        let said: BTreeSet<&str> = format.informs().iter().copied().collect();
        assert!(!said.is_empty() && said.len() == format.informs().len(), "{}", format.id());
        assert_eq!(said.difference(&known).count(), 0, "{}: {said:?}", format.id());
    }
}

#[test]
fn every_sample_is_exactly_one_format_and_loads() {
    for format in FORMATS {
        let files = samples(format.id());
        assert!(!files.is_empty() && checkout("samples").join(format.id()).join("README.md").is_file());
        for path in &files {
            let head = Head::read(path, Limits::default()).unwrap();
            let said: Vec<_> = recognise(&head).iter().map(|r| r.format.id()).collect();
            assert_eq!(said, [format.id()], "{}", path.display());
        }
        let loaded = Trial::new().load(&files, &[]).exits(0).json();
        for file in loaded.as_array().unwrap() {
            assert_eq!((&file["outcome"], &file["format"]), (&"loaded".into(), &format.id().into()));
            assert!(file["read"].as_i64() > Some(0) && file["refused"] == 0, "{file}");
        }
    }
}

/// Other clothes of the same bytes: their name, and how to put them on. Text clothes fit text only.
type Way = (&'static str, fn(&[u8]) -> Vec<u8>);
const PACKED: [Way; 3] = [
    ("gzip", |bytes| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, bytes).unwrap();
        out.finish().unwrap()
    }),
    ("zstd", |bytes| zstd::encode_all(bytes, 1).unwrap()),
    ("zip", |bytes| crate::archive::zip(&[("folder/member", bytes)])),
];
const TEXT: [Way; 3] = [
    ("byte-order mark", |bytes| [b"\xef\xbb\xbf", bytes].concat()),
    ("UTF-16", |bytes| {
        let units = str::from_utf8(bytes).unwrap().encode_utf16().flat_map(u16::to_le_bytes);
        [0xff, 0xfe].into_iter().chain(units).collect()
    }),
    ("CRLF", |bytes| str::from_utf8(bytes).unwrap().replace("\r\n", "\n").replace('\n', "\r\n").into_bytes()),
];

/// Bytes as they are read: archives opened, compression and encodings undone.
fn opened(path: &Path, scratch: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut read = |path: &Path| {
        probity::input::open(path, Limits::default()).unwrap().read_to_end(&mut bytes).unwrap();
    };
    if !probity::input::is_archive(path).unwrap() {
        read(path);
        return bytes;
    }
    probity::input::unpack(path, scratch, Limits::default(), &mut |_, member| {
        read(member.unwrap());
        Ok(())
    })
    .unwrap();
    bytes
}

#[test]
fn samples_in_other_clothes_are_the_same_format_and_rows() {
    let folder = tempfile::tempdir().unwrap();
    let worn = folder.path().join("worn");
    for format in FORMATS {
        for path in samples(format.id()) {
            let plain = opened(&path, folder.path());
            let is_text = str::from_utf8(&plain).is_ok_and(|text| !text.contains('\0'));
            let want = read(*format, &name(&path), &plain).parts;
            for (way, wear) in PACKED.iter().chain(TEXT.iter().filter(|_| is_text)) {
                std::fs::write(&worn, wear(&plain)).unwrap();
                let bytes = opened(&worn, folder.path());
                let at = format!("{} as {way}", path.display());
                let said: Vec<_> =
                    recognise(&Head::of(&name(&path), &bytes)).iter().map(|r| r.format.id()).collect();
                assert_eq!(said, [format.id()], "{at}");
                assert!(read(*format, &name(&path), &bytes).parts == want, "{at} gives other rows");
            }
        }
    }
}

#[test]
fn readers_read_the_samples_as_before() {
    for format in FORMATS {
        for path in samples(format.id()) {
            let tables = read(*format, &name(&path), &std::fs::read(&path).unwrap());
            let snapshot = format!("{}__{}", format.id(), name(&path).replace('.', "_"));
            insta::assert_snapshot!(snapshot, summary(&tables));
        }
    }
}

/// Counts, and the first and the last row of every table with what is known in them.
fn summary(tables: &Tables) -> String {
    let mut text = format!("read {} refused {}\n", tables.read, tables.refused);
    let options = FormatOptions::default();
    for (table, batch) in tables.parts.iter().filter(|(_, batch)| batch.num_rows() > 0) {
        writeln!(text, "{}: {} rows", table.as_str(), batch.num_rows()).unwrap();
        let rows: BTreeSet<usize> = [0, batch.num_rows() - 1].into();
        for row in rows {
            text.push(' ');
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()).skip(2) {
                if !column.is_null(row) {
                    let cell =
                        ArrayFormatter::try_new(column.as_ref(), &options).unwrap().value(row).to_string();
                    write!(text, " {}={cell}", field.name()).unwrap();
                }
            }
            text.push('\n');
        }
    }
    text
}

/// A way to damage a file; positions are shares of its length, in 65536ths.
#[derive(Clone, Debug)]
enum Damage {
    Cut(u16),
    Flip(Vec<(u16, u8)>),
    /// What stands between the first two is put again at the third.
    Splice(u16, u16, u16),
    /// A number grows beyond every type.
    Grow(u16),
}

impl Damage {
    fn any() -> impl Strategy<Value = Damage> {
        prop_oneof![
            any::<u16>().prop_map(Damage::Cut),
            prop::collection::vec((any::<u16>(), 0_u8..8), 1..12).prop_map(Damage::Flip),
            any::<(u16, u16, u16)>().prop_map(|(a, b, c)| Damage::Splice(a, b, c)),
            any::<u16>().prop_map(Damage::Grow),
        ]
    }

    fn to(&self, bytes: &[u8]) -> Vec<u8> {
        let at = |share: u16| usize::from(share) * bytes.len() / 65536;
        let mut out = bytes.to_vec();
        match self {
            Damage::Cut(end) => out.truncate(at(*end)),
            Damage::Flip(flips) => flips.iter().for_each(|(share, bit)| out[at(*share)] ^= 1 << bit),
            Damage::Splice(a, b, c) => {
                let piece = bytes[at(*a.min(b))..at(*a.max(b))].to_vec();
                out.splice(at(*c)..at(*c), piece);
            }
            Damage::Grow(from) => {
                let found = bytes[at(*from)..].iter().position(u8::is_ascii_digit).map(|n| at(*from) + n);
                out.splice(found.map_or(0..0, |n| n..n), b"99999999999999999999".to_vec());
            }
        }
        out
    }
}

/// Reads anything: nothing falls over, and what is refused has a finding.
fn stands(format: &dyn Format, file: &str, bytes: &[u8]) {
    let _: Match = format.recognise(&Head::of(file, bytes));
    let tables = read(format, file, bytes);
    let findings = tables.parts.iter().find(|(table, _)| table.as_str() == "finding").unwrap();
    assert!(tables.refused == 0 || findings.1.num_rows() > 0, "refused without a finding");
}

/// The same for long: every reader for `PROBITY_FUZZ_SECONDS` (60), damage upon damage. `fuzz/run` looks deeper where
/// the nightly toolchain is at hand.
#[test]
#[ignore = "runs a minute for every format"]
fn no_reader_falls_over_for_a_minute() {
    let seconds = std::env::var("PROBITY_FUZZ_SECONDS").map_or(60, |text| text.parse().unwrap());
    for format in FORMATS {
        let files: Vec<_> =
            samples(format.id()).iter().map(|p| (name(p), std::fs::read(p).unwrap())).collect();
        let mut runner =
            TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let damages = (0..files.len(), prop::collection::vec(Damage::any(), 1..6));
        let (begun, mut runs) = (Instant::now(), 0_u64);
        while begun.elapsed().as_secs() < seconds {
            let (file, damages) = damages.new_tree(&mut runner).unwrap().current();
            let (file, bytes) = &files[file];
            // What is damaged stays short, so that there are many runs.
            let mut bytes = bytes[..bytes.len().min(1 << 16)].to_vec();
            for damage in &damages {
                if !bytes.is_empty() {
                    bytes = damage.to(&bytes);
                }
            }
            stands(*format, file, &bytes);
            runs += 1;
        }
        println!("{}: {runs} runs", format.id());
    }
}

#[test]
fn no_reader_falls_over_damaged_files() {
    for format in FORMATS {
        let files: Vec<(String, Vec<u8>)> =
            samples(format.id()).iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect();
        let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let cases = (0..files.len(), Damage::any());
        let result = runner.run(&cases, |(file, damage)| {
            let (file, bytes) = &files[file];
            stands(*format, file, &damage.to(bytes));
            Ok(())
        });
        assert!(result.is_ok(), "{}: {}", format.id(), result.unwrap_err());
    }
}
