//! The thread of a context: what it does in which order, when, and how it ends.

use crate::harness::{Event, Fake, MIB, PAGE, cold, context, ms, region, target};
use mmsim_core::base::id::AsId;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{KnobError, Settings as _};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_damon::config::{FirstWindow, IntervalClock};
use mmsim_damon::damos::filter::{Filter, FilterType};
use mmsim_damon::damos::goal::{Goal, Metric};
use mmsim_damon::damos::quota::Quota;
use mmsim_damon::damos::scheme::{AccessPattern, Action, Scheme};
use mmsim_damon::kdamonds::Kdamonds;
use mmsim_damon::modules::{LruSort, Module, Reclaim};
use mmsim_damon::{
    Context, DamonConfig, DamonError, Hook, IntervalsGoal, MonitoringAttrs, Operations, Parameters,
    StepOutcome, Target,
};

const ATTRS: MonitoringAttrs = MonitoringAttrs::DEFAULT;
const NEW: DamonConfig = DamonConfig::V6_12;

fn stat() -> Scheme {
    Scheme::new(AccessPattern::ANY, Action::Stat)
}

fn one_region() -> Vec<Target> {
    vec![target(&[region(0, 100 * MIB, 0, 0)])]
}

/// Names of the events, and their times in ms.
fn order(events: &[Event]) -> Vec<(&'static str, u64)> {
    let mut now = SimTime::ZERO;
    let named = events.iter().map(|e| {
        let (name, at) = match e {
            Event::Marked(at) => ("marked", *at),
            Event::Checked(at) => ("checked", *at),
            Event::Merged(at) => ("merged", *at),
            Event::Waited(at) => ("waited", *at),
            Event::Aggregated(at, ..) => ("aggregated", *at),
            Event::BeforeApply(..) => ("before", now),
            Event::Applied(at, ..) => ("applied", *at),
            Event::Updated(at) => ("updated", *at),
            Event::Ended(at) => ("ended", *at),
        };
        now = at;
        (name, at.0 / 1_000_000)
    });
    named.collect()
}

/// Three samples make an aggregation, six an update of the ranges. With a scheme, after merging and
/// before the report.
#[test]
fn the_order_of_things() {
    let attrs = MonitoringAttrs { aggr_us: 15_000, ops_update_us: 30_000, ..ATTRS };
    let mut c = context(NEW, attrs, one_region(), vec![stat()]);
    let mut fake = Fake::new();
    c.start(&mut fake).unwrap();
    let sleeps = fake.run(&mut c, ms(31));
    assert_eq!(sleeps, [SimDuration::from_millis(5); 7]);
    let turn = |at: u64| [("marked", at - 5), ("checked", at)];
    let due = |at| [("merged", at), ("before", at), ("applied", at)];
    let mut expected = [turn(5), turn(10), turn(15)].concat();
    expected.extend(due(15));
    expected.extend([("aggregated", 15)]);
    expected.extend([turn(20), turn(25), turn(30)].concat());
    // The region was cut in two after the first report, and merged: no sample saw a difference.
    expected.extend(due(30));
    let seen = order(&fake.events);
    let regions = c.targets()[0].regions().len();
    assert_eq!(seen[..expected.len() - 3], expected[..expected.len() - 3]);
    let rest: Vec<_> = seen[expected.len() - 3..].iter().map(|e| e.0).collect();
    assert_eq!(
        (rest[0], rest[rest.len() - 3], rest[rest.len() - 2]),
        ("merged", "aggregated", "updated")
    );
    assert_eq!(rest[rest.len() - 1], "marked");
    assert!(regions >= 2);
}

/// The cost of a sample comes on top of its interval: samples are counted, and an aggregation takes
/// longer; or the clock counts, and has fewer samples.
#[test]
fn work_makes_intervals_longer() {
    let samples = |config: DamonConfig| {
        let mut c = context(config, ATTRS, one_region(), Vec::new());
        let cost = SimDuration::from_millis(5);
        let mut fake = Fake { sample_cost: cost, ..Fake::new() };
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(1001));
        let merges = fake.events.iter().filter(|e| matches!(e, Event::Merged(_))).count();
        (c.passed_samples(), merges)
    };
    assert_eq!(samples(NEW), (100, 5));
    assert_eq!(samples(DamonConfig { interval_clock: IntervalClock::Wall, ..NEW }), (100, 10));
}

