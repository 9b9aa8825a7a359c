//! Free lists: which blocks are free, per order and migratetype, in the order in which they
//! are handed out.
//!
//! A list is a ring of blocks, and each block knows its place there: the reverse-map word of its
//! first frame, which a free frame does not use. So a block that is freed and taken again soon is
//! written once to the end of an array, and neighbours are not touched. A block that is taken out of
//! the middle leaves a gap behind. Gaps are passed over when the end comes there, and closed when the
//! ring is full.

use super::frames::{FrameKind, Frames, block_bits, free_block};
use crate::base::id::Pfn;
use crate::base::migratetype::Migratetype;
use crate::base::rules::End;

/// No block.
const NONE: u32 = u32::MAX;

/// The words of frames as free blocks use them: flags, and the place in the list.
pub(super) struct Blocks<'a> {
    pub flags: &'a mut [u32],
    pub place: &'a mut [u32],
}

impl<'a> Blocks<'a> {
    /// Those of all frames.
    #[inline(always)]
    pub(super) fn of(frames: &'a mut Frames) -> Self {
        let (flags, place) = frames.flags_and_rmap_mut();
        let place = &mut place[..flags.len()];
        Blocks { flags, place }
    }
}

/// One free list. The head is where blocks are taken.
#[derive(Clone, Debug, Default)]
#[repr(align(64))] // So that it is found by shifts.
struct FreeList {
    /// Blocks by place, and [`NONE`] in gaps: a power of two, or nothing yet.
    ring: Vec<u32>,
    /// The place above the head, and that of the tail; blocks lie there. Places are numbers modulo
    /// 2^32.
    head: u32,
    tail: u32,
    len: u32,
}

impl FreeList {
    /// Where a place lies in the ring.
    #[inline(always)]
    fn at(&self, place: u32) -> usize {
        place as usize & self.ring.len().wrapping_sub(1)
    }

    /// Makes room for `more` more blocks.
    #[inline(always)]
    fn make_room(&mut self, b: &mut Blocks<'_>, more: usize) {
        let span = self.head.wrapping_sub(self.tail) as usize;
        if span + more > self.ring.len() {
            self.enlarge(b, more);
        }
    }

    /// Closes the gaps, in a larger ring if half of it would not stay free.
    #[cold]
    #[inline(never)]
    fn enlarge(&mut self, b: &mut Blocks<'_>, more: usize) {
        let size = (2 * (self.len as usize + more)).next_power_of_two().max(64);
        let mut ring = Vec::with_capacity(size);
        ring.extend(self.tail_first());
        (self.tail, self.head) = (0, ring.len() as u32);
        for (place, &p) in (0..).zip(&ring) {
            b.place[p as usize] = place;
        }
        ring.resize(size, NONE);
        self.ring = ring;
    }

    /// Puts a block at an end.
    #[inline(always)]
    fn push(&mut self, b: &mut Blocks<'_>, p: u32, end: End) {
        self.make_room(b, 1);
        self.len += 1;
        let place = match end {
            End::Head => {
                self.head = self.head.wrapping_add(1);
                self.head.wrapping_sub(1)
            }
            End::Tail => {
                self.tail = self.tail.wrapping_sub(1);
                self.tail
            }
        };
        let at = self.at(place);
        (self.ring[at], b.place[p as usize]) = (p, place);
    }

    /// Takes a block out, wherever it is.
    #[inline(always)]
    fn unlink(&mut self, b: &Blocks<'_>, p: u32) {
        let place = b.place[p as usize];
        let at = self.at(place);
        self.ring[at] = NONE;
        self.len -= 1;
        if place == self.head.wrapping_sub(1) || place == self.tail {
            self.trim();
        }
    }

