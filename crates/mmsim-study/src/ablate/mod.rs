//! Which switch does what: runs with each switch alone, each pair, all together.
//!
//! Two points differ by *switches*: settings that can be off or on one by one ([`switches`]), be they
//! knobs of one LRU, or all that two kernels do differently. All runs have the same work and, seed by
//! seed, the same draws. So a difference between two sets of switches comes from the switches.
//! [`effects`] says what is made of the runs.
//!
//! With all switches off a run is that of the base, to the byte, and with all on that of the other
//! point: each is one machine with the same configuration. These ends are run first. Where the whole
//! difference is within the noise of the seeds, there is nothing to take apart, and nothing else is
//! run.

pub mod effects;
pub mod switches;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::Serialize;

use crate::cells::{Cell, Cells, Column, Form};
use crate::plan::{Plan, Sheet};
use crate::run::RunError;
use crate::runner::Runner;
use effects::{MOST_EXACT, Orders, Set};
use mmsim_base::error::Error;
use mmsim_core::config::Kernel;
use mmsim_language::scenario::{RunSpec, Scenario};
use mmsim_report::derived::{Figure, Scope};
use mmsim_report::path::Instrument;
use mmsim_report::statistics::{Estimate, estimate};
use mmsim_report::{Ending, RunReport};
use switches::{Base, MOST, Switch};

/// Things to switch.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// All that this preset has otherwise than the base.
    To(&'a str),
    /// Changes of this preset against the one that it was built on.
    Stage(&'a str),
    /// Knobs or paths of the scenario and values, as `knob=value`; with commas between those of one
    /// switch.
    Switches(&'a [String]),
    /// All that the second kernel has otherwise than the first: rules, sysctls, knobs of the LRU, of
    /// compaction and of DAMON. The LRU is of the kind that the runs have.
    Kernels(Kernel, Kernel),
}

/// Default number of orders that are drawn for each seed.
pub const ORDERS: usize = 8;

/// Number of runs to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// All sets, which [`MOST_EXACT`] switches allow at most.
    AllSets,
    /// All sets up to [`MOST_EXACT`] switches; above, singles, pairs and [`ORDERS`] orders.
    Usual,
    /// Singles, pairs and this number of orders, an even one, of more than [`MOST_EXACT`] switches.
    Orders(usize),
}

/// Runs of one setting and variant, and the switches to try on them.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Name of what has all switches off.
    base: String,
    switches: Vec<Switch>,
    /// The runs with all switches off, one for each seed.
    seeds: Vec<RunSpec>,
    /// For each seed the orders that shares are estimated by.
    orders: Vec<Orders>,
    /// All runs: a place among the seeds, and a set.
    runs: Vec<(usize, Set)>,
    specs: Vec<RunSpec>,
    anyway: bool,
}

