//! The rework of workingset protection in Linux 6.14: its direction.

use super::super::lab::{Lab, ScenarioFile, Sets};
use super::super::published::{Cell, Published};
use super::super::relation::{self, BySeed, values};
use super::super::{Family, Figures, row_by_seed};
use super::{PUBLISHED, by_seed, relations};
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: "mglru-6.14-rework",
    about: "the rework of workingset protection in Linux 6.14 moves pressure from files to anonymous memory",
    published: PUBLISHED,
    scenarios: &[SCENARIO],
    constants: &[],
    tables: &[TABLE],
    kernels: &[],
    left_out: &[],
    figures,
};

const TABLE: &str = "tpcc-6.14-rework";

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/mglru-6.14-rework/reader.toml",
    text: include_str!("../../../evidence/experiments/mglru-6.14-rework/reader.toml"),
};

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if !lab.wants(TABLE) {
        return Ok(figures);
    }
    let sets: Sets = if lab.quick { vec![("seeds".into(), "1".into())] } else { Vec::new() };
    let runs = lab.run(TABLE, SCENARIO, &[sets])?.pop().expect("one cell");
    let simulated = |cell: &Cell<'_>| -> Option<BySeed> {
        let count = |name: &str| {
            by_seed(&runs, &cell.column(), |r| r.vmstat.get(name).copied().unwrap_or(0) as f64)
        };
        match cell.key("quantity").as_str() {
            "transactions" => Some(by_seed(&runs, &cell.column(), |r| r.records as f64)),
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
            figures.rows.push(row_by_seed(&cell, &quantity, &values(&by_seed)));
        }
    }
    for r in relations(published, TABLE) {
        figures.rows.extend(relation::row(published, r, simulated));
    }
    Ok(figures)
}