/// Each application is a step of its own, and the pass goes on where it was.
#[test]
fn applications_are_steps() {
    let regions = [0, 1, 2, 3].map(|i| region(i * 3 * MIB, i * 3 * MIB + MIB, 0, 9));
    let pageout = Scheme { apply_interval_us: 5000, ..Scheme::new(cold(0), Action::Pageout) };
    let every = Scheme { apply_interval_us: 5000, ..stat() };
    let mut c = context(NEW, ATTRS, vec![target(&regions)], vec![pageout, every]);
    let mut fake = Fake { apply_cost: SimDuration::from_millis(3), ..Fake::new() };
    c.start(&mut fake).unwrap();
    assert!(matches!(c.step(&mut fake), StepOutcome::Sleep(_)));
    fake.now = ms(5);
    for n in 1..=8 {
        assert_eq!(c.step(&mut fake), StepOutcome::Again);
        let applied = fake.events.iter().filter(|e| matches!(e, Event::Applied(..))).count();
        assert_eq!(applied, n);
    }
    assert!(matches!(c.step(&mut fake), StepOutcome::Sleep(_)));
    assert_eq!(fake.now, ms(5 + 8 * 3));
    let actions = fake.events.iter().filter_map(|e| match e {
        Event::Applied(_, action, r) => Some((*action, r.start / (3 * MIB))),
        _ => None,
    });
    let expected = (0..4).flat_map(|i| [(Action::Pageout, i), (Action::Stat, i)]);
    assert!(actions.eq(expected), "{:?}", fake.events);
    // 8 applications of 3 ms on a clock that ticks every 4 ms: 24 ms from 5, seen as 4 to 28.
    let total = c.schemes().iter().map(|s| s.charge().total_charged_ns).sum::<u64>();
    assert_eq!(total, 24_000_000);
    assert!(c.targets()[0].regions().iter().all(|r| r.age == 0));
}

/// All of a large region is used in the first sample and never again. Its count changes with the
/// first and the second aggregation, so it is 50 aggregations old at 5.2 s; it is paged out, is
/// new again, and 50 aggregations later paged out again.
#[test]
fn a_cold_region_is_found_after_its_age() {
    let scheme = Scheme::new(cold(50), Action::Pageout);
    let mut c = context(NEW, ATTRS, one_region(), vec![scheme]);
    let mut fake = Fake { used: Box::new(|_, now| now <= ms(5)), ..Fake::new() };
    c.start(&mut fake).unwrap();
    fake.run(&mut c, ms(11_000));
    let mut times: Vec<u64> = fake
        .events
        .iter()
        .filter_map(|e| match e {
            Event::Applied(at, ..) => Some(at.0 / 1_000_000),
            _ => None,
        })
        .collect();
    times.dedup();
    assert_eq!(times, [5_200, 10_200]);
    assert_eq!(c.schemes()[0].stat().sz_tried, 200 * MIB);
}

/// A quarter of the memory is used all the time. The regions come to tell it from the rest, at
/// every seed, though there are only 40 of them for 25600 pages.
#[test]
fn regions_follow_what_is_used() {
    let attrs = MonitoringAttrs { min_nr_regions: 10, max_nr_regions: 40, ..ATTRS };
    let hot = 32 * MIB..57 * MIB;
    for seed in 0..8 {
        let mut c = Context::new(NEW, Rng::for_purpose(seed, "kdamond"));
        c.set_attrs(attrs).unwrap();
        c.set_targets(one_region()).unwrap();
        let range = hot.clone();
        let rng = Rng::for_purpose(seed, "fake");
        let mut fake = Fake { used: Box::new(move |a, _| range.contains(&a)), rng, ..Fake::new() };
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(30_000));
        let snapshots = fake.events.iter().rev().filter_map(|e| match e {
            Event::Aggregated(_, _, regions) => Some(regions),
            _ => None,
        });
        // Size of what is used at least in half of the samples, over the last ten seconds.
        let sizes: Vec<u64> = snapshots
            .take(100)
            .map(|regions| {
                let used = regions.iter().filter(|r| r.nr_accesses >= 10);
                used.map(|r| r.end - r.start).sum()
            })
            .collect();
        let mean = sizes.iter().sum::<u64>() / sizes.len() as u64;
        let off = mean.abs_diff(25 * MIB);
        assert!(off < 2 * MIB, "seed {seed}: {} of 25 MiB", mean as f64 / MIB as f64);
    }
}

