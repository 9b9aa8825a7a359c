//! fio's random reads: independent draws, for which bounds can be computed.
//!
//! Throughput is bound by the CPU there and is not predicted; what can be is the share of reads
//! that find their page. Of the runs that were printed with counters it follows, if the counter of
//! refaults covers ramp and run alike: what is set beside the simulated figure.

use super::super::demand::CellRef;
use super::super::demand::{band_words, in_band};
use super::super::lab::{Lab, ScenarioFile, Sets};
use super::super::published::Published;
use super::super::relation::values;
use super::super::{Family, Figures, unpublished_row};
use super::{PUBLISHED, by_seed, measured};
use crate::reproduce::document::{Asks, FigureRow};
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: NAME,
    about: "buffered random reads by a zipf law and uniformly, in a group that holds a quarter (2023)",
    published: PUBLISHED,
    scenarios: &[SCENARIO],
    constants: &[],
    tables: &["fio-zipf-hits"],
    kernels: &["6.12+place-pre6.8", "6.12+place-stock"],
    left_out: &[
        (
            "fio-zipf-throughput",
            "bound by the processor and not by reclaim on a disk in memory; hit ratios are predicted instead",
        ),
        (
            "fio-zipf-rerun",
            "its reads and refaults are what the published hit ratios of fio-zipf-hits are made of; throughput and agings follow the length of the run, which is scaled",
        ),
        (
            "fio-zipf-rerun-generations",
            "file pages of a group of 4 GiB at the end of ten minutes; the group here is smaller and its run shorter",
        ),
        (
            "fio-20x",
            "operations a second, bound by the processor as well, at twenty times the size",
        ),
    ],
    figures,
};

const NAME: &str = "mglru-fio-zipf";

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/mglru-fio-zipf/fio.toml",
    text: include_str!("../../../evidence/experiments/mglru-fio-zipf/fio.toml"),
};

const VARIANTS: [&str; 5] = ["unpatched", "refault distance", "fix", "MGLRU off", "random"];

/// Pages of a file, and frames of the group for all of them.
const PAGES: f64 = 8192.0;
const FRAMES: f64 = 23_581.0;
const FILES: f64 = 12.0;

fn hits(run: &RunReport) -> f64 {
    1.0 - measured(run, "pgpgin") / 4.0 / measured(run, "sim_accesses")
}

/// The hit ratio that the counters of a published run say: its refaults over ramp and run are
/// twice those of the reads that were printed.
fn observed(published: &Published, policy: &str) -> f64 {
    let cell = |column: &str| {
        let row = [("policy".to_string(), policy.into())].into_iter().collect();
        let at = CellRef { table: "fio-zipf-rerun".into(), row, column: column.into() };
        published.cell(&at).value()
    };
    1.0 - cell("workingset_refault_file") / (2.0 * cell("reads"))
}

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if !lab.wants("fio-zipf-hits") {
        return Ok(figures);
    }
    let cell = |theta: &str| -> Sets {
        let mut sets = vec![("task[0].theta".to_string(), theta.to_string())];
        if lab.quick {
            sets.push(("seeds".into(), "1".into()));
            sets.push(("task[0].accesses".into(), "40000".into()));
        }
        sets
    };
    let runs = lab.run(NAME, SCENARIO, &[cell("0.5"), cell("0")])?;
    for (law, runs) in ["zipf", "uniform"].into_iter().zip(&runs) {
        let expected = published.expectation(&format!("fio-{law}-hit-ratio"));
        let share = FRAMES / FILES / PAGES;
        let low = expected.low.or(expected.tolerance.map(|t| share - t));
        let high = expected.high.or(expected.tolerance.map(|t| share + t));
        for v in VARIANTS {
            let estimate = estimate(&values(&by_seed(runs, v, hits)));
            let id = format!("fio-zipf-hits/{law}/{v}");
            let policy = match (law, v) {
                ("zipf", "refault distance") => Some("refault_distance_v4"),
                ("zipf", "fix") => Some("unmapped_placement"),
                _ => None,
            };
            figures.rows.push(FigureRow {
                published: policy.map(|p| observed(published, p)),
                demand: band_words(low, high, false),
                met: estimate.map(|e| in_band(e.mean, low, high, false)),
                gates: expected.gate,
                basis: expected.basis,
                asks: Asks::OwnBound,
                ..unpublished_row(&id, "hit ratio", "fraction", estimate)
            });
        }
    }
    figures.rows.push(order(published, &runs[0]));
    Ok(figures)
}

/// Both changes hit more often than neither.
fn order(published: &Published, runs: &[RunReport]) -> FigureRow {
    let expected = published.expectation("fio-zipf-order");
    let mean = |v: &str| estimate(&values(&by_seed(runs, v, hits))).map_or(0.0, |e| e.mean);
    let gain = mean("fix").min(mean("refault distance")) - mean("unpatched");
    let id = "fio-zipf-hits/fio-zipf-order";
    let both = estimate(&[gain]);
    FigureRow {
        demand: "above 0".into(),
        met: Some(gain > 0.0),
        gates: expected.gate,
        basis: expected.basis,
        asks: Asks::Direction,
        seeds: by_seed(runs, "fix", hits).len() as u64,
        note: expected.about.clone(),
        ..unpublished_row(id, "smaller gain over unpatched", "fraction", both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hit_ratios_follow_from_the_published_counters() {
        let p = Published::read(PUBLISHED);
        assert!((observed(&p, "refault_distance_v4") - 0.438).abs() < 0.0005);
        assert!((observed(&p, "unmapped_placement") - 0.456).abs() < 0.0005);
    }
}
