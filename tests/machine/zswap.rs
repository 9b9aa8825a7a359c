//! zswap: what it stores, gives back, refuses and writes back, in scripts with exact counters.
//!
//! Pages of 3700 bytes take a frame of the pool each, so that its limit counts pages.

use crate::support::*;
use crate::zram::{holding, of_length};
use mmsim::backing::contents::Contents;
use mmsim::base::id::MemcgId;
use mmsim::base::vmstat::VmEvent;
use mmsim::config::{Kernel, MachineConfig, ZswapConfig};
use mmsim::machine::result::{Outcome, RunResult};
use mmsim::machine::{SnapshotFn, TaskConfig, Watch};
use mmsim::workload::{Advice, Op};
use std::sync::{Arc, Mutex};

/// zswap before an SSD, with a pool of `percent` of 2048 frames.
fn zswap(kernel: Kernel, percent: u32) -> MachineConfig {
    let config = config(kernel, "ssd");
    let zswap = ZswapConfig { max_pool_percent: percent, ..ZswapConfig::linux() };
    MachineConfig { zswap: Some(zswap), ..config }
}

/// A task of the group whose pages hold this.
fn of_group(contents: Contents, ops: Vec<Op>) -> Vec<TaskConfig> {
    vec![member("t", ops).with_contents(Some(Arc::new(contents)))]
}

fn out(first: u32, pages: u32) -> Op {
    advise(0, first, pages, Advice::PageOut)
}

/// Zeros alone.
fn zeros() -> Contents {
    Contents { zero_permille: 1000, lengths: Vec::new(), ..of_length(1) }
}

/// A page goes out twice and comes back twice, and no thread writes it.
fn read_only_cycle(config: &MachineConfig) -> [u64; 4] {
    let mut ops = vec![anon(1), write(0, 0, 1)];
    for _ in 0..2 {
        ops.extend([advise(0, 0, 1, Advice::Cold), reclaim(1), read(0, 0, 1)]);
    }
    let r = run(config, of_group(of_length(1000), ops));
    counts(&r, ["zswpout", "zswpin", "pswpout", "pswpin"])
}

/// The specification's example: zswap gives its copy up, so the page is compressed again. A disk
/// keeps it in its slot. zram frees the slot.
#[test]
fn a_page_that_is_only_read_is_compressed_again() {
    for kernel in [Kernel::V6_12, Kernel::V6_18, Kernel::V7_3] {
        assert_eq!(read_only_cycle(&zswap(kernel, 20)), [2, 2, 0, 0]);
        assert_eq!(read_only_cycle(&config(kernel, "ssd")), [0, 0, 1, 2]);
        assert_eq!(read_only_cycle(&config(kernel, "zram")), [0, 0, 2, 2]);
    }
}

/// A store is done at once, so one scan is enough. The pool takes the frames of its zspages, the
/// slots stay in use, and nothing is left when the pages are back.
#[test]
fn stored_pages_take_the_frames_of_their_zspages() {
    let ops = vec![anon(1000), write(0, 0, 1000), out(0, 1000), end(0), read(0, 0, 1000), end(1)];
    let r = run(&zswap(Kernel::V6_12, 50), holding(of_length(1365), ops));
    let names = ["zswap_pool_pages", "zswap_stored_pages", "nr_swap_used", "nr_zram_store"];
    let gauges = |i: usize| names.map(|name| gauge(&r.phases[i].gauges, name));
    assert_eq!(gauges(0), [352, 1000, 1000, 0]);
    assert_eq!(gauges(1)[..2], [0, 0]);
    assert_eq!(counts(&r, ["nr_vmscan_write", "pswpout", "pswpin"]), [1000, 0, 0]);
    assert_eq!(counts(&r, ["zswpout", "zswpin", "pgmajfault"]), [1000; 3]);
}

/// A process that ends takes its entries along, and no counter tells of it.
#[test]
fn entries_go_with_their_slots() {
    let ops = vec![anon(100), write(0, 0, 100), out(0, 100), unmap(0), end(0)];
    let r = run(&zswap(Kernel::V6_12, 50), holding(of_length(1365), ops));
    assert_eq!(gauge(&r.phases[0].gauges, "zswap_pool_pages"), 0);
    assert_eq!(counts(&r, ["zswpout", "zswpin", "zswpwb", "pswpout"]), [100, 0, 0, 0]);
}

