//! One run as in kernels from 5.1 on.
//!
//! The shape is that of 4.1, two scanners that meet, with three ideas on top. *Look at the free
//! lists first*: a pageblock that has free pages is found there sooner than by looking at frames
//! (`fast`). *Do not do work by halves*: a run asks whether it is over only at ends of
//! pageblocks; an asynchronous one takes pages only where the whole wanted block may become free;
//! a pageblock that is visited twice in a row is emptied at once. *Take what was made*: the
//! request that pays for a run gets the block the moment it forms, before others see it.
//!
//! Source: Linux 6.12 mm/compaction.c (`compact_zone`, `__compact_finished`, `compaction_alloc`),
//! mm/page_alloc.c (`compaction_capture`). Left out: aborts by contention and by signals, and
//! that a proactive run stops for kswapd. A block can be captured that a per-CPU list held,
//! where no request saw it (watermarks ask for one that the buddy has), when the list is drained
//! behind a batch.

mod fast;
mod reset;
mod sources;
mod targets;

pub(crate) use reset::reset;
use targets::Targets;

use crate::config::{CaptureSeen, CompactionConfig, FinishPageblock, TargetOrder};
use crate::observe::{Moves, announce, announce_batch};
use crate::suitable::{has_block, makes_blocks};

use crate::zone::ZoneState;
use mmsim_core::base::compact_result::{CompactResult, NoBlock};
use mmsim_core::base::id::Pfn;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::Memory;
use mmsim_core::phys::buddy::Capture;
use mmsim_core::phys::fragmentation::FreeBlocks;
use mmsim_core::phys::watermarks::Mark;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::policy::compaction::{CompactOutcome, CompactRequest, Compactor, MigrateMode};

/// State of a run of a zone.
pub(crate) struct CompactContext<'a> {
    pub(crate) rules: &'a CompactionConfig,
    pub(crate) zone: &'a mut ZoneState,
    pub(crate) moves: &'a mut Moves,
    pub(crate) mem: &'a mut Memory,
    pub(crate) lru: &'a mut dyn ReclaimPolicy,
    pub(crate) req: &'a CompactRequest,
}

/// A run under way.
struct CompactControl<'a> {
    with: CompactContext<'a>,
    /// Frames of a pageblock.
    size: u32,
    migrate_pfn: u32,
    free_pfn: u32,
    /// Pages off their lists; the last is moved first.
    sources: Vec<Pfn>,
    targets: Targets,
    /// Targets that are wanted at once.
    wanted: usize,
    /// It began at the first pageblock of any use.
    whole_zone: bool,
    ignore_skip: bool,
    /// The last batch found too few targets.
    no_target: bool,
    /// All of the pageblock is to be taken.
    finish: bool,
    /// The order whose free list is looked at first for targets.
    search_order: i32,
    /// Looks at free lists in a row that found nothing.
    fast_fail: u32,
    /// The lowest frame that was found so, for a linear scan when nothing is found any more.
    fast_start: Option<u32>,
    fast_start_used: bool,
    captured: Option<Pfn>,
}

/// One run.
pub(crate) fn run(with: CompactContext<'_>) -> CompactOutcome {
    let (first, end) = (with.zone.first, with.zone.end);
    let size = 1u32 << with.zone.pageblock_order;
    let last = (end - 1) / size * size;
    let sync = with.req.mode != MigrateMode::Async;
    let whole = matches!(with.req.by, Compactor::Request | Compactor::Proactive);
    let mut whole_zone = whole || with.req.full;
    let (migrate_pfn, free_pfn) = if whole_zone {
        (first, last)
    } else {
        let z = &mut *with.zone;
        if z.cached_free < first || z.cached_free >= end {
            z.cached_free = last;
        }
        let at = z.cached_migrate[usize::from(sync)];
        let at = if at < first || at >= end { first } else { at };
        if at == first {
            z.cached_migrate.iter_mut().filter(|c| **c >= end).for_each(|c| *c = first);
        }
        whole_zone = z.init_migrate.is_some_and(|init| at <= init);
        (at, z.cached_free)
    };
    let sees_all = whole_zone || with.zone.sees_all_from(with.rules, migrate_pfn, free_pfn);
    with.mem.lru_drain(with.lru);
    let mut cc = CompactControl {
        size,
        migrate_pfn,
        free_pfn,
        sources: Vec::new(),
        targets: Targets::new(with.rules.target_order == TargetOrder::ByOrder),
        wanted: 0,
        whole_zone,
        ignore_skip: whole || with.req.full,
        no_target: false,
        finish: false,
        search_order: with.req.order.map_or(0, i32::from),
        fast_fail: 0,
        fast_start: None,
        fast_start_used: false,
        captured: None,
        with,
    };
    cc.announce(None);
    let ended = cc.go();
    cc.release();
    cc.announce(Some(cc.captured.map_or(ended, |_| CompactResult::Success)));
    let captured = cc.captured;
    let why = match ended {
        CompactResult::Success => NoBlock::Raced,
        _ if cc.no_target => NoBlock::NoSpace,
        CompactResult::Complete | CompactResult::PartialSkipped if sees_all => NoBlock::NotMovable,
        _ => NoBlock::GaveUp,
    };
    CompactOutcome { result: captured.map_or(ended, |_| CompactResult::Success), captured, why }
}

