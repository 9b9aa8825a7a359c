//! One witness for each rule: a machine of 6.12 on which only that rule is another, and what must
//! come of it. Each says first what is expected, and why.

use crate::support::*;
use mmsim::base::id::{FileId, NodeId, ZoneId};
use mmsim::base::migratetype::Migratetype::{self, Movable, Unmovable};
use mmsim::base::rules::KernelRules;
use mmsim::base::settings::Settings as _;
use mmsim::base::time::SimDuration;
use mmsim::config::{Kernel, MachineConfig, NodeConfig, ZoneConfig, ZoneKind};
use mmsim::machine::result::RunResult;
use mmsim::machine::snapshot::ZoneSnapshot;
use mmsim::machine::{Machine, TaskConfig, Watch};
use mmsim::phys::gfp::{GFP_ATOMIC, GFP_KERNEL, GFP_NOWAIT, GfpFlags};
use mmsim::workload::{Advice, BlockHandle, MapKind, Op, VmaFlags};
use mmsim_core::policy::ReclaimPolicy;
use mmsim_lru::mglru::{Mglru, MglruConfig};

pub(crate) fn newest(swap: &str) -> MachineConfig {
    config(Kernel::V6_12, swap)
}

/// Runs the operations under two values of a rule.
pub(crate) fn both(c: &MachineConfig, rule: &str, values: [&str; 2], ops: &[Op]) -> [RunResult; 2] {
    values.map(|v| run(&ruled(c.clone(), rule, v), vec![member("t", ops.to_vec())]))
}

/// The zones after the operations.
pub(crate) fn zones_after(c: &MachineConfig, tasks: Vec<TaskConfig>) -> Vec<ZoneSnapshot> {
    let mut m: Machine = machine(c, tasks);
    let r = m.run(Watch::default().with_check_every(97));
    m.snapshot(mmsim::base::time::SimTime(r.sim_time.0)).zones
}

/// The first zone after the operations under two values of a rule.
pub(crate) fn both_zones(
    c: &MachineConfig,
    rule: &str,
    values: [&str; 2],
    ops: &[Op],
) -> [ZoneSnapshot; 2] {
    let of = |v| zones_after(&ruled(c.clone(), rule, v), vec![task("t", ops.to_vec())]);
    values.map(|v| of(v).swap_remove(0))
}

pub(crate) fn alloc(handle: u32, order: u8, migratetype: Migratetype, flags: GfpFlags) -> Op {
    Op::KernelAlloc { order, migratetype, flags, handle: BlockHandle(handle) }
}

pub(crate) fn free(handle: u32) -> Op {
    Op::KernelFree { handle: BlockHandle(handle) }
}

// ---- free memory ----

/// 250 single pages and one block of order 3 are free, against a watermark of 200. By one block the
/// request is served. Order by order 250 pages are too small, and the 8 that are left are less than
/// an eighth of the mark.
#[test]
fn wmark_form() {
    let mut c = newest("ramdisk");
    c.nodes[0].zones[0].watermarks = Some([200, 200, 200]);
    let mut ops: Vec<Op> = (0..2048).map(|i| alloc(i, 0, Movable, GfpFlags::HIGH)).collect();
    ops.extend((0..500).step_by(2).map(free));
    ops.extend((1024..1032).map(free));
    ops.extend([end(0), alloc(9000, 3, Movable, GFP_NOWAIT), end(1)]);
    let [old, new] = both(&c, "wmark-form", ["per-order", "one-block"], &ops)
        .map(|r| phase_counts(&r.phases[1], ["sim_kernel_alloc_fail"])[0]);
    assert_eq!([old, new], [1, 0]);
}

/// A tenth of the zone lies between two watermarks, or a quarter of min.
#[test]
fn scaled_watermarks() {
    let mut c = newest("ramdisk");
    c.nodes[0].zones[0].watermarks = None;
    c.vm.watermark_scale_factor = 1000;
    let [no, yes] = both_zones(&c, "scaled-watermarks", ["no", "yes"], &[]).map(|z| z.watermark);
    assert_eq!(yes[1] - yes[0], 204);
    assert_eq!(no[1] - no[0], no[0] / 4);
}

