//! Where memory is free, made up from how many blocks of each order and type are.
//!
//! `/proc/buddyinfo` and `/proc/pagetypeinfo` say how many blocks are free, and how many pageblocks
//! each type has. Where they lie is not in any file. So they are spread evenly over the zone:
//!
//! 1. Pageblocks that are not movable lie in groups of the size of the largest block, evenly over the
//!    zone; a block of the largest order has one type. If all groups are wanted for such blocks, an
//!    incomplete group lies at the end of the zone.
//! 2. In what a type has, from the largest order down: of two halves of a larger region one may be a
//!    free block, never both, since they would be one. Which are free is spread evenly. What is not
//!    free is divided further; single frames that are left are in use.
//! 3. Frames in use are the kernel's first in unmovable and reclaimable pageblocks, then at the lowest
//!    addresses. Pages of per-CPU lists are spread evenly over the rest. All others are of programs.
//!
//! Counts come out as they were. The lists hand out blocks in the order of their addresses.

use mmsim_core::base::id::{CpuId, NodeId, Pfn};
use mmsim_core::base::migratetype::{Migratetype, NR_MIGRATETYPES};
use mmsim_core::config::ZoneKind;
use mmsim_core::memory::{FrameUse, FreeListLayout, ZoneLayout};
use mmsim_core::phys::buddy::NR_ORDERS;

use super::blocks::Blocks;

/// The place of a zone.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Which kind.
    pub kind: ZoneKind,
    /// Its node.
    pub node: NodeId,
    /// First frame, at which a block of the largest order can begin.
    pub first: Pfn,
    /// Managed frames.
    pub frames: u32,
    /// log2 of the pages of a pageblock.
    pub pageblock_order: u8,
    /// Order of the largest block.
    pub max_order: u8,
}

/// Use of the frames of a zone, by numbers.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    /// Free blocks.
    pub blocks: &'a Blocks,
    /// Pages on the lists of each CPU.
    pub pcp: &'a [(CpuId, u64)],
    /// Pages on LRU lists.
    pub programs: u64,
    /// Use of such a frame.
    pub program: FrameUse,
}

/// Types that there can be memory of, those that others make room for last.
const TYPES: [Migratetype; 4] = [
    Migratetype::Unmovable,
    Migratetype::Reclaimable,
    Migratetype::HighAtomic,
    Migratetype::Movable,
];

/// `n` of `of` things, evenly.
fn evenly(n: u64, of: u64) -> impl Fn(u64) -> bool {
    move |i| {
        u128::from(i + 1) * u128::from(n) / u128::from(of.max(1))
            > u128::from(i) * u128::from(n) / u128::from(of.max(1))
    }
}

/// Lays a zone out. Returns notes on contents that do not fit.
pub fn zone(shape: &Shape, contents: &Contents<'_>) -> (ZoneLayout, Vec<String>) {
    let mut remarks = Vec::new();
    let types = types(shape, contents.blocks, &mut remarks);
    let mut layout = ZoneLayout {
        kind: shape.kind,
        node: shape.node,
        first: shape.first,
        pageblock_order: shape.pageblock_order,
        types,
        frames: vec![FrameUse::Free; shape.frames as usize],
        lists: Vec::new(),
    };
    let mut used: Vec<(Migratetype, Vec<u32>)> = Vec::new();
    let mut lost = 0;
    for of in TYPES {
        let mut wanted = contents.blocks.free[of as usize];
        if of == Migratetype::Movable {
            // Neither is ever handed out to programs here.
            for more in [Migratetype::Cma, Migratetype::Isolate] {
                let free = contents.blocks.free[more as usize];
                wanted.iter_mut().zip(free).for_each(|(w, more)| *w += more);
            }
        }
        used.push((of, free_blocks(shape, &mut layout, of, wanted, &mut lost)));
    }
    if lost > 0 {
        remarks
            .push(format!("{lost} free pages more than its managed pages have room for: in use"));
    }
    in_use(&mut layout, contents, used, &mut remarks);
    layout.lists.sort_by_key(|l| (l.cpu, l.migratetype as usize, l.order));
    (layout, remarks)
}

