//! Examples worked out by hand from the rules, compared to the last digit.

use crate::harness::{Fake, MIB, PAGE, cold, context, region, target};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_damon::aggregate::{
    Cuts, merge_regions, merge_regions_of, reset_aggregated, split_regions,
};
use mmsim_damon::config::{FirstWindow, MergeCap, Resume, SplitRule};
use mmsim_damon::damos::filter::{CoreVerdict, Filter, FilterType, judge_region};
use mmsim_damon::damos::goal::{Goal, Tuner};
use mmsim_damon::damos::quota::{Charge, Quota};
use mmsim_damon::damos::scheme::{Action, Scheme};
use mmsim_damon::damos::score::{ScoreKind, score};
use mmsim_damon::damos::watermark::{Watermarks, WmarkMetric};
use mmsim_damon::modules::stat::told;
use mmsim_damon::{Context, DamonConfig, MonitoringAttrs, Region, Target};
use std::ops::Range;

const ATTRS: MonitoringAttrs = MonitoringAttrs::DEFAULT;

/// Bounds of all regions in units of `unit` bytes.
fn bounds(t: &Target, unit: u64) -> Vec<(u64, u64)> {
    t.regions().iter().map(|r| (r.start / unit, r.end / unit)).collect()
}

/// Six regions of pages, at most 60 may merge, the threshold is a tenth of 20: A takes B; C and D
/// would be too large together; E takes F. What is reported, and what random cuts make of it.
#[test]
fn merge_report_split() {
    let attrs = MonitoringAttrs { min_nr_regions: 3, max_nr_regions: 30, ..ATTRS };
    let r = |start: u64, end: u64, nr_accesses, last_nr_accesses, age| Region {
        nr_accesses,
        last_nr_accesses,
        age,
        ..Region::new(start * PAGE, end * PAGE)
    };
    let mut t = [target(&[
        r(0, 40, 12, 10, 4),
        r(40, 60, 11, 13, 7),
        r(60, 100, 1, 0, 30),
        r(100, 130, 3, 0, 8),
        r(130, 160, 20, 0, 12),
        r(160, 180, 18, 19, 3),
    ])];
    merge_regions(&mut t, 2, 60 * PAGE, &attrs, MergeCap::RetryAgeOnce, false);
    let report: Vec<_> =
        t[0].regions().iter().map(|r| (r.start, r.end, r.nr_accesses, r.age)).collect();
    assert_eq!(
        report,
        [
            (0, 245_760, 11, 6),
            (245_760, 409_600, 1, 31),
            (409_600, 532_480, 3, 0),
            (532_480, 737_280, 19, 1)
        ]
    );
    let last: Vec<_> = t[0].regions().iter().map(|r| r.last_nr_accesses).collect();
    assert_eq!(last, [10, 0, 0, 0], "that of the left one stays");

    reset_aggregated(&mut t[0]);
    let mut draws = [4, 9, 1, 2, 5, 1, 9, 9].into_iter();
    let mut cuts = Cuts { last_nr_regions: 4, turn: 0 };
    let rule = SplitRule::UpToHalf;
    let draw = &mut || draws.next().expect("eight draws");
    split_regions(&mut t, &mut cuts, rule, &attrs, true, draw, &mut Vec::new());
    assert_eq!(draws.next(), None);
    assert_eq!(
        bounds(&t[0], PAGE),
        [
            (0, 21),
            (21, 24),
            (24, 60),
            (60, 64),
            (64, 100),
            (100, 101),
            (101, 115),
            (115, 130),
            (130, 170),
            (170, 175),
            (175, 180)
        ]
    );
    let inherited: Vec<_> = t[0].regions().iter().map(|r| (r.last_nr_accesses, r.age)).collect();
    let (a, c, d, e) = ((11, 6), (1, 31), (3, 0), (19, 1));
    assert_eq!(inherited, [a, a, a, c, c, d, d, d, e, e, e]);
    assert_eq!(cuts.last_nr_regions, 4);
    // Eleven are not four: in two parts next time.
    let mut drawn = 0;
    let draw = &mut || {
        drawn += 1;
        5
    };
    split_regions(&mut t, &mut cuts, rule, &attrs, true, draw, &mut Vec::new());
    assert_eq!((drawn, cuts.last_nr_regions), (10, 11), "one each, none for the single page");
}

