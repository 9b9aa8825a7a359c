//! Shared memory: where its pages are, who pays for them, and what takes them away.

use crate::support::*;
use mmsim::base::rng::Rng;
use mmsim::config::{Kernel, MachineConfig, VmSysctl};
use mmsim::machine::TaskConfig;
use mmsim::machine::result::{Outcome, RunResult, Shortage};
use mmsim::workload::Advice::{DontNeed, PageOut, Remove};
use mmsim::workload::{
    FileSlot, FileSpec, MapKind, Op, RegionId, ShmemSpec, VmaFlags, Workload, WorkloadCx,
};

const KERNELS: [Kernel; 3] = [Kernel::V6_12, Kernel::V6_18, Kernel::V7_3];

/// Its file 0 is an object of shared memory.
struct Sharer {
    ops: std::vec::IntoIter<Op>,
    phases: u16,
    spec: ShmemSpec,
}

impl Workload for Sharer {
    fn files(&self) -> Vec<FileSpec> {
        vec![FileSpec { shmem: Some(self.spec), ..FileSpec::new("shared", 1024) }]
    }
    fn phases(&self) -> Vec<String> {
        (0..self.phases).map(|i| i.to_string()).collect()
    }
    fn fill(&mut self, _: &WorkloadCx, _: &mut Rng, ops: &mut Vec<Op>) {
        ops.extend(self.ops.next());
    }
}

fn sharer(name: &str, memcg: Option<usize>, spec: ShmemSpec, ops: Vec<Op>) -> TaskConfig {
    let phases = ops.iter().filter(|o| matches!(o, Op::PhaseEnd(_))).count() as u16;
    let work = Sharer { ops: ops.into_iter(), phases, spec };
    TaskConfig::new(name, vec![Box::new(work)]).with_memcg(memcg)
}
fn shared(pages: u32) -> Op {
    let kind = MapKind::Shmem { file: FileSlot(0), offset: 0 };
    map(0, pages, kind, VmaFlags::default())
}
fn on_zram(kernel: Kernel) -> MachineConfig {
    config(kernel, "zram")
}
fn alone(c: &MachineConfig, ops: Vec<Op>) -> RunResult {
    run(c, vec![sharer("t", Some(0), ShmemSpec::default(), ops)])
}
fn gauges(r: &RunResult, name: &str) -> Vec<u64> {
    r.phases.iter().map(|p| gauge(&p.gauges, name)).collect()
}

/// S1 of the worked examples: eight pages go to swap, and the object holds eight slots. Touched
/// again, each comes back by a major fault and gives its slot up, so that the next reclaim writes all
/// of them again.
#[test]
fn pages_go_to_swap_and_come_back_without_their_slots() {
    for kernel in KERNELS {
        let mut ops = vec![shared(8), write(0, 0, 8), end(0)];
        ops.extend(swap_out(8));
        ops.extend([end(1), read(0, 0, 8), end(2)]);
        ops.extend(swap_out(8));
        ops.push(end(3));
        let r = alone(&on_zram(kernel), ops);
        assert_eq!(gauges(&r, "nr_shmem"), [8, 0, 8, 0], "{kernel:?}");
        assert_eq!(gauges(&r, "nr_swap_used"), [0, 8, 0, 8]);
        let moved = ["pswpout", "pswpin", "pgmajfault", "workingset_refault_anon"];
        assert_eq!(phase_counts(&r.phases[1], moved), [8, 0, 0, 0], "{kernel:?}");
        assert_eq!(phase_counts(&r.phases[2], moved), [0, 8, 8, 8], "{kernel:?}");
        assert_eq!(phase_counts(&r.phases[3], moved), [8, 0, 0, 0], "{kernel:?}");
    }
}

/// Before 6.14 a page of shared memory is read with the slots beside it, from a synchronous device too.
/// Slots 1 to 8 hold the eight pages. The first fault reads slots 1 to 7, the window of 8 that it is in;
/// six of them are found later. The next fault reads slot 8 alone, as the others of its window are free.
#[test]
fn shmem_swapin_alone() {
    let raised = ["pgmajfault", "pswpin", "swap_ra", "swap_ra_hit"];
    let (beside, alone_each) = ([2, 8, 6, 6], [8, 8, 0, 0]);
    let ruled_out = ruled(on_zram(Kernel::V6_18), "shmem-swapin-alone", "no");
    for (c, want) in [
        (on_zram(Kernel::V6_12), beside),
        (ruled_out, beside),
        (on_zram(Kernel::V6_18), alone_each),
    ] {
        let c = MachineConfig { vm: VmSysctl { page_cluster: 3, ..c.vm.clone() }, ..c };
        let mut ops = vec![shared(8), write(0, 0, 8)];
        ops.extend(swap_out(8));
        ops.extend([end(0), read(0, 0, 8), end(1)]);
        let r = alone(&c, ops);
        assert_eq!(phase_counts(&r.phases[1], raised), want, "{:?}", c.kernel);
    }
}

