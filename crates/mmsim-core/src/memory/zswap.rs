//! zswap: what becomes of a page between its slot and the swap device.
//!
//! A page gets a slot first and keeps it while zswap has its copy, so swap space bounds zswap. A
//! page of zeros goes nowhere: the slot is marked (`swap-zeromap`). What zswap refuses goes to the
//! device at once. A page that is read back leaves the pool, and is dirty.
//!
//! Sources: Linux 6.12 mm/page_io.c (`swap_writepage`, `swap_read_folio`), mm/zswap.c
//! (`zswap_store`, `zswap_load`, `zswap_invalidate`); 6.18 and 7.3 likewise. Left out: a slot that
//! no PTE names any more is not written; its page is freed in this pass, not in the next.

use super::Memory;
use super::evict::Pageout;
use crate::backing::contents::Content;
use crate::backing::swap::{Zswap, ZswapShrunk};
use crate::base::id::{MemcgId, Pfn, SwapSlot};
use crate::base::rules::ZswapIncompressible;
use crate::base::vmstat::VmEvent;
use crate::memory::trace::{TraceEvent, TraceKind, ZswapStep};
use crate::phys::frames::{FolioId, flag};

/// Where a page was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loaded {
    /// From nowhere: it holds zeros.
    Zeros,
    /// From zswap, which holds it no more.
    Zswap,
    /// It is on the device.
    OnDevice,
}

impl Memory {
    /// zswap, if it was ever enabled.
    pub(crate) fn zswap(&self) -> Option<&Zswap> {
        self.swap.as_ref()?.pools.as_ref()?.zswap.as_ref()
    }

    pub(super) fn zswap_mut(&mut self) -> Option<&mut Zswap> {
        self.swap.as_mut()?.pools.as_mut()?.zswap.as_mut()
    }

    /// Contents of the page of a slot, if they are known.
    pub(super) fn content_of(&self, slot: SwapSlot) -> Content {
        let pools = self.swap.as_ref().and_then(|s| s.pools.as_ref());
        pools.map_or(Content::bytes(Content::MOST), |pools| pools.content(slot))
    }

    /// The way of a dirty folio to its swap device. `None`: it has to be written there.
    #[inline(never)]
    pub(super) fn swap_writeout(&mut self, folio: FolioId) -> Option<Pageout> {
        let (slot, memcg) = (self.frames.slot(folio), self.frames.memcg(folio));
        if self.swap.as_ref().is_some_and(|s| s.count(slot) == 0) {
            self.swapped_without_device(folio);
            return Some(Pageout::Clean);
        }
        if self.swaps_without_device(slot, memcg, folio) {
            self.swapped_without_device(folio);
            return Some(Pageout::Clean);
        }
        let kept =
            self.zswap().is_some_and(|z| z.config.enabled) && !self.zswap_may_write_back(memcg);
        kept.then_some(Pageout::Kept)
    }

    /// Marks the slot of a page of zeros, or stores its page in zswap. False: it has to go to the
    /// device.
    #[inline]
    pub(super) fn swaps_without_device(
        &mut self,
        slot: SwapSlot,
        memcg: MemcgId,
        folio: FolioId,
    ) -> bool {
        if self.is_zero(slot) {
            self.acting.now += self.given.cost.t_copy_page;
            self.count_in(memcg, VmEvent::SwpoutZero, 1);
            self.tell_of_zswap(slot, ZswapStep::MarkedZero);
            return true;
        }
        self.zswap_store(slot, memcg, folio)
    }

    /// True if the slot is marked as one of a page of zeros (`swap_zeromap_folio_set`).
    pub(super) fn is_zero(&self, slot: SwapSlot) -> bool {
        self.given.rules.swap_zeromap && self.content_of(slot) == Content::ZERO
    }

    /// A folio is clean, without a write to the device.
    fn swapped_without_device(&mut self, folio: FolioId) {
        self.frames.clear(folio, flag::DIRTY);
        self.count(VmEvent::NrVmscanWrite, 1);
        self.emit(|| TraceEvent::MmVmscanWriteFolio { pfn: folio, file: false });
        self.tell_of_swap_out(self.frames.slot(folio));
    }

