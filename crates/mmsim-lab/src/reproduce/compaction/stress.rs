//! stress-highalloc: blocks of order 7 on a machine of 4 GB, in two passes under kernel builds and in one at
//! rest.
//!
//! A script of mmtests fixes the course, its usual configuration the pace and the number of
//! attempts; the rest was chosen before the first comparison and fitted to nothing. Its demands
//! were written down when the figures were known. Times of the guest are not among them: the passes
//! of all stages begin when the scenario says, and what the builds would have done meanwhile is not
//! known.

use super::super::lab::{Lab, ScenarioFile, by_seed};
use super::super::published::{Cell, Published, Relation};
use super::super::relation::{self, values};
use super::super::{Figures, row_by_seed, unpublished_row};
use super::hogger::{count, is_stage};
use super::{STAGES, of_attempts, surveyed};
use crate::reproduce::document::FigureRow;
use mmsim::report::statistics::estimate;
use mmsim::report::{PhaseReport, RunReport};
use mmsim::run::RunError;
use mmsim::scenario::RunSpec;
use std::collections::BTreeSet;

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/compaction-redesign/stress-highalloc.toml",
    text: include_str!("../../../evidence/experiments/compaction-redesign/stress-highalloc.toml"),
};

/// Tables, and what stands before the names of their stages in those of the scenario's variants; but
/// for `base`, which is the same in all.
const TABLES: [(&str, &str); 3] =
    [("v1-stress-highalloc", ""), ("stress-highalloc-times", ""), ("v2-stress-highalloc", "v2-")];

/// Tables of pageblocks after a number of tests without a reboot, of which the first is carried
/// out.
const PURE: [&str; 2] = ["pure-blocks-2015-07", "pure-blocks-v2"];

/// Passes, and the phases of their attempts.
const PASSES: [(&str, &str); 3] =
    [("ops_1", "load/attempts1"), ("ops_2", "load/attempts2"), ("ops_3", "rest/attempts")];

