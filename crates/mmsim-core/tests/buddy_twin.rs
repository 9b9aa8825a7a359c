//! The buddy allocator against a naive one: the same requests, the whole state compared
//! after each: which blocks are free, on which list, in which order, the types of
//! pageblocks, and what was told of fallbacks.
//!
//! The twin keeps lists as plain deques and finds buddies by searching them. It knows no
//! untouched run, no masks and no links, and cuts pages off one at a time.

mod naive;

use mmsim_core::base::id::Pfn;
use mmsim_core::phys::Mode;
use mmsim_core::phys::buddy::{Buddy, Columns, Extfrag};
use mmsim_core::phys::frames::{FrameKind, Frames, flag};
use mmsim_core::phys::lists::Lists;
use mmsim_core::phys::migratetype::Migratetype;
use mmsim_core::phys::rules::{End, Fallback, PageAllocRules};
use naive::Naive;
use proptest::prelude::*;

/// Both, and what was allocated.
struct Pair {
    frames: Frames,
    lists: Lists,
    buddy: Buddy,
    naive: Naive,
    held: Vec<(u32, u8)>,
}

impl Pair {
    /// `nr` frames, those before `from` never free.
    fn new(nr: u32, from: u32, rules: PageAllocRules) -> Pair {
        let span = (nr as usize).next_multiple_of(1 << rules.max_order);
        let (mut frames, mut lists) = (Frames::new(span, false), Lists::new(span));
        let mut buddy = Buddy::new(Pfn(0), Pfn(nr), rules);
        buddy.populate(&mut Columns::new(&mut frames, &mut lists), Pfn(from));
        let naive = Naive::new(nr, from, rules);
        Pair { frames, lists, buddy, naive, held: Vec::new() }
    }

    /// Allocates; `lru`: the frames are on an LRU list from then on.
    fn alloc(&mut self, order: u8, mt: Migratetype, whole: bool, lru: bool) -> Option<u32> {
        let mut c = Columns::new(&mut self.frames, &mut self.lists);
        let got = self.buddy.alloc(&mut c, order, mt, whole, &mut Mode::Normal).map(|p| p.0);
        assert_eq!(got, self.naive.alloc(order, mt, whole), "order {order}, {mt:?}");
        if let Some(p) = got {
            self.hold(p, order, lru);
        }
        got
    }

    fn alloc_pages(&mut self, n: u32, mt: Migratetype, whole: bool) {
        let mut got = Vec::new();
        let mut c = Columns::new(&mut self.frames, &mut self.lists);
        self.buddy.alloc_pages(&mut c, n, mt, whole, &mut got);
        assert_eq!(got, self.naive.alloc_pages(n, mt, whole), "{n} pages, {mt:?}");
        got.into_iter().for_each(|p| self.hold(p, 0, true));
    }

    fn hold(&mut self, p: u32, order: u8, lru: bool) {
        for f in p..p + (1 << order) {
            assert_eq!(self.frames.kind(Pfn(f)), FrameKind::Free, "pfn{f}");
            self.frames.reset(Pfn(f), FrameKind::Anon);
            if lru {
                self.frames.set(Pfn(f), flag::LRU);
            }
            self.naive.movable[f as usize] = lru;
        }
        self.held.push((p, order));
    }

    fn free(&mut self, i: usize) {
        let (p, order) = self.held.swap_remove(i);
        let mut c = Columns::new(&mut self.frames, &mut self.lists);
        self.buddy.free(&mut c, Pfn(p), order);
        (p..p + (1 << order)).for_each(|f| self.naive.movable[f as usize] = false);
        self.naive.free(p, order);
    }

