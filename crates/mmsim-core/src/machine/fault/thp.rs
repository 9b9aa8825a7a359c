//! Faults that make a large folio of anonymous memory.
//!
//! A write to anonymous memory may take a block of several pages instead of one, if a size is allowed
//! to the mapping, which covers all of the block, and nothing is there yet. A huge page of 2 MiB is
//! tried where there is no page table; smaller sizes where the PTEs of the aligned pages around hold
//! nothing, the largest first. How much a size is worth is a matter of the mapping's advice and of
//! `transparent_hugepage/defrag`. For a huge page the near node is tried first and only compacted; if
//! the request may reclaim at all, it is made a second time with all nodes and with reclaim. What fails
//! falls back on the next size, and at last on a single page.
//!
//! Source: Linux 6.12 mm/huge_memory.c (`do_huge_pmd_anonymous_page`, `vma_thp_gfp_mask`),
//! mm/mempolicy.c (`alloc_pages_mpol`), mm/memory.c (`create_huge_pmd`, `alloc_anon_folio`). Left out:
//! the huge zero page (a read maps the small one, and installs the page table with which the chance is
//! gone); khugepaged; what kernels before 6.12 did differently. A thread that had to wait makes the
//! request anew that it waited in.
//!
//! A group that is full is reclaimed from for the whole block, if the request may reclaim at all
//! (mm/memcontrol.c, `try_charge_memcg`).

use crate::base::id::{MemcgId, PageIdx, ThreadId, VmaId};
use crate::base::migratetype::Migratetype;
use crate::base::vmstat::VmEvent;
use crate::config::{HUGE_ORDER, Orders, ThpDefrag, ZoneKind};
use crate::machine::Machine;
use crate::machine::fault::touch::{Outcome, Touch};
use crate::machine::reclaim::alloc::AllocOutcome;
use crate::memory::{SizeEvent, aligned};
use crate::phys::frames::{FrameKind, flag};
use crate::phys::gfp::{AllocRequest, GFP_TRANSHUGE_LIGHT, GfpFlags};
use crate::policy::{Arrival, ArrivalKind};
use crate::virt::pages::pte;
use crate::virt::space::VmaKind;

/// A group that cannot pay for a large folio.
pub(super) struct Unpaid;

/// Flags for the allocation of a large folio (`vma_thp_gfp_mask`).
fn gfp(defrag: ThpDefrag, advised: bool) -> GfpFlags {
    let light = GFP_TRANSHUGE_LIGHT;
    let (direct, kswapd) = (GfpFlags::DIRECT_RECLAIM, GfpFlags::KSWAPD_RECLAIM);
    match (defrag, advised) {
        (ThpDefrag::Always, false) => light.with(direct).with(GfpFlags::NORETRY),
        (ThpDefrag::Always | ThpDefrag::DeferMadvise | ThpDefrag::Madvise, true) => {
            light.with(direct)
        }
        (ThpDefrag::Defer, _) | (ThpDefrag::DeferMadvise, false) => light.with(kswapd),
        (ThpDefrag::Madvise, false) | (ThpDefrag::Never, _) => light,
    }
}

impl Machine {
    /// Orders of folios that a write to a page may take, as far as its mapping goes and they have not
    /// failed already.
    #[inline]
    fn orders_at(&self, tid: ThreadId, vma: VmaId) -> Orders {
        let v = self.mem.virt.spaces.vma(vma);
        let below = self.work.threads[tid].fault.map_or(HUGE_ORDER + 1, |f| f.below);
        match v.kind {
            VmaKind::Anon => self.mem.given.vm.orders(v.huge).below(below),
            _ => Orders::default(),
        }
    }

    /// True if the aligned pages around a page are all of its mapping.
    pub(super) fn is_suitable(&self, page: PageIdx, vma: VmaId, order: u8) -> bool {
        let (v, pages) = (self.mem.virt.spaces.vma(vma), aligned(page, order));
        v.start.0 <= pages.start && pages.end <= v.end().0
    }

    /// A block for a large folio, charged to a group.
    ///
    /// # Errors
    /// The group cannot pay for it.
    pub(super) fn alloc_large(
        &mut self,
        tid: ThreadId,
        vma: VmaId,
        memcg: MemcgId,
        order: u8,
    ) -> Result<AllocOutcome, Unpaid> {
        let advised = self.mem.virt.spaces.vma(vma).huge == Some(true);
        let flags = gfp(self.mem.given.vm.thp_defrag, advised);
        let request = |flags| AllocRequest {
            order,
            migratetype: Migratetype::Movable,
            highest: ZoneKind::Movable,
            flags,
        };
        let mut got = AllocOutcome::Failed;
        if order == HUGE_ORDER {
            let near = flags.with(GfpFlags::THISNODE).with(GfpFlags::NORETRY);
            got = self.alloc_block(tid, &request(near));
        }
        if got == AllocOutcome::Failed && (order < HUGE_ORDER || !flags.atomic()) {
            got = self.alloc_block(tid, &request(flags));
        }
        let AllocOutcome::Frame(head) = got else { return Ok(got) };
        let pages = 1 << order;
        if self.reclaim_for_limit(tid, memcg, pages, flags).is_err() {
            self.mem.free_block(head, order);
            return Err(Unpaid);
        }
        self.mem.frames.set_memcg(head, memcg);
        self.charge(tid, memcg, pages);
        Ok(got)
    }

