//! Configuration files of masim, run unchanged.
//!
//! masim (github.com/sjp38/masim) is the small program with which DAMON and its schemes
//! are usually tried out: a text file names memory regions and tells, phase by phase, how
//! they are touched and for how long. [`MasimConfig::parse`] reads such a file;
//! [`MasimConfig::workload`] is the program, one thread.
//!
//! The file: lines that begin with `#` are left out, what remains are paragraphs with
//! exactly one empty line between them. The first has the regions, a line each (`name,
//! bytes` and perhaps the file that it is filled from). Each other one is a phase: its
//! name, its length in milliseconds, and its patterns, a line each (`region, random,
//! stride, weight` and perhaps `ro`, `wo` or `rw`). Regions go by their names exactly as
//! written.
//!
//! A phase draws a pattern by weight, lets it do one *batch* of accesses, looks at the
//! clock, and ends when more than its time has passed. So it does at least one batch, and
//! how many it does is a matter of the machine: the program is a closed loop. A
//! sequential pattern moves on by its stride *before* it accesses, so that a phase begins
//! one stride into the region, and goes back to 0 where it would leave the region; its
//! place is its own and starts anew with the phase. A random pattern takes every byte of
//! the region with equal chance, out of a million prepared numbers.
//!
//! What differs from the program: each region begins at a 2 MiB boundary of its own,
//! where malloc(3) would pack small ones together and begin large ones 16 bytes into a
//! page. A region that is filled from a file has all its pages written once, in order;
//! reading that file is not simulated. The table of prepared numbers takes no memory unless
//! [`MasimOptions::number_bytes`] says how much. The numbers have 64 random bits instead
//! of 62, without which a region of a multiple of 4 GiB would see half its pages unused.
//! Options of the command line for `madvise` and `mlock` do not exist.

mod error;
mod parse;
mod prepared;
mod run;

pub use error::MasimError;
pub use run::{MasimOptions, MasimTask, MasimWorkload};

use mmsim_core::base::time::SimDuration;
use mmsim_core::words;

/// Accesses of a batch unless told otherwise, as in masim.
pub const BATCH: u32 = 131_072;

/// A parsed configuration file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MasimConfig {
    /// The regions, in the order of the file; at least one.
    pub regions: Vec<Region>,
    /// The phases, in order; at least one.
    pub phases: Vec<Phase>,
}

/// A region of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// Its name, with all blanks that it was written with; unique.
    pub name: String,
    /// Size in bytes, at least 1.
    pub bytes: u64,
    /// True if it is filled from a file before the first phase.
    pub filled: bool,
}

impl Region {
    /// The pages that it takes.
    pub fn pages(&self) -> u32 {
        // The parser keeps all regions together below 2^31 pages.
        self.bytes.div_ceil(PAGE) as u32
    }
}

/// A phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// Its name without blanks at its ends.
    pub name: String,
    /// It ends with the first batch that is over later than this after its beginning.
    pub time: SimDuration,
    /// Its patterns, at least one. If all weights are 0, it computes for its time.
    pub patterns: Vec<Pattern>,
}

impl Phase {
    /// The sum of the weights, below 2^31.
    pub fn weights(&self) -> u64 {
        self.patterns.iter().map(|p| u64::from(p.weight)).sum()
    }
}

/// Pattern of accesses to a region in a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Position in [`MasimConfig::regions`].
    pub region: usize,
    /// In which order.
    pub walk: Walk,
    /// Weight of its choice, relative to the other patterns of the phase.
    pub weight: u32,
    /// Reads or writes; `None`: as [`MasimOptions::mode`] says.
    pub mode: Option<Mode>,
}

/// The order of the accesses of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walk {
    /// Ascending by this number of bytes, wrapping to offset 0.
    Sequential(u32),
    /// Every byte with equal chance.
    Random,
}

words! {
    /// Operation of an access.
    Mode {
        Write = "wo", "Writes.";
        Read = "ro", "Reads.";
        ReadWrite = "rw", "Reads, then writes the same byte.";
    }
}

const PAGE: u64 = 4096;
