//! `/proc/buddyinfo` and `/proc/pagetypeinfo`: free blocks by order, by migratetype as well,
//! and pageblocks by migratetype. Zones without memory are left out in both.

use std::fmt::Write;

use mmsim_core::base::id::NodeId;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::machine::snapshot::{Snapshot, ZoneSnapshot};
use mmsim_core::phys::buddy::NR_ORDERS;

/// The kernel stops counting blocks of one list here, and says so with a `>`.
const MOST_COUNTED: u64 = 100_000;

/// Adds formatted text; a string takes everything.
macro_rules! add {
    ($text:expr, $($arg:tt)*) => { write!($text, $($arg)*).expect("writing to a string") };
}

/// `/proc/buddyinfo`.
pub fn buddyinfo(s: &Snapshot) -> String {
    let mut text = String::new();
    for z in &s.zones {
        add!(text, "Node {}, zone {:>8} ", z.node.0, z.kind.name());
        for order in 0..NR_ORDERS {
            let blocks: u64 = z.free_blocks.iter().map(|of_type| of_type[order]).sum();
            add!(text, "{blocks:>6} ");
        }
        text.push('\n');
    }
    text
}

/// `/proc/pagetypeinfo`: nodes one after the other, each with its own headings.
pub fn pagetypeinfo(s: &Snapshot) -> String {
    let mut text = String::new();
    for node in (0..s.unreclaimable.len()).map(|n| NodeId(n as u8)) {
        let zones: Vec<&ZoneSnapshot> = s.zones.iter().filter(|z| z.node == node).collect();
        if !zones.is_empty() {
            of_node(&mut text, s, node, &zones);
        }
    }
    text
}

fn of_node(text: &mut String, s: &Snapshot, node: NodeId, zones: &[&ZoneSnapshot]) {
    let order = s.pageblock_order;
    add!(text, "Page block order: {order}\nPages per block:  {}\n\n", 1u64 << order);
    add!(text, "{:<43} ", "Free pages count per migrate type at order");
    for order in 0..NR_ORDERS {
        add!(text, "{order:>6} ");
    }
    text.push('\n');
    for z in zones {
        for (mt, free_blocks) in Migratetype::ALL.iter().zip(&z.free_blocks) {
            let (zone, mt) = (z.kind.name(), mt.name());
            add!(text, "Node {:>4}, zone {zone:>8}, type {mt:>12} ", node.0);
            for &blocks in free_blocks {
                let more = if blocks >= MOST_COUNTED { ">" } else { "" };
                add!(text, "{more}{:>6} ", blocks.min(MOST_COUNTED));
            }
            text.push('\n');
        }
    }
    add!(text, "\n{:<23}", "Number of blocks type ");
    for mt in Migratetype::ALL {
        add!(text, "{:>12} ", mt.name());
    }
    text.push('\n');
    for z in zones {
        add!(text, "Node {}, zone {:>8} ", node.0, z.kind.name());
        for blocks in z.pageblocks {
            add!(text, "{blocks:>12} ");
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::config::ZoneKind;

    /// A zone of a host, as it prints it, but for the column of CMA that this host's kernel
    /// does not have.
    #[test]
    fn a_zone_reads_as_on_a_host() {
        let mut normal = ZoneSnapshot { kind: ZoneKind::Normal, ..ZoneSnapshot::default() };
        normal.free_blocks[0] = [0, 362, 343, 93, 61, 43, 43, 29, 26, 0, 0];
        normal.free_blocks[1] = [118_633, 11_130, 5360, 1895, 640, 206, 89, 42, 10, 6, 2823];
        normal.pageblocks = [77, 6582, 189, 0, 0, 0];
        let s = Snapshot {
            unreclaimable: vec![false],
            pageblock_order: 9,
            zones: vec![normal],
            ..Snapshot::default()
        };
        assert_eq!(
            buddyinfo(&s),
            "Node 0, zone   Normal 118633  11492   5703   1988    701    249    132     71     36      6   2823 \n"
        );
        let want = "\
Page block order: 9
Pages per block:  512

Free pages count per migrate type at order       0      1      2      3      4      5      6      7      8      9     10 
Node    0, zone   Normal, type    Unmovable      0    362    343     93     61     43     43     29     26      0      0 
Node    0, zone   Normal, type      Movable >100000  11130   5360   1895    640    206     89     42     10      6   2823 
Node    0, zone   Normal, type  Reclaimable      0      0      0      0      0      0      0      0      0      0      0 
Node    0, zone   Normal, type   HighAtomic      0      0      0      0      0      0      0      0      0      0      0 
Node    0, zone   Normal, type          CMA      0      0      0      0      0      0      0      0      0      0      0 
Node    0, zone   Normal, type      Isolate      0      0      0      0      0      0      0      0      0      0      0 

Number of blocks type     Unmovable      Movable  Reclaimable   HighAtomic          CMA      Isolate 
Node 0, zone   Normal           77         6582          189            0            0            0 
";
        assert_eq!(pagetypeinfo(&s), want);
    }
}
