//! The scans: of an inactive list, which evicts, and of an active list, which demotes.
//!
//! Relative order is kept everywhere: folios that are put back keep their order, the
//! oldest nearest to the tail.
//!
//! Source: Linux 6.12 mm/vmscan.c (`shrink_inactive_list`, `shrink_active_list`,
//! `folio_check_references`, `isolate_lru_folios`).

use super::{Classic, LIST_NAMES};
use crate::config::AnonRefRule;
use crate::shrink::{BatchStats, Fate, Judgement, Shrinking, shrink_folio};
use mmsim_core::base::event::{ScanOutcome, TraceEvent};
use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::machine::config::ZoneKind;
use mmsim_core::memory::{Memory, References};
use mmsim_core::phys::frames::{FolioId, flag};
use mmsim_core::policy::{ReclaimRequest, Reclaimer};

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
        let mut skipped = std::mem::take(&mut self.back);
        skipped.clear();
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
        for &folio in &skipped {
            mem.lru_add_head(id, folio);
        }
        let nr = taken.len() as u64;
        mem.charge_scan(nr);
        self.taken = taken;
        self.back = skipped;
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
        let mut stats = BatchStats::default();
        if nr == 0 {
            return stats;
        }
        let mut taken = std::mem::take(&mut self.taken);
        let how = Shrinking { by: req.by, may_writepage: req.may_writepage };
        let limit = match req.by {
            Reclaimer::Limit(m) => Some(m),
            _ => None,
        };
        let (rule, locked_activates) =
            (self.config.anon_ref_rule, self.config.locked_is_activated());
        let own_type_ages = self.config.age_on_scan_activation;
        let mut promoted = 0;
        let mut kept = 0;
        for i in 0..taken.len() {
            let folio = taken[i];
            let page = if mem.tracer.on() {
                mem.rmap.nth(mem.rmap.of(&mem.frames, folio), 0)
            } else {
                None
            };
            let fate = shrink_folio(
                mem,
                folio,
                how,
                &mut stats,
                |mem, f| judge(mem, f, limit, rule, locked_activates),
                |mem, f| self.evicted(mem, f, req.by),
            );
            let outcome = match fate {
                Fate::Freed => ScanOutcome::Reclaimed,
                Fate::Kept(why) | Fate::Activated(why) => why,
            };
            mem.emit(|| TraceEvent::SimScanFolio { pfn: folio, page, file, outcome });
            match fate {
                Fate::Freed => continue,
                Fate::Kept(_) => mem.count(VmEvent::SimScanKeep, 1),
                Fate::Activated(_) => {
                    promoted += 1;
                    if own_type_ages {
                        self.advance_age(lv, usize::from(file), 1);
                    }
                }
            }
            taken[kept] = folio;
            kept += 1;
        }
        taken.truncate(kept);
        mem.charge_batch(stats.reclaimed);
        for &folio in &taken {
            self.add_head_of(mem, lv, folio);
        }
        self.age_by_scan(lv, promoted);
        self.taken = taken;
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
        stats
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
        let taken = std::mem::take(&mut self.taken);
        let (mut kept, mut demoted, mut rotated) = (0u64, 0u64, 0u64);
        for &folio in &taken {
            if mem.frames.has(folio, flag::MLOCKED) {
                continue;
            }
            if leaves_young && mem.frames.has(folio, flag::SWAPBACKED) {
                mem.frames.clear(folio, flag::REFERENCED);
            } else {
                let r = mem.references(folio, limit);
                if r.count > 0 || r.locked {
                    let keep = r.exec && mem.frames.is_file_lru(folio);
                    rotated += u64::from(keep || self.config.demoted_young_counts_as_rotated());
                    if keep {
                        kept += 1;
                        continue;
                    }
                }
            }
            demoted += 1;
            mem.frames.clear(folio, flag::ACTIVE);
            mem.frames.set(folio, flag::WORKINGSET);
            mem.emit(|| TraceEvent::SimDeactivate { pfn: folio });
        }
        for &folio in &taken {
            self.add_head_of(mem, lv, folio);
        }
        self.taken = taken;
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
    let file = mem.frames.is_file_lru(folio);
    if r.locked {
        return if locked_activates { Judgement::Locked } else { Judgement::Reclaim };
    }
    decide(r, before, file, mem, folio, rule)
}

#[inline]
fn decide(
    r: References,
    before: bool,
    file: bool,
    mem: &mut Memory,
    folio: FolioId,
    rule: AnonRefRule,
) -> Judgement {
    if r.count == 0 {
        return if before && file { Judgement::ReclaimClean } else { Judgement::Reclaim };
    }
    match rule {
        AnonRefRule::OneTouch if !file => Judgement::Activate,
        AnonRefRule::TwoTouchV1 if !file => {
            if before {
                Judgement::Activate
            } else {
                mem.frames.set(folio, flag::REFERENCED);
                Judgement::Keep
            }
        }
        _ => {
            mem.frames.set(folio, flag::REFERENCED);
            if before || r.count > 1 || file && r.exec {
                Judgement::Activate
            } else {
                Judgement::Keep
            }
        }
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
