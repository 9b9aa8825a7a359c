//! Shared memory: files of tmpfs, memfd, SysV segments, and what shared anonymous mappings map.
//!
//! An object is a file whose tree holds frames and swap slots, where that of a disk's file holds
//! frames and shadows. Its pages are on the anonymous lists and have no copy elsewhere. One that goes
//! to swap loses all mappings first, whose entries are empty then, and its tree names the slot. From
//! there on it is a page of the swap cache like those of processes, and its shadow is left in the slot.
//! One that comes back gives up its slot at once, so each eviction writes. A page that was only read
//! is clean: reclaim drops it, and the next touch finds zeroes again.
//!
//! With `noswap` its pages are unevictable from birth; with `SHM_LOCK` those that are there go to the
//! unevictable list where reclaim meets them, and `SHM_UNLOCK` brings them back.
//!
//! Source: Linux 6.12 mm/shmem.c (`shmem_writepage`, `shmem_swapin_folio`, `shmem_undo_range`,
//! `shmem_lock`), mm/mlock.c. Left out: huge pages, quotas, limits of inodes, and of memory that a user
//! locks by `SHM_LOCK`.

use super::Memory;
use crate::backing::contents::Content;
use crate::base::id::{FileId, PageIdx, SwapSlot};
use crate::memory::trace::TraceEvent;
use crate::phys::frames::{FolioId, FrameKind, KIND_MASK, flag};
use crate::policy::{Arrival, ReclaimPolicy};
use crate::virt::pages::Entry;
use std::ops::Range;

impl Memory {
    /// Puts a fresh, charged frame into an object that has nothing there, and into its LRU batch.
    pub(crate) fn add_to_shmem(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        page: PageIdx,
        folio: FolioId,
        how: Arrival,
    ) {
        self.frames.reset(folio, FrameKind::Shmem);
        self.frames.set(folio, flag::SWAPBACKED);
        self.hold_in_shmem(page, folio);
        policy.folio_entering(self, folio, None, how);
        self.lru_add(policy, folio, how);
    }

    /// The tree of an object names a folio, which is not mapped yet.
    fn hold_in_shmem(&mut self, page: PageIdx, folio: FolioId) {
        let (file, index) = self.file_at(page);
        let new = self.virt.pages.entry(page) == Entry::None;
        self.frames.rmap[folio] = page.0;
        self.virt.pages.set_entry(page, Entry::Frame(folio), 0);
        self.cache.files.shmem_enters(file, page, new);
        if self.cache.files.shmem_of(file).unevictable {
            self.keep(folio);
        }
        self.emit(|| TraceEvent::MmFilemapAddToPageCache { file, index, pfn: folio, page });
    }

    /// True if an object has as many pages as it may.
    pub(crate) fn shmem_is_full(&self, page: PageIdx) -> bool {
        let shmem = self.cache.files[self.file_at(page).0].shmem;
        shmem.is_some_and(|s| s.spec.limit.is_some_and(|most| s.used >= most))
    }

    /// A folio of the swap cache, which nothing maps, goes back into its object and gives up its slot.
    pub(crate) fn leave_swapcache_to_shmem(&mut self, page: PageIdx, folio: FolioId) {
        let slot = self.frames.slot(folio);
        let swap = self.swap.as_mut().expect("a slot is of a device");
        swap.put(slot, self.acting.cpu);
        self.drop_swapcache(folio);
        self.swapped_into_shmem(page, folio);
    }

    /// A folio that was read from a slot, which is free again, is of its object.
    pub(crate) fn swapped_into_shmem(&mut self, page: PageIdx, folio: FolioId) {
        self.frames.change(folio, KIND_MASK, FrameKind::Shmem as u32 | flag::DIRTY);
        self.hold_in_shmem(page, folio);
    }

    /// Gives an unmapped, dirty folio a slot, which takes its place in its object: it is of the swap
    /// cache then. False: there is no slot for it.
    pub(super) fn shmem_to_swap(&mut self, folio: FolioId) -> bool {
        if !self.add_to_swap(folio) {
            return false;
        }
        let slot = self.frames.slot(folio);
        let page = PageIdx(self.frames.rmap[folio]);
        self.swap.as_mut().expect("it has a slot").get(slot);
        if self.knows_contents() {
            self.note_shmem_content(slot, page);
        }
        self.note_page_of_slot(slot, page);
        self.virt.pages.set_entry(page, Entry::Swap(slot), 0);
        self.cache.files.shmem_leaves(self.file_at(page).0, page, false);
        self.frames.change(folio, KIND_MASK, FrameKind::Anon as u32);
        self.frames.rmap[folio] = u32::MAX;
        true
    }

