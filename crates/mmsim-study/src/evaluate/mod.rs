//! Evaluation: how far a policy is on the way from a baseline to the optimum.
//!
//! A [`Suite`] names scenarios, each with the variant that is its baseline. An [`Evaluator`] makes
//! the runs of all baselines once. A [`Candidate`] is then run on the same accesses, seed by seed.
//! Its score is the share of pages that the baseline fetches again and the optimum need not: 0 for
//! the baseline, 1 for MIN, below 0 for what is worse.
//!
//! What is counted does not depend on the policy ([`Again`]), and MIN is computed of each run's own
//! accesses. A policy that fetches less than MIN shows that mmsim is wrong, and has no score.
//!
//! ```no_run
//! # use mmsim_study as mmsim;
//! use mmsim::evaluate::{Candidate, Evaluator, KnobFile, Suite};
//! use mmsim::{RunOptions, Runner};
//!
//! let suite = Suite::from_path("small.toml")?;
//! let evaluator = Evaluator::new(&suite, Runner::new(&RunOptions::default()))?;
//! let knobs = KnobFile::from_path("calm.toml")?;
//! let evaluation = evaluator.evaluate(&Candidate::Knobs(&knobs))?;
//! println!("{:?}", evaluation.own.score.map(|e| e.mean));
//! # Ok::<(), mmsim::RunError>(())
//! ```

mod fetches;
mod measure;

use std::path::PathBuf;

use mmsim_why::Class;
use serde::Serialize;

pub use fetches::Again;
pub use measure::{Author, Meter, Offers};
pub use mmsim_language::scenario::evaluate::{KnobFile, Suite, SuiteScenario};

use crate::run::RunError;
use crate::runner::Runner;
use measure::{Measured, Run};
use mmsim_base::error::Error;
use mmsim_language::machines;
use mmsim_language::registry::Registry;
use mmsim_language::scenario::evaluate::OnTop;
use mmsim_language::scenario::policy::PolicySpec;
use mmsim_language::scenario::{GroupPolicy, RunSpec};
use mmsim_report::estimate_fields;
use mmsim_report::statistics::Estimate;

/// Candidate that is scored.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Candidate<'a> {
    /// Values of knobs, on top of each baseline.
    Knobs(&'a KnobFile),
    /// A policy of cache_ext for the groups of each baseline.
    Chooser(&'a GroupPolicy),
    /// A policy of the caller's own, in place of each baseline's.
    Own(&'a dyn Author),
}

impl std::fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Candidate({})", self.name())
    }
}

impl Candidate<'_> {
    /// Settings of its runs on top of the baselines; `None`: another policy.
    fn on_top(&self) -> Option<OnTop<'_>> {
        match *self {
            Candidate::Knobs(knobs) => Some(OnTop::Knobs(knobs)),
            Candidate::Chooser(policy) => Some(OnTop::Chooser(policy)),
            Candidate::Own(_) => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Candidate::Knobs(knobs) => knobs.name(),
            Candidate::Chooser(policy) => &policy.variant,
            Candidate::Own(author) => author.name(),
        }
    }
}

/// A run of a policy beside that of the baseline.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct SeedScore {
    /// The seed of both.
    pub seed: u64,
    /// The share of the way to MIN; none: the run did not do all of its work.
    pub score: Option<f64>,
    /// Pages that the policy fetched again.
    pub fetches: u64,
    /// Pages that the baseline fetched again.
    pub baseline: u64,
    /// Pages that MIN fetches again, on the accesses of the baseline.
    pub min: u64,
}

/// The mean over seeds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Over {
    /// The mean score; none: there are no such seeds, or a run did not do all of its work.
    #[serde(flatten, with = "score")]
    pub score: Option<Estimate>,
    /// The share of the policy's fetches that MIN need not make, of all seeds.
    pub distance_to_min: Option<f64>,
    /// Seed by seed.
    pub seeds: Vec<SeedScore>,
}

/// Score in a scenario.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ScenarioScore {
    /// Its name.
    pub name: String,
    /// The baseline.
    pub variant: String,
    /// Results over the seeds of the score.
    #[serde(flatten)]
    pub own: Over,
    /// Results over the seeds behind these.
    pub held_out: Over,
    /// True if the mean of held-out seeds is where that of the others lets expect it, in 95 of 100
    /// cases.
    pub holds: Option<bool>,
}

