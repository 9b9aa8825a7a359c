//! madvise(2): memory freed lazily, paged out, read before it is needed.

use crate::support::*;
use mmsim::config::{Kernel, MachineConfig};
use mmsim::machine::result::RunResult;
use mmsim::workload::Advice::{self, Cold, DontNeed, Free, PageOut, WillNeed};
use mmsim::workload::{MapKind, Op, VmaFlags};

const KERNELS: [Kernel; 5] =
    [Kernel::V5_5, Kernel::V5_8, Kernel::V5_9, Kernel::V6_1, Kernel::V6_12];
const LISTS: [&str; 4] =
    ["nr_inactive_anon", "nr_active_anon", "nr_inactive_file", "nr_active_file"];

/// `pages` anonymous pages, written once, then what `then` says.
fn written(config: &MachineConfig, pages: u32, then: Vec<Op>) -> RunResult {
    let mut ops = vec![anon(pages), write(0, 0, pages)];
    ops.extend(then);
    run(config, vec![member("t", ops)])
}

fn all(pages: u32, advice: Advice) -> Op {
    advise(0, 0, pages, advice)
}

fn lists(r: &RunResult, phase: usize) -> [u64; 4] {
    LISTS.map(|l| gauge(&r.phases[phase].gauges, l))
}

#[test]
fn lazily_freed_pages_are_listed_with_files_and_dropped_without_swap() {
    for kernel in KERNELS {
        let mut c = config(kernel, "ramdisk");
        c.swap.clear();
        let r =
            written(&c, 4, vec![all(4, Free), end(0), reclaim(4), end(1), write(0, 0, 4), end(2)]);
        assert_eq!(phase_counts(&r.phases[0], ["pglazyfree", "pgfree"]), [4, 0], "{kernel:?}");
        assert_eq!(lists(&r, 0), [0, 0, 4, 0]);
        assert_eq!(gauge(&r.phases[0].gauges, "nr_anon_pages"), 4);
        let dropped = ["pglazyfreed", "pgsteal_file", "pgscan_file", "pgactivate", "pgfree"];
        assert_eq!(phase_counts(&r.phases[1], dropped), [4, 4, 4, 0, 4]);
        assert_eq!(gauge(&r.phases[1].gauges, "nr_anon_pages"), 0);
        // What comes after is memory never used before.
        let after = ["pgfault", "pgmajfault", "workingset_refault_anon", "workingset_refault_file"];
        assert_eq!(phase_counts(&r.phases[2], after), [4, 0, 0, 0]);
        assert_eq!(count(&r, "pswpout"), 0);
    }
}

#[test]
fn a_page_written_after_it_was_freed_is_kept() {
    let c = config(Kernel::V6_12, "ramdisk");
    let mut ops = vec![all(2, Free), write(0, 0, 1), end(0)];
    // Its accessed bit is passed over, not so what it wrote.
    ops.extend([all(2, PageOut), end(1), read(0, 0, 1), end(2), all(2, PageOut), end(3)]);
    let r = written(&c, 2, ops);
    assert_eq!(phase_counts(&r.phases[0], ["pglazyfree", "pgfault"]), [2, 2]);
    let fate = ["pglazyfreed", "pgactivate", "pswpout"];
    assert_eq!(phase_counts(&r.phases[1], fate), [1, 1, 0]);
    // Ordinary memory again, on the list of active memory, and still mapped.
    assert_eq!(lists(&r, 1), [0, 1, 0, 0]);
    assert_eq!(phase_counts(&r.phases[2], ["pgfault"]), [0]);
    assert_eq!(phase_counts(&r.phases[3], fate), [0, 0, 1]);
}

#[test]
fn a_page_that_was_only_read_keeps_another_round() {
    let c = config(Kernel::V6_12, "ramdisk");
    let looks = |then: Op| {
        let r = written(&c, 2, vec![all(2, Free), then, reclaim(2)]);
        counts(&r, ["pgscan_file", "pglazyfreed"])
    };
    assert_eq!(looks(read(0, 0, 1)), [3, 2]);
    assert_eq!(looks(all(2, Cold)), [2, 2]);
}

#[test]
fn freeing_again_counts_nothing_and_undoes_the_write() {
    let c = config(Kernel::V6_12, "ramdisk");
    let ops = vec![all(3, Free), write(0, 0, 3), all(3, Free), end(0), reclaim(3)];
    let r = written(&c, 3, ops);
    assert_eq!(counts(&r, ["pglazyfree", "pglazyfreed", "pgactivate"]), [3, 3, 0]);
}