/// A part of a movable pageblock is free. 4.1 and 4.12 give all of that part to unmovable requests
/// at the first of them; later a pageblock that is mostly used keeps its type, and each request
/// takes from it anew.
#[test]
fn fallback() {
    let mut c = newest("ramdisk");
    c.vm.watermark_boost_factor = 0;
    let mut ops = vec![anon(2000), write(0, 0, 1940), end(0)];
    ops.extend((0..8).map(|i| alloc(i, 0, Unmovable, GFP_KERNEL)));
    ops.push(end(1));
    let taken = |v| {
        let r = run(&ruled(c.clone(), "fallback", v), vec![task("t", ops.clone())]);
        phase_counts(&r.phases[1], ["sim_extfrag"])[0]
    };
    let [v4_1, v4_12, newest] = ["v4.1", "v4.12", "claim-steal"].map(taken);
    assert_eq!((v4_1, v4_12), (1, 1));
    assert!(newest > 1, "{newest}");
}

/// Memory goes to the head of its list at boot or to the tail: the blocks lie the other way round.
#[test]
fn free_init() {
    let ops = [anon(8), write(0, 0, 8)];
    let [head, tail] = both(&newest("ramdisk"), "free-init", ["head", "tail"], &ops);
    assert_ne!(head.digest, tail.digest);
}

/// A block of order 10 is used by halves, one movable and one not. As the two merge again both are of
/// one type, or each keeps its own.
#[test]
fn merge_retypes() {
    let mut c = newest("ramdisk");
    c.nodes = vec![NodeConfig { zones: vec![zone(2048 + 64)] }];
    let block = |i, order, mt| alloc(i, order, mt, GFP_KERNEL);
    let ops = [block(0, 10, Movable), block(1, 9, Movable), block(2, 9, Unmovable)];
    let ops = [ops, [free(1), free(2), end(0)]].concat();
    let blocks = |z: ZoneSnapshot| z.pageblocks[Unmovable as usize];
    let [no, yes] = both_zones(&c, "merge-retypes", ["no", "yes"], &ops).map(blocks);
    assert_eq!(no, 1);
    assert_ne!(yes, 1);
}

/// A hundredth of the zone is more than a pageblock, and free memory is below the low watermark. A
/// request of order 3 that cannot wait keeps a pageblock for others like it.
#[test]
fn highatomic() {
    let mut c = newest("ramdisk");
    let marks = Some([8, 60_000, 60_000]);
    c.nodes = vec![NodeConfig { zones: vec![ZoneConfig { watermarks: marks, ..zone(60_000) }] }];
    let ops = [alloc(0, 3, Unmovable, GFP_ATOMIC)];
    let of = both_zones(&c, "highatomic", ["no", "yes"], &ops);
    assert_eq!(of.map(|z| z.pageblocks[Migratetype::HighAtomic as usize]), [0, 1]);
}

/// Blocks of order 3 come from a list of the CPU, which a request that cannot wait fills, and its
/// pageblock is kept. From 7.0 on it takes its block from the buddy.
#[test]
fn highatomic_from_buddy() {
    let mut c = with_lists(60, 15);
    let marks = Some([8, 60_000, 60_000]);
    c.nodes[0].zones[0] = ZoneConfig { watermarks: marks, pcp: Some((60, 15)), ..zone(60_000) };
    let kept = |value, ops: &[Op]| {
        let of = both_zones(&c, "highatomic-from-buddy", [value, value], ops);
        let z = &of[0];
        (z.pcp[0].count > 0, z.pageblocks[Migratetype::HighAtomic as usize])
    };
    let atomic = alloc(1, 3, Unmovable, GFP_ATOMIC);
    assert_eq!(["no", "yes"].map(|v| kept(v, &[atomic])), [(true, 1), (false, 1)]);
    // A block that lies on the list already keeps nothing.
    let listed = [alloc(0, 3, Unmovable, GFP_KERNEL), free(0), atomic];
    assert_eq!(["no", "yes"].map(|v| kept(v, &listed).1), [1, 0]);
}

/// A pageblock is kept, and then there is plenty of memory. Another such request takes its block
/// from there from 7.3 on, and else from the pageblocks of its type.
#[test]
fn highatomic_at_once() {
    let mut c = newest("ramdisk");
    let marks = Some([8, 30_000, 30_001]);
    c.nodes = vec![NodeConfig { zones: vec![ZoneConfig { watermarks: marks, ..zone(60_000) }] }];
    let fill = (1..=31).map(|i| alloc(i, 10, Unmovable, GfpFlags::default()));
    let mut ops: Vec<Op> = fill.collect();
    ops.push(alloc(0, 3, Unmovable, GFP_ATOMIC));
    ops.extend((1..=31).map(free));
    ops.push(alloc(100, 3, Unmovable, GFP_ATOMIC));
    let of = both_zones(&c, "highatomic-at-once", ["no", "yes"], &ops);
    let free_of_kept = |z: ZoneSnapshot| {
        let blocks = z.free_blocks[Migratetype::HighAtomic as usize];
        (0..).zip(blocks).map(|(order, n)| n << order).sum::<u64>()
    };
    assert_eq!(of.map(free_of_kept), [504, 496]);
}

