//! The policy on a machine of one zone, with the operations and in the notation of the naive
//! model. Faults and reads are what the machine does, in a few lines.

use crate::harness::memory::small_machine;
use crate::model::mglru::{self as naive, Config, Naive, Page, Reclaim};
use mmsim_core::backing::swap::Cached;
use mmsim_core::base::id::{AsId, CpuId, FileId, Idx, MemcgId, NodeId, PageIdx, Pfn, VmaId};
use mmsim_core::base::settings::OrNumber;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{Kernel, MachineConfig, MemcgConfig, VmSysctl, ZoneKind};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, FrameKind, flag};
use mmsim_core::phys::gfp::AllocRequest;
use mmsim_core::policy::{
    Access, Arrival, ArrivalKind, Inspect as _, ReclaimPolicy, ReclaimRequest, Reclaimer,
};
use mmsim_core::virt::pages::{Entry, pte};
use mmsim_core::virt::space::VmaKind;
use mmsim_core::workload::{RegionId, VmaFlags};
use mmsim_lru::index::LruType;
use mmsim_lru::mglru::GenList;
use mmsim_lru::mglru::config::{
    AbortRule, AccessMarks, AgingRule, AgingSite, DirtyLazyfreeRule, Lazyfree, Placement,
    RecentRule, RefaultCount, RefaultDistance, RestoreRule, TierGain, TypeRule, WritebackRule,
};
use mmsim_lru::{Mglru, MglruConfig};
use std::collections::BTreeMap;

const HERE: (NodeId, MemcgId) = (NodeId(0), MemcgId(0));
const FRAMES: u32 = 10_240;
const SLOTS: u32 = 1 << 14;
/// Where virtual page 0 of the notation lies.
const ORIGIN: u64 = 0x40_0000;
/// Page tables that regions may use.
const TABLES: u64 = 16;

/// The knobs that say the same.
pub(crate) fn knobs(c: &Config) -> MglruConfig {
    MglruConfig {
        walk_mmu: c.walk_mmu,
        nonleaf_young: c.nonleaf_young && c.walk_mmu,
        bloom: c.bloom,
        placement: match c.placement {
            naive::Placement::PreFix => Placement::PreFix,
            naive::Placement::PostFix => Placement::PostFix,
            naive::Placement::Distance => Placement::Distance614,
        },
        overflow_protect: c.overflow_protect,
        restore_rule: match c.restore {
            naive::Restore::Refs4 => RestoreRule::Refs4Ws,
            naive::Restore::Refs3 => RestoreRule::Refs3All,
            naive::Restore::Workingset => RestoreRule::Ws614,
        },
        refault_count: match c.counts_all_refaults {
            true => RefaultCount::All,
            false => RefaultCount::RecentOnly,
        },
        recent_rule: match c.recent_within_4 {
            true => RecentRule::Within4OfMax,
            false => RecentRule::SameMinSeq,
        },
        type_rule: match c.type_by_all_tiers {
            true => TypeRule::AllTiers,
            false => TypeRule::FirstTier,
        },
        tier_gain: match c.tier_gain {
            [1, 2] => OrNumber::Word(TierGain::OneToTwo),
            [2, 3] => OrNumber::Word(TierGain::TwoToThree),
            other => panic!("gains {other:?}"),
        },
        nr_tiers: 4,
        refs_width: 2,
        min_seq_coupling: c.coupled,
        aging_rule: match c.ages_by_gens {
            true => AgingRule::GensOnly,
            false => AgingRule::Distribution,
        },
        writeback_rule: match c.bounces {
            true => WritebackRule::Bounce,
            false => WritebackRule::Activate,
        },
        dirty_lazyfree_rule: match c.dirty_lazyfree_to_anon {
            true => DirtyLazyfreeRule::ToAnon,
            false => DirtyLazyfreeRule::None,
        },
        add_clears_refs: c.add_clears_refs,
        lazyfree: match c.lazyfree {
            naive::Lazyfree::Off => Lazyfree::Off,
            naive::Lazyfree::Base => Lazyfree::Base,
            naive::Lazyfree::Tail => Lazyfree::Tail,
            naive::Lazyfree::ListV2 => Lazyfree::ListV2,
            naive::Lazyfree::ListFixed => Lazyfree::ListFixed,
            naive::Lazyfree::ListOldest => Lazyfree::ListOldest,
        },
        refault_distance: match c.distance {
            naive::Distance::Off => RefaultDistance::Off,
            naive::Distance::V3 => RefaultDistance::V3,
            naive::Distance::SecondOldest => RefaultDistance::SecondOldest,
            naive::Distance::Tiered => RefaultDistance::Tiered,
        },
        access_marks: match c.rework {
            true => AccessMarks::Counted614,
            false => AccessMarks::WorkingsetSecond,
        },
        // Passes take their whole budget, and age where they evict.
        aging_site: AgingSite::Evictor,
        abort_rule: AbortRule::Simple67,
        initial_priority: false,
        ..MglruConfig::V6_12
    }
}

