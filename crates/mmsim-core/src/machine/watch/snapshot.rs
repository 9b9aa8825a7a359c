//! Numbers that the kernel's text files about memory would show at an instant.
//!
//! Sizes of lists and uses of frames are not kept per zone and per group as a run goes: a query
//! counts them, by one pass over the frames that were ever handed out. So they cost nothing unless
//! asked for, and they are a second opinion on the gauges that are kept. What is kept for the
//! machine as a whole (most event counters) has no division by node.
//!
//! Meanings are those of Linux 6.12 (include/linux/mmzone.h, mm/memcontrol.c): the swap
//! cache counts among file pages, and a page that many processes map is mapped once.

use crate::base::id::{Idx, IndexVec, MemcgId, NodeId, Pfn, ZoneId};
use crate::base::migratetype::{Migratetype, NR_MIGRATETYPES};
use crate::base::time::SimTime;
use crate::base::vmstat::{VmEvent, VmStat};
use crate::config::{HUGE_ORDER, ZoneKind};
use crate::machine::Machine;
use crate::machine::watch::result::{OomSummary, Pressure};
pub use crate::machine::watch::swaps::SwapArea;
use crate::memory::memcg_tree::ROOT;
use crate::memory::{BlockUse, Layout, Memory, Survey, ZswapUse};
use crate::phys::buddy::NR_ORDERS;
use crate::phys::frames::{FrameKind, flag, pages_of};
use crate::phys::pcp::PcpView;
use crate::phys::zone::Zone;
use crate::policy::MAX_RECLAIM_RETRIES;
use crate::policy::ReclaimPolicy;
pub use crate::workload::PressureAverages;

/// Frames by what they are used for, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageCounts {
    /// On LRU lists: inactive and active anonymous, inactive and active file, unevictable, and lazily
    /// freed, if that has a list of its own.
    pub lru: [u64; 6],
    /// Taken off their lists by a scan: anonymous, file.
    pub isolated: [u64; 2],
    /// Anonymous and mapped.
    pub anon_mapped: u64,
    /// Of these, pages of huge folios.
    pub anon_thp: u64,
    /// Mapped pages of files, counted once each.
    pub file_mapped: u64,
    /// In the page cache, shared memory too; the swap cache not included.
    pub file: u64,
    /// Pages of shared memory, mapped or not.
    pub shmem: u64,
    /// Dirty pages of files.
    pub dirty: u64,
    /// Under write, to swap too.
    pub writeback: u64,
    /// In the swap cache.
    pub swapcached: u64,
    /// Locked in memory.
    pub mlocked: u64,
    /// Page tables.
    pub page_tables: u64,
    /// Slab: nodes of page caches and of the swap map.
    pub slab: u64,
}

/// The policy's part in where a folio is listed.
#[derive(Clone, Copy)]
struct Listed {
    active: bool,
    own_lazyfree: bool,
}

impl PageCounts {
    /// Counts one frame in use; for a large folio all of its frames with the first.
    /// `mapped`: pages of it that are mapped. `lists`: what the policy says of it.
    fn count(&mut self, kind: FrameKind, bits: u32, mapped: u64, lists: Listed) {
        let has = |flag: u32| bits & flag != 0;
        match kind {
            FrameKind::PageTable => self.page_tables += 1,
            FrameKind::Slab => self.slab += 1,
            FrameKind::Anon | FrameKind::File | FrameKind::Shmem => {
                self.writeback += u64::from(has(flag::WRITEBACK));
                self.swapcached += u64::from(has(flag::SWAPCACHE));
                if has(flag::ORPHAN) {
                    // Its owner is gone: only the device and its slot still know it.
                    return;
                }
                let file = kind != FrameKind::Anon;
                self.shmem += u64::from(kind == FrameKind::Shmem);
                let file_lru = !has(flag::SWAPBACKED);
                let pages = pages_of(bits);
                if has(flag::LRU) {
                    let list = match lists {
                        _ if has(flag::UNEVICTABLE) => 4,
                        Listed { own_lazyfree: true, .. } if file_lru && !file => 5,
                        Listed { active, .. } => usize::from(file_lru) * 2 + usize::from(active),
                    };
                    self.lru[list] += pages;
                }
                self.isolated[usize::from(file_lru)] += u64::from(has(flag::ISOLATED)) * pages;
                self.file += u64::from(file);
                // A huge folio that is mapped in part is none by this count.
                let thp = pages == 1 << HUGE_ORDER && mapped == pages;
                match file {
                    true => self.file_mapped += mapped,
                    false => self.anon_mapped += mapped,
                }
                self.anon_thp += if thp { pages } else { 0 };
                self.dirty += u64::from(kind == FrameKind::File && has(flag::DIRTY));
                self.mlocked += u64::from(has(flag::MLOCKED)) * pages;
            }
            FrameKind::Free
            | FrameKind::Buddy
            | FrameKind::Pcp
            | FrameKind::Kernel
            | FrameKind::KernelOther
            | FrameKind::HugeTlb
            | FrameKind::Tail
            | FrameKind::Fresh => {}
        }
    }

