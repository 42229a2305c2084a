//! Which stage takes the time: its share of all time, of slow-tail time, and of the excess of the tail.

use super::Words;
use super::scale::{Scale, percent};
use super::stage;
use super::svg::{Anchor, GRID, INK, LABEL, Rect, Svg, WIDTH, fit, no_data, num, text_width};

const BAR: f64 = 10.0;
/// From one bar of a stage to the next.
const STEP: f64 = 13.0;
/// From one stage to the next.
const ROW: f64 = 3.0 * STEP + 10.0;
/// Left end of the column of figures.
const FIGURES: f64 = WIDTH - 128.0;
/// Font size of the figures.
const SMALL: f64 = 10.0;

/// One stage. Shares are of 1; `None` where they are not known.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// Key of the stage.
    pub key: &'a str,
    /// Its name.
    pub label: &'a str,
    /// Share of the time of all requests.
    pub all: Option<f64>,
    /// Share of the time of the slow tail.
    pub tail: Option<f64>,
    /// Share of the excess; may be negative.
    pub excess: Option<f64>,
    /// Low and high end of the share of the excess.
    pub interval: Option<(f64, f64)>,
}

/// Stages with their shares.
#[derive(Clone, Copy, Debug)]
pub struct Shares<'a> {
    /// Title, name of the axis, and what to say without data.
    pub words: Words<'a>,
    /// Names of the three bars, from top to bottom: all time, slow-tail time, excess.
    pub bars: [&'a str; 3],
    /// The stages from top to bottom.
    pub stages: &'a [Stage<'a>],
}

/// How a bar is told from the other two without colour.
#[derive(Clone, Copy)]
enum Form {
    Outline,
    Hatched,
    Solid,
}

const FORMS: [Form; 3] = [Form::Outline, Form::Hatched, Form::Solid];

/// Draws them.
#[must_use]
pub fn draw(figure: &Shares) -> String {
    let known = || {
        figure.stages.iter().flat_map(|s| {
            let (low, high) = s.interval.unzip();
            [s.all, s.tail, s.excess, low, high].into_iter().flatten().filter(|v| v.is_finite())
        })
    };
    if known().next().is_none() {
        return no_data(&figure.words);
    }
    let mut svg = Svg::new(figure.words.title);
    let top = legend(&mut svg, figure) + 14.0;
    let names = figure.stages.iter().map(|s| text_width(s.label, LABEL)).fold(40.0, f64::max).min(170.0);
    let left = names + 30.0;
    let right = FIGURES - 10.0;
    let x = Scale::linear((known().fold(0.0, f64::min), known().fold(1.0, f64::max)), (left, right));
    let bottom = figure.stages.iter().fold(top, |y, _| y + ROW);
    let mut free = f64::NEG_INFINITY;
    for tick in x.ticks(6) {
        svg.line((x.at(tick), top), (x.at(tick), bottom), "grid", GRID);
        let text = format!("{:.0} %", tick * 100.0).replace('-', "−");
        let half = text_width(&text, LABEL) / 2.0;
        if x.at(tick) - half > free {
            svg.text(x.at(tick), bottom + 15.0, Anchor::Middle, &text);
            free = x.at(tick) + half;
        }
    }
    let mut y = top;
    for stage in figure.stages {
        row(&mut svg, stage, &x, names, y + 5.0);
        y += ROW;
    }
    svg.line((x.at(0.0), top), (x.at(0.0), bottom), "axis", INK);
    let name = fit(figure.words.x, LABEL, right - left);
    svg.text(f64::midpoint(left, right), bottom + 34.0, Anchor::Middle, &name);
    svg.finish(figure.words.title, bottom + 42.0)
}

/// The legend under the title; the place of its last line.
fn legend(svg: &mut Svg, figure: &Shares) -> f64 {
    let (mut x, mut y) = (1.0, 36.0);
    for (name, form) in figure.bars.iter().zip(FORMS) {
        let name = fit(name, LABEL, 400.0);
        let wide = 34.0 + text_width(&name, LABEL) + 14.0;
        if x > 1.0 && x + wide > WIDTH {
            (x, y) = (1.0, y + 16.0);
        }
        bar(svg, Rect { x, y: y - 9.0, w: 26.0, h: BAR }, form, ("legend", "#57606a"), "");
        svg.text(x + 32.0, y, Anchor::Start, &name);
        x += wide;
    }
    y
}

fn bar(svg: &mut Svg, r: Rect, form: Form, (class, colour): (&str, &str), tip: &str) {
    match form {
        Form::Outline => svg.rect_stroked(r, "outline", "#ffffff", colour, tip),
        Form::Hatched => {
            svg.rect_stroked(r, "outline", "#ffffff", colour, tip);
            svg.hatch(r, "hatch", colour);
        }
        Form::Solid => svg.rect_stroked(r, class, colour, colour, tip),
    }
}

fn row(svg: &mut Svg, stage: &Stage, x: &Scale, names: f64, y: f64) {
    let look = stage::of(stage.key);
    // The fill of unattributed time is too pale for an outline.
    let colour = if look.hatched { stage::HATCH } else { look.fill };
    let middle = y + STEP + BAR / 2.0;
    stage::swatch(svg, Rect { x: 1.0, y: middle - 7.0, w: 16.0, h: 14.0 }, look, "");
    svg.text_filled(9.0, middle + 4.0, Anchor::Middle, LABEL, look.ink, look.letter);
    svg.text(22.0, middle + 4.0, Anchor::Start, &fit(stage.label, LABEL, names));
    let mut at = y;
    for (form, share) in FORMS.into_iter().zip([stage.all, stage.tail, stage.excess]) {
        let share = share.filter(|share| share.is_finite());
        let interval = stage.interval.filter(|_| matches!(form, Form::Solid));
        if let Some(share) = share {
            let (zero, end) = (x.at(0.0), x.at(share));
            let place = Rect { x: zero.min(end), y: at, w: (zero - end).abs(), h: BAR };
            bar(svg, place, form, (look.class, colour), &format!("{} {}", stage.label, percent(share)));
        }
        if let Some((low, high)) = interval {
            let mid = at + BAR / 2.0;
            let [a, b, mid, up, down] =
                [num(x.at(low)), num(x.at(high)), num(mid), num(mid - 4.0), num(mid + 4.0)];
            svg.stroke(&format!("M{a} {up}V{down}M{a} {mid}H{b}M{b} {up}V{down}"), "whisker", INK, "");
        }
        let figure = match (share, interval) {
            (None, _) => "–".to_owned(),
            (Some(share), None) => percent(share),
            (Some(share), Some((low, high))) => {
                format!("{} [{:.1}, {:.1}]", percent(share), low * 100.0, high * 100.0).replace('-', "−")
            }
        };
        svg.text_sized(FIGURES, at + 9.0, Anchor::Start, SMALL, &fit(&figure, SMALL, WIDTH - FIGURES));
        at += STEP;
    }
}
