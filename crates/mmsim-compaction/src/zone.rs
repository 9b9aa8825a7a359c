//! State of a zone between runs: where the scanners stopped, which pageblocks are not worth a look,
//! how recent runs ended.
//!
//! All of it is of one cycle and goes with [`ZoneState::reset`], but for failures and depletion,
//! which the reset moves on.

use crate::config::{CompactionConfig, Depletion as DepletionRule, Scanners, UndoPrevention};
use crate::defer::Failures;
use crate::deplete::{self, Depletion};
use mmsim_core::base::digest::Digest;
use mmsim_core::phys::zone::Zone;

/// The state of one zone.
#[derive(Clone, Debug)]
pub(crate) struct ZoneState {
    /// First frame, and last plus one.
    pub(crate) first: u32,
    pub(crate) end: u32,
    pub(crate) managed: u64,
    pub(crate) pageblock_order: u8,
    /// Where asynchronous and other runs start to look for sources.
    pub(crate) cached_migrate: [u32; 2],
    /// Where runs start to look for targets.
    pub(crate) cached_free: u32,
    /// The first pageblock of any use, and where the search for targets began, at the last reset
    /// (6.x); none before the first.
    pub(crate) init_migrate: Option<u32>,
    pub(crate) init_free: u32,
    /// A run saw all of the zone since the last reset.
    pub(crate) flush: bool,
    /// Per pageblock: not worth a look for sources; for targets (the same bit unless there are two).
    pub(crate) skip: Vec<bool>,
    pub(crate) skip_free: Vec<bool>,
    /// Per pageblock: filled in this cycle, and no source in the next; empty if that is forgotten.
    pub(crate) filled: Vec<bool>,
    pub(crate) failures: Failures,
    pub(crate) depletion: Depletion,
    /// Resets so far: the number of the cycle.
    pub(crate) cycle: u32,
}

/// State of a zone, for tests and reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneView {
    /// Where asynchronous and other runs start to look for sources.
    pub cached_migrate: [u32; 2],
    /// Where runs start to look for targets.
    pub cached_free: u32,
    /// A run saw all of the zone since the last reset.
    pub blockskip_flush: bool,
    /// Skip bit per pageblock, of the scanner for sources.
    pub skip: Vec<bool>,
    /// The same of the scanner for targets.
    pub skip_free: Vec<bool>,
    /// Failures.
    pub failures: Failures,
    /// Depletion.
    pub depletion: Depletion,
}

impl ZoneState {
    pub(crate) fn new(rules: &CompactionConfig, zone: &Zone) -> Self {
        let order = zone.buddy().rules().pageblock_order;
        let blocks = zone.spanned.div_ceil(1 << order) as usize;
        let keeps = rules.undo_prevention == UndoPrevention::NextCycle;
        let mut state = ZoneState {
            first: zone.first.0,
            end: zone.end().0,
            managed: zone.managed.into(),
            pageblock_order: order,
            cached_migrate: [zone.first.0; 2],
            cached_free: zone.end().0,
            init_migrate: None,
            init_free: 0,
            flush: false,
            skip: vec![false; blocks],
            skip_free: vec![false; if rules.two_skip_bits { blocks } else { 0 }],
            filled: vec![false; if keeps { blocks } else { 0 }],
            failures: Failures::none(rules),
            depletion: Depletion::default(),
            cycle: 0,
        };
        state.start_anew(rules);
        state
    }

    /// Both scanners start from their ends again.
    pub(crate) fn start_anew(&mut self, rules: &CompactionConfig) {
        self.cached_migrate = [self.first; 2];
        let last = (self.end - 1) >> self.pageblock_order << self.pageblock_order;
        self.cached_free = match rules.scanners {
            Scanners::V6 => last,
            Scanners::V4_1 if rules.whole_zone_sweep => self.first,
            Scanners::V4_1 => self.end,
        };
    }

    /// True if scanners that begin here see all of the zone until they meet.
    pub(crate) fn sees_all_from(
        &self,
        rules: &CompactionConfig,
        sources: u32,
        targets: u32,
    ) -> bool {
        let last = (self.end - 1) >> self.pageblock_order << self.pageblock_order;
        sources <= self.first && (rules.whole_zone_sweep || targets >= last)
    }

    /// Forgets the learned state of the zone (`__reset_isolation_suitable`): a cycle ends.
    pub(crate) fn reset(&mut self, rules: &CompactionConfig) {
        self.start_anew(rules);
        self.flush = false;
        self.skip.fill(false);
        self.skip_free.fill(false);
        for (skip, filled) in self.skip.iter_mut().zip(&mut self.filled) {
            *skip = std::mem::take(filled);
        }
        if rules.depletion != DepletionRule::Off {
            self.depletion.cycle_ended(rules.depletion, self.threshold(rules));
        }
        self.failures.failed = 0;
        self.cycle += 1;
    }

    /// Successes that keep the zone from being depleted.
    pub(crate) fn threshold(&self, rules: &CompactionConfig) -> u64 {
        deplete::threshold(rules.deplete_threshold, self.managed, self.failures.order_failed)
    }

    /// The number of the pageblock of a frame.
    pub(crate) fn block(&self, pfn: u32) -> usize {
        ((pfn - self.first) >> self.pageblock_order) as usize
    }

    /// The skip bit of a frame's pageblock, as the scanner for sources or for targets sees it.
    pub(crate) fn skip_mut(&mut self, pfn: u32, targets: bool) -> &mut bool {
        let i = self.block(pfn);
        if targets && !self.skip_free.is_empty() {
            &mut self.skip_free[i]
        } else {
            &mut self.skip[i]
        }
    }

    /// The sweep put pages into the pageblock of a frame.
    pub(crate) fn note_filled(&mut self, pfn: u32) {
        *self.skip_mut(pfn, false) = true;
        let i = self.block(pfn);
        self.filled.get_mut(i).into_iter().for_each(|f| *f = true);
    }

    pub(crate) fn view(&self) -> ZoneView {
        ZoneView {
            cached_migrate: self.cached_migrate,
            cached_free: self.cached_free,
            blockskip_flush: self.flush,
            skip: self.skip.clone(),
            skip_free: self.skip_free.clone(),
            failures: self.failures,
            depletion: self.depletion,
        }
    }

    /// Panics if a position lies outside of the zone.
    pub(crate) fn check(&self, rules: &CompactionConfig) {
        for p in self.cached_migrate.into_iter().chain([self.cached_free]) {
            // From 5.1 on the end of the pageblock behind the last frame.
            let end = self.end + (2 << self.pageblock_order);
            assert!((self.first..=end).contains(&p), "pfn{p} is cached of another zone");
        }
        assert!(self.failures.shift <= rules.max_defer_shift, "{:?}", self.failures);
        assert!(self.depletion.depleted || self.depletion.limiting_depth() == 0);
    }

    pub(crate) fn digest(&self, d: &mut Digest) {
        d.words(self.cached_migrate.map(u64::from));
        d.words([self.cached_free.into(), self.flush.into()]);
        d.words([self.init_migrate.map_or(0, |p| u64::from(p) + 1), self.init_free.into()]);
        for bits in [&self.skip, &self.skip_free, &self.filled] {
            for chunk in bits.chunks(64) {
                d.word(chunk.iter().fold(0, |a, &b| a << 1 | u64::from(b)));
            }
        }
        let f = &self.failures;
        d.words([f.considered, f.shift.into(), f.order_failed.into(), f.failed.into()]);
        let p = &self.depletion;
        d.words([p.success.into(), p.depleted.into(), p.depth.into(), p.scan_all_free.into()]);
    }
}
