//! The interpreter of operations.
//!
//! Whoever executes a thread's operations walks them here:
//!
//! ```text
//!                       a page that is no hit
//! run loop        ->    stops                                    (`run.rs`)
//! swap-in faults  ->    comes from swap: into the ledger          (`fault/swapin_fast.rs`)
//! first touches   ->    holds nothing yet: into the ledger        (`fault/first_touch.rs`)
//! ```
//!
//! The three differ in what a miss does, and in nothing else: [`OnMiss`]. Each has code of its own
//! (the walk is generic), so that no branch chooses the kind of miss at run time.

use crate::base::host;
use crate::base::rng::Rng;
use crate::base::time::{SimDuration, SimTime};
use crate::machine::hits::{Missed, fitting, hit, hit_copy, hit_run, single};
use crate::machine::watch::latency::RecordClock;
use crate::workload::{CopyRun, Op, RegionId, Run, Touch, Workload, WorkloadCx};

/// Why a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// Its bound is reached.
    Bound,
    /// The next access misses: [`Progress::missed`].
    Miss,
    /// As many faults wait to be settled as can wait.
    Full,
    /// The next operation is no access, or an access to nothing.
    Other,
}

/// Result of the resolution of a page that is no hit.
pub(super) struct Resolved {
    /// Number of pages that were touched, this one and those behind it. 0: nothing was done.
    pub pages: u32,
    /// The walk ends.
    pub stop: Option<Stop>,
    /// When the last of the faults ended.
    pub now: u64,
}

impl Resolved {
    /// Nothing was done, for this reason.
    #[inline(always)]
    pub(super) fn not(stop: Stop, now: u64) -> Self {
        Resolved { pages: 0, stop: Some(stop), now }
    }
}

/// The pages that a walk touches, and what it does where one is no hit.
pub(super) trait OnMiss {
    /// A computation that takes longer ends the walk.
    const LONGEST: SimDuration = SimDuration(u64::MAX);

    /// The hot bytes of all pages.
    fn hot(&mut self) -> &mut [u8];

    /// The first page of a region. `None`: the walk ends before its access.
    fn start_of(&mut self, region: RegionId) -> Option<u32>;

    /// Before this a hit may begin. It may change with a miss.
    fn hits_end(&self) -> u64;

    /// Pages in a row were hit.
    #[inline(always)]
    fn hits(&mut self, first: usize, count: u32) {
        let _ = (first, count);
    }

    /// The walk has come to access `next` of `singles`, pages of a region that begins at `start`: has
    /// memory fetch what the next ones need. Changes nothing. Returns the access at which it wants
    /// to be called again.
    #[inline(always)]
    fn look_ahead(
        &self,
        singles: &impl Singles,
        next: usize,
        start: u32,
        seen: &mut Ahead,
    ) -> usize {
        let _ = (singles, next, start, seen);
        usize::MAX
    }

    /// A page of `run` is no hit. The operation touches `left` pages in a row, this one included.
    fn miss(&mut self, run: &Run, page: usize, left: u32, now: u64) -> Resolved;
}

/// Accesses in their order, some of which touch one page of the region of the walk.
pub(super) trait Singles {
    /// Number of entries.
    fn len(&self) -> usize;
    /// The touch that an access is. `None`: it is another operation, or there is none.
    fn get(&self, i: usize) -> Option<Touch>;
}

/// Operations, of which some touch single pages of a region.
struct OfOps<'a>(&'a [Op], RegionId);

impl Singles for OfOps<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn get(&self, i: usize) -> Option<Touch> {
        self.0.get(i).and_then(|op| single(op, self.1))
    }
}

impl Singles for &[Touch] {
    #[inline(always)]
    fn len(&self) -> usize {
        <[Touch]>::len(self)
    }
    #[inline(always)]
    fn get(&self, i: usize) -> Option<Touch> {
        <[Touch]>::get(self, i).copied()
    }
}

/// Position up to which a walk has looked ahead: accesses before it are being fetched.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    /// Their PTEs.
    pub ptes: usize,
    /// Position for the entries that PTEs name.
    pub slots: usize,
}