#[test]
fn a_batch_moves_when_it_is_full() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.lru_batch = None;
    // 31 go at once; 9 are moved when the batch is drained next.
    let r = written(&c, 40, vec![all(40, Free), end(0), all(1, DontNeed), end(1)]);
    assert_eq!(lists(&r, 0), [9, 0, 31, 0]);
    assert_eq!(lists(&r, 1), [0, 0, 39, 0]);
    assert_eq!(count(&r, "pglazyfree"), 40);
}

#[test]
fn what_is_in_swap_goes_at_once() {
    for device in ["ramdisk", "ssd"] {
        let c = config(Kernel::V6_12, device);
        let mut ops = swap_out(3);
        ops.extend([end(0), all(3, Free), end(1), write(0, 0, 3), end(2)]);
        let r = written(&c, 3, ops);
        assert_eq!(gauge(&r.phases[0].gauges, "nr_swap_used"), 3, "{device}");
        assert_eq!(gauge(&r.phases[1].gauges, "nr_swap_used"), 0);
        assert_eq!(phase_counts(&r.phases[2], ["pgfault", "pgmajfault", "pswpin"]), [3, 0, 0]);
        assert_eq!(counts(&r, ["pglazyfree", "workingset_refault_anon"]), [0, 0]);
    }
}

#[test]
fn a_copy_in_the_swap_cache_is_given_up() {
    let c = config(Kernel::V6_12, "ssd");
    let mut ops = swap_out(1);
    ops.extend([read(0, 0, 1), end(0), all(1, Free), end(1), reclaim(1), end(2)]);
    let r = written(&c, 1, ops);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_swapcached"), 1);
    let used = ["nr_swapcached", "nr_swap_used"].map(|g| gauge(&r.phases[1].gauges, g));
    assert_eq!(used, [0, 0]);
    assert_eq!(phase_counts(&r.phases[2], ["pglazyfreed", "pswpout"]), [1, 0]);
}

#[test]
fn a_page_under_write_is_not_freed() {
    let c = config(Kernel::V6_12, "ssd");
    let ops = vec![all(1, PageOut), read(0, 0, 1), all(1, Free), end(0)];
    let r = written(&c, 1, ops);
    assert_eq!(count(&r, "pglazyfree"), 0);
    assert_eq!(lists(&r, 0)[2], 0);
}

#[test]
fn lazily_freed_pages_can_be_dropped_by_their_owner() {
    for kernel in KERNELS {
        let c = config(kernel, "ramdisk");
        let r =
            written(&c, 6, vec![all(6, Free), advise(0, 0, 2, DontNeed), end(0), unmap(0), end(1)]);
        assert_eq!(lists(&r, 0), [0, 0, 4, 0]);
        assert_eq!(lists(&r, 1), [0, 0, 0, 0]);
        assert_eq!(count(&r, "pglazyfreed"), 0);
        // The end of a process, with the rest still waiting in a batch.
        let mut c = config(kernel, "ramdisk");
        c.lru_batch = None;
        let other = task("other", vec![sleep_ms(5)]);
        let ops = vec![anon(20), write(0, 0, 20), all(20, Free), Op::Exit];
        let r = run(&c, vec![task("t", ops), other]);
        assert_eq!(gauge(&r.gauges, "nr_anon_pages"), 0);
    }
}

#[test]
fn advice_that_the_kernel_refuses_changes_nothing() {
    let c = config(Kernel::V6_12, "ramdisk");
    let locked = VmaFlags { locked: true, ..VmaFlags::default() };
    let ops = vec![
        file(1, 4, true, VmaFlags::default()),
        read(1, 0, 4),
        advise(1, 0, 4, Free),
        map(2, 4, MapKind::Anon, locked),
        write(2, 0, 4),
        advise(2, 0, 4, Free),
        advise(2, 0, 4, Cold),
        advise(2, 0, 4, PageOut),
        end(0),
    ];
    let r = run(&c, vec![task("t", ops)]);
    assert_eq!(counts(&r, ["pglazyfree", "pswpout", "pgdeactivate"]), [0, 0, 0]);
    assert_eq!(gauge(&r.gauges, "nr_unevictable"), 4);
    assert_eq!(lists(&r, 0), [0, 0, 4, 0]);
}

#[test]
fn paging_out_is_no_scan() {
    for kernel in KERNELS {
        let c = config(kernel, "ramdisk");
        let r = written(&c, 5, vec![advise(0, 1, 3, PageOut), end(0), read(0, 0, 5), end(1)]);
        let scans = ["pgscan_direct", "pgscan_anon", "pgsteal_direct", "pgsteal_anon"];
        assert_eq!(phase_counts(&r.phases[0], scans), [0; 4], "{kernel:?}");
        assert_eq!(phase_counts(&r.phases[0], ["pswpout", "pgfree"]), [3, 3]);
        assert_eq!(phase_counts(&r.phases[1], ["pgmajfault", "pswpin"]), [3, 3]);
        // They were evicted like any other: a refault, where the kernel sees anonymous ones.
        let refaults = if kernel >= Kernel::V5_9 { 3 } else { 0 };
        assert_eq!(count(&r, "workingset_refault_anon"), refaults);
    }
}

