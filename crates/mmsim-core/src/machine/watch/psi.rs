//! Pressure stall information for memory.
//!
//! Each CPU knows how many of its threads run, wait for I/O, or are stalled on memory.
//! *Some* is the time with at least one stalled, *full* the time in which none but stalled
//! ones could run. The CPUs' shares are averaged, each weighed by the time in which it was not
//! idle, and added to the totals: at the end of each period, and when a program reads the file.
//!
//! The averages over 10, 60 and 300 s take a sample at the end of each period of 2·`HZ` + 1 ticks,
//! the share of it in per cent, and let older ones fade: what a reader sees between two ends is
//! the average as of the last. They are integers in 1/2048 of a per cent, so the two digits
//! that the file shows are the kernel's.
//!
//! A group has a meter of its own from the first thread on that runs in it or below it, and counts
//! these threads alone. Threads of the kernel are of the root.
//!
//! Source: Linux 6.12 kernel/sched/psi.c, include/linux/sched/loadavg.h (`calc_load`). Deviations:
//! periods end exactly, not up to a tick later, and go on while all CPUs are idle; weights are in
//! nanoseconds, not in ticks.

mod average;
mod trigger;

use crate::base::id::{CpuId, IndexVec, MemcgId};
use crate::base::time::{SimDuration, SimTime};
use crate::machine::watch::result::Pressure;
use crate::memory::Tree;
use crate::memory::memcg_tree::ROOT;
use crate::workload::{PressureAverages, PressureTotals, TriggerSpec};
use std::collections::BTreeMap;
use trigger::Triggers;

/// PSI state of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum Psi {
    /// Sleeps: does not count.
    Idle,
    /// Runs or could run.
    Running,
    /// Waits for I/O.
    IoWait,
    /// Waits for memory: a refault, a throttle.
    MemStall,
    /// Runs, and works for memory: reclaim.
    MemStallRunning,
}

#[derive(Clone, Debug, Default)]
struct CpuPsi {
    running: u32,
    iowait: u32,
    stalled: u32,
    stalled_running: u32,
    last: u64,
    /// Times since the start: some, full, not idle.
    times: [u64; 3],
}

impl CpuPsi {
    fn advance(&mut self, now: u64) {
        let d = now.saturating_sub(self.last);
        self.last = self.last.max(now);
        if self.stalled > 0 {
            self.times[0] += d;
            if self.running <= self.stalled_running {
                self.times[1] += d;
            }
        }
        if self.running + self.iowait + self.stalled > 0 {
            self.times[2] += d;
        }
    }
    fn count(&mut self, s: Psi, by: i32) {
        let add = |n: &mut u32| *n = n.checked_add_signed(by).expect("psi states balance");
        match s {
            Psi::Idle => {}
            Psi::Running => add(&mut self.running),
            Psi::IoWait => add(&mut self.iowait),
            Psi::MemStall => add(&mut self.stalled),
            Psi::MemStallRunning => {
                add(&mut self.running);
                add(&mut self.stalled);
                add(&mut self.stalled_running);
            }
        }
    }
}

/// Totals that one reader collects from the CPUs (`psi_aggregators`).
#[derive(Clone, Debug)]
struct Collected {
    /// Times of each CPU when it collected last.
    before: IndexVec<CpuId, [u64; 3]>,
    /// Some and full, in nanoseconds.
    total: [u64; 2],
}

impl Collected {
    /// Some and full since it collected last: means of the CPUs, weighed by the time not idle.
    fn since(&self, cpus: &IndexVec<CpuId, CpuPsi>) -> [u64; 2] {
        let times = || {
            let both = cpus.iter().zip(self.before.iter());
            both.map(|(c, b)| [0, 1, 2].map(|i| u128::from(c.times[i] - b[i])))
        };
        let nonidle: u128 = times().map(|t| t[2]).sum();
        [0, 1].map(|i| {
            let sum: u128 = times().map(|t| t[i] * t[2]).sum();
            sum.checked_div(nonidle).unwrap_or(0) as u64
        })
    }
    fn collect(&mut self, cpus: &IndexVec<CpuId, CpuPsi>) {
        let since = self.since(cpus);
        (0..2).for_each(|i| self.total[i] += since[i]);
        for (b, c) in self.before.iter_mut().zip(cpus.iter()) {
            *b = c.times;
        }
    }
}