/// S2: the fifth page of an object of at most four ends the process, as SIGBUS does.
#[test]
fn a_page_above_the_limit_ends_the_process() {
    let spec = ShmemSpec { limit: Some(4), stays: true, noswap: false };
    let ops = vec![shared(8), write(0, 0, 4), end(0), write(0, 4, 1), end(1)];
    let other = member("other", vec![sleep_ms(1000)]);
    let r = run(&on_zram(Kernel::V6_12), vec![sharer("t", Some(0), spec, ops), other]);
    let Outcome::OutOfMemory(oom) = &r.outcome else { panic!("{:?}", r.outcome) };
    assert_eq!((oom.victim.as_str(), oom.shortage), ("t", Shortage::Shmem));
    assert_eq!(gauge(&r.gauges, "nr_shmem"), 4, "its pages stay");
    assert_eq!(stat(&r, 0, "memory.current"), 4 * 4096);
}

/// S3: without swap nothing looks at shared memory, however much is read beside it.
#[test]
fn without_swap_it_stays() {
    let mut c = on_zram(Kernel::V6_12);
    c.swap.clear();
    let file = task("reader", vec![sleep_ms(100), pread(0, 1024), pread(0, 1024)]);
    let ops = vec![shared(1024), write(0, 0, 1024), sleep_ms(2000), end(0)];
    let r = run(&c, vec![sharer("t", None, ShmemSpec::default(), ops), file]);
    assert_eq!(gauges(&r, "nr_shmem"), [1024]);
    assert_eq!(counts(&r, ["pgscan_anon", "pswpout"]), [0, 0]);
    assert!(count(&r, "pgsteal_file") > 0, "the reader needs room");
}

/// It is on the anonymous lists and counts as file memory, dirty pages of files apart.
#[test]
fn it_is_on_anonymous_lists_and_counts_as_cache() {
    let ops = vec![shared(100), write(0, 0, 60), read(0, 60, 40), end(0)];
    let r = alone(&on_zram(Kernel::V6_12), ops);
    for (name, pages) in [
        ("nr_shmem", 100),
        ("nr_file_pages", 100),
        ("nr_mapped", 100),
        ("nr_inactive_anon", 100),
        ("nr_anon_pages", 0),
        ("nr_inactive_file", 0),
        ("nr_dirty", 0),
    ] {
        assert_eq!(gauges(&r, name), [pages], "{name}");
    }
}

/// The group of the process that touches a page first pays for it. The second process finds it there.
/// Reclaim unmaps it from both; one brings it back, and the other finds it again.
#[test]
fn the_first_to_touch_it_pays() {
    for kernel in KERNELS {
        let mut c = on_zram(kernel);
        c.memcgs = vec![group("a"), group("b")];
        let spec = ShmemSpec::default();
        let mut first = vec![shared(8), write(0, 0, 8), end(0), sleep_ms(100)];
        first.extend(swap_out(8));
        first.extend([end(1), read(0, 0, 8), end(2), sleep_ms(9000)]);
        let second = vec![
            sleep_ms(50),
            shared(8),
            read(0, 0, 8),
            end(0),
            sleep_ms(5000),
            read(0, 0, 8),
            end(1),
        ];
        let r =
            run(&c, vec![sharer("a", Some(0), spec, first), sharer("b", Some(1), spec, second)]);
        let faults = ["pgfault", "pgmajfault", "pswpin", "pswpout"];
        let of = |name: &str| {
            let p = r.phases.iter().find(|p| p.name == name);
            let p = p.unwrap_or_else(|| panic!("{name}"));
            phase_counts(p, faults)
        };
        assert_eq!(of("b/0"), [8, 0, 0, 0], "{kernel:?}");
        assert_eq!(of("a/2"), [8, 8, 8, 0], "{kernel:?}");
        assert_eq!(of("b/1"), [8, 0, 0, 0], "{kernel:?}");
        let paid = [0, 1].map(|g| stat(&r, g, "memory.current") / 4096);
        // Page tables are not charged here.
        assert_eq!(paid, [8, 0], "{kernel:?}");
    }
}