    /// Lets blocks be at both ends.
    #[inline(always)]
    fn trim(&mut self) {
        if self.len == 0 {
            self.head = self.tail;
            return;
        }
        while self.ring[self.at(self.head.wrapping_sub(1))] == NONE {
            self.head = self.head.wrapping_sub(1);
        }
        while self.ring[self.at(self.tail)] == NONE {
            self.tail = self.tail.wrapping_add(1);
        }
    }

    /// The block at the head.
    #[inline(always)]
    fn first(&self) -> Option<u32> {
        (self.len > 0).then(|| self.ring[self.at(self.head.wrapping_sub(1))])
    }

    /// Blocks from the tail.
    fn tail_first(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let span = self.head.wrapping_sub(self.tail);
        let blocks = (0..span).map(|n| self.ring[self.at(self.tail.wrapping_add(n))]);
        blocks.filter(|&p| p != NONE)
    }
}

/// The lists of all orders and types.
#[derive(Clone, Debug)]
pub(super) struct FreeLists {
    /// By order and type; there are less than 16 and 8.
    lists: [[FreeList; 8]; 16],
    /// Per type: bit k is set if the list of order k is not empty.
    nonempty: [u16; 8],
}

impl FreeLists {
    /// All empty.
    pub(super) fn new() -> Self {
        FreeLists { lists: Default::default(), nonempty: [0; 8] }
    }
    #[inline(always)]
    fn get(&self, order: u8, mt: Migratetype) -> &FreeList {
        &self.lists[usize::from(order) & 15][mt as usize & 7]
    }
    /// Blocks on a list.
    #[inline(always)]
    pub(super) fn len(&self, order: u8, mt: Migratetype) -> u32 {
        self.get(order, mt).len
    }
    /// The block that is next on a list.
    #[inline(always)]
    pub(super) fn first(&self, order: u8, mt: Migratetype) -> Option<u32> {
        self.get(order, mt).first()
    }
    /// The orders of which a type has blocks, as bits.
    #[inline(always)]
    pub(super) fn nonempty(&self, mt: Migratetype) -> u16 {
        self.nonempty[mt as usize & 7]
    }
    /// Notes that a type has, or has not, blocks of an order besides those that are listed.
    #[inline]
    pub(super) fn note(&mut self, order: u8, mt: Migratetype, unlisted: bool) {
        let any = self.get(order, mt).len > 0 || unlisted;
        let mask = &mut self.nonempty[mt as usize & 7];
        *mask = *mask & !(1 << order) | u16::from(any) << order;
    }

    /// Puts a block on the list of a type, given as its number.
    #[inline(always)]
    pub(super) fn push(&mut self, b: &mut Blocks<'_>, p: u32, order: u8, mt: usize, end: End) {
        b.flags[p as usize] = block_bits(FrameKind::Buddy, order, mt as u32);
        self.lists[usize::from(order) & 15][mt & 7].push(b, p, end);
        self.nonempty[mt & 7] |= 1 << order;
    }

    /// Takes a block off the list of a type, given as its number, wherever it is there. Its frames
    /// are on no list then. Whether it was the last.
    #[inline(always)]
    pub(super) fn unlink(&mut self, b: &mut Blocks<'_>, p: u32, order: u8, mt: usize) -> bool {
        b.flags[p as usize] = FrameKind::Free as u32;
        let list = &mut self.lists[usize::from(order) & 15][mt & 7];
        list.unlink(b, p);
        let last = list.len == 0;
        if last {
            self.nonempty[mt & 7] &= !(1 << order);
        }
        last
    }

    /// Takes the block that is next off the list of a type, given as its number, as
    /// [`FreeLists::unlink`] would.
    #[inline(always)]
    pub(super) fn pop(&mut self, b: &mut Blocks<'_>, order: u8, mt: usize) -> Option<u32> {
        let p = self.lists[usize::from(order) & 15][mt & 7].first()?;
        self.unlink(b, p, order, mt);
        Some(p)
    }

