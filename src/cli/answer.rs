//! The answer in the terminal: the verdict first, then what it rests on, as bars and tables.

use super::{Session, table};
use crate::diagnose::{Average, CandidateDiagnosis, Diagnosis, Reason, Word, advice, failing, gap};
use crate::error::Result;
use crate::report::Lang;
use crate::report::text::{interval, ns, percent, void};
use std::collections::BTreeMap;

/// Width of a bar of share 1.
const BAR: usize = 24;

/// Prints a diagnosis for people.
pub fn print(session: &mut Session, diagnosis: &Diagnosis) -> Result<()> {
    for (at, candidate) in diagnosis.candidates.iter().enumerate() {
        if at > 0 {
            session.out.line("")?;
        }
        headline(session, candidate)?;
        percentiles(session, candidate)?;
        if candidate.verdict.word != Word::NothingSlow && candidate.tail.n > 0 {
            stages(session, candidate)?;
            groups(session, candidate)?;
        }
        next(session, candidate)?;
        if candidate.verdict.word == Word::InsufficientEvidence {
            averages(session, candidate)?;
        }
        for finding in &candidate.findings {
            session.out.finding(&session.words, finding);
        }
    }
    Ok(())
}

fn headline(session: &mut Session, c: &CandidateDiagnosis) -> Result<()> {
    let title = crate::report::text::verdict_sentence(&session.words, c);
    session.out.line(&format!("■ {}: {title}", c.title))
}

fn percentiles(session: &mut Session, c: &CandidateDiagnosis) -> Result<()> {
    let w = &session.words;
    let mut rows = vec![vec![
        w.get("ui.client-ttft").to_owned(),
        format!(">{}", w.get("ui.value")),
        w.get("ui.interval").to_owned(),
        format!(">{}", w.get("ui.n")),
        w.get("ui.request").to_owned(),
    ]];
    for p in &c.ttft {
        let request = p
            .requests
            .first()
            .map_or(String::new(), |r| format!("{}  {}:{}", r.exchange, r.file, r.place.line));
        rows.push(vec![
            format!("  p{}", p.percentile),
            p.value_ns.map_or_else(
                || {
                    if p.void {
                        return void(w, c);
                    }
                    w.get("ui.need")
                        .replace("{have}", &p.n.to_string())
                        .replace("{need}", &p.need.to_string())
                },
                ns,
            ),
            p.low_ns.zip(p.high_ns).map_or(String::new(), |(l, h)| interval(&ns(l), &ns(h))),
            p.n.to_string(),
            request,
        ]);
    }
    let counts = c.counts;
    let lines = table::lines(&rows);
    for text in lines {
        session.out.line(&text)?;
    }
    if counts.failed + counts.no_token + counts.warmup > 0 {
        let text = session
            .words
            .get("ui.not-counted")
            .replace("{failed}", &counts.failed.to_string())
            .replace("{unreachable}", &counts.unreachable.to_string())
            .replace("{no_token}", &counts.no_token.to_string())
            .replace("{warmup}", &counts.warmup.to_string());
        session.out.line(&format!("  {text}"))?;
    }
    Ok(())
}

fn stages(session: &mut Session, c: &CandidateDiagnosis) -> Result<()> {
    let w = &session.words;
    let heading = [
        w.get("ui.stage").to_owned(),
        w.get("ui.of-tail").to_owned(),
        String::new(),
        format!(">{}", w.get("ui.of-excess")),
        w.get("ui.interval").to_owned(),
        format!(">{}", w.get("ui.mean-tail")),
    ];
    let mut rows = vec![heading.to_vec()];
    for s in c.tail.stages.iter().filter(|s| s.of_tail.unwrap_or(0.0) > 0.0) {
        rows.push(vec![
            format!("  {}", w.get(&format!("stage.{}", s.stage))),
            bar(s.of_tail.unwrap_or(0.0)),
            s.of_tail.map_or(String::new(), percent),
            s.of_excess.map_or(String::new(), percent),
            s.excess_low
                .zip(s.excess_high)
                .map_or(String::new(), |(l, h)| interval(&percent(l), &percent(h))),
            s.tail_mean_ns.map_or(String::new(), ns),
        ]);
    }
    for text in table::lines(&rows) {
        session.out.line(&text)?;
    }
    Ok(())
}

