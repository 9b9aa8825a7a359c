//! Swap areas: the slots of each device, and the order in which devices give slots.
//!
//! The device of the highest priority gives slots first. Devices of one priority take turns: a
//! device that gave a slot goes behind its equals (`plist_requeue`), and so does a device that has
//! a free slot again. With a cache of slots a turn is a refill of the cache, up to 64 slots;
//! without, it lasts as long as the CPU's cluster.
//!
//! A device without a priority of its own has one by default: up to 6.18 -2, -3 and so on in the
//! order of `swapon`, from 6.19 on each has -1.
//!
//! Sources: Linux 6.12 mm/swapfile.c (`get_swap_pages`, `setup_swap_info`), 7.3
//! mm/swapfile.c (`swap_alloc_fast`, `swap_alloc_slow`, `DEF_SWAP_PRIO`). Left out: up to 6.18 a
//! CPU prefers devices of its own node among those without a priority.

use super::clusters::Clusters;
use super::{CLUSTER, ClusterState, HELD, NONE, SlotTable, Swap, SwapConfig};
use crate::backing::device::Device;
use crate::base::id::{CpuId, IndexVec, SwapSlot};
use crate::base::rules::{KernelRules, SwapSlots};
use std::collections::VecDeque;
use std::ops::Range;

/// One swap device with its slots (`struct swap_info_struct`).
#[derive(Clone)]
pub struct Area {
    /// The device.
    pub device: Device,
    /// The device with the largest gives slots first.
    priority: i32,
    /// Usable slots. The header lies before the first.
    pub(super) slots: Range<u32>,
    /// Slots that are neither in use nor cached by a CPU.
    pub(super) free: u32,
    pub(super) free_clusters: VecDeque<u32>,
    pub(super) nonfull: VecDeque<u32>,
    /// The cluster that each CPU takes slots from, and the next slot there.
    pub(super) current: IndexVec<CpuId, Option<(u32, u32)>>,
    /// Clusters of which slots are taken without a cache.
    clusters: Option<Box<Clusters>>,
}

impl Area {
    /// Its priority.
    pub fn priority(&self) -> i32 {
        self.priority
    }
    /// All usable slots.
    pub fn total(&self) -> u32 {
        self.slots.len() as u32
    }
    /// Slots that are in use or in a CPU's cache: `Used` of `/proc/swaps`, in pages.
    pub fn used(&self) -> u32 {
        self.total() - self.free
    }
    /// Where its header lies: the slot that Linux calls 0.
    pub fn header(&self) -> u32 {
        self.slots.start - 1
    }
}

/// Holds free slots until `out` has `want` of them, eight states at a time. Slot `first` has the
/// first of the states. Returns how many were looked at.
fn hold_free(states: &mut [u8], first: u32, want: usize, out: &mut Vec<u32>) -> u32 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let n = states.len();
    let mut room = want - out.len();
    out.reserve(room);
    let mut i = 0;
    while i < n {
        if let Some(eight) = states[i..].first_chunk::<8>() {
            let x = u64::from_le_bytes(*eight);
            // Bits at bytes that are 0. Above the lowest one some may be wrong.
            let zeros = x.wrapping_sub(LOW) & !x & (LOW << 7);
            if zeros == 0 {
                i += 8;
                continue;
            }
            i += (zeros.trailing_zeros() / 8) as usize;
        } else if states[i] != 0 {
            i += 1;
            continue;
        }
        states[i] = HELD;
        out.push(first + i as u32);
        i += 1;
        room -= 1;
        if room == 0 {
            break;
        }
    }
    i as u32
}

/// True if a slot is neither in use nor held by a CPU.
fn is_free(tables: &[SlotTable], table_of: &[u32], slot: u32) -> bool {
    let t = table_of[(slot / CLUSTER) as usize];
    t == NONE || tables[t as usize].state[(slot % CLUSTER) as usize] == 0
}

impl Swap {
    /// Adds a device with that many usable slots: without a priority it has the default one.
    pub(super) fn add_area(
        &mut self,
        slots: u32,
        device: Device,
        priority: Option<u32>,
        rules: &KernelRules,
    ) {
        assert!(self.areas.len() < SwapConfig::MOST_DEVICES, "too many swap devices");
        let header = self
            .areas
            .last()
            .map_or(0, |a| a.slots.end.next_multiple_of(SwapConfig::ALIGNED as u32));
        let priority = match priority {
            Some(given) => given as i32,
            None if rules.swap_priorities_equal => -1,
            None => self.areas.iter().fold(-1, |lowest, a| lowest.min(a.priority)) - 1,
        };
        let end = u64::from(header) + 1 + u64::from(slots);
        assert!(end <= SwapConfig::MOST_SLOTS, "{end} slots of swap");
        let usable = header + 1..end as u32;
        let clusters = header / CLUSTER..usable.end.div_ceil(CLUSTER);
        self.table_of.resize(clusters.end as usize, NONE);
        self.cluster_used.resize(clusters.end as usize, 0);
        self.cluster_state.resize(clusters.end as usize, ClusterState::Free);
        let cpus = self.per_cpu.len();
        self.total += slots;
        self.free += slots;
        self.areas.push(Area {
            device,
            priority,
            slots: usable,
            free: slots,
            free_clusters: clusters.collect(),
            nonfull: VecDeque::new(),
            current: IndexVec::filled(cpus, None),
            clusters: match rules.swap_slots {
                SwapSlots::Cached => None,
                SwapSlots::Clusters618 => Some(Box::new(Clusters::new(slots))),
            },
        });
        let last = self.areas.len() - 1;
        let behind = |&a: &usize| self.areas[a].priority < priority;
        let at = self.asked.iter().position(behind).unwrap_or(self.asked.len());
        self.asked.insert(at, last);
    }

