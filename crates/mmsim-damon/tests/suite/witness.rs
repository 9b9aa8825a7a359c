//! One witness for each knob: a context in which only that knob is another, and what must come of
//! it. Each says first what is expected, and why.

use crate::harness::{Event, Fake, MIB, PAGE, cold, context, ms, region, target};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_damon::aggregate::{Cuts, merge_regions, split_regions};
use mmsim_damon::config::{MergeCap, Settings as _};
use mmsim_damon::damos::goal::{Goal, Metric};
use mmsim_damon::damos::quota::{Charge, Quota};
use mmsim_damon::damos::scheme::{AccessPattern, Action, Scheme};
use mmsim_damon::damos::watermark::{Watermarks, WmarkMetric};
use mmsim_damon::modules::{LruSort, Module as _, Reclaim};
use mmsim_damon::region::draw_sampling_addr;
use mmsim_damon::trace::aggregated;
use mmsim_damon::{Context, DamonConfig, DamonError, IntervalsGoal, MonitoringAttrs, Region};

const ATTRS: MonitoringAttrs = MonitoringAttrs::DEFAULT;

/// The same history with each value of a knob of Linux 6.12, whose first charge window is limited.
fn each<T, const N: usize>(
    knob: &str,
    values: [&str; N],
    history: impl Fn(DamonConfig) -> T,
) -> [T; N] {
    values.map(|value| {
        let mut c = DamonConfig::preset("damon-v6.12").unwrap().config;
        c.set("first-window", "at-once").unwrap();
        c.set(knob, value).unwrap();
        c.validate().unwrap();
        history(c)
    })
}

/// A scheme that is offered regions with every sample.
fn always(pattern: AccessPattern, action: Action, quota: Quota) -> Scheme {
    Scheme { apply_interval_us: 5_000, quota, ..Scheme::new(pattern, action) }
}

/// Bytes per second.
fn sz(sz: u64) -> Quota {
    Quota { sz, reset_interval_ms: 1000, ..Quota::default() }
}

/// Starts a context over these regions and runs it until a time.
fn run(
    config: DamonConfig,
    regions: &[Region],
    schemes: Vec<Scheme>,
    mut fake: Fake,
    until: SimTime,
) -> (Context, Fake) {
    let mut c = context(config, ATTRS, vec![target(regions)], schemes);
    c.start(&mut fake).unwrap();
    fake.run(&mut c, until);
    (c, fake)
}

const TEN: [(u64, u64); 1] = [(0, 10)];

fn mib(bounds: &[(u64, u64)]) -> Vec<Region> {
    bounds.iter().map(|(start, end)| region(start * MIB, end * MIB, 0, 0)).collect()
}

/// Samples of 5 ms that take 5 ms more: an aggregation of 100 ms has ten of them, or it takes 200
/// ms for twenty.
#[test]
fn interval_clock() {
    let [wall, samples] = each("interval-clock", ["wall", "sample-count"], |config| {
        let cost = SimDuration::from_millis(5);
        let fake = Fake { sample_cost: cost, ..Fake::new() };
        let (_, fake) = run(config, &mib(&TEN), vec![], fake, ms(1001));
        fake.events.iter().filter(|e| matches!(e, Event::Merged(_))).count()
    });
    assert_eq!((wall, samples), (10, 5));
}

/// Twelve regions where three may be: they stay, or are merged; each walk makes them older, or the
/// first.
#[test]
fn merge_cap() {
    let values = ["none", "retry-age-each-pass", "retry-age-once"];
    let [none, each_pass, once] = each("merge-cap", values, |config| {
        let attrs = MonitoringAttrs { min_nr_regions: 3, max_nr_regions: 3, ..ATTRS };
        let regions: Vec<Region> = (0..12).map(|i| region(i * MIB, (i + 1) * MIB, 0, 0)).collect();
        let mut c = context(config, attrs, vec![target(&regions)], vec![]);
        // Every second one is used all the time.
        let mut fake = Fake { used: Box::new(|a, _| a / MIB % 2 == 1), ..Fake::new() };
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(101));
        let oldest = c.targets()[0].regions().iter().map(|r| r.age).max();
        (c.targets()[0].regions().len(), oldest)
    });
    assert_eq!(none, (12, Some(1)), "those that are not used");
    assert_eq!(once.0, 3);
    assert_eq!(each_pass.0, 3);
    assert!(each_pass.1 > once.1, "{each_pass:?} {once:?}");
}

