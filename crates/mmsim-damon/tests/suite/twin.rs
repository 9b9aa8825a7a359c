//! Contexts against a naive one, sample by sample, at random knobs, attributes, schemes and
//! memories; and what holds of every one of them.

use crate::harness::{Event, Fake, PAGE, context, region, target};
use crate::model::{Naive, Reg, Rule};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_damon::aggregate::nr_regions;
use mmsim_damon::config::{DamonConfig, IntervalClock, Row, Settings as _};
use mmsim_damon::damos::filter::{Filter, FilterType};
use mmsim_damon::damos::goal::Goal;
use mmsim_damon::damos::quota::Quota;
use mmsim_damon::damos::scheme::{AccessPattern, Action, Scheme};
use mmsim_damon::damos::score::ScoreKind;
use mmsim_damon::damos::watermark::{Watermarks, WmarkMetric};
use mmsim_damon::{Context, MonitoringAttrs, Region, StepOutcome, Target};
use proptest::prelude::*;

/// Settings of a run.
#[derive(Clone, Debug)]
struct Case {
    knobs: Vec<u32>,
    /// sample and aggregation in ms, update in aggregations, min and max number of regions.
    attrs: (u64, u64, u64, u32, u32),
    /// Per target: first pages and sizes of regions, and gaps before them.
    targets: Vec<Vec<(u64, u64)>>,
    rules: Vec<Rule>,
    /// Work per sample and per application, in µs.
    work: (u64, u64),
    cold_score: bool,
    /// Which tenth of the pages is used in which of 7 phases, by a hash.
    heat: u64,
    steps: Vec<Change>,
}

/// Event from time to time.
#[derive(Clone, Debug)]
enum Change {
    /// Lets this number of steps pass.
    Run(u32),
    /// Free pages per thousand.
    Free(u64),
    /// Ranges of the next update.
    Ranges(Vec<(u64, u64)>),
}

/// Knobs that decide what a context does, each of any value.
const KNOBS: [&str; 20] = [
    "interval-clock",
    "merge-cap",
    "age-zero-rule",
    "split-copies-counts",
    "pattern-counter",
    "score-counter",
    "split-rule",
    "min-regions",
    "merge-slices",
    "resume",
    "first-window",
    "esz-floor",
    "quota-set",
    "prioritization",
    "watermarks",
    "wmark-wait",
    "rand32",
    "aligned-esz",
    "sleep-hr-limit-us",
    "coarse-tick-us",
];

fn config(picks: &[u32]) -> DamonConfig {
    let mut c = DamonConfig::V6_12;
    for (name, pick) in KNOBS.iter().zip(picks) {
        let knob: &Row = DamonConfig::ROWS.iter().find(|k| k.name == *name).unwrap();
        let allowed: Vec<_> = knob.allowed().collect();
        let value = match *name {
            "sleep-hr-limit-us" => ["3000", "20000"][*pick as usize % 2].to_owned(),
            "coarse-tick-us" => ["0", "1000", "4000"][*pick as usize % 3].to_owned(),
            _ => allowed[*pick as usize % allowed.len()].to_owned(),
        };
        c.set(name, &value).unwrap();
    }
    c
}

/// Sorted ranges from gaps and sizes, in pages.
fn ranges(gaps: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut at = 0;
    let next = gaps.iter().map(|(gap, size)| {
        let first = at + gap;
        at = first + size;
        (first, at)
    });
    next.collect()
}

fn gaps() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![3 => Just(0_u64), 1 => 1_u64..200];
    prop::collection::vec((gap, 1_u64..400), 1..8)
}

