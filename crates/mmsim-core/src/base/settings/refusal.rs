//! Errors of settings.

use super::{Row, Word};
use std::fmt;

/// Why a kernel does not take a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// It is below this.
    Below(u64),
    /// It is above this; from that release on more is allowed.
    Above(u64, &'static str),
    /// It is neither 0 nor at least this.
    Fraction(u64),
    /// The kernel does not know that word yet.
    Word(&'static Word),
}

/// Why a knob could not be set, or why the knobs make no sense together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KnobError {
    /// There is no such knob.
    UnknownKnob {
        /// Name that was looked up.
        name: String,
        /// The knob that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The knob does not take this value.
    UnknownValue {
        /// Which knob.
        knob: &'static str,
        /// Value that was to be set.
        value: String,
        /// Allowed values.
        allowed: Vec<&'static str>,
        /// The smallest and the largest number that it takes besides.
        numbers: Option<(u64, u64)>,
    },
    /// The knob takes a number, and this is none or too small or too large.
    OutOfRange {
        /// Which knob.
        knob: &'static str,
        /// Value that was to be set.
        value: String,
        /// Smallest and largest number.
        range: (u64, u64),
    },
    /// Two knobs contradict each other.
    Contradiction {
        /// The setting that needs another one, `knob = "value"`.
        setting: String,
        /// Text to write instead.
        instead: String,
        /// Why.
        because: &'static str,
    },
}

impl KnobError {
    /// The message without the name of the knob in front, for those who say where it was set.
    pub fn remark(&self) -> String {
        match self {
            KnobError::UnknownKnob { name, nearest: Some(nearest) } => {
                format!("unknown knob \"{name}\", did you mean \"{nearest}\"?")
            }
            KnobError::UnknownKnob { name, nearest: None } => format!("unknown knob \"{name}\""),
            KnobError::UnknownValue { value, allowed, numbers, .. } => {
                let number = numbers.map_or(String::new(), |(low, high)| {
                    format!(", or a whole number from {low} to {high}")
                });
                let words = allowed.join("\", \"");
                format!("unknown value \"{value}\", write one of \"{words}\"{number}")
            }
            KnobError::OutOfRange { value, range: (low, high), .. } => {
                format!("found {value}, write a whole number from {low} to {high}")
            }
            KnobError::Contradiction { setting, instead, because } => {
                format!("{setting} makes no sense here: {because}; write {instead}")
            }
        }
    }
}

impl fmt::Display for KnobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobError::UnknownValue { knob, .. } | KnobError::OutOfRange { knob, .. } => {
                write!(f, "{knob}: {}", self.remark())
            }
            _ => f.write_str(&self.remark()),
        }
    }
}

impl std::error::Error for KnobError {}

/// The answer to a name that is none of `rows`: the row whose name is nearest, unless none
/// comes near. Underscores are taken for dashes.
pub(super) fn unknown_knob(rows: &[Row], name: &str) -> KnobError {
    let dashed = name.replace('_', "-");
    let nearest = rows
        .iter()
        .map(|r| (strsim::damerau_levenshtein(&dashed, r.name), r.name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, nearest)| *distance <= nearest.len() / 3)
        .map(|(_, nearest)| nearest);
    KnobError::UnknownKnob { name: name.to_owned(), nearest }
}
