//! A sweep in short: a row for each setting, and two axes against each other.

use std::collections::BTreeMap;

use mmsim::report::derived::{Figure, Scope};
use mmsim::report::groups::{VariantRuns, outcome_of};
use mmsim::report::numbers::{grouped, grouped_row};
use mmsim::report::statistics::{Estimate, estimate};
use mmsim::report::{Bounds, Ending, Pairs, Report, RunReport};

use crate::figure::{self, more_is_better, short, words};

/// Figures beside the requested one, where any run has them.
const BESIDE: [Figure; 7] = [
    Figure::MajorFaults,
    Figure::Refaults,
    Figure::Optimum,
    Figure::DirectReclaimStalls,
    Figure::MemoryPressure,
    Figure::MajorFaultP99,
    Figure::Throughput,
];

const FIGURES: usize = Figure::ALL.len();

/// A table of words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Table {
    /// Title of the table.
    pub title: String,
    /// Heads of columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// Number of columns from the left that are names.
    pub names: usize,
}

/// One setting in one variant, without its runs: what a table of a sweep shows of it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Setting {
    /// Its scenario, where there are several.
    pub scenario: Option<String>,
    /// Where it stands on the axes.
    pub axes: Pairs<String>,
    /// Its variant.
    pub variant: String,
    /// Outcome of its runs.
    pub outcome: String,
    /// Runs.
    pub runs: usize,
    /// Each figure, in the order of [`Figure::ALL`].
    figures: [Option<Estimate>; FIGURES],
    /// True for each figure that is not 0 in all runs.
    any: [bool; FIGURES],
    /// Records of its runs together.
    records: u64,
    /// Fetches again of MIN for each 100 accesses, where they were computed.
    optimum_ratio: Option<Estimate>,
    /// True if the optimum bounds demand fetches: nothing was read ahead.
    pub(crate) exact_optimum: bool,
}

fn nth(figure: Figure) -> usize {
    Figure::ALL.iter().position(|f| *f == figure).expect("one of all")
}

/// Parts of a run that a setting needs: its figures are of a run that did all its work.
#[derive(Clone, Copy, Debug)]
struct Brief {
    outcome: Ending,
    figures: [Option<f64>; FIGURES],
    records: u64,
    accesses: u64,
    bounds: Option<Bounds>,
}

impl Brief {
    fn of(run: &RunReport) -> Brief {
        let figures = Figure::ALL.map(|f| f.of(Scope::from(run)));
        Brief {
            outcome: run.outcome,
            figures,
            records: run.records,
            accesses: run.accesses.max(1),
            bounds: run.bounds,
        }
    }
}

impl Setting {
    /// The setting of runs that differ in their seeds; `first` is one of them.
    fn of(first: &RunReport, runs: &[Brief]) -> Setting {
        let figures = std::array::from_fn(|nth| {
            let whole = runs.iter().filter(|run| run.outcome.is_whole());
            estimate(&whole.filter_map(|run| run.figures[nth]).collect::<Vec<_>>())
        });
        let bounds: Vec<Bounds> = runs.iter().filter_map(|run| run.bounds).collect();
        let ratio =
            |run: &Brief| Some(run.bounds?.sim_opt_refetches as f64 * 100.0 / run.accesses as f64);
        let ratios = runs.iter().filter(|run| run.outcome.is_whole()).filter_map(ratio);
        Setting {
            scenario: first.scenario.clone(),
            axes: first.axes.clone(),
            variant: first.variant.clone(),
            outcome: outcome_of(runs.iter().map(|run| run.outcome)),
            runs: runs.len(),
            figures,
            any: std::array::from_fn(|nth| {
                runs.iter().any(|run| run.figures[nth].is_some_and(|v| v != 0.0))
            }),
            records: runs.iter().map(|run| run.records).sum(),
            optimum_ratio: estimate(&ratios.collect::<Vec<_>>()),
            exact_optimum: bounds.iter().all(|b| b.exact),
        }
    }

    /// The bound of the optimum MIN below a figure; `None` where the scenario does not ask for
    /// `bounds`, and of figures that do not count fetches.
    pub fn optimum(&self, figure: Figure) -> Option<Estimate> {
        match figure {
            Figure::MissRatio => self.optimum_ratio,
            Figure::MajorFaults | Figure::SwapIns | Figure::Refaults => self.mean(Figure::Optimum),
            _ => None,
        }
    }

