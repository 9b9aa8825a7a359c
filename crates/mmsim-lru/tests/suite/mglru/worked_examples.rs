//! Worked examples of the multi-generational LRU: figures worked out by hand from the kernel's
//! rules, step by step, on the policy and on its naive twin; those that begin in the middle of a
//! history, with counters that are too large for work by hand, on the twin alone.

use crate::harness::mglru_twin::Both;
use crate::model::mglru::{
    self, ANON, Config, FILE, LAZY, Lazyfree, Naive, Page, Placement, Position, Reclaim, Shadow,
    Sizes, eligible, initial_priority, positive, tier_of_distance,
};

const KSWAPD: &Reclaim = &Reclaim::KSWAPD;
const ANON_VA: u32 = 0;
const FILE_VA: u32 = 512;

fn naive(config: Config) -> Naive {
    Naive::new(config, 1 << 20)
}

/// Pages of one letter, `1..=n`, head first: the last added is at the head.
fn down(letter: char, from: u32, to: u32) -> Vec<Page> {
    (to..=from).rev().map(|n| Page(letter, n)).collect()
}

fn list(n: &Naive, seq: u64, kind: usize) -> &[Page] {
    &n.lists[(seq % 4) as usize][kind]
}

fn counters(n: &Naive, wanted: &[(&str, u64)]) {
    for &(name, value) in wanted {
        assert_eq!(n.counter(name), value, "{name}");
    }
}

fn sizes(n: &Naive, seq: u64) -> [u64; 2] {
    [n.nr_pages(seq, ANON), n.nr_pages(seq, FILE)]
}

// ---- 32 frames: population, aging, eviction, refault ----

/// A1 to A12 are faulted in, M1 to M8 of a mapped file, U1 to U8 of another are read once.
fn populated(config: Config) -> Both {
    let regions = [('A', None, ANON_VA, 13), ('m', Some('M'), FILE_VA, 9)];
    let mut n = Both::new(config, &regions);
    (1..=12).for_each(|i| n.touch('A', i, true));
    (1..=8).for_each(|i| n.touch('m', i, false));
    (1..=8).for_each(|i| n.read(Page('U', i)));
    n
}

