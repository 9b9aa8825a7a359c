//! Layouts: what is read off a machine and put on a new one is the same memory, down to the
//! block that each list hands out next; what cannot be is refused with its reason.

use mmsim_core::base::id::{CpuId, NodeId, Pfn};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::{Kernel, MachineConfig, ZoneConfig, ZoneKind};
use mmsim_core::memory::{FrameUse, FreeListLayout, Layout, LayoutError, Memory};
use mmsim_core::phys::frames::FrameKind;
use mmsim_core::phys::gfp::AllocRequest;

fn zone(kind: ZoneKind, managed: u32, pcp: (u32, u32)) -> ZoneConfig {
    ZoneConfig {
        free_at_start: Some(managed - 40),
        pcp: Some(pcp),
        ..ZoneConfig::new(kind, managed).bare([10, 20, 30])
    }
}

fn config(kernel: Kernel, pcp: (u32, u32)) -> MachineConfig {
    // The second ends within a pageblock.
    let zones = vec![zone(ZoneKind::Dma32, 4096, pcp), zone(ZoneKind::Normal, 9300, pcp)];
    MachineConfig {
        cpus: 2,
        os_overhead: 300,
        lru_batch: Some(1),
        run_ahead: SimDuration::ZERO,
        ..MachineConfig::new(kernel, zones)
    }
}

/// Allocates and frees at random; the first frames of what it got, in order.
fn churn(
    mem: &mut Memory,
    held: &mut Vec<(Pfn, u8)>,
    steps: u32,
    orders: u64,
    seed: u64,
) -> Vec<u32> {
    let mut rng = Rng::for_purpose(seed, "layout");
    let mut got = Vec::new();
    for _ in 0..steps {
        mem.acting.cpu = CpuId(rng.below(2) as u16);
        if rng.below(100) < 35 && !held.is_empty() {
            let (pfn, order) = held.swap_remove(rng.below(held.len() as u64) as usize);
            mem.kernel.nr_other -= 1 << order;
            mem.free_block(pfn, order);
            continue;
        }
        let migratetype = Migratetype::REQUESTS[rng.below(3) as usize];
        let order = rng.below(orders) as u8;
        let req = AllocRequest { order, migratetype, ..AllocRequest::KERNEL };
        let pfn = mem.try_alloc(NodeId(0), &req, None);
        got.push(pfn.map_or(u32::MAX, |p| p.0));
        if let Some(pfn) = pfn {
            mem.frames.reset_block(pfn, FrameKind::KernelOther, order, migratetype);
            mem.kernel.nr_other += 1 << order;
            held.push((pfn, order));
        }
    }
    got
}

/// On two kernels, with and without per-CPU lists: the layout of the copy is that of the
/// original, and both give the same frames from there on.
#[test]
fn a_copy_goes_on_as_the_original_does() {
    for (kernel, pcp) in [(Kernel::V4_1, (0, 1)), (Kernel::V6_1, (60, 15))] {
        let config = config(kernel, pcp);
        let mut original = Memory::new(&config);
        let mut held = Vec::new();
        churn(&mut original, &mut held, 30_000, 3, 7);
        let layout = original.layout();
        let pcps = layout.zones.iter().flat_map(|z| &z.lists).filter(|l| l.cpu.is_some()).count();
        assert_eq!(pcps > 0, pcp.0 > 0, "{pcps} lists of CPUs");
        let types: std::collections::BTreeSet<Migratetype> =
            layout.zones.iter().flat_map(|z| z.types.iter().copied()).collect();
        assert_eq!(types.len(), 3, "pageblocks of all types: {types:?}");

        let mut copy = Memory::new(&config);
        let mut blocks = copy.set_layout(&layout).expect("it is of this machine");
        copy.check();
        assert_eq!(copy.layout(), layout);
        assert_eq!(copy.kernel.nr_other, original.kernel.nr_other);
        assert!(blocks.is_sorted());
        // The copy holds single pages where the original has blocks.
        let mut pages: Vec<Pfn> =
            held.iter().flat_map(|&(p, k)| (p.0..p.0 + (1 << k)).map(Pfn)).collect();
        pages.sort_unstable();
        assert_eq!(blocks.drain(..).map(|b| b.0).collect::<Vec<_>>(), pages);

        let (mut none, mut nothing) = (Vec::new(), Vec::new());
        let a = churn(&mut original, &mut none, 3000, 1, 8);
        let b = churn(&mut copy, &mut nothing, 3000, 1, 8);
        assert_eq!(a, b, "{kernel:?}");
        copy.check();
    }
}

