//! Conditions, values and orders as expressions over named figures.
//!
//! Numbers with units of size (`100MiB`), figures (`meminfo.MemAvailable`,
//! `memcg(user).pressure.full.avg10`), `+ - * /`, comparisons, `and`, `or`, `not`, `min(a, b)`,
//! `max(a, b)`, `floor(a)`, and words that look back: `rate(x)` is what a figure grew since it was read
//! last, from 0 on; `average(x)` takes a quarter of each look; `for` holds if a comparison held at every look for a time, `within` if it
//! held at some look within a time. There are no loops and no variables.
//!
//! A figure without `memcg()` is one of the candidate: of each group or process among which a victim
//! is chosen. `memcg(*)` says the same. All parts of an expression are read at each look, so that what
//! looks back misses none.

mod node;
mod parse;

use crate::figure::{Candidate, Of, Reads, Source};
use mmsim_core::base::id::MemcgId;
use mmsim_core::base::time::SimTime;
use std::collections::BTreeMap;

use node::Node;
pub use node::{BadExpr, Names};
use parse::{MOST_BYTES, parse};

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    node: Node,
    boolean: bool,
    /// Nodes that look back.
    states: usize,
}

/// Memory of an expression between looks: for each node that looks back and each candidate, a
/// value or an instant.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Memory {
    values: BTreeMap<(usize, u32), f64>,
    since: BTreeMap<(usize, u32), SimTime>,
}

/// Result of an expression: its value, the figures that it read, and since when what it says has
/// held.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Found {
    pub(crate) value: f64,
    pub(crate) read: Vec<(String, f64)>,
    pub(crate) since: Option<SimTime>,
}

impl Expr {
    /// Parses a text of a scenario.
    fn parse(text: &str, groups: Names<'_>) -> Result<Expr, BadExpr> {
        if text.len() > MOST_BYTES {
            let found = format!("an expression of {} bytes", text.len());
            return Err(BadExpr { at: 0, found, unknown: None, write: "a shorter one".into() });
        }
        Expr::parse_any(text, groups)
    }

    fn parse_any(text: &str, groups: Names<'_>) -> Result<Expr, BadExpr> {
        let (node, boolean, states) = parse(text, groups)?;
        Ok(Expr { node, boolean, states })
    }

    /// Reads a condition, such as `meminfo.MemAvailable < 100MiB`.
    ///
    /// # Errors
    /// It cannot be read, or is a number.
    pub fn condition(text: &str, groups: Names<'_>) -> Result<Expr, BadExpr> {
        let expr = Expr::parse(text, groups)?;
        if expr.boolean { Ok(expr) } else { Err(wrong_kind(text, "a number", "a comparison")) }
    }

    /// Reads a number, such as `rate(stat.pgscan)`.
    ///
    /// # Errors
    /// It cannot be read, or is a condition.
    pub fn number(text: &str, groups: Names<'_>) -> Result<Expr, BadExpr> {
        let expr = Expr::parse(text, groups)?;
        if expr.boolean { Err(wrong_kind(text, "a condition", "a number")) } else { Ok(expr) }
    }

    /// An expression of this crate's own.
    pub(crate) fn own(text: &str, groups: Names<'_>) -> Expr {
        Expr::parse_any(text, groups).unwrap_or_else(|e| panic!("{text}: {}", e.found))
    }

    /// The groups whose pressure it reads, and true if a candidate's is.
    pub(crate) fn pressures(&self) -> (Vec<MemcgId>, bool) {
        let (mut groups, mut of_candidates) = (Vec::new(), false);
        self.node.walk(&mut |node| match node {
            Node::Figure(Source::Pressure(Of::Group(m), ..), _) => groups.push(*m),
            Node::Figure(Source::Pressure(Of::Candidate, ..), _) => of_candidates = true,
            _ => {}
        });
        (groups, of_candidates)
    }

    /// True if it reads what only a scenario with pods says.
    pub fn reads_pods(&self) -> bool {
        let mut found = false;
        self.node.walk(&mut |node| found |= matches!(node, Node::Figure(Source::Said(_), _)));
        found
    }

    /// True if it remembers something between two looks.
    pub(crate) fn looks_back(&self) -> bool {
        self.states > 0
    }

    /// True if some figure is one of a candidate.
    pub(crate) fn is_of_candidates(&self) -> bool {
        let mut found = false;
        self.node.walk(&mut |node| {
            if let Node::Figure(source, _) = node {
                found |= matches!(
                    source,
                    Source::Pressure(Of::Candidate, ..)
                        | Source::Group(Of::Candidate, _)
                        | Source::Scanned(Of::Candidate)
                        | Source::Stat(Of::Candidate, _)
                        | Source::Process(_)
                        | Source::Said(_)
                );
            }
        });
        found
    }

