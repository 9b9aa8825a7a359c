//! Runs of common faults: hits and pages that come back from swap, one after the other.
//!
//! Where a thread stops at a page that is not there, it usually finds it in swap, takes a
//! frame from its CPU's stock and goes on; and a few hits later the same again. Between such
//! faults nobody else can act, so they are taken in one go (`memory/fast_faults.rs`) for as
//! long as the run loop would come back to this thread at once.

use crate::base::id::{PageIdx, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::machine::Machine;
use crate::machine::cpu::deadline::Deadline;
use crate::machine::hits::{Missed, fitting, hit, hit_copy, hit_run, is_single};
use crate::machine::run::Stop;
use crate::machine::watch::latency::RecordClock;
use crate::memory::{AHEAD, FastFaults, SwapInRun};
use crate::policy::ArrivalKind;
use crate::virt::space::Place;
use crate::workload::Op;

/// A thread on its way through its operations.
struct Walk<'a> {
    ops: &'a [Op],
    next: usize,
    /// Pages of the current operation that are done.
    done: u32,
    now: u64,
    /// The end of the last fault.
    since: u64,
    touched: u64,
    records: u64,
    record_clock: &'a mut RecordClock,
    /// A hit begins before this, and a fault before that.
    hits_end: u64,
    faults_end: u64,
    /// After a fault at this time or later the run loop has to look.
    looks_at: u64,
    /// What a fault takes, with the access.
    t_fault: u64,
}

impl Machine {
    /// A thread that may act stopped at a page that is not there: resolves faults of the
    /// common kind and executes the hits between them. Returns where it stopped, and when
    /// the hits before that began.
    pub(in crate::machine) fn swap_in_fast(
        &mut self,
        tid: ThreadId,
        stop: Stop,
        until: Deadline,
    ) -> (Stop, SimTime) {
        let mut at = (stop, self.mem.now);
        let Stop::Miss(missed) = stop else { return at };
        let t = &self.threads[tid];
        let page = PageIdx(missed.page(t.place.start.0) as u32);
        if self.mem.pages.swap_entry(page).is_none() {
            return at;
        }
        while let Some((run, places)) = self.swap_in_run(tid) {
            let (end, since) = self.return_some(tid, &run, &places, until);
            at = (end.unwrap_or(Stop::Bound), since);
            if end == Some(Stop::Other) {
                // Perhaps an access to another region.
                at.0 = self.run_hits(tid, until.pause(since));
            }
            if end.is_some() {
                break;
            }
        }
        at
    }

    /// What the faults of a thread have in common, if they are of the common kind, and where they
    /// are: the region of the first, and the other side of a copy that is under way.
    #[inline]
    fn swap_in_run(&mut self, tid: ThreadId) -> Option<(FastFaults, [Place; 2])> {
        let t = &self.threads[tid];
        if t.fault.is_some() || t.place.flags.locked || !self.policy.faults_together() {
            return None;
        }
        let mut places = [t.place; 2];
        if let Some(Op::Copy(copy)) = t.ops.get(t.next) {
            let side = if copy.from == t.place.region() { copy.to } else { copy.from };
            places[1] = self.mem.spaces.place(t.space, side)?;
            if places[1].flags != t.place.flags {
                return None;
            }
        }
        let recency = t.place.flags.recency(self.mem.ignores_random());
        let (who, awake) = ((tid, t.space), self.kswapds_awake());
        let run = self.mem.fast_faults(who, ArrivalKind::SwapIn, recency, awake)?;
        Some((run, places))
    }

    /// One run of faults. `None`: it may go on with another.
    fn return_some(
        &mut self,
        tid: ThreadId,
        run: &FastFaults,
        places: &[Place; 2],
        until: Deadline,
    ) -> (Option<Stop>, SimTime) {
        let t = &mut self.threads[tid];
        let Deadline { due, other, slice, sample, .. } = until;
        let start = self.mem.now;
        let record = self.watch.record_accesses;
        let t_hit = self.mem.cost.t_hit.0;
        let each = run.latency.0 + t_hit;
        let mut walk = Walk {
            ops: &t.ops,
            next: t.next,
            done: t.done,
            now: start.0,
            since: start.0,
            touched: 0,
            records: 0,
            record_clock: &mut t.record_clock,
            hits_end: until.pause(start).0,
            faults_end: due.0.min(other.0.saturating_add(1)),
            // Accesses are recorded in their order: hits by `run_hits`.
            looks_at: if record { 0 } else { due.min(other).min(slice).min(sample).0 },
            t_fault: each,
        };
        let mut swap_ins = self.mem.swap_in_run_of(run, &mut self.pending);
        let end = walk.go(&mut swap_ins, places, t_hit);
        let Walk { next, done, now, since, touched, records, .. } = walk;
        let faults = swap_ins.faults();
        (t.next, t.done) = (next, done);
        if let Some(Stop::Miss(missed)) = end
            && missed.run.region != t.place.region()
        {
            t.place = places[1];
        }
        t.accesses += touched;
        t.records += records;
        self.work_done.0 += touched;
        self.work_done.1 += records;
        let system = SimDuration(faults * each);
        t.system += system;
        t.user += SimDuration(now - start.0) - system;
        self.mem.now = SimTime(now);
        if faults > 0 {
            t.no_progress = 0;
            self.latency[1].add_many(run.latency, faults);
            let pending = &self.pending[..faults as usize];
            self.mem.settle_faults(&mut *self.policy, run, pending);
            if record {
                self.record_access(self.pending[0].page);
            }
            self.note_resident();
            self.took_steps(faults);
        }
        (end, SimTime(since))
    }
}

