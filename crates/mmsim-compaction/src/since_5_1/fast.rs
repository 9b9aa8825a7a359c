//! Looks at the free lists before frames are looked at.
//!
//! A free page tells that its pageblock is worth a visit: as a target if it lies near the free
//! scanner, as a source if it lies near the other one, since then less has to be moved out. Each
//! look is short, the shorter the more of them failed, and turns the list, so that the next look
//! meets other pages.
//!
//! Source: Linux 6.12 mm/compaction.c (`fast_isolate_freepages`, `fast_isolate_around`,
//! `fast_find_migrateblock`, `next_search_order`, `freelist_scan_limit`).

use super::CompactControl;
use crate::config::TargetHint;
use mmsim_core::base::id::Pfn;
use mmsim_core::base::migratetype::Migratetype::Movable;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::phys::gfp::PAGE_ALLOC_COSTLY_ORDER;
use mmsim_core::phys::watermarks::Mark;

/// Where a search of free lists looks for targets.
struct Near {
    /// From here on a block is near enough.
    low: u32,
    /// Below here it is too far.
    min: u32,
    /// Number of blocks of a list that are looked at.
    limit: u32,
    /// Pageblock of the highest block that was met.
    highest: u32,
}

impl CompactControl<'_> {
    /// Free blocks that one look may ask.
    fn look_limit(&self) -> u32 {
        (self.with.rules.cluster_max >> self.fast_fail.min(31)) + 1
    }

    fn blocks_of(&self, order: u8) -> u64 {
        self.with.mem.zones[self.with.req.zone].buddy().nr_free_blocks_of_order(order)
    }

    /// The order to look at after this one; `None`: all were looked at.
    fn next_search_order(&mut self, order: i32, wanted: i32) -> Option<i32> {
        let next = if order == 0 { wanted - 1 } else { order - 1 };
        if next != self.search_order {
            return Some(next);
        }
        self.search_order -= 1;
        if self.search_order < 0 {
            self.search_order = wanted - 1;
        }
        None
    }

    /// Takes free blocks that the lists of movable pages name near the scanner.
    pub(super) fn fast_isolate_targets(&mut self) {
        let Some(wanted) = self.with.req.order.filter(|&k| k > 0).map(i32::from) else { return };
        if self.free_pfn < self.migrate_pfn {
            // The scanners met within this batch: nothing lies between them.
            return;
        }
        let z = self.with.req.zone;
        let first_look = self.free_pfn >= self.with.zone.init_free;
        let distance = self.free_pfn - self.migrate_pfn;
        let mut near = Near {
            low: self.block_of(self.free_pfn - (distance >> 2)),
            min: self.block_of(self.free_pfn - (distance >> 1)),
            limit: if first_look { self.size >> 1 } else { (self.look_limit() >> 1).max(1) },
            highest: 0,
        };
        self.search_order = self.search_order.min(wanted - 1);
        let (mut frames, mut taken) = (0u32, 0u32);
        let mut page = None;
        let mut order = Some(self.search_order);
        while let Some(k) = order.filter(|_| page.is_none()) {
            let mut next_from = k;
            if self.blocks_of(k as u8) > 0 {
                let asked;
                (page, asked) = self.look_near(k, &mut near);
                frames += asked;
                if let Some(p) = page {
                    if self.with.mem.isolate_free_block(z, p, Mark::Min).is_some() {
                        frames += (1 << k) - 1;
                        taken += 1 << k;
                        self.targets.add(p, k as u8);
                    } else {
                        next_from = self.search_order + 1;
                        page = None;
                    }
                }
                if self.targets.nr >= self.wanted {
                    break;
                }
                if asked >= near.limit {
                    near.limit = (near.limit >> 1).max(1);
                }
            }
            order = self.next_search_order(next_from, wanted);
        }
        let around = match page {
            Some(p) => Some(p.0),
            None => self.found_none_near(&near, first_look),
        };
        let cached = &mut self.with.zone.cached_free;
        if near.highest > 0 && near.highest >= *cached {
            *cached = near.highest.saturating_sub(self.size);
        }
        self.with.mem.charge_compaction_scan(true, frames.into());
        self.with.mem.count(VmEvent::CompactIsolated, taken.into());
        if let Some(p) = around {
            self.isolate_around(p);
        }
    }

    /// Looks through a list for a block that is near enough, or else for the best of those that are
    /// not too far. Returns it, and how many blocks were looked at.
    fn look_near(&mut self, k: i32, near: &mut Near) -> (Option<Pfn>, u32) {
        let z = self.with.req.zone;
        let (mut asked, mut high, mut page, mut at) = (0, 0, None, None);
        let buddy = self.with.mem.zones[z].buddy();
        for p in buddy.list_reversed(k as u8, Movable) {
            asked += 1;
            near.highest = if p.0 >= near.highest { self.block_of(p.0) } else { near.highest };
            if p.0 >= near.low {
                self.fast_fail = 0;
                self.search_order = k;
                (page, at) = (Some(p), Some(p));
                break;
            }
            if p.0 >= near.min && p.0 > high {
                high = p.0;
                near.limit >>= 1;
            }
            if asked >= near.limit {
                at = Some(p);
                break;
            }
        }
        if page.is_none() && high > 0 {
            (page, at) = (Some(Pfn(high)), Some(Pfn(high)));
        }
        if let Some(p) = at {
            self.with.mem.rotate_free_list(z, k as u8, Movable, p);
        }
        (page, asked)
    }

    /// No block is near: a scan that has just begun goes on below. Returns where to look around.
    fn found_none_near(&mut self, near: &Near, first_look: bool) -> Option<u32> {
        self.fast_fail += 1;
        if first_look && near.highest >= near.min && near.highest > 0 {
            self.free_pfn = near.highest;
            return Some(near.highest);
        }
        if first_look && self.direct() {
            let unasked = self.with.rules.target_hint == TargetHint::Scanned;
            self.free_pfn = near.min;
            return Some(near.min).filter(|&p| unasked || self.is_target(p));
        }
        None
    }

    /// Takes more from the pageblock of a page that was found.
    fn isolate_around(&mut self, pfn: u32) {
        let optimistic = self.direct() && self.asynchronous();
        if self.targets.nr >= self.wanted || optimistic {
            return;
        }
        let start = self.block_of(pfn).max(self.with.zone.first);
        let end = (start + self.size).min(self.with.zone.end);
        let (stop, _) = self.isolate_targets_of(start, end, 1);
        let used_up = match self.with.rules.target_hint {
            TargetHint::Scanned => self.targets.nr < self.wanted,
            TargetHint::Below => stop == end,
        };
        if used_up {
            *self.with.zone.skip_mut(start, true) = true;
        }
    }

    /// Where to look for sources next: a pageblock that has large free blocks already, if the
    /// request may have one to itself, else where the scanner is.
    pub(super) fn find_source(&mut self) -> u32 {
        let at = self.migrate_pfn;
        let inside = at != self.with.zone.first && !at.is_multiple_of(self.size);
        let foreign = self.direct() && self.is_foreign();
        let order = self.with.req.order.filter(|&k| k > PAGE_ALLOC_COSTLY_ORDER);
        let fast = self.with.rules.fast_search;
        let Some(order) = order.filter(|_| fast && !self.ignore_skip && !self.finish) else {
            return at;
        };
        if inside || foreign {
            return at;
        }
        let limit = self.look_limit();
        let mut distance = (self.free_pfn - at) >> 1;
        if at != self.with.zone.first {
            distance >>= 2;
        }
        let high = self.block_of(at + distance);
        let z = self.with.req.zone;
        let (mut frames, mut found) = (0, None);
        for k in (PAGE_ALLOC_COSTLY_ORDER..order).rev() {
            if found.is_some() || frames >= limit {
                break;
            }
            // The list goes on behind the block at which the look ends.
            let mut turn = None;
            let mem = &mut *self.with.mem;
            let mut list = mem.zones[z].buddy().list(k, Movable);
            while let Some(p) = list.next() {
                frames += 1;
                let over = frames > limit;
                if !over && (p.0 >= high || *self.with.zone.skip_mut(p.0, false)) {
                    continue;
                }
                found = if over { None } else { Some(p.0) };
                turn = list.next();
                break;
            }
            drop(list);
            if let Some(p) = turn {
                self.with.mem.rotate_free_list(z, k, Movable, p);
            }
        }
        self.with.mem.charge_compaction_scan(false, frames.into());
        if let Some(p) = found {
            self.fast_fail = 0;
            if self.with.rules.found_is_skipped {
                *self.with.zone.skip_mut(p, false) = true;
            }
            if !self.fast_start_used {
                self.fast_start = Some(self.fast_start.map_or(p, |f| f.min(p)));
            }
            return self.block_of(p).max(self.with.zone.first);
        }
        self.fast_fail += 1;
        if let Some(p) = self.fast_start.take() {
            self.fast_start_used = true;
            self.migrate_pfn = p;
        }
        self.migrate_pfn
    }
}