    /// The sum of two.
    pub fn plus(&self, o: &PageCounts) -> PageCounts {
        PageCounts {
            lru: std::array::from_fn(|i| self.lru[i] + o.lru[i]),
            isolated: std::array::from_fn(|i| self.isolated[i] + o.isolated[i]),
            anon_mapped: self.anon_mapped + o.anon_mapped,
            anon_thp: self.anon_thp + o.anon_thp,
            file_mapped: self.file_mapped + o.file_mapped,
            file: self.file + o.file,
            shmem: self.shmem + o.shmem,
            dirty: self.dirty + o.dirty,
            writeback: self.writeback + o.writeback,
            swapcached: self.swapcached + o.swapcached,
            mlocked: self.mlocked + o.mlocked,
            page_tables: self.page_tables + o.page_tables,
            slab: self.slab + o.slab,
        }
    }
}

/// A zone with memory. All sizes are in pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneSnapshot {
    /// Which kind.
    pub kind: ZoneKind,
    /// Its node.
    pub node: NodeId,
    /// First frame.
    pub start_pfn: u64,
    /// Pages given to the allocator.
    pub managed: u64,
    /// Free pages, without those in per-CPU lists.
    pub free: u64,
    /// Temporary increase of the watermarks.
    pub boost: u64,
    /// Watermarks min, low, high, promo, without the boost.
    pub watermark: [u64; 4],
    /// Pages kept from requests that could use a higher zone, by kind of that zone.
    pub lowmem_reserve: [u64; 4],
    /// Uses of its frames.
    pub counts: PageCounts,
    /// Frames of zram's store.
    pub zspages: u64,
    /// Per-CPU lists.
    pub pcp: Vec<PcpView>,
    /// Free blocks by migratetype and order; pages in per-CPU lists do not count.
    pub free_blocks: [[u64; NR_ORDERS]; NR_MIGRATETYPES],
    /// Pageblocks by migratetype.
    pub pageblocks: [u64; NR_MIGRATETYPES],
    /// The pageblocks, in address order.
    pub blocks: Vec<BlockUse>,
    /// Blocks that could be made of its memory, by order.
    pub surveys: [Survey; NR_ORDERS],
}

/// A zone without memory.
impl Default for ZoneSnapshot {
    fn default() -> Self {
        ZoneSnapshot {
            kind: ZoneKind::Normal,
            node: NodeId(0),
            start_pfn: 0,
            managed: 0,
            free: 0,
            boost: 0,
            watermark: [0; 4],
            lowmem_reserve: [0; 4],
            counts: PageCounts::default(),
            zspages: 0,
            pcp: Vec::new(),
            free_blocks: [[0; NR_ORDERS]; NR_MIGRATETYPES],
            pageblocks: [0; NR_MIGRATETYPES],
            blocks: Vec::new(),
            surveys: [Survey::default(); NR_ORDERS],
        }
    }
}

impl ZoneSnapshot {
    /// Free pages of blocks that are a pageblock or more (`nr_free_pages_blocks`).
    pub fn free_in_blocks(&self, pageblock_order: u8) -> u64 {
        let of_order = |k: usize| self.free_blocks.iter().map(|n| n[k] << k).sum::<u64>();
        (pageblock_order.into()..NR_ORDERS).map(of_order).sum()
    }
    /// A zone as the allocator sees it; uses of frames are left at 0, and pageblocks out.
    pub fn of(zone: &Zone) -> ZoneSnapshot {
        let [min, low, high] = zone.watermark;
        ZoneSnapshot {
            kind: zone.kind,
            node: zone.node,
            start_pfn: zone.first.0.into(),
            managed: zone.managed.into(),
            free: zone.free,
            boost: zone.boost,
            watermark: [min, low, high, high + (high - low)],
            lowmem_reserve: zone.lowmem_reserve,
            pcp: zone.pcps().collect(),
            free_blocks: Migratetype::ALL
                .map(|mt| std::array::from_fn(|order| zone.nr_free_blocks(order as u8, mt))),
            pageblocks: Migratetype::ALL.map(|mt| zone.pageblocks(mt)),
            ..ZoneSnapshot::default()
        }
    }
}

