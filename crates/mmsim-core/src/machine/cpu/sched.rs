//! Who of several gets a CPU: the kernel's fair scheduler, for entities of equal weight.
//!
//! It matters to memory management because kswapd is a thread like any other. How far free
//! memory falls while kswapd waits for its turn decides how much is reclaimed directly, and
//! in which portions the background works.
//!
//! Every entity has a virtual runtime. Up to 6.5 (CFS) the smallest goes first, sleepers come
//! back with a credit of half a latency period, and preempt who is ahead of them by more than
//! the wakeup granularity. From 6.6 on (EEVDF) entities ask for a slice each: among those that
//! are not ahead of the average, the earliest deadline goes first; a sleeper keeps its
//! distance to the average, and who is ahead of it stays in the competition until it is not
//! any more. Both look at slices at scheduling ticks; with `hrtick` a timer ends them when they
//! are used up. Steps of the simulation are not interrupted: a switch that is due takes place at
//! the end of a step. With lazy preemption kernel code keeps the CPU until the tick after the one
//! that wants it back:
//!
//! ```text
//!   tick          T0          T1          T2
//!   kswapd        |--- slice -|           |
//!   voluntary                 | gives way at the end of a step
//!   lazy                      | asked     | gives way
//!   hrtick         0.7 ms | gives way
//! ```
//!
//! Sources: Linux 6.12 kernel/sched/fair.c (`place_entity`, `pick_eevdf`, `update_deadline`,
//! `dequeue_entity`, `requeue_delayed_entity`) and features.h; the same of 6.1
//! (`place_entity`, `wakeup_preempt_entity`, `check_preempt_tick`); 7.3 (`resched_curr_lazy`,
//! `sched_tick`, `hrtick_start_fair`). Left out: weights, groups, load balancing other than waking
//! on an idle CPU.

use crate::base::rules::Scheduler;
use crate::base::time::{SimDuration, SimTime};
use crate::machine::cpu::line::{By, Line, Queued, Virtual};
use crate::machine::cpu::thread::Entity;
use crate::memory::WorkerPlace;

/// Tunables, all in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Tunables {
    eevdf: bool,
    lazy: bool,
    hrtick: bool,
    tick: i64,
    /// Time from the last tick to the beginning of the run.
    since_tick: i64,
    slice: i64,
    latency: i64,
    min_granularity: i64,
    wakeup_granularity: i64,
}

impl Tunables {
    /// The kernel's defaults: they grow with the logarithm of the number of CPUs, up to 8.
    pub(in crate::machine) fn of(scheduler: Scheduler, cpus: u32, tick: SimDuration) -> Self {
        let factor = 1 + i64::from(cpus.clamp(1, 8).ilog2());
        Tunables {
            eevdf: scheduler == Scheduler::Eevdf,
            lazy: false,
            hrtick: false,
            tick: tick.0 as i64,
            since_tick: 0,
            slice: 700_000 * factor,
            latency: 6_000_000 * factor,
            min_granularity: 750_000 * factor,
            wakeup_granularity: 1_000_000 * factor,
        }
    }

    /// With lazy preemption, and with a timer for slices.
    pub(in crate::machine) fn preempting(self, lazy: bool, hrtick: bool) -> Self {
        Tunables { lazy, hrtick: hrtick && self.eevdf, ..self }
    }
}

impl Tunables {
    /// The last tick up to a time. `guess`: a tick, nearly always this one, which saves a division.
    #[inline]
    fn tick_before(&self, now: i64, guess: i64) -> i64 {
        if (guess..guess + self.tick).contains(&now) {
            guess
        } else {
            now - (now + self.since_tick) % self.tick
        }
    }
}

/// Request that the current entity gives way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Resched {
    No,
    /// When it leaves the kernel, or at the first tick after this time.
    Lazy(i64),
    Now,
}

impl Virtual {
    /// Begins a slice anew at each tick after `from` that finds the one before used up. The runtime
    /// has grown since then to its value `now` without a pause. Returns the first such tick.
    fn renew_at_ticks(&mut self, from: i64, now: i64, t: &Tunables) -> Option<i64> {
        let used_up = (now - (self.runtime - self.deadline)).max(from + 1);
        let first = used_up + (-used_up - t.since_tick).rem_euclid(t.tick);
        if first > now {
            return None;
        }
        let each = t.slice + (-t.slice).rem_euclid(t.tick);
        let last = now - (now - first) % each;
        self.deadline = self.runtime - (now - last) + t.slice;
        Some(first)
    }
}

