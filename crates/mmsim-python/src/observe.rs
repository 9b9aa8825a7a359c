//! Runs on threads of their own, while Python's main thread hears signals and tells progress.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::{ArrayRef, UInt64Array};
use mmsim::attend::Ahead;
use mmsim::base::time::{SimDuration, SimTime};
use mmsim::base::vmstat::{VmEvent, VmStat};
use mmsim::error::Error;
use mmsim::machine::result::RunResult;
use mmsim::machine::{SampleFn, Watch};
use mmsim::machines::Machine;
use mmsim::report::RunMeta;
use mmsim::run::{RunError, cancel};
use mmsim::scenario::RunSpec;
use mmsim::{RunOptions, Runner, Watcher};
use mmsim_view::keep::Keeping;
use mmsim_view::page::Observed;
use pyo3::prelude::*;

use crate::arrow::{Table, of_axis, repeated};
use crate::errors;
use crate::policy::Own;

/// Interval at which signals are checked, and progress is reported.
pub(crate) const LOOKS_EVERY: Duration = Duration::from_millis(50);
/// Default interval of samples for pictures, as in `mmsim run --html`.
const USUAL: SimDuration = SimDuration::from_millis(10);

/// Options of runs.
pub(crate) struct How<'a> {
    pub jobs: Option<usize>,
    pub check: bool,
    /// True if pictures over time are kept.
    pub pictures: bool,
    /// The interval of series, and the columns that are wanted; none: all.
    pub series: Option<(SimDuration, Option<Vec<String>>)>,
    pub own: &'a Own,
    /// Exception that a policy in Python raised.
    pub raised: Arc<Mutex<Option<PyErr>>>,
    /// Called with the runs that have ended, and all.
    pub progress: Option<Py<PyAny>>,
}

/// Results of runs.
pub(crate) struct Made {
    pub results: Vec<(RunMeta, RunResult)>,
    pub observed: Vec<Observed>,
    pub series: Option<Table>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Samples of one run, column by column.
#[derive(Default)]
struct Columns {
    times: Vec<u64>,
    values: BTreeMap<&'static str, Vec<u64>>,
}

/// Counts runs, and carries the wish to stop.
#[derive(Default)]
pub(crate) struct Heard {
    /// Runs at most.
    pub most: AtomicU64,
    /// Runs that have ended.
    pub ended: AtomicU64,
    /// Ends all runs once it is set.
    pub stop: Arc<AtomicBool>,
}

impl Watcher for Heard {
    fn begins(&self, ahead: &Ahead) {
        self.most.store(ahead.to_do, Ordering::Relaxed);
    }

    fn finished(&self, _: usize, _: &str) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn stop(&self) -> Option<Arc<AtomicBool>> {
        Some(Arc::clone(&self.stop))
    }
}

/// Does work on another thread while this one hears signals and tells progress. A signal, or an
/// exception of the one that hears of progress, ends all runs; a panic is a run that was cancelled.
pub(crate) fn beside<T: Send>(
    py: Python<'_>,
    heard: &Heard,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> Result<T, RunError> + Send,
) -> PyResult<Result<T, RunError>> {
    let main = std::thread::current();
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let made = work();
            main.unpark();
            made
        });
        let mut told = None;
        let mut interrupted = None;
        while !work.is_finished() {
            py.detach(|| std::thread::park_timeout(LOOKS_EVERY));
            let now = [&heard.ended, &heard.most].map(|n| n.load(Ordering::Relaxed));
            let heard_of = py.check_signals().and_then(|()| match progress {
                Some(f) if told.replace(now) != Some(now) => {
                    f.call1(py, (now[0], now[1])).map(drop)
                }
                _ => Ok(()),
            });
            if let (Err(e), None) = (heard_of, &interrupted) {
                heard.stop.store(true, Ordering::Relaxed);
                interrupted = Some(e);
            }
        }
        let made = work.join().unwrap_or(Err(RunError::Cancelled));
        interrupted.map_or(Ok(made), Err)
    })
}

