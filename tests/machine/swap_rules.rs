//! One witness for each rule about what swap-in reads, as in `rules`.

use crate::rules::{both, newest};
use crate::support::*;
use mmsim::config::MachineConfig;
use mmsim::workload::{Advice, Op};

/// 30 pages go to swap, those at even addresses first, and these come back, 15 of them. What lies
/// beside them in swap is the next even one; beside them in memory lies an odd one, which is read
/// in vain.
fn evens_come_back(mut c: MachineConfig, rule: &str) -> [[u64; 2]; 2] {
    c.vm.page_cluster = 3;
    let (evens, odds) = ((0..30).step_by(2), (1..30).step_by(2));
    let outs = evens.clone().chain(odds).map(|p| advise(0, p, 1, Advice::PageOut));
    let ops = [anon(30), write(0, 0, 30)].into_iter().chain(outs);
    let ops: Vec<Op> = ops.chain(evens.map(|p| read(0, p, 1))).collect();
    both(&c, rule, ["no", "yes"], &ops).map(|r| counts(&r, ["pswpin", "pgmajfault"]))
}

/// By slot two groups of at most eight slots are read, and no page in vain.
#[test]
fn swapin_by_slot() {
    let c = ruled(newest("ramdisk"), "sync-swapin-skips-cache", "no");
    let [no, yes] = evens_come_back(c, "swapin-by-slot");
    assert_eq!(yes, [15, 2]);
    assert!(no[0] > 15, "{no:?}");
}

/// A synchronous device gives each page alone, or what is beside it too.
#[test]
fn sync_swapin_skips_cache() {
    let [no, yes] = evens_come_back(newest("ramdisk"), "sync-swapin-skips-cache");
    assert_eq!(yes, [15, 15]);
    assert!(no[0] > 15 && no[1] < 15, "{no:?}");
}
