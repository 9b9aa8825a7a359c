//! Huge pages of hugetlbfs, and the mappings that they back.
//!
//! A pool of blocks of 2 MiB is set aside beforehand. A mapping of such pages reserves what it may
//! need when it is made, so that its faults always find one; they take it from the pool, and it
//! goes back there when it is unmapped. These pages are never reclaimed, moved or split: they are
//! on no list, in no group and in no process's resident memory. One entry of the page directory
//! maps each, and no page table is held for it. As for huge folios, each of the 512 hot bytes
//! stands for its bits.
//!
//! Of the pool, `free` pages are mapped nowhere, and `reserved` of these are promised. Pages above
//! the last requested size are given back as soon as they are unused.
//!
//! Source: Linux 6.12 mm/hugetlb.c (`hugetlb_acct_memory`, `dequeue_hugetlb_folio_vma`,
//! `hugetlb_no_page`, `hugetlb_wp`, `__unmap_hugepage_range`, `free_huge_folio`). Left out:
//! `MAP_NORESERVE`, with which a fault that finds the pool empty is SIGBUS; overcommitted pages;
//! mappings of files, and sharing after fork; limits of groups; one pool for each node.

use super::{HUGE_ORDER, Memory};
use crate::base::id::{GROUP_PAGES, GroupId, PageIdx, Pfn};
use crate::base::migratetype::Migratetype;
use crate::phys::frames::{FolioId, FrameKind};
use crate::virt::pages::pte;

/// The pool.
#[derive(Clone, Debug, Default)]
pub struct HugePool {
    /// Mapped nowhere; the last is taken first.
    free: Vec<Pfn>,
    reserved: u32,
    mapped: u32,
    /// Number of pages of the last request (`nr_hugepages`).
    pub wanted: u32,
}

impl HugePool {
    /// Huge pages in all (`HugePages_Total`).
    pub fn total(&self) -> u32 {
        self.free.len() as u32 + self.mapped
    }
    /// Mapped nowhere (`HugePages_Free`).
    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }
    /// Of these, promised to mappings (`HugePages_Rsvd`).
    pub fn reserved(&self) -> u32 {
        self.reserved
    }
    /// Mapped by processes.
    pub fn mapped(&self) -> u32 {
        self.mapped
    }
    /// Promises `pages` pages to a mapping. False: there are not as many.
    pub fn reserve(&mut self, pages: u32) -> bool {
        let fits = self.free() - self.reserved >= pages;
        self.reserved += if fits { pages } else { 0 };
        fits
    }
}

impl Memory {
    /// A block that was allocated becomes a page of the pool. It is cleared when it is mapped.
    pub(crate) fn add_huge_page(&mut self, pfn: Pfn) {
        self.frames.reset_block(pfn, FrameKind::HugeTlb, HUGE_ORDER, Migratetype::Movable);
        self.kernel.nr_other += 1 << HUGE_ORDER;
        self.acting.now += self.given.cost.t_free_page;
        self.kernel.hugetlb.free.push(pfn);
    }

    /// Gives back the pages above the size of the pool that are not in use.
    pub(crate) fn trim_huge_pool(&mut self) {
        while self.kernel.hugetlb.total() > self.kernel.hugetlb.wanted
            && self.kernel.hugetlb.free() > self.kernel.hugetlb.reserved
        {
            let pfn = self.kernel.hugetlb.free.pop().expect("more are free than are reserved");
            self.kernel.nr_other -= 1 << HUGE_ORDER;
            self.acting.now += self.given.cost.t_free_page;
            self.free_block(pfn, HUGE_ORDER);
        }
    }

    /// The huge page of the pool that a page lies in.
    pub fn hugetlb_at(&self, page: PageIdx) -> Option<FolioId> {
        self.large_at(page).filter(|&head| self.frames.kind(head) == FrameKind::HugeTlb)
    }

    /// Maps a page of the pool that was reserved, as an access does.
    pub(crate) fn map_hugetlb(&mut self, g: GroupId, write: bool) {
        let pool = &mut self.kernel.hugetlb;
        let head = pool.free.pop().unwrap_or_else(|| panic!("{g}: what was reserved is not there"));
        (pool.reserved, pool.mapped) = (pool.reserved - 1, pool.mapped + 1);
        let written = if write { pte::DIRTY | pte::WRITABLE } else { 0 };
        self.virt.pages.set_huge(g, Some(head), pte::ACCESSED | written);
    }

    /// Makes a mapped page writable: its process has it for itself.
    pub(crate) fn write_hugetlb(&mut self, g: GroupId) {
        let written = pte::ACCESSED | pte::DIRTY | pte::WRITABLE;
        self.virt.pages.hot_and_entries_of(g).0.iter_mut().for_each(|hot| *hot |= written);
    }

    /// Drops a mapped page; the mapping has it reserved again.
    pub(super) fn zap_hugetlb(&mut self, g: GroupId, head: FolioId) {
        self.acting.now += self.given.cost.t_free_page;
        self.virt.pages.set_huge(g, None, 0);
        // No page table will be freed that could forget this.
        self.virt.pages.clear_table_touched(g);
        let pool = &mut self.kernel.hugetlb;
        pool.free.push(head);
        (pool.reserved, pool.mapped) = (pool.reserved + 1, pool.mapped - 1);
    }

    /// A mapping without pages is undone.
    pub(super) fn unreserve_hugetlb(&mut self, pages: u32) {
        self.kernel.hugetlb.reserved -= pages / GROUP_PAGES;
        self.trim_huge_pool();
    }
}
