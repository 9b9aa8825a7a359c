//! The run loop: which CPU is next, slices, run-ahead, and the operations of workloads.
//!
//! Each CPU has a clock. The next to act is the CPU with the earliest clock (ties: kernel
//! threads first, then by thread number), unless a queued event is due before. A thread
//! executes hits in a run, up to the next event, to the end of its slice if others want
//! its CPU, and to `run_ahead` past the earliest other CPU. Anything but a hit waits until
//! its CPU is the earliest of all and is tried anew then. With `run_ahead = 0` no hit ever
//! overtakes another CPU: the strict mode.
//!
//! A sample is no event and bounds no thread. It is taken when everything that begins up to its
//! instant has been done: when the earliest clock and the next event are behind it. A thread that
//! runs ahead of others may have passed it by then, by `run_ahead` at most.

use super::Machine;
use super::cpu::deadline::Deadline;
use super::cpu::queue::Event;
use super::cpu::thread::{Entity, Thread, Wait};
use super::fault::touch::{Outcome, Undone};
use super::walk::{OnMiss, Resolved, Stop};
use crate::base::host;
use crate::base::id::{AsId, CpuId, PageIdx, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::memory::IoDone;
use crate::memory::follow::{Acted, Followed, NoteUses, WantsUses};
use crate::memory::trace::TraceEvent;
use crate::phys::frames::flag;
use crate::virt::space::{Counted, Place, Spaces};
use crate::workload::{Op, RegionId, Run, WorkloadCx};

/// Where a thread's accesses hit.
struct Hits<'a, N> {
    spaces: &'a Spaces,
    space: AsId,
    hot: &'a mut [u8],
    entries: &'a [u32],
    /// The region that was accessed last, and the one before it.
    place: &'a mut Place,
    before: Place,
    hits_end: u64,
    /// Who notes them.
    notes: N,
}

impl<N> Hits<'_, N> {
    /// Turns to the place of a region.
    #[inline(never)]
    fn turn_to(&mut self, region: RegionId) -> Option<u32> {
        let found = match self.spaces.still(&self.before) {
            Some(r) if r == region => self.before,
            _ => self.spaces.place(self.space, region)?,
        };
        self.before = std::mem::replace(self.place, found);
        Some(found.start.0)
    }
}

impl<N: NoteUses> OnMiss for Hits<'_, N> {
    #[inline(always)]
    fn hot(&mut self) -> &mut [u8] {
        self.hot
    }
    #[inline(always)]
    fn start_of(&mut self, region: RegionId) -> Option<u32> {
        match self.spaces.still(self.place) {
            Some(r) if r == region => Some(self.place.start.0),
            _ => self.turn_to(region),
        }
    }
    #[inline(always)]
    fn hits_end(&self) -> u64 {
        self.hits_end
    }
    #[inline(always)]
    fn hits(&mut self, first: usize, count: u32) {
        self.notes.uses(first, count);
    }
    #[inline(always)]
    fn miss(&mut self, run: &Run, page: usize, _left: u32, now: u64) -> Resolved {
        // The miss may have to wait until other CPUs have acted.
        host::prefetch(self.entries, page);
        // Whoever resolves the miss finds the region's place.
        self.start_of(run.region);
        Resolved::not(Stop::Miss, now)
    }
}

impl Machine {
    pub(super) fn main_loop(&mut self) {
        while self.work.live > 0 {
            let due = self.events.queue.next();
            let first = self.sched.order.first();
            let next = first.map_or(due, |(_, clock)| clock.min(due));
            if self.cannot_go_on(next) {
                return;
            }
            self.samples_before(next);
            if self.course.paused {
                return;
            }
            let Some((cpu, clock)) = first else {
                self.handle_event();
                continue;
            };
            let due = due.min(SimTime::LAST);
            if due <= clock {
                self.handle_event();
            } else if !self.touches.touching {
                self.step_cpu(cpu, due);
            } else if let Some(cpu) =
                self.first_touches(due.min(self.course.resident.at + SimDuration(1)))
            {
                self.step_cpu(cpu, due);
            }
            let done = self.work.done.0;
            if done >= self.course.progress_at {
                self.course.progress_at = done + (1 << 20);
                if let Some(p) = &mut self.course.watch.progress {
                    p(done);
                }
            }
        }
    }

