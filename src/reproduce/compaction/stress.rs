//! stress-highalloc: blocks of order 7 on a machine of 4 GB, in two passes under kernel builds and in one at
//! rest.
//!
//! A script of mmtests fixes the course, its usual configuration the pace and the number of
//! attempts; the rest was chosen before the first comparison and fitted to nothing, so nothing is
//! asked of the figures. Times of the guest are not among them: the passes of all stages begin when
//! the scenario says, and what the builds would have done meanwhile is not known.

use super::super::lab::{Lab, ScenarioFile, by_seed};
use super::super::published::{Cell, Published, Relation};
use super::super::relation::{self, BySeed, values};
use super::super::{Figures, row_by_seed, unpublished_row};
use super::hogger::count;
use crate::report::reproduction::FigureRow;
use crate::report::statistics::estimate;
use crate::report::{PhaseReport, RunReport};
use crate::run::RunError;

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "experiments/compaction-redesign/stress-highalloc.toml",
    text: include_str!("../../../experiments/compaction-redesign/stress-highalloc.toml"),
};

/// Tables, and what their stages are called before the scenario's variants; but for `base`, which
/// is the same in all.
const TABLES: [(&str, &str); 3] =
    [("v1-stress-highalloc", ""), ("stress-highalloc-times", ""), ("v2-stress-highalloc", "v2-")];

/// Tables of pageblocks after so many tests without a reboot, of which the first is carried out.
const PURE: [(&str, &str); 2] = [("pure-blocks-2015-07", ""), ("pure-blocks-v2", "v2-")];

pub(super) fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let wanted: Vec<_> = TABLES.into_iter().filter(|t| lab.wants(t.0)).collect();
    // Minutes: no part of the quick subset.
    if lab.quick || wanted.is_empty() && !PURE.iter().any(|t| lab.wants(t.0)) {
        return Ok(figures);
    }
    let runs = lab.run("stress-highalloc", SCENARIO, &[Vec::new()])?.pop().expect("one cell");
    for (table, prefix) in wanted {
        for cell in published.cells(published.table(table)) {
            let quantity = cell.key("quantity");
            if let Some(figure) = simulated(&runs, prefix, &cell, &quantity) {
                figures.rows.push(row_by_seed(&cell, &quantity, &values(&figure)));
            }
        }
    }
    for (table, prefix) in PURE {
        if lab.wants(table) {
            figures.rows.extend(pure_blocks(published, table, prefix, &runs));
        }
    }
    figures.findings.push(before(&runs));
    Ok(figures)
}

/// The variant of the scenario that a cell speaks of.
fn variant(prefix: &str, cell: &Cell<'_>) -> String {
    let stage = cell.column();
    if stage == "base" { stage } else { format!("{prefix}{stage}") }
}

/// The figure of a cell for each seed; `None`: not carried out.
fn simulated(runs: &[RunReport], prefix: &str, cell: &Cell<'_>, quantity: &str) -> Option<BySeed> {
    let of = |stage: &str, figure: &dyn Fn(&RunReport) -> f64| by_seed(runs, stage, figure);
    let stage = variant(prefix, cell);
    if let Some(share) = quantity.strip_suffix("_change") {
        // A share that grew counts as negative, as mmtests prints it.
        let share = |r: &RunReport| met(r, share).expect("a share");
        let pairs = of("base", &share).into_iter().zip(of(&stage, &share));
        return Some(pairs.map(|((seed, a), (_, b))| (seed, 100.0 * (a - b) / a)).collect());
    }
    if quantity.starts_with("ops_") {
        return Some(of(&stage, &|r| met(r, quantity).expect("a pass")));
    }
    let counter = match quantity {
        "compaction_stalls" => "compact_stall",
        "compaction_success" => "compact_success",
        "compaction_failures" => "compact_fail",
        "pages_isolated" => "compact_isolated",
        "migrate_scanned" => "compact_migrate_scanned",
        "free_scanned" => "compact_free_scanned",
        _ => return None,
    };
    Some(of(&stage, &|r| *r.vmstat.get(counter).expect("a counter") as f64))
}

