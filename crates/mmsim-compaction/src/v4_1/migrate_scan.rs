//! The scanner for sources: pages that can be moved, taken off their lists.
//!
//! It goes up. In the first pageblock that it may enter it takes what it can, and the batch is
//! moved before it goes on, whatever it took.
//!
//! Source: Linux 4.1 mm/compaction.c (`isolate_migratepages`, `isolate_migratepages_block`,
//! `update_pageblock_skip`).

use super::CompactControl;
use crate::config::{CachedAlways, CachedPfn};
use mmsim_core::base::id::Pfn;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::phys::frames::{ORDER_MASK, flag, free_pages};

/// True if a frame with these bits holds a page of a list, without any of the flags in `not`. The
/// first of a free block does not.
const fn is_page(bits: u32, not: u32) -> bool {
    bits & (flag::LRU | not) == flag::LRU
}

/// Results of a look at a part of a pageblock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Looked {
    /// Frames looked at; of a free block only its first.
    pub(crate) frames: u32,
    /// Where it stopped, as an offset, at most the end.
    pub(crate) stop: u32,
}

/// Looks at frames until `room` pages are found; these go to `found`, as offsets.
pub(crate) fn look_at(bits: &[u32], not: u32, room: usize, mut found: impl FnMut(u32)) -> Looked {
    let (mut at, mut frames, mut nr) = (0, 0, 0);
    while let Some(&b) = bits.get(at as usize) {
        frames += 1;
        if is_page(b, not) {
            found(at);
            at += 1;
            nr += 1;
            if nr == room {
                break;
            }
        } else {
            at += free_pages(b).max(1);
        }
    }
    Looked { frames, stop: at.min(bits.len() as u32) }
}

/// Frames of a piece that is passed over whole if it holds no page to take.
const PIECE: usize = 32;

/// The same where every frame without any flag is behind the first of a free block, but for those
/// before the first frame with flags: no target in it is at hand, no block on a per-CPU list. Pieces
/// without a page to take cost a comparison and an addition a frame, done several at a time.
pub(crate) fn look_at_pieces(
    bits: &[u32],
    not: u32,
    room: usize,
    mut found: impl FnMut(u32),
) -> Looked {
    let first = bits.iter().position(|&b| b != 0).unwrap_or(bits.len());
    let (mut at, mut frames, mut room) = (first, first as u32, room);
    let used = |piece: &[u32]| piece.iter().map(|&b| u32::from(b != 0)).sum::<u32>();
    for piece in bits[first..].chunks(PIECE) {
        if piece.iter().any(|&b| is_page(b, not)) {
            // A page overwrites what a frame that is none has written.
            let (mut places, mut nr) = ([0u8; PIECE], 0);
            for (place, &b) in (0..).zip(piece) {
                places[nr % PIECE] = place;
                nr += usize::from(is_page(b, not));
            }
            let taken = &places[..nr.min(room)];
            taken.iter().for_each(|&place| found((at + usize::from(place)) as u32));
            if taken.len() == room {
                let stop = usize::from(taken[room - 1]) + 1;
                let frames = frames + used(&piece[..stop]);
                return Looked { frames, stop: (at + stop) as u32 };
            }
            room -= nr;
        }
        (at, frames) = (at + piece.len(), frames + used(piece));
    }
    Looked { frames, stop: at as u32 }
}