    // ---- events ----

    fn handle_event(&mut self) {
        let (at, event) = self.events.queue.pop().expect("an event is due");
        self.handle(at, event);
    }

    /// The CPU that an event interrupts. Devices interrupt the first one; a timer fires where it
    /// was set, which is where its thread ran last.
    fn interrupted(&self, event: &Event) -> CpuId {
        match *event {
            Event::Io(_) => CpuId(0),
            Event::ZswapWorker => self.daemons.zswap.cpu,
            Event::Wake(t, _) | Event::Start(t) => self.work.threads[t].cpu,
            Event::Kswapd(n, _) => self.daemons.kswapds[n].cpu(),
            Event::Kcompactd(n, _) => self.daemons.kcompactds[n].cpu,
            Event::Flusher(d) | Event::FlusherGoesOn(d) => self.daemons.flushers[d].cpu,
            Event::Kdamond(k) => self.daemons.kdamonds[k].cpu,
            Event::Report | Event::PsiPoll(_) | Event::Terminate(_) | Event::Memcg(_) => CpuId(0),
        }
    }

    fn handle(&mut self, at: SimTime, event: Event) {
        self.mem.acting.now = at;
        self.mem.acting.cpu = self.interrupted(&event);
        match event {
            Event::ZswapWorker => self.wake_zswap_worker(),
            Event::Io(done) => {
                self.end_io(done);
                self.mem.acting.now = at;
            }
            Event::Wake(t, g) => {
                if matches!(self.work.threads[t].wait, Wait::Timer(x) | Wait::Look(x) if x == g) {
                    self.wake(t);
                }
            }
            Event::Memcg(m) => self.memcg_is_due(m),
            Event::Start(t) => {
                self.charge_process(self.work.threads[t].space);
                self.work.threads[t].progress.record_clock.begin(at.0);
                self.wake(t);
            }
            Event::Kswapd(n, g) => self.kswapd_timer(n, g),
            Event::Kcompactd(n, g) => self.kcompactd_timer(n, g),
            Event::Flusher(d) => self.flusher_period(d),
            Event::FlusherGoesOn(d) => self.enqueue_flusher(d),
            Event::Kdamond(k) => self.wake_kdamond(k),
            Event::Report => self.report_free_pages(at),
            Event::PsiPoll(m) => self.look_at_triggers(m),
            Event::Terminate(process) => self.terminate(process, at),
        }
    }

    /// A device request ended: whoever waits for the folio goes on.
    pub(super) fn end_io(&mut self, done: IoDone) {
        // A page that was written back is a refault of no thread.
        let entered = matches!(done, IoDone::Entered(_));
        if entered {
            self.tell_of_own_refaults();
        }
        let before = self.mem.stats.vmstat[VmEvent::WorkingsetRefaultAnon];
        if let Some(folio) = self.mem.io_done(&mut *self.policies.lru, done) {
            for t in self.work.waiters.remove(&folio).unwrap_or_default() {
                if self.work.threads[t].wait == Wait::Folio(folio) {
                    self.wake(t);
                }
            }
        }
        if entered {
            let after = self.mem.stats.vmstat[VmEvent::WorkingsetRefaultAnon];
            self.step.refaults_of_none += after - before;
            if self.mem.refaulted_in_step() {
                self.mem.tell_of_step(Acted::of_none());
            }
        }
    }

