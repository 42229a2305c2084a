//! The only place that prints: results to stdout, findings and progress to stderr.

use crate::error::{Error, Result};
use crate::finding::{Finding, Severity};
use crate::report::Words;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// Where a command prints.
pub struct Output {
    stdout: io::BufWriter<io::Stdout>,
    stderr: io::Stderr,
    /// Whether results are printed as JSON.
    pub json: bool,
}

impl Output {
    pub fn new(json: bool) -> Output {
        Output { stdout: io::BufWriter::new(io::stdout()), stderr: io::stderr(), json }
    }

    /// One line of text for people.
    pub fn line(&mut self, text: &str) -> Result<()> {
        writeln!(self.stdout, "{}", harmless(text)).map_err(print_error)
    }

    /// A result as JSON, pretty and with a line end.
    pub fn value(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer_pretty(&mut self.stdout, value).map_err(|e| print_error(io::Error::from(e)))?;
        writeln!(self.stdout).map_err(print_error)
    }

    pub fn flush(&mut self) -> Result<()> {
        self.stdout.flush().map_err(print_error)
    }

    /// A finding for people, on stderr: where, what, the proof, what to do.
    pub fn finding(&self, words: &Words, finding: &Finding) {
        let code = finding.code.id();
        let mark = match finding.code.severity() {
            Severity::Error => "✗",
            Severity::Warning => "!",
            Severity::Info => "·",
        };
        let title = words.get(&format!("code.{code}.title")).to_owned();
        let mut text = format!("{mark} {}: {title} [{code}]", finding.location());
        if !finding.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&finding.detail);
        }
        self.note(&text);
        if finding.code.severity() == Severity::Error {
            self.note(&format!("  → {}", words.get(&format!("code.{code}.remedy"))));
        }
    }

    /// A remark on stderr; a closed stderr is no reason to stop.
    pub fn note(&self, text: &str) {
        let _ = writeln!(self.stderr.lock(), "{}", harmless(text));
    }

    /// An error with its hint, on stderr.
    pub fn error(&mut self, words: &Words, error: &Error) {
        let _ = self.stdout.flush();
        // The engine and the parsers explain themselves in several lines.
        for line in format!("{}: {error}", words.get("ui.error")).lines() {
            self.note(line);
        }
        if let Some(hint) = &error.hint {
            self.note(&format!("  → {hint}"));
        }
    }

    /// Whether progress can be drawn.
    pub fn draws_progress(&self) -> bool {
        self.stderr.is_terminal()
    }
}

fn print_error(error: io::Error) -> Error {
    Error::run("cannot print").because(error)
}

/// Whether the reader of our output went away, which is how `| head` ends.
pub fn is_broken_pipe(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    source.and_then(|e| e.downcast_ref::<io::Error>()).is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// One line of text without control characters: names in evidence must neither drive the terminal nor forge a line.
fn harmless(text: &str) -> String {
    let bidi = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let one_line = |c| match c {
        '\n' => '\u{240a}',
        c if c.is_control() || bidi(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(one_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_bidi_marks_are_disarmed() {
        assert_eq!(harmless("a\x1b[31mb\u{202e}c\nd"), "a\u{fffd}[31mb\u{fffd}c\u{240a}d");
    }
}
