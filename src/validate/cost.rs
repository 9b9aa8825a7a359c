//! What the steps of memory management cost on the recorded machines.
//!
//! Their clock counts instructions, one a nanosecond: a fault takes some 8 us there and evicting
//! a page 9 us, several times what a real machine needs and in another proportion. Counters
//! depend on it, because how far free memory falls while kswapd waits for the CPU does.
//!
//! The figures are regressions of elapsed time, never of a counter that is compared: a guest
//! with the recorded kernels, under the same emulation, ran phases of first touches, swap-ins,
//! MADV_PAGEOUT and zipf accesses at three sizes and four skews. Elapsed time was fitted to
//! accesses, faults, folios looked at and folios evicted; the fit misses no phase by more
//! than 3.2 % (6.12) and 2.4 % (6.1).
//! Only sums can be seen from outside: the split of an eviction into unmapping, submitting and
//! the device's own work is a choice, as is that of a scan.

use mmsim_core::base::time::SimDuration;
use mmsim_core::machine::config::Kernel;
use mmsim_core::machine::cost::CostModel;

/// Cost, nanoseconds up to 6.5, nanoseconds from 6.6 on.
pub const RECORDED: [(&str, u64, u64); 13] = [
    ("t_hit", 220, 220),
    ("t_copy_page", 600, 600),
    ("t_minor_anon", 3_400, 3_900),
    ("t_minor_map", 1_300, 1_300),
    ("t_major_cpu", 5_500, 7_200),
    ("t_scan", 700, 800),
    ("t_scan_mapping", 700, 800),
    ("t_unmap", 3_400, 3_900),
    ("t_tlb_flush", 0, 0),
    ("t_swap_submit", 3_400, 3_900),
    ("t_direct_reclaim_entry", 2_000, 2_000),
    ("t_free_page", 1_200, 1_200),
    ("t_syscall", 300, 300),
];

/// zram with pages of one repeated byte, which it fills and compares and does not compress:
/// read, write.
pub const ZRAM: [u64; 2] = [700, 1_600];

/// The costs of a recorded kernel.
pub(super) fn of(kernel: Kernel) -> CostModel {
    let mut cost = CostModel::measured();
    for (name, early, late) in RECORDED {
        let field = cost.field_mut(name).expect("a cost of that name");
        *field = SimDuration::from_nanos(if kernel >= Kernel::V6_12 { late } else { early });
    }
    cost
}
