//! The scans: of an inactive list, which evicts, and of an active list, which demotes.
//!
//! Relative order is kept everywhere: folios that are put back keep their order, the
//! oldest nearest to the tail.
//!
//! Source: Linux 6.12 mm/vmscan.c (`shrink_inactive_list`, `shrink_active_list`,
//! `folio_check_references`, `isolate_lru_folios`).

use super::config::{AnonRefRule, BalanceModel, BitsFound};
use super::workingset::{Leaving, Stamps};
use super::{Classic, LIST_NAMES};
use crate::index::{ANON, LruType, LruvecId};
use crate::shrink::{BatchStats, Judgement, ShrinkOutcome, Shrinking, shrink_folio};
use mmsim_core::base::id::{MemcgId, Pfn, SwapSlot};
use mmsim_core::base::planted::Planted;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::trace::{ScanOutcome, TraceEvent, TraceKind};
use mmsim_core::memory::{FastPath, Look, Memory, References, Scan, ScanFor, Verdicts};
use mmsim_core::phys::frames::{FolioId, flag, pages_of};
use mmsim_core::policy::{ReclaimRequest, Reclaimer};

/// A batch of folios on their way through an inactive scan.
pub(super) struct Batch {
    lv: LruvecId,
    file: bool,
    how: Shrinking,
    /// Plain folios may be evicted by the fast path.
    evicts_fast: bool,
    /// How plain folios leave.
    leaving: Option<Leaving>,
    fast: FastPath,
    /// What goes back to the inactive and to the active list.
    back: [Vec<FolioId>; 2],
    stats: BatchStats,
    /// Folios kept and promoted by the slow path.
    kept: u64,
    promoted: u64,
}

impl Batch {
    /// Lets an observer see what became of a plain folio, after what it took.
    #[inline]
    fn tell(&mut self, mem: &mut Memory, look: &Look, outcome: ScanOutcome) {
        if mem.evicts_singly() {
            mem.settle_fast(&mut self.fast, self.how.by);
            let (pfn, page, file) = (look.folio, Some(look.page()), self.file);
            mem.emit(|| TraceEvent::SimScanFolio { pfn, page, file, outcome });
        }
    }
}

impl Classic {
    /// Takes up to `n` pages off the tail of a list into `self.looks`, and the rest of the last
    /// folio. Returns how many.
    fn isolate_folios(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        scan: &Scan<'_>,
        n: u64,
        verdicts: Option<&Verdicts>,
    ) -> u64 {
        mem.lru_drain(self);
        self.looks.clear();
        let list = 2 * usize::from(scan.file) + usize::from(scan.to == ScanFor::Deactivation);
        mem.isolate_batch(scan, self.lruvecs[lv].lists[list], n, verdicts, &mut self.looks)
    }

    fn shrinking(&self, by: Reclaimer, may_writepage: bool) -> Shrinking {
        let writes_files = self.config.file_writeout;
        Shrinking { by, may_writepage, keep_marked: false, writes_files }
    }

