//! Steps of tasks beside accesses: `fsync(2)`, sysctls, the files of `lru_gen`; and whom the OOM
//! killer chooses.

use crate::harness::audited;
use crate::support::*;
use mmsim::base::id::{MemcgId, NodeId};
use mmsim::config::{Kernel, MachineConfig};
use mmsim::machine::result::{Outcome, RunResult, Stuck};
use mmsim::machine::{Machine, Watch};
use mmsim::report::{Pairs, RunReport};
use mmsim::workload::{FileSlot, LruGen, Op, VmaFlags};
use mmsim_core::policy::ReclaimPolicy;
use mmsim_lru::mglru::{Mglru, MglruConfig};

const FSYNC: Op = Op::Fsync { file: FileSlot(0) };

// ---- fsync ----

/// A machine whose file device writes 1,024 pages a second, without limits that a test would meet.
fn slow(kernel: Kernel) -> MachineConfig {
    let mut c = config(kernel, "ssd");
    c.file_device.write_bandwidth = Some(4096 * 1024);
    c
}

fn is_clean(r: &RunResult) {
    assert_eq!(r.outcome, Outcome::Completed);
    assert_eq!(["nr_dirty", "nr_writeback"].map(|g| gauge(&r.gauges, g)), [0, 0]);
}

/// 100 pages take at least 100/1024 s to write, and the thread waits for all of them: the caller of
/// `fsync` pays what a writer alone leaves to the flusher.
#[test]
fn fsync_waits_until_all_is_written() {
    for kernel in Kernel::ALL {
        let c = slow(kernel);
        let without = run(&c, vec![task("t", vec![pwrite(0, 100)])]);
        assert_eq!(count(&without, "nr_written"), 0, "{kernel:?}");
        let r = run(&c, vec![task("t", vec![pwrite(0, 100), FSYNC, end(0)])]);
        is_clean(&r);
        assert_eq!(counts(&r, ["nr_dirtied", "nr_written", "sim_fsync"]), [100, 100, 1]);
        let (took, least) = (r.sim_time.as_secs_f64(), 100.0 / 1024.0);
        assert!(took >= least && took < 1.1 * least, "{kernel:?}: {took} s");
        let waited = count(&r, "sim_fsync_ns") as f64 / 1e9;
        assert!(waited >= least && waited <= took, "{kernel:?}: {waited} s");
        // It waits for the device, not for memory.
        assert_eq!((r.pressure.some_us, r.threads[0].throttled.as_nanos()), (0, 0), "{kernel:?}");
    }
}

/// A device that takes two writes at once lets the thread wait for each further request: 64 single pages,
/// every other one of a file, take 10 ms each. That is no stall on memory either.
#[test]
fn fsync_waits_for_room_in_the_queue() {
    let mut c = slow(Kernel::V6_12);
    c.file_device.queue_depth = 2;
    c.file_device.write = mmsim::base::time::SimDuration::from_millis(10);
    let mut ops: Vec<Op> = (0..64).map(|i| pwrite(2 * i, 1)).collect();
    ops.extend([FSYNC, end(0)]);
    let r = run(&c, vec![task("t", ops)]);
    is_clean(&r);
    assert_eq!(count(&r, "nr_written"), 64);
    assert_eq!((r.pressure.some_us, r.threads[0].throttled.as_nanos()), (0, 0));
}

/// A mapping that writes to its file, a device without a queue, and a file of which nothing is dirty.
#[test]
fn fsync_of_mappings_and_of_synchronous_devices() {
    let mapped = vec![file(0, 50, true, VmaFlags::default()), write(0, 0, 50), FSYNC, FSYNC];
    for device_of_files in ["ssd", "ramdisk"] {
        let mut c = config(Kernel::V6_12, "ssd");
        c.file_device = device(device_of_files);
        let r = run(&c, vec![task("t", mapped.clone())]);
        is_clean(&r);
        assert_eq!(counts(&r, ["nr_written", "sim_fsync"]), [50, 2], "{device_of_files}");
    }
}

