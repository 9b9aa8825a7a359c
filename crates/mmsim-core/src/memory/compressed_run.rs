//! Plain folios of a batch that leave for compressed memory, and pages that come back from it in runs.
//!
//! The fast path of evictions (`plain.rs`) decides before it stores, so a batch takes it only if all
//! of its pages will surely be stored: pools are far from their limits, and memory has the frames
//! that they may want. Then pages are stored one after the other, as on the slow path, and frames of
//! victims are free before the next zspage is taken. With an observer or a follower of pages each
//! takes the slow path, for a page that is stored has a time of its own.

use super::Memory;
use super::plain::FastPath;
use super::run::RUN;
use crate::backing::device::{Device, Io};
use crate::backing::swap::{Pools, Swap};
use crate::backing::zsmalloc::CHAIN_SIZE;
use crate::base::id::{MemcgId, SwapSlot};
use crate::base::migratetype::Migratetype;
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;

/// Frames that pages of a batch take at most: each a zspage of its own.
const MOST_FRAMES: u64 = RUN as u64 * CHAIN_SIZE as u64;

/// Where the pages of a run of faults come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadFrom {
    /// From the device.
    Device,
    /// From zswap.
    Zswap,
}

impl Memory {
    /// True if compressed memory takes all pages of a batch, and no observer sees each.
    pub(super) fn stores_short(&self, swap: &Swap, pools: &Pools) -> bool {
        let raw = self.zswap_keeps_raw(MemcgId(0));
        let zswap = pools.zswap.as_ref().is_some_and(|z| z.config.enabled);
        let reserved: u64 = self
            .zones
            .ids()
            .map(|z| self.zones[z].buddy().nr_free_of(Migratetype::HighAtomic))
            .sum();
        (zswap || swap.is_one_synchronous())
            && !self.telling.tracer.on()
            && !self.followed()
            && self.zones.nr_nodes() == 1
            && !self.zones.fair()
            && swap.only_device().is_some()
            && self.zones.nr_free() >= reserved + MOST_FRAMES
            && pools.takes_all(MOST_FRAMES, raw)
    }

    /// Stores plain folios that leave, each in its slot, and frees their frames.
    pub(super) fn store_victims(&mut self, short: &FastPath) {
        for ((_, page), slot) in short.victims().zip(short.slots()) {
            self.note_content(slot, page);
        }
        self.unmap_victims(short);
        let (mut freed, mut written) = (0, 0);
        for (i, ((folio, _), slot)) in short.victims().zip(short.slots()).enumerate() {
            if self.wants_frames(slot) {
                self.free_victims(short.folios(freed..i));
                freed = i;
            }
            if !self.swaps_without_device(slot, MemcgId(0), folio) {
                let stored = self.write_synchronously(slot);
                assert!(stored, "{slot}: compressed memory has no room after all");
                written += 1;
            }
        }
        self.free_victims(short.folios(freed..short.len()));
        let n = short.len() as u64;
        // Nothing is written in a batch to a device that has a queue.
        let device = self.swap.as_ref().and_then(Swap::only_device);
        let device = device.filter(|d| d.config().synchronous);
        let write = device.map_or(SimDuration::ZERO, |d| d.sync_cost(Io::Write, 1));
        let cost = &self.given.cost;
        let (each, of_write) = (cost.t_unmap + cost.t_evict, cost.t_swap_submit + write);
        self.acting.now += SimDuration(each.0 * n + of_write.0 * written);
        self.name_evictions(short.slots().zip(short.victims().map(|v| v.1)));
        self.count(VmEvent::PswpOut, written);
        self.count_swap_requests(Io::Write, written);
    }

    /// True if the page of a slot takes frames when it is stored.
    fn wants_frames(&self, slot: SwapSlot) -> bool {
        let Some(pools) = self.swap.as_ref().and_then(|s| s.pools.as_deref()) else { return false };
        !self.is_zero(slot) && pools.wants(slot) > 0
    }

    /// Where pages of a device come from if they come in runs, and the time of a read. `None`: they
    /// come one by one.
    pub(super) fn reads_in_runs(&self, device: &Device) -> Option<(ReadFrom, SimDuration)> {
        let read = device.sync_cost(Io::Read, 1);
        let Some(pools) = self.swap.as_ref().and_then(|s| s.pools.as_deref()) else {
            return Some((ReadFrom::Device, read));
        };
        match &pools.zswap {
            _ if self.telling.tracer.on() => None,
            None => Some((ReadFrom::Device, read)),
            Some(z) if z.config.enabled => Some((ReadFrom::Zswap, z.config.decompress)),
            Some(_) => None,
        }
    }

    /// Counts reads of pages in a run, from the device of `slot` or from zswap.
    pub(super) fn count_run_read(&mut self, from: ReadFrom, slot: SwapSlot, n: u32) {
        if from == ReadFrom::Zswap {
            return self.count(VmEvent::ZswpIn, n.into());
        }
        let swap = self.swap.as_mut().expect("the pages are in swap");
        let device = swap.device_of_mut(slot);
        device.read_sync(n);
        let of_each = u64::from(device.config().stored_bytes_per_page);
        let stored = if swap.pools.is_some() { 0 } else { u64::from(n) * of_each };
        self.count(VmEvent::PswpIn, n.into());
        self.count_swap_requests(Io::Read, n.into());
        self.kernel.zram_stored = self.kernel.zram_stored.saturating_sub(stored);
    }

    /// Frames that stores gave up go back to the allocator.
    #[inline]
    pub(super) fn free_all_gone(&mut self) {
        if let Some(pools) = self.swap.as_mut().and_then(|s| s.pools.as_mut())
            && pools.any_gone()
        {
            let gone = pools.take_gone();
            self.free_zspages(gone);
        }
    }
}
