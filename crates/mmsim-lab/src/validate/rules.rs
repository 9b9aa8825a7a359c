//! Rules for groups of counters that say how close is close enough, and their verdicts. The rules
//! themselves are `evidence/rules.toml`.
//!
//! A *cell* is one counter of one phase of one point, means over the repetitions. Where the kernel
//! counted at least [`MANY`] events, the relative error against its mean counts: the median over an
//! experiment's cells has to stay below one figure and every single cell below another, which is
//! the rule's or the spread of the recording itself, whichever is larger, for no model can be
//! closer to a kernel than the kernel is to itself. For the same reason some rules (`own-range`) count
//! a value within the recorded range of its cell as no error in the median. A verdict that holds by
//! that alone says so ([`Verdict::by_range`]), and reports count such verdicts apart.
//!
//! Where fewer events were counted, none included, a relative error says little: there the simulated
//! value has to lie in the recorded range widened by [`ROOM`] events.
//!
//! A recording does not say when the scheduler's tick came. Where a point was recorded anew at other
//! ticks (`sens-tick*`) or with other free memory (`sens-free*`), the spread of the kernel is that of
//! all these recordings.
//!
//! Verdicts are given for each experiment, kernel and counter, never over several: an experiment
//! with many points that any LRU gets right must not hide one with few that tell models
//! apart. Points that were recorded for the sensitivity to the set-up (`sens-*`) and the
//! division of work between kswapd and direct reclaim, which hangs on the emulated speed
//! of the CPU, are not judged; nor are the scans of `three-step`, which jump by a third
//! between repetitions of one kernel, and under MGLRU `pgactivate`, which does so everywhere.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::point::Point;
use crate::validate::rows::PointRow;
use mmsim::report::claim::{Against, Bounds, Claim, Over};

/// From this many recorded events on the relative error counts.
pub const MANY: f64 = 500.0;
/// Number of events by which the recorded range is widened below that.
pub const ROOM: f64 = 250.0;

/// `evidence/rules.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rule: Vec<Rule>,
    sum: Vec<Sum>,
    spread: Vec<Spread>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    toml::from_str(include_str!("../../evidence/rules.toml")).expect("evidence/rules.toml")
});

/// A demand on some counters of some experiments.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Rule {
    /// Its name.
    name: String,
    /// The LRU that it is about.
    policy: String,
    /// Experiments; each is judged alone.
    experiments: Vec<String>,
    /// Counters, some of them sums.
    counters: Vec<String>,
    /// Largest median of the absolute relative errors.
    median: f64,
    /// Largest absolute relative error, unless the recording spreads more; infinite: any.
    worst: f64,
    /// In the median a value within the recorded range of its cell counts as no error.
    #[serde(default)]
    own_range: bool,
    /// Only points that have this in their names.
    #[serde(default)]
    points_with: Option<String>,
    /// Only points that do not have this in their names.
    #[serde(default)]
    points_without: Option<String>,
    /// Its counters are small: their relative errors count from one event on, and a value within
    /// the recorded range will always do.
    #[serde(default)]
    small: bool,
}

impl Rule {
    /// True if the rule is about the point of this name.
    fn is_about(&self, point: &str) -> bool {
        self.points_with.as_ref().is_none_or(|part| point.contains(part.as_str()))
            && self.points_without.as_ref().is_none_or(|part| !point.contains(part.as_str()))
    }
}

/// A sum that rules are about.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Sum {
    name: String,
    /// Its parts by who scans.
    by_whom: [String; 2],
    /// Its parts by the kind of memory that is scanned.
    by_what: [String; 2],
}

/// The usual spread of counters of an experiment, for points that were recorded once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spread {
    experiment: String,
    counters: Vec<String>,
    /// (largest - smallest) / mean.
    spread: f64,
}

