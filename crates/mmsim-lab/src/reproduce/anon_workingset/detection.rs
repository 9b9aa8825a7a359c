//! The test in which a second hot set must be detected.

use super::super::demand::CellRef;
use super::super::demand::{Basis, band_words, in_band};
use super::super::lab::{Constant, Lab, ScenarioFile, Sets, by_seed};
use super::super::published::Published;
use super::super::{Figures, row, unpublished_row};
use super::{counter, set};
use crate::reproduce::document::{Asks, FigureRow};
use mmsim::report::statistics::{Estimate, estimate};
use mmsim::run::RunError;
use mmsim::scenario::RunSpec;

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/anon-workingset/detection.toml",
    text: include_str!("../../../evidence/experiments/anon-workingset/detection.toml"),
};

/// Number of times that cold and second hot memory are read.
pub(super) const REPETITIONS: Constant = Constant {
    name: "repetitions",
    value: 15.0,
    unit: "rounds",
    basis: "calibrated on detection-swap-traffic: 863240 swap-ins are 15.05 rounds of 57344 pages",
};

const TABLE: &str = "detection-swap-traffic";
const OVER_MEMORY: &str = "detection-memory";
/// Memory of the machine, and of it what the program can have, in MiB.
const MACHINE_MIB: u64 = 6100;
const USABLE_MIB: [u64; 8] = [300, 280, 270, 260, 256, 254, 252, 245];
/// Which step of the scenario repeats.
const REPEAT: &str = "task[0].steps[6].times";

/// The variant that a published series stands for.
fn variant(series: &str) -> &'static str {
    if series == "base" { "protection" } else { "detection" }
}

fn counter_of(column: &str) -> &'static str {
    if column == "swap_in" { "pswpin" } else { "pswpout" }
}

pub(super) fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if lab.wants(TABLE) {
        figures.add(table(lab, published)?);
    }
    if lab.wants(OVER_MEMORY) && !lab.quick {
        figures.add(over_memory(lab)?);
    }
    Ok(figures)
}

/// The same over the memory that the program can have: the mail says "about 280 MB".
fn over_memory(lab: &Lab<'_>) -> Result<Figures, RunError> {
    let rounds = lab.value(&REPETITIONS).round() as u64;
    let cell = |usable: &u64| {
        vec![
            set(REPEAT, rounds),
            set("machine.os-overhead", format!("{}MiB", MACHINE_MIB - usable)),
        ]
    };
    let cells: Vec<Sets> = USABLE_MIB.iter().map(cell).collect();
    let wanted =
        |_: usize, spec: &RunSpec| ["protection", "detection"].contains(&spec.variant.as_str());
    let runs = lab.run_wanted(OVER_MEMORY, SCENARIO, &cells, wanted)?;
    let mut figures = Figures::default();
    for (usable, runs) in USABLE_MIB.iter().zip(&runs) {
        for variant in ["protection", "detection"] {
            let swapped: Vec<f64> =
                by_seed(runs, variant, |r| counter(r, "pswpin")).iter().map(|v| v.1).collect();
            let id = format!("{OVER_MEMORY}/{usable}/{variant}");
            figures.rows.push(unpublished_row(&id, "pswpin", "pages", estimate(&swapped)));
        }
    }
    Ok(figures)
}

fn table(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let sets = vec![set(REPEAT, lab.value(&REPETITIONS).round() as u64)];
    let runs = lab.run(TABLE, SCENARIO, &[sets])?.pop().expect("one cell");
    let figure = |variant: &str, column: &str| -> Option<Estimate> {
        let values = by_seed(&runs, variant, |r| counter(r, counter_of(column)));
        estimate(&values.iter().map(|v| v.1).collect::<Vec<_>>())
    };
    for cell in published.cells(published.table(TABLE)) {
        let column = cell.column();
        let simulated = figure(variant(&cell.key("series")), &column);
        let mut row = row(&cell, counter_of(&column), simulated);
        // The number of rounds was chosen by it.
        if (cell.key("series").as_str(), column.as_str()) == ("base", "swap_in") {
            row.basis = Basis::Calibrated;
        }
        figures.rows.push(row);
    }
    for r in &published.relations {
        let sum = |cells: &[CellRef]| -> f64 {
            let of = |c: &CellRef| {
                let cell = published.cell(c);
                figure(variant(&cell.key("series")), &cell.column()).map_or(0.0, |e| e.mean)
            };
            cells.iter().map(of).sum()
        };
        let ratio = sum(&r.numerator) / sum(&r.denominator);
        figures.rows.push(FigureRow {
            id: format!("{TABLE}/{}", r.id),
            quantity: r.about.clone(),
            unit: "ratio".into(),
            published: r.published,
            deviation: None,
            simulated: Some(ratio),
            ci95: None,
            seeds: 1,
            demand: band_words(r.low, r.high, r.open),
            met: Some(in_band(ratio, r.low, r.high, r.open)),
            gates: r.gate.unwrap_or(true),
            basis: r.basis,
            asks: Asks::Direction,
            note: String::new(),
        });
    }
    let total = |v: &str| figure(v, "swap_in").map_or(0.0, |e| e.mean);
    figures.findings.push(format!(
        "Detection test, swap-ins: {:.0} under v5.5, {:.0} with protection alone, {:.0} with the series as \
         posted, whose slip compares anonymous refaults with the active file list, and {:.0} with \
         the slip corrected.",
        total("v5.5"),
        total("protection"),
        total("as-posted"),
        total("detection"),
    ));
    Ok(figures)
}
