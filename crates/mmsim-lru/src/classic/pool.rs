//! A pool of easily reclaimed memory whose size an administrator sets: a design of mmsim alone.
//!
//! In 2024 a reviewer of "mm: add lazyfree folio to lru tail" wished for such a pool; no code for it
//! was posted. Here it is a list of folios that can be freed without work: clean, unmapped folios that
//! reclaim had chosen, and what `MADV_FREE` gave back. kswapd fills it when its node is balanced: once
//! pool and free pages together are below `vm.easy_pool_low`, it scans as always, but keeps what it
//! could free, until they reach `vm.easy_pool_high`. Anonymous folios keep their copy in the swap
//! cache. Reclaim takes from the pool before it looks at any other list.
//!
//! ```text
//!   kswapd, balanced:  inactive lists --> judged, unmapped, written --> pool (head)
//!   MADV_FREE:         any list -------------------------------------> pool (head)
//!   any reclaim:       pool (tail) --> freed, until it has enough
//!   used again:        pool --> its inactive list: work in vain (`sim_easy_used`)
//! ```
//!
//! kswapd is not woken for the pool: it fills it whenever it ran for free pages. The pool is taken
//! from without regard to zones and to protection of groups.

use super::formulas::{self, PerList};
use super::{Classic, LruScope, Lruvec};
use crate::index::LruvecId;
use crate::shrink::{BatchStats, ShrinkOutcome, shrink_folio};
use mmsim_core::base::id::{IndexVec, ListId, MemcgId, NodeId};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, Mapped, flag};
use mmsim_core::policy::{ReclaimRequest, Reclaimer};

/// The name of the pool among gauges.
pub(super) const NAME: &str = "sim_easy_pool";

/// Times that kswapd goes over the lists for the pool in one pass, each for what was still wanted.
const MOST_FILLS: u32 = 4;

/// The pools of all groups.
pub(super) struct Pool {
    lists: IndexVec<LruvecId, ListId>,
    /// kswapd keeps what it could free.
    pub(super) filling: bool,
    /// The pool fell below its low mark and has not reached the high one since.
    wanted: bool,
    /// Fills of the pass under way.
    fills: u32,
}

/// Part of a pass that concerns the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InPool {
    /// There is none, or it was not enough: other lists are scanned.
    None,
    /// It is being taken from.
    Takes,
    /// It gave all that the request wants.
    Enough,
    /// kswapd makes this number of pages ready.
    Fills(u64),
}

impl Pool {
    /// One list for each lruvec; `None`: there is no pool.
    pub(super) fn of(lruvecs: &IndexVec<LruvecId, Lruvec>, mem: &mut Memory) -> Option<Pool> {
        mem.given.vm.has_easy_pool().then(|| Pool {
            lists: IndexVec::from_fn(lruvecs.len(), |_| mem.lru.lists.create()),
            filling: false,
            wanted: false,
            fills: 0,
        })
    }
}

/// Scan targets cut so that the inactive lists have `want` pages together at most.
#[cold]
pub(super) fn cut(nr: PerList, want: u64) -> PerList {
    let inactive = nr[formulas::INACTIVE_ANON] + nr[formulas::INACTIVE_FILE];
    if inactive <= want { nr } else { nr.map(|n| (n * want).div_ceil(inactive)) }
}

impl Classic {
    /// Puts an isolated or new folio into the pool.
    pub(super) fn add_to_pool(&mut self, mem: &mut Memory, lv: LruvecId, folio: FolioId) {
        let pool = self.pool.as_ref().expect("there is a pool");
        mem.lru_add_head(pool.lists[lv], folio);
    }

    /// kswapd could free a folio, and keeps it.
    pub(super) fn made_ready(&mut self, mem: &mut Memory, lv: LruvecId, folio: FolioId) {
        mem.frames.clear(folio, flag::REFERENCED);
        self.add_to_pool(mem, lv, folio);
        mem.count(VmEvent::SimEasyReady, 1);
    }

