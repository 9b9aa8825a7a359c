//! Slots from clusters without a cache in between: partly used clusters before fresh ones.
//!
//! A cluster has slots of one order, set by the first allocation into it, until it is empty again. For
//! each order a CPU goes on from its last slots to the end of that cluster. Then it takes another, in
//! this order: those of the order in which slots came free (*nonfull*), a fresh one, the first of those
//! of the order that some CPU left with free slots (*frag*). A cluster is looked through from its first
//! slot, in steps of the order. Whoever looked through one leaves it as frag, or full. So holes are
//! filled before fresh clusters are touched, and pages that are evicted together lie less often next to
//! each other. Only a single slot may come from a cluster of another order, if nothing else is left, and
//! only a request for 512 slots insists on a fresh cluster.
//!
//! Source: Linux 6.18 mm/swapfile.c (`swap_alloc_fast`, `swap_alloc_slow`,
//! `cluster_alloc_swap_entry`, `alloc_swap_scan_cluster`, `partial_free_cluster`). Left out: discards,
//! and giving up cached slots of a full device.

use std::collections::VecDeque;

use crate::base::id::HUGE_ORDER;

/// Slots of a cluster (`SWAPFILE_CLUSTER`).
const SLOTS: u32 = 512;
/// Orders of requests.
pub(super) const ORDERS: usize = HUGE_ORDER as usize + 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Free,
    Nonfull,
    Frag,
    Full,
    /// Taken off its list to be looked through.
    Off,
}

/// The first slot, and the next one to look at in its cluster, if there is one.
type Picked = (u32, Option<u32>);

/// Clusters with the number of times that each had been queued: other entries are stale.
type Queue = VecDeque<(u32, u32)>;

/// The clusters of one device. Slots count from its header, which is 0.
#[derive(Clone, Debug)]
pub(super) struct Clusters {
    slots: u32,
    /// The slots that can be used.
    usable: std::ops::Range<u32>,
    used: Vec<u32>,
    state: Vec<State>,
    /// The order of each cluster that is not free.
    order: Vec<u8>,
    /// Number of times that a cluster was queued: an entry with another number is stale.
    queued: Vec<u32>,
    free: Queue,
    nonfull: [Queue; ORDERS],
    frag: [Queue; ORDERS],
    /// Where all CPUs go on, if the device rotates.
    shared: Option<u32>,
}

impl Clusters {
    /// `slots` usable ones, after the header in slot 0.
    pub(super) fn new(slots: u32) -> Self {
        Clusters::of(SLOTS, 1..slots + 1)
    }

    fn of(slots: u32, usable: std::ops::Range<u32>) -> Self {
        let clusters = usable.end.div_ceil(slots) as usize;
        let mut c = Clusters {
            slots,
            usable,
            used: vec![0; clusters],
            state: vec![State::Full; clusters],
            order: vec![0; clusters],
            queued: vec![0; clusters],
            free: Queue::new(),
            nonfull: Default::default(),
            frag: Default::default(),
            shared: None,
        };
        // Slots that cannot be used are used, so such a cluster is not a fresh one.
        for i in 0..clusters as u32 {
            let whole = c.is_whole(i);
            c.relist(i, if whole { State::Free } else { State::Nonfull });
        }
        c
    }

    /// The slots of a cluster that can be used.
    fn range(&self, c: u32) -> std::ops::Range<u32> {
        (c * self.slots).max(self.usable.start)..((c + 1) * self.slots).min(self.usable.end)
    }

    fn is_whole(&self, c: u32) -> bool {
        self.range(c).len() as u32 == self.slots
    }

    /// True if no slot of a cluster is in use. Slots that cannot be used are.
    fn is_empty(&self, c: u32) -> bool {
        self.used[c as usize] == 0 && self.is_whole(c)
    }

