//! Counters of the levels of a tree, against sums over the groups below.

use super::*;
use crate::base::rng::Rng;
use crate::config::{Kernel, ZoneConfig, ZoneKind};

/// A machine of 1024 pages with groups of these paths.
pub(in crate::memory) fn machine(paths: &[&str]) -> MachineConfig {
    let zone = ZoneConfig::new(ZoneKind::Normal, 1024);
    let memcgs = paths.iter().map(|&path| MemcgConfig::new(path)).collect();
    MachineConfig { memcgs, ..MachineConfig::new(Kernel::V6_12, vec![zone]) }
}

pub(in crate::memory) fn groups(paths: &[&str]) -> Memcgs {
    Memcgs::new(&machine(paths))
}

const POD: MemcgId = MemcgId(1);
const A: MemcgId = MemcgId(2);
const B: MemcgId = MemcgId(3);

/// The lowest level that would exceed its limit fails, whatever those above have left.
#[test]
fn the_lowest_exceeded_level_fails() {
    let mut config = machine(&["pod", "pod/a", "pod/b"]);
    config.memcgs[0].max = Some(100);
    config.memcgs[1].max = Some(60);
    let mut memcgs = Memcgs::new(&config);
    memcgs.charge(A, 50);
    memcgs.charge(B, 45);
    assert_eq!((memcgs[POD].usage, memcgs[A].usage, memcgs[B].usage), (95, 50, 45));
    assert_eq!(memcgs.failing_level(A, 5), None);
    assert_eq!(memcgs.failing_level(A, 6), Some(POD));
    assert_eq!(memcgs.failing_level(A, 11), Some(A));
    assert_eq!(memcgs.failing_level(B, 6), Some(POD));
    memcgs.uncharge(B, 45);
    assert_eq!(memcgs.failing_level(A, 10), None);
}

/// A CPU's stock counts above the limit of no level: it is given back before one stops anybody.
#[test]
fn stocks_of_a_subtree_are_given_back() {
    let mut config = machine(&["pod", "pod/a", "pod/b"]);
    config.memcgs[0].max = Some(100);
    config.memcgs[0].high = Some(0);
    config.cpus = 2;
    let mut memcgs = Memcgs::new(&config);
    let held = |memcgs: &Memcgs| [POD, A, B].map(|m| memcgs[m].usage + memcgs[m].stock);
    assert_eq!(memcgs.charge_in_batch(CpuId(0), A, 1), 64);
    assert_eq!(held(&memcgs), [64, 64, 0]);
    // Another batch of 64 would pass the limit.
    assert_eq!(memcgs.charge_in_batch(CpuId(1), B, 1), 1);
    assert_eq!(held(&memcgs), [65, 64, 1]);
    for _ in 0..36 {
        memcgs.charge_in_batch(CpuId(1), B, 1);
    }
    // 38 pages are used. The last of them found the pod full, and the stock was given back.
    assert_eq!((memcgs[POD].usage, held(&memcgs)), (38, [38, 1, 37]));
}

/// Random charges in a random tree: every level is the sum of those below, at every step.
#[test]
fn levels_are_sums() {
    let paths = ["a", "a/b", "c", "a/b/d", "c/e", "a/f", "a/b/d/g"];
    let mut config = machine(&paths);
    for (i, m) in config.memcgs.iter_mut().enumerate() {
        (m.min, m.low) = (i as u64 % 3 * 7, i as u64 % 2 * 30);
    }
    let mut memcgs = Memcgs::new(&config);
    let mut own = vec![0_u64; paths.len() + 1];
    let mut rng = Rng::for_purpose(1, "levels");
    for _ in 0..2000 {
        let m = MemcgId(rng.below(own.len() as u64) as u16);
        let n = rng.below(20);
        if rng.below(2) == 0 {
            memcgs.charge(m, n);
            own[m.index()] += n;
        } else {
            let n = n.min(own[m.index()]);
            memcgs.uncharge(m, n);
            own[m.index()] -= n;
        }
        memcgs.check(&own);
    }
}

#[test]
fn events_count_at_every_level() {
    let mut memcgs = groups(&["pod", "pod/a", "pod/b"]);
    memcgs.event(A, MemcgEvent::Max, 2);
    memcgs.event(POD, MemcgEvent::Max, 1);
    let of = |m| memcgs[m].events;
    let max = MemcgEvent::Max as usize;
    assert_eq!([POD, A, B].map(|m| of(m).local[max]), [1, 2, 0]);
    assert_eq!([POD, A, B].map(|m| of(m).all[max]), [3, 2, 0]);
    assert_eq!(memcgs[ROOT].events, MemcgEvents::default());
}

/// Stock as used memory. CPU 0 charges a page and has 63 in stock. Another batch does not fit, so
/// CPU 1 charges single pages: at a usage of 100 it has 36, and 37 are in use.
#[test]
fn stock_fills_a_limit() {
    let mut config = machine(&["g"]);
    config.memcgs[0].max = Some(100);
    config.cpus = 2;
    let mut memcgs = counted_as_the_kernel_does(config);
    let g = MemcgId(1);
    assert_eq!(memcgs.charge_in_batch(CpuId(0), g, 1), 64);
    assert_eq!((memcgs[g].usage, memcgs[g].stock), (64, 63));
    for used in 65..=100 {
        assert!(!memcgs.in_stock(CpuId(1), g, 1));
        assert_eq!(memcgs.failing_level(g, 1), None);
        assert_eq!(memcgs.charge_in_batch(CpuId(1), g, 1), 1);
        assert_eq!(memcgs[g].usage, used);
    }
    assert_eq!(memcgs.failing_level(g, 1), Some(g));
    assert!(memcgs.in_stock(CpuId(0), g, 1));
    memcgs.drain_stocks(g);
    assert_eq!((memcgs[g].usage, memcgs[g].stock), (37, 0));
}

