//! Groups, nodes, and running out of memory.

use crate::support::*;
use mmsim::machine::config::{Kernel, MachineConfig, NodeConfig};
use mmsim::machine::result::{Outcome, RunResult};
use mmsim::workload::Op;

fn completed(r: &RunResult) {
    assert_eq!(r.outcome, Outcome::Completed);
}

/// A process of `pages` that stays, beside one of the first group that writes `wants`.
fn beside(c: &MachineConfig, pages: u32, wants: u32) -> RunResult {
    let stays = vec![anon(pages), write(0, 0, pages), sleep_ms(1000), read(0, 0, pages)];
    let wants = vec![sleep_ms(10), anon(wants), write(0, 0, wants), end(0), sleep_ms(2000)];
    run(c, vec![task("stays", stays), member("wants", wants)])
}

#[test]
fn a_limit_reclaims_in_its_group_only() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.memcgs[0].max = Some(100);
    let r = beside(&c, 500, 400);
    completed(&r);
    let g = &r.phases[0].gauges;
    assert_eq!(gauge(g, "nr_anon_pages") - 500, 400 - gauge(g, "nr_swap_used"));
    assert!(gauge(g, "nr_anon_pages") <= 600);
    // What stays was never touched: no fault when it is read again.
    assert_eq!(counts(&r, ["pgfault", "pgmajfault"]), [900, 0]);
    // Reclaim for a limit counts by type, and as direct in the group's own table alone.
    let names =
        ["pgscan_direct", "pgscan_kswapd", "pgsteal_direct", "pgrefill", "allocstall_normal"];
    assert_eq!(counts(&r, names), [0; 5]);
    assert!(count(&r, "pgscan_anon") >= 300);
    assert_eq!(stat(&r, 0, "pgscan_direct"), count(&r, "pgscan_anon"));
    assert_eq!(stat(&r, 0, "pgsteal_direct"), count(&r, "pgsteal_anon"));
    assert_eq!(count(&r, "pgsteal_anon"), 400 - (gauge(g, "nr_anon_pages") - 500));
}

#[test]
fn memory_high_throttles_and_does_not_kill() {
    let throttled = |swap_max| {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.memcgs[0].high = Some(100);
        c.memcgs[0].swap_max = swap_max;
        let r = beside(&c, 100, 200);
        completed(&r);
        r.threads[1].throttled.0
    };
    let slept = throttled(None);
    assert!(slept < 100_000_000, "reclaim alone keeps it near: {slept}");
    let slept = throttled(Some(0));
    assert!(slept > 1_000_000_000, "nothing can be reclaimed: {slept}");
}

#[test]
fn memory_high_counts_file_pages_too() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.memcgs[0].high = Some(100);
    let r = run(&c, vec![member("t", vec![pread(0, 400), end(0)])]);
    assert!(gauge(&r.phases[0].gauges, "nr_file_pages") <= 132);
    assert!(count(&r, "pgsteal_file") >= 268);
}

#[test]
fn protected_groups_are_spared_under_pressure_from_outside() {
    let kept = |min, low| {
        let mut c = config(Kernel::V6_12, "ramdisk");
        (c.memcgs[0].min, c.memcgs[0].low) = (min, low);
        let cold = advise(0, 0, 200, mmsim::workload::Advice::Cold);
        let idle = vec![anon(200), write(0, 0, 200), cold, sleep_ms(1000)];
        let hog = vec![sleep_ms(10), anon(3000), write(0, 0, 3000), sleep_ms(2000)];
        let r = run(&c, vec![member("idle", idle), task("hog", hog)]);
        completed(&r);
        200 - stat(&r, 0, "pswpout")
    };
    assert_eq!(kept(200, 0), 200);
    assert_eq!(kept(0, 200), 200);
    assert!(kept(0, 0) < 200);
}

#[test]
fn a_group_swaps_no_more_than_it_may() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(100), Some(60));
    let r = run(&c, vec![member("t", vec![anon(150), write(0, 0, 150), end(0)])]);
    completed(&r);
    let used = gauge(&r.phases[0].gauges, "nr_swap_used");
    assert!((50..=60).contains(&used), "{used}");
}

