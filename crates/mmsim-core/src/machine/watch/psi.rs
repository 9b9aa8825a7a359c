//! Pressure stall information for memory.
//!
//! Each CPU knows how many of its threads run, wait for I/O, or are stalled on memory.
//! *Some* is the time with at least one stalled, *full* the time in which none but stalled
//! ones could run. Every 2 s the CPUs' shares are averaged, each weighed by the time in
//! which it was not idle, and added to the totals.
//!
//! The averages over 10, 60 and 300 s take a sample at the end of each such period, the
//! share of it in per cent, and let older ones fade: what a reader sees between two ends is
//! the average as of the last. They are integers in 1/2048 of a per cent, so the two digits
//! that the file shows are the kernel's.
//!
//! Source: Linux 6.12 kernel/sched/psi.c, include/linux/sched/loadavg.h (`calc_load`).
//! Deviation: the kernel's period is one tick longer than 2 s.

use crate::base::id::{CpuId, IndexVec, MemcgId};
use crate::base::time::SimTime;
use crate::machine::watch::result::Pressure;
use crate::workload::PressureTotals;
use std::collections::BTreeMap;

const PERIOD: u64 = 2_000_000_000;
/// 1 per cent in the fixed point of averages.
pub(in crate::machine) const PERCENT: u64 = 2048;
/// Remainders of an average over 10, 60 and 300 s after a period: exp(-2 s / span), in 1/2048.
const REMAINS: [u64; 3] = [1677, 1981, 2034];

/// Averages of the share of time with pressure over the last 10, 60 and 300 s, in 1/2048
/// of a per cent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PressureAverages {
    /// Some thread was stalled on memory.
    pub some: [u64; 3],
    /// All non-idle threads were.
    pub full: [u64; 3],
}

impl PressureAverages {
    /// An average as the file prints it: whole per cent, and hundredths rounded down.
    pub const fn digits(average: u64) -> (u64, u64) {
        (average / PERCENT, average % PERCENT * 100 / PERCENT)
    }
}

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
    some: u64,
    full: u64,
    nonidle: u64,
}

