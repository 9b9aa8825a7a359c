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
//! any more. Both look at slices at scheduling ticks only. Steps of the simulation are not
//! interrupted: a switch that is due takes place at the end of a step, as in a kernel with
//! voluntary preemption.
//!
//! Sources: Linux 6.12 kernel/sched/fair.c (`place_entity`, `pick_eevdf`, `update_deadline`,
//! `dequeue_entity`, `requeue_delayed_entity`) and features.h; the same of 6.1
//! (`place_entity`, `wakeup_preempt_entity`, `check_preempt_tick`). Left out: weights, groups,
//! load balancing other than waking on an idle CPU.

use super::line::{By, Line, Queued, Virtual};
use super::thread::Entity;
use crate::base::rules::Scheduler;
use crate::base::time::{SimDuration, SimTime};

/// Tunables, all in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tunables {
    /// Kernel code is preempted at the tick after the one that wants it.
    lazy: bool,
    eevdf: bool,
    tick: i64,
    slice: i64,
    latency: i64,
    min_granularity: i64,
    wakeup_granularity: i64,
}

impl Tunables {
    /// The kernel's defaults: they grow with the logarithm of the number of CPUs, up to 8.
    pub(super) fn of(scheduler: Scheduler, cpus: u32, tick: SimDuration, lazy: bool) -> Self {
        let factor = 1 + i64::from(cpus.clamp(1, 8).ilog2());
        Tunables {
            lazy,
            eevdf: scheduler == Scheduler::Eevdf,
            tick: tick.0 as i64,
            slice: 700_000 * factor,
            latency: 6_000_000 * factor,
            min_granularity: 750_000 * factor,
            wakeup_granularity: 1_000_000 * factor,
        }
    }
}

impl Virtual {
    /// Begins a slice anew at each tick after `from` that finds the one before used up. The runtime
    /// has grown since then to its value `now` without a pause. False: no tick did.
    fn renew_at_ticks(&mut self, from: i64, now: i64, t: &Tunables) -> bool {
        let used_up = (now - (self.runtime - self.deadline)).max(from + 1);
        let first = used_up + (-used_up).rem_euclid(t.tick);
        if first > now {
            return false;
        }
        let each = t.slice + (-t.slice).rem_euclid(t.tick);
        let last = now - (now - first) % each;
        self.deadline = self.runtime - (now - last) + t.slice;
        true
    }
}

/// A CPU: its own clock, what runs on it, and what waits for it.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    pub clock: SimTime,
    tunables: Tunables,
    current: Option<(Entity, Virtual)>,
    /// Deadline that protects the current entity's slice; run time since it was picked.
    protected: i64,
    ran: i64,
    /// When the current entity's runtime was brought up to date here.
    updated: SimTime,
    /// Its runtime when the kernel did that: at a tick, a switch, or when somebody came.
    known: i64,
    queue: Line,
    min_runtime: i64,
    resched: bool,
    /// When that was first wanted.
    wanted: SimTime,
}

