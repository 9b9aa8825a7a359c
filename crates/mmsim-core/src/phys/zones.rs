//! Zones: watermarks, reserves, and the front of the page allocator.
//!
//! A zone holds a range of frames: its free blocks ([`Buddy`]), a stock of free pages for
//! each CPU ([`Pcp`]), and the thresholds that free memory is held against.
//!
//! Sources: Linux 6.12 mm/page_alloc.c (`__setup_per_zone_wmarks`,
//! `calculate_min_free_kbytes`, `setup_per_zone_lowmem_reserve`, `__zone_watermark_ok`,
//! `zone_watermark_fast`, `boost_watermark`, `rmqueue`, `zone_batchsize`,
//! `zone_highsize`). Left out: drift of per-CPU counters (free pages are exact).

use super::buddy::{Buddy, Capture, Columns, Extfrag, NR_ORDERS};
use super::fallback::Mode;
use super::fragmentation::FreeBlocks;
use super::frames::{FrameKind, Frames, flag};
use super::gfp::{AllocFlags, PAGE_ALLOC_COSTLY_ORDER};
use super::migratetype::Migratetype;
pub use super::pcp::PcpView;
use super::pcp::{Pcp, PcpBatches, PcpSizes, of_index, pcp_index};
use super::rules::{PageAllocRules, SlowPath, WmarkForm};
use crate::base::id::{CpuId, IndexVec, NodeId, Pfn, ZoneId};
use crate::machine::config::{Kernel, MachineConfig, VmSysctl, ZoneConfig, ZoneKind, ZoneLayout};

/// Which watermark a request is held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// `WMARK_MIN`.
    Min,
    /// `WMARK_LOW`.
    Low,
    /// `WMARK_HIGH`.
    High,
}

/// What a run of frames is, for those who walk physical memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunClass {
    /// One free block, or memory that was never touched.
    Free,
    /// A folio on an LRU list.
    Lru,
    /// Anything else.
    Other,
}

/// One zone.
#[derive(Clone, Debug)]
pub struct Zone {
    /// Which kind.
    pub kind: ZoneKind,
    /// Its node.
    pub node: NodeId,
    /// First frame.
    pub first: Pfn,
    /// Pages given to the allocator.
    pub managed: u32,
    /// Frames from the first to the last. More than are managed only with a layout.
    pub spanned: u32,
    /// Watermarks min, low, high, in pages.
    pub watermark: [u64; 3],
    /// Temporary increase of the watermarks.
    pub boost: u64,
    /// Pages kept from requests that could use a higher zone, by kind of that zone.
    pub lowmem_reserve: [u64; 4],
    /// `NR_FREE_PAGES`; pages in per-CPU lists do not count.
    pub free: u64,
    /// Of these, pages kept for requests that cannot sleep.
    free_highatomic: u64,
    /// Largest boost; 0: never boosted.
    most_boost: u64,
    /// `vm.extfrag_threshold`.
    extfrag_threshold: i64,
    /// Boosted since kswapd was last told (`ZONE_BOOSTED_WATERMARK`).
    boosted: bool,
    /// Pages that it gives before others have their turn (`NR_ALLOC_BATCH`), where zones give in
    /// proportion.
    pub(super) share: i64,
    reserved: u32,
    pcp_at_start: u32,
    layout: Option<ZoneLayout>,
    buddy: Buddy,
    pcp: Vec<Pcp>,
    sizes: PcpSizes,
    /// Pages at which a batch of them goes back while kswapd is at work.
    full_in_reclaim: u32,
    /// Kept for pages on their way to a per-CPU list.
    scratch: Vec<u32>,
}

impl Zone {
    fn mark(&self, m: Mark) -> u64 {
        self.watermark[m as usize] + self.boost
    }

    // ---- watermarks ----

    /// Whether a request of order 0 for zones up to `highest` leaves more than the mark.
    #[inline]
    pub fn watermark_ok(&self, mark: Mark, highest: ZoneKind) -> bool {
        let reserve = self.lowmem_reserve[highest as usize] + self.free_highatomic;
        self.free > self.mark(mark) + reserve
    }

    /// Whether a request for zones up to `highest` leaves more than the mark and `more` pages.
    pub fn exceeds(&self, mark: Mark, more: u64, highest: ZoneKind) -> bool {
        let reserve = self.lowmem_reserve[highest as usize] + self.free_highatomic;
        self.free > self.mark(mark) + more + reserve
    }

    /// Whether a request of any order may be served (`zone_watermark_fast`).
    pub fn allows(&self, order: u8, mark: Mark, highest: ZoneKind, flags: AllocFlags) -> bool {
        if order == 0 && self.watermark_ok(mark, highest) {
            return true;
        }
        if self.leaves(order, self.mark(mark), highest, flags, self.free) {
            return true;
        }
        // The boost is no obstacle to those who may use reserves.
        let unboosted = order == 0 && flags.min_reserve && self.boost > 0 && mark == Mark::Min;
        unboosted && self.leaves(order, self.watermark[0], highest, flags, self.free)
    }

    /// Whether a zone with `free` free pages would leave `mark` of them, and has a block that
    /// is large enough (`__zone_watermark_ok`).
    pub fn leaves(
        &self,
        order: u8,
        mark: u64,
        highest: ZoneKind,
        flags: AllocFlags,
        free: u64,
    ) -> bool {
        let kept = if flags.reserves() { 0 } else { self.free_highatomic };
        let mut left = free as i64 - ((1 << order) - 1) - kept as i64;
        let mut min = mark as i64;
        if flags.min_reserve {
            min -= min / 2;
            if flags.non_block {
                min -= min / 4;
            }
        }
        let reserve = self.lowmem_reserve[highest as usize] as i64;
        if left <= min + reserve {
            return false;
        }
        match self.buddy.rules().wmark_form {
            _ if order == 0 => true,
            WmarkForm::PerOrder => (0..order).all(|k| {
                left -= (self.buddy.nr_free_blocks_of_order(k) << k) as i64;
                min >>= 1;
                left > min
            }),
            WmarkForm::OneBlock => {
                let has = |mt| self.buddy.has_block(order, mt);
                Migratetype::REQUESTS.into_iter().any(has)
                    || flags.highatomic && has(Migratetype::HighAtomic)
            }
        }
    }

    /// Whether compaction could start for a request (`compaction_suitable`): enough free
    /// pages to move others to, and fragmentation rather than lack of memory in the way.
    pub fn compaction_suitable(&self, order: u8, highest: ZoneKind) -> bool {
        let costly = order > PAGE_ALLOC_COSTLY_ORDER;
        let mark = self.mark(if costly { Mark::Low } else { Mark::Min }) + (2 << order);
        if !self.leaves(0, mark, highest, AllocFlags::default(), self.free) {
            return false;
        }
        let index = self.fragmentation_index(order);
        !costly || !(0..=self.extfrag_threshold).contains(&index)
    }

    /// How much of a failure of `order` is due to fragmentation, in thousandths; see
    /// [`FreeBlocks::fragmentation_index`].
    pub fn fragmentation_index(&self, order: u8) -> i64 {
        FreeBlocks { nr: &self.free_blocks() }.fragmentation_index(order)
    }

