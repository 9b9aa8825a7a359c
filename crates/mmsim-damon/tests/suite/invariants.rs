//! Invariants for all numbers: of merging, scores, quotas, goals, watermarks, and of sampling,
//! whose counts have a closed formula.

use crate::harness::{Event, Fake, MIB, PAGE, context, ms, region, target};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_damon::aggregate::{merge_regions_of, split_regions_of};
use mmsim_damon::config::Rand32;
use mmsim_damon::damos::goal::{Goal, Metric, feed, score as goal_score};
use mmsim_damon::damos::quota::Quota;
use mmsim_damon::damos::scheme::{AccessPattern, Action, Scheme};
use mmsim_damon::damos::score::{Histogram, MAX_SCORE, ScoreKind, score};
use mmsim_damon::damos::watermark::{Watermarks, WmarkMetric};
use mmsim_damon::ranges::{init_regions, set_regions, three_regions};
use mmsim_damon::region::draw_sampling_addr;
use mmsim_damon::tuning::{adaptation_bp, tuned};
use mmsim_damon::{Context, DamonConfig, IntervalsGoal, MonitoringAttrs, Region, Target};
use proptest::prelude::*;

const ATTRS: MonitoringAttrs = MonitoringAttrs::DEFAULT;

/// Regions from sizes in pages, gaps before them, counts, last counts and ages.
fn regions() -> impl Strategy<Value = Vec<Region>> {
    let one = (0_u64..3, 1_u64..200, 0_u32..21, 0_u32..21, 0_u32..100);
    prop::collection::vec(one, 1..30).prop_map(|all| {
        let mut at = 0;
        let next = all.into_iter().map(|(gap, pages, nr_accesses, last_nr_accesses, age)| {
            let start = at + gap * PAGE;
            at = start + pages * PAGE;
            Region { last_nr_accesses, ..region(start, at, nr_accesses, age) }
        });
        next.collect()
    })
}

/// All pages of a target.
fn pages(t: &Target) -> Vec<u64> {
    t.regions().iter().flat_map(|r| (r.start..r.end).step_by(PAGE as usize)).collect()
}

/// Accesses times bytes.
fn mass(regions: &[Region]) -> u64 {
    regions.iter().map(|r| u64::from(r.nr_accesses) * (r.end - r.start)).sum()
}

