//! Free lists: which blocks are free, per order and migratetype, in the order in which they
//! are handed out.
//!
//! A block is linked through the columns of its first frame. What is done to lists is done
//! to many blocks in a row, so the columns are taken hold of once, as three slices.

use super::frames::{FrameKind, Frames, block_bits, free_block};
use super::lists::Lists;
use crate::base::id::Pfn;
use crate::base::migratetype::Migratetype;
use crate::base::rules::End;

/// No block.
pub(super) const NONE: u32 = u32::MAX;

/// The columns of frames that free blocks are recorded in.
pub struct Columns<'a> {
    /// Flags and reverse-map words.
    pub frames: &'a mut Frames,
    /// List positions.
    pub lists: &'a mut Lists,
}

impl<'a> Columns<'a> {
    /// Both columns.
    pub fn new(frames: &'a mut Frames, lists: &'a mut Lists) -> Self {
        Columns { frames, lists }
    }
    /// The words of free blocks.
    #[inline(always)]
    pub(super) fn links(&mut self) -> Links<'_> {
        let (flags, next) = self.frames.flags_and_rmap_mut();
        let n = flags.len();
        Links { flags, next, prev: &mut self.lists.words()[..n] }
    }
}

/// The words of frames as free blocks use them: flags, and links to the next and the
/// previous block of the list.
pub(super) struct Links<'a> {
    pub flags: &'a mut [u32],
    pub next: &'a mut [u32],
    pub prev: &'a mut [u32],
}