/// What became of a page that is no hit.
enum After {
    /// The fault is resolved, and the thread goes on.
    On,
    /// It is resolved, and the run of faults ends.
    Last(Option<Stop>),
    /// Nothing was done.
    Not(Stop),
}

impl Walk<'_> {
    /// Executes hits, faults of the common kind and computation, for as long as the thread
    /// may go on. What is done here is what `run_hits` and `access` do.
    #[inline(never)] // The loop over single pages has all registers here.
    fn go(
        &mut self,
        swap_ins: &mut SwapInRun<'_>,
        places: &[Place; 2],
        t_hit: u64,
    ) -> Option<Stop> {
        let (ops, hits_end) = (self.ops, self.hits_end);
        let (region, start) = (places[0].region(), places[0].start.0);
        let (mut next, mut now, mut singles) = (self.next, self.now, 0);
        // Operations before this were looked at.
        let mut looked = next;
        let end = loop {
            let Some(op) = ops.get(next) else { break Some(Stop::Other) };
            if next >= looked {
                let some = &ops[next..ops.len().min(next + AHEAD)];
                let pages = some.iter().filter_map(|op| is_single(op, region));
                swap_ins.prefetch(pages.map(|run| (start + run.first) as usize));
                looked = next + AHEAD;
            }
            if now >= hits_end {
                break Some(Stop::Bound);
            }
            let Some(run) = is_single(op, region) else {
                (self.next, self.now) = (next, now);
                let end = self.other(swap_ins, op, places, t_hit);
                (next, now) = (self.next, self.now);
                match end {
                    None => continue,
                    Some(end) => break end,
                }
            };
            let page = (start + run.first) as usize;
            if hit(&mut swap_ins.hot()[page], run.write) {
                now += t_hit;
            } else {
                match self.miss(swap_ins, Missed { run: *run, nth: 0 }, page, now) {
                    After::On => now = self.since,
                    After::Last(end) => {
                        now = self.since;
                        next += 1;
                        singles += 1;
                        break end;
                    }
                    After::Not(end) => break Some(end),
                }
            }
            next += 1;
            singles += 1;
        };
        (self.next, self.now) = (next, now);
        self.touched += singles;
        end
    }

    /// Resolves the fault on a page if it may begin now and is of the common kind.
    #[inline(never)]
    fn miss(
        &mut self,
        swap_ins: &mut SwapInRun<'_>,
        missed: Missed,
        page: usize,
        now: u64,
    ) -> After {
        if now >= self.faults_end && now != self.since {
            return After::Not(Stop::Bound);
        }
        if !swap_ins.fault(page, missed.run.write, SimTime(now)) {
            return After::Not(Stop::Miss(missed));
        }
        self.since = now + self.t_fault;
        if self.since >= self.looks_at {
            After::Last(Some(Stop::Bound))
        } else if !swap_ins.goes_on() {
            After::Last(None)
        } else {
            After::On
        }
    }

    /// An operation that is no access to a single page of the first place. `None`: it, or a part of
    /// it, is done.
    #[inline(never)]
    fn other(
        &mut self,
        swap_ins: &mut SwapInRun<'_>,
        op: &Op,
        places: &[Place; 2],
        t_hit: u64,
    ) -> Option<Option<Stop>> {
        let start_of = |region| places.iter().find(|p| p.region() == region).map(|p| p.start.0);
        let hot = swap_ins.hot();
        // As many accesses as begin before the end.
        let fits = fitting(op.touches() - self.done, self.hits_end - self.now, t_hit);
        let (hits, missed, start) = match op {
            Op::Access(run) => {
                // Of another region the run loop finds the place.
                let Some(start) = start_of(run.region) else { return Some(Some(Stop::Bound)) };
                let missed = |nth| Missed { run: *run, nth };
                let first = missed(self.done).page(start);
                let hits = hit_run(&mut hot[first..first + fits as usize], run.write);
                (hits, missed(self.done + hits), start)
            }
            Op::Copy(copy) => {
                let starts = (start_of(copy.from), start_of(copy.to));
                let (Some(from), Some(to)) = starts else { return Some(Some(Stop::Bound)) };
                let hits = hit_copy(hot, copy, [from, to], self.done, fits);
                let done = self.done + hits;
                let start = if done.is_multiple_of(2) { from } else { to };
                (hits, Missed::of_copy(copy, done), start)
            }
            Op::Compute(d) => {
                self.now = self.now.saturating_add(d.0).min(SimTime::LAST.0);
                self.next += 1;
                return None;
            }
            Op::Records(n) => {
                self.records += u64::from(*n);
                self.record_clock.end(self.now, *n);
                self.next += 1;
                return None;
            }
            Op::RecordBegins => {
                self.record_clock.begin(self.now);
                self.next += 1;
                return None;
            }
            _ => return Some(Some(Stop::Other)),
        };
        self.now += u64::from(hits) * t_hit;
        self.did(op, hits);
        if hits == fits {
            return None;
        }
        match self.miss(swap_ins, missed, missed.page(start), self.now) {
            After::Not(end) => Some(Some(end)),
            After::On => {
                self.now = self.since;
                self.did(op, 1);
                None
            }
            After::Last(end) => {
                self.now = self.since;
                self.did(op, 1);
                Some(end)
            }
        }
    }

    /// So many pages of the current operation were touched.
    fn did(&mut self, op: &Op, pages: u32) {
        self.touched += u64::from(pages);
        self.done += pages;
        if self.done == op.touches() {
            self.done = 0;
            self.next += 1;
        }
    }
}