fn rule() -> impl Strategy<Value = Rule> {
    let pattern = (
        prop_oneof![3 => Just((0_u64, 1 << 40)), 1 => (1_u64..50, 50_u64..400)],
        prop_oneof![2 => Just((0_i64, 0)), 1 => (0_i64..5, 5_i64..40), 1 => Just((0, 1 << 30))],
        prop_oneof![2 => Just((0_i64, 1 << 30)), 2 => (0_i64..8, 8_i64..1 << 30)],
        any::<bool>(),
    );
    let quota = (
        prop_oneof![2 => Just(0_u64), 1 => 1_u64..5],
        prop_oneof![1 => Just(0_u64), 2 => 1_u64..400 * PAGE, 2 => (1_u64..400).prop_map(|p| p * PAGE)],
        prop_oneof![1 => Just(0_u64), 3 => 1_u64..400],
        (0_u64..4, 0_u64..4),
        prop_oneof![3 => Just(None), 1 => (1_u64..1000, 0_u64..3000).prop_map(Some)],
    );
    let marks = prop_oneof![
        2 => Just(None),
        1 => (0_u64..1000, 0_u64..1000, 0_u64..1000, 1_u64..60).prop_map(|(a, b, c, i)| {
            let mut m = [a, b, c];
            m.sort_unstable();
            Some((m[2], m[1], m[0], i))
        })
    ];
    let spare = prop_oneof![
        2 => Just(None),
        1 => (0_u64..1000, 1_u64..500).prop_map(|(from, n)| Some((from, from + n)))
    ];
    (pattern, quota, marks, spare, 1_u64..30).prop_map(|(pattern, quota, marks, spare, every)| {
        let (pages, nr, age, stat_only) = pattern;
        let (ms, sz, window_ms, weights, goal) = quota;
        Rule {
            pages,
            nr,
            age,
            stat_only,
            every,
            ms,
            sz,
            window_ms,
            weights,
            marks,
            spare,
            goal,
            on: true,
            due: 0,
            esz: 0,
            charged: 0,
            total: 0,
            total_ns: 0,
            since: None,
            from: None,
            min_score: 0,
            fed: 0,
            tried: (0, 0),
            exceeded: 0,
        }
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let attrs = (1_u64..8, 1_u64..25, 1_u64..6, 3_u32..12, 0_u32..120)
        .prop_map(|(sample, n, update, min, more)| (sample, sample * n, update, min, min + more));
    let change = prop_oneof![
        6 => (1_u32..60).prop_map(Change::Run),
        1 => (0_u64..1000).prop_map(Change::Free),
        1 => gaps().prop_map(|g| Change::Ranges(ranges(&g))),
    ];
    (
        prop::collection::vec(0_u32..12, KNOBS.len()),
        attrs,
        prop::collection::vec(gaps(), 1..4),
        prop::collection::vec(rule(), 0..4),
        (0_u64..3000, 0_u64..6000),
        any::<bool>(),
        any::<u64>(),
        prop::collection::vec(change, 1..10),
    )
        .prop_map(|(knobs, attrs, targets, rules, work, cold_score, heat, steps)| Case {
            knobs,
            attrs,
            targets: targets.iter().map(|g| ranges(g)).collect(),
            rules,
            work,
            cold_score,
            heat,
            steps,
        })
}

fn scheme(r: &Rule, sample_ms: u64) -> Scheme {
    let u = |x: (i64, i64)| x.0 as u32..=x.1 as u32;
    let pattern = AccessPattern {
        sz_region: r.pages.0 * PAGE..=r.pages.1 * PAGE,
        nr_accesses: u(r.nr),
        age_region: u(r.age),
    };
    let goals = r.goal.map(|(target, current)| Goal::user_input(target, current));
    let wmarks = r.marks.map_or(Watermarks::NONE, |(high, mid, low, ms)| Watermarks {
        metric: WmarkMetric::FreeMemRate,
        interval_us: ms * 1000,
        high,
        mid,
        low,
    });
    let spare =
        r.spare.map(|(from, to)| Filter::new(FilterType::Addr(from * PAGE..to * PAGE), true));
    Scheme {
        apply_interval_us: r.every * sample_ms * 1000,
        quota: Quota {
            reset_interval_ms: r.window_ms,
            ms: r.ms,
            sz: r.sz,
            weight_sz: 1,
            weight_nr_accesses: r.weights.0 as u32,
            weight_age: r.weights.1 as u32,
            goals: goals.into_iter().collect(),
            ..Quota::default()
        },
        wmarks,
        filters: spare.into_iter().collect(),
        ..Scheme::new(pattern, if r.stat_only { Action::Stat } else { Action::Pageout })
    }
}

fn build(case: &Case) -> (Context, Fake, Naive) {
    let config = config(&case.knobs);
    let (sample, aggr, update, min, max) = case.attrs;
    let attrs = MonitoringAttrs {
        sample_us: sample * 1000,
        aggr_us: aggr * 1000,
        ops_update_us: aggr * update * 1000,
        min_nr_regions: min,
        max_nr_regions: max,
        min_region: PAGE,
        tuning: None,
    };
    let make = |bounds: &Vec<(u64, u64)>| -> Target {
        let regions: Vec<Region> =
            bounds.iter().map(|(a, b)| region(a * PAGE, b * PAGE, 0, 0)).collect();
        target(&regions)
    };
    let schemes = case.rules.iter().map(|r| scheme(r, sample)).collect();
    let c = context(config, attrs, case.targets.iter().map(make).collect(), schemes);
    let heat = case.heat;
    let cost = SimDuration::from_micros(case.work.0);
    let fake = Fake {
        // Some hash of page and phase; a tenth to nine tenths are used.
        used: Box::new(move |address, now| {
            let phase = now.0 / 50_000_000 % 7;
            let block = address / PAGE / 40;
            let mut h = (heat ^ (block * 0x9e37_79b9 + phase)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            h ^= h >> 31;
            h % 10 < block % 10
        }),
        sample_cost: cost,
        apply_cost: SimDuration::from_micros(case.work.1),
        score_kind: if case.cold_score { ScoreKind::Cold } else { ScoreKind::Flat },
        ..Fake::new()
    };
    let list = |bounds: &Vec<(u64, u64)>| {
        let regions = bounds.iter().map(|(a, b)| Reg {
            first: *a,
            pages: b - a,
            nr: 0,
            moving: 0,
            last: 0,
            age: 0,
        });
        regions.collect()
    };
    let mut naive = Naive {
        config,
        sample_ms: sample,
        aggr_ms: aggr,
        update_ms: aggr * update,
        min_regions: u64::from(min),
        max_regions: u64::from(max),
        targets: case.targets.iter().map(list).collect(),
        rules: case.rules.clone(),
        rng: Rng::for_purpose(1, "kdamond"),
        now: 0,
        samples: 0,
        next_aggr: 0,
        next_update: 0,
        last_aggr: 0,
        last_update: 0,
        regions_before: 0,
        turns: 0,
        limit: 0,
        free: fake.free_mem_rate,
        work_ns: case.work.0 * 1000,
        apply_ns: case.work.1 * 1000,
        cold_score: case.cold_score,
        update_to: None,
        reports: Vec::new(),
    };
    naive.start();
    (c, fake, naive)
}

/// A region of the context as the naive one has it. A moving sum below zero is a large number here.
fn plain(r: &Region) -> Reg {
    Reg {
        first: r.start / PAGE,
        pages: (r.end - r.start) / PAGE,
        nr: r.nr_accesses.into(),
        moving: (r.nr_accesses_bp as i32).into(),
        last: r.last_nr_accesses.into(),
        age: r.age.into(),
    }
}

fn compare(c: &Context, n: &Naive) {
    let targets: Vec<Vec<Reg>> =
        c.targets().iter().map(|t| t.regions().iter().map(plain).collect()).collect();
    assert_eq!(targets, n.targets);
    assert_eq!((c.passed_samples(), c.sz_limit()), (n.samples, n.limit));
    for (s, r) in c.schemes().iter().zip(&n.rules) {
        let (stat, q) = (s.stat(), s.charge());
        assert_eq!((stat.nr_tried, stat.sz_tried), r.tried);
        assert_eq!((stat.qt_exceeds, s.activated()), (r.exceeded, r.on));
        assert_eq!((q.esz, q.charged_sz, q.total_charged_sz), (r.esz, r.charged, r.total));
        assert_eq!((q.total_charged_ns, q.resume, q.esz_bp), (r.total_ns, r.from, r.fed));
        assert_eq!(q.charged_from.map(|t| t.0), r.since);
        assert_eq!(u64::from(q.min_score), r.min_score);
    }
}

/// Invariants of every context: regions sorted, disjoint, whole pages, samples inside; counts
/// within the window; quotas kept; charges add up.
fn invariants(c: &Context, bytes: u64) {
    let attrs = c.attrs();
    // Samples are counted, or the clock is looked at with each, when its ticks are past the end.
    let late = match c.config().interval_clock {
        IntervalClock::SampleCount => 0,
        IntervalClock::Wall => u64::from(c.config().coarse_tick_us) / attrs.sample_us + 1,
    };
    let most = u64::from(attrs.window()) + late;
    for t in c.targets() {
        assert!(t.regions().windows(2).all(|w| w[0].end <= w[1].start));
        for r in t.regions() {
            assert!(r.start < r.end && r.start % PAGE == 0 && r.end % PAGE == 0);
            assert!((r.start..r.end).contains(&r.sampling_addr), "{r:?}");
            assert!(u64::from(r.nr_accesses) <= most, "{r:?}");
        }
    }
    assert_eq!(c.targets().iter().map(Target::bytes).sum::<u64>(), bytes, "bytes that are watched");
    for s in c.schemes() {
        let (q, stat) = (s.charge(), s.stat());
        assert!(q.min_score <= 99);
        assert_eq!(q.total_charged_sz + q.charged_sz, stat.sz_tried);
        assert!(stat.sz_applied <= stat.sz_tried && stat.nr_applied <= stat.nr_tried);
    }
}

fn same_history(case: &Case) {
    let (mut c, mut fake, mut naive) = build(case);
    c.start(&mut fake).unwrap();
    let mut bytes = c.targets().iter().map(Target::bytes).sum();
    let mut asleep_for_marks = true; // Nothing is sampled before the first sleep.
    for change in &case.steps {
        match change {
            Change::Free(rate) => (fake.free_mem_rate, naive.free) = (*rate, *rate),
            Change::Ranges(to) => {
                let to_bytes = to.iter().map(|(a, b)| a * PAGE..b * PAGE).collect();
                (fake.update_to, naive.update_to) = (Some(to_bytes), Some(to.clone()));
            }
            Change::Run(steps) => {
                for _ in 0..*steps {
                    // The samples that the context is about to see.
                    let sampled: Vec<bool> = if asleep_for_marks {
                        Vec::new()
                    } else {
                        let at = fake.now + fake.sample_cost;
                        let all = c.targets().iter().flat_map(Target::regions);
                        all.map(|r| (fake.used)(r.sampling_addr, at)).collect()
                    };
                    let updates = fake.update_to.clone();
                    let slept = naive.wake((!asleep_for_marks).then_some(&sampled));
                    asleep_for_marks = naive.asleep_for_marks();
                    let step = loop {
                        match c.step(&mut fake) {
                            StepOutcome::Again => {}
                            step => break step,
                        }
                    };
                    if let (Some(to), None) = (updates, &fake.update_to) {
                        let to: u64 = to.iter().map(|r| r.end - r.start).sum();
                        bytes = to * c.targets().len() as u64;
                    }
                    assert_eq!(step, StepOutcome::Sleep(SimDuration(slept)));
                    assert_eq!(fake.now, SimTime(naive.now));
                    fake.now += SimDuration(slept);
                    naive.now += slept;
                    compare(&c, &naive);
                    invariants(&c, bytes);
                }
            }
        }
    }
    let reports: Vec<Vec<Reg>> = fake
        .events
        .iter()
        .filter_map(|e| match e {
            Event::Aggregated(_, _, regions) => Some(regions.iter().map(plain).collect()),
            _ => None,
        })
        .collect();
    assert_eq!(reports, naive.reports);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn contexts_do_what_naive_ones_do(case in cases()) {
        same_history(&case);
    }

    /// Where regions are merged again and there are still too many, each two that touch are too large
    /// for one, or their counts differ more than a count can; unless large ones are cut then.
    #[test]
    fn regions_stay_within_their_number(
        case in cases(),
        cap in prop::sample::select(vec!["retry-age-once", "retry-age-each-pass"]),
    ) {
        let (c, mut fake, _) = build(&case);
        let mut config = *c.config();
        config.set("merge-cap", cap).unwrap();
        config.set("min-regions", "merge-limit").unwrap();
        let attrs = *c.attrs();
        let mut c = context(config, attrs, c.targets().to_vec(), Vec::new());
        c.start(&mut fake).unwrap();
        let max = u64::from(attrs.max_nr_regions);
        // Neighbours that touch can always be merged in the end, as far as their size allows.
        for _ in 0..100 {
            fake.turn(&mut c, SimDuration::ZERO);
            let merged = fake.events.iter().any(|e| matches!(e, Event::Merged(_)));
            fake.events.clear();
            if merged && nr_regions(c.targets()) > max {
                let pairs = c.targets().iter().flat_map(|t| t.regions().windows(2));
                for w in pairs.filter(|w| w[0].end == w[1].start) {
                    // By the clock a count can exceed the window.
                    let differ = w[0].last_nr_accesses.abs_diff(w[1].last_nr_accesses);
                    let large = w[1].end - w[0].start > c.sz_limit();
                    prop_assert!(large || differ > attrs.window());
                }
            }
        }
    }
}