struct Region {
    vma: VmaId,
    file: Option<char>,
}

pub(crate) struct Real {
    pub(crate) mem: Memory,
    pub(crate) lru: Mglru,
    space: AsId,
    regions: BTreeMap<char, Region>,
    files: BTreeMap<char, FileId>,
}

impl Real {
    pub(crate) fn new(config: &Config) -> Real {
        let kernel = if config.counts_all_refaults { Kernel::V6_12 } else { Kernel::V6_1 };
        Real::of(knobs(config), config.swappiness as u32, kernel)
    }

    /// The same with knobs of the policy.
    pub(crate) fn of(knobs: MglruConfig, swappiness: u32, kernel: Kernel) -> Real {
        Real::in_group(knobs, swappiness, kernel, None)
    }

    /// The same with all work in a group, if one is named.
    pub(crate) fn in_group(
        knobs: MglruConfig,
        swappiness: u32,
        kernel: Kernel,
        group: Option<MemcgConfig>,
    ) -> Real {
        let small = small_machine(FRAMES, SLOTS, 0);
        let vm = VmSysctl { swappiness, ..small.vm.clone() };
        let memcgs: Vec<_> = group.into_iter().collect();
        let memcg = MemcgId(memcgs.len() as u16);
        let mut mem = Memory::new(&MachineConfig { vm, kernel, memcgs, ..small });
        let lru = Mglru::new(knobs, &mut mem, 1);
        let space = mem.virt.spaces.create("work".into(), memcg);
        mem.virt.spaces.reserve_span(&mut mem.virt.pages, space, ORIGIN, TABLES * 512);
        Real { mem, lru, space, regions: BTreeMap::new(), files: BTreeMap::new() }
    }

    /// The file of a letter, of a size that is enough for all.
    fn file(&mut self, letter: char) -> FileId {
        let id = self.mem.open_file(&letter.to_string(), 1024);
        self.files.insert(letter, id);
        id
    }

    pub(crate) fn map(&mut self, letter: char, file: Option<char>, va: u32, pages: u32) {
        self.map_as(letter, file, va, pages, VmaFlags::default());
    }

    pub(crate) fn map_as(
        &mut self,
        letter: char,
        file: Option<char>,
        va: u32,
        pages: u32,
        flags: VmaFlags,
    ) {
        let kind = match file {
            None => VmaKind::Anon,
            Some(f) => VmaKind::File { file: self.file(f), offset: 0, shared: true },
        };
        let id = RegionId(self.regions.len() as u16);
        let at = Some(ORIGIN + u64::from(va));
        let (spaces, all) = (&mut self.mem.virt.spaces, &mut self.mem.virt.pages);
        let vma = spaces.mmap(all, self.space, id, pages, kind, flags, at);
        self.regions.insert(letter, Region { vma, file });
    }

    fn in_region(&self, letter: char, number: u32) -> PageIdx {
        PageIdx(self.mem.virt.spaces.vma(self.regions[&letter].vma).start.0 + number)
    }
    fn in_file(&mut self, page: Page) -> PageIdx {
        let file = self.file(page.0);
        PageIdx(self.mem.cache.files[file].base.0 + page.1)
    }

    /// The page that a frame holds.
    pub(crate) fn name(&self, folio: FolioId) -> Page {
        if let Some(at) = self.mem.file_page_of(folio) {
            let of = |f: &FileId| {
                let f = &self.mem.cache.files[*f];
                (f.base.0..f.base.0 + f.pages).contains(&at.0)
            };
            let (&letter, &file) = self.files.iter().find(|(_, f)| of(f)).expect("a file");
            return Page(letter, at.0 - self.mem.cache.files[file].base.0);
        }
        let p = self.mem.page_of(folio).expect("anonymous memory is mapped");
        let vma = self.mem.virt.spaces.vma_of(&self.mem.virt.pages, p);
        let start = self.mem.virt.spaces.vma(vma).start.0;
        let (&letter, _) = self.regions.iter().find(|(_, r)| r.vma == vma).expect("a region");
        Page(letter, p.0 - start)
    }

