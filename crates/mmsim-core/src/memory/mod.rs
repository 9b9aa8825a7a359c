//! `Memory` puts frames, zones, page tables, swap and the page cache together, and offers
//! the doors through which anything happens to a folio: allocate, map, unmap, evict, free,
//! put on a list. Accounting, cost and tracing live here once.
//!
//! `Memory` knows no policy. Where a door has to tell one, the policy is an argument.

mod acting;
mod alloc;
mod batch;
mod cgroup;
mod check;
mod compressed;
mod compressed_run;
mod discard;
mod evict;
mod fast_faults;
mod file;
pub mod follow;
mod given;
mod host;
mod hugetlb;
mod idle;
mod invalidate;
mod journal;
mod kernel;
mod large;
mod large_swap;
mod layout;
mod lazyfree;
mod lru;
mod map;
mod mappings;
mod migrate;
mod mlock;
mod names;
mod node_stat;
mod plain;
mod plug;
mod protect;
mod regions;
mod run;
mod samples;
mod scan;
mod shadow_nodes;
mod shmem;
mod shrinker;
mod sizes;
mod sort;
mod split_queue;
mod stats;
mod survey;
mod telling;
pub mod trace;
pub mod trouble;
mod walk;
mod young;
mod zswap;
mod zswap_shrinker;
mod zswap_writeback;

pub use crate::config::HUGE_ORDER;
pub use acting::Acting;
pub use batch::Batches;
pub use cgroup::events::{MemcgEvent, MemcgEvents};
pub use cgroup::life::Life;
pub use cgroup::tree::{self as memcg_tree, Tree};
pub use cgroup::walk::GroupWalk;
pub use cgroup::zswap::ZswapUse;
pub use cgroup::{Memcg, Memcgs};
pub use evict::{Evicting, Prepared};
pub(crate) use fast_faults::{
    AHEAD, Copies, FastFaults, HasCopies, InPools, MOST_PENDING, NoCopies, SwapInRun,
};
pub use fast_faults::{PendingFault, SettledFaults};
pub use file::FileCache;
pub use given::Given;
pub use hugetlb::HugePool;
pub use journal::Journals;
pub use kernel::KernelMemory;
use kernel::KernelNeeds;
pub(crate) use large::aligned;
pub use layout::{FrameUse, FreeListLayout, Layout, LayoutError, ZoneLayout};
pub use lru::{Lru, NodeFlags};
pub use mappings::Mappings;
pub use migrate::NotMoved;
pub use node_stat::NodeStatItem;
pub use plain::FastPath;
pub(crate) use plug::Plug;
pub(crate) use plug::SWAP_IOCB_PAGES;
pub use protect::{Spared, Within};
pub use run::{Kinds, Run, Verdicts, each, first};
pub use samples::{BATCH as SAMPLE_BATCH, InBatches};
pub use scan::{Scan, ScanFor, Scanned};
pub use sizes::{SizeEvent, SizeStats};
pub use sort::{Sorted, Sorting};
pub use stats::Stats;
pub use survey::{BlockUse, Survey, most_blocks};
pub use telling::Telling;
pub use walk::{TableWalk, WalkScope};
pub use young::References;
pub(crate) use zswap_writeback::{WorkerPlace, WorkerTurn};

use crate::backing::swap::{Swap, Zswap};
use crate::base::id::{AsId, ListId, MemcgId, NodeId, PageIdx, Pfn, ZoneId};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::config::MachineConfig;
use crate::memory::trace::TraceEvent;
use crate::phys::frames::{FolioId, FrameKind, Frames, flag, pages_of};
use crate::phys::gfp::AllocRequest;
use crate::phys::zones::Zones;

/// A device request that will end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IoDone {
    /// A folio was read: unlock it.
    Read(Pfn),
    /// A folio was written.
    Write(Pfn),
    /// A page that zswap writes back goes to its list.
    Entered(Pfn),
    /// zswap's worker begins a run.
    ZswapWorker,
    /// The same of a folio that was off its list when the write was submitted: a write that ends
    /// in the same step ends too early to send the folio to the tail.
    EvictWritten(Pfn),
}

/// Pages of zram's store: the kernel moves them where it likes, and takes them anywhere.
const ZRAM: AllocRequest = AllocRequest::USER;

/// The memory of a machine, in parts. A part knows no clock, no policy and no other part. Doors
/// (methods of `Memory`) join them: they charge, count and tell observers.
pub struct Memory {
    /// Settings of the run.
    pub given: Given,
    /// Frame columns.
    pub frames: Frames,
    /// Zones.
    pub zones: Zones,
    /// Lists of folios.
    pub lru: Lru,
    /// Address spaces and their pages.
    pub virt: Mappings,
    /// Swap space.
    pub swap: Option<Swap>,
    /// Files and page cache.
    pub cache: FileCache,
    /// Groups.
    pub memcgs: Memcgs,
    /// Memory that the kernel holds for itself.
    pub kernel: KernelMemory,
    /// Counters.
    pub stats: Stats,
    /// The step under way.
    pub acting: Acting,
    /// Observers.
    pub telling: Telling,
}

