//! Two groups that read one file, and a chooser in each whose calls are written down.

use crate::harness::memory::small_machine;
use mmsim_core::base::id::{FileId, Idx as _, MemcgId, NodeId, PageIdx};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{MemcgConfig, ZoneKind};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::FolioId;
use mmsim_core::phys::gfp::AllocRequest;
use mmsim_core::policy::chooser::{
    ChooserCounts, ChooserResult, EvictAsk, FileChooser, FileFolioEvent, FileFolioRecord, Uncovered,
};
use mmsim_core::policy::{
    Arrival, ArrivalKind, Inspect as _, ReclaimOutcome, ReclaimPolicy as _, ReclaimRequest,
    Reclaimer,
};
use mmsim_lru::{Classic, ClassicConfig};
use std::sync::{Arc, Mutex};

/// Pages of the file of each group.
pub(super) const PAGES: u32 = 4096;

/// A call of a chooser: the pages that it wanted, and those that came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Call {
    pub(super) wanted: u32,
    pub(super) offered: Vec<u32>,
}

pub(super) type Calls = Arc<Mutex<Vec<Call>>>;

/// A chooser whose calls are written down.
pub(super) struct Written {
    pub(super) of: Box<dyn FileChooser>,
    pub(super) calls: Calls,
}

impl FileChooser for Written {
    fn name(&self) -> &str {
        self.of.name()
    }
    fn told(&mut self, mem: &Memory, records: &[FileFolioRecord]) -> Result<(), Uncovered> {
        self.of.told(mem, records)
    }
    fn choose(
        &mut self,
        mem: &Memory,
        ask: &EvictAsk,
        offered: &mut Vec<FolioId>,
    ) -> Result<(), Uncovered> {
        self.of.choose(mem, ask, offered)?;
        let base = mem.cache.files[FileId(0)].base.0;
        let in_file = |&f: &FolioId| match f.index() < mem.frames.len() {
            true => mem.frames.rmap[f].wrapping_sub(base),
            false => u32::MAX,
        };
        let offered = offered.iter().map(in_file).collect();
        self.calls.lock().unwrap().push(Call { wanted: ask.wanted, offered });
        Ok(())
    }
}

/// Offers what a script says, and notes the folios that leave.
#[derive(Default)]
pub(super) struct Scripted {
    pub(super) offers: Vec<Vec<FolioId>>,
    pub(super) left: Arc<Mutex<Vec<FolioId>>>,
}

impl FileChooser for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }
    fn told(&mut self, _: &Memory, records: &[FileFolioRecord]) -> Result<(), Uncovered> {
        let left = records.iter().filter(|r| r.what == FileFolioEvent::Evicted);
        self.left.lock().unwrap().extend(left.map(|r| r.folio));
        Ok(())
    }
    fn choose(
        &mut self,
        _: &Memory,
        _: &EvictAsk,
        offered: &mut Vec<FolioId>,
    ) -> Result<(), Uncovered> {
        if !self.offers.is_empty() {
            offered.extend(self.offers.remove(0));
        }
        Ok(())
    }
}

pub(super) struct Rig {
    pub(super) mem: Memory,
    pub(super) lru: Classic,
    file: FileId,
}

impl Rig {
    pub(super) fn new() -> Rig {
        let mut machine = small_machine(16_384, 0, 0);
        machine.memcgs = vec![MemcgConfig::new("a"), MemcgConfig::new("b")];
        let mut mem = Memory::new(&machine);
        let lru = Classic::new(ClassicConfig::V6_6, &mut mem);
        let file = mem.open_file("tree", 2 * PAGES);
        Rig { mem, lru, file }
    }

    /// Gives a group a chooser, and writes its calls down.
    pub(super) fn attach(&mut self, memcg: MemcgId, of: Box<dyn FileChooser>) -> Calls {
        let calls = Calls::default();
        let written = Written { of, calls: Arc::clone(&calls) };
        assert!(self.lru.attach_chooser(&mut self.mem, memcg, Box::new(written)));
        calls
    }

    fn place(&self, page: u32) -> PageIdx {
        PageIdx(self.mem.cache.files[self.file].base.0 + page)
    }

    pub(super) fn folio(&self, page: u32) -> Option<FolioId> {
        self.mem.file_folio_at(self.place(page))
    }

    /// A read by a thread of the group. True: the page was cached.
    pub(super) fn read(&mut self, memcg: MemcgId, page: u32) -> bool {
        self.mem.acting.now.0 += 1000;
        let cached = self.folio(page);
        if cached.is_none() {
            let frame = self.mem.try_alloc(NodeId(0), &AllocRequest::USER, None).expect("a frame");
            self.mem.memcgs.charge(memcg, 1);
            self.mem.frames.set_memcg(frame, memcg);
            let how = Arrival { kind: ArrivalKind::Read, in_fault: None, position: 0 };
            let at = self.place(page);
            self.mem.add_to_page_cache(&mut self.lru, at, frame, how);
        }
        let folio = self.folio(page).expect("it was read");
        self.mem.mark_accessed(&mut self.lru, folio);
        cached.is_some()
    }

    pub(super) fn dirty(&mut self, page: u32) {
        let (folio, at) = (self.folio(page).expect("it is cached"), self.place(page));
        self.mem.dirty_folio(folio, Some(at));
    }

    pub(super) fn usage(&self, memcg: MemcgId) -> u64 {
        self.mem.memcgs[memcg].usage
    }

    /// A pass over a group at a priority, in steps.
    pub(super) fn pass(&mut self, memcg: MemcgId, priority: u8) -> ReclaimOutcome {
        let by = Reclaimer::Limit(memcg);
        let direct = ReclaimRequest::direct(NodeId(0), ZoneKind::Movable);
        let req = ReclaimRequest { by, priority, ..direct };
        let mut all = ReclaimOutcome::default();
        loop {
            let out = self.lru.reclaim(&mut self.mem, &req);
            all.add(&out);
            if !out.more {
                return all;
            }
        }
    }

    /// Reclaim for the limit of a group: passes of falling priority until 32 pages are free.
    pub(super) fn reclaim(&mut self, memcg: MemcgId) -> u64 {
        let mut freed = 0;
        for priority in (0..=12).rev() {
            freed += self.pass(memcg, priority).reclaimed;
            if freed >= 32 {
                break;
            }
        }
        self.lru.reclaim_ended(&mut self.mem, NodeId(0), Some(memcg));
        freed
    }

    pub(super) fn counts(&self, memcg: MemcgId) -> ChooserCounts {
        self.result(memcg).counts
    }

    pub(super) fn result(&self, memcg: MemcgId) -> ChooserResult {
        let name = &self.mem.memcgs[memcg].config.name;
        let all = self.lru.choosers(&self.mem);
        all.into_iter().find(|r| r.group == *name).expect("the group has a chooser")
    }

    pub(super) fn count(&self, e: VmEvent) -> u64 {
        self.mem.stats.vmstat[e]
    }

    /// Counts of a group for its limit.
    pub(super) fn group_count(&self, memcg: MemcgId, e: VmEvent) -> u64 {
        self.mem.memcgs.vmstat(memcg)[e]
    }

    pub(super) fn check(&self) {
        self.mem.check();
        self.lru.check(&self.mem);
    }

    pub(super) fn pages_of(memcg: MemcgId) -> std::ops::Range<u32> {
        let first = (memcg.index() as u32 - 1) * PAGES;
        first..first + PAGES
    }
}
