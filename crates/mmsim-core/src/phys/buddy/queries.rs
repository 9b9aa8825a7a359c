//! Queries of free memory: counts, lists and blocks. Nothing here changes the allocator.

use super::{Buddy, Extfrag, FreeBlock};
use crate::base::id::Pfn;
use crate::base::migratetype::Migratetype;
use crate::base::rules::{End, KernelRules};
use crate::phys::frames::Frames;

impl Buddy {
    /// The rules that it follows.
    pub fn rules(&self) -> &KernelRules {
        &self.rules
    }
    /// Free pages, isolated ones not included.
    #[inline]
    pub fn nr_free(&self) -> u64 {
        self.free
    }
    /// Free pages on lists of one type.
    #[inline]
    pub fn nr_free_of(&self, mt: Migratetype) -> u64 {
        self.free_of[mt as usize]
    }
    /// Free blocks of an order and a type.
    pub fn nr_free_blocks(&self, order: u8, mt: Migratetype) -> u64 {
        let run = if order == self.rules.max_order && mt == Migratetype::Movable {
            u64::from(self.untouched.end - self.untouched.start) >> order
        } else {
            0
        };
        u64::from(self.lists.len(order, mt)) + run
    }
    /// Free blocks of an order, of all types but isolated ones.
    pub fn nr_free_blocks_of_order(&self, order: u8) -> u64 {
        let kept = Migratetype::ALL.iter().filter(|&&mt| mt != Migratetype::Isolate);
        kept.map(|&mt| self.nr_free_blocks(order, mt)).sum()
    }
    /// True if a type has a free block of at least this order.
    #[inline]
    pub fn has_block(&self, order: u8, mt: Migratetype) -> bool {
        self.lists.nonempty(mt) >> order != 0
    }
    /// Fallbacks since the zone last took note.
    pub fn extfrag(&self) -> &[Extfrag] {
        &self.extfrag
    }
    /// Attempts to steal below pageblock order since the zone last took note.
    pub fn boosts(&self) -> u32 {
        self.boosts
    }
    /// Frames that were free at the start and have never been taken, in one run.
    pub fn untouched(&self) -> std::ops::Range<u32> {
        self.untouched.clone()
    }

    /// The free blocks of a list, from the head, the untouched run included.
    pub fn list(&self, order: u8, mt: Migratetype) -> impl Iterator<Item = Pfn> + '_ {
        let listed = self.lists.walk(order, mt);
        let of_run = order == self.rules.max_order && mt == Migratetype::Movable;
        let nr = if of_run { (self.untouched.end - self.untouched.start) >> order } else { 0 };
        listed.chain((0..nr).map(move |i| match self.rules.free_init {
            End::Tail => Pfn(self.untouched.start + (i << order)),
            End::Head => Pfn(self.untouched.end - ((i + 1) << order)),
        }))
    }

    /// The free blocks of a list below the largest order, from the tail.
    pub fn list_reversed(&self, order: u8, mt: Migratetype) -> impl Iterator<Item = Pfn> + '_ {
        debug_assert!(order < self.rules.max_order, "the untouched run is not listed");
        self.lists.walk(order, mt).rev()
    }

    /// The free block that a frame is in, if any.
    pub fn block_at(&self, frames: &Frames, pfn: Pfn) -> Option<FreeBlock> {
        if self.untouched.contains(&pfn.0) {
            let order = self.rules.max_order;
            let head = Pfn(pfn.0 >> order << order);
            return Some(FreeBlock { pfn: head, order, migratetype: Migratetype::Movable });
        }
        (0..=self.rules.max_order).find_map(|k| {
            let head = Pfn(pfn.0 >> k << k);
            let (order, migratetype) = frames.free_head(head)?;
            (order >= k).then_some(FreeBlock { pfn: head, order, migratetype })
        })
    }

    /// The free block that begins at a frame, if any.
    #[inline]
    pub fn block_from(&self, frames: &Frames, pfn: Pfn) -> Option<FreeBlock> {
        if self.untouched.contains(&pfn.0) {
            return self.block_at(frames, pfn).filter(|b| b.pfn == pfn);
        }
        let (order, migratetype) = frames.free_head(pfn)?;
        Some(FreeBlock { pfn, order, migratetype })
    }

    /// All free blocks by address.
    pub fn blocks<'a>(&'a self, frames: &'a Frames) -> impl Iterator<Item = FreeBlock> + 'a {
        let mut p = self.first;
        std::iter::from_fn(move || {
            while p < self.end {
                if let Some(b) = self.block_from(frames, Pfn(p)) {
                    p = b.pfn.0 + (1 << b.order);
                    return Some(b);
                }
                p += 1;
            }
            None
        })
    }
}