    /// Stores a folio in zswap. False: it has to go to the device, and no older copy of it is left.
    fn zswap_store(&mut self, slot: SwapSlot, memcg: MemcgId, folio: FolioId) -> bool {
        let Some(zswap) = self.zswap() else { return false };
        if zswap.config.enabled {
            let what = self.zswap_compress(slot, memcg, folio);
            self.tell_of_zswap(slot, what);
            if what == ZswapStep::Stored {
                self.count_in(memcg, VmEvent::ZswpOut, 1);
                return true;
            }
            if self.zswap().is_some_and(|z| z.full) {
                self.queue_zswap_worker();
            }
        }
        self.zswap_invalidate(slot);
        false
    }

    /// True if entries of a group may be written to the swap device.
    pub(super) fn zswap_may_write_back(&self, memcg: MemcgId) -> bool {
        self.memcgs.zswap_writes_back(memcg)
    }

    /// True if the group's limits let one of its pages in. At a limit it first has to give entries
    /// up, and any that it gives up is enough.
    fn zswap_allowed(&mut self, memcg: MemcgId) -> bool {
        self.memcgs.may_zswap(memcg) || self.zswap_shrink(memcg, None) == ZswapShrunk::Written
    }

    /// True if zswap keeps pages of a group that do not compress.
    pub(super) fn zswap_keeps_raw(&self, memcg: MemcgId) -> bool {
        self.given.rules.zswap_incompressible == ZswapIncompressible::Raw
            && self.zswap_may_write_back(memcg)
    }

    /// Compresses a folio into the pool, if its limits allow it.
    fn zswap_compress(&mut self, slot: SwapSlot, memcg: MemcgId, folio: FolioId) -> ZswapStep {
        if !self.zswap_allowed(memcg) {
            return ZswapStep::GroupLimit;
        }
        let Some(zswap) = self.zswap_mut() else { return ZswapStep::PoolLimit };
        let (full, hit) = zswap.check_limits();
        let compress = zswap.config.compress;
        self.count(VmEvent::SimZswapPoolLimitHit, hit.into());
        if full {
            return ZswapStep::PoolLimit;
        }
        self.acting.now += compress;
        let content = self.content_of(slot);
        let length = content.length().max(1);
        if length == Content::MOST && !self.zswap_keeps_raw(memcg) {
            self.count(VmEvent::SimZswapRejectCompressFail, 1);
            return ZswapStep::Incompressible;
        }
        let node = self.node_of(folio);
        let wanted = self.zswap().map_or(0, |z| z.store.wants(length));
        let Some((frames, nr)) = self.take_zspage(node, wanted) else {
            self.count(VmEvent::SimZswapRejectAllocFail, 1);
            return ZswapStep::NoFrame;
        };
        // The new object is made before the old one goes, so that both take memory for a moment.
        let Some(zswap) = self.zswap_mut() else { return ZswapStep::PoolLimit };
        let replaced = zswap.insert(slot, length, &frames[..nr], (memcg, node));
        if let Some((bytes, owner)) = replaced {
            self.memcgs.uncharge_zswap(self.acting.cpu, owner, bytes.into());
        }
        self.memcgs.charge_zswap(self.acting.cpu, memcg, length.into());
        self.free_gone();
        ZswapStep::Stored
    }

    /// Tells an observer of the page of a slot.
    #[inline]
    pub(super) fn tell_of_zswap(&mut self, slot: SwapSlot, what: ZswapStep) {
        if self.telling.tracer.wants(TraceKind::SimZswap) {
            let (page, bytes) = (self.page_of_slot(slot), self.content_of(slot).length().into());
            self.emit(|| TraceEvent::SimZswap { page, slot, what, bytes });
        }
    }

    /// True if the page of a slot needs no device: it holds zeros, or zswap has it.
    pub(crate) fn needs_no_device(&self, slot: SwapSlot) -> bool {
        self.knows_contents()
            && (self.is_zero(slot) || self.zswap().is_some_and(|z| z.store.length_of(slot) > 0))
    }

