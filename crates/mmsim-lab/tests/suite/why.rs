//! Classes of refaults, of failed requests and of stalls sum to the counters of recorded points.

use crate::root;
use mmsim::report::WhyReport;
use mmsim::why::{Settings, engine};
use mmsim_core::machine::Watch;
use mmsim_lab::validate::point::Point;
use mmsim_lab::validate::reading::read_folder;

/// Replays a point with a follower of its pages: the number of refaults with classes.
fn classes_sum(p: &Point) -> Option<u64> {
    // Some points are kept for what they say of the kernel, and cannot be replayed.
    let mut machine = mmsim_lab::validate::machine(p, 0).ok()?;
    let (follower, told) = engine(&machine, Settings::default());
    let result = machine.run(Watch::default().with_follower(follower));
    let why = WhyReport::of(&told.take().expect("the run is over"), &result);
    why.check(&result);
    Some(why.refaults)
}

/// Numbers of points that were replayed, and of those that had refaults.
fn all_of(folder: &str) -> (usize, usize) {
    let dir = root().join(folder);
    let points = read_folder(&dir).expect("the recordings").into_iter().flat_map(|e| e.points);
    let each = points.filter_map(|p| classes_sum(&p));
    each.fold((0, 0), |(all, some), n| (all + 1, some + usize::from(n > 0)))
}

/// All points: `tools/deep-check validate`.
#[test]
#[ignore = "takes minutes; tools/deep-check runs it"]
fn classes_sum_on_every_recorded_point() {
    for folder in ["evidence/reference", "evidence/held-out"] {
        let (all, some) = all_of(folder);
        assert!(all > 10 && some > 5, "{folder}: {some} of {all}");
    }
}
