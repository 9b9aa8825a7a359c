//! The run loop: which CPU is next, slices, run-ahead, and the operations of workloads.
//!
//! Each CPU has a clock. The next to act is the CPU with the earliest clock (ties: kernel
//! threads first, then by thread number), unless a queued event is due before. A thread
//! executes hits in a run, up to the next event, to the end of its slice if others want
//! its CPU, and to `run_ahead` past the earliest other CPU. Anything but a hit waits until
//! its CPU is the earliest of all and is tried anew then. With `run_ahead = 0` no hit ever
//! overtakes another CPU: the strict mode.

use super::Machine;
use super::fault::Flow;
use super::psi::Psi;
use super::queue::Event;
use super::result::RunResult;
use super::thread::{Entity, Wait};
use super::{SampleFn, Watch};
use crate::base::event::TraceEvent;
use crate::base::id::{CpuId, ThreadId};
use crate::base::time::SimTime;
use crate::memory::IoDone;
use crate::virt::pages::pte;
use crate::workload::{Op, RegionId, WorkloadCx};

/// Why a thread stopped executing hits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// Its bound is reached.
    Bound,
    /// The next thing is no hit.
    NotAHit,
}

impl Machine {
    /// Runs all workloads to their ends.
    pub fn run(&mut self, watch: Watch) -> RunResult {
        self.watch = watch;
        self.mem.tracer.set_observer(self.watch.observer.take());
        if let Some((every, _)) = &self.watch.sample {
            self.queue.push(SimTime(every.0), Event::Sample);
        }
        self.main_loop();
        if self.watch.check_every > 0 {
            self.check();
        }
        self.mem.tracer.set_observer(None);
        self.sample(self.threads.iter().map(|t| t.finished).max().unwrap_or_default());
        self.result()
    }

    fn main_loop(&mut self) {
        let mut progress_at = 1 << 20;
        while self.live > 0 {
            let due = self.queue.next();
            let Some(cpu) = self.earliest_cpu() else {
                assert!(due != SimTime::NEVER, "threads wait and nothing will wake them");
                self.handle_event();
                continue;
            };
            if due <= self.cpus[cpu].clock {
                self.handle_event();
            } else {
                self.step_cpu(cpu, due);
            }
            if self.watch.progress.is_some() {
                let done = self.work_done().0;
                if done >= progress_at {
                    progress_at = done + (1 << 20);
                    if let Some(p) = &mut self.watch.progress {
                        p(done);
                    }
                }
            }
        }
    }

    /// The CPU that acts next: the earliest clock; kernel threads before threads of
    /// workloads, these by number.
    fn earliest_cpu(&self) -> Option<usize> {
        let mut best: Option<(SimTime, Entity, usize)> = None;
        for (i, c) in self.cpus.iter().enumerate() {
            let Some(e) = c.next() else { continue };
            if best.is_none_or(|b| (c.clock, e) < (b.0, b.1)) {
                best = Some((c.clock, e, i));
            }
        }
        best.map(|b| b.2)
    }

    /// The earliest clock among busy CPUs other than `cpu`.
    #[inline]
    fn earliest_other(&self, cpu: usize) -> SimTime {
        if self.cpus.len() == 1 {
            return SimTime::NEVER;
        }
        let others = self.cpus.iter().enumerate().filter(|&(i, c)| i != cpu && !c.idle());
        others.map(|(_, c)| c.clock).min().unwrap_or(SimTime::NEVER)
    }

    // ---- events ----

    fn handle_event(&mut self) {
        let (at, event) = self.queue.pop().expect("an event is due");
        self.mem.now = at;
        match event {
            Event::Io(done) => {
                // Interrupts are served on the first CPU.
                self.mem.cpu = CpuId(0);
                self.end_io(done);
                self.mem.now = at;
            }
            Event::Wake(t, g) => {
                if self.threads[t].wait == Wait::Timer(g) {
                    self.wake(t);
                }
            }
            Event::Start(t) => self.wake(t),
            Event::Kswapd(n, g) => self.kswapd_timer(n, g),
            Event::Flusher => self.flusher_period(),
            Event::Sample => {
                self.sample(at);
                if let Some((every, _)) = &self.watch.sample {
                    let every = *every;
                    self.queue.push(at + every, Event::Sample);
                }
            }
        }
    }