    /// The write of a folio that was marked for reclaim has ended: it goes where it is met next.
    pub(super) fn written(&mut self, mem: &mut Memory, folio: FolioId) {
        let lv = self.lruvec_of(mem, folio);
        mem.lru_del(folio);
        mem.frames.clear(folio, flag::ACTIVE);
        mem.count(VmEvent::PgRotated, 1);
        if self.pool_wants(mem, folio) {
            return self.made_ready(mem, lv, folio);
        }
        let l = Self::list_index(mem, folio);
        mem.lru_add_tail(self.lruvecs[lv].lists[l], folio);
    }

    /// True if the pool is short and takes a folio whose write has ended.
    pub(super) fn pool_wants(&self, mem: &Memory, folio: FolioId) -> bool {
        let clean = !mem.frames.has(folio, flag::DIRTY | flag::UNEVICTABLE);
        self.pool.as_ref().is_some_and(|pool| pool.wanted)
            && clean
            && mem.frames.mapped(folio) == Mapped::No
    }

    /// True if lazily freed memory goes into the pool.
    pub(super) fn is_ready_at_once(&self) -> bool {
        self.pool.is_some() && self.own.is_none()
    }

    /// Has scans keep what they could free, or not.
    pub(super) fn fills(&mut self, filling: bool) {
        if let Some(pool) = &mut self.pool {
            pool.filling = filling;
        }
    }

    /// A folio was used: it leaves the pool, if it is there.
    #[cold]
    pub(super) fn used_of_pool(&mut self, mem: &mut Memory, folio: FolioId) {
        let lv = self.lruvec_of(mem, folio);
        let Some(pool) = &self.pool else { return };
        if mem.frames.has(folio, flag::LRU) && mem.lru.lists.list_of(folio) == pool.lists[lv] {
            mem.lru_del(folio);
            self.add_head_of(mem, lv, folio);
            mem.count(VmEvent::SimEasyUsed, 1);
        }
    }

    /// Pages in the pool of a memory cgroup, or of all for the root.
    pub(super) fn nr_ready(&self, mem: &Memory, node: NodeId, memcg: MemcgId) -> u64 {
        let Some(pool) = &self.pool else { return 0 };
        self.pools_of(mem, node, memcg).map(|lv| mem.lru.lists.len(pool.lists[lv])).sum()
    }

    /// Names and sizes of the lists beside the usual ones, if there are any.
    pub(super) fn further_lists(
        &self,
        mem: &Memory,
        node: NodeId,
        memcg: MemcgId,
    ) -> impl Iterator<Item = (String, u64)> + use<> {
        let own =
            self.own.is_some().then(|| (super::lazyfree::NAME, self.nr_lazyfree(mem, node, memcg)));
        let pool = self.pool.is_some().then(|| (NAME, self.nr_ready(mem, node, memcg)));
        own.into_iter().chain(pool).map(|(name, n)| (name.to_string(), n))
    }