proptest! {
    /// The union stays; no merged region exceeds the limit; each merge lowers the mean of the
    /// accesses by less than one and never raises it.
    #[test]
    fn merging(regions in regions(), threshold in 0_u32..25, limit in 1_u64..2000) {
        let before = target(&regions);
        let mut t = before.clone();
        merge_regions_of(&mut t, threshold, limit * PAGE, true, false);
        prop_assert_eq!(pages(&t), pages(&before));
        for r in t.regions() {
            let parts: Vec<_> =
                regions.iter().filter(|p| r.start <= p.start && p.end <= r.end).copied().collect();
            prop_assert!(parts.len() == 1 || r.end - r.start <= limit * PAGE);
            let (whole, of_parts) = (mass(std::slice::from_ref(r)), mass(&parts));
            let merges = parts.len() as u64 - 1;
            prop_assert!(whole <= of_parts && of_parts <= whole + merges * (r.end - r.start));
            prop_assert_eq!(r.last_nr_accesses, parts[0].last_nr_accesses);
        }
    }

    /// Cuts keep the union, make at most `pieces` pieces of each region, and whole pages.
    #[test]
    fn cutting(regions in regions(), pieces in 2_u32..4, seed in any::<u64>()) {
        let before = target(&regions);
        let mut t = before.clone();
        let mut rng = Rng::for_purpose(seed, "split");
        let mut draw = || 1 + rng.below(9);
        split_regions_of(&mut t, pieces, PAGE, true, &mut draw, &mut Vec::new());
        prop_assert_eq!(pages(&t), pages(&before));
        for whole in &regions {
            let inside = t.regions().iter().filter(|r| whole.start <= r.start && r.end <= whole.end);
            let inside: Vec<_> = inside.collect();
            prop_assert!(inside.len() <= pieces as usize);
            prop_assert!(inside.len() == 1 || whole.end - whole.start > 2 * PAGE);
            prop_assert!(inside.iter().all(|r| r.age == whole.age && r.start % PAGE == 0));
        }
    }

    /// Regions fitted to ranges cover exactly these.
    #[test]
    fn fitting(
        regions in regions(),
        gaps in prop::collection::vec((0_u64..300, 1_u64..300), 1..6),
    ) {
        let mut at = 0;
        let ranges: Vec<_> = gaps
            .iter()
            .map(|(gap, size)| {
                let start = at + gap * PAGE;
                at = start + size * PAGE;
                start..at
            })
            .collect();
        let mut t = target(&regions);
        set_regions(&mut t, &ranges, PAGE).unwrap();
        let expected: Vec<u64> = ranges.iter().flat_map(|r| r.clone().step_by(PAGE as usize)).collect();
        prop_assert_eq!(pages(&t), expected);
        prop_assert!(t.regions().windows(2).all(|w| w[0].end <= w[1].start));
    }

    /// Three ranges cover all mappings, and nothing of the two largest gaps.
    #[test]
    fn three_ranges(gaps in prop::collection::vec((0_u64..50, 1_u64..50), 1..20)) {
        let mut at = 0;
        let mappings: Vec<_> = gaps
            .iter()
            .map(|(gap, size)| {
                let start = at + gap;
                at = start + size;
                start..at
            })
            .collect();
        let mut between: Vec<u64> = gaps[1..].iter().map(|g| g.0).filter(|g| *g > 0).collect();
        between.sort_unstable();
        match three_regions(mappings.iter().cloned(), 1) {
            None => prop_assert!(between.len() < 2),
            Some(ranges) => {
                let covered: u64 = ranges.iter().map(|r| r.end - r.start).sum();
                let largest: u64 = between.iter().rev().take(2).sum();
                let span = mappings[mappings.len() - 1].end - mappings[0].start;
                prop_assert_eq!(covered, span - largest);
                for m in &mappings {
                    prop_assert!(ranges.iter().any(|r| r.start <= m.start && m.end <= r.end));
                }
                let mut t = Target::new(None);
                init_regions(&mut t, &ranges, &MonitoringAttrs { min_region: 1, ..ATTRS });
                prop_assert_eq!(t.bytes(), covered);
            }
        }
    }

    /// Scores lie between 0 and 99, hot and cold are 99 together; a region that is not used grows
    /// colder, one that is used more hotter.
    #[test]
    fn scores(nr in 0_u32..=20, age in 0_u32..1 << 20, w in (0_u32..1001, 0_u32..1001)) {
        let q = Quota { weight_nr_accesses: w.0, weight_age: w.1, ..Quota::default() };
        let of = |kind, nr, age| score(kind, nr, age, &ATTRS, &q);
        let hot = of(ScoreKind::Hot, nr, age);
        prop_assert!(hot <= MAX_SCORE);
        prop_assert_eq!(hot + of(ScoreKind::Cold, nr, age), MAX_SCORE);
        prop_assert!(of(ScoreKind::Cold, 0, age) <= of(ScoreKind::Cold, 0, age + 1));
        prop_assert!(hot <= of(ScoreKind::Hot, nr + 1, age));
    }

    /// Above the least score that is served there are fewer bytes than the quota; with it there are
    /// enough, or it is 0.
    #[test]
    fn least_scores(
        all in prop::collection::vec((0_u32..100, 1_u64..1000), 0..40),
        esz in 1_u64..20_000,
    ) {
        let mut h = Histogram::new();
        all.iter().for_each(|(score, bytes)| h.add(*score, *bytes));
        let least = h.min_score(esz);
        let from = |low: u32| all.iter().filter(|a| a.0 >= low).map(|a| a.1).sum::<u64>();
        prop_assert!(from(least + 1) < esz);
        prop_assert!(least == 0 || from(least) >= esz);
    }

    /// The better the score, the smaller what follows; met goals change nothing; the least is kept.
    #[test]
    fn feedback(last in any::<u64>(), a in 0_u64..30_000, b in 0_u64..30_000) {
        let (low, high) = (a.min(b), a.max(b));
        if last < u64::MAX / 10_000 {
            prop_assert!(feed(last, low) >= feed(last, high).min(last.max(10_000)));
        }
        if last >= 10_000 {
            prop_assert!(feed(last, a) >= 10_000);
        }
        prop_assert_eq!(feed(last, 10_000), last);
    }

    /// A scheme whose metric stays between low and high is never switched; with 1000 and 0 it is
    /// always active.
    #[test]
    fn marks(
        rates in prop::collection::vec(0_u64..=1000, 1..30),
        mid in 0_u64..=1000,
        active in any::<bool>(),
    ) {
        let all = Watermarks {
            metric: WmarkMetric::FreeMemRate, interval_us: 1, high: 1000, mid, low: 0,
        };
        let mut on = true;
        prop_assert!(rates.iter().all(|r| all.wait_us(&mut on, *r) == 0 && on));
        // Off, it comes back below mid only.
        let mut on = active;
        for r in rates {
            let before = on;
            let wait = all.wait_us(&mut on, r);
            prop_assert_eq!(on, before || r < mid);
            prop_assert_eq!(wait == 0, on);
        }
    }
}