    /// A device request ended: whoever waits for the folio goes on.
    fn end_io(&mut self, done: IoDone) {
        if let Some(folio) = self.mem.io_done(&mut *self.policy, done) {
            for t in self.waiters.remove(&folio).unwrap_or_default() {
                if self.threads[t].wait == Wait::Folio(folio) {
                    self.wake(t);
                }
            }
        }
    }

    /// Interrupts that fall into a long step: ends of requests that are due by now. Steps
    /// are atomic for other threads, but a device does not wait for them.
    pub(super) fn interrupts(&mut self) {
        self.queue_io();
        while let Some(done) = self.queue.pop_io(self.mem.now) {
            self.end_io(done);
        }
    }

    fn sample(&mut self, at: SimTime) {
        let Some((every, mut f)) = self.watch.sample.take() else { return };
        let mark = self.take_mark(at);
        let mut gauges = self.gauges();
        gauges.push(("sim_pressure_some_us", mark.pressure.some_us));
        gauges.push(("sim_pressure_full_us", mark.pressure.full_us));
        f(at, &mark.vmstat, &gauges);
        let f: SampleFn = f;
        self.watch.sample = Some((every, f));
    }

    /// Queues the ends of the requests that the current step submitted.
    #[inline]
    pub(super) fn queue_io(&mut self) {
        if !self.mem.io.is_empty() {
            self.queue_submitted();
        }
    }

    #[inline(never)]
    fn queue_submitted(&mut self) {
        let mut io = std::mem::take(&mut self.mem.io);
        for (at, done) in io.drain(..) {
            self.queue.push(at, Event::Io(done));
        }
        self.mem.io = io;
    }

    // ---- waiting and waking ----

    /// Takes the running thread off its CPU.
    pub(super) fn block(&mut self, tid: ThreadId, wait: Wait, memory: bool) {
        let now = self.mem.now;
        let t = &mut self.threads[tid];
        debug_assert_eq!(t.wait, Wait::Not, "{tid} waits twice");
        t.wait = wait;
        t.waits_since = now;
        let psi = match (wait, memory) {
            (_, true) => Psi::MemStall,
            (Wait::Folio(_), false) => Psi::IoWait,
            _ => Psi::Idle,
        };
        let from = std::mem::replace(&mut t.psi, psi);
        self.psi.change(t.cpu.0.into(), now, from, psi);
    }

    /// Makes a waiting thread runnable: on its CPU, or on an idle one.
    pub(super) fn wake(&mut self, tid: ThreadId) {
        let now = self.mem.now;
        let t = &mut self.threads[tid];
        let waited = now.since(t.waits_since);
        match t.wait {
            Wait::Not | Wait::Finished => return,
            Wait::Folio(_) => t.io_wait += waited,
            Wait::Pfmemalloc(_) => t.throttled += waited,
            Wait::Timer(_) if t.psi == Psi::MemStall => t.throttled += waited,
            Wait::Timer(_) | Wait::Barrier => {}
        }
        t.wait = Wait::Not;
        let from = std::mem::replace(&mut t.psi, Psi::Running);
        let old = usize::from(t.cpu.0);
        self.psi.change(old, now, from, Psi::Idle);
        let cpu = if self.cpus[old].idle() {
            old
        } else {
            self.cpus.iter().position(|c| c.idle()).unwrap_or(old)
        };
        self.threads[tid].cpu = CpuId(cpu as u16);
        self.psi.change(cpu, now, Psi::Idle, Psi::Running);
        self.enqueue(cpu, Entity::Thread(tid), now);
    }

    fn enqueue(&mut self, cpu: usize, e: Entity, now: SimTime) {
        let v = self.virtuals.get(&e).copied().unwrap_or_default();
        self.cpus[cpu].enqueue(e, v, now);
    }

    /// Puts a kernel thread on an idle CPU, or in line on the acting one. Returns the CPU.
    pub(super) fn enqueue_daemon(&mut self, e: Entity) -> usize {
        let now = self.mem.now;
        let acting = usize::from(self.mem.cpu.0);
        let cpu = self.cpus.iter().position(|c| c.idle()).unwrap_or(acting);
        self.enqueue(cpu, e, now);
        cpu
    }

    // ---- one CPU ----

