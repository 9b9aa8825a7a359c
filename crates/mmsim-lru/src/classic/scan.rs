//! The scans: of an inactive list, which evicts, and of an active list, which demotes.
//!
//! Relative order is kept everywhere: folios that are put back keep their order, the
//! oldest nearest to the tail.
//!
//! Source: Linux 6.12 mm/vmscan.c (`shrink_inactive_list`, `shrink_active_list`,
//! `folio_check_references`, `isolate_lru_folios`).

use super::workingset::Leaving;
use super::{Classic, LIST_NAMES};
use crate::config::AnonRefRule;
use crate::shrink::{BatchStats, Fate, Judgement, Shrinking, shrink_folio};
use mmsim_core::base::event::{ScanOutcome, TraceEvent};
use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::machine::config::ZoneKind;
use mmsim_core::memory::{Look, Memory, References, ShortWay};
use mmsim_core::phys::frames::{FolioId, flag};
use mmsim_core::policy::{ReclaimRequest, Reclaimer};

/// A batch of folios on their way through an inactive scan.
pub(super) struct Batch {
    lv: usize,
    file: bool,
    how: Shrinking,
    /// Plain folios may be evicted the short way.
    evicts_short: bool,
    /// How plain folios leave.
    leaving: Option<Leaving>,
    short: ShortWay,
    stats: BatchStats,
    activated_short: u64,
}

impl Classic {
    /// Takes up to `n` folios of eligible zones off the tail of a list into `self.taken`,
    /// oldest first. Returns how many were looked at. Folios of higher zones go to the
    /// head.
    fn isolate_folios(
        &mut self,
        mem: &mut Memory,
        lv: usize,
        list: usize,
        n: u64,
        highest: ZoneKind,
    ) -> u64 {
        mem.lru_drain(self);
        let id = self.lruvecs[lv].lists[list];
        let mut taken = std::mem::take(&mut self.taken);
        taken.clear();
        let mut skipped = Vec::new();
        let node = NodeId((lv / self.groups) as u8);
        let all_eligible = mem.zones.of_node(node).iter().all(|&z| mem.zones[z].kind <= highest);
        while (taken.len() as u64) < n && mem.lists.len(id) > 0 {
            mem.lru_isolate_tail(id, n - taken.len() as u64, &mut taken);
            if all_eligible {
                break;
            }
            taken.retain(|&folio| {
                let kind = mem.zones[mem.zones.of(folio)].kind;
                if kind > highest {
                    mem.count(skip_event(kind), 1);
                    skipped.push(folio);
                }
                kind <= highest
            });
        }
        mem.lru_add_heads(id, &skipped);
        let nr = taken.len() as u64;
        mem.charge_scan(nr);
        self.taken = taken;
        let memcg = MemcgId((lv % self.groups) as u16);
        mem.emit(|| TraceEvent::MmVmscanLruIsolate {
            node,
            memcg,
            lru: LIST_NAMES[list],
            nr_requested: n,
            nr_scanned: nr,
            nr_taken: nr,
        });
        nr
    }

