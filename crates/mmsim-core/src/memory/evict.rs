//! Eviction: the only way for a folio to leave memory while a process may still want it.
//!
//! In two doors with the policy's shadow between them:
//! [`Memory::prepare_evict`] gives an anonymous folio a slot, unmaps, and writes what is
//! dirty; if the folio is clean and free of users then, [`Memory::finish_evict`] takes it
//! out of its cache, leaves the shadow, and frees the frame. [`Memory::evict`] is both for
//! a policy that needs nothing in between.
//!
//! Source: Linux 6.12 mm/vmscan.c (`shrink_folio_list`, `pageout`, `__remove_mapping`).

use super::{MemcgEvent, Memory};
use crate::backing::Shadow;
use crate::backing::device::{Io, Writer};
use crate::backing::swap::Cached;
use crate::base::id::PageIdx;
use crate::base::vmstat::VmEvent;
use crate::memory::trace::{ScanOutcome, TraceEvent};
use crate::phys::frames::{FolioId, FrameKind, Mapped, flag};
use crate::policy::request::{ReclaimRequest, Reclaimer};
use crate::virt::pages::{Entry, pte};

/// Limits of an eviction.
#[derive(Clone, Copy, Debug)]
pub struct Evicting {
    /// Who evicts: what is evicted counts as its steal.
    pub by: Reclaimer,
    /// Dirty folios may be written.
    pub may_writepage: bool,
    /// Dirty file folios may be written too (kswapd, marked, node dirty).
    pub may_write_file: bool,
    /// Only a clean folio is wanted (`FOLIOREF_RECLAIM_CLEAN`).
    pub clean_only: bool,
}

impl Evicting {
    /// As far as a request goes.
    pub fn of(req: &ReclaimRequest) -> Self {
        let (by, may_writepage) = (req.by, req.may_writepage);
        Evicting { by, may_writepage, may_write_file: false, clean_only: false }
    }
}

/// Result of preparing an eviction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prepared {
    /// Clean and unused: call [`Memory::finish_evict`]. `wrote`: it was written just now.
    Ready {
        /// Written by this attempt, synchronously.
        wrote: bool,
    },
    /// Stays on the inactive list. `wrote`: a write was started.
    Keep {
        /// Why.
        why: ScanOutcome,
        /// A write was started.
        wrote: bool,
    },
    /// Lazily freed memory that was not written since: it is gone already, and leaves nothing.
    Dropped,
    /// Goes to the active list for the reason given.
    Activate {
        /// Why.
        why: ScanOutcome,
    },
}

/// End of an attempt to write a folio.
pub(super) enum Pageout {
    /// It is clean.
    Clean,
    /// A device writes it.
    UnderWrite,
    /// The device had no room for it: it is dirty as before.
    Failed,
    /// It may not be written: it is dirty as before, and goes to the active list.
    Kept,
}

impl Memory {
    /// Evicts an isolated folio if nothing stands against it: both doors in one, for a
    /// policy that has asked for references already. On an error the folio is still the
    /// caller's, who puts it back on some list; `Err(KeepWriteback)` means that its write
    /// has begun and a later attempt will find it clean.
    pub fn evict(
        &mut self,
        folio: FolioId,
        how: Evicting,
        shadow: Option<Shadow>,
    ) -> Result<(), ScanOutcome> {
        if self.frames.has(folio, flag::LOCKED) {
            return Err(ScanOutcome::KeepBusy);
        }
        if self.frames.has(folio, flag::WRITEBACK) {
            self.frames.set(folio, flag::RECLAIM);
            return Err(ScanOutcome::KeepWriteback);
        }
        match self.prepare_evict(folio, how) {
            Prepared::Ready { wrote } => {
                self.finish_evict(folio, how.by, shadow, wrote);
                Ok(())
            }
            Prepared::Dropped => Ok(()),
            Prepared::Keep { why, .. } | Prepared::Activate { why } => Err(why),
        }
    }

