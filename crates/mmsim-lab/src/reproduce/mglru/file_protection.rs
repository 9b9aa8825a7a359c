//! File folios that are read and not mapped: 55 apps launched in sequence, before and after the fix.

use super::super::lab::{Constant, Lab, ScenarioFile};
use super::super::published::{Cell, Published};
use super::super::relation::{BySeed, values};
use super::super::{Family, Figures, row_by_seed, unpublished_row};
use super::open::{Direction, Range, chosen, drawn, open, over_draws};
use super::phone::{Size, sets};
use super::{PUBLISHED, anon, by_seed, changes, file, out_of_memory};
use crate::reproduce::document::FigureRow;
use mmsim::report::RunReport;
use mmsim::report::statistics::{estimate, paired_change};
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: NAME,
    about: "protection of file folios that are read and not mapped (Linux 6.8), and its parts",
    published: PUBLISHED,
    scenarios: &[SCENARIO],
    constants: CONSTANTS,
    tables: &["unmapped-55-apps", "unmapped-parts", "unmapped-map", "mglru-file-protection-draws"],
    kernels: &["6.12+place-pre6.8", "6.12+place-stock"],
    left_out: &[],
    figures,
};

const NAME: &str = "mglru-file-protection";

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/mglru-file-protection/apps.toml",
    text: include_str!("../../../evidence/experiments/mglru-file-protection/apps.toml"),
};

const CONSTANTS: &[Constant] = &[
    open("heap", 150.0, "1/10000 of memory"),
    open("mapped", 120.0, "1/10000 of memory"),
    open("read", 120.0, "1/10000 of memory"),
    open("swap", 7500.0, "1/10000 of memory"),
    open("cached", 55.0, "apps"),
    Constant {
        name: "cold-permille",
        value: 450.0,
        unit: "of 1000 launches",
        basis: "calibrated on unmapped-55-apps, series before: file over anonymous refaults, 4.49",
    },
    open("resume-permille", 400.0, "of 1000 pages"),
    open("reread-permille", 200.0, "of 1000 pages"),
];

const RANGES: &[Range] = &[
    ("heap", 100.0, 170.0),
    ("mapped", 80.0, 160.0),
    ("read", 80.0, 160.0),
    ("cold-permille", 300.0, 600.0),
    ("reread-permille", 100.0, 400.0),
];

/// Unpublished figures: the parts of the fix, and refault distance.
const PARTS: [&str; 5] = [
    "placement alone",
    "overflow protection alone",
    "restore rule alone",
    "refault distance",
    "fix and refault distance",
];

/// Apps that may stay alive, and launches of 1000 before which an app that did is killed.
const MAP: [(f64, f64); 4] = [(25.0, 0.0), (55.0, 0.0), (55.0, 200.0), (55.0, 450.0)];

const DIRECTIONS: &[Direction] =
    &[Direction { id: "file", from: "before", to: "after", figure: file, down: true }];

fn size(quick: bool) -> Size {
    match quick {
        true => Size { apps: 55, rounds: 2, seeds: 2 },
        false => Size { apps: 55, rounds: 3, seeds: 10 },
    }
}

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let values = chosen(lab, CONSTANTS);
    let [table, parts] = ["unmapped-55-apps", "unmapped-parts"];
    if lab.wants(table) || lab.wants(parts) {
        let runs = lab.run(NAME, SCENARIO, &[sets(&values, size(lab.quick))])?;
        let runs = runs.into_iter().next().expect("one cell");
        figures.findings.extend(out_of_memory(NAME, &runs));
        if lab.wants(table) {
            figures.rows.extend(published_rows(published, table, &runs));
        }
        if lab.wants(parts) {
            figures.rows.extend(part_rows(&runs));
        }
    }
    if lab.wants("unmapped-map") && !lab.quick {
        let cell = |(cached, cold): (f64, f64)| {
            let changed = [("cached", cached), ("cold-permille", cold)];
            let values = values.clone().into_iter().chain(changed).collect();
            sets(&values, Size { seeds: 3, ..size(true) })
        };
        let runs = lab.run("unmapped-map", SCENARIO, &MAP.map(cell))?;
        for (place, runs) in MAP.into_iter().zip(&runs) {
            figures.rows.extend(map_rows(place, runs));
        }
    }
    if lab.wants("mglru-file-protection-draws") {
        let n = if lab.quick { 1 } else { 20 };
        let of = |n: u64| sets(&drawn(NAME, n, &values, RANGES), size(true));
        let draws: Vec<_> = (1..=n).map(of).collect();
        figures.rows.extend(over_draws(lab, NAME, SCENARIO, &draws, DIRECTIONS)?);
    }
    Ok(figures)
}

fn simulated(runs: &[RunReport], cell: &Cell<'_>) -> BySeed {
    let figure = if cell.column().ends_with("anon") { anon } else { file };
    match cell.key("series").as_str() {
        "change" => changes(&by_seed(runs, "before", figure), &by_seed(runs, "after", figure)),
        series => by_seed(runs, series, figure),
    }
}

fn published_rows(published: &Published, table: &str, runs: &[RunReport]) -> Vec<FigureRow> {
    let row = |cell: Cell<'_>| row_by_seed(&cell, &cell.column(), &values(&simulated(runs, &cell)));
    published.cells(published.table(table)).map(row).collect()
}

/// Effects of the fix where many apps stay alive.
fn map_rows((cached, cold): (f64, f64), runs: &[RunReport]) -> Vec<FigureRow> {
    let of = |variant: &str, figure: fn(&RunReport) -> f64| by_seed(runs, variant, figure);
    let ratio: Vec<f64> = of("before", file)
        .iter()
        .zip(of("before", anon))
        .map(|((_, file), (_, anon))| file / anon)
        .collect();
    let row = |what: &str, unit: &str, figure| {
        let id = format!("unmapped-map/{cached} alive, {cold} cold/{what}");
        unpublished_row(&id, what, unit, figure)
    };
    let change = |figure| paired_change(&of("before", figure), &of("after", figure));
    vec![
        row("file over anonymous, before", "ratio", estimate(&ratio)),
        row("anonymous refaults", "%", change(anon)),
        row("file refaults", "%", change(file)),
    ]
}

fn part_rows(runs: &[RunReport]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    for variant in PARTS {
        for (name, figure) in [("anon", anon as fn(&RunReport) -> f64), ("file", file)] {
            let (before, after) = (by_seed(runs, "before", figure), by_seed(runs, variant, figure));
            let quantity = format!("workingset_refault_{name}");
            let id = format!("unmapped-parts/{variant}/{quantity}");
            let change = paired_change(&before, &after);
            rows.push(unpublished_row(&format!("{id}/change"), &quantity, "%", change));
            rows.push(unpublished_row(&id, &quantity, "refaults", estimate(&values(&after))));
        }
    }
    rows
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
        let run = shipped.clone().with_sets(&sets(&chosen(&lab, CONSTANTS), size(false)));
        let run = run.expect("values that it takes").expand(&Catalogue).expect("runs");
        assert_eq!(run, shipped.expand(&Catalogue).expect("runs"));
    }
}
