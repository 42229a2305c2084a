//! `probity timeline ID`: one request's stages as a bar, and every number with its source line.

use super::{Exit, Session, table};
use crate::error::Result;
use crate::ledger::{self, Known, Timeline, timelines};
use crate::report::text::{instant, interval, ns};
use crate::store::Store;
use crate::trial::Trial;
use clap::Args;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Request id, trace id or response id
    id: String,
}

/// Width of the whole bar.
const BAR: i128 = 60;
/// One letter a stage, so that the bar reads without colour.
const LETTERS: [(&str, char); 8] = [
    ("ingress", 'i'),
    ("queue", 'q'),
    ("schedule", 's'),
    ("ready", 'r'),
    ("model_load", 'm'),
    ("prefill", 'p'),
    ("transport", 't'),
    ("unattributed", '?'),
];

pub fn run(session: &mut Session, arguments: &Arguments) -> Result<Exit> {
    let trial = Trial::load_or_default(session.root())?;
    let ledger = ledger::open(&Store::new(session.root()), trial.cold_first)?;
    let found = timelines(&ledger, &arguments.id)?;
    if session.out.json {
        session.out.value(&found)?;
        return Ok(Exit::Good);
    }
    for timeline in &found {
        print(session, timeline)?;
    }
    Ok(Exit::Good)
}

fn print(session: &mut Session, timeline: &Timeline) -> Result<()> {
    let x = &timeline.exchange;
    let w = &session.words;
    let ttft = x.ttft_ns.map_or_else(|| w.get("ui.no-first-token").to_owned(), ns);
    let head = format!(
        "{} · {} · {} {ttft} · {} {} · {} {} → {}",
        x.exchange,
        x.candidate,
        w.get("ui.client-ttft"),
        w.get("ui.attempts"),
        x.attempts,
        w.get("ui.tokens"),
        x.input_tokens.map_or("?".to_owned(), |n| n.to_string()),
        x.output_tokens.map_or("?".to_owned(), |n| n.to_string()),
    );
    let mut lines = vec![head];
    if let Some(ttft) = x.ttft_ns {
        lines.push(format!("[{}]", bar(timeline, ttft)));
        let mut rows = vec![vec![
            w.get("ui.stage").to_owned(),
            format!(">{}", w.get("ui.value")),
            w.get("ui.bounds").to_owned(),
            w.get("ui.known").to_owned(),
        ]];
        for s in &x.stages {
            let letter = LETTERS.iter().find(|(name, _)| *name == s.stage).map_or(' ', |(_, l)| *l);
            rows.push(vec![
                format!("{letter} {}", w.get(&format!("stage.{}", s.stage))),
                s.ns.map_or("—".to_owned(), ns),
                if s.low_ns == s.high_ns { String::new() } else { interval(&ns(s.low_ns), &ns(s.high_ns)) },
                w.get(&format!("known.{}", known(s.known))).to_owned(),
            ]);
        }
        lines.extend(table::lines(&rows));
        if x.engine_rest_ns > 0 {
            lines.push(format!("  {} {}", w.get("ui.engine-rest"), ns(x.engine_rest_ns)));
        }
    }
    if let Some(o) = &timeline.offset {
        let side = |v: Option<i64>| v.map_or("?".to_owned(), ns);
        lines.push(format!("{} {} (n={})", w.get("ui.offset"), interval(&side(o.low), &side(o.high)), o.n));
    }
    lines.extend(table::lines(&evidence(session, timeline)));
    for text in lines {
        session.out.line(&text)?;
    }
    Ok(())
}

fn known(known: Known) -> &'static str {
    match known {
        Known::Measured => "measured",
        Known::Derived => "derived",
        Known::Bounded => "bounded",
        Known::Missing => "missing",
    }
}

fn bar(timeline: &Timeline, ttft: i64) -> String {
    let mut bar = String::new();
    let mut end = 0_i128;
    for s in &timeline.exchange.stages {
        let letter = LETTERS.iter().find(|(name, _)| *name == s.stage).map_or(' ', |(_, l)| *l);
        end += i128::from(s.ns.unwrap_or(0));
        let ttft = i128::from(ttft.max(1));
        let until = ((end * BAR + ttft / 2) / ttft).clamp(0, BAR);
        while (bar.chars().count() as i128) < until {
            bar.push(letter);
        }
    }
    bar
}

fn evidence(session: &Session, timeline: &Timeline) -> Vec<Vec<String>> {
    let w = &session.words;
    let mut rows =
        vec![["ui.hop", "ui.what", "ui.value", "ui.source-line"].map(|key| w.get(key).to_owned()).to_vec()];
    for e in &timeline.evidence {
        let value = match (e.t_ns, e.duration_ns) {
            (Some(t), _) => format!("{} ({})", instant(t, &e.clock), e.clock),
            (None, Some(d)) => ns(d),
            (None, None) => String::new(),
        };
        let hop = w.get(&format!("hop.{}", e.hop)).to_owned();
        let hop = e.attempt.map_or(hop.clone(), |n| format!("{hop} #{n}"));
        let what = e.what.clone();
        let place = if e.item > 0 {
            format!("{}:{}#{}", e.file, e.line, e.item)
        } else {
            format!("{}:{}", e.file, e.line)
        };
        rows.push(vec![hop, what, value, place]);
    }
    rows
}
