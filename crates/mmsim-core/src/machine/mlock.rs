//! `mlock(2)`, `munlock(2)`, and `shmctl(2)` of shared memory.
//!
//! A mapping is locked in parts where the kernel splits its VMA. What `mlock(2)` finds goes to the
//! unevictable list at once, then the rest is faulted in; what comes later is locked as it is mapped.
//!
//! A process with a limit may have that many pages locked. A call that would lock more is refused and
//! locks nothing.
//!
//! Source: Linux 6.12 mm/mlock.c. Left out: the per-CPU batch of 31 pages in which locked pages wait
//! for their list.

use super::Machine;
use super::fault::touch::Outcome;
use crate::base::id::{PageIdx, ThreadId, VmaId};
use crate::base::vmstat::VmEvent;
use crate::virt::pages::Entry;
use crate::virt::space::VmaKind;
use crate::workload::{RegionId, Run};
use std::ops::Range;

impl Machine {
    /// `mlock2(2)` on pages of a region. Tried again until all of them are there.
    pub(super) fn mlock(&mut self, tid: ThreadId, run: Run, onfault: bool) -> Outcome {
        let (id, range) = self.range_of(tid, run);
        let vma = self.mem.virt.spaces.vma(id);
        let kind = vma.kind;
        if kind == VmaKind::HugeTlb {
            // Pages of a pool stay anyway, and are not counted.
            return Ok(());
        }
        if !vma.locks_all(range.clone()) {
            self.mem.acting.now += self.mem.given.cost.t_syscall;
            if !self.may_lock(id, range.clone()) {
                self.mem.count(VmEvent::SimMlockRefused, 1);
                return Ok(());
            }
            self.mem.virt.spaces.set_locked(&mut self.mem.virt.pages, id, range.clone(), true);
            self.mem.tell_of_mlock(id, range.clone(), true);
            self.mem.lru_drain(&mut *self.policies.lru);
            for page in range.clone().map(PageIdx) {
                if let Entry::Frame(folio) = self.mem.virt.pages.entry(page) {
                    self.mem.mlock_folio(&mut *self.policies.lru, folio);
                }
            }
        }
        let write = !matches!(kind, VmaKind::File { shared: true, .. });
        if onfault { Ok(()) } else { self.populate(tid, id, range, write) }
    }

    /// True if a process may have these pages locked too (`do_mlock`).
    fn may_lock(&self, id: VmaId, range: Range<u32>) -> bool {
        let spaces = &self.mem.virt.spaces;
        let vma = spaces.vma(id);
        let Some(most) = spaces[vma.space].memlock_limit else { return true };
        let before = spaces.locked_pages(vma.space) - vma.locked_pages();
        before + vma.locked_pages_with(range) <= most
    }

    /// `munlock(2)` on pages of a region.
    pub(super) fn munlock(&mut self, tid: ThreadId, run: Run) {
        let (id, range) = self.range_of(tid, run);
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        self.mem.lru_drain(&mut *self.policies.lru);
        for page in range.clone().map(PageIdx) {
            if self.mem.virt.spaces.vma(id).locks(page)
                && let Entry::Frame(folio) = self.mem.virt.pages.entry(page)
            {
                self.mem.munlock_folio(&mut *self.policies.lru, folio);
            }
        }
        if self.mem.virt.spaces.vma(id).locks_any(range.clone()) {
            self.mem.tell_of_mlock(id, range.clone(), false);
        }
        self.mem.virt.spaces.set_locked(&mut self.mem.virt.pages, id, range, false);
    }

    /// `shmctl(2)` with `SHM_LOCK` or `SHM_UNLOCK` on the object behind a region.
    pub(super) fn shm_lock(&mut self, tid: ThreadId, region: RegionId, lock: bool) {
        let (id, _) = self.range_of(tid, Run { region, write: false, first: 0, count: 1 });
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        let VmaKind::Shmem { file, .. } = self.mem.virt.spaces.vma(id).kind else {
            panic!("{region:?} is not shared memory")
        };
        self.mem.lock_shmem(&mut *self.policies.lru, file, lock);
    }

    /// The mapping and the pages of a run in a region of a thread's process.
    pub(super) fn range_of(&self, tid: ThreadId, run: Run) -> (VmaId, Range<u32>) {
        let space = self.work.threads[tid].space;
        let id = self.mem.virt.spaces.region(space, run.region);
        let id = id.unwrap_or_else(|| panic!("{space}: {:?} is not mapped", run.region));
        let start = self.mem.virt.spaces.vma(id).start.0 + run.first;
        (id, start..start + run.count)
    }
}
