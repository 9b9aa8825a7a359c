//! Costs of the steps of memory management on the recorded machines.
//!
//! Their clock counts instructions, one a nanosecond: a fault takes some 8 us there and evicting
//! a page 9 us, several times what a real machine needs and in another proportion. Counters
//! depend on it, because how far free memory falls while kswapd waits for the CPU does.
//!
//! The figures are regressions of elapsed time, never of a counter that is compared:
//! `tools/recorder/costs.sh` runs phases of first touches, swap-ins, MADV_PAGEOUT and zipf
//! accesses at three sizes and four skews with the recorded kernels under the same emulation,
//! and fits elapsed time to accesses, faults, folios looked at and folios evicted. It prints,
//! in ns for 6.1.176 and 6.12.117:
//!
//! | step | 6.1 | 6.12 | here, together |
//! |---|---|---|---|
//! | access drawn | 241 | 232 | 220, 220: `t_hit` and drawing |
//! | first touch | 3,395 | 3,891 | 3,370, 3,870: `t_minor_anon`, `t_hit` and filling |
//! | write fault | 1,693 | | 1,300: `t_minor_map`, of a phase of such faults alone |
//! | swap-in | 6,224 | 7,926 | 6,200, 7,900: `t_major_cpu` and reading |
//!
//! That fit misses no phase by more than 3.0 % (6.1) and 1.2 % (6.12). It also has folios looked at
//! and evictions, but it takes the fixed part of a pass for theirs. `tools/recorder/pace.script` tells
//! what is the program's own: a touch of a present page takes 11 ns, filling one 474.
//!
//! Reclaim is measured separately. `tools/recorder/reclaim.sh` traces it, and prints medians of the
//! times between two events, in ns on 6.1, 6.12.117, 6.18.15 and 7.3.4:
//!
//! | step | 6.1 | 6.12 | 6.18 | 7.3 | here, together |
//! |---|---|---|---|---|---|
//! | folio kept | 1,312 | 1,438 | 1,469 | 1,469 | `t_scan`, `t_scan_mapping` |
//! | folio evicted, classic LRU | 9,174 | 10,344 | 9,594 | 10,125 | that, `t_unmap`, `t_evict`, `t_swap_submit` and writing |
//! | folio evicted, MGLRU | | 10,625 | 9,703 | 10,312 | the same |
//! | pass, classic LRU: head and tail | 7,130 | 13,781 | 15,656 | 17,750 | 8,000, 14,000, 16,000, 16,000: `t_shrink_node` |
//! | pass, MGLRU: tail | | 12,000 | 14,000 | 14,000 | the same |
//! | way into direct reclaim | 1,000 | 1,000 | 1,000 | 1,000 | `t_direct_reclaim_entry`, with 2,000 of the allocator |
//!
//! A pass takes its time whatever it finds: it asks the shrinkers of slab. What is used was rounded from
//! traces of a whole point, of which `reclaim.sh` records the first two phases. A pass that only sorts
//! takes 14.3 us for 64 folios on 7.3: `t_rotate`.
//!
//! Aging under MGLRU was measured apart, by forced agings of 40,000 pages in 79 page tables
//! (`tools/recorder/aging.script`), in ns a page:
//!
//! | step | 6.12 | 6.18 | 7.3 | here |
//! |---|---|---|---|---|
//! | not accessed | 59 | 63 | 67 | `t_walk_pte` and a table's `t_walk_pmd` |
//! | accessed, and only marked | | 174 | | that and `t_walk_young` |
//! | accessed, and promoted | 152 | 239 | 280 | that, on 6.18 and `t_promote` |
//! | poured from the oldest of four generations into the next | 122 | 205 | 201 | `t_rotate` |
//!
//! A traced walk of kswapd takes 178 us for each full table on 7.3 (`docs/dev/ticks-and-passes.md`).
//!
//! What MGLRU keeps it has looked around of on 6.18 and 7.3, and puts back outside of these events.
//! `tools/recorder/kept.sh` fits the time of batches to folios evicted and kept, in ns a folio in three
//! phases of detection (`rotate-touch`):
//!
//! | step | 6.12 | 6.18 | 7.3 | here, together |
//! |---|---|---|---|---|
//! | folio evicted | 10,141, 10,370 | 9,090 to 9,335 | 9,245 to 9,824 | as above |
//! | folio kept | 176, 360: not asked | 5,963 to 6,088 | 6,342 to 6,813 | 5,700 and 5,950 for asking and 64 PTEs around, one or none of them accessed; `t_look_around` |
//! | folio put back | 373, and 358 to isolate it | 494 | 399 | `t_put_back`; on 6.12 what `t_scan` lacks of 1,030 |
//!
//! How an eviction divides into unmapping and swapping was measured apart too, by MADV_PAGEOUT of
//! 20,000 pages, with and without MADV_FREE before (`tools/recorder/unmap.script`): 9,640 and 3,265
//! ns a page on 6.1, 10,022 and 2,599 on 6.12. The differences are what swapping costs:
//! `t_swap_submit` and writing; the rest of an eviction is `t_unmap` and `t_evict`. A page of a
//! file that is not mapped takes the latter alone, about 1.5 us less the cost of looking at it. How
//! swapping divides into submitting and the device's own work is a choice, as is the division of a
//! scan. The same script has `MADV_FREE` of pages touched once, 733 ns each on 6.12, and of pages
//! that were freed lazily and written again, 141.
//!
//! Files were measured on ext4 over an emulated persistent memory (`tools/recorder/files.script`),
//! in ns a page:
//!
//! | step | 6.1 | 6.12 | here, together |
//! |---|---|---|---|
//! | mapped, in no cache, first and again | 7,649, 7,942 | 9,411, 10,514 | `t_major_file`, `t_refault_mapped` and reading |
//! | mapped, in the cache | 1,808 | 2,054 | `t_minor_file` and the access |
//! | `pread`, in no cache, first and again | 6,819, 7,199 | 8,239, 8,653 | `t_syscall`, `t_read_missing`, `t_refault_read`, reading, `t_read_cached` |
//! | `pread`, in the cache | 1,539 | 1,572 | `t_syscall`, `t_read_cached` less the drawing of a page |
//!
//! What is read again left a shadow. With these
//! a whole phase of mapped zipf reads under pressure takes 1.7 % more to 7.8 % less than recorded anew.
//!
//! Of 6.18 and 7.3 first touches and swap-ins were measured by `costs.sh`:
//!
//! | step | 6.18 | 7.3 | here, together |
//! |---|---|---|---|
//! | first touch | 3,939 | 4,092 | 3,870, 4,070: `t_minor_anon`, `t_hit` and filling |
//! | swap-in | 7,050 | 8,262 | 7,100, 8,200: `t_major_cpu` and reading |
//!
//! Steps that no table has for them have the value of 6.12. `reclaim.sh` also prints what EEVDF owes kswapd when it is woken
//! first. It has slept since the boot and kept its lag: on 6.12 the largest one, 4 ms; on 6.18 3.55 and
//! 3.41 ms in two boots; on 7.3 3.34 ms in both.
//!
//! What compaction costs was not measured. Moving a page is taken for the sum of its parts above:
//! unmapping and taking it out, a copy, mapping and a free; taking a page off its list for looking at a folio; and
//! looking at a frame for looking at a PTE.

