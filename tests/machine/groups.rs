//! Groups, nodes, and running out of memory.

use crate::support::*;
use mmsim::base::time::SimDuration;
use mmsim::config::{Kernel, MachineConfig, NodeConfig};
use mmsim::machine::result::{Outcome, RunResult, Shortage};
use mmsim::machine::{Machine, Watch};
use mmsim::memory::Memory;
use mmsim::policy::ReclaimPolicy;
use mmsim::workload::Op;
use mmsim_lru::Random;

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
fn what_is_taken_from_a_group_counts_in_it_under_any_policy() {
    let c = config(Kernel::V6_12, "ramdisk");
    let random = |mem: &mut Memory| Box::new(Random::new(mem, 1)) as Box<dyn ReclaimPolicy>;
    let all = vec![member("t", vec![anon(3000), write(0, 0, 3000)])];
    let r = Machine::new(&c, all, 1, random).run(Watch::default());
    for name in ["pgscan_kswapd", "pgsteal_kswapd", "pgscan_anon", "pgsteal_anon"] {
        assert!(count(&r, name) > 0, "{name}");
        assert_eq!(stat(&r, 0, name), count(&r, name), "{name}: all memory is the group's");
    }
}

#[test]
fn memory_high_throttles_and_does_not_kill() {
    let throttled = |swap_max| {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.memcgs[0].high = Some(600);
        c.memcgs[0].swap_max = swap_max;
        let r = beside(&c, 100, 1200);
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
    let Outcome::OutOfMemory(s) = &r.outcome else { panic!("{:?}", r.outcome) };
    assert_eq!((s.victim.as_str(), s.shortage), ("wants", Shortage::Group));
    assert_eq!(counts(&r, ["oom_kill", "pgfault"]), [1, 500 + 101]);
    assert!(r.phases.is_empty());
    let stays = r.threads.iter().find(|t| t.name == "stays").expect("it is there");
    assert!(stays.finished.0 > 1_000_000_000);
    assert_eq!(stat(&r, 0, "memory.current"), 0);
}

#[test]
fn the_largest_process_is_killed_and_the_summary_says_who_held_what() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.swap.clear();
    // Four pageblocks: page tables steal from movable ones, and a boost would keep a quarter.
    c.vm.watermark_boost_factor = 0;
    let process = |pages| vec![anon(pages), write(0, 0, pages), sleep_ms(1000)];
    let late = vec![sleep_ms(100), anon(600), write(0, 0, 600)];
    let tasks = vec![task("small", process(400)), task("large", process(1300)), task("late", late)];
    let r = run(&c, tasks);
    let Outcome::OutOfMemory(s) = &r.outcome else { panic!("{:?}", r.outcome) };
    assert_eq!((s.victim.as_str(), s.shortage), ("large", Shortage::Machine));
    assert_eq!(count(&r, "oom_kill"), 1);
    let sizes: Vec<_> =
        s.processes.iter().map(|p| (p.name.as_str(), p.resident(), p.swapped)).collect();
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
    // Two requests are for 32, and a pass at a low priority frees up to a round of 32 more.
    assert!((64..128).contains(&stolen), "{stolen}");
    assert_eq!(gauge(&r.gauges, "nr_anon_pages"), 200 - stolen);
    // A process of the root group has no memory.reclaim to write to.
    let r = run(&c, vec![task("t", vec![anon(1), write(0, 0, 1), reclaim(1), Op::DropCaches])]);
    assert_eq!(count(&r, "pgscan_anon"), 0);
}

/// Pages that a write to `memory.reclaim` took from a process of `pages`: reclaimed, and short.
fn asked(kernel: Kernel, pages: u32, asks: u32) -> [u64; 2] {
    let ops = vec![anon(pages), write(0, 0, pages), reclaim(asks)];
    let r = run(&config(kernel, "ramdisk"), vec![member("t", ops)]);
    assert_eq!(count(&r, "sim_memcg_reclaim_asked"), u64::from(asks));
    counts(&r, ["pgsteal_anon", "sim_memcg_reclaim_short"])
}

