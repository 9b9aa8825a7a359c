//! Miniatures of new settings, before any of them is run in full.
//!
//! A miniature has a sample of the pages (`crate::miniature`). Three times as many children as a
//! round runs are made as miniatures, with the first seed; those are run that add most to the front
//! by what their miniatures say. What a miniature says decides nothing else.

use crate::attend::Making;
use crate::miniature::{self, Miniature, Refusal, Share, Worth, worth};
use crate::plan::Point;
use crate::run::RunError;
use crate::store::UnitId;
use mmsim_base::error::Error;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::tune::{Objective, TunePlan};
use mmsim_report::{Ending, RunReport};

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

/// The miniature of a run, if there can be one.
pub(super) fn of(plan: &TunePlan, spec: &RunSpec) -> Option<Miniature> {
    Miniature::new(spec, Share::OneIn(plan.miniature()?), 1).ok()
}

/// The objectives of a run as the report of its miniature estimates them, so that less is better;
/// `None` where it did not do its work, or one is undefined.
pub(super) fn estimate(plan: &TunePlan, small: &Miniature, report: &RunReport) -> Option<Vec<f64>> {
    let times = (1_u64 << small.samples[0].shift) as f64;
    let value = |o: &Objective| {
        let value = o.wanted.of.of_run(report).ok()?;
        Some(value * if o.max { -times } else { times })
    };
    let done = report.outcome == Ending::Completed;
    done.then(|| plan.objectives().iter().map(value).collect())?
}

/// A run of a search, or the miniature of one; what is made of both is a report.
#[derive(Clone)]
pub(super) enum Try {
    Run(RunSpec),
    Small(Miniature),
}

impl Point for Try {
    type Made = RunReport;

    fn id(&self) -> Option<UnitId> {
        match self {
            Try::Run(spec) => spec.id(),
            Try::Small(small) => small.sampled().first()?.id(),
        }
    }

    fn spec(&self) -> Option<&RunSpec> {
        match self {
            Try::Run(spec) => Some(spec),
            Try::Small(_) => None,
        }
    }

    fn make(&self, how: &Making<'_>) -> Result<RunReport, RunError> {
        match self {
            Try::Run(spec) => spec.make(how),
            Try::Small(small) => Ok(small.sampled()[0].make(how)?.report),
        }
    }
}
