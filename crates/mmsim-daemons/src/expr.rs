//! Conditions, values and orders as expressions over named figures.
//!
//! Numbers with units of size (`100MiB`), figures (`meminfo.MemAvailable`,
//! `memcg(user).pressure.full.avg10`), `+ - * /`, comparisons, `and`, `or`, `not`, `min(a, b)`,
//! `max(a, b)`, `floor(a)`, and three words that look back: `rate(x)` is what a figure grew since it
//! was read last, from 0 on; `for` holds if a comparison held at every look for a time, `within` if it
//! held at some look within a time. There are no loops and no variables.
//!
//! A figure without `memcg()` is one of the candidate: of each group or process among which a victim
//! is chosen. `memcg(*)` says the same. All parts of an expression are read at each look, so that what
//! looks back misses none.

use crate::figure::{self, Candidate, Of, Reads, Source};
use mmsim_core::base::id::MemcgId;
use mmsim_core::base::time::{SimDuration, SimTime};
use std::collections::BTreeMap;

/// Names of the groups of a machine, without the root: the first is group 1.
pub type Names<'a> = &'a [String];

/// An expression that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadExpr {
    /// Byte at which it goes wrong.
    pub at: usize,
    /// Description of the mistake.
    pub found: String,
    /// The word that is not known, and those that are.
    pub unknown: Option<(String, Vec<String>)>,
    /// Text to write instead.
    pub write: String,
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    node: Node,
    boolean: bool,
    /// Nodes that look back.
    states: usize,
}

