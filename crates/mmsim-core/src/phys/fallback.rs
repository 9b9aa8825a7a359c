//! Fallback: when the lists of a request's own type are empty, another type gives.
//!
//! A request that takes a block of another type makes a pageblock of mixed mobility, and
//! one unmovable page is enough to keep 2 MiB from ever becoming one block. So the kernel
//! takes the largest block it can find, hoping for the pageblock with the most free pages,
//! and makes the whole pageblock its own if enough of it is free or of its kind. How far it
//! goes has changed twice: [`Fallback`] names the schemes.
//!
//! Each attempt below pageblock order raises the zone's watermarks for a while, so that
//! reclaim leaves more whole blocks; the zone does that when it takes note of the attempts.
//!
//! Source: Linux 4.1 and 6.1 mm/page_alloc.c (`__rmqueue_fallback`,
//! `steal_suitable_fallback`), 6.12 (`__rmqueue_claim`, `__rmqueue_steal`,
//! `try_to_steal_block`, `reserve_highatomic_pageblock`, `unreserve_highatomic_pageblock`).
//! Left out: 4.1's reserve of pageblocks.

use super::buddy::{Buddy, Extfrag, FreeBlock};
use super::frames::{FrameKind, Frames, flag, free_pages};
use crate::base::id::Pfn;
use crate::base::migratetype::Migratetype;
use crate::base::rules::Fallback;

/// Where a bulk of requests found pages last; the next one looks there first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// On the lists of the type itself.
    #[default]
    Normal,
    /// Stolen one by one: the search for better places failed already.
    Steal,
}

impl Buddy {
    /// Allocates a block (`__rmqueue`): from the type's own lists, for movable requests from
    /// contiguous memory areas, then from other types. `whole_blocks`: only whole pageblocks
    /// of other types (`ALLOC_NOFRAGMENT`).
    pub fn alloc(
        &mut self,
        frames: &mut Frames,
        order: u8,
        mt: Migratetype,
        whole_blocks: bool,
        mode: &mut Mode,
    ) -> Option<Pfn> {
        let whole = whole_blocks && order < self.rules.pageblock_order;
        if *mode == Mode::Normal {
            if let Some(p) = self.take_smallest(frames, order, mt) {
                return Some(p);
            }
            if mt == Migratetype::Movable
                && let Some(p) = self.take_smallest(frames, order, Migratetype::Cma)
            {
                return Some(p);
            }
            let found = match self.rules.fallback {
                Fallback::V4_1 => self.take_largest(frames, order, mt),
                Fallback::V4_12 => self.steal_and_split(frames, order, mt, whole),
                Fallback::ClaimSteal => self.claim(frames, order, mt, whole),
            };
            if found.is_some() || self.rules.fallback != Fallback::ClaimSteal {
                return found;
            }
        }
        if whole_blocks {
            return None;
        }
        let found = self.steal_one(frames, order, mt)?;
        *mode = Mode::Steal;
        Some(found)
    }

    /// Allocates up to `n` pages in the order in which the buddy gives them, makes them of a kind, and
    /// appends them to `out` (`rmqueue_bulk` of order 0).
    pub fn alloc_pages(
        &mut self,
        frames: &mut Frames,
        n: u32,
        mt: Migratetype,
        whole_blocks: bool,
        kind: FrameKind,
        out: &mut Vec<u32>,
    ) {
        let want = out.len() + n as usize;
        let mut mode = Mode::Normal;
        while out.len() < want {
            if mode == Mode::Normal {
                self.take_pages(frames, (want - out.len()) as u32, mt, kind, out);
                if out.len() == want {
                    return;
                }
            }
            match self.alloc(frames, 0, mt, whole_blocks, &mut mode) {
                Some(p) => {
                    frames.reset_block(p, kind, 0, mt);
                    out.push(p.0);
                }
                None => return,
            }
        }
    }

    /// The next type to fall back to that has a block of just this order.
    fn find_fallback(&self, order: u8, mt: Migratetype) -> Option<FreeBlock> {
        mt.fallbacks().iter().find_map(|&migratetype| {
            let pfn = Pfn(self.first_of(order, migratetype)?);
            Some(FreeBlock { pfn, order, migratetype })
        })
    }

    /// True if a request may take the rest of the pageblock as well, given the order of the block
    /// that was found. A movable page in a foreign pageblock can be moved away again, so it is not
    /// worth a pageblock unless the block is large.
    pub(crate) fn can_steal(&self, found: u8, mt: Migratetype) -> bool {
        found >= self.rules.pageblock_order / 2
            || matches!(mt, Migratetype::Unmovable | Migratetype::Reclaimable)
    }

