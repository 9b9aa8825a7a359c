//! The strategy: when a run is made, and by which kernel's scanners.

use crate::config::{CompactionConfig, Deferral, Depletion, RequestModes, ScanLimit, Scanners};
use crate::deplete;
use crate::observe::{Moves, note_end};
use crate::since_5_1;
use crate::suitable::suitable;
use crate::v4_1::CompactControl;
use crate::zone::{ZoneState, ZoneView};
use mmsim_core::base::compact_result::{CompactResult, NoBlock};
use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::ZoneId;
use mmsim_core::memory::Memory;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::policy::compaction::{
    CompactOutcome, CompactRequest, Compaction, CompactionStats, Compactor, MigrateMode,
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

    /// Remembered state of a zone.
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
            Scanners::V6 => since_5_1::reset(state, mem, zone),
            Scanners::V4_1 => {
                state.reset(&self.rules);
                true
            }
        };
        self.stats.resets += u64::from(done);
    }

    /// Number of frames that a run may look at; `None`: all.
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
        let ended = |result, why| CompactOutcome { result, captured: None, why };
        let result = self.suitable(mem, req);
        match result {
            CompactResult::Continue => {}
            CompactResult::Success => return ended(result, NoBlock::Raced),
            _ => return ended(result, NoBlock::NoSpace),
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
            return since_5_1::run(since_5_1::CompactContext { rules, zone, moves, mem, lru, req });
        }
        let limit = self.limit(req);
        let asynchronous = req.mode == MigrateMode::Async;
        let only_sync = matches!(self.rules.scan_limit, ScanLimit::V1 | ScanLimit::V3);
        let zone = &mut self.zones[z];
        let swept = self.rules.whole_zone_sweep && zone.cached_migrate[0] >= zone.end;
        if asynchronous && (swept || only_sync && limit.is_some()) {
            return ended(CompactResult::Skipped, NoBlock::GaveUp);
        }
        let sources = zone.cached_migrate[usize::from(!asynchronous)];
        let sees_all = zone.sees_all_from(&self.rules, sources, zone.cached_free);
        mem.lru_drain(lru);
        let mut cc = CompactControl {
            rules: &self.rules,
            sees_all,
            no_target: false,
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
        cc.announce(None);
        let result = cc.go();
        cc.release();
        cc.announce(Some(result));
        let why = cc.why(result);
        let zone = &mut self.zones[z];
        if self.rules.depletion != Depletion::Off {
            let threshold = zone.threshold(&self.rules);
            zone.depletion.run_ended(threshold);
        }
        ended(result, why)
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
        suitable(&self.rules, &mem.zones[req.zone], req, &mem.given.vm)
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
