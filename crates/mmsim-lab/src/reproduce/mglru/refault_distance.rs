//! Refault distance: a database that reads from a disk that limits it, judged by transactions.
//!
//! Kernels differ in how many bits of a folio count accesses, and the published fix depends on it: the
//! author of refault distance measured it with one bit, and once more with two. So do the variants.
//!
//! Refaults do not judge it: whoever completes more transactions in the same time has more of them, and
//! in the mails the better run has. So they are shown for each transaction too.

use super::super::lab::{Constant, Lab, ScenarioFile, Sets};
use super::super::published::{Cell, Published};
use super::super::relation::{self, BySeed};
use super::super::{Family, Figures, row_by_seed, unpublished_row};
use super::open::{Direction, Range, Values, chosen, drawn, open, over_draws};
use super::{PUBLISHED, by_seed, out_of_memory, relations};
use crate::reproduce::document::FigureRow;
use mmsim::report::statistics::{estimate, paired_change};
use mmsim::report::{GenerationReport, RunReport};
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
        "mongodb-two-bits",
        "mongodb-rerun-counters",
        "mongodb-variants",
        "mongodb-map",
        "mongodb-generations",
        "mglru-refault-distance-draws",
    ],
    kernels: &["6.12+place-pre6.8", "6.12+place-stock"],
    left_out: &[(
        "mongodb-rerun-generations",
        "how the pages of a machine of 32 GB lay at the end; the machine here is smaller, runs no replicas, and ends earlier, so that pages per generation say nothing of it; mongodb-generations has those of the machine here",
    )],
    figures,
};

const NAME: &str = "mglru-refault-distance";

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/mglru-refault-distance/reader.toml",
    text: include_str!("../../../evidence/experiments/mglru-refault-distance/reader.toml"),
};

/// Frames of the machine, and pages of an item and of a block.
const FRAMES: f64 = 65_536.0;
const ITEM: f64 = 264.0;

const CONSTANTS: &[Constant] = &[
    open("data", 85.0, "1/100 of memory"),
    open("index", 50.0, "1/10000 of twice memory"),
    open("stale", 150.0, "1/100 of memory"),
    open("idle", 5.0, "1/100 of memory"),
    open("cache", 16.0, "1/100 of memory"),
];

const RANGES: &[Range] = &[
    ("data", 85.0, 120.0),
    ("index", 10.0, 200.0),
    ("stale", 110.0, 200.0),
    ("idle", 5.0, 31.0),
    ("cache", 8.0, 24.0),
];

const VARIANTS: [&str; 6] = [
    "unpatched",
    "fix",
    "refault distance",
    "fix and refault distance",
    "fix, two bits",
    "refault distance, two bits",
];

/// The map: how items are chosen, and sizes of the data in 1/100 of memory. Where uniform draws find
/// nearly all data in memory, no disk limits them.
const MAP: [(&str, &[f64]); 2] =
    [("cyclic", &[85.0, 90.0, 95.0, 110.0, 201.0]), ("zipf", &[95.0, 110.0, 201.0])];

/// Ends of phases at which generations are looked at.
const LOOKS: [(&str, &str); 3] =
    [("start", "db/populate"), ("half", "db/access2"), ("end", "db/access4")];

