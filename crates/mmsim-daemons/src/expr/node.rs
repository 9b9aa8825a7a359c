//! Nodes of expressions.

use crate::figure::Source;
use mmsim_core::base::time::SimDuration;

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

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Node {
    Number(f64),
    Figure(Source, String),
    Two(Op, Box<[Node; 2]>),
    Not(Box<Node>),
    Floor(Box<Node>),
    Rate(Box<Node>, usize),
    Average(Box<Node>, usize),
    For(Box<Node>, SimDuration, usize),
    Within(Box<Node>, SimDuration, usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
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
    pub(super) fn of(self, a: f64, b: f64) -> f64 {
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
    pub(super) fn of_conditions(self) -> bool {
        matches!(self, Op::Or | Op::And)
    }
    /// True if it gives a condition.
    pub(super) fn is_condition(self) -> bool {
        self.of_conditions()
            || matches!(self, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual)
    }
}
