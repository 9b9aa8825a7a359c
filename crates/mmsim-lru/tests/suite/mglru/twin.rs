//! The multi-generational LRU against a naive one: the same accesses, reads, agings and steps of
//! eviction, and after each the whole state compared: lists in order, generations, marks,
//! accessed bits, refault rates, counters.

use crate::harness::mglru::Real;
use crate::harness::mglru_twin::Both;
use crate::model::mglru::{Config, Distance, Lazyfree, Page, Reclaim, Rule};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;

/// Runs of each test.
const CASES: u32 = 150;

/// Letter, file, first virtual page, pages. Regions share page tables, and reach over several.
const REGIONS: [(char, Option<char>, u32, u32); 4] = [
    ('A', None, 0, 300),
    ('m', Some('M'), 300, 150),
    ('B', None, 512, 700),
    ('n', Some('M'), 1300, 40),
];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    /// A run of accesses: region, first page, number, write.
    Touch(usize, u32, u32, bool),
    /// Calls of `read(2)`: file of two, first page, number, times.
    Read(bool, u32, u32, u32),
    Write(bool, u32, u32),
    Age,
    Evict(Reclaim),
    Shrink(Reclaim, u8),
    Deactivate(usize, u32),
    Flush(bool, u32, u32),
    Forget(bool, u32, u32),
    Drop(usize, u32, u32),
    /// `MADV_FREE` of anonymous memory: region of two, first page, number.
    Free(usize, u32, u32),
    /// That, and writing to them again.
    Reuse(usize, u32, u32),
    /// Calls of `read(2)` as above, some steps of eviction, and one more call for each.
    Reread(bool, u32, u32, u32, u8),
}

fn file(mapped: bool) -> char {
    if mapped { 'M' } else { 'U' }
}

fn step() -> impl Strategy<Value = Step> {
    let run = || (0usize..4, 0u32..700, 1u32..90);
    let reclaim = || {
        (any::<bool>(), 0..8u8, 0..8u8, any::<bool>()).prop_map(|(kswapd, swap, io, walks)| {
            // Passes without input and output never come without swap.
            Reclaim { kswapd, may_swap: swap > 0 || io == 0, io: io > 0, walks: kswapd || walks }
        })
    };
    prop_oneof![
        8 => (run(), any::<bool>()).prop_map(|((r, p, n), w)| Step::Touch(r, p, n, w)),
        5 => (any::<bool>(), 0u32..100, 1u32..60, 1u32..7)
            .prop_map(|(f, p, n, t)| Step::Read(f, p, n, t)),
        1 => (any::<bool>(), 0u32..100, 1u32..6).prop_map(|(f, p, n)| Step::Write(f, p, n)),
        3 => Just(Step::Age),
        8 => reclaim().prop_map(Step::Evict),
        // Who has not aged does not walk, and aging ends a pass.
        2 => (reclaim(), 0u8..12)
            .prop_map(|(r, p)| Step::Shrink(Reclaim { walks: r.kswapd, ..r }, p)),
        1 => (0usize..4, 0u32..700).prop_map(|(r, p)| Step::Deactivate(r, p)),
        1 => (any::<bool>(), 0u32..100, 1u32..60).prop_map(|(f, p, n)| Step::Flush(f, p, n)),
        1 => (any::<bool>(), 0u32..100, 1u32..60).prop_map(|(f, p, n)| Step::Forget(f, p, n)),
        1 => run().prop_map(|(r, p, n)| Step::Drop(r, p, n)),
        3 => (0usize..2, 0u32..300, 1u32..250).prop_map(|(r, p, n)| Step::Free(r, p, n)),
        1 => (0usize..2, 0u32..300, 80u32..250)
            .prop_map(|(r, p, n)| Step::Touch(2 * r, p, n, true)),
        2 => run().prop_map(|(r, p, n)| Step::Reuse(r / 2, p, n)),
        3 => (any::<bool>(), 0u32..80, 60u32..300, 1u32..5, 0u8..5)
            .prop_map(|(f, p, n, t, e)| Step::Reread(f, p, n, t, e)),
    ]
}

