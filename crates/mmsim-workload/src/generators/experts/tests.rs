use super::super::harness::{self, Ticking};
use super::*;

/// Two layers of four experts with three slices of two pages, a dense part of one page, a head of three.
fn config() -> ExpertsConfig {
    ExpertsConfig {
        end: 5,
        layers: 2,
        experts: 4,
        top_k: 2,
        slice: 2,
        dense: 1,
        head: 3,
        compute: SimDuration::ZERO,
        ..ExpertsConfig::of(Kernel::LAST)
    }
}

fn all(c: &ExpertsConfig) -> Vec<Op> {
    harness::all(c.workloads(1)[0].as_mut(), Ticking(0))
}

/// By hand: a layer has 1 + 3 x 4 x 2 pages, so the file has 2 x 25 + 3; a token touches in each layer
/// the dense page and 3 x 2 x 2 more, and the head.
#[test]
fn a_token_touches_the_layers_in_order() {
    let c = config();
    assert_eq!(c.pages(), 53);
    let pages: Vec<u32> = harness::touches(&all(&c)).iter().map(|t| t.1).collect();
    assert_eq!(pages.len(), 5 * (2 * 13 + 3));
    for token in pages.chunks(29) {
        assert_eq!((token[0], token[13]), (0, 25));
        assert_eq!(token[26..], [50, 51, 52]);
        for (layer, part) in [(0, &token[1..13]), (25, &token[14..26])] {
            // The slices of an expert are as far apart as those of all experts are long.
            let expert = |p: usize, e: usize| part[4 * p + 2 * e] - layer - 1 - 8 * p as u32;
            for e in [0, 1] {
                assert!(
                    (0..3).all(|p| expert(p, e) == expert(0, e) && expert(0, e).is_multiple_of(2))
                );
                assert_eq!(part[2 * e + 1], part[2 * e] + 1);
            }
            assert_ne!(expert(0, 0), expert(0, 1));
        }
    }
}

/// The threads of a process draw the same experts and share their pages.
#[test]
fn threads_share_each_run() {
    let mut c = config();
    let one = harness::touches(&all(&c));
    c.threads = 2;
    let mut parts: Vec<(u16, u32, bool)> = Vec::new();
    for w in &mut c.workloads(1) {
        parts.extend(harness::touches(&harness::all(w.as_mut(), Ticking(0))));
    }
    let sorted = |mut t: Vec<(u16, u32, bool)>| {
        t.sort_unstable();
        t
    };
    assert_eq!(sorted(parts), sorted(one));
}

/// A buffer for all experts of a layer misses each of them once, and one for a token's experts is an
/// LRU of two.
#[test]
fn direct_reads_what_is_not_kept() {
    let reads = |kept: u32| {
        let c = ExpertsConfig { strategy: Strategy::Direct, kept, end: 50, ..config() };
        let ops = all(&c);
        let of = |o: &Op| match *o {
            Op::Uncached { count, write: false, how: Uncached::Direct, .. } => count,
            _ => 0,
        };
        ops.iter().map(of).sum::<u32>()
    };
    assert_eq!(reads(4), 2 * 4 * 3 * 2);
    assert!(reads(2) > 2 * reads(4), "{} and {}", reads(2), reads(4));
}

/// The dense parts are locked once; of the experts as many as are to be kept, and those that leave are
/// unlocked before.
#[test]
fn pin_locks_the_experts_used_most() {
    let c = ExpertsConfig { strategy: Strategy::Pin, kept: 3, repin: 4, end: 40, ..config() };
    let mut locked = [0i32; 53];
    for op in all(&c) {
        match op {
            Op::Mlock { first, count, .. } => {
                (first..first + count).for_each(|p| locked[p as usize] += 1)
            }
            Op::Munlock { first, count, .. } => {
                (first..first + count).for_each(|p| locked[p as usize] -= 1);
            }
            _ => {}
        }
        assert!(locked.iter().all(|n| (0..=1).contains(n)), "{locked:?}");
    }
    assert_eq!(locked.iter().sum::<i32>(), 2 + 3 * 3 * 2);
}

#[test]
fn what_does_not_fit_is_refused() {
    struct All;
    impl Given for All {
        fn has(&self, _: &str) -> bool {
            true
        }
        fn is_default(&self, key: &str) -> bool {
            ["theta", "repin", "readers"].contains(&key)
        }
    }
    let task = TaskOf { name: "model", threads: 1, kernel: Kernel::LAST };
    let wrong = |c: ExpertsConfig| match c.clone().finish(&task, &All) {
        Err(Misfit::Value(key, found, _)) => format!("{key}: {found}"),
        other => panic!("{other:?} of {c:?}"),
    };
    assert_eq!(wrong(ExpertsConfig { top_k: 5, ..config() }), "top-k: 5 of 4 experts");
    let pin = ExpertsConfig { strategy: Strategy::Pin, kept: 9, ..config() };
    assert_eq!(wrong(pin), "kept: 9 of 8 experts");
    let direct = ExpertsConfig { strategy: Strategy::Direct, kept: 1, ..config() };
    assert_eq!(wrong(direct), "kept: 1 kept experts hold no token's 2");
    assert_eq!(wrong(config()), "kept: nothing is kept with strategy = \"plain\"");
}

/// A batch of three tokens touches each expert of any of them once: the union of what three tokens in
/// turn are routed to, which is what the batch draws.
#[test]
fn a_batch_touches_the_union_of_its_experts() {
    let c = ExpertsConfig { end: 1, layers: 1, experts: 16, prefill: 3, ..config() };
    let mut router = Router::new(
        c.routing,
        c.theta,
        (1, 16, 2),
        Rng::for_purpose(1, &format!("experts/{}/routing", c.name)),
    );
    let mut union = Vec::new();
    (0..3).for_each(|_| router.route(0, &mut union));
    union.sort_unstable();
    union.dedup();
    let slices = (0..3).flat_map(|p| union.iter().map(move |&e| (p, e)));
    let pages = slices.flat_map(|(p, e)| c.slice_of(0, p, e));
    let want: Vec<u32> = (0..1).chain(pages).chain(97..100).collect();
    let touched: Vec<u32> = harness::touches(&all(&c)).iter().map(|t| t.1).collect();
    assert_eq!(touched, want);
}

/// Two readers: in decode they read the routed slices of the second and third projection; in prefill
/// all of the second layer, 1 + 3 x 4 x 2 pages, and nothing behind the last.
#[test]
fn readers_read_what_comes_next() {
    let read = |prefill: u32| {
        let c =
            ExpertsConfig { end: 1, strategy: Strategy::Prefetch, readers: 2, prefill, ..config() };
        let mut pages = Vec::new();
        for w in &mut c.workloads(1)[1..] {
            for op in harness::all(w.as_mut(), Ticking(0)) {
                match op {
                    Op::Read { first, count, .. } => pages.extend(first..first + count),
                    Op::Access(_) | Op::Madvise { .. } => panic!("a reader only reads: {op:?}"),
                    _ => {}
                }
            }
        }
        pages.sort_unstable();
        pages
    };
    assert_eq!(read(1).len(), 2 * 2 * 2 * 2, "layers, projections, experts, pages");
    assert_eq!(read(2), (25..50).collect::<Vec<u32>>());
}
