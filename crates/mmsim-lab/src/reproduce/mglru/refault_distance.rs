//! Refault distance: a database that reads from a disk that limits it, judged by transactions.
//!
//! Refaults do not judge it: whoever completes more transactions in the same time has more of them, and
//! in the mails the better run has. So they are shown for each transaction too.

use super::super::lab::{Constant, Lab, ScenarioFile, Sets};
use super::super::published::{Cell, Published};
use super::super::relation::{self, BySeed, values};
use super::super::{Family, Figures, row_by_seed, unpublished_row};
use super::open::{Direction, Range, Values, chosen, drawn, open, over_draws};
use super::{PUBLISHED, by_seed, out_of_memory, relations};
use crate::reproduce::document::FigureRow;
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: NAME,
    about: "refault distance against the fix of Linux 6.8 (2023): transactions of a reading database",
    published: PUBLISHED,
    scenarios: &[SCENARIO],
    constants: CONSTANTS,
    tables: &[
        "mongodb-stock-level",
        "mongodb-rerun-counters",
        "mongodb-variants",
        "mongodb-cyclic",
        "mglru-refault-distance-draws",
    ],
    kernels: &["6.12+place-pre6.8", "6.12+place-stock"],
    left_out: &[(
        "mongodb-rerun-generations",
        "how the pages of a machine of 32 GB lay at the end; the machine here is smaller, runs no replicas, and ends earlier, so that pages per generation say nothing of it; `lru_gen` in reports has them",
    )],
    figures,
};

const NAME: &str = "mglru-refault-distance";

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/mglru-refault-distance/reader.toml",
    text: include_str!("../../../evidence/experiments/mglru-refault-distance/reader.toml"),
};

/// Frames of the machine, and items of the database.
const FRAMES: f64 = 65_536.0;
const ITEMS: f64 = 500.0;
const BLOCK: f64 = 8.0;

const CONSTANTS: &[Constant] = &[
    open("data", 201.0, "1/100 of memory"),
    open("index", 50.0, "1/10000 of the data"),
    open("stale", 60.0, "1/100 of memory"),
    open("idle", 15.0, "1/100 of memory"),
    open("cache", 16.0, "1/100 of memory"),
];

const RANGES: &[Range] = &[
    ("data", 100.0, 300.0),
    ("index", 10.0, 200.0),
    ("stale", 40.0, 70.0),
    ("idle", 5.0, 20.0),
    ("cache", 8.0, 24.0),
];

const VARIANTS: [&str; 4] = ["unpatched", "fix", "refault distance", "fix and refault distance"];

const DIRECTIONS: &[Direction] = &[
    Direction { id: "fix", from: "unpatched", to: "fix", figure: transactions, down: false },
    Direction {
        id: "refault-distance",
        from: "fix",
        to: "refault distance",
        figure: transactions,
        down: false,
    },
];

fn transactions(run: &RunReport) -> f64 {
    run.records as f64
}

fn refaults(run: &RunReport, kind: &str) -> f64 {
    run.vmstat.get(&format!("workingset_refault_{kind}")).copied().unwrap_or(0) as f64
}

