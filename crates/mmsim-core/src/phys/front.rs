//! The front of the page allocator: how pages leave a zone and come back.
//!
//! Single pages, and in later kernels small blocks and huge ones, go through the lists of the CPU
//! that asks: a batch comes from the buddy when the list is empty, and goes back when the lists
//! are full. Other blocks come from the buddy and go there. Most requests find a page on the list,
//! so there are fast paths ([`Zone::take_from_pcp`], [`Zone::put_to_pcp`]) that do nothing else and
//! say when they cannot.
//!
//! What changes free blocks ends with `settle`, which counts them and raises the watermarks if
//! a request had to take from another type. Pages on the lists of CPUs do not count as free, so the
//! fast paths have nothing to settle.
//!
//! Compaction asks not for some block but for the one at a place, and gives back what it did not
//! need.
//!
//! Sources: Linux 6.12 mm/page_alloc.c (`rmqueue`, `pcp_allowed_order`, `boost_watermark`,
//! `__isolate_free_page`, `__putback_isolated_page`, `compaction_capture`).

use super::buddy::{Capture, Extfrag};
use super::fallback::Mode;
use super::frames::{FrameKind, Frames};
use super::gfp::{AllocFlags, PAGE_ALLOC_COSTLY_ORDER};
use super::pcp::pcp_index;
use super::watermarks::Mark;
use super::zone::Zone;
use crate::base::id::{CpuId, Pfn};
use crate::base::migratetype::Migratetype;

impl Zone {
    // ---- taking ----

    /// The page at the head of a CPU's list, if it has one.
    #[inline(always)]
    pub(crate) fn take_from_pcp(&mut self, cpu: CpuId, mt: Migratetype) -> Option<Pfn> {
        self.pcp[cpu].take(pcp_index(0, mt), 0).map(Pfn)
    }

    /// The pages on a CPU's list that are at hand, the next to be taken last: some of the
    /// list, at least one if it has any.
    #[inline]
    pub fn stock(&self, cpu: CpuId, mt: Migratetype) -> &[u32] {
        self.pcp[cpu].stock(pcp_index(0, mt))
    }

    /// Takes the first `n` pages of [`Zone::stock`], as that many calls of [`Zone::take_from_pcp`].
    #[inline]
    pub(crate) fn take_stock(&mut self, cpu: CpuId, mt: Migratetype, n: usize) {
        self.pcp[cpu].take_stock(pcp_index(0, mt), n);
    }

    /// Takes a block through the CPU's lists if they hold such, else from the buddy (`rmqueue`).
    /// The frames are on no list then.
    pub fn take(
        &mut self,
        frames: &mut Frames,
        cpu: CpuId,
        order: u8,
        mt: Migratetype,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let from_buddy = self.buddy.rules().highatomic_from_buddy;
        let mut found = None;
        if self.pcp_allowed(order) {
            let index = pcp_index(order, mt);
            found = self.pcp[cpu].take(index, order).map(Pfn);
            if found.is_none() && !(flags.highatomic && from_buddy) {
                self.refill_pcp(frames, cpu, order, mt, flags);
                found = self.pcp[cpu].take(index, order).map(Pfn);
            }
        }
        let listed = found.is_some();
        found = found.or_else(|| self.take_from_buddy(frames, order, mt, flags));
        if flags.keeps_block
            && !(listed && from_buddy)
            && let Some(p) = found
        {
            self.buddy.reserve_highatomic(frames, p, order, self.managed.into());
        }
        self.settle();
        found
    }

    fn take_from_buddy(
        &mut self,
        frames: &mut Frames,
        order: u8,
        mt: Migratetype,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let b = &mut self.buddy;
        if flags.highatomic
            && let Some(p) = b.take_smallest(frames, order, Migratetype::HighAtomic)
        {
            return Some(p);
        }
        b.alloc(frames, order, mt, flags.nofragment, &mut Mode::Normal).or_else(|| {
            // Failing now is worse than failing one of higher order later.
            let last = flags.non_block.then_some(Migratetype::HighAtomic)?;
            b.take_smallest(frames, order, last)
        })
    }

    /// True if blocks of an order go through the per-CPU lists (`pcp_allowed_order`).
    #[inline]
    fn pcp_allowed(&self, order: u8) -> bool {
        let rules = self.buddy.rules();
        let small = order <= PAGE_ALLOC_COSTLY_ORDER || order == rules.pageblock_order;
        self.sizes.high > 0 && (order == 0 || rules.pcp_orders && small)
    }

