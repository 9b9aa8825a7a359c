//! Nodes of the radix tree that maps slots to folios and shadows.
//!
//! A node of 64 slots takes memory of the machine. The kernel reclaims nodes that hold only shadows,
//! the oldest first.
//!
//! Source: Linux 6.12 mm/workingset.c (`workingset_update_node`, `shadow_lru_isolate`).

use super::{HAS_FOLIO, HAS_SHADOW, NODE_SLOTS, NODES, NONE, SlotTable, Swap};
use crate::backing::shadow_queue::Since;

impl Swap {
    /// True if a node has held only shadows since then.
    fn only_since(tables: &[SlotTable], table_of: &[u32], since: Since, node: u32) -> bool {
        let n = node as usize % NODES;
        let at = table_of[node as usize / NODES];
        at != NONE && {
            let t = &tables[at as usize];
            t.since[n] == since && t.entries[n] > 0 && t.entries[n] == t.shadows[n]
        }
    }

    /// Keeps the queue of nodes of shadows short.
    #[inline]
    pub(super) fn sweep(&mut self) {
        if self.order.is_littered(self.shadow_nodes) {
            let (tables, table_of) = (&self.tables, &self.table_of);
            self.order.sweep(|since, node| Self::only_since(tables, table_of, since, node));
        }
    }

    /// The node that has held only shadows for the longest time, and since when.
    pub(crate) fn oldest_node(&mut self) -> Option<(Since, u32)> {
        let (tables, table_of) = (&self.tables, &self.table_of);
        self.order.oldest(|since, node| Self::only_since(tables, table_of, since, node))
    }

    /// Frees a node that holds only shadows, and these with it.
    pub(crate) fn drop_node(&mut self, node: u32) {
        let n = node as usize % NODES;
        let t = &mut self.tables[self.table_of[node as usize / NODES] as usize];
        assert!(t.shadows[n] > 0 && t.entries[n] == t.shadows[n], "node {node} holds a folio");
        for state in &mut t.state[n * NODE_SLOTS as usize..][..NODE_SLOTS as usize] {
            *state &= !HAS_SHADOW;
        }
        (t.entries[n], t.shadows[n]) = (0, 0);
        self.nodes -= 1;
        self.shadow_nodes -= 1;
    }

    /// Drops all shadows.
    pub(crate) fn forget_shadows(&mut self) {
        for &at in self.table_of.iter().filter(|&&at| at != NONE) {
            let t = &mut self.tables[at as usize];
            for (n, slots) in t.state.chunks_mut(NODE_SLOTS as usize).enumerate() {
                slots.iter_mut().for_each(|state| *state &= !HAS_SHADOW);
                let only = u64::from(t.entries[n] > 0 && t.entries[n] == t.shadows[n]);
                self.nodes -= only;
                self.shadow_nodes -= only;
                t.entries[n] -= std::mem::take(&mut t.shadows[n]);
            }
        }
    }

    /// Counts of nodes against what slots hold.
    ///
    /// # Panics
    /// If one is wrong.
    pub(crate) fn check_nodes(&self) {
        let (mut nodes, mut only) = (0, 0);
        for (c, &t) in self.table_of.iter().enumerate().filter(|&(_, &t)| t != NONE) {
            let t = &self.tables[t as usize];
            for (n, slots) in t.state.chunks(NODE_SLOTS as usize).enumerate() {
                let holding = |what: u8| slots.iter().filter(|&s| s & what != 0).count() as u8;
                let (all, shadows) = (holding(HAS_FOLIO | HAS_SHADOW), holding(HAS_SHADOW));
                let counted = (t.entries[n], t.shadows[n]);
                assert_eq!(counted, (all, shadows), "node {} of the swap map", c * NODES + n);
                nodes += u64::from(all > 0);
                only += u64::from(all > 0 && all == shadows);
            }
        }
        assert_eq!((self.nodes, self.shadow_nodes), (nodes, only), "nodes of the swap map");
        let counts =
            |&(since, n): &(_, _)| Self::only_since(&self.tables, &self.table_of, since, n);
        assert_eq!(self.order.iter().filter(counts).count() as u64, only, "nodes in the queue");
    }
}
