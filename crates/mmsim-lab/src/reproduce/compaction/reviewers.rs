//! Questions of reviewers of the redesign besides success: each stage of the first posting, with
//! figures that the mails do not print.
//!
//! Compaction trades work for blocks, so success alone does not tell whether a stage is better. The
//! question is what a block costs: pages moved for it, how many of these had been moved before, pages
//! reclaimed for it, and simulated time in direct compaction, in direct reclaim and elsewhere. Each
//! stage is carried out as posted and with one thing changed: all runs allowed to wait; two threads
//! that ask at once, with scanner positions and skip bits in common; a sweep that does not undo at
//! once what it did; and blocks of order 2, of which the report speaks that started the work.
//!
//! No figures were published for these. The demand is the sign that the argument implies; the signs
//! were written down after a look at one seed.

use super::super::demand::{Basis, band_words, in_band};
use super::super::lab::{Lab, ScenarioFile, Sets};
use super::super::relation::{BySeed, values};
use super::super::{Figures, unpublished_row};
use super::hogger::{self, MOVABLE};
use crate::reproduce::document::{Asks, FigureRow};
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;
use mmsim::scenario::RunSpec;

pub(super) const TWO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/compaction-redesign/two-requesters.toml",
    text: include_str!("../../../evidence/experiments/compaction-redesign/two-requesters.toml"),
};

const POSTED: &str = "reviewers-as-posted";
const SYNC: &str = "reviewers-sync";
const TWO_REQUESTERS: &str = "reviewers-two-requesters";
const UNDO: &str = "reviewers-undo-prevention";
const ORDER_2: &str = "reviewers-order-2";

/// All tables.
pub(super) const TABLES: [&str; 5] = [POSTED, SYNC, TWO_REQUESTERS, UNDO, ORDER_2];

const STAGES: [&str; 4] = ["base", "nonmovable", "redesign", "threshold"];
/// Variants of the scenario that sweep the zone, by their place in it.
const SWEEPS: [usize; 2] = [2, 3];

type Figure = fn(&RunReport) -> f64;

/// Figures that are shown of each stage: name, unit, figure.
const SHOWN: [(&str, &str, Figure); 9] = [
    ("success", "% of candidates", success),
    ("stalls", "count", |r| during(r, "compact_stall")),
    ("migrated per success", "pages", |r| per_success(r, during(r, "pgmigrate_success"))),
    ("moved before", "fraction", moved_before),
    ("reclaimed per success", "pages", |r| per_success(r, reclaimed(r))),
    ("chosen twice", "pageblocks", |r| during(r, "sim_chosen_twice")),
    ("in direct compaction", "ms", |r| during(r, "sim_direct_compact_ns") / 1e6),
    ("in direct reclaim", "ms", |r| during(r, "sim_direct_reclaim_ns") / 1e6),
    ("elsewhere", "ms", elsewhere),
];

/// A difference that the argument behind a change implies.
struct Sign {
    table: &'static str,
    id: &'static str,
    unit: &'static str,
    /// The figure of the first table and stage less that of the second is above 0.
    figure: Figure,
    more: (&'static str, &'static str),
    less: (&'static str, &'static str),
    note: &'static str,
}

const SIGNS: [Sign; 5] = [
    Sign {
        table: SYNC,
        id: "redesign-over-base",
        unit: "% of candidates",
        figure: success,
        more: (SYNC, "redesign"),
        less: (SYNC, "base"),
        note: "runs that may wait enter every pageblock, but what the scanners of base cannot reach \
               lies above the place where they meet, in either mode: the order of the stages stays",
    },
    Sign {
        table: TWO_REQUESTERS,
        id: "chosen-twice",
        unit: "pageblocks",
        figure: |r| during(r, "sim_chosen_twice"),
        more: (TWO_REQUESTERS, "redesign"),
        less: (TWO_REQUESTERS, "base"),
        note: "a sweep passes the whole zone in a cycle, where base stops at the place where its \
               scanners meet, and it is not refused: more looks, with the same positions in common",
    },
    Sign {
        table: UNDO,
        id: "less-moved-before",
        unit: "pages",
        figure: |r| during(r, "sim_migrate_again"),
        more: (POSTED, "redesign"),
        less: (UNDO, "redesign"),
        note: "what is left alone for a cycle more cannot be the first to move again",
    },
    Sign {
        table: UNDO,
        id: "less-time",
        unit: "ms",
        figure: |r| during(r, "sim_direct_compact_ns") / 1e6,
        more: (POSTED, "redesign"),
        less: (UNDO, "redesign"),
        note: "moves are what compaction pays for most, and these were nine in ten moves of a page \
               that had been moved before",
    },
    Sign {
        table: ORDER_2,
        id: "less-reclaimed",
        unit: "pages per success",
        figure: |r| per_success(r, reclaimed(r)),
        more: (ORDER_2, "base"),
        less: (ORDER_2, "redesign"),
        note: "a request that compaction served does not reach reclaim; deferral sends those of \
               base there unserved",
    },
];

/// A counter of the attempts of all threads that make some.
fn during(run: &RunReport, counter: &str) -> f64 {
    hogger::attempts(run).map(|p| hogger::count(p, counter)).sum()
}

fn had(run: &RunReport) -> f64 {
    during(run, "sim_highalloc") - during(run, "sim_highalloc_fail")
}

fn success(run: &RunReport) -> f64 {
    100.0 * had(run) / hogger::count(hogger::phase(run, "survey"), "sim_candidates")
}

