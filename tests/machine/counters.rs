//! Counters that hang together, and the record that the optimum works on.

use crate::support::*;
use mmsim::config::{Kernel, MachineConfig, NodeConfig};
use mmsim::machine::result::RunResult;
use mmsim::machine::{TaskConfig, Watch};
use mmsim::report::opt;
use mmsim::workload::{Advice, Op, VmaFlags};

const PLAIN: VmaFlags = VmaFlags::NONE;
const LOCKED: VmaFlags = VmaFlags { locked: true, ..PLAIN };

/// Only kcompactd compacts here: its scans are all scans, counted once.
#[test]
fn kcompactd_is_counted_once() {
    for preset in ["compaction-v4.1", "compaction-v6.1", "compaction-v6.12"] {
        let text = format!(
            "name = \"x\"\ncompaction = {{ preset = \"{preset}\" }}\n[machine]\nmemory = \"64MiB\"\n\
             [[task]]\nworkload = \"fragment\"\nkeep-permille = 300\nmovable-permille = 900\n\
             law = \"uniform\"\n[[task]]\nname = \"high\"\nworkload = \"highalloc\"\nstart = \"20s\"\n\
             order = 9\nattempts = 5\nretry = \"normal\"\ninterval = \"10ms\"\n"
        );
        for r in scenario(&text) {
            let [daemon, all] =
                counts(&r, ["compact_daemon_migrate_scanned", "compact_migrate_scanned"]);
            assert!(daemon > 0 && daemon <= all, "{preset}: {daemon} of {all}");
            let [daemon, all] = counts(&r, ["compact_daemon_free_scanned", "compact_free_scanned"]);
            assert!(daemon <= all, "{preset}: {daemon} of {all}");
        }
    }
}

/// The allocation of a huge page fails, and the fault waits for a small one until a process is
/// killed. It has fallen back once all the same.
#[test]
fn a_fault_that_waits_falls_back_once() {
    let text = "name = \"x\"\nexpect-oom = true\n[machine]\nkernel = \"6.1\"\n\
                memory = \"16MiB\"\nvm = { transparent_hugepage = \"always\" }\n\
                [[task]]\nname = \"frag\"\nworkload = \"fragment\"\npause = \"50ms\"\n\
                keep-permille = 50\nmovable-permille = 1000\n\
                [[task]]\nname = \"z\"\nworkload = \"uniform\"\nmemory = \"8MiB\"\n\
                accesses = 2000\nwrite-permille = 1000\n";
    let r = &scenario(text)[0];
    assert_eq!(counts(r, ["thp_fault_fallback", "thp_fault_alloc"]), [1, 0]);
}

/// Faults of eight pages of a mapped file, one after the other, then on all of them again.
fn mapped(kernel: Kernel) -> RunResult {
    let ops = vec![file(0, 8, true, PLAIN), read(0, 0, 8), advise(0, 0, 8, Advice::DontNeed)];
    let ops = [ops, vec![read(0, 0, 8)]].concat();
    run(&config(kernel, "ssd"), vec![task("t", ops)])
}

/// Up to 6.3 a fault that lets go of its lock to read is counted again as it is tried anew
/// (Linux 6.1 mm/memory.c: `handle_mm_fault` counts at each try). Faults that find their
/// page count once everywhere.
#[test]
fn a_fault_that_reads_a_file_counts_twice_up_to_6_3() {
    for kernel in Kernel::ALL {
        let r = mapped(kernel);
        let faults = if kernel < Kernel::V6_6 { 8 + 8 + 8 } else { 8 + 8 };
        assert_eq!(counts(&r, ["pgfault", "pgmajfault"]), [faults, 8], "{kernel:?}");
        assert_eq!(r.latency.minor_fault.count, 8, "{kernel:?}");
        assert_eq!(r.latency.major_fault.count, 8, "{kernel:?}");
    }
}

/// The same of swap on a device with a queue; a synchronous one has no lock to wait for.
#[test]
fn a_fault_that_waits_for_swap_counts_twice_up_to_6_3() {
    for (device, waits) in [("ssd", true), ("zram", false)] {
        for kernel in Kernel::ALL {
            let ops = [vec![anon(50), write(0, 0, 50)], swap_out(50), vec![end(0), read(0, 0, 50)]];
            let r = run(&config(kernel, device), vec![member("t", ops.concat())]);
            let before = count(&r, "pgfault") - r.phases[0].vmstat.by_name("pgfault").unwrap();
            let [major, back] = counts(&r, ["pgmajfault", "pswpin"]);
            assert_eq!((major, back), (50, 50), "{device}, {kernel:?}");
            let each = if waits && kernel < Kernel::V6_6 { 2 } else { 1 };
            assert_eq!(before, 50 * each, "{device}, {kernel:?}");
        }
    }
}

/// Two threads want one page that has to be read: one reads, both wait, and both have a latency.
#[test]
fn who_finds_the_page_mapped_after_a_wait_has_a_latency() {
    let first = vec![file(0, 8, true, PLAIN), Op::Barrier, read(0, 0, 1)];
    let second = vec![Op::Barrier, read(0, 0, 1)];
    let c = MachineConfig { cpus: 2, ..config(Kernel::V6_12, "ssd") };
    let r = run(&c, vec![threads("t", None, vec![first, second])]);
    assert_eq!(counts(&r, ["pgfault", "pgmajfault"]), [2, 1]);
    assert_eq!((r.latency.minor_fault.count, r.latency.major_fault.count), (1, 1));
}

