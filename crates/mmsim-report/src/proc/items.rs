//! The items of `/proc/vmstat` and `/proc/zoneinfo` in the kernel's order, and where the
//! model has a value for one.

use mmsim_core::base::id::NodeId;
use mmsim_core::machine::snapshot::{PageCounts, Snapshot, ZoneSnapshot};
use mmsim_core::memory::HUGE_ORDER;

/// An item since 6.16.
const FREE_BLOCKS: &str = "nr_free_pages_blocks";

/// The items of each zone that a machine's kernel has.
pub(super) fn of_zones(s: &Snapshot) -> impl Iterator<Item = &'static str> {
    ZONE.iter().copied().filter(|&name| name != FREE_BLOCKS || s.counts_free_blocks)
}

/// The events that a machine's kernel counts.
pub(super) fn of_events(s: &Snapshot) -> impl Iterator<Item = &'static str> {
    EVENTS.iter().copied().filter(|&name| match name {
        "pgrotate_anon" | "pgrotate_file" => s.counts_rotated,
        "nrswpin" | "nrswpout" => s.counts_swap_requests,
        _ => s.counts_proactive || !name.ends_with("_proactive"),
    })
}

/// Items of each zone. Linux 6.18 include/linux/mmzone.h, `enum zone_stat_item`.
pub(super) const ZONE: &[&str] = &[
    "nr_free_pages",
    FREE_BLOCKS,
    "nr_zone_inactive_anon",
    "nr_zone_active_anon",
    "nr_zone_inactive_file",
    "nr_zone_active_file",
    "nr_zone_unevictable",
    "nr_zone_write_pending",
    "nr_mlock",
    "nr_bounce",
    "nr_zspages",
    "nr_free_cma",
    "nr_unaccepted",
];

/// Items of each zone, on kernels that know nodes: where allocations found their pages.
pub(super) const NUMA: &[&str] =
    &["numa_hit", "numa_miss", "numa_foreign", "numa_interleave", "numa_local", "numa_other"];

/// Items of each node. Linux 6.12 include/linux/mmzone.h, `enum node_stat_item`.
pub(super) const NODE: &[&str] = &[
    "nr_inactive_anon",
    "nr_active_anon",
    "nr_inactive_file",
    "nr_active_file",
    "nr_unevictable",
    "nr_slab_reclaimable",
    "nr_slab_unreclaimable",
    "nr_isolated_anon",
    "nr_isolated_file",
    "workingset_nodes",
    "workingset_refault_anon",
    "workingset_refault_file",
    "workingset_activate_anon",
    "workingset_activate_file",
    "workingset_restore_anon",
    "workingset_restore_file",
    "workingset_nodereclaim",
    "nr_anon_pages",
    "nr_mapped",
    "nr_file_pages",
    "nr_dirty",
    "nr_writeback",
    "nr_writeback_temp",
    "nr_shmem",
    "nr_shmem_hugepages",
    "nr_shmem_pmdmapped",
    "nr_file_hugepages",
    "nr_file_pmdmapped",
    "nr_anon_transparent_hugepages",
    "nr_vmscan_write",
    "nr_vmscan_immediate_reclaim",
    "nr_dirtied",
    "nr_written",
    "nr_throttled_written",
    "nr_kernel_misc_reclaimable",
    "nr_foll_pin_acquired",
    "nr_foll_pin_released",
    "nr_kernel_stack",
    "nr_page_table_pages",
    "nr_sec_page_table_pages",
    "nr_iommu_pages",
    "nr_swapcached",
    "pgpromote_success",
    "pgpromote_candidate",
    "pgdemote_kswapd",
    "pgdemote_direct",
    "pgdemote_khugepaged",
];

/// Items of the system. Linux 6.12 include/linux/vmstat.h, `enum vm_stat_item`.
pub(super) const SYSTEM: &[&str] = &[
    "nr_dirty_threshold",
    "nr_dirty_background_threshold",
    "nr_memmap_pages",
    "nr_memmap_boot_pages",
];