    /// A scan of a list of an lruvec.
    fn scan<'a>(&self, lv: LruvecId, file: bool, to: ScanFor, req: &'a ReclaimRequest) -> Scan<'a> {
        let memcg = self.ids.memcg(lv);
        let lru = LIST_NAMES[2 * usize::from(file) + usize::from(to == ScanFor::Deactivation)];
        Scan { req, memcg, file, to, lru }
    }

    /// Scans `n` folios of an inactive list and evicts what nobody used.
    pub(super) fn shrink_inactive(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        file: bool,
        n: u64,
        req: &ReclaimRequest,
    ) -> BatchStats {
        let scan = self.scan(lv, file, ScanFor::Eviction, req);
        let verdicts = match mem.is_planted(Planted::LostReference) {
            true => EVICTED,
            false => self.inactive_verdicts,
        };
        let nr = self.isolate_folios(mem, lv, &scan, n, Some(&verdicts));
        if nr == 0 {
            return BatchStats::default();
        }
        let mut b = Batch {
            lv,
            file,
            how: self.shrinking(req.by, req.may_writepage),
            evicts_fast: req.may_writepage && mem.evicts_short(),
            leaving: self.leaving(file, self.scope_of_lruvec(lv), scan.memcg, req.by),
            fast: std::mem::take(&mut self.fast),
            back: std::mem::take(&mut self.back),
            stats: BatchStats::default(),
            kept: 0,
            promoted: 0,
        };
        self.shrink_taken(mem, &mut b);
        let stats = &mut b.stats;
        self.note_rotated(lv, file, nr, 0);
        for (t, &activated) in stats.activated.pairs() {
            self.note_rotated(lv, t.is_file(), 0, activated);
        }
        let memcg = self.ids.memcg(lv);
        mem.count_rotated(memcg, file, nr.saturating_sub(stats.reclaimed));
        self.note_cost(mem, lv, file, stats.pageout, nr - stats.reclaimed);
        stats.pass.taken = nr;
        stats.pass.file_taken = if file { nr } else { 0 };
        mem.end_batch(req, file);
        self.fast = b.fast;
        self.back = b.back;
        b.stats
    }

    /// Processes the folios that were taken, and puts back those that stay. Plain ones go
    /// the fast path, which ends as the slow path does.
    fn shrink_taken(&mut self, mem: &mut Memory, b: &mut Batch) {
        let looks = std::mem::take(&mut self.looks);
        // Plain ones were asked, and those under write are not.
        let judged = looks.iter().filter(|l| !l.is_plain() && l.bits & flag::WRITEBACK == 0);
        mem.prefetch_pages_of(judged.map(|l| l.folio));
        // Nearly always all of them are plain.
        let mut rest = &looks[..];
        while let Some(first) = rest.first() {
            let plain = mem.evict_batch(plain_ahead(rest));
            let together = plain == 0 && !b.file && !mem.slow_paths;
            let writing = if together { writing_ahead(rest) } else { 0 };
            let (some, behind) = rest.split_at((plain + writing).max(1));
            if plain > 0 {
                self.shrink_plain(mem, b, some);
            } else if writing > 0 {
                self.shrink_writing(mem, b, some);
            } else {
                self.shrink_other(mem, b, first.folio, None);
            }
            rest = behind;
        }
        self.looks = looks;
        mem.settle_fast(&mut b.fast, b.how.by);
        mem.count(VmEvent::SimScanKeep, b.kept);
        self.put_back(mem, b.lv, b.file, &mut b.back);
        self.age_by_scan(b.lv, b.promoted);
        if !self.accessed.is_empty() {
            let mut pages = std::mem::take(&mut self.accessed);
            self.look_around(mem, b.lv, &mut pages);
            self.accessed = pages;
        }
    }

    /// Plain folios one after the other: those to be evicted are collected.
    fn shrink_plain(&mut self, mem: &mut Memory, b: &mut Batch, looks: &[Look]) {
        if !b.evicts_fast {
            return self.shrink_asked(mem, b, looks);
        }
        let nr = looks.len();
        b.fast.asked(nr as u64);
        let wanted: u32 = looks.iter().map(|l| (l.bits / flag::RECLAIM) & 1).sum();
        let mut slots = std::mem::take(&mut self.slots);
        mem.slots_for_short(wanted as usize, &mut slots);
        let evicts = slots.len() as u64;
        let swap_full = evicts < u64::from(wanted);
        // Promotions may move the age that the next shadow takes along.
        let ages = u64::from(self.config.age_on_scan_activation);
        let before = [b.back[0].len(), b.back[1].len()];
        let simple = !swap_full && ages == 0;
        let stamps = b.leaving.as_ref().filter(|_| simple).and_then(|l| self.stamps(l, evicts));
        match stamps {
            Some(stamps) => shrink_stamped(mem, b, looks, &mut slots, stamps),
            None => self.shrink_each(mem, b, looks, &mut slots, ages),
        }
        self.slots = slots;
        if self.config.bits_found == BitsFound::Around {
            let stay = looks.iter().filter(|l| l.bits & flag::RECLAIM == 0);
            self.accessed.extend(stay.map(Look::page));
        }
        if mem.followed() {
            let stays = |l: &&Look| l.bits & (flag::RECLAIM | flag::ACTIVE) == 0;
            mem.kept(looks.iter().filter(stays).map(Look::page));
        }
        let [kept, promoted] = [0, 1].map(|i| (b.back[i].len() - before[i]) as u64);
        b.kept += kept;
        b.promoted += promoted;
        b.stats.scanned += nr as u64;
        b.stats.pageout += evicts;
        b.stats.reclaimed += evicts;
        b.stats.activated[ANON] += promoted;
        b.fast.activated(promoted);
        if mem.evicts_singly() {
            let wanted = looks[0].bits & flag::RECLAIM != 0;
            let outcome = match (evicts > 0, promoted > 0) {
                (true, _) => ScanOutcome::Reclaimed,
                (_, true) if wanted => ScanOutcome::ActivateNoSwap,
                (_, true) => ScanOutcome::ActivateReferenced,
                _ => ScanOutcome::KeepReferenced,
            };
            b.tell(mem, &looks[0], outcome);
        }
    }

    /// Judges plain folios of which some may find no slot, or leave no shadow.
    fn shrink_each(
        &mut self,
        mem: &mut Memory,
        b: &mut Batch,
        looks: &[Look],
        slots: &mut Vec<SwapSlot>,
        ages: u64,
    ) {
        for look in looks {
            let mut bits = look.bits;
            if bits & flag::RECLAIM != 0 {
                if let Some(slot) = slots.pop() {
                    let shadow = match &b.leaving {
                        Some(l) => self.leave(l, bits),
                        None => None,
                    };
                    mem.evict_fast(&mut b.fast, look, slot, shadow);
                    continue;
                }
                // Swap is full.
                bits = bits & !flag::RECLAIM | flag::ACTIVE;
                mem.frames.store(look.folio, bits);
            }
            let active = bits & flag::ACTIVE != 0;
            b.back[usize::from(active)].push(look.folio);
            if ages > 0 && active {
                self.advance_age(b.lv, LruType::of(b.file), ages);
            }
        }
    }

    /// Plain folios that cannot be evicted by the fast path, but were asked already.
    #[inline(never)]
    fn shrink_asked(&mut self, mem: &mut Memory, b: &mut Batch, looks: &[Look]) {
        for look in looks {
            b.fast.asked(1);
            if look.bits & flag::RECLAIM != 0 {
                mem.frames.store(look.folio, look.bits & !flag::RECLAIM);
                self.shrink_other(mem, b, look.folio, Some(Judgement::Reclaim));
                continue;
            }
            b.stats.scanned += 1;
            if self.config.bits_found == BitsFound::Around {
                self.accessed.push(look.page());
            }
            if look.bits & flag::ACTIVE == 0 {
                b.kept += 1;
                b.back[0].push(look.folio);
                mem.kept(std::iter::once(look.page()));
                b.tell(mem, look, ScanOutcome::KeepReferenced);
                continue;
            }
            b.promoted += 1;
            b.stats.activated[ANON] += 1;
            b.fast.activated(1);
            b.back[1].push(look.folio);
            if self.config.age_on_scan_activation {
                self.advance_age(b.lv, LruType::of(b.file), 1);
            }
            b.tell(mem, look, ScanOutcome::ActivateReferenced);
        }
    }

    /// Anonymous folios under write: they are recycled through the active list, and marked so
    /// that the end of the write frees them. What `shrink_folio` does with such, for many.
    #[inline(never)]
    fn shrink_writing(&mut self, mem: &mut Memory, b: &mut Batch, looks: &[Look]) {
        let nr = looks.len() as u64;
        let node = self.node_of(mem, self.scope_of_lruvec(b.lv));
        let kswapd = matches!(b.how.by, Reclaimer::Kswapd);
        let at_once = kswapd && mem.node_flags[node].writeback;
        let recycled = |look: &&Look| look.bits & flag::RECLAIM != 0;
        let immediate = if at_once { looks.iter().filter(recycled).count() as u64 } else { 0 };
        b.back[1].extend(looks.iter().map(|look| look.folio));
        let stats = &mut b.stats;
        stats.scanned += nr;
        stats.pass.immediate += immediate;
        stats.pass.writeback += nr - immediate;
        stats.activated[ANON] += nr;
        b.promoted += nr;
        mem.activate_batch(self.ids.memcg(b.lv), looks, flag::RECLAIM);
        if mem.tracer.wants(TraceKind::SimScanFolio) {
            mem.settle_fast(&mut b.fast, b.how.by);
            for &Look { folio: pfn, .. } in looks {
                let (page, file, outcome) =
                    (mem.page_of(pfn), false, ScanOutcome::ActivateWriteback);
                mem.emit(|| TraceEvent::SimScanFolio { pfn, page, file, outcome });
            }
        }
        if self.config.age_on_scan_activation {
            self.advance_age(b.lv, LruType::of(b.file), nr);
        }
    }

    /// The slow path of a folio; `asked`: the judgement if it was asked already.
    #[inline(never)]
    fn shrink_other(
        &mut self,
        mem: &mut Memory,
        b: &mut Batch,
        folio: FolioId,
        asked: Option<Judgement>,
    ) {
        mem.settle_fast(&mut b.fast, b.how.by);
        let page = mem.tracer.wants(TraceKind::SimScanFolio).then(|| mem.page_of(folio)).flatten();
        let (by, file) = (b.how.by, b.file);
        let limit = match by {
            Reclaimer::Limit(m) | Reclaimer::Proactive(m) => Some(m),
            _ => None,
        };
        let (rule, locked_activates) =
            (self.config.anon_ref_rule, self.config.locked_is_activated());
        let pages = mem.frames.pages(folio);
        let fate = shrink_folio(
            mem,
            folio,
            b.how,
            &mut b.stats,
            |mem, f| asked.unwrap_or_else(|| judge(mem, f, limit, rule, locked_activates)),
            |mem, f| self.evicted(mem, f, by),
        );
        let outcome = match fate {
            ShrinkOutcome::Freed => ScanOutcome::Reclaimed,
            ShrinkOutcome::Dropped => ScanOutcome::LazyFreed,
            ShrinkOutcome::Kept(why) | ShrinkOutcome::Activated(why) => why,
            ShrinkOutcome::Split => {
                for page in (folio.0..folio.0 + pages as u32).map(Pfn) {
                    if mem.is_isolated_page(page) {
                        self.shrink_other(mem, b, page, None);
                    }
                }
                return;
            }
        };
        mem.emit(|| TraceEvent::SimScanFolio { pfn: folio, page, file, outcome });
        if outcome == ScanOutcome::KeepReferenced {
            mem.kept_folio(folio);
        }
        let used = [ScanOutcome::KeepReferenced, ScanOutcome::ActivateReferenced];
        if self.config.bits_found == BitsFound::Around && used.contains(&outcome) {
            self.accessed.extend(mem.page_of(folio));
        }
        match fate {
            ShrinkOutcome::Freed | ShrinkOutcome::Dropped | ShrinkOutcome::Split => return,
            ShrinkOutcome::Kept(_) => b.kept += pages,
            ShrinkOutcome::Activated(_) => {
                b.promoted += pages;
                self.age_by_promotion(mem, b.lv, folio);
            }
        }
        let list = Self::list_index(mem, folio).wrapping_sub(2 * usize::from(file));
        match b.back.get_mut(list) {
            Some(back) if !mem.frames.has(folio, flag::MLOCKED) => back.push(folio),
            _ => self.add_head_of(mem, b.lv, folio),
        }
    }

    /// Reclaims folios that somebody else took off their lists (`reclaim_folio_list`): the
    /// tests of a scan of an inactive list, and nothing that a scan counts or learns.
    pub(super) fn reclaim_taken(
        &mut self,
        mem: &mut Memory,
        folios: &[FolioId],
        ignore_references: bool,
    ) -> u64 {
        let by = Reclaimer::Advice;
        let how = self.shrinking(by, true);
        let (rule, locked_activates) =
            (self.config.anon_ref_rule, self.config.locked_is_activated());
        let mut stats = BatchStats::default();
        let mut back = Vec::new();
        let lv = folios.first().map(|&f| self.lruvec_of(mem, f));
        mem.charge(mem.cost.t_scan * folios.len() as u64);
        for &folio in folios {
            let fate = shrink_folio(
                mem,
                folio,
                how,
                &mut stats,
                |mem, f| match ignore_references {
                    true => Judgement::Reclaim,
                    false => judge(mem, f, None, rule, locked_activates),
                },
                |mem, f| self.evicted(mem, f, by),
            );
            match fate {
                ShrinkOutcome::Freed | ShrinkOutcome::Dropped => continue,
                ShrinkOutcome::Split => unreachable!("{folio} was split when the advice was given"),
                ShrinkOutcome::Kept(_) => {}
                ShrinkOutcome::Activated(_) => {
                    let lv = self.lruvec_of(mem, folio);
                    self.age_by_promotion(mem, lv, folio);
                }
            }
            back.push(folio);
        }
        // The statistics of 7.3 hold these writes too.
        if let Some(lv) = lv
            && self.config.balance_model == BalanceModel::Cost73
        {
            self.note_cost(mem, lv, false, stats.pageout, 0);
        }
        for folio in back {
            mem.put_back(self, folio);
        }
        stats.reclaimed
    }

    /// A folio of an inactive list was promoted by itself.
    fn age_by_promotion(&mut self, mem: &Memory, lv: LruvecId, folio: FolioId) {
        if self.config.age_on_scan_activation {
            let pages = mem.frames.pages(folio);
            self.advance_age(lv, LruType::of(mem.frames.is_file_lru(folio)), pages);
        }
    }

    /// Puts folios back at the heads of the inactive and the active list of a type.
    fn put_back(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        file: bool,
        back: &mut [Vec<FolioId>; 2],
    ) {
        for (active, folios) in back.iter_mut().enumerate() {
            mem.lru_add_heads(self.lruvecs[lv].lists[2 * usize::from(file) + active], folios);
            folios.clear();
        }
    }

    /// Scans `n` folios of an active list and demotes all but running program text.
    pub(super) fn shrink_active(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        file: bool,
        n: u64,
        req: &ReclaimRequest,
    ) {
        // Whether accessed bits are left alone.
        let leaves_young = !self.config.anon_demote_clears_young && !file;
        let scan = self.scan(lv, file, ScanFor::Deactivation, req);
        let verdicts = if leaves_young { None } else { Some(&DEMOTED) };
        let nr = self.isolate_folios(mem, lv, &scan, n, verdicts);
        if nr == 0 {
            return;
        }
        let limit = match req.by {
            Reclaimer::Limit(m) | Reclaimer::Proactive(m) => Some(m),
            _ => None,
        };
        let young_counts = self.config.demoted_young_counts_as_rotated();
        let looks = std::mem::take(&mut self.looks);
        let mut back = std::mem::take(&mut self.back);
        let observed = mem.tracer.wants(TraceKind::SimDeactivate);
        let (mut kept, mut rotated, mut asked, mut extra) = (0, 0, 0, 0);
        for look in &looks {
            let folio = look.folio;
            if look.bits & flag::MLOCKED != 0 {
                self.add_head_of(mem, lv, folio);
                continue;
            }
            let mut clear = 0;
            if look.is_plain() {
                asked += 1;
                rotated += u64::from(look.bits & flag::RECLAIM != 0 && young_counts);
                if look.bits & flag::RECLAIM != 0 {
                    mem.overlooked(look.page());
                }
                clear = flag::RECLAIM;
                if observed {
                    self.fast.asked(std::mem::take(&mut asked));
                    mem.settle_fast(&mut self.fast, req.by);
                }
            } else if leaves_young {
                clear = flag::REFERENCED;
            } else {
                let r = mem.references(folio, limit);
                if r.count > 0 || r.locked {
                    let keep = r.exec && mem.frames.is_file_lru(folio);
                    rotated += u64::from(keep || young_counts) * pages_of(look.bits);
                    if keep {
                        kept += 1;
                        back[1].push(folio);
                        continue;
                    }
                    mem.overlooked_folio(folio);
                }
            }
            mem.demote(folio, clear);
            extra += pages_of(look.bits) - 1;
            back[0].push(folio);
        }
        let demoted = back[0].len() as u64 + extra;
        self.fast.asked(asked);
        mem.settle_fast(&mut self.fast, req.by);
        if mem.is_planted(Planted::DemotedToTail) {
            let list = self.lruvecs[lv].lists[2 * usize::from(file)];
            back[0].drain(..).for_each(|f| mem.lru_add_tail(list, f));
        }
        self.put_back(mem, lv, file, &mut back);
        self.looks = looks;
        self.back = back;
        self.age_by_scan(lv, kept);
        self.note_rotated(lv, file, nr, rotated);
        let memcg = self.ids.memcg(lv);
        mem.count_rotated(memcg, file, kept);
        let notes = [BalanceModel::Cost612, BalanceModel::Cost73];
        if kept > 0 && notes.contains(&self.config.balance_model) {
            self.note_cost(mem, lv, file, 0, kept);
        }
        mem.end_deactivation(&scan, nr, demoted, kept);
    }
}