/// One free list. The head is where blocks are taken.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))] // So that it is found by shifts.
pub(super) struct FreeList {
    pub head: u32,
    pub tail: u32,
    pub len: u32,
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
        let empty = FreeList { head: NONE, tail: NONE, len: 0 };
        FreeLists { lists: [[empty; 8]; 16], nonempty: [0; 8] }
    }
    /// One list.
    #[inline(always)]
    pub(super) fn get(&self, order: u8, mt: Migratetype) -> &FreeList {
        &self.lists[usize::from(order) & 15][mt as usize & 7]
    }
    /// The orders of which a type has blocks, as bits.
    #[inline(always)]
    pub(super) fn nonempty(&self, mt: Migratetype) -> u16 {
        self.nonempty[mt as usize & 7]
    }
    /// Whether a type has blocks of an order besides those that are listed.
    #[inline]
    pub(super) fn note(&mut self, order: u8, mt: Migratetype, unlisted: bool) {
        let any = self.get(order, mt).len > 0 || unlisted;
        let mask = &mut self.nonempty[mt as usize & 7];
        *mask = *mask & !(1 << order) | u16::from(any) << order;
    }

    /// Puts a block on the list of a type, given as its number.
    #[inline(always)]
    pub(super) fn push(&mut self, l: &mut Links<'_>, p: u32, order: u8, mt: usize, end: End) {
        let at = p as usize;
        l.flags[at] = block_bits(FrameKind::Buddy, order, mt as u32);
        let list = &mut self.lists[usize::from(order) & 15][mt & 7];
        if list.len == 0 {
            self.nonempty[mt & 7] |= 1 << order;
        }
        list.len += 1;
        match end {
            End::Head => {
                let next = std::mem::replace(&mut list.head, p);
                (l.next[at], l.prev[at]) = (next, NONE);
                match l.prev.get_mut(next as usize) {
                    Some(prev) => *prev = p,
                    None => list.tail = p,
                }
            }
            End::Tail => {
                let prev = std::mem::replace(&mut list.tail, p);
                (l.next[at], l.prev[at]) = (NONE, prev);
                match l.next.get_mut(prev as usize) {
                    Some(next) => *next = p,
                    None => list.head = p,
                }
            }
        }
    }

    /// Takes a block off the list of a type, given as its number, wherever it is there. Its
    /// frames are nobody's then. Whether it was the last.
    #[inline(always)]
    pub(super) fn unlink(&mut self, l: &mut Links<'_>, p: u32, order: u8, mt: usize) -> bool {
        let at = p as usize;
        l.flags[at] = FrameKind::Free as u32;
        let (next, prev) = (l.next[at], l.prev[at]);
        let list = &mut self.lists[usize::from(order) & 15][mt & 7];
        list.len -= 1;
        match l.next.get_mut(prev as usize) {
            Some(n) => *n = next,
            None => list.head = next,
        }
        match l.prev.get_mut(next as usize) {
            Some(p) => *p = prev,
            None => list.tail = prev,
        }
        let last = list.len == 0;
        if last {
            self.nonempty[mt & 7] &= !(1 << order);
        }
        last
    }

    /// Puts pages that come as whole blocks of an order at the head of the list of a type, given as
    /// its number, up to the first block for which that is not all: one of another type, one that
    /// merges with its buddy, that the pages behind may make a larger block of, or that goes to
    /// the tail since it may merge soon. Returns the number of pages.
    #[inline(always)]
    pub(super) fn push_blocks<const ORDER: u8>(
        &mut self,
        l: &mut Links<'_>,
        pages: &[u32],
        mt: usize,
        of_type: impl Fn(u32) -> bool,
    ) -> usize {
        let size = 1u32 << ORDER;
        let alone =
            |l: &Links<'_>, n: usize| alone::<ORDER>(l.flags, pages, n).filter(|&p| of_type(p));
        let Some(mut p) = alone(l, 0) else { return 0 };
        let mut list = self.lists[usize::from(ORDER)][mt & 7];
        let bits = block_bits(FrameKind::Buddy, ORDER, mt as u32);
        let mut n = 0;
        loop {
            if ORDER > 0 {
                let block = &pages[n..n + size as usize];
                block.iter().for_each(|&page| l.flags[page as usize] = FrameKind::Free as u32);
            }
            let at = p as usize;
            l.flags[at] = bits;
            let next = std::mem::replace(&mut list.head, p);
            (l.next[at], l.prev[at]) = (next, NONE);
            match l.prev.get_mut(next as usize) {
                Some(prev) => *prev = p,
                None => list.tail = p,
            }
            n += size as usize;
            match alone(l, n) {
                Some(next) => p = next,
                None => break,
            }
        }
        list.len += n as u32 >> ORDER;
        self.lists[usize::from(ORDER)][mt & 7] = list;
        self.nonempty[mt & 7] |= 1 << ORDER;
        n
    }

    /// Takes up to `n` single pages off the head of the list of a type, given as its number, and
    /// appends them to `out`, as so many calls of [`FreeLists::unlink`] would. Returns how many.
    #[inline]
    pub(super) fn pop_pages(
        &mut self,
        l: &mut Links<'_>,
        mt: usize,
        n: u32,
        out: &mut Vec<u32>,
    ) -> u32 {
        let list = &mut self.lists[0][mt & 7];
        let taken = n.min(list.len);
        let mut p = list.head;
        out.extend((0..taken).map(|_| {
            let page = p;
            l.flags[page as usize] = FrameKind::Free as u32;
            p = l.next[page as usize];
            page
        }));
        list.head = p;
        list.len -= taken;
        match l.prev.get_mut(p as usize) {
            Some(prev) => *prev = NONE,
            None => {
                list.tail = NONE;
                self.nonempty[mt & 7] &= !1;
            }
        }
        taken
    }

    /// Makes a block that is on a list its head: those before it go to the end, in order.
    pub(super) fn rotate(&mut self, l: &mut Links<'_>, p: u32, order: u8, mt: usize) {
        let list = &mut self.lists[usize::from(order) & 15][mt & 7];
        let (head, tail, before) = (list.head, list.tail, l.prev[p as usize]);
        if head == p {
            return;
        }
        (l.next[tail as usize], l.prev[head as usize]) = (head, tail);
        (l.next[before as usize], l.prev[p as usize]) = (NONE, NONE);
        (list.head, list.tail) = (p, before);
    }

    /// The blocks of a list from its head.
    pub(super) fn walk<'a>(
        &self,
        frames: &'a Frames,
        order: u8,
        mt: Migratetype,
    ) -> impl Iterator<Item = Pfn> + use<'a> {
        let mut p = self.get(order, mt).head;
        std::iter::from_fn(move || {
            let found = (p != NONE).then_some(Pfn(p));
            if p != NONE {
                p = frames.rmap[Pfn(p)];
            }
            found
        })
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
