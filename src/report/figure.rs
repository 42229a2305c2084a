//! The figures of a candidate, drawn by [`crate::plot`] in the reader's language.

use super::Words;
use super::context::is_recorded;
use super::text::clipped;
use crate::diagnose::CandidateDiagnosis;
use crate::ledger::{Exchange, Known};
use crate::plot::{self, ecdf, shares, waterfall};

/// What a figure of the page is called and says.
fn labels<'a>(words: &'a Words, title: &'a str, x: &'a str) -> plot::Words<'a> {
    plot::Words { title: words.get(title), x: words.get(x), no_data: words.get("report.no_data") }
}

/// Distribution of client TTFT with the threshold.
pub fn ecdf(words: &Words, c: &CandidateDiagnosis) -> String {
    let title = clipped(&c.title);
    ecdf::draw(&ecdf::Ecdf {
        words: labels(words, "report.fig_ecdf", "report.fig_ttft"),
        series: &[ecdf::Series { label: &title, values_ns: &c.sorted_ttft }],
        log_note: words.get("report.fig_log"),
        band_note: words.get("report.fig_band"),
        threshold: c.slow_ns.map(|ns| (ns, words.get("report.fig_threshold"))),
    })
}

/// Shares of the stages in all time, slow time, and the excess.
pub fn shares(words: &Words, c: &CandidateDiagnosis) -> String {
    let names: Vec<String> = c.tail.stages.iter().map(|s| format!("stage.{}", s.stage)).collect();
    let stages: Vec<shares::Stage> = c
        .tail
        .stages
        .iter()
        .zip(&names)
        .filter(|(s, _)| is_recorded(s))
        .map(|(s, name)| shares::Stage {
            key: s.stage,
            label: words.get(name),
            all: s.of_all,
            tail: s.of_tail,
            excess: s.of_excess,
            interval: s.excess_low.zip(s.excess_high),
        })
        .collect();
    shares::draw(&shares::Shares {
        words: labels(words, "report.fig_shares", "report.fig_share"),
        bars: ["report.of_all", "report.of_tail", "report.of_excess"].map(|key| words.get(key)),
        stages: &stages,
    })
}

/// The slowest requests as bars of their stages.
pub fn waterfall(words: &Words, c: &CandidateDiagnosis) -> String {
    let keys = [crate::ledger::STAGES.as_slice(), &["engine_rest"]].concat();
    let names: Vec<String> = keys.iter().map(|key| format!("stage.{key}")).collect();
    let stages: Vec<(&str, &str)> =
        keys.iter().zip(&names).map(|(key, name)| (*key, words.get(name))).collect();
    let ids: Vec<String> = c.slowest.iter().map(|x| clipped(&x.exchange)).collect();
    let segments: Vec<Vec<waterfall::Segment>> = c.slowest.iter().map(segments).collect();
    let requests: Vec<waterfall::Request> = ids
        .iter()
        .zip(&segments)
        .map(|(label, segments)| waterfall::Request { label, start_ns: 0, segments })
        .collect();
    waterfall::draw(&waterfall::Waterfall {
        words: labels(words, "report.fig_waterfall", "report.fig_since_send"),
        stages: &stages,
        bounds_note: words.get("report.fig_bounds"),
        requests: &requests,
    })
}

/// The stages a request spent time in; what the engine leaves unexplained apart from what nobody covers.
fn segments(x: &Exchange) -> Vec<waterfall::Segment<'static>> {
    let mut out = Vec::new();
    for s in &x.stages {
        let Some(ns) = s.ns else { continue };
        let bounds = (s.known == Known::Bounded).then_some((s.low_ns, s.high_ns));
        if s.stage == "unattributed" {
            let rest = ns.saturating_sub(x.engine_rest_ns);
            out.push(waterfall::Segment { stage: "engine_rest", ns: x.engine_rest_ns, bounds: None });
            out.push(waterfall::Segment { stage: s.stage, ns: rest, bounds });
        } else {
            out.push(waterfall::Segment { stage: s.stage, ns, bounds });
        }
    }
    out.retain(|segment| segment.ns != 0 || segment.bounds.is_some());
    out
}
