//! Page idle tracking: what a monitor of accesses does to a page, and asks of it.
//!
//! A monitor wants to know whether a page is accessed within an interval. At its beginning it makes
//! the page *old*: accessed bits of its mappings are cleared and the folio is marked idle. At its
//! end the page is *young* if an accessed bit is set again, or if another user, who cleared it
//! meanwhile, took the idle mark away. Since clearing an accessed bit would hide the access from
//! reclaim, a bit that was set is kept in the folio's young flag, which the next query for
//! references counts ([`Memory::references`]).
//!
//! A page is found by its frame, as a monitor of physical memory does, or by its place in an
//! address space; then only that one PTE is looked at. Pages that are on no LRU list are passed over
//! and look old for ever: free memory, page tables, slab, and pages in LRU batches. Huge pages of
//! hugetlbfs, which are never on one, are seen by their entry in an address space, and not by their
//! frames.
//!
//! Source: Linux 6.12 mm/damon/ops-common.c (`damon_get_folio`, `damon_ptep_mkold`), paddr.c
//! (`damon_folio_mkold`, `damon_folio_young`), vaddr.c (`damon_va_mkold`, `damon_va_young`,
//! `damon_hugetlb_mkold`, `damon_young_hugetlb_entry`), mm/swap.c (`folio_mark_accessed`).

use super::Memory;
use crate::base::id::{PageIdx, Pfn};
use crate::phys::frames::{FolioId, FrameKind, flag};
use crate::phys::zone::RunClass;
use crate::policy::chooser::FileFolioEvent;
use crate::policy::{Access, ReclaimPolicy};
use crate::virt::pages::{Entry, pte};
use std::ops::Range;

impl Memory {
    /// The folio on an LRU list that a frame belongs to (`damon_get_folio`).
    #[inline]
    pub fn listed_folio(&self, pfn: Pfn) -> Option<FolioId> {
        let folio = match self.frames.kind(pfn) {
            FrameKind::Tail => self.head_of(pfn),
            _ => pfn,
        };
        let listed = self.frames.bits(folio) & (flag::LRU | flag::IN_BATCH) == flag::LRU;
        listed.then_some(folio)
    }

    /// Makes a folio old through all of its mappings. A file page that is locked stays as it is.
    /// Costs `t_mkold`.
    pub fn mkold(&mut self, folio: FolioId) {
        self.acting.now += self.given.cost.t_mkold;
        if self.locked_file(folio) {
            return;
        }
        let maps = self.virt.rmap.of(&self.frames, folio);
        let mut young = false;
        for i in 0..self.virt.rmap.count(&self.frames, folio) {
            let page = self.virt.rmap.nth(maps, i).expect("below their number");
            young |= match self.frames.order(folio) {
                0 => self.virt.pages.test_clear_hot(page, pte::YOUNG),
                _ => self.test_clear_young_large(folio),
            };
        }
        self.mark_idle(folio, young);
    }

    /// True if a folio was accessed since it was made old. Costs `t_young`.
    pub fn is_young(&mut self, folio: FolioId) -> bool {
        self.acting.now += self.given.cost.t_young;
        if self.locked_file(folio) {
            return false;
        }
        if !self.is_idle(folio) {
            return true;
        }
        let maps = self.virt.rmap.of(&self.frames, folio);
        (0..self.virt.rmap.count(&self.frames, folio)).any(|i| {
            let page = self.virt.rmap.nth(maps, i).expect("below their number");
            self.young_at(page)
                || self.frames.order(folio) > 0
                    && self
                        .virt
                        .pages
                        .parts(self.span_of(folio), folio)
                        .any(|part| self.young_at(part))
        })
    }

    /// Makes a page old through the one PTE that maps it there. False: it is not present, or on no
    /// list. Costs `t_mkold`, or `t_unlisted`.
    pub(crate) fn mkold_at(&mut self, page: PageIdx) -> bool {
        let Some(folio) = self.listed_at(page) else {
            self.acting.now += self.given.cost.t_unlisted;
            return false;
        };
        self.acting.now += self.given.cost.t_mkold;
        let young = self.clear_young(page);
        self.mark_idle(folio, young);
        true
    }

    /// True if a page was accessed by its PTE there, or its folio by another user that took the
    /// idle mark away. Costs `t_young`, or `t_unlisted`.
    pub fn is_young_at(&mut self, page: PageIdx) -> bool {
        let Some(folio) = self.listed_at(page) else {
            self.acting.now += self.given.cost.t_unlisted;
            return false;
        };
        self.acting.now += self.given.cost.t_young;
        self.young_at(page) || !self.is_idle(folio)
    }

