//! Huge pages of hugetlbfs: what a mapping reserves, takes and gives back.

use mmsim::base::id::PageIdx;
use mmsim::base::time::SimDuration;
use mmsim::config::cost::CostModel;
use mmsim::config::{Kernel, MachineConfig};
use mmsim::machine::result::{Outcome, Shortage};
use mmsim::machine::{TaskConfig, Watch};
use mmsim::memory::HugePool;
use mmsim::workload::{Advice, MapKind, Op, VmaFlags};

use super::support::*;

/// A machine with room for five huge pages, and `nr_hugepages` in the pool.
fn pool(nr_hugepages: u32) -> MachineConfig {
    let mut c = config(Kernel::V6_12, "zram");
    c.nodes[0].zones = vec![zone(5 * 512 + 512)];
    c.vm.nr_hugepages = nr_hugepages;
    c
}

fn huge(region: u16, pages: u32) -> Op {
    map(region, pages, MapKind::HugeTlb, VmaFlags::default())
}

/// Total, free, reserved.
fn sizes(p: &HugePool) -> [u32; 3] {
    [p.total(), p.free(), p.reserved()]
}

/// The pool at the end of a run.
fn pool_after(config: &MachineConfig, tasks: Vec<TaskConfig>) -> [u32; 3] {
    let mut m = machine(config, tasks);
    m.run(Watch::default().with_check_every(1));
    sizes(&m.mem.kernel.hugetlb)
}

/// 600 pages are two huge pages, so 1024 pages may be touched: two faults, and nothing that belongs
/// to memory of other kinds. Each fault clears 512 pages.
#[test]
fn a_huge_page_is_one_fault_and_in_no_count() {
    let r = run(&pool(3), vec![task("a", vec![huge(0, 600), write(0, 0, 1024), end(0)])]);
    assert_eq!(r.outcome, Outcome::Completed);
    assert_eq!(counts(&r, ["pgfault", "pgmajfault", "htlb_buddy_alloc_success"]), [2, 0, 3]);
    let shown = ["nr_anon_pages", "nr_anon_transparent_hugepages", "nr_page_table_pages"];
    assert_eq!(shown.map(|g| gauge(&r.phases[0].gauges, g)), [0, 0, 0]);
    let cost = CostModel::measured();
    let clear = cost.t_minor_anon + cost.t_copy_page * 511;
    assert_eq!(r.sim_time, cost.t_syscall + clear * 2 + cost.t_hit * 1024);
}

/// A first read maps the page, read-only as the mapping is private; the first write is a fault again,
/// and makes all of the page writable.
#[test]
fn a_read_page_is_written_with_a_second_fault() {
    let ops = vec![huge(0, 512), read(0, 7, 1), read(0, 9, 1), write(0, 9, 1), write(0, 500, 1)];
    let r = run(&pool(1), vec![task("a", ops)]);
    assert_eq!(counts(&r, ["pgfault", "pgreuse"]), [2, 0]);
}

/// Pages that a mapping may need are promised when it is made, and come back when it goes.
#[test]
fn mappings_reserve_what_they_may_need() {
    // The last process keeps its memory.
    let mapped = vec![huge(0, 1024), write(0, 0, 1)];
    assert_eq!(pool_after(&pool(3), vec![task("a", mapped.clone())]), [3, 2, 1]);
    let dropped = [mapped.clone(), vec![advise(0, 0, 512, Advice::DontNeed)]].concat();
    assert_eq!(pool_after(&pool(3), vec![task("a", dropped)]), [3, 3, 2]);
    let half = [mapped.clone(), vec![advise(0, 1, 511, Advice::DontNeed)]].concat();
    assert_eq!(pool_after(&pool(3), vec![task("a", half)]), [3, 2, 1]);
    let part = [mapped.clone(), vec![advise(0, 0, 511, Advice::DontNeed)]].concat();
    assert_eq!(pool_after(&pool(3), vec![task("a", part)]), [3, 2, 1]);
    let gone = [mapped, vec![unmap(0)]].concat();
    assert_eq!(pool_after(&pool(3), vec![task("a", gone)]), [3, 3, 0]);
}

/// A second process asks for more than is left: the mapping is refused before anything is touched, and
/// the process ends; the first one goes on.
#[test]
fn a_mapping_that_the_pool_cannot_back_ends_its_process() {
    let first = vec![huge(0, 1024), sleep_ms(10), write(0, 0, 1024)];
    let second = vec![sleep_ms(1), huge(0, 1024), write(0, 0, 1)];
    let r = run(&pool(3), vec![task("first", first), task("second", second)]);
    let Outcome::OutOfMemory(s) = &r.outcome else { panic!("{:?}", r.outcome) };
    assert_eq!((s.victim.as_str(), s.shortage), ("second", Shortage::HugePages));
    assert!(s.free > 0, "{s:?}");
    assert_eq!((count(&r, "oom_kill"), r.accesses), (0, 1024));
}

/// Reclaim, advice and shrinking the pool leave mapped pages alone; once they are unmapped, what is
/// above the size of the pool is free memory.
#[test]
fn nobody_takes_a_mapped_page() {
    let used = vec![huge(0, 512), write(0, 0, 512)];
    let pressed = [
        used.clone(),
        vec![
            advise(0, 0, 512, Advice::Cold),
            advise(0, 0, 512, Advice::PageOut),
            advise(0, 0, 512, Advice::Free),
            advise(0, 0, 512, Advice::PopulateWrite),
            reclaim(512),
            Op::HugePool { pages: 0 },
            read(0, 0, 512),
        ],
    ]
    .concat();
    let r = run(&pool(3), vec![member("a", pressed.clone())]);
    assert_eq!(counts(&r, ["pgfault", "pswpout", "pgscan_anon"]), [1, 0, 0]);
    assert_eq!(pool_after(&pool(3), vec![task("a", pressed.clone())]), [1, 0, 0]);
    let after = [pressed, vec![unmap(0)]].concat();
    let mut m = machine(&pool(3), vec![task("a", after)]);
    let free = m.mem.zones.nr_free();
    m.run(Watch::default().with_check_every(1));
    assert_eq!(sizes(&m.mem.kernel.hugetlb), [0, 0, 0]);
    assert_eq!(m.mem.zones.nr_free(), free + 3 * 512);
}

/// In memory in which only five blocks of 2 MiB are whole, ten are not allocated.
#[test]
fn the_pool_takes_what_there_is() {
    let m = machine(&pool(10), vec![task("a", vec![])]);
    assert_eq!(m.nr_huge_pages(), 5);
    assert_eq!(m.mem.acting.now.since(mmsim::base::time::SimTime::ZERO), SimDuration::ZERO);
    let at = |p| m.mem.hugetlb_at(PageIdx(p));
    assert_eq!((at(0), at(512)), (None, None));
}
