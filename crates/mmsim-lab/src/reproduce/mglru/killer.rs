//! Apps that are killed by memory pressure instead of by chance, as Android's `lmkd` would.
//!
//! Stalls grow with the pages of an app, and the machine is a small phone: `lmkd`'s 70 ms a second
//! are 2.2 ms on a machine of 256 MiB that stands for one of 8 GiB. Beside it are thresholds that
//! are low enough to be reached, and no killer at all.

use super::super::lab::{Constant, Lab, ScenarioFile};
use super::super::published::Published;
use super::super::relation::values;
use super::super::{Figures, unpublished_row};
use super::open::Values;
use super::phone::{Size, sets};
use super::{anon, by_seed, changes, file, measured};
use crate::reproduce::demand::Basis;
use crate::reproduce::document::FigureRow;
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

pub(super) const TABLE: &str = "lazyfree-killer";

/// `lmkd`'s threshold of partial stalls, in microseconds of this machine.
pub(super) const STALL: Constant = Constant {
    name: "killer-stall",
    value: 2200.0,
    unit: "us of a second",
    basis: "70 ms of lmkd, by 256 MiB over 8 GiB; no published figure",
};
/// The heap of an app with which the base has the published ratio under that threshold.
pub(super) const HEAP: Constant = Constant {
    name: "killer-heap",
    value: 205.0,
    unit: "1/10000 of memory",
    basis: "calibrated on lazyfree-list-vs-base, series base: file over anonymous refaults, 2.19",
};

/// Thresholds that are reached, in microseconds.
const REACHED: [u64; 2] = [300, 200];

const LARGER: &str = "larger heaps";
const RATIO: &str = "base file over anon";

/// The base, and what patches do, for each threshold, from `values` without chance.
pub(super) fn figures(
    lab: &Lab<'_>,
    published: &Published,
    scenario: ScenarioFile,
    values: &Values,
    size: Size,
) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if lab.quick || !lab.wants(TABLE) {
        return Ok(figures);
    }
    let mut without_chance = values.clone();
    without_chance.insert("cold-permille", 0.0);
    let mut of_heap = without_chance.clone();
    of_heap.insert("heap", lab.value(&HEAP));
    let stall = lab.value(&STALL).round() as u64;
    let mut rows = vec![("no killer".to_string(), &without_chance, None)];
    rows.extend(
        [stall].iter().chain(&REACHED).map(|&us| (format!("{us} us"), &without_chance, Some(us))),
    );
    rows.push((LARGER.to_string(), &of_heap, Some(stall)));
    let cell = |(_, values, stall): &(String, &Values, Option<u64>)| {
        let mut cell = sets(values, size);
        cell.extend(stall.map(|us| ("task[0].psi-partial-stall".into(), format!("{us}us"))));
        cell
    };
    let cells: Vec<_> = rows.iter().map(cell).collect();
    let runs = lab.run(TABLE, scenario, &cells)?;
    for ((name, ..), runs) in rows.iter().zip(&runs) {
        figures.rows.extend(of_threshold(name, runs));
    }
    // The last heaps were chosen by this.
    let fitted = format!("{TABLE}/{LARGER}/{RATIO}");
    let ratio = figures.rows.iter_mut().find(|r| r.id == fitted).expect("a row of it");
    ratio.published = published.relation("base-file-over-anon").published;
    ratio.basis = Basis::Calibrated;
    Ok(figures)
}

fn of_threshold(name: &str, runs: &[RunReport]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    let mut add = |what: &str, unit: &str, values: &[f64]| {
        rows.push(unpublished_row(&format!("{TABLE}/{name}/{what}"), what, unit, estimate(values)));
    };
    let of_base = |figure: fn(&RunReport) -> f64| values(&by_seed(runs, "base", figure));
    let ratio: Vec<f64> =
        of_base(file).iter().zip(of_base(anon)).map(|(file, anon)| file / anon).collect();
    add(RATIO, "", &ratio);
    add("base pglazyfree", "pages", &of_base(|r| measured(r, "pglazyfree")));
    for variant in ["list-v2", "tail"] {
        for (type_, figure) in [("anon", anon as fn(&RunReport) -> f64), ("file", file)] {
            let of = |variant| by_seed(runs, variant, figure);
            let change = changes(&of("base"), &of(variant));
            add(&format!("{variant} {type_}"), "%", &values(&change));
        }
    }
    rows
}