#[test]
fn it_starts_once_and_with_targets_only() {
    let mut fake = Fake::new();
    let mut c = context(NEW, ATTRS, Vec::new(), Vec::new());
    assert_eq!(c.start(&mut fake), Err(DamonError::NoTargets));
    assert_eq!((c.is_running(), c.step(&mut fake)), (false, StepOutcome::Exit));
    assert_eq!(c.stop(), Err(DamonError::NotRunning));
    assert_eq!(DamonError::NotRunning.errno(), "EPERM");
    c.set_targets(one_region()).unwrap();
    c.start(&mut fake).unwrap();
    assert_eq!(c.start(&mut fake), Err(DamonError::Busy));
    // While it runs nothing is set.
    let before = (c.targets().to_vec(), c.schemes().to_vec(), *c.attrs());
    assert_eq!(c.set_targets(Vec::new()), Err(DamonError::Busy));
    assert_eq!(c.set_schemes(vec![stat()]), Err(DamonError::Busy));
    assert_eq!(c.set_attrs(ATTRS), Err(DamonError::Busy));
    assert_eq!(c.init_regions("0 0 1"), Err(DamonError::Busy));
    assert_eq!((c.targets().to_vec(), c.schemes().to_vec(), *c.attrs()), before);
    assert_eq!(DamonError::Busy.errno(), "EBUSY");
}

/// Asked to stop; told to by a hook; no target left that could be watched. Regions are gone before
/// the last hook.
#[test]
fn how_it_ends() {
    let run = |mut fake: Fake, stop: bool| {
        let mut c = context(NEW, ATTRS, one_region(), vec![stat()]);
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(52));
        if stop {
            c.stop().unwrap();
        }
        fake.run(&mut c, ms(10_000));
        assert!(!c.is_running());
        assert!(c.targets()[0].regions().is_empty());
        match fake.events.last() {
            Some(Event::Ended(at)) => at.0 / 1_000_000,
            last => panic!("{last:?}"),
        }
    };
    assert_eq!(run(Fake::new(), true), 55);
    assert_eq!(run(Fake { valid: Some(false), ..Fake::new() }, false), 0);
    let at = |hook| Fake { break_at: Some(hook), ..Fake::new() };
    assert_eq!(run(at(Hook::AfterSampling), false), 0);
    assert_eq!(run(at(Hook::AfterAggregation), false), 100);

    // A valid target, or a set that has no test, keeps it going.
    for valid in [Some(true), None] {
        let mut fake = Fake { valid, ..Fake::new() };
        let mut c = context(NEW, ATTRS, one_region(), Vec::new());
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(1000));
        assert!(c.is_running());
        // Without any target only a set with a test ends.
        c.commit(Parameters { attrs: ATTRS, targets: Vec::new(), schemes: Vec::new() }).unwrap();
        fake.run(&mut c, ms(2000));
        assert_eq!(c.is_running(), valid.is_none());
    }
}

/// A break before an application leaves the action out, and nothing else.
#[test]
fn an_action_can_be_left_out() {
    let scheme = Scheme { apply_interval_us: 5000, ..Scheme::new(cold(0), Action::Pageout) };
    let mut c = context(NEW, ATTRS, one_region(), vec![scheme]);
    let hook = Hook::BeforeApply { scheme: 0, target: 0, region: 0 };
    let mut fake = Fake { break_at: Some(hook), ..Fake::new() };
    c.start(&mut fake).unwrap();
    fake.run(&mut c, ms(6));
    assert_eq!(fake.take_applied(), []);
    let s = c.schemes()[0].stat();
    assert_eq!((s.nr_tried, s.sz_tried, s.nr_applied), (1, 100 * MIB, 0));
    assert!(c.is_running());
}

