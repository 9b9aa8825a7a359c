//! Per-CPU lists: a stock of free pages that a CPU takes from and gives to without asking
//! the zone.
//!
//! One list per order and migratetype. A page is taken from the head and freed to the head,
//! so that the page in use last is used next. An empty list is refilled with a batch, in the
//! order in which the buddy gives it; when all lists of a CPU together hold `high` pages,
//! a batch goes back from the tails. Pages here do not count as free.
//!
//! From 5.14 on batches grow ([`PcpBatches`]): what goes back doubles as long as nothing is taken.
//! From 6.7 on a refill doubles with each refill in a row, and as many pages go back at once
//! as were freed in a row.
//!
//! Sources: Linux 6.12 mm/page_alloc.c (`nr_pcp_alloc`, `nr_pcp_free`, `nr_pcp_high`,
//! `free_unref_page_commit`, `free_pcppages_bulk`, `order_to_pindex`); 6.1 (`free_factor`).
//! Left out: the tuning of `high` between its least and its most by the kernel's own clock, and the slow decay of
//! lists that are idle.

use super::gfp::PAGE_ALLOC_COSTLY_ORDER;
use crate::base::migratetype::{Migratetype, NR_PCPTYPES};
use crate::base::rules::PcpBatches;

/// Orders up to the costly one in three types, and blocks of pageblock order in two.
const NR_PCP_LISTS: usize = NR_PCPTYPES * (PAGE_ALLOC_COSTLY_ORDER as usize + 1) + 2;
/// `CONFIG_PCP_BATCH_SCALE_MAX`: batches grow up to 2^5 times.
const BATCH_SCALE_MAX: u32 = 5;

/// Sizes of the per-CPU lists of a zone.
///
/// They may be any 32-bit numbers. Sums, shifts and products of them stop at the largest: a machine has
/// fewer frames, so that more could not come of the exact ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PcpSizes {
    /// Pages of one CPU at which a batch goes back. 0: there are no lists.
    pub high: u32,
    /// The same now: while kswapd is at work it is four batches at most (5.14 on).
    pub full: u32,
    /// Pages of a refill.
    pub batch: u32,
    /// More pages than these are not counted as freed in a row.
    most_counted: u32,
    /// Amount that a freed page adds to [`Pcp::frees`].
    counted: u32,
    /// Pages freed in a row from which blocks of orders 1 to 3 all go back.
    orders_from: u32,
    /// Growth of batches.
    pub batches: PcpBatches,
}

impl PcpSizes {
    /// Lists of these sizes while kswapd sleeps.
    pub(crate) fn new(high: u32, batch: u32, batches: PcpBatches) -> Self {
        let counted = u32::from(batches == PcpBatches::Counted);
        let most_counted = shifted(batch, BATCH_SCALE_MAX);
        PcpSizes { high, full: high, batch, most_counted, counted, orders_from: batch, batches }
    }
    /// Such lists whose blocks of orders 1 to 3 wait until half a list more was freed.
    pub(crate) fn whose_orders_wait(self, wait: bool) -> Self {
        let more = if wait { self.high / 2 } else { 0 };
        PcpSizes { orders_from: self.batch.saturating_add(more), ..self }
    }
}

/// `pages << by`, or the largest number.
const fn shifted(pages: u32, by: u32) -> u32 {
    pages.saturating_mul(1 << by)
}

/// One CPU's lists as `/proc/zoneinfo` shows them.
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
pub(crate) const fn pcp_index(order: u8, mt: Migratetype) -> usize {
    if order > PAGE_ALLOC_COSTLY_ORDER {
        return NR_PCP_LISTS - 2 + matches!(mt, Migratetype::Movable) as usize;
    }
    // Pages of reserved pageblocks come back to them when the list is drained.
    let mt = if mt.mergeable() { mt } else { Migratetype::Movable };
    NR_PCPTYPES * order as usize + mt as usize
}

/// Order and type of the list with an index; the first type for lists of pageblock order that
/// unmovable and reclaimable blocks share.
pub(crate) fn of_index(index: usize, pageblock_order: u8) -> (u8, Migratetype) {
    let order = index / NR_PCPTYPES;
    if order <= usize::from(PAGE_ALLOC_COSTLY_ORDER) {
        return (order as u8, Migratetype::REQUESTS[index % NR_PCPTYPES]);
    }
    let movable = index == NR_PCP_LISTS - 1;
    (pageblock_order, if movable { Migratetype::Movable } else { Migratetype::Unmovable })
}

