//! The beginning of a file, which is all that recognising may look at.

use super::{Limits, line_text, open};
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
    /// Why decompression broke off within the head, if it did.
    pub broken: Option<String>,
    /// The bytes with their GBK lines turned into UTF-8, where there are any.
    pub(crate) text: Option<Vec<u8>>,
}

/// Bytes that are not UTF-8, with every line that is GBK turned into it.
fn text(bytes: &[u8]) -> Option<Vec<u8>> {
    let bad = std::str::from_utf8(bytes).err()?;
    // A character cut by the end of the head is no other encoding.
    bad.error_len()?;
    let mut text = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        match line_text(line) {
            Some((line, _)) => text.extend_from_slice(line.as_bytes()),
            None => text.extend_from_slice(line),
        }
    }
    Some(text)
}

impl Head {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// When the file cannot be opened. Broken compressed data ends the head early, and `broken` says so.
    pub fn read(path: &Path, limits: Limits) -> Result<Head> {
        let mut bytes = Vec::new();
        let broken = open(path, limits)?.take(HEAD_BYTES + 1).read_to_end(&mut bytes).err();
        let whole = bytes.len() as u64 <= HEAD_BYTES;
        bytes.truncate(usize::try_from(HEAD_BYTES).unwrap_or(usize::MAX));
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let text = text(&bytes);
        Ok(Head { name, bytes, whole, broken: broken.map(|e| e.to_string()), text })
    }

    /// A head from bytes in hand.
    #[must_use]
    pub fn of(name: &str, bytes: &[u8]) -> Head {
        let cut = bytes.len().min(1 << 16);
        let (whole, bytes) = (cut == bytes.len(), bytes[..cut].to_vec());
        Head { name: name.to_owned(), text: text(&bytes), bytes, whole, broken: None }
    }

    /// Whole lines of the head as text, blank ones left out; a line cut by the end of the head is not given
    /// unless it is the only one.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        let bytes = self.text.as_ref().unwrap_or(&self.bytes);
        let end = if self.whole { bytes.len() } else { memchr::memrchr(b'\n', bytes).unwrap_or(bytes.len()) };
        bytes[..end]
            .split(|b| *b == b'\n')
            .filter_map(|line| std::str::from_utf8(line).ok())
            .map(|line| line.trim_start_matches(['\u{feff}', '\0']).trim())
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
