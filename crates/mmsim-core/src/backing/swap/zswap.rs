//! State of zswap: its pool, its limits, and the order in which its entries are written back.
//!
//! An entry is the compressed copy of the page in a slot. It belongs to the group of the page and to
//! the node of its memory, and each such pair has a list, the oldest entry first.
//!
//! Source: Linux 6.12 mm/zswap.c (`zswap_check_limits`, `zswap_lru_add`, `zswap_entry_free`).

use super::store::{SlotMap, Store};
use crate::backing::contents::Content;
use crate::backing::zswap::ZswapConfig;
use crate::base::id::{MemcgId, NodeId, Pfn, SwapSlot};

const NONE: u32 = u32::MAX;

/// Slots of a node of the tree in which the kernel finds entries (`XA_CHUNK_SIZE`).
const NODE: u32 = 64;
/// Entries, handles of objects, and zspages that fit into a page of slab: 56, 8 and 64 bytes each.
const OF_SLAB_PAGE: [u64; 3] = [73, 512, 64];

/// An entry in its list.
#[derive(Clone, Copy, Debug)]
struct Entry {
    prev: u32,
    next: u32,
    memcg: MemcgId,
    node: NodeId,
    referenced: bool,
}

impl Entry {
    const NOTHING: Entry =
        Entry { prev: NONE, next: NONE, memcg: MemcgId(0), node: NodeId(0), referenced: false };
}

impl List {
    const EMPTY: List = List { head: NONE, tail: NONE, nr: 0, swapins: 0, deferred: 0 };
}

/// Result of a look at an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// It had its referenced bit, and has it no more.
    Referenced,
    /// It is to be written back.
    Old(SwapSlot),
}

/// The entries of a group on a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
    pub(crate) nr: u64,
    /// Reads from the device since the shrinker counted them (`nr_disk_swapins`).
    pub(crate) swapins: u64,
    /// Entries that the shrinker left for another time.
    pub(crate) deferred: u64,
}

/// Outcome of looks at the entries of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ZswapShrunk {
    /// It may not be shrunk, or has no entry (`-ENOENT`).
    Nothing,
    /// None was written (`-EAGAIN`).
    Looked,
    /// One at least was written.
    Written,
}

/// Looks at the entries of a group, node by node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) memcg: MemcgId,
    /// The node under way, and looks there.
    pub(crate) node: NodeId,
    pub(crate) looks: u32,
    pub(crate) shrunk: ZswapShrunk,
}

impl Visit {
    pub(crate) fn of(memcg: MemcgId) -> Visit {
        Visit { memcg, node: NodeId(0), looks: 0, shrunk: ZswapShrunk::Nothing }
    }
}

/// A run of the worker that is under way.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct WorkerRun {
    /// The visit that waits for a page.
    pub(crate) visit: Option<Visit>,
    /// Visits and rounds in vain.
    pub(crate) failures: u32,
    /// Groups of this round that had entries to look at.
    pub(crate) candidates: u32,
    /// Waits for a page, one after the other.
    pub(crate) waits: u32,
}

/// The state of zswap.
#[derive(Clone, Debug)]
pub(crate) struct Zswap {
    pub(crate) config: ZswapConfig,
    /// The pool, by slot.
    pub(crate) store: Store,
    entries: SlotMap<Entry>,
    /// Entries of each node of their tree.
    of_node: Vec<u8>,
    /// Nodes of the tree with an entry.
    pub(crate) nr_nodes: u64,
    /// By group, and then by node.
    lists: Vec<List>,
    nodes: usize,
    /// Frames that the pool may have.
    pub(crate) max: u64,
    /// Frames down to which a full pool has to be to take pages again.
    pub(crate) accept: u64,
    /// The pool was full, and not down to `accept` since (`zswap_pool_reached_full`).
    pub(crate) full: bool,
    /// Entries of pages that did not compress (`stored_incompressible_pages`).
    pub(crate) nr_raw: u64,
    /// Entries that were dropped, since the page is not wanted any more.
    pub(crate) invalidated: u64,
    /// A run of the worker was requested and has not begun.
    pub(crate) worker_queued: bool,
    /// The run that is under way.
    pub(crate) worker_run: Option<WorkerRun>,
    /// The place in the order of groups whose turn it is.
    cursor: u32,
}

