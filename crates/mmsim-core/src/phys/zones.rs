//! The zones of the machine together: their setup, and the choice of a zone for a request.
//!
//! Zones lie in address order, node after node. A request names the highest kind of zone that it
//! can use, and of its node's zones up to that kind the highest comes first: some requests can use
//! low zones only. For their sake a low zone also keeps a reserve from all others, a fraction of
//! the memory above it that those could have had instead. Which zone comes first stands in a table,
//! because every page that is handed out asks for it.
//!
//! Sources: Linux 6.12 mm/page_alloc.c (`setup_per_zone_lowmem_reserve`,
//! `calculate_totalreserve_pages`, `alloc_flags_nofragment`), mm/vmscan.c (`pgdat_balanced`).

use super::frames::Frames;
use super::gfp::AllocFlags;
use super::pcp::PcpSizes;
use super::watermarks::{
    Mark, min_free_kbytes, min_free_kbytes_for_thp, most_boost, pcp_sizes, watermarks,
};
use super::zone::Zone;
use crate::base::id::{IndexVec, NodeId, Pfn, ZoneId};
use crate::config::{MachineConfig, ZoneConfig, ZoneKind};

/// Per node and highest kind, the first zone, or [`NO_ZONE`]. There is room for all nodes that a
/// number can name, so that to look one up takes a single instruction.
pub(super) type Asked = [[ZoneId; 4]; 1 << u8::BITS];
/// No zone has this number.
pub(super) const NO_ZONE: ZoneId = ZoneId(u8::MAX);

/// The zones of the machine, in address order, nodes one after the other.
#[derive(Clone, Debug)]
pub struct Zones {
    pub(super) zones: IndexVec<ZoneId, Zone>,
    pub(super) by_node: IndexVec<NodeId, Vec<ZoneId>>,
    /// The highest zone.
    preferred: Asked,
    /// The same, of those that have some of their share left. None of a busy node.
    pub(super) first_asked: Asked,
    /// The same below the low watermark.
    asked_below: Asked,
    /// Nodes that come after all others, since their kswapd is awake.
    busy: IndexVec<NodeId, bool>,
    /// First frame of each zone, for `of`.
    starts: Vec<u32>,
    nr_frames: u32,
    /// Frames whose owner went while a device works on them, per zone: free when that ends.
    pub(crate) orphans: IndexVec<ZoneId, u64>,
    /// Frames allocated so far.
    pub(crate) allocated: u64,
    /// Σ of the larger of reserve and high watermark: what is not dirtyable.
    pub totalreserve: u64,
    /// `vm.min_free_kbytes` in force.
    pub min_free_kbytes: u64,
}

impl Zones {
    /// Sets up the zones of a machine: addresses, watermarks, reserves, per-CPU lists.
    pub fn new(config: &MachineConfig) -> Self {
        let mut zones = IndexVec::new();
        let mut by_node = IndexVec::new();
        let mut starts = Vec::new();
        let mut preferred = [[NO_ZONE; 4]; 1 << u8::BITS];
        let rules = config.kernel_rules();
        let largest = 1u32 << rules.max_order;
        let mut next = 0u32;
        for (n, node) in config.nodes.iter().enumerate() {
            let mut ids = Vec::new();
            for z in node.zones.iter().filter(|z| z.managed > 0) {
                starts.push(next);
                let node = NodeId(n as u8);
                ids.push(zones.push(Zone::new(z, node, Pfn(next), config.cpus, rules)));
                // A block of the largest order lies in one zone.
                let spanned = z.layout.as_ref().map_or(z.managed, |l| l.spanned);
                next = (next + spanned).next_multiple_of(largest);
            }
            preferred[n] = ZoneKind::ALL.map(|highest| {
                let below = |&z: &ZoneId| zones[z].kind <= highest;
                ids.iter().copied().rfind(below).unwrap_or(NO_ZONE)
            });
            by_node.push(ids);
        }
        assert!(zones.len() <= usize::from(NO_ZONE.0), "too many zones");
        let (first_asked, asked_below) = (preferred, preferred);
        let busy = IndexVec::filled(by_node.len(), false);
        let orphans = IndexVec::filled(zones.len(), 0);
        let mut this = Zones {
            zones,
            by_node,
            preferred,
            first_asked,
            asked_below,
            busy,
            starts,
            nr_frames: next,
            orphans,
            allocated: 0,
            totalreserve: 0,
            min_free_kbytes: 0,
        };
        this.setup(config);
        this.deal_shares();
        this
    }

    /// Puts the free memory of all zones on their lists, once.
    pub fn populate(&mut self, frames: &mut Frames) {
        self.zones.iter_mut().for_each(|z| z.populate(frames));
    }

