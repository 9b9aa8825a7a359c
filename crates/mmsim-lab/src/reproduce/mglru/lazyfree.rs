//! Lazily freed folios: sixty apps restarted, and where `MADV_FREE` puts what it frees.

use super::super::lab::{Constant, Lab, ScenarioFile};
use super::super::published::{Cell, Published};
use super::super::relation::{self, BySeed, values};
use super::super::{Family, Figures, row_by_seed, unpublished_row};
use super::open::{Direction, Range, Values, chosen, drawn, open, over_draws};
use super::phone::{Size, sets};
use super::{PUBLISHED, anon, by_seed, changes, file, measured, out_of_memory, relations};
use super::{ages, garbage, killer};
use crate::reproduce::document::{Asks, FigureRow};
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: NAME,
    about: "lazily freed folios in the generations of files, at their tail, or in a list of their own (2024)",
    published: PUBLISHED,
    scenarios: &[SCENARIO, garbage::SCENARIO],
    constants: CONSTANTS,
    tables: &[
        "lazyfree-list-vs-base",
        "lazyfree-list-vs-tail",
        "lazyfree-variants",
        "lazyfree-ablation",
        "mglru-lazyfree-draws",
        killer::TABLE,
        garbage::POINT,
        garbage::MAP,
    ],
    kernels: &["6.12+lazyfree-list", "6.12+lazyfree-tail"],
    left_out: &[(
        "lazyfree-tail-30-apps",
        "one figure of an earlier test with clicks and swipes, on which nothing else was published; the tail is compared with base and with the list on 60 apps",
    )],
    figures,
};

const NAME: &str = "mglru-lazyfree";

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/mglru-lazyfree/apps.toml",
    text: include_str!("../../../evidence/experiments/mglru-lazyfree/apps.toml"),
};

const CONSTANTS: &[Constant] = &[
    open("heap", 150.0, "1/10000 of memory"),
    open("mapped", 120.0, "1/10000 of memory"),
    open("read", 60.0, "1/10000 of memory"),
    open("swap", 7500.0, "1/10000 of memory"),
    open("cold-permille", 500.0, "of 1000 launches"),
    open("resume-permille", 400.0, "of 1000 pages"),
    open("free-permille", 350.0, "of 1000 pages"),
    open("reuse-permille", 250.0, "of 1000 pages"),
    open("trim-permille", 200.0, "of 1000 pages"),
    killer::STALL,
    killer::HEAP,
    garbage::SHARE,
    garbage::LIVE,
];

/// The chosen values of the apps.
fn of_apps(lab: &Lab<'_>) -> Values {
    let mut values = chosen(lab, CONSTANTS);
    let others = [killer::STALL, killer::HEAP, garbage::SHARE, garbage::LIVE];
    values.retain(|name, _| !others.iter().any(|c| c.name == *name));
    values
}

const RANGES: &[Range] = &[
    ("heap", 100.0, 170.0),
    ("mapped", 80.0, 160.0),
    ("read", 40.0, 80.0),
    ("cold-permille", 300.0, 700.0),
    ("resume-permille", 200.0, 600.0),
    ("free-permille", 200.0, 500.0),
    ("reuse-permille", 100.0, 400.0),
    ("trim-permille", 100.0, 300.0),
];

const VARIANTS: [&str; 5] = ["base", "tail", "list-v2", "list-fixed", "off"];

fn size(quick: bool) -> Size {
    match quick {
        true => Size { apps: 60, rounds: 2, seeds: 2 },
        false => Size { apps: 60, rounds: 4, seeds: 10 },
    }
}

/// The variant that a published series stands for.
fn variant(series: &str) -> &str {
    if series == "list" { "list-v2" } else { series }
}

const DIRECTIONS: &[Direction] = &[
    Direction { id: "list-anon", from: "base", to: "list-v2", figure: anon, down: true },
    Direction { id: "list-file", from: "base", to: "list-v2", figure: file, down: true },
    Direction { id: "tail-anon", from: "base", to: "tail", figure: anon, down: true },
    Direction { id: "tail-file", from: "base", to: "tail", figure: file, down: true },
];

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let values = of_apps(lab);
    let tables = ["lazyfree-list-vs-base", "lazyfree-list-vs-tail"];
    if tables.iter().chain(&["lazyfree-variants"]).any(|t| lab.wants(t)) {
        let cells = [sets(&values, size(lab.quick))];
        let runs = lab.run(NAME, SCENARIO, &cells)?.pop().expect("one cell");
        figures.findings.extend(out_of_memory(NAME, &runs));
        let wanted: Vec<&str> = tables.into_iter().filter(|t| lab.wants(t)).collect();
        figures.add(published_figures(published, &wanted, &runs));
        if lab.wants("lazyfree-variants") {
            let ages =
                ages::ages(lab, SCENARIO, &sets(&values, Size { seeds: 1, ..size(lab.quick) }))?;
            figures.rows.extend(variants(&runs, &ages));
        }
    }
    if lab.wants("lazyfree-ablation") {
        figures.rows.push(ablation(lab, published)?);
    }
    if lab.wants("mglru-lazyfree-draws") {
        let n = if lab.quick { 3 } else { 20 };
        let of = |n: u64| sets(&drawn(NAME, n, &values, RANGES), Size { rounds: 2, ..size(true) });
        let draws: Vec<_> = (1..=n).map(of).collect();
        figures.rows.extend(over_draws(lab, NAME, SCENARIO, &draws, DIRECTIONS)?);
    }
    figures.add(killer::figures(lab, published, SCENARIO, &values, size(lab.quick))?);
    figures.add(garbage::figures(lab, published)?);
    Ok(figures)
}

