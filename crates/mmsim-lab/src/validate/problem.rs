//! Problem with a recording, and its place.

use std::fmt;

use super::place::{Step, shown};

/// Problem with a recording, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Problem {
    /// The way from the root of the file.
    pub(super) way: Vec<Step>,
    /// The name of the point.
    pub(super) point: String,
    /// Value that was found there and values that are possible.
    pub(super) what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `points[3]` is the point that is named already.
        let key = shown(self.way.get(2..).unwrap_or(&[]));
        let colon = if key.is_empty() { "" } else { ": " };
        write!(f, "point \"{}\": {key}{colon}{}", self.point, self.what)
    }
}

/// A mistake below a point: the rest of the way, and what is wrong.
pub(super) type Found = (Vec<Step>, String);

pub(super) fn found<const N: usize>(way: [Step; N], what: impl Into<String>) -> Found {
    (way.into(), what.into())
}

/// Holds a number within its bounds.
pub(super) fn within<const N: usize>(
    way: [Step; N],
    n: u64,
    min: u64,
    max: u64,
) -> Result<(), Found> {
    match (min..=max).contains(&n) {
        true => Ok(()),
        false => Err(found(way, format!("{n}, write a number from {min} to {max}"))),
    }
}