    fn setup(&mut self, config: &MachineConfig) {
        let configs: Vec<&ZoneConfig> =
            config.nodes.iter().flat_map(|n| n.zones.iter().filter(|z| z.managed > 0)).collect();
        self.set_watermarks(config, &configs);
        for ids in self.by_node.iter() {
            for (i, &id) in ids.iter().enumerate() {
                let kind = self.zones[id].kind;
                let ratio = match kind {
                    ZoneKind::Dma | ZoneKind::Dma32 => 256,
                    ZoneKind::Normal => 32,
                    ZoneKind::Movable => 0,
                };
                let explicit = configs[id.0 as usize].lowmem_reserve;
                for highest in ZoneKind::ALL {
                    if highest <= kind {
                        continue;
                    }
                    let above: u64 = ids[i + 1..]
                        .iter()
                        .filter(|&&j| self.zones[j].kind <= highest)
                        .map(|&j| u64::from(self.zones[j].managed))
                        .sum();
                    self.zones[id].lowmem_reserve[highest as usize] = match explicit {
                        Some(e) => e.into(),
                        None if ratio == 0 => 0,
                        None => above / ratio,
                    };
                }
            }
        }
        for (z, c) in self.zones.iter_mut().zip(&configs) {
            let (high, batch) = c.pcp.unwrap_or_else(|| pcp_sizes(z, config));
            let batch = (batch >> config.cpu_batch_shift()).max(1);
            let rules = *z.buddy.rules();
            z.sizes = PcpSizes::new(high, batch, rules.pcp_batches)
                .whose_orders_wait(rules.pcp_orders_wait);
            let short = rules.pcp_short_in_reclaim;
            z.full_in_reclaim = if short { high.min(batch.saturating_mul(4)) } else { high };
            z.most_boost = most_boost(z, config.vm.watermark_boost_factor);
            z.extfrag_threshold = config.vm.extfrag_threshold.into();
        }
        self.totalreserve = self
            .zones
            .iter()
            .map(|z| {
                let r = z.lowmem_reserve.iter().copied().max().unwrap_or(0);
                (r + z.watermark[2]).min(z.managed.into())
            })
            .sum();
    }

    /// `vm.min_free_kbytes`, and the watermarks that follow from it. Where transparent huge pages are
    /// on, khugepaged raises what the kernel chose at boot, by the watermarks of that. A value that
    /// the user gave stays, as one that was written after the mode of huge pages. (4.1 raises it
    /// when the mode is written, and at boot since its stable update with "mm: update
    /// min_free_kbytes from khugepaged after core initialization".)
    fn set_watermarks(&mut self, config: &MachineConfig, configs: &[&ZoneConfig]) {
        let rules = config.kernel_rules();
        let below = |z: &&Zone| z.kind != ZoneKind::Movable;
        let lowmem: Vec<u64> = self.zones.iter().filter(below).map(|z| z.managed.into()).collect();
        let chosen = config.vm.min_free_kbytes;
        // What was raised for huge pages stays when they are switched off.
        let stays = if rules.thp_off_lowers_min { 0 } else { self.min_free_kbytes };
        let by_formula = min_free_kbytes(lowmem.iter().sum(), &rules).max(stays);
        self.mark(config, configs, chosen.unwrap_or(by_formula));
        if chosen.is_some() || !config.vm.huge_pages_on() {
            return;
        }
        let above = |z: &Zone| u64::from(z.managed).saturating_sub(z.watermark[2]);
        let above_high = self.zones.iter().filter(below).map(above).sum();
        let counted = if rules.thp_reserves_movable { self.zones.len() } else { lowmem.len() };
        let for_thp = min_free_kbytes_for_thp(counted as u64, above_high, &rules);
        if for_thp > by_formula {
            self.mark(config, configs, for_thp);
        }
    }

    fn mark(&mut self, config: &MachineConfig, configs: &[&ZoneConfig], min_free_kbytes: u64) {
        let rules = config.kernel_rules();
        let shares = |z: &&Zone| rules.movable_shares_min || z.kind != ZoneKind::Movable;
        let sharing: u64 = self.zones.iter().filter(shares).map(|z| u64::from(z.managed)).sum();
        for (z, c) in self.zones.iter_mut().zip(configs) {
            let by_formula = || {
                let managed = z.managed.into();
                watermarks(z.kind, managed, sharing, min_free_kbytes, &config.vm, &rules)
            };
            z.watermark = c.watermarks.map_or_else(by_formula, |w| w.map(u64::from));
        }
        self.min_free_kbytes = min_free_kbytes;
    }