    fn relist(&mut self, c: u32, to: State) {
        let i = c as usize;
        if std::mem::replace(&mut self.state[i], to) == to {
            return;
        }
        self.queued[i] += 1;
        let entry = (c, self.queued[i]);
        let order = usize::from(self.order[i]);
        match to {
            State::Free => self.free.push_back(entry),
            State::Nonfull => self.nonfull[order].push_back(entry),
            State::Frag => self.frag[order].push_back(entry),
            State::Full | State::Off => {}
        }
    }

    /// Takes the first cluster off a list.
    fn first(queue: &mut Queue, queued: &[u32], state: &mut [State]) -> Option<u32> {
        let current = |&(c, n): &(u32, u32)| queued[c as usize] == n;
        let (c, _) = std::iter::from_fn(|| queue.pop_front()).find(current)?;
        state[c as usize] = State::Off;
        Some(c)
    }

    fn of_nonfull(&mut self, order: u8) -> Option<u32> {
        Self::first(&mut self.nonfull[usize::from(order)], &self.queued, &mut self.state)
    }

    fn of_frag(&mut self, order: u8) -> Option<u32> {
        Self::first(&mut self.frag[usize::from(order)], &self.queued, &mut self.state)
    }

    /// The next free slots of an order from a place on in its cluster, and where to go on after them.
    /// `None`: the rest of the cluster is in use, or has another order by now.
    pub(super) fn go_on(
        &mut self,
        next: u32,
        order: u8,
        is_free: impl Fn(u32) -> bool,
    ) -> Option<Picked> {
        let c = next / self.slots;
        let usable = order == 0 || self.is_empty(c) || self.order[c as usize] == order;
        if usable { self.scan(c, next, order, &is_free) } else { None }
    }

    /// Free slots of another cluster. `None`: there are none for the order.
    pub(super) fn pick(&mut self, order: u8, is_free: impl Fn(u32) -> bool) -> Option<Picked> {
        let tried = |this: &mut Self, c: u32| {
            let start = this.range(c).start;
            this.scan(c, start, order, &is_free)
        };
        if order < HUGE_ORDER {
            while let Some(c) = self.of_nonfull(order) {
                if let Some(picked) = tried(self, c) {
                    return Some(picked);
                }
            }
        }
        if let Some(c) = Self::first(&mut self.free, &self.queued, &mut self.state) {
            return tried(self, c);
        }
        if order == HUGE_ORDER {
            return None;
        }
        if order > 0 {
            return self.of_frag(order).and_then(|c| tried(self, c));
        }
        while let Some(c) = self.of_frag(0) {
            if let Some(picked) = tried(self, c) {
                return Some(picked);
            }
        }
        for other in 1..ORDERS as u8 {
            while let Some(c) = self.of_frag(other).or_else(|| self.of_nonfull(other)) {
                if let Some(picked) = tried(self, c) {
                    return Some(picked);
                }
            }
        }
        None
    }

    /// The next free slot of a device whose cluster all CPUs share.
    pub(super) fn pick_shared(&mut self, is_free: impl Fn(u32) -> bool) -> Option<u32> {
        let own = self.shared.take().and_then(|next| self.go_on(next, 0, &is_free));
        let (slot, next) = own.or_else(|| self.pick(0, &is_free))?;
        self.shared = next;
        Some(slot)
    }

    /// Looks through the rest of a cluster.
    fn scan(
        &mut self,
        c: u32,
        from: u32,
        order: u8,
        is_free: &impl Fn(u32) -> bool,
    ) -> Option<Picked> {
        let (range, nr) = (self.range(c), 1 << order);
        let all_free = |&s: &u32| s + nr <= range.end && (s..s + nr).all(is_free);
        let found = (from..range.end).step_by(nr as usize).find(all_free);
        let i = c as usize;
        if found.is_some() && self.is_empty(c) {
            self.order[i] = order;
        }
        self.used[i] += if found.is_some() { nr } else { 0 };
        let full = self.used[i] == range.len() as u32;
        self.relist(c, if full { State::Full } else { State::Frag });
        let slot = found?;
        Some((slot, (!full && slot + nr < range.end).then_some(slot + nr)))
    }