    /// Interrupts that fall into a long step: ends of requests that are due by now.
    pub(super) fn interrupts(&mut self) {
        self.queue_io();
        while let Some(done) = self.events.queue.pop_io(self.mem.acting.now) {
            self.end_io(done);
        }
    }

    /// A thread amid a long step gives way (`cond_resched`): the kernel threads go first whose turn it
    /// is on its CPU, and kswapd on other CPUs keeps up with it. Other threads wait for its end.
    pub(super) fn give_way(&mut self, tid: ThreadId) {
        let cpu = self.mem.acting.cpu;
        if self.sched.cpus[cpu].contended() {
            self.sched.cpus[cpu].clock = self.mem.acting.now;
            if self.sched.cpus[cpu].gives_way(|e| !matches!(e, Entity::Thread(_))) {
                self.daemons_first(tid, cpu);
            }
        }
        let now = self.mem.acting.now;
        for n in self.daemons.kswapds.ids() {
            let on = self.daemons.kswapds[n].cpu();
            while on != cpu
                && self.sched.cpus[on].runs_next(Entity::Kswapd(n))
                && self.sched.cpus[on].next_daemon().is_some_and(|at| at < now)
            {
                self.act_daemon(on);
            }
        }
        (self.mem.acting.cpu, self.mem.acting.now) = (cpu, now);
    }

    /// The kernel thread acts that is first on a CPU; those of workloads that wait are passed over.
    fn act_daemon(&mut self, on: CpuId) {
        let at = self.sched.cpus[on].next_daemon().expect("there is one");
        (self.mem.acting.cpu, self.mem.acting.now) = (on, at);
        if let Some(e) = self.sched.cpus[on].take_daemon(at) {
            self.switched(e);
        }
        let e = self.sched.cpus[on].current().expect("it was taken");
        let goes_on = self.step_daemon(e);
        self.end_step(on, goes_on);
        self.sched.order.changed(on, &self.sched.cpus[on]);
    }

    /// A thread amid a long step sleeps until then. Events happen and kernel threads run meanwhile;
    /// other threads do not, as in `give_way`.
    pub(super) fn sleep_amid_step(&mut self, tid: ThreadId, until: SimTime) {
        let cpu = self.mem.acting.cpu;
        self.step.slept += until.since(self.mem.acting.now);
        self.sched.cpus[cpu].clock = self.mem.acting.now;
        let left = self.sched.cpus[cpu].dequeue();
        self.sched.virtuals.extend(left);
        loop {
            let due = self.events.queue.next();
            let daemons = self.sched.cpus.pairs();
            let daemon = daemons.filter_map(|(on, c)| Some((c.next_daemon()?, on))).min();
            match daemon {
                _ if due < until && daemon.is_none_or(|(at, _)| due <= at) => {
                    self.handle_event();
                }
                Some((at, on)) if at < until => self.act_daemon(on),
                _ => break,
            }
        }
        self.mem.acting.cpu = cpu;
        if self.sched.cpus[cpu].current().is_none() {
            self.sched.cpus[cpu].clock = self.sched.cpus[cpu].clock.max(until);
        }
        self.enqueue(cpu, Entity::Thread(tid), until);
        self.mem.acting.now = self.sched.cpus[cpu].clock;
        self.daemons_first(tid, cpu);
    }

    fn daemons_first(&mut self, tid: ThreadId, cpu: CpuId) {
        let me = Entity::Thread(tid);
        loop {
            if self.sched.cpus[cpu].current().is_none() {
                let (e, left) = self.sched.cpus[cpu].take_next();
                self.sched.virtuals.extend(left);
                self.switched(e.expect("the thread waits"));
            }
            match self.sched.cpus[cpu].current() {
                Some(Entity::Thread(_)) | None => break,
                Some(daemon) => {
                    self.interrupts();
                    let goes_on = self.step_daemon(daemon);
                    self.end_step(cpu, goes_on);
                }
            }
        }
        self.sched.cpus[cpu].resume(me);
        self.mem.turn_to(cpu, Some(tid));
        self.used(tid);
    }

