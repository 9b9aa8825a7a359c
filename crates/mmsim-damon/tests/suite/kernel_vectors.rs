//! The cases of the kernel's own unit tests, with what the kernel expects (Linux 6.12
//! `mm/damon/tests/core-kunit.h`, `vaddr-kunit.h`). Where they only give bounds, the values are
//! worked out here. The smallest region is one byte unless a case says otherwise.

use mmsim_core::base::rng::Rng;
use mmsim_damon::aggregate::{merge_regions_of, merge_two, reset_aggregated, split_regions_of};
use mmsim_damon::attrs::{nr_accesses_to_bp, update_result};
use mmsim_damon::damos::filter::{CoreVerdict, Filter, FilterType, judge_region};
use mmsim_damon::damos::goal::feed;
use mmsim_damon::ranges::{init_regions, set_regions, split_evenly, three_regions};
use mmsim_damon::{Context, DamonConfig, DamonError, MonitoringAttrs, Region, Target};

const ATTRS: MonitoringAttrs = MonitoringAttrs { min_region: 1, ..MonitoringAttrs::DEFAULT };

/// A target with the regions between these bounds.
fn target(regions: &[(u64, u64)]) -> Target {
    let mut t = Target::new(None);
    let ranges: Vec<_> = regions.iter().map(|r| r.0..r.1).collect();
    set_regions(&mut t, &ranges, 1).unwrap();
    t
}

fn with_counts(regions: &[(u64, u64, u32)]) -> Target {
    let bounds: Vec<_> = regions.iter().map(|r| (r.0, r.1)).collect();
    let mut t = target(&bounds);
    for (r, from) in t.regions_mut().iter_mut().zip(regions) {
        r.nr_accesses = from.2;
    }
    t
}

fn bounds(t: &Target) -> Vec<(u64, u64)> {
    t.regions().iter().map(|r| (r.start, r.end)).collect()
}

#[test]
fn a_new_region_has_no_accesses_and_targets_count() {
    let mut t = Target::new(None);
    assert!(t.regions().is_empty());
    set_regions(&mut t, std::slice::from_ref(&(1..2)), 1).unwrap();
    assert_eq!(t.regions(), [Region::new(1, 2)]);
    assert_eq!(t.regions()[0].nr_accesses, 0);
    let mut c = Context::new(DamonConfig::V6_12, Rng::for_purpose(1, "test"));
    assert_eq!(c.targets().len(), 0);
    c.set_targets(vec![t]).unwrap();
    assert_eq!(c.targets().len(), 1);
    c.set_targets(Vec::new()).unwrap();
    assert_eq!(c.targets().len(), 0);
}

#[test]
fn reset_keeps_the_counts_as_the_last_ones() {
    let mut targets = [
        with_counts(&[(10, 15, 42), (20, 27, 95), (30, 40, 84)]),
        with_counts(&[(5, 31, 10), (42, 45, 20), (49, 55, 30)]),
        with_counts(&[(13, 23, 0), (33, 44, 1), (55, 66, 2)]),
    ];
    targets.iter_mut().for_each(reset_aggregated);
    let last = |t: &Target| t.regions().iter().map(|r| r.last_nr_accesses).collect::<Vec<_>>();
    assert!(targets.iter().all(|t| t.regions().iter().all(|r| r.nr_accesses == 0)));
    assert_eq!(targets.each_ref().map(last), [[42, 95, 84], [10, 20, 30], [0, 1, 2]]);
}

#[test]
fn a_split_copies_all_counts_or_only_age_and_last() {
    let mut whole = target(&[(0, 100)]);
    let r = &mut whole.regions_mut()[0];
    (r.nr_accesses, r.nr_accesses_bp, r.last_nr_accesses, r.age) = (42, 420_000, 15, 7);
    let mut t = whole.clone();
    t.split_at(0, 25, true);
    assert_eq!(bounds(&t), [(0, 25), (25, 100)]);
    for r in t.regions() {
        let counts = (r.nr_accesses, r.nr_accesses_bp, r.last_nr_accesses, r.age);
        assert_eq!(counts, (42, 420_000, 15, 7));
        assert!((r.start..r.end).contains(&r.sampling_addr));
    }
    let mut t = whole;
    t.split_at(0, 25, false);
    let r = t.regions()[1];
    assert_eq!((r.nr_accesses, r.nr_accesses_bp, r.last_nr_accesses, r.age), (0, 0, 15, 7));
}

#[test]
fn two_regions_merge_to_their_mean_by_size() {
    let mut t = with_counts(&[(0, 100, 10), (100, 300, 20)]);
    merge_two(&mut t, 0);
    assert_eq!(bounds(&t), [(0, 300)]);
    assert_eq!((t.regions()[0].nr_accesses, t.regions()[0].nr_accesses_bp), (16, 160_000));
}

