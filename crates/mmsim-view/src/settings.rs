//! A sweep in short: a row for each setting, and two axes against each other.

use mmsim::report::Report;
use mmsim::report::derived::{Figure, Scope};
use mmsim::report::groups::Group;
use mmsim::report::numbers::{grouped, grouped_row};

use crate::figure::{self, mean, more_is_better, short, words};

/// Figures beside the one that is asked for, where any run has them.
const BESIDE: [Figure; 6] = [
    Figure::MajorFaults,
    Figure::Refaults,
    Figure::DirectReclaimStalls,
    Figure::MemoryPressure,
    Figure::MajorFaultP99,
    Figure::Throughput,
];

/// A table of words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Heads of columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// How many columns from the left are names.
    pub names: usize,
}

/// Names of all axes, in their order.
fn axes<'a>(groups: &[Group<'a>]) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for (name, _) in groups.iter().flat_map(|g| g.axes.iter()) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// One setting in one variant.
struct Setting<'a, 'b> {
    group: &'b Group<'a>,
    variant: usize,
}

/// A row for each setting and variant: where it stands, how it ended, the figure with its interval,
/// and as many other figures as find room in `others` columns. Best first by `by`, else in the order
/// of the report.
pub fn table(report: &Report, by: Option<Figure>, others: usize) -> Table {
    let groups = report.groups();
    let axes = axes(&groups);
    let main = by.unwrap_or_else(|| figure::main_of(report));
    let any = |figure: &Figure| {
        let of = |run| figure.of(Scope::from(run));
        report.runs.iter().filter_map(of).any(|v| v != 0.0)
    };
    let beside: Vec<Figure> =
        BESIDE.into_iter().filter(|f| *f != main && any(f)).take(others).collect();
    let variants = groups.iter().any(|g| g.variants.len() > 1);
    let scenarios = groups.iter().any(|g| g.scenario.is_some());

    let mut settings: Vec<Setting<'_, '_>> = Vec::new();
    for group in &groups {
        settings.extend((0..group.variants.len()).map(|variant| Setting { group, variant }));
    }
    if by.is_some() {
        let value = |s: &Setting<'_, '_>| mean(s.group, s.variant, main).map(|e| e.mean);
        settings.sort_by(|a, b| match (value(a), value(b)) {
            (Some(x), Some(y)) if more_is_better(main) => y.total_cmp(&x),
            (Some(x), Some(y)) => x.total_cmp(&y),
            (x, y) => x.is_none().cmp(&y.is_none()),
        });
    }
    let columns: Vec<Vec<String>> = beside
        .iter()
        .map(|f| {
            let of = |s: &Setting<'_, '_>| mean(s.group, s.variant, *f).map(|e| e.mean);
            grouped_row(&settings.iter().map(of).collect::<Vec<_>>())
        })
        .collect();
    let row = |(i, s): (usize, &Setting<'_, '_>)| {
        let variant = &s.group.variants[s.variant];
        let mut row: Vec<String> = Vec::new();
        if scenarios {
            row.push(s.group.scenario.unwrap_or_default().to_string());
        }
        row.extend(axes.iter().map(|a| s.group.axes.get(a).cloned().unwrap_or_default()));
        if variants {
            row.push(variant.name.to_string());
        }
        row.push(variant.outcome());
        row.push(mean(s.group, s.variant, main).map_or("-".into(), |e| words(&e)));
        row.extend(columns.iter().map(|column| column[i].clone()));
        row
    };
    let mut head: Vec<String> = Vec::new();
    head.extend(scenarios.then(|| "scenario".to_string()));
    head.extend(axes.iter().map(|a| short(a, &axes).to_string()));
    head.extend(variants.then(|| "variant".to_string()));
    head.push("outcome".into());
    let names = head.len();
    head.push(main.label().to_string());
    head.extend(beside.iter().map(|f| f.label().to_string()));
    let seeds = groups.iter().flat_map(|g| &g.variants).map(|v| v.runs.len()).max().unwrap_or(0);
    let title = match (by.is_some(), seeds > 1) {
        (true, true) => format!("means over {seeds} seeds, best {} first", main.label()),
        (true, false) => format!("best {} first", main.label()),
        (false, true) => format!("means over {seeds} seeds"),
        (false, false) => String::new(),
    };
    Table { title, head, rows: settings.iter().enumerate().map(row).collect(), names }
}

/// Where there are two axes: the figure with one of them down and the other across, a table for
/// each variant.
pub fn pivots(report: &Report, by: Option<Figure>) -> Vec<Table> {
    let groups = report.groups();
    let axes = axes(&groups);
    let [down, across] = axes.as_slice() else { return Vec::new() };
    if groups.iter().any(|g| g.scenario.is_some()) {
        return Vec::new();
    }
    let main = by.unwrap_or_else(|| figure::main_of(report));
    let values = |axis: &str| {
        let mut all: Vec<&str> = Vec::new();
        for value in groups.iter().filter_map(|g| g.axes.get(axis)) {
            if !all.contains(&value.as_str()) {
                all.push(value);
            }
        }
        all
    };
    let (rows, columns) = (values(down), values(across));
    let mut variants: Vec<&str> = Vec::new();
    for v in groups.iter().flat_map(|g| &g.variants) {
        if !variants.contains(&v.name) {
            variants.push(v.name);
        }
    }
    let cell = |name: &str, row: &str, column: &str| {
        let at = |g: &&Group<'_>| {
            let is = |axis: &str, value: &str| g.axes.get(axis).is_some_and(|v| v == value);
            is(down, row) && is(across, column)
        };
        let group = groups.iter().find(at)?;
        let variant = group.variants.iter().position(|v| v.name == name)?;
        Some(mean(group, variant, main)?.mean)
    };
    let of = |name: &&str| {
        let row = |r: &&str| {
            let all = columns.iter().map(|c| cell(name, r, c).map_or("-".into(), grouped));
            std::iter::once(r.to_string()).chain(all).collect()
        };
        let corner = format!("{} \\ {}", short(down, &axes), short(across, &axes));
        let of_variant = if variants.len() > 1 { format!(" in {name}") } else { String::new() };
        Table {
            title: format!("{}{of_variant}", main.label()),
            head: std::iter::once(corner).chain(columns.iter().map(|c| c.to_string())).collect(),
            rows: rows.iter().map(row).collect(),
            names: 1,
        }
    };
    variants.iter().map(of).collect()
}
