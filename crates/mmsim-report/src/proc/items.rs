//! The items of `/proc/vmstat` and `/proc/zoneinfo` in the kernel's order, and where the
//! model has a value for one. A counter has its place in its row; here stand the items around.

use mmsim_core::base::id::NodeId;
use mmsim_core::base::vmstat::{KernelFile, Others, VmEvent as E};
use mmsim_core::machine::snapshot::{PageCounts, Snapshot, ZoneSnapshot};
use mmsim_core::memory::HUGE_ORDER;

/// An item since 6.16.
const FREE_BLOCKS: &str = "nr_free_pages_blocks";

/// An item of the patches that give lazily freed memory a list of its own.
const LAZYFREE: &str = "nr_lazyfree";

/// Items of each zone. Linux 6.18 include/linux/mmzone.h, `enum zone_stat_item`.
const ZONE: &str = "nr_free_pages nr_free_pages_blocks nr_zone_inactive_anon nr_zone_active_anon \
                    nr_zone_inactive_file nr_zone_active_file nr_zone_unevictable \
                    nr_zone_write_pending nr_mlock nr_bounce nr_zspages nr_free_cma nr_unaccepted";

/// Items of each zone, on kernels that know nodes: where allocations found their pages.
const NUMA: &str = "numa_hit numa_miss numa_foreign numa_interleave numa_local numa_other";

/// The first item of the system, behind those of nodes.
const SYSTEM: &str = "nr_dirty_threshold";

/// All items that are no counters of the model: of zones, of each node and of the system (Linux
/// 6.12 include/linux/mmzone.h, `enum node_stat_item`, and include/linux/vmstat.h, `enum
/// vm_stat_item`), and events that it does not count (include/linux/vm_event_item.h).
const OTHERS: &[Others] = &[
    (None, ZONE),
    (None, NUMA),
    (
        None,
        "nr_inactive_anon nr_active_anon nr_inactive_file nr_active_file nr_lazyfree \
         nr_unevictable nr_slab_reclaimable nr_slab_unreclaimable nr_isolated_anon nr_isolated_file \
         workingset_nodes",
    ),
    (
        Some(E::WorkingsetNodereclaim),
        "nr_anon_pages nr_mapped nr_file_pages nr_dirty nr_writeback nr_writeback_temp nr_shmem \
         nr_shmem_hugepages nr_shmem_pmdmapped nr_file_hugepages nr_file_pmdmapped \
         nr_anon_transparent_hugepages",
    ),
    (
        Some(E::NrWritten),
        "nr_throttled_written nr_kernel_misc_reclaimable nr_foll_pin_acquired \
         nr_foll_pin_released nr_kernel_stack nr_page_table_pages nr_sec_page_table_pages \
         nr_iommu_pages nr_swapcached pgpromote_success pgpromote_candidate pgdemote_kswapd \
         pgdemote_direct pgdemote_khugepaged nr_dirty_threshold nr_dirty_background_threshold \
         nr_memmap_pages nr_memmap_boot_pages",
    ),
    (Some(E::PgAllocMovable), "pgalloc_device"),
    (Some(E::AllocStallMovable), "allocstall_device"),
    (Some(E::PgSkipMovable), "pgskip_device"),
    (Some(E::PgStealDirect), "pgsteal_khugepaged"),
    (Some(E::PgScanDirect), "pgscan_khugepaged"),
    (Some(E::PgStealFile), "zone_reclaim_success zone_reclaim_failed pginodesteal"),
    (Some(E::SlabsScanned), "kswapd_inodesteal"),
    (Some(E::DropPagecache), "drop_slab"),
    (
        Some(E::OomKill),
        "numa_pte_updates numa_huge_pte_updates numa_hint_faults numa_hint_faults_local \
         numa_pages_migrated",
    ),
    (Some(E::PgMigrateFail), "thp_migration_success thp_migration_fail thp_migration_split"),
    (Some(E::HtlbBuddyAllocFail), "cma_alloc_success cma_alloc_fail"),
    (Some(E::UnevictablePgsMunlocked), "unevictable_pgs_cleared unevictable_pgs_stranded"),
    (
        Some(E::ThpFaultFallbackCharge),
        "thp_collapse_alloc thp_collapse_alloc_failed thp_file_alloc thp_file_fallback \
         thp_file_fallback_charge thp_file_mapped",
    ),
    (Some(E::ThpSplitPage), "thp_split_page_failed"),
    (Some(E::ThpDeferredSplitPage), "thp_underused_split_page"),
    (
        Some(E::ThpSplitPmd),
        "thp_scan_exceed_none_pte thp_scan_exceed_swap_pte thp_scan_exceed_share_pte thp_split_pud \
         thp_zero_page_alloc thp_zero_page_alloc_failed",
    ),
    (Some(E::ThpSwpoutFallback), "balloon_inflate balloon_deflate balloon_migrate"),
    (Some(E::SwpoutZero), "ksm_swpin_copy cow_ksm"),
    (Some(E::ZswpWb), "direct_map_level2_splits direct_map_level3_splits"),
];