/// Pages of zeros are marks, with zswap and without, from 6.12 on.
#[test]
fn pages_of_zeros_go_nowhere() {
    let cycle = |config: &MachineConfig| {
        let ops = vec![anon(10), write(0, 0, 10), out(0, 10), read(0, 0, 10)];
        let r = run(config, holding(zeros(), ops));
        counts(&r, ["swpout_zero", "swpin_zero", "zswpout", "pswpout"])
    };
    assert_eq!(cycle(&zswap(Kernel::V6_12, 20)), [10, 10, 0, 0]);
    assert_eq!(cycle(&config(Kernel::V6_12, "ramdisk")), [10, 10, 0, 0]);
    assert_eq!(cycle(&config(Kernel::V6_1, "ramdisk")), [0, 0, 0, 10]);
}

/// Pages that do not compress: 6.12 refuses them, 6.18 keeps them as they are.
#[test]
fn incompressible_pages_are_refused_or_kept_raw() {
    let stored = |kernel| {
        let ops = vec![anon(10), write(0, 0, 10), out(0, 10), end(0)];
        let r = run(&zswap(kernel, 20), holding(of_length(4096), ops));
        let raw = gauge(&r.phases[0].gauges, "zswap_stored_incompressible_pages");
        let [out, device, failed] =
            counts(&r, ["zswpout", "pswpout", "sim_zswap_reject_compress_fail"]);
        [out, device, failed, raw]
    };
    assert_eq!(stored(Kernel::V6_12), [0, 10, 10, 0]);
    assert_eq!(stored(Kernel::V6_18), [10, 0, 0, 10]);
}

/// zswap that is not enabled leaves all to the device.
#[test]
fn what_is_not_enabled_stores_nothing() {
    let mut c = zswap(Kernel::V6_12, 20);
    c.zswap.as_mut().expect("it is there").enabled = false;
    let ops = vec![anon(10), write(0, 0, 10), out(0, 10)];
    let r = run(&c, holding(of_length(1000), ops));
    assert_eq!(counts(&r, ["zswpout", "pswpout"]), [0, 10]);
}

/// Readahead pulls neighbours out of the pool: each is a load and a page read ahead.
#[test]
fn readahead_empties_the_pool_too() {
    let mut c = zswap(Kernel::V6_12, 20);
    c.vm.page_cluster = 3;
    let ops = vec![anon(64), write(0, 0, 64), out(0, 64), read(0, 32, 1), end(0)];
    let r = run(&c, holding(of_length(1000), ops));
    assert_eq!(counts(&r, ["zswpin", "swap_ra", "pgmajfault", "pswpin"]), [8, 7, 1, 0]);
    assert_eq!(gauge(&r.phases[0].gauges, "zswap_stored_pages"), 56);
}

/// A pool of 20 frames that is full, then three pages that come too late, a while apart each.
fn full_pool(config: &MachineConfig) -> RunResult {
    let mut ops = vec![anon(23), write(0, 0, 23), out(0, 20), sleep_ms(1), end(0)];
    for late in 20..23 {
        ops.extend([out(late, 1), sleep_ms(10), end(late as u16 - 19)]);
    }
    run(config, of_group(of_length(3700), ops))
}

/// By the rules of the worker, for one group of 20 referenced entries. Up to 6.18 a run looks at one
/// entry after the other, and gives up after 16 that it may not write. So the first refused page
/// costs 16 bits. The second costs the other four, and then two entries are written: the pool is
/// down to its threshold, 18. The third page is stored.
/// From 7.3 on the first visit looks at 32 entries: it clears 20 bits and writes 12 entries.
#[test]
fn a_full_pool_refuses_pages_until_the_worker_has_cleared_bits() {
    let names = ["zswpout", "zswpwb", "pswpout", "sim_zswap_pool_limit_hit"];
    let phases = |kernel| {
        let r = full_pool(&zswap(kernel, 1));
        [0, 1, 2, 3].map(|i| phase_counts(&r.phases[i], names))
    };
    let slow = [[20, 0, 0, 0], [0, 0, 1, 1], [0, 2, 3, 1], [1, 0, 0, 0]];
    assert_eq!(phases(Kernel::V6_12), slow);
    assert_eq!(phases(Kernel::V6_18), slow);
    let fast = [[20, 0, 0, 0], [0, 12, 13, 1], [1, 0, 0, 0], [1, 0, 0, 0]];
    assert_eq!(phases(Kernel::V7_3), fast);
}