impl Trial {
    /// Switches on the runs of one variant and setting of a scenario, one for each seed. The base is
    /// the preset `from`, or the policy of the runs.
    ///
    /// # Errors
    ///
    /// A name is unknown; the switches make no sense on the base; there are more than [`MOST`],
    /// more than [`MOST_EXACT`] for all sets, or no more for orders.
    pub fn new(
        scenario: &Scenario,
        mut seeds: Vec<RunSpec>,
        from: Option<&str>,
        wanted: Wanted<'_>,
        depth: Depth,
    ) -> Result<Trial, Error> {
        if let Some(name) = from {
            let policy = switches::preset("--from", name)?;
            seeds.iter_mut().for_each(|run| run.policy = policy.clone());
        }
        let Some(run) = seeds.first().cloned() else {
            return Err(Error::plain("a trial has a run at least"));
        };
        let base = Base { scenario: Some(scenario), run, under: Vec::new() };
        let policy = &base.run.policy;
        let (base, switches) = match wanted {
            Wanted::To(name) => {
                let switches = switches::between(policy, &switches::preset("--to", name)?)?;
                let switches = base.joined(switches)?;
                (base, switches)
            }
            Wanted::Stage(name) => {
                let switches = base.joined(switches::stage(policy, name)?)?;
                (base, switches)
            }
            Wanted::Switches(words) => {
                let switches = switches::written(&base, words)?;
                (base, switches)
            }
            Wanted::Kernels(from, to) => switches::kernels(scenario, &base.run, from, to)?,
        };
        let k = switches.len();
        if depth == Depth::AllSets && k > MOST_EXACT {
            let title = format!(
                "--all-sets: {k} switches have 2^{k} sets, and all are run up to {MOST_EXACT} switches"
            );
            return Err(Error::of_option(title)
                .help("leave it out, or join knobs: `--switch a=1,b=2` is one switch"));
        }
        if let (Depth::Orders(_), 0..=MOST_EXACT) = (depth, k) {
            let title = format!(
                "--orders: all sets of up to {MOST_EXACT} switches are run, and there are {k}"
            );
            return Err(Error::of_option(title).help("leave it out"));
        }
        if k > MOST {
            let (title, help) = match wanted {
                Wanted::Kernels(from, to) => (
                    format!(
                        "--to-kernel: {} and {} differ in {k} switches, and {MOST} are the most",
                        from.name(),
                        to.name()
                    ),
                    "write kernels that are nearer to one another, or some of the settings as --switch",
                ),
                _ => {
                    let title = format!("--switch: {k} switches, write {MOST} at most");
                    (title, "join some with commas: `--switch a=1,b=2` is one switch")
                }
            };
            return Err(Error::of_option(title).help(help));
        }
        let orders = if let Depth::Orders(n) = depth { n } else { ORDERS };
        let pairs = orders.div_ceil(2);
        let orders: Vec<Orders> = seeds.iter().map(|r| effects::orders(k, r.seed, pairs)).collect();
        let of_seed = |(at, orders): (usize, &Orders)| {
            effects::sets(k, orders).into_iter().map(move |set| (at, set)).collect::<Vec<_>>()
        };
        let runs: Vec<(usize, Set)> = orders.iter().enumerate().flat_map(of_seed).collect();
        let mut of_set: BTreeMap<Set, RunSpec> = BTreeMap::new();
        for &(_, set) in &runs {
            if let Entry::Vacant(vacant) = of_set.entry(set) {
                vacant.insert(base.with(&switches, set)?);
            }
        }
        let numbers: Vec<u64> = seeds.iter().map(|run| run.seed).collect();
        let spec = |set: Set, seed: u64| RunSpec { seed, ..of_set[&set].clone() };
        let specs = runs.iter().map(|&(nth, set)| spec(set, numbers[nth])).collect();
        let seeds = numbers.iter().map(|&seed| spec(0, seed)).collect();
        let base = match wanted {
            Wanted::Kernels(from, _) => from.name().to_string(),
            _ => base.run.policy.preset,
        };
        Ok(Trial { base, switches, seeds, orders, runs, specs, anyway: false })
    }

    /// Takes a difference apart that is within the noise of the seeds, too.
    #[must_use]
    pub fn anyway(self, anyway: bool) -> Trial {
        Trial { anyway, ..self }
    }

    /// The runs: seed by seed, in each seed set by set.
    pub fn runs(&self) -> &[RunSpec] {
        &self.specs
    }

    /// Makes the runs and takes them apart.
    ///
    /// # Errors
    ///
    /// A run ended early or made other accesses than its base; the figure is undefined in one.
    pub fn run(&self, figure: Figure, runner: &Runner<'_>) -> Result<Ablation, RunError> {
        runner.run(Taking { trial: self, figure, places: Vec::new() })
    }