impl Memory {
    /// The memory of a machine, as it is when the workload starts.
    pub fn new(config: &MachineConfig) -> Self {
        let zones = Zones::new(config);
        let rules = config.kernel_rules();
        let managed =
            config.nodes.iter().flat_map(|n| &n.zones).map(|z| u64::from(z.managed)).sum();
        let mut mem = Memory {
            frames: Frames::new(zones.nr_frames(), !config.memcgs.is_empty()),
            lru: Lru::new(config, &zones),
            virt: Mappings::new(),
            swap: config.swap.iter().any(|s| s.slots > 0).then(|| {
                let wide = shadow_bits(&zones, 1 + config.memcgs.len()) > 32;
                Swap::new(&config.swap, &rules, config.cpus, wide)
            }),
            cache: FileCache::new(config, &rules),
            memcgs: Memcgs::new(config),
            kernel: KernelMemory::default(),
            stats: Stats::new(config),
            acting: Acting::new(config.cpus as usize),
            telling: Telling::default(),
            given: Given::new(config, rules),
            zones,
        };
        mem.populate(config.os_overhead);
        if let (Some(zswap), Some(swap)) = (&config.zswap, &mut mem.swap) {
            let groups = 1 + config.memcgs.len();
            swap.use_zswap(Zswap::new(zswap.clone(), managed, groups, config.nodes.len()));
        }
        mem
    }

    /// Time passes for whoever acts.
    #[inline(always)]
    pub fn charge(&mut self, d: SimDuration) {
        self.acting.now += d;
    }

    /// True if no time went by since an instant, and nothing waits for the end of the step.
    pub fn is_still(&self, since: SimTime) -> bool {
        self.acting.now == since && self.acting.io.is_empty()
    }

    /// Counts events.
    #[inline(always)]
    pub fn count(&mut self, e: VmEvent, n: u64) {
        self.stats.vmstat.add(e, n);
    }

    /// Counts events on the machine and in a group.
    #[inline(always)]
    pub fn count_in(&mut self, memcg: MemcgId, e: VmEvent, n: u64) {
        self.stats.vmstat.add(e, n);
        if memcg.0 != 0 {
            self.memcgs.count(memcg, e, n);
        }
    }

    /// Reports an event at the acting clock.
    #[inline(always)]
    pub fn emit(&mut self, make: impl FnOnce() -> TraceEvent) {
        if self.telling.tracer.on() {
            self.telling.tracer.now = self.acting.now;
            self.telling.tracer.emit(make);
        }
    }

    /// Scores for `vm.compaction_proactiveness`: the score of fragmentation down to which proactive
    /// compaction goes, and the one above which it begins, both in per cent of free memory
    /// (`fragmentation_score_wmark`).
    pub fn fragmentation_score_wmarks(&self) -> [u64; 2] {
        let low = 100u64.saturating_sub(self.given.vm.compaction_proactiveness.into());
        if self.given.rules.proactive_leeway_halves {
            return [low, (low + (low / 2).min(10)).min(100)];
        }
        let low = low.max(5);
        [low, (low + 10).min(100)]
    }

    /// The node of a frame.
    #[inline]
    pub fn node_of(&self, pfn: Pfn) -> NodeId {
        self.zones[self.zones.of(pfn)].node
    }

    /// Lets the memory that the kernel needs for itself follow its use: nodes of the swap
    /// map, of zswap and of page caches (64 entries and a seventh of a page each), entries of
    /// zswap, zram's store.
    /// The kernel takes such pages from its reserves where it must.
    #[inline]
    pub fn settle_kernel(&mut self) {
        let now = self.kernel_needs();
        if now != self.kernel.settled {
            self.settle_kernel_at(now);
        }
    }

    /// Quantities that the kernel's own memory follows.
    #[inline]
    fn kernel_needs(&self) -> KernelNeeds {
        let zswap = self.zswap();
        let nodes = self.swap.as_ref().map_or(0, |s| s.nodes) + self.cache.files.nr_nodes();
        KernelNeeds {
            nodes: nodes + zswap.map_or(0, |z| z.nr_nodes),
            zram: self.kernel.zram_stored,
            zswap: zswap.map_or(0, Zswap::slab_pages),
        }
    }

