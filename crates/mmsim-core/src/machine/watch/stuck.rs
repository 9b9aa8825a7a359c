//! The watchdog: runs that cannot end are ended, with who waited for what.
//!
//! Two things are *tries*: a step of a thread in the kernel after which its operation is not done, so
//! that it has to wait or to begin anew; and a direct reclaim, whatever it frees, since threads that
//! take each other's pages free many. One operation that is done makes up for [`MADE_UP`] tries,
//! whoever did it, so a machine that thrashes and gets on is left alone.
//! A thread that is given operations so often at one instant that they cannot take any time is stuck
//! as well ([`MOST_AT_ONCE`]).
//!
//! Where tries that nothing makes up for come to [`MOST_IN_VAIN`] for each thread, nothing more will
//! come. A thread in a long step that reclaims and reclaims looks at that too, and breaks off. Only
//! what is simulated is counted, so the same run always ends at the same instant.

use crate::base::time::SimTime;
use crate::machine::Machine;
use crate::machine::cpu::thread::{Thread, Wait};
use crate::machine::watch::psi::Psi;
use crate::machine::watch::result::{Stuck, StuckSummary, WaitingThread};
use crate::phys::gfp::GfpFlags;
use crate::workload::Op;

/// Tries in vain, for each thread, that end a run.
const MOST_IN_VAIN: u64 = 10_000;

/// Tries that one operation makes up for. It may take more than one for each page that it reads
/// ahead, 32 by default. On Linux 4.1 a request of order 10 may reclaim 1,024 times before it fails.
const MADE_UP: u64 = 2048;

/// Factor on the time while a thread sleeps of its own accord, or has yet to start: it may free
/// what others wait for. Once it has woken it has [`MOST_IN_VAIN`] to do so.
const WHILE_ONE_SLEEPS: u64 = 100;

/// Number of times that a thread may get operations at one instant. Work that is counted, not
/// timed, may take no time where hits take none: that many batches of [`BATCH`] are a thousand
/// million accesses.
const MOST_AT_ONCE: u32 = 1 << 17;

/// Accesses of a batch; one with more of them counts as several.
const BATCH: u64 = 1 << 13;

/// Counts tries in vain.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::machine) struct Watchdog {
    in_vain: u64,
    most: u64,
    /// Tries in vain after which to look at what the threads do.
    look_at: u64,
    /// At the last look one slept.
    slept: bool,
    stands: bool,
    /// Memory is out, and no process may be killed.
    deadlocked: bool,
}

impl Watchdog {
    /// State for `threads` threads.
    pub(in crate::machine) fn of(threads: usize) -> Self {
        let most = MOST_IN_VAIN * threads.max(1) as u64;
        Watchdog { in_vain: 0, most, look_at: most, slept: false, stands: false, deadlocked: false }
    }
    /// A thread acted, and its operation is done, or not; or it reclaimed directly.
    #[inline]
    pub(in crate::machine) fn tried(&mut self, done: bool) {
        if done {
            self.in_vain = self.in_vain.saturating_sub(MADE_UP);
            self.look_at = self.look_at.min(self.in_vain + self.most);
        } else {
            self.in_vain += 1;
        }
    }
    /// Decides whether to go on where all tries failed: one thread sleeps, or has slept until now.
    fn waits_on(&mut self, one_sleeps: bool) -> bool {
        let slept = std::mem::replace(&mut self.slept, one_sleeps);
        self.look_at = self.in_vain + self.most;
        (slept || one_sleeps) && self.in_vain <= self.most * WHILE_ONE_SLEEPS
    }
    /// Notes that a thread got operations with `accesses` accesses. Returns the number of times at
    /// this instant, `before` being the number until now.
    #[inline]
    pub(in crate::machine) fn given(&mut self, before: u32, accesses: u64) -> u32 {
        let batches = u32::try_from(1 + accesses / BATCH).unwrap_or(u32::MAX);
        let times = before.saturating_add(batches);
        self.stands |= times > MOST_AT_ONCE;
        times
    }
    /// Memory is out, and no process may be killed: Linux panics.
    pub(in crate::machine) fn nobody_to_kill(&mut self) {
        self.deadlocked = true;
    }
    /// Nothing more will come.
    #[inline]
    pub(in crate::machine) fn barks(&self) -> bool {
        self.in_vain > self.look_at || self.stands || self.deadlocked
    }
}

impl Machine {
    /// True if the run cannot go on at the next instant; then the reason is noted.
    #[inline]
    pub(in crate::machine) fn cannot_go_on(&mut self, next: SimTime) -> bool {
        (next >= SimTime::LAST || self.course.watchdog.barks()) && self.is_stuck(next)
    }

    #[cold]
    fn is_stuck(&mut self, next: SimTime) -> bool {
        let why = match next {
            SimTime::NEVER => Stuck::NothingWakes,
            _ if next >= SimTime::LAST => Stuck::TimeEnds,
            _ if self.course.watchdog.deadlocked => Stuck::NobodyToKill,
            _ if self.course.watchdog.stands => Stuck::TimeStands,
            _ => Stuck::NoProgress,
        };
        if why == Stuck::NoProgress {
            let one_sleeps = self.work.threads.iter().any(sleeps);
            if self.course.watchdog.waits_on(one_sleeps) {
                return false;
            }
        }
        self.course.stuck = Some(self.stuck_summary(why, next));
        true
    }