    /// Queues the ends of the requests that the current step submitted.
    #[inline]
    pub(super) fn queue_io(&mut self) {
        if !self.mem.acting.io.is_empty() {
            self.queue_submitted();
        }
    }

    #[inline(never)]
    fn queue_submitted(&mut self) {
        let mut io = std::mem::take(&mut self.mem.acting.io);
        for (at, done) in io.drain(..) {
            if let IoDone::EvictWritten(folio) = done
                && at <= self.mem.goes_on_at()
            {
                self.mem.frames.clear(folio, flag::RECLAIM);
            }
            let event = match done {
                // It wakes amid a step, whose pauses it may use.
                IoDone::ZswapWorker if at <= self.mem.acting.now => {
                    self.wake_zswap_worker();
                    continue;
                }
                IoDone::ZswapWorker => Event::ZswapWorker,
                done => Event::Io(done),
            };
            self.events.queue.push(at, event);
        }
        self.mem.acting.io = io;
    }

    // ---- one CPU ----

    /// The earliest CPU acts, step by step, for as long as the main loop would come back to it and do
    /// nothing else before.
    fn step_cpu(&mut self, cpu: CpuId, mut due: SimTime) {
        self.sched.order.acts(cpu);
        if let Some((cpu, thread)) = self.sched.order.next_thread() {
            // With a thousand of them they are in no near cache.
            host::prefetch_all(&self.sched.cpus[cpu]);
            host::prefetch_all(&self.work.threads[thread]);
            self.work.threads[thread].progress.fetch();
        }
        loop {
            self.act(cpu, due);
            due = self.events.queue.next().min(SimTime::LAST);
            if !self.acts_again(cpu, due) {
                break;
            }
        }
        self.sched.order.acted(cpu, &self.sched.cpus[cpu]);
    }

    /// True if the main loop would choose the acting CPU again: it is the earliest, nothing is due, no
    /// sample or pause comes first, and no first touches are to be taken together.
    #[inline]
    fn acts_again(&self, cpu: CpuId, due: SimTime) -> bool {
        let now = self.sched.cpus[cpu].clock;
        let looked_at = self.course.sample_at < now || self.work.done.0 >= self.course.progress_at;
        let ends = self.work.live == 0 || self.course.paused || self.course.watchdog.barks();
        now < due
            && !(looked_at || ends || self.touches.touching)
            && self.sched.order.is_before_others(cpu, &self.sched.cpus[cpu])
    }

    #[inline]
    fn act(&mut self, cpu: CpuId, due: SimTime) {
        if self.sched.cpus[cpu].current().is_some_and(|e| !matches!(e, Entity::Thread(_))) {
            // Another entity may have come since its last step.
            self.sched.cpus[cpu].yield_if_due();
        }
        let turns = self.sched.cpus[cpu].current().is_none();
        let e = match self.sched.cpus[cpu].current() {
            Some(e) => e,
            None => {
                let (e, left) = self.sched.cpus[cpu].take_next();
                self.sched.virtuals.extend(left);
                let Some(e) = e else { return };
                e
            }
        };
        self.mem.acting.cpu = cpu;
        self.mem.acting.now = self.sched.cpus[cpu].clock;
        if turns {
            self.switched(e);
        }
        let goes_on = match e {
            Entity::Thread(t) => self.run_thread(t, cpu, due),
            daemon => self.step_daemon(daemon),
        };
        self.end_step(cpu, goes_on);
    }

    fn switched(&mut self, to: Entity) {
        let cpu = self.mem.acting.cpu;
        let thread = if let Entity::Thread(t) = to { Some(t) } else { None };
        self.mem.turn_to(cpu, thread);
        if let Some(t) = thread {
            self.used(t);
        }
        self.mem.emit(|| TraceEvent::SchedSwitch { cpu, thread });
    }

