//! Tuning: values of knobs that are best in several things at once, found by runs.
//!
//! A [`TunePlan`] names a scenario, knobs with ranges, objectives and constraints. [`tune`] searches:
//! first points of a low-discrepancy sequence, then NSGA-II, with a race over paired seeds
//! (`search.rs`). What it finds is a front: settings of which none is better than another in
//! everything. The front is run on all seeds, and then on seeds that the search never saw.
//!
//! The same plan gives the same [`Tuning`], whatever the number of jobs.
//!
//! ```no_run
//! use mmsim::tune::{TuneOptions, TunePlan, tune};
//!
//! let plan = TunePlan::from_path("swappiness.toml")?;
//! let tuning = tune(&plan, &TuneOptions::default(), &())?;
//! for setting in &tuning.front {
//!     println!("{:?} {:?}", setting.knobs, setting.objectives);
//! }
//! # Ok::<(), mmsim::Error>(())
//! ```

pub mod ask;
pub mod contributions;
pub mod guess;
mod measure;
pub mod offspring;
pub mod pareto;
mod screen;
mod search;
mod small;
pub mod writes;

use serde::Serialize;

use crate::error::Error;
use crate::report::Pairs;
use crate::report::statistics::estimate;
use crate::scenario::RunSpec;
pub use crate::scenario::tune::{Constraint, Knob, Objective, Takes, TunePlan, Wanted};
use contributions::Contribution;
use search::{Candidate, Search, State, means};
use writes::Write;

/// How a tuning is made.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TuneOptions {
    /// Runs at the same time; `None`: one per CPU of the host.
    pub jobs: Option<usize>,
    /// Audit all invariants as runs go.
    pub check: bool,
}

/// Hears how a tuning goes, from any thread. What it does changes no result.
pub trait Watcher: Sync {
    /// At most so many runs will be made for the search.
    fn begins(&self, runs: u64) {
        let _ = runs;
    }
    /// A run has ended; its label says which.
    fn finished(&self, label: &str) {
        let _ = label;
    }
}

impl Watcher for () {}

/// The mean of a figure.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Mean {
    /// Over the seeds of the search.
    pub mean: f64,
    /// Half the width of its 95 % interval.
    pub ci95: Option<f64>,
    /// Over held-out seeds; none where a run of them did not do its work.
    pub held_out: Option<f64>,
    /// Half the width of its 95 % interval.
    pub held_out_ci95: Option<f64>,
    /// Whether the mean of held-out seeds is where that of the others lets expect it, in 95 of 100
    /// cases.
    pub holds: Option<bool>,
}

/// A setting, and what comes of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Setting {
    /// Each knob with its value; none for the scenario's own setting.
    pub knobs: Pairs<String>,
    /// Each objective, in the order of the plan.
    pub objectives: Vec<Mean>,
    /// The figure of each constraint.
    pub constraints: Vec<Mean>,
    /// Whether it keeps the constraints on held-out seeds too.
    pub keeps: bool,
    /// What to write on a machine, and where.
    pub writes: Vec<Write>,
}

/// What is wanted, as results say it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Aim {
    /// The figure.
    pub figure: String,
    /// Whether more of it is better.
    pub max: bool,
    /// From where on a setting counts nothing.
    pub reference: f64,
}

/// The volume of objectives that a front is better than, from the reference point on.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Hypervolume {
    /// Of the means over the seeds of the search.
    pub of_means: f64,
    /// The mean of the volumes of single seeds.
    pub mean: f64,
    /// Half the width of its 95 % interval.
    pub ci95: Option<f64>,
    /// Of the means over held-out seeds.
    pub held_out_of_means: f64,
    /// The mean of the volumes of single held-out seeds.
    pub held_out: f64,
    /// Half the width of its 95 % interval.
    pub held_out_ci95: Option<f64>,
    /// Of the means of the scenario's own setting.
    pub own: f64,
}