use mmsim_core::base::settings::Settings as _;
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::config::cost::CostModel;
use mmsim_workload::script::Pace;

/// Cost, nanoseconds on 6.1, 6.12, 6.18 and 7.3. What was measured on 6.12 and no later kernel has
/// its value there.
pub const RECORDED: [(&str, [u64; 4]); 34] = [
    ("t_hit", [11, 11, 11, 11]),
    ("t_copy_page", [600, 600, 600, 600]),
    ("t_minor_anon", [2_900, 3_400, 3_400, 3_600]),
    ("t_minor_map", [1_300, 1_300, 1_300, 1_300]),
    ("t_major_cpu", [5_500, 7_200, 6_400, 7_500]),
    ("t_minor_file", [1_600, 1_800, 1_800, 1_800]),
    ("t_major_file", [7_000, 8_800, 8_800, 8_800]),
    ("t_refault_mapped", [300, 1_100, 1_100, 1_100]),
    ("t_read_cached", [1_240, 1_270, 1_270, 1_270]),
    ("t_read_missing", [4_700, 6_100, 6_100, 6_100]),
    ("t_refault_read", [400, 400, 400, 400]),
    ("t_scan", [700, 800, 700, 700]),
    ("t_scan_mapping", [600, 630, 760, 760]),
    ("t_unmap", [500, 900, 900, 900]),
    ("t_evict", [1_300, 1_300, 1_300, 1_300]),
    ("t_tlb_flush", [0, 0, 0, 0]),
    ("t_swap_submit", [4_550, 5_320, 4_390, 4_990]),
    ("t_direct_reclaim_entry", [3_000, 3_000, 3_000, 3_000]),
    ("t_shrink_node", [8_000, 14_000, 16_000, 16_000]),
    ("t_free_page", [1_200, 1_200, 1_200, 1_200]),
    ("t_syscall", [300, 300, 300, 300]),
    ("t_madv_free", [140, 140, 140, 140]),
    ("t_make_lazyfree", [590, 590, 590, 590]),
    ("t_migrate", [4_900, 5_300, 5_300, 5_300]),
    ("t_cmp_migrate_scan", [58, 58, 58, 58]),
    ("t_cmp_free_scan", [58, 58, 58, 58]),
    ("t_isolate", [700, 800, 700, 700]),
    ("t_walk_pmd", [100, 100, 100, 100]),
    ("t_walk_pte", [58, 58, 63, 67]),
    ("t_walk_young", [150, 150, 174, 280]),
    ("t_promote", [0, 0, 65, 0]),
    ("t_look_around", [0, 0, 300, 650]),
    ("t_put_back", [230, 230, 490, 400]),
    ("t_rotate", [120, 120, 205, 200]),
];