/// Two nodes. A process fills the one where it runs down to its low watermark, and a request for that
/// node alone awakes its kswapd. Then the process takes what kswapd frees, up to 6.17. From 6.18 on
/// it takes pages of the other node while kswapd is awake, so kswapd is done sooner.
#[test]
fn skips_busy_nodes() {
    let mut c = newest("ramdisk");
    let node = || NodeConfig {
        zones: vec![ZoneConfig { watermarks: Some([50, 100, 400]), ..zone(2000) }],
    };
    (c.nodes, c.cpus) = (vec![node(), node()], 2);
    let here = alloc(0, 0, Unmovable, GFP_KERNEL.with(GfpFlags::THISNODE));
    let ops = [anon(3400), write(0, 0, 1900), end(0), here, write(0, 1900, 1500), end(1)];
    let [no, yes] = both(&c, "skips-busy-nodes", ["no", "yes"], &ops)
        .map(|r| phase_counts(&r.phases[1], ["pgsteal_kswapd"])[0]);
    assert!(yes > 200, "{no} {yes}");
    assert!(yes < no, "{no} {yes}");
}

/// A request for unmovable memory steals from a movable pageblock: that raises the watermarks, and
/// kswapd reclaims.
#[test]
fn avoid_fragmentation() {
    let request = alloc(0, 0, Unmovable, GFP_KERNEL);
    let ops = [anon(1600), write(0, 0, 1600), end(0), request, sleep_ms(500), end(1)];
    let [no, yes] = both(&newest("ramdisk"), "avoid-fragmentation", ["no", "yes"], &ops)
        .map(|r| phase_counts(&r.phases[1], ["sim_extfrag", "pgsteal_kswapd"]));
    assert_eq!(no, [1, 0]);
    assert!(yes[1] > 50, "{yes:?}");
}

// ---- per-CPU lists ----

/// A CPU with lists of its own: at most `high` pages, and a batch.
fn with_lists(high: u32, batch: u32) -> MachineConfig {
    let mut c = newest("ramdisk");
    c.nodes[0].zones[0].pcp = Some((high, batch));
    c
}

/// A block of order 2 that is given back lies on a list of the CPU or in the buddy.
#[test]
fn pcp_orders() {
    let ops = [alloc(0, 2, Unmovable, GFP_KERNEL), free(0)];
    let of = both_zones(&with_lists(60, 15), "pcp-orders", ["no", "yes"], &ops);
    let [no, yes] = of.map(|z| z.free);
    assert_eq!(no, 2048);
    assert!(yes < 2048, "{yes}");
}

/// Some 300 pages are freed in a row. A batch of 15 goes back whenever 60 are on the list, so 45 stay
/// at least; or more and more goes back, until 15 stay.
#[test]
fn pcp_batches() {
    let left = |v| {
        let of = |n| {
            let ops = vec![anon(n), write(0, 0, n), unmap(0)];
            let c = ruled(with_lists(60, 15), "pcp-batches", v);
            zones_after(&c, vec![task("t", ops)])[0].pcp[0].count
        };
        (300..345).map(of).collect::<Vec<u32>>()
    };
    let all = ["fixed", "frees-double", "counted"].map(left);
    assert_eq!(all.each_ref().map(|counts| counts.iter().min()), [&45, &15, &15].map(Some));
    assert_ne!(all[1], all[2]);
}

/// 16 pairs are freed in a row, with a high of 60 and batches of 15. The eighth sends all back, and so
/// does each later one; or none does before 45 pages were freed.
#[test]
fn pcp_orders_wait() {
    let pairs = (0..16).map(|i| alloc(i, 1, Unmovable, GFP_KERNEL));
    let ops: Vec<Op> = pairs.chain((0..16).map(free)).collect();
    let of = both_zones(&with_lists(60, 15), "pcp-orders-wait", ["no", "yes"], &ops);
    let [no, yes] = of.map(|z| z.pcp[0].count);
    assert!(no == 0 && yes >= 32, "{no} {yes}");
}