    /// The area that a slot is of.
    #[inline]
    pub(super) fn area_of(&self, slot: u32) -> usize {
        if self.areas.len() == 1 {
            return 0;
        }
        let has = |a: &Area| a.header() <= slot;
        self.areas.iter().rposition(has).expect("a slot is of an area")
    }

    /// The area of a slot goes behind its equals.
    fn requeue(&mut self, area: usize) {
        let priority = self.areas[area].priority;
        let at = self.asked.iter().position(|&a| a == area).expect("it was added");
        let equals = self.asked[at..].iter().take_while(|&&a| self.areas[a].priority == priority);
        let end = at + equals.count();
        self.asked[at..end].rotate_left(1);
    }

    /// Asks areas in their order until one gives a slot.
    fn ask(&mut self, mut take: impl FnMut(&mut Swap, usize) -> bool) {
        let mut first = 0;
        while first < self.asked.len() {
            let priority = self.areas[self.asked[first]].priority;
            let equals = |&&a: &&usize| self.areas[a].priority == priority;
            let n = self.asked[first..].iter().take_while(equals).count();
            for _ in 0..n {
                // The area goes behind its equals, so the next of them is here.
                let area = self.asked[first];
                self.requeue(area);
                if self.areas[area].free > 0 && take(self, area) {
                    return;
                }
            }
            first += n;
        }
    }

    /// Takes slots straight from a device until `out` holds `want` or the device has none left.
    pub(super) fn take(&mut self, cpu: CpuId, want: usize, out: &mut Vec<u32>) {
        if !self.caches {
            while out.len() < want
                && let Some(slot) = self.take_of_cluster(cpu)
            {
                out.push(slot);
            }
            return;
        }
        self.ask(|swap, area| {
            let had = out.len();
            swap.take_of(area, cpu, want, out);
            out.len() > had
        });
    }

    /// The next slot by clusters: of the CPU's own, else of the next area.
    fn take_of_cluster(&mut self, cpu: CpuId) -> Option<u32> {
        let mut slot = self.take_of_own(cpu, 0);
        if slot.is_none() {
            self.ask(|swap, area| {
                slot = swap.pick_of(area, cpu, 0, None);
                slot.is_some()
            });
        }
        self.hold(slot?, 1);
        slot
    }

    /// Slots of an order above 0 in a row for a folio that is evicted at once, of which [`Swap::store`]
    /// is to follow: of the CPU's own cluster of that order, else of the device whose turn it is.
    /// `None`: that has none (`folio_alloc_swap`).
    pub(crate) fn take_large(&mut self, cpu: CpuId, order: u8) -> Option<SwapSlot> {
        let mut slot = self.take_of_own(cpu, order);
        if slot.is_none() {
            self.ask(|swap, area| {
                let rotational = swap.areas[area].device.config().rotational;
                slot = (!rotational).then(|| swap.pick_of(area, cpu, order, None)).flatten();
                true
            });
        }
        self.hold(slot?, 1 << order);
        self.held -= 1 << order;
        slot.map(SwapSlot)
    }

    fn take_of_own(&mut self, cpu: CpuId, order: u8) -> Option<u32> {
        let next = self.per_cpu[cpu].next[usize::from(order)].take()?;
        self.pick_of(self.area_of(next), cpu, order, Some(next))
    }

    /// Takes slots in a row out of the device's hands.
    fn hold(&mut self, first: u32, n: u32) {
        for slot in first..first + n {
            *self.state_mut(slot) = HELD;
            self.cluster_used[(slot / CLUSTER) as usize] += 1;
        }
        let area = self.area_of(first);
        self.count_taken(area, n);
    }

    /// Slots of an area from there on in its cluster, or of any cluster. CPUs share the cluster of a
    /// rotational device, which has single slots only.
    fn pick_of(&mut self, area: usize, cpu: CpuId, order: u8, next: Option<u32>) -> Option<u32> {
        let (tables, table_of) = (&self.tables, &self.table_of);
        let a = &mut self.areas[area];
        let header = a.header();
        let is_free = |s| is_free(tables, table_of, header + s);
        let clusters = a.clusters.as_mut().expect("each area has clusters, or none");
        if a.device.config().rotational {
            return Some(header + clusters.pick_shared(is_free)?);
        }
        let (slot, then) = match next {
            Some(next) => clusters.go_on(next - header, order, is_free)?,
            None => clusters.pick(order, is_free)?,
        };
        self.per_cpu[cpu].next[usize::from(order)] = then.map(|s| header + s);
        Some(header + slot)
    }

