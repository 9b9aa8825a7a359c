//! The tests beside a memory hogger: fragmented with movable and with unmovable pages, and
//! hoggers of four sizes.

use std::collections::BTreeMap;

use super::super::demand::CellRef;
use super::super::demand::{band_words, in_band};
use super::super::lab::{Lab, Pictured, ScenarioFile, Sets};
use super::super::published::{Cell, Published, Relation};
use super::super::relation::{self, BySeed, values};
use super::super::{Figures, row_by_seed, unpublished_row};
use super::{STAGES, of_attempts, surveyed, v2_variant, value};
use crate::reproduce::document::{Asks, FigureRow, Picture};
use mmsim::report::statistics::estimate;
use mmsim::report::{PhaseReport, RunReport};
use mmsim::run::RunError;
use mmsim::scenario::RunSpec;

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/compaction-redesign/hogger.toml",
    text: include_str!("../../../evidence/experiments/compaction-redesign/hogger.toml"),
};

pub(super) const PAGES_PER_MB: u64 = 256;
/// Default size of the hogger, in MB.
pub(super) const SIZE: u64 = 200;

/// A set-up: whether the fragmenter used movable pages, and the hogger's MB.
pub(super) type Setup = (bool, u64);

pub(super) const MOVABLE: Setup = (true, SIZE);
pub(super) const UNMOVABLE: Setup = (false, SIZE);

/// Tables with the set-ups that they need.
const TABLES: [(&str, &[Setup]); 6] = [
    ("v1-hogger-frag-movable", &[MOVABLE]),
    ("v1-hogger-frag-unmovable", &[UNMOVABLE]),
    ("v1-hogger-size", &[(true, 150), MOVABLE, (true, 250), (true, 300)]),
    ("v2-success-n", &[UNMOVABLE, MOVABLE, (true, 250), (true, 300)]),
    ("v2-pgmigrate-success", &[MOVABLE, UNMOVABLE]),
    ("v2-compact-stall", &[MOVABLE, UNMOVABLE]),
];

type Runs = BTreeMap<Setup, Vec<RunReport>>;

/// The phases at whose ends memory is drawn: before and after the attempts.
const DRAWN: [&str; 2] = ["highalloc/survey", "highalloc/attempts"];

/// Settings of the scenario for a set-up.
pub(super) fn sets(lab: &Lab<'_>, (movable, mb): Setup) -> Sets {
    let pages = |n: u64| format!("{n} pages");
    let (heap, cache) = (mb * PAGES_PER_MB, value(lab, "cache"));
    let kept = value(lab, "unmovable").min(1000);
    let mut sets = vec![
        ("machine.zone[0].managed".to_string(), pages(value(lab, "frames"))),
        ("machine.swap.size".into(), pages(value(lab, "swap"))),
        ("task[1].regions.file.memory".into(), pages(cache)),
        ("task[1].regions.heap.memory".into(), pages(heap)),
    ];
    // Unmovable pages take the pageblocks over; the hogger comes when all is freed, and what it
    // gets is what the allocator gives it.
    let (kind, release) =
        if movable { (1000 - kept, heap + cache + value(lab, "margin")) } else { (0, 0) };
    sets.push(("task[0].movable-permille".into(), kind.to_string()));
    sets.push(("task[0].release".into(), pages(release)));
    if lab.quick {
        sets.push(("seeds".into(), "1".into()));
    }
    sets
}

pub(super) fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let wanted = || TABLES.iter().filter(|t| lab.wants(t.0));
    let mut setups: Vec<Setup> = wanted().flat_map(|t| t.1).copied().collect();
    setups.sort_unstable();
    setups.dedup();
    if setups.is_empty() {
        return Ok(figures);
    }
    let cells: Vec<Sets> = setups.iter().map(|&s| sets(lab, s)).collect();
    let tables = wanted().map(|t| published.table(t.0));
    let places: Vec<(Setup, String)> =
        tables.flat_map(|t| published.cells(t)).filter_map(|cell| place(&cell)).collect();
    let wanted_run = |i: usize, spec: &RunSpec| {
        let of_tables = places.iter().any(|p| p.0 == setups[i] && p.1 == spec.variant);
        // These have rows for all stages, whatever table it is.
        let told = [MOVABLE, UNMOVABLE].contains(&setups[i]) && is_stage(spec);
        of_tables || told
    };
    let pictured = lab.run_pictured("hogger-frag", SCENARIO, &cells, &DRAWN, wanted_run)?;
    let mut runs = Runs::new();
    for (setup, of_setup) in setups.into_iter().zip(pictured) {
        let test = [(MOVABLE, "movable"), (UNMOVABLE, "unmovable")];
        if let Some((_, test)) = test.into_iter().find(|t| t.0 == setup) {
            figures.pictures.extend(pictures(test, &of_setup));
        }
        runs.insert(setup, of_setup.into_iter().map(|(run, _)| run).collect());
    }
    for (table, _) in wanted() {
        for cell in published.cells(published.table(table)) {
            if let Some(by_seed) = simulated(&runs, &cell) {
                figures.rows.push(row_by_seed(&cell, quantity(&cell), &values(&by_seed)));
            }
        }
        let of_table = |r: &&Relation| first_cell(r).is_some_and(|c| c.table == *table);
        for r in published.relations.iter().filter(of_table) {
            figures.rows.extend(relation::row(published, r, |c| simulated(&runs, c)));
        }
    }
    for (setup, name) in [(MOVABLE, "movable"), (UNMOVABLE, "unmovable")] {
        if let Some(runs) = runs.get(&setup) {
            figures.rows.extend(expected(published, name, runs));
            let id = format!("hogger-frag-{name}");
            figures.rows.extend(of_attempts(&id, runs, DRAWN[1], surveyed));
            figures.findings.push(sources(name, runs));
        }
    }
    Ok(figures)
}