    /// Scans `n` folios of an inactive list and evicts what nobody used.
    pub(super) fn shrink_inactive(
        &mut self,
        mem: &mut Memory,
        lv: usize,
        file: bool,
        n: u64,
        req: &ReclaimRequest,
    ) -> BatchStats {
        let nr = self.isolate_folios(mem, lv, 2 * usize::from(file), n, req.highest);
        let (scan, steal) = match req.by {
            Reclaimer::Kswapd => (VmEvent::PgScanKswapd, VmEvent::PgStealKswapd),
            Reclaimer::Direct | Reclaimer::Limit(_) => {
                (VmEvent::PgScanDirect, VmEvent::PgStealDirect)
            }
        };
        let (scan_type, steal_type) = if file {
            (VmEvent::PgScanFile, VmEvent::PgStealFile)
        } else {
            (VmEvent::PgScanAnon, VmEvent::PgStealAnon)
        };
        let memcg = MemcgId((lv % self.groups) as u16);
        let global = !matches!(req.by, Reclaimer::Limit(_));
        count_scan(mem, memcg, global, scan, nr);
        mem.count_in(memcg, scan_type, nr);
        if nr == 0 {
            return BatchStats::default();
        }
        let mut b = Batch {
            lv,
            file,
            how: Shrinking { by: req.by, may_writepage: req.may_writepage },
            evicts_short: req.may_writepage && mem.evicts_short(),
            leaving: self.leaving(file, NodeId((lv / self.groups) as u8), memcg, req.by),
            short: std::mem::take(&mut self.short),
            stats: BatchStats::default(),
            activated_short: 0,
        };
        self.shrink_taken(mem, &mut b);
        let stats = &mut b.stats;
        count_scan(mem, memcg, global, steal, stats.reclaimed);
        mem.count_in(memcg, steal_type, stats.reclaimed);
        self.note_rotated(lv, file, nr, 0);
        for t in [false, true] {
            self.note_rotated(lv, t, 0, stats.activated[usize::from(t)]);
        }
        self.note_cost(mem, lv, file, stats.pageout, nr - stats.reclaimed);
        stats.pass.taken = nr;
        stats.pass.file_taken = if file { nr } else { 0 };
        let node = NodeId((lv / self.groups) as u8);
        mem.emit(|| TraceEvent::MmVmscanLruShrinkInactive {
            node,
            file,
            nr_scanned: nr,
            nr_reclaimed: stats.reclaimed,
            priority: req.priority,
        });
        mem.settle_kernel();
        self.short = b.short;
        b.stats
    }

    /// Processes the folios that were taken, and puts back those that stay.
    fn shrink_taken(&mut self, mem: &mut Memory, b: &mut Batch) {
        let mut looks = std::mem::take(&mut self.looks);
        let mut back = std::mem::take(&mut self.back);
        mem.look(&self.taken, true, &mut looks);
        let own_type_ages = self.config.age_on_scan_activation;
        let (mut kept, mut promoted) = (0, 0);
        for look in &looks {
            let (fate, to) = match self.shrink_plain(mem, b, look) {
                Ok(fate) => (fate, usize::from(matches!(fate, Fate::Activated(_)))),
                Err(asked) => self.shrink_other(mem, b, look.folio, asked),
            };
            match fate {
                Fate::Freed => continue,
                Fate::Kept(_) => kept += 1,
                Fate::Activated(_) => {
                    promoted += 1;
                    if own_type_ages {
                        self.advance_age(b.lv, usize::from(b.file), 1);
                    }
                }
            }
            match back.get_mut(to) {
                Some(list) => list.push(look.folio),
                None => self.add_head_of(mem, b.lv, look.folio),
            }
        }
        mem.settle_short(&mut b.short);
        mem.charge_batch(b.stats.reclaimed);
        mem.count(VmEvent::SimScanKeep, kept);
        mem.count(VmEvent::PgActivate, b.activated_short);
        b.stats.activated[0] += b.activated_short;
        self.put_back(mem, b.lv, b.file, &mut back);
        self.age_by_scan(b.lv, promoted);
        self.looks = looks;
        self.back = back;
    }

