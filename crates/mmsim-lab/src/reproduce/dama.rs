//! Who takes pages from a program that uses its regions in turns: DAMON_RECLAIM with several minimal ages,
//! kswapd, or allocators themselves (Liew Rui Yan, linux-mm, June 2026).
//!
//! The mail compares a tuner of `min_age` with two fixed values and with a machine without DAMON. The
//! tuner in that state is not published, so the value that it begins with stands in for it.
//! Neither the machine nor the regions are given: the size of a region is fixed by the column without
//! DAMON, and the other three are predictions.

use super::demand::Kind;
use super::lab::{Constant, Lab, ScenarioFile, Sets};
use super::published::{Cell, Published};
use super::relation::{self, BySeed, values};
use super::{Family, Figures, row_by_seed};
use crate::reproduce::document::FigureRow;
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: "dama",
    about: "DAMON_RECLAIM with several minimal ages, beside kswapd (2026)",
    published: include_str!("../../evidence/published/dama.toml"),
    scenarios: &[SCENARIO],
    constants: CONSTANTS,
    tables: &[TABLE],
    kernels: &[],
    left_out: &[],
    figures,
};

const TABLE: &str = "dama-pages";
const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/dama/min-age.toml",
    text: include_str!("../../evidence/experiments/dama/min-age.toml"),
};
const CONSTANTS: &[Constant] = &[Constant {
    name: "region",
    value: 169_000.0,
    unit: "pages",
    basis: "pages that kswapd took without DAMON",
}];
/// Bytes of a page.
const PAGE: u64 = 4096;
/// Rounds of the two patterns, and in the quick subset.
const QUICK_ROUNDS: u64 = 2;

/// Settings of the scenario from the constants.
fn sets(lab: &Lab<'_>) -> Sets {
    let pages = lab.value(&CONSTANTS[0]).round() as u64;
    let mut sets: Sets = Vec::new();
    let mut set = |path: String, pages: u64| sets.push((path, format!("{pages} pages")));
    for region in ["a", "b", "c", "d"] {
        set(format!("task[0].regions.{region}.memory"), pages);
    }
    let step = |i: usize| format!("task[0].steps[4].steps[{i}].steps[0].size");
    set(step(1), pages / 10);
    (2..6).for_each(|i| set(step(i), pages * 95 / 100));
    if lab.quick {
        sets.push(("task[0].steps[4].times".into(), QUICK_ROUNDS.to_string()));
        sets.push(("seeds".into(), "1".into()));
    }
    sets
}

/// Pages that were taken, for each seed.
fn taken(runs: &[RunReport], cell: &Cell<'_>) -> BySeed {
    let count = |r: &RunReport, name: &str| r.vmstat.get(name).copied().unwrap_or(0);
    let of = |r: &RunReport| match cell.key("by").as_str() {
        "kswapd" => count(r, "pgsteal_kswapd"),
        "direct" => count(r, "pgsteal_direct"),
        _ => r.damon.iter().flat_map(|d| &d.schemes).map(|s| s.sz_applied / PAGE).sum(),
    };
    let wanted = runs.iter().filter(|r| r.variant == cell.column());
    wanted.map(|r| (r.seed, of(r) as f64)).collect()
}

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if !lab.wants(TABLE) {
        return Ok(figures);
    }
    let runs = lab.run(TABLE, SCENARIO, &[sets(lab)])?.pop().expect("one cell");
    for cell in published.cells(published.table(TABLE)) {
        let by_seed = values(&taken(&runs, &cell));
        let row = row_by_seed(&cell, "reclaimed", &by_seed);
        let near = cell.demand.near.as_ref().filter(|_| cell.demand.kind == Kind::NearCell);
        let near = near.and_then(|n| estimate(&values(&taken(&runs, &published.cell(n)))));
        let met = match near.zip(row.simulated) {
            Some((n, s)) => Some(cell.demand.met_near(n.mean, s)),
            None => row.met,
        };
        // Fewer rounds take fewer pages.
        let met = met.filter(|_| !lab.quick);
        figures.rows.push(FigureRow { met, ..row });
    }
    for r in &published.relations {
        figures.rows.extend(relation::row(published, r, |c| Some(taken(&runs, c))));
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    /// The constants are those of the shipped scenario, and every column has its variant.
    #[test]
    fn the_scenario_is_what_is_run() {
        let lab = Lab::silent(&|_, _, _| {});
        let shipped = Scenario::from_str(SCENARIO.text, SCENARIO.path).expect("a scenario");
        let runs = shipped.clone().with_sets(&sets(&lab)).expect("values that it takes");
        let runs = runs.expand(&Catalogue).expect("runs");
        assert_eq!(runs, shipped.expand(&Catalogue).expect("runs"));
        let published = Published::read(FAMILY.published);
        for cell in published.cells(published.table(TABLE)) {
            assert!(runs.iter().any(|r| r.variant == cell.column()), "{}", cell.id());
        }
    }
}