/// A zone of 2048 free pages in blocks of the largest order.
#[test]
fn counts_free_blocks() {
    let text = |v| {
        let c = ruled(newest("ramdisk"), "counts-free-blocks", v);
        let mut m = machine(&c, vec![task("t", vec![end(0)])]);
        mmsim::report::proc::vmstat(&m.snapshot(mmsim::base::time::SimTime(0)))
    };
    let line = "\nnr_free_pages_blocks 2048\n";
    assert_eq!(["no", "yes"].map(|v| text(v).contains(line)), [false, true]);
}

/// A zone of 2048 pages has batches of 1. Six of them are 6 pages; the low watermark is 200.
#[test]
fn pcp_high_of_zone() {
    let mut c = newest("ramdisk");
    (c.nodes[0].zones[0].pcp, c.nodes[0].zones[0].watermarks) = (None, Some([100, 200, 300]));
    let [no, yes] = both_zones(&c, "pcp-high-of-zone", ["no", "yes"], &[]).map(|z| z.pcp[0].high);
    assert_eq!([no, yes], [6, 200]);
}

/// 100 pages are freed as if kswapd were at work. A CPU keeps up to 60, or four batches of two.
#[test]
fn pcp_short_in_reclaim() {
    let [no, yes] = ["no", "yes"].map(|v| {
        let ops = vec![anon(100), write(0, 0, 100), unmap(0)];
        let mut m =
            machine(&ruled(with_lists(60, 2), "pcp-short-in-reclaim", v), vec![task("t", ops)]);
        m.mem.zones.set_reclaim_active(NodeId(0), ZoneKind::Movable, true);
        m.run(Watch::default());
        m.mem.zones[ZoneId(0)].pcp_count()
    });
    assert!(no > 8 && yes <= 8, "{no} {yes}");
}

// ---- reclaim ----

/// Two zones and more pages than fit. By zones kswapd goes on until both are balanced; else one is
/// enough.
#[test]
fn kswapd_by_zone() {
    let mut c = newest("ramdisk");
    let low = ZoneConfig { kind: ZoneKind::Dma32, ..zone(1024) };
    c.nodes = vec![NodeConfig { zones: vec![low, zone(1024)] }];
    let ops = [anon(2030), write(0, 0, 2030), sleep_ms(500)];
    let balanced = |v| {
        let c = ruled(c.clone(), "kswapd-by-zone", v);
        zones_after(&c, vec![task("t", ops.to_vec())]).iter().filter(|z| z.free >= 12).count()
    };
    assert_eq!(["no", "yes"].map(balanced), [1, 2]);
}

/// kswapd is woken for a block of order 5. A pass that goes on by amount frees two blocks at least;
/// else it ends with the first.
#[test]
fn pass_goes_on_by_amount() {
    let mut c = newest("ramdisk");
    c.vm.watermark_boost_factor = 0;
    let block = alloc(0, 5, Movable, GFP_NOWAIT);
    let ops = [anon(2100), write(0, 0, 2100), sleep_ms(500), end(0), block, sleep_ms(500), end(1)];
    let [no, yes] = both(&c, "pass-goes-on-by-amount", ["no", "yes"], &ops)
        .map(|r| phase_counts(&r.phases[1], ["pgsteal_kswapd"])[0]);
    assert!(no < yes && yes >= 64, "{no} {yes}");
}

/// A page is in a batch of fifteen while another one is unmapped: it goes to its list, or stays.
#[test]
fn unmap_drains() {
    let mut c = newest("ramdisk");
    c.lru_batch = Some(15);
    let ops = [anon(8), write(0, 0, 8), advise(0, 0, 1, Advice::DontNeed), end(0)];
    let of = both(&c, "unmap-drains", ["no", "yes"], &ops)
        .map(|r| gauge(&r.phases[0].gauges, "nr_inactive_anon"));
    assert_eq!(of, [0, 7]);
}

