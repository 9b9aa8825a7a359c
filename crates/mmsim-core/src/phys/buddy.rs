//! The buddy allocator: free memory as blocks of powers of two.
//!
//! A free block of order k is 2^k frames at a multiple of 2^k; its *buddy* is the block
//! whose number differs in bit k only. A request takes the smallest block that is large
//! enough, at the head of its list, and gives the upper halves back as it splits. A block
//! that is freed merges with its buddy as long as that is free and of the same order. There
//! is a list per order and migratetype.
//!
//! Which end a block goes to decides which block is handed out next, and so where memory
//! ends up: at the head, except at the tail where the buddy of the block one order up is
//! free, so that the pair gets time to become whole.
//!
//! A free block is a record in the columns of its first frame: order and list in the flags, and
//! its place in the list in the reverse-map word, which a free frame does not use. Memory of a zone that was never touched is a run of addresses
//! and costs nothing either; the run behaves as if its blocks of the largest order were at
//! the far end of the movable list.
//!
//! Source: Linux 6.12 mm/page_alloc.c (`__free_one_page`, `expand`, `__rmqueue_smallest`,
//! `buddy_merge_likely`). The zone is taken to span whole blocks of the largest order: frames
//! beyond its end are as if never freed.

mod check;
mod queries;
mod report;

use super::frames::{FrameKind, Frames, block_bits, flag, free_block};
use super::free_lists::{Blocks, FreeLists};
use crate::base::host;
use crate::base::id::Pfn;
use crate::base::migratetype::Migratetype;
use crate::base::rules::{End, KernelRules};

/// Orders there are: 0 to 10.
pub const NR_ORDERS: usize = super::gfp::MAX_PAGE_ORDER as usize + 1;

/// Description of a free block: its order and the list that it is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeBlock {
    /// First frame.
    pub pfn: Pfn,
    /// log2 of its frames.
    pub order: u8,
    /// Type of its list.
    pub migratetype: Migratetype,
}

/// One firing of `kmem:mm_page_alloc_extfrag`: a request was served from another type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extfrag {
    /// First frame of what was allocated.
    pub pfn: Pfn,
    /// Order of the request.
    pub alloc_order: u8,
    /// Order of the block that was found.
    pub fallback_order: u8,
    /// Type of the request.
    pub alloc_migratetype: Migratetype,
    /// Type of the list where it was found.
    pub fallback_migratetype: Migratetype,
    /// The pageblock has the request's type now.
    pub change_ownership: bool,
    /// The block was smaller than a pageblock: types are mixed in it from now on, unless
    /// ownership changed.
    pub fragmenting: bool,
}

/// A block that a thread which frees memory waits for (`struct capture_control`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capture {
    /// log2 of its frames.
    pub order: u8,
    /// True if it is for movable memory. For other memory it must not be of a movable pageblock,
    /// which would not be movable any more.
    pub movable: bool,
}

impl Capture {
    /// True if this is the block that is waited for.
    pub fn takes(self, order: u8, mt: Migratetype, pageblock_order: u8) -> bool {
        let foreign = mt == Migratetype::Movable && !self.movable && order < pageblock_order;
        order == self.order && !foreign && !matches!(mt, Migratetype::Cma | Migratetype::Isolate)
    }
}

/// The free memory of one zone.
#[derive(Clone, Debug)]
pub struct Buddy {
    pub(super) rules: KernelRules,
    first: u32,
    end: u32,
    pub(super) lists: FreeLists,
    /// Blocks of the largest order that were never touched, by address.
    untouched: std::ops::Range<u32>,
    /// Types of pageblocks.
    blocks: Vec<u8>,
    pub(super) free: u64,
    /// By type; the last two do not exist.
    pub(super) free_of: [u64; 8],
    /// Pages of pageblocks reserved as highatomic.
    pub(super) nr_reserved_highatomic: u64,
    /// Fallbacks since they were last taken.
    pub(super) extfrag: Vec<Extfrag>,
    /// Attempts to steal below pageblock order since they were last taken.
    pub(super) boosts: u32,
    /// Free page reporting, if the host asks for it.
    report: report::Noticing,
}