    /// The values of the runs at some places, in millionths.
    fn values(
        &self,
        figure: Figure,
        places: &[usize],
        runs: &[&RunReport],
    ) -> Result<Vec<i128>, RunError> {
        self.comparable(places, runs)?;
        let value = |(run, &place): (&&RunReport, &usize)| {
            figure.of(Scope::from(*run)).map(millionths).ok_or_else(|| {
                let name = self.words(self.runs[place].1);
                let figure = figure.label();
                let title = format!("--figure: {name}, seed {}, has no {figure}", run.seed);
                Error::of_option(title).help(
                    "the policy does not count it, or it is a ratio to nothing; write a figure \
                     that all runs have, such as `--figure swap-ins`",
                )
            })
        };
        Ok(runs.iter().zip(places).map(value).collect::<Result<Vec<i128>, Error>>()?)
    }

    /// The name of a set: its switches.
    fn words(&self, set: Set) -> String {
        let on = self.switches.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        let on: Vec<&str> = on.map(|(_, s)| s.name.as_str()).collect();
        match on.len() {
            0 => format!("{}, all off", self.base),
            n if n == self.switches.len() => format!("{}, all on", self.base),
            _ => format!("{}, on: {}", self.base, on.join(", ")),
        }
    }

    /// Refuses runs that did other work than the base.
    fn comparable(&self, places: &[usize], runs: &[&RunReport]) -> Result<(), RunError> {
        let mut base = runs[0];
        for (&run, &place) in runs.iter().zip(places) {
            let set = self.runs[place].1;
            // The empty set comes first in each seed.
            base = if set == 0 { run } else { base };
            let name = format!("{}, seed {}", self.words(set), run.seed);
            if let Some(message) = &run.panic {
                return Err(RunError::Invariant { run: name, message: message.clone() });
            }
            if run.outcome != Ending::Completed {
                let title = format!("{name}: the run did not do all its work");
                let help = "give the machine more memory or swap, so that all runs do all work";
                return Err(RunError::EndedEarly(Error::plain(title).help(help)));
            }
            if (run.accesses, run.records) != (base.accesses, base.records) {
                let title = format!(
                    "{name}: not of the same accesses: it made {}, and {} with all off",
                    run.accesses, base.accesses
                );
                let help = "let tasks end after a number of accesses or records, not after a time";
                return Err(Error::plain(title).help(help).into());
            }
        }
        Ok(())
    }

    /// Effects by the runs at some places: all of them, or the ends, of which nothing is taken apart.
    fn report(
        &self,
        figure: Figure,
        places: &[usize],
        runs: &[&RunReport],
        values: &[i128],
    ) -> Ablation {
        let (k, n) = (self.switches.len(), self.seeds.len());
        let whole = places.len() == self.runs.len();
        let made = places.iter().map(|&place| self.runs[place]);
        let place: BTreeMap<(usize, Set), usize> = made.zip(0..).collect();
        let v = |seed: usize| {
            let place = &place;
            move |set: Set| values[place[&(seed, set)]]
        };
        let of_seeds: Vec<(Vec<i128>, i128)> = match whole {
            true => (0..n).map(|s| effects::shares(k, &self.orders[s], v(s))).collect(),
            false => Vec::new(),
        };
        let over_seeds = |of: &dyn Fn(usize) -> i128| Effect::of((0..n).map(of).collect(), 1);
        let share = |i: usize| {
            Effect::of(of_seeds.iter().map(|(shares, _)| shares[i]).collect(), of_seeds[0].1)
        };
        let idle = |i: usize| {
            let with = |&(seed, set): &(usize, Set)| {
                Some((place[&(seed, set)], *place.get(&(seed, set | 1 << i))?))
            };
            let pairs = self.runs.iter().filter(|(_, set)| set >> i & 1 == 0).filter_map(with);
            pairs.into_iter().all(|(a, b)| runs[a].digest == runs[b].digest)
        };
        let one = |(i, switch): (usize, &Switch)| SwitchEffect {
            switch: switch.clone(),
            does_nothing: idle(i),
            alone: over_seeds(&|s| effects::alone(i, v(s))),
            share: share(i),
        };
        let apart = if whole { k } else { 0 };
        let pairs = (0..apart).flat_map(|i| (i + 1..apart).map(move |j| (i, j)));
        let pair = |(i, j): (usize, usize)| PairEffect {
            switches: [self.switches[i].name.clone(), self.switches[j].name.clone()],
            together: over_seeds(&|s| effects::together(i, j, v(s))),
        };
        let all = effects::all(k);
        let first = &self.seeds[0];
        let difference = over_seeds(&|s| v(s)(all) - v(s)(0));
        Ablation {
            variant: first.variant.clone(),
            axes: first.axes.clone(),
            base: self.base.clone(),
            figure: figure.label_of(runs.iter().map(|run| run.records)).to_string(),
            seeds: self.seeds.iter().map(|r| r.seed).collect(),
            runs: runs.len() as u64,
            exact: k <= MOST_EXACT,
            orders: self.orders[0].len() as u64,
            off: over_seeds(&|s| v(s)(0)),
            on: over_seeds(&|s| v(s)(all)),
            noise: (!whole).then(|| Noise {
                switches: k as u64,
                enough_seeds: difference.estimate.enough().map(|n| n as u64),
            }),
            difference,
            switches: self.switches.iter().take(apart).enumerate().map(one).collect(),
            pairs: pairs.map(pair).collect(),
        }
    }
}

