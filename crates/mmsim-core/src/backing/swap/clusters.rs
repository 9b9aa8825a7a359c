//! Slots from clusters without a cache in between: partly used clusters before fresh ones.
//!
//! Each CPU goes on from its last slot to the end of that cluster. Then it takes another, in this
//! order: the first of those in which a slot came free (*nonfull*), a fresh one, the first of those
//! that some CPU left with free slots (*frag*). A cluster is looked through from its first slot.
//! Whoever looked through one leaves it as frag, or full. So holes are filled before fresh
//! clusters are touched, and pages that are evicted together lie less often next to each other.
//!
//! Source: Linux 6.18 mm/swapfile.c (`swap_alloc_fast`, `swap_alloc_slow`,
//! `alloc_swap_scan_cluster`, `partial_free_cluster`). Left out: orders above 0, discards, and
//! giving up cached slots of a full device.

use std::collections::VecDeque;

/// Slots of a cluster (`SWAPFILE_CLUSTER`).
const SLOTS: u32 = 512;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Free,
    Nonfull,
    Frag,
    Full,
}

/// A slot, and the next one to look at in its cluster, if there is one.
type Picked = (u32, Option<u32>);

/// The clusters of one device. Slots count from its header, which is 0.
#[derive(Clone, Debug)]
pub(super) struct Clusters {
    slots: u32,
    /// The slots that can be used.
    usable: std::ops::Range<u32>,
    used: Vec<u32>,
    state: Vec<State>,
    /// Number of times that a cluster was queued: an entry with another number is stale.
    queued: Vec<u32>,
    free: VecDeque<(u32, u32)>,
    nonfull: VecDeque<(u32, u32)>,
    frag: VecDeque<(u32, u32)>,
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
            queued: vec![0; clusters],
            free: VecDeque::new(),
            nonfull: VecDeque::new(),
            frag: VecDeque::new(),
            shared: None,
        };
        // Slots that cannot be used are used, so such a cluster is not a fresh one.
        for i in 0..clusters as u32 {
            let whole = c.range(i).len() as u32 == slots;
            c.relist(i, if whole { State::Free } else { State::Nonfull });
        }
        c
    }

    /// The slots of a cluster that can be used.
    fn range(&self, c: u32) -> std::ops::Range<u32> {
        (c * self.slots).max(self.usable.start)..((c + 1) * self.slots).min(self.usable.end)
    }

    fn relist(&mut self, c: u32, to: State) {
        let i = c as usize;
        if std::mem::replace(&mut self.state[i], to) == to {
            return;
        }
        self.queued[i] += 1;
        let entry = (c, self.queued[i]);
        match to {
            State::Free => self.free.push_back(entry),
            State::Nonfull => self.nonfull.push_back(entry),
            State::Frag => self.frag.push_back(entry),
            State::Full => {}
        }
    }

    /// The next free slot from there on in its cluster, and where to go on after it. `None`: the
    /// rest of the cluster is in use.
    pub(super) fn go_on(&mut self, next: u32, is_free: impl Fn(u32) -> bool) -> Option<Picked> {
        self.scan(next / self.slots, next, &is_free)
    }

    /// A free slot of another cluster. `None`: there is none.
    pub(super) fn pick(&mut self, is_free: impl Fn(u32) -> bool) -> Option<Picked> {
        loop {
            let queued = &self.queued;
            let first = |queue: &mut VecDeque<(u32, u32)>| loop {
                match queue.pop_front() {
                    Some((c, n)) if queued[c as usize] == n => break Some(c),
                    None => break None,
                    _ => {}
                }
            };
            let c = first(&mut self.nonfull)
                .or_else(|| first(&mut self.free))
                .or_else(|| first(&mut self.frag))?;
            let picked = self.scan(c, self.range(c).start, &is_free);
            if picked.is_some() {
                return picked;
            }
        }
    }

    /// The next free slot of a device whose cluster all CPUs share.
    pub(super) fn pick_shared(&mut self, is_free: impl Fn(u32) -> bool) -> Option<u32> {
        let own = self.shared.take().and_then(|next| self.go_on(next, &is_free));
        let (slot, next) = own.or_else(|| self.pick(&is_free))?;
        self.shared = next;
        Some(slot)
    }

    /// Looks through the rest of a cluster.
    fn scan(&mut self, c: u32, from: u32, is_free: &impl Fn(u32) -> bool) -> Option<Picked> {
        let range = self.range(c);
        let found = (from..range.end).find(|&s| is_free(s));
        self.used[c as usize] += u32::from(found.is_some());
        let full = self.used[c as usize] == range.len() as u32;
        // It was taken off its list to be looked through.
        if self.state[c as usize] != State::Frag || full {
            self.relist(c, if full { State::Full } else { State::Frag });
        }
        let slot = found?;
        Some((slot, (!full && slot + 1 < range.end).then_some(slot + 1)))
    }

    /// A slot is free again.
    pub(super) fn freed(&mut self, slot: u32) {
        let c = slot / self.slots;
        let used = &mut self.used[c as usize];
        *used -= 1;
        let whole = self.range(c).len() as u32 == self.slots;
        if self.used[c as usize] == 0 && whole {
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
}
