//! Cost of simulating a monitor.
//!
//! A thousand regions, looked at every 5 ms, with an aggregation every 100 ms: one simulated second
//! is 200 000 addresses that are drawn, marked old and looked at. Once through a page table
//! (`fvaddr`) and once through the reverse map (`paddr`), on a process that is idle meanwhile.
//! Regions are as many as may be, so none is merged or cut: with `adaptive` they are 1000 at most,
//! and are merged and cut all the time.
//!
//! Does it grow with what is monitored? The process has 1, 16, 128 or 256 GiB of pages. The number of
//! samples stays; what grows is how far apart they are in the host's memory.

#![allow(missing_docs)] // criterion's macros.

#[path = "../tests/machine/cells.rs"]
mod cells;

use std::ops::Range;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mmsim_core::base::id::{AsId, MemcgId, NodeId, PageIdx, Pfn};
use mmsim_core::base::rng::Rng;
use mmsim_core::config::Kernel;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, FrameKind, flag};
use mmsim_core::phys::gfp::AllocRequest;
use mmsim_core::policy::monitor::{Doors, Monitor as _, Next};
use mmsim_core::policy::{Arrival, ArrivalKind, ReclaimPolicy};
use mmsim_core::virt::space::VmaKind;
use mmsim_core::workload::{Advice, RegionId, VmaFlags};
use mmsim_damon::ranges::init_regions;
use mmsim_damon::{Context, DamonConfig, Kdamond, MonitoringAttrs, OpsId, Target, Watch};
use mmsim_lru::{Classic, ClassicConfig};

/// Sizes in GiB; where benches are only tried, the first.
const SIZES: [u32; 4] = [1, 16, 128, 256];

/// A process that has all frames, and its first page.
struct Room {
    mem: Memory,
    lru: Classic,
    base: u64,
    pages: u32,
}

impl Room {
    fn new(pages: u32) -> Self {
        let mut config = cells::machine_of(pages, 0, Kernel::V6_12);
        config.nodes[0].zones[0].pcp = Some((0, 1));
        let mut mem = Memory::new(&config);
        let mut lru = Classic::new(ClassicConfig::V6_12, &mut mem);
        let space = mem.virt.spaces.create("bench".into(), MemcgId(0));
        let (kind, flags) = (VmaKind::Anon, VmaFlags::default());
        let vma =
            mem.virt.spaces.mmap(&mut mem.virt.pages, space, RegionId(0), pages, kind, flags, None);
        let first = mem.virt.spaces.vma(vma).start.0;
        while mem.try_alloc(NodeId(0), &AllocRequest::USER, None).is_some() {}
        // Frames of neighbouring pages lie apart, as on a machine that has been up for long.
        for p in 0..pages {
            let pfn = Pfn(p.wrapping_mul(0x9e37_79b1) % pages);
            mem.memcgs.charge(MemcgId(0), 1);
            mem.frames.reset(pfn, FrameKind::Anon);
            mem.frames.rmap[pfn] = u32::MAX;
            mem.frames.set(pfn, flag::SWAPBACKED);
            mem.map(PageIdx(first + p), pfn, 0);
            let how = Arrival { kind: ArrivalKind::New, in_fault: None, position: 0 };
            mem.lru_add(&mut lru, pfn, how);
        }
        let base = mem.virt.spaces.mappings(&mem.virt.pages, space)[0].0;
        Room { mem, lru, base, pages }
    }
}

/// Nothing but looking.
impl Doors for Room {
    fn memory(&self) -> &Memory {
        &self.mem
    }
    fn parts(&mut self) -> (&mut Memory, &mut dyn ReclaimPolicy) {
        (&mut self.mem, &mut self.lru)
    }
    fn madvise(&mut self, _: AsId, _: Range<u64>, _: Advice) -> bool {
        unreachable!("no scheme")
    }
    fn reclaim_pages(&mut self, _: &[FolioId], _: bool) -> u64 {
        unreachable!("no scheme")
    }
    fn migrate_pages(&mut self, _: &[FolioId], _: NodeId) -> u64 {
        unreachable!("no scheme")
    }
    fn put_back(&mut self, _: &[FolioId]) -> u64 {
        unreachable!("no scheme")
    }
    fn some_us(&mut self) -> u64 {
        0
    }
}

fn kdamond(room: &Room, ops: OpsId, min_nr_regions: u32) -> Kdamond {
    let attrs = MonitoringAttrs { min_nr_regions, ..MonitoringAttrs::DEFAULT };
    let space = (ops != OpsId::Paddr).then_some(AsId(0));
    let first = if space.is_some() { room.base * 4096 } else { 0 };
    let whole = first..first + u64::from(room.pages) * 4096;
    let mut target = Target::new(space);
    init_regions(&mut target, std::slice::from_ref(&whole), &attrs);
    let mut context = Context::new(DamonConfig::V6_12, Rng::for_purpose(1, "bench/split"));
    context.set_attrs(attrs).expect("good attributes");
    context.set_targets(vec![target]).expect("it does not run");
    Kdamond::new(context, ops, Rng::for_purpose(1, "bench/sample"), Watch::new(false))
}

/// The samples of a simulated second.
fn second(room: &mut Room, k: &mut Kdamond) {
    for _ in 0..200 {
        match k.step(room) {
            Next::Sleep(until) => room.mem.acting.now = until,
            other => panic!("{other:?}"),
        }
    }
}

fn damon(c: &mut Criterion) {
    let mut g = c.benchmark_group("damon");
    g.sample_size(20);
    for gib in if cells::tried() { &SIZES[..1] } else { &SIZES[..] } {
        let mut room = Room::new(gib << 18);
        for (name, ops, min) in [
            ("fvaddr", OpsId::Fvaddr, 1000),
            ("paddr", OpsId::Paddr, 1000),
            ("paddr_adaptive", OpsId::Paddr, 10),
        ] {
            let mut k = kdamond(&room, ops, min);
            second(&mut room, &mut k);
            let regions = k.context().targets()[0].regions().len();
            assert_eq!(k.context().passed_samples(), 199, "the first step only marks");
            assert_eq!(regions == 1000, min == 1000, "{regions}");
            g.throughput(Throughput::Elements(200 * min.max(regions as u32) as u64));
            let name = format!("{name}/{gib}GiB");
            g.bench_function(name, |b| b.iter(|| second(&mut room, &mut k)));
        }
    }
    g.finish();
}

criterion_group!(benches, damon);
criterion_main!(benches);
