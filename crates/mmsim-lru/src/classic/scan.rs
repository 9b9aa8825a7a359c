//! The scans: of an inactive list, which evicts, and of an active list, which demotes.
//!
//! Relative order is kept everywhere: folios that are put back keep their order, the
//! oldest nearest to the tail.
//!
//! Source: Linux 6.12 mm/vmscan.c (`shrink_inactive_list`, `shrink_active_list`,
//! `folio_check_references`, `isolate_lru_folios`).

use super::config::{AnonRefRule, BalanceModel, BitsFound};
use super::workingset::Leaving;
use super::{Classic, LIST_NAMES};
use crate::index::{LruType, LruvecId};
use crate::shrink::{
    Batch, BatchStats, Fates, Judge, Judgement, ShrinkOutcome, Shrinking, Stays, Work,
    frames_of_split, shrink, shrink_folio,
};
use mmsim_core::base::id::{ListId, MemcgId};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::trace::{ScanOutcome, TraceEvent, TraceKind};
use mmsim_core::memory::{FastPath, Kinds, Memory, References, Run, Scan, ScanFor, Verdicts, each};
use mmsim_core::phys::frames::{FolioId, flag, pages_of};
use mmsim_core::policy::{ReclaimRequest, Reclaimer};

/// An inactive scan: what it judges by.
struct Inactive<'a> {
    classic: &'a mut Classic,
    lv: LruvecId,
    judging: Judging,
    /// Departure of plain folios.
    leaving: Option<Leaving>,
}

impl Classic {
    /// Takes up to `n` pages off the tail of a list into a run, and the rest of the last folio.
    /// Returns how many.
    fn isolate_folios(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        scan: &Scan<'_>,
        n: u64,
        verdicts: Option<&Verdicts>,
        run: &mut Run,
    ) -> u64 {
        mem.lru_drain(self);
        run.clear();
        let list = 2 * usize::from(scan.file) + usize::from(scan.to == ScanFor::Deactivation);
        mem.isolate_batch(scan, self.lruvecs[lv].lists[list], n, verdicts, run)
    }

    pub(super) fn shrinking(&self, by: Reclaimer, may_writepage: bool) -> Shrinking {
        let writes_files = self.config.file_writeout;
        let keeps_ready = self.pool.as_ref().is_some_and(|pool| pool.filling);
        Shrinking { by, may_writepage, keep_marked: false, writes_files, keeps_ready }
    }

