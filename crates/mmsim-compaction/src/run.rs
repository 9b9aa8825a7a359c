//! One run over a zone, and the strategy that makes it.
//!
//! A run takes a batch of pages off their lists, moves them, and asks whether a block can be had
//! now; until it can, or the scanners have been everywhere, or something else ends it. It is
//! asked once per batch, so a run may do more than needed by nearly a batch.
//!
//! Source: Linux 4.1 mm/compaction.c (`compact_zone`, `compaction_alloc`, `release_freepages`),
//! mm/migrate.c (`migrate_pages`). Left out: aborts by contention and by the scheduler, and the
//! test for too many isolated pages, since nobody else isolates while a run goes on.

use crate::config::{CompactionConfig, Deferral, Depletion, RequestModes, ScanLimit, Scanners};
use crate::deplete;
use crate::stats::{Moves, note_end};
use crate::suitable::suitable;
use crate::v6;
use crate::zone::{ZoneState, ZoneView};
use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{Pfn, ZoneId};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::Memory;
use mmsim_core::memory::trace::TraceEvent;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::policy::compaction::{
    CompactOutcome, CompactRequest, CompactResult, Compaction, CompactionStats, Compactor,
    MigrateMode,
};

/// Compaction by two scanners.
#[derive(Clone, Debug)]
pub struct TwoScanners {
    rules: CompactionConfig,
    zones: Vec<ZoneState>,
    stats: CompactionStats,
    moves: Moves,
}

impl TwoScanners {
    /// The strategy for a machine with the memory `mem`.
    pub fn new(rules: CompactionConfig, mem: &Memory) -> Self {
        let zones = mem.zones.ids().map(|z| ZoneState::new(&rules, &mem.zones[z])).collect();
        TwoScanners { rules, zones, stats: CompactionStats::default(), moves: Moves::default() }
    }

    /// What is remembered of a zone.
    pub fn zone(&self, zone: ZoneId) -> ZoneView {
        self.zones[usize::from(zone.0)].view()
    }

    /// Changes what is remembered of a zone's failures and successes: for tests, which begin in
    /// the middle of a history.
    pub fn set_history(
        &mut self,
        zone: ZoneId,
        failures: crate::defer::Failures,
        depletion: crate::deplete::Depletion,
    ) {
        let z = &mut self.zones[usize::from(zone.0)];
        (z.failures, z.depletion) = (failures, depletion);
    }

    fn reset(&mut self, mem: &Memory, zone: ZoneId) {
        let state = &mut self.zones[usize::from(zone.0)];
        let done = match self.rules.scanners {
            Scanners::V6 => v6::reset(state, mem, zone),
            Scanners::V4_1 => {
                state.reset(&self.rules);
                true
            }
        };
        self.stats.resets += u64::from(done);
    }

    /// What a run may look at; `None`: all.
    fn limit(&self, req: &CompactRequest) -> Option<u64> {
        let order = req.order?;
        let z = &self.zones[usize::from(req.zone.0)];
        let depth = match self.rules.deferral {
            Deferral::Limit if order >= z.failures.order_failed => z.failures.shift,
            Deferral::Limit => 0,
            _ => z.depletion.limiting_depth(),
        };
        deplete::limit(&self.rules, z.managed, 1 << z.pageblock_order, depth)
    }

    fn run(
        &mut self,
        mem: &mut Memory,
        lru: &mut dyn ReclaimPolicy,
        req: &CompactRequest,
    ) -> CompactOutcome {
        let ended = |result| CompactOutcome { result, captured: None };
        let result = self.suitable(mem, req);
        if result != CompactResult::Continue {
            return ended(result);
        }
        let z = usize::from(req.zone.0);
        let by_request = req.by == Compactor::Request;
        if let Some(order) = req.order
            && req.by != Compactor::Kswapd
            && self.zones[z].failures.restarting(&self.rules, order)
        {
            self.reset(mem, req.zone);
            self.zones[z].failures.restarted(&self.rules);
        } else if by_request && self.rules.scanners == Scanners::V4_1 {
            self.reset(mem, req.zone);
        }
        if self.rules.scanners == Scanners::V6 {
            let (rules, zone) = (&self.rules, &mut self.zones[z]);
            let moves = &mut self.moves;
            return v6::run(v6::Lent { rules, zone, moves, mem, lru, req });
        }
        let limit = self.limit(req);
        let asynchronous = req.mode == MigrateMode::Async;
        let only_sync = matches!(self.rules.scan_limit, ScanLimit::V1 | ScanLimit::V3);
        let zone = &mut self.zones[z];
        let swept = self.rules.whole_zone_sweep && zone.cached_migrate[0] >= zone.end;
        if asynchronous && (swept || only_sync && limit.is_some()) {
            return ended(CompactResult::Skipped);
        }
        mem.lru_drain(lru);
        let mut run = Run {
            rules: &self.rules,
            migrate_pfn: zone.cached_migrate[usize::from(!asynchronous)],
            free_pfn: zone.cached_free,
            zone,
            moves: &mut self.moves,
            mem,
            lru,
            req,
            sources: Vec::new(),
            targets: Vec::new(),
            limited: limit.is_some(),
            left: limit.map_or(i64::MAX, |n| n as i64),
            ignore_skip: req.full || by_request,
        };
        run.announce(None);
        let result = run.go();
        run.release();
        run.announce(Some(result));
        let zone = &mut self.zones[z];
        if self.rules.depletion != Depletion::Off {
            let threshold = zone.threshold(&self.rules);
            zone.depletion.run_ended(threshold);
        }
        ended(result)
    }
}