    /// A CPU turns to a thread: its process is used (`lru_gen_use_mm`).
    fn used(&mut self, tid: ThreadId) {
        self.mem.virt.spaces[self.work.threads[tid].space].used = true;
    }

    fn step_daemon(&mut self, e: Entity) -> bool {
        match e {
            Entity::Kswapd(n) => self.step_kswapd(n),
            Entity::Kcompactd(n) => self.step_kcompactd(n),
            Entity::Flusher(d) => self.step_flusher(d),
            Entity::Kdamond(k) => self.step_kdamond(k),
            Entity::ZswapWorker => self.step_zswap_worker(),
            Entity::Thread(t) => unreachable!("{t} is no kernel thread"),
        }
    }

    fn end_step(&mut self, cpu: CpuId, goes_on: bool) {
        let c = &mut self.sched.cpus[cpu];
        c.clock = self.mem.acting.now;
        if goes_on {
            c.yield_if_due();
        } else {
            let left = c.dequeue();
            self.sched.virtuals.extend(left);
            if c.idle() {
                self.mem.stats.node.quiet(cpu);
            }
        }
        self.notice_freed_blocks();
    }

    /// Runs a thread: hits up to its bound, then, if it is still the earliest, one operation that
    /// is no hit; and so on for as long as the main loop would find the same thread again: no other
    /// entity wants its CPU, no other CPU is as early, nothing is due, and no observer looks in
    /// between. False: it left the CPU.
    fn run_thread(&mut self, tid: ThreadId, cpu: CpuId, mut due: SimTime) -> bool {
        if self.work.threads[tid].fault.is_some() {
            self.resolved_meanwhile(tid);
        }
        let run_ahead = self.config.run_ahead;
        let mut other = self.sched.order.earliest();
        // The beginning of its turn, or the end of its last step.
        let mut since = self.mem.acting.now;
        loop {
            let slice = self.sched.cpus[cpu].slice_end().max(since);
            // A sample that others have to reach first is not in this one's way.
            let sample = match self.course.sample_at {
                at if at < other => at + SimDuration(1),
                _ => SimTime::NEVER,
            };
            let until = Deadline { due, other, slice, run_ahead, sample };
            let mut stop = self.run_hits(tid, until.pause(since));
            if stop == Stop::Miss && until.may_act(since, self.mem.acting.now) {
                let before = self.step_begins(tid);
                (stop, since) = self.swap_in_fast(tid, until);
                self.note_counted(tid, &before);
            }
            let now = self.mem.acting.now;
            let slow = stop != Stop::Bound && until.may_act(since, now);
            if slow {
                let before = self.step_begins(tid);
                let stays = self.step_slow(tid, stop);
                self.note_counted(tid, &before);
                if !stays {
                    return false;
                }
                due = self.events.queue.next().min(SimTime::LAST);
                other = self.sched.order.earliest();
                since = self.mem.acting.now;
            } else if stop == Stop::Bound && now >= sample && until.goes_on(since, now) {
                self.samples_before(now.min(other).min(due));
                // A pause ends no turn that goes on ahead of others.
                let alone = now < due && now < other && !self.sched.cpus[cpu].contended();
                if self.course.paused && alone && !self.touches.touching {
                    return true;
                }
                continue;
            }
            let now = self.mem.acting.now;
            let moves_on = now >= due || now >= other || self.sched.cpus[cpu].contended();
            let looked_at = self.work.done.0 >= self.course.progress_at;
            if looked_at || moves_on || self.touches.touching || self.course.watchdog.barks() {
                return true;
            }
            self.samples_before(now);
            if self.course.paused {
                return true;
            }
        }
    }

