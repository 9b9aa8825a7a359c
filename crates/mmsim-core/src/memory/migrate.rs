//! Migration: a folio moves to another frame, and its users do not notice.
//!
//! Compaction takes folios off their lists ([`Memory::isolate_to_migrate`]), takes free blocks
//! out of the allocator ([`Memory::isolate_free_block`]), and moves the one into the other
//! ([`Memory::migrate`]). Whatever says where a folio is says the new frame afterwards: the
//! entries of page tables, the page cache or the swap cache, the reverse map. What is true of the folio moves with it: flags, group, dirtiness. The old frame is
//! free, and the new one goes to its list by way of the LRU batch, as a folio that was put back
//! does, but announced as [`ArrivalKind::Migrated`].
//!
//! Accessed bits of page tables are lost up to 6.0: the entry is made anew when the copy is
//! done. From 6.1 on they are kept, with the dirty bits. A dirty bit is never lost, it goes to
//! the folio.
//!
//! Sources: Linux 4.1 and 6.12 mm/migrate.c (`migrate_pages`, `folio_migrate_mapping`,
//! `folio_migrate_flags`, `remove_migration_pte`). Left out: threads that wait for a page
//! while it moves (a run is one step for everybody else); a synchronous run waiting for the
//! end of a read or write (such folios are refused in every mode); huge folios, which stay where
//! they are (6.12 moves those of an order below the one that is wanted).

use super::Memory;
use crate::backing::swap::Cached;
use crate::base::id::{Idx as _, NodeId, PageIdx, Pfn, ZoneId};
use crate::base::migratetype::Migratetype;
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::memory::trace::{TraceEvent, TraceKind, TraceKinds};
use crate::phys::buddy::Capture;
use crate::phys::frames::{FolioId, ORDER_MASK, flag, is_plain};
use crate::phys::gfp::AllocRequest;
use crate::phys::targets::{Taken, Wanted};
use crate::phys::watermarks::Mark;
use crate::policy::{Arrival, ArrivalKind, Departure, ReclaimPolicy};
use crate::virt::pages::pte;
use std::ops::Range;

/// Why a folio stays where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotMoved {
    /// It is under read, or another user works on it.
    Locked,
    /// A device writes it.
    Writeback,
    /// It has another reference: an LRU batch, or its owner went while a device works on it.
    Pinned,
    /// Its file system moves no page: ramfs.
    FileSystem,
}

/// Flags that a migrated folio does not take along: its place on lists and in policies.
const LEFT: u32 = flag::ISOLATED | flag::LRU | flag::POLICY_MASK;

/// Events of single folios that are moved.
const OF_MIGRATION: TraceKinds = TraceKinds::of(&[
    TraceKind::SimMigrate,
    TraceKind::MmPageFree,
    TraceKind::MmLruInsertion,
    TraceKind::MmLruActivate,
]);

impl Memory {
    /// Takes a folio off its list for another user than its policy: `MADV_PAGEOUT`. False: it is on
    /// no list, cannot be evicted, or waits to be moved between lists. Who takes it gives it back by
    /// [`ReclaimPolicy::reclaim_list`] or [`Memory::put_back`].
    pub fn isolate_from(&mut self, lru: &mut dyn ReclaimPolicy, folio: FolioId) -> bool {
        if self.frames.bits(folio) & (flag::LRU | flag::UNEVICTABLE | flag::IN_BATCH) != flag::LRU {
            return false;
        }
        lru.folio_departed(self, folio, Departure::Isolated);
        self.frames.set(folio, flag::ISOLATED);
        true
    }

    /// Takes a listed folio off its list to move it, unevictable ones included
    /// (`folio_isolate_lru`). False: it is on no list, waits to be moved between lists, or is
    /// huge.
    /// Who takes it calls [`Memory::migrate`] or [`Memory::put_back`].
    pub fn isolate_to_migrate(&mut self, lru: &mut dyn ReclaimPolicy, folio: FolioId) -> bool {
        if self.frames.bits(folio) & (flag::LRU | flag::IN_BATCH | ORDER_MASK) != flag::LRU {
            return false;
        }
        lru.folio_departed(self, folio, Departure::Isolated);
        debug_assert!(!self.frames.has(folio, flag::LRU), "{folio} was left on its list");
        self.frames.set(folio, flag::ISOLATED);
        self.acting.now += self.given.cost.t_isolate;
        true
    }