/// A memory cgroup with all below it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MemcgSnapshot {
    /// Name; empty for the root, which is the whole machine.
    pub name: String,
    /// Uses of the frames that are charged to it. Of the kernel's own memory only page
    /// tables are known by group.
    pub counts: PageCounts,
    /// Its counters.
    pub vmstat: VmStat,
    /// `memory.current` and `memory.swap.current`, in pages.
    pub usage: [u64; 2],
    /// `memory.pressure`.
    pub pressure: Pressure,
    /// Events by file and name, as in `memory.events.low`.
    pub events: Vec<(&'static str, u64)>,
    /// Its entries in zswap; of the root, those of all groups.
    pub zswap: ZswapUse,
}

/// All of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Snapshot {
    /// When.
    pub at: SimTime,
    /// CPUs.
    pub cpus: u32,
    /// Event counters of the machine.
    pub vmstat: VmStat,
    /// For each node, true if kswapd has given it up.
    pub unreclaimable: Vec<bool>,
    /// Pages of a pageblock, as a power of two.
    pub pageblock_order: u8,
    /// True if the kernel counts the free pages of whole pageblocks.
    pub counts_free_blocks: bool,
    /// True if lazily freed memory has a list of its own, whose size is shown.
    pub has_lazyfree_list: bool,
    /// Counters that the kernel does not have.
    pub not_counted: Vec<VmEvent>,
    /// Zones with memory, in address order, nodes one after the other.
    pub zones: Vec<ZoneSnapshot>,
    /// Use of every frame, and the free blocks by order.
    pub layout: Layout,
    /// Groups; the root is first.
    pub groups: Vec<MemcgSnapshot>,
    /// Swap devices.
    pub swaps: Vec<SwapArea>,
    /// `MemAvailable` of `/proc/meminfo`, in pages.
    pub available: u64,
    /// Huge pages of the pool of hugetlbfs: in all, mapped nowhere, and of these promised to mappings.
    pub hugetlb: [u64; 3],
    /// The first act of the OOM killer, if it acted.
    pub oom: Option<OomSummary>,
    /// True if the kernel's table of processes has the parts of resident memory then.
    pub oom_parts_of_rss: bool,
    /// Frames of zswap's pool.
    pub zswap_pool: u64,
    /// Nodes that hold shadows alone.
    pub workingset_nodes: u64,
    /// Dirty pages at which the flusher wakes, and at which writers wait.
    pub dirty_limits: (u64, u64),
    /// Pressure since the start.
    pub pressure: Pressure,
    /// Averages of pressure.
    pub averages: PressureAverages,
}

/// Zones and groups with the uses of their frames.
fn counted(mem: &Memory, policy: &dyn ReclaimPolicy) -> (Vec<ZoneSnapshot>, Vec<PageCounts>) {
    let mut groups = vec![PageCounts::default(); mem.memcgs.len()];
    let mut zones = Vec::new();
    for z in mem.zones.ids() {
        let zone = &mem.zones[z];
        let mut snapshot = ZoneSnapshot::of(zone);
        for pfn in zone.touched().into_iter().flatten().map(Pfn) {
            let (kind, mut bits) = (mem.frames.kind(pfn), mem.frames.bits(pfn));
            if bits & flag::MLOCKED != 0 && !mem.is_mlocked(pfn) {
                bits &= !flag::MLOCKED;
            }
            let mapped = mem.pages_mapped(pfn);
            let active = bits & flag::LRU != 0 && policy.is_active(mem, pfn);
            let lists = Listed { active, own_lazyfree: policy.has_lazyfree_list() };
            snapshot.counts.count(kind, bits, mapped, lists);
            if matches!(kind, FrameKind::Anon | FrameKind::File | FrameKind::Shmem) {
                groups[mem.frames.memcg(pfn).index()].count(kind, bits, mapped, lists);
            }
        }
        let is_here = |pfn: &Pfn| mem.zones.of(*pfn) == z;
        snapshot.blocks = mem.block_uses(z);
        snapshot.surveys = std::array::from_fn(|order| mem.survey_zone(z, order as u8));
        snapshot.zspages = mem.zspages().filter(is_here).count() as u64;
        zones.push(snapshot);
    }
    for a in mem.virt.spaces.ids() {
        let space = &mem.virt.spaces[a];
        groups[space.memcg.index()].page_tables += space.tables;
    }
    // Each group with those below it, which have higher numbers.
    for m in mem.memcgs.ids().rev() {
        if let Some(above) = mem.memcgs.tree.parent(m).filter(|&above| above != ROOT) {
            groups[above.index()] = groups[above.index()].plus(&groups[m.index()]);
        }
    }
    (zones, groups)
}