/// The types of pageblocks.
fn types(shape: &Shape, blocks: &Blocks, remarks: &mut Vec<String>) -> Vec<Migratetype> {
    let size = 1u64 << shape.pageblock_order;
    let all = u64::from(shape.frames).div_ceil(size);
    let pages = |of: Migratetype| -> u64 {
        let free = blocks.free[of as usize].iter().enumerate();
        free.map(|(order, n)| n << order).fold(0, u64::saturating_add)
    };
    let mut counts = blocks.pageblocks.unwrap_or([0; NR_MIGRATETYPES]);
    let kept = [Migratetype::Cma, Migratetype::Isolate].map(|of| counts[of as usize]);
    if kept.iter().any(|&n| n > 0) {
        let [cma, isolate] = kept;
        remarks.push(format!("{cma} pageblocks of CMA and {isolate} isolated ones are movable"));
    }
    let mut minority = Vec::new();
    let mut room = all.saturating_sub(pages(Migratetype::Movable).div_ceil(size));
    for of in [Migratetype::Unmovable, Migratetype::Reclaimable, Migratetype::HighAtomic] {
        let wants = counts[of as usize].max(pages(of).div_ceil(size));
        let has = wants.min(room);
        if has < counts[of as usize] {
            remarks.push(format!("{has} of {wants} {} pageblocks", of.name()));
        }
        counts[of as usize] = has;
        room -= has;
        minority.push((of, has));
    }
    let group = 1u64 << shape.max_order.saturating_sub(shape.pageblock_order);
    let (mut chunks, mut rest) = (Vec::new(), Vec::new());
    for (of, n) in minority {
        chunks.extend((0..n / group).map(|_| vec![of; group as usize]));
        rest.extend((0..n % group).map(|_| of));
    }
    let mut types = vec![Migratetype::Movable; all as usize];
    let groups = u64::from(shape.frames) >> shape.max_order;
    // What is left over goes behind the last whole group if the groups are wanted for free blocks.
    let largest = blocks.free[Migratetype::Movable as usize][usize::from(shape.max_order)];
    let taken = (chunks.len() + rest.len().div_ceil(group as usize)) as u64;
    let tail = (all - groups * group) as usize;
    if largest > groups.saturating_sub(taken) && rest.len() <= tail {
        let end = types.len();
        types[end - rest.len()..].copy_from_slice(&rest);
        rest.clear();
    }
    chunks.extend(rest.chunks(group as usize).map(<[_]>::to_vec));
    let n = chunks.len() as u64;
    if n <= groups {
        for (i, chunk) in chunks.into_iter().enumerate() {
            // In the middle of its share.
            let at = (2 * i as u64 + 1) * groups / (2 * n) * group;
            types[at as usize..][..chunk.len()].copy_from_slice(&chunk);
        }
    } else {
        let all = chunks.into_iter().flatten();
        types.iter_mut().zip(all).for_each(|(t, of)| *t = of);
    }
    types
}

/// The largest regions of a type, aligned to their sizes: of each order their first frames.
fn regions(shape: &Shape, types: &[Migratetype], of: Migratetype) -> [Vec<u32>; NR_ORDERS] {
    let mut regions: [Vec<u32>; NR_ORDERS] = Default::default();
    let block = u32::from(shape.pageblock_order);
    let is = |i: u32| types.get((i >> block) as usize) == Some(&of);
    let mut at = 0u64;
    let end = u64::from(shape.frames);
    while at < end {
        // The largest region that begins here, lies in the zone and has one type.
        let fits = |order: &u8| {
            let size = 1u64 << order;
            at.is_multiple_of(size)
                && at + size <= end
                && (at..at + size)
                    .step_by(1 << block)
                    .all(|p| types.get((p >> block) as usize) == types.get((at >> block) as usize))
        };
        let order = (0..=shape.max_order).rev().find(fits).unwrap_or(0);
        if is(at as u32) {
            regions[usize::from(order)].push(at as u32);
        }
        at += 1 << order;
    }
    regions
}