/// Position of a thread in its operations, and its counts.
#[derive(Debug)]
pub(in crate::machine) struct Progress {
    /// Operations handed over.
    ops: Vec<Op>,
    /// The first that is not done.
    pub next: usize,
    /// Pages of it that are done.
    pub done: u32,
    /// Touches of pages of a region that were handed over in place of operations, and the number of
    /// them that are done. One that is neither a hit nor resolved by a walk becomes the only
    /// operation.
    touches: Vec<Touch>,
    region: RegionId,
    touched: usize,
    /// Position up to which operations or touches were looked at ahead.
    ahead: Ahead,
    /// Accesses so far.
    pub accesses: u64,
    /// Records so far.
    pub records: u64,
    /// Clock of its records.
    pub record_clock: RecordClock,
}

impl Default for Progress {
    fn default() -> Self {
        Progress::new(false)
    }
}

impl Progress {
    /// Has memory fetch the touches that are next.
    #[inline(always)]
    pub(in crate::machine) fn fetch(&self) {
        for line in 0..3 {
            host::prefetch(&self.touches, self.touched + 16 * line);
        }
    }
    /// Progress of a thread that has begun nothing; its records are timed, or not.
    pub(in crate::machine) fn new(timed: bool) -> Self {
        Progress {
            ops: Vec::new(),
            next: 0,
            done: 0,
            touches: Vec::new(),
            region: RegionId(0),
            touched: 0,
            ahead: Ahead::default(),
            accesses: 0,
            records: 0,
            record_clock: RecordClock::new(timed),
        }
    }

    /// All operations are done: asks a workload for more. Returns how many accesses it gives; `None`:
    /// it has ended.
    pub(in crate::machine) fn refill(
        &mut self,
        workload: &mut dyn Workload,
        cx: &WorkloadCx<'_>,
        rng: &mut Rng,
    ) -> Option<u64> {
        debug_assert!(self.next >= self.ops.len() && self.touched == self.touches.len());
        self.ops.clear();
        self.touches.clear();
        (self.next, self.touched, self.ahead) = (0, 0, Ahead::default());
        if let Some(region) = workload.fill_touches(cx, rng, &mut self.touches) {
            self.region = region;
            return Some(self.touches.len() as u64);
        }
        workload.fill(cx, rng, &mut self.ops);
        let accesses = self.ops.iter().map(|op| u64::from(op.touches())).sum();
        (!self.ops.is_empty()).then_some(accesses)
    }

    /// The operation that is next, if it is known.
    #[inline]
    pub(in crate::machine) fn op(&self) -> Option<&Op> {
        self.ops.get(self.next)
    }

    /// The access at which a walk stopped.
    #[inline]
    pub(in crate::machine) fn missed(&self) -> Missed {
        match self.op() {
            Some(Op::Access(run)) => Missed { run: *run, nth: self.done },
            Some(Op::Copy(copy)) => Missed::of_copy(copy, self.done),
            other => unreachable!("{other:?} is no access"),
        }
    }

    /// Counts `pages` touched pages of the current operation, which has `count`.
    #[inline(always)]
    pub(in crate::machine) fn did(&mut self, count: u32, pages: u32) {
        self.accesses += u64::from(pages);
        self.done += pages;
        if self.done == count {
            self.done = 0;
            self.next += 1;
        }
    }

