//! Faults on shared memory, and `read(2)` and `write(2)` of it.
//!
//! A page is in memory, in swap, or in neither. A write creates a page that is in neither, and so does a
//! read fault, since shared memory has no zero page; `read(2)` creates none. A page in swap comes back
//! alone past the swap cache, if the kernel has that way and the device is synchronous. Else it comes
//! through the swap cache, with the slots beside it.
//!
//! Source: Linux 6.12 mm/shmem.c (`shmem_get_folio_gfp`, `shmem_swapin_folio`, `shmem_fault`).

use crate::backing::device::Io;
use crate::backing::swap::Cached;
use crate::base::id::{FileId, PageIdx, SwapSlot, ThreadId, VmaId};
use crate::base::vmstat::VmEvent;
use crate::machine::Machine;
use crate::machine::fault::touch::{Outcome, Undone};
use crate::machine::watch::result::Shortage;
use crate::memory::trace::FaultKind;
use crate::phys::frames::{FolioId, flag};
use crate::policy::{Access, Arrival, ArrivalKind};
use crate::virt::pages::{Entry, pte};
use crate::workload::VmaFlags;
use std::ops::Range;

impl Machine {
    /// A touch of a page of a mapping that maps nothing there; `at` is its place in the object.
    pub(in crate::machine) fn shmem_fault(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        at: PageIdx,
        vma: VmaId,
        write: bool,
    ) -> Outcome<FaultKind> {
        if !write && self.fault_around(tid, page, at, vma) {
            self.mem.acting.now += self.mem.given.cost.t_minor_file;
            return Ok(FaultKind::FileMinor);
        }
        let (folio, kind) = self.shmem_folio(tid, at, Some(vma))?;
        let mut bits = pte::ACCESSED | pte::WRITABLE;
        if write {
            bits |= pte::DIRTY;
            self.mem.frames.set(folio, flag::DIRTY);
        }
        self.mem.map(page, folio, bits);
        self.file_mapped(page, folio, vma, Access::FileMapped);
        Ok(kind)
    }

    /// One page of a `read(2)` of an object.
    pub(in crate::machine) fn read_shmem(&mut self, tid: ThreadId, at: PageIdx) -> Outcome {
        if self.mem.virt.pages.entry(at) != Entry::None {
            let (folio, _) = self.shmem_folio(tid, at, None)?;
            self.mem.mark_accessed(&mut *self.policies.lru, folio);
        }
        self.mem.acting.now += self.mem.given.cost.t_read_cached;
        Ok(())
    }

    /// One page of a `write(2)` to an object, written in full.
    pub(in crate::machine) fn write_shmem(&mut self, tid: ThreadId, at: PageIdx) -> Outcome {
        let (folio, kind) = self.shmem_folio(tid, at, None)?;
        self.mem.acting.now += self.mem.given.cost.t_copy_page;
        self.mem.frames.set(folio, flag::DIRTY);
        if kind != FaultKind::ZeroFill {
            self.mem.mark_accessed(&mut *self.policies.lru, folio);
        }
        self.mem.settle_kernel();
        Ok(())
    }

    /// The folio of a page of an object, which is brought in or made if need be (`shmem_get_folio`).
    fn shmem_folio(
        &mut self,
        tid: ThreadId,
        at: PageIdx,
        vma: Option<VmaId>,
    ) -> Outcome<(FolioId, FaultKind)> {
        match self.mem.virt.pages.entry(at) {
            Entry::Frame(folio) => {
                self.mem.acting.now += self.mem.given.cost.t_minor_file;
                Ok((folio, FaultKind::FileMinor))
            }
            Entry::Swap(slot) => Ok((self.shmem_swap_in(tid, at, slot, vma)?, FaultKind::SwapIn)),
            _ => {
                let pfn = self.alloc_user(tid).frame()?;
                if self.mem.shmem_is_full(at) {
                    self.give_back(pfn);
                    return Err(self.shmem_is_full(tid));
                }
                self.mem.acting.now += self.mem.given.cost.t_minor_anon;
                let how = self.arrival(ArrivalKind::Write, vma);
                self.mem.add_to_shmem(&mut *self.policies.lru, at, pfn, how);
                Ok((pfn, FaultKind::ZeroFill))
            }
        }
    }