    /// The same for folios that are known to be listed, of one page and in no batch.
    pub fn isolate_all_to_migrate(&mut self, lru: &mut dyn ReclaimPolicy, folios: &[FolioId]) {
        match lru.traits().plain_departures {
            true => self.lru_del_pages(folios),
            false => {
                folios.iter().for_each(|&f| lru.folio_departed(self, f, Departure::Isolated));
            }
        }
        for &folio in folios {
            let bits = self.frames.change(folio, 0, flag::ISOLATED);
            debug_assert!(bits & flag::LRU == 0, "{folio} was left on its list");
        }
        self.acting.now += SimDuration(self.given.cost.t_isolate.0 * folios.len() as u64);
    }

    /// True if [`Memory::migrate`] would move an isolated folio now.
    pub fn can_migrate(&self, folio: FolioId) -> bool {
        self.unmovable(folio).is_none()
    }

    /// True if a frame holds a page of a file on ramfs, which is never migrated.
    pub fn is_of_ramfs(&self, folio: FolioId) -> bool {
        let locked = self.frames.has(folio, flag::MLOCKED);
        locked
            && self
                .file_page_of(folio)
                .is_some_and(|page| self.cache.files[self.file_at(page).0].ramfs)
    }

    /// Why an isolated folio cannot be moved now, if so.
    fn unmovable(&self, folio: FolioId) -> Option<NotMoved> {
        let bits = self.frames.bits(folio);
        if bits & flag::LOCKED != 0 {
            Some(NotMoved::Locked)
        } else if bits & flag::WRITEBACK != 0 {
            Some(NotMoved::Writeback)
        } else if bits & (flag::IN_BATCH | flag::ORPHAN) != 0 {
            Some(NotMoved::Pinned)
        } else if self.is_of_ramfs(folio) {
            Some(NotMoved::FileSystem)
        } else {
            None
        }
    }

    /// Moves an isolated folio of one page into a frame that was taken out of the allocator
    /// ([`Memory::isolate_free_block`]), and frees the frame that it was in. The target is in
    /// the acting CPU's LRU batch then. Costs `t_migrate`.
    ///
    /// # Errors
    /// The folio cannot be moved; it is still isolated, and the target still free.
    pub fn migrate(
        &mut self,
        lru: &mut dyn ReclaimPolicy,
        folio: FolioId,
        target: Pfn,
    ) -> Result<(), NotMoved> {
        debug_assert!(self.frames.has(folio, flag::ISOLATED), "{folio} is not isolated");
        debug_assert_eq!(self.frames.bits(target), 0, "{target} is not free");
        if let Some(why) = self.unmovable(folio) {
            self.count(VmEvent::PgMigrateFail, 1);
            return Err(why);
        }
        self.remap(folio, target);
        if self.telling.tracer.wants(TraceKind::SimMigrate) {
            let page = self.virt.rmap.nth(self.virt.rmap.of(&self.frames, folio), 0);
            self.emit(|| TraceEvent::SimMigrate { pfn: folio, target, page });
        }
        self.move_identity(folio, target);
        self.count(VmEvent::PgMigrateSuccess, 1);
        self.acting.now += self.given.cost.t_migrate;
        self.free_frame(folio);
        let how = Arrival { kind: ArrivalKind::Migrated, in_fault: None, position: 0 };
        self.lru_add(lru, target, how);
        Ok(())
    }

    /// Looks at the pages of folios that are about to be judged or moved, so that memory fetches
    /// them together. Changes nothing.
    pub fn prefetch_pages_of(&self, folios: impl Iterator<Item = FolioId>) {
        let seen = folios.fold(0, |seen, f| seen ^ self.virt.pages.peek(self.frames.rmap[f]));
        std::hint::black_box(seen);
    }

    /// Looks at the words of frames in a row, so that memory fetches them together. Changes nothing.
    pub fn prefetch_frames(&self, run: Range<u32>) {
        const IN_A_LINE: usize = 16;
        let words = |f: u32| {
            self.frames.bits(Pfn(f)) ^ self.frames.rmap[Pfn(f)] ^ self.lru.lists.word(Pfn(f))
        };
        let seen = run.step_by(IN_A_LINE).fold(0, |seen, f| seen ^ words(f));
        std::hint::black_box(seen);
    }

