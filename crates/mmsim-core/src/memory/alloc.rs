//! Allocating and freeing: the zones in turn, and the accounting of what they gave.
//!
//! Nearly every request is for one page and is served by the acting CPU's list in the first zone;
//! that is tried inline. Everything else goes over the list of zones as the kernel does: first
//! without mixing migratetypes where that is worth trying.
//!
//! Source: Linux 6.12 mm/page_alloc.c (`get_page_from_freelist`, `rmqueue`, `prep_new_page`,
//! `unreserve_highatomic_pageblock`).

use super::Memory;
use crate::base::id::{NodeId, Pfn, ZoneId};
use crate::base::migratetype::Migratetype;
use crate::base::vmstat::VmEvent;
use crate::config::ZoneKind;
use crate::memory::trace::{TraceEvent, TraceKind};
use crate::phys::frames::{FrameKind, flag};
use crate::phys::gfp::{AllocFlags, AllocRequest, GfpFlags};
use crate::phys::watermarks::Mark;

/// The counters of requests of one type that another type's lists served: of all, and of those
/// whose pageblock changed its type.
const fn between(request: Migratetype, owner: Migratetype) -> (VmEvent, VmEvent) {
    use Migratetype::{Movable, Reclaimable, Unmovable};
    match (request, owner) {
        (Unmovable, Reclaimable) => (VmEvent::SimExtfragUR, VmEvent::SimClaimUR),
        (Unmovable, _) => (VmEvent::SimExtfragUM, VmEvent::SimClaimUM),
        (Reclaimable, Unmovable) => (VmEvent::SimExtfragRU, VmEvent::SimClaimRU),
        (Reclaimable, _) => (VmEvent::SimExtfragRM, VmEvent::SimClaimRM),
        (Movable, Reclaimable) => (VmEvent::SimExtfragMR, VmEvent::SimClaimMR),
        _ => (VmEvent::SimExtfragMU, VmEvent::SimClaimMU),
    }
}

/// The counter of pages that zones of a kind gave.
#[inline(always)]
const fn of_kind(kind: ZoneKind) -> VmEvent {
    match kind {
        ZoneKind::Dma => VmEvent::PgAllocDma,
        ZoneKind::Dma32 => VmEvent::PgAllocDma32,
        ZoneKind::Normal => VmEvent::PgAllocNormal,
        ZoneKind::Movable => VmEvent::PgAllocMovable,
    }
}

impl Memory {
    /// Tries the zones of a node, then those of the other nodes, from the highest down,
    /// against a watermark; no reclaim. `None` for the mark: take what there is, as a
    /// reclaimer may.
    ///
    /// All frames of the block are [`FrameKind::Tail`] but the first, which is
    /// [`FrameKind::Fresh`] and knows the order.
    #[inline]
    pub fn try_alloc(
        &mut self,
        node: NodeId,
        req: &AllocRequest,
        mark: Option<Mark>,
    ) -> Option<Pfn> {
        if req.order == 0
            && !self.given.slow_paths
            && let Some(zone) = self.zones.asked(node, req.highest, mark)
            && mark.is_none_or(|m| zone.watermark_ok(m, req.highest))
            && let Some(pfn) = zone.take_from_pcp(self.acting.cpu, req.migratetype)
        {
            self.frames.reset(pfn, FrameKind::Fresh);
            self.stats.vmstat.add(of_kind(zone.kind), 1);
            let more = zone.give_one();
            self.zones.allocated += 1;
            if self.telling.tracer.wants(TraceKind::MmPageAlloc) {
                self.tell_of_alloc(pfn);
            }
            return if more { Some(pfn) } else { self.last_of_share(node, pfn) };
        }
        let flags = match mark {
            Some(Mark::Min) => self.slow_path_flags(req),
            Some(_) => self.fast_path_flags(req),
            None => AllocFlags::default(),
        };
        self.get_page_from_freelist(node, req, mark, flags)
    }

    #[cold]
    #[inline(never)]
    fn tell_of_alloc(&mut self, pfn: Pfn) {
        let zone = self.zones.of(pfn).0;
        self.emit(|| TraceEvent::MmPageAlloc { pfn, order: 0, zone });
    }

    /// A zone of the node gave the last page of its share.
    #[cold]
    #[inline(never)] // As the end of `try_alloc`, which needs no stack then.
    fn last_of_share(&mut self, node: NodeId, pfn: Pfn) -> Option<Pfn> {
        self.zones.pass_over(node);
        Some(pfn)
    }

    /// Memory that a request may use before it wakes kswapd.
    fn fast_path_flags(&self, req: &AllocRequest) -> AllocFlags {
        let highatomic = self.given.rules.highatomic_at_once && AllocFlags::of(req).highatomic;
        let nofragment = self.given.vm.defrag_mode && !req.flags.has(GfpFlags::BULK);
        AllocFlags { nofragment, highatomic, ..AllocFlags::default() }
    }

