//! One step of eviction: isolate, advance the oldest generation, shrink, put back.
//!
//! The oldest generation advances *before* the isolated folios are booked, so those that empty it
//! count for the next one, in counters and in shadows.
//!
//! Plain anonymous folios (`memory/plain`) take the fast path: they are asked one after the other,
//! since a neighbour that is found accessed may be among those to come, and evicted together.
//!
//! Source: Linux 6.12 mm/vmscan.c (`evict_folios`, `isolate_folios`, `shrink_folio_list`,
//! `folio_check_references`).

use super::config::{
    AccessMarks, AgingSite, BudgetRule, MglruConfig, SecondTouch, TypeFallback, TypeRule,
};
use super::lruvec::type_of;
use super::pass::Pass;
use super::rates::{Control, MAX_SWAPPINESS, by_cost};
use super::{Mglru, place};
use crate::classic::formulas::cost612;
use crate::index::{ANON, Evictable, FILE, LruType, LruvecId, MIN_NR_GENS, PerType, Tier};
use crate::shrink::{BatchStats, Judgement, ShrinkOutcome, Shrinking, shrink_folio};
use mmsim_core::base::id::Pfn;
use mmsim_core::base::planted::Planted;
use mmsim_core::memory::trace::{ScanOutcome, TraceEvent, TraceKind};
use mmsim_core::memory::{FastPath, Look, Memory};
use mmsim_core::phys::frames::{FolioId, Mapped, ORDER_MASK, flag, pages_of};
use mmsim_core::policy::{PassStats, ReclaimOutcome, ReclaimRequest, Reclaimer};

/// Folios on their way through a step.
struct Batch {
    lv: LruvecId,
    t: LruType,
    how: Shrinking,
    /// Plain folios may be evicted by the fast path.
    evicts_fast: bool,
    /// The reclaimer walks page tables, so what it finds accessed it promotes itself.
    walks: bool,
    fast: FastPath,
    stats: BatchStats,
    /// What stays, in order.
    back: Vec<FolioId>,
}

impl Batch {
    /// Lets an observer see what became of a plain folio, after what it took.
    #[inline]
    fn tell(&mut self, mem: &mut Memory, look: &Look, outcome: ScanOutcome) {
        if mem.evicts_singly() {
            mem.settle_fast(&mut self.fast, self.how.by);
            let (pfn, page, file) = (look.folio, Some(look.page()), self.t == FILE);
            mem.emit(|| TraceEvent::SimScanFolio { pfn, page, file, outcome });
        }
    }
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
        let types = Evictable::of(swappiness);
        // The loop of 7.2 judges by generations before each step, others after it.
        let loops = self.config.aging_site == AgingSite::Loop;
        if loops {
            self.try_to_inc_min_seq(mem, lv, types);
        }
        let (t, mut scanned) = self.isolate_folios(mem, lv, swappiness, left, req);
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
        let nr: u64 = self.looks.iter().map(|l| pages_of(l.bits)).sum();
        if nr == 0 {
            return scanned;
        }
        let mut b = Batch {
            lv,
            t,
            how: Shrinking {
                by: req.by,
                may_writepage: req.may_writepage,
                keep_marked: self.config.access_marks == AccessMarks::WorkingsetSecond,
                writes_files: false,
            },
            evicts_fast: t == ANON && req.may_writepage && mem.evicts_short(),
            walks: pass.walks,
            fast: std::mem::take(&mut self.fast),
            stats: BatchStats::default(),
            back: std::mem::take(&mut self.back),
        };
        self.shrink(mem, &mut b);
        let written = if mem.end_writes() { written(mem, &mut b.back) } else { Vec::new() };
        self.put_back(mem, &mut b);
        if !written.is_empty() {
            let scanned = b.stats.scanned;
            written.into_iter().for_each(|folio| self.shrink_other(mem, &mut b, folio));
            b.stats.scanned = scanned;
            self.put_back(mem, &mut b);
        }
        let reclaimed = b.stats.reclaimed;
        let memcg = self.node_and_memcg(lv).1;
        mem.count_rotated(memcg, t == FILE, nr.saturating_sub(reclaimed));
        self.note_cost(lv, t, cost612(b.stats.pageout, nr.saturating_sub(reclaimed)));
        mem.end_batch(req, t == FILE);
        b.stats.pass.taken = nr;
        b.stats.pass.file_taken = if t == FILE { nr } else { 0 };
        out.scanned += b.stats.scanned;
        out.reclaimed += reclaimed;
        out.stats.add(&b.stats.pass);
        self.fast = b.fast;
        self.back = b.back;
        scanned
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
    /// is in `self.looks`.
    fn isolate_folios(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        swappiness: u64,
        left: u64,
        req: &ReclaimRequest,
    ) -> (LruType, u64) {
        self.looks.clear();
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
        if mem.is_planted(Planted::OtherType) {
            t = t.other();
        }
        let mut others = u8::from((1..=MAX_SWAPPINESS).contains(&swappiness));
        let mut all = 0;
        loop {
            let last = limit.unwrap_or_else(|| self.control(lv).own_limit(t));
            let scanned = self.scan_folios(mem, lv, t, last, left, req);
            all += scanned;
            let done = match self.config.type_fallback {
                TypeFallback::NoneIsolated => scanned > 0,
                TypeFallback::NoneScanned => !self.looks.is_empty(),
            };
            if done || others == 0 {
                return (t, all);
            }
            others -= 1;
            limit = None;
            t = if scanned == 0 { t.other() } else { t };
        }
    }

