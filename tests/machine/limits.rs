//! Groups at their limit: what a charge does that does not fit.

use crate::support::*;
use mmsim::config::Kernel;
use mmsim::machine::result::{Outcome, RunResult};
use mmsim::workload::Op;

/// Both LRUs of 6.12.
const LRUS: [&str; 2] = ["classic-v6.12", "mglru-v6.12"];

/// A group full of clean page cache writes 16 pieces of 2 MiB, with advice or without.
fn huge_faults_when_full(lru: &str, defrag: &str, advice: &str) -> RunResult {
    let text = format!(
        "name = \"x\"\nreclaim = {{ preset = \"{lru}\" }}\n[machine]\nmemory = \"192MiB\"\n\
         memcg = [{{ name = \"g\", max = \"48MiB\", swap-max = \"0 pages\" }}]\n\
         vm = {{ transparent_hugepage = \"always\", thp_defrag = \"{defrag}\" }}\n\
         [[task]]\nworkload = \"phased\"\nmemcg = \"g\"\n\
         regions = {{ f = {{ memory = \"64MiB\", kind = \"read\" }}, a = {{ memory = \"32MiB\" }} }}\n\
         steps = [\n\
         {{ do = \"read\", region = \"f\" }},\n\
         {{ do = \"phase\", name = \"cache\" }},\n\
         {{ do = \"allocate\", region = \"a\", populate = false }},\n\
         {advice}\
         {{ do = \"touch\", region = \"a\", write = true }},\n\
         {{ do = \"phase\", name = \"heap\" }},\n]\n"
    );
    scenario(&text).remove(0)
}

const HUGE: [&str; 3] = ["thp_fault_alloc", "thp_fault_fallback", "thp_fault_fallback_charge"];

/// Linux 6.12 mm/memcontrol.c (`try_charge_memcg`): a fault that may reclaim makes room for its 512
/// pages out of the clean cache; one that may not falls back, and the group's limit is why.
#[test]
fn a_huge_page_is_charged_with_reclaim_if_its_fault_may_block() {
    let advised = "{ do = \"madvise\", region = \"a\", advice = \"hugepage\" },\n";
    for lru in LRUS {
        for (defrag, advice, blocks) in [
            ("always", advised, true),
            ("madvise", advised, true),
            ("defer+madvise", advised, true),
            ("defer", advised, false),
            ("never", advised, false),
            ("always", "", true),
            ("madvise", "", false),
            ("defer+madvise", "", false),
            ("defer", "", false),
            ("never", "", false),
        ] {
            let r = huge_faults_when_full(lru, defrag, advice);
            assert_eq!(r.outcome, Outcome::Completed, "{lru}, {defrag}");
            let heap = &r.phases[1];
            let made = if blocks { [16, 0, 0] } else { [0, 16, 16] };
            assert_eq!(phase_counts(heap, HUGE), made, "{lru}, {defrag} {advice}");
            // What the group has is its limit, so the heap took the place of cache, page by page; a
            // pass may free more than the last block needs.
            let [freed] = phase_counts(heap, ["pgsteal_file"]);
            assert!((16 * 512 - 600..16 * 512 + 600).contains(&freed), "{lru}, {defrag}: {freed}");
        }
    }
}

/// Without a limit no thread reclaims, and no charge fails.
#[test]
fn no_limit_no_failed_charge() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.vm.thp = mmsim::config::Thp::Always;
    let r = run(&c, vec![member("t", vec![anon(1536), write(0, 0, 1536)])]);
    assert_eq!(counts(&r, HUGE), [3, 0, 0]);
}

/// A group smaller than a huge page: all it has is reclaimed in vain, the fault falls back, and no
/// process is killed for the sake of a huge page.
#[test]
fn a_huge_page_kills_nobody() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.vm.thp = mmsim::config::Thp::Always;
    c.vm.thp_defrag = mmsim::config::ThpDefrag::Always;
    c.memcgs[0].max = Some(300);
    let ops = vec![pread(0, 200), end(0), anon(512), write(0, 0, 100), end(1)];
    let r = run(&c, vec![member("t", ops)]);
    assert_eq!(r.outcome, Outcome::Completed);
    assert_eq!(phase_counts(&r.phases[1], HUGE), [0, 1, 1]);
    assert_eq!(count(&r, "pgsteal_file"), 200, "18 attempts for 512 pages leave no cache");
}