/// Six regions of ten pages, three may be: thresholds of 0, 1 and 2 merge nothing, 4 does. Ages
/// grow with the first walk only, or with each.
#[test]
fn merging_again_until_few_remain() {
    let attrs = MonitoringAttrs { min_nr_regions: 3, max_nr_regions: 3, ..ATTRS };
    let six: Vec<_> = (0..6_u32)
        .map(|i| {
            let start = u64::from(i) * 10 * PAGE;
            region(start, start + 10 * PAGE, i % 2 * 4, i)
        })
        .collect();
    let merged = |cap| {
        let mut t = [target(&six)];
        merge_regions(&mut t, 0, 20 * PAGE, &attrs, cap, false);
        let counts: Vec<_> = t[0].regions().iter().map(|r| (r.nr_accesses, r.age)).collect();
        (bounds(&t[0], PAGE), counts)
    };
    let three = vec![(0, 20), (20, 40), (40, 60)];
    assert_eq!(merged(MergeCap::RetryAgeOnce), (three.clone(), vec![(2, 1), (2, 3), (2, 5)]));
    assert_eq!(merged(MergeCap::RetryAgeEachPass), (three, vec![(2, 4), (2, 6), (2, 8)]));
    let (left, ages) = merged(MergeCap::None);
    assert_eq!(left.len(), 6);
    assert_eq!(ages, [(0, 1), (4, 2), (0, 3), (4, 4), (0, 5), (4, 6)]);
}

/// The sizes alone change: no age is reset.
#[test]
fn merging_keeps_ages_by_size() {
    let mut t = target(&[region(0, 3, 5, 9), region(3, 4, 5, 1)]);
    merge_regions_of(&mut t, 0, 100, true, false);
    assert_eq!(t.regions()[0].age, (10 * 3 + 2) / 4);
}

const QUOTA: Quota = Quota {
    reset_interval_ms: 1000,
    ms: 0,
    sz: 20 * MIB,
    weight_sz: 0,
    weight_nr_accesses: 0,
    weight_age: 1,
    goals: Vec::new(),
    tuner: Tuner::Consist,
    fail_charge: None,
};

/// A context whose regions stay as they are, which is offered to a scheme with each sample:
/// regions R0 to R5, paging out what was not used for 50 aggregations, 20 MiB per second.
fn size_quota(resume: Resume, quota: Quota) -> (Context, Fake) {
    let r = |start: u64, end: u64, nr, age| region(start * MIB, end * MIB, nr, age);
    let six = [
        r(0, 8, 0, 55),
        r(8, 24, 0, 300),
        r(24, 28, 3, 70),
        r(28, 40, 0, 50),
        r(40, 52, 0, 1280),
        r(52, 64, 0, 90),
    ]
    .map(|r| Region { last_nr_accesses: 0, ..r });
    let scheme =
        Scheme { apply_interval_us: 5_000, quota, ..Scheme::new(cold(50), Action::Pageout) };
    let config = DamonConfig { first_window: FirstWindow::AtOnce, resume, ..DamonConfig::V6_12 };
    let mut c = context(config, ATTRS, vec![target(&six)], vec![scheme]);
    let mut fake = Fake::new();
    c.start(&mut fake).unwrap();
    fake.turn(&mut c, SimDuration::ZERO);
    (c, fake)
}

/// Lets `aggregations` pass as one sample, with a pass of the scheme in the end. Returns what was
/// applied, in MiB.
fn window(c: &mut Context, fake: &mut Fake, aggregations: u32) -> Vec<(u64, u64)> {
    applied(c, fake, aggregations).iter().map(|r| (r.start / MIB, r.end / MIB)).collect()
}

fn applied(c: &mut Context, fake: &mut Fake, aggregations: u32) -> Vec<Range<u64>> {
    // The ages of the next pass are set when its sample begins, which is the end of this turn.
    fake.age_step = aggregations;
    fake.turn(c, SimDuration::from_millis(100) * u64::from(aggregations));
    fake.take_applied()
}

fn show(c: &Context) -> (u32, u64, Option<(usize, u64)>, u64, u64) {
    let (charge, stat) = (c.schemes()[0].charge(), c.schemes()[0].stat());
    (charge.min_score, charge.charged_sz, charge.resume, stat.nr_tried, stat.qt_exceeds)
}