/// Judges plain folios, of which those to be evicted have their slots and their shadows: what
/// [`Classic::shrink_each`] does, in one loop without a question.
#[inline(always)]
fn shrink_stamped(
    mem: &mut Memory,
    b: &mut Batch,
    looks: &[Look],
    slots: &mut Vec<SwapSlot>,
    mut stamps: Stamps,
) {
    let [inactive, active] = &mut b.back;
    inactive.reserve(looks.len());
    active.reserve(looks.len());
    b.fast.expect(slots.len());
    let mut slots = slots.drain(..).rev();
    for look in looks {
        if look.bits & flag::RECLAIM != 0 {
            let slot = slots.next().expect("each has a slot");
            mem.evict_fast(&mut b.fast, look, slot, Some(stamps.next(look.bits)));
        } else if look.bits & flag::ACTIVE != 0 {
            active.push(look.folio);
        } else {
            inactive.push(look.folio);
        }
    }
}

/// How many of the first folios are plain.
#[inline]
fn plain_ahead(looks: &[Look]) -> usize {
    if looks.iter().all(Look::is_plain) {
        return looks.len();
    }
    looks.iter().take_while(|l| l.is_plain()).count()
}

/// How many of the first folios are anonymous ones under write that nobody works on.
#[inline]
fn writing_ahead(looks: &[Look]) -> usize {
    const MASK: u32 = flag::WRITEBACK
        | flag::SWAPBACKED
        | flag::LOCKED
        | flag::IN_BATCH
        | flag::MLOCKED
        | flag::UNEVICTABLE;
    looks.iter().take_while(|l| l.bits & MASK == flag::WRITEBACK | flag::SWAPBACKED).count()
}