/// What values put into the scenario.
fn sets(values: &Values, seeds: u32) -> Sets {
    let set = |path: &str, pages: f64| (path.to_string(), format!("{} pages", pages.round()));
    let share = |name: &str| FRAMES * values[name] / 100.0;
    let item = (share("data") / ITEMS / BLOCK).round().max(1.0) * BLOCK;
    vec![
        ("seeds".into(), seeds.to_string()),
        set("task[0].item", item),
        ("task[0].index-reads".into(), (item / BLOCK).to_string()),
        set("task[0].index", FRAMES * 2.0 * values["index"] / 10_000.0),
        set("task[0].stale", share("stale")),
        set("task[0].idle", share("idle")),
        set("task[1].memory", share("cache")),
    ]
}

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let values = chosen(lab, CONSTANTS);
    let seeds = if lab.quick { 2 } else { 10 };
    let [table, counters, variants] =
        ["mongodb-stock-level", "mongodb-rerun-counters", "mongodb-variants"];
    if [table, counters, variants].iter().any(|t| lab.wants(t)) {
        let runs = lab.run(NAME, SCENARIO, &[sets(&values, seeds)])?;
        let runs = runs.into_iter().next().expect("one cell");
        figures.findings.extend(out_of_memory(NAME, &runs));
        for t in [table, counters].into_iter().filter(|t| lab.wants(t)) {
            figures.rows.extend(published_rows(published, t, &runs));
        }
        if lab.wants(variants) {
            figures.rows.extend(variant_rows("mongodb-variants", &runs));
        }
    }
    if lab.wants("mongodb-cyclic") {
        let mut cell = sets(&values, seeds);
        cell.push(("task[0].choice".into(), "cyclic".into()));
        let runs = lab.run("mongodb-cyclic", SCENARIO, &[cell])?.pop().expect("one cell");
        figures.rows.extend(variant_rows("mongodb-cyclic", &runs));
    }
    if lab.wants("mglru-refault-distance-draws") {
        let n = if lab.quick { 3 } else { 20 };
        let draws: Vec<Sets> = (1..=n).map(|n| sets(&drawn(NAME, n, &values, RANGES), 1)).collect();
        figures.rows.extend(over_draws(lab, NAME, SCENARIO, &draws, DIRECTIONS)?);
    }
    Ok(figures)
}

/// The variant that a published run stands for.
fn variant(run: &str) -> &'static str {
    match run.trim_end_matches("_rerun").trim_end_matches("_v3") {
        "refault_distance" => "refault distance",
        "unmapped_placement" => "fix",
        _ => "unpatched",
    }
}

/// Transactions and refaults; times and rates follow from the transactions.
fn simulated(runs: &[RunReport], cell: &Cell<'_>) -> Option<BySeed> {
    let of = variant(&cell.key("run"));
    match cell.column().as_str() {
        "executed" => Some(by_seed(runs, of, transactions)),
        "workingset_refault_anon" => Some(by_seed(runs, of, |r| refaults(r, "anon"))),
        "workingset_refault_file" => Some(by_seed(runs, of, |r| refaults(r, "file"))),
        _ => None,
    }
}

fn published_rows(published: &Published, table: &str, runs: &[RunReport]) -> Vec<FigureRow> {
    let row = |cell: Cell<'_>| {
        Some(row_by_seed(&cell, &cell.column(), &values(&simulated(runs, &cell)?)))
    };
    let cells = published.cells(published.table(table)).filter_map(row);
    let between = relations(published, table)
        .filter_map(|r| relation::row(published, r, |c| simulated(runs, c)));
    cells.chain(between).collect()
}

fn variant_rows(table: &str, runs: &[RunReport]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    for v in VARIANTS {
        let mut add = |quantity: &str, unit: &str, figure: &dyn Fn(&RunReport) -> f64| {
            let id = format!("{table}/{v}/{quantity}, {unit}");
            rows.push(unpublished_row(
                &id,
                quantity,
                unit,
                estimate(&values(&by_seed(runs, v, figure))),
            ));
        };
        add("executed", "transactions", &transactions);
        add("file refaults", "refaults", &|r| refaults(r, "file"));
        add("file refaults", "each transaction", &|r| refaults(r, "file") / transactions(r));
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
        let run = shipped.clone().with_sets(&sets(&chosen(&lab, CONSTANTS), 10));
        let run = run.expect("values that it takes").expand(&Catalogue).expect("runs");
        assert_eq!(run, shipped.expand(&Catalogue).expect("runs"));
    }

    #[test]
    fn published_runs_stand_for_variants() {
        let p = Published::read(PUBLISHED);
        let of: Vec<&str> = p
            .table("mongodb-stock-level")
            .rows
            .iter()
            .map(|r| variant(r.keys["run"].as_str().expect("a name")))
            .collect();
        let [u, f, d] = ["unpatched", "fix", "refault distance"];
        assert_eq!(of, [u, d, f, u, d, f]);
    }
}
