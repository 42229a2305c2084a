//! Requests as bars of their stages, one under the other, on one axis of time.

use super::Words;
use super::scale::{Scale, duration, labels};
use super::stage;
use super::svg::{Anchor, GRID, INK, LABEL, Rect, Svg, WIDTH, fit, no_data, num, text_width};

const BAR: f64 = 16.0;
/// From one bar to the next: room for letters above and whiskers below.
const ROW: f64 = 38.0;
/// Font size of the letters above stages that are too narrow to hold one.
const SMALL: f64 = 9.0;

/// A part of a request's time.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Key of the stage; `unattributed` and unknown keys are hatched.
    pub stage: &'a str,
    /// Length drawn, in ns. A negative one counts as zero.
    pub ns: i64,
    /// The least and the most it can be, in ns, when it is only bounded.
    pub bounds: Option<(i64, i64)>,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Name at the left: an id, or what the request stands for.
    pub label: &'a str,
    /// Where its first stage begins, in ns from the left end.
    pub start_ns: i64,
    /// Its stages in order.
    pub segments: &'a [Segment<'a>],
}

/// Several requests.
#[derive(Clone, Copy, Debug)]
pub struct Waterfall<'a> {
    /// Title, name of the time axis, and what to say without data.
    pub words: Words<'a>,
    /// Keys and names of the stages, in the order of the legend; those that no request has are left out.
    pub stages: &'a [(&'a str, &'a str)],
    /// What a whisker means: `lowest to highest, where only bounded`.
    pub bounds_note: &'a str,
    /// The requests from top to bottom.
    pub requests: &'a [Request<'a>],
}

/// A stage of a request with its place in time.
struct Placed<'a> {
    segment: &'a Segment<'a>,
    from: i64,
    to: i64,
    /// Where it ends at the least and at the most.
    bounds: Option<(i64, i64)>,
}

/// Draws them.
#[must_use]
pub fn draw(figure: &Waterfall) -> String {
    let rows: Vec<(&Request, Vec<Placed>)> =
        figure.requests.iter().map(|request| (request, placed(request))).collect();
    let parts = || rows.iter().flat_map(|(_, parts)| parts);
    let end = parts().map(|part| part.bounds.map_or(part.to, |(_, most)| most.max(part.to))).max();
    let Some(end) = end.filter(|end| *end > 0) else { return no_data(&figure.words) };
    let mut svg = Svg::new(figure.words.title);
    let bounded = parts().any(|part| part.bounds.is_some());
    let top = legend(&mut svg, figure, |key| parts().any(|p| p.segment.stage == key), bounded) + 14.0;
    let widest = figure.requests.iter().map(|r| text_width(r.label, LABEL)).fold(40.0, f64::max);
    let left = widest.min(190.0) + 8.0;
    let right = WIDTH - 66.0;
    let x = Scale::linear((0.0, ns(end)), (left, right));
    let bottom = rows.iter().fold(top, |y, _| y + ROW);
    for tick in x.ticks(7) {
        svg.line((x.at(tick), top), (x.at(tick), bottom), "grid", GRID);
    }
    let mut y = top;
    for (request, parts) in &rows {
        row(&mut svg, request, parts, figure.stages, &x, y + 13.0);
        y += ROW;
    }
    svg.line((left, bottom), (right, bottom), "axis", INK);
    labels(&mut svg, &x, 7, bottom + 15.0);
    let name = fit(figure.words.x, LABEL, right - left);
    svg.text(f64::midpoint(left, right), bottom + 34.0, Anchor::Middle, &name);
    svg.finish(figure.words.title, bottom + 42.0)
}

#[allow(clippy::cast_precision_loss)]
fn ns(value: i64) -> f64 {
    value as f64
}

fn placed<'a>(request: &Request<'a>) -> Vec<Placed<'a>> {
    let mut from = request.start_ns.max(0);
    let mut parts = Vec::with_capacity(request.segments.len());
    for segment in request.segments {
        let to = from.saturating_add(segment.ns.max(0));
        let bounds = segment
            .bounds
            .filter(|(least, most)| least < most)
            .map(|(least, most)| (from.saturating_add(least.max(0)), from.saturating_add(most.max(0))));
        parts.push(Placed { segment, from, to, bounds });
        from = to;
    }
    parts
}

