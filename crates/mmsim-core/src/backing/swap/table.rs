//! Tables of slots, one for each cluster that has slots in use.

use super::{CLUSTER, NODE_SLOTS};
use crate::backing::shadow_queue::Since;

/// The record of a slot: how many PTEs refer to it, what the swap map holds for it, and in the lower
/// half the folio or shadow; of a wide shadow its lower half. 0: nobody uses it.
pub(super) type Record = u64;
pub(super) const ONE: Record = 1 << 32;
pub(super) const COUNT: Record = 0x1f << 32;
pub(super) const HAS_FOLIO: Record = 0x20 << 32;
pub(super) const HAS_SHADOW: Record = 0x40 << 32;

/// The slots of one cluster. What a swap-in and a freed slot change beside the record lies in the first
/// line of memory.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct SlotTable {
    /// Slots to hand out: neither in use nor in a CPU's cache. One bit each.
    pub(super) free: [u64; NODES],
    /// Entries (folios and shadows) per node of the radix tree, and shadows among them.
    pub(super) entries: [u8; NODES],
    pub(super) shadows: [u8; NODES],
    /// Usable slots, and those of them that are not free.
    pub(super) slots: u16,
    pub(super) used: u16,
    /// When each node that holds only shadows became one.
    pub(super) since: [Since; NODES],
    pub(super) record: [Record; CLUSTER as usize],
}

pub(super) const NODES: usize = (CLUSTER / NODE_SLOTS) as usize;
/// A node has as many slots as a word has bits.
const _: () = assert!(NODE_SLOTS == u64::BITS);

impl SlotTable {
    pub(super) const EMPTY: SlotTable = SlotTable {
        free: [0; NODES],
        entries: [0; NODES],
        shadows: [0; NODES],
        slots: 0,
        used: 0,
        since: [0; NODES],
        record: [0; CLUSTER as usize],
    };

    /// Whether a slot of the cluster, by its number there, is free.
    #[inline(always)]
    pub(super) fn is_free(&self, i: u32) -> bool {
        self.free[(i / NODE_SLOTS) as usize] >> (i % NODE_SLOTS) & 1 != 0
    }
    /// A free slot is free no more.
    #[inline]
    pub(super) fn hold(&mut self, i: u32) {
        debug_assert!(self.is_free(i), "slot {i} of a cluster is held already");
        self.free[(i / NODE_SLOTS) as usize] &= !(1 << (i % NODE_SLOTS));
        self.used += 1;
    }
    /// A slot is free again. Whether the cluster had none, and how many are in use then.
    #[inline(always)]
    pub(super) fn release(&mut self, i: u32) -> (bool, u16) {
        debug_assert!(!self.is_free(i), "slot {i} of a cluster is free already");
        let full = self.used == self.slots;
        self.free[(i / NODE_SLOTS) as usize] |= 1 << (i % NODE_SLOTS);
        self.used -= 1;
        (full, self.used)
    }
    /// Holds free slots from `from` on until `out` has `want` of them. `first` is the number of the
    /// cluster's first slot. Returns how many were held, and up to where all were looked at.
    pub(super) fn hold_free(
        &mut self,
        from: u32,
        first: u32,
        want: usize,
        out: &mut Vec<u32>,
    ) -> (u16, Option<u32>) {
        let room = want - out.len();
        let (mut got, mut last) = (0, None);
        out.reserve(room);
        for node in (from / NODE_SLOTS) as usize..NODES {
            let before = from.saturating_sub(node as u32 * NODE_SLOTS);
            let all = self.free[node] & u64::MAX << before;
            let mut rest = all;
            while rest != 0 && got < room {
                let i = node as u32 * NODE_SLOTS + rest.trailing_zeros();
                rest &= rest - 1;
                out.push(first + i);
                got += 1;
                last = Some(i);
            }
            self.free[node] ^= all ^ rest;
        }
        self.used += got as u16;
        (got as u16, last.filter(|_| got == room))
    }
}