    fn compare(&mut self) {
        for order in 0..=self.buddy.rules().max_order {
            for mt in Migratetype::ALL {
                let real: Vec<u32> =
                    self.buddy.list(&self.frames, order, mt).map(|p| p.0).collect();
                let plain: Vec<u32> = self.naive.list(order, mt).iter().copied().collect();
                assert_eq!(real, plain, "list of order {order}, {mt:?}");
            }
        }
        let types: Vec<Migratetype> = self.buddy.pageblocks().map(|b| b.1).collect();
        assert_eq!(types, self.naive.types, "types of pageblocks");
        assert_eq!(self.buddy.extfrag(), self.naive.events, "fallbacks");
        assert_eq!(self.buddy.boosts(), self.naive.boosts, "attempts to steal");
        self.buddy.check(&self.frames, &self.lists);
        let held: u64 = self.held.iter().map(|h| 1 << h.1).sum();
        let isolated = self.buddy.nr_free_of(Migratetype::Isolate);
        assert_eq!(self.buddy.nr_free() + isolated + held, self.naive.frames, "frames conserved");
        let all: u64 = Migratetype::ALL.iter().map(|&mt| self.buddy.nr_free_of(mt)).sum();
        assert_eq!(all + held, self.naive.frames);
    }
}

const SCHEMES: [PageAllocRules; 4] =
    [PageAllocRules::V4_1, PageAllocRules::V5_5, PageAllocRules::V6_1, PageAllocRules::V6_12];

fn small(rules: PageAllocRules, pageblock_order: u8, max_order: u8) -> PageAllocRules {
    PageAllocRules { pageblock_order, max_order, ..rules }
}