    #[inline(never)]
    fn settle_kernel_at(&mut self, needs: KernelNeeds) {
        let slab = needs.nodes.div_ceil(7) as usize;
        let (zram, zswap) = (needs.zram.div_ceil(4096) as usize, needs.zswap as usize);
        if self.kernel.slab_frames.len() != slab {
            let had = std::mem::take(&mut self.kernel.slab_frames);
            let kind = FrameKind::Slab;
            self.kernel.slab_frames = self.held_for_kernel(had, slab, &AllocRequest::KERNEL, kind);
        }
        if self.kernel.zswap_frames.len() != zswap {
            let had = std::mem::take(&mut self.kernel.zswap_frames);
            let kind = FrameKind::Kernel;
            self.kernel.zswap_frames =
                self.held_for_kernel(had, zswap, &AllocRequest::KERNEL, kind);
        }
        if self.kernel.zram_frames.len() != zram {
            let had = std::mem::take(&mut self.kernel.zram_frames);
            self.kernel.zram_frames = self.held_for_kernel(had, zram, &ZRAM, FrameKind::Kernel);
        }
        // Failed allocations are tried again at the next occasion.
        let held = [&self.kernel.slab_frames, &self.kernel.zswap_frames, &self.kernel.zram_frames];
        if held.map(Vec::len) == [slab, zswap, zram] {
            self.kernel.settled = needs;
        }
    }

    /// Takes frames for the kernel, or gives them back, until it holds the given number. Fewer:
    /// memory has none.
    fn held_for_kernel(
        &mut self,
        mut frames: Vec<Pfn>,
        want: usize,
        req: &AllocRequest,
        kind: FrameKind,
    ) -> Vec<Pfn> {
        while frames.len() < want
            && let Some(p) = self.try_alloc(NodeId(0), req, None)
        {
            self.frames.reset(p, kind);
            frames.push(p);
        }
        while frames.len() > want
            && let Some(p) = frames.pop()
        {
            self.free_frame(p);
        }
        frames
    }

    // ---- lists ----

    /// Puts a folio at the head of a list; it is not isolated any more.
    #[inline]
    pub fn lru_add_head(&mut self, list: ListId, folio: FolioId) {
        let (z, pages) = self.lru_enter(folio);
        self.lru.lists.push_head(list, folio, z);
        self.weigh(list, z, pages);
    }

    /// Puts a folio at the tail of a list; it is not isolated any more.
    #[inline]
    pub fn lru_add_tail(&mut self, list: ListId, folio: FolioId) {
        let (z, pages) = self.lru_enter(folio);
        self.lru.lists.push_tail(list, folio, z);
        self.weigh(list, z, pages);
    }

    #[inline]
    fn lru_enter(&mut self, folio: FolioId) -> (ZoneId, u64) {
        debug_assert!(!self.frames.has(folio, flag::LRU), "{folio} is on a list already");
        let bits = self.frames.change(folio, flag::ISOLATED, flag::LRU);
        let (z, pages) = (self.zones.of(folio), pages_of(bits));
        if bits & flag::UNEVICTABLE == 0 {
            self.lru.pages[z][usize::from(bits & flag::SWAPBACKED == 0)] += pages;
            self.lru.total += pages;
        }
        (z, pages)
    }

    /// Notes that a folio that was put on a list has `pages` pages.
    #[inline]
    fn weigh(&mut self, list: ListId, z: ZoneId, pages: u64) {
        if pages > 1 {
            self.lru.lists.count_zone(list, z, pages - 1, 0);
            self.lru.lists.count_extra(list, pages - 1, 0);
        }
    }

    /// Takes a folio off its list.
    #[inline]
    pub fn lru_del(&mut self, folio: FolioId) {
        debug_assert!(self.frames.has(folio, flag::LRU), "{folio} is on no list");
        let bits = self.frames.change(folio, flag::LRU, 0);
        let (z, pages) = (self.zones.of(folio), pages_of(bits));
        if bits & flag::UNEVICTABLE == 0 {
            self.lru.pages[z][usize::from(bits & flag::SWAPBACKED == 0)] -= pages;
            self.lru.total -= pages;
        }
        if pages > 1 {
            let list = self.lru.lists.list_of(folio);
            self.lru.lists.count_zone(list, z, 0, pages - 1);
            self.lru.lists.count_extra(list, 0, pages - 1);
        }
        self.lru.lists.remove(folio, z);
    }

    /// Takes folios of one page each off their lists: as many calls of [`Memory::lru_del`].
    pub fn lru_del_pages(&mut self, folios: &[FolioId]) {
        let Some(z) = self.zones.of_all(folios.iter().copied()) else {
            return folios.iter().for_each(|&folio| self.lru_del(folio));
        };
        let (mut evictable, mut file) = (0, 0);
        for &folio in folios {
            let bits = self.frames.change(folio, flag::LRU, 0);
            debug_assert_eq!(pages_of(bits), 1, "{folio} is huge");
            let counts = u64::from(bits & flag::UNEVICTABLE == 0);
            evictable += counts;
            file += counts & u64::from(bits & flag::SWAPBACKED == 0);
        }
        self.lru.pages[z][0] -= evictable - file;
        self.lru.pages[z][1] -= file;
        self.lru.total -= evictable;
        self.lru.lists.remove_all(folios, z);
    }