    /// Evicts what was isolated, as far as nobody used it meanwhile (`shrink_folio_list`).
    fn shrink(&mut self, mem: &mut Memory, b: &mut Batch) {
        let looks = std::mem::take(&mut self.looks);
        let mut rest = &looks[..];
        while let Some((first, behind)) = rest.split_first() {
            let plain = rest.iter().take_while(|l| b.evicts_fast && l.is_plain()).count();
            let plain = mem.evict_batch(plain);
            if plain > 0 {
                self.shrink_plain(mem, b, &rest[..plain]);
                rest = &rest[plain..];
            } else {
                self.shrink_other(mem, b, first.folio);
                rest = behind;
            }
        }
        mem.settle_fast(&mut b.fast, b.how.by);
        self.looks = looks;
    }

    /// Plain folios: asked one after the other, evicted together.
    fn shrink_plain(&mut self, mem: &mut Memory, b: &mut Batch, looks: &[Look]) {
        let mut victims = std::mem::take(&mut self.victims);
        victims.clear();
        let before = b.back.len();
        b.stats.scanned += looks.len() as u64;
        for look in looks {
            let bits = mem.frames.bits(look.folio);
            if b.how.keep_marked && bits & flag::REFERENCED != 0 {
                b.back.push(look.folio);
                b.tell(mem, look, ScanOutcome::KeepReferenced);
                continue;
            }
            b.fast.asked(1);
            if !mem.test_clear_young_of(look) {
                victims.push(look.with_bits(bits));
                continue;
            }
            let (judgement, bits, counted) =
                used(&self.config, bits, self.counts.get(look.folio), 1, false);
            b.tell(
                mem,
                look,
                match judgement {
                    Judgement::Activate => ScanOutcome::ActivateReferenced,
                    _ => ScanOutcome::KeepReferenced,
                },
            );
            self.look_around(mem, b.lv, look.page(), false, b.walks);
            mem.frames.store(look.folio, bits);
            self.note_counted(mem, look.folio, counted);
            if judgement == Judgement::Activate {
                mem.activate(look.folio);
                b.stats.activated[ANON] += 1;
            }
            b.back.push(look.folio);
        }
        let mut slots = std::mem::take(&mut self.slots);
        mem.slots_for_short(victims.len(), &mut slots);
        let evicts = slots.len() as u64;
        if slots.len() < victims.len() {
            self.stay(mem, b, looks, before, &victims[slots.len()..]);
            victims.truncate(slots.len());
        }
        let hist = self.config.hist_gens.get();
        let mut untouched = 0;
        for look in &victims {
            let slot = slots.pop().expect("a slot for each");
            let shadow = if look.bits & (flag::WORKINGSET | flag::REFERENCED) == 0 {
                untouched += 1;
                self.shadow(b.lv, b.t, false, 0)
            } else {
                self.evicted(mem, b.lv, b.t, look.folio)
            };
            mem.evict_fast(&mut b.fast, look, slot, Some(shadow));
            b.tell(mem, look, ScanOutcome::Reclaimed);
        }
        let v = &mut self.lruvecs[b.lv];
        v.rates[b.t].period_mut(v.min_seq[b.t], hist).evicted[Tier::FIRST] += untouched;
        b.stats.pageout += evicts;
        b.stats.reclaimed += evicts;
        self.slots = slots;
        self.victims = victims;
    }

