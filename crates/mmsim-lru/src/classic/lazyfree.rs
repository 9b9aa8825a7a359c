//! Lazily freed memory in a list of its own, with `vm.lazyfreeness` to say how much of it is scanned:
//! two versions of a knob that was posted in November 2015 and never merged.
//!
//! `MADV_FREE` puts a page at the head of its group's list, which exists without swap too. A scan
//! frees from the tail what was not used since. A page that was written or is in use becomes ordinary
//! active anonymous memory. The first version divides scanning between three kinds of lists as
//! swappiness does between two. The second takes a number of pages that grows as priority falls, and
//! leaves the other lists as they were.
//!
//! Source: linux-mm, "MADV_FREE support" of 2015, "mm: introduce lazyfree LRU list" and "mm: add knob to
//! tune lazyfreeing" (v2 and v3). Left out: the value of each group, and scans of at least 32 pages of
//! small lists for a limit.

use super::config::LazyfreePlace;
use super::formulas::{self, Fractions, PerList, ScanMode};
use super::scan::judge_as;
use super::{Classic, Lruvec};
use crate::index::LruvecId;
use crate::shrink::{BatchStats, ShrinkOutcome, shrink_folio};
use mmsim_core::base::id::{IndexVec, ListId, MemcgId, NodeId};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::DEF_PRIORITY;
use mmsim_core::memory::trace::{ScanOutcome, TraceEvent, TraceKind};
use mmsim_core::memory::{Memory, Run, Scan, ScanFor};
use mmsim_core::phys::frames::{FolioId, flag};
use mmsim_core::policy::ReclaimRequest;

/// The name of the list in `/proc/vmstat`.
pub(super) const NAME: &str = "nr_lazyfree";

/// `vm.lazyfreeness` from which on the version of early November scans this list alone.
const ALONE: u64 = 80;

/// Memory of one list: pages that came or were scanned lately, and those of them that were in use
/// (`recent_scanned[2]`, `recent_rotated[2]`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Recent {
    scanned: u64,
    rotated: u64,
}

/// The lists of all groups.
pub(super) struct OwnLists {
    lists: IndexVec<LruvecId, ListId>,
    recent: IndexVec<LruvecId, Recent>,
}

impl OwnLists {
    /// One list for each lruvec; `None`: lazily freed memory is among file pages.
    pub(super) fn of(
        place: LazyfreePlace,
        lruvecs: &IndexVec<LruvecId, Lruvec>,
        mem: &mut Memory,
    ) -> Option<OwnLists> {
        place.is_own_list().then(|| OwnLists {
            lists: IndexVec::from_fn(lruvecs.len(), |_| mem.lru.lists.create()),
            recent: IndexVec::filled(lruvecs.len(), Recent::default()),
        })
    }
    /// The list of an lruvec.
    pub(super) fn list(&self, lv: LruvecId) -> ListId {
        self.lists[lv]
    }
    /// Pages came or were scanned; `rotated` of them are in use.
    pub(super) fn note(&mut self, lv: LruvecId, scanned: u64, rotated: u64) {
        self.recent[lv].scanned += scanned;
        self.recent[lv].rotated += rotated;
    }
}

/// Shares of scanning of the version of early November: those of two kinds of lists, and the numerator
/// of a list of `size` lazily freed pages at `lazyfreeness`. All have one denominator, in which each
/// numerator counts.
const fn three_shares(two: Fractions, lazyfreeness: u64, r: Recent) -> (Fractions, u64) {
    let lazy = (100 + lazyfreeness) * (r.scanned + 1) / (r.rotated + 1);
    (Fractions { fraction: two.fraction, denominator: two.denominator + lazy }, lazy)
}

/// Pages of a list of `size` that a pass of the version of mid November scans. `file_is_scarce`: file
/// and free pages together are no more than the high watermark.
const fn by_priority(
    target: u64,
    priority: u8,
    lazyfreeness: u64,
    size: u64,
    file_is_scarce: bool,
) -> u64 {
    let scan = match target * (DEF_PRIORITY - priority) as u64 * lazyfreeness / 50 {
        0 if file_is_scarce => size >> priority,
        n => n,
    };
    if scan < size { scan } else { size }
}

impl Classic {
    /// `MADV_FREE` of a listed folio.
    pub(super) fn freed_lazily(&mut self, mem: &mut Memory, folio: FolioId) {
        mem.lru_del(folio);
        mem.make_lazyfree(folio);
        let lv = self.lruvec_of(mem, folio);
        if self.is_ready_at_once() {
            self.add_to_pool(mem, lv, folio);
        } else if self.config.lazyfree == LazyfreePlace::Tail {
            let list = self.lruvecs[lv].lists[Self::list_index(mem, folio)];
            mem.lru_add_tail(list, folio);
        } else {
            self.add_head(mem, folio);
        }
        match &mut self.own {
            Some(own) => own.note(lv, 1, 0),
            None => self.note_rotated(lv, true, 1, 0),
        }
    }