    /// Takes the folio at the tail of a list.
    #[inline]
    pub fn lru_pop_tail(&mut self, list: ListId) -> Option<FolioId> {
        let folio = self.lru.lists.tail(list)?;
        self.lru_del(folio);
        Some(folio)
    }

    /// Folio pages of a zone on evictable lists: anonymous, file.
    pub(crate) fn zone_lru_pages(&self, z: ZoneId) -> [u64; 2] {
        self.lru.pages[z]
    }

    /// Folio pages on evictable lists of all zones.
    #[inline]
    pub fn nr_lru_pages(&self) -> u64 {
        self.lru.total
    }

    /// Folio pages that are on evictable lists or wait for their list.
    #[inline]
    pub(crate) fn nr_resident(&self) -> u64 {
        self.lru.total + self.lru.batches.nr_waiting()
    }

    /// Folio pages of a node on evictable lists: anonymous, file.
    pub fn node_lru_pages(&self, n: NodeId) -> [u64; 2] {
        self.zones
            .of_node(n)
            .iter()
            .fold([0; 2], |a, &z| [a[0] + self.lru.pages[z][0], a[1] + self.lru.pages[z][1]])
    }

    /// True if anonymous memory can be reclaimed at all: some slot is free
    /// (`can_reclaim_anon_pages`), in the group's allowance too.
    #[inline]
    pub fn can_swap(&self, memcg: MemcgId) -> bool {
        self.swap.as_ref().is_some_and(Swap::has_room) && self.memcgs.swap_room(memcg)
    }

    /// True if swap is so full that copies in swap of pages in memory are a luxury
    /// (`mem_cgroup_swap_full`): that of the machine, or of a level of the folio's group.
    #[inline]
    pub fn swap_is_scarce(&self, folio: FolioId) -> bool {
        self.swap.as_ref().is_some_and(Swap::full)
            || self.memcgs.swap_half_full(self.frames.memcg(folio))
    }

    /// Bits that a shadow may have: 32 if all folios are on the same lists, so that a swap slot
    /// costs no more than its page-table entry; else 64.
    pub fn shadow_bits(&self) -> u32 {
        shadow_bits(&self.zones, self.memcgs.len())
    }

    /// True if swap space exists (`total_swap_pages`).
    pub fn has_swap(&self) -> bool {
        self.swap.is_some()
    }

    /// True if accesses through `MADV_RANDOM` mappings do not count.
    #[inline]
    pub(crate) fn ignores_random(&self) -> bool {
        self.given.rules.random_has_no_recency
    }

    /// Gauges under their names in `/proc/vmstat`, without those of the policy's lists.
    pub fn gauges(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("nr_free_pages", self.zones.nr_free()),
            ("nr_anon_pages", self.virt.spaces.anon_mapped),
            ("nr_anon_transparent_hugepages", self.nr_thp()),
            ("nr_mapped", self.virt.spaces.file_mapped),
            ("nr_file_pages", self.cache.files.nr_cached + self.cache.files.nr_shmem),
            ("nr_shmem", self.cache.files.nr_shmem),
            ("nr_dirty", self.cache.files.nr_dirty),
            ("nr_writeback", self.cache.files.nr_writeback),
            ("nr_page_table_pages", self.kernel.nr_page_tables),
            ("nr_slab_reclaimable", self.kernel.slab_frames.len() as u64),
            ("nr_swapcached", self.swap.as_ref().map_or(0, |s| s.cached)),
            ("nr_swap_used", self.swap.as_ref().map_or(0, |s| u64::from(s.in_use_count()))),
            ("nr_zram_store", self.nr_zram_store()),
            ("workingset_nodes", self.workingset_nodes()),
        ]
    }

    /// Host bytes of everything that grows with simulated memory.
    pub fn host_bytes(&self) -> u64 {
        self.frames.host_bytes()
            + self.lru.lists.host_bytes()
            + self.virt.pages.host_bytes()
            + self.swap.as_ref().map_or(0, Swap::host_bytes)
    }

    /// The process that owns a page.
    pub(crate) fn space_of(&self, page: PageIdx) -> AsId {
        match self.virt.pages.group(page.group()).owner {
            crate::virt::pages::Owner::Process(a) => a,
            o => panic!("{page} belongs to {o:?}, not to a process"),
        }
    }
}

/// As [`Memory::shadow_bits`], of `groups` groups with the root.
fn shadow_bits(zones: &Zones, groups: usize) -> u32 {
    let by_zone = zones.lru_by_zone() && zones.ids().count() > 1;
    if zones.nr_nodes() > 1 || groups > 1 || by_zone { 64 } else { 32 }
}
