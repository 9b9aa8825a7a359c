//! Where the hogger's pages lie on memory that unmovable pages fragmented, and what of them can be
//! reclaimed.
//!
//! The allocator places them in rows, in the largest free blocks first. Pages of one row are equally
//! old, so reclaim frees them together and leaves blocks where they lay. Stages that compact get
//! these blocks too. Each setting takes one of the conditions away.

use super::super::lab::{Lab, Sets};
use super::super::relation::values;
use super::super::{Figures, unpublished_row};
use super::hogger::{self, by_seed, had_of_candidates};
use super::{STAGES, value};
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;
use mmsim::scenario::RunSpec;

const TABLE: &str = "hogger-placement";

/// Where the hogger's pages lie and what can be reclaimed: a name, whether pages lie at random
/// (else where the allocator puts them), whether there is page cache, whether there is swap.
const SETTINGS: [(&str, bool, bool, bool); 4] = [
    ("allocator", false, true, true),
    ("at random", true, true, true),
    ("no page cache", false, false, true),
    ("no reclaim", false, false, false),
];

fn sets(lab: &Lab<'_>, (_, random, cache, swap): (&str, bool, bool, bool)) -> Sets {
    let mut sets = hogger::sets(lab, hogger::UNMOVABLE);
    let mut put = |key: &str, pages: u64| sets.push((key.into(), format!("{pages} pages")));
    if random {
        let taken = hogger::PAGES_PER_MB * hogger::SIZE + value(lab, "cache");
        put("task[0].release", taken + value(lab, "margin"));
    }
    // A file or a swap device of nothing there cannot be.
    if !cache {
        put("task[1].regions.file.memory", 1);
    }
    if !swap {
        put("machine.swap.size", 4);
    }
    sets
}

pub(super) fn figures(lab: &Lab<'_>) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if !lab.wants(TABLE) || lab.quick {
        return Ok(figures);
    }
    let cells: Vec<Sets> = SETTINGS.iter().map(|&s| sets(lab, s)).collect();
    let wanted = |_: usize, spec: &RunSpec| hogger::is_stage(spec);
    let runs = lab.run_wanted(TABLE, hogger::SCENARIO, &cells, wanted)?;
    for ((name, ..), runs) in SETTINGS.iter().zip(&runs) {
        for stage in STAGES {
            let of = values(&by_seed(runs, stage, had_of_candidates));
            let id = format!("{TABLE}/{name}/{stage}");
            figures.rows.push(unpublished_row(&id, "success_n_percent", "%", estimate(&of)));
        }
    }
    Ok(figures)
}
