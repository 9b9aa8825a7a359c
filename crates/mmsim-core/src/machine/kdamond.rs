//! Monitors of accesses, as threads of the machine.
//!
//! A monitor is woken by its timer, stands in line for a CPU with everybody else, and pays on that
//! CPU's clock for what it does. Each of its steps is atomic.
//!
//! Source: Linux 6.12 mm/damon/core.c (`kdamond_fn`), mm/madvise.c (`do_madvise`,
//! `madvise_walk_vmas`). Deviations: `MADV_WILLNEED` given by a monitor reads only while free frames
//! last above the low watermark, and only anonymous memory.

use super::Machine;
use super::cpu::queue::Event;
use super::cpu::thread::{Entity, Wait};
use super::watch::psi::Psi;
use crate::backing::swap::Cached;
use crate::base::digest::Digest;
use crate::base::id::{AsId, CpuId, KdamondId, NodeId, PageIdx, SwapSlot, ThreadId, VmaId};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::memory::Memory;
use crate::phys::frames::FolioId;
use crate::phys::gfp::AllocRequest;
use crate::phys::watermarks::Mark;
use crate::policy::ReclaimPolicy;
use crate::policy::monitor::{Doors, Monitor, Next};
use crate::virt::space::VmaKind;
use crate::workload::Advice;
use crate::workload::Note;
use std::ops::Range;

/// Where a monitor is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Waits to be started.
    Off,
    Running,
    Ended,
}

/// A monitor, and what the machine knows of its thread.
pub(super) struct Kdamond {
    /// Taken out while it acts.
    monitor: Option<Box<dyn Monitor>>,
    state: State,
    /// The CPU that it ran on last.
    pub cpu: CpuId,
    /// CPU time so far.
    used: SimDuration,
    /// Threads that wait for a note, with its number.
    waiting: Vec<(u64, ThreadId)>,
    /// Notes asked for.
    asked: u64,
}

impl Machine {
    /// Gives the machine a monitor, whose first step is at `start`; without, it waits for
    /// [`Op::KdamondOn`](crate::workload::Op::KdamondOn).
    pub fn add_monitor(&mut self, start: Option<SimTime>, monitor: Box<dyn Monitor>) -> KdamondId {
        let id = self.daemons.kdamonds.push(Kdamond {
            monitor: Some(monitor),
            state: State::Off,
            cpu: CpuId(0),
            used: SimDuration::ZERO,
            waiting: Vec::new(),
            asked: 0,
        });
        if let Some(start) = start {
            self.daemons.kdamonds[id].state = State::Running;
            self.events.queue.push(start, Event::Kdamond(id));
        }
        id
    }

    /// A thread starts it.
    pub(super) fn start_kdamond(&mut self, id: KdamondId) {
        if self.daemons.kdamonds[id].state == State::Off {
            self.daemons.kdamonds[id].state = State::Running;
            self.events.queue.push(self.mem.acting.now, Event::Kdamond(id));
        }
    }

    /// A thread asks for a note and waits for it.
    pub(super) fn note_kdamond(&mut self, tid: ThreadId, id: KdamondId, what: Note) {
        let k = &mut self.daemons.kdamonds[id];
        if k.state == State::Running
            && let Some(m) = &mut k.monitor
        {
            m.request_note(what);
            k.asked += 1;
            k.waiting.push((k.asked, tid));
            self.block(tid, Wait::Kdamond(id), false);
        }
    }

    /// Threads go on whose notes are there; all of them if none will come any more.
    fn wake_readers(&mut self, id: KdamondId) {
        let k = &mut self.daemons.kdamonds[id];
        let ended = k.state == State::Ended;
        let notes = k.monitor.as_ref().map_or(0, |m| m.notes());
        let (ready, rest) = std::mem::take(&mut k.waiting)
            .into_iter()
            .partition::<Vec<_>, _>(|&(number, _)| ended || number <= notes);
        k.waiting = rest;
        for (_, tid) in ready {
            if self.work.threads[tid].wait == Wait::Kdamond(id) {
                self.wake(tid);
            }
        }
    }

    /// A monitor, and the CPU time that it has used so far.
    ///
    /// # Panics
    /// If there is no such monitor.
    pub fn monitor(&self, id: KdamondId) -> (&dyn Monitor, SimDuration) {
        let k = &self.daemons.kdamonds[id];
        let Some(monitor) = k.monitor.as_deref() else { panic!("{id} acts") };
        (monitor, k.used)
    }

    /// All monitors.
    pub fn monitors(&self) -> impl Iterator<Item = KdamondId> + use<> {
        self.daemons.kdamonds.ids()
    }

    pub(super) fn digest_kdamonds(&self, d: &mut Digest) {
        for k in self.daemons.kdamonds.iter() {
            d.words([k.used.0, k.state as u64]);
            if let Some(m) = &k.monitor {
                m.digest(d);
            }
        }
    }

    pub(super) fn check_kdamonds(&self) {
        self.daemons.kdamonds.iter().filter_map(|k| k.monitor.as_ref()).for_each(|m| m.check());
    }

    /// Its sleep is over.
    pub(super) fn wake_kdamond(&mut self, id: KdamondId) {
        self.daemons.kdamonds[id].cpu = self.enqueue_daemon(Entity::Kdamond(id));
        self.psi_of_kernel(self.daemons.kdamonds[id].cpu, Psi::Idle, Psi::Running);
    }

