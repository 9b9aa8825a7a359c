//! One step of eviction: isolate, advance the oldest generation, shrink, put back.
//!
//! The oldest generation advances *before* the isolated folios are booked, so those that empty it
//! count for the next one, in counters and in shadows.
//!
//! Plain anonymous folios (`memory/plain`) take the fast path: the used ones are judged one after the
//! other, since a neighbour that is found accessed may be among those to come. All others are known at
//! once, and evicted together.
//!
//! Source: Linux 6.12 mm/vmscan.c (`evict_folios`, `isolate_folios`, `shrink_folio_list`,
//! `folio_check_references`).

use super::aging::Around;
use super::config::{
    AccessMarks, AgingSite, BudgetRule, MglruConfig, RefaultDistance, SecondTouch, TypeFallback,
    TypeRule,
};
use super::lruvec::type_of;
use super::moves::flags_of;
use super::pass::Pass;
use super::rates::{Control, MAX_SWAPPINESS, by_cost};
use super::{Mglru, place};
use crate::classic::formulas::cost612;
use crate::index::{ANON, Evictable, FILE, LruType, LruvecId, MIN_NR_GENS, PerType, Tier};
use crate::shrink::{
    Batch, BatchStats, Fates, Judge, Judgement, ShrinkOutcome, Shrinking, Stays, Work,
    frames_of_split, shrink, shrink_folio, shrink_others, tell,
};
use mmsim_core::memory::trace::{ScanOutcome, TraceEvent, TraceKind};
use mmsim_core::memory::{Memory, Run, each};
use mmsim_core::phys::frames::{FolioId, FrameKind, Mapped, ORDER_MASK, flag};
use mmsim_core::policy::{PassStats, ReclaimOutcome, ReclaimRequest, Reclaimer};
use std::ops::Range;

/// Folios on their way through a step, as MGLRU judges them.
struct Evicting<'a> {
    mglru: &'a mut Mglru,
    lv: LruvecId,
    t: LruType,
    around: Around,
    /// References may be ignored.
    ignore: bool,
    /// The pages of a huge folio that was split last, and its counter, which each of them gets.
    split: (Range<u32>, u32),
}

impl Mglru {
    /// One step (`evict_folios`), of a budget of `left` pages. Returns what counts against the
    /// budget; 0 ends the work on the lruvec.
    #[allow(clippy::too_many_arguments)] // What a step needs of its pass.
    pub(super) fn evict_folios(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        swappiness: u64,
        left: u64,
        req: &ReclaimRequest,
        pass: &Pass,
        out: &mut ReclaimOutcome,
    ) -> u64 {
        let mut work = self.work.take().unwrap_or_default();
        let scanned = self.evict_with(mem, lv, (swappiness, left), (req, pass), out, &mut work);
        self.work = Some(work);
        scanned
    }

    fn evict_with(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        (swappiness, left): (u64, u64),
        (req, pass): (&ReclaimRequest, &Pass),
        out: &mut ReclaimOutcome,
        work: &mut Work,
    ) -> u64 {
        let types = Evictable::of(swappiness);
        // The loop of 7.2 judges by generations before each step, others after it.
        let loops = self.config.aging_site == AgingSite::Loop;
        if loops {
            self.try_to_inc_min_seq(mem, lv, types);
        }
        let (t, mut scanned) = self.isolate_folios(mem, lv, swappiness, left, req, &mut work.run);
        let moved = (!loops || scanned > 0) && self.try_to_inc_min_seq(mem, lv, types);
        scanned += u64::from(moved && self.config.budget_rule == BudgetRule::EachStep);
        let v = &self.lruvecs[lv];
        let gens = match (self.config.min_seq_coupling, types) {
            (_, Evictable::File) => v.nr_gens(FILE),
            (_, Evictable::Anon) | (true, Evictable::Both) => v.nr_gens(ANON),
            (false, Evictable::Both) => v.nr_gens(ANON).max(v.nr_gens(FILE)),
        };
        if gens == MIN_NR_GENS && !loops {
            scanned = 0;
        }
        let nr = self.taken;
        if nr == 0 {
            return scanned;
        }
        let Work { run, fast, back } = work;
        let how = self.shrinking(req.by, req.may_writepage);
        let evicts_fast = t == ANON && req.may_writepage && mem.evicts_short();
        if !evicts_fast {
            run.plain = 0;
        }
        let mut b = Batch::new((t == FILE, how, evicts_fast), fast, back);
        let around = self.around(lv, t, pass.walks);
        let mut e = Evicting { mglru: self, lv, t, around, ignore: false, split: (0..0, 0) };
        shrink(&mut e, mem, run, &mut b);
        let stays = b.back.take(run);
        let (stays, written) = if mem.end_writes() { written(mem, stays) } else { (stays, vec![]) };
        e.mglru.put_back(mem, (lv, t), &stays);
        if !written.is_empty() {
            let scanned = b.stats.scanned;
            shrink_others(&mut e, mem, &written, &mut b);
            b.stats.scanned = scanned;
            let stay = b.back.take(run);
            e.mglru.put_back(mem, (lv, t), &stay);
            b.back.give(stay);
        }
        b.back.give(stays);
        let mut stats = b.stats;
        self.young = e.around.young;
        let reclaimed = stats.reclaimed;
        let memcg = self.node_and_memcg(lv).1;
        mem.count_rotated(memcg, t == FILE, nr.saturating_sub(reclaimed));
        self.note_cost(lv, t, cost612(stats.pageout, nr.saturating_sub(reclaimed)));
        mem.end_batch(req, t == FILE);
        stats.pass.taken = nr;
        stats.pass.file_taken = if t == FILE { nr } else { 0 };
        out.scanned += stats.scanned;
        out.reclaimed += reclaimed;
        out.stats.add(&stats.pass);
        scanned
    }