    fn stuck_summary(&self, why: Stuck, next: SimTime) -> StuckSummary {
        let at =
            if why == Stuck::NothingWakes { self.mem.acting.now } else { next }.min(SimTime::LAST);
        let threads = self.work.threads.iter().filter(|t| t.wait != Wait::Finished);
        let waiting = threads.map(|t| WaitingThread {
            thread: t.name.clone(),
            doing: doing(t),
            waits_for: waits_for(t),
            since: t.done_at,
        });
        StuckSummary { at, why, waiting: waiting.collect() }
    }
}

/// True if a thread sleeps of its own accord, or has yet to start.
fn sleeps(t: &Thread) -> bool {
    matches!(t.wait, Wait::Timer(_) | Wait::Look(_)) && t.psi != Psi::MemStall
}

/// Description of a thread's request.
fn doing(t: &Thread) -> String {
    let Some(op) = t.progress.op() else { return "between two operations".to_string() };
    match op {
        Op::Access(run) => {
            let what = if run.write { "store to" } else { "load from" };
            let page = u64::from(run.first) + u64::from(t.progress.done);
            format!("{what} page {page} of region {}", run.region.0)
        }
        Op::Copy(copy) => format!("copy from region {} to {}", copy.from.0, copy.to.0),
        Op::Mmap { region, pages, .. } => format!("mmap of region {}, {pages} pages", region.0),
        Op::Munmap { region } => format!("munmap of region {}", region.0),
        Op::Read { first, count, .. } => {
            format!("read of {count} pages from page {first} of a file")
        }
        Op::Write { first, count, .. } => {
            format!("write of {count} pages to page {first} of a file")
        }
        Op::Uncached { first, count, write, how, .. } => {
            let what = if *write { "write" } else { "read" };
            format!("{how:?} {what} of {count} pages from page {first} of a file")
        }
        Op::Fadvise { advice, .. } => format!("posix_fadvise {advice:?} on a file"),
        Op::Fsync { .. } => "fsync of a file".to_string(),
        Op::Madvise { region, advice, .. } => format!("madvise {advice:?} on region {}", region.0),
        Op::Mlock { region, count, .. } => format!("mlock of {count} pages of region {}", region.0),
        Op::Munlock { region, count, .. } => {
            format!("munlock of {count} pages of region {}", region.0)
        }
        Op::ShmLock { region, lock: true } => format!("SHM_LOCK of region {}", region.0),
        Op::ShmLock { region, lock: false } => format!("SHM_UNLOCK of region {}", region.0),
        Op::Compute(d) => format!("computing for {d}"),
        Op::Sleep(d) => format!("sleep of {d}"),
        Op::SleepUntil(at) => format!("sleep until {at:?}"),
        Op::Barrier => "barrier of its process".to_string(),
        Op::MemcgReclaim { pages, .. } => format!("memory.reclaim of {pages} pages"),
        Op::KernelAlloc { order, migratetype, flags, .. } => {
            let must = if flags.has(GfpFlags::NOFAIL) { ", __GFP_NOFAIL" } else { "" };
            format!("kernel allocation of order {order}, {}{must}", migratetype.name())
        }
        Op::HugePool { pages } => format!("nr_hugepages = {pages}"),
        op => format!("{op:?}"),
    }
}

/// Description of the event that a thread waits for.
fn waits_for(t: &Thread) -> &'static str {
    match t.wait {
        Wait::Not => "a CPU",
        Wait::Folio(_) => "a device",
        Wait::Timer(_) if t.psi == Psi::MemStall => "memory",
        Wait::Timer(_) => "a timer",
        Wait::Pfmemalloc(_) => "kswapd",
        Wait::Barrier => "other threads of its process",
        Wait::Kdamond(_) => "kdamond",
        Wait::Look(_) => "its next look",
        Wait::Frozen => "the end of its group's freezing",
        Wait::Finished => "nothing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_in_vain(w: &mut Watchdog, times: u64) {
        (0..times).for_each(|_| w.tried(false));
    }

    /// While one sleeps a hundred times as many tries are in vain. Of a machine whose sleeper has
    /// woken and changed nothing, once as many more are.
    #[test]
    fn a_sleeper_that_wakes_ends_the_wait() {
        let of = || Watchdog::of(2);
        let most = 2 * MOST_IN_VAIN;
        let mut awake = of();
        try_in_vain(&mut awake, most);
        assert!(!awake.barks());
        try_in_vain(&mut awake, 1);
        assert!(awake.barks() && !awake.waits_on(false));

        let mut asleep = of();
        for _ in 0..WHILE_ONE_SLEEPS - 1 {
            try_in_vain(&mut asleep, most + 1);
            assert!(asleep.barks() && asleep.waits_on(true) && !asleep.barks());
        }
        try_in_vain(&mut asleep, most + 1);
        assert!(asleep.barks() && !asleep.waits_on(true));

        let mut wakes = of();
        try_in_vain(&mut wakes, most + 1);
        assert!(wakes.barks() && wakes.waits_on(true));
        try_in_vain(&mut wakes, most + 1);
        assert!(wakes.barks() && wakes.waits_on(false));
        try_in_vain(&mut wakes, most + 1);
        assert!(wakes.barks() && !wakes.waits_on(false));
    }

    /// Completed operations make up for tries, however long a thread slept before.
    #[test]
    fn operations_that_are_done_are_progress() {
        let mut w = Watchdog::of(1);
        try_in_vain(&mut w, MOST_IN_VAIN + 1);
        assert!(w.waits_on(true));
        (0..10).for_each(|_| w.tried(true));
        try_in_vain(&mut w, MOST_IN_VAIN);
        assert!(!w.barks());
        try_in_vain(&mut w, 1);
        assert!(w.barks());
    }
}