    /// Sysctls were written while the machine runs: watermarks, reserves and sizes of per-CPU lists
    /// anew. A write that moves watermarks ends their boost (Linux 6.12 mm/page_alloc.c,
    /// `__setup_per_zone_wmarks`).
    pub(crate) fn sysctls_written(&mut self, config: &MachineConfig) {
        let before: Vec<_> = self.zones.iter().map(|z| (z.watermark, z.sizes)).collect();
        self.setup(config);
        for (z, (watermark, sizes)) in self.zones.iter_mut().zip(before) {
            z.boost = if z.watermark == watermark { z.boost } else { 0 };
            if sizes.full != sizes.high {
                z.sizes.full = z.full_in_reclaim;
            }
        }
    }

    /// kswapd begins or ends its work on the zones of a node (`ZONE_RECLAIM_ACTIVE`).
    pub fn set_reclaim_active(&mut self, node: NodeId, highest: ZoneKind, active: bool) {
        for i in 0..self.of_node(node).len() {
            let z = self.of_node(node)[i];
            let zone = &mut self.zones[z];
            if zone.kind <= highest {
                zone.sizes.full = if active { zone.full_in_reclaim } else { zone.sizes.high };
            }
        }
    }

    /// The kswapd of a node awakes or falls asleep. Where there are several nodes, Linux 6.18 asks
    /// those with a sleeping one first (`get_page_from_freelist`).
    pub(crate) fn set_kswapd_awake(&mut self, n: NodeId, awake: bool) {
        if self.nr_nodes() == 1 || !self.zones[ZoneId(0)].buddy.rules().skips_busy_nodes {
            return;
        }
        self.busy[n] = awake;
        let row = usize::from(n.0);
        let asked = if awake { [NO_ZONE; 4] } else { self.preferred[row] };
        (self.first_asked[row], self.asked_below[row]) = (asked, asked);
    }

    /// True if requests try other nodes before this one.
    #[inline]
    pub(crate) fn is_busy(&self, n: NodeId) -> bool {
        self.busy[n]
    }

    /// All zones.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = ZoneId> + use<> {
        self.zones.ids()
    }
    /// True if each zone has LRU lists of its own; else each node has.
    pub fn lru_by_zone(&self) -> bool {
        self.zones[ZoneId(0)].buddy.rules().lru_by_zone
    }
    /// The zones of a node, in address order.
    pub fn of_node(&self, n: NodeId) -> &[ZoneId] {
        &self.by_node[n]
    }
    /// The highest zone of a node for requests up to `highest`.
    #[inline(always)]
    pub(crate) fn preferred(&self, n: NodeId, highest: ZoneKind) -> Option<ZoneId> {
        Some(self.preferred[usize::from(n.0)][highest as usize]).filter(|&z| z != NO_ZONE)
    }
    /// The zone that a request for one page tries first, compared with a mark or not.
    #[inline(always)]
    pub fn asked(&mut self, n: NodeId, highest: ZoneKind, mark: Option<Mark>) -> Option<&mut Zone> {
        let asked = if mark == Some(Mark::Low) { &self.first_asked } else { &self.asked_below };
        self.zones.raw_mut().get_mut(usize::from(asked[usize::from(n.0)][highest as usize].0))
    }
    /// True if the first pass over the zones avoids mixing types (`alloc_flags_nofragment`): only
    /// where the first zone is a zone Normal which has another to spread to.
    pub(crate) fn avoids_fragmentation(&self, n: NodeId, highest: ZoneKind) -> bool {
        let Some(z) = self.preferred(n, highest).map(|z| &self.zones[z]) else { return false };
        let dma32 = || self.by_node[n].iter().any(|&z| self.zones[z].kind == ZoneKind::Dma32);
        z.buddy.rules().avoid_fragmentation
            && z.kind == ZoneKind::Normal
            && (self.nr_nodes() == 1 || dma32())
    }
    /// True if any zone up to `highest` serves plain requests for one page at a watermark.
    pub(crate) fn any_allows(&self, mark: Mark, highest: ZoneKind) -> bool {
        let flags = AllocFlags::default();
        self.zones.iter().any(|z| z.kind <= highest && z.allows(0, mark, highest, flags))
    }
    /// Number of nodes.
    pub fn nr_nodes(&self) -> usize {
        self.by_node.len()
    }
    /// Frame numbers in use: the frames of all zones, and gaps where a zone ends within a
    /// block of the largest order.
    pub fn nr_frames(&self) -> usize {
        self.nr_frames as usize
    }
    /// The zone of a frame.
    #[inline]
    pub fn of(&self, pfn: Pfn) -> ZoneId {
        // The first zone starts at 0.
        if self.starts.len() == 1 {
            return ZoneId(0);
        }
        let above = self.starts[1..].iter().rposition(|&start| start <= pfn.0);
        ZoneId(above.map_or(0, |i| i as u8 + 1))
    }
    /// The zone of a frame, to be changed.
    #[inline(always)]
    pub fn with(&mut self, pfn: Pfn) -> &mut Zone {
        if self.zones.len() == 1 {
            return &mut self.zones.raw_mut()[0];
        }
        let z = self.of(pfn);
        &mut self.zones[z]
    }
    /// The zone of some frames, if all of them are of one.
    #[inline]
    pub fn of_all(&self, frames: impl Iterator<Item = Pfn>) -> Option<ZoneId> {
        if self.starts.len() == 1 {
            return Some(ZoneId(0));
        }
        let (lo, hi) = frames.fold((u32::MAX, 0), |(lo, hi), f| (lo.min(f.0), hi.max(f.0)));
        let zone = self.of(Pfn(hi));
        (lo <= hi && self.starts[usize::from(zone.0)] <= lo).then_some(zone)
    }
    /// Free pages of all zones.
    pub fn nr_free(&self) -> u64 {
        self.zones.iter().map(|z| z.free).sum()
    }
    /// True if some zone of the node up to `highest` could serve a request of `order` and stay
    /// above its high watermark; a node without such a zone needs no balancing. `whole`: with the
    /// free pages of whole pageblocks alone, as `vm.defrag_mode` wants it for orders above 0.
    pub fn balanced(&self, node: NodeId, order: u8, highest: ZoneKind, whole: bool) -> bool {
        let mut eligible = self.by_node[node].iter().map(|&z| &self.zones[z]);
        let ok = |z: &Zone| match whole && order > 0 {
            true => z.leaves_whole(order, Mark::High, highest),
            false => z.allows(order, Mark::High, highest, AllocFlags::default()),
        };
        let mut any = false;
        let found = eligible.any(|z| {
            any |= z.kind <= highest;
            z.kind <= highest && ok(z)
        });
        found || !any
    }
}

