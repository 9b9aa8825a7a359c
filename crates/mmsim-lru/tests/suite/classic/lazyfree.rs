//! Lazily freed memory in a list of its own, on whole machines.

use crate::harness::memory::small_machine;
use crate::harness::{self, Policy, Ran, Steps};
use mmsim_core::base::vmstat::VmEvent::*;
use mmsim_core::config::{MachineConfig, MemcgConfig};
use mmsim_core::workload::Advice;
use mmsim_lru::config::{ClassicConfig, LazyfreePlace, Settings as _};

const OWN: [LazyfreePlace; 3] =
    [LazyfreePlace::OwnList2015a, LazyfreePlace::OwnList2015aFixed, LazyfreePlace::OwnList2015b];

/// 300 frames, page by page.
fn machine() -> MachineConfig {
    small_machine(300, 1200, 5)
}

fn ran(mut machine: MachineConfig, place: LazyfreePlace, value: Option<u32>, steps: Steps) -> Ran {
    machine.vm.lazyfreeness = value;
    let config = ClassicConfig { lazyfree: place, ..ClassicConfig::V5_5 };
    config.validate().expect("knobs that fit");
    harness::run(&machine, Policy::Classic(config), &[steps])
}

/// 50 pages of a file are read and 50 anonymous ones freed lazily; then `more` pages are wanted.
fn freed_beside_a_file(more: u32) -> Steps {
    let s = Steps::with_file(50).map(0, 50).map(1, 400).write(0, 0..50).read_file(0..50);
    s.advise(0, 0..50, Advice::Free).phase().write(1, 0..more).phase().read_file(0..50).phase()
}

/// The pages leave the lists of both types for their own, and are freed from there without swap too.
#[test]
fn the_list_is_there_without_swap() {
    for place in OWN {
        let mut m = machine();
        m.swap.clear();
        let r = ran(m, place, None, freed_beside_a_file(215));
        let gauges = &r.result.phases[0].gauges;
        let gauge = |name| gauges.iter().find(|g| g.0 == name).expect("a gauge").1;
        assert_eq!((gauge("nr_lazyfree"), gauge("nr_inactive_file")), (50, 50), "{place:?}");
        assert!(r.n(PgLazyFreed) > 0, "{place:?}");
        assert_eq!(r.n(PgLazyFree), 50);
    }
}

/// A page that was written since is ordinary active memory, one that was not is dropped: of 50 pages
/// that are scanned to the end, the 10 that were written stay. Reading alone brings none back: the
/// pages are touched by writing only.
#[test]
fn a_page_that_was_written_is_active_anonymous_memory_again() {
    for place in OWN {
        let s = Steps::new().map(0, 50).map(1, 600).write(0, 0..50);
        let s = s.advise(0, 0..50, Advice::Free).write(0, 0..10).phase().write(1, 0..600).phase();
        let r = ran(machine(), place, Some(100), s);
        assert_eq!((r.n(PgLazyFreed), r.gauge("nr_lazyfree")), (40, 0), "{place:?}");
        assert!(r.n(PgActivate) >= 10, "{place:?}: {}", r.n(PgActivate));
    }
}

/// From 80 on the first version scans nothing else while its list has pages, so the file stays; at 0
/// the file gives its part.
#[test]
fn a_high_value_spares_the_file() {
    for place in [LazyfreePlace::OwnList2015a, LazyfreePlace::OwnList2015aFixed] {
        let refaults = |value| {
            ran(machine(), place, Some(value), freed_beside_a_file(215))
                .in_phase(2, WorkingsetRefaultFile)
        };
        assert_eq!(refaults(80), 0, "{place:?}");
        assert!(refaults(0) > 0, "{place:?}");
    }
}

/// There are no file pages, and swappiness is 10: meant is a share of 140 for the list beside 10 for
/// anonymous memory, so what is wanted comes from the list. By the posted mistake each gets 10, and
/// pages are swapped out.
#[test]
fn the_index_of_the_posting_gives_the_share_of_anonymous_memory() {
    let swapped = |place| {
        let mut m = small_machine(3000, 6000, 0);
        m.vm.swappiness = 10;
        let s = Steps::new().map(0, 1000).map(1, 4000).write(0, 0..1000);
        let s = s.advise(0, 0..1000, Advice::Free).phase().write(1, 0..2400).phase();
        ran(m, place, Some(40), s).in_phase(1, PswpOut)
    };
    let [posted, meant] =
        [LazyfreePlace::OwnList2015a, LazyfreePlace::OwnList2015aFixed].map(swapped);
    assert!(meant + 100 <= posted, "{meant} {posted}");
}

/// The second version leaves the list alone at 0 unless file and free pages are few, and takes more
/// of it the higher the value.
#[test]
fn the_second_version_takes_by_its_value() {
    let freed = |value| {
        let r = ran(machine(), LazyfreePlace::OwnList2015b, Some(value), freed_beside_a_file(215));
        r.in_phase(1, PgLazyFreed)
    };
    let [none, some, all] = [0, 20, 100].map(freed);
    assert!(none <= some && some <= all && none < all, "{none} {some} {all}");
}

/// Its default is 40 in the first version and 20 in the second.
#[test]
fn a_value_that_was_not_written_is_that_of_the_version() {
    for (place, default) in OWN.into_iter().zip([40, 40, 20]) {
        let of = |value| ran(machine(), place, value, freed_beside_a_file(200)).result;
        assert_eq!(of(None), of(Some(default)), "{place:?}");
    }
}

/// Shares go by what rotates, which the cost models do not know.
#[test]
fn the_first_version_is_of_the_rotate_model() {
    let with = |lazyfree| ClassicConfig { lazyfree, ..ClassicConfig::V6_12 }.validate().is_ok();
    assert_eq!(OWN.map(with), [false, false, true]);
}

/// The same with a value of the group that the process is in, beside 0 for the machine.
#[test]
fn a_group_may_have_a_value_of_its_own() {
    let refaults = |own| {
        let mut m = machine();
        m.memcgs = vec![MemcgConfig { lazyfreeness: own, ..MemcgConfig::new("g") }];
        let steps = freed_beside_a_file(215).in_group(0);
        ran(m, LazyfreePlace::OwnList2015a, Some(0), steps).in_phase(2, WorkingsetRefaultFile)
    };
    assert_eq!(refaults(Some(80)), 0);
    assert!(refaults(None) > 0);
}