/// Four regions that do not touch, where three may be, from a threshold of 11 of 20: the next ones
/// are 22, or 20 as the largest count. From 7 they are 14 and 28, or 14 and 20.
#[test]
fn merging_again_ends_beyond_the_largest_count() {
    let attrs = MonitoringAttrs { min_nr_regions: 3, max_nr_regions: 3, ..ATTRS };
    let four: Vec<_> = (0..4).map(|i| region(2 * i * MIB, (2 * i + 1) * MIB, 0, 0)).collect();
    let walks = |cap, threshold, last| {
        let mut t = target(&four);
        t.regions_mut()[0].last_nr_accesses = last;
        let mut t = [t];
        merge_regions(&mut t, threshold, MIB, &attrs, cap, false);
        t[0].regions()[0].age
    };
    // A count that moved by 21 (an aggregation by the clock may have more samples) is new in all
    // walks but that with 22.
    assert_eq!(walks(MergeCap::RetryAgeEachPass, 11, 21), 1);
    assert_eq!(walks(MergeCap::RetryAgeEachPass, 7, 0), 3);
    assert_eq!(walks(MergeCap::RetryAgeOnce, 7, 0), 1);
    assert_eq!(walks(MergeCap::RetryAgeOnce, 11, 21), 0);
}

/// One region is used in every sample, so that counts of 2 are alike. The other was once and is no
/// more: it grows older, or is new.
#[test]
fn age_zero_rule() {
    let [no, yes] = each("age-zero-rule", ["no", "yes"], |config| {
        let regions = [(0, 5, 20, 9), (5, 10, 1, 5)].map(|(start, end, last, age)| Region {
            last_nr_accesses: last,
            ..region(start * MIB, end * MIB, 0, age)
        });
        let fake = Fake { used: Box::new(|a, _| a < 5 * MIB), ..Fake::new() };
        let (_, fake) = run(config, &regions, vec![], fake, ms(101));
        let aggregated = fake.events.iter().find_map(|e| match e {
            Event::Aggregated(_, _, regions) => Some(regions.clone()),
            _ => None,
        });
        aggregated.unwrap().iter().map(|r| (r.nr_accesses, r.age)).collect::<Vec<_>>()
    });
    assert_eq!(no, [(20, 10), (0, 6)]);
    assert_eq!(yes, [(20, 10), (0, 0)]);
}

/// A quota cuts a region after ten samples that all showed an access. What is cut off shows the
/// same count at the end, or only what was seen since.
#[test]
fn split_copies_counts() {
    let [no, yes] = each("split-copies-counts", ["no", "yes"], |config| {
        let scheme = Scheme {
            apply_interval_us: 50_000,
            ..always(AccessPattern::ANY, Action::Stat, sz(4 * MIB))
        };
        let fake = Fake { used: Box::new(|_, _| true), ..Fake::new() };
        let (_, fake) = run(config, &mib(&TEN), vec![scheme], fake, ms(101));
        let aggregated = fake.events.iter().find_map(|e| match e {
            Event::Aggregated(_, _, regions) => Some(regions.clone()),
            _ => None,
        });
        aggregated.unwrap().iter().map(|r| r.nr_accesses).collect::<Vec<_>>()
    });
    assert_eq!(no, [20, 10]);
    assert_eq!(yes, [20, 20], "too large to be merged again");
}

