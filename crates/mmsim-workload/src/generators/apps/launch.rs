//! Steps of one launch.

use super::app::{App, HeapRun};
use super::{AppsConfig, on_step, part};
use crate::sampler::Scatter;
use mmsim_core::base::rng::Rng;
use mmsim_core::workload::{Op, Run};

/// Amounts of the steps of one launch.
pub(super) struct Plan {
    steps: u64,
    cold: bool,
    /// By step: pages that are read again.
    rereads: Vec<Vec<u32>>,
    /// Runs of the heap that a warm launch touches.
    runs: Vec<usize>,
}

impl Plan {
    pub(super) fn new(c: &AppsConfig, app: &App, cold: bool, steps: u64, rng: &mut Rng) -> Plan {
        let mut rereads = vec![Vec::new(); steps as usize];
        let often = part(app.read.into(), c.reread) as u32;
        let place = Scatter::keyed(app.read.into(), app.number.into());
        for page in (0..app.read).filter(|p| cold && place.map(*p) < often) {
            let more = rng.below(u64::from(c.reread_max - c.reread_min) + 1) as u32;
            let times = c.reread_min + more;
            let first = u64::from(page) * steps / u64::from(app.read);
            for _ in 0..times {
                rereads[(first + rng.below(steps - first)) as usize].push(page);
            }
        }
        let runs = if cold { Vec::new() } else { app.draw_runs(c.resume, rng) };
        Plan { steps, cold, rereads, runs }
    }

    /// True if garbage is collected after step `i`: at the middles of equal parts.
    pub(super) fn collects(&self, c: &AppsConfig, i: u64) -> bool {
        let n = u64::from(c.collections);
        (0..n).any(|k| (2 * k + 1) * self.steps / (2 * n) == i)
    }

    pub(super) fn step(
        &self,
        a: &mut App,
        c: &AppsConfig,
        i: u64,
        rng: &mut Rng,
        ops: &mut Vec<Op>,
    ) {
        if !self.cold {
            for k in on_step(self.runs.len() as u64, i, self.steps) {
                let (first, count) = a.pages_of(self.runs[k as usize], c.run);
                ops.push(a.heap_op(first, count, false));
            }
            let touches = part(a.mapped.into(), c.resume);
            on_step(touches, i, self.steps).for_each(|_| a.touch_mapped(rng, ops));
            return;
        }
        let in_order = part(a.mapped.into(), c.sequential) as u32;
        let pages = on_step(a.mapped.into(), i, self.steps);
        let run = pages.start..pages.end.min(in_order);
        if !run.is_empty() {
            let (region, first) = (a.mapped_region(), run.start);
            ops.push(Op::Access(Run { region, write: false, first, count: run.len() as u32 }));
        }
        (pages.start.max(in_order)..pages.end).for_each(|_| a.touch_mapped(rng, ops));
        let pages = on_step(a.read.into(), i, self.steps);
        if !pages.is_empty() {
            let (file, first) = (a.read_file(), pages.start);
            ops.push(Op::Read { file, first, count: pages.len() as u32 });
        }
        let again = |&first: &u32| Op::Read { file: a.read_file(), first, count: 1 };
        ops.extend(self.rereads[i as usize].iter().map(again));
        let pages = on_step(a.heap.into(), i, self.steps);
        if !pages.is_empty() {
            ops.push(a.heap_op(pages.start, pages.len() as u32, true));
            // A run counts as dirty when its last page is.
            let last = |run: usize| (run as u32 + 1) * c.run;
            for run in (pages.start / c.run) as usize..a.runs.len() {
                if last(run).min(a.heap) <= pages.end && a.runs[run] == HeapRun::Untouched {
                    a.runs[run] = HeapRun::Dirty;
                }
            }
        }
    }
}