const DIRECTIONS: &[Direction] = &[
    Direction { id: "fix", from: "unpatched", to: "fix", figure: transactions, down: false },
    Direction {
        id: "fix-two-bits",
        from: "unpatched",
        to: "fix, two bits",
        figure: transactions,
        down: false,
    },
    Direction {
        id: "refault-distance-over-unpatched",
        from: "unpatched",
        to: "refault distance",
        figure: transactions,
        down: false,
    },
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

/// Settings of the scenario from values.
fn sets(values: &Values, seeds: u32) -> Sets {
    let set = |path: &str, pages: f64| (path.to_string(), format!("{} pages", pages.round()));
    let share = |name: &str| FRAMES * values[name] / 100.0;
    vec![
        ("seeds".into(), seeds.to_string()),
        ("task[0].items".into(), (share("data") / ITEM).round().to_string()),
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
    let published_tables = ["mongodb-stock-level", "mongodb-two-bits", "mongodb-rerun-counters"];
    let variants = "mongodb-variants";
    if published_tables.iter().chain([&variants]).any(|t| lab.wants(t)) {
        let runs = lab.run(NAME, SCENARIO, &[sets(&values, seeds)])?;
        let runs = runs.into_iter().next().expect("one cell");
        figures.findings.extend(out_of_memory(NAME, &runs));
        for t in published_tables.into_iter().filter(|t| lab.wants(t)) {
            figures.rows.extend(published_rows(published, t, &runs));
        }
        if lab.wants(variants) {
            figures.rows.extend(variant_rows(variants, &runs));
        }
    }
    if lab.wants("mongodb-map") && !lab.quick {
        figures.rows.extend(map(lab, &values)?);
    }
    if lab.wants("mongodb-generations") && !lab.quick {
        let mut cell = sets(&values, 1);
        cell.push(("task[0].windows".into(), "4".into()));
        let runs = lab.run("mongodb-generations", SCENARIO, &[cell])?.pop().expect("one cell");
        figures.rows.extend(generations(&runs));
    }
    if lab.wants("mglru-refault-distance-draws") {
        let n = if lab.quick { 1 } else { 20 };
        let draws: Vec<Sets> = (1..=n).map(|n| sets(&drawn(NAME, n, &values, RANGES), 1)).collect();
        figures.rows.extend(over_draws(lab, NAME, SCENARIO, &draws, DIRECTIONS)?);
    }
    Ok(figures)
}

/// The variant that a published run stands for.
fn variant(run: &str) -> &'static str {
    match run.trim_end_matches("_rerun").trim_end_matches("_v3") {
        "refault_distance_two_bits" => "refault distance, two bits",
        "unmapped_placement_two_bits" => "fix, two bits",
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
        Some(row_by_seed(&cell, &cell.column(), &relation::values(&simulated(runs, &cell)?)))
    };
    let cells = published.cells(published.table(table)).filter_map(row);
    let between = relations(published, table)
        .filter_map(|r| relation::row(published, r, |c| simulated(runs, c)));
    cells.chain(between).collect()
}

/// Changes of transactions against the unpatched kernel, by choice of items and size of the data.
fn map(lab: &Lab<'_>, values: &Values) -> Result<Vec<FigureRow>, RunError> {
    let mut rows = Vec::new();
    for (choice, data) in MAP {
        let cell = |data: &f64| {
            let mut sets =
                sets(&Values::from_iter(values.clone().into_iter().chain([("data", *data)])), 3);
            sets.push(("task[0].choice".into(), choice.into()));
            sets
        };
        let cells: Vec<Sets> = data.iter().map(cell).collect();
        for (data, runs) in data.iter().zip(lab.run("mongodb-map", SCENARIO, &cells)?) {
            let of = |v: &str| by_seed(&runs, v, transactions);
            let place = format!("mongodb-map/{choice}/{data}");
            let base = estimate(&relation::values(&of("unpatched")));
            rows.push(unpublished_row(
                &format!("{place}/unpatched"),
                "executed",
                "transactions",
                base,
            ));
            for v in &VARIANTS[1..] {
                let change = paired_change(&of("unpatched"), &of(v));
                rows.push(unpublished_row(&format!("{place}/{v}"), "executed", "%", change));
            }
        }
    }
    Ok(rows)
}

fn files(generations: &[GenerationReport]) -> u64 {
    generations.iter().map(|g| g.nr_file).sum()
}

/// File pages of the oldest generation that has any.
fn oldest(generations: &[GenerationReport]) -> u64 {
    generations.iter().map(|g| g.nr_file).find(|n| *n > 0).unwrap_or(0)
}

/// Pages of files in per cent of memory.
fn files_of(generations: &[GenerationReport], of: fn(&[GenerationReport]) -> u64) -> f64 {
    of(generations) as f64 * 100.0 / FRAMES
}

/// Contents of generations before the clients start, after half of their time, and at the end, the
/// variants beside each other.
fn generations(runs: &[RunReport]) -> Vec<FigureRow> {
    type Of = fn(&[GenerationReport]) -> f64;
    let mut rows = Vec::new();
    for (when, phase) in LOOKS {
        for (what, unit, of) in [
            ("oldest", "% of memory", (|g| files_of(g, oldest)) as Of),
            ("younger", "% of memory", |g| files_of(g, files) - files_of(g, oldest)),
            ("max-seq", "number", |g| g.iter().map(|g| g.seq).max().unwrap_or(0) as f64),
        ] {
            for (v, short) in VARIANTS.iter().zip(["unpatched", "fix", "distance", "both"]) {
                let run = runs.iter().find(|r| r.variant == *v).expect("all variants were run");
                let at = run.phases.iter().find(|p| p.name == phase).expect("the phase ended");
                let id = format!("mongodb-generations/{when}/{what}/{short}");
                let figure = estimate(&[of(&at.lru_gen)]);
                let quantity = if what == "max-seq" { "youngest" } else { "files" };
                rows.push(unpublished_row(&id, quantity, unit, figure));
            }
        }
    }
    rows
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
                estimate(&relation::values(&by_seed(runs, v, figure))),
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
        let two_bits = &p.table("mongodb-two-bits").rows;
        let of = two_bits.iter().map(|r| variant(r.keys["run"].as_str().expect("a name")));
        assert!(of.eq(["fix, two bits", "refault distance, two bits"]));
    }
}
