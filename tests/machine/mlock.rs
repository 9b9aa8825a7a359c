//! mlock(2) and munlock(2): the marks, the unevictable list, and reclaim.

use crate::support::*;
use mmsim::config::{Kernel, MachineConfig};
use mmsim::machine::result::RunResult;
use mmsim::workload::Advice::{Cold, DontNeed, Free, PageOut};
use mmsim::workload::{Op, RegionId, VmaFlags};

const UNEVICTABLE: [&str; 4] = [
    "unevictable_pgs_mlocked",
    "unevictable_pgs_culled",
    "unevictable_pgs_munlocked",
    "unevictable_pgs_rescued",
];

fn mlock(region: u16, first: u32, count: u32) -> Op {
    Op::Mlock { region: RegionId(region), first, count, onfault: false }
}
fn onfault(region: u16, first: u32, count: u32) -> Op {
    Op::Mlock { region: RegionId(region), first, count, onfault: true }
}
fn munlock(region: u16, first: u32, count: u32) -> Op {
    Op::Munlock { region: RegionId(region), first, count }
}
fn mapped(pages: u32) -> Op {
    file(0, pages, true, VmaFlags::default())
}
fn on_ramdisk(kernel: Kernel) -> MachineConfig {
    MachineConfig { file_device: device("ramdisk"), ..config(kernel, "ramdisk") }
}
fn ran(c: &MachineConfig, ops: Vec<Op>) -> RunResult {
    run(c, vec![member("t", ops)])
}
fn gauges(r: &RunResult, name: &str) -> Vec<u64> {
    r.phases.iter().map(|p| gauge(&p.gauges, name)).collect()
}

/// M1 of the worked examples: 60 of 100 pages are cached and none is mapped. Populating maps 60 by
/// minor faults and reads 40; all are locked and leave their lists. Unlocked, all come back.
#[test]
fn pages_of_a_file_are_locked_as_they_are_mapped() {
    // 6.1 counts a fault once more when it is tried anew after the read.
    for (kernel, faults) in
        [(Kernel::V6_1, 140), (Kernel::V6_12, 100), (Kernel::V6_18, 100), (Kernel::V7_3, 100)]
    {
        let ops = vec![
            pread(0, 60),
            mapped(100),
            end(0),
            mlock(0, 0, 100),
            end(1),
            munlock(0, 0, 100),
            end(2),
        ];
        let r = ran(&on_ramdisk(kernel), ops);
        assert_eq!(
            phase_counts(&r.phases[1], ["pgfault", "pgmajfault"]),
            [faults, 40],
            "{kernel:?}"
        );
        assert_eq!(phase_counts(&r.phases[1], UNEVICTABLE), [100, 100, 0, 0]);
        assert_eq!(phase_counts(&r.phases[2], UNEVICTABLE), [0, 0, 100, 100]);
        assert_eq!(gauges(&r, "nr_unevictable"), [0, 100, 0]);
    }
}

/// M2: two mappings lock the same pages. They count once, and stay until both have unlocked them.
#[test]
fn pages_stay_until_the_last_mapping_unlocks_them() {
    let second = file(1, 8, true, VmaFlags::default());
    let ops = vec![
        mapped(8),
        second,
        mlock(0, 0, 8),
        mlock(1, 0, 8),
        end(0),
        munlock(0, 0, 8),
        end(1),
        munlock(1, 0, 8),
        end(2),
    ];
    let r = ran(&on_ramdisk(Kernel::V6_12), ops);
    assert_eq!(counts(&r, UNEVICTABLE), [8, 8, 8, 8]);
    assert_eq!(gauges(&r, "nr_unevictable"), [8, 8, 0]);
}

/// Locked anonymous pages are not scanned and not swapped, with either LRU; their neighbours are.
#[test]
fn reclaim_takes_the_part_that_is_not_locked() {
    for kernel in [Kernel::V6_12, Kernel::V7_3] {
        let ops = vec![anon(100), write(0, 0, 100), mlock(0, 20, 50), end(0), reclaim(100), end(1)];
        let r = ran(&on_ramdisk(kernel), ops);
        assert_eq!(gauges(&r, "nr_unevictable"), [50, 50], "{kernel:?}");
        assert_eq!(counts(&r, ["pswpout", "pgsteal_anon"]), [50, 50]);
        assert_eq!(gauges(&r, "nr_anon_pages"), [100, 50]);
    }
}

