//! A bench for the real policy: a small memory, no machine around it.
//!
//! One zone, LRU batches of one page, a synchronous swap device, one process. The bench does the
//! same as the fault path, by the same doors and in the same order, and calls the policy on
//! command; there are no watermarks, no clock and no kswapd to interfere. Pages are named by small
//! numbers: page `id` is the id-th page of the anonymous region or of the file.

use mmsim_core::backing::Shadow;
use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::backing::swap::Cached;
use mmsim_core::base::id::{
    AsId, CpuId, FileId, ListId, MemcgId, NodeId, PageIdx, Pfn, VmaId, ZoneId,
};
use mmsim_core::base::time::SimDuration;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::cost::CostModel;
use mmsim_core::config::{Kernel, MachineConfig, SwapConfig, ZoneConfig, ZoneKind};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, FrameKind, Mapped, flag};
use mmsim_core::phys::gfp::AllocRequest;
use mmsim_core::policy::{
    Access, Arrival, ArrivalKind, Inspect as _, ReclaimOutcome, ReclaimPolicy, ReclaimRequest,
    Reclaimer,
};
use mmsim_core::virt::pages::{Entry, pte};
use mmsim_core::virt::space::VmaKind;
use mmsim_core::workload::{RegionId, VmaFlags};
use mmsim_lru::{Classic, ClassicConfig};

/// Pages of each region and of the file.
const REGION: u32 = 4096;
/// The swap cache's map and page tables are not what is tested: enough frames for all.
const FRAMES: u32 = 8192;

/// A RAM disk without cost: reads and writes are done when the call returns.
pub(crate) fn instant_device() -> DeviceConfig {
    DeviceConfig {
        name: "instant".into(),
        read: SimDuration::ZERO,
        write: SimDuration::ZERO,
        servers: 1,
        bandwidth: None,
        write_bandwidth: None,
        synchronous: true,
        rotational: false,
        stored_bytes_per_page: 0,
        mem_limit: 0,
        queue_depth: 1,
        wbt_lat: SimDuration::ZERO,
        write_cache: false,
        max_sectors_kb: 0,
    }
}

/// One zone of `frames` without per-CPU lists, LRU batches of one page, instant devices.
pub(crate) fn small_machine(frames: u32, slots: u32, batch_shift: u32) -> MachineConfig {
    let zone = ZoneConfig::new(ZoneKind::Normal, frames).bare([8, 10, 12]);
    MachineConfig {
        swap: (slots > 0).then(|| SwapConfig::new(slots, instant_device())).into_iter().collect(),
        file_device: instant_device(),
        lru_batch: Some(1),
        stat_threshold: Some(0),
        batch_shift,
        run_ahead: SimDuration::ZERO,
        // Between two accesses a thread uses up a slice, so that kswapd gets its turn whenever it
        // is woken: the scripts are far shorter than a slice otherwise.
        cost: CostModel {
            t_hit: SimDuration::from_millis(1),
            t_read_cached: SimDuration::from_millis(1),
            ..CostModel::measured()
        },
        ..MachineConfig::new(Kernel::V6_12, vec![zone])
    }
}

pub(crate) struct Bench {
    pub(crate) mem: Memory,
    pub(crate) lru: Classic,
    pub(crate) space: AsId,
    file: FileId,
    anon: VmaId,
    /// The file, mapped as data and as program text.
    data: VmaId,
    text: VmaId,
}

impl Bench {
    pub(crate) fn new(config: ClassicConfig, slots: u32, batch_shift: u32) -> Bench {
        Bench::on(&small_machine(FRAMES, slots, batch_shift), config)
    }

    /// On a machine of whatever zones.
    pub(crate) fn on(machine: &MachineConfig, config: ClassicConfig) -> Bench {
        let mut mem = Memory::new(machine);
        let lru = Classic::new(config, &mut mem);
        let space = mem.virt.spaces.create("bench".into(), MemcgId(0));
        let file = mem.open_file("bench", REGION);
        let mut map = |region: u16, kind, exec| {
            let flags = VmaFlags { exec, ..VmaFlags::default() };
            mem.virt.spaces.mmap(
                &mut mem.virt.pages,
                space,
                RegionId(region),
                REGION,
                kind,
                flags,
                None,
            )
        };
        let of_file = VmaKind::File { file, offset: 0, shared: true };
        let anon = map(0, VmaKind::Anon, false);
        let data = map(1, of_file, false);
        let text = map(2, of_file, true);
        Bench { mem, lru, space, file, anon, data, text }
    }

