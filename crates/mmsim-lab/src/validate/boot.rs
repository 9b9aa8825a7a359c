//! Where the recorded kernels left memory free when they had booted.
//!
//! The points of compaction say how many pages were free, not where. Compaction depends on it: on
//! the pageblocks that the kernel's own pages lie in, on the frames that firmware and kernel image
//! hold within a zone, on which free block is the next to be taken. So the frames of the recorded
//! machine were read out once, after booting the same kernel in the same virtual machine
//! (docs/recording.md), and stand in `boot-*.toml`: free lists in their order, per-CPU lists,
//! types of pageblocks. The rest is held for good.
//!
//! The program that was recorded is a process, whose anonymous pages compaction finds and moves like
//! others. So it is one here as well: its frames are the first that a process gets, and it takes as many
//! pages as were locked when the point was recorded, but for those of its file. The file lies on the
//! initial ramfs. Compaction takes its pages too, and fails to migrate each
//! (`fallback_migrate_folio`).
//!
//! A layout is used for a point whose kernel, zones and managed pages are those of the machine that
//! was read out, and for points that ask for large blocks only: of all others the replay would
//! be the same but for the numbers of frames.

use std::collections::BTreeMap;

use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::config::{Kernel, ZoneLayout};
use mmsim_core::phys::gfp::MAX_PAGE_ORDER;

use super::booted::{Booted, List, Zone};
use super::point::{Point, ZoneState, Zones};
use super::problem::{Found, found, within};

/// Values that were read out, with their kernel. The machine of `evidence/reference/` was another
/// one of the same make: its process held a few pages more, whose number is given modulo 4. On 6.18
/// and 7.3 this decides: of four neighbouring frames that a region may begin with, one or two let
/// compaction end early.
const BOOTED: [(Kernel, &str, u64); 4] = [
    (Kernel::V6_1, include_str!("../../evidence/boot/6.1.toml"), 0),
    (Kernel::V6_12, include_str!("../../evidence/boot/6.12.toml"), 0),
    (Kernel::V6_18, include_str!("../../evidence/boot/6.18.toml"), PLACE),
    (Kernel::V7_3, include_str!("../../evidence/boot/7.3.toml"), PLACE),
];
const PLACE: u64 = 3;

/// Pages of the file of the reference's program. Its size was not recorded but for `pgmigrate_fail`.
pub(super) const RAMFS: u32 = 209;

/// Pages that the process of the reference's machine held beyond those that were locked, modulo 4.
pub(super) fn more_pages(kernel: Kernel) -> u64 {
    BOOTED.iter().find(|b| b.0 == kernel).map_or(0, |b| b.2)
}

/// Frames of a pageblock, and pages that a page table maps.
const PAGEBLOCK: u32 = 512;
const PTES: u32 = 512;
/// Most frames that a zone spans (1 TiB).
const MAX_SPANNED: u64 = 1 << 28;

/// Pages that may have come free, or been taken, between the snapshot and the reading.
const MOVED: u32 = 64;

