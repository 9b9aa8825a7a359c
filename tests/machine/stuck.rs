//! Runs that cannot end are ended, with who waited for what; runs that can are not.

use crate::harness::report;
use mmsim::report::{Ending, Report, StuckReport};

fn stuck(report: &Report) -> &StuckReport {
    let run = &report.runs[0];
    assert_eq!(run.outcome, Ending::Stuck);
    run.stuck.as_ref().expect("it says who waits")
}

/// A block of 128 KiB that must not fail, where 5,000 of them are more than there is. The allocator
/// reclaims, sleeps for 1 ms and tries again, for ever: two tries in vain, so 10,000 are five seconds.
#[test]
fn an_allocation_that_must_not_fail_and_cannot_succeed() {
    let report = report(
        r#"
        name = "nofail-order-5"
        [machine]
        memory = "64MiB"
        [[task]]
        workload = "kernel-alloc"
        order = 5
        retry = "nofail"
        attempts = 5000
        "#,
    );
    let stuck = stuck(&report);
    let [thread] = &stuck.waiting[..] else { panic!("{stuck:?}") };
    assert_eq!(thread.thread, "kernel-alloc");
    assert_eq!(thread.doing, "kernel allocation of order 5, Unmovable, __GFP_NOFAIL");
    assert_eq!(thread.waits_for, "memory");
    assert!(stuck.at_ns.abs_diff(5_000_000_000) < 100_000_000, "{stuck:?}");
    assert!(thread.since_ns < 100_000_000, "{stuck:?}");
    assert_eq!(report.runs[0].sim_time_ns, stuck.at_ns);
}

/// The same request beside a process that gives its memory back after a minute: it has to wait, and
/// gets what it asks for.
#[test]
fn who_waits_for_one_that_sleeps_is_not_stuck() {
    let report = report(
        r#"
        name = "waits"
        [machine]
        memory = "64MiB"
        [[task]]
        name = "holder"
        workload = "phased"
        regions = { a = { memory = "58MiB" } }
        steps = [
            { do = "allocate", region = "a" },
            { do = "touch", region = "a", write = true },
            { do = "sleep", time = "60s" },
            { do = "free", region = "a" },
        ]
        [[task]]
        name = "asker"
        workload = "kernel-alloc"
        start = "1s"
        order = 5
        retry = "nofail"
        attempts = 100
        "#,
    );
    let run = &report.runs[0];
    assert_eq!(run.outcome, Ending::Completed);
    let asker = run.threads.iter().find(|t| t.name == "asker").expect("it is there");
    assert!(asker.finished_ns > 60_000_000_000, "{asker:?}");
}

/// `records` times a million seconds of computing.
fn computing(records: u32) -> Report {
    report(&format!(
        r#"
        name = "long"
        [machine]
        memory = "16MiB"
        [[task]]
        workload = "ebizzy"
        memory = "1MiB"
        records = {records}
        compute = "1000000s"
        "#
    ))
}

/// Where clocks were packed beside the number of a CPU, time began anew at 2^60 ns.
#[test]
fn time_goes_on_behind_thirty_six_years() {
    let report = computing(1153);
    assert_eq!(report.runs[0].outcome, Ending::Completed);
    assert_eq!(report.runs[0].sim_time_ns, 1_153_000_000_120_527_000);
}

/// 5,000 million seconds are more than simulated time has, 2^62 ns.
#[test]
fn time_ends_and_does_not_begin_anew() {
    let report = computing(5000);
    let stuck = stuck(&report);
    assert!(stuck.why.contains("simulated time ends at 4611686018 s"), "{stuck:?}");
    assert_eq!(stuck.at_ns, 1 << 62);
    // The last of them would have ended behind it.
    assert_eq!(report.runs[0].sim_time_ns, 1 << 62);
    assert_eq!(report.runs[0].records, 4611);
}

/// A figure of fragmentation of the zone that unmovable requests ask first, where there is none.
#[test]
fn a_target_that_cannot_be_seen_is_out_of_reach() {
    let report = report(
        r#"
        name = "x"
        [machine]
        zone = [{ kind = "Movable", managed = "4000 pages" }]
        [[task]]
        workload = "fragment"
        keep-permille = 10
        target = { order = 3, unusable = 800, patience = 4 }
        "#,
    );
    let run = &report.runs[0];
    assert_eq!(run.outcome, Ending::Completed);
    let [aim] = &run.aims[..] else { panic!("{:?}", run.aims) };
    assert!(!aim.met, "{aim:?}");
}

/// Reads of cached pages that take no time, until some time has passed.
#[test]
fn a_thread_for_which_time_stands_is_stuck() {
    let report = report(
        r#"
        name = "x"
        [machine]
        memory = "16MiB"
        cost = { t_hit = "0ns", t_read_cached = "0ns", t_syscall = "0ns" }
        [[task]]
        workload = "uniform"
        region = "read"
        memory = "1MiB"
        duration = "1ms"
        "#,
    );
    assert!(stuck(&report).why.contains("time does not pass"), "{:?}", report.runs[0].stuck);
}

/// A huge page is there for each fault, and its page table takes a request of the kernel that stays out
/// of movable pageblocks until reclaim was in vain sixteen times. The fault does not begin anew
/// between these, or it would have its huge page again and never come to the end.
#[test]
fn a_fault_ends_whose_page_table_waits_for_a_pageblock() {
    let report = report(
        r#"
        name = "whole-blocks"
        [machine]
        kernel = "7.3"
        memory = "512MiB"
        cpus = 2
        pageblock-order = 10
        vm = { defrag_mode = 1, transparent_hugepage = "always" }
        rules = { defrag-promotes = "no" }
        [[task]]
        name = "fragments"
        workload = "fragment"
        pause = "0ns"
        failures = 1
        keep-permille = 20
        movable-permille = 1000
        [[task]]
        name = "heap"
        workload = "phased"
        start = "2s"
        regions = { a = { memory = "64MiB" } }
        steps = [{ do = "allocate", region = "a" }]
        "#,
    );
    assert_eq!(report.runs[0].outcome, Ending::Completed);
}
