//! Novelties of Linux 7.x: ends after a number of snapshots, goals on eligible memory, stall time
//! after new parameters, and pauses.

use crate::harness::{Event, Fake, MIB, cold, context, ms, region, target};
use mmsim_damon::config::{FirstPsi, FirstWindow};
use mmsim_damon::damos::goal::{Goal, Metric};
use mmsim_damon::damos::quota::Quota;
use mmsim_damon::damos::scheme::{AccessPattern, Action, Scheme};
use mmsim_damon::{Context, DamonConfig, DamonError, MonitoringAttrs, Parameters, Target};

const ATTRS: MonitoringAttrs = MonitoringAttrs::DEFAULT;

/// Linux 6.12, of which a first pass is limited and snapshots are counted.
const COUNTING: DamonConfig =
    DamonConfig { first_window: FirstWindow::AtOnce, count_snapshots: true, ..DamonConfig::V6_12 };

fn seen(c: &Context) -> (u64, u64) {
    let stat = c.schemes()[0].stat();
    (stat.sz_tried / MIB, stat.nr_snapshots)
}

/// Ten MiB at four a second, one pass with every sample. The windows that begin after 5 ms and one
/// second later end amid memory and are no snapshot. The third reaches the end with two MiB: that
/// is the first snapshot. The scheme stops there, or begins anew with what its quota has left.
#[test]
fn a_snapshot_is_whole_when_its_last_region_was_offered() {
    let quota = Quota { sz: 4 * MIB, reset_interval_ms: 1000, ..Quota::default() };
    for (max_nr_snapshots, last) in [(0, (12, 1)), (1, (10, 1)), (2, (12, 1))] {
        let scheme = Scheme {
            apply_interval_us: 5_000,
            quota: quota.clone(),
            max_nr_snapshots,
            ..Scheme::new(AccessPattern::ANY, Action::Pageout)
        };
        let regions = target(&[region(0, 10 * MIB, 0, 0)]);
        let mut c = context(COUNTING, ATTRS, vec![regions], vec![scheme]);
        let mut fake = Fake::new();
        c.start(&mut fake).unwrap();
        for (until, expected) in [(6, (4, 0)), (1_006, (8, 0)), (2_006, (10, 1)), (2_900, last)] {
            fake.run(&mut c, ms(until));
            assert_eq!(seen(&c), expected, "at most {max_nr_snapshots}, after {until} ms");
        }
    }
}

/// The kernel counts the last region of each target. Of two targets the second one is left out when the
/// third count comes with the first target of the second pass.
#[test]
fn each_target_is_a_snapshot() {
    let targets = vec![target(&[region(0, MIB, 0, 0)]), target(&[region(0, MIB, 0, 0)])];
    let scheme = Scheme {
        apply_interval_us: 5_000,
        max_nr_snapshots: 3,
        ..Scheme::new(AccessPattern::ANY, Action::Stat)
    };
    let mut c = context(COUNTING, ATTRS, targets, vec![scheme]);
    let mut fake = Fake::new();
    c.start(&mut fake).unwrap();
    fake.run(&mut c, ms(6));
    assert_eq!(seen(&c), (2, 2));
    fake.run(&mut c, ms(60));
    assert_eq!(seen(&c), (3, 3));

    // It may go through two more, by new parameters.
    let mut more = c.schemes()[0].clone();
    more.max_nr_snapshots = 5;
    let targets = vec![Target::new(None), Target::new(None)];
    c.commit(Parameters { attrs: ATTRS, targets, schemes: vec![more] }).unwrap();
    fake.run(&mut c, ms(199));
    assert_eq!(c.schemes()[0].stat().nr_snapshots, 5);
}

/// No region is of the pattern: it is a snapshot all the same. A scheme that its watermarks or its
/// interval keep away goes through none.
#[test]
fn a_snapshot_needs_no_region_of_the_pattern() {
    let never = AccessPattern { nr_accesses: 7..=7, ..AccessPattern::ANY };
    let scheme = |apply_interval_us| Scheme {
        apply_interval_us,
        ..Scheme::new(never.clone(), Action::Stat)
    };
    let regions = target(&[region(0, MIB, 0, 0)]);
    let mut c = context(COUNTING, ATTRS, vec![regions], vec![scheme(5_000), scheme(20_000)]);
    let mut fake = Fake::new();
    c.start(&mut fake).unwrap();
    fake.run(&mut c, ms(21));
    let [often, seldom] = c.schemes() else { panic!("two schemes") };
    assert_eq!((often.stat().nr_tried, often.stat().nr_snapshots), (0, 4));
    assert_eq!(seldom.stat().nr_snapshots, 1);
}

#[test]
fn kernels_that_count_no_snapshots_take_no_end_after_some() {
    let scheme = Scheme { max_nr_snapshots: 1, ..Scheme::new(AccessPattern::ANY, Action::Stat) };
    for (config, takes) in [(DamonConfig::V6_18, false), (DamonConfig::V7_3, true)] {
        let mut c = context(config, ATTRS, vec![], vec![]);
        let error = DamonError::InvalidScheme("this kernel does not count snapshots");
        let wanted = if takes { Ok(()) } else { Err(error) };
        assert_eq!(c.set_schemes(vec![scheme.clone()]), wanted);
        let schemes = vec![scheme.clone()];
        assert_eq!(c.commit(Parameters { attrs: ATTRS, targets: vec![], schemes }), wanted);
    }
}