    /// Number of isolated folios, counted from the last one, that [`Memory::migrate_plain`] takes;
    /// with an observer of moves one at a time, whose events come in order then.
    pub fn nr_plain_at_end(&self, folios: &[FolioId]) -> usize {
        let most = if self.telling.tracer.wants_any(OF_MIGRATION) { 1 } else { folios.len() };
        let plain = |&&f: &&FolioId| !self.given.slow_paths && is_plain(self.frames.bits(f));
        folios.iter().rev().take(most).take_while(plain).count()
    }

    /// Moves isolated plain folios, the last first, into as many frames, the last first: as that
    /// many calls of [`Memory::migrate`]. As many as the LRU batch has room for are freed together,
    /// and arrive together.
    pub fn migrate_plain(
        &mut self,
        lru: &mut dyn ReclaimPolicy,
        folios: &[FolioId],
        targets: &[Pfn],
    ) {
        debug_assert_eq!(folios.len(), targets.len(), "a target for each");
        self.count(VmEvent::PgMigrateSuccess, folios.len() as u64);
        let how = Arrival { kind: ArrivalKind::Migrated, in_fault: None, position: 0 };
        let mut left = folios.len();
        while left > 0 {
            let first = left.saturating_sub(self.lru.batches.room(self.acting.cpu));
            let (some, to) = (&folios[first..left], &targets[first..left]);
            self.remap_plain(some, to);
            self.acting.now += SimDuration(self.given.cost.t_migrate.0 * some.len() as u64);
            self.free_frames(some.iter().rev().copied());
            self.lru.batches.adding(self.acting.cpu).extend(to.iter().rev().map(|&f| (f, how)));
            self.lru_added(lru, some.len() as u64);
            left = first;
        }
    }

    /// Whatever says where plain folios are says their new frames, which are in the LRU batch.
    fn remap_plain(&mut self, folios: &[FolioId], targets: &[Pfn]) {
        let keeps = self.kept_of_entries();
        let (flags, rmap) = self.frames.flags_and_rmap_mut();
        let (hot, entries) = self.virt.pages.hot_and_entries_mut();
        for (folio, target) in folios.iter().map(|f| f.index()).zip(targets) {
            let (bits, page) = (flags[folio], rmap[folio]);
            debug_assert!(is_plain(bits) && bits & flag::ISOLATED != 0, "pfn{folio}: {bits:#x}");
            let pte = &mut hot[page as usize];
            let dirty = if *pte & pte::DIRTY != 0 { flag::DIRTY } else { 0 };
            *pte &= keeps | pte::TOUCHED;
            entries[page as usize] = target.0;
            rmap[target.index()] = page;
            flags[target.index()] = bits & !LEFT | dirty | flag::IN_BATCH;
        }
        if self.frames.has_memcgs() {
            for (&folio, &target) in folios.iter().zip(targets) {
                self.frames.set_memcg(target, self.frames.memcg(folio));
            }
        }
        if self.telling.tracer.wants(TraceKind::SimMigrate) {
            for (&folio, &target) in folios.iter().zip(targets).rev() {
                let page = Some(PageIdx(self.frames.rmap[target]));
                self.emit(|| TraceEvent::SimMigrate { pfn: folio, target, page });
            }
        }
    }

    /// Moves an isolated folio of one page to a free frame of a node, if there is one above the min
    /// watermark without reclaim. False: it is still where it was, and isolated.
    pub(crate) fn migrate_to_node(
        &mut self,
        lru: &mut dyn ReclaimPolicy,
        folio: FolioId,
        node: NodeId,
    ) -> bool {
        if self.frames.order(folio) > 0 || !self.can_migrate(folio) {
            return false;
        }
        let Some(target) = self.try_alloc(node, &AllocRequest::USER, Some(Mark::Min)) else {
            return false;
        };
        let elsewhere = self.node_of(target) != node;
        if elsewhere {
            self.free_frame(target);
            return false;
        }
        self.frames.store(target, 0);
        self.migrate(lru, folio, target).is_ok()
    }

    /// Bits of an entry that outlast a move of its page.
    fn kept_of_entries(&self) -> u8 {
        if self.given.rules.migration_keeps_bits { u8::MAX } else { !(pte::YOUNG | pte::DIRTY) }
    }

    /// Entries of page tables and of the page cache say the new frame.
    fn remap(&mut self, folio: FolioId, target: Pfn) {
        let file = self.file_page_of(folio);
        let keeps = self.kept_of_entries();
        let maps = self.virt.rmap.of(&self.frames, folio);
        for i in 0..self.virt.rmap.count(&self.frames, folio) {
            let page = self.virt.rmap.nth(maps, i).expect("below their number");
            let hot = self.virt.pages.hot(page);
            if hot & pte::DIRTY != 0 {
                self.dirty_folio(folio, file);
            }
            self.virt.pages.set_frame(page, target, hot & keeps);
        }
        if let Some(page) = file {
            self.virt.pages.set_frame(page, target, self.virt.pages.hot(page));
        }
    }

