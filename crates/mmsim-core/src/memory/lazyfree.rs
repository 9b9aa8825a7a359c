//! Lazily freed memory: what `MADV_FREE` makes of anonymous pages.
//!
//! A program says that it does not need the contents of some pages any more, but leaves it to
//! the kernel when to take the frames. Until then the pages stay mapped; a write before that
//! makes the contents worth keeping again, and the program cannot tell which it was except by
//! reading zeros. The hardware's dirty bit is what tells: it is cleared with the advice, and
//! reclaim drops a page only if it is clear still. Such a folio needs no swap space, so it
//! counts and is listed as file memory: `SWAPBACKED` is clear. It is the one kind of folio of
//! anonymous memory of which that is true.
//!
//! Source: Linux 6.12 mm/madvise.c (`madvise_free_pte_range`), mm/swap.c (`lru_lazyfree`),
//! mm/rmap.c (`try_to_unmap_one`), mm/vmscan.c (`shrink_folio_list`).

use super::Memory;
use super::evict::Prepared;
use crate::base::id::{PageIdx, VmaId};
use crate::base::vmstat::VmEvent;
use crate::memory::trace::{ScanOutcome, TraceEvent, TraceKind};
use crate::phys::frames::{FolioId, FrameKind, Mapped, flag};
use crate::policy::ReclaimPolicy;
use crate::policy::request::Reclaimer;
use crate::virt::pages::{Entry, pte};

impl Memory {
    /// `MADV_FREE` of one page of an anonymous mapping. What is in swap goes at once. A
    /// resident folio goes through the CPU's batch to the policy
    /// ([`FreedLazily`](crate::policy::Move::FreedLazily)), unless others map it too or its copy
    /// in the swap cache cannot be dropped.
    pub fn free_lazily(&mut self, policy: &mut dyn ReclaimPolicy, page: PageIdx, vma: VmaId) {
        self.split_at(policy, page);
        let folio = match self.virt.pages.entry(page) {
            Entry::Swap(_) => {
                self.tell_of_drops(page, 1, "lazy_free");
                return self.zap(policy, page, vma);
            }
            Entry::Frame(folio) => folio,
            _ => return,
        };
        self.acting.now += self.given.cost.t_madv_free;
        if self.frames.has(folio, flag::SWAPCACHE | flag::DIRTY) {
            if self.frames.has(folio, flag::LOCKED)
                || self.frames.mapped(folio) != Mapped::Once
                || !self.free_swap(folio)
            {
                return;
            }
            self.frames.clear(folio, flag::DIRTY);
        }
        self.virt.pages.test_clear_hot(page, pte::YOUNG | pte::DIRTY);
        self.lru_lazyfree(policy, folio);
    }

    /// Drops the copy in the swap cache of a folio that no PTE wants from there
    /// (`folio_free_swap`); the folio is dirty then. False: it is still in use.
    pub(crate) fn free_swap(&mut self, folio: FolioId) -> bool {
        if !self.frames.has(folio, flag::SWAPCACHE) {
            return true;
        }
        let slot = self.frames.slot(folio);
        if self.frames.has(folio, flag::WRITEBACK)
            || self.swap.as_ref().is_none_or(|s| s.count(slot) != 0)
        {
            return false;
        }
        self.drop_swapcache(folio);
        self.frames.set(folio, flag::DIRTY);
        true
    }

    /// True if a folio is listed anonymous memory proper, nowhere but in memory.
    pub(super) fn may_be_lazyfree(&self, folio: FolioId) -> bool {
        const YES: u32 = flag::LRU | flag::SWAPBACKED;
        self.frames.kind(folio) == FrameKind::Anon
            && self.frames.bits(folio) & (YES | flag::SWAPCACHE | flag::UNEVICTABLE) == YES
    }

    /// Turns a folio of anonymous memory into lazily freed memory, while it is on no list:
    /// for [`FreedLazily`](crate::policy::Move::FreedLazily). `WORKINGSET` stays.
    pub fn make_lazyfree(&mut self, folio: FolioId) {
        debug_assert!(!self.frames.has(folio, flag::LRU), "{folio} changes type on its list");
        self.frames.clear(folio, flag::ACTIVE | flag::REFERENCED | flag::SWAPBACKED);
        self.acting.now += self.given.cost.t_make_lazyfree;
        self.count_in(self.frames.memcg(folio), VmEvent::PgLazyFree, 1);
        if self.telling.tracer.wants(TraceKind::SimLazyFree) {
            let page = self.virt.rmap.nth(self.virt.rmap.of(&self.frames, folio), 0);
            self.emit(|| TraceEvent::SimLazyFree { pfn: folio, page });
        }
    }

    /// True if a folio is lazily freed memory.
    #[inline]
    pub fn is_lazyfree(&self, folio: FolioId) -> bool {
        self.frames.kind(folio) == FrameKind::Anon && !self.frames.has(folio, flag::SWAPBACKED)
    }

    /// Makes lazily freed memory ordinary anonymous memory again, whose contents are kept, while it is
    /// on no list.
    pub fn keep_lazyfree(&mut self, folio: FolioId) {
        debug_assert!(!self.frames.has(folio, flag::LRU), "{folio} changes type on its list");
        self.frames.set(folio, flag::DIRTY | flag::SWAPBACKED);
    }

    /// Reclaims an isolated folio of lazily freed memory: drops it, or, if it was written
    /// since, leaves it mapped as ordinary anonymous memory.
    pub(super) fn drop_lazyfree(&mut self, folio: FolioId, by: Reclaimer) -> Prepared {
        let mut page = None;
        while let Some(p) = self.virt.rmap.nth(self.virt.rmap.of(&self.frames, folio), 0) {
            page = page.or(Some(p));
            if self.maps_locked(p) {
                return Prepared::Activate { why: ScanOutcome::Unevictable };
            }
            self.acting.now += self.given.cost.t_unmap;
            if self.virt.pages.hot(p) & pte::DIRTY != 0 || self.frames.has(folio, flag::DIRTY) {
                self.keep_lazyfree(folio);
                return Prepared::Activate { why: ScanOutcome::ActivateRewritten };
            }
            self.unmap_pte(p, folio, Entry::None, 0);
        }
        if self.frames.has(folio, flag::IN_BATCH) {
            return Prepared::Keep { why: ScanOutcome::KeepBusy, wrote: false };
        }
        let memcg = self.frames.memcg(folio);
        self.count_in(memcg, VmEvent::PgLazyFreed, 1);
        self.emit(|| TraceEvent::SimLazyDrop { pfn: folio, page });
        if let Some(page) = page {
            self.tell_of_drop(page, 1);
        }
        self.acting.now += self.given.cost.t_evict;
        self.count_steal(by, memcg, true, 1);
        self.memcgs.uncharge(memcg, 1);
        self.free_frame(folio);
        Prepared::Dropped
    }
}
