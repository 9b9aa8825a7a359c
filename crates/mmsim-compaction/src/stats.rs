//! What a strategy counts besides the kernel's counters: how runs ended, and pages that move to
//! and fro.
//!
//! A page that compaction moves again and again is work that leads nowhere, the main objection
//! to scanners that sweep a zone. To know a page again without a flag in its frame, the word of
//! the reverse map that says whose page it is gets noted for the frame that it moved to.

use mmsim_core::base::id::Pfn;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::Memory;
use mmsim_core::policy::compaction::{CompactResult, CompactionStats, MigrateMode};

/// Counts the end of a run.
pub(crate) fn note_end(stats: &mut CompactionStats, mode: MigrateMode, result: CompactResult) {
    let by_mode = match result {
        CompactResult::Success => &mut stats.success,
        CompactResult::Complete | CompactResult::PartialSkipped => &mut stats.complete,
        CompactResult::Contended => &mut stats.given_up,
        CompactResult::Skipped | CompactResult::Deferred => &mut stats.skipped,
        CompactResult::Continue => unreachable!("a run never ends with {result:?}"),
    };
    by_mode[mode as usize] += 1;
}

/// Who moved where, kept from the first move on, and who looked where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    /// Per frame: the word of the page that was moved there last, and the frame after the one that it
    /// came from; 0: none was.
    last: Vec<(u32, u32)>,
    /// Per pageblock of the machine: the cycle, plus one, in which it was a source, a target.
    source: Vec<u32>,
    target: Vec<u32>,
    /// Per pageblock: the cycle, plus one, and the CPU of the last look at it for sources.
    looks: Vec<(u32, u16)>,
}

impl Moves {
    /// Pages are about to move. `order`: log2 of the frames of a pageblock.
    pub(crate) fn note(
        &mut self,
        mem: &mut Memory,
        moves: impl IntoIterator<Item = (Pfn, Pfn)>,
        order: u8,
        cycle: u32,
    ) {
        if self.last.is_empty() {
            // Memory that is 0 costs nothing until it is used.
            self.last = vec![(0, 0); mem.frames.len()];
            let blocks = (mem.frames.len() >> order) + 1;
            self.source.resize(blocks, 0);
            self.target.resize(blocks, 0);
        }
        let now = cycle + 1;
        let recent = |then: u32| u64::from(then > 0 && now - then <= 2);
        let (mut again, mut back, mut emptied, mut refilled) = (0, 0, 0, 0);
        for (from, to) in moves {
            let page = mem.frames.rmap[from];
            let (a, b) = (from.0 as usize, to.0 as usize);
            let (last, after) = self.last[a];
            let known = last == page && after > 0;
            again += u64::from(known);
            back += u64::from(known && (after - 1) >> order == to.0 >> order);
            self.last[b] = (page, from.0 + 1);
            let (a, b) = (a >> order, b >> order);
            if self.source[a] != now {
                emptied += recent(self.target[a]);
                self.source[a] = now;
            }
            if self.target[b] != now {
                refilled += recent(self.source[b]);
                self.target[b] = now;
            }
        }
        mem.count(VmEvent::SimMigrateAgain, again);
        mem.count(VmEvent::SimMigrateBack, back);
        mem.count(VmEvent::SimEmptiedTargets, emptied);
        mem.count(VmEvent::SimRefilledSources, refilled);
    }

    /// The run under way looks at a pageblock for sources.
    pub(crate) fn note_look(&mut self, mem: &mut Memory, at: u32, order: u8, cycle: u32) {
        if self.looks.is_empty() {
            self.looks.resize((mem.frames.len() >> order) + 1, (0, 0));
        }
        let look = (cycle + 1, mem.cpu.0);
        let before = std::mem::replace(&mut self.looks[at as usize >> order], look);
        let twice = before.0 == look.0 && before.1 != look.1;
        mem.count(VmEvent::SimChosenTwice, twice.into());
    }
}
