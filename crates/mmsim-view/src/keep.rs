//! Data of runs that are kept while they go on, for pictures of them.

use std::sync::{Arc, Mutex, PoisonError};

use mmsim::base::time::SimTime;
use mmsim::base::vmstat::{VmEvent, VmStat};
use mmsim::machine::result::RunResult;
use mmsim::machine::{LookFn, SampleFn};
use mmsim::memory::trace::{Observer, TraceEvent, TraceKind, TraceKinds};
use mmsim::report::RunMeta;

use crate::damon::{Picture, fineness};
use crate::page::Observed;
use crate::series::{Recorder, most_points};
use crate::{film, generations, pages, perfetto};

/// Beginnings of generations that a run keeps.
const MOST_GENERATIONS: usize = 400;

/// Bytes of a trace for Perfetto, of all runs together: more than its viewer opens.
const MOST_TRACED: usize = 1 << 30;

/// Data that were kept.
#[derive(Default)]
#[non_exhaustive]
pub struct Kept {
    /// For pages, in the order of runs.
    pub observed: Vec<Observed>,
    /// For Perfetto; empty unless requested.
    pub trace: Vec<u8>,
    /// Runs whose trace for Perfetto is full, and since when: later events are left out.
    pub full: Vec<(String, SimTime)>,
}

/// Keeps something of every run.
pub struct Keeping(Vec<OfRun>);

struct OfRun {
    series: Arc<Mutex<Recorder>>,
    generations: generations::Watcher,
    pages: Option<pages::Watcher>,
    film: Option<film::Watcher>,
    trace: Option<perfetto::Watcher>,
}

impl Keeping {
    /// Keeps data of `nr_runs` runs; of their pages, and as a trace, only on request, since every
    /// eviction is reported then, and of pageblocks, since every frame is looked at.
    pub fn new(nr_runs: usize, pages: bool, blocks: bool, trace: bool) -> Keeping {
        let most = MOST_TRACED / nr_runs.max(1);
        let one = |run| OfRun {
            trace: trace.then(|| perfetto::Watcher::new(run, most)),
            series: Arc::new(Mutex::new(Recorder::new(most_points(nr_runs)))),
            generations: generations::Watcher::new(MOST_GENERATIONS),
            pages: pages.then(pages::Watcher::default),
            film: blocks.then(|| film::Watcher::new(film::most_frames(nr_runs))),
        };
        Keeping((0..nr_runs).map(one).collect())
    }

    /// Who watches a run that begins.
    pub fn observers(&self, run: usize) -> Vec<Box<dyn Observer>> {
        let kept = &self.0[run];
        let pages = kept.pages.as_ref().map(pages::Watcher::observer);
        let film = kept.film.as_ref().map(film::Watcher::observer);
        let trace = kept.trace.as_ref().map(perfetto::Watcher::observer);
        let generations = std::iter::once(kept.generations.observer());
        generations.chain(pages).chain(film).chain(trace).collect()
    }

    /// Observer of memory in a run that begins.
    pub fn look(&self, run: usize) -> Option<LookFn> {
        self.0[run].film.as_ref().map(film::Watcher::look)
    }

    /// Sampler of a run that begins, without counters that its policy does not keep.
    pub fn sampler(&self, run: usize, not_kept: Vec<VmEvent>) -> SampleFn {
        let series = Arc::clone(&self.0[run].series);
        Box::new(move |now: SimTime, vmstat: &VmStat, gauges: &[(&'static str, u64)]| {
            let kept = |e: &&VmEvent| !not_kept.contains(e);
            let counters = VmEvent::ALL.iter().filter(kept).map(|e| (e.name(), vmstat[*e]));
            let mut series = series.lock().unwrap_or_else(PoisonError::into_inner);
            series.sample(now, counters.chain(gauges.iter().copied()));
        })
    }

    /// The data kept of these runs, each with its label.
    pub fn finish<'a>(
        self,
        labels: impl IntoIterator<Item = String>,
        results: impl IntoIterator<Item = &'a (RunMeta, RunResult)>,
    ) -> Kept {
        let mut all = Kept::default();
        let nr_runs = self.0.len();
        for ((of_run, label), (meta, result)) in self.0.into_iter().zip(labels).zip(results) {
            let recorder = of_run.series.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let series = recorder.finish();
            if let Some(trace) = &of_run.trace {
                let threads: Vec<&str> = result.threads.iter().map(|t| t.name.as_str()).collect();
                let end = SimTime(result.sim_time.0);
                all.trace.extend(trace.finish(&label, &threads, end, &series));
                all.full.extend(trace.full().map(|at| (label, at)));
            }
            let damon = meta.damon.iter();
            all.observed.push(Observed {
                series: Some(series),
                generations: Some(of_run.generations.kept()),
                pages: of_run.pages.as_ref().map(pages::Watcher::counted),
                damon: damon.flat_map(|m| Picture::all(m, fineness(nr_runs))).collect(),
                film: of_run.film.as_ref().map(film::Watcher::kept),
                ..Observed::default()
            });
        }
        all
    }
}

/// Several observers, each of which sees its own kinds.
struct Together(Vec<(TraceKinds, Box<dyn Observer>)>);

/// One observer in place of several.
pub fn together(mut all: Vec<Box<dyn Observer>>) -> Box<dyn Observer> {
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
