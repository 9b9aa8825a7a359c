//! Mapping and unmapping: the doors between page tables and folios.

use super::{IoDone, Memory};
use crate::backing::Shadow;
use crate::backing::swap::Cached;
use crate::base::id::{AsId, GroupId, PageIdx, Pfn, SwapSlot, VmaId};
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{FolioId, FrameKind, Mapped, flag};
use crate::policy::{Departure, ReclaimPolicy};
use crate::virt::pages::{Entry, pte};
use crate::virt::space::VmaKind;
use crate::workload::RegionId;

impl Memory {
    /// Maps a folio into a page whose PTE holds no folio now. `bits` are the PTE's young,
    /// dirty and writable bits.
    #[inline]
    pub fn map(&mut self, page: PageIdx, folio: FolioId, bits: u8) {
        let file = self.file_page_of(folio);
        self.virt.rmap.add(&mut self.frames, folio, page, file);
        self.virt.pages.set_entry(page, Entry::Frame(folio), bits);
        let space = self.space_of(page);
        if self.frames.kind(folio) == FrameKind::Anon {
            self.virt.spaces[space].rss_anon += 1;
            self.virt.spaces.anon_mapped += 1;
        } else {
            *self.rss_of_file(space, folio) += 1;
            self.virt.spaces.file_mapped += 1;
        }
    }

    /// The count of a process of its resident pages of files, or of shared memory.
    fn rss_of_file(&mut self, space: AsId, folio: FolioId) -> &mut u64 {
        let s = &mut self.virt.spaces[space];
        if self.frames.kind(folio) == FrameKind::Shmem { &mut s.rss_shmem } else { &mut s.rss_file }
    }

    /// State of a slot that a fault needs to read it past the swap cache: the device is
    /// synchronous, the slot has no other user, and the kernel has this way. Then the shadow, if
    /// one was left there.
    #[inline]
    pub(crate) fn private_swap(&self, slot: SwapSlot) -> Option<Option<Shadow>> {
        let swap = self.swap.as_ref().expect("a swap entry without swap");
        if !(self.given.rules.sync_swapin_skips_cache && swap.device_of(slot).config().synchronous)
        {
            return None;
        }
        match swap.look(slot) {
            (1, Cached::Nothing) => Some(None),
            (1, Cached::Shadow(s)) => Some(Some(s)),
            _ => None,
        }
    }

    /// Maps a new private folio in place of the swap entry of its page, which is of `space`,
    /// and sets flags of the folio: what leaving the entry and [`Memory::map`] do, with one
    /// look at each thing.
    #[inline]
    pub fn map_swapped(
        &mut self,
        space: AsId,
        page: PageIdx,
        folio: FolioId,
        bits: u8,
        flags: u32,
    ) {
        debug_assert!(
            matches!(self.virt.pages.entry(page), Entry::Swap(_)),
            "{page} is not swapped"
        );
        debug_assert_eq!(self.space_of(page), space);
        self.frames.rmap[folio] = page.0;
        self.frames.set_mapped(folio, Mapped::Once);
        self.frames.set(folio, flags);
        self.virt.pages.set_frame(page, folio, bits);
        self.virt.spaces.anon_mapped += 1;
        let s = &mut self.virt.spaces[space];
        s.swapents -= 1;
        s.rss_anon += 1;
    }

    /// The place of a folio in its file, if it is of the page cache or of shared memory.
    #[inline]
    pub fn file_page_of(&self, folio: FolioId) -> Option<PageIdx> {
        self.frames.is_of_file(folio).then(|| self.file_page(folio))
    }

    #[inline(never)]
    fn file_page(&self, folio: FolioId) -> PageIdx {
        match self.frames.mapped(folio) {
            Mapped::No => PageIdx(self.frames.rmap[folio]),
            Mapped::Many => self.virt.rmap.file_of_many(&self.frames, folio),
            Mapped::Once => {
                let p = PageIdx(self.frames.rmap[folio]);
                let vma = self.virt.spaces.vma(self.virt.spaces.vma_of(&self.virt.pages, p));
                let (VmaKind::File { file, offset, .. } | VmaKind::Shmem { file, offset }) =
                    vma.kind
                else {
                    panic!("{folio} is a file's and {p} maps no file")
                };
                PageIdx(self.cache.files[file].base.0 + offset + (p.0 - vma.start.0))
            }
        }
    }