/// The specification's example, twice: a page that is written back is a refault, goes to the end of
/// its list when its write ends, and goes with the next scan. Reclaim did not begin its write.
#[test]
fn a_page_that_is_written_back_refaults_and_rotates() {
    let r = full_pool(&zswap(Kernel::V6_18, 1));
    let names =
        ["zswpwb", "workingset_refault_anon", "pgrotated", "nr_vmscan_write", "pgscan_anon"];
    // The refused page is scanned, under write, and rotated itself; it went out with `PAGEOUT`.
    let [wrote, refaults, rotated, begun, _] = phase_counts(&r.phases[2], names);
    assert_eq!([wrote, refaults, begun], [2, 2, 1]);
    assert!(rotated >= 2, "{rotated}");
    let g = &r.phases[2].gauges;
    assert_eq!(gauge(g, "zswap_stored_pages"), 18);
}

// ---- one witness for each rule, as in `rules` ----

/// Counters of a run under two values of a rule.
fn under<const N: usize>(
    c: &MachineConfig,
    (rule, values): (&str, [&str; 2]),
    contents: &Contents,
    (ops, names): (&[Op], [&str; N]),
) -> [[u64; N]; 2] {
    values.map(|value| {
        let r = run(&ruled(c.clone(), rule, value), of_group(contents.clone(), ops.to_vec()));
        counts(&r, names)
    })
}

/// Pages of zeros are written, or marked.
#[test]
fn swap_zeromap() {
    let c = config(Kernel::V6_12, "ramdisk");
    let ops = [anon(10), write(0, 0, 10), out(0, 10)];
    let (rule, names) = (("swap-zeromap", ["no", "yes"]), ["pswpout", "swpout_zero"]);
    assert_eq!(under(&c, rule, &zeros(), (&ops, names)), [[10, 0], [0, 10]]);
}

/// Pages that do not compress go to the device, or stay in the pool as they are.
#[test]
fn zswap_incompressible() {
    let ops = [anon(10), write(0, 0, 10), out(0, 10)];
    let (rule, names) = (("zswap-incompressible", ["reject", "raw"]), ["pswpout", "zswpout"]);
    let c = zswap(Kernel::V6_12, 20);
    assert_eq!(under(&c, rule, &of_length(4096), (&ops, names)), [[10, 0], [0, 10]]);
}

/// A visit that looks at 20 entries and more clears the bits of 20, and writes.
#[test]
fn zswap_limit_batch() {
    let ops = [anon(21), write(0, 0, 21), out(0, 20), sleep_ms(1), out(20, 1), sleep_ms(9)];
    let (rule, names) = (("zswap-limit-batch", ["1", "32"]), ["zswpwb"]);
    let c = zswap(Kernel::V6_12, 1);
    assert_eq!(under(&c, rule, &of_length(3700), (&ops, names)), [[0], [12]]);
}

/// Without groups the worker of 6.18 has no turn: nothing is ever written back.
#[test]
fn zswap_worker_without_memcg() {
    let mut c = zswap(Kernel::V6_12, 1);
    c.memcgs.clear();
    let mut ops = vec![anon(60), write(0, 0, 60), out(0, 20)];
    ops.extend((20..60).flat_map(|late| [out(late, 1), sleep_ms(10)]));
    let wrote = |value| {
        let c = ruled(c.clone(), "zswap-worker-without-memcg", value);
        counts(&run(&c, holding(of_length(3700), ops.clone())), ["zswpwb"])[0] > 0
    };
    assert_eq!(["no", "yes"].map(wrote), [false, true]);
}

// ---- groups ----

/// A group with this limit of pages in zswap, and entries of 1000 pages that just reach it. Then
/// pages go out one by one.
fn at_limit(kernel: Kernel, more: u32) -> RunResult {
    let mut c = zswap(kernel, 50);
    c.nodes[0].zones = vec![zone(4096)];
    c.memcgs[0].zswap_max = Some(256);
    let mut ops = vec![anon(1000 + more), write(0, 0, 1000 + more), out(0, 1000), end(0)];
    ops.extend((1000..1000 + more).flat_map(|late| [out(late, 1), sleep_ms(1)]));
    ops.push(end(1));
    run(&c, of_group(of_length(1049), ops))
}

/// The specification's example. Up to 6.18 each refused page costs the bit of one entry, so 1000
/// pages go to the disk before the 1001st has room. From 7.3 on it costs 32 bits: the 32nd page finds
/// the last eight and 24 entries to write.
#[test]
fn a_group_at_its_limit_writes_to_the_disk_while_bits_are_cleared() {
    let names = ["zswpout", "zswpwb", "pswpout"];
    let late = |kernel, more| phase_counts(&at_limit(kernel, more).phases[1], names);
    assert_eq!(late(Kernel::V6_18, 1001), [1, 1, 1001]);
    assert_eq!(late(Kernel::V6_12, 1000), [0, 0, 1000]);
    assert_eq!(late(Kernel::V7_3, 32), [1, 24, 31 + 24]);
    assert_eq!(late(Kernel::V7_3, 31), [0, 0, 31]);
}

