//! Memory cgroups of a script, and the processes in them.

use super::Command;

/// A group that a script makes (`mkdir`), with what it writes to its files before anything runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScriptGroup {
    /// Path below the root, as in `pod/a`.
    pub path: String,
    /// `memory.min`, pages.
    pub min: u64,
    /// `memory.low`, pages.
    pub low: u64,
    /// `memory.high`, pages.
    pub high: Option<u64>,
    /// `memory.max`, pages.
    pub max: Option<u64>,
    /// `memory.swap.max`, pages.
    pub swap_max: Option<u64>,
    /// `memory.zswap.max`, pages.
    pub zswap_max: Option<u64>,
    /// `memory.zswap.writeback` is 0.
    pub no_zswap_writeback: bool,
    /// `memory.oom.group`.
    pub oom_group: bool,
}

/// A process of a script besides the first (`process`).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScriptProcess {
    /// Its number.
    pub number: u16,
    /// Position of its group in [`super::ScriptSetup::groups`]; `None`: the root.
    pub group: Option<usize>,
    /// `oom_score_adj`, -1000 to 1000.
    pub oom_score_adj: i16,
    /// Its commands, with [`Command::Meet`] wherever it waits for others.
    pub commands: Vec<Command>,
}