/// One sample after an aggregation that showed twenty accesses the count is one, the moving sum
/// still twenty.
#[test]
fn pattern_counter() {
    let values = ["nr-accesses", "moving", "window-sum"];
    let [count, moving, sum] = each("pattern-counter", values, |config| {
        let pattern = AccessPattern { nr_accesses: 20..=20, ..AccessPattern::ANY };
        let scheme = always(pattern, Action::Stat, Quota::default());
        let fake = Fake { used: Box::new(|_, _| true), ..Fake::new() };
        let (_, fake) = run(config, &mib(&TEN), vec![scheme], fake, ms(151));
        let last = fake.events.iter().rev().find_map(|e| match e {
            Event::Applied(at, ..) => Some(at.0 / 1_000_000),
            _ => None,
        });
        last.unwrap()
    });
    assert_eq!((count, moving, sum), (100, 150, 150));
    // Windows of seven samples, all used: the first moving sum of six is that of the sixth sample;
    // from the second window on it is seven. The sum of both windows is six after the first sample
    // of a window: one, and 7 * 8571 / 10000 = 5; after the second it is two and four.
    let values = ["nr-accesses", "moving", "window-sum"];
    let last = each("pattern-counter", values, |config| {
        let attrs = MonitoringAttrs { aggr_us: 35_000, ..ATTRS };
        let pattern = AccessPattern { nr_accesses: 6..=6, ..AccessPattern::ANY };
        let scheme = always(pattern, Action::Stat, Quota::default());
        let mut fake = Fake { used: Box::new(|_, _| true), ..Fake::new() };
        let mut c = context(config, attrs, vec![target(&mib(&TEN))], vec![scheme]);
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(151));
        let last = fake.events.iter().rev().find_map(|e| match e {
            Event::Applied(at, ..) => Some(at.0 / 1_000_000),
            _ => None,
        });
        last.unwrap()
    });
    assert_eq!(last, [135, 30, 150]);
}

/// Both regions have room in the quota alone. The first was used up to the last sample but one: it
/// is as cold as the other one by the running count, or hot.
#[test]
fn score_counter() {
    let [count, pattern] = each("score-counter", ["nr-accesses", "pattern"], |config| {
        let used = Region { nr_accesses: 0, ..region(0, 4 * MIB, 20, 0) };
        let regions = [used, region(5 * MIB, 9 * MIB, 0, 0)];
        let quota = Quota { weight_nr_accesses: 1, ..sz(4 * MIB) };
        let scheme = always(AccessPattern::ANY, Action::Pageout, quota);
        run(config, &regions, vec![scheme], Fake::new(), ms(6)).1.take_applied()[0].start
    });
    assert_eq!((count, pattern), (0, 5 * MIB));
}

/// A goal for the intervals is an error, or they follow it: of 50 MiB one is used in every sample,
/// 2 % of what could be seen. The goal is 4 %, so the score is 5000, and 60 samples later they are
/// half as long again, with 20 samples an aggregation as before. What was not used for three
/// aggregations is now two old. 60 samples of 7.5 ms later it happens once more.
#[test]
fn interval_tuning() {
    let goal = IntervalsGoal::of_modules(400);
    let attrs = MonitoringAttrs { tuning: Some(goal), ..ATTRS };
    let [no, yes] = each("interval-tuning", ["no", "yes"], |config| {
        attrs.validate(&config)?;
        let mut c = context(config, attrs, vec![target(&mib(&[(0, 1), (2, 51)]))], vec![]);
        let mut fake = Fake { used: Box::new(|a, _| a < MIB), ..Fake::new() };
        c.start(&mut fake).unwrap();
        Ok([299, 301, 749, 751].map(|until| {
            fake.run(&mut c, ms(until));
            let a = c.attrs();
            (a.sample_us, a.aggr_us, c.targets()[0].regions().last().unwrap().age)
        }))
    });
    assert_eq!(no, Err(DamonError::InvalidAttrs("this kernel does not tune intervals")));
    let expected = [
        (5_000, 100_000, 2),
        (7_500, 150_000, 2),
        // Two more; then the third, 5 * 150 / 225.
        (7_500, 150_000, 4),
        (11_250, 225_000, 3),
    ];
    assert_eq!(yes, Ok(expected));
}