impl Zswap {
    /// An empty pool on a machine of `frames`.
    pub(crate) fn new(config: ZswapConfig, frames: u64, groups: usize, nodes: usize) -> Self {
        let [max, accept] = config.limits(frames);
        Zswap {
            config,
            store: Store::new(0),
            entries: SlotMap::new(Entry::NOTHING),
            of_node: Vec::new(),
            nr_nodes: 0,
            lists: vec![List::EMPTY; groups * nodes],
            nodes,
            max,
            accept,
            full: false,
            nr_raw: 0,
            invalidated: 0,
            worker_queued: false,
            worker_run: None,
            cursor: 0,
        }
    }

    /// Compares the pool with its limits. Returns whether it takes no page, and whether it is at
    /// its limit right now (`zswap_check_limits`).
    pub(crate) fn check_limits(&mut self) -> (bool, bool) {
        let total = self.store.pool.nr_frames();
        let hit = total >= self.max;
        if hit {
            self.full = true;
        } else if self.full && total <= self.accept {
            self.full = false;
        }
        (self.full, hit)
    }

    /// Stores the page of a slot in `length` bytes, in place of its entry. `frames` are as many as the
    /// pool wants. Returns that entry's bytes and group, if there was one.
    pub(crate) fn insert(
        &mut self,
        slot: SwapSlot,
        length: u16,
        frames: &[Pfn],
        (memcg, node): (MemcgId, NodeId),
    ) -> Option<(u16, MemcgId)> {
        let held = self.store.length_of(slot);
        let replaced = (held > 0).then(|| (held, self.unlink(slot)));
        if replaced.is_some() {
            self.node(slot, false);
            self.invalidated += 1;
            self.nr_raw -= u64::from(held == Content::MOST);
        }
        let stored = self.store.put(slot, length, frames);
        debug_assert!(stored, "the pool has no limit of its own");
        self.nr_raw += u64::from(length == Content::MOST);
        self.link_tail(slot, (memcg, node), true);
        self.node(slot, true);
        replaced
    }

    /// Takes the entry of a slot out, if there is one: its bytes and its group.
    pub(crate) fn remove(&mut self, slot: SwapSlot) -> Option<(u16, MemcgId)> {
        let length = self.store.take(slot)?;
        self.nr_raw -= u64::from(length == Content::MOST);
        self.node(slot, false);
        Some((length, self.unlink(slot)))
    }

    /// The node of a slot has an entry more, or one less.
    fn node(&mut self, slot: SwapSlot, more: bool) {
        let at = (slot.0 / NODE) as usize;
        if at >= self.of_node.len() {
            self.of_node.resize(at + 1, 0);
        }
        let entries = &mut self.of_node[at];
        if more {
            self.nr_nodes += u64::from(*entries == 0);
            *entries += 1;
        } else {
            *entries -= 1;
            self.nr_nodes -= u64::from(*entries == 0);
        }
    }

    /// Pages of slab that entries, handles and zspages take, besides the nodes of the tree.
    pub(crate) fn slab_pages(&self) -> u64 {
        let pool = &self.store.pool;
        let all = [self.store.nr_pages, self.store.nr_pages, pool.nr_zspages()];
        all.iter().zip(OF_SLAB_PAGE).map(|(n, of)| n.div_ceil(of)).sum()
    }

    /// True if a look at the oldest entry of a group on a node would write it; `None`: there is none.
    pub(crate) fn oldest_goes(&mut self, memcg: MemcgId, node: NodeId) -> Option<bool> {
        let head = Some(self.list_of(memcg, node).head).filter(|&h| h != NONE)?;
        Some(!self.entries.get(SwapSlot(head)).referenced)
    }

    /// Looks at the oldest entry of a group on a node, which is the newest then. One that was not
    /// looked at before is safe once more.
    pub(crate) fn look(&mut self, memcg: MemcgId, node: NodeId) -> Option<Look> {
        let head = self.list_of(memcg, node).head;
        let slot = SwapSlot(Some(head).filter(|&h| h != NONE)?);
        let referenced = self.entries.get(slot).referenced;
        self.unlink(slot);
        self.link_tail(slot, (memcg, node), false);
        Some(if referenced { Look::Referenced } else { Look::Old(slot) })
    }

    /// The place in the order of groups whose turn it is in the worker's round.
    pub(crate) fn next_place(&mut self) -> u32 {
        self.cursor += 1;
        self.cursor - 1
    }

    /// The round is over.
    pub(crate) fn first_place(&mut self) {
        self.cursor = 0;
    }

    /// The entries of a group on a node.
    pub(crate) fn list_of(&mut self, memcg: MemcgId, node: NodeId) -> &mut List {
        &mut self.lists[usize::from(memcg.0) * self.nodes + usize::from(node.0)]
    }