/// A CPU: its own clock, what runs on it, and what waits for it.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Cpu {
    pub clock: SimTime,
    tunables: Tunables,
    current: Option<(Entity, Virtual)>,
    /// Deadline that protects the current entity's slice; run time since it was picked.
    protected: i64,
    ran: i64,
    /// When the current entity's runtime was brought up to date here.
    updated: SimTime,
    /// Its runtime when the kernel did that: at a tick, a switch, or when another entity came.
    known: i64,
    queue: Line,
    min_runtime: i64,
    resched: Resched,
    /// The timer will end the current slice (`hrtick_timer`).
    armed: bool,
    /// The last tick up to the time of the last query.
    last_tick: i64,
}

impl Cpu {
    pub(in crate::machine) fn new(tunables: Tunables) -> Self {
        Cpu {
            clock: SimTime::ZERO,
            tunables,
            current: None,
            protected: 0,
            ran: 0,
            updated: SimTime::ZERO,
            known: 0,
            queue: Line::new(),
            min_runtime: 0,
            resched: Resched::No,
            armed: false,
            last_tick: i64::MIN / 2,
        }
    }

    /// The last tick was so long before the machine began.
    pub(in crate::machine) fn set_since_tick(&mut self, since: SimDuration) {
        self.tunables.since_tick = since.0 as i64 % self.tunables.tick;
        self.last_tick = i64::MIN / 2;
    }

    /// The time that an entity asks for at once (`base_slice_ns`).
    pub(in crate::machine) fn slice(&self) -> SimDuration {
        SimDuration(self.tunables.slice as u64)
    }

    /// The entity that runs.
    #[inline]
    pub(in crate::machine) fn current(&self) -> Option<Entity> {
        self.current.map(|c| c.0)
    }

    /// True if no entity runs or wants to.
    #[inline]
    pub(in crate::machine) fn idle(&self) -> bool {
        self.current.is_none() && self.queue.all_delayed()
    }

