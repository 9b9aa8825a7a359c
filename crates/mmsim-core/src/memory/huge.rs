//! Huge folios: 512 pages of anonymous memory under one entry of the page directory.
//!
//! Such a folio is 512 frames in a row, named by the first, on a list as one and with the weight of
//! 512 pages in everything that is counted in pages: lists, groups, processes, scans. It is mapped
//! by one entry for a whole page table (`Group::huge`), whose bits every one of the 512 hot bytes
//! stands for, so that a hit needs to know nothing of it; whoever wants the entry's accessed bit
//! asks all of them together. The page table that will be needed once the folio is split is held
//! from the beginning.
//!
//! Freeing lazily, making cold or paging out a part of it makes 512 folios of one page out of it
//! first, and so does reclaim when it decides to evict it. Dropping all of it gives the whole block
//! back. If a part is dropped, the rest is mapped by PTEs, and the folio is split later
//! (`split_queue`; kernels before 4.5 split it at once).
//!
//! Source: Linux 6.12 mm/huge_memory.c (`zap_huge_pmd`, `__split_huge_pmd_locked`,
//! `__split_huge_page`). Left out: writing the folio to swap space in one piece, which 6.12 does where
//! it finds 512 slots in a row; `MADV_FREE`, `MADV_COLD` and `MADV_PAGEOUT` of all of it, which split
//! it here too; moving it to another block.

use super::Memory;
use crate::base::id::{GROUP_PAGES, GroupId, PageIdx, Pfn};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{FolioId, FrameKind, ORDER_MASK, flag};
use crate::policy::ReclaimPolicy;
use crate::virt::pages::{Entry, pte};

/// log2 of the pages of a huge folio.
pub const HUGE_ORDER: u8 = 9;

impl Memory {
    /// The huge folio, or the huge page of hugetlbfs, that a page maps or maps a part of.
    pub(crate) fn huge_at(&self, page: PageIdx) -> Option<FolioId> {
        match self.virt.pages.entry(page) {
            Entry::Frame(folio) if self.frames.order(folio) == HUGE_ORDER => Some(folio),
            _ => None,
        }
    }

    /// Huge folios that are mapped as a whole (`NR_ANON_THPS`).
    pub fn nr_thp(&self) -> u64 {
        self.virt.pages.nr_huge() - u64::from(self.kernel.hugetlb.mapped())
    }

    /// Maps a new huge folio in a page table that holds nothing, as a write does.
    pub fn map_huge(&mut self, g: GroupId, head: FolioId) {
        debug_assert_eq!(self.frames.order(head), HUGE_ORDER, "{head} is not huge");
        self.virt.rmap.add(&mut self.frames, head, g.first(), None);
        self.virt.pages.set_huge(g, Some(head), pte::ACCESSED | pte::DIRTY | pte::WRITABLE);
        let space = self.space_of(g.first());
        self.virt.spaces[space].rss_anon += u64::from(GROUP_PAGES);
        self.virt.spaces.anon_mapped += u64::from(GROUP_PAGES);
        self.virt.spaces[space].wrote_anon = true;
    }

    /// Drops a whole huge page. That of a folio: its block and its page table are free then.
    pub(super) fn zap_huge(&mut self, policy: &mut dyn ReclaimPolicy, g: GroupId) {
        let head = self.huge_at(g.first()).unwrap_or_else(|| panic!("{g} maps no huge folio"));
        if self.frames.kind(head) == FrameKind::HugeTlb {
            return self.zap_hugetlb(g, head);
        }
        self.acting.now += self.given.cost.t_free_page;
        self.virt.rmap.remove(&mut self.frames, head, g.first(), None);
        self.virt.pages.set_huge(g, None, 0);
        let space = self.space_of(g.first());
        self.virt.spaces[space].rss_anon -= u64::from(GROUP_PAGES);
        self.virt.spaces.anon_mapped -= u64::from(GROUP_PAGES);
        self.free_huge(policy, head);
        self.free_table(g);
    }

