//! Two parts alone: the page allocator and a compaction strategy, without a machine.
//!
//! A zone of 64 MiB of which one page in 100 is pinned and four in ten belong to a program, all at
//! random. Each way of compaction goes over the whole zone once, as a write to `compact_memory`
//! asks for. How many blocks are available then, of how many that moving pages could make at most?

use mmsim::base::id::{ListId, MemcgId, NodeId, PageIdx, Pfn, ZoneId};
use mmsim::base::migratetype::Migratetype;
use mmsim::base::rng::Rng;
use mmsim::base::time::SimDuration;
use mmsim::base::vmstat::VmEvent;
use mmsim::config::{Kernel, MachineConfig, ZoneConfig, ZoneKind};
use mmsim::memory::Memory;
use mmsim::phys::fragmentation::FreeBlocks;
use mmsim::phys::frames::{FolioId, FrameKind, flag};
use mmsim::phys::gfp::{AllocRequest, GFP_KERNEL};
use mmsim::phys::watermarks::Mark;
use mmsim::policy::compaction::{CompactRequest, Compaction as _, Compactor, MigrateMode};
use mmsim::policy::{Arrival, ArrivalKind, Departure, Inspect};
use mmsim::policy::{ReclaimOutcome, ReclaimPolicy, ReclaimRequest};
use mmsim::virt::space::VmaKind;
use mmsim::workload::{RegionId, VmaFlags};
use mmsim_compaction::{CompactionConfig, TwoScanners};

const FRAMES: u32 = 1 << 14;
const ZONE: ZoneId = ZoneId(0);

/// All folios on one list; nothing is ever reclaimed.
struct OneList(ListId);

impl Inspect for OneList {}

impl ReclaimPolicy for OneList {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, _how: Arrival) {
        mem.lru_add_head(self.0, folio);
    }
    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        mem.lru_del(folio);
    }
    fn reclaim(&mut self, _mem: &mut Memory, _req: &ReclaimRequest) -> ReclaimOutcome {
        ReclaimOutcome::default()
    }
}

/// The zone, and the list that its movable pages are on.
fn fragmented() -> (Memory, OneList) {
    let zone = ZoneConfig::new(ZoneKind::Normal, FRAMES).bare([16, 20, 24]);
    let mut mem = Memory::new(&MachineConfig {
        lru_batch: Some(1),
        run_ahead: SimDuration::ZERO,
        ..MachineConfig::new(Kernel::V4_1, vec![zone])
    });
    let mut lru = OneList(mem.lru.lists.create());
    let space = mem.virt.spaces.create("program".into(), MemcgId(0));
    let (kind, flags) = (VmaKind::Anon, VmaFlags::default());
    let vma =
        mem.virt.spaces.mmap(&mut mem.virt.pages, space, RegionId(0), FRAMES, kind, flags, None);
    let base = mem.virt.spaces.vma(vma).start.0;
    while mem.try_alloc(NodeId(0), &AllocRequest::USER, None).is_some() {}
    let mut rng = Rng::for_purpose(1, "example/compaction");
    for p in 0..FRAMES {
        let pfn = Pfn(p);
        match rng.below(100) {
            0 => mem.frames.reset(pfn, FrameKind::KernelOther),
            1..=40 => {
                mem.memcgs.charge(MemcgId(0), 1);
                mem.frames.reset(pfn, FrameKind::Anon);
                mem.frames.rmap[pfn] = u32::MAX;
                mem.frames.set(pfn, flag::SWAPBACKED);
                mem.map(PageIdx(base + p), pfn, 0);
                let how = Arrival { kind: ArrivalKind::New, in_fault: None, position: 0 };
                mem.lru_add(&mut lru, pfn, how);
            }
            _ => mem.free_frame(pfn),
        }
    }
    (mem, lru)
}

pub(crate) fn table() -> String {
    let mut text = String::from("compaction    moved   blocks of order 3, 5, 7\n");
    let mut line = |name: &str, moved: u64, blocks: [u64; 3]| {
        text +=
            &format!("{name:10}  {moved:7}   {:5} {:5} {:5}\n", blocks[0], blocks[1], blocks[2]);
    };
    let ready = |mem: &Memory| {
        let free = mem.zones[ZONE].free_blocks();
        [3, 5, 7].map(|order| FreeBlocks { nr: &free }.suitable(order))
    };
    line("none", 0, ready(&fragmented().0));
    for (name, rules) in [
        ("4.1", CompactionConfig::V4_1),
        ("nonmovable", CompactionConfig::V1_NONMOVABLE),
        ("redesign", CompactionConfig::V1_REDESIGN),
    ] {
        let (mut mem, mut lru) = fragmented();
        let mut strategy = TwoScanners::new(rules, &mem);
        let request = CompactRequest {
            zone: ZONE,
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
        strategy.compact_zone(&mut mem, &mut lru, &request);
        line(name, mem.stats.vmstat[VmEvent::PgMigrateSuccess], ready(&mem));
    }
    let (mem, _) = fragmented();
    line("at most", 0, [3, 5, 7].map(|order| mem.survey_zone(ZONE, order).bound));
    text
}

#[allow(dead_code, clippy::print_stdout, reason = "a program, and a module of its test")]
fn main() {
    print!("{}", table());
}
