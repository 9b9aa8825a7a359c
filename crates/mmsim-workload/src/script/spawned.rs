//! The child of a script: it writes a region, then reads parts of it at fixed instants.
//!
//! In tick k it reads of each sweep the part `k mod every` of `every` equal ones, in the order in which
//! the sweeps are given, and sleeps until the next tick. Ticks are instants, so that a late one does
//! not put off those after it. Script and child meet when the pages are written.

use super::{Child, Sweep};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::workload::{MapKind, Op, RegionId, Run, VmaFlags, Workload, WorkloadCx};

/// The number of the child's region: beyond those of scripts.
const REGION: RegionId = RegionId(4096);
/// Pages per run at most.
const RUN_PAGES: u32 = 4096;

/// The program of a child. One thread.
#[derive(Clone, Debug)]
pub struct ChildWorkload {
    pages: u32,
    tick: SimDuration,
    /// Ticks that it does.
    ticks: u64,
    sweeps: Vec<Sweep>,
    at: Option<u64>,
    others: Vec<(u64, u32)>,
    /// When tick 0 began; known when the pages are written.
    begin: Option<SimTime>,
    written: bool,
    k: u64,
}

impl ChildWorkload {
    /// `lasts`: how long the script goes on after the child was started; a child without end does
    /// a tick more.
    pub(super) fn new(child: &Child, lasts: SimDuration) -> Self {
        // The script waits for notes, too.
        let until_the_end = (lasts.0 + lasts.0 / 8 + 1_000_000_000) / child.tick.0;
        ChildWorkload {
            pages: child.pages,
            tick: child.tick,
            ticks: if child.ticks == 0 { until_the_end } else { child.ticks },
            sweeps: child.sweeps.clone(),
            at: None,
            others: Vec::new(),
            begin: None,
            written: false,
            k: 0,
        }
    }

    /// Puts the region at a virtual page, and maps others, which it never touches: first page and
    /// pages each.
    #[must_use]
    pub fn with_layout(mut self, at: u64, others: Vec<(u64, u32)>) -> Self {
        (self.at, self.others) = (Some(at), others);
        self
    }

    /// The number of its region.
    pub fn region(&self) -> RegionId {
        REGION
    }

    fn map_and_write(&self, ops: &mut Vec<Op>) {
        let mut map = |region, pages, at| {
            let (kind, flags) = (MapKind::Anon, VmaFlags::default());
            ops.push(Op::Mmap { region, pages, kind, flags, at });
        };
        map(REGION, self.pages, self.at);
        for (i, &(at, pages)) in self.others.iter().enumerate() {
            map(RegionId(REGION.0 + 1 + i as u16), pages, Some(at));
        }
        runs(0, self.pages, true, ops);
        ops.push(Op::Barrier);
    }
}

fn runs(first: u32, end: u32, write: bool, ops: &mut Vec<Op>) {
    for at in (first..end).step_by(RUN_PAGES as usize) {
        let count = (end - at).min(RUN_PAGES);
        ops.push(Op::Access(Run { region: REGION, write, first: at, count }));
    }
}

impl Sweep {
    /// The pages that tick `k` reads.
    pub fn pages_of(&self, k: u64) -> std::ops::Range<u32> {
        let (count, every) = (u64::from(self.count), u64::from(self.every));
        let part = k % every;
        let at = |i: u64| self.start + (i * count / every) as u32;
        at(part)..at(part + 1)
    }
}

impl Workload for ChildWorkload {
    fn fill(&mut self, cx: &WorkloadCx, _rng: &mut Rng, ops: &mut Vec<Op>) {
        if !self.written {
            self.written = true;
            return self.map_and_write(ops);
        }
        let begin = *self.begin.get_or_insert(cx.now);
        if self.k >= self.ticks {
            return;
        }
        for s in &self.sweeps {
            let pages = s.pages_of(self.k);
            runs(pages.start, pages.end, false, ops);
        }
        self.k += 1;
        ops.push(Op::SleepUntil(begin + self.tick * self.k));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three passes of three ticks over ten pages: 3, 3 and 4 pages, each page once a pass.
    #[test]
    fn parts_make_up_the_whole() {
        let s = Sweep { start: 5, count: 10, every: 3 };
        let parts: Vec<_> = (0..6).map(|k| s.pages_of(k)).collect();
        assert_eq!(parts[..3], [5..8, 8..11, 11..15]);
        assert_eq!(parts[3..], parts[..3]);
    }
}