    /// The counters that a thread's step may change and that are its process's. A kernel thread
    /// that runs amid the step counts none of it.
    #[inline]
    fn counted(&self) -> Counted {
        let v = &self.mem.stats.vmstat;
        Counted {
            faults: v[VmEvent::PgFault],
            major_faults: v[VmEvent::PgMajFault],
            swap_ins: v[VmEvent::PswpIn],
            refaults_anon: v[VmEvent::WorkingsetRefaultAnon] - self.step.refaults_of_none,
            refaults_file: v[VmEvent::WorkingsetRefaultFile],
            cache_misses: self.mem.cache.misses,
            ..Counted::default()
        }
    }

    /// A step of a thread begins. Returns the counters, and the thread's accesses.
    #[inline]
    fn step_begins(&mut self, tid: ThreadId) -> (Counted, u64) {
        let before = (self.counted(), self.work.threads[tid].progress.accesses);
        self.step.own = self.mem.zswap().map(|_| (tid, before.1, before.0));
        before
    }

    /// Tells of refaults of the thread whose step is under way, if others come in between.
    fn tell_of_own_refaults(&mut self) {
        if let Some((tid, access, before)) = self.step.own {
            self.tell_of_refaults(tid, access, &before);
            self.step.own = Some((tid, access, self.counted()));
        }
    }

    fn tell_of_refaults(&mut self, tid: ThreadId, access: u64, before: &Counted) {
        if self.mem.refaulted_in_step() {
            let did = self.counted().since(before);
            self.mem.tell_of_step(Acted {
                thread: tid,
                space: self.work.threads[tid].space,
                access,
                refaults_anon: did.refaults_anon,
                refaults_file: did.refaults_file,
                swap_ins: did.swap_ins,
                uses: 0,
                back: 0,
            });
        }
    }

    /// Charges the events counted since then to the thread's process.
    #[inline]
    fn note_counted(&mut self, tid: ThreadId, (before, access): &(Counted, u64)) {
        let untold = self.step.own.take().map_or(*before, |own| own.2);
        self.tell_of_refaults(tid, *access, &untold);
        let did = self.counted().since(before);
        let c = &mut self.mem.virt.spaces[self.work.threads[tid].space].counted;
        c.faults += did.faults;
        c.major_faults += did.major_faults;
        c.swap_ins += did.swap_ins;
        c.refaults_anon += did.refaults_anon;
        c.refaults_file += did.refaults_file;
        c.cache_misses += did.cache_misses;
    }

    /// Executes accesses that hit, and pure computation, until the bound.
    #[inline]
    pub(super) fn run_hits(&mut self, tid: ThreadId, bound: SimTime) -> Stop {
        if self.record.still_records() {
            let recorded = self.record.contents.sequence.len();
            let mut sequence = std::mem::take(&mut self.record.contents.sequence);
            let stop = self.walk_hits(tid, bound, &mut sequence);
            if self.mem.telling.uses.on() {
                sequence[recorded..]
                    .iter()
                    .for_each(|&page| self.mem.telling.uses.note(PageIdx(page)));
                self.mem.tell_of_uses();
            }
            self.record.contents.sequence = sequence;
            self.record.contents.hits(&self.mem, recorded);
            stop
        } else if self.mem.telling.uses.on() {
            let stop = self.walk_hits(tid, bound, Followed);
            self.mem.tell_of_uses();
            stop
        } else {
            self.walk_hits(tid, bound, ())
        }
    }

    #[inline]
    fn walk_hits(&mut self, tid: ThreadId, bound: SimTime, who: impl WantsUses) -> Stop {
        let Thread { space, place, progress, user, .. } = &mut self.work.threads[tid];
        let before = (progress.accesses, progress.records);
        let notes = who.notes(&mut self.mem.telling.uses, self.mem.virt.pages.hot.len());
        let (hot, entries) = self.mem.virt.pages.hot_and_entries();
        let mut hits = Hits {
            spaces: &self.mem.virt.spaces,
            space: *space,
            hot,
            entries,
            place,
            before: Place::NOWHERE,
            hits_end: bound.0,
            notes,
        };
        let start = self.mem.acting.now;
        let (stop, now) = progress.walk(&mut hits, self.mem.given.cost.t_hit.0, start.0);
        self.work.done.0 += progress.accesses - before.0;
        self.work.done.1 += progress.records - before.1;
        *user += SimTime(now).since(start);
        self.mem.acting.now = SimTime(now);
        stop
    }

