//! How stages look: a colour, and a letter for those who do not see it.

use super::svg::{Rect, Svg};

/// Look of a stage.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// CSS class.
    pub class: &'static str,
    /// Fill where no style sheet says otherwise.
    pub fill: &'static str,
    /// The sign that is not a colour.
    pub letter: &'static str,
    /// Colour of the letter on the fill.
    pub ink: &'static str,
    /// Whether it is hatched: time that no evidence covers.
    pub hatched: bool,
}

const fn look(class: &'static str, fill: &'static str, letter: &'static str, ink: &'static str) -> Look {
    Look { class, fill, letter, ink, hatched: false }
}

/// Lines over time that no evidence covers.
pub const HATCH: &str = "#8c959f";

const DARK: &str = "#1f2328";
const LIGHT: &str = "#ffffff";

/// The look of a stage by its key in the ledger; a key that is none is shown as not attributed.
pub fn of(key: &str) -> Look {
    match key {
        "client_wait" => look("s-client_wait", "#e8dfc9", "C", DARK),
        "ingress" => look("s-ingress", "#56b4e9", "I", DARK),
        "queue" => look("s-queue", "#d55e00", "Q", LIGHT),
        "schedule" => look("s-schedule", "#e69f00", "S", DARK),
        "ready" => look("s-ready", "#cc79a7", "R", DARK),
        "model_load" => look("s-model_load", "#6f4ea3", "M", LIGHT),
        "prefill" => look("s-prefill", "#0072b2", "P", LIGHT),
        "transport" => look("s-transport", "#009e73", "T", LIGHT),
        _ => Look { class: "s-unattributed", fill: "#eaeef2", letter: "?", ink: DARK, hatched: true },
    }
}

/// A stage's rectangle; `tip` is what a pointer over it is told.
pub fn swatch(svg: &mut Svg, r: Rect, look: Look, tip: &str) {
    svg.rect_stroked(r, look.class, look.fill, if look.hatched { HATCH } else { "none" }, tip);
    if look.hatched {
        svg.hatch(r, "hatch", HATCH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_differs_in_colour_and_letter() {
        let keys = [
            "client_wait",
            "ingress",
            "queue",
            "schedule",
            "ready",
            "model_load",
            "prefill",
            "transport",
            "unattributed",
        ];
        for (at, a) in keys.iter().enumerate() {
            assert_eq!(of(a).class, format!("s-{a}"));
            for b in &keys[..at] {
                assert!(of(a).fill != of(b).fill && of(a).letter != of(b).letter, "{a} {b}");
            }
        }
    }
}