impl Compaction for TwoScanners {
    fn compact_zone(
        &mut self,
        mem: &mut Memory,
        lru: &mut dyn ReclaimPolicy,
        req: &CompactRequest,
    ) -> CompactOutcome {
        let outcome = self.run(mem, lru, req);
        note_end(&mut self.stats, req.mode, outcome.result);
        outcome
    }

    fn suitable(&self, mem: &Memory, req: &CompactRequest) -> CompactResult {
        suitable(&self.rules, &mem.zones[req.zone], req, mem.vm.extfrag_threshold)
    }

    fn mode_of(&self, asked: MigrateMode) -> MigrateMode {
        match self.rules.request_modes {
            RequestModes::AsyncFirst => asked,
            RequestModes::Sync => asked.max(MigrateMode::SyncLight),
        }
    }

    fn deferred(&mut self, zone: ZoneId, order: u8) -> bool {
        let refused = self.zones[usize::from(zone.0)].failures.deferred(&self.rules, order);
        self.stats.deferred += u64::from(refused);
        refused
    }

    fn note_failure(&mut self, zone: ZoneId, order: u8) {
        self.zones[usize::from(zone.0)].failures.note_failure(&self.rules, order);
    }

    fn note_success(&mut self, zone: ZoneId, order: u8, got_page: bool) {
        let z = &mut self.zones[usize::from(zone.0)];
        z.flush &= !got_page;
        z.failures.note_success(order, got_page);
    }

    fn kswapd_sleeps(&mut self, mem: &Memory, zone: ZoneId) {
        if self.zones[usize::from(zone.0)].flush {
            self.reset(mem, zone);
        }
    }

    fn stats(&self) -> CompactionStats {
        self.stats
    }

    fn check(&self, _mem: &Memory) {
        self.zones.iter().for_each(|z| z.check(&self.rules));
    }

    fn digest(&self, d: &mut Digest) {
        self.zones.iter().for_each(|z| z.digest(d));
    }
}

/// Tells observers that a run begins with its scanners at these frames (for sources and for
/// targets), or how it ended.
pub(crate) fn announce(
    mem: &mut Memory,
    req: &CompactRequest,
    (migrate_pfn, free_pfn): (Pfn, Pfn),
    ended: Option<CompactResult>,
) {
    let (zone, sync) = (req.zone, req.mode != MigrateMode::Async);
    mem.emit(|| match ended {
        None => TraceEvent::MmCompactionBegin { zone, migrate_pfn, free_pfn, sync },
        Some(status) => TraceEvent::MmCompactionEnd { zone, migrate_pfn, free_pfn, sync, status },
    });
}

/// Tells observers what became of a batch, given the count of moves before it.
pub(crate) fn announce_batch(mem: &mut Memory, batch: usize, before: u64) {
    let nr_migrated = mem.vmstat[VmEvent::PgMigrateSuccess] - before;
    let nr_failed = batch as u64 - nr_migrated;
    mem.emit(|| TraceEvent::MmCompactionMigratepages { nr_migrated, nr_failed });
}

/// A run under way (`struct compact_control`).
pub(crate) struct Run<'a> {
    pub(crate) rules: &'a CompactionConfig,
    pub(crate) zone: &'a mut ZoneState,
    pub(crate) moves: &'a mut Moves,
    pub(crate) mem: &'a mut Memory,
    pub(crate) lru: &'a mut dyn ReclaimPolicy,
    pub(crate) req: &'a CompactRequest,
    /// The next frame that is looked at for a source.
    pub(crate) migrate_pfn: u32,
    /// The next frame that is looked at for a target.
    pub(crate) free_pfn: u32,
    /// Pages off their lists; the last is moved first.
    pub(crate) sources: Vec<Pfn>,
    /// Free frames; the last is used first.
    pub(crate) targets: Vec<Pfn>,
    /// The run may not look at all of the zone.
    pub(crate) limited: bool,
    /// Frames that it may still look at for sources.
    pub(crate) left: i64,
    /// Skip bits are neither asked nor set.
    pub(crate) ignore_skip: bool,
}

