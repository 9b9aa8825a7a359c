//! Swap space: slots, clusters, the swap cache's map, shadows.
//!
//! A slot has a count of PTEs that refer to it, and may hold a folio of the swap cache or
//! the shadow of an evicted one. Slots are handed out so that pages evicted one after the
//! other by the same CPU lie next to each other: from the CPU's current cluster of 256,
//! through a cache of 64 per CPU.
//!
//! The map from slot to folio or shadow is a radix tree in the kernel, whose nodes (64
//! slots each) take memory of the machine itself; they are counted here.
//!
//! From 6.15 on there is no cache, and clusters are taken in another order (`clusters`). Each
//! device has slots of its own, and an order among others (`area`).
//!
//! Sources: Linux 6.12 mm/swapfile.c, mm/swap_slots.c, mm/swap_state.c.

mod area;
mod batch;
mod clusters;
mod nodes;
mod pools;
mod store;
mod zswap;

pub use area::Area;
pub(crate) use batch::PrivateSlots;
pub(crate) use pools::Pools;
pub(crate) use store::Store;
pub(crate) use zswap::{Look, Visit, WorkerRun, Zswap, ZswapShrunk};

use crate::backing::Shadow;
use crate::backing::device::{Device, DeviceConfig};
use crate::backing::shadow_queue::{ShadowQueue, Since};
use crate::base::host;
use crate::base::id::{CpuId, IndexVec, Pfn, SwapSlot};
use crate::base::rules::{KernelRules, SwapSlots};
use crate::base::time::SimDuration;

const CLUSTER: u32 = 256;
const SLOT_CACHE: usize = 64;
const NODE_SLOTS: u32 = 64;

/// A swap device.
#[derive(Clone, PartialEq, Debug)]
pub struct SwapConfig {
    /// Usable slots (pages). With 0 it is a device that is always full.
    pub slots: u32,
    /// The device under it.
    pub device: DeviceConfig,
    /// Its priority, 0..=32767 (`swapon -p`); `None`: the kernel's default.
    pub priority: Option<u32>,
}

impl SwapConfig {
    /// Devices at most: `MAX_SWAPFILES` of Linux 4.1 include/linux/swap.h, with page migration and
    /// memory failures. Later kernels have fewer.
    pub const MOST_DEVICES: usize = 29;
    /// Slots of all devices at most, with headers and what is left over between devices.
    pub const MOST_SLOTS: u64 = 1 << 31;
    /// Slots of a device begin at a multiple of this, so that no cluster has slots of two.
    pub const ALIGNED: u64 = 512;

    /// A device of `slots` usable slots, of the default priority.
    pub fn new(slots: u32, device: DeviceConfig) -> Self {
        SwapConfig { slots, device, priority: None }
    }
}

/// Contents of the swap map for a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cached {
    /// Nothing.
    Nothing,
    /// A folio of the swap cache.
    Folio(Pfn),
    /// The shadow of an evicted folio.
    Shadow(Shadow),
}

const COUNT: u8 = 0x1f;
const HAS_FOLIO: u8 = 0x20;
const HAS_SHADOW: u8 = 0x40;
/// In some CPU's cache of slots to hand out or of freed slots.
const HELD: u8 = 0x80;

const NONE: u32 = u32::MAX;

/// The slots of one cluster.
#[derive(Clone)]
struct SlotTable {
    state: [u8; CLUSTER as usize],
    /// The folio or shadow of each slot; of a wide shadow the lower half.
    value: [u32; CLUSTER as usize],
    /// Entries (folios and shadows) per node of the radix tree, and shadows among them.
    entries: [u8; NODES],
    shadows: [u8; NODES],
    /// When each node that holds only shadows became one.
    since: [Since; NODES],
}

const NODES: usize = (CLUSTER / NODE_SLOTS) as usize;

