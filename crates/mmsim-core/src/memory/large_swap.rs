//! Large folios that go to swap and come back in one piece.
//!
//! A folio of n pages that is mapped as a whole asks one device for n slots in a row, in a cluster of
//! its order. If it gets them, all of its PTEs become swap entries in ascending order, one request writes
//! it, each slot has the same shadow, and its block is free. Otherwise it is split, and its pages go one
//! by one.
//!
//! Source: Linux 6.12 mm/vmscan.c (`shrink_folio_list`), mm/swapfile.c (`folio_alloc_swap`), mm/rmap.c
//! (`try_to_unmap_one`). Left out, so that such folios are split and no fallback is counted: devices
//! with a queue, where a folio stays in the swap cache until it is written; zswap, and zram that looks
//! at contents, which take the pages of a folio one by one.

use super::{HUGE_ORDER, MemcgEvent, Memory, SizeEvent};
use crate::backing::Shadow;
use crate::backing::device::Io;
use crate::backing::swap::Swap;
use crate::base::id::{PageIdx, Pfn, SwapSlot};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::memory::trace::TraceEvent;
use crate::phys::frames::{FolioId, flag};
use crate::policy::request::Reclaimer;
use crate::virt::pages::pte;
use std::ops::Range;

/// Slots of which [`Swap::store`](crate::backing::swap::Swap::store) takes a mask of shadows.
const STORED: usize = 64;

impl Memory {
    /// Evicts an isolated large folio in one piece. `shadow` counts the eviction of a page, and says what
    /// it leaves. False: the folio is to be split.
    pub fn evict_whole(
        &mut self,
        head: FolioId,
        by: Reclaimer,
        shadow: &mut dyn FnMut(&mut Memory, FolioId) -> Option<Shadow>,
    ) -> bool {
        if !self.may_go_whole(head) {
            return false;
        }
        let order = self.frames.order(head);
        let Some(first) = self.slots_for_large(head) else {
            self.count_size(order, SizeEvent::SwpoutFallback, 1);
            if order == HUGE_ORDER {
                let memcg = self.frames.memcg(head);
                self.count_in(memcg, VmEvent::ThpSwpoutFallback, 1);
            }
            return false;
        };
        self.unmap_large(head, first);
        self.write_large(head, first);
        self.free_evicted(head, first, by, shadow);
        true
    }

    /// True if a folio is mapped as a whole, and the device takes it in one request that is done at once.
    fn may_go_whole(&self, head: FolioId) -> bool {
        let at_once = |s: &Swap| s.pools.is_none() && s.takes_large();
        let whole = self.pages_mapped(head) == self.frames.pages(head);
        let locked = |page| self.maps_locked(page);
        self.swap.as_ref().is_some_and(at_once)
            && whole
            && self.frames.has(head, flag::SWAPBACKED)
            && !self.span_of(head).map(PageIdx).any(locked)
    }

    /// Slots in a row for a large folio, which its group is charged for.
    fn slots_for_large(&mut self, head: FolioId) -> Option<SwapSlot> {
        let (memcg, order) = (self.frames.memcg(head), self.frames.order(head));
        if self.memcgs.swap_left(memcg) < 1 << order {
            self.memcgs.event(memcg, MemcgEvent::SwapMax, 1);
            self.memcgs.event(memcg, MemcgEvent::SwapFail, 1);
            return None;
        }
        let first = self.swap.as_mut()?.take_large(self.acting.cpu, order);
        match first {
            Some(first) => {
                let slots = first.0..first.0 + (1 << order);
                slots.for_each(|s| self.memcgs.charge_slot(SwapSlot(s), memcg));
            }
            None => self.memcgs.event(memcg, MemcgEvent::SwapFail, 1),
        }
        first
    }

    /// Makes swap entries of all PTEs of a folio.
    fn unmap_large(&mut self, head: FolioId, first: SwapSlot) {
        let span = self.span_of(head);
        let (page, n) = (PageIdx(span.start), span.len() as u64);
        let g = page.group();
        if self.virt.pages.group(g).huge {
            self.virt.pages.map_parts(g);
            self.count(VmEvent::ThpSplitPmd, 1);
        }
        self.acting.now += SimDuration(self.given.cost.t_unmap.0 * n);
        self.virt.rmap.remove(&mut self.frames, head, page, None);
        self.virt.pages.swap_out_parts(span.clone(), first);
        for (p, i) in span.zip(0..) {
            self.note_page_of_slot(SwapSlot(first.0 + i), PageIdx(p));
        }
        let space = self.space_of(page);
        self.virt.spaces.anon_mapped -= n;
        let space = &mut self.virt.spaces[space];
        space.rss_anon -= n;
        space.swapents += n;
        space.counted.evicted_anon += n;
    }

