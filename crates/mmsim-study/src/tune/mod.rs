//! Tuning: values of knobs that are best in several things at once, found by runs.
//!
//! A [`TunePlan`] names a scenario, knobs with ranges, objectives and constraints. [`tune`] searches:
//! first points of a low-discrepancy sequence, then NSGA-II, with a race over paired seeds
//! (`search.rs`). What it finds is a front: settings of which none is better than another in
//! everything, with the scenario's own setting among them if it belongs there. The front is run on
//! all seeds, and then on seeds that the search never saw. These decide what is advised
//! (`advice.rs`), which may be to change nothing.
//!
//! The same plan gives the same [`Tuning`], whatever the number of jobs.
//!
//! ```no_run
//! # use mmsim_study as mmsim;
//! use mmsim::tune::{TunePlan, tune};
//! use mmsim::{RunOptions, Runner};
//!
//! let plan = TunePlan::from_path("swappiness.toml")?;
//! let tuning = tune(&plan, &Runner::new(&RunOptions::default()))?;
//! println!("{}: {}", tuning.advice.decision.name(), tuning.advice.why);
//! for advised in &tuning.advice.settings {
//!     println!("{:?} {:?}", advised.knobs, advised.worse);
//! }
//! # Ok::<(), mmsim::RunError>(())
//! ```

pub mod advice;
pub mod ask;
pub mod contributions;
pub mod guess;
pub mod length;
mod means;
mod measure;
pub mod offspring;
pub mod pareto;
mod present;
mod screen;
mod search;
mod small;
mod standing;
pub mod writes;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use crate::attend::Ahead;
use crate::cells::{Cell, Cells, Column, Form};
use crate::run::{RunError, meta};
use crate::runner::Runner;
use advice::{Advice, Change, Changes, Measured, Offered};
use contributions::Contribution;
use means::means;
pub use mmsim_language::scenario::tune::{Constraint, Knob, Objective, Takes, TunePlan, Wanted};
use mmsim_report::statistics::Estimate;
use mmsim_report::{Pairs, estimate_fields};
use search::{Candidate, Figures, OWN, Search, State, turn};
use writes::Write;

/// The mean of a figure.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Mean {
    /// Over the seeds of the search.
    #[serde(flatten, with = "search_mean")]
    #[schemars(flatten, schema_with = "search_mean::schema")]
    pub search: Estimate,
    /// Over held-out seeds; none where a run of them did not do its work.
    #[serde(flatten, with = "held_out_mean")]
    #[schemars(flatten, schema_with = "held_out_mean::schema")]
    pub held_out: Option<Estimate>,
    /// True if the mean of held-out seeds is where that of the others lets expect it, in 95 of 100
    /// cases.
    pub holds: Option<bool>,
    /// The change from the scenario's own setting on held-out seeds, paired by seed; none for that
    /// setting itself.
    pub change: Option<Change>,
    /// The same on the seeds of the search, which picked the setting by them.
    pub change_in_search: Option<Change>,
}

/// A setting with its figures.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Setting {
    /// True of the scenario's own setting.
    pub own: bool,
    /// Each knob with its value. One of the own setting is left out where it is not known.
    pub knobs: Pairs<String>,
    /// Each objective, in the order of the plan.
    pub objectives: Vec<Mean>,
    /// The figure of each constraint.
    pub constraints: Vec<Mean>,
    /// True if it keeps the constraints on held-out seeds too.
    pub keeps: bool,
    /// Writes on a machine, and their places.
    pub writes: Vec<Write>,
}

/// A setting that has no figures, because a run did not do its work.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Failed {
    /// True of the scenario's own setting.
    pub own: bool,
    /// Each knob with its value.
    pub knobs: Pairs<String>,
    /// The first seed with which it failed.
    pub seed: u64,
    /// Outcome of that run: `out of memory`, `stuck` or `panicked`; `completed` where it only lacks
    /// a figure.
    pub outcome: String,
    /// When it ended in simulated time, if it did not finish.
    pub at_ns: Option<u64>,
    /// Cause of its end, without times and sizes: who was killed, and for what.
    pub cause: String,
    /// The same with times and sizes.
    pub detail: String,
}