impl SlotTable {
    const EMPTY: SlotTable = SlotTable {
        state: [0; CLUSTER as usize],
        value: [0; CLUSTER as usize],
        entries: [0; NODES],
        shadows: [0; NODES],
        since: [0; NODES],
    };
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClusterState {
    Free,
    Current,
    Nonfull,
    Full,
}

#[derive(Clone, Debug, Default)]
struct CpuSlots {
    /// Where the CPU goes on in a cluster for each order, without a cache.
    next: [Option<u32>; clusters::ORDERS],
    cache: Vec<u32>,
    freed: Vec<u32>,
}

/// Global state of swap readahead by offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterRa {
    /// Offset of the last decision without a hit.
    pub prev: u32,
    /// Last window.
    pub win: u32,
    /// Hits since the last decision.
    pub hits: u32,
}

/// The swap devices with their slots, which are counted through: those of a device follow its
/// header, and lie behind those of the devices before it.
#[derive(Clone)]
pub struct Swap {
    /// The devices in the order of `swapon`.
    areas: Vec<Area>,
    /// Their order when slots are wanted.
    asked: Vec<usize>,
    /// Readahead by offset.
    pub(crate) ra: ClusterRa,
    total: u32,
    /// Slots that are neither in use nor cached by a CPU.
    free: u32,
    /// State and contents of slots, by cluster, for clusters that have slots in use.
    tables: Vec<SlotTable>,
    /// Upper halves of shadows, for machines whose shadows do not fit 32 bits.
    upper: Vec<[u32; CLUSTER as usize]>,
    wide: bool,
    /// The table of each cluster, `NONE` if it has none.
    table_of: Vec<u32>,
    free_tables: Vec<u32>,
    /// Slots in some CPU's cache: free, but out of the device's hands.
    held: u32,
    cluster_used: Vec<u16>,
    cluster_state: Vec<ClusterState>,
    per_cpu: IndexVec<CpuId, CpuSlots>,
    /// True if kernels of these rules cache slots.
    caches: bool,
    cache_active: bool,
    /// Below this number of free slots caches are given up.
    cache_floor: u32,
    /// Nodes that hold anything, and nodes that hold only shadows.
    pub nodes: u64,
    /// Nodes that hold only shadows.
    pub shadow_nodes: u64,
    /// Counts what makes a node one of shadows, here and in files: by it such nodes are in order.
    pub(crate) clock: Since,
    /// Nodes that hold only shadows, in order.
    order: ShadowQueue,
    /// Folios in the swap cache.
    pub cached: u64,
    /// Compressed copies of pages, if the contents of pages are known.
    pub(crate) pools: Option<Box<Pools>>,
}