/// Computation of a published figure from a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    /// Attempts of a phase that got a block, of 100.
    Pass(&'static str),
    /// Reduction of that against base, in per cent: a share that grew counts as negative, as
    /// mmtests prints it.
    Change(&'static str),
    /// A counter of the whole run.
    Counter(&'static str),
    /// The cost that mmtests computes from such counters.
    Cost,
    /// Pageblocks without a pinned page afterwards. Published are two zones, counted are all
    /// together: the first zone stands for both.
    Pure(bool),
}

/// The variant of the scenario and the figure that give a cell; `None`: not of this scenario.
pub(super) fn place(cell: &Cell<'_>) -> Option<(String, Of)> {
    let of_v2 = |name: String, v2| if v2 && name != "base" { format!("v2-{name}") } else { name };
    let table = cell.table.id.as_str();
    if PURE.contains(&table) {
        let variant = of_v2(cell.key("stage").replace('_', "-"), table == "pure-blocks-v2");
        return (cell.column() == "1").then(|| (variant, Of::Pure(cell.key("zone") == "DMA32")));
    }
    let (_, prefix) = TABLES.iter().find(|t| t.0 == table)?;
    let variant = of_v2(cell.column(), *prefix == "v2-");
    let quantity = cell.key("quantity");
    let pass = |name: &str| PASSES.iter().find(|p| p.0 == name).map(|p| p.1);
    let of = match quantity.as_str() {
        "compaction_stalls" => Of::Counter("compact_stall"),
        "compaction_success" => Of::Counter("compact_success"),
        "compaction_failures" => Of::Counter("compact_fail"),
        "pages_isolated" => Of::Counter("compact_isolated"),
        "migrate_scanned" => Of::Counter("compact_migrate_scanned"),
        "free_scanned" => Of::Counter("compact_free_scanned"),
        "compaction_cost" => Of::Cost,
        other => match other.strip_suffix("_change") {
            Some(other) => Of::Change(pass(other)?),
            None => Of::Pass(pass(other)?),
        },
    };
    Some((variant, of))
}

pub(super) fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let wanted: Vec<_> = TABLES.into_iter().filter(|t| lab.wants(t.0)).collect();
    // Minutes: no part of the quick subset.
    if lab.quick || wanted.is_empty() && !PURE.iter().any(|t| lab.wants(t)) {
        return Ok(figures);
    }
    let tables = TABLES.into_iter().map(|t| t.0).chain(PURE).filter(|t| lab.wants(t));
    let cells = tables.flat_map(|t| published.cells(published.table(t)));
    let variants: BTreeSet<String> = cells.filter_map(|c| place(&c)).map(|p| p.0).collect();
    // A run takes half a minute, so only runs that a table needs are made; of the first posting all
    // figures are reported.
    let wanted_run = |_: usize, spec: &RunSpec| {
        variants.contains(&spec.variant) || !wanted.is_empty() && is_stage(spec)
    };
    let runs = lab.run_wanted("stress-highalloc", SCENARIO, &[Vec::new()], wanted_run)?;
    let runs = runs.into_iter().next().expect("one cell");
    for (table, _) in &wanted {
        for cell in published.cells(published.table(table)) {
            let Some((variant, figure)) = place(&cell) else { continue };
            let figure = by_seed(&runs, &variant, |r| of_run(r, &runs, figure));
            figures.rows.push(row_by_seed(&cell, &cell.key("quantity"), &values(&figure)));
        }
    }
    if !wanted.is_empty() {
        for (pass, phase) in PASSES {
            let id = format!("stress-highalloc/{pass}");
            figures.rows.extend(of_attempts(&id, &runs, phase, surveyed));
        }
        figures.rows.extend(times(&runs));
    }
    for table in PURE {
        if lab.wants(table) {
            figures.rows.extend(pure_blocks(published, table, &runs));
        }
    }
    figures.findings.push(before(&runs));
    Ok(figures)
}

/// The figure of a run; that of base with the same seed is among `all`.
fn of_run(run: &RunReport, all: &[RunReport], of: Of) -> f64 {
    let counter = |name: &str| *run.vmstat.get(name).expect("a counter") as f64;
    match of {
        Of::Pass(phase) => met(run, phase),
        Of::Change(phase) => {
            let is_base = |r: &&RunReport| r.variant == "base" && r.seed == run.seed;
            let base = met(all.iter().find(is_base).expect("base has every seed"), phase);
            100.0 * (base - met(run, phase)) / base
        }
        Of::Counter(name) => counter(name),
        Of::Cost => cost(counter),
        Of::Pure(all) if all => count(phase(run, "end/survey"), "sim_candidates"),
        Of::Pure(_) => 0.0,
    }
}

/// The cost model of mmtests (MonitorMmtestsvmstat.pm), in millions of words read or written: a
/// `struct page` of seven words for each frame looked at, twelve more for each that is isolated, and a
/// page and its `struct page` read and written for each that is moved. It asks for frames looked at by
/// the scanner for free pages under a name that no kernel has, so these cost nothing.
fn cost(counter: impl Fn(&str) -> f64) -> f64 {
    const STRUCT: f64 = 7.0;
    const PAGE: f64 = 512.0;
    let words = STRUCT * counter("compact_migrate_scanned")
        + (STRUCT + 12.0) * counter("compact_isolated")
        + 2.0 * (STRUCT + PAGE) * counter("pgmigrate_success")
        + 2.0 * STRUCT * counter("pgmigrate_fail");
    words / 1e6
}

/// Where simulated time went in the whole run: of threads of programs, of the kernel on their behalf,
/// and how long it was.
fn times(runs: &[RunReport]) -> Vec<FigureRow> {
    type Figure = fn(&RunReport) -> f64;
    let shown: [(&str, Figure); 5] = [
        ("user", |r| seconds(r.threads.iter().map(|t| t.user_ns).sum())),
        ("system, direct compaction", |r| seconds(spent(r)[0])),
        ("system, direct reclaim", |r| seconds(spent(r)[1])),
        ("system, elsewhere", |r| {
            let system: u64 = r.threads.iter().map(|t| t.system_ns).sum();
            seconds(system.saturating_sub(spent(r).iter().sum()))
        }),
        ("elapsed", |r| seconds(r.sim_time_ns)),
    ];
    let row = |(quantity, figure): (&str, Figure), stage: &str| {
        let of = by_seed(runs, stage, figure);
        let id = format!("stress-highalloc/simulated time/{quantity}/{stage}");
        unpublished_row(&id, quantity, "s", estimate(&values(&of)))
    };
    shown.into_iter().flat_map(|s| STAGES.map(|stage| row(s, stage))).collect()
}

/// Nanoseconds in direct compaction and in direct reclaim.
fn spent(run: &RunReport) -> [u64; 2] {
    ["sim_direct_compact_ns", "sim_direct_reclaim_ns"]
        .map(|name| *run.vmstat.get(name).expect("a counter"))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn phase<'a>(run: &'a RunReport, name: &str) -> &'a PhaseReport {
    run.phases.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no phase {name}"))
}

/// Attempts of a pass that got a block, of 100.
fn met(run: &RunReport, pass: &str) -> f64 {
    let attempts = count(phase(run, pass), "sim_highalloc");
    100.0 * (attempts - count(phase(run, pass), "sim_highalloc_fail")) / attempts
}

/// Pageblocks without a pinned page after the test, and the demands on them. Published are two
/// zones, counted are all together: the first zone stands for both.
fn pure_blocks(published: &Published, table: &str, runs: &[RunReport]) -> Vec<FigureRow> {
    let simulated = |cell: &Cell<'_>| {
        let (variant, of) = place(cell)?;
        Some(by_seed(runs, &variant, |r| of_run(r, runs, of)))
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

/// State of memory when the passes began, in a sentence.
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
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    /// Every cell that it gives has its variant.
    #[test]
    fn stages_are_variants() {
        let scenario = Scenario::from_str(SCENARIO.text, SCENARIO.path).expect("a scenario");
        let runs = scenario.expand(&Catalogue).expect("runs");
        let published = Published::read(super::super::FAMILY.published);
        for cell in published.tables.iter().flat_map(|t| published.cells(t)) {
            let Some((variant, _)) = place(&cell) else { continue };
            assert!(runs.iter().any(|r| r.variant == variant), "{}: {variant}", cell.id());
        }
    }

    /// Counters that were published together with what mmtests printed as their cost: in a mail on
    /// zsmalloc (H. Zhu, linux-mm).
    #[test]
    fn costs_are_those_of_mmtests() {
        let published = |name: &str| match name {
            "compact_migrate_scanned" => 9_131_832.0,
            "compact_free_scanned" => 2_093_272.0,
            "compact_isolated" => 250_179.0,
            "pgmigrate_success" => 119_608.0,
            "pgmigrate_fail" => 2_723.0,
            other => panic!("{other}"),
        };
        assert_eq!(cost(published).floor(), 192.0);
    }
}
