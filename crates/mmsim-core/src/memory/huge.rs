//! Huge folios: 512 pages of anonymous memory under one entry of the page directory.
//!
//! Such a folio is 512 frames in a row, named by the first, on a list as one and with the weight of
//! 512 pages in everything that is counted in pages: lists, groups, processes, scans. It is mapped
//! by one entry for a whole page table (`Group::huge`), whose bits every one of the 512 hot bytes
//! stands for, so that a hit needs to know nothing of it; whoever wants the entry's accessed bit
//! asks all of them together. The page table that will be needed once the folio is split is held
//! from the beginning.
//!
//! Whatever concerns only a part of it makes 512 folios of one page out of it first: dropping,
//! freeing lazily, making cold or paging out less than all, and reclaim when it decides to evict
//! it. Dropping all of it gives the whole block back.
//!
//! Source: Linux 6.12 mm/huge_memory.c (`zap_huge_pmd`, `__split_huge_pmd_locked`,
//! `__split_huge_page`). Left out: writing the folio to swap space in one piece, which 6.12 does where
//! it finds 512 slots in a row; splitting only the mapping and the folio later; `MADV_FREE`,
//! `MADV_COLD` and `MADV_PAGEOUT` of all of it, which split it here too; moving it to another block.

use super::Memory;
use crate::base::id::{GROUP_PAGES, GroupId, PageIdx, Pfn};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{FolioId, FrameKind, ORDER_MASK, flag};
use crate::policy::{Departure, ReclaimPolicy};
use crate::virt::pages::{Entry, pte};

/// log2 of the pages of a huge folio.
pub const HUGE_ORDER: u8 = 9;

impl Memory {
    /// The huge folio, or the huge page of hugetlbfs, that a page lies in.
    pub fn huge_at(&self, page: PageIdx) -> Option<FolioId> {
        let g = page.group();
        match self.pages.entry(g.first()) {
            Entry::Frame(head) if self.pages.group(g).huge => Some(head),
            _ => None,
        }
    }

    /// Huge folios that are mapped.
    pub fn nr_thp(&self) -> u64 {
        self.pages.nr_huge() - u64::from(self.hugetlb.mapped())
    }

    /// Maps a new huge folio in a page table that holds nothing, as a write does.
    pub fn map_huge(&mut self, g: GroupId, head: FolioId) {
        debug_assert_eq!(self.frames.order(head), HUGE_ORDER, "{head} is not huge");
        self.rmap.add(&mut self.frames, head, g.first(), None);
        self.pages.set_huge(g, Some(head), pte::ACCESSED | pte::DIRTY | pte::WRITABLE);
        let space = self.space_of(g.first());
        self.spaces[space].rss_anon += u64::from(GROUP_PAGES);
        self.spaces.anon_mapped += u64::from(GROUP_PAGES);
        self.spaces[space].wrote_anon = true;
    }

    /// Drops a whole huge page. That of a folio: its block and its page table are free then.
    pub(super) fn zap_huge(&mut self, policy: &mut dyn ReclaimPolicy, g: GroupId) {
        let head = self.huge_at(g.first()).unwrap_or_else(|| panic!("{g} maps no huge folio"));
        if self.frames.kind(head) == FrameKind::HugeTlb {
            return self.zap_hugetlb(g, head);
        }
        self.now += self.cost.t_free_page;
        self.rmap.remove(&mut self.frames, head, g.first(), None);
        self.pages.set_huge(g, None, 0);
        let space = self.space_of(g.first());
        self.spaces[space].rss_anon -= u64::from(GROUP_PAGES);
        self.spaces.anon_mapped -= u64::from(GROUP_PAGES);
        self.leave_batch(head);
        if self.frames.has(head, flag::LRU) {
            policy.folio_departed(self, head, Departure::Freed);
        }
        self.memcgs.uncharge(self.frames.memcg(head), GROUP_PAGES.into());
        self.free_block(head, HUGE_ORDER);
        self.free_table(g);
    }

    /// Makes 512 folios of one page out of the huge one that a page lies in, if it does. Those of
    /// a listed one are on its list.
    pub fn split_at(&mut self, policy: &mut dyn ReclaimPolicy, page: PageIdx) {
        let Some(head) = self.huge_at(page) else { return };
        self.leave_batch(head);
        if self.frames.has(head, flag::LRU) {
            policy.folio_split(self, head);
            debug_assert!(self.frames.has(head, flag::LRU), "{head} was given no list");
        } else {
            let _pages = self.split_frames(head);
        }
    }

    /// Makes 512 folios of one page out of a huge one that is on no list: for
    /// [`ReclaimPolicy::folio_split`], and for a scan that has isolated it. Each has the flags, the
    /// group and the accessed and dirty bits that the huge one had. Returns them.
    ///
    /// # Panics
    /// If the folio is not huge, not mapped, or in an LRU batch.
    pub fn split_frames(
        &mut self,
        head: FolioId,
    ) -> impl ExactSizeIterator<Item = FolioId> + DoubleEndedIterator + Clone + use<> {
        let bits = self.frames.bits(head);
        assert!(
            self.frames.kind(head) == FrameKind::Anon && self.frames.order(head) == HUGE_ORDER,
            "{head} is not huge: {bits:#x}"
        );
        debug_assert_eq!(bits & flag::LRU, 0, "{head} is split on its list");
        assert_eq!(bits & flag::IN_BATCH, 0, "{head} is split in a batch");
        let g = PageIdx(self.frames.rmap[head]).group();
        assert_eq!(self.huge_at(g.first()), Some(head), "{head} is not mapped by {g}");
        let memcg = self.frames.memcg(head);
        for i in 0..GROUP_PAGES {
            let frame = Pfn(head.0 + i);
            self.frames.store(frame, bits & !ORDER_MASK);
            self.frames.rmap[frame] = g.first().0 + i;
            self.frames.set_memcg(frame, memcg);
        }
        self.pages.split_huge(g, head);
        self.count(VmEvent::ThpSplitPage, 1);
        self.now += SimDuration(self.cost.t_rotate.0 * u64::from(GROUP_PAGES));
        (head.0..head.0 + GROUP_PAGES).map(Pfn)
    }

    /// The entry that maps a huge folio was accessed: says so and clears that.
    pub(super) fn test_clear_young_huge(&mut self, g: GroupId) -> bool {
        self.pages.test_clear_group(g, pte::YOUNG)
    }
}
