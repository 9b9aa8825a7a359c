//! Rules for groups of counters that say how close is close enough, and their verdicts.
//!
//! A *cell* is one counter of one phase of one point, means over the repetitions. Where the kernel
//! counted at least [`MANY`] events, the relative error against its mean counts: the median over an
//! experiment's cells has to stay below one figure and every single cell below another, which is
//! the rule's or the spread of the recording itself, whichever is larger, for no model can be
//! closer to a kernel than the kernel is to itself. Where fewer events were counted, none included,
//! a relative error says little: there the simulated value has to lie in the recorded range widened
//! by [`ROOM`] events.
//!
//! Verdicts are given for each experiment, kernel and counter, never over several: an experiment
//! with many points that any LRU gets right must not hide one with few that tell models
//! apart. Points that were recorded for the sensitivity to the set-up (`sens-*`) and the
//! division of work between kswapd and direct reclaim, which hangs on the emulated speed
//! of the CPU, are not judged; nor are the scans of `three-step`, which jump by a third
//! between repetitions of one kernel, and under MGLRU `pgactivate`, which does so everywhere.

use serde::{Deserialize, Serialize};

use super::point::Point;
use crate::validate::rows::{PointRow, quantile};

/// From this many recorded events on the relative error counts.
pub const MANY: f64 = 500.0;
/// Number of events by which the recorded range is widened below that.
pub const ROOM: f64 = 250.0;

/// A demand on some counters of some experiments.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// The LRU that it is about.
    pub policy: &'static str,
    /// Experiments; each is judged alone.
    pub experiments: &'static [&'static str],
    /// Counters, some of them sums ([`SUMS`]).
    pub counters: &'static [&'static str],
    /// Largest median of the absolute relative errors.
    pub median: f64,
    /// Largest absolute relative error, unless the recording spreads more; infinite: any.
    pub worst: f64,
    /// Points that it is about.
    pub points: Points,
    /// Its counters are small: their relative errors count from one event on, and a value within
    /// the recorded range will always do.
    pub small: bool,
}

