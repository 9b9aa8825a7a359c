//! A survey of physical memory: what could still be made of it.
//!
//! A block of order k is 2^k frames at a multiple of 2^k. Compaction can empty such a group of
//! frames only if none of them is *pinned*, held by something that cannot be moved; a group
//! without a pinned frame is a *candidate*. How many candidates there are is the question that
//! published success rates are relative to, and it depends on nothing that compaction decides.
//!
//! Movable is here what belongs to a process or to the page cache, on an LRU list or on its way
//! to one: compaction drains LRU batches before it starts. All else that is allocated is
//! pinned: page tables, slab, the store of zram, blocks of workloads on behalf of the kernel.
//!
//! Source: Linux 6.12 mm/compaction.c (`isolate_migratepages_block`) for what can be moved.

use super::Memory;
use crate::base::id::{Pfn, ZoneId};
use crate::base::migratetype::Migratetype;
use crate::config::ZoneKind;
use crate::phys::frames::FrameKind;

/// Obstacle that a frame is to a user that wants it empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// It is free: in a free block or a per-CPU list.
    Free,
    /// It is in use, and its contents can be moved elsewhere.
    Movable,
    /// It is in use and stays where it is.
    Pinned,
}

/// Numbers of frames and blocks, in one zone or several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Survey {
    /// Free frames, those in per-CPU lists included.
    pub free: u64,
    /// Frames whose contents can be moved.
    pub movable: u64,
    /// Frames in use that stay where they are.
    pub pinned: u64,
    /// Groups of the order without a pinned frame.
    pub candidates: u64,
    /// Of these, those that are all free.
    pub free_groups: u64,
    /// Most free groups that moving contents could make: see [`most_blocks`].
    pub bound: u64,
    /// Movable pageblocks without a pinned frame.
    pub pure_movable_blocks: u64,
    /// Movable pageblocks.
    pub movable_blocks: u64,
}

/// A pageblock: its type, and what its frames are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockUse {
    /// Type.
    pub migratetype: Migratetype,
    /// Free frames.
    pub free: u32,
    /// Frames whose contents can be moved.
    pub movable: u32,
    /// Frames in use that stay where they are.
    pub pinned: u32,
}

/// The most blocks of an order that moving contents inside a zone could make, nothing being
/// freed meanwhile: as many as there are candidates, but no more than the free frames fill.
///
/// It is reached if single frames can be moved anywhere: choose that many candidates, and move the
/// pages in them to free frames outside. These suffice: with f free frames and b blocks chosen, of
/// which x frames are free, `f - x` are free outside and `b * 2^k - x <= f - x` are to be moved.
///
/// Left out are watermarks, under which a zone does not give the last of its free frames; reclaim,
/// which makes free frames of movable ones (with all of them freed, `candidates` is the bound); and
/// pages that are pinned for a moment.
pub fn most_blocks(candidates: u64, free: u64, order: u8) -> u64 {
    candidates.min(free >> order)
}

impl Survey {
    fn add(&mut self, other: &Survey) {
        self.free += other.free;
        self.movable += other.movable;
        self.pinned += other.pinned;
        self.candidates += other.candidates;
        self.free_groups += other.free_groups;
        self.bound += other.bound;
        self.pure_movable_blocks += other.pure_movable_blocks;
        self.movable_blocks += other.movable_blocks;
    }
}

/// State of each frame of a zone, from its first frame on.
pub(crate) fn holds(mem: &Memory, z: ZoneId) -> Vec<Hold> {
    let zone = &mem.zones[z];
    let kernel = zone.first.0 + zone.reserved() as u32;
    let mut head = Hold::Pinned;
    let of = |p: u32| {
        let hold = match mem.frames.kind(Pfn(p)) {
            _ if p < kernel => Hold::Pinned,
            FrameKind::Tail => head,
            FrameKind::Free | FrameKind::Buddy | FrameKind::Pcp => Hold::Free,
            FrameKind::File if mem.is_of_ramfs(Pfn(p)) => Hold::Pinned,
            FrameKind::Anon | FrameKind::File | FrameKind::Shmem => Hold::Movable,
            FrameKind::PageTable
            | FrameKind::Slab
            | FrameKind::Kernel
            | FrameKind::KernelOther
            | FrameKind::HugeTlb
            | FrameKind::Fresh => Hold::Pinned,
        };
        head = hold;
        hold
    };
    (zone.first.0..zone.end().0).map(of).collect()
}