/// `MADV_DONTNEED` takes the mapping alone; `MADV_REMOVE` takes the pages and their slots.
#[test]
fn what_advice_takes() {
    let mut ops = vec![shared(12), write(0, 0, 12), advise(0, 0, 4, DontNeed), end(0)];
    ops.extend([read(0, 0, 4), end(1), advise(0, 4, 4, PageOut), end(2)]);
    ops.extend([advise(0, 0, 8, Remove), end(3), read(0, 0, 8), end(4)]);
    let r = alone(&on_zram(Kernel::V6_18), ops);
    assert_eq!(gauges(&r, "nr_shmem"), [12, 12, 8, 4, 12]);
    assert_eq!(gauges(&r, "nr_mapped"), [8, 12, 8, 4, 12]);
    assert_eq!(gauges(&r, "nr_swap_used"), [0, 0, 4, 0, 0]);
    let faults = ["pgfault", "pgmajfault"];
    assert_eq!(phase_counts(&r.phases[1], faults), [4, 0]);
    assert_eq!(phase_counts(&r.phases[4], faults), [8, 0]);
}

/// Pages that were read and never written hold zeroes: they go without a write and come back without
/// a read (`shmem_recalc_inode`).
#[test]
fn what_was_never_written_is_dropped() {
    let mut ops = vec![shared(8), read(0, 0, 8)];
    ops.extend(swap_out(8));
    ops.extend([end(0), read(0, 0, 8), end(1)]);
    let r = alone(&on_zram(Kernel::V6_12), ops);
    let moved = ["pgsteal_anon", "pswpout", "pgmajfault", "pswpin", "workingset_refault_anon"];
    assert_eq!(phase_counts(&r.phases[0], moved), [8, 0, 0, 0, 0]);
    assert_eq!(phase_counts(&r.phases[1], moved), [0, 0, 0, 0, 0]);
    assert_eq!(gauges(&r, "nr_shmem"), [0, 8]);
}

/// An object goes with its last mapping, with what it has in swap; one that stays does not.
#[test]
fn an_object_goes_with_its_last_mapping() {
    for (stays, left) in [(false, [0, 0]), (true, [4, 4])] {
        let spec = ShmemSpec { stays, ..ShmemSpec::default() };
        let ops = vec![
            shared(8),
            write(0, 0, 8),
            advise(0, 0, 4, PageOut),
            unmap(0),
            end(0),
            Op::Read { file: FileSlot(0), first: 0, count: 0x10 },
            end(1),
        ];
        let r = run(&on_zram(Kernel::V6_18), vec![sharer("t", Some(0), spec, ops)]);
        let at = |name: &str| gauges(&r, name)[0];
        assert_eq!([at("nr_shmem"), at("nr_swap_used")], left);
        // Reading what there is not makes nothing; what is in swap comes back.
        assert_eq!(gauges(&r, "nr_shmem")[1], if stays { 8 } else { 0 });
    }
}

/// `write(2)` makes pages too, and `read(2)` of a hole none.
#[test]
fn files_of_tmpfs_are_written() {
    let file = FileSlot(0);
    let ops = vec![
        Op::Read { file, first: 0, count: 16 },
        end(0),
        Op::Write { file, first: 4, count: 4 },
        end(1),
        Op::Fsync { file },
        Op::Read { file, first: 0, count: 16 },
        end(2),
    ];
    let r = alone(&on_zram(Kernel::V6_12), ops);
    assert_eq!(gauges(&r, "nr_shmem"), [0, 4, 4]);
    assert_eq!(counts(&r, ["pgpgin", "pgpgout", "nr_dirtied"]), [0, 0, 0]);
}

/// On a device with a queue a page is of the swap cache while it is written and read. Touched amid its
/// write, it comes back from there without a read.
#[test]
fn a_device_with_a_queue_goes_through_the_swap_cache() {
    for kernel in KERNELS {
        let c = config(kernel, "ssd");
        let ops = vec![
            shared(8),
            write(0, 0, 8),
            advise(0, 0, 8, PageOut),
            end(0),
            write(0, 0, 8),
            end(1),
        ];
        let r = alone(&c, ops);
        assert_eq!(gauges(&r, "nr_shmem"), [0, 8], "{kernel:?}");
        assert_eq!(gauges(&r, "nr_swapcached"), [8, 0], "{kernel:?}");
        assert_eq!(counts(&r, ["pswpout", "pswpin"]), [8, 0], "{kernel:?}");
        let mut ops = vec![shared(8), write(0, 0, 8)];
        ops.extend(swap_out(8));
        ops.extend([end(0), write(0, 0, 8), end(1)]);
        let r = alone(&c, ops);
        assert_eq!(phase_counts(&r.phases[1], ["pgmajfault", "pswpin"]), [8, 8], "{kernel:?}");
        assert_eq!(gauges(&r, "nr_swap_used"), [8, 0], "{kernel:?}");
    }
}