/// True if a run is one of the first posting.
pub(super) fn is_stage(spec: &RunSpec) -> bool {
    STAGES.contains(&spec.variant.as_str())
}

fn first_cell(r: &Relation) -> Option<&CellRef> {
    r.numerator.iter().chain(&r.cells).chain(&r.cell).next()
}

/// The phase of a run that has this name.
pub(super) fn phase<'a>(run: &'a RunReport, name: &str) -> &'a PhaseReport {
    let full = format!("highalloc/{name}");
    run.phases.iter().find(|p| p.name == full).unwrap_or_else(|| panic!("no phase {full}"))
}

/// The phases in which attempts are made, of all threads that make some.
pub(super) fn attempts(run: &RunReport) -> impl Iterator<Item = &PhaseReport> {
    run.phases.iter().filter(|p| p.name.ends_with("/attempts"))
}

/// A counter of the attempts.
fn during(run: &RunReport, counter: &str) -> f64 {
    count(phase(run, "attempts"), counter)
}

pub(super) fn count(phase: &PhaseReport, counter: &str) -> f64 {
    *phase.vmstat.get(counter).unwrap_or_else(|| panic!("no counter {counter}")) as f64
}

/// Blocks that were had.
fn had(run: &RunReport) -> f64 {
    during(run, "sim_highalloc") - during(run, "sim_highalloc_fail")
}

/// Blocks that attempts got, of 100 candidates.
pub(super) fn had_of_candidates(run: &RunReport) -> f64 {
    100.0 * had(run) / count(phase(run, "survey"), "sim_candidates")
}

/// A published quantity. Shares are not cut to whole per cent, as the published ones are.
fn of_run(run: &RunReport, quantity: &str) -> f64 {
    match quantity {
        "success_percent" => 100.0 * had(run) / during(run, "sim_highalloc"),
        "success_n_percent" => had_of_candidates(run),
        counter => during(run, counter),
    }
}

pub(super) fn by_seed(
    runs: &[RunReport],
    stage: &str,
    figure: impl Fn(&RunReport) -> f64,
) -> BySeed {
    let of = runs.iter().filter(|r| r.variant == stage);
    of.map(|r| (r.seed, figure(r))).collect()
}

/// Quantity that the cell of a table counts.
fn quantity<'a>(cell: &Cell<'a>) -> &'a str {
    match cell.table.id.as_str() {
        "v2-success-n" => "success_n_percent",
        "v2-pgmigrate-success" => "pgmigrate_success",
        "v2-compact-stall" => "compact_stall",
        _ => cell.row.keys["quantity"].as_str().unwrap_or_default(),
    }
}

/// The set-up and the variant of the scenario that give a cell; `None`: not of this scenario.
pub(super) fn place(cell: &Cell<'_>) -> Option<(Setup, String)> {
    Some(match cell.table.id.as_str() {
        "v1-hogger-frag-movable" => (MOVABLE, cell.column()),
        "v1-hogger-frag-unmovable" => (UNMOVABLE, cell.column()),
        "v1-hogger-size" => ((true, cell.column().parse().ok()?), cell.key("stage")),
        "v2-success-n" | "v2-pgmigrate-success" | "v2-compact-stall" => {
            let setup = match cell.key("test").as_str() {
                "hogger-frag-movable" => MOVABLE,
                "hogger-frag-unmovable" => UNMOVABLE,
                "hogger-frag-movable-250MB" => (true, 250),
                "hogger-frag-movable-300MB" => (true, 300),
                _ => return None,
            };
            (setup, v2_variant(cell))
        }
        _ => return None,
    })
}

/// The figure of a cell for each seed; `None`: not carried out, or not this time.
fn simulated(runs: &Runs, cell: &Cell<'_>) -> Option<BySeed> {
    let (setup, variant) = place(cell)?;
    let runs = runs.get(&setup)?;
    let by_seed = by_seed(runs, &variant, |r| of_run(r, quantity(cell)));
    (!by_seed.is_empty()).then_some(by_seed)
}