/// One list. A page is taken and freed at the end of a vector, where both are a few instructions.
/// What leaves at the tail is only passed over, until it is half of the vector.
#[derive(Clone, Debug, Default)]
struct List {
    /// The head is last.
    pages: Vec<u32>,
    /// Number of blocks at the front that are gone.
    gone: usize,
}

impl List {
    #[inline(always)]
    fn live(&self) -> &[u32] {
        &self.pages[self.gone..]
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u32> {
        if self.pages.len() == self.gone {
            return None;
        }
        self.pages.pop()
    }

    /// Puts blocks at the tail, the first one nearest to the head.
    fn append(&mut self, blocks: &[u32]) {
        self.pages.splice(..self.gone, blocks.iter().rev().copied());
        self.gone = 0;
    }

    /// Takes `n` blocks off the tail.
    fn pass_over(&mut self, n: usize) {
        self.gone += n;
        if 2 * self.gone >= self.pages.len() {
            self.pages.drain(..self.gone);
            self.gone = 0;
        }
    }
}

/// The lists of one CPU in one zone.
#[derive(Clone, Debug, Default)]
pub struct Pcp {
    lists: [List; NR_PCP_LISTS],
    count: u32,
    alloc_factor: u32,
    /// Pages freed in a row, or how often what goes back was doubled, as the kernel's
    /// [`PcpBatches`] has it. Each page that is taken halves it.
    frees: u32,
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
        let p = self.lists[index].pop()?;
        self.count -= 1 << order;
        self.frees >>= 1;
        Some(p)
    }

    /// Pages of a list, the head last.
    #[inline]
    pub fn stock(&self, index: usize) -> &[u32] {
        self.lists[index].live()
    }

    /// Takes `n` single pages off the head of a list, which has at least that many.
    #[inline]
    pub(crate) fn take_stock(&mut self, index: usize, n: usize) {
        let l = &mut self.lists[index].pages;
        l.truncate(l.len() - n);
        self.count -= n as u32;
        self.frees = self.frees.checked_shr(n as u32).unwrap_or(0);
    }

    /// Fills a list that is empty with blocks, the first to be taken first.
    pub fn refill(&mut self, index: usize, order: u8, blocks: impl FnOnce(&mut Vec<u32>)) {
        let list = &mut self.lists[index];
        debug_assert!(list.live().is_empty(), "list {index} is refilled before it is empty");
        list.pages.clear();
        list.gone = 0;
        blocks(&mut list.pages);
        list.pages.reverse();
        self.count += (list.pages.len() as u32) << order;
    }

    /// Appends blocks at the tail of a list, the first first.
    pub fn append(&mut self, index: usize, order: u8, blocks: &[u32]) {
        self.lists[index].append(blocks);
        self.count += (blocks.len() as u32) << order;
    }

    /// Puts freed single pages at the head of a list, as far as none of them makes the lists
    /// full. Returns how many: the next one goes by [`Pcp::put`].
    #[inline]
    pub(crate) fn put_pages(&mut self, index: usize, pages: &[u32], sizes: PcpSizes) -> usize {
        let room = sizes.full.saturating_sub(self.count + 1) as usize;
        let now = &pages[..room.min(pages.len())];
        if !now.is_empty() {
            let n = now.len() as u32;
            self.lists[index].pages.extend_from_slice(now);
            self.count += n;
            self.alloc_factor = self.alloc_factor.checked_shr(n).unwrap_or(0);
            self.frees = self.frees.saturating_add(n * sizes.counted).min(sizes.most_counted);
            self.prev_free_high_order = false;
        }
        now.len()
    }

    /// Puts a freed single page at the head of a list, if that is all there is to do: neither do
    /// the lists become full nor has this one to be given more memory. Else nothing changes, and
    /// the page goes by [`Pcp::put`].
    #[inline(always)]
    pub(crate) fn put_page(&mut self, index: usize, p: u32, sizes: &PcpSizes) -> bool {
        let count = self.count + 1;
        let l = &mut self.lists[index].pages;
        if count >= sizes.full || l.len() == l.capacity() {
            return false;
        }
        l.push(p);
        self.count = count;
        self.alloc_factor >>= 1;
        self.frees = self.frees.saturating_add(sizes.counted).min(sizes.most_counted);
        self.prev_free_high_order = false;
        true
    }

