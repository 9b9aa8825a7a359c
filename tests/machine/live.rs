//! Sysctls that are written while a machine runs.

use crate::harness::{scenario, specs};
use mmsim::base::time::SimTime;
use mmsim::base::vmstat::VmEvent;
use mmsim::live::Live;
use mmsim::report::RunReport;

const SCENARIO: &str = r#"
    name = "live"
    machine = { memory = "20MiB", cpus = 2, swap = { size = "64MiB", device = "nvme" }, file-device = "ssd" }
    task = [
        { name = "heap", workload = "zipf", memory = "24MiB", accesses = 40000, write-permille = 300 },
        { name = "file", workload = "zipf", memory = "24MiB", region = "read", accesses = 40000 },
    ]
"#;

fn begun() -> Live {
    Live::new(scenario(SCENARIO), specs(SCENARIO).remove(0)).expect("a machine")
}

/// After half of the run sysctls are written; what the run came to.
fn written(sets: &[(&str, &str)]) -> RunReport {
    let mut live = begun();
    live.go_on(SimTime(100_000_000)).expect("no invariant is broken");
    for (key, value) in sets {
        live.set(&format!("machine.vm.{key}"), value).unwrap_or_else(|e| panic!("{key}: {e}"));
        live.machine().check();
    }
    while live.go_on(SimTime(live.now().0 + 10_000_000)).expect("no invariant is broken") {
        live.machine().check();
    }
    live.finish().expect("no invariant is broken").runs.remove(0)
}

fn stalls(live: &mut Live) -> u64 {
    use VmEvent::{AllocStallDma, AllocStallDma32, AllocStallNormal};
    let (vmstat, _) = live.counters();
    [AllocStallDma, AllocStallDma32, AllocStallNormal].map(|e| vmstat[e]).iter().sum()
}

/// Writing the value that a machine has already changes nothing; other values change the run.
#[test]
fn every_sysctl_can_be_written_but_for_those_of_the_start() {
    let as_it_was = written(&[]).vmstat;
    for (key, same, other) in [
        ("swappiness", "60", "200"),
        ("page-cluster", "3", "0"),
        ("min_free_kbytes", "", "4096"),
        ("watermark_scale_factor", "10", "1000"),
        ("watermark_boost_factor", "15000", "0"),
        ("percpu_pagelist_high_fraction", "0", "8"),
        ("dirty_background_ratio", "10", "1"),
        ("dirty_ratio", "20", "2"),
        ("dirty_background_bytes", "", "8192"),
        ("dirty_bytes", "", "16384"),
        ("dirty_expire_centisecs", "3000", "1"),
        ("dirty_writeback_centisecs", "500", "1"),
        ("compaction_proactiveness", "20", "100"),
        ("read_ahead_kb", "128", "16"),
        ("fault_around_bytes", "65536", "4096"),
        ("extfrag_threshold", "500", "0"),
        ("compact_unevictable_allowed", "1", "0"),
        ("transparent_hugepage", "never", "always"),
        ("thp_defrag", "madvise", "always"),
    ] {
        if !same.is_empty() {
            assert_eq!(written(&[(key, same)]).vmstat, as_it_was, "{key} as it was");
        }
        let run = written(&[(key, other)]);
        assert!(run.setup.iter().any(|(k, v)| k.ends_with(key) && v == other), "{:?}", run.setup);
        if ["swappiness", "page-cluster", "min_free_kbytes", "watermark_scale_factor"]
            .contains(&key)
        {
            assert!(run.vmstat != as_it_was, "{key} = {other} changes nothing");
        }
    }
    let error = begun().set("machine.vm.nr_hugepages", "1").expect_err("a pool").to_string();
    assert!(error.contains("cannot change while a machine runs"), "{error}");
}

/// kswapd reclaims up to a higher mark from then on, so more is free, and faster allocations find
/// memory: fewer stalls.
#[test]
fn watermarks_move_while_the_machine_runs() {
    let [low, high] = ["10", "1000"].map(|factor| {
        let mut live = begun();
        live.go_on(SimTime(100_000_000)).expect("no invariant is broken");
        live.set("machine.vm.watermark_scale_factor", factor).expect("a sysctl");
        let before = stalls(&mut live);
        let mut free = Vec::new();
        for ms in 1..=50 {
            assert!(live.go_on(SimTime(100_000_000 + ms * 1_000_000)).expect("sound"), "too short");
            let (_, gauges) = live.counters();
            free.push(gauges.iter().find(|g| g.0 == "nr_free_pages").expect("a gauge").1);
        }
        (free.iter().sum::<u64>() / free.len() as u64, stalls(&mut live) - before)
    });
    assert!(high.0 > 2 * low.0, "free pages {low:?} {high:?}");
    assert!(high.1 <= low.1, "stalls {low:?} {high:?}");
}