/// Events. Linux 6.12 include/linux/vm_event_item.h.
pub(super) const EVENTS: &[&str] = &[
    "pgpgin",
    "pgpgout",
    "pswpin",
    "pswpout",
    "pgalloc_dma",
    "pgalloc_dma32",
    "pgalloc_normal",
    "pgalloc_movable",
    "pgalloc_device",
    "allocstall_dma",
    "allocstall_dma32",
    "allocstall_normal",
    "allocstall_movable",
    "allocstall_device",
    "pgskip_dma",
    "pgskip_dma32",
    "pgskip_normal",
    "pgskip_movable",
    "pgskip_device",
    "pgfree",
    "pgactivate",
    "pgdeactivate",
    "pglazyfree",
    "pgfault",
    "pgmajfault",
    "pglazyfreed",
    "pgrefill",
    "pgreuse",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "pgsteal_khugepaged",
    "pgsteal_proactive",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgscan_khugepaged",
    "pgscan_proactive",
    "pgscan_direct_throttle",
    "pgscan_anon",
    "pgscan_file",
    "pgrotate_anon",
    "pgrotate_file",
    "pgsteal_anon",
    "pgsteal_file",
    "zone_reclaim_success",
    "zone_reclaim_failed",
    "pginodesteal",
    "slabs_scanned",
    "kswapd_inodesteal",
    "kswapd_low_wmark_hit_quickly",
    "kswapd_high_wmark_hit_quickly",
    "pageoutrun",
    "pgrotated",
    "drop_pagecache",
    "drop_slab",
    "oom_kill",
    "numa_pte_updates",
    "numa_huge_pte_updates",
    "numa_hint_faults",
    "numa_hint_faults_local",
    "numa_pages_migrated",
    "pgmigrate_success",
    "pgmigrate_fail",
    "thp_migration_success",
    "thp_migration_fail",
    "thp_migration_split",
    "compact_migrate_scanned",
    "compact_free_scanned",
    "compact_isolated",
    "compact_stall",
    "compact_fail",
    "compact_success",
    "compact_daemon_wake",
    "compact_daemon_migrate_scanned",
    "compact_daemon_free_scanned",
    "htlb_buddy_alloc_success",
    "htlb_buddy_alloc_fail",
    "cma_alloc_success",
    "cma_alloc_fail",
    "unevictable_pgs_culled",
    "unevictable_pgs_scanned",
    "unevictable_pgs_rescued",
    "unevictable_pgs_mlocked",
    "unevictable_pgs_munlocked",
    "unevictable_pgs_cleared",
    "unevictable_pgs_stranded",
    "thp_fault_alloc",
    "thp_fault_fallback",
    "thp_fault_fallback_charge",
    "thp_collapse_alloc",
    "thp_collapse_alloc_failed",
    "thp_file_alloc",
    "thp_file_fallback",
    "thp_file_fallback_charge",
    "thp_file_mapped",
    "thp_split_page",
    "thp_split_page_failed",
    "thp_deferred_split_page",
    "thp_underused_split_page",
    "thp_split_pmd",
    "thp_scan_exceed_none_pte",
    "thp_scan_exceed_swap_pte",
    "thp_scan_exceed_share_pte",
    "thp_split_pud",
    "thp_zero_page_alloc",
    "thp_zero_page_alloc_failed",
    "thp_swpout",
    "thp_swpout_fallback",
    "balloon_inflate",
    "balloon_deflate",
    "balloon_migrate",
    "swap_ra",
    "swap_ra_hit",
    "swpin_zero",
    "swpout_zero",
    "ksm_swpin_copy",
    "cow_ksm",
    "zswpin",
    "zswpout",
    "zswpwb",
    "direct_map_level2_splits",
    "direct_map_level3_splits",
    "nrswpin",
    "nrswpout",
];

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
        "nr_slab_reclaimable" => c.slab,
        "nr_isolated_anon" => c.isolated[0],
        "nr_isolated_file" => c.isolated[1],
        "nr_anon_pages" => c.anon_mapped,
        // Kept in pages, shown in huge ones.
        "nr_anon_transparent_hugepages" => c.anon_thp >> HUGE_ORDER,
        "nr_mapped" => c.file_mapped,
        "nr_file_pages" => c.file + c.swapcached,
        "nr_dirty" => c.dirty,
        "nr_writeback" => c.writeback,
        "nr_page_table_pages" => c.page_tables,
        "nr_swapcached" => c.swapcached,
        _ => return None,
    })
}

/// An item of the system.
pub(super) fn of_system(s: &Snapshot, name: &str) -> Option<u64> {
    match name {
        "nr_dirty_threshold" => Some(s.dirty_limits.1),
        "nr_dirty_background_threshold" => Some(s.dirty_limits.0),
        _ => None,
    }
}
