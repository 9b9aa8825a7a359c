//! Large folios of anonymous memory: 4 to 512 pages that are one.
//!
//! Such a folio is a block of frames, named by the first, on a list as one and with the weight of its
//! pages in everything that is counted in pages: lists, groups, processes, scans. Its first page lies
//! at a multiple of its size in memory and in the address space. The PTEs of its pages name the first
//! frame, and the reverse map names the first page that is mapped.
//!
//! A folio of 512 pages, a huge one, is mapped by one entry for a whole page table instead
//! (`Group::huge`), whose bits every one of the 512 hot bytes stands for, so that a hit needs to know
//! nothing of it. Whoever wants the entry's accessed bit asks all of them together. The page table that
//! will be needed once the folio is split is held from the beginning.
//!
//! Freeing it lazily, or making cold or paging out a part of it, makes folios of one page out of it
//! first, and so does reclaim that cannot evict it in one piece. Dropping all of it gives the whole block
//! back. If a part is dropped, the folio is split later (`split_queue`; kernels before 4.5 split a huge
//! one at once).
//!
//! Source: Linux 6.12 mm/huge_memory.c (`zap_huge_pmd`, `__split_huge_pmd_locked`,
//! `__split_huge_page`), mm/memory.c (`alloc_anon_folio`). Left out: `MADV_FREE` of all of a
//! folio, which splits it here too; moving it to another block.

use super::{HUGE_ORDER, Memory, SizeEvent};
use crate::base::id::{GROUP_PAGES, GroupId, PageIdx, Pfn};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{FolioId, FrameKind, ORDER_MASK, flag};
use crate::policy::ReclaimPolicy;
use crate::virt::pages::{Entry, pte};
use std::ops::Range;

/// The bits of the PTEs that a write fault installs. Hardware has all of them dirty; here a page is dirty
/// once it was written, since the others hold zeroes.
const NEW: u8 = pte::ACCESSED | pte::WRITABLE;

/// The aligned pages around one that a folio of an order may have.
pub(crate) fn aligned(page: PageIdx, order: u8) -> Range<u32> {
    let first = page.0 >> order << order;
    first..first + (1 << order)
}

impl Memory {
    /// The large folio, or the huge page of hugetlbfs, that a page maps or maps a part of.
    pub(crate) fn large_at(&self, page: PageIdx) -> Option<FolioId> {
        match self.virt.pages.entry(page) {
            Entry::Frame(folio) if self.frames.order(folio) > 0 => Some(folio),
            _ => None,
        }
    }

    /// Counts something of folios of an order.
    #[inline]
    pub(crate) fn count_size(&mut self, order: u8, event: SizeEvent, more: i64) {
        self.stats.sizes.count(order, event, more);
    }

    /// The frame that a page of a process maps.
    pub(crate) fn frame_of(&self, page: PageIdx) -> Option<Pfn> {
        let Entry::Frame(folio) = self.virt.pages.entry(page) else { return None };
        let behind = page.0 & ((1 << self.frames.order(folio)) - 1);
        Some(Pfn(folio.0 + behind))
    }

    /// The end of the large folio that begins at a page, if all of it is mapped and lies in a range.
    pub(crate) fn large_within(&self, page: PageIdx, range: &Range<u32>) -> Option<u32> {
        let head = self.large_at(page)?;
        let span = self.span_of(head);
        let whole = self.pages_mapped(head) == span.len() as u64;
        (whole && span.start == page.0 && span.end <= range.end).then_some(span.end)
    }

    /// The pages of a large folio that is mapped: all of them, mapped or not.
    pub(super) fn span_of(&self, head: FolioId) -> Range<u32> {
        aligned(PageIdx(self.frames.rmap[head]), self.frames.order(head))
    }

    /// Huge folios that are mapped as a whole (`NR_ANON_THPS`).
    pub fn nr_thp(&self) -> u64 {
        self.virt.pages.nr_huge() - u64::from(self.kernel.hugetlb.mapped())
    }