    /// Free blocks per order, of all types that are in use.
    pub fn free_blocks(&self) -> [u64; NR_ORDERS] {
        std::array::from_fn(|k| self.buddy.nr_free_blocks_of_order(k as u8))
    }

    // ---- taking and giving ----

    /// The end of memory: last frame plus one.
    pub fn end(&self) -> Pfn {
        Pfn(self.first.0 + self.spanned)
    }

    /// Puts the zone's free memory on its lists, once, before the first allocation.
    pub fn populate(&mut self, c: &mut Columns<'_>) {
        if let Some(layout) = self.layout.take() {
            self.lay_out(c, &layout);
            return self.settle();
        }
        let listed = self.first.0 + self.reserved..self.first.0 + self.reserved + self.pcp_at_start;
        listed.clone().for_each(|p| c.frames.reset(Pfn(p), FrameKind::Pcp));
        let pages: Vec<u32> = listed.clone().rev().collect();
        self.pcp[0].append(pcp_index(0, Migratetype::Movable), 0, &pages);
        self.buddy.populate(c, Pfn(listed.end));
        self.settle();
    }

    /// Puts exactly the named blocks on the lists; the kernel holds the rest.
    fn lay_out(&mut self, c: &mut Columns<'_>, layout: &ZoneLayout) {
        let first = self.first.0;
        (first..self.end().0).for_each(|p| c.frames.reset(Pfn(p), FrameKind::Kernel));
        let size = 1 << self.buddy.rules().pageblock_order;
        for &(block, mt) in &layout.blocks {
            self.buddy.set_block_type(Pfn(first + block * size), mt);
        }
        for &(p, order, mt) in &layout.free {
            self.buddy.put_at_start(c, Pfn(first + p), order, mt);
        }
        for &(p, order, mt) in &layout.pcp {
            for tail in p + 1..p + (1 << order) {
                c.frames.reset(Pfn(first + tail), FrameKind::Free);
            }
            c.frames.reset_block(Pfn(first + p), FrameKind::Pcp, order, mt);
            self.pcp[0].append(pcp_index(order, mt), order, &[first + p]);
        }
    }

    /// Takes note of what the lists did: free pages, boosts.
    pub(super) fn settle(&mut self) {
        self.free = self.buddy.nr_free();
        self.free_highatomic = self.buddy.nr_free_of(Migratetype::HighAtomic);
        let attempts = std::mem::take(&mut self.buddy.boosts);
        if attempts > 0 && self.most_boost > 0 {
            let step = u64::from(attempts) << self.buddy.rules().pageblock_order;
            self.boost = (self.boost + step).min(self.most_boost);
            self.boosted = true;
        }
    }

    /// The page at the head of a CPU's list, if it has one.
    #[inline(always)]
    pub fn take_from_pcp(&mut self, cpu: CpuId, mt: Migratetype) -> Option<Pfn> {
        self.pcp[usize::from(cpu.0)].take(pcp_index(0, mt), 0).map(Pfn)
    }

    /// The pages on a CPU's list that are at hand, the next to be taken last: some of the
    /// list, at least one if it has any.
    #[inline]
    pub fn stock(&self, cpu: CpuId, mt: Migratetype) -> &[u32] {
        self.pcp[usize::from(cpu.0)].stock(pcp_index(0, mt))
    }

    /// Takes the first `n` pages of [`Zone::stock`], as so many calls of
    /// [`Zone::take_from_pcp`].
    #[inline]
    pub fn take_stock(&mut self, cpu: CpuId, mt: Migratetype, n: usize) {
        self.pcp[usize::from(cpu.0)].take_stock(pcp_index(0, mt), n);
    }

    /// Takes a block through the CPU's lists if they hold such, else from the buddy
    /// (`rmqueue`). The frames are nobody's then.
    pub fn take(
        &mut self,
        c: &mut Columns<'_>,
        cpu: CpuId,
        order: u8,
        mt: Migratetype,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let mut found = None;
        if self.pcp_allowed(order) {
            let index = pcp_index(order, mt);
            found = self.pcp[usize::from(cpu.0)].take(index, order).map(Pfn).or_else(|| {
                self.refill_pcp(c, cpu, order, mt, flags);
                self.pcp[usize::from(cpu.0)].take(index, order).map(Pfn)
            });
        }
        found = found.or_else(|| self.take_from_buddy(c, order, mt, flags));
        self.settle();
        found
    }

    fn take_from_buddy(
        &mut self,
        c: &mut Columns<'_>,
        order: u8,
        mt: Migratetype,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let b = &mut self.buddy;
        if flags.highatomic
            && let Some(p) = b.take_smallest(c, order, Migratetype::HighAtomic)
        {
            return Some(p);
        }
        b.alloc(c, order, mt, flags.nofragment, &mut Mode::Normal).or_else(|| {
            // Failing now is worse than failing one of higher order later.
            let last = flags.non_block.then_some(Migratetype::HighAtomic)?;
            b.take_smallest(c, order, last)
        })
    }

    /// Whether blocks of an order go through the per-CPU lists (`pcp_allowed_order`).
    #[inline]
    fn pcp_allowed(&self, order: u8) -> bool {
        let rules = self.buddy.rules();
        let small = order <= PAGE_ALLOC_COSTLY_ORDER || order == rules.pageblock_order;
        self.sizes.high > 0 && (order == 0 || rules.pcp_orders && small)
    }

    fn refill_pcp(
        &mut self,
        c: &mut Columns<'_>,
        cpu: CpuId,
        order: u8,
        mt: Migratetype,
        flags: AllocFlags,
    ) {
        let pcp = &mut self.pcp[usize::from(cpu.0)];
        let n = pcp.nr_alloc(self.sizes, order);
        let mut got = std::mem::take(&mut self.scratch);
        got.clear();
        if order == 0 {
            self.buddy.alloc_pages(c, n, mt, flags.nofragment, &mut got);
        } else {
            let mut mode = Mode::Normal;
            let mut alloc = || self.buddy.alloc(c, order, mt, flags.nofragment, &mut mode);
            got.extend((0..n).map_while(|_| alloc()).map(|p| p.0));
        }
        for &p in &got {
            c.frames.reset_block(Pfn(p), FrameKind::Pcp, order, mt);
        }
        pcp.append(pcp_index(order, mt), order, &got);
        self.scratch = got;
    }

    /// Takes pages for the kernel's own use, before anything else runs.
    pub fn take_for_kernel(&mut self, c: &mut Columns<'_>, n: u32) -> Vec<u32> {
        let mut got = Vec::new();
        self.buddy.alloc_pages(c, n, Migratetype::Unmovable, false, &mut got);
        self.buddy.boosts = 0;
        self.buddy.extfrag.clear();
        self.settle();
        got
    }

    /// Gives one page to the CPU's list, if it is of a movable pageblock, as most are, and that is
    /// all there is to do; else the page goes by [`Zone::put`].
    ///
    /// So the list is known before the page is: the processor goes on while it waits for both.
    #[inline(always)]
    pub fn put_to_pcp(&mut self, cpu: CpuId, pfn: Pfn) -> bool {
        const MOVABLE: usize = pcp_index(0, Migratetype::Movable);
        self.buddy.is_movable(pfn)
            && self.pcp[usize::from(cpu.0)].put_page(MOVABLE, pfn.0, &self.sizes)
    }

