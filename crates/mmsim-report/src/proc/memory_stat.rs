//! `memory.stat` of a memory cgroup (version 2), in bytes and events.

use std::fmt::Write;

use mmsim_core::machine::snapshot::MemcgSnapshot;

use mmsim_core::base::id::PAGE_SIZE;

/// Sizes, in the order of the file (Linux 6.12 mm/memcontrol.c, `memory_stats`).
const SIZES: &[&str] = &[
    "anon",
    "file",
    "kernel",
    "kernel_stack",
    "pagetables",
    "sec_pagetables",
    "percpu",
    "sock",
    "vmalloc",
    "shmem",
    "zswap",
    "zswapped",
    "file_mapped",
    "file_dirty",
    "file_writeback",
    "swapcached",
    "anon_thp",
    "file_thp",
    "shmem_thp",
    "inactive_anon",
    "active_anon",
    "inactive_file",
    "active_file",
    "unevictable",
    "slab_reclaimable",
    "slab_unreclaimable",
    "slab",
];

/// Events, in the order of the file.
const EVENTS: &[&str] = &[
    "workingset_refault_anon",
    "workingset_refault_file",
    "workingset_activate_anon",
    "workingset_activate_file",
    "workingset_restore_anon",
    "workingset_restore_file",
    "workingset_nodereclaim",
    "pgdemote_kswapd",
    "pgdemote_direct",
    "pgdemote_khugepaged",
    "pgpromote_success",
    "pgscan",
    "pgsteal",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgscan_khugepaged",
    "pgscan_proactive",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "pgsteal_khugepaged",
    "pgsteal_proactive",
    "pgfault",
    "pgmajfault",
    "pgrefill",
    "pgactivate",
    "pgdeactivate",
    "pglazyfree",
    "pglazyfreed",
    "swpin_zero",
    "swpout_zero",
    "zswpin",
    "zswpout",
    "zswpwb",
    "thp_fault_alloc",
    "thp_collapse_alloc",
    "thp_swpout",
    "thp_swpout_fallback",
    "numa_pages_migrated",
    "numa_pte_updates",
    "numa_hint_faults",
];

/// The file of a group. `proactive`: its kernel counts reclaim for `memory.reclaim` separately.
pub fn memory_stat(g: &MemcgSnapshot, proactive: bool) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: u64| {
        writeln!(text, "{name} {value}").expect("writing to a string");
    };
    for name in SIZES {
        line(name, pages(g, name) * PAGE_SIZE);
    }
    for name in EVENTS.iter().filter(|name| proactive || !name.ends_with("_proactive")) {
        line(name, events(g, name));
    }
    text
}

/// A size in pages; 0 for what the model does not have.
fn pages(g: &MemcgSnapshot, name: &str) -> u64 {
    let c = &g.counts;
    match name {
        "anon" => c.anon_mapped,
        // The swap cache counts as file pages in the kernel.
        "file" => c.file + c.swapcached,
        "kernel" => c.page_tables + c.slab,
        "pagetables" => c.page_tables,
        "anon_thp" => c.anon_thp,
        "file_mapped" => c.file_mapped,
        "file_dirty" => c.dirty,
        "file_writeback" => c.writeback,
        "swapcached" => c.swapcached,
        "inactive_anon" => c.lru[0],
        "active_anon" => c.lru[1],
        "inactive_file" => c.lru[2],
        "active_file" => c.lru[3],
        "unevictable" => c.lru[4],
        "slab_reclaimable" | "slab" => c.slab,
        _ => 0,
    }
}

fn events(g: &MemcgSnapshot, name: &str) -> u64 {
    let counter = |name: &str| g.vmstat.by_name(name).unwrap_or(0);
    match name {
        "pgscan" | "pgsteal" => ["kswapd", "direct", "proactive"]
            .map(|by| counter(&format!("{name}_{by}")))
            .iter()
            .sum(),
        name => counter(name),
    }
}