    /// The reclaimer, and how far it may go.
    fn shrinking(&self, by: Reclaimer, may_writepage: bool) -> Shrinking {
        let keep_marked = self.config.access_marks == AccessMarks::WorkingsetSecond;
        Shrinking { by, may_writepage, keep_marked, writes_files: false, keeps_ready: false }
    }

    /// The type to evict, and the last of its tiers that may be.
    fn choose(&self, lv: LruvecId, swappiness: u64) -> (LruType, Option<Tier>) {
        if self.config.type_rule != TypeRule::Cost612 {
            return self.control(lv).choose(swappiness);
        }
        let v = &self.lruvecs[lv];
        let pages = PerType::from_fn(|t| v.halves(t).iter().sum());
        (by_cost(&v.cost, pages, swappiness), None)
    }

    /// Reclaim of a type has cost so much.
    pub(super) fn note_cost(&mut self, lv: LruvecId, t: LruType, cost: u64) {
        if self.config.type_rule == TypeRule::Cost612 {
            let v = &mut self.lruvecs[lv];
            let pages = [ANON, FILE].map(|t| v.halves(t).iter().sum::<u64>());
            v.cost.add(t, cost, pages.iter().sum());
        }
    }

    fn control(&self, lv: LruvecId) -> Control<'_> {
        let v = &self.lruvecs[lv];
        let rates = PerType::from_fn(|t| &v.rates[t]);
        Control { rates, min_seq: v.min_seq, config: &self.config, scale_shift: self.scale_shift }
    }

    /// Chooses a type, and the other one if that has nothing (`isolate_folios`). What it isolates
    /// is the run.
    fn isolate_folios(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        swappiness: u64,
        left: u64,
        req: &ReclaimRequest,
        run: &mut Run,
    ) -> (LruType, u64) {
        run.clear();
        self.taken = 0;
        self.bounced = PassStats::default();
        let v = &self.lruvecs[lv];
        let first_tier = self.config.type_rule == TypeRule::FirstTier;
        let (mut t, mut limit) = if swappiness == 0 {
            (FILE, None)
        } else if first_tier && v.min_seq[ANON] < v.min_seq[FILE] {
            (ANON, None)
        } else if swappiness == 1 {
            (FILE, None)
        } else if swappiness >= MAX_SWAPPINESS {
            (ANON, None)
        } else if !req.may_io {
            (FILE, None)
        } else {
            self.choose(lv, swappiness)
        };
        let mut others = u8::from((1..=MAX_SWAPPINESS).contains(&swappiness));
        let mut all = 0;
        loop {
            let last = limit.unwrap_or_else(|| self.control(lv).own_limit(t));
            let scanned = self.scan_folios(mem, lv, (t, last), left, req, run);
            all += scanned;
            let done = match self.config.type_fallback {
                TypeFallback::NoneIsolated => scanned > 0,
                TypeFallback::NoneScanned => !run.is_empty(),
            };
            if done || others == 0 {
                return (t, all);
            }
            others -= 1;
            limit = None;
            t = if scanned == 0 { t.other() } else { t };
        }
    }

    /// Evicts isolated folios on advice (`reclaim_folio_list`), and puts back what stays.
    pub(super) fn reclaim_isolated(
        &mut self,
        mem: &mut Memory,
        folios: &[FolioId],
        ignore: bool,
    ) -> u64 {
        let mut freed = 0;
        let mut rest: Vec<FolioId> = folios.iter().rev().copied().collect();
        while let Some(folio) = rest.pop() {
            let (pages, count) = (mem.frames.pages(folio), self.counts.get(folio));
            let (lv, t) = (self.lruvec_of(mem, folio), type_of(mem.frames.bits(folio)));
            let (mut how, mut stats) =
                (self.shrinking(Reclaimer::Advice, true), BatchStats::default());
            how.keep_marked &= !ignore;
            let around = self.around(lv, t, false);
            let mut e = Evicting { mglru: self, lv, t, around, ignore, split: (0..0, 0) };
            let outcome = e.shrink_one(mem, folio, how, &mut stats);
            self.young = e.around.young;
            match outcome {
                ShrinkOutcome::Freed | ShrinkOutcome::Dropped | ShrinkOutcome::Ready => {
                    freed += pages;
                }
                ShrinkOutcome::Kept(_) | ShrinkOutcome::Activated(_) => mem.put_back(self, folio),
                ShrinkOutcome::Split => {
                    for frame in frames_of_split(mem, folio, pages as u32).rev() {
                        if mem.is_isolated_page(frame) {
                            self.counts.set(frame, count);
                            rest.push(frame);
                        }
                    }
                }
            }
        }
        freed
    }

    /// The counter of a folio that was found accessed, if that changes it.
    fn note_counted(&mut self, mem: &Memory, folio: FolioId, counted: Option<u32>) {
        match counted {
            None => {}
            Some(0) => self.counts.set(folio, 0),
            Some(n) => self.counts.raise(folio, n, mem.frames.len()),
        }
    }

    /// Puts back what stays: young, unless it waits for its write.
    fn put_back(&mut self, mem: &mut Memory, (lv, t): (LruvecId, LruType), stays: &[FolioId]) {
        mem.charge(mem.given.cost.t_put_back * stays.len() as u64);
        if self.put_back_young(mem, t, stays) {
            return;
        }
        for &folio in stays {
            let bits = mem.frames.bits(folio);
            let waits = bits & flag::RECLAIM != 0 && bits & (flag::DIRTY | flag::WRITEBACK) != 0;
            let marks = flag::REFERENCED | flag::WORKINGSET;
            if bits & flag::MLOCKED != 0 {
                // To the unevictable list, by its flag.
            } else if self.config.placement.is_by_distance() {
                let t = type_of(bits);
                let v = &self.lruvecs[lv];
                let (min_seq, max_seq) = (v.min_seq[t], v.max_seq);
                let placing = place::Placing { bits, min_seq, max_seq, first_to_go: false };
                if place::seq_of(self.config.placement, placing) == min_seq {
                    mem.frames.change(folio, flag::REFERENCED, flag::ACTIVE);
                }
            } else if waits {
                if bits & flag::WORKINGSET != 0 {
                    mem.frames.set(folio, flag::REFERENCED);
                }
            } else {
                mem.frames.change(folio, marks, flag::ACTIVE);
            }
            self.add(mem, folio, false);
        }
    }

    /// The same for anonymous folios that all become young, at once. False, and nothing done: a
    /// check is needed for each.
    fn put_back_young(&mut self, mem: &mut Memory, t: LruType, stays: &[FolioId]) -> bool {
        let by_distance = self.config.placement.is_by_distance();
        if !self.single || by_distance || t != ANON {
            return false;
        }
        let (every, any) = flags_of(mem, stays);
        let odd = flag::MLOCKED | flag::UNEVICTABLE | flag::RECLAIM | ORDER_MASK;
        if every & flag::SWAPBACKED == 0 || any & odd != 0 {
            return false;
        }
        let marks = flag::ISOLATED | flag::REFERENCED | flag::WORKINGSET;
        self.add_young_anon(mem, stays, flag::SWAPBACKED, marks, flag::ACTIVE)
    }
}