#[test]
fn population_aging_eviction_refault() {
    let mut n = populated(Config::V6_12S);
    assert_eq!((n.max_seq, n.min_seq), (3, [0, 0]));
    assert_eq!(list(&n, 3, ANON), down('A', 12, 1));
    assert_eq!(list(&n, 3, FILE), down('M', 8, 1));
    assert_eq!(list(&n, 1, FILE), down('U', 8, 1));
    assert_eq!((n.sizes(ANON), n.sizes(FILE)), ([12, 0], [8, 8]));

    // Generation 0 is empty: nothing is isolated, and the types advance together.
    assert_eq!(n.evict(KSWAPD), 1);
    assert_eq!((n.max_seq, n.min_seq), (3, [1, 1]));
    counters(&n, &[("pgscan_file", 0), ("pgsteal_file", 0)]);

    // U is freed in order; the generations advance before that is booked.
    assert_eq!(n.evict(KSWAPD), 0);
    assert_eq!(n.min_seq, [2, 2]);
    counters(&n, &[("pgscan_file", 8), ("pgsteal_file", 8)]);
    assert_eq!(n.evicted[FILE], [8, 0, 0, 0]);
    for (i, e) in (1..=8).zip(0..) {
        let shadow = Shadow { seq: 2, low: 0, workingset: false, evictions: e };
        assert_eq!(n.out[&Page('U', i)].shadow, shadow, "U{i}");
    }
    assert_eq!((n.folios.len(), sizes(&n, 3)), (20, [12, 8]));

    // All PTEs are young from their faults: everything stays in generation 3.
    assert!(n.age());
    assert_eq!((n.max_seq, n.min_seq), (4, [2, 2]));
    assert_eq!((sizes(&n, 3), sizes(&n, 4)), ([12, 8], [0, 0]));
    assert!(n.folios.values().all(|f| !f.maps.any(|p| p.young)));
    assert_eq!((n.sizes(ANON)[0], n.sizes(FILE)[0]), (12, 8));

    assert_eq!(n.evict(KSWAPD), 0);
    assert_eq!((n.max_seq, n.min_seq), (4, [3, 3]));
    assert_eq!((n.avg_total[FILE][0], n.evicted[FILE][0]), (4, 0));

    (1..=4).for_each(|i| n.touch('A', i, true));
    (1..=2).for_each(|i| n.touch('m', i, false));
    assert!(n.age());
    assert_eq!((n.max_seq, n.min_seq), (5, [3, 3]));
    assert_eq!((sizes(&n, 3), sizes(&n, 4)), ([8, 6], [4, 2]));
    assert_eq!(list(&n, 3, ANON), down('A', 12, 1), "sorting is lazy");
    assert_eq!((n.sizes(ANON), n.sizes(FILE)), ([4, 8], [2, 6]));

    assert_eq!(n.evict(KSWAPD), 8);
    assert_eq!((n.max_seq, n.min_seq), (5, [3, 3]));
    assert_eq!(list(&n, 4, FILE), down('M', 2, 1));
    assert_eq!((sizes(&n, 3), sizes(&n, 4)), ([8, 0], [4, 2]));
    counters(&n, &[("pgrefill", 2), ("pgscan_file", 14)]);
    assert_eq!(n.evicted[FILE], [6, 0, 0, 0]);
    assert!((3..=8).all(|i| n.out[&Page('M', i)].shadow.seq == 3));
    assert_eq!(n.folios.len(), 14);

    // Files give nothing; anonymous folios are promoted and swapped out, and booked one
    // generation later.
    assert_eq!(n.evict(KSWAPD), 0);
    assert_eq!(n.min_seq, [4, 4]);
    assert_eq!(list(&n, 4, ANON), down('A', 4, 1));
    assert_eq!(sizes(&n, 4), [4, 2]);
    counters(&n, &[("pgrefill", 6), ("pgscan_anon", 8), ("pswpout", 8)]);
    assert_eq!(n.evicted[ANON], [8, 0, 0, 0]);
    assert!((5..=12).all(|i| n.out[&Page('A', i)].shadow.seq == 4));
    assert_eq!((n.avg_total[FILE][0], n.folios.len()), (5, 6));

    n.touch('A', 6, true);
    assert_eq!((sizes(&n, 4), sizes(&n, 5)), ([4, 2], [1, 0]));
    counters(
        &n,
        &[
            ("workingset_refault_anon", 1),
            ("workingset_activate_anon", 1),
            ("workingset_restore_anon", 1),
        ],
    );
    assert_eq!(n.refaulted[ANON], [1, 0, 0, 0]);
    let a6 = &n.folios[&Page('A', 6)];
    assert!(a6.workingset && n.refs(a6) == 1);

    n.read(Page('U', 3));
    assert_eq!(list(&n, 4, FILE), [Page('U', 3), Page('M', 2), Page('M', 1)]);
    assert_eq!((sizes(&n, 4), sizes(&n, 5)), ([4, 3], [1, 0]));
    counters(&n, &[("workingset_refault_file", 1), ("workingset_activate_file", 0)]);
    assert_eq!((n.sizes(FILE)[0], n.folios.len()), (3, 8));
    n.check();
}

/// Before 6.8 reads go to the oldest generation: the first step frees them.
#[test]
fn population_before_the_fix() {
    let mut n = populated(Config { placement: Placement::PreFix, ..Config::V6_12S });
    assert_eq!(list(&n, 0, FILE), down('U', 8, 1));
    assert_eq!(n.evict(KSWAPD), 0);
    assert_eq!(n.min_seq, [2, 2]);
    counters(&n, &[("pgscan_file", 8), ("pgsteal_file", 8)]);
}

