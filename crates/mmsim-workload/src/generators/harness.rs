//! Runs a workload by itself, for the tests of generators.

use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimTime;
use mmsim_core::workload::{Op, Workload, WorkloadCx};

/// A clock that advances by so many nanoseconds from batch to batch.
pub(super) struct Ticking(pub(super) u64);

/// All batches of a workload.
pub(super) fn batches(w: &mut dyn Workload, clock: Ticking) -> Vec<Vec<Op>> {
    let mut rng = Rng::for_purpose(1, "workload/test/thread0");
    let mut all = Vec::new();
    loop {
        let now = SimTime(clock.0 * all.len() as u64);
        let mut ops = Vec::new();
        w.fill(
            &WorkloadCx { now, free_pages: 0, kernel_allocs: &[], free_blocks: None },
            &mut rng,
            &mut ops,
        );
        if ops.is_empty() {
            return all;
        }
        all.push(ops);
    }
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