    /// Executes accesses that hit or whose misses are resolved, and computation, from `now` to the
    /// bound. Returns why that ended, and when.
    #[inline]
    pub(super) fn walk<M: OnMiss>(&mut self, m: &mut M, t_hit: u64, mut now: u64) -> (Stop, u64) {
        loop {
            if self.touched < self.touches.len() && self.next >= self.ops.len() {
                match self.touches(m, t_hit, &mut now) {
                    Some(stop) => return (stop, now),
                    None => continue,
                }
            }
            let Some(op) = self.op() else { return (Stop::Other, now) };
            if now >= m.hits_end() {
                return (Stop::Bound, now);
            }
            let time = m.hits_end() - now;
            let (count, fits, hits) = match *op {
                Op::Access(run) => {
                    let Some(start) = m.start_of(run.region) else { return (Stop::Other, now) };
                    if run.count == 1 {
                        let at = Along { region: run.region, start, next: self.next };
                        let ops = OfOps(&self.ops, run.region);
                        let (next, stop) = singles(m, &ops, at, &mut self.ahead, t_hit, &mut now);
                        self.accesses += (next - self.next) as u64;
                        self.next = next;
                        match stop {
                            Some(stop) => return (stop, now),
                            None => continue,
                        }
                    }
                    let fits = fitting(run.count - self.done, time, t_hit);
                    let first = (start + run.first + self.done) as usize;
                    let hits = hit_run(&mut m.hot()[first..first + fits as usize], run.write);
                    m.hits(first, hits);
                    (run.count, fits, hits)
                }
                Op::Copy(copy) => {
                    let starts = (m.start_of(copy.from), m.start_of(copy.to));
                    let (Some(from), Some(to)) = starts else { return (Stop::Other, now) };
                    let fits = fitting(copy.touches() - self.done, time, t_hit);
                    let hits = self.hits_of_copy(m, &copy, [from, to], fits);
                    (copy.touches(), fits, hits)
                }
                Op::Compute(d) if d <= M::LONGEST => {
                    // Computation may run past the bound: nothing can observe it.
                    now = now.saturating_add(d.0).min(SimTime::LAST.0);
                    self.next += 1;
                    continue;
                }
                Op::Records(n) => {
                    self.records += u64::from(n);
                    self.record_clock.end(now, n);
                    self.next += 1;
                    continue;
                }
                Op::RecordBegins | Op::Arrived(_) => {
                    let begins = if let Op::Arrived(at) = *op { at.0.min(now) } else { now };
                    self.record_clock.begin(begins);
                    self.next += 1;
                    continue;
                }
                _ => return (Stop::Other, now),
            };
            now += u64::from(hits) * t_hit;
            self.did(count, hits);
            if hits < fits
                && let Some(stop) = self.miss(m, count, &mut now)
            {
                return (stop, now);
            }
        }
    }

    /// Touches as many pages of a copy as hit, of those that fit. Returns how many.
    fn hits_of_copy<M: OnMiss>(
        &self,
        m: &mut M,
        copy: &CopyRun,
        [from, to]: [u32; 2],
        fits: u32,
    ) -> u32 {
        let hits = hit_copy(m.hot(), copy, [from, to], self.done, fits);
        for n in self.done..self.done + hits {
            let start = if n.is_multiple_of(2) { from } else { to };
            m.hits(Missed::of_copy(copy, n).page(start), 1);
        }
        hits
    }

    /// Executes touches, up to the last (`None`) or to the first that the walk does not resolve.
    fn touches<M: OnMiss>(&mut self, m: &mut M, t_hit: u64, now: &mut u64) -> Option<Stop> {
        let stop = match m.start_of(self.region) {
            None => Some(Stop::Other),
            Some(start) => {
                let at = Along { region: self.region, start, next: self.touched };
                let touches = &self.touches[..];
                let (next, stop) = singles(m, &touches, at, &mut self.ahead, t_hit, now);
                self.accesses += (next - self.touched) as u64;
                self.touched = next;
                stop
            }
        };
        if let Some(Stop::Miss | Stop::Other) = stop {
            // Whoever carries it out finds an operation.
            self.ops.clear();
            self.ops.push(Op::Access(self.touches[self.touched].of(self.region)));
            self.next = 0;
            self.touched += 1;
        }
        stop
    }

    /// Handles a page of several that is no hit.
    #[inline]
    fn miss<M: OnMiss>(&mut self, m: &mut M, count: u32, now: &mut u64) -> Option<Stop> {
        let Missed { run, nth } = self.missed();
        // A copy, which has more touches than its run, changes sides after each.
        let in_a_row = if count == run.count { count - nth } else { 1 };
        let start = m.start_of(run.region).expect("its region was found");
        let page = (start + run.first + nth) as usize;
        let resolved = m.miss(&run, page, in_a_row, *now);
        *now = resolved.now;
        self.did(count, resolved.pages);
        resolved.stop
    }
}

/// A place in accesses to pages of a region.
#[derive(Clone, Copy)]
struct Along {
    region: RegionId,
    /// Where the region begins.
    start: u32,
    /// The access that is next.
    next: usize,
}