/// Memory before the attempts of the first seed, which is the same in all stages but for what
/// compaction did for the hogger, and after those of each stage.
fn pictures(test: &str, runs: &[Pictured]) -> Vec<Picture> {
    let first = |stage: &str| runs.iter().find(|(run, _)| run.variant == stage);
    let drawn = |stage: &str, phase: &str, when: &str| {
        let (run, pictures) = first(stage)?;
        let (_, text) = pictures.iter().find(|p| p.0 == phase)?;
        let title = format!("hogger-frag-{test}, seed {}, {when} ({stage})", run.seed);
        Some(Picture { title, text: text.clone() })
    };
    let before = drawn("base", DRAWN[0], "before the attempts");
    let after = STAGES.iter().filter_map(|stage| drawn(stage, DRAWN[1], "after them"));
    before.into_iter().chain(after).collect()
}

/// Demands without a published figure: pages moved again, and requests for unmovable memory that
/// take from movable pageblocks.
fn expected(published: &Published, test: &str, runs: &[RunReport]) -> Vec<FigureRow> {
    let again =
        |r: &RunReport| during(r, "sim_migrate_again") / during(r, "pgmigrate_success").max(1.0);
    let row = |id: &str, quantity: &str, unit: &str, figure: BySeed, low, high, open| {
        let e = published.expectation(id);
        let mean = estimate(&values(&figure));
        FigureRow {
            demand: band_words(low, high, open),
            met: mean.map(|m| in_band(m.mean, low, high, open)),
            gates: e.gate,
            basis: e.basis,
            asks: Asks::OwnBound,
            note: e.about.clone(),
            ..unpublished_row(&format!("hogger-frag-{test}/{id}"), quantity, unit, mean)
        }
    };
    let mut rows = Vec::new();
    for (id, stage) in [("ping-pong-base", "base"), ("ping-pong-redesign", "redesign")] {
        let e = published.expectation(id);
        let figure = by_seed(runs, stage, again);
        rows.push(row(id, "moved before", "fraction", figure, e.low, e.high, e.open));
    }
    // The second stage is the one that lets scanners fill pageblocks of any type.
    let severe = |stage: &str| by_seed(runs, stage, |r| during(r, "sim_extfrag_severe"));
    let pairs = severe("nonmovable").into_iter().zip(severe("base"));
    let more = pairs.map(|((seed, with), (_, without))| (seed, with - without)).collect();
    rows.push(row("extfrag-p5", "more fallbacks", "requests", more, Some(0.0), None, true));
    rows
}

/// Where blocks came from, stage by stage, in a sentence.
fn sources(test: &str, runs: &[RunReport]) -> String {
    let of = |stage: &str| {
        let mean = |counter: &str| {
            estimate(&values(&by_seed(runs, stage, |r| during(r, counter)))).map_or(0.0, |e| e.mean)
        };
        format!(
            "{stage} {:.0} free, {:.0} after asynchronous compaction, {:.0} after reclaim, {:.0} after \
             synchronous compaction",
            mean("sim_highalloc_lists"),
            mean("sim_highalloc_async"),
            mean("sim_highalloc_reclaim"),
            mean("sim_highalloc_sync"),
        )
    };
    let candidates = by_seed(runs, "base", |r| count(phase(r, "survey"), "sim_candidates"));
    let n = estimate(&values(&candidates)).map_or(0.0, |e| e.mean);
    let stages = STAGES.map(of).join("; ");
    format!("hogger-frag-{test}: {n:.0} candidates; blocks had: {stages}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    /// The scenario as it is shipped is the movable test.
    #[test]
    fn the_scenario_is_what_is_run() {
        let lab = Lab::silent(&|_, _, _| {});
        let shipped = Scenario::from_str(SCENARIO.text, SCENARIO.path).expect("a scenario");
        let run = shipped.clone().with_sets(&sets(&lab, MOVABLE)).expect("values that it takes");
        let expand = |s: &Scenario| s.expand(&Catalogue).expect("runs");
        assert_eq!(expand(&run), expand(&shipped));
        let other = shipped.clone().with_sets(&sets(&lab, UNMOVABLE)).expect("values");
        assert_ne!(expand(&other), expand(&shipped));
        // The unmovable test lies among the scenarios too, with one seed and the first posting.
        let lab = Lab { quick: true, ..lab };
        let of_first = |s: &Scenario| expand(s).into_iter().filter(is_stage).collect::<Vec<_>>();
        let text = include_str!("../../../scenarios/hogger-frag-unmovable.toml");
        let alone = Scenario::from_str(text, "hogger-frag-unmovable.toml").expect("a scenario");
        let run = shipped.with_sets(&sets(&lab, UNMOVABLE)).expect("values that it takes");
        assert_eq!(of_first(&run), expand(&alone));
    }

    /// Every cell that it gives has its variant, and a set-up that its table is run with.
    #[test]
    fn stages_are_variants() {
        let scenario = Scenario::from_str(SCENARIO.text, SCENARIO.path).expect("a scenario");
        let runs = scenario.expand(&Catalogue).expect("runs");
        let published = Published::read(super::super::FAMILY.published);
        for cell in published.tables.iter().flat_map(|t| published.cells(t)) {
            let Some((setup, variant)) = place(&cell) else { continue };
            assert!(runs.iter().any(|r| r.variant == variant), "{}: {variant}", cell.id());
            let table = TABLES.iter().find(|t| t.0 == cell.table.id).expect("a table");
            assert!(table.1.contains(&setup), "{}: {setup:?}", cell.id());
        }
    }
}