#[derive(Clone, PartialEq, Debug)]
enum Node {
    Number(f64),
    Figure(Source, String),
    Two(Op, Box<[Node; 2]>),
    Not(Box<Node>),
    Floor(Box<Node>),
    Rate(Box<Node>, usize),
    For(Box<Node>, SimDuration, usize),
    Within(Box<Node>, SimDuration, usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Or,
    And,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Plus,
    Minus,
    Times,
    Over,
    Min,
    Max,
}

impl Op {
    fn of(self, a: f64, b: f64) -> f64 {
        let truth = |t: bool| f64::from(u8::from(t));
        match self {
            Op::Or => truth(a != 0.0 || b != 0.0),
            Op::And => truth(a != 0.0 && b != 0.0),
            Op::Less => truth(a < b),
            Op::LessEqual => truth(a <= b),
            Op::Greater => truth(a > b),
            Op::GreaterEqual => truth(a >= b),
            Op::Plus => a + b,
            Op::Minus => a - b,
            Op::Times => a * b,
            // A share of no swap or of no pages is 0.
            Op::Over => {
                if b == 0.0 {
                    0.0
                } else {
                    a / b
                }
            }
            Op::Min => a.min(b),
            Op::Max => a.max(b),
        }
    }
    /// True if its operands are conditions.
    fn of_conditions(self) -> bool {
        matches!(self, Op::Or | Op::And)
    }
    /// True if it gives a condition.
    fn is_condition(self) -> bool {
        self.of_conditions()
            || matches!(self, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual)
    }
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
    fn parse(text: &str, groups: Names<'_>) -> Result<Expr, BadExpr> {
        let mut parser = Parser { text, at: 0, groups, states: 0, depth: 0 };
        if text.len() > MOST_BYTES {
            return Err(
                parser.bad(format!("an expression of {} bytes", text.len()), "a shorter one")
            );
        }
        let (node, boolean) = parser.or()?;
        parser.space();
        if parser.at < text.len() {
            let found = format!("`{}` after the end of an expression", parser.word());
            return Err(parser.bad(found, "an operator before it, or leave it out"));
        }
        Ok(Expr { node, boolean, states: parser.states })
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
        Expr::parse(text, groups).unwrap_or_else(|e| panic!("{text}: {}", e.found))
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

/// Levels of an expression; each takes some of the stack.
const MOST_DEPTH: usize = 50;
/// Bytes of an expression; a chain such as `1 + 1 + 1` nests as well.
const MOST_BYTES: usize = 4096;
/// Longest time of an expression, in nanoseconds.
const DAY: f64 = 24.0 * 3600.0 * 1e9;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    groups: Names<'a>,
    states: usize,
    /// Brackets, `not` and signs that are open around `at`.
    depth: usize,
}

type Parsed = Result<(Node, bool), BadExpr>;

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }
    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }
    /// The word, number or sign that comes next.
    fn word(&self) -> &str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)));
        match end {
            Some(0) => &rest[..rest.chars().next().map_or(0, char::len_utf8)],
            Some(end) => &rest[..end],
            None => rest,
        }
    }
    fn takes(&mut self, word: &str) -> bool {
        self.space();
        let alphabetic = word.starts_with(|c: char| c.is_ascii_alphabetic());
        let there = if alphabetic { self.word() == word } else { self.rest().starts_with(word) };
        if there {
            self.at += word.len();
        }
        there
    }
    fn bad(&self, found: impl Into<String>, write: impl Into<String>) -> BadExpr {
        BadExpr { at: self.at, found: found.into(), unknown: None, write: write.into() }
    }
    fn state(&mut self) -> usize {
        self.states += 1;
        self.states
    }

    fn two(&self, op: Op, a: (Node, bool), b: (Node, bool)) -> Parsed {
        if [a.1, b.1] != [op.of_conditions(); 2] {
            let (found, write) = match op.of_conditions() {
                true => ("a number where a condition is due", "comparisons on both sides"),
                false => ("a condition where a number is due", "numbers on both sides"),
            };
            return Err(self.bad(found, write));
        }
        Ok((Node::Two(op, Box::new([a.0, b.0])), op.is_condition()))
    }

    fn or(&mut self) -> Parsed {
        let mut left = self.and()?;
        while self.takes("or") {
            let right = self.and()?;
            left = self.two(Op::Or, left, right)?;
        }
        Ok(left)
    }
    fn and(&mut self) -> Parsed {
        let mut left = self.not()?;
        while self.takes("and") {
            let right = self.not()?;
            left = self.two(Op::And, left, right)?;
        }
        Ok(left)
    }
    /// Reads with `part` what stands one level deeper, if that is not too deep for the stack.
    fn deeper(&mut self, part: fn(&mut Self) -> Parsed) -> Parsed {
        if self.depth == MOST_DEPTH {
            let found = format!("more than {MOST_DEPTH} brackets and signs within each other");
            return Err(self.bad(found, "fewer"));
        }
        self.depth += 1;
        let inner = part(self);
        self.depth -= 1;
        inner
    }
    fn not(&mut self) -> Parsed {
        if !self.takes("not") {
            return self.timed();
        }
        match self.deeper(Self::not)? {
            (node, true) => Ok((Node::Not(Box::new(node)), true)),
            _ => Err(self.bad("`not` before a number", "a comparison behind `not`")),
        }
    }
    fn timed(&mut self) -> Parsed {
        let (mut node, boolean) = self.comparison()?;
        loop {
            let held = self.takes("for");
            if !held && !self.takes("within") {
                return Ok((node, boolean));
            }
            if !boolean {
                return Err(self.bad("a time behind a number", "a comparison before it"));
            }
            let (time, state) = (self.time()?, self.state());
            node = if held {
                Node::For(Box::new(node), time, state)
            } else {
                Node::Within(Box::new(node), time, state)
            };
        }
    }
    fn comparison(&mut self) -> Parsed {
        let left = self.sum()?;
        let ops =
            [("<=", Op::LessEqual), (">=", Op::GreaterEqual), ("<", Op::Less), (">", Op::Greater)];
        for (sign, op) in ops {
            if self.takes(sign) {
                let right = self.sum()?;
                return self.two(op, left, right);
            }
        }
        Ok(left)
    }
    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let op = if self.takes("+") {
                Op::Plus
            } else if self.takes("-") {
                Op::Minus
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = self.two(op, left, right)?;
        }
    }
    fn product(&mut self) -> Parsed {
        let mut left = self.atom()?;
        loop {
            let op = if self.takes("*") {
                Op::Times
            } else if self.takes("/") {
                Op::Over
            } else {
                return Ok(left);
            };
            let right = self.atom()?;
            left = self.two(op, left, right)?;
        }
    }

    fn atom(&mut self) -> Parsed {
        if self.takes("-") {
            let right = self.deeper(Self::atom)?;
            return self.two(Op::Minus, (Node::Number(0.0), false), right);
        }
        if self.takes("(") {
            let inner = self.deeper(Self::or)?;
            self.close()?;
            return Ok(inner);
        }
        self.space();
        if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return self.literal();
        }
        if self.takes("memcg") {
            return self.memcg();
        }
        for (name, op) in [("min", Op::Min), ("max", Op::Max)] {
            if self.word() == name && self.text[self.at + name.len()..].starts_with('(') {
                self.at += name.len() + 1;
                let left = self.deeper(Self::sum)?;
                if !self.takes(",") {
                    return Err(self.bad("one value", format!("{name}(a, b)")));
                }
                let right = self.deeper(Self::sum)?;
                self.close()?;
                return self.two(op, left, right);
            }
        }
        if self.takes("rate") {
            let inner = self.in_brackets()?;
            let state = self.state();
            return Ok((Node::Rate(Box::new(inner), state), false));
        }
        if self.takes("floor") {
            let inner = self.in_brackets()?;
            return Ok((Node::Floor(Box::new(inner)), false));
        }
        let start = self.at;
        let mut name = self.word().to_string();
        self.at += name.len();
        // `Active(anon)` is a name.
        for of in ["(anon)", "(file)"] {
            if self.rest().starts_with(of) && name.starts_with("meminfo.") {
                name += of;
                self.at += of.len();
            }
        }
        self.figure(None, name, start)
    }

    fn in_brackets(&mut self) -> Result<Node, BadExpr> {
        if !self.takes("(") {
            return Err(self.bad("no bracket", "(x)"));
        }
        let inner = self.deeper(Self::sum)?;
        self.close()?;
        if inner.1 {
            return Err(self.bad("a condition in brackets that take a number", "a figure"));
        }
        Ok(inner.0)
    }

    fn close(&mut self) -> Result<(), BadExpr> {
        if self.takes(")") { Ok(()) } else { Err(self.bad("an open bracket", "`)`")) }
    }

    /// `memcg(NAME).FIGURE`, behind `memcg`.
    fn memcg(&mut self) -> Parsed {
        let Some((name, _)) = self.rest().strip_prefix('(').and_then(|r| r.split_once(").")) else {
            return Err(self.bad("a group without figure", "memcg(name).current"));
        };
        let (name, begin) = (name.trim().to_string(), self.at + 1);
        let of = match name.as_str() {
            "*" => Of::Candidate,
            "/" => Of::Group(MemcgId(0)),
            _ => match self.groups.iter().position(|g| *g == name) {
                Some(i) => Of::Group(MemcgId(i as u16 + 1)),
                None => {
                    let found = format!("there is no group `{name}`");
                    let unknown = Some((name, self.groups.to_vec()));
                    let write = String::new();
                    return Err(BadExpr { at: begin, found, unknown, write });
                }
            },
        };
        self.at += self.rest().find(").").unwrap_or(0) + 2;
        let start = self.at;
        let figure = self.word().to_string();
        self.at += figure.len();
        let text = format!("memcg({name}).{figure}");
        self.figure(Some(of), figure, start).map(|(node, kind)| match node {
            Node::Figure(source, _) => (Node::Figure(source, text), kind),
            other => (other, kind),
        })
    }

    fn figure(&self, of: Option<Of>, name: String, at: usize) -> Parsed {
        match figure::source(of, &name) {
            Some(source) => Ok((Node::Figure(source, name), false)),
            None if name.is_empty() => Err(self.bad("the end", "a figure or a number")),
            None => {
                let found = format!("there is no figure `{name}`");
                let unknown = Some((name, figure::names()));
                Err(BadExpr { at, found, unknown, write: String::new() })
            }
        }
    }

    /// A number, with a unit of size or without.
    fn literal(&mut self) -> Parsed {
        let (number, unit) = self.number();
        let factor = match unit.as_str() {
            "" | "B" => 1.0,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
            _ => {
                return Err(self.bad(format!("`{unit}` is no unit of size"), "KiB, MiB or GiB"));
            }
        };
        Ok((Node::Number(number * factor), false))
    }

    fn time(&mut self) -> Result<SimDuration, BadExpr> {
        self.space();
        let (number, unit) = self.number();
        let ns = match unit.as_str() {
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            _ => return Err(self.bad(format!("`{unit}` is no unit of time"), "ms, s or min")),
        };
        if number * ns > DAY {
            return Err(self.bad("a time above 24 h", "at most 1440min"));
        }
        Ok(SimDuration((number * ns) as u64))
    }

    fn number(&mut self) -> (f64, String) {
        let word = self.word().to_string();
        let end = word.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(word.len());
        self.at += word.len();
        (word[..end].parse().unwrap_or(0.0), word[end..].to_string())
    }
}

#[cfg(test)]
mod tests {
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
    }
}