/// Verdict of a rule on one counter of one experiment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The rule.
    pub rule: String,
    /// The experiment.
    pub experiment: String,
    /// Major and minor version of the kernel.
    pub kernel: String,
    /// The LRU.
    pub policy: String,
    /// The counter, or a sum.
    pub counter: String,
    /// Cells with many events.
    pub cells: u64,
    /// Median of their absolute relative errors.
    pub median: Option<f64>,
    /// 90th percentile of them.
    pub p90: Option<f64>,
    /// Largest of them.
    pub worst: Option<f64>,
    /// Limit of the median.
    pub median_limit: f64,
    /// The median is above its limit, and is not if values within the recorded ranges of their
    /// cells count as no error.
    #[serde(default)]
    pub by_range: bool,
    /// Limit of each where the recording spreads less; infinite: only the median is judged.
    #[serde(deserialize_with = "or_infinite")]
    pub worst_limit: f64,
    /// Cells with few events.
    pub few: u64,
    /// Cells of either kind that are too far off.
    pub missed: u64,
    /// Neither the median nor a cell is too far off.
    pub met: bool,
    /// The cells that are too far off, the farthest first.
    pub misses: Vec<Miss>,
}

/// JSON has no infinity: it writes `null`.
fn or_infinite<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
}

/// A cell that is too far off.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Miss {
    /// The point.
    pub point: String,
    /// The phase.
    pub phase: String,
    /// Mean count of the kernel.
    pub recorded: f64,
    /// Mean count of the model.
    pub simulated: f64,
    /// The smallest value that would do.
    pub least: f64,
    /// The largest value that would do.
    pub most: f64,
}

impl Miss {
    /// Error as a multiple of its limit.
    fn excess(&self) -> f64 {
        let room = (self.most - self.least) / 2.0;
        (self.simulated - f64::midpoint(self.least, self.most)).abs() / room.max(f64::MIN_POSITIVE)
    }
}

/// Recorded mean, smallest and largest beside the simulated mean.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Cell<'a> {
    point: &'a str,
    phase: &'a str,
    recorded: f64,
    min: f64,
    max: f64,
    simulated: f64,
    repetitions: u64,
}

impl Cell<'_> {
    fn of(r: &PointRow) -> Cell<'_> {
        Cell {
            point: &r.point,
            phase: &r.phase,
            recorded: r.recorded,
            min: r.min,
            max: r.max,
            simulated: r.simulated,
            repetitions: r.repetitions,
        }
    }

    /// The simulated value, or the recorded mean where that is within the recorded range.
    fn beyond_range(&self) -> f64 {
        if (self.min..=self.max).contains(&self.simulated) { self.recorded } else { self.simulated }
    }

    fn error(&self, many: f64) -> Option<f64> {
        (self.recorded >= many).then(|| (self.simulated - self.recorded).abs() / self.recorded)
    }

    /// The smallest and the largest value that will do.
    fn allowed(&self, rule: &Rule, spread_if_once: f64) -> (f64, f64) {
        let worst = rule.worst;
        if rule.small {
            let (least, most) = (self.recorded * (1.0 - worst), self.recorded * (1.0 + worst));
            return (least.min(self.min), most.max(self.max));
        }
        if self.recorded < MANY {
            return ((self.min - ROOM).max(0.0), self.max + ROOM);
        }
        let spread = match self.repetitions {
            1 => spread_if_once,
            _ => (self.max - self.min) / self.recorded,
        };
        let share = worst.max(spread);
        (self.recorded * (1.0 - share), self.recorded * (1.0 + share))
    }
}

impl Verdict {
    /// True if it is met, and would not be without the recorded ranges.
    pub fn met_by_range(&self) -> bool {
        self.met && self.by_range
    }

    /// Limit of each error, for people.
    pub fn worst_limit(&self) -> String {
        match self.worst_limit.is_finite() {
            true => format!("{:.0} %", self.worst_limit * 100.0),
            false => "none".into(),
        }
    }
}

/// The kernels of rows, by their versions.
fn kernels<'a>(rows: &[&'a PointRow]) -> Vec<&'a str> {
    let mut all: Vec<&str> = rows.iter().map(|r| r.kernel.as_str()).collect();
    all.sort_by_key(|k| (version(k), *k));
    all.dedup();
    all
}

