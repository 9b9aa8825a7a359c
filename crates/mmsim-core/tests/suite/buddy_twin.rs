//! The buddy allocator against a naive one: the same requests, the whole state compared after each:
//! which blocks are free, on which list, in which order, the types of pageblocks, and the reported
//! fallbacks.
//!
//! The twin keeps lists as plain deques and finds buddies by searching them. It knows no
//! untouched run, no masks and no links, and cuts pages off one at a time.

use crate::model::step::{Model, Real, Step};
use mmsim_core::base::id::Pfn;
use mmsim_core::base::kernel::Kernel;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rules::{End, Fallback, KernelRules};
use mmsim_core::phys::buddy::Extfrag;
use mmsim_core::phys::frames::flag;
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

const SCHEMES: [KernelRules; 4] = [
    KernelRules::of(Kernel::V4_1),
    KernelRules::of(Kernel::V5_5),
    KernelRules::of(Kernel::V6_1),
    KernelRules::of(Kernel::V6_12),
];

fn small(rules: KernelRules, pageblock_order: u8, max_order: u8) -> KernelRules {
    KernelRules { pageblock_order, max_order, ..rules }
}

/// Random requests under every scheme, on zones that begin and end anywhere.
struct Requests;

impl ReferenceStateMachine for Requests {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        let size = prop::sample::select(vec![(3, 3), (4, 5)]);
        (prop::sample::select(SCHEMES.to_vec()), 30u32..200, 0u32..40, size)
            .prop_map(|(rules, nr, from, (block, max))| {
                Model::new(nr, from.min(nr), small(rules, block, max))
            })
            .boxed()
    }

    fn transitions(m: &Model) -> BoxedStrategy<Step> {
        let mt = || prop::sample::select(Migratetype::REQUESTS.to_vec());
        let whole = || prop::bool::weighted(0.2);
        let set = prop::sample::select(vec![Migratetype::Isolate, Migratetype::Cma]);
        let order = prop_oneof![6 => Just(0u8), 2 => 1u8..3, 1 => 0..=m.rules.max_order];
        let mut any = vec![
            (
                8,
                step((order, mt(), whole(), any::<bool>()), |(order, mt, whole, lru)| {
                    Step::Alloc { order, mt, whole, lru }
                }),
            ),
            (2, step((1u32..20, mt(), whole()), |(n, mt, whole)| Step::Pages { n, mt, whole })),
            (1, step((0..m.nr, set), |(p, mt)| Step::SetType(p, mt))),
            (1, step((mt(), any::<bool>()), |(mt, force)| Step::Unreserve(mt, force))),
        ];
        // Of blocks there must be one to choose from.
        let held: Vec<u32> = m.held.iter().map(|h| h.0).collect();
        let pages: Vec<u32> = m.held.iter().filter(|h| h.1 == 0).map(|h| h.0).collect();
        let free: Vec<u32> = m.naive.blocks().collect();
        if !held.is_empty() {
            any.push((8, step(prop::sample::select(held.clone()), Step::Free)));
            if m.rules.highatomic {
                any.push((1, step(prop::sample::select(held), Step::Reserve)));
            }
        }
        if !pages.is_empty() {
            // As they were taken, many beside one another, or backwards.
            let some = (0..pages.len(), 1usize..40, prop::bool::ANY);
            any.push((
                4,
                step(some, move |(from, n, back)| {
                    let mut some = pages[from..pages.len().min(from + n)].to_vec();
                    some.sort_unstable_by_key(|&p| if back { u32::MAX - p } else { p });
                    Step::FreePages(some)
                }),
            ));
        }
        if !free.is_empty() {
            any.push((1, step(prop::sample::select(free), Step::Isolate)));
        }
        prop::strategy::Union::new_weighted(any).boxed()
    }

    fn preconditions(m: &Model, step: &Step) -> bool {
        m.permits(step)
    }

    fn apply(mut m: Model, step: &Step) -> Model {
        m.apply(step);
        m
    }
}

