//! The pool of huge pages of hugetlbfs: how it grows, and faults on its mappings.
//!
//! Growing it allocates block after block and stops at the first failure; shrinking gives the last
//! ones back. The first request insists, and compacts and reclaims for it. What there is of
//! `vm.nr_hugepages` at boot was taken from free memory before anything ran.
//!
//! A mapping that the pool cannot back is refused, which ends the process: programs that ask for huge
//! pages have nothing else.
//!
//! Source: Linux 6.12 mm/hugetlb.c (`set_max_huge_pages`, `alloc_buddy_hugetlb_folio`,
//! `htlb_alloc_mask`, `hugetlb_reserve_pages`, `hugetlb_fault`).

use super::Machine;
use super::fault::touch::{Outcome, Undone};
use super::reclaim::alloc::AllocOutcome;
use super::watch::result::Shortage;
use crate::base::id::{AsId, GROUP_PAGES, NodeId, PageIdx, ThreadId};
use crate::base::migratetype::Migratetype;
use crate::base::vmstat::VmEvent;
use crate::config::ZoneKind;
use crate::memory::trace::FaultKind;
use crate::memory::{HUGE_ORDER, Memory};
use crate::phys::gfp::{AllocRequest, GFP_HIGHUSER_MOVABLE, GfpFlags};
use crate::phys::watermarks::Mark;

const REQUEST: AllocRequest = AllocRequest {
    order: HUGE_ORDER,
    migratetype: Migratetype::Movable,
    highest: ZoneKind::Movable,
    flags: GFP_HIGHUSER_MOVABLE.with(GfpFlags::RETRY_MAYFAIL),
};

/// Fills the pool before anything runs, from all nodes in turn, as far as free memory goes; this
/// takes no time.
pub(super) fn boot(mem: &mut Memory) {
    let (begin, nodes) = (mem.acting.now, mem.zones.nr_nodes() as u32);
    mem.kernel.hugetlb.wanted = mem.given.vm.nr_hugepages;
    for i in 0..mem.given.vm.nr_hugepages {
        let near = NodeId((i % nodes) as u8);
        let Some(pfn) = mem.try_alloc(near, &REQUEST, Some(Mark::Low)) else {
            mem.count(VmEvent::HtlbBuddyAllocFail, 1);
            break;
        };
        mem.count(VmEvent::HtlbBuddyAllocSuccess, 1);
        mem.add_huge_page(pfn);
    }
    mem.acting.now = begin;
}

impl Machine {
    /// A write to `nr_hugepages`.
    pub(super) fn set_huge_pool(&mut self, tid: ThreadId, wanted: u32) -> Outcome {
        self.mem.kernel.hugetlb.wanted = wanted;
        while self.mem.kernel.hugetlb.total() < wanted {
            self.give_way(tid);
            match self.alloc_block(tid, &REQUEST) {
                AllocOutcome::Frame(pfn) => {
                    self.mem.count(VmEvent::HtlbBuddyAllocSuccess, 1);
                    self.mem.add_huge_page(pfn);
                }
                AllocOutcome::Failed => {
                    self.mem.count(VmEvent::HtlbBuddyAllocFail, 1);
                    break;
                }
                // It goes on where it was.
                AllocOutcome::Blocked => return Err(Undone::Blocked),
                AllocOutcome::Killed => return Err(Undone::Killed),
            }
        }
        self.mem.trim_huge_pool();
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        Ok(())
    }

    /// Huge pages in the pool.
    pub fn nr_huge_pages(&self) -> u64 {
        self.mem.kernel.hugetlb.total().into()
    }

    /// Reserves what a new mapping needs. False: the pool cannot back it, and its process ends.
    pub(super) fn reserve_huge_pages(&mut self, space: AsId, pages: u32) -> bool {
        let fits = self.mem.kernel.hugetlb.reserve(pages / GROUP_PAGES);
        if !fits {
            if self.record.oom.is_none() {
                self.record.oom = Some(self.oom_summary(space, Shortage::HugePages));
            }
            self.kill(space);
        }
        fits
    }

    /// A fault on a mapping of huge pages. A first read maps the page too, and read-only, since the
    /// mapping is private; the first write then finds that the page is not shared.
    pub(super) fn hugetlb_fault(&mut self, page: PageIdx, write: bool) -> FaultKind {
        let (g, mem) = (page.group(), &mut self.mem);
        if mem.virt.pages.group(g).huge {
            mem.charge(mem.given.cost.t_minor_map);
            mem.write_hugetlb(g);
            return FaultKind::Reuse;
        }
        // Clearing a page takes about as long as copying one.
        mem.charge(mem.given.cost.t_minor_anon);
        mem.charge(mem.given.cost.t_copy_page * u64::from(GROUP_PAGES - 1));
        mem.map_hugetlb(g, write);
        FaultKind::ZeroFill
    }
}
