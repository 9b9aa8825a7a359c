//! A zone: a range of frames, and what is known of its free memory.
//!
//! A zone holds free blocks ([`Buddy`]), a stock of free pages for each CPU ([`Pcp`]), and the
//! thresholds that free memory is compared with. This file has its parts, its set-up and its
//! queries; whether it has enough for a request is in `watermarks.rs`, how pages leave it and come
//! back in `front.rs`.
//!
//! A zone begins as after boot: the kernel's own frames at the bottom, above them what the first
//! CPU has on its list, and the rest as one run that was never touched, which costs nothing. With a
//! layout, exactly the blocks that it names are free, and the kernel holds all others. A zone
//! that has begun can be cleared and its lists filled block by block, so that it goes on with
//! the history of another.
//!
//! Source: Linux 6.12 include/linux/mmzone.h (`struct zone`).

use super::buddy::{Buddy, NR_ORDERS};
use super::fragmentation::FreeBlocks;
use super::frames::{FrameKind, Frames, flag};
use super::pcp::{Pcp, PcpSizes, PcpView, of_index, pcp_index};
use crate::base::id::{CpuId, IndexVec, NodeId, Pfn};
use crate::base::migratetype::Migratetype;
use crate::base::rules::{KernelRules, PcpBatches};
use crate::config::{ZoneConfig, ZoneKind, ZoneLayout};

/// Kind of a run of frames, for walks of physical memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunClass {
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
    pub(super) free_highatomic: u64,
    /// Largest boost; 0: never boosted.
    pub(super) most_boost: u64,
    /// `vm.extfrag_threshold`.
    pub(super) extfrag_threshold: i64,
    /// Boosted since kswapd was last told (`ZONE_BOOSTED_WATERMARK`).
    pub(super) boosted: bool,
    /// Pages that it gives before others have their turn (`NR_ALLOC_BATCH`), where zones give in
    /// proportion.
    pub(super) share: i64,
    reserved: u32,
    pcp_at_start: u32,
    layout: Option<ZoneLayout>,
    /// The free blocks. Who changes them calls [`Zone::settle`] afterwards.
    pub(super) buddy: Buddy,
    /// The lists of each CPU.
    pub(super) pcp: IndexVec<CpuId, Pcp>,
    pub(super) sizes: PcpSizes,
    /// Pages at which a batch of them goes back while kswapd is at work.
    pub(super) full_in_reclaim: u32,
    /// Kept for pages on their way to a per-CPU list.
    pub(super) scratch: Vec<u32>,
}