    /// Plain folios that should be evicted, but there is no slot for them: they stay at their
    /// places among those that are kept, the ones in `back` from `before` on.
    #[cold]
    #[inline(never)]
    fn stay(&self, mem: &mut Memory, b: &mut Batch, looks: &[Look], before: usize, these: &[Look]) {
        let kept = b.back.split_off(before);
        let (mut kept, mut staying) = (kept.iter().peekable(), these.iter().peekable());
        for look in looks {
            if kept.next_if_eq(&&look.folio).is_some() {
                b.back.push(look.folio);
            } else if let Some(stays) = staying.next_if(|s| s.folio == look.folio) {
                let referenced = if self.config.access_marks == AccessMarks::Counted614 {
                    0
                } else {
                    flag::REFERENCED
                };
                mem.frames.store(stays.folio, stays.bits & !referenced);
                mem.activate(stays.folio);
                b.stats.activated[ANON] += 1;
                b.back.push(look.folio);
                b.tell(mem, look, ScanOutcome::ActivateNoSwap);
            }
        }
    }

    /// The slow path of a folio.
    #[inline(never)]
    fn shrink_other(&mut self, mem: &mut Memory, b: &mut Batch, folio: FolioId) {
        mem.settle_fast(&mut b.fast, b.how.by);
        let pages = mem.frames.pages(folio) as u32;
        match self.shrink_one(mem, b, folio, false) {
            ShrinkOutcome::Kept(_) | ShrinkOutcome::Activated(_) => b.back.push(folio),
            ShrinkOutcome::Freed | ShrinkOutcome::Dropped => {}
            ShrinkOutcome::Split => {
                let count = self.counts.get(folio);
                for page in (folio.0..folio.0 + pages).map(Pfn) {
                    if mem.is_isolated_page(page) {
                        self.counts.set(page, count);
                        self.shrink_other(mem, b, page);
                    }
                }
            }
        }
    }

    /// What becomes of one folio; its references may be ignored.
    fn shrink_one(
        &mut self,
        mem: &mut Memory,
        b: &mut Batch,
        folio: FolioId,
        ignore: bool,
    ) -> ShrinkOutcome {
        let page = mem.tracer.wants(TraceKind::SimScanFolio).then(|| mem.page_of(folio)).flatten();
        let limit = match b.how.by {
            Reclaimer::Limit(m) | Reclaimer::Proactive(m) => Some(m),
            _ => None,
        };
        let (lv, t) = (b.lv, b.t);
        let file = t == FILE;
        let marks = self.config.access_marks;
        let reworked = marks == AccessMarks::Counted614;
        let mut found = Vec::new();
        let (config, counter) = (self.config, self.counts.get(folio));
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
        let fate = shrink_folio(mem, folio, b.how, &mut b.stats, judge, |mem, f| {
            Some(self.evicted(mem, lv, t, f))
        });
        let outcome = match fate {
            ShrinkOutcome::Freed => ScanOutcome::Reclaimed,
            ShrinkOutcome::Dropped => ScanOutcome::LazyFreed,
            ShrinkOutcome::Kept(why) | ShrinkOutcome::Activated(why) => why,
            ShrinkOutcome::Split => return fate,
        };
        mem.emit(|| TraceEvent::SimScanFolio { pfn: folio, page, file, outcome });
        self.note_counted(mem, folio, counted);
        for page in found {
            self.look_around(mem, lv, page, file, b.walks);
        }
        fate
    }