    /// Gives single pages back, one after the other, through the CPU's lists if there are such.
    pub fn put_many(
        &mut self,
        c: &mut Columns<'_>,
        cpu: CpuId,
        pages: impl IntoIterator<Item = Pfn>,
    ) {
        let mut queued = std::mem::take(&mut self.scratch);
        queued.clear();
        if self.sizes.high == 0 {
            queued.extend(pages.into_iter().map(|p| p.0));
            self.buddy.free_pages(c, &queued);
            self.settle();
            self.scratch = queued;
            return;
        }
        let mut list = None;
        for pfn in pages {
            c.frames.reset(pfn, FrameKind::Pcp);
            let mt = self.buddy.block_type(pfn);
            if list != Some(mt) {
                self.put_queued(c, cpu, list, &queued);
                queued.clear();
                list = Some(mt);
            }
            queued.push(pfn.0);
        }
        self.put_queued(c, cpu, list, &queued);
        self.scratch = queued;
    }

    /// Puts pages of pageblocks of one type to the CPU's list, draining it when it is full.
    fn put_queued(
        &mut self,
        c: &mut Columns<'_>,
        cpu: CpuId,
        mt: Option<Migratetype>,
        pages: &[u32],
    ) {
        let Some(mt) = mt else { return };
        let mut rest = pages;
        if mt != Migratetype::Isolate {
            let index = pcp_index(0, mt);
            while !rest.is_empty() {
                let pcp = &mut self.pcp[usize::from(cpu.0)];
                rest = &rest[pcp.put_pages(index, rest, self.sizes)..];
                let Some((&p, behind)) = rest.split_first() else { return };
                let n = pcp.put(index, 0, p, self.sizes);
                if n > 0 {
                    self.drain(c, cpu, n, index);
                }
                rest = behind;
            }
        }
        if !rest.is_empty() {
            self.buddy.free_pages(c, rest);
            self.settle();
        }
    }

    /// Gives pages of a full per-CPU list back to the buddy.
    #[inline(never)]
    pub fn drain(&mut self, c: &mut Columns<'_>, cpu: CpuId, n: u32, index: usize) {
        let block = self.buddy.rules().pageblock_order;
        let buddy = &mut self.buddy;
        self.pcp[usize::from(cpu.0)].drain(n, index, block, |pages, order| match order {
            0 => buddy.free_pages(c, pages),
            _ => pages.iter().for_each(|&p| buddy.free(c, Pfn(p), order)),
        });
        self.settle();
    }

    /// Gives all pages of a CPU's lists back, but for the first block that is `wanted`.
    pub fn drain_capturing(
        &mut self,
        c: &mut Columns<'_>,
        cpu: CpuId,
        wanted: Capture,
    ) -> Option<Pfn> {
        let block = self.buddy.rules().pageblock_order;
        let (buddy, mut captured) = (&mut self.buddy, None);
        self.pcp[usize::from(cpu.0)].drain(u32::MAX, 0, block, |pages, order| {
            for &p in pages {
                match captured {
                    None => captured = buddy.free_or_capture(c, Pfn(p), order, wanted),
                    Some(_) => buddy.free(c, Pfn(p), order),
                }
            }
        });
        self.settle();
        captured
    }

    /// Gives a block back, through the CPU's lists if they hold such.
    #[inline(never)]
    pub fn put(&mut self, c: &mut Columns<'_>, cpu: CpuId, pfn: Pfn, order: u8) {
        let mt = self.buddy.block_type(pfn);
        if self.pcp_allowed(order) && mt != Migratetype::Isolate {
            if order == 0 {
                // As by the short way, [`Zone::put_to_pcp`]: its flags do not say the type.
                c.frames.reset(pfn, FrameKind::Pcp);
            } else {
                for p in pfn.0..pfn.0 + (1 << order) {
                    c.frames.reset(Pfn(p), FrameKind::Free);
                }
                c.frames.reset_block(pfn, FrameKind::Pcp, order, mt);
            }
            let index = pcp_index(order, mt);
            let n = self.pcp[usize::from(cpu.0)].put(index, order, pfn.0, self.sizes);
            if n > 0 {
                self.drain(c, cpu, n, index);
            }
            return;
        }
        self.buddy.free(c, pfn, order);
        self.settle();
    }

    /// Gives the pages of all per-CPU lists back.
    pub fn drain_pcp(&mut self, c: &mut Columns<'_>) {
        for cpu in 0..self.pcp.len() {
            self.drain(c, CpuId(cpu as u16), u32::MAX, 0);
        }
    }

    /// Keeps the pageblock of a block for requests that cannot sleep.
    pub fn reserve_highatomic(&mut self, c: &mut Columns<'_>, pfn: Pfn, order: u8) {
        self.buddy.reserve_highatomic(c, pfn, order, self.managed.into());
        self.settle();
    }

    /// Gives a pageblock kept for requests that cannot sleep back to the others.
    pub fn unreserve_highatomic(
        &mut self,
        c: &mut Columns<'_>,
        to: Migratetype,
        force: bool,
    ) -> bool {
        let done = self.buddy.unreserve_highatomic(c, to, force);
        self.settle();
        done
    }

    /// Free pages above a mark, as compaction counts them: without those that are kept for others,
    /// and without regard to a boost of the marks.
    pub(super) fn room_above(&self, mark: Mark) -> i64 {
        let kept = self.free_highatomic + self.lowmem_reserve[ZoneKind::Dma as usize];
        self.free as i64 - (kept + self.watermark[mark as usize]) as i64
    }

    /// Takes the free block that begins at a frame out of the allocator, for compaction.
    /// `None`: there is none, or the zone would fall below `watermark` plus the block
    /// (`__isolate_free_page`; the mark is min in 6.x and low in 4.1).
    pub fn isolate_free_block(
        &mut self,
        c: &mut Columns<'_>,
        pfn: Pfn,
        watermark: Mark,
    ) -> Option<u8> {
        let b = self.buddy.block_from(c.frames, pfn)?;
        if b.migratetype != Migratetype::Isolate && self.room_above(watermark) <= 1 << b.order {
            return None;
        }
        self.buddy.isolate_block(c, b);
        self.settle();
        Some(b.order)
    }

    /// Lets a free list begin with one of its blocks ([`Buddy::rotate_list`]).
    pub fn rotate_list(&mut self, c: &mut Columns<'_>, order: u8, mt: Migratetype, first: Pfn) {
        self.buddy.rotate_list(c, order, mt, first);
    }

    /// Takes a block of this order that begins at a frame, if all of it is free, and leaves the
    /// rest of a larger one free (`compaction_capture`).
    pub fn take_at(&mut self, c: &mut Columns<'_>, pfn: Pfn, order: u8) -> bool {
        let Some(b) = self.buddy.block_at(c.frames, pfn).filter(|b| b.order >= order) else {
            return false;
        };
        self.buddy.take_block(c, b);
        // The halves that it is not in, from the largest on.
        let mut at = b.pfn.0;
        for k in (order..b.order).rev() {
            let in_upper = pfn.0 & 1 << k != 0;
            let (keep, free) = if in_upper { (at + (1 << k), at) } else { (at, at + (1 << k)) };
            self.buddy.free(c, Pfn(free), k);
            at = keep;
        }
        self.settle();
        true
    }