/// Puts the free blocks of a type into its regions. Returns the frames that are in use.
fn free_blocks(
    shape: &Shape,
    layout: &mut ZoneLayout,
    of: Migratetype,
    mut wanted: [u64; NR_ORDERS],
    lost: &mut u64,
) -> Vec<u32> {
    let mut regions = regions(shape, &layout.types, of);
    let top = usize::from(shape.max_order);
    for order in (0..NR_ORDERS).rev() {
        if order > top {
            // A larger block than the kernel here has.
            wanted[order - 1] += 2 * wanted[order];
            continue;
        }
        let mut here = std::mem::take(&mut regions[order]);
        here.sort_unstable();
        // Two halves of a larger region: at most the first of them.
        let second = |i: usize| order < top && i > 0 && here[i] == here[i - 1] ^ (1 << order);
        let may: Vec<usize> = (0..here.len()).filter(|&i| !second(i)).collect();
        let n = wanted[order].min(may.len() as u64);
        let rest = wanted[order] - n;
        match order {
            0 => *lost += rest,
            _ => wanted[order - 1] = wanted[order - 1].saturating_add(rest.saturating_mul(2)),
        }
        let chosen = evenly(n, may.len() as u64);
        let mut is_free = vec![false; here.len()];
        for (k, &i) in may.iter().enumerate() {
            is_free[i] = chosen(k as u64);
        }
        let free = here.iter().zip(&is_free).filter(|f| *f.1).map(|f| Pfn(shape.first.0 + f.0));
        let blocks: Vec<Pfn> = free.collect();
        if !blocks.is_empty() {
            let order = order as u8;
            layout.lists.push(FreeListLayout { cpu: None, order, migratetype: of, blocks });
        }
        let others = here.iter().zip(&is_free).filter(|f| !*f.1).map(|f| *f.0);
        if order == 0 {
            return others.collect();
        }
        regions[order - 1].extend(others.flat_map(|p| [p, p + (1 << (order - 1))]));
    }
    Vec::new()
}

