//! Curves over memory, on a thread of their own.

use std::path::PathBuf;

use mmsim::Runner;
use mmsim::bench::{BenchSettings, Frames, Trace};
use mmsim::curve::{Curve, POINTS, Sizes, sets};
use mmsim::error::Error;
use mmsim::report::derived::Figure;
use pyo3::prelude::*;

use crate::cache_ext::{options, with_modules};
use crate::errors::{input, of_run};
use crate::observe::{Heard, beside};
use crate::report::{Report, figure};
use crate::scenario::{Scenario, jobs_of, progress_of, texts};
use crate::values::whole;

/// Policies of a trace where none is named.
const POLICIES: [&str; 2] = ["classic-v6.12", "mglru-v6.12"];

/// The scenario or the trace of a curve.
#[derive(FromPyObject)]
pub(crate) enum Of<'py> {
    Scenario(PyRef<'py, Scenario>),
    Trace(PathBuf),
}

/// Draws a figure over memory as `mmsim curve` does; gives its report.
#[pyfunction]
#[pyo3(signature = (
    of, *, memory="10%..150%", points=None, axis=None, reclaim=None, by=None, optimum=true,
    jobs=None, progress=None,
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords")]
pub(crate) fn curve(
    py: Python<'_>,
    of: Of<'_>,
    memory: &str,
    points: Option<&Bound<'_, PyAny>>,
    axis: Option<&str>,
    reclaim: Option<&Bound<'_, PyAny>>,
    by: Option<&str>,
    optimum: bool,
    jobs: Option<&Bound<'_, PyAny>>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let option = |title: String| input(Error::of_option(title));
    let sizes: Sizes = memory.parse().map_err(|e| option(format!("memory: {e}")))?;
    let points = match points {
        Some(_) if matches!(sizes, Sizes::Given(_)) => {
            let title = "points: the sizes are given one by one, and none is placed";
            return Err(option(title.to_string()));
        }
        Some(points) => whole(points, "points", 2..=1000)? as usize,
        None => POINTS.into(),
    };
    let figure = figure(by)?.unwrap_or(Figure::MissRatio);
    let policies = texts(reclaim, "reclaim")?;
    let plan = match of {
        Of::Scenario(scenario) => {
            let keys = sets(&[], &policies, None, optimum);
            let scenario = scenario.inner.clone().with_sets(&keys).map_err(input)?;
            Curve::of_scenario(scenario, axis, &sizes, points, figure, &with_modules())
        }
        Of::Trace(path) => {
            if let Some(axis) = axis {
                return Err(option(format!("axis `{axis}`: it is about a scenario")));
            }
            let keys = sets(&[], &[], None, optimum);
            let mut settings = BenchSettings::new(&path, Frames::PerCent(100.0));
            settings.sets = &keys;
            let trace = Trace::open(&settings).map_err(input)?;
            let all: Vec<String> = match policies.is_empty() {
                true => POLICIES.map(str::to_string).to_vec(),
                false => policies,
            };
            let name = path.display().to_string();
            Curve::of_trace(trace, &name, &all, &sizes, points, figure)
        }
    };
    let plan = plan.map_err(input)?;
    let options = options(jobs_of(jobs)?, false);
    let progress = progress_of(py, progress)?;
    let heard = Heard::default();
    let made =
        beside(py, &heard, progress.as_ref(), || Runner::watched(&options, &heard).run(plan))?;
    Ok(Report::new(made.map_err(of_run)?, Vec::new(), None))
}