    fn step_cpu(&mut self, cpu: usize, due: SimTime) {
        let turns = self.cpus[cpu].current().is_none();
        let e = match self.cpus[cpu].current() {
            Some(e) => e,
            None => {
                let (e, left) = self.cpus[cpu].take_next();
                self.virtuals.extend(left);
                let Some(e) = e else { return };
                e
            }
        };
        self.mem.cpu = CpuId(cpu as u16);
        self.mem.now = self.cpus[cpu].clock;
        if turns {
            let thread = if let Entity::Thread(t) = e { Some(t) } else { None };
            self.mem.emit(|| TraceEvent::SchedSwitch { cpu: CpuId(cpu as u16), thread });
        }
        let goes_on = match e {
            Entity::Thread(t) => {
                let mut due = due;
                loop {
                    let goes_on = self.step_thread(t, cpu, due);
                    due = self.queue.next();
                    if !goes_on || !self.is_next(cpu, due) {
                        break goes_on;
                    }
                }
            }
            Entity::Kswapd(n) => self.step_kswapd(n),
            Entity::Flusher => self.step_flusher(),
        };
        let c = &mut self.cpus[cpu];
        c.clock = self.mem.now;
        if goes_on {
            c.yield_if_due();
        } else {
            let left = c.dequeue();
            self.virtuals.extend(left);
        }
    }

    /// Whether the main loop would find the same thread again: nobody else wants its CPU,
    /// no other CPU is as early, nothing is due, and nobody looks in between.
    #[inline]
    fn is_next(&self, cpu: usize, due: SimTime) -> bool {
        let now = self.mem.now;
        self.watch.progress.is_none()
            && !self.cpus[cpu].contended()
            && now < due
            && now < self.earliest_other(cpu)
    }

    /// Runs a thread: hits up to its bound, then, if it is still the earliest, one thing
    /// that is no hit. False: it left the CPU.
    fn step_thread(&mut self, tid: ThreadId, cpu: usize, due: SimTime) -> bool {
        let start = self.mem.now;
        let other = self.earliest_other(cpu);
        // Of several earliest CPUs this one is first: it may at least begin an access.
        let ahead = (other + self.config.run_ahead).max(SimTime(start.0 + 1));
        let mut bound = due.min(ahead);
        if self.cpus[cpu].contended() {
            bound = bound.min(self.cpus[cpu].slice_end().max(start));
        }
        let stop = self.run_hits(tid, bound);
        self.threads[tid].user += self.mem.now.since(start);
        let earliest = self.mem.now <= other && self.mem.now < due;
        if stop == Stop::Bound || !(earliest || self.mem.now == start) {
            return true;
        }
        let before = self.mem.now;
        self.steps += 1;
        let flow = self.step_slow(tid);
        let t = &mut self.threads[tid];
        t.system += self.mem.now.since(before);
        if t.wait == Wait::Finished {
            // Giving its memory back is the last thing that a thread does.
            t.finished = t.finished.max(self.mem.now);
        }
        if self.watch.check_every > 0 && self.steps.is_multiple_of(self.watch.check_every) {
            self.check();
        }
        flow != Flow::Killed && self.threads[tid].wait == Wait::Not
    }

    /// Executes accesses that hit, and pure computation, until the bound.
    ///
    /// Most operations are single pages of one region: its start is looked up once, and
    /// what is counted stays in registers until the end.
    fn run_hits(&mut self, tid: ThreadId, bound: SimTime) -> Stop {
        let t_hit = self.mem.cost.t_hit.0;
        let t = &mut self.threads[tid];
        let space = t.space;
        let mem = &mut self.mem;
        let mut now = mem.now.0;
        let record = self.watch.record_accesses;
        let mut accesses = 0;
        let mut known: Option<(RegionId, u32)> = None;
        let mut next = t.next;
        let stop = loop {
            let Some(op) = t.ops.get(next) else { break Stop::NotAHit };
            if now >= bound.0 {
                break Stop::Bound;
            }
            match *op {
                Op::Access(run) => {
                    let start = match known {
                        Some((r, start)) if r == run.region => start,
                        _ => {
                            let Some(vma) = mem.spaces.region(space, run.region) else {
                                break Stop::NotAHit;
                            };
                            let start = mem.spaces.vma(vma).start.0;
                            known = Some((run.region, start));
                            start
                        }
                    };
                    if run.count == 1 {
                        let page = start + run.first;
                        if !hit(&mut mem.pages.hot[page as usize], run.write) {
                            break Stop::NotAHit;
                        }
                        if record {
                            self.recorded.push(page);
                        }
                        now += t_hit;
                        accesses += 1;
                        next += 1;
                        continue;
                    }
                    let left = run.count - t.done;
                    // As many pages as begin before the bound.
                    let fits = if t_hit == 0 {
                        left
                    } else {
                        u64::from(left).min((bound.0 - now).div_ceil(t_hit)) as u32
                    };
                    let first = (start + run.first + t.done) as usize;
                    let hits = hit_run(&mut mem.pages.hot[first..first + fits as usize], run.write);
                    if record && hits > 0 {
                        let pages = first as u32..first as u32 + hits;
                        self.recorded.extend(pages);
                    }
                    now += u64::from(hits) * t_hit;
                    accesses += u64::from(hits);
                    t.done += hits;
                    if t.done == run.count {
                        t.done = 0;
                        next += 1;
                    } else if hits < fits {
                        break Stop::NotAHit;
                    }
                }
                Op::Compute(d) => {
                    // Computation may run past the bound: nobody can see it.
                    now += d.0;
                    next += 1;
                }
                Op::Records(n) => {
                    t.records += u64::from(n);
                    next += 1;
                }
                _ => break Stop::NotAHit,
            }
        };
        t.next = next;
        t.accesses += accesses;
        mem.now = SimTime(now);
        stop
    }

