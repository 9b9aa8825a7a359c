//! Groups in a tree: who pays, who is spared, and what counts where.

use crate::support::*;
use mmsim::base::rng::Rng;
use mmsim::base::rules::{MemcgCharges, MemcgStats};
use mmsim::base::time::SimDuration;
use mmsim::config::{Kernel, MachineConfig, ZoneConfig, ZoneKind};
use mmsim::machine::result::{Outcome, RunResult, Shortage};
use mmsim::machine::{Machine, Watch};
use mmsim::memory::Memory;
use mmsim::workload::{Advice, Op};
use mmsim_lru::{Mglru, MglruConfig};

/// The machine of the other tests with a tree of groups.
fn tree(paths: &[&str]) -> MachineConfig {
    let memcgs = paths.iter().map(|&path| group(path)).collect();
    MachineConfig { memcgs, ..config(Kernel::V6_12, "ramdisk") }
}

/// Makes a tree of the groups of a machine, some of which get others below them.
pub(crate) fn deepen(rng: &mut Rng, config: &mut MachineConfig) {
    let one_in = |rng: &mut Rng, n: u64| rng.below(n) == 0;
    let limit = |rng: &mut Rng, pages: u64| (rng.below(3) == 0).then_some(pages);
    let flat = std::mem::take(&mut config.memcgs);
    let more = if flat.is_empty() { 0 } else { rng.below(3) };
    let more = (0..more).map(|i| group(&format!("more{i}")));
    for (i, mut g) in (0..).zip(flat.into_iter().chain(more)) {
        if i > 0 && !one_in(rng, 3) {
            g.name = format!("{}/{}", config.memcgs[rng.below(i) as usize].name, g.name);
        }
        (g.swap_high, g.oom_group) = (limit(rng, 50), one_in(rng, 4));
        g.max = g.max.or(limit(rng, 600));
        g.until = one_in(rng, 3).then(|| SimDuration::from_micros(rng.below(100_000)));
        config.memcgs.push(g);
    }
    config.memcg_mount.recursive_protection = one_in(rng, 2);
    let as_in_linux = one_in(rng, 4);
    if let Some(rules) = config.rules.as_mut().filter(|_| as_in_linux) {
        (rules.memcg_charges, rules.memcg_stats) = (MemcgCharges::Kernel, MemcgStats::Kernel);
    }
}

fn completed(r: &RunResult) {
    assert_eq!(r.outcome, Outcome::Completed);
}

/// Idle pages in one child of a limited group, and a child that wants more than is left.
fn idle_beside_greedy(c: &MachineConfig) -> RunResult {
    let idle = vec![anon(60), write(0, 0, 60), sleep_ms(1000), end(0)];
    let greedy = vec![sleep_ms(10), anon(100), write(0, 0, 100), sleep_ms(2000)];
    let r = run(
        c,
        vec![threads("idle", Some(1), vec![idle]), threads("greedy", Some(2), vec![greedy])],
    );
    completed(&r);
    r
}

/// The level that overflows pays. If that is the pod, all of its groups do; if it is the greedy
/// group itself, its neighbour keeps everything.
#[test]
fn the_level_that_overflows_pays() {
    let mut c = tree(&["pod", "pod/a", "pod/b"]);
    c.memcgs[0].max = Some(100);
    let r = idle_beside_greedy(&c);
    assert!(stat(&r, 1, "pswpout") > 0, "the idle group pays too");
    assert!(stat(&r, 0, "pswpout") >= 60);
    assert_eq!(stat(&r, 0, "pswpout"), stat(&r, 1, "pswpout") + stat(&r, 2, "pswpout"));
    let max = |i, file| stat(&r, i, &format!("memory.{file}.max"));
    assert!(max(0, "events.local") > 0 && max(0, "events") == max(0, "events.local"));
    assert_eq!([max(1, "events"), max(2, "events")], [0, 0]);

    c.memcgs[0].max = None;
    c.memcgs[2].max = Some(40);
    let r = idle_beside_greedy(&c);
    let swapped = [0, 1, 2].map(|i| stat(&r, i, "pswpout"));
    assert!(swapped[2] >= 60 && swapped == [swapped[2], 0, swapped[2]], "{swapped:?}");
    let max = |i, file| stat(&r, i, &format!("memory.{file}.max"));
    assert!(max(2, "events.local") > 0);
    assert_eq!([max(0, "events"), max(0, "events.local")], [max(2, "events"), 0]);
}

