//! The beginning of a file, which is all that recognising may look at.

use super::{Limits, open};
use crate::error::Result;
use std::io::Read;
use std::path::Path;

const HEAD_BYTES: u64 = 1 << 16;

/// The first 64 KiB of a file, decompressed and decoded, plus its name.
#[derive(Clone, Debug)]
pub struct Head {
    /// File name without folders; a hint for times only, never for the format.
    pub name: String,
    /// Decoded bytes.
    pub bytes: Vec<u8>,
    /// Whether this is the whole file.
    pub whole: bool,
}

impl Head {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// When the file cannot be opened. Broken compressed data ends the head early.
    pub fn read(path: &Path, limits: Limits) -> Result<Head> {
        let mut bytes = Vec::new();
        // Broken compression is reported with its place when the file is read, not here.
        let _ = open(path, limits)?.take(HEAD_BYTES + 1).read_to_end(&mut bytes);
        let whole = bytes.len() as u64 <= HEAD_BYTES;
        bytes.truncate(usize::try_from(HEAD_BYTES).unwrap_or(usize::MAX));
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Head { name, bytes, whole })
    }

    /// A head from bytes in hand.
    #[must_use]
    pub fn of(name: &str, bytes: &[u8]) -> Head {
        let cut = bytes.len().min(1 << 16);
        Head { name: name.to_owned(), bytes: bytes[..cut].to_vec(), whole: cut == bytes.len() }
    }

    /// Whole lines of the head as text, blank ones left out; a line cut by the end of the head is not given
    /// unless it is the only one.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        let end = if self.whole {
            self.bytes.len()
        } else {
            memchr::memrchr(b'\n', &self.bytes).unwrap_or(self.bytes.len())
        };
        self.bytes[..end]
            .split(|b| *b == b'\n')
            .filter_map(|line| std::str::from_utf8(line).ok())
            .map(str::trim)
            .filter(|line| !line.is_empty())
    }

    /// Whether the head, cut or not, contains `needle`.
    #[must_use]
    pub fn contains(&self, needle: &str) -> bool {
        memchr::memmem::find(&self.bytes, needle.as_bytes()).is_some()
    }

    /// First byte that is not white space.
    #[must_use]
    pub fn first_byte(&self) -> Option<u8> {
        self.bytes.iter().copied().find(|b| !b.is_ascii_whitespace())
    }
}