    /// Puts pages that come as whole blocks of an order at the head of the list of a type, given as
    /// its number, up to the first block for which that is not all: one of another type, one that
    /// merges with its buddy, that the pages behind may make a larger block of, or that goes to
    /// the tail since it may merge soon. Returns the number of pages.
    #[inline(always)]
    pub(super) fn push_blocks<const ORDER: u8>(
        &mut self,
        b: &mut Blocks<'_>,
        pages: &[u32],
        mt: usize,
        of_type: impl Fn(u32) -> bool,
    ) -> usize {
        let size = 1u32 << ORDER;
        let alone =
            |b: &Blocks<'_>, n: usize| alone::<ORDER>(b.flags, pages, n).filter(|&p| of_type(p));
        let Some(mut p) = alone(b, 0) else { return 0 };
        let list = &mut self.lists[usize::from(ORDER)][mt & 7];
        list.make_room(b, pages.len() >> ORDER);
        let bits = block_bits(FrameKind::Buddy, ORDER, mt as u32);
        let (mut n, mut head) = (0, list.head);
        loop {
            if ORDER > 0 {
                b.flags[p as usize..][..size as usize].fill(FrameKind::Free as u32);
            }
            let at = list.at(head);
            (b.flags[p as usize], b.place[p as usize], list.ring[at]) = (bits, head, p);
            head = head.wrapping_add(1);
            n += size as usize;
            match alone(b, n) {
                Some(next) => p = next,
                None => break,
            }
        }
        list.head = head;
        list.len += n as u32 >> ORDER;
        self.nonempty[mt & 7] |= 1 << ORDER;
        n
    }

    /// Takes up to `n` single pages off the head of the list of a type, given as its number, as
    /// that many calls of [`FreeLists::unlink`] would, gives them these flags and appends them to
    /// `out`. Returns how many.
    #[inline]
    pub(super) fn pop_pages(
        &mut self,
        b: &mut Blocks<'_>,
        mt: usize,
        n: u32,
        bits: u32,
        out: &mut Vec<u32>,
    ) -> u32 {
        let list = &mut self.lists[0][mt & 7];
        let taken = n.min(list.len);
        let mut head = list.head;
        out.extend((0..taken).map(|_| {
            loop {
                head = head.wrapping_sub(1);
                let page = list.ring[list.at(head)];
                if page != NONE {
                    b.flags[page as usize] = bits;
                    return page;
                }
            }
        }));
        list.head = head;
        list.len -= taken;
        list.trim();
        if list.len == 0 {
            self.nonempty[mt & 7] &= !1;
        }
        taken
    }

    /// Makes a block that is on a list its head: those before it go to the end, in order.
    pub(super) fn rotate(&mut self, b: &mut Blocks<'_>, p: u32, order: u8, mt: usize) {
        let list = &mut self.lists[usize::from(order) & 15][mt & 7];
        let place = b.place[p as usize];
        let (before, behind) = (list.head.wrapping_sub(place), place.wrapping_sub(list.tail));
        // The shorter way around.
        let (from, to) =
            if before <= behind { (End::Head, End::Tail) } else { (End::Tail, End::Head) };
        while let Some(head) = list.first().filter(|&head| head != p) {
            let moved = match from {
                End::Head => head,
                End::Tail => list.ring[list.at(list.tail)],
            };
            list.unlink(b, moved);
            list.push(b, moved, to);
        }
    }

    /// The blocks of a list from its head.
    pub(super) fn walk(
        &self,
        order: u8,
        mt: Migratetype,
    ) -> impl DoubleEndedIterator<Item = Pfn> + '_ {
        self.get(order, mt).tail_first().rev().map(Pfn)
    }

    /// True if each block of a list knows its place, and blocks are at both ends.
    pub(super) fn in_place(&self, frames: &Frames, order: u8, mt: Migratetype) -> bool {
        let list = self.get(order, mt);
        let knows = |p| list.ring[list.at(frames.rmap[Pfn(p)])] == p;
        let ends = [list.tail, list.head.wrapping_sub(1)];
        let span = list.head.wrapping_sub(list.tail) as usize;
        span <= list.ring.len()
            && list.tail_first().count() == list.len as usize
            && list.tail_first().all(knows)
            && (list.len == 0 || ends.iter().all(|&at| list.ring[list.at(at)] != NONE))
    }
}

