//! Faults, mappings, advice.

use crate::support::*;
use mmsim::config::Kernel;
use mmsim::workload::{Advice, MapKind, Op, VmaFlags};

const SEQ: VmaFlags = VmaFlags { seq_read: true, ..VmaFlags::NONE };
const RANDOM: VmaFlags = VmaFlags { rand_read: true, ..VmaFlags::NONE };
const LOCKED: VmaFlags = VmaFlags { locked: true, ..VmaFlags::NONE };

#[test]
fn a_read_of_untouched_memory_maps_the_zero_page() {
    let ops = vec![anon(10), read(0, 3, 1), end(0), write(0, 3, 1), write(0, 3, 1)];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![task("t", ops)]);
    // One frame for the page table, none for the page.
    assert_eq!(gauge(&r.phases[0].gauges, "nr_anon_pages"), 0);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_free_pages"), 2047);
    assert_eq!(counts(&r, ["pgfault", "pgmajfault"]), [2, 0]);
    assert_eq!(gauge(&r.gauges, "nr_anon_pages"), 1);
}

#[test]
fn each_first_write_fills_one_page_and_hits_count_nothing() {
    let ops = vec![anon(100), write(0, 0, 100), write(0, 0, 100), read(0, 0, 100)];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![task("t", ops)]);
    assert_eq!(counts(&r, ["pgfault", "pgmajfault", "sim_accesses"]), [100, 0, 300]);
    assert_eq!(gauge(&r.gauges, "nr_inactive_anon"), 100);
}

#[test]
fn a_page_table_takes_a_frame_per_512_pages() {
    let ops = vec![anon(2000), read(0, 0, 1), read(0, 511, 1), read(0, 512, 1), read(0, 1999, 1)];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![task("t", ops)]);
    assert_eq!(gauge(&r.gauges, "nr_page_table_pages"), 3);
    assert_eq!(gauge(&r.gauges, "nr_free_pages"), 2045);
}

#[test]
fn a_write_to_a_private_file_page_copies_it() {
    let ops = vec![file(0, 8, false, VmaFlags::default()), read(0, 2, 1), write(0, 2, 1)];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![task("t", ops)]);
    assert_eq!(counts(&r, ["pgfault", "pgmajfault", "nr_dirtied"]), [2, 1, 0]);
    let g = ["nr_anon_pages", "nr_file_pages", "nr_mapped"].map(|n| gauge(&r.gauges, n));
    assert_eq!(g, [1, 1, 0]);
}

/// Two processes that map one file: the second finds the page in the cache.
fn sharers(flags: VmaFlags) -> mmsim::machine::result::RunResult {
    let a = vec![file(0, 8, true, flags), read(0, 0, 1), sleep_ms(100)];
    let b = vec![
        file(0, 8, true, flags),
        sleep_ms(10),
        read(0, 0, 1),
        end(0),
        reclaim(1),
        end(1),
        sleep_ms(1),
    ];
    run(&config(Kernel::V6_12, "ssd"), vec![member("a", a), member("b", b)])
}

#[test]
fn references_of_a_shared_page_are_counted_per_mapping() {
    let r = sharers(VmaFlags::default());
    assert_eq!(counts(&r, ["pgfault", "pgmajfault"]), [2, 1]);
    // One young mapping would keep the page for another round; two activate it at once, and it goes
    // when reclaim finds nothing else.
    let names = ["pgscan_file", "pgactivate", "pgsteal_file"];
    assert_eq!(phase_counts(&r.phases[1], names), [2, 1, 1]);
}

#[test]
fn eviction_unmaps_a_page_from_all_processes() {
    let r = sharers(SEQ);
    let names = ["pgscan_file", "pgactivate", "pgsteal_file"];
    assert_eq!(phase_counts(&r.phases[1], names), [1, 0, 1]);
    assert_eq!(gauge(&r.phases[1].gauges, "nr_mapped"), 0);
    assert_eq!(gauge(&r.phases[1].gauges, "nr_file_pages"), 0);
}

#[test]
fn a_read_fault_maps_the_cached_neighbours() {
    let mut c = config(Kernel::V6_12, "ssd");
    c.vm.fault_around = 16;
    let ops = vec![pread(0, 64), file(0, 64, true, VmaFlags::default()), read(0, 5, 40)];
    let r = run(&c, vec![task("t", ops)]);
    // Pages 5 to 44 lie in the groups 0-15, 16-31 and 32-47.
    assert_eq!(counts(&r, ["pgfault", "pgmajfault"]), [3, 0]);
    assert_eq!(gauge(&r.gauges, "nr_mapped"), 48);
}