/// Frames that are free and on no list are given back, and merge.
#[test]
fn without_lists_free_frames_find_theirs() {
    let config = config(Kernel::V6_1, (0, 1));
    let mut original = Memory::new(&config);
    churn(&mut original, &mut Vec::new(), 20_000, 2, 3);
    let layout = original.layout();
    let mut bare = layout.clone();
    bare.zones.iter_mut().for_each(|z| z.lists.clear());
    let mut copy = Memory::new(&config);
    copy.set_layout(&bare).expect("lists need not be given");
    copy.check();
    let again = copy.layout();
    for ((z, a), b) in original.zones.ids().zip(&again.zones).zip(&layout.zones) {
        assert_eq!((&a.frames, &a.types), (&b.frames, &b.types));
        // Blocks are the same; that a few lay on lists of other types is not known.
        assert_eq!(copy.zones[z].free_blocks(), original.zones[z].free_blocks(), "{z}");
    }
}

/// Memory of programs is free afterwards.
#[test]
fn programs_have_ended() {
    let config = config(Kernel::V4_1, (0, 1));
    let mut layout = Memory::new(&config).layout();
    layout.zones[1].frames[4096..5096].fill(FrameUse::Program);
    layout.zones[1].lists.clear();
    let mut mem = Memory::new(&config);
    assert_eq!(mem.set_layout(&layout), Ok(Vec::new()));
    mem.check();
    assert_eq!(mem.zones.nr_free(), Memory::new(&config).zones.nr_free());
}

/// Every rule, broken by one change.
#[test]
fn what_cannot_be_is_refused() {
    let config = config(Kernel::V6_1, (0, 1));
    let fresh = || Memory::new(&config).layout();
    let refused = |change: &dyn Fn(&mut Layout)| {
        let (mut mem, mut layout) = (Memory::new(&config), fresh());
        change(&mut layout);
        let why = mem.set_layout(&layout).expect_err("refused");
        assert_eq!(mem.layout(), fresh(), "nothing was changed");
        why
    };
    let list = |order, pfns: &[u32]| FreeListLayout {
        cpu: None,
        order,
        migratetype: Migratetype::Movable,
        blocks: pfns.iter().map(|&p| Pfn(p)).collect(),
    };
    let says = |why: LayoutError, what: &str| {
        let why = why.to_string();
        assert!(why.contains(what), "{why}");
    };
    says(refused(&|l| l.zones.truncate(1)), "with 1 zones, this one has 2");
    says(refused(&|l| _ = l.zones[1].frames.pop()), "with 9299 frames from pfn4096");
    says(refused(&|l| l.zones[0].frames[3] = FrameUse::Free), "does not hold pfn3");
    says(refused(&|l| _ = l.zones[0].types.pop()), "7 types for 8 pageblocks");
    says(refused(&|l| l.zones[0].lists = vec![list(1, &[2049])]), "cannot begin at pfn2049");
    says(refused(&|l| l.zones[0].lists = vec![list(0, &[4096])]), "outside of the zone");
    says(refused(&|l| l.zones[0].lists = vec![list(0, &[3])]), "free list and not free");
    says(refused(&|l| l.zones[0].lists = vec![list(0, &[2049]), list(1, &[2048])]), "on two");
    says(refused(&|l| l.zones[0].lists = vec![list(0, &[2048, 2049])]), "free buddies of order 0");
    says(
        refused(&|l| {
            l.zones[0].frames[2048] = FrameUse::Held(Migratetype::Unmovable);
        }),
        "pfn2048 is on a free list and not free",
    );
}
