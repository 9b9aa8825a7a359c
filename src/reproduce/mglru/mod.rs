//! Three series on the multi-generational LRU: a list of its own for lazily freed folios (2024),
//! protection of file folios that are read but not mapped (Linux 6.8), and refault distance (2023);
//! beside them fio's reads by a zipf law, from the same thread, and the rework of workingset protection
//! in Linux 6.14.
//!
//! The mails describe their workloads in a sentence each. What they leave open was chosen before
//! anything was compared ([`open`]); only directions are demanded where a figure rests on it.
//! docs/mglru-experiments.md tells what came out.

mod ages;
pub mod file_protection;
pub mod fio_zipf;
pub mod lazyfree;
mod open;
mod phone;
pub mod refault_distance;
pub mod rework;

use super::published::{CellRef, Published, Relation};
use crate::report::{PhaseReport, RunReport};

/// The text of their figures.
pub const PUBLISHED: &str = include_str!("../../../published/mglru.toml");

/// The phases after the first window, which is the ramp.
fn after_ramp(run: &RunReport) -> &[PhaseReport] {
    let is_ramp = |p: &PhaseReport| p.name == "access1" || p.name.ends_with("/access1");
    match run.phases.iter().rposition(is_ramp) {
        Some(ramp) => &run.phases[ramp + 1..],
        None => &[],
    }
}

/// A counter of the time after the ramp.
fn measured(run: &RunReport, counter: &str) -> f64 {
    let of = |p: &PhaseReport| *p.vmstat.get(counter).unwrap_or_else(|| panic!("no {counter}"));
    after_ramp(run).iter().map(|p| of(p) as f64).sum()
}

/// The relations whose first cell lies in a table.
fn relations<'a>(published: &'a Published, table: &'a str) -> impl Iterator<Item = &'a Relation> {
    let first =
        |r: &'a Relation| -> Option<&'a CellRef> { r.numerator.first().or(r.cells.first()) };
    published.relations.iter().filter(move |r| first(r).is_some_and(|c| c.table == table))
}
