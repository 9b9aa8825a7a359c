//! Many slots at once: those that a run of swap-ins lets go, and those that a batch of evictions
//! fills. Each slot ends as [`Swap`] leaves it one at a time.

use super::{CLUSTER, HAS_SHADOW, HELD, NODE_SLOTS, SLOT_CACHE, SlotTable, Swap};
use crate::backing::Shadow;
use crate::base::id::{CpuId, SwapSlot};

/// Slots of which some may be let go by the only PTE that refers to them.
pub struct PrivateSlots<'a> {
    tables: &'a mut [SlotTable],
    table_of: &'a [u32],
    upper: &'a [[u32; CLUSTER as usize]],
    nodes: &'a mut u64,
    shadow_nodes: &'a mut u64,
    /// Whether some node of the radix tree has become empty.
    pub emptied: bool,
}

impl PrivateSlots<'_> {
    /// Words of a slot, to have them fetched.
    #[inline(always)]
    pub fn peek(&self, s: SwapSlot) -> u32 {
        let i = (s.0 % CLUSTER) as usize;
        let at = self.table_of.get((s.0 / CLUSTER) as usize);
        self.tables.get(at.map_or(usize::MAX, |&t| t as usize)).map_or(0, |t| {
            u32::from(t.state[i]) ^ t.value[i] ^ u32::from(t.entries[i / NODE_SLOTS as usize])
        })
    }

    /// Lets go of a slot without a folio that one PTE refers to: then the shadow, if it held
    /// one. `None`, and nothing done: it is not like that.
    #[inline(always)]
    pub fn take(&mut self, s: SwapSlot) -> Option<Option<Shadow>> {
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
    /// Slots to be let go as [`Swap::put_last`] does, and how many of them a CPU can hold.
    #[inline]
    pub fn private_slots(&mut self, cpu: CpuId) -> (PrivateSlots<'_>, usize) {
        let room = SLOT_CACHE - self.per_cpu[cpu].freed.len();
        let slots = PrivateSlots {
            tables: &mut self.tables,
            table_of: &self.table_of,
            upper: &self.upper,
            nodes: &mut self.nodes,
            shadow_nodes: &mut self.shadow_nodes,
            emptied: false,
        };
        (slots, room)
    }

    /// Slots just picked get the contents of folios that are evicted at once, each for the
    /// one PTE that mapped it: what `set` with the folio, `get` and `uncache` do.
    #[inline]
    pub fn store(&mut self, evicted: impl Iterator<Item = (SwapSlot, Option<Shadow>)>) {
        for (s, shadow) in evicted {
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
        self.sweep();
    }
}