    /// The mean of a figure; `None` without a run that has it.
    pub fn mean(&self, figure: Figure) -> Option<Estimate> {
        self.figures[nth(figure)]
    }
}

/// The settings of a report, in its order.
pub fn of_report(report: &Report) -> Vec<Setting> {
    let of = |v: &VariantRuns<'_>| {
        let runs: Vec<Brief> = v.runs.iter().map(|run| Brief::of(run)).collect();
        Some(Setting::of(v.runs.first()?, &runs))
    };
    report.groups().iter().flat_map(|g| g.variants.iter().filter_map(of)).collect()
}

/// Settings of runs that come one by one, those of a setting and variant one behind the other: one
/// run is in memory, and of the others of its setting the figures.
#[derive(Debug, Default)]
pub struct Gatherer {
    done: Vec<Setting>,
    first: Option<RunReport>,
    runs: Vec<Brief>,
}

impl Gatherer {
    /// One more run.
    pub fn add(&mut self, run: RunReport) {
        let alike = |first: &RunReport| {
            (&first.scenario, &first.axes, &first.variant)
                == (&run.scenario, &run.axes, &run.variant)
        };
        if !self.first.as_ref().is_some_and(alike) {
            self.close();
        }
        self.runs.push(Brief::of(&run));
        self.first.get_or_insert(run);
    }

    fn close(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        self.done.extend(self.first.take().map(|first| Setting::of(&first, &runs)));
    }

    /// All settings, in the order in which they came.
    pub fn finish(mut self) -> Vec<Setting> {
        self.close();
        self.done
    }
}

/// The default figure of a table.
pub fn main_of(settings: &[Setting]) -> Figure {
    figure::first_main(|f| settings.iter().any(|s| s.any[nth(f)]))
}

/// Name of a figure in tables of these settings.
pub(crate) fn label_of(settings: &[Setting], figure: Figure) -> &'static str {
    figure.label_of(settings.iter().map(|s| s.records))
}