    /// Maps a new large folio in pages that hold nothing, as a write to one of them does. Its pages hold
    /// zeroes.
    pub fn map_large(&mut self, page: PageIdx, head: FolioId) {
        let order = self.frames.order(head);
        let pages = aligned(page, order);
        let n = pages.len() as u64;
        self.virt.rmap.add(&mut self.frames, head, PageIdx(pages.start), None);
        match order {
            HUGE_ORDER => self.virt.pages.set_huge(page.group(), Some(head), NEW),
            _ => self.virt.pages.map_large(pages, head, NEW),
        }
        let space = self.space_of(page);
        self.virt.spaces[space].rss_anon += n;
        self.virt.spaces.anon_mapped += n;
        self.virt.spaces[space].wrote_anon = true;
        self.count_size(order, SizeEvent::NrAnon, 1);
    }

    /// Drops a whole huge page. That of a folio: its block and its page table are free then.
    pub(super) fn zap_huge(&mut self, policy: &mut dyn ReclaimPolicy, g: GroupId) {
        let head = self.large_at(g.first()).unwrap_or_else(|| panic!("{g} maps no huge folio"));
        if self.frames.kind(head) == FrameKind::HugeTlb {
            return self.zap_hugetlb(g, head);
        }
        self.acting.now += self.given.cost.t_free_page;
        self.virt.rmap.remove(&mut self.frames, head, g.first(), None);
        self.virt.pages.set_huge(g, None, 0);
        let space = self.space_of(g.first());
        self.virt.spaces[space].rss_anon -= u64::from(GROUP_PAGES);
        self.virt.spaces.anon_mapped -= u64::from(GROUP_PAGES);
        self.free_large(policy, head);
        self.free_table(g);
    }

    /// Makes folios of one page out of the large one that a page lies in, if it does. Those of
    /// a listed one are on its list.
    pub fn split_at(&mut self, policy: &mut dyn ReclaimPolicy, page: PageIdx) {
        let Some(head) = self.large_at(page) else { return };
        self.leave_batch(head);
        if self.frames.has(head, flag::LRU) {
            policy.folio_split(self, head);
            let gone = self.frames.kind(head) != FrameKind::Anon;
            debug_assert!(gone || self.frames.has(head, flag::LRU), "{head} was given no list");
        } else {
            self.split_frames(head);
        }
    }

    /// Makes folios of one page out of a large one that is on no list: for
    /// [`ReclaimPolicy::folio_split`], and for a scan that has isolated it. Each has the flags and the
    /// group that the large one had, and the accessed bit of its PTE, which is that of a huge one if
    /// that is mapped as a whole. Frames whose pages were unmapped before are free then, and from 6.12
    /// on frames of pages that were never written. Returns the folios.
    ///
    /// # Panics
    /// If the folio is not large, not mapped, or in an LRU batch.
    pub fn split_frames(&mut self, head: FolioId) -> Vec<FolioId> {
        let bits = self.frames.bits(head);
        let order = self.frames.order(head);
        assert!(
            self.frames.kind(head) == FrameKind::Anon && order > 0,
            "{head} is not large: {bits:#x}"
        );
        debug_assert_eq!(bits & flag::LRU, 0, "{head} is split on its list");
        assert_eq!(bits & flag::IN_BATCH, 0, "{head} is split in a batch");
        let span = self.span_of(head);
        let g = PageIdx(span.start).group();
        assert_eq!(
            self.large_at(PageIdx(self.frames.rmap[head])),
            Some(head),
            "{head}: not in {g}"
        );
        if self.virt.pages.group(g).huge {
            self.virt.pages.map_parts(g);
        }
        let mut mapped: Vec<PageIdx> = self.virt.pages.parts(span.clone(), head).collect();
        self.virt.pages.split_parts(span.clone(), head);
        if self.given.rules.thp_zero_subpages && bits & flag::MLOCKED == 0 {
            let (rest, zeroes) =
                mapped.iter().partition(|&&p| self.virt.pages.hot(p) & pte::DIRTY != 0);
            mapped = rest;
            self.map_zeroes(zeroes);
        }
        self.leave_split_queue(head);
        self.count_size(order, SizeEvent::NrAnon, -1);
        self.count_size(order, SizeEvent::Split, 1);
        let memcg = self.frames.memcg(head);
        let pages = span.len() as u32;
        for i in 0..pages {
            self.frames.reset(Pfn(head.0 + i), FrameKind::Fresh);
        }
        let frame_of = |page: PageIdx| Pfn(head.0 + (page.0 - span.start));
        for &page in &mapped {
            let frame = frame_of(page);
            self.frames.store(frame, bits & !ORDER_MASK);
            self.frames.rmap[frame] = page.0;
            self.frames.set_memcg(frame, memcg);
        }
        if order == HUGE_ORDER {
            self.count(VmEvent::ThpSplitPage, 1);
        }
        self.acting.now += SimDuration(self.given.cost.t_rotate.0 * u64::from(pages));
        if mapped.len() < pages as usize {
            let fresh = |&pfn: &Pfn| self.frames.kind(pfn) == FrameKind::Fresh;
            let frames = (head.0..head.0 + pages).map(Pfn);
            let unmapped: Vec<Pfn> = frames.filter(fresh).collect();
            self.memcgs.uncharge(memcg, unmapped.len() as u64);
            self.free_frames(unmapped.into_iter());
        }
        mapped.into_iter().map(frame_of).collect()
    }

