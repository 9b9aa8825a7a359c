//! Notes of an import on its copies.

use std::fmt;

/// Weight of a note for results. The order is that in which notes are read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Weight {
    /// The kernel, the LRU or the memory is not that of the machine.
    Machine,
    /// A device is another one, or begins in another state.
    Device,
    /// Little or nothing changes.
    Detail,
}

/// Something that could not be taken, or not as it stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Note {
    /// Its weight.
    pub weight: Weight,
    /// The file, from the root: `proc/swaps`.
    pub file: String,
    /// Item of the file.
    pub item: String,
    /// Why, and what is there instead.
    pub why: String,
}

impl Note {
    /// A note that matters little.
    pub(crate) fn new(file: &str, item: &str, why: impl Into<String>) -> Note {
        // A value may have several words, or none.
        let item = item.split_whitespace().collect::<Vec<_>>().join(" ");
        Note { weight: Weight::Detail, file: file.into(), item, why: why.into() }
    }

    /// The same with another weight.
    pub(crate) fn weighing(self, weight: Weight) -> Note {
        Note { weight, ..self }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.item, self.why)
    }
}
