//! Writing SVG: shapes, escaped text, and how wide text will be.

use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// Width of every figure in user units; the page scales it.
pub const WIDTH: f64 = 720.0;
/// Font size of labels.
pub const LABEL: f64 = 11.0;
/// Font size of titles.
pub const TITLE: f64 = 13.0;
/// Colour of text and axes where no style sheet says otherwise.
pub const INK: &str = "#1f2328";
/// Colour of grid lines.
pub const GRID: &str = "#d0d7de";

/// Which point of a text its x is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A figure being drawn, from top to bottom.
pub struct Svg {
    body: String,
}

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub w: f64,
    pub h: f64,
}

impl Svg {
    /// An empty figure with its title on top.
    pub fn new(title: &str) -> Svg {
        let mut svg = Svg { body: String::new() };
        svg.text_sized(0.0, 16.0, Anchor::Start, TITLE, &fit(title, TITLE, WIDTH));
        svg
    }

    /// A filled rectangle with what a pointer over it is told, when not empty.
    pub fn rect(&mut self, r: Rect, class: &str, fill: &str, tip: &str) {
        self.rect_stroked(r, class, fill, "none", tip);
    }

    /// A rectangle with an outline.
    pub fn rect_stroked(&mut self, r: Rect, class: &str, fill: &str, stroke: &str, tip: &str) {
        let (x, y, width, height) = (num(r.x), num(r.y), num(r.w.max(0.0)), num(r.h.max(0.0)));
        let _ = write!(
            self.body,
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" stroke="{stroke}""#
        );
        if tip.is_empty() {
            self.body.push_str("/>\n");
        } else {
            let _ = writeln!(self.body, "><title>{}</title></rect>", escape(tip));
        }
    }

    /// A path without fill.
    pub fn stroke(&mut self, path: &str, class: &str, stroke: &str, dash: &str) {
        let dash = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
        let _ = writeln!(
            self.body,
            r#"<path class="{class}" d="{path}" fill="none" stroke="{stroke}" stroke-width="1.5"{dash}/>"#
        );
    }

    /// A filled, see-through path.
    pub fn veil(&mut self, path: &str, class: &str, fill: &str) {
        let _ = writeln!(
            self.body,
            r#"<path class="{class}" d="{path}" fill="{fill}" fill-opacity="0.15" stroke="none"/>"#
        );
    }

    /// A thin straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str, stroke: &str) {
        let [x1, y1, x2, y2] = [num(from.0), num(from.1), num(to.0), num(to.1)];
        let _ = writeln!(
            self.body,
            r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{stroke}"/>"#
        );
    }

    /// Diagonal lines over a rectangle, clipped to it.
    pub fn hatch(&mut self, r: Rect, class: &str, stroke: &str) {
        const STEP: f64 = 5.0;
        let (right, bottom) = (r.x + r.w, r.y + r.h);
        let mut path = String::new();
        let mut c = r.x + r.y + STEP;
        while c < right + bottom {
            let (x1, y1) = if c - r.x <= bottom { (r.x, c - r.x) } else { (c - bottom, bottom) };
            let (x2, y2) = if c - r.y <= right { (c - r.y, r.y) } else { (right, c - right) };
            let _ = write!(path, "M{} {}L{} {}", num(x1), num(y1), num(x2), num(y2));
            c += STEP;
        }
        if !path.is_empty() {
            let _ =
                writeln!(self.body, r#"<path class="{class}" d="{path}" fill="none" stroke="{stroke}"/>"#);
        }
    }

    /// A label with its baseline at `y`.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.text_sized(x, y, anchor, LABEL, text);
    }

    /// A text of any size.
    pub fn text_sized(&mut self, x: f64, y: f64, anchor: Anchor, size: f64, text: &str) {
        self.text_filled(x, y, anchor, size, INK, text);
    }

    /// A text of any size and colour.
    pub fn text_filled(&mut self, x: f64, y: f64, anchor: Anchor, size: f64, fill: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let [x, y, size] = [num(x), num(y), num(size)];
        let _ = writeln!(
            self.body,
            r#"<text class="t" x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{fill}">{}</text>"#,
            escape(text)
        );
    }

    /// The whole figure, `height` units high.
    pub fn finish(self, title: &str, height: f64) -> String {
        let (width, height) = (num(WIDTH), num(height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, 'Noto Sans CJK SC', sans-serif\">\n\
             <title>{}</title>\n<rect class=\"bg\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            escape(title),
            self.body
        )
    }
}

/// The figure that says there is nothing to draw.
pub fn no_data(words: &super::Words) -> String {
    let mut svg = Svg::new(words.title);
    let said = format!("{} (n = 0)", words.no_data);
    svg.text(WIDTH / 2.0, 52.0, Anchor::Middle, &fit(&said, LABEL, WIDTH));
    svg.finish(words.title, 80.0)
}

/// A number with at most two decimals, none that are zero, and no negative zero.
pub fn num(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text as XML character data or attribute value; characters that XML forbids become U+FFFD.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// An upper estimate of the width of a text: 0.6 em a terminal column, so 1.2 em a Chinese character.
#[allow(clippy::cast_precision_loss)]
pub fn text_width(text: &str, size: f64) -> f64 {
    text.width() as f64 * size * 0.6
}

/// The text, cut with an ellipsis when it is wider than `width`.
pub fn fit(text: &str, size: f64, width: f64) -> Cow<'_, str> {
    if text_width(text, size) <= width {
        return Cow::Borrowed(text);
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if text_width(&cut, size) + text_width("…", size) > width {
            cut.pop();
            break;
        }
    }
    cut.push('…');
    Cow::Owned(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_negative_zero() {
        let texts: Vec<String> = [1.0, 1.005, -0.001, 1.5, 0.126, -3.25].into_iter().map(num).collect();
        assert_eq!(texts, ["1", "1", "0", "1.5", "0.13", "-3.25"]);
    }

    #[test]
    fn text_is_safe_and_fits() {
        assert_eq!(escape("<a b='\"&\u{1}"), "&lt;a b=&#39;&quot;&amp;\u{fffd}");
        assert_eq!(fit("short", 10.0, 100.0), "short");
        let cut = fit("排队等待的时间", 10.0, 50.0);
        assert!(cut.ends_with('…') && text_width(&cut, 10.0) <= 50.0, "{cut}");
        assert!(text_width("排队", 10.0) > text_width("ab", 10.0));
    }
}