impl CompactControl<'_> {
    /// Takes a batch of pages off their lists (`isolate_migratepages`). False: none were found
    /// in the pageblock that was looked at, or there is none left.
    pub(crate) fn isolate_sources(&mut self) -> bool {
        let size = 1 << self.zone.pageblock_order;
        let mut at = self.migrate_pfn;
        let mut end = (at + 1).next_multiple_of(size);
        let stop = if self.rules.whole_zone_sweep { self.zone.end } else { self.free_pfn };
        while end <= stop {
            if self.is_source(at) {
                at = self.isolate_sources_of(at, end);
                break;
            }
            at = end;
            end += size;
        }
        self.migrate_pfn = if end <= stop { at } else { stop };
        !self.sources.is_empty()
    }

    /// True if the pageblock of a frame may be entered.
    fn is_source(&mut self, pfn: u32) -> bool {
        if !self.ignore_skip && *self.zone.skip_mut(pfn, false) {
            return false;
        }
        let mt = self.mem.zones[self.req.zone].buddy().block_type(Pfn(pfn));
        !self.asynchronous() || matches!(mt, Migratetype::Movable | Migratetype::Cma)
    }

    /// Flags with which a page stays where it is.
    fn stays(&self) -> u32 {
        let unevictable =
            if self.mem.given.vm.compact_unevictable_allowed { 0 } else { flag::UNEVICTABLE };
        let writeback = if self.asynchronous() { flag::WRITEBACK } else { 0 };
        flag::IN_BATCH | ORDER_MASK | unevictable | writeback
    }

    /// Looks at a pageblock from a frame on (`isolate_migratepages_block`). Returns where it
    /// stopped.
    fn isolate_sources_of(&mut self, from: u32, end: u32) -> u32 {
        let (order, cycle) = (self.zone.pageblock_order, self.zone.cycle);
        self.moves.note_look(self.mem, from, order, cycle);
        let stays = self.stays();
        let room = self.rules.cluster_max as usize;
        let mut found = std::mem::take(&mut self.sources);
        let buddy = self.mem.zones[self.req.zone].buddy();
        let looked = if buddy.untouched().contains(&from) {
            // Its frames know nothing: free blocks of the largest order.
            let head = from.is_multiple_of(1 << buddy.rules().max_order);
            Looked { frames: if head { 1 } else { end - from }, stop: end - from }
        } else {
            let bits = self.mem.frames.bits_of(from..end);
            let own = |target: &Pfn| (from..end).contains(&target.0);
            let plain = !buddy.rules().pcp_orders && !self.targets.iter().any(own);
            let look = |i| found.push(Pfn(from + i));
            if plain {
                look_at_pieces(bits, stays, room, look)
            } else {
                look_at(bits, stays, room, look)
            }
        };
        self.mem.isolate_all_to_migrate(self.lru, &found);
        let taken = found.len();
        self.sources = found;
        let stop = from + looked.stop;
        self.left = self.left.saturating_sub(looked.frames.into());
        self.mem.charge_compaction_scan(false, looked.frames.into());
        self.mem.count(VmEvent::CompactIsolated, taken as u64);
        if taken > 0 && self.rules.two_skip_bits {
            *self.zone.skip_mut(from, true) = false;
        }
        if stop == end {
            self.note_source_end(from, end, taken == 0);
        }
        stop
    }

    /// A call that began at `from` reached the end of a pageblock; `nothing` was taken.
    fn note_source_end(&mut self, from: u32, end: u32, nothing: bool) {
        let sync = !self.asynchronous();
        let always = match self.rules.cached_always {
            CachedAlways::Never => false,
            CachedAlways::Always => true,
            CachedAlways::Limited => self.limited,
        };
        let z = &mut *self.zone;
        if always && sync {
            z.cached_migrate[1] = z.cached_migrate[1].max(end);
        }
        if always && self.rules.cached_always == CachedAlways::Limited {
            z.cached_migrate[0] = z.cached_migrate[0].max(end);
        }
        let whole = from.is_multiple_of(1 << z.pageblock_order);
        if self.ignore_skip || !nothing || self.rules.skip_needs_full_block && !whole {
            return;
        }
        *z.skip_mut(from, false) = true;
        let pfn = match self.rules.cached_pfn {
            CachedPfn::FirstScanned => from,
            CachedPfn::PastBlock | CachedPfn::BlockEnd => end,
        };
        let cached = if sync { &mut z.cached_migrate[..] } else { &mut z.cached_migrate[..1] };
        cached.iter_mut().for_each(|c| *c = (*c).max(pfn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::rng::Rng;

    /// Both ways of looking find the same, on random pageblocks of free blocks and pages, from
    /// every frame on.
    #[test]
    fn pieces_are_looked_at_as_frames_are() {
        let mut rng = Rng::for_purpose(1, "compaction/look");
        for round in 0..200 {
            let mut bits = vec![0u32; 256];
            let mut at = 0usize;
            while at < bits.len() {
                let order = at.trailing_zeros().min(5).min(rng.below(6) as u32);
                match rng.below(if round % 4 == 0 { 2 } else { 4 }) {
                    0 => {
                        bits[at] = 8 | order << 4;
                        at += 1 << order;
                        continue;
                    }
                    1 => bits[at] = 9,
                    2 => bits[at] = 2 | flag::LRU,
                    _ => bits[at] = 2 | flag::LRU | flag::IN_BATCH,
                }
                at += 1;
            }
            for from in 0..bits.len() {
                for room in [1, 4, 32] {
                    let (mut a, mut b) = (Vec::new(), Vec::new());
                    let by_frame = look_at(&bits[from..], flag::IN_BATCH, room, |i| a.push(i));
                    let pieces = look_at_pieces(&bits[from..], flag::IN_BATCH, room, |i| b.push(i));
                    assert_eq!((by_frame, a), (pieces, b), "from {from}, {room} pages");
                }
            }
        }
    }
}