/// In 6.1 a refault that is not recent is not counted.
#[test]
fn refaults_that_count() {
    let refaults = |config| {
        let mut n = populated(config);
        n.evict(KSWAPD);
        n.evict(KSWAPD);
        n.age();
        n.evict(KSWAPD);
        assert!(n.min_seq[FILE] > n.out[&Page('U', 3)].shadow.seq);
        n.read(Page('U', 3));
        n.compare();
        n.counter("workingset_refault_file")
    };
    assert_eq!(refaults(Config::V6_12S), 1);
    assert_eq!(refaults(Config { counts_all_refaults: false, ..Config::V6_12S }), 0);
}

// ---- the controller ----

/// Anonymous tier 0: 120 of 1000 refaulted. File tier 0: 400 of 2000.
fn controlled() -> Naive {
    let mut n = naive(Config::V6_12RC);
    (n.avg_refaulted[ANON][0], n.refaulted[ANON][0]) = (100, 20);
    (n.avg_total[ANON][0], n.evicted[ANON][0]) = (800, 200);
    (n.avg_refaulted[FILE][0], n.refaulted[FILE][0]) = (300, 100);
    (n.avg_total[FILE][0], n.evicted[FILE][0]) = (1500, 500);
    n
}

#[test]
fn type_choice_with_numbers() {
    let mut n = controlled();
    assert_eq!(n.type_to_scan(60).0, FILE);
    assert_eq!(n.type_to_scan(100).0, ANON);
    n.refaulted[FILE][0] = 230;
    assert_eq!(n.type_to_scan(60).0, FILE, "530 refaults");
    n.refaulted[FILE][0] = 231;
    assert_eq!(n.type_to_scan(60).0, ANON, "531 refaults");
}

#[test]
fn tier_limits_with_numbers() {
    let mut n = controlled();
    (n.refaulted[FILE][1], n.evicted[FILE][1]) = (90, 300);
    assert_eq!(n.type_to_scan(60), (FILE, Some(0)));
    n.evicted[FILE][1] = 400;
    n.refaulted[FILE][2] = 63;
    assert_eq!(n.type_to_scan(60), (FILE, Some(3)));
    n.evicted[FILE][1] = 300;
    (n.refaulted[FILE][2], n.evicted[FILE][2]) = (120, 200);
    assert_eq!(n.limit_within(FILE), 1);
    n.config.tier_gain = [2, 3];
    assert_eq!(n.limit_within(FILE), 0);
}

#[test]
fn comparison_with_numbers() {
    let at = |refaulted, total, gain| Position { refaulted, total, gain };
    assert!(positive(at(120, 1000, 60), at(530, 2000, 140)));
    assert!(!positive(at(120, 1000, 60), at(531, 2000, 140)));
    assert!(!positive(at(120, 1000, 100), at(400, 2000, 100)));
    assert!(positive(at(0, 0, 200), at(63, 1, 0)), "below 64 refaults");
}

#[test]
fn carried_over_twice() {
    let mut n = controlled();
    n.carry_over(FILE);
    assert_eq!((n.avg_refaulted[FILE][0], n.avg_total[FILE][0]), (200, 1000));
    assert_eq!((n.refaulted[FILE][0], n.evicted[FILE][0]), (0, 0));
    n.carry_over(FILE);
    assert_eq!((n.avg_refaulted[FILE][0], n.avg_total[FILE][0]), (100, 500));
}

// ---- tiers protect folios that were read ----

/// P1 to P6 in the oldest of three generations, Pn read n times; Z keeps the anonymous one.
fn tiers(config: Config) -> Both {
    let mut n = Both::new(config, &[('Z', None, ANON_VA, 1), ('L', None, 1024, 200)]);
    three_generations(&mut n, true, 0);
    for i in 1..=6 {
        (0..i).for_each(|_| n.read(Page('P', i)));
    }
    n.compare();
    assert_eq!(list(&n, 4, FILE), down('P', 6, 1));
    let of = |i| &n.folios[&Page('P', i)];
    let refs: Vec<_> = (1..=6).map(|i| (n.refs(of(i)), n.tier_of(of(i)))).collect();
    assert_eq!(refs, [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (4, 3)]);
    n
}

