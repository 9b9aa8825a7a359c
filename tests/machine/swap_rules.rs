//! One witness for each rule about slots and what swap-in reads, as in `rules`.

use crate::rules::{both, newest};
use crate::support::*;
use mmsim::base::id::PageIdx;
use mmsim::config::MachineConfig;
use mmsim::machine::Watch;
use mmsim::virt::pages::Entry;
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

/// 1500 pages go out, each second of the first 500 comes back, and these go out again. They take
/// slots behind the others, or fill the holes once the cluster of the last ones is full.
#[test]
fn swap_slots() {
    let mut c = newest("ramdisk");
    c.swap.first_mut().expect("it has swap").slots = 8 * 512 - 1;
    let out = |i, n| advise(0, i, n, Advice::PageOut);
    let mut ops = vec![anon(1500), write(0, 0, 1500), out(0, 1500)];
    ops.extend((0..500).step_by(2).map(|i| read(0, i, 1)));
    ops.extend((0..500).step_by(2).map(|i| out(i, 1)));
    let [cached, clusters] = ["cached", "clusters-6.18"].map(|v| {
        let mut m = machine(&ruled(c.clone(), "swap-slots", v), vec![task("t", ops.clone())]);
        m.run(Watch::default().with_check_every(97));
        let slots = (0..m.mem.virt.pages.nr_groups() as u32 * 512).filter_map(|p| {
            match m.mem.virt.pages.entry(PageIdx(p)) {
                Entry::Swap(slot) => Some(slot.0),
                _ => None,
            }
        });
        slots.max().expect("pages are in swap")
    });
    assert!(cached >= 1700, "{cached}");
    assert_eq!(clusters, 1535);
}
