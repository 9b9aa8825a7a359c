//! One run over a zone, as of 4.1 and of the series of 2015.
//!
//! A run takes a batch of pages off their lists, moves them, and checks if a block is free now;
//! until one is, or the scanners have been everywhere, or something else ends it. The check comes
//! once per batch, so a run may do more than needed by nearly a batch.
//!
//! Source: Linux 4.1 mm/compaction.c (`compact_zone`, `compaction_alloc`, `release_freepages`),
//! mm/migrate.c (`migrate_pages`). Left out: aborts by contention and by the scheduler, and the
//! test for too many isolated pages, since no other thread isolates while a run goes on.

mod finished;
mod free_scan;
mod migrate_scan;

use crate::config::CompactionConfig;
use crate::observe::{Moves, announce, announce_batch};
use crate::zone::ZoneState;
use mmsim_core::base::compact_result::{CompactResult, NoBlock};
use mmsim_core::base::id::Pfn;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::Memory;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::policy::compaction::{CompactRequest, MigrateMode};

/// A run under way (`struct compact_control`).
pub(crate) struct CompactControl<'a> {
    pub(crate) rules: &'a CompactionConfig,
    pub(crate) zone: &'a mut ZoneState,
    pub(crate) moves: &'a mut Moves,
    pub(crate) mem: &'a mut Memory,
    pub(crate) lru: &'a mut dyn ReclaimPolicy,
    pub(crate) req: &'a CompactRequest,
    /// Its scanners began at the ends of the zone.
    pub(crate) sees_all: bool,
    /// The last batch found too few targets.
    pub(crate) no_target: bool,
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

impl CompactControl<'_> {
    pub(crate) fn asynchronous(&self) -> bool {
        self.req.mode == MigrateMode::Async
    }

    /// Tells observers that the run begins, or how it ended.
    pub(crate) fn announce(&mut self, ended: Option<CompactResult>) {
        let at = (Pfn(self.migrate_pfn), Pfn(self.free_pfn));
        announce(self.mem, self.req, at, ended);
    }

    /// Why a run that ended so made no block that its caller finds.
    pub(crate) fn why(&self, ended: CompactResult) -> NoBlock {
        match ended {
            CompactResult::Success => NoBlock::Raced,
            _ if self.no_target => NoBlock::NoSpace,
            CompactResult::Complete if self.sees_all => NoBlock::NotMovable,
            _ => NoBlock::GaveUp,
        }
    }

    pub(crate) fn go(&mut self) -> CompactResult {
        // The lowest frame that may have been freed and not yet given to the buddy.
        let mut freed_from = None;
        loop {
            let result = self.finished();
            if result != CompactResult::Continue {
                return result;
            }
            let from = self.migrate_pfn;
            if self.isolate_sources() {
                self.no_target = !self.migrate_batch();
                if self.no_target {
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
        let before = self.mem.stats.vmstat[VmEvent::PgMigrateSuccess];
        let mut enough = true;
        self.mem.prefetch_pages_of(self.sources.iter().copied());
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
    pub(crate) fn release(&mut self) {
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