    fn frame(&mut self) -> Pfn {
        let pfn = self.mem.try_alloc(NodeId(0), &AllocRequest::USER, None).expect("a free frame");
        let memcg = self.mem.virt.spaces[self.space].memcg;
        self.mem.frames.set_memcg(pfn, memcg);
        self.mem.memcgs.charge(memcg, 1);
        pfn
    }

    fn arrival(kind: ArrivalKind, in_fault: bool) -> Arrival {
        Arrival { kind, in_fault: in_fault.then_some(true), position: 0 }
    }

    fn make_anon(&mut self, pfn: Pfn) {
        self.mem.frames.reset(pfn, FrameKind::Anon);
        self.mem.frames.rmap[pfn] = u32::MAX;
        self.mem.frames.set(pfn, flag::SWAPBACKED);
    }

    /// See [`Naive::touch`].
    pub(crate) fn touch(&mut self, region: char, number: u32, write: bool) {
        let page = self.in_region(region, number);
        let file = self.regions[&region].file;
        self.mem.virt.spaces[self.space].used = true;
        if self.mem.virt.pages.group(page.group()).table.is_none() {
            let frame = self.mem.try_alloc(NodeId(0), &AllocRequest::KERNEL, None).unwrap();
            self.mem.set_table(page.group(), frame);
        }
        let bits = pte::ACCESSED | pte::WRITABLE | if write { pte::DIRTY } else { 0 };
        match (self.mem.virt.pages.entry(page), file) {
            (Entry::Frame(_), _) => {
                let hot = self.mem.virt.pages.hot(page);
                self.mem.virt.pages.set_hot(page, hot | bits);
            }
            (Entry::Swap(slot), _) => {
                let pfn = self.frame();
                self.make_anon(pfn);
                let how = Self::arrival(ArrivalKind::SwapIn, true);
                let shadow = match self.mem.swap.as_ref().unwrap().cached(slot) {
                    Cached::Shadow(s) => Some(s),
                    _ => None,
                };
                self.lru.folio_entering(&mut self.mem, pfn, shadow, how);
                self.mem.lru_add(&mut self.lru, pfn, how);
                self.mem.swap.as_mut().unwrap().put_last(slot, CpuId(0));
                self.mem.slot_freed(slot);
                self.mem.map_swapped(self.space, page, pfn, bits, flag::DIRTY);
                self.lru.folio_accessed(&mut self.mem, pfn, Access::SwappedIn);
            }
            (_, None) => {
                let pfn = self.frame();
                self.make_anon(pfn);
                let how = Self::arrival(ArrivalKind::New, true);
                self.lru.folio_entering(&mut self.mem, pfn, None, how);
                self.mem.map(page, pfn, bits);
                self.mem.lru_add(&mut self.lru, pfn, how);
            }
            (_, Some(f)) => {
                let folio = self.cache(Page(f, number), ArrivalKind::Read, true);
                self.mem.map(page, folio, bits);
            }
        }
    }

    /// The folio of a page of a file, which is read if it is not cached.
    fn cache(&mut self, page: Page, kind: ArrivalKind, in_fault: bool) -> FolioId {
        let at = self.in_file(page);
        if let Entry::Frame(folio) = self.mem.virt.pages.entry(at) {
            return folio;
        }
        let pfn = self.frame();
        let how = Self::arrival(kind, in_fault);
        self.mem.add_to_page_cache(&mut self.lru, at, pfn, how);
        pfn
    }

    pub(crate) fn read(&mut self, page: Page) {
        let folio = self.cache(page, ArrivalKind::Read, false);
        self.lru.folio_accessed(&mut self.mem, folio, Access::Marked);
    }

    pub(crate) fn write(&mut self, page: Page) {
        let folio = self.cache(page, ArrivalKind::Write, false);
        let at = self.in_file(page);
        self.mem.dirty_folio(folio, Some(at));
    }

