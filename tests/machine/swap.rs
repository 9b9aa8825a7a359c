//! Swap: slots, the swap cache, readahead.

use crate::support::*;
use mmsim::base::time::SimDuration;
use mmsim::config::{Kernel, MachineConfig, SwapConfig};
use mmsim::machine::result::RunResult;
use mmsim::machine::snapshot::SwapArea;
use mmsim::machine::{SnapshotFn, Watch};
use mmsim::workload::{Advice, Op};
use std::sync::{Arc, Mutex};

const NAMES: [&str; 4] = ["pgscan_anon", "pgsteal_anon", "pswpout", "pgrotated"];

/// One page, written once, then what `then` says.
fn one_page(config: &MachineConfig, then: Vec<Op>) -> RunResult {
    let mut ops = vec![anon(1), write(0, 0, 1), advise(0, 0, 1, Advice::Cold)];
    ops.extend(then);
    run(config, vec![member("t", ops)])
}

#[test]
fn an_asynchronous_write_costs_a_second_scan() {
    let c = config(Kernel::V6_12, "ssd");
    let cold = advise(0, 0, 1, Advice::Cold);
    let again = vec![reclaim(1), end(0), read(0, 0, 1), cold, end(1), reclaim(1), end(2)];
    let r = one_page(&c, again);
    // The first walk writes it, and the second one meets it under write. `memory.reclaim` waits for
    // that and tries again.
    assert_eq!(phase_counts(&r.phases[0], NAMES), [3, 1, 1, 1]);
    // Read back it stays in the swap cache, clean: evicting it again is free of I/O.
    assert_eq!(phase_counts(&r.phases[1], ["pgfault", "pgmajfault", "pswpin"]), [1, 1, 1]);
    assert_eq!(phase_counts(&r.phases[2], NAMES), [1, 1, 0, 0]);
    assert_eq!(count(&r, "sim_evict_clean"), 2);
}

#[test]
fn a_synchronous_write_costs_one_scan_and_keeps_no_copy() {
    let c = config(Kernel::V6_12, "ramdisk");
    let cold = advise(0, 0, 1, Advice::Cold);
    let r = one_page(&c, vec![reclaim(1), end(0), read(0, 0, 1), end(1), cold, reclaim(1), end(2)]);
    assert_eq!(phase_counts(&r.phases[0], NAMES), [1, 1, 1, 0]);
    assert_eq!(phase_counts(&r.phases[1], ["pgfault", "pgmajfault", "pswpin"]), [1, 1, 1]);
    assert_eq!(gauge(&r.phases[1].gauges, "nr_swap_used"), 0);
    assert_eq!(phase_counts(&r.phases[2], NAMES), [1, 1, 1, 0]);
}

