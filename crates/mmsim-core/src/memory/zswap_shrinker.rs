//! Shrinkers of compressed memory: zswap writes entries back before its pool is full, and pools move
//! objects together.
//!
//! Reclaim calls zswap's shrinker for each group and node after a pass over its lists. It offers the
//! fewer entries the better they compress, and fewer still after swap-ins from a device: each of
//! those says that something was written back too early. Reclaim does not count what it frees.
//!
//! Source: Linux 6.12, 6.18 and 7.3 mm/zswap.c (`zswap_shrinker_count`, `zswap_shrinker_scan`),
//! mm/zsmalloc.c (`zs_shrinker_count`, `zs_shrinker_scan`).

use super::Memory;
use super::shrinker::Shrinking;
use crate::backing::swap::Look;
use crate::base::id::{MemcgId, NodeId, PAGE_SIZE};
use crate::base::vmstat::VmEvent;
use crate::policy::request::ReclaimRequest;

/// Cost of making an object anew (`DEFAULT_SEEKS`).
const SEEKS: u64 = 2;

/// Number of `entries` that may go: of a pool that holds `stored` pages in `backing`, after
/// `swapins` reads from a device. Also the reads that still count then.
fn freeable(entries: u64, backing: u64, stored: u64, swapins: u64) -> (u64, u64) {
    if stored == 0 || entries == 0 {
        return (0, swapins);
    }
    let kept = swapins.min(entries);
    let rest = entries - kept;
    (rest / stored * backing + rest % stored * backing / stored, swapins - kept)
}

impl Memory {
    /// A pass over the lists of a group on a node is over: the shrinkers of compressed memory have
    /// their turn (`shrink_slab`).
    #[inline]
    pub fn shrink_compressed(&mut self, memcg: MemcgId, node: NodeId, req: &ReclaimRequest) {
        if self.knows_contents() {
            self.shrink_pools(memcg, node, req);
        }
    }

    #[inline(never)]
    fn shrink_pools(&mut self, memcg: MemcgId, node: NodeId, req: &ReclaimRequest) {
        if req.may_io && self.zswap().is_some_and(|z| z.config.shrinker) {
            // The scan's plug is finished by now (`shrink_lruvec`): each write goes out alone.
            let mut plug = std::mem::take(&mut *self.acting.plug);
            self.finish_plug(&mut plug);
            *self.acting.plug = plug;
            self.unplugged(|mem| mem.shrink_zswap(memcg, node, req.priority));
        }
        if memcg == MemcgId(0) && req.by.memcg().is_none() {
            self.compact_pools(req.priority);
        }
    }

    fn shrink_zswap(&mut self, memcg: MemcgId, node: NodeId, priority: u8) {
        if !self.zswap_may_write_back(memcg) {
            return;
        }
        // The root's entries have no charge: it goes by those of the other groups.
        let (backing, stored) = match (self.memcgs.len(), self.zswap()) {
            (_, None) => return,
            (1, Some(zswap)) => (zswap.store.pool.nr_frames(), zswap.store.nr_pages),
            _ => {
                let of = self.memcgs.zswap_of(memcg);
                (of.bytes / PAGE_SIZE, of.pages)
            }
        };
        let by_priority = self.given.rules.shrinker_by_priority;
        let Some(zswap) = self.zswap_mut() else { return };
        let list = zswap.list_of(memcg, node);
        let (may_go, left) = freeable(list.nr, backing, stored, list.swapins);
        list.swapins = left;
        if may_go == 0 {
            return;
        }
        let deferred = std::mem::take(&mut list.deferred);
        let asked = Shrinking { freeable: may_go, deferred, seeks: SEEKS };
        let (scanned, left) =
            asked.scan(priority, by_priority, |n| self.zswap_scan(memcg, node, n));
        self.count(VmEvent::SlabsScanned, scanned);
        if let Some(zswap) = self.zswap_mut() {
            zswap.list_of(memcg, node).deferred = left;
        }
    }

    /// Looks at some of the oldest entries. False: it wrote none, or met one whose page is in the
    /// swap cache already.
    fn zswap_scan(&mut self, memcg: MemcgId, node: NodeId, most: u64) -> bool {
        let mut wrote = false;
        for _ in 0..most {
            match self.zswap_mut().and_then(|z| z.look(memcg, node)) {
                None => break,
                Some(Look::Referenced) => {}
                Some(Look::Old(slot)) if self.is_in_swapcache(slot) => {
                    self.zswap_write_back(slot, None);
                    return false;
                }
                Some(Look::Old(slot)) => wrote |= self.zswap_write_back(slot, None),
            }
        }
        wrote
    }

    /// Each pool that reclaim asks for frames moves all its objects together, and is not asked again
    /// if that freed none.
    fn compact_pools(&mut self, priority: u8) {
        let by_priority = self.given.rules.shrinker_by_priority;
        let Some(pools) = self.swap.as_mut().and_then(|s| s.pools.as_mut()) else { return };
        let (mut gone, mut all) = (Vec::new(), 0);
        for store in pools.stores_mut() {
            let may_go = store.pool.compactable();
            if may_go == 0 {
                continue;
            }
            let deferred = std::mem::take(&mut store.deferred);
            let asked = Shrinking { freeable: may_go, deferred, seeks: SEEKS };
            let (scanned, left) = asked.scan(priority, by_priority, |_| store.compact());
            store.deferred = left;
            all += scanned;
            gone.append(&mut store.gone);
        }
        self.count(VmEvent::SlabsScanned, all);
        self.free_zspages(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's example: 10 000 entries that compress to a quarter.
    #[test]
    fn swap_ins_from_the_device_protect_entries() {
        assert_eq!(freeable(10_000, 2500, 10_000, 3000), (1750, 0));
        assert_eq!(freeable(10_000, 2500, 10_000, 12_000), (0, 2000));
        assert_eq!(freeable(10_000, 2500, 0, 5), (0, 5));
    }
}