/// Eight regions where twelve may be: one in 12 / (12 - 8) = 3 is cut, from the first one; of the
/// eleven then one in 12 / 1, the second one; of twelve none.
#[test]
fn split_rule() {
    let [none, some] = each("split-rule", ["up-to-half", "partial-above-half"], |config| {
        let attrs = MonitoringAttrs { min_nr_regions: 3, max_nr_regions: 12, ..ATTRS };
        let pages = |i: u64| region(i * 10 * PAGE, (i + 1) * 10 * PAGE, 0, 0);
        let mut t = [target(&(0..8).map(pages).collect::<Vec<_>>())];
        let mut cuts = Cuts::default();
        [(); 3].map(|()| {
            let draw = &mut || 4;
            let rule = config.split_rule;
            split_regions(&mut t, &mut cuts, rule, &attrs, true, draw, &mut Vec::new());
            let starts = t[0].regions().iter().map(|r| r.start / PAGE);
            let new: Vec<u64> = starts.filter(|s| s % 10 != 0).collect();
            (new, cuts.last_nr_regions)
        })
    });
    assert_eq!(none, [(vec![], 0), (vec![], 0), (vec![], 0)]);
    assert_eq!(some[0], (vec![4, 34, 64], 8));
    // The second one is that of pages 4 to 10, of which four tenths are two.
    assert_eq!(some[1], (vec![4, 6, 34, 64], 11));
    assert_eq!(some[2], (vec![4, 6, 34, 64], 12));
}

/// 41 pages and at least ten regions: one region, or as many of five pages as there are.
#[test]
fn min_regions() {
    let [limit, enforced] = each("min-regions", ["merge-limit", "enforced"], |config| {
        let (c, _) = run(config, &[region(0, 41 * PAGE, 0, 0)], vec![], Fake::new(), ms(1));
        let regions = c.targets()[0].regions().iter();
        (regions.map(|r| r.end / PAGE).collect::<Vec<_>>(), c.sz_limit())
    });
    assert_eq!(limit, (vec![41], 41 * PAGE / 10));
    assert_eq!(enforced, (vec![5, 10, 15, 20, 25, 30, 35, 40, 41], 5 * PAGE));
}

/// Ten of a hundred MiB may be one region. A quota cuts off four of them; nothing tells the parts
/// apart. They stay two, or are one again, and the walk goes on behind it.
#[test]
fn merge_slices() {
    let [no, yes] = each("merge-slices", ["no", "yes"], |config| {
        let (small, all) = (sz(4 * MIB), Quota::default());
        let schemes = [small, all].map(|q| always(AccessPattern::ANY, Action::Stat, q)).into();
        let (c, mut fake) = run(config, &mib(&[(0, 10), (20, 110)]), schemes, Fake::new(), ms(6));
        let ends = c.targets()[0].regions().iter().map(|r| r.end / MIB).collect::<Vec<_>>();
        let tried = fake.take_applied();
        (ends, tried.iter().map(|r| (r.start / MIB, r.end / MIB)).collect::<Vec<_>>())
    });
    let tried = vec![(0, 4), (0, 4), (4, 10), (20, 110)];
    assert_eq!(no, (vec![4, 10, 110], tried.clone()));
    assert_eq!(yes, (vec![10, 110], tried));
}

/// The second window goes on at 4 MiB: there, or behind the page there.
#[test]
fn resume() {
    let [plus1, exact] = each("resume", ["plus1-skip-last", "exact"], |config| {
        let scheme = always(AccessPattern::ANY, Action::Pageout, sz(4 * MIB));
        let regions = mib(&[(0, 8), (8, 16)]);
        let (_, mut fake) = run(config, &regions, vec![scheme], Fake::new(), ms(1008));
        fake.take_applied().into_iter().map(|r| r.start).find(|start| *start >= 4 * MIB)
    });
    assert_eq!((plus1, exact), (Some(4 * MIB + PAGE), Some(4 * MIB)));
}

/// All of the memory is served before the first window of a second is over, or 4 MiB are.
#[test]
fn first_window() {
    let [at_once, unlimited] = each("first-window", ["at-once", "unlimited"], |config| {
        let scheme = always(AccessPattern::ANY, Action::Pageout, sz(4 * MIB));
        let (c, _) = run(config, &mib(&TEN), vec![scheme], Fake::new(), ms(6));
        c.schemes()[0].stat().sz_tried
    });
    assert_eq!((at_once, unlimited), (4 * MIB, 10 * MIB));
}