    fn refill_pcp(
        &mut self,
        frames: &mut Frames,
        cpu: CpuId,
        order: u8,
        mt: Migratetype,
        flags: AllocFlags,
    ) {
        let (pcp, buddy) = (&mut self.pcp[cpu], &mut self.buddy);
        let n = pcp.nr_alloc(self.sizes, order);
        pcp.refill(pcp_index(order, mt), order, |out| {
            if order == 0 {
                return buddy.alloc_pages(frames, n, mt, flags.nofragment, FrameKind::Pcp, out);
            }
            let mut mode = Mode::Normal;
            let mut alloc = || buddy.alloc(frames, order, mt, flags.nofragment, &mut mode);
            out.extend((0..n).map_while(|_| alloc()).map(|p| p.0));
            out.iter().for_each(|&p| frames.reset_block(Pfn(p), FrameKind::Pcp, order, mt));
        });
    }

    // ---- giving ----

    /// Gives one page to the CPU's list, if it is of a movable pageblock, as most are, and that is
    /// all there is to do; else the page goes by [`Zone::put`].
    ///
    /// So the list is known before the page is: the processor goes on while it waits for both.
    #[inline(always)]
    pub(crate) fn put_to_pcp(&mut self, cpu: CpuId, pfn: Pfn) -> bool {
        const MOVABLE: usize = pcp_index(0, Migratetype::Movable);
        self.buddy.is_movable(pfn) && self.pcp[cpu].put_page(MOVABLE, pfn.0, &self.sizes)
    }

    /// Gives single pages back, one after the other, through the CPU's lists if there are such.
    pub(crate) fn put_many(
        &mut self,
        frames: &mut Frames,
        cpu: CpuId,
        pages: impl IntoIterator<Item = Pfn>,
    ) {
        let mut queued = std::mem::take(&mut self.scratch);
        queued.clear();
        if self.sizes.high == 0 {
            queued.extend(pages.into_iter().map(|p| p.0));
            self.buddy.free_pages(frames, &queued);
            self.settle();
        } else {
            let (flags, _) = frames.flags_and_rmap_mut();
            let mut movable = true;
            queued.extend(pages.into_iter().map(|p| {
                flags[p.0 as usize] = FrameKind::Pcp as u32;
                movable &= self.buddy.is_movable(p);
                p.0
            }));
            // Nearly always all of them are.
            let mut rest = &queued[..];
            while let Some(&first) = rest.first() {
                let mt =
                    if movable { Migratetype::Movable } else { self.buddy.block_type(Pfn(first)) };
                let nr = if movable { rest.len() } else { self.buddy.nr_of_type(rest, mt) };
                let (alike, others) = rest.split_at(nr);
                self.put_alike(frames, cpu, mt, alike);
                rest = others;
            }
        }
        self.scratch = queued;
    }

    /// Puts pages of pageblocks of one type to the CPU's list, draining it when it is full.
    fn put_alike(&mut self, frames: &mut Frames, cpu: CpuId, mt: Migratetype, pages: &[u32]) {
        let mut rest = pages;
        if mt != Migratetype::Isolate {
            let index = pcp_index(0, mt);
            while !rest.is_empty() {
                let pcp = &mut self.pcp[cpu];
                rest = &rest[pcp.put_pages(index, rest, self.sizes)..];
                let Some((&p, behind)) = rest.split_first() else { return };
                let n = pcp.put(index, 0, p, self.sizes);
                if n > 0 {
                    self.drain(frames, cpu, n, index);
                }
                rest = behind;
            }
        }
        if !rest.is_empty() {
            self.buddy.free_pages(frames, rest);
            self.settle();
        }
    }

    /// Gives pages of a full per-CPU list back to the buddy.
    #[inline(never)]
    pub fn drain(&mut self, frames: &mut Frames, cpu: CpuId, n: u32, index: usize) {
        let block = self.buddy.rules().pageblock_order;
        let buddy = &mut self.buddy;
        self.pcp[cpu].drain(n, index, block, |pages, order| match order {
            0 => buddy.free_pages(frames, pages),
            _ => pages.iter().for_each(|&p| buddy.free(frames, Pfn(p), order)),
        });
        self.settle();
    }

    /// Gives all pages of a CPU's lists back, but for the first block that is `wanted`.
    pub(crate) fn drain_capturing(
        &mut self,
        frames: &mut Frames,
        cpu: CpuId,
        wanted: Capture,
    ) -> Option<Pfn> {
        let block = self.buddy.rules().pageblock_order;
        let (buddy, mut captured) = (&mut self.buddy, None);
        self.pcp[cpu].drain(u32::MAX, 0, block, |pages, order| {
            for &p in pages {
                match captured {
                    None => captured = buddy.free_or_capture(frames, Pfn(p), order, wanted),
                    Some(_) => buddy.free(frames, Pfn(p), order),
                }
            }
        });
        self.settle();
        captured
    }