/// Generations 4 to 6, with an anonymous page in the oldest that was not accessed for long, or
/// without, and `read` pages that were read once.
fn three_generations(n: &mut Both, anon: bool, read: u32) {
    n.age();
    if anon {
        n.touch('Z', 0, true);
    }
    n.age();
    n.age();
    assert_eq!((n.max_seq, n.min_seq), (6, [3, 3]));
    (1..=read).for_each(|i| n.read(Page('F', i)));
    // Generation 3 is empty.
    assert_eq!(n.evict(KSWAPD), 1);
    if anon || read > 0 {
        assert_eq!(n.min_seq, [4, 4]);
    }
}

#[test]
fn tiers_before_the_fix() {
    let mut n = tiers(Config::V6_7_PRE);
    n.evict(KSWAPD);
    assert_eq!(n.evicted[FILE], [1, 1, 2, 2]);
    counters(&n, &[("pgscan_file", 6), ("pgrefill", 0), ("pgsteal_file", 6)]);
    let shadow = |i| {
        let s = n.out[&Page('P', i)].shadow;
        (s.low, s.workingset, s.seq)
    };
    assert_eq!(
        [1, 2, 3, 4, 5, 6].map(shadow),
        [(0, false, 4), (0, true, 4), (1, true, 4), (2, true, 4), (3, true, 4), (3, true, 4)]
    );
    (1..=6).for_each(|i| n.read(Page('P', i)));
    n.compare();
    assert_eq!(n.refaulted[FILE], [1, 1, 2, 2]);
    counters(&n, &[("workingset_restore_file", 2)]);
    for i in [5, 6] {
        let f = &n.folios[&Page('P', i)];
        assert!(f.workingset && n.refs(f) == 1);
    }
}

#[test]
fn tiers_with_the_fix() {
    let mut n = tiers(Config::V6_8_POST);
    n.evict(KSWAPD);
    assert_eq!(n.evicted[FILE], [1, 1, 2, 0]);
    counters(&n, &[("pgscan_file", 4), ("pgrefill", 2), ("pgsteal_file", 4)]);
    assert_eq!(list(&n, 5, FILE), [Page('P', 5), Page('P', 6)]);
    assert_eq!(n.protected[FILE], [0, 0, 0, 2]);
    assert!([5, 6].iter().all(|&i| n.refs(&n.folios[&Page('P', i)]) == 0));
    (1..=4).for_each(|i| n.read(Page('P', i)));
    assert_eq!(n.refaulted[FILE], [1, 1, 2, 0]);
    counters(&n, &[("workingset_restore_file", 1)]);
    assert_eq!(n.refs(&n.folios[&Page('P', 4)]), 4);
    // The next visit protects it.
    n.evict(KSWAPD);
    assert!(n.folios.contains_key(&Page('P', 4)) && !n.folios.contains_key(&Page('P', 3)));
}

#[test]
fn tiers_with_limit_0() {
    let mut n = tiers(Config::V6_7_PRE).naive;
    // Every tier but the first refaults too much.
    for t in 1..4 {
        (n.refaulted[FILE][t], n.evicted[FILE][t]) = (1000, 1000);
    }
    n.evict(KSWAPD);
    assert_eq!(n.protected[FILE], [0, 1, 2, 2]);
    counters(&n, &[("pgscan_file", 1), ("pgrefill", 5)]);
    assert!(!n.folios.contains_key(&Page('P', 1)));
}

// ---- lazyfree: the order of eviction ----