/// A trial under way: its ends, and then the rest.
struct Taking<'a> {
    trial: &'a Trial,
    figure: Figure,
    /// The places of the runs so far, in their order.
    places: Vec<usize>,
}

impl Plan for Taking<'_> {
    type Point = RunSpec;
    type Found = Ablation;

    fn next(&mut self, sheet: &Sheet<RunSpec>) -> Result<Vec<RunSpec>, RunError> {
        let trial = self.trial;
        let all = effects::all(trial.switches.len());
        let is_end = |place: &usize| [0, all].contains(&trial.runs[*place].1);
        let every = 0..trial.runs.len();
        let wave: Vec<usize> = match self.places.len() {
            0 => every.filter(is_end).collect(),
            n if n < trial.runs.len() && !self.is_noise(sheet)? => {
                every.filter(|place| !is_end(place)).collect()
            }
            _ => Vec::new(),
        };
        self.places.extend(&wave);
        Ok(wave.into_iter().map(|place| self.measured(place)).collect())
    }

    fn judge(self, sheet: Sheet<RunSpec>) -> Result<Ablation, RunError> {
        let mut lines: Vec<(usize, &RunReport)> =
            self.places.iter().copied().zip(sheet.lines.iter().map(|line| &line.made)).collect();
        lines.sort_by_key(|line| line.0);
        let (places, runs): (Vec<usize>, Vec<&RunReport>) = lines.into_iter().unzip();
        let values = self.trial.values(self.figure, &places, &runs)?;
        Ok(self.trial.report(self.figure, &places, &runs, &values))
    }
}

impl Taking<'_> {
    fn measured(&self, place: usize) -> RunSpec {
        let mut spec = self.trial.specs[place].clone();
        spec.mean_resident |= self.figure.path().needs(Instrument::MeanResident);
        spec
    }

    /// True if the ends differ by no more than the noise of several seeds.
    fn is_noise(&self, sheet: &Sheet<RunSpec>) -> Result<bool, RunError> {
        let runs: Vec<&RunReport> = sheet.lines.iter().map(|line| &line.made).collect();
        let values = self.trial.values(self.figure, &self.places, &runs)?;
        if self.trial.anyway {
            return Ok(false);
        }
        let ends = self.trial.report(self.figure, &self.places, &runs, &values);
        let difference = ends.difference.estimate;
        Ok(difference.ci95.is_some() && !difference.is_proven())
    }
}