impl Zone {
    /// A zone as it is configured; [`Zones::new`](super::zones::Zones::new) gives it watermarks and
    /// the sizes of its lists.
    pub(super) fn new(
        c: &ZoneConfig,
        node: NodeId,
        first: Pfn,
        cpus: u32,
        rules: KernelRules,
    ) -> Self {
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
            pcp: IndexVec::filled(cpus as usize, Pcp::default()),
            sizes: PcpSizes::new(0, 1, PcpBatches::Fixed),
            full_in_reclaim: 0,
            scratch: Vec::new(),
        }
    }

    // ---- how it begins ----

    /// Puts the zone's free memory on its lists, once, before the first allocation.
    pub fn populate(&mut self, frames: &mut Frames) {
        if let Some(layout) = self.layout.take() {
            self.lay_out(frames, &layout);
            return self.settle();
        }
        let listed = self.first.0 + self.reserved..self.first.0 + self.reserved + self.pcp_at_start;
        listed.clone().for_each(|p| frames.reset(Pfn(p), FrameKind::Pcp));
        let pages: Vec<u32> = listed.clone().rev().collect();
        self.pcp[CpuId(0)].append(pcp_index(0, Migratetype::Movable), 0, &pages);
        self.buddy.populate(frames, Pfn(listed.end));
        self.settle();
    }

    /// Puts exactly the named blocks on the lists; the kernel holds the rest.
    fn lay_out(&mut self, frames: &mut Frames, layout: &ZoneLayout) {
        let first = self.first.0;
        (first..self.end().0).for_each(|p| frames.reset(Pfn(p), FrameKind::Kernel));
        let size = 1 << self.buddy.rules().pageblock_order;
        for &(block, mt) in &layout.blocks {
            self.buddy.set_block_type(Pfn(first + block * size), mt);
        }
        for &(p, order, mt) in &layout.free {
            self.buddy.put_at_start(frames, Pfn(first + p), order, mt);
        }
        for &(p, order, mt) in &layout.pcp {
            for tail in p + 1..p + (1 << order) {
                frames.reset(Pfn(first + tail), FrameKind::Free);
            }
            frames.reset_block(Pfn(first + p), FrameKind::Pcp, order, mt);
            self.pcp[CpuId(0)].append(pcp_index(order, mt), order, &[first + p]);
        }
    }

    /// Takes pages for the kernel's own use, before anything else runs.
    pub(crate) fn take_for_kernel(&mut self, frames: &mut Frames, n: u32) -> Vec<u32> {
        let mut got = Vec::new();
        self.buddy.alloc_pages(frames, n, Migratetype::Unmovable, false, FrameKind::Free, &mut got);
        self.buddy.boosts = 0;
        self.buddy.extfrag.clear();
        self.settle();
        got
    }

    /// Notices blocks that are freed from an order on.
    pub(crate) fn notice_from(&mut self, order: u8) {
        self.buddy.notice_from(order);
    }

    /// True if such a block was freed since the last call.
    #[inline]
    pub(crate) fn take_noticed(&mut self) -> bool {
        self.buddy.take_noticed()
    }

    /// Changes the type of the pageblock of a frame; its free blocks stay on their lists. For
    /// zones that begin with a history.
    pub fn set_pageblock_type(&mut self, pfn: Pfn, mt: Migratetype) {
        self.buddy.set_block_type(pfn, mt);
    }

    /// Takes all free memory off the lists and gives the pageblocks these types. Free frames are on
    /// no list until they are put on one.
    pub fn clear(&mut self, frames: &mut Frames, types: &[Migratetype]) {
        for p in self.first.0..self.end().0 {
            if matches!(frames.kind(Pfn(p)), FrameKind::Buddy | FrameKind::Pcp) {
                frames.reset(Pfn(p), FrameKind::Free);
            }
        }
        self.buddy.clear(types);
        self.pcp.iter_mut().for_each(Pcp::clear);
        self.settle();
    }

    /// Puts blocks that are on no list on a list of the zone or of a CPU, the first to be handed
    /// out first.
    pub(crate) fn restore_list(
        &mut self,
        frames: &mut Frames,
        cpu: Option<CpuId>,
        order: u8,
        mt: Migratetype,
        blocks: &[Pfn],
    ) {
        let pcp = cpu.and_then(|cpu| self.pcp.get_mut(cpu));
        match pcp.filter(|_| self.sizes.high > 0) {
            Some(pcp) => {
                blocks.iter().for_each(|&p| frames.reset_block(p, FrameKind::Pcp, order, mt));
                let blocks: Vec<u32> = blocks.iter().map(|p| p.0).collect();
                pcp.append(pcp_index(order, mt), order, &blocks);
            }
            None if cpu.is_some() => blocks.iter().for_each(|&p| self.buddy.free(frames, p, order)),
            None => blocks.iter().for_each(|&p| self.buddy.append(frames, p, order, mt)),
        }
        self.settle();
    }

    // ---- questions ----

    /// The end of memory: last frame plus one.
    pub fn end(&self) -> Pfn {
        Pfn(self.first.0 + self.spanned)
    }
    /// Free blocks of an order and a migratetype, as `/proc/pagetypeinfo` counts them.
    pub fn nr_free_blocks(&self, order: u8, mt: Migratetype) -> u64 {
        self.buddy.nr_free_blocks(order, mt)
    }
    /// Free blocks per order, of all types that are in use.
    pub fn free_blocks(&self) -> [u64; NR_ORDERS] {
        std::array::from_fn(|k| self.buddy.nr_free_blocks_of_order(k as u8))
    }
    /// Free pages of blocks that are a pageblock or more (`NR_FREE_PAGES_BLOCKS`).
    pub fn free_in_blocks(&self) -> u64 {
        let of_order = |k| self.buddy.nr_free_blocks_of_order(k) << k;
        (self.buddy.rules().pageblock_order..NR_ORDERS as u8).map(of_order).sum()
    }
    /// Part of a failure of `order` that is due to fragmentation, in thousandths; see
    /// [`FreeBlocks::fragmentation_index`].
    pub fn fragmentation_index(&self, order: u8) -> i64 {
        FreeBlocks { nr: &self.free_blocks() }.fragmentation_index(order)
    }
    /// Pageblocks of a migratetype, as `/proc/pagetypeinfo` counts them.
    pub fn pageblocks(&self, mt: Migratetype) -> u64 {
        self.buddy.pageblocks().filter(|b| b.1 == mt).count() as u64
    }
    /// The lists of each CPU, as `/proc/zoneinfo` shows them.
    pub fn pcps(&self) -> impl Iterator<Item = PcpView> + '_ {
        let PcpSizes { high, batch, .. } = self.sizes;
        self.pcp.iter().map(move |p| PcpView { count: p.count(), high, batch })
    }
    /// The free blocks, to look at.
    pub fn buddy(&self) -> &Buddy {
        &self.buddy
    }

    /// Pages in per-CPU lists.
    pub fn pcp_count(&self) -> u64 {
        self.pcp.iter().map(|p| u64::from(p.count())).sum()
    }

    /// Blocks in per-CPU lists: first frame and order.
    pub(crate) fn pcp_blocks(&self) -> impl Iterator<Item = (Pfn, u8)> + '_ {
        let order = self.buddy.rules().pageblock_order;
        self.pcp.iter().flat_map(move |p| p.blocks(order)).map(|(p, k)| (Pfn(p), k))
    }

    /// The lists of the CPUs that have blocks: whose, order, type, blocks from the head.
    pub fn pcp_lists(&self) -> Vec<(CpuId, u8, Migratetype, Vec<Pfn>)> {
        let block = self.buddy.rules().pageblock_order;
        let mut all = Vec::new();
        for (cpu, pcp) in self.pcp.pairs() {
            for (index, blocks) in pcp.lists().filter(|l| !l.1.is_empty()) {
                let (order, mt) = of_index(index, block);
                all.push((cpu, order, mt, blocks.into_iter().map(Pfn).collect()));
            }
        }
        all
    }

    /// True if a frame is one of those that the kernel held from the start.
    pub(crate) fn is_reserved(&self, pfn: Pfn) -> bool {
        (self.first.0..self.first.0 + self.reserved).contains(&pfn.0)
    }

    /// Frames that the kernel held from the start, at the bottom of the zone.
    pub fn reserved(&self) -> u64 {
        self.reserved.into()
    }

    /// Frames outside of the run that was never touched, by address: those before and behind it.
    pub fn touched(&self) -> [std::ops::Range<u32>; 2] {
        let run = self.buddy.untouched();
        let (first, end) = (self.first.0, self.end().0);
        let run = if run.is_empty() { end..end } else { run };
        [first..run.start, run.end..end]
    }

    /// The run of frames that begins at `pfn`, up to the end of the zone: a free block from
    /// there on, one folio, or one frame of anything else. Free blocks are passed whole, so
    /// walking a zone costs what is in use.
    pub(crate) fn next_run(&self, frames: &Frames, pfn: Pfn) -> (Pfn, u32, RunClass) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::ZoneId;
    use crate::phys::gfp::AllocFlags;
    use crate::phys::zones::tests::zones_of;

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
        let mut frames = Frames::new(2048, false);
        z.populate(&mut frames);
        z.buddy().check(&frames);
        let list: Vec<Pfn> = z.buddy().list(1, Movable).collect();
        assert_eq!(list, [Pfn(40), Pfn(8)]);
        assert_eq!((z.free, z.pcp_count()), (2 + 2 + 512 + 4, 2));
        assert_eq!(z.buddy().block_type(Pfn(513)), Unmovable);
        assert_eq!(z.buddy().block_type(Pfn(1024)), Movable);
        let held = (0..2048).filter(|&p| frames.kind(Pfn(p)) == FrameKind::Kernel).count();
        assert_eq!(held, 2048 - 520 - 2);
        assert_eq!(z.pcp[CpuId(0)].take(pcp_index(0, Movable), 0), Some(7), "the head first");
    }

    /// A walk over the zone passes free blocks whole and meets every frame once.
    #[test]
    fn runs_cover_the_zone() {
        let mut zones = zones_of(&[(ZoneKind::Normal, 5000)]);
        let z = &mut zones[ZoneId(0)];
        let mut frames = Frames::new(5120, false);
        z.populate(&mut frames);
        let p =
            z.take(&mut frames, CpuId(0), 0, Migratetype::Movable, AllocFlags::default()).unwrap();
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