/// Some of the points of an experiment, by their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Points {
    /// All.
    All,
    /// Those that have this in their names.
    With(&'static str),
    /// The others.
    Without(&'static str),
}

impl Points {
    fn has(self, point: &str) -> bool {
        match self {
            Points::All => true,
            Points::With(part) => point.contains(part),
            Points::Without(part) => !point.contains(part),
        }
    }
}

/// Defaults of a rule.
const USUAL: Rule = Rule {
    name: "",
    policy: "",
    experiments: &[],
    counters: &[],
    median: 0.0,
    worst: 0.0,
    points: Points::All,
    small: false,
};

/// The rules.
pub const RULES: &[Rule] = &[
    Rule {
        name: "swap traffic",
        policy: "classic",
        experiments: &["zipf-anon", "zipf-changing", "detection", "three-step", "cyclic-anon"],
        counters: &["pswpin", "pswpout", "workingset_refault_anon", "pgmajfault"],
        median: 0.02,
        worst: 0.05,
        ..USUAL
    },
    Rule {
        name: "scans",
        policy: "classic",
        experiments: &["zipf-anon", "zipf-changing", "detection", "cyclic-anon"],
        counters: &["pgscan_anon", "pgsteal_anon"],
        median: 0.05,
        worst: 0.10,
        ..USUAL
    },
    Rule {
        name: "activation",
        policy: "classic",
        experiments: &["zipf-anon", "zipf-changing", "detection"],
        counters: &[
            "pgactivate",
            "pgdeactivate",
            "pgrefill",
            "workingset_activate_anon",
            "workingset_restore_anon",
        ],
        median: 0.10,
        worst: 0.20,
        ..USUAL
    },
    Rule {
        name: "file and balance",
        policy: "classic",
        experiments: &["file", "anon-file", "cyclic-file"],
        counters: &[
            "workingset_refault_file",
            "workingset_refault_anon",
            "pswpin",
            "pgscan",
            "pgsteal",
        ],
        median: 0.04,
        worst: 0.10,
        ..USUAL
    },
    Rule {
        name: "lazily freed memory",
        policy: "classic",
        experiments: &["lazyfree"],
        counters: &["workingset_refault_file", "pglazyfreed", "pgscan", "pgsteal"],
        median: 0.04,
        worst: 0.10,
        ..USUAL
    },
    Rule {
        name: "swap traffic",
        policy: "mglru",
        experiments: &["zipf-anon", "zipf-changing", "detection", "three-step", "cyclic-anon"],
        counters: &["pswpin", "pswpout", "workingset_refault_anon", "pgmajfault"],
        median: 0.02,
        worst: 0.05,
        ..USUAL
    },
    Rule {
        name: "scans",
        policy: "mglru",
        experiments: &["zipf-anon", "zipf-changing", "detection", "cyclic-anon"],
        counters: &["pgscan_anon", "pgsteal_anon"],
        median: 0.05,
        worst: 0.10,
        ..USUAL
    },
    Rule {
        name: "activation",
        policy: "mglru",
        experiments: &["zipf-anon", "zipf-changing", "detection"],
        counters: &["workingset_activate_anon", "workingset_restore_anon"],
        median: 0.10,
        worst: 0.20,
        ..USUAL
    },
    Rule {
        name: "file and balance",
        policy: "mglru",
        experiments: &["file", "anon-file", "cyclic-file"],
        counters: &[
            "workingset_refault_file",
            "workingset_refault_anon",
            "pswpin",
            "pgscan",
            "pgsteal",
        ],
        median: 0.04,
        worst: 0.10,
        ..USUAL
    },
    Rule {
        name: "lazily freed memory",
        policy: "mglru",
        experiments: &["lazyfree"],
        counters: &["workingset_refault_file", "pglazyfreed", "pgscan", "pgsteal"],
        median: 0.04,
        worst: 0.10,
        ..USUAL
    },
    Rule {
        name: "compaction in full",
        policy: "classic",
        experiments: &["compaction"],
        counters: &["compact_scanned", "pgmigrate_success"],
        median: 0.15,
        worst: 0.15,
        points: Points::With("full-"),
        ..USUAL
    },
    Rule {
        name: "free blocks after compaction in full",
        policy: "classic",
        experiments: &["compaction"],
        counters: &["free_order9"],
        median: 0.10,
        worst: 0.10,
        points: Points::With("full-"),
        small: true,
    },
    Rule {
        name: "blocks obtained",
        policy: "classic",
        experiments: &["compaction"],
        counters: &["result.hugepool.got", "result.thp.got", "result.pring.contiguous"],
        median: 0.15,
        worst: 0.15,
        points: Points::Without("full-"),
        small: true,
    },
    Rule {
        name: "compaction for requests",
        policy: "classic",
        experiments: &["compaction"],
        counters: &["compact_scanned", "pgmigrate_success"],
        median: 0.25,
        // Only the median is judged: several points have two outcomes.
        worst: f64::INFINITY,
        points: Points::Without("full-"),
        ..USUAL
    },
    Rule {
        name: "what DAMON sees",
        policy: "classic",
        experiments: &["damon"],
        counters: &["damon.wss", "damon.hot"],
        median: 0.10,
        worst: 0.10,
        small: true,
        ..USUAL
    },
    Rule {
        name: "regions of DAMON",
        policy: "classic",
        experiments: &["damon"],
        counters: &["damon.nr_regions"],
        median: 0.20,
        worst: 0.20,
        small: true,
        ..USUAL
    },
    Rule {
        // Snapshots are a second and more apart: the recorded one, or its neighbour.
        name: "when DAMON knows it",
        policy: "classic",
        experiments: &["damon"],
        counters: &["damon.found_at_ms"],
        median: 1.0,
        worst: 1.0,
        ..USUAL
    },
    Rule {
        name: "what DAMOS tries and evicts",
        policy: "classic",
        experiments: &["damon-reclaim"],
        counters: &["damos.sz_tried", "damos.sz_applied"],
        median: 0.15,
        worst: 0.15,
        small: true,
        ..USUAL
    },
];

/// Sums that rules are about: by who scans, and the same sum by what is scanned.
pub const SUMS: &[(&str, [&str; 2], [&str; 2])] = &[
    ("pgscan", ["pgscan_kswapd", "pgscan_direct"], ["pgscan_anon", "pgscan_file"]),
    ("pgsteal", ["pgsteal_kswapd", "pgsteal_direct"], ["pgsteal_anon", "pgsteal_file"]),
    (
        "compact_scanned",
        ["compact_migrate_scanned", "compact_free_scanned"],
        ["compact_migrate_scanned", "compact_free_scanned"],
    ),
];

/// The spread of a counter over seeds or offsets, (largest - smallest) / mean, as the
/// median over the points of its experiment that were recorded several times. It stands in
/// for the spread of points that were recorded once.
const SPREADS: &[(&str, &[&str], f64)] = &[
    ("zipf-anon", &["pswpin", "pswpout", "workingset_refault_anon", "pgmajfault"], 0.004),
    ("zipf-anon", &["pgscan_anon", "pgsteal_anon"], 0.006),
    ("zipf-anon", &["pgactivate"], 0.011),
    ("zipf-anon", &["pgdeactivate", "pgrefill"], 0.007),
    ("zipf-anon", &["workingset_activate_anon", "workingset_restore_anon"], 0.025),
    ("detection", &["pgdeactivate", "pgrefill"], 0.04),
    ("three-step", &["pswpout"], 0.008),
    ("file", &["workingset_refault_file"], 0.002),
    ("anon-file", &["workingset_refault_file", "workingset_refault_anon"], 0.01),
];

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

/// Every rule for each of its experiments, kernels and counters that rows are there of.
pub fn judge(rows: &[PointRow]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for rule in RULES {
        for experiment in rule.experiments {
            let mut of_experiment = of_experiment(rows, experiment, rule.policy);
            of_experiment.retain(|r| rule.points.has(&r.point));
            if of_experiment.is_empty() {
                continue;
            }
            for kernel in kernels(&of_experiment) {
                let of_kernel: Vec<&PointRow> =
                    of_experiment.iter().copied().filter(|r| r.kernel == kernel).collect();
                for counter in rule.counters {
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
    let Some((_, by_whom, by_what)) = SUMS.iter().find(|s| s.0 == counter) else {
        return of(counter);
    };
    let sums = |parts: &[&str; 2]| -> Vec<Cell<'a>> {
        of(parts[0]).into_iter().zip(of(parts[1])).map(|(a, b)| plus(a, b)).collect()
    };
    // The extremes of a sum were not recorded. Those of its parts bound them, in two ways.
    let narrowed = |(a, b): (Cell<'a>, Cell<'a>)| Cell {
        min: a.min.max(b.min).min(a.recorded),
        max: a.max.min(b.max).max(a.recorded),
        ..a
    };
    sums(by_whom).into_iter().zip(sums(by_what)).map(narrowed).collect()
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
    let once = SPREADS
        .iter()
        .find(|(e, counters, _)| *e == experiment && counters.contains(&counter))
        .map_or(0.0, |s| s.2);
    let many = if rule.small { 1.0 } else { MANY };
    let mut errors: Vec<f64> = cells.iter().filter_map(|c| c.error(many)).collect();
    errors.sort_by(f64::total_cmp);
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
    let median = quantile(&errors, 0.5);
    Verdict {
        rule: rule.name.into(),
        experiment: experiment.into(),
        kernel: kernel.into(),
        policy: rule.policy.into(),
        counter: counter.into(),
        cells: errors.len() as u64,
        median,
        p90: quantile(&errors, 0.9),
        worst: errors.last().copied(),
        median_limit: rule.median,
        worst_limit: rule.worst,
        few: (cells.len() - errors.len()) as u64,
        missed: misses.len() as u64,
        met: misses.is_empty() && median.is_none_or(|m| m <= rule.median),
        misses,
    }
}

#[cfg(test)]
mod tests;
