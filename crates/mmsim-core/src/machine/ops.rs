//! The operations of workloads: touches that are no plain hits, mappings, file I/O, sleeping and
//! meeting, phases, and the ends of threads and processes.
//!
//! Each is one atomic step of its thread, done when its CPU is the earliest of all.

use super::Machine;
use super::cpu::thread::{Entity, Wait};
use super::fault::touch::{Outcome, Touch, Undone};
use super::watch::psi::Psi;
use crate::base::id::{AsId, FileId, GROUP_PAGES, PageIdx, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::memory::AHEAD;
use crate::virt::space::VmaKind;
use crate::workload::{MapKind, Op, RegionId, Run, VmaFlags};

impl Machine {
    /// Executes one operation that is no hit.
    pub(super) fn execute(&mut self, tid: ThreadId, op: Op) -> Outcome {
        match op {
            Op::Mmap { region, pages, kind, flags, at } => {
                return self.map_region(tid, region, (pages, kind), flags, at);
            }
            Op::Read { file, first, count } => {
                return self.pages_of_file(tid, file.0, first, count, false);
            }
            Op::Write { file, first, count } => {
                return self.pages_of_file(tid, file.0, first, count, true);
            }
            Op::Uncached { file, first, count, write, how } => {
                return self.uncached(tid, file.0, (first, count), write, how);
            }
            Op::Fadvise { file, first, count, advice } => {
                return self.fadvise(tid, file.0, (first, count), advice);
            }
            Op::Fsync { file } => {
                return self.fsync(tid, self.file_of(tid, file.0));
            }
            Op::Look(id) => self.look(tid, id),
            Op::Madvise { region, first, count, advice } => {
                return self.madvise(tid, Run { region, write: false, first, count }, advice);
            }
            Op::Mlock { region, first, count, onfault } => {
                return self.mlock(tid, Run { region, write: false, first, count }, onfault);
            }
            Op::Munlock { region, first, count } => {
                self.munlock(tid, Run { region, write: false, first, count });
            }
            Op::ShmLock { region, lock } => self.shm_lock(tid, region, lock),
            Op::Barrier => return self.barrier(tid),
            Op::KernelAlloc { order, migratetype, flags, handle } => {
                return self.kernel_alloc(tid, order, migratetype, flags, handle);
            }
            Op::HugePool { pages } => return self.set_huge_pool(tid, pages),
            Op::Exit => {
                self.kill(self.work.threads[tid].space);
                return Err(Undone::Killed);
            }
            at_once => self.execute_at_once(tid, at_once),
        }
        Ok(())
    }

    /// Executes an operation that needs no frame and waits for nothing but time.
    fn execute_at_once(&mut self, tid: ThreadId, op: Op) {
        let space = self.work.threads[tid].space;
        match op {
            Op::Access(run) => self.unmapped(tid, run.region),
            Op::Copy(copy) => {
                let mapped = self.mem.virt.spaces.region(space, copy.from).is_some();
                self.unmapped(tid, if mapped { copy.to } else { copy.from })
            }
            Op::Compute(_) | Op::Records(_) | Op::RecordBegins | Op::Arrived(_) => {
                unreachable!("done with the hits")
            }
            Op::Mmap { .. }
            | Op::Read { .. }
            | Op::Write { .. }
            | Op::Uncached { .. }
            | Op::Fadvise { .. }
            | Op::Fsync { .. }
            | Op::Madvise { .. }
            | Op::Mlock { .. }
            | Op::Munlock { .. }
            | Op::ShmLock { .. }
            | Op::Barrier
            | Op::KernelAlloc { .. }
            | Op::HugePool { .. }
            | Op::Look(_)
            | Op::Exit => unreachable!("may end without being done"),
            Op::Munmap { region } => {
                self.mem.acting.now += self.mem.given.cost.t_syscall;
                self.mem.munmap(&mut *self.policies.lru, space, region);
                self.mem.settle_kernel();
            }
            Op::Sleep(d) => {
                self.work.threads[tid].progress.record_clock.sleep(d);
                self.sleep(tid, d, false);
            }
            Op::SleepUntil(at) => {
                if at > self.mem.acting.now {
                    let d = at.since(self.mem.acting.now);
                    self.work.threads[tid].progress.record_clock.sleep(d);
                    self.sleep(tid, d, false);
                }
            }
            Op::PhaseEnd(i) => self.phase_of_task_ends(tid, i),
            Op::MemcgReclaim { memcg, pages, swappiness } => {
                let own = Some(self.mem.virt.spaces[space].memcg).filter(|m| m.0 != 0);
                if let Some(memcg) = memcg.or(own) {
                    self.memory_reclaim(tid, memcg, pages.into(), swappiness);
                }
            }

            Op::DropCaches => {
                self.mem.drop_caches(&mut *self.policies.lru);
            }
            Op::KernelFree { handle } => self.kernel_free(tid, handle),
            Op::KernelSplit { handle } => self.kernel_split(tid, handle),
            Op::KernelTake { pfn, handle } => self.kernel_take(tid, pfn, handle),
            Op::CompactMemory => self.compact_memory(),
            Op::Sysctl(write) => self.write_sysctl(write),
            Op::LruGen(write) => self.write_lru_gen(tid, write),
            Op::Survey { order } => self.survey(order),
            Op::KdamondOn(id) => {
                self.mem.acting.now += self.mem.given.cost.t_syscall;
                self.start_kdamond(id);
            }
            Op::KdamondNote(id, what) => {
                self.mem.acting.now += self.mem.given.cost.t_syscall;
                self.note_kdamond(tid, id, what);
            }
            Op::MemoryStat => self.memory_stat_is_read(),
            Op::DrainPcp => self.mem.drain_pcp(),
            Op::FreeBlocks => self.free_blocks(tid),
        }
    }

    fn map_region(
        &mut self,
        tid: ThreadId,
        region: RegionId,
        (pages, kind): (u32, MapKind),
        mut flags: VmaFlags,
        at: Option<u64>,
    ) -> Outcome {
        let space = self.work.threads[tid].space;
        let (kind, pages) = match kind {
            MapKind::Anon => (VmaKind::Anon, pages),
            MapKind::HugeTlb => (VmaKind::HugeTlb, pages.next_multiple_of(GROUP_PAGES)),
            MapKind::Shmem { file, offset } => {
                let file = self.file_of(tid, file.0);
                let shmem = self.mem.cache.files.shmem_of(file);
                shmem.mappings += 1;
                shmem.mapper.get_or_insert((space, region.0, offset));
                (VmaKind::Shmem { file, offset }, pages)
            }
            MapKind::File { file, offset, shared } => {
                let file = self.file_of(tid, file.0);
                flags.noreuse = self.mem.cache.files[file].ra.noreuse;
                (VmaKind::File { file, offset, shared }, pages)
            }
        };
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        if kind == VmaKind::HugeTlb && !self.reserve_huge_pages(space, pages) {
            return Err(Undone::Killed);
        }
        let all = &mut self.mem.virt.pages;
        let id = self.mem.virt.spaces.mmap(all, space, region, pages, kind, flags, at);
        if flags.locked {
            let vma = self.mem.virt.spaces.vma(id);
            let all = vma.start.0..vma.end().0;
            self.mem.tell_of_mlock(id, all, true);
        }
        Ok(())
    }

    /// A phase ends, of the process that a thread belongs to.
    fn phase_of_task_ends(&mut self, tid: ThreadId, i: u16) {
        let of = self.work.threads[tid].task;
        let task = &self.work.tasks[of];
        let phase = task
            .phases
            .get(usize::from(i))
            .cloned()
            .unwrap_or_else(|| panic!("{}: phase {i} of {}", task.name, task.phases.len()));
        let several = self.work.tasks.iter().filter(|t| !t.phases.is_empty()).nth(1).is_some();
        let name = if several { format!("{}/{phase}", task.name) } else { phase };
        self.end_phase(name, of, self.now());
        let now = self.now().0;
        self.work.threads[tid].progress.record_clock.begin(now);
    }

    /// The access that stopped a walk: its page is no hit. The thread is moved on by whoever asked.
    #[inline]
    pub(super) fn access(&mut self, tid: ThreadId) -> Outcome {
        let t = &self.work.threads[tid];
        let missed = t.progress.missed();
        let run = missed.run;
        let place = &t.place;
        if run.first.checked_add(run.count).is_none_or(|end| end > place.pages) {
            self.beyond(tid, run);
        }
        let page = PageIdx(missed.page(place.start.0) as u32);
        let touch = Touch::by(tid, t, page, place.vma, run.write);
        self.fault(touch)?;
        self.record.access(&mut self.mem, page);
        self.mem.acting.now += self.mem.given.cost.t_hit;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn beyond(&self, tid: ThreadId, run: Run) {
        let (first, count) = (run.first, run.count);
        let pages = self.work.threads[tid].place.pages;
        panic!(
            "{}: pages {first}..+{count} of {:?}, which has {pages}",
            self.work.threads[tid].name, run.region
        );
    }

    /// An access to a region that is not mapped.
    #[cold]
    fn unmapped(&self, tid: ThreadId, region: RegionId) -> ! {
        panic!("{}: {region:?} is not mapped", self.work.threads[tid].name)
    }

    /// The file that a thread calls by a number.
    pub(super) fn file_of(&self, tid: ThreadId, file: u16) -> FileId {
        self.work.tasks[self.work.threads[tid].task].files[usize::from(file)]
    }

    /// One page of a read or write through the cache.
    pub(super) fn pages_of_file(
        &mut self,
        tid: ThreadId,
        file: u16,
        first: u32,
        count: u32,
        write: bool,
    ) -> Outcome {
        let f = self.file_of(tid, file);
        let done = self.work.threads[tid].progress.done;
        if done == 0 {
            self.mem.acting.now += self.mem.given.cost.t_syscall;
        }
        let index = first + done;
        let ahead = AHEAD as u32;
        if done.is_multiple_of(ahead) {
            self.mem.prefetch_file_pages(f, index..index + ahead.min(count - done));
        }
        let at = PageIdx(self.mem.cache.files[f].base.0 + index);
        let flow = if self.mem.cache.files[f].shmem.is_some() {
            if write { self.write_shmem(tid, at) } else { self.read_shmem(tid, at) }
        } else if write {
            self.write_page(tid, f, index)
        } else if self.mem.memcgs.journals.admits() {
            self.read_admitted(tid, f, index, count - done, done == 0)
        } else {
            self.read_page(tid, f, index, count - done, done == 0)
        };
        if flow.is_ok() {
            let page = PageIdx(self.mem.cache.files[f].base.0 + index);
            if self.record.accesses {
                self.record.contents.file_access(page, write);
            }
            self.mem.tell_of_file_use(page);
            self.record.resident(&self.mem);
            let progress = &mut self.work.threads[tid].progress;
            progress.accesses += 1;
            progress.done = (done + 1) % count;
            self.work.done.0 += 1;
        }
        flow
    }

    fn barrier(&mut self, tid: ThreadId) -> Outcome {
        let task = self.work.tasks[self.work.threads[tid].task].meets;
        // The last one to come goes straight on.
        if self.open_barrier(task, 1) {
            return Ok(());
        }
        self.work.tasks[task].waiting += 1;
        self.block(tid, Wait::Barrier, false);
        Ok(())
    }

    /// Lets the threads go on that meet at the barriers of a process, if all living ones have come,
    /// `more` besides those that wait already.
    fn open_barrier(&mut self, task: usize, more: u32) -> bool {
        let work = &self.work;
        let meeting = work.tasks[task..].iter().take_while(|t| t.meets == task);
        let all: Vec<ThreadId> = meeting.flat_map(|t| t.threads.iter().copied()).collect();
        let living = all.iter().filter(|&&t| work.threads[t].wait != Wait::Finished).count();
        if ((work.tasks[task].waiting + more) as usize) < living {
            return false;
        }
        self.work.tasks[task].waiting = 0;
        for t in all {
            if self.work.threads[t].wait == Wait::Barrier {
                let waited =
                    self.mem.acting.now.0.saturating_sub(self.work.threads[t].waits_since.0);
                self.work.threads[t].progress.record_clock.sleep(SimDuration(waited));
                self.wake(t);
            }
        }
        true
    }

    /// A thread has no more work; the last one of a process frees its memory.
    pub(super) fn finish(&mut self, tid: ThreadId) {
        let now = self.mem.acting.now;
        self.retire(tid, now);
        let task = self.work.threads[tid].task;
        self.open_barrier(self.work.tasks[task].meets, 0);
        let space = self.work.threads[tid].space;
        let all = self.work.tasks[task]
            .threads
            .iter()
            .all(|&t| self.work.threads[t].wait == Wait::Finished);
        // The last process keeps its memory: the state at the end of the work is what a
        // report shows.
        if all && self.work.live > 0 {
            self.free_space(space);
        }
    }

    fn retire(&mut self, tid: ThreadId, now: SimTime) {
        let t = &mut self.work.threads[tid];
        if t.wait == Wait::Finished {
            return;
        }
        let (by, from) = ((t.cpu, t.memcg), std::mem::replace(&mut t.psi, Psi::Idle));
        t.wait = Wait::Finished;
        t.finished = now;
        let daemon = t.daemon.is_some();
        self.drop_fault(tid);
        self.work.live -= u32::from(!daemon);
        self.sched.psi.change(by, now, from, Psi::Idle);
    }

    /// Ends a process now: its threads stop, its memory is freed.
    pub(super) fn kill(&mut self, space: AsId) {
        let now = self.mem.acting.now;
        let mut meets = None;
        for t in self.work.threads.ids().collect::<Vec<_>>() {
            if self.work.threads[t].space == space && self.work.threads[t].wait != Wait::Finished {
                // What it did last may have ended later than the clock of whoever ends it.
                let (cpu, since) = (self.work.threads[t].cpu, self.work.threads[t].waits_since);
                let last = match self.work.threads[t].wait {
                    Wait::Not => since.max(self.sched.cpus[cpu].clock),
                    _ => since,
                };
                let task = self.work.tasks[self.work.threads[t].task].meets;
                let waited = self.work.threads[t].wait == Wait::Barrier;
                self.work.tasks[task].waiting -= u32::from(waited);
                meets = Some(task);
                self.retire(t, now);
                self.work.threads[t].finished = now.max(last);
                for cpu in self.sched.cpus.ids() {
                    self.sched.cpus[cpu].remove(Entity::Thread(t));
                    self.sched.order.changed(cpu, &self.sched.cpus[cpu]);
                }
                for w in self.work.waiters.values_mut() {
                    w.retain(|&x| x != t);
                }
            }
        }
        self.free_space(space);
        // Others may have waited at a barrier for this process alone.
        if let Some(task) = meets.filter(|&t| self.work.tasks[t].waiting > 0) {
            self.open_barrier(task, 0);
        }
    }

    fn free_space(&mut self, space: AsId) {
        if !std::mem::replace(&mut self.mem.virt.spaces[space].dead, true) {
            self.process_left(space);
        }
        for r in self.mem.virt.spaces.regions(space) {
            self.mem.munmap(&mut *self.policies.lru, space, r);
        }
        self.mem.settle_kernel();
    }
}
