//! A zone that is full of frames of a kind, and the plainest way to look at it: a byte for each
//! frame. The times with one are compared with those of the other.

#![allow(dead_code)] // Each of them uses a part.

use mmsim_compaction::{CompactionConfig, TwoScanners};
use mmsim_core::base::id::{MemcgId, NodeId, PageIdx, Pfn, ZoneId};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::rules::KernelRules;
use mmsim_core::config::{Kernel, ZoneKind};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FrameKind, flag};
use mmsim_core::phys::gfp::{AllocRequest, GFP_KERNEL};
use mmsim_core::phys::watermarks::Mark;
use mmsim_core::policy::compaction::{CompactRequest, Compaction as _, Compactor, MigrateMode};
use mmsim_core::policy::{Arrival, ArrivalKind};
use mmsim_core::virt::space::VmaKind;
use mmsim_core::workload::{RegionId, VmaFlags};
use mmsim_lru::{Classic, ClassicConfig};

/// A run on request, over all of the zone.
const ALL: CompactRequest = CompactRequest {
    zone: ZoneId(0),
    order: None,
    captures: None,
    migratetype: Migratetype::Movable,
    highest: ZoneKind::Normal,
    flags: GFP_KERNEL,
    mark: Mark::Low,
    mode: MigrateMode::Sync,
    by: Compactor::Request,
    full: true,
};

/// A zone and what compacts it.
pub(crate) struct Zone {
    pub(crate) mem: Memory,
    lru: Classic,
    compaction: TwoScanners,
}

impl Zone {
    /// A full zone of which `pages` of 100 frames become pages of a process, and `free` of 100 are
    /// free.
    pub(crate) fn new(frames: u32, pages: u64, free: u64, seed: u64) -> Self {
        let mut config = crate::cells::machine_of(frames, 0, Kernel::V5_5);
        config.nodes[0].zones[0].pcp = Some((0, 1));
        let mut mem = Memory::new(&config);
        let mut lru = Classic::new(ClassicConfig::V5_5, &mut mem);
        let space = mem.virt.spaces.create("bench".into(), MemcgId(0));
        let (kind, flags) = (VmaKind::Anon, VmaFlags::default());
        let vma = mem.virt.spaces.mmap(
            &mut mem.virt.pages,
            space,
            RegionId(0),
            frames,
            kind,
            flags,
            None,
        );
        let base = mem.virt.spaces.vma(vma).start.0;
        let mut rng = Rng::for_purpose(seed, "bench/compaction");
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

    /// Puts the pages of LRU batches on their lists.
    pub(crate) fn drain(&mut self) {
        self.mem.lru_drain(&mut self.lru);
    }

    /// Compacts all of it, as `compact_memory` of 4.1.
    pub(crate) fn compact(&mut self) {
        self.compaction.compact_zone(&mut self.mem, &mut self.lru, &ALL);
    }
}

/// A byte for each frame of a zone: 0 is behind the first of a free block, 1 a page that could be
/// taken, 2 one that could not, 16 and its order the first of a free block.
pub(crate) fn bytes(mem: &Memory) -> Vec<u8> {
    let of = |p| match mem.frames.free_head(Pfn(p)) {
        Some((order, _)) => 16 + order,
        None if mem.frames.kind(Pfn(p)) == FrameKind::Free => 0,
        None => 2 - u8::from(mem.frames.has(Pfn(p), flag::LRU)),
    };
    (0..mem.frames.len() as u32).map(of).collect()
}

/// Frames that the scanner for sources looks at, and pages that it could take: pageblock by pageblock,
/// frame by frame, over free blocks at once. Of a block that is larger than a pageblock it sees no
/// head in the second one.
pub(crate) fn scan_by_bytes(zone: &[u8]) -> (u64, u64) {
    let (mut frames, mut pages) = (0, 0);
    for block in zone.chunks(1 << KernelRules::of(Kernel::V4_1).pageblock_order) {
        let mut at = 0;
        while at < block.len() {
            let byte = block[at];
            frames += 1;
            pages += u64::from(byte == 1);
            at += if byte >= 16 { 1 << (byte - 16) } else { 1 };
        }
    }
    (frames, pages)
}
