//! How far a load is, drawn on a terminal.

use super::output::Output;
use crate::store::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;

/// A bar for the file being loaded; nothing where stderr is not a terminal.
pub struct Bar(Option<ProgressBar>);

impl Bar {
    pub fn new(out: &Output) -> Bar {
        Bar(out.draws_progress().then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {bytes:>10}/{total_bytes:10} {msg}") {
                bar.set_style(style);
            }
            bar
        }))
    }

    pub fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Bar {
    fn advance(&mut self, file: &Path, done: u64, of: u64) {
        if let Some(bar) = &self.0 {
            bar.set_length(of);
            bar.set_position(done);
            bar.set_message(file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default());
        }
    }
}
