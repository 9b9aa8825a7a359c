//! Runs of common faults: hits and pages that come back from swap, one after the other.
//!
//! Where a thread stops at a page that is not there, it usually finds it in swap, takes a frame
//! from its CPU's stock and goes on; and a few hits later the same again. Between such faults no
//! other thread can act, so they are taken in one go (`memory/fast_faults.rs`) for as long as the
//! run loop would come back to this thread at once.

use crate::base::id::{PageIdx, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::machine::Machine;
use crate::machine::cpu::deadline::Deadline;
use crate::machine::walk::{Ahead, OnMiss, Resolved, Singles, Stop};
use crate::memory::follow::{Followed, NoteUses, WantsUses};
use crate::memory::{AHEAD, Copies, FastFaults, HasCopies, InPools, NoCopies, SwapInRun};
use crate::policy::ArrivalKind;
use crate::workload::{Op, RegionId, Run};

/// Regions of accesses, and where they begin: that of the first, and the other side of a copy that
/// is under way.
type Sides = [(RegionId, u32); 2];

/// Misses that are faults on pages in swap go into the ledger.
struct SwapIns<'a, C, N> {
    run: SwapInRun<'a, C>,
    sides: Sides,
    /// An access to a third region is next: the run loop finds its place.
    elsewhere: bool,
    /// The end of the last fault.
    since: u64,
    /// A hit begins before this, and a fault before that.
    hits_end: u64,
    faults_end: u64,
    /// After a fault at this time or later the run loop has to look.
    looks_at: u64,
    /// Time of a fault, with the access.
    t_fault: u64,
    /// Who notes uses.
    notes: N,
}

impl<C: Copies, N: NoteUses> OnMiss for SwapIns<'_, C, N> {
    #[inline(always)]
    fn hot(&mut self) -> &mut [u8] {
        self.run.hot()
    }

    #[inline(always)]
    fn start_of(&mut self, region: RegionId) -> Option<u32> {
        let side = self.sides.iter().find(|s| s.0 == region);
        self.elsewhere = side.is_none();
        side.map(|s| s.1)
    }

    #[inline(always)]
    fn hits_end(&self) -> u64 {
        self.hits_end
    }

    #[inline(always)]
    fn hits(&mut self, first: usize, count: u32) {
        self.notes.uses(first, count);
    }

    #[inline(never)] // Once for many accesses; what it needs is in no hit's way.
    fn look_ahead(
        &self,
        singles: &impl Singles,
        next: usize,
        start: u32,
        seen: &mut Ahead,
    ) -> usize {
        // Far enough for memory to answer meanwhile, and near enough to be in the first cache then.
        let pages = |from: usize, ahead: usize| {
            let some = from.max(next)..singles.len().min(next + ahead);
            some.filter_map(|i| singles.get(i)).map(|touch| (start + touch.page()) as usize)
        };
        if seen.ptes < singles.len() {
            let ptes = pages(seen.ptes, 4 * AHEAD);
            self.run.fetch_ptes(ptes.inspect(|&page| self.notes.soon(page)));
            seen.ptes = next + 4 * AHEAD;
        }
        if seen.slots < singles.len() {
            self.run.fetch_slots(pages(seen.slots, 2 * AHEAD));
            seen.slots = next + 2 * AHEAD;
        }
        next + AHEAD
    }

    #[inline(always)]
    fn miss(&mut self, run: &Run, page: usize, _left: u32, now: u64) -> Resolved {
        if now >= self.faults_end && now != self.since {
            return Resolved::not(Stop::Bound, now);
        }
        if !self.run.fault(page, run.write, SimTime(now)) {
            return Resolved::not(Stop::Miss, now);
        }
        self.notes.came(page);
        self.since = now + self.t_fault;
        let stop = if self.since >= self.looks_at {
            Some(Stop::Bound)
        } else {
            (!self.run.goes_on()).then_some(Stop::Full)
        };
        Resolved { pages: 1, stop, now: self.since }
    }
}

impl Machine {
    /// A thread that may act stopped at a page that is not there: resolves faults of the
    /// common kind and executes the hits between them. Returns where it stopped, and when
    /// the hits before that began.
    #[inline(never)]
    pub(in crate::machine) fn swap_in_fast(
        &mut self,
        tid: ThreadId,
        until: Deadline,
    ) -> (Stop, SimTime) {
        let at = (Stop::Miss, self.mem.acting.now);
        let t = &self.work.threads[tid];
        let page = PageIdx(t.progress.missed().page(t.place.start.0) as u32);
        if self.mem.virt.pages.swap_entry(page).is_none() {
            return at;
        }
        let Some(run) = self.swap_in_run(tid) else { return at };
        if self.mem.knows_contents() {
            self.swap_in_runs::<InPools>(tid, &run, until, at)
        } else {
            self.swap_in_runs::<NoCopies>(tid, &run, until, at)
        }
    }