/// F1 to F3 in generation 4, with four generations F4 to F6 in generation 5, then `MADV_FREE` on
/// L1, L2, L3.
fn lazyfree(lazyfree: Lazyfree, gens: u64, anon: bool) -> Both {
    // Walks go everywhere.
    let config = Config { lazyfree, bloom: false, ..Config::V6_12RC };
    let mut n = Both::new(config, &[('Z', None, ANON_VA, 1), ('L', None, 1024, 200)]);
    if gens == 3 {
        three_generations(&mut n, anon, 3);
    } else {
        (0..3).for_each(|_| assert!(n.age()));
        (1..=3).for_each(|i| n.read(Page('F', i)));
        n.age();
        (4..=6).for_each(|i| n.read(Page('F', i)));
        assert_eq!((n.max_seq, n.min_seq), (7, [4, 4]));
    }
    (1..=3).for_each(|i| n.touch('L', i, true));
    (1..=3).for_each(|i| n.madvise_free('L', i));
    n.compare();
    counters(&n, &[("pglazyfree", 3)]);
    n
}

/// Evicts as far as that goes, one page at a time being too little to see the order: the
/// order is that of the shadows, and of the drops between them.
fn order(n: &mut Both) -> Vec<Page> {
    let mut order = Vec::new();
    loop {
        let before: Vec<Page> = n.lists.iter().flatten().flatten().copied().collect();
        // The order within a step is that of the list, from the tail, the lazyfree one first.
        let oldest = (n.min_seq[FILE] % 4) as usize;
        let tails = [LAZY, FILE].map(|l| n.lists[oldest][l].clone());
        let scanned = n.evict(KSWAPD);
        let gone = |p: &&Page| before.contains(p) && !n.folios.contains_key(p);
        order.extend(tails.iter().flat_map(|l| l.iter().rev().filter(gone)));
        if scanned == 0 {
            return order;
        }
    }
}

pub(super) fn pages(text: &str) -> Vec<Page> {
    let page = |t: &str| Page(t.chars().next().unwrap(), t[1..].parse().unwrap());
    text.split_whitespace().map(page).collect()
}

#[test]
fn lazyfree_with_four_generations() {
    for (variant, lists, evicted) in [
        (Lazyfree::Base, ["F3 F2 F1", "L3 L2 L1 F6 F5 F4", "", ""], "F1 F2 F3 F4 F5 F6 L1 L2 L3"),
        (Lazyfree::Tail, ["F3 F2 F1 L1 L2 L3", "F6 F5 F4", "", ""], "L3 L2 L1 F1 F2 F3 F4 F5 F6"),
        (Lazyfree::ListV2, ["F3 F2 F1", "F6 F5 F4", "", "L3 L2 L1"], "F1 F2 F3 L1 L2 L3 F4 F5 F6"),
        (
            Lazyfree::ListFixed,
            ["F3 F2 F1", "F6 F5 F4", "", "L3 L2 L1"],
            "F1 F2 F3 L1 L2 L3 F4 F5 F6",
        ),
    ] {
        let mut n = lazyfree(variant, 4, false);
        let now = [(4, FILE), (5, FILE), (4, LAZY), (5, LAZY)];
        for ((seq, kind), wanted) in now.into_iter().zip(lists) {
            assert_eq!(list(&n, seq, kind), pages(wanted), "{variant:?}, G{seq}");
        }
        assert_eq!(order(&mut n), pages(evicted), "{variant:?}");
        counters(
            &n,
            &[("pgscan_file", 9), ("pgsteal_file", 9), ("pglazyfreed", 3), ("pglazyfree", 3)],
        );
        assert_eq!(n.evictions[ANON], 6, "shadows");
    }
}