/// Another thread dirties a page again while it is under write. Its own `fsync` waits for the first
/// write and then writes the page once more: 50 pages and one.
#[test]
fn a_page_that_is_dirtied_again_is_written_again() {
    let first = vec![pwrite(0, 50), FSYNC];
    let again = vec![sleep_ms(10), pwrite(0, 1), FSYNC];
    let r = run(&slow(Kernel::V6_12), vec![threads("t", None, vec![first, again])]);
    is_clean(&r);
    assert_eq!(counts(&r, ["nr_dirtied", "nr_written", "sim_fsync"]), [51, 51, 2]);
}

/// Pages that a thread dirties behind another one's `fsync` do not keep that waiting: it writes what was
/// dirty when it came by, and ends.
#[test]
fn fsync_ends_though_others_go_on_writing() {
    let syncs = vec![pwrite(512, 100), FSYNC, end(0)];
    let writes = (0..400).flat_map(|i| [pwrite(i % 64, 1), sleep_ms(1)]).collect();
    let r = run(&slow(Kernel::V6_12), vec![threads("t", None, vec![syncs, writes])]);
    assert_eq!(r.outcome, Outcome::Completed);
    assert!(count(&r, "sim_fsync_ns") < 300_000_000, "{}", count(&r, "sim_fsync_ns"));
}

/// A writer of 1,000 pages that calls `fsync` after every hundred has ten calls, never more dirty
/// pages than a hundred, and all of them written.
#[test]
fn workloads_call_fsync() {
    for (workload, end) in
        [("sequential", "write = true"), ("zipf", "write-permille = 1000\naccesses = 1000")]
    {
        let text = format!(
            "[machine]\nmemory = \"64MiB\"\nfile-device = \"ssd\"\n[[task]]\nworkload = \"{workload}\"\n\
             memory = \"1000 pages\"\nregion = \"read\"\nfsync = 100\n{end}\n"
        );
        let r = report(&text);
        assert_eq!(of(&r.vmstat, "sim_fsync"), 10, "{workload}");
        assert_eq!(of(&r.vmstat, "nr_written"), of(&r.vmstat, "nr_dirtied"), "{workload}");
    }
}