/// Executes accesses to single pages of one region. Returns the first that is not done, and why:
/// `None`, it is another operation or the end.
///
/// Three loops: over blocks that are looked at ahead, over the misses of a block, and over the
/// hits before a miss. The innermost needs few things, which all fit into registers.
#[inline(never)]
fn singles<M: OnMiss>(
    m: &mut M,
    singles: &impl Singles,
    Along { region, start, mut next }: Along,
    ahead: &mut Ahead,
    t_hit: u64,
    at: &mut u64,
) -> (usize, Option<Stop>) {
    let (mut now, mut end) = (*at, m.hits_end());
    let stop = 'blocks: loop {
        let block = m.look_ahead(singles, next, start, ahead).min(singles.len());
        while next < block {
            let missed = hits(m, singles, (&mut next, block), start, t_hit, (&mut now, end));
            let touch = match missed {
                Ok(None) => break,
                Ok(Some(touch)) => touch,
                Err(stop) => break 'blocks stop,
            };
            let page = (start + touch.page()) as usize;
            let resolved = m.miss(&touch.of(region), page, 1, now);
            (now, end) = (resolved.now, m.hits_end());
            next += resolved.pages as usize;
            if resolved.stop.is_some() {
                break 'blocks resolved.stop;
            }
        }
        if next >= singles.len() {
            break None;
        }
    };
    *at = now;
    (next, stop)
}