/// The best achieved goal counts; stall time counts since the last look.
/// How much longer intervals become, worked by hand: as much as is missing; or shorter, by half of
/// what is too much, to a half at most.
#[test]
fn intervals_are_adapted() {
    let scores = [0, 2_500, 5_000, 10_000, 12_000, 15_000, 20_000, u64::MAX];
    let bp = scores.map(adaptation_bp);
    assert_eq!(bp, [20_000, 17_500, 15_000, 10_000, 9_000, 7_500, 5_000, 5_000]);
    // Within the bounds of the goal; at a score of 10000 nothing changes.
    let goal = IntervalsGoal { access_bp: 400, aggrs: 3, sample_us: (4_000, 9_000) };
    let sample = |score| tuned(&ATTRS, &goal, 20, score).map(|a| (a.sample_us, a.aggr_us));
    assert_eq!(sample(0), Some((9_000, 180_000)));
    assert_eq!(sample(20_000), Some((4_000, 80_000)));
    assert_eq!(sample(12_000), Some((4_500, 90_000)));
    assert_eq!(sample(10_000), None);
}

#[test]
fn goals_are_looked_at() {
    let mut goals = [Goal::new(Metric::SomeMemPsiUs, 1000), Goal::user_input(10_000, 4_000)];
    let score = |goals: &mut [Goal], us: u64| goal_score(goals, &mut |_| us, |_| None);
    assert_eq!(score(&mut goals, 500), 5_000, "500 of 1000 us");
    assert_eq!(score(&mut goals, 600), 4_000, "100 since, the user says 4000");
    assert_eq!(score(&mut goals, 3_600), 30_000);
    assert_eq!(score(&mut [], 1), 0);
}

/// From nothing, half achieved: half more in each window, and a page after 22 of them; 128 MiB
/// after 47. Not at all achieved: doubled, 128 MiB after 27.
#[test]
fn a_quota_grows_from_nothing() {
    let windows = |score, bytes: u64| {
        let mut fed = 0_u64;
        (1..).find(|_| {
            fed = feed(fed.max(10_000), score);
            fed / 10_000 >= bytes
        })
    };
    let mut fed = 0_u64;
    let first: Vec<u64> = (0..8)
        .map(|_| {
            fed = feed(fed.max(10_000), 5_000);
            fed / 10_000
        })
        .collect();
    assert_eq!(first, [1, 2, 3, 5, 7, 11, 17, 25]);
    assert_eq!(windows(5_000, 128 * MIB), Some(47));
    assert_eq!(windows(0, 128 * MIB), Some(27));
}

/// Only counting: regions, counts and ages go on as if there were no scheme.
#[test]
fn stat_changes_nothing() {
    let run = |schemes: Vec<Scheme>| {
        let mut c =
            context(DamonConfig::V6_12, ATTRS, vec![target(&[region(0, 64 * MIB, 0, 0)])], schemes);
        let mut fake = Fake { used: Box::new(|a, _| a < 16 * MIB), ..Fake::new() };
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(5_000));
        (c.targets().to_vec(), c)
    };
    let every =
        Scheme { apply_interval_us: 5_000, ..Scheme::new(AccessPattern::ANY, Action::Stat) };
    let (with, c) = run(vec![every]);
    assert_eq!(with, run(Vec::new()).0);
    let s = c.schemes()[0].stat();
    assert!(s.nr_tried > 999 && s.nr_applied == 0, "{s:?}");
}