#[test]
fn groups() {
    let fresh = || context(NEW, ATTRS, one_region(), Vec::new());
    let (mut a, mut b, mut idle) = (fresh(), fresh(), context(NEW, ATTRS, vec![], vec![]));
    let (mut x, mut y) = (Fake::new(), Fake::new());
    let mut all = Kdamonds::default();
    // None starts if one has nothing to watch.
    let mut group: [(&mut Context, &mut dyn Operations); 2] =
        [(&mut a, &mut x), (&mut idle, &mut y)];
    assert_eq!(all.start(&mut group, false), Err(DamonError::NoTargets));
    assert!(!a.is_running());
    // An exclusive group keeps others out, and wants to be alone.
    all.start(&mut [(&mut a, &mut x)], true).unwrap();
    for exclusive in [false, true] {
        assert_eq!(all.start(&mut [(&mut b, &mut y)], exclusive), Err(DamonError::Busy));
    }
    a.stop().unwrap();
    assert_eq!(a.step(&mut x), StepOutcome::Exit);
    all.ended();
    all.start(&mut [(&mut b, &mut y)], false).unwrap();
    assert_eq!(all.start(&mut [(&mut a, &mut x)], true), Err(DamonError::Busy));
    let mut group: [(&mut Context, &mut dyn Operations); 2] = [(&mut a, &mut x), (&mut b, &mut y)];
    assert_eq!(all.start(&mut group, false), Err(DamonError::Busy), "a member runs");
    assert!(!a.is_running());
    all.start(&mut [(&mut a, &mut x)], false).unwrap();
    assert_eq!(all.nr_running(), 2);
}

/// New parameters come in after the next merge. By position: statistics and charge of the first
/// scheme stay, the second is new; regions of the first target are fitted, the second goes.
#[test]
fn commits_keep_what_they_can() {
    let targets = vec![target(&[region(0, 10 * MIB, 0, 5)]), target(&[region(0, MIB, 0, 5)])];
    let quota = Quota { sz: 4 * MIB, reset_interval_ms: 1000, ..Quota::default() };
    let first = Scheme { quota: quota.clone(), ..stat() };
    let config = DamonConfig { first_window: FirstWindow::AtOnce, ..NEW };
    let mut c = context(config, ATTRS, targets, vec![first]);
    let mut fake = Fake::new();
    c.start(&mut fake).unwrap();
    fake.run(&mut c, ms(102));
    let before = c.schemes()[0].clone();
    assert_eq!(before.stat().sz_tried, 4 * MIB);
    assert_eq!(before.charge().resume, Some((0, 4 * MIB)));

    let attrs = MonitoringAttrs { aggr_us: 50_000, ..ATTRS };
    let new = Parameters {
        attrs,
        targets: vec![target(&[region(2 * MIB, 20 * MIB, 0, 0)])],
        schemes: vec![
            Scheme { quota: Quota { sz: 8 * MIB, ..quota }, ..Scheme::new(cold(3), Action::Cold) },
            stat(),
        ],
    };
    c.commit(new).unwrap();
    assert_eq!(c.schemes(), std::slice::from_ref(&before), "not yet");
    fake.run(&mut c, ms(202));
    assert_eq!((*c.attrs(), c.targets().len(), c.schemes().len()), (attrs, 1, 2));
    let s = &c.schemes()[0];
    assert_eq!((s.action, s.quota.sz), (Action::Cold, 8 * MIB));
    assert_eq!((s.stat(), s.charge()), (before.stat(), before.charge()));
    let regions = c.targets()[0].regions();
    assert_eq!((regions[0].start, regions[regions.len() - 1].end), (2 * MIB, 20 * MIB));
    // Two aggregations of 100 ms without a change are four of 50 ms.
    assert!(regions.iter().any(|r| r.age >= 10), "{regions:?}");

    // What makes no sense changes nothing.
    let wrong = [
        Parameters {
            attrs: MonitoringAttrs { min_nr_regions: 2, ..ATTRS },
            targets: one_region(),
            schemes: vec![],
        },
        Parameters {
            attrs: ATTRS,
            targets: one_region(),
            schemes: vec![Scheme {
                quota: Quota { goals: vec![Goal::new(Metric::UserInput, 0)], ..Quota::default() },
                ..stat()
            }],
        },
        Parameters {
            attrs: ATTRS,
            targets: one_region(),
            schemes: vec![Scheme {
                filters: vec![Filter::new(
                    FilterType::Addr(std::ops::Range { start: 2, end: 1 }),
                    true,
                )],
                ..stat()
            }],
        },
    ];
    let before = (c.targets().to_vec(), c.schemes().to_vec());
    let errors = wrong.map(|p| c.commit(p).unwrap_err());
    assert!(matches!(errors[0], DamonError::InvalidAttrs(_)));
    assert_eq!(errors[1..], [DamonError::InvalidGoal, DamonError::InvalidFilter]);
    assert_eq!((c.targets().to_vec(), c.schemes().to_vec()), before);
}