#[test]
fn a_page_under_write_is_found_in_the_swap_cache() {
    let out = advise(0, 0, 1, Advice::PageOut);
    let r = one_page(&config(Kernel::V6_12, "ssd"), vec![out, end(0), read(0, 0, 1), end(1)]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_anon_pages"), 0);
    assert_eq!(phase_counts(&r.phases[1], ["pgfault", "pgmajfault", "pswpin"]), [1, 0, 0]);
    assert_eq!(gauge(&r.phases[1].gauges, "nr_anon_pages"), 1);
}

/// A page read back from swap and then written: faults of the write, reuses, slots in use
/// after it, and writes of the next eviction.
fn write_after_read(kernel: Kernel) -> [u64; 4] {
    let mut ops = vec![reclaim(1), sleep_ms(1), reclaim(1), read(0, 0, 1), end(0), write(0, 0, 1)];
    ops.extend([end(1), advise(0, 0, 1, Advice::Cold), reclaim(1), end(2)]);
    let r = one_page(&config(kernel, "ssd"), ops);
    let [faults, reuses] = phase_counts(&r.phases[1], ["pgfault", "pgreuse"]);
    let used = gauge(&r.phases[1].gauges, "nr_swap_used");
    [faults, reuses, used, phase_counts(&r.phases[2], ["pswpout"])[0]]
}

#[test]
fn a_write_to_a_page_of_the_swap_cache() {
    // 5.x maps it read-only at the read; the write is a fault that gives up the slot.
    assert_eq!(write_after_read(Kernel::V5_5), [1, 1, 0, 1]);
    // From 5.9 to 5.17 the fault makes a copy, and the old page keeps the slot.
    assert_eq!(write_after_read(Kernel::V5_9), [1, 0, 1, 1]);
    // 6.x maps it writable; the slot stays and is written again.
    assert_eq!(write_after_read(Kernel::V6_1), [0, 0, 1, 1]);
    assert_eq!(write_after_read(Kernel::V6_12), [0, 0, 1, 1]);
}

#[test]
fn a_full_device_takes_its_slots_back_at_swap_in() {
    let used_after_read = |slots| {
        let mut c = config(Kernel::V6_12, "ssd");
        c.swap.first_mut().expect("it has swap").slots = slots;
        let mut ops = vec![anon(2), write(0, 0, 2)];
        ops.extend(swap_out(2));
        ops.extend([end(0), read(0, 0, 1)]);
        let r = run(&c, vec![member("t", ops)]);
        assert_eq!(gauge(&r.phases[0].gauges, "nr_swap_used"), 2);
        gauge(&r.gauges, "nr_swap_used")
    };
    // Two of three slots used: less than half are free. Of four: just half.
    assert_eq!(used_after_read(3), 1);
    assert_eq!(used_after_read(4), 2);
}

/// 1500 pages go out to two devices without a priority, which hold 2047 each. In order the first
/// takes all. Equal devices take turns cluster by cluster, the first of each without its header.
#[test]
fn swap_priorities_equal() {
    let mut c = config(Kernel::V7_3, "ramdisk");
    c.swap[0].slots = 4 * 512 - 1;
    c.swap.push(c.swap[0].clone());
    let c = ruled(c, "swap-slots", "clusters-6.18");
    let ops = vec![anon(1500), write(0, 0, 1500), advise(0, 0, 1500, Advice::PageOut)];
    let [in_order, equal] = ["no", "yes"].map(|v| {
        let c = ruled(c.clone(), "swap-priorities-equal", v);
        let mut m = machine(&c, vec![task("t", ops.clone())]);
        let run = m.run(Watch::default().with_check_every(97));
        run.swaps.iter().map(|s| (s.priority, s.used)).collect::<Vec<_>>()
    });
    assert_eq!(in_order, [(-2, 1500), (-3, 0)]);
    assert_eq!(equal, [(-1, 511 + 478), (-1, 511)]);
}

/// Two zram devices of 40 MiB take what `MADV_PAGEOUT` sends out, 16 pages at a time up to 2,048 and
/// then 256: what `/proc/swaps` says is what kernels print, to the slot.
#[test]
fn several_devices_fill_as_recorded() {
    let recorded = include_str!("../../evidence/swap-devices.csv");
    let mut lines: Vec<Vec<&str>> =
        recorded.lines().skip(3).map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 2 * 3 * 79);
    for (kernel, priority) in [
        (Kernel::V6_12, None),
        (Kernel::V6_12, Some(5)),
        (Kernel::V6_18, None),
        (Kernel::V6_18, Some(5)),
        (Kernel::V7_3, None),
        (Kernel::V7_3, Some(5)),
    ] {
        let given = priority.map_or(String::new(), |p: u32| p.to_string());
        let (these, others): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|l| l[0] == kernel.name() && l[1] == given);
        lines = others;
        let mut c = config(kernel, "ramdisk");
        c.nodes[0].zones[0].managed = 20_000;
        let slots = (40 << 20) / 4096 - 1;
        let device = SwapConfig { priority, ..SwapConfig::new(slots, c.swap[0].device.clone()) };
        c.swap = vec![device.clone(), device];
        let mut ops = vec![anon(15_000), write(0, 0, 15_000)];
        let ends: Vec<u32> = (16..=2048).step_by(16).chain((2304..=14_080).step_by(256)).collect();
        let mut at = 0;
        for &to in &ends {
            ops.extend([advise(0, at, to - at, Advice::PageOut), end(0)]);
            at = to;
        }
        let shown = Arc::new(Mutex::new(Vec::new()));
        let sink = shown.clone();
        let note: SnapshotFn = Box::new(move |phase, s| {
            if phase.is_some() {
                sink.lock().unwrap().push(s.swaps.clone());
            }
        });
        machine(&c, vec![member("t", ops)]).run(Watch::default().with_snapshot(note));
        let shown = shown.lock().unwrap();
        assert_eq!(shown.len(), ends.len());
        for line in these {
            let swaps = &shown[ends.iter().position(|n| n.to_string() == line[2]).expect("an end")];
            let of = |a: &SwapArea| [i64::from(a.priority), i64::from(a.used) * 4];
            let had = swaps.iter().flat_map(of).map(|n| n.to_string()).collect::<Vec<_>>();
            assert_eq!(had, line[3..], "{line:?}");
        }
    }
    assert!(lines.is_empty(), "{lines:?}");
}