    /// A scan of a list of an lruvec.
    fn scan<'a>(&self, lv: LruvecId, file: bool, to: ScanFor, req: &'a ReclaimRequest) -> Scan<'a> {
        let memcg = self.ids.memcg(lv);
        let lru = LIST_NAMES[2 * usize::from(file) + usize::from(to == ScanFor::Deactivation)];
        Scan { req, memcg, file, to, lru }
    }

    /// Scans `n` folios of an inactive list and evicts the unused ones.
    #[inline(never)] // Its values would spill registers of the pass.
    pub(super) fn shrink_inactive(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        file: bool,
        n: u64,
        req: &ReclaimRequest,
    ) -> BatchStats {
        let mut work = self.work.take().unwrap_or_default();
        let stats = self.shrink_inactive_with(mem, lv, file, n, req, &mut work);
        self.work = Some(work);
        stats
    }

    fn shrink_inactive_with(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        file: bool,
        n: u64,
        req: &ReclaimRequest,
        Work { run, fast, back }: &mut Work,
    ) -> BatchStats {
        let scan = self.scan(lv, file, ScanFor::Eviction, req);
        let judging = self.judging;
        let nr = self.isolate_folios(mem, lv, &scan, n, Some(&judging.verdicts), run);
        if nr == 0 {
            return BatchStats::default();
        }
        // Plain ones were checked, and those under write are not.
        if run.plain != run.all() {
            let judged = run.with(flag::WRITEBACK, 0) & !run.plain;
            mem.prefetch_pages_of(run.folios(judged));
        }
        let how = self.shrinking(req.by, req.may_writepage);
        let mut b = Batch {
            file,
            how,
            evicts_fast: req.may_writepage && mem.evicts_short() && !how.keeps_ready,
            fast,
            back,
            stats: BatchStats::default(),
            kept: 0,
            promoted: 0,
        };
        let leaving = self.leaving(file, self.scope_of_lruvec(lv), scan.memcg, req.by);
        shrink(&mut Inactive { classic: self, lv, judging, leaving }, mem, run, &mut b);
        let Batch { back, mut stats, kept, promoted, .. } = b;
        mem.count(VmEvent::SimScanKeep, kept);
        back.put_back(mem, run, self.lists_of_type(lv, file));
        self.age_by_scan(lv, promoted);
        if !self.accessed.is_empty() {
            let mut pages = std::mem::take(&mut self.accessed);
            self.look_around(mem, lv, &mut pages);
            self.accessed = pages;
        }
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
        stats
    }

    /// The inactive and the active list of a type.
    pub(super) fn lists_of_type(&self, lv: LruvecId, file: bool) -> [ListId; 2] {
        let lists = &self.lruvecs[lv].lists;
        if file { [lists[2], lists[3]] } else { [lists[0], lists[1]] }
    }

    /// Reclaims folios that another user took off their lists (`reclaim_folio_list`): the tests of
    /// a scan of an inactive list, without its counts and its state.
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
        mem.charge(mem.given.cost.t_scan * folios.len() as u64);
        let mut rest: Vec<FolioId> = folios.iter().rev().copied().collect();
        while let Some(folio) = rest.pop() {
            let pages = mem.frames.pages(folio) as u32;
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
                ShrinkOutcome::Freed | ShrinkOutcome::Dropped | ShrinkOutcome::Ready => continue,
                ShrinkOutcome::Split => {
                    let frames = frames_of_split(mem, folio, pages).rev();
                    rest.extend(frames.filter(|&frame| mem.is_isolated_page(frame)));
                    continue;
                }
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

    /// Ages for a single folio of an inactive list that was promoted.
    pub(super) fn age_by_promotion(&mut self, mem: &Memory, lv: LruvecId, folio: FolioId) {
        if self.config.age_on_scan_activation {
            let pages = mem.frames.pages(folio);
            self.advance_age(lv, LruType::of(mem.frames.is_file_lru(folio)), pages);
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
        let mut work = self.work.take().unwrap_or_default();
        self.shrink_active_with(mem, lv, file, n, req, &mut work);
        self.work = Some(work);
    }

    fn shrink_active_with(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        file: bool,
        n: u64,
        req: &ReclaimRequest,
        Work { run, fast, back }: &mut Work,
    ) {
        // Whether accessed bits are left alone.
        let leaves_young = !self.config.anon_demote_clears_young && !file;
        let scan = self.scan(lv, file, ScanFor::Deactivation, req);
        let verdicts = if leaves_young { None } else { Some(&DEMOTED) };
        let nr = self.isolate_folios(mem, lv, &scan, n, verdicts, run);
        if nr == 0 {
            return;
        }
        let limit = req.by.memcg();
        let young_counts = self.config.demoted_young_counts_as_rotated();
        let observed = mem.telling.tracer.wants(TraceKind::SimDeactivate);
        let (mut kept, mut extra) = (0, 0);
        let mut rotated = if young_counts { u64::from(run.young.count_ones()) } else { 0 };
        back.stay[0] = run.plain;
        fast.asked(if observed { 0 } else { run.plain.count_ones().into() });
        let singly = observed || mem.followed();
        for i in each(if singly { run.all() } else { run.all() & !run.plain }) {
            let (folio, bits) = (run.folio(i), run.bits(i));
            if run.plain >> i & 1 != 0 {
                tell_of_demotion(mem, run, i, observed.then_some((&mut *fast, req.by)));
                continue;
            }
            if bits & flag::MLOCKED != 0 {
                self.add_head_of(mem, lv, folio);
                continue;
            }
            let mut clear = 0;
            if leaves_young {
                clear = flag::REFERENCED;
            } else {
                let r = mem.references(folio, limit);
                if r.count > 0 || r.locked {
                    let keep = r.exec && mem.frames.is_file_lru(folio);
                    rotated += u64::from(keep || young_counts) * pages_of(bits);
                    if keep {
                        kept += 1;
                        back.stay[1] |= 1 << i;
                        continue;
                    }
                    mem.overlooked_folio(folio);
                }
            }
            mem.demote(folio, clear);
            extra += pages_of(bits) - 1;
            back.stay[0] |= 1 << i;
        }
        let demoted = u64::from(back.stay[0].count_ones()) + extra;
        mem.settle_fast(fast, req.by);
        let lists = self.lists_of_type(lv, file);
        back.put_back(mem, run, lists);
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

/// Tells a follower of a plain folio that is demoted although it was used, and an observer, if there
/// is one, of any.
fn tell_of_demotion(
    mem: &mut Memory,
    run: &Run,
    i: usize,
    observed: Option<(&mut FastPath, Reclaimer)>,
) {
    if run.young >> i & 1 != 0 {
        mem.overlooked(run.page(i));
    }
    if let Some((fast, by)) = observed {
        fast.asked(1);
        mem.settle_fast(fast, by);
        mem.emit(|| TraceEvent::SimDeactivate { pfn: run.folio(i) });
    }
}

impl Judge for Inactive<'_> {
    const UP: usize = 1;
    const RECYCLES: bool = true;

    fn plain(&self, run: &Run, _: &Batch<'_>) -> u64 {
        run.plain
    }

    /// Plain folios were checked when they were taken.
    #[inline(always)]
    fn judge(&mut self, mem: &mut Memory, run: &mut Run, some: u64, _: &mut Batch<'_>) -> Fates {
        let judging = self.judging;
        let (evict, activate) = (judging.evicts.of(run) & some, judging.activates.of(run) & some);
        let plain = run.plain & some;
        mem.fetch_followed(run.pages(plain));
        let keep = plain & !evict & !activate;
        Fates { evict, keep, activate, recycle: some & !plain, asked: plain, ..Fates::default() }
    }

    #[inline(always)]
    fn leave(&mut self, mem: &mut Memory, run: &Run, f: &Fates, b: &mut Batch<'_>) {
        let classic = &mut *self.classic;
        // Promotions may move the age that the next shadow takes along.
        let ages = classic.config.age_on_scan_activation && f.up() != 0;
        let n = u64::from(f.evict.count_ones());
        let stamps = self.leaving.as_ref().filter(|_| !ages);
        match stamps.and_then(|l| classic.stamps(l, n)) {
            Some(mut stamps) => {
                mem.evict_run(b.fast, run, f.evict, |_, bits| Some(stamps.next(bits)))
            }
            None => self.leave_singly(mem, run, f, b),
        }
    }

    #[inline(always)]
    fn stayed(&mut self, mem: &mut Memory, run: &mut Run, f: &Fates, b: &mut Batch<'_>) {
        if self.classic.config.bits_found == BitsFound::Around {
            self.classic.accessed.extend(run.pages(f.keep | f.activate));
        }
        if mem.followed() {
            mem.kept(run.pages(f.keep));
        }
        if f.refused != 0 {
            run.change(f.refused, 0, flag::ACTIVE);
        }
        if f.recycle != 0 {
            self.recycle(mem, run, f.recycle, b);
        }
    }

    fn one(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        asked: Option<Judgement>,
        b: &mut Batch<'_>,
    ) -> Stays {
        self.shrink_one(mem, folio, asked, b)
    }
}

impl Inactive<'_> {
    /// Folios leave, or are promoted, one after the other.
    #[cold]
    #[inline(never)]
    fn leave_singly(&mut self, mem: &mut Memory, run: &Run, f: &Fates, b: &mut Batch<'_>) {
        let ages = self.classic.config.age_on_scan_activation;
        for i in each(f.evict | f.up()) {
            if f.evict >> i & 1 != 0 {
                let leave =
                    |_, bits| self.leaving.as_ref().and_then(|l| self.classic.leave(l, bits));
                mem.evict_run(b.fast, run, 1 << i, leave);
            } else if ages {
                self.classic.advance_age(self.lv, LruType::of(b.file), 1);
            }
        }
    }

    /// Anonymous folios under write: they are recycled through the active list, and marked so
    /// that the end of the write frees them. Does for many what `shrink_folio` does for one.
    #[cold]
    #[inline(never)]
    fn recycle(&mut self, mem: &mut Memory, run: &Run, some: u64, b: &mut Batch<'_>) {
        let classic = &mut *self.classic;
        let node = classic.node_of(mem, classic.scope_of_lruvec(self.lv));
        let kswapd = matches!(b.how.by, Reclaimer::Kswapd);
        let at_once = kswapd && mem.lru.node_flags[node].writeback;
        let recycled = if at_once { run.with(flag::RECLAIM, flag::RECLAIM) & some } else { 0 };
        let pass = &mut b.stats.pass;
        pass.immediate += u64::from(recycled.count_ones());
        pass.writeback += u64::from((some & !recycled).count_ones());
        mem.activate_batch(classic.ids.memcg(self.lv), run, some, flag::RECLAIM);
    }

    /// The slow path of a folio.
    fn shrink_one(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        asked: Option<Judgement>,
        b: &mut Batch<'_>,
    ) -> Stays {
        let (classic, lv) = (&mut *self.classic, self.lv);
        let page =
            mem.telling.tracer.wants(TraceKind::SimScanFolio).then(|| mem.page_of(folio)).flatten();
        let (by, file) = (b.how.by, b.file);
        let limit = match by {
            Reclaimer::Limit(m) | Reclaimer::Proactive(m) => Some(m),
            _ => None,
        };
        let (rule, locked_activates) =
            (classic.config.anon_ref_rule, classic.config.locked_is_activated());
        let pages = mem.frames.pages(folio);
        let fate = shrink_folio(
            mem,
            folio,
            b.how,
            &mut b.stats,
            |mem, f| asked.unwrap_or_else(|| judge(mem, f, limit, rule, locked_activates)),
            |mem, f| classic.evicted(mem, f, by),
        );
        let outcome = match fate {
            ShrinkOutcome::Freed => ScanOutcome::Reclaimed,
            ShrinkOutcome::Dropped => ScanOutcome::LazyFreed,
            ShrinkOutcome::Ready => ScanOutcome::KeepBusy,
            ShrinkOutcome::Kept(why) | ShrinkOutcome::Activated(why) => why,
            ShrinkOutcome::Split => return Stays::Split(pages as u32),
        };
        mem.emit(|| TraceEvent::SimScanFolio { pfn: folio, page, file, outcome });
        if outcome == ScanOutcome::KeepReferenced {
            mem.kept_folio(folio);
        }
        let used = [ScanOutcome::KeepReferenced, ScanOutcome::ActivateReferenced];
        if classic.config.bits_found == BitsFound::Around && used.contains(&outcome) {
            classic.accessed.extend(mem.page_of(folio));
        }
        match fate {
            ShrinkOutcome::Ready => {
                classic.made_ready(mem, lv, folio);
                return Stays::Gone;
            }
            ShrinkOutcome::Freed | ShrinkOutcome::Dropped | ShrinkOutcome::Split => {
                return Stays::Gone;
            }
            ShrinkOutcome::Kept(_) => b.kept += pages,
            ShrinkOutcome::Activated(_) => {
                b.promoted += pages;
                classic.age_by_promotion(mem, lv, folio);
            }
        }
        let list = Classic::list_index(mem, folio).wrapping_sub(2 * usize::from(file));
        if list > 1 || mem.frames.has(folio, flag::MLOCKED) {
            classic.add_head_of(mem, lv, folio);
            return Stays::Gone;
        }
        if list == 1 { Stays::Activated } else { Stays::Kept }
    }
}

/// Meaning of a page's references.
#[inline]
fn judge(
    mem: &mut Memory,
    folio: FolioId,
    limit: Option<MemcgId>,
    rule: AnonRefRule,
    locked_activates: bool,
) -> Judgement {
    let file = mem.frames.is_file_lru(folio);
    judge_as(mem, folio, limit, file, (rule, locked_activates))
}

/// The same of a page of the type that the caller says.
#[inline]
pub(super) fn judge_as(
    mem: &mut Memory,
    folio: FolioId,
    limit: Option<MemcgId>,
    file: bool,
    (rule, locked_activates): (AnonRefRule, bool),
) -> Judgement {
    let r = mem.references(folio, limit);
    let before = mem.frames.test_clear(folio, flag::REFERENCED);
    if r.locked {
        return if locked_activates { Judgement::Locked } else { Judgement::Reclaim };
    }
    let (judgement, mark) = decide(r, before, file, rule);
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

/// Plain folios of an active list are demoted.
const DEMOTED: Verdicts = Verdicts { clear: flag::ACTIVE, set: [flag::WORKINGSET; 4] };

/// Judgement of plain folios of an inactive list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judging {
    verdicts: Verdicts,
    /// Which of the four kinds are evicted, and which are activated.
    evicts: Kinds,
    activates: Kinds,
}

impl Judging {
    pub(super) fn new(rule: AnonRefRule) -> Self {
        let of = [(0, false), (0, true), (1, false), (1, true)].map(|(count, before)| {
            let r = References { count, ..References::default() };
            decide(r, before, false, rule)
        });
        let set = of.map(|(judgement, mark)| match judgement {
            Judgement::Activate => mark | flag::ACTIVE,
            _ => mark,
        });
        Judging {
            verdicts: Verdicts { clear: flag::REFERENCED, set },
            evicts: Kinds::new(of.map(|(judgement, _)| judgement == Judgement::Reclaim)),
            activates: Kinds::new(of.map(|(judgement, _)| judgement == Judgement::Activate)),
        }
    }
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