    /// The list that a folio belongs on. One that is used again is ordinary memory from here on.
    pub(super) fn own_list_of(
        &self,
        mem: &mut Memory,
        lv: LruvecId,
        folio: FolioId,
    ) -> Option<ListId> {
        let own = self.own.as_ref()?;
        if !mem.is_lazyfree(folio) || mem.frames.has(folio, flag::UNEVICTABLE) {
            return None;
        }
        if mem.frames.has(folio, flag::ACTIVE) {
            mem.keep_lazyfree(folio);
            return None;
        }
        Some(own.list(lv))
    }

    /// Pages on the own lists of a node: those of a memory cgroup, or of all for the root.
    pub(super) fn nr_lazyfree(&self, mem: &Memory, node: NodeId, memcg: MemcgId) -> u64 {
        let Some(own) = &self.own else { return 0 };
        let of = |scope: u8| {
            let lruvecs =
                self.ids.at(scope).filter(|&lv| [MemcgId(0), self.ids.memcg(lv)].contains(&memcg));
            lruvecs.map(|lv| mem.lru.lists.len(own.list(lv))).sum::<u64>()
        };
        self.scopes_of(mem, node).map(of).sum()
    }

    /// Panics if an own list holds something else, or another list holds what belongs on one.
    pub(super) fn check_lazyfree(&self, mem: &Memory) {
        let Some(own) = &self.own else { return };
        for (lv, &list) in own.lists.pairs() {
            for folio in mem.lru.lists.iter_from_tail(list) {
                assert!(mem.is_lazyfree(folio), "{folio} is not lazily freed, and is on {NAME}");
                assert!(!mem.frames.has(folio, flag::ACTIVE), "{folio} is active on {NAME}");
                assert_eq!(self.lruvec_of(mem, folio), lv, "{folio} is on another group's {NAME}");
            }
        }
        for &list in self.lruvecs.iter().flat_map(|lv| &lv.lists[2..4]) {
            let strays = mem.lru.lists.iter_from_tail(list).any(|folio| mem.is_lazyfree(folio));
            assert!(!strays, "lazily freed memory is on a file list beside {NAME}");
        }
    }

    /// Pages of the own list that a pass scans, and what it scans of the others then: `nr`, of which
    /// the first version takes its share. `base` and `mode` are those of the pass.
    #[cold]
    #[inline(never)]
    pub(super) fn lazyfree_target(
        &mut self,
        mem: &Memory,
        req: &ReclaimRequest,
        lv: LruvecId,
        (mode, base, fractions): (ScanMode, PerList, Fractions),
        nr: PerList,
    ) -> (PerList, u64) {
        let Some(lists) = &mut self.own else { return (nr, 0) };
        let list = lists.lists[lv];
        let zones = mem.zones.of_node(req.node).iter();
        let wanted = zones.filter(|&&z| req.wants(mem.zones[z].kind));
        let size: u64 = wanted.map(|&z| mem.lru.lists.len_in(list, z)).sum();
        let (place, rounding) = (self.config.lazyfree, self.config.scan_rounding);
        let own = mem.memcgs[self.ids.memcg(lv)].config.lazyfreeness;
        let value = place.lazyfreeness(own.or(mem.given.vm.lazyfreeness));
        if place == LazyfreePlace::OwnList2015b {
            let scope = self.scope_of_lruvec(lv);
            let (file, free, high) = self.file_and_free(mem, req.node, scope);
            let scarce = file + free <= high;
            return (nr, by_priority(req.target, req.priority, value, size, scarce));
        }
        let base_of_list = formulas::scan_base(size, req.priority.into());
        if size > 0 && value >= ALONE {
            return ([0; 4], base_of_list);
        }
        if mode != ScanMode::Fract {
            return (nr, base_of_list);
        }
        let r = &mut lists.recent[lv];
        if r.scanned > mem.lru.lists.len(list) / 4 {
            (r.scanned, r.rotated) = (r.scanned / 2, r.rotated / 2);
        }
        let (shares, own_share) = three_shares(fractions, value, *r);
        let share = match place {
            LazyfreePlace::OwnList2015a => shares.fraction[crate::index::ANON],
            _ => own_share,
        };
        (
            formulas::scan_targets(mode, base, shares, rounding),
            rounding.of(base_of_list * share, shares.denominator),
        )
    }