impl Swap {
    /// The devices of a machine of `cpus` CPUs, in the order of `swapon`. Shadows of 64 bits are
    /// kept only if they are `wide`.
    ///
    /// # Panics
    /// If there are more than [`SwapConfig::MOST_DEVICES`], or they have more than
    /// [`SwapConfig::MOST_SLOTS`].
    pub fn new(devices: &[SwapConfig], rules: &KernelRules, cpus: u32, wide: bool) -> Self {
        let mut swap = Swap {
            areas: Vec::new(),
            asked: Vec::new(),
            ra: ClusterRa { prev: 0, win: 0, hits: 4 },
            total: 0,
            free: 0,
            tables: Vec::new(),
            upper: Vec::new(),
            wide,
            table_of: Vec::new(),
            free_tables: Vec::new(),
            held: 0,
            cluster_used: Vec::new(),
            cluster_state: Vec::new(),
            per_cpu: IndexVec::filled(cpus as usize, CpuSlots::default()),
            caches: rules.swap_slots == SwapSlots::Cached,
            cache_active: false,
            cache_floor: 128 * cpus,
            nodes: 0,
            shadow_nodes: 0,
            clock: 0,
            order: ShadowQueue::default(),
            cached: 0,
            pools: None,
        };
        for d in devices {
            let device = Device::new(d.device.clone(), rules);
            swap.add_area(d.slots, device, d.priority, rules);
        }
        swap
    }
    /// The devices with their slots, in the order of `swapon`.
    pub fn areas(&self) -> &[Area] {
        &self.areas
    }
    /// The device that a slot is on, with its slots.
    #[inline]
    pub fn area(&self, slot: SwapSlot) -> &Area {
        &self.areas[self.area_of(slot.0)]
    }
    /// The device that a slot is on.
    #[inline]
    pub(crate) fn device_of(&self, slot: SwapSlot) -> &Device {
        &self.area(slot).device
    }
    /// The same, to give it work.
    #[inline]
    pub(crate) fn device_of_mut(&mut self, slot: SwapSlot) -> &mut Device {
        let area = self.area_of(slot.0);
        &mut self.areas[area].device
    }
    /// The device of all slots, if there is one only.
    #[inline]
    pub(crate) fn only_device(&self) -> Option<&Device> {
        match &self.areas[..] {
            [area] => Some(&area.device),
            _ => None,
        }
    }
    /// True if there is one device, a synchronous one.
    #[inline]
    pub(crate) fn is_one_synchronous(&self) -> bool {
        self.only_device().is_some_and(|d| d.config().synchronous)
    }
    /// True if large folios may get slots in a row: clusters have orders, and all devices are
    /// synchronous.
    pub(crate) fn takes_large(&self) -> bool {
        !self.caches && self.areas.iter().all(|a| a.device.config().synchronous)
    }
    /// True if a device rotates, so that none is read ahead by address (`nr_rotate_swap`).
    #[inline]
    pub fn rotates(&self) -> bool {
        self.areas.iter().any(|a| a.device.config().rotational)
    }
    /// Time of all reads, summed over devices ([`Device::reading`]).
    pub fn reading(&self) -> SimDuration {
        let each = self.areas.iter().map(|a| a.device.reading);
        each.fold(SimDuration::ZERO, |sum, one| sum + one)
    }
    /// One past the last slot.
    pub fn end(&self) -> u32 {
        self.areas.last().map_or(0, |a| a.slots.end)
    }
    /// All usable slots.
    pub fn total(&self) -> u32 {
        self.total
    }
    /// Slots that can still be handed out, as `SwapFree`: those in CPU caches count.
    pub fn nr_free(&self) -> u32 {
        self.free + self.held
    }
    /// True if the swap-full rule holds: less than half of the slots are free.
    pub fn full(&self) -> bool {
        u64::from(self.nr_free()) * 2 < u64::from(self.total)
    }
    /// True if any slot can be handed out.
    pub(crate) fn has_room(&self) -> bool {
        self.nr_free() > 0
    }

    /// State of a slot; 0 where nothing of its cluster is in use.
    #[inline]
    fn state(&self, slot: u32) -> u8 {
        match self.table_of.get((slot / CLUSTER) as usize) {
            Some(&t) if t != NONE => self.tables[t as usize].state[(slot % CLUSTER) as usize],
            _ => 0,
        }
    }

    /// The table of a slot, made if need be.
    #[inline]
    fn table(&mut self, slot: u32) -> &mut SlotTable {
        let c = (slot / CLUSTER) as usize;
        if self.table_of[c] == NONE {
            self.make_table(c);
        }
        &mut self.tables[self.table_of[c] as usize]
    }

    #[cold]
    #[inline(never)]
    fn make_table(&mut self, c: usize) {
        self.table_of[c] = self.free_tables.pop().unwrap_or_else(|| {
            host::push(&mut self.tables, SlotTable::EMPTY);
            if self.wide {
                self.upper.push([0; CLUSTER as usize]);
            }
            (self.tables.len() - 1) as u32
        });
    }

    #[inline]
    fn state_mut(&mut self, slot: u32) -> &mut u8 {
        &mut self.table(slot).state[(slot % CLUSTER) as usize]
    }

    /// A slot for a folio on its way out, from the CPU's cache. Its count starts at 0.
    #[inline]
    pub fn alloc(&mut self, cpu: CpuId) -> Option<SwapSlot> {
        let s = self.pick(cpu)?;
        *self.state_mut(s.0) = 0;
        Some(s)
    }

