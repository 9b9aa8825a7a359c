//! The doors of a scan: folios are taken off lists for a reclaimer, activated, deactivated.
//!
//! A policy says which folios, and for which request. What that counts, costs and reports happens
//! here and in `evict`, once for every policy:
//!
//! - taking folios to evict them counts `pgscan_*`, taking them off an active list `pgrefill`;
//! - evicting one counts `pgsteal_*` under the name of who asked;
//! - a batch that evicted anything ends with one flush of TLBs.
//!
//! Source: Linux 6.12 mm/vmscan.c (`isolate_lru_folios`, `scan_folios`, `shrink_inactive_list`,
//! `shrink_active_list`).

use super::{Memory, Run, Verdicts, each};
use crate::base::id::{ListId, MemcgId};
use crate::base::vmstat::VmEvent;
use crate::config::ZoneKind;
use crate::memory::trace::TraceEvent;
use crate::phys::frames::{FolioId, flag, pages_of};
use crate::policy::chooser::EvictAsk;
use crate::policy::request::{ReclaimRequest, Reclaimer};

/// Purpose of a scan that takes folios off lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanFor {
    /// To evict them.
    Eviction,
    /// To deactivate them.
    Deactivation,
}

/// A scan of lists of one group.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// Who asked, and for which zones.
    pub req: &'a ReclaimRequest,
    /// The group.
    pub memcg: MemcgId,
    /// The lists hold file memory, else anonymous memory.
    pub file: bool,
    /// Purpose of the folios.
    pub to: ScanFor,
    /// The list's name in events.
    pub lru: &'static str,
}

/// Results of a scan, in pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scanned {
    /// Looked at.
    pub looked: u64,
    /// Of these, taken to be evicted.
    pub taken: u64,
    /// Of these, moved to a younger list.
    pub refilled: u64,
}

/// The batch that a reclaimer is at, in pages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScanBatch {
    scanned: u64,
    reclaimed: u64,
}

/// Scans by kswapd, by others, by `memory.reclaim`, of anonymous pages, of file pages.
const SCANS: [VmEvent; 5] = {
    use VmEvent::{PgScanAnon, PgScanDirect, PgScanFile, PgScanKswapd, PgScanProactive};
    [PgScanKswapd, PgScanDirect, PgScanProactive, PgScanAnon, PgScanFile]
};

/// Steals likewise.
const STEALS: [VmEvent; 5] = {
    use VmEvent::{PgStealAnon, PgStealDirect, PgStealFile, PgStealKswapd, PgStealProactive};
    [PgStealKswapd, PgStealDirect, PgStealProactive, PgStealAnon, PgStealFile]
};

impl Memory {
    /// Takes a listed folio off its list to evict it.
    #[inline]
    pub fn isolate(&mut self, folio: FolioId, req: &ReclaimRequest) {
        self.lru_del(folio);
        let bits = self.frames.change(folio, 0, flag::ISOLATED);
        self.charge(self.given.cost.t_scan);
        let memcg = self.frames.memcg(folio);
        self.count_scan(req.by, memcg, bits & flag::SWAPBACKED == 0, pages_of(bits));
        self.note_balance(req.node);
    }

    /// Takes the folio at the tail of a list to evict it.
    #[inline]
    pub fn isolate_tail(&mut self, list: ListId, req: &ReclaimRequest) -> Option<FolioId> {
        let folio = self.lru.lists.tail(list)?;
        self.isolate(folio, req);
        Some(folio)
    }

    /// Takes folios of the zones asked for off the tail of a list, of `n` pages or one folio more,
    /// and appends them to a run, oldest first. Folios of other zones go to the head. Returns
    /// the pages taken.
    ///
    /// With `verdicts`, the accessed bits of plain folios are read; a caller that uses an answer
    /// says so by [`FastPath::asked`](super::FastPath::asked). Where other zones have folios on the
    /// list, none is taken for plain.
    pub fn isolate_batch(
        &mut self,
        scan: &Scan<'_>,
        list: ListId,
        n: u64,
        verdicts: Option<&Verdicts>,
        run: &mut Run,
    ) -> u64 {
        let (req, before) = (scan.req, run.len());
        let mut zones = self.zones.of_node(req.node).iter();
        let all = self.zones.lru_by_zone() || zones.all(|&z| req.wants(self.zones[z].kind));
        let (nr, skipped) = if all {
            (self.lru_isolate_asked(list, n, verdicts, run), 0)
        } else {
            self.isolate_eligible(req, list, n, run)
        };
        let cost = &self.given.cost;
        self.charge(cost.t_scan * (run.len() - before) as u64 + cost.t_rotate * skipped);
        // Folios that are passed over count as scanned (`isolate_lru_folios`).
        let looked = nr + skipped;
        let refilled = if scan.to == ScanFor::Deactivation { looked } else { 0 };
        self.account(scan, n, Scanned { looked, taken: nr, refilled }, looked);
        nr
    }

