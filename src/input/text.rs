//! Byte-order marks, UTF-16, line ends of old, and lines that are not UTF-8.

use std::borrow::Cow;
use std::io::{self, Read};

/// Strips a UTF-8 byte-order mark and turns UTF-16 (either order, marked) into UTF-8; other bytes pass.
///
/// An error that comes before the mark could be seen comes out when the result is read.
pub fn decoded(bytes: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    line_ends(utf8(bytes))
}

/// Turns lone carriage returns into line feeds where the beginning has no other line ends; else bytes pass. A
/// progress bar in a log, which rewrites its line with them, is no line end.
fn line_ends(mut bytes: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    let mut head = Vec::new();
    if let Err(e) = bytes.by_ref().take(1 << 16).read_to_end(&mut head) {
        return Box::new(io::Cursor::new(head).chain(Broken(Some(e))));
    }
    let returns = head.contains(&b'\r') && !head.iter().any(|b| *b == b'\n' || *b < b'\t');
    let bytes = io::Cursor::new(head).chain(bytes);
    if returns { Box::new(Returns(bytes)) } else { Box::new(bytes) }
}

/// Every carriage return as a line feed.
struct Returns<R>(R);

impl<R: Read> Read for Returns<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(out)?;
        out.iter_mut().take(n).filter(|b| **b == b'\r').for_each(|b| *b = b'\n');
        Ok(n)
    }
}

fn utf8(mut bytes: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    let mut head = [0; 3];
    let mut have = 0;
    while have < head.len() {
        match bytes.read(&mut head[have..]) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Box::new(Broken(Some(e))),
        }
    }
    let head = head[..have].to_vec();
    let encoding = match head.as_slice() {
        [0xef, 0xbb, 0xbf] => return bytes,
        [0xff, 0xfe, ..] => encoding_rs::UTF_16LE,
        [0xfe, 0xff, ..] => encoding_rs::UTF_16BE,
        _ => return Box::new(io::Cursor::new(head).chain(bytes)),
    };
    let rest = io::Cursor::new(head[2..].to_vec()).chain(bytes);
    Box::new(Transcoder {
        inner: rest,
        decoder: encoding.new_decoder(),
        ready: Vec::new(),
        at: 0,
        done: false,
    })
}

/// Fails once, then ends.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

struct Transcoder<R> {
    inner: R,
    decoder: encoding_rs::Decoder,
    ready: Vec<u8>,
    at: usize,
    done: bool,
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.ready.len() && !self.done {
            let mut raw = [0; 1 << 14];
            let n = self.inner.read(&mut raw)?;
            self.done = n == 0;
            let mut text = String::with_capacity(n * 2 + 16);
            let _ = self.decoder.decode_to_string(&raw[..n], &mut text, self.done);
            self.ready = text.into_bytes();
            self.at = 0;
        }
        let n = out.len().min(self.ready.len() - self.at);
        out[..n].copy_from_slice(&self.ready[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// A line as text: UTF-8 as it is, else GBK (GB 18030) when every byte pair is valid there. A byte-order mark
/// before it, which joining files leaves in the middle, is dropped.
///
/// The flag says whether it had to be read as GBK; `None` when it is neither.
#[must_use]
pub fn line_text(line: &[u8]) -> Option<(Cow<'_, str>, bool)> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if let Ok(text) = std::str::from_utf8(line) {
        return Some((Cow::Borrowed(text), false));
    }
    encoding_rs::GB18030
        .decode_without_bom_handling_and_without_replacement(line)
        .map(|text| (Cow::Owned(text.into_owned()), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &'static [u8]) -> Vec<u8> {
        let mut out = Vec::new();
        decoded(Box::new(bytes)).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn lone_carriage_returns_end_lines_only_where_nothing_else_does() {
        assert_eq!(whole(b"a\rb\r"), b"a\nb\n");
        assert_eq!(whole(b"10%\r20%\ndone\n"), b"10%\r20%\ndone\n");
        assert_eq!(whole(b"\x01\r\x02"), b"\x01\r\x02");
        assert_eq!(line_text(b"\xef\xbb\xbf{}"), Some((Cow::Borrowed("{}"), false)));
    }

    #[test]
    fn gbk_is_recognised_and_garbage_is_not() {
        let (gbk, _, _) = encoding_rs::GBK.encode("首字延迟");
        assert_eq!(line_text(&gbk), Some((Cow::Owned("首字延迟".to_owned()), true)));
        assert_eq!(line_text("首字".as_bytes()), Some((Cow::Borrowed("首字"), false)));
        assert_eq!(line_text(&[b'a', 0xff, 0x00]), None);
    }
}
