//! Which zone gives a page.

use super::support::*;
use mmsim::base::rules::KernelRules;
use mmsim::config::{Kernel, NodeConfig, ZoneConfig, ZoneKind};
use mmsim::machine::Watch;

/// Pages that the lower and the upper zone gave for 300 first touches and some page tables, with
/// room for all of them in the upper one. From low to high it is 30 pages in the lower zone, 10 in
/// the upper.
fn given(fair_zones: bool, threads: u32, watch: Watch) -> [u64; 2] {
    let mut c = config(Kernel::V4_1, "ramdisk");
    c.rules = Some(KernelRules { fair_zones, ..KernelRules::of(Kernel::V4_1) });
    c.cpus = threads;
    c.memcgs.clear();
    let with = |kind, watermarks| ZoneConfig { kind, watermarks: Some(watermarks), ..zone(1024) };
    let zones = vec![with(ZoneKind::Dma32, [60, 90, 120]), with(ZoneKind::Normal, [20, 30, 40])];
    c.nodes = vec![NodeConfig { zones }];
    let each = 300 / threads;
    let tasks = (0..threads).map(|_| task("t", vec![anon(each), write(0, 0, each)])).collect();
    let r = machine(&c, tasks).run(watch);
    let given = counts(&r, ["pgalloc_dma32", "pgalloc_normal"]);
    let all = given[0] + given[1];
    assert!((300..350).contains(&all), "{all}");
    given
}

/// 4.1 takes 10 pages of the upper zone, then 30 of the lower, then 10 of the upper again: a
/// quarter comes from the upper zone, but for what a round that has begun can make, 10 pages.
/// Without this rule all are the upper zone's. Each page singly and many CPUs' first touches
/// together give the same.
#[test]
fn fair_zones() {
    let one_by_one = || Watch::default().with_check_every(1);
    for threads in [1, 10] {
        for watch in [Watch::default, one_by_one] {
            let [low, upper] = given(true, threads, watch());
            assert!(upper.abs_diff((low + upper) / 4) <= 10, "{threads}: {low} {upper}");
            assert_eq!(given(false, threads, watch())[0], 0);
        }
        let [alone, together] = [one_by_one(), Watch::default()].map(|w| given(true, threads, w));
        assert_eq!(alone, together);
    }
}