/// Pages in swap are read when they are locked, and give their slots up.
#[test]
fn locking_brings_pages_in() {
    let mut ops = vec![anon(8), write(0, 0, 8)];
    ops.extend(swap_out(8));
    ops.extend([end(0), mlock(0, 0, 8), end(1), reclaim(8), end(2)]);
    let r = ran(&on_ramdisk(Kernel::V6_12), ops);
    assert_eq!(phase_counts(&r.phases[1], ["pswpin", "pgmajfault"]), [8, 8]);
    assert_eq!(phase_counts(&r.phases[2], ["pswpout"]), [0]);
    assert_eq!(gauges(&r, "nr_unevictable"), [0, 8, 8]);
}

/// With `MLOCK_ONFAULT` nothing comes in, and what is touched later is locked.
#[test]
fn onfault_locks_what_is_touched() {
    let ops = vec![anon(8), onfault(0, 0, 8), end(0), write(0, 0, 3), end(1)];
    let r = ran(&on_ramdisk(Kernel::V6_12), ops);
    assert_eq!(gauges(&r, "nr_unevictable"), [0, 3]);
}

/// Linux refuses these on a locked mapping (`EINVAL`). What is next to it follows them.
#[test]
fn advice_on_locked_pages_changes_nothing() {
    for advice in [Cold, PageOut, Free, DontNeed] {
        let ops = vec![
            anon(16),
            write(0, 0, 16),
            mlock(0, 0, 8),
            advise(0, 0, 8, advice),
            end(0),
            advise(0, 8, 8, DontNeed),
            end(1),
        ];
        let r = ran(&on_ramdisk(Kernel::V6_12), ops);
        assert_eq!(gauges(&r, "nr_anon_pages"), [16, 8], "{advice:?}");
        assert_eq!(counts(&r, ["pswpout", "pglazyfree"]), [0, 0]);
    }
}

/// A second lock joins the parts, and unlocking the middle leaves two. The end of the mapping unlocks
/// what is left.
#[test]
fn parts_are_locked_and_unlocked_by_themselves() {
    let ops = vec![
        mapped(30),
        mlock(0, 0, 10),
        mlock(0, 10, 20),
        end(0),
        munlock(0, 5, 20),
        end(1),
        unmap(0),
        end(2),
    ];
    let r = ran(&on_ramdisk(Kernel::V6_12), ops);
    assert_eq!(gauges(&r, "nr_unevictable"), [30, 10, 0]);
    assert_eq!(counts(&r, UNEVICTABLE), [30, 30, 30, 30]);
    assert_eq!(gauges(&r, "nr_file_pages"), [30, 30, 30]);
}

/// M3: the page waits in the batch of pages on their way to a list when it is locked. It is culled as
/// the batch is drained, with a count of 0, so the first of two unlocks releases it.
#[test]
fn a_page_from_a_batch_has_no_count() {
    let mut c = on_ramdisk(Kernel::V6_12);
    (c.cpus, c.lru_batch) = (2, Some(16));
    let first = threads(
        "first",
        None,
        vec![
            vec![pread(0, 1), sleep_ms(100)],
            vec![
                sleep_ms(10),
                mapped(1),
                file(1, 1, true, VmaFlags::default()),
                mlock(0, 0, 1),
                mlock(1, 0, 1),
                Op::DropCaches,
                end(0),
                munlock(0, 0, 1),
                end(1),
            ],
        ],
    );
    let r = run(&c, vec![first]);
    assert_eq!(phase_counts(&r.phases[0], UNEVICTABLE), [1, 1, 0, 0]);
    assert_eq!(phase_counts(&r.phases[1], UNEVICTABLE), [0, 0, 1, 1]);
}

/// M4: 10 MiB above the default limit are refused, and nothing is locked; just 8 MiB are allowed. What is
/// locked already counts once, and what was unlocked not at all.
#[test]
fn a_process_locks_no_more_than_its_limit() {
    const MIB: u32 = 256;
    let larger = MachineConfig::new(Kernel::V6_12, vec![zone(16_384)]);
    let c = MachineConfig { nodes: larger.nodes, ..on_ramdisk(Kernel::V6_12) };
    let ops = vec![
        anon(12 * MIB),
        onfault(0, 0, 10 * MIB),
        end(0),
        onfault(0, 0, 8 * MIB),
        end(1),
        onfault(0, 2 * MIB, 6 * MIB),
        onfault(0, 8 * MIB, 1),
        end(2),
        munlock(0, 0, 1),
        onfault(0, 8 * MIB, 1),
        end(3),
        write(0, 0, 12 * MIB),
        end(4),
    ];
    let r = run(&c, vec![member("t", ops).with_memlock_limit(Some((8 * MIB).into()))]);
    let refused: Vec<u64> =
        r.phases.iter().map(|p| phase_counts(p, ["sim_mlock_refused"])[0]).collect();
    assert_eq!(refused, [1, 0, 1, 0, 0]);
    assert_eq!(gauges(&r, "nr_unevictable"), [0, 0, 0, 0, (8 * MIB).into()]);
}