/// The legend under the title; the place of its last line.
fn legend(svg: &mut Svg, figure: &Waterfall, used: impl Fn(&str) -> bool, bounded: bool) -> f64 {
    let (mut x, mut y) = (1.0, 36.0);
    let mut entry = |svg: &mut Svg, name: &str, draw: &dyn Fn(&mut Svg, f64, f64)| {
        let name = fit(name, LABEL, 300.0);
        let wide = 22.0 + text_width(&name, LABEL) + 12.0;
        if x > 1.0 && x + wide > WIDTH {
            (x, y) = (1.0, y + 18.0);
        }
        draw(svg, x, y);
        svg.text(x + 21.0, y, Anchor::Start, &name);
        x += wide;
    };
    for (key, name) in figure.stages.iter().filter(|(key, _)| used(key)) {
        entry(svg, name, &|svg, x, y| {
            let look = stage::of(key);
            stage::swatch(svg, Rect { x, y: y - 11.0, w: 16.0, h: 14.0 }, look, "");
            svg.text_filled(x + 8.0, y, Anchor::Middle, LABEL, look.ink, look.letter);
        });
    }
    if bounded {
        entry(svg, figure.bounds_note, &|svg, x, y| whisker(svg, x + 1.0, x + 15.0, y - 4.0));
    }
    y
}

fn row(svg: &mut Svg, request: &Request, parts: &[Placed], stages: &[(&str, &str)], x: &Scale, y: f64) {
    let left = x.at(0.0);
    svg.text(left - 8.0, y + 12.0, Anchor::End, &fit(request.label, LABEL, left - 8.0));
    let mut free = f64::NEG_INFINITY;
    let mut lower = false;
    for part in parts.iter().filter(|part| part.to > part.from || part.bounds.is_some()) {
        let look = stage::of(part.segment.stage);
        let (from, to) = (x.at(ns(part.from)), x.at(ns(part.to)));
        // A stage that took any time is seen, be it a hair.
        let wide = (to - from).max(0.5);
        let bar = Rect { x: from, y, w: wide, h: BAR };
        stage::swatch(svg, bar, look, &tip(part, stages));
        let middle = from + wide / 2.0;
        let half = text_width(look.letter, SMALL) / 2.0 + 1.0;
        if wide >= text_width(look.letter, LABEL) + 4.0 {
            if look.hatched {
                // The letter would drown in the lines.
                svg.rect(
                    Rect { x: middle - 5.0, y: y + 2.0, w: 10.0, h: BAR - 4.0 },
                    look.class,
                    look.fill,
                    "",
                );
            }
            svg.text_filled(middle, y + 12.0, Anchor::Middle, LABEL, look.ink, look.letter);
        } else if middle - half > free {
            svg.text_sized(middle, y - 3.0, Anchor::Middle, SMALL, look.letter);
            free = middle + half;
        }
        if let Some((least, most)) = part.bounds {
            // Two whiskers next to each other stand at different heights.
            whisker(svg, x.at(ns(least)), x.at(ns(most)), y + BAR + if lower { 9.0 } else { 4.0 });
            lower = !lower;
        }
    }
    let total = parts.last().map(|last| duration(last.to.saturating_sub(request.start_ns.max(0))));
    svg.text(WIDTH, y + 12.0, Anchor::End, total.as_deref().unwrap_or("–"));
}

fn whisker(svg: &mut Svg, from: f64, to: f64, y: f64) {
    let [a, b, mid, up, down] = [num(from), num(to), num(y), num(y - 3.0), num(y + 3.0)];
    svg.stroke(&format!("M{a} {up}V{down}M{a} {mid}H{b}M{b} {up}V{down}"), "whisker", INK, "");
}

/// What a pointer over a stage is told.
fn tip(part: &Placed, stages: &[(&str, &str)]) -> String {
    let Segment { stage, ns, bounds } = *part.segment;
    let name = stages.iter().find(|(key, _)| *key == stage).map_or(stage, |(_, name)| name);
    match bounds {
        Some((least, most)) => {
            format!("{name} {} [{}, {}]", duration(ns), duration(least), duration(most))
        }
        None => format!("{name} {}", duration(ns)),
    }
}
