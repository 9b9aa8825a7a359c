//! The course of a generator: set up, meet, work in windows, end.
//!
//! Thread 0 maps and populates and then ends the phase `populate`; the other threads
//! wait. Then every thread works through the same number of measured windows. At each
//! boundary the threads meet twice: at the first barrier all work of the phase is done,
//! then thread 0 ends the phase, and the second barrier keeps the others from adding to
//! the next phase before it has begun. A single thread needs no barriers.
//!
//! Work is divided equally: among threads first, then each thread's share among windows;
//! what does not divide goes to the first ones, one unit each. By time, every window is
//! an equal part of the duration, counted from the end of `populate` on the thread's own
//! clock, and a thread looks at the clock after each small batch.
//!
//! A thread does one thing after the other: a loop that is *closed*, since no request comes while
//! it is busy. With arrivals the loop is *open*. Requests come at instants that do not depend on
//! the thread, counted from the end of `populate`. It serves the oldest request first, and requests
//! that come meanwhile wait for it.

use crate::law::{Source, Varying};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{Form, Formed, Row, Value};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::workload::{FileSpec, Op, Played, RegionId, Touch, Workload, WorkloadCx};

/// When a generator ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// After this much work over all threads, in the generator's unit (accesses, records).
    Work(u64),
    /// After this time, counted from the end of the populate phase.
    After(SimDuration),
}

impl Formed for End {
    const FORM: Form = Form::Whole;
}
impl Value for End {
    fn number(&self, row: &Row) -> Option<u64> {
        match (*self, row.form) {
            (End::Work(n), Form::Whole) => Some(n),
            (End::After(time), Form::Time) => time.number(row),
            _ => None,
        }
    }
    fn set_number(&mut self, row: &Row, n: u64) {
        *self = match row.form {
            Form::Time => End::After(SimDuration::from_nanos(n)),
            _ => End::Work(n),
        };
    }
}

impl End {
    /// The time after which it ends.
    pub fn after(&self) -> Option<SimDuration> {
        if let End::After(time) = *self { Some(time) } else { None }
    }
}

/// Differences between generators.
pub(super) trait Body: Send {
    /// The files that it uses.
    fn files(&self) -> Vec<FileSpec>;
    /// On thread 0, before the work: appends some operations that map and populate.
    /// Appends nothing when it is done.
    fn set_up(&mut self, ops: &mut Vec<Op>);
    /// Appends `units` units of work.
    fn work(&mut self, units: u64, rng: &mut Rng, ops: &mut Vec<Op>);
    /// The same in short form, if each unit is a touch of the same region, which it returns. `None`:
    /// nothing is appended, and no number is drawn.
    fn touch(
        &mut self,
        _units: u64,
        _rng: &mut Rng,
        _touches: &mut Vec<Touch>,
    ) -> Option<RegionId> {
        None
    }
    /// Goes on with a unit that [`work`](Body::work) only began; appends nothing when none is under
    /// way.
    fn go_on(&mut self, _rng: &mut Rng, _ops: &mut Vec<Op>) {}
    /// Processes that it plays, as [`Workload::played`].
    fn played(&self) -> Vec<Played> {
        Vec::new()
    }
    /// Ends one of them, as [`Workload::kill`].
    fn kill(&mut self, _number: u16) {}
    /// Name of a record, if one has a latency.
    fn record(&self) -> Option<&'static str> {
        None
    }
    /// Units per batch: when ending by work, and (some tens of accesses) by time.
    fn batch(&self) -> (u64, u64);
    /// True if the next unit is the first of a request.
    fn arrives(&self) -> bool {
        true
    }
    /// The thread's own amount of work, where an equal share is not what it does.
    fn amount(&self) -> Option<u64> {
        None
    }
}

/// A thread of a generator.
pub(super) struct Paced<B> {
    body: B,
    thread: u32,
    threads: u32,
    windows: u32,
    end: End,
    arrivals: Option<Arrivals>,
    at: At,
}

/// The instants of requests.
struct Arrivals {
    apart: Source,
    last: Option<SimTime>,
}

