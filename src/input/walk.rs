//! Files behind the paths a person gives: files as they are, folders in a fixed order.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Every file behind `paths`, sorted within each folder; the flag says whether it was found inside a folder.
///
/// Hidden files and links out of a folder are not followed.
///
/// # Errors
/// A path that does not exist or cannot be listed.
pub fn walk(paths: &[PathBuf]) -> Result<Vec<(PathBuf, bool)>> {
    let mut files = Vec::new();
    for path in paths {
        let kind = std::fs::metadata(path).map_err(|e| Error::io("read", path, e))?;
        if !kind.is_dir() {
            files.push((path.clone(), false));
            continue;
        }
        let entries = walkdir::WalkDir::new(path)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| entry.depth() == 0 || !hidden(entry.path()));
        for entry in entries {
            let entry = entry.map_err(|e| {
                let at = e.path().unwrap_or(path).to_path_buf();
                Error::io("read", &at, e.into_io_error().unwrap_or_else(|| std::io::ErrorKind::Other.into()))
            })?;
            if entry.file_type().is_file() {
                files.push((entry.into_path(), true));
            }
        }
    }
    Ok(files)
}

fn hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}