/// An objective, as results print it.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Aim {
    /// The figure.
    pub figure: String,
    /// True if more of it is better.
    pub max: bool,
    /// From where on a setting counts nothing.
    pub reference: f64,
}

/// The volume of objectives that a front is better than, from the reference point on.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Hypervolume {
    /// Volume of the means over the seeds of the search.
    pub of_means: f64,
    /// Volumes of single seeds.
    #[serde(flatten, with = "search_volume")]
    #[schemars(flatten, schema_with = "search_volume::schema")]
    pub search: Estimate,
    /// Volume of the means over held-out seeds.
    pub held_out_of_means: f64,
    /// Volumes of single held-out seeds.
    #[serde(flatten, with = "held_out_volume")]
    #[schemars(flatten, schema_with = "held_out_volume::schema")]
    pub held_out: Estimate,
    /// Volume of the means of the scenario's own setting.
    pub own: f64,
}

estimate_fields! {
    search_mean: Estimate => "mean", "ci95":
        "Over the seeds of the search.", "Half the width of its 95 % interval.";
    held_out_mean: Option<Estimate> => "held_out", "held_out_ci95":
        "Over held-out seeds; none where a run of them did not do its work.",
        "Half the width of its 95 % interval.";
    search_volume: Estimate => "mean", "ci95":
        "The mean of the volumes of single seeds.", "Half the width of its 95 % interval.";
    held_out_volume: Estimate => "held_out", "held_out_ci95":
        "The mean of the volumes of single held-out seeds.",
        "Half the width of its 95 % interval.";
}

/// Use of the runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
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
    /// Number of those settings that got one seed only.
    pub with_one_seed: u64,
    /// Number of those settings that got all seeds.
    pub with_all_seeds: u64,
    /// Number of those settings that are worse than another beyond chance, by paired seeds.
    pub beaten: u64,
    /// Number of those settings with a run that did not do its work, or lacks a figure.
    pub failed: u64,
    /// Settings that no machine can have; they took no run.
    pub impossible: u64,
    /// Settings of which there is a miniature only; they took no run.
    pub as_miniatures: u64,
    /// Runs in which the simulator failed.
    pub panicked: u64,
}

/// Result of a tuning.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Tuning {
    /// Name of the plan.
    pub name: String,
    /// Description of the plan.
    pub about: String,
    /// The scenario.
    pub scenario: String,
    /// The variant.
    pub variant: String,
    /// The kernel of the own setting.
    pub kernel: String,
    /// The preset of its policy.
    pub policy: String,
    /// Simulated time of its first run.
    pub run_ns: u64,
    /// Each knob, and its values.
    pub knobs: Pairs<String>,
    /// The objectives.
    pub objectives: Vec<Aim>,
    /// The constraints.
    pub constraints: Vec<String>,
    /// Seeds of the search.
    pub seeds: Vec<u64>,
    /// Seeds that only the front was run with.
    pub held_out: Vec<u64>,
    /// Use of the runs.
    pub spent: Spent,
    /// The advice.
    pub advice: Advice,
    /// The scenario's own setting, in the front or not; none where it does not do its work.
    pub own: Option<Setting>,
    /// The front, the best in the first objective first. The own setting is one of it if no other is
    /// better. Empty: no setting keeps all constraints.
    pub front: Vec<Setting>,
    /// Settings that killed a process, or did not finish for another reason, in the order of their
    /// values.
    pub failed: Vec<Failed>,
    /// Volume of the front.
    pub hypervolume: Hypervolume,
    /// Contribution of each knob to each objective.
    pub contributions: Vec<Contribution>,
}

/// A tuning as a document of this version of mmsim.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Document<'a> {
    /// The version of mmsim that wrote it.
    pub mmsim: String,
    /// The version of the form of all documents.
    pub schema: u32,
    /// The tuning.
    pub tuning: Cow<'a, Tuning>,
}

impl Tuning {
    /// Names of the settings of the front: `own`, and numbers for the others.
    pub fn names(&self) -> Vec<String> {
        let mut n = 0;
        let name = |s: &Setting| {
            n += u32::from(!s.own);
            if s.own { "own".to_string() } else { n.to_string() }
        };
        self.front.iter().map(name).collect()
    }