    /// Changes the type of the pageblock of a frame; its free blocks stay on their lists. For
    /// zones that begin with a history.
    pub fn set_pageblock_type(&mut self, pfn: Pfn, mt: Migratetype) {
        self.buddy.set_block_type(pfn, mt);
    }

    /// Takes all free memory off the lists and gives the pageblocks these types. What was free is
    /// nobody's until it is put on a list.
    pub fn clear(&mut self, c: &mut Columns<'_>, types: &[Migratetype]) {
        for p in self.first.0..self.end().0 {
            if matches!(c.frames.kind(Pfn(p)), FrameKind::Buddy | FrameKind::Pcp) {
                c.frames.reset(Pfn(p), FrameKind::Free);
            }
        }
        self.buddy.clear(types);
        self.pcp.iter_mut().for_each(Pcp::clear);
        self.settle();
    }

    /// Puts blocks that are nobody's on a list of the zone or of a CPU, the first to be handed
    /// out first.
    pub fn restore_list(
        &mut self,
        c: &mut Columns<'_>,
        cpu: Option<CpuId>,
        order: u8,
        mt: Migratetype,
        blocks: &[Pfn],
    ) {
        let pcp = cpu.and_then(|cpu| self.pcp.get_mut(usize::from(cpu.0)));
        match pcp.filter(|_| self.sizes.high > 0) {
            Some(pcp) => {
                blocks.iter().for_each(|&p| c.frames.reset_block(p, FrameKind::Pcp, order, mt));
                let blocks: Vec<u32> = blocks.iter().map(|p| p.0).collect();
                pcp.append(pcp_index(order, mt), order, &blocks);
            }
            None if cpu.is_some() => blocks.iter().for_each(|&p| self.buddy.free(c, p, order)),
            None => blocks.iter().for_each(|&p| self.buddy.append(c, p, order, mt)),
        }
        self.settle();
    }

    /// Gives a frame that is nobody's to the zone's own lists.
    pub fn give(&mut self, c: &mut Columns<'_>, pfn: Pfn) {
        self.buddy.free(c, pfn, 0);
        self.settle();
    }

    /// Gives a block back that was isolated and not needed (`__putback_isolated_page`).
    pub fn put_back_isolated(&mut self, c: &mut Columns<'_>, pfn: Pfn, order: u8) {
        self.buddy.free_to_tail(c, pfn, order);
        self.settle();
    }

    /// Fallbacks to other types since the last call.
    #[inline]
    pub fn take_extfrag(&mut self) -> Vec<Extfrag> {
        std::mem::take(&mut self.buddy.extfrag)
    }

    /// Whether the watermarks were boosted since the last call.
    #[inline]
    pub fn take_boosted(&mut self) -> bool {
        std::mem::take(&mut self.boosted)
    }

    // ---- questions ----

    /// Free blocks of an order and a migratetype, as `/proc/pagetypeinfo` counts them.
    pub fn nr_free_blocks(&self, order: u8, mt: Migratetype) -> u64 {
        self.buddy.nr_free_blocks(order, mt)
    }
    /// Pageblocks of a migratetype, as `/proc/pagetypeinfo` counts them.
    pub fn pageblocks(&self, mt: Migratetype) -> u64 {
        self.buddy.pageblocks().filter(|b| b.1 == mt).count() as u64
    }
    /// A CPU's lists, as `/proc/zoneinfo` shows them.
    pub fn pcp(&self, cpu: CpuId) -> PcpView {
        let count = self.pcp[usize::from(cpu.0)].count();
        PcpView { count, high: self.sizes.high, batch: self.sizes.batch }
    }
    /// Pages of pageblocks kept for requests that cannot sleep.
    pub fn nr_reserved_highatomic(&self) -> u64 {
        self.buddy.nr_reserved_highatomic
    }
    /// The free blocks, to look at.
    pub fn buddy(&self) -> &Buddy {
        &self.buddy
    }

    /// The same, to be changed; then [`Zone::settle`].
    pub(super) fn buddy_mut(&mut self) -> &mut Buddy {
        &mut self.buddy
    }

    /// Pages in per-CPU lists.
    pub fn pcp_count(&self) -> u64 {
        self.pcp.iter().map(|p| u64::from(p.count())).sum()
    }

    /// Blocks in per-CPU lists: first frame and order.
    pub fn pcp_blocks(&self) -> impl Iterator<Item = (Pfn, u8)> + '_ {
        let order = self.buddy.rules().pageblock_order;
        self.pcp.iter().flat_map(move |p| p.blocks(order)).map(|(p, k)| (Pfn(p), k))
    }

    /// The lists of the CPUs that have blocks: whose, order, type, blocks from the head.
    pub fn pcp_lists(&self) -> Vec<(CpuId, u8, Migratetype, Vec<Pfn>)> {
        let block = self.buddy.rules().pageblock_order;
        let mut all = Vec::new();
        for (cpu, pcp) in self.pcp.iter().enumerate() {
            for (index, blocks) in pcp.lists().filter(|l| !l.1.is_empty()) {
                let (order, mt) = of_index(index, block);
                all.push((CpuId(cpu as u16), order, mt, blocks.into_iter().map(Pfn).collect()));
            }
        }
        all
    }

    /// Whether a frame is one of those that the kernel held from the start.
    pub fn is_reserved(&self, pfn: Pfn) -> bool {
        (self.first.0..self.first.0 + self.reserved).contains(&pfn.0)
    }

    /// Frames that the kernel held from the start, at the bottom of the zone.
    pub fn reserved(&self) -> u64 {
        self.reserved.into()
    }

    /// Frames outside of the run that was never touched, by address.
    pub fn touched(&self) -> impl Iterator<Item = Pfn> + use<> {
        let run = self.buddy.untouched();
        let (first, end) = (self.first.0, self.end().0);
        let run = if run.is_empty() { end..end } else { run };
        (first..run.start).chain(run.end..end).map(Pfn)
    }

    /// The run of frames that begins at `pfn`, up to the end of the zone: a free block from
    /// there on, one folio, or one frame of anything else. Free blocks are passed whole, so
    /// walking a zone costs what is in use.
    pub fn next_run(&self, frames: &Frames, pfn: Pfn) -> (Pfn, u32, RunClass) {
        let untouched = self.buddy.untouched();
        let end = if untouched.contains(&pfn.0) {
            untouched.end
        } else if let Some(b) = self.buddy.block_at(frames, pfn) {
            b.pfn.0 + (1 << b.order)
        } else if frames.has(pfn, flag::LRU) {
            return (pfn, 1 << frames.order(pfn), RunClass::Lru);
        } else {
            return (pfn, 1, RunClass::Other);
        };
        (pfn, end - pfn.0, RunClass::Free)
    }
}

/// Per node and highest kind, the zone that is asked first, or [`NO_ZONE`]. There is room for all
/// nodes that a number can name, so that to look one up takes a single instruction.
pub(super) type Asked = [[ZoneId; 4]; 1 << u8::BITS];
/// No zone has this number.
pub(super) const NO_ZONE: ZoneId = ZoneId(u8::MAX);