    /// Removes a present PTE and its mapping of the folio; the PTE's dirty bit goes to the
    /// folio. `next` is what the PTE says afterwards. Returns the process that mapped it.
    #[inline(always)] // Callers know the kind of folio and the entry.
    pub(super) fn unmap_pte(
        &mut self,
        page: PageIdx,
        folio: FolioId,
        next: Entry,
        bits: u8,
    ) -> AsId {
        let file = self.file_page_of(folio);
        let hot = self.virt.pages.hot(page);
        if hot & pte::DIRTY != 0 {
            self.dirty_folio(folio, file);
        }
        if hot & pte::IDLE != 0 {
            self.frames.set(folio, flag::IDLE);
        }
        self.virt.rmap.remove(&mut self.frames, folio, page, file);
        self.virt.pages.set_entry(page, next, bits);
        let space = self.space_of(page);
        if self.frames.kind(folio) == FrameKind::Anon {
            self.virt.spaces[space].rss_anon -= 1;
            self.virt.spaces.anon_mapped -= 1;
        } else {
            *self.rss_of_file(space, folio) -= 1;
            self.virt.spaces.file_mapped -= 1;
        }
        space
    }

    /// Takes a PTE off the folio that it is about to get a private copy of.
    pub fn unmap_for_copy(&mut self, page: PageIdx, folio: FolioId) {
        self.unmap_pte(page, folio, Entry::None, 0);
    }

    /// Drops whatever a PTE holds: `munmap`, `MADV_DONTNEED`, exit. A frame that is free then is
    /// gathered.
    pub(super) fn zap(&mut self, policy: &mut dyn ReclaimPolicy, page: PageIdx, vma: VmaId) {
        match self.virt.pages.entry(page) {
            Entry::None => {}
            Entry::Zero => self.virt.pages.set_entry(page, Entry::None, 0),
            Entry::Shadow(_) => unreachable!("{page} of a process holds a shadow"),
            Entry::Swap(slot) => {
                self.virt.pages.set_entry(page, Entry::None, 0);
                let space = self.space_of(page);
                self.virt.spaces[space].swapents -= 1;
                self.put_slot(policy, slot);
            }
            Entry::Frame(folio) if self.frames.order(folio) > 0 => {
                self.zap_parts(policy, page.0..page.0 + 1, folio);
            }
            Entry::Frame(folio) => {
                self.acting.now += self.given.cost.t_free_page;
                let young = self.virt.pages.hot(page) & pte::YOUNG != 0;
                let recency = self.virt.spaces.vma(vma).recency(self.ignores_random());
                let file = self.frames.is_of_file(folio);
                let locked = self.virt.spaces.vma(vma).locks(page);
                self.unmap_pte(page, folio, Entry::None, 0);
                if file && young && recency {
                    self.mark_accessed(policy, folio);
                }
                let unmapped = !file && self.frames.mapped(folio) == Mapped::No;
                if locked && !unmapped {
                    self.munlock_folio(policy, folio);
                }
                if unmapped && self.let_go(policy, folio) {
                    self.virt.gathered.push(folio);
                }
            }
        }
    }

    /// Drops a reference of a PTE to a slot; a copy in the swap cache goes with the last reference.
    pub(super) fn put_slot(&mut self, policy: &mut dyn ReclaimPolicy, slot: SwapSlot) {
        let swap = self.swap.as_mut().expect("a slot is of a device");
        if swap.put(slot, self.acting.cpu) {
            self.slot_freed(slot);
        } else if self.swap.as_ref().is_some_and(|s| s.count(slot) == 0)
            && let Cached::Folio(folio) = self.swap.as_ref().expect("as above").cached(slot)
            && self.frames.mapped(folio) == Mapped::No
        {
            self.free_anon(policy, folio);
        }
    }

    /// A slot's contents are gone: its group is charged no longer, and zram gives up the memory.
    #[inline]
    pub fn slot_freed(&mut self, slot: SwapSlot) {
        self.memcgs.uncharge_slot(slot);
        let swap = self.swap.as_ref().expect("a slot without swap");
        if swap.pools.is_some() {
            return self.drop_compressed(slot);
        }
        let bytes = swap.device_of(slot).config().stored_bytes_per_page;
        self.kernel.zram_stored = self.kernel.zram_stored.saturating_sub(bytes.into());
    }

    /// Frees an anonymous folio that is mapped nowhere: off its list or batch, out of the
    /// swap cache. A folio that a device works on is freed when that ends.
    pub(crate) fn free_anon(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        if self.let_go(policy, folio) {
            self.free_frame(folio);
        }
    }

    /// Takes such a folio off its list or batch and out of the swap cache. False: its frame cannot be
    /// given back yet.
    fn let_go(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) -> bool {
        if self.frames.has(folio, flag::MLOCKED) {
            self.munlock_freed(folio);
        }
        if self.frames.has(folio, flag::LRU) {
            self.leave_batch(folio);
            policy.folio_departed(self, folio, Departure::Freed);
            debug_assert!(!self.frames.has(folio, flag::LRU), "{folio} was left on its list");
        } else {
            self.leave_batch(folio);
        }
        self.memcgs.uncharge(self.frames.memcg(folio), 1);
        if self.frames.has(folio, flag::WRITEBACK | flag::LOCKED) {
            self.frames.set(folio, flag::ORPHAN);
            let z = self.zones.of(folio);
            self.zones.orphans[z] += 1;
            return false;
        }
        self.drop_swapcache(folio);
        true
    }

