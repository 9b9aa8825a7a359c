//! The remark on kernel builds, which is the reason of patch 9, and what its reviewer
//! proposed instead.

use super::super::lab::{Lab, ScenarioFile, Sets, by_seed};
use super::super::published::Published;
use super::super::{Figures, unpublished_row};
use super::{counter, set};
use crate::reproduce::document::{Asks, FigureRow};
use mmsim::report::RunReport;
use mmsim::report::statistics::{Estimate, estimate, paired_change};
use mmsim::run::RunError;

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "scenarios/kernel-build.toml",
    text: include_str!("../../../scenarios/kernel-build.toml"),
};

const TABLE: &str = "kernel-build";
const WITHOUT: &str = "without patch 9";
const POSTED: &str = "as posted";
/// Sizes of memory: the scenario's own, and one that is tight; the mail names no machine.
const MEMORY_MIB: [u64; 2] = [512, 416];

pub(super) fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if !lab.wants(TABLE) || lab.quick {
        return Ok(figures);
    }
    let cell = |m: &u64| vec![set("machine.memory", format!("{m}MiB")), set("seeds", 3)];
    let cells: Vec<Sets> = MEMORY_MIB.iter().map(cell).collect();
    let runs = lab.run(TABLE, SCENARIO, &cells)?;
    let claim = published.claims.iter().find(|c| c.id == "kernel-build-regression");
    let claim = claim.expect("the claim on kernel builds");
    let demand = published.demand(&claim.demand);
    for (memory, runs) in MEMORY_MIB.iter().zip(&runs) {
        for variant in ["v5.5", WITHOUT, POSTED, "without the leak", "as its reviewer proposed"] {
            let scanned = estimate(&values(&by_seed(runs, variant, scanned)));
            figures.rows.push(row(memory, &format!("{variant}/pgscan_anon"), "pages", scanned));
        }
        // More scanning without the patch than with it, whatever the seed.
        let (more, less) = (by_seed(runs, WITHOUT, scanned), by_seed(runs, POSTED, scanned));
        let difference: Vec<f64> = more.iter().zip(&less).map(|(m, l)| m.1 - l.1).collect();
        let mut scans =
            row(memory, "pgscan_anon without patch 9", "pages more", estimate(&difference));
        scans.demand = format!("{}, with every seed", demand.words("pages"));
        scans.asks = Asks::Direction;
        scans.met = scans.simulated.map(|_| difference.iter().all(|d| *d > 0.0));
        figures.rows.push(scans);
        let time = |v: &str| by_seed(runs, v, |r| r.sim_time_ns as f64);
        let slower = paired_change(&time(POSTED), &time(WITHOUT));
        let mut regression = row(memory, &claim.id, "%", slower);
        regression.note = format!(
            "published: {} to {} % slower without patch 9, on a machine that is not named",
            claim.low.unwrap_or_default(),
            claim.high.unwrap_or_default()
        );
        figures.rows.push(regression);
    }
    Ok(figures)
}

fn scanned(run: &RunReport) -> f64 {
    counter(run, "pgscan_anon")
}

fn values(by_seed: &[(u64, f64)]) -> Vec<f64> {
    by_seed.iter().map(|v| v.1).collect()
}

/// A figure that was not published.
fn row(memory: &u64, quantity: &str, unit: &str, simulated: Option<Estimate>) -> FigureRow {
    unpublished_row(&format!("{TABLE}/{memory}/{quantity}"), quantity, unit, simulated)
}