    /// True if an entity waits for the CPU.
    #[inline]
    pub(in crate::machine) fn contended(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The entity that runs, if it does not have to give way.
    #[inline]
    pub(in crate::machine) fn undisturbed(&self) -> Option<Entity> {
        self.current.filter(|_| self.resched == Resched::No).map(|c| c.0)
    }

    /// Number of competing entities.
    fn competing(&self) -> i64 {
        self.queue.len() as i64 + i64::from(self.current.is_some())
    }

    /// The average runtime of all that compete, rounded down. Who is not ahead of it is eligible.
    fn average(&self) -> i64 {
        let sum = self.queue.sum() + self.current.map_or(0, |c| i128::from(c.1.runtime));
        match self.competing() {
            0 => self.min_runtime,
            n => sum.div_euclid(i128::from(n)) as i64,
        }
    }

    /// Time passed for the current entity up to `now`. Each tick in between looks at its slice,
    /// so that it makes no difference into how many parts the time is cut.
    pub(in crate::machine) fn account(&mut self, now: SimTime) {
        let (from, to) = (self.updated.0 as i64, now.0 as i64);
        if to <= from {
            return;
        }
        self.updated = now;
        let Some((_, v)) = &mut self.current else { return };
        let t = &self.tunables;
        v.runtime += to - from;
        self.ran += to - from;
        self.last_tick = t.tick_before(to, self.last_tick);
        let since_tick = to - self.last_tick;
        let contended = !self.queue.is_empty();
        let mut asked = None;
        if self.armed && v.runtime >= v.deadline {
            self.known = v.deadline;
            v.deadline += t.slice;
            self.resched = Resched::Now;
            self.armed = false;
        } else if to - from > since_tick {
            let (runtime, ran) = (v.runtime - since_tick, self.ran - since_tick);
            self.known = runtime;
            let first = from + t.tick - (from + t.since_tick) % t.tick;
            let renewed = if t.eevdf { v.renew_at_ticks(from, to, t) } else { None };
            if renewed.is_some() {
                asked = renewed.filter(|_| contended);
            } else if t.eevdf && self.protected != v.deadline {
                // Its slice is not protected, and it is ahead of the average (`did_preempt_short`).
                let n = self.queue.len() as i128;
                asked = (i128::from(runtime) * n > self.queue.sum()).then_some(first);
            }
            if !t.eevdf && contended {
                let ideal = (t.latency / (self.queue.len() as i64 + 1)).max(t.min_granularity);
                let least = self.queue.least_runtime().unwrap_or(runtime);
                let over = ran > ideal || ran >= t.min_granularity && runtime - least > ideal;
                asked = over.then_some(first);
            }
        }
        let least = self.queue.least_runtime().map_or(v.runtime, |first| first.min(v.runtime));
        self.min_runtime = self.min_runtime.max(least);
        if let Some(at) = asked {
            self.ask(at);
        }
        if let Resched::Lazy(at) = self.resched
            && to - since_tick > at
        {
            self.resched = Resched::Now;
        }
    }

    /// The current entity shall give way, since then.
    fn ask(&mut self, at: i64) {
        if self.resched == Resched::No {
            self.resched = if self.tunables.lazy { Resched::Lazy(at) } else { Resched::Now };
        }
    }

    /// True if the current entity gives way at the end of a step: a thread is back in user mode
    /// then, a kernel thread is not.
    fn gives_way_now(&self) -> bool {
        match self.resched {
            Resched::No => false,
            Resched::Lazy(_) => matches!(self.current, Some((Entity::Thread(_), _))),
            Resched::Now => true,
        }
    }

    /// Checks for a used-up slice, which happens also when another entity comes or goes.
    fn renew_slice(&mut self) {
        let t = &self.tunables;
        let Some((_, v)) = &mut self.current else { return };
        self.known = v.runtime;
        if t.eevdf && v.runtime >= v.deadline {
            v.deadline = v.runtime + t.slice;
            if !self.queue.is_empty() {
                self.ask(self.updated.0 as i64);
            }
        }
    }

    /// The next check of the current entity's slice while another waits.
    #[inline]
    pub(in crate::machine) fn slice_end(&self) -> SimTime {
        if self.queue.is_empty() {
            return SimTime::NEVER;
        }
        if self.resched != Resched::No {
            return SimTime::ZERO;
        }
        let last = self.tunables.tick_before(self.clock.0 as i64, self.last_tick);
        let tick = SimTime((last + self.tunables.tick) as u64);
        match self.current {
            Some((_, v)) if self.armed => {
                let left = (v.deadline - v.runtime).max(0) as u64;
                tick.min(SimTime(self.updated.0 + left))
            }
            _ => tick,
        }
    }

    /// An entity wakes: where it stands in line, and whether it preempts.
    pub(in crate::machine) fn enqueue(&mut self, entity: Entity, mut v: Virtual, now: SimTime) {
        let delayed = self.queue.late(entity);
        if self.idle() && delayed.is_none() {
            self.clock = self.clock.max(now);
        }
        if self.current.is_some() {
            self.account(now);
        }
        if let Some(i) = delayed {
            // The current entity's runtime is brought up to date afterwards.
            let known = self.known;
            let exact = self.current.as_mut().map(|c| std::mem::replace(&mut c.1.runtime, known));
            let q = self.queue[i];
            let lag = self.average() - q.v.runtime;
            self.queue.wake(i, now);
            if lag > 0 {
                // It waited its debt off: it begins anew without credit.
                self.queue.take(i);
                v = Virtual { lag: 0, ..q.v };
                self.place(&mut v);
                self.queue.push(Queued { entity, v, ready: now, delayed: false });
            }
            if let (Some(c), Some(exact)) = (&mut self.current, exact) {
                c.1.runtime = exact;
            }
        }
        self.renew_slice();
        let t = self.tunables;
        if t.eevdf {
            if delayed.is_none() {
                self.place(&mut v);
                self.queue.push(Queued { entity, v, ready: now, delayed: false });
            }
            if self.current.is_some() && self.pick(now.max(self.clock)) != Pick::Current {
                self.ask(now.0 as i64);
            }
        } else {
            v.runtime = v.runtime.max(self.min_runtime - t.latency / 2);
            self.queue.push(Queued { entity, v, ready: now, delayed: false });
            if let Some((_, c)) = self.current
                && c.runtime - v.runtime > t.wakeup_granularity
            {
                self.ask(now.0 as i64);
            }
        }
        if !self.armed {
            self.arm();
        }
    }

    /// The timer is set when an entity begins to run, or one comes while it is not set. It is not
    /// for one that goes on because its turn has come again (`hrtick_start_fair`).
    fn arm(&mut self) {
        self.armed = self.tunables.hrtick && self.current.is_some() && !self.queue.is_empty();
    }

    fn place(&self, v: &mut Virtual) {
        let n = self.competing();
        let (n, lag) = (i128::from(n), i128::from(v.lag));
        let lag = if n > 0 { (lag * (n + 1) / n) as i64 } else { 0 };
        v.runtime = self.average() - lag;
        v.deadline = v.runtime + self.tunables.slice;
    }

    fn pick(&self, now: SimTime) -> Pick {
        if !self.tunables.eevdf {
            let first = self.queue.first(By::Runtime, i64::MAX, now);
            return match (first, self.current) {
                (Some(i), Some((_, c))) if c.runtime <= self.queue[i].v.runtime => Pick::Current,
                (Some(i), _) => Pick::Queued(i),
                (None, Some(_)) => Pick::Current,
                (None, None) => Pick::Nobody,
            };
        }
        let average = self.average();
        let current = self.current.filter(|c| c.1.runtime <= average);
        if let Some((_, c)) = current
            && (self.queue.is_empty() || self.protected == c.deadline)
        {
            return Pick::Current;
        }
        match (self.queue.first(By::Deadline, average, now), current) {
            (Some(i), Some((_, c))) if c.deadline < self.queue[i].v.deadline => Pick::Current,
            (Some(i), _) => Pick::Queued(i),
            (None, Some(_)) => Pick::Current,
            // Those that are eligible may not run yet: the next best.
            (None, None) => match self.queue.first(By::Runtime, i64::MAX, now) {
                Some(i) => Pick::Queued(i),
                None if self.current.is_some() => Pick::Current,
                None => Pick::Nobody,
            },
        }
    }

    /// Lets the next entity run, if the CPU is idle. `None`: no entity may run yet; then time
    /// passes until one may. The second value is what a delayed sleeper leaves with.
    pub(in crate::machine) fn take_next(&mut self) -> (Option<Entity>, Vec<(Entity, Virtual)>) {
        let mut left = Vec::new();
        loop {
            match self.pick(self.clock) {
                Pick::Queued(i) if self.queue[i].delayed => {
                    let lag = (self.average() - self.queue[i].v.runtime).min(0);
                    let q = self.queue.take(i);
                    left.push((q.entity, Virtual { lag, ..q.v }));
                }
                Pick::Queued(i) => {
                    let q = self.queue.take(i);
                    self.current = Some((q.entity, q.v));
                    (self.protected, self.known) = (q.v.deadline, q.v.runtime);
                    self.ran = 0;
                    self.updated = self.clock;
                    self.resched = Resched::No;
                    self.arm();
                    return (Some(q.entity), left);
                }
                Pick::Current => unreachable!("the CPU is idle"),
                Pick::Nobody => {
                    if let Some(ready) = self.queue.first_ready() {
                        self.clock = self.clock.max(ready);
                    }
                    return (None, left);
                }
            }
        }
    }

    /// The current entity goes to sleep. Returns the state of those that leave: not the entity
    /// itself, if it stays in line for a while; all delayed ones, if no other entity wants the CPU.
    pub(in crate::machine) fn dequeue(&mut self) -> Vec<(Entity, Virtual)> {
        self.account(self.clock);
        self.renew_slice();
        let mut left = Vec::new();
        if let Some((entity, v)) = self.current {
            if self.tunables.eevdf && v.runtime > self.average() {
                self.queue.push(Queued { entity, v, ready: self.clock, delayed: true });
            } else {
                let t = &self.tunables;
                let limit = (2 * t.slice).max(t.tick);
                let lag =
                    if t.eevdf { (self.average() - v.runtime).clamp(-limit, limit) } else { 0 };
                left.push((entity, Virtual { lag, ..v }));
            }
            self.current = None;
        }
        if self.idle() {
            self.queue.drain(|q| left.push((q.entity, Virtual { lag: 0, ..q.v })));
        }
        left
    }

    /// The end of a step: the current entity yields if its time is up.
    pub(in crate::machine) fn yield_if_due(&mut self) {
        self.account(self.clock);
        if !self.gives_way_now() {
            return;
        }
        self.renew_slice();
        self.resched = Resched::No;
        if let Pick::Queued(_) = self.pick(self.clock) {
            let (entity, v) = self.current.take().expect("it runs");
            self.queue.push(Queued { entity, v, ready: self.clock, delayed: false });
        }
    }

    /// The time of the current entity's last step is taken back as far as it lies after `now`.
    /// Returns how much that is.
    pub(in crate::machine) fn cut_short(&mut self, now: SimTime) -> SimDuration {
        let back = self.clock.since(now.min(self.clock));
        if let Some((_, v)) = &mut self.current {
            v.runtime -= back.0 as i64;
            self.ran -= back.0 as i64;
            self.clock = SimTime(self.clock.0 - back.0);
            self.updated = self.clock;
        }
        back
    }

    /// The place of zswap's worker, which sleeps with a lag, in this line. `None`: nothing runs, or it
    /// is no line of EEVDF.
    pub(in crate::machine) fn place_of(&self, lag: i64, now: SimTime) -> Option<WorkerPlace> {
        let (_, v) = self.current.filter(|_| self.tunables.eevdf)?;
        let others = self.competing();
        let passed = now.since(self.updated.min(now)).0 as i64;
        let ahead = v.runtime + passed - self.average() - passed / others.max(1);
        Some(WorkerPlace { lag, others, ahead, at: now, ..WorkerPlace::default() })
    }

    /// Another entity ran for a time amid the step of the current one, which may have lost its turn.
    pub(in crate::machine) fn was_preempted(&mut self, time: SimDuration) {
        if let Some((_, v)) = &mut self.current {
            v.runtime -= time.0 as i64;
            self.ran -= time.0 as i64;
            self.protected = i64::MIN;
            self.resched = Resched::Now;
        }
    }

    /// In the middle of a step: the current entity yields if it is the turn of one that `may` go
    /// first.
    pub(in crate::machine) fn gives_way(&mut self, may: impl Fn(Entity) -> bool) -> bool {
        self.account(self.clock);
        if self.resched != Resched::Now {
            return false;
        }
        match self.pick(self.clock) {
            Pick::Queued(i) if may(self.queue[i].entity) => {
                self.yield_if_due();
                true
            }
            _ => false,
        }
    }

    /// When a kernel thread can act here, if no thread runs.
    pub(in crate::machine) fn next_daemon(&self) -> Option<SimTime> {
        match self.current {
            Some((Entity::Thread(_), _)) => None,
            Some(_) => Some(self.clock),
            None => self.queue.daemons().map(|q| q.ready.max(self.clock)).min(),
        }
    }

    /// Lets the first of the kernel threads run that can act by now, if the CPU is idle; others
    /// that wait are passed over.
    pub(in crate::machine) fn take_daemon(&mut self, now: SimTime) -> Option<Entity> {
        if self.current.is_some() {
            return None;
        }
        let ready = self.queue.daemons().filter(|q| q.ready <= now);
        let first = ready.min_by_key(|q| q.v.runtime)?.entity;
        self.clock = now;
        self.resume(first);
        self.resched = Resched::No;
        Some(first)
    }

    /// The entity goes on, although it may not be its turn: at the end of its step it is looked
    /// at again.
    pub(in crate::machine) fn resume(&mut self, entity: Entity) {
        if let Some((e, v)) = self.current
            && e != entity
        {
            self.queue.push(Queued { entity: e, v, ready: self.clock, delayed: false });
        } else if self.current.is_some() {
            return;
        }
        let i = self.queue.find(entity).expect("it waits");
        let v = self.queue.take(i).v;
        self.current = Some((entity, v));
        (self.protected, self.known) = (v.deadline, v.runtime);
        self.ran = 0;
        self.updated = self.clock;
        self.resched = Resched::Now;
        self.arm();
    }

    /// True if this CPU runs the entity, or could run no other.
    pub(in crate::machine) fn runs_next(&self, entity: Entity) -> bool {
        self.current().or_else(|| self.queue.only()) == Some(entity)
    }

    /// The entity that would run next.
    #[inline]
    pub(in crate::machine) fn next(&self) -> Option<Entity> {
        self.current().or_else(|| self.queue.first_awake())
    }

    /// Lets an entity run, for tests of what depends on it.
    #[cfg(test)]
    pub(in crate::machine) fn run(&mut self, entity: Option<Entity>) {
        self.current = entity.map(|e| (e, Virtual::default()));
    }

    /// Takes an entity away, wherever it is: its process is killed.
    pub(in crate::machine) fn remove(&mut self, entity: Entity) {
        if let Some(i) = self.queue.find(entity) {
            self.queue.take(i);
        }
        if self.current.is_some_and(|c| c.0 == entity) {
            self.current = None;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pick {
    Current,
    Queued(u32),
    Nobody,
}

#[cfg(test)]
mod tests;