    /// One step of a thread that is no hit: an access that misses, another operation, or the
    /// question for more of them. False: it left the CPU.
    #[inline]
    fn step_slow(&mut self, tid: ThreadId, stop: Stop) -> bool {
        let before = self.mem.acting.now;
        self.step.amid = true;
        let (flow, accessed) = match stop {
            Stop::Miss => (self.access(tid), true),
            _ => (self.step_other(tid), false),
        };
        if flow.is_ok() && self.work.threads[tid].over_high > 0 {
            self.mem.tell_of_uses();
            self.handle_over_high(tid);
        }
        self.step.amid = false;
        self.mem.tell_after_step();
        self.queue_io();
        if !accessed || flow.is_err() {
            self.record.resident(&self.mem);
        }
        self.course.watchdog.tried(flow.is_ok());
        let now = self.mem.acting.now;
        let t = &mut self.work.threads[tid];
        if flow.is_ok() {
            t.done_at = now;
        }
        if accessed && flow.is_ok() {
            self.work.done.0 += 1;
            let count = t.progress.op().map_or(0, Op::touches);
            t.progress.did(count, 1);
        }
        if self.step.doomed.is_some() {
            self.kill_doomed();
        }
        let slept = std::mem::take(&mut self.step.slept);
        let t = &mut self.work.threads[tid];
        t.throttled += slept;
        t.system += SimDuration(self.mem.acting.now.since(before).0 - slept.0);
        if let Some(until) = self.mem.take_throttled()
            && self.work.threads[tid].wait == Wait::Not
        {
            self.sleep(tid, until.since(self.mem.acting.now), true);
        }
        let t = &mut self.work.threads[tid];
        let goes_on = t.wait == Wait::Not;
        if !goes_on && t.wait == Wait::Finished {
            // Giving its memory back is the last thing that a thread does.
            t.finished = t.finished.max(self.mem.acting.now);
        }
        self.took_steps(1);
        goes_on && flow != Err(Undone::Killed)
    }

    /// Counts steps that were no hits: audits are due after some.
    #[inline]
    pub(super) fn took_steps(&mut self, steps: u64) {
        let (before, every) = (self.course.steps, self.course.watch.check_every);
        self.course.steps += steps;
        if every > 0 && before / every != self.course.steps / every {
            self.check();
        }
    }

    /// Executes an operation that is no access, or asks for operations.
    #[inline(never)]
    fn step_other(&mut self, tid: ThreadId) -> Outcome {
        let t = &mut self.work.threads[tid];
        let Some(&op) = t.progress.op() else {
            let cx = WorkloadCx {
                now: self.mem.acting.now,
                free_pages: self.mem.zones.nr_free(),
                kernel_allocs: &t.kernel_allocs,
                free_blocks: t.free_blocks.take(),
                pressure: &self.sched.psi,
            };
            let given = t.progress.refill(&mut *t.workload, &cx, &mut t.rng);
            t.kernel_allocs.clear();
            let again = t.given.0 == self.mem.acting.now;
            let times =
                if again { self.course.watchdog.given(t.given.1, given.unwrap_or(0)) } else { 0 };
            t.given = (self.mem.acting.now, times);
            if given.is_none() {
                self.finish(tid);
            }
            return Ok(());
        };
        let flow = self.execute(tid, op);
        if flow.is_ok() {
            let progress = &mut self.work.threads[tid].progress;
            // Operations on several pages count them in `done` and finish at the last.
            if progress.done == 0 {
                progress.next += 1;
            }
        }
        flow
    }
}