#[test]
fn lazyfree_with_three_generations() {
    for (variant, lists, evicted) in [
        (Lazyfree::Base, ["L3 L2 L1 F3 F2 F1", ""], "F1 F2 F3 L1 L2 L3"),
        (Lazyfree::Tail, ["F3 F2 F1 L1 L2 L3", ""], "L3 L2 L1 F1 F2 F3"),
        (Lazyfree::ListV2, ["F3 F2 F1", "L3 L2 L1"], "L1 L2 L3 F1 F2 F3"),
        (Lazyfree::ListFixed, ["F3 F2 F1", "L3 L2 L1"], "L1 L2 L3 F1 F2 F3"),
    ] {
        let mut n = lazyfree(variant, 3, false);
        for (kind, wanted) in [FILE, LAZY].into_iter().zip(lists) {
            assert_eq!(list(&n, 4, kind), pages(wanted), "{variant:?}");
        }
        assert_eq!(order(&mut n), pages(evicted), "{variant:?}");
        assert_eq!(n.min_seq[FILE], 5, "two generations are left");
    }
}

/// L1 is dropped, L2 was written and becomes anonymous, L3 was read and stays lazyfree.
#[test]
fn lazyfree_pages_that_are_used_again() {
    let regions = [('Z', None, ANON_VA, 1), ('L', None, 1024, 4)];
    let mut n = Both::new(Config::V6_12RC, &regions);
    three_generations(&mut n, true, 0);
    (1..=3).for_each(|i| n.touch('L', i, true));
    (1..=3).for_each(|i| n.madvise_free('L', i));
    n.set_pte('L', 2, false, true);
    n.set_pte('L', 3, true, false);
    n.evict(KSWAPD);
    assert!(!n.folios.contains_key(&Page('L', 1)));
    assert_eq!(list(&n, 6, ANON), [Page('L', 2)]);
    assert_eq!(list(&n, 6, FILE), [Page('L', 3)]);
    let l3 = &n.folios[&Page('L', 3)];
    assert!(l3.anon && !l3.swapbacked && n.folios[&Page('L', 2)].swapbacked);
    counters(&n, &[("pgscan_file", 3), ("pgsteal_file", 1), ("pglazyfreed", 1), ("pgactivate", 1)]);
}

/// Refused lazyfree folios land on the list of files, and have lost their precedence.
#[test]
fn list_v2_splices_into_the_wrong_list() {
    let mut n = lazyfree(Lazyfree::ListV2, 3, true);
    let noio = Reclaim { io: false, ..Reclaim::KSWAPD };
    assert_eq!(n.evict(&noio), 6);
    counters(&n, &[("pgskip", 3), ("pgsteal_file", 3)]);
    assert_eq!(list(&n, 4, FILE), pages("L3 L2 L1"));
    assert_eq!(list(&n, 4, LAZY), []);
    n.touch('L', 4, true);
    n.madvise_free('L', 4);
    n.read(Page('F', 7));
    n.compare();
    assert_eq!(list(&n, 4, FILE), pages("F7 L3 L2 L1"));
    assert_eq!(list(&n, 4, LAZY), pages("L4"));
    assert_eq!(order(&mut n), pages("L4 L1 L2 L3 F7"));
    // Repaired, they stay where they were.
    let mut n = lazyfree(Lazyfree::ListFixed, 3, true);
    n.evict(&noio);
    assert_eq!((list(&n, 4, LAZY), list(&n, 4, FILE)), (&pages("L3 L2 L1")[..], &[][..]));
}

/// A folio that landed there and was accessed goes back to a list of its own kind.
#[test]
fn list_v2_sorts_what_went_astray() {
    let mut n = lazyfree(Lazyfree::ListV2, 3, true);
    n.evict(&Reclaim { io: false, ..Reclaim::KSWAPD });
    assert_eq!(list(&n, 4, FILE), pages("L3 L2 L1"));
    n.touch('L', 1, false);
    assert!(n.age());
    assert_eq!(list(&n, 4, FILE), pages("L3 L2 L1"));
    n.evict(KSWAPD);
    assert_eq!((list(&n, 6, LAZY), list(&n, 6, FILE)), (&pages("L1")[..], &[][..]));
}

