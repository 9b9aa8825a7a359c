//! The redesign of compaction (J. Kim, linux-mm, 2015): four stages of a series that was never
//! merged, judged by the number of blocks of order 3 that attempts get on memory that was
//! fragmented on purpose.
//!
//! Carried out are the tests beside a memory hogger, whose set-up is known from the author's
//! benchmark but for a few numbers, those beside a kernel build, whose memory use is a
//! choice, and stress-highalloc. Machine, fragmentation and attempts are the scenario's; the stages are presets of
//! compaction. docs/dev/compaction-evidence.md has the results.

mod build;
mod hogger;
mod placement;
mod reviewers;
mod stress;

use super::lab::{Constant, Lab};
use super::published::{Cell, Published};
use super::{Family, Figures, unpublished_row};
use crate::reproduce::document::FigureRow;
use mmsim::base::vmstat::VmEvent;
use mmsim::report::RunReport;
use mmsim::report::blocks::Attempts;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: "compaction-redesign",
    about: "compaction redesigned (2015): blocks of order 3 on memory fragmented on purpose",
    published: include_str!("../../../evidence/published/compaction-redesign.toml"),
    scenarios: &[hogger::SCENARIO, build::SCENARIO, stress::SCENARIO, reviewers::TWO],
    constants: CONSTANTS,
    tables: &[
        "v1-hogger-frag-movable",
        "v1-hogger-frag-unmovable",
        "v1-hogger-size",
        "v2-success-n",
        "v2-pgmigrate-success",
        "v2-compact-stall",
        "v1-build-frag-movable",
        "v1-build-frag-unmovable",
        "v1-stress-highalloc",
        "stress-highalloc-times",
        "v2-stress-highalloc",
        "pure-blocks-2015-07",
        "pure-blocks-v2",
        "hogger-placement",
        "reviewers-as-posted",
        "reviewers-sync",
        "reviewers-two-requesters",
        "reviewers-undo-prevention",
        "reviewers-order-2",
    ],
    kernels: &[],
    left_out: &[
        (
            "v3-failing-attempt-latency",
            "the time of single attempts on a machine that is not described; a demand on it would be one on the costs of this model",
        ),
        (
            "stress-highalloc-kernels",
            "stress-highalloc on kernels 3.0 and 3.12, which are not modelled, on a machine that is not described",
        ),
    ],
    figures,
};

/// Values that the sources leave open, or give outside of the mails.
const CONSTANTS: &[Constant] = &[
    open("frames", 123_904.0, "pages"),
    open("unmovable", 50.0, "of 1000 pages"),
    open("margin", 2000.0, "pages"),
    open("cache", 12_800.0, "pages"),
    open("swap", 8_192.0, "pages"),
];

const fn open(name: &'static str, value: f64, unit: &'static str) -> Constant {
    Constant { name, value, unit, basis: "chosen before the first comparison" }
}

/// The value of a constant as a whole number.
fn value(lab: &Lab<'_>, name: &str) -> u64 {
    let c = CONSTANTS.iter().find(|c| c.name == name);
    lab.value(c.unwrap_or_else(|| panic!("no constant {name}"))).round() as u64
}

/// Stages of the first posting.
const STAGES: [&str; 4] = ["base", "nonmovable", "redesign", "threshold"];

/// Published figures that nothing is run for.
struct NotCarriedOut {
    table: &'static str,
    /// Values of the first row key; empty: all rows.
    rows: &'static [&'static str],
    /// Empty: all columns.
    columns: &'static [&'static str],
    why: &'static str,
}

impl NotCarriedOut {
    #[cfg(test)]
    fn has(&self, cell: &Cell<'_>) -> bool {
        let among = |list: &[&str], one: &str| list.is_empty() || list.contains(&one);
        cell.table.id == self.table
            && among(self.rows, &cell.key(&cell.table.row_keys[0]))
            && among(self.columns, &cell.column())
    }

    fn words(&self) -> String {
        let parts = [self.rows, self.columns].map(|l| l.join(", "));
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        match parts.is_empty() {
            true => format!("{}: {}", self.table, self.why),
            false => format!("{} ({}): {}", self.table, parts.join("; "), self.why),
        }
    }
}

const OF_THE_GUEST: &str = "times of the guest, whose builds go through a tree each where those here \
                            go on for a given time; simulated time in compaction, in reclaim and \
                            elsewhere stands under stress-highalloc";
const NO_REBOOT: &str = "the second and third test without a reboot";