/// The zones of the machine, in address order, nodes one after the other.
#[derive(Clone, Debug)]
pub struct Zones {
    pub(super) zones: IndexVec<ZoneId, Zone>,
    pub(super) by_node: IndexVec<NodeId, Vec<ZoneId>>,
    /// The highest zone.
    preferred: Asked,
    /// The same, of those that have some of their share left.
    pub(super) first_asked: Asked,
    /// First frame of each zone, for `of`.
    starts: Vec<u32>,
    nr_frames: u32,
    /// Σ of the larger of reserve and high watermark: what is not dirtyable.
    pub totalreserve: u64,
}

impl Zones {
    /// Sets up the zones of a machine: addresses, watermarks, reserves, per-CPU lists.
    pub fn new(config: &MachineConfig) -> Self {
        let mut zones = IndexVec::new();
        let mut by_node = IndexVec::new();
        let mut starts = Vec::new();
        let mut preferred = [[NO_ZONE; 4]; 1 << u8::BITS];
        let rules = config.page_alloc.unwrap_or(PageAllocRules::of(config.kernel));
        let largest = 1u32 << rules.max_order;
        let mut next = 0u32;
        for (n, node) in config.nodes.iter().enumerate() {
            let mut ids = Vec::new();
            for z in node.zones.iter().filter(|z| z.managed > 0) {
                starts.push(next);
                let node = NodeId(n as u8);
                ids.push(zones.push(new_zone(z, node, Pfn(next), config.cpus, rules)));
                // A block of the largest order lies in one zone.
                let spanned = z.layout.as_ref().map_or(z.managed, |l| l.spanned);
                next = (next + spanned).next_multiple_of(largest);
            }
            preferred[n] = ZoneKind::ALL.map(|highest| {
                let below = |&z: &ZoneId| zones[z].kind <= highest;
                ids.iter().copied().rfind(below).unwrap_or(NO_ZONE)
            });
            by_node.push(ids);
        }
        assert!(zones.len() <= usize::from(NO_ZONE.0), "too many zones");
        let first_asked = preferred;
        let (nr_frames, totalreserve) = (next, 0);
        let mut this =
            Zones { zones, by_node, preferred, first_asked, starts, nr_frames, totalreserve };
        this.setup(config);
        this.deal_shares();
        this
    }

    /// Puts the free memory of all zones on their lists, once.
    pub fn populate(&mut self, c: &mut Columns<'_>) {
        self.zones.iter_mut().for_each(|z| z.populate(c));
    }

    fn setup(&mut self, config: &MachineConfig) {
        let configs: Vec<&ZoneConfig> =
            config.nodes.iter().flat_map(|n| n.zones.iter().filter(|z| z.managed > 0)).collect();
        let lowmem: u64 = self.lowmem();
        let min_free = min_free_kbytes(lowmem, &config.vm);
        for (z, c) in self.zones.iter_mut().zip(&configs) {
            let scaled = z.buddy.rules().scaled_watermarks;
            z.watermark = c.watermarks.map_or_else(
                || watermarks(z.kind, z.managed.into(), lowmem, min_free, &config.vm, scaled),
                |w| w.map(u64::from),
            );
        }
        for ids in self.by_node.iter() {
            for (i, &id) in ids.iter().enumerate() {
                let kind = self.zones[id].kind;
                let ratio = match kind {
                    ZoneKind::Dma | ZoneKind::Dma32 => 256,
                    ZoneKind::Normal => 32,
                    ZoneKind::Movable => 0,
                };
                let explicit = configs[id.0 as usize].lowmem_reserve;
                for highest in ZoneKind::ALL {
                    if highest <= kind {
                        continue;
                    }
                    let above: u64 = ids[i + 1..]
                        .iter()
                        .filter(|&&j| self.zones[j].kind <= highest)
                        .map(|&j| u64::from(self.zones[j].managed))
                        .sum();
                    self.zones[id].lowmem_reserve[highest as usize] = match explicit {
                        Some(e) => e.into(),
                        None if ratio == 0 => 0,
                        None => above / ratio,
                    };
                }
            }
        }
        for (z, c) in self.zones.iter_mut().zip(&configs) {
            let (high, batch) = c.pcp.unwrap_or_else(|| pcp_sizes(z, config));
            let batch = (batch >> config.batch_shift).max(1);
            let batches = match config.kernel {
                Kernel::V4_1 | Kernel::V5_5 | Kernel::V5_8 | Kernel::V5_9 => PcpBatches::Fixed,
                Kernel::V6_1 => PcpBatches::FreesDouble,
                Kernel::V6_12 => PcpBatches::Counted,
            };
            z.sizes = PcpSizes::new(high, batch, batches);
            z.full_in_reclaim =
                if config.kernel >= Kernel::V6_1 { high.min(batch << 2) } else { high };
            z.most_boost = most_boost(z, config.vm.watermark_boost_factor);
            z.extfrag_threshold = config.vm.extfrag_threshold.into();
        }
        self.totalreserve = self
            .zones
            .iter()
            .map(|z| {
                let r = z.lowmem_reserve.iter().copied().max().unwrap_or(0);
                (r + z.watermark[2]).min(z.managed.into())
            })
            .sum();
    }

    fn lowmem(&self) -> u64 {
        self.zones
            .iter()
            .filter(|z| z.kind != ZoneKind::Movable)
            .map(|z| u64::from(z.managed))
            .sum()
    }

    /// kswapd begins or ends its work on the zones of a node (`ZONE_RECLAIM_ACTIVE`).
    pub fn set_reclaim_active(&mut self, node: NodeId, highest: ZoneKind, active: bool) {
        for i in 0..self.of_node(node).len() {
            let z = self.of_node(node)[i];
            let zone = &mut self.zones[z];
            if zone.kind <= highest {
                zone.sizes.full = if active { zone.full_in_reclaim } else { zone.sizes.high };
            }
        }
    }

