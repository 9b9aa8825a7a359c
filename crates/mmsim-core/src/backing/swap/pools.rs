//! Compressed copies of pages in swap: the pools of zrams, and zswap.
//!
//! A zram has a pool of its own if the contents of pages are known.

use super::store::{SlotMap, Store};
use super::{Swap, Zswap};
use crate::backing::contents::Content;
use crate::base::id::{Pfn, SwapSlot};

/// Stores of compressed pages, and the contents of pages in swap.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    /// Contents of the page of each slot.
    contents: SlotMap<Content>,
    /// The store of each device that has one.
    pub(crate) of_device: Vec<Option<Store>>,
    /// zswap, if it was ever enabled.
    pub(crate) zswap: Option<Zswap>,
    /// No law of contents has pages that do not compress.
    pub(crate) all_shrink: bool,
}

impl Pools {
    /// A page that left memory is in this slot.
    #[inline]
    pub(crate) fn note(&mut self, slot: SwapSlot, content: Content) {
        *self.contents.at(slot) = content;
    }

    /// Contents of the page in a slot.
    #[inline]
    pub(crate) fn content(&self, slot: SwapSlot) -> Content {
        self.contents.get(slot)
    }

    /// True if each of some pages surely gets room, though all of them together may take that many
    /// frames. `raw`: zswap keeps pages that do not compress.
    pub(crate) fn takes_all(&self, frames: u64, raw: bool) -> bool {
        match (&self.zswap, &self.of_device[..]) {
            (Some(z), _) if z.config.enabled => {
                !z.full && z.store.pool.nr_frames() + frames < z.max && (raw || self.all_shrink)
            }
            (_, [Some(store)]) => store.has_room_for(frames),
            (_, of_device) => of_device.iter().all(Option::is_none),
        }
    }

    /// Frames that the page of a slot needs in the store that it goes to first.
    pub(crate) fn wants(&self, slot: SwapSlot) -> usize {
        let content = self.content(slot);
        match (&self.zswap, &self.of_device[..]) {
            (Some(z), _) if z.config.enabled => z.store.wants(content.length().max(1)),
            (_, [Some(store)]) => store.wants(content.in_zram()),
            _ => 0,
        }
    }

    /// The page of a slot is read, and the slot is free then. False, and nothing done: it holds zeros
    /// that are not stored, or it is on a device while others are in zswap.
    #[inline]
    pub(crate) fn leave(&mut self, slot: SwapSlot, zeromap: bool) -> bool {
        if zeromap && self.content(slot) == Content::ZERO {
            return false;
        }
        if let Some(zswap) = &mut self.zswap {
            let Some((length, _)) = zswap.remove(slot) else { return false };
            debug_assert!(length > 0, "{slot}: an entry without an object");
        }
        for store in self.of_device.iter_mut().flatten() {
            store.take(slot);
        }
        true
    }

    /// Slab of zswap: its pages, and the nodes of the tree.
    #[inline]
    pub(crate) fn slab(&self) -> [u64; 2] {
        self.zswap.as_ref().map_or([0; 2], |z| [z.slab_pages(), z.nr_nodes])
    }

    /// True if stores gave up frames that their owner has not taken yet.
    #[inline]
    pub(crate) fn any_gone(&self) -> bool {
        self.stores().any(|store| !store.gone.is_empty())
    }

    /// These frames, in the order in which they were given up.
    pub(crate) fn take_gone(&mut self) -> Vec<Pfn> {
        let mut gone = Vec::new();
        self.zswap.iter_mut().for_each(|z| gone.append(&mut z.store.gone));
        self.of_device.iter_mut().flatten().for_each(|store| gone.append(&mut store.gone));
        gone
    }

    /// Host bytes in use.
    pub(super) fn host_bytes(&self) -> u64 {
        let zswap = self.zswap.as_ref().map_or(0, |z| z.entries_host_bytes());
        let stores: u64 = self.stores().map(Store::host_bytes).sum();
        self.contents.host_bytes() + zswap + stores
    }

    /// All stores, to change.
    pub(crate) fn stores_mut(&mut self) -> impl Iterator<Item = &mut Store> {
        let zswap = self.zswap.iter_mut().map(|z| &mut z.store);
        self.of_device.iter_mut().flatten().chain(zswap)
    }

    /// All stores.
    pub(crate) fn stores(&self) -> impl Iterator<Item = &Store> {
        self.of_device.iter().flatten().chain(self.zswap.iter().map(|z| &z.store))
    }
}

impl Swap {
    /// The contents of pages are known: from now on each zram has its pool.
    pub(crate) fn use_pools(&mut self) {
        if self.pools.is_some() {
            return;
        }
        let store = |a: &super::Area| {
            let config = a.device.config();
            (config.stored_bytes_per_page > 0).then(|| Store::new(config.mem_limit))
        };
        let of_device = self.areas.iter().map(store).collect();
        let contents = SlotMap::new(Content::ZERO);
        self.pools = Some(Box::new(Pools { contents, of_device, zswap: None, all_shrink: true }));
    }

    /// Pages have contents; `shrink`: each compresses to less than a page.
    pub(crate) fn expect_contents(&mut self, shrink: bool) {
        self.use_pools();
        if let Some(pools) = &mut self.pools {
            pools.all_shrink &= shrink;
        }
    }

    /// zswap was enabled at some time.
    pub(crate) fn use_zswap(&mut self, zswap: Zswap) {
        self.use_pools();
        if let Some(pools) = &mut self.pools {
            pools.all_shrink &= zswap.config.bytes_per_page < Content::MOST;
            pools.zswap = Some(zswap);
        }
    }

    /// The store of the device of a slot, if it has one.
    #[inline]
    pub(crate) fn store_of(&mut self, slot: SwapSlot) -> Option<&mut Store> {
        let area = self.area_of(slot.0);
        self.pools.as_mut()?.of_device[area].as_mut()
    }
}