/// Memory pressure of the machine or of a group.
#[derive(Clone, Debug)]
struct Meter {
    cpus: IndexVec<CpuId, CpuPsi>,
    /// Length of a period in nanoseconds.
    period: u64,
    period_end: u64,
    /// For averages and readers.
    read: Collected,
    /// Totals when the averages were updated last.
    averaged: [u64; 2],
    averages: PressureAverages,
    /// For triggers.
    polled: Collected,
    triggers: Triggers,
}

impl Meter {
    fn new(cpus: usize, period: u64) -> Meter {
        let none = Collected { before: IndexVec::filled(cpus, [0; 3]), total: [0; 2] };
        Meter {
            cpus: IndexVec::filled(cpus, CpuPsi::default()),
            period,
            period_end: period,
            read: none.clone(),
            averaged: [0; 2],
            averages: PressureAverages::default(),
            polled: none,
            triggers: Triggers::default(),
        }
    }

    fn change(&mut self, cpu: CpuId, now: SimTime, from: Psi, to: Psi) {
        self.roll(now);
        let c = &mut self.cpus[cpu];
        c.advance(now.0);
        c.count(from, -1);
        c.count(to, 1);
    }

    fn roll(&mut self, now: SimTime) {
        // The end of time is the latest instant that a query may name.
        let now = now.min(SimTime::LAST);
        while now.0 >= self.period_end {
            self.end_period(now);
        }
    }

    #[cold]
    fn end_period(&mut self, now: SimTime) {
        let (end, period) = (self.period_end, self.period);
        self.cpus.iter_mut().for_each(|c| c.advance(end));
        self.read.collect(&self.cpus);
        // Reading between two ends can make a sample longer than a period; the next takes the rest.
        let sample = [0, 1].map(|i| (self.read.total[i] - self.averaged[i]).min(period));
        (0..2).for_each(|i| self.averaged[i] += sample[i]);
        self.averages = average::after(self.averages, sample, period);
        self.period_end += period;
        // Periods without pressure behind one without are all alike.
        let calm = self.cpus.iter().all(|c| c.stalled == 0);
        if calm && self.averages == PressureAverages::default() {
            let begin = self.period_end + now.0.saturating_sub(self.period_end) / period * period;
            self.period_end = begin;
            self.cpus.iter_mut().for_each(|c| c.last = c.last.max(begin - period));
        }
    }

    fn advance(&mut self, now: SimTime) {
        self.roll(now);
        self.cpus.iter_mut().for_each(|c| c.advance(now.0));
    }

    fn total(&mut self, now: SimTime) -> Pressure {
        self.advance(now);
        let since = self.read.since(&self.cpus);
        let [some_us, full_us] = [0, 1].map(|i| (self.read.total[i] + since[i]) / 1000);
        Pressure { some_us, full_us }
    }
}

/// Memory pressure of the machine, and of each group with those below it.
#[derive(Clone, Debug)]
pub(in crate::machine) struct PsiMeter {
    machine: Meter,
    groups: BTreeMap<MemcgId, Meter>,
    tree: Tree,
    /// A stall began that triggers wait for: who has to look at them, one tick later.
    begun: Vec<MemcgId>,
    /// Meters whose triggers are not looked at.
    asleep: Vec<MemcgId>,
}

impl PsiMeter {
    /// No pressure on `cpus` CPUs with ticks of this length, nor in the groups of a tree.
    pub(in crate::machine) fn new(cpus: usize, tick: SimDuration, tree: Tree) -> Self {
        // Ticks of no length are ticks of 1 ns.
        let tick = tick.0.max(1);
        let period = (2 * (1_000_000_000 / tick).max(1) + 1).saturating_mul(tick);
        PsiMeter {
            machine: Meter::new(cpus, period),
            groups: BTreeMap::new(),
            tree,
            begun: Vec::new(),
            asleep: Vec::new(),
        }
    }

    /// Meters a group from now on. Nothing of it may run yet.
    pub(in crate::machine) fn watch(&mut self, memcg: MemcgId) {
        if memcg != ROOT {
            self.group(memcg);
        }
    }

    fn group(&mut self, memcg: MemcgId) -> &mut Meter {
        let (cpus, period) = (self.machine.cpus.len(), self.machine.period);
        self.groups.entry(memcg).or_insert_with(|| Meter::new(cpus, period))
    }