    fn count_taken(&mut self, area: usize, n: u32) {
        self.areas[area].free -= n;
        self.free -= n;
        self.held += n;
    }

    /// Counts `n` slots that CPUs held as the device's again, if there is one device, which has others
    /// free and no clusters of its own. False, and nothing counted: each is to be counted.
    #[inline]
    pub(super) fn count_all_put_back(&mut self, n: u32) -> bool {
        let [area] = &mut self.areas[..] else { return false };
        let alike = area.free > 0 && area.clusters.is_none();
        if alike {
            area.free += n;
            self.held -= n;
            self.free += n;
        }
        alike
    }

    /// An area has one slot more to hand out.
    #[inline]
    pub(super) fn count_put_back(&mut self, slot: u32) {
        self.held -= 1;
        self.free += 1;
        let nth = self.area_of(slot);
        let area = &mut self.areas[nth];
        area.free += 1;
        if let Some(clusters) = &mut area.clusters {
            clusters.freed(slot + 1 - area.slots.start);
        }
        if area.free == 1 {
            self.requeue(nth);
        }
    }

    pub(super) fn cluster_slots(&self, c: u32) -> Range<u32> {
        let usable = &self.areas[self.area_of(c * CLUSTER)].slots;
        (c * CLUSTER).max(usable.start)..((c + 1) * CLUSTER).min(usable.end)
    }

    /// Takes slots of one area, cluster by cluster. CPUs share the cluster of a rotational device.
    fn take_of(&mut self, area: usize, cpu: CpuId, want: usize, out: &mut Vec<u32>) {
        let rotational = self.areas[area].device.config().rotational;
        let cpu = if rotational { CpuId(0) } else { cpu };
        let want = want.min(out.len() + self.areas[area].free as usize);
        while out.len() < want {
            let Some((c, next)) = self.areas[area].current[cpu] else {
                let free = self.areas[area].free_clusters.pop_front();
                let nonfull = free.or_else(|| self.pop_nonfull(area));
                let Some(c) = nonfull.or_else(|| self.current_of_another(area)) else { return };
                self.cluster_state[c as usize] = ClusterState::Current;
                self.areas[area].current[cpu] = Some((c, self.cluster_slots(c).start));
                continue;
            };
            let end = self.cluster_slots(c).end;
            if next == end {
                self.areas[area].current[cpu] = None;
                self.settle(c);
                continue;
            }
            let had = out.len();
            let from = (next % CLUSTER) as usize;
            let states = &mut self.table(next).state[from..from + (end - next) as usize];
            let seen = next + hold_free(states, next, want, out);
            let got = (out.len() - had) as u32;
            self.cluster_used[c as usize] += got as u16;
            self.count_taken(area, got);
            self.areas[area].current[cpu] = Some((c, seen));
        }
    }

    /// A cluster with free slots that another CPU works on: the last ones of a device. The two share it
    /// then, and the states of slots decide whose each is. Linux 6.12 finds it among the clusters that
    /// are not full, where it is from its first slot on; up to 6.11 by a look at all slots.
    #[cold]
    fn current_of_another(&self, area: usize) -> Option<u32> {
        let has_free =
            |&c: &u32| usize::from(self.cluster_used[c as usize]) < self.cluster_slots(c).len();
        self.areas[area].current.iter().flatten().map(|&(c, _)| c).find(has_free)
    }

    /// Entries of the queue may be stale: the state decides.
    pub(super) fn pop_nonfull(&mut self, area: usize) -> Option<u32> {
        let states = &self.cluster_state;
        let nonfull = &mut self.areas[area].nonfull;
        std::iter::from_fn(|| nonfull.pop_front())
            .find(|&c| states[c as usize] == ClusterState::Nonfull)
    }

    /// Queues a cluster that no CPU works on by what it holds.
    pub(super) fn settle(&mut self, c: u32) {
        let used = self.cluster_used[c as usize];
        let now = if used == 0 {
            ClusterState::Free
        } else if usize::from(used) < self.cluster_slots(c).len() {
            ClusterState::Nonfull
        } else {
            ClusterState::Full
        };
        let was = std::mem::replace(&mut self.cluster_state[c as usize], now);
        let area = self.area_of(c * CLUSTER);
        let area = &mut self.areas[area];
        match now {
            _ if was == now => {}
            ClusterState::Free => area.free_clusters.push_back(c),
            ClusterState::Nonfull => area.nonfull.push_back(c),
            ClusterState::Full | ClusterState::Current => {}
        }
    }
}