    fn in_vma(&self, vma: VmaId, id: u32) -> PageIdx {
        assert!(id < REGION);
        PageIdx(self.mem.virt.spaces.vma(vma).start.0 + id)
    }
    fn in_file(&self, id: u32) -> PageIdx {
        PageIdx(self.mem.cache.files[self.file].base.0 + id)
    }

    /// The place of a page: in the anonymous region, or in the file.
    pub(crate) fn place(&self, id: u32, file: bool) -> PageIdx {
        if file { self.in_file(id) } else { self.in_vma(self.anon, id) }
    }

    fn frame(&mut self) -> Pfn {
        let pfn = self.mem.try_alloc(NodeId(0), &AllocRequest::USER, None).expect("a free frame");
        self.mem.memcgs.charge(MemcgId(0), 1);
        pfn
    }

    fn arrival(kind: ArrivalKind) -> Arrival {
        let in_fault = (kind != ArrivalKind::Read).then_some(true);
        Arrival { kind, in_fault, position: 0 }
    }

    fn make_anon(&mut self, pfn: Pfn) {
        self.mem.frames.reset(pfn, FrameKind::Anon);
        self.mem.frames.rmap[pfn] = u32::MAX;
        self.mem.frames.set(pfn, flag::SWAPBACKED);
    }

    /// A zero-fill fault.
    pub(crate) fn new_anon(&mut self, id: u32) {
        let page = self.in_vma(self.anon, id);
        assert_eq!(self.mem.virt.pages.entry(page), Entry::None);
        let pfn = self.frame();
        self.make_anon(pfn);
        let how = Self::arrival(ArrivalKind::New);
        self.lru.folio_entering(&mut self.mem, pfn, None, how);
        self.mem.map(page, pfn, pte::YOUNG | pte::DIRTY | pte::WRITABLE);
        self.mem.lru_add(&mut self.lru, pfn, how);
    }

    /// A read of a page of the file that is not cached, with a shadow or without.
    pub(crate) fn read_file(&mut self, id: u32) {
        let page = self.in_file(id);
        let pfn = self.frame();
        let how = Self::arrival(ArrivalKind::Read);
        self.mem.add_to_page_cache(&mut self.lru, page, pfn, how);
    }

    /// A fault on a swapped page: read past the swap cache, the slot is given up.
    pub(crate) fn swap_in(&mut self, id: u32) {
        let page = self.in_vma(self.anon, id);
        let Entry::Swap(slot) = self.mem.virt.pages.entry(page) else { panic!("{id} is not out") };
        let pfn = self.frame();
        self.make_anon(pfn);
        let how = Self::arrival(ArrivalKind::SwapIn);
        let shadow = match self.mem.swap.as_ref().unwrap().cached(slot) {
            Cached::Shadow(s) => Some(s),
            _ => None,
        };
        self.mem.telling.refaulting = shadow.map(|_| page);
        self.lru.folio_entering(&mut self.mem, pfn, shadow, how);
        self.mem.lru_add(&mut self.lru, pfn, how);
        self.mem.count(VmEvent::PswpIn, 1);
        self.mem.virt.pages.set_entry(page, Entry::None, 0);
        self.mem.virt.spaces[self.space].swapents -= 1;
        if self.mem.swap.as_mut().unwrap().put(slot, CpuId(0)) {
            self.mem.slot_freed(slot);
        }
        self.mem.map(page, pfn, pte::YOUNG | pte::WRITABLE);
        self.mem.frames.set(pfn, flag::DIRTY);
        self.lru.folio_accessed(&mut self.mem, pfn, Access::SwappedIn);
    }

    /// The frame of a resident page.
    pub(crate) fn folio(&self, id: u32, file: bool) -> Option<FolioId> {
        let page = if file { self.in_file(id) } else { self.in_vma(self.anon, id) };
        match self.mem.virt.pages.entry(page) {
            Entry::Frame(f) => Some(f),
            _ => None,
        }
    }