    /// Scans `n` pages of the own list: frees those that were not used, and makes the others ordinary
    /// memory.
    #[cold]
    #[inline(never)]
    pub(super) fn shrink_lazyfree(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        n: u64,
        req: &ReclaimRequest,
    ) -> BatchStats {
        let Some(list) = self.own.as_ref().map(|own| own.list(lv)) else {
            return BatchStats::default();
        };
        mem.lru_drain(self);
        let memcg = self.ids.memcg(lv);
        let scan = Scan { req, memcg, file: true, to: ScanFor::Eviction, lru: NAME };
        let mut run = Run::default();
        let nr = mem.isolate_batch(&scan, list, n, None, &mut run);
        let mut stats = BatchStats::default();
        if nr == 0 {
            return stats;
        }
        let mut kept = Vec::new();
        for folio in run.folios(run.all()) {
            if self.shrink_lazily_freed(mem, folio, req, &mut stats) {
                kept.push(folio);
            }
        }
        mem.count(VmEvent::SimScanKeep, kept.len() as u64);
        mem.lru_add_heads(list, &kept);
        let activated: u64 = stats.activated.iter().sum();
        self.age_by_scan(lv, activated);
        if let Some(own) = &mut self.own {
            own.note(lv, nr, activated);
        }
        mem.count_rotated(memcg, true, nr.saturating_sub(stats.reclaimed));
        (stats.pass.taken, stats.pass.file_taken) = (nr, nr);
        mem.end_batch(req, true);
        stats
    }

    /// Frees an isolated page of the own list, or lists it if it is in use. True: it is the caller's, who
    /// puts it back.
    fn shrink_lazily_freed(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        req: &ReclaimRequest,
        stats: &mut BatchStats,
    ) -> bool {
        let page =
            mem.telling.tracer.wants(TraceKind::SimScanFolio).then(|| mem.page_of(folio)).flatten();
        let (limit, how) = (req.by.memcg(), self.shrinking(req.by, req.may_writepage));
        let (rule, locked) = (self.config.anon_ref_rule, self.config.locked_is_activated());
        // It is anonymous memory still, and used once is used.
        let fate = shrink_folio(
            mem,
            folio,
            how,
            stats,
            |mem, f| judge_as(mem, f, limit, false, (rule, locked)),
            |mem, f| self.evicted(mem, f, req.by),
        );
        let outcome = match fate {
            ShrinkOutcome::Freed | ShrinkOutcome::Dropped | ShrinkOutcome::Ready => {
                ScanOutcome::LazyFreed
            }
            ShrinkOutcome::Kept(why) | ShrinkOutcome::Activated(why) => why,
            ShrinkOutcome::Split => unreachable!("{folio} was split when the advice was given"),
        };
        mem.emit(|| TraceEvent::SimScanFolio { pfn: folio, page, file: true, outcome });
        match fate {
            ShrinkOutcome::Kept(_) => {
                if outcome == ScanOutcome::KeepReferenced {
                    mem.kept_folio(folio);
                }
                return true;
            }
            ShrinkOutcome::Activated(_) => {
                let lv = self.lruvec_of(mem, folio);
                self.age_by_promotion(mem, lv, folio);
                self.add_head_of(mem, lv, folio);
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::formulas::RotateStat;
    use super::*;
    use crate::index::{ANON, FILE};

    /// Swappiness 60 and no statistics: priorities of 60, 140 and 100 to 179, and a denominator of
    /// their sum and one.
    #[test]
    fn three_kinds_of_lists_share_by_their_priorities() {
        let two = RotateStat::default().fractions(60);
        for (value, expected) in
            [(0, [0.199, 0.465, 0.332]), (40, [0.176, 0.411, 0.411]), (79, [0.158, 0.368, 0.471])]
        {
            let (shares, lazy) = three_shares(two, value, Recent::default());
            let of = [shares.fraction[ANON], shares.fraction[FILE], lazy];
            for (n, expected) in of.into_iter().zip(expected) {
                let share = n as f64 / shares.denominator as f64;
                assert!((share - expected).abs() < 0.0006, "{value}: {share} {expected}");
            }
        }
        // The list is scanned less if its pages are in use: with 99 of 199 the numerator is halved.
        let (_, lazy) = three_shares(two, 40, Recent { scanned: 199, rotated: 99 });
        assert_eq!(lazy, 280);
    }

    /// 32 pages are wanted, priorities 12 to 6.
    #[test]
    fn the_later_version_takes_more_as_priority_falls() {
        let of = |value, size, scarce| {
            [12, 11, 10, 9, 8, 7, 6].map(|priority| by_priority(32, priority, value, size, scarce))
        };
        assert_eq!(of(20, 1 << 20, false), [0, 12, 25, 38, 51, 64, 76]);
        assert_eq!(of(100, 1 << 20, false), [0, 64, 128, 192, 256, 320, 384]);
        assert_eq!(of(0, 1 << 20, false), [0; 7]);
        // No more than there are, and a share of the list where nothing else is left.
        assert_eq!(of(100, 100, false), [0, 64, 100, 100, 100, 100, 100]);
        assert_eq!(of(0, 1 << 13, true), [2, 4, 8, 16, 32, 64, 128]);
    }
}
