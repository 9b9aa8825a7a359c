//! Free blocks taken out of the allocator in a row, as places for pages that compaction moves.
//!
//! Where memory is fragmented, compaction takes hundreds of thousands of blocks of a page or two.
//! What is true of each of them (the order is small, the type an ordinary one, the zone stays above
//! its mark) is tested in one loop over the flags of a pageblock, and what is counted for each is
//! counted once. A block that is anything else ends the loop and is left to
//! [`Zone::isolate_free_block`], which says what taking a block means.

use super::buddy::Buddy;
use super::frames::{FrameKind, Frames, KIND_MASK, order_of, type_of_block};
use super::free_lists::Blocks;
use super::watermarks::Mark;
use super::zone::Zone;
use crate::base::id::Pfn;
use crate::base::migratetype::NR_PCPTYPES;
use std::ops::Range;

/// Which blocks are taken.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Those of a lower order than this.
    pub below: u8,
    /// Number of frames at which the loop ends.
    pub frames: usize,
    /// While the zone stays above this mark.
    pub mark: Mark,
}

/// Result of a loop over frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// The frame that it did not look at: one behind the frames that it was given, or behind a block
    /// that brought what is wanted, or the first of a block that it leaves to others.
    pub stop: u32,
    /// Frames that it looked at; those behind the first of a block that was taken do not count.
    pub looked: u32,
    /// Blocks that it took.
    pub blocks: u32,
}

impl Zone {
    /// Takes blocks that begin in a run of frames and appends their frames, as long as one is as
    /// most are: as that many calls of [`Zone::isolate_free_block`].
    pub fn isolate_free_blocks(
        &mut self,
        frames: &mut Frames,
        run: Range<u32>,
        wanted: Wanted,
        out: &mut Vec<Pfn>,
    ) -> Taken {
        let room = self.room_above(wanted.mark);
        let rules = self.buddy().rules();
        // Larger ones change the types of pageblocks, or are of the run that was never touched.
        let small = rules.pageblock_order.saturating_sub(1).min(rules.max_order);
        let wanted = Wanted { below: wanted.below.min(small), ..wanted };
        let taken = self.buddy.isolate_small(frames, run, wanted, room, out);
        self.settle();
        taken
    }
}

/// Frames whose free blocks are found before the first one is taken.
const PIECE: usize = 32;

impl Buddy {
    /// Takes blocks of ordinary types as long as `room` is more than the next one has pages.
    #[inline(never)] // The loop has all registers here.
    fn isolate_small(
        &mut self,
        frames: &mut Frames,
        run: Range<u32>,
        wanted: Wanted,
        mut room: i64,
        out: &mut Vec<Pfn>,
    ) -> Taken {
        let mut b = Blocks::of(frames);
        let Buddy { lists, free_of, .. } = self;
        let (mut at, end) = (run.start as usize, run.end as usize);
        let (before, mut blocks) = (out.len(), 0);
        'pieces: while at < end {
            let piece = &b.flags[at..end.min(at + PIECE)];
            // A block overwrites what a frame that begins none has written.
            let (mut places, mut nr) = ([0u8; PIECE], 0);
            for (place, &bits) in (0..).zip(piece) {
                places[nr % PIECE] = place;
                nr += usize::from(bits & KIND_MASK == FrameKind::Buddy as u32);
            }
            let (first, mut next) = (at, at + piece.len());
            for &place in &places[..nr] {
                at = first + usize::from(place);
                let bits = b.flags[at];
                let (order, mt) = (order_of(bits), type_of_block(bits));
                let pages = 1 << order;
                if order >= wanted.below || mt >= NR_PCPTYPES || room <= pages {
                    break 'pieces;
                }
                lists.unlink(&mut b, at as u32, order, mt);
                free_of[mt] -= pages as u64;
                room -= pages;
                blocks += 1;
                out.push(Pfn(at as u32));
                out.extend((at + 1..at + pages as usize).map(|p| Pfn(p as u32)));
                at += pages as usize;
                if out.len() >= wanted.frames {
                    break 'pieces;
                }
                next = next.max(at);
            }
            at = next;
        }
        let taken = (out.len() - before) as u32;
        self.free -= u64::from(taken);
        // Of each block one frame was looked at.
        let (stop, unseen) = (at as u32, taken - blocks);
        Taken { stop, looked: stop - run.start - unseen, blocks }
    }
}