/// Two groups take a page in turn on one CPU. With one entry each charge gives up the other's stock
/// and takes a batch. With seven, each takes one batch for 64 pages.
#[test]
fn seven_entries_spare_batches() {
    let batches = |entries: u32| {
        let mut config = machine(&["a", "b"]);
        let mut rules = config.kernel_rules();
        rules.memcg_stock_groups = entries;
        config.rules = Some(rules);
        let mut memcgs = counted_as_the_kernel_does(config);
        let mut charges = (0..128).map(|i| {
            let took = memcgs.charge_in_batch(CpuId(0), MemcgId(1 + i % 2), 1);
            (took > 0, memcgs[MemcgId(1)].usage, memcgs[MemcgId(2)].usage)
        });
        let (first, second) = (charges.next().unwrap(), charges.next().unwrap());
        let batches = 2 + charges.filter(|c| c.0).count();
        (first, second, batches)
    };
    assert_eq!(batches(1), ((true, 64, 0), (true, 1, 64), 128));
    assert_eq!(batches(7), ((true, 64, 0), (true, 64, 64), 2));
}

fn counted_as_the_kernel_does(mut config: MachineConfig) -> Memcgs {
    let mut rules = config.kernel_rules();
    rules.memcg_charges = MemcgCharges::Kernel;
    config.rules = Some(rules);
    Memcgs::new(&config)
}

/// A daemon writes protections: the sum of the level above follows, and the root has none.
#[test]
fn a_written_protection_moves_the_sum_above() {
    let mut memcgs = groups(&["pod", "pod/a"]);
    memcgs.charge(A, 100);
    let charged = [0, 0, 100];
    for (group, low, sum) in [(A, 60, 60), (POD, 80, 60), (POD, 10, 60), (A, 150, 100), (A, 20, 20)]
    {
        memcgs.write(group, Control::Low, Some(low));
        assert_eq!(memcgs[POD].protected_below, [0, sum], "{group}: low {low}");
        memcgs.check(&charged);
    }
    memcgs.uncharge(A, 90);
    assert_eq!(memcgs[POD].protected_below, [0, 10]);
}

/// As recorded (`evidence/trees`): page tables come out of the stock. Those that are freed go into it,
/// and with one entry a stock above a batch is given back whole, with seven what was added.
#[test]
fn tables_are_charged_out_of_the_stock() {
    let after = |entries: u32| {
        let mut config = machine(&["g"]);
        let mut rules = config.kernel_rules();
        rules.memcg_stock_groups = entries;
        config.rules = Some(rules);
        let mut memcgs = counted_as_the_kernel_does(config);
        let g = MemcgId(1);
        memcgs.charge_table(CpuId(0), g);
        assert_eq!((memcgs[g].usage, memcgs[g].stock), (64, 63));
        memcgs.charge_in_batch(CpuId(0), g, 1);
        assert_eq!((memcgs[g].usage, memcgs[g].stock), (64, 62));
        memcgs.uncharge_table(CpuId(0), g);
        assert_eq!((memcgs[g].usage, memcgs[g].stock), (64, 63));
        memcgs.charge_kernel(CpuId(0), g, 64);
        assert_eq!((memcgs[g].usage, memcgs[g].stock), (128, 63));
        memcgs.uncharge_kernel(CpuId(0), g, 64);
        (memcgs[g].usage, memcgs[g].stock)
    };
    assert_eq!(after(1), (1, 0));
    assert_eq!(after(7), (64, 63));
}

/// 32 entries of 1365 bytes are 43,680 bytes: eleven pages, out of a stock of 63.
#[test]
fn zswap_is_charged_by_its_bytes() {
    let mut memcgs = counted_as_the_kernel_does(machine(&["g"]));
    let g = MemcgId(1);
    memcgs.charge_in_batch(CpuId(0), g, 1);
    (0..32).for_each(|_| memcgs.charge_zswap(CpuId(0), g, 1365));
    assert_eq!((memcgs[g].kernel, memcgs[g].usage, memcgs[g].stock), (11, 64, 52));
    (0..32).for_each(|_| memcgs.uncharge_zswap(CpuId(0), g, 1365));
    assert_eq!((memcgs[g].kernel, memcgs[g].usage, memcgs[g].stock), (0, 64, 63));
}

/// A charge that had to reclaim takes its own page, though reclaim made room for a batch. The next
/// one takes a batch again.
#[test]
fn a_charge_that_had_to_reclaim_takes_no_batch() {
    let mut memcgs = counted_as_the_kernel_does(machine(&["g"]));
    let g = MemcgId(1);
    memcgs.reclaimed_for_charge();
    assert_eq!(memcgs.charge_in_batch(CpuId(0), g, 1), 1);
    assert_eq!(memcgs.charge_in_batch(CpuId(0), g, 1), 64);
}

/// The record of a group is charged to the group above. A CPU with one entry has given the rest of
/// that batch back when it takes a batch of another group; with seven it keeps it.
#[test]
fn records_of_groups_are_charged_above() {
    let memcgs = counted_as_the_kernel_does(machine(&["pod", "pod/a", "pod/b"]));
    let held = |m: &Memcgs| [POD, A, B].map(|g| m[g].usage);
    assert_eq!((held(&memcgs), memcgs[POD].kernel), ([64, 0, 0], 4));
    let mut one = memcgs;
    one.charge_in_batch(CpuId(0), A, 1);
    assert_eq!(held(&one), [68, 64, 0]);
    assert_eq!(held(&groups(&["pod", "pod/a", "pod/b"])), [0; 3]);
}