/// The oldest regions have 12 + 16 MiB, more than the quota, at score 58; they are served in the
/// order of addresses. The next window goes on behind, the third finds nothing there and is lost.
#[test]
fn size_quota_with_priorities() {
    let (mut c, mut fake) = size_quota(Resume::Exact, QUOTA);
    assert_eq!(window(&mut c, &mut fake, 10), [(8, 24), (40, 44)]);
    assert_eq!(show(&c), (58, 20 * MIB, Some((0, 44 * MIB)), 2, 0));
    assert_eq!(c.schemes()[0].charge().esz, 20 * MIB);
    let ages = |c: &Context| c.targets()[0].regions().iter().map(|r| r.age).collect::<Vec<_>>();
    assert_eq!(ages(&c), [65, 10, 80, 60, 10, 1290, 100]);

    assert_eq!(window(&mut c, &mut fake, 10), [(44, 52), (52, 64)]);
    assert_eq!(show(&c), (57, 20 * MIB, Some((0, 64 * MIB)), 4, 1));
    assert_eq!(c.schemes()[0].stat().sz_tried, 40 * MIB);

    assert_eq!(window(&mut c, &mut fake, 1), [], "all regions end at the resume point or before");
    assert_eq!(show(&c), (55, 0, None, 4, 2));
    assert_eq!(ages(&c)[..4], [76, 21, 91, 71]);
    assert_eq!(window(&mut c, &mut fake, 1), [(0, 8), (28, 40)]);
}

/// Going on one byte behind: the region there loses its first page, so that the quota is not used
/// up, and nothing is lost in the third window.
#[test]
fn size_quota_with_the_resume_point_off_by_one() {
    let (mut c, mut fake) = size_quota(Resume::Plus1SkipLast, QUOTA);
    assert_eq!(window(&mut c, &mut fake, 10), [(8, 24), (40, 44)]);
    assert_eq!(show(&c), (58, 20 * MIB, Some((0, 44 * MIB + 1)), 2, 0));
    let second = applied(&mut c, &mut fake, 10);
    assert_eq!(second, [44 * MIB + PAGE..52 * MIB, 52 * MIB..64 * MIB]);
    assert_eq!(show(&c), (57, 20 * MIB - PAGE, None, 4, 1));
    assert_eq!(window(&mut c, &mut fake, 10), [(0, 8), (28, 40)]);
    assert_eq!(c.schemes()[0].stat().qt_exceeds, 1);
}

/// Other weights give the same order here; without weights there is none, and the first come.
#[test]
fn size_quota_with_other_weights() {
    let weights =
        |weight_nr_accesses, weight_age| Quota { weight_nr_accesses, weight_age, ..QUOTA };
    let (mut c, mut fake) = size_quota(Resume::Exact, weights(3, 7));
    for (served, min_score) in [([(8, 24), (40, 44)], 71), ([(44, 52), (52, 64)], 70)] {
        assert_eq!(window(&mut c, &mut fake, 10), served);
        assert_eq!(show(&c).0, min_score);
    }
    assert_eq!(window(&mut c, &mut fake, 10), []);
    assert_eq!(show(&c).0, 69);
    let (mut c, mut fake) = size_quota(Resume::Exact, weights(0, 0));
    assert_eq!(window(&mut c, &mut fake, 10), [(0, 8), (8, 20)]);
    assert_eq!(show(&c), (99, 20 * MIB, Some((0, 20 * MIB)), 2, 0));
}

/// A GiB in 256 ms gives 4 MiB per ms; in 250 ms a number of bytes that is no multiple of a page.
#[test]
fn time_quota() {
    let config = DamonConfig::V6_12;
    let esz = |ms, sz, total_charged_sz, total_charged_ns| {
        let mut quota = Quota { ms, sz, ..Quota::default() };
        let mut charge = Charge { total_charged_sz, total_charged_ns, ..Charge::default() };
        charge.set_effective(&mut quota, &config, &ATTRS, &mut |_| 0);
        (charge.throughput(), charge.esz)
    };
    assert_eq!(esz(50, 0, 1 << 30, 256_000_000), (4_194_304, 209_715_200));
    assert_eq!(esz(50, 0, 1 << 30, 250_000_000), (4_294_967, 214_748_350));
    assert_eq!(214_748_350 % PAGE, 3_262);
    for (ms, first, with_sz) in [
        (10, 41_943_040, 41_943_040),
        (50, 209_715_200, 134_217_728),
        (200, 838_860_800, 134_217_728),
    ] {
        assert_eq!(esz(ms, 0, 0, 0).1, first);
        assert_eq!(esz(ms, 128 * MIB, 0, 0).1, with_sz);
    }
}