/// The worker finds no page and may write nothing, so it reclaims, and what that cannot store requests
/// the worker once more. That run begins when the first is over, so all accesses are done.
#[test]
fn a_worker_that_may_write_nothing_ends() {
    for kernel in [Kernel::V6_12, Kernel::V6_18, Kernel::V7_3] {
        let mut c = zswap(kernel, 20);
        c.memcgs[0].zswap_writeback = false;
        let ops = vec![anon(2600), write(0, 0, 2600), read(0, 0, 2600)];
        let r = run(&c, of_group(of_length(1000), ops));
        assert_eq!((&r.outcome, r.accesses), (&Outcome::Completed, 5_200), "{kernel:?}");
        assert_eq!(counts(&r, ["zswpwb"]), [0]);
    }
}

/// The kernel's selftest `test_zswap_usage`, other way round: with `memory.zswap.max` 0 nothing goes
/// to zswap.
#[test]
fn a_group_that_may_not_use_zswap_does_not() {
    let mut c = zswap(Kernel::V6_12, 20);
    c.memcgs[0].zswap_max = Some(0);
    let ops = vec![anon(10), write(0, 0, 10), out(0, 10)];
    let r = run(&c, of_group(of_length(1000), ops));
    assert_eq!(counts(&r, ["zswpout", "pswpout"]), [0, 10]);
}

/// The kernel's selftest `test_zswapin`: 32 MiB in a group of 8 MiB, read back. At least 24 MiB come
/// from zswap.
#[test]
fn what_was_stored_comes_back_from_zswap() {
    let mut c = zswap(Kernel::V6_12, 50);
    c.nodes[0].zones = vec![zone(16_384)];
    c.swap[0].slots = 10_000;
    c.memcgs[0].max = Some(2048);
    let ops = vec![anon(8192), write(0, 0, 8192), end(0), read(0, 0, 8192), end(1)];
    let r = machine(&c, of_group(of_length(1000), ops)).run(Watch::default());
    let [zswpin, pswpin] = counts(&r, ["zswpin", "pswpin"]);
    assert!(zswpin >= 6144, "{zswpin}");
    assert_eq!(pswpin, 0);
}

/// Pages of a group that zswap holds at most a quarter of. `allowed`: what `memory.zswap.writeback`
/// of the group above and of the group say.
fn a_quarter(allowed: [bool; 2]) -> [u64; 3] {
    let mut c = zswap(Kernel::V7_3, 50);
    c.memcgs = vec![group("a"), group("a/b")];
    (c.memcgs[0].zswap_writeback, c.memcgs[1].zswap_writeback) = (allowed[0], allowed[1]);
    c.memcgs[1].zswap_max = Some(64);
    let mut ops = vec![anon(1000), write(0, 0, 1000)];
    ops.extend((0..1000).flat_map(|page| [out(page, 1), sleep_ms(1)]));
    let task = threads("t", Some(1), vec![ops]).with_contents(Some(Arc::new(of_length(1049))));
    counts(&run(&c, vec![task]), ["zswpwb", "pswpout", "pgactivate"])
}

/// The kernel's selftest `test_zswap_writeback`: entries are written with writeback on, and none with
/// it off, whoever says so. Then what has no room stays in memory.
#[test]
fn a_group_that_may_not_write_back_keeps_its_pages() {
    let [wrote, ..] = a_quarter([true, true]);
    assert!(wrote > 0);
    for allowed in [[true, false], [false, true]] {
        let [wrote, device, kept] = a_quarter(allowed);
        assert_eq!([wrote, device], [0, 0]);
        assert!(kept > 0);
    }
}

/// The kernel's selftest `test_no_invasive_cgroup_shrink`: a group at its limit writes back none of
/// another group's entries.
#[test]
fn a_group_at_its_limit_leaves_other_groups_alone() {
    let mut c = zswap(Kernel::V7_3, 50);
    c.nodes[0].zones = vec![zone(4096)];
    c.memcgs = vec![group("a"), group("b")];
    c.memcgs[0].zswap_max = Some(64);
    let page_by_page = |pages| {
        let mut ops = vec![anon(pages), write(0, 0, pages)];
        ops.extend((0..pages).flat_map(|page| [out(page, 1), sleep_ms(1)]));
        ops
    };
    let of = |name, group, ops| {
        threads(name, Some(group), vec![ops]).with_contents(Some(Arc::new(of_length(1049))))
    };
    let tasks = vec![of("a", 0, page_by_page(1000)), of("b", 1, page_by_page(500))];
    let mut m = machine(&c, tasks);
    m.run(Watch::default().with_check_every(16));
    let wrote = |g| m.mem.memcgs.vmstat(MemcgId(g))[VmEvent::ZswpWb];
    assert!(wrote(1) > 0);
    assert_eq!(wrote(2), 0);
}