    /// Isolates folios of the zones asked for; the others go to the head. Returns the pages of both.
    fn isolate_eligible(
        &mut self,
        req: &ReclaimRequest,
        list: ListId,
        n: u64,
        run: &mut Run,
    ) -> (u64, u64) {
        let mut skipped = Vec::new();
        let (mut nr, mut passed_over) = (0, 0);
        while nr < n && self.lru.lists.len(list) > 0 {
            nr += self.lru_isolate_asked(list, n - nr, None, run);
            run.retain(|folio, bits| {
                let kind = self.zones[self.zones.of(folio)].kind;
                let wanted = req.wants(kind);
                if !wanted {
                    let pages = pages_of(bits);
                    self.count_skipped(kind, pages);
                    nr -= pages;
                    passed_over += pages;
                    skipped.push(folio);
                }
                wanted
            });
        }
        self.lru_add_heads(list, &skipped);
        (nr, passed_over)
    }

    /// Folios were passed over for their zone.
    pub fn count_skipped(&mut self, zone: ZoneKind, pages: u64) {
        let event = match zone {
            ZoneKind::Dma => VmEvent::PgSkipDma,
            ZoneKind::Dma32 => VmEvent::PgSkipDma32,
            ZoneKind::Normal => VmEvent::PgSkipNormal,
            ZoneKind::Movable => VmEvent::PgSkipMovable,
        };
        self.count(event, pages);
    }

    /// Ends a scan by a policy that looks at the folios of
    /// [`lru_sort_tail`](Memory::lru_sort_tail) itself: accounts for all that it met.
    /// `most`: how many it might have looked at.
    pub fn end_scan(&mut self, scan: &Scan<'_>, most: u64, met: Scanned) {
        self.charge(
            self.given.cost.t_scan * met.taken
                + self.given.cost.t_rotate * (met.looked - met.taken),
        );
        self.account(scan, most, met, met.taken);
    }

    /// Counts a scan for eviction by `pgscan_*`, and tells observers of any.
    fn account(&mut self, scan: &Scan<'_>, nr_requested: u64, met: Scanned, counted: u64) {
        let Scan { req: &ReclaimRequest { by, node, .. }, memcg, file, to, lru } = *scan;
        if to == ScanFor::Eviction {
            self.note_balance(node);
            self.stats.scan_batch.scanned += met.taken;
            self.count_reclaim(SCANS, by, memcg, file, counted);
        }
        self.count_for(by, memcg, VmEvent::PgRefill, met.refilled);
        let (nr_scanned, nr_taken) = (met.looked, met.taken);
        self.emit(|| TraceEvent::MmVmscanLruIsolate {
            node,
            memcg,
            lru,
            nr_requested,
            nr_scanned,
            nr_taken,
        });
    }

    /// Pages of a type were taken to be evicted.
    #[inline]
    fn count_scan(&mut self, by: Reclaimer, memcg: MemcgId, file: bool, n: u64) {
        self.stats.scan_batch.scanned += n;
        self.count_reclaim(SCANS, by, memcg, file, n);
    }

    /// Pages of a type were evicted.
    #[inline]
    pub(super) fn count_steal(&mut self, by: Reclaimer, memcg: MemcgId, file: bool, n: u64) {
        self.stats.scan_batch.reclaimed += n;
        self.count_reclaim(STEALS, by, memcg, file, n);
    }

    /// Reclaim of a group's pages of a type looked at some and kept them, where the kernel counts that.
    pub fn count_rotated(&mut self, memcg: MemcgId, file: bool, n: u64) {
        let event = if file { VmEvent::PgRotateFile } else { VmEvent::PgRotateAnon };
        self.count_in(memcg, event, if self.given.rules.counts_rotated { n } else { 0 });
    }

    #[inline]
    fn count_reclaim(
        &mut self,
        [of_kswapd, of_others, of_proactive, of_anon, of_file]: [VmEvent; 5],
        by: Reclaimer,
        memcg: MemcgId,
        file: bool,
        n: u64,
    ) {
        let event = match by {
            Reclaimer::Advice => return,
            Reclaimer::Kswapd => of_kswapd,
            Reclaimer::Proactive(_) if self.given.rules.counts_proactive => of_proactive,
            Reclaimer::Direct | Reclaimer::Limit(_) | Reclaimer::Proactive(_) => of_others,
        };
        self.count_for(by, memcg, event, n);
        self.count_in(memcg, if file { of_file } else { of_anon }, n);
    }

    /// Counts what a reclaimer does: for a limit in tables of groups only.
    #[inline]
    fn count_for(&mut self, by: Reclaimer, memcg: MemcgId, e: VmEvent, n: u64) {
        if self.given.rules.limits_count_globally || by.memcg().is_none() {
            return self.count_in(memcg, e, n);
        }
        self.memcgs.count(memcg, e, n);
        self.memcgs.count(MemcgId(0), e, n);
    }