    /// One step of a monitor on its CPU. False: it sleeps now, or has ended.
    pub(super) fn step_kdamond(&mut self, id: KdamondId) -> bool {
        let Some(mut monitor) = self.daemons.kdamonds[id].monitor.take() else {
            unreachable!("{id} has ended or acts, and was run")
        };
        let begin = self.mem.acting.now;
        let next = monitor.step(self);
        self.interrupts();
        let sleeps = self.mem.take_throttled();
        let used = self.mem.acting.now.since(begin);
        let k = &mut self.daemons.kdamonds[id];
        k.monitor = Some(monitor);
        k.used += used;
        if next == Next::Exit {
            k.state = State::Ended;
        }
        if !k.waiting.is_empty() {
            self.wake_readers(id);
        }
        let until = match (next, sleeps) {
            (Next::Again, None) => return true,
            (Next::Again, sleeps) => sleeps,
            (Next::Sleep(until), sleeps) => Some(until.max(self.mem.acting.now)).max(sleeps),
            (Next::Exit, _) => None,
        };
        if let Some(until) = until {
            self.events.queue.push(until, Event::Kdamond(id));
        }
        self.psi_of_kernel(self.daemons.kdamonds[id].cpu, Psi::Running, Psi::Idle);
        false
    }

    /// Advice about a part of one mapping that lies in it, given by a monitor.
    fn advise_vma(&mut self, id: VmaId, range: Range<u32>, advice: Advice) {
        let vma = self.mem.virt.spaces.vma(id);
        let (locked, anon) = (vma.locks_any(range.clone()), vma.kind == VmaKind::Anon);
        match advice {
            Advice::HugePage | Advice::NoHugePage => {
                self.mem.virt.spaces.vma_mut(id).huge = Some(advice == Advice::HugePage);
            }
            Advice::Cold if !locked => self.make_cold(range, false),
            Advice::PageOut if !locked => self.make_cold(range, true),
            Advice::WillNeed if anon => self.read_while_free(id, range),
            _ => {}
        }
    }
}

impl Doors for Machine {
    fn memory(&self) -> &Memory {
        &self.mem
    }

    fn parts(&mut self) -> (&mut Memory, &mut dyn ReclaimPolicy) {
        (&mut self.mem, &mut *self.policies.lru)
    }

    fn madvise(&mut self, space: AsId, pages: Range<u64>, advice: Advice) -> bool {
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        if self.mem.virt.spaces[space].dead {
            return false;
        }
        let mut at = pages.start;
        let mut whole = true;
        for (first, end, id) in self.mem.virt.spaces.mappings(&self.mem.virt.pages, space) {
            let (from, to) = (first.max(pages.start), end.min(pages.end));
            if from >= to {
                continue;
            }
            whole &= from == at;
            at = to;
            let stays = matches!(advice, Advice::Cold | Advice::PageOut);
            let vma = self.mem.virt.spaces.vma(id);
            let start = vma.start.0;
            let of = |va: u64| start + (va - first) as u32;
            let range = of(from)..of(to);
            if stays && (vma.locks_any(range.clone()) || vma.kind == VmaKind::HugeTlb) {
                // Refused, and the rest of the range with it.
                return false;
            }
            self.advise_vma(id, range, advice);
        }
        whole && at == pages.end
    }

    fn reclaim_pages(&mut self, folios: &[FolioId], ignore_references: bool) -> u64 {
        self.reclaim_isolated(folios, ignore_references)
    }

    fn migrate_pages(&mut self, folios: &[FolioId], node: NodeId) -> u64 {
        let tried = |m: &Machine| {
            m.mem.stats.vmstat[VmEvent::PgMigrateSuccess]
                + m.mem.stats.vmstat[VmEvent::PgMigrateFail]
        };
        let (mut moved, before) = (0, tried(self));
        for &folio in folios {
            let there = self.mem.node_of(folio) == node;
            if !there && self.mem.migrate_to_node(&mut *self.policies.lru, folio, node) {
                moved += 1;
            } else {
                self.mem.put_back(&mut *self.policies.lru, folio);
            }
        }
        self.record.moved_by_monitors += tried(self) - before;
        moved
    }

    fn put_back(&mut self, folios: &[FolioId]) -> u64 {
        folios.iter().for_each(|&f| self.mem.put_back(&mut *self.policies.lru, f));
        0
    }

    fn some_us(&mut self) -> u64 {
        self.sched.psi.total(self.mem.acting.now).some_us
    }
}

impl Machine {
    /// `WILLNEED` for another process's memory: reads from swap what free frames can take.
    fn read_while_free(&mut self, id: VmaId, range: Range<u32>) {
        self.record.prefetched = true;
        for p in range {
            let page = PageIdx(p);
            let Some(slot) = self.mem.virt.pages.swap_entry(page) else { continue };
            if !self.read_into_swapcache(page, slot, id) {
                break;
            }
        }
        self.mem.lru_drain(&mut *self.policies.lru);
        self.mem.settle_kernel();
    }

    /// Reads a slot into the swap cache. False: no frame is free for it.
    fn read_into_swapcache(&mut self, page: PageIdx, slot: SwapSlot, vma: VmaId) -> bool {
        let swap = self.mem.swap.as_ref().expect("a swap entry without swap");
        if matches!(swap.cached(slot), Cached::Folio(_)) {
            return true;
        }
        let memcg = self.mem.virt.spaces[self.mem.virt.spaces.vma(vma).space].memcg;
        if self.mem.memcgs.failing_level(memcg, 1).is_some() {
            return false;
        }
        let node = self.home_node();
        let Some(pfn) = self.mem.try_alloc(node, &AllocRequest::USER, Some(Mark::Low)) else {
            return false;
        };
        self.mem.frames.set_memcg(pfn, memcg);
        self.mem.memcgs.charge(memcg, 1);
        self.enter_swapcache(pfn, slot, Some(page), Some(vma), false);
        self.submit_swap_reads(&[(slot, pfn)]);
        self.queue_io();
        true
    }
}