/// Worked out besides the kernel's bounds: counts and ages, from last counts of 0.
#[test]
fn neighbours_within_the_threshold_merge() {
    let mut t = with_counts(&[
        (0, 100, 0),
        (100, 112, 0),
        (114, 122, 10),
        (122, 130, 10),
        (130, 156, 20),
        (156, 170, 30),
        (170, 184, 1),
        (184, 230, 2),
    ]);
    merge_regions_of(&mut t, 9, 9999, true, false);
    assert_eq!(bounds(&t), [(0, 112), (114, 130), (130, 156), (156, 170), (170, 230)]);
    let shown: Vec<_> = t.regions().iter().map(|r| (r.nr_accesses, r.age)).collect();
    assert_eq!(shown, [(0, 1), (10, 0), (20, 0), (30, 0), (1, 1)]);
}

#[test]
fn a_split_makes_at_most_so_many_pieces() {
    let mut rng = Rng::for_purpose(1, "split");
    for _ in 0..1000 {
        for (end, pieces, most) in [(22, 2, 2), (220, 4, 4)] {
            let mut t = target(&[(0, end)]);
            let mut draw = || 1 + rng.below(9);
            split_regions_of(&mut t, pieces, 1, true, &mut draw, &mut Vec::new());
            assert!(t.regions().len() <= most, "{:?}", bounds(&t));
            assert!(t.regions().windows(2).all(|w| w[0].end == w[1].start));
            assert_eq!((t.regions()[0].start, t.bytes()), (0, end));
        }
    }
}

#[test]
fn set_regions_fills_and_cuts() {
    let mut t = target(&[(4, 16), (24, 32)]);
    set_regions(&mut t, std::slice::from_ref(&(8..28)), 1).unwrap();
    assert_eq!(bounds(&t), [(8, 16), (16, 24), (24, 28)]);
}

#[test]
fn rates_of_a_huge_window_are_zero() {
    let attrs = MonitoringAttrs { sample_us: 10, aggr_us: (1 << 32) * 10, ..ATTRS };
    assert_eq!(nr_accesses_to_bp(123, &attrs), 0);
}

#[test]
fn results_are_converted_to_new_attributes() {
    let attrs = |sample_us, aggr_us| MonitoringAttrs { sample_us, aggr_us, ..ATTRS };
    let old = attrs(10, 1000);
    let mut r = Region { nr_accesses: 15, age: 20, ..Region::new(3, 7) };
    let steps = [(attrs(100, 10_000), 15, 2), (attrs(1, 1000), 150, 2), (attrs(1, 100), 150, 20)];
    for (new, nr, age) in steps {
        update_result(&mut r, &old, &new, false);
        assert_eq!((r.nr_accesses, r.nr_accesses_bp, r.age), (nr, nr * 10_000, age));
    }
    // In the middle of an aggregation the last count is what is known.
    let mut r = Region { nr_accesses: 7, last_nr_accesses: 15, age: 20, ..Region::new(3, 7) };
    update_result(&mut r, &old, &attrs(1, 1000), true);
    assert_eq!((r.nr_accesses, r.last_nr_accesses, r.nr_accesses_bp), (0, 150, 1_500_000));
    // Nothing, if an interval is 0.
    let before = r;
    update_result(&mut r, &attrs(0, 1000), &old, false);
    assert_eq!(r, before);
}

#[test]
fn attributes_are_checked_and_the_old_ones_stay() {
    let mut c = Context::new(DamonConfig::V6_12, Rng::for_purpose(1, "test"));
    c.set_attrs(ATTRS).unwrap();
    let wrong = [
        MonitoringAttrs { min_nr_regions: 1, ..ATTRS },
        MonitoringAttrs { max_nr_regions: 9, ..ATTRS },
        MonitoringAttrs { aggr_us: 4999, ..ATTRS },
    ];
    for attrs in wrong {
        let e = c.set_attrs(attrs).unwrap_err();
        assert!(matches!(e, DamonError::InvalidAttrs(_)) && e.errno() == "EINVAL", "{e}");
        assert_eq!(*c.attrs(), ATTRS);
    }
    // Contexts that go by the clock do not compare the intervals.
    let mut c = Context::new(DamonConfig::V6_1, Rng::for_purpose(1, "test"));
    c.set_attrs(wrong[2]).unwrap();
}

/// Windows of ten samples, the last one with five accesses.
#[test]
fn moving_sum() {
    let attrs = MonitoringAttrs { sample_us: 10, aggr_us: 100, ..ATTRS };
    let mut r = Region { nr_accesses_bp: 50_000, last_nr_accesses: 5, ..Region::new(0, 1) };
    let accessed = [true, false, true, false, false, false, true, false, false, false];
    let sums = accessed.map(|a| {
        r.account(a, attrs.window());
        r.nr_accesses_bp
    });
    let expected = [55_000, 50_000, 55_000, 50_000, 45_000, 40_000, 45_000, 40_000, 35_000, 30_000];
    assert_eq!(sums, expected);
    assert_eq!(r.nr_accesses, 3);
}