    /// Gets an isolated folio ready to be freed.
    #[inline]
    pub fn prepare_evict(&mut self, folio: FolioId, how: Evicting) -> Prepared {
        let anon = self.frames.kind(folio) == FrameKind::Anon;
        if anon && !self.frames.has(folio, flag::SWAPBACKED) {
            return self.drop_lazyfree(folio, how.by);
        }
        if anon && !self.frames.has(folio, flag::SWAPCACHE) && !self.add_to_swap(folio) {
            return Prepared::Activate { why: ScanOutcome::ActivateNoSwap };
        }
        if self.frames.mapped(folio) != Mapped::No && !self.try_to_unmap(folio, how.by) {
            return Prepared::Activate { why: ScanOutcome::Unevictable };
        }
        // A batch holds a reference, which shows when the folio is unmapped already.
        let pinned = self.frames.has(folio, flag::IN_BATCH);
        let mut wrote = false;
        if self.frames.has(folio, flag::DIRTY) {
            let shmem = !anon && self.frames.kind(folio) == FrameKind::Shmem;
            if !anon && !shmem && !how.may_write_file {
                self.count(VmEvent::NrVmscanImmediateReclaim, 1);
                self.frames.set(folio, flag::RECLAIM);
                return Prepared::Activate { why: ScanOutcome::ActivateDirty };
            }
            if how.clean_only || !how.may_writepage || pinned {
                return Prepared::Keep { why: ScanOutcome::KeepBusy, wrote: false };
            }
            if shmem && !self.shmem_to_swap(folio) {
                return Prepared::Activate { why: ScanOutcome::ActivateNoSwap };
            }
            match self.pageout(folio) {
                Pageout::Clean => wrote = true,
                Pageout::UnderWrite => {
                    return Prepared::Keep { why: ScanOutcome::KeepWriteback, wrote: true };
                }
                Pageout::Kept => return Prepared::Activate { why: ScanOutcome::ActivateDirty },
                Pageout::Failed => {
                    return Prepared::Keep { why: ScanOutcome::KeepBusy, wrote: true };
                }
            }
        } else if pinned {
            return Prepared::Keep { why: ScanOutcome::KeepBusy, wrote: false };
        }
        Prepared::Ready { wrote }
    }

    /// Gives an anonymous folio a slot and puts it into the swap cache, dirty.
    #[inline]
    pub(super) fn add_to_swap(&mut self, folio: FolioId) -> bool {
        let memcg = self.frames.memcg(folio);
        if self.memcgs.swap_full(memcg).is_some() {
            self.memcgs.event(memcg, MemcgEvent::SwapMax, 1);
            self.memcgs.event(memcg, MemcgEvent::SwapFail, 1);
            return false;
        }
        let Some(swap) = &mut self.swap else { return false };
        let Some(slot) = swap.alloc(self.acting.cpu) else {
            self.memcgs.event(memcg, MemcgEvent::SwapFail, 1);
            return false;
        };
        swap.set(slot, Cached::Folio(folio));
        self.memcgs.charge_slot(slot, memcg);
        self.frames.set_slot(folio, slot);
        self.frames.set(folio, flag::SWAPCACHE | flag::DIRTY);
        true
    }

    /// Removes all mappings (`try_to_unmap`): anonymous pages become swap entries.
    #[inline]
    fn try_to_unmap(&mut self, folio: FolioId, by: Reclaimer) -> bool {
        let anon = self.frames.kind(folio) == FrameKind::Anon;
        while let Some(p) = self.virt.rmap.nth(self.virt.rmap.of(&self.frames, folio), 0) {
            if self.maps_locked(p) {
                return false;
            }
            self.acting.now += self.given.cost.t_unmap;
            if anon {
                let slot = self.frames.slot(folio);
                if self.knows_contents() {
                    self.note_content(slot, p);
                }
                // A page that only this process maps may come back writable.
                let bits =
                    if self.frames.mapped(folio) == Mapped::Once { pte::EXCLUSIVE } else { 0 };
                self.swap.as_mut().expect("the folio has a slot").get(slot);
                let space = self.unmap_pte(p, folio, Entry::Swap(slot), bits);
                let s = &mut self.virt.spaces[space];
                s.swapents += 1;
                s.counted.evicted_anon += 1;
                self.note_page_of_slot(slot, p);
                if bits == 0 {
                    // Others map it still: its frame goes with the last.
                    self.tell_of_evictions(std::iter::once((folio, p)), by, false, false);
                }
            } else {
                let file = self.frames.kind(folio) == FrameKind::File;
                let space = self.unmap_pte(p, folio, Entry::None, 0);
                let counted = &mut self.virt.spaces[space].counted;
                counted.evicted_file += u64::from(file);
                counted.evicted_anon += u64::from(!file);
            }
        }
        true
    }