    /// All zones.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = ZoneId> + use<> {
        self.zones.ids()
    }
    /// Whether each zone has LRU lists of its own, as up to 4.7; later each node has.
    pub fn lru_by_zone(&self) -> bool {
        self.zones[ZoneId(0)].buddy.rules().slow_path == SlowPath::V4_1
    }
    /// The zones of a node, in address order.
    pub fn of_node(&self, n: NodeId) -> &[ZoneId] {
        &self.by_node[n]
    }
    /// The highest zone of a node for requests up to `highest`.
    #[inline(always)]
    pub fn preferred(&self, n: NodeId, highest: ZoneKind) -> Option<ZoneId> {
        Some(self.preferred[usize::from(n.0)][highest as usize]).filter(|&z| z != NO_ZONE)
    }
    /// The zone that a request for one page tries first, held against a mark or not.
    #[inline(always)]
    pub fn asked(&mut self, n: NodeId, highest: ZoneKind, mark: Option<Mark>) -> Option<&mut Zone> {
        let asked = if mark == Some(Mark::Low) { &self.first_asked } else { &self.preferred };
        self.zones.raw_mut().get_mut(usize::from(asked[usize::from(n.0)][highest as usize].0))
    }
    /// Whether the first pass over the zones avoids mixing types (`alloc_flags_nofragment`):
    /// only where a zone Normal is asked first, which has another to spread to.
    pub fn avoids_fragmentation(&self, n: NodeId, highest: ZoneKind) -> bool {
        let Some(z) = self.preferred(n, highest).map(|z| &self.zones[z]) else { return false };
        let dma32 = || self.by_node[n].iter().any(|&z| self.zones[z].kind == ZoneKind::Dma32);
        z.buddy.rules().avoid_fragmentation
            && z.kind == ZoneKind::Normal
            && (self.nr_nodes() == 1 || dma32())
    }
    /// Whether any zone up to `highest` serves plain requests for one page at a watermark.
    pub fn any_allows(&self, mark: Mark, highest: ZoneKind) -> bool {
        let flags = AllocFlags::default();
        self.zones.iter().any(|z| z.kind <= highest && z.allows(0, mark, highest, flags))
    }
    /// Number of nodes.
    pub fn nr_nodes(&self) -> usize {
        self.by_node.len()
    }
    /// Frame numbers in use: the frames of all zones, and gaps where a zone ends within a
    /// block of the largest order.
    pub fn nr_frames(&self) -> usize {
        self.nr_frames as usize
    }
    /// The zone of a frame.
    #[inline]
    pub fn of(&self, pfn: Pfn) -> ZoneId {
        // The first zone starts at 0.
        if self.starts.len() == 1 {
            return ZoneId(0);
        }
        let above = self.starts[1..].iter().rposition(|&start| start <= pfn.0);
        ZoneId(above.map_or(0, |i| i as u8 + 1))
    }
    /// The zone of a frame, to be changed.
    #[inline(always)]
    pub fn with(&mut self, pfn: Pfn) -> &mut Zone {
        if self.zones.len() == 1 {
            return &mut self.zones.raw_mut()[0];
        }
        let z = self.of(pfn);
        &mut self.zones[z]
    }
    /// The zone of some frames, if all of them are of one.
    #[inline]
    pub fn of_all(&self, frames: impl Iterator<Item = Pfn>) -> Option<ZoneId> {
        if self.starts.len() == 1 {
            return Some(ZoneId(0));
        }
        let (lo, hi) = frames.fold((u32::MAX, 0), |(lo, hi), f| (lo.min(f.0), hi.max(f.0)));
        let zone = self.of(Pfn(hi));
        (lo <= hi && self.starts[usize::from(zone.0)] <= lo).then_some(zone)
    }
    /// Free pages of all zones.
    pub fn nr_free(&self) -> u64 {
        self.zones.iter().map(|z| z.free).sum()
    }
    /// Whether some zone of the node up to `highest` could serve a request of `order` and
    /// stay above its high watermark; a node without such a zone needs no balancing.
    pub fn balanced(&self, node: NodeId, order: u8, highest: ZoneKind) -> bool {
        let mut eligible = self.by_node[node].iter().map(|&z| &self.zones[z]);
        let ok = |z: &Zone| z.allows(order, Mark::High, highest, AllocFlags::default());
        let mut any = false;
        let found = eligible.any(|z| {
            any |= z.kind <= highest;
            z.kind <= highest && ok(z)
        });
        found || !any
    }
}

impl std::ops::Index<ZoneId> for Zones {
    type Output = Zone;
    #[inline(always)]
    fn index(&self, z: ZoneId) -> &Zone {
        &self.zones[z]
    }
}
impl std::ops::IndexMut<ZoneId> for Zones {
    #[inline(always)]
    fn index_mut(&mut self, z: ZoneId) -> &mut Zone {
        &mut self.zones[z]
    }
}

fn new_zone(c: &ZoneConfig, node: NodeId, first: Pfn, cpus: u32, rules: PageAllocRules) -> Zone {
    let free = c.free_at_start.unwrap_or(c.managed).min(c.managed - c.pcp_at_start);
    let spanned = c.layout.as_ref().map_or(c.managed, |l| l.spanned);
    // Frames at the bottom are the kernel's own. With a layout they are where it says.
    let reserved = if c.layout.is_some() { 0 } else { c.managed - free - c.pcp_at_start };
    Zone {
        kind: c.kind,
        node,
        first,
        managed: c.managed,
        spanned,
        watermark: [0; 3],
        boost: 0,
        lowmem_reserve: [0; 4],
        free: free.into(),
        free_highatomic: 0,
        extfrag_threshold: 0,
        most_boost: 0,
        boosted: false,
        share: i64::MAX,
        reserved,
        pcp_at_start: c.pcp_at_start,
        layout: c.layout.clone(),
        buddy: Buddy::new(first, Pfn(first.0 + spanned), rules),
        pcp: vec![Pcp::default(); cpus as usize],
        sizes: PcpSizes::new(0, 1, PcpBatches::Fixed),
        full_in_reclaim: 0,
        scratch: Vec::new(),
    }
}

/// How far stealing may raise the watermarks: by the factor (in 1/10000) of the high one, at
/// least by a pageblock. 0: not at all, as in zones of less than four pageblocks.
fn most_boost(z: &Zone, factor: u32) -> u64 {
    let rules = z.buddy.rules();
    let block = 1u64 << rules.pageblock_order;
    let most = z.watermark[2] * u64::from(factor) / 10_000;
    let worth = rules.avoid_fragmentation && 4 * block <= u64::from(z.managed);
    if worth && most > 0 { most.max(block) } else { 0 }
}

/// `vm.min_free_kbytes`: floor(sqrt(16 x lowmem in KiB)), clamped to [128, 262144]
/// (without transparent huge pages).
pub fn min_free_kbytes(lowmem_pages: u64, vm: &VmSysctl) -> u64 {
    vm.min_free_kbytes.unwrap_or_else(|| (lowmem_pages * 4 * 16).isqrt().clamp(128, 262_144))
}

/// Watermarks min, low, high of a zone in pages. Unless they are `scaled` with the zone, low and
/// high are min and a quarter, min and a half.
pub fn watermarks(
    kind: ZoneKind,
    managed: u64,
    lowmem: u64,
    min_free_kbytes: u64,
    vm: &VmSysctl,
    scaled: bool,
) -> [u64; 3] {
    let pages_min = min_free_kbytes / 4;
    let share = (pages_min * managed).checked_div(lowmem).unwrap_or(0);
    let min = if kind == ZoneKind::Movable { (managed / 1024).clamp(32, 128) } else { share };
    if !scaled {
        return [min, min + share / 4, min + share / 2];
    }
    let d = (share / 4).max(managed * u64::from(vm.watermark_scale_factor) / 10_000);
    [min, min + d, min + 2 * d]
}

/// Refill size of per-CPU lists: a quarter of a 1024th of the zone, at most 64 pages,
/// rounded to a power of two minus one.
pub fn pcp_batch(managed: u64) -> u32 {
    let b = ((managed / 1024).min(256) / 4).max(1);
    let b = b + b / 2;
    (1u32 << b.ilog2()) - 1
}