/// The items of `/proc/vmstat` that a machine's kernel has.
pub(super) fn of_vmstat(s: &Snapshot) -> Vec<&'static str> {
    let mut items = KernelFile::Vmstat.items(OTHERS);
    items.retain(|name| is_there(s, name));
    items
}

/// The items of each zone.
pub(super) fn of_zones(s: &Snapshot) -> impl Iterator<Item = &'static str> {
    ZONE.split(' ').filter(|name| is_there(s, name))
}

/// Where allocations of a zone found their pages.
pub(super) fn of_numa() -> impl Iterator<Item = &'static str> {
    NUMA.split(' ')
}

/// The items of each node.
pub(super) fn of_each_node(s: &Snapshot) -> impl Iterator<Item = &'static str> {
    let before = ZONE.split(' ').chain(of_numa()).count();
    let items = KernelFile::Vmstat.items(OTHERS).into_iter().skip(before);
    let there = |name: &&str| *name != LAZYFREE || s.has_lazyfree_list;
    items.take_while(|name| *name != SYSTEM).filter(there)
}

fn is_there(s: &Snapshot, name: &str) -> bool {
    match name {
        FREE_BLOCKS => s.counts_free_blocks,
        LAZYFREE => s.has_lazyfree_list,
        _ => !s.not_counted.iter().any(|e| e.name() == name),
    }
}

/// An item of the machine; `None`: the model has nothing for it.
pub(super) fn of_machine(s: &Snapshot, name: &str) -> Option<u64> {
    let zones = s.zones.iter().map(|z| of_zone(s, z, name)).reduce(|a, b| Some(a? + b?));
    zones.flatten().or_else(|| of_nodes(s, None, name)).or_else(|| of_system(s, name))
}

/// An item of a zone; `None`: the model has nothing for it.
pub(super) fn of_zone(s: &Snapshot, z: &ZoneSnapshot, name: &str) -> Option<u64> {
    let c = &z.counts;
    Some(match name {
        "nr_free_pages" => z.free,
        FREE_BLOCKS => z.free_in_blocks(s.pageblock_order),
        "nr_zone_inactive_anon" => c.lru[0],
        "nr_zone_active_anon" => c.lru[1],
        "nr_zone_inactive_file" => c.lru[2],
        "nr_zone_active_file" => c.lru[3],
        "nr_zone_unevictable" => c.lru[4],
        "nr_zone_write_pending" => c.dirty + c.writeback,
        "nr_mlock" => c.mlocked,
        "nr_zspages" => z.zspages,
        _ => return None,
    })
}

/// An item of a node, or of all. What is counted for the machine as a whole stands at
/// node 0.
pub(super) fn of_nodes(s: &Snapshot, node: Option<NodeId>, name: &str) -> Option<u64> {
    let zones = s.zones.iter().filter(|z| node.is_none_or(|n| z.node == n));
    let counts = zones.fold(PageCounts::default(), |sum, z| sum.plus(&z.counts));
    if let Some(pages) = of_pages(&counts, name) {
        return Some(pages);
    }
    let whole = match name {
        "workingset_nodes" => s.workingset_nodes,
        _ => s.vmstat.by_name(name)?,
    };
    Some(if node.is_none_or(|n| n == NodeId(0)) { whole } else { 0 })
}

/// An item that follows from the uses of frames.
fn of_pages(c: &PageCounts, name: &str) -> Option<u64> {
    Some(match name {
        "nr_inactive_anon" => c.lru[0],
        "nr_active_anon" => c.lru[1],
        "nr_inactive_file" => c.lru[2],
        "nr_active_file" => c.lru[3],
        "nr_unevictable" => c.lru[4],
        LAZYFREE => c.lru[5],
        "nr_slab_reclaimable" => c.slab,
        "nr_isolated_anon" => c.isolated[0],
        "nr_isolated_file" => c.isolated[1],
        "nr_anon_pages" => c.anon_mapped,
        // Kept in pages, shown in huge ones.
        "nr_anon_transparent_hugepages" => c.anon_thp >> HUGE_ORDER,
        "nr_mapped" => c.file_mapped,
        "nr_file_pages" => c.file + c.swapcached,
        "nr_shmem" => c.shmem,
        "nr_dirty" => c.dirty,
        "nr_writeback" => c.writeback,
        "nr_page_table_pages" => c.page_tables,
        "nr_swapcached" => c.swapcached,
        _ => return None,
    })
}

/// An item of the system.
fn of_system(s: &Snapshot, name: &str) -> Option<u64> {
    match name {
        SYSTEM => Some(s.dirty_limits.1),
        "nr_dirty_background_threshold" => Some(s.dirty_limits.0),
        _ => None,
    }
}