/// A locked mapping keeps its pages, though another maps them too.
#[test]
fn a_locked_mapping_keeps_its_pages() {
    let lock = Op::Mlock { region: RegionId(0), first: 0, count: 8, onfault: false };
    let mut ops = vec![shared(16), write(0, 0, 16), lock];
    ops.extend(swap_out(16));
    ops.push(end(0));
    let r = alone(&on_zram(Kernel::V6_12), ops);
    assert_eq!(gauges(&r, "nr_shmem"), [8]);
    assert_eq!(gauges(&r, "nr_unevictable"), [8]);
}

fn shm_lock(lock: bool) -> Op {
    Op::ShmLock { region: RegionId(0), lock }
}
/// Drains the batches, and does nothing else where nothing is locked.
fn drain() -> Op {
    Op::Munlock { region: RegionId(0), first: 0, count: 1 }
}
const UNEVICTABLE: [&str; 6] = [
    "unevictable_pgs_culled",
    "unevictable_pgs_scanned",
    "unevictable_pgs_rescued",
    "unevictable_pgs_mlocked",
    "unevictable_pgs_munlocked",
    "pswpout",
];

/// Pages of a tmpfs with `noswap` are unevictable from birth, and are not locked ones. Removed, they
/// are neither unlocked nor rescued.
#[test]
fn noswap_keeps_all_pages_from_birth() {
    for kernel in KERNELS {
        let spec = ShmemSpec { noswap: true, ..ShmemSpec::default() };
        let mut ops = vec![shared(8), write(0, 0, 8), drain(), end(0)];
        ops.extend(swap_out(8));
        ops.push(end(1));
        ops.push(Op::Madvise { region: RegionId(0), first: 0, count: 8, advice: Remove });
        ops.push(end(2));
        let r = run(&on_zram(kernel), vec![sharer("t", Some(0), spec, ops)]);
        assert_eq!(gauges(&r, "nr_shmem"), [8, 8, 0], "{kernel:?}");
        assert_eq!(gauges(&r, "nr_unevictable"), [8, 8, 0], "{kernel:?}");
        let of = |i: usize| phase_counts(&r.phases[i], UNEVICTABLE);
        assert_eq!([of(0), of(1), of(2)], [[8, 0, 0, 0, 0, 0], [0; 6], [0; 6]], "{kernel:?}");
    }
}

/// `SHM_LOCK` moves no page and brings none in: reclaim that meets the pages takes them off their list.
/// `SHM_UNLOCK` looks at all and rescues all. What comes back into a locked object stays, though swap
/// readahead of 6.12 has put it on an evictable list before.
#[test]
fn a_locked_object_stays_until_it_is_unlocked() {
    for kernel in KERNELS {
        let mut ops = vec![shared(8), write(0, 0, 8), drain(), shm_lock(true), end(0)];
        ops.extend(swap_out(8));
        ops.extend([end(1), shm_lock(false), end(2)]);
        ops.extend(swap_out(8));
        ops.extend([end(3), shm_lock(true), end(4), read(0, 0, 8)]);
        ops.extend(swap_out(8));
        ops.push(end(5));
        let r = alone(&on_zram(kernel), ops);
        assert_eq!(gauges(&r, "nr_unevictable"), [0, 8, 0, 0, 0, 8], "{kernel:?}");
        assert_eq!(gauges(&r, "nr_shmem"), [8, 8, 8, 0, 0, 8], "{kernel:?}");
        let of = |i: usize| phase_counts(&r.phases[i], UNEVICTABLE);
        assert_eq!(of(0), [0; 6], "{kernel:?}");
        assert_eq!(of(1), [8, 0, 0, 0, 0, 0], "{kernel:?}");
        assert_eq!(of(2), [0, 8, 8, 0, 0, 0], "{kernel:?}");
        assert_eq!(of(3), [0, 0, 0, 0, 0, 8], "{kernel:?}");
        assert_eq!([of(4), of(5)], [[0; 6], [8, 0, 0, 0, 0, 0]], "{kernel:?}");
    }
}

