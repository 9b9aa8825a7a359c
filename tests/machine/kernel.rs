//! Allocations on behalf of the kernel: how far a request goes, by order and flags.

use crate::support::*;
use mmsim::base::migratetype::Migratetype;
use mmsim::config::Kernel;
use mmsim::machine::result::Outcome;
use mmsim::phys::gfp::{GFP_ATOMIC, GFP_KERNEL, GFP_NOWAIT, GfpFlags};
use mmsim::workload::{BlockHandle, Op};

fn alloc(handle: u32, order: u8, flags: GfpFlags) -> Op {
    let migratetype = Migratetype::Unmovable;
    Op::KernelAlloc { order, migratetype, flags, handle: BlockHandle(handle) }
}

fn free(handle: u32) -> Op {
    Op::KernelFree { handle: BlockHandle(handle) }
}

const ASKED: [&str; 2] = ["sim_kernel_alloc", "sim_kernel_alloc_fail"];

#[test]
fn blocks_of_all_orders_are_counted_in_pages_and_come_back() {
    let mut ops: Vec<Op> = (0..10).map(|k| alloc(k, k as u8, GFP_KERNEL)).collect();
    ops.push(end(0));
    ops.extend((0..10).rev().map(free));
    // Freed already, and never had.
    ops.extend([free(3), free(99), end(1)]);
    for kernel in Kernel::ALL {
        let r = run(&config(kernel, "ramdisk"), vec![task("t", ops.clone())]);
        assert_eq!(counts(&r, ASKED), [10, 0]);
        assert_eq!(counts(&r, ["pgalloc_normal", "pgfree"]), [1023, 1023]);
        assert_eq!(gauge(&r.phases[0].gauges, "nr_free_pages"), 2048 - 1023);
        assert_eq!(gauge(&r.phases[1].gauges, "nr_free_pages"), 2048);
        // Nothing had to be taken from movable pageblocks piecemeal.
        assert_eq!(count(&r, "sim_extfrag_fragmenting"), 0);
    }
}

/// In 2048 pages with a min watermark of 8, a request that may not sleep stops there, and one that
/// may use reserves besides goes down to 8 - 4 - 1.
#[test]
fn reserves_are_for_those_who_cannot_wait() {
    let mut ops: Vec<Op> = (0..2048).map(|i| alloc(i, 0, GFP_NOWAIT)).collect();
    ops.push(end(0));
    ops.extend((0..10).map(|i| alloc(3000 + i, 0, GFP_ATOMIC)));
    ops.push(end(1));
    let r = run(&config(Kernel::V6_12, "ramdisk"), vec![task("t", ops)]);
    assert_eq!(phase_counts(&r.phases[0], ASKED), [2048, 8]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_free_pages"), 8);
    assert_eq!(phase_counts(&r.phases[1], ASKED), [10, 5]);
    assert_eq!(count(&r, "allocstall_normal"), 0);
}

/// Memory full of pages of a process: blocks up to order 3 are reclaimed for; larger ones
/// fail at once if they are not worth retrying.
#[test]
fn orders_up_to_3_are_worth_any_effort() {
    let with = |order, flags: GfpFlags| {
        let mut ops = vec![anon(2100), write(0, 0, 2100), end(0)];
        ops.extend((0..20).map(|i| alloc(i, order, flags)));
        // A thread that no other waits for gets its turn.
        ops.extend([sleep_ms(50), end(1)]);
        let mut c = config(Kernel::V6_12, "ramdisk");
        // In four pageblocks a boost would keep as much free as all requests want.
        c.vm.watermark_boost_factor = 0;
        let r = run(&c, vec![task("t", ops)]);
        assert!(matches!(r.outcome, Outcome::Completed), "{:?}", r.outcome);
        let p = &r.phases[1];
        let [_, failed] = phase_counts(p, ASKED);
        (failed, phase_counts(p, ["pswpout"])[0] > 0, phase_counts(p, ["allocstall_normal"])[0])
    };
    let (failed, swapped, _) = with(3, GFP_KERNEL);
    assert_eq!((failed, swapped), (0, true));
    let (failed, _, stalls) = with(5, GFP_KERNEL.with(GfpFlags::NORETRY));
    assert_eq!(stalls, 0, "compaction was skipped: no reclaim");
    assert!(failed > 0);
    let (_, _, stalls) = with(5, GFP_KERNEL);
    assert!(stalls > 0, "one reclaim at least");
    let (_, swapped, _) = with(5, GFP_NOWAIT);
    assert!(swapped, "kswapd was woken for the order");
}

/// Half of memory is free, in single pages and 48 in a row: kswapd is woken for a block of
/// order 6, finds nothing to reclaim, and sleeps again.
#[test]
fn kswapd_is_woken_for_an_order_that_only_fragmentation_withholds() {
    let mut ops: Vec<Op> = (0..2000).map(|i| alloc(i, 0, GFP_NOWAIT)).collect();
    ops.extend((0..2000).step_by(2).map(free));
    ops.push(end(0));
    ops.extend([alloc(5000, 0, GFP_NOWAIT), alloc(5001, 6, GFP_NOWAIT), sleep_ms(500), end(1)]);
    let r = run(&config(Kernel::V6_12, "ramdisk"), vec![task("t", ops)]);
    let p = &r.phases[1];
    assert_eq!(phase_counts(p, ASKED), [2, 1]);
    assert_eq!(phase_counts(p, ["pageoutrun"]), [1]);
    assert_eq!(phase_counts(p, ["pgscan_kswapd"]), [0]);
}

/// Without input and output only clean pages can be reclaimed: there are none here.
#[test]
fn noio_requests_do_not_swap() {
    let noio = GFP_KERNEL.without(GfpFlags::IO.with(GfpFlags::FS)).with(GfpFlags::NORETRY);
    let noio = noio.without(GfpFlags::KSWAPD_RECLAIM);
    let mut ops = vec![anon(2000), write(0, 0, 2000), end(0)];
    ops.extend((0..60).map(|i| alloc(i, 0, noio)));
    ops.push(end(1));
    let r = run(&config(Kernel::V6_12, "ramdisk"), vec![task("t", ops)]);
    let p = &r.phases[1];
    let [_, failed] = phase_counts(p, ASKED);
    assert!(failed > 0);
    assert_eq!(phase_counts(p, ["pswpout"]), [0]);
    assert!(phase_counts(p, ["allocstall_normal"])[0] > 0);
}
