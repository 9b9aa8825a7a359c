//! Tunings, on a thread of their own.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use mmsim::run::RunError;
use mmsim::tune::TunePlan;
use mmsim::{RunOptions, Runner};
use pyo3::prelude::*;

use crate::errors::{input, of_run};
use crate::observe::{Heard, LOOKS_EVERY};
use crate::scenario::{jobs_of, progress_of};
use crate::values::whole;

/// Searches as `mmsim tune` does; gives the `tuning` of its JSON as a dict.
#[pyfunction]
#[pyo3(signature = (plan, *, budget=None, jobs=None, check=false, progress=None))]
pub(crate) fn tune<'py>(
    py: Python<'py>,
    plan: PathBuf,
    budget: Option<&Bound<'py, PyAny>>,
    jobs: Option<&Bound<'py, PyAny>>,
    check: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut plan = TunePlan::from_path(&plan).map_err(input)?;
    if let Some(budget) = budget {
        let budget = whole(budget, "budget", 1..=u64::MAX)?;
        plan = plan.with_budget(budget).map_err(input)?;
    }
    let options = RunOptions::default().with_jobs(jobs_of(jobs)?).with_check(check);
    let progress = progress_of(py, progress)?;
    let heard = Heard::default();
    let main = std::thread::current();
    let made = std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let made = mmsim::tune::tune(&plan, &Runner::watched(&options, &heard));
            main.unpark();
            made
        });
        let mut told = None;
        let mut interrupted = None;
        while !work.is_finished() {
            py.detach(|| std::thread::park_timeout(LOOKS_EVERY));
            let now = [&heard.ended, &heard.most].map(|n| n.load(Ordering::Relaxed));
            let heard_of = py.check_signals().and_then(|()| match &progress {
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
        let made = work.join();
        interrupted.map_or(Ok(made), Err)
    })?;
    let tuning = made.map_err(|_| of_run(RunError::Cancelled))?.map_err(of_run)?;
    let document = py.import("json")?.call_method1("loads", (tuning.to_json(),))?;
    document.get_item("tuning")
}
