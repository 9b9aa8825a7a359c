//! The scanner for sources: upwards, a pageblock at a time, or a group of the wanted order.
//!
//! Source: Linux 6.12 mm/compaction.c (`isolate_migratepages`, `isolate_migratepages_block`,
//! `suitable_migration_source`, `update_cached_migrate`).

use super::CompactControl;
use super::reset::is_huge_page;
use crate::config::{AsyncSources, SkipMark};
use mmsim_core::base::id::Pfn;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::phys::frames::{ORDER_MASK, flag};
use mmsim_core::phys::gfp::GfpFlags;
use mmsim_core::policy::compaction::MigrateMode;

/// Frames that are passed over together if none of them is a page of a list.
const PIECE: usize = 64;

impl CompactControl<'_> {
    /// Takes a batch of pages off their lists. False: none were found in the pageblock that was
    /// looked at, or there is none left.
    pub(super) fn isolate_sources(&mut self) -> bool {
        let mut low = self.find_source();
        let mut found = low != self.migrate_pfn && self.fast_fail == 0;
        let mut end = self.block_of(low) + self.size;
        while end <= self.free_pfn {
            let skipped = low.is_multiple_of(self.size)
                && !found
                && !self.ignore_skip
                && *self.with.zone.skip_mut(low, false);
            if !skipped {
                if self.is_source(low) {
                    self.isolate_sources_of(low, end);
                    break;
                }
                self.note_end(end);
            }
            found = false;
            (self.migrate_pfn, low) = (end, end);
            end += self.size;
        }
        !self.sources.is_empty()
    }

    /// An asynchronous run for a request takes only from pageblocks of its type; no run from one
    /// that is a huge page (`pageblock_skip_persistent`).
    fn is_source(&self, pfn: u32) -> bool {
        let start = Pfn(pfn & !(self.size - 1));
        if is_huge_page(self.with.mem, start, self.with.zone.pageblock_order) {
            return false;
        }
        if self.abandons().is_none() {
            return true;
        }
        let mt = self.with.mem.zones[self.with.req.zone].buddy().block_type(Pfn(pfn));
        match self.is_foreign() {
            true => mt == self.with.req.migratetype,
            false => matches!(mt, Migratetype::Movable | Migratetype::Cma),
        }
    }

    /// True if an asynchronous run leaves movable pageblocks alone, for the type of its request.
    pub(super) fn is_foreign(&self) -> bool {
        let large = self.with.rules.async_sources == AsyncSources::LargeFromMovable
            && self.with.req.order >= Some(self.with.zone.pageblock_order);
        self.with.req.migratetype != Migratetype::Movable && !large
    }

    /// Later runs begin behind the pageblock after this frame.
    fn note_end(&mut self, pfn: u32) {
        let sync = !self.asynchronous();
        let end = (pfn + 1).next_multiple_of(self.size);
        let cached = &mut self.with.zone.cached_migrate;
        cached[0] = cached[0].max(end);
        if sync {
            cached[1] = cached[1].max(end);
        }
    }

    /// True if a page of a list can be taken. Only a synchronous run takes dirty pages whose file
    /// system cannot migrate them (`ISOLATE_ASYNC_MIGRATE`).
    fn may_take(&self, page: Pfn) -> bool {
        let bits = self.with.mem.frames.bits(page);
        let mut stays = flag::IN_BATCH | ORDER_MASK;
        if !self.with.mem.given.vm.compact_unevictable_allowed {
            stays |= flag::UNEVICTABLE;
        }
        if self.with.req.mode != MigrateMode::Sync {
            stays |= flag::WRITEBACK;
        }
        // Files may need locks that a caller without file systems holds.
        let of_file = self.with.mem.frames.is_of_file(page) || bits & flag::SWAPCACHE != 0;
        let may = self.with.req.flags.has(GfpFlags::FS) || !of_file;
        let sync = self.with.req.mode == MigrateMode::Sync;
        let may = may && (sync || !self.with.mem.is_of_ramfs(page));
        bits & (flag::LRU | stays) == flag::LRU && may
    }

    /// Pieces of a pageblock from a frame on in which no page is on a list: how many frames that
    /// are, and how many of them count as looked at.
    fn without_pages(&self, from: u32, end: u32) -> (u32, u32) {
        let tails = self.with.rules.count_tails;
        let (mut passed, mut counted) = (0, 0);
        for piece in self.with.mem.frames.bits_of(from..end).chunks(PIECE) {
            let (mut pages, mut used) = (0u32, 0u32);
            for &b in piece {
                pages += u32::from(b & flag::LRU != 0);
                used += u32::from(b != 0);
            }
            if pages > 0 {
                break;
            }
            passed += piece.len() as u32;
            counted += if tails { piece.len() as u32 } else { used };
        }
        (passed, counted)
    }

    /// Looks at a pageblock from a frame on.
    fn isolate_sources_of(&mut self, from: u32, end: u32) {
        let with = &mut self.with;
        let (order, cycle) = (with.zone.pageblock_order, with.zone.cycle);
        with.moves.note_look(with.mem, from, order, cycle);
        let group = self.abandons();
        let (mut at, mut frames, mut taken) = (from, 0u32, 0u32);
        // Whether this call began with the pageblock, and whether its skip bit is decided.
        let (mut began, mut decided) = (false, false);
        let plain = group.is_none() && self.frames_are_alike(from);
        let mut group_end = group.map_or(end, |k| (from + 1).next_multiple_of(1 << k));
        while at < end {
            if let Some(k) = group.filter(|_| at >= group_end) {
                if taken > 0 {
                    break;
                }
                group_end = (at + 1).next_multiple_of(1 << k);
            }
            if !began && at.is_multiple_of(self.size) {
                if !self.ignore_skip && *self.with.zone.skip_mut(at, false) {
                    frames += 1;
                    at = end;
                    break;
                }
                began = true;
            }
            if plain && (at == from || at.is_multiple_of(PIECE as u32)) {
                let (passed, counted) = self.without_pages(at, end);
                at += passed;
                frames += counted;
                if at == end {
                    break;
                }
            }
            frames += 1;
            if let Some(order) = self.head_order(at) {
                let tails = (1 << order) - 1;
                frames += if self.with.rules.count_tails { tails } else { 0 };
                at += tails + 1;
                continue;
            }
            if !self.may_take(Pfn(at)) {
                if let Some(k) = group {
                    at = self.leave_group(k, at, &mut group_end, &mut taken);
                }
                at += 1;
                continue;
            }
            let decides = began && !decided;
            decided |= began;
            if decides && self.is_taken_by_others(from, at) {
                at = end;
                break;
            }
            let isolated = self.with.mem.isolate_to_migrate(self.with.lru, Pfn(at));
            debug_assert!(isolated, "pfn{at} is on a list");
            self.sources.push(Pfn(at));
            taken += 1;
            at += 1;
            if self.sources.len() >= self.with.rules.cluster_max as usize && !self.finish {
                break;
            }
        }
        if at >= end && (taken == 0 || self.finish) {
            *self.with.zone.skip_mut(from, false) |= began && !decided;
            self.note_end(end);
        }
        self.with.mem.charge_compaction_scan(false, frames.into());
        self.with.mem.count(VmEvent::CompactIsolated, taken.into());
        self.migrate_pfn = at.min(end);
    }

    /// True if the frames without flags of a pageblock are all alike, so that
    /// [`CompactControl::without_pages`] may pass over them.
    fn frames_are_alike(&self, from: u32) -> bool {
        let buddy = self.with.mem.zones[self.with.req.zone].buddy();
        let large = self.head_order(from).is_some_and(|k| k > self.with.zone.pageblock_order);
        let begins = self.with.mem.frames.bits(Pfn(from)) != 0 && !buddy.rules().pcp_orders;
        let alike = self.with.rules.count_tails || begins;
        alike && !large && !buddy.untouched().contains(&from) && self.targets.nr == 0
    }

    /// A block of a group that has a page at `at` that cannot be taken does not become free as a
    /// whole: puts back what was taken of it. Returns the last frame to pass over.
    fn leave_group(&mut self, k: u8, at: u32, group_end: &mut u32, taken: &mut u32) -> u32 {
        if std::mem::take(taken) > 0 {
            self.put_back_sources();
        }
        if at >= *group_end {
            return at;
        }
        *group_end += 1 << k;
        *group_end - (1 << k) - 1
    }

    /// Sets the skip bit of a pageblock with a page at `at` that can be taken. True if it was set, so
    /// that the rest of the pageblock is left to who set it.
    fn is_taken_by_others(&mut self, from: u32, at: u32) -> bool {
        if at != from && self.with.rules.skip_mark != SkipMark::FirstPage {
            return false;
        }
        let skip = self.with.zone.skip_mut(from, false);
        !self.ignore_skip && std::mem::replace(skip, true) && !self.finish
    }
}