    /// Memory that a request may use from then on (`alloc_flags_slowpath`).
    pub(crate) fn slow_path_flags(&self, req: &AllocRequest) -> AllocFlags {
        AllocFlags { nofragment: self.given.vm.defrag_mode, ..AllocFlags::of(req) }
    }

    /// As [`Memory::try_alloc`], with the reserves that the caller may use.
    #[inline(never)]
    pub fn get_page_from_freelist(
        &mut self,
        node: NodeId,
        req: &AllocRequest,
        mark: Option<Mark>,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let this_node = req.flags.has(GfpFlags::THISNODE);
        if mark == Some(Mark::Low)
            && !flags.nofragment
            && !req.flags.has(GfpFlags::BULK)
            && self.zones.avoids_fragmentation(node, req.highest)
            && (this_node || !self.zones.is_busy(node))
        {
            let tidy = AllocFlags { nofragment: true, ..flags };
            // Going to another node is worse than mixing types here.
            if let Some(p) = self.alloc_on(node, req, mark, tidy) {
                return Some(p);
            }
        }
        if mark == Some(Mark::Low) && self.zones.fair() {
            let fair = AllocFlags { fair: true, ..flags };
            if let Some(p) = self.alloc_on(node, req, mark, fair) {
                return Some(p);
            }
            let given = |&z: &ZoneId| self.zones[z].share_is_given();
            if self.zones.of_node(node).iter().any(given) {
                self.zones.reset_shares(node, req.highest);
            }
        }
        let all = self.zones.nr_nodes();
        let nodes = if this_node { 1 } else { all };
        let mut busy = false;
        let idle_first = (0..nodes).find_map(|k| {
            let n = NodeId(((usize::from(node.0) + k) % all) as u8);
            let skipped = self.zones.is_busy(n);
            busy |= skipped;
            if skipped { None } else { self.alloc_on(n, req, mark, flags) }
        });
        if idle_first.is_some() || !busy {
            return idle_first;
        }
        // Every idle node was tried in vain: the busy ones are better than none.
        (0..nodes).find_map(|k| {
            let n = NodeId(((usize::from(node.0) + k) % all) as u8);
            self.alloc_on(n, req, mark, flags)
        })
    }

    /// Tries the zones of one node.
    fn alloc_on(
        &mut self,
        node: NodeId,
        req: &AllocRequest,
        mark: Option<Mark>,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        for i in (0..self.zones.of_node(node).len()).rev() {
            let z = self.zones.of_node(node)[i];
            let zone = &mut self.zones[z];
            if zone.kind > req.highest || flags.fair && zone.share_is_given() {
                continue;
            }
            if !mark.is_none_or(|m| zone.allows(req.order, m, req.highest, flags)) {
                continue;
            }
            let got =
                zone.take(&mut self.frames, self.acting.cpu, req.order, req.migratetype, flags);
            self.note_fallbacks(z, req);
            if let Some(pfn) = got {
                self.allocated(z, pfn, req.order);
                return Some(pfn);
            }
        }
        None
    }

    /// Counts pages that a zone gave.
    #[inline(always)]
    pub(super) fn count_allocated(&mut self, z: ZoneId, pages: u64) {
        self.zones.allocated += pages;
        self.stats.vmstat.add(of_kind(self.zones[z].kind), pages);
        self.zones.gave(z, pages);
    }

    /// Accounts for a block that a zone gave.
    #[inline(always)]
    fn allocated(&mut self, z: ZoneId, pfn: Pfn, order: u8) {
        self.count_allocated(z, 1 << order);
        self.set_up_block(z, pfn, order);
    }

    /// Makes the frames of a block that a zone gave those of an allocated one.
    #[inline(always)]
    pub(super) fn set_up_block(&mut self, z: ZoneId, pfn: Pfn, order: u8) {
        if self.is_on_host() {
            self.touch_host(pfn, order);
        }
        if order == 0 {
            self.frames.reset(pfn, FrameKind::Fresh);
        } else {
            for p in pfn.0 + 1..pfn.0 + (1 << order) {
                self.frames.reset(Pfn(p), FrameKind::Tail);
            }
            self.frames.reset_block(pfn, FrameKind::Fresh, order, Migratetype::Unmovable);
        }
        self.emit(|| TraceEvent::MmPageAlloc { pfn, order, zone: z.0 });
    }

