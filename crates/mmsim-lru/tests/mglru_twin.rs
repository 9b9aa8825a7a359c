//! The multi-generational LRU against a naive one: the same accesses, reads, agings and steps of
//! eviction, and after each the whole state compared: lists in order, generations, marks,
//! accessed bits, refault rates, counters.

mod bench;
mod mglru_naive;
mod mglru_real;

use mglru_naive::{ANON, Config, Distance, FILE, Naive, Page, Placement, Reclaim, Restore};
use mglru_real::Real;
use proptest::prelude::*;

/// Both, with the same regions: anonymous memory in two sizes, a mapped file, and another file.
struct Both {
    naive: Naive,
    real: Real,
}

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
    Drop(usize, u32, u32),
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
        1 => run().prop_map(|(r, p, n)| Step::Drop(r, p, n)),
    ]
}

impl Both {
    fn new(config: Config) -> Both {
        let mut both = Both { naive: Real::naive(config), real: Real::new(&config) };
        for (letter, file, va, pages) in REGIONS {
            both.naive.map(letter, file, va, pages);
            both.real.map(letter, file, va, pages);
        }
        both
    }

    fn step(&mut self, step: Step) {
        let (n, r) = (&mut self.naive, &mut self.real);
        match step {
            Step::Touch(region, first, nr, write) => {
                let (letter, _, _, pages) = REGIONS[region];
                for p in (first..first + nr).map(|p| p % pages) {
                    n.touch(letter, p, write);
                    r.touch(letter, p, write);
                }
            }
            Step::Read(f, first, nr, times) => {
                for p in first..first + nr {
                    for _ in 0..times {
                        n.read(Page(file(f), p));
                        r.read(Page(file(f), p));
                    }
                }
            }
            Step::Write(f, first, nr) => {
                for p in first..first + nr {
                    n.write(Page(file(f), p));
                    r.write(Page(file(f), p));
                }
            }
            Step::Age => {
                let can_swap = n.swappiness(&Reclaim::KSWAPD) > 0;
                assert_eq!(r.age(can_swap), n.age(can_swap));
            }
            Step::Evict(by) => {
                assert_eq!(r.evict(&by), n.evict(&by), "what counts as scanned");
            }
            Step::Shrink(by, priority) => {
                n.shrink(&by, priority.into(), u64::MAX);
                r.shrink(&by, priority);
            }
            Step::Deactivate(region, p) => {
                let (letter, file, _, pages) = REGIONS[region];
                let page = Page(file.unwrap_or(letter), p % pages);
                if n.folios.get(&page).is_some_and(|f| f.maps.nr() == 1) {
                    n.deactivate(page);
                    r.deactivate(page);
                }
            }
            Step::Flush(f, first, nr) => {
                for page in (first..first + nr).map(|p| Page(file(f), p)) {
                    if n.folios.get(&page).is_some_and(|f| f.dirty) {
                        n.flush(page);
                        r.flush(page);
                    }
                }
            }
            Step::Drop(region, first, nr) => {
                let (letter, _, _, pages) = REGIONS[region];
                for p in (first..first + nr).map(|p| p % pages) {
                    n.drop_page(letter, p);
                    r.drop_page(letter, p);
                }
            }
        }
        self.naive.check();
        self.real.compare(&self.naive);
    }
}

fn run(config: Config, steps: &[Step]) {
    let mut both = Both::new(config);
    for (i, &step) in steps.iter().enumerate() {
        let before = both.naive.dump();
        let same = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| both.step(step)));
        if same.is_err() {
            panic!("step {i}, {step:?}\nbefore:\n{before}\nnaive after:\n{}", both.naive.dump());
        }
    }
    both.real.check();
}

/// Kernels and series, at several swappinesses.
fn configs() -> impl Strategy<Value = Config> {
    let base = prop::sample::select(vec![
        Config::V6_1S,
        Config::V6_7_PRE,
        Config::V6_8_POST,
        Config::V6_12RC,
        Config::V6_12S,
    ]);
    (base, prop::sample::select(vec![0, 1, 60, 60, 60, 100, 140, 200]), 0..8u8).prop_map(
        |(base, swappiness, odd)| Config {
            swappiness,
            bloom: odd != 1,
            nonleaf_young: odd != 2 && odd != 3,
            walk_mmu: odd != 3,
            distance: match odd {
                4 => Distance::V3,
                _ => Distance::Off,
            },
            ..base
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_naive_one(
        config in configs(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        run(config, &steps);
    }
}