    fn meter(&mut self, memcg: MemcgId) -> &mut Meter {
        self.groups.get_mut(&memcg).unwrap_or(&mut self.machine)
    }

    /// A thread of a group changes on `cpu` from one state to another.
    #[inline]
    pub(in crate::machine) fn change(
        &mut self,
        (cpu, memcg): (CpuId, MemcgId),
        now: SimTime,
        from: Psi,
        to: Psi,
    ) {
        if from == to {
            return;
        }
        self.machine.change(cpu, now, from, to);
        let mut level = memcg;
        while level != ROOT {
            self.group(level).change(cpu, now, from, to);
            level = self.tree.parent(level).unwrap_or(ROOT);
        }
        if !self.asleep.is_empty() && matches!(to, Psi::MemStall | Psi::MemStallRunning) {
            self.stall_begins(memcg);
        }
    }

    #[cold]
    fn stall_begins(&mut self, memcg: MemcgId) {
        let concerns = |m: &mut MemcgId| self.tree.holds(*m, memcg);
        self.begun.extend(self.asleep.extract_if(.., concerns));
    }

    /// A thread of a group that ran on `cpu` worked for memory between two instants.
    pub(in crate::machine) fn stalled(&mut self, by: (CpuId, MemcgId), from: SimTime, to: SimTime) {
        self.change(by, from, Psi::Running, Psi::MemStallRunning);
        self.change(by, to, Psi::MemStallRunning, Psi::Running);
    }

    /// Totals up to now, the current period included.
    pub(in crate::machine) fn total(&mut self, now: SimTime) -> Pressure {
        self.machine.total(now)
    }

    /// The same of a group with those below it.
    pub(in crate::machine) fn total_of(&mut self, memcg: MemcgId, now: SimTime) -> Pressure {
        self.groups.get_mut(&memcg).map_or_else(Pressure::default, |meter| meter.total(now))
    }

    /// The averages as of the last end of a period; ask after `total`.
    pub(in crate::machine) fn averages(&self) -> PressureAverages {
        self.machine.averages
    }

    /// A program reads the pressure file of a group: totals that are new, and averages as of the
    /// last end of a period (`psi_show`). The times of all CPUs are collected for it.
    pub(in crate::machine) fn read(
        &mut self,
        memcg: MemcgId,
        now: SimTime,
    ) -> (Pressure, PressureAverages) {
        let meter = self.meter(memcg);
        meter.advance(now);
        meter.read.collect(&meter.cpus);
        (meter.total(now), meter.averages)
    }

    /// A program writes a trigger to the pressure file of a group. Returns its number there.
    pub(in crate::machine) fn arm(
        &mut self,
        memcg: MemcgId,
        spec: TriggerSpec,
        now: SimTime,
    ) -> usize {
        if self.meter(memcg).triggers.is_empty() {
            self.asleep.push(memcg);
        }
        let meter = self.meter(memcg);
        meter.advance(now);
        meter.polled.collect(&meter.cpus);
        meter.triggers.arm(spec, now, meter.polled.total)
    }

    /// The groups in which stalls began that triggers wait for, since the last call.
    #[inline]
    pub(in crate::machine) fn begun(&mut self) -> Option<MemcgId> {
        if self.begun.is_empty() { None } else { self.begun.pop() }
    }

    /// A look at the triggers of a group: the numbers of those that fire, and when to look again.
    /// `None`: [`PsiMeter::begun`] says when.
    pub(in crate::machine) fn look(
        &mut self,
        memcg: MemcgId,
        now: SimTime,
    ) -> (Vec<usize>, Option<SimTime>) {
        let meter = self.meter(memcg);
        meter.advance(now);
        meter.polled.collect(&meter.cpus);
        let (fired, next) = meter.triggers.look(now, meter.polled.total);
        if next.is_none() {
            self.asleep.push(memcg);
        }
        (fired, next)
    }

    /// Difference of two totals.
    pub(in crate::machine) fn between(a: Pressure, b: Pressure) -> Pressure {
        Pressure {
            some_us: b.some_us.saturating_sub(a.some_us),
            full_us: b.full_us.saturating_sub(a.full_us),
        }
    }
}