    /// The frame of a page, if it is in memory.
    pub(crate) fn folio(&mut self, page: Page) -> Option<FolioId> {
        let at = match self.regions.get(&page.0) {
            Some(r) if r.file.is_none() => self.in_region(page.0, page.1),
            _ => self.in_file(page),
        };
        match self.mem.virt.pages.entry(at) {
            Entry::Frame(f) => Some(f),
            _ => None,
        }
    }

    /// The flusher writes a dirty page; the device takes no time.
    pub(crate) fn flush(&mut self, page: Page) {
        let folio = self.folio(page).expect("a page in memory");
        self.mem.flush_folio(folio);
    }

    pub(crate) fn deactivate(&mut self, page: Page) {
        let folio = self.folio(page).expect("a page in memory");
        if let Some(p) = self.mem.page_of(folio) {
            self.mem.virt.pages.test_clear_hot(p, pte::YOUNG);
        }
        self.mem.frames.clear(folio, flag::REFERENCED);
        self.mem.lru_deactivate(&mut self.lru, folio);
    }

    pub(crate) fn drop_page(&mut self, region: char, number: u32) {
        let (page, vma) = (self.in_region(region, number), self.regions[&region].vma);
        self.mem.zap_pages(&mut self.lru, page, 1, vma);
    }

    pub(crate) fn madvise_free(&mut self, region: char, number: u32) {
        let (page, vma) = (self.in_region(region, number), self.regions[&region].vma);
        self.mem.free_lazily(&mut self.lru, page, vma);
    }

    pub(crate) fn set_pte(&mut self, region: char, number: u32, young: bool, dirty: bool) {
        let page = self.in_region(region, number);
        let hot = self.mem.virt.pages.hot(page) & !(pte::YOUNG | pte::DIRTY);
        let [young, dirty] =
            [(young, pte::YOUNG), (dirty, pte::DIRTY)].map(|(is, bit)| if is { bit } else { 0 });
        self.mem.virt.pages.set_hot(page, hot | young | dirty);
    }

    pub(crate) fn forget(&mut self, page: Page) {
        let folio = self.folio(page).expect("a page in memory");
        assert!(self.mem.drop_file_folio(&mut self.lru, folio));
    }

    pub(crate) fn request(r: &Reclaim, priority: u8) -> ReclaimRequest {
        ReclaimRequest {
            node: NodeId(0),
            by: if r.kswapd { Reclaimer::Kswapd } else { Reclaimer::Direct },
            priority,
            order: 0,
            lowest: ZoneKind::Dma,
            highest: ZoneKind::Movable,
            target: u64::MAX,
            reclaimed: 0,
            may_writepage: true,
            may_swap: r.may_swap,
            may_io: r.io,
            force_deactivate: false,
            low_reclaim: false,
            full_walk: false,
            swappiness: None,
            no_cache_trim: false,
            one_step: false,
        }
    }

    pub(crate) fn evict(&mut self, r: &Reclaim) -> u64 {
        let request = Self::request(r, 12);
        self.lru.run_eviction(&mut self.mem, MemcgId(0), &request, r.walks)
    }

    pub(crate) fn age(&mut self, can_swap: bool) -> bool {
        self.lru.run_aging(&mut self.mem, HERE, can_swap, false)
    }

    /// A whole pass at a priority, without an end before.
    pub(crate) fn shrink(&mut self, r: &Reclaim, priority: u8) {
        self.lru.reclaim(&mut self.mem, &Self::request(r, priority));
    }

    // ---- comparison ----

