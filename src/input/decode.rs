//! Opening a file: gzip and zstd undone, byte-order marks and UTF-16 turned into UTF-8.

use super::{Limits, text};
use crate::error::{Error, Result};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The message of the I/O error raised when decompression goes beyond [`Limits::ratio`].
const RATIO: &str = "decompresses to more than the allowed ratio";

/// Opens `path` for reading as UTF-8 text or plain bytes, by content, never by extension.
///
/// # Errors
/// When the file cannot be opened. Errors inside compressed data surface while reading.
pub fn open(path: &Path, limits: Limits) -> Result<Box<dyn Read + Send>> {
    let file = std::fs::File::open(path).map_err(|e| Error::io("read", path, e))?;
    let taken = Arc::new(AtomicU64::new(0));
    let counted = Counted { inner: file, taken: Arc::clone(&taken) };
    let mut reader = BufReader::with_capacity(1 << 18, counted);
    let magic = peek(&mut reader, 4).map_err(|e| Error::io("read", path, e))?;
    let bytes: Box<dyn Read + Send> = match magic.as_slice() {
        [0x1f, 0x8b, ..] => {
            let inner = flate2::bufread::MultiGzDecoder::new(reader);
            Box::new(Bounded { inner, taken, given: 0, ratio: limits.ratio })
        }
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let inner = zstd::stream::read::Decoder::with_buffer(reader)
                .map_err(|e| Error::io("decompress", path, e))?;
            Box::new(Bounded { inner, taken, given: 0, ratio: limits.ratio })
        }
        _ => Box::new(reader),
    };
    Ok(text::decoded(bytes))
}

/// The first `n` bytes without consuming them (fewer at the end of the file).
fn peek(reader: &mut BufReader<impl Read>, n: usize) -> io::Result<Vec<u8>> {
    use io::BufRead;
    Ok(reader.fill_buf()?.iter().copied().take(n).collect())
}

struct Counted<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.taken.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

struct Bounded<R> {
    inner: R,
    taken: Arc<AtomicU64>,
    given: u64,
    ratio: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.given += n as u64;
        let taken = self.taken.load(Ordering::Relaxed).max(1);
        if self.given > 64 << 20 && self.given / taken > self.ratio {
            return Err(io::Error::new(io::ErrorKind::InvalidData, RATIO));
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(bytes)?;
        let mut out = Vec::new();
        open(file.path(), Limits::default()).map_err(io::Error::other)?.read_to_end(&mut out)?;
        Ok(out)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_members_zstd_bom_and_utf16_all_become_utf8() {
        let two = [gzip(b"a\n"), gzip(b"b\n")].concat();
        assert_eq!(read(&two).unwrap(), b"a\nb\n");
        assert_eq!(read(&zstd::encode_all(&b"z"[..], 1).unwrap()).unwrap(), b"z");
        assert_eq!(read(b"\xef\xbb\xbf{}").unwrap(), b"{}");
        assert_eq!(read(b"\xff\xfeh\0i\0").unwrap(), b"hi");
        assert_eq!(read(b"").unwrap(), b"");
    }

    #[test]
    fn a_bomb_and_a_cut_archive_are_errors() {
        let bomb = gzip(&vec![0; 80 << 20]);
        assert_eq!(read(&bomb).unwrap_err().to_string(), RATIO);
        let whole = gzip(&b"abc".repeat(1000));
        assert!(read(&whole[..whole.len() / 2]).is_err());
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&zstd::encode_all(&b"abc".repeat(1000)[..], 1).unwrap()[..9]).unwrap();
        let mut reader = open(file.path(), Limits::default()).unwrap();
        assert!(reader.read_to_end(&mut Vec::new()).is_err(), "it opens, and fails when it is read");
    }
}
