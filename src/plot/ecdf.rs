//! Cumulative distribution of a duration: which share of requests had waited at most so long.

use super::Words;
use super::scale::{Scale, duration};
use super::svg::{Anchor, GRID, INK, LABEL, Rect, Svg, WIDTH, fit, no_data, num, text_width};
use std::fmt::Write as _;

/// Points drawn of one curve at most.
const POINTS: usize = 400;

const LEFT: f64 = 52.0;
const RIGHT: f64 = WIDTH - 16.0;
const PLOT: f64 = 250.0;

/// Colour and dash of the curves, in order; a fifth begins again.
const CURVES: [(&str, &str, &str); 4] = [
    ("c-0", "#0072b2", ""),
    ("c-1", "#d55e00", "7 3"),
    ("c-2", "#009e73", "2 2"),
    ("c-3", "#6f4ea3", "9 3 2 3"),
];

/// One curve.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// Name in the legend.
    pub label: &'a str,
    /// Durations in ns, in any order.
    pub values_ns: &'a [i64],
}

/// A cumulative distribution with a 95 % band.
#[derive(Clone, Copy, Debug)]
pub struct Ecdf<'a> {
    /// Title, name of the duration, and what to say without data.
    pub words: Words<'a>,
    /// The curves; those without values are left out.
    pub series: &'a [Series<'a>],
    /// Added to the axis name, because the axis is logarithmic: `log scale`.
    pub log_note: &'a str,
    /// What the bands are: `95 % band (DKW)`.
    pub band_note: &'a str,
    /// A line at a duration in ns, with its name.
    pub threshold: Option<(i64, &'a str)>,
}

/// Draws it.
#[must_use]
pub fn draw(figure: &Ecdf) -> String {
    let curves: Vec<(&str, Vec<i64>)> = figure
        .series
        .iter()
        .filter(|series| !series.values_ns.is_empty())
        .map(|series| {
            let mut values = series.values_ns.to_vec();
            values.sort_unstable();
            (series.label, values)
        })
        .collect();
    let all =
        || curves.iter().flat_map(|(_, values)| values.iter().copied()).chain(figure.threshold.map(|t| t.0));
    let (Some(low), Some(high)) = (all().filter(|ns| *ns > 0).min(), all().max()) else {
        return no_data(&figure.words);
    };
    if curves.is_empty() {
        return no_data(&figure.words);
    }
    let mut svg = Svg::new(figure.words.title);
    let top = legend(&mut svg, &curves, figure.band_note) + 22.0;
    let x = Scale::log((ns(low) * 0.9, ns(high.max(low)) * 1.1), (LEFT, RIGHT));
    let y = Scale::linear((0.0, 1.0), (top + PLOT, top));
    axes(&mut svg, figure, &x, &y, top);
    for (number, (_, values)) in curves.iter().enumerate() {
        let (class, colour, dash) = CURVES[number % CURVES.len()];
        let points = thinned(values);
        svg.veil(&band(&points, values.len(), &x, &y), class, colour);
        svg.stroke(&steps(&points, &x, &y), class, colour, dash);
    }
    if let Some((at, name)) = figure.threshold {
        threshold(&mut svg, x.at(ns(at)), top, &format!("{name} {}", duration(at)));
    }
    svg.finish(figure.words.title, top + PLOT + 42.0)
}

#[allow(clippy::cast_precision_loss)]
fn ns(value: i64) -> f64 {
    value as f64
}

/// The legend under the title; the place of its last line.
fn legend(svg: &mut Svg, curves: &[(&str, Vec<i64>)], band_note: &str) -> f64 {
    let (mut x, mut y) = (0.0, 36.0);
    for (number, (label, values)) in curves.iter().enumerate() {
        let (class, colour, dash) = CURVES[number % CURVES.len()];
        let text = format!("{} (n = {})", fit(label, LABEL, 260.0), values.len());
        let wide = 34.0 + text_width(&text, LABEL) + 14.0;
        if x > 0.0 && x + wide > WIDTH {
            (x, y) = (0.0, y + 16.0);
        }
        svg.stroke(&format!("M{} {}h26", num(x), num(y - 4.0)), class, colour, dash);
        svg.text(x + 32.0, y, Anchor::Start, &text);
        x += wide;
    }
    if !band_note.is_empty() {
        let note = fit(band_note, LABEL, 300.0);
        let wide = 34.0 + text_width(&note, LABEL);
        if x + wide > WIDTH {
            (x, y) = (0.0, y + 16.0);
        }
        let swatch = Rect { x, y: y - 9.0, w: 26.0, h: 10.0 };
        svg.rect_stroked(swatch, "band", "#e6ebf0", "none", "");
        svg.text(x + 32.0, y, Anchor::Start, &note);
    }
    y
}