    /// Makes folios of one page out of the huge one that a page lies in, if it does. Those of
    /// a listed one are on its list.
    pub fn split_at(&mut self, policy: &mut dyn ReclaimPolicy, page: PageIdx) {
        let Some(head) = self.huge_at(page) else { return };
        self.leave_batch(head);
        if self.frames.has(head, flag::LRU) {
            policy.folio_split(self, head);
            let gone = self.frames.kind(head) != FrameKind::Anon;
            debug_assert!(gone || self.frames.has(head, flag::LRU), "{head} was given no list");
        } else {
            self.split_frames(head);
        }
    }

    /// Makes folios of one page out of a huge one that is on no list: for
    /// [`ReclaimPolicy::folio_split`], and for a scan that has isolated it. Each has the flags and the
    /// group that the huge one had, and the accessed and dirty bits of its PTE, which are those of the
    /// huge one if that is mapped as a whole. Frames whose pages were unmapped before are free then.
    /// Returns the folios.
    ///
    /// # Panics
    /// If the folio is not huge, not mapped, or in an LRU batch.
    pub fn split_frames(&mut self, head: FolioId) -> Vec<FolioId> {
        let bits = self.frames.bits(head);
        assert!(
            self.frames.kind(head) == FrameKind::Anon && self.frames.order(head) == HUGE_ORDER,
            "{head} is not huge: {bits:#x}"
        );
        debug_assert_eq!(bits & flag::LRU, 0, "{head} is split on its list");
        assert_eq!(bits & flag::IN_BATCH, 0, "{head} is split in a batch");
        let page = PageIdx(self.frames.rmap[head]);
        let g = page.group();
        assert_eq!(self.huge_at(page), Some(head), "{head} is not mapped by {g}");
        if self.virt.pages.group(g).huge {
            self.virt.pages.map_parts(g);
        }
        let mapped: Vec<PageIdx> = self.virt.pages.parts(g, head).collect();
        self.virt.pages.split_parts(g, head);
        self.lru.split_queues.remove(head);
        let memcg = self.frames.memcg(head);
        for i in 0..GROUP_PAGES {
            self.frames.reset(Pfn(head.0 + i), FrameKind::Fresh);
        }
        let frame_of = |page: PageIdx| Pfn(head.0 + (page.0 - g.first().0));
        for &page in &mapped {
            let frame = frame_of(page);
            self.frames.store(frame, bits & !ORDER_MASK);
            self.frames.rmap[frame] = page.0;
            self.frames.set_memcg(frame, memcg);
        }
        self.count(VmEvent::ThpSplitPage, 1);
        self.acting.now += SimDuration(self.given.cost.t_rotate.0 * u64::from(GROUP_PAGES));
        if mapped.len() < GROUP_PAGES as usize {
            let fresh = |&pfn: &Pfn| self.frames.kind(pfn) == FrameKind::Fresh;
            let frames = (head.0..head.0 + GROUP_PAGES).map(Pfn);
            let unmapped: Vec<Pfn> = frames.filter(fresh).collect();
            self.memcgs.uncharge(memcg, unmapped.len() as u64);
            self.free_frames(unmapped.into_iter());
        }
        mapped.into_iter().map(frame_of).collect()
    }

    /// True if a frame is a folio of one page that a scan has isolated: the remainder of a huge
    /// folio that was split amid a scan.
    #[inline]
    pub fn is_isolated_page(&self, frame: Pfn) -> bool {
        self.frames.kind(frame) == FrameKind::Anon
            && self.frames.order(frame) == 0
            && self.frames.has(frame, flag::ISOLATED)
    }

    /// Tests and clears the accessed bit of the entry that maps a huge folio, or those of the PTEs
    /// that map its parts.
    pub(super) fn test_clear_young_huge(&mut self, head: FolioId, g: GroupId) -> bool {
        if self.virt.pages.group(g).huge {
            return self.virt.pages.test_clear_group(g, pte::YOUNG);
        }
        let parts: Vec<PageIdx> = self.virt.pages.parts(g, head).collect();
        parts.into_iter().fold(false, |any, p| self.virt.pages.test_clear_hot(p, pte::YOUNG) | any)
    }
}
