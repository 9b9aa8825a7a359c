//! Latency histograms: log-linear, 16 buckets an octave, so a quantile is known to within
//! a sixteenth of its value; the largest sample is exact. And the clock that records are timed by.

use crate::base::time::{SimDuration, SimTime};
use crate::machine::watch::result::Quantiles;

const SUB: u32 = 4;

/// A histogram of durations.
#[derive(Clone, Debug, Default)]
pub(in crate::machine) struct Histogram {
    counts: Vec<u64>,
    max: u64,
    /// The last sample and its bucket: most faults take as long as the one before.
    last: (u64, usize),
}

fn bucket(ns: u64) -> usize {
    if ns < 1 << SUB {
        return ns as usize;
    }
    let e = 63 - ns.leading_zeros();
    ((e - SUB + 1) as usize) << SUB | (ns >> (e - SUB)) as usize & ((1 << SUB) - 1)
}

/// Largest value of a bucket.
fn upper(b: usize) -> u64 {
    if b < 1 << SUB {
        return b as u64;
    }
    let e = (b >> SUB) as u32 - 1;
    let m = (b & ((1 << SUB) - 1)) as u64 | 1 << SUB;
    ((m + 1) << e) - 1
}

impl Histogram {
    /// Adds a sample.
    #[inline]
    pub(in crate::machine) fn add(&mut self, d: SimDuration) {
        if d.0 != self.last.0 {
            self.turn_to(d.0);
        }
        match self.counts.get_mut(self.last.1) {
            Some(n) => *n += 1,
            None => self.grow(),
        }
    }
    /// Adds `n` equal samples.
    pub(in crate::machine) fn add_many(&mut self, d: SimDuration, n: u64) {
        if n > 0 {
            self.add(d);
            self.counts[self.last.1] += n - 1;
        }
    }
    #[inline]
    fn turn_to(&mut self, ns: u64) {
        self.last = (ns, bucket(ns));
        self.max = self.max.max(ns);
    }
    /// The first sample of a bucket beyond all others.
    #[cold]
    fn grow(&mut self) {
        self.counts.resize(self.last.1 + 1, 0);
        self.counts[self.last.1] = 1;
    }
    /// Number of samples.
    pub(in crate::machine) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
    /// Takes the samples of another in.
    pub(in crate::machine) fn merge(&mut self, other: &Histogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            *a += b;
        }
        self.max = self.max.max(other.max);
    }
    /// The samples since an earlier copy (the largest is that of the whole).
    pub(in crate::machine) fn since(&self, earlier: &Histogram) -> Histogram {
        let mut d = self.clone();
        for (a, b) in d.counts.iter_mut().zip(&earlier.counts) {
            *a -= b;
        }
        let top = d.counts.iter().rposition(|&c| c > 0).map_or(0, upper);
        d.max = d.max.min(top);
        d
    }
    /// Its quantiles.
    pub(in crate::machine) fn quantiles(&self) -> Quantiles {
        let total = self.total();
        let at = |permille: u64| {
            let want = (total * permille).div_ceil(1000).max(1);
            let mut seen = 0;
            for (b, &c) in self.counts.iter().enumerate() {
                seen += c;
                if seen >= want {
                    return upper(b).min(self.max);
                }
            }
            0
        };
        Quantiles { count: total, p50: at(500), p99: at(990), p999: at(999), max: self.max }
    }
}

/// Times the records of a thread, if its workload has such
/// ([`Workload::record`](crate::workload::Workload::record)).
#[derive(Debug, Default)]
pub(in crate::machine) struct RecordClock {
    timed: bool,
    /// Where the current record began.
    since: SimTime,
    /// Time that the thread has waited since of its own will.
    slept: SimDuration,
    took: Histogram,
}

impl RecordClock {
    pub(in crate::machine) fn new(timed: bool) -> Self {
        RecordClock { timed, ..RecordClock::default() }
    }
    /// A record begins here.
    #[inline]
    pub(in crate::machine) fn begin(&mut self, now: u64) {
        (self.since, self.slept) = (SimTime(now), SimDuration::ZERO);
    }
    /// `n` records end here, and the next one begins. What is done several at a time has no
    /// latency that anybody could tell.
    #[inline]
    pub(in crate::machine) fn end(&mut self, now: u64, n: u32) {
        if self.timed {
            if n == 1 {
                self.took.add(SimDuration(SimTime(now).since(self.since).0 - self.slept.0));
            }
            self.begin(now);
        }
    }
    /// The thread waited for so long because it wanted to.
    pub(in crate::machine) fn sleep(&mut self, d: SimDuration) {
        self.slept += d;
    }
    /// Latencies of its records.
    pub(in crate::machine) fn took(&self) -> &Histogram {
        &self.took
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_within_a_sixteenth() {
        for ns in (0..200_000u64).chain([1 << 40, u64::MAX >> 1]) {
            let u = upper(bucket(ns));
            assert!(u >= ns && u - ns <= ns / 16, "{ns} reads as {u}");
        }
    }

    #[test]
    fn two_are_one() {
        let of = |samples: &[u64]| {
            let mut h = Histogram::default();
            samples.iter().for_each(|&n| h.add(SimDuration(n)));
            h
        };
        let (mut a, both) = (of(&[3, 90_000]), of(&[3, 90_000, 7, 5_000_000]));
        a.merge(&of(&[7, 5_000_000]));
        assert_eq!(a.quantiles(), both.quantiles());
        assert_eq!((a.quantiles().count, a.quantiles().max), (4, 5_000_000));
    }

    #[test]
    fn records_take_what_they_do_not_sleep() {
        let mut clock = RecordClock::new(true);
        clock.begin(100);
        clock.sleep(SimDuration(50));
        clock.end(170, 1);
        clock.end(200, 1);
        // Several at a time are none, and the next begins behind them.
        clock.end(500, 2);
        clock.end(510, 1);
        let q = clock.took().quantiles();
        assert_eq!((q.count, q.p50, q.max), (3, 20, 30));
        let mut untimed = RecordClock::new(false);
        untimed.end(10, 1);
        assert_eq!(untimed.took().total(), 0);
    }

    #[test]
    fn quantiles_of_a_ramp() {
        let mut h = Histogram::default();
        (1..=1000).for_each(|n| h.add(SimDuration(n * 1000)));
        let q = h.quantiles();
        assert_eq!((q.count, q.max), (1000, 1_000_000));
        assert!(q.p50.abs_diff(500_000) <= 500_000 / 16, "{q:?}");
        assert!(q.p99.abs_diff(990_000) <= 990_000 / 16, "{q:?}");
    }
}
