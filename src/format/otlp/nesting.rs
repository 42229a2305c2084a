//! Whether the clocks of one document can agree: a span cannot begin before the span that called it.

use crate::finding::{Code, Place};
use crate::row::Rows;
use std::collections::{BTreeMap, HashMap};

/// On which side of a call a span was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// It serves a call.
    Server,
    /// It makes a call.
    Client,
    /// Neither, or not stated.
    #[default]
    Other,
}

/// One span, as far as nesting needs it.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Trace and span.
    pub id: (u128, u64),
    /// The span that called it.
    pub parent: Option<u64>,
    /// Which side.
    pub kind: Kind,
    /// Its clock, as [`Nesting::clock`] numbered it.
    pub clock: usize,
    /// When it began.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: Option<i64>,
    /// Where it stands.
    pub place: Place,
}

/// The spans of a document.
#[derive(Debug, Default)]
pub struct Nesting {
    clocks: Vec<String>,
    numbers: HashMap<String, usize>,
    nodes: Vec<Node>,
}

/// What the calls between two clocks allow: called minus calling.
struct Gap {
    low: Option<i64>,
    high: i64,
    place: Place,
}

impl Nesting {
    /// The number of a clock.
    pub fn clock(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.clocks.len();
        self.clocks.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Adds a span.
    pub fn add(&mut self, node: Node) {
        self.nodes.push(node);
    }

    /// Reports every pair of clocks that cannot agree, once.
    pub fn report(&self, rows: &mut Rows) {
        let mut by_id: HashMap<(u128, u64), Vec<&Node>> = HashMap::new();
        for node in &self.nodes {
            by_id.entry(node.id).or_default().push(node);
        }
        let mut gaps: BTreeMap<(usize, usize), Gap> = BTreeMap::new();
        for node in &self.nodes {
            let Some(caller) = caller(node, &by_id) else { continue };
            let high = node.start_ns.saturating_sub(caller.start_ns);
            // What serves a call ends before the call does; work left running in the background need not.
            let call = node.kind == Kind::Server && caller.kind == Kind::Client;
            let ends = node.end_ns.zip(caller.end_ns).filter(|_| call);
            let low = ends.map(|(end, caller_end)| end.saturating_sub(caller_end));
            let key = (caller.clock, node.clock);
            let gap = gaps.entry(key).or_insert(Gap { low, high, place: node.place });
            gap.low = gap.low.max(low);
            if high < gap.high {
                (gap.high, gap.place) = (high, node.place);
            }
        }
        for ((caller, called), gap) in gaps {
            if gap.high >= 0 {
                continue;
            }
            let least = gap.high.saturating_neg();
            let by = match gap.low {
                Some(low) if low <= gap.high => format!("by {least} to {} ns", low.saturating_neg()),
                _ => format!("by at least {least} ns"),
            };
            let name = |at: usize| {
                let clock = self.clocks.get(at).map_or("", String::as_str);
                clock.strip_prefix("epoch:span:").unwrap_or(clock).to_owned()
            };
            let detail = format!(
                "a span of {called} starts {least} ns before the span of {caller} that calls it: the clock of {called} is \
                 behind {by}; times kept as written",
                called = name(called),
                caller = name(caller),
            );
            rows.finding(Code::ClockSkew, gap.place, &detail);
        }
    }
}

/// The span that called a span, where another clock wrote it.
fn caller<'n>(node: &Node, by_id: &HashMap<(u128, u64), Vec<&'n Node>>) -> Option<&'n Node> {
    // Both sides of a call may share one id.
    let shared = by_id.get(&node.id).filter(|_| node.kind == Kind::Server);
    let client = shared.and_then(|nodes| nodes.iter().find(|other| other.kind == Kind::Client));
    let above = || by_id.get(&(node.id.0, node.parent?));
    let candidates = match client {
        Some(client) => std::slice::from_ref(client),
        None => above()?.as_slice(),
    };
    if candidates.iter().any(|candidate| candidate.clock == node.clock) {
        return None;
    }
    candidates.first().copied()
}
