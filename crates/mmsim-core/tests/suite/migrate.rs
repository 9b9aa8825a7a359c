//! The door of migration: every kind of folio moves, and the audit finds every frame, entry,
//! slot and charge where it belongs.

use crate::harness::{Fifo, fault_in};
use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::backing::swap::Cached;
use mmsim_core::base::id::{
    AsId, CpuId, DiskId, FileId, MemcgId, NodeId, PageIdx, Pfn, VmaId, ZoneId,
};
use mmsim_core::base::time::SimDuration;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::cost::CostModel;
use mmsim_core::config::{Kernel, MachineConfig, MemcgConfig, SwapConfig, ZoneConfig, ZoneKind};
use mmsim_core::memory::{Memory, NotMoved};
use mmsim_core::phys::frames::{FolioId, FrameKind, Mapped, flag};
use mmsim_core::phys::gfp::AllocRequest;
use mmsim_core::phys::watermarks::Mark;
use mmsim_core::policy::{Arrival, ArrivalKind};
use mmsim_core::virt::pages::{Entry, pte};
use mmsim_core::virt::space::VmaKind;
use mmsim_core::workload::{RegionId, VmaFlags};

const GROUP: MemcgId = MemcgId(1);
const FRAMES: u32 = 1024;

struct Rig {
    mem: Memory,
    lru: Fifo,
    space: AsId,
    file: FileId,
    anon: VmaId,
    /// The file, mapped twice.
    maps: [VmaId; 2],
}

fn device() -> DeviceConfig {
    DeviceConfig::preset("nvme", 1).expect("a preset")
}

impl Rig {
    fn new(kernel: Kernel) -> Rig {
        let zone = ZoneConfig::new(ZoneKind::Normal, FRAMES).bare([0, 0, 0]);
        let mut mem = Memory::new(&MachineConfig {
            swap: vec![SwapConfig::new(1024, device())],
            memcgs: vec![MemcgConfig::new("group")],
            lru_batch: Some(1),
            run_ahead: SimDuration::ZERO,
            ..MachineConfig::new(kernel, vec![zone])
        });
        let lru = Fifo::new(&mut mem);
        let space = mem.virt.spaces.create("rig".into(), GROUP);
        let file = mem.open_file("file", 64);
        let mut map = |region: u16, kind| {
            let flags = VmaFlags::default();
            mem.virt.spaces.mmap(
                &mut mem.virt.pages,
                space,
                RegionId(region),
                64,
                kind,
                flags,
                None,
            )
        };
        let of_file = VmaKind::File { file, offset: 0, shared: true };
        let (anon, maps) = (map(0, VmaKind::Anon), [map(1, of_file), map(2, of_file)]);
        Rig { mem, lru, space, file, anon, maps }
    }

    fn page(&self, vma: VmaId, n: u32) -> PageIdx {
        PageIdx(self.mem.virt.spaces.vma(vma).start.0 + n)
    }

    fn frame(&mut self) -> Pfn {
        let pfn = self.mem.try_alloc(NodeId(0), &AllocRequest::USER, None).expect("a free frame");
        self.mem.memcgs.charge(GROUP, 1);
        self.mem.frames.set_memcg(pfn, GROUP);
        pfn
    }

    /// A page whose page table is there.
    fn reached(&mut self, vma: VmaId, n: u32) -> PageIdx {
        let page = self.page(vma, n);
        if self.mem.virt.pages.group(page.group()).table.is_none() {
            let table = self.mem.try_alloc(NodeId(0), &AllocRequest::KERNEL, None).expect("one");
            self.mem.set_table(page.group(), table);
        }
        page
    }

    fn map(&mut self, vma: VmaId, n: u32, folio: FolioId, bits: u8) -> PageIdx {
        let page = self.reached(vma, n);
        self.mem.map(page, folio, bits);
        page
    }

