//! The tests beside a kernel build: fragmented with movable and with unmovable pages.
//!
//! Machine and fragmentation are those of the tests beside a hogger. What the build takes was
//! chosen before the first comparison and fitted to nothing, so nothing is asked of the figures:
//! they say how far such a choice carries.

use super::super::lab::{Lab, ScenarioFile, Sets};
use super::super::published::{Cell, Published};
use super::super::relation::{BySeed, values};
use super::super::{Figures, row_by_seed};
use super::value;
use crate::report::RunReport;
use crate::report::statistics::estimate;
use crate::run::RunError;

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "experiments/compaction-redesign/build-frag.toml",
    text: include_str!("../../../experiments/compaction-redesign/build-frag.toml"),
};

/// Tables, and whether the fragmenter used movable pages.
const TABLES: [(&str, bool); 2] =
    [("v1-build-frag-movable", true), ("v1-build-frag-unmovable", false)];

fn sets(lab: &Lab<'_>, movable: bool) -> Sets {
    let kept = value(lab, "unmovable").min(1000);
    let pages = |n: u64| format!("{n} pages");
    let mut sets = vec![
        ("machine.zone[0].managed".to_string(), pages(value(lab, "frames"))),
        ("machine.swap.size".into(), pages(value(lab, "swap"))),
        (
            "task[0].movable-permille".into(),
            if movable { (1000 - kept).to_string() } else { "0".into() },
        ),
    ];
    if lab.quick {
        sets.push(("seeds".into(), "1".into()));
    }
    sets
}

pub(super) fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let wanted: Vec<(&str, bool)> = TABLES.into_iter().filter(|t| lab.wants(t.0)).collect();
    let cells: Vec<Sets> = wanted.iter().map(|t| sets(lab, t.1)).collect();
    let runs = if cells.is_empty() { Vec::new() } else { lab.run("build-frag", SCENARIO, &cells)? };
    for ((table, _), runs) in wanted.iter().zip(&runs) {
        for cell in published.cells(published.table(table)) {
            let figure = by_seed(runs, &cell);
            figures.rows.push(row_by_seed(&cell, cell.key("quantity").as_str(), &values(&figure)));
        }
        figures.findings.push(beside(table, runs));
    }
    Ok(figures)
}

/// A counter of a phase.
fn counter(run: &RunReport, phase: &str, name: &str) -> f64 {
    let of = run.phases.iter().find(|p| p.name == phase).unwrap_or_else(|| panic!("no {phase}"));
    *of.vmstat.get(name).unwrap_or_else(|| panic!("no counter {name}")) as f64
}

/// A published quantity. Shares are not cut to whole per cent, as the published ones are.
fn of_run(run: &RunReport, quantity: &str) -> f64 {
    let during = |name: &str| counter(run, "highalloc/attempts", name);
    let had = || during("sim_highalloc") - during("sim_highalloc_fail");
    match quantity {
        "success_percent" => 100.0 * had() / during("sim_highalloc"),
        "success_n_percent" => 100.0 * had() / candidates(run),
        name => during(name),
    }
}

fn candidates(run: &RunReport) -> f64 {
    counter(run, "candidates/survey", "sim_candidates")
}

fn by_seed(runs: &[RunReport], cell: &Cell<'_>) -> BySeed {
    let of = runs.iter().filter(|r| r.variant == cell.column());
    of.map(|r| (r.seed, of_run(r, &cell.key("quantity")))).collect()
}

/// What the build was, in a sentence.
fn beside(table: &str, runs: &[RunReport]) -> String {
    let base = || runs.iter().filter(|r| r.variant == "base");
    let mean = |figure: &dyn Fn(&RunReport) -> f64| {
        estimate(&base().map(figure).collect::<Vec<_>>()).map_or(0.0, |e| e.mean)
    };
    let gauge = |r: &RunReport, name: &str| {
        let survey = r.phases.iter().find(|p| p.name == "highalloc/survey");
        survey.and_then(|p| p.gauges.get(name)).copied().unwrap_or(0) as f64
    };
    let anon = mean(&|r| gauge(r, "nr_inactive_anon") + gauge(r, "nr_active_anon"));
    let file = mean(&|r| gauge(r, "nr_inactive_file") + gauge(r, "nr_active_file"));
    let free = mean(&|r| gauge(r, "nr_free_pages"));
    format!(
        "{table}: {:.0} candidates before the build; when the attempts begin (base) {:.0} MB are anonymous, \
         {:.0} MB page cache, {:.0} MB free.",
        mean(&candidates),
        anon / 256.0,
        file / 256.0,
        free / 256.0,
    )
}