    /// Writes a folio by one request.
    fn write_large(&mut self, head: FolioId, first: SwapSlot) {
        let (order, n) = (self.frames.order(head), self.frames.pages(head));
        let memcg = self.frames.memcg(head);
        self.count(VmEvent::NrVmscanWrite, n);
        self.emit(|| TraceEvent::MmVmscanWriteFolio { pfn: head, file: false });
        self.count_in(memcg, VmEvent::PswpOut, n);
        self.count_size(order, SizeEvent::Swpout, 1);
        if order == HUGE_ORDER {
            self.count_in(memcg, VmEvent::ThpSwpout, 1);
        }
        let slots = (first.0..first.0 + n as u32).map(SwapSlot);
        slots.clone().for_each(|slot| self.tell_of_swap_out(slot));
        self.acting.now += self.given.cost.t_swap_submit;
        let device = self.swap.as_ref().expect("the folio has slots").device_of(first);
        self.acting.now += device.sync_cost(Io::Write, n as u32);
        self.count_swap_requests(Io::Write, 1);
        for slot in slots {
            assert!(self.write_synchronously(slot), "{slot}: a device without limits has no room");
        }
    }

    /// Reads slots in a row from a synchronous device into a folio, and frees them.
    pub(crate) fn read_large(&mut self, head: FolioId, first: SwapSlot) {
        let (order, n) = (self.frames.order(head), self.frames.pages(head) as u32);
        let swap = self.swap.as_mut().expect("the slots are of a device");
        self.acting.now += swap.device_of_mut(first).read_sync(n);
        for slot in (first.0..first.0 + n).map(SwapSlot) {
            self.swap.as_mut().expect("as above").put_last(slot, self.acting.cpu);
            self.slot_freed(slot);
        }
        // The fault counts one page.
        self.count_in(self.frames.memcg(head), VmEvent::PswpIn, u64::from(n) - 1);
        if self.given.rules.counts_large_swapin {
            self.count_size(order, SizeEvent::Swpin, 1);
        }
    }

    /// Maps a new folio in place of the swap entries of its pages, whose contents exist nowhere else.
    pub(crate) fn map_swapped_large(&mut self, pages: Range<u32>, head: FolioId) {
        let (first, n) = (PageIdx(pages.start), pages.len() as u64);
        self.virt.rmap.add(&mut self.frames, head, first, None);
        self.virt.pages.swap_in_parts(pages, head, pte::ACCESSED | pte::WRITABLE | pte::DIRTY);
        let space = self.space_of(first);
        self.virt.spaces.anon_mapped += n;
        let space = &mut self.virt.spaces[space];
        space.swapents -= n;
        space.rss_anon += n;
        self.count_size(self.frames.order(head), SizeEvent::NrAnon, 1);
    }

    /// Leaves the same shadow in all slots, and frees the block.
    fn free_evicted(
        &mut self,
        head: FolioId,
        first: SwapSlot,
        by: Reclaimer,
        shadow: &mut dyn FnMut(&mut Memory, FolioId) -> Option<Shadow>,
    ) {
        let (order, n) = (self.frames.order(head), self.frames.pages(head));
        // The age moves by each page, after the shadow was made.
        let left = shadow(self, head);
        for _ in 1..n {
            shadow(self, head);
        }
        let slots: Vec<u32> = (first.0..first.0 + n as u32).collect();
        let shadows = [left.unwrap_or(Shadow(0)); STORED];
        let leaves = if left.is_some() { u64::MAX } else { 0 };
        for some in slots.chunks(STORED) {
            let leaves = leaves & (u64::MAX >> (STORED - some.len()));
            self.swap.as_mut().expect("the folio has slots").store(some, &shadows, leaves);
        }
        for (&slot, i) in slots.iter().zip(0..) {
            let (slot, pfn) = (SwapSlot(slot), Pfn(head.0 + i));
            let page = self.page_of_slot(slot);
            let eviction = self.name_eviction(page);
            let slot = Some(slot);
            self.emit(|| TraceEvent::SimEvict {
                eviction,
                pfn,
                page,
                file: false,
                slot,
                written: true,
            });
            if let Some(page) = page {
                self.tell_of_evictions(std::iter::once((pfn, page)), by, false, false);
            }
        }
        self.acting.now += SimDuration(self.given.cost.t_evict.0 * n);
        let memcg = self.frames.memcg(head);
        self.count_steal(by, memcg, false, n);
        self.memcgs.uncharge(memcg, n);
        self.count_size(order, SizeEvent::NrAnon, -1);
        self.free_block(head, order);
    }
}