    /// The own setting where it is not in the front, then the front, each with its name.
    pub fn rows(&self) -> Vec<(String, &Setting)> {
        let outside = self.own.iter().filter(|_| !self.front.iter().any(|s| s.own));
        let outside = outside.map(|s| ("own".to_string(), s));
        outside.chain(self.names().into_iter().zip(&self.front)).collect()
    }

    /// These settings as a table: knobs, each figure with its intervals and its change, the advice.
    pub fn cells(&self) -> Cells {
        let text = |name: &str| Column::new(name, Form::Text);
        let mut columns = vec![text("setting")];
        columns.extend(self.knobs.iter().map(|(path, _)| text(path)));
        for figure in self.objectives.iter().map(|a| &a.figure).chain(&self.constraints) {
            let parts = ["", " ci95", " held-out", " held-out ci95", " change", " change ci95"];
            let column = |part| Column::new(format!("{figure}{part}"), Form::Number);
            columns.extend(parts.map(column));
        }
        columns.extend(["front", "advice"].map(text));
        let mut cells = Cells::below(columns);
        let advised =
            |s: &Setting| self.advice.settings.iter().any(|a| self.front[a.setting] == *s);
        for (name, setting) in self.rows() {
            let mut row: Vec<Cell> = vec![name.into()];
            row.extend(self.knobs.iter().map(|(path, _)| setting.knobs.get(path).cloned().into()));
            for m in setting.objectives.iter().chain(&setting.constraints) {
                let change = m.change.as_ref().map(|c| c.difference);
                let parts = [Some(m.search), m.held_out, change];
                let cells = parts.map(|e| [e.map(|e| e.mean), e.and_then(|e| e.ci95)]);
                row.extend(cells.into_iter().flatten().map(Cell::from));
            }
            let in_front = self.front.contains(setting);
            row.push(if in_front { "yes" } else { "no" }.into());
            let nothing = self.advice.settings.is_empty();
            let named = if setting.own { nothing } else { advised(setting) };
            row.push(named.then(|| self.advice.decision.name()).into());
            cells.rows.push(row);
        }
        cells
    }

    /// The document of `mmsim tune --format json`.
    pub fn to_json(&self) -> String {
        let (mmsim, schema) = (env!("CARGO_PKG_VERSION").to_string(), mmsim_report::SCHEMA);
        let document = Document { mmsim, schema, tuning: Cow::Borrowed(self) };
        let value = serde_json::to_value(&document).expect("plain data");
        format!("{value:#}\n")
    }
}

/// The JSON Schema of [`Document`], with a sentence for every field.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Document<'static>).to_value()
}

/// Searches, and runs what was found on held-out seeds.
///
/// # Errors
///
/// The plan cannot be run as it is, the store cannot be read or written, or the watcher ended it.
pub fn tune(plan: &TunePlan, runner: &Runner<'_>) -> Result<Tuning, RunError> {
    let search = Search::new(plan, runner.registry())?;
    runner.watcher().begins(&Ahead::at_most(plan.budget()));
    let (search, held_out) = runner.run(search)?;
    Ok(Found::of(search, held_out).tuning())
}

/// A search that has ended, with what held-out seeds say of its front.
struct Found<'a> {
    search: Search<'a>,
    /// Figures of each setting that is shown.
    measured: Vec<Measured>,
}