/// 30 locked pages are locked and culled as they come, and unlocked and rescued as they go.
#[test]
fn locked_pages_are_counted() {
    let locked = map(1, 30, mmsim::workload::MapKind::Anon, LOCKED);
    let ops = vec![anon(5), write(0, 0, 5), locked, write(1, 0, 30), end(0), unmap(1)];
    let names =
        ["culled", "mlocked", "munlocked", "rescued"].map(|n| format!("unevictable_pgs_{n}"));
    for kernel in Kernel::ALL {
        let r = run(&config(kernel, "ssd"), vec![task("t", ops.clone())]);
        let of_phase = names.clone().map(|n| r.phases[0].vmstat.by_name(&n).unwrap());
        assert_eq!(of_phase, [30, 30, 0, 0], "{kernel:?}");
        assert_eq!(names.clone().map(|n| count(&r, &n)), [30, 30, 30, 30], "{kernel:?}");
    }
}

/// Misses and refetches of MIN on the recorded accesses, with `frames` frames or as the run had.
fn bound(tasks: Vec<TaskConfig>, frames: Option<u64>) -> (u64, u64, RunResult) {
    let mut m = machine(&config(Kernel::V6_12, "zram"), tasks);
    let r = m.run(Watch::default().with_record_accesses(true));
    let b = opt::bounds(m.recorded_accesses(), frames.unwrap_or(r.peak_resident), false);
    assert_eq!(m.recorded_accesses().len() as u64, r.accesses);
    (b.sim_opt_misses, b.sim_opt_refetches, r)
}

/// Pages that are never fetched again, whatever a policy does, are no refetch of the optimum.
#[test]
fn the_optimum_fetches_nothing_that_needs_no_fetch() {
    // Reads of memory that was not written map the zero page, round after round.
    let zero = [vec![anon(4000)], vec![read(0, 0, 4000); 3]].concat();
    let (misses, again, r) = bound(vec![task("t", zero)], None);
    assert_eq!((misses, again, r.peak_resident), (0, 0, 0));
    // Files that are written in full, more than there is memory for one frame.
    let rewritten = vec![pwrite(0, 100); 4];
    let (_, again, r) = bound(vec![task("t", rewritten)], Some(1));
    assert_eq!((again, count(&r, "pgpgin")), (0, 0));
    // Memory that is dropped, or unmapped, and touched anew.
    let mut dropped = vec![anon(40)];
    for _ in 0..5 {
        dropped.extend([write(0, 0, 40), advise(0, 0, 40, Advice::DontNeed)]);
    }
    dropped.extend([unmap(0), anon(40), write(0, 0, 40)]);
    let (misses, again, _) = bound(vec![task("t", dropped)], Some(1));
    assert_eq!((misses, again), (6 * 40, 0));
    // The same by a hint, whether it was dropped or not; reads in between find it, or zeros.
    let mut freed = vec![anon(40), write(0, 0, 40)];
    for _ in 0..5 {
        freed.extend([advise(0, 0, 40, Advice::Free), read(0, 0, 40), write(0, 0, 40)]);
    }
    let (_, again, _) = bound(vec![task("t", freed)], Some(40));
    assert_eq!(again, 0);
    // A page of a file is one, whoever maps it and however it is read.
    let both = |name| {
        let ops = vec![file(0, 60, true, PLAIN), read(0, 0, 60), pread(0, 60), read(0, 0, 60)];
        task(name, ops)
    };
    let (misses, again, _) = bound(vec![both("a"), both("b")], None);
    assert_eq!((misses, again), (60, 0));
    // Locked pages are in no list, so scans never meet them.
    let locked = map(1, 300, mmsim::workload::MapKind::Anon, LOCKED);
    let ops = vec![locked, write(1, 0, 300), read(1, 0, 300), anon(3), write(0, 0, 3)];
    let (misses, again, r) = bound(vec![task("t", ops)], None);
    assert_eq!((misses, again, r.peak_resident), (3, 0, 3));
}

/// Pages that have to be fetched again are refetches: 40 pages in 39 frames, five rounds, cost the
/// optimum one fetch in 39 accesses.
#[test]
fn the_optimum_fetches_what_it_must() {
    let ops = [vec![anon(40)], vec![write(0, 0, 40); 5]].concat();
    let (misses, again, _) = bound(vec![task("t", ops)], Some(39));
    assert_eq!((misses, again), (40 + 4, 4 + (5 * 40 - 39_u64).div_ceil(39) - 5));
}

/// Nine and seventeen nodes: each list counts the folios of its own node's zones.
#[test]
fn many_nodes_run() {
    for nodes in [9, 17] {
        for kernel in [Kernel::V4_1, Kernel::V6_12] {
            let c = MachineConfig {
                nodes: (0..nodes).map(|_| NodeConfig { zones: vec![zone(200)] }).collect(),
                cpus: 3,
                ..config(kernel, "zram")
            };
            let ops = vec![anon(4000), write(0, 0, 4000), read(0, 0, 4000)];
            let r = run(&c, vec![task("t", ops)]);
            let stolen = count(&r, "pgsteal_anon");
            assert!(stolen >= 4000 - nodes * 200, "{nodes} nodes, {kernel:?}: {stolen}");
        }
    }
}