impl Buddy {
    /// The allocator of the frames from `first` (a multiple of the largest block) to before
    /// `end`, none of them free yet; all pageblocks movable.
    ///
    /// # Panics
    /// No allocator can have these rules (`check_orders`), or `first` is no such multiple.
    pub fn new(first: Pfn, end: Pfn, rules: KernelRules) -> Self {
        rules.check_orders().unwrap_or_else(|e| panic!("rules of a page allocator: {e}"));
        assert!(first.0.is_multiple_of(1 << rules.max_order), "{first} starts no largest block");
        let span = (end.0 - first.0).next_multiple_of(1 << rules.max_order);
        Buddy {
            rules,
            first: first.0,
            end: end.0,
            lists: FreeLists::new(),
            untouched: 0..0,
            blocks: vec![Migratetype::Movable as u8; (span >> rules.pageblock_order) as usize],
            free: 0,
            free_of: [0; 8],
            nr_reserved_highatomic: 0,
            extfrag: Vec::new(),
            boosts: 0,
            report: report::Noticing::default(),
        }
    }

    /// Gives all frames from `from` on to the lists, as the kernel does at boot: in ascending
    /// order, as the largest aligned blocks, each at the end that the rules say.
    pub fn populate(&mut self, frames: &mut Frames, from: Pfn) {
        let max = self.rules.max_order;
        let mut p = from.0;
        while p < self.end {
            let order =
                (p.trailing_zeros().min(max.into()) as u8).min((self.end - p).ilog2() as u8);
            if order == max && self.untouched.is_empty() {
                let n = (self.end - p) >> max << max;
                self.untouched = p..p + n;
                self.mark_run();
                self.account(Migratetype::Movable, i64::from(n));
                p += n;
                continue;
            }
            self.add(frames, p, order, Migratetype::Movable, self.rules.free_init);
            p += 1 << order;
        }
    }

    /// Puts a block behind the others of its list, as in a recorded layout. For the start of a run.
    pub(super) fn put_at_start(
        &mut self,
        frames: &mut Frames,
        pfn: Pfn,
        order: u8,
        mt: Migratetype,
    ) {
        let end = pfn.0 + (1 << order);
        assert!(end <= self.end && pfn.0.is_multiple_of(1 << order), "{pfn}: a block of {order}?");
        for p in pfn.0..end {
            assert_eq!(frames.kind(Pfn(p)), FrameKind::Kernel, "pfn{p} is free twice");
            frames.reset(Pfn(p), FrameKind::Free);
        }
        self.append(frames, pfn, order, mt);
    }

    /// Takes everything off the lists and gives the pageblocks these types. Whose the frames of
    /// free blocks are then is for the caller to say.
    pub fn clear(&mut self, types: &[Migratetype]) {
        let mut new = Buddy::new(Pfn(self.first), Pfn(self.end), self.rules);
        new.report = self.report;
        new.blocks[..types.len()].iter_mut().zip(types).for_each(|(b, &mt)| *b = mt as u8);
        let reserved = types.iter().filter(|&&mt| mt == Migratetype::HighAtomic).count() as u64;
        new.nr_reserved_highatomic = reserved << self.rules.pageblock_order;
        *self = new;
    }

    /// Puts a block at the end of a list, whatever the type of its pageblock, and merges nothing.
    pub fn append(&mut self, frames: &mut Frames, pfn: Pfn, order: u8, mt: Migratetype) {
        self.add(frames, pfn.0, order, mt, End::Tail);
    }

    fn mark_run(&mut self) {
        self.lists.note(self.rules.max_order, Migratetype::Movable, !self.untouched.is_empty());
    }

    #[inline(always)]
    fn account(&mut self, mt: Migratetype, pages: i64) {
        // Isolated pages are out of use: they are in no count of free pages.
        if mt != Migratetype::Isolate {
            self.free = self.free.wrapping_add_signed(pages);
        }
        let of = &mut self.free_of[mt as usize];
        *of = of.wrapping_add_signed(pages);
    }

    // ---- lists ----

    /// Puts a block on a list.
    #[inline]
    fn add(&mut self, frames: &mut Frames, p: u32, order: u8, mt: Migratetype, end: End) {
        if end == End::Tail && order == self.rules.max_order && !self.untouched.is_empty() {
            self.settle_run(frames);
        }
        self.account(mt, 1 << order);
        self.lists.push(&mut Blocks::of(frames), p, order, mt as usize, end);
    }

    /// Takes a block off its list, wherever it is. Its frames are on no list then.
    #[inline]
    fn remove(&mut self, frames: &mut Frames, p: u32, order: u8, mt: Migratetype) {
        let last = self.lists.unlink(&mut Blocks::of(frames), p, order, mt as usize);
        if last && order == self.rules.max_order && mt == Migratetype::Movable {
            self.mark_run();
        }
        self.account(mt, -(1 << order));
    }