/// Refaults of a class, of all seeds that scores are of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Cause {
    /// Why they came back, as `mmsim why` says it.
    pub class: &'static str,
    /// Under the policy.
    pub policy: u64,
    /// Under the baselines.
    pub baseline: u64,
}

/// Cost of an evaluation, in units that do not depend on the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Cost {
    /// Runs of the policy, without those of baselines.
    pub runs: u64,
    /// Accesses of these runs.
    pub accesses: u64,
    /// Calls of a score function, or of the hooks of a policy of cache_ext.
    pub calls: u64,
    /// Instructions that these calls took, as fuel counts them.
    pub fuel: u64,
}

/// A score over scenarios.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Mean {
    /// The mean of the scenarios' scores; none if one of them has none. Its interval is by the seeds
    /// of each scenario that has several.
    #[serde(flatten, with = "score")]
    pub score: Option<Estimate>,
    /// The mean of the scenarios' distances.
    pub distance_to_min: Option<f64>,
}

estimate_fields! {
    score: Option<Estimate> => "score", "ci95";
}

/// Result of an evaluation.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Evaluation {
    /// Name of the policy.
    pub policy: String,
    /// Name of the suite.
    pub suite: String,
    /// Over the seeds that scores are of.
    #[serde(flatten)]
    pub own: Mean,
    /// Over held-out seeds.
    pub held_out: Mean,
    /// Scenario by scenario.
    pub scenarios: Vec<ScenarioScore>,
    /// Why pages came back.
    pub causes: Vec<Cause>,
    /// Its cost.
    pub cost: Cost,
    /// Folios that it offered; none of other policies than those of cache_ext.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_ext: Option<Offers>,
    /// Runs that did not do all of their work, and why.
    pub unfinished: Vec<String>,
    /// Runs that fetched less than MIN: errors of mmsim.
    pub below_min: Vec<String>,
    /// Runs in which mmsim failed.
    pub panicked: u64,
}

/// Checks that a candidate can be run at all, which is known before any run.
///
/// # Errors
///
/// Values of knobs, or a module, do not fit a scenario of the suite, at their places.
pub fn check(suite: &Suite, candidate: &Candidate<'_>, registry: &Registry) -> Result<(), Error> {
    let Some(on_top) = candidate.on_top() else { return Ok(()) };
    let one = |s: &SuiteScenario| s.run_of(on_top, registry, machines::sound).map(drop);
    suite.scenarios().iter().try_for_each(one)
}

/// A suite whose baselines were run.
pub struct Evaluator<'a> {
    suite: &'a Suite,
    runner: Runner<'a>,
    /// Run by run: scenario by scenario, and in each its seeds, then those held out.
    baselines: Vec<(RunSpec, Measured)>,
}

impl std::fmt::Debug for Evaluator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Evaluator({}, {} runs)", self.suite.name(), self.baselines.len())
    }
}