/// Major and minor version of a kernel's name.
pub fn version(kernel: &str) -> (u32, u32) {
    let number = |n: &str| {
        let digits: String = n.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let mut parts = kernel.split('.').map(number);
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// The counters of the rule of this name about an LRU; none: there is no such rule.
pub fn counters(policy: &str, name: &str) -> &'static [String] {
    let rule = RULES.rule.iter().find(|r| (r.policy.as_str(), r.name.as_str()) == (policy, name));
    rule.map_or(&[], |r| &r.counters)
}

/// Every rule for each of its experiments, kernels and counters that rows are there of.
pub fn judge(rows: &[PointRow]) -> Vec<Verdict> {
    let rows = &with_recordings_anew(rows);
    let mut verdicts = Vec::new();
    for rule in &RULES.rule {
        for experiment in &rule.experiments {
            let mut of_experiment = of_experiment(rows, experiment, &rule.policy);
            of_experiment.retain(|r| rule.is_about(&r.point));
            if of_experiment.is_empty() {
                continue;
            }
            for kernel in kernels(&of_experiment) {
                let of_kernel: Vec<&PointRow> =
                    of_experiment.iter().copied().filter(|r| r.kernel == kernel).collect();
                for counter in &rule.counters {
                    let cells = cells(&of_kernel, counter);
                    if !cells.is_empty() {
                        verdicts.push(verdict(rule, (experiment, kernel), counter, &cells));
                    }
                }
            }
        }
    }
    verdicts
}

/// The rows, with the smallest and the largest value that the kernel counted at any recorded tick
/// and free memory.
fn with_recordings_anew(rows: &[PointRow]) -> Vec<PointRow> {
    let key = |r: &PointRow, stem: &str| {
        let (kernel, phase, counter) = (r.kernel.clone(), r.phase.clone(), r.counter.clone());
        (r.experiment.clone(), stem.to_string(), r.policy.clone(), kernel, phase, counter)
    };
    let mut ranges: BTreeMap<_, [f64; 2]> = BTreeMap::new();
    for r in rows {
        if let Some(stem) = Point::recorded_anew(Point::stem(&r.point, &r.kernel)) {
            let range = ranges.entry(key(r, stem)).or_insert([r.min, r.max]);
            *range = [range[0].min(r.min), range[1].max(r.max)];
        }
    }
    let widened = |r: &PointRow| match ranges.get(&key(r, Point::stem(&r.point, &r.kernel))) {
        Some(&[min, max]) => PointRow {
            min: r.min.min(min),
            max: r.max.max(max),
            repetitions: r.repetitions + 1,
            ..r.clone()
        },
        None => r.clone(),
    };
    rows.iter().map(widened).collect()
}

/// A cell with many events.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Far {
    /// The point.
    pub point: String,
    /// The phase.
    pub phase: String,
    /// The counter, or a sum.
    pub counter: String,
    /// Mean count of the kernel.
    pub recorded: f64,
    /// Mean count of the model.
    pub simulated: f64,
}

/// The `n` cells with many events that are farthest off, of these counters of an
/// experiment, sensitivities left out.
pub fn farthest(
    rows: &[PointRow],
    experiment: &str,
    policy: &str,
    counters: &[&str],
    n: usize,
) -> Vec<Far> {
    let rows = of_experiment(rows, experiment, policy);
    let mut far: Vec<(f64, Far)> = Vec::new();
    for counter in counters {
        for c in cells(&rows, counter) {
            let Some(error) = c.error(MANY) else { continue };
            let far_off = Far {
                point: c.point.into(),
                phase: c.phase.into(),
                counter: counter.to_string(),
                recorded: c.recorded,
                simulated: c.simulated,
            };
            far.push((error, far_off));
        }
    }
    far.sort_by(|a, b| b.0.total_cmp(&a.0));
    far.into_iter().take(n).map(|(_, f)| f).collect()
}

