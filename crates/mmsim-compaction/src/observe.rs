//! What a strategy counts besides the kernel's counters: how runs ended, and pages that move to
//! and fro.
//!
//! A page that compaction moves again and again is work that leads nowhere, the main objection
//! to scanners that sweep a zone. To know a page again without a flag in its frame, the word of
//! the reverse map that says whose page it is gets noted for the frame that it moved to.

use mmsim_core::base::compact_result::CompactResult;
use mmsim_core::base::id::{CpuId, Idx as _, Pfn};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::Memory;
use mmsim_core::memory::trace::TraceEvent;
use mmsim_core::policy::compaction::{CompactRequest, CompactionStats, MigrateMode};

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

/// A page that was moved: its word, whence and where to.
#[derive(Clone, Copy, Debug)]
struct Move {
    page: u32,
    from: u32,
    to: u32,
}

/// Who moved where, kept from the first move on, and who looked where.
///
/// A move is known again only where a page is taken from a pageblock that was a target before. Until
/// then moves are kept in their order, which costs a sweep a fifth less than to write each beside
/// its frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    /// Moves that are not in `last` yet, the oldest first.
    recent: Vec<Move>,
    /// Per frame: the word of the page that was moved there last, and the frame after the one that it
    /// came from; 0: none was.
    last: Vec<(u32, u32)>,
    /// Per pageblock of the machine: the cycle, plus one, in which it was a source, a target.
    source: Vec<u32>,
    target: Vec<u32>,
    /// Per pageblock: the cycle, plus one, and the CPU of the last look at it for sources.
    looks: Vec<(u32, CpuId)>,
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
        if self.source.is_empty() {
            let blocks = (mem.frames.len() >> order) + 1;
            self.source.resize(blocks, 0);
            self.target.resize(blocks, 0);
        }
        let now = cycle + 1;
        let lately = |then: u32| u64::from(then > 0 && now - then <= 2);
        let (mut again, mut back, mut emptied, mut refilled) = (0, 0, 0, 0);
        // The pageblocks of the move before, and whether pages of the first one are known again.
        let (mut a, mut b, mut known) = (usize::MAX, usize::MAX, false);
        for (from, to) in moves {
            let of = |pfn: Pfn| pfn.index() >> order;
            let moved = Move { page: mem.frames.rmap[from], from: from.0, to: to.0 };
            if a != of(from) {
                a = of(from);
                known = self.target[a] > 0;
                if self.source[a] != now {
                    emptied += lately(self.target[a]);
                    self.source[a] = now;
                }
            }
            if known && let Some(before) = self.came_from(moved, mem.frames.len()) {
                again += 1;
                back += u64::from(before >> order == to.0 >> order);
            }
            self.recent.push(moved);
            if b != of(to) {
                b = of(to);
                if self.target[b] != now {
                    refilled += lately(self.source[b]);
                    self.target[b] = now;
                }
                known |= a == b;
            }
        }
        // Not more than a move for every fourth frame.
        if self.recent.len() > mem.frames.len() / 4 {
            self.settle(mem.frames.len());
        }
        mem.count(VmEvent::SimMigrateAgain, again);
        mem.count(VmEvent::SimMigrateBack, back);
        mem.count(VmEvent::SimEmptiedTargets, emptied);
        mem.count(VmEvent::SimRefilledSources, refilled);
    }

    /// The frame that a page was moved from before, out of a pageblock that was a target.
    #[cold]
    #[inline(never)]
    fn came_from(&mut self, m: Move, nr_frames: usize) -> Option<u32> {
        self.settle(nr_frames);
        let (last, after) = self.last[m.from as usize];
        (last == m.page).then(|| after.checked_sub(1)).flatten()
    }

    /// Writes the moves beside the frames.
    fn settle(&mut self, nr_frames: usize) {
        if self.last.is_empty() {
            // Memory that is 0 costs nothing until it is used.
            self.last = vec![(0, 0); nr_frames];
        }
        for m in self.recent.drain(..) {
            self.last[m.to as usize] = (m.page, m.from + 1);
        }
    }

    /// The run under way looks at a pageblock for sources.
    pub(crate) fn note_look(&mut self, mem: &mut Memory, at: u32, order: u8, cycle: u32) {
        if self.looks.is_empty() {
            self.looks.resize((mem.frames.len() >> order) + 1, (0, CpuId(0)));
        }
        let look = (cycle + 1, mem.cpu);
        let before = std::mem::replace(&mut self.looks[at as usize >> order], look);
        let twice = before.0 == look.0 && before.1 != look.1;
        mem.count(VmEvent::SimChosenTwice, twice.into());
    }
}

/// Tells observers that a run begins with its scanners at these frames (for sources and for
/// targets), or how it ended.
pub(crate) fn announce(
    mem: &mut Memory,
    req: &CompactRequest,
    (migrate_pfn, free_pfn): (Pfn, Pfn),
    ended: Option<CompactResult>,
) {
    let (zone, sync) = (req.zone, req.mode != MigrateMode::Async);
    mem.emit(|| match ended {
        None => TraceEvent::MmCompactionBegin { zone, migrate_pfn, free_pfn, sync },
        Some(status) => TraceEvent::MmCompactionEnd { zone, migrate_pfn, free_pfn, sync, status },
    });
}

/// Tells observers what became of a batch, given the count of moves before it.
pub(crate) fn announce_batch(mem: &mut Memory, batch: usize, before: u64) {
    let nr_migrated = mem.vmstat[VmEvent::PgMigrateSuccess] - before;
    let nr_failed = batch as u64 - nr_migrated;
    mem.emit(|| TraceEvent::MmCompactionMigratepages { nr_migrated, nr_failed });
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::rng::Rng;

    /// Pages go to and fro between 64 frames in pageblocks of eight; some go away, and others come
    /// into their frames. Beside it a table of where each page was before.
    #[test]
    fn a_page_is_known_by_the_frame_that_it_was_moved_to() {
        const FRAMES: u32 = 64;
        let mut rng = Rng::for_purpose(1, "compaction/moves");
        let mut moves = Moves { target: vec![0; 8], source: vec![0; 8], ..Moves::default() };
        // Page and the frame that it came from, by frame; even frames are in use.
        let mut pages: Vec<Option<(u32, Option<u32>)>> =
            (0..FRAMES).map(|f| (f % 2 == 0).then_some((f, None))).collect();
        let (mut known, mut settled) = (0, 0);
        for round in 0..2_000u32 {
            let (from, to) = (rng.below(64) as usize, rng.below(64) as usize);
            let (Some((page, before)), None) = (pages[from], pages[to]) else { continue };
            if round % 7 == 0 {
                // Another page where this one was: the frame is not moved into.
                pages[from] = Some((1_000 + round, None));
                continue;
            }
            let m = Move { page, from: from as u32, to: to as u32 };
            let was_target = moves.target[from / 8] > 0;
            let found = if was_target { moves.came_from(m, FRAMES as usize) } else { None };
            assert_eq!(found, before, "{m:?}");
            moves.recent.push(m);
            moves.target[to / 8] = 1;
            (pages[from], pages[to]) = (None, Some((page, Some(from as u32))));
            known += u32::from(before.is_some());
            settled += u32::from(moves.recent.len() == 1);
        }
        assert!(known > 100 && settled > 100, "{known} known, {settled} settled");
    }
}
