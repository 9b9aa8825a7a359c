//! What does it cost to compact all of a zone?
//!
//! - `scan`: 70 % of the frames are pinned, the others free, none can be moved: the scanner for
//!   sources looks at the whole zone in vain. Frames of the zone per second.
//! - `scan-by-bytes`: the same zone as a byte for each frame, looked at one by one, which is what the
//!   tests hold the scanner against (`look_at` in mmsim-compaction). It counts the same frames.
//! - `moves`: 10 % are pinned, 30 % free, 60 % pages of a process, at random: about a fifth of the
//!   frames moves, with everything that is true of a page (list, page table, reverse map).
//!
//! A run of 4.1 on request (`compact_memory`), which ignores what it knew, for zones of 16 and
//! 64 GiB. The zone is set up anew for each measured `moves`, which takes most of the time.

#![allow(missing_docs)] // criterion's macros.

#[path = "../tests/cells/mod.rs"]
mod cells;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mmsim_compaction::{CompactionConfig, TwoScanners};
use mmsim_core::base::id::{MemcgId, NodeId, PageIdx, Pfn, ZoneId};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::machine::config::{Kernel, ZoneKind};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FrameKind, flag};
use mmsim_core::phys::gfp::{AllocRequest, GFP_KERNEL};
use mmsim_core::phys::migratetype::Migratetype;
use mmsim_core::phys::zones::Mark;
use mmsim_core::policy::compaction::{CompactRequest, Compaction as _, Compactor, MigrateMode};
use mmsim_core::policy::{Arrival, ArrivalKind};
use mmsim_core::virt::space::VmaKind;
use mmsim_core::workload::{RegionId, VmaFlags};
use mmsim_lru::{Classic, ClassicConfig};

const ALL: CompactRequest = CompactRequest {
    zone: ZoneId(0),
    order: None,
    migratetype: Migratetype::Movable,
    highest: ZoneKind::Normal,
    flags: GFP_KERNEL,
    mark: Mark::Low,
    mode: MigrateMode::Sync,
    by: Compactor::Request,
    full: true,
};

struct Zone {
    mem: Memory,
    lru: Classic,
    compaction: TwoScanners,
}

impl Zone {
    /// A full zone of which so many of 100 frames become pages of a process, and free.
    fn new(frames: u32, pages: u64, free: u64) -> Self {
        let mut config = cells::machine_of(frames, 0, Kernel::V5_5);
        config.nodes[0].zones[0].pcp = Some((0, 1));
        let mut mem = Memory::new(&config);
        let mut lru = Classic::new(ClassicConfig::V5_5, &mut mem);
        let space = mem.spaces.create("bench".into(), MemcgId(0));
        let (kind, flags) = (VmaKind::Anon, VmaFlags::default());
        let vma = mem.spaces.mmap(&mut mem.pages, space, RegionId(0), frames, kind, flags, None);
        let base = mem.spaces.vma(vma).start.0;
        let mut rng = Rng::for_purpose(1, "bench/compaction");
        while mem.try_alloc(NodeId(0), &AllocRequest::USER, None).is_some() {}
        for p in 0..frames {
            let pfn = Pfn(p);
            match rng.below(100) {
                n if n < pages => {
                    mem.memcgs.charge(MemcgId(0), 1);
                    mem.frames.reset(pfn, FrameKind::Anon);
                    mem.frames.rmap[pfn] = u32::MAX;
                    mem.frames.set(pfn, flag::SWAPBACKED);
                    mem.map(PageIdx(base + p), pfn, 0);
                    let how = Arrival { kind: ArrivalKind::New, in_fault: None, position: 0 };
                    mem.lru_add(&mut lru, pfn, how);
                }
                n if n < pages + free => mem.free_frame(pfn),
                _ => mem.frames.reset(pfn, FrameKind::KernelOther),
            }
        }
        let compaction = TwoScanners::new(CompactionConfig::V4_1, &mem);
        Zone { mem, lru, compaction }
    }

    #[allow(clippy::disallowed_methods)] // A bench measures time.
    fn compact(&mut self) -> Duration {
        let begin = Instant::now();
        self.compaction.compact_zone(&mut self.mem, &mut self.lru, &ALL);
        begin.elapsed()
    }
}

/// A byte for each frame of a zone: 0 is behind the first of a free block, 1 a page that could be
/// taken, 2 one that could not, 16 and its order the first of a free block.
fn bytes(mem: &Memory) -> Vec<u8> {
    let of = |p| match mem.frames.free_head(Pfn(p)) {
        Some((order, _)) => 16 + order,
        None if mem.frames.kind(Pfn(p)) == FrameKind::Free => 0,
        None => 2 - u8::from(mem.frames.has(Pfn(p), flag::LRU)),
    };
    (0..mem.frames.len() as u32).map(of).collect()
}

/// Frames that the scanner for sources looks at, and pages that it could take: frame by frame, over
/// free blocks at once.
fn scan_by_bytes(zone: &[u8]) -> (u64, u64) {
    let (mut at, mut frames, mut pages) = (0, 0, 0);
    while at < zone.len() {
        let byte = zone[at];
        frames += 1;
        pages += u64::from(byte == 1);
        at += if byte >= 16 { 1 << (byte - 16) } else { 1 };
    }
    (frames, pages)
}

fn sweeps(c: &mut Criterion) {
    let mut group = c.benchmark_group("compaction");
    group.sample_size(10);
    for (name, frames) in [("2^22", 1u32 << 22), ("2^24", 1 << 24)] {
        group.throughput(Throughput::Elements(frames.into()));
        let mut zone = Zone::new(frames, 0, 30);
        group.bench_function(format!("scan/{name}"), |b| b.iter(|| zone.compact()));
        assert_eq!(zone.mem.vmstat[VmEvent::PgMigrateSuccess], 0);
        let before = zone.mem.vmstat[VmEvent::CompactMigrateScanned];
        zone.compact();
        let scanned = zone.mem.vmstat[VmEvent::CompactMigrateScanned] - before;
        let by_bytes = bytes(&zone.mem);
        drop(zone);
        assert_eq!(scan_by_bytes(&by_bytes), (scanned, 0));
        group.bench_function(format!("scan-by-bytes/{name}"), |b| {
            b.iter(|| scan_by_bytes(black_box(&by_bytes)));
        });
        group.bench_function(format!("moves/{name}"), |b| {
            b.iter_custom(|n| {
                let one = || {
                    let mut zone = Zone::new(frames, 60, 30);
                    let time = zone.compact();
                    let moved = zone.mem.vmstat[VmEvent::PgMigrateSuccess];
                    assert!((15..25).contains(&(moved * 100 / u64::from(frames))), "{moved}");
                    time
                };
                (0..n).map(|_| one()).sum()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, sweeps);
criterion_main!(benches);