/// The figure of a cell for each seed.
fn simulated(runs: &[RunReport], cell: &Cell<'_>) -> BySeed {
    let figure = if cell.column().ends_with("anon") { anon } else { file };
    let of = |variant: &str| by_seed(runs, variant, figure);
    match cell.key("series").as_str() {
        "change" => {
            let before = if cell.table.id.ends_with("tail") { "tail" } else { "base" };
            changes(&of(before), &of("list-v2"))
        }
        series => of(variant(series)),
    }
}

fn published_figures(published: &Published, tables: &[&str], runs: &[RunReport]) -> Figures {
    let mut figures = Figures::default();
    for table in tables {
        for cell in published.cells(published.table(table)) {
            let by_seed = values(&simulated(runs, &cell));
            figures.rows.push(row_by_seed(&cell, &cell.column(), &by_seed));
        }
        for r in relations(published, table) {
            figures.rows.extend(relation::row(published, r, |c| Some(simulated(runs, c))));
        }
    }
    figures
}

/// Unpublished figures for each variant.
fn variants(runs: &[RunReport], ages: &[ages::Drops]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    for v in VARIANTS {
        let mut add = |quantity: &str, unit: &str, values: Vec<f64>| {
            let id = format!("lazyfree-variants/{v}/{quantity}");
            rows.push(unpublished_row(&id, quantity, unit, estimate(&values)));
        };
        for counter in [
            "workingset_refault_anon",
            "workingset_refault_file",
            "pglazyfree",
            "pglazyfreed",
            "pswpin",
            "pswpout",
        ] {
            add(counter, "pages", values(&by_seed(runs, v, |r| measured(r, counter))));
        }
        for d in ages.iter().filter(|d| d.variant == v && d.dropped > 0) {
            add("mean age at drop", "s", vec![d.mean_age_s()]);
            add("touched within 1 s of the drop", "%", vec![d.again_percent()]);
        }
    }
    rows
}

/// Without any `MADV_FREE` the knob has nothing to decide: all counters have to be equal.
fn ablation(lab: &Lab<'_>, published: &Published) -> Result<FigureRow, RunError> {
    let mut values = of_apps(lab);
    values.extend([("free-permille", 0.0), ("trim-permille", 0.0)]);
    let cell = sets(&values, Size { rounds: 2, seeds: 1, ..size(lab.quick) });
    let runs = lab.run("lazyfree-ablation", SCENARIO, &[cell])?.pop().expect("one cell");
    let same = |r: &RunReport| r.vmstat == runs[0].vmstat && r.digest == runs[0].digest;
    let equal: Vec<f64> = runs.iter().map(|r| f64::from(u8::from(same(r)))).collect();
    let expectation = published.expectation("no-madv-free-no-difference");
    let id = "lazyfree-ablation/no-madv-free-no-difference";
    let row = unpublished_row(id, "equal", "share of variants", estimate(&equal));
    Ok(FigureRow {
        demand: "1".into(),
        met: Some(equal.iter().all(|e| *e == 1.0)),
        gates: expectation.gate,
        basis: expectation.basis,
        asks: Asks::OwnBound,
        ci95: None,
        note: expectation.about.clone(),
        ..row
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    /// The scenario as it is shipped is what is run with the chosen values.
    #[test]
    fn the_scenario_is_what_is_run() {
        let lab = Lab::silent(&|_, _, _| {});
        let shipped = Scenario::from_str(SCENARIO.text, SCENARIO.path).expect("a scenario");
        let run = shipped.clone().with_sets(&sets(&of_apps(&lab), size(false)));
        let run = run.expect("values that it takes").expand(&Catalogue).expect("runs");
        assert_eq!(run, shipped.expand(&Catalogue).expect("runs"));
    }
}