    /// Takes a folio out of the swap cache and gives up its slot; its contents exist only
    /// in memory then.
    pub fn drop_swapcache(&mut self, folio: FolioId) {
        if self.frames.test_clear(folio, flag::SWAPCACHE) {
            let slot = self.frames.slot_raw(folio);
            let swap = self.swap.as_mut().expect("a slot is of a device");
            swap.uncache(slot, None, self.acting.cpu);
            if swap.count(slot) == 0 {
                self.slot_freed(slot);
            }
        }
    }

    /// Unmaps a whole region and frees what only it held.
    pub fn munmap(&mut self, policy: &mut dyn ReclaimPolicy, space: AsId, region: RegionId) {
        let id = self
            .virt
            .spaces
            .region(space, region)
            .unwrap_or_else(|| panic!("{space}: {region:?} is not mapped"));
        if self.given.rules.unmap_drains {
            self.lru_drain(policy);
        }
        let (start, nr) = (self.virt.spaces.vma(id).start, self.virt.spaces.vma(id).pages);
        if self.virt.spaces.vma(id).flags.locked {
            self.tell_of_mlock(id, start.0..start.0 + nr, false);
        }
        self.zap_pages(policy, start, nr, id);
        if self.virt.spaces.vma(id).kind == VmaKind::HugeTlb {
            self.unreserve_hugetlb(nr);
        }
        let kind = self.virt.spaces.vma(id).kind;
        if let VmaKind::Shmem { file, .. } = kind {
            self.shmem_unmapped(policy, file);
        }
        if let Some((g, n)) = self.virt.spaces.munmap(&mut self.virt.pages, space, region) {
            for i in 0..n {
                self.free_table(GroupId(g.0 + i));
            }
            self.virt.pages.release(g, n);
        }
    }

    pub(super) fn free_table(&mut self, g: GroupId) {
        if let Some(t) = self.virt.pages.group_mut(g).table.take() {
            self.virt.pages.clear_table_touched(g);
            self.kernel.nr_page_tables -= 1;
            if let crate::virt::pages::Owner::Process(a) = self.virt.pages.group(g).owner {
                self.virt.spaces[a].tables -= 1;
                self.memcgs.uncharge_table(self.acting.cpu, self.virt.spaces[a].memcg);
            }
            self.free_frame(t);
        }
    }

    /// Installs a page table for a group.
    pub fn set_table(&mut self, g: GroupId, frame: Pfn) {
        self.frames.reset(frame, FrameKind::PageTable);
        self.virt.pages.group_mut(g).table = Some(frame);
        self.kernel.nr_page_tables += 1;
        if let crate::virt::pages::Owner::Process(a) = self.virt.pages.group(g).owner {
            self.virt.spaces[a].tables += 1;
            self.memcgs.charge_table(self.acting.cpu, self.virt.spaces[a].memcg);
        }
    }

    /// The end of a device request. Returns the folio if threads may wait for it.
    pub(crate) fn io_done(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        done: IoDone,
    ) -> Option<FolioId> {
        match done {
            IoDone::Read(folio) => {
                self.frames.clear(folio, flag::LOCKED);
                if self.frames.has(folio, flag::ORPHAN) {
                    self.bury(folio);
                }
                Some(folio)
            }
            IoDone::Entered(folio) => {
                self.written_back_enters(policy, folio);
                Some(folio)
            }
            IoDone::ZswapWorker => None,
            IoDone::Write(folio) | IoDone::EvictWritten(folio) => {
                self.frames.clear(folio, flag::WRITEBACK);
                if self.frames.kind(folio) == FrameKind::File {
                    let disk = self.disk_of_folio(folio);
                    self.cache.files.write_ended(disk, self.frames.memcg(folio), self.acting.now);
                    self.count(VmEvent::NrWritten, 1);
                }
                self.emit(|| crate::memory::trace::TraceEvent::SimWritebackEnd { pfn: folio });
                if self.frames.has(folio, flag::ORPHAN) {
                    // No process uses what zswap wrote back: its frame is freed once it is unlocked.
                    if !self.frames.has(folio, flag::LOCKED) {
                        self.bury(folio);
                    }
                } else if self.drop_behind(policy, folio) {
                    // It is gone.
                } else if self.frames.test_clear(folio, flag::RECLAIM) {
                    self.lru_rotate(policy, folio);
                }
                Some(folio)
            }
        }
    }

    /// Frees a folio whose owner went while a device worked on it.
    pub(super) fn bury(&mut self, folio: FolioId) {
        self.frames.clear(folio, flag::ORPHAN);
        let z = self.zones.of(folio);
        self.zones.orphans[z] -= 1;
        self.drop_swapcache(folio);
        self.free_frame(folio);
    }
}
