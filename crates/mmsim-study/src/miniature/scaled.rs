//! The machine of a miniature: a machine of fewer pages, each of which stands for as many as the
//! sample leaves out.
//!
//! Memory, watermarks, reserves, limits, swap space and batches are divided. What a page costs is
//! multiplied: faults, scans, unmapping, devices' latencies; bandwidths are divided. So reclaimers
//! and devices take the simulated time that those of the full machine take for the same share of
//! memory. Hits keep their price, since the time of hits that are dropped is kept. CPUs, periods,
//! priorities, generations and slices stay.

use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::config::cost::CostModel;
use mmsim_core::config::{DirtyLimit, MachineConfig};
use mmsim_core::machine::snapshot::ZoneSnapshot;
use mmsim_core::phys::zones::Zones;
use mmsim_core::policy::SWAP_CLUSTER_MAX;

/// Costs of hits and of calls: what is dropped takes them too.
const KEPT: &[&str] = &["t_hit", "t_copy_page", "t_read_cached", "t_syscall"];
/// Costs of batches of reclaim, and of passes.
const OF_BATCHES: &[&str] = &["t_tlb_flush", "t_direct_reclaim_entry", "t_shrink_node"];
/// Halvings of batches at most, down to 4 of the reclaimer's 32 pages: what folios of one batch have
/// in common is lost with smaller ones, and counts of scans with it.
const MOST_BATCH_SHIFT: u32 = 3;

/// Scaled parts besides memory: all of them, unless a test looks at the effect of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Scaling {
    /// Costs of pages, and of devices.
    pub costs: bool,
    /// Pageblocks, and boosts of the watermarks with them.
    pub pageblocks: bool,
    /// Halvings of reclaim's batches at most.
    pub batch_shift: u32,
}

impl Default for Scaling {
    fn default() -> Self {
        Scaling { costs: true, pageblocks: true, batch_shift: MOST_BATCH_SHIFT }
    }
}

/// Scales a machine down by 2^`shift`.
pub(super) fn machine(full: &MachineConfig, shift: u32, scaling: Scaling) -> MachineConfig {
    let down = |pages: u64| (pages + (1 << shift >> 1)) >> shift;
    let down32 = |pages: u32| down(pages.into()) as u32;
    let mut m = full.clone();
    let zones = Zones::new(full);
    let mut ids = zones.ids();
    for z in m.nodes.iter_mut().flat_map(|n| &mut n.zones).filter(|z| z.managed > 0) {
        let of_full = &zones[ids.next().expect("each zone that manages pages is set up")];
        let [min, low, high, ..] = of_full.watermark;
        let min = down(min);
        let low = down(low).max(min + 1);
        let high = down(high).saturating_sub(overshoot(shift, scaling.batch_shift)).max(low + 1);
        z.watermarks = Some([min, low, high].map(|w| w as u32));
        // The reserve against the highest class; the kernel's are equal above the next zone.
        let reserve = of_full.lowmem_reserve.iter().copied().max().unwrap_or(0);
        z.lowmem_reserve = Some(down(reserve) as u32);
        // The batch is shifted as the zone is set up.
        let pcp = ZoneSnapshot::of(of_full).pcp[0];
        z.pcp = Some((down(pcp.high.into()) as u32, pcp.batch));
        z.managed = down32(z.managed).max(1);
        z.free_at_start = z.free_at_start.map(down32);
        z.pcp_at_start = down32(z.pcp_at_start);
    }
    m.miniature = Some(shift);
    let dearer = if scaling.costs { shift } else { 0 };
    if scaling.pageblocks {
        // A boost of the watermarks is a pageblock, and neighbourhoods stay as large a part of memory.
        let mut rules = full.kernel_rules();
        rules.pageblock_order = rules.pageblock_order.saturating_sub(shift as u8).max(1);
        m.rules = Some(rules);
    }
    m.os_overhead = down(m.os_overhead);
    m.batch_shift = (full.batch_shift + shift).min(scaling.batch_shift);
    for s in &mut m.swap {
        s.slots = down32(s.slots).max(1);
        device(&mut s.device, dearer);
    }
    device(&mut m.file_device, dearer);
    m.disks.iter_mut().for_each(|d| device(&mut d.device, dearer));
    for g in &mut m.memcgs {
        (g.min, g.low) = (down(g.min), down(g.low));
        for limit in [&mut g.high, &mut g.max, &mut g.swap_high, &mut g.swap_max] {
            *limit = limit.map(down);
        }
    }
    for limit in [&mut m.vm.dirty_background, &mut m.vm.dirty] {
        if let DirtyLimit::Bytes(bytes) = limit {
            *bytes >>= shift;
        }
    }
    costs(&mut m.cost, dearer, m.batch_shift);
    m
}

/// By how much farther kswapd goes beyond the high watermark: half a batch, which is a larger part of
/// the machine where batches are not divided as much as memory.
fn overshoot(shift: u32, most: u32) -> u64 {
    let batch = |by: u32| (SWAP_CLUSTER_MAX >> by) / 2;
    batch(shift.min(most)).saturating_sub(batch(shift))
}

/// A device that takes longer for each page, so that it does as much for the pages that each stands
/// for.
fn device(d: &mut DeviceConfig, shift: u32) {
    d.read = d.read * (1 << shift);
    d.write = d.write * (1 << shift);
    for bandwidth in [&mut d.bandwidth, &mut d.write_bandwidth] {
        *bandwidth = bandwidth.map(|b| (b >> shift).max(1));
    }
    d.wbt_lat = d.wbt_lat * (1 << shift);
    d.queue_depth = (d.queue_depth >> shift).max(1);
}

fn costs(cost: &mut CostModel, shift: u32, batch_shift: u32) {
    for (name, value) in cost.fields() {
        let by = match name {
            _ if KEPT.contains(&name) => 0,
            _ if OF_BATCHES.contains(&name) => shift - batch_shift.min(shift),
            _ => shift,
        };
        cost.put(name, (value * (1 << by)).as_nanos()).expect("costs take any time");
    }
}