    /// Ends the process: a fault gets SIGBUS, and a write gets `ENOSPC`, which workloads do not expect.
    fn shmem_is_full(&mut self, tid: ThreadId) -> Undone {
        let space = self.work.threads[tid].space;
        if self.record.oom.is_none() {
            self.record.oom = Some(self.oom_summary(space, Shortage::Shmem));
        }
        self.kill(space);
        Undone::Killed
    }

    /// Brings a page of an object back from swap.
    fn shmem_swap_in(
        &mut self,
        tid: ThreadId,
        at: PageIdx,
        slot: SwapSlot,
        vma: Option<VmaId>,
    ) -> Outcome<FolioId> {
        let swap = self.mem.swap.as_ref().expect("a swap entry without swap");
        if let Cached::Folio(folio) = swap.cached(slot) {
            return self.shmem_from_swapcache(tid, at, folio);
        }
        let alone = self.mem.given.rules.shmem_swapin_alone;
        if !alone || !swap.device_of(slot).config().synchronous {
            let folio = self.swap_in_window(tid, at, slot, vma)?;
            self.mem.leave_swapcache_to_shmem(at, folio);
            return Ok(folio);
        }
        let pfn = self.alloc_user_in(tid, self.group_for_slot(tid, slot)).frame()?;
        if self.was_written_back(slot, pfn) {
            return Err(Undone::Again);
        }
        self.mem.acting.now += self.mem.given.cost.t_major_cpu;
        // Making room may have cost the shadow.
        let swap = self.mem.swap.as_ref().expect("as above");
        let shadow = match swap.cached(slot) {
            Cached::Shadow(shadow) => Some(shadow),
            _ => None,
        };
        let recency = self.arrival(ArrivalKind::SwapIn, vma);
        let how = self.make_anon(pfn, VmaFlags::NONE, ArrivalKind::SwapIn);
        let how = Arrival { in_fault: recency.in_fault, ..how };
        self.mem.frames.rmap[pfn] = u32::MAX;
        self.mem.telling.refaulting = Some(at);
        self.policies.lru.folio_entering(&mut self.mem, pfn, shadow, how);
        self.mem.tell_of_swap_in(pfn, Some(at));
        self.mem.lru_add(&mut *self.policies.lru, pfn, how);
        if self.mem.read_swapped(slot, pfn) {
            self.mem.count_in(self.mem.frames.memcg(pfn), VmEvent::PswpIn, 1);
            self.mem.count_swap_requests(Io::Read, 1);
        }
        let swap = self.mem.swap.as_mut().expect("as above");
        swap.put_last(slot, self.mem.acting.cpu);
        self.mem.slot_freed(slot);
        self.mem.swapped_into_shmem(at, pfn);
        self.major(tid);
        Ok(pfn)
    }

    /// The page is in the swap cache: it goes back, once no device works on it.
    fn shmem_from_swapcache(
        &mut self,
        tid: ThreadId,
        at: PageIdx,
        folio: FolioId,
    ) -> Outcome<FolioId> {
        let major = self.work.threads[tid].fault.is_some_and(|f| f.major);
        if !major && self.mem.frames.test_clear(folio, flag::READAHEAD) {
            self.mem.count(VmEvent::SwapRaHit, 1);
            self.mem.swap.as_mut().expect("a slot is of a device").ra.hits += 1;
        }
        if self.mem.frames.has(folio, flag::LOCKED | flag::WRITEBACK) {
            let refault = self.mem.frames.has(folio, flag::WORKINGSET);
            if self.mem.frames.has(folio, flag::LOCKED) {
                self.retry_fault(tid);
            }
            self.wait_for_folio(tid, folio, refault);
            return Err(Undone::Blocked);
        }
        let cost = &self.mem.given.cost;
        self.mem.acting.now += if major { cost.t_major_cpu } else { cost.t_minor_map };
        self.mem.leave_swapcache_to_shmem(at, folio);
        Ok(folio)
    }

    /// `MADV_REMOVE`: pages go from the object itself.
    pub(in crate::machine) fn remove_shmem(&mut self, file: FileId, pages: Range<u32>) {
        self.mem.lru_drain(&mut *self.policies.lru);
        self.mem.remove_from_shmem(&mut *self.policies.lru, file, pages);
        self.mem.settle_kernel();
    }
}