    /// Records an access through a system call, or one found when a file page is unmapped
    /// (`folio_mark_accessed`): the policy learns of it, and the page is not idle.
    pub fn mark_accessed(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        if self.drops_behind(folio) {
            return;
        }
        if self.memcgs.journals.on() {
            self.journal_told(policy, FileFolioEvent::Accessed, folio);
        }
        policy.folio_accessed(self, folio, Access::Marked);
        self.clear_idle(folio);
    }

    /// True if an accessed bit of a mapping of a folio is set. Costs nothing and changes nothing: for
    /// counts.
    pub fn has_accessed_bit(&self, folio: FolioId) -> bool {
        let maps = self.virt.rmap.of(&self.frames, folio);
        (0..self.virt.rmap.count(&self.frames, folio))
            .filter_map(|i| self.virt.rmap.nth(maps, i))
            .any(|page| self.young_at(page))
    }

    /// True if a folio has its idle mark: in its flags, or in the PTE of an anonymous page that is
    /// mapped once.
    #[inline]
    pub(crate) fn is_idle(&self, folio: FolioId) -> bool {
        self.frames.has(folio, flag::IDLE)
            || self.frames.is_anon_page_mapped_once(folio)
                && self.virt.pages.hot(PageIdx(self.frames.rmap[folio])) & pte::IDLE != 0
    }

    /// Takes the idle mark off a folio.
    #[inline]
    pub fn clear_idle(&mut self, folio: FolioId) {
        self.frames.clear(folio, flag::IDLE);
        if self.frames.is_anon_page_mapped_once(folio) {
            self.virt.pages.test_clear_hot(PageIdx(self.frames.rmap[folio]), pte::IDLE);
        }
    }

    /// Goes over the frames of a range in order of address and hands out the folios on LRU lists
    /// that lie in it, to do with them what does not free frames ahead. Frames without one cost
    /// `t_frame_walk` each, and free blocks are passed whole, so that the host's work is for what
    /// is in use. Frames outside of zones are passed for nothing.
    pub fn for_each_listed(
        &mut self,
        range: Range<Pfn>,
        mut each: impl FnMut(&mut Memory, FolioId),
    ) {
        let mut at = range.start;
        while at < range.end {
            let zone = &self.zones[self.zones.of(at)];
            if at >= zone.end() {
                let next = self.zones.ids().map(|z| self.zones[z].first).find(|&first| first > at);
                at = next.unwrap_or(range.end);
                continue;
            }
            let (_, frames, class) = zone.next_run(&self.frames, at);
            let mut frames = frames.min(range.end.0 - at.0);
            match self.listed_folio(at) {
                Some(folio) if class != RunClass::Free => {
                    // From a page in the midst of a large folio the kernel goes as far, too.
                    frames = self.frames.pages(folio) as u32;
                    each(self, folio);
                }
                _ => self.acting.now += self.given.cost.t_frame_walk * u64::from(frames),
            }
            at = Pfn(at.0 + frames);
        }
    }

    fn listed_at(&self, page: PageIdx) -> Option<FolioId> {
        match self.virt.pages.entry(page) {
            Entry::Frame(pfn) => self.listed_folio(pfn).or_else(|| self.hugetlb_at(page)),
            _ => None,
        }
    }

    fn locked_file(&self, folio: FolioId) -> bool {
        self.frames.has(folio, flag::LOCKED)
            && self.frames.kind(folio) == FrameKind::File
            && self.mapcount(folio) > 0
    }

    fn young_at(&self, page: PageIdx) -> bool {
        let g = page.group();
        if self.virt.pages.group(g).huge {
            // One entry above maps all of it.
            return self.virt.pages.hot_of(g).iter().any(|h| h & pte::YOUNG != 0);
        }
        self.virt.pages.hot(page) & pte::YOUNG != 0
    }

    fn clear_young(&mut self, page: PageIdx) -> bool {
        if self.virt.pages.group(page.group()).huge {
            self.virt.pages.test_clear_group(page.group(), pte::YOUNG)
        } else {
            self.virt.pages.test_clear_hot(page, pte::YOUNG)
        }
    }

    #[inline]
    pub(super) fn mark_idle(&mut self, folio: FolioId, was_young: bool) {
        self.frames.set(folio, flag::IDLE | if was_young { flag::YOUNG } else { 0 });
    }
}