/// zram with pages of one repeated byte, which it fills and compares and does not compress:
/// read, write.
pub const ZRAM: [u64; 2] = [700, 1_600];

/// KiB of the largest request of the recorded null block device (`queue/max_sectors_kb`).
pub const NULL_BLK_KIB: u32 = 124;

/// Time that zswap adds to an eviction and to a swap-in, with lzo and the contents of the recordings,
/// on 6.12, 6.18 and 7.3: without groups and with them.
pub const ZSWAP: [[[u64; 2]; 2]; 3] = [
    [[15_600, 4_900], [17_400, 6_500]],
    [[14_300, 5_500], [16_200, 7_200]],
    [[14_400, 4_300], [16_700, 6_300]],
];

/// Both times of one of the kernels.
pub(super) fn zswap(kernel: Kernel, groups: bool) -> [SimDuration; 2] {
    let of = column(kernel).saturating_sub(1);
    ZSWAP[of][usize::from(groups)].map(SimDuration::from_nanos)
}

/// Lag of kswapd when the recorded kernels woke it first (`sched_entity.vlag`), in ns on 6.12, 6.18
/// and 7.3. 6.1 has no EEVDF.
pub const KSWAPD_LAG: [u64; 3] = [4_000_000, 3_416_000, 3_339_000];

/// Lag of zswap's worker when the recorded kernels woke it first, likewise.
pub const WORKER_LAG: [u64; 3] = [1_500_000, 0, 0];

/// Both lags of one of the kernels.
pub(super) fn lags(kernel: Kernel) -> [SimDuration; 2] {
    [KSWAPD_LAG, WORKER_LAG].map(|of| {
        SimDuration::from_nanos(match kernel {
            Kernel::V7_3 => of[2],
            Kernel::V6_18 => of[1],
            Kernel::V6_12 => of[0],
            _ => 0,
        })
    })
}

/// CPU time of the threads that test ciphers when a kernel has booted (`cryptomgr_test`), in ns. They
/// begin with the script. No package of 6.1 was left to measure.
pub const BOOT_THREADS: [&[u64]; 4] =
    [&[285_000_000], &[285_000_000], &[323_000_000], &[187_000_000, 406_000_000]];

/// CPU time that the recorded program takes until the workload starts, in ns: at all, for each page of
/// the ballast, and for each entry of a table.
pub const BEFORE_START: [u64; 3] = [25_000_000, 5_200, 200];

/// CPU time that boot threads of a kernel have left when a workload starts whose program took `ballast`
/// pages and filled tables of `entries`. Each had as much of the CPU as the program.
pub(super) fn boot_threads(kernel: Kernel, ballast: u64, entries: u64) -> Vec<SimDuration> {
    let [at_all, page, entry] = BEFORE_START;
    let before = at_all + page * ballast + entry * entries;
    let left = BOOT_THREADS[column(kernel)].iter().map(|t| t.saturating_sub(before));
    left.filter(|&t| t > 0).map(SimDuration::from_nanos).collect()
}

/// Computation of the recorded program: drawing a page, and filling one.
pub const PACE: [u64; 2] = [209, 463];

/// Computation of the recorded program that writes a page of a region with contents: for the page,
/// and for each 1024 bytes that it draws.
pub const DRAWN: [u64; 2] = [1_336, 4_615];

/// The same, as the script's program takes it.
pub(super) fn pace() -> Pace {
    let [draw, fill] = PACE.map(SimDuration::from_nanos);
    Pace { draw, fill, drawn: DRAWN.map(SimDuration::from_nanos) }
}

/// The costs of a recorded kernel.
pub(super) fn of(kernel: Kernel) -> CostModel {
    let mut cost = CostModel::measured();
    for (name, of_kernel) in RECORDED {
        cost.put(name, of_kernel[column(kernel)]).expect("a cost of that name");
    }
    cost
}

/// The column of a kernel.
fn column(kernel: Kernel) -> usize {
    match kernel {
        Kernel::V7_3 => 3,
        Kernel::V6_18 => 2,
        Kernel::V6_12 => 1,
        _ => 0,
    }
}