    /// The short way of a plain folio, with the outcome of the general one
    /// ([`shrink_folio`]). What it cannot do is returned: with the judgement, if the folio
    /// was asked already.
    #[inline(always)]
    fn shrink_plain(
        &mut self,
        mem: &mut Memory,
        b: &mut Batch,
        look: &Look,
    ) -> Result<Fate, Option<Judgement>> {
        if !look.is_plain() {
            return Err(None);
        }
        b.short.ask();
        let before = look.bits & flag::REFERENCED != 0;
        let r = References { count: look.young.into(), ..References::default() };
        let (judgement, mark) = decide(r, before, false, self.config.anon_ref_rule);
        let bits = look.bits & !flag::REFERENCED | mark;
        let reclaim = matches!(judgement, Judgement::Reclaim);
        if reclaim && !b.evicts_short {
            mem.frames.store(look.folio, bits);
            return Err(Some(judgement));
        }
        b.stats.scanned += 1;
        if reclaim && let Some(slot) = mem.slot_for_short() {
            let shadow = b.leaving.and_then(|l| self.leave(l, bits));
            mem.evict_short(&mut b.short, look, slot, shadow);
            b.stats.pageout += 1;
            b.stats.reclaimed += 1;
            return Ok(Fate::Freed);
        }
        if judgement == Judgement::Keep {
            mem.frames.store(look.folio, bits);
            return Ok(Fate::Kept(ScanOutcome::KeepReferenced));
        }
        // It was referenced, or swap is full.
        mem.frames.store(look.folio, bits | flag::ACTIVE);
        b.activated_short += 1;
        Ok(Fate::Activated(ScanOutcome::ActivateReferenced))
    }

    /// The general way. Returns also which list of the type gets the folio back: 0 inactive,
    /// 1 active, else none of them.
    #[inline(never)]
    fn shrink_other(
        &mut self,
        mem: &mut Memory,
        b: &mut Batch,
        folio: FolioId,
        asked: Option<Judgement>,
    ) -> (Fate, usize) {
        mem.settle_short(&mut b.short);
        let page =
            if mem.tracer.on() { mem.rmap.nth(mem.rmap.of(&mem.frames, folio), 0) } else { None };
        let by = b.how.by;
        let limit = match by {
            Reclaimer::Limit(m) => Some(m),
            _ => None,
        };
        let (rule, locked_activates) =
            (self.config.anon_ref_rule, self.config.locked_is_activated());
        let fate = shrink_folio(
            mem,
            folio,
            b.how,
            &mut b.stats,
            |mem, f| asked.unwrap_or_else(|| judge(mem, f, limit, rule, locked_activates)),
            |mem, f| self.evicted(mem, f, by),
        );
        let outcome = match fate {
            Fate::Freed => ScanOutcome::Reclaimed,
            Fate::Kept(why) | Fate::Activated(why) => why,
        };
        let file = b.file;
        mem.emit(|| TraceEvent::SimScanFolio { pfn: folio, page, file, outcome });
        let bits = mem.frames.bits(folio);
        let listed = Self::list_index(mem, folio).wrapping_sub(2 * usize::from(file));
        let to = if bits & flag::MLOCKED == 0 { listed } else { usize::MAX };
        (fate, to)
    }

    /// Puts folios back at the heads of the inactive and the active list of a type.
    fn put_back(&mut self, mem: &mut Memory, lv: usize, file: bool, back: &mut [Vec<FolioId>; 2]) {
        for (active, folios) in back.iter_mut().enumerate() {
            mem.lru_add_heads(self.lruvecs[lv].lists[2 * usize::from(file) + active], folios);
            folios.clear();
        }
    }

    /// kswapd's aging of the anonymous lists before a pass.
    pub(super) fn age_anon(&mut self, mem: &mut Memory, lv: usize, highest: ZoneKind) {
        let node = NodeId((lv / self.groups) as u8);
        let req = ReclaimRequest {
            node,
            by: Reclaimer::Kswapd,
            priority: 12,
            order: 0,
            highest,
            target: 0,
            reclaimed: 0,
            may_writepage: true,
            may_swap: true,
            force_deactivate: false,
            low_reclaim: false,
            no_cache_trim: false,
            one_step: false,
        };
        self.shrink_active(mem, lv, false, self.cluster, &req);
    }