    /// The block that is next on a list.
    #[inline]
    pub(super) fn first_of(&self, order: u8, mt: Migratetype) -> Option<u32> {
        let listed = self.lists.first(order, mt);
        if listed.is_some() {
            return listed;
        }
        let of_run = order == self.rules.max_order && mt == Migratetype::Movable;
        (of_run && !self.untouched.is_empty()).then(|| match self.rules.free_init {
            End::Tail => self.untouched.start,
            End::Head => self.untouched.end - (1 << order),
        })
    }

    /// Takes the next block off a list.
    #[inline]
    pub(super) fn take_first(
        &mut self,
        frames: &mut Frames,
        order: u8,
        mt: Migratetype,
    ) -> Option<u32> {
        if let Some(head) = self.lists.first(order, mt) {
            self.remove(frames, head, order, mt);
            return Some(head);
        }
        let p = self.take_untouched(order, mt)?;
        self.account(mt, -(1 << order));
        Some(p)
    }

    /// Takes the next block of the untouched run, which is not accounted for.
    fn take_untouched(&mut self, order: u8, mt: Migratetype) -> Option<u32> {
        let p = self.first_of(order, mt)?;
        match self.rules.free_init {
            End::Tail => self.untouched.start += 1 << order,
            End::Head => self.untouched.end -= 1 << order,
        }
        self.mark_run();
        Some(p)
    }

    /// Puts the blocks of the untouched run on the list for real.
    #[cold]
    fn settle_run(&mut self, frames: &mut Frames) {
        let run = std::mem::replace(&mut self.untouched, 0..0);
        let max = self.rules.max_order;
        let step = 1usize << max;
        self.account(Migratetype::Movable, -i64::from(run.end - run.start));
        // At the far end of the list, so that it is the same list as before.
        match self.rules.free_init {
            End::Tail => run.step_by(step).for_each(|p| {
                self.add(frames, p, max, Migratetype::Movable, End::Tail);
            }),
            End::Head => run.step_by(step).rev().for_each(|p| {
                self.add(frames, p, max, Migratetype::Movable, End::Tail);
            }),
        }
        self.mark_run();
    }

    /// Removes a free block from wherever it is, the untouched run included.
    pub(super) fn take_block(&mut self, frames: &mut Frames, b: FreeBlock) {
        if self.untouched.contains(&b.pfn.0) {
            self.settle_run(frames);
        }
        self.remove(frames, b.pfn.0, b.order, b.migratetype);
    }

    // ---- allocation ----

    /// Gives the upper halves of a block back until `order` is left.
    #[inline]
    pub(super) fn expand(
        &mut self,
        frames: &mut Frames,
        p: u32,
        from: u8,
        order: u8,
        mt: Migratetype,
    ) {
        for k in (order..from).rev() {
            self.add(frames, p + (1 << k), k, mt, End::Head);
        }
    }

    /// The smallest block of the type's own lists that is large enough.
    #[inline]
    pub(super) fn take_smallest(
        &mut self,
        frames: &mut Frames,
        order: u8,
        mt: Migratetype,
    ) -> Option<Pfn> {
        let fit = self.lists.nonempty(mt) >> order;
        if fit == 0 {
            return None;
        }
        let found = order + fit.trailing_zeros() as u8;
        let p = self.take_first(frames, found, mt)?;
        self.expand(frames, p, found, order, mt);
        Some(Pfn(p))
    }

    /// Takes `n` pages from the type's own lists, as that many calls of the above would, makes them
    /// of a kind, and appends them to `out`; fewer if there are not enough.
    ///
    /// When all lists below order k are empty, the pages of the block of order k come one
    /// after the other: so the block is cut once, not once per page.
    pub(super) fn take_pages(
        &mut self,
        frames: &mut Frames,
        n: u32,
        mt: Migratetype,
        kind: FrameKind,
        out: &mut Vec<u32>,
    ) {
        let bits = block_bits(kind, 0, mt as u32);
        let mut left = n;
        while left > 0 {
            let mask = self.lists.nonempty(mt);
            if mask == 0 {
                return;
            }
            let found = mask.trailing_zeros() as u8;
            if found == 0 {
                let taken =
                    self.lists.pop_pages(&mut Blocks::of(frames), mt as usize, left, bits, out);
                self.account(mt, -i64::from(taken));
                left -= taken;
                continue;
            }
            let b = &mut Blocks::of(frames);
            let listed = self.lists.pop(b, found, mt as usize);
            let Some(p) = listed.or_else(|| self.take_untouched(found, mt)) else { return };
            if found == self.rules.max_order {
                self.mark_run();
            }
            let end = p + (1 << found);
            let taken = left.min(1 << found);
            self.account(mt, -i64::from(taken));
            // Nearly always a few: a loop of its own costs less than a call.
            for page in p..p + taken {
                out.push(page);
            }
            b.flags[p as usize..][..taken as usize].fill(bits);
            left -= taken;
            let mut rest = p + taken;
            while rest < end {
                let order = rest.trailing_zeros() as u8;
                self.lists.push(b, rest, order, mt as usize, End::Head);
                rest += 1 << order;
            }
        }
    }