#[derive(Clone, Debug)]
enum Step {
    Alloc { order: u8, mt: Migratetype, whole: bool, lru: bool },
    Pages { n: u32, mt: Migratetype, whole: bool },
    Free(usize),
    Isolate(u32),
    SetType(u32, Migratetype),
    Reserve(usize),
    Unreserve(Migratetype, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let mt = || prop::sample::select(Migratetype::REQUESTS.to_vec());
    let order = prop_oneof![6 => Just(0u8), 2 => 1u8..3, 1 => 0u8..6];
    prop_oneof![
        8 => (order, mt(), prop::bool::weighted(0.2), any::<bool>())
            .prop_map(|(order, mt, whole, lru)| Step::Alloc { order, mt, whole, lru }),
        2 => (1u32..20, mt(), prop::bool::weighted(0.2))
            .prop_map(|(n, mt, whole)| Step::Pages { n, mt, whole }),
        8 => any::<usize>().prop_map(Step::Free),
        1 => any::<u32>().prop_map(Step::Isolate),
        1 => (any::<u32>(), prop::sample::select(vec![Migratetype::Isolate, Migratetype::Cma]))
            .prop_map(|(p, mt)| Step::SetType(p, mt)),
        1 => any::<usize>().prop_map(Step::Reserve),
        1 => (mt(), any::<bool>()).prop_map(|(mt, force)| Step::Unreserve(mt, force)),
    ]
}

fn play(rules: PageAllocRules, nr: u32, from: u32, steps: &[Step]) {
    let mut p = Pair::new(nr, from, rules);
    p.compare();
    for s in steps {
        match *s {
            Step::Alloc { order, mt, whole, lru } if order <= rules.max_order => {
                p.alloc(order, mt, whole, lru);
            }
            Step::Alloc { .. } => {}
            Step::Pages { n, mt, whole } => p.alloc_pages(n, mt, whole),
            Step::Free(i) if !p.held.is_empty() => p.free(i % p.held.len()),
            Step::Free(_) => {}
            Step::Isolate(i) => {
                let blocks: Vec<_> = p.buddy.blocks(&p.frames).collect();
                if !blocks.is_empty() {
                    let b = blocks[i as usize % blocks.len()];
                    let mut c = Columns::new(&mut p.frames, &mut p.lists);
                    let order = p.buddy.isolate_block(&mut c, b.pfn).unwrap();
                    assert_eq!(p.naive.isolate(b.pfn.0), order);
                    p.hold(b.pfn.0, order, false);
                }
            }
            Step::SetType(f, mt) => {
                let f = f % nr;
                p.buddy.set_block_type(Pfn(f), mt);
                p.naive.set_type(f, mt);
            }
            Step::Reserve(i) if !p.held.is_empty() && rules.highatomic => {
                // A zone large enough that 1 % of it is a pageblock.
                let (f, order) = p.held[i % p.held.len()];
                let managed = 200 << rules.pageblock_order;
                let mut c = Columns::new(&mut p.frames, &mut p.lists);
                p.buddy.reserve_highatomic(&mut c, Pfn(f), order, managed);
                p.naive.reserve_highatomic(f, order, managed);
            }
            Step::Reserve(_) => {}
            Step::Unreserve(mt, force) => {
                let mut c = Columns::new(&mut p.frames, &mut p.lists);
                let real = p.buddy.unreserve_highatomic(&mut c, mt, force);
                assert_eq!(real, p.naive.unreserve_highatomic(mt, force));
            }
        }
        p.compare();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Random requests under every scheme, on zones that begin and end anywhere.
    #[test]
    fn agrees_with_the_naive_one(
        scheme in 0usize..4,
        nr in 30u32..200,
        from in 0u32..40,
        large in any::<bool>(),
        steps in prop::collection::vec(step(), 0..150),
    ) {
        let (block, max) = if large { (4, 5) } else { (3, 3) };
        play(small(SCHEMES[scheme], block, max), nr, from.min(nr), &steps);
    }
}

/// All sequences of a few requests on two pageblocks of 8 frames, every scheme: unmovable
/// and movable requests of orders 0 to 2, and freeing the oldest or the newest block.
#[test]
fn every_short_sequence_agrees() {
    let choices: Vec<Option<(u8, Migratetype)>> = [0, 1, 2]
        .into_iter()
        .flat_map(|k| [Migratetype::Unmovable, Migratetype::Movable].map(|mt| Some((k, mt))))
        .chain([None, None])
        .collect();
    let depth = 4;
    let n = choices.len();
    for rules in SCHEMES {
        for code in 0..n.pow(depth) {
            let mut p = Pair::new(16, 0, small(rules, 3, 3));
            let mut code = code;
            // Fragmented beforehand: every second pair is taken, some of it on a list.
            for i in 0..8 {
                p.alloc(1, Migratetype::Movable, false, i % 3 == 0);
            }
            for _ in 0..4 {
                let i = p.held.len().saturating_sub(3);
                p.free(i);
            }
            for _ in 0..depth {
                let i = code % n;
                code /= n;
                match choices[i] {
                    Some((order, mt)) => drop(p.alloc(order, mt, false, false)),
                    None if p.held.is_empty() => {}
                    None if i == n - 1 => p.free(0),
                    None => p.free(p.held.len() - 1),
                }
            }
            p.compare();
        }
    }
}

/// Worked by hand: 16 frames in one block, all movable.
#[test]
fn split_and_merge_as_worked_by_hand() {
    const M: Migratetype = Migratetype::Movable;
    let lists = |p: &Pair| -> Vec<Vec<u32>> {
        (0..5).map(|k| p.buddy.list(&p.frames, k, M).map(|p| p.0).collect()).collect()
    };
    for scheme in SCHEMES {
        let mut p = Pair::new(16, 0, small(scheme, 3, 4));
        let alloc = |p: &mut Pair, order, want, after: [&[u32]; 5]| {
            assert_eq!(p.alloc(order, M, false, true), Some(want));
            assert_eq!(lists(p), after.map(|l| l.to_vec()));
        };
        alloc(&mut p, 0, 0, [&[1], &[2], &[4], &[8], &[]]);
        alloc(&mut p, 1, 2, [&[1], &[], &[4], &[8], &[]]);
        alloc(&mut p, 0, 1, [&[], &[], &[4], &[8], &[]]);
        alloc(&mut p, 2, 4, [&[], &[], &[], &[8], &[]]);
        let free = |p: &mut Pair, f: u32, after: [&[u32]; 5]| {
            let i = p.held.iter().position(|h| h.0 == f).unwrap();
            p.free(i);
            assert_eq!(lists(p), after.map(|l| l.to_vec()), "free {f}");
        };
        free(&mut p, 1, [&[1], &[], &[], &[8], &[]]);
        free(&mut p, 2, [&[1], &[2], &[], &[8], &[]]);
        free(&mut p, 0, [&[], &[], &[0], &[8], &[]]);
        free(&mut p, 4, [&[], &[], &[], &[], &[0]]);
    }
}

/// Two free pageblocks that are buddies stay apart when one was isolated while the other was
/// freed, also after its type has been changed back: a change of type merges nothing.
#[test]
fn a_change_of_type_merges_nothing() {
    use Migratetype::{Isolate, Movable};
    for scheme in SCHEMES {
        let mut p = Pair::new(16, 0, small(scheme, 3, 4));
        let low = p.alloc(3, Movable, false, true).unwrap();
        p.buddy.set_block_type(Pfn(low ^ 8), Isolate);
        p.naive.set_type(low ^ 8, Isolate);
        p.free(0);
        p.buddy.set_block_type(Pfn(low ^ 8), Movable);
        p.naive.set_type(low ^ 8, Movable);
        p.compare();
        assert_eq!(p.buddy.blocks(&p.frames).map(|b| b.order).collect::<Vec<_>>(), [3, 3]);
    }
}

/// A map of two pageblocks of 8 frames: `m` on an LRU list, `P` pinned, `.` free. Free frames
/// were freed in ascending order.
fn of_map(map: &str, rules: PageAllocRules, types: [Migratetype; 2]) -> Pair {
    let map: Vec<char> = map.chars().filter(|c| "mP.".contains(*c)).collect();
    let mut p = Pair::new(16, 0, small(rules, 3, 3));
    while p.alloc(0, Migratetype::Movable, false, false).is_some() {}
    for (i, mt) in types.into_iter().enumerate() {
        p.buddy.set_block_type(Pfn(8 * i as u32), mt);
        p.naive.set_type(8 * i as u32, mt);
    }
    for (f, &c) in map.iter().enumerate() {
        let i = p.held.iter().position(|h| h.0 == f as u32).unwrap();
        match c {
            '.' => p.free(i),
            'm' => {
                p.frames.set(Pfn(f as u32), flag::LRU);
                p.naive.movable[f] = true;
            }
            _ => {}
        }
    }
    p.compare();
    p
}

fn list(p: &Pair, order: u8, mt: Migratetype) -> Vec<u32> {
    p.buddy.list(&p.frames, order, mt).map(|p| p.0).collect()
}

fn request(p: &mut Pair, mt: Migratetype) -> (u32, Extfrag) {
    let got = p.alloc(0, mt, false, false).unwrap();
    p.compare();
    (got, *p.buddy.extfrag().last().unwrap())
}

/// Worked by hand under the rules of 4.1: the largest block, and with it the pageblock.
#[test]
fn a_pageblock_with_enough_free_pages_is_taken_over() {
    use Migratetype::{Movable, Unmovable};
    let mut p = of_map("mP..mPmP m.PP....", PageAllocRules::V4_1, [Movable; 2]);
    let lists = [0, 1, 2].map(|k| list(&p, k, Movable));
    assert_eq!(lists, [vec![9], vec![2], vec![12]]);
    let (got, e) = request(&mut p, Unmovable);
    assert_eq!(got, 12);
    assert_eq!([0, 1].map(|k| list(&p, k, Unmovable)), [vec![13, 9], vec![14]]);
    assert_eq!([0, 1, 2].map(|k| list(&p, k, Movable)), [vec![], vec![2], vec![]]);
    assert_eq!(p.buddy.block_type(Pfn(8)), Unmovable);
    assert_eq!((e.fallback_order, e.fragmenting, e.change_ownership), (2, true, true));
}

/// Worked by hand: three free pages are too few for 4.1; with the three that cannot be moved
/// either they are enough from 4.12 on.
#[test]
fn alike_pages_count_from_4_12_on() {
    use Migratetype::{Movable, Unmovable};
    let map = "mP..mPmP P.Pm..mP";
    let mut p = of_map(map, PageAllocRules::V4_1, [Movable; 2]);
    let (got, e) = request(&mut p, Unmovable);
    assert_eq!((got, e.change_ownership), (12, false));
    assert_eq!(list(&p, 0, Unmovable), [13, 9]);
    assert_eq!(p.buddy.block_type(Pfn(8)), Movable);
    for rules in [PageAllocRules::V5_5, PageAllocRules::V6_12] {
        let mut p = of_map(map, rules, [Movable; 2]);
        // The first of the largest blocks is that of frame 12 in both.
        assert_eq!(list(&p, 1, Movable), [12, 2]);
        let (got, e) = request(&mut p, Unmovable);
        assert!(e.change_ownership && e.fragmenting, "{e:?}");
        assert_eq!(p.buddy.block_type(Pfn(8)), Unmovable);
        // Of the claimed pageblock the smallest block is used.
        assert_eq!(got, 9);
    }
}

/// Worked by hand: a movable request in unmovable pageblocks, under 4.1's rules.
#[test]
fn a_movable_request_steals_large_blocks_only() {
    use Migratetype::{Movable, Unmovable};
    let mut p = of_map("PP.PPPPP PP..PPPP", PageAllocRules::V4_1, [Unmovable; 2]);
    let (got, e) = request(&mut p, Movable);
    assert_eq!((got, e.fallback_order, e.change_ownership), (10, 1, false));
    assert_eq!(list(&p, 0, Movable), [11]);
    assert_eq!(p.alloc(0, Movable, false, false), Some(11));
    let (got, e) = request(&mut p, Movable);
    assert_eq!((got, e.fallback_order, e.change_ownership), (2, 0, false));
}

/// The late scheme of 6.12: where no pageblock can be claimed, the smallest block is taken and
/// its rest stays with its own type.
#[test]
fn what_is_stolen_alone_leaves_the_rest_to_its_type() {
    use Migratetype::{Movable, Unmovable};
    // Of either pageblock five pages are on lists: no claim (2 free + 1, 1 free + 2).
    let mut p = of_map("mm..Pmmm mm.mPmPm", PageAllocRules::V6_12, [Movable; 2]);
    let (got, e) = request(&mut p, Unmovable);
    assert_eq!((got, e.fallback_order, e.change_ownership), (10, 0, false));
    let (got, e) = request(&mut p, Unmovable);
    assert_eq!((got, e.fallback_order), (2, 1));
    assert_eq!(list(&p, 0, Movable), [3], "the other half");
    assert!(list(&p, 0, Unmovable).is_empty());
    // Three attempts to claim: both pageblocks for the first request, the one for the second.
    assert_eq!(p.buddy.boosts(), 3);
}

/// The end of a zone's lists where memory goes at boot decides which is handed out first.
#[test]
fn memory_is_handed_out_from_the_end_that_the_rules_say() {
    for rules in SCHEMES {
        let mut p = Pair::new(40, 5, small(rules, 3, 3));
        let first: Vec<u32> =
            (0..3).filter_map(|_| p.alloc(3, Migratetype::Movable, false, true)).collect();
        let want = if rules.free_init == End::Tail { [8, 16, 24] } else { [32, 24, 16] };
        assert_eq!(first, want);
    }
    assert_eq!(PageAllocRules::V4_1.fallback, Fallback::V4_1);
}