    /// Counts and reports what a zone took from other migratetypes.
    fn note_fallbacks(&mut self, z: ZoneId, req: &AllocRequest) {
        let zone = &mut self.zones[z];
        if zone.take_boosted() && req.flags.has(GfpFlags::KSWAPD_RECLAIM) {
            self.acting.boosted = Some((zone.node, zone.kind));
        }
        for e in zone.take_extfrag() {
            let unmovable = e.alloc_migratetype == Migratetype::Unmovable;
            self.stats.vmstat.add(VmEvent::SimExtfrag, 1);
            self.stats.vmstat.add(VmEvent::SimExtfragFragmenting, e.fragmenting.into());
            self.stats.vmstat.add(VmEvent::SimExtfragSevere, (e.fragmenting && unmovable).into());
            self.stats.vmstat.add(VmEvent::SimExtfragOwnership, e.change_ownership.into());
            let (served, claimed) = between(e.alloc_migratetype, e.fallback_migratetype);
            self.stats.vmstat.add(served, 1);
            self.stats.vmstat.add(claimed, e.change_ownership.into());
            self.emit(|| TraceEvent::MmPageAllocExtfrag(e));
        }
    }

    /// Gives a frame back to the allocator. Nothing may refer to it any more.
    #[inline]
    pub fn free_frame(&mut self, pfn: Pfn) {
        debug_assert!(
            !self.frames.has(pfn, flag::LRU | flag::SWAPCACHE | flag::IN_BATCH | flag::WRITEBACK),
            "{pfn} freed while in use: {:#x}",
            self.frames.bits(pfn)
        );
        debug_assert_eq!(self.frames.order(pfn), 0, "{pfn} is the first of a block");
        self.stats.vmstat.add(VmEvent::PgFree, 1);
        if self.zones.with(pfn).put_to_pcp(self.acting.cpu, pfn) {
            self.frames.reset(pfn, FrameKind::Pcp);
            if self.telling.tracer.wants(TraceKind::MmPageFree) {
                self.tell_of_free(pfn);
            }
        } else {
            self.free_slowly(pfn);
        }
    }

    /// The rest of [`Memory::free_frame`] where it takes more than to put the page on a list.
    #[inline(never)]
    fn free_slowly(&mut self, pfn: Pfn) {
        self.zones.with(pfn).put(&mut self.frames, self.acting.cpu, pfn, 0);
        self.tell_of_free(pfn);
    }

    #[inline(never)]
    fn tell_of_free(&mut self, pfn: Pfn) {
        self.emit(|| TraceEvent::MmPageFree { pfn, order: 0 });
    }

    /// Gives frames back to the allocator, one after the other.
    pub(crate) fn free_frames(&mut self, frames: impl ExactSizeIterator<Item = Pfn> + Clone) {
        let zone = if self.given.slow_paths { None } else { self.zones.of_all(frames.clone()) };
        let Some(zone) = zone else { return frames.for_each(|p| self.free_frame(p)) };
        self.stats.vmstat.add(VmEvent::PgFree, frames.len() as u64);
        self.zones[zone].put_many(&mut self.frames, self.acting.cpu, frames.clone());
        if self.telling.tracer.wants(TraceKind::MmPageFree) {
            frames.for_each(|p| self.tell_of_free(p));
        }
    }

    /// Gives a block back to the allocator. Nothing may refer to any of its frames.
    pub fn free_block(&mut self, pfn: Pfn, order: u8) {
        if order == 0 {
            return self.free_frame(pfn);
        }
        let z = self.zones.of(pfn);
        self.zones[z].put(&mut self.frames, self.acting.cpu, pfn, order);
        self.stats.vmstat.add(VmEvent::PgFree, 1 << order);
        self.emit(|| TraceEvent::MmPageFree { pfn, order });
    }

    /// Gives the pages of all per-CPU lists back (`drain_all_pages`).
    pub fn drain_pcp(&mut self) {
        for z in self.zones.ids() {
            self.zones[z].drain_pcp(&mut self.frames);
        }
    }

    /// Gives one pageblock kept for requests that cannot sleep back, in the first zone that
    /// has one; the last of a zone only if `force`d. Whether there was one.
    pub fn unreserve_highatomic(&mut self, node: NodeId, req: &AllocRequest, force: bool) -> bool {
        let nodes = self.zones.nr_nodes();
        for k in 0..nodes {
            let n = NodeId(((usize::from(node.0) + k) % nodes) as u8);
            for i in (0..self.zones.of_node(n).len()).rev() {
                let z = self.zones.of_node(n)[i];
                let zone = &mut self.zones[z];
                if zone.kind <= req.highest
                    && zone.unreserve_highatomic(&mut self.frames, req.migratetype, force)
                {
                    return true;
                }
            }
        }
        false
    }

    /// Puts all memory on the free lists and takes what the rest of the system holds for
    /// good, in every zone in proportion.
    pub(super) fn populate(&mut self, os_overhead: u64) {
        self.zones.populate(&mut self.frames);
        let total = self.zones.nr_free();
        for z in self.zones.ids() {
            let share = (os_overhead * self.zones[z].free).checked_div(total).unwrap_or(0);
            for p in self.zones[z].take_for_kernel(&mut self.frames, share as u32) {
                self.frames.reset(Pfn(p), FrameKind::Kernel);
            }
        }
    }
}
