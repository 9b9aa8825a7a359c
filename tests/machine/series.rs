//! The anonymous workingset series: its two examples, on a machine and on paper, and its patches
//! one after the other. The claims in the comments of the scenarios, `phased-50-pages.toml`,
//! `phased-will-be-hot.toml` and `series-stages.toml`, are checked against their results, and the
//! machine against `mmsim_lru::paper`, which has no machine.

use crate::harness;
use mmsim::report::Report;
use mmsim_lru::{ClassicConfig, paper};

fn shown(name: &str) -> Report {
    harness::report_of(&harness::shipped(name, &[]))
}

/// A counter of a variant, per phase whose name begins so.
fn counted(report: &Report, variant: &str, phases: &str, counter: &str) -> Vec<u64> {
    let run = report.runs.iter().find(|r| r.variant == variant).expect("the variant");
    let phases = run.phases.iter().filter(|p| p.name.starts_with(phases));
    phases.map(|p| *p.vmstat.get(counter).expect("the counter")).collect()
}

/// All hot pages come back under 5.5, as the paper has them out; with protection those few whose
/// frames became page tables.
#[test]
fn fifty_hot_pages() {
    let report = shown("phased-50-pages.toml");
    let returned = |variant| counted(&report, variant, "hot-again", "pswpin");
    let out = |config| paper::fifty_hot_pages(config)[2][4];
    assert_eq!(out(ClassicConfig::V5_5), 50);
    assert_eq!(returned("v5.5"), [50]);
    assert_eq!(returned("v5.8"), [50]);
    for (variant, config) in [
        ("seed-2", ClassicConfig::SEED_2),
        ("seed-7", ClassicConfig::SEED_7),
        ("seed-9fix", ClassicConfig::SEED_9_FIX),
        ("v5.9", ClassicConfig::V5_9),
    ] {
        assert_eq!(out(config), 0, "{variant}");
        assert!(returned(variant)[0] <= 3, "{variant}: {:?}", returned(variant));
    }
}

/// Claims of the comments of `scenarios/series-stages.toml` on each patch, with the reasons that
/// stand there.
#[test]
fn the_series_patch_by_patch() {
    let report = shown("series-stages.toml");
    let all = |variant: &str| {
        let run = report.runs.iter().find(|r| r.variant == variant).expect("the variant");
        run.vmstat.clone()
    };
    let of = |variant: &str, counter: &str| *all(variant).get(counter).expect("the counter");
    let deactivated = |variant| of(variant, "pgdeactivate");
    assert!(deactivated("seed-1") > deactivated("v5.5") * 11 / 10);
    assert!(deactivated("seed-2") < deactivated("seed-1") / 10);
    for (patch, before) in
        [("seed-4", "seed-3"), ("seed-5", "seed-4"), ("seed-6", "seed-5"), ("seed-8", "seed-7")]
    {
        assert_eq!(all(patch), all(before), "{patch}");
    }
    assert_eq!(all("seed-6").get("workingset_refault_anon"), None);
    for detecting in ["seed-7", "seed-8", "seed-9", "seed-9fix"] {
        let swapped_in = of(detecting, "pswpin");
        assert_eq!(of(detecting, "workingset_refault_anon"), swapped_in, "{detecting}");
    }
    let activated = |variant| of(variant, "workingset_activate_anon");
    assert!(activated("seed-9") * 10 < activated("seed-9fix"));
}

/// Swap-ins of each round on paper.
fn on_paper(config: ClassicConfig) -> Vec<u64> {
    paper::will_be_hot(config, 8)[3..].iter().step_by(2).map(|row| row[4]).collect()
}

#[test]
fn protection_alone_and_detection_as_posted_thrash_for_ever() {
    let report = shown("phased-will-be-hot.toml");
    for (variant, config) in [("seed-2", ClassicConfig::SEED_2), ("seed-7", ClassicConfig::SEED_7)]
    {
        let swapins = counted(&report, variant, "round", "pswpin");
        assert_eq!(swapins, [50; 8], "{variant}");
        assert_eq!(swapins, on_paper(config), "{variant}");
    }
    let detection = |counter| counted(&report, "seed-7", "round", counter);
    assert_eq!(detection("workingset_refault_anon"), [50; 8]);
    assert_eq!(detection("workingset_activate_anon"), [0; 8]);
    // Protection alone keeps no refaults of anonymous memory.
    let protected = report.runs.iter().find(|r| r.variant == "seed-2").expect("the variant");
    assert_eq!(protected.vmstat.get("workingset_refault_anon"), None);
}

/// One page, two others, four, until all stay. The kernel demotes one page after a pass where the
/// paper demotes before the next: here it all begins a round later.
#[test]
fn repaired_detection_learns_at_the_pace_of_the_paper() {
    let report = shown("phased-will-be-hot.toml");
    for (variant, config) in
        [("seed-9fix", ClassicConfig::SEED_9_FIX), ("v5.9", ClassicConfig::V5_9)]
    {
        let swapins = counted(&report, variant, "round", "pswpin");
        let paper = on_paper(config);
        assert_eq!(paper, [50, 49, 47, 43, 35, 19, 0, 0]);
        assert_eq!(swapins[1..5], paper[..4], "{variant}");
        assert_eq!(swapins[0], 50, "{variant}");
        assert!(swapins[4..].windows(2).all(|w| w[1] < w[0]), "{variant}: {swapins:?}");
        assert!(swapins[7] <= 2, "{variant}: {swapins:?}");
        let activated = counted(&report, variant, "round", "workingset_activate_anon");
        assert_eq!(activated[..4], [0, 1, 2, 4], "{variant}");
    }
    // Under 5.5 the second touch finds the pages still there.
    let base = counted(&report, "v5.5", "round", "pswpin");
    assert_eq!(base[0], 0);
    assert!(base.iter().sum::<u64>() < 40, "{base:?}");
}
