//! A choice of settings by preset and name, as files and options write it.

use std::fmt;

/// A policy as the scenario asks for it.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicySpec {
    /// The preset: the one asked for, else that of the kernel.
    pub preset: String,
    /// Knobs set on top of it, in the order of the file.
    pub knobs: Vec<Knob>,
}

/// A knob and its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Knob {
    /// Its name.
    pub key: String,
    /// Its value as written; the policy knows what it means.
    pub value: KnobValue,
}

/// The value of a knob.
#[derive(Clone, PartialEq, Debug)]
pub enum KnobValue {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// A number with decimals.
    Number(f64),
    /// A word, or a quantity with its unit.
    Text(String),
}

impl fmt::Display for KnobValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobValue::Flag(b) => write!(f, "{b}"),
            KnobValue::Integer(n) => write!(f, "{n}"),
            KnobValue::Number(x) => write!(f, "{x:?}"),
            KnobValue::Text(s) => write!(f, "{s}"),
        }
    }
}

/// One knob of a preset, for lists and for messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnobInfo {
    /// Its name.
    pub key: String,
    /// The values that it takes, for people.
    pub values: String,
    /// Its value in the preset.
    pub value: String,
    /// Its effect.
    pub doc: String,
}

/// Why a knob was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnobError {
    /// Which knob, one of those that were given.
    pub key: String,
    /// The error and the text to write instead: `"warm" is not a list, write "active" or
    /// "inactive"`.
    pub message: String,
}
