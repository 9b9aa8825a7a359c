//! `memory.stat` of a memory cgroup (version 2), in bytes and events.

use std::fmt::Write;

use mmsim_core::base::vmstat::{KernelFile, Others, VmEvent, VmEvent as E};
use mmsim_core::machine::snapshot::MemcgSnapshot;

use mmsim_core::base::id::PAGE_SIZE;

/// Sizes, in the order of the file (Linux 6.12 mm/memcontrol.c, `memory_stats`).
const SIZES: &str = "anon file kernel kernel_stack pagetables sec_pagetables percpu sock vmalloc \
                     shmem zswap zswapped file_mapped file_dirty file_writeback swapcached \
                     anon_thp file_thp shmem_thp inactive_anon active_anon inactive_file \
                     active_file unevictable slab_reclaimable slab_unreclaimable slab";

/// The items that are no counters of the model: sizes, sums, and events that it does not count.
const OTHERS: &[Others] = &[
    (None, SIZES),
    (
        Some(E::WorkingsetNodereclaim),
        "pgdemote_kswapd pgdemote_direct pgdemote_khugepaged pgpromote_success pgscan pgsteal",
    ),
    (Some(E::PgScanDirect), "pgscan_khugepaged"),
    (Some(E::PgStealDirect), "pgsteal_khugepaged"),
    (Some(E::ThpFaultAlloc), "thp_collapse_alloc"),
    (Some(E::ThpSwpoutFallback), "numa_pages_migrated numa_pte_updates numa_hint_faults"),
];

/// The file of a group, without the counters that its kernel does not have.
pub fn memory_stat(g: &MemcgSnapshot, not_counted: &[VmEvent]) -> String {
    let mut text = String::new();
    for (i, name) in KernelFile::MemoryStat.items(OTHERS).into_iter().enumerate() {
        if not_counted.iter().any(|e| e.name() == name) {
            continue;
        }
        let value = match i < SIZES.split(' ').count() {
            true if name == "zswap" => g.zswap.bytes,
            true => pages(g, name) * PAGE_SIZE,
            false => events(g, name),
        };
        writeln!(text, "{name} {value}").expect("writing to a string");
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
        "kernel" => c.page_tables + c.slab + g.zswap.bytes.div_ceil(PAGE_SIZE),
        "zswapped" => g.zswap.pages,
        "pagetables" => c.page_tables,
        "shmem" => c.shmem,
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
    let sum = |counters: &[VmEvent]| counters.iter().map(|&e| g.vmstat[e]).sum();
    match name {
        "pgscan" => sum(VmEvent::SCANNED_BY),
        "pgsteal" => sum(VmEvent::RECLAIMED_BY),
        name => g.vmstat.by_name(name).unwrap_or(0),
    }
}