    /// Ends a batch of one type. A policy with several batches in a step calls this after each;
    /// for others the end of the step is the end of the batch.
    pub fn end_batch(&mut self, req: &ReclaimRequest, file: bool) {
        let ScanBatch { scanned: nr_scanned, reclaimed: nr_reclaimed } = self.flush_batch();
        let (node, priority) = (req.node, req.priority);
        self.emit(|| TraceEvent::MmVmscanLruShrinkInactive {
            node,
            file,
            nr_scanned,
            nr_reclaimed,
            priority,
        });
        self.settle_kernel();
    }

    /// Ends a call of a chooser, whose folios were reclaimed.
    pub fn end_ask(&mut self, ask: &EvictAsk, nr_offered: u64, nr_reclaimed: u64) {
        self.flush_batch();
        let EvictAsk { memcg, node, wanted, .. } = *ask;
        self.emit(|| TraceEvent::MmCacheExtReclaim {
            node,
            memcg,
            nr_wanted: wanted.into(),
            nr_offered,
            nr_reclaimed,
        });
        self.settle_kernel();
    }

    /// A step of reclaim ends, and with it the batch that its policy has not ended.
    pub(crate) fn end_step(&mut self) {
        if self.flush_batch().scanned > 0 {
            self.settle_kernel();
        }
    }

    /// Flushes TLBs once for all unmaps of a batch (`try_to_unmap_flush`).
    fn flush_batch(&mut self) -> ScanBatch {
        let batch = std::mem::take(&mut self.stats.scan_batch);
        if batch.reclaimed > 0 {
            self.charge(self.given.cost.t_tlb_flush);
        }
        batch
    }

    /// A folio of a locked mapping is to go to a list of unevictable ones: its flags say so.
    #[inline]
    pub fn cull(&mut self, folio: FolioId) {
        if self.frames.bits(folio) & (flag::MLOCKED | flag::UNEVICTABLE) == flag::MLOCKED {
            let bits = self.frames.change(folio, flag::ACTIVE, flag::UNEVICTABLE);
            self.count(VmEvent::UnevictablePgsCulled, pages_of(bits));
        }
    }

    /// Activates a folio that is on no list.
    #[inline]
    pub fn activate(&mut self, folio: FolioId) {
        let pages = pages_of(self.frames.change(folio, 0, flag::ACTIVE));
        self.count_in(self.frames.memcg(folio), VmEvent::PgActivate, pages);
    }

    /// The same because it was used again (`folio_activate`).
    pub fn activate_used(&mut self, folio: FolioId) {
        self.activate(folio);
        self.emit(|| TraceEvent::MmLruActivate { pfn: folio });
    }

    /// The same of folios of the root group, of one page each. Their `ACTIVE` flags are for the policy
    /// to set, which knows what its list makes of them.
    pub fn activate_used_pages(&mut self, folios: &[FolioId]) {
        self.count(VmEvent::PgActivate, folios.len() as u64);
        if self.telling.tracer.on() {
            folios.iter().for_each(|&pfn| self.emit(|| TraceEvent::MmLruActivate { pfn }));
        }
    }

    /// Activates isolated folios of a group, each of one page, which get the flags `set` too.
    pub fn activate_batch(&mut self, memcg: MemcgId, run: &Run, these: u64, set: u32) {
        for i in each(these) {
            self.frames.store(run.folio(i), run.bits(i) | set | flag::ACTIVE);
        }
        self.count_in(memcg, VmEvent::PgActivate, these.count_ones().into());
    }

    /// Deactivates a folio that is on no list, on advice.
    pub fn deactivate(&mut self, folio: FolioId) {
        let bits = self.frames.change(folio, flag::ACTIVE | flag::REFERENCED, 0);
        self.count_in(self.frames.memcg(folio), VmEvent::PgDeactivate, pages_of(bits));
        self.emit(|| TraceEvent::SimDeactivate { pfn: folio });
    }

    /// Deactivates a folio of a scan, which loses the flags `clear` too and remembers that it was
    /// active. [`Memory::end_deactivation`] counts it.
    #[inline]
    pub fn demote(&mut self, folio: FolioId, clear: u32) {
        self.frames.change(folio, clear | flag::ACTIVE, flag::WORKINGSET);
        self.emit(|| TraceEvent::SimDeactivate { pfn: folio });
    }

    /// Ends a scan that deactivated folios: of `taken` pages `demoted`, while `active` folios
    /// stay.
    pub fn end_deactivation(&mut self, scan: &Scan<'_>, taken: u64, demoted: u64, active: u64) {
        self.count_in(scan.memcg, VmEvent::PgDeactivate, demoted);
        let (node, file, priority) = (scan.req.node, scan.file, scan.req.priority);
        self.emit(|| TraceEvent::MmVmscanLruShrinkActive {
            node,
            file,
            nr_taken: taken,
            nr_active: active,
            nr_deactivated: demoted,
            priority,
        });
    }
}