impl Run<'_> {
    pub(crate) fn asynchronous(&self) -> bool {
        self.req.mode == MigrateMode::Async
    }

    /// Tells observers that the run begins, or how it ended.
    fn announce(&mut self, ended: Option<CompactResult>) {
        let at = (Pfn(self.migrate_pfn), Pfn(self.free_pfn));
        announce(self.mem, self.req, at, ended);
    }

    fn go(&mut self) -> CompactResult {
        // The lowest frame that may have been freed and not yet given to the buddy.
        let mut freed_from = None;
        loop {
            let result = self.finished();
            if result != CompactResult::Continue {
                return result;
            }
            let from = self.migrate_pfn;
            if self.isolate_sources() {
                if !self.migrate_batch() {
                    if self.rules.whole_zone_sweep {
                        return match self.rules.no_target_completes {
                            true => CompactResult::Complete,
                            false => CompactResult::Contended,
                        };
                    }
                    // Else the next test finds that the scanners met.
                    if self.free_pfn > self.migrate_pfn {
                        return CompactResult::Contended;
                    }
                }
                freed_from.get_or_insert(from);
            }
            // Blocks that the scanner left behind are whole once what was freed is in the buddy.
            let Some(order) = self.req.order.filter(|&k| k > 0) else { continue };
            if freed_from.is_some_and(|f| f < self.migrate_pfn >> order << order) {
                self.mem.lru_drain(self.lru);
                self.mem.drain_local_pages(self.req.zone);
                freed_from = None;
            }
        }
    }

    /// Moves the batch (`migrate_pages`). False: there are not enough targets.
    fn migrate_batch(&mut self) -> bool {
        let wanted = self.sources.len();
        let before = self.mem.vmstat[VmEvent::PgMigrateSuccess];
        let mut enough = true;
        self.mem.look_at_pages_of(self.sources.iter().copied());
        while let Some(&page) = self.sources.last() {
            if self.targets.is_empty() {
                self.isolate_targets(wanted);
            }
            if self.move_plain() {
                continue;
            }
            let Some(target) = self.targets.pop() else {
                enough = false;
                break;
            };
            self.sources.pop();
            let (order, cycle) = (self.zone.pageblock_order, self.zone.cycle);
            if self.mem.can_migrate(page) {
                self.moves.note(self.mem, [(page, target)], order, cycle);
            }
            if self.mem.migrate(self.lru, page, target).is_err() {
                self.targets.push(target);
                self.mem.put_back(self.lru, page);
            }
        }
        while let Some(page) = self.sources.pop() {
            self.mem.put_back(self.lru, page);
        }
        announce_batch(self.mem, wanted, before);
        enough
    }

    /// Moves the pages at hand that are as most are, together, as far as there are targets at hand.
    /// False: the next one is not, or there is no target.
    fn move_plain(&mut self) -> bool {
        let last = self.sources.len() - self.sources.len().min(self.targets.len());
        let n = self.mem.nr_plain_at_end(&self.sources[last..]);
        let sources = self.sources.len() - n..;
        let targets = self.targets.len() - n..;
        let (pages, to) = (&self.sources[sources.clone()], &self.targets[targets.clone()]);
        let (order, cycle) = (self.zone.pageblock_order, self.zone.cycle);
        let moves = pages.iter().zip(to).rev().map(|(&page, &target)| (page, target));
        self.moves.note(self.mem, moves, order, cycle);
        self.mem.migrate_plain(self.lru, pages, to);
        self.sources.truncate(sources.start);
        self.targets.truncate(targets.start);
        n > 0
    }

    /// Gives back the targets that were not needed. The scanner for targets looks there again.
    fn release(&mut self) {
        if self.targets.is_empty() {
            return;
        }
        let (mut low, mut high) = (u32::MAX, 0);
        while let Some(t) = self.targets.pop() {
            (low, high) = (low.min(t.0), high.max(t.0));
            self.mem.free_frame(t);
        }
        let z = &mut *self.zone;
        if self.rules.whole_zone_sweep {
            z.cached_free = z.cached_free.min(low);
        } else {
            z.cached_free = z.cached_free.max(high >> z.pageblock_order << z.pageblock_order);
        }
    }
}