/// What a page\'s references mean.
#[inline]
fn judge(
    mem: &mut Memory,
    folio: FolioId,
    limit: Option<MemcgId>,
    rule: AnonRefRule,
    locked_activates: bool,
) -> Judgement {
    let mut r = mem.references(folio, limit);
    if mem.is_planted(Planted::LostReference) {
        r.count = 0;
    }
    let before = mem.frames.test_clear(folio, flag::REFERENCED);
    if r.locked {
        return if locked_activates { Judgement::Locked } else { Judgement::Reclaim };
    }
    let (judgement, mark) = decide(r, before, mem.frames.is_file_lru(folio), rule);
    mem.frames.set(folio, mark);
    judgement
}

/// The judgement, and the mark that it leaves: [`flag::REFERENCED`] or nothing. `before`: the
/// mark that it found.
#[inline(always)]
pub(super) fn decide(
    r: References,
    before: bool,
    file: bool,
    rule: AnonRefRule,
) -> (Judgement, u32) {
    if r.count == 0 {
        let clean = before && file;
        return (if clean { Judgement::ReclaimClean } else { Judgement::Reclaim }, 0);
    }
    match rule {
        AnonRefRule::OneTouch if !file => (Judgement::Activate, 0),
        AnonRefRule::OneTouchBoth => (Judgement::Activate, 0),
        AnonRefRule::TwoTouchV1 if !file && before => (Judgement::Activate, 0),
        AnonRefRule::TwoTouchV1 if !file => (Judgement::Keep, flag::REFERENCED),
        _ if before || r.count > 1 || file && r.exec => (Judgement::Activate, flag::REFERENCED),
        _ => (Judgement::Keep, flag::REFERENCED),
    }
}

