//! Groups that are created and removed amid a run.

use crate::support::*;
use mmsim::base::time::SimDuration;
use mmsim::config::{Kernel, MachineConfig, MemcgConfig};
use mmsim::machine::result::{Outcome, RunResult};
use mmsim::workload::Op;

fn ms(n: u64) -> SimDuration {
    SimDuration::from_millis(n)
}

fn until(name: &str, end: u64) -> MemcgConfig {
    MemcgConfig { until: Some(ms(end)), ..group(name) }
}

fn machine_of(kernel: Kernel, memcgs: Vec<MemcgConfig>) -> MachineConfig {
    MachineConfig { memcgs, ..config(kernel, "ramdisk") }
}

fn completed(c: &MachineConfig, tasks: Vec<mmsim::machine::TaskConfig>) -> RunResult {
    let r = run(c, tasks);
    assert_eq!(r.outcome, Outcome::Completed);
    r
}

fn pages(r: &RunResult, group: usize) -> u64 {
    stat(r, group, "memory.current") / 4096
}

/// A container reads 300 pages of a file and ends. Its group is removed at 2 s. Up to 6.18 its pages
/// stay its own; later kernels give them to the pod, which was charged for them all along.
#[test]
fn pages_of_a_removed_group() {
    for (kernel, left) in [(Kernel::V6_12, 300), (Kernel::V6_18, 300), (Kernel::V7_3, 0)] {
        let c = machine_of(kernel, vec![group("pod"), until("pod/a", 2000)]);
        let reader = threads("reader", Some(1), vec![vec![pread(0, 300)]]);
        let r = completed(&c, vec![reader, task("rest", vec![sleep_ms(3000)])]);
        assert_eq!([0, 1].map(|g| pages(&r, g)), [300, left], "{kernel:?}");
        assert_eq!(stat(&r, 1, "sim_removed_ns"), 2_000_000_000, "{kernel:?}");
        assert_eq!(stat(&r, 1, "sim_left_bytes"), 300 * 4096, "{kernel:?}");
    }
}

/// A group is removed when its last process has ended, and one above it when its last group is gone.
/// A group without `until` stays.
#[test]
fn removal_waits_for_processes_and_groups() {
    let c =
        machine_of(Kernel::V6_12, vec![until("pod", 1), until("pod/a", 5), until("pod/b", 900)]);
    let worker = threads("worker", Some(1), vec![vec![sleep_ms(300)]]);
    let r = completed(&c, vec![worker, task("rest", vec![sleep_ms(2000)])]);
    let [pod, a, b] = [0, 1, 2].map(|g| stat(&r, g, "sim_removed_ns"));
    assert!((300_000_000..301_000_000).contains(&a), "{a}");
    assert_eq!([pod, b], [900_000_000; 2]);
}

/// Reclaim below a pod, of 32 pages at least. `b` has 1000 clean file pages; `a` has ten, and may be
/// removed. A group that is there gives 10 >> 12 pages and so on: `b` alone gives 1, 3, 7, 15 and 30
/// at priorities 9 to 5. A removed one gives its ten at once, so that `b` gives 1, 3, 7 and 15.
#[test]
fn a_removed_group_is_scraped_out() {
    let taken = |end: u64| {
        let c = machine_of(Kernel::V6_12, vec![group("pod"), until("pod/a", end), group("pod/b")]);
        let of = |name, g, first, n| threads(name, Some(g), vec![vec![pread(first, n)]]);
        let asks = vec![sleep_ms(2000), reclaim(32), sleep_ms(1)];
        let asker = threads("asker", Some(0), vec![asks]);
        let r = completed(&c, vec![of("a", 1, 0, 10), of("b", 2, 10, 1000), asker]);
        [1, 2].map(|g| stat(&r, g, "pgsteal_file"))
    };
    assert_eq!(taken(5000), [0, 56]);
    assert_eq!(taken(1000), [10, 26]);
}

/// Groups below the pod are walked in the order of their creation, not in that of the list: `late`
/// is listed first and visited last, when enough was freed before. Groups that are not there count
/// in no walk.
#[test]
fn order_of_creation_is_order_of_the_walk() {
    let walk = |from: u64, remove: bool| {
        let late = MemcgConfig { from: ms(from), ..group("pod/late") };
        let mut c = machine_of(Kernel::V6_12, vec![group("pod"), late, group("pod/early")]);
        if remove {
            c.memcgs.push(until("pod/gone", 500));
        }
        let of = |name, g, first| {
            let ops: Vec<Op> = vec![sleep_ms(100), pread(first, 500)];
            threads(name, Some(g), vec![ops])
        };
        let asker = threads("asker", Some(0), vec![vec![sleep_ms(2000), reclaim(16), sleep_ms(1)]]);
        let r = completed(&c, vec![of("late", 1, 0), of("early", 2, 500), asker]);
        ([1, 2].map(|g| stat(&r, g, "pgsteal_file")), count(&r, "sim_memcg_walk_groups"))
    };
    let (first, groups) = walk(0, false);
    let (later, _) = walk(50, false);
    assert_eq!([first[0], first[1]], [later[1], later[0]], "they change places");
    assert!(first[0] > first[1], "{first:?}");
    assert_eq!(walk(0, true), (first, groups), "a removed group without pages");
}

/// A reference of the removed group's limit tells nothing: the same refault, within its distance, is
/// activated while the group is there.
#[test]
fn refaults_know_nothing_of_a_removed_group() {
    let activated = |end: u64| {
        let mut c = machine_of(Kernel::V6_12, vec![until("a", end)]);
        c.memcgs[0].max = Some(100);
        // Pages of an active list: the distance within which a refault is near.
        let ops = vec![pread(0, 60), pread(0, 60), pread(100, 60)];
        let back = vec![sleep_ms(2000), pread(100, 60), sleep_ms(1)];
        let r = completed(&c, vec![threads("a", Some(0), vec![ops]), task("back", back)]);
        assert!(count(&r, "workingset_refault_file") > 0);
        count(&r, "workingset_activate_file")
    };
    assert!(activated(5000) > 0);
    assert_eq!(activated(1000), 0);
}

/// 1000 clean file pages beside a million empty groups. Reclaim of 32 pages takes 1, 3, 7, 15 and 30
/// at priorities 9 to 5, and nothing at three before. Each of the eight walks comes by the pod, by
/// all that are empty, and by the group with pages.
#[test]
fn walks_come_by_empty_groups() {
    let idle = MemcgConfig { empty: Some(1_000_000), ..group("pod/idle") };
    let c = machine_of(Kernel::V6_12, vec![group("pod"), idle, group("pod/b")]);
    let reader = threads("b", Some(2), vec![vec![pread(0, 1000)]]);
    let asks = vec![sleep_ms(2000), reclaim(32), sleep_ms(1)];
    let r = completed(&c, vec![reader, threads("asker", Some(0), vec![asks])]);
    assert_eq!(stat(&r, 2, "pgsteal_file"), 56);
    assert_eq!(count(&r, "sim_memcg_walk_groups"), 8 * 1_000_002);
}