    /// Scans `n` folios of an active list and demotes all but running program text.
    pub(super) fn shrink_active(
        &mut self,
        mem: &mut Memory,
        lv: usize,
        file: bool,
        n: u64,
        req: &ReclaimRequest,
    ) {
        let nr = self.isolate_folios(mem, lv, 2 * usize::from(file) + 1, n, req.highest);
        let memcg = MemcgId((lv % self.groups) as u16);
        count_scan(mem, memcg, !matches!(req.by, Reclaimer::Limit(_)), VmEvent::PgRefill, nr);
        if nr == 0 {
            return;
        }
        let limit = match req.by {
            Reclaimer::Limit(m) => Some(m),
            _ => None,
        };
        let leaves_young = !self.config.anon_demote_clears_young;
        let young_counts = self.config.demoted_young_counts_as_rotated();
        let mut looks = std::mem::take(&mut self.looks);
        let mut back = std::mem::take(&mut self.back);
        mem.look(&self.taken, !leaves_young, &mut looks);
        let (mut kept, mut demoted, mut rotated, mut asked) = (0u64, 0u64, 0u64, 0u64);
        for look in &looks {
            let folio = look.folio;
            if look.bits & flag::MLOCKED != 0 {
                self.add_head_of(mem, lv, folio);
                continue;
            }
            let mut clear = flag::ACTIVE;
            if leaves_young && look.bits & flag::SWAPBACKED != 0 {
                clear |= flag::REFERENCED;
            } else if look.is_plain() {
                asked += 1;
                rotated += u64::from(look.young && young_counts);
            } else {
                let r = mem.references(folio, limit);
                if r.count > 0 || r.locked {
                    let keep = r.exec && mem.frames.is_file_lru(folio);
                    rotated += u64::from(keep || young_counts);
                    if keep {
                        kept += 1;
                        back[1].push(folio);
                        continue;
                    }
                }
            }
            demoted += 1;
            mem.frames.change(folio, clear, flag::WORKINGSET);
            mem.emit(|| TraceEvent::SimDeactivate { pfn: folio });
            back[0].push(folio);
        }
        mem.charge_references(asked);
        self.put_back(mem, lv, file, &mut back);
        self.looks = looks;
        self.back = back;
        mem.count_in(memcg, VmEvent::PgDeactivate, demoted);
        self.age_by_scan(lv, kept);
        self.note_rotated(lv, file, nr, rotated);
        if kept > 0 && self.config.balance_model == crate::config::BalanceModel::Cost612 {
            self.note_cost(mem, lv, file, 0, kept);
        }
        let node = NodeId((lv / self.groups) as u8);
        mem.emit(|| TraceEvent::MmVmscanLruShrinkActive {
            node,
            file,
            nr_taken: nr,
            nr_active: kept,
            nr_deactivated: demoted,
            priority: req.priority,
        });
    }
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
    let r = mem.references(folio, limit);
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
fn decide(r: References, before: bool, file: bool, rule: AnonRefRule) -> (Judgement, u32) {
    if r.count == 0 {
        let clean = before && file;
        return (if clean { Judgement::ReclaimClean } else { Judgement::Reclaim }, 0);
    }
    match rule {
        AnonRefRule::OneTouch if !file => (Judgement::Activate, 0),
        AnonRefRule::TwoTouchV1 if !file && before => (Judgement::Activate, 0),
        AnonRefRule::TwoTouchV1 if !file => (Judgement::Keep, flag::REFERENCED),
        _ if before || r.count > 1 || file && r.exec => (Judgement::Activate, flag::REFERENCED),
        _ => (Judgement::Keep, flag::REFERENCED),
    }
}

/// The counter of folios passed over for their zone.
fn skip_event(kind: ZoneKind) -> VmEvent {
    match kind {
        ZoneKind::Dma => VmEvent::PgSkipDma,
        ZoneKind::Dma32 => VmEvent::PgSkipDma32,
        ZoneKind::Normal => VmEvent::PgSkipNormal,
        ZoneKind::Movable => VmEvent::PgSkipMovable,
    }
}

/// Counters that limit reclaim moves only in its group.
fn count_scan(mem: &mut Memory, memcg: MemcgId, global: bool, e: VmEvent, n: u64) {
    if global {
        mem.count_in(memcg, e, n);
    } else {
        mem.count_group(memcg, e, n);
    }
}