/// 100 lazyfree folios and 10 of files share the batch of 64.
#[test]
fn list_v2_batches() {
    let config = Config { lazyfree: Lazyfree::ListV2, ..Config::V6_12RC };
    let mut n = Both::new(config, &[('Z', None, ANON_VA, 1), ('L', None, 1024, 200)]);
    three_generations(&mut n, true, 0);
    (0..100).for_each(|i| n.touch('L', i, true));
    (0..100).for_each(|i| n.madvise_free('L', i));
    (0..10).for_each(|i| n.read(Page('F', i)));
    n.evict(KSWAPD);
    counters(&n, &[("pglazyfreed", 64), ("pgscan_file", 64)]);
    assert_eq!(list(&n, 4, FILE).len(), 10);
    n.evict(KSWAPD);
    counters(&n, &[("pglazyfreed", 100), ("pgscan_file", 110), ("pgsteal_file", 110)]);
}

/// Without swap: a generation without files is passed although lazyfree folios remain, which
/// are reached again four agings later.
#[test]
fn list_v2_strands_folios() {
    for (variant, freed) in
        [(Lazyfree::ListV2, [64, 64, 64, 64, 100]), (Lazyfree::ListFixed, [64, 100, 100, 100, 100])]
    {
        let config = Config { lazyfree: variant, swappiness: 0, ..Config::V6_12RC };
        let mut n = Both::new(config, &[('L', None, ANON_VA, 200), ('f', Some('F'), 1024, 2)]);
        n.age();
        n.age();
        n.touch('f', 1, false);
        n.age();
        n.read(Page('D', 0));
        n.evict(KSWAPD);
        assert_eq!((n.max_seq, n.min_seq[FILE]), (6, 4));
        (0..100).for_each(|i| n.touch('L', i, true));
        (0..100).for_each(|i| n.madvise_free('L', i));
        n.forget(Page('D', 0));
        assert_eq!((list(&n, 4, FILE), list(&n, 5, FILE)), (&[][..], &[Page('F', 1)][..]));
        n.evict(KSWAPD);
        assert_eq!(n.counter("pglazyfreed"), freed[0], "{variant:?}");
        if variant == Lazyfree::ListFixed {
            assert_eq!(n.min_seq[FILE], 4);
            n.evict(KSWAPD);
            assert_eq!((n.counter("pglazyfreed"), n.min_seq[FILE]), (100, 5));
            continue;
        }
        assert_eq!((n.min_seq[FILE], list(&n, 4, LAZY).len()), (5, 36));
        for (max, freed) in (7..=10).zip(freed[1..].iter()) {
            assert!(n.age());
            assert_eq!(n.max_seq, max);
            while n.evict(KSWAPD) > 0 {}
            assert_eq!(n.counter("pglazyfreed"), *freed, "max {max}");
        }
    }
}

/// Making room for a generation turns the oldest one round.
#[test]
fn a_forced_step_inverts_the_order() {
    let mut n = Both::new(Config::V6_12RC, &[]);
    (1..=3).for_each(|i| n.read(Page('F', i)));
    n.age();
    (4..=5).for_each(|i| n.read(Page('F', i)));
    n.compare();
    assert_eq!(list(&n, 1, FILE), pages("F3 F2 F1"));
    assert_eq!(list(&n, 2, FILE), pages("F5 F4"));
    assert!(n.age());
    assert_eq!((n.max_seq, n.min_seq), (5, [2, 2]));
    assert_eq!(list(&n, 2, FILE), pages("F5 F4 F1 F2 F3"));
    assert_eq!(order(&mut n), pages("F3 F2 F1 F4 F5"));
}

// ---- refault distances ----

#[test]
fn distances_that_make_a_page_eligible() {
    let sizes = |active, inactive, can_swap| Sizes { active, inactive, can_swap };
    let threshold = |s: Sizes, kind| (0..).find(|&d| !eligible(&s, kind, d)).unwrap();
    assert_eq!(threshold(sizes([0, 300], [0, 700], false), FILE), 300);
    assert_eq!(threshold(sizes([0, 800], [0, 200], false), FILE), 200);
    let swap = sizes([400, 300], [100, 700], true);
    assert_eq!([threshold(swap, FILE), threshold(swap, ANON)], [800, 1400]);
    let tiers = [250, 251, 500, 501, 1000, 1001].map(|d| tier_of_distance(1000, d));
    assert_eq!(tiers, [0, 1, 1, 2, 2, 3]);
}