    /// The copy of a slot is not wanted any more (`zswap_invalidate`).
    pub(super) fn zswap_invalidate(&mut self, slot: SwapSlot) {
        if self.take_entry(slot).is_some()
            && let Some(zswap) = self.zswap_mut()
        {
            zswap.invalidated += 1;
        }
    }

    /// Takes the entry of a slot out of zswap, if there is one: its group.
    pub(super) fn take_entry(&mut self, slot: SwapSlot) -> Option<MemcgId> {
        let (bytes, memcg) = self.zswap_mut()?.remove(slot)?;
        self.memcgs.uncharge_zswap(self.acting.cpu, memcg, bytes.into());
        self.free_gone();
        Some(memcg)
    }

    /// Frames that the pool gave up go back to the allocator.
    fn free_gone(&mut self) {
        let Some(zswap) = self.zswap_mut() else { return };
        if !zswap.store.gone.is_empty() {
            let gone = std::mem::take(&mut zswap.store.gone);
            self.free_zspages(gone);
        }
    }

    /// Reads the page of a slot with one user, which a synchronous device or no device has. Whether the
    /// device had it.
    #[inline]
    pub(crate) fn read_swapped(&mut self, slot: SwapSlot, pfn: Pfn) -> bool {
        if self.knows_contents() {
            let memcg = self.frames.memcg(pfn);
            if self.load_compressed(slot, memcg) != Loaded::OnDevice {
                return false;
            }
            self.note_disk_swapin(memcg, pfn);
        }
        let device = self.swap.as_mut().expect("a slot is of a device").device_of_mut(slot);
        self.acting.now += device.read_sync(1);
        true
    }

    /// A page is read from a device: perhaps it was written back too early.
    fn note_disk_swapin(&mut self, memcg: MemcgId, pfn: Pfn) {
        let node = self.node_of(pfn);
        if let Some(zswap) = self.zswap_mut() {
            zswap.list_of(memcg, node).swapins += 1;
        }
    }

    /// Reads the pages of slots that came to the swap cache, as far as no device has them. Returns
    /// the others; `None`: all of them.
    #[inline]
    pub(crate) fn left_to_device(
        &mut self,
        read: &[(SwapSlot, Pfn)],
    ) -> Option<Vec<(SwapSlot, Pfn)>> {
        self.knows_contents().then(|| self.load_all(read))
    }

    fn load_all(&mut self, read: &[(SwapSlot, Pfn)]) -> Vec<(SwapSlot, Pfn)> {
        let mut left = Vec::new();
        for &(slot, pfn) in read {
            let memcg = self.frames.memcg(pfn);
            match self.load_compressed(slot, memcg) {
                Loaded::OnDevice => {
                    self.note_disk_swapin(memcg, pfn);
                    left.push((slot, pfn));
                }
                from => {
                    self.frames.clear(pfn, flag::LOCKED);
                    // The contents of an entry exist nowhere else now.
                    let dirty = if from == Loaded::Zswap { flag::DIRTY } else { 0 };
                    self.frames.set(pfn, dirty);
                }
            }
        }
        left
    }

    /// Reads the page of a slot if no device has it (`swap_read_folio`).
    #[inline(never)]
    fn load_compressed(&mut self, slot: SwapSlot, memcg: MemcgId) -> Loaded {
        if self.is_zero(slot) {
            self.acting.now += self.given.cost.t_copy_page;
            self.count_in(memcg, VmEvent::SwpinZero, 1);
            self.tell_of_zswap(slot, ZswapStep::ZeroFilled);
            return Loaded::Zeros;
        }
        let Some(zswap) = self.zswap_mut() else { return Loaded::OnDevice };
        let decompress = zswap.config.decompress;
        let Some(owner) = self.take_entry(slot) else { return Loaded::OnDevice };
        self.acting.now += decompress;
        self.count_in(owner, VmEvent::ZswpIn, 1);
        self.tell_of_zswap(slot, ZswapStep::Loaded);
        Loaded::Zswap
    }
}