/// Pages of `idle` that outside pressure leaves in memory, in the child of a group.
fn kept(low: [u64; 2], recursive: bool) -> u64 {
    let mut c = tree(&["pod", "pod/app"]);
    (c.memcgs[0].low, c.memcgs[1].low) = (low[0], low[1]);
    c.memcg_mount.recursive_protection = recursive;
    let cold = advise(0, 0, 200, Advice::Cold);
    let idle = vec![anon(200), write(0, 0, 200), cold, sleep_ms(1000)];
    let hog = vec![sleep_ms(10), anon(3000), write(0, 0, 3000), sleep_ms(2000)];
    let r = run(&c, vec![threads("idle", Some(1), vec![idle]), task("hog", hog)]);
    completed(&r);
    200 - stat(&r, 1, "pswpout")
}

/// A child has no more protection than its parent. With `memory_recursiveprot` it has that of its
/// parent although it declares none.
#[test]
fn protection_comes_from_above() {
    assert_eq!(kept([200, 200], false), 200);
    assert!(kept([0, 200], false) < 100, "{}", kept([0, 200], false));
    assert!(kept([200, 0], false) < 100);
    assert_eq!(kept([200, 0], true), 200);
    assert!(kept([0, 200], true) < 100);
}

/// The parent's memory.reclaim asks for 32 pages of 1000 clean file pages that are within their
/// `memory.low`. Two rounds of 13 priorities find the group spared. The low round looks at 1, 3, 7,
/// 15 and 30 pages at priorities 9 to 5, and at none before: 8 visits and 56 pages.
#[test]
fn a_low_round_follows_fruitless_ones() {
    let mut c = tree(&["top", "top/g"]);
    c.memcgs[1].low = 2000;
    let reader = vec![pread(0, 1000), sleep_ms(1000)];
    let asker = vec![sleep_ms(500), reclaim(32), end(0)];
    let tasks =
        vec![threads("reader", Some(1), vec![reader]), threads("asker", Some(0), vec![asker])];
    let r = run(&c, tasks);
    completed(&r);
    assert_eq!(stat(&r, 1, "memory.events.local.low"), 8);
    assert_eq!([stat(&r, 0, "memory.events.low"), stat(&r, 0, "memory.events.local.low")], [8, 0]);
    assert_eq!(stat(&r, 1, "pgsteal_file"), 56);
    assert_eq!(count(&r, "sim_memcg_low_rounds"), 1);
}

/// A limit above kills in its subtree only, the largest there.
#[test]
fn running_out_kills_in_the_subtree_that_overflows() {
    let mut c = tree(&["pod", "pod/a", "pod/b", "other"]);
    (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(100), Some(0));
    let holds = |pages: u32| vec![anon(pages), write(0, 0, pages), sleep_ms(1000)];
    let wants: Vec<Op> = vec![sleep_ms(10), anon(60), write(0, 0, 60), sleep_ms(2000)];
    let tasks = vec![
        threads("a", Some(1), vec![holds(70)]),
        threads("other", Some(3), vec![holds(500)]),
        threads("b", Some(2), vec![wants]),
    ];
    let r = run(&c, tasks);
    let Outcome::OutOfMemory(s) = &r.outcome else { panic!("{:?}", r.outcome) };
    assert_eq!((s.victim.as_str(), s.shortage), ("a", Shortage::Group));
    assert_eq!(count(&r, "oom_kill"), 1);
}

/// A group of 1000 pages, all whose processes die together, with three of 300, 300 and more pages.
fn three_processes(group_dies: bool, max: u64, third: u32, adj: i16) -> RunResult {
    let mut c = tree(&["x", "x/1", "x/2"]);
    (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(max), Some(0));
    c.memcgs[0].oom_group = group_dies;
    let holds = |pages: u32| vec![anon(pages), write(0, 0, pages), sleep_ms(5000)];
    let wants = vec![sleep_ms(50), anon(third), write(0, 0, third), sleep_ms(5000)];
    let tasks = vec![
        threads("p", Some(1), vec![holds(300)]).with_oom_score_adj(adj),
        threads("q", Some(1), vec![holds(300)]),
        threads("r", Some(2), vec![wants]),
    ];
    run(&c, tasks)
}