impl CompactControl<'_> {
    fn asynchronous(&self) -> bool {
        self.with.req.mode == MigrateMode::Async
    }

    fn direct(&self) -> bool {
        self.with.req.by == Compactor::Direct
    }

    /// Asynchronous, on behalf of a request: gives up what cannot become a whole block.
    fn abandons(&self) -> Option<u8> {
        let picky = self.with.rules.abandon_groups && self.direct() && self.asynchronous();
        self.with.req.order.filter(|_| picky)
    }

    fn announce(&mut self, ended: Option<CompactResult>) {
        let at = (Pfn(self.migrate_pfn), Pfn(self.free_pfn));
        announce(self.with.mem, self.with.req, at, ended);
    }

    fn block_of(&self, pfn: u32) -> u32 {
        pfn / self.size * self.size
    }

    fn met(&self) -> bool {
        self.free_pfn / self.size <= self.migrate_pfn / self.size
    }

    fn go(&mut self) -> CompactResult {
        let sync = !self.asynchronous();
        let cached = self.with.zone.cached_migrate;
        // Until pages are found both modes may go on from the same place.
        let mut together = !sync && cached[0] == cached[1];
        let mut last_migrated: Option<u32> = None;
        let rule = self.with.rules.finish_pageblock;
        let behind_drain = self.with.rules.capture_seen == CaptureSeen::BehindDrain;
        loop {
            let result = self.finished();
            if result != CompactResult::Continue {
                return result;
            }
            let from = self.migrate_pfn;
            // The kernel's mark for none is frame 0: from the first pageblock of memory on, all of a
            // pageblock is taken at once.
            let again = self.block_of(last_migrated.unwrap_or(0)) == self.block_of(from);
            self.finish = again && rule != FinishPageblock::Never;
            loop {
                if !self.isolate_sources() {
                    if together {
                        self.with.zone.cached_migrate[1] = self.with.zone.cached_migrate[0];
                    }
                    break;
                }
                together = false;
                last_migrated = Some(match rule {
                    FinishPageblock::Failed => self.block_of(self.migrate_pfn - 1),
                    FinishPageblock::Never | FinishPageblock::Revisited => from,
                });
                let (moved_all, enough) = self.migrate_batch();
                self.no_target = !enough;
                if !enough && !self.met() {
                    return CompactResult::Contended;
                }
                if !moved_all {
                    let order = self.with.req.order;
                    let inside = !self.migrate_pfn.is_multiple_of(self.size);
                    let failed = rule == FinishPageblock::Failed;
                    if failed && inside && !self.ignore_skip && !self.finish && self.light() {
                        self.finish = true;
                        if order == Some(self.with.zone.pageblock_order) {
                            last_migrated = None;
                        }
                        continue;
                    }
                    if !failed && let Some(k) = self.abandons() {
                        self.migrate_pfn = self.migrate_pfn.next_multiple_of(1 << k);
                        last_migrated = None;
                    }
                }
                if self.captured.is_some() && !behind_drain {
                    return CompactResult::Success;
                }
                break;
            }
            let Some(order) = self.with.req.order.filter(|&k| k > 0) else { continue };
            if last_migrated.is_some_and(|p| p < self.migrate_pfn >> order << order) {
                self.with.mem.lru_drain(self.with.lru);
                self.drain();
                last_migrated = None;
            }
            if self.captured.is_some() && behind_drain {
                return CompactResult::Success;
            }
        }
    }

    fn light(&self) -> bool {
        self.with.req.mode < MigrateMode::Sync
    }

    /// End of the run (`__compact_finished`).
    fn finished(&mut self) -> CompactResult {
        if self.met() {
            let direct = self.direct();
            let z = &mut *self.with.zone;
            z.start_anew(self.with.rules);
            z.flush |= direct;
            return match self.whole_zone {
                true => CompactResult::Complete,
                false => CompactResult::PartialSkipped,
            };
        }
        let zone = &self.with.mem.zones[self.with.req.zone];
        if self.with.req.by == Compactor::Proactive {
            let blocks = zone.free_blocks();
            let score =
                FreeBlocks { nr: &blocks }.extfrag_for_order(self.with.zone.pageblock_order);
            let [low, _] = self.with.mem.fragmentation_score_wmarks();
            return match score > low {
                true => CompactResult::Continue,
                false => CompactResult::Success,
            };
        }
        let req = self.with.req;
        let Some(order) = req.order else { return CompactResult::Continue };
        let at_end = self.migrate_pfn.is_multiple_of(self.size);
        let done = || match makes_blocks(&self.with.mem.given.vm, req) {
            true => zone.leaves_whole(order, Mark::High, req.highest),
            false => has_block(zone.buddy(), order, req.migratetype),
        };
        match at_end && done() {
            true => CompactResult::Success,
            false => CompactResult::Continue,
        }
    }

    /// Moves the batch. Whether all of it moved, and whether there were enough targets.
    fn migrate_batch(&mut self) -> (bool, bool) {
        let (mut all, mut enough) = (true, true);
        let batch = self.sources.len();
        let before = self.with.mem.stats.vmstat[VmEvent::PgMigrateSuccess];
        while let Some(&page) = self.sources.last() {
            let by_order = self.with.rules.target_order == TargetOrder::ByOrder;
            self.wanted = if by_order { self.sources.len() } else { batch };
            if self.targets.nr == 0 {
                self.isolate_targets();
            }
            let Some(target) = self.targets.take() else {
                self.with.mem.count(VmEvent::PgMigrateFail, 1);
                (all, enough) = (false, false);
                break;
            };
            self.sources.pop();
            let with = &mut self.with;
            let (order, cycle) = (with.zone.pageblock_order, with.zone.cycle);
            if with.mem.can_migrate(page) {
                with.moves.note(with.mem, [(page, target)], order, cycle);
            }
            if with.mem.migrate(with.lru, page, target).is_err() {
                self.targets.give_back(target);
                with.mem.put_back(with.lru, page);
                all = false;
            } else {
                self.capture(page);
            }
        }
        self.put_back_sources();
        announce_batch(self.with.mem, batch, before);
        (all, enough)
    }

    fn put_back_sources(&mut self) {
        while let Some(page) = self.sources.pop() {
            self.with.mem.put_back(self.with.lru, page);
        }
    }

    /// The block that is taken the moment it forms, if one is still wanted.
    fn wanted(&self) -> Option<Capture> {
        let req = self.with.req;
        let waits = self.with.rules.capture && self.captured.is_none();
        let order = req.captures.filter(|_| waits)?;
        Some(Capture { order, movable: req.migratetype == Migratetype::Movable })
    }

    /// Gives what waits in the CPU's list to the buddy.
    fn drain(&mut self) {
        let zone = self.with.req.zone;
        match self.wanted() {
            Some(wanted) => {
                self.captured = self.with.mem.drain_local_pages_capturing(zone, wanted);
            }
            None => self.with.mem.drain_local_pages(zone),
        }
    }

    /// A page left its frame: takes the block around it if that is what is wanted, and it did not
    /// stay in a per-CPU list.
    fn capture(&mut self, freed: Pfn) {
        let Some(wanted) = self.wanted() else { return };
        let zone = self.with.req.zone;
        let mt = self.with.mem.zones[zone].buddy().block_type(freed);
        let block = Pfn(freed.0 >> wanted.order << wanted.order);
        if wanted.takes(wanted.order, mt, self.with.zone.pageblock_order)
            && self.with.mem.capture_block(zone, block, wanted.order)
        {
            self.captured = Some(block);
        }
    }

    /// Gives back the targets that were not needed.
    fn release(&mut self) {
        let Some(high) = self.targets.release(self.with.mem) else { return };
        let z = &mut *self.with.zone;
        z.cached_free = z.cached_free.max(high / self.size * self.size);
    }
}
