//! Tunings, on a thread of their own.

use std::path::PathBuf;

use mmsim::Runner;
use mmsim::tune::TunePlan;
use pyo3::prelude::*;

use crate::cache_ext::options;
use crate::errors::{input, of_run};
use crate::observe::{Heard, beside};
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
    let options = options(jobs_of(jobs)?, check);
    let progress = progress_of(py, progress)?;
    let heard = Heard::default();
    let made = beside(py, &heard, progress.as_ref(), || {
        mmsim::tune::tune(&plan, &Runner::watched(&options, &heard))
    })?;
    let tuning = made.map_err(of_run)?;
    let document = py.import("json")?.call_method1("loads", (tuning.to_json(),))?;
    document.get_item("tuning")
}
