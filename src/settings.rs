//! Files of settings that people write (the plan of a trial, the mapping of a table): TOML, read strictly.
//!
//! Keys are taken one by one and what is left over is a finding at its line, so a misspelt setting is never silently
//! ignored.

mod table;
pub mod value;

pub use table::Table;

use crate::finding::{Code, Finding};
use table::Reading;
use toml::de::DeTable;

/// What `read` makes of a file of settings, which findings call `file`.
///
/// # Errors
/// All problems of the file, in the order of its lines.
pub fn parse<T>(text: &str, file: &str, read: impl FnOnce(Table) -> T) -> Result<T, Vec<Finding>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let reading = Reading::new(text, file);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let at = error.span().map_or(text.len(), |span| span.start);
        reading.report(Code::ConfigSyntax, at, error.message().to_owned());
    }
    // Behind a syntax error the parser guesses; what it guessed is not held against the user.
    let settings = errors.is_empty().then(|| read(Table::new(&reading, "", 0, document.get_ref())));
    let findings = reading.finish();
    settings.filter(|_| findings.is_empty()).ok_or(findings)
}