/// So slow that nothing could be done in a millisecond: the quota comes out as no limit at all, or
/// as a page. With a goal that was met three times over, whose part is a byte, it is that byte if
/// the page is for the time alone.
#[test]
fn esz_floor() {
    let values = ["none", "min-region", "time-part"];
    let quotas = each("esz-floor", values, |config| {
        [vec![], vec![Goal::user_input(100, 300)]].map(|goals| {
            let mut quota = Quota { ms: 1, goals, ..Quota::default() };
            slow(&mut quota, &config).esz
        })
    });
    assert_eq!(quotas, [[0, 0], [PAGE, PAGE], [PAGE, 1]]);
}

/// A quota of 1 MiB is to hold stalls at a millisecond, and the machine has stalled for a minute
/// before. All that stall time counts against the quota, which becomes the least; or nothing does,
/// and it stays. At the second look, two milliseconds later, both see these two.
#[test]
fn first_psi() {
    let [total, neutral] = each("first-psi", ["total", "neutral"], |config| {
        let mut quota =
            Quota { goals: vec![Goal::new(Metric::SomeMemPsiUs, 1_000)], ..Quota::default() };
        let mut charge = Charge { esz_bp: MIB * 10_000, ..Charge::default() };
        [60_000_000, 60_002_000].map(|us| {
            charge.set_effective(&mut quota, &config, &ATTRS, &mut |_| us);
            (charge.esz_bp / 10_000, quota.goals[0].current_value)
        })
    });
    assert_eq!(total, [(1, 60_000_000), (1, 2_000)]);
    assert_eq!(neutral, [(MIB, 1_000), (1, 2_000)]);
}

/// Charge of a scheme that was charged with a page in eighteen minutes.
fn slow(quota: &mut Quota, config: &DamonConfig) -> Charge {
    let mut charge =
        Charge { total_charged_sz: PAGE, total_charged_ns: 1 << 40, ..Charge::default() };
    charge.set_effective(quota, config, &ATTRS, &mut |_| 0);
    charge
}

/// A quota of 4 MiB and a byte is never used up, or when that byte is left; one of time that comes
/// out as 0 bytes allows all, or nothing.
#[test]
fn quota_set() {
    let [esz, configured] = each("quota-set", ["esz", "configured"], |mut config| {
        let scheme = always(AccessPattern::ANY, Action::Pageout, sz(4 * MIB + 1));
        let (c, _) = run(config, &mib(&TEN), vec![scheme], Fake::new(), ms(2_020));
        config.set("esz-floor", "none").unwrap();
        let mut quota = Quota { ms: 1, ..Quota::default() };
        let charge = slow(&mut quota, &config);
        (c.schemes()[0].stat().qt_exceeds, charge.esz, charge.full(&quota, &config, &ATTRS))
    });
    assert_eq!(esz, (0, 0, false));
    assert_eq!(configured, (2, 0, true));
}

/// Four passes over all regions, one with every sample, are counted or not.
#[test]
fn count_snapshots() {
    let [no, yes] = each("count-snapshots", ["no", "yes"], |config| {
        let scheme = always(AccessPattern::ANY, Action::Stat, Quota::default());
        let regions = mib(&[(0, 8), (8, 16)]);
        let (c, _) = run(config, &regions, vec![scheme], Fake::new(), ms(21));
        (c.schemes()[0].stat().nr_snapshots, c.schemes()[0].stat().nr_tried)
    });
    assert_eq!((no, yes), ((0, 8), (4, 8)));
}

/// The quota goes to the older region, though it is not the first.
#[test]
fn prioritization() {
    let [no, yes] = each("prioritization", ["no", "yes"], |config| {
        let regions = [region(0, 4 * MIB, 0, 50), region(5 * MIB, 9 * MIB, 0, 5000)];
        let quota = Quota { weight_age: 1, ..sz(4 * MIB) };
        let scheme = always(cold(10), Action::Pageout, quota);
        run(config, &regions, vec![scheme], Fake::new(), ms(6)).1.take_applied()
    });
    assert_eq!(no.iter().map(|r| r.start).collect::<Vec<_>>(), [0]);
    assert_eq!(yes.iter().map(|r| r.start).collect::<Vec<_>>(), [5 * MIB]);
}