/// Nodes of shadows beyond what is allowed are fewer than a batch. Half of them are put off each
/// time: that adds up until a batch goes, or hardly counts at the first priority.
#[test]
fn shrinker_by_priority() {
    let mut c = newest("ramdisk");
    c.nodes = vec![NodeConfig { zones: vec![zone(800)] }];
    let ops = [anon(4600), write(0, 0, 4600)];
    let scanned = ["no", "yes"].map(|v| {
        let c = ruled(c.clone(), "shrinker-by-priority", v);
        let mut m = machine(&c, vec![task("t", ops.to_vec())]);
        let before = count(&m.run(Watch::default()), "slabs_scanned");
        let nodes = m.mem.shadow_nodes_listed();
        assert!((40..128).contains(&nodes), "{nodes} nodes");
        (0..4).for_each(|_| m.mem.limit_shadow_nodes(0, 12));
        m.mem.stats.vmstat.by_name("slabs_scanned").expect("a counter") - before
    });
    assert!(scanned[0] >= 40 && scanned[1] == 0, "{scanned:?}");
}

// ---- faults and page tables ----

/// Eight pages of a mapped file are read from the device.
#[test]
fn counts_retried_faults() {
    let ops = [file(0, 8, true, VmaFlags::default()), read(0, 0, 8)];
    let [no, yes] = both(&newest("ssd"), "counts-retried-faults", ["no", "yes"], &ops)
        .map(|r| count(&r, "pgfault"));
    assert_eq!([no, yes], [8, 16]);
}

/// A page comes back from swap by a read. No other process has it: the PTE is writable, and the
/// write after it is no fault and leaves the slot. Else the write is a fault that gives up the
/// slot.
#[test]
fn anon_exclusive() {
    let mut ops = vec![anon(1), write(0, 0, 1)];
    ops.extend(swap_out(1));
    ops.extend([read(0, 0, 1), end(0), write(0, 0, 1), end(1)]);
    let of = both(&newest("ssd"), "anon-exclusive", ["no", "yes"], &ops).map(|r| {
        let [faults, reuses] = phase_counts(&r.phases[1], ["pgfault", "pgreuse"]);
        [faults, reuses, gauge(&r.phases[1].gauges, "nr_swap_used")]
    });
    assert_eq!(of, [[1, 1, 0], [0, 0, 1]]);
}

/// A page comes back from swap by a read and is written then. The swap cache still holds it: it is
/// taken as it is and gives up its slot, or is copied, and the old page keeps the slot.
#[test]
fn cow_of_held_pages() {
    let mut ops = vec![anon(1), write(0, 0, 1)];
    ops.extend(swap_out(1));
    ops.extend([read(0, 0, 1), end(0), write(0, 0, 1), end(1)]);
    let c = ruled(newest("ssd"), "anon-exclusive", "no");
    let of = both(&c, "cow-of-held-pages", ["no", "yes"], &ops).map(|r| {
        let [faults, reuses] = phase_counts(&r.phases[1], ["pgfault", "pgreuse"]);
        let used = ["nr_swap_used", "nr_inactive_anon"].map(|g| gauge(&r.phases[1].gauges, g));
        [faults, reuses, used[0], used[1]]
    });
    assert_eq!(of, [[1, 1, 0, 1], [1, 0, 1, 2]]);
}

/// A page of a random mapping was used. With recency it stays for another round.
#[test]
fn random_has_no_recency() {
    let random = VmaFlags { rand_read: true, ..VmaFlags::default() };
    let ops = [map(0, 1, MapKind::Anon, random), write(0, 0, 1), reclaim(1)];
    let of = both(&newest("ramdisk"), "random-has-no-recency", ["no", "yes"], &ops);
    assert_eq!(of.map(|r| count(&r, "pgscan_anon")), [2, 1]);
}

/// Active pages are paged out, and a miss reads them back together. Each that fault-around meets
/// then takes a miss back, unless it was in use before.
#[test]
fn mmap_miss_skips_workingset() {
    let mut c = newest("ssd");
    (c.vm.ra_pages, c.vm.fault_around) = (32, 16);
    let populate = advise(1, 0, 32, Advice::PopulateRead);
    let out = advise(1, 0, 32, Advice::PageOut);
    let ops = [anon(100), write(0, 0, 100), file(1, 64, true, VmaFlags::default())];
    let ops = [ops.to_vec(), vec![populate, populate, out, read(1, 5, 1)]].concat();
    let [no, yes] = ["no", "yes"].map(|v| {
        let c = ruled(c.clone(), "mmap-miss-skips-workingset", v);
        let mut m = machine(&c, vec![task("t", ops.clone())]);
        assert_eq!(count(&m.run(Watch::default()), "workingset_restore_file"), 32);
        m.mem.cache.files[FileId(0)].ra.mmap_miss
    });
    assert_eq!([no, yes], [0, 1]);
}