/// A quota of 52428 pages and a bit: 52428 pages are tried, the bit remains, and what else there is
/// is tried with nothing, with each pass.
#[test]
fn a_time_quota_is_never_used_up() {
    let quota = Quota { reset_interval_ms: 1000, sz: 214_748_350, ..Quota::default() };
    let scheme =
        Scheme { apply_interval_us: 5_000, quota, ..Scheme::new(cold(0), Action::Pageout) };
    let config = DamonConfig { first_window: FirstWindow::AtOnce, ..DamonConfig::V6_12 };
    let regions = [region(0, 200 * MIB, 0, 0), region(200 * MIB, 400 * MIB, 0, 0)];
    let mut c = context(config, ATTRS, vec![target(&regions)], vec![scheme]);
    let mut fake = Fake::new();
    c.start(&mut fake).unwrap();
    (0..2).for_each(|_| fake.turn(&mut c, SimDuration::ZERO));
    assert_eq!(show(&c), (99, 214_745_088, None, 3, 0));
    fake.turn(&mut c, SimDuration::ZERO);
    assert_eq!(show(&c), (99, 214_745_088, None, 6, 0), "three regions, tried with nothing");
    assert_eq!(c.schemes()[0].stat().sz_tried, 214_745_088);
}

/// High 500, mid 400, low 200: off above high and below low, on again only between low and mid.
#[test]
fn watermarks() {
    let marks = Watermarks {
        metric: WmarkMetric::FreeMemRate,
        interval_us: 5_000_000,
        high: 500,
        mid: 400,
        low: 200,
    };
    let mut active = true;
    let rates = [700, 500, 400, 399, 450, 500, 501, 399, 200, 199, 200];
    let seen = rates.map(|rate| {
        let wait = marks.wait_us(&mut active, rate);
        (active, wait / 1_000_000)
    });
    let (on, off) = ((true, 0), (false, 5));
    assert_eq!(seen, [off, off, off, on, on, on, off, on, on, off, on]);
}

/// While the watermarks keep it off a context looks every five seconds, samples nothing, and no
/// region ages.
#[test]
fn a_context_that_waits_stands_still() {
    let marks = Watermarks {
        metric: WmarkMetric::FreeMemRate,
        interval_us: 5_000_000,
        high: 500,
        mid: 400,
        low: 200,
    };
    let scheme = Scheme { wmarks: marks, ..Scheme::new(cold(1), Action::Stat) };
    let t = target(&[region(0, 8 * MIB, 0, 3)]);
    let mut c = context(DamonConfig::V6_12, ATTRS, vec![t.clone()], vec![scheme]);
    let mut fake = Fake { free_mem_rate: 700, ..Fake::new() };
    c.start(&mut fake).unwrap();
    let sleeps = fake.run(&mut c, SimTime(16_000_000_000));
    assert_eq!(sleeps, [SimDuration::from_secs(5); 4]);
    assert_eq!((c.passed_samples(), &c.targets()[0]), (0, &t));
    assert_eq!(fake.events.len(), 3, "three looks: {:?}", fake.events);
    fake.free_mem_rate = 399;
    assert_eq!(fake.run(&mut c, fake.now + SimDuration::from_millis(1)).len(), 1);
    assert!(c.schemes()[0].activated());
}

/// Cold scores of regions that were not used, by the powers of two of the seconds.
#[test]
fn scores() {
    let seconds = [0, 1, 3, 7, 8, 31, 32, 127, 128, 511, 512, 2047];
    let quota = |nr, age| Quota { weight_nr_accesses: nr, weight_age: age, ..Quota::default() };
    let by_age =
        |weights: &Quota, kind, nr| seconds.map(|s| score(kind, nr, s * 10, &ATTRS, weights));
    let (age, both, none) = (quota(0, 1), quota(3, 7), quota(0, 0));
    assert_eq!(by_age(&age, ScoreKind::Cold, 0), [50, 52, 54, 55, 57, 58, 60, 61, 63, 65, 66, 68]);
    assert_eq!(by_age(&both, ScoreKind::Cold, 0), [65, 67, 68, 69, 70, 71, 72, 73, 75, 76, 77, 78]);
    assert_eq!(by_age(&none, ScoreKind::Cold, 0), [99; 12]);
    assert_eq!(by_age(&age, ScoreKind::Flat, 0), [99; 12]);
    let hot = [0, 1, 4, 16, 256].map(|s| score(ScoreKind::Hot, 5, s * 10, &ATTRS, &age));
    assert_eq!(hot, [49, 50, 53, 56, 63]);
    let by_count = [1, 2, 5, 10, 15, 20].map(|n| score(ScoreKind::Hot, n, 0, &ATTRS, &quota(1, 0)));
    assert_eq!(by_count, [4, 9, 24, 49, 74, 99]);
}