/// Same seed, same record, to the last bit; another seed, another one.
#[test]
fn runs_repeat() {
    let record = |seed| {
        let mut c = Context::new(DamonConfig::V6_12, Rng::for_purpose(seed, "kdamond"));
        c.set_targets(vec![target(&[region(0, 64 * MIB, 0, 0)])]).unwrap();
        let mut fake = Fake { used: Box::new(|a, _| (a / MIB).is_multiple_of(3)), ..Fake::new() };
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(3_000));
        fake.events
    };
    assert_eq!(record(1), record(1));
    assert_ne!(record(1), record(2));
}

/// A region of n pages of which k are used with every sample shows k/n of the samples, with the
/// spread of independent draws: over 2000 samples the mean is within four standard deviations. Of a
/// region of 8 GiB kernels only sample the first 4, so it shows twice as much.
#[test]
fn counts_are_the_fraction_that_is_used() {
    let cases = [
        (1000_u64, 100_u64, Rand32::Truncated, 0.1),
        (1000, 500, Rand32::Truncated, 0.5),
        (7, 1, Rand32::Truncated, 1.0 / 7.0),
        (1 << 21, 1 << 19, Rand32::Uniform, 0.25),
        (1 << 21, 1 << 19, Rand32::Truncated, 0.5),
    ];
    for (n, k, rand32, p) in cases {
        let attrs =
            MonitoringAttrs { aggr_us: 10_000_000, min_nr_regions: 3, max_nr_regions: 3, ..ATTRS };
        // One region, which is never cut: more than half of three.
        let all = [0, 1].map(|i| region(i * 2 * n * PAGE, (i * 2 + 1) * n * PAGE, 0, 0));
        let mut c = context(DamonConfig::V6_12, attrs, vec![target(&all)], vec![]);
        let used = move |a: u64, _| a / PAGE % (2 * n) < k;
        let mut fake = Fake { used: Box::new(used), rand32, ..Fake::new() };
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(10_001));
        let Some(Event::Aggregated(_, _, regions)) =
            fake.events.iter().find(|e| matches!(e, Event::Aggregated(..)))
        else {
            panic!("no report")
        };
        let deviation = f64::sqrt(2000.0 * p * (1.0 - p));
        for r in regions {
            let off = f64::from(r.nr_accesses) - 2000.0 * p;
            assert!(off.abs() < 4.0 * deviation, "{n} {k}: {r:?}");
        }
        assert_eq!(regions.len(), 2);
    }
}

/// All addresses of a region below 4 GiB are drawn alike: of 64 pages each gets its share.
#[test]
fn draws_are_uniform() {
    for rand32 in [Rand32::Prandom, Rand32::Truncated, Rand32::Uniform] {
        let mut rng = Rng::for_purpose(1, "draw");
        let r = Region::new(MIB, MIB + 64 * PAGE);
        let mut hits = [0_u32; 64];
        for _ in 0..64_000 {
            let at = draw_sampling_addr(&r, rand32, &mut rng);
            assert!(r.start <= at && at < r.end);
            hits[((at - r.start) / PAGE) as usize] += 1;
        }
        // Mean 1000, deviation 31.4.
        assert!(hits.iter().all(|h| h.abs_diff(1000) < 150), "{hits:?}");
    }
}

/// Time goes by samples: with nothing to do a second has two hundred.
#[test]
fn samples_of_a_second() {
    let mut c = context(DamonConfig::V6_12, ATTRS, vec![target(&[region(0, MIB, 0, 0)])], vec![]);
    let mut fake = Fake::new();
    c.start(&mut fake).unwrap();
    let sleeps = fake.run(&mut c, ms(1_001));
    assert_eq!((c.passed_samples(), sleeps.len()), (200, 201));
    assert!(sleeps.iter().all(|s| *s == SimDuration::from_millis(5)));
}