/// Only the region of the pattern is examined, whatever else the scheme would leave out. A quarter
/// of it lies on the node and half is wanted: the quota of a byte grows by a half, to 15000 parts
/// of 10000.
#[test]
fn eligible_memory_is_that_of_the_pattern() {
    let regions = target(&[
        region(0, 4 * MIB, 0, 50),
        region(5 * MIB, 9 * MIB, 20, 50),
        region(10 * MIB, 12 * MIB, 0, 0),
        region(13 * MIB, 14 * MIB, 0, 90),
    ]);
    let goals = vec![Goal::new(Metric::NodeEligibleMemBp(1), 5_000)];
    let quota = Quota { goals, reset_interval_ms: 1000, ..Quota::default() };
    let scheme =
        Scheme { apply_interval_us: 5_000, quota, ..Scheme::new(cold(10), Action::MigrateCold) };
    let mut c = context(COUNTING, ATTRS, vec![regions], vec![scheme]);
    let mut fake = Fake { eligible_bp: 2_500, ..Fake::new() };
    c.start(&mut fake).unwrap();
    fake.run(&mut c, ms(900));
    let cold = vec![0..4 * MIB, 13 * MIB..14 * MIB];
    assert_eq!(fake.asked, [(cold, 1)], "once in a window");
    let s = &c.schemes()[0];
    assert_eq!((s.quota.goals[0].current_value, s.charge().esz_bp), (2_500, 15_000));
}

/// A minute of stalls before the first look, two milliseconds after it. New parameters in between keep
/// what was seen last, so that the second look sees the two; or forget it, so that it says nothing again.
#[test]
fn new_parameters_and_stall_time() {
    let looks = |first_psi| {
        let config = DamonConfig { first_psi, ..COUNTING };
        let goals = vec![Goal::new(Metric::SomeMemPsiUs, 1_000)];
        let quota = Quota { goals, ..Quota::default() };
        let scheme = Scheme { quota, ..Scheme::new(AccessPattern::ANY, Action::Stat) };
        let regions = target(&[region(0, MIB, 0, 0)]);
        let mut c = context(config, ATTRS, vec![regions], vec![scheme.clone()]);
        let mut fake = Fake { psi_us: 60_000_000, ..Fake::new() };
        c.start(&mut fake).unwrap();
        let value = |c: &Context| c.schemes()[0].quota.goals[0].current_value;
        fake.run(&mut c, ms(102));
        let first = value(&c);
        fake.psi_us += 2_000;
        let targets = vec![Target::new(None)];
        c.commit(Parameters { attrs: ATTRS, targets, schemes: vec![scheme] }).unwrap();
        // They come in with the merge after 200 ms, and make the scheme due 100 ms later.
        fake.run(&mut c, ms(302));
        (first, value(&c))
    };
    assert_eq!(looks(FirstPsi::Total), (60_000_000, 2_000));
    assert_eq!(looks(FirstPsi::Neutral), (1_000, 1_000));
}

/// Samples of 5 ms with a pass each. From 15 ms on it is paused with the third sample: that is looked at,
/// and nothing more happens until 105 ms. Then the third pass comes, and the other 17 samples of the
/// aggregation, which ends after 190 ms.
#[test]
fn a_pause_begins_and_ends_behind_a_sample() {
    let scheme =
        Scheme { apply_interval_us: 5_000, ..Scheme::new(AccessPattern::ANY, Action::Stat) };
    let regions = target(&[region(0, MIB, 0, 0)]);
    let mut c = context(COUNTING, ATTRS, vec![regions], vec![scheme]);
    let mut fake = Fake::new();
    c.start(&mut fake).unwrap();
    let seen = |c: &Context| (c.passed_samples(), c.schemes()[0].stat().nr_snapshots);
    fake.run(&mut c, ms(11));
    assert_eq!((seen(&c), fake.now), ((2, 2), ms(15)));
    c.set_paused(true);
    fake.run(&mut c, ms(101));
    assert_eq!((seen(&c), fake.now), ((3, 2), ms(105)));
    c.set_paused(false);
    fake.run(&mut c, ms(106));
    assert_eq!(seen(&c), (3, 3));
    fake.run(&mut c, ms(191));
    let merged = fake.events.iter().filter(|e| matches!(e, Event::Merged(_)));
    assert_eq!(merged.collect::<Vec<_>>(), [&Event::Merged(ms(190))]);
    assert_eq!(seen(&c), (20, 20));

    // It can be stopped.
    c.set_paused(true);
    fake.run(&mut c, ms(300));
    c.stop().unwrap();
    fake.run(&mut c, ms(310));
    assert!(!c.is_running());
}

/// A first look at stall time, and another one with the next pass; in between it is paused for a moment.
#[test]
fn a_pause_forgets_the_look_at_stall_time() {
    for (first_psi, second) in [(FirstPsi::Total, 2_000), (FirstPsi::Neutral, 1_000)] {
        let config = DamonConfig { first_psi, ..COUNTING };
        let goals = vec![Goal::new(Metric::SomeMemPsiUs, 1_000)];
        let quota = Quota { goals, ..Quota::default() };
        let scheme = Scheme { quota, ..Scheme::new(AccessPattern::ANY, Action::Stat) };
        let regions = target(&[region(0, MIB, 0, 0)]);
        let mut c = context(config, ATTRS, vec![regions], vec![scheme]);
        let mut fake = Fake { psi_us: 60_000_000, ..Fake::new() };
        c.start(&mut fake).unwrap();
        fake.run(&mut c, ms(102));
        fake.psi_us += 2_000;
        c.set_paused(true);
        fake.run(&mut c, ms(120));
        c.set_paused(false);
        fake.run(&mut c, ms(250));
        assert_eq!(c.schemes()[0].quota.goals[0].current_value, second);
    }
}