    /// Gives a block back, through the CPU's lists if they hold such.
    #[inline(never)]
    pub fn put(&mut self, frames: &mut Frames, cpu: CpuId, pfn: Pfn, order: u8) {
        let mt = self.buddy.block_type(pfn);
        if self.pcp_allowed(order) && mt != Migratetype::Isolate {
            if order == 0 {
                // As by the fast path, [`Zone::put_to_pcp`]: its flags do not say the type.
                frames.reset(pfn, FrameKind::Pcp);
            } else {
                for p in pfn.0..pfn.0 + (1 << order) {
                    frames.reset(Pfn(p), FrameKind::Free);
                }
                frames.reset_block(pfn, FrameKind::Pcp, order, mt);
            }
            let index = pcp_index(order, mt);
            let n = self.pcp[cpu].put(index, order, pfn.0, self.sizes);
            if n > 0 {
                self.drain(frames, cpu, n, index);
            }
            return;
        }
        self.buddy.free(frames, pfn, order);
        self.settle();
    }

    /// Gives the pages of all per-CPU lists back.
    pub fn drain_pcp(&mut self, frames: &mut Frames) {
        for cpu in self.pcp.ids() {
            self.drain(frames, cpu, u32::MAX, 0);
        }
    }

    /// Gives a frame that is on no list to the zone's own lists.
    pub fn give(&mut self, frames: &mut Frames, pfn: Pfn) {
        self.buddy.free(frames, pfn, 0);
        self.settle();
    }

    // ---- what is kept for requests that cannot sleep ----

    /// Gives a pageblock kept for requests that cannot sleep back to the others.
    pub fn unreserve_highatomic(
        &mut self,
        frames: &mut Frames,
        to: Migratetype,
        force: bool,
    ) -> bool {
        let done = self.buddy.unreserve_highatomic(frames, to, force);
        self.settle();
        done
    }

    // ---- blocks at a place, for compaction ----

    /// Takes the free block that begins at a frame out of the allocator, for compaction.
    /// `None`: there is none, or the zone would fall below `watermark` plus the block
    /// (`__isolate_free_page`; the mark is min in 6.x and low in 4.1).
    pub fn isolate_free_block(
        &mut self,
        frames: &mut Frames,
        pfn: Pfn,
        watermark: Mark,
    ) -> Option<u8> {
        let b = self.buddy.block_from(frames, pfn)?;
        if b.migratetype != Migratetype::Isolate && self.room_above(watermark) <= 1 << b.order {
            return None;
        }
        self.buddy.isolate_block(frames, b);
        self.settle();
        Some(b.order)
    }

    /// Takes a block of this order that begins at a frame, if all of it is free, and leaves the
    /// rest of a larger one free (`compaction_capture`).
    pub(crate) fn take_at(&mut self, frames: &mut Frames, pfn: Pfn, order: u8) -> bool {
        let Some(b) = self.buddy.block_at(frames, pfn).filter(|b| b.order >= order) else {
            return false;
        };
        self.buddy.take_block(frames, b);
        // The halves that it is not in, from the largest on.
        let mut at = b.pfn.0;
        for k in (order..b.order).rev() {
            let in_upper = pfn.0 & 1 << k != 0;
            let (keep, free) = if in_upper { (at + (1 << k), at) } else { (at, at + (1 << k)) };
            self.buddy.free(frames, Pfn(free), k);
            at = keep;
        }
        self.settle();
        true
    }

    /// Lets a free list begin with one of its blocks ([`Buddy::rotate_list`](super::buddy::Buddy::rotate_list)).
    pub(crate) fn rotate_list(
        &mut self,
        frames: &mut Frames,
        order: u8,
        mt: Migratetype,
        first: Pfn,
    ) {
        self.buddy.rotate_list(frames, order, mt, first);
    }

    // ---- what is noted ----

    /// Takes note of what the lists did: free pages, boosts.
    pub(super) fn settle(&mut self) {
        self.free = self.buddy.nr_free();
        self.free_highatomic = self.buddy.nr_free_of(Migratetype::HighAtomic);
        let attempts = std::mem::take(&mut self.buddy.boosts);
        if attempts > 0 && self.most_boost > 0 {
            let step = u64::from(attempts) << self.buddy.rules().pageblock_order;
            self.boost = (self.boost + step).min(self.most_boost);
            self.boosted = true;
        }
    }

    /// Fallbacks to other types since the last call.
    #[inline]
    pub(crate) fn take_extfrag(&mut self) -> Vec<Extfrag> {
        std::mem::take(&mut self.buddy.extfrag)
    }

    /// True if the watermarks were boosted since the last call.
    #[inline]
    pub(crate) fn take_boosted(&mut self) -> bool {
        std::mem::take(&mut self.boosted)
    }
}
