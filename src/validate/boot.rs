//! Where the recorded kernels left memory free when they had booted.
//!
//! The points of compaction say how many pages were free, not where. Compaction depends on it: on
//! the pageblocks that the kernel's own pages lie in, on the frames that firmware and kernel image
//! hold within a zone, on which free block is the next to be taken. So the frames of the recorded
//! machine were read out once, after booting the same kernel in the same virtual machine
//! (docs/recording.md), and stand in `boot-*.toml`: free lists in their order, per-CPU lists,
//! types of pageblocks. The rest is held for good.
//!
//! A layout is used for a point whose kernel, zones and managed pages are those of the machine that
//! was read out, and for points that ask for large blocks only: of all others the replay would
//! be the same but for the numbers of frames.

use std::collections::BTreeMap;

use mmsim_core::machine::config::{Kernel, ZoneLayout};
use mmsim_core::phys::migratetype::Migratetype;
use serde::Deserialize;

use super::point::{ZoneState, Zones};

/// What was read out, and of which kernel.
const BOOTED: [(Kernel, &str); 2] = [
    (Kernel::V6_1, include_str!("boot-6.1.toml")),
    (Kernel::V6_12, include_str!("boot-6.12.toml")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Booted {
    zone: Vec<Zone>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Zone {
    kind: String,
    managed: u32,
    spanned: u32,
    #[serde(default)]
    unmovable_blocks: Vec<u32>,
    #[serde(default)]
    reclaimable_blocks: Vec<u32>,
    #[serde(default)]
    free: Vec<List>,
    #[serde(default)]
    pcp: Vec<List>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(rename = "type")]
    migratetype: String,
    order: u8,
    first: Vec<u32>,
}

/// The layouts of the zones of a machine, by name, if it is one that was read out.
///
/// Where a zone had fewer free pages when the point began, the program that was recorded held the
/// difference: pages are taken as it would have got them.
pub(super) fn layouts(kernel: Kernel, zones: &Zones) -> Option<BTreeMap<String, ZoneLayout>> {
    let text = BOOTED.iter().find(|b| b.0 == kernel)?.1;
    let booted: Booted = toml::from_str(text).expect("a layout that was read out");
    let populated = zones.iter().filter(|(_, z)| z.managed > 0);
    let same = |(name, z): (&String, &ZoneState)| {
        booted.zone.iter().any(|b| b.kind == *name && b.managed == z.managed)
    };
    if populated.clone().count() != booted.zone.len() || !populated.clone().all(same) {
        return None;
    }
    let of = |b: &Zone| {
        let mut layout = ZoneLayout {
            spanned: b.spanned,
            free: lists(&b.free),
            pcp: lists(&b.pcp),
            blocks: [(&b.unmovable_blocks, Migratetype::Unmovable)]
                .into_iter()
                .chain([(&b.reclaimable_blocks, Migratetype::Reclaimable)])
                .flat_map(|(blocks, mt)| blocks.iter().map(move |&n| (n, mt)))
                .collect(),
        };
        let listed: u32 = layout.pcp.iter().map(|b| 1 << b.1).sum();
        let z = &zones[&b.kind];
        let more = (layout.free_pages() + listed).saturating_sub(z.free + z.pcp.count);
        take_movable(&mut layout, more);
        (b.kind.clone(), layout)
    };
    Some(booted.zone.iter().map(of).collect())
}

fn lists(lists: &[List]) -> Vec<(u32, u8, Migratetype)> {
    let named = |name: &str| Migratetype::ALL.into_iter().find(|mt| mt.name() == name);
    let mut blocks = Vec::new();
    for list in lists {
        let mt = named(&list.migratetype).expect("a type of pageblocks");
        blocks.extend(list.first.iter().map(|&p| (p, list.order, mt)));
    }
    blocks
}

/// Takes single pages as a process does that was alone: from the CPU's list, then from the
/// smallest movable block, the lowest page of it first.
fn take_movable(ZoneLayout { free, pcp, .. }: &mut ZoneLayout, pages: u32) {
    for _ in 0..pages {
        let single = |b: &(u32, u8, Migratetype)| b.1 == 0 && b.2 == Migratetype::Movable;
        if let Some(i) = pcp.iter().position(single) {
            pcp.remove(i);
            continue;
        }
        let movable = free.iter().enumerate().filter(|(_, b)| b.2 == Migratetype::Movable);
        let Some((i, &(pfn, order, mt))) = movable.min_by_key(|(_, b)| b.1) else { return };
        free.splice(i..=i, (0..order).map(|k| (pfn + (1 << k), k, mt)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_taken_from_the_smallest_movable_block() {
        use Migratetype::{Movable, Unmovable};
        let mut z = ZoneLayout {
            spanned: 32,
            free: vec![(0, 0, Unmovable), (8, 3, Movable), (16, 2, Movable)],
            pcp: vec![(30, 1, Movable), (28, 0, Unmovable), (29, 0, Movable)],
            blocks: Vec::new(),
        };
        take_movable(&mut z, 2);
        assert_eq!(z.pcp, [(30, 1, Movable), (28, 0, Unmovable)]);
        let split = [(0, 0, Unmovable), (8, 3, Movable), (17, 0, Movable), (18, 1, Movable)];
        assert_eq!(z.free, split);
        take_movable(&mut z, 3 + 5);
        assert_eq!(z.free, [(0, 0, Unmovable), (13, 0, Movable), (14, 1, Movable)]);
    }

    #[test]
    fn what_was_read_out_is_a_zone() {
        for (kernel, text) in BOOTED {
            let booted: Booted = toml::from_str(text).unwrap();
            for z in &booted.zone {
                let mut free = lists(&z.free);
                free.extend(lists(&z.pcp));
                free.sort_unstable();
                let ends = free.iter().map(|b| b.0 + (1 << b.1));
                let next = free.iter().map(|b| b.0).skip(1).chain([z.spanned]);
                assert!(ends.zip(next).all(|(end, next)| end <= next), "{kernel:?} {}", z.kind);
                assert!(free.iter().all(|b| b.0.is_multiple_of(1 << b.1)));
                assert!(free.iter().map(|b| 1u32 << b.1).sum::<u32>() <= z.managed);
            }
        }
    }
}