const MARKS: Watermarks = Watermarks {
    metric: WmarkMetric::FreeMemRate,
    interval_us: 5_000_000,
    high: 500,
    mid: 400,
    low: 200,
};

/// Much memory is free: nothing is sampled.
#[test]
fn watermarks() {
    let [no, yes] = each("watermarks", ["no", "yes"], |config| {
        let scheme = Scheme { wmarks: MARKS, ..Scheme::new(cold(0), Action::Stat) };
        let fake = Fake { free_mem_rate: 700, ..Fake::new() };
        run(config, &mib(&TEN), vec![scheme], fake, ms(51)).0.passed_samples()
    });
    assert_eq!((no, yes), (10, 0));
}

/// A scheme that is active stands before one that is not. Its work goes on, or waits with the other
/// one.
#[test]
fn wmark_wait() {
    let [bug, min] = each("wmark-wait", ["order-bug", "min"], |config| {
        let active = Scheme::new(cold(0), Action::Stat);
        let off = Scheme { wmarks: MARKS, ..active.clone() };
        let fake = Fake { free_mem_rate: 700, ..Fake::new() };
        run(config, &mib(&TEN), vec![active, off], fake, ms(51)).0.passed_samples()
    });
    assert_eq!((bug, min), (0, 10));
}

/// Not the index of the first target, but a large number.
#[test]
fn trace_target() {
    let [handle, index] = each("trace-target", ["handle", "index"], |config| {
        aggregated(&config, 0, 1, &region(0, PAGE, 3, 4))
    });
    assert_eq!(handle, "target_id=18446612682070032384 nr_regions=1 0-4096: 3 4");
    assert_eq!(index, "target_id=0 nr_regions=1 0-4096: 3 4");
}

/// With the age, or without.
#[test]
fn trace_age() {
    let [no, yes] = each("trace-age", ["no", "yes"], |config| {
        aggregated(&config, 0, 1, &region(0, PAGE, 3, 4))
    });
    assert_eq!(no, "target_id=0 nr_regions=1 0-4096: 3");
    assert_eq!(yes, "target_id=0 nr_regions=1 0-4096: 3 4");
}

/// 30 ms are more than 20 ms, and take eight ticks of 4 ms.
#[test]
fn sleep_hr_limit_us() {
    let [high, low] = each("sleep-hr-limit-us", ["100000", "20000"], |config| {
        let attrs = MonitoringAttrs { sample_us: 30_000, ..ATTRS };
        let mut c = context(config, attrs, vec![target(&mib(&TEN))], vec![]);
        let mut fake = Fake::new();
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(1))[0]
    });
    assert_eq!((high, low), (SimDuration::from_millis(30), SimDuration::from_millis(32)));
}

/// The first page of 4 GiB and a page is drawn, or any; the first byte of 4 GiB, or any.
#[test]
fn rand32() {
    let values = ["prandom", "truncated", "uniform"];
    let largest = each("rand32", values, |config| {
        let mut rng = Rng::for_purpose(1, "draw");
        let start = 1 << 33;
        [(1 << 32) + PAGE, 1 << 32].map(|size| {
            let r = Region::new(start, start + size);
            let draws = (0..1000).map(|_| draw_sampling_addr(&r, config.rand32, &mut rng) - start);
            draws.max().unwrap()
        })
    });
    let [[a, b], [c, d], [e, f]] = largest;
    assert!(a < PAGE && b == 0);
    assert!(c < PAGE && d > 1 << 31);
    assert!(e > 1 << 31 && f > 1 << 31);
}

/// Three ms of work, begun between two ticks of 4 ms: nothing, a tick, or what it took.
#[test]
fn coarse_tick_us() {
    let [none, four] = each("coarse-tick-us", ["0", "4000"], |config| {
        let scheme = always(AccessPattern::ANY, Action::Pageout, Quota::default());
        let fake = Fake { apply_cost: SimDuration::from_micros(2_500), ..Fake::new() };
        let (c, _) = run(config, &mib(&TEN), vec![scheme], fake, ms(6));
        c.schemes()[0].charge().total_charged_ns
    });
    assert_eq!((none, four), (2_500_000, 0), "from 5 to 7.5 ms");
}