impl<'a> Evaluator<'a> {
    /// Makes the runs of all baselines.
    ///
    /// # Errors
    ///
    /// A run cannot be made, does not do all of its work, or leaves nothing to gain.
    pub fn new(suite: &'a Suite, runner: Runner<'a>) -> Result<Evaluator<'a>, RunError> {
        let mut evaluator = Evaluator { suite, runner, baselines: Vec::new() };
        let registry = evaluator.runner.registry();
        let specs = evaluator.specs(|s| s.run_of(OnTop::Nothing, registry, machines::sound))?;
        let made = evaluator.made(&specs, None)?;
        let mut runs = specs.into_iter().zip(made);
        for scenario in suite.scenarios() {
            for (spec, measured) in runs.by_ref().take(runs_of(scenario)) {
                let measured = measured.map_err(|why| scenario.error(why, "here"))?;
                sound_baseline(scenario, &spec, &measured)?;
                evaluator.baselines.push((spec, measured));
            }
        }
        Ok(evaluator)
    }

    /// Runs a candidate and scores it.
    ///
    /// # Errors
    ///
    /// Values of knobs do not fit, at their places; or a policy of the caller's own cannot go on.
    pub fn evaluate(&self, candidate: &Candidate<'_>) -> Result<Evaluation, RunError> {
        let author = match candidate {
            Candidate::Own(author) => Some(*author),
            Candidate::Knobs(_) | Candidate::Chooser(_) => None,
        };
        let of = |author: &dyn Author| self.baselines.iter().map(|b| own(&b.0, author)).collect();
        let specs = match candidate.on_top() {
            Some(on_top) => {
                let registry = self.runner.registry();
                self.specs(|s| s.run_of(on_top, registry, machines::sound))?
            }
            None => author.map_or_else(Vec::new, of),
        };
        for (spec, (baseline, _)) in specs.iter().zip(&self.baselines) {
            same_work(candidate.name(), spec, baseline)?;
        }
        let made = self.made(&specs, author)?;
        let mut scored = Vec::new();
        let mut all = self.baselines.iter().zip(made);
        for scenario in self.suite.scenarios() {
            for ((spec, baseline), policy) in all.by_ref().take(runs_of(scenario)) {
                let policy = policy.map_err(|why| {
                    let title = format!("{}, seed {}: {why}", scenario.name(), spec.seed);
                    Error::plain(format!("{}: {title}", candidate.name()))
                })?;
                scored.push(Scored {
                    seed: spec.seed,
                    baseline,
                    policy: other_work(policy, baseline),
                });
            }
        }
        Ok(self.evaluation(candidate, &scored))
    }

    /// A run for each scenario and seed.
    fn specs(
        &self,
        of: impl Fn(&SuiteScenario) -> Result<RunSpec, Error>,
    ) -> Result<Vec<RunSpec>, Error> {
        let mut all = Vec::new();
        for scenario in self.suite.scenarios() {
            // `bounds`: accesses are recorded, which takes memory of the host.
            let spec = RunSpec { bounds: true, ..of(scenario)? };
            let seeds = scenario.seeds().chain(scenario.held_out());
            all.extend(seeds.map(|seed| RunSpec { seed, ..spec.clone() }));
        }
        Ok(all)
    }

    fn made(
        &self,
        specs: &[RunSpec],
        author: Option<&dyn Author>,
    ) -> Result<Vec<Result<Measured, String>>, RunError> {
        let run = |spec: &RunSpec| Run { spec: spec.clone(), author };
        self.runner.run(specs.iter().map(run).collect::<Vec<_>>())
    }

    fn evaluation(&self, candidate: &Candidate<'_>, scored: &[Scored<'_>]) -> Evaluation {
        let mut scenarios = Vec::new();
        let (mut unfinished, mut below_min, mut panicked) = (Vec::new(), Vec::new(), 0);
        let mut causes = vec![(0, 0); Class::ALL.len()];
        let mut cost = Cost { runs: scored.len() as u64, ..Cost::default() };
        let mut cache_ext: Option<Offers> = None;
        let mut rest = scored;
        for scenario in self.suite.scenarios() {
            let (of_it, others) = rest.split_at(runs_of(scenario));
            rest = others;
            for run in of_it {
                let label = || format!("{}, seed {}", scenario.name(), run.seed);
                panicked += u64::from(run.policy.panicked);
                cost.accesses += run.policy.accesses;
                cost.calls += run.policy.calls;
                cost.fuel += run.policy.fuel;
                if let Some(offers) = &run.policy.offers {
                    cache_ext.get_or_insert_with(Offers::default).add(offers);
                }
                if let Some(why) = &run.policy.unfinished {
                    unfinished.push(format!("{}: {why}", label()));
                } else if run.policy.fetches < run.policy.min {
                    let Measured { fetches, min, .. } = run.policy;
                    below_min.push(format!("{}: {fetches} fetches, MIN {min}", label()));
                }
            }
            let (own, held_out) = of_it.split_at(scenario.seeds().count());
            for run in own {
                let counts = run.policy.causes.iter().zip(&run.baseline.causes);
                for (sum, (policy, baseline)) in causes.iter_mut().zip(counts) {
                    *sum = (sum.0 + policy, sum.1 + baseline);
                }
            }
            let (own, held_out) = (Over::of(own), Over::of(held_out));
            scenarios.push(ScenarioScore {
                name: scenario.name().to_string(),
                variant: scenario.variant().to_string(),
                holds: own.score.zip(held_out.score).and_then(|(own, other)| own.foretells(&other)),
                own,
                held_out,
            });
        }
        let sound = below_min.is_empty();
        let over = |of: &dyn Fn(&ScenarioScore) -> &Over| {
            let all = scenarios.iter().map(of).filter(|over| !over.seeds.is_empty());
            if sound { Mean::of(&all.collect::<Vec<_>>()) } else { Mean::default() }
        };
        let cause = |(class, &(policy, baseline)): (&Class, &(u64, u64))| Cause {
            class: class.key(),
            policy,
            baseline,
        };
        Evaluation {
            policy: candidate.name().to_string(),
            suite: self.suite.name().to_string(),
            own: over(&|s| &s.own),
            held_out: over(&|s| &s.held_out),
            causes: Class::ALL.iter().zip(&causes).map(cause).collect(),
            scenarios,
            cost,
            cache_ext,
            unfinished,
            below_min,
            panicked,
        }
    }
}