    /// The same for a folio that is evicted at once: [`Swap::store`] is to follow.
    #[inline]
    pub fn pick(&mut self, cpu: CpuId) -> Option<SwapSlot> {
        if self.cache_active
            && self.free >= self.cache_floor
            && let Some(s) = self.per_cpu[cpu].cache.pop()
        {
            self.held -= 1;
            return Some(SwapSlot(s));
        }
        self.pick_slowly(cpu)
    }

    /// Picks slots until `out` is full, fewer if there are not enough: as many calls of
    /// [`Swap::pick`]. Returns how many.
    pub(crate) fn pick_many(&mut self, cpu: CpuId, out: &mut [u32]) -> usize {
        let mut done = 0;
        while done < out.len() {
            if self.cache_active && self.free >= self.cache_floor {
                let cache = &mut self.per_cpu[cpu].cache;
                let some = cache.len().min(out.len() - done);
                let left = cache.len() - some;
                for (to, &slot) in out[done..].iter_mut().zip(cache[left..].iter().rev()) {
                    *to = slot;
                }
                cache.truncate(left);
                self.held -= some as u32;
                done += some;
                if done == out.len() {
                    break;
                }
            }
            let Some(slot) = self.pick_slowly(cpu) else { break };
            out[done] = slot.0;
            done += 1;
        }
        done
    }

    /// Caches are in use while the device has plenty of free slots.
    #[cold]
    #[inline(never)]
    fn pick_slowly(&mut self, cpu: CpuId) -> Option<SwapSlot> {
        let cpus = self.per_cpu.len() as u32;
        if self.cache_active && self.free < self.cache_floor {
            self.cache_active = false;
            for cpu in self.per_cpu.ids() {
                for s in std::mem::take(&mut self.per_cpu[cpu].cache) {
                    self.put_back(s);
                }
            }
        } else if !self.cache_active && self.caches && self.free > 320 * cpus {
            self.cache_active = true;
        }
        let cached = if self.cache_active { self.per_cpu[cpu].cache.pop() } else { None };
        let s = match cached {
            Some(s) => s,
            None => self.alloc_uncached(cpu)?,
        };
        self.held -= 1;
        Some(SwapSlot(s))
    }

    /// A slot from the device, with a refill of the CPU's cache if caches are in use.
    #[inline(never)]
    fn alloc_uncached(&mut self, cpu: CpuId) -> Option<u32> {
        let mut got = std::mem::take(&mut self.per_cpu[cpu].cache);
        self.take(cpu, if self.cache_active { SLOT_CACHE } else { 1 }, &mut got);
        got.reverse();
        let s = got.pop();
        self.per_cpu[cpu].cache = got;
        // Other CPUs may still hold the last free slots.
        s.or_else(|| self.steal_cached())
    }

    fn steal_cached(&mut self) -> Option<u32> {
        for cpu in self.per_cpu.ids() {
            if let Some(s) = self.per_cpu[cpu].cache.pop() {
                return Some(s);
            }
            if !self.per_cpu[cpu].freed.is_empty() {
                self.flush_freed(cpu);
                let mut one = Vec::new();
                self.take(cpu, 1, &mut one);
                return one.pop();
            }
        }
        None
    }

    /// A slot that some CPU held is the device's again.
    #[inline]
    fn put_back(&mut self, s: u32) {
        self.count_put_back(s);
        self.free_in_cluster(s);
    }

    /// Frees a slot in its cluster, for who counts it.
    #[inline]
    fn free_in_cluster(&mut self, s: u32) {
        let c = (s / CLUSTER) as usize;
        let t = self.table_of[c];
        self.tables[t as usize].state[(s % CLUSTER) as usize] = 0;
        let used = &mut self.cluster_used[c];
        *used -= 1;
        let left = *used;
        let state = self.cluster_state[c];
        // Most slots come back to a cluster that has others free and others in use.
        if left == 0 || state == ClusterState::Full {
            self.settle_freed(c, left);
        }
    }

