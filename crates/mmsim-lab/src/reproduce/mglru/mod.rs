//! Three series on the multi-generational LRU: a list of its own for lazily freed folios (2024),
//! protection of file folios that are read but not mapped (Linux 6.8), and refault distance (2023);
//! beside them fio's reads by a zipf law, from the same thread, and the rework of workingset protection
//! in Linux 6.14.
//!
//! The mails describe their workloads in a sentence each. What they leave open was chosen before
//! anything was compared (`open`); only directions are demanded where a figure rests on it.
//! docs/mglru-experiments.md tells what came out.

mod ages;
pub mod file_protection;
pub mod fio_zipf;
mod garbage;
mod killer;
pub mod lazyfree;
mod open;
mod phone;
pub mod refault_distance;
pub mod rework;

use std::collections::BTreeMap;

use super::demand::CellRef;
use super::published::{Published, Relation};
use super::relation::BySeed;
use mmsim::report::{Ending, PhaseReport, RunReport};

/// The text of their figures.
pub const PUBLISHED: &str = include_str!("../../../evidence/published/mglru.toml");

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

/// Refaults of anonymous memory after the ramp.
fn anon(run: &RunReport) -> f64 {
    measured(run, "workingset_refault_anon")
}

/// Those of files.
fn file(run: &RunReport) -> f64 {
    measured(run, "workingset_refault_file")
}

/// A figure of each seed of a variant; runs on which memory ran out have none.
fn by_seed(runs: &[RunReport], variant: &str, figure: impl Fn(&RunReport) -> f64) -> BySeed {
    let whole = runs.iter().filter(|r| r.variant == variant && r.outcome == Ending::Completed);
    whole.map(|r| (r.seed, figure(r))).collect()
}

/// The change from one variant to another in per cent, on the seeds that both have.
fn changes(before: &[(u64, f64)], after: &[(u64, f64)]) -> BySeed {
    let of = |&(seed, b): &(u64, f64)| {
        let a = after.iter().find(|a| a.0 == seed)?.1;
        Some((seed, (a / b - 1.0) * 100.0))
    };
    before.iter().filter_map(of).collect()
}

/// Variants on which memory ran out, and on how many of the seeds.
fn out_of_memory(what: &str, runs: &[RunReport]) -> Option<String> {
    let mut count: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for r in runs {
        let (out, all) = count.entry(&r.variant).or_default();
        *out += u32::from(r.outcome == Ending::OutOfMemory);
        *all += 1;
    }
    let some = count.iter().filter(|(_, (out, _))| *out > 0);
    let words: Vec<String> =
        some.map(|(v, (out, all))| format!("\"{v}\" on {out} of {all} seeds")).collect();
    let words = words.join(", ");
    (!words.is_empty()).then(|| format!("{what}: memory ran out under {words}; they are left out."))
}

/// The relations whose first cell lies in a table.
fn relations<'a>(published: &'a Published, table: &'a str) -> impl Iterator<Item = &'a Relation> {
    let first =
        |r: &'a Relation| -> Option<&'a CellRef> { r.numerator.first().or(r.cells.first()) };
    published.relations.iter().filter(move |r| first(r).is_some_and(|c| c.table == table))
}