impl Machine {
    /// Contents of the kernel's files now. `at`: the clock of whoever looks, no earlier than what
    /// happened so far.
    pub fn snapshot(&mut self, at: SimTime) -> Snapshot {
        let mark = self.take_mark(at);
        let psi = &mut self.sched.psi;
        let of = |m: MemcgId| psi.total_of(m, at);
        let pressures: IndexVec<MemcgId, Pressure> =
            self.mem.memcgs.ids().map(of).collect::<Vec<_>>().into();
        let available = self.meminfo().mem_available;
        let mem = &self.mem;
        let pool = &mem.kernel.hugetlb;
        let hugetlb = [pool.total(), pool.free(), pool.reserved()].map(u64::from);
        let (zones, counts) = counted(mem, &*self.policies.lru);
        let vmstat = mem.memcgs.vmstat_with_descendants();
        let local_events = self.config.memcg_mount.local_events;
        let whole = zones.iter().fold(PageCounts::default(), |sum, z| sum.plus(&z.counts));
        let group = |m: MemcgId| MemcgSnapshot {
            name: mem.memcgs[m].config.name.clone(),
            counts: if m.0 == 0 { whole } else { counts[m.index()] },
            vmstat: if m.0 == 0 { of_root(mem) } else { vmstat[m].clone() },
            usage: [mem.memcgs[m].usage, mem.memcgs[m].swap],
            pressure: pressures[m],
            events: mem.memcgs[m].events.named(local_events).collect(),
            zswap: mem.memcgs.zswap_of(m),
        };
        Snapshot {
            at,
            cpus: self.config.cpus,
            unreclaimable: self
                .daemons
                .kswapds
                .iter()
                .map(|k| k.failures >= MAX_RECLAIM_RETRIES)
                .collect(),
            zones,
            pageblock_order: mem.zones[ZoneId(0)].buddy().rules().pageblock_order,
            counts_free_blocks: mem.given.rules.counts_free_blocks,
            has_lazyfree_list: self.policies.lru.has_lazyfree_list(),
            not_counted: VmEvent::ALL
                .iter()
                .copied()
                .filter(|e| !e.row().is_of(&mem.given.rules))
                .collect(),
            groups: mem.memcgs.ids().map(group).collect(),
            layout: mem.layout(),
            swaps: SwapArea::all(mem),
            available,
            oom: self.record.oom.clone(),
            oom_parts_of_rss: mem.given.rules.oom_parts_of_rss,
            hugetlb,
            zswap_pool: mem.zswap().map_or(0, |z| z.store.pool.nr_frames()),
            workingset_nodes: mem.workingset_nodes(),
            dirty_limits: self.dirty_limits(),
            vmstat: mark.vmstat,
            pressure: mark.pressure,
            averages: self.sched.psi.averages(),
        }
    }

    /// Shows the files to whoever watches.
    pub(in crate::machine) fn show(&mut self, phase: Option<&str>, at: SimTime) {
        let Some(mut watcher) = self.course.watch.snapshot.take() else { return };
        watcher(phase, &self.snapshot(at));
        self.course.watch.snapshot = Some(watcher);
    }
}

/// Counters of the root with all below it: those of the machine, and the reclaim for limits
/// that only groups count.
fn of_root(mem: &Memory) -> VmStat {
    let mut vmstat = mem.stats.vmstat.clone();
    for &e in VmEvent::ALL {
        vmstat.add(e, mem.memcgs.vmstat(MemcgId(0))[e]);
    }
    vmstat
}