    // ---- freeing ----

    /// Gives a block back: it merges with its buddies and goes to the list of its
    /// pageblock's type.
    pub fn free(&mut self, frames: &mut Frames, pfn: Pfn, order: u8) {
        self.free_to(frames, pfn, order, None);
    }

    /// Gives single pages back, one after the other: as many calls of [`Buddy::free`].
    ///
    /// Merging stays within a pageblock nearly always; what goes beyond is left to the
    /// slow path.
    pub fn free_pages(&mut self, frames: &mut Frames, pages: &[u32]) {
        let limit = self.rules.pageblock_order.min(self.rules.max_order).min(self.report.from());
        // Each page's buddy is looked at, which nearly always stands in the same line.
        let b = Blocks::of(frames);
        for &p in pages {
            host::prefetch(b.flags, p as usize);
        }
        let mut rest = pages;
        while let Some((p, order, behind)) = self.free_small(frames, rest, limit) {
            self.free_one(frames, p, order, None);
            rest = behind;
        }
    }

    /// Gives pages back until one has become a block of order `limit`, which is on no list
    /// yet: that block, and the pages behind.
    #[inline(never)] // The loop has all registers here.
    fn free_small<'p>(
        &mut self,
        frames: &mut Frames,
        pages: &'p [u32],
        limit: u8,
    ) -> Option<(u32, u8, &'p [u32])> {
        let mut b: Blocks<'_> = Blocks::of(frames);
        let Buddy { lists, blocks, free_of, first, .. } = self;
        let (shift, max) = (self.rules.pageblock_order & 31, self.rules.max_order);
        let (mut rest, mut large) = (pages, None);
        while let Some(&page) = rest.first() {
            let mt = usize::from(blocks[((page - *first) >> shift) as usize]) & 7;
            let alike = |p: u32| usize::from(blocks[((p - *first) >> shift) as usize]) & 7 == mt;
            let pair = limit > 0 && rest.get(1).is_some_and(|&next| next ^ 1 == page);
            let mut order = if pair { together(rest, limit) } else { 0 };
            if limit > 2 && max > 3 {
                let n = match order {
                    0 => lists.push_blocks::<0>(&mut b, rest, mt, alike),
                    1 => lists.push_blocks::<1>(&mut b, rest, mt, alike),
                    2 => lists.push_blocks::<2>(&mut b, rest, mt, alike),
                    _ => 0,
                };
                if n > 0 {
                    free_of[mt] += n as u64;
                    rest = &rest[n..];
                    continue;
                }
            }
            let mut p = page & (u32::MAX << order);
            match order {
                0 => b.flags[p as usize] = FrameKind::Free as u32,
                _ => b.flags[p as usize..][..1 << order].fill(FrameKind::Free as u32),
            }
            free_of[mt] += 1 << order;
            rest = &rest[1 << order..];
            while order < limit {
                let buddy = p ^ 1 << order;
                let Some(list) = free_block(b.flags[buddy as usize], order) else { break };
                lists.unlink(&mut b, buddy, order, list);
                if list != mt {
                    // The buddy was on the list of another type.
                    free_of[list & 7] -= 1 << order;
                    free_of[mt] += 1 << order;
                }
                p &= buddy;
                order += 1;
            }
            if order == limit {
                large = Some((p, order, mt));
                break;
            }
            let mut end = End::Head;
            if order + 1 < max {
                let higher = (p & !(1 << order)) ^ 2 << order;
                if free_block(b.flags[higher as usize], order + 1).is_some() {
                    end = End::Tail;
                }
            }
            lists.push(&mut b, p, order, mt, end);
        }
        let of_large = large.map(|(p, order, mt)| {
            // On no list, it counts nowhere.
            free_of[mt] -= 1 << order;
            (p, order, rest)
        });
        let isolated = free_of[Migratetype::Isolate as usize];
        self.free = free_of.iter().sum::<u64>() - isolated;
        of_large
    }

    fn free_to(&mut self, frames: &mut Frames, pfn: Pfn, order: u8, end: Option<End>) {
        for p in pfn.0..pfn.0 + (1 << order) {
            frames.reset(Pfn(p), FrameKind::Free);
        }
        let block = self.rules.pageblock_order;
        if order <= block || !self.rules.merge_retypes {
            return self.free_one(frames, pfn.0, order, end);
        }
        // Each pageblock may be of another type by now.
        for i in 0..1 << (order - block) {
            self.free_one(frames, pfn.0 + (i << block), block, end);
        }
    }

    /// As [`Buddy::free`]; a block that becomes the awaited one as it merges goes to the caller
    /// (`compaction_capture`).
    pub(crate) fn free_or_capture(
        &mut self,
        frames: &mut Frames,
        pfn: Pfn,
        order: u8,
        wanted: Capture,
    ) -> Option<Pfn> {
        for p in pfn.0..pfn.0 + (1 << order) {
            frames.reset(Pfn(p), FrameKind::Free);
        }
        let block = self.rules.pageblock_order;
        self.free_unless(frames, pfn.0, order, None, |order, mt| wanted.takes(order, mt, block))
    }

    #[inline]
    fn free_one(&mut self, frames: &mut Frames, pfn: u32, order: u8, end: Option<End>) {
        self.free_unless(frames, pfn, order, end, |_, _| false);
    }

    /// Frees a block, unless it becomes one of which `takes` says so: that one is on no list.
    #[inline]
    fn free_unless(
        &mut self,
        frames: &mut Frames,
        pfn: u32,
        order: u8,
        end: Option<End>,
        takes: impl Fn(u8, Migratetype) -> bool,
    ) -> Option<Pfn> {
        debug_assert!(pfn.is_multiple_of(1 << order), "pfn{pfn} is no block of order {order}");
        let (mut p, mut order) = (pfn, order);
        let mt = self.block_type(Pfn(p));
        let max = self.rules.max_order;
        while order < max {
            if takes(order, mt) {
                return Some(Pfn(p));
            }
            let buddy = p ^ 1 << order;
            let Some(list) = frames.free_block_of(Pfn(buddy), order) else { break };
            if order >= self.rules.pageblock_order {
                let other = self.block_type(Pfn(buddy));
                if mt != other && !(mt.mergeable() && other.mergeable()) {
                    break;
                }
                self.remove(frames, buddy, order, list);
                if self.rules.merge_retypes {
                    self.set_block_range(buddy, order, mt);
                }
            } else {
                self.remove(frames, buddy, order, list);
            }
            p &= buddy;
            order += 1;
        }
        let end = end.unwrap_or_else(|| self.side(frames, p, order));
        self.report.freed(order);
        self.add(frames, p, order, mt, end);
        None
    }

    /// The side of insertion: the tail if a further merge is likely.
    #[inline]
    fn side(&self, frames: &Frames, p: u32, order: u8) -> End {
        if order + 1 >= self.rules.max_order {
            return End::Head;
        }
        let higher = (p & !(1 << order)) ^ 2 << order;
        match frames.free_block_of(Pfn(higher), order + 1) {
            Some(_) => End::Tail,
            None => End::Head,
        }
    }

    // ---- pageblocks ----

    #[inline(always)]
    fn block_index(&self, p: u32) -> usize {
        ((p - self.first) >> (self.rules.pageblock_order & 31)) as usize
    }

    /// The type of the pageblock of a frame.
    #[inline(always)]
    pub fn block_type(&self, pfn: Pfn) -> Migratetype {
        Migratetype::from_bits(self.blocks[self.block_index(pfn.0)].into())
    }

    /// Number of the first pages that are of pageblocks of a type.
    #[inline]
    pub(super) fn nr_of_type(&self, pages: &[u32], mt: Migratetype) -> usize {
        let (blocks, shift) = (&self.blocks[..], self.rules.pageblock_order & 31);
        let of = |p: &u32| blocks[((p - self.first) >> shift) as usize] == mt as u8;
        pages.iter().position(|p| !of(p)).unwrap_or(pages.len())
    }

    /// True if that is [`Migratetype::Movable`].
    #[inline(always)]
    pub(super) fn is_movable(&self, pfn: Pfn) -> bool {
        self.blocks.get(self.block_index(pfn.0)) == Some(&(Migratetype::Movable as u8))
    }

    /// Changes the type of the pageblock of a frame; free blocks stay on their lists.
    pub fn set_block_type(&mut self, pfn: Pfn, mt: Migratetype) {
        let i = self.block_index(pfn.0);
        self.blocks[i] = mt as u8;
    }

    /// Changes the types of all pageblocks that a block covers.
    pub(super) fn set_block_range(&mut self, p: u32, order: u8, mt: Migratetype) {
        let nr = 1usize << order.saturating_sub(self.rules.pageblock_order);
        let i = self.block_index(p);
        self.blocks[i..i + nr].fill(mt as u8);
    }

    /// The pageblocks of the zone with their types, by address.
    pub fn pageblocks(&self) -> impl Iterator<Item = (Pfn, Migratetype)> + '_ {
        let nr = (self.end - self.first).div_ceil(1 << self.rules.pageblock_order);
        (0..nr).map(|i| {
            let p = Pfn(self.first + (i << self.rules.pageblock_order));
            (p, self.block_type(p))
        })
    }

    /// The frames of the pageblock of a frame, those beyond the zone's end not included.
    pub(super) fn block_frames(&self, p: u32) -> std::ops::Range<u32> {
        let start = p >> self.rules.pageblock_order << self.rules.pageblock_order;
        start..(start + (1 << self.rules.pageblock_order)).min(self.end)
    }

    /// Moves all free blocks of a pageblock to the lists of another type, at the end that the
    /// rules say. Returns the pages moved. The type of the pageblock stays.
    pub(super) fn move_free_blocks(&mut self, frames: &mut Frames, p: u32, to: Migratetype) -> u32 {
        let mut moved = 0;
        let block = self.block_frames(p);
        let mut p = block.start;
        while p < block.end {
            let Some((order, from)) = frames.free_head(Pfn(p)) else {
                p += 1;
                continue;
            };
            self.relist(frames, FreeBlock { pfn: Pfn(p), order, migratetype: from }, to);
            p += 1 << order;
            moved += 1 << order;
        }
        moved
    }

    /// Moves the first block of a list to the list of another type, at the end that the
    /// rules say.
    pub(super) fn move_first(&mut self, frames: &mut Frames, b: FreeBlock, to: Migratetype) {
        if self.untouched.contains(&b.pfn.0) {
            self.take_first(frames, b.order, b.migratetype);
            return self.add(frames, b.pfn.0, b.order, to, self.rules.free_init);
        }
        self.relist(frames, b, to);
    }

    /// Moves a listed block to the list of another type. It stays reported.
    fn relist(&mut self, frames: &mut Frames, b: FreeBlock, to: Migratetype) {
        let reported = frames.bits(b.pfn) & flag::REPORTED;
        self.remove(frames, b.pfn.0, b.order, b.migratetype);
        self.add(frames, b.pfn.0, b.order, to, self.rules.free_init);
        frames.set(b.pfn, reported);
    }

    /// Lets a list below the largest order begin with one of its blocks: those before it go to
    /// the end (`move_freelist_head`).
    pub(crate) fn rotate_list(
        &mut self,
        frames: &mut Frames,
        order: u8,
        mt: Migratetype,
        first: Pfn,
    ) {
        debug_assert_eq!(frames.free_head(first), Some((order, mt)), "{first} is on the list");
        self.lists.rotate(&mut Blocks::of(frames), first.0, order, mt as usize);
    }
}

/// The order of the block that the first pages are together, in whatever order they come; the first
/// two are buddies.
///
/// Until it is whole, what is free of it merges with nothing outside. So if each page were put on a
/// list separately, it would be taken off again, and the lists would be as they were.
#[inline(always)]
fn together(pages: &[u32], limit: u8) -> u8 {
    // Nearly always they come in a row, upwards or downwards.
    let (first, mut in_a_row) = (pages[0], 0);
    for four in pages[..pages.len().min(1 << limit)].chunks_exact(4) {
        let goes_on = |all, (i, &page): (u32, &u32)| all & (page == first ^ (in_a_row + i));
        if !(0..).zip(four).fold(true, goes_on) {
            break;
        }
        in_a_row += 4;
    }
    let mut order = in_a_row.max(2).ilog2() as u8;
    while order < limit {
        let block = first >> (order + 1);
        match pages.get(1 << order..2 << order) {
            Some(half) if half.iter().all(|p| p >> (order + 1) == block) => order += 1,
            _ => break,
        }
    }
    order
}