    /// Its value at this look.
    pub(crate) fn find(
        &self,
        reads: &mut Reads<'_>,
        candidate: Candidate<'_>,
        memory: &mut Memory,
    ) -> Found {
        let now = reads.system.now();
        let mut found = Found::default();
        let mut look = Look { reads, candidate, memory, now, found: &mut found };
        let value = self.node.value(&mut look);
        Found { value, ..found }
    }
}

fn wrong_kind(text: &str, found: &str, write: &str) -> BadExpr {
    let found = format!("`{text}` is {found}");
    BadExpr { at: 0, found, unknown: None, write: write.to_string() }
}

struct Look<'a, 'b> {
    reads: &'a mut Reads<'b>,
    candidate: Candidate<'a>,
    memory: &'a mut Memory,
    now: SimTime,
    found: &'a mut Found,
}

impl Node {
    fn walk(&self, f: &mut dyn FnMut(&Node)) {
        f(self);
        match self {
            Node::Number(_) | Node::Figure(..) => {}
            Node::Two(_, two) => two.iter().for_each(|n| n.walk(f)),
            Node::Not(n)
            | Node::Floor(n)
            | Node::Rate(n, _)
            | Node::Average(n, _)
            | Node::For(n, ..)
            | Node::Within(n, ..) => n.walk(f),
        }
    }