impl CpuPsi {
    fn advance(&mut self, now: u64) {
        let d = now.saturating_sub(self.last);
        self.last = self.last.max(now);
        if self.stalled > 0 {
            self.some += d;
            if self.running <= self.stalled_running {
                self.full += d;
            }
        }
        if self.running + self.iowait + self.stalled > 0 {
            self.nonidle += d;
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

/// Memory pressure of the machine.
#[derive(Clone, Debug)]
pub(in crate::machine) struct PsiMeter {
    cpus: IndexVec<CpuId, CpuPsi>,
    period_end: u64,
    some_ns: u64,
    full_ns: u64,
    averages: PressureAverages,
}

/// Lets an average fade by one period and adds the share `now`, in the same unit. A rising
/// average is rounded up, so that constant pressure is reached.
fn fade(average: u64, remains: u64, now: u64) -> u64 {
    let sum = average * remains + now * (PERCENT - remains);
    if now >= average { sum.div_ceil(PERCENT) } else { sum / PERCENT }
}

/// The averages after a period with `ns` of pressure.
fn sampled(averages: [u64; 3], ns: u64) -> [u64; 3] {
    let now = ns * 100 / PERIOD * PERCENT;
    std::array::from_fn(|i| fade(averages[i], REMAINS[i], now))
}

impl PsiMeter {
    /// No pressure on `cpus` CPUs.
    pub(in crate::machine) fn new(cpus: usize) -> Self {
        PsiMeter {
            cpus: IndexVec::filled(cpus, CpuPsi::default()),
            period_end: PERIOD,
            some_ns: 0,
            full_ns: 0,
            averages: PressureAverages::default(),
        }
    }

    /// A thread of `cpu` changes from one state to another.
    pub(in crate::machine) fn change(&mut self, cpu: CpuId, now: SimTime, from: Psi, to: Psi) {
        if from == to {
            return;
        }
        self.roll(now);
        let c = &mut self.cpus[cpu];
        c.advance(now.0);
        c.count(from, -1);
        c.count(to, 1);
    }

    /// A thread that ran on `cpu` worked for memory between two instants.
    pub(in crate::machine) fn stalled(&mut self, cpu: CpuId, from: SimTime, to: SimTime) {
        self.change(cpu, from, Psi::Running, Psi::MemStallRunning);
        self.change(cpu, to, Psi::MemStallRunning, Psi::Running);
    }

    fn roll(&mut self, now: SimTime) {
        // The end of time is the latest instant that a query may name.
        let now = now.min(SimTime::LAST);
        while now.0 >= self.period_end {
            let end = self.period_end;
            for c in self.cpus.iter_mut() {
                c.advance(end);
            }
            let (some, full) = self.average();
            self.some_ns += some;
            self.full_ns += full;
            self.averages.some = sampled(self.averages.some, some);
            self.averages.full = sampled(self.averages.full, full);
            for c in self.cpus.iter_mut() {
                (c.some, c.full, c.nonidle) = (0, 0, 0);
            }
            self.period_end += PERIOD;
            // Periods without pressure behind one without are all alike.
            let calm = self.cpus.iter().all(|c| c.stalled == 0);
            if calm && self.averages == PressureAverages::default() {
                let begin =
                    self.period_end + now.0.saturating_sub(self.period_end) / PERIOD * PERIOD;
                self.period_end = begin;
                self.cpus.iter_mut().for_each(|c| c.last = c.last.max(begin - PERIOD));
            }
        }
    }

    fn average(&self) -> (u64, u64) {
        let nonidle: u128 = self.cpus.iter().map(|c| u128::from(c.nonidle)).sum();
        let weigh = |f: fn(&CpuPsi) -> u64| {
            let sum: u128 =
                self.cpus.iter().map(|c| u128::from(f(c)) * u128::from(c.nonidle)).sum();
            sum.checked_div(nonidle).unwrap_or(0) as u64
        };
        (weigh(|c| c.some), weigh(|c| c.full))
    }

    /// Totals up to now, the current period included.
    pub(in crate::machine) fn total(&mut self, now: SimTime) -> Pressure {
        self.roll(now);
        for c in self.cpus.iter_mut() {
            c.advance(now.0);
        }
        let (some, full) = self.average();
        Pressure { some_us: (self.some_ns + some) / 1000, full_us: (self.full_ns + full) / 1000 }
    }

    /// The averages as of the last end of a period; ask after `total`.
    pub(in crate::machine) fn averages(&self) -> PressureAverages {
        self.averages
    }

    /// Difference of two totals.
    pub(in crate::machine) fn between(a: Pressure, b: Pressure) -> Pressure {
        Pressure {
            some_us: b.some_us.saturating_sub(a.some_us),
            full_us: b.full_us.saturating_sub(a.full_us),
        }
    }
}

/// Memory pressure of groups, each with those below it. A group has a meter from the first
/// thread on that runs in it.
///
/// *Full* of a group needs all of its own threads that run to be stalled; those of others do not
/// matter.
#[derive(Clone, Debug)]
pub(in crate::machine) struct GroupPressure {
    nr_cpus: usize,
    meters: BTreeMap<MemcgId, PsiMeter>,
}

impl GroupPressure {
    /// No group has threads.
    pub(in crate::machine) fn new(nr_cpus: usize) -> Self {
        GroupPressure { nr_cpus, meters: BTreeMap::new() }
    }

    /// The meter of a group, if threads ever ran in it.
    pub(in crate::machine) fn of(&mut self, m: MemcgId) -> Option<&mut PsiMeter> {
        self.meters.get_mut(&m)
    }

    /// Changes the meters of a group and of those above it.
    pub(in crate::machine) fn change(
        &mut self,
        levels: impl Iterator<Item = MemcgId>,
        mut f: impl FnMut(&mut PsiMeter),
    ) {
        for level in levels {
            f(self.meters.entry(level).or_insert_with(|| PsiMeter::new(self.nr_cpus)));
        }
    }
}

impl PressureTotals for PsiMeter {
    fn totals(&self, now: SimTime) -> Pressure {
        // Totals up to an instant roll the meter forward, and other CPUs may be behind it.
        self.clone().total(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: thread A on CPU 0 computes throughout, thread B on CPU 1 waits for a
    /// refault for 1 s of 2 s: some = full = 0.5 s.
    #[test]
    fn example_as_worked_by_hand() {
        let mut p = PsiMeter::new(2);
        let s = |n: u64| SimTime(n * 1_000_000_000);
        p.change(CpuId(0), s(0), Psi::Idle, Psi::Running);
        p.change(CpuId(1), s(0), Psi::Idle, Psi::MemStall);
        p.change(CpuId(1), s(1), Psi::MemStall, Psi::Running);
        assert_eq!(p.total(s(2)), Pressure { some_us: 500_000, full_us: 500_000 });
        // 25 % in one period: 25 x (2048 - 1677) / 2048 of a per cent and so on, rounded up.
        let averages = [25 * 371, 25 * 67, 25 * 14];
        assert_eq!(p.averages(), PressureAverages { some: averages, full: averages });
    }

    /// Constant pressure is reached; after it the averages fade with their own spans: by e
    /// within 10, 60 and 300 s, as far as whole 1/2048 can say it.
    #[test]
    fn averages_rise_and_fade() {
        let mut p = PsiMeter::new(1);
        let s = |n: u64| SimTime(n * 1_000_000_000);
        p.change(CpuId(0), s(0), Psi::Idle, Psi::MemStall);
        p.total(s(6_000));
        assert_eq!(p.averages().some, [100 * PERCENT; 3]);
        p.change(CpuId(0), s(6_000), Psi::MemStall, Psi::Idle);
        for (i, span) in [10, 60, 300].into_iter().enumerate() {
            let mut later = p.clone();
            later.total(s(6_000 + span));
            let share = later.averages().some[i] as f64 / (100 * PERCENT) as f64;
            assert!((share - (-1f64).exp()).abs() < 0.012, "{span} s: {share}");
        }
    }

    #[test]
    fn reclaim_by_the_only_runner_is_full_pressure() {
        let mut p = PsiMeter::new(1);
        p.change(CpuId(0), SimTime(0), Psi::Idle, Psi::Running);
        p.stalled(CpuId(0), SimTime(500_000_000), SimTime(700_000_000));
        assert_eq!(
            p.total(SimTime(1_000_000_000)),
            Pressure { some_us: 200_000, full_us: 200_000 }
        );
    }
}
