//! Zip archives: every member becomes a file of its own, named `archive.zip!member`, within limits.
//!
//! A member is never written under its own name, so no name can lead out of a folder.

use super::{Limits, line_text};
use crate::error::{Error, Result};
use crate::finding::Code;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// Bytes that any archive may unpack to, whatever the ratio.
const FREE: u64 = 64 << 20;

/// What becomes of a member: a file in the scratch folder, valid until the next one, or why it is refused.
pub type Unpacked<'a> = std::result::Result<&'a Path, (Code, String)>;

/// Told of every member: its name with those of the archives around it, and what became of it.
pub type Visit<'a> = dyn FnMut(&str, Unpacked) -> Result<()> + 'a;

/// Whether a file is a zip archive of files; an office workbook, a zip inside, is one file.
///
/// # Errors
/// The file cannot be read.
pub fn is_archive(path: &Path) -> Result<bool> {
    let mut file = File::open(path).map_err(|e| Error::io("read", path, e))?;
    let mut magic = [0; 4];
    if file.read_exact(&mut magic).is_err() || !matches!(&magic, b"PK\x03\x04" | b"PK\x05\x06") {
        return Ok(false);
    }
    let workbook =
        |zip: &ZipArchive<_>| zip.file_names_raw().any(|n| n == b"[Content_Types].xml" || n == b"mimetype");
    Ok(ZipArchive::new(BufReader::new(file)).map_or(true, |zip| !workbook(&zip)))
}

/// Unpacks the archive at `path` into `scratch`, one member after the other, archives inside it too.
///
/// # Errors
/// The scratch folder cannot be written, or `visit` fails. What is wrong with the archive is told to `visit`.
pub fn unpack(path: &Path, scratch: &Path, limits: Limits, visit: &mut Visit) -> Result<()> {
    let taken = std::fs::metadata(path).map_err(|e| Error::io("read", path, e))?.len();
    let name = path.display().to_string();
    Unpacker { scratch, limits, taken: taken.max(1), given: 0, members: 0, visit }
        .archive(path, &name, 1)
        .map(|_| ())
}

struct Unpacker<'a, 'v> {
    scratch: &'a Path,
    limits: Limits,
    /// Bytes of the outermost archive.
    taken: u64,
    /// Bytes unpacked so far, at any depth.
    given: u64,
    members: usize,
    visit: &'a mut Visit<'v>,
}

impl Unpacker<'_, '_> {
    /// Whether there may be more: after a limit is met, nothing is unpacked.
    fn archive(&mut self, path: &Path, name: &str, depth: usize) -> Result<bool> {
        let file = File::open(path).map_err(|e| Error::io("read", path, e))?;
        let mut zip = match ZipArchive::new(BufReader::new(file)) {
            Ok(zip) => zip,
            Err(error) => return self.refuse(name, Code::ArchiveBad, error.to_string()).map(|()| true),
        };
        if zip.has_duplicate_names() {
            let detail = "two members have one name: the last of them is read".to_owned();
            self.refuse(name, Code::MemberName, detail)?;
        }
        let mut seen = BTreeSet::new();
        for at in 0..zip.len() {
            let member = match zip.by_index_raw(at) {
                Ok(member) if member.is_dir() => continue,
                Ok(member) => (member_name(member.name_raw()), member.encrypted()),
                Err(error) => {
                    self.refuse(name, Code::ArchiveBad, format!("member {at}: {error}"))?;
                    continue;
                }
            };
            let (inner, encrypted) = member;
            let full = format!("{name}!{inner}");
            self.members += 1;
            if self.members > self.limits.members {
                let detail = format!("more than {} members: the rest is not read", self.limits.members);
                return self.refuse(name, Code::ArchiveLimit, detail).map(|()| false);
            }
            if unsafe_name(&inner) {
                self.refuse(&full, Code::MemberName, "the name leads out of the archive".to_owned())?;
            } else if !seen.insert(inner.to_lowercase()) {
                self.refuse(&full, Code::MemberName, "another member has this name".to_owned())?;
            } else if encrypted {
                self.refuse(&full, Code::MemberEncrypted, String::new())?;
            } else if !inner.split('/').any(|part| part.starts_with('.') || part == "__MACOSX") {
                let scratch = self.scratch.join(format!("member-{depth}"));
                match zip.by_index(at) {
                    Ok(member) => {
                        if !self.member(member, &scratch, &full, depth)? {
                            return Ok(false);
                        }
                    }
                    Err(error) => self.refuse(&full, Code::ArchiveBad, error.to_string())?,
                }
            }
        }
        Ok(true)
    }