/// Executes accesses that hit, up to the first that does not, or to the end of a block (`None`).
#[inline(always)]
fn hits<M: OnMiss>(
    m: &mut M,
    singles: &impl Singles,
    (next, block): (&mut usize, usize),
    start: u32,
    t_hit: u64,
    (now, end): (&mut u64, u64),
) -> Result<Option<Touch>, Option<Stop>> {
    while *next < block {
        let Some(touch) = singles.get(*next) else { return Err(None) };
        if *now >= end {
            return Err(Some(Stop::Bound));
        }
        let page = (start + touch.page()) as usize;
        if !hit(&mut m.hot()[page], touch.write()) {
            return Ok(Some(touch));
        }
        m.hits(page, 1);
        *now += t_hit;
        *next += 1;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::virt::pages::pte;
    use crate::workload::CopyRun;

    const STARTS: [u32; 2] = [0, 100];
    const T_HIT: u64 = 7;

    /// Pages of two regions; each miss is resolved, or each ends the walk.
    struct Pages {
        hot: Vec<u8>,
        end: u64,
        resolves: bool,
    }

    impl OnMiss for Pages {
        fn hot(&mut self) -> &mut [u8] {
            &mut self.hot
        }
        fn start_of(&mut self, region: RegionId) -> Option<u32> {
            STARTS.get(usize::from(region.0)).copied()
        }
        fn hits_end(&self) -> u64 {
            self.end
        }
        fn miss(&mut self, _run: &Run, page: usize, _left: u32, now: u64) -> Resolved {
            if !self.resolves {
                return Resolved::not(Stop::Miss, now);
            }
            self.hot[page] = pte::PRESENT | pte::WRITABLE | pte::ACCESSED;
            Resolved { pages: 1, stop: None, now: now + 50 }
        }
    }

    /// One touch after the other.
    fn one_by_one(p: &mut Progress, pages: &mut Pages, mut now: u64) -> (Stop, u64) {
        loop {
            let Some(op) = p.ops.get(p.next).copied() else { return (Stop::Other, now) };
            if now >= pages.end {
                return (Stop::Bound, now);
            }
            let (region, page, write) = match op {
                Op::Access(r) => (r.region, r.first + p.done, r.write),
                Op::Copy(c) if p.done.is_multiple_of(2) => (c.from, c.first + p.done / 2, false),
                Op::Copy(c) => (c.to, c.into + p.done / 2, true),
                Op::Compute(d) => {
                    (now, p.next) = (now + d.0, p.next + 1);
                    continue;
                }
                Op::Records(n) => {
                    (p.records, p.next) = (p.records + u64::from(n), p.next + 1);
                    continue;
                }
                _ => return (Stop::Other, now),
            };
            let page = (STARTS[usize::from(region.0)] + page) as usize;
            let hot = pages.hot[page];
            if hot & pte::PRESENT != 0 && (!write || hot & pte::WRITABLE != 0) {
                pages.hot[page] |= pte::ACCESSED | if write { pte::DIRTY } else { 0 };
                now += T_HIT;
            } else if pages.resolves {
                pages.hot[page] = pte::PRESENT | pte::WRITABLE | pte::ACCESSED;
                now += 50;
            } else {
                return (Stop::Miss, now);
            }
            (p.accesses, p.done) = (p.accesses + 1, p.done + 1);
            if p.done == op.touches() {
                (p.done, p.next) = (0, p.next + 1);
            }
        }
    }

    fn drawn(rng: &mut Rng) -> Op {
        let region = RegionId(rng.below(2) as u16);
        let first = rng.below(60) as u32;
        let write = rng.below(2) == 0;
        match rng.below(8) {
            0 => Op::Compute(SimDuration(rng.below(30))),
            1 => Op::Records(rng.below(3) as u32),
            2 => Op::Access(Run { region, write, first, count: 1 + rng.below(40) as u32 }),
            3 => {
                let (into, count) = (rng.below(60) as u32, 1 + rng.below(40) as u32);
                Op::Copy(CopyRun { from: region, first, to: RegionId(1 - region.0), into, count })
            }
            4 if rng.below(10) == 0 => Op::Exit,
            _ => Op::Access(Run { region, write, first, count: 1 }),
        }
    }

    #[test]
    fn a_walk_is_its_touches_one_by_one() {
        let mut rng = Rng::for_purpose(1, "walks");
        let mut stops = [0; 3];
        for _ in 0..2000 {
            let ops: Vec<Op> = (0..30).map(|_| drawn(&mut rng)).collect();
            let hits = 1 + rng.below(60);
            let hot: Vec<u8> = (0..200)
                .map(|_| if rng.below(hits) == 0 { 0 } else { pte::PRESENT | pte::WRITABLE })
                .collect();
            let (end, resolves) = (rng.below(3000), rng.below(2) == 0);
            let new = || Pages { hot: hot.clone(), end, resolves };
            let progress = || Progress { ops: ops.clone(), ..Progress::new(false) };
            let (mut a, mut b) = ((progress(), new()), (progress(), new()));
            let got = a.0.walk(&mut a.1, T_HIT, 0);
            let want = one_by_one(&mut b.0, &mut b.1, 0);
            assert_eq!(got, want, "{ops:?} before {end}");
            let did = |p: &Progress| (p.next, p.done, p.accesses, p.records);
            assert_eq!(did(&a.0), did(&b.0), "{ops:?} before {end}");
            assert_eq!(a.1.hot, b.1.hot, "{ops:?} before {end}");
            match got.0 {
                Stop::Bound => stops[0] += 1,
                Stop::Miss => stops[1] += 1,
                Stop::Full | Stop::Other => stops[2] += 1,
            }
        }
        assert!(stops.iter().all(|&n| n > 100), "{stops:?}");
    }

    /// Touches handed over in short form, and as operations: the same stops, times and bits, also
    /// where other code resolves a miss and the walk goes on.
    #[test]
    fn touches_are_operations_in_short_form() {
        let mut rng = Rng::for_purpose(1, "touches");
        let (mut stops, mut missed) = ([0; 2], 0);
        for _ in 0..1000 {
            let region = RegionId(rng.below(2) as u16);
            let touches: Vec<Touch> = (0..1 + rng.below(60))
                .map(|_| Touch::new(rng.below(60) as u32, rng.below(2) == 0))
                .collect();
            let ops: Vec<Op> = touches.iter().map(|t| Op::Access(t.of(region))).collect();
            let hot: Vec<u8> = (0..200)
                .map(|_| if rng.below(10) == 0 { 0 } else { pte::PRESENT | pte::WRITABLE })
                .collect();
            let resolves = rng.below(2) == 0;
            let new = || Pages { hot: hot.clone(), end: 0, resolves };
            let mut a = (Progress { touches, region, ..Progress::new(false) }, new());
            let mut b = (Progress { ops, ..Progress::new(false) }, new());
            let mut now = 0;
            loop {
                let end = now + rng.below(300);
                (a.1.end, b.1.end) = (end, end);
                let got = a.0.walk(&mut a.1, T_HIT, now);
                assert_eq!(got, b.0.walk(&mut b.1, T_HIT, now));
                assert_eq!((a.0.accesses, &a.1.hot), (b.0.accesses, &b.1.hot));
                now = got.1;
                match got.0 {
                    Stop::Miss => {
                        assert_eq!(a.0.missed(), b.0.missed());
                        missed += 1;
                        a.0.did(1, 1);
                        b.0.did(1, 1);
                    }
                    Stop::Bound => stops[0] += 1,
                    Stop::Full | Stop::Other => break,
                }
            }
            stops[1] += 1;
            assert_eq!((a.0.op(), b.0.op()), (None, None));
        }
        assert!(stops.iter().all(|&n| n > 500) && missed > 500, "{stops:?}, {missed} missed");
    }
}