fn axes(svg: &mut Svg, figure: &Ecdf, x: &Scale, y: &Scale, top: f64) {
    let bottom = top + PLOT;
    for share in y.ticks(6) {
        svg.line((LEFT, y.at(share)), (RIGHT, y.at(share)), "grid", GRID);
        svg.text(LEFT - 6.0, y.at(share) + 4.0, Anchor::End, &format!("{:.0} %", share * 100.0));
    }
    for tick in x.ticks(8) {
        svg.line((x.at(tick), top), (x.at(tick), bottom), "grid", GRID);
    }
    super::scale::labels(svg, x, 8, bottom + 15.0);
    svg.line((LEFT, bottom), (RIGHT, bottom), "axis", INK);
    let name = format!("{} ({})", figure.words.x, figure.log_note);
    svg.text(f64::midpoint(LEFT, RIGHT), bottom + 34.0, Anchor::Middle, &fit(&name, LABEL, RIGHT - LEFT));
}

/// Values and the share at or below each, at most [`POINTS`] of them, the first and the last among them.
#[allow(clippy::cast_precision_loss)]
fn thinned(sorted: &[i64]) -> Vec<(i64, f64)> {
    let n = sorted.len();
    let kept = n.min(POINTS);
    let mut points: Vec<(i64, f64)> = Vec::with_capacity(kept);
    for i in 0..kept {
        let at = if kept > 1 { i * (n - 1) / (kept - 1) } else { 0 };
        let point = (sorted[at], (at + 1) as f64 / n as f64);
        match points.last_mut() {
            Some(last) if last.0 == point.0 => *last = point,
            _ => points.push(point),
        }
    }
    points
}

fn steps(points: &[(i64, f64)], x: &Scale, y: &Scale) -> String {
    let mut path = format!("M{} {}", num(LEFT), num(y.at(0.0)));
    for (value, share) in points {
        let _ = write!(path, "H{}V{}", num(x.at(ns(*value))), num(y.at(*share)));
    }
    let _ = write!(path, "H{}", num(RIGHT));
    path
}

/// The Dvoretzky-Kiefer-Wolfowitz band: with 95 % confidence the whole true curve lies inside.
#[allow(clippy::cast_precision_loss)]
fn band(points: &[(i64, f64)], n: usize, x: &Scale, y: &Scale) -> String {
    let half = ((2.0_f64 / 0.05).ln() / (2.0 * n as f64)).sqrt();
    let mut path = format!("M{} {}", num(LEFT), num(y.at(half.min(1.0))));
    for (value, share) in points {
        let _ = write!(path, "H{}V{}", num(x.at(ns(*value))), num(y.at((share + half).min(1.0))));
    }
    let _ = write!(path, "H{}", num(RIGHT));
    let mut below: f64 = (1.0 - half).max(0.0);
    let _ = write!(path, "V{}", num(y.at(below)));
    for (number, (value, _)) in points.iter().enumerate().rev() {
        below = number.checked_sub(1).map_or(0.0, |before| (points[before].1 - half).max(0.0));
        let _ = write!(path, "H{}V{}", num(x.at(ns(*value))), num(y.at(below)));
    }
    let _ = write!(path, "H{}Z", num(LEFT));
    path
}

fn threshold(svg: &mut Svg, x: f64, top: f64, name: &str) {
    let path = format!("M{} {}V{}", num(x), num(top - 2.0), num(top + PLOT));
    svg.stroke(&path, "threshold", "#a40e26", "4 3");
    let name = fit(name, LABEL, 240.0);
    let left = x > f64::midpoint(LEFT, RIGHT);
    let (at, anchor) = if left { (x - 5.0, Anchor::End) } else { (x + 5.0, Anchor::Start) };
    svg.text(at, top - 6.0, anchor, &name);
}