/// A mapped file in memory, which the neighbours of a page are mapped with; ten misses before. Each
/// of the 16 pages that are mapped takes one back, or the requested one alone does.
#[test]
fn mmap_miss_once() {
    let mut c = newest("ssd");
    (c.vm.ra_pages, c.vm.fault_around) = (32, 16);
    let ops = [file(1, 64, true, VmaFlags::default()), pread(0, 64), read(1, 5, 1)];
    let [each, once] = ["no", "yes"].map(|v| {
        let c = ruled(c.clone(), "mmap-miss-once", v);
        let mut m = machine(&c, vec![task("t", ops.to_vec())]);
        m.mem.open_file("file", FILE_PAGES);
        m.mem.cache.files[FileId(0)].ra.mmap_miss = 10;
        m.run(Watch::default());
        m.mem.cache.files[FileId(0)].ra.mmap_miss
    });
    assert_eq!([each, once], [0, 9]);
}

/// A miss in an executable mapping reads 32 pages around page 100, or from it on. Then the pages after
/// these are looked at. At the end of the mapping ten pages are left.
#[test]
fn exec_reads_on() {
    let mut c = newest("ssd");
    (c.vm.ra_pages, c.vm.fault_around) = (32, 1);
    let exec = VmaFlags { exec: true, ..VmaFlags::default() };
    let ops = [file(1, 200, true, exec), read(1, 100, 1), end(0), read(1, 116, 16), end(1)];
    let last = [read(1, 190, 1), sleep_ms(100), end(2)];
    let of = both(&c, "exec-reads-on", ["no", "yes"], &[&ops[..], &last[..]].concat());
    let [no, yes] = of.map(|r| {
        let missed = phase_counts(&r.phases[1], ["pgmajfault"])[0];
        (missed, phase_counts(&r.phases[2], ["pgpgin"])[0] / 4)
    });
    assert!(no.0 > 0 && no.1 > 10, "{no:?}");
    assert_eq!(yes, (0, 10));
}

/// Active pages are paged out and come back: only marked ones are known to have been in use.
#[test]
fn cold_sets_workingset() {
    let populate = advise(1, 0, 10, Advice::PopulateRead);
    let out = advise(1, 0, 10, Advice::PageOut);
    let ops = [anon(100), write(0, 0, 100), file(1, 10, true, VmaFlags::default())];
    let ops = [ops.to_vec(), vec![populate, populate, out, end(0), read(1, 0, 10)]].concat();
    let of = both(&newest("ssd"), "cold-sets-workingset", ["no", "yes"], &ops);
    assert_eq!(of.map(|r| count(&r, "workingset_restore_file")), [0, 10]);
}

/// Without swap no page can be paged out. The advice has cleared its accessed bit, or has left it.
#[test]
fn pageout_ignores_references() {
    let mut c = newest("ramdisk");
    c.swap.clear();
    let ops = [anon(1), write(0, 0, 1), advise(0, 0, 1, Advice::PageOut), sleep_ms(1)];
    let after = |v| {
        let c = ruled(c.clone(), "pageout-ignores-references", v);
        let mut m = machine(&c, vec![task("t", ops.to_vec())]);
        m.run(Watch::default()).digest
    };
    assert_ne!(after("no"), after("yes"));
}

// ---- batches ----

/// 40 pages, in batches of 15 or of 31: the rest is on no list yet.
#[test]
fn lru_batch() {
    let mut c = newest("ssd");
    c.lru_batch = None;
    let ops = [anon(40), write(0, 0, 40)];
    let of = both(&c, "lru-batch", ["15", "31"], &ops);
    assert_eq!(of.map(|r| gauge(&r.gauges, "nr_inactive_anon")), [30, 31]);
}

// ---- groups ----

/// A process at its `memory.high` that cannot swap. It sleeps once for each batch that it charges.
fn above_high(rule: &str, values: [&str; 2]) -> [f64; 2] {
    let mut c = newest("ramdisk");
    (c.memcgs[0].high, c.memcgs[0].swap_max) = (Some(200), Some(0));
    let ops = [anon(1800), write(0, 0, 1800)];
    both(&c, rule, values, &ops).map(|r| r.sim_time.as_secs_f64())
}