/// A run of the policy beside that of the baseline.
struct Scored<'a> {
    seed: u64,
    baseline: &'a Measured,
    policy: Measured,
}

impl Scored<'_> {
    fn score(&self) -> Option<f64> {
        let Measured { fetches, min, .. } = *self.baseline;
        let gained = fetches as f64 - self.policy.fetches as f64;
        self.policy.unfinished.is_none().then(|| gained / (fetches - min) as f64)
    }
}

impl Over {
    fn of(runs: &[Scored<'_>]) -> Over {
        let scores: Option<Vec<f64>> = runs.iter().map(Scored::score).collect();
        let score = scores.and_then(Estimate::of).map(|e| e.map(rounded));
        let sum = |of: fn(&Measured) -> u64| runs.iter().map(|r| of(&r.policy)).sum::<u64>() as f64;
        let (fetches, min) = (sum(|m| m.fetches), sum(|m| m.min));
        let distance = if fetches > 0.0 { (fetches - min) / fetches } else { 0.0 };
        let seed = |r: &Scored<'_>| SeedScore {
            seed: r.seed,
            score: r.score().map(rounded),
            fetches: r.policy.fetches,
            baseline: r.baseline.fetches,
            min: r.baseline.min,
        };
        Over {
            score,
            distance_to_min: score.map(|_| rounded(distance)),
            seeds: runs.iter().map(seed).collect(),
        }
    }
}

impl Mean {
    fn of(all: &[&Over]) -> Mean {
        let scores: Option<Vec<Estimate>> = all.iter().map(|over| over.score).collect();
        let distances: Option<Vec<f64>> = all.iter().map(|over| over.distance_to_min).collect();
        Mean {
            score: scores.and_then(|all| Estimate::mean_of(&all)).map(|e| e.map(rounded)),
            distance_to_min: distances.and_then(Estimate::of).map(|e| rounded(e.mean)),
        }
    }
}

/// Scores are shares: six decimals say all of them.
fn rounded(x: f64) -> f64 {
    let x = (x * 1e6).round() / 1e6;
    // No minus before a zero.
    if x == 0.0 { 0.0 } else { x }
}

fn runs_of(scenario: &SuiteScenario) -> usize {
    scenario.seeds().chain(scenario.held_out()).count()
}

/// The run of a baseline with another policy.
fn own(spec: &RunSpec, author: &dyn Author) -> RunSpec {
    let policy = PolicySpec { preset: author.name().to_string(), knobs: Vec::new() };
    RunSpec { policy, ..spec.clone() }
}

/// The baseline does all of its work, and MIN fetches less.
fn sound_baseline(
    scenario: &SuiteScenario,
    spec: &RunSpec,
    measured: &Measured,
) -> Result<(), Error> {
    let of = format!("scenario {}, seed {}: the baseline", scenario.name(), spec.seed);
    let Measured { fetches, min, unfinished, .. } = measured;
    match unfinished {
        Some(why) => {
            let title = format!("{of} does not do all of its work: {why}");
            Err(scenario.error(title, "another variant, more memory or less work"))
        }
        None if fetches < min => {
            let title = format!("{of} fetches {fetches} pages again, and MIN {min}");
            Err(scenario.error(title, "this is an error of mmsim: please report it"))
        }
        None if fetches == min => {
            let title = format!("{of} fetches {fetches} pages again, as MIN does");
            Err(scenario.error(title, "nothing is to gain: less memory or more work"))
        }
        None => Ok(()),
    }
}

