//! Runs that are followed page by page.

use mmsim::RunSpec;
use mmsim::base::id::PageIdx;
use mmsim::machine::Watch;
use mmsim::report::{Report, RunMeta, RunReport};
use mmsim::why::difference::Difference;
use mmsim::why::life::{Life, Moment};

use super::Plan;
use mmsim_terminal::exit::Failure;

/// Makes the runs of a plan and reports them.
pub(crate) fn why(plan: &Plan) -> Result<Report, Failure> {
    let results = mmsim::run::run_all(&plan.specs, None, |_, _| Watch::default());
    let results = results.map_err(Failure::from)?;
    let runs = results.iter().map(|(m, r)| RunReport::from_result(m.clone(), r)).collect();
    Ok(Report::new(plan.name.clone(), plan.about.clone(), runs))
}

/// Takes two runs apart, each with its name.
pub(crate) fn why_difference(
    a: (String, &RunSpec),
    b: (String, &RunSpec),
) -> Result<Difference, Failure> {
    mmsim::why::difference::of(a, b).map_err(Failure::from)
}

/// The life of a page of a run.
pub(crate) fn why_life(spec: &RunSpec, page: &str) -> Result<Vec<Moment>, Failure> {
    mmsim::why::life::life(spec, page).map_err(Failure::from)
}

/// Moments of a page that a picture has room for.
const MOST_MOMENTS: usize = 200;

/// The lives of the pages that are examples of classes, of these runs of a plan: each is made once
/// more.
pub(crate) fn why_lives(
    plan: &Plan,
    runs: &[(usize, &RunMeta)],
    jobs: Option<usize>,
) -> Result<Vec<(usize, Vec<Life>)>, Failure> {
    let lives = |&(i, meta): &(usize, &RunMeta)| {
        let examples = meta.verdicts.iter().flat_map(|v| &v.examples);
        let pages: Vec<PageIdx> = examples.map(|e| e.index).collect();
        let lives = mmsim::why::life::lives(&plan.specs[i], &pages, MOST_MOMENTS);
        Ok((i, lives?))
    };
    mmsim::run::side_by_side(runs, jobs, |_, run| lives(run))
}