#[test]
fn a_flushed_page_is_write_protected_so_that_the_next_write_is_seen() {
    let ops = vec![
        file(0, 8, true, VmaFlags::default()),
        write(0, 0, 1),
        sleep_ms(40_000),
        end(0),
        write(0, 0, 1),
        end(1),
        sleep_ms(40_000),
    ];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![task("t", ops)]);
    assert_eq!(phase_counts(&r.phases[0], ["pgfault", "nr_dirtied", "nr_written"]), [1, 1, 1]);
    assert_eq!(phase_counts(&r.phases[1], ["pgfault", "nr_dirtied", "nr_written"]), [1, 1, 0]);
    assert_eq!(counts(&r, ["pgfault", "nr_dirtied", "nr_written"]), [2, 2, 2]);
}

#[test]
fn unmapping_gives_everything_back() {
    let ops = vec![
        anon(1000),
        write(0, 0, 600),
        read(0, 600, 400),
        end(0),
        unmap(0),
        end(1),
        sleep_ms(1),
    ];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![task("t", ops)]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_free_pages"), 2048 - 600 - 2);
    assert_eq!(gauge(&r.phases[1].gauges, "nr_free_pages"), 2048);
    assert_eq!(count(&r, "pgfree"), 602);
}

#[test]
fn a_process_that_exits_gives_everything_back() {
    let mut dies = vec![anon(300), write(0, 0, 300)];
    dies.extend(swap_out(100));
    dies.push(Op::Exit);
    let lives = vec![sleep_ms(5000), end(0), sleep_ms(1)];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![member("dies", dies), task("lives", lives)]);
    let g = ["nr_free_pages", "nr_swap_used", "nr_page_table_pages"];
    assert_eq!(g.map(|n| gauge(&r.phases[0].gauges, n)), [2048, 0, 0]);
    assert_eq!(stat(&r, 0, "memory.current") + stat(&r, 0, "memory.swap.current"), 0);
}

#[test]
fn dontneed_drops_the_page_and_keeps_the_mapping() {
    let ops =
        vec![anon(4), write(0, 0, 4), advise(0, 1, 2, Advice::DontNeed), end(0), read(0, 0, 4)];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![task("t", ops)]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_anon_pages"), 2);
    assert_eq!(counts(&r, ["pgfault", "pgmajfault"]), [6, 0]);
    assert_eq!(gauge(&r.gauges, "nr_anon_pages"), 2);
}

#[test]
fn cold_moves_active_pages_to_the_inactive_list() {
    // In 5.5 a new anonymous page starts active.
    let ops = vec![anon(20), write(0, 0, 20), end(0), advise(0, 0, 5, Advice::Cold)];
    let r = run(&config(Kernel::V5_5, "ssd"), vec![task("t", ops)]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_active_anon"), 20);
    assert_eq!(gauge(&r.gauges, "nr_active_anon"), 15);
    assert_eq!(gauge(&r.gauges, "nr_inactive_anon"), 5);
    assert_eq!(count(&r, "pgdeactivate"), 5);
}

#[test]
fn populating_twice_activates() {
    let populate = advise(0, 0, 10, Advice::PopulateRead);
    let ops = vec![file(0, 10, true, VmaFlags::default()), populate, end(0), populate];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![task("t", ops)]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_active_file"), 0);
    assert_eq!(gauge(&r.gauges, "nr_active_file"), 10);
    assert_eq!(counts(&r, ["pgfault", "pgactivate"]), [10, 10]);
}

#[test]
fn locked_memory_is_never_reclaimed() {
    let ops = vec![map(0, 10, MapKind::Anon, LOCKED), write(0, 0, 10), reclaim(10)];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![member("t", ops)]);
    assert_eq!(gauge(&r.gauges, "nr_unevictable"), 10);
    let names = ["unevictable_pgs_culled", "pgscan_anon", "pgsteal_anon"];
    assert_eq!(counts(&r, names), [10, 0, 0]);
}

#[test]
fn random_mappings_have_no_recency_after_6_1() {
    let used = |kernel| {
        let ops = vec![map(0, 1, MapKind::Anon, RANDOM), write(0, 0, 1), reclaim(1)];
        let r = run(&config(kernel, "ramdisk"), vec![member("t", ops)]);
        counts(&r, ["pgscan_anon", "pgsteal_anon"])
    };
    // 6.1 sees the accessed bit and keeps the page for another round.
    assert_eq!(used(Kernel::V6_1), [2, 1]);
    assert_eq!(used(Kernel::V6_12), [1, 1]);
}

#[test]
fn pages_reach_their_list_a_batch_at_a_time() {
    let listed = |kernel, batch| {
        let mut c = config(kernel, "ssd");
        c.lru_batch = batch;
        let r = run(&c, vec![task("t", vec![anon(40), write(0, 0, 40)])]);
        gauge(&r.gauges, "nr_inactive_anon")
    };
    assert_eq!(listed(Kernel::V6_12, Some(15)), 30);
    assert_eq!(listed(Kernel::V6_1, None), 30);
    assert_eq!(listed(Kernel::V6_12, None), 31);
}