    /// Everything that the naive model knows.
    pub(crate) fn compare(&mut self, n: &Naive) {
        let [anon, file, max] = self.lru.seqs(HERE.0, HERE.1);
        assert_eq!(([anon, file], max), (n.min_seq, n.max_seq), "min_seq, max_seq");
        for seq in 0..4 {
            for kind in 0..3 {
                let list = self.lru.list(&self.mem, HERE, seq, GenList::from_index(kind));
                let names: Vec<Page> = list.iter().map(|&f| self.name(f)).collect();
                let wanted = &n.lists[seq as usize][kind];
                assert_eq!(&names, wanted, "list {kind} of generation {seq}");
            }
        }
        for (&page, f) in &n.folios {
            let folio = self.folio(page).unwrap_or_else(|| panic!("{page:?} is gone"));
            let has = |bit| self.mem.frames.has(folio, bit);
            let real = naive::Folio {
                gener: self.lru.generation_of(&self.mem, folio).map(Idx::index),
                referenced: has(flag::REFERENCED),
                workingset: has(flag::WORKINGSET),
                active: has(flag::ACTIVE),
                reclaim: has(flag::RECLAIM),
                dirty: has(flag::DIRTY),
                writeback: has(flag::WRITEBACK),
                locked: has(flag::LOCKED),
                swapbacked: has(flag::SWAPBACKED),
                anon: self.mem.frames.kind(folio) == FrameKind::Anon,
                swapcache: has(flag::SWAPCACHE),
                // Compared by what they mean.
                refs_bits: f.refs_bits,
                second_oldest: f.second_oldest,
                maps: f.maps.clone(),
            };
            assert_eq!(format!("{real:?}"), format!("{f:?}"), "{page:?}");
            assert_eq!(self.lru.refs_of(&self.mem, folio), n.refs(f), "refs of {page:?}: {f:?}");
            for (at, p) in f.maps.iter() {
                let hot = self.mem.virt.pages.hot(self.in_region(at.0, at.1));
                let real =
                    naive::Pte { young: hot & pte::YOUNG != 0, dirty: hot & pte::DIRTY != 0 };
                assert_eq!(real, *p, "{at:?}");
            }
            assert_eq!(self.mem.mapcount(folio) as usize, f.maps.nr(), "mappings of {page:?}");
        }
        for kind in 0..2 {
            let (rates, now) = self.lru.rates(HERE.0, HERE.1, LruType::from_index(kind));
            assert_eq!(*rates.avg_refaulted.raw(), n.avg_refaulted[kind], "avg_refaulted[{kind}]");
            assert_eq!(*rates.avg_total.raw(), n.avg_total[kind], "avg_total[{kind}]");
            assert_eq!(*now.evicted.raw(), n.evicted[kind], "evicted[{kind}]");
            assert_eq!(*now.refaulted.raw(), n.refaulted[kind], "refaulted[{kind}]");
            assert_eq!(*now.protected.raw(), n.protected[kind], "protected[{kind}]");
        }
        for (name, event) in COUNTERS {
            assert_eq!(self.mem.stats.vmstat[event], n.counter(name), "{name}");
        }
        let free = u64::from(self.mem.swap.as_ref().unwrap().nr_free());
        assert_eq!(free, n.free_slots, "free slots");
    }

    pub(crate) fn check(&self) {
        self.lru.check(&self.mem);
        self.mem.check();
    }

    /// A model of the same machine without anything.
    pub(crate) fn naive(config: Config) -> Naive {
        Naive::new(config, u64::from(SLOTS))
    }
}

const COUNTERS: [(&str, VmEvent); 22] = [
    ("pgscan_kswapd", VmEvent::PgScanKswapd),
    ("pgscan_direct", VmEvent::PgScanDirect),
    ("pgscan_anon", VmEvent::PgScanAnon),
    ("pgscan_file", VmEvent::PgScanFile),
    ("pgsteal_kswapd", VmEvent::PgStealKswapd),
    ("pgsteal_direct", VmEvent::PgStealDirect),
    ("pgsteal_anon", VmEvent::PgStealAnon),
    ("pgsteal_file", VmEvent::PgStealFile),
    ("pgrefill", VmEvent::PgRefill),
    ("pgskip", VmEvent::PgSkipNormal),
    ("pgactivate", VmEvent::PgActivate),
    ("pgdeactivate", VmEvent::PgDeactivate),
    ("pglazyfree", VmEvent::PgLazyFree),
    ("pglazyfreed", VmEvent::PgLazyFreed),
    ("pswpout", VmEvent::PswpOut),
    ("nr_vmscan_immediate_reclaim", VmEvent::NrVmscanImmediateReclaim),
    ("workingset_refault_anon", VmEvent::WorkingsetRefaultAnon),
    ("workingset_refault_file", VmEvent::WorkingsetRefaultFile),
    ("workingset_activate_anon", VmEvent::WorkingsetActivateAnon),
    ("workingset_activate_file", VmEvent::WorkingsetActivateFile),
    ("workingset_restore_anon", VmEvent::WorkingsetRestoreAnon),
    ("workingset_restore_file", VmEvent::WorkingsetRestoreFile),
];
