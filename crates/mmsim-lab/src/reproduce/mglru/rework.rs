//! The rework of workingset protection in Linux 6.14: its direction.

use super::super::lab::{Lab, ScenarioFile, Sets};
use super::super::published::{Cell, Published};
use super::super::relation::{self, BySeed, values};
use super::super::{Family, Figures, row_by_seed, unpublished_row};
use super::{PUBLISHED, by_seed, relations};
use crate::reproduce::document::FigureRow;
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: "mglru-6.14-rework",
    about: "the rework of workingset protection in Linux 6.14 moves pressure from files to anonymous memory",
    published: PUBLISHED,
    scenarios: &[SCENARIO],
    constants: &[],
    tables: &[TABLE, PARTS, MAP],
    kernels: &[],
    left_out: &[],
    figures,
};

const TABLE: &str = "tpcc-6.14-rework";
const PARTS: &str = "tpcc-parts";
const MAP: &str = "tpcc-map";

/// Choices of items on the map, with the exponent of the law, and the number of items.
const CHOICES: [(&str, &str, f64); 3] =
    [("uniform", "zipf", 0.0), ("zipf 0.8", "zipf", 0.8), ("in turn", "cyclic", 0.0)];
const ITEMS: [u32; 3] = [211, 273, 500];

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/mglru-6.14-rework/reader.toml",
    text: include_str!("../../../evidence/experiments/mglru-6.14-rework/reader.toml"),
};

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if [TABLE, PARTS].iter().any(|t| lab.wants(t)) {
        let sets: Sets = if lab.quick { vec![("seeds".into(), "1".into())] } else { Vec::new() };
        let runs = lab.run(TABLE, SCENARIO, &[sets])?.pop().expect("one cell");
        if lab.wants(TABLE) {
            figures.rows.extend(published_rows(published, &runs));
        }
        if lab.wants(PARTS) {
            figures.rows.extend(refaults(
                PARTS,
                &runs,
                &["before, types apart", "after, types together"],
            ));
        }
    }
    if lab.wants(MAP) && !lab.quick {
        figures.rows.extend(map(lab)?);
    }
    Ok(figures)
}

/// Effects of the rework by the choice of items, and by their number.
fn map(lab: &Lab<'_>) -> Result<Vec<FigureRow>, RunError> {
    let places: Vec<_> = CHOICES.iter().flat_map(|c| ITEMS.map(|items| (c, items))).collect();
    let cell = |((_, choice, theta), items): &(&(&str, &str, f64), u32)| -> Sets {
        let set = |key: &str, value: String| (format!("task[0].{key}"), value);
        let mut sets = vec![set("choice", choice.to_string()), set("items", items.to_string())];
        if *theta > 0.0 {
            sets.push(set("theta", theta.to_string()));
        }
        sets
    };
    let cells: Vec<Sets> = places.iter().map(cell).collect();
    let mut rows = Vec::new();
    for (((choice, ..), items), runs) in places.iter().zip(lab.run(MAP, SCENARIO, &cells)?) {
        let place = format!("{MAP}/{choice}, {items} items");
        rows.extend(refaults(&place, &runs, &["before", "after"]));
    }
    Ok(rows)
}

/// Refaults of both kinds of variants.
fn refaults(place: &str, runs: &[RunReport], variants: &[&str]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    for kind in ["anon", "file"] {
        let count = |r: &RunReport| {
            r.vmstat.get(&format!("workingset_refault_{kind}")).copied().unwrap_or(0) as f64
        };
        for variant in variants {
            let id = format!("{place}/{kind}, {variant}");
            let figure = estimate(&values(&by_seed(runs, variant, count)));
            rows.push(unpublished_row(&id, &format!("refaults, {kind}"), "refaults", figure));
        }
    }
    rows
}

fn published_rows(published: &Published, runs: &[RunReport]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    let simulated = |cell: &Cell<'_>| -> Option<BySeed> {
        let count = |name: &str| {
            by_seed(runs, &cell.column(), |r| r.vmstat.get(name).copied().unwrap_or(0) as f64)
        };
        match cell.key("quantity").as_str() {
            "transactions" => Some(by_seed(runs, &cell.column(), |r| r.records as f64)),
            "workingset_refault_total" => {
                let file = count("workingset_refault_file").into_iter();
                let sum = file.zip(count("workingset_refault_anon"));
                Some(sum.map(|((seed, f), (_, a))| (seed, f + a)).collect())
            }
            "workingset_nodes" => None,
            refaults => Some(count(refaults)),
        }
    };
    for cell in published.cells(published.table(TABLE)) {
        if let Some(by_seed) = simulated(&cell) {
            let quantity = cell.key("quantity");
            rows.push(row_by_seed(&cell, &quantity, &values(&by_seed)));
        }
    }
    for r in relations(published, TABLE) {
        rows.extend(relation::row(published, r, simulated));
    }
    rows
}