impl<'a> Found<'a> {
    /// `held_out`: figures of each setting that is shown, with each held-out seed.
    fn of(mut search: Search<'a>, held_out: Vec<(u64, Figures)>) -> Found<'a> {
        let plan = search.plan;
        let own_signs = |mut values: Vec<f64>| {
            turn(plan, &mut values);
            values
        };
        let mut measured = Vec::new();
        let n = plan.held_out().count();
        for (&c, runs) in search.shown.iter().zip(held_out.chunks(n)) {
            let candidate = &mut search.all[c];
            let mut failed =
                runs.iter().filter_map(|(seed, run)| Some((*seed, run.clone().err()?)));
            candidate.failed = candidate.failed.take().or(failed.next());
            measured.push(Measured {
                search: candidate.values.iter().cloned().map(own_signs).collect(),
                held_out: runs.iter().map(|(_, run)| run.clone().ok().map(own_signs)).collect(),
            });
        }
        Found { search, measured }
    }

    fn tuning(&self) -> Tuning {
        let (search, plan) = (&self.search, self.search.plan);
        let held_out = (search.shown.len() * plan.held_out().count()) as u64;
        let reference = self.search.reference();
        let own = meta(search.all[OWN].spec.as_ref().expect("the scenario has a run"));
        let aim = |(o, r): (&Objective, &f64)| Aim {
            figure: o.wanted.to_string(),
            max: o.max,
            reference: signed(o, *r),
        };
        Tuning {
            name: plan.name().to_string(),
            about: plan.about().to_string(),
            scenario: plan.scenario().to_string(),
            variant: plan.variant().to_string(),
            kernel: own.kernel,
            policy: own.policy,
            run_ns: search.run_ns,
            knobs: plan.knobs().iter().map(|k| (k.path().to_string(), k.described())).collect(),
            objectives: plan.objectives().iter().zip(&reference).map(aim).collect(),
            constraints: plan.constraints().iter().map(ToString::to_string).collect(),
            seeds: plan.seeds().collect(),
            held_out: plan.held_out().collect(),
            spent: self.spent(held_out),
            advice: self.advice(),
            own: search.shown.contains(&OWN).then(|| self.setting(OWN)),
            front: search.front.iter().map(|&c| self.setting(c)).collect(),
            failed: self.failed(),
            hypervolume: self.hypervolume(&reference),
            contributions: contributions_of(search),
        }
    }

    /// The figures of a setting that is shown.
    fn measured(&self, c: usize) -> Option<&Measured> {
        self.search.shown.iter().position(|&s| s == c).map(|i| &self.measured[i])
    }

    fn setting(&self, c: usize) -> Setting {
        let plan = self.search.plan;
        let candidate = &self.search.all[c];
        let measured = self.measured(c).expect("settings that are shown have figures");
        let others = measured.held_out.as_ref();
        let objectives = plan.objectives().len();
        let own = self.measured(OWN).filter(|_| c != OWN);
        let changes = own.map(|own| advice::changes(plan, own, measured));
        let one = |m: usize| {
            let of = |all: &[Vec<f64>]| Estimate::of(all.iter().map(|v| v[m]));
            let here = of(&measured.search);
            let there = others.and_then(|all| of(all));
            let holds = here.zip(there).and_then(|(a, b)| a.foretells(&b));
            let Changes { search, held_out } =
                changes.as_ref().map_or(Changes::default(), |all| all[m].clone());
            Mean {
                search: here.unwrap_or_default(),
                held_out: there,
                holds,
                change: held_out,
                change_in_search: search,
            }
        };
        let figures = measured.search.first().map_or(0, Vec::len);
        let all: Vec<Mean> = (0..figures).map(one).collect();
        Setting {
            own: c == OWN,
            knobs: self.search.named(c),
            objectives: all[..objectives].to_vec(),
            constraints: all[objectives..].to_vec(),
            keeps: others.is_some_and(|o| self.search.plan.violation(&means(o)) == 0.0),
            writes: self.writes(candidate),
        }
    }

    /// Writes for a setting. A present value that is not known needs no writing.
    fn writes(&self, candidate: &Candidate) -> Vec<Write> {
        let knobs = self.search.plan.knobs().iter().zip(&candidate.labels);
        let known = knobs.filter_map(|(knob, label)| Some((knob, label.as_deref()?)));
        candidate.spec.as_ref().map_or(Vec::new(), |spec| writes::of(known, spec))
    }

    fn advice(&self) -> Advice {
        let distances = self.distances();
        let offered = self.search.front.iter().enumerate().filter(|(_, c)| **c != OWN);
        let offered = offered.filter_map(|(place, &c)| {
            Some(Offered {
                place,
                measured: self.measured(c)?,
                distance: distances[place],
                knobs: self.search.named(c),
                writes: self.writes(&self.search.all[c]),
            })
        });
        advice::decide(self.search.plan, self.measured(OWN), offered.collect())
    }

    /// Distance of each setting of the front from the best of all objectives, each over the front's
    /// span.
    fn distances(&self) -> Vec<f64> {
        let objectives = self.search.plan.objectives().len();
        let means: Vec<Vec<f64>> =
            self.search.front.iter().map(|&c| means(&self.search.all[c].values)).collect();
        advice::distances(&means, objectives)
    }

    /// Settings without figures.
    fn failed(&self) -> Vec<Failed> {
        let all = self.search.all.iter().enumerate();
        let mut failed: Vec<(usize, &Candidate)> =
            all.filter(|(_, c)| c.failed.is_some()).collect();
        let genes = |c: &Candidate| c.genes.clone().unwrap_or_default();
        failed.sort_by(|(i, a), (j, b)| {
            let pairs = genes(a).into_iter().zip(genes(b));
            let order = pairs.map(|(a, b)| a.total_cmp(&b)).find(|o| o.is_ne());
            order.unwrap_or(std::cmp::Ordering::Equal).then(i.cmp(j))
        });
        let of = |(i, c): (usize, &Candidate)| {
            let (seed, failure) = c.failed.clone()?;
            Some(Failed {
                own: i == OWN,
                knobs: self.search.named(i),
                seed,
                outcome: failure.outcome.name().to_string(),
                at_ns: failure.at_ns,
                cause: failure.cause,
                detail: failure.detail,
            })
        };
        failed.into_iter().filter_map(of).collect()
    }

    fn hypervolume(&self, reference: &[f64]) -> Hypervolume {
        let objectives = reference.len();
        let plan = self.search.plan;
        // Less is better in all of them.
        let cut = |mut v: Vec<f64>| {
            turn(plan, &mut v);
            v.truncate(objectives);
            v
        };
        let volume = |all: Vec<Vec<f64>>| pareto::hypervolume(&all, reference);
        let all = || self.search.front.iter().filter_map(|&c| self.measured(c));
        let kept = || all().filter_map(|m| m.held_out.as_ref());
        let of_seed = |s: usize| volume(all().map(|m| cut(m.search[s].clone())).collect());
        let of_other = |s: usize| volume(kept().map(|all| cut(all[s].clone())).collect());
        let here = Estimate::of((0..plan.seeds().count()).map(of_seed));
        let there = Estimate::of((0..plan.held_out().count()).map(of_other));
        let own = self.measured(OWN);
        Hypervolume {
            of_means: volume(all().map(|m| cut(means(&m.search))).collect()),
            search: here.unwrap_or_default(),
            held_out_of_means: volume(kept().map(|all| cut(means(all))).collect()),
            held_out: there.unwrap_or_default(),
            own: own.map_or(0.0, |m| volume(vec![cut(means(&m.search))])),
        }
    }

    fn spent(&self, held_out: u64) -> Spent {
        let search = &self.search;
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
    let placed = search.placed();
    let all: Vec<usize> = placed.iter().map(|p| p.0).collect();
    let figures = search.adjusted_all(&all);
    let mut found = Vec::new();
    for (k, knob) in plan.knobs().iter().enumerate() {
        let words = match knob.takes() {
            Takes::OneOf(words) if !knob.is_ordered() => words,
            _ => Vec::new(),
        };
        let place = |(c, genes): &(usize, &[f64])| {
            let label = search.all[*c].labels[k].as_deref();
            words.iter().position(|w| Some(*w) == label).map_or(genes[k], |at| at as f64)
        };
        let x: Vec<f64> = placed.iter().map(place).collect();
        for (m, objective) in plan.objectives().iter().enumerate() {
            let y: Vec<f64> = figures.iter().map(|v| signed(objective, v[m])).collect();
            let (share, correlation) = contributions::of(&x, &y, !words.is_empty());
            let (knob, figure) = (knob.path().to_string(), objective.wanted.to_string());
            found.push(Contribution { knob, figure, share, correlation });
        }
    }
    found
}