/// Says whose the frames are that are in use.
fn in_use(
    layout: &mut ZoneLayout,
    contents: &Contents<'_>,
    mut used: Vec<(Migratetype, Vec<u32>)>,
    remarks: &mut Vec<String>,
) {
    let all: u64 = used.iter().map(|u| u.1.len() as u64).sum();
    let listed: u64 = contents.pcp.iter().map(|c| c.1).sum();
    let programs = contents.programs.min(all.saturating_sub(listed));
    if programs < contents.programs {
        remarks.push(format!("{programs} of {} pages of programs have room", contents.programs));
    }
    let mut kernel = all.saturating_sub(listed.saturating_add(programs));
    for (of, frames) in &mut used {
        let n = (frames.len() as u64).min(kernel);
        kernel -= n;
        let held = if *of == Migratetype::Reclaimable { *of } else { Migratetype::Unmovable };
        for p in frames.drain(..n as usize) {
            layout.frames[p as usize] = FrameUse::Held(held);
        }
    }
    // Pages of per-CPU lists from movable pageblocks, then from others.
    let rest: Vec<u32> = used.into_iter().rev().flat_map(|u| u.1).collect();
    let n = listed.min(rest.len() as u64);
    if n < listed {
        remarks.push(format!("{n} of {listed} pages of per-CPU lists have room"));
    }
    let chosen = evenly(n, rest.len() as u64);
    let mut on_lists = Vec::new();
    for (i, &p) in rest.iter().enumerate() {
        if chosen(i as u64) {
            on_lists.push(Pfn(layout.first.0 + p));
        } else {
            layout.frames[p as usize] = contents.program;
        }
    }
    for &(cpu, count) in contents.pcp {
        let blocks: Vec<Pfn> = on_lists.drain(..(count as usize).min(on_lists.len())).collect();
        if !blocks.is_empty() {
            let migratetype = Migratetype::Movable;
            layout.lists.push(FreeListLayout { cpu: Some(cpu), order: 0, migratetype, blocks });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(frames: u32) -> Shape {
        let (kind, node, first) = (ZoneKind::Normal, NodeId(0), Pfn(2048));
        Shape { kind, node, first, frames, pageblock_order: 9, max_order: 10 }
    }

    fn blocks(free: &[(Migratetype, usize, u64)], pageblocks: [u64; 3]) -> Blocks {
        let mut all = [[0; NR_ORDERS]; NR_MIGRATETYPES];
        free.iter().for_each(|&(of, order, n)| all[of as usize][order] = n);
        let [unmovable, movable, reclaimable] = pageblocks;
        let pageblocks = Some([unmovable, movable, reclaimable, 0, 0, 0]);
        Blocks { line: 1, node: 0, zone: "Normal".into(), free: all, cut: Vec::new(), pageblocks }
    }

    fn count(l: &ZoneLayout, of: Migratetype, order: u8) -> usize {
        let is = |l: &&FreeListLayout| (l.cpu, l.migratetype, l.order) == (None, of, order);
        l.lists.iter().filter(is).map(|l| l.blocks.len()).sum()
    }

    /// A zone of 8 pageblocks: one unmovable, the rest movable, with two free blocks of 1024 pages
    /// and a comb of single pages in what is left: 5 x 512 frames less 2048, so 256 pairs.
    #[test]
    fn counts_come_out_as_they_were() {
        use Migratetype::{Movable, Unmovable};
        let blocks = blocks(
            &[(Movable, 10, 2), (Movable, 0, 700), (Movable, 3, 4), (Unmovable, 2, 20)],
            [1, 7, 0],
        );
        let pcp = [(CpuId(0), 10), (CpuId(1), 3)];
        let program = FrameUse::Held(Movable);
        let contents = Contents { blocks: &blocks, pcp: &pcp, programs: 500, program };
        let (l, remarks) = zone(&shape(4096), &contents);
        assert_eq!(remarks, [""; 0]);
        l.check().unwrap();
        assert_eq!(
            [
                count(&l, Movable, 10),
                count(&l, Movable, 0),
                count(&l, Movable, 3),
                count(&l, Unmovable, 2)
            ],
            [2, 700, 4, 20]
        );
        let uses = |u: FrameUse| l.frames.iter().filter(|&&f| f == u).count();
        let (free, held) = (2 * 1024 + 700 + 4 * 8 + 20 * 4, 500);
        assert_eq!(uses(FrameUse::Free), free + 13);
        assert_eq!(uses(program), held);
        assert_eq!(uses(FrameUse::Held(Unmovable)), 4096 - free - 13 - held);
        assert_eq!(l.types.iter().filter(|&&t| t == Unmovable).count(), 1);
        let listed: Vec<usize> =
            l.lists.iter().filter(|l| l.cpu.is_some()).map(|l| l.blocks.len()).collect();
        assert_eq!(listed, [10, 3]);
    }

    /// Zone DMA of a PC: 3840 frames, seven pageblocks and a half. Three blocks of 1024 and one of
    /// 512 pages are free, so the unmovable pageblock is the half.
    #[test]
    fn an_incomplete_group_lies_at_the_end() {
        use Migratetype::{Movable, Unmovable};
        let blocks = blocks(&[(Movable, 10, 3), (Movable, 9, 1)], [1, 7, 0]);
        let program = FrameUse::Program;
        let contents = Contents { blocks: &blocks, pcp: &[], programs: 0, program };
        let (l, remarks) = zone(&shape(3840), &contents);
        l.check().unwrap();
        assert_eq!(remarks, [""; 0]);
        assert_eq!([count(&l, Movable, 10), count(&l, Movable, 9)], [3, 1]);
        assert_eq!(l.types.iter().position(|&t| t == Unmovable), Some(7));
    }

    /// A zone that ends amid a pageblock, and more free blocks than fit: what does not is smaller,
    /// then in use, and said.
    #[test]
    fn what_does_not_fit_is_said() {
        let blocks = blocks(&[(Migratetype::Movable, 9, 3)], [0, 2, 0]);
        let program = FrameUse::Program;
        let contents = Contents { blocks: &blocks, pcp: &[], programs: 0, program };
        let (l, remarks) = zone(&shape(700), &contents);
        l.check().unwrap();
        assert_eq!(count(&l, Migratetype::Movable, 9), 1);
        assert_eq!(
            l.frames.iter().filter(|&&f| f == FrameUse::Free).count() as u64,
            700 - lost_of(&remarks)
        );
    }

    /// 3 x 512 pages in 700 frames.
    fn lost_of(remarks: &[String]) -> u64 {
        let lost = remarks.iter().find_map(|r| r.split(' ').next()?.parse::<u64>().ok());
        let lost = lost.expect("said");
        assert!(lost >= 3 * 512 - 700, "{lost}");
        lost - (3 * 512 - 700)
    }
}