/// A counter or gauge.
fn of(all: &Pairs<u64>, name: &str) -> u64 {
    *all.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn report(text: &str) -> RunReport {
    audited(text).remove(0)
}

// ---- the OOM killer ----

/// Processes with these numbers of pages and adjustments, the last of which comes late and takes
/// more than is free of 2,048 frames without swap. Those that go on to their end have a phase.
fn survivors(kernel: Kernel, processes: &[(u32, i16)]) -> (RunResult, Vec<usize>) {
    let mut c = config(kernel, "ramdisk");
    c.swap.clear();
    // Up to 5.7 a boost of the watermarks of so small a zone has one more killed.
    c.vm.watermark_boost_factor = 0;
    let ops = |i: usize, pages: u32| {
        let late = i + 1 == processes.len();
        let [before, after] = if late { [100, 0] } else { [0, 1000] };
        vec![sleep_ms(before), anon(pages), write(0, 0, pages), sleep_ms(after), end(0)]
    };
    let tasks = processes
        .iter()
        .enumerate()
        .map(|(i, &(pages, adj))| task(&i.to_string(), ops(i, pages)).with_oom_score_adj(adj));
    let r = run(&c, tasks.collect());
    let alive = r.phases.iter().map(|p| p.name.split('/').next().expect("a name"));
    let mut alive: Vec<usize> = alive.map(|name| name.parse().expect("a number")).collect();
    alive.sort_unstable();
    (r, alive)
}

/// 2,048 pages and no swap: a unit of the adjustment is two pages. The largest process goes. With 400
/// the one of 300 pages has 1,100 points and goes before that of 1,000. One with -1000 is never killed.
#[test]
fn the_adjustment_decides_who_is_killed() {
    for kernel in Kernel::ALL {
        let of = |big, small| {
            let (r, alive) = survivors(kernel, &[(1000, big), (300, small), (900, 0)]);
            assert_eq!(count(&r, "oom_kill"), 1, "{kernel:?} {big} {small}");
            alive
        };
        assert_eq!(of(0, 0), [1, 2], "{kernel:?}");
        assert_eq!(of(0, 400), [0, 2], "{kernel:?}");
        // The late one has come to about 700 pages.
        assert_eq!(of(-1000, 0), [0, 1], "{kernel:?}");
        assert_eq!(of(-1000, 999), [0, 2], "{kernel:?}");
    }
}

/// Linux panics where every process has -1000. Here the run ends, and says so.
#[test]
fn nobody_may_be_killed() {
    let (r, _) = survivors(Kernel::V6_12, &[(1000, -1000), (300, -1000), (900, -1000)]);
    let Outcome::Stuck(s) = &r.outcome else { panic!("{:?}", r.outcome) };
    assert_eq!((s.why, count(&r, "oom_kill")), (Stuck::NobodyToKill, 0));
    assert!(s.waiting.iter().any(|t| t.thread == "2" && t.waits_for == "memory"), "{s:?}");
}

/// In a group of 500 pages a unit is half a page, for 500/1000 is none in whole pages: there the
/// adjustment does nothing but for -1000. With a limit of 2,000 and no swap a unit is two pages.
#[test]
fn in_a_group_the_adjustment_is_of_its_limit() {
    let killed = |max: u64, adj: i16| {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.nodes[0].zones[0].managed = 8192;
        c.swap.clear();
        c.memcgs[0].max = Some(max);
        let (large, small) = (max as u32 / 2, max as u32 / 4);
        let holds = |name: &str, pages| {
            member(name, vec![anon(pages), write(0, 0, pages), sleep_ms(1000), end(0)])
        };
        let late = vec![sleep_ms(100), anon(large), write(0, 0, large), end(0)];
        let tasks = vec![
            holds("large", large),
            holds("small", small).with_oom_score_adj(adj),
            member("late", late).with_oom_score_adj(-1000),
        ];
        let r = run(&c, tasks);
        assert_eq!(count(&r, "oom_kill"), 1, "{max} {adj}");
        ["large", "small"].into_iter().find(|n| !r.phases.iter().any(|p| p.name.starts_with(n)))
    };
    assert_eq!([killed(500, 0), killed(500, 900)], [Some("large"); 2]);
    assert_eq!([killed(2000, 0), killed(2000, 900)], [Some("large"), Some("small")]);
}

/// A scenario gives the adjustment to every process of a task.
#[test]
fn tasks_have_an_adjustment() {
    let text = |adj: i32| {
        format!(
            r#"
            machine = {{ memory = "16MiB" }}
            expect-oom = true
            task = [
                {{ name = "kept", workload = "sequential", memory = "6MiB", write = true, passes = 50, oom_score_adj = {adj} }},
                {{ name = "other", workload = "sequential", memory = "12MiB", write = true, passes = 2 }},
            ]
            "#
        )
    };
    let done = |r: &RunReport| r.tasks.iter().find(|t| t.name == "kept").map(|t| t.accesses);
    let whole = Some(50 * 1536);
    let (first, kept) = (report(&text(1000)), report(&text(-1000)));
    assert_eq!([of(&first.vmstat, "oom_kill"), of(&kept.vmstat, "oom_kill")], [1, 1]);
    assert_eq!(done(&kept), whole);
    assert!(done(&first) < whole, "{:?}", done(&first));
}

// ---- sysctls ----

/// Reclaim, writeback and compaction with all that sysctls decide, after `set` on the machine and the
/// writes of a first step.
fn with_sysctls(kernel: Kernel, set: &str, step: &str) -> RunReport {
    let compaction = if kernel == Kernel::V4_1 { "compaction-v4.1" } else { "compaction-v6.12" };
    report(&format!(
        r#"
        compaction = {{ preset = "{compaction}" }}
        [machine]
        kernel = "{}"
        memory = "20MiB"
        file-device = "ssd"
        swap = {{ size = "64MiB", device = "nvme" }}
        vm = {{ {set} }}
        [[task]]
        workload = "phased"
        regions = {{ a = {{ memory = "16MiB" }}, f = {{ memory = "12MiB", kind = "read" }}, m = {{ memory = "4MiB", kind = "file-private" }} }}
        steps = [
            {{ do = "sysctl", {step} }},
            {{ do = "allocate", region = "a" }},
            {{ do = "allocate", region = "m", populate = false }},
            {{ do = "repeat", times = 3, steps = [
                {{ do = "write", region = "f" }},
                {{ do = "zipf", region = "a", accesses = 3000, write-permille = 500 }},
                {{ do = "touch", region = "m" }},
                {{ do = "sleep", time = "700ms" }},
            ] }},
        ]
        "#,
        kernel.name()
    ))
}

/// A machine that a first step gives a value is from there on the machine that had it from the start.
#[test]
fn a_written_sysctl_is_that_of_the_start() {
    let mut moved = Vec::new();
    let as_it_was = with_sysctls(Kernel::V6_18, "", "vm.swappiness = 60");
    for write in [
        "swappiness = 200",
        "page-cluster = 0",
        "watermark_boost_factor = 0",
        "dirty_background_ratio = 1",
        "dirty_ratio = 2",
        "dirty_background_bytes = 8192",
        "dirty_bytes = 65536",
        "dirty_expire_centisecs = 1",
        "dirty_writeback_centisecs = 10",
        "dirty_writeback_centisecs = 0",
        "read_ahead_kb = 0",
        "fault_around_bytes = 4096",
        "extfrag_threshold = 0",
        "defrag_mode = 1",
        "compact_unevictable_allowed = 0",
        "transparent_hugepage = \"always\"",
        "thp_defrag = \"always\"",
    ] {
        let step = format!("vm.{write}");
        let [start, written] = [write, ""].map(|set| with_sysctls(Kernel::V6_18, set, &step));
        assert_eq!((&start.vmstat, &start.digest), (&written.vmstat, &written.digest), "{write}");
        if written.vmstat != as_it_was.vmstat {
            moved.push(write);
        }
    }
    assert!(moved.len() >= 11, "{moved:?}");
}

/// The watermarks and per-CPU lists at the beginning of the machine decide how much of them is
/// filled by then, so only later figures are the same: kswapd keeps a tenth of memory free.
#[test]
fn watermarks_follow_a_write() {
    for kernel in [Kernel::V5_5, Kernel::V6_12] {
        let free = |step: &str| of(&with_sysctls(kernel, "", step).gauges, "nr_free_pages");
        let low = free("vm.watermark_scale_factor = 10");
        assert!(free("vm.watermark_scale_factor = 1000") > 2 * low, "{kernel:?}: {low}");
        assert!(free("vm.min_free_kbytes = 2048") > 2 * low, "{kernel:?}: {low}");
    }
}

/// Commands among sysctls: clean cache is dropped, all zones are compacted, huge pages are set aside. The
/// pool takes two blocks of 512 pages.
#[test]
fn sysctls_that_are_commands() {
    let steps = |writes: &str| {
        report(&format!(
            r#"
            compaction = {{ preset = "compaction-v6.12" }}
            machine = {{ memory = "32MiB", file-device = "ssd" }}
            [[task]]
            workload = "phased"
            regions = {{ f = {{ memory = "4MiB", kind = "read" }} }}
            steps = [{{ do = "read", region = "f" }}, {{ do = "sysctl", {writes} }}]
            "#
        ))
    };
    let dropped = steps("vm.drop_caches = 1");
    assert_eq!(
        (of(&dropped.vmstat, "drop_pagecache"), of(&dropped.gauges, "nr_file_pages")),
        (1, 0)
    );
    assert!(of(&steps("vm.swappiness = 1").gauges, "nr_file_pages") > 0);
    assert!(of(&steps("vm.compact_memory = 1").vmstat, "compact_free_scanned") > 0);
    assert_eq!(of(&steps("vm.nr_hugepages = 2").vmstat, "htlb_buddy_alloc_success"), 2);
}

/// Two writes of one threshold in one step: the last one counts, as in the kernel.
#[test]
fn the_last_of_two_thresholds_counts() {
    let with = |step: &str| with_sysctls(Kernel::V6_12, "", step).vmstat;
    let ratio = with("vm.dirty_ratio = 3");
    assert_ne!(with("vm.dirty_bytes = 65536"), ratio);
    let twice = r#"vm.dirty_bytes = 65536 }, { do = "sysctl", vm.dirty_ratio = 3"#;
    // The second system call takes time of its own.
    assert_eq!(of(&with(twice), "nr_written"), of(&ratio, "nr_written"));
}

// ---- lru_gen ----

fn lru_gen(c: &MachineConfig, config: MglruConfig, ops: Vec<Op>) -> (Machine, RunResult) {
    let mut m = Machine::new(c, vec![task("t", ops)], 1, |mem| {
        Box::new(Mglru::new(config, mem, 1)) as Box<dyn ReclaimPolicy>
    });
    let r = m.run(Watch::default().with_check_every(1));
    (m, r)
}

fn age(max_gen: Option<u32>, force_scan: bool) -> Op {
    let (memcg, node, can_swap) = (MemcgId(0), NodeId(0), Some(true));
    Op::LruGen(LruGen::Age { memcg, node, max_gen, can_swap, force_scan })
}

fn evict(min_gen: Option<u32>, pages: Option<u32>) -> Op {
    let (memcg, node, swappiness) = (MemcgId(0), NodeId(0), None);
    Op::LruGen(LruGen::Evict { memcg, node, min_gen, swappiness, pages })
}

fn seqs(m: &Machine) -> [u64; 2] {
    let s = m.policy().snapshot(&m.mem, NodeId(0), MemcgId(0));
    ["min_seq_anon", "max_seq"].map(|n| s.values.iter().find(|v| v.0 == n).expect("a value").1)
}

/// 100 pages begin in the youngest generation. Two agings find them unused, and after the first no bit
/// is set, so they are in a generation that is not one of the two youngest: all of them are evicted.
/// With a bound of 32 pages about as many are.
#[test]
fn generations_are_made_and_evicted_by_hand() {
    for config in [MglruConfig::V6_1, MglruConfig::V6_12, MglruConfig::V7_3] {
        let c = crate::support::config(Kernel::V6_12, "ramdisk");
        let ops = |more: &[Op]| [&[anon(100), write(0, 0, 100)], more].concat();
        let (m, r) = lru_gen(&c, config, ops(&[]));
        let youngest = seqs(&m)[1] as u32;
        assert_eq!(counts(&r, ["sim_lru_gen_writes", "pswpout"]), [0, 0]);
        // Three agings: the first one finds the accessed bits, and takes the pages along.
        let three = [age(None, true), age(Some(youngest + 1), true), age(None, true)];
        let (m, r) = lru_gen(&c, config, ops(&three));
        assert_eq!(seqs(&m)[1] as u32, youngest + 3);
        assert_eq!(counts(&r, ["sim_lru_gen_writes", "sim_lru_gen_refused"]), [3, 0]);
        let all = [&three[..], &[evict(None, None)]].concat();
        let (_, r) = lru_gen(&c, config, ops(&all));
        assert_eq!(counts(&r, ["pswpout", "sim_lru_gen_refused"]), [100, 0]);
        assert_eq!(count(&r, "pgsteal_direct"), 100, "it counts as direct reclaim does");
        let few = [&three[..], &[evict(None, Some(32))]].concat();
        let (_, r) = lru_gen(&c, config, ops(&few));
        assert!((32..=64).contains(&count(&r, "pswpout")), "{}", count(&r, "pswpout"));
    }
}

/// Commands that the kernel refuses: a generation that does not exist, the two youngest, a fifth
/// one without force, and any command where the LRU has no generations. An older generation is no
/// error, and nothing is done.
#[test]
fn commands_are_refused() {
    let c = config(Kernel::V6_12, "ramdisk");
    let outcome = |ops: &[Op]| {
        let (m, r) = lru_gen(&c, MglruConfig::V6_12, [&[anon(9), write(0, 0, 9)], ops].concat());
        (seqs(&m)[1] - 3, count(&r, "sim_lru_gen_refused"))
    };
    assert_eq!(outcome(&[age(Some(4), true)]), (0, 1));
    assert_eq!(outcome(&[age(Some(2), true)]), (0, 0));
    assert_eq!(outcome(&[age(None, false), age(None, true)]), (1, 1));
    assert_eq!(outcome(&[evict(Some(2), None)]), (0, 1));
    assert_eq!(outcome(&[evict(Some(1), None)]), (0, 0));
    let settings = [LruGen::MinTtl(5), LruGen::Enabled(7), LruGen::Enabled(0)].map(Op::LruGen);
    let classic = run(&c, vec![task("t", [&settings[..], &[age(None, true)]].concat())]);
    assert_eq!(counts(&classic, ["sim_lru_gen_writes", "sim_lru_gen_refused"]), [4, 4]);
}

/// Anonymous memory and files under pressure, with steps before.
fn under_pressure(reclaim: &str, steps: &str, between: &str) -> RunReport {
    report(&format!(
        r#"
        {reclaim}
        machine = {{ memory = "16MiB", cpus = 2, swap = {{ size = "64MiB", device = "nvme" }}, file-device = "ssd", memcg = [{{ name = "g", max = "8MiB" }}] }}
        [[task]]
        name = "t"
        workload = "phased"
        regions = {{ a = {{ memory = "14MiB" }}, f = {{ memory = "8MiB", kind = "file-shared" }} }}
        steps = [
            {steps}
            {{ do = "allocate", region = "a" }},
            {{ do = "allocate", region = "f", populate = false }},
            {{ do = "repeat", times = 2, steps = [
                {{ do = "zipf", region = "a", accesses = 8000, write-permille = 300 }},
                {between}
                {{ do = "touch", region = "f" }},
            ] }},
        ]
        [[task]]
        name = "member"
        memcg = "g"
        workload = "zipf"
        memory = "10MiB"
        accesses = 8000
        "#
    ))
}

const CLASSIC: &str = "reclaim = { preset = \"classic-v6.12\" }";
const MGLRU: &str = "reclaim = { preset = \"mglru-v6.12\" }";

/// Before anything is in memory, a run that switches is one that has the other LRU from the start: of
/// each kernel, its own.
#[test]
fn switching_at_once_is_the_other_lru() {
    for (enabled, there) in [(0, [MGLRU, CLASSIC]), (7, [CLASSIC, MGLRU])] {
        let step = format!("{{ do = \"lru-gen\", enabled = {enabled} }},");
        let [switched, own] = there.map(|reclaim| under_pressure(reclaim, &step, ""));
        assert_eq!(switched.vmstat, own.vmstat, "enabled = {enabled}");
        assert_eq!(of(&switched.vmstat, "sim_lru_gen_refused"), 0);
        let other = under_pressure(there[0], "", "");
        assert_ne!(of(&switched.vmstat, "pgscan_kswapd"), of(&other.vmstat, "pgscan_kswapd"));
    }
}

/// To and fro amid the run, with all that is in memory, checked after every step. Folios change lists
/// and none is lost; what the run reads goes on to be evicted.
#[test]
fn switching_amid_a_run_keeps_all_folios() {
    for reclaim in [CLASSIC, MGLRU] {
        let between = "{ do = \"lru-gen\", enabled = 0 }, { do = \"touch\", region = \"a\" }, \
                       { do = \"lru-gen\", enabled = 7 }, { do = \"touch\", region = \"a\" }, \
                       { do = \"lru-gen\", enabled = 1 },";
        let r = under_pressure(reclaim, "", between);
        assert_eq!(of(&r.vmstat, "sim_lru_gen_writes"), 6);
        assert_eq!(of(&r.vmstat, "sim_lru_gen_refused"), 0);
        let plain = "{ do = \"touch\", region = \"a\" }, { do = \"touch\", region = \"a\" },";
        let not = under_pressure(reclaim, "", plain);
        assert_ne!(of(&r.vmstat, "pgscan_kswapd"), of(&not.vmstat, "pgscan_kswapd"), "{reclaim}");
        assert_eq!(r.accesses, not.accesses, "{reclaim}");
    }
}

/// By hand: ten pages that were used once, and ten that were used twice by `read(2)`. Classic LRU has
/// the second ten on its active list. As generations come, active pages begin in the youngest, and
/// after the switch back they are active again.
#[test]
fn active_folios_stay_active() {
    let c = config(Kernel::V6_12, "ramdisk");
    let ops = vec![
        pread(0, 20),
        pread(10, 10),
        end(0),
        Op::LruGen(LruGen::Enabled(7)),
        end(1),
        Op::LruGen(LruGen::Enabled(0)),
        end(2),
    ];
    let mut m = machine(&c, vec![task("t", ops)]);
    let mglru = |mem: &mut mmsim::memory::Memory| {
        Box::new(Mglru::new(MglruConfig::V6_12, mem, 1)) as Box<dyn ReclaimPolicy>
    };
    m.set_other_lru(true, mglru);
    let r = m.run(Watch::default().with_check_every(1));
    assert_eq!(count(&r, "sim_lru_gen_refused"), 0);
    let s = m.policy().snapshot(&m.mem, NodeId(0), MemcgId(0));
    let len = |name: &str| s.lists.iter().find(|l| l.0 == name).expect("a list").1;
    assert_eq!([len("nr_inactive_file"), len("nr_active_file")], [10, 10]);
}

/// `min_ttl_ms` and the bits of walks, written at once, are the knobs of those names.
#[test]
fn written_settings_are_knobs() {
    let knobs = |k: &str| format!("reclaim = {{ preset = \"mglru-v6.12\", {k} }}");
    for (files, knob) in [
        ("min_ttl_ms = 400", "min-ttl-ms = 400"),
        ("enabled = 0x1", "walk-mmu = \"no\", nonleaf-young = \"no\""),
        ("enabled = 0x3", "nonleaf-young = \"no\""),
    ] {
        let step = format!("{{ do = \"lru-gen\", {files} }},");
        let written = under_pressure(MGLRU, &step, "");
        let own = under_pressure(&knobs(knob), &step, "");
        assert_eq!((&written.vmstat, &written.digest), (&own.vmstat, &own.digest), "{files}");
        let without = under_pressure(MGLRU, "{ do = \"lru-gen\", enabled = 7 },", "");
        assert_ne!(written.vmstat, without.vmstat, "{files}");
    }
}

/// A group that is named is aged and evicted, and no other.
#[test]
fn a_group_by_its_name() {
    let evicted = |group: &str| {
        let r = report(&format!(
            r#"
            {MGLRU}
            machine = {{ memory = "64MiB", lru-batch = 1, swap = {{ size = "64MiB" }}, memcg = [{{ name = "g" }}, {{ name = "h" }}] }}
            [[task]]
            memcg = "g"
            workload = "sequential"
            memory = "4MiB"
            write = true
            [[task]]
            name = "hand"
            start = "1s"
            memcg = "h"
            workload = "phased"
            regions = {{ a = {{ memory = "1MiB" }} }}
            steps = [
                {{ do = "allocate", region = "a" }},
                {{ do = "repeat", times = 3, steps = [{{ do = "lru-gen-age", memcg = "{group}" }}] }},
                {{ do = "lru-gen-evict", memcg = "{group}" }},
            ]
            "#
        ));
        of(&r.vmstat, "pswpout")
    };
    // The first task has ended and freed its memory; the second group has 256 pages.
    assert_eq!([evicted("g"), evicted("h")], [0, 256]);
}
