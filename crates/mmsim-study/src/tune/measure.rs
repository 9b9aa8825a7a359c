//! Figures that a plan wants of a run, as numbers, or the reason why the run has none.

use mmsim_base::error::Error;
use mmsim_language::machines;
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::tune::{TunePlan, Wanted};
use mmsim_report::derived::{Figure, Scope};
use mmsim_report::expect::Subject;
use mmsim_report::{Ending, RunReport};

/// A figure of a run, or of a phase of it.
#[derive(Clone, Debug)]
pub(super) struct Measure {
    figure: Option<Figure>,
    subject: Subject,
}

impl Measure {
    pub(super) fn of(wanted: &Wanted) -> Measure {
        let figure = Figure::ALL.into_iter().find(|f| f.name() == wanted.figure);
        let mut subject = Subject::default();
        (subject.figure, subject.phase) = (wanted.figure.clone(), wanted.phase.clone());
        Measure { figure, subject }
    }

    /// Its value; `None`: undefined in this run.
    pub(super) fn value(&self, run: &RunReport) -> Option<f64> {
        let Some(figure) = self.figure else { return self.subject.of_run(run).ok() };
        match &self.subject.phase {
            None => figure.of(Scope::from(run)),
            Some(name) => figure.of(Scope::from(run.phases.iter().find(|p| p.name == *name)?)),
        }
    }

    /// Checks that runs of this shape have it.
    fn check(&self, shape: &RunReport) -> Result<(), (&'static str, String, String)> {
        let Some(figure) = self.figure else {
            return self.subject.can_be_had(shape).map_err(|(key, m)| (key, m.what, m.instead));
        };
        let mut completed = self.subject.clone();
        completed.figure = "sim_time_ns".into();
        completed.can_be_had(shape).map_err(|(key, m)| (key, m.what, m.instead))?;
        // These are undefined where nothing happened, as in a shape.
        use Figure::{MajorFaultP99, ScannedPerReclaimed, Throughput};
        let later = matches!(figure, MajorFaultP99 | ScannedPerReclaimed | Throughput);
        if later || self.value(shape).is_some() {
            return Ok(());
        }
        let name = figure.name();
        let (what, instead) = match &self.subject.phase {
            Some(_) => (format!("phases have no {name}"), "leave `phase` out"),
            None => (
                format!("the policy does not count what {name} is made of"),
                "write another figure, such as `swap-ins`",
            ),
        };
        Err(("figure", what, instead.to_string()))
    }
}

/// All figures that a plan asks for: objectives, then constraints.
pub(super) fn all(plan: &TunePlan) -> Vec<Measure> {
    wanted(plan).map(Measure::of).collect()
}

/// Figures that it wants, in the same order.
pub(super) fn wanted(plan: &TunePlan) -> impl Iterator<Item = &Wanted> {
    let constraints = plan.constraints().iter().map(|c| &c.wanted);
    plan.objectives().iter().map(|o| &o.wanted).chain(constraints)
}

/// Checks that a run has all figures.
pub(super) fn check(plan: &TunePlan, run: &RunSpec) -> Result<(), Error> {
    let shape = machines::shape(run).map_err(|(_, error)| error)?;
    for of in wanted(plan) {
        Measure::of(of)
            .check(&shape)
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
            (Some(oom), ..) => {
                (format!("`{}` was killed: {}", oom.victim, oom.shortage), oom.who_held_it())
            }
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
pub(super) fn figures(
    plan: &TunePlan,
    measures: &[Measure],
    report: &RunReport,
) -> Result<Vec<f64>, Failure> {
    if let Some(failure) = Failure::of(report) {
        return Err(failure);
    }
    let value = |(m, wanted): (&Measure, &Wanted)| {
        m.value(report).ok_or_else(|| {
            let cause = format!("{wanted} is undefined in the run");
            Failure { outcome: report.outcome, at_ns: None, detail: cause.clone(), cause }
        })
    };
    measures.iter().zip(wanted(plan)).map(value).collect()
}