    /// Notes what a page holds by the law of the process that maps its object.
    fn note_shmem_content(&mut self, slot: SwapSlot, page: PageIdx) {
        let (file, index) = self.file_at(page);
        let mapper = self.cache.files[file].shmem.and_then(|s| s.mapper);
        let Some(swap) = &mut self.swap else { return };
        let on_device = swap.device_of(slot).config().stored_bytes_per_page;
        let Some(pools) = &mut swap.pools else { return };
        let known = mapper.and_then(|(space, region, offset)| {
            let contents = self.virt.spaces[space].contents.as_mut()?;
            Some(contents.leaving((region, index.saturating_sub(offset)), page, true))
        });
        let content = match (known, &pools.zswap) {
            (Some(content), _) => content,
            (None, Some(zswap)) => Content::bytes(zswap.config.bytes_per_page),
            (None, None) if on_device == 0 => Content::bytes(Content::MOST),
            (None, None) => Content::bytes(on_device as u16),
        };
        pools.note(slot, content);
    }

    /// Takes a clean folio out of its object; the frame is the caller's to free. Returns its place.
    pub(super) fn shmem_dropped(&mut self, folio: FolioId) -> PageIdx {
        let page = PageIdx(self.frames.rmap[folio]);
        self.virt.pages.set_entry(page, Entry::None, 0);
        self.cache.files.shmem_leaves(self.file_at(page).0, page, true);
        page
    }

    /// Frees pages of an object, mapped or not, with their slots (`shmem_undo_range`).
    pub(crate) fn remove_from_shmem(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        file: FileId,
        pages: Range<u32>,
    ) {
        let base = self.cache.files[file].base.0;
        for page in pages.map(|i| PageIdx(base + i)) {
            match self.virt.pages.entry(page) {
                Entry::Frame(folio) => {
                    while let Some(p) =
                        self.virt.rmap.nth(self.virt.rmap.of(&self.frames, folio), 0)
                    {
                        self.acting.now += self.given.cost.t_unmap;
                        self.unmap_pte(p, folio, Entry::None, 0);
                    }
                    self.acting.now += self.given.cost.t_free_page;
                    self.tell_of_drop(page, 1);
                    let (pfn, slot, why) = (Some(folio), None, "remove");
                    self.emit(|| TraceEvent::SimDrop { page, pfn, slot, why });
                    self.shmem_dropped(folio);
                    // As of a process's page from here on.
                    self.frames.change(folio, KIND_MASK, FrameKind::Anon as u32);
                    self.frames.rmap[folio] = u32::MAX;
                    self.free_anon(policy, folio);
                }
                Entry::Swap(slot) => {
                    self.tell_of_drop(page, 1);
                    let (pfn, why) = (None, "remove");
                    self.emit(|| TraceEvent::SimDrop { page, pfn, slot: Some(slot), why });
                    self.virt.pages.set_entry(page, Entry::None, 0);
                    self.cache.files.shmem_gone(file, page);
                    self.put_slot(policy, slot);
                }
                _ => {}
            }
        }
    }

    /// `SHM_LOCK` makes an object unevictable, `SHM_UNLOCK` evictable again (`shmem_lock`,
    /// `shmem_unlock_mapping`).
    pub(crate) fn lock_shmem(&mut self, policy: &mut dyn ReclaimPolicy, file: FileId, lock: bool) {
        self.cache.files.shmem_of(file).unevictable = lock;
        let (base, pages) = (self.cache.files[file].base.0, self.cache.files[file].pages);
        for page in (base..base + pages).map(PageIdx) {
            let Entry::Frame(folio) = self.virt.pages.entry(page) else { continue };
            match lock {
                true => self.keep(folio),
                false => self.keep_no_more(policy, folio),
            }
        }
    }

    /// A mapping of an object is gone: with the last one goes all of it, unless it stays.
    pub(super) fn shmem_unmapped(&mut self, policy: &mut dyn ReclaimPolicy, file: FileId) {
        let pages = self.cache.files[file].pages;
        let shmem = self.cache.files.shmem_of(file);
        shmem.mappings -= 1;
        if shmem.mappings == 0 && !shmem.spec.stays {
            self.remove_from_shmem(policy, file, 0..pages);
        }
    }
}
