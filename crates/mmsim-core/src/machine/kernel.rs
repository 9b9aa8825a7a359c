//! Blocks that workloads allocate on behalf of the kernel: drivers, modules, fragmenters.
//!
//! Such memory belongs to no address space and to no memory cgroup, and reclaim does not see it. It
//! stays when its process ends, as the memory of a module does, until it is freed.

use super::Machine;
use super::fault::touch::{Outcome, Undone};
use super::reclaim::alloc::AllocOutcome;
use super::watch::result::Origin;
use crate::base::compact_result::NoBlock;
use crate::base::id::{Pfn, ThreadId};
use crate::base::migratetype::Migratetype;
use crate::base::vmstat::VmEvent;
use crate::config::ZoneKind;
use crate::memory::trouble::Trouble;
use crate::memory::{Layout, LayoutError};
use crate::phys::frames::FrameKind;
use crate::phys::gfp::{AllocRequest, GfpFlags, MAX_PAGE_ORDER};
use crate::workload::{BlockHandle, FreeBlocksOfZone, KernelAllocResult};

impl Machine {
    /// Allocates a block for a thread; what came of it is for its workload to see.
    pub(super) fn kernel_alloc(
        &mut self,
        tid: ThreadId,
        order: u8,
        migratetype: Migratetype,
        flags: GfpFlags,
        handle: BlockHandle,
    ) -> Outcome {
        let name = &self.work.threads[tid].name;
        assert!(order <= MAX_PAGE_ORDER, "{name}: order {order} is above {MAX_PAGE_ORDER}");
        assert!(migratetype.mergeable(), "{name}: no request may be for {migratetype:?} memory");
        let held = self.work.threads[tid].blocks.get(handle).is_some();
        assert!(!held, "{name}: {handle:?} is held already");
        let movable = migratetype == Migratetype::Movable;
        let highest = if movable { ZoneKind::Movable } else { ZoneKind::Normal };
        let req = AllocRequest { order, migratetype, highest, flags };
        let pfn = match self.alloc_block(tid, &req) {
            AllocOutcome::Frame(pfn) => {
                let frames = &mut self.mem.frames;
                frames.reset_block(pfn, FrameKind::KernelOther, order, migratetype);
                self.work.threads[tid].blocks.insert(handle, (pfn, order));
                self.mem.kernel.nr_other += 1 << order;
                Some(pfn)
            }
            AllocOutcome::Failed => {
                self.mem.count(VmEvent::SimKernelAllocFail, 1);
                None
            }
            AllocOutcome::Blocked => return Err(Undone::Blocked),
            AllocOutcome::Killed => return Err(Undone::Killed),
        };
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        self.mem.count(VmEvent::SimKernelAlloc, 1);
        self.work.threads[tid].kernel_allocs.push(KernelAllocResult { handle, pfn });
        Ok(())
    }

    /// A block for a workload, and where it came from.
    pub(super) fn alloc_block(&mut self, tid: ThreadId, req: &AllocRequest) -> AllocOutcome {
        (self.step.origin, self.step.no_block) = (Origin::FreeList, NoBlock::NotTried);
        let got = self.alloc(tid, req);
        if req.order > 0 && matches!(got, AllocOutcome::Frame(_) | AllocOutcome::Failed) {
            self.record.high_order.attempts += 1;
            let had = matches!(got, AllocOutcome::Frame(_));
            self.record.high_order.from[self.step.origin as usize] += u64::from(had);
            let event = match self.step.origin {
                _ if !had => VmEvent::SimHighAllocFail,
                Origin::FreeList => VmEvent::SimHighAllocLists,
                Origin::AsyncCompaction => VmEvent::SimHighAllocAsync,
                Origin::Reclaim => VmEvent::SimHighAllocReclaim,
                Origin::SyncCompaction => VmEvent::SimHighAllocSync,
            };
            self.mem.count(VmEvent::SimHighAlloc, 1);
            self.mem.count(event, 1);
            if !had {
                self.tell_of_trouble(tid, Trouble::Allocation(self.step.no_block));
            }
        }
        got
    }