    /// The same for a folio that is to be evicted.
    pub fn split_to_evict(&mut self, head: FolioId) {
        let pages = self.frames.pages(head);
        let left = self.split_frames(head).len() as u64;
        if self.given.rules.thp_zero_subpages && self.has_swap() {
            // Each page without a user gets a slot, and gives it back where it would be written
            // (`swap_writeout`).
            self.count(VmEvent::NrVmscanWrite, pages - left);
        }
    }

    /// Maps the zero page instead of pages that hold zeroes.
    fn map_zeroes(&mut self, pages: Vec<PageIdx>) {
        let Some(&first) = pages.first() else { return };
        let space = self.space_of(first);
        self.virt.spaces[space].rss_anon -= pages.len() as u64;
        self.virt.spaces.anon_mapped -= pages.len() as u64;
        for page in pages {
            self.tell_of_drop(page, 1);
            self.tell_of_drops(page, 1, "zeroes");
            let young = self.virt.pages.hot(page) & pte::YOUNG;
            self.virt.pages.set_entry(page, Entry::Zero, young);
        }
    }

    /// True if a frame is a folio of one page that a scan has isolated: the remainder of a large
    /// folio that was split amid a scan.
    #[inline]
    pub fn is_isolated_page(&self, frame: Pfn) -> bool {
        self.frames.kind(frame) == FrameKind::Anon
            && self.frames.order(frame) == 0
            && self.frames.has(frame, flag::ISOLATED)
    }

    /// Tests and clears the accessed bit of the entry that maps a huge folio, or those of the PTEs
    /// that map the pages of a large one.
    pub(crate) fn test_clear_young_large(&mut self, head: FolioId) -> bool {
        let span = self.span_of(head);
        let g = PageIdx(span.start).group();
        if self.virt.pages.group(g).huge {
            return self.virt.pages.test_clear_group(g, pte::YOUNG);
        }
        let parts: Vec<PageIdx> = self.virt.pages.parts(span, head).collect();
        parts.into_iter().fold(false, |any, p| self.virt.pages.test_clear_hot(p, pte::YOUNG) | any)
    }

    /// The large folio that a frame behind a first one belongs to.
    pub(super) fn head_of(&self, tail: Pfn) -> FolioId {
        let first = (1..=HUGE_ORDER).map(|order| (Pfn(tail.0 >> order << order), order));
        let holds = |&(head, order): &(Pfn, u8)| {
            self.frames.kind(head) != FrameKind::Tail && self.frames.order(head) >= order
        };
        first.into_iter().find(holds).map_or(tail, |(head, _)| head)
    }
}
