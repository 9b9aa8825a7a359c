//! Lists for each zone, as 4.1 has them, beside lists for each node.

use crate::harness::memory::{Bench, small_machine};
use mmsim_core::backing::swap::Cached;
use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::vmstat::VmEvent::{self, PgSkipDma32, PgSkipNormal, PgStealKswapd};
use mmsim_core::config::{Kernel, MachineConfig, ZoneConfig, ZoneKind};
use mmsim_core::policy::{Inspect as _, ReclaimRequest, Reclaimer};
use mmsim_core::virt::pages::Entry;
use mmsim_lru::{Classic, ClassicConfig};

/// Pages that fill the upper zone, and those that go to the lower one for it.
const UPPER: u32 = 400;
const LOWER: u32 = 200;

fn two_zones(lru_by_zone: bool) -> MachineConfig {
    let mut m = small_machine(UPPER, 2000, 0);
    m.kernel = Kernel::V4_1;
    // The highest zone first, so that pages 0 to 399 are in it and the others are not.
    m.rules = Some(KernelRules { lru_by_zone, fair_zones: false, ..KernelRules::of(m.kernel) });
    let normal = &m.nodes[0].zones[0];
    let low = ZoneConfig { kind: ZoneKind::Dma32, managed: 4096, ..normal.clone() };
    m.nodes[0].zones.insert(0, low);
    m
}

/// Fills the upper zone, then a part of the lower one; no page is used again.
fn filled(lru_by_zone: bool) -> Bench {
    let mut b = Bench::on(&two_zones(lru_by_zone), ClassicConfig::V5_9);
    for id in 0..UPPER + LOWER {
        b.new_anon(id);
        b.forget_access(id);
    }
    b
}

fn kswapd(zones: [ZoneKind; 2], target: u64) -> ReclaimRequest {
    let [lowest, highest] = zones;
    // At priority 0 as much is scanned as it takes.
    ReclaimRequest { lowest, highest, ..Bench::request(Reclaimer::Kswapd, 0, target) }
}

fn count(b: &Bench, e: VmEvent) -> u64 {
    b.mem.stats.vmstat[e]
}

fn resident(b: &Bench, ids: std::ops::Range<u32>) -> usize {
    ids.filter(|&id| b.folio(id, false).is_some()).count()
}

/// kswapd of 4.1 works on one zone. The 200 pages of the lower one were first touched after all 400
/// of the upper one, which are at the tail of a node's list: a scan of that passes over every one of
/// them. A list of the zone begins with what is wanted.
#[test]
fn lru_by_zone() {
    let skipped = |lru_by_zone| {
        let mut b = filled(lru_by_zone);
        b.reclaim(&kswapd([ZoneKind::Dma32; 2], 32));
        assert!(count(&b, PgStealKswapd) >= 32, "by zone: {lru_by_zone}");
        assert_eq!(
            resident(&b, 0..UPPER),
            UPPER as usize,
            "of another zone, by zone: {lru_by_zone}"
        );
        assert!(resident(&b, UPPER..UPPER + LOWER) < LOWER as usize, "by zone: {lru_by_zone}");
        count(&b, PgSkipDma32) + count(&b, PgSkipNormal)
    };
    assert_eq!(skipped(true), 0);
    assert!(skipped(false) >= u64::from(UPPER));
}

/// A request that may use both zones takes the oldest pages of a node: all are of the upper zone. Of
/// zones with lists it takes the oldest of each.
#[test]
fn a_pass_goes_over_all_zones_that_are_wanted() {
    let evicted = |lru_by_zone| {
        let mut b = filled(lru_by_zone);
        b.reclaim(&kswapd([ZoneKind::Dma, ZoneKind::Normal], 32));
        let gone = |ids: std::ops::Range<u32>| ids.len() - resident(&b, ids);
        [gone(UPPER..UPPER + LOWER), gone(0..UPPER)]
    };
    let [low, upper] = evicted(true);
    assert!(low >= 32 && upper >= 32, "{low} {upper}");
    let [low, upper] = evicted(false);
    assert!(low == 0 && upper >= 32, "{low} {upper}");
}

/// Ages are those of the zone that a page was in: the first page that leaves the lower zone leaves
/// the age 1 behind, for itself, however many left the upper one before. A node counts them all.
#[test]
fn shadows_hold_the_age_of_their_zone() {
    let aged = |lru_by_zone| {
        let mut b = filled(lru_by_zone);
        b.reclaim(&kswapd([ZoneKind::Normal; 2], 64));
        let of_upper = count(&b, PgStealKswapd);
        assert!(of_upper >= 64, "by zone: {lru_by_zone}: {of_upper}");
        b.reclaim(&kswapd([ZoneKind::Dma32; 2], 1));
        let Entry::Swap(slot) = b.mem.virt.pages.entry(b.place(UPPER, false)) else {
            panic!("by zone: {lru_by_zone}: the oldest page of the lower zone stays")
        };
        let Cached::Shadow(shadow) = b.mem.swap.as_ref().expect("swap").cached(slot) else {
            panic!("by zone: {lru_by_zone}: no shadow")
        };
        // A snapshot is of the node.
        let values = b.lru.snapshot(&b.mem, NodeId(0), MemcgId(0)).values;
        let age_of_node = values.iter().find(|v| v.0 == "age_anon").expect("an age").1;
        assert_eq!(age_of_node, count(&b, PgStealKswapd), "by zone: {lru_by_zone}");
        (Classic::shadow_says(&b.mem, shadow).0, of_upper)
    };
    assert_eq!(aged(true).0, 1);
    let (age, of_upper) = aged(false);
    assert_eq!(age, of_upper + 1);
}
