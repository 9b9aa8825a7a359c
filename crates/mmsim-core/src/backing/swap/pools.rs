//! Compressed copies of pages in swap: the pools of zrams, and zswap.
//!
//! A zram has a pool of its own if the contents of pages are known.

use super::store::{SlotMap, Store};
use super::{Swap, Zswap};
use crate::backing::contents::Content;
use crate::base::id::SwapSlot;

/// Stores of compressed pages, and the contents of pages in swap.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    /// Contents of the page of each slot.
    contents: SlotMap<Content>,
    /// The store of each device that has one.
    pub(crate) of_device: Vec<Option<Store>>,
    /// zswap, if it was ever enabled.
    pub(crate) zswap: Option<Zswap>,
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
        self.pools = Some(Box::new(Pools { contents, of_device, zswap: None }));
    }

    /// zswap was enabled at some time.
    pub(crate) fn use_zswap(&mut self, zswap: Zswap) {
        self.use_pools();
        if let Some(pools) = &mut self.pools {
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