/// The specification's example: 32 entries of 1365 bytes are 43 680 bytes, in two zspages of eight
/// frames. The eleven pages of kernel memory that the group pays come out of the CPU's stock, which its
/// usage has already, so that falls by 32.
#[test]
fn a_group_pays_for_the_bytes_of_its_entries() {
    let c = ruled(zswap(Kernel::V6_12, 20), "memcg-charges", "kernel");
    let after = |ops: Vec<Op>| {
        let ops = [vec![anon(32), write(0, 0, 32)], ops, vec![end(0), sleep_ms(1)]].concat();
        let seen = Arc::new(Mutex::new((0, [0; 2])));
        let to = Arc::clone(&seen);
        let look: SnapshotFn = Box::new(move |phase, s| {
            if phase.is_some() {
                let zswap = s.groups[1].zswap;
                *to.lock().unwrap() = (s.groups[1].usage[0], [zswap.bytes, zswap.pages]);
            }
        });
        let watch = Watch::default().with_check_every(1).with_snapshot(look);
        let r = machine(&c, of_group(of_length(1365), ops)).run(watch);
        let pool = gauge(&r.phases[0].gauges, "zswap_pool_pages");
        let seen = *seen.lock().unwrap();
        (seen.0, seen.1, pool)
    };
    let (before, none, _) = after(Vec::new());
    let (usage, zswap, pool) = after(vec![out(0, 32)]);
    assert_eq!([none, zswap], [[0; 2], [43_680, 32]]);
    assert_eq!((before - usage, pool), (32, 16));
}

/// A group of 512 pages writes 2000 pages, of which zswap can hold all. Its pool never fills, so
/// only the shrinker writes entries back.
fn shrinks(shrinker: bool, groups: bool) -> [u64; 2] {
    let mut c = zswap(Kernel::V7_3, 80);
    c.zswap.as_mut().expect("it is there").shrinker = shrinker;
    c.memcgs[0].max = Some(512);
    let place = if groups { Some(0) } else { None };
    if !groups {
        c.nodes[0].zones = vec![zone(900)];
    }
    let ops = vec![anon(2000), write(0, 0, 2000), read(0, 0, 2000)];
    let task = threads("t", place, vec![ops]).with_contents(Some(Arc::new(of_length(1000))));
    let r = machine(&c, vec![task]).run(Watch::default().with_check_every(64));
    counts(&r, ["zswpwb", "sim_zswap_pool_limit_hit"])
}

/// The shrinker writes back what was not read for a while; without it nothing is written back. With
/// groups it sees entries of the root by the statistics of other groups alone, which have none here.
#[test]
fn the_shrinker_writes_back_entries_of_groups_and_not_of_the_root() {
    let [wrote, hits] = shrinks(true, true);
    assert!(wrote > 0);
    assert_eq!(hits, 0);
    assert_eq!(shrinks(false, true), [0, 0]);
    assert_eq!(shrinks(true, false), [0, 0]);
}

/// A fault makes room for its page, and that has the shrinker write back the very page that it is for,
/// or one of its window. That page is in the swap cache then, once, and the slot is freed once.
#[test]
fn a_page_that_its_own_fault_writes_back_is_in_the_swap_cache_once() {
    for kernel in [Kernel::V6_12, Kernel::V6_18, Kernel::V7_3] {
        let mut c = zswap(kernel, 80);
        c.zswap.as_mut().expect("it is there").shrinker = true;
        c.memcgs[0].max = Some(256);
        let mut ops = vec![anon(2000), write(0, 0, 2000)];
        let pages = (0..4000u32).map(|i| i * 1117 % 2000);
        ops.extend(pages.map(|page| read(0, page, 1)));
        ops.push(unmap(0));
        let r =
            machine(&c, of_group(of_length(1000), ops)).run(Watch::default().with_check_every(16));
        let [wrote, back] = counts(&r, ["zswpwb", "pgmajfault"]);
        assert!(wrote > 100 && back > 1000, "{}: {wrote}, {back}", kernel.name());
    }
}