/// All of them: every other cell has a row.
const NOT_CARRIED_OUT: &[NotCarriedOut] = &[
    NotCarriedOut {
        table: "stress-highalloc-kernels",
        rows: &[],
        columns: &[],
        why: "kernels that are not modelled",
    },
    NotCarriedOut {
        table: "stress-highalloc-times",
        rows: &["user", "system", "elapsed"],
        columns: &[],
        why: OF_THE_GUEST,
    },
    NotCarriedOut {
        table: "v2-stress-highalloc",
        rows: &["elapsed"],
        columns: &[],
        why: OF_THE_GUEST,
    },
    NotCarriedOut { table: "pure-blocks-2015-07", rows: &[], columns: &["2", "3"], why: NO_REBOOT },
    NotCarriedOut { table: "pure-blocks-v2", rows: &[], columns: &["2", "3"], why: NO_REBOOT },
    NotCarriedOut {
        table: "v3-failing-attempt-latency",
        rows: &[],
        columns: &[],
        why: "neither the test nor the machine is given, and host time is what was measured",
    },
];

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    // The longest runs come first, so that none of them is left for the end.
    let tests = || -> Result<Figures, RunError> {
        let mut figures = hogger::figures(lab, published)?;
        figures.add(placement::figures(lab)?);
        figures.add(reviewers::figures(lab)?);
        figures.add(build::figures(lab, published)?);
        Ok(figures)
    };
    let (stress, tests) = lab.both(|| stress::figures(lab, published), tests)?;
    let mut figures = tests?;
    figures.add(stress?);
    let not: Vec<String> = NOT_CARRIED_OUT.iter().map(NotCarriedOut::words).collect();
    figures.findings.push(format!("Not carried out: {}.", not.join(". ")));
    Ok(figures)
}

/// The variant of a scenario that a cell of the second posting speaks of.
fn v2_variant(cell: &Cell<'_>) -> String {
    let stage = cell.column();
    if stage == "base" { stage } else { format!("v2-{stage}") }
}

/// The candidates that were counted before attempts.
fn surveyed(_: &RunReport, a: &Attempts<'_>) -> f64 {
    a.surveyed(VmEvent::SimCandidates)
}

/// Figures behind a share of blocks: candidates, the number of them that moves alone could free,
/// and where blocks came from. These were not published.
fn of_attempts(
    id: &str,
    runs: &[RunReport],
    phase: &str,
    candidates: impl Fn(&RunReport, &Attempts<'_>) -> f64,
) -> Vec<FigureRow> {
    type Figure<'f> = &'f dyn Fn(&RunReport, &Attempts<'_>) -> f64;
    let shown: [(&str, Figure<'_>); 6] = [
        ("candidates", &candidates),
        ("bound of moves alone", &|_, a| a.surveyed(VmEvent::SimCandidatesBound)),
        ("that lay free", &|_, a| a.count(VmEvent::SimHighAllocLists)),
        ("after async compaction", &|_, a| a.count(VmEvent::SimHighAllocAsync)),
        ("after reclaim", &|_, a| a.count(VmEvent::SimHighAllocReclaim)),
        ("after sync compaction", &|_, a| a.count(VmEvent::SimHighAllocSync)),
    ];
    let row = |quantity: &str, figure: Figure<'_>, stage: &str| {
        let of_stage = runs.iter().filter(|r| r.variant == stage);
        let of: Vec<f64> = of_stage.filter_map(|r| Some(figure(r, &r.attempts(phase)?))).collect();
        unpublished_row(&format!("{id}/{quantity}/{stage}"), quantity, "blocks", estimate(&of))
    };
    let of_all = |(quantity, figure)| STAGES.map(|stage| row(quantity, figure, stage));
    shown.into_iter().flat_map(of_all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every published figure has a row, or a reason why not; never both.
    #[test]
    fn every_published_figure_is_carried_out_or_listed() {
        let published = Published::read(FAMILY.published);
        for cell in published.tables.iter().flat_map(|t| published.cells(t)) {
            let made = [
                hogger::place(&cell).is_some(),
                build::place(&cell).is_some(),
                stress::place(&cell).is_some(),
            ];
            let made = made.iter().filter(|m| **m).count();
            let listed = NOT_CARRIED_OUT.iter().filter(|n| n.has(&cell)).count();
            assert_eq!(made + listed, 1, "{}: made {made}, listed {listed}", cell.id());
            let wanted = FAMILY.tables.contains(&cell.table.id.as_str());
            assert!(made == 0 || wanted, "{}: its table cannot be requested", cell.id());
        }
        // Nothing is listed that was never published.
        for n in NOT_CARRIED_OUT {
            let table = published.table(n.table);
            assert!(published.cells(table).any(|c| n.has(&c)), "{}", n.words());
        }
    }
}