/// a to d are evicted; a has distance 3, then 4 after b was evicted again and not before.
#[test]
fn distances_count_evictions_alone() {
    let config = Config { distance: mglru::Distance::V3, ..Config::V6_7_PRE };
    let mut n = Both::new(config, &[]);
    (1..=4).for_each(|i| n.read(Page('f', i)));
    n.evict(KSWAPD);
    let evicted = |n: &Both, i| n.evictions[ANON] - n.out[&Page('f', i)].shadow.evictions;
    assert_eq!([1, 2, 3, 4].map(|i| evicted(&n, i)), [4, 3, 2, 1]);
    n.read(Page('f', 2));
    n.compare();
    assert_eq!(evicted(&n, 1), 4, "a refault takes nothing away");
}

/// 300 active pages of files and 700 inactive ones: a page that comes back after 300
/// evictions goes to the oldest generation, one that comes back after 250 to the youngest.
#[test]
fn a_short_distance_activates() {
    let mut n = naive(Config { distance: mglru::Distance::V3, ..Config::V6_7_PRE });
    for i in 0..1000 {
        let (page, seq) = (Page('F', i), if i < 300 { 3 } else { 0 });
        n.read(page);
        n.remove(page, true);
        n.folios.get_mut(&page).unwrap().gener = Some(seq);
        n.lists[seq][FILE].push(page);
    }
    assert_eq!(n.sizes(FILE), [300, 700]);
    n.free_slots = 0;
    for (i, at, seq) in [(2000, 5300, 0), (2001, 5250, 3)] {
        let shadow = Shadow { seq: 0, low: 0, workingset: false, evictions: 5000 };
        n.out.insert(Page('F', i), mglru::Out { shadow, swapped: false });
        n.evictions[ANON] = at;
        n.read(Page('F', i));
        assert_eq!(list(&n, seq, FILE)[0], Page('F', i));
    }
    counters(&n, &[("workingset_activate_file", 1), ("workingset_refault_file", 2)]);
}

// ---- budgets ----

#[test]
fn budgets() {
    let wants = mglru::wants_aging;
    for ([max, min], [young, old], wanted) in [
        ([5, 4], [0, 0], (true, 0)),
        ([6, 4], [2000, 3000], (false, 8192)),
        ([6, 4], [5000, 2500], (true, 8192)),
        ([7, 4], [8192, 0], (false, 8192)),
    ] {
        assert_eq!(wants(false, [min, max], [8192, young, old]), wanted);
    }
}

/// With most pages in the youngest of three generations a round ages instead of scanning; but
/// not the first one, whose share of so few pages is none.
#[test]
fn a_round_ages_once() {
    let mut n = populated(Config::V6_12S);
    n.evict(KSWAPD);
    n.evict(KSWAPD);
    assert!(n.age());
    n.evict(KSWAPD);
    assert_eq!((n.max_seq, n.min_seq), (4, [3, 3]));
    n.shrink(KSWAPD, 12);
    assert_eq!(n.max_seq, 4);
    n.shrink(KSWAPD, 11);
    assert_eq!((n.max_seq, n.folios.len()), (5, 20));
    // Now all are in the oldest of three: aging can wait.
    assert_eq!((n.naive.budget(KSWAPD, 2), n.max_seq), (20 >> 2, 5));
    n.shrink(KSWAPD, 2);
    assert_eq!((n.max_seq, n.folios.len()), (5, 12));
}

#[test]
fn first_priorities() {
    let p = [(100_000, 1024), (1_000_000, 128), (5000, 5000), (5000, 32)];
    assert_eq!(p.map(|(r, n)| initial_priority(r, n)), [6, 12, 6, 12]);
}
