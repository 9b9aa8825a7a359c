//! Pressure stall information for memory.
//!
//! Each CPU knows how many of its threads run, wait for I/O, or are stalled on memory.
//! *Some* is the time with at least one stalled, *full* the time in which none but stalled
//! ones could run. Every 2 s the CPUs' shares are averaged, each weighed by the time in
//! which it was not idle, and added to the totals.
//!
//! Source: Linux 6.12 kernel/sched/psi.c. Left out: the averages over 10, 60 and 300 s of
//! the file; totals over any span follow from the series.

use super::result::Pressure;
use crate::base::time::SimTime;

const PERIOD: u64 = 2_000_000_000;

/// What a thread is to its CPU's pressure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Psi {
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
pub(super) struct PsiMeter {
    cpus: Vec<CpuPsi>,
    period_end: u64,
    some_ns: u64,
    full_ns: u64,
}

impl PsiMeter {
    /// No pressure on `cpus` CPUs.
    pub(super) fn new(cpus: usize) -> Self {
        PsiMeter { cpus: vec![CpuPsi::default(); cpus], period_end: PERIOD, some_ns: 0, full_ns: 0 }
    }

    /// A thread of `cpu` changes from one state to another.
    pub(super) fn change(&mut self, cpu: usize, now: SimTime, from: Psi, to: Psi) {
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
    pub(super) fn stalled(&mut self, cpu: usize, from: SimTime, to: SimTime) {
        self.change(cpu, from, Psi::Running, Psi::MemStallRunning);
        self.change(cpu, to, Psi::MemStallRunning, Psi::Running);
    }

    fn roll(&mut self, now: SimTime) {
        while now.0 >= self.period_end {
            let end = self.period_end;
            for c in &mut self.cpus {
                c.advance(end);
            }
            let (some, full) = self.average();
            self.some_ns += some;
            self.full_ns += full;
            for c in &mut self.cpus {
                (c.some, c.full, c.nonidle) = (0, 0, 0);
            }
            self.period_end += PERIOD;
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
    pub(super) fn total(&mut self, now: SimTime) -> Pressure {
        self.roll(now);
        for c in &mut self.cpus {
            c.advance(now.0);
        }
        let (some, full) = self.average();
        Pressure { some_us: (self.some_ns + some) / 1000, full_us: (self.full_ns + full) / 1000 }
    }

    /// Difference of two totals.
    pub(super) fn between(a: Pressure, b: Pressure) -> Pressure {
        Pressure {
            some_us: b.some_us.saturating_sub(a.some_us),
            full_us: b.full_us.saturating_sub(a.full_us),
        }
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
        p.change(0, s(0), Psi::Idle, Psi::Running);
        p.change(1, s(0), Psi::Idle, Psi::MemStall);
        p.change(1, s(1), Psi::MemStall, Psi::Running);
        assert_eq!(p.total(s(2)), Pressure { some_us: 500_000, full_us: 500_000 });
    }

    #[test]
    fn reclaim_by_the_only_runner_is_full_pressure() {
        let mut p = PsiMeter::new(1);
        p.change(0, SimTime(0), Psi::Idle, Psi::Running);
        p.stalled(0, SimTime(500_000_000), SimTime(700_000_000));
        assert_eq!(
            p.total(SimTime(1_000_000_000)),
            Pressure { some_us: 200_000, full_us: 200_000 }
        );
    }
}