    /// True if a page belongs to a mapping that is locked into memory.
    #[inline]
    pub(super) fn maps_locked(&self, p: PageIdx) -> bool {
        !self.virt.pages.group(p.group()).plain
            && self.virt.spaces.vma(self.virt.spaces.vma_of(&self.virt.pages, p)).locks(p)
    }

    /// Writes a dirty folio.
    fn pageout(&mut self, folio: FolioId) -> Pageout {
        if self.knows_contents()
            && self.frames.kind(folio) == FrameKind::Anon
            && let Some(end) = self.swap_writeout(folio)
        {
            return end;
        }
        self.frames.clear(folio, flag::DIRTY);
        self.count(VmEvent::NrVmscanWrite, 1);
        let file = self.frames.kind(folio) != FrameKind::Anon;
        self.emit(|| TraceEvent::MmVmscanWriteFolio { pfn: folio, file });
        if self.frames.kind(folio) == FrameKind::Anon {
            let memcg = self.frames.memcg(folio);
            self.count_in(memcg, VmEvent::PswpOut, 1);
            self.tell_of_swap_out(self.frames.slot(folio));
            self.acting.now += self.given.cost.t_swap_submit;
            let slot = self.frames.slot(folio);
            let swap = self.swap.as_mut().expect("the folio has a slot");
            let device = swap.device_of(slot);
            if device.config().synchronous {
                self.acting.now += device.sync_cost(Io::Write, 1);
                self.count_swap_requests(Io::Write, 1);
                if self.write_synchronously(slot) {
                    return Pageout::Clean;
                }
                self.frames.set(folio, flag::DIRTY);
                return Pageout::Failed;
            }
            self.write_to_swap(slot, folio);
        } else {
            self.cache.files.cleaned(self.disk_of_folio(folio), self.frames.memcg(folio));
            if self.start_file_write(&[folio], Writer::Other) {
                return Pageout::Clean;
            }
        }
        self.frames.set(folio, flag::WRITEBACK | flag::RECLAIM);
        Pageout::UnderWrite
    }

    /// Frees a folio that [`Memory::prepare_evict`] found ready, leaving `shadow`.
    ///
    /// # Panics
    /// If the folio is still mapped, dirty or under write.
    #[inline]
    pub fn finish_evict(
        &mut self,
        folio: FolioId,
        by: Reclaimer,
        shadow: Option<Shadow>,
        wrote: bool,
    ) {
        assert!(
            self.frames.mapped(folio) == Mapped::No
                && !self.frames.has(folio, flag::DIRTY | flag::WRITEBACK | flag::LRU),
            "{folio} evicted while in use: {:#x}",
            self.frames.bits(folio)
        );
        let file = self.frames.kind(folio) == FrameKind::File;
        let (page, slot) = if self.frames.kind(folio) == FrameKind::Anon {
            let slot = self.frames.slot(folio);
            self.frames.clear(folio, flag::SWAPCACHE);
            let swap = self.swap.as_mut().expect("the folio has a slot");
            // Since 5.9 a slot without references has no shadow to keep.
            let orphan = swap.count(slot) == 0;
            swap.uncache(slot, shadow, self.acting.cpu);
            if orphan {
                self.slot_freed(slot);
            }
            if !wrote {
                self.count(VmEvent::SimEvictClean, 1);
            }
            (self.page_of_slot(slot), Some(slot))
        } else if !file {
            // A page that was read and never written holds zeroes: reclaim drops it and writes nothing.
            (Some(self.shmem_dropped(folio)), None)
        } else {
            let page = PageIdx(self.frames.rmap[folio]);
            self.uncache_file_page(folio, shadow);
            (Some(page), None)
        };
        let eviction = self.name_eviction(page);
        self.emit(|| TraceEvent::SimEvict {
            eviction,
            pfn: folio,
            page,
            file,
            slot,
            written: wrote,
        });
        if let Some(page) = page {
            self.tell_of_evictions(std::iter::once((folio, page)), by, file, false);
        }
        self.acting.now += self.given.cost.t_evict;
        let memcg = self.frames.memcg(folio);
        self.count_steal(by, memcg, file, 1);
        self.memcgs.uncharge(memcg, 1);
        self.free_frame(folio);
    }
}