/// Names of all axes, in their order.
fn axes(settings: &[Setting]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for (name, _) in settings.iter().flat_map(|s| s.axes.iter()) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The places of settings, the best first by a figure; those without it last.
pub fn best_first(settings: &[Setting], by: Figure) -> Vec<usize> {
    let mut order: Vec<usize> = (0..settings.len()).collect();
    let value = |i: usize| settings[i].mean(by).map(|e| e.mean);
    order.sort_by(|&a, &b| match (value(a), value(b)) {
        (Some(x), Some(y)) if more_is_better(by) => y.total_cmp(&x),
        (Some(x), Some(y)) => x.total_cmp(&y),
        (x, y) => x.is_none().cmp(&y.is_none()),
    });
    order
}

/// A row for each setting and variant: where it stands, how it ended, the figure with its
/// interval, and as many other figures as find room in `others` columns. Best first by `by`, else
/// in the order of the report; at most `top` rows.
pub fn table(settings: &[Setting], by: Option<Figure>, others: usize, top: usize) -> Table {
    let axes = axes(settings);
    let main = by.unwrap_or_else(|| main_of(settings));
    let any = |figure: &Figure| settings.iter().any(|s| s.any[nth(*figure)]);
    let beside: Vec<Figure> =
        BESIDE.into_iter().filter(|f| *f != main && any(f)).take(others).collect();
    let variants = settings.iter().any(|s| s.variant != settings[0].variant);
    let scenarios = settings.iter().any(|s| s.scenario.is_some());

    let mut order = match by {
        Some(by) => best_first(settings, by),
        None => (0..settings.len()).collect(),
    };
    order.truncate(top);
    let columns: Vec<Vec<String>> = beside
        .iter()
        .map(|f| {
            let of = |&i: &usize| settings[i].mean(*f);
            let all: Vec<Option<Estimate>> = order.iter().map(of).collect();
            let means: Vec<Option<f64>> = all.iter().map(|e| e.map(|e| e.mean)).collect();
            let cell = |(text, e): (String, &Option<Estimate>)| match e.and_then(|e| e.ci95) {
                Some(half) => format!("{text} ±{}", grouped(half)),
                None => text,
            };
            grouped_row(&means).into_iter().zip(&all).map(cell).collect()
        })
        .collect();
    let dead = settings.iter().any(|s| s.outcome != Ending::Completed.name());
    let row = |(i, &nth): (usize, &usize)| {
        let s = &settings[nth];
        let mut row: Vec<String> = Vec::new();
        if scenarios {
            row.push(s.scenario.clone().unwrap_or_default());
        }
        row.extend(axes.iter().map(|a| s.axes.get(a).cloned().unwrap_or_default()));
        if variants {
            row.push(s.variant.clone());
        }
        row.extend(dead.then(|| s.outcome.clone()));
        row.push(s.mean(main).map_or("-".into(), |e| words(&e)));
        row.extend(columns.iter().map(|column| column[i].clone()));
        row
    };
    let mut head: Vec<String> = Vec::new();
    head.extend(scenarios.then(|| "scenario".to_string()));
    head.extend(axes.iter().map(|a| short(a, &axes).to_string()));
    head.extend(variants.then(|| "variant".to_string()));
    head.extend(dead.then(|| "outcome".into()));
    let names = head.len();
    head.push(label_of(settings, main).to_string());
    head.extend(beside.iter().map(|f| label_of(settings, *f).to_string()));
    let seeds = settings.iter().map(|s| s.runs).max().unwrap_or(0);
    let title = match (by.is_some(), seeds > 1) {
        (true, true) => {
            format!("means over {seeds} seeds, best {} first", label_of(settings, main))
        }
        (true, false) => format!("best {} first", label_of(settings, main)),
        (false, true) => format!("means over {seeds} seeds"),
        (false, false) => String::new(),
    };
    Table { title, head, rows: order.iter().enumerate().map(row).collect(), names }
}

/// One estimate, or the mean of several: these have the same seeds, and so no interval together.
fn mean_of_means(all: &[Estimate]) -> Estimate {
    match all {
        [one] => *one,
        all => {
            let mean = all.iter().map(|e| e.mean).sum::<f64>() / all.len() as f64;
            Estimate::without_interval(mean, all.len())
        }
    }
}

/// The figure with one axis down and another across, a table for each variant. `of`: the two axes;
/// `None`: where there are just two. Over all other axes it is the mean.
pub fn pivots(settings: &[Setting], by: Option<Figure>, of: Option<(&str, &str)>) -> Vec<Table> {
    let axes = axes(settings);
    let (down, across) = match (of, axes.as_slice()) {
        (Some(of), _) => of,
        (None, &[down, across]) => (down, across),
        _ => return Vec::new(),
    };
    if settings.iter().any(|s| s.scenario.is_some()) {
        return Vec::new();
    }
    let main = by.unwrap_or_else(|| main_of(settings));
    let values = |axis: &str| {
        let mut all: Vec<&str> = Vec::new();
        for value in settings.iter().filter_map(|s| s.axes.get(axis)) {
            if !all.contains(&value.as_str()) {
                all.push(value);
            }
        }
        all
    };
    let (rows, columns) = (values(down), values(across));
    let mut variants: Vec<&str> = Vec::new();
    let mut cells: BTreeMap<(&str, &str, &str), Vec<Estimate>> = BTreeMap::new();
    for s in settings {
        if !variants.contains(&s.variant.as_str()) {
            variants.push(&s.variant);
        }
        if let (Some(row), Some(column)) = (s.axes.get(down), s.axes.get(across))
            && let Some(e) = s.mean(main)
        {
            cells.entry((&s.variant, row, column)).or_default().push(e);
        }
    }
    let rest: Vec<&str> =
        axes.iter().filter(|a| ![down, across].contains(a)).map(|a| short(a, &axes)).collect();
    let over =
        if rest.is_empty() { String::new() } else { format!(", means over {}", rest.join(", ")) };
    let table = |name: &&str| {
        let row = |r: &&str| {
            let cell = |c: &&str| {
                cells.get(&(*name, *r, *c)).map_or("-".into(), |all| words(&mean_of_means(all)))
            };
            std::iter::once(r.to_string()).chain(columns.iter().map(cell)).collect()
        };
        let corner = format!("{} \\ {}", short(down, &axes), short(across, &axes));
        let of_variant = if variants.len() > 1 { format!(" in {name}") } else { String::new() };
        Table {
            title: format!("{}{of_variant}{over}", label_of(settings, main)),
            head: std::iter::once(corner).chain(columns.iter().map(|c| c.to_string())).collect(),
            rows: rows.iter().map(row).collect(),
            names: 1,
        }
    };
    variants.iter().map(table).collect()
}