    /// A slot is free again.
    pub(super) fn freed(&mut self, slot: u32) {
        let c = slot / self.slots;
        self.used[c as usize] -= 1;
        if self.is_empty(c) {
            self.relist(c, State::Free);
        } else {
            self.relist(c, State::Nonfull);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Device {
        clusters: Clusters,
        used: Vec<bool>,
    }

    impl Device {
        fn new(clusters: Clusters) -> Device {
            let used = vec![false; clusters.usable.end as usize];
            Device { clusters, used }
        }
        fn take(&mut self, n: usize) -> Vec<u32> {
            let one = |d: &mut Device| {
                let s = d.clusters.pick_shared(|s| !d.used[s as usize])?;
                d.used[s as usize] = true;
                Some(s)
            };
            (0..n).map_while(|_| one(self)).collect()
        }
        fn free(&mut self, slot: u32) {
            self.used[slot as usize] = false;
            self.clusters.freed(slot);
        }
    }

    /// Clusters of 8 without a header, worked by hand.
    #[test]
    fn holes_are_filled_before_fresh_clusters() {
        let mut d = Device::new(Clusters::of(8, 0..32));
        assert_eq!(d.take(12), (0..12).collect::<Vec<_>>());
        d.free(2);
        d.free(5);
        assert_eq!(d.take(5), [12, 13, 14, 15, 2]);
        assert_eq!(d.take(2), [5, 16]);
        // A slot that comes free in the cluster in use makes that one nonfull, until its next slot
        // is taken. At its end a fresh cluster is next.
        d.free(16);
        assert_eq!(d.take(7), [17, 18, 19, 20, 21, 22, 23]);
        assert_eq!(d.take(2), [24, 25]);
        // The hole counts as left behind, and is filled when nothing else is free.
        assert_eq!(d.take(9), [26, 27, 28, 29, 30, 31, 16]);
    }

    /// The cluster of the header, and a last one that is not whole, are partly used from the first.
    #[test]
    fn clusters_that_are_not_whole_go_first() {
        let mut d = Device::new(Clusters::of(8, 1..21));
        assert_eq!(d.take(12), [1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20]);
        assert_eq!(d.take(99), (8..16).collect::<Vec<_>>());
    }

    impl Device {
        /// Slots of an order, as one CPU takes them.
        fn pick(&mut self, order: u8, next: &mut Option<u32>) -> Option<u32> {
            let is_free = |s: u32| !self.used[s as usize];
            let own = next.take().and_then(|next| self.clusters.go_on(next, order, is_free));
            let (first, then) = own.or_else(|| self.clusters.pick(order, is_free))?;
            *next = then;
            (first..first + (1 << order)).for_each(|s| self.used[s as usize] = true);
            Some(first)
        }
    }

    /// Worked by hand: four clusters of 512 slots, of which the first has the header. 96 folios of 16
    /// pages fill three of them.
    #[test]
    fn slots_in_a_row_come_from_clusters_of_their_order() {
        let mut d = Device::new(Clusters::new(2047));
        let (mut large, mut single) = (None, None);
        let all: Vec<u32> =
            (0..96).map(|_| d.pick(4, &mut large).expect("there is room")).collect();
        assert_eq!(all, (0..96).map(|i| 512 + 16 * i).collect::<Vec<_>>());
        assert_eq!(d.pick(4, &mut large), None);
        (544..560).chain(1024..1032).for_each(|s| d.free(s));
        assert_eq!(d.pick(4, &mut large), Some(544));
        assert_eq!(d.pick(4, &mut large), None, "eight slots are free in the third");
        // Single slots come from the cluster of the header, and then from the third.
        let singles: Vec<u32> = (0..512).filter_map(|_| d.pick(0, &mut single)).collect();
        assert_eq!(singles, (1..512).chain([1024]).collect::<Vec<_>>());
        // A huge page asks for a fresh cluster.
        assert_eq!(d.pick(9, &mut None), None);
        (512..1024).for_each(|s| d.free(s));
        assert_eq!((d.pick(9, &mut None), d.pick(9, &mut None)), (Some(512), None));
    }
}