    /// Page `n` of the anonymous region, present with these bits.
    fn anon(&mut self, n: u32, bits: u8) -> (PageIdx, FolioId) {
        let pfn = self.mem.try_alloc(NodeId(0), &AllocRequest::USER, None).expect("a free frame");
        let page = self.reached(self.anon, n);
        fault_in(&mut self.mem, &mut self.lru, GROUP, (page, pfn, bits));
        (page, pfn)
    }

    /// Page `n` of the file, in the cache.
    fn cached(&mut self, n: u32) -> (PageIdx, FolioId) {
        let pfn = self.frame();
        let page = PageIdx(self.mem.cache.files[self.file].base.0 + n);
        let how = Arrival { kind: ArrivalKind::Read, in_fault: None, position: 0 };
        self.mem.add_to_page_cache(&mut self.lru, page, pfn, how);
        (page, pfn)
    }

    /// Gives a folio a slot and puts it into the swap cache.
    fn swap_cache(&mut self, folio: FolioId) {
        let swap = self.mem.swap.as_mut().expect("swap");
        let slot = swap.alloc(CpuId(0)).expect("a slot");
        swap.set(slot, Cached::Folio(folio));
        self.mem.frames.set_slot(folio, slot);
        self.mem.frames.set(folio, flag::SWAPCACHE | flag::DIRTY);
    }

    /// A frame for a folio to move to: the last free one that is a block of its own, else the
    /// first of a larger one, whose others are given back.
    fn target(&mut self) -> Pfn {
        let z = ZoneId(0);
        let block = self.mem.zones[z].buddy().blocks(&self.mem.frames).last().expect("a block");
        let order = self.mem.isolate_free_block(z, block.pfn, Mark::Low).expect("it is free");
        for p in block.pfn.0 + 1..block.pfn.0 + (1 << order) {
            self.mem.free_frame(Pfn(p));
        }
        block.pfn
    }

    /// Moves a folio and audits. The new frame has its flags, and is announced as migrated.
    fn moves(&mut self, folio: FolioId) -> FolioId {
        let bits = self.mem.frames.bits(folio);
        let free = self.mem.zones.nr_free();
        assert!(self.mem.isolate_to_migrate(&mut self.lru, folio));
        let target = self.target();
        assert_eq!(self.mem.migrate(&mut self.lru, folio, target), Ok(()));
        assert_eq!(self.mem.frames.bits(target) & !flag::DIRTY, bits & !flag::DIRTY);
        assert_eq!(self.mem.frames.memcg(target), GROUP);
        assert_eq!(self.lru.arrived.last(), Some(&(target, ArrivalKind::Migrated)));
        assert_eq!(self.mem.zones.nr_free(), free, "one frame for another");
        assert!(!matches!(self.mem.frames.kind(folio), FrameKind::Anon | FrameKind::File));
        self.mem.check();
        target
    }
}