/// All effects of some ablations, one in a row.
pub fn cells(all: &[Ablation]) -> Cells {
    let texts = ["variant", "setting", "figure", "effect", "switch", "with", "does_nothing"];
    let columns = texts.map(|name| Column::new(name, Form::Text));
    let numbers = ["mean", "ci95"].map(|name| Column::new(name, Form::Number));
    let mut cells = Cells::below(columns.into_iter().chain(numbers));
    for a in all {
        let axes: Vec<String> = a.axes.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        let setting = axes.join("; ");
        let mut row = |effect: &str, who: [&str; 2], nothing: Option<bool>, e: &Effect| {
            let texts = [&a.variant, &setting, &a.figure, effect, who[0], who[1]];
            let row = texts.into_iter().map(Cell::from).chain([nothing.into()]);
            cells.rows.push(row.chain([e.estimate.mean.into(), e.estimate.ci95.into()]).collect());
        };
        row("off", [""; 2], None, &a.off);
        row("on", [""; 2], None, &a.on);
        row("difference", [""; 2], None, &a.difference);
        for s in &a.switches {
            row("alone", [&s.switch.name, ""], Some(s.does_nothing), &s.alone);
            row("share", [&s.switch.name, ""], Some(s.does_nothing), &s.share);
        }
        for p in &a.pairs {
            row("together", p.switches.each_ref().map(String::as_str), None, &p.together);
        }
    }
    cells
}

/// A figure in millionths.
fn millionths(value: f64) -> i128 {
    (value * 1e6).round() as i128
}

/// Something that the runs of each seed say, and its mean.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Effect {
    /// The mean over seeds.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The value of each seed.
    pub of_seeds: Vec<f64>,
    /// The same as whole numbers, which sum without rounding: millionths.
    #[serde(skip)]
    pub whole: (Vec<i128>, i128),
}

impl Effect {
    fn of(whole: Vec<i128>, parts: i128) -> Effect {
        let of_seeds: Vec<f64> = whole.iter().map(|p| *p as f64 / (parts as f64 * 1e6)).collect();
        let estimate = estimate(&of_seeds).unwrap_or_default();
        Effect { estimate, of_seeds, whole: (whole, parts) }
    }
}

/// Effect of a switch.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct SwitchEffect {
    /// The switch.
    #[serde(flatten)]
    pub switch: Switch,
    /// True if all runs with it end in the state of those without it.
    pub does_nothing: bool,
    /// The change by it alone.
    pub alone: Effect,
    /// Its share of the whole difference.
    pub share: Effect,
}

/// Effect of two switches beyond the sum of their single effects.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct PairEffect {
    /// Their names.
    pub switches: [String; 2],
    /// Their effect beyond it.
    pub together: Effect,
}

/// Effects of switches on a figure of one variant and setting.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Ablation {
    /// The variant whose machine and work it is.
    pub variant: String,
    /// The setting of the axes.
    pub axes: Vec<(String, String)>,
    /// The preset with all switches off, or the kernel.
    pub base: String,
    /// The figure.
    pub figure: String,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// Number of runs.
    pub runs: u64,
    /// True if all sets were run, so that shares are Shapley values.
    pub exact: bool,
    /// If not: by how many orders of each seed they are estimated.
    pub orders: u64,
    /// The figure with all switches off.
    pub off: Effect,
    /// The figure with all switches on.
    pub on: Effect,
    /// Its change.
    pub difference: Effect,
    /// Effect of each switch.
    pub switches: Vec<SwitchEffect>,
    /// Effect of each pair.
    pub pairs: Vec<PairEffect>,
    /// Where only the ends were run, because the difference is within the noise of the seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

/// A difference that was not taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Noise {
    /// Number of switches, of which none was run.
    pub switches: u64,
    /// The number of seeds that would tell the ends apart, if mean and spread stay what they are; none
    /// if the means are equal, or more than 10,000 would be needed.
    pub enough_seeds: Option<u64>,
}