/// Bytes for which an action did not work are charged by a share; where the share is not set, or more was
/// done than tried, all is charged that was tried (Linux 7.3, `damos_charge_quota()`).
#[test]
fn failures_are_charged_by_a_share() {
    let quarter = Quota { fail_charge: Some((1, 4)), ..QUOTA };
    assert_eq!(quarter.charge_for(100 * MIB, 20 * MIB), 40 * MIB);
    assert_eq!(quarter.charge_for(100 * MIB, 0), 25 * MIB);
    assert_eq!(quarter.charge_for(100 * MIB, 300 * MIB), 100 * MIB);
    assert_eq!(QUOTA.charge_for(100 * MIB, 20 * MIB), 100 * MIB);
    // Rounded down, as 7 bytes of which a third is charged.
    assert_eq!(Quota { fail_charge: Some((1, 3)), ..QUOTA }.charge_for(7, 0), 2);
}

/// The temporal tuner takes all that the size allows until a goal is achieved, and then nothing (Linux 7.3,
/// `damos_goal_tune_esz_bp_temporal()`).
#[test]
fn the_temporal_tuner_is_all_or_nothing() {
    let esz = |current: u64, sz: u64| {
        let goals = vec![Goal::user_input(1000, current)];
        let mut quota = Quota { sz, goals, tuner: Tuner::Temporal, ..QUOTA };
        let mut charge = Charge::default();
        charge.set_effective(&mut quota, &DamonConfig::V7_3, &ATTRS, &mut |_| 0);
        charge.esz
    };
    assert_eq!(esz(999, 8 * MIB), 8 * MIB);
    assert_eq!(esz(1000, 8 * MIB), 0);
    assert_eq!(esz(999, 0), u64::MAX / 10_000);
}

/// Filters of three regions allow the first two pages and leave out the third: 0 to 2 pages are
/// allowed, page 2 is left out, and the rest is left out where the last filter allows. Where a
/// filter of pages follows, the rest is its business (Linux 7.3, `damos_core_filter_out()`).
#[test]
fn the_first_filter_that_speaks_decides() {
    use CoreVerdict::{Allowed, Passed, Rejected};
    let addr = |from: u64, to: u64| Filter::new(FilterType::Addr(from * PAGE..to * PAGE), true);
    let pages = |from: u64, to: u64| region(from * PAGE, to * PAGE, 0, 0);
    let judge = |filters: &[Filter]| {
        let mut t = target(&[pages(0, 2), pages(2, 3), pages(3, 9)]);
        [0, 1, 2].map(|i| judge_region(filters, 0, &mut t, i, PAGE, true))
    };
    assert_eq!(judge(&[]), [Passed; 3]);
    assert_eq!(judge(&[addr(2, 3)]), [Passed, Rejected, Passed]);
    assert_eq!(judge(&[addr(0, 2).allowing()]), [Allowed, Rejected, Rejected]);
    assert_eq!(judge(&[addr(0, 2).allowing(), addr(2, 3)]), [Allowed, Rejected, Passed]);
    // Pages 0 to 3 would be allowed, but the filter before speaks first.
    assert_eq!(judge(&[addr(2, 3), addr(0, 3).allowing()]), [Allowed, Rejected, Rejected]);
    let anon = Filter::new(FilterType::Anon, true);
    assert_eq!(judge(&[addr(0, 2).allowing(), anon]), [Allowed, Passed, Passed]);
}

/// 100 pages: 40 were used in 3 samples and have been for 2 aggregations, 50 are idle for 9, and 10
/// for 99. Sorted by idle time, percentiles 0 to 40 are the first, 41 to 90 the second. An entry says
/// how long, negative while used; of the last region stands percentile 100 (Linux 7.3, `mm/damon/stat.c`).
#[test]
fn damon_stat_tells_percentiles_of_idle_time() {
    let pages = |from: u64, to: u64, nr, age| region(from * PAGE, to * PAGE, nr, age);
    let regions = [pages(0, 50, 0, 8), pages(50, 90, 3, 1), pages(90, 100, 0, 98)];
    let c = context(DamonConfig::V7_3, ATTRS, vec![target(&regions)], Vec::new());
    let told = told(&c);
    assert_eq!(told.aggr_us, 100_000);
    assert_eq!(told.idle_ms[0], -200);
    assert_eq!(told.idle_ms[40], -200);
    assert_eq!(told.idle_ms[41], 900);
    assert_eq!(told.idle_ms[90], 900);
    assert_eq!(told.idle_ms[91], 9_900);
    assert_eq!(told.idle_ms[100], 9_900);
    // 40 pages in 3 samples of an aggregation of 100 ms, ten of which are a second.
    assert_eq!(told.bandwidth, 40 * PAGE * 3 * 10);
}