    /// The page table entry that maps a page, and its region.
    fn mapping(&self, id: u32, file: bool) -> Option<(PageIdx, VmaId)> {
        let vmas = if file { vec![self.data, self.text] } else { vec![self.anon] };
        vmas.into_iter()
            .map(|v| (self.in_vma(v, id), v))
            .find(|&(p, _)| matches!(self.mem.virt.pages.entry(p), Entry::Frame(_)))
    }

    /// A mapped access.
    pub(crate) fn touch(&mut self, id: u32, file: bool) {
        let (p, _) = self.mapping(id, file).expect("a mapping");
        let hot = self.mem.virt.pages.hot(p);
        self.mem.virt.pages.set_hot(p, hot | pte::YOUNG);
    }

    /// Clears the accessed bit, as if the page had been scanned a while ago.
    pub(crate) fn forget_access(&mut self, id: u32) {
        let (p, _) = self.mapping(id, false).expect("a mapping");
        let hot = self.mem.virt.pages.hot(p);
        self.mem.virt.pages.set_hot(p, hot & !pte::YOUNG);
    }

    pub(crate) fn map(&mut self, id: u32, exec: bool) {
        let vma = if exec { self.text } else { self.data };
        let (page, folio) = (self.in_vma(vma, id), self.folio(id, true).expect("a cached page"));
        self.mem.map(page, folio, pte::YOUNG);
    }

    pub(crate) fn unmap(&mut self, id: u32) {
        let (page, vma) = self.mapping(id, true).expect("a mapping");
        self.mem.zap_pages(&mut self.lru, page, 1, vma);
    }

    pub(crate) fn mark_accessed(&mut self, id: u32, file: bool) {
        let folio = self.folio(id, file).expect("a resident page");
        self.lru.folio_accessed(&mut self.mem, folio, Access::Marked);
    }

    pub(crate) fn dirty(&mut self, id: u32) {
        let folio = self.folio(id, true).expect("a cached page");
        let page = self.in_file(id);
        self.mem.dirty_folio(folio, Some(page));
    }

    pub(crate) fn clean(&mut self, id: u32) {
        let folio = self.folio(id, true).expect("a cached page");
        self.mem.flush_folio(folio);
    }

    /// A mapped access that writes an anonymous page.
    pub(crate) fn write(&mut self, id: u32) {
        let (p, _) = self.mapping(id, false).expect("a mapping");
        let hot = self.mem.virt.pages.hot(p);
        self.mem.virt.pages.set_hot(p, hot | pte::YOUNG | pte::DIRTY);
    }

    /// `MADV_FREE` of an anonymous page, resident or not.
    pub(crate) fn free_lazily(&mut self, id: u32) {
        let page = self.in_vma(self.anon, id);
        self.mem.free_lazily(&mut self.lru, page, self.anon);
    }

    /// True if an anonymous page is lazily freed memory, and true if it was written since.
    pub(crate) fn lazy_bits(&self, id: u32) -> (bool, bool) {
        let folio = self.folio(id, false).expect("a resident page");
        let (p, _) = self.mapping(id, false).expect("a mapping");
        let written =
            self.mem.frames.has(folio, flag::DIRTY) || self.mem.virt.pages.hot(p) & pte::DIRTY != 0;
        let lazy = self.mem.is_lazyfree(folio);
        (lazy, lazy && written)
    }

    /// `MADV_PAGEOUT` of a page that it may take.
    pub(crate) fn page_out(&mut self, id: u32, file: bool, ignore_references: bool) {
        let folio = self.folio(id, file).expect("a resident page");
        assert!(self.mem.isolate_from(&mut self.lru, folio));
        self.mem.frames.clear(folio, flag::ACTIVE);
        self.lru.reclaim_list(&mut self.mem, &[folio], ignore_references);
    }

    pub(crate) fn deactivate(&mut self, id: u32, file: bool) {
        let folio = self.folio(id, file).expect("a resident page");
        self.mem.lru_deactivate(&mut self.lru, folio);
    }