#[test]
fn what_cannot_be_paged_out_is_put_back() {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.swap.clear();
    let r = written(&c, 3, vec![all(3, PageOut), end(0), read(0, 0, 3), end(1)]);
    assert_eq!(lists(&r, 0), [0, 3, 0, 0]);
    assert_eq!(phase_counts(&r.phases[1], ["pgfault"]), [0]);
    // A clean page of a file goes, a dirty one is the flusher's, one that two map is left.
    let c = config(Kernel::V6_12, "ramdisk");
    let plain = VmaFlags::default();
    let ops = vec![
        file(1, 3, true, plain),
        file(2, 1, true, plain),
        read(1, 0, 3),
        write(1, 1, 1),
        read(2, 0, 1),
        advise(1, 0, 3, PageOut),
        end(0),
    ];
    let r = run(&c, vec![task("t", ops)]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_file_pages"), 2);
    assert_eq!(counts(&r, ["pgactivate", "nr_vmscan_immediate_reclaim"]), [1, 1]);
}

#[test]
fn paging_out_to_a_device_with_a_queue_takes_two_calls() {
    let c = config(Kernel::V6_12, "ssd");
    let ops =
        vec![all(2, PageOut), end(0), sleep_ms(5), all(2, PageOut), end(1), reclaim(2), end(2)];
    let r = written(&c, 2, ops);
    assert_eq!(phase_counts(&r.phases[0], ["pswpout", "pgfree"]), [2, 0]);
    // They are mapped nowhere: the second call does not find them, a scan does.
    assert_eq!(phase_counts(&r.phases[1], ["pswpout", "pgfree"]), [0, 0]);
    assert_eq!(phase_counts(&r.phases[2], ["pgsteal_anon", "pgfree"]), [2, 2]);
}

#[test]
fn pages_in_swap_are_read_before_they_are_needed() {
    for device in ["ramdisk", "ssd"] {
        let c = config(Kernel::V6_12, device);
        let mut ops = swap_out(6);
        ops.extend([end(0), all(6, WillNeed), end(1), sleep_ms(50), read(0, 0, 6), end(2)]);
        let r = written(&c, 6, ops);
        let io = ["pgfault", "pgmajfault", "pswpin"];
        assert_eq!(phase_counts(&r.phases[1], io), [0, 0, 6], "{device}");
        assert_eq!(gauge(&r.phases[1].gauges, "nr_swapcached"), 6);
        assert_eq!(phase_counts(&r.phases[2], io), [6, 0, 0]);
        assert_eq!(count(&r, "workingset_refault_anon"), 6);
    }
}

#[test]
fn pages_of_a_file_are_read_before_they_are_needed() {
    let c = config(Kernel::V6_12, "ramdisk");
    let plain = VmaFlags::default();
    let ops = vec![
        file(1, 600, true, plain),
        advise(1, 100, 500, WillNeed),
        end(0),
        sleep_ms(50),
        read(1, 100, 320),
        end(1),
    ];
    let r = run(&c, vec![task("t", ops)]);
    // One request of a block device, no more.
    assert_eq!(gauge(&r.phases[0].gauges, "nr_file_pages"), 320);
    assert_eq!(phase_counts(&r.phases[1], ["pgfault", "pgmajfault"]), [320, 0]);
}

/// F2 of the worked examples: a call reads up to the largest request of the device, or up to the
/// readahead window if that is larger, however long the range is.
#[test]
fn one_call_reads_the_largest_request_of_a_file() {
    for (kernel, max_sectors_kb, read) in [
        (Kernel::V6_12, 0, 320),
        (Kernel::V6_18, 0, 1024),
        (Kernel::V7_3, 2048, 512),
        (Kernel::V6_12, 64, 32),
    ] {
        let mut c = config(kernel, "ramdisk");
        c.vm.ra_pages = 32;
        c.file_device.max_sectors_kb = max_sectors_kb;
        let pages = FILE_PAGES;
        let ops = vec![file(0, pages, true, VmaFlags::default()), all(pages, WillNeed), end(0)];
        let r = run(&c, vec![task("t", ops)]);
        assert_eq!(count(&r, "pgpgin"), 4 * read, "{kernel:?}, {max_sectors_kb} KiB");
        assert_eq!(gauge(&r.phases[0].gauges, "nr_file_pages"), read);
    }
}
