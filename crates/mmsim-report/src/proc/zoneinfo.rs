//! `/proc/zoneinfo`: for each node all zones that the kernel can have, those without memory
//! in short.

use std::fmt::Write;

use mmsim_core::base::id::NodeId;
use mmsim_core::config::ZoneKind;
use mmsim_core::machine::snapshot::{Snapshot, ZoneSnapshot};

use super::items;

/// The zone of memory on devices, which no simulated machine has.
const DEVICE: &str = "Device";

/// `/proc/zoneinfo`.
pub fn zoneinfo(s: &Snapshot) -> String {
    let mut text = String::new();
    for node in (0..s.unreclaimable.len()).map(|n| NodeId(n as u8)) {
        let mut first = true;
        for kind in ZoneKind::ALL {
            let zone = s.zones.iter().find(|z| z.node == node && z.kind == kind);
            title(&mut text, node, kind.name());
            match zone {
                Some(z) => {
                    if first {
                        node_stats(&mut text, s, node);
                        first = false;
                    }
                    sizes(&mut text, z);
                    protection(&mut text, z.lowmem_reserve);
                    populated(&mut text, s, z);
                }
                None => unpopulated(&mut text, kind == ZoneKind::Movable),
            }
        }
        title(&mut text, node, DEVICE);
        unpopulated(&mut text, false);
    }
    text
}

/// Adds formatted text; a string takes everything.
macro_rules! add {
    ($text:expr, $($arg:tt)*) => { write!($text, $($arg)*).expect("writing to a string") };
}

fn title(text: &mut String, node: NodeId, zone: &str) {
    add!(text, "Node {}, zone {zone:>8}", node.0);
}

fn node_stats(text: &mut String, s: &Snapshot, node: NodeId) {
    add!(text, "\n  per-node stats");
    for name in items::of_each_node(s) {
        item(text, name, items::of_nodes(s, Some(node), name).unwrap_or(0));
    }
}

fn item(text: &mut String, name: &str, value: u64) {
    add!(text, "\n      {name:<12} {value}");
}

/// Sizes and watermarks. These the kernel prints with the boost, and a simulated zone has
/// no holes: it spans what is managed.
fn sizes(text: &mut String, z: &ZoneSnapshot) {
    let [min, low, high, promo] = z.watermark.map(|mark| mark + z.boost);
    let managed = z.managed;
    add!(text, "\n  pages free     {}", z.free);
    for (name, value) in [
        ("boost", z.boost),
        ("min", min),
        ("low", low),
        ("high", high),
        ("promo", promo),
        ("spanned", managed),
        ("present", managed),
        ("managed", managed),
        ("cma", 0),
    ] {
        add!(text, "\n        {name:<8} {value}");
    }
}

/// The pages kept from requests for each kind of zone. Nothing can ask for memory on
/// devices, but the kernel's rule adds up all zones above.
fn protection(text: &mut String, reserve: [u64; 4]) {
    let [dma, dma32, normal, movable] = reserve;
    add!(text, "\n        protection: ({dma}, {dma32}, {normal}, {movable}, {movable})");
}

fn unpopulated(text: &mut String, movable: bool) {
    // A zone of movable pages has a floor of 32 pages for its marks, even without memory.
    let mark = if movable { 32 } else { 0 };
    let none = ZoneSnapshot { watermark: [mark; 4], ..ZoneSnapshot::default() };
    sizes(text, &none);
    protection(text, none.lowmem_reserve);
    text.push('\n');
}

fn populated(text: &mut String, s: &Snapshot, z: &ZoneSnapshot) {
    for name in items::of_zones(s) {
        item(text, name, items::of_zone(s, z, name).unwrap_or(0));
    }
    for name in items::of_numa() {
        item(text, name, 0);
    }
    add!(text, "\n  pagesets");
    for (cpu, list) in z.pcp.iter().enumerate() {
        add!(text, "\n    cpu: {cpu}");
        add!(text, "\n              count: {}", list.count);
        add!(text, "\n              high:  {}", list.high);
        add!(text, "\n              batch: {}", list.batch);
        add!(text, "\n  vm stats threshold: {}", stat_threshold(z.managed, s.cpus));
    }
    let unreclaimable = s.unreclaimable[usize::from(z.node.0)];
    add!(text, "\n  node_unreclaimable:  {}", u32::from(unreclaimable));
    add!(text, "\n  start_pfn:           {}\n", z.start_pfn);
}

/// By how much the counters of a CPU may be off before they are added to the zone's:
/// 2 x bits of the number of CPUs x (1 + bits of the size in units of 128 MiB), at most 125
/// (`calculate_normal_threshold`). The model's counters are exact; the figure is that of
/// the machine.
fn stat_threshold(managed: u64, cpus: u32) -> u64 {
    let bits = |n: u64| u64::from(u64::BITS - n.leading_zeros());
    (2 * bits(cpus.into()) * (1 + bits(managed >> 15))).min(125)
}
