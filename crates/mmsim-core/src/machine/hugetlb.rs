//! The pool of huge pages of hugetlbfs: blocks of 2 MiB that nobody can reclaim or move.
//!
//! Growing it asks for block after block and stops at the first that cannot be had; shrinking
//! gives the last ones back. The first request insists, and compacts and reclaims for it.
//!
//! Source: Linux 6.12 mm/hugetlb.c (`set_max_huge_pages`, `alloc_buddy_hugetlb_folio`,
//! `htlb_alloc_mask`). Left out: mappings of the pool, and surplus pages.

use super::Machine;
use super::alloc::Got;
use super::config::ZoneKind;
use super::fault::Flow;
use crate::base::id::ThreadId;
use crate::base::vmstat::VmEvent;
use crate::phys::frames::FrameKind;
use crate::phys::gfp::{AllocRequest, GFP_HIGHUSER_MOVABLE, GfpFlags};
use crate::phys::migratetype::Migratetype;
use crate::policy::ReclaimPolicy;

/// log2 of the pages of a huge page.
const HUGE_ORDER: u8 = 9;

impl<P: ReclaimPolicy> Machine<P> {
    /// A write to `nr_hugepages`.
    pub(super) fn set_huge_pool(&mut self, tid: ThreadId, wanted: u32) -> Flow {
        let req = AllocRequest {
            order: HUGE_ORDER,
            migratetype: Migratetype::Movable,
            highest: ZoneKind::Movable,
            flags: GFP_HIGHUSER_MOVABLE.with(GfpFlags::RETRY_MAYFAIL),
        };
        while self.huge_pool.len() < wanted as usize {
            let pfn = match self.alloc_block(tid, &req) {
                Got::Frame(pfn) => pfn,
                Got::Failed => {
                    self.mem.count(VmEvent::HtlbBuddyAllocFail, 1);
                    break;
                }
                // It goes on where it was.
                Got::Blocked => return Flow::Blocked,
                Got::Killed => return Flow::Killed,
            };
            let frames = &mut self.mem.frames;
            frames.reset_block(pfn, FrameKind::KernelOther, HUGE_ORDER, Migratetype::Movable);
            self.mem.nr_kernel_other += 1 << HUGE_ORDER;
            self.mem.count(VmEvent::HtlbBuddyAllocSuccess, 1);
            // It is cleared when it is mapped, not here.
            self.mem.now += self.mem.cost.t_free_page;
            self.huge_pool.push(pfn);
        }
        while self.huge_pool.len() > wanted as usize {
            let pfn = self.huge_pool.pop().expect("it has more than are wanted");
            self.mem.nr_kernel_other -= 1 << HUGE_ORDER;
            self.mem.now += self.mem.cost.t_free_page;
            self.mem.free_block(pfn, HUGE_ORDER);
        }
        self.mem.now += self.mem.cost.t_syscall;
        Flow::Done
    }

    /// Huge pages in the pool.
    pub fn nr_huge_pages(&self) -> u64 {
        self.huge_pool.len() as u64
    }
}