impl Arrivals {
    /// Appends the wait for the next one. `start`: when the work began.
    fn next(&mut self, start: SimTime, rng: &Rng, ops: &mut Vec<Op>) {
        let at = self.last.unwrap_or(start) + self.apart.time(rng);
        self.last = Some(at);
        ops.extend([Op::SleepUntil(at), Op::Arrived(at)]);
    }
}

enum At {
    SettingUp,
    /// In a window: its number, and when the first one began.
    Window {
        number: u32,
        began: Option<SimTime>,
        done: u64,
    },
}

/// Part `i` of `n` equal parts of `total`.
pub(super) fn share(total: u64, n: u32, i: u32) -> u64 {
    total / u64::from(n) + u64::from(u64::from(i) < total % u64::from(n))
}

/// One workload for each of the threads, whose bodies `body` makes. The course: how many threads
/// and windows, when they end, and how far apart arrivals are.
pub(super) fn threads<B: Body + 'static>(
    (threads, windows, end, arrival): (u32, u32, End, Option<Varying>),
    mut body: impl FnMut(u32) -> B,
) -> Vec<Box<dyn Workload>> {
    assert!(threads > 0, "threads: must be at least 1");
    assert!(windows > 0, "windows: must be at least 1");
    (0..threads)
        .map(|thread| -> Box<dyn Workload> {
            let body = body(thread);
            let arrivals = arrival.map(|a| Arrivals { apart: a.source("arrival"), last: None });
            Box::new(Paced { body, thread, threads, windows, end, arrivals, at: At::SettingUp })
        })
        .collect()
}

impl<B: Body> Paced<B> {
    /// The boundary after phase `phase`.
    fn meet(&self, phase: u32, ops: &mut Vec<Op>) {
        let together = self.threads > 1;
        if together {
            ops.push(Op::Barrier);
        }
        if self.thread == 0 {
            ops.push(Op::PhaseEnd(phase as u16));
        }
        if together {
            ops.push(Op::Barrier);
        }
    }

    /// Number of units of window `number` that come next, after `done` of it; 0 at its end.
    fn next_units(&self, number: u32, done: u64, since: SimDuration) -> u64 {
        let (large, small) = self.body.batch();
        match self.end {
            End::Work(total) => {
                let equal = share(total, self.threads, self.thread);
                let mine = self.body.amount().unwrap_or(equal);
                (share(mine, self.windows, number) - done).min(large)
            }
            End::After(t) => {
                let until =
                    u128::from(t.as_nanos()) * u128::from(number + 1) / u128::from(self.windows);
                // Arrivals may be far apart, and the clock is looked at after each.
                let units = if self.arrivals.is_some() { 1 } else { small };
                if u128::from(since.as_nanos()) < until { units } else { 0 }
            }
        }
    }
}