#[test]
fn running_out_within_a_group_kills_only_there() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(100), Some(0));
    let r = beside(&c, 500, 150);
    assert!(matches!(r.outcome, Outcome::OutOfMemory(_)));
    assert_eq!(counts(&r, ["oom_kill", "pgfault"]), [1, 500 + 101]);
    assert!(r.phases.is_empty());
    let stays = r.threads.iter().find(|t| t.name == "stays").expect("it is there");
    assert!(stays.finished.0 > 1_000_000_000);
    assert_eq!(stat(&r, 0, "memory.current"), 0);
}

#[test]
fn the_largest_process_is_killed_and_the_summary_says_who_held_what() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.swap = None;
    // Four pageblocks: page tables steal from movable ones, and a boost would keep a quarter.
    c.vm.watermark_boost_factor = 0;
    let process = |pages| vec![anon(pages), write(0, 0, pages), sleep_ms(1000)];
    let late = vec![sleep_ms(100), anon(600), write(0, 0, 600)];
    let tasks = vec![task("small", process(400)), task("large", process(1300)), task("late", late)];
    let r = run(&c, tasks);
    let Outcome::OutOfMemory(s) = &r.outcome else { panic!("{:?}", r.outcome) };
    assert_eq!(count(&r, "oom_kill"), 1);
    let sizes: Vec<_> = s.processes.iter().map(|p| (p.0.as_str(), p.1, p.2)).collect();
    assert_eq!((sizes[0], sizes[2]), (("large", 1300, 0), ("late", sizes[2].1, 0)));
    assert_eq!(sizes[1], ("small", 400, 0));
    // Frames of 2048: processes, three page tables of theirs and more, free ones.
    let held: u64 = sizes.iter().map(|p| p.1).sum();
    assert_eq!(held + s.free + s.kernel + s.cache, 2048);
    assert!(s.free <= 8, "the min watermark is 8: {}", s.free);
    // The other two end their work.
    assert_eq!(count(&r, "pgfault"), 400 + 1300 + 600);
}

#[test]
fn allocation_spills_to_the_other_node_before_anyone_reclaims() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.cpus = 2;
    c.nodes = vec![NodeConfig { zones: vec![zone(1000)] }, NodeConfig { zones: vec![zone(1000)] }];
    let spill = run(&c, vec![task("t", vec![anon(1500), write(0, 0, 1500)])]);
    assert_eq!(counts(&spill, ["pageoutrun", "pgscan_anon"]), [0, 0]);
    assert_eq!(gauge(&spill.gauges, "nr_free_pages"), 2000 - 1500 - 3);
    // With both nodes full each has a kswapd of its own to wake.
    let full = run(&c, vec![task("t", vec![anon(2500), write(0, 0, 2500)])]);
    assert!(count(&full, "pageoutrun") >= 2);
    assert!(count(&full, "pgsteal_kswapd") > 0);
}

#[test]
fn proactive_reclaim_takes_what_it_was_asked_for() {
    let c = config(Kernel::V6_12, "ramdisk");
    let cold = mmsim::workload::Advice::Cold;
    let ops = vec![anon(200), write(0, 0, 200), advise(0, 0, 200, cold), reclaim(64), end(0)];
    let r = run(&c, vec![member("t", ops)]);
    let stolen = count(&r, "pgsteal_anon");
    // Rounds of a scan end when the target is met, so at most a round of 32 more is freed.
    assert!((64..96).contains(&stolen), "{stolen}");
    assert_eq!(gauge(&r.gauges, "nr_anon_pages"), 200 - stolen);
    // A process of the root group has no memory.reclaim to write to.
    let r = run(&c, vec![task("t", vec![anon(1), write(0, 0, 1), reclaim(1), Op::DropCaches])]);
    assert_eq!(count(&r, "pgscan_anon"), 0);
}