/// Units of a page. What is inside the range is left out; what reaches over an edge is cut there.
#[test]
fn filters_by_address() {
    let filter = Filter::new(FilterType::Addr(2 * 4096..6 * 4096), true);
    type Case<'a> = ((u64, u64), bool, &'a [(u64, u64)]);
    let cases: [Case<'_>; 5] = [
        ((3, 5), true, &[(3, 5)]),
        ((1, 2), false, &[(1, 2)]),
        ((6, 8), false, &[(6, 8)]),
        ((1, 4), false, &[(1, 2), (2, 4)]),
        ((2, 8), true, &[(2, 6), (6, 8)]),
    ];
    for ((start, end), left_out, after) in cases {
        let mut t = target(&[(start * 4096, end * 4096)]);
        let verdict = judge_region(std::slice::from_ref(&filter), 0, &mut t, 0, 4096, true);
        assert_eq!(verdict == CoreVerdict::Rejected, left_out, "{start}..{end}");
        let pages: Vec<_> = bounds(&t).iter().map(|r| (r.0 / 4096, r.1 / 4096)).collect();
        assert_eq!(pages, after);
    }
}

/// The kernel compares; the values are worked out.
#[test]
fn feedback_grows_when_the_goal_is_missed() {
    assert_eq!(feed(900_000, 200), 1_782_000);
    assert_eq!(feed(900_000, 250_000_000), 10_000);
    assert_eq!(feed(900_000, 2_000), 1_620_000);
    assert_eq!(feed(900_000, 10_000), 900_000);
    assert_eq!(feed(u64::MAX - 1, 0), u64::MAX);
}

#[test]
fn three_ranges_leave_out_the_two_largest_gaps() {
    let mappings = [10..20, 20..25, 200..210, 210..220, 300..305, 307..330];
    assert_eq!(three_regions(mappings, 1), Some([10..25, 200..220, 300..330]));
    // Of equal gaps the earlier ones count as larger.
    assert_eq!(three_regions([0..1, 2..3, 4..5, 6..7], 1), Some([0..1, 2..3, 4..7]));
    assert_eq!(three_regions([0..1, 1..2, 4..5], 1), None);
    assert_eq!(three_regions([], 1), None);
    assert_eq!(
        three_regions([5..4097, 9000..9001, 20_000..20_001], 4096),
        Some([4096..8192, 12288..12288, 20480..20480])
    );
}

#[test]
fn regions_follow_three_new_ranges() {
    let old = [(10, 20), (20, 30), (50, 55), (55, 57), (57, 59), (70, 80), (80, 90), (90, 100)];
    type Case<'a> = ([std::ops::Range<u64>; 3], &'a [(u64, u64)]);
    let cases: [Case<'_>; 4] = [
        ([5..27, 45..55, 73..104], &[(5, 20), (20, 27), (45, 55), (73, 80), (80, 90), (90, 104)]),
        ([5..27, 56..57, 65..104], &[(5, 20), (20, 27), (56, 57), (65, 80), (80, 90), (90, 104)]),
        ([5..27, 61..63, 65..104], &[(5, 20), (20, 27), (61, 63), (65, 80), (80, 90), (90, 104)]),
        ([5..7, 30..32, 65..68], &[(5, 7), (30, 32), (65, 68)]),
    ];
    for (ranges, expected) in cases {
        let mut t = target(&old);
        set_regions(&mut t, &ranges, 1).unwrap();
        assert_eq!(bounds(&t), expected, "{ranges:?}");
    }
}

#[test]
fn even_splits() {
    let refused = Err(DamonError::InvalidRange);
    assert_eq!(split_evenly(&mut Target::new(None), 0, 5, 1), refused);
    for ((start, end), pieces) in [((0, 100), 0), ((5, 6), 2)] {
        let mut t = target(&[(start, end)]);
        assert_eq!(split_evenly(&mut t, 0, pieces, 1), refused);
        assert_eq!(bounds(&t), [(start, end)]);
    }
    let split = |start, end, pieces| {
        let mut t = target(&[(start, end)]);
        split_evenly(&mut t, 0, pieces, 1).unwrap();
        bounds(&t)
    };
    assert_eq!(split(0, 100, 10), (0..10).map(|i| (i * 10, i * 10 + 10)).collect::<Vec<_>>());
    assert_eq!(split(5, 59, 5), [(5, 15), (15, 25), (25, 35), (35, 45), (45, 59)]);
    assert_eq!(split(0, 3, 2), [(0, 1), (1, 3)]);
}

/// Ranges of 60, 30 and 10 with ten regions: pieces of 10, the last range stays whole.
#[test]
fn first_regions_are_even_pieces() {
    let mut t = Target::new(None);
    init_regions(&mut t, &[0..60, 100..130, 200..210], &ATTRS);
    let sizes: Vec<_> = t.regions().iter().map(Region::size).collect();
    assert_eq!(sizes, [10; 10]);
    init_regions(&mut t, &[0..95, 100..104, 200..201], &ATTRS);
    assert_eq!(t.regions().len(), 9 + 1 + 1);
    assert_eq!(bounds(&t)[8], (80, 95));
}