impl<B: Body> Workload for Paced<B> {
    fn files(&self) -> Vec<FileSpec> {
        self.body.files()
    }
    fn record(&self) -> Option<&'static str> {
        self.body.record()
    }
    fn played(&self) -> Vec<Played> {
        self.body.played()
    }
    fn kill(&mut self, number: u16) {
        self.body.kill(number);
    }
    /// `populate`, then `access` or `access1`, `access2`, ...; the other threads end none.
    fn phases(&self) -> Vec<String> {
        if self.thread > 0 {
            return Vec::new();
        }
        let mut names = vec!["populate".to_string()];
        match self.windows {
            1 => names.push("access".into()),
            k => names.extend((1..=k).map(|i| format!("access{i}"))),
        }
        names
    }
    fn fill_touches(
        &mut self,
        cx: &WorkloadCx<'_>,
        rng: &mut Rng,
        touches: &mut Vec<Touch>,
    ) -> Option<RegionId> {
        let At::Window { number, began, done } = self.at else { return None };
        if number == self.windows || self.arrivals.is_some() {
            return None;
        }
        let start = began.unwrap_or(cx.now);
        let units = self.next_units(number, done, cx.now.since(start));
        if units == 0 {
            return None;
        }
        let region = self.body.touch(units, rng, touches)?;
        self.at = At::Window { number, began: Some(start), done: done + units };
        Some(region)
    }
    fn fill(&mut self, cx: &WorkloadCx, rng: &mut Rng, ops: &mut Vec<Op>) {
        self.body.go_on(rng, ops);
        if !ops.is_empty() {
            return;
        }
        match self.at {
            At::SettingUp => {
                if self.thread == 0 {
                    self.body.set_up(ops);
                }
                if ops.is_empty() {
                    self.meet(0, ops);
                    self.at = At::Window { number: 0, began: None, done: 0 };
                }
            }
            At::Window { number, .. } if number == self.windows => {}
            At::Window { number, began, done } => {
                let start = began.unwrap_or(cx.now);
                let units = self.next_units(number, done, cx.now.since(start));
                self.at = if units > 0 {
                    match &mut self.arrivals {
                        None => self.body.work(units, rng, ops),
                        Some(arrivals) => {
                            for _ in 0..units {
                                if self.body.arrives() {
                                    arrivals.next(start, rng, ops);
                                }
                                self.body.work(1, rng, ops);
                            }
                        }
                    }
                    At::Window { number, began: Some(start), done: done + units }
                } else {
                    self.meet(number + 1, ops);
                    At::Window { number: number + 1, began: Some(start), done: 0 }
                };
                // Saying nothing would mean the end; every boundary says something.
                debug_assert!(!ops.is_empty());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{self, Ticking};
    use super::*;

    /// Work without accesses: each unit is one record.
    struct Count {
        steps: u32,
    }
    impl Body for Count {
        fn files(&self) -> Vec<FileSpec> {
            Vec::new()
        }
        fn set_up(&mut self, ops: &mut Vec<Op>) {
            if self.steps > 0 {
                self.steps -= 1;
                ops.push(Op::DropCaches);
            }
        }
        fn work(&mut self, units: u64, _rng: &mut Rng, ops: &mut Vec<Op>) {
            ops.push(Op::Records(units as u32));
        }
        fn batch(&self) -> (u64, u64) {
            (100, 7)
        }
    }

    #[test]
    fn equal_shares_add_up() {
        for (total, n) in [(0, 1), (7, 3), (100, 7), (u64::MAX, 5)] {
            let parts: Vec<u64> = (0..n).map(|i| share(total, n, i)).collect();
            assert_eq!(parts.iter().sum::<u64>(), total);
            assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 1);
        }
    }

    #[test]
    fn one_thread_needs_no_barrier() {
        let mut w = threads((1, 2, End::Work(301), None), |_| Count { steps: 2 });
        assert_eq!(w[0].phases(), ["populate", "access1", "access2"]);
        use Op::{DropCaches, PhaseEnd, Records};
        assert_eq!(
            harness::all(w[0].as_mut(), Ticking(0)),
            [
                DropCaches,
                DropCaches,
                PhaseEnd(0),
                Records(100),
                Records(51),
                PhaseEnd(1),
                Records(100),
                Records(50),
                PhaseEnd(2)
            ]
        );
    }

    #[test]
    fn threads_meet_at_every_boundary() {
        let mut w = threads((3, 4, End::Work(10), None), |_| Count { steps: 1 });
        let all: Vec<Vec<Op>> =
            w.iter_mut().map(|w| harness::all(w.as_mut(), Ticking(0))).collect();
        for ops in &all {
            assert_eq!(ops.iter().filter(|o| **o == Op::Barrier).count(), 10);
        }
        let done: Vec<u32> = all
            .iter()
            .map(|ops| ops.iter().map(|o| if let Op::Records(n) = o { *n } else { 0 }).sum())
            .collect();
        assert_eq!(done, [4, 3, 3]);
        assert!(all[1].iter().all(|o| matches!(o, Op::Barrier | Op::Records(_))));
        assert!(w[1].phases().is_empty());
    }

    /// The clock advances 10 ms a batch: 100 ms in two windows are five small batches each,
    /// however long the set-up took.
    #[test]
    fn by_time() {
        let end = End::After(SimDuration::from_millis(100));
        let mut w = threads((1, 2, end, None), |_| Count { steps: 9 });
        let ops = harness::all(w[0].as_mut(), Ticking(10_000_000));
        let windows: Vec<usize> =
            ops.split(|o| matches!(o, Op::PhaseEnd(_))).skip(1).map(<[Op]>::len).collect();
        // A boundary takes a batch of the ticking clock as well.
        assert_eq!(windows, [5, 4, 0]);
        assert!(ops.iter().all(|o| !matches!(o, Op::Records(n) if *n != 7)));
    }
}
