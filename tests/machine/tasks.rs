//! Counts of each task, beside those of the machine and its groups.

use crate::support::*;
use mmsim::config::{Kernel, MachineConfig};
use mmsim::machine::Watch;
use mmsim::machine::result::RunResult;
use mmsim::virt::space::Counted;

fn counted(r: &RunResult, task: &str) -> Counted {
    r.tasks.iter().find(|t| t.name == task).unwrap_or_else(|| panic!("no task {task}")).counted
}

/// The sums over tasks are the machine's counters.
fn sums_are_the_machines(r: &RunResult) {
    let sum = |of: fn(&Counted) -> u64| r.tasks.iter().map(|t| of(&t.counted)).sum::<u64>();
    let all = [
        sum(|c| c.faults),
        sum(|c| c.major_faults),
        sum(|c| c.swap_ins),
        sum(|c| c.refaults_anon),
        sum(|c| c.refaults_file),
        sum(|c| c.evicted_anon),
    ];
    let names = [
        "pgfault",
        "pgmajfault",
        "pswpin",
        "workingset_refault_anon",
        "workingset_refault_file",
        "pgsteal_anon",
    ];
    assert_eq!(all, counts(r, names));
    assert_eq!(sum(|c| c.cache_misses), r.cache_misses);
}

/// One task stays, the other is limited to 100 pages by its group: of its 400 pages those that are
/// not in memory were evicted, and none of its neighbour's.
#[test]
fn who_faulted_and_whose_page_went() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.memcgs[0].max = Some(100);
    let stays = vec![anon(500), write(0, 0, 500), sleep_ms(1000), read(0, 0, 500), end(0)];
    let wants = vec![sleep_ms(10), anon(400), write(0, 0, 400), end(0), sleep_ms(2000)];
    let r = run(&c, vec![task("stays", stays), member("wants", wants)]);
    let mut expected = Counted::default();
    expected.faults = 500;
    assert_eq!(counted(&r, "stays"), expected);
    let evicted_anon = stat(&r, 0, "pgsteal_direct");
    assert!(evicted_anon >= 300);
    (expected.faults, expected.evicted_anon) = (400, evicted_anon);
    assert_eq!(counted(&r, "wants"), expected);
    sums_are_the_machines(&r);
    // The phase that ends first has the faults of both; those of its task are 400.
    let first = &r.phases[0];
    assert_eq!((first.task.name.as_str(), phase_counts(first, ["pgfault"])), ("wants", [900]));
    assert_eq!((first.task.counted.faults, first.task.accesses), (400, 400));
    // The other's phase began with the run, whoever ended one meanwhile.
    let last = &r.phases[1];
    assert_eq!((last.task.name.as_str(), phase_counts(last, ["pgfault"])), ("stays", [0]));
    assert_eq!((last.task.counted.faults, last.task.accesses, last.task.begin.0), (500, 1000, 0));
}

/// Two tasks, one of them in a group: the group counts what the task does.
#[test]
fn a_task_alone_in_its_group_counts_as_the_group_does() {
    let c = config(Kernel::V6_12, "ramdisk");
    let work = |pages| {
        let mut ops = vec![anon(pages), write(0, 0, pages)];
        ops.extend((0..3).flat_map(|_| [read(0, 0, pages), pread(0, 200)]));
        ops
    };
    let r = run(&c, vec![task("root", work(1100)), member("member", work(1300))]);
    let t = counted(&r, "member");
    assert!(t.swap_ins > 300 && t.refaults_anon > 300, "{t:?}");
    let of_group = ["pgfault", "pgmajfault", "pswpin", "workingset_refault_anon"];
    assert_eq!(
        [t.faults, t.major_faults, t.swap_ins, t.refaults_anon],
        of_group.map(|name| stat(&r, 0, name))
    );
    sums_are_the_machines(&r);
}

/// Without an observer, runs of common faults and teams of first touches count for each task too.
#[test]
fn the_short_ways_count_as_well() {
    let few: [u32; 2] = [600, 700];
    let many: [u32; 2] = [1200, 1500];
    for (sizes, swaps) in [(few, false), (many, true)] {
        let c = MachineConfig { cpus: 2, memcgs: Vec::new(), ..config(Kernel::V6_12, "ramdisk") };
        let tasks = sizes.iter().zip(["a", "b"]).map(|(&pages, name)| {
            let mut ops = vec![anon(pages), write(0, 0, pages)];
            ops.extend((0..4).map(|_| read(0, 0, pages)));
            task(name, ops)
        });
        let r = machine(&c, tasks.collect()).run(Watch::default());
        for (&pages, name) in sizes.iter().zip(["a", "b"]) {
            let t = counted(&r, name);
            assert_eq!(t.faults, u64::from(pages) + t.major_faults, "{name}");
            assert_eq!(t.swap_ins, t.major_faults, "{name}");
            assert_eq!(t.swap_ins > 500, swaps, "{name}: {t:?}");
        }
        sums_are_the_machines(&r);
    }
}