/// The layouts of the zones of a machine, by name, if it is one that was read out.
///
/// The pages of the recorded program are free in it: first those of its file, then those that a
/// process gets first.
pub(super) fn layouts(
    kernel: Kernel,
    zones: &Zones,
    own: Option<&Booted>,
) -> Option<BTreeMap<String, ZoneLayout>> {
    let booted = match own {
        Some(own) => own.clone(),
        None => {
            let text = BOOTED.iter().find(|b| b.0 == kernel)?.1;
            toml::from_str(text).expect("a layout that was read out")
        }
    };
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
    let mut pcp: Vec<_> = b
        .of_program()
        .flat_map(|&(first, frames)| first..first + frames)
        .map(|p| (p, 0, Migratetype::Movable))
        .collect();
    pcp.extend(b.tables().map(|p| (p, 0, Migratetype::Unmovable)));
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

/// Checks the states of a point against the recording of its beginning; the error has the
/// impossible value.
pub(super) fn check(p: &Point) -> Result<(), Found> {
    for (i, boot) in p.boot.iter().enumerate() {
        boot.check(&p.zones_at_start).map_err(|(way, what)| {
            (["boot".into(), i.into()].into_iter().chain(way).collect(), what)
        })?;
    }
    let each = &p.free_at_start_each;
    if each.is_empty() && p.boot.len() > 1 {
        let what = format!("missing, write which of {} states each repetition had", p.boot.len());
        return Err(found(["free_at_start_each".into()], what));
    }
    if !each.is_empty() && p.boot.is_empty() {
        return Err(found(["free_at_start_each".into()], "there is no `boot` that it is for"));
    }
    if !each.is_empty() && each.len() != p.repetitions {
        let what = format!("{} numbers, write one for each repetition", each.len());
        return Err(found(["free_at_start_each".into()], what));
    }
    for (repetition, &free) in each.iter().enumerate() {
        let nearest = p.booted(repetition).map(Booted::free_pages);
        if let Some(nearest) = nearest.filter(|n| n.abs_diff(free) > MOVED) {
            let what = format!("{free} pages, but {nearest} are free in the nearest of `boot`");
            return Err(found(["free_at_start_each".into(), repetition.into()], what));
        }
    }
    Ok(())
}

impl Booted {
    /// Checks against the zones that were recorded at the same time; the error has the impossible
    /// value.
    fn check(&self, zones: &Zones) -> Result<(), Found> {
        let populated = zones.values().filter(|z| z.managed > 0).count();
        if populated != self.zone.len() {
            let what = format!("{} zones, but {populated} have memory", self.zone.len());
            return Err(found(["zone".into()], what));
        }
        for (i, z) in self.zone.iter().enumerate() {
            if self.zone[..i].iter().any(|before| before.kind == z.kind) {
                let way = ["zone".into(), i.into(), "kind".into()];
                return Err(found(way, format!("\"{}\" stands there twice", z.kind)));
            }
            z.check(i, zones.get(&z.kind))?;
        }
        Ok(())
    }
    /// Free pages of all zones.
    pub(super) fn free_pages(&self) -> u32 {
        self.zone.iter().map(|z| pages(&z.free)).sum()
    }
    /// Anonymous pages of the program that was recorded.
    pub(super) fn program_pages(&self) -> u32 {
        self.zone.iter().map(Zone::program_pages).sum()
    }
    /// Pages of its file.
    pub(super) fn ramfs_pages(&self) -> u32 {
        self.zone.iter().flat_map(|z| &z.ramfs).map(|run| run.1).sum()
    }
}

impl Zone {
    /// The page tables that the program has when it is laid out: which frames they are is not read out, so
    /// they are the first of unmovable pageblocks that are not free.
    fn tables(&self) -> impl Iterator<Item = u32> {
        let of_list =
            |l: &List| l.first.iter().map(move |&p| p..p + (1 << l.order)).collect::<Vec<_>>();
        let mut taken: Vec<_> = self.free.iter().chain(&self.pcp).flat_map(of_list).collect();
        taken.extend(self.of_program().map(|&(first, frames)| first..first + frames));
        let blocks = self.unmovable_blocks.clone().into_iter();
        let frames = blocks.flat_map(|b| b * PAGEBLOCK..(b + 1) * PAGEBLOCK);
        frames
            .filter(move |p| !taken.iter().any(|t| t.contains(p)))
            .take(self.program_pages().div_ceil(PTES) as usize)
    }

    fn program_pages(&self) -> u32 {
        self.program.iter().map(|run| run.1).sum()
    }

    /// Runs of its file and of the program itself.
    fn of_program(&self) -> impl Iterator<Item = &(u32, u32)> {
        self.ramfs.iter().chain(&self.program)
    }

    /// Checks one zone; the error has the impossible value.
    fn check(&self, number: usize, recorded: Option<&ZoneState>) -> Result<(), Found> {
        let at = |key: &str| ["zone".into(), number.into(), key.into()];
        let Some(recorded) = recorded else {
            return Err(found(at("kind"), format!("no zone \"{}\" was recorded", self.kind)));
        };
        let near = |key: &str, here: u32, there: u32, by: u32| match here.abs_diff(there) <= by {
            true => Ok(()),
            false => Err(found(at(key), format!("{here} pages, but {there} were recorded"))),
        };
        near("managed", self.managed, recorded.managed, 0)?;
        within(at("spanned"), self.spanned.into(), self.managed.into(), MAX_SPANNED)?;
        let mut taken = Taken { by: vec![false; self.spanned as usize] };
        for (key, runs) in [("program", &self.program), ("ramfs", &self.ramfs)] {
            for (i, &(first, frames)) in runs.iter().enumerate() {
                let what = taken.take(first, frames);
                what.map_err(|what| (at(key).into_iter().chain([i.into()]).collect(), what))?;
            }
        }
        for (key, lists, recorded) in
            [("free", &self.free, recorded.free), ("pcp", &self.pcp, recorded.pcp.count)]
        {
            let mut pages = 0;
            for (i, list) in lists.iter().enumerate() {
                let wrong = |field: &str, what| {
                    let way = at(key).into_iter().chain([i.into(), field.into()]);
                    (way.collect(), what)
                };
                if named(&list.migratetype).is_none() {
                    let known = Migratetype::ALL.map(Migratetype::name).join(", ");
                    let what = format!("\"{}\", write one of {known}", list.migratetype);
                    return Err(wrong("type", what));
                }
                if list.order > MAX_PAGE_ORDER {
                    let what = format!("{}, write a number from 0 to {MAX_PAGE_ORDER}", list.order);
                    return Err(wrong("order", what));
                }
                for &first in &list.first {
                    let frames = 1 << list.order;
                    if !first.is_multiple_of(frames) {
                        let what = format!("frame {first} is not aligned to its {frames} frames");
                        return Err(wrong("first", what));
                    }
                    taken.take(first, frames).map_err(|what| wrong("first", what))?;
                    pages += frames;
                }
            }
            near(key, pages, recorded, MOVED)?;
        }
        let blocks = self.spanned.div_ceil(PAGEBLOCK);
        for (key, all) in [
            ("unmovable-blocks", &self.unmovable_blocks),
            ("reclaimable-blocks", &self.reclaimable_blocks),
        ] {
            if let Some(b) = all.iter().find(|&&b| b >= blocks) {
                return Err(found(at(key), format!("{b}, but the zone has {blocks} pageblocks")));
            }
        }
        Ok(())
    }
}

/// Frames of which is known what lies there.
struct Taken {
    by: Vec<bool>,
}

impl Taken {
    fn take(&mut self, first: u32, frames: u32) -> Result<(), String> {
        for f in u64::from(first)..u64::from(first) + u64::from(frames) {
            let spanned = self.by.len();
            match self.by.get_mut(f as usize) {
                None => return Err(format!("frame {f}, but the zone spans {spanned}")),
                Some(true) => return Err(format!("frame {f} stands in two places")),
                Some(taken) => *taken = true,
            }
        }
        Ok(())
    }
}

fn pages(lists: &[List]) -> u32 {
    lists.iter().map(|l| (l.first.len() as u32) << l.order).sum()
}

fn named(name: &str) -> Option<Migratetype> {
    Migratetype::ALL.into_iter().find(|mt| mt.name() == name)
}

fn lists(lists: &[List]) -> Vec<(u32, u8, Migratetype)> {
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
    use serde_json::json;

    #[test]
    fn what_was_read_out_is_a_zone() {
        for (kernel, text, _) in BOOTED {
            let booted: Booted = toml::from_str(text).unwrap();
            for (i, z) in booted.zone.iter().enumerate() {
                let state = json!({"managed": z.managed, "free": pages(&z.free), "min": 0, "low": 0, "high": 0,
                    "lowmem_reserve": [], "pcp": {"count": pages(&z.pcp), "high": 1, "batch": 1}});
                let state: ZoneState = serde_json::from_value(state).unwrap();
                assert_eq!(z.check(i, Some(&state)), Ok(()), "{kernel:?} {}", z.kind);
            }
        }
    }

    #[test]
    fn what_cannot_be_is_named() {
        let good = json!({"zone": [{"kind": "DMA32", "managed": 4000, "spanned": 4096,
            "program": [[100, 3]], "ramfs": [[200, 2]], "unmovable-blocks": [0], "reclaimable-blocks": [7],
            "free": [{"type": "Movable", "order": 3, "first": [512, 1024]}],
            "pcp": [{"type": "Unmovable", "order": 0, "first": [9]}]}]});
        let zones = json!({"DMA32": {"managed": 4000, "free": 16, "min": 1, "low": 2, "high": 3,
            "lowmem_reserve": [0], "pcp": {"count": 1, "high": 4, "batch": 1}}});
        let zones: Zones = serde_json::from_value(zones).unwrap();
        let checked = |booted: serde_json::Value| {
            serde_json::from_value::<Booted>(booted).unwrap().check(&zones)
        };
        assert_eq!(checked(good.clone()), Ok(()));
        for (at, value, way, what) in [
            ("/kind", json!("Normal"), "kind", "no zone \"Normal\" was recorded"),
            ("/managed", json!(3999), "managed", "3999 pages, but 4000 were recorded"),
            ("/spanned", json!(3000), "spanned", "3000, write a number from 4000 to"),
            ("/program/0", json!([1026, 3]), "free[0].first", "frame 1026 stands in two places"),
            ("/program/0", json!([4095, 2]), "program[0]", "frame 4096, but the zone spans 4096"),
            ("/ramfs/0", json!([102, 1]), "ramfs[0]", "frame 102 stands in two places"),
            (
                "/free/0/type",
                json!("movable"),
                "free[0].type",
                "\"movable\", write one of Unmovable",
            ),
            ("/free/0/order", json!(11), "free[0].order", "11, write a number from 0 to 10"),
            ("/free/0/first/0", json!(516), "free[0].first", "frame 516 is not aligned to its 8"),
            ("/free/0/order", json!(7), "free", "256 pages, but 16 were recorded"),
            ("/reclaimable-blocks/0", json!(8), "reclaimable-blocks", "8, but the zone has 8 page"),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(&format!("/zone/0{at}")).unwrap() = value;
            let (found, said) = checked(bad).expect_err(what);
            assert_eq!(super::super::place::shown(&found), format!("zone[0].{way}"));
            assert!(said.contains(what), "{said}");
        }
        assert!(checked(json!({"zone": []})).is_err_and(|e| e.1.contains("0 zones, but 1 have")));
        let mut both = zones.clone();
        both.insert("Normal".into(), both["DMA32"].clone());
        let twice: Booted =
            serde_json::from_value(json!({"zone": [good["zone"][0], good["zone"][0]]})).unwrap();
        let said = twice.check(&both).expect_err("a zone twice");
        assert_eq!(said.1, "\"DMA32\" stands there twice");
    }

    /// Two states, 8 pages and 16: a repetition begins with the nearer one, the first if both are.
    #[test]
    fn a_repetition_begins_with_the_state_that_has_as_many_free_pages() {
        let state = |first: &[u32]| {
            json!({"zone": [{"kind": "DMA32", "managed": 4000, "spanned": 4096,
                "free": [{"type": "Movable", "order": 3, "first": first}]}]})
        };
        let point = |each: serde_json::Value| -> Point {
            serde_json::from_value(json!({"id": "p", "kernel": "6.12.1", "lru": "classic",
                "repetitions": 3, "script": [], "phases": [], "results": [],
                "boot": [state(&[512]), state(&[512, 1024])], "free_at_start_each": each,
                "zones_at_start": {"DMA32": {"managed": 4000, "free": 16, "min": 1, "low": 2, "high": 3,
                    "lowmem_reserve": [0], "pcp": {"count": 0, "high": 4, "batch": 1}}}}))
            .unwrap()
        };
        let p = point(json!([12, 13, 70]));
        let free = |r| p.booted(r).map(Booted::free_pages);
        assert_eq!([0, 1, 2].map(free), [8, 16, 16].map(Some));
        assert_eq!(check(&p), Ok(()));
        assert_eq!(point(json!([])).booted(2).map(Booted::free_pages), Some(8));
        for (each, way, what) in [
            (json!([]), "free_at_start_each", "missing, write which of 2 states each rep"),
            (json!([8, 16]), "free_at_start_each", "2 numbers, write one for each repetition"),
            (json!([8, 81, 16]), "free_at_start_each[1]", "81 pages, but 16 are free in the nea"),
        ] {
            let (at, said) = check(&point(each)).expect_err(what);
            assert_eq!(super::super::place::shown(&at), way);
            assert!(said.contains(what), "{said}");
        }
        let mut none = point(json!([8, 8, 8]));
        none.boot.clear();
        assert!(check(&none).is_err_and(|e| e.1.contains("no `boot`")));
        let mut none = point(json!([8, 8, 8]));
        none.boot[1].zone[0].managed = 3999;
        let (at, _) = check(&none).expect_err("another machine");
        assert_eq!(super::super::place::shown(&at), "boot[1].zone[0].managed");
    }
}