#[test]
fn every_kind_of_folio_moves() {
    for kernel in Kernel::ALL {
        let mut r = Rig::new(kernel);
        let (page, folio) = r.anon(0, pte::WRITABLE);
        let now = r.moves(folio);
        assert_eq!(r.mem.virt.pages.entry(page), Entry::Frame(now));
        assert_eq!(r.mem.page_of(now), Some(page));

        // Used twice, and idle for a monitor.
        let (_, folio) = r.anon(1, pte::WRITABLE);
        let marks = flag::REFERENCED | flag::ACTIVE | flag::WORKINGSET | flag::IDLE | flag::YOUNG;
        r.mem.frames.set(folio, marks);
        r.moves(folio);

        // In the swap cache, mapped, with another there at the same time.
        let [(_, folio), (_, other)] = [2, 3].map(|n| r.anon(n, 0));
        r.swap_cache(folio);
        r.swap_cache(other);
        let now = r.moves(folio);
        let slot = r.mem.frames.slot(now);
        assert_eq!(r.mem.swap.as_ref().unwrap().cached(slot), Cached::Folio(now));
        r.moves(other);

        // Freed lazily: nothing to write, so no swap behind it.
        let (_, folio) = r.anon(4, 0);
        assert!(r.mem.isolate_to_migrate(&mut r.lru, folio));
        r.mem.frames.clear(folio, flag::SWAPBACKED);
        r.mem.put_back(&mut r.lru, folio);
        r.moves(folio);

        // Pages of the file: mapped by none, by one, by two.
        let (page, folio) = r.cached(0);
        let now = r.moves(folio);
        assert_eq!(r.mem.virt.pages.entry(page), Entry::Frame(now));
        let (_, folio) = r.cached(1);
        let mapping = r.map(r.maps[0], 1, folio, 0);
        let now = r.moves(folio);
        assert_eq!(r.mem.virt.pages.entry(mapping), Entry::Frame(now));
        let (page, folio) = r.cached(2);
        let mappings = [0, 1].map(|m| r.map(r.maps[m], 2, folio, 0));
        let now = r.moves(folio);
        assert_eq!(r.mem.frames.mapped(now), Mapped::Many);
        assert_eq!(r.mem.file_page_of(now), Some(page));
        assert!(mappings.iter().all(|&m| r.mem.virt.pages.entry(m) == Entry::Frame(now)));

        // Unevictable.
        let (_, folio) = r.anon(5, 0);
        assert!(r.mem.isolate_to_migrate(&mut r.lru, folio));
        r.mem.frames.set(folio, flag::MLOCKED | flag::UNEVICTABLE);
        r.mem.put_back(&mut r.lru, folio);
        r.moves(folio);

        assert_eq!(r.mem.stats.vmstat[VmEvent::PgMigrateSuccess], 9);
        assert_eq!(r.mem.stats.vmstat[VmEvent::PgMigrateFail], 0);
        // All of it can be unmapped again.
        r.mem.munmap(&mut r.lru, r.space, RegionId(0));
        r.mem.check();
    }
}

/// The flusher finds a dirty page of a file in its new frame: what its queue names leads there.
#[test]
fn the_flusher_finds_what_moved() {
    let mut r = Rig::new(Kernel::V6_12);
    let (page, folio) = r.cached(0);
    r.mem.dirty_folio(folio, Some(page));
    let (other, second) = r.cached(1);
    r.mem.dirty_folio(second, Some(other));
    let now = r.moves(folio);
    let queue = &r.mem.cache.files.wb(DiskId(0), GROUP).queue;
    let found: Vec<_> = queue.iter().map(|q| r.mem.virt.pages.entry(q.0)).collect();
    assert_eq!(found, [now, second].map(Entry::Frame));
    assert!(r.mem.frames.has(now, flag::DIRTY));
    assert_eq!(r.mem.cache.files.nr_dirty, 2);
}

/// Up to 6.0 the entry is made anew, from 6.1 on its bits are kept. That the page was written is
/// never lost.
#[test]
fn accessed_bits_are_kept_from_6_1_on() {
    for kernel in Kernel::ALL {
        keeps_bits(&mut Rig::new(kernel), kernel >= Kernel::V6_1);
    }
}

/// The same on 6.12, with the bits as the only difference.
#[test]
fn migration_keeps_bits() {
    for keeps in [false, true] {
        let mut r = Rig::new(Kernel::V6_12);
        r.mem.given.rules.migration_keeps_bits = keeps;
        keeps_bits(&mut r, keeps);
    }
}

fn keeps_bits(r: &mut Rig, keeps: bool) {
    let bits = pte::WRITABLE | pte::YOUNG | pte::DIRTY | pte::TOUCHED;
    let (page, folio) = r.anon(0, bits);
    r.mem.virt.pages.set_hot(page, bits | pte::PRESENT);
    let now = r.moves(folio);
    let kept = if keeps { pte::YOUNG | pte::DIRTY } else { 0 };
    let want = pte::PRESENT | pte::WRITABLE | pte::TOUCHED | kept;
    assert_eq!(r.mem.virt.pages.hot(page), want, "{keeps}");
    assert!(r.mem.frames.has(now, flag::DIRTY), "{keeps}");
}