    fn pools_of<'a>(
        &'a self,
        mem: &'a Memory,
        node: NodeId,
        memcg: MemcgId,
    ) -> impl Iterator<Item = LruvecId> + 'a {
        let all = self.scopes_of(mem, node).flat_map(|scope| self.ids.at(scope));
        all.filter(move |&lv| [MemcgId(0), self.ids.memcg(lv)].contains(&memcg))
    }

    /// Frees a batch from the pool, and says in `place` how the pass goes on: `reclaimed` pages were
    /// freed by it before.
    pub(super) fn take_from_pool(
        &mut self,
        mem: &mut Memory,
        req: &ReclaimRequest,
        place: &mut InPool,
        reclaimed: u64,
    ) -> BatchStats {
        let group = req.by.memcg().unwrap_or(MemcgId(0));
        let found = self.pools_of(mem, req.node, group).find_map(|lv| {
            let list = self.pool.as_ref()?.lists[lv];
            (mem.lru.lists.len(list) > 0).then_some((lv, list))
        });
        let mut stats = BatchStats::default();
        let Some((lv, list)) = found else {
            *place = InPool::None;
            return stats;
        };
        let wanted = req.target.saturating_sub(reclaimed).min(self.cluster);
        while stats.reclaimed < wanted
            && let Some(folio) = mem.isolate_tail(list, req)
        {
            stats.pass.taken += 1;
            self.free_ready(mem, lv, folio, req, &mut stats);
        }
        if reclaimed + stats.reclaimed >= req.target {
            *place = InPool::Enough;
        }
        mem.end_batch(req, true);
        stats
    }

    /// Frees an isolated folio of the pool, or lists it elsewhere if it is in use again.
    fn free_ready(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        folio: FolioId,
        req: &ReclaimRequest,
        stats: &mut BatchStats,
    ) {
        let (limit, how) = (req.by.memcg(), self.shrinking(req.by, req.may_writepage));
        let rules = (self.config.anon_ref_rule, self.config.locked_is_activated());
        let file = mem.frames.is_file_lru(folio);
        let fate = shrink_folio(
            mem,
            folio,
            how,
            stats,
            |mem, f| super::scan::judge_as(mem, f, limit, file, rules),
            |mem, f| self.evicted(mem, f, req.by),
        );
        if matches!(fate, ShrinkOutcome::Kept(_) | ShrinkOutcome::Activated(_)) {
            if matches!(fate, ShrinkOutcome::Activated(_)) {
                self.age_by_promotion(mem, lv, folio);
            }
            self.add_head_of(mem, lv, folio);
        }
    }

    /// True if kswapd, at the end of a pass, goes over the lists again to fill the pool.
    pub(super) fn begins_fill(
        &mut self,
        mem: &Memory,
        req: &ReclaimRequest,
        place: &mut InPool,
    ) -> bool {
        let again = matches!(place, InPool::Fills(_));
        let scope = self.first_scope(mem, req);
        let (_, free, high_watermark) = self.file_and_free(mem, req.node, scope);
        let have = free + self.nr_ready(mem, req.node, MemcgId(0));
        let zones = mem.zones.of_node(req.node).iter();
        let managed = zones.map(|&z| u64::from(mem.zones[z].managed)).sum();
        let (low, high) = mem.given.vm.easy_pool(managed);
        let Some(pool) = &mut self.pool else { return false };
        if !matches!(req.by, Reclaimer::Kswapd) {
            return false;
        }
        pool.fills = if again { pool.fills + 1 } else { 1 };
        if free < high_watermark || pool.fills > MOST_FILLS {
            return false;
        }
        pool.wanted = have < low || pool.wanted && have < high;
        if pool.wanted {
            *place = InPool::Fills(high - have);
        }
        pool.wanted
    }

    fn first_scope(&self, mem: &Memory, req: &ReclaimRequest) -> LruScope {
        LruScope(*self.scopes_of(mem, req.node).start())
    }

    /// The request by which lists are scanned for `want` pages of the pool: at the highest priority
    /// at which inactive lists have as many.
    #[cold]
    #[inline(never)]
    pub(super) fn fill_request(
        &self,
        mem: &Memory,
        req: &ReclaimRequest,
        want: u64,
    ) -> ReclaimRequest {
        let all = self.sizes(mem, self.first_scope(mem, req), MemcgId(0));
        let inactive = all[formulas::INACTIVE_ANON] + all[formulas::INACTIVE_FILE];
        let priority = (1..=req.priority.max(1)).rev().find(|&p| inactive >> p >= want);
        ReclaimRequest { priority: priority.unwrap_or(1), target: want, ..*req }
    }

    /// Panics if the pool holds what cannot be in it.
    pub(super) fn check_pool(&self, mem: &Memory) {
        let Some(pool) = &self.pool else { return };
        assert!(!pool.filling, "a scan for the pool has no end");
        for (lv, &list) in pool.lists.pairs() {
            for folio in mem.lru.lists.iter_from_tail(list) {
                assert!(!mem.frames.has(folio, flag::ACTIVE), "{folio} is active in the pool");
                assert_eq!(self.lruvec_of(mem, folio), lv, "{folio} is in another group's pool");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 of 400 inactive pages are wanted: a quarter of each target, rounded up.
    #[test]
    fn targets_are_cut_in_proportion() {
        assert_eq!(cut([100, 50, 300, 10], 100), [25, 13, 75, 3]);
        assert_eq!(cut([10, 50, 30, 10], 100), [10, 50, 30, 10]);
    }
}