fn victim(r: &RunResult) -> &str {
    let Outcome::OutOfMemory(s) = &r.outcome else { panic!("{:?}", r.outcome) };
    &s.victim
}

/// Seen on Linux 6.12.95: the first victim counts twice, since it still is one of its group when
/// the rest is killed.
#[test]
fn a_group_dies_as_one() {
    let r = three_processes(true, 1000, 450, 0);
    assert_eq!(victim(&r), "r");
    let of = |i, name: &str| stat(&r, i, &format!("memory.events.{name}"));
    assert_eq!(["oom", "oom_group_kill", "oom_kill"].map(|n| of(0, n)), [1, 1, 4]);
    assert_eq!([1, 2].map(|i| of(i, "local.oom_kill")), [2, 2]);
    assert_eq!(count(&r, "oom_kill"), 4);
}

/// Three processes of 300 pages in a group of 900: the last one in order of the tree goes. With
/// an adjustment of 100 thousandths of 1000 pages the first one has 400 points.
#[test]
fn equal_processes_go_in_order_of_the_tree() {
    assert_eq!(victim(&three_processes(false, 900, 301, 0)), "r");
    assert_eq!(victim(&three_processes(false, 1000, 401, 150)), "p");
}

/// Of 1000 pages p, q and r have 300 each, and another has 100. An adjustment of 100 thousandths makes
/// 400 points of p's 300.
#[test]
fn an_adjustment_is_a_share_of_the_limit() {
    let mut c = tree(&["x", "x/1", "x/2"]);
    (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(1000), Some(0));
    let holds = |pages: u32| vec![anon(pages), write(0, 0, pages), sleep_ms(5000)];
    let wants = vec![sleep_ms(50), anon(301), write(0, 0, 301), sleep_ms(5000)];
    let of = |name, group, ops| threads(name, Some(group), vec![ops]);
    let p = of("p", 1, holds(300)).with_oom_score_adj(100);
    let r = run(&c, vec![p, of("q", 1, holds(300)), of("s", 1, holds(100)), of("r", 2, wants)]);
    assert_eq!(victim(&r), "p");
}

/// The same with 950 pages, of which r has 350 when it wants one more: r has the most points, all
/// three die, and r counts twice.
#[test]
fn a_group_dies_as_one_of_950_pages() {
    let r = three_processes(true, 950, 351, 0);
    assert_eq!(victim(&r), "r");
    let of = |i, name: &str| stat(&r, i, &format!("memory.events.{name}"));
    assert_eq!(["oom", "oom_group_kill", "oom_kill"].map(|n| of(0, n)), [1, 1, 4]);
    assert_eq!([0, 1, 2].map(|i| of(i, "local.oom_kill")), [0, 2, 2]);
}

/// A thread of the root needs pages where only a group within its `memory.low` has some: 1000 clean
/// file pages. Under the classic LRU kswapd frees none. The thread goes through two rounds in vain, and
/// the third takes 1, 3, 7, 15 and 30 pages at priorities 9 to 5: 8 visits, with three before that took
/// none. kswapd under MGLRU takes them at its second visit.
#[test]
fn kswapd_leaves_a_protected_group_to_others() {
    let mut c = MachineConfig { memcgs: vec![group("g")], ..config(Kernel::V6_12, "ramdisk") };
    c.nodes[0].zones = vec![zone(1100)];
    c.swap.clear();
    c.memcgs[0].low = 2000;
    let tasks = |each: u32| {
        let reader = vec![pread(0, 1000), sleep_ms(1000)];
        let writes = (0..110 / each).flat_map(|i| [write(0, i * each, each), sleep_ms(10)]);
        let hog = [sleep_ms(500), anon(110)].into_iter().chain(writes).collect();
        vec![threads("reader", Some(0), vec![reader]), task("hog", hog)]
    };
    let r = run(&c, tasks(110));
    completed(&r);
    let stalls = ["allocstall_normal", "allocstall_movable"].map(|n| count(&r, n));
    let [kswapd, direct, stolen] = counts(&r, ["pgscan_kswapd", "pgscan_direct", "pgsteal_direct"]);
    let (low, rounds) = (stat(&r, 0, "memory.events.low"), count(&r, "sim_memcg_low_rounds"));
    assert!(count(&r, "pageoutrun") > 0);
    let seen = (kswapd, direct, stolen, low, rounds, stalls[0] + stalls[1]);
    assert_eq!(seen, (0, 56, 56, 8, 1, 3));
    let lru = |mem: &mut Memory| Box::new(Mglru::new(MglruConfig::V6_12, mem, 1)) as Box<_>;
    // kswapd wakes some pages before a thread has to reclaim, and the thread pauses.
    c.nodes[0].zones = vec![ZoneConfig::new(ZoneKind::Normal, 1100).bare([8, 30, 60])];
    let r = Machine::new(&c, tasks(5), 1, lru).run(Watch::default().with_check_every(1));
    completed(&r);
    let [kswapd, direct] = counts(&r, ["pgsteal_kswapd", "pgsteal_direct"]);
    let low = stat(&r, 0, "memory.events.low");
    assert!(kswapd > direct && low > 0, "{kswapd} {direct} {low}");
}

