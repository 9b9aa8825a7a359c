//! A zone drawn as a map, on a real memory, with compaction and requests for blocks.
//!
//! One character a frame, blanks between pageblocks of eight as one likes: `m` a page that can be
//! moved, `r` one of a file on ramfs, `P` one that cannot, `.` free. Types of pageblocks are a string
//! of their own. Watermarks are 0, there are no per-CPU lists, and LRU batches hold one page, unless
//! said otherwise.

use crate::lists::{Fifo, fault_in, mapping};
use mmsim_compaction::{CompactionConfig, TwoScanners};
use mmsim_core::base::compact_result::CompactResult;
use mmsim_core::base::id::{MemcgId, NodeId, PageIdx, Pfn, VmaId, ZoneId};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::time::SimDuration;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{Kernel, MachineConfig, ZoneConfig, ZoneKind};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FrameKind, flag};
use mmsim_core::phys::gfp::{AllocFlags, AllocRequest, GFP_KERNEL};
use mmsim_core::phys::watermarks::Mark;
use mmsim_core::policy::compaction::{
    CompactOutcome, CompactRequest, Compaction as _, Compactor, MigrateMode,
};
use mmsim_core::policy::{Arrival, ArrivalKind};

pub(crate) const Z: ZoneId = ZoneId(0);
/// Frames of a pageblock.
pub(crate) const BLOCK: u32 = 8;

/// Small batches, as in the worked examples.
pub(crate) fn small(rules: CompactionConfig) -> CompactionConfig {
    CompactionConfig { cluster_max: 4, ..rules }
}

/// Differences from the machine of the worked examples.
#[derive(Clone, Copy)]
pub(crate) struct Bench {
    pub(crate) kernel: Kernel,
    pub(crate) alloc: KernelRules,
    pub(crate) marks: [u32; 3],
    /// Pages of an LRU batch.
    pub(crate) batch: u32,
    /// Most pages of a CPU's lists, and of a refill.
    pub(crate) pcp: (u32, u32),
}

impl Bench {
    pub(crate) const V4_1: Bench = Bench {
        kernel: Kernel::V4_1,
        alloc: KernelRules { pageblock_order: 3, max_order: 3, ..KernelRules::of(Kernel::V4_1) },
        marks: [0; 3],
        batch: 1,
        pcp: (0, 1),
    };
    pub(crate) const V6_12: Bench = Bench {
        kernel: Kernel::V6_12,
        alloc: KernelRules { pageblock_order: 3, max_order: 3, ..KernelRules::of(Kernel::V6_12) },
        marks: [0; 3],
        batch: 1,
        pcp: (0, 1),
    };
}

pub(crate) struct Rig {
    pub(crate) mem: Memory,
    pub(crate) lru: Fifo,
    pub(crate) compaction: TwoScanners,
    anon: VmaId,
    /// Blocks that requests got.
    pub(crate) got: Vec<Pfn>,
}

fn type_of(c: char) -> Migratetype {
    match c {
        'M' => Migratetype::Movable,
        'U' => Migratetype::Unmovable,
        'R' => Migratetype::Reclaimable,
        c => panic!("no type of a pageblock: {c}"),
    }
}

impl Rig {
    /// A zone of the examples: `"MU"`, `"mP..mPmP PP......"`.
    pub(crate) fn new(rules: CompactionConfig, types: &str, map: &str) -> Rig {
        Rig::on(Bench::V4_1, small(rules), types, map)
    }