#[test]
fn what_somebody_works_on_stays() {
    for (bits, why) in [
        (flag::LOCKED, NotMoved::Locked),
        (flag::WRITEBACK, NotMoved::Writeback),
        (flag::ORPHAN, NotMoved::Pinned),
    ] {
        let mut r = Rig::new(Kernel::V6_12);
        let (page, folio) = r.anon(0, 0);
        assert!(r.mem.isolate_to_migrate(&mut r.lru, folio));
        assert!(!r.mem.isolate_to_migrate(&mut r.lru, folio), "it is on no list");
        let target = r.target();
        r.mem.frames.set(folio, bits);
        assert_eq!(r.mem.migrate(&mut r.lru, folio, target), Err(why));
        r.mem.frames.clear(folio, bits);
        assert_eq!(r.mem.virt.pages.entry(page), Entry::Frame(folio));
        assert_eq!(r.mem.stats.vmstat[VmEvent::PgMigrateFail], 1);
        assert_eq!(r.mem.stats.vmstat[VmEvent::PgMigrateSuccess], 0);
        r.mem.free_frame(target);
        r.mem.put_back(&mut r.lru, folio);
        r.mem.check();
    }
}

/// A folio that waits in a batch has a reference too many.
#[test]
fn folios_in_batches_are_left_alone() {
    let mut r = Rig::new(Kernel::V6_12);
    let (_, folio) = r.anon(0, 0);
    r.mem.frames.set(folio, flag::IN_BATCH);
    assert!(!r.mem.isolate_to_migrate(&mut r.lru, folio));
    r.mem.frames.clear(folio, flag::IN_BATCH);
    assert!(r.mem.isolate_to_migrate(&mut r.lru, folio));
}

/// A move costs `t_migrate`, and taking the page and the place for it `t_isolate` each.
#[test]
fn moves_take_time() {
    let mut r = Rig::new(Kernel::V6_12);
    let (_, folio) = r.anon(0, 0);
    let before = r.mem.acting.now;
    r.moves(folio);
    let cost = CostModel::measured();
    assert_eq!(r.mem.acting.now.since(before).0, cost.t_migrate.0 + 2 * cost.t_isolate.0);
}

/// Nothing moves a page of a file on ramfs (`fallback_migrate_folio`).
#[test]
fn pages_of_ramfs_stay() {
    let mut r = Rig::new(Kernel::V6_12);
    let file = r.mem.open_file("init", 1);
    r.mem.cache.files[file].ramfs = true;
    let (page, folio) = (r.mem.cache.files[file].base, r.frame());
    let how = Arrival { kind: ArrivalKind::Read, in_fault: None, position: 0 };
    r.mem.add_to_page_cache(&mut r.lru, page, folio, how);
    assert!(r.mem.frames.has(folio, flag::MLOCKED) && r.mem.is_of_ramfs(folio));
    // No block can be made where one lies.
    let survey = r.mem.survey_zone(ZoneId(0), 0);
    assert_eq!((survey.pinned, survey.movable), (1, 0));
    assert!(r.mem.isolate_to_migrate(&mut r.lru, folio));
    let target = r.target();
    assert_eq!(r.mem.migrate(&mut r.lru, folio, target), Err(NotMoved::FileSystem));
    assert_eq!(r.mem.virt.pages.entry(page), Entry::Frame(folio));
    assert_eq!(r.mem.stats.vmstat[VmEvent::PgMigrateFail], 1);
    r.mem.free_frame(target);
    r.mem.put_back(&mut r.lru, folio);
    r.mem.check();
}