    /// Flags, reverse map, group and swap slot go to the new frame; the old one has none.
    fn move_identity(&mut self, folio: FolioId, target: Pfn) {
        let bits = self.frames.bits(folio);
        let slot = (bits & flag::SWAPCACHE != 0).then(|| self.frames.slot(folio));
        self.frames.clear(folio, flag::SWAPCACHE);
        if let Some(slot) = slot {
            let swap = self.swap.as_mut().expect("a slot is of a device");
            swap.set(slot, Cached::Folio(target));
            self.frames.set_slot(target, slot);
        }
        if bits & flag::MLOCKED != 0
            && let Some(n) = self.lru.mlock_counts.remove(&folio)
        {
            self.lru.mlock_counts.insert(target, n);
        }
        if let Some(locked) = self.lru.kept.remove(&folio) {
            self.lru.kept.insert(target, locked);
        }
        self.frames.rmap[target] = self.frames.rmap[folio];
        self.frames.set_memcg(target, self.frames.memcg(folio));
        self.frames.store(target, bits & !LEFT);
    }

    /// Takes the free block that begins at a frame out of the allocator, all of it. Returns its
    /// order; `None`: there is none, or the zone would fall below the mark. The frames are the
    /// caller's, who gives them back one by one by [`Memory::free_frame`].
    pub fn isolate_free_block(&mut self, z: ZoneId, pfn: Pfn, mark: Mark) -> Option<u8> {
        let order = self.zones[z].isolate_free_block(&mut self.frames, pfn, mark)?;
        self.frames.store(pfn, 0);
        self.acting.now += self.given.cost.t_isolate;
        Some(order)
    }

    /// Takes free blocks that begin in a run of frames and appends their frames, as long as one is
    /// as most are: as that many calls of [`Memory::isolate_free_block`].
    pub fn isolate_free_blocks(
        &mut self,
        z: ZoneId,
        run: Range<u32>,
        wanted: Wanted,
        out: &mut Vec<Pfn>,
    ) -> Taken {
        let taken = self.zones[z].isolate_free_blocks(&mut self.frames, run, wanted, out);
        self.acting.now += SimDuration(self.given.cost.t_isolate.0 * u64::from(taken.blocks));
        taken
    }

    /// Takes a block of this order that begins at a frame, if all of it is free, as if it had been
    /// allocated, except that it never counts as such in `pgalloc_*` (`compaction_capture`).
    pub fn capture_block(&mut self, z: ZoneId, pfn: Pfn, order: u8) -> bool {
        let taken = self.zones[z].take_at(&mut self.frames, pfn, order);
        if taken {
            self.set_up_block(z, pfn, order);
        }
        taken
    }

    /// Lets a free list begin with one of its blocks.
    pub fn rotate_free_list(&mut self, z: ZoneId, order: u8, mt: Migratetype, first: Pfn) {
        self.zones[z].rotate_list(&mut self.frames, order, mt, first);
    }

    /// Gives the pages of the acting CPU's list in a zone back (`drain_local_pages`).
    pub fn drain_local_pages(&mut self, z: ZoneId) {
        self.zones[z].drain(&mut self.frames, self.acting.cpu, u32::MAX, 0);
    }

    /// The same, but for the first block that is `wanted`: it is set up as if allocated.
    pub fn drain_local_pages_capturing(&mut self, z: ZoneId, wanted: Capture) -> Option<Pfn> {
        let block = self.zones[z].drain_capturing(&mut self.frames, self.acting.cpu, wanted)?;
        self.set_up_block(z, block, wanted.order);
        Some(block)
    }

    /// Counts and charges `n` frames that compaction looked at for pages to move, or for places
    /// to move them to.
    pub fn charge_compaction_scan(&mut self, for_targets: bool, n: u64) {
        let (event, cost) = if for_targets {
            (VmEvent::CompactFreeScanned, self.given.cost.t_cmp_free_scan)
        } else {
            (VmEvent::CompactMigrateScanned, self.given.cost.t_cmp_migrate_scan)
        };
        self.count(event, n);
        self.acting.now += SimDuration(cost.0 * n);
    }
}