#[test]
fn memory_reclaim_asks_again_until_it_has_enough() {
    // One pass over a list whose pages are all accessed frees little.
    for kernel in [Kernel::V5_5, Kernel::V6_1, Kernel::V6_12] {
        let [freed, short] = asked(kernel, 1500, 700);
        assert!(freed >= 700, "{kernel:?}: {freed}");
        assert_eq!(short, 0, "{kernel:?}");
        // All that there is, and Linux says EAGAIN for the rest.
        assert_eq!(asked(kernel, 300, 1000), [300, 700], "{kernel:?}");
    }
    // A quarter of the rest each time ends within a batch.
    let [freed, _] = asked(Kernel::V6_12, 1500, 700);
    assert!((700..764).contains(&freed), "{freed}");
}

#[test]
fn memory_reclaim_goes_by_its_own_swappiness() {
    let anon_stolen = |swappiness, vm| {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.vm.swappiness = vm;
        let ask = Op::MemcgReclaim { memcg: None, pages: 10_000, swappiness };
        let r = run(&c, vec![member("t", vec![anon(200), write(0, 0, 200), pread(0, 300), ask])]);
        assert_eq!(count(&r, "pgsteal_file"), 300);
        count(&r, "pgsteal_anon")
    };
    assert_eq!(anon_stolen(None, 60), 200);
    assert_eq!(anon_stolen(Some(0), 60), 0);
    assert_eq!(anon_stolen(None, 0), 0);
    assert_eq!(anon_stolen(Some(60), 0), 200);
}

/// Seconds that each further MiB takes a process in a group that is at its `memory.high`.
fn above_high(kernel: Kernel, high: u32, more: u16, tick: SimDuration) -> Vec<f64> {
    const MIB: u32 = 256;
    let mut c = config(kernel, "ramdisk");
    c.nodes = vec![NodeConfig { zones: vec![zone((high + u32::from(more) + 10) * MIB)] }];
    (c.memcgs[0].high, c.memcgs[0].swap_max) = (Some((high * MIB).into()), Some(0));
    c.tick = tick;
    let mut ops = vec![anon((high + u32::from(more)) * MIB), write(0, 0, high * MIB)];
    for i in 0..more {
        ops.extend([write(0, (high + u32::from(i)) * MIB, MIB), end(i + 1)]);
    }
    ops.insert(2, end(0));
    let r = machine(&c, vec![member("t", ops)]).run(Watch::default());
    completed(&r);
    r.phases[1..].iter().map(|p| p.end.since(p.begin).0 as f64 / 1e9).collect()
}

#[test]
fn memory_high_throttles_as_published() {
    // The message of commit 0e4b01df8659 (Linux 5.4): s to allocate a megabyte at 101, 102, ... of
    // 100 MiB. The machine had 1000 jiffies a second: its longest sleep is 2.048 s.
    let published = [
        0.085, 0.331, 0.611, 1.016, 1.504, 2.392, 2.872, 3.248, 4.792, 5.760, 6.912, 8.128, 9.472,
        12.288, 12.480, 14.144, 15.808, 16.384, 16.384, 16.384,
    ];
    let took = above_high(Kernel::V5_5, 100, 20, SimDuration::from_millis(1));
    for (i, (took, published)) in took.iter().zip(published).enumerate().skip(2) {
        let off = (took / published - 1.0).abs();
        assert!(off < 0.15, "{} MiB: {took} s, published {published}", 101 + i);
    }
    assert!((took[19] - 16.384).abs() < 0.01, "{}", took[19]);
}

#[test]
fn memory_high_sleeps_two_seconds_a_batch_at_most() {
    // 64 MiB more than 64: 256 batches of 64 pages since 6.0, 512 of 32 before.
    let all = |kernel| above_high(kernel, 64, 64, SimDuration::from_millis(4)).iter().sum::<f64>();
    let (new, old) = (all(Kernel::V6_12), all(Kernel::V5_9));
    assert!((440.0..465.0).contains(&new), "{new}");
    assert!((1.98..2.02).contains(&(old / new)), "{old} and {new}");
}