impl Judge for Evicting<'_> {
    const UP: usize = 0;
    const RECYCLES: bool = false;

    fn plain(&self, run: &Run, _: &Batch<'_>) -> u64 {
        run.plain
    }

    /// Only looking around a used folio changes another one, which was used too: so all others are
    /// known at once, and the used ones are judged one after the other.
    #[inline(always)]
    fn judge(&mut self, mem: &mut Memory, run: &mut Run, some: u64, b: &mut Batch<'_>) -> Fates {
        let marks = if b.how.keep_marked { flag::REFERENCED } else { 0 };
        // A look around an earlier folio may have set these since this one was isolated.
        let set = flag::REFERENCED | flag::WORKINGSET;
        let mut f = Fates { asked: some, ..Fates::default() };
        for i in each(mem.used_of(run, some, set)) {
            let (folio, page, bit) = (run.folio(i), run.page(i), 1 << i);
            let bits = mem.frames.bits(folio);
            if bits & marks != 0 {
                (f.keep, f.asked) = (f.keep | bit, f.asked & !bit);
                continue;
            }
            if !mem.test_clear_young_at(page) {
                // A look found it, and may have marked it.
                run.place(i, i, bits);
                continue;
            }
            let mglru = &mut *self.mglru;
            let (judgement, bits, counted) =
                used(&mglru.config, bits, mglru.counts.get(folio), 1, false);
            let active = judgement == Judgement::Activate;
            let of = if active { &mut f.activate } else { &mut f.keep };
            *of |= bit;
            if mem.evicts_singly() {
                // Looking around takes time, after what an observer sees of this folio.
                b.fast.asked(1);
                f.asked &= !bit;
                tell(mem, run, &f, b);
                f.told |= bit;
            }
            mglru.look_around(mem, page, &mut self.around);
            let active = if active { flag::ACTIVE } else { 0 };
            mem.frames.store(folio, bits | active);
            mglru.note_counted(mem, folio, counted);
        }
        f.evict = some & !(f.keep | f.activate);
        f
    }

    #[inline(always)]
    fn leave(&mut self, mem: &mut Memory, run: &Run, f: &Fates, b: &mut Batch<'_>) {
        let (mglru, lv, t) = (&mut *self.mglru, self.lv, self.t);
        let by_distance = mglru.config.refault_distance != RefaultDistance::Off;
        // A generation is the same for all that leave together, a distance is not.
        let same = mglru.left_behind(lv, t, false, 0);
        let mut untouched = 0;
        let used = flag::WORKINGSET | flag::REFERENCED;
        mem.evict_run(b.fast, run, f.evict, |folio, bits| {
            if bits & used != 0 {
                return Some(mglru.evicted(folio, bits, lv, t));
            }
            untouched += 1;
            Some(if by_distance { mglru.shadow(lv, t, false, 0) } else { same })
        });
        if !by_distance {
            mglru.count_evictions(lv, t, untouched);
        }
        let hist = mglru.config.hist_gens.get();
        let v = &mut mglru.lruvecs[lv];
        v.rates[t].period_mut(v.min_seq[t], hist).evicted[Tier::FIRST] += untouched;
    }

    #[inline(always)]
    fn stayed(&mut self, mem: &mut Memory, run: &mut Run, f: &Fates, _: &mut Batch<'_>) {
        if f.refused != 0 {
            let reworked = self.mglru.config.access_marks == AccessMarks::Counted614;
            let clear = if reworked { 0 } else { flag::REFERENCED };
            for folio in run.folios(f.refused) {
                mem.frames.change(folio, clear, flag::ACTIVE);
            }
        }
    }

    fn one(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        _: Option<Judgement>,
        b: &mut Batch<'_>,
    ) -> Stays {
        if self.split.0.contains(&folio.0) {
            self.mglru.counts.set(folio, self.split.1);
        }
        let pages = mem.frames.pages(folio) as u32;
        match self.shrink_one(mem, folio, b.how, &mut b.stats) {
            ShrinkOutcome::Kept(_) | ShrinkOutcome::Activated(_) => Stays::Kept,
            ShrinkOutcome::Freed | ShrinkOutcome::Dropped | ShrinkOutcome::Ready => Stays::Gone,
            ShrinkOutcome::Split => {
                self.split = (folio.0..folio.0 + pages, self.mglru.counts.get(folio));
                Stays::Split(pages)
            }
        }
    }
}