    /// Whatever is no hit: asks for operations, or executes one.
    fn step_slow(&mut self, tid: ThreadId) -> Flow {
        let t = &mut self.threads[tid];
        let Some(&op) = t.ops.get(t.next) else {
            t.ops.clear();
            t.next = 0;
            let cx = WorkloadCx { now: self.mem.now, free_pages: self.mem.zones.nr_free() };
            t.workload.fill(&cx, &mut t.rng, &mut t.ops);
            if t.ops.is_empty() {
                self.finish(tid);
            }
            return Flow::Done;
        };
        let flow = self.execute(tid, op);
        if flow == Flow::Done {
            let t = &mut self.threads[tid];
            // Operations on several pages count them in `done` and finish at the last.
            if t.done == 0 {
                t.next += 1;
            }
        }
        self.queue_io();
        flow
    }
}

/// The bits that a hit needs and those that it sets.
#[inline(always)]
const fn bits_of(write: bool) -> (u8, u8) {
    // Without a branch: whether an access writes is as good as random.
    let w = write as u8;
    (pte::PRESENT | (w * pte::WRITABLE), pte::YOUNG | (w * pte::DIRTY))
}

/// Touches a page as hardware does, if it hits.
#[inline(always)]
pub(super) fn hit(hot: &mut u8, write: bool) -> bool {
    let (need, set) = bits_of(write);
    let hits = *hot & need == need;
    if hits {
        *hot |= set;
    }
    hits
}

/// Touches pages as hardware does, as far as they hit: sets their young and dirty bits.
/// Returns how many did. Whole blocks of hits are done without a branch per page.
#[inline]
pub(super) fn hit_run(hot: &mut [u8], write: bool) -> u32 {
    let (need, set) = bits_of(write);
    let mut done = 0;
    if hot.len() >= 32 {
        for block in hot.chunks_exact_mut(32) {
            let all = block.iter().fold(0xff, |a, &h| a & h);
            if all & need != need {
                break;
            }
            block.iter_mut().for_each(|h| *h |= set);
            done += 32;
        }
    }
    for h in &mut hot[done..] {
        if *h & need != need {
            break;
        }
        *h |= set;
        done += 1;
    }
    done as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_hits_stops_at_the_first_miss() {
        for miss in [0, 1, 31, 32, 33, 63, 64, 99] {
            let mut hot = vec![pte::PRESENT | pte::WRITABLE; 100];
            hot[miss] = 0;
            assert_eq!(hit_run(&mut hot, true), miss as u32);
            let done = pte::PRESENT | pte::WRITABLE | pte::YOUNG | pte::DIRTY;
            assert!(hot[..miss].iter().all(|&h| h == done));
            assert!(hot[miss + 1..].iter().all(|&h| h == pte::PRESENT | pte::WRITABLE));
        }
    }

    #[test]
    fn a_read_needs_no_write_permission_and_leaves_no_dirt() {
        let mut hot = vec![pte::PRESENT; 3];
        assert_eq!(hit_run(&mut hot, true), 0);
        assert_eq!(hit_run(&mut hot, false), 3);
        assert_eq!(hot, vec![pte::PRESENT | pte::YOUNG; 3]);
    }
}
