//! Figures that a plan wants of a run, as numbers, or the reason why the run has none.

use mmsim_base::error::Error;
use mmsim_language::machines;
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::tune::{TunePlan, Wanted};
use mmsim_report::derived::Figure;
use mmsim_report::path::{Missing, Path};
use mmsim_report::{Ending, RunReport};

/// Checks that runs of this shape have a figure. If not, the key that asks for it, the part that is
/// missing, and what to write instead.
fn check_one(path: &Path, shape: &RunReport) -> Result<(), (&'static str, String, String)> {
    let missing = |(key, m): (&'static str, Missing)| (key, m.what, m.instead);
    if Figure::named(&path.name).is_none() {
        return path.can_be_had(shape).map_err(missing);
    }
    let scope = path.scope(shape).map_err(|m| missing(("phase", m)))?;
    if path.needs_events() || path.of(&scope).is_ok() {
        return Ok(());
    }
    let name = &path.name;
    let (what, instead) = match &path.phase {
        Some(_) => (format!("phases have no {name}"), "leave `phase` out"),
        None => (
            format!("the policy does not count what {name} is made of"),
            "write another figure, such as `swap-ins`",
        ),
    };
    Err(("figure", what, instead.to_string()))
}

/// Checks that a run has all figures.
pub(super) fn check(plan: &TunePlan, run: &RunSpec) -> Result<(), Error> {
    let shape = machines::shape(run).map_err(|(_, error)| error)?;
    for of in plan.wanted() {
        check_one(&of.of, &shape)
            .map_err(|(key, what, instead)| plan.no_figure(of, key, &what, &instead))?;
    }
    Ok(())
}

/// The end of a run that has no figures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    /// Outcome of the run.
    pub(super) outcome: Ending,
    /// When it ended early.
    pub(super) at_ns: Option<u64>,
    /// Cause of its end, without times and sizes, so that runs can be counted by it.
    pub(super) cause: String,
    /// The same with times and sizes.
    pub(super) detail: String,
}

impl Failure {
    /// The failure of a run; `None`: it did its work.
    fn of(report: &RunReport) -> Option<Failure> {
        let outcome = report.outcome;
        let (cause, detail) = match (&report.oom, &report.stuck, &report.panic) {
            _ if outcome.is_whole() => return None,
            (Some(oom), ..) => (oom.who_was_killed(), oom.who_held_it()),
            (_, Some(stuck), _) => (stuck.why.clone(), stuck.who_waits()),
            (.., Some(message)) => ("the simulator failed".to_string(), message.clone()),
            _ => (outcome.name().to_string(), outcome.name().to_string()),
        };
        let at_ns = report.oom.as_ref().map(|o| o.at_ns);
        let at_ns = at_ns.or(report.stuck.as_ref().map(|s| s.at_ns));
        Some(Failure { outcome, at_ns, cause, detail })
    }
}

/// The figures of a run with their own signs, or why it has none.
pub(super) fn figures(plan: &TunePlan, report: &RunReport) -> Result<Vec<f64>, Failure> {
    if let Some(failure) = Failure::of(report) {
        return Err(failure);
    }
    let value = |wanted: &Wanted| {
        wanted.of.of_run(report).map_err(|_| {
            let cause = format!("{wanted} is undefined in the run");
            Failure { outcome: report.outcome, at_ns: None, detail: cause.clone(), cause }
        })
    };
    plan.wanted().map(value).collect()
}