/// Above `memory.swap.high` threads are slowed down, and nothing is lost.
#[test]
fn swap_above_its_high_mark_costs_time() {
    let slept = |swap_high| {
        let mut c = tree(&["pod", "pod/a"]);
        (c.memcgs[1].max, c.memcgs[0].swap_high) = (Some(100), swap_high);
        let r = run(&c, vec![threads("t", Some(1), vec![vec![anon(400), write(0, 0, 400)]])]);
        completed(&r);
        (r.threads[0].throttled.0, stat(&r, 0, "memory.swap.events.high"))
    };
    assert_eq!(slept(None).1, 0);
    let (time, events) = slept(Some(100));
    assert!(time > 1_000_000_000 && events > 0, "{time} {events}");
}

/// Pressure of a group counts in all above it, and in no other.
#[test]
fn pressure_is_that_of_a_level() {
    let mut c = tree(&["pod", "pod/a", "other"]);
    c.memcgs[1].max = Some(50);
    let wants: Vec<Op> =
        std::iter::once(anon(200)).chain((0..5).map(|_| write(0, 0, 200))).collect();
    let calm = vec![anon(10), write(0, 0, 10), sleep_ms(50)];
    let r = run(&c, vec![threads("a", Some(1), vec![wants]), threads("o", Some(2), vec![calm])]);
    completed(&r);
    let some = |i| stat(&r, i, "memory.pressure.some.total");
    assert!(some(1) > 0 && some(0) == some(1), "{} {}", some(0), some(1));
    assert_eq!(some(2), 0);
}

/// Slots of a group that evicted 40 pages to a disk and read them back, with this `memory.swap.max`.
fn slots_left(swap_max: Option<u64>) -> u64 {
    let mut c = MachineConfig { memcgs: vec![group("g")], ..config(Kernel::V6_12, "nvme") };
    c.memcgs[0].swap_max = swap_max;
    let out = advise(0, 0, 40, Advice::PageOut);
    // The write ends, and reclaim finds the pages clean.
    let gone = [out, sleep_ms(100), reclaim(40), sleep_ms(100)];
    let ops = [&[anon(40), write(0, 0, 40)], &gone[..], &[read(0, 0, 40), end(0)]].concat();
    let r = run(&c, vec![threads("t", Some(0), vec![ops])]);
    completed(&r);
    assert_eq!(counts(&r, ["pswpout", "pswpin"]), [40, 40], "{swap_max:?}");
    stat(&r, 0, "memory.swap.current") / 4096
}

/// A page that is read from a disk keeps its slot, which the group is charged for, and gives it up
/// if the group has used half of its swap (`mem_cgroup_swap_full`). Of 80 slots 40 are half, so the
/// first page gives its own up, and 39 are less than half. Of 60 slots, 29 are.
#[test]
fn copies_in_swap_go_when_the_group_has_used_half() {
    let left = [None, Some(81), Some(80), Some(60), Some(50)].map(slots_left);
    assert_eq!(left, [40, 40, 39, 29, 24]);
}
