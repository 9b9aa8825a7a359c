//! Counts of a strategy besides the kernel's counters: ends of runs, and pages that move to and
//! fro.
//!
//! A page that compaction moves again and again is work that leads nowhere, the main objection
//! to scanners that sweep a zone. To know a page again without a flag in its frame, the word of
//! the reverse map that says whose page it is gets noted for the frame that it moved to.

use mmsim_core::base::compact_result::CompactResult;
use mmsim_core::base::id::{CpuId, Pfn};
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

/// Effects of some moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Noted {
    /// Pages that had been moved before, and those of them that went back to their pageblock.
    again: u64,
    back: u64,
    /// Pageblocks that became sources and had been targets lately, and the other way around.
    emptied: u64,
    refilled: u64,
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
        let nr_frames = mem.frames.len();
        let moves = moves.into_iter().map(|(from, to)| Move {
            page: mem.frames.rmap[from],
            from: from.0,
            to: to.0,
        });
        let noted = self.note_all(moves, order, cycle + 1, nr_frames);
        // Not more than a move for every fourth frame.
        if self.recent.len() > nr_frames / 4 {
            self.settle(nr_frames);
        }
        mem.count(VmEvent::SimMigrateAgain, noted.again);
        mem.count(VmEvent::SimMigrateBack, noted.back);
        mem.count(VmEvent::SimEmptiedTargets, noted.emptied);
        mem.count(VmEvent::SimRefilledSources, noted.refilled);
    }

    /// Notes moves of the cycle before `now`, each pageblock once for all that come in a row.
    #[inline(always)]
    fn note_all(
        &mut self,
        moves: impl Iterator<Item = Move>,
        order: u8,
        now: u32,
        nr_frames: usize,
    ) -> Noted {
        let lately = |then: u32| u64::from(then > 0 && now - then <= 2);
        let of = |pfn: u32| pfn as usize >> order;
        let mut noted = Noted::default();
        // The pageblocks of the move before, and whether pages of the first one are known again.
        let (mut a, mut b, mut known) = (usize::MAX, usize::MAX, false);
        for m in moves {
            if a != of(m.from) {
                a = of(m.from);
                known = self.target[a] > 0;
                if self.source[a] != now {
                    noted.emptied += lately(self.target[a]);
                    self.source[a] = now;
                }
            }
            if known && let Some(before) = self.came_from(m, nr_frames) {
                noted.again += 1;
                noted.back += u64::from(of(before) == of(m.to));
            }
            self.recent.push(m);
            if b != of(m.to) {
                b = of(m.to);
                if self.target[b] != now {
                    noted.refilled += lately(self.source[b]);
                    self.target[b] = now;
                }
                known |= a == b;
            }
        }
        noted
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
        let look = (cycle + 1, mem.acting.cpu);
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
    let nr_migrated = mem.stats.vmstat[VmEvent::PgMigrateSuccess] - before;
    let nr_failed = batch as u64 - nr_migrated;
    mem.emit(|| TraceEvent::MmCompactionMigratepages { nr_migrated, nr_failed });
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::rng::Rng;

    /// Pages go to and fro between 32 frames in pageblocks of eight; some go away, and others come
    /// into their frames. Moves are noted some at a time, and begin anew often, since a pageblock
    /// that was a target once is one for good. Beside it a table of where each page was before, and
    /// the cycles of each pageblock, move by move.
    #[test]
    fn a_page_is_known_by_the_frame_that_it_was_moved_to() {
        let mut rng = Rng::for_purpose(1, "compaction/moves");
        let (mut sum, mut within) = (Noted::default(), 0);
        for _ in 0..1_000 {
            let mut moves = Moves { target: vec![0; 4], source: vec![0; 4], ..Moves::default() };
            // Page and the frame that it came from, by frame; even frames are in use.
            let mut pages: Vec<Option<(u32, Option<u32>)>> =
                (0..32).map(|f| (f % 2 == 0).then_some((f, None))).collect();
            let (mut sources, mut targets) = ([0u32; 4], [0u32; 4]);
            for now in 1..6 {
                let lately = |then: u32| u64::from(then > 0 && then + 2 >= now);
                let (mut batch, mut expected) = (Vec::new(), Noted::default());
                for _ in 0..rng.below(12) {
                    let (from, to) = (rng.below(32) as usize, rng.below(32) as usize);
                    let (Some((page, before)), None) = (pages[from], pages[to]) else { continue };
                    if rng.below(7) == 0 {
                        // Another page where this one was: the frame is not moved into.
                        pages[from] = Some((page + 100, None));
                        continue;
                    }
                    batch.push(Move { page, from: from as u32, to: to as u32 });
                    let back = |before: u32| before / 8 == to as u32 / 8;
                    expected.again += u64::from(before.is_some());
                    expected.back += u64::from(before.is_some_and(back));
                    if std::mem::replace(&mut sources[from / 8], now) != now {
                        expected.emptied += lately(targets[from / 8]);
                    }
                    if std::mem::replace(&mut targets[to / 8], now) != now {
                        expected.refilled += lately(sources[to / 8]);
                    }
                    within += u32::from(from / 8 == to / 8);
                    (pages[from], pages[to]) = (None, Some((page, Some(from as u32))));
                }
                let noted = moves.note_all(batch.iter().copied(), 3, now, 32);
                assert_eq!(noted, expected, "{batch:?}");
                sum.again += noted.again;
                sum.back += noted.back;
                sum.emptied += noted.emptied;
                sum.refilled += noted.refilled;
            }
        }
        let all = [sum.again, sum.back, sum.emptied, sum.refilled, within.into()];
        assert!(all.iter().all(|&n| n > 100), "{sum:?}, {within} within a pageblock");
    }
}