/// Reading ahead asks with `__GFP_NORETRY`, which is no reason to leave a full group unread: a window
/// is charged page by page with reclaim.
#[test]
fn readahead_is_charged_with_reclaim() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.vm.ra_pages = 64;
    c.memcgs[0].max = Some(400);
    let r = run(&c, vec![member("t", vec![pread(0, 1024), end(0)])]);
    assert_eq!(r.outcome, Outcome::Completed);
    assert_eq!(count(&r, "pgpgin"), 1024 * 4, "each page is read once");
    assert!(count(&r, "pgsteal_file") >= 624);
    // A window that ended where the group is full would leave the rest to requests of one page.
    c.memcgs[0].max = None;
    let free = run(&c, vec![member("t", vec![pread(0, 1024), end(0)])]).sim_time;
    assert!(r.sim_time < free * 2, "{} against {free} without a limit", r.sim_time);
}

/// A group whose `memory.min` or `memory.low` is its limit reads a file twice, the second time
/// after kswapd had to do with another group.
fn protected_up_to_the_limit(kernel: &str, lru: &str, key: &str) -> RunResult {
    let text = format!(
        "name = \"x\"\nexpect-oom = true\nreclaim = {{ preset = \"{lru}\" }}\n\
         [machine]\nmemory = \"64MiB\"\nkernel = \"{kernel}\"\n\
         memcg = [{{ name = \"pod\", {key} = \"16MiB\", max = \"16MiB\" }}]\n\
         [[task]]\nworkload = \"phased\"\nname = \"pod\"\nmemcg = \"pod\"\n\
         regions = {{ f = {{ memory = \"32MiB\", kind = \"read\" }} }}\n\
         steps = [\n\
         {{ do = \"read\", region = \"f\" }},\n\
         {{ do = \"phase\", name = \"before\" }},\n\
         {{ do = \"sleep\", time = \"5s\" }},\n\
         {{ do = \"read\", region = \"f\" }},\n\
         {{ do = \"phase\", name = \"after\" }},\n]\n\
         [[task]]\nworkload = \"phased\"\nname = \"other\"\nstart = \"1s\"\n\
         regions = {{ f = {{ memory = \"76MiB\", kind = \"read\" }} }}\n\
         steps = [{{ do = \"read\", region = \"f\" }}]\n"
    );
    scenario(&text).remove(0)
}

/// `memory.min` at the limit keeps reclaim for the limit away from 5.9 to 6.1, once a pass over all
/// groups has noted it: the group's OOM killer comes, beside its clean cache. `memory.low` is ignored
/// at the second attempt there. Up to 5.8 protection only makes reclaim slower; since 6.2 it is
/// against others alone (commit adb8213014b2).
#[test]
fn stale_protection_kills_from_5_9_to_6_1() {
    for lru in ["classic-v5.9", "mglru-v6.1"] {
        for kernel in Kernel::ALL.into_iter().filter(|&k| k > Kernel::V4_1) {
            let skips = (Kernel::V5_9..=Kernel::V6_1).contains(&kernel);
            for key in ["min", "low"] {
                let r = protected_up_to_the_limit(kernel.name(), lru, key);
                let named = format!("{lru} on {}, {key}: {:?}", kernel.name(), r.outcome);
                let killed = skips && key == "min";
                assert_eq!(killed, r.outcome != Outcome::Completed, "{named}");
                assert_eq!(count(&r, "oom_kill"), u64::from(killed), "{named}");
                assert_eq!(r.phases.len(), if killed { 1 } else { 2 }, "{named}");
            }
        }
    }
}

/// Without anybody else there is no pass over all groups, and so no note.
#[test]
fn protection_that_nobody_noted_does_no_harm() {
    let mut c = config(Kernel::V6_1, "ramdisk");
    (c.memcgs[0].min, c.memcgs[0].max) = (300, Some(300));
    let r = run(&c, vec![member("t", vec![pread(0, 1000), end(0), pread(0, 1000), end(1)])]);
    assert_eq!((&r.outcome, count(&r, "oom_kill")), (&Outcome::Completed, 0));
}

/// A write to `memory.reclaim` finds the group protected as well, and gives up.
#[test]
fn stale_protection_stops_proactive_reclaim() {
    let gives = |kernel| {
        let mut c = config(kernel, "ramdisk");
        (c.memcgs[0].min, c.memcgs[0].max) = (300, Some(300));
        let ops: Vec<Op> =
            vec![pread(0, 300), sleep_ms(1000), end(0), reclaim(100), end(1), sleep_ms(10)];
        let other = vec![sleep_ms(100), anon(1800), write(0, 0, 1800), sleep_ms(2000)];
        let r = run(&c, vec![member("t", ops), task("other", other)]);
        phase_counts(&r.phases[1], ["pgsteal_file"])[0]
    };
    assert_eq!(gives(Kernel::V6_1), 0);
    assert!(gives(Kernel::V6_12) >= 100);
}