/// 4 MiB and a byte are never used up; 4 MiB are, with each window.
#[test]
fn aligned_esz() {
    let [no, yes] = each("aligned-esz", ["no", "yes"], |config| {
        let scheme = always(AccessPattern::ANY, Action::Pageout, sz(4 * MIB + 1));
        let (c, _) = run(config, &mib(&TEN), vec![scheme], Fake::new(), ms(2_020));
        (c.schemes()[0].charge().esz, c.schemes()[0].stat().qt_exceeds)
    });
    assert_eq!(no, (4 * MIB + 1, 0));
    assert_eq!(yes, (4 * MIB, 2));
}

/// Two regions were never used, the first for ten seconds, the other one for a thousand. They tie,
/// and the first one is served; or the older one comes first.
#[test]
fn lru_sort_by_age() {
    let [no, yes] = each("lru-sort-by-age", ["no", "yes"], |config| {
        let rng = Rng::for_purpose(1, "kdamond");
        let module = LruSort { cold_min_age: 1_000_000, ..LruSort::DEFAULT };
        let cold = module.context(config, Some(0..MIB), rng).unwrap().schemes()[1].clone();
        let quota = Quota { ms: 0, sz: 4 * MIB, ..cold.quota.clone() };
        let scheme = Scheme { apply_interval_us: 5_000, wmarks: Watermarks::NONE, quota, ..cold };
        let regions = [region(0, 4 * MIB, 0, 100), region(5 * MIB, 9 * MIB, 0, 10_000)];
        run(config, &regions, vec![scheme], Fake::new(), ms(6)).1.take_applied()[0].start
    });
    assert_eq!((no, yes), (0, 5 * MIB));
}

/// The module has its scheme, or none.
#[test]
fn module_commit_drops_scheme() {
    let [no, yes] = each("module-commit-drops-scheme", ["no", "yes"], |config| {
        let rng = Rng::for_purpose(1, "kdamond");
        let c = Reclaim::DEFAULT.context(config, Some(0..MIB), rng).unwrap();
        (c.schemes().len(), c.attrs().ops_update_us)
    });
    assert_eq!(no, (1, 0));
    assert_eq!(yes, (0, 60_000_000));
}

/// Read by the operations on a machine, whose tests have their witnesses.
const OF_THE_MACHINE: [&str; 3] = ["pageout-ref", "lru-prio", "hugetlb-check"];

/// Each knob has one, named as it is.
#[test]
fn every_knob_has_a_witness() {
    let here = include_str!("witness.rs");
    for knob in DamonConfig::ROWS {
        let name = format!("#[test]\nfn {}() {{", knob.name.replace('-', "_"));
        let elsewhere = OF_THE_MACHINE.contains(&knob.name);
        assert!(here.contains(&name) != elsewhere, "no witness for {}", knob.name);
    }
}

/// Presets differ from the one before by what their kernels changed.
#[test]
fn presets_are_built_on_one_another() {
    for p in DamonConfig::presets() {
        let changes = p.changes();
        assert_eq!(changes.is_empty(), p.before.is_none(), "{}", p.name);
        assert_eq!(mmsim_damon::preset(p.name), Some(p.config));
    }
    let changed = |name: &str| {
        let changes = DamonConfig::preset(name).unwrap().changes();
        changes.iter().map(|c| c.0).collect::<Vec<_>>()
    };
    assert_eq!(
        changed("damon-v6.12"),
        ["interval-clock", "split-copies-counts", "pattern-counter", "first-window", "pageout-ref"]
    );
    assert_eq!(
        changed("damon-v6.18"),
        [
            "merge-cap",
            "age-zero-rule",
            "score-counter",
            "interval-tuning",
            "resume",
            "first-window",
            "esz-floor"
        ]
    );
    assert_eq!(
        changed("damon-v7.3"),
        [
            "merge-cap",
            "pattern-counter",
            "score-counter",
            "split-rule",
            "min-regions",
            "merge-slices",
            "resume",
            "first-psi",
            "esz-floor",
            "quota-set",
            "count-snapshots",
            "lru-prio",
            "rand32",
            "lru-sort-by-age"
        ]
    );
}
