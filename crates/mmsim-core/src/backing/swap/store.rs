//! Which slot holds which compressed page: a pool of zsmalloc, with the object of each slot.
//!
//! Sources: Linux 6.12 drivers/block/zram/zram_drv.c (`zram_write_page`, `zram_free_page`).

use super::CLUSTER;
use crate::backing::zsmalloc::{Place, Zsmalloc};
use crate::base::id::{Pfn, SwapSlot};

/// A column by slot, which takes memory where slots were used.
#[derive(Clone, Debug)]
pub(super) struct SlotMap<T> {
    /// The entries of each cluster.
    of_cluster: Vec<Option<Box<[T; CLUSTER as usize]>>>,
    /// Entry of a slot that has none.
    nothing: T,
}

impl<T: Copy> SlotMap<T> {
    pub(super) fn new(nothing: T) -> Self {
        SlotMap { of_cluster: Vec::new(), nothing }
    }

    #[inline]
    pub(super) fn get(&self, slot: SwapSlot) -> T {
        let of = self.of_cluster.get((slot.0 / CLUSTER) as usize).and_then(Option::as_ref);
        of.map_or(self.nothing, |of| of[(slot.0 % CLUSTER) as usize])
    }

    #[inline]
    pub(super) fn at(&mut self, slot: SwapSlot) -> &mut T {
        let (cluster, i) = ((slot.0 / CLUSTER) as usize, (slot.0 % CLUSTER) as usize);
        if self.of_cluster.get(cluster).is_none_or(Option::is_none) {
            self.make_cluster(cluster);
        }
        let of = self.of_cluster[cluster].as_mut().expect("it was made");
        &mut of[i]
    }

    #[cold]
    #[inline(never)]
    fn make_cluster(&mut self, cluster: usize) {
        if cluster >= self.of_cluster.len() {
            self.of_cluster.resize_with(cluster + 1, || None);
        }
        self.of_cluster[cluster] = Some(Box::new([self.nothing; CLUSTER as usize]));
    }

    /// Host bytes in use.
    pub(super) fn host_bytes(&self) -> u64 {
        let used = self.of_cluster.iter().flatten().count() * CLUSTER as usize * size_of::<T>();
        (used + self.of_cluster.len() * size_of::<usize>()) as u64
    }

    fn iter(&self) -> impl Iterator<Item = (SwapSlot, T)> + '_ {
        let clusters = self.of_cluster.iter().enumerate();
        let used = clusters.filter_map(|(c, of)| Some((c, of.as_ref()?)));
        used.flat_map(|(c, of)| {
            of.iter().enumerate().map(move |(i, &t)| (SwapSlot(c as u32 * CLUSTER + i as u32), t))
        })
    }
}

/// An object of a slot.
#[derive(Clone, Copy, Debug)]
struct Object {
    place: Place,
    /// Its bytes; 0: there is none, and [`Object::BARE`]: a page of one word, which needs none.
    length: u16,
}

impl Object {
    const NONE: Object = Object { place: Place(0), length: 0 };
    const BARE: u16 = u16::MAX;

    fn takes_memory(self) -> bool {
        self.length != 0 && self.length != Object::BARE
    }
}

/// A pool whose objects belong to slots.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) pool: Zsmalloc,
    of_slot: SlotMap<Object>,
    /// Pages that it holds, those without an object too.
    pub(crate) nr_pages: u64,
    /// Bytes of its objects.
    pub(crate) bytes: u64,
    /// Frames that it may hold (`mem_limit`); 0: any number.
    limit: u32,
    /// Frames that its shrinker left for another time.
    pub(crate) deferred: u64,
    /// Frames that it gave up, for its owner to take.
    pub(crate) gone: Vec<Pfn>,
}

impl Store {
    pub(crate) fn new(limit: u32) -> Self {
        Store {
            pool: Zsmalloc::default(),
            of_slot: SlotMap::new(Object::NONE),
            nr_pages: 0,
            bytes: 0,
            limit,
            deferred: 0,
            gone: Vec::new(),
        }
    }

    /// Frames that a page of `length` bytes needs; 0 bytes: one that takes no object.
    #[inline]
    pub(crate) fn wants(&self, length: u16) -> usize {
        if length == 0 { 0 } else { self.pool.wants(length.into()) }
    }

    /// True if it may hold that many frames more.
    pub(crate) fn has_room_for(&self, frames: u64) -> bool {
        self.limit == 0 || self.pool.nr_frames() + frames <= self.limit.into()
    }

    /// Stores a page in place of what the slot held. `frames` are as many as [`Store::wants`] says.
    /// False: that is more memory than the pool may have, and the slot holds what it held.
    pub(crate) fn put(&mut self, slot: SwapSlot, length: u16, frames: &[Pfn]) -> bool {
        let new = match length {
            0 => Object { place: Place(0), length: Object::BARE },
            _ => Object { place: self.pool.alloc(length.into(), slot.0, frames), length },
        };
        if length > 0 && self.limit > 0 && self.pool.nr_frames() > self.limit.into() {
            self.pool.free(length.into(), new.place, &mut self.gone);
            return false;
        }
        self.take(slot);
        *self.of_slot.at(slot) = new;
        self.nr_pages += 1;
        self.bytes += u64::from(length);
        true
    }

    /// Gives up what a slot holds; returns its bytes, if it holds anything.
    pub(crate) fn take(&mut self, slot: SwapSlot) -> Option<u16> {
        let held = self.of_slot.get(slot);
        if held.length == 0 {
            return None;
        }
        *self.of_slot.at(slot) = Object::NONE;
        self.nr_pages -= 1;
        if !held.takes_memory() {
            return Some(0);
        }
        self.bytes -= u64::from(held.length);
        self.pool.free(held.length.into(), held.place, &mut self.gone);
        Some(held.length)
    }

    /// Moves its objects together. False: that freed no frame.
    pub(crate) fn compact(&mut self) -> bool {
        let Store { pool, of_slot, gone, .. } = self;
        let before = gone.len();
        pool.compact(|slot, place| of_slot.at(SwapSlot(slot)).place = place, gone);
        gone.len() > before
    }

    /// Bytes of the object of a slot; 0: it has none.
    #[inline]
    pub(crate) fn length_of(&self, slot: SwapSlot) -> u16 {
        let held = self.of_slot.get(slot);
        if held.takes_memory() { held.length } else { 0 }
    }

    /// Host bytes in use.
    pub(super) fn host_bytes(&self) -> u64 {
        self.pool.host_bytes() + self.of_slot.host_bytes()
    }

    /// Slots of the pages that it holds.
    pub(crate) fn slots(&self) -> impl Iterator<Item = SwapSlot> + '_ {
        self.of_slot.iter().filter(|(_, held)| held.length != 0).map(|(slot, _)| slot)
    }

    /// # Panics
    /// If slots and objects contradict one another.
    pub(crate) fn check(&self) {
        self.pool.check();
        assert!(self.gone.is_empty(), "frames that no owner took back");
        let held = || self.of_slot.iter().map(|(_, held)| held).filter(|held| held.length != 0);
        assert_eq!(held().count() as u64, self.nr_pages, "pages in a pool");
        let objects = held().filter(|held| held.takes_memory());
        let (mut n, mut bytes) = (0, 0);
        objects.for_each(|held| (n, bytes) = (n + 1, bytes + u64::from(held.length)));
        assert_eq!((n, bytes), (self.pool.nr_objects(), self.bytes), "objects of slots");
    }
}