/// Four of eight pages are locked by a mapping as well. Unlocked there, they stay for the object's
/// sake; the object unlocked first, they stay for the mapping's.
#[test]
fn a_page_that_is_locked_twice_stays_until_both_go() {
    let mlock = Op::Mlock { region: RegionId(0), first: 0, count: 4, onfault: false };
    let munlock = Op::Munlock { region: RegionId(0), first: 0, count: 4 };
    for (first, second, left, counts) in [
        (munlock, shm_lock(false), 8, [[0, 0, 0, 0, 4, 0], [0, 8, 8, 0, 0, 0]]),
        (shm_lock(false), munlock, 4, [[0, 8, 4, 0, 0, 0], [0, 0, 4, 0, 4, 0]]),
    ] {
        let mut ops = vec![shared(8), write(0, 0, 8), drain(), shm_lock(true)];
        ops.extend(swap_out(8));
        ops.extend([mlock, end(0), first, end(1), second, end(2)]);
        let r = alone(&on_zram(Kernel::V6_12), ops);
        assert_eq!(gauges(&r, "nr_unevictable"), [8, left, 0]);
        let of = |i: usize| phase_counts(&r.phases[i], UNEVICTABLE);
        assert_eq!(of(0), [8, 0, 0, 4, 0, 0]);
        assert_eq!([of(1), of(2)], counts);
    }
}

/// Both LRUs leave such objects alone while other memory goes to swap: 1,024 pages with `noswap`, and 512
/// of an object that was locked when its pages were on evictable lists. Unlocked, the 512 can go.
#[test]
fn every_lru_leaves_unevictable_objects_alone() {
    for lru in ["classic-v6.12", "mglru-v6.12"] {
        let text = format!(
            r#"
            [machine]
            memory = "24MiB"
            kernel = "6.12"
            swap = {{ size = "64MiB", device = "ramdisk" }}
            [[task]]
            name = "t"
            workload = "phased"
            regions = {{ r = {{ memory = "4MiB", kind = "shmem", noswap = true }}, s = {{ memory = "2MiB", kind = "shmem" }}, a = {{ memory = "32MiB" }} }}
            steps = [
                {{ do = "allocate", region = "r" }},
                {{ do = "allocate", region = "s" }},
                {{ do = "shm-lock", region = "s" }},
                {{ do = "allocate", region = "a" }},
                {{ do = "touch", region = "a" }},
                {{ do = "phase", name = "locked" }},
                {{ do = "shm-unlock", region = "s" }},
                {{ do = "touch", region = "a", passes = 2 }},
                {{ do = "phase", name = "unlocked" }},
            ]
            [[variant]]
            name = "v"
            reclaim = {{ preset = "{lru}" }}
            "#
        );
        let r = &scenario(&text)[0];
        assert_eq!(gauges(r, "nr_unevictable"), [1536, 1024], "{lru}");
        assert_eq!(gauges(r, "nr_shmem")[0], 1536, "{lru}");
        assert!(gauges(r, "nr_shmem")[1] < 1536, "{lru}");
        let [scanned, rescued, mlocked] = phase_counts(
            &r.phases[1],
            ["unevictable_pgs_scanned", "unevictable_pgs_rescued", "unevictable_pgs_mlocked"],
        );
        assert_eq!([scanned, rescued, mlocked], [512, 512, 0], "{lru}");
    }
}

/// The OOM killer's table of processes has a column of shared memory, or not.
#[test]
fn oom_parts_of_rss() {
    use mmsim::machine::result::{OomProcess, OomSummary};
    use mmsim::report::proc::Kind;
    let text = |v| {
        let c = ruled(on_zram(Kernel::V7_3), "oom-parts-of-rss", v);
        let mut s =
            machine(&c, vec![task("t", vec![end(0)])]).snapshot(mmsim::base::time::SimTime(0));
        let mut oom = OomSummary::default();
        oom.victim = "t".into();
        let mut t = OomProcess::default();
        (t.name, t.rss) = ("t".into(), [1, 2, 4]);
        oom.processes = vec![t];
        s.oom = Some(oom);
        Kind::Oom.files(&s)[0].1.clone()
    };
    let row = "        7        1        2         4 ";
    assert_eq!(["no", "yes"].map(|v| text(v).contains(row)), [false, true]);
}
