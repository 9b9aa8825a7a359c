//! From the text of an expression to its nodes.

use super::node::{BadExpr, Names, Node, Op};
use crate::figure::{self, Of};
use mmsim_core::base::id::MemcgId;
use mmsim_core::base::time::SimDuration;

/// Levels of an expression; each takes some of the stack.
pub(super) const MOST_DEPTH: usize = 50;
/// Bytes of an expression; a chain such as `1 + 1 + 1` nests as well.
pub(super) const MOST_BYTES: usize = 4096;
/// Longest time of an expression, in nanoseconds.
const DAY: f64 = 24.0 * 3600.0 * 1e9;

/// Parses a text: its node, true if it is a condition, and nodes that look back.
pub(super) fn parse(text: &str, groups: Names<'_>) -> Result<(Node, bool, usize), BadExpr> {
    let mut parser = Parser { text, at: 0, groups, states: 0, depth: 0 };
    let (node, boolean) = parser.or()?;
    parser.space();
    if parser.at < text.len() {
        let found = format!("`{}` after the end of an expression", parser.word());
        return Err(parser.bad(found, "an operator before it, or leave it out"));
    }
    Ok((node, boolean, parser.states))
}

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
        for (name, node) in [("rate", Node::Rate as fn(_, _) -> _), ("average", Node::Average)] {
            if self.takes(name) {
                let inner = self.in_brackets()?;
                return Ok((node(Box::new(inner), self.state()), false));
            }
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
        let written = self.rest().strip_prefix('(').and_then(|r| {
            // A name may have brackets itself.
            let is_it =
                |g: &&String| r.strip_prefix(g.as_str()).is_some_and(|r| r.starts_with(")."));
            let known = self.groups.iter().filter(is_it).map(String::len).max();
            Some(&r[..known.or_else(|| r.find(")."))?])
        });
        let Some(written) = written else {
            return Err(self.bad("a group without figure", "memcg(name).current"));
        };
        let (name, length) = (written.trim().to_string(), written.len());
        let begin = self.at + 1;
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
        self.at += length + 3;
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