/// How the runs were spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Spent {
    /// Runs of the search.
    pub runs: u64,
    /// Runs with held-out seeds.
    pub held_out: u64,
    /// Rounds after the first settings.
    pub rounds: u64,
    /// Settings that were tried.
    pub settings: u64,
    /// Of those, settings that got one seed only.
    pub with_one_seed: u64,
    /// Of those, settings that got all seeds.
    pub with_all_seeds: u64,
    /// Of those, settings that are worse than another beyond chance, by paired seeds.
    pub beaten: u64,
    /// Of those, settings with a run that did not do its work, or lacks a figure.
    pub failed: u64,
    /// Settings that no machine can have; they took no run.
    pub impossible: u64,
    /// Settings of which there is a miniature only; they took no run.
    pub as_miniatures: u64,
    /// Runs in which the simulator failed.
    pub panicked: u64,
}

/// What a tuning found.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Tuning {
    /// Name of the plan.
    pub name: String,
    /// What the plan says of itself.
    pub about: String,
    /// The scenario.
    pub scenario: String,
    /// The variant.
    pub variant: String,
    /// Each knob, and its values.
    pub knobs: Pairs<String>,
    /// What is wanted.
    pub objectives: Vec<Aim>,
    /// What must hold besides.
    pub constraints: Vec<String>,
    /// Seeds of the search.
    pub seeds: Vec<u64>,
    /// Seeds that only the front was run with.
    pub held_out: Vec<u64>,
    /// How the runs were spent.
    pub spent: Spent,
    /// The scenario's own setting; none where it does not do its work.
    pub own: Option<Setting>,
    /// The front, the best in the first objective first. Empty: no setting keeps all constraints.
    pub front: Vec<Setting>,
    /// Which of the front is the nearest to the best of all objectives, each over the front's span.
    pub balanced: Option<usize>,
    /// What the front is worth.
    pub hypervolume: Hypervolume,
    /// What each knob has to do with each objective.
    pub contributions: Vec<Contribution>,
}

/// Searches, and runs what was found on held-out seeds.
///
/// # Errors
///
/// The plan cannot be run as it is, or no thread can be started.
pub fn tune(
    plan: &TunePlan,
    options: &TuneOptions,
    watcher: &dyn Watcher,
) -> Result<Tuning, Error> {
    let mut search = Search::new(plan, options, watcher)?;
    search.run()?;
    let seeds = search.seeds();
    let mut front = search.found();
    let first = |c: &usize| means(&search.all[*c].values)[0];
    front.sort_by(|a, b| first(a).total_cmp(&first(b)));

    let shown: Vec<usize> = std::iter::once(0).chain(front.iter().copied()).collect();
    let shown: Vec<usize> = shown.into_iter().filter(|&c| search.all[c].seeds() == seeds).collect();
    let held_out = plan.held_out();
    let specs: Vec<RunSpec> = shown
        .iter()
        .filter_map(|&c| search.all[c].spec.clone())
        .flat_map(|spec| held_out.clone().map(move |seed| RunSpec { seed, ..spec.clone() }))
        .collect();
    let made = search.made(&specs)?;
    let n = held_out.clone().count();
    let of_held_out: Vec<Option<Vec<Vec<f64>>>> =
        made.chunks(n).map(|runs| runs.iter().cloned().collect()).collect();
    let found = Found { search: &search, shown, of_held_out };
    Ok(found.tuning(specs.len() as u64))
}

/// A search that has ended, with what held-out seeds say of its front.
struct Found<'a> {
    search: &'a Search<'a>,
    /// The scenario's own setting where it has figures, then the front.
    shown: Vec<usize>,
    /// Figures of each of these, seed by seed.
    of_held_out: Vec<Option<Vec<Vec<f64>>>>,
}

