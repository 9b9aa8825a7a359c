//! Purpose of the last patch of the anonymous workingset series of 2020, on the first half minute
//! of `scenarios/kernel-build.toml`.
//!
//! Linux 5.5 divides reclaim between anonymous memory and files by the share of what was scanned
//! lately that was rotated, and what is put on a list counts as scanned, if on the active list as
//! rotated too. A build puts millions of new anonymous pages on lists. On the active list they say
//! "all of this is in use"; on the inactive one, where the series puts them, they say "none of
//! this is". So anonymous memory is scanned many times as much for the same work, and some of it is
//! swapped out, though nothing in it is idle. Counting new pages as rotated restores the balance.

use crate::harness::{report_of, shipped};

/// A sixth of the build, on so much less memory that it fills it. A boost would be a large part of
/// that, and reclaim for it is no question of policy.
const LESS: [(&str, &str); 4] = [
    ("seeds", "2"),
    ("task[0].records", "200"),
    ("machine.memory", "440MiB"),
    ("machine.vm.watermark_boost_factor", "0"),
];

#[test]
fn without_the_last_patch_anonymous_memory_is_scanned_more() {
    let report = report_of(&shipped("kernel-build.toml", &LESS));
    // One seed of so short a build says little: both together.
    let count = |variant: &str, counter: &str| -> u64 {
        let runs: Vec<_> = report.runs.iter().filter(|r| r.variant == variant).collect();
        assert_eq!(runs.len(), 2, "{variant}");
        let of_access = |r: &&mmsim::report::RunReport| {
            let phase = r.phases.iter().find(|p| p.name == "access").expect("the phase");
            *phase.vmstat.get(counter).expect("the counter")
        };
        runs.iter().map(of_access).sum()
    };
    let without = "without patch 9";
    for with in ["as posted", "without the leak", "as its reviewer proposed"] {
        // At least half as much again; and there has to be reclaim at all.
        let scanned = count(without, "pgscan_anon");
        assert!(scanned > 40_000, "{scanned}");
        assert!(2 * scanned > 3 * count(with, "pgscan_anon"), "{with}");
        assert!(count(without, "pswpout") > count(with, "pswpout"), "{with}");
        assert!(count(without, "pgscan_file") < count(with, "pgscan_file"), "{with}");
    }
    // The kernel that the series was posted for, too, left anonymous memory alone.
    assert!(count(without, "pgscan_anon") > 2 * count("v5.5", "pgscan_anon"));
    // All did the same work.
    for seed in [1, 2] {
        let accesses: Vec<u64> =
            report.runs.iter().filter(|r| r.seed == seed).map(|r| r.accesses).collect();
        assert_eq!(accesses.len(), 5);
        assert!(accesses.iter().all(|a| *a == accesses[0]), "{accesses:?}");
    }
}