impl Memory {
    /// Surveys one zone for blocks of an order.
    pub fn survey_zone(&self, z: ZoneId, order: u8) -> Survey {
        let zone = &self.zones[z];
        let holds = holds(self, z);
        let count = |h: Hold| holds.iter().filter(|&&x| x == h).count() as u64;
        // Zones begin at a multiple of the largest block.
        let groups = || holds.chunks_exact(1 << order);
        let free = count(Hold::Free);
        let candidates = groups().filter(|g| !g.contains(&Hold::Pinned)).count() as u64;
        let mut found = Survey {
            free,
            movable: count(Hold::Movable),
            pinned: count(Hold::Pinned),
            candidates,
            free_groups: groups().filter(|g| g.iter().all(|&h| h == Hold::Free)).count() as u64,
            bound: most_blocks(candidates, free, order),
            ..Survey::default()
        };
        let block = 1 << zone.buddy().rules().pageblock_order;
        for ((_, mt), frames) in zone.buddy().pageblocks().zip(holds.chunks_exact(block)) {
            if mt == Migratetype::Movable {
                found.movable_blocks += 1;
                found.pure_movable_blocks += u64::from(!frames.contains(&Hold::Pinned));
            }
        }
        found
    }

    /// Use of the pageblocks of a zone, in address order; a part of one at the end too.
    pub fn block_uses(&self, z: ZoneId) -> Vec<BlockUse> {
        let zone = &self.zones[z];
        let holds = holds(self, z);
        let frames = holds.chunks(1 << zone.buddy().rules().pageblock_order);
        let of = |((_, migratetype), frames): ((Pfn, Migratetype), &[Hold])| {
            let count = |h: Hold| frames.iter().filter(|&&x| x == h).count() as u32;
            let (free, movable) = (count(Hold::Free), count(Hold::Movable));
            BlockUse { migratetype, free, movable, pinned: count(Hold::Pinned) }
        };
        zone.buddy().pageblocks().zip(frames).map(of).collect()
    }

    /// Surveys all zones up to a kind for blocks of an order.
    pub fn survey(&self, order: u8, highest: ZoneKind) -> Survey {
        let mut all = Survey::default();
        for z in self.zones.ids().filter(|&z| self.zones[z].kind <= highest) {
            all.add(&self.survey_zone(z, order));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every arrangement of six movable pages, free and pinned frames on three groups of four:
    /// the most groups that can be emptied, found by choosing each set of groups in turn.
    #[test]
    fn the_bound_is_what_trying_everything_finds() {
        for map in 0..3u32.pow(12) {
            let hold = |i: u32| {
                [Hold::Free, Hold::Movable, Hold::Pinned][(map / 3u32.pow(i) % 3) as usize]
            };
            let frames: Vec<Hold> = (0..12).map(hold).collect();
            let count = |f: &[Hold], h: Hold| f.iter().filter(|&&x| x == h).count();
            let groups: Vec<&[Hold]> = frames.chunks(4).collect();
            let possible = |set: u32| {
                let chosen = |i: usize| set >> i & 1 == 1;
                let (mut to_move, mut room) = (0, 0);
                for (i, g) in groups.iter().enumerate() {
                    match chosen(i) {
                        true if g.contains(&Hold::Pinned) => return false,
                        true => to_move += count(g, Hold::Movable),
                        false => room += count(g, Hold::Free),
                    }
                }
                to_move <= room
            };
            let best = (0..8).filter(|&s| possible(s)).map(u32::count_ones).max().unwrap_or(0);
            let candidates = groups.iter().filter(|g| !g.contains(&Hold::Pinned)).count();
            let free = count(&frames, Hold::Free);
            let bound = most_blocks(candidates as u64, free as u64, 2);
            assert_eq!(bound, u64::from(best), "{frames:?}");
        }
    }
}