    fn member(&mut self, mut member: impl Read, scratch: &PathBuf, name: &str, depth: usize) -> Result<bool> {
        let mut out = File::create(scratch).map_err(|e| Error::io("write", scratch, e))?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let n = match member.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return self.refuse(name, Code::CompressionBad, error.to_string()).map(|()| true);
                }
            };
            self.given += n as u64;
            if self.given > FREE && self.given / self.taken > self.limits.ratio {
                let detail = format!("unpacks to more than {} times the archive", self.limits.ratio);
                return self.refuse(name, Code::CompressionBad, detail).map(|()| false);
            }
            out.write_all(buffer.get(..n).unwrap_or_default()).map_err(|e| Error::io("write", scratch, e))?;
        }
        drop(out);
        if !is_archive(scratch)? {
            (self.visit)(name, Ok(scratch))?;
        } else if depth < self.limits.depth {
            return self.archive(scratch, name, depth + 1);
        } else {
            let detail = format!("archives inside archives, more than {} deep", self.limits.depth);
            self.refuse(name, Code::ArchiveLimit, detail)?;
        }
        Ok(true)
    }

    fn refuse(&mut self, name: &str, code: Code, detail: String) -> Result<()> {
        (self.visit)(name, Err((code, detail)))
    }
}

/// A member's name with `/` between folders. Names that are not UTF-8 are GBK where that fits: zip has no word for it.
fn member_name(raw: &[u8]) -> String {
    let name = line_text(raw).map_or_else(|| String::from_utf8_lossy(raw), |(name, _)| name);
    name.replace('\\', "/")
}

fn unsafe_name(name: &str) -> bool {
    let drive = name.as_bytes().get(1) == Some(&b':');
    name.is_empty()
        || name.starts_with('/')
        || drive
        || name.split('/').any(|part| part == "..")
        || name.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use zip::write::{SimpleFileOptions, ZipWriter};

    fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, bytes) in members {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    /// `name=bytes` or `name:code` of every member.
    fn told(bytes: &[u8], limits: Limits) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zip");
        std::fs::write(&path, bytes).unwrap();
        let prefix = path.display().to_string();
        let mut told = Vec::new();
        unpack(&path, folder.path(), limits, &mut |name, member| {
            let name = name.strip_prefix(&prefix).unwrap();
            told.push(match member {
                Ok(file) => format!("{name}={}", std::fs::read(file).unwrap().len()),
                Err((code, _)) => format!("{name}:{code}"),
            });
            Ok(())
        })
        .unwrap();
        told
    }

    #[test]
    fn members_come_in_order_and_archives_inside_are_opened() {
        let inner = archive(&[("c.txt", b"xyz")]);
        let bytes = archive(&[("a.log", b"1"), ("dir/b.log", b"22"), (".hidden", b""), ("in.zip", &inner)]);
        assert_eq!(told(&bytes, Limits::default()), ["!a.log=1", "!dir/b.log=2", "!in.zip!c.txt=3"]);
        let flat = Limits { depth: 1, ..Limits::default() };
        assert_eq!(told(&bytes, flat).last().unwrap(), "!in.zip:archive-limit");
    }

    #[test]
    fn names_that_lead_out_or_stand_twice_are_refused() {
        let bytes =
            archive(&[("../../x", b"1"), ("/etc/x", b"1"), ("C:\\x", b"1"), ("a", b"1"), ("A", b"2")]);
        let told = told(&bytes, Limits::default());
        assert_eq!(
            told,
            ["!../../x:member-name", "!/etc/x:member-name", "!C:/x:member-name", "!a=1", "!A:member-name"]
        );
    }

    #[test]
    fn a_bomb_stops_at_the_ratio_and_a_crowd_at_the_count() {
        let zeros = vec![0; 40 << 20];
        let bytes = archive(&[("a", &zeros), ("b", &zeros), ("c", b"1")]);
        assert_eq!(told(&bytes, Limits::default()), ["!a=41943040", "!b:compression-bad"]);
        let two = Limits { members: 2, ..Limits::default() };
        let crowd = archive(&[("a", b"1"), ("b", b"1"), ("c", b"1")]);
        assert_eq!(told(&crowd, two), ["!a=1", "!b=1", ":archive-limit"]);
    }

    #[test]
    fn encrypted_and_cut_archives_are_refused() {
        let mut bytes = archive(&[("a", b"1")]);
        // The flag word of the local header and of the central directory: bit 0 means encrypted.
        let central = memchr::memmem::find(&bytes, b"PK\x01\x02").unwrap();
        bytes[6] |= 1;
        bytes[central + 8] |= 1;
        assert_eq!(told(&bytes, Limits::default()), ["!a:member-encrypted"]);
        assert_eq!(told(&bytes[..central], Limits::default()), [":archive-bad"]);
    }

    #[test]
    fn chinese_names_are_read_in_either_encoding() {
        let (gbk, _, _) = encoding_rs::GBK.encode("日志\\网关.log");
        assert_eq!(member_name(&gbk), "日志/网关.log");
        assert_eq!(member_name("网关.log".as_bytes()), "网关.log");
    }
}
