//! Worked examples of the multi-generational LRU on the real policy alone: budgets of large
//! memories, and what needs no model to be checked.

use super::worked_examples::pages;
use crate::harness::memory::Bench;
use crate::harness::mglru::Real;
use crate::model::mglru::{Page, Reclaim};
use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::Kernel;
use mmsim_core::phys::frames::flag;
use mmsim_core::policy::{Inspect as _, Move, ReclaimPolicy as _, Reclaimer};
use mmsim_lru::config::LazyfreePlace;
use mmsim_lru::index::{FILE, PerTier, Tier};
use mmsim_lru::{ClassicConfig, MglruConfig};

const KSWAPD: &Reclaim = &Reclaim::KSWAPD;

/// The policy with these numbers of pages in each generation from 4 on, and none in those before.
fn generations_from_4(sizes: &[u32]) -> Real {
    // Walks go everywhere.
    let knobs = MglruConfig { bloom: false, nonleaf_young: false, ..MglruConfig::V6_12_RC };
    let mut r = Real::of(knobs, 60, Kernel::V6_12);
    r.map('A', None, 0, 8192);
    let mut next = 0;
    for &n in sizes {
        assert!(r.age(true));
        (next..next + n).for_each(|i| r.touch('A', i, true));
        next += n;
    }
    assert_eq!(next, 8192);
    // Those that are empty are passed.
    while r.lru.seqs(NodeId(0), MemcgId(0))[0] < 4 {
        r.evict(KSWAPD);
    }
    assert_eq!(r.lru.seqs(NodeId(0), MemcgId(0)), [4, 4, 3 + sizes.len() as u64]);
    r
}

/// 8192 pages: the share of a priority, or a new generation if cold pages run out, and not at the
/// first priority.
#[test]
fn budgets_of_8192_pages() {
    let two = [4000, 4192];
    let balanced = [3000, 3192, 2000];
    let young = [2500, 692, 5000];
    let four = [2000, 2000, 2000, 2192];
    for (sizes, priority, budget) in [
        (&two[..], 12, Some(0)),
        (&two, 11, None),
        (&balanced, 12, Some(2)),
        (&balanced, 10, Some(8)),
        (&young, 12, Some(2)),
        (&young, 11, None),
        (&four, 6, Some(128)),
    ] {
        let mut r = generations_from_4(sizes);
        let max = |r: &Real| r.lru.seqs(NodeId(0), MemcgId(0))[2];
        let before = max(&r);
        let request = Real::request(KSWAPD, priority);
        let got = r.lru.run_budget(&mut r.mem, MemcgId(0), &request);
        assert_eq!(got, budget, "{sizes:?} at {priority}");
        assert_eq!(max(&r) - before, u64::from(budget.is_none()), "{sizes:?} at {priority}");
    }
}

/// The classic LRU in the example on generations of `worked_examples`: F1 to F6 read, then L1 to L3
/// freed.
#[test]
fn lazyfree_on_the_classic_lru() {
    for (lazyfree, wanted, evicted) in [
        (LazyfreePlace::Classic, "L3 L2 L1 F6 F5 F4 F3 F2 F1", "F1 F2 F3 F4 F5 F6 L1 L2 L3"),
        (LazyfreePlace::Tail, "F6 F5 F4 F3 F2 F1 L1 L2 L3", "L3 L2 L1 F1 F2 F3 F4 F5 F6"),
    ] {
        // Page by page.
        let mut b = Bench::new(ClassicConfig { lazyfree, ..ClassicConfig::V6_12 }, 100, 5);
        (1..=6).for_each(|i| b.read_file(i));
        (1..=3).for_each(|i| b.new_anon(i));
        (1..=3).for_each(|i| b.free_lazily(i));
        let listed = |b: &Bench| -> Vec<Page> {
            let name = |f| b.page_of(f);
            b.list(2)
                .into_iter()
                .rev()
                .map(name)
                .map(|(n, f)| Page(if f { 'F' } else { 'L' }, n))
                .collect()
        };
        assert_eq!(listed(&b), pages(wanted), "{lazyfree:?}");
        let mut order: Vec<Page> = Vec::new();
        while let before @ [_, ..] = &listed(&b)[..] {
            b.reclaim(&Bench::request(Reclaimer::Direct, 0, 1));
            let left = listed(&b);
            order.extend(before.iter().rev().filter(|p| !left.contains(p)));
        }
        assert_eq!(order, pages(evicted), "{lazyfree:?}");
        let all = [VmEvent::PgLazyFree, VmEvent::PgLazyFreed, VmEvent::PgStealFile];
        assert_eq!(all.map(|e| b.count(e)), [3, 3, 9]);
    }
}

/// The number of reads that makes a tier: with the workingset flag second, and counted as in 6.14,
/// where the fifth read sets it. Without protection all go, and are booked by tier.
#[test]
fn tiers_by_reads() {
    for (knobs, first_flagged) in [(MglruConfig::V6_12_RC, 2), (MglruConfig::V6_14, 5)] {
        for (reads, tier) in (1..=6).zip([0, 1, 2, 2, 3, 3]) {
            let knobs = MglruConfig { overflow_protect: false, ..knobs };
            let mut r = Real::of(knobs, 60, Kernel::V6_12);
            (0..reads).for_each(|_| r.read(Page('U', 1)));
            let folio = r.folio(Page('U', 1)).unwrap();
            let flagged = r.mem.frames.has(folio, flag::WORKINGSET);
            assert_eq!(flagged, reads >= first_flagged, "{reads} reads, {knobs:?}");
            (0..3).for_each(|_| {
                r.evict(KSWAPD);
            });
            let mut evicted = PerTier::default();
            evicted[Tier(tier)] = 1;
            let booked = r.lru.rates(NodeId(0), MemcgId(0), FILE).1.evicted;
            assert_eq!(booked, evicted, "{reads} reads, {knobs:?}");
        }
    }
}

/// Folios of several generations that are activated together are where they would be one by one.
#[test]
fn activations_together_are_those_one_by_one() {
    let after = |together: bool| {
        let mut r = generations_from_4(&[3000, 3000, 2192]);
        let some = [3, 3041, 5, 6060, 17, 3039, 2, 6080, 21];
        let folios = some.map(|i| r.folio(Page('A', i)).expect("a page in memory"));
        // Some belong to a working set.
        folios[..3].iter().for_each(|&f| r.mem.frames.set(f, flag::WORKINGSET));
        r.mem.given.slow_paths = !together;
        r.lru.folios_move(&mut r.mem, &folios, Move::Activated);
        r.check();
        let of = |list| r.mem.lru.lists.iter_from_tail(list).collect::<Vec<_>>();
        let lists: Vec<_> = r.mem.lru.lists.ids().map(of).collect();
        let flags = folios.map(|f| r.mem.frames.bits(f));
        let sizes = r.lru.snapshot(&r.mem, NodeId(0), MemcgId(0));
        (lists, flags, sizes, r.mem.stats.vmstat[VmEvent::PgActivate])
    };
    assert_eq!(after(true), after(false));
}