/// All plain folios of an inactive list are to be freed: a planted fault.
const EVICTED: Verdicts = Verdicts { clear: flag::REFERENCED, set: [flag::RECLAIM; 4] };

/// Plain folios of an active list: who was accessed is marked.
const DEMOTED: Verdicts = Verdicts { clear: 0, set: [0, 0, flag::RECLAIM, flag::RECLAIM] };

/// Verdicts on plain folios of an inactive list: `RECLAIM` if they are to be freed.
pub(super) fn inactive_verdicts(rule: AnonRefRule) -> Verdicts {
    let set = [(0, false), (0, true), (1, false), (1, true)].map(|(count, before)| {
        let r = References { count, ..References::default() };
        match decide(r, before, false, rule) {
            (Judgement::Reclaim, mark) => mark | flag::RECLAIM,
            (Judgement::Activate, mark) => mark | flag::ACTIVE,
            (_, mark) => mark,
        }
    });
    Verdicts { clear: flag::REFERENCED, set }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of a file that one mapping used: kept for a second look, or promoted at once as MGLRU
    /// does. An anonymous one: the same.
    #[test]
    fn one_touch_promotes_pages_of_both_types() {
        let used = References { count: 1, ..References::default() };
        for file in [false, true] {
            let of = |rule| decide(used, false, file, rule).0;
            assert_eq!(of(AnonRefRule::MappedFileRule), Judgement::Keep);
            assert_eq!(of(AnonRefRule::OneTouchBoth), Judgement::Activate);
        }
    }
}
