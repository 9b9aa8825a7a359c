//! The test in which a second hot set must be detected.

use super::super::demand::CellRef;
use super::super::demand::{Basis, band_words, in_band};
use super::super::lab::{Constant, Lab, ScenarioFile, by_seed};
use super::super::published::Published;
use super::super::{Figures, row};
use super::{counter, set};
use crate::reproduce::document::FigureRow;
use mmsim::report::statistics::{Estimate, estimate};
use mmsim::run::RunError;

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/anon-workingset/detection.toml",
    text: include_str!("../../../evidence/experiments/anon-workingset/detection.toml"),
};

/// How often cold and second hot memory are read.
pub(super) const REPETITIONS: Constant = Constant {
    name: "repetitions",
    value: 15.0,
    unit: "rounds",
    basis: "calibrated on detection-swap-traffic: 863240 swap-ins are 15.05 rounds of 57344 pages",
};

const TABLE: &str = "detection-swap-traffic";
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
    if !lab.wants(TABLE) {
        return Ok(figures);
    }
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
