//! Per-CPU lists: a stock of free pages that a CPU takes from and gives to without asking
//! the zone.
//!
//! One list per order and migratetype. A page is taken from the head and freed to the head,
//! so that the page in use last is used next. An empty list is refilled with a batch, in the
//! order in which the buddy gives it; when all lists of a CPU together hold `high` pages,
//! a batch goes back from the tails. Pages here do not count as free.
//!
//! From 6.7 on batches grow: a refill doubles with each refill in a row, and as many pages
//! go back at once as were freed in a row.
//!
//! Source: Linux 6.12 mm/page_alloc.c (`nr_pcp_alloc`, `nr_pcp_free`, `nr_pcp_high`,
//! `free_unref_page_commit`, `free_pcppages_bulk`, `order_to_pindex`). Left out: the tuning
//! of `high` between its least and its most by the kernel's own clock, and the slow decay of
//! lists that are idle.

use super::gfp::PAGE_ALLOC_COSTLY_ORDER;
use super::migratetype::{Migratetype, NR_PCPTYPES};
use std::collections::VecDeque;

/// Orders up to the costly one in three types, and blocks of pageblock order in two.
const NR_PCP_LISTS: usize = NR_PCPTYPES * (PAGE_ALLOC_COSTLY_ORDER as usize + 1) + 2;
/// `CONFIG_PCP_BATCH_SCALE_MAX`: batches grow up to 2^5 times.
const BATCH_SCALE_MAX: u32 = 5;

/// Sizes of the per-CPU lists of a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PcpSizes {
    /// Pages of one CPU at which a batch goes back. 0: there are no lists.
    pub high: u32,
    /// The same now: while kswapd is at work it is four batches at most (5.14 on).
    pub full: u32,
    /// Pages of a refill.
    pub batch: u32,
    /// Batches grow (6.7 on).
    pub scales: bool,
}

/// What `/proc/zoneinfo` shows of one CPU's lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PcpView {
    /// Pages on the lists.
    pub count: u32,
    /// Pages at which a batch goes back.
    pub high: u32,
    /// Pages of a refill.
    pub batch: u32,
}

/// The list of an order and type. `order` is at most the costly one, or pageblock order.
#[inline(always)]
pub fn pcp_index(order: u8, mt: Migratetype) -> usize {
    if order > PAGE_ALLOC_COSTLY_ORDER {
        return NR_PCP_LISTS - 2 + usize::from(mt == Migratetype::Movable);
    }
    // Pages of reserved pageblocks come back to them when the list is drained.
    let mt = if mt.mergeable() { mt } else { Migratetype::Movable };
    NR_PCPTYPES * usize::from(order) + mt as usize
}

/// Order and type of the list with an index; the first type for lists of pageblock order that
/// unmovable and reclaimable blocks share.
pub fn of_index(index: usize, pageblock_order: u8) -> (u8, Migratetype) {
    let order = index / NR_PCPTYPES;
    if order <= usize::from(PAGE_ALLOC_COSTLY_ORDER) {
        return (order as u8, Migratetype::REQUESTS[index % NR_PCPTYPES]);
    }
    let movable = index == NR_PCP_LISTS - 1;
    (pageblock_order, if movable { Migratetype::Movable } else { Migratetype::Unmovable })
}

/// The lists of one CPU in one zone.
#[derive(Clone, Debug, Default)]
pub struct Pcp {
    /// The head of a list is the back of its deque.
    lists: [VecDeque<u32>; NR_PCP_LISTS],
    count: u32,
    alloc_factor: u32,
    free_count: u32,
    prev_free_high_order: bool,
}

impl Pcp {
    /// Pages on all lists.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Takes the page at the head of a list.
    #[inline(always)]
    pub fn take(&mut self, index: usize, order: u8) -> Option<u32> {
        let p = self.lists[index].pop_back()?;
        self.count -= 1 << order;
        self.free_count >>= 1;
        Some(p)
    }

    /// Pages at the head of a list, the head last: as many as lie next to each other.
    #[inline]
    pub fn stock(&self, index: usize) -> &[u32] {
        match self.lists[index].as_slices() {
            (some, []) => some,
            (_, last) => last,
        }
    }

    /// Takes `n` single pages off the head of a list, which has so many.
    #[inline]
    pub fn take_stock(&mut self, index: usize, n: usize) {
        let l = &mut self.lists[index];
        l.truncate(l.len() - n);
        self.count -= n as u32;
        self.free_count = self.free_count.checked_shr(n as u32).unwrap_or(0);
    }

    /// Appends single pages at the tail of a list, the first first.
    pub fn append_pages(&mut self, index: usize, pages: &[u32]) {
        let l = &mut self.lists[index];
        if l.is_empty() {
            l.extend(pages.iter().rev());
        } else {
            pages.iter().for_each(|&p| l.push_front(p));
        }
        self.count += pages.len() as u32;
    }