impl Found<'_> {
    fn tuning(&self, held_out: u64) -> Tuning {
        let (search, plan) = (self.search, self.search.plan);
        let reference = self.search.reference();
        let aim = |(o, r): (&Objective, &f64)| Aim {
            figure: o.wanted.to_string(),
            max: o.max,
            reference: signed(o, *r),
        };
        let mut settings: Vec<Setting> = (0..self.shown.len()).map(|i| self.setting(i)).collect();
        let own = (self.shown.first() == Some(&0)).then(|| settings.remove(0));
        Tuning {
            name: plan.name().to_string(),
            about: plan.about().to_string(),
            scenario: plan.scenario().to_string(),
            variant: plan.variant().to_string(),
            knobs: plan.knobs().iter().map(|k| (k.path().to_string(), k.described())).collect(),
            objectives: plan.objectives().iter().zip(&reference).map(aim).collect(),
            constraints: plan.constraints().iter().map(ToString::to_string).collect(),
            seeds: plan.seeds().collect(),
            held_out: plan.held_out().collect(),
            spent: self.spent(held_out),
            own,
            balanced: self.balanced(),
            front: settings,
            hypervolume: self.hypervolume(&reference),
            contributions: contributions_of(search),
        }
    }

    fn setting(&self, i: usize) -> Setting {
        let plan = self.search.plan;
        let candidate = &self.search.all[self.shown[i]];
        let others = self.of_held_out[i].as_ref();
        let objectives = plan.objectives().len();
        let figures = candidate.values.first().map_or(0, Vec::len);
        let one = |m: usize| {
            let sign = if plan.objectives().get(m).is_some_and(|o| o.max) { -1.0 } else { 1.0 };
            let of =
                |all: &[Vec<f64>]| estimate(&all.iter().map(|v| v[m] * sign).collect::<Vec<_>>());
            let here = of(&candidate.values);
            let there = others.and_then(|all| of(all));
            let holds = here.zip(there).and_then(|(a, b)| {
                // A mean of further seeds: the interval of a mean, and what those seeds do.
                let wider = (1.0 + a.n as f64 / b.n as f64).sqrt();
                Some((a.mean - b.mean).abs() <= a.ci95? * wider)
            });
            Mean {
                mean: here.map_or(0.0, |e| e.mean),
                ci95: here.and_then(|e| e.ci95),
                held_out: there.map(|e| e.mean),
                held_out_ci95: there.and_then(|e| e.ci95),
                holds,
            }
        };
        let all: Vec<Mean> = (0..figures).map(one).collect();
        let names = plan.knobs().iter().map(|k| k.path().to_string());
        Setting {
            knobs: names.zip(candidate.labels.iter().cloned()).collect(),
            objectives: all[..objectives].to_vec(),
            constraints: all[objectives..].to_vec(),
            keeps: others.is_some_and(|o| self.search.plan.violation(&means(o)) == 0.0),
            writes: match &candidate.spec {
                Some(spec) => writes::of(plan.knobs(), &candidate.labels, spec),
                None => Vec::new(),
            },
        }
    }

    /// The places of the front among those that are shown.
    fn front(&self) -> std::ops::Range<usize> {
        usize::from(self.shown.first() == Some(&0))..self.shown.len()
    }

    fn balanced(&self) -> Option<usize> {
        let objectives = self.search.plan.objectives().len();
        let means: Vec<Vec<f64>> =
            self.front().map(|i| means(&self.search.all[self.shown[i]].values)).collect();
        let ends = |m: usize| {
            let of = || means.iter().map(|v| v[m]);
            (of().fold(f64::INFINITY, f64::min), of().fold(f64::NEG_INFINITY, f64::max))
        };
        let ends: Vec<(f64, f64)> = (0..objectives).map(ends).collect();
        let far = |v: &Vec<f64>| -> f64 {
            let share = |(x, (low, high)): (&f64, &(f64, f64))| match high > low {
                true => (x - low) / (high - low),
                false => 0.0,
            };
            v.iter().zip(&ends).map(share).map(|s| s * s).sum()
        };
        let all: Vec<f64> = means.iter().map(far).collect();
        (0..all.len()).min_by(|&a, &b| all[a].total_cmp(&all[b]))
    }

    fn hypervolume(&self, reference: &[f64]) -> Hypervolume {
        let objectives = reference.len();
        let cut = |v: Vec<f64>| v[..objectives].to_vec();
        let volume = |all: Vec<Vec<f64>>| pareto::hypervolume(&all, reference);
        let of = |i: usize| &self.search.all[self.shown[i]].values;
        let kept = || self.front().filter_map(|i| self.of_held_out[i].as_ref());
        let of_seed = |s: usize| volume(self.front().map(|i| cut(of(i)[s].clone())).collect());
        let of_other = |s: usize| volume(kept().map(|all| cut(all[s].clone())).collect());
        let plan = self.search.plan;
        let here = estimate(&(0..plan.seeds().count()).map(of_seed).collect::<Vec<_>>());
        let there = estimate(&(0..plan.held_out().count()).map(of_other).collect::<Vec<_>>());
        let own = self.shown.first() == Some(&0);
        Hypervolume {
            of_means: volume(self.front().map(|i| cut(means(of(i)))).collect()),
            mean: here.map_or(0.0, |e| e.mean),
            ci95: here.and_then(|e| e.ci95),
            held_out_of_means: volume(kept().map(|all| cut(means(all))).collect()),
            held_out: there.map_or(0.0, |e| e.mean),
            held_out_ci95: there.and_then(|e| e.ci95),
            own: if own { volume(vec![cut(means(of(0)))]) } else { 0.0 },
        }
    }

    fn spent(&self, held_out: u64) -> Spent {
        let search = self.search;
        let run = |c: &&Candidate| !matches!(c.state, State::Impossible | State::Passed);
        let tried = || search.all.iter().skip(1).filter(run);
        let count = |of: &dyn Fn(&&Candidate) -> bool| tried().filter(of).count() as u64;
        let is = |state: State| search.all.iter().filter(|c| c.state == state).count() as u64;
        Spent {
            runs: search.spent,
            held_out,
            rounds: search.rounds,
            settings: tried().count() as u64,
            with_one_seed: count(&|c| c.seeds() == 1),
            with_all_seeds: count(&|c| c.seeds() == search.seeds()),
            beaten: is(State::Beaten),
            failed: search.all.iter().skip(1).filter(|c| c.state == State::Failed).count() as u64,
            impossible: is(State::Impossible),
            as_miniatures: is(State::Passed),
            panicked: search.panicked,
        }
    }
}

