//! Reading one source on all cores with bounded memory: one thread cuts lines, the others parse them, and the
//! caller writes the results in the order of the file.

use super::part::Parts;
use crate::error::{Error, Result};
use crate::finding::{Code, Place};
use crate::format::{Line, LineReader, Reader, Stream};
use crate::input::{Chunk, Chunks, Limits, line_text, open};
use crate::row::{Rows, Tables};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Stretches in flight between two threads: enough to keep them busy, few enough to bound memory.
const IN_FLIGHT: usize = 2;

/// Whose rows they are: the constant columns.
#[derive(Clone, Copy)]
pub struct Owner<'a> {
    pub candidate: &'a str,
    pub source: &'a str,
}

/// Reads `path` through `reader` into `parts`. `advance` is told the decoded bytes taken so far.
pub fn read(
    path: &Path,
    reader: Reader,
    limits: Limits,
    owner: Owner,
    parts: &mut Parts,
    advance: &mut dyn FnMut(u64),
) -> Result<()> {
    let bytes = open(path, limits)?;
    match reader {
        Reader::Lines(line) => lines(bytes, &line, limits, owner, parts, advance),
        Reader::Stream(stream) => in_order(bytes, stream, limits, owner, parts, advance),
        Reader::Document(document) => {
            let mut rows = Rows::default();
            match whole(bytes, limits) {
                Ok(Some(text)) => {
                    advance(text.len() as u64);
                    document(&text, &mut rows);
                }
                Ok(None) => rows.refuse(
                    Code::FileTooLarge,
                    Place::FILE,
                    &format!("more than {} MiB", limits.document >> 20),
                ),
                Err(error) => rows.refuse(Code::CompressionBad, Place::FILE, &error.to_string()),
            }
            parts.write(rows.take(owner.candidate, owner.source)?)
        }
    }
}

fn whole(bytes: impl Read, limits: Limits) -> std::io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    bytes.take(limits.document as u64 + 1).read_to_end(&mut text)?;
    Ok((text.len() <= limits.document).then_some(text))
}

/// Hands every line of a stretch to `read` as text; what cannot be text is refused here.
fn each_line(chunk: &Chunk, limits: Limits, rows: &mut Rows, mut read: impl FnMut(Line, &mut Rows)) {
    let mut gbk = false;
    if let Some((line, length)) = chunk.too_long {
        rows.refuse(Code::LineTooLong, Place::line(line), &format!("{length} bytes"));
    }
    let last = if chunk.unended { chunk.lines().last().map(|(number, _)| number) } else { None };
    for (number, bytes) in chunk.lines() {
        let place = Place::line(number);
        if bytes.len() > limits.line {
            rows.refuse(Code::LineTooLong, place, &format!("{} bytes", bytes.len()));
            continue;
        }
        let nuls = bytes.iter().take_while(|b| **b == 0).count();
        if nuls > 0 {
            rows.finding(Code::NulBytes, place, &format!("{nuls} bytes"));
        }
        let bytes = bytes.get(nuls..).unwrap_or_default();
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match line_text(bytes) {
            Some((text, was_gbk)) => {
                if was_gbk && !std::mem::replace(&mut gbk, true) {
                    rows.finding(Code::TextEncoding, place, "GBK / GB 18030");
                }
                read(Line { text: &text, place, cut: last == Some(number) }, rows);
            }
            None => rows.refuse(Code::TextInvalid, place, "neither UTF-8 nor GBK"),
        }
    }
}

fn in_order(
    bytes: impl Read,
    mut stream: Box<dyn Stream>,
    limits: Limits,
    owner: Owner,
    parts: &mut Parts,
    advance: &mut dyn FnMut(u64),
) -> Result<()> {
    let (mut rows, mut taken) = (Rows::default(), 0);
    for chunk in Chunks::new(bytes, limits) {
        match chunk {
            Ok(chunk) => {
                taken += chunk.text.len() as u64;
                each_line(&chunk, limits, &mut rows, |line, rows| stream.line(line, rows));
                parts.write(rows.take(owner.candidate, owner.source)?)?;
                advance(taken);
            }
            Err(error) => rows.refuse(Code::CompressionBad, Place::FILE, &error.to_string()),
        }
    }
    stream.end(&mut rows);
    parts.write(rows.take(owner.candidate, owner.source)?)
}

type Numbered<T> = (usize, u64, T);

fn lines(
    bytes: Box<dyn Read + Send>,
    read: &LineReader,
    limits: Limits,
    owner: Owner,
    parts: &mut Parts,
    advance: &mut dyn FnMut(u64),
) -> Result<()> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (chunks_in, chunks_out) = sync_channel(IN_FLIGHT);
    let (tables_in, tables_out) = sync_channel(workers * IN_FLIGHT);
    let chunks_out = Arc::new(Mutex::new(chunks_out));
    std::thread::scope(|scope| {
        scope.spawn(move || cut(bytes, limits, &chunks_in));
        for _ in 0..workers {
            let (chunks, tables) = (Arc::clone(&chunks_out), tables_in.clone());
            scope.spawn(move || parse(&chunks, read, limits, owner, &tables));
        }
        // Only the workers may keep these: when they stop, the loops on the other side end.
        drop((chunks_out, tables_in));
        let result = write_in_order(&tables_out, parts, advance);
        drop(tables_out);
        result
    })
}

fn cut(bytes: impl Read, limits: Limits, out: &SyncSender<Numbered<std::io::Result<Chunk>>>) {
    let mut taken = 0;
    for (number, chunk) in Chunks::new(bytes, limits).enumerate() {
        taken += chunk.as_ref().map_or(0, |c| c.text.len() as u64);
        if out.send((number, taken, chunk)).is_err() {
            return; // the writer gave up: a full disk, say
        }
    }
}

fn parse(
    chunks: &Mutex<Receiver<Numbered<std::io::Result<Chunk>>>>,
    read: &LineReader,
    limits: Limits,
    owner: Owner,
    out: &SyncSender<Numbered<Result<Tables>>>,
) {
    loop {
        let next = chunks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, taken, chunk)) = next else { return };
        let mut rows = Rows::default();
        match chunk {
            Ok(chunk) => each_line(&chunk, limits, &mut rows, |line, rows| read(line, rows)),
            Err(error) => rows.refuse(Code::CompressionBad, Place::FILE, &error.to_string()),
        }
        if out.send((number, taken, rows.take(owner.candidate, owner.source))).is_err() {
            return;
        }
    }
}

fn write_in_order(
    tables: &Receiver<Numbered<Result<Tables>>>,
    parts: &mut Parts,
    advance: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for (number, taken, stretch) in tables {
        waiting.insert(number, (taken, stretch));
        while let Some((taken, stretch)) = waiting.remove(&next) {
            parts.write(stretch?)?;
            advance(taken);
            next += 1;
        }
    }
    if waiting.is_empty() { Ok(()) } else { Err(Error::run("a reading thread stopped early")) }
}