/// Makes runs on other threads. A signal, or an exception of the one that hears of progress, ends
/// them all.
pub(crate) fn make(py: Python<'_>, specs: &[RunSpec], how: &How<'_>) -> PyResult<Made> {
    known(how)?;
    let heard = Heard::default();
    let keeping = how.pictures.then(|| Keeping::new(specs.len(), false, false, false));
    let series: Vec<Arc<Mutex<Columns>>> = specs.iter().map(|_| Arc::default()).collect();
    let watch = |i: usize, machine: &Machine| {
        let mut watch = Watch::default();
        let not_kept: Vec<VmEvent> = machine.not_kept().collect();
        let mut samplers: Vec<SampleFn> = Vec::new();
        if let Some((_, wanted)) = &how.series {
            samplers.push(column_by_column(&series[i], wanted.clone(), not_kept.clone()));
        }
        if let Some(keeping) = &keeping {
            samplers.push(keeping.sampler(i, not_kept));
            watch.observer = Some(mmsim_view::keep::together(keeping.observers(i)));
        }
        if !samplers.is_empty() {
            let every = how.series.as_ref().map_or(USUAL, |s| s.0);
            let stopped = Arc::clone(&heard.stop);
            let all = move |now: SimTime, vmstat: &VmStat, gauges: &[(&'static str, u64)]| {
                // A run that idles has no progress.
                if stopped.load(Ordering::Relaxed) {
                    cancel();
                }
                samplers.iter_mut().for_each(|sampler| sampler(now, vmstat, gauges));
            };
            watch.sample = Some((every, Box::new(all)));
        }
        watch
    };
    let main = std::thread::current();
    let options = RunOptions::default().with_jobs(how.jobs).with_check(how.check);
    let made = std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let runner = Runner::watched(&options, &heard);
            let made = runner.results(specs, &how.own.policies, watch);
            main.unpark();
            made
        });
        let mut told = usize::MAX;
        let mut interrupted = None;
        while !work.is_finished() {
            py.detach(|| std::thread::park_timeout(LOOKS_EVERY));
            let called = py.check_signals().and_then(|()| {
                let done = heard.ended.load(Ordering::Relaxed) as usize;
                if done != std::mem::replace(&mut told, done) {
                    tell(py, how, done, specs.len())?;
                }
                Ok(())
            });
            if let (Err(e), None) = (called, &interrupted) {
                heard.stop.store(true, Ordering::Relaxed);
                interrupted = Some(e);
            }
            if interrupted.is_some() {
                how.own.interrupt(py)?;
            }
        }
        let made = work.join();
        match interrupted {
            Some(e) => Err(e),
            None => Ok(made),
        }
    })?;
    if let Some(raised) = lock(&how.raised).take() {
        return Err(raised);
    }
    let made = made.map_err(|_| errors::of_run(RunError::Cancelled))?;
    let results = made.map_err(errors::of_run)?;
    tell(py, how, specs.len(), specs.len())?;
    let labels: Vec<String> = specs.iter().map(RunSpec::label).collect();
    let kept = keeping.map(|keeping| keeping.finish(labels, &results));
    let observed = kept.map_or(Vec::new(), |kept| kept.observed);
    let series = how.series.as_ref().map(|_| table(specs, series));
    Ok(Made { results, observed, series })
}

fn tell(py: Python<'_>, how: &How<'_>, done: usize, all: usize) -> PyResult<()> {
    how.progress.as_ref().map_or(Ok(()), |f| f.call1(py, (done, all)).map(drop))
}