impl Evicting<'_> {
    /// Processes one folio.
    fn shrink_one(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        how: Shrinking,
        stats: &mut BatchStats,
    ) -> ShrinkOutcome {
        let page =
            mem.telling.tracer.wants(TraceKind::SimScanFolio).then(|| mem.page_of(folio)).flatten();
        let limit = match how.by {
            Reclaimer::Limit(m) | Reclaimer::Proactive(m) => Some(m),
            _ => None,
        };
        let (mglru, lv, t, ignore) = (&mut *self.mglru, self.lv, self.t, self.ignore);
        let file = t == FILE;
        let marks = mglru.config.access_marks;
        let reworked = marks == AccessMarks::Counted614;
        let mut found = Vec::new();
        let (config, counter) = (mglru.config, mglru.counts.get(folio));
        let mut counted = None;
        // Who is found accessed is never evicted, so its neighbours can be looked at afterwards.
        let judge = |mem: &mut Memory, f: FolioId| {
            if ignore {
                return Judgement::Reclaim;
            }
            // The neighbours of a huge folio are itself.
            let single = mem.frames.order(f) == 0;
            let r = mem.references_each(f, limit, |p| found.extend(single.then_some(p)));
            let bits = mem.frames.bits(f);
            if r.locked {
                return Judgement::Locked;
            }
            if r.count == 0 {
                let clean = !reworked && file && bits & flag::REFERENCED != 0;
                if !reworked {
                    mem.frames.clear(f, flag::REFERENCED);
                }
                return if clean { Judgement::ReclaimClean } else { Judgement::Reclaim };
            }
            let (judgement, bits, now) = used(&config, bits, counter, r.count, r.exec);
            mem.frames.store(f, bits);
            counted = now;
            judgement
        };
        let fate = shrink_folio(mem, folio, how, stats, judge, |mem, f| {
            // Shared memory that was never written goes without a trace.
            let traced = mem.frames.kind(f) != FrameKind::Shmem;
            traced.then(|| mglru.evicted(f, mem.frames.bits(f), lv, t))
        });
        let outcome = match fate {
            ShrinkOutcome::Freed | ShrinkOutcome::Ready => ScanOutcome::Reclaimed,
            ShrinkOutcome::Dropped => ScanOutcome::LazyFreed,
            ShrinkOutcome::Kept(why) | ShrinkOutcome::Activated(why) => why,
            ShrinkOutcome::Split => return fate,
        };
        mem.emit(|| TraceEvent::SimScanFolio { pfn: folio, page, file, outcome });
        mglru.note_counted(mem, folio, counted);
        for page in found {
            mglru.look_around(mem, page, &mut self.around);
        }
        fate
    }
}

