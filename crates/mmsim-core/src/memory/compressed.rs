//! Compressed copies of pages that left memory: what each page holds, and the memory that its copy
//! takes.
//!
//! Sources: Linux 6.12 drivers/block/zram/zram_drv.c (`zram_write_page`), mm/zsmalloc.c
//! (`alloc_zspage`).

use super::Memory;
use crate::backing::contents::Content;
use crate::backing::swap::{Pools, Store};
use crate::backing::zsmalloc;
use crate::base::id::{NodeId, PageIdx, Pfn, SwapSlot};
use crate::phys::frames::FrameKind;
use crate::phys::gfp::{AllocRequest, GfpFlags};
use crate::phys::watermarks::Mark;
use crate::virt::pages::pte;

/// A frame of a zspage: movable, and wanted amid reclaim. Whoever asks reclaims already, so he may
/// have the last frame, and reclaims nothing for it.
const ZSPAGE: AllocRequest =
    AllocRequest { flags: GfpFlags::KSWAPD_RECLAIM.with(GfpFlags::NORETRY), ..AllocRequest::USER };

/// Frames of a zspage.
type Zspage = ([Pfn; zsmalloc::CHAIN_SIZE as usize], usize);

impl Memory {
    /// True if swap compresses pages whose contents are known.
    #[inline]
    pub(crate) fn knows_contents(&self) -> bool {
        self.swap.as_ref().is_some_and(|s| s.pools.is_some())
    }

    /// Notes what a page holds that is about to be unmapped to a slot.
    #[inline(never)]
    pub(super) fn note_content(&mut self, slot: SwapSlot, page: PageIdx) {
        let written = self.virt.pages.hot(page) & pte::DIRTY != 0;
        let vma = self.virt.spaces.vma(self.virt.spaces.vma_of(&self.virt.pages, page));
        let (space, at) = (vma.space, (vma.region.0, page.0 - vma.start.0));
        let Some(swap) = &mut self.swap else { return };
        let on_device = swap.device_of(slot).config().stored_bytes_per_page;
        let Some(pools) = &mut swap.pools else { return };
        let content = match (&mut self.virt.spaces[space].contents, &pools.zswap) {
            (Some(contents), _) => contents.leaving(at, page, written),
            (None, Some(zswap)) => Content::bytes(zswap.config.bytes_per_page),
            (None, None) if on_device == 0 => Content::bytes(Content::MOST),
            (None, None) => Content::bytes(on_device as u16),
        };
        pools.note(slot, content);
    }

    /// Writes the page of a slot to a device that is done at once. False: it has no memory for it.
    #[inline]
    pub(super) fn write_synchronously(&mut self, slot: SwapSlot) -> bool {
        if self.knows_contents() {
            return self.write_to_zram(slot);
        }
        // The slot is freed at swap-in, so each write stores one page more.
        let device = self.swap.as_ref().expect("a slot without swap").device_of(slot);
        self.kernel.zram_stored += u64::from(device.config().stored_bytes_per_page);
        true
    }

    /// Stores the page of a slot in its zram, if that looks at pages.
    fn write_to_zram(&mut self, slot: SwapSlot) -> bool {
        let length = self.content_of(slot).in_zram();
        let Some(store) = self.swap.as_mut().and_then(|s| s.store_of(slot)) else { return true };
        let wanted = store.wants(length);
        let Some((frames, nr)) = self.take_zspage(NodeId(0), wanted) else { return false };
        let store = self.swap.as_mut().and_then(|s| s.store_of(slot)).expect("it was there");
        let stored = store.put(slot, length, &frames[..nr]);
        let gone = std::mem::take(&mut store.gone);
        self.free_zspages(gone);
        stored
    }

    /// The page of a slot is not wanted any more.
    #[inline(never)]
    pub(super) fn drop_compressed(&mut self, slot: SwapSlot) {
        self.zswap_invalidate(slot);
        let Some(store) = self.swap.as_mut().and_then(|s| s.store_of(slot)) else { return };
        store.take(slot);
        if !store.gone.is_empty() {
            let gone = std::mem::take(&mut store.gone);
            self.free_zspages(gone);
        }
    }

    /// Takes frames for a zspage, all or none: above the low watermark, else above the min one, else
    /// what there is.
    pub(super) fn take_zspage(&mut self, node: NodeId, wanted: usize) -> Option<Zspage> {
        let mut frames = [Pfn(0); zsmalloc::CHAIN_SIZE as usize];
        for nr in 0..wanted {
            let marks = [Some(Mark::Low), Some(Mark::Min), None];
            let got = marks.into_iter().find_map(|mark| self.try_alloc(node, &ZSPAGE, mark));
            let Some(pfn) = got else {
                frames[..nr].iter().for_each(|&p| self.free_frame(p));
                return None;
            };
            self.frames.reset(pfn, FrameKind::Kernel);
            frames[nr] = pfn;
        }
        Some((frames, wanted))
    }

    pub(super) fn free_zspages(&mut self, frames: Vec<Pfn>) {
        frames.into_iter().for_each(|p| self.free_frame(p));
    }

    fn stores(&self) -> impl Iterator<Item = &Store> {
        let pools = self.swap.as_ref().and_then(|s| s.pools.as_deref());
        pools.into_iter().flat_map(Pools::stores)
    }

    /// Frames of zrams.
    pub(crate) fn nr_zram_store(&self) -> u64 {
        self.nr_zspages() - self.zswap().map_or(0, |z| z.store.pool.nr_frames())
    }

    /// Frames that compressed pages take (`nr_zspages`).
    pub(crate) fn nr_zspages(&self) -> u64 {
        let of_pools: u64 = self.stores().map(|s| s.pool.nr_frames()).sum();
        self.kernel.zram_frames.len() as u64 + of_pools
    }

    /// These frames.
    pub(crate) fn zspages(&self) -> impl Iterator<Item = Pfn> {
        let of_pools = self.stores().flat_map(|s| s.pool.frames());
        self.kernel.zram_frames.iter().copied().chain(of_pools)
    }

    /// Pools hold what is in swap, in frames of their own.
    pub(super) fn check_compressed(&self) {
        self.stores().for_each(Store::check);
        if let Some(zswap) = self.zswap() {
            zswap.check();
        }
        for pfn in self.stores().flat_map(|s| s.pool.frames()) {
            assert_eq!(self.frames.kind(pfn), FrameKind::Kernel, "{pfn} of a zspage");
        }
        let swap = self.swap.as_ref();
        for slot in self.stores().flat_map(Store::slots) {
            assert!(swap.is_some_and(|s| s.in_use(slot)), "{slot} is free and has a copy");
        }
    }
}