    pub(crate) fn on(bench: Bench, rules: CompactionConfig, types: &str, map: &str) -> Rig {
        let map: Vec<char> = map.chars().filter(|c| !c.is_whitespace()).collect();
        let frames = map.len() as u32;
        let block = 1u32 << bench.alloc.pageblock_order;
        assert_eq!(frames.div_ceil(block) as usize, types.len(), "types of all pageblocks");
        let zone = ZoneConfig {
            pcp: Some(bench.pcp),
            ..ZoneConfig::new(ZoneKind::Normal, frames).bare([0; 3])
        };
        let mut mem = Memory::new(&MachineConfig {
            rules: Some(bench.alloc),
            cpus: 2,
            lru_batch: Some(bench.batch),
            run_ahead: SimDuration::ZERO,
            ..MachineConfig::new(bench.kernel, vec![zone])
        });
        let (mut lru, anon) = (Fifo::new(&mut mem), mapping(&mut mem, frames));
        let base = mem.virt.spaces.vma(anon).start.0;
        while mem.try_alloc(NodeId(0), &AllocRequest::USER, None).is_some() {}
        for (block, c) in (0..).step_by(block as usize).zip(types.chars()) {
            mem.zones[Z].set_pageblock_type(Pfn(block), type_of(c));
        }
        for (p, &c) in (0..).zip(&map) {
            let pfn = Pfn(p);
            match c {
                'P' => mem.frames.reset(pfn, FrameKind::KernelOther),
                '.' => mem.free_frame(pfn),
                'm' => {
                    fault_in(&mut mem, &mut lru, MemcgId(0), (PageIdx(base + p), pfn, 0));
                }
                'r' => {
                    let file = mem.open_file("init", 64);
                    mem.cache.files[file].ramfs = true;
                    mem.memcgs.charge(MemcgId(0), 1);
                    let page = PageIdx(mem.cache.files[file].base.0 + p);
                    let how = Arrival { kind: ArrivalKind::Read, in_fault: None, position: 0 };
                    mem.add_to_page_cache(&mut lru, page, pfn, how);
                }
                c => panic!("no frame: {c}"),
            }
        }
        mem.lru_drain(&mut lru);
        mem.drain_pcp();
        mem.zones[Z].watermark = bench.marks.map(u64::from);
        mem.stats.vmstat = Default::default();
        let compaction = TwoScanners::new(rules, &mem);
        let rig = Rig { mem, lru, compaction, anon, got: Vec::new() };
        rig.mem.check();
        rig
    }

    fn char_of(&self, p: u32) -> char {
        if self.mem.zones[Z].buddy().block_at(&self.mem.frames, Pfn(p)).is_some() {
            '.'
        } else if self.mem.frames.has(Pfn(p), flag::LRU) {
            'm'
        } else {
            'P'
        }
    }

    /// The zone as a map: `M` and `U`, an `s` where the skip bit is set, the frames.
    pub(crate) fn map(&self) -> String {
        let skip = self.compaction.zone(Z).skip;
        let blocks = self.mem.zones[Z].buddy().pageblocks();
        let end = self.mem.zones[Z].end().0;
        let drawn = blocks.zip(skip).map(|((pfn, mt), skip)| {
            let frames = (pfn.0..(pfn.0 + BLOCK).min(end)).map(|p| self.char_of(p));
            let s = if skip { "s" } else { "" };
            format!("{}{s} {}", &mt.name()[..1], frames.collect::<String>())
        });
        drawn.collect::<Vec<_>>().join(" | ")
    }

    /// The frames that are drawn as this.
    pub(crate) fn frames_of(&self, c: char) -> Vec<u32> {
        (0..self.mem.zones[Z].end().0).filter(|&p| self.char_of(p) == c).collect()
    }

    /// The page that was in a frame at the start goes.
    pub(crate) fn unmap(&mut self, id: u32) {
        let page = PageIdx(self.mem.virt.spaces.vma(self.anon).start.0 + id);
        self.mem.zap_pages(&mut self.lru, page, 1, self.anon);
    }

    /// Sets bits of the entry of a page that the map began with.
    pub(crate) fn mark(&mut self, id: u32, bits: u8) {
        let page = PageIdx(self.mem.virt.spaces.vma(self.anon).start.0 + id);
        if let mmsim_core::virt::pages::Entry::Frame(f) = self.mem.virt.pages.entry(page) {
            self.mem.virt.pages.set_frame(page, f, bits);
        }
    }

    /// Where each page is that the map began with, by the frame that it was in then.
    pub(crate) fn whereabouts(&self) -> Vec<(u32, u32)> {
        let base = self.mem.virt.spaces.vma(self.anon).start.0;
        let frames = self.mem.zones[Z].end().0;
        let at = |p| match self.mem.virt.pages.entry(PageIdx(base + p)) {
            mmsim_core::virt::pages::Entry::Frame(f) => Some((p, f.0)),
            _ => None,
        };
        (0..frames).filter_map(at).collect()
    }

