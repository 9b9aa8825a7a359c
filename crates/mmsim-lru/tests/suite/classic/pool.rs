//! The pool of easily reclaimed memory, on whole machines.

use crate::harness::memory::small_machine;
use crate::harness::{self, Policy, Ran, Steps};
use mmsim_core::base::vmstat::VmEvent::*;
use mmsim_core::config::MachineConfig;
use mmsim_core::workload::Advice;
use mmsim_lru::config::ClassicConfig;

/// 3000 frames. The pool is kept from `low` to twice as much, in thousandths.
fn ran(low: Option<u32>, steps: Steps) -> Ran {
    let mut machine: MachineConfig = small_machine(3000, 6000, 0);
    machine.vm.watermark_boost_factor = 0;
    (machine.vm.easy_pool_low, machine.vm.easy_pool_high) = (low, low.map(|low| 2 * low));
    harness::run(&machine, Policy::Classic(ClassicConfig::V6_12), &[steps])
}

/// Anonymous memory of one and a half times the machine is written, then its beginning again.
fn rounds() -> Steps {
    let s = Steps::with_file(500).map(0, 4500).read_file(0..500).write(0, 0..4500).phase();
    s.write(0, 0..1000).read_file(0..500).phase()
}

/// A pool of size 0 is none: all figures are those of a machine without the key.
#[test]
fn a_pool_of_nothing_changes_nothing() {
    assert_eq!(ran(Some(0), rounds()).result, ran(None, rounds()).result);
}

/// kswapd keeps pages ready, within its marks: of 3000 pages at most 200 thousandths with the free
/// ones. All that is ready is freed, used again or still there.
#[test]
fn kswapd_keeps_pages_ready() {
    let r = ran(Some(100), rounds());
    let (ready, used, left) = (r.n(SimEasyReady), r.n(SimEasyUsed), r.gauge("sim_easy_pool"));
    assert!(ready > 300, "{ready}");
    assert!(left > 0 && left <= 600, "{left}");
    assert!(used + left <= ready, "{used} {left} {ready}");
    r.machine.check();
}

/// A page in the pool that is used again is in memory still, and leaves the pool: pages are used from
/// the youngest of those that were chosen to the oldest, so that the first are not yet freed.
#[test]
fn what_is_ready_is_not_read_again() {
    let s = || {
        let s = Steps::new().map(0, 3600).write(0, 0..3600);
        s.each((0..30).rev(), |s, k| s.write(0, 50 * k..50 * k + 50)).phase()
    };
    let [none, some] = [None, Some(150)].map(|low| ran(low, s()));
    assert!(some.n(SimEasyUsed) > 50, "{}", some.n(SimEasyUsed));
    assert_eq!(none.n(SimEasyUsed), 0);
}

/// Memory that `MADV_FREE` gave back is ready at once, and goes before all else.
#[test]
fn lazily_freed_pages_are_in_the_pool() {
    let s = Steps::new().map(0, 500).map(1, 3000).write(0, 0..500);
    let s = s.advise(0, 0..500, Advice::Free).phase().write(1, 0..2600).phase();
    let r = ran(Some(10), s);
    let in_pool = r.result.phases[0].gauges.iter().find(|g| g.0 == "sim_easy_pool");
    assert_eq!(in_pool.map(|g| g.1), Some(500));
    assert!(r.n(PgLazyFreed) > 100, "{}", r.n(PgLazyFreed));
    assert_eq!(r.n(SimEasyUsed), 0);
}
