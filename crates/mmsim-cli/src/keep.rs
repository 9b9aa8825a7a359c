//! What is kept of runs while they go on, for pictures of them.

use std::sync::{Arc, Mutex, PoisonError};

use mmsim::base::time::SimTime;
use mmsim::base::vmstat::{VmEvent, VmStat};
use mmsim::memory::trace::{Observer, TraceEvent, TraceKind, TraceKinds};
use mmsim_view::page::Observed;
use mmsim_view::series::{Recorder, most_points};
use mmsim_view::{generations, pages};

use crate::backend::Sampler;

/// Beginnings of generations that a run keeps.
const MOST_GENERATIONS: usize = 400;

/// Keeps something of every run.
pub(crate) struct Keeping(Vec<Kept>);

struct Kept {
    series: Arc<Mutex<Recorder>>,
    generations: generations::Watcher,
    pages: Option<pages::Watcher>,
}

impl Keeping {
    /// For so many runs; of their pages only if asked to, since every eviction is told then.
    pub(crate) fn new(nr_runs: usize, pages: bool) -> Keeping {
        let one = |_| Kept {
            series: Arc::new(Mutex::new(Recorder::new(most_points(nr_runs)))),
            generations: generations::Watcher::new(MOST_GENERATIONS),
            pages: pages.then(pages::Watcher::default),
        };
        Keeping((0..nr_runs).map(one).collect())
    }

    /// Who watches a run that begins.
    pub(crate) fn observers(&self, run: usize) -> Vec<Box<dyn Observer>> {
        let kept = &self.0[run];
        let pages = kept.pages.as_ref().map(pages::Watcher::observer);
        std::iter::once(kept.generations.observer()).chain(pages).collect()
    }

    /// What samples a run that begins, without counters that its policy does not keep.
    pub(crate) fn sampler(&self, run: usize, not_kept: Vec<VmEvent>) -> Box<dyn Sampler> {
        Box::new(SeriesKeeper { not_kept, series: Arc::clone(&self.0[run].series) })
    }

    /// What was kept, in the order of runs.
    pub(crate) fn observed(self) -> Vec<Observed> {
        let of = |kept: Kept| {
            let mut observed = Observed::default();
            let series = kept.series.lock().unwrap_or_else(PoisonError::into_inner).clone();
            observed.series = Some(series.finish());
            observed.generations = Some(kept.generations.kept());
            observed.pages = kept.pages.as_ref().map(pages::Watcher::counted);
            observed
        };
        self.0.into_iter().map(of).collect()
    }
}

struct SeriesKeeper {
    not_kept: Vec<VmEvent>,
    series: Arc<Mutex<Recorder>>,
}

impl Sampler for SeriesKeeper {
    fn sample(&mut self, now: SimTime, vmstat: &VmStat, gauges: &[(&'static str, u64)]) {
        let kept = |e: &&VmEvent| !self.not_kept.contains(e);
        let counters = VmEvent::ALL.iter().filter(kept).map(|e| (e.name(), vmstat[*e]));
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        series.sample(now, counters.chain(gauges.iter().copied()));
    }
}

/// Several observers, each of which sees its own kinds.
struct Together(Vec<(TraceKinds, Box<dyn Observer>)>);

/// One observer in place of several.
pub(crate) fn together(mut all: Vec<Box<dyn Observer>>) -> Box<dyn Observer> {
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => one,
        (last, _) => {
            let each = all.into_iter().chain(last).map(|observer| (observer.kinds(), observer));
            Box::new(Together(each.collect()))
        }
    }
}

impl Observer for Together {
    fn kinds(&self) -> TraceKinds {
        let any = |kind: &TraceKind| self.0.iter().any(|(kinds, _)| kinds.has(*kind));
        let wanted: Vec<TraceKind> = TraceKind::ALL.iter().copied().filter(any).collect();
        TraceKinds::of(&wanted)
    }

    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        for (kinds, observer) in &mut self.0 {
            if kinds.has(event.kind()) {
                observer.event(now, event);
            }
        }
    }
}
