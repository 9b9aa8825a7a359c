//! The tests beside a kernel build: fragmented with movable and with unmovable pages.
//!
//! Machine and fragmentation are those of the tests beside a hogger. What the build takes was
//! chosen before the first comparison and fitted to nothing. Its demands were written down when the
//! figures were known: they say how far such a choice carries.

use super::super::lab::{Lab, ScenarioFile, Sets};
use super::super::published::{Cell, Published};
use super::super::relation::values;
use super::super::{Figures, row_by_seed};
use super::hogger::by_seed;
use super::{of_attempts, v2_variant, value};
use mmsim::base::vmstat::VmEvent;
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;
use mmsim::scenario::RunSpec;

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/compaction-redesign/build-frag.toml",
    text: include_str!("../../../evidence/experiments/compaction-redesign/build-frag.toml"),
};

const ATTEMPTS: &str = "highalloc/attempts";

/// Tables that it gives figures of.
const TABLES: [&str; 3] = ["v1-build-frag-movable", "v1-build-frag-unmovable", "v2-success-n"];

/// True if the fragmenter used movable pages, and the variant of the scenario, that give a cell;
/// `None`: not of this scenario.
pub(super) fn place(cell: &Cell<'_>) -> Option<(bool, String)> {
    Some(match cell.table.id.as_str() {
        "v1-build-frag-movable" => (true, cell.column()),
        "v1-build-frag-unmovable" => (false, cell.column()),
        "v2-success-n" => match cell.key("test").as_str() {
            "build-frag-movable" => (true, v2_variant(cell)),
            "build-frag-unmovable" => (false, v2_variant(cell)),
            _ => return None,
        },
        _ => return None,
    })
}

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
    let tables = TABLES.iter().filter(|t| lab.wants(t)).map(|t| published.table(t));
    let cells: Vec<(Cell<'_>, bool, String)> = tables
        .flat_map(|t| published.cells(t))
        .filter_map(|cell| place(&cell).map(|(movable, variant)| (cell, movable, variant)))
        .collect();
    let setups: Vec<bool> =
        [true, false].into_iter().filter(|m| cells.iter().any(|c| c.1 == *m)).collect();
    if setups.is_empty() {
        return Ok(figures);
    }
    let all: Vec<Sets> = setups.iter().map(|&m| sets(lab, m)).collect();
    let wanted =
        |i: usize, spec: &RunSpec| cells.iter().any(|c| c.1 == setups[i] && c.2 == spec.variant);
    let runs = lab.run_wanted("build-frag", SCENARIO, &all, wanted)?;
    let of = |movable: bool| &runs[setups.iter().position(|&m| m == movable).expect("it was run")];
    for (cell, movable, variant) in &cells {
        let quantity = match cell.table.id.as_str() {
            "v2-success-n" => "success_n_percent".to_string(),
            _ => cell.key("quantity"),
        };
        let figure = by_seed(of(*movable), variant, |r| of_run(r, &quantity));
        figures.rows.push(row_by_seed(cell, &quantity, &values(&figure)));
    }
    for (movable, runs) in setups.iter().zip(&runs) {
        let test = if *movable { "build-frag-movable" } else { "build-frag-unmovable" };
        if lab.wants(&format!("v1-{test}")) {
            // Counted before the build, as published.
            let rows = of_attempts(test, runs, ATTEMPTS, |run, _| candidates(run));
            figures.rows.extend(rows);
        }
        figures.findings.push(beside(test, runs));
    }
    Ok(figures)
}

/// A counter of a phase.
fn counter(run: &RunReport, phase: &str, name: &str) -> f64 {
    let of = run.phases.iter().find(|p| p.name == phase).unwrap_or_else(|| panic!("no {phase}"));
    *of.vmstat.get(name).unwrap_or_else(|| panic!("no counter {name}")) as f64
}

/// A published quantity. Shares are not cut to whole per cent, as the published ones are. Where attempts
/// take so long that the build ends meanwhile, they count all the same.
fn of_run(run: &RunReport, quantity: &str) -> f64 {
    let attempts = run.attempts(ATTEMPTS).unwrap_or_else(|| panic!("no {ATTEMPTS}"));
    match quantity {
        "success_percent" => attempts.success(),
        "success_n_percent" => 100.0 * attempts.successes() / candidates(run),
        name => VmEvent::named(name).map_or(0.0, |counter| attempts.count(counter)),
    }
}

fn candidates(run: &RunReport) -> f64 {
    counter(run, "candidates/survey", "sim_candidates")
}

/// Description of the build, in a sentence.
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

#[cfg(test)]
mod tests {
    use super::super::STAGES;
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    /// The unmovable test lies among the scenarios too, with one seed and the first posting.
    #[test]
    fn the_unmovable_test_is_a_scenario() {
        let expand = |s: &Scenario| s.expand(&Catalogue).expect("runs");
        let lab = Lab { quick: true, ..Lab::silent(&|_, _, _| {}) };
        let text = include_str!("../../../scenarios/build-frag-unmovable.toml");
        let alone = Scenario::from_str(text, "build-frag-unmovable.toml").expect("a scenario");
        let run = Scenario::from_str(SCENARIO.text, SCENARIO.path).expect("a scenario");
        let mut run = expand(&run.with_sets(&sets(&lab, false)).expect("values that it takes"));
        run.retain(|r| STAGES.contains(&r.variant.as_str()));
        assert_eq!(run, expand(&alone));
    }

    /// Every cell that it gives has its variant.
    #[test]
    fn stages_are_variants() {
        let scenario = Scenario::from_str(SCENARIO.text, SCENARIO.path).expect("a scenario");
        let runs = scenario.expand(&Catalogue).expect("runs");
        let published = Published::read(super::super::FAMILY.published);
        let mut n = 0;
        for cell in published.tables.iter().flat_map(|t| published.cells(t)) {
            let Some((_, variant)) = place(&cell) else { continue };
            assert!(runs.iter().any(|r| r.variant == variant), "{}: {variant}", cell.id());
            n += 1;
        }
        assert_eq!(n, 2 * 8 * 4 + 2 * 5);
    }
}