    /// An anonymous page, resident or not, is unmapped by its owner; a file page that is unmapped
    /// and clean is dropped.
    pub(crate) fn free(&mut self, id: u32, file: bool) {
        if file {
            let folio = self.folio(id, true).expect("a cached page");
            assert!(self.mem.drop_file_folio(&mut self.lru, folio));
        } else {
            let page = self.in_vma(self.anon, id);
            self.mem.zap_pages(&mut self.lru, page, 1, self.anon);
        }
    }

    pub(crate) fn age_node(&mut self) {
        let req = Self::request(Reclaimer::Kswapd, 12, 0);
        self.lru.age_node(&mut self.mem, &req);
    }

    pub(crate) fn finish_run(&mut self) {
        self.lru.reclaim_ended(&mut self.mem, NodeId(0), None);
    }

    pub(crate) fn request(by: Reclaimer, priority: u8, target: u64) -> ReclaimRequest {
        let direct = ReclaimRequest::direct(NodeId(0), ZoneKind::Movable);
        ReclaimRequest { by, priority, target, one_step: false, ..direct }
    }

    /// A whole pass; in steps if the request says so.
    pub(crate) fn reclaim(&mut self, req: &ReclaimRequest) -> ReclaimOutcome {
        let mut all = ReclaimOutcome::default();
        loop {
            let out = self.lru.reclaim(&mut self.mem, req);
            all.add(&out);
            if !out.more {
                return all;
            }
        }
    }

    pub(crate) fn free_pages(&self) -> u64 {
        self.mem.zones[ZoneId(0)].free
    }

    /// Sets the watermark that reclaim compares small file caches with.
    pub(crate) fn set_high_watermark(&mut self, pages: u64) {
        self.mem.zones[ZoneId(0)].watermark[2] = pages;
    }

    /// A list (inactive and active anonymous, inactive and active file), tail first.
    pub(crate) fn list(&self, l: usize) -> Vec<FolioId> {
        // The policy creates its lists in this order, and there are no others.
        let id: ListId = self.mem.lru.lists.ids().nth(l).expect("the list exists");
        self.mem.lru.lists.iter_from_tail(id).collect()
    }

    /// The page that a frame holds: its number, and whether it is the file's.
    pub(crate) fn page_of(&self, folio: FolioId) -> (u32, bool) {
        match self.mem.file_page_of(folio) {
            Some(p) => (p.0 - self.in_file(0).0, true),
            None => (self.mem.frames.rmap[folio] - self.in_vma(self.anon, 0).0, false),
        }
    }

    pub(crate) fn shadow(&self, id: u32, file: bool) -> Option<Shadow> {
        if file {
            return match self.mem.virt.pages.entry(self.in_file(id)) {
                Entry::Shadow(cell) => Some(self.mem.cache.files.shadow(cell)),
                _ => None,
            };
        }
        let Entry::Swap(slot) = self.mem.virt.pages.entry(self.in_vma(self.anon, id)) else {
            return None;
        };
        match self.mem.swap.as_ref()?.cached(slot) {
            Cached::Shadow(s) => Some(s),
            _ => None,
        }
    }

    /// True if the mapping of a page is young, and true if it is executable; `None`: it has none.
    pub(crate) fn mapping_bits(&self, id: u32, file: bool) -> Option<(bool, bool)> {
        let (p, v) = self.mapping(id, file)?;
        let young = self.mem.virt.pages.hot(p) & pte::YOUNG != 0;
        Some((young, self.mem.virt.spaces.vma(v).flags.exec))
    }

    /// A value of the policy's snapshot.
    pub(crate) fn value(&self, name: &str) -> u64 {
        let s = self.lru.snapshot(&self.mem, NodeId(0), MemcgId(0));
        s.values.iter().find(|v| v.0 == name).unwrap_or_else(|| panic!("no value {name}")).1
    }

    pub(crate) fn count(&self, e: VmEvent) -> u64 {
        self.mem.stats.vmstat[e]
    }

    pub(crate) fn is_mapped(&self, folio: FolioId) -> bool {
        self.mem.frames.mapped(folio) != Mapped::No
    }

    pub(crate) fn check(&self) {
        self.mem.check();
        self.lru.check(&self.mem);
    }
}