    fn value(&self, look: &mut Look<'_, '_>) -> f64 {
        match self {
            Node::Number(n) => *n,
            Node::Figure(source, name) => {
                let value = look.reads.value(*source, look.candidate);
                if !look.found.read.iter().any(|(n, _)| n == name) {
                    look.found.read.push((name.clone(), value));
                }
                value
            }
            Node::Two(op, two) => {
                let [a, b] = [two[0].value(look), two[1].value(look)];
                op.of(a, b)
            }
            Node::Not(n) => f64::from(u8::from(n.value(look) == 0.0)),
            Node::Floor(n) => n.value(look).floor(),
            Node::Rate(n, state) => {
                let value = n.value(look);
                let key = (*state, look.candidate.number());
                let before = look.memory.values.insert(key, value).unwrap_or(0.0);
                value - before
            }
            Node::Average(n, state) => {
                let value = n.value(look);
                let key = (*state, look.candidate.number());
                let before = look.memory.values.get(&key).copied().unwrap_or(value);
                let average = before * 0.75 + value * 0.25;
                look.memory.values.insert(key, average);
                average
            }
            Node::For(n, time, state) => {
                let holds = n.value(look) != 0.0;
                let key = (*state, look.candidate.number());
                if !holds {
                    look.memory.since.remove(&key);
                    return 0.0;
                }
                let since = *look.memory.since.entry(key).or_insert(look.now);
                look.found.since = look.found.since.max(Some(since));
                f64::from(u8::from(look.now.since(since) >= *time))
            }
            Node::Within(n, time, state) => {
                let key = (*state, look.candidate.number());
                if n.value(look) != 0.0 {
                    look.memory.since.insert(key, look.now);
                }
                let last = look.memory.since.get(&key);
                f64::from(u8::from(last.is_some_and(|&at| look.now.since(at) <= *time)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse::MOST_DEPTH;
    use super::*;
    use crate::testing::FakeBox;

    fn groups() -> Vec<String> {
        vec!["user".to_string(), "lxc/a".to_string()]
    }

    fn bad(text: &str) -> String {
        let e = Expr::condition(text, &groups()).expect_err(text);
        format!("{}: {}; {}", e.at, e.found, e.write)
    }

    /// An expression that cannot be read gives the place, the mistake and what to write.
    #[test]
    fn mistakes_are_named() {
        assert_eq!(
            bad("meminfo.MemAvailable"),
            "0: `meminfo.MemAvailable` is a number; a comparison"
        );
        assert_eq!(bad("memcg(users).current > 1"), "6: there is no group `users`; ");
        assert_eq!(bad("meminfo.MemAvail < 1"), "0: there is no figure `meminfo.MemAvail`; ");
        assert_eq!(bad("vmstat.pgfault > 1 for 3h"), "25: `h` is no unit of time; ms, s or min");
        let long = format!("vmstat.pgfault > 1 for {}s", "9".repeat(20));
        assert!(bad(&long).ends_with(": a time above 24 h; at most 1440min"), "{}", bad(&long));
        assert_eq!(bad("vmstat.pgfault > 3GB"), "20: `GB` is no unit of size; KiB, MiB or GiB");
        assert_eq!(
            bad("vmstat.pgfault > 1 and 3"),
            "24: a number where a condition is due; comparisons on both sides"
        );
        assert_eq!(bad("(vmstat.pgfault > 1"), "19: an open bracket; `)`");
        assert_eq!(
            bad("vmstat.pgfault > 1 1"),
            "19: `1` after the end of an expression; an operator before it, or leave it out"
        );
    }

    /// Brackets, `not`, signs and functions may be nested, but not until the stack overflows.
    #[test]
    fn depth_has_an_end() {
        let nested = |open: &str, close: &str, n: usize, middle: &str| {
            format!("{}{middle}{}", open.repeat(n), close.repeat(n))
        };
        for (open, close, middle) in [
            ("(", ")", "1 > 0"),
            ("not ", "", "1 > 0"),
            ("min(1, ", ")", "2"),
            ("rate(", ")", "vmstat.pgfault"),
            ("- ", "", "1"),
        ] {
            let tail = if middle.contains('>') { "" } else { " > 0" };
            let text = |n| nested(open, close, n, middle) + tail;
            assert!(Expr::condition(&text(MOST_DEPTH), &groups()).is_ok(), "{open}");
            let found = bad(&text(MOST_DEPTH + 1));
            assert!(found.contains("more than 50 brackets and signs"), "{found}");
        }
        let chain = |n: usize| "1 > 0 and ".repeat(n) + "2 > 1";
        assert!(Expr::condition(&chain(400), &groups()).is_ok());
        assert_eq!(bad(&chain(10_000)), "0: an expression of 100005 bytes; a shorter one");
    }

    /// Worked by hand: `*` binds closer than `+`, that closer than a comparison, that than `for`,
    /// `not`, `and`, `or`.
    #[test]
    fn signs_bind_as_in_arithmetic() {
        let value = |text: &str| {
            let expr = Expr::parse(text, &groups()).expect(text);
            let mut machine = FakeBox::default();
            machine.value(&expr)
        };
        assert_eq!(value("1 + 2 * 3 - 8 / 4"), 5.0);
        assert_eq!(value("(1 + 2) * -3"), -9.0);
        assert_eq!(value("1 < 2 and not 3 < 2 or 1 > 2"), 1.0);
        assert_eq!(value("max(min(3, 1), floor(2.9))"), 2.0);
        assert_eq!(value("5 / 0"), 0.0);
        assert_eq!(value("100MiB"), 104_857_600.0);
        let odd = ["a).b".to_string(), "a".to_string()];
        assert!(Expr::number("memcg(a).b).current + memcg(a).current", &odd).is_ok());
    }

    /// `for` needs the condition at every look, `within` at one, `rate` begins at 0.
    #[test]
    fn words_that_look_back() {
        let held = Expr::condition("meminfo.MemFree < 10 for 2s", &[]).expect("it is one");
        let once = Expr::condition("meminfo.MemFree < 10 within 2s", &[]).expect("it is one");
        let rate = Expr::number("rate(meminfo.MemTotal)", &[]).expect("it is one");
        let mut machine = FakeBox::default();
        machine.info.mem_total = 1;
        // Low from 1 s to 3 s, then not.
        let mut seen = Vec::new();
        for second in 0..7 {
            machine.now = SimTime(second * 1_000_000_000);
            machine.info.mem_free = if (1..4).contains(&second) { 0 } else { 100 };
            seen.push([&held, &once, &rate].map(|e| machine.value(e)));
        }
        assert_eq!(seen.iter().map(|s| s[0]).collect::<Vec<_>>(), [0., 0., 0., 1., 0., 0., 0.]);
        assert_eq!(seen.iter().map(|s| s[1]).collect::<Vec<_>>(), [0., 1., 1., 1., 1., 1., 0.]);
        assert_eq!(seen.iter().map(|s| s[2]).collect::<Vec<_>>(), [4096., 0., 0., 0., 0., 0., 0.]);
        let average = Expr::number("average(meminfo.MemFree)", &[]).expect("it is one");
        let averages = [4096, 0, 0].map(|free| {
            machine.info.mem_free = free / 4096;
            machine.value(&average)
        });
        assert_eq!(averages, [4096.0, 3072.0, 2304.0]);
    }
}
