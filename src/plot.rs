//! Figures: pure functions from plain data to SVG text.
//!
//! The same data gives the same bytes. A figure has no ids, so any number of them share a page; numbers have
//! at most two decimals; words are escaped. Colours are CSS classes with fallback attributes, and colour is
//! never the only sign.

pub mod ecdf;
pub mod scale;
pub mod shares;
pub mod waterfall;

mod stage;
mod svg;

/// Words and letters of a figure that the reader's language decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words<'a> {
    /// Title: shown on top, and what a screen reader says.
    pub title: &'a str,
    /// Name of the horizontal axis.
    pub x: &'a str,
    /// Said instead of a figure when there is nothing to draw; ` (n = 0)` is added.
    pub no_data: &'a str,
}

#[cfg(test)]
mod tests;
