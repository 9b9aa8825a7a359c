//! The invariants of free blocks: lists, counts and addresses say the same.

use super::Buddy;
use crate::base::id::Pfn;
use crate::base::migratetype::{Migratetype, NR_MIGRATETYPES};
use crate::phys::frames::{FrameKind, Frames};

impl Buddy {
    /// Checks all invariants of free blocks.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check(&self, frames: &Frames) {
        let mut free = 0;
        let mut free_of = [0u64; NR_MIGRATETYPES];
        for order in 0..=self.rules.max_order {
            for mt in Migratetype::ALL {
                let mut n = 0;
                for p in self.list(order, mt) {
                    n += 1;
                    assert!(p.0.is_multiple_of(1 << order), "{p}: no block of order {order}");
                    if !self.untouched.contains(&p.0) {
                        assert_eq!(frames.free_head(p), Some((order, mt)), "{p} is on a list");
                    }
                }
                assert!(self.lists.in_place(frames, order, mt), "places of order {order}, {mt:?}");
                assert_eq!(n, self.nr_free_blocks(order, mt), "length of order {order}, {mt:?}");
                assert_eq!(
                    self.has_block(order, mt),
                    (order..=self.rules.max_order).any(|k| { self.nr_free_blocks(k, mt) > 0 }),
                    "order {order}, {mt:?}"
                );
                free_of[mt as usize] += n << order;
                free += if mt == Migratetype::Isolate { 0 } else { n << order };
            }
        }
        assert_eq!(free, self.free, "free pages");
        assert_eq!(free_of[..], self.free_of[..NR_MIGRATETYPES], "free pages per type");
        self.check_blocks(frames);
    }

    fn check_blocks(&self, frames: &Frames) {
        let mut end = self.first;
        let mut listed = 0;
        for b in self.blocks(frames) {
            assert!(b.pfn.0 >= end, "{} overlaps the block before it", b.pfn);
            end = b.pfn.0 + (1 << b.order);
            listed += 1u64 << b.order;
            let inside = b.pfn.0 + 1..end;
            if !self.untouched.contains(&b.pfn.0) {
                inside.for_each(|p| {
                    assert_eq!(frames.kind(Pfn(p)), FrameKind::Free, "pfn{p} within {}", b.pfn);
                });
            }
            let buddy = Pfn(b.pfn.0 ^ 1 << b.order);
            // Within a pageblock free buddies always merge. Blocks of a pageblock and more may lie
            // side by side: one was isolated or reserved when the other was freed, and a type
            // that is changed afterwards merges nothing.
            let pair = b.order < self.rules.pageblock_order.min(self.rules.max_order)
                && frames.free_block_of(buddy, b.order).is_some();
            assert!(!pair, "{} and {buddy}: free buddies of order {}", b.pfn, b.order);
        }
        assert_eq!(listed, self.free_of.iter().sum::<u64>(), "free pages by address");
    }
}