/// Checks that the requested columns exist.
fn known(how: &How<'_>) -> PyResult<()> {
    let Some((_, Some(wanted))) = &how.series else { return Ok(()) };
    let counters: Vec<&str> = VmEvent::ALL.iter().map(|e| e.name()).collect();
    for name in wanted.iter().filter(|n| !n.starts_with("nr_") && !n.starts_with("sim_")) {
        if !counters.contains(&name.as_str()) {
            let what = "columns: there is no counter or gauge";
            let error = Error::unknown_word(what, name, &counters);
            return Err(errors::input(error));
        }
    }
    Ok(())
}

fn column_by_column(
    to: &Arc<Mutex<Columns>>,
    wanted: Option<Vec<String>>,
    not_kept: Vec<VmEvent>,
) -> SampleFn {
    let to = Arc::clone(to);
    let wants = move |name: &str| wanted.as_ref().is_none_or(|w| w.iter().any(|w| w == name));
    let kept: Vec<VmEvent> =
        VmEvent::ALL.iter().copied().filter(|e| !not_kept.contains(e) && wants(e.name())).collect();
    Box::new(move |now: SimTime, vmstat: &VmStat, gauges: &[(&'static str, u64)]| {
        let mut columns = lock(&to);
        columns.times.push(now.0);
        for &event in &kept {
            columns.values.entry(event.name()).or_default().push(vmstat[event]);
        }
        for (name, value) in gauges.iter().filter(|g| wants(g.0)) {
            columns.values.entry(name).or_default().push(*value);
        }
    })
}

/// Samples of all runs as one table: a row for each instant.
fn table(specs: &[RunSpec], series: Vec<Arc<Mutex<Columns>>>) -> Table {
    let mut runs: Vec<Columns> = series.iter().map(|c| std::mem::take(&mut *lock(c))).collect();
    let lengths: Vec<usize> = runs.iter().map(|c| c.times.len()).collect();
    let texts = |of: &dyn Fn(&RunSpec) -> String| {
        let all: Vec<String> = specs.iter().map(of).collect();
        repeated(all.iter().map(String::as_str).zip(lengths.iter().copied()))
    };
    let mut columns: Vec<(String, ArrayRef)> =
        vec![("variant".into(), texts(&|s| s.variant.clone()))];
    let axes = specs.first().map_or(&[][..], |s| &s.axes);
    for (nth, (axis, _)) in axes.iter().enumerate() {
        let values: Vec<String> = specs.iter().map(|s| s.axes[nth].1.clone()).collect();
        columns.extend(of_axis(axis, &values, &lengths));
    }
    let seeds = specs.iter().zip(&lengths).flat_map(|(s, &n)| std::iter::repeat_n(s.seed, n));
    columns.push(("seed".into(), Arc::new(UInt64Array::from_iter_values(seeds))));
    let times = joined(runs.iter_mut().map(|c| Some(std::mem::take(&mut c.times))), &lengths);
    columns.push(("time_ns".into(), times));
    let mut names: Vec<&'static str> = VmEvent::ALL.iter().map(|e| e.name()).collect();
    for name in runs.iter().flat_map(|c| c.values.keys()) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names.retain(|name| runs.iter().any(|c| c.values.contains_key(name)));
    for name in names {
        let of_runs = runs.iter_mut().map(|c| c.values.remove(name));
        columns.push((name.to_string(), joined(of_runs, &lengths)));
    }
    Table::new(columns)
}

/// One column of all runs. Of a single run it is the samples themselves.
fn joined(parts: impl Iterator<Item = Option<Vec<u64>>>, lengths: &[usize]) -> ArrayRef {
    let mut parts: Vec<Option<Vec<u64>>> = parts.collect();
    if let [Some(only)] = parts.as_mut_slice() {
        return Arc::new(UInt64Array::from(std::mem::take(only)));
    }
    let values = parts.into_iter().zip(lengths).flat_map(|(part, &n)| match part {
        Some(values) => values.into_iter().map(Some).collect::<Vec<_>>(),
        None => vec![None; n],
    });
    Arc::new(UInt64Array::from_iter(values))
}