/// Each of the sleeps is as long as a sleep can be, two seconds: twice as many pages a batch, half
/// the time.
#[test]
fn memcg_charge_batch() {
    let [small, large] = above_high("memcg-charge-batch", ["32", "64"]);
    assert!((1.9..2.1).contains(&(small / large)), "{small} {large}");
}

/// Memory that the kernel holds for a process is charged to its group: one that fits under
/// `memory.high` without it does not with it.
#[test]
fn process_kernel_pages() {
    let mut c = newest("ramdisk");
    (c.memcgs[0].high, c.memcgs[0].swap_max) = (Some(1800), Some(0));
    let ops = [anon(1700), write(0, 0, 1700)];
    let [few, many] = both(&c, "process-kernel-pages", ["48", "1000"], &ops).map(|r| r.sim_time);
    assert!(few < SimDuration::from_secs(1) && many > SimDuration::from_secs(10), "{few} {many}");
}

/// A process goes above `memory.high` with pages that were all used just now, so that a first try
/// frees little. If it goes on as long as that helps, it sleeps less.
#[test]
fn high_retries() {
    let mut c = newest("ramdisk");
    c.memcgs[0].high = Some(300);
    let ops = [anon(1500), write(0, 0, 1500)];
    let [no, yes] = both(&c, "high-retries", ["no", "yes"], &ops)
        .map(|r| (r.sim_time, count(&r, "pgsteal_anon")));
    assert!(yes.0 < no.0 && yes.1 >= no.1, "{no:?} {yes:?}");
}

/// A writer in a group of 200 pages has written 150. It may have dirtied a fifth of the group's
/// pages, or all of them, since the machine's threshold is far away.
#[test]
fn cgroup_writeback() {
    let mut c = newest("ssd");
    c.file_device.write_bandwidth = Some(4096 * 1024);
    c.memcgs[0].max = Some(200);
    let ops = [pwrite(0, 150), end(0)];
    let [no, yes] = both(&c, "cgroup-writeback", ["no", "yes"], &ops).map(|r| {
        let gauges = &r.phases[0].gauges;
        gauge(gauges, "nr_dirty") + gauge(gauges, "nr_writeback")
    });
    assert!(yes <= 56 && no > 100, "{no} {yes}");
}

/// A group at its limit reclaims. The machine's counters leave out the pages that its reclaim
/// scans, or count them as those of direct reclaim.
#[test]
fn limits_count_globally() {
    let mut c = newest("ramdisk");
    c.memcgs[0].max = Some(200);
    let ops = [anon(400), write(0, 0, 400)];
    let [no, yes] = both(&c, "limits-count-globally", ["no", "yes"], &ops)
        .map(|r| ["pgscan_direct", "pgscan_anon"].map(|name| count(&r, name)));
    assert!(no[0] == 0 && no[1] > 0, "{no:?}");
    assert!(yes[0] > 0 && yes[0] == yes[1], "{yes:?}");
}

/// 62 pages come back under MGLRU of 7.3, in two LRU batches of 31. The last of each is in the swap
/// cache when it reaches its list, so it starts one generation older than the others.
#[test]
fn sync_swapin_caches() {
    let c = MachineConfig { lru_batch: Some(31), ..newest("ramdisk") };
    let ops = vec![anon(62), write(0, 0, 62), advise(0, 0, 62, Advice::PageOut), read(0, 0, 62)];
    let oldest = ["no", "yes"].map(|v| {
        let c = ruled(c.clone(), "sync-swapin-caches", v);
        let mut m = Machine::new(&c, vec![task("t", ops.clone())], 1, |mem| {
            Box::new(Mglru::new(MglruConfig::V7_3, mem, 1)) as Box<dyn ReclaimPolicy>
        });
        m.run(Watch::default().with_check_every(97));
        let lists = m.mem.lru.lists.ids().map(|l| m.mem.lru.lists.len(l)).filter(|&n| n > 0);
        let mut lists: Vec<_> = lists.collect();
        lists.sort_unstable();
        lists
    });
    assert_eq!(oldest, [vec![62], vec![2, 60]]);
}

// ---- CPUs and devices ----