impl std::ops::Index<ZoneId> for Zones {
    type Output = Zone;
    #[inline(always)]
    fn index(&self, z: ZoneId) -> &Zone {
        &self.zones[z]
    }
}
impl std::ops::IndexMut<ZoneId> for Zones {
    #[inline(always)]
    fn index_mut(&mut self, z: ZoneId) -> &mut Zone {
        &mut self.zones[z]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::base::id::CpuId;
    use crate::base::kernel::Kernel;
    use crate::base::rules::PcpBatches;

    /// One node of these zones, as 6.12 sets them up for a CPU without lists of its own.
    pub(in crate::phys) fn zones_of(managed: &[(ZoneKind, u32)]) -> Zones {
        let zone = |&(kind, managed): &(ZoneKind, u32)| ZoneConfig {
            pcp: Some((0, 1)),
            ..ZoneConfig::new(kind, managed)
        };
        Zones::new(&MachineConfig::new(Kernel::V6_12, managed.iter().map(zone).collect()))
    }

    /// While kswapd is at work, a CPU keeps four batches at most.
    #[test]
    fn lists_are_short_while_kswapd_is_at_work() {
        let kept = |active: &[bool]| {
            let mut zones = zones_of(&[(ZoneKind::Normal, 262_144)]);
            let zone = &mut zones[ZoneId(0)];
            zone.sizes = PcpSizes::new(100, 15, PcpBatches::Counted);
            zone.full_in_reclaim = 60;
            active.iter().for_each(|&a| zones.set_reclaim_active(NodeId(0), ZoneKind::Movable, a));
            let zone = &mut zones[ZoneId(0)];
            let mut frames = Frames::new(1 << 18, false);
            let full = |p: &u32| {
                if !zone.put_to_pcp(CpuId(0), Pfn(*p)) {
                    zone.put(&mut frames, CpuId(0), Pfn(*p), 0);
                }
                zone.pcp_count() <= u64::from(*p)
            };
            (0..262_144).find(full).expect("the list is full some time") + 1
        };
        assert_eq!(kept(&[]), 100);
        assert_eq!(kept(&[true]), 60);
        assert_eq!(kept(&[true, false]), 100);
    }

    /// Worked by hand: DMA keeps 256000 / 256 = 1000 pages from requests that could use DMA32,
    /// so a user page is taken from it only above 18 + 1000.
    #[test]
    fn a_low_zone_is_reserved_against_high_requests() {
        let mut zones = zones_of(&[(ZoneKind::Dma, 3840), (ZoneKind::Dma32, 256_000)]);
        let dma = &mut zones[ZoneId(0)];
        assert_eq!(dma.lowmem_reserve[ZoneKind::Movable as usize], 1000);
        assert_eq!(dma.lowmem_reserve[ZoneKind::Dma as usize], 0);
        dma.free = 1018;
        assert!(!dma.watermark_ok(Mark::Low, ZoneKind::Movable));
        dma.free = 1019;
        assert!(dma.watermark_ok(Mark::Low, ZoneKind::Movable));
        dma.free = 19;
        assert!(dma.watermark_ok(Mark::Low, ZoneKind::Dma));
    }
}