/// Activations by one swap-in on 5.5 with batches of 15: `pgactivate`, and pages on the active list
/// once the batches are empty.
fn activated_by_swapin(page_cluster: u32) -> [u64; 2] {
    let mut c = config(Kernel::V5_5, "ssd");
    c.lru_batch = Some(15);
    c.vm.page_cluster = page_cluster;
    let mut ops = vec![anon(30), write(0, 0, 30)];
    ops.extend(swap_out(30));
    // Unmapping another region drains the batches.
    let other = crate::support::map(
        1,
        1,
        mmsim::workload::MapKind::Anon,
        mmsim::workload::VmaFlags::default(),
    );
    ops.extend([end(0), read(0, 10, 1), other, unmap(1), end(1)]);
    let r = run(&c, vec![member("t", ops)]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_anon_pages"), 0);
    let [pgactivate] = phase_counts(&r.phases[1], ["pgactivate"]);
    [pgactivate, gauge(&r.phases[1].gauges, "nr_active_anon")]
}

/// Activation after a swap-in needs a listed page. A readahead window drains the batch
/// before the page is mapped; a single page still waits in it, and stays inactive. This
/// alone halves what the published series gains on RAM swap.
#[test]
fn an_activation_that_comes_before_the_list_is_lost() {
    assert_eq!(activated_by_swapin(3), [1, 1]);
    assert_eq!(activated_by_swapin(0), [0, 0]);
}

#[test]
fn windows_by_address_follow_hits_and_neighbours() {
    let mut c = config(Kernel::V6_12, "ssd");
    c.vm.page_cluster = 3;
    let mut ops = vec![anon(600), write(0, 0, 512)];
    ops.extend(swap_out(512));
    ops.push(end(0));
    // Windows around the page: 8 (four hits to begin with), then halves down
    // to 1, 2 for a neighbour; 402 was read ahead and is a hit, so 4 from 403 on.
    for (i, page) in [100, 200, 300, 350, 400, 401, 402, 403].into_iter().enumerate() {
        ops.extend([read(0, page, 1), end(1 + i as u16)]);
    }
    let r = run(&c, vec![member("t", ops)]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_anon_pages"), 0);
    let read: Vec<u64> = r.phases[1..].iter().map(|p| phase_counts(p, ["pswpin"])[0]).collect();
    assert_eq!(read, [8, 4, 2, 1, 1, 2, 0, 4]);
    assert_eq!(counts(&r, ["swap_ra", "swap_ra_hit"]), [7 + 3 + 1 + 1 + 3, 1]);
    assert_eq!(count(&r, "pgmajfault"), 7);
}

#[test]
fn a_compressed_store_takes_memory_of_the_machine() {
    let mut c = config(Kernel::V6_12, "zram");
    c.cost.t_hit = SimDuration::from_nanos(100);
    let mut ops = vec![anon(100), write(0, 0, 100), end(0)];
    ops.extend(swap_out(100));
    ops.push(end(1));
    let r = run(&c, vec![member("t", ops)]);
    let [before, after] = [0, 1].map(|i| gauge(&r.phases[i].gauges, "nr_free_pages"));
    // 1950 bytes a page: 100 of them fill 47.6 frames. Nodes of the swap map take a frame.
    let g = &r.phases[1].gauges;
    assert_eq!(gauge(g, "nr_zram_store"), 48);
    assert_eq!(gauge(g, "nr_slab_reclaimable"), 1);
    assert_eq!(after, before + 100 - 48 - 1);
}

/// A device that serves one request at a time, each for a millisecond, and takes `queue_depth`.
fn slow(queue_depth: u32) -> MachineConfig {
    let mut c = config(Kernel::V6_12, "ssd");
    let device = &mut c.swap.first_mut().expect("it has swap").device;
    (device.write, device.servers) = (SimDuration::from_millis(1), 1);
    (device.bandwidth, device.write_bandwidth) = (None, None);
    (device.queue_depth, device.wbt_lat) = (queue_depth, SimDuration::ZERO);
    c
}

/// By hand: 400 pages go out in slots side by side, so in requests of 128, 128, 128 and 16 pages.
/// If the device takes one at a time, the last is let in when three have ended, so its writer has
/// slept for 3 ms, but for its work on 272 pages meanwhile, a microsecond or two each; if it takes
/// four, no writer sleeps.
#[test]
fn a_writer_sleeps_until_the_device_takes_its_request() {
    let slept = |queue_depth| {
        let out = advise(0, 0, 400, Advice::PageOut);
        let ops = vec![anon(400), write(0, 0, 400), out, sleep_ms(9)];
        let r = run(&slow(queue_depth), vec![member("t", ops)]);
        assert_eq!(count(&r, "pswpout"), 400);
        r.threads[0].throttled
    };
    assert_eq!(slept(4), SimDuration::ZERO);
    let one = slept(1);
    assert!(SimDuration::from_micros(2_500) < one && one <= SimDuration::from_millis(3), "{one}");
}

/// More is written than memory holds, and the device is slower than reclaim. If it takes any number
/// of requests, all of memory is under write in the end, and reclaim goes round and round in pages
/// that it cannot free; if a writer of more than two sleeps, little is, and reclaim finds writes
/// that end. Recorded kernels do not scan more for a slow device
/// (crates/mmsim-lab/tests/suite/async_reclaim.rs).
#[test]
fn reclaim_does_not_go_round_in_what_is_under_write() {
    let run = |queue_depth| {
        let ops = vec![anon(4000), write(0, 0, 4000)];
        run(&slow(queue_depth), vec![member("t", ops)])
    };
    let [few, any] = [2, 65_536].map(|depth| counts(&run(depth), ["pgscan_anon", "pswpout"]));
    assert!(2 * few[0] < any[0] && few[1] < any[1], "{few:?} {any:?}");
}