impl PressureTotals for PsiMeter {
    fn totals(&self, now: SimTime) -> Pressure {
        // Totals up to an instant roll the meter forward, and other CPUs may be behind it.
        self.machine.clone().total(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::PERCENT;

    const TICK: SimDuration = SimDuration::from_millis(4);

    /// Two groups, the second with one below it.
    fn tree() -> Tree {
        Tree::new(["a", "b", "b/c"])
    }

    /// Worked by hand: thread A on CPU 0 computes throughout, thread B on CPU 1 waits for a
    /// refault for 1 s of 2 s: some = full = 0.5 s.
    #[test]
    fn example_as_worked_by_hand() {
        let mut p = PsiMeter::new(2, TICK, tree());
        let s = |n: u64| SimTime(n * 1_000_000_000);
        p.change((CpuId(0), MemcgId(0)), s(0), Psi::Idle, Psi::Running);
        p.change((CpuId(1), MemcgId(0)), s(0), Psi::Idle, Psi::MemStall);
        p.change((CpuId(1), MemcgId(0)), s(1), Psi::MemStall, Psi::Running);
        // A period has 501 ticks of 4 ms.
        let half = Pressure { some_us: 500_000, full_us: 500_000 };
        assert_eq!(p.total(SimTime(2_003_999_999)), half);
        assert_eq!(p.averages(), PressureAverages::default());
        assert_eq!(p.total(SimTime(2_004_000_000)), half);
        // 24 % in one period: 24 x (2048 - 1677) / 2048 of a per cent and so on, rounded up.
        let averages = [24 * 371, 24 * 67, 24 * 14];
        assert_eq!(p.averages(), PressureAverages { some: averages, full: averages });
    }

    /// Constant pressure is reached; after it the averages fade with their own spans: by e
    /// within 10, 60 and 300 s, as far as whole 1/2048 can say it.
    #[test]
    fn averages_rise_and_fade() {
        let mut p = PsiMeter::new(1, TICK, tree());
        let s = |n: u64| SimTime(n * 1_000_000_000);
        p.change((CpuId(0), MemcgId(0)), s(0), Psi::Idle, Psi::MemStall);
        p.total(s(6_012));
        assert_eq!(p.averages().some, [100 * PERCENT; 3]);
        p.change((CpuId(0), MemcgId(0)), s(6_012), Psi::MemStall, Psi::Idle);
        for (i, span) in [10, 60, 300].into_iter().enumerate() {
            let mut later = p.clone();
            later.total(s(6_013 + span));
            let share = later.averages().some[i] as f64 / (100 * PERCENT) as f64;
            assert!((share - (-1f64).exp()).abs() < 0.012, "{span} s: {share}");
        }
    }

    #[test]
    fn reclaim_by_the_only_runner_is_full_pressure() {
        let mut p = PsiMeter::new(1, TICK, tree());
        p.change((CpuId(0), MemcgId(0)), SimTime(0), Psi::Idle, Psi::Running);
        p.stalled((CpuId(0), MemcgId(0)), SimTime(500_000_000), SimTime(700_000_000));
        assert_eq!(
            p.total(SimTime(1_000_000_000)),
            Pressure { some_us: 200_000, full_us: 200_000 }
        );
    }

    /// A group's meter knows the threads of the group alone, and a read of the file collects what the
    /// CPUs have since the read before: the averages lose nothing by it.
    #[test]
    fn a_group_has_its_own_pressure() {
        let mut p = PsiMeter::new(1, TICK, tree());
        let (own, other) = ((CpuId(0), MemcgId(1)), (CpuId(0), MemcgId(2)));
        p.watch(MemcgId(1));
        p.change(other, SimTime(0), Psi::Idle, Psi::Running);
        p.change(own, SimTime(0), Psi::Idle, Psi::MemStall);
        let (half, reads) = (SimTime(1_002_000_000), SimTime(2_004_000_000));
        assert_eq!(p.read(MemcgId(1), half).0, Pressure { some_us: 1_002_000, full_us: 1_002_000 });
        let (total, averages) = p.read(MemcgId(1), reads);
        assert_eq!(total, Pressure { some_us: 2_004_000, full_us: 2_004_000 });
        assert_eq!(averages.full[0], 100 * 371);
        // The other group's thread could run, so the machine was not stalled in full.
        let (total, averages) = p.read(MemcgId(0), reads);
        assert_eq!(total, Pressure { some_us: 2_004_000, full_us: 0 });
        assert_eq!((averages.some[0], averages.full[0]), (100 * 371, 0));
    }
}