impl Cpu {
    pub(super) fn new(tunables: Tunables) -> Self {
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
            resched: false,
            wanted: SimTime::ZERO,
        }
    }

    /// The entity that runs.
    pub(super) fn current(&self) -> Option<Entity> {
        self.current.map(|c| c.0)
    }

    /// Nobody runs and nobody wants to.
    #[inline]
    pub(super) fn idle(&self) -> bool {
        self.current.is_none() && self.queue.all_delayed()
    }

    /// Whether somebody waits for the CPU.
    #[inline]
    pub(super) fn contended(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The entity that runs, if nobody else wants the CPU and none is to be chosen.
    #[inline]
    pub(super) fn alone(&self) -> Option<Entity> {
        let alone = self.queue.is_empty() && !self.resched;
        self.current.filter(|_| alone).map(|c| c.0)
    }

    /// How many compete.
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
    pub(super) fn account(&mut self, now: SimTime) {
        let (from, to) = (self.updated.0 as i64, now.0 as i64);
        if to <= from {
            return;
        }
        self.updated = now;
        let Some((_, v)) = &mut self.current else { return };
        let t = &self.tunables;
        v.runtime += to - from;
        self.ran += to - from;
        let since_tick = to % t.tick;
        if to - from > since_tick {
            let (runtime, ran) = (v.runtime - since_tick, self.ran - since_tick);
            self.known = runtime;
            if !self.resched {
                self.wanted = SimTime((to - since_tick) as u64);
            }
            let renewed = t.eevdf && v.renew_at_ticks(from, to, t);
            if renewed {
                self.resched |= !self.queue.is_empty();
            } else if t.eevdf && self.protected != v.deadline {
                // Its slice is not protected, and it is ahead of the average (`did_preempt_short`).
                let n = self.queue.len() as i128;
                self.resched |= i128::from(runtime) * n > self.queue.sum();
            }
            if !t.eevdf && !self.queue.is_empty() {
                let ideal = (t.latency / (self.queue.len() as i64 + 1)).max(t.min_granularity);
                let first = self.queue.least_runtime().unwrap_or(runtime);
                self.resched |= ran > ideal || ran >= t.min_granularity && runtime - first > ideal;
            }
        }
        let least = self.queue.least_runtime().map_or(v.runtime, |first| first.min(v.runtime));
        self.min_runtime = self.min_runtime.max(least);
    }

    /// A slice that is used up is looked at also when somebody comes or goes.
    fn renew_slice(&mut self) {
        let t = &self.tunables;
        let Some((_, v)) = &mut self.current else { return };
        self.known = v.runtime;
        if t.eevdf && v.runtime >= v.deadline {
            v.deadline = v.runtime + t.slice;
            self.resched |= !self.queue.is_empty();
        }
    }

    /// When the current entity's slice is looked at next with somebody else waiting.
    #[inline]
    pub(super) fn slice_end(&self) -> SimTime {
        if self.queue.is_empty() {
            return SimTime::NEVER;
        }
        if self.resched {
            return SimTime::ZERO;
        }
        let tick = self.tunables.tick as u64;
        SimTime((self.clock.0 / tick + 1) * tick)
    }

    /// An entity wakes: where it stands in line, and whether it preempts.
    pub(super) fn enqueue(&mut self, entity: Entity, mut v: Virtual, now: SimTime) {
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
        if !self.resched {
            self.wanted = now.max(self.clock);
        }
        self.renew_slice();
        let t = self.tunables;
        if t.eevdf {
            if delayed.is_none() {
                self.place(&mut v);
                self.queue.push(Queued { entity, v, ready: now, delayed: false });
            }
            if self.current.is_some() && self.pick(now.max(self.clock)) != Pick::Current {
                self.resched = true;
            }
        } else {
            v.runtime = v.runtime.max(self.min_runtime - t.latency / 2);
            self.queue.push(Queued { entity, v, ready: now, delayed: false });
            if let Some((_, c)) = self.current {
                self.resched |= c.runtime - v.runtime > t.wakeup_granularity;
            }
        }
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

    /// Lets the next entity run, if nobody does. `None`: nobody may run yet; then time passes
    /// until one may. The second value is what a delayed sleeper leaves with.
    pub(super) fn take_next(&mut self) -> (Option<Entity>, Vec<(Entity, Virtual)>) {
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
                    self.resched = false;
                    return (Some(q.entity), left);
                }
                Pick::Current => unreachable!("nobody runs"),
                Pick::Nobody => {
                    if let Some(ready) = self.queue.first_ready() {
                        self.clock = self.clock.max(ready);
                    }
                    return (None, left);
                }
            }
        }
    }

    /// The current entity goes to sleep. What those keep that leave: not itself, if it stays in
    /// line for a while; all delayed ones, if nobody else wants the CPU.
    pub(super) fn dequeue(&mut self) -> Vec<(Entity, Virtual)> {
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
    pub(super) fn yield_if_due(&mut self) {
        self.account(self.clock);
        if !self.resched || self.is_lazy() {
            return;
        }
        self.renew_slice();
        self.resched = false;
        if let Pick::Queued(_) = self.pick(self.clock) {
            let (entity, v) = self.current.take().expect("it runs");
            self.queue.push(Queued { entity, v, ready: self.clock, delayed: false });
        }
    }

    /// Whether kernel code that should give way goes on till the next tick.
    fn stays(&self) -> bool {
        let tick = self.tunables.tick as u64;
        self.tunables.lazy && self.clock.0 / tick == self.wanted.0 / tick
    }

    /// The same of the current entity: a kernel thread, for others are back in user mode.
    fn is_lazy(&self) -> bool {
        let thread = matches!(self.current, None | Some((Entity::Thread(_), _)));
        !thread && self.stays()
    }

    /// The time of the current entity's last step is taken back as far as it lies after `now`.
    /// Returns how much that is.
    pub(super) fn cut_short(&mut self, now: SimTime) -> SimDuration {
        let back = self.clock.since(now.min(self.clock));
        if let Some((_, v)) = &mut self.current {
            v.runtime -= back.0 as i64;
            self.ran -= back.0 as i64;
            self.clock = SimTime(self.clock.0 - back.0);
            self.updated = self.clock;
        }
        back
    }

    /// In the middle of a step: the current entity yields if it is the turn of one that `may` go
    /// first.
    pub(super) fn gives_way(&mut self, may: impl Fn(Entity) -> bool) -> bool {
        self.account(self.clock);
        if !self.resched || self.stays() {
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
    pub(super) fn next_daemon(&self) -> Option<SimTime> {
        match self.current {
            Some((Entity::Thread(_), _)) => None,
            Some(_) => Some(self.clock),
            None => self.queue.daemons().map(|q| q.ready.max(self.clock)).min(),
        }
    }

    /// Lets the first of the kernel threads run that can act by now, if nobody runs; others that
    /// wait are passed over.
    pub(super) fn take_daemon(&mut self, now: SimTime) -> Option<Entity> {
        if self.current.is_some() {
            return None;
        }
        let ready = self.queue.daemons().filter(|q| q.ready <= now);
        let first = ready.min_by_key(|q| q.v.runtime)?.entity;
        self.clock = now;
        self.resume(first);
        self.resched = false;
        Some(first)
    }

    /// The entity goes on, although it may not be its turn: at the end of its step it is looked
    /// at again.
    pub(super) fn resume(&mut self, entity: Entity) {
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
        (self.resched, self.wanted) = (true, SimTime::ZERO);
    }

    /// Whether the entity is what this CPU runs, or nobody else could be.
    pub(super) fn runs_next(&self, entity: Entity) -> bool {
        self.current().or_else(|| self.queue.only()) == Some(entity)
    }

    /// What would run next.
    pub(super) fn next(&self) -> Option<Entity> {
        self.current().or_else(|| self.queue.first_awake())
    }

    /// Lets an entity run, for tests of what depends on it.
    #[cfg(test)]
    pub(super) fn run(&mut self, entity: Option<Entity>) {
        self.current = entity.map(|e| (e, Virtual::default()));
    }

    /// Takes an entity away, wherever it is: its process is killed.
    pub(super) fn remove(&mut self, entity: Entity) {
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
mod tests {
    use super::*;
    use crate::base::id::{NodeId, ThreadId};

    const A: Entity = Entity::Thread(ThreadId(0));
    const B: Entity = Entity::Kswapd(NodeId(0));
    const US: u64 = 1_000;

    /// A CPU on which `A` has run alone from time 0 to `us`, in steps of 100 us.
    fn alone(scheduler: Scheduler, us: u64) -> Cpu {
        let mut c = Cpu::new(Tunables::of(scheduler, 1, SimDuration::from_millis(4), false));
        c.enqueue(A, Virtual::default(), SimTime::ZERO);
        assert_eq!(c.take_next().0, Some(A));
        while c.clock.0 < us * US {
            step(&mut c);
        }
        c
    }

    fn step(c: &mut Cpu) {
        c.clock.0 += 100 * US;
        c.yield_if_due();
        if c.current().is_none() {
            assert!(c.take_next().0.is_some(), "somebody wants the CPU");
        }
    }

    fn wake_b(c: &mut Cpu) {
        c.enqueue(B, Virtual::default(), c.clock);
    }

    /// When `B` gets the CPU, and until when it keeps it, in us.
    fn turn_of_b(c: &mut Cpu) -> (u64, u64) {
        c.yield_if_due();
        if c.current().is_none() {
            c.take_next();
        }
        let mut at = |e| {
            while c.current() != Some(e) {
                step(c);
            }
            c.clock.0 / US
        };
        (at(B), at(A))
    }

    /// Up to 6.5, worked by hand. `B` wakes with 3 ms credit: 7 ms of runtime against 10. That is
    /// more than 1 ms behind, so it preempts. Its slice is half of 6 ms: the tick at 12 finds it
    /// at 2 ms, the tick at 16 at 6 ms.
    /// A step of 100 us in which somebody comes after 30 us: 70 us have not passed, for nobody.
    #[test]
    fn a_step_is_cut_short_where_somebody_comes() {
        let mut c = alone(Scheduler::Eevdf, 1000);
        let before = c.current.expect("it runs").1.runtime;
        c.clock.0 += 100 * US;
        c.yield_if_due();
        let back = c.cut_short(SimTime(1030 * US));
        assert_eq!((back.0, c.clock.0), (70 * US, 1030 * US));
        assert_eq!(c.current.expect("it runs on").1.runtime - before, 30 * US as i64);
        // Who comes later than the step cuts nothing off.
        assert_eq!(c.cut_short(SimTime(2000 * US)).0, 0);
        assert_eq!(c.clock.0, 1030 * US);
    }

    #[test]
    fn cfs_sleepers_preempt_by_their_credit() {
        let mut c = alone(Scheduler::Cfs, 10_000);
        wake_b(&mut c);
        assert_eq!(turn_of_b(&mut c), (10_000, 16_000));
    }

    /// The runtime of a sleeper is never moved back before its own: `A` is 0.5 ms ahead only. It
    /// runs on to the tick at 4 ms, with 4 ms of a slice of 3 ms.
    #[test]
    fn cfs_does_not_preempt_within_the_wakeup_granularity() {
        let mut c = alone(Scheduler::Cfs, 500);
        wake_b(&mut c);
        assert_eq!(turn_of_b(&mut c).0, 4_000);
    }

    /// From 6.6 on, worked by hand. At 10 ms the deadline that `A` got at the tick of 8 ms, 8.7, is
    /// over: it begins a new slice, to 10.7. `B` is placed at the average, `A`'s 10, and has
    /// the same deadline: the one that wakes wins. At 12 ms `B` stands at 12 behind its deadline
    /// of 10.7, and `A` at 10 is next.
    #[test]
    fn eevdf_prefers_the_waking_one_at_equal_deadlines() {
        let mut c = alone(Scheduler::Eevdf, 10_000);
        wake_b(&mut c);
        assert_eq!(turn_of_b(&mut c), (10_000, 12_000));
    }

    /// At 8.3 ms the slice of `A` is still running, and protected until a tick looks at it.
    #[test]
    fn eevdf_protects_a_slice_up_to_the_tick() {
        let mut c = alone(Scheduler::Eevdf, 8_300);
        wake_b(&mut c);
        assert_eq!(turn_of_b(&mut c).0, 12_000);
    }

    /// Who sleeps while ahead of the average stays in line, and leaves when it would be its turn:
    /// then with no lag to be paid later. An idle CPU forgets it at once.
    #[test]
    fn eevdf_dequeues_late_who_is_ahead() {
        let mut c = alone(Scheduler::Eevdf, 10_000);
        wake_b(&mut c);
        c.yield_if_due();
        assert_eq!(c.take_next().0, Some(B));
        // B runs 1 ms, to 11; the average of the two is 10.5.
        c.clock.0 += 1000 * US;
        assert!(c.dequeue().is_empty(), "it is 0.5 ms ahead");
        assert!(c.contended() && !c.idle());
        assert_eq!(c.take_next().0, Some(A));
        assert!(c.dequeue().iter().any(|(e, v)| *e == B && v.lag == 0));
        assert!(c.idle() && !c.contended());
    }

    /// A slice that began anew is not protected. `B` wakes at 11.5 ms with a debt of 0.2 ms: `A`'s
    /// next slice ends at 12.2, and `B` stands at 11.9 behind the average of 11.7. At the tick of
    /// 12 ms `A` is ahead of the average, 11.95, and gives way though its slice goes on.
    #[test]
    fn eevdf_takes_the_cpu_at_a_tick_from_who_is_ahead_and_not_protected() {
        let mut c = alone(Scheduler::Eevdf, 11_500);
        c.enqueue(B, Virtual { lag: -200_000, ..Virtual::default() }, c.clock);
        assert_eq!(turn_of_b(&mut c).0, 12_000);
    }

    /// Ticks of 1 ms find a slice of 1.4 ms used up at every other one, worked by hand: at 2, 4, .., 10
    /// ms. The last ends at 11.4, however often somebody looked in between.
    #[test]
    fn slices_longer_than_a_tick_do_not_depend_on_who_looks() {
        let us = |t: u64| SimTime(t * US);
        for looks in
            [vec![10_900], vec![2_100, 3_000, 10_900], (1..=109).map(|i| i * 100).collect()]
        {
            let mut c =
                Cpu::new(Tunables::of(Scheduler::Eevdf, 2, SimDuration::from_millis(1), false));
            c.enqueue(A, Virtual::default(), SimTime::ZERO);
            c.take_next();
            for at in looks {
                c.clock = us(at);
                c.yield_if_due();
            }
            assert_eq!(c.current.expect("it runs").1.deadline, 11_400 * US as i64);
        }
    }

    /// The sum of what waits is kept, not counted.
    #[test]
    fn the_sum_is_that_of_the_queue() {
        let mut rng = crate::base::rng::Rng::for_purpose(1, "sums");
        for scheduler in [Scheduler::Cfs, Scheduler::Eevdf] {
            let mut c = Cpu::new(Tunables::of(scheduler, 4, SimDuration::from_millis(4), false));
            let mut asleep: Vec<_> = (0..20).map(|i| Entity::Thread(ThreadId(i))).collect();
            let mut virtuals = std::collections::BTreeMap::new();
            for _ in 0..20_000 {
                c.clock.0 += rng.below(2_000) * US;
                if c.current().is_some() {
                    c.yield_if_due();
                }
                if c.current().is_none() {
                    let (_, left) = c.take_next();
                    virtuals.extend(left);
                }
                if rng.below(2) == 0 && !asleep.is_empty() {
                    let e = asleep.swap_remove(rng.below(asleep.len() as u64) as usize);
                    let now = SimTime(c.clock.0 + rng.below(3) * 500 * US);
                    c.enqueue(e, virtuals.get(&e).copied().unwrap_or_default(), now);
                } else if let Some(e) = c.current() {
                    virtuals.extend(c.dequeue());
                    asleep.push(e);
                }
                let runtimes: Vec<i64> = c.queue.iter().map(|q| q.v.runtime).collect();
                assert_eq!(c.queue.sum(), runtimes.iter().map(|&r| i128::from(r)).sum());
                let all = runtimes.iter().copied().chain(c.current.map(|c| c.1.runtime));
                let n = all.clone().count() as i64;
                if n > 0 {
                    assert_eq!(c.average(), all.sum::<i64>().div_euclid(n));
                }
            }
        }
    }

    /// What choosing costs: nodes of the line that are looked at while so many threads run and sleep
    /// in turn, for each choice.
    fn looks_per_choice(scheduler: Scheduler, threads: u32) -> u64 {
        let mut rng = crate::base::rng::Rng::for_purpose(1, "looks");
        let mut c = Cpu::new(Tunables::of(scheduler, 1, SimDuration::from_millis(4), false));
        let mut virtuals = std::collections::BTreeMap::new();
        for i in 0..threads {
            c.enqueue(Entity::Thread(ThreadId(i)), Virtual::default(), SimTime::ZERO);
        }
        for _ in 0..threads {
            if c.current().is_none() {
                virtuals.extend(c.take_next().1);
            }
            c.clock.0 += rng.below(8_000) * US;
            let Some(e) = c.current() else { continue };
            if rng.below(2) == 0 {
                c.yield_if_due();
            } else {
                virtuals.extend(c.dequeue());
                let v = virtuals.get(&e).copied().unwrap_or_default();
                c.enqueue(e, v, c.clock);
            }
        }
        c.queue.looks() / u64::from(threads)
    }

    /// Among sixteen times as many a choice costs four levels of the tree more, not sixteen times as
    /// much: thousands that run are no more work than their number.
    #[test]
    fn choosing_among_many_costs_little_more_than_among_few() {
        for scheduler in [Scheduler::Cfs, Scheduler::Eevdf] {
            let [few, many] = [500, 8_000].map(|n| looks_per_choice(scheduler, n));
            assert!(many < 2 * few, "{scheduler:?}: {few} nodes for each of 500, {many} of 8,000");
        }
    }

    /// A late sleeper that wakes is judged by the runtimes of the last tick or switch. `B` ran 2.5 ms,
    /// to 12.5; at 15.5 ms `A` stands at 13, but by its 10 of before `B` is still ahead of the
    /// average. So `B` keeps its runtime, and is not moved on to the average.
    #[test]
    fn eevdf_judges_a_late_sleeper_by_the_last_update() {
        let mut c = alone(Scheduler::Eevdf, 10_000);
        wake_b(&mut c);
        c.yield_if_due();
        assert_eq!(c.take_next().0, Some(B));
        c.clock.0 += 2_500 * US;
        assert!(c.dequeue().is_empty(), "it is ahead");
        assert_eq!(c.take_next().0, Some(A));
        while c.clock.0 < 15_500 * US {
            step(&mut c);
        }
        wake_b(&mut c);
        assert_eq!(c.average(), (13_000_000 + 12_500_000) / 2);
        assert_eq!(turn_of_b(&mut c).0, 15_500, "it is behind by now");
    }

    /// A newcomer without lag is placed at the average, and does not move it.
    #[test]
    fn eevdf_places_newcomers_at_the_average() {
        let mut c = alone(Scheduler::Eevdf, 10_000);
        wake_b(&mut c);
        c.yield_if_due();
        assert_eq!(c.take_next().0, Some(B));
        c.clock.0 += 100 * US;
        c.enqueue(Entity::Thread(ThreadId(7)), Virtual::default(), c.clock);
        assert_eq!(c.average(), (10_000_000 + 10_100_000) / 2);
        // B runs 1 ms more; the newcomer stands at 10.05.
        c.clock.0 += 1000 * US;
        c.yield_if_due();
        assert_eq!(c.average(), (10_000_000 + 11_100_000 + 10_050_000) / 3);
    }

    /// Two that never sleep share a CPU evenly, to within two ticks, and no time is lost.
    #[test]
    fn busy_entities_share_evenly() {
        for scheduler in [Scheduler::Cfs, Scheduler::Eevdf] {
            let mut c = alone(scheduler, 1_000);
            wake_b(&mut c);
            let mut of_b = 0;
            for _ in 0..10_000 {
                of_b += u64::from(c.current() == Some(B)) * 100;
                step(&mut c);
            }
            assert_eq!(c.clock.0, 1_001_000 * US);
            assert!(of_b.abs_diff(500_000) <= 8_000, "{scheduler:?}: {of_b} us of a second");
        }
    }

    /// A wake-up may come from a CPU whose clock is ahead: nobody runs before it was woken.
    #[test]
    fn nobody_runs_before_it_is_woken() {
        for scheduler in [Scheduler::Cfs, Scheduler::Eevdf] {
            let mut c = Cpu::new(Tunables::of(scheduler, 1, SimDuration::from_millis(4), false));
            c.enqueue(A, Virtual::default(), SimTime(5_000));
            assert_eq!(c.clock, SimTime(5_000));
            assert_eq!(c.take_next().0, Some(A));
            c.enqueue(B, Virtual::default(), SimTime(9_000));
            c.clock = SimTime(6_000);
            c.dequeue();
            assert_eq!(c.take_next().0, None);
            assert_eq!(c.clock, SimTime(9_000));
            assert_eq!(c.take_next().0, Some(B));
        }
    }
}