/// kswapd walks six page tables, a millisecond each, and a thread wants the CPU meanwhile. It waits
/// for the end of the walk, or gets the CPU at the second tick: pages arrive in another order, and
/// none is lost.
#[test]
fn lazy_preemption() {
    let mut c = newest("ramdisk");
    c.tick = SimDuration::from_millis(1);
    c.cost.t_walk_pmd = SimDuration::from_millis(1);
    let each = |i| [write(0, i, 1), Op::Compute(SimDuration::from_micros(20))];
    let ops = [vec![anon(3000)], (0..3000).flat_map(each).collect()].concat();
    let [no, yes] = ["no", "yes"].map(|v| {
        let c = ruled(c.clone(), "lazy-preemption", v);
        let mut m = Machine::new(&c, vec![member("t", ops.clone())], 1, |mem| {
            Box::new(Mglru::new(MglruConfig::V7_3, mem, 1)) as Box<dyn ReclaimPolicy>
        });
        m.run(Watch::default().with_check_every(97))
    });
    assert_eq!([&no, &yes].map(|r| count(r, "pgfault")), [3000; 2]);
    assert_ne!(no.digest, yes.digest);
}

/// Two threads on one CPU, with a tick each four milliseconds. The tick ends a slice of 0.7 ms at 4
/// ms, the timer at 0.7: whoever comes first to its half has had more turns, so pages arrive in
/// another order.
#[test]
fn hrtick() {
    let c = newest("ramdisk");
    let work = || {
        let each = |i| [write(0, i, 1), Op::Compute(SimDuration::from_micros(300))];
        [vec![anon(100)], (0..100).flat_map(each).collect()].concat()
    };
    let of = ["no", "yes"]
        .map(|v| run(&ruled(c.clone(), "hrtick", v), vec![task("a", work()), task("b", work())]));
    assert_eq!(of.each_ref().map(|r| count(r, "pgfault")), [200; 2]);
    assert_ne!(of[0].digest, of[1].digest);
}

/// Two threads on one CPU, with a tick each millisecond. CFS lets each run for three, EEVDF for one:
/// who comes first to its half is twice as far ahead, so pages arrive in another order.
#[test]
fn scheduler() {
    let mut c = newest("ramdisk");
    c.tick = SimDuration::from_millis(1);
    let work = || {
        let each = |i| [write(0, i, 1), Op::Compute(SimDuration::from_micros(300))];
        [vec![anon(100)], (0..100).flat_map(each).collect()].concat()
    };
    let of = ["cfs", "eevdf"].map(|v| {
        run(&ruled(c.clone(), "scheduler", v), vec![task("a", work()), task("b", work())])
    });
    assert_eq!(of.each_ref().map(|r| count(r, "pgfault")), [200; 2]);
    assert_ne!(of[0].digest, of[1].digest);
}

/// 1800 pages go out in requests of 128, which take 50 ms each. 16 requests may be under way, or
/// half of that for who is not kswapd: then the writer sleeps.
#[test]
fn wbt_one_depth() {
    let mut c = newest("ssd");
    let device = &mut c.swap.first_mut().expect("it has swap").device;
    (device.write, device.queue_depth) = (SimDuration::from_millis(50), 64);
    (device.bandwidth, device.write_bandwidth) = (None, None);
    let out = advise(0, 0, 1800, Advice::PageOut);
    let ops = [anon(1800), write(0, 0, 1800), out, sleep_ms(99)];
    let [no, yes] = both(&c, "wbt-one-depth", ["no", "yes"], &ops).map(|r| r.threads[0].throttled);
    assert!(no > SimDuration::ZERO && yes == SimDuration::ZERO, "{no} {yes}");
}

/// Witnesses that stand beside others of their mechanism.
const ELSEWHERE: [&str; 14] = [
    include_str!("shmem.rs"),
    include_str!("uncached.rs"),
    include_str!("compaction.rs"),
    include_str!("large_folios.rs"),
    include_str!("mark_rules.rs"),
    include_str!("sysctls.rs"),
    include_str!("reclaim_rules.rs"),
    include_str!("swap.rs"),
    include_str!("swap_rules.rs"),
    include_str!("zswap.rs"),
    include_str!("zones.rs"),
    include_str!("../../crates/mmsim-core/tests/suite/discard.rs"),
    include_str!("../../crates/mmsim-core/tests/suite/migrate.rs"),
    include_str!("../../crates/mmsim-lru/tests/suite/zones.rs"),
];

#[test]
fn every_rule_has_a_witness() {
    for rule in KernelRules::ROWS {
        let test = format!("fn {}()", rule.name.replace('-', "_"));
        let sources = ELSEWHERE.iter().copied().chain([include_str!("rules.rs")]);
        assert!(sources.into_iter().any(|s| s.contains(&test)), "{}", rule.name);
    }
}