    /// Evicts isolated folios on advice (`reclaim_folio_list`), and puts back what stays.
    pub(super) fn reclaim_isolated(
        &mut self,
        mem: &mut Memory,
        folios: &[FolioId],
        ignore: bool,
    ) -> u64 {
        let mut freed = 0;
        for &folio in folios {
            let mut b = Batch {
                lv: self.lruvec_of(mem, folio),
                t: type_of(mem.frames.bits(folio)),
                how: Shrinking {
                    by: Reclaimer::Advice,
                    may_writepage: true,
                    keep_marked: !ignore
                        && self.config.access_marks == AccessMarks::WorkingsetSecond,
                    writes_files: false,
                },
                evicts_fast: false,
                walks: false,
                fast: FastPath::default(),
                stats: BatchStats::default(),
                back: Vec::new(),
            };
            match self.shrink_one(mem, &mut b, folio, ignore) {
                ShrinkOutcome::Freed | ShrinkOutcome::Dropped => freed += 1,
                ShrinkOutcome::Kept(_) | ShrinkOutcome::Activated(_) => mem.put_back(self, folio),
                ShrinkOutcome::Split => unreachable!("{folio} was split when the advice was given"),
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
    fn put_back(&mut self, mem: &mut Memory, b: &mut Batch) {
        if self.put_back_young(mem, b) {
            return b.back.clear();
        }
        for folio in b.back.drain(..) {
            let bits = mem.frames.bits(folio);
            let waits = bits & flag::RECLAIM != 0 && bits & (flag::DIRTY | flag::WRITEBACK) != 0;
            let marks = flag::REFERENCED | flag::WORKINGSET;
            if bits & flag::MLOCKED != 0 {
                // To the unevictable list, by its flag.
            } else if self.config.placement.is_by_distance() {
                let t = type_of(bits);
                let v = &self.lruvecs[b.lv];
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

    /// The same for anonymous folios that all become young, at once. False, and nothing done:
    /// something has to be asked for each.
    fn put_back_young(&mut self, mem: &mut Memory, b: &Batch) -> bool {
        let by_distance = self.config.placement.is_by_distance();
        if !self.single || by_distance || b.t != ANON {
            return false;
        }
        let (every, any) = b.back.iter().fold((u32::MAX, 0), |(every, any), &folio| {
            let bits = mem.frames.bits(folio);
            (every & bits, any | bits)
        });
        let odd = flag::MLOCKED | flag::UNEVICTABLE | flag::RECLAIM | ORDER_MASK;
        if every & flag::SWAPBACKED == 0 || any & odd != 0 {
            return false;
        }
        let marks = flag::ISOLATED | flag::REFERENCED | flag::WORKINGSET;
        self.add_young_anon(mem, &b.back, flag::SWAPBACKED, marks, flag::ACTIVE)
    }
}

/// Folios that were written while they were isolated, taken out of those that stay: their write ended
/// too early to send them to the tail, so they are tried once more.
#[cold]
fn written(mem: &Memory, back: &mut Vec<FolioId>) -> Vec<FolioId> {
    const IN_USE: u32 = flag::ACTIVE
        | flag::REFERENCED
        | flag::DIRTY
        | flag::WRITEBACK
        | flag::LOCKED
        | flag::MLOCKED
        | flag::UNEVICTABLE;
    let idle = |f: &FolioId| !mem.frames.has(*f, IN_USE) && mem.frames.mapped(*f) == Mapped::No;
    let written = back.iter().copied().filter(idle).collect();
    back.retain(|f| !idle(f));
    written
}

/// What becomes of a folio that was found accessed through so many mappings, its flags then, and its
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