/// A value of an objective so that less is better, or back again.
fn signed(objective: &Objective, value: f64) -> f64 {
    if objective.max { -value } else { value }
}

fn contributions_of(search: &Search<'_>) -> Vec<Contribution> {
    let plan = search.plan;
    let all: Vec<usize> = (1..search.all.len()).filter(|&c| search.all[c].seeds() > 0).collect();
    let figures = search.adjusted_all(&all);
    let mut found = Vec::new();
    for (k, knob) in plan.knobs().iter().enumerate() {
        let words = match knob.takes() {
            Takes::OneOf(words) if !knob.is_ordered() => words,
            _ => Vec::new(),
        };
        let place = |c: &usize| {
            let c = &search.all[*c];
            words.iter().position(|w| *w == c.labels[k]).map_or(c.genes[k], |at| at as f64)
        };
        let x: Vec<f64> = all.iter().map(place).collect();
        for (m, objective) in plan.objectives().iter().enumerate() {
            let y: Vec<f64> = figures.iter().map(|v| signed(objective, v[m])).collect();
            let (share, correlation) = contributions::of(&x, &y, !words.is_empty());
            let (knob, figure) = (knob.path().to_string(), objective.wanted.to_string());
            found.push(Contribution { knob, figure, share, correlation });
        }
    }
    found
}