fn phase<'a>(run: &'a RunReport, name: &str) -> &'a PhaseReport {
    run.phases.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no phase {name}"))
}

/// Of 100 attempts of a pass, those that got a block.
fn met(run: &RunReport, pass: &str) -> Option<f64> {
    let pass = match pass {
        "ops_1" => "load/attempts1",
        "ops_2" => "load/attempts2",
        "ops_3" => "rest/attempts",
        _ => return None,
    };
    let attempts = count(phase(run, pass), "sim_highalloc");
    Some(100.0 * (attempts - count(phase(run, pass), "sim_highalloc_fail")) / attempts)
}

/// Pageblocks without a pinned page after the test, and what is asked of them. Published are two
/// zones, counted are all together: the first zone stands for both.
fn pure_blocks(
    published: &Published,
    table: &str,
    prefix: &str,
    runs: &[RunReport],
) -> Vec<FigureRow> {
    let simulated = |cell: &Cell<'_>| {
        let name = cell.key("stage");
        let name = if name == "base" { name } else { format!("{prefix}{name}") };
        let after = |r: &RunReport| count(phase(r, "end/survey"), "sim_candidates");
        let carried_out = cell.column() == "1" && runs.iter().any(|r| r.variant == name);
        let first_zone = cell.key("zone") == "DMA32";
        carried_out.then(|| by_seed(runs, &name, |r| if first_zone { after(r) } else { 0.0 }))
    };
    let mut rows = Vec::new();
    let cells: Vec<Cell<'_>> = published.cells(published.table(table)).collect();
    for cell in cells.iter().filter(|c| c.key("zone") == "DMA32") {
        let Some(figure) = simulated(cell) else { continue };
        let of_both = |c: &&Cell<'_>| c.key("stage") == cell.key("stage") && c.column() == "1";
        let id = format!("{table}/{}/both zones/1", cell.key("stage"));
        rows.push(FigureRow {
            published: Some(cells.iter().filter(of_both).map(Cell::value).sum()),
            ..unpublished_row(&id, "pageblocks", "pageblocks", estimate(&values(&figure)))
        });
    }
    let of_table = |r: &&Relation| r.numerator.iter().any(|c| c.table == table);
    for r in published.relations.iter().filter(of_table) {
        rows.extend(relation::row(published, r, simulated));
    }
    rows
}

/// What memory was like when the passes began, in a sentence.
fn before(runs: &[RunReport]) -> String {
    let mean = |figure: &dyn Fn(&PhaseReport) -> f64| {
        let of = by_seed(runs, "base", |r| figure(phase(r, "load/survey1")));
        estimate(&values(&of)).map_or(0.0, |e| e.mean)
    };
    let gauge = |p: &PhaseReport, name: &str| p.gauges.get(name).copied().unwrap_or(0) as f64;
    let mb = |lists: [&'static str; 2]| mean(&|p| lists.iter().map(|l| gauge(p, l)).sum()) / 256.0;
    format!(
        "stress-highalloc: when the first pass begins (base) {:.0} MB are anonymous, {:.0} MB page cache, {:.0} MB \
         free; {:.0} blocks of order 7 have no pinned page, {:.0} of them are free.",
        mb(["nr_inactive_anon", "nr_active_anon"]),
        mb(["nr_inactive_file", "nr_active_file"]),
        mean(&|p| gauge(p, "nr_free_pages")) / 256.0,
        mean(&|p| count(p, "sim_candidates")),
        mean(&|p| count(p, "sim_candidates_free")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Catalogue;
    use crate::scenario::Scenario;

    /// Every stage of every table has its variant.
    #[test]
    fn stages_are_variants() {
        let scenario = Scenario::from_str(SCENARIO.text, SCENARIO.path).expect("a scenario");
        let runs = scenario.expand(&Catalogue).expect("runs");
        let published = Published::read(super::super::FAMILY.published);
        for (table, prefix) in TABLES {
            for cell in published.cells(published.table(table)) {
                let name = variant(prefix, &cell);
                assert!(runs.iter().any(|r| r.variant == name), "{table}: {name}");
            }
        }
    }
}