/// The block of an order that the pages from the n-th on are, if it merges with nothing, the pages
/// behind do not make a larger one of it, and it goes to the head of its list.
#[inline(always)]
fn alone<const ORDER: u8>(flags: &[u32], pages: &[u32], n: usize) -> Option<u32> {
    let size = 1u32 << ORDER;
    let of = |page: u32| page & !(size - 1);
    let block = pages.get(n..n + size as usize)?;
    let p = of(block[0]);
    let (buddy, higher) = (p ^ size, (p & !size) ^ (2 * size));
    let alone = block.iter().all(|&page| of(page) == p)
        && pages.get(n + size as usize).is_none_or(|&page| of(page) != buddy)
        && free_block(flags[buddy as usize], ORDER).is_none()
        && free_block(flags[higher as usize], ORDER + 1).is_none();
    alone.then_some(p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use std::collections::VecDeque;

    /// Pages go to both ends, leave from anywhere, and are rotated: the lists are those that a deque
    /// has, also while the ring grows and its gaps are closed.
    #[test]
    fn a_ring_is_a_deque() {
        const PAGES: u32 = 1000;
        let mut rng = Rng::for_purpose(1, "rings");
        let mut frames = Frames::new(PAGES as usize, false);
        let (mut lists, mut naive) = (FreeLists::new(), VecDeque::new());
        let mt = Migratetype::Movable as usize;
        let mut sizes = (0, 0);
        for step in 0..60_000 {
            // It is filled for a while, and emptied.
            let fills = step / 3000 % 2 == 0;
            let b = &mut Blocks::of(&mut frames);
            match rng.below(8) {
                0..4 => {
                    let p = rng.below(PAGES.into()) as u32;
                    let end = if rng.below(3) == 0 { End::Tail } else { End::Head };
                    if let Some(at) = naive.iter().position(|&q| q == p) {
                        naive.remove(at);
                        assert_eq!(lists.unlink(b, p, 0, mt), naive.is_empty());
                    } else if fills || rng.below(3) == 0 {
                        match end {
                            End::Head => naive.push_front(p),
                            End::Tail => naive.push_back(p),
                        }
                        lists.push(b, p, 0, mt, end);
                    }
                }
                4 => assert_eq!(lists.pop(b, 0, mt), naive.pop_front()),
                5 => {
                    let (mut got, n) = (vec![1], rng.below(5) as usize);
                    let n = n.min(naive.len());
                    let taken = lists.pop_pages(b, mt, n as u32, 7, &mut got);
                    assert_eq!(taken as usize, n);
                    assert!(naive.drain(..n).eq(got[1..].iter().copied()));
                    assert!(got[1..].iter().all(|&p| b.flags[p as usize] == 7));
                }
                _ if naive.is_empty() => {}
                _ => {
                    let at = rng.below(naive.len() as u64) as usize;
                    lists.rotate(b, naive[at], 0, mt);
                    naive.rotate_left(at);
                }
            }
            let listed = || lists.walk(0, Migratetype::Movable);
            assert!(listed().map(|p| p.0).eq(naive.iter().copied()), "after {step} steps");
            assert_eq!(lists.first(0, Migratetype::Movable), naive.front().copied());
            assert_eq!(lists.nonempty(Migratetype::Movable), u16::from(!naive.is_empty()));
            assert!(lists.in_place(&frames, 0, Migratetype::Movable), "after {step} steps");
            sizes.0 += u32::from(naive.is_empty());
            sizes.1 = sizes.1.max(naive.len());
        }
        assert!(sizes.0 > 100 && sizes.1 > 130, "empty and long: {sizes:?}");
    }
}