fn act(both: &mut Both, step: Step) {
    match step {
        Step::Touch(region, first, nr, write) => {
            let (letter, _, _, pages) = REGIONS[region];
            (first..first + nr).for_each(|p| both.touch(letter, p % pages, write));
        }
        Step::Read(f, first, nr, times) => {
            for p in first..first + nr {
                (0..times).for_each(|_| both.read(Page(file(f), p)));
            }
        }
        Step::Write(f, first, nr) => {
            (first..first + nr).for_each(|p| both.write(Page(file(f), p)));
        }
        Step::Age => {
            both.age();
        }
        Step::Evict(by) => {
            both.evict(&by);
        }
        Step::Shrink(by, priority) => both.shrink(&by, priority),
        Step::Deactivate(region, p) => {
            let (letter, file, _, pages) = REGIONS[region];
            both.deactivate(Page(file.unwrap_or(letter), p % pages));
        }
        Step::Flush(f, first, nr) => {
            (first..first + nr).for_each(|p| both.flush(Page(file(f), p)));
        }
        Step::Forget(f, first, nr) => {
            (first..first + nr).for_each(|p| both.forget(Page(file(f), p)));
        }
        Step::Drop(region, first, nr) => {
            let (letter, _, _, pages) = REGIONS[region];
            (first..first + nr).for_each(|p| both.drop_page(letter, p % pages));
        }
        Step::Free(region, first, nr) => {
            let (letter, _, _, pages) = REGIONS[2 * region];
            (first..first + nr).for_each(|p| both.madvise_free(letter, p % pages));
        }
        Step::Reuse(region, first, nr) => {
            act(both, Step::Free(region, first, nr));
            act(both, Step::Touch(2 * region, first, nr, true));
        }
        Step::Reread(f, first, nr, times, steps) => {
            act(both, Step::Read(f, first, nr, times));
            for _ in 0..steps {
                both.evict(&Reclaim::KSWAPD);
            }
            act(both, Step::Read(f, first, nr, 1));
        }
    }
    both.compare();
}

fn run(config: Config, steps: &[Step]) {
    let mut both = Both::new(config, &REGIONS);
    for (i, &step) in steps.iter().enumerate() {
        let before = both.naive.dump();
        let same = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(&mut both, step)));
        if same.is_err() {
            panic!("step {i}, {step:?}\nbefore:\n{before}\nnaive after:\n{}", both.naive.dump());
        }
    }
    both.check();
}

/// Kernels and series, at several swappinesses.
fn configs() -> impl Strategy<Value = Config> {
    let base = prop::sample::select(vec![
        Config::V6_1S,
        Config::V6_7_PRE,
        Config::V6_8_POST,
        Config::V6_12RC,
        Config::V6_12S,
        Config::V6_14,
    ]);
    let lazyfree = prop::sample::select(vec![
        Lazyfree::Base,
        Lazyfree::Base,
        Lazyfree::Tail,
        Lazyfree::ListV2,
        Lazyfree::ListV2,
        Lazyfree::ListFixed,
        Lazyfree::ListOldest,
        Lazyfree::Off,
    ]);
    let swappiness = prop::sample::select(vec![0, 1, 60, 60, 60, 100, 140, 200]);
    (base, swappiness, lazyfree, 0..8u8).prop_map(|(base, swappiness, lazyfree, odd)| Config {
        lazyfree,
        swappiness,
        bloom: odd != 1,
        nonleaf_young: odd != 2 && odd != 3,
        walk_mmu: odd != 3,
        distance: match odd {
            4 if !base.rework => Distance::V3,
            5 if !base.rework => Distance::SecondOldest,
            6 if !base.rework => Distance::Tiered,
            _ => Distance::Off,
        },
        ..base
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_naive_one(
        config in configs(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        run(config, &steps);
    }
}

/// A lazyfree folio whose generation the list as posted leaves behind counts as nothing that could
/// be evicted (`should_run_aging` sums over generations from `min_seq` on): no aging is wanted.
#[test]
fn a_stranded_lazyfree_folio_wants_no_aging() {
    let config = Config { swappiness: 0, lazyfree: Lazyfree::ListV2, ..Config::V6_12S };
    let by = Reclaim { kswapd: false, may_swap: true, io: false, walks: false };
    let steps = [
        Step::Touch(2, 0, 80, true),
        Step::Free(1, 0, 1),
        Step::Evict(by),
        Step::Age,
        Step::Shrink(by, 0),
    ];
    run(config, &steps);
}

/// The steps of the test above meet all the rules that the naive one knows, and a good part of
/// them in each run.
#[test]
fn the_steps_meet_every_rule() {
    let mut runner = TestRunner::deterministic();
    let case = (configs(), prop::collection::vec(step(), 30..60));
    let (mut met, mut sum) = (BTreeSet::new(), 0);
    for _ in 0..CASES {
        let (config, steps) = case.new_tree(&mut runner).unwrap().current();
        let mut naive = Real::naive(config);
        for (letter, file, va, pages) in REGIONS {
            naive.map(letter, file, va, pages);
        }
        let mut both = Both::alone(naive);
        steps.into_iter().for_each(|step| act(&mut both, step));
        sum += both.met.len();
        met.extend(both.met.iter().copied());
    }
    let missed: Vec<_> = Rule::ALL.iter().filter(|r| !met.contains(r)).collect();
    assert!(missed.is_empty(), "never met: {missed:?}");
    assert!(sum >= 8 * CASES as usize, "{sum} in {CASES} runs");
}
