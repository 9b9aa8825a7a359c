//! The scanner for targets: free pages, taken out of the allocator a block at a time.
//!
//! It runs only when a page is to be moved and no target is at hand, and stops when there are as
//! many targets as pages in the batch. The kernel's goes down by pageblocks, and up within one, to
//! the pageblock after that of the scanner for sources: if it would have to go below that, the
//! scanners have met. The sweep goes up and around, passes over the pageblock that sources are
//! taken from, and marks those that it filled, so that the other scanner leaves them alone.
//!
//! Source: Linux 4.1 mm/compaction.c (`isolate_freepages`, `isolate_freepages_block`,
//! `suitable_migration_target`). Deviation: the sweep as posted goes around for ever when there
//! is nothing to find; here it does so once a call.

use super::CompactControl;
use crate::config::{CachedAlways, CachedPfn, SpareFree, TargetTypes};
use mmsim_core::base::id::Pfn;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::phys::targets::Wanted;
use mmsim_core::phys::watermarks::Mark;

impl CompactControl<'_> {
    /// Takes free blocks until there are as many frames as `wanted` (`isolate_freepages`).
    pub(crate) fn isolate_targets(&mut self, wanted: usize) {
        if self.rules.whole_zone_sweep {
            self.sweep_targets(wanted);
        } else {
            self.descend_targets(wanted);
        }
    }

    fn descend_targets(&mut self, wanted: usize) {
        let size = 1u32 << self.zone.pageblock_order;
        let mut start = self.free_pfn / size * size;
        let mut from = self.free_pfn;
        let low = (self.migrate_pfn + 1).next_multiple_of(size);
        while start >= low && self.targets.len() < wanted {
            let end = (start + size).min(self.zone.end);
            if start < end && self.is_target(start) && !self.is_skipped(start) {
                let stop = self.isolate_targets_of(from, end, wanted);
                self.free_pfn = if stop < end { stop } else { start - size };
            }
            start -= size;
            from = start;
        }
        if start < low {
            // The next test is to find that the scanners met.
            self.free_pfn = self.migrate_pfn;
        }
    }

    fn sweep_targets(&mut self, wanted: usize) {
        let size = 1u32 << self.zone.pageblock_order;
        let source = self.migrate_pfn / size * size;
        let (first, zone_end) = (self.zone.first, self.zone.end);
        let mut around = false;
        while self.targets.len() < wanted {
            if self.free_pfn >= zone_end {
                (self.free_pfn, self.zone.cached_free) = (first, first);
                if around || !self.targets.is_empty() {
                    return;
                }
                around = true;
            }
            let from = self.free_pfn;
            let start = from / size * size;
            let end = (start + size).min(zone_end);
            self.free_pfn = end;
            let skipped = self.rules.two_skip_bits && self.is_skipped(start);
            if start != source && self.is_target(start) && !skipped {
                self.free_pfn = self.isolate_targets_of(from, end, wanted);
            }
        }
    }

    fn is_skipped(&mut self, pfn: u32) -> bool {
        !self.ignore_skip && *self.zone.skip_mut(pfn, true)
    }

    /// True if pages may move into a pageblock (`suitable_migration_target`).
    fn is_target(&self, start: u32) -> bool {
        let buddy = self.mem.zones[self.req.zone].buddy();
        let order = if buddy.untouched().contains(&start) {
            // Its first frame is that of a free block only at a multiple of the largest.
            let max = buddy.rules().max_order;
            start.is_multiple_of(1 << max).then_some(max)
        } else {
            self.mem.frames.free_head(Pfn(start)).map(|h| h.0)
        };
        if order.is_some_and(|k| k >= self.zone.pageblock_order) {
            return false;
        }
        let any = match self.rules.target_types {
            TargetTypes::Movable => false,
            TargetTypes::Any => true,
            TargetTypes::AnyWhenDepleted => {
                self.zone.depletion.scan_all_free && !self.asynchronous()
            }
        };
        let mt = buddy.block_type(Pfn(start));
        any || matches!(mt, Migratetype::Movable | Migratetype::Cma)
    }

    /// Takes free blocks of a pageblock from a frame on (`isolate_freepages_block`). Returns
    /// where it stopped.
    fn isolate_targets_of(&mut self, from: u32, end: u32, wanted: usize) -> u32 {
        let spared = match (self.rules.spare_free, self.req.order) {
            (SpareFree::Requested, Some(order)) => order,
            _ => u8::MAX,
        };
        let (mut at, mut frames) = (from, 0);
        if from.is_multiple_of(1 << self.zone.pageblock_order) {
            self.mem.prefetch_frames(from..end);
        }
        let before = self.targets.len();
        let (zone, mark) = (self.req.zone, Mark::Low);
        let asked = Wanted { below: spared, frames: wanted, mark };
        while at < end {
            let taken = self.mem.isolate_free_blocks(zone, at..end, asked, &mut self.targets);
            (at, frames) = (taken.stop, frames + taken.looked);
            if at >= end || self.targets.len() >= wanted {
                break;
            }
            // A block that takes more thought, or is to stay.
            let order = self.mem.frames.order(Pfn(at));
            frames += 1;
            if order >= spared || self.mem.isolate_free_block(zone, Pfn(at), mark).is_none() {
                at += 1;
                continue;
            }
            let block = at..at + (1 << order);
            at = block.end;
            self.targets.extend(block.map(Pfn));
            if self.targets.len() >= wanted {
                break;
            }
        }
        let taken = self.targets.len() - before;
        self.mem.charge_compaction_scan(true, frames.into());
        self.mem.count(VmEvent::CompactIsolated, taken as u64);
        if self.rules.whole_zone_sweep && taken > 0 && !self.ignore_skip {
            self.zone.note_filled(from);
        }
        if at >= end {
            self.note_target_end(from, end, taken == 0);
        }
        at.min(end)
    }

    /// A call that began at `from` reached the end of a pageblock; `nothing` was taken.
    fn note_target_end(&mut self, from: u32, end: u32, nothing: bool) {
        let always = match self.rules.cached_always {
            CachedAlways::Never => false,
            CachedAlways::Always => true,
            CachedAlways::Limited => self.limited,
        };
        let z = &mut *self.zone;
        if always {
            z.cached_free = z.cached_free.max(end);
        }
        let start = from >> z.pageblock_order << z.pageblock_order;
        if self.ignore_skip || !nothing || self.rules.skip_needs_full_block && from != start {
            return;
        }
        if self.rules.whole_zone_sweep {
            z.cached_free = z.cached_free.max(end);
            if self.rules.two_skip_bits {
                *z.skip_mut(from, true) = true;
            }
            return;
        }
        *z.skip_mut(from, true) = true;
        let pfn = match self.rules.cached_pfn {
            CachedPfn::FirstScanned => from,
            CachedPfn::PastBlock => start,
            CachedPfn::BlockEnd => end,
        };
        z.cached_free = z.cached_free.min(pfn);
    }
}