/// A process is watched by as many targets as name it, however often they were set, and by none
/// when the context goes.
#[test]
fn targets_that_are_replaced_are_let_go() {
    let names = |c: &Context| c.targets().iter().filter(|t| t.space == Some(AsId(7))).count();
    let mut c = Context::new(NEW, Rng::for_purpose(1, "kdamond"));
    for _ in 0..5 {
        c.set_targets(vec![Target::new(Some(AsId(7))), Target::new(Some(AsId(8)))]).unwrap();
        assert_eq!(names(&c), 1);
    }
    c.set_targets(vec![Target::new(Some(AsId(8)))]).unwrap();
    assert_eq!(names(&c), 0);
}

/// The parameters of DAMON_RECLAIM become this scheme.
#[test]
fn reclaim() {
    let ram = Some(16 * MIB..1040 * MIB);
    let c = Reclaim::DEFAULT.context(NEW, ram.clone(), Rng::for_purpose(1, "kdamond")).unwrap();
    assert_eq!(*c.attrs(), MonitoringAttrs { ops_update_us: 0, ..ATTRS });
    assert_eq!(c.targets(), [target(&[region(16 * MIB, 1040 * MIB, 0, 0)])], "one region");
    let [s] = c.schemes() else { panic!("{:?}", c.schemes()) };
    assert_eq!((s.action, s.apply_interval_us), (Action::Pageout, 0));
    assert_eq!(
        s.pattern,
        AccessPattern {
            sz_region: PAGE..=u64::MAX,
            nr_accesses: 0..=0,
            age_region: 1200..=u32::MAX,
        }
    );
    assert_eq!((s.quota.ms, s.quota.sz, s.quota.reset_interval_ms), (10, 128 * MIB, 1000));
    let weights = (s.quota.weight_sz, s.quota.weight_nr_accesses, s.quota.weight_age);
    assert_eq!(weights, (0, 0, 1));
    let marks = (s.wmarks.interval_us, s.wmarks.high, s.wmarks.mid, s.wmarks.low);
    assert_eq!(marks, (5_000_000, 500, 400, 200));
    assert!(s.filters.is_empty() && s.quota.goals.is_empty());

    let mut p = Reclaim::RFC_V3;
    for (name, value) in
        [("skip_anon", 1), ("quota_mem_pressure_us", 10_000), ("quota_autotune_feedback", 5_000)]
    {
        p.put(name, value).unwrap();
        assert_eq!(p.number(Reclaim::row(name).unwrap()), Some(value));
    }
    let p = p.parameters(&NEW, ram.clone()).unwrap();
    let s = &p.schemes[0];
    assert_eq!(s.filters, [Filter::new(FilterType::Anon, true)]);
    let goals = [Goal::new(Metric::SomeMemPsiUs, 10_000), Goal::user_input(10_000, 5_000)];
    assert_eq!(s.quota.goals, goals);
    assert_eq!((s.quota.ms, s.quota.sz, *s.pattern.age_region.start()), (100, 1 << 30, 50));

    // Tuned intervals begin as the defaults are, whatever the user says.
    let tuned =
        Reclaim { autotune_monitoring_intervals: true, sample_interval: 1, ..Reclaim::DEFAULT };
    let attrs = tuned.parameters(&DamonConfig::V7_3, ram.clone()).unwrap().attrs;
    assert_eq!((attrs.sample_us, attrs.aggr_us), (5_000, 100_000));
    assert_eq!(attrs.tuning, Some(IntervalsGoal::of_modules(40)));
    tuned.parameters(&NEW, ram.clone()).unwrap_err();

    // The kernel of the recordings drops the scheme.
    let drops = DamonConfig { module_commit_drops_scheme: true, ..NEW };
    assert_eq!(Reclaim::DEFAULT.parameters(&drops, ram).unwrap().schemes, []);
}

