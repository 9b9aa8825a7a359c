//! kswapd up to 4.7, which judges each zone separately, here for 4.1.
//!
//! One zone above its high watermark is enough for later kernels. This one wants all zones
//! balanced for single pages, and a quarter of the node's memory in balanced zones for a larger
//! order. It reclaims from zones that are not; but where compaction could begin it wants no more
//! than single pages at the high watermark and a little beyond, and leaves blocks to compaction.
//! So a request for a large block frees little through it while the watermarks hold, where later
//! kernels free twice the block.
//!
//! The classic LRU has lists for each zone of such a machine, as 4.1 has, and zones give pages in
//! proportion to their sizes (`phys::shares`). 4.1 gives a zone up when it was scanned six times
//! over in vain; here when it has no page that could be reclaimed, and all of the node after 16
//! runs in vain, as later kernels do.
//!
//! Source: Linux 4.1 mm/vmscan.c (`zone_balanced`, `pgdat_balanced`, `kswapd_shrink_zone`,
//! `balance_pgdat`, `kswapd`).

use crate::base::compact_result::CompactResult;
use crate::base::id::{MemcgId, NodeId, ZoneId};
use crate::base::migratetype::Migratetype;
use crate::config::ZoneKind;
use crate::machine::Machine;
use crate::machine::reclaim::balance::{Balance, NextPass, PassProgress};
use crate::phys::gfp::{AllocFlags, GFP_KERNEL};
use crate::phys::watermarks::Mark;
use crate::policy::SWAP_CLUSTER_MAX;
use crate::policy::compaction::{CompactRequest, Compactor, MigrateMode};

/// A zone is filled by this part of it beyond its watermark, or by its low watermark if that is
/// less (`KSWAPD_ZONE_BALANCE_GAP_RATIO`).
const BALANCE_GAP_RATIO: u64 = 100;

impl Machine {
    /// True if a zone needs nothing for an order (`zone_balanced`): it keeps its high watermark and
    /// the gap, and could be compacted.
    fn zone_balanced(&self, z: ZoneId, order: u8, gap: u64, class: ZoneKind) -> bool {
        let zone = &self.mem.zones[z];
        let mark = zone.watermark[Mark::High as usize] + gap;
        zone.leaves(order, mark, class, AllocFlags::default(), zone.free)
            && (order == 0 || !self.cannot_compact(z, order, class))
    }

    /// True if there is compaction, but not in this zone for want of free pages.
    fn cannot_compact(&self, zone: ZoneId, order: u8, class: ZoneKind) -> bool {
        let req = CompactRequest {
            zone,
            order: Some(order),
            captures: None,
            migratetype: Migratetype::Unmovable,
            highest: class,
            flags: GFP_KERNEL,
            mark: Mark::Low,
            mode: MigrateMode::Async,
            by: Compactor::Kswapd,
            full: false,
        };
        let answer = self.compaction().map(|c| c.suitable(&self.mem, &req));
        answer == Some(CompactResult::Skipped)
    }

    /// True if a zone has pages that could be reclaimed.
    fn zone_reclaimable(&self, z: ZoneId) -> bool {
        let [anon, file] = self.mem.zone_lru_pages(z);
        file > 0 || anon > 0 && self.mem.can_swap(MemcgId(0))
    }

    /// True if a request wakes kswapd: some zone that it may use is not balanced.
    pub(in crate::machine) fn some_zone_unbalanced(
        &self,
        n: NodeId,
        order: u8,
        highest: ZoneKind,
    ) -> bool {
        let mut zones = self.mem.zones.of_node(n).iter();
        let wants = |z| !self.zone_balanced(z, order, 0, ZoneKind::Dma);
        zones.any(|&z| self.mem.zones[z].kind <= highest && wants(z))
    }

    /// True if kswapd may sleep (`pgdat_balanced`).
    pub(in crate::machine) fn zones_balanced(
        &self,
        n: NodeId,
        order: u8,
        highest: ZoneKind,
    ) -> bool {
        let (mut managed, mut balanced) = (0, 0);
        for &z in self.mem.zones.of_node(n) {
            let zone = &self.mem.zones[z];
            if zone.kind > highest {
                continue;
            }
            managed += zone.managed;
            if !self.zone_reclaimable(z) || self.zone_balanced(z, order, 0, zone.kind) {
                balanced += zone.managed;
            } else if order == 0 {
                return false;
            }
        }
        order == 0 || balanced >= managed / 4
    }

    /// The next pass of a run. The highest zone that is not balanced decides against which requests
    /// the lower ones keep their reserves.
    pub(in crate::machine) fn next_pass_of_zones(
        &self,
        n: NodeId,
        b: &Balance,
        highest: ZoneKind,
    ) -> NextPass {
        let zones = self.mem.zones.of_node(n);
        let later = b.priority < self.first_priority();
        let hopeless = |z: ZoneId| later && !self.zone_reclaimable(z);
        let wants =
            |&&z: &&ZoneId| !hopeless(z) && !self.zone_balanced(z, b.order, 0, ZoneKind::Dma);
        let Some(&end) = zones.iter().rev().find(wants) else { return NextPass::Done };
        let class = self.mem.zones[end].kind;
        let up_to_end = || zones.iter().copied().filter(|&z| self.mem.zones[z].kind <= class);
        let serves =
            |z| self.mem.zones[z].allows(b.order, Mark::Low, highest, AllocFlags::default());
        let mut pass = PassProgress::by_zones();
        pass.compact = !up_to_end().any(serves);
        for z in up_to_end().rev().filter(|&z| !hopeless(z)) {
            let zone = &self.mem.zones[z];
            let leave = self.compaction().is_some() && !self.cannot_compact(z, b.order, class);
            let test = if leave { 0 } else { b.order };
            let gap = zone.watermark[Mark::Low as usize]
                .min(u64::from(zone.managed).div_ceil(BALANCE_GAP_RATIO));
            if self.zone_balanced(z, test, gap, class) {
                pass.enough = true;
            } else {
                pass.prepend(zone.kind, zone.watermark[Mark::High as usize].max(SWAP_CLUSTER_MAX));
            }
        }
        if !pass.next_zone() {
            return NextPass::Nothing;
        }
        NextPass::Pass(pass)
    }
}