fn step<S>(of: S, to: impl Fn(S::Value) -> Step + 'static) -> BoxedStrategy<Step>
where
    S: Strategy + 'static,
{
    of.prop_map(to).boxed()
}

/// The real allocator under those requests, and the blocks that it was seen to hand out.
struct Twin {
    real: Real,
    orders: std::collections::BTreeMap<u32, u8>,
}

impl StateMachineTest for Twin {
    type SystemUnderTest = Twin;
    type Reference = Requests;

    fn init_test(m: &Model) -> Twin {
        Twin { real: Real::new(m), orders: Default::default() }
    }

    fn apply(mut twin: Twin, m: &Model, step: Step) -> Twin {
        let answer = twin.real.apply(&step, |p| twin.orders[&p]);
        assert_eq!(answer, m.answer, "{step:?}");
        twin.orders.extend(answer.blocks);
        twin
    }

    fn check_invariants(twin: &Twin, m: &Model) {
        twin.real.compare(m);
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_naive_one(sequential 1..150 => Twin);
}

/// Both side by side, for cases that are written down.
struct Pair {
    model: Model,
    real: Real,
}

impl Pair {
    fn new(nr: u32, from: u32, rules: KernelRules) -> Pair {
        let model = Model::new(nr, from, rules);
        Pair { real: Real::new(&model), model }
    }

    fn step(&mut self, step: Step) {
        let held = self.model.held.clone();
        self.model.apply(&step);
        let order_of = |p| held.iter().find(|h| h.0 == p).expect("a block in use").1;
        let answer = self.real.apply(&step, order_of);
        assert_eq!(answer, self.model.answer, "{step:?}");
    }

    fn alloc(&mut self, order: u8, mt: Migratetype, lru: bool) -> Option<u32> {
        self.step(Step::Alloc { order, mt, whole: false, lru });
        self.model.answer.blocks.first().map(|b| b.0)
    }

    /// Frees what was allocated as the `i`th of what is left.
    fn free(&mut self, i: usize) {
        self.step(Step::Free(self.model.held[i].0));
    }

    fn compare(&self) {
        self.real.compare(&self.model);
    }

    fn list(&self, order: u8, mt: Migratetype) -> Vec<u32> {
        self.real.buddy.list(order, mt).map(|p| p.0).collect()
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
                p.alloc(1, Migratetype::Movable, i % 3 == 0);
            }
            for _ in 0..4 {
                let i = p.model.held.len().saturating_sub(3);
                p.free(i);
            }
            for _ in 0..depth {
                let i = code % n;
                code /= n;
                match choices[i] {
                    Some((order, mt)) => drop(p.alloc(order, mt, false)),
                    None if p.model.held.is_empty() => {}
                    None if i == n - 1 => p.free(0),
                    None => p.free(p.model.held.len() - 1),
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
    let lists = |p: &Pair| -> Vec<Vec<u32>> { (0..5).map(|k| p.list(k, M)).collect() };
    for scheme in SCHEMES {
        let mut p = Pair::new(16, 0, small(scheme, 3, 4));
        let alloc = |p: &mut Pair, order, want, after: [&[u32]; 5]| {
            assert_eq!(p.alloc(order, M, true), Some(want));
            assert_eq!(lists(p), after.map(|l| l.to_vec()));
        };
        alloc(&mut p, 0, 0, [&[1], &[2], &[4], &[8], &[]]);
        alloc(&mut p, 1, 2, [&[1], &[], &[4], &[8], &[]]);
        alloc(&mut p, 0, 1, [&[], &[], &[4], &[8], &[]]);
        alloc(&mut p, 2, 4, [&[], &[], &[], &[8], &[]]);
        let free = |p: &mut Pair, f: u32, after: [&[u32]; 5]| {
            p.step(Step::Free(f));
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
        let low = p.alloc(3, Movable, true).unwrap();
        p.step(Step::SetType(low ^ 8, Isolate));
        p.step(Step::Free(low));
        p.step(Step::SetType(low ^ 8, Movable));
        p.compare();
        assert_eq!(
            p.real.buddy.blocks(&p.real.frames).map(|b| b.order).collect::<Vec<_>>(),
            [3, 3]
        );
    }
}

/// A map of two pageblocks of 8 frames: `m` on an LRU list, `P` pinned, `.` free. Free frames
/// were freed in ascending order.
fn of_map(map: &str, rules: KernelRules, types: [Migratetype; 2]) -> Pair {
    let map: Vec<char> = map.chars().filter(|c| "mP.".contains(*c)).collect();
    let mut p = Pair::new(16, 0, small(rules, 3, 3));
    while p.alloc(0, Migratetype::Movable, false).is_some() {}
    for (i, mt) in types.into_iter().enumerate() {
        p.step(Step::SetType(8 * i as u32, mt));
    }
    for (f, &c) in map.iter().enumerate() {
        match c {
            '.' => p.step(Step::Free(f as u32)),
            'm' => {
                p.real.frames.set(Pfn(f as u32), flag::LRU);
                p.model.naive.movable[f] = true;
            }
            _ => {}
        }
    }
    p.compare();
    p
}

fn request(p: &mut Pair, mt: Migratetype) -> (u32, Extfrag) {
    let got = p.alloc(0, mt, false).unwrap();
    p.compare();
    (got, *p.real.buddy.extfrag().last().unwrap())
}

/// Worked by hand under the rules of 4.1: the largest block, and with it the pageblock.
#[test]
fn a_pageblock_with_enough_free_pages_is_taken_over() {
    use Migratetype::{Movable, Unmovable};
    let mut p = of_map("mP..mPmP m.PP....", KernelRules::of(Kernel::V4_1), [Movable; 2]);
    let lists = [0, 1, 2].map(|k| p.list(k, Movable));
    assert_eq!(lists, [vec![9], vec![2], vec![12]]);
    let (got, e) = request(&mut p, Unmovable);
    assert_eq!(got, 12);
    assert_eq!([0, 1].map(|k| p.list(k, Unmovable)), [vec![13, 9], vec![14]]);
    assert_eq!([0, 1, 2].map(|k| p.list(k, Movable)), [vec![], vec![2], vec![]]);
    assert_eq!(p.real.buddy.block_type(Pfn(8)), Unmovable);
    assert_eq!((e.fallback_order, e.fragmenting, e.change_ownership), (2, true, true));
}

/// Worked by hand: three free pages are too few for 4.1; with the three that cannot be moved
/// either they are enough from 4.12 on.
#[test]
fn alike_pages_count_from_4_12_on() {
    use Migratetype::{Movable, Unmovable};
    let map = "mP..mPmP P.Pm..mP";
    let mut p = of_map(map, KernelRules::of(Kernel::V4_1), [Movable; 2]);
    let (got, e) = request(&mut p, Unmovable);
    assert_eq!((got, e.change_ownership), (12, false));
    assert_eq!(p.list(0, Unmovable), [13, 9]);
    assert_eq!(p.real.buddy.block_type(Pfn(8)), Movable);
    for rules in [KernelRules::of(Kernel::V5_5), KernelRules::of(Kernel::V6_12)] {
        let mut p = of_map(map, rules, [Movable; 2]);
        // The first of the largest blocks is that of frame 12 in both.
        assert_eq!(p.list(1, Movable), [12, 2]);
        let (got, e) = request(&mut p, Unmovable);
        assert!(e.change_ownership && e.fragmenting, "{e:?}");
        assert_eq!(p.real.buddy.block_type(Pfn(8)), Unmovable);
        // Of the claimed pageblock the smallest block is used.
        assert_eq!(got, 9);
    }
}

/// Worked by hand: a movable request in unmovable pageblocks, under 4.1's rules.
#[test]
fn a_movable_request_steals_large_blocks_only() {
    use Migratetype::{Movable, Unmovable};
    let mut p = of_map("PP.PPPPP PP..PPPP", KernelRules::of(Kernel::V4_1), [Unmovable; 2]);
    let (got, e) = request(&mut p, Movable);
    assert_eq!((got, e.fallback_order, e.change_ownership), (10, 1, false));
    assert_eq!(p.list(0, Movable), [11]);
    assert_eq!(p.alloc(0, Movable, false), Some(11));
    let (got, e) = request(&mut p, Movable);
    assert_eq!((got, e.fallback_order, e.change_ownership), (2, 0, false));
}

/// The late scheme of 6.12: where no pageblock can be claimed, the smallest block is taken and
/// its rest stays with its own type.
#[test]
fn what_is_stolen_alone_leaves_the_rest_to_its_type() {
    use Migratetype::{Movable, Unmovable};
    // Of either pageblock five pages are on lists: no claim (2 free + 1, 1 free + 2).
    let mut p = of_map("mm..Pmmm mm.mPmPm", KernelRules::of(Kernel::V6_12), [Movable; 2]);
    let (got, e) = request(&mut p, Unmovable);
    assert_eq!((got, e.fallback_order, e.change_ownership), (10, 0, false));
    let (got, e) = request(&mut p, Unmovable);
    assert_eq!((got, e.fallback_order), (2, 1));
    assert_eq!(p.list(0, Movable), [3], "the other half");
    assert!(p.list(0, Unmovable).is_empty());
    // Three attempts to claim: both pageblocks for the first request, the one for the second.
    assert_eq!(p.real.buddy.boosts(), 3);
}

/// The end of a zone's lists where memory goes at boot decides which is handed out first.
#[test]
fn memory_is_handed_out_from_the_end_that_the_rules_say() {
    for rules in SCHEMES {
        let mut p = Pair::new(40, 5, small(rules, 3, 3));
        let first: Vec<u32> =
            (0..3).filter_map(|_| p.alloc(3, Migratetype::Movable, true)).collect();
        let want = if rules.free_init == End::Tail { [8, 16, 24] } else { [32, 24, 16] };
        assert_eq!(first, want);
    }
    assert_eq!(KernelRules::of(Kernel::V4_1).fallback, Fallback::V4_1);
}
