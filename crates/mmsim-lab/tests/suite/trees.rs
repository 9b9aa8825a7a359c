//! Groups in a tree beside recorded kernels (`evidence/trees`): what a kernel counts exactly, the model
//! counts exactly.

use crate::root;
use mmsim_lab::accuracy::remains::Remains;
use mmsim_lab::validate::document::Validation;
use mmsim_lab::validate::rows::PointRow;
use mmsim_lab::validate::{Selection, validate};

fn replayed(experiment: &str) -> Validation {
    let mut what = Selection::default();
    what.experiment = Some(experiment.into());
    let dir = root().join("evidence/trees");
    let all = validate(&dir, &what, &|_, _| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(all.not_modelled.is_empty(), "{:?}", all.not_modelled);
    all
}

/// Rows of a counter of groups, of points whose names begin with this.
fn of<'a>(all: &'a Validation, point: &str, counter: &str) -> Vec<&'a PointRow> {
    let wanted =
        |r: &&PointRow| r.point.starts_with(point) && r.counter == counter && r.phase.contains(' ');
    let found: Vec<_> = all.points.iter().filter(wanted).collect();
    assert!(!found.is_empty(), "{point} has no {counter}");
    found
}

/// Each value is in the recorded range, or no farther from it than this share and this number.
fn near(rows: &[&PointRow], share: f64, number: f64) {
    for r in rows {
        let room = (r.recorded * share).max(number);
        let fine = (r.min - room..=r.max + room).contains(&r.simulated);
        assert!(fine, "{} {} {}: {} of {}", r.point, r.phase, r.counter, r.simulated, r.recorded);
    }
}

/// The first victim of a group dies twice in the counts of 6.12 to 7.3.
#[test]
fn the_oom_killer_ends_whom_the_kernel_ends() {
    let all = replayed("tree-oom");
    for counter in ["oom_kill", "oom_group_kill"] {
        near(&of(&all, "oom-", &format!("memory.events.{counter}")), 0.0, 0.0);
        near(&of(&all, "oom-", &format!("memory.events.local.{counter}")), 0.0, 0.0);
    }
    // Where another process dies, the kernel may look again before its memory is there.
    for point in ["oom-group", "oom-single"] {
        near(&of(&all, point, "memory.events.oom"), 0.0, 0.0);
    }
}

/// A charging process tries 17 times more while its victims have yet to end, or until they get the CPU:
/// on 6.12 at once, on 7.3 by the timer for slices.
#[test]
fn attempts_for_a_limit_go_on_until_victims_get_the_cpu() {
    let all = replayed("tree-oom");
    for point in ["oom-group-classic-6", "oom-group-mglru-6", "oom-single"] {
        near(&of(&all, point, "memory.events.max"), 0.0, 0.0);
    }
    near(&of(&all, "oom-", "memory.events.max"), 0.0, 1.0);
}

/// The level with the least room pays, and sleeps by its overage: 20 s within 3 %.
#[test]
fn a_group_above_its_high_is_throttled_as_long() {
    let all = replayed("tree-high");
    near(&of(&all, "high-penalty", "memory.events.high"), 0.0, 0.0);
    let slept = of(&all, "high-penalty", "memory.pressure.full.total");
    let long: Vec<_> = slept.into_iter().filter(|r| r.phase.starts_with("far")).collect();
    near(&long, 0.03, 0.0);
    near(&of(&all, "high-penalty", "memory.current"), 0.0, 1.0);
}

/// A CPU's stock as the kernel keeps it. Before 62 more pages the kernel has charged a page of slab to
/// each process that the model does not know, so there it is a batch ahead.
#[test]
fn stock_is_charged_in_the_kernel_s_batches() {
    let all = replayed("tree-stock");
    let charged = of(&all, "stock", "memory.current");
    let known = |r: &&&PointRow| !["at63 g", "at64 g", "other g"].contains(&r.phase.as_str());
    near(&charged.iter().filter(known).copied().collect::<Vec<_>>(), 0.0, 1.0);
}

/// Writes to `memory.reclaim` of a parent take from the groups in turn, from where the last one stopped.
#[test]
fn walks_take_from_the_same_groups() {
    let all = replayed("tree-walk");
    near(&of(&all, "reclaim-", "pgsteal"), 0.05, 16.0);
    near(&of(&all, "reclaim-", "pgscan"), 0.05, 16.0);
}

/// With statistics that a snapshot brought up to date every 50 ms, the classic LRU deactivates some
/// 7,000 pages in every third window, and next to none in the others.
#[test]
fn deactivation_comes_in_the_recorded_bursts() {
    let all = replayed("tree-stale");
    let windows = of(&all, "stale-classic-6.12", "pgdeactivate");
    let bursts = windows.iter().filter(|r| r.recorded > 1000.0).count();
    assert!(bursts >= 10, "{bursts} bursts");
    near(&windows, 0.05, 250.0);
}

/// A parent's limit of swap holds for all below it, and no process dies of it: groups that cannot be
/// swapped do not keep MGLRU from one that can.
#[test]
fn a_limit_of_swap_holds_and_no_process_dies() {
    let all = replayed("tree-swap");
    let of_parent = |point: &str| -> Vec<&PointRow> {
        let swapped = of(&all, point, "memory.swap.current");
        swapped.into_iter().filter(|r| r.phase.ends_with(" a")).collect()
    };
    near(&of_parent("swap-max-classic"), 0.05, 0.0);
    assert!(of_parent("swap-max").iter().all(|r| r.simulated <= 2000.0));
    let killed = |r: &&PointRow| r.counter == "memory.events.oom_kill" && r.simulated > 0.0;
    assert_eq!(all.points.iter().find(killed), None);
}

/// Each gap that is explained is one.
#[test]
fn gaps_of_trees_are_gaps() {
    let dir = root().join("evidence/trees");
    let all = validate(&dir, &Selection::default(), &|_, _| ()).unwrap_or_else(|e| panic!("{e}"));
    let text = std::fs::read_to_string(dir.join("gaps.toml")).expect("it is there");
    let gaps = Remains::read(&text, "gaps.toml").unwrap_or_else(|e| panic!("{e}"));
    gaps.check(all.rules.iter()).unwrap_or_else(|e| panic!("{e}"));
}