    /// Begins with memory laid out like this instead of free. All frames in use are held by a
    /// thread, as the blocks 0, 1, ... in address order, and its workload gets them with its first
    /// call. Before the run, once.
    ///
    /// # Errors
    ///
    /// The layout is of another machine, or a pool of huge pages lies in the way.
    pub fn load_layout(&mut self, tid: ThreadId, layout: &Layout) -> Result<(), LayoutError> {
        if self.mem.kernel.hugetlb.total() > 0 {
            return Err(LayoutError::HugePool);
        }
        let held: Vec<(Pfn, Migratetype)> = self.mem.set_layout(layout)?;
        let thread = &mut self.work.threads[tid];
        for (i, (pfn, _)) in held.into_iter().enumerate() {
            let handle = BlockHandle(i as u32);
            thread.blocks.insert(handle, (pfn, 0));
            thread.kernel_allocs.push(KernelAllocResult { handle, pfn: Some(pfn) });
        }
        for (z, shown) in self.mem.zones.ids().zip(&mut self.record.zones_at_start) {
            shown.1[4] = self.mem.zones[z].free;
        }
        Ok(())
    }

    /// Counts what there is for blocks of an order.
    pub(super) fn survey(&mut self, order: u8) {
        assert!(order <= MAX_PAGE_ORDER, "order {order} is above {MAX_PAGE_ORDER}");
        let found = self.mem.survey(order, ZoneKind::Normal);
        self.mem.count(VmEvent::SimCandidates, found.candidates);
        self.mem.count(VmEvent::SimCandidatesFree, found.free_groups);
        self.mem.count(VmEvent::SimCandidatesBound, found.bound);
        self.mem.count(VmEvent::SimPureMovableBlocks, found.pure_movable_blocks);
    }

    /// Makes single pages of a block of a thread, if it holds it.
    pub(super) fn kernel_split(&mut self, tid: ThreadId, handle: BlockHandle) {
        let thread = &mut self.work.threads[tid];
        let Some((first, order)) = thread.blocks.remove(handle) else { return };
        let mt = self.mem.frames.block_migratetype(first);
        for i in 0..1 << order {
            let (page, pfn) = (BlockHandle(handle.0 + i), Pfn(first.0 + i));
            self.mem.frames.reset_block(pfn, FrameKind::KernelOther, 0, mt);
            thread.blocks.insert(page, (pfn, 0));
        }
    }

    /// Takes a frame for a thread, if it is free; what came of it is for its workload to see.
    pub(super) fn kernel_take(&mut self, tid: ThreadId, pfn: Pfn, handle: BlockHandle) {
        let held = self.work.threads[tid].blocks.get(handle).is_some();
        assert!(!held, "{}: {handle:?} is held already", self.work.threads[tid].name);
        let z = self.mem.zones.of(pfn);
        let taken = self.mem.capture_block(z, pfn, 0);
        if taken {
            let mt = self.mem.zones[z].buddy().block_type(pfn);
            let mt = if mt.mergeable() { mt } else { Migratetype::Unmovable };
            self.mem.frames.reset_block(pfn, FrameKind::KernelOther, 0, mt);
            self.work.threads[tid].blocks.insert(handle, (pfn, 0));
            self.mem.kernel.nr_other += 1;
        }
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        let pfn = taken.then_some(pfn);
        self.work.threads[tid].kernel_allocs.push(KernelAllocResult { handle, pfn });
    }

    /// Looks at the free blocks of the zone that requests for unmovable memory try first.
    pub(super) fn free_blocks(&mut self, tid: ThreadId) {
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        let node = self.home_node();
        let zone = self.mem.zones.preferred(node, ZoneKind::Normal).map(|z| &self.mem.zones[z]);
        let seen =
            zone.map(|z| FreeBlocksOfZone { first: z.first, end: z.end(), nr: z.free_blocks() });
        self.work.threads[tid].free_blocks = seen;
    }

    /// Frees a block of a thread, if it holds it.
    pub(super) fn kernel_free(&mut self, tid: ThreadId, handle: BlockHandle) {
        self.mem.acting.now += self.mem.given.cost.t_free_page;
        if let Some((pfn, order)) = self.work.threads[tid].blocks.remove(handle) {
            self.mem.kernel.nr_other -= 1 << order;
            self.mem.free_block(pfn, order);
        }
    }
}
