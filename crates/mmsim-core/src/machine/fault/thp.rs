//! Faults that make a transparent huge page.
//!
//! A write to anonymous memory whose page table does not exist yet may take a whole block of 2 MiB
//! instead of a page, if the mapping is allowed to and covers all of it. How much that is worth is
//! a matter of the mapping's advice and of `transparent_hugepage/defrag`. The near node is tried
//! first and only compacted; if the request may reclaim at all, it is made a second time with all
//! nodes and with reclaim. What fails falls back on a single page.
//!
//! Source: Linux 6.12 mm/huge_memory.c (`do_huge_pmd_anonymous_page`, `vma_thp_gfp_mask`),
//! mm/mempolicy.c (`alloc_pages_mpol`), mm/memory.c (`create_huge_pmd`). Left out: the huge zero page
//! (a read maps the small one, and installs the page table with which the chance is gone); khugepaged;
//! folios of orders in between; what kernels before 6.12 did differently. A thread that had to wait
//! makes both requests anew.
//!
//! A group that is full is reclaimed from for the whole block, if the request may reclaim at all
//! (mm/memcontrol.c, `try_charge_memcg`). No process is killed for want of a huge page.

use crate::base::id::{GROUP_PAGES, PageIdx, ThreadId, VmaId};
use crate::base::migratetype::Migratetype;
use crate::base::vmstat::VmEvent;
use crate::config::{Thp, ThpDefrag, ZoneKind};
use crate::machine::Machine;
use crate::machine::fault::touch::{Outcome, Touch};
use crate::machine::reclaim::alloc::AllocOutcome;
use crate::memory::HUGE_ORDER;
use crate::phys::frames::{FrameKind, flag};
use crate::phys::gfp::{AllocRequest, GFP_TRANSHUGE_LIGHT, GfpFlags};
use crate::policy::{Arrival, ArrivalKind};
use crate::virt::space::VmaKind;

/// Flags for the allocation of a huge page (`vma_thp_gfp_mask`).
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
    /// True if a mapping may have a huge page where this page lies; there is no page table.
    pub(in crate::machine) fn wants_huge(&self, page: PageIdx, vma: VmaId) -> bool {
        let first = page.group().first();
        let v = self.mem.virt.spaces.vma(vma);
        let allowed = match (self.mem.given.vm.thp, v.huge) {
            (Thp::Never, _) | (_, Some(false)) => false,
            (Thp::Always, _) | (Thp::Madvise, Some(true)) => true,
            (Thp::Madvise, None) => false,
        };
        allowed && v.kind == VmaKind::Anon && v.start <= first && first.0 + GROUP_PAGES <= v.end().0
    }

    /// A block for a huge page, charged to the thread's group.
    fn alloc_huge(&mut self, tid: ThreadId, vma: VmaId) -> AllocOutcome {
        let advised = self.mem.virt.spaces.vma(vma).huge == Some(true);
        let flags = gfp(self.mem.given.vm.thp_defrag, advised);
        let request = |flags| AllocRequest {
            order: HUGE_ORDER,
            migratetype: Migratetype::Movable,
            highest: ZoneKind::Movable,
            flags,
        };
        let near = request(flags.with(GfpFlags::THISNODE).with(GfpFlags::NORETRY));
        let mut got = self.alloc_block(tid, &near);
        if got == AllocOutcome::Failed && !flags.atomic() {
            got = self.alloc_block(tid, &request(flags));
        }
        let AllocOutcome::Frame(head) = got else { return got };
        let (memcg, pages) = (self.work.threads[tid].memcg, GROUP_PAGES.into());
        if self.reclaim_for_limit(tid, memcg, pages, flags).is_err() {
            self.mem.free_block(head, HUGE_ORDER);
            self.mem.count(VmEvent::ThpFaultFallbackCharge, 1);
            return AllocOutcome::Failed;
        }
        self.mem.frames.set_memcg(head, memcg);
        self.charge(tid, memcg, pages);
        got
    }

    /// A write to a page that may be part of a huge one. True: the page is there, and 511 others.
    /// False: there is no block, and a single page has to do.
    pub(in crate::machine) fn huge_fault(&mut self, touch: Touch) -> Outcome<bool> {
        let Touch { tid, page, vma, memcg, .. } = touch;
        let head = match self.alloc_huge(tid, vma) {
            AllocOutcome::Failed => {
                self.mem.count_in(memcg, VmEvent::ThpFaultFallback, 1);
                return Ok(false);
            }
            other => other.frame()?,
        };
        // For the day when the folio is split.
        let table = self.alloc_table(tid).frame().inspect_err(|_| {
            self.mem.memcgs.uncharge(self.mem.frames.memcg(head), GROUP_PAGES.into());
            self.mem.free_block(head, HUGE_ORDER);
        })?;
        let mem = &mut self.mem;
        mem.set_table(page.group(), table);
        // Clearing a page takes about as long as copying one.
        mem.charge(mem.given.cost.t_minor_anon);
        mem.charge(mem.given.cost.t_copy_page * u64::from(GROUP_PAGES - 1));
        let flags = mem.virt.spaces.vma(vma).flags_at(page);
        mem.frames.reset_block(head, FrameKind::Anon, HUGE_ORDER, Migratetype::Unmovable);
        mem.frames.set(head, flag::SWAPBACKED);
        if flags.locked {
            mem.mlock(head);
        }
        let in_fault = Some(flags.recency(mem.ignores_random()));
        let how = Arrival { kind: ArrivalKind::New, in_fault, position: 0 };
        self.policies.lru.folio_entering(mem, head, None, how);
        mem.map_huge(page.group(), head);
        mem.lru_add(&mut *self.policies.lru, head, how);
        mem.count_in(memcg, VmEvent::ThpFaultAlloc, 1);
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