fn per_success(run: &RunReport, n: f64) -> f64 {
    n / had(run).max(1.0)
}

fn moved_before(run: &RunReport) -> f64 {
    during(run, "sim_migrate_again") / during(run, "pgmigrate_success").max(1.0)
}

fn reclaimed(run: &RunReport) -> f64 {
    during(run, "pgsteal_direct") + during(run, "pgsteal_kswapd")
}

/// Milliseconds in which threads made attempts and were in neither. All of them begin at once; the
/// phase of one begins for the report when that of the one before ends.
fn elsewhere(run: &RunReport) -> f64 {
    let first = hogger::attempts(run).map(|p| p.begin_ns).min().unwrap_or(0);
    let ends = hogger::attempts(run).map(|p| p.begin_ns + p.sim_time_ns - first);
    let spent = during(run, "sim_direct_compact_ns") + during(run, "sim_direct_reclaim_ns");
    (ends.sum::<u64>() as f64 - spent) / 1e6
}

/// Settings of the scenario for a table.
fn cell(lab: &Lab<'_>, table: &str) -> Sets {
    let mut sets = hogger::sets(lab, MOVABLE);
    let of_variants = |variants: &[usize], knob: &str, value: &str| -> Sets {
        let path = |v| format!("variant[{v}].compaction.{knob}");
        variants.iter().map(|v| (path(v), value.to_string())).collect()
    };
    match table {
        SYNC => sets.extend(of_variants(&[0, 1, 2, 3], "request-modes", "sync")),
        UNDO => sets.extend(of_variants(&SWEEPS, "undo-prevention", "next-cycle")),
        // As many attempts as a fifth of memory makes blocks of half the size.
        ORDER_2 => sets.extend(
            [("task[2].order", "2"), ("task[2].attempts", "6000")]
                .map(|(k, v)| (k.to_string(), v.to_string())),
        ),
        _ => {}
    }
    sets
}

pub(super) fn figures(lab: &Lab<'_>) -> Result<Figures, RunError> {
    let wanted: Vec<&str> = TABLES.into_iter().filter(|t| lab.wants(t)).collect();
    let mut runs = Vec::new();
    for &table in &wanted {
        let file = if table == TWO_REQUESTERS { TWO } else { hogger::SCENARIO };
        let first_posting = |_: usize, spec: &RunSpec| hogger::is_stage(spec);
        let of = lab.run_wanted(table, file, &[cell(lab, table)], first_posting)?;
        let of = of.into_iter().next().expect("one cell");
        runs.push((table, of));
    }
    let by_seed = |table: &str, stage: &str, figure: Figure| -> Option<BySeed> {
        let of = &runs.iter().find(|r| r.0 == table)?.1;
        Some(hogger::by_seed(of, stage, figure))
    };
    let mut rows = Vec::new();
    for &table in &wanted {
        let two = table == TWO_REQUESTERS;
        for (quantity, unit, figure) in SHOWN.into_iter().filter(|s| two || s.0 != "chosen twice") {
            for stage in STAGES {
                let of = by_seed(table, stage, figure).expect("it was run");
                let id = format!("{table}/{quantity}/{stage}");
                rows.push(unpublished_row(&id, quantity, unit, estimate(&values(&of))));
            }
        }
        let signs = SIGNS.iter().filter(|s| s.table == table);
        rows.extend(signs.filter_map(|s| {
            let [more, less] = [s.more, s.less].map(|(t, stage)| by_seed(t, stage, s.figure));
            Some(sign(s, &more?, &less?))
        }));
    }
    Ok(Figures { rows, ..Figures::default() })
}

/// The row of a sign: the difference, seed by seed.
fn sign(s: &Sign, more: &BySeed, less: &BySeed) -> FigureRow {
    let differences: Vec<f64> = more.iter().zip(less).map(|(a, b)| a.1 - b.1).collect();
    let mean = estimate(&differences);
    FigureRow {
        demand: band_words(Some(0.0), None, true),
        met: mean.map(|m| in_band(m.mean, Some(0.0), None, true)),
        gates: false,
        basis: Basis::Trend,
        asks: Asks::Direction,
        note: s.note.into(),
        ..unpublished_row(&format!("{}/{}", s.table, s.id), "difference", s.unit, mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    /// Every table changes what it says, in the variants that it says.
    #[test]
    fn tables_differ_by_what_they_change() {
        let lab = Lab::silent(&|_, _, _| {});
        let knob = |table: &str, file: ScenarioFile, stage: &str, name: &str| {
            let scenario = Scenario::from_str(file.text, file.path).expect("a scenario");
            let runs = scenario.with_sets(&cell(&lab, table)).expect("values that it takes");
            let runs = runs.expand(&Catalogue).expect("runs");
            let run = runs.iter().find(|r| r.variant == stage).expect("a variant of that name");
            let all = mmsim::machines::compaction_knobs(run);
            let value = all.into_iter().find(|k| k.0 == format!("compaction.{name}"));
            value.expect("a knob of that name").1.to_string()
        };
        let hogger = hogger::SCENARIO;
        assert_eq!(knob(POSTED, hogger, "redesign", "request-modes"), "async-first");
        for stage in STAGES {
            assert_eq!(knob(SYNC, hogger, stage, "request-modes"), "sync");
            assert_eq!(knob(TWO_REQUESTERS, TWO, stage, "request-modes"), "async-first");
        }
        let undo = STAGES.map(|stage| knob(UNDO, hogger, stage, "undo-prevention"));
        assert_eq!(undo, ["cycle", "cycle", "next-cycle", "next-cycle"]);
    }
}