fn groups(session: &mut Session, c: &CandidateDiagnosis) -> Result<()> {
    let enriched: Vec<_> =
        c.groups.iter().filter(|g| g.q.is_some_and(|q| q < 0.05) && g.lift > 1.0).take(5).collect();
    if enriched.is_empty() {
        let text = session.words.get("ui.no-group").to_owned();
        return session.out.line(&format!("  {text}"));
    }
    let w = &session.words;
    let mut rows = vec![[w.get("ui.group"), "", ">", ">n"].map(str::to_owned).to_vec()];
    rows[0][2] = format!(">{}", w.get("ui.slow-share"));
    rows[0].push(">q".to_owned());
    for g in enriched {
        let rate = if g.n > 0 { percent(fraction(g.slow, g.n)) } else { String::new() };
        rows.push(vec![
            format!("  {}", w.get(&format!("dimension.{}", g.dimension))),
            g.value.clone(),
            format!(
                "{rate} {}",
                g.slow_rate.map_or(String::new(), |i| interval(&percent(i.low), &percent(i.high)))
            ),
            format!("{}/{}", g.slow, g.n),
            g.q.map_or(String::new(), |q| format!("{q:.2e}")),
        ]);
    }
    for text in table::lines(&rows) {
        session.out.line(&text)?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn fraction(k: i64, n: i64) -> f64 {
    k as f64 / n as f64
}

fn next(session: &mut Session, c: &CandidateDiagnosis) -> Result<()> {
    let lang = session.lang;
    let say = |both: &crate::diagnose::Both| both.get(lang == Lang::Zh).to_owned();
    let mut lines = Vec::new();
    if let Some(a) = c.verdict.stage.and_then(advice) {
        for (key, text) in [
            ("ui.next", say(&a.change)),
            ("ui.owner", say(&a.owner)),
            ("ui.guardrails", say(&a.guardrails)),
            ("ui.verify", say(&a.verify)),
            ("ui.undo", say(&a.undo)),
            ("ui.gpus", say(&a.gpus.why)),
        ] {
            lines.push(format!("  {} {text}", session.words.get(key)));
        }
    }
    let mut reasons = c.verdict.missing.clone();
    if failing(&c.counts) && !reasons.contains(&Reason::NoFirstToken) {
        reasons.push(Reason::NoFirstToken);
    }
    for reason in reasons {
        if let Some(g) = gap(reason) {
            lines.push(missing(session, reason, &say(&g.ask), &say(&g.owner)));
        }
    }
    if c.verdict.stage.is_none() && c.verdict.word == Word::InsufficientEvidence {
        lines.push(format!("  {} {}", session.words.get("ui.gpus"), session.words.get("ui.gpus-unknown")));
    }
    for text in lines {
        session.out.line(&text)?;
    }
    Ok(())
}

/// The engine's own averages, beside the answer: of each metric the series that counted most requests.
fn averages(session: &mut Session, c: &CandidateDiagnosis) -> Result<()> {
    let mut largest: BTreeMap<&str, &Average> = BTreeMap::new();
    for average in &c.averages {
        let kept = largest.entry(&average.metric).or_insert(average);
        if average.requests > kept.requests {
            *kept = average;
        }
    }
    for (metric, a) in largest {
        let mean = crate::format::decimal::seconds(a.seconds / a.requests).map_or_else(String::new, ns);
        let text = session
            .words
            .get("ui.average")
            .replace("{metric}", metric)
            .replace("{mean}", &mean)
            .replace("{n}", &a.requests.to_string());
        session.out.line(&format!("  {text}"))?;
    }
    Ok(())
}

fn missing(session: &Session, reason: Reason, ask: &str, owner: &str) -> String {
    format!("  {} [{}] {ask} ({owner})", session.words.get("ui.missing"), reason.as_str())
}

fn bar(share: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "0 to BAR"
    )]
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "·".repeat(BAR - full))
}
