//! Blocks that could not be allocated, and stalls: counted by kind, phase, task and group.
//!
//! Each comes with its class from the place that decides it ([`mmsim_core::memory::trouble`]), so
//! there is nothing to settle.

use std::collections::BTreeMap;

use mmsim_core::base::compact_result::NoBlock;
use mmsim_core::base::id::{AsId, Idx, MemcgId};
use mmsim_core::base::time::SimDuration;
use mmsim_core::memory::Memory;
use mmsim_core::memory::trouble::{Background, Holder, Trouble, Troubled};

use crate::names::{Names, group};

/// Which counter something belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Counted {
    /// `sim_highalloc_fail`: requests for blocks of more than one page.
    Allocations,
    /// `compact_fail`: attempts to compact for them.
    Compactions,
    /// `allocstall_*`: direct reclaim.
    Stalls,
}

/// A class of one of the three, with its name in documents and in words.
pub type Named = (&'static str, &'static str);

fn of_block(why: NoBlock) -> Named {
    match why {
        NoBlock::NotTried => ("not_tried", "not tried"),
        NoBlock::NoSpace => ("no_space", "no space"),
        NoBlock::Deferred => ("deferred", "deferred"),
        NoBlock::GaveUp => ("gave_up", "gave up"),
        NoBlock::NotMovable => ("not_movable", "not movable"),
        NoBlock::Raced => ("raced", "raced"),
    }
}

fn of_stall(background: Background) -> Named {
    match background {
        Background::NoBlock => ("no_block", "no block"),
        Background::GivenUp => ("kswapd_given_up", "kswapd has given up"),
        Background::Asleep => ("kswapd_asleep", "kswapd asleep"),
        Background::NotStarted => ("kswapd_not_started", "kswapd not started"),
        Background::Writes => ("kswapd_writes", "kswapd waits for writes"),
        Background::Behind => ("kswapd_behind", "kswapd behind"),
    }
}

impl Counted {
    /// All its classes, in the order in which they are checked.
    pub fn classes(self) -> Vec<Named> {
        const ALL: [NoBlock; 6] = [
            NoBlock::NotTried,
            NoBlock::NoSpace,
            NoBlock::Deferred,
            NoBlock::GaveUp,
            NoBlock::NotMovable,
            NoBlock::Raced,
        ];
        match self {
            Counted::Stalls => Background::ALL.into_iter().map(of_stall).collect(),
            Counted::Allocations | Counted::Compactions => ALL.into_iter().map(of_block).collect(),
        }
    }
}

/// Counts as the run goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Troubles(BTreeMap<(Trouble, u32, AsId, MemcgId), (u64, SimDuration)>);

/// Troubles of allocations, of one kind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TroubleCell {
    /// The counter.
    pub of: Counted,
    /// The class, by its name in documents.
    pub class: &'static str,
    /// Number of phases that had ended.
    pub phase: u32,
    /// Whose request it was.
    pub task: String,
    /// The group of that task; empty for the root.
    pub group: String,
    /// For a stall, the holder of the most pages: a process, `(page cache)` or `(kernel)`.
    pub holder: Option<String>,
    /// Number of troubles.
    pub count: u64,
    /// For stalls, the time since kswapd woke up, in all of them together.
    pub late_ns: u64,
}

impl Troubles {
    /// Counts one.
    pub(crate) fn count(&mut self, t: &Troubled, phase: u32) {
        let (count, late) = self.0.entry((t.what, phase, t.space, t.memcg)).or_default();
        *count += 1;
        *late += t.late;
    }

    /// Gives all things their names.
    pub(crate) fn settle(self, mem: &Memory, names: &Names) -> Vec<TroubleCell> {
        let process = |a: AsId| names.processes()[a.index()].clone();
        let cell = |((what, phase, space, memcg), (count, late)): (_, (u64, SimDuration))| {
            let (of, class, holder) = match what {
                Trouble::Allocation(why) => (Counted::Allocations, of_block(why).0, None),
                Trouble::Compaction(why) => (Counted::Compactions, of_block(why).0, None),
                Trouble::Stall(background, holder) => {
                    let holder = match holder {
                        Holder::Process(a) => process(a),
                        Holder::Cache => "(page cache)".into(),
                        Holder::Kernel => "(kernel)".into(),
                    };
                    (Counted::Stalls, of_stall(background).0, Some(holder))
                }
            };
            let (task, group) = (process(space), group(mem, memcg));
            TroubleCell { of, class, phase, task, group, holder, count, late_ns: late.0 }
        };
        self.0.into_iter().map(cell).collect()
    }
}
