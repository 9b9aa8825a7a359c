//! One list as a policy, and anonymous pages on it. The tests of mmsim-compaction include this file
//! too.

use mmsim_core::base::id::{ListId, MemcgId, PageIdx, Pfn, VmaId};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, FrameKind, flag};
use mmsim_core::policy::{
    Arrival, ArrivalKind, Departure, Inspect, Move, ReclaimOutcome, ReclaimPolicy, ReclaimRequest,
};
use mmsim_core::virt::space::VmaKind;
use mmsim_core::workload::{RegionId, VmaFlags};

/// One list; remembers how folios arrived, and reclaims nothing.
pub(crate) struct Fifo {
    list: ListId,
    pub(crate) arrived: Vec<(FolioId, ArrivalKind)>,
}

impl Fifo {
    pub(crate) fn new(mem: &mut Memory) -> Fifo {
        Fifo { list: mem.lru.lists.create(), arrived: Vec::new() }
    }
}

impl Inspect for Fifo {}

impl ReclaimPolicy for Fifo {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival) {
        self.arrived.push((folio, how.kind));
        mem.lru_add_head(self.list, folio);
    }
    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        mem.lru_del(folio);
    }
    fn folios_move(&mut self, mem: &mut Memory, folios: &[FolioId], why: Move) {
        for &folio in folios.iter().filter(|_| why == Move::Activated) {
            mem.frames.set(folio, flag::ACTIVE);
        }
    }
    fn reclaim(&mut self, _mem: &mut Memory, _req: &ReclaimRequest) -> ReclaimOutcome {
        ReclaimOutcome::default()
    }
}

/// An anonymous mapping of a new process.
pub(crate) fn mapping(mem: &mut Memory, pages: u32) -> VmaId {
    let space = mem.virt.spaces.create("process".into(), MemcgId(0));
    let (kind, flags) = (VmaKind::Anon, VmaFlags::default());
    let table = &mut mem.virt.pages;
    mem.virt.spaces.mmap(table, space, RegionId(0), pages, kind, flags, None)
}

/// Makes an allocated frame the anonymous page of a process in `group`, as a fault does.
pub(crate) fn fault_in(
    mem: &mut Memory,
    lru: &mut Fifo,
    group: MemcgId,
    (page, pfn, bits): (PageIdx, Pfn, u8),
) {
    mem.memcgs.charge(group, 1);
    mem.frames.set_memcg(pfn, group);
    mem.frames.reset(pfn, FrameKind::Anon);
    mem.frames.rmap[pfn] = u32::MAX;
    mem.frames.set(pfn, flag::SWAPBACKED);
    mem.map(page, pfn, bits);
    let how = Arrival { kind: ArrivalKind::New, in_fault: None, position: 0 };
    mem.lru_add(lru, pfn, how);
}