    /// True if a request of this type would find a block of just this order by stealing
    /// (`find_suitable_fallback` with `only_stealable`).
    pub fn could_steal(&self, order: u8, mt: Migratetype) -> bool {
        self.can_steal(order, mt) && self.find_fallback(order, mt).is_some()
    }

    fn note(&mut self, pfn: u32, order: u8, mt: Migratetype, found: FreeBlock) {
        self.extfrag.push(Extfrag {
            pfn: Pfn(pfn),
            alloc_order: order,
            fallback_order: found.order,
            alloc_migratetype: mt,
            fallback_migratetype: found.migratetype,
            change_ownership: self.block_type(Pfn(pfn)) == mt,
            fragmenting: found.order < self.rules.pageblock_order,
        });
    }

    /// 4.1: takes the largest block and leaves what is left of it on the request's lists.
    fn take_largest(&mut self, frames: &mut Frames, order: u8, mt: Migratetype) -> Option<Pfn> {
        let found = (order..=self.rules.max_order).rev().find_map(|k| self.find_fallback(k, mt))?;
        let mut list = found.migratetype;
        if found.order >= self.rules.pageblock_order {
            self.set_block_range(found.pfn.0, found.order, mt);
        } else if self.can_steal(found.order, mt) {
            let moved = self.move_free_blocks(frames, found.pfn.0, mt);
            list = mt;
            if moved >= 1 << (self.rules.pageblock_order - 1) {
                self.set_block_type(found.pfn, mt);
            }
        }
        if list == mt {
            self.take_block(frames, FreeBlock { migratetype: mt, ..found });
        } else {
            self.take_first(frames, found.order, list);
        }
        self.expand(frames, found.pfn.0, found.order, order, mt);
        self.note(found.pfn.0, order, mt, found);
        Some(found.pfn)
    }

    /// 4.12 to 6.1: moves blocks to the request's lists and takes the smallest of them.
    fn steal_and_split(
        &mut self,
        frames: &mut Frames,
        order: u8,
        mt: Migratetype,
        whole: bool,
    ) -> Option<Pfn> {
        let least = if whole { self.rules.pageblock_order } else { order };
        let largest =
            (least..=self.rules.max_order).rev().find_map(|k| self.find_fallback(k, mt))?;
        let steals = self.can_steal(largest.order, mt);
        let found = if !steals && mt == Migratetype::Movable && largest.order > order {
            (order..=self.rules.max_order).find_map(|k| self.find_fallback(k, mt))?
        } else {
            largest
        };
        let own = self.block_type(found.pfn);
        if own == Migratetype::HighAtomic {
            self.move_first(frames, found, mt);
        } else if found.order >= self.rules.pageblock_order {
            self.set_block_range(found.pfn.0, found.order, mt);
            self.move_first(frames, found, mt);
        } else {
            self.boosts += 1;
            if self.can_steal(found.order, mt) {
                let (free, alike) = self.free_and_alike(frames, found.pfn, mt);
                self.move_free_blocks(frames, found.pfn.0, mt);
                if free + alike >= 1 << (self.rules.pageblock_order - 1) {
                    self.set_block_type(found.pfn, mt);
                }
            } else {
                self.move_first(frames, found, mt);
            }
        }
        self.note(found.pfn.0, order, mt, found);
        self.take_smallest(frames, order, mt)
    }

    /// Free pages of a pageblock, and pages in use that suit a request of this type.
    fn free_and_alike(&self, frames: &Frames, pfn: Pfn, mt: Migratetype) -> (u32, u32) {
        let (mut free, mut movable) = (0, 0);
        // Frames behind the first of a free block have no flags.
        for &bits in frames.bits_of(self.block_frames(pfn.0)) {
            free += free_pages(bits);
            movable += u32::from(bits & flag::LRU != 0);
        }
        let alike = match (mt, self.block_type(pfn)) {
            (Migratetype::Movable, _) => movable,
            // Everything there that cannot be moved is taken to be of the request's kind.
            (_, Migratetype::Movable) => (1 << self.rules.pageblock_order) - free - movable,
            _ => 0,
        };
        (free, alike)
    }