    /// Makes the slot's entry the newest of a list.
    #[inline]
    fn link_tail(&mut self, slot: SwapSlot, (memcg, node): (MemcgId, NodeId), referenced: bool) {
        let list = self.list_of(memcg, node);
        let prev = std::mem::replace(&mut list.tail, slot.0);
        list.nr += 1;
        match prev {
            NONE => list.head = slot.0,
            prev => self.entries.at(SwapSlot(prev)).next = slot.0,
        }
        *self.entries.at(slot) = Entry { prev, next: NONE, memcg, node, referenced };
    }

    /// Takes the slot's entry off its list; returns its group.
    #[inline]
    fn unlink(&mut self, slot: SwapSlot) -> MemcgId {
        let Entry { prev, next, memcg, node, .. } = self.entries.get(slot);
        let list = self.list_of(memcg, node);
        list.nr -= 1;
        if prev == NONE {
            list.head = next;
        }
        if next == NONE {
            list.tail = prev;
        }
        if prev != NONE {
            self.entries.at(SwapSlot(prev)).next = next;
        }
        if next != NONE {
            self.entries.at(SwapSlot(next)).prev = prev;
        }
        memcg
    }

    /// Host bytes of its entries, the pool apart.
    pub(super) fn entries_host_bytes(&self) -> u64 {
        self.entries.host_bytes()
    }

    /// # Panics
    /// If lists and the pool contradict one another.
    pub(crate) fn check(&self) {
        self.store.check();
        let mut nr = 0;
        for list in &self.lists {
            let (mut at, mut prev, mut here) = (list.head, NONE, 0);
            while at != NONE {
                let entry = self.entries.get(SwapSlot(at));
                assert_eq!(entry.prev, prev, "zswap: the entry before slot {at}");
                (prev, at, here) = (at, entry.next, here + 1);
            }
            assert_eq!((list.tail, list.nr), (prev, here), "zswap: a list of entries");
            nr += here;
        }
        assert_eq!(nr, self.store.nr_pages, "zswap: entries on lists");
        let in_nodes: u64 = self.of_node.iter().map(|&n| u64::from(n)).sum();
        assert_eq!(in_nodes, nr, "zswap: entries in the tree");
        let nodes = self.of_node.iter().filter(|&&n| n > 0).count() as u64;
        assert_eq!(nodes, self.nr_nodes, "zswap: nodes of the tree");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zswap(max: u64, accept_percent: u32) -> Zswap {
        let linux = ZswapConfig::linux();
        let config = ZswapConfig {
            max_pool_percent: 100,
            accept_threshold_percent: accept_percent,
            ..linux
        };
        Zswap::new(config, max, 1, 1)
    }

    /// The specification's example: what a pool of at most 100 frames answers as it shrinks. Each
    /// page takes a frame.
    #[test]
    fn a_full_pool_takes_pages_again_when_it_is_down_to_the_threshold() {
        let mut z = zswap(100, 90);
        let mut hits = 0;
        let answers = [99, 100, 99, 91, 90, 99].map(|total| {
            let held = z.store.pool.nr_frames() as u32;
            let list = (MemcgId(0), NodeId(0));
            for s in held..total {
                assert_eq!(z.insert(SwapSlot(s), Content::MOST, &[Pfn(s)], list), None);
            }
            (total..held).for_each(|s| assert!(z.remove(SwapSlot(s)).is_some()));
            z.store.gone.clear();
            let (full, hit) = z.check_limits();
            hits += u32::from(hit);
            full
        });
        assert_eq!(answers, [false, true, true, true, false, false]);
        assert_eq!(hits, 1);
        z.check();
    }

    /// By counting: 200 entries, 200 handles and 22 zspages of 9 objects take 3, 1 and 1 page of slab.
    /// Their slots lie in four nodes of the tree, of which the last has 8.
    #[test]
    fn entries_take_slab() {
        let mut z = zswap(1000, 90);
        let mut next = 0;
        for s in 0..200 {
            let first = next;
            next += z.store.wants(3600) as u32;
            let frames: Vec<Pfn> = (first..next).map(Pfn).collect();
            z.insert(SwapSlot(s), 3600, &frames, (MemcgId(0), NodeId(0)));
        }
        assert_eq!((z.slab_pages(), z.nr_nodes), (5, 4));
        (192..200).for_each(|s| assert!(z.remove(SwapSlot(s)).is_some()));
        assert_eq!((z.store.pool.nr_zspages(), z.nr_nodes), (22, 3));
        assert_eq!(z.store.gone.drain(..).len(), 8);
        z.check();
    }
}