    /// A cluster got its first free slot, or its last slot back.
    #[inline(never)]
    fn settle_freed(&mut self, c: usize, left: u16) {
        if left == 0 {
            // Every slot of it is free: nothing in its table counts, and it can serve another.
            let t = std::mem::replace(&mut self.table_of[c], NONE);
            self.free_tables.push(t);
        }
        if self.cluster_state[c] != ClusterState::Current {
            self.settle(c as u32);
        }
    }

    #[inline(never)]
    fn flush_freed(&mut self, cpu: CpuId) {
        let mut freed = std::mem::take(&mut self.per_cpu[cpu].freed);
        let counted = self.count_all_put_back(freed.len() as u32);
        for s in freed.drain(..) {
            if !counted {
                self.count_put_back(s);
            }
            self.free_in_cluster(s);
        }
        self.per_cpu[cpu].freed = freed;
    }

    #[inline]
    fn free_slot(&mut self, s: SwapSlot, cpu: CpuId) {
        *self.state_mut(s.0) = HELD;
        self.hold_freed(s, cpu);
    }

    /// Held by the CPU until its cache of freed slots is full.
    #[inline]
    fn hold_freed(&mut self, s: SwapSlot, cpu: CpuId) {
        self.held += 1;
        self.per_cpu[cpu].freed.push(s.0);
        self.flush_if_full(cpu);
    }

    /// PTEs that refer to a slot.
    #[inline]
    pub fn count(&self, s: SwapSlot) -> u32 {
        (self.state(s.0) & COUNT).into()
    }
    /// One more PTE refers to it.
    #[inline]
    pub fn get(&mut self, s: SwapSlot) {
        let st = self.state_mut(s.0);
        assert!(*st & COUNT < COUNT, "{s}: more than 31 references");
        *st += 1;
    }
    /// One PTE less. A slot without reference and folio is freed, and its shadow with it
    /// if `drop_shadow` (5.9 and later); returns whether it was freed.
    #[inline]
    pub fn put(&mut self, s: SwapSlot, cpu: CpuId) -> bool {
        let st = self.state_mut(s.0);
        assert!(*st & COUNT > 0, "{s}: no reference to drop");
        *st -= 1;
        let unused = *st & (COUNT | HAS_FOLIO) == 0;
        if unused {
            self.set(s, Cached::Nothing);
            self.free_slot(s, cpu);
        }
        unused
    }

    /// Entry of the map for a slot.
    #[inline]
    pub fn cached(&self, s: SwapSlot) -> Cached {
        self.look(s).1
    }

    /// PTEs that refer to a slot, and what the map holds for it: both in one look.
    #[inline]
    pub fn look(&self, s: SwapSlot) -> (u32, Cached) {
        let t = match self.table_of.get((s.0 / CLUSTER) as usize) {
            Some(&t) if t != NONE => t as usize,
            _ => return (0, Cached::Nothing),
        };
        let i = (s.0 % CLUSTER) as usize;
        let table = &self.tables[t];
        let (st, v) = (table.state[i], table.value[i]);
        let cached = if st & HAS_FOLIO != 0 {
            Cached::Folio(Pfn(v))
        } else if st & HAS_SHADOW == 0 {
            Cached::Nothing
        } else {
            let upper = if self.wide { u64::from(self.upper[t][i]) << 32 } else { 0 };
            Cached::Shadow(Shadow(upper | u64::from(v)))
        };
        ((st & COUNT).into(), cached)
    }

    /// The only PTE that refers to a slot without a folio lets go: its shadow and the slot
    /// are free. [`Swap::put`] for the usual end of a slot on a synchronous device.
    ///
    /// # Panics
    /// If others refer to the slot, or it holds a folio.
    #[inline]
    pub fn put_last(&mut self, s: SwapSlot, cpu: CpuId) {
        let done = self.private_slots().0.take(s);
        assert!(done.is_some(), "{s} is not the last of its user: {:#x}", self.state(s.0));
        self.hold_freed(s, cpu);
    }