    /// 6.12: claims a whole pageblock, the one with the largest free block first.
    fn claim(
        &mut self,
        frames: &mut Frames,
        order: u8,
        mt: Migratetype,
        whole: bool,
    ) -> Option<Pfn> {
        let least = if whole { self.rules.pageblock_order } else { order };
        for k in (least..=self.rules.max_order).rev() {
            let Some(found) = self.find_fallback(k, mt) else { continue };
            if !self.can_steal(k, mt) {
                return None;
            }
            let own = self.block_type(found.pfn);
            if own == Migratetype::HighAtomic {
                continue;
            }
            if k >= self.rules.pageblock_order {
                self.take_first(frames, found.order, found.migratetype);
                self.set_block_range(found.pfn.0, k, mt);
                self.expand(frames, found.pfn.0, k, order, mt);
                self.note(found.pfn.0, order, mt, found);
                return Some(found.pfn);
            }
            self.boosts += 1;
            let (free, alike) = self.free_and_alike(frames, found.pfn, mt);
            if free + alike >= 1 << (self.rules.pageblock_order - 1) {
                self.move_free_blocks(frames, found.pfn.0, mt);
                self.set_block_type(found.pfn, mt);
                let p = self.take_smallest(frames, order, mt)?;
                self.note(p.0, order, mt, found);
                return Some(p);
            }
        }
        None
    }

    /// 6.12: takes one block and leaves the rest to its own type.
    fn steal_one(&mut self, frames: &mut Frames, order: u8, mt: Migratetype) -> Option<Pfn> {
        let found = (order..=self.rules.max_order).find_map(|k| self.find_fallback(k, mt))?;
        self.take_first(frames, found.order, found.migratetype);
        self.expand(frames, found.pfn.0, found.order, order, found.migratetype);
        self.note(found.pfn.0, order, mt, found);
        Some(found.pfn)
    }

    // ---- highatomic ----

    /// Keeps the pageblock of a block that a request without sleep got for requests like it,
    /// while no more than about 1 % of the zone's `managed` pages are kept.
    pub fn reserve_highatomic(&mut self, frames: &mut Frames, pfn: Pfn, order: u8, managed: u64) {
        let block = 1u64 << self.rules.pageblock_order;
        if !self.rules.highatomic || managed / 100 < block {
            return;
        }
        let most = (managed / 100).next_multiple_of(block);
        if self.nr_reserved_highatomic >= most || !self.block_type(pfn).mergeable() {
            return;
        }
        if order < self.rules.pageblock_order {
            self.move_free_blocks(frames, pfn.0, Migratetype::HighAtomic);
        }
        self.set_block_range(pfn.0, order, Migratetype::HighAtomic);
        self.nr_reserved_highatomic += block.max(1 << order);
    }

    /// Gives one reserved pageblock back to requests of type `to`; the last one only if
    /// `force`d. Whether there was one with free pages.
    pub fn unreserve_highatomic(
        &mut self,
        frames: &mut Frames,
        to: Migratetype,
        force: bool,
    ) -> bool {
        let block = 1u64 << self.rules.pageblock_order;
        if self.nr_reserved_highatomic == 0 || !force && self.nr_reserved_highatomic <= block {
            return false;
        }
        for order in 0..=self.rules.max_order {
            let Some(p) = self.first_of(order, Migratetype::HighAtomic) else { continue };
            if self.block_type(Pfn(p)) == Migratetype::HighAtomic {
                let size = block.max(1 << order);
                self.nr_reserved_highatomic -= size.min(self.nr_reserved_highatomic);
            }
            if order < self.rules.pageblock_order {
                self.move_free_blocks(frames, p, to);
                self.set_block_type(Pfn(p), to);
            } else {
                let migratetype = Migratetype::HighAtomic;
                self.move_first(frames, FreeBlock { pfn: Pfn(p), order, migratetype }, to);
                self.set_block_range(p, order, to);
            }
            return true;
        }
        false
    }

    /// Takes a free block for compaction, all of it (`__isolate_free_page`, without its
    /// watermark test, which is the zone's). A block of about a pageblock makes the
    /// pageblocks that it covers movable.
    pub fn isolate_block(&mut self, frames: &mut Frames, b: FreeBlock) {
        self.take_block(frames, b);
        if b.order + 1 >= self.rules.pageblock_order {
            let step = 1usize << self.rules.pageblock_order;
            for p in (b.pfn.0..b.pfn.0 + (1 << b.order)).step_by(step) {
                if self.block_type(Pfn(p)).mergeable() {
                    self.move_free_blocks(frames, p, Migratetype::Movable);
                    self.set_block_type(Pfn(p), Migratetype::Movable);
                }
            }
        }
    }
}
