//! Many slots at once: those that a run of swap-ins lets go, and those that a batch of evictions
//! fills. Each slot ends as [`Swap`] leaves it one at a time.

use super::{CLUSTER, HAS_SHADOW, HELD, NODE_SLOTS, NODES, Pools, SLOT_CACHE, SlotTable, Swap};
use crate::backing::Shadow;
use crate::base::host;
use crate::base::id::{CpuId, SwapSlot};

/// Slots of which some may be let go by the only PTE that refers to them.
pub(crate) struct PrivateSlots<'a> {
    tables: &'a mut [SlotTable],
    table_of: &'a [u32],
    upper: &'a [[u32; CLUSTER as usize]],
    nodes: &'a mut u64,
    shadow_nodes: &'a mut u64,
    /// True if some node of the radix tree has become empty.
    pub emptied: bool,
}

impl PrivateSlots<'_> {
    /// Has memory fetch what is known of a slot.
    #[inline(always)]
    pub(crate) fn fetch(&self, s: SwapSlot) {
        let i = (s.0 % CLUSTER) as usize;
        let at = self.table_of.get((s.0 / CLUSTER) as usize);
        if let Some(t) = self.tables.get(at.map_or(usize::MAX, |&t| t as usize)) {
            host::prefetch(&t.state, i);
            host::prefetch(&t.value, i);
            host::prefetch(&t.entries, 0);
        }
    }

    /// True if a slot without a folio is one that one PTE refers to.
    #[inline]
    pub(crate) fn is_private(&self, s: SwapSlot) -> bool {
        let at = self.table_of[(s.0 / CLUSTER) as usize] as usize;
        self.tables[at].state[(s.0 % CLUSTER) as usize] & !HAS_SHADOW == 1
    }

    /// Lets go of a slot without a folio that one PTE refers to: then the shadow, if it held
    /// one. `None`, and nothing done: it is not like that.
    #[inline(always)]
    pub(crate) fn take(&mut self, s: SwapSlot) -> Option<Option<Shadow>> {
        let i = (s.0 % CLUSTER) as usize;
        let at = self.table_of[(s.0 / CLUSTER) as usize] as usize;
        let t = &mut self.tables[at];
        let was = t.state[i];
        if was & !HAS_SHADOW != 1 {
            return None;
        }
        t.state[i] = HELD;
        if was & HAS_SHADOW == 0 {
            return Some(None);
        }
        let node = i / NODE_SLOTS as usize;
        t.shadows[node] -= 1;
        t.entries[node] -= 1;
        if t.entries[node] == 0 {
            // The last entry of its node was a shadow, so it held only shadows.
            *self.nodes -= 1;
            *self.shadow_nodes -= 1;
            self.emptied = true;
        }
        // Without wide shadows there are no upper halves.
        let upper = self.upper.get(at).map_or(0, |u| u64::from(u[i]) << 32);
        Some(Some(Shadow(upper | u64::from(t.value[i]))))
    }
}

impl Swap {
    /// Slots to be let go as [`Swap::put_last`] does; [`Swap::let_go`] is to follow. Beside them the
    /// compressed copies.
    #[inline]
    pub(crate) fn private_slots(&mut self) -> (PrivateSlots<'_>, Option<&mut Pools>) {
        let slots = PrivateSlots {
            tables: &mut self.tables,
            table_of: &self.table_of,
            upper: &self.upper,
            nodes: &mut self.nodes,
            shadow_nodes: &mut self.shadow_nodes,
            emptied: false,
        };
        (slots, self.pools.as_deref_mut())
    }

    /// A CPU holds slots that were let go, and frees what it holds whenever that is enough.
    pub(crate) fn let_go(&mut self, cpu: CpuId, mut slots: &[u32]) {
        while !slots.is_empty() {
            let freed = &mut self.per_cpu[cpu].freed;
            let (now, later) = slots.split_at(slots.len().min(SLOT_CACHE - freed.len()));
            freed.extend_from_slice(now);
            self.held += now.len() as u32;
            self.flush_if_full(cpu);
            slots = later;
        }
    }

    /// Slots just picked get the contents of folios that are evicted at once, each for the
    /// one PTE that mapped it: what `set` with the folio, `get` and `uncache` do. Those whose bits
    /// `leaves` has leave their shadow.
    #[inline]
    pub fn store(&mut self, slots: &[u32], shadows: &[Shadow], leaves: u64) {
        let mut at = 0;
        while at < slots.len() {
            let node = slots[at] / NODE_SLOTS;
            let most = (leaves >> at).trailing_ones() as usize;
            let rest = &slots[at..slots.len().min(at + most)];
            let n = rest.iter().position(|s| s / NODE_SLOTS != node).unwrap_or(rest.len());
            if n > 0 && self.store_shadows(node, &slots[at..at + n], &shadows[at..at + n]) {
                at += n;
            } else {
                let shadow = (leaves >> at & 1 != 0).then_some(shadows[at]);
                self.store_one(SwapSlot(slots[at]), shadow);
                at += 1;
            }
        }
        self.sweep();
    }

    /// Stores slots of one node with their shadows, if all of its entries are shadows: the node is
    /// counted and moved in the order of nodes once. False, and nothing done: it has other entries.
    #[inline]
    fn store_shadows(&mut self, node: u32, slots: &[u32], shadows: &[Shadow]) -> bool {
        let at = self.table_of[(node / NODES as u32) as usize] as usize;
        let t = &mut self.tables[at];
        let i = node as usize % NODES;
        let before = t.entries[i];
        if before != t.shadows[i] || self.wide {
            return false;
        }
        for (&s, &shadow) in slots.iter().zip(shadows) {
            let i = (s % CLUSTER) as usize;
            debug_assert_eq!(t.state[i], HELD, "slot {s} was not picked");
            debug_assert!(shadow.0 >> 32 == 0, "slot {s}: a shadow of more than 32 bits");
            t.state[i] = 1 | HAS_SHADOW;
            t.value[i] = shadow.0 as u32;
        }
        let n = slots.len() as u8;
        t.entries[i] = before + n;
        t.shadows[i] = before + n;
        // Each slot has moved the node, the last one for good.
        self.clock += u64::from(n);
        t.since[i] = self.clock;
        self.order.push(self.clock, node);
        let new = u64::from(before == 0);
        self.nodes += new;
        self.shadow_nodes += new;
        true
    }

    #[inline]
    fn store_one(&mut self, s: SwapSlot, shadow: Option<Shadow>) {
        let i = (s.0 % CLUSTER) as usize;
        let at = self.table_of[(s.0 / CLUSTER) as usize] as usize;
        let t = &mut self.tables[at];
        debug_assert_eq!(t.state[i], HELD, "{s} was not picked");
        t.state[i] = 1;
        let node = i / NODE_SLOTS as usize;
        if let Some(Shadow(value)) = shadow {
            t.state[i] = 1 | HAS_SHADOW;
            t.value[i] = value as u32;
            t.shadows[node] += 1;
            t.entries[node] += 1;
            if self.wide {
                self.upper[at][i] = (value >> 32) as u32;
            } else {
                debug_assert!(value >> 32 == 0, "{s}: a shadow of more than 32 bits");
            }
        }
        // The folio was there for a moment: from its end on the node holds only shadows.
        let (entries, shadows) = (t.entries[node], t.shadows[node]);
        if entries > 0 && entries == shadows {
            self.clock += 1;
            t.since[node] = self.clock;
            self.order.push(self.clock, s.0 / NODE_SLOTS);
            let first = u64::from(entries == 1 && shadow.is_some());
            self.nodes += first;
            self.shadow_nodes += first;
        }
    }
}
