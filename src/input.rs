//! From a path to readable text: hashing, unpacking, decompression, encoding, and cutting into lines with their numbers.

mod archive;
mod decode;
mod head;
mod lines;
mod text;
mod walk;
mod zone;

pub use archive::{Unpacked, is_archive, unpack};
pub use decode::open;
pub use head::Head;
pub use lines::{Chunk, Chunks};
pub use text::line_text;
pub use walk::walk;
pub use zone::{ZONES, zone};

use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{channel, sync_channel};

/// What an input may at most cost. Beyond a limit there is a finding, never a guess and never a crash.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest line in bytes.
    pub line: usize,
    /// Largest file, decompressed, for formats that must be read whole.
    pub document: usize,
    /// Largest ratio of decompressed to compressed bytes, once more than 64 MiB came out.
    pub ratio: u64,
    /// Most members of an archive, those of archives inside it counted too.
    pub members: usize,
    /// How deep archives may lie inside archives; 1 opens none inside.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { line: 16 << 20, document: 256 << 20, ratio: 200, members: 10_000, depth: 3 }
    }
}

/// SHA-256 of bytes, as 64 lower-case hex digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// SHA-256 and length of a file, copying it to `copy` on the way when given: one thread reads and copies, another
/// hashes.
///
/// # Errors
/// When the file cannot be read or the copy cannot be written; the path says which.
pub fn hash_file(
    path: &Path,
    mut copy: Option<(&mut dyn Write, &Path)>,
    mut progress: impl FnMut(u64),
) -> Result<(String, u64)> {
    let mut file = std::fs::File::open(path).map_err(|e| Error::io("read", path, e))?;
    let (filled, to_hash) = sync_channel::<(Vec<u8>, usize)>(2);
    let (hashed, spare) = channel::<Vec<u8>>();
    std::thread::scope(|scope| {
        let digest = scope.spawn(move || {
            let mut digest = Sha256::new();
            for (buffer, n) in to_hash {
                digest.update(&buffer[..n]);
                // The other side may be done reading.
                let _ = hashed.send(buffer);
            }
            hex(&digest.finalize())
        });
        let stopped = || Error::run("a hashing thread stopped early");
        let mut bytes = 0;
        loop {
            let mut buffer = spare.try_recv().unwrap_or_else(|_| vec![0; 1 << 18]);
            let n = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(Error::io("read", path, e)),
            };
            if let Some((writer, to)) = &mut copy {
                writer.write_all(&buffer[..n]).map_err(|e| Error::io("write", to, e))?;
            }
            filled.send((buffer, n)).map_err(|_| stopped())?;
            bytes += n as u64;
            progress(bytes);
        }
        drop(filled);
        Ok((digest.join().map_err(|_| stopped())?, bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha256_matches_the_published_example() {
        // FIPS 180-4 example: SHA-256("abc").
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