#[test]
fn lru_sort() {
    let ram = Some(0..1024 * MIB);
    let p = LruSort::DEFAULT.parameters(&NEW, ram).unwrap();
    let [hot, cold] = &p.schemes[..] else { panic!("{:?}", p.schemes) };
    assert_eq!((hot.action, cold.action), (Action::LruPrio, Action::LruDeprio));
    assert_eq!(hot.pattern.nr_accesses, 10..=u32::MAX);
    assert_eq!(hot.pattern.age_region, 0..=u32::MAX);
    assert_eq!(
        (&cold.pattern.nr_accesses, &cold.pattern.age_region),
        (&(0..=0), &(1200..=u32::MAX))
    );
    for s in &p.schemes {
        let q = &s.quota;
        assert_eq!((q.ms, q.sz, q.weight_nr_accesses, q.weight_age), (5, 0, 1, 0));
        assert_eq!((s.wmarks.high, s.wmarks.mid, s.wmarks.low), (200, 150, 50));
    }
}

/// Errors of modules; new inputs of a running one, and what wrong ones do to it.
#[test]
fn modules_refuse_and_switch_off() {
    let ram = || Some(0..1024 * MIB);
    let reclaim = Reclaim::DEFAULT;
    let invalid = |p: &dyn Module, ram| p.parameters(&NEW, ram).unwrap_err().errno();
    assert_eq!(invalid(&Reclaim { aggr_interval: 0, ..reclaim }, ram()), "EINVAL");
    assert_eq!(invalid(&Reclaim { monitor_region_start: 1, ..reclaim }, ram()), "EINVAL");
    assert_eq!(invalid(&Reclaim { min_nr_regions: 2, ..reclaim }, ram()), "EINVAL");
    assert_eq!(invalid(&reclaim, None), "EINVAL");
    assert_eq!(invalid(&LruSort { sample_interval: 0, ..LruSort::DEFAULT }, ram()), "EINVAL");

    let mut p = reclaim;
    let e = p.put("min_nr_regions", 2).unwrap_err();
    assert_eq!(e.to_string(), "min_nr_regions: found 2, write a whole number from 3 to 4294967295");
    assert!(matches!(p.put("min-age", 2), Err(KnobError::UnknownKnob { .. })));
    assert_eq!(p, reclaim);

    let mut c = reclaim.context(NEW, ram(), Rng::for_purpose(1, "kdamond")).unwrap();
    let mut fake = Fake { free_mem_rate: 300, ..Fake::new() };
    c.start(&mut fake).unwrap();
    fake.run(&mut c, ms(150));
    let quick = Reclaim { min_age: 100_000, ..reclaim };
    quick.commit_inputs(&mut c, ram()).unwrap();
    // They come in at 200 ms, and intervals begin anew.
    fake.run(&mut c, ms(310));
    assert_eq!(*c.schemes()[0].pattern.age_region.start(), 1);
    let tried = quick.outputs(&c)[1];
    assert_eq!(tried, ("bytes_reclaim_tried_regions", 1024 * MIB), "{:?}", c.schemes()[0]);
    let wrong = Reclaim { monitor_region_start: 1, ..reclaim };
    assert!(wrong.commit_inputs(&mut c, ram()).is_err());
    fake.run(&mut c, ms(320));
    assert!(!c.is_running());
}
