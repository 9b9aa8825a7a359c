//! Notes of an import on its copies.

use std::fmt;

/// Something that could not be taken, or not as it stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Note {
    /// The file, from the root: `proc/swaps`.
    pub file: String,
    /// Item of the file.
    pub item: String,
    /// Why, and what is there instead.
    pub why: String,
}

impl Note {
    pub(crate) fn new(file: &str, item: &str, why: impl Into<String>) -> Note {
        // A value may have several words, or none.
        let item = item.split_whitespace().collect::<Vec<_>>().join(" ");
        Note { file: file.into(), item, why: why.into() }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.item, self.why)
    }
}