/// Files that decide what the tasks do, and not what a policy does.
fn work_files(spec: &RunSpec) -> impl Iterator<Item = &(String, PathBuf)> {
    spec.files.iter().filter(|(key, _)| !key.ends_with("cache-ext.module"))
}

/// Whatever a knob file says: its run has the machine and the work of the baseline.
fn same_work(name: &str, spec: &RunSpec, baseline: &RunSpec) -> Result<(), Error> {
    let mut machine = spec.machine.clone();
    machine.vm = baseline.machine.vm.clone();
    let same = machine == baseline.machine
        && spec.tasks == baseline.tasks
        && work_files(spec).eq(work_files(baseline))
        && spec.seed == baseline.seed;
    match same {
        true => Ok(()),
        false => {
            Err(Error::plain(format!("{name}: another machine or other work than the baseline's")))
        }
    }
}

/// A run that did other work than the baseline has no score.
fn other_work(mut policy: Measured, baseline: &Measured) -> Measured {
    let work = |m: &Measured| (m.accesses, m.records);
    if policy.unfinished.is_none() && work(&policy) != work(baseline) {
        policy.unfinished = Some(format!(
            "{} accesses and {} records, and the baseline did {} and {}: the scenario has no fixed \
             amount of work",
            policy.accesses, policy.records, baseline.accesses, baseline.records
        ));
    }
    policy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunOptions;

    const SCENARIO: &str = "\
        machine = { memory = \"4MiB\" }\n\
        task = [{ workload = \"sequential\", memory = \"1MiB\" }]\n";

    /// A policy that fetched this number of pages beside a baseline that fetched 100 and a MIN of
    /// 20.
    fn evaluation(fetches: [u64; 3]) -> Evaluation {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x.toml"), SCENARIO).unwrap();
        let suite = "version = 1\nseeds = 2\nheld-out = 1\nscenario = [{ file = \"x.toml\" }]\n";
        let suite = Suite::from_str(suite, &dir.path().join("s.toml").display().to_string());
        let suite = suite.unwrap_or_else(|e| panic!("{e}"));
        let evaluator = Evaluator {
            suite: &suite,
            runner: Runner::new(&RunOptions::default()),
            baselines: Vec::new(),
        };
        let of = |fetches| Measured { fetches, min: 20, ..Measured::default() };
        let baseline = of(100);
        let scored: Vec<Scored<'_>> = (1..)
            .zip(fetches)
            .map(|(seed, n)| Scored { seed, baseline: &baseline, policy: of(n) })
            .collect();
        let knobs = KnobFile::from_str("version = 1\npolicy = \"random\"\n", "k.toml").unwrap();
        evaluator.evaluation(&Candidate::Knobs(&knobs), &scored)
    }

    /// By hand: 40 and 20 of 80 are spared, a half and a quarter; t(1) = 12.706 makes the interval
    /// 12.706 times the half of their difference. 60 of 60 + 80 are above MIN.
    #[test]
    fn scores_by_hand() {
        let e = evaluation([60, 80, 140]);
        let own = e.own.score.expect("two seeds");
        assert_eq!((own.mean, own.ci95), (0.375, Some(1.58825)));
        assert_eq!(e.own.distance_to_min, Some(rounded(100.0 / 140.0)));
        assert_eq!(e.held_out.score, Some(Estimate::without_interval(-0.5, 1)));
        assert_eq!(e.scenarios[0].holds, Some(true));
        let at_min = evaluation([20, 20, 20]);
        assert_eq!(at_min.own.score.map(|e| e.mean), Some(1.0));
        assert_eq!(at_min.own.distance_to_min, Some(0.0));
        assert_eq!(at_min.below_min.len(), 0);
    }

    /// One run below MIN, and nothing is worth anything.
    #[test]
    fn below_min_there_is_no_score() {
        for (nth, seed) in [(0, 1), (2, 3)] {
            let mut fetches = [60, 80, 90];
            fetches[nth] = 19;
            let e = evaluation(fetches);
            assert_eq!((e.own.score, e.held_out.score), (None, None));
            assert_eq!(e.below_min, [format!("x, seed {seed}: 19 fetches, MIN 20")]);
        }
    }
}