    /// A CPU frees the slots that it holds, if they are enough.
    #[inline]
    fn flush_if_full(&mut self, cpu: CpuId) {
        if self.per_cpu[cpu].freed.len() >= SLOT_CACHE || !self.cache_active {
            self.flush_freed(cpu);
        }
    }

    /// True if a slot is in use by some PTE or folio (readahead reads this).
    pub fn in_use(&self, s: SwapSlot) -> bool {
        self.state(s.0) & (HAS_FOLIO | COUNT) != 0
    }

    /// Sets what the map holds for a slot.
    #[inline(always)] // Callers know what they set, and most of this falls away.
    pub fn set(&mut self, s: SwapSlot, c: Cached) {
        let (now, value): (u8, u64) = match c {
            Cached::Nothing => (0, 0),
            Cached::Folio(p) => (HAS_FOLIO, p.0.into()),
            Cached::Shadow(s) => (HAS_SHADOW, s.0),
        };
        let i = (s.0 % CLUSTER) as usize;
        let node = i / NODE_SLOTS as usize;
        let wide = self.wide;
        let clock = self.clock + 1;
        let t = self.table(s.0);
        debug_assert!(wide || value >> 32 == 0, "{s}: a shadow of more than 32 bits");
        let was = t.state[i] & (HAS_FOLIO | HAS_SHADOW);
        t.state[i] = t.state[i] & COUNT | now;
        t.value[i] = value as u32;
        if was != now {
            let (e, sh) = (t.entries[node], t.shadows[node]);
            let entries = e + u8::from(now != 0) - u8::from(was != 0);
            let shadows = sh + u8::from(now == HAS_SHADOW) - u8::from(was == HAS_SHADOW);
            t.entries[node] = entries;
            t.shadows[node] = shadows;
            let only = |n: u8, s: u8| n > 0 && n == s;
            let (is_only, was_only) = (only(entries, shadows), only(e, sh));
            if is_only && !was_only {
                t.since[node] = clock;
            }
            // Few changes are the first or the last of their node.
            if (entries == 0) != (e == 0) {
                self.nodes = self.nodes + u64::from(entries > 0) - u64::from(e > 0);
            }
            if is_only != was_only {
                self.shadow_nodes = self.shadow_nodes + u64::from(is_only) - u64::from(was_only);
                if is_only {
                    self.clock = clock;
                    self.order.push(clock, s.0 / NODE_SLOTS);
                    self.sweep();
                }
            }
            self.cached = self.cached + u64::from(now == HAS_FOLIO) - u64::from(was == HAS_FOLIO);
        }
        if wide {
            let t = self.table_of[(s.0 / CLUSTER) as usize] as usize;
            self.upper[t][i] = (value >> 32) as u32;
        }
    }

    /// Takes a folio out of the swap cache; the slot is freed if its reference count is zero.
    #[inline]
    pub(crate) fn uncache(&mut self, s: SwapSlot, shadow: Option<Shadow>, cpu: CpuId) {
        debug_assert!(matches!(self.cached(s), Cached::Folio(_)), "{s} holds no folio");
        if self.count(s) == 0 {
            // Its last contents go with the folio.
            self.set(s, Cached::Nothing);
            self.free_slot(s, cpu);
        } else {
            self.set(s, shadow.map_or(Cached::Nothing, Cached::Shadow));
        }
    }

    /// Slots in use by the simulated machine, caches not counted.
    pub fn in_use_count(&self) -> u32 {
        self.total - self.nr_free()
    }

    /// Host bytes in use.
    pub fn host_bytes(&self) -> u64 {
        (self.tables.len() * size_of::<SlotTable>()
            + self.upper.len() * CLUSTER as usize * 4
            + self.table_of.len() * 8) as u64
            + self.pools.as_ref().map_or(0, |pools| pools.host_bytes())
    }
}

#[cfg(test)]
mod tests;
