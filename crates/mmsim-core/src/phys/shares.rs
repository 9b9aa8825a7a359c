//! Zones that give pages in proportion to their sizes.
//!
//! Where each zone has LRU lists of its own, how long a page stays depends on the zone that it
//! happens to be in. So from 3.12 to 4.7 a zone is passed over when it has given its share, and
//! when all have, they begin anew; what a zone gives a round is the distance between its low and
//! its high watermark. Before that, and since lists are a node's, the highest zone gives whatever
//! it has. The kernel counts shares per CPU and some pages late, here they are exact.
//!
//! Source: Linux 4.1 mm/page_alloc.c (`ALLOC_FAIR`, `NR_ALLOC_BATCH`, `reset_alloc_batches`).

use super::watermarks::Mark;
use super::zone::Zone;
use super::zones::{NO_ZONE, Zones};
use crate::base::id::{NodeId, ZoneId};
use crate::config::ZoneKind;

impl Zone {
    /// True if it has given its share, and others come first.
    pub(crate) fn share_is_given(&self) -> bool {
        self.share <= 0
    }
    /// It gives a page. False if that was the last one of its share: who asks first finds others
    /// from then on ([`Zones::pass_over`]).
    #[inline(always)]
    pub(crate) fn give_one(&mut self) -> bool {
        self.share -= 1;
        self.share != 0
    }
    /// Number of pages that it may still give in its turn.
    pub(crate) fn share_left(&self) -> usize {
        self.share.max(0) as usize
    }
}

impl Zones {
    /// True if zones give in proportion.
    #[inline]
    pub fn fair(&self) -> bool {
        self.zones[ZoneId(0)].buddy().rules().fair_zones
    }

    /// The zone that requests for zones up to `highest` try first on a node: the highest that has
    /// some of its share left.
    #[inline(always)]
    pub(crate) fn first_asked(&self, n: NodeId, highest: ZoneKind) -> Option<ZoneId> {
        Some(self.first_asked[usize::from(n.0)][highest as usize]).filter(|&z| z != NO_ZONE)
    }

    /// A zone gave pages.
    #[inline(always)]
    pub(crate) fn gave(&mut self, z: ZoneId, pages: u64) {
        let zone = &mut self.zones[z];
        zone.share -= pages as i64;
        if zone.share <= 0 {
            self.pass_over(self.zones[z].node);
        }
    }

    /// A zone of a node gave the last page of its share, so others come first.
    #[cold]
    #[inline(never)]
    pub(crate) fn pass_over(&mut self, n: NodeId) {
        self.ask_in_turn(n);
    }

    /// The zones of a node up to `highest` begin anew.
    pub(crate) fn reset_shares(&mut self, n: NodeId, highest: ZoneKind) {
        for &z in &self.by_node[n] {
            let zone = &mut self.zones[z];
            if zone.kind <= highest {
                let of = |m: Mark| zone.watermark[m as usize] as i64;
                zone.share = of(Mark::High) - of(Mark::Low);
            }
        }
        self.ask_in_turn(n);
    }

    /// All zones get their first shares.
    pub(super) fn deal_shares(&mut self) {
        for n in (0..self.nr_nodes()).filter(|_| self.fair()).collect::<Vec<_>>() {
            self.reset_shares(NodeId(n as u8), ZoneKind::Movable);
        }
    }

    fn ask_in_turn(&mut self, n: NodeId) {
        for highest in ZoneKind::ALL {
            let mut zones = self.by_node[n].iter().rev();
            let next =
                zones.find(|&&z| self.zones[z].kind <= highest && !self.zones[z].share_is_given());
            let next = next.copied().unwrap_or(NO_ZONE);
            self.first_asked[usize::from(n.0)][highest as usize] = next;
        }
    }
}
