//! The scanner for targets: the free lists first, then frames, downwards by pageblocks.
//!
//! Source: Linux 6.12 mm/compaction.c (`isolate_freepages`, `isolate_freepages_block`,
//! `suitable_migration_target`, `compaction_alloc`, `release_free_list`).

use super::CompactControl;
use crate::config::{SpareFree, TargetHint};
use mmsim_core::base::id::Pfn;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::free_pages;
use mmsim_core::phys::watermarks::Mark;
use mmsim_core::policy::compaction::Compactor;
use std::collections::VecDeque;

/// The largest step of the search, in frames (`COMPACT_CLUSTER_MAX`).
fn largest_stride(cc: &CompactControl<'_>) -> u32 {
    cc.with.rules.cluster_max
}

/// Free frames at hand.
pub(super) struct Targets {
    /// By order, or all as single pages of which the last goes first.
    by_order: bool,
    lists: [VecDeque<Pfn>; 11],
    pub(super) nr: usize,
}

impl Targets {
    pub(super) fn new(by_order: bool) -> Self {
        Targets { by_order, lists: Default::default(), nr: 0 }
    }

    /// Adds a block.
    pub(super) fn add(&mut self, pfn: Pfn, order: u8) {
        self.nr += 1 << order;
        if self.by_order {
            self.lists[usize::from(order)].push_back(pfn);
        } else {
            self.lists[0].extend((pfn.0..pfn.0 + (1 << order)).map(Pfn));
        }
    }

    /// Takes a page.
    pub(super) fn take(&mut self) -> Option<Pfn> {
        let k = self.lists.iter().position(|l| !l.is_empty())?;
        self.nr -= 1;
        if !self.by_order {
            return self.lists[0].pop_back();
        }
        let pfn = self.lists[k].pop_front()?;
        for half in (0..k).rev() {
            self.lists[half].push_front(Pfn(pfn.0 + (1 << half)));
        }
        Some(pfn)
    }

    /// A page that was taken was not used.
    pub(super) fn give_back(&mut self, pfn: Pfn) {
        self.nr += 1;
        match self.by_order {
            true => self.lists[0].push_front(pfn),
            false => self.lists[0].push_back(pfn),
        }
    }

    /// Frees all that is left. Returns the highest.
    pub(super) fn release(&mut self, mem: &mut Memory) -> Option<u32> {
        let mut high = None;
        for (order, list) in self.lists.iter_mut().enumerate() {
            let mut free = |pfn: Pfn| {
                high = high.max(Some(pfn.0));
                for p in pfn.0..pfn.0 + (1 << order) {
                    mem.free_frame(Pfn(p));
                }
            };
            match self.by_order {
                true => list.drain(..).for_each(&mut free),
                false => list.drain(..).rev().for_each(&mut free),
            }
        }
        self.nr = 0;
        high
    }
}

impl CompactControl<'_> {
    /// Takes free blocks until there are as many frames as wanted.
    pub(super) fn isolate_targets(&mut self) {
        if self.with.rules.fast_search {
            self.fast_isolate_targets();
            if self.targets.nr > 0 {
                return;
            }
        }
        let size = self.size;
        let mut from = self.free_pfn;
        let mut start = self.block_of(from);
        let low = (self.migrate_pfn + 1).next_multiple_of(size);
        let largest = largest_stride(self);
        let strides = self.with.rules.free_stride;
        let mut stride = if strides && self.asynchronous() { largest } else { 1 };
        while start >= low {
            let end = (start + size).min(self.with.zone.end);
            if self.is_target(start) && !self.is_skipped(start) {
                let (stop, taken) = self.isolate_targets_of(from, end, stride);
                from = stop;
                if stop == end {
                    let below = self.with.rules.target_hint == TargetHint::Below;
                    let hint = if below { start - size } else { start };
                    let z = &mut *self.with.zone;
                    *z.skip_mut(start, true) = true;
                    z.cached_free = z.cached_free.min(hint);
                }
                if self.targets.nr >= self.wanted {
                    if stop >= end {
                        from = start - size;
                    }
                    break;
                } else if stop < end {
                    break;
                }
                stride = match taken {
                    0 if strides => (stride << 1).min(largest),
                    _ => 1,
                };
            }
            start -= size;
            from = start;
        }
        self.free_pfn = from;
    }

    pub(super) fn is_skipped(&mut self, pfn: u32) -> bool {
        !self.ignore_skip && *self.with.zone.skip_mut(pfn, true)
    }

    /// The order of the free block that begins at a frame.
    pub(super) fn head_order(&self, pfn: u32) -> Option<u8> {
        let buddy = self.with.mem.zones[self.with.req.zone].buddy();
        if buddy.untouched().contains(&pfn) {
            let max = buddy.rules().max_order;
            return pfn.is_multiple_of(1 << max).then_some(max);
        }
        self.with.mem.frames.free_head(Pfn(pfn)).map(|h| h.0)
    }

    /// True if pages may move into a pageblock.
    pub(super) fn is_target(&self, start: u32) -> bool {
        let pageblock = self.with.zone.pageblock_order;
        let large = match (self.with.rules.spare_free, self.with.req.order) {
            (SpareFree::RequestedFirst, Some(k)) if k > 0 => k,
            _ => pageblock,
        };
        if self.head_order(start).is_some_and(|k| k >= large) {
            return false;
        }
        let any = self.with.req.full && self.with.req.by == Compactor::Direct;
        let mt = self.with.mem.zones[self.with.req.zone].buddy().block_type(Pfn(start));
        any || matches!(mt, Migratetype::Movable | Migratetype::Cma)
    }

    /// Takes free blocks of a pageblock from a frame on, looking at every `stride`-th. Returns
    /// where it stopped and how many frames it took.
    pub(super) fn isolate_targets_of(&mut self, from: u32, end: u32, stride: u32) -> (u32, u32) {
        let (mut at, mut frames, mut taken) = (from, 0, 0);
        let zone = self.with.req.zone;
        while at < end {
            if stride == 1 {
                let bits = self.with.mem.frames.bits_of(at..end);
                let next = bits.iter().position(|&b| free_pages(b) > 0);
                let passed = next.map_or(end - at, |i| i as u32);
                frames += passed;
                at += passed;
                if at == end {
                    break;
                }
            }
            frames += 1;
            let Some(order) = self.with.mem.frames.free_head(Pfn(at)).map(|h| h.0) else {
                at += stride;
                continue;
            };
            if self.with.mem.isolate_free_block(zone, Pfn(at), Mark::Min).is_none() {
                break;
            }
            frames += (1 << order) - 1;
            taken += 1 << order;
            self.targets.add(Pfn(at), order);
            at += (1 << order) - 1;
            if self.targets.nr >= self.wanted {
                at += 1;
                break;
            }
            at += stride;
        }
        self.with.mem.charge_compaction_scan(true, frames.into());
        self.with.mem.count(VmEvent::CompactIsolated, taken.into());
        (at.min(end), taken)
    }
}