/// Folios that stay, and of these the ones that were written while they were isolated: their write
/// ended too early to send them to the tail, so they are tried once more.
#[cold]
#[inline(never)]
fn written(mem: &Memory, mut stays: Vec<FolioId>) -> (Vec<FolioId>, Vec<FolioId>) {
    const IN_USE: u32 = flag::ACTIVE
        | flag::REFERENCED
        | flag::DIRTY
        | flag::WRITEBACK
        | flag::LOCKED
        | flag::MLOCKED
        | flag::UNEVICTABLE;
    let idle = |f: &FolioId| !mem.frames.has(*f, IN_USE) && mem.frames.mapped(*f) == Mapped::No;
    let written = stays.iter().copied().filter(idle).collect();
    stays.retain(|f| !idle(f));
    (stays, written)
}

/// Fate of a folio that was found accessed through `count` mappings, its flags then, and its
/// counter if that changes (`folio_check_references`, `lru_gen_set_refs`).
fn used(
    config: &MglruConfig,
    bits: u32,
    counter: u32,
    count: u32,
    exec: bool,
) -> (Judgement, u32, Option<u32>) {
    let file = bits & flag::SWAPBACKED == 0;
    match config.access_marks {
        AccessMarks::WorkingsetSecond => {
            let again = bits & flag::REFERENCED != 0 || count > 1 || exec && file;
            let judgement = if again { Judgement::Activate } else { Judgement::Keep };
            (judgement, bits | flag::REFERENCED, None)
        }
        AccessMarks::Counted614 if config.only_notes(bits, exec) => {
            (Judgement::Keep, bits | flag::REFERENCED, Some(0))
        }
        AccessMarks::Counted614 => {
            let refs = if bits & flag::REFERENCED != 0 { counter + 1 } else { 0 };
            let marked = bits & (flag::REFERENCED | flag::WORKINGSET) != 0;
            if marked && config.second_touch == SecondTouch::Mark && refs <= 1 {
                return (Judgement::Activate, bits | flag::REFERENCED, Some(refs));
            }
            (Judgement::Activate, bits & !flag::REFERENCED | flag::WORKINGSET, None)
        }
    }
}
