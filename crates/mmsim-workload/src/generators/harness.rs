//! Runs a workload alone, for the tests of generators.

use crate::law::Law;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimTime;
use mmsim_core::workload::{Op, Pressure, Workload, WorkloadCx};

/// A clock that advances by this number of nanoseconds from batch to batch.
pub(super) struct Ticking(pub(super) u64);

/// All batches of a workload.
pub(super) fn batches(w: &mut dyn Workload, clock: Ticking) -> Vec<Vec<Op>> {
    seeded(w, clock, 1)
}

/// The same under a seed.
pub(super) fn seeded(w: &mut dyn Workload, clock: Ticking, seed: u64) -> Vec<Vec<Op>> {
    let mut rng = Rng::for_purpose(seed, "workload/test/thread0");
    let mut all = Vec::new();
    loop {
        let now = SimTime(clock.0 * all.len() as u64);
        let mut ops = Vec::new();
        w.fill(&context(now), &mut rng, &mut ops);
        if ops.is_empty() {
            return all;
        }
        all.push(ops);
    }
}

/// View of a machine where there is nothing to see but the clock.
pub(super) fn context(now: SimTime) -> WorkloadCx<'static> {
    let (free_pages, kernel_allocs, free_blocks) = (0, &[], None);
    WorkloadCx { now, free_pages, kernel_allocs, free_blocks, pressure: &Pressure::NONE }
}

/// All operations of a workload.
pub(super) fn all(w: &mut dyn Workload, clock: Ticking) -> Vec<Op> {
    batches(w, clock).concat()
}

/// Touched pages in order, as (region, page, written).
pub(super) fn touches(ops: &[Op]) -> Vec<(u16, u32, bool)> {
    let mut pages = Vec::new();
    for op in ops {
        match op {
            Op::Access(r) => {
                pages.extend((r.first..r.first + r.count).map(|p| (r.region.0, p, r.write)));
            }
            Op::Copy(c) => pages.extend(
                (0..c.count)
                    .flat_map(|i| [(c.from.0, c.first + i, false), (c.to.0, c.into + i, true)]),
            ),
            _ => {}
        }
    }
    pages
}

/// Values have the mean and the variance of a law, within five standard errors: the first by the
/// law's own variance, the second by the fourth moment of the values.
pub(super) fn follow(values: &[f64], law: Law) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |k: i32| values.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / n;
    let (variance, fourth) = (moment(2), moment(4));
    let errors = [(law.variance() / n).sqrt(), ((fourth - variance * variance) / n).sqrt()];
    let off = [mean - law.mean(), variance - law.variance()];
    let near = off.iter().zip(errors).all(|(off, error)| off.abs() < 5.0 * error);
    assert!(near, "{mean}, {variance} of {n} values of {law:?}: off by {off:?}, {errors:?}");
    // The test can tell the mean from one that is a fourth off.
    assert!(5.0 * errors[0] < law.mean() / 4.0, "{n} values of {law:?} are too few");
}