    /// The pages that moved since an earlier look: from and to, by where they went.
    pub(crate) fn moves_since(&self, before: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let now = self.whereabouts();
        let pairs = before.iter().zip(&now).map(|(b, n)| (b.1, n.1));
        pairs.filter(|(from, to)| from != to).collect()
    }

    pub(crate) fn n(&self, e: VmEvent) -> u64 {
        self.mem.stats.vmstat[e]
    }

    /// Migrate scanned, free scanned, isolated, moved.
    pub(crate) fn counts(&self) -> [u64; 4] {
        [
            VmEvent::CompactMigrateScanned,
            VmEvent::CompactFreeScanned,
            VmEvent::CompactIsolated,
            VmEvent::PgMigrateSuccess,
        ]
        .map(|e| self.n(e))
    }

    pub(crate) fn run_request(order: Option<u8>, mode: MigrateMode) -> CompactRequest {
        CompactRequest {
            zone: Z,
            order,
            captures: order,
            migratetype: Migratetype::Unmovable,
            highest: ZoneKind::Normal,
            flags: GFP_KERNEL,
            mark: Mark::Low,
            mode,
            by: if order.is_some() { Compactor::Direct } else { Compactor::Request },
            full: order.is_none(),
        }
    }

    /// One run, audited.
    pub(crate) fn run(&mut self, req: &CompactRequest) -> CompactResult {
        self.run_to_its_end(req).result
    }

    /// One run, audited, with all that it says.
    pub(crate) fn run_to_its_end(&mut self, req: &CompactRequest) -> CompactOutcome {
        let outcome = self.compaction.compact_zone(&mut self.mem, &mut self.lru, req);
        self.mem.check();
        self.compaction.check(&self.mem);
        outcome
    }

    fn try_alloc(&mut self, order: u8, mark: Mark) -> Option<Pfn> {
        let req = AllocRequest {
            order,
            migratetype: Migratetype::Unmovable,
            highest: ZoneKind::Normal,
            flags: GFP_KERNEL,
        };
        let got = self.mem.try_alloc(NodeId(0), &req, Some(mark))?;
        self.got.push(got);
        Some(got)
    }

    /// A request for an unmovable block as Linux 4.1 handles it, with runs of these modes and no
    /// reclaim. Returns the block, and how each run ended; `None` there: it was put off.
    pub(crate) fn request(
        &mut self,
        order: u8,
        modes: &[MigrateMode],
    ) -> (Option<Pfn>, Vec<CompactResult>) {
        let mut ended = Vec::new();
        let got = self.try_alloc(order, Mark::Low).or_else(|| {
            modes.iter().find_map(|&mode| {
                if self.compaction.deferred(Z, order) {
                    ended.push(CompactResult::Deferred);
                    return None;
                }
                let result = self.run(&Rig::run_request(Some(order), mode));
                ended.push(result);
                let z = &self.mem.zones[Z];
                let low = z.watermark[Mark::Low as usize];
                if z.leaves(order, low, ZoneKind::Normal, AllocFlags::default(), z.free) {
                    self.compaction.note_success(Z, order, false);
                } else if mode != MigrateMode::Async && result == CompactResult::Complete {
                    self.compaction.note_failure(Z, order);
                }
                if result == CompactResult::Skipped {
                    return None;
                }
                self.mem.count(VmEvent::CompactStall, 1);
                let got = self.try_alloc(order, Mark::Min);
                if got.is_some() {
                    self.compaction.note_success(Z, order, true);
                    self.mem.count(VmEvent::CompactSuccess, 1);
                } else {
                    self.mem.count(VmEvent::CompactFail, 1);
                }
                got
            })
        });
        (got, ended)
    }

    /// Skip bits, cached positions: asynchronous and other sources, targets.
    pub(crate) fn cached(&self) -> [u32; 3] {
        let z = self.compaction.zone(Z);
        [z.cached_migrate[0], z.cached_migrate[1], z.cached_free]
    }
}