/// The rows of an experiment that are judged.
fn of_experiment<'a>(rows: &'a [PointRow], experiment: &str, policy: &str) -> Vec<&'a PointRow> {
    rows.iter()
        .filter(|r| r.experiment == experiment && r.policy == policy)
        .filter(|r| !Point::is_sensitivity(&r.point))
        .collect()
}

/// The cells of a counter, or of a sum.
fn cells<'a>(rows: &[&'a PointRow], counter: &str) -> Vec<Cell<'a>> {
    let of = |name: &str| -> Vec<Cell<'a>> {
        rows.iter().filter(|r| r.counter == name).map(|r| Cell::of(r)).collect()
    };
    let Some(sum) = RULES.sum.iter().find(|s| s.name == counter) else { return of(counter) };
    let sums = |parts: &[String; 2]| -> Vec<Cell<'a>> {
        of(&parts[0]).into_iter().zip(of(&parts[1])).map(|(a, b)| plus(a, b)).collect()
    };
    // The extremes of a sum were not recorded. Those of its parts bound them, in two ways.
    let narrowed = |(a, b): (Cell<'a>, Cell<'a>)| Cell {
        min: a.min.max(b.min).min(a.recorded),
        max: a.max.min(b.max).max(a.recorded),
        ..a
    };
    sums(&sum.by_whom).into_iter().zip(sums(&sum.by_what)).map(narrowed).collect()
}

fn plus<'a>(a: Cell<'a>, b: Cell<'a>) -> Cell<'a> {
    Cell {
        recorded: a.recorded + b.recorded,
        min: a.min + b.min,
        max: a.max + b.max,
        simulated: a.simulated + b.simulated,
        ..a
    }
}

fn verdict(
    rule: &Rule,
    (experiment, kernel): (&str, &str),
    counter: &str,
    cells: &[Cell<'_>],
) -> Verdict {
    let of_counter =
        |s: &&Spread| s.experiment == experiment && s.counters.iter().any(|name| name == counter);
    let once = RULES.spread.iter().find(of_counter).map_or(0.0, |s| s.spread);
    let many = if rule.small { 1.0 } else { MANY };
    let far: Vec<&Cell<'_>> = cells.iter().filter(|c| c.recorded >= many).collect();
    let column = |of: fn(&Cell<'_>) -> f64| far.iter().map(|c| of(c)).collect::<Vec<f64>>();
    let (simulated, recorded) = (column(|c| c.simulated), column(|c| c.recorded));
    let close = Claim {
        against: Against::Error,
        ..Claim::between(Bounds { high: Some(rule.median), ..Bounds::default() })
    };
    let errors = |q| Claim { over: Over::Quantile(q), ..close }.judge(&simulated, &recorded);
    let median = errors(0.5);
    let beyond = column(|c| c.beyond_range());
    let beyond = Claim { over: Over::Quantile(0.5), ..close }.judge(&beyond, &recorded);
    let holds = median.as_ref().is_none_or(|v| v.holds);
    let in_range = holds || rule.own_range && beyond.is_none_or(|v| v.holds);
    let mut misses: Vec<Miss> = cells
        .iter()
        .filter_map(|c| {
            let (least, most) = c.allowed(rule, once);
            (!(least..=most).contains(&c.simulated)).then(|| Miss {
                point: c.point.to_string(),
                phase: c.phase.to_string(),
                recorded: c.recorded,
                simulated: c.simulated,
                least,
                most,
            })
        })
        .collect();
    misses.sort_by(|a, b| b.excess().total_cmp(&a.excess()));
    Verdict {
        rule: rule.name.clone(),
        experiment: experiment.into(),
        kernel: kernel.into(),
        policy: rule.policy.clone(),
        counter: counter.into(),
        cells: far.len() as u64,
        median: median.map(|v| v.value),
        p90: errors(0.9).map(|v| v.value),
        worst: errors(1.0).map(|v| v.value),
        median_limit: rule.median,
        by_range: in_range && !holds,
        worst_limit: rule.worst,
        few: (cells.len() - far.len()) as u64,
        missed: misses.len() as u64,
        met: misses.is_empty() && in_range,
        misses,
    }
}

#[cfg(test)]
mod tests;