    /// Blocks that the refill of an empty list takes.
    pub(crate) fn nr_alloc(&mut self, sizes: PcpSizes, order: u8) -> u32 {
        let base = sizes.batch;
        let mut batch = base;
        if sizes.batches == PcpBatches::Counted {
            if sizes.high < base {
                return 1;
            }
            if order == 0 {
                let room = sizes.high.saturating_sub(self.count.saturating_add(base)).max(base);
                batch = shifted(base, self.alloc_factor);
                if batch <= room && self.alloc_factor < BATCH_SCALE_MAX {
                    self.alloc_factor += 1;
                }
                batch = batch.min(room);
            }
        }
        if batch > 1 && order > 0 { (batch >> order).max(2) } else { batch.max(1) }
    }

    /// Puts a freed block at the head of a list. Returns how many pages have to go back now.
    pub(crate) fn put(&mut self, index: usize, order: u8, p: u32, sizes: PcpSizes) -> u32 {
        self.lists[index].pages.push(p);
        self.count += 1 << order;
        self.alloc_factor >>= 1;
        self.frees = self.frees.saturating_add(sizes.counted << order).min(sizes.most_counted);
        self.nr_free(order, sizes)
    }

    fn nr_free(&mut self, order: u8, sizes: PcpSizes) -> u32 {
        let high_order = order > 0 && order <= PAGE_ALLOC_COSTLY_ORDER;
        let before = std::mem::replace(&mut self.prev_free_high_order, high_order);
        // A stock of higher orders would only keep them from merging.
        let all = match sizes.batches {
            PcpBatches::Fixed => 0,
            PcpBatches::FreesDouble if high_order && self.frees > 0 => self.count,
            PcpBatches::Counted if high_order && before && self.frees >= sizes.orders_from => {
                self.count.min(sizes.most_counted)
            }
            PcpBatches::FreesDouble | PcpBatches::Counted => 0,
        };
        if all > 0 || self.count < sizes.full {
            return all;
        }
        if sizes.batches != PcpBatches::Fixed && sizes.full < sizes.batch {
            return 1;
        }
        let most = sizes.full.saturating_sub(sizes.batch);
        match sizes.batches {
            PcpBatches::Fixed => sizes.batch,
            PcpBatches::FreesDouble => {
                let doubled = shifted(sizes.batch, self.frees);
                self.frees += u32::from(doubled < most && self.frees < BATCH_SCALE_MAX);
                doubled.min(most)
            }
            PcpBatches::Counted => self.frees.clamp(sizes.batch, most.max(sizes.batch)),
        }
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
            let nr = (left.div_ceil(1 << order) as usize).min(list.live().len());
            if nr > 0 {
                give(&list.live()[..nr], order);
                list.pass_over(nr);
                self.count -= (nr as u32) << order;
                left = left.saturating_sub((nr as u32) << order);
            }
            i = if i + 1 == NR_PCP_LISTS { 0 } else { i + 1 };
        }
    }

    /// All lists, each with its index (as `pcp_index` gives it) and its blocks from the head.
    pub fn lists(&self) -> impl Iterator<Item = (usize, Vec<u32>)> + '_ {
        self.lists.iter().enumerate().map(|(i, l)| (i, l.live().iter().rev().copied().collect()))
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
            l.live().iter().map(move |&p| (p, order))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = pcp_index(0, Migratetype::Movable);

    /// Frees pages until some have to go back; gives them back, and says how many.
    fn next_bulk(pcp: &mut Pcp, sizes: PcpSizes) -> u32 {
        loop {
            let n = pcp.put(PAGE, 0, 0, sizes);
            if n > 0 {
                assert_eq!(pcp.count(), sizes.full, "not before the lists are full");
                pcp.drain(n, PAGE, 9, |_, _| {});
                return n;
            }
        }
    }

    /// `nr_pcp_free()` of 6.1 worked by hand, with a high of 124 and batches of 31: 31, 62, and then
    /// 124, of which 93 may go, since a batch stays. A page that is taken halves the shift. Before that
    /// kernel it is always a batch.
    #[test]
    fn bulks_double_from_5_14_on() {
        let sizes = PcpSizes::new(124, 31, PcpBatches::FreesDouble);
        let mut pcp = Pcp::default();
        let bulks = [(); 5].map(|()| next_bulk(&mut pcp, sizes));
        assert_eq!(bulks, [31, 62, 93, 93, 93]);
        assert_eq!(pcp.frees, 2, "124 is not below 93: no more doubling");
        pcp.take(PAGE, 0).expect("a batch stayed");
        assert_eq!([(); 2].map(|()| next_bulk(&mut pcp, sizes)), [62, 93]);
        let fixed = PcpSizes::new(124, 31, PcpBatches::Fixed);
        let mut pcp = Pcp::default();
        assert_eq!([(); 3].map(|()| next_bulk(&mut pcp, fixed)), [31, 31, 31]);
    }

    /// The fast paths count as the slow path does: while bulks double, a free changes nothing.
    #[test]
    fn the_short_ways_count_alike() {
        for batches in [PcpBatches::Fixed, PcpBatches::FreesDouble, PcpBatches::Counted] {
            let sizes = PcpSizes::new(124, 31, batches);
            let [mut one, mut many, mut long] = [(); 3].map(|()| Pcp::default());
            for pcp in [&mut one, &mut many, &mut long] {
                // Room for those to come, as after a refill.
                pcp.append(PAGE, 0, &[0; 16]);
                (0..6).for_each(|_| assert!(pcp.take(PAGE, 0).is_some()));
                pcp.frees = 3;
            }
            (0..5).for_each(|p| assert!(one.put_page(PAGE, p, &sizes)));
            assert_eq!(many.put_pages(PAGE, &[0, 1, 2, 3, 4], sizes), 5);
            (0..5).for_each(|p| assert_eq!(long.put(PAGE, 0, p, sizes), 0));
            let of = |p: &Pcp| (p.count(), p.frees, p.stock(PAGE).to_vec());
            assert_eq!(of(&one), of(&long), "{batches:?}");
            assert_eq!(of(&many), of(&long), "{batches:?}");
        }
    }

    /// Pairs are freed in a row, with a high of 124 and batches of 31. The second one behind 31 pages
    /// sends all back, that is the 16th; behind 93 pages it is the 47th.
    #[test]
    fn pcp_orders_wait() {
        let pair = pcp_index(1, Migratetype::Movable);
        for (wait, freed) in [(false, 16), (true, 47)] {
            let sizes = PcpSizes::new(124, 31, PcpBatches::Counted).whose_orders_wait(wait);
            let mut pcp = Pcp::default();
            let back = (1..).find(|&n| pcp.put(pair, 1, 2 * n, sizes) > 0);
            assert_eq!(back, Some(freed), "{wait}");
        }
    }

    /// Sizes at the ends of their range act as the exact sums would: a list as long as memory keeps
    /// everything, and one shorter than a batch gives single pages back from 5.14 on (`high < batch`).
    #[test]
    fn sizes_may_be_any_numbers() {
        for batches in [PcpBatches::Fixed, PcpBatches::FreesDouble, PcpBatches::Counted] {
            for (high, batch) in [(u32::MAX, u32::MAX - 1), (u32::MAX, 1 << 30), (u32::MAX, 1)] {
                let sizes = PcpSizes::new(high, batch, batches).whose_orders_wait(true);
                let mut pcp = Pcp::default();
                assert!((0..8).all(|p| pcp.put(PAGE, 0, p, sizes) == 0), "{sizes:?}");
                let refills = [(); 8].map(|()| pcp.nr_alloc(sizes, 0));
                assert!(refills.is_sorted() && refills[0] == batch, "{sizes:?}: {refills:?}");
                pcp.alloc_factor = 0;
                assert_eq!(pcp.nr_alloc(sizes, 1), (batch / 2).max(u32::from(batch > 1) + 1));
            }
            let short = PcpSizes::new(3, u32::MAX, batches);
            let mut pcp = Pcp::default();
            let back = [(); 3].map(|()| pcp.put(PAGE, 0, 0, short));
            assert_eq!(back, [0, 0, if batches == PcpBatches::Fixed { u32::MAX } else { 1 }]);
        }
    }

    /// Blocks of higher orders all go back once single pages have gone back in bulk without one being
    /// taken since (6.1).
    #[test]
    fn higher_orders_go_back_at_once_after_a_bulk() {
        let sizes = PcpSizes::new(124, 31, PcpBatches::FreesDouble);
        let pair = pcp_index(1, Migratetype::Movable);
        let mut pcp = Pcp::default();
        assert_eq!(pcp.put(pair, 1, 0, sizes), 0);
        next_bulk(&mut pcp, sizes);
        let count = pcp.count();
        assert_eq!(pcp.put(pair, 1, 2, sizes), count + 2);
    }
}
