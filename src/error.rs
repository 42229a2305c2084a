//! The one error type of the library: what went wrong, what to do, and the exit code it means.

use std::fmt;

/// Why a command could not do what was asked; each kind is one exit code.
///
/// Exit codes: 0 good; 1 done, and the answer is adverse; 2 the input or the request is bad;
/// 3 could not run. An adverse answer is a result, not an error, so it has no kind here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The input or the request is bad: the user can mend it.
    Input,
    /// The machine would not let us: no space, no permission, a lock held, an engine failure.
    Run,
}

impl Kind {
    /// Exit code of this kind.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Input => 2,
            Kind::Run => 3,
        }
    }
}

/// An error a person can act on: lowercase statement, optional hint, optional cause.
#[derive(Debug)]
pub struct Error {
    /// What it means for the exit code.
    pub kind: Kind,
    /// What is wrong and where, as a lowercase fragment.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Result of everything that can fail in this library.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The input or the request is bad (exit code 2).
    pub fn input(what: impl Into<String>) -> Self {
        Self { kind: Kind::Input, what: what.into(), hint: None, source: None }
    }

    /// The machine would not let us (exit code 3).
    pub fn run(what: impl Into<String>) -> Self {
        Self { kind: Kind::Run, what: what.into(), hint: None, source: None }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Keeps the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// An operating-system failure on `path` while doing `doing` ("read", "write", …).
    ///
    /// A file that is not there or not readable is the user's to mend; a full disk is not.
    pub fn io(doing: &str, path: &std::path::Path, source: std::io::Error) -> Self {
        use std::io::ErrorKind as K;
        let what = format!("cannot {doing} {}", path.display());
        let (error, hint) = match source.kind() {
            K::NotFound | K::IsADirectory | K::NotADirectory => (Self::input(what), "check the path"),
            K::PermissionDenied if doing == "read" => {
                (Self::input(what), "make the file readable for this user")
            }
            K::PermissionDenied => (Self::run(what), "make the folder writable for this user"),
            K::StorageFull | K::QuotaExceeded => {
                (Self::run(what), "free some space and run the command again: nothing was half-written")
            }
            _ => (Self::run(what), "run the command again; if it stays, check the disk"),
        };
        error.hint(hint).because(source)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.what.clone();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            // Some causes repeat themselves in their own cause.
            let words = error.to_string();
            if !said.contains(&words) {
                said = format!("{said}: {words}");
            }
            cause = error.source();
        }
        f.write_str(&said)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Self {
        Error::run("rows could not be put into columns").because(error)
    }
}

impl From<parquet::errors::ParquetError> for Error {
    fn from(error: parquet::errors::ParquetError) -> Self {
        if let parquet::errors::ParquetError::External(e) = &error
            && let Some(io) = e.downcast_ref::<std::io::Error>()
            && matches!(io.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
        {
            return Error::run("no space left while writing a table")
                .hint("free some space and run the command again: nothing was half-written")
                .because(error);
        }
        Error::run("a table part could not be written or read").because(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_file_is_bad_input_and_full_disk_is_not() {
        let path = std::path::Path::new("a.jsonl");
        let missing = Error::io("read", path, std::io::ErrorKind::NotFound.into());
        assert_eq!((missing.kind.exit_code(), missing.hint.as_deref()), (2, Some("check the path")));
        let full = Error::io("write", path, std::io::ErrorKind::StorageFull.into());
        assert_eq!(full.kind.exit_code(), 3);
        assert!(full.to_string().starts_with("cannot write a.jsonl: "));
    }
}
