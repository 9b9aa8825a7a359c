//! Which switch does what: runs with each switch alone, each pair, all together.
//!
//! Two points of one LRU differ by *switches*: knobs that can be off or on one by one
//! ([`switches`]). All runs have the same machine, the same work and, seed by seed, the same draws.
//! So a difference between two sets of switches comes from the switches. [`effects`] says what is
//! made of the runs.
//!
//! With all switches off a run is that of the base, to the byte, and with all on that of the other
//! point: each is one machine with the same configuration.

pub mod effects;
pub mod switches;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cells::{Cell, Cells, Column, Form};
use crate::run::RunError;
use crate::runner::Runner;
use effects::{MOST_EXACT, Orders, Set};
use mmsim_base::error::Error;
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::policy::PolicySpec;
use mmsim_report::derived::{Figure, Scope};
use mmsim_report::path::Instrument;
use mmsim_report::statistics::{Estimate, estimate};
use mmsim_report::{Ending, RunReport};
use switches::{MOST, Switch};

/// Things to switch.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// All that this preset has otherwise than the base.
    To(&'a str),
    /// Changes of this preset against the one that it was built on.
    Stage(&'a str),
    /// Knobs and values, as `knob=value`; with commas between those of one switch.
    Switches(&'a [String]),
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
    base: PolicySpec,
    switches: Vec<Switch>,
    /// The runs of the scenario, one for each seed.
    seeds: Vec<RunSpec>,
    /// For each seed the orders that shares are estimated by.
    orders: Vec<Orders>,
    /// All runs: a place among the seeds, and a set.
    runs: Vec<(usize, Set)>,
}

impl Trial {
    /// Switches on the runs of one variant and setting, one for each seed. The base is the preset
    /// `from`, or the policy of the runs.
    ///
    /// # Errors
    ///
    /// A name is unknown; the switches make no sense on the base; there are more than [`MOST`],
    /// more than [`MOST_EXACT`] for all sets, or no more for orders.
    pub fn new(
        seeds: Vec<RunSpec>,
        from: Option<&str>,
        wanted: Wanted<'_>,
        depth: Depth,
    ) -> Result<Trial, Error> {
        let base = match (from, seeds.first()) {
            (Some(name), _) => switches::preset("--from", name)?,
            (None, Some(run)) => run.policy.clone(),
            (None, None) => return Err(Error::plain("a trial has a run at least")),
        };
        let switches = match wanted {
            Wanted::To(name) => switches::between(&base, &switches::preset("--to", name)?)?,
            Wanted::Stage(name) => switches::stage(&base, name)?,
            Wanted::Switches(words) => switches::written(&base, words)?,
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
            let title = format!("--switch: {k} switches, write {MOST} at most");
            return Err(Error::of_option(title));
        }
        let orders = if let Depth::Orders(n) = depth { n } else { ORDERS };
        let pairs = orders.div_ceil(2);
        let orders: Vec<Orders> = seeds.iter().map(|r| effects::orders(k, r.seed, pairs)).collect();
        let of_seed = |(at, orders): (usize, &Orders)| {
            effects::sets(k, orders).into_iter().map(move |set| (at, set)).collect::<Vec<_>>()
        };
        let runs = orders.iter().enumerate().flat_map(of_seed).collect();
        Ok(Trial { base, switches, seeds, orders, runs })
    }

    /// The runs: seed by seed, in each seed set by set.
    pub fn runs(&self) -> Vec<RunSpec> {
        let run = |&(seed, set): &(usize, Set)| RunSpec {
            policy: switches::with(&self.base, &self.switches, set),
            ..self.seeds[seed].clone()
        };
        self.runs.iter().map(run).collect()
    }

    /// Makes the runs and takes them apart.
    ///
    /// # Errors
    ///
    /// A run ended early or made other accesses than its base; the figure is undefined in one.
    pub fn run(&self, figure: Figure, runner: &Runner<'_>) -> Result<Ablation, RunError> {
        let mut specs = self.runs();
        let measured = figure.path().needs(Instrument::MeanResident);
        specs.iter_mut().for_each(|spec| spec.mean_resident |= measured);
        let runs = runner.run(specs)?;
        self.comparable(&runs)?;
        let of = |run: &RunReport| figure.of(Scope::from(run)).map(millionths);
        let value = |(run, &(_, set)): (&RunReport, &(usize, Set))| {
            of(run).ok_or_else(|| {
                let (name, figure) = (self.words(set), figure.label());
                let title = format!("--figure: {name}, seed {}, has no {figure}", run.seed);
                Error::of_option(title).help(
                    "the policy does not count it, or it is a ratio to nothing; write a figure \
                     that all runs have, such as `--figure swap-ins`",
                )
            })
        };
        let values =
            runs.iter().zip(&self.runs).map(value).collect::<Result<Vec<i128>, Error>>()?;
        Ok(self.report(figure, &runs, &values))
    }

    /// The name of a set: its switches.
    fn words(&self, set: Set) -> String {
        let on = self.switches.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        let on: Vec<&str> = on.map(|(_, s)| s.name.as_str()).collect();
        match on.len() {
            0 => format!("{}, all off", self.base.preset),
            n if n == self.switches.len() => format!("{}, all on", self.base.preset),
            _ => format!("{}, on: {}", self.base.preset, on.join(", ")),
        }
    }

    /// Refuses runs that did other work than the base.
    fn comparable(&self, runs: &[RunReport]) -> Result<(), RunError> {
        let mut base = &runs[0];
        for (run, &(_, set)) in runs.iter().zip(&self.runs) {
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

    fn report(&self, figure: Figure, runs: &[RunReport], values: &[i128]) -> Ablation {
        let (k, n) = (self.switches.len(), self.seeds.len());
        let place: BTreeMap<(usize, Set), usize> = self.runs.iter().copied().zip(0..).collect();
        let v = |seed: usize| {
            let place = &place;
            move |set: Set| values[place[&(seed, set)]]
        };
        let of_seeds: Vec<(Vec<i128>, i128)> =
            (0..n).map(|s| effects::shares(k, &self.orders[s], v(s))).collect();
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
        let pairs = (0..k).flat_map(|i| (i + 1..k).map(move |j| (i, j)));
        let pair = |(i, j): (usize, usize)| PairEffect {
            switches: [self.switches[i].name.clone(), self.switches[j].name.clone()],
            together: over_seeds(&|s| effects::together(i, j, v(s))),
        };
        let all = effects::all(k);
        let first = &self.seeds[0];
        Ablation {
            variant: first.variant.clone(),
            axes: first.axes.clone(),
            base: self.base.preset.clone(),
            figure: figure.label_of(runs.iter().map(|run| run.records)).to_string(),
            seeds: self.seeds.iter().map(|r| r.seed).collect(),
            runs: runs.len() as u64,
            exact: k <= MOST_EXACT,
            orders: self.orders[0].len() as u64,
            off: over_seeds(&|s| v(s)(0)),
            on: over_seeds(&|s| v(s)(all)),
            difference: over_seeds(&|s| v(s)(all) - v(s)(0)),
            switches: self.switches.iter().enumerate().map(one).collect(),
            pairs: pairs.map(pair).collect(),
        }
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
    /// The preset with all switches off.
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
}