    /// Runs of faults, one after the other, for as long as they may follow.
    #[inline(always)] // Once for machines with compressed copies, and once for others.
    fn swap_in_runs<C: HasCopies>(
        &mut self,
        tid: ThreadId,
        run: &FastFaults,
        until: Deadline,
        mut at: (Stop, SimTime),
    ) -> (Stop, SimTime) {
        while let Some(sides) = self.swap_in_sides(tid) {
            at = if self.mem.telling.uses.on() {
                let singly = self.mem.telling.uses.singly();
                let until = (&until, singly);
                let (at, faults) = self.swap_in_some::<C, _>(tid, run, sides, until, Followed);
                if faults > 0 {
                    self.mem.tell_after_step();
                } else {
                    self.mem.tell_of_uses();
                }
                at
            } else {
                self.swap_in_some::<C, _>(tid, run, sides, (&until, false), ()).0
            };
            match at.0 {
                Stop::Full => {
                    at.0 = Stop::Bound;
                    if !self.mem.more_faults(run, || self.kswapds_awake()) {
                        break;
                    }
                }
                Stop::Other => {
                    // Perhaps an access to another region.
                    at.0 = self.run_hits(tid, until.pause(at.1));
                    break;
                }
                Stop::Bound | Stop::Miss => break,
            }
        }
        at
    }

    /// Returns the common data of a thread's swap-in faults, or `None` if they need the slow path.
    #[inline]
    fn swap_in_run(&self, tid: ThreadId) -> Option<FastFaults> {
        let t = &self.work.threads[tid];
        if t.fault.is_some()
            || self.mem.given.sizes_on
            || t.place.flags.locked
            || !self.policies.lru.traits().faults_together
        {
            return None;
        }
        let recency = t.place.flags.recency(self.mem.ignores_random());
        let (who, awake) = ((tid, t.space), self.kswapds_awake());
        self.mem.fast_faults(who, ArrivalKind::SwapIn, recency, awake)
    }

    /// Where these faults are. `None`: the sides of a copy differ in what their faults have in common.
    #[inline]
    fn swap_in_sides(&self, tid: ThreadId) -> Option<Sides> {
        let t = &self.work.threads[tid];
        let mut sides = [(t.place.region(), t.place.start.0); 2];
        if let Some(Op::Copy(copy)) = t.progress.op() {
            let side = if copy.from == t.place.region() { copy.to } else { copy.from };
            let place = self.mem.virt.spaces.place(t.space, side)?;
            if place.flags != t.place.flags {
                return None;
            }
            sides[1] = (side, place.start.0);
        }
        Some(sides)
    }

    /// One run of faults, and their number. [`Stop::Full`]: it may go on with another.
    #[inline(always)]
    fn swap_in_some<C: HasCopies, W: WantsUses>(
        &mut self,
        tid: ThreadId,
        run: &FastFaults,
        sides: Sides,
        (until, singly): (&Deadline, bool),
        who: W,
    ) -> ((Stop, SimTime), u64) {
        let t = &mut self.work.threads[tid];
        let &Deadline { due, other, slice, sample, .. } = until;
        let start = self.mem.acting.now;
        let record = self.record.accesses;
        let t_hit = self.mem.given.cost.t_hit.0;
        let each = run.latency.0 + t_hit;
        let before = (t.progress.accesses, t.progress.records);
        let (run_of, notes) = self.mem.swap_in_run_of::<C, W>(run, &mut self.touches.ledger, who);
        let mut swap_ins = SwapIns {
            run: run_of,
            sides,
            elsewhere: false,
            since: start.0,
            hits_end: until.pause(start).0,
            faults_end: due.0.min(other.0.saturating_add(1)),
            // Accesses are recorded in their order: hits by `run_hits`.
            looks_at: if record || singly { 0 } else { due.min(other).min(slice).min(sample).0 },
            t_fault: each,
            notes,
        };
        let (mut stop, now) = t.progress.walk(&mut swap_ins, t_hit, start.0);
        let SwapIns { since, elsewhere, .. } = swap_ins;
        let faults = swap_ins.run.faults();
        drop(swap_ins);
        if stop == Stop::Other && elsewhere {
            stop = Stop::Bound;
        }
        if stop == Stop::Miss {
            let region = t.progress.missed().run.region;
            if region != t.place.region() {
                t.place = self.mem.virt.spaces.place(t.space, region).expect("a side of the copy");
            }
        }
        self.work.done.0 += t.progress.accesses - before.0;
        self.work.done.1 += t.progress.records - before.1;
        let system = SimDuration(faults * each);
        t.system += system;
        t.user += SimDuration(now - start.0) - system;
        self.mem.acting.now = SimTime(now);
        if faults > 0 {
            t.no_progress = 0;
            let pending = &self.touches.ledger[..faults as usize];
            self.mem.settle_faults(&mut *self.policies.lru, run, pending);
            if record {
                self.record.contents.access(&self.mem, self.touches.ledger[0].page);
            }
            self.record.faults(&self.mem, true, run.latency, faults);
            self.took_steps(faults);
        }
        ((stop, SimTime(since)), faults)
    }
}