fn pcp_sizes(z: &Zone, config: &MachineConfig) -> (u32, u32) {
    let batch = pcp_batch(z.managed.into()).max(1);
    let cpus = u64::from(config.cpus.max(1));
    let f = u64::from(config.vm.percpu_pagelist_high_fraction);
    let base = match u64::from(z.managed).checked_div(f) {
        Some(share) => share / cpus,
        None if config.kernel <= Kernel::V5_9 => 6 * u64::from(batch),
        None => z.watermark[1] / cpus,
    };
    let high =
        if f == 0 && config.kernel <= Kernel::V5_9 { base } else { base.max(4 * u64::from(batch)) };
    (high as u32, batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phys::lists::Lists;

    /// Worked by hand: default factors, one lowmem zone.
    #[test]
    fn watermarks_as_worked_by_hand() {
        let vm = VmSysctl::linux();
        for (managed, kb, want) in [
            (25_600, 1280, [320, 400, 480]),
            (65_536, 2048, [512, 640, 768]),
            (262_144, 4096, [1024, 1286, 1548]),
            (1_048_576, 8192, [2048, 3096, 4144]),
            (4_194_304, 16384, [4096, 8290, 12484]),
        ] {
            let m = min_free_kbytes(managed, &vm);
            assert_eq!(m, kb);
            assert_eq!(watermarks(ZoneKind::Normal, managed, managed, m, &vm, true), want);
        }
        let steep = VmSysctl { watermark_scale_factor: 100, ..VmSysctl::linux() };
        assert_eq!(
            watermarks(ZoneKind::Normal, 262_144, 262_144, 4096, &steep, true),
            [1024, 3645, 6266]
        );
    }

    /// Up to 4.5, worked by hand: 490,000 KiB, of which min is the root of 16 times as many.
    #[test]
    fn old_watermarks_as_worked_by_hand() {
        let vm = VmSysctl::linux();
        let m = min_free_kbytes(122_500, &vm);
        assert_eq!(m, 2800);
        let old = watermarks(ZoneKind::Normal, 122_500, 122_500, m, &vm, false);
        assert_eq!(old, [700, 875, 1050]);
    }

    /// Worked by hand: DMA 3840 and DMA32 256 000.
    #[test]
    fn two_zones_as_worked_by_hand() {
        let vm = VmSysctl::linux();
        let m = min_free_kbytes(259_840, &vm);
        assert_eq!(m, 4077);
        assert_eq!(watermarks(ZoneKind::Dma, 3840, 259_840, m, &vm, true), [15, 18, 21]);
        assert_eq!(watermarks(ZoneKind::Dma32, 256_000, 259_840, m, &vm, true), [1003, 1259, 1515]);
    }

    /// Worked by hand: a 1 GiB zone, a small one, a tiny one.
    #[test]
    fn pcp_batch_as_worked_by_hand() {
        assert_eq!(pcp_batch(262_144), 63);
        assert_eq!(pcp_batch(20_000), 3);
        assert_eq!(pcp_batch(3_000), 0);
    }

    fn zones_of(managed: &[(ZoneKind, u32)]) -> Zones {
        let zone = |&(kind, managed): &(ZoneKind, u32)| ZoneConfig {
            kind,
            managed,
            free_at_start: None,
            watermarks: None,
            lowmem_reserve: None,
            pcp: Some((0, 1)),
            pcp_at_start: 0,
            layout: None,
        };
        let device = |name| crate::backing::device::DeviceConfig::preset(name, 1).unwrap();
        Zones::new(&MachineConfig {
            kernel: Kernel::V6_12,
            page_alloc: None,
            cpus: 1,
            nodes: vec![crate::machine::config::NodeConfig {
                zones: managed.iter().map(zone).collect(),
            }],
            swap: None,
            file_device: device("nvme"),
            vm: VmSysctl::linux(),
            memcgs: Vec::new(),
            os_overhead: 0,
            lru_batch: None,
            stat_threshold: None,
            batch_shift: 0,
            tick: crate::base::time::SimDuration::from_millis(4),
            run_ahead: crate::base::time::SimDuration::ZERO,
            cost: crate::machine::cost::CostModel::measured(),
        })
    }

    /// While kswapd is at work, a CPU keeps four batches at most.
    #[test]
    fn lists_are_short_while_kswapd_is_at_work() {
        let kept = |active: &[bool]| {
            let mut zones = zones_of(&[(ZoneKind::Normal, 262_144)]);
            let zone = &mut zones[ZoneId(0)];
            zone.sizes = PcpSizes::new(100, 15, PcpBatches::Counted);
            zone.full_in_reclaim = 60;
            active.iter().for_each(|&a| zones.set_reclaim_active(NodeId(0), ZoneKind::Movable, a));
            let zone = &mut zones[ZoneId(0)];
            let (mut frames, mut lists) = (Frames::new(1 << 18, false), Lists::new(1 << 18));
            let mut c = Columns::new(&mut frames, &mut lists);
            let full = |p: &u32| {
                if !zone.put_to_pcp(CpuId(0), Pfn(*p)) {
                    zone.put(&mut c, CpuId(0), Pfn(*p), 0);
                }
                zone.pcp_count() <= u64::from(*p)
            };
            (0..262_144).find(full).expect("the list is full some time") + 1
        };
        assert_eq!(kept(&[]), 100);
        assert_eq!(kept(&[true]), 60);
        assert_eq!(kept(&[true, false]), 100);
    }

    /// Worked by hand: a 1 GiB zone with 1300 free pages passes at its low mark of 1286, and
    /// passes no more with 1286.
    #[test]
    fn a_mark_is_passed_by_more_than_it() {
        let mut zones = zones_of(&[(ZoneKind::Normal, 262_144)]);
        let z = &mut zones[ZoneId(0)];
        z.free = 1300;
        assert!(z.watermark_ok(Mark::Low, ZoneKind::Normal));
        assert!(!z.watermark_ok(Mark::High, ZoneKind::Normal));
        z.free = 1286;
        assert!(!z.watermark_ok(Mark::Low, ZoneKind::Normal));
        z.boost = 512;
        z.free = 1024 + 512;
        assert!(!z.watermark_ok(Mark::Min, ZoneKind::Normal), "every mark includes the boost");
    }

    /// Worked by hand: DMA keeps 256000 / 256 = 1000 pages from requests that could use DMA32,
    /// so a user page is taken from it only above 18 + 1000.
    #[test]
    fn a_low_zone_is_reserved_against_high_requests() {
        let mut zones = zones_of(&[(ZoneKind::Dma, 3840), (ZoneKind::Dma32, 256_000)]);
        let dma = &mut zones[ZoneId(0)];
        assert_eq!(dma.lowmem_reserve[ZoneKind::Movable as usize], 1000);
        assert_eq!(dma.lowmem_reserve[ZoneKind::Dma as usize], 0);
        dma.free = 1018;
        assert!(!dma.watermark_ok(Mark::Low, ZoneKind::Movable));
        dma.free = 1019;
        assert!(dma.watermark_ok(Mark::Low, ZoneKind::Movable));
        dma.free = 19;
        assert!(dma.watermark_ok(Mark::Low, ZoneKind::Dma));
    }

    const NONE: AllocFlags = AllocFlags {
        nofragment: false,
        min_reserve: false,
        non_block: false,
        highatomic: false,
        fair: false,
    };

    /// Worked by hand, in the same zone: a block of order 2 besides 1297 pages; and requests
    /// that cannot wait may go down to a min of 1024 - 512 - 128.
    #[test]
    fn orders_and_reserves_as_worked_by_hand() {
        let normal = ZoneKind::Normal;
        let mut zones = zones_of(&[(normal, 262_144)]);
        let z = &mut zones[ZoneId(0)];
        z.free = 1300;
        assert!(!z.allows(2, Mark::Low, normal, NONE), "no block at all");
        let (mut frames, mut lists) = (Frames::new(1 << 18, false), Lists::new(1 << 18));
        z.populate(&mut Columns::new(&mut frames, &mut lists));
        z.free = 1290;
        assert!(z.allows(2, Mark::Low, normal, NONE), "1287 > 1286");
        z.free = 1289;
        assert!(!z.allows(2, Mark::Low, normal, NONE));
        let atomic = AllocFlags { min_reserve: true, non_block: true, ..NONE };
        z.free = 385;
        assert!(z.allows(0, Mark::Min, normal, atomic));
        z.free = 384;
        assert!(!z.allows(0, Mark::Min, normal, atomic));
        // A boost is no obstacle to them.
        (z.free, z.boost) = (385, 2000);
        assert!(z.allows(0, Mark::Min, normal, atomic));
        assert!(!z.allows(1, Mark::Min, normal, atomic));
    }

    /// A zone whose free blocks of orders 0 to 3 are these, none a buddy of another.
    fn with_blocks(nr: [u32; 4], form: WmarkForm) -> Zone {
        let mut zones = zones_of(&[(ZoneKind::Normal, 8192)]);
        let z = &mut zones[ZoneId(0)];
        let rules = PageAllocRules { wmark_form: form, max_order: 4, pageblock_order: 3, ..V6_12 };
        z.buddy = Buddy::new(Pfn(0), Pfn(8192), rules);
        let (mut frames, mut lists) = (Frames::new(8192, false), Lists::new(8192));
        let mut c = Columns::new(&mut frames, &mut lists);
        let mut next = 0;
        for (order, n) in (0..4).zip(nr).rev() {
            for _ in 0..n {
                z.buddy.free(&mut c, Pfn(next), order);
                next += 2 << order;
            }
        }
        z.settle();
        z.lowmem_reserve = [0; 4];
        z.clone()
    }

    const V6_12: PageAllocRules = PageAllocRules::V6_12;

    /// Worked by hand: a mark of 700 and a request of order 3. The old form takes off what is
    /// too small and halves the mark with each order.
    #[test]
    fn both_forms_of_the_watermark_test() {
        let ok = |nr, form| {
            let z = with_blocks(nr, form);
            z.leaves(3, 700, ZoneKind::Normal, NONE, z.free)
        };
        for (order3, want) in [(20, true), (10, false), (11, false), (12, true)] {
            assert_eq!(ok([600, 100, 50, order3], WmarkForm::PerOrder), want, "{order3}");
            assert!(ok([600, 100, 50, order3], WmarkForm::OneBlock));
        }
        assert!(!ok([600, 100, 50, 0], WmarkForm::OneBlock));
        assert!(!ok([200, 100, 50, 10], WmarkForm::OneBlock), "too few pages");
    }

    /// More free pages never turn a pass into a failure, nor does a lower mark.
    #[test]
    fn the_watermark_test_is_monotone() {
        for form in [WmarkForm::PerOrder, WmarkForm::OneBlock] {
            let z = with_blocks([100, 20, 10, 5], form);
            for order in 0..4 {
                for mark in 0..260 {
                    let ok = |mark, free| z.leaves(order, mark, ZoneKind::Normal, NONE, free);
                    assert!(!ok(mark + 1, z.free) || ok(mark, z.free), "{order}, {mark}");
                    assert!(!ok(mark, z.free) || ok(mark, z.free + 1), "{order}, {mark}");
                }
            }
        }
    }

    /// Worked by hand: a high watermark of 1548 and a factor of 15000 allow 2322; each attempt
    /// adds a pageblock.
    #[test]
    fn attempts_to_steal_boost_up_to_a_cap() {
        let mut zones = zones_of(&[(ZoneKind::Normal, 262_144)]);
        let z = &mut zones[ZoneId(0)];
        let after = |z: &mut Zone, n| {
            z.buddy.boosts = n;
            z.settle();
            z.boost
        };
        assert_eq!(after(z, 1), 512);
        assert_eq!(after(z, 3), 2048);
        assert_eq!(after(z, 1), 2322);
        assert!(z.take_boosted() && !z.take_boosted());
        // Zones of less than four pageblocks are never boosted.
        let mut zones = zones_of(&[(ZoneKind::Normal, 2047)]);
        assert_eq!(after(&mut zones[ZoneId(0)], 1), 0);
    }

    /// Exactly the named blocks are free, lists go from their heads, and the rest is held.
    #[test]
    fn a_zone_begins_as_it_is_laid_out() {
        use Migratetype::{Movable, Unmovable};
        let mut zones = zones_of(&[(ZoneKind::Normal, 2048)]);
        let z = &mut zones[ZoneId(0)];
        z.layout = Some(ZoneLayout {
            spanned: 2048,
            free: vec![(40, 1, Movable), (8, 1, Movable), (1024, 9, Movable), (512, 2, Unmovable)],
            pcp: vec![(7, 0, Movable), (3, 0, Movable)],
            blocks: vec![(1, Unmovable)],
        });
        let (mut frames, mut lists) = (Frames::new(2048, false), Lists::new(2048));
        z.populate(&mut Columns::new(&mut frames, &mut lists));
        z.buddy().check(&frames, &lists);
        let list: Vec<Pfn> = z.buddy().list(&frames, 1, Movable).collect();
        assert_eq!(list, [Pfn(40), Pfn(8)]);
        assert_eq!((z.free, z.pcp_count()), (2 + 2 + 512 + 4, 2));
        assert_eq!(z.buddy().block_type(Pfn(513)), Unmovable);
        assert_eq!(z.buddy().block_type(Pfn(1024)), Movable);
        let held = (0..2048).filter(|&p| frames.kind(Pfn(p)) == FrameKind::Kernel).count();
        assert_eq!(held, 2048 - 520 - 2);
        assert_eq!(z.pcp[0].take(pcp_index(0, Movable), 0), Some(7), "the head first");
    }

    /// A walk over the zone passes free blocks whole and meets every frame once.
    #[test]
    fn runs_cover_the_zone() {
        let mut zones = zones_of(&[(ZoneKind::Normal, 5000)]);
        let z = &mut zones[ZoneId(0)];
        let (mut frames, mut lists) = (Frames::new(5120, false), Lists::new(5120));
        let mut c = Columns::new(&mut frames, &mut lists);
        z.populate(&mut c);
        let p = z.take(&mut c, CpuId(0), 0, Migratetype::Movable, NONE).unwrap();
        frames.reset(p, FrameKind::Anon);
        frames.set(p, flag::LRU);
        let mut runs = Vec::new();
        let mut at = z.first;
        while at < z.end() {
            let (start, len, class) = z.next_run(&frames, at);
            assert_eq!(start, at);
            runs.push((start.0, len, class));
            at = Pfn(at.0 + len);
        }
        let free = RunClass::Free;
        // The smallest block was large enough: the last eight pages.
        let want = [(0, 4096), (4096, 512), (4608, 256), (4864, 128)];
        assert_eq!(runs[..4], want.map(|(start, len)| (start, len, free)));
        let rest = [(4992, 1, RunClass::Lru), (4993, 1, free), (4994, 2, free), (4996, 4, free)];
        assert_eq!(runs[4..], rest);
        assert_eq!(runs.iter().map(|r| r.1).sum::<u32>(), 5000);
    }
}
