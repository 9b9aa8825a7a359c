//! Where the recorded kernels left memory free when they had booted.
//!
//! The points of compaction say how many pages were free, not where. Compaction depends on it: on
//! the pageblocks that the kernel's own pages lie in, on the frames that firmware and kernel image
//! hold within a zone, on which free block is the next to be taken. So the frames of the recorded
//! machine were read out once, after booting the same kernel in the same virtual machine
//! (docs/recording.md), and stand in `boot-*.toml`: free lists in their order, per-CPU lists,
//! types of pageblocks. The rest is held for good.
//!
//! The program that was recorded is a process, whose pages compaction finds and moves like others. So
//! it is one here as well: its frames are the first that a process gets, and it takes as many pages as
//! were locked when the point was recorded.
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
    program: Vec<(u32, u32)>,
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
/// The pages of the recorded program are free in it, and the first that a process gets.
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
    Some(booted.zone.iter().map(|b| (b.kind.clone(), layout(b))).collect())
}

fn layout(b: &Zone) -> ZoneLayout {
    let of_program = b.program.iter().flat_map(|&(first, frames)| first..first + frames);
    let mut pcp: Vec<_> = of_program.map(|p| (p, 0, Migratetype::Movable)).collect();
    pcp.extend(lists(&b.pcp));
    let types = [
        (&b.unmovable_blocks, Migratetype::Unmovable),
        (&b.reclaimable_blocks, Migratetype::Reclaimable),
    ];
    let of_type = |(blocks, mt): (&Vec<u32>, _)| blocks.iter().map(|&n| (n, mt)).collect();
    ZoneLayout {
        spanned: b.spanned,
        free: lists(&b.free),
        pcp,
        blocks: types.into_iter().flat_map(of_type as fn(_) -> Vec<_>).collect(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_out_is_a_zone() {
        for (kernel, text) in BOOTED {
            let booted: Booted = toml::from_str(text).unwrap();
            for z in &booted.zone {
                let ZoneLayout { mut free, pcp, .. } = layout(z);
                free.extend(pcp);
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