    /// Puts freed single pages at the head of a list, as far as none of them makes the lists
    /// full. Returns how many: the next one goes by [`Pcp::put`].
    #[inline]
    pub fn put_pages(&mut self, index: usize, pages: &[u32], sizes: PcpSizes) -> usize {
        let room = sizes.full.saturating_sub(self.count + 1) as usize;
        let now = &pages[..room.min(pages.len())];
        if !now.is_empty() {
            let n = now.len() as u32;
            self.lists[index].extend(now);
            self.count += n;
            self.alloc_factor = self.alloc_factor.checked_shr(n).unwrap_or(0);
            self.free_count = (self.free_count + n).min(sizes.batch << BATCH_SCALE_MAX);
            self.prev_free_high_order = false;
        }
        now.len()
    }

    /// Appends a block at the tail of a list.
    pub fn append(&mut self, index: usize, order: u8, p: u32) {
        self.lists[index].push_front(p);
        self.count += 1 << order;
    }

    /// Blocks that the refill of an empty list takes.
    pub fn nr_alloc(&mut self, sizes: PcpSizes, order: u8) -> u32 {
        let base = sizes.batch;
        let mut batch = base;
        if sizes.scales {
            if sizes.high < base {
                return 1;
            }
            if order == 0 {
                let room = sizes.high.saturating_sub(self.count + base).max(base);
                batch = base << self.alloc_factor;
                if batch <= room && self.alloc_factor < BATCH_SCALE_MAX {
                    self.alloc_factor += 1;
                }
                batch = batch.min(room);
            }
        }
        if batch > 1 && order > 0 { (batch >> order).max(2) } else { batch.max(1) }
    }

    /// Puts a freed block at the head of a list. Returns how many pages have to go back now.
    #[inline(always)]
    pub fn put(&mut self, index: usize, order: u8, p: u32, sizes: PcpSizes) -> u32 {
        self.lists[index].push_back(p);
        self.count += 1 << order;
        self.alloc_factor >>= 1;
        self.free_count = (self.free_count + (1 << order)).min(sizes.batch << BATCH_SCALE_MAX);
        if order == 0 && self.count < sizes.full {
            self.prev_free_high_order = false;
            return 0;
        }
        self.nr_free(order, sizes)
    }

    #[inline(never)]
    fn nr_free(&mut self, order: u8, sizes: PcpSizes) -> u32 {
        let high_order = order > 0 && order <= PAGE_ALLOC_COSTLY_ORDER;
        let before = std::mem::replace(&mut self.prev_free_high_order, high_order);
        // A stock of higher orders would only keep them from merging.
        if high_order && before && self.free_count >= sizes.batch {
            return self.count.min(sizes.batch << BATCH_SCALE_MAX);
        }
        if self.count < sizes.full {
            return 0;
        }
        let most = sizes.full.saturating_sub(sizes.batch).max(sizes.batch);
        if sizes.scales { self.free_count.clamp(sizes.batch, most) } else { sizes.batch }
    }

    /// Takes `n` pages off the tails of the lists, beginning with list `index`, and hands
    /// the blocks to `give`, as many as there are of one order, tail first.
    pub fn drain(
        &mut self,
        n: u32,
        index: usize,
        pageblock_order: u8,
        mut give: impl FnMut(&[u32], u8),
    ) {
        let mut left = n.min(self.count);
        let mut i = index;
        while left > 0 {
            let order = match i / NR_PCPTYPES {
                k if k <= usize::from(PAGE_ALLOC_COSTLY_ORDER) => k as u8,
                _ => pageblock_order,
            };
            let list = &mut self.lists[i];
            let nr = (left.div_ceil(1 << order) as usize).min(list.len());
            if nr > 0 {
                let (front, back) = list.as_slices();
                let (front, more) = front.split_at(nr.min(front.len()));
                debug_assert!(more.is_empty() || front.len() == nr);
                give(front, order);
                give(&back[..nr - front.len()], order);
                list.drain(..nr);
                self.count -= (nr as u32) << order;
                left = left.saturating_sub((nr as u32) << order);
            }
            i = if i + 1 == NR_PCP_LISTS { 0 } else { i + 1 };
        }
    }

    /// All lists, each with its index (as [`pcp_index`] gives it) and its blocks from the head.
    pub fn lists(&self) -> impl Iterator<Item = (usize, Vec<u32>)> + '_ {
        self.lists.iter().enumerate().map(|(i, l)| (i, l.iter().rev().copied().collect()))
    }

    /// Forgets everything that is on the lists.
    pub fn clear(&mut self) {
        *self = Pcp::default();
    }

    /// The pages on all lists, each block as first frame and order.
    pub fn blocks(&self, pageblock_order: u8) -> impl Iterator<Item = (u32, u8)> + '_ {
        self.lists.iter().enumerate().flat_map(move |(i, l)| {
            let order = match i / NR_PCPTYPES {
                k if k <= usize::from(PAGE_ALLOC_COSTLY_ORDER) => k as u8,
                _ => pageblock_order,
            };
            l.iter().map(move |&p| (p, order))
        })
    }
}
