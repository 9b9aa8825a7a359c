//! Miniatures of new settings, before any of them is run in full.
//!
//! A miniature has a sample of the pages (`crate::miniature`). Three times as many children as a
//! round runs are made as miniatures, with the first seed; those are run that add most to the front
//! by what their miniatures say. What a miniature says decides nothing else.

use super::TuneOptions;
use crate::miniature::{self, Miniature, Refusal, Share, Worth, completed, worth};
use crate::run::{RunError, RunOptions, meta};
use mmsim_base::error::Error;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::tune::{Objective, TunePlan};
use mmsim_report::RunReport;

/// Miniatures for each setting that is run.
pub(super) const MORE: usize = 3;

/// Checks that the scenario may be a miniature of the plan's share, and has its objectives from it.
///
/// # Errors
/// It may not, or an objective does not transfer: at its place in the plan.
pub(super) fn check(plan: &TunePlan, own: &RunSpec) -> Result<(), Error> {
    let Some(shift) = plan.miniature() else { return Ok(()) };
    if let Err(Refusal { why, .. }) = miniature::allowed(own, Share::OneIn(shift))? {
        return Err(plan.no_miniature(&why, "leave `miniature` out, or write a larger share"));
    }
    let mglru = own.policy.preset.starts_with("mglru");
    for objective in plan.objectives() {
        let path = &objective.wanted.of;
        let counts_pages = |e: &VmEvent| matches!(worth(*e, mglru), Worth::Pages);
        if !path.counters().is_some_and(|all| all.iter().all(counts_pages)) {
            let what = format!("miniatures do not estimate {}", path.name);
            let instead = "leave `miniature` out, or write a counter of pages, such as `pswpout`";
            return Err(plan.no_figure(&objective.wanted, "figure", &what, instead));
        }
    }
    Ok(())
}

/// Objectives of these runs as their miniatures estimate them, so that less is better; `None` where
/// one cannot be, or did not do its work.
///
/// # Errors
/// No thread can be started, or the input is wrong.
pub(super) fn estimates(
    plan: &TunePlan,
    specs: &[RunSpec],
    options: &TuneOptions,
) -> Result<Vec<Option<Vec<f64>>>, Error> {
    let share = Share::OneIn(plan.miniature().unwrap_or(0));
    let made: Vec<Option<Miniature>> =
        specs.iter().map(|spec| Miniature::new(spec, share, 1).ok()).collect();
    let run = RunOptions { jobs: options.jobs, check: options.check, ..RunOptions::default() };
    let all: Vec<Miniature> = made.iter().flatten().cloned().collect();
    let mut results = match miniature::run(all, &run, || ()) {
        Ok(results) => results.into_iter(),
        Err(RunError::Input(error)) => return Err(error),
        Err(other) => return Err(Error::plain(other.to_string())),
    };
    let one = |m: Option<Miniature>| {
        let estimated = m.and_then(|_| results.next())?;
        let (spec, result) = (&estimated.how.run, estimated.results.first()?);
        let report = RunReport::from_result(meta(spec), result);
        let times = (1_u64 << estimated.how.samples[0].shift) as f64;
        let sign = |max: bool| if max { -times } else { times };
        let value = |o: &Objective| Some(o.wanted.of.of_run(&report).ok()? * sign(o.max));
        completed(&estimated).then(|| plan.objectives().iter().map(value).collect())?
    };
    Ok(made.into_iter().map(one).collect())
}
