//! A reader cut into stretches of whole lines, so that many threads can read one file and every line keeps
//! its number.

use super::Limits;
use std::io::{self, Read};

const STRETCH: usize = 1 << 20;

/// A stretch of whole lines.
#[derive(Debug)]
pub struct Chunk {
    /// Number of the first line, from 1.
    pub first_line: i64,
    /// The lines, each ended by `\n` except perhaps the last of the file.
    pub text: Vec<u8>,
    /// A line that was longer than the limit and is not in `text`: its number and its length in bytes.
    pub too_long: Option<(i64, u64)>,
    /// Whether the last line lacks its line end: the file may have been cut there.
    pub unended: bool,
}

impl Chunk {
    /// The lines with their numbers, without line ends (`\n`, `\r\n`).
    pub fn lines(&self) -> impl Iterator<Item = (i64, &[u8])> {
        let ends = memchr::memchr_iter(b'\n', &self.text).chain(self.unended.then_some(self.text.len()));
        let mut from = 0;
        (self.first_line..).zip(ends).map(move |(number, end)| {
            let line = &self.text[from..end];
            from = end + 1;
            (number, line.strip_suffix(b"\r").unwrap_or(line))
        })
    }
}

/// Cuts a reader into [`Chunk`]s of about 1 MiB.
pub struct Chunks<R> {
    reader: R,
    limits: Limits,
    carry: Vec<u8>,
    next_line: i64,
    done: bool,
    /// An error met while reading: reported once the lines before it have been given.
    failed: Option<io::Error>,
}

impl<R: Read> Chunks<R> {
    /// Starts at line 1.
    pub fn new(reader: R, limits: Limits) -> Self {
        Chunks { reader, limits, carry: Vec::new(), next_line: 1, done: false, failed: None }
    }

    /// Drops the rest of an overlong line; its length so far is in `carry`.
    fn skip_line(&mut self) -> Chunk {
        let mut length = self.carry.len() as u64;
        let mut rest = Vec::new();
        let mut buffer = vec![0; STRETCH];
        loop {
            let n = self.fill(&mut buffer);
            if n == 0 {
                break;
            }
            if let Some(end) = memchr::memchr(b'\n', &buffer[..n]) {
                length += end as u64;
                rest.extend_from_slice(&buffer[end + 1..n]);
                break;
            }
            length += n as u64;
        }
        self.carry = rest;
        let line = self.next_line;
        self.next_line += 1;
        Chunk { first_line: line, text: Vec::new(), too_long: Some((line, length)), unended: false }
    }

    fn next_chunk(&mut self) -> Option<Chunk> {
        if self.done && self.carry.is_empty() {
            return None;
        }
        let mut text = std::mem::take(&mut self.carry);
        let mut searched = 0;
        loop {
            let from = text.len();
            if !self.done && (from < STRETCH || memchr::memrchr(b'\n', &text[searched..]).is_none()) {
                text.resize(from + STRETCH, 0);
                let n = self.fill(&mut text[from..]);
                text.truncate(from + n);
            }
            let end = if self.done { Some(text.len()) } else { memchr::memrchr(b'\n', &text).map(|e| e + 1) };
            match end {
                Some(end) if self.done || text.len() >= STRETCH => {
                    self.carry = text.split_off(end);
                    break;
                }
                Some(_) => {}
                None if text.len() > self.limits.line => {
                    self.carry = text;
                    return Some(self.skip_line());
                }
                None => searched = text.len(),
            }
        }
        if self.carry.len() > self.limits.line && text.is_empty() {
            return Some(self.skip_line());
        }
        let first_line = self.next_line;
        let ends = memchr::memchr_iter(b'\n', &text).count();
        let unended = !text.is_empty() && !text.ends_with(b"\n");
        self.next_line += i64::try_from(ends).unwrap_or(i64::MAX) + i64::from(unended);
        (!text.is_empty()).then_some(Chunk { first_line, text, too_long: None, unended })
    }

    /// Fills the buffer unless the file ends or fails first, so that stretches never depend on how a read was served.
    fn fill(&mut self, buffer: &mut [u8]) -> usize {
        let mut have = 0;
        while have < buffer.len() && !self.done {
            match self.reader.read(&mut buffer[have..]) {
                Ok(0) => self.done = true,
                Ok(n) => have += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.failed = Some(e);
                    self.done = true;
                }
            }
        }
        have
    }
}

impl<R: Read> Iterator for Chunks<R> {
    type Item = io::Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_chunk().map(Ok).or_else(|| self.failed.take().map(Err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(text: &[u8], limits: Limits) -> Vec<(i64, usize)> {
        Chunks::new(text, limits)
            .flat_map(|chunk| {
                let chunk = chunk.unwrap();
                chunk
                    .lines()
                    .map(|(n, line)| (n, line.len()))
                    .chain(chunk.too_long.map(|(n, _)| (n, 0)))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn every_line_keeps_its_number_across_stretches() {
        let text = [b"ab\r\n".repeat(600_000), b"last".to_vec()].concat();
        let lines = numbered(&text, Limits::default());
        assert_eq!(lines.len(), 600_001);
        assert!((1..).zip(&lines).all(|(at, (n, _))| *n == at));
        assert_eq!(lines[599_999..], [(600_000, 2), (600_001, 4)]);
    }

    #[test]
    fn an_overlong_line_is_skipped_and_the_next_is_read() {
        let limits = Limits { line: 2 << 20, ..Limits::default() };
        let text = [&b"a\n"[..], &vec![b'x'; 5 << 20], b"\nb\n"].concat();
        assert_eq!(numbered(&text, limits), [(1, 1), (2, 0), (3, 1)]);
        assert_eq!(numbered(&vec![b'x'; 5 << 20], limits), [(1, 0)]);
    }

    #[test]
    fn lines_before_a_failure_are_given_then_the_failure() {
        struct Torn;
        impl Read for Torn {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::InvalidData.into())
            }
        }
        let mut chunks = Chunks::new((&b"a\nb"[..]).chain(Torn), Limits::default());
        let first = chunks.next().unwrap().unwrap();
        assert_eq!((first.lines().count(), first.unended), (2, true));
        assert!(chunks.next().unwrap().is_err());
        assert!(chunks.next().is_none());
    }

    #[test]
    fn empty_input_has_no_lines_and_blank_lines_count() {
        assert_eq!(numbered(b"", Limits::default()), []);
        assert_eq!(numbered(b"\n\na", Limits::default()), [(1, 0), (2, 0), (3, 1)]);
    }
}
