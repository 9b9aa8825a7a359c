//! Lists whose sizes are compared: a stream in one group beside the working set of another.
//!
//! Before Linux 5.5 each group asked its own lists whether its active pages may be deactivated. A group
//! with a working set and little else has few inactive pages, so its active ones went, however many
//! inactive ones its neighbours had. The machine, the files and the groups are those of the mail.

use super::lab::{Lab, ScenarioFile, Sets};
use super::published::Published;
use super::{Family, Figures, row};
use crate::reproduce::document::{Asks, FigureRow};
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: "inactive-ratio",
    about: "a stream in one group beside active files of another, before and after 5.5 (2019)",
    published: include_str!("../../evidence/published/inactive-ratio.toml"),
    scenarios: &[SCENARIO],
    constants: &[],
    tables: &[TABLE],
    kernels: &[],
    left_out: &[],
    figures,
};

const TABLE: &str = "hot-pages-cached";

const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/inactive-ratio/reclaimtest2.toml",
    text: include_str!("../../evidence/experiments/inactive-ratio/reclaimtest2.toml"),
};

/// Pages of the working set, and of the stream in the quick subset.
const HOT: u64 = 12_800;
const QUICK_STREAM: u64 = 1_000_000;

/// Pages of the working set that are still cached: nothing reads it again.
fn cached(run: &RunReport) -> Option<f64> {
    let gone = (*run.memory_stat.get("a")?.get("pgsteal_file")?)?;
    Some(HOT.checked_sub(gone)? as f64)
}

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if !lab.wants(TABLE) {
        return Ok(figures);
    }
    let stream = ("task[1].regions.stream.pages".to_string(), QUICK_STREAM.to_string());
    let sets: Sets = if lab.quick { vec![stream] } else { Vec::new() };
    let runs = lab.run(TABLE, SCENARIO, &[sets])?.pop().expect("one cell");
    for cell in published.cells(published.table(TABLE)) {
        let of = |r: &&RunReport| r.variant == cell.key("kernel");
        let pages = runs.iter().find(of).and_then(cached);
        let figure = row(&cell, "cached", pages.and_then(|p| estimate(&[p])));
        // "Most of the working set" is no size.
        let asks = if cell.key("kernel") == "before" { Asks::Direction } else { figure.asks };
        figures.rows.push(FigureRow { asks, ..figure });
    }
    Ok(figures)
}