    /// A write to a page without a page table, which may be part of a huge page. True: the page is
    /// there, and 511 others. False: something smaller has to do.
    pub(in crate::machine) fn huge_fault(&mut self, touch: Touch) -> Outcome<bool> {
        let Touch { tid, page, vma, .. } = touch;
        if !self.orders_at(tid, vma).has(HUGE_ORDER) || !self.is_suitable(page, vma, HUGE_ORDER) {
            return Ok(false);
        }
        self.fault_of_order(touch, HUGE_ORDER)
    }

    /// A write to a page that nothing is mapped in, which may be part of a large folio. True: the
    /// page is there, and others around it. False: a single page has to do.
    pub(in crate::machine) fn large_fault(&mut self, touch: Touch) -> Outcome<bool> {
        let Touch { tid, page, vma, .. } = touch;
        let orders = self.orders_at(tid, vma).below(HUGE_ORDER);
        if orders.is_empty() {
            return Ok(false);
        }
        let fits = |&order: &u8| {
            self.is_suitable(page, vma, order) && self.mem.virt.pages.are_none(aligned(page, order))
        };
        let orders: Vec<u8> = orders.descending().filter(fits).collect();
        for order in orders {
            if self.fault_of_order(touch, order)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes a folio of an order around a page. False: there is none, and this fault does not ask
    /// for the order again.
    fn fault_of_order(&mut self, touch: Touch, order: u8) -> Outcome<bool> {
        let Touch { tid, page, vma, memcg, .. } = touch;
        let group = self.work.threads[tid].memcg;
        let got = self.alloc_large(tid, vma, group, order).unwrap_or_else(|Unpaid| {
            self.mem.count_size(order, SizeEvent::AnonFaultFallbackCharge, 1);
            if order == HUGE_ORDER {
                self.mem.count(VmEvent::ThpFaultFallbackCharge, 1);
            }
            AllocOutcome::Failed
        });
        let head = match got {
            AllocOutcome::Failed => {
                self.mem.count_size(order, SizeEvent::AnonFaultFallback, 1);
                if order == HUGE_ORDER {
                    self.mem.count_in(memcg, VmEvent::ThpFaultFallback, 1);
                }
                // If it waits for something smaller, it does not ask again.
                if let Some(f) = &mut self.work.threads[tid].fault {
                    f.below = order;
                }
                return Ok(false);
            }
            other => other.frame()?,
        };
        let nr = 1u64 << order;
        if self.mem.virt.pages.group(page.group()).table.is_none() {
            // For the day when the folio is split.
            let table = self.alloc_table(tid).frame().inspect_err(|_| {
                self.mem.memcgs.uncharge(self.mem.frames.memcg(head), nr);
                self.mem.free_block(head, order);
            })?;
            self.mem.set_table(page.group(), table);
        }
        let mem = &mut self.mem;
        // Clearing a page takes about as long as copying one.
        mem.charge(mem.given.cost.t_minor_anon);
        mem.charge(mem.given.cost.t_copy_page * (nr - 1));
        let flags = mem.virt.spaces.vma(vma).flags_at(page);
        mem.frames.reset_block(head, FrameKind::Anon, order, Migratetype::Unmovable);
        mem.frames.set(head, flag::SWAPBACKED);
        if flags.locked {
            mem.mlock(head);
        }
        let in_fault = Some(flags.recency(mem.ignores_random()));
        let how = Arrival { kind: ArrivalKind::New, in_fault, position: 0 };
        self.policies.lru.folio_entering(mem, head, None, how);
        mem.map_large(page, head);
        mem.virt.pages.set_hot(page, mem.virt.pages.hot(page) | pte::DIRTY);
        mem.lru_add(&mut *self.policies.lru, head, how);
        mem.count_size(order, SizeEvent::AnonFaultAlloc, 1);
        if order == HUGE_ORDER {
            mem.count_in(memcg, VmEvent::ThpFaultAlloc, 1);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of Documentation/admin-guide/mm/transhuge.rst: who may stall, who wakes kswapd.
    #[test]
    fn defrag_decides_the_effort() {
        let of = |d, advised| {
            let f = gfp(d, advised);
            let has = |g| if f.has(g) { 1 } else { 0 };
            [has(GfpFlags::DIRECT_RECLAIM), has(GfpFlags::KSWAPD_RECLAIM), has(GfpFlags::NORETRY)]
        };
        assert_eq!(of(ThpDefrag::Always, false), [1, 0, 1]);
        assert_eq!(of(ThpDefrag::Always, true), [1, 0, 0]);
        assert_eq!(of(ThpDefrag::Defer, false), [0, 1, 0]);
        assert_eq!(of(ThpDefrag::Defer, true), [0, 1, 0]);
        assert_eq!(of(ThpDefrag::DeferMadvise, false), [0, 1, 0]);
        assert_eq!(of(ThpDefrag::DeferMadvise, true), [1, 0, 0]);
        assert_eq!(of(ThpDefrag::Madvise, false), [0, 0, 0]);
        assert_eq!(of(ThpDefrag::Madvise, true), [1, 0, 0]);
        assert_eq!(of(ThpDefrag::Never, true), [0, 0, 0]);
    }
}
