//! Huge pages of which a part was given back.

use crate::support::*;
use mmsim::base::id::MemcgId;
use mmsim::config::{Kernel, MachineConfig, Thp};
use mmsim::machine::Watch;
use mmsim::workload::{Advice, Op};

const GROUP: MemcgId = MemcgId(1);
const SPLITS: [&str; 2] = ["thp_deferred_split_page", "thp_split_page"];

fn with_thp(kernel: Kernel) -> MachineConfig {
    let mut c = config(kernel, "ramdisk");
    c.vm.thp = Thp::Always;
    // Of so small a zone a boost would be a quarter.
    c.vm.watermark_boost_factor = 0;
    c
}

/// An allocator gives 480 pages of a huge page back. From 4.5 on none comes free, and the group pays
/// for all 512 (mm/rmap.c, `__folio_remove_rmap`); 4.1 splits the page at once.
#[test]
fn a_part_given_back_frees_nothing() {
    for kernel in Kernel::ALL {
        let waits = kernel > Kernel::V4_1;
        let ops = vec![anon(512), write(0, 0, 512), end(0), advise(0, 0, 480, Advice::DontNeed)];
        let ops = [ops, vec![sleep_ms(5000), end(1)]].concat();
        let mut m = machine(&with_thp(kernel), vec![member("t", ops)]);
        let r = m.run(Watch::default().with_check_every(1));
        let given = &r.phases[1];
        let split = if waits { [1, 0] } else { [0, 1] };
        assert_eq!(phase_counts(given, SPLITS), split, "{kernel:?}");
        assert_eq!(phase_counts(given, ["pgfree"])[0], if waits { 0 } else { 480 }, "{kernel:?}");
        assert_eq!(gauge(&given.gauges, "nr_anon_pages"), 32, "{kernel:?}: what is mapped");
        assert_eq!(gauge(&given.gauges, "nr_anon_transparent_hugepages"), 0, "{kernel:?}");
        let anon =
            gauge(&given.gauges, "nr_inactive_anon") + gauge(&given.gauges, "nr_active_anon");
        assert_eq!(anon, if waits { 512 } else { 32 }, "{kernel:?}: what is on lists");
        assert_eq!(m.mem.memcgs[GROUP].usage, if waits { 512 } else { 32 }, "{kernel:?}");
    }
}

/// Memory that was given back and is used again takes new pages beside the folio, so a program that
/// does so round after round holds more than it uses, up to twice as much.
#[test]
fn parts_used_again_take_new_pages() {
    let mut ops = vec![anon(512), write(0, 0, 512)];
    for k in 0..4 {
        ops.extend([advise(0, 100 * k, 100, Advice::DontNeed), write(0, 100 * k, 100)]);
    }
    ops.push(end(0));
    let mut m = machine(&with_thp(Kernel::V6_12), vec![member("t", ops)]);
    let r = m.run(Watch::default().with_check_every(1));
    assert_eq!(counts(&r, SPLITS), [1, 0]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_anon_pages"), 512);
    assert_eq!(m.mem.memcgs[GROUP].usage, 912);
}

/// A group at its limit holds 32 pages in each of three huge pages. The page that does not fit makes
/// reclaim go through the group's queue: the folios are split, 1440 frames come free, and nothing has
/// to be swapped, for there is no swap space.
#[test]
fn reclaim_for_a_limit_splits_what_is_queued() {
    for swap_max in [Some(0), None] {
        let mut c = with_thp(Kernel::V6_12);
        (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(1600), swap_max);
        let mut ops = vec![anon(1536), write(0, 0, 1536)];
        ops.extend((0..3).map(|k| advise(0, 512 * k, 480, Advice::DontNeed)));
        let more = map(1, 400, mmsim::workload::MapKind::Anon, Default::default());
        ops.extend([end(0), more, write(1, 0, 400), end(1)]);
        let mut m = machine(&c, vec![member("t", ops)]);
        let r = m.run(Watch::default().with_check_every(1));
        assert_eq!(r.outcome, mmsim::machine::result::Outcome::Completed, "{swap_max:?}");
        assert_eq!(phase_counts(&r.phases[0], SPLITS), [3, 0], "{swap_max:?}");
        assert!(phase_counts(&r.phases[1], SPLITS)[1] >= 1, "{swap_max:?}");
        assert_eq!(count(&r, "oom_kill"), 0, "{swap_max:?}");
        assert!(m.mem.memcgs[GROUP].usage <= 1600, "{swap_max:?}");
    }
}

/// kswapd splits what waits, whoever owns it, and what comes free is as good as what it evicts.
#[test]
fn kswapd_splits_what_is_queued() {
    let mut c = with_thp(Kernel::V6_12);
    c.swap.clear();
    let mut gives = vec![anon(1024), write(0, 0, 1024)];
    gives.extend((0..2).map(|k| advise(0, 512 * k, 500, Advice::DontNeed)));
    gives.push(sleep_ms(2000));
    let wants = vec![sleep_ms(100), anon(1800), write(0, 0, 1800), end(0)];
    c.vm.thp = Thp::Madvise;
    gives.insert(1, advise(0, 0, 1024, Advice::HugePage));
    let r = run(&c, vec![task("gives", gives), task("wants", wants)]);
    assert_eq!(r.outcome, mmsim::machine::result::Outcome::Completed);
    assert_eq!(counts(&r, SPLITS), [2, 2]);
    assert_eq!(count(&r, "oom_kill"), 0);
}

/// Threads that touch memory for the first time and drop it again meet parts in their own tables:
/// the slow path and the fast one give the same machine.
#[test]
fn parts_beside_new_pages_are_the_slow_path() {
    let of = |slow| {
        let mut ops: Vec<Op> = vec![anon(1024), write(0, 0, 1024)];
        for k in 0..12 {
            let first = k * 80;
            ops.extend([advise(0, first, 60, Advice::DontNeed), write(0, first + 10, 30)]);
        }
        ops.push(read(0, 0, 1024));
        let watch = if slow { Watch::default().with_slow_paths(true) } else { Watch::default() };
        let r = machine(&with_thp(Kernel::V6_12), vec![member("t", ops)]).run(watch);
        (r.digest, r.sim_time)
    };
    assert_eq!(of(true), of(false));
}
